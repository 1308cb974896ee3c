"""Host functions: what run-aware tools ask of the kernel."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from conftest import OpenRun
from scripted import ScriptedServer, done
from test_run import until

from toolport import AsyncToolPort, ToolPort, host_call
from toolport.v1 import tool_port_service_pb2 as pb


def asks(name: str, payload_json: str = '{"n": 9007199254740993}') -> Any:
    """A tool that asks the kernel and returns the answer."""

    def tool(request: pb.ExecuteRequest, context: Any) -> Iterator[pb.ExecuteResponse]:
        reply = context.ask(name, payload_json)
        yield done(request, result=reply.result_json or f"error: {reply.error}")

    return tool


def sync_host(payload: Any) -> Any:
    return {"got": payload, "call": host_call().call_id, "run": host_call().run_id}


async def async_host(payload: Any) -> Any:
    await asyncio.sleep(0)
    return sync_host(payload)


@pytest.mark.parametrize("host", [sync_host, async_host])
async def test_a_host_function_answers_a_tool(
    server: ScriptedServer, open_run: OpenRun, host: Callable[[Any], Any]
) -> None:
    server.tools["ask"] = asks("approve")
    async with open_run(hosts={"approve": host}) as run:
        call = await run.execute("ask", call_id="c1")

    assert json.loads(call.text) == {
        "got": {"n": 9007199254740993},
        "call": "c1",
        "run": "run-7",
    }


async def test_a_payload_may_be_empty_and_an_answer_anything(
    server: ScriptedServer, open_run: OpenRun
) -> None:
    server.tools["ask"] = asks("f", "")
    for answer in (None, True, 12345678901234567890, "é", [1, None]):
        async with open_run(hosts={"f": lambda payload, a=answer: [payload, a]}) as run:
            assert json.loads((await run.execute("ask")).text) == [None, answer]


def boom(payload: Any) -> Any:
    raise KeyError("city")


async def aboom(payload: Any) -> Any:
    raise KeyError("city")


@pytest.mark.parametrize(
    ("hosts", "error"),
    [
        ({"f": boom}, "KeyError: 'city'"),
        ({"f": aboom}, "KeyError: 'city'"),
        ({"f": lambda _: {1, 2}}, "the answer of the host function 'f' is a set"),
        ({"b": boom, "a": boom}, "no host function named 'f'; it has a, b"),
        ({}, "no host function named 'f'; it has none"),
    ],
)
async def test_what_goes_wrong_in_a_host_function_is_the_tools_to_know(
    server: ScriptedServer, open_run: OpenRun, hosts: dict[str, Any], error: str
) -> None:
    server.tools["ask"] = asks("f")
    async with open_run(hosts=hosts) as run:
        assert error in (await run.execute("ask")).text
        assert (await run.execute("echo")).ok


class Unspeakable(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no text")


def raising(error: BaseException) -> Callable[[Any], Any]:
    def function(payload: Any) -> Any:
        raise error

    return function


def araising(error: BaseException) -> Callable[[Any], Any]:
    async def function(payload: Any) -> Any:
        raise error

    return function


@pytest.mark.parametrize(
    ("function", "error"),
    [
        (raising(SystemExit(3)), "SystemExit: 3"),
        (raising(KeyboardInterrupt()), "KeyboardInterrupt: "),
        (raising(GeneratorExit()), "GeneratorExit: "),
        (raising(StopIteration(1)), "StopIteration: 1"),
        (raising(asyncio.CancelledError()), "CancelledError: "),
        (raising(Unspeakable()), "Unspeakable: its text can't be had: RuntimeError"),
        (araising(GeneratorExit()), "GeneratorExit: "),
        (araising(Unspeakable()), "Unspeakable: its text can't be had: RuntimeError"),
    ],
)
async def test_whatever_a_host_function_raises_the_tool_has_an_answer(
    server: ScriptedServer, open_run: OpenRun, function: Callable[[Any], Any], error: str
) -> None:
    server.tools["ask"] = asks("f")
    async with asyncio.timeout(30), open_run(hosts={"f": function}) as run:
        assert (await run.execute("ask")).text == f"error: {error}"


async def test_an_error_that_no_message_can_carry_is_cut_short_and_ends_no_run(
    server: ScriptedServer, open_run: OpenRun
) -> None:
    server.tools["ask"] = asks("f")
    async with open_run(hosts={"f": raising(ValueError("é" * 40_000_000))}) as run:
        text = (await run.execute("ask")).text
        assert text.startswith("error: ValueError: éé")
        assert text.endswith("é … (80000012 bytes in all)")
        assert (await run.execute("echo")).ok


def test_host_functions_that_never_come_back_hold_up_neither_the_others_nor_the_end(
    server: ScriptedServer, socket: str
) -> None:
    never = threading.Event()
    server.tools["ask"] = asks("hangs")
    server.tools["ask too"] = asks("answers")

    async def kernel() -> str:
        hosts = {"hangs": lambda _: never.wait(), "answers": lambda _: "here"}
        async with AsyncToolPort(socket) as port, port.run("run-7", hosts=hosts) as run:
            # As many as the loop's own pool may have at most.
            hanging = [asyncio.ensure_future(run.execute("ask")) for _ in range(40)]
            await until(lambda: sum("hangs" in t.name for t in threading.enumerate()) == 40)
            answer = (await run.execute("ask too", timeout=30)).text
            for call in hanging:
                call.cancel()
            for id in list(server.runs[0]._answers):
                server.runs[0]._answers[id].put(pb.HostReply(error="nobody"))
            await asyncio.wait(hanging)
            return answer

    try:
        # Which waits for the threads of the loop's pool.
        assert asyncio.run(kernel()) == '"here"'
    finally:
        never.set()


async def test_a_host_function_that_closes_its_own_run_is_told_what_to_do(
    server: ScriptedServer, open_run: OpenRun
) -> None:
    async def closes(payload: Any) -> None:
        await run.close()

    server.tools["ask"] = asks("closes")
    async with asyncio.timeout(30), open_run(hosts={"closes": closes}) as run:
        assert (
            "'closes' closes the run that waits for its answer" in (await run.execute("ask")).text
        )
        assert (await run.execute("echo")).ok


def test_a_sync_host_function_that_closes_its_own_run_is_told_what_to_do(
    server: ScriptedServer, port: ToolPort
) -> None:
    server.tools["ask"] = asks("closes")
    with port.run("run-7", hosts={"closes": lambda _: run.close()}) as run:
        assert "abort() the run instead" in run.execute("ask", timeout=30).text


async def test_the_end_of_the_call_cancels_a_coroutine(
    server: ScriptedServer, open_run: OpenRun
) -> None:
    ended: list[str] = []
    started = threading.Event()

    async def forever(payload: Any) -> None:
        call = host_call()
        started.set()
        try:
            await asyncio.sleep(60)
        finally:
            ended.append(f"{call.cancelled}")

    server.tools["ask"] = asks("forever")
    async with open_run(hosts={"forever": forever}) as run:
        asking = asyncio.ensure_future(run.execute("ask"))
        await until(started.is_set)
        server.runs[0].send(pb.RunResponse(host_cancel=pb.HostCancel(request_id=question(server))))
        await until(lambda: ended == ["True"])
        server.runs[0]._answers[question(server)].put(pb.HostReply(error="nobody"))
        assert (await asking).text == "error: nobody"
    assert server.runs[0].replies == []


def question(server: ScriptedServer) -> str:
    (id,) = server.runs[0]._answers
    return id


async def test_the_end_of_the_run_cancels_a_coroutine(
    server: ScriptedServer, open_run: OpenRun
) -> None:
    started, ended = threading.Event(), threading.Event()

    async def forever(payload: Any) -> None:
        started.set()
        try:
            await asyncio.sleep(60)
        finally:
            ended.set()

    server.tools["ask"] = asks("forever")
    with pytest.raises(ZeroDivisionError):
        async with open_run(hosts={"forever": forever}) as run:
            asking = asyncio.ensure_future(run.execute("ask"))
            await until(started.is_set)
            raise ZeroDivisionError
    await until(ended.is_set)
    assert isinstance((await asyncio.gather(asking, return_exceptions=True))[0], Exception)


def test_a_blocking_host_function_learns_that_nobody_waits(
    port: ToolPort, server: ScriptedServer
) -> None:
    started, ended = threading.Event(), threading.Event()

    def blocks(payload: Any) -> None:
        call = host_call()
        started.set()
        while not call.cancelled:
            ended.wait(0.01)
        ended.set()

    server.tools["ask"] = asks("blocks")
    with pytest.raises(ZeroDivisionError):
        with port.run("r", hosts={"blocks": blocks}) as run:
            with run.stream("ask"):
                assert started.wait(20)
                raise ZeroDivisionError
    assert ended.wait(20)


async def test_a_host_function_may_call_tools_of_its_own_run(
    aport: AsyncToolPort, server: ScriptedServer
) -> None:
    server.tools["ask"] = asks("sub", '{"n": 1}')
    async with aport.run("r", hosts={"sub": lambda p: sub(p)}) as run:

        async def sub(payload: Any) -> Any:
            return (await run.execute("echo", payload)).value

        assert json.loads((await run.execute("ask")).text) == {"n": 1}


def test_a_sync_host_function_may_call_tools_of_its_own_run(
    port: ToolPort, server: ScriptedServer
) -> None:
    server.tools["ask"] = asks("sub", '{"n": 1}')
    with port.run("r", hosts={"sub": lambda p: run.execute("echo", p).value}) as run:
        assert json.loads(run.execute("ask").text) == {"n": 1}


def test_outside_a_host_function_there_is_no_host_call() -> None:
    with pytest.raises(LookupError, match="outside a host function"):
        host_call()
