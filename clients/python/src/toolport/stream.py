"""One call under way, for synchronous code."""

from __future__ import annotations

from collections.abc import Callable, Generator
from types import TracebackType
from typing import Any, Protocol, Self, TypeAlias

import grpc

from . import fork
from .calls import Event, ToolCall
from .errors import Started, ToolPortError, cancelled_here, invalid_request
from .responses import EventReader


class Rpc(Protocol):
    """The part of grpc's response iterator that is used here."""

    def __iter__(self) -> Any:
        """Gives the responses."""

    def cancel(self) -> bool:
        """Cancels the RPC; thread-safe."""


Start: TypeAlias = Callable[[], Rpc]
ToFault: TypeAlias = Callable[[grpc.RpcError, Started], ToolPortError]


class CallStream:
    """The events of one call, as they happen: iterate over it, once.

    The call starts with the loop, or with the ``with`` block around it. Leaving either of them
    cancels it, and the tool's signal fires.
    """

    call_id: str
    """The call's id, also where it was made here."""

    def __init__(self, call_id: str, start: Start, to_fault: ToFault) -> None:
        self.call_id = call_id
        self._start_rpc = start
        self._to_fault = to_fault
        self._reader = EventReader(call_id)
        self._rpc: Rpc | None = None
        self._iterated = False
        self._cancelled = False
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
        self._cancelled = True
        if self._rpc is not None:
            self._rpc.cancel()
            self._end()

    def _start(self) -> Rpc:
        if self._rpc is None:
            if self._cancelled:
                raise cancelled_here("no")
            fork.begin(self)
            self._rpc = self._start_rpc()
            # Another thread may have cancelled it before there was an RPC to cancel.
            if self._cancelled:
                self._rpc.cancel()
        return self._rpc

    def _events(self) -> Generator[Event, None, None]:
        try:
            # The outcome is held until the RPC has ended: to leave it open, and then cancel it,
            # would cost the server a reset stream for every call.
            for response in self._start():
                event = self._reader.read(response)
                if event is not None and not isinstance(event, ToolCall):
                    yield event
            outcome = self._reader.finish()
            self._end()
            yield outcome
        except grpc.RpcError as error:
            outcome_or_none = self._reader.outcome
            if outcome_or_none is None:
                self._error = self._read_fault(error)
                raise self._error from None
            self._end()
            yield outcome_or_none
        except ToolPortError as error:
            self._error = error
            raise
        finally:
            self.cancel()
            self._end()

    def _read_fault(self, error: grpc.RpcError) -> ToolPortError:
        fault = self._to_fault(error, "unknown")
        if self._cancelled and fault.reason == "CANCELLED":
            return cancelled_here()
        return fault

    def _end(self) -> None:
        self._over = True
        fork.end(self)
