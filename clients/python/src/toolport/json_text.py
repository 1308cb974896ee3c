"""JSON text that carries every value exactly, or says why it can't.

The json module writes NaN, turns the key 1 into "1" and rounds long decimals; none of that may
happen to the arguments of a call.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from decimal import Decimal
from json.encoder import encode_basestring
from typing import Any

from .errors import broken_contract, invalid_request


def dump(value: Mapping[str, Any] | None, what: str) -> str:
    """Writes a JSON object as compact text.

    Carried are None, booleans, integers, finite floats and Decimals, strings, lists, tuples, and
    mappings with string keys. ``what`` is how an error names the whole, such as ``arguments``.

    Raises:
        InvalidRequest: something in it can't be carried exactly; the text says where.
    """
    if value is None:
        return "{}"
    if not isinstance(value, Mapping):
        raise invalid_request(f"{what} must be a mapping, not {_type(value)}")
    return dump_value(value, what)


def dump_value(value: object, what: str) -> str:
    """Writes any value as compact text, of the kinds that :func:`dump` carries.

    Raises:
        InvalidRequest: something in it can't be carried exactly; the text says where.
    """
    parts: list[str] = []
    try:
        _write(value, what, parts)
    except RecursionError:
        raise invalid_request(f"{what} is nested too deeply, or contains itself") from None
    return "".join(parts)


def load(text: str, what: str) -> Any:
    """Reads JSON text. Integers stay integers of any length; a decimal is a float where that keeps
    its value as written, else a Decimal.

    Raises:
        ToolPortError: the text is not JSON, which breaks the contract.
    """
    try:
        return json.loads(
            text, parse_int=_read_int, parse_float=_read_decimal, parse_constant=_refuse_constant
        )
    except RecursionError:
        raise broken_contract(f"{what} is nested too deeply to be read") from None
    except ValueError as error:
        raise broken_contract(f"{what} is not JSON: {error}") from None


def _write(value: object, path: str, out: list[str]) -> None:
    # bool before int, which it is one of.
    if value is None:
        out.append("null")
    elif value is True:
        out.append("true")
    elif value is False:
        out.append("false")
    elif isinstance(value, str):
        out.append(_string(value, path))
    elif isinstance(value, int):
        out.append(_integer(value, path))
    elif isinstance(value, float):
        if not math.isfinite(value):
            raise invalid_request(f"{path} is {value!r}, which JSON can't carry")
        out.append(float.__repr__(value))
    elif isinstance(value, Decimal):
        if not value.is_finite():
            raise invalid_request(f"{path} is {value!r}, which JSON can't carry")
        out.append(str(value))
    elif isinstance(value, Mapping):
        _write_object(value, path, out)
    elif isinstance(value, (list, tuple)):
        separator = "["
        for index, item in enumerate(value):
            out.append(separator)
            _write(item, f"{path}[{index}]", out)
            separator = ","
        out.append("]" if separator == "," else "[]")
    else:
        raise invalid_request(f"{path} is a {_type(value)}, which JSON can't carry{_advice(value)}")


def _write_object(value: Mapping[Any, object], path: str, out: list[str]) -> None:
    separator = "{"
    for key, item in value.items():
        if not isinstance(key, str):
            raise invalid_request(
                f"{path} has the key {key!r}, a {_type(key)}; JSON can carry string keys only"
            )
        out.append(separator)
        out.append(_string(key, path))
        out.append(":")
        _write(item, f"{path}.{key}", out)
        separator = ","
    out.append("}" if separator == "," else "{}")


def _string(value: str, path: str) -> str:
    if not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError:
            raise invalid_request(
                f"{path} contains a lone surrogate, which UTF-8 can't carry"
            ) from None
    return encode_basestring(value)


def _integer(value: int, path: str) -> str:
    try:
        return int.__repr__(value)
    except ValueError:
        raise invalid_request(f"{path} is an integer of too many digits to be written") from None


def _type(value: object) -> str:
    return type(value).__name__


def _advice(value: object) -> str:
    if isinstance(value, (bytes, bytearray, memoryview)):
        return "; encode it as text, for example with base64"
    if isinstance(value, (set, frozenset)):
        return "; make it a list"
    if hasattr(value, "isoformat"):
        return "; pass its isoformat()"
    if hasattr(value, "model_dump"):
        return "; pass its model_dump(mode='json')"
    return ""


def _read_int(digits: str) -> int | Decimal:
    try:
        return int(digits)
    except ValueError:  # More digits than Python converts.
        return Decimal(digits)


def _read_decimal(digits: str) -> float | Decimal:
    number = float(digits)
    exact = Decimal(digits)
    if math.isfinite(number) and Decimal(repr(number)) == exact:
        return number
    return exact


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON number")
