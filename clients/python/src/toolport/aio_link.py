"""One stream of a run, for asyncio."""

from __future__ import annotations

import asyncio
from collections import deque
from contextlib import suppress
from typing import Any, TypeAlias

import grpc

from .errors import broken_contract
from .run_core import Outgoing
from .v1 import tool_port_service_pb2 as pb

AioRunRpc: TypeAlias = "grpc.aio.StreamStreamCall[pb.RunRequest, pb.RunResponse]"


class AioLink:
    """Sends in order what is put into it, and reads what comes."""

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
        response = await self.read()
        if response is None or not response.HasField("opened"):
            raise broken_contract(f"the stream of run {request.run_id!r} did not begin with opened")
        self._writer = asyncio.get_running_loop().create_task(self._write(), name="toolport-run")
        return response.opened

    async def read(self) -> pb.RunResponse | None:
        """The next response; None: the stream has ended well.

        Raises:
            grpc.RpcError: it has ended otherwise.
        """
        response = await self._rpc.read()
        return response if isinstance(response, pb.RunResponse) else None

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
