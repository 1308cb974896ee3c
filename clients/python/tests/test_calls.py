"""Execute and Refuse: dicts in, dataclasses out."""

from __future__ import annotations

from decimal import Decimal

import pytest
from conftest import Client
from scripted import ScriptedServer, arguments, done, returns, sends

from toolport import (
    Content,
    ErrorKind,
    InvalidRequest,
    Output,
    Progress,
    ToolCall,
    ToolPortError,
)
from toolport.v1 import tool_pb2
from toolport.v1 import tool_port_service_pb2 as pb


async def test_an_outcome_comes_with_all_that_the_server_said(
    client: Client, server: ScriptedServer
) -> None:
    server.tools["look"] = returns(
        result='{"n":1}',
        structured_json='{"n":1}',
        content=[
            tool_pb2.Content(mime_type="image/png", data=b"\x89PNG", name="a.png"),
            tool_pb2.Content(mime_type="text/html", uri="https://example.com"),
        ],
        duration_ms=12.5,
        replayed=True,
        attempt=2,
    )

    call = await client.execute("look", {"at": "é"}, call_id="c1", run_id="r1")

    assert call == ToolCall(
        id="c1",
        name="look",
        arguments_json='{"at":"é"}',
        result='{"n":1}',
        structured_json='{"n":1}',
        content=(
            Content("image/png", data=b"\x89PNG", name="a.png"),
            Content("text/html", uri="https://example.com"),
        ),
        duration_ms=12.5,
        replayed=True,
        attempt=2,
    )
    assert call.ok and call.value == {"n": 1} and call.arguments == {"at": "é"}
    assert server.requests[0].request.run_id == "r1"


async def test_a_tool_that_fails_is_an_outcome_and_not_an_exception(
    client: Client, server: ScriptedServer
) -> None:
    server.tools["fail"] = returns(error="ValueError: ", error_kind=tool_pb2.ERROR_KIND_RAISED)

    call = await client.execute("fail")

    assert not call.ok
    assert (call.error, call.error_kind, call.result) == ("ValueError: ", ErrorKind.RAISED, None)
    assert call.text == "ValueError: " and call.value is None


async def test_an_empty_result_is_a_success(client: Client, server: ScriptedServer) -> None:
    server.tools["quiet"] = returns(result="")

    call = await client.execute("quiet")

    assert call.ok and call.result == "" and call.value == "" and call.error_kind is None


async def test_text_that_looks_like_json_stays_text(client: Client, server: ScriptedServer) -> None:
    server.tools["text"] = returns(result='{"a": 1}')

    assert (await client.execute("text")).value == '{"a": 1}'


async def test_a_kind_of_failure_that_is_newer_than_the_client_is_told_as_other(
    client: Client, server: ScriptedServer
) -> None:
    server.tools["new"] = returns(error="Novelty: x", error_kind=999)

    assert (await client.execute("new")).error_kind is ErrorKind.OTHER


async def test_numbers_keep_every_digit_both_ways(client: Client, server: ScriptedServer) -> None:
    numbers = {
        "big": 86420975310864213,
        "bigger": 10**40,
        "whole": 3,
        "ratio": 0.5,
        "tiny": 1e-300,
        "exact": Decimal("0.12345678901234567890123"),
        "yes": True,
    }

    call = await client.execute("echo", numbers)

    assert call.value == numbers
    assert [type(v) for v in call.value.values()] == [type(v) for v in numbers.values()]


async def test_arguments_are_sent_as_they_are(client: Client, server: ScriptedServer) -> None:
    sent = {"nested": {"list": [1, None, {"k": "v"}], "pair": (1, 2)}, "text": 'é"\\\n\u2028😀'}

    await client.execute("echo", sent)
    await client.execute("echo", None)
    await client.execute("echo", {})

    assert arguments(server.requests[0]) == {
        "nested": {"list": [1, None, {"k": "v"}], "pair": [1, 2]},
        "text": 'é"\\\n\u2028😀',
    }
    assert [r.request.arguments_json for r in server.requests[1:]] == ["{}", "{}"]


async def test_a_call_without_an_id_gets_one_of_its_own(
    client: Client, server: ScriptedServer
) -> None:
    ids = {(await client.execute("echo")).id for _ in range(20)}

    assert len(ids) == 20 and "" not in ids


async def test_the_options_of_a_call_reach_the_server(
    client: Client, server: ScriptedServer
) -> None:
    await client.execute(
        "echo",
        tool_timeout=1.5,
        expected_digest="sha256:ab",
        metadata={"traceparent": "00-1", "näme": "värde"},
        on_disconnect="continue",
    )
    await client.execute("echo")

    request, plain = server.requests
    assert request.timeout_ms == 1500 and request.expected_digest == "sha256:ab"
    assert dict(request.metadata) == {"traceparent": "00-1", "näme": "värde"}
    assert request.on_disconnect == pb.ON_DISCONNECT_CONTINUE
    assert not plain.HasField("timeout_ms") and plain.accept_chunks


@pytest.mark.parametrize(
    "options",
    [
        {"tool_timeout": 0},
        {"tool_timeout": -1},
        {"tool_timeout": float("nan")},
        {"tool_timeout": float("inf")},
        {"timeout": float("nan")},
        {"timeout": "5"},
        {"tool_timeout": "5"},
        {"tool_timeout": [1]},
        {"on_disconnect": "stay"},
        {"on_disconnect": []},
        {"metadata": ["a"]},
        {"metadata": {"a": 1}},
        {"call_id": "\ud800"},
    ],
)
async def test_an_option_that_makes_no_sense_is_refused_before_anything_is_sent(
    client: Client, server: ScriptedServer, options: dict[str, object]
) -> None:
    with pytest.raises(InvalidRequest) as raised:
        await client.execute("echo", **options)

    assert raised.value.started == "no" and next(iter(options)) in str(raised.value)
    assert server.requests == []


async def test_the_events_of_a_call_come_in_order_and_its_outcome_last(
    client: Client, server: ScriptedServer
) -> None:
    server.tools["busy"] = lambda request, context: iter(
        [
            pb.ExecuteResponse(progress=pb.ToolProgress(done=1, total=4, message="one")),
            pb.ExecuteResponse(progress=pb.ToolProgress(done=2)),
            pb.ExecuteResponse(output=pb.ToolOutput(text="line\n")),
            pb.ExecuteResponse(output=pb.ToolOutput(json='{"id":9007199254740993}')),
            pb.ExecuteResponse(
                output=pb.ToolOutput(content=tool_pb2.Content(mime_type="a/b", data=b""))
            ),
            pb.ExecuteResponse(),  # An event of a newer contract.
            done(request, result="ok"),
        ]
    )

    *events, call = await client.events("busy")

    assert events == [
        Progress(1, 4, "one"),
        Progress(2, None, ""),
        Output(text="line\n"),
        Output(json='{"id":9007199254740993}'),
        Output(content=Content("a/b", data=b"")),
    ]
    assert [e.value for e in events if isinstance(e, Output)][:2] == [
        "line\n",
        {"id": 9007199254740993},
    ]
    assert isinstance(call, ToolCall) and call.result == "ok"


async def test_a_result_that_comes_in_parts_is_joined(
    client: Client, server: ScriptedServer
) -> None:
    text = "é" * 1000
    data = text.encode()
    server.tools["large"] = lambda request, context: iter(
        [
            *(
                # Odd lengths end within a character.
                pb.ExecuteResponse(chunk=pb.ResultChunk(part=i, data=data[at : at + 333]))
                for i, at in enumerate(range(0, len(data), 333))
            ),
            done(request, result=""),
        ]
    )

    assert (await client.events("large"))[0].result == text  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("events", "says"),
    [
        ([], "without its outcome"),
        ([pb.ExecuteResponse(call=tool_pb2.ToolCall(id="c"))], "neither"),
        ([pb.ExecuteResponse(call=tool_pb2.ToolCall(id="c", result="", error=""))], "both"),
        ([pb.ExecuteResponse(chunk=pb.ResultChunk(part=1))], "part 0 was due"),
        ([pb.ExecuteResponse(call=tool_pb2.ToolCall(id="c", result=""))] * 2, "went on"),
    ],
)
async def test_a_server_that_breaks_the_contract_is_a_fault_and_never_an_outcome(
    client: Client, server: ScriptedServer, events: list[pb.ExecuteResponse], says: str
) -> None:
    server.tools["broken"] = sends(*events)

    with pytest.raises(ToolPortError, match=says) as raised:
        await client.execute("broken")

    assert raised.value.started == "unknown"


async def test_a_refused_call_has_the_reason_as_its_error(
    client: Client, server: ScriptedServer
) -> None:
    call = await client.refuse("mail", {"to": "a@b"}, reason="needs approval", call_id="c-9")
    bare = await client.refuse("mail")

    assert (call.id, call.error, call.error_kind) == ("c-9", "needs approval", ErrorKind.REFUSED)
    assert call.arguments == {"to": "a@b"} and call.duration_ms == 0.0 and call.result is None
    assert bare.error == "refused by a tool precondition" and bare.id


async def test_a_message_within_64_mib_passes_and_a_larger_one_was_not_sent(
    client: Client, server: ScriptedServer
) -> None:
    text = "x" * (20 << 20)

    assert (await client.execute("echo", {"text": text})).value == {"text": text}
    with pytest.raises(ToolPortError) as raised:
        await client.execute("echo", {"text": "x" * (65 << 20)})

    assert (raised.value.reason, raised.value.started) == ("MESSAGE_TOO_LARGE", "no")
