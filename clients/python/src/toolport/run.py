"""A live run, for synchronous code."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterator, Mapping
from types import TracebackType
from typing import Any, Literal, Self, TypeAlias, overload

import grpc

from . import fork, requests
from .calls import Skipped, ToolCall
from .errors import (
    Started,
    ToolPortError,
    cancelled_here,
    closed,
    deadline_passed,
    invalid_request,
    is_transient,
    run_over,
)
from .host import HostFunction, ThreadDesk
from .retry import Backoff, Retries, Retry
from .run_core import RunCall, RunCore
from .run_link import ConnectRun, RunLink
from .run_requests import CallRequest, RequestLike, call_request
from .stream import CallStream
from .tools import ServerInfo
from .v1 import tool_port_service_pb2 as pb

ToFault: TypeAlias = Callable[[grpc.RpcError, Started], ToolPortError]


class Run:
    """A live run: any number of calls at once on one stream, with functions of the kernel that
    run-aware tools can ask for. :meth:`ToolPort.run` makes it::

        with port.run("run-7", hosts={"approve": approve}) as run:
            call = run.execute("book", {"seats": 2})

    Safe to use from many threads. Leaving the block in order waits for the calls that are still in
    flight; leaving it with an exception cancels them. When the stream is lost, every call ends in a
    fault that says so.
    """

    def __init__(
        self,
        open: pb.OpenRun,
        hosts: Mapping[str, HostFunction] | None,
        connect: ConnectRun,
        to_fault: ToFault,
        *,
        retry: Retry | None,
        reconnect: float,
        timeout: float | None,
        max_message_bytes: int,
    ) -> None:
        """Made by :meth:`ToolPort.run`."""
        self._lock = threading.RLock()
        self._desk = ThreadDesk(open.run_id, hosts, reconnect > 0, self._lock)
        self._core = RunCore(open, self._desk, max_message_bytes, self._lock)
        self._connect = connect
        self._to_fault = to_fault
        self._retry = retry
        self._reconnect = reconnect
        self._timeout = timeout
        self._link: RunLink | None = None
        self._thread: threading.Thread | None = None
        self._cancelled = threading.Event()
        self._resumed = False

    @property
    def id(self) -> str:
        """The run's id."""
        return self._core.run_id

    @property
    def digest(self) -> str:
        """Names the set of tools that the run uses; empty before it is open."""
        return "" if self._core.opened is None else self._core.opened.digest

    @property
    def resumed(self) -> bool:
        """Whether opening took over calls that were still running; ask for them again under the
        same ids to join them."""
        return self._resumed

    @property
    def server(self) -> ServerInfo:
        """What the server says of itself."""
        return self._core.server

    @property
    def live(self) -> bool:
        """Whether it takes calls."""
        core = self._core
        return core.opened is not None and not core.is_over and not core.is_closing

    @property
    def fault(self) -> ToolPortError | None:
        """What ended the run, where it did not end in order."""
        return self._core.fault

    def execute(
        self,
        name: str,
        arguments: Mapping[str, Any] | None = None,
        *,
        call_id: str | None = None,
        timeout: float | None = None,
        tool_timeout: float | None = None,
        metadata: Mapping[str, str] | None = None,
    ) -> ToolCall:
        """Runs one call to its end; as :meth:`ToolPort.execute`. A fault ends this call and no
        other; what ends the run ends all of them.
        """
        request = CallRequest(name, arguments, call_id, timeout, tool_timeout, metadata)
        return self._stream(request).result()

    def stream(
        self,
        name: str,
        arguments: Mapping[str, Any] | None = None,
        *,
        call_id: str | None = None,
        timeout: float | None = None,
        tool_timeout: float | None = None,
        metadata: Mapping[str, str] | None = None,
    ) -> CallStream:
        """As :meth:`execute`, with the events as they happen.

        One that is read slowly holds up no other call: beyond 1,024 events or 8 MiB that wait for
        their reader, the oldest are dropped, and a ``Skipped`` stands in their place. The outcome
        is never dropped.
        """
        return self._stream(CallRequest(name, arguments, call_id, timeout, tool_timeout, metadata))

    @overload
    def gather(
        self, *requests: RequestLike, return_exceptions: Literal[False] = False
    ) -> list[ToolCall]: ...

    @overload
    def gather(
        self, *requests: RequestLike, return_exceptions: bool
    ) -> list[ToolCall | ToolPortError]: ...

    def gather(
        self, *requests: RequestLike, return_exceptions: bool = False
    ) -> list[ToolCall] | list[ToolCall | ToolPortError]:
        """Runs calls at once and gives their outcomes in the order of the requests.

        The first fault cancels the others and is raised; with ``return_exceptions`` faults stand
        among the outcomes instead.
        """
        ended: queue.SimpleQueue[int] = queue.SimpleQueue()
        streams = [
            self._stream(call_request(request), lambda at=at: ended.put(at))  # type: ignore[misc]
            for at, request in enumerate(requests)
        ]
        done: dict[int, ToolCall | ToolPortError] = {}
        try:
            for at, stream in enumerate(streams):
                try:
                    stream._start()
                except ToolPortError as error:
                    if not return_exceptions:
                        raise
                    done[at] = error
            while len(done) < len(streams):
                at = ended.get()
                try:
                    done[at] = streams[at].result()
                except ToolPortError as error:
                    if not return_exceptions:
                        raise
                    done[at] = error
        finally:
            for stream in streams:
                stream.cancel()
        return [done[at] for at in range(len(streams))]

    def cancel(self, call: CallStream | str) -> None:
        """Cancels one call, given as its stream or its id; its end is a ``CallCancelled``. One that
        is not in flight is ignored.
        """
        if isinstance(call, str):
            self._core.cancel(call)
        else:
            call.cancel()

    def close(self) -> None:
        """Ends the run in order: takes no new calls, waits for those in flight, ends the stream.

        Raises:
            ToolPortError: the run did not end in order, such as when its stream was lost.
        """
        self._core.close()
        self._end()
        if self._core.fault is not None and not self._cancelled.is_set():
            raise self._core.fault

    def abort(self) -> None:
        """Cancels every call and ends the run. Idempotent."""
        self._cancelled.set()
        link = self._link
        if link is not None:
            link.cancel()
        self._end()

    def __enter__(self) -> Self:
        if self._thread is not None:
            raise invalid_request(f"run {self.id!r} was entered before; make another one")
        link, opened = self._open_with_retries()
        self._resumed = opened.resumed
        self._core.begin(link, opened)
        fork.begin(self)
        self._thread = threading.Thread(
            target=self._serve, args=(link,), name=f"toolport-run-{self.id}", daemon=True
        )
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if error is not None:
            self.abort()
            return
        try:
            self.close()
        except BaseException as interrupt:
            # Such as Ctrl-C while it waits.
            if not isinstance(interrupt, ToolPortError):
                self.abort()
            raise

    def _stream(self, request: CallRequest, ended: Callable[[], None] = lambda: None) -> CallStream:
        call = requests.tool_request(request.name, request.arguments, request.call_id, "")
        message = requests.execute_request(
            call,
            tool_timeout=request.tool_timeout,
            expected_digest=None,
            metadata=request.metadata,
            on_disconnect=None,
        )
        timeout = requests.deadline(request.timeout)
        until = requests.until(timeout)

        def start() -> _Source:
            fork.check()
            return _Source(self._core, message, until, timeout, ended)

        retries = Retries(self._retry)

        def again(error: ToolPortError, stop: threading.Event) -> bool:
            delay = retries.failed(error)
            return delay is not None and self.live and not stop.wait(delay)

        return CallStream(call.call_id, start, self._to_fault, again)

    def _open(self) -> tuple[RunLink, pb.RunOpened]:
        link = self._link = RunLink()
        if self._cancelled.is_set():
            raise cancelled_here("no")
        passed = threading.Event()

        def give_up() -> None:
            passed.set()
            link.cancel()

        timer = None if self._timeout is None else threading.Timer(self._timeout, give_up)
        if timer is not None:
            timer.daemon = True
            timer.start()
        fork.begin(link)
        try:
            return link, link.open(self._connect, self._core.open)
        except grpc.RpcError as error:
            link.cancel()
            if passed.is_set():
                raise deadline_passed(self._timeout or 0.0, "no") from None
            raise self._to_fault(error, "no") from None
        except BaseException:
            link.cancel()
            raise
        finally:
            fork.end(link)
            if timer is not None:
                timer.cancel()

    def _open_with_retries(self) -> tuple[RunLink, pb.RunOpened]:
        retries = Retries(self._retry)
        while True:
            try:
                return self._open()
            except ToolPortError as error:
                delay = retries.failed(error)
                if delay is None:
                    raise
            self._cancelled.wait(delay)

    def _serve(self, link: RunLink) -> None:
        """Owns the run: reads one stream after another until it is over."""
        fault: ToolPortError | None = cancelled_here()
        try:
            while True:
                fault = self._core.lost(self._read(link))
                link.cancel()
                if fault is None or not self._mends(fault):
                    return
                again = self._reopen(fault)
                if isinstance(again, RunLink):
                    link = again
                else:
                    fault = again
                    return
        finally:
            self._core.finish(fault)
            link.cancel()
            fork.end(self)

    def _read(self, link: RunLink) -> ToolPortError | None:
        """Reads a stream to its end; what ended it, unless it ended well."""
        try:
            while (response := link.read()) is not None:
                self._core.take(response)
            return None
        except grpc.RpcError as error:
            if self._cancelled.is_set():
                return cancelled_here()
            fault = self._to_fault(error, "unknown")
            # What grpc says of a channel that was closed.
            return closed("ToolPort") if fault.reason == "CANCELLED" else fault
        except ToolPortError as error:
            return error

    def _mends(self, fault: ToolPortError) -> bool:
        return self._reconnect > 0 and not self._cancelled.is_set() and is_transient(fault)

    def _reopen(self, fault: ToolPortError) -> RunLink | ToolPortError | None:
        """Opens the run again; else what it ends with."""
        backoff = Backoff(self._reconnect)
        why = fault
        while not self._core.is_idle:
            delay = backoff.next(fault)
            if delay is None:
                return fault
            if self._cancelled.wait(delay):
                return cancelled_here()
            try:
                link, opened = self._open()
            except ToolPortError as error:
                fault = error
                if not is_transient(error):
                    return error
                continue
            self._core.resume(link, opened, why)
            return link
        return None

    def _end(self) -> None:
        thread = self._thread
        if thread is None:
            self._core.finish(run_over(self.id, None))
        elif thread is not threading.current_thread():
            thread.join()


class _Source:
    """The events of one call on a run, as a stream reads them."""

    def __init__(
        self,
        core: RunCore,
        request: pb.ExecuteRequest,
        until: float | None,
        timeout: float | None,
        ended: Callable[[], None],
    ) -> None:
        self._core = core
        self._changed = threading.Condition(core.lock)
        self._timeout = timeout
        self._ended = ended
        with core.lock:
            self._call: RunCall = core.start(request, until, self._wake)

    def __iter__(self) -> Iterator[pb.CallEvent | Skipped]:
        while True:
            with self._core.lock:
                while (event := self._call.take()) is None and not self._call.is_over:
                    if not self._changed.wait(self._call.patience):
                        self._core.expire(self._call, self._timeout or 0.0)
            if event is None:
                return
            yield event

    def cancel(self) -> None:
        self._core.leave(self._call)

    def _wake(self) -> None:
        self._changed.notify_all()
        if self._call.is_over:
            self._ended()
