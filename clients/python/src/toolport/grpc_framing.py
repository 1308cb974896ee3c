"""Messages and statuses of gRPC as HTTP/2 carries them.

https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterable
from struct import Struct
from typing import Final, TypeAlias
from urllib.parse import unquote

import grpc

from .h2_frames import ErrorCode

Header: TypeAlias = tuple[bytes, bytes]

_HEAD: Final = Struct(">BI")
_CODES: Final = {code.value[0]: code for code in grpc.StatusCode}


class MessageTooLarge(Exception):
    """The peer sends a message over the limit."""


class CompressedMessage(Exception):
    """The peer sends a message in an encoding that it was not offered."""


def framed(message: bytes) -> bytes:
    """A message as it stands in a stream."""
    return _HEAD.pack(0, len(message)) + message


class MessageReader:
    """Joins a stream's bytes, in whatever pieces, to messages."""

    def __init__(self, max_bytes: int) -> None:
        """``max_bytes``: how large a message may be. No more than one is held."""
        self._max_bytes = max_bytes
        self._parts: list[bytes] = []
        self._held = 0
        self._needed = 5

    @property
    def is_between_messages(self) -> bool:
        """Whether no message is left unfinished."""
        return self._held == 0

    def read(self, data: bytes, messages: list[bytes]) -> None:
        """Puts the messages that are whole with ``data`` into ``messages``.

        Raises:
            MessageTooLarge: a message is over the limit; told before it is held.
            CompressedMessage: it is compressed.
        """
        if self._held:
            self._parts.append(data)
            self._held += len(data)
            # To join the parts for each of them would cost the square of a message's length.
            if self._held < self._needed:
                return
            data = b"".join(self._parts)
            self._parts.clear()
        at, end = 0, len(data)
        self._needed = 5
        while end - at >= 5:
            compressed, size = _HEAD.unpack_from(data, at)
            if compressed:
                raise CompressedMessage
            if size > self._max_bytes:
                raise MessageTooLarge(f"({size} vs. {self._max_bytes})")
            start = at + 5
            if end - start < size:
                self._needed = 5 + size
                break
            at = start + size
            messages.append(data[start:at])
        self._held = end - at
        if self._held:
            self._parts.append(data[at:])


def error(
    code: grpc.StatusCode, details: str, trailers: Iterable[tuple[str, str | bytes]] = ()
) -> grpc.aio.AioRpcError:
    """How an RPC ended, as grpcio says it."""
    return grpc.aio.AioRpcError(code, grpc.aio.Metadata(), grpc.aio.Metadata(*trailers), details)


def status(headers: Iterable[Header]) -> grpc.aio.AioRpcError | None:
    """How an RPC with these trailers ended; None: well."""
    code: grpc.StatusCode | None = None
    details = ""
    trailers: list[tuple[str, str | bytes]] = []
    for name, value in headers:
        if name == b"grpc-status":
            code = _CODES.get(int(value), None) if value.isdigit() else None
            code = code or grpc.StatusCode.UNKNOWN
        elif name == b"grpc-message":
            details = unquote(value.decode("latin-1"), errors="replace")
        elif name.endswith(b"-bin"):
            trailers.append((name.decode("latin-1"), _binary(value)))
        elif not name.startswith(b":"):
            trailers.append((name.decode("latin-1"), value.decode("latin-1")))
    if code is None:
        return error(grpc.StatusCode.UNKNOWN, "the server ended the stream without a status")
    return None if code is grpc.StatusCode.OK else error(code, details, trailers)


def http_status(headers: Iterable[Header]) -> grpc.aio.AioRpcError | None:
    """What is wrong with the headers of a response that carries no gRPC status; None: nothing."""
    fields = dict(headers)
    http = fields.get(b":status", b"").decode("latin-1")
    if http != "200":
        code = _HTTP_CODES.get(http, grpc.StatusCode.UNKNOWN)
        return error(code, f"the server answered with the HTTP status {http or 'left out'}")
    kind = fields.get(b"content-type", b"").decode("latin-1")
    if not kind.startswith("application/grpc"):
        return error(
            grpc.StatusCode.UNKNOWN, f"the server answered with the content type {kind!r}, not gRPC"
        )
    return None


def reset(number: int) -> grpc.aio.AioRpcError:
    """How an RPC ended whose stream was reset."""
    code = _RESET_CODES.get(number, grpc.StatusCode.INTERNAL)
    return error(code, f"the server reset the stream: {code_name(number)}")


def code_name(number: int) -> str:
    """An HTTP/2 error code for people."""
    try:
        return ErrorCode(number).name
    except ValueError:
        return f"error {number}"


_HTTP_CODES: Final = {
    "400": grpc.StatusCode.INTERNAL,
    "401": grpc.StatusCode.UNAUTHENTICATED,
    "403": grpc.StatusCode.PERMISSION_DENIED,
    "404": grpc.StatusCode.UNIMPLEMENTED,
    "429": grpc.StatusCode.UNAVAILABLE,
    "502": grpc.StatusCode.UNAVAILABLE,
    "503": grpc.StatusCode.UNAVAILABLE,
    "504": grpc.StatusCode.UNAVAILABLE,
}
_RESET_CODES: Final[dict[int, grpc.StatusCode]] = {
    ErrorCode.REFUSED_STREAM: grpc.StatusCode.UNAVAILABLE,
    ErrorCode.CANCEL: grpc.StatusCode.CANCELLED,
    ErrorCode.ENHANCE_YOUR_CALM: grpc.StatusCode.RESOURCE_EXHAUSTED,
    ErrorCode.INADEQUATE_SECURITY: grpc.StatusCode.PERMISSION_DENIED,
}


def _binary(value: bytes) -> bytes:
    try:
        return base64.b64decode(value + b"=" * (-len(value) % 4), validate=True)
    except binascii.Error:
        return b""
