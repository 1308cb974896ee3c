"""One gRPC call on an HTTP/2 connection of its own: bytes in, messages out, and the reverse.

Knows neither sockets nor time. h2 would serve, if it did not take a GOAWAY, with which a server
says that it drains, for the end of the calls that it still answers.
"""

# I1  The call ends once, with the first reason; after that nothing is sent of it and nothing taken.
# I2  No more data is sent than the peer's windows allow, and none after the last of it.
# I3  What is received is bounded: by our window, and within it by one unfinished message, which is
#     no larger than the limit. The window is given back as messages are taken from here.
# I4  Whatever the peer sends, and in whatever pieces, receive() never raises: what breaks HTTP/2
#     or gRPC ends the call.
# I5  A message that came before the end is given before it.
# I6  Every header block is decoded, since the next one may refer to it.
# I7  A GOAWAY that includes the call leaves it as it is.

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Final

import grpc
from hpack import Decoder, Encoder, HPACKError

from . import grpc_framing, h2_frames
from .grpc_framing import CompressedMessage, MessageReader, MessageTooLarge, code_name, framed
from .h2_frames import BrokenHttp2, ErrorCode, FrameReader, frame

WINDOW: Final = 1 << 20
"""How many bytes the server may send before they are taken."""
MAX_HEADER_BYTES: Final = 64 << 10
"""How large a header block may be."""

_STREAM: Final = 1
_AT_ONCE: Final = 256 << 10
_DEFAULT_WINDOW: Final = 65_535


class H2Stream:
    """The call and its connection."""

    def __init__(self, headers: Sequence[tuple[str, str, bool]], max_message_bytes: int) -> None:
        """``headers``: names, values, and whether a value is a secret."""
        self.is_over = False
        self.error: grpc.aio.AioRpcError | None = None
        """How it ended; None: well, or not yet."""
        self.backlog = 0
        """How many bytes of messages wait to be sent."""
        self.withheld = 0
        """How many bytes of messages have left here, but were not taken by their reader."""
        self._frames = FrameReader()
        self._messages = MessageReader(max_message_bytes)
        self._decoder = Decoder(max_header_list_size=MAX_HEADER_BYTES)
        self._control = bytearray(
            h2_frames.PREFACE
            + h2_frames.settings(
                (h2_frames.ENABLE_PUSH, 0),
                (h2_frames.INITIAL_WINDOW_SIZE, WINDOW),
                (h2_frames.MAX_HEADER_LIST_SIZE, MAX_HEADER_BYTES),
            )
            + h2_frames.window_update(0, WINDOW - _DEFAULT_WINDOW)
            + h2_frames.header_block(_STREAM, Encoder().encode(list(headers), huffman=False))
        )
        self._queue: deque[bytes | memoryview] = deque()
        self._is_closing = False
        self._is_half_closed = False
        self._windows = [_DEFAULT_WINDOW, _DEFAULT_WINDOW]  # The connection's, the stream's.
        self._initial_window = _DEFAULT_WINDOW
        self._received = 0
        self._block: tuple[int, bytearray] | None = None
        self._has_settings = False
        self._has_headers = False
        self._goaway = ""

    def send(self, message: bytes) -> None:
        """Puts a message in line; nothing is sent before :meth:`take`."""
        if not self.is_over and not self._is_closing:
            data = framed(message)
            self._queue.append(data)
            self.backlog += len(data)

    def half_close(self) -> None:
        """Says that no message follows those in line. Idempotent."""
        self._is_closing = True

    def ping(self) -> None:
        """Asks the peer for a sign of life."""
        self._control += frame(h2_frames.PING, 0, 0, b"toolport")

    def end(self, error: grpc.aio.AioRpcError | None, code: ErrorCode | None = None) -> None:
        """Ends the call; ``code`` tells the peer why. A second end is ignored."""
        if self.is_over:
            return
        self.is_over = True
        self.error = error
        self._queue.clear()
        self.backlog = 0
        if code is not None:
            self._control += frame(
                h2_frames.RST_STREAM, 0, _STREAM, h2_frames.WORD.pack(code)
            ) + frame(h2_frames.GOAWAY, 0, 0, bytes(8))

    def lost(self, why: str) -> None:
        """The connection is gone."""
        self.end(grpc_framing.error(grpc.StatusCode.UNAVAILABLE, why + self._goaway))

    def take(self, with_messages: bool = True) -> bytes:
        """What is to be written now, with what the windows allow of the messages or without any;
        empty: nothing can be.
        """
        taken = self._received - self.withheld
        if taken >= WINDOW // 2 and not self.is_over:
            self._received -= taken
            self._control += h2_frames.window_update(0, taken)
            self._control += h2_frames.window_update(_STREAM, taken)
        out = self._control
        if with_messages and not self._is_half_closed and not self.is_over:
            self._take_data(out)
        if not out:
            return b""
        self._control = bytearray()
        return bytes(out)

    def receive(self, data: bytes) -> list[bytes]:
        """Takes what the peer sent; returns the messages that are whole with it."""
        messages: list[bytes] = []
        try:
            for type, flags, stream, payload in self._frames.read(data):
                if self.is_over:
                    break
                if type == h2_frames.DATA and self._block is None:
                    self._take_message_bytes(flags, stream, payload, messages)
                else:
                    self._take_frame(type, flags, stream, payload)
        except BrokenHttp2 as broken:
            what = "breaks HTTP/2" if self._has_settings else "does not speak HTTP/2"
            self._break(f"the server {what}: {broken}", broken.code)
        except HPACKError as broken:
            code = ErrorCode.COMPRESSION_ERROR
            self._break(f"the server sent headers that can't be read: {broken}", code)
        except MessageTooLarge as sizes:
            text = f"CLIENT: Received message larger than max {sizes}"
            error = grpc_framing.error(grpc.StatusCode.RESOURCE_EXHAUSTED, text)
            self.end(error, ErrorCode.CANCEL)
        except CompressedMessage:
            text = "the server sent a compressed message, which this client did not offer to take"
            self._break(text, ErrorCode.CANCEL)
        return messages

    def _take_data(self, out: bytearray) -> None:
        room = min(*self._windows, _AT_ONCE)
        parts: list[bytes | memoryview] = []
        size = 0
        queue = self._queue
        while queue and size < room:
            piece = queue[0]
            if len(piece) <= room - size:
                queue.popleft()
                parts.append(piece)
                size += len(piece)
            else:
                view = memoryview(piece)
                parts.append(view[: room - size])
                queue[0] = view[room - size :]
                size = room
        ends = self._is_closing and not queue
        if size == 0 and not ends:
            return
        self.backlog -= size
        self._windows[0] -= size
        self._windows[1] -= size
        data = b"".join(parts)
        for at in range(0, size, h2_frames.MAX_FRAME):
            out += frame(h2_frames.DATA, 0, _STREAM, data[at : at + h2_frames.MAX_FRAME])
        if ends:
            self._is_half_closed = True
            out += frame(h2_frames.DATA, h2_frames.END_STREAM, _STREAM)

    def _take_message_bytes(
        self, flags: int, stream: int, payload: bytes, messages: list[bytes]
    ) -> None:
        if stream != _STREAM or not self._has_headers:
            raise BrokenHttp2("data that belongs to no response")
        self._received += len(payload)
        if self._received > WINDOW:
            raise BrokenHttp2("more data than the window allows", ErrorCode.FLOW_CONTROL_ERROR)
        if flags & h2_frames.PADDED:
            payload = h2_frames.unpadded(flags & h2_frames.PADDED, payload)
        self._messages.read(payload, messages)
        if flags & h2_frames.END_STREAM:
            self.end(grpc_framing.status(()))

    def _take_frame(self, type: int, flags: int, stream: int, payload: bytes) -> None:
        if not self._has_settings and type != h2_frames.SETTINGS:
            raise BrokenHttp2("its first frame is not SETTINGS")
        if self._block is not None and (type, stream) != (h2_frames.CONTINUATION, _STREAM):
            raise BrokenHttp2("a frame amid a header block")
        if type == h2_frames.HEADERS:
            if stream != _STREAM:
                raise BrokenHttp2("headers that belong to no request")
            known = flags & (h2_frames.PADDED | h2_frames.HAS_PRIORITY)
            self._take_block(flags, flags, h2_frames.unpadded(known, payload))
        elif type == h2_frames.CONTINUATION:
            if self._block is None:
                raise BrokenHttp2("a continuation of nothing")
            self._take_block(self._block[0], flags, payload)
        elif type == h2_frames.RST_STREAM:
            if stream == _STREAM:
                self.end(grpc_framing.reset(h2_frames.word(payload, "RST_STREAM")))
        elif type == h2_frames.SETTINGS:
            self._take_settings(flags, payload)
        elif type == h2_frames.PING:
            if len(payload) != 8:
                raise BrokenHttp2("a PING of no 8 bytes", ErrorCode.FRAME_SIZE_ERROR)
            if not flags & h2_frames.ACK:
                self._control += frame(h2_frames.PING, h2_frames.ACK, 0, payload)
        elif type == h2_frames.GOAWAY:
            self._take_goaway(payload)
        elif type == h2_frames.WINDOW_UPDATE:
            increment = h2_frames.word(payload, "WINDOW_UPDATE") & h2_frames.MAX_WINDOW
            if increment == 0:
                raise BrokenHttp2("a WINDOW_UPDATE of 0")
            if stream <= _STREAM:
                self._widen(stream, increment)
        elif type == h2_frames.PUSH_PROMISE:
            raise BrokenHttp2("a PUSH_PROMISE, which this client does not allow")
        # What is of another type may be ignored, and so may PRIORITY.

    def _take_block(self, first_flags: int, flags: int, part: bytes) -> None:
        """Takes a part of a header block; ``first_flags`` are those of its HEADERS frame."""
        block = bytearray() if self._block is None else self._block[1]
        block += part
        if len(block) > MAX_HEADER_BYTES:
            raise BrokenHttp2(f"more than {MAX_HEADER_BYTES} bytes of headers")
        if not flags & h2_frames.END_HEADERS:
            self._block = (first_flags, block)
            return
        self._block = None
        headers = [(bytes(h[0]), bytes(h[1])) for h in self._decoder.decode(bytes(block), raw=True)]
        is_last = bool(first_flags & h2_frames.END_STREAM)
        if self._has_headers:
            if not is_last:
                raise BrokenHttp2("a second header block that is not the last")
            self._finish(headers)
            return
        if not is_last and dict(headers).get(b":status", b"").startswith(b"1"):
            return  # Informational: the response's own headers follow.
        self._has_headers = True
        has_status = any(name == b"grpc-status" for name, _ in headers)
        wrong = grpc_framing.http_status(headers)
        if wrong is not None and not has_status:
            self.end(wrong, None if is_last else ErrorCode.CANCEL)
        elif is_last:
            self._finish(headers)

    def _finish(self, trailers: list[tuple[bytes, bytes]]) -> None:
        error = grpc_framing.status(trailers)
        if error is None and not self._messages.is_between_messages:
            text = "the server ended the stream in the midst of a message"
            error = grpc_framing.error(grpc.StatusCode.INTERNAL, text)
        # A server that ends the call before we have need not hear of it: the connection ends, too.
        self.end(error)

    def _take_settings(self, flags: int, payload: bytes) -> None:
        self._has_settings = True
        if flags & h2_frames.ACK:
            return
        for name, value in h2_frames.read_settings(payload):
            if name == h2_frames.INITIAL_WINDOW_SIZE:
                if value > h2_frames.MAX_WINDOW:
                    code = ErrorCode.FLOW_CONTROL_ERROR
                    raise BrokenHttp2(f"an initial window of {value} bytes", code)
                # It may leave the window negative.
                change, self._initial_window = value - self._initial_window, value
                self._widen(_STREAM, change)
        self._control += frame(h2_frames.SETTINGS, h2_frames.ACK, 0)

    def _take_goaway(self, payload: bytes) -> None:
        if len(payload) < 8:
            raise BrokenHttp2("a GOAWAY that is cut short", ErrorCode.FRAME_SIZE_ERROR)
        last = h2_frames.WORD.unpack_from(payload)[0] & h2_frames.MAX_WINDOW
        name = code_name(h2_frames.WORD.unpack_from(payload, 4)[0])
        said = payload[8:200].decode(errors="replace")
        self._goaway = f"; the server had said GOAWAY {name} {said}".rstrip()
        if last < _STREAM:
            self.lost("the server did not take the call")

    def _widen(self, which: int, change: int) -> None:
        self._windows[which] += change
        if self._windows[which] > h2_frames.MAX_WINDOW:
            raise BrokenHttp2("a window that is too wide", ErrorCode.FLOW_CONTROL_ERROR)

    def _break(self, text: str, code: ErrorCode) -> None:
        self.end(grpc_framing.error(grpc.StatusCode.INTERNAL, text), code)
