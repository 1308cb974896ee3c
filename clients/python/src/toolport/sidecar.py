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
from typing import Any, Final, Literal, Self, TypeAlias

from . import command, fork
from .aio import AsyncToolPort
from .client import ToolPort
from .errors import SidecarError, ToolPortError, invalid_request
from .process import Ready
from .supervise import Plan, Supervisor

RestartPolicy: TypeAlias = Literal["never", "on-failure"]
"""Whether a sidecar that ended by itself is started again."""

_MAX_SOCKET_FOLDER: Final = 72
"""A socket's path may have 103 bytes on macOS, 107 elsewhere, and 27 of them are its own."""


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
        journal: str | os.PathLike[str] | None = None,
        restart: RestartPolicy = "never",
        max_restarts: int = 3,
    ) -> None:
        """See :meth:`spawn`."""
        if restart not in ("never", "on-failure"):
            raise invalid_request(f"restart is {restart!r}; expected never or on-failure")
        if max_restarts < 0:
            raise invalid_request(f"max_restarts is {max_restarts}; expected 0 or more")
        self._cwd = Path.cwd() if cwd is None else Path(cwd).absolute()
        self._tools = self._cwd / tools
        self._command = command
        self._args = tuple(args)
        self._address = address
        self._token = token
        self._env = env
        self._startup_timeout = startup_timeout
        self._close_timeout = close_timeout
        self._journal = None if journal is None else self._cwd / journal
        self._max_restarts = max_restarts if restart == "on-failure" else 0
        self._supervisor: Supervisor | None = None
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
        journal: str | os.PathLike[str] | None = None,
        restart: RestartPolicy = "never",
        max_restarts: int = 3,
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
            journal: The file that keeps the calls of runs and their outcomes, relative to ``cwd``,
                so that they outlive the process. None: they are kept in memory; see ``restart``.
            restart: ``on-failure`` starts a sidecar that ended by itself, other than with code 0,
                again: the same command on the same tools at the same address. Clients stay as they
                are and connect again; with a ``retry`` they outlast the restart. The journal stays
                the same, so that a call with a run id that is asked again gets its recorded
                outcome; where nothing says which, it is a file that lives as long as the
                ``Sidecar``. One that comes back with another set of tools is ended.
            max_restarts: How often in a row; a minute of serving starts the count anew.
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
            journal=journal,
            restart=restart,
            max_restarts=max_restarts,
        )

    def start(self) -> Self:
        """Starts it and waits until it serves; :meth:`close` must follow. ``with`` does both.

        Raises:
            SidecarError: there is no such file or command, or it did not serve; the text ends with
                what it said last.
        """
        if self._supervisor is not None:
            raise SidecarError("this sidecar was started already; spawn another one")
        if not self._tools.is_file():
            raise SidecarError(f"there is no tools file {self._tools}")
        found = command.find(self._command, self._tools, self._cwd)
        env = found.environment(self._env)
        if self._token is not None:
            env["TOOLPORT_TOKEN"] = self._token
        journal = self._journal
        needs_journal = journal is None and self._max_restarts > 0 and not self._says_journal(env)
        folder = _private_folder() if needs_journal or self._address is None else None
        if folder is not None and needs_journal:
            journal = folder / "journal.db"
        address = self._address or f"unix:{folder}/port.sock"
        self._supervisor = supervisor = Supervisor(
            Plan(
                words=(*found.words, "serve", str(self._tools)),
                address=address,
                args=(*(() if journal is None else ("--journal", str(journal))), *self._args),
                env=env,
                cwd=self._cwd,
                folder=folder,
                token=self._token,
                startup_timeout=self._startup_timeout,
                max_restarts=self._max_restarts,
            )
        )
        # For whoever never closes it.
        self._finalizer = weakref.finalize(self, supervisor.stop, self._close_timeout)
        try:
            supervisor.start()
        except BaseException:
            self.close()
            raise
        return self

    def port(self, **options: Any) -> ToolPort:
        """A synchronous client for it; ``options`` are those of :class:`ToolPort`.

        Raises:
            SidecarError: it is not running.
        """
        ready = self._running()
        return ToolPort(ready.address, **self._access(), **options)

    def aport(self, **options: Any) -> AsyncToolPort:
        """A client for asyncio; ``options`` are those of :class:`AsyncToolPort`.

        Raises:
            SidecarError: it is not running.
        """
        ready = self._running()
        return AsyncToolPort(ready.address, **self._access(), **options)

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
        """Its process id; another one after a restart."""
        return self._started().process.pid

    @property
    def restarts(self) -> int:
        """How often it was started again."""
        return self._started().restarts

    @property
    def alive(self) -> bool:
        """Whether it is running; False for the moment in which it is started again."""
        return self._supervisor is not None and self._supervisor.is_running

    @property
    def stderr(self) -> str:
        """The last lines that it wrote to standard error."""
        return self._started().process.stderr

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
        if self._supervisor is not None:
            self._supervisor.drop_stdin()

    def _abandon(self, starting: asyncio.Future[Self]) -> None:
        while not starting.done():
            self.close()
            time.sleep(0.01)

    def _started(self) -> Supervisor:
        if self._supervisor is None:
            raise SidecarError("the sidecar is not started; use it in a `with` block")
        return self._supervisor

    def _running(self) -> Ready:
        supervisor = self._started()
        if supervisor.is_over:
            raise supervisor.error()
        if supervisor.ready is None:
            raise SidecarError("the sidecar is not ready yet")
        return supervisor.ready

    def _access(self) -> dict[str, Any]:
        return {"token": self._started().token, "_explain": self._explain}

    def _explain(self, error: ToolPortError) -> ToolPortError:
        return self._started().explain(error)

    def _says_journal(self, env: Mapping[str, str]) -> bool:
        return "TOOLPORT_JOURNAL" in env or any(
            arg == "--journal" or arg.startswith("--journal=") for arg in self._args
        )


def _private_folder() -> Path:
    base = tempfile.gettempdir()
    fits = len(os.fsencode(base)) <= _MAX_SOCKET_FOLDER
    return Path(tempfile.mkdtemp(prefix="toolport-", dir=base if fits else "/tmp"))
