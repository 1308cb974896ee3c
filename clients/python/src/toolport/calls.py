"""What happens during one call: its progress, its output, and its outcome."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import Any, TypeAlias

from . import json_text


class ErrorKind(StrEnum):
    """Why a call failed."""

    UNKNOWN_TOOL = "UNKNOWN_TOOL"
    """No tool bears this name."""
    INVALID_ARGUMENTS = "INVALID_ARGUMENTS"
    """The arguments don't satisfy the tool's input schema."""
    RAISED = "RAISED"
    """The tool threw; the text is ``Class: message``."""
    TIMED_OUT = "TIMED_OUT"
    """The tool's own time limit, or ``tool_timeout``, ran out."""
    REFUSED = "REFUSED"
    """The kernel would not let it run."""
    BUDGET_EXHAUSTED = "BUDGET_EXHAUSTED"
    """The run has spent the tool's calls."""
    RESULT_UNSERIALIZABLE = "RESULT_UNSERIALIZABLE"
    """The tool returned what has no JSON form."""
    RESULT_TOO_LARGE = "RESULT_TOO_LARGE"
    """The result is larger than the limit."""
    HOST_LOST = "HOST_LOST"
    """The server or worker that ran the call died."""
    INDETERMINATE = "INDETERMINATE"
    """It may have run; its outcome will never be known."""
    OTHER = "OTHER"
    """A kind that this client is too old to know."""


@dataclass(frozen=True, slots=True)
class Content:
    """An image, audio clip or file; one of ``data`` and ``uri`` is there."""

    mime_type: str
    """The media type, such as ``image/png``."""
    data: bytes | None = None
    uri: str | None = None
    name: str | None = None
    """A file name or title for people."""


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a tool has come."""

    done: float
    """How much is done, in the tool's own unit."""
    total: float | None = None
    """Of how much; None where that is not known."""
    message: str = ""
    """A line for people."""


@dataclass(frozen=True, slots=True)
class Output:
    """Partial output of a tool, in order; one of the three is there."""

    text: str | None = None
    """Text, as the tool wrote it."""
    json: str | None = None
    """Any other value, as JSON text."""
    content: Content | None = None
    """Bytes."""

    @property
    def value(self) -> Any:
        """The output as Python data: the text, the value, or the content."""
        if self.json is not None:
            return json_text.load(self.json, "the output")
        return self.text if self.text is not None else self.content


@dataclass(frozen=True, slots=True)
class Skipped:
    """Events are missing here: a stream of a run was read so slowly that they were dropped."""

    events: int
    """How many."""


@dataclass(frozen=True, kw_only=True)
class ToolCall:
    """What became of one call: its outcome, a result or an error."""

    id: str
    """The call's id."""
    name: str
    """The tool's name, as it was asked for."""
    arguments_json: str = "{}"
    """The arguments' text, as it was sent."""
    result: str | None = None
    """The result as text; None on failure only. An empty text is a success."""
    error: str | None = None
    """The error as text a model can learn from; None on success."""
    error_kind: ErrorKind | None = None
    """What kind of failure; None on success."""
    duration_ms: float = 0.0
    """Wall time of the execution in milliseconds; 0 where nothing ran."""
    content: tuple[Content, ...] = ()
    """Parts of the result that text can't carry."""
    structured_json: str | None = None
    """The result as JSON text, where the tool returned structured data."""
    replayed: bool = False
    """Read from the record: nothing ran for this request."""
    attempt: int = 0
    """Which attempt this is the outcome of, from 1; 0 where nothing started."""

    @property
    def ok(self) -> bool:
        """Whether the tool succeeded."""
        return self.error is None

    @property
    def text(self) -> str:
        """What a model should see: the result, or the error."""
        return (self.result if self.error is None else self.error) or ""

    @cached_property
    def arguments(self) -> dict[str, Any]:
        """The arguments as Python data; a number keeps every digit."""
        if not self.arguments_json.strip():
            return {}
        value = json_text.load(self.arguments_json, f"the arguments of call {self.id!r}")
        return value if isinstance(value, dict) else {}

    @cached_property
    def value(self) -> Any:
        """The result as Python data: what the tool returned, text as it is, None on failure."""
        if self.error is not None:
            return None
        if self.structured_json is None:
            return self.result
        return json_text.load(self.structured_json, f"the result of call {self.id!r}")


Event: TypeAlias = Progress | Output | Skipped | ToolCall
"""What a stream gives; the ``ToolCall`` comes once and last."""
