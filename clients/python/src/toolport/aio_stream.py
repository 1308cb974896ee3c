"""One call under way, for asyncio."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from types import TracebackType
from typing import Any, Protocol, Self, TypeAlias

import grpc

from .calls import Event, ToolCall
from .errors import Started, ToolPortError, cancelled_here, invalid_request
from .responses import EventReader


class AioSource(Protocol):
    """The events of one attempt at a call: an RPC of its own, or a part of a run."""

    async def read(self) -> Any:
        """The next event; ``grpc.aio.EOF`` after the last."""

    def cancel(self) -> Any:
        """Cancels the call. Idempotent."""


Start: TypeAlias = Callable[[], AioSource]
ToFault: TypeAlias = Callable[[grpc.RpcError, Started], Awaitable[ToolPortError]]
Again: TypeAlias = Callable[[ToolPortError], Awaitable[bool]]
"""Waits, and says whether a call that ended in this fault is to be asked for again."""


class AsyncCallStream:
    """The events of one call, as they happen: iterate over it, once.

    The call starts with the loop, or with the ``async with`` block around it. Leaving either of
    them, or the cancellation of the task, cancels it, and the tool's signal fires.
    """

    call_id: str
    """The call's id, also where it was made here."""

    def __init__(self, call_id: str, start: Start, to_fault: ToFault, again: Again) -> None:
        self.call_id = call_id
        self._start_source = start
        self._to_fault = to_fault
        self._again = again
        self._reader = EventReader(call_id)
        self._source: AioSource | None = None
        self._iterated = False
        self._cancelled = False
        self._over = False
        self._error: ToolPortError | None = None

    async def __aenter__(self) -> Self:
        self._start()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.cancel()

    def __aiter__(self) -> AsyncEvents:
        """Gives every event, the ``ToolCall`` last.

        Raises:
            ToolPortError: the call ended in a fault.
        """
        if self._iterated:
            raise invalid_request(f"the events of call {self.call_id!r} can be read only once")
        self._iterated = True
        return AsyncEvents(self)

    async def result(self) -> ToolCall:
        """Reads what is left and gives the outcome; may be called again, and after the loop.

        Raises:
            ToolPortError: the call ended in a fault.
        """
        if not self._iterated:
            async for _ in self:
                pass
        if self._error is not None:
            raise self._error
        if self._reader.outcome is None:
            raise cancelled_here()
        return self._reader.outcome

    def cancel(self) -> None:
        """Cancels the call if it is still running. Idempotent."""
        if self._over:
            return
        self._cancelled = True
        if self._source is not None:
            self._over = True
            self._source.cancel()

    def _start(self) -> AioSource:
        if self._source is None:
            if self._cancelled:
                raise cancelled_here("no")
            self._source = self._start_source()
        return self._source

    async def _next(self) -> Event | None:
        """The next event; None at the end."""
        while True:
            try:
                return await self._read()
            except asyncio.CancelledError:
                # grpc.aio says so of an RPC that was cancelled, too; the task's own must get
                # through.
                self.cancel()
                task = asyncio.current_task()
                if task is not None and task.cancelling():
                    raise
                return self._failed(cancelled_here())
            except grpc.RpcError as error:
                if self._reader.outcome is not None:
                    self._over = True
                    return self._reader.outcome
                fault = await self._to_fault(error, "unknown")
                if self._cancelled and fault.reason == "CANCELLED":
                    fault = cancelled_here()
            except ToolPortError as error:
                fault = error
            except BaseException:
                self.cancel()
                raise
            if not await self._asks_again(fault):
                return self._failed(fault)

    async def _read(self) -> Event | None:
        while self._reader.outcome is None or not self._over:
            message = await self._start().read()
            if message is grpc.aio.EOF:
                self._reader.finish()
                self._over = True
                return self._reader.outcome
            # The outcome is held until the RPC has ended: to leave it open, and then cancel
            # it, would cost the server a reset stream for every call.
            event = self._reader.read(message)
            if event is not None and not isinstance(event, ToolCall):
                return event
        return None

    async def _asks_again(self, fault: ToolPortError) -> bool:
        if self._cancelled or self._reader.outcome is not None:
            return False
        try:
            if not await self._again(fault):
                return False
        except BaseException:
            self.cancel()
            raise
        if self._cancelled:
            return False
        self._source = None
        self._reader.restart()
        return True

    def _failed(self, error: ToolPortError) -> Event | None:
        self.cancel()
        self._over = True
        self._error = error
        raise error from None


class AsyncEvents:
    """Iterates over a stream's events. Only the loop holds it, so leaving the loop ends it."""

    def __init__(self, stream: AsyncCallStream) -> None:
        self._stream = stream

    def __aiter__(self) -> AsyncEvents:
        return self

    async def __anext__(self) -> Event:
        event = await self._stream._next()
        if event is None:
            raise StopAsyncIteration
        return event

    async def aclose(self) -> None:
        """Cancels the call if it is still running. Idempotent."""
        self._stream.cancel()

    def __del__(self) -> None:
        # Not an asynchronous generator's clean-up, which asyncio puts off. The loop may be closed.
        with suppress(Exception):
            self._stream.cancel()
