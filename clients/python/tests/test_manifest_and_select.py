"""Manifest and Select: what is absent and what is empty stay apart, in both directions."""

from __future__ import annotations

from typing import Any

import pytest
from conftest import Client
from scripted import ScriptedServer, stage

from toolport import (
    Intent,
    InvalidRequest,
    Message,
    ServerInfo,
    StageAction,
    StageRecord,
    ToolCallRef,
    ToolDescriptor,
)
from toolport.v1 import selection_pb2, tool_pb2
from toolport.v1 import tool_port_service_pb2 as pb


async def test_the_manifest_is_read_whole(client: Client, server: ScriptedServer) -> None:
    schema = '{"type":"object","properties":{"limit":{"type":"integer","default":20,"minimum":1}}}'
    server.manifest = pb.ManifestResponse(
        tools=[
            tool_pb2.ToolDescriptor(name="bare", input_schema_json="{}"),
            tool_pb2.ToolDescriptor(
                name="full",
                description="One.\nTwo.",
                summary="One.",
                manifest_entry="full: One.",
                hidden=True,
                input_schema_json=schema,
                output_schema_json='{"type":"string"}',
                category="",
                safety_level="safe",
                cost_usd=0,
                requires="human",
                max_calls_per_invocation=0,
                scope="public",
                routing_mode="observe",
                timeout_ms=1500,
                run_aware=True,
                idempotent=True,
                read_only=False,
                destructive=False,
                open_world=False,
                capability="notes",
            ),
        ],
        digest="sha256:ab",
        text="  - full: One.",
        provider_tools_json='[{"n":9007199254740993}]',
        provider_names={"full_1": "full"},
        server=pb.ServerInfo(
            version="1.2.3",
            contract="toolport.v1",
            max_message_bytes=5,
            max_calls_in_flight=6,
            features=["run", "journal"],
        ),
    )

    manifest = await client.manifest()

    bare, full = manifest.tools
    assert bare == ToolDescriptor(name="bare")
    assert full == ToolDescriptor(
        name="full",
        description="One.\nTwo.",
        summary="One.",
        manifest_entry="full: One.",
        hidden=True,
        input_schema_json=schema,
        output_schema_json='{"type":"string"}',
        category="",
        safety_level="safe",
        cost_usd=0.0,
        requires="human",
        max_calls_per_invocation=0,
        scope="public",
        routing_mode="observe",
        timeout=1.5,
        run_aware=True,
        idempotent=True,
        read_only=False,
        destructive=False,
        open_world=False,
        capability="notes",
    )
    limit = full.input_schema["properties"]["limit"]
    assert [type(limit[key]) for key in ("default", "minimum")] == [int, int]
    assert full.output_schema == {"type": "string"} and bare.output_schema is None
    assert manifest.provider_tools == [{"n": 9007199254740993}]
    assert manifest.provider_names == {"full_1": "full"}
    assert manifest.server == ServerInfo(
        version="1.2.3",
        contract="toolport.v1",
        max_message_bytes=5,
        max_calls_in_flight=6,
        features=("run", "journal"),
    )
    assert manifest.tool("full") is full and manifest.tool("Full") is None


async def test_what_the_manifest_is_asked_reaches_the_server(
    client: Client, server: ScriptedServer
) -> None:
    await client.manifest()
    await client.manifest(
        include_hidden=True,
        names=[],
        budget_tokens=0,
        query="q",
        format="anthropic",
        strict=True,
    )

    plain, asked = server.requests
    assert plain == pb.ManifestRequest()
    assert asked == pb.ManifestRequest(
        include_hidden=True,
        names=tool_pb2.ToolNames(),
        budget_tokens=0,
        query="q",
        format=pb.MANIFEST_FORMAT_ANTHROPIC,
        strict=True,
    )
    assert asked.HasField("names") and asked.HasField("budget_tokens")


@pytest.mark.parametrize(
    ("verb", "options", "says"),
    [
        ("manifest", {"names": "search"}, "names is the one string 'search'"),
        ("manifest", {"budget_tokens": -1}, "budget_tokens is -1"),
        ("manifest", {"format": "openai"}, "format is 'openai'; expected one of openai_chat"),
        ("manifest", {"budget_tokens": "3"}, "budget_tokens must be an integer, not str"),
        ("manifest", {"names": 5}, "names must be a list of names, not int"),
        ("manifest", {"names": [1]}, "a name in names must be a string, not int"),
        ("manifest", {"timeout": "3"}, "timeout must be a number of seconds, not str"),
        ("select", {"intent": {"a": 1}}, "intent must be an Intent, not dict"),
        ("select", {"candidates": "search"}, "candidates is the one string"),
        ("select", {"extra": {"a": {1}}}, r"extra\.a is a set"),
        ("select", {"messages": [Message("user"), {"role": "robot"}]}, "message 1 has the role"),
    ],
)
async def test_a_question_that_makes_no_sense_is_refused_before_it_is_sent(
    client: Client, server: ScriptedServer, verb: str, options: dict[str, Any], says: str
) -> None:
    with pytest.raises(InvalidRequest, match=says):
        await getattr(client, verb)(**options)

    assert server.requests == []


async def test_a_selection_is_read_whole(client: Client, server: ScriptedServer) -> None:
    server.selection = pb.SelectResponse(
        result=selection_pb2.SelectionResult(
            tools=["b", "a"],
            decided=True,
            forced_choice="",
            trace=[
                stage(
                    stage="role_palette",
                    action=selection_pb2.STAGE_ACTION_NARROWED,
                    kept=["b"],
                    dropped=["c"],
                    added=["d"],
                    reinstated=["a"],
                    forced_choice="a",
                    detail="why",
                ),
                stage(stage="x", action=selection_pb2.STAGE_ACTION_ABSTAINED),
                stage(stage="y", action=77),
            ],
        ),
        tools=[tool_pb2.ToolDescriptor(name="b", input_schema_json="{}")],
        digest="sha256:ab",
        provider_tool_choice_json='{"type":"tool"}',
    )

    selection = await client.select(include_descriptors=True)
    without = await client.select()

    assert (selection.tools, selection.decided) == (("b", "a"), True)
    assert selection.forced_choice == ""
    assert selection.trace == (
        StageRecord(
            stage="role_palette",
            action=StageAction.NARROWED,
            kept=("b",),
            dropped=("c",),
            added=("d",),
            reinstated=("a",),
            forced_choice="a",
            detail="why",
        ),
        StageRecord(stage="x", action=StageAction.ABSTAINED),
        StageRecord(stage="y", action=StageAction.OTHER),
    )
    assert selection.descriptors == (ToolDescriptor(name="b"),)
    assert selection.provider_tool_choice == {"type": "tool"}
    assert without.descriptors is None


async def test_a_selection_that_says_nothing_has_no_force(
    client: Client, server: ScriptedServer
) -> None:
    selection = await client.select()

    assert selection.forced_choice is None and selection.provider_tool_choice is None
    assert (selection.tools, selection.trace, selection.decided) == ((), (), False)


async def test_what_select_is_asked_reaches_the_server(
    client: Client, server: ScriptedServer
) -> None:
    await client.select()
    await client.select(
        role="",
        candidates=(),
        forced_choice="",
        resolved_tools=["a"],
        intent=Intent("action", ("a",)),
        query="q",
        extra={"n": 10**20},
        include_descriptors=True,
        format="gemini",
    )

    plain, asked = server.requests
    assert plain == pb.SelectRequest(state=selection_pb2.SelectionState())
    assert asked == pb.SelectRequest(
        role="",
        candidates=tool_pb2.ToolNames(),
        state=selection_pb2.SelectionState(
            forced_choice="",
            resolved_tools=tool_pb2.ToolNames(names=["a"]),
            intent=selection_pb2.IntentVerdict(label="action", matched_tools=["a"]),
            query="q",
            extra_json='{"n":100000000000000000000}',
        ),
        include_descriptors=True,
        format=pb.MANIFEST_FORMAT_GEMINI,
    )
    assert asked.HasField("candidates") and asked.state.HasField("forced_choice")


async def sent(
    client: Client, server: ScriptedServer, messages: list[Any]
) -> list[selection_pb2.HistoryMessage]:
    await client.select(messages=messages)
    return list(server.requests[-1].messages)


def wire(role: int, **fields: Any) -> selection_pb2.HistoryMessage:
    return selection_pb2.HistoryMessage(role=role, **fields)  # type: ignore[arg-type]


SYSTEM, USER = selection_pb2.ROLE_SYSTEM, selection_pb2.ROLE_USER
ASSISTANT, TOOL = selection_pb2.ROLE_ASSISTANT, selection_pb2.ROLE_TOOL
search = selection_pb2.ToolCallRef(id="c1", name="search")
conversation = [
    wire(SYSTEM, text="Be brief."),
    wire(USER, text="Find it."),
    wire(ASSISTANT, text="On it.", tool_calls=[search]),
    wire(TOOL, tool_call_id="c1", text="found"),
]


async def test_a_conversation_of_ones_own_messages_is_sent(
    client: Client, server: ScriptedServer
) -> None:
    assert conversation == await sent(
        client,
        server,
        [
            Message("system", "Be brief."),
            Message("user", "Find it."),
            Message("assistant", "On it.", tool_calls=(ToolCallRef("c1", "search"),)),
            Message("tool", "found", tool_call_id="c1"),
        ],
    )


async def test_a_conversation_as_openai_has_it_is_sent(
    client: Client, server: ScriptedServer
) -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "search", "arguments": "{}"}}

    assert conversation == await sent(
        client,
        server,
        [
            {"role": "developer", "content": "Be brief."},
            {"role": "user", "content": [{"type": "text", "text": "Find it."}]},
            {"role": "assistant", "content": "On it.", "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "c1", "content": "found"},
        ],
    )


async def test_a_conversation_as_anthropic_has_it_is_sent(
    client: Client, server: ScriptedServer
) -> None:
    use = {"type": "tool_use", "id": "c1", "name": "search", "input": {}}
    result = {"type": "tool_result", "tool_use_id": "c1", "content": "found"}

    messages = await sent(
        client,
        server,
        [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "Find it."},
            {"role": "assistant", "content": [{"type": "text", "text": "On it."}, use]},
            {"role": "user", "content": [result]},
        ],
    )

    # The answers of tools are no word of the user's.
    assert messages == conversation


async def test_a_conversation_as_langchain_has_it_is_sent(
    client: Client, server: ScriptedServer
) -> None:
    lc = pytest.importorskip("langchain_core.messages")
    call = {"id": "c1", "name": "search", "args": {}, "type": "tool_call"}
    use = {"type": "tool_use", "id": "c1", "name": "search", "input": {}}

    messages = await sent(
        client,
        server,
        [
            lc.SystemMessage("Be brief."),
            lc.HumanMessage("Find it."),
            lc.AIMessage(content=[{"type": "text", "text": "On it."}, use], tool_calls=[call]),
            lc.ToolMessage("found", tool_call_id="c1"),
            lc.AIMessageChunk("streamed"),
        ],
    )

    assert messages == [*conversation, wire(ASSISTANT, text="streamed")]
