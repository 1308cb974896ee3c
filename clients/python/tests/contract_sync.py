"""An RPC of a contract case on the channel of a ``ToolPort``."""

from __future__ import annotations

import asyncio
import queue
from typing import Any

import grpc
from contract_rpcs import Method
from google.protobuf.message import Message

from toolport import ToolPort


class SyncRpc:
    """Waits on threads, so that the case itself can be told once for both clients."""

    def __init__(
        self, port: ToolPort, method: Method, metadata: dict[str, str], timeout: float | None
    ) -> None:
        self._method = method
        self._options = {"metadata": tuple(metadata.items()), "timeout": timeout}
        self._channel = port._open()
        self._call: Any = None
        self._answered = False
        self._cancelled = False
        self._requests: queue.SimpleQueue[Message | bytes | None] = queue.SimpleQueue()
        if method.kind == "bidi_streaming":
            start = self._starter(self._channel.stream_stream)
            self._call = start(iter(self._requests.get, None), **self._options)

    async def send(self, message: Message | bytes) -> None:
        kind = self._method.kind
        if kind == "bidi_streaming":
            self._requests.put(message)
        elif not self._cancelled and kind == "unary":
            self._call = self._starter(self._channel.unary_unary).future(message, **self._options)
        elif not self._cancelled:
            self._call = self._starter(self._channel.unary_stream)(message, **self._options)

    async def half_close(self) -> None:
        self._requests.put(None)

    def cancel(self) -> None:
        self._cancelled = True
        self._requests.put(None)
        if self._call is not None:
            self._call.cancel()

    async def next(self) -> Message | None:
        return await asyncio.to_thread(self._next)

    async def ended(self) -> grpc.aio.AioRpcError | None:
        return await asyncio.to_thread(self._ended)

    def _starter(self, kind: Any) -> Any:
        return kind(
            self._method.path,
            request_serializer=self._method.encode,
            response_deserializer=self._method.decode,
        )

    def _next(self) -> Message | None:
        try:
            if self._method.kind == "unary":
                if self._answered:
                    return None
                self._answered = True
                answer: Message = self._call.result()
                return answer
            message: Message | None = next(self._call, None)
            return message
        except (grpc.RpcError, grpc.FutureCancelledError):
            return None

    def _ended(self) -> grpc.aio.AioRpcError | None:
        call = self._call
        code = call.code()
        self._requests.put(None)
        if code is grpc.StatusCode.OK:
            return None
        return grpc.aio.AioRpcError(
            code,
            grpc.aio.Metadata(),
            grpc.aio.Metadata(*((each.key, each.value) for each in call.trailing_metadata() or ())),
            call.details(),
        )
