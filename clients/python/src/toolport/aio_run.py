"""A live run, for asyncio."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable, Mapping, Sequence
from types import TracebackType
from typing import Any, Literal, Self, TypeAlias, overload

import grpc

from . import requests
from .aio_link import AioLink
from .aio_stream import AsyncCallStream
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
from .host import AioDesk, HostFunction
from .retry import Backoff, Retries, Retry
from .run_core import RunCall, RunCore
from .run_requests import CallRequest, RequestLike, call_request
from .tools import ServerInfo
from .v1 import tool_port_service_pb2 as pb

Connect: TypeAlias = Callable[[], AioLink]
ToFault: TypeAlias = Callable[[grpc.RpcError, Started], Awaitable[ToolPortError]]


class AsyncRun:
    """A live run: any number of calls at once on one stream, with functions of the kernel that
    run-aware tools can ask for. :meth:`AsyncToolPort.run` makes it::

        async with port.run("run-7", hosts={"approve": approve}) as run:
            call = await run.execute("book", {"seats": 2})

    Leaving the block in order waits for the calls that are still in flight; leaving it with an
    exception cancels them. When the stream is lost, every call ends in a fault that says so.
    """

    def __init__(
        self,
        open: pb.OpenRun,
        hosts: Mapping[str, HostFunction] | None,
        connect: Connect,
        to_fault: ToFault,
        *,
        retry: Retry | None,
        reconnect: float,
        timeout: float | None,
        max_message_bytes: int,
    ) -> None:
        """Made by :meth:`AsyncToolPort.run`."""
        lock = threading.RLock()
        self._desk = AioDesk(open.run_id, hosts, reconnect > 0, lock)
        self._core = RunCore(open, self._desk, max_message_bytes, lock)
        self._connect = connect
        self._to_fault = to_fault
        self._retry = retry
        self._reconnect = reconnect
        self._timeout = timeout
        self._link: AioLink | None = None
        self._serving: asyncio.Task[None] | None = None
        self._is_cancelled = False
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

    async def execute(
        self,
        name: str,
        arguments: Mapping[str, Any] | None = None,
        *,
        call_id: str | None = None,
        timeout: float | None = None,
        tool_timeout: float | None = None,
        metadata: Mapping[str, str] | None = None,
    ) -> ToolCall:
        """Runs one call to its end; as :meth:`AsyncToolPort.execute`. A fault ends this call and no
        other; what ends the run ends all of them.
        """
        request = CallRequest(name, arguments, call_id, timeout, tool_timeout, metadata)
        return await self._stream(request).result()

    def stream(
        self,
        name: str,
        arguments: Mapping[str, Any] | None = None,
        *,
        call_id: str | None = None,
        timeout: float | None = None,
        tool_timeout: float | None = None,
        metadata: Mapping[str, str] | None = None,
    ) -> AsyncCallStream:
        """As :meth:`execute`, with the events as they happen.

        One that is read slowly holds up no other call: beyond 1,024 events or 8 MiB that wait for
        their reader, the oldest are dropped, and a ``Skipped`` stands in their place. The outcome
        is never dropped.
        """
        return self._stream(CallRequest(name, arguments, call_id, timeout, tool_timeout, metadata))

    @overload
    async def gather(
        self, *requests: RequestLike, return_exceptions: Literal[False] = False
    ) -> list[ToolCall]: ...

    @overload
    async def gather(
        self, *requests: RequestLike, return_exceptions: bool
    ) -> list[ToolCall | ToolPortError]: ...

    async def gather(
        self, *requests: RequestLike, return_exceptions: bool = False
    ) -> list[ToolCall] | list[ToolCall | ToolPortError]:
        """Runs calls at once and gives their outcomes in the order of the requests.

        The first fault cancels the others and is raised; with ``return_exceptions`` faults stand
        among the outcomes instead.
        """
        streams = [self._stream(call_request(request)) for request in requests]
        tasks = [asyncio.ensure_future(stream.result()) for stream in streams]
        try:
            if return_exceptions:
                return [_fault_or_call(done) for done in await _settled(tasks)]
            return await asyncio.gather(*tasks)
        finally:
            for task in tasks:
                task.cancel()
            if tasks:
                await asyncio.wait(tasks)

    def cancel(self, call: AsyncCallStream | str) -> None:
        """Cancels one call, given as its stream or its id; its end is a ``CallCancelled``. One that
        is not in flight is ignored.
        """
        if isinstance(call, str):
            self._core.cancel(call)
        else:
            call.cancel()

    async def close(self) -> None:
        """Ends the run in order: takes no new calls, waits for those in flight, ends the stream.

        Raises:
            ToolPortError: the run did not end in order, such as when its stream was lost.
        """
        self._core.close()
        await self._end()
        if self._core.fault is not None and not self._is_cancelled:
            raise self._core.fault

    async def abort(self) -> None:
        """Cancels every call and ends the run. Idempotent."""
        self._is_cancelled = True
        if self._link is not None:
            self._link.cancel()
        if self._serving is not None:
            self._serving.cancel()
        await self._end()

    async def __aenter__(self) -> Self:
        if self._serving is not None:
            raise invalid_request(f"run {self.id!r} was entered before; make another one")
        link, opened = await self._open_with_retries()
        self._link = link
        self._resumed = opened.resumed
        self._core.begin(link, opened)
        self._serving = asyncio.get_running_loop().create_task(
            self._serve(link), name=f"toolport-run-{self.id}"
        )
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if error is not None:
            await self.abort()
            return
        try:
            await self.close()
        except asyncio.CancelledError:
            await self.abort()
            raise

    def _stream(self, request: CallRequest) -> AsyncCallStream:
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
            return _Source(self._core, message, until, timeout)

        retries = Retries(self._retry, run_id="")

        async def again(error: ToolPortError) -> bool:
            delay = retries.failed(error)
            if delay is None or not self.live:
                return False
            await asyncio.sleep(delay)
            return True

        return AsyncCallStream(call.call_id, start, self._to_fault, again)

    async def _open(self) -> tuple[AioLink, pb.RunOpened]:
        link = self._connect()
        try:
            async with asyncio.timeout(self._timeout):
                return link, await link.open(self._core.open)
        except grpc.RpcError as error:
            fault = await self._to_fault(error, "no")
        except ToolPortError as error:
            fault = error
        except TimeoutError:
            fault = deadline_passed(self._timeout or 0.0, "no")
        except BaseException:
            await link.close()
            raise
        await link.close()
        raise fault

    async def _open_with_retries(self) -> tuple[AioLink, pb.RunOpened]:
        retries = Retries(self._retry)
        while True:
            try:
                return await self._open()
            except ToolPortError as error:
                delay = retries.failed(error)
                if delay is None:
                    raise
            await asyncio.sleep(delay)

    async def _serve(self, link: AioLink) -> None:
        """Owns the run: reads one stream after another until it is over."""
        fault: ToolPortError | None = cancelled_here()
        try:
            while True:
                fault = self._core.lost(await self._read(link))
                await link.close()
                if fault is None or not self._mends(fault):
                    return
                again = await self._reopen(fault)
                if again is None or isinstance(again, ToolPortError):
                    fault = again
                    return
                link = again
        except asyncio.CancelledError:
            fault = cancelled_here()
        finally:
            self._core.finish(fault)
            await link.close()
            await self._desk.drain()

    async def _read(self, link: AioLink) -> ToolPortError | None:
        """Reads a stream to its end; what ended it, unless it ended well."""
        try:
            await link.deliver(self._core.take)
            return None
        except grpc.RpcError as error:
            return await self._to_fault(error, "unknown")
        except ToolPortError as error:
            return error
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if self._is_cancelled or (task is not None and task.cancelling()):
                raise
            return closed("AsyncToolPort")  # grpc.aio says so of a channel that was closed, too.

    def _mends(self, fault: ToolPortError) -> bool:
        return self._reconnect > 0 and not self._is_cancelled and is_transient(fault)

    async def _reopen(self, fault: ToolPortError) -> AioLink | ToolPortError | None:
        """Opens the run again; else what it ends with."""
        backoff = Backoff(self._reconnect)
        why = fault
        while not self._core.is_idle:
            delay = backoff.next(fault)
            if delay is None:
                return fault
            await asyncio.sleep(delay)
            try:
                link, opened = await self._open()
            except ToolPortError as error:
                fault = error
                if not is_transient(error):
                    return error
                continue
            self._link = link
            self._core.resume(link, opened, why)
            return link
        return None

    async def _end(self) -> None:
        if self._serving is not None:
            await asyncio.wait([self._serving])
        else:
            self._core.finish(run_over(self.id, None))


class _Source:
    """The events of one call on a run, as a stream reads them."""

    def __init__(
        self, core: RunCore, request: pb.ExecuteRequest, until: float | None, timeout: float | None
    ) -> None:
        self._core = core
        self._wake = asyncio.Event()
        self._timeout = timeout
        self._call: RunCall = core.start(request, until, self._wake.set)

    async def read(self) -> Any:
        call = self._call
        while True:
            event: pb.CallEvent | Skipped | None = call.take()
            if event is not None:
                return event
            if call.is_over:
                return grpc.aio.EOF
            self._wake.clear()
            patience = call.patience
            try:
                async with asyncio.timeout(patience):
                    await self._wake.wait()
            except TimeoutError:
                self._core.expire(call, self._timeout or 0.0)

    def cancel(self) -> None:
        self._core.leave(self._call)


async def _settled(
    tasks: Sequence[asyncio.Future[ToolCall]],
) -> list[ToolCall | BaseException]:
    return await asyncio.gather(*tasks, return_exceptions=True)


def _fault_or_call(done: ToolCall | BaseException) -> ToolCall | ToolPortError:
    if isinstance(done, ToolCall | ToolPortError):
        return done
    raise done
