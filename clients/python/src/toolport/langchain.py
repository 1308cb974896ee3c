"""The tools of a sidecar as LangChain tools; comes with ``toolport[langchain]``.

::

    with Sidecar.spawn("tools.ts") as sidecar, sidecar.port() as port:
        agent = create_agent(model, tools(port))
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, TypedDict

from langchain_core.messages import ToolMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import BaseTool, ToolException
from pydantic import PrivateAttr

from .aio import AsyncToolPort
from .aio_run import AsyncRun
from .calls import Content, ErrorKind, Output, Progress, Skipped, ToolCall
from .client import ToolPort
from .errors import invalid_request
from .requests import OnDisconnect
from .run import Run
from .tools import Manifest, ToolDescriptor

Port: TypeAlias = ToolPort | AsyncToolPort | Run | AsyncRun
"""What carries the calls: a client, or a live run, which run-aware tools need."""

RunId: TypeAlias = str | Callable[[RunnableConfig], str]
"""A run's id, or how to find it in a call's config, such as its ``thread_id``."""

Errors: TypeAlias = Literal["message", "raise"]
"""What becomes of a call whose outcome is an error."""


@dataclass(frozen=True, slots=True)
class ToolEvent:
    """What a tool says while it runs."""

    name: str
    """The tool's name."""
    call_id: str
    event: Progress | Output | Skipped


OnEvent: TypeAlias = Callable[[ToolEvent], Awaitable[None] | None]
"""Is told what tools say while they run; awaited where the call is asynchronous."""


class ContentPart(TypedDict):
    """An image, audio clip or file of a result; one of ``data`` and ``uri`` is there."""

    mime_type: str
    data: bytes | None
    uri: str | None
    name: str | None


class Artifact(TypedDict):
    """What a ``ToolMessage`` carries beside its text, as plain data."""

    value: Any
    """The result as Python data; its text where the tool gave no structured data."""
    content: list[ContentPart]
    error_kind: str | None
    """Why the call failed; None where it did not."""
    call_id: str
    replayed: bool
    attempt: int
    duration_ms: float


class ToolFailed(ToolException):
    """A call's outcome is an error; ``str(error)`` is what the model should see."""

    def __init__(self, call: ToolCall) -> None:
        super().__init__(call.text)
        self.call = call
        """The outcome."""

    @property
    def error_kind(self) -> ErrorKind | None:
        """What kind of failure."""
        return self.call.error_kind


def tools(
    port: Port,
    manifest: Manifest | None = None,
    *,
    names: Iterable[str] | None = None,
    include_hidden: bool = False,
    run_id: RunId | None = None,
    errors: Errors = "message",
    on_event: OnEvent | None = None,
    timeout: float | None = None,
    tool_timeout: float | None = None,
    on_disconnect: OnDisconnect | None = None,
) -> list[BaseTool]:
    """The tools of a sidecar for LangChain and LangGraph, in the set's order.

    Each has its own schema, as it is: the sidecar checks the arguments, not LangChain. A call's
    text is its ``ToolMessage``'s content, everything else its artifact, an :class:`Artifact`.

    Args:
        port: What carries the calls. The tools of an asynchronous one can only be awaited; those
            of a synchronous one can be used both ways.
        manifest: The tools, from ``port.manifest()``; None: asked for here, of a ``ToolPort``
            only. See :func:`atools`.
        names: Only these; None: all that the manifest lists.
        include_hidden: Also those that the model is not to see.
        run_id: The run that the calls belong to, so that one that is asked again under the same
            ``tool_call_id`` gets its recorded outcome. None: each call stands alone. With it the
            model's ids must be unique in the run: see ``remap_tool_call_ids``.
        errors: What becomes of an outcome that is an error: with ``message`` a ``ToolMessage`` of
            status ``error``, or a ``ToolFailed`` where the tool was called without a tool call;
            with ``raise`` always a ``ToolFailed``. A fault is raised as the ``ToolPortError`` that
            it is: it is for the kernel's author, not for the model.
        on_event: Is told of progress and partial output. Within LangGraph
            ``get_stream_writer()`` works in it.
        timeout: How long a call may take, in seconds.
        tool_timeout: How long a tool may run, in seconds.
        on_disconnect: As of ``execute``.
    """
    if errors not in ("message", "raise"):
        raise invalid_request(f"errors is {errors!r}; expected message or raise")
    is_run = isinstance(port, Run | AsyncRun)
    if is_run and (run_id is not None or on_disconnect is not None):
        raise invalid_request("run_id and on_disconnect are the run's own; leave them out here")
    if manifest is None:
        if not isinstance(port, ToolPort):
            raise invalid_request(
                "the manifest is missing: pass what `manifest()` of the client gives, or use atools"
            )
        manifest = port.manifest(include_hidden=include_hidden)
    options: dict[str, Any] = {"timeout": timeout, "tool_timeout": tool_timeout}
    if not is_run:
        options |= {"expected_digest": manifest.digest, "on_disconnect": on_disconnect}
    wanted = None if names is None else frozenset(names)
    made: list[BaseTool] = []
    for tool in manifest.tools:
        if (tool.hidden and not include_hidden) or (wanted is not None and tool.name not in wanted):
            continue
        made.append(ToolportTool.of(tool, _Caller(port, run_id, errors, on_event, options)))
    return made


async def atools(
    port: AsyncToolPort, *, include_hidden: bool = False, **options: Any
) -> list[BaseTool]:
    """As :func:`tools`, with the manifest asked for here; ``options`` are the same."""
    manifest = await port.manifest(include_hidden=include_hidden)
    return tools(port, manifest, include_hidden=include_hidden, **options)


@dataclass(frozen=True, slots=True)
class _Caller:
    """How a tool's calls are made."""

    port: Port
    run_id: RunId | None
    errors: Errors
    on_event: OnEvent | None
    options: dict[str, Any]

    def stream(
        self, name: str, arguments: dict[str, Any], call_id: str | None, config: RunnableConfig
    ) -> Any:
        options = dict(self.options)
        if self.run_id is not None:
            options["run_id"] = self.run_id(config) if callable(self.run_id) else self.run_id
        return self.port.stream(name, arguments, call_id=call_id, **options)


class ToolportTool(BaseTool):
    """One tool of a sidecar."""

    _caller: _Caller = PrivateAttr()
    _descriptor: ToolDescriptor = PrivateAttr()

    @classmethod
    def of(cls, tool: ToolDescriptor, caller: Any) -> ToolportTool:
        """Made by :func:`tools`."""
        made = cls(
            name=tool.name,
            description=tool.description,
            args_schema=tool.input_schema,
            response_format="content_and_artifact",
            metadata={"toolport": _facts(tool)},
        )
        made._caller = caller
        made._descriptor = tool
        return made

    @property
    def descriptor(self) -> ToolDescriptor:
        """What the sidecar says of the tool."""
        return self._descriptor

    @property
    def args(self) -> dict[str, Any]:
        """The schema's properties; none where it has none."""
        schema = self.args_schema
        properties = schema.get("properties") if isinstance(schema, dict) else None
        return dict(properties) if isinstance(properties, dict) else {}

    def invoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Any:
        """Runs a tool call, or plain arguments."""
        return super().invoke(self._as_call(input), config, **kwargs)

    async def ainvoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Any:
        """Runs a tool call, or plain arguments."""
        return await super().ainvoke(self._as_call(input), config, **kwargs)

    def _as_call(self, input: Any) -> Any:
        # Arguments are data, also those that say of themselves that they are a tool call.
        if (
            isinstance(input, dict)
            and input.get("type") == "tool_call"
            and not (input.keys() >= {"id", "args"} and input.get("name") == self.name)
        ):
            return {"type": "tool_call", "id": None, "name": self.name, "args": input}
        return input

    def _to_args_and_kwargs(
        self, tool_input: str | dict[str, Any], tool_call_id: str | None
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        # Not as keywords, where an argument named `config` would be taken for something else.
        if not isinstance(tool_input, dict):
            raise invalid_request(
                f"the arguments of {self.name!r} are {tool_input!r}; give a dict of them"
            )
        return (tool_input, tool_call_id), {}

    def _run(
        self, arguments: dict[str, Any], call_id: str | None, /, config: RunnableConfig
    ) -> tuple[Any, Artifact | None]:
        if isinstance(self._caller.port, AsyncToolPort | AsyncRun):
            raise NotImplementedError(
                f"{self.name!r} was made of an asynchronous client; use ainvoke, or a ToolPort"
            )
        stream = self._caller.stream(self.name, arguments, call_id, config)
        return self._answer(self._follow(stream), call_id)

    async def _arun(
        self, arguments: dict[str, Any], call_id: str | None, /, config: RunnableConfig
    ) -> tuple[Any, Artifact | None]:
        stream = self._caller.stream(self.name, arguments, call_id, config)
        on_event = self._caller.on_event
        if not isinstance(self._caller.port, AsyncToolPort | AsyncRun):
            return self._answer(await self._on_a_thread(stream), call_id)
        async with stream as events:
            async for event in events:
                if on_event is not None and not isinstance(event, ToolCall):
                    told = on_event(ToolEvent(self.name, stream.call_id, event))
                    if inspect.isawaitable(told):
                        await told
        return self._answer(await stream.result(), call_id)

    def _follow(self, stream: Any) -> ToolCall:
        on_event = self._caller.on_event
        with stream as events:
            for event in events:
                if on_event is not None and not isinstance(event, ToolCall):
                    told = on_event(ToolEvent(self.name, stream.call_id, event))
                    if inspect.isawaitable(told):
                        asyncio.run(_awaited(told))
        call: ToolCall = stream.result()
        return call

    async def _on_a_thread(self, stream: Any) -> ToolCall:
        following = asyncio.ensure_future(asyncio.to_thread(self._follow, stream))
        try:
            return await asyncio.shield(following)
        except asyncio.CancelledError:
            stream.cancel()
            following.add_done_callback(lambda done: done.cancelled() or done.exception())
            raise

    def _answer(self, call: ToolCall, call_id: str | None) -> tuple[Any, Artifact | None]:
        artifact = _artifact(call)
        if call.ok:
            return call.text, artifact
        if call_id is None or self._caller.errors == "raise":
            raise ToolFailed(call)
        message = ToolMessage(
            call.text, name=self.name, tool_call_id=call_id, status="error", artifact=artifact
        )
        return message, artifact


async def _awaited(told: Awaitable[None]) -> None:
    await told


def _artifact(call: ToolCall) -> Artifact:
    return Artifact(
        value=call.value,
        content=[_part(part) for part in call.content],
        error_kind=None if call.error_kind is None else call.error_kind.value,
        call_id=call.id,
        replayed=call.replayed,
        attempt=call.attempt,
        duration_ms=call.duration_ms,
    )


def _part(part: Content) -> ContentPart:
    return ContentPart(mime_type=part.mime_type, data=part.data, uri=part.uri, name=part.name)


def _facts(tool: ToolDescriptor) -> dict[str, Any]:
    """What a kernel may want to know of a tool; what its author did not state is left out."""
    facts = {
        "capability": tool.capability or None,
        "category": tool.category,
        "safety_level": tool.safety_level,
        "cost_usd": tool.cost_usd,
        "requires": tool.requires,
        "max_calls_per_invocation": tool.max_calls_per_invocation,
        "scope": tool.scope,
        "routing_mode": tool.routing_mode,
        "hidden": tool.hidden,
        "run_aware": tool.run_aware,
        "idempotent": tool.idempotent,
        "read_only": tool.read_only,
        "destructive": tool.destructive,
        "open_world": tool.open_world,
    }
    return {name: value for name, value in facts.items() if value is not None}
