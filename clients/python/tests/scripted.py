"""A server in this process whose tools do what their names say."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from concurrent import futures
from typing import Any

import grpc
from google.protobuf import any_pb2, duration_pb2
from google.rpc import error_details_pb2, status_pb2
from scripted_run import RunCallContext, RunStream

from toolport.v1 import selection_pb2, tool_pb2, tool_port_service_pb2_grpc
from toolport.v1 import tool_port_service_pb2 as pb

Tool = Callable[[pb.ExecuteRequest, grpc.ServicerContext], Iterator[pb.ExecuteResponse]]


class ScriptedServer(tool_port_service_pb2_grpc.ToolPortServiceServicer):
    """Keeps what it was asked, and answers with what the test has put in."""

    def __init__(self) -> None:
        self.tools: dict[str, Tool] = {"echo": echo, "wait": self._wait}
        self.requests: list[Any] = []
        self.metadata: list[dict[str, str | bytes]] = []
        self.authorities: list[str] = []
        self.runs: list[RunStream] = []
        self.opened = pb.RunOpened(
            digest="sha256:1", server=pb.ServerInfo(max_message_bytes=64 << 20)
        )
        self.started = threading.Event()
        self.aborted = threading.Event()
        self.manifest = pb.ManifestResponse()
        self.selection = pb.SelectResponse()
        self.grpc: grpc.Server | None = None

    def serve(self, address: str, options: tuple[tuple[str, Any], ...] = ()) -> int:
        """Serves at an address that grpc takes; returns the port."""
        self.grpc = grpc.server(
            futures.ThreadPoolExecutor(32),
            options=(("grpc.max_receive_message_length", 64 << 20), *options),
        )
        add: Any = tool_port_service_pb2_grpc.add_ToolPortServiceServicer_to_server
        add(self, self.grpc)
        self.grpc.add_generic_rpc_handlers((_Health(),))
        port = self.grpc.add_insecure_port(address)
        self.grpc.start()
        return port

    def stop(self) -> None:
        """Ends it, with whatever still runs."""
        if self.grpc is not None:
            self.grpc.stop(0).wait()

    def Execute(
        self, request: pb.ExecuteRequest, context: grpc.ServicerContext
    ) -> Iterator[pb.ExecuteResponse]:
        self._note(request, context)
        tool = self.tools.get(request.request.name)
        if tool is None:
            yield failed(request, tool_pb2.ERROR_KIND_UNKNOWN_TOOL, "unknown tool")
        else:
            yield from tool(request, context)

    def Refuse(self, request: pb.RefuseRequest, context: grpc.ServicerContext) -> pb.RefuseResponse:
        self._note(request, context)
        asked = request.request
        return pb.RefuseResponse(
            call=tool_pb2.ToolCall(
                id=asked.call_id,
                name=asked.name,
                arguments_json=asked.arguments_json,
                error=request.reason or "refused by a tool precondition",
                error_kind=tool_pb2.ERROR_KIND_REFUSED,
            )
        )

    def Manifest(
        self, request: pb.ManifestRequest, context: grpc.ServicerContext
    ) -> pb.ManifestResponse:
        self._note(request, context)
        return self.manifest

    def Select(self, request: pb.SelectRequest, context: grpc.ServicerContext) -> pb.SelectResponse:
        self._note(request, context)
        return self.selection

    def Run(
        self, requests: Iterator[pb.RunRequest], context: grpc.ServicerContext
    ) -> Iterator[pb.RunResponse]:
        stream = RunStream(self, requests, context)
        self.runs.append(stream)
        yield from stream.responses()

    def _note(self, request: Any, context: grpc.ServicerContext) -> None:
        self.requests.append(request)
        self.metadata.append(dict(context.invocation_metadata()))

    def _wait(
        self, request: pb.ExecuteRequest, context: grpc.ServicerContext
    ) -> Iterator[pb.ExecuteResponse]:
        """Reports progress once and then waits for its cancellation."""
        # Not after the wait: a call that ends in the midst of the yield is not taken up again.
        over = threading.Event()
        context.add_callback(self.aborted.set)
        context.add_callback(over.set)
        self.started.set()
        yield pb.ExecuteResponse(progress=pb.ToolProgress(done=1, total=2, message="half-way"))
        over.wait(20)


def echo(request: pb.ExecuteRequest, context: grpc.ServicerContext) -> Iterator[pb.ExecuteResponse]:
    """Returns its arguments."""
    text = request.request.arguments_json
    yield done(request, result=text, structured_json=text)


def done(request: pb.ExecuteRequest, **fields: Any) -> pb.ExecuteResponse:
    """The outcome of a call."""
    asked = request.request
    return pb.ExecuteResponse(
        call=tool_pb2.ToolCall(
            id=asked.call_id,
            name=asked.name,
            arguments_json=asked.arguments_json,
            **{"duration_ms": 1.5, "attempt": 1, **fields},
        )
    )


def failed(request: pb.ExecuteRequest, kind: Any, error: str) -> pb.ExecuteResponse:
    """The outcome of a call that failed."""
    return done(request, error_kind=kind, error=error)


def returns(**fields: Any) -> Tool:
    """A tool with this outcome."""

    def tool(
        request: pb.ExecuteRequest, context: grpc.ServicerContext
    ) -> Iterator[pb.ExecuteResponse]:
        yield done(request, **fields)

    return tool


def sends(*events: pb.ExecuteResponse) -> Tool:
    """A tool that sends just these events."""

    def tool(
        request: pb.ExecuteRequest, context: grpc.ServicerContext
    ) -> Iterator[pb.ExecuteResponse]:
        yield from events

    return tool


def faults(
    code: grpc.StatusCode,
    message: str,
    *,
    reason: str | None = None,
    started: str = "no",
    retry_after: float | None = None,
) -> Tool:
    """A tool whose call ends in a fault; without a reason, in a bare status."""

    def tool(
        request: pb.ExecuteRequest, context: grpc.ServicerContext
    ) -> Iterator[pb.ExecuteResponse]:
        if reason is not None:
            info = error_details_pb2.ErrorInfo(
                domain="toolport", reason=reason, metadata={"started": started}
            )
            details = [_any(info)]
            if retry_after is not None:
                delay = duration_pb2.Duration(
                    seconds=int(retry_after), nanos=int(retry_after % 1 * 1e9)
                )
                details.append(_any(error_details_pb2.RetryInfo(retry_delay=delay)))
            status = status_pb2.Status(code=code.value[0], message=message, details=details)
            if isinstance(context, RunCallContext):
                context.fail(status)
            context.set_trailing_metadata(
                (("grpc-status-details-bin", status.SerializeToString()),)
            )
        context.abort(code, message)
        yield

    return tool


def stage(**fields: Any) -> selection_pb2.StageRecord:
    """A record of the trace."""
    return selection_pb2.StageRecord(**fields)


def arguments(request: Any) -> Any:
    """The arguments that a request carries."""
    return json.loads(request.request.arguments_json)


def _any(message: Any) -> any_pb2.Any:
    packed = any_pb2.Any()
    packed.Pack(message)
    return packed


class _Health(grpc.GenericRpcHandler):
    def service(self, call: grpc.HandlerCallDetails) -> grpc.RpcMethodHandler[Any, Any] | None:
        if call.method != "/grpc.health.v1.Health/Check":
            return None
        return grpc.unary_unary_rpc_method_handler(lambda request, context: b"\x08\x01")
