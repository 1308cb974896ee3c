"""A connection that is watched: it counts what a client sends through it."""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import tempfile
import threading
from types import TracebackType
from typing import Self

_PREFACE = len(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
_PING, _ACK = 6, 1


class Cable:
    """Listens on a socket of its own and leads every connection to a server's, in a ``with``."""

    def __init__(self, to: str) -> None:
        self._to = to.removeprefix("unix:")
        self._folder = tempfile.mkdtemp(prefix="cable-")
        path = os.path.join(self._folder, "s")
        self.address = f"unix:{path}"
        self.connections = 0
        """How often the client has connected."""
        self.pings = 0
        """How many pings it has sent, answers to the server's left out."""
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(path)
        self._listener.listen()
        self._ends: list[socket.socket] = []
        self._threads = [threading.Thread(target=self._accept)]

    def __enter__(self) -> Self:
        self._threads[0].start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for end in (self._listener, *self._ends):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join()
        for end in (self._listener, *self._ends):
            end.close()
        shutil.rmtree(self._folder)

    def _accept(self) -> None:
        while True:
            try:
                near, _ = self._listener.accept()
            except OSError:
                return
            self.connections += 1
            far = socket.socket(socket.AF_UNIX)
            far.connect(self._to)
            self._ends += [near, far]
            for source, sink, counts in ((near, far, True), (far, near, False)):
                thread = threading.Thread(target=self._lead, args=(source, sink, counts))
                self._threads.append(thread)
                thread.start()

    def _lead(self, source: socket.socket, sink: socket.socket, counts: bool) -> None:
        # The preface comes before the frames, each of which has a head of nine bytes.
        unread, skip = b"", _PREFACE
        with contextlib.suppress(OSError):
            while data := source.recv(1 << 16):
                sink.sendall(data)
                if not counts:
                    continue
                unread += data
                while len(unread) >= skip + 9:
                    head = unread[skip : skip + 9]
                    self.pings += head[3] == _PING and not head[4] & _ACK
                    unread, skip = unread[skip:], 9 + int.from_bytes(head[:3])
        with contextlib.suppress(OSError):
            sink.shutdown(socket.SHUT_WR)
