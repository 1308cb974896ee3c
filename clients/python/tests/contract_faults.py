"""Holds a ``google.rpc.Status`` to the fault that a contract case expects."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

import grpc
from cases import ROOT

_CODES = {code.value[0]: code.name for code in grpc.StatusCode}
_SERVICE = ROOT / "proto" / "toolport" / "v1" / "tool_port_service.proto"


def reasons() -> dict[str, str]:
    """Each reason of the contract's table, with the status that it travels as."""
    return dict(re.findall(r"^// \| ([A-Z_]+) +\| ([A-Z_]+) +\|", _SERVICE.read_text(), re.M))


def code_of(status: dict[str, Any]) -> str:
    """The name of a status' code."""
    return _CODES.get(status.get("code", 0), str(status.get("code")))


def compare_fault(
    status: dict[str, Any],
    expected: dict[str, Any],
    compare: Callable[[Any, Any, str], list[str]],
    at: str = "the fault",
) -> Iterator[str]:
    """A sentence for each difference; ``compare`` holds a text to what is expected of it."""
    code, message = code_of(status), status.get("message", "")
    if code != expected["code"]:
        yield f"{at} is {code} ({message}), expected {expected['code']}"
        return
    if expected.get("local"):
        return
    infos, retries = (
        [each for each in status.get("details", []) if each["@type"].endswith(f"/{kind}")]
        for kind in ("google.rpc.ErrorInfo", "google.rpc.RetryInfo")
    )
    if len(infos) != 1:
        yield f"{at} has {len(infos)} details of google.rpc.ErrorInfo, expected one"
        return
    reason, domain = infos[0].get("reason"), infos[0].get("domain")
    started = infos[0].get("metadata", {}).get("started")
    if domain != "toolport":
        yield f"{at}'s domain is {domain}, expected toolport"
    if reasons().get(reason) != code:
        yield f"{at}'s reason is {reason}, which is none of the contract's for {code}"
    if started not in ("no", "yes", "unknown"):
        yield f"{at}'s started is {started}, expected no, yes or unknown"
    if not message or re.search(r"\n\s+at ", message):
        yield f"{at}'s message is {message!r}, expected a sentence without a stack"
    if expected.get("reason", reason) != reason:
        yield f"{at}'s reason is {reason} ({message}), expected {expected['reason']}"
    if expected.get("started", started) != started:
        yield f"{at}'s started is {started}, expected {expected['started']}"
    if "message" in expected:
        yield from compare(message, expected["message"], f"{at}'s message")
    if expected.get("retryInfo"):
        delay = retries[0].get("retryDelay", "0s") if retries else "0s"
        if not float(delay.removesuffix("s")) > 0:
            yield f"{at} has no google.rpc.RetryInfo with a delay above 0"
