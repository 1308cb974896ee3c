from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any, Protocol

import pytest
from scripted import ScriptedServer

from toolport import AsyncToolPort, Event, Manifest, Selection, ToolCall, ToolPort


class Client(Protocol):
    """Both clients, as a test that is about both sees them."""

    async def execute(self, *args: Any, **options: Any) -> ToolCall: ...
    async def events(self, *args: Any, **options: Any) -> list[Event]: ...
    async def refuse(self, *args: Any, **options: Any) -> ToolCall: ...
    async def manifest(self, **options: Any) -> Manifest: ...
    async def select(self, **options: Any) -> Selection: ...
    async def wait_ready(self, *args: Any) -> None: ...


class SyncClient:
    def __init__(self, port: Any) -> None:
        self.port = port

    def __getattr__(self, name: str) -> Any:
        async def method(*args: Any, **options: Any) -> Any:
            return await asyncio.to_thread(getattr(self.port, name), *args, **options)

        return method

    async def events(self, *args: Any, **options: Any) -> list[Event]:
        return await asyncio.to_thread(lambda: list(self.port.stream(*args, **options)))


class AioClient:
    def __init__(self, port: Any) -> None:
        self.port = port

    def __getattr__(self, name: str) -> Any:
        return getattr(self.port, name)

    async def events(self, *args: Any, **options: Any) -> list[Event]:
        return [event async for event in self.port.stream(*args, **options)]


@pytest.fixture
def socket(tmp_path: Path) -> str:
    # Relative to the working directory, a path in a temporary folder may be short enough.
    path = tmp_path / "s"
    return f"unix:{path if len(str(path)) < 100 else os.path.relpath(path)}"


@pytest.fixture
def server(socket: str) -> Iterator[ScriptedServer]:
    server = ScriptedServer()
    server.serve(socket)
    yield server
    server.stop()


@pytest.fixture
def port(server: ScriptedServer, socket: str) -> Iterator[ToolPort]:
    with ToolPort(socket) as port:
        yield port


@pytest.fixture(params=["fast", "grpcio"])
async def aport(
    request: pytest.FixtureRequest, server: ScriptedServer, socket: str
) -> AsyncIterator[AsyncToolPort]:
    async with AsyncToolPort(socket, transport=request.param) as port:
        yield port


OpenRun = Callable[..., AbstractAsyncContextManager[Client]]


@asynccontextmanager
async def run_of(client: Client, run_id: str, **options: Any) -> AsyncIterator[Client]:
    """A live run of either client."""
    if isinstance(client, SyncClient):
        run = client.port.run(run_id, **options)
        await asyncio.to_thread(run.__enter__)
        try:
            yield SyncClient(run)
        except BaseException as error:
            await asyncio.to_thread(run.__exit__, type(error), error, None)
            raise
        await asyncio.to_thread(run.__exit__, None, None, None)
    elif isinstance(client, AioClient):
        async with client.port.run(run_id, **options) as arun:
            yield AioClient(arun)


@pytest.fixture
def open_run(client: Client) -> OpenRun:
    """Opens runs of both clients."""

    def opens(run_id: str = "run-7", **options: Any) -> AbstractAsyncContextManager[Client]:
        return run_of(client, run_id, **options)

    return opens


@pytest.fixture(params=["sync", "async-fast", "async-grpcio"])
async def client(
    request: pytest.FixtureRequest, server: ScriptedServer, socket: str
) -> AsyncIterator[Client]:
    if request.param == "sync":
        with ToolPort(socket) as port:
            yield SyncClient(port)
    else:
        transport = request.param.removeprefix("async-")
        async with AsyncToolPort(socket, transport=transport) as aport:
            yield AioClient(aport)
