"""The fast lane: one gRPC call on a connection of its own, for asyncio, without grpcio."""

# I1  What is received is handed over within the turn of the loop that brought it; the server may
#     send more only as it is taken, so a reader that waits holds up the server and nothing else.
# I2  Messages are made when there is room for them, and written once for each turn of the loop.
#     While the transport is full none is made; what keeps the connection going still goes out.
# I3  Whoever waits is told of the call's end once, in the turn that brings it: a reader after the
#     last message, and whoever waits for the connection's end when the transport is gone.
# I4  A peer that says nothing for KEEPALIVE seconds is asked for a sign of life, and given up when
#     none comes. The pings of a client that is merely idle are no more frequent than that.

from __future__ import annotations

import asyncio
import math
import socket
from collections import deque
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Final

import grpc

from . import grpc_framing
from .channel import Target
from .h2_frames import ErrorCode
from .h2_stream import H2Stream

KEEPALIVE: Final = 20.0
"""After how many silent seconds the peer is asked for a sign of life."""
KEEPALIVE_TIMEOUT: Final = 10.0
"""How many seconds it has for it."""

_ENOUGH: Final = 64 << 10
_TOO_MUCH: Final = 4 << 20
_GOODBYE: Final = 1.0


class AioLane(asyncio.Protocol):
    """The call; also what its transport speaks to."""

    def __init__(
        self,
        target: Target,
        path: str,
        metadata: Iterable[tuple[str, str]] = (),
        timeout: float | None = None,
    ) -> None:
        """``timeout``: when it passes, in seconds from :meth:`connect`, the call ends in
        DEADLINE_EXCEEDED.
        """
        self._loop = asyncio.get_running_loop()
        self._gone: asyncio.Future[None] = self._loop.create_future()
        self._target = target
        self._timeout = timeout
        self._stream = H2Stream(_headers(target, path, metadata, timeout), target.max_message_bytes)
        self._inbox: deque[bytes] = deque()
        self._receiver: Callable[[bytes], None] | None = None
        self._failure: Exception | None = None
        self._waiter: asyncio.Future[None] | None = None
        self._transport: asyncio.Transport | None = None
        self._is_writable = True
        self._is_scheduled = False
        self._is_ending = False
        self._deadline: asyncio.TimerHandle | None = None
        self._timer: asyncio.TimerHandle | None = None  # Of the keepalive, then of the goodbye.
        self._heard_at = self._pinged_at = 0.0
        self.source: Callable[[], bytes | None] = lambda: None
        """Makes the next message to be sent; None: there is none now."""

    async def connect(self) -> None:
        """Connects and asks for the call.

        Raises:
            grpc.RpcError: nobody answers at the address.
        """
        loop = self._loop
        place = self._target.place
        if self._timeout is not None:
            self._deadline = loop.call_later(self._timeout, self._expire)
        try:
            if isinstance(place, str):
                await loop.create_unix_connection(lambda: self, place)
            else:
                await loop.create_connection(lambda: self, *place)
        except (OSError, OverflowError, UnicodeError) as failure:
            self._stop_timers()
            raise grpc_framing.error(
                grpc.StatusCode.UNAVAILABLE, f"failed to connect to all addresses: {failure}"
            ) from None

    async def read(self) -> bytes | None:
        """The next message; None: the call has ended well.

        Raises:
            grpc.RpcError: it has ended otherwise.
        """
        while not self._inbox:
            if self._stream.is_over:
                self._raise()
                return None
            await self._wait()
        message = self._inbox.popleft()
        self._stream.withheld -= len(message)
        self.wake()
        return message

    async def deliver(self, receiver: Callable[[bytes], None]) -> None:
        """Gives every message to ``receiver``, as it comes, until the call ends well. What
        ``receiver`` raises ends the call, and is raised here.

        Raises:
            grpc.RpcError: the call has ended otherwise.
        """
        self._receiver = receiver
        waiting = list(self._inbox)
        self._inbox.clear()
        self._stream.withheld = 0
        self._hand_over(waiting)
        self.wake()
        while not self._stream.is_over:
            await self._wait()
        self._raise()

    def wake(self) -> None:
        """Says that ``source`` has something."""
        if not self._is_scheduled and not self._loop.is_closed():
            self._is_scheduled = True
            self._loop.call_soon(self._flush)

    def half_close(self) -> None:
        """Says that nothing follows what ``source`` gave."""
        self._is_ending = True
        self.wake()

    def end(self, failure: Exception) -> None:
        """Ends the call from here; whoever reads gets ``failure``. Idempotent, and does nothing
        once the loop is closed.
        """
        if self._stream.is_over or self._loop.is_closed():
            return
        self._failure = failure
        self._stream.end(None, ErrorCode.CANCEL)
        self._tell()

    def cancel(self) -> None:
        """Ends the call as cancelled. Idempotent."""
        self.end(grpc_framing.error(grpc.StatusCode.CANCELLED, "the call was cancelled"))

    async def close(self) -> None:
        """Ends the call if it is not over, and waits for the end of the connection, which takes a
        second at most."""
        self.cancel()
        if self._transport is not None:
            await asyncio.shield(self._gone)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begins to speak."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._heard_at = self._loop.time()
        if self._stream.is_over:
            self._tell()
            return
        self._timer = self._loop.call_later(KEEPALIVE, self._look_after)
        self._flush()

    def data_received(self, data: bytes) -> None:
        """Takes what the server sent."""
        self._heard_at = self._loop.time()
        stream = self._stream
        if stream.is_over:
            return
        self._hand_over(stream.receive(data))
        if stream.is_over:
            self._tell()
        else:
            self.wake()

    def connection_lost(self, exc: Exception | None) -> None:
        """The connection has ended."""
        self._stop_timers()
        if self._transport is not None:
            # Were it only closed, it would stay open where a forked child has inherited it.
            with suppress(OSError):
                self._transport.get_extra_info("socket").shutdown(socket.SHUT_RDWR)
        self._stream.lost(f"the connection was closed{'' if exc is None else f': {exc}'}")
        if not self._gone.done():
            self._gone.set_result(None)
        self._tell()

    def pause_writing(self) -> None:
        """The transport is full."""
        self._is_writable = False

    def resume_writing(self) -> None:
        """It has room again."""
        self._is_writable = True
        self.wake()

    def _hand_over(self, messages: list[bytes]) -> None:
        receive = self._receiver
        if receive is None:
            self._inbox += messages
            self._stream.withheld += sum(map(len, messages))
            self._notify()
            return
        try:
            for message in messages:
                receive(message)
        except Exception as failure:
            self._stream.end(None, ErrorCode.CANCEL)
            self._failure = failure

    def _flush(self) -> None:
        self._is_scheduled = False
        stream, transport = self._stream, self._transport
        if transport is None or stream.is_over:
            return
        while True:
            while self._is_writable and stream.backlog < _ENOUGH:
                message = self.source()
                if message is None:
                    if self._is_ending:
                        stream.half_close()
                    break
                if len(message) > self._target.max_message_bytes:
                    self._refuse(len(message))
                    return
                stream.send(message)
            data = stream.take(self._is_writable)
            if not data:
                return
            transport.write(data)
            if transport.get_write_buffer_size() > _TOO_MUCH:
                # Nothing but answers to what it sends can fill it so far.
                transport.abort()
                stream.lost("the server sends and does not read")
                self._tell()
                return

    def _refuse(self, size: int) -> None:
        limit = self._target.max_message_bytes
        text = f"CLIENT: Sent message larger than max ({size} vs. {limit})"
        self.end(grpc_framing.error(grpc.StatusCode.RESOURCE_EXHAUSTED, text))

    def _tell(self) -> None:
        """The call is over: lets go of the connection, and tells whoever waits."""
        self._stop_timers()
        transport = self._transport
        if transport is not None and not transport.is_closing():
            data = self._stream.take()
            if data:
                transport.write(data)
            transport.close()
            self._timer = self._loop.call_later(_GOODBYE, transport.abort)
        self._notify()

    async def _wait(self) -> None:
        self._waiter = self._loop.create_future()
        try:
            await self._waiter
        finally:
            self._waiter = None

    def _notify(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    def _raise(self) -> None:
        failure = self._failure or self._stream.error
        if failure is not None:
            raise failure

    def _expire(self) -> None:
        self.end(grpc_framing.error(grpc.StatusCode.DEADLINE_EXCEEDED, "Deadline Exceeded"))

    def _look_after(self) -> None:
        # What has been received is read before a timer fires, however late it fires.
        now = self._loop.time()
        heard = self._heard_at
        if self._pinged_at > heard and now - self._pinged_at >= KEEPALIVE_TIMEOUT:
            if self._transport is not None:
                self._transport.abort()
            self._stream.lost("the server gave no sign of life")
            self._tell()
            return
        wait = heard + KEEPALIVE - now
        if wait <= 0:
            if self._pinged_at <= heard:
                self._stream.ping()
                self._pinged_at = now
                self.wake()
            wait = self._pinged_at + KEEPALIVE_TIMEOUT - now
        self._timer = self._loop.call_later(wait, self._look_after)

    def _stop_timers(self) -> None:
        for timer in (self._deadline, self._timer):
            if timer is not None:
                timer.cancel()


def _headers(
    target: Target, path: str, metadata: Iterable[tuple[str, str]], timeout: float | None
) -> list[tuple[str, str, bool]]:
    headers = [
        (":method", "POST", False),
        (":scheme", "http", False),
        (":path", path, False),
        (":authority", "localhost", False),
        ("content-type", "application/grpc", False),
        ("te", "trailers", False),
    ]
    if timeout is not None:
        # At most eight digits are allowed.
        milliseconds = min(math.ceil(max(timeout, 0.0) * 1000), 99_999_999)
        headers.append(("grpc-timeout", f"{milliseconds}m", False))
    return headers + [(name, value, True) for name, value in (*target.metadata, *metadata)]
