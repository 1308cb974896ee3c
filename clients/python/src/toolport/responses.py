"""The contract's responses to Python data."""

from __future__ import annotations

from typing import Final, TypeAlias

from . import json_text
from .calls import Content, ErrorKind, Event, Output, Progress, Skipped, ToolCall
from .errors import broken_contract
from .selection import Selection, StageAction, StageRecord
from .tools import Manifest, ServerInfo, ToolDescriptor
from .v1 import selection_pb2, tool_pb2, tool_port_service_pb2

_KINDS: Final[dict[int, ErrorKind]] = {
    value: ErrorKind(name.removeprefix("ERROR_KIND_"))
    for name, value in tool_pb2.ErrorKind.items()
    if value != tool_pb2.ERROR_KIND_UNSPECIFIED
}
_ACTIONS: Final[dict[int, StageAction]] = {
    value: StageAction(name.removeprefix("STAGE_ACTION_").lower())
    for name, value in selection_pb2.StageAction.items()
    if value != selection_pb2.STAGE_ACTION_UNSPECIFIED
}


Happened: TypeAlias = tool_port_service_pb2.ExecuteResponse | tool_port_service_pb2.CallEvent
"""An event of a call, as an RPC of its own or a run brings it."""


class EventReader:
    """Reads the events of one call, joining a result that comes in parts."""

    def __init__(self, call_id: str) -> None:
        self._call_id = call_id
        self._chunks: list[bytes] = []
        self.outcome: ToolCall | None = None
        """The outcome, once it has come."""

    def restart(self) -> None:
        """Forgets the parts of a result that came before the call was asked for again."""
        self._chunks.clear()

    def read(self, message: Happened | Skipped) -> Event | None:
        """What a message says; None where it is only a part, or of a newer contract.

        Raises:
            ToolPortError: the server does not keep the contract.
        """
        if isinstance(message, Skipped):
            return message
        if self.outcome is not None:
            raise broken_contract(f"the stream of call {self._call_id!r} went on after its outcome")
        kind = message.WhichOneof("event")
        if kind == "progress":
            return _progress(message.progress)
        if kind == "output":
            return _output(message.output)
        if kind == "chunk":
            self._add(message.chunk)
            return None
        if kind == "call":
            self.outcome = tool_call(message.call, self._joined())
            return self.outcome
        return None

    def finish(self) -> ToolCall:
        """The outcome, when the stream has ended well."""
        if self.outcome is None:
            raise broken_contract(f"the stream of call {self._call_id!r} ended without its outcome")
        return self.outcome

    def _add(self, chunk: tool_port_service_pb2.ResultChunk) -> None:
        if chunk.part != len(self._chunks):
            raise broken_contract(
                f"part {chunk.part} of the result of call {self._call_id!r} came "
                f"where part {len(self._chunks)} was due"
            )
        self._chunks.append(chunk.data)

    def _joined(self) -> str | None:
        if not self._chunks:
            return None
        try:
            return b"".join(self._chunks).decode()
        except UnicodeDecodeError:
            raise broken_contract(
                f"the joined result of call {self._call_id!r} is not UTF-8"
            ) from None


def tool_call(message: tool_pb2.ToolCall, joined: str | None = None) -> ToolCall:
    """An outcome; ``joined`` is the text of a result that came in parts."""
    has_error = message.HasField("error")
    if has_error == message.HasField("result"):
        raise broken_contract(
            f"the outcome of call {message.id!r} must have a result or an error, "
            f"and has {'both' if has_error else 'neither'}"
        )
    result = None if has_error else (message.result if joined is None else joined)
    return ToolCall(
        id=message.id,
        name=message.name,
        arguments_json=message.arguments_json,
        result=result,
        error=message.error if has_error else None,
        error_kind=_KINDS.get(message.error_kind, ErrorKind.OTHER) if has_error else None,
        duration_ms=message.duration_ms,
        content=tuple(_content(part) for part in message.content),
        structured_json=message.structured_json if message.HasField("structured_json") else None,
        replayed=message.replayed,
        attempt=message.attempt,
    )


def manifest(message: tool_port_service_pb2.ManifestResponse) -> Manifest:
    """The tools."""
    return Manifest(
        tools=tuple(descriptor(tool) for tool in message.tools),
        digest=message.digest,
        text=message.text,
        provider_tools=_optional_json(message.provider_tools_json, "the provider's tools"),
        provider_names=dict(message.provider_names),
        server=server_info(message.server),
    )


def server_info(message: tool_port_service_pb2.ServerInfo) -> ServerInfo:
    """What a client must know of the server."""
    return ServerInfo(
        version=message.version,
        contract=message.contract,
        max_message_bytes=message.max_message_bytes,
        max_calls_in_flight=message.max_calls_in_flight,
        features=tuple(message.features),
    )


def selection(
    message: tool_port_service_pb2.SelectResponse, include_descriptors: bool
) -> Selection:
    """The tools to offer, and why."""
    result = message.result
    return Selection(
        tools=tuple(result.tools),
        decided=result.decided,
        forced_choice=result.forced_choice if result.HasField("forced_choice") else None,
        trace=tuple(_stage(record) for record in result.trace),
        descriptors=tuple(map(descriptor, message.tools)) if include_descriptors else None,
        digest=message.digest,
        provider_tool_choice=_optional_json(
            message.provider_tool_choice_json, "the provider's tool choice"
        ),
    )


def descriptor(message: tool_pb2.ToolDescriptor) -> ToolDescriptor:
    """A reading of one tool; an absent field stays absent."""
    has = message.HasField
    return ToolDescriptor(
        name=message.name,
        description=message.description,
        summary=message.summary,
        manifest_entry=message.manifest_entry,
        hidden=message.hidden,
        input_schema_json=message.input_schema_json,
        output_schema_json=message.output_schema_json if has("output_schema_json") else None,
        category=message.category if has("category") else None,
        safety_level=message.safety_level if has("safety_level") else None,
        cost_usd=message.cost_usd if has("cost_usd") else None,
        requires=message.requires if has("requires") else None,
        max_calls_per_invocation=(
            message.max_calls_per_invocation if has("max_calls_per_invocation") else None
        ),
        scope=message.scope if has("scope") else None,
        routing_mode=message.routing_mode if has("routing_mode") else None,
        timeout=message.timeout_ms / 1000 if has("timeout_ms") else None,
        run_aware=message.run_aware,
        idempotent=message.idempotent,
        read_only=message.read_only if has("read_only") else None,
        destructive=message.destructive if has("destructive") else None,
        open_world=message.open_world if has("open_world") else None,
        capability=message.capability,
    )


def _progress(message: tool_port_service_pb2.ToolProgress) -> Progress:
    total = message.total if message.HasField("total") else None
    return Progress(done=message.done, total=total, message=message.message)


def _output(message: tool_port_service_pb2.ToolOutput) -> Output | None:
    kind = message.WhichOneof("output")
    if kind == "text":
        return Output(text=message.text)
    if kind == "json":
        return Output(json=message.json)
    if kind == "content":
        return Output(content=_content(message.content))
    return None


def _content(message: tool_pb2.Content) -> Content:
    return Content(
        mime_type=message.mime_type,
        data=message.data if message.HasField("data") else None,
        uri=message.uri if message.HasField("uri") else None,
        name=message.name if message.HasField("name") else None,
    )


def _stage(message: selection_pb2.StageRecord) -> StageRecord:
    return StageRecord(
        stage=message.stage,
        action=_ACTIONS.get(message.action, StageAction.OTHER),
        kept=tuple(message.kept),
        dropped=tuple(message.dropped),
        added=tuple(message.added),
        reinstated=tuple(message.reinstated),
        forced_choice=message.forced_choice if message.HasField("forced_choice") else None,
        detail=message.detail,
    )


def _optional_json(text: str, what: str) -> object | None:
    return json_text.load(text, what) if text else None
