"""Five hundred streams that nobody reads to their end leave nothing here or in the sidecar."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import AbstractContextManager, asynccontextmanager, nullcontext
from typing import Any

import pytest
from cases import ROOT

from toolport import AsyncToolPort, Sidecar, ToolPort

TOOLS = ROOT / "clients" / "testdata" / "field.ts"
STREAMS = 500
LONG = {"ms": 600_000}

pytestmark = pytest.mark.skipif(
    not (ROOT / "dist" / "src" / "cli" / "main.js").is_file(), reason="toolport is not built here"
)


@pytest.fixture(scope="module")
def sidecar() -> Iterator[Sidecar]:
    with Sidecar.spawn(TOOLS) as sidecar:
        yield sidecar


@pytest.mark.parametrize("on_a_run", [False, True], ids=["alone", "on a run"])
def test_sync_streams(sidecar: Sidecar, on_a_run: bool) -> None:
    with sidecar.port() as port:
        assert port.execute("still_silent").value == 0
        before = set(threading.enumerate())
        asking: AbstractContextManager[Any] = port.run("sync") if on_a_run else nullcontext(port)
        with asking as of:
            for _ in range(STREAMS):
                for event in of.stream("silent", LONG):
                    assert event.message == "hush"
                    break
            wait_for_silence(port)
        wait_until_ended(before)


@pytest.mark.parametrize("on_a_run", [False, True], ids=["alone", "on a run"])
async def test_async_streams_all_at_once(sidecar: Sidecar, on_a_run: bool) -> None:
    async with sidecar.aport() as port:
        assert (await port.execute("still_silent")).value == 0
        tasks = asyncio.all_tasks()

        async def leave(of: Any) -> None:
            async for event in of.stream("silent", LONG):
                assert event.message == "hush"
                break

        async with port.run("async") if on_a_run else _alone(port) as of:
            await asyncio.gather(*(leave(of) for _ in range(STREAMS)))
            with sidecar.port() as other:
                await asyncio.to_thread(wait_for_silence, other)
        until = time.monotonic() + 10
        while asyncio.all_tasks() - tasks:
            assert time.monotonic() < until, asyncio.all_tasks() - tasks
            await asyncio.sleep(0.01)


@asynccontextmanager
async def _alone(port: AsyncToolPort) -> AsyncIterator[AsyncToolPort]:
    yield port


def wait_for_silence(port: ToolPort) -> None:
    """Waits until no tool is left running in the sidecar."""
    until = time.monotonic() + 20
    while left := port.execute("still_silent").value:
        assert time.monotonic() < until, f"{left} tools are left running"
        time.sleep(0.02)


def wait_until_ended(before: set[threading.Thread]) -> None:
    until = time.monotonic() + 10
    while left := set(threading.enumerate()) - before:
        assert time.monotonic() < until, left
        time.sleep(0.01)
