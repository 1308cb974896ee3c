"""The synchronous client."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from types import TracebackType
from typing import Any, Self, TypeVar

import grpc
from google.protobuf.message import Message as ProtoMessage

from . import fork, requests, responses
from .calls import ToolCall
from .channel import DEFAULT_MAX_MESSAGE_BYTES, Target, target
from .errors import Started, ToolPortError, Unavailable, closed, fault
from .history import MessageLike
from .host import HostFunction
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
from .run import Run
from .selection import Intent, Selection
from .stream import CallStream
from .tools import Format, Manifest

Req = TypeVar("Req", bound=ProtoMessage)
Res = TypeVar("Res", bound=ProtoMessage)

Explain = Callable[[ToolPortError], ToolPortError]
"""Makes a better error of one, such as why the server is gone."""


class ToolPort:
    """Speaks to one sidecar. Safe to use from many threads; make one and keep it.

    It connects with its first request and again when the connection was lost; a request is never
    sent twice. Every method raises a ``ToolPortError`` for a fault, and returns an outcome.

    A ``timeout`` is how long a request may take, in seconds; None: as long as it takes.
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
        _explain: Explain | None = None,
    ) -> None:
        """
        Args:
            address: ``unix:/path/to/socket`` or ``host:port``.
            token: The server's bearer token.
            token_file: The file that holds it, read once.
            credentials: For TLS, as of ``grpc.ssl_channel_credentials``; None: a plain connection.
            max_message_bytes: How large a message may be, either way; 64 MiB as on the server.
            options: More gRPC channel options; they win.
            retry: Ask again where that is safe; None: never.

        Raises:
            InvalidRequest: the address or the token can't be used.
        """
        self._target: Target = target(
            address,
            token=token,
            token_file=token_file,
            credentials=credentials,
            max_message_bytes=max_message_bytes,
            options=tuple(options),
        )
        self._retry = retry
        self._explain = _explain
        self._lock = threading.Lock()
        self._channel: grpc.Channel | None = None
        self._closed = False
        self._inherited: list[grpc.Channel] = []
        fork.tell(self)

    @property
    def address(self) -> str:
        """What the client speaks to."""
        return self._target.address

    def execute(
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
        """Runs one call to its end. An exception on the way, such as Ctrl-C, cancels it.

        Args:
            name: A tool's exact name.
            arguments: Its arguments; None is ``{}``.
            call_id: Unique in its run; None: one is made.
            run_id: The run that the call belongs to; empty: it stands alone, and nothing keeps it
                from running twice when it is asked again.
            timeout: When it passes the call ends in a ``DeadlineExceeded``.
            tool_timeout: How long the tool may run, in seconds from its start; when it runs out
                the outcome is ``TIMED_OUT``. The tool's own limit holds where it is shorter.
            expected_digest: Run only if this is the digest of the set that is served.
            metadata: Reaches the tool's context; a ``traceparent`` is honoured.
            on_disconnect: ``continue`` leaves the tool running for a while when the connection is
                lost, where there is a run id and a journal; ``abort`` is the default.
            retry: Ask again where that is safe; None: as the client does.

        Raises:
            InvalidRequest: JSON can't carry the arguments exactly; nothing was sent.
            ToolPortError: the call ended in a fault.
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
        return stream.result()

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
    ) -> CallStream:
        """As :meth:`execute`, with the events as they happen::

            with port.stream("search", {"text": "refund"}) as events:
                for event in events:
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

        def start() -> Any:
            rpc = self._open().unary_stream(
                EXECUTE.path,
                request_serializer=EXECUTE.encode,
                response_deserializer=EXECUTE.decode,
            )
            try:
                return rpc(request, timeout=requests.left(until), metadata=self._target.metadata)
            except ValueError:  # What grpc says of a channel that was closed meanwhile.
                raise closed("ToolPort") from None

        retries = Retries(retry or self._retry, run_id=run_id)
        return CallStream(
            call.call_id,
            start,
            lambda error, started: self._fault(error, started, deadline),
            lambda error, stop: self._again(retries, error, until, stop),
        )

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
    ) -> Run:
        """A live run, to be used in a ``with``: many calls at once on one stream, with functions of
        the kernel that run-aware tools can ask for.

        A run that another stream has open is taken over: that stream ends.

        Args:
            run_id: The run's id; it scopes call ids, budgets and the journal.
            expected_digest: Open only if this is the digest of the set that is served.
            on_disconnect: What becomes of the run's calls when the connection is lost: ``abort`` is
                the default; with ``continue`` they go on for the server's grace.
            metadata: Given to every call of the run.
            hosts: What run-aware tools may ask for, by name: functions of one argument, the
                payload as Python data, that return the answer, themselves or as a coroutine. An
                exception is the tool's. Each runs on a thread of its own; ``host_call()`` within
                it says which call asks. A coroutine is cancelled when the call has ended.
            reconnect: For how many seconds to open a lost run again and to ask for the calls that
                were in flight again, under the same ids, so that they are joined or get their
                recorded outcome; it implies ``continue``. A call that may have started is asked
                again only where the server took the running calls over or its journal is durable.
                What was streamed in between is missing.
            timeout: How long opening may take, in seconds.
        """
        open = requests.open_run(
            run_id,
            expected_digest=expected_digest,
            on_disconnect=on_disconnect,
            metadata=metadata,
            reconnect=reconnect,
        )

        def connect(messages: Iterator[Any]) -> Any:
            rpc = self._open().stream_stream(
                RUN.path, request_serializer=RUN.encode, response_deserializer=RUN.decode
            )
            try:
                return rpc(messages, metadata=self._target.metadata)
            except ValueError:  # What grpc says of a channel that was closed meanwhile.
                raise closed("ToolPort") from None

        return Run(
            open,
            hosts,
            connect,
            lambda error, started: self._fault(error, started, None),
            retry=self._retry,
            reconnect=reconnect,
            timeout=requests.deadline(timeout),
            max_message_bytes=self._target.max_message_bytes,
        )

    def refuse(
        self,
        name: str,
        arguments: Mapping[str, Any] | None = None,
        *,
        reason: str = "",
        call_id: str | None = None,
        run_id: str = "",
        timeout: float | None = 30.0,
    ) -> ToolCall:
        """The outcome of a call that a precondition of the kernel would not let run.

        Nothing runs, and no tool needs to have this name. ``reason`` is what the model is told;
        empty: ``refused by a tool precondition``.
        """
        call = requests.tool_request(name, arguments, call_id, run_id)
        response = self._unary(REFUSE, requests.refuse_request(call, reason), timeout)
        return responses.tool_call(response.call)

    def manifest(
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
        """What the tools are.

        Args:
            include_hidden: Also list hidden tools.
            names: List only these; None: all; empty: none.
            budget_tokens: The size of ``text`` in tokens of four characters; None: unlimited.
            query: Lists only tools whose name or description contains it, in ``text``.
            format: Also render the tools for this provider.
            strict: Rewrite schemas for the provider's strict mode.
        """
        request = requests.manifest_request(
            include_hidden=include_hidden,
            names=names,
            budget_tokens=budget_tokens,
            query=query,
            format=format,
            strict=strict,
        )
        return responses.manifest(self._unary(MANIFEST, request, timeout))

    def select(
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
        """Which tools to offer the model this turn, which one to force, and why.

        Args:
            role: The role whose palette applies.
            candidates: Choose among these, in this order; None: the whole set; empty: none.
            forced_choice: The stamp: a tool's name, or ``any``, ``auto``, ``none``, ``required``;
                None: no stamp, the configured resolver is asked; empty: no force, it is not asked.
            resolved_tools: What an upstream step settled on; None or empty: the whole set.
            intent: What an intent classifier found.
            query: The user's request, for stages that match on it.
            extra: For stages of the tools file's own.
            messages: The conversation so far, oldest first: ``Message``, a provider's dicts, or
                LangChain messages.
            include_descriptors: Also return the descriptors of the selected tools.
            format: Also render the forced choice for this provider.
        """
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
        response = self._unary(SELECT, request, timeout)
        return responses.selection(response, include_descriptors)

    def wait_ready(self, timeout: float = 10.0) -> None:
        """Waits until the server's health is SERVING.

        Raises:
            Unavailable: it was not, within ``timeout`` seconds.
        """
        check = self._open().unary_unary(
            HEALTH_CHECK, request_serializer=plain, response_deserializer=plain
        )
        until = time.monotonic() + timeout
        delay = 0.005
        while True:
            left = until - time.monotonic()
            error: ToolPortError | None = None
            fork.begin(check)
            try:
                health = check(HEALTH_REQUEST, timeout=max(left, 0), metadata=self._target.metadata)
                if health == HEALTH_SERVING:
                    return
            except grpc.RpcError as failure:
                error = self._fault(failure, "no", timeout)
                if not isinstance(error, Unavailable | TimeoutError):
                    raise error from None
            finally:
                fork.end(check)
            if left <= delay:
                raise not_serving(self.address, timeout, error)
            time.sleep(delay)
            delay = min(2 * delay, 0.2)

    def close(self) -> None:
        """Ends the connection; calls that are still running are cancelled. Idempotent."""
        self._closed = True
        with self._lock:
            channel, self._channel = self._channel, None
        if channel is not None:
            channel.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def after_fork(self) -> None:
        """Leaves the connection to the parent; this process opens its own."""
        self._lock = threading.Lock()
        if self._channel is not None:
            # Kept, since to drop the last reference would close what is the parent's.
            self._inherited.append(self._channel)
            self._channel = None

    def _open(self) -> grpc.Channel:
        fork.check()
        with self._lock:
            if self._closed:
                raise closed("ToolPort")
            if self._channel is None:
                fork.opened()
                self._channel = self._target.open()
            return self._channel

    def _again(
        self, retries: Retries, error: ToolPortError, until: float | None, stop: threading.Event
    ) -> bool:
        """Waits before a call is asked for again; False: it may not be."""
        while (delay := retries.failed(error)) is not None:
            left = requests.left(until)
            if stop.wait(delay if left is None else min(delay, left)):
                return False
            if not retries.may_have_started:
                return True
            try:
                request = requests.manifest_of_nothing()
                response = self._unary_once(MANIFEST, request, 30.0)
                return responses.server_info(response.server).has_durable_journal
            except ToolPortError as failure:
                error = failure
        return False

    def _unary(self, method: Method[Req, Res], request: Req, timeout: float | None) -> Res:
        retries = Retries(self._retry)
        while True:
            try:
                return self._unary_once(method, request, timeout)
            except ToolPortError as error:
                delay = retries.failed(error)
                if delay is None:
                    raise
            time.sleep(delay)

    def _unary_once(self, method: Method[Req, Res], request: Req, timeout: float | None) -> Res:
        rpc = self._open().unary_unary(
            method.path, request_serializer=method.encode, response_deserializer=method.decode
        )
        deadline = requests.deadline(timeout)
        fork.begin(rpc)
        try:
            return rpc(request, timeout=deadline, metadata=self._target.metadata)
        except grpc.RpcError as error:
            raise self._fault(error, "no", deadline) from None
        except ValueError:  # What grpc says of a channel that was closed meanwhile.
            raise closed("ToolPort") from None
        finally:
            fork.end(rpc)

    def _fault(
        self, error: grpc.RpcError, started: Started, timeout: float | None
    ) -> ToolPortError:
        read = fault(error, self.address, started, timeout)
        return read if self._explain is None else self._explain(read)


def not_serving(address: str, timeout: float, error: ToolPortError | None) -> Unavailable:
    """The error of a server that did not serve in time."""
    why = "its health is not SERVING" if error is None else str(error)
    return Unavailable(
        f"{address} did not serve within {timeout:g} s: {why}",
        code=grpc.StatusCode.UNAVAILABLE,
        reason="UNREACHABLE",
        started="no",
    )
