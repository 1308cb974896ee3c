"""What the tools are: descriptors and the manifest, as plain data."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from . import json_text

Format: TypeAlias = Literal["openai_chat", "openai_responses", "anthropic", "gemini", "mcp"]
"""A provider's form of a tool list."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolDescriptor:
    """A reading of one tool, equal by value. What its author did not state is None."""

    name: str
    """The name that ``execute`` takes."""
    description: str = ""
    summary: str = ""
    """The description's first line that is not blank."""
    manifest_entry: str = ""
    """``name: summary``, or the bare name."""
    hidden: bool = False
    """Left out of the manifest unless asked for; selection and ``execute`` take it like any."""
    input_schema_json: str = "{}"
    """JSON Schema of the arguments, as text."""
    output_schema_json: str | None = None
    """JSON Schema of the structured result, as text."""
    category: str | None = None
    safety_level: str | None = None
    """``safe``, ``restricted`` or ``dangerous``."""
    cost_usd: float | None = None
    """What one call costs, in US dollars."""
    requires: str | None = None
    """A capability of the kernel that the tool asks for."""
    max_calls_per_invocation: int | None = None
    """How many calls one run may make."""
    scope: str | None = None
    """``public``, ``internal`` or ``admin``."""
    routing_mode: str | None = None
    """``off``, ``observe`` or ``enforce``."""
    timeout: float | None = None
    """The tool's own time limit in seconds, from its start."""
    run_aware: bool = False
    """The body needs a live run."""
    idempotent: bool = False
    """Safe to run again after an attempt whose outcome is not known."""
    read_only: bool | None = None
    """Changes nothing. None: treat as False."""
    destructive: bool | None = None
    """May destroy or overwrite. None: treat as True."""
    open_world: bool | None = None
    """Reaches the outside world. None: treat as True."""
    capability: str = ""
    """The capability that contributed it; empty for the tools file's own."""

    @property
    def input_schema(self) -> Any:
        """The arguments' schema, read anew each time; its integers are integers."""
        return json_text.load(self.input_schema_json, f"the input schema of {self.name!r}")

    @property
    def output_schema(self) -> Any | None:
        """The structured result's schema, read anew each time; None where there is none."""
        if self.output_schema_json is None:
            return None
        return json_text.load(self.output_schema_json, f"the output schema of {self.name!r}")


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerInfo:
    """What a client must know of the server."""

    version: str = ""
    contract: str = ""
    """The contract that it serves: ``toolport.v1``."""
    max_message_bytes: int = 0
    """The largest message, either way."""
    max_calls_in_flight: int = 0
    """How many calls may run in the process before they queue."""
    features: tuple[str, ...] = ()
    """What it offers beyond the minimum, such as ``run`` and ``journal``."""

    @property
    def has_durable_journal(self) -> bool:
        """Whether the outcomes of a run's calls outlive the server's process."""
        return "journal" in self.features


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """The tools: the same answer for the life of the sidecar."""

    tools: tuple[ToolDescriptor, ...]
    """In the set's order."""
    digest: str
    """``sha256:…`` over the whole set, whatever was asked to be listed."""
    text: str
    """The manifest for a prompt, a line an entry."""
    provider_tools: Any | None = None
    """What goes into the provider's ``tools``; None without a format."""
    provider_names: dict[str, str] = field(default_factory=dict)
    """The provider's name of a tool to the name that ``execute`` takes."""
    server: ServerInfo = ServerInfo()

    def tool(self, name: str) -> ToolDescriptor | None:
        """The listed tool of this exact name, if there is one."""
        return next((tool for tool in self.tools if tool.name == name), None)
