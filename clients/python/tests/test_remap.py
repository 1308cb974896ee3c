"""The ids of a message's tool calls are replaced, and nothing else."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from cases import Case, cases

from toolport import InvalidRequest, remap_tool_call_ids

_CLASSES = {"ai": "AIMessage", "ai_chunk": "AIMessageChunk", "human": "HumanMessage"}


def langchain(message: dict[str, Any]) -> Any:
    lc = pytest.importorskip("langchain_core.messages")
    fields = {key: value for key, value in message.items() if key != "role"}
    return getattr(lc, _CLASSES[message["role"]])(**fields)


def ids(entries: list[Any]) -> list[Any]:
    return [entry["id"] for entry in entries]


@pytest.mark.parametrize("case", cases("remap"), ids=str)
def test_a_dict_is_remapped_as_the_cases_say(case: Case) -> None:
    message, expect = case.input["message"], case.expect
    before = copy.deepcopy(message)

    if expect.get("error"):
        with pytest.raises(InvalidRequest) as raised:
            remap_tool_call_ids(message, case.input["call_ids"])
        assert all(part in str(raised.value) for part in expect["contains"])
    else:
        remapped = remap_tool_call_ids(message, case.input["call_ids"])

        assert (remapped is message) == expect["same_object"]
        for name in message:
            expected = expect["message"].get(name)
            # LangChain adds the type of what it has read; a dict keeps what it has.
            if name in ("tool_calls", "tool_call_chunks"):
                assert ids(remapped[name]) == ids(expected)
            elif name != "invalid_tool_calls":
                assert remapped[name] == expected
    assert message == before


@pytest.mark.parametrize("case", cases("remap"), ids=str)
def test_a_langchain_message_is_remapped_as_the_cases_say(case: Case) -> None:
    message, expect = langchain(case.input["message"]), case.expect
    before = message.model_dump()

    if expect.get("error"):
        with pytest.raises(InvalidRequest) as raised:
            remap_tool_call_ids(message, case.input["call_ids"])
        assert all(part in str(raised.value) for part in expect["contains"])
    else:
        remapped = remap_tool_call_ids(message, case.input["call_ids"])

        assert type(remapped) is type(message)
        assert (remapped is message) == expect["same_object"]
        shown = remapped.model_dump()
        for name, expected in expect["message"].items():
            if name != "role" and not (name == "tool_calls" and name not in shown):
                assert shown[name] == expected
    assert message.model_dump() == before


def test_a_mapping_applies_by_each_calls_own_id_at_once() -> None:
    message: dict[str, Any] = {
        "tool_calls": [{"id": "a"}, {"id": "b"}, {"id": "c"}, {"id": None}],
        "content": ["text", {"type": "tool_use", "id": "b"}, {"type": "text", "id": "a"}],
        "tool_call_chunks": ({"id": "a"},),
    }

    remapped = remap_tool_call_ids(message, {"a": "b", "b": "a", "unused": "x"})

    assert remapped == {
        "tool_calls": [{"id": "b"}, {"id": "a"}, {"id": "c"}, {"id": None}],
        "content": ["text", {"type": "tool_use", "id": "a"}, {"type": "text", "id": "a"}],
        "tool_call_chunks": ({"id": "b"},),
    }
    assert remapped["content"][2] is message["content"][2]
    assert remap_tool_call_ids(message, {"z": "y"}) is message


def test_one_string_is_no_list_of_ids() -> None:
    with pytest.raises(InvalidRequest, match="one string"):
        remap_tool_call_ids({"tool_calls": [{"id": "a"}]}, "b")
