"""One call under way, for synchronous code."""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator
from types import TracebackType
from typing import Any, Protocol, Self, TypeAlias

import grpc

from . import fork
from .calls import Event, ToolCall
from .errors import Started, ToolPortError, cancelled_here, invalid_request
from .responses import EventReader


class Source(Protocol):
    """The events of one attempt at a call: an RPC of its own, or a part of a run."""

    def __iter__(self) -> Any:
        """Gives the events."""

    def cancel(self) -> Any:
        """Cancels the call; thread-safe."""


Start: TypeAlias = Callable[[], Source]
ToFault: TypeAlias = Callable[[grpc.RpcError, Started], ToolPortError]
Again: TypeAlias = Callable[[ToolPortError, threading.Event], bool]
"""Waits, until the event is set, and says whether a call that ended in this fault is to be asked
for again."""


class CallStream:
    """The events of one call, as they happen: iterate over it, once.

    The call starts with the loop, or with the ``with`` block around it. Leaving either of them
    cancels it, and the tool's signal fires.
    """

    call_id: str
    """The call's id, also where it was made here."""

    def __init__(self, call_id: str, start: Start, to_fault: ToFault, again: Again) -> None:
        self.call_id = call_id
        self._start_source = start
        self._to_fault = to_fault
        self._again = again
        self._reader = EventReader(call_id)
        self._source: Source | None = None
        self._iterated = False
        self._cancelled = threading.Event()
        self._over = False
        self._error: ToolPortError | None = None

    def __enter__(self) -> Self:
        self._start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.cancel()

    def __iter__(self) -> Generator[Event, None, None]:
        """Gives every event, the ``ToolCall`` last.

        Raises:
            ToolPortError: the call ended in a fault.
        """
        if self._iterated:
            raise invalid_request(f"the events of call {self.call_id!r} can be read only once")
        self._iterated = True
        # A generator of its own: the loop holds it alone, so leaving the loop closes it at once,
        # whoever still holds the stream.
        return self._events()

    def result(self) -> ToolCall:
        """Reads what is left and gives the outcome; may be called again, and after the loop.

        Raises:
            ToolPortError: the call ended in a fault.
        """
        if not self._iterated:
            for _ in self:
                pass
        if self._error is not None:
            raise self._error
        if self._reader.outcome is None:
            raise cancelled_here()
        return self._reader.outcome

    def cancel(self) -> None:
        """Cancels the call if it is still running; thread-safe and idempotent."""
        if self._over:
            return
        self._cancelled.set()
        if self._source is not None:
            self._source.cancel()
            self._end()

    def _start(self) -> Source:
        if self._source is None:
            if self._cancelled.is_set():
                raise cancelled_here("no")
            fork.begin(self)
            self._source = self._start_source()
            # Another thread may have cancelled it before there was an RPC to cancel.
            if self._cancelled.is_set():
                self._source.cancel()
        return self._source

    def _events(self) -> Generator[Event, None, None]:
        try:
            while True:
                fault: ToolPortError
                try:
                    # The outcome is held until the RPC has ended: to leave it open, and then
                    # cancel it, would cost the server a reset stream for every call.
                    for message in self._start():
                        event = self._reader.read(message)
                        if event is not None and not isinstance(event, ToolCall):
                            yield event
                    outcome = self._reader.finish()
                    break
                except grpc.RpcError as error:
                    if self._reader.outcome is not None:
                        outcome = self._reader.outcome
                        break
                    fault = self._read_fault(error)
                except ToolPortError as error:
                    fault = error
                if not self._asks_again(fault):
                    self._error = fault
                    raise fault
            self._end()
            yield outcome
        finally:
            self.cancel()
            self._end()

    def _asks_again(self, fault: ToolPortError) -> bool:
        if self._cancelled.is_set() or self._reader.outcome is not None:
            return False
        if not self._again(fault, self._cancelled) or self._cancelled.is_set():
            return False
        self._source = None
        self._reader.restart()
        return True

    def _read_fault(self, error: grpc.RpcError) -> ToolPortError:
        fault = self._to_fault(error, "unknown")
        if self._cancelled.is_set() and fault.reason == "CANCELLED":
            return cancelled_here()
        return fault

    def _end(self) -> None:
        self._over = True
        fork.end(self)
