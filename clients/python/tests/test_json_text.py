"""JSON text carries a value exactly or not at all."""

from __future__ import annotations

import dataclasses
import datetime
import json
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolport import InvalidRequest, ToolPortError
from toolport.json_text import dump, load

finite = st.floats(allow_nan=False, allow_infinity=False)
text = st.text(st.characters(exclude_categories=["Cs"]))
values = st.recursive(
    st.none() | st.booleans() | st.integers() | finite | text,
    lambda inner: st.lists(inner) | st.dictionaries(text, inner),
)


@given(st.dictionaries(text, values))
def test_every_value_comes_back_as_it_was(value: dict[str, Any]) -> None:
    written = dump(value, "arguments")

    assert load(written, "it") == value
    # As any other reader sees it.
    assert json.loads(written) == value


@given(st.decimals(allow_nan=False, allow_infinity=False))
def test_a_decimal_keeps_its_value(number: Decimal) -> None:
    read = load(dump({"n": number}, "arguments"), "it")["n"]

    assert Decimal(str(read)) == number


def test_integers_and_floats_stay_what_they_are() -> None:
    read = load('{"i": 20, "f": 20.0, "e": 2e1, "max": 9223372036854775807}', "it")

    assert [type(v) for v in read.values()] == [int, float, float, int]
    assert read["max"] == 2**63 - 1


def test_a_number_that_no_float_can_hold_is_a_decimal() -> None:
    assert load("1e400", "it") == Decimal("1e400")
    assert load("0.1000000000000000055511151231257827", "it") != 0.1
    assert load("9" * 5000, "it") == Decimal("9" * 5000)


@dataclasses.dataclass
class Point:
    x: int


def cyclic() -> dict[str, Any]:
    value: dict[str, Any] = {}
    value["self"] = value
    return value


@pytest.mark.parametrize(
    ("value", "says"),
    [
        ({"a": [1, {"b": float("nan")}]}, r"arguments\.a\[1\]\.b is nan"),
        ({"a": float("-inf")}, r"arguments\.a is -inf"),
        ({"a": Decimal("NaN")}, "NaN"),
        ({"a": {1, 2}}, r"arguments\.a is a set.*make it a list"),
        ({"a": b"x"}, "bytes.*base64"),
        ({"a": datetime.date(2026, 5, 1)}, "date.*isoformat"),
        ({"a": Point(1)}, "Point"),
        ({"a": 1j}, "complex"),
        ({"a": {1: "x"}}, r"arguments\.a has the key 1, a int"),
        ({None: 1}, "the key None"),
        ({"a": "\ud800"}, "lone surrogate"),
        ({"\udfff": 1}, "lone surrogate"),
        ({"a": 10**5000}, "too many digits"),
        (cyclic(), "contains itself"),
        ([1], "must be a mapping, not list"),
        ("text", "must be a mapping, not str"),
    ],
)
def test_what_json_cannot_carry_is_named_with_its_place(
    value: Mapping[str, Any], says: str
) -> None:
    with pytest.raises(InvalidRequest, match=says) as raised:
        dump(value, "arguments")

    assert isinstance(raised.value, ValueError) and raised.value.started == "no"


@pytest.mark.parametrize("broken", ["{", "NaN", "[1,]", "[" * 100_000])
def test_text_that_is_not_json_says_what_it_should_have_been(broken: str) -> None:
    with pytest.raises(ToolPortError, match="the schema"):
        load(broken, "the schema")
