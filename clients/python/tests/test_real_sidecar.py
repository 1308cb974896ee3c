"""The client against toolport itself, and the example against its own tools."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from cases import ROOT
from conftest import AioClient, Client, SyncClient

from toolport import (
    AsyncToolPort,
    CallCancelled,
    CallRequest,
    DigestMismatch,
    ErrorKind,
    Progress,
    Retry,
    Sidecar,
    SidecarError,
    ToolPort,
    ToolPortError,
    host_call,
)

TOOLS = Path(__file__).with_name("tools.ts")

pytestmark = pytest.mark.skipif(
    not (ROOT / "dist" / "src" / "cli" / "main.js").is_file(), reason="toolport is not built here"
)


@pytest.fixture(scope="module")
def sidecar() -> Iterator[Sidecar]:
    with Sidecar.spawn(TOOLS) as sidecar:
        yield sidecar


@pytest.fixture(params=["sync", "async"])
async def client(request: pytest.FixtureRequest, sidecar: Sidecar) -> Any:
    if request.param == "sync":
        with sidecar.port() as port:
            yield SyncClient(port)
    else:
        async with sidecar.aport() as aport:
            yield AioClient(aport)


async def test_numbers_keep_every_digit(client: Client) -> None:
    sent = {"id": 86420975310864213, "text": "86420975310864213", "ratio": 0.1, "one": 1}
    echoed = await client.execute("echo", sent)
    numbers = await client.execute("numbers")

    assert echoed.value == sent or echoed.error_kind is ErrorKind.INVALID_ARGUMENTS
    assert numbers.value == {"count": 3, "ratio": 0.5, "big": 9007199254740993}
    assert [type(n) for n in numbers.value.values()] == [int, float, int]
    tool = (await client.manifest()).tool("numbers")
    assert tool is not None
    limit = tool.input_schema["properties"]["limit"]
    assert type(limit["default"]) is int and limit["default"] == 20


async def test_the_text_of_an_error_arrives_as_it_was_thrown(client: Client) -> None:
    call = await client.execute("fail")

    assert call.error == "Error: échec – 失敗 100%\nligne 2 %41 \t€"


async def test_a_set_that_is_not_the_expected_one_is_not_run(client: Client) -> None:
    manifest = await client.manifest()

    assert (await client.execute("echo", expected_digest=manifest.digest)).ok
    with pytest.raises(DigestMismatch) as raised:
        await client.execute("echo", expected_digest="sha256:" + "0" * 64)
    assert raised.value.started == "no"


async def test_a_tool_that_takes_too_long_is_an_outcome(client: Client) -> None:
    call = await client.execute("wait", tool_timeout=0.2)

    assert call.error_kind is ErrorKind.TIMED_OUT and not call.ok


def breaks(port: ToolPort, call_id: str) -> None:
    for event in port.stream("wait", call_id=call_id):
        assert event == Progress(1, 2, "half-way")
        break


def leaves_the_block(port: ToolPort, call_id: str) -> None:
    with port.stream("wait", call_id=call_id) as events:
        port.kept = iter(events)  # type: ignore[attr-defined]
        next(port.kept)  # type: ignore[attr-defined]


@pytest.mark.parametrize("leave", [breaks, leaves_the_block])
def test_leaving_a_loop_aborts_the_tool(
    sidecar: Sidecar, leave: Callable[[ToolPort, str], None]
) -> None:
    with sidecar.port() as port:
        leave(port, leave.__name__)

        wait_until(lambda: leave.__name__ in port.execute("seen").value["aborted"])


async def abreaks(port: AsyncToolPort, call_id: str) -> None:
    async for _ in port.stream("wait", call_id=call_id):
        break


async def awaits_with_a_limit(port: AsyncToolPort, call_id: str) -> None:
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(port.execute("wait", call_id=call_id), 0.3)


async def passes_its_deadline(port: AsyncToolPort, call_id: str) -> None:
    with pytest.raises(TimeoutError):
        await port.execute("wait", call_id=call_id, timeout=0.3)


@pytest.mark.parametrize("leave", [abreaks, awaits_with_a_limit, passes_its_deadline])
async def test_leaving_an_async_loop_aborts_the_tool(
    sidecar: Sidecar, leave: Callable[[AsyncToolPort, str], Awaitable[None]]
) -> None:
    async with sidecar.aport() as port:
        await leave(port, leave.__name__)

    with sidecar.port() as sync:
        wait_until(lambda: leave.__name__ in sync.execute("seen").value["aborted"])


def wait_until(holds: Callable[[], bool]) -> None:
    until = time.monotonic() + 10
    while not holds():
        assert time.monotonic() < until
        time.sleep(0.02)


def test_on_tcp_it_asks_for_the_token_that_the_client_was_given() -> None:
    with Sidecar.spawn(TOOLS, address="127.0.0.1:0") as sidecar:
        with sidecar.port() as port:
            assert port.execute("echo", {"a": 1}).value == {"a": 1}
        with ToolPort(sidecar.address) as stranger:
            with pytest.raises(Exception, match=r"(?i)token|credential") as raised:
                stranger.execute("echo")
            assert getattr(raised.value, "reason", None) == "UNAUTHENTICATED"
    with Sidecar.spawn(TOOLS, address="127.0.0.1:0", token="a-token-that-was-given") as sidecar:
        with sidecar.port() as port:
            assert port.manifest().tools


def test_a_tools_file_that_can_not_be_served_is_told_with_its_reason(tmp_path: Path) -> None:
    broken = tmp_path / "broken.ts"
    broken.write_text("throw new Error('no database');\n")
    entry = [str(ROOT / "node_modules/.bin/node"), str(ROOT / "dist/src/cli/main.js")]

    with pytest.raises(SidecarError, match="no database") as raised:
        Sidecar.spawn(broken, command=entry).start()

    assert raised.value.exit_code == 2


def test_a_sidecar_that_dies_is_told_as_such() -> None:
    with Sidecar.spawn(TOOLS) as sidecar, sidecar.port() as port:
        with pytest.raises(SidecarError, match="SIGKILL") as raised:
            port.execute("die")

        assert raised.value.started == "unknown"


def test_the_example_kernel_comes_to_its_end() -> None:
    done = subprocess.run(
        [sys.executable, str(ROOT / "examples" / "kernel.py")],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        env={**os.environ, "PYTHONIOENCODING": "utf-8"},
    )

    assert (done.returncode, done.stderr) == (0, "")
    for part in (
        "search_handbook: Finds lines",
        "role_palette: narrowed",
        "A full refund is due when Tidewater cancels",
        "TW-204803",
        "unknown tool 'search_handbok'",
        "  call-5 handbook_read_text_file\n    # Refunds and changes",
        "convert_currency\n    52 EUR = 8814 JPY",
        "ask the customer first: book_crossing costs money",
        "call-9 is cancelled half-way",
        "This call was cancelled",
        "I book it as soon as she says yes",
    ):
        assert part in done.stdout
    assert "Otter: moored" not in done.stdout


async def test_a_run_aware_tool_asks_the_kernel(sidecar: Sidecar) -> None:
    async def approve(payload: Any) -> Any:
        return {"seats": payload["seats"], "by": host_call().call_id}

    async with sidecar.aport() as aport, aport.run("asks", hosts={"approve": approve}) as arun:
        first, second = await arun.gather(
            CallRequest("ask", {"seats": 2}, call_id="a"),
            CallRequest("ask", {"seats": 3}, call_id="b"),
        )
    assert first.value == {"answer": {"seats": 2, "by": "a"}}
    assert second.value == {"answer": {"seats": 3, "by": "b"}}
    with sidecar.port() as port, port.run("asks again", hosts={"approve": lambda p: 1}) as run:
        assert run.execute("ask").value == {"answer": 1}
    with sidecar.port() as port, pytest.raises(ToolPortError) as raised:
        port.execute("ask")
    assert raised.value.reason == "RUN_REQUIRED"


async def test_leaving_a_run_aborts_its_tools(sidecar: Sidecar) -> None:
    async with sidecar.aport() as aport:
        with pytest.raises(KeyError):
            async with aport.run("left", on_disconnect="continue") as arun:
                async with arun.stream("wait", call_id="left-1") as events:
                    await anext(aiter(events))
                    kept = asyncio.ensure_future(arun.execute("wait", call_id="left-2"))
                    async with arun.stream("wait", call_id="left-3") as more:
                        await anext(aiter(more))
                    raise KeyError
        assert isinstance((await asyncio.gather(kept, return_exceptions=True))[0], CallCancelled)
        with sidecar.port() as port:
            for call_id in ("left-1", "left-3"):
                wait_until(lambda id=call_id: id in port.execute("seen").value["aborted"])  # type: ignore[misc]


async def test_all_that_a_tool_says_arrives_where_it_is_read(sidecar: Sidecar) -> None:
    async with sidecar.aport() as aport, aport.run("counts") as arun:
        said = [event.value async for event in arun.stream("count", {"limit": 3000})]
    assert said == [*range(3000), 2999]


def restarting(tmp_path: Path, **options: Any) -> Sidecar:
    return Sidecar.spawn(TOOLS, restart="on-failure", cwd=tmp_path, **options)


def kill(sidecar: Sidecar) -> None:
    os.kill(sidecar.pid, signal.SIGKILL)


def test_after_a_kill_the_same_call_id_gets_its_recorded_outcome(tmp_path: Path) -> None:
    ran = tmp_path / "ran"
    with restarting(tmp_path) as sidecar, sidecar.port(retry=Retry()) as port:
        ask = {"name": "mark", "arguments": {"file": str(ran)}, "call_id": "c", "run_id": "r"}
        first = port.execute(**ask)
        kill(sidecar)
        again = port.execute(**ask)

        assert (first.replayed, again.replayed) == (False, True)
        assert (again.text, again.duration_ms) == (first.text, first.duration_ms)
        assert ran.read_text() == "ran\n"


def test_a_call_that_a_kill_took_is_never_started_twice(tmp_path: Path) -> None:
    ran = tmp_path / "ran"
    with restarting(tmp_path) as sidecar, sidecar.port() as port:
        with pytest.raises(SidecarError, match="SIGKILL") as raised:
            killed = threading.Thread(target=lambda: (wait_until(ran.exists), kill(sidecar)))
            killed.start()
            port.execute("mark", {"file": str(ran), "after": "/nowhere"}, call_id="c", run_id="r")
        killed.join()
        assert raised.value.started == "unknown"
        again = port.execute(
            "mark",
            {"file": str(ran), "after": "/nowhere"},
            call_id="c",
            run_id="r",
            retry=Retry(),
        )
        assert again.error_kind is ErrorKind.INDETERMINATE
        assert ran.read_text() == "ran\n"


async def test_a_run_outlives_its_sidecar_and_gets_what_was_recorded(tmp_path: Path) -> None:
    ran = tmp_path / "ran"
    async with restarting(tmp_path) as sidecar, sidecar.aport(retry=Retry()) as aport:
        async with aport.run("r", reconnect=30) as run:
            first = await run.execute("mark", {"file": str(ran)}, call_id="c")
            digest = run.digest
            kill(sidecar)
            again = await run.execute("mark", {"file": str(ran)}, call_id="c")
            assert (first.ok, again.replayed, run.digest) == (True, True, digest)
    assert ran.read_text() == "ran\n"


LOST_KERNEL = """
import sys
from toolport import ToolPort
address, file, after = sys.argv[1:]
with ToolPort(address) as port, port.run("joined", on_disconnect="continue") as run:
    run.execute("mark", {"file": file, "after": after}, call_id="c")
"""


def test_a_call_of_a_kernel_that_was_killed_is_joined(sidecar: Sidecar, tmp_path: Path) -> None:
    ran, go_on = tmp_path / "ran", tmp_path / "go"
    kernel = subprocess.Popen(
        [sys.executable, "-c", LOST_KERNEL, sidecar.address, str(ran), str(go_on)]
    )
    wait_until(ran.exists)
    kernel.kill()
    kernel.wait()
    with sidecar.port() as port, port.run("joined") as run:
        arguments = {"file": str(ran), "after": str(go_on)}
        with run.stream("mark", arguments, call_id="c") as events:
            time.sleep(0.1)
            go_on.touch()
            assert events.result().text == "marked"
    assert ran.read_text() == "ran\n"


def test_the_death_of_a_sidecar_ends_its_runs_with_how() -> None:
    with Sidecar.spawn(TOOLS) as sidecar, sidecar.port() as port:
        with pytest.raises(SidecarError, match="SIGKILL"):
            with port.run("r") as run, run.stream("wait") as events:
                told = iter(events)
                next(told)
                kill(sidecar)
                next(told)
