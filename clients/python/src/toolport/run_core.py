"""What a live run knows, whatever carries it: its calls, and what each of them is owed."""

# I1  A call ends once: by its own event, by its caller's leaving, or with the run.
# I2  A call that was left stays in flight until the server says that it has ended, so that closing
#     the run in order waits for it.
# I3  What waits for a reader is bounded, and never holds up another call: the oldest events are
#     dropped, and a Skipped stands for them. The outcome is never dropped.
# I4  Everything here runs under the run's lock, and nothing waits.

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from typing import Final, Protocol, TypeAlias

from .calls import Skipped
from .errors import (
    Started,
    ToolPortError,
    because,
    broken_contract,
    cancelled_here,
    deadline_passed,
    ended_with,
    run_over,
    status_fault,
    too_large,
)
from .host import Desk
from .requests import milliseconds_left
from .responses import server_info
from .tools import ServerInfo
from .v1 import tool_port_service_pb2 as pb

MAX_WAITING_EVENTS: Final = 1024
"""How many events of one call may wait for its reader."""
MAX_WAITING_BYTES: Final = 8 << 20
"""How many bytes of them."""

_ENVELOPE: Final = 1024
_DEADLINE_GRACE: Final = 0.5

Outgoing: TypeAlias = Callable[[], pb.RunRequest | None]
"""Makes a message when it is its turn; None: it is not wanted any more."""


class Link(Protocol):
    """One stream of a run; a run that is opened again has another."""

    def send(self, message: Outgoing) -> None:
        """Sends a message in its turn; never waits."""

    def half_close(self) -> None:
        """Says that nothing more will be sent."""


class RunCall:
    """One call on a run."""

    def __init__(
        self, tag: int, request: pb.ExecuteRequest, until: float | None, wake: Callable[[], None]
    ) -> None:
        self.tag = tag
        self.request = request
        self.until = until
        """When its deadline passes, by the monotonic clock."""
        self.is_sent = False
        self.is_left = False
        self.is_over = False
        self._wake = wake
        self._waiting: deque[pb.CallEvent] = deque()
        self._parts: list[pb.CallEvent] = []
        self._bytes = 0
        self._skipped = 0
        self._fault: ToolPortError | None = None

    @property
    def call_id(self) -> str:
        """Its id."""
        return self.request.request.call_id

    @property
    def started(self) -> Started:
        """What is known of its tool."""
        return "unknown" if self.is_sent else "no"

    @property
    def patience(self) -> float | None:
        """For how many seconds to wait for its next event before :meth:`RunCore.expire`. The
        server's word for a deadline says more, so it has a moment more to come."""
        if self.until is None:
            return None
        return max(0.0, self.until - time.monotonic()) + _DEADLINE_GRACE

    def take(self) -> pb.CallEvent | Skipped | None:
        """The next event; None: there is none yet, or none any more where it ``is_over``.

        Raises:
            ToolPortError: the fault that ended it.
        """
        if self._skipped:
            skipped, self._skipped = Skipped(self._skipped), 0
            return skipped
        if self._waiting:
            event = self._waiting.popleft()
            self._bytes -= _weight(event)
            return event
        if self._fault is not None:
            raise self._fault
        return None

    def push(self, event: pb.CallEvent) -> None:
        """Keeps an event for its reader."""
        kind = event.WhichOneof("event")
        if kind == "chunk":
            # Until the outcome is here, the call may be asked for again, and begin with part 0.
            self._parts.append(event)
            return
        if kind == "call":
            self._waiting.extend(self._parts)
            self._parts.clear()
        self._waiting.append(event)
        self._bytes += _weight(event)
        if kind != "call":
            self._make_room()
        self._wake()

    def end(self, fault: ToolPortError | None = None) -> None:
        """Ends it; a second end is ignored."""
        if self.is_over:
            return
        self.is_over = True
        self._fault = fault
        if fault is not None:
            self._parts.clear()
        self._wake()

    def rewind(self) -> None:
        """Gets ready to be asked for again."""
        self._parts.clear()

    def _make_room(self) -> None:
        while len(self._waiting) > MAX_WAITING_EVENTS or self._bytes > MAX_WAITING_BYTES:
            self._bytes -= _weight(self._waiting.popleft())
            self._skipped += 1


class RunCore:
    """One run's calls and questions."""

    def __init__(
        self, open: pb.OpenRun, desk: Desk, max_message_bytes: int, lock: threading.RLock
    ) -> None:
        self.open = open
        self.desk = desk
        self.lock = lock
        self.opened: pb.RunOpened | None = None
        self.server = ServerInfo()
        self.is_closing = False
        self.is_over = False
        self.fault: ToolPortError | None = None
        self._limit = max_message_bytes - _ENVELOPE
        self._calls: dict[int, RunCall] = {}
        self._link: Link | None = None
        self._last_tag = 0
        desk.send = lambda message: self._send(lambda: message)

    @property
    def run_id(self) -> str:
        """The run's id."""
        return self.open.run_id

    @property
    def is_idle(self) -> bool:
        """Whether it is closing and no call is left."""
        return self.is_closing and not self._calls

    def begin(self, link: Link, opened: pb.RunOpened) -> None:
        """The run is open."""
        with self.lock:
            self._link = link
            self.opened = opened
            self.server = server_info(opened.server)
            if self.server.max_message_bytes:
                self._limit = min(self._limit, self.server.max_message_bytes - _ENVELOPE)
            self.desk.limit = self._limit
            # Calls belong to the set that the run began with.
            self.open.expected_digest = opened.digest

    def start(
        self, request: pb.ExecuteRequest, until: float | None, wake: Callable[[], None]
    ) -> RunCall:
        """Starts a call; ``wake`` tells its reader that there is something.

        Raises:
            ToolPortError: the run is over, or the request is too large.
        """
        size = request.ByteSize()
        with self.lock:
            if size > self._limit:
                asked = request.request
                raise too_large(
                    f"call {asked.call_id!r} of {asked.name!r}", size, max(0, self._limit)
                )
            if self.is_over or self.is_closing or self.opened is None:
                raise run_over(self.run_id, self.fault)
            self._last_tag += 1
            call = RunCall(self._last_tag, request, until, wake)
            self._calls[call.tag] = call
            self._send(lambda: self._asking(call))
            return call

    def leave(self, call: RunCall, fault: ToolPortError | None = None) -> None:
        """Ends a call whose caller has gone, by default by cancelling it."""
        with self.lock:
            if call.is_over or call.tag not in self._calls:
                return
            if call.is_sent:
                call.is_left = True
                self._send(lambda: pb.RunRequest(cancel=pb.CancelCall(tag=call.tag)))
            else:
                self._remove(call)
            call.end(fault or cancelled_here(call.started))

    def expire(self, call: RunCall, timeout: float) -> None:
        """Ends a call whose deadline has passed without a word of the server's."""
        self.leave(call, deadline_passed(timeout, call.started))

    def cancel(self, call_id: str) -> None:
        """Cancels the calls in flight that have this id."""
        with self.lock:
            for call in [each for each in self._calls.values() if each.call_id == call_id]:
                self.leave(call)

    def close(self) -> None:
        """Takes no new calls, and ends the stream when those in flight have ended.

        Raises:
            InvalidRequest: a host function of the run calls this; it would wait for itself.
        """
        self.desk.check_not_asking()
        with self.lock:
            self.is_closing = True
            self._close_if_idle()

    def take(self, response: pb.RunResponse) -> None:
        """Takes what the server says.

        Raises:
            ToolPortError: the server does not keep the contract.
        """
        kind = response.WhichOneof("message")
        if kind == "event":
            with self.lock:
                self._take_event(response.event)
        elif kind == "host_request":
            self.desk.ask(response.host_request)
        elif kind == "host_cancel":
            self.desk.cancel(response.host_cancel.request_id)
        elif kind == "opened":
            raise broken_contract(f"run {self.run_id!r} was opened twice on one stream")

    def lost(self, error: ToolPortError | None) -> ToolPortError | None:
        """The stream has ended, with an error or well; what is wrong with that, if anything."""
        with self.lock:
            self._link = None
            if self.is_idle:
                return None
            return error or broken_contract(
                f"the stream of run {self.run_id!r} ended though it was not closed"
            )

    def resume(self, link: Link, opened: pb.RunOpened, why: ToolPortError) -> None:
        """The run is open again: asks for everything in flight again. A call that may have started
        is asked for only where that can't start it twice; else it ends because of ``why``.
        """
        with self.lock:
            self._link = link
            if not opened.resumed:
                # Its questions have ended with the calls that asked them.
                self.desk.close()
            for call in list(self._calls.values()):
                if call.is_sent and not (opened.resumed or self.server.has_durable_journal):
                    del self._calls[call.tag]
                    call.end(_forgotten(self.run_id, call, why))
                    continue
                call.rewind()
                self._send(lambda call=call: self._asking(call))  # type: ignore[misc]
                if call.is_left:
                    tag = call.tag
                    self._send(lambda tag=tag: pb.RunRequest(cancel=pb.CancelCall(tag=tag)))  # type: ignore[misc]
            self._close_if_idle()

    def finish(self, fault: ToolPortError | None) -> None:
        """The run is over; ends every call that is left. Idempotent."""
        with self.lock:
            if self.is_over:
                return
            self.is_over = True
            self.fault = fault
            self._link = None
            left, self._calls = self._calls, {}
            for call in left.values():
                why = fault or run_over(self.run_id, None)
                call.end(ended_with(self.run_id, call.call_id, why, call.started))
            self.desk.close()

    def _take_event(self, event: pb.CallEvent) -> None:
        call = self._calls.get(event.tag)
        if call is None:
            return
        kind = event.WhichOneof("event")
        if kind in ("call", "fault"):
            self._remove(call)
            self.desk.forget(call.call_id)
        if kind == "fault":
            call.end(status_fault(event.fault, "unknown"))
        elif kind is not None and not call.is_left:
            call.push(event)
            if kind == "call":
                call.end()

    def _asking(self, call: RunCall) -> pb.RunRequest | None:
        """The call's message, unless nobody waits for it by then."""
        with self.lock:
            if self._calls.get(call.tag) is not call:
                return None
            call.is_sent = True
            deadline_ms = None if call.until is None else milliseconds_left(call.until)
            return pb.RunRequest(
                execute=pb.RunCall(tag=call.tag, request=call.request, deadline_ms=deadline_ms)
            )

    def _send(self, message: Outgoing) -> None:
        with self.lock:
            if self._link is not None:
                self._link.send(message)

    def _remove(self, call: RunCall) -> None:
        self._calls.pop(call.tag, None)
        self._close_if_idle()

    def _close_if_idle(self) -> None:
        if self.is_idle and self._link is not None:
            self._link.half_close()


def _weight(event: pb.CallEvent) -> int:
    return 0 if event.HasField("call") or event.HasField("chunk") else event.ByteSize()


def _forgotten(run_id: str, call: RunCall, why: ToolPortError) -> ToolPortError:
    message = (
        f"call {call.call_id!r} may have run: its run {run_id!r} was lost and opened again, but "
        f"the server has no durable journal to ask ({why})"
    )
    return because(why, message, "unknown")
