"""The client for asyncio."""

from __future__ import annotations

import asyncio
import os
import time
import weakref
from collections.abc import Iterable, Mapping
from types import TracebackType
from typing import Any, Self, TypeVar

import grpc
from google.protobuf.message import Message as ProtoMessage

from . import fork, requests, responses
from .aio_link import AioLink, GrpcioLink
from .aio_run import AsyncRun
from .aio_stream import AsyncCallStream
from .calls import ToolCall
from .channel import DEFAULT_MAX_MESSAGE_BYTES, Target, Transport, takes_fast_lane, target
from .client import Explain, not_serving
from .errors import Started, ToolPortError, Unavailable, closed, fault
from .history import MessageLike
from .host import HostFunction
from .lane_link import LaneLink
from .methods import (
    EXECUTE,
    HEALTH_CHECK,
    HEALTH_REQUEST,
    HEALTH_SERVING,
    MANIFEST,
    REFUSE,
    RUN,
    SELECT,
    Method,
    plain,
)
from .requests import OnDisconnect
from .retry import Retries, Retry
from .selection import Intent, Selection
from .tools import Format, Manifest

Req = TypeVar("Req", bound=ProtoMessage)
Res = TypeVar("Res", bound=ProtoMessage)


class AsyncToolPort:
    """Speaks to one sidecar from asyncio; as :class:`ToolPort`, whose methods say more.

    Make one and keep it. It may be made outside an event loop, and connects anew in each loop that
    it is used in.
    """

    def __init__(
        self,
        address: str,
        *,
        token: str | None = None,
        token_file: str | os.PathLike[str] | None = None,
        credentials: grpc.ChannelCredentials | None = None,
        max_message_bytes: int = DEFAULT_MAX_MESSAGE_BYTES,
        options: Iterable[tuple[str, Any]] = (),
        retry: Retry | None = None,
        transport: Transport = "grpcio",
        _explain: Explain | None = None,
    ) -> None:
        """The arguments are those of :class:`ToolPort`, and:

        Args:
            transport: What carries live runs. ``grpcio``, the default, has them share grpcio's
                connection; ``fast`` gives each of them a connection of its own, without grpcio;
                ``auto`` is ``fast`` unless ``credentials`` or ``options`` are given, which only
                grpcio knows. On the wire both are gRPC. ``fast`` is new: a reader that falls behind
                a tool's events misses some of them (:class:`Skipped`) sooner.
        """
        self._is_fast = takes_fast_lane(transport, credentials, options := tuple(options))
        self._target: Target = target(
            address,
            token=token,
            token_file=token_file,
            credentials=credentials,
            max_message_bytes=max_message_bytes,
            options=options,
        )
        self._retry = retry
        self._explain = _explain
        self._channel: grpc.aio.Channel | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._closed = False
        self._inherited: list[grpc.aio.Channel] = []
        self._lanes: weakref.WeakSet[LaneLink] = weakref.WeakSet()
        fork.tell(self)

    @property
    def address(self) -> str:
        """What the client speaks to."""
        return self._target.address

    async def execute(
        self,
        name: str,
        arguments: Mapping[str, Any] | None = None,
        *,
        call_id: str | None = None,
        run_id: str = "",
        timeout: float | None = None,
        tool_timeout: float | None = None,
        expected_digest: str | None = None,
        metadata: Mapping[str, str] | None = None,
        on_disconnect: OnDisconnect | None = None,
        retry: Retry | None = None,
    ) -> ToolCall:
        """Runs one call to its end; as :meth:`ToolPort.execute`. Cancelling the task, or
        ``asyncio.wait_for`` around it, cancels the call.
        """
        stream = self.stream(
            name,
            arguments,
            call_id=call_id,
            run_id=run_id,
            timeout=timeout,
            tool_timeout=tool_timeout,
            expected_digest=expected_digest,
            metadata=metadata,
            on_disconnect=on_disconnect,
            retry=retry,
        )
        return await stream.result()

    def stream(
        self,
        name: str,
        arguments: Mapping[str, Any] | None = None,
        *,
        call_id: str | None = None,
        run_id: str = "",
        timeout: float | None = None,
        tool_timeout: float | None = None,
        expected_digest: str | None = None,
        metadata: Mapping[str, str] | None = None,
        on_disconnect: OnDisconnect | None = None,
        retry: Retry | None = None,
    ) -> AsyncCallStream:
        """As :meth:`execute`, with the events as they happen::

            async with port.stream("search", {"text": "refund"}) as events:
                async for event in events:
                    ...

        Leaving the loop or the block cancels the call.
        """
        call = requests.tool_request(name, arguments, call_id, run_id)
        request = requests.execute_request(
            call,
            tool_timeout=tool_timeout,
            expected_digest=expected_digest,
            metadata=metadata,
            on_disconnect=on_disconnect,
        )
        deadline = requests.deadline(timeout)
        until = requests.until(deadline)

        def start() -> grpc.aio.UnaryStreamCall[Any, Any]:
            rpc = self._open().unary_stream(
                EXECUTE.path,
                request_serializer=EXECUTE.encode,
                response_deserializer=EXECUTE.decode,
            )
            return rpc(request, timeout=requests.left(until), metadata=self._metadata())

        async def to_fault(error: grpc.RpcError, started: Started) -> ToolPortError:
            return await self._fault(error, started, deadline)

        retries = Retries(retry or self._retry, run_id=run_id)

        async def again(error: ToolPortError) -> bool:
            return await self._again(retries, error, until)

        return AsyncCallStream(call.call_id, start, to_fault, again)

    def run(
        self,
        run_id: str,
        *,
        expected_digest: str | None = None,
        on_disconnect: OnDisconnect | None = None,
        metadata: Mapping[str, str] | None = None,
        hosts: Mapping[str, HostFunction] | None = None,
        reconnect: float = 0.0,
        timeout: float | None = 30.0,
    ) -> AsyncRun:
        """A live run, to be used in an ``async with``; as :meth:`ToolPort.run`, except that a host
        function that is a coroutine function runs as a task of this loop, and any other on a
        thread.
        """
        if not self._is_fast:
            fork.check()
        open = requests.open_run(
            run_id,
            expected_digest=expected_digest,
            on_disconnect=on_disconnect,
            metadata=metadata,
            reconnect=reconnect,
        )

        async def to_fault(error: grpc.RpcError, started: Started) -> ToolPortError:
            return await self._fault(error, started, None)

        return AsyncRun(
            open,
            hosts,
            self._link,
            to_fault,
            retry=self._retry,
            reconnect=reconnect,
            timeout=requests.deadline(timeout),
            max_message_bytes=self._target.max_message_bytes,
        )

    async def refuse(
        self,
        name: str,
        arguments: Mapping[str, Any] | None = None,
        *,
        reason: str = "",
        call_id: str | None = None,
        run_id: str = "",
        timeout: float | None = 30.0,
    ) -> ToolCall:
        """The outcome of a call that was not let run; as :meth:`ToolPort.refuse`."""
        call = requests.tool_request(name, arguments, call_id, run_id)
        response = await self._unary(REFUSE, requests.refuse_request(call, reason), timeout)
        return responses.tool_call(response.call)

    async def manifest(
        self,
        *,
        include_hidden: bool = False,
        names: Iterable[str] | None = None,
        budget_tokens: int | None = None,
        query: str = "",
        format: Format | None = None,
        strict: bool = False,
        timeout: float | None = 30.0,
    ) -> Manifest:
        """What the tools are; as :meth:`ToolPort.manifest`."""
        request = requests.manifest_request(
            include_hidden=include_hidden,
            names=names,
            budget_tokens=budget_tokens,
            query=query,
            format=format,
            strict=strict,
        )
        return responses.manifest(await self._unary(MANIFEST, request, timeout))

    async def select(
        self,
        *,
        role: str | None = None,
        candidates: Iterable[str] | None = None,
        forced_choice: str | None = None,
        resolved_tools: Iterable[str] | None = None,
        intent: Intent | None = None,
        query: str = "",
        extra: Mapping[str, Any] | None = None,
        messages: Iterable[MessageLike] = (),
        include_descriptors: bool = False,
        format: Format | None = None,
        timeout: float | None = 30.0,
    ) -> Selection:
        """Which tools to offer, which one to force, and why; as :meth:`ToolPort.select`."""
        request = requests.select_request(
            role=role,
            candidates=candidates,
            forced_choice=forced_choice,
            resolved_tools=resolved_tools,
            intent=intent,
            query=query,
            extra=extra,
            messages=messages,
            include_descriptors=include_descriptors,
            format=format,
        )
        response = await self._unary(SELECT, request, timeout)
        return responses.selection(response, include_descriptors)

    async def wait_ready(self, timeout: float = 10.0) -> None:
        """Waits until the server's health is SERVING; as :meth:`ToolPort.wait_ready`."""
        until = time.monotonic() + timeout
        delay = 0.005
        while True:
            left = until - time.monotonic()
            error: ToolPortError | None = None
            try:
                check = self._open().unary_unary(
                    HEALTH_CHECK, request_serializer=plain, response_deserializer=plain
                )
                health = await check(
                    HEALTH_REQUEST, timeout=max(left, 0), metadata=self._metadata()
                )
                if health == HEALTH_SERVING:
                    return
            except grpc.RpcError as failure:
                error = await self._fault(failure, "no", timeout)
                if not isinstance(error, Unavailable | TimeoutError):
                    raise error from None
            if left <= delay:
                raise not_serving(self.address, timeout, error)
            await asyncio.sleep(delay)
            delay = min(2 * delay, 0.2)

    async def close(self) -> None:
        """Ends the connection; calls that are still running are cancelled. Idempotent."""
        self._closed = True
        for lane in list(self._lanes):
            lane.shut(closed("AsyncToolPort"))
        channel, self._channel = self._channel, None
        if channel is not None and self._loop is asyncio.get_running_loop():
            await channel.close()
        fork.end(self)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

    def after_fork(self) -> None:
        """Leaves the connection to the parent; this process opens its own."""
        if self._channel is not None:
            # Kept, since to drop the last reference would close what is the parent's.
            self._inherited.append(self._channel)
            self._channel = None

    def _open(self) -> grpc.aio.Channel:
        fork.check()
        if self._closed:
            raise closed("AsyncToolPort")
        loop = asyncio.get_running_loop()
        if self._channel is None or self._loop is not loop:
            fork.opened()
            self._channel, self._loop = self._target.open_aio(), loop
            fork.begin(self)
        return self._channel

    def _link(self) -> AioLink:
        if self._is_fast:
            if self._closed:
                raise closed("AsyncToolPort")
            lane = LaneLink(self._target)
            self._lanes.add(lane)
            return lane
        rpc = self._open().stream_stream(
            RUN.path, request_serializer=RUN.encode, response_deserializer=RUN.decode
        )
        return GrpcioLink(rpc(metadata=self._metadata()))

    def _metadata(self) -> grpc.aio.Metadata:
        return grpc.aio.Metadata(*self._target.metadata)

    async def _again(self, retries: Retries, error: ToolPortError, until: float | None) -> bool:
        """Waits before a call is asked for again; False: it may not be."""
        while (delay := retries.failed(error)) is not None:
            left = requests.left(until)
            await asyncio.sleep(delay if left is None else min(delay, left))
            if not retries.may_have_started:
                return True
            try:
                request = requests.manifest_of_nothing()
                response = await self._unary_once(MANIFEST, request, 30.0)
                return responses.server_info(response.server).has_durable_journal
            except ToolPortError as failure:
                error = failure
        return False

    async def _unary(self, method: Method[Req, Res], request: Req, timeout: float | None) -> Res:
        retries = Retries(self._retry)
        while True:
            try:
                return await self._unary_once(method, request, timeout)
            except ToolPortError as error:
                delay = retries.failed(error)
                if delay is None:
                    raise
            await asyncio.sleep(delay)

    async def _unary_once(
        self, method: Method[Req, Res], request: Req, timeout: float | None
    ) -> Res:
        rpc = self._open().unary_unary(
            method.path, request_serializer=method.encode, response_deserializer=method.decode
        )
        deadline = requests.deadline(timeout)
        try:
            return await rpc(request, timeout=deadline, metadata=self._metadata())
        except grpc.RpcError as error:
            raise await self._fault(error, "no", deadline) from None
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if task is not None and task.cancelling():
                raise
            # grpc.aio says so of a channel that was closed meanwhile, too.
            raise closed("AsyncToolPort") from None

    async def _fault(
        self, error: grpc.RpcError, started: Started, timeout: float | None
    ) -> ToolPortError:
        read = fault(error, self.address, started, timeout)
        if self._explain is None or read.reason != "UNREACHABLE":
            return read
        return await asyncio.to_thread(self._explain, read)
