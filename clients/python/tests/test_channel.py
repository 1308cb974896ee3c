"""Addresses, tokens and what goes over the wire beside the messages."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from scripted import ScriptedServer

from toolport import AsyncToolPort, InvalidRequest, ToolPort


@pytest.fixture
def tcp() -> Iterator[tuple[ScriptedServer, str]]:
    server = ScriptedServer()
    port = server.serve("127.0.0.1:0")
    yield server, f"127.0.0.1:{port}"
    server.stop()


@pytest.mark.parametrize("name", ["s p", "100%41", "q?x=1", "h#h", "ünï"])
def test_a_sockets_path_may_have_any_name(name: str, tmp_path: Path) -> None:
    # grpc's server can't be given such a path; a link to its socket can have it.
    server = ScriptedServer()
    server.serve(f"unix:{tmp_path / 's'}")
    (tmp_path / name).symlink_to(tmp_path / "s")
    try:
        for address in (f"unix:{tmp_path / name}", f"unix://{tmp_path / name}"):
            with ToolPort(address) as port:
                assert port.execute("echo", {"a": 1}).value == {"a": 1}
    finally:
        server.stop()


def test_a_socket_is_found_by_its_relative_path(
    server: ScriptedServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)

    with ToolPort("unix:s") as port:
        assert port.execute("echo").ok


def test_a_proxy_of_the_environment_is_not_asked(
    tcp: tuple[ScriptedServer, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("http_proxy", "grpc_proxy", "https_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")

    with ToolPort(tcp[1]) as port:
        assert port.execute("echo", timeout=10).ok


async def test_the_token_goes_with_every_request(
    tcp: tuple[ScriptedServer, str], tmp_path: Path
) -> None:
    server, address = tcp
    file = tmp_path / "token"
    file.write_text("secret-1\n")

    with ToolPort(address, token_file=file) as port:
        port.execute("echo")
        port.manifest()
    async with AsyncToolPort(address, token="secret-1") as aport:
        await aport.execute("echo")
        await aport.select()
    with ToolPort(address) as port:
        port.execute("echo")

    assert [m.get("authorization") for m in server.metadata] == [
        *(["Bearer secret-1"] * 4),
        None,
    ]


@pytest.mark.parametrize(
    ("address", "options"),
    [
        ("", {}),
        ("unix:", {}),
        ("localhost", {}),
        ("localhost:", {}),
        ("localhost:http", {}),
        ("http://localhost:80", {}),
        ("::1:80", {}),
        ("a b:80", {}),
        ("localhost:80", {"token": ""}),
        ("localhost:80", {"token": "a\nb"}),
        ("localhost:80", {"token": "ключ"}),
        ("localhost:80", {"token_file": "/nonexistent/token"}),
        ("localhost:80", {"token": "a", "token_file": "b"}),
        ("localhost:80", {"max_message_bytes": 0}),
    ],
)
@pytest.mark.parametrize("of", [ToolPort, AsyncToolPort])
def test_an_address_or_a_token_that_can_not_be_used_is_refused_at_once(
    of: Any, address: str, options: dict[str, Any]
) -> None:
    with pytest.raises(InvalidRequest) as raised:
        of(address, **options)

    assert "ключ" not in str(raised.value)


def test_an_ipv6_address_is_written_in_brackets() -> None:
    assert ToolPort("[::1]:80").address == "[::1]:80"


@pytest.mark.parametrize("of", [ToolPort, AsyncToolPort])
def test_an_option_that_is_given_replaces_the_clients_own(of: Any) -> None:
    port = of("localhost:80", options=[("grpc.keepalive_time_ms", 1000), ("a", "b")])

    # Of two of one name grpc takes the first, so there may be only one.
    names = [name for name, _ in port._target.options]
    assert len(set(names)) == len(names)
    assert {("grpc.keepalive_time_ms", 1000), ("a", "b")} <= set(port._target.options)
