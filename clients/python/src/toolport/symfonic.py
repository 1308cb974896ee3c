"""The tools of a sidecar for symfonic-core; comes with ``toolport[symfonic]``.

::

    async with sidecar.aport() as port:
        agent = AgentBuilder().tools(*await symfonic_tools(port)).build()
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Protocol

from langchain_core.tools import BaseTool
from symfonic.core.tools.decorator import SymfonicToolMetadata
from symfonic.core.tools.registry import SafetyLevel, ToolCategory, ToolRegistry

from . import langchain
from .aio import AsyncToolPort
from .aio_run import AsyncRun
from .calls import ToolCall
from .langchain import ToolportTool
from .tools import Manifest

_SCOPES: Final = ("public", "internal", "admin")
_ROUTING_MODES: Final = ("off", "observe", "enforce")


class ToolRequest(Protocol):
    """One call as the kernel asks for it; nothing else of it is read."""

    @property
    def call_id(self) -> str:
        """Unique in its run."""

    @property
    def name(self) -> str:
        """The tool's exact name."""

    @property
    def arguments(self) -> Mapping[str, Any]:
        """The arguments."""


@dataclass(frozen=True, slots=True)
class ToolRecord:
    """What became of a call, in the kernel's form: just one of result and error is there."""

    id: str
    name: str
    arguments: Mapping[str, Any]
    """Those of the request: the same object for ``execute``, a copy for ``refuse``."""
    result: str | None
    error: str | None
    duration_ms: float


class SymfonicToolPort:
    """The kernel's tool port: runs and refuses calls."""

    def __init__(
        self,
        port: AsyncToolPort | AsyncRun,
        *,
        refuse_with: AsyncToolPort | None = None,
        run_id: str = "",
        expected_digest: str | None = None,
        timeout: float | None = None,
    ) -> None:
        """
        Args:
            port: What carries the calls; an ``AsyncRun`` for run-aware tools.
            refuse_with: The client of a run, for ``refuse``; None: refusals are made here, in the
                same words.
            run_id: The run of the calls, where ``port`` is a client.
            expected_digest: Run only if this is the digest of the set that is served.
            timeout: How long a call may take, in seconds.
        """
        self._port = port
        self._refuse_with = port if isinstance(port, AsyncToolPort) else refuse_with
        self._run_id = run_id
        self._expected_digest = expected_digest
        self._timeout = timeout

    async def execute(self, request: ToolRequest, context: Any = None) -> ToolRecord:
        """Runs one call to its end.

        ``context`` is the kernel's, which this port does not need: a run-aware tool needs its live
        run, which is ``port``. If it has a ``require_live``, that is asked first.

        Raises:
            ToolPortError: the call ended in a fault.
        """
        require_live = getattr(context, "require_live", None)
        if callable(require_live):
            require_live()
        if isinstance(self._port, AsyncRun):
            call = await self._port.execute(
                request.name, request.arguments, call_id=request.call_id, timeout=self._timeout
            )
        else:
            call = await self._port.execute(
                request.name,
                request.arguments,
                call_id=request.call_id,
                run_id=self._run_id,
                expected_digest=self._expected_digest,
                timeout=self._timeout,
            )
        return _record(call, request.arguments)

    async def refuse(self, request: ToolRequest, reason: str | None = None) -> ToolRecord:
        """The record of a call that was not let run; ``reason`` is what the model is told. Nothing
        runs, and no tool needs to have this name.
        """
        arguments = dict(request.arguments)
        if self._refuse_with is None:
            text = reason or "refused by a tool precondition"
            return ToolRecord(request.call_id, request.name, arguments, None, text, 0.0)
        call = await self._refuse_with.refuse(
            request.name, arguments, reason=reason or "", call_id=request.call_id
        )
        return _record(call, arguments)


async def symfonic_tools(
    port: AsyncToolPort | AsyncRun, manifest: Manifest | None = None, **options: Any
) -> list[BaseTool]:
    """The tools of a sidecar as symfonic-core registers them, hidden ones included: the kernel
    leaves those out of the manifest itself.

    ``options`` are those of :func:`toolport.langchain.tools`. Give a ``run_id`` only where the
    kernel's call ids are unique in the run: symfonic-core passes the provider's on as they are.
    """
    if manifest is None and isinstance(port, AsyncToolPort):
        manifest = await port.manifest(include_hidden=True)
    options.setdefault("include_hidden", True)
    made = langchain.tools(port, manifest, **options)
    for tool in made:
        _mark(tool)
    return made


def register(registry: ToolRegistry, tools: Iterable[BaseTool]) -> ToolRegistry:
    """Registers tools of :func:`symfonic_tools` with what their authors said of them: category,
    safety level, cost and calls per invocation. symfonic-core enforces none of these by itself.
    """
    for tool in tools:
        registry.register(tool, **_registration(tool))
    return registry


def _record(call: ToolCall, arguments: Mapping[str, Any]) -> ToolRecord:
    return ToolRecord(
        call.id, call.name, arguments, call.result, call.error, max(0.0, call.duration_ms)
    )


def _mark(tool: BaseTool) -> None:
    """Gives a tool what ``@symfonic_tool`` would give it."""
    assert isinstance(tool, ToolportTool)
    said = tool.descriptor
    metadata = SymfonicToolMetadata(
        scope=said.scope if said.scope in _SCOPES else "public",  # type: ignore[arg-type]
        routing_mode=said.routing_mode if said.routing_mode in _ROUTING_MODES else "observe",  # type: ignore[arg-type]
        visibility="hidden" if said.hidden else "visible",
    )
    # The way of symfonic-core's decorator: the name is no field of the model.
    object.__setattr__(tool, "_symfonic_metadata", metadata)


def _registration(tool: BaseTool) -> dict[str, Any]:
    if not isinstance(tool, ToolportTool):
        return {}
    said = tool.descriptor
    facts: dict[str, Any] = {
        "category": _member(ToolCategory, said.category),
        "safety_level": _member(SafetyLevel, said.safety_level),
        "cost_usd": said.cost_usd,
        "max_calls_per_invocation": said.max_calls_per_invocation,
    }
    return {name: value for name, value in facts.items() if value is not None}


def _member(of: Any, value: str | None) -> Any:
    """The enumeration's member; None where it has no such one."""
    return next((member for member in of if member.value == value), None)
