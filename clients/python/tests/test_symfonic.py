"""The tools of a real sidecar in symfonic-core, and the kernel's tool port over it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from cases import ROOT

pytest.importorskip("symfonic.core")

from symfonic.core.tools.decorator import get_symfonic_metadata
from symfonic.core.tools.registry import SafetyLevel, ToolCategory, ToolRegistry

from toolport import Sidecar, ToolPortError
from toolport.symfonic import SymfonicToolPort, register, symfonic_tools

TOOLS = Path(__file__).with_name("tools.ts")

pytestmark = pytest.mark.skipif(
    not (ROOT / "dist" / "src" / "cli" / "main.js").is_file(), reason="toolport is not built here"
)


@pytest.fixture(scope="module")
def sidecar() -> Iterator[Sidecar]:
    with Sidecar.spawn(TOOLS) as sidecar:
        yield sidecar


@dataclass
class Request:
    call_id: str
    name: str
    arguments: dict[str, Any] = field(default_factory=dict)


async def test_tools_register_with_what_their_authors_said(sidecar: Sidecar) -> None:
    async with sidecar.aport() as port:
        made = await symfonic_tools(port)
    registry = register(ToolRegistry(), made)

    assert {"settings", "secret", "echo"} <= {tool.name for tool in registry.all_tools()}
    settings = registry.get_registration("settings")
    secret = registry.get_registration("secret")
    echo = registry.get_registration("echo")
    assert settings is not None and secret is not None and echo is not None
    assert (settings.category, settings.safety_level) == (ToolCategory.CHART, SafetyLevel.SAFE)
    assert (settings.cost_usd, settings.max_calls_per_invocation) == (0.25, 3)
    assert settings.visible_to_agents and not secret.visible_to_agents
    # What is not stated is the kernel's own default.
    assert (echo.category, echo.safety_level) == (ToolCategory.CUSTOM, SafetyLevel.RESTRICTED)
    marked = get_symfonic_metadata(secret.tool)
    assert marked is not None and (marked.scope, marked.visibility) == ("internal", "hidden")


async def test_registered_tools_run(sidecar: Sidecar) -> None:
    async with sidecar.aport() as port:
        registry = ToolRegistry().register_many(await symfonic_tools(port))
        echo = registry.get_registration("echo")
        assert echo is not None
        assert await echo.tool.ainvoke({"a": 1}) == '{"a":1}'


async def test_the_kernels_port_executes_and_refuses(sidecar: Sidecar) -> None:
    async with sidecar.aport() as port:
        kernel = SymfonicToolPort(port, run_id="sym")
        request = Request("c1", "echo", {"a": {"b": 1}})
        ran = await kernel.execute(request)
        unknown = await kernel.execute(Request("c2", "nope"))
        refused = await kernel.refuse(request, "not now")
        plain = await kernel.refuse(Request("c3", "nope"), "")

    assert (ran.id, ran.name, ran.result, ran.error) == ("c1", "echo", '{"a":{"b":1}}', None)
    assert ran.arguments is request.arguments and ran.duration_ms >= 0
    assert (unknown.result, unknown.error) == (None, "unknown tool 'nope'")
    assert (refused.result, refused.error, refused.duration_ms) == (None, "not now", 0.0)
    assert refused.arguments == request.arguments
    assert refused.arguments is not request.arguments
    assert plain.error == "refused by a tool precondition"


async def test_on_a_live_run_the_kernels_port_runs_run_aware_tools(sidecar: Sidecar) -> None:
    class Dead:
        def require_live(self) -> None:
            raise RuntimeError("run 'sym' is no longer live")

    async with sidecar.aport() as port:
        async with port.run("sym run", hosts={"approve": lambda payload: "yes"}) as run:
            kernel = SymfonicToolPort(run)
            assert (await kernel.execute(Request("c1", "ask"))).result == '{"answer":"yes"}'
            refused = await kernel.refuse(Request("c2", "ask"))
            assert (refused.error, refused.duration_ms) == ("refused by a tool precondition", 0.0)
            with pytest.raises(RuntimeError, match="no longer live"):
                await kernel.execute(Request("c3", "ask"), Dead())
        with pytest.raises(ToolPortError, match="no longer live"):
            await kernel.execute(Request("c4", "ask"))
