"""The contract's cases, on the channels of both clients and as the package reads them."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest
from cases import CONFORMANCE, ROOT
from contract_aio import AioRpc
from contract_case import run_case
from contract_rpcs import Method, Rpc
from contract_sync import SyncRpc
from contract_values import ABSENT, compare

from toolport import AsyncToolPort, ToolPort

NODE = ROOT / "node_modules" / ".bin" / "node"
SERVER = CONFORMANCE / "contract" / "server.ts"
CASES = ROOT / "src" / "conformance" / "cases"
MATCHING = CONFORMANCE / "contract" / "matching.json"

pytestmark = pytest.mark.skipif(
    not NODE.exists() or not SERVER.exists(), reason="the cases' server is not here"
)


class Servers(NamedTuple):
    """What is served for the cases: where, and what they need to know of it."""

    addresses: dict[str, str]
    token: str
    digests: dict[str, str]


def contract_cases() -> list[Any]:
    """Every case; none where only the package is here, without its repository."""
    return [
        pytest.param(case, id=case["id"], marks=marks(case))
        for file in sorted(CASES.glob("*.json"))
        for case in json.loads(file.read_text(encoding="utf-8"))["cases"]
    ]


def marks(case: dict[str, Any]) -> list[pytest.MarkDecorator]:
    only = case.get("only")
    if only and "grpc" not in only["protocols"]:
        return [pytest.mark.skip(reason=only["why"])]
    if "knownFailure" in case:
        return [pytest.mark.xfail(strict=True, reason=case["knownFailure"])]
    return []


@pytest.fixture(scope="module")
def servers() -> Iterator[Servers]:
    server = subprocess.Popen(
        [NODE, SERVER], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert server.stdin is not None and server.stdout is not None
    try:
        line = server.stdout.readline()
        assert line, "the contract's servers ended before they served"
        served = json.loads(line)
        digests = {}
        for name, address in served["servers"].items():
            with ToolPort(address, token=served["token"] if name == "guarded" else None) as port:
                digests[name] = port.manifest().digest
        yield Servers(served["servers"], served["token"], digests)
    finally:
        server.stdin.close()
        server.wait(20)
        server.stdout.close()


@pytest.mark.parametrize("case", contract_cases())
async def test_sync(servers: Servers, case: dict[str, Any]) -> None:
    name = case.get("server", "main")
    with ToolPort(servers.addresses[name]) as port:

        def open_rpc(method: Method, metadata: dict[str, str], timeout: float | None) -> Rpc:
            return SyncRpc(port, method, metadata, timeout)

        found = await run_case(case, open_rpc, servers.digests[name], servers.token)
    assert not found, "\n".join([case["title"], *found])


@pytest.mark.parametrize("case", contract_cases())
async def test_aio(servers: Servers, case: dict[str, Any]) -> None:
    name = case.get("server", "main")
    async with AsyncToolPort(servers.addresses[name]) as port:

        def open_rpc(method: Method, metadata: dict[str, str], timeout: float | None) -> Rpc:
            return AioRpc(port, method, metadata, timeout)

        found = await run_case(case, open_rpc, servers.digests[name], servers.token)
    assert not found, "\n".join([case["title"], *found])


@pytest.mark.parametrize(
    ("id", "instead"),
    [
        ("manifest/all", "empty"),
        ("execute/echo", "empty"),
        ("retry/replay", "narrow"),
        ("access/manifest", "main"),
        ("limits/overloaded", "main"),
    ],
)
async def test_a_server_that_breaks_the_contract_is_found_out(
    servers: Servers, id: str, instead: str
) -> None:
    (case,) = (param.values[0] for param in contract_cases() if param.id == id)
    with ToolPort(servers.addresses[instead]) as port:
        found = await run_case(
            case,
            lambda *rpc: SyncRpc(port, *rpc),
            servers.digests[case.get("server", "main")],
            servers.token,
        )
    assert found and found[0].startswith("step ")


def test_the_matchers_match_what_they_say_and_nothing_else() -> None:
    table = json.loads(MATCHING.read_text(encoding="utf-8"))
    assert table
    for row in table:
        expected = row["expected"]
        for each in row["matches"]:
            assert compare(each.get("value", ABSENT), expected, {}) == [], (expected, each)
        for each in row["differs"]:
            assert compare(each.get("value", ABSENT), expected, {}), (expected, each)
