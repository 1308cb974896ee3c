"""One stream of a run, for asyncio, and how grpcio carries it."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Protocol, TypeAlias

import grpc

from .errors import broken_contract
from .run_core import Outgoing
from .v1 import tool_port_service_pb2 as pb

AioRunRpc: TypeAlias = "grpc.aio.StreamStreamCall[pb.RunRequest, pb.RunResponse]"


class AioLink(Protocol):
    """Sends in order what is put into it, and delivers what comes."""

    async def open(self, request: pb.OpenRun) -> pb.RunOpened:
        """Opens the run.

        Raises:
            grpc.RpcError: the server or the connection refused.
            ToolPortError: the server does not keep the contract.
        """

    async def deliver(self, take: Callable[[pb.RunResponse], None]) -> None:
        """Gives ``take`` every response until the stream ends well.

        Raises:
            grpc.RpcError: it has ended otherwise.
            ToolPortError: what ``take`` raised.
        """

    def send(self, message: Outgoing) -> None:
        """Sends a message in its turn; never waits."""

    def half_close(self) -> None:
        """Says that nothing more will be sent."""

    def cancel(self) -> None:
        """Ends the stream. Idempotent."""

    async def close(self) -> None:
        """Ends the stream, and waits for what it has at work."""


def opened(run_id: str, response: pb.RunResponse | None) -> pb.RunOpened:
    """What the first response of a run says.

    Raises:
        ToolPortError: something else.
    """
    if response is None or not response.HasField("opened"):
        raise broken_contract(f"the stream of run {run_id!r} did not begin with opened")
    return response.opened


class GrpcioLink:
    """An :class:`AioLink` over grpcio."""

    def __init__(self, rpc: AioRunRpc) -> None:
        self._rpc: Any = rpc
        self._queue: deque[Outgoing] = deque()
        self._wake = asyncio.Event()
        self._is_ending = False
        self._writer: asyncio.Task[None] | None = None

    async def open(self, request: pb.OpenRun) -> pb.RunOpened:
        """Opens the run.

        Raises:
            grpc.RpcError: the server or the connection refused.
            ToolPortError: the server does not keep the contract.
        """
        with suppress(grpc.RpcError, asyncio.InvalidStateError):  # Reading says why.
            await self._rpc.write(pb.RunRequest(open=request))
        said = opened(request.run_id, await self._read())
        self._writer = asyncio.get_running_loop().create_task(self._write(), name="toolport-run")
        return said

    async def deliver(self, take: Callable[[pb.RunResponse], None]) -> None:
        """Gives ``take`` every response until the stream ends well; as :meth:`AioLink.deliver`."""
        while (response := await self._read()) is not None:
            take(response)

    def send(self, message: Outgoing) -> None:
        """Sends a message in its turn; never waits."""
        self._queue.append(message)
        self._wake.set()

    def half_close(self) -> None:
        """Says that nothing more will be sent."""
        self._is_ending = True
        self._wake.set()

    def cancel(self) -> None:
        """Ends the stream. Idempotent."""
        self._rpc.cancel()

    async def close(self) -> None:
        """Ends the stream, and waits for what writes on it."""
        self._rpc.cancel()
        if self._writer is not None:
            self._writer.cancel()
            await asyncio.wait([self._writer])

    async def _write(self) -> None:
        with suppress(grpc.RpcError, asyncio.InvalidStateError):  # Reading says why.
            while True:
                while self._queue:
                    message = self._queue.popleft()()
                    if message is not None:
                        await self._rpc.write(message)
                if self._is_ending:
                    await self._rpc.done_writing()
                    return
                self._wake.clear()
                await self._wake.wait()

    async def _read(self) -> pb.RunResponse | None:
        response = await self._rpc.read()
        return response if isinstance(response, pb.RunResponse) else None
