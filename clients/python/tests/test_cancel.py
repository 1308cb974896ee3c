"""A call that nobody waits for is cancelled, whatever way its reader left."""

from __future__ import annotations

import asyncio
import gc
import threading
from collections.abc import Awaitable, Callable, Generator, Iterator
from contextlib import aclosing, closing
from typing import Any

import pytest
from scripted import ScriptedServer

from toolport import AsyncToolPort, CallCancelled, Event, InvalidRequest, Progress, ToolPort


@pytest.fixture(autouse=True)
def no_collection() -> Iterator[None]:
    """Nothing here may depend on the garbage collector."""
    gc.disable()
    yield
    gc.enable()


class Left(Exception):
    pass


def breaks(port: ToolPort) -> None:
    for _ in port.stream("wait"):
        break


def breaks_and_keeps_the_stream(port: ToolPort) -> None:
    stream = port.stream("wait")
    for _ in stream:
        break
    port.kept = stream  # type: ignore[attr-defined]


def returns(port: ToolPort) -> Event:
    for event in port.stream("wait"):
        return event
    raise AssertionError


def raises(port: ToolPort) -> None:
    with pytest.raises(Left):
        for _ in port.stream("wait"):
            raise Left


def leaves_the_block(port: ToolPort) -> None:
    with port.stream("wait") as events:
        events_iterator = iter(events)
        next(events_iterator)
    port.kept = events_iterator  # type: ignore[attr-defined]


def leaves_the_block_by_an_exception(port: ToolPort) -> None:
    with pytest.raises(Left), port.stream("wait") as events:
        for _ in events:
            raise Left


def never_reads(port: ToolPort, server: ScriptedServer) -> None:
    with port.stream("wait"):
        server.started.wait(5)


def abandons_a_generator_around_it(port: ToolPort) -> None:
    def wrapped() -> Generator[Event, None, None]:
        yield from port.stream("wait")

    with closing(wrapped()) as events:
        next(events)


@pytest.mark.parametrize(
    "leave",
    [
        breaks,
        breaks_and_keeps_the_stream,
        returns,
        raises,
        leaves_the_block,
        leaves_the_block_by_an_exception,
        abandons_a_generator_around_it,
    ],
)
def test_leaving_a_loop_cancels_the_call(
    port: ToolPort, server: ScriptedServer, leave: Callable[[ToolPort], object]
) -> None:
    leave(port)

    assert server.aborted.wait(5)
    assert port.execute("echo").ok


def test_leaving_a_block_without_reading_cancels_the_call(
    port: ToolPort, server: ScriptedServer
) -> None:
    never_reads(port, server)

    assert server.aborted.wait(5)


def test_a_call_is_cancelled_from_another_thread_and_says_so(
    port: ToolPort, server: ScriptedServer
) -> None:
    stream = port.stream("wait")

    def cancel() -> None:
        server.started.wait(5)
        stream.cancel()

    canceller = threading.Thread(target=cancel)
    canceller.start()

    with pytest.raises(CallCancelled, match="the call was cancelled"):
        stream.result()

    canceller.join()
    assert server.aborted.wait(5)
    with pytest.raises(CallCancelled):
        stream.result()


def test_a_cancel_in_the_midst_of_the_start_is_not_lost(
    port: ToolPort, server: ScriptedServer
) -> None:
    stream = port.stream("wait")
    start = stream._start_source

    def start_while_another_thread_cancels() -> Any:
        rpc = start()
        stream.cancel()
        return rpc

    stream._start_source = start_while_another_thread_cancels

    with pytest.raises(CallCancelled):
        stream.result()


def test_closing_the_client_ends_its_calls(port: ToolPort, server: ScriptedServer) -> None:
    def close() -> None:
        server.started.wait(5)
        port.close()

    closer = threading.Thread(target=close)
    closer.start()

    with pytest.raises(CallCancelled):
        port.execute("wait")

    closer.join()
    assert server.aborted.wait(5)


def test_a_call_that_is_cancelled_before_it_starts_is_never_sent(
    port: ToolPort, server: ScriptedServer
) -> None:
    stream = port.stream("echo")
    stream.cancel()

    with pytest.raises(CallCancelled) as raised:
        stream.result()

    assert raised.value.started == "no" and server.requests == []


def test_a_call_starts_with_its_loop_and_is_read_once(
    port: ToolPort, server: ScriptedServer
) -> None:
    stream = port.stream("echo", {"a": 1})
    assert server.requests == []

    assert stream.result().value == stream.result().value == {"a": 1}
    with pytest.raises(InvalidRequest, match="only once"):
        iter(stream)
    assert len(server.requests) == 1


async def abreaks(port: AsyncToolPort) -> None:
    async for _ in port.stream("wait"):
        break


async def abreaks_and_keeps_the_stream(port: AsyncToolPort) -> None:
    stream = port.stream("wait")
    async for _ in stream:
        break
    port.kept = stream  # type: ignore[attr-defined]


async def areturns(port: AsyncToolPort) -> Event:
    async for event in port.stream("wait"):
        return event
    raise AssertionError


async def araises(port: AsyncToolPort) -> None:
    with pytest.raises(Left):
        async for _ in port.stream("wait"):
            raise Left


async def aleaves_the_block(port: AsyncToolPort) -> None:
    async with port.stream("wait") as events:
        iterator = aiter(events)
        await anext(iterator)
    port.kept = iterator  # type: ignore[attr-defined]


async def awaits_with_a_limit(port: AsyncToolPort) -> None:
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(port.execute("wait"), 0.3)


async def loops_with_a_limit(port: AsyncToolPort) -> None:
    async def loop() -> None:
        async for _ in port.stream("wait"):
            pass

    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.3):
            await loop()


async def cancels_the_task(port: AsyncToolPort) -> None:
    task = asyncio.create_task(port.execute("wait"))
    await asyncio.sleep(0.2)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert task.cancelled()


async def acloses_the_iterator(port: AsyncToolPort) -> None:
    async with aclosing(aiter(port.stream("wait"))) as events:
        await anext(events)
        port.kept = events  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    "leave",
    [
        abreaks,
        abreaks_and_keeps_the_stream,
        areturns,
        araises,
        aleaves_the_block,
        awaits_with_a_limit,
        loops_with_a_limit,
        cancels_the_task,
        acloses_the_iterator,
    ],
)
async def test_leaving_an_async_loop_cancels_the_call(
    aport: AsyncToolPort,
    server: ScriptedServer,
    leave: Callable[[AsyncToolPort], Awaitable[object]],
) -> None:
    await leave(aport)

    assert await asyncio.to_thread(server.aborted.wait, 5)
    assert (await aport.execute("echo")).ok


async def test_an_async_call_is_cancelled_by_its_stream_and_says_so(
    aport: AsyncToolPort, server: ScriptedServer
) -> None:
    stream = aport.stream("wait")

    with pytest.raises(CallCancelled, match="the call was cancelled"):
        async for event in stream:
            assert isinstance(event, Progress)
            stream.cancel()

    assert await asyncio.to_thread(server.aborted.wait, 5)
    with pytest.raises(CallCancelled):
        await stream.result()


async def test_closing_the_async_client_ends_its_calls(
    aport: AsyncToolPort, server: ScriptedServer
) -> None:
    task = asyncio.create_task(aport.execute("wait"))
    await asyncio.to_thread(server.started.wait, 5)
    await aport.close()

    with pytest.raises(CallCancelled):
        await task

    assert await asyncio.to_thread(server.aborted.wait, 5)


async def test_one_cancelled_call_leaves_the_others_alone(
    aport: AsyncToolPort, server: ScriptedServer
) -> None:
    waiting = asyncio.create_task(aport.execute("wait"))
    others = [asyncio.create_task(aport.execute("echo", {"n": n})) for n in range(20)]
    waiting.cancel()

    calls = await asyncio.gather(*others)

    assert [call.value["n"] for call in calls] == list(range(20))


def test_an_async_client_works_in_one_loop_after_another(
    server: ScriptedServer, socket: str
) -> None:
    port = AsyncToolPort(socket)

    async def use(n: int) -> object:
        return (await port.execute("echo", {"n": n})).value["n"]

    assert [asyncio.run(use(n)) for n in range(3)] == [0, 1, 2]
    asyncio.run(port.close())
