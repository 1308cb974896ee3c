"""Starts a sidecar, and ends it."""

from __future__ import annotations

import asyncio
import os
import tempfile
import time
import weakref
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

from . import command, fork
from .aio import AsyncToolPort
from .client import ToolPort
from .errors import SidecarError, ToolPortError
from .process import Process, Ready

_MAX_SOCKET_FOLDER: Final = 80
"""A socket's path may have about a hundred bytes."""


class Sidecar:
    """A toolport process of one's own::

        with Sidecar.spawn("tools.ts") as sidecar, sidecar.port() as port:
            print(port.execute("add", {"a": 1, "b": 2}).value)

    It starts with the ``with`` (or ``async with``) and ends with it: running calls may finish
    within ``close_timeout``. When this process dies, so does the sidecar. Its standard error goes
    to the logger ``toolport.sidecar``.
    """

    def __init__(
        self,
        tools: str | os.PathLike[str],
        *,
        command: str | Sequence[str] | None = None,
        args: Sequence[str] = (),
        address: str | None = None,
        token: str | None = None,
        env: Mapping[str, str] | None = None,
        cwd: str | os.PathLike[str] | None = None,
        startup_timeout: float = 30.0,
        close_timeout: float = 15.0,
    ) -> None:
        """See :meth:`spawn`."""
        self._cwd = Path.cwd() if cwd is None else Path(cwd).absolute()
        self._tools = self._cwd / tools
        self._command = command
        self._args = tuple(args)
        self._address = address
        self._token = token
        self._env = env
        self._startup_timeout = startup_timeout
        self._close_timeout = close_timeout
        self._process: Process | None = None
        self._ready: Ready | None = None
        self._finalizer: weakref.finalize[..., Sidecar] | None = None
        fork.tell(self)

    @classmethod
    def spawn(
        cls,
        tools: str | os.PathLike[str],
        *,
        command: str | Sequence[str] | None = None,
        args: Sequence[str] = (),
        address: str | None = None,
        token: str | None = None,
        env: Mapping[str, str] | None = None,
        cwd: str | os.PathLike[str] | None = None,
        startup_timeout: float = 30.0,
        close_timeout: float = 15.0,
    ) -> Sidecar:
        """A sidecar for a tools file, to be used in a ``with`` or ``async with``.

        Args:
            tools: The tools file, relative to ``cwd``.
            command: How to run toolport, such as ``["npx", "toolport"]``. None: TOOLPORT_COMMAND,
                else from the tools file and from ``cwd`` upwards the nearest
                ``node_modules/.bin/toolport`` or checkout of toolport, else the PATH's.
            args: More arguments of ``toolport serve``.
            address: Where it listens, ``unix:/path`` or ``host:port`` (port 0 picks one). None: a
                unix socket that only this user can reach.
            token: The bearer token that it asks for. None: on TCP it makes one.
            env: More environment variables.
            cwd: Where it runs; None: here.
            startup_timeout: How long its start may take, up to health SERVING, in seconds.
            close_timeout: How long running calls may take to finish when it is closed, in seconds,
                before it is killed.
        """
        return cls(
            tools,
            command=command,
            args=args,
            address=address,
            token=token,
            env=env,
            cwd=cwd,
            startup_timeout=startup_timeout,
            close_timeout=close_timeout,
        )

    def start(self) -> Self:
        """Starts it and waits until it serves; :meth:`close` must follow. ``with`` does both.

        Raises:
            SidecarError: there is no such file or command, or it did not serve; the text ends with
                what it said last.
        """
        if self._process is not None:
            raise SidecarError("this sidecar was started already; spawn another one")
        if not self._tools.is_file():
            raise SidecarError(f"there is no tools file {self._tools}")
        found = command.find(self._command, self._tools, self._cwd)
        until = time.monotonic() + self._startup_timeout
        env = found.environment(self._env)
        if self._token is not None:
            env["TOOLPORT_TOKEN"] = self._token
        folder = None if self._address is not None else _socket_folder()
        address = self._address if folder is None else f"unix:{folder / 'port.sock'}"
        assert address is not None
        words = (*found.words, "serve", str(self._tools), "--address", address)
        self._process = process = Process(
            (*words, "--exit-with-parent", *self._args), env=env, cwd=self._cwd, folder=folder
        )
        # For whoever never closes it.
        self._finalizer = weakref.finalize(self, process.stop, self._close_timeout)
        try:
            self._ready = process.wait_ready(self._startup_timeout)
            with self.port() as port:
                port.wait_ready(max(until - time.monotonic(), 0.1))
        except BaseException as error:
            self.close()
            if isinstance(error, ToolPortError) and not isinstance(error, SidecarError):
                raise process.error(f"the sidecar did not serve: {error}") from error
            raise
        return self

    def port(self, **options: Any) -> ToolPort:
        """A synchronous client for it; ``options`` are those of :class:`ToolPort`.

        Raises:
            SidecarError: it is not running.
        """
        ready = self._running()
        return ToolPort(ready.address, **self._access(ready), **options)

    def aport(self, **options: Any) -> AsyncToolPort:
        """A client for asyncio; ``options`` are those of :class:`AsyncToolPort`.

        Raises:
            SidecarError: it is not running.
        """
        ready = self._running()
        return AsyncToolPort(ready.address, **self._access(ready), **options)

    @property
    def address(self) -> str:
        """Where it listens."""
        return self._running().address

    @property
    def digest(self) -> str:
        """Names the set of tools that it serves."""
        return self._running().digest

    @property
    def pid(self) -> int:
        """Its process id."""
        return self._started().pid

    @property
    def alive(self) -> bool:
        """Whether it is running."""
        return self._process is not None and self._process.exit_code is None

    @property
    def stderr(self) -> str:
        """The last lines that it wrote to standard error."""
        return self._started().stderr

    def close(self) -> None:
        """Ends it: asks it to, waits for running calls, then kills it. Idempotent."""
        if self._finalizer is not None:
            self._finalizer()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        starting = asyncio.ensure_future(asyncio.to_thread(self.start))
        try:
            return await asyncio.shield(starting)
        except asyncio.CancelledError:
            # The thread can't be interrupted, but what it has started can be ended.
            starting.add_done_callback(lambda done: done.cancelled() or done.exception())
            await asyncio.to_thread(self._abandon, starting)
            raise

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await asyncio.to_thread(self.close)

    def after_fork(self) -> None:
        """Leaves the process to the parent: a child that held its standard input open would keep it
        alive.
        """
        if self._process is not None:
            self._process.drop_stdin()

    def _abandon(self, starting: asyncio.Future[Self]) -> None:
        while not starting.done():
            self.close()
            time.sleep(0.01)

    def _started(self) -> Process:
        if self._process is None:
            raise SidecarError("the sidecar is not started; use it in a `with` block")
        return self._process

    def _running(self) -> Ready:
        process = self._started()
        if process.exit_code is not None:
            raise process.error(f"the sidecar has ended with {process.how()}")
        if self._ready is None:
            raise SidecarError("the sidecar is not ready yet")
        return self._ready

    def _access(self, ready: Ready) -> dict[str, Any]:
        return {
            "token": self._token,
            "token_file": ready.token_file if self._token is None else None,
            "_explain": self._explain,
        }

    def _explain(self, error: ToolPortError) -> ToolPortError:
        if error.reason != "UNREACHABLE" or self._process is None:
            return error
        # The connection ends a moment before the process does.
        if not self._process.wait_over(0.5):
            return error
        dead = self._process.error(f"the sidecar ended with {self._process.how()}")
        dead.started = error.started
        return dead


def _socket_folder() -> Path:
    base = tempfile.gettempdir()
    return Path(
        tempfile.mkdtemp(
            prefix="toolport-", dir=base if len(base) <= _MAX_SOCKET_FOLDER else "/tmp"
        )
    )
