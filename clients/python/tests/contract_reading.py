"""Holds what the package reads in a message or a fault to what the message says.

The cases look at what travels; by this the package's own reading of it is tried by every case.
"""

from __future__ import annotations

from typing import Any

import grpc
from contract_rpcs import error_details_pb2, json_of, status_of
from google.protobuf.message import Message
from google.rpc import status_pb2

from toolport import Output, Progress, ToolCall, ToolPortError, errors, responses
from toolport.v1 import tool_pb2
from toolport.v1 import tool_port_service_pb2 as pb


class Reading:
    """The package's reading of one RPC."""

    def __init__(self) -> None:
        self.differences: list[str] = []
        self._readers: dict[object, responses.EventReader] = {}

    def message(self, message: Message) -> None:
        """Reads a message that came."""
        try:
            match message:
                case pb.ManifestResponse():
                    self._manifest(message)
                case pb.SelectResponse():
                    self._selection(message)
                case pb.RefuseResponse():
                    self._call(responses.tool_call(message.call), message.call)
                case pb.ExecuteResponse():
                    self._event("", message)
                case pb.RunResponse(event=event) if message.WhichOneof("message") == "event":
                    if event.WhichOneof("event") == "fault":
                        self._same(errors.status_fault(event.fault, "unknown"), event.fault)
                    else:
                        self._event(event.tag, event)
        except ToolPortError as error:
            self.differences.append(f"the client can't read {json_of(message)}: {error}")

    def fault(self, error: grpc.aio.AioRpcError) -> None:
        """Reads the status that the RPC ended with."""
        self._same(errors.fault(error, "unix:/s", "unknown"), status_of(error))

    def _manifest(self, message: pb.ManifestResponse) -> None:
        read = responses.manifest(message)
        self._equal("tools", [tool.name for tool in read.tools], [t.name for t in message.tools])
        self._equal("digest", read.digest, message.digest)
        self._equal("contract", read.server.contract, message.server.contract)
        for tool, said in zip(read.tools, message.tools, strict=True):
            for name in ("category", "cost_usd", "read_only", "output_schema_json", "requires"):
                given = getattr(said, name) if said.HasField(name) else None
                self._equal(f"{tool.name}.{name}", getattr(tool, name), given)

    def _selection(self, message: pb.SelectResponse) -> None:
        read, result = responses.selection(message, True), message.result
        self._equal("tools", list(read.tools), list(result.tools))
        self._equal("decided", read.decided, result.decided)
        forced = result.forced_choice if result.HasField("forced_choice") else None
        self._equal("forced_choice", read.forced_choice, forced)
        self._equal("stages", [r.stage for r in read.trace], [r.stage for r in result.trace])

    def _event(self, of: object, message: responses.Happened) -> None:
        reader = self._readers.setdefault(of, responses.EventReader(str(of)))
        match reader.read(message):
            case ToolCall() as read:
                self._call(read, message.call)
                del self._readers[of]
            case Progress(done=done):
                self._equal("done", done, message.progress.done)
            case Output(text=text, json=json):
                self._equal(
                    "output", text or json or "", message.output.text or message.output.json
                )

    def _call(self, read: ToolCall, message: tool_pb2.ToolCall) -> None:
        has_error = message.HasField("error")
        self._equal("id", read.id, message.id)
        self._equal("ok", read.ok, not has_error)
        self._equal("error", read.error, message.error if has_error else None)
        self._equal("arguments_json", read.arguments_json, message.arguments_json)
        self._equal("replayed", read.replayed, message.replayed)
        self._equal("attempt", read.attempt, message.attempt)
        # One that came in parts is joined, and the message's own is empty.
        if message.result:
            self._equal("result", read.result, message.result)

    def _same(self, read: ToolPortError, status: status_pb2.Status) -> None:
        """An error that says what the status says, where the server gave its details."""
        self._equal("code", read.code.value[0], status.code)
        info, retry = error_details_pb2.ErrorInfo(), error_details_pb2.RetryInfo()
        if any(detail.Unpack(info) for detail in status.details):
            self._equal("reason", read.reason, info.reason)
            self._equal("started", read.started, info.metadata["started"])
            self._equal("message", read.message, status.message)
        if any(detail.Unpack(retry) for detail in status.details):
            self._equal(
                "retry_after", read.retry_after, retry.retry_delay.ToTimedelta().total_seconds()
            )

    def _equal(self, what: str, read: Any, said: Any) -> None:
        if read != said:
            self.differences.append(
                f"the client reads {what} as {read!r}, the message has {said!r}"
            )
