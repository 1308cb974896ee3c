"""Faults are exceptions that say what happened and whether the tool may have run."""

from __future__ import annotations

import pickle
from pathlib import Path

import grpc
import pytest
from conftest import AioClient, Client, SyncClient
from scripted import ScriptedServer, faults

from toolport import (
    AsyncToolPort,
    CallCancelled,
    CallIdReused,
    DeadlineExceeded,
    DigestMismatch,
    InvalidRequest,
    Overloaded,
    ToolPort,
    ToolPortError,
    Unavailable,
)

hard_text = "échec – 失敗 100%\nligne 2 %41 \t€"


@pytest.mark.parametrize(
    ("code", "reason", "of"),
    [
        (grpc.StatusCode.INVALID_ARGUMENT, "CALL_ID_MISSING", InvalidRequest),
        (grpc.StatusCode.FAILED_PRECONDITION, "DIGEST_MISMATCH", DigestMismatch),
        (grpc.StatusCode.FAILED_PRECONDITION, "RUN_REQUIRED", ToolPortError),
        (grpc.StatusCode.ALREADY_EXISTS, "CALL_ID_REUSED", CallIdReused),
        (grpc.StatusCode.RESOURCE_EXHAUSTED, "OVERLOADED", Overloaded),
        (grpc.StatusCode.UNAVAILABLE, "DRAINING", Unavailable),
        (grpc.StatusCode.UNAVAILABLE, "JOURNAL_UNAVAILABLE", Unavailable),
        (grpc.StatusCode.CANCELLED, "CANCELLED", CallCancelled),
        (grpc.StatusCode.DEADLINE_EXCEEDED, "DEADLINE_EXCEEDED", DeadlineExceeded),
        (grpc.StatusCode.INTERNAL, "INTERNAL", ToolPortError),
    ],
)
@pytest.mark.parametrize("started", ["no", "yes", "unknown"])
async def test_a_fault_of_the_server_is_told_whole(
    client: Client,
    server: ScriptedServer,
    code: grpc.StatusCode,
    reason: str,
    of: type[ToolPortError],
    started: str,
) -> None:
    server.tools["fault"] = faults(
        code, hard_text, reason=reason, started=started, retry_after=1.25
    )

    with pytest.raises(of) as raised:
        await client.execute("fault")

    error = raised.value
    assert type(error) is of
    assert (error.code, error.reason, error.started) == (code, reason, started)
    assert str(error) == error.message == hard_text
    assert error.retry_after == 1.25


async def test_a_status_without_details_keeps_its_text_and_may_have_run(
    client: Client, server: ScriptedServer
) -> None:
    server.tools["bare"] = faults(grpc.StatusCode.INTERNAL, hard_text)

    with pytest.raises(ToolPortError) as raised:
        await client.execute("bare")

    error = raised.value
    assert (str(error), error.reason, error.started) == (hard_text, "INTERNAL", "unknown")
    assert error.retry_after is None


async def test_a_deadline_that_passes_is_a_timeout_error(
    client: Client, server: ScriptedServer
) -> None:
    with pytest.raises(DeadlineExceeded, match=r"timeout of 0\.3 s") as raised:
        await client.execute("wait", timeout=0.3)

    assert isinstance(raised.value, TimeoutError) and raised.value.started == "unknown"
    assert server.aborted.wait(5)


async def test_a_failed_call_is_never_sent_again(client: Client, server: ScriptedServer) -> None:
    server.tools["gone"] = faults(
        grpc.StatusCode.UNAVAILABLE, "going down", reason="DRAINING", started="no"
    )

    with pytest.raises(Unavailable):
        await client.execute("gone")

    assert len(server.requests) == 1


@pytest.mark.parametrize("kind", ["sync", "async"])
async def test_where_nobody_listens_the_error_says_so_at_once(kind: str, tmp_path: Path) -> None:
    address = f"unix:{tmp_path / 'nobody'}"
    async with AsyncToolPort(address) as aport:
        with ToolPort(address) as port:
            client: Client = AioClient(aport) if kind == "async" else SyncClient(port)
            for verb in (lambda: client.execute("echo"), client.manifest, client.select):
                with pytest.raises(Unavailable, match="no server answers at unix:") as raised:
                    await verb()
                assert (raised.value.reason, raised.value.started) == ("UNREACHABLE", "no")
                assert isinstance(raised.value, ConnectionError)
            with pytest.raises(Unavailable, match="did not serve within"):
                await client.wait_ready(0.2)


async def test_a_server_that_dies_leaves_a_call_that_may_have_run(
    client: Client, server: ScriptedServer
) -> None:
    def die(request: object, context: grpc.ServicerContext) -> object:
        raise AssertionError("never reached")

    assert server.grpc is not None
    server.grpc.stop(0).wait()
    with pytest.raises(Unavailable) as raised:
        await client.execute("echo")

    assert raised.value.reason == "UNREACHABLE"


async def test_a_client_finds_a_server_that_came_back(
    client: Client, server: ScriptedServer, socket: str
) -> None:
    await client.execute("echo")
    server.stop()
    with pytest.raises(Unavailable):
        await client.execute("echo")
    server.serve(socket)

    await client.wait_ready(10)

    assert (await client.execute("echo", {"a": 1})).value == {"a": 1}


def test_a_closed_client_says_that_it_is_closed(port: ToolPort) -> None:
    port.close()
    port.close()

    with pytest.raises(Unavailable, match="closed"):
        port.execute("echo")
    with pytest.raises(Unavailable, match="closed"):
        port.manifest()


async def test_a_closed_async_client_says_that_it_is_closed(aport: AsyncToolPort) -> None:
    await aport.execute("echo")
    await aport.close()
    await aport.close()

    with pytest.raises(Unavailable, match="closed"):
        await aport.execute("echo")
    with pytest.raises(Unavailable, match="closed"):
        await aport.manifest()


def test_a_fault_travels_between_processes() -> None:
    error = Overloaded("full", reason="OVERLOADED", started="no", retry_after=0.5)

    copy = pickle.loads(pickle.dumps(error))

    assert (type(copy), str(copy), copy.reason, copy.retry_after) == (
        Overloaded,
        "full",
        "OVERLOADED",
        0.5,
    )
