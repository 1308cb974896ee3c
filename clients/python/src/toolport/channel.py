"""How to reach a server: its address, its token, and the options of the channel."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias
from urllib.parse import quote

import grpc
from grpc.experimental import ChannelOptions

from .errors import invalid_request

DEFAULT_MAX_MESSAGE_BYTES: Final = 64 << 20
"""How large a message may be, either way: the server's own default."""

Transport: TypeAlias = Literal["auto", "fast", "grpcio"]
"""What carries live runs."""

# A stream needs no thread of its own then, which makes a call faster and a fork safer.
_ON_ITS_READERS_THREAD: Final = (ChannelOptions.SingleThreadedUnaryStream, 1)


@dataclass(frozen=True, slots=True)
class Target:
    """A server and how to speak to it; holds no connection."""

    address: str
    place: str | tuple[str, int]
    """The path of a unix socket, or a host and a port."""
    uri: str
    options: tuple[tuple[str, Any], ...]
    metadata: tuple[tuple[str, str], ...] = field(repr=False)
    credentials: grpc.ChannelCredentials | None
    max_message_bytes: int

    def open(self) -> grpc.Channel:
        """A new channel; it connects with its first request."""
        options = (_ON_ITS_READERS_THREAD, *self.options)
        if self.credentials is None:
            return grpc.insecure_channel(self.uri, options=options)
        return grpc.secure_channel(self.uri, self.credentials, options=options)

    def open_aio(self) -> grpc.aio.Channel:
        """A new channel for the running loop; it connects with its first request."""
        if self.credentials is None:
            return grpc.aio.insecure_channel(self.uri, options=self.options)
        return grpc.aio.secure_channel(self.uri, self.credentials, options=self.options)


def target(
    address: str,
    *,
    token: str | None = None,
    token_file: str | os.PathLike[str] | None = None,
    credentials: grpc.ChannelCredentials | None = None,
    max_message_bytes: int = DEFAULT_MAX_MESSAGE_BYTES,
    options: tuple[tuple[str, Any], ...] = (),
) -> Target:
    """Reads an address, ``unix:/path`` or ``host:port``, and what goes with it.

    Raises:
        InvalidRequest: the address or the token can't be used; the text says why.
    """
    if max_message_bytes <= 0:
        raise invalid_request(f"max_message_bytes is {max_message_bytes}; expected more than 0")
    place = _place(address)
    is_unix = isinstance(place, str)
    return Target(
        address=address,
        place=place,
        uri=_uri(place),
        # By name: of two options of one name grpc takes the first.
        options=tuple(
            {
                **_options(max_message_bytes),
                **_authority(has_own=credentials is not None and not is_unix),
                **dict(options),
            }.items()
        ),
        metadata=_authorization(token, token_file),
        credentials=credentials,
        max_message_bytes=max_message_bytes,
    )


def takes_fast_lane(
    transport: Transport, credentials: grpc.ChannelCredentials | None, options: tuple[Any, ...]
) -> bool:
    """Whether live runs do without grpcio.

    Raises:
        InvalidRequest: they are to, and can't.
    """
    if transport not in ("auto", "fast", "grpcio"):
        raise invalid_request(f"transport is {transport!r}; expected auto, fast or grpcio")
    grpcios = "credentials" if credentials is not None else "options" if options else ""
    if transport == "fast" and grpcios:
        raise invalid_request(
            f"{grpcios} are for grpcio, which the fast transport does without; "
            'leave them out, or say transport="grpcio"'
        )
    return transport != "grpcio" and not grpcios


def _uri(place: str | tuple[str, int]) -> str:
    if isinstance(place, str):
        # As a URI's path, where a percent sign or a question mark would change it.
        return f"unix:{quote(os.path.abspath(place))}"
    host, port = place
    return f"dns:///[{host}]:{port}" if ":" in host else f"dns:///{host}:{port}"


def _place(address: str) -> str | tuple[str, int]:
    if address.startswith("unix:"):
        path = address.removeprefix("unix:")
        if path.startswith("//"):
            path = path.removeprefix("//")
        if not path:
            raise invalid_request(f"the address {address!r} names no socket; write unix:/path")
        return path
    host, colon, port = address.rpartition(":")
    bare_v6 = ":" in host and not (host.startswith("[") and host.endswith("]"))
    if not colon or not port.isdecimal() or bare_v6 or any(c in host for c in "/?#@ "):
        raise invalid_request(f"{address!r} is no address; write unix:/path/to/socket or host:port")
    return host.strip("[]") or "localhost", int(port)


def _options(max_message_bytes: int) -> dict[str, int]:
    return {
        "grpc.max_receive_message_length": max_message_bytes,
        "grpc.max_send_message_length": max_message_bytes,
        # The server allows a ping every 10 s; a dead peer is found within 30 s.
        "grpc.keepalive_time_ms": 20_000,
        "grpc.keepalive_timeout_ms": 10_000,
        "grpc.http2.max_pings_without_data": 0,
        "grpc.initial_reconnect_backoff_ms": 50,
        "grpc.min_reconnect_backoff_ms": 2_000,
        "grpc.max_reconnect_backoff_ms": 2_000,
        # A call may have had its effect by the time that it fails: whether to ask again is the
        # kernel's decision, not the transport's.
        "grpc.enable_retries": 0,
        "grpc.service_config_disable_resolution": 1,
        # A sidecar is next door; what the environment says of proxies is not about it.
        "grpc.enable_http_proxy": 0,
        "grpc.use_local_subchannel_pool": 1,
    }


def _authority(*, has_own: bool) -> dict[str, str]:
    # That of a socket would be its path, percent-encoded, which is no valid authority. With TLS on
    # TCP it is what the certificate is checked against.
    return {} if has_own else {"grpc.default_authority": "localhost"}


def _authorization(
    token: str | None, token_file: str | os.PathLike[str] | None
) -> tuple[tuple[str, str], ...]:
    if token is not None and token_file is not None:
        raise invalid_request("give a token or a token_file, not both")
    if token_file is not None:
        try:
            token = Path(token_file).read_text()
        except (OSError, ValueError) as error:
            raise invalid_request(f"the token file can't be read: {error}") from error
    if token is None:
        return ()
    token = token.strip()
    if not token or not all("!" <= c <= "~" for c in token):
        raise invalid_request(
            "the token is empty or has a character that no header can carry; "
            "pass it as the server wrote it"
        )
    return (("authorization", f"Bearer {token}"),)
