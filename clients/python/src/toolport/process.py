"""A started sidecar: its pipes, its ready line, and its end."""

from __future__ import annotations

import json
import logging
import os
import signal
import subprocess
import threading
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Final

from .errors import SidecarError

log = logging.getLogger("toolport.sidecar")

_MARK: Final = '{"toolport":'
_VERSION: Final = 1
_MAX_LINE: Final = 1 << 20
_KEPT_LINES: Final = 40
_QUOTED_LINES: Final = 20


@dataclass(frozen=True, slots=True)
class Ready:
    """What the ready line says."""

    version: object
    address: str
    digest: str
    token_file: str | None


class Process:
    """Owns a sidecar's process from its start to its end."""

    def __init__(self, words: Sequence[str], *, env: Mapping[str, str], cwd: Path | None) -> None:
        """Starts it.

        Raises:
            SidecarError: the command can't be run.
        """
        self._owner = os.getpid()
        self._printed: deque[str] = deque(maxlen=_KEPT_LINES)
        self._complained: deque[str] = deque(maxlen=_KEPT_LINES)
        self._ready: Ready | None = None
        self._ready_or_over = threading.Event()
        self._over = threading.Event()
        self._stopping = False
        try:
            self._popen = subprocess.Popen(
                words,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env=dict(env),
                cwd=cwd,
                # A Ctrl-C is the kernel's: it ends its sidecar when its own calls have ended.
                process_group=0,
            )
        except (TypeError, ValueError) as error:
            raise SidecarError(
                f"{words[0]} can't be started, since an argument, the command or env is not of "
                f"strings without NUL: {error}"
            ) from error
        except OSError as error:
            raise SidecarError(f"{words[0]} can't be started: {error}") from error
        assert self._popen.stdout is not None and self._popen.stderr is not None
        self._readers = [
            _thread("stdout", self._read, self._popen.stdout, self._take_printed),
            _thread("stderr", self._read, self._popen.stderr, self._take_complaint),
        ]
        _thread("watch", self._watch)

    @property
    def pid(self) -> int:
        """The process's id."""
        return self._popen.pid

    @property
    def exit_code(self) -> int | None:
        """How it ended, negative for a signal; None while it runs."""
        return self._popen.returncode if self._over.is_set() else None

    @property
    def stderr(self) -> str:
        """The last lines of its standard error."""
        return "\n".join(self._complained)

    def wait_ready(self, timeout: float) -> Ready:
        """Waits for the ready line.

        Raises:
            SidecarError: it did not come in time, or the process ended.
        """
        if not self._ready_or_over.wait(timeout):
            raise self.error(f"the sidecar printed no ready line within {timeout:g} s")
        if self._ready is None:
            raise self.error(f"the sidecar ended with {self.how()} before it was ready")
        if self._ready.version != _VERSION:
            raise self.error(
                f"the sidecar speaks version {self._ready.version!r} of the ready line and this "
                f"package version {_VERSION}; install versions of the same release"
            )
        return self._ready

    def wait_over(self, timeout: float | None) -> bool:
        """Waits for the process's end; whether it has come."""
        return self._over.wait(timeout)

    def how(self) -> str:
        """How it ended, in words."""
        code = self._popen.returncode
        if code is None or code >= 0:
            return f"code {code}"
        try:
            return signal.Signals(-code).name
        except ValueError:
            return f"signal {-code}"

    def error(self, message: str) -> SidecarError:
        """An error that quotes what the process has said last."""
        said = list(self._complained) or list(self._printed)
        quoted = "\n".join(said[-_QUOTED_LINES:])
        return SidecarError(
            f"{message}; it said last:\n{quoted}" if quoted else f"{message}, and said nothing",
            exit_code=self.exit_code,
            stderr=self.stderr,
        )

    def stop(self, grace: float) -> None:
        """Asks the process to end, waits ``grace`` seconds, then kills it. Idempotent."""
        if os.getpid() != self._owner:
            return  # A forked child: the process is the parent's.
        self._stopping = True
        if not self._over.is_set():
            self._popen.terminate()
            if not self._over.wait(grace):
                log.warning("the sidecar did not end within %g s and is killed", grace)
                self._kill()
                self._over.wait()
        self.drop_stdin()

    def drop_stdin(self) -> None:
        """Closes this process's end of the pipe whose end tells the sidecar to go."""
        if self._popen.stdin is not None:
            with suppress(OSError):
                self._popen.stdin.close()

    def _kill(self) -> None:
        try:
            os.killpg(self._popen.pid, signal.SIGKILL)
        except (ProcessLookupError, PermissionError):
            self._popen.kill()

    def _watch(self) -> None:
        self._popen.wait()
        for reader in self._readers:
            # What a tool has started may hold the pipes open for longer.
            reader.join(1.0)
        self.drop_stdin()
        if self._ready is not None and not self._stopping:
            log.error("%s", self.error(f"the sidecar ended by itself with {self.how()}"))
        self._over.set()
        self._ready_or_over.set()

    def _read(self, pipe: IO[bytes], take: Callable[[str], None]) -> None:
        with pipe:
            while line := pipe.readline(_MAX_LINE):
                take(line.decode(errors="replace").rstrip("\r\n"))

    def _take_printed(self, line: str) -> None:
        # What a tools file prints without a newline may stand before it.
        at = line.find(_MARK)
        if self._ready is None and at >= 0:
            self._ready = _ready(line[at:])
            if self._ready is not None:
                self._ready_or_over.set()
                line = line[:at]
        if line:
            self._printed.append(line)
            log.debug("stdout: %s", line)

    def _take_complaint(self, line: str) -> None:
        self._complained.append(line)
        log.info("%s", line)


def _ready(text: str) -> Ready | None:
    try:
        said, _ = json.JSONDecoder().raw_decode(text)
    except ValueError:
        return None
    address, digest, token_file = said.get("address"), said.get("digest"), said.get("tokenFile")
    if not isinstance(address, str):
        return None
    return Ready(
        version=said["toolport"],
        address=address,
        digest=digest if isinstance(digest, str) else "",
        token_file=token_file if isinstance(token_file, str) else None,
    )


def _thread(name: str, run: Callable[..., None], *args: object) -> threading.Thread:
    thread = threading.Thread(target=run, args=args, name=f"toolport-{name}", daemon=True)
    thread.start()
    return thread
