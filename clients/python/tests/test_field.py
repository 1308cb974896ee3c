"""What systems like this one have failed their users with, shown not to happen to these clients.

A test's name begins with the id of its case in ``test/conformance/cases/field.jsonl``.
"""

from __future__ import annotations

import asyncio
import copy
import json
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from cable import Cable
from cases import ROOT
from conftest import AioClient, Client, SyncClient
from google.protobuf import json_format

from toolport import (
    AsyncToolPort,
    CallIdReused,
    DigestMismatch,
    Selection,
    Sidecar,
    ToolPort,
    ToolPortError,
    remap_tool_call_ids,
)
from toolport.v1 import selection_pb2, tool_pb2, tool_port_service_pb2

TOOLS = ROOT / "clients" / "testdata" / "field.ts"
AWKWARD = "échec – 失敗 100%\nligne 2"
MEBIBYTE = 1 << 20

pytestmark = pytest.mark.skipif(
    not (ROOT / "dist" / "src" / "cli" / "main.js").is_file(), reason="toolport is not built here"
)


@pytest.fixture(scope="module")
def sidecar() -> Iterator[Sidecar]:
    with Sidecar.spawn(TOOLS) as sidecar:
        yield sidecar


@pytest.fixture(params=["sync", "async"])
def kind(request: pytest.FixtureRequest) -> str:
    """Which of the two clients the test is about."""
    return str(request.param)


@pytest.fixture
async def client(kind: str, sidecar: Sidecar) -> AsyncIterator[Client]:
    async with connected(kind, sidecar.address) as client:
        yield client


@asynccontextmanager
async def connected(kind: str, address: str, **options: Any) -> AsyncIterator[Client]:
    """One of the two clients, for as long as the block lasts."""
    if kind == "sync":
        with ToolPort(address, **options) as port:
            yield SyncClient(port)
    else:
        async with AsyncToolPort(address, **options) as aport:
            yield AioClient(aport)


ORDERS = ["orderByFunction", "order_by_zod", "order_by_schema", "order_by_langchain"]


@pytest.mark.parametrize("code", ["00731", "1e5"])
@pytest.mark.parametrize("form", ORDERS)
async def test_b23_a_text_of_digits_stays_a_text(client: Client, form: str, code: str) -> None:
    call = await client.execute(form, {"code": code})

    assert call.error is None
    assert json.loads(call.result or "") == {"code": code}
    assert call.arguments == {"code": code}


def frozen(value: Any) -> Any:
    """A message of which nothing can be written to."""
    if isinstance(value, dict):
        return FrozenDict({key: frozen(each) for key, each in value.items()})
    return FrozenList(map(frozen, value)) if isinstance(value, list) else value


class FrozenDict(dict[str, Any]):
    def __setitem__(self, key: str, value: object) -> None:
        raise AssertionError(f"{key} was written")

    def __copy__(self) -> dict[str, Any]:
        return dict(self)


class FrozenList(list[Any]):
    def __setitem__(self, at: object, value: object) -> None:
        raise AssertionError(f"[{at}] was written")


def test_b58_chunks_of_one_index_stay_apart() -> None:
    chunks = [
        {"index": 0, "id": "p1", "name": "add", "args": "{}"},
        {"index": 0, "id": "p2", "name": "list", "args": "{}"},
    ]

    remapped = remap_tool_call_ids({"tool_call_chunks": chunks}, {"p1": "k1", "p2": "k2"})

    assert remapped == {"tool_call_chunks": [{**chunks[0], "id": "k1"}, {**chunks[1], "id": "k2"}]}


def test_b60_blocks_without_an_id_pass_beside_those_that_have_one() -> None:
    text, delta = {"type": "text", "text": "hi"}, {"type": "input_json_delta", "index": 1}
    use = {"type": "tool_use", "id": "p1", "name": "add", "input": ""}
    message = frozen({"content": [text, use, delta], "tool_calls": [{"id": "p1", "name": "add"}]})

    assert remap_tool_call_ids(message, {"p1": "k1"}) == {
        "content": [text, {**use, "id": "k1"}, delta],
        "tool_calls": [{"id": "k1", "name": "add"}],
    }
    plain = frozen({"content": "p1", "tool_calls": [{"id": "p1"}]})
    assert remap_tool_call_ids(plain, {"p1": "k1"}) == {
        "content": "p1",
        "tool_calls": [{"id": "k1"}],
    }


async def test_b61_an_id_that_comes_again_is_the_same_call_only_within_its_run(
    client: Client, kind: str
) -> None:
    first = await client.execute("add", {"note": "a"}, call_id="call_0")
    second = await client.execute("add", {"note": "b"}, call_id="call_0")
    assert (second.value, second.replayed) == (first.value + 1, False)

    of_run = {"call_id": "call_0", "run_id": f"b61-{kind}"}
    third = await client.execute("add", {"note": "a"}, **of_run)
    again = await client.execute("add", {"note": "a"}, **of_run)
    assert (again.value, again.replayed) == (third.value, True)
    with pytest.raises(CallIdReused):
        await client.execute("add", {"note": "b"}, **of_run)
    with pytest.raises(CallIdReused):
        await client.execute("fail", {"note": "a"}, **of_run)


FOREIGN = ["tools.Shell:0", "tools.Shell-0", "__proto__", "a b/\u00e9", ""]


def test_b62_ids_are_exact_texts_and_all_change_at_once() -> None:
    message = frozen(
        {
            "content": [{"type": "text", "text": FOREIGN[0]}],
            "tool_calls": [
                {"id": id, "name": "Shell", "args": {"id": FOREIGN[0]}} for id in FOREIGN
            ],
        }
    )

    remapped = remap_tool_call_ids(message, {FOREIGN[0]: "k1", FOREIGN[1]: "k2"})

    assert [call["id"] for call in remapped["tool_calls"]] == ["k1", "k2", *FOREIGN[2:]]
    assert all(call["args"] == {"id": FOREIGN[0]} for call in remapped["tool_calls"])
    assert remapped["content"] is message["content"]
    swapped = remap_tool_call_ids({"tool_calls": [{"id": "a"}, {"id": "b"}]}, {"a": "b", "b": "a"})
    assert swapped == {"tool_calls": [{"id": "b"}, {"id": "a"}]}


@pytest.mark.parametrize("call_id", [*FOREIGN[:-1], "失敗 100%\n"])
async def test_b62_an_id_of_any_characters_comes_back_with_its_call(
    client: Client, call_id: str
) -> None:
    assert (await client.execute("add", call_id=call_id)).id == call_id


def test_b63_rewriting_ids_for_one_request_leaves_the_history_as_it_was() -> None:
    use = {"type": "tool_use", "id": "p1", "cache_control": {"type": "ephemeral"}}
    stored = {
        "role": "assistant",
        "content": [use, {"type": "unknown_block", "id": "p1"}],
        "tool_calls": [{"id": "p1", "name": "add", "args": {}}],
        "additional_kwargs": {"tool_calls": [{"id": "p1"}]},
    }
    message, before = frozen(stored), copy.deepcopy(stored)

    once = remap_tool_call_ids(message, {"p1": "k1"})

    assert message == before
    assert once["tool_calls"][0]["id"] == "k1" and once["content"][0] == {**use, "id": "k1"}
    assert once["additional_kwargs"] is message["additional_kwargs"]
    assert once["content"][1] is message["content"][1]
    assert remap_tool_call_ids(once, {"p1": "k1"}) is once
    assert remap_tool_call_ids(message, {}) is message


def last(selection: Selection) -> Any:
    return selection.trace[-1]


async def test_b69_no_tool_no_opinion_and_no_known_tool_are_three_answers(client: Client) -> None:
    everything = (await client.select()).tools
    nothing = await client.select(role="nothing")
    silent = await client.select(role="nobody_has_this")
    strangers = await client.select(role="strangers")

    assert (nothing.tools, nothing.decided, last(nothing).action) == ((), True, "emptied")
    assert (silent.tools, silent.decided) == (everything, False)
    assert last(silent).action == "abstained"
    assert (strangers.tools, last(strangers).action) == (everything, "degraded")
    assert "nobody" in last(strangers).detail and "no_one" in last(strangers).detail


@pytest.mark.parametrize("role", [None, "", "nobody_has_this"])
async def test_b70_without_a_palette_all_tools_flow_on(client: Client, role: str | None) -> None:
    selection = await client.select(role=role)

    assert len(selection.tools) == 10 and not selection.decided


@pytest.mark.parametrize(
    ("forced", "options", "stands"),
    [
        ("delete_all", {}, False),
        ("add", {"role": "adder"}, True),
        ("make", {"role": "adder"}, True),
        ("concealed", {}, True),
        ("Make", {}, False),
        ("any", {"candidates": []}, False),
        ("required", {"candidates": []}, False),
    ],
)
async def test_b72_a_choice_is_forced_only_where_it_can_be_met(
    client: Client, forced: str, options: dict[str, Any], stands: bool
) -> None:
    selection = await client.select(forced_choice=forced, **options)

    assert selection.forced_choice == (forced if stands else None)
    stage = next(record for record in selection.trace if record.stage == "forced_choice")
    assert stage.action == ("forced" if stands else "degraded")
    if stands:
        assert forced in selection.tools
    if forced == "make":
        assert selection.tools == ("add", "make") and last(selection).reinstated == ("make",)


async def test_b73_a_forced_choice_is_of_its_own_request_alone(client: Client) -> None:
    wanted = [None if n % 3 == 0 else ORDERS[1 + n % 3] for n in range(60)]

    selections = await asyncio.gather(*(client.select(forced_choice=name) for name in wanted))

    assert [selection.forced_choice for selection in selections] == wanted
    assert (await client.select()).forced_choice is None


async def test_b74_none_and_nothing_said_differ_at_the_client(client: Client) -> None:
    said = await client.select(role="nothing")
    unsaid = await client.select(candidates=[])

    assert (said.tools, said.decided) == ((), True)
    assert (unsaid.tools, unsaid.decided) == ((), False)
    assert len((await client.manifest()).tools) == 9
    assert (await client.manifest(names=[])).tools == ()


@pytest.mark.parametrize(
    "message",
    [
        selection_pb2.SelectionResult(decided=True),
        selection_pb2.SelectionResult(forced_choice=""),
        tool_port_service_pb2.ManifestRequest(names=tool_pb2.ToolNames()),
        tool_port_service_pb2.SelectRequest(candidates=tool_pb2.ToolNames(), role=""),
        tool_pb2.ToolCall(id="a", result=""),
    ],
    ids=lambda message: message.DESCRIPTOR.name,
)
def test_b74_what_is_empty_and_what_is_absent_differ_in_every_codec(message: Any) -> None:
    absent = type(message)()
    for read in (
        lambda m: type(m).FromString(m.SerializeToString()),
        lambda m: json_format.Parse(json_format.MessageToJson(m), type(m)()),
    ):
        assert read(message) == message != absent == read(absent)


async def test_b75_large_results_arguments_and_manifests_pass(client: Client, kind: str) -> None:
    made = await client.execute("make", {"size": 8 * MEBIBYTE})
    counted = await client.execute("make", {"size": 0, "filler": "y" * (6 * MEBIBYTE)})

    assert made.result is not None and len(made.result) == 8 * MEBIBYTE + 1
    assert counted.result == str(6 * MEBIBYTE)


def test_b75_a_manifest_of_2000_tools_passes() -> None:
    with Sidecar.spawn(TOOLS, env={"FIELD_CROWD": "1"}) as crowded, crowded.port() as port:
        assert len(port.manifest().tools) == 2009


@pytest.fixture(scope="module")
def narrow() -> Iterator[Sidecar]:
    env = {"TOOLPORT_MAX_MESSAGE_BYTES": str(MEBIBYTE)}
    with Sidecar.spawn(TOOLS, env=env) as sidecar:
        yield sidecar


async def test_b75_above_the_limit_a_call_says_so_and_the_others_go_on(
    narrow: Sidecar, kind: str
) -> None:
    too_much = {"size": 0, "filler": "y" * (2 * MEBIBYTE)}
    async with connected(kind, narrow.address) as client:
        with pytest.raises(ToolPortError, match=str(MEBIBYTE)) as raised:
            await client.execute("make", too_much)
        assert (raised.value.reason, raised.value.started) == ("MESSAGE_TOO_LARGE", "no")
        # A result over the limit comes in parts, which the client has asked for.
        made = await client.execute("make", {"size": 2 * MEBIBYTE})
        assert made.result is not None and len(made.result) == 2 * MEBIBYTE + 1
    async with connected(kind, narrow.address, max_message_bytes=MEBIBYTE) as careful:
        with pytest.raises(ToolPortError) as raised:
            await careful.execute("make", too_much)
        assert (raised.value.reason, raised.value.started) == ("MESSAGE_TOO_LARGE", "no")
        assert (await careful.execute("make", {"size": 1})).result == "x0"


async def test_b76_one_that_pings_while_nothing_happens_is_not_thrown_off(
    sidecar: Sidecar, kind: str
) -> None:
    # As the shipped setting, twenty times as often and in idle times too: minutes become seconds.
    often = [("grpc.keepalive_time_ms", 1000), ("grpc.keepalive_permit_without_calls", 1)]
    with Cable(sidecar.address) as cable:
        async with connected(kind, cable.address, options=often) as client:
            assert (await client.execute("silent", {"ms": 3500})).result == "at last"
            while_silent = cable.pings
            await asyncio.sleep(3.5)
            assert (await client.execute("silent", {"ms": 0})).result == "at last"
        assert while_silent >= 2 and cable.pings >= while_silent + 2
        assert cable.connections == 1


async def test_b78_an_errors_text_arrives_as_it_was_written(client: Client) -> None:
    assert (await client.execute("fail", {"text": AWKWARD})).error == f"Error: {AWKWARD}"
    assert (await client.refuse("fail", reason=AWKWARD)).error == AWKWARD
    # A fault quotes what it was given, so its status carries the text too.
    with pytest.raises(DigestMismatch) as raised:
        await client.execute("fail", expected_digest=AWKWARD)
    assert AWKWARD in str(raised.value)


async def test_b80_no_request_passes_without_a_valid_token(kind: str) -> None:
    token = "a-token-that-is-long-enough"
    with Sidecar.spawn(TOOLS, address="127.0.0.1:0", token=token) as guarded:
        for wrong in ({}, {"token": "wrong-token"}):
            async with connected(kind, guarded.address, **wrong) as stranger:
                for ask in (
                    stranger.manifest(),
                    stranger.select(),
                    stranger.refuse("add"),
                    stranger.execute("add"),
                    stranger.events("add"),
                ):
                    with pytest.raises(ToolPortError) as raised:
                        await ask
                    assert raised.value.reason == "UNAUTHENTICATED"
                    assert not any(
                        part in str(raised.value) for part in (token, "wrong-token", ".ts", "node:")
                    )
        async with connected(kind, guarded.address, token=token) as friend:
            assert (await friend.execute("add")).value == 1
