"""The scripted server's side of a live run: its tools are those of Execute."""

from __future__ import annotations

import itertools
import queue
import threading
from collections.abc import Callable, Iterator
from typing import Any, NoReturn

import grpc
from google.rpc import status_pb2

from toolport.v1 import tool_port_service_pb2 as pb


class Faulted(Exception):
    """Ends one call."""


class RunCallContext:
    """What a tool sees of the RPC when it is called on a run."""

    def __init__(self, stream: RunStream, tag: int, call_id: str) -> None:
        self.stream = stream
        self.tag = tag
        self.call_id = call_id
        self.cancelled = threading.Event()
        self._callbacks: list[Callable[[], None]] = []

    def add_callback(self, callback: Callable[[], None]) -> None:
        """Has the call's cancellation told."""
        self._callbacks.append(callback)

    def cancel(self) -> None:
        """The call is cancelled."""
        self.cancelled.set()
        for callback in self._callbacks:
            callback()

    def fail(self, status: status_pb2.Status) -> NoReturn:
        """Ends the call in a fault."""
        raise Faulted(status)

    def abort(self, code: grpc.StatusCode, text: str) -> NoReturn:
        """Ends the call in a fault of no reason."""
        self.fail(status_pb2.Status(code=code.value[0], message=text))

    def invocation_metadata(self) -> tuple[()]:
        """A call on a run has no headers of its own."""
        return ()

    def ask(self, name: str, payload_json: str) -> pb.HostReply:
        """Asks the kernel and waits for its answer."""
        return self.stream.ask(name, payload_json, self.tag, self.call_id)


class RunStream:
    """One stream of a run."""

    _ids = itertools.count(1)

    def __init__(self, server: Any, requests: Iterator[pb.RunRequest], context: Any) -> None:
        self.server = server
        self.requests = requests
        self.context = context
        self.open = pb.OpenRun()
        self.calls: list[pb.RunCall] = []
        self.cancels: list[int] = []
        self.replies: list[pb.HostReply] = []
        self.half_closed = threading.Event()
        self.ended = threading.Event()
        self._out: queue.SimpleQueue[pb.RunResponse | None] = queue.SimpleQueue()
        self._running: dict[int, RunCallContext] = {}
        self._answers: dict[str, queue.SimpleQueue[pb.HostReply]] = {}
        self._lock = threading.Lock()
        self._lost: tuple[grpc.StatusCode, str] | None = None

    def responses(self) -> Iterator[pb.RunResponse]:
        """What the RPC gives."""
        self.context.add_callback(self._end)
        threading.Thread(target=self._read, daemon=True).start()
        yield from iter(self._out.get, None)
        if self._lost is not None:
            self.context.abort(*self._lost)

    def lose(self, code: grpc.StatusCode = grpc.StatusCode.UNAVAILABLE, text: str = "gone") -> None:
        """Ends the stream as a lost connection does."""
        self._lost = (code, text)
        self._out.put(None)

    def send(self, response: pb.RunResponse) -> None:
        """Sends whatever the test wants."""
        self._out.put(response)

    def ask(
        self, name: str, payload_json: str, tag: int, call_id: str, id: str | None = None
    ) -> pb.HostReply:
        """Asks the kernel and waits for its answer."""
        request_id = id or f"q{next(self._ids)}"
        answer = self._answers.setdefault(request_id, queue.SimpleQueue())
        self.send(
            pb.RunResponse(
                host_request=pb.HostRequest(
                    request_id=request_id,
                    tag=tag,
                    call_id=call_id,
                    name=name,
                    payload_json=payload_json,
                )
            )
        )
        return answer.get(timeout=20)

    def _read(self) -> None:
        try:
            for request in self.requests:
                kind = request.WhichOneof("message")
                if kind == "open":
                    self.open.CopyFrom(request.open)
                    self.send(pb.RunResponse(opened=self.server.opened))
                elif kind == "execute":
                    self._start(request.execute)
                elif kind == "cancel":
                    self.cancels.append(request.cancel.tag)
                    with self._lock:
                        call = self._running.get(request.cancel.tag)
                    if call is not None:
                        call.cancel()
                elif kind == "host_reply":
                    self.replies.append(request.host_reply)
                    self._answers.setdefault(
                        request.host_reply.request_id, queue.SimpleQueue()
                    ).put(request.host_reply)
            self.half_closed.set()
            with self._lock:
                if not self._running:
                    self._out.put(None)
        except Exception:
            self._end()

    def _start(self, call: pb.RunCall) -> None:
        self.calls.append(call)
        context = RunCallContext(self, call.tag, call.request.request.call_id)
        with self._lock:
            self._running[call.tag] = context
        threading.Thread(target=self._run, args=(call, context), daemon=True).start()

    def _run(self, call: pb.RunCall, context: RunCallContext) -> None:
        try:
            for event in self.server.Execute(call.request, context):
                kind = event.WhichOneof("event")
                self._event(call, **{kind: getattr(event, kind)})
        except Faulted as fault:
            self._event(call, fault=fault.args[0])
        if context.cancelled.is_set():
            self._event(call, fault=status_pb2.Status(code=1, message="the caller cancelled it"))
        with self._lock:
            del self._running[call.tag]
            if self.half_closed.is_set() and not self._running:
                self._out.put(None)

    def _event(self, asked: pb.RunCall, /, **event: Any) -> None:
        self.send(
            pb.RunResponse(
                event=pb.CallEvent(tag=asked.tag, call_id=asked.request.request.call_id, **event)
            )
        )

    def _end(self) -> None:
        with self._lock:
            running = list(self._running.values())
        for call in running:
            call.cancel()
        # Nobody answers any more: a tool that still waits would outlive its test.
        for answer in list(self._answers.values()):
            answer.put(pb.HostReply(error="the run has ended"))
        self.ended.set()
        self._out.put(None)
