"""An RPC of a contract case on the channel of an ``AsyncToolPort``."""

from __future__ import annotations

import asyncio
from typing import Any

import grpc
from contract_rpcs import Method
from google.protobuf.message import Message

from toolport import AsyncToolPort


class AioRpc:
    """One RPC of ``grpc.aio``."""

    def __init__(
        self, port: AsyncToolPort, method: Method, metadata: dict[str, str], timeout: float | None
    ) -> None:
        self._method = method
        self._options = {
            "metadata": grpc.aio.Metadata(*metadata.items()),
            "timeout": timeout,
        }
        self._channel = port._open()
        self._call: Any = None
        self._answered = False
        self._cancelled = False
        if method.kind == "bidi_streaming":
            self._call = self._starter(self._channel.stream_stream)(**self._options)

    async def send(self, message: Message | bytes) -> None:
        kind = self._method.kind
        if kind == "bidi_streaming":
            await self._unless_over(self._call.write(message))
        elif not self._cancelled and kind == "unary":
            self._call = self._starter(self._channel.unary_unary)(message, **self._options)
        elif not self._cancelled:
            self._call = self._starter(self._channel.unary_stream)(message, **self._options)

    async def half_close(self) -> None:
        await self._unless_over(self._call.done_writing())

    def cancel(self) -> None:
        self._cancelled = True
        if self._call is not None:
            self._call.cancel()

    async def next(self) -> Message | None:
        if self._method.kind != "unary":
            message = await self._unless_over(self._call.read())
            return None if message is grpc.aio.EOF else message
        if self._answered:
            return None
        self._answered = True
        answer: Message | None = await self._unless_over(self._call)
        return answer

    async def ended(self) -> grpc.aio.AioRpcError | None:
        call = self._call
        code = await call.code()
        if code is grpc.StatusCode.OK:
            return None
        details, trailers = await call.details(), await call.trailing_metadata()
        return grpc.aio.AioRpcError(code, grpc.aio.Metadata(), trailers, details)

    def _starter(self, kind: Any) -> Any:
        return kind(
            self._method.path,
            request_serializer=self._method.encode,
            response_deserializer=self._method.decode,
        )

    async def _unless_over(self, step: Any) -> Any:
        """What a step on the RPC gives; None where the RPC has ended, whose status says why."""
        try:
            return await step
        except (grpc.RpcError, asyncio.InvalidStateError):
            return None
        except asyncio.CancelledError:
            # What grpc.aio raises for an RPC that was cancelled, too.
            task = asyncio.current_task()
            if task is None or task.cancelling():
                raise
            return None
