"""Keeps a sidecar running: its processes in turn, and the folder that is theirs."""

from __future__ import annotations

import os
import shutil
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from .client import ToolPort
from .errors import SidecarError, ToolPortError
from .process import Process, Ready, log

_STEADY_AFTER: Final = 60.0
"""One that has served for so many seconds has its restarts back."""
_MIN_DELAY: Final = 0.1
_MAX_DELAY: Final = 5.0


@dataclass(frozen=True, slots=True)
class Plan:
    """How to start a sidecar, the first time and again."""

    words: tuple[str, ...]
    """The command without its address."""
    address: str
    args: Sequence[str]
    env: Mapping[str, str] = field(repr=False)
    cwd: Path
    folder: Path | None
    """Is removed in the end."""
    token: str | None = field(repr=False)
    startup_timeout: float
    max_restarts: int


class Supervisor:
    """Owns a sidecar from its start to its end, over the restarts in between."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._owner = os.getpid()
        self._lock = threading.Lock()
        self._stopping = threading.Event()
        self._gave_up = threading.Event()
        self._watcher: threading.Thread | None = None
        self._process: Process | None = None
        self._failure: SidecarError | None = None
        self.ready: Ready | None = None
        """What the first ready line said; it holds for every later process."""
        self.token = plan.token
        """The bearer token, as given or as the server made it."""
        self.restarts = 0
        """How often it was started again."""

    @property
    def process(self) -> Process:
        """The process, the last one.

        Raises:
            SidecarError: there is none yet.
        """
        if self._process is None:
            raise SidecarError("the sidecar is not started; use it in a `with` block")
        return self._process

    @property
    def is_running(self) -> bool:
        """Whether a process runs at the moment."""
        return self._process is not None and self._process.exit_code is None

    @property
    def is_over(self) -> bool:
        """Whether no process runs, nor will."""
        ended = self._process is not None and self._process.exit_code is not None
        return ended and (self._watcher is None or self._gave_up.is_set())

    def start(self) -> None:
        """Starts it, and waits until it serves.

        Raises:
            SidecarError: it did not.
        """
        try:
            self._launch(self._plan.address, self._plan.env)
        except BaseException:
            if self._process is None:
                self._remove_folder()
            raise
        if self._plan.max_restarts > 0:
            self._watcher = threading.Thread(
                target=self._watch, name="toolport-supervise", daemon=True
            )
            self._watcher.start()

    def stop(self, grace: float) -> None:
        """Asks it to end, waits ``grace`` seconds, then kills it. Idempotent."""
        if os.getpid() != self._owner:
            return  # A forked child: the processes are the parent's.
        self._stopping.set()
        with self._lock:
            process = self._process
        if process is not None:
            process.stop(grace)
        watcher = self._watcher
        if watcher is not None and watcher is not threading.current_thread():
            watcher.join()
        self._remove_folder()

    def error(self) -> SidecarError:
        """Why it is over."""
        if self._failure is not None:
            return self._failure
        process = self.process
        error = process.error(f"the sidecar has ended with {process.how()}")
        error._is_final = True
        return error

    def explain(self, error: ToolPortError) -> ToolPortError:
        """A better error than that the connection was lost, where the process has ended."""
        process = self._process
        # The connection ends a moment before the process does.
        if error.reason != "UNREACHABLE" or process is None or not process.wait_over(0.5):
            return error
        if self._watcher is None or self._gave_up.is_set() or process.exit_code == 0:
            dead = process.error(f"the sidecar ended with {process.how()}")
            dead._is_final = True
        else:
            dead = process.error(f"the sidecar ended with {process.how()} and is started again")
        dead.started = error.started
        return dead

    def drop_stdin(self) -> None:
        """Closes this process's end of the pipe whose end tells the sidecar to go."""
        if self._process is not None:
            self._process.drop_stdin()

    def _launch(self, address: str, env: Mapping[str, str]) -> None:
        plan = self._plan
        until = time.monotonic() + plan.startup_timeout
        with self._lock:
            if self._stopping.is_set():
                return
            words = (*plan.words, "--address", address, "--exit-with-parent", *plan.args)
            self._process = process = Process(words, env=env, cwd=plan.cwd)
        try:
            ready = process.wait_ready(plan.startup_timeout)
            if self.ready is None:
                self._first(ready)
            elif ready.digest != self.ready.digest:
                process.stop(0)
                raise SidecarError(
                    f"the sidecar came back with another set of tools, {ready.digest} instead of "
                    f"{self.ready.digest}"
                )
            with ToolPort(ready.address, token=self.token) as port:
                port.wait_ready(max(until - time.monotonic(), 0.1))
        except ToolPortError as error:
            if isinstance(error, SidecarError):
                raise
            raise process.error(f"the sidecar did not serve: {error}") from error

    def _first(self, ready: Ready) -> None:
        if self.token is None and ready.token_file is not None:
            try:
                self.token = Path(ready.token_file).read_text().strip()
            except (OSError, ValueError) as error:
                raise SidecarError(f"the token file can't be read: {error}") from error
        self.ready = ready

    def _watch(self) -> None:
        """Starts it again for as long as it may."""
        failures = 0
        while True:
            process, since = self.process, time.monotonic()
            process.wait_over(None)
            if self._stopping.is_set() or process.exit_code == 0:
                break
            if time.monotonic() - since >= _STEADY_AFTER:
                failures = 0
            error: SidecarError | None = None
            while failures < self._plan.max_restarts and not self._stopping.is_set():
                failures += 1
                delay = 0.0 if failures == 1 else min(_MIN_DELAY * 2 ** (failures - 2), _MAX_DELAY)
                error = None if self._stopping.wait(delay) else self._again()
                if error is None:
                    break
                log.error("the sidecar can't be started again: %s", error)
            else:
                self._failure = error
                break
        self._gave_up.set()

    def _again(self) -> SidecarError | None:
        """Starts it again; what went wrong, if anything."""
        assert self.ready is not None
        env = dict(self._plan.env)
        if self.token is not None:
            env["TOOLPORT_TOKEN"] = self.token
        try:
            self._launch(self.ready.address, env)
        except SidecarError as error:
            with suppress(SidecarError):
                self.process.stop(0)
            return error
        if not self._stopping.is_set():
            self.restarts += 1
            log.warning("the sidecar was started again, as process %d", self.process.pid)
        return None

    def _remove_folder(self) -> None:
        if self._plan.folder is not None:
            shutil.rmtree(self._plan.folder, ignore_errors=True)
