"""Python arguments to the contract's requests."""

from __future__ import annotations

import math
import time
import uuid
from collections.abc import Iterable, Mapping
from typing import Any, Final, Literal, TypeAlias

from . import json_text
from .errors import invalid_request
from .history import MessageLike, history
from .selection import Intent
from .tools import Format
from .v1 import selection_pb2, tool_pb2, tool_port_service_pb2

OnDisconnect: TypeAlias = Literal["abort", "continue"]
"""What becomes of a call when the connection is lost."""

_ON_DISCONNECT: Final = {
    "abort": tool_port_service_pb2.ON_DISCONNECT_ABORT,
    "continue": tool_port_service_pb2.ON_DISCONNECT_CONTINUE,
}
_FORMATS: Final = {
    "openai_chat": tool_port_service_pb2.MANIFEST_FORMAT_OPENAI_CHAT,
    "openai_responses": tool_port_service_pb2.MANIFEST_FORMAT_OPENAI_RESPONSES,
    "anthropic": tool_port_service_pb2.MANIFEST_FORMAT_ANTHROPIC,
    "gemini": tool_port_service_pb2.MANIFEST_FORMAT_GEMINI,
    "mcp": tool_port_service_pb2.MANIFEST_FORMAT_MCP,
}
_MAX_UINT32: Final = 2**32 - 1


def tool_request(
    name: str, arguments: Mapping[str, Any] | None, call_id: str | None, run_id: str
) -> tool_pb2.ToolRequest:
    """One call; its id is made here where it is None."""
    return tool_pb2.ToolRequest(
        run_id=_text(run_id, "run_id"),
        call_id=f"call_{uuid.uuid4().hex}" if call_id is None else _text(call_id, "call_id"),
        name=_text(name, "the tool's name"),
        arguments_json=json_text.dump(arguments, "arguments"),
    )


def execute_request(
    request: tool_pb2.ToolRequest,
    *,
    tool_timeout: float | None,
    expected_digest: str | None,
    metadata: Mapping[str, str] | None,
    on_disconnect: OnDisconnect | None,
) -> tool_port_service_pb2.ExecuteRequest:
    """What Execute is asked."""
    return tool_port_service_pb2.ExecuteRequest(
        request=request,
        timeout_ms=None if tool_timeout is None else _milliseconds(tool_timeout, "tool_timeout"),
        expected_digest=_text(expected_digest or "", "expected_digest"),
        on_disconnect=_choice(on_disconnect, _ON_DISCONNECT, "on_disconnect"),
        metadata=_metadata(metadata),
        accept_chunks=True,
    )


def open_run(
    run_id: str,
    *,
    expected_digest: str | None,
    on_disconnect: OnDisconnect | None,
    metadata: Mapping[str, str] | None,
    reconnect: float,
) -> tool_port_service_pb2.OpenRun:
    """What opens a run."""
    if not _text(run_id, "run_id"):
        raise invalid_request("run_id is empty; give every run an id")
    if not seconds(reconnect, "reconnect") >= 0:
        raise invalid_request(f"reconnect is {reconnect!r}; expected seconds, 0 or more")
    if reconnect and on_disconnect == "abort":
        raise invalid_request(
            'reconnect needs on_disconnect="continue": a run that is aborted can\'t be opened again'
        )
    wanted = "continue" if reconnect else on_disconnect
    return tool_port_service_pb2.OpenRun(
        run_id=run_id,
        expected_digest=_text(expected_digest or "", "expected_digest"),
        on_disconnect=_choice(wanted, _ON_DISCONNECT, "on_disconnect"),
        metadata=_metadata(metadata),
    )


def refuse_request(
    request: tool_pb2.ToolRequest, reason: str
) -> tool_port_service_pb2.RefuseRequest:
    """What Refuse is asked."""
    return tool_port_service_pb2.RefuseRequest(request=request, reason=_text(reason, "reason"))


def manifest_request(
    *,
    include_hidden: bool,
    names: Iterable[str] | None,
    budget_tokens: int | None,
    query: str,
    format: Format | None,
    strict: bool,
) -> tool_port_service_pb2.ManifestRequest:
    """What Manifest is asked."""
    if budget_tokens is not None and not isinstance(budget_tokens, int):
        raise invalid_request(
            f"budget_tokens must be an integer, not {type(budget_tokens).__name__}"
        )
    if budget_tokens is not None and not 0 <= budget_tokens <= _MAX_UINT32:
        raise invalid_request(f"budget_tokens is {budget_tokens!r}; expected 0 to {_MAX_UINT32}")
    return tool_port_service_pb2.ManifestRequest(
        include_hidden=include_hidden,
        names=_names(names, "names"),
        budget_tokens=budget_tokens,
        query=_text(query, "query"),
        format=_choice(format, _FORMATS, "format"),
        strict=strict,
    )


def manifest_of_nothing() -> tool_port_service_pb2.ManifestRequest:
    """Asks for no tools, only for what the server says of itself."""
    return tool_port_service_pb2.ManifestRequest(names=tool_pb2.ToolNames())


def select_request(
    *,
    role: str | None,
    candidates: Iterable[str] | None,
    forced_choice: str | None,
    resolved_tools: Iterable[str] | None,
    intent: Intent | None,
    query: str,
    extra: Mapping[str, Any] | None,
    messages: Iterable[MessageLike],
    include_descriptors: bool,
    format: Format | None,
) -> tool_port_service_pb2.SelectRequest:
    """What Select is asked."""
    return tool_port_service_pb2.SelectRequest(
        role=None if role is None else _text(role, "role"),
        candidates=_names(candidates, "candidates"),
        state=selection_pb2.SelectionState(
            forced_choice=None if forced_choice is None else _text(forced_choice, "forced_choice"),
            resolved_tools=_names(resolved_tools, "resolved_tools"),
            intent=_verdict(intent),
            query=_text(query, "query"),
            extra_json="" if extra is None else json_text.dump(extra, "extra"),
        ),
        messages=history(messages),
        include_descriptors=include_descriptors,
        format=_choice(format, _FORMATS, "format"),
    )


def deadline(timeout: float | None) -> float | None:
    """An RPC's timeout in seconds, as gRPC takes it; None and infinity are no timeout."""
    if timeout is None or seconds(timeout, "timeout") == math.inf:
        return None
    if math.isnan(timeout):
        raise invalid_request("timeout is nan; expected a number of seconds, or None")
    # gRPC's clock overflows far beyond this.
    return min(max(timeout, 0.0), 10.0 * 365 * 24 * 3600)


def seconds(value: float, what: str) -> float:
    """A number of seconds, whatever it is.

    Raises:
        InvalidRequest: something else.
    """
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise invalid_request(f"{what} must be a number of seconds, not {type(value).__name__}")
    return value


def until(timeout: float | None) -> float | None:
    """The moment of the monotonic clock at which a timeout in seconds passes."""
    return None if timeout is None else time.monotonic() + timeout


def left(until: float | None) -> float | None:
    """How many seconds are left until a moment of the monotonic clock."""
    return None if until is None else max(0.0, until - time.monotonic())


def milliseconds_left(until: float) -> int:
    """What is left until a moment of the monotonic clock, as a call's deadline; 0: none."""
    return min(math.ceil(max(0.0, until - time.monotonic()) * 1000), _MAX_UINT32)


def _metadata(metadata: Mapping[str, str] | None) -> dict[str, str]:
    if metadata is None:
        return {}
    if not isinstance(metadata, Mapping):
        raise invalid_request(f"metadata must be a mapping, not {type(metadata).__name__}")
    return {
        _text(key, "a key of metadata"): _text(value, f"metadata[{key!r}]")
        for key, value in metadata.items()
    }


def _verdict(intent: Intent | None) -> selection_pb2.IntentVerdict | None:
    if intent is None:
        return None
    if not isinstance(intent, Intent):
        raise invalid_request(f"intent must be an Intent, not {type(intent).__name__}")
    return selection_pb2.IntentVerdict(
        label=_text(intent.label, "intent.label"),
        matched_tools=[
            _text(name, "a name in intent.matched_tools")
            for name in _list(intent.matched_tools, "intent.matched_tools")
        ],
    )


def _names(names: Iterable[str] | None, what: str) -> tool_pb2.ToolNames | None:
    if names is None:
        return None
    return tool_pb2.ToolNames(
        names=[_text(name, f"a name in {what}") for name in _list(names, what)]
    )


def _list(names: Iterable[str], what: str) -> Iterable[str]:
    if isinstance(names, str):
        raise invalid_request(f"{what} is the one string {names!r}; give a list of names")
    if not isinstance(names, Iterable):
        raise invalid_request(f"{what} must be a list of names, not {type(names).__name__}")
    return names


def _text(value: str, what: str) -> str:
    if not isinstance(value, str):
        raise invalid_request(f"{what} must be a string, not {type(value).__name__}")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise invalid_request(
            f"{what} contains a lone surrogate, which UTF-8 can't carry"
        ) from None
    return value


def _choice(value: str | None, known: Mapping[str, Any], what: str) -> Any:
    if value is None:
        return None
    if not isinstance(value, str) or value not in known:
        raise invalid_request(f"{what} is {value!r}; expected one of {', '.join(known)}")
    return known[value]


def _milliseconds(value: float, what: str) -> int:
    if not seconds(value, what) > 0 or math.isinf(value):
        raise invalid_request(f"{what} is {value!r} seconds; expected a positive number, or None")
    # Longer than 49 days is as good as 49 days.
    return math.ceil(min(value * 1000, _MAX_UINT32))
