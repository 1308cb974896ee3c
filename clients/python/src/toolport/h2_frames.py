"""The frames of HTTP/2 (RFC 9113) that a client of one stream sends and reads."""

from __future__ import annotations

from collections.abc import Iterator
from enum import IntEnum
from struct import Struct
from typing import Final, TypeAlias

PREFACE: Final = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
"""What a client sends before its first frame."""
MAX_FRAME: Final = 16_384
"""How many bytes a frame may carry unless its reader has allowed more; this client does not."""
MAX_WINDOW: Final = 2**31 - 1
"""The largest flow-control window, in bytes."""

DATA: Final = 0
HEADERS: Final = 1
PRIORITY: Final = 2
RST_STREAM: Final = 3
SETTINGS: Final = 4
PUSH_PROMISE: Final = 5
PING: Final = 6
GOAWAY: Final = 7
WINDOW_UPDATE: Final = 8
CONTINUATION: Final = 9

ACK: Final = 0x1
"""Of SETTINGS and PING."""
END_STREAM: Final = 0x1
"""Of DATA and HEADERS."""
END_HEADERS: Final = 0x4
PADDED: Final = 0x8
HAS_PRIORITY: Final = 0x20

ENABLE_PUSH: Final = 2
INITIAL_WINDOW_SIZE: Final = 4
MAX_FRAME_SIZE: Final = 5
MAX_HEADER_LIST_SIZE: Final = 6

Frame: TypeAlias = tuple[int, int, int, bytes]
"""A frame's type, flags, stream and payload."""

WORD: Final = Struct(">I")
_HEAD: Final = Struct(">BHBBI")
_SETTING: Final = Struct(">HI")
_STREAM: Final = 0x7FFF_FFFF


class ErrorCode(IntEnum):
    """Why a stream or a connection ended."""

    NO_ERROR = 0
    PROTOCOL_ERROR = 1
    INTERNAL_ERROR = 2
    FLOW_CONTROL_ERROR = 3
    SETTINGS_TIMEOUT = 4
    STREAM_CLOSED = 5
    FRAME_SIZE_ERROR = 6
    REFUSED_STREAM = 7
    CANCEL = 8
    COMPRESSION_ERROR = 9
    CONNECT_ERROR = 10
    ENHANCE_YOUR_CALM = 11
    INADEQUATE_SECURITY = 12
    HTTP_1_1_REQUIRED = 13


class BrokenHttp2(Exception):
    """What the peer sent does not keep HTTP/2; the connection can't go on."""

    def __init__(self, message: str, code: ErrorCode = ErrorCode.PROTOCOL_ERROR) -> None:
        super().__init__(message)
        self.code = code


def frame(type: int, flags: int, stream: int, payload: bytes = b"") -> bytes:
    """The bytes of a frame."""
    size = len(payload)
    return _HEAD.pack(size >> 16, size & 0xFFFF, type, flags, stream) + payload


def settings(*pairs: tuple[int, int]) -> bytes:
    """A SETTINGS frame."""
    return frame(SETTINGS, 0, 0, b"".join(_SETTING.pack(*pair) for pair in pairs))


def window_update(stream: int, increment: int) -> bytes:
    """A WINDOW_UPDATE frame; stream 0 is the whole connection."""
    return frame(WINDOW_UPDATE, 0, stream, WORD.pack(increment))


def header_block(stream: int, block: bytes) -> bytes:
    """A HEADERS frame that leaves the stream open, with as many CONTINUATION frames as it needs."""
    parts = [block[at : at + MAX_FRAME] for at in range(0, len(block), MAX_FRAME)] or [b""]
    last = len(parts) - 1
    return b"".join(
        frame(HEADERS if n == 0 else CONTINUATION, END_HEADERS if n == last else 0, stream, part)
        for n, part in enumerate(parts)
    )


def read_settings(payload: bytes) -> Iterator[tuple[int, int]]:
    """The settings of a SETTINGS frame."""
    if len(payload) % _SETTING.size:
        raise BrokenHttp2("a SETTINGS frame is cut short", ErrorCode.FRAME_SIZE_ERROR)
    return _SETTING.iter_unpack(payload)


def word(payload: bytes, what: str, size: int = 4) -> int:
    """The number that a payload of ``size`` bytes begins with."""
    if len(payload) != size:
        raise BrokenHttp2(f"a {what} frame has {len(payload)} bytes", ErrorCode.FRAME_SIZE_ERROR)
    return int(WORD.unpack_from(payload)[0])


def unpadded(flags: int, payload: bytes) -> bytes:
    """What a DATA or HEADERS frame carries, without its padding and its priority."""
    start, end = 0, len(payload)
    if flags & PADDED:
        start = 1
        end -= payload[0] if payload else 0
    if flags & HAS_PRIORITY:
        start += 5
    if start > end:
        raise BrokenHttp2("a frame has more padding than bytes")
    return payload[start:end] if start or end < len(payload) else payload


class FrameReader:
    """Cuts what is received, in whatever pieces, into frames."""

    def __init__(self) -> None:
        self._rest = b""

    def read(self, data: bytes) -> Iterator[Frame]:
        """The frames that are whole with ``data``. Must be read to its end before the next call.

        Raises:
            BrokenHttp2: a frame is larger than this client allows.
        """
        if self._rest:
            data = self._rest + data
        at, end = 0, len(data)
        unpack = _HEAD.unpack_from
        while end - at >= 9:
            high, low, type, flags, stream = unpack(data, at)
            size = high << 16 | low
            if size > MAX_FRAME:
                # Another protocol than HTTP/2 shows itself here, too.
                raise BrokenHttp2(f"a frame of {size} bytes", ErrorCode.FRAME_SIZE_ERROR)
            if end - at < 9 + size:
                break
            yield type, flags, stream & _STREAM, data[at + 9 : at + 9 + size]
            at += 9 + size
        self._rest = data[at:] if at else data
