"""One stream of a run, for synchronous code."""

from __future__ import annotations

import queue
from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

from .errors import broken_contract
from .run_core import Outgoing
from .v1 import tool_port_service_pb2 as pb

ConnectRun: TypeAlias = Callable[[Iterator[pb.RunRequest]], Any]
"""Starts the RPC, which takes its requests from a thread of its own."""


class RunLink:
    """Sends in order what is put into it, and reads what comes."""

    def __init__(self) -> None:
        self._queue: queue.SimpleQueue[Outgoing | None] = queue.SimpleQueue()
        self._rpc: Any = None
        self._is_cancelled = False

    def open(self, connect: ConnectRun, request: pb.OpenRun) -> pb.RunOpened:
        """Opens the run.

        Raises:
            grpc.RpcError: the server or the connection refused.
            ToolPortError: the server does not keep the contract.
        """
        self._queue.put(lambda: pb.RunRequest(open=request))
        self._rpc = connect(self._requests())
        if self._is_cancelled:
            self._rpc.cancel()
        response = self.read()
        if response is None or not response.HasField("opened"):
            raise broken_contract(f"the stream of run {request.run_id!r} did not begin with opened")
        return response.opened

    def read(self) -> pb.RunResponse | None:
        """The next response; None: the stream has ended well.

        Raises:
            grpc.RpcError: it has ended otherwise.
        """
        return next(self._rpc, None)

    def send(self, message: Outgoing) -> None:
        """Sends a message in its turn; never waits."""
        self._queue.put(message)

    def half_close(self) -> None:
        """Says that nothing more will be sent."""
        self._queue.put(None)

    def cancel(self) -> None:
        """Ends the stream; thread-safe and idempotent."""
        self._is_cancelled = True
        if self._rpc is not None:
            self._rpc.cancel()
        self._queue.put(None)

    def _requests(self) -> Iterator[pb.RunRequest]:
        while (make := self._queue.get()) is not None:
            if self._is_cancelled:
                return
            message = make()
            if message is not None:
                yield message
