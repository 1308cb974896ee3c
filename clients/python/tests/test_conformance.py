"""The contract's cases, over the wire, through both clients."""

from __future__ import annotations

import asyncio
import json
import subprocess
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

import pytest
from cases import CONFORMANCE, ROOT, Case, cases, known_failures
from conftest import AioClient, Client, SyncClient

from toolport import (
    AsyncToolPort,
    CallCancelled,
    Intent,
    Message,
    StageRecord,
    ToolCall,
    ToolCallRef,
    ToolPort,
    ToolPortError,
)

NODE = ROOT / "node_modules" / ".bin" / "node"
SERVER = CONFORMANCE / "server.ts"

pytestmark = pytest.mark.skipif(
    not NODE.exists() or not SERVER.exists(), reason="the cases' server is not here"
)

Connect = Callable[[Case], AbstractAsyncContextManager[Client]]


@pytest.fixture(scope="session")
def addresses() -> Iterator[dict[str, str]]:
    """Where each case's own set is served."""
    server = subprocess.Popen(
        [NODE, SERVER], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert server.stdin is not None and server.stdout is not None
    try:
        line = server.stdout.readline()
        assert line, "the cases' server ended before it served"
        yield json.loads(line)["cases"]
    finally:
        server.stdin.close()
        server.wait(20)
        server.stdout.close()


@pytest.fixture(params=["sync", "async"])
def connect(request: pytest.FixtureRequest, addresses: dict[str, str]) -> Connect:
    """Connects one of the clients to a case's server."""

    @asynccontextmanager
    async def connected(case: Case) -> AsyncIterator[Client]:
        address = addresses.get(case.id)
        if address is None:
            if is_nameless(case):
                pytest.skip("a tool without a name can't be served")
            pytest.fail(f"{case.id} is not served")
        if request.param == "sync":
            with ToolPort(address) as port:
                yield SyncClient(port)
        else:
            async with AsyncToolPort(address) as aport:
                yield AioClient(aport)

    return connected


def of(group: str) -> pytest.MarkDecorator:
    """The cases of a group; a known failure that passes is a failure."""
    known = {
        id: entry["why"]
        for id, entry in known_failures().items()
        if "python" in entry.get("only", ["python"])
    }
    return pytest.mark.parametrize(
        "case",
        [
            pytest.param(
                case,
                id=case.id,
                marks=[pytest.mark.xfail(strict=True, reason=known[case.id])]
                if case.id in known
                else [],
            )
            for case in cases(group)
        ],
    )


@of("execute")
async def test_execute(connect: Connect, case: Case) -> None:
    request = case.input["call"]
    options = {"call_id": request["call_id"]}
    raises = case.expect.get("raises")
    async with connect(case) as connected, on_run(connected, case) as client:
        if raises is None:
            call = await client.execute(request["name"], request["arguments"], **options)
            check_call(call, case)
        elif raises["type"] == "CancelledError":
            await check_cancelled(client, request, options)
        else:
            with pytest.raises(ToolPortError) as raised:
                await client.execute(request["name"], request["arguments"], **options)
            for part in case.contains:
                assert part in str(raised.value)


@asynccontextmanager
async def on_run(client: Client, case: Case) -> AsyncIterator[Client]:
    """The case's run, where it names one; it has ended already where the case says so."""
    context = case.input.get("context")
    if context is None:
        yield client
    elif isinstance(client, SyncClient):
        with client.port.run(context["run_id"]) as run:
            if context.get("live") is False:
                run.close()
            yield SyncClient(run)
    elif isinstance(client, AioClient):
        async with client.port.run(context["run_id"]) as arun:
            if context.get("live") is False:
                await arun.close()
            yield AioClient(arun)


async def check_cancelled(client: Client, request: dict[str, Any], options: dict[str, Any]) -> None:
    # It runs for as long as nobody cancels it, so these waits are no race.
    if isinstance(client, SyncClient):
        with client.port.stream(request["name"], request["arguments"], **options) as stream:
            await asyncio.sleep(0.05)
            stream.cancel()
            with pytest.raises(CallCancelled):
                stream.result()
    elif isinstance(client, AioClient):
        async with client.port.stream(request["name"], request["arguments"], **options) as events:
            await asyncio.sleep(0.05)
            events.cancel()
            with pytest.raises(CallCancelled):
                await events.result()


@of("refuse")
async def test_refuse(connect: Connect, case: Case) -> None:
    request = case.input["request"]
    arguments = json.loads(json.dumps(request["arguments"]))
    async with connect(case) as client:
        call = await client.refuse(
            request["name"],
            arguments,
            reason=case.input["reason"] or "",
            call_id=request["call_id"],
        )
    if case.input.get("mutate_after"):
        arguments["k"] = "changed"
    check_call(call, case)


def check_call(call: ToolCall, case: Case) -> None:
    expect = case.expect["call"]
    assert (call.id, call.name, call.arguments) == (
        expect["id"],
        expect["name"],
        expect["arguments"],
    )
    if expect["duration_ms"] == ">=0":
        assert call.duration_ms >= 0
    else:
        assert call.duration_ms == expect["duration_ms"]
    if "result" in expect:
        assert call.result == expect["result"]
    if "result_text" in expect:
        assert call.result == expect["result_text"]
    if "result_json" in expect:
        assert call.value == expect["result_json"]
        assert json.loads(call.result or "") == expect["result_json"]
    check_text(call.error, expect["error"])
    for part in case.contains:
        assert part in (call.error or "")
    assert call.ok == (expect["error"] is None) == (call.error_kind is None)


def check_text(text: str | None, expect: str | None) -> None:
    if expect is None:
        assert text is None
    elif expect.startswith("<") and expect.endswith(">"):
        assert text
    else:
        assert text == expect


@of("selection")
async def test_selection(connect: Connect, case: Case) -> None:
    given = case.input
    verdict = (given.get("intent") or {}).get("verdict")
    async with connect(case) as client:
        selection = await client.select(
            role=given.get("role", "action"),
            forced_choice=given.get("forced_tool_choice"),
            intent=verdict and Intent(verdict["label"], tuple(verdict.get("matched", ()))),
            messages=[message(each) for each in given.get("messages") or ()],
        )
    assert list(selection.tools) == case.expect["tools"]
    assert selection.forced_choice == case.expect["forced_choice"]
    assert [without_detail(record) for record in selection.trace] == case.expect["trace"]


def message(said: dict[str, Any]) -> Message:
    roles = {"human": "user", "ai": "assistant", "tool": "tool", "dict_tool": "tool"}
    return Message(
        role=roles[said["role"]],  # type: ignore[arg-type]
        text=said.get("content", ""),
        name=said.get("name", ""),
        tool_call_id=said.get("tool_call_id", ""),
        tool_calls=tuple(ToolCallRef(c["id"], c["name"]) for c in said.get("tool_calls", ())),
    )


def without_detail(record: StageRecord) -> dict[str, Any]:
    return {
        "stage": record.stage,
        "action": record.action.value,
        "kept": list(record.kept),
        "dropped": list(record.dropped),
        "added": list(record.added),
        "reinstated": list(record.reinstated),
        "forced_choice": record.forced_choice,
    }


@of("descriptors")
async def test_descriptors(connect: Connect, case: Case) -> None:
    manifest_of = case.input.get("manifest")
    async with connect(case) as client:
        if manifest_of is not None:
            manifest = await client.manifest(budget_tokens=manifest_of["token_budget"])
            assert manifest.text == case.expect["text"]
            return
        first, again = [await client.manifest(include_hidden=True) for _ in range(2)]
        listed = await client.manifest()
    (tool,) = first.tools
    assert (tool == again.tools[0]) == case.expect["equal_readings"]
    assert (listed.tools == ()) == case.expect["hidden"]
    for name in case.expect.keys() - {"equal_readings", "tool_name"}:
        assert getattr(tool, name) == case.expect[name], name


def is_nameless(case: Case) -> bool:
    described = case.input.get("tool") or {}
    return any(isinstance(t, dict) and "unnamed" in t for t in case.input.get("tools", ())) or (
        described.get("form") == "object" and not isinstance(described["attrs"]["name"], str)
    )
