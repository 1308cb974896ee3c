"""A forked process works with a connection of its own, or is told at once that it can't."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from scripted import ScriptedServer

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")

PRELUDE = """
import asyncio, os, sys, threading
from toolport import AsyncToolPort, ToolPort, ToolPortError
address = sys.argv[1]

def in_child(use):
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        try:
            print("child:", use())
        except ToolPortError as error:
            print("child:", error.reason, error.started)
        except BaseException as error:
            print("child: unexpected", repr(error))
        sys.stdout.flush()
        os._exit(0)
    _, status = os.waitpid(child, 0)
    print("ended:", status)

def sync(port, n):
    return port.execute("echo", {"n": n}, timeout=5).value["n"]
"""


def run(script: str, address: str, **env: str) -> list[str]:
    done = subprocess.run(
        [sys.executable, "-c", PRELUDE + script, address],
        capture_output=True,
        text=True,
        timeout=60,
        env={**os.environ, **env},
        cwd=Path(__file__).parent,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_a_child_goes_on_with_its_parents_client(server: ScriptedServer, socket: str) -> None:
    assert run(
        """
port = ToolPort(address)
print("parent:", sync(port, 1))
for n in (2, 3):
    in_child(lambda: sync(port, n))
print("parent:", sync(port, 4))
""",
        socket,
    ) == ["parent: 1", "child: 2", "ended: 0", "child: 3", "ended: 0", "parent: 4"]


def test_a_child_of_an_unused_client_works(server: ScriptedServer, socket: str) -> None:
    assert run(
        """
port = ToolPort(address)
in_child(lambda: sync(port, 1))
print("parent:", sync(port, 2))
""",
        socket,
    ) == ["child: 1", "ended: 0", "parent: 2"]


def test_a_child_of_a_parent_with_a_call_under_way_is_told_at_once(
    server: ScriptedServer, socket: str
) -> None:
    assert run(
        """
port = ToolPort(address)
with port.stream("wait") as events:
    for event in events:
        in_child(lambda: sync(port, 1))
        in_child(lambda: sync(ToolPort(address), 1))
        break
print("parent:", sync(port, 2))
""",
        socket,
    ) == ["child: FORKED no", "ended: 0"] * 2 + ["parent: 2"]


def test_a_child_of_an_event_loop_is_told_at_once(server: ScriptedServer, socket: str) -> None:
    assert run(
        """
async def use(port, n):
    return (await port.execute("echo", {"n": n}, timeout=5)).value["n"]

async def main():
    async with AsyncToolPort(address) as port:
        print("parent:", await use(port, 1))
        in_child(lambda: asyncio.run(use(port, 2)))
        in_child(lambda: sync(ToolPort(address), 2))
        print("parent:", await use(port, 3))

asyncio.run(main())
in_child(lambda: asyncio.run(use(AsyncToolPort(address), 4)))
""",
        socket,
    ) == [
        "parent: 1",
        *["child: FORKED no", "ended: 0"] * 2,
        "parent: 3",
        "child: 4",
        "ended: 0",
    ]


def test_without_grpcs_support_a_child_is_told_at_once(server: ScriptedServer, socket: str) -> None:
    assert run(
        """
port = ToolPort(address)
in_child(lambda: sync(port, 1))
print("parent:", sync(port, 2))
in_child(lambda: sync(port, 3))
""",
        socket,
        GRPC_ENABLE_FORK_SUPPORT="0",
    ) == ["child: 1", "ended: 0", "parent: 2", "child: FORKED no", "ended: 0"]
