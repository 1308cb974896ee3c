"""Runs one case of the contract; ``src/conformance/README.md`` says what its steps do."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Callable
from typing import Any, NamedTuple

from contract_reading import Reading
from contract_rpcs import METHODS, Method, Rpc, json_of, status_of
from contract_values import ABSENT, compare, fill

Open = Callable[[Method, dict[str, str], float | None], Rpc]
"""Opens an RPC with its metadata and its timeout in seconds."""

_CASE_SECONDS = 20.0


class _Opened(NamedTuple):
    method: Method
    rpc: Rpc
    reading: Reading


async def run_case(case: dict[str, Any], open: Open, digest: str, token: str) -> list[str]:
    """A sentence for each difference, after the step that showed it; none where it passes."""
    execution = _Execution(open, {"run": str(uuid.uuid4()), "digest": digest, "token": token})
    at = ""
    try:
        async with asyncio.timeout(_CASE_SECONDS):
            for number, step in enumerate(case["steps"], 1):
                at = f"step {number} ({_describe(step)})"
                if found := await execution.take(step):
                    return [f"{at}: {each}" for each in found]
        return []
    except TimeoutError:
        return [f"{at}: it did not come within {_CASE_SECONDS:g} s"]
    finally:
        execution.close()


def _describe(step: dict[str, Any]) -> str:
    verb, of = next(iter(step.items()))
    return str(of) if verb == "call" else f"{verb} {of}"


class _Execution:
    def __init__(self, open: Open, variables: dict[str, str]) -> None:
        self._open = open
        self._variables = variables
        self._opened: dict[str, _Opened] = {}

    async def take(self, step: dict[str, Any]) -> list[str]:
        """Takes a step; returns the differences that it shows."""
        match step:
            case {"call": name}:
                await self._begin("the call", name, step)
                return await self._end("the call", step["expect"])
            case {"start": name}:
                await self._begin(name, step["rpc"], step)
            case {"send": name}:
                opened = self._opened[name]
                await opened.rpc.send(opened.method.read(self._fill(step), "message"))
            case {"receive": name, "anyOrder": parts}:
                return await self._receive_all(name, list(parts))
            case {"receive": name}:
                return await self._receive(name, step["message"])
            case {"halfClose": name}:
                await self._opened[name].rpc.half_close()
            case {"cancel": name}:
                self._opened[name].rpc.cancel()
            case {"end": name}:
                return await self._end(name, step["expect"])
            case {"pauseMs": ms}:
                await asyncio.sleep(ms / 1000)
            case _:
                raise ValueError(f"there is no such step: {step}")
        return []

    def close(self) -> None:
        for opened in self._opened.values():
            opened.rpc.cancel()

    async def _begin(self, name: str, rpc: str, step: dict[str, Any]) -> None:
        method = METHODS[rpc]
        metadata = self._fill(step.get("metadata", {}))
        timeout = step["timeoutMs"] / 1000 if "timeoutMs" in step else None
        opened = _Opened(method, self._open(method, metadata, timeout), Reading())
        self._opened[name] = opened
        if rpc != "Run":
            await opened.rpc.send(method.read(self._fill(step), "request"))

    async def _receive(self, name: str, expected: Any) -> list[str]:
        actual = await self._next(name)
        if actual is ABSENT:
            return await self._ended(name)
        return self._compare(actual, expected)

    async def _receive_all(self, name: str, left: list[Any]) -> list[str]:
        while left:
            actual = await self._next(name)
            if actual is ABSENT:
                return await self._ended(name)
            found = [self._compare(actual, each) for each in left]
            if [] not in found:
                return [f"{actual} came, expected any of {left}: {found}"]
            del left[found.index([])]
        return []

    async def _end(self, name: str, expect: dict[str, Any]) -> list[str]:
        came = []
        while (message := await self._next(name)) is not ABSENT:
            came.append(message)
        _, rpc, reading = self._opened[name]
        error = await rpc.ended()
        del self._opened[name]
        status = None if error is None else json_of(status_of(error))
        if error is not None:
            reading.fault(error)
        if fault := expect.get("fault"):
            if found := self._compare(status or {}, {"$fault": fault}):
                return found
        elif status is not None:
            return [f"the RPC ended with {status}, expected OK"]
        if reading.differences:
            return reading.differences
        if "lastMessage" in expect:
            return self._compare(came[-1] if came else ABSENT, expect["lastMessage"])
        if "message" in expect:
            return self._compare(came, [expect["message"]])
        return self._compare(came, expect.get("messages", []))

    async def _next(self, name: str) -> Any:
        _, rpc, reading = self._opened[name]
        message = await rpc.next()
        if message is None:
            return ABSENT
        reading.message(message)
        return json_of(message)

    async def _ended(self, name: str) -> list[str]:
        error = await self._opened[name].rpc.ended()
        how = "OK" if error is None else json_of(status_of(error))
        return [f"the RPC ended with {how}, expected a message"]

    def _compare(self, actual: Any, expected: Any) -> list[str]:
        return compare(actual, self._fill(expected), self._variables)

    def _fill(self, data: Any) -> Any:
        return fill(data, self._variables)
