"""What stands in a contract case: its placeholders, and its matchers.

``src/conformance/README.md`` says what they mean.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from typing import Any

from contract_faults import compare_fault

Variables = dict[str, str]
ABSENT = object()
"""What a key that is not there holds."""


def fill(data: Any, variables: Variables) -> Any:
    """Data with its placeholders, ``$repeat`` and ``$concat`` replaced by what they stand for."""
    if isinstance(data, str):
        return re.sub(r"\{\{(\w+)\}\}", lambda found: variables[found[1]], data)
    if isinstance(data, list):
        return [fill(each, variables) for each in data]
    if not isinstance(data, dict):
        return data
    if list(data) == ["$repeat"]:
        text, times = data["$repeat"]
        return fill(text, variables) * times
    if list(data) == ["$concat"]:
        return "".join(fill(each, variables) for each in data["$concat"])
    return {fill(key, variables): fill(value, variables) for key, value in data.items()}


def compare(actual: Any, expected: Any, captured: Variables, at: str = "it") -> list[str]:
    """A sentence for each difference of what came from what is expected, as canonical JSON."""
    return list(_differences(actual, expected, captured, at))


def _differences(actual: Any, expected: Any, captured: Variables, at: str) -> Iterator[str]:
    if expected is None:
        if actual is not ABSENT:
            yield f"{at} is {_show(actual)}, expected it to be absent"
    elif isinstance(expected, list):
        if not isinstance(actual, list) or len(actual) != len(expected):
            yield _differs(at, actual, f"{len(expected)} of {_show(expected)}")
        else:
            for n, (came, part) in enumerate(zip(actual, expected, strict=True)):
                yield from _differences(came, part, captured, f"{at}[{n}]")
    elif isinstance(expected, dict):
        keys = list(expected)
        if len(keys) == 1 and keys[0].startswith("$"):
            yield from _MATCHERS[keys[0]](actual, expected[keys[0]], captured, at)
        elif isinstance(actual, dict):
            for key, part in expected.items():
                yield from _differences(actual.get(key, ABSENT), part, captured, f"{at}.{key}")
        # What is absent has no parts; that is no difference where none is asked for.
        elif actual is not ABSENT or any(part is not None for part in expected.values()):
            yield _differs(at, actual, "an object")
    elif not _is_same(actual, expected):
        yield _differs(at, actual, _show(expected))


def _any(actual: Any, _: object, captured: Variables, at: str) -> Iterator[str]:
    if actual is ABSENT:
        yield _differs(at, actual, "anything")


def _capture(actual: Any, name: str, captured: Variables, at: str) -> Iterator[str]:
    yield from _any(actual, None, captured, at)
    captured[name] = actual if isinstance(actual, str) else _show(actual)


def _matches(actual: Any, pattern: str, captured: Variables, at: str) -> Iterator[str]:
    if not isinstance(actual, str) or not re.search(pattern, actual):
        yield _differs(at, actual, f"a text that matches {pattern}")


def _contains(actual: Any, texts: str | list[str], captured: Variables, at: str) -> Iterator[str]:
    for text in [texts] if isinstance(texts, str) else texts:
        if not isinstance(actual, str) or text not in actual:
            yield _differs(at, actual, f"a text with {text!r}")


def _json(actual: Any, value: Any, captured: Variables, at: str) -> Iterator[str]:
    try:
        same = isinstance(actual, str) and _is_same(json.loads(actual), value)
    except ValueError:
        same = False
    if not same:
        yield _differs(at, actual, f"JSON of {_show(value)}")


def _range(actual: Any, bounds: list[Any], captured: Variables, at: str) -> Iterator[str]:
    least, most = bounds
    number = 0 if actual is ABSENT else actual
    if (
        isinstance(number, bool)
        or not isinstance(number, int | float)
        or (least is not None and number < least)
        or (most is not None and number > most)
    ):
        yield _differs(at, actual, f"a number within {bounds}")


def _size(actual: Any, size: int, captured: Variables, at: str) -> Iterator[str]:
    given = actual.encode() if isinstance(actual, str) else actual
    found = len(given) if isinstance(given, bytes | list) else None
    if found != size:
        yield f"{at} has the size {found}, expected {size}"


def _includes(actual: Any, parts: list[Any], captured: Variables, at: str) -> Iterator[str]:
    for part in parts:
        if not any(
            not compare(item, part, captured, at)
            for item in (actual if isinstance(actual, list) else [])
        ):
            yield _differs(at, actual, f"a list with {_show(part)}")


def _exactly(actual: Any, parts: dict[str, Any], captured: Variables, at: str) -> Iterator[str]:
    given = actual if isinstance(actual, dict) else {}
    for key, part in parts.items():
        yield from _differences(given.get(key, ABSENT), part, captured, f"{at}.{key}")
    for key in given.keys() - parts.keys():
        yield f"{at} has {key!r}, expected no such key"


def _all(actual: Any, parts: list[Any], captured: Variables, at: str) -> Iterator[str]:
    for part in parts:
        yield from _differences(actual, part, captured, at)


def _fault(actual: Any, fault: dict[str, Any], captured: Variables, at: str) -> Iterator[str]:
    given = actual if isinstance(actual, dict) else {}
    yield from compare_fault(given, fault, lambda a, e, p: compare(a, e, captured, p), at)


_MATCHERS: dict[str, Callable[[Any, Any, Variables, str], Iterator[str]]] = {
    "$any": _any,
    "$capture": _capture,
    "$matches": _matches,
    "$contains": _contains,
    "$json": _json,
    "$range": _range,
    "$size": _size,
    "$includes": _includes,
    "$exactly": _exactly,
    "$all": _all,
    "$fault": _fault,
}


def _is_same(a: Any, b: Any) -> bool:
    # To Python True is 1.
    if isinstance(a, bool) != isinstance(b, bool):
        return False
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(_is_same(a[key], b[key]) for key in a)
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(_is_same, a, b))
    return bool(a == b)


def _differs(at: str, actual: Any, expected: str) -> str:
    return f"{at} is {_show(actual)}, expected {expected}"


def _show(data: Any) -> str:
    if data is ABSENT:
        return "absent"
    text = json.dumps(data, ensure_ascii=False)
    return text if len(text) <= 400 else f"{text[:400]}… ({len(text)} characters)"
