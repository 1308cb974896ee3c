"""What is asked again: only where that is safe, and only where it was asked for."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import grpc
import pytest
from conftest import Client, OpenRun
from scripted import ScriptedServer, Tool, done, faults
from test_hosts import asks
from test_run import until

from toolport import (
    AsyncToolPort,
    InvalidRequest,
    Overloaded,
    Progress,
    Retry,
    ToolCall,
    ToolPort,
    Unavailable,
)
from toolport.v1 import tool_port_service_pb2 as pb

LOST = faults(grpc.StatusCode.UNAVAILABLE, "gone")
FULL = faults(grpc.StatusCode.RESOURCE_EXHAUSTED, "full", reason="OVERLOADED", retry_after=0.01)


def first(*tools: Tool) -> Tool:
    """Tools that take turns; the last one stays."""
    turns = list(tools)

    def tool(request: pb.ExecuteRequest, context: Any) -> Iterator[pb.ExecuteResponse]:
        yield from (turns.pop(0) if len(turns) > 1 else turns[0])(request, context)

    return tool


def answers(request: pb.ExecuteRequest, context: Any) -> Iterator[pb.ExecuteResponse]:
    yield done(request, result="here")


def asked(server: ScriptedServer) -> int:
    return sum(isinstance(request, pb.ExecuteRequest) for request in server.requests)


def durable(server: ScriptedServer) -> None:
    server.manifest.server.features.append("journal")


async def test_without_a_policy_nothing_is_asked_again(
    client: Client, server: ScriptedServer
) -> None:
    server.tools["t"] = first(FULL, answers)
    with pytest.raises(Overloaded):
        await client.execute("t", run_id="r")
    assert asked(server) == 1


async def test_a_call_that_did_not_start_is_asked_again(
    client: Client, server: ScriptedServer
) -> None:
    server.tools["t"] = first(FULL, FULL, answers)
    assert (await client.execute("t", retry=Retry())).text == "here"
    ids = {r.request.call_id for r in server.requests if isinstance(r, pb.ExecuteRequest)}
    assert asked(server) == 3 and len(ids) == 1


async def test_a_call_that_may_have_started_is_not_asked_again_without_a_run_id(
    client: Client, server: ScriptedServer
) -> None:
    durable(server)
    server.tools["t"] = first(LOST, answers)
    with pytest.raises(Unavailable) as raised:
        await client.execute("t", retry=Retry())
    assert (raised.value.started, asked(server)) == ("unknown", 1)


async def test_nor_where_the_journal_dies_with_the_server(
    client: Client, server: ScriptedServer
) -> None:
    server.manifest.server.features.append("journal-memory")
    server.tools["t"] = first(LOST, answers)
    with pytest.raises(Unavailable, match="gone"):
        await client.execute("t", run_id="r", retry=Retry())
    assert asked(server) == 1


async def test_with_a_run_id_and_a_durable_journal_a_lost_call_is_asked_again(
    client: Client, server: ScriptedServer
) -> None:
    durable(server)
    server.tools["t"] = first(LOST, FULL, answers)
    assert (await client.execute("t", run_id="r", retry=Retry())).text == "here"
    assert asked(server) == 3


async def test_what_may_have_started_once_is_never_told_as_not_started(
    client: Client, server: ScriptedServer
) -> None:
    durable(server)
    server.tools["t"] = first(
        LOST, faults(grpc.StatusCode.INVALID_ARGUMENT, "no", reason="REQUEST_INVALID")
    )
    with pytest.raises(InvalidRequest) as raised:
        await client.execute("t", run_id="r", retry=Retry())
    assert raised.value.started == "unknown"


async def test_a_stream_goes_on_with_what_comes_from_then_on(
    client: Client, server: ScriptedServer
) -> None:
    durable(server)

    def breaks(request: pb.ExecuteRequest, context: Any) -> Iterator[pb.ExecuteResponse]:
        yield pb.ExecuteResponse(progress=pb.ToolProgress(done=1))
        yield pb.ExecuteResponse(chunk=pb.ResultChunk(part=0, data=b"lost"))
        yield from LOST(request, context)

    def goes_on(request: pb.ExecuteRequest, context: Any) -> Iterator[pb.ExecuteResponse]:
        yield pb.ExecuteResponse(progress=pb.ToolProgress(done=2))
        yield pb.ExecuteResponse(chunk=pb.ResultChunk(part=0, data=b"whole"))
        yield done(request, result="")

    server.tools["t"] = first(breaks, goes_on)
    events = await client.events("t", run_id="r", retry=Retry())
    assert events[:2] == [Progress(1), Progress(2)]
    assert isinstance(events[2], ToolCall) and events[2].text == "whole"


async def test_the_time_for_retries_is_bounded(client: Client, server: ScriptedServer) -> None:
    server.tools["t"] = FULL
    with pytest.raises(Overloaded):
        await client.execute("t", retry=Retry(within=0.3))
    assert 1 < asked(server) < 20


def test_a_cancel_ends_the_wait_before_a_retry(port: ToolPort, server: ScriptedServer) -> None:
    server.tools["t"] = faults(
        grpc.StatusCode.RESOURCE_EXHAUSTED, "full", reason="OVERLOADED", retry_after=50
    )
    stream = port.stream("t", retry=Retry(within=100))
    threading.Timer(0.2, stream.cancel).start()
    with pytest.raises(Overloaded):
        stream.result()
    assert asked(server) == 1


async def test_what_has_no_effect_outlasts_a_server_that_is_not_there_yet(
    server: ScriptedServer, socket: str
) -> None:
    server.stop()
    with ToolPort(socket, retry=Retry()) as port:
        asking = asyncio.ensure_future(asyncio.to_thread(port.manifest))
        async with AsyncToolPort(socket, retry=Retry()) as aport:
            aasking = asyncio.ensure_future(aport.manifest())
            opening = asyncio.ensure_future(opens(aport))
            await asyncio.sleep(0.2)
            again = ScriptedServer()
            again.serve(socket)
            await asyncio.gather(asking, aasking, opening)
            again.stop()


async def opens(port: AsyncToolPort) -> None:
    async with port.run("r"):
        pass


async def test_a_call_of_a_run_that_did_not_start_is_asked_again(
    server: ScriptedServer, socket: str
) -> None:
    server.tools["t"] = first(FULL, answers)
    with ToolPort(socket, retry=Retry()) as port, port.run("r") as run:
        assert run.execute("t").text == "here"
    server.tools["t"] = first(FULL, answers)
    async with AsyncToolPort(socket, retry=Retry()) as aport, aport.run("r") as arun:
        assert (await arun.execute("t")).text == "here"


async def test_a_lost_run_is_opened_again_and_its_calls_are_asked_again(
    server: ScriptedServer, open_run: OpenRun
) -> None:
    server.opened.server.features.append("journal")
    server.tools["t"] = first(server.tools["wait"], answers)
    async with open_run(reconnect=20, hosts={}) as run:
        waiting = asyncio.ensure_future(run.execute("t", call_id="c", timeout=60))
        await until(server.started.is_set)
        assert server.runs[0].open.on_disconnect == pb.ON_DISCONNECT_CONTINUE
        server.runs[0].lose()
        assert (await waiting).text == "here"
        assert (await run.execute("echo")).ok
    first_call, again = server.runs[0].calls[0], server.runs[1].calls[0]
    assert again.request == first_call.request
    assert again.deadline_ms <= first_call.deadline_ms
    assert server.runs[1].open.expected_digest == "sha256:1"


async def test_where_the_journal_may_have_been_lost_a_call_is_not_asked_again(
    server: ScriptedServer, open_run: OpenRun
) -> None:
    async with open_run(reconnect=20) as run:
        waiting = asyncio.ensure_future(run.execute("wait", call_id="c"))
        await until(server.started.is_set)
        server.runs[0].lose()
        with pytest.raises(Unavailable, match=r"call 'c' may have run.*no durable journal"):
            await waiting
        assert (await run.execute("echo")).ok


async def test_a_taken_over_call_is_joined_and_a_question_is_answered_once(
    server: ScriptedServer, open_run: OpenRun
) -> None:
    answered: list[Any] = []

    async def approve(payload: Any) -> Any:
        answered.append(payload)
        await until(lambda: len(server.runs) == 2)
        return "yes"

    server.tools["t"] = first(asks("approve", "1"), joined)
    async with open_run(reconnect=20, hosts={"approve": approve}) as run:
        waiting = asyncio.ensure_future(run.execute("t", call_id="c"))
        await until(lambda: bool(answered))
        server.opened.resumed = True
        server.runs[0].lose()
        assert (await waiting).text == '"yes"'
    assert answered == [1]


def joined(request: pb.ExecuteRequest, context: Any) -> Iterator[pb.ExecuteResponse]:
    """The same call on the second stream: its question is asked again under its own id."""
    (id,) = context.stream.server.runs[0]._answers
    reply = context.stream.ask("approve", "1", context.tag, context.call_id, id)
    again = context.stream.ask("approve", "1", context.tag, context.call_id, id)
    assert reply == again
    yield done(request, result=reply.result_json)


async def test_a_run_that_does_not_come_back_ends_its_calls(
    server: ScriptedServer, open_run: OpenRun
) -> None:
    with pytest.raises(Unavailable):
        async with open_run(reconnect=0.5) as run:
            waiting = asyncio.ensure_future(run.execute("wait"))
            await until(server.started.is_set)
            before = time.monotonic()
            server.stop()
            with pytest.raises(Unavailable) as raised:
                await waiting
            assert raised.value.started == "unknown"
            assert time.monotonic() - before < 15


@pytest.mark.parametrize("make", [lambda: Retry(within=-1), lambda: Retry(within=float("nan"))])
def test_a_policy_that_makes_no_sense_is_refused(make: Callable[[], Retry]) -> None:
    with pytest.raises(InvalidRequest, match=r"Retry\.within"):
        make()
