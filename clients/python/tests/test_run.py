"""Live runs, of both clients, against a scripted server."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import grpc
import pytest
from conftest import Client, OpenRun
from scripted import ScriptedServer, done, faults, returns

from toolport import (
    AsyncToolPort,
    CallCancelled,
    CallRequest,
    DeadlineExceeded,
    InvalidRequest,
    Output,
    Overloaded,
    Progress,
    RunEnded,
    Skipped,
    ToolCall,
    ToolPort,
    ToolPortError,
    Unavailable,
)
from toolport.v1 import tool_port_service_pb2 as pb


async def until(holds: Callable[[], bool]) -> None:
    end = time.monotonic() + 20
    while not holds():
        assert time.monotonic() < end
        await asyncio.sleep(0.01)


async def test_a_run_carries_calls_with_its_own_settings(
    server: ScriptedServer, open_run: OpenRun
) -> None:
    options = {"expected_digest": "sha256:1", "on_disconnect": "continue", "metadata": {"k": "v"}}
    async with open_run(**options) as run:
        call = await run.execute("echo", {"a": 1}, call_id="c", tool_timeout=1.5, timeout=60)

    assert call.value == {"a": 1} and call.id == "c"
    (stream,) = server.runs
    assert stream.open.run_id == "run-7" and stream.open.expected_digest == "sha256:1"
    assert stream.open.on_disconnect == pb.ON_DISCONNECT_CONTINUE
    assert dict(stream.open.metadata) == {"k": "v"}
    (sent,) = stream.calls
    assert sent.tag == 1 and sent.request.request.run_id == ""
    assert sent.request.timeout_ms == 1500 and 0 < sent.deadline_ms <= 60_000
    assert sent.request.accept_chunks


async def test_many_calls_at_once_each_get_their_own_end(
    server: ScriptedServer, open_run: OpenRun
) -> None:
    async with open_run() as run:
        calls = await run.gather(
            *(CallRequest("echo", {"n": n}, call_id=f"c{n}") for n in range(50)),
            ("echo", {"n": 50}),
            "echo",
        )

    assert [call.value for call in calls] == [*({"n": n} for n in range(51)), {}]
    tags = [call.tag for call in server.runs[0].calls]
    assert sorted(tags) == list(range(1, 53))
    assert server.runs[0].half_closed.is_set()


async def test_events_come_as_they_happen(server: ScriptedServer, open_run: OpenRun) -> None:
    server.tools["talk"] = talk
    async with open_run() as run:
        events = await run.events("talk")

    assert events[:2] == [Progress(1, 2, "on it"), Output(text="half")]
    assert isinstance(events[2], ToolCall) and events[2].text == "done"


def talk(request: pb.ExecuteRequest, context: Any) -> Iterator[pb.ExecuteResponse]:
    yield pb.ExecuteResponse(progress=pb.ToolProgress(done=1, total=2, message="on it"))
    yield pb.ExecuteResponse(output=pb.ToolOutput(text="half"))
    yield pb.ExecuteResponse(chunk=pb.ResultChunk(part=0, data=b"do"))
    yield pb.ExecuteResponse(chunk=pb.ResultChunk(part=1, data=b"ne"))
    yield done(request, result="")


async def test_a_fault_ends_its_call_and_no_other(
    server: ScriptedServer, open_run: OpenRun
) -> None:
    server.tools["busy"] = faults(
        grpc.StatusCode.RESOURCE_EXHAUSTED, "full", reason="OVERLOADED", retry_after=1.5
    )
    async with open_run() as run:
        results = await run.gather("busy", ("echo", {"a": 1}), return_exceptions=True)
        with pytest.raises(Overloaded, match="full"):
            await run.gather("busy", "wait")

    fault, call = results
    assert isinstance(fault, Overloaded)
    assert (fault.started, fault.retry_after) == ("no", 1.5)
    assert call.value == {"a": 1}
    assert server.aborted.wait(20)  # The other call of the second gather.


async def test_the_server_refuses_a_run_with_its_reason(client: Client, open_run: OpenRun) -> None:
    for bad in ({"run_id": ""}, {"reconnect": 1.0, "on_disconnect": "abort"}, {"hosts": {"a": 1}}):
        with pytest.raises(InvalidRequest):
            async with open_run(**bad):
                pass


async def test_a_run_that_can_not_be_opened_says_why(socket: str) -> None:
    with ToolPort(socket) as port, pytest.raises(Unavailable) as raised:
        with port.run("r"):
            pass
    assert raised.value.started == "no"
    async with AsyncToolPort(socket) as aport:
        with pytest.raises(Unavailable):
            async with aport.run("r"):
                pass


async def test_after_its_end_a_run_takes_no_calls(
    server: ScriptedServer, open_run: OpenRun
) -> None:
    async with open_run() as run:
        await run.execute("echo")
        await run.close()
        with pytest.raises(RunEnded, match="'run-7' is no longer live") as raised:
            await run.execute("echo")
    assert (raised.value.reason, raised.value.started) == ("RUN_ENDED", "no")


@pytest.mark.parametrize("by", ["id", "stream"])
def test_a_call_is_cancelled_by_its_id_or_its_stream(
    port: ToolPort, server: ScriptedServer, by: str
) -> None:
    with port.run("r") as run:
        with run.stream("wait", call_id="c") as events:
            first = next(iter(events))
            run.cancel(events if by == "stream" else "c")
            run.cancel("nobody")
            with pytest.raises(CallCancelled):
                events.result()
        assert first == Progress(1, 2, "half-way")
        assert server.aborted.wait(20)
        assert run.execute("echo").ok
    assert server.runs[0].cancels == [1]


@pytest.mark.parametrize("by", ["id", "stream"])
async def test_an_async_call_is_cancelled_by_its_id_or_its_stream(
    aport: AsyncToolPort, server: ScriptedServer, by: str
) -> None:
    async with aport.run("r") as run:
        async with run.stream("wait", call_id="c") as events:
            result = asyncio.ensure_future(events.result())
            await until(server.started.is_set)
            run.cancel(events if by == "stream" else "c")
            with pytest.raises(CallCancelled):
                await result
        assert (await run.execute("echo")).ok
    assert server.runs[0].cancels == [1]


async def test_leaving_a_loop_a_block_or_a_task_cancels_the_call(
    aport: AsyncToolPort, server: ScriptedServer
) -> None:
    async with aport.run("r") as run:
        async for _ in run.stream("wait"):
            break
        async with run.stream("wait") as events:
            await anext(aiter(events))
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(run.execute("wait"), 0.1)
    assert sorted(server.runs[0].cancels) == [1, 2, 3]


def test_leaving_a_loop_or_a_block_cancels_the_call(port: ToolPort, server: ScriptedServer) -> None:
    with port.run("r") as run:
        for _ in run.stream("wait"):
            break
        with run.stream("wait") as events:
            next(iter(events))
    assert server.runs[0].cancels == [1, 2]


async def test_leaving_the_block_with_an_exception_cancels_the_calls(
    server: ScriptedServer, open_run: OpenRun
) -> None:
    with pytest.raises(KeyError):
        async with open_run() as run:
            waiting = asyncio.ensure_future(run.execute("wait"))
            await until(server.started.is_set)
            raise KeyError
    with pytest.raises(CallCancelled, match="run 'run-7' ended before its call"):
        await waiting
    assert server.aborted.wait(20)
    assert server.runs[0].ended.wait(20)


async def test_leaving_the_block_in_order_waits_for_the_calls(
    server: ScriptedServer, open_run: OpenRun
) -> None:
    go_on = threading.Event()

    def slow(request: pb.ExecuteRequest, context: Any) -> Iterator[pb.ExecuteResponse]:
        server.started.set()
        go_on.wait(20)
        yield done(request, result="late")

    server.tools["slow"] = slow
    async with open_run() as run:
        late = asyncio.ensure_future(run.execute("slow"))
        await until(server.started.is_set)
        asyncio.get_running_loop().call_later(0.1, go_on.set)
    assert (await late).text == "late"


async def test_a_deadline_ends_the_call_though_the_server_does_not(
    server: ScriptedServer, open_run: OpenRun
) -> None:
    async with open_run() as run:
        with pytest.raises(DeadlineExceeded, match=r"timeout of 0\.1 s passed"):
            await run.execute("wait", timeout=0.1)
        await until(lambda: server.runs[0].cancels == [1])


async def test_a_lost_stream_ends_every_call_with_what_happened(
    server: ScriptedServer, open_run: OpenRun
) -> None:
    with pytest.raises(Unavailable, match="gone"):
        async with open_run() as run:
            waiting = [asyncio.ensure_future(run.execute("wait", call_id=c)) for c in "ab"]
            await until(lambda: len(server.runs[0].calls) == 2)
            server.runs[0].lose()
            for call_id, each in zip("ab", waiting, strict=True):
                with pytest.raises(Unavailable, match="gone") as raised:
                    await each
                assert f"run 'run-7' ended before its call '{call_id}'" in str(raised.value)
                assert raised.value.started == "unknown"
            with pytest.raises(RunEnded, match="gone"):
                await run.execute("echo")


async def test_a_server_that_breaks_the_contract_is_told_so(
    server: ScriptedServer, open_run: OpenRun
) -> None:
    with pytest.raises(ToolPortError, match="opened twice"):
        async with open_run() as run:
            waiting = asyncio.ensure_future(run.execute("wait"))
            await until(server.started.is_set)
            server.runs[0].send(pb.RunResponse(opened=pb.RunOpened()))
            with pytest.raises(ToolPortError, match="opened twice"):
                await waiting


async def test_what_is_too_large_is_not_sent(server: ScriptedServer, open_run: OpenRun) -> None:
    server.opened.server.max_message_bytes = 4096
    async with open_run() as run:
        with pytest.raises(ToolPortError, match="more than the 3072") as raised:
            await run.execute("echo", {"text": "x" * 5000})
        assert (raised.value.reason, raised.value.started) == ("MESSAGE_TOO_LARGE", "no")
        assert (await run.execute("echo")).ok


COUNT = 5000


def chatty(request: pb.ExecuteRequest, context: Any) -> Iterator[pb.ExecuteResponse]:
    for n in range(COUNT):
        yield pb.ExecuteResponse(progress=pb.ToolProgress(done=n))
    yield done(request, result="said")


def check_skipped(events: list[Any]) -> None:
    first, *_, last = events
    skipped = [event.events for event in events if isinstance(event, Skipped)]
    said = [event.done for event in events if isinstance(event, Progress)]
    assert isinstance(first, Skipped | Progress) and last.text == "said"
    assert sum(skipped) + len(said) == COUNT and len(said) <= 1100
    assert said == sorted(said) and said[-1] == COUNT - 1


async def test_a_slow_reader_of_one_stream_holds_up_no_other(
    aport: AsyncToolPort, server: ScriptedServer
) -> None:
    server.tools["chatty"] = chatty
    async with aport.run("r") as run:
        async with run.stream("chatty") as events:
            # This call's end comes after all that the other one said.
            assert (await run.execute("echo")).ok
            await until(lambda: run._core._calls == {})
            check_skipped([event async for event in events])


def test_a_slow_reader_of_one_sync_stream_holds_up_no_other(
    port: ToolPort, server: ScriptedServer
) -> None:
    server.tools["chatty"] = chatty
    with port.run("r") as run:
        with run.stream("chatty") as events:
            assert run.execute("echo").ok
            while run._core._calls:
                time.sleep(0.01)
            check_skipped(list(events))


def test_many_threads_share_a_run(port: ToolPort) -> None:
    answers: dict[int, Any] = {}
    with port.run("r") as run:

        def work(n: int) -> None:
            answers[n] = run.execute("echo", {"n": n}).value

        threads = [threading.Thread(target=work, args=(n,)) for n in range(40)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert answers == {n: {"n": n} for n in range(40)}


async def test_five_hundred_abandoned_streams_leave_nothing_behind(
    aport: AsyncToolPort, server: ScriptedServer
) -> None:
    before = len(asyncio.all_tasks())
    async with aport.run("r") as run:
        for _ in range(500):
            async with run.stream("wait"):
                pass
        assert (await run.execute("echo")).ok
        await until(lambda: run._core._calls == {})
    assert len(asyncio.all_tasks()) <= before


def test_five_hundred_abandoned_sync_streams_leave_nothing_behind(
    port: ToolPort, server: ScriptedServer
) -> None:
    with port.run("r") as run:
        before = {thread for thread in threading.enumerate() if "toolport" in thread.name}
        for _ in range(500):
            with run.stream("wait"):
                pass
        assert run.execute("echo").ok
        assert {thread for thread in threading.enumerate() if "toolport" in thread.name} == before
    assert not {thread for thread in threading.enumerate() if "toolport-run" in thread.name}


async def test_closing_the_client_ends_its_runs(aport: AsyncToolPort) -> None:
    with pytest.raises(Unavailable, match="closed"):
        async with aport.run("r") as run:
            waiting = asyncio.ensure_future(run.execute("wait"))
            await asyncio.sleep(0.05)
            await aport.close()
            with pytest.raises(Unavailable, match="AsyncToolPort is closed"):
                await waiting


def test_a_tool_that_returns_at_once_needs_no_reader(
    port: ToolPort, server: ScriptedServer
) -> None:
    server.tools["quick"] = returns(result="")
    with port.run("r") as run:
        assert run.execute("quick").result == ""
