"""One stream of a run over the fast lane, for asyncio."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable

import grpc
from google.protobuf.message import DecodeError

from . import grpc_framing
from .aio_lane import AioLane
from .aio_link import opened
from .channel import Target
from .errors import ToolPortError
from .methods import RUN
from .run_core import Outgoing
from .v1 import tool_port_service_pb2 as pb


class LaneLink:
    """An ``AioLink`` over a connection of its own."""

    def __init__(self, target: Target) -> None:
        self._loop = asyncio.get_running_loop()
        self._lane = AioLane(target, RUN.path)
        self._lane.source = self._next
        self._queue: deque[Outgoing] = deque()

    async def open(self, request: pb.OpenRun) -> pb.RunOpened:
        """Connects and opens the run; as ``AioLink.open``."""
        self._queue.append(lambda: pb.RunRequest(open=request))
        await self._lane.connect()
        data = await self._lane.read()
        return opened(request.run_id, None if data is None else _decoded(data))

    async def deliver(self, take: Callable[[pb.RunResponse], None]) -> None:
        """Gives ``take`` every response until the stream ends well; as ``AioLink.deliver``."""
        await self._lane.deliver(lambda data: take(_decoded(data)))

    def send(self, message: Outgoing) -> None:
        """Sends a message in its turn; never waits."""
        self._queue.append(message)
        self._lane.wake()

    def half_close(self) -> None:
        """Says that nothing more will be sent."""
        self._lane.half_close()

    def shut(self, fault: ToolPortError) -> None:
        """Ends the stream with a fault, if it is of the running loop. Idempotent."""
        if self._loop is asyncio.get_running_loop():
            self._lane.end(fault)

    def cancel(self) -> None:
        """Ends the stream. Idempotent."""
        self._lane.cancel()

    async def close(self) -> None:
        """Ends the stream, and waits for its connection's end."""
        await self._lane.close()

    def _next(self) -> bytes | None:
        queue = self._queue
        while queue:
            message = queue.popleft()()
            if message is not None:
                return message.SerializeToString()
        return None


def _decoded(data: bytes) -> pb.RunResponse:
    try:
        return pb.RunResponse.FromString(data)
    except DecodeError:
        text = "the server sent a message that is no RunResponse"
        raise grpc_framing.error(grpc.StatusCode.INTERNAL, text) from None
