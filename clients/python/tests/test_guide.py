"""The pages' snippets run, in their order, and print what they say."""

from __future__ import annotations

import ast
import contextlib
import inspect
import io
import re
from pathlib import Path
from typing import Any

import pytest
from cases import ROOT

from toolport import Sidecar

GUIDE = ROOT / "docs" / "python.md"
CLIENTS = ROOT / "docs" / "write-a-client.md"
EXAMPLES = ROOT / "examples"

pytestmark = pytest.mark.skipif(
    not GUIDE.is_file() or not (ROOT / "dist" / "src" / "cli" / "main.js").is_file(),
    reason="the guide is not here, or toolport is not built",
)


def snippets(page: Path) -> list[tuple[str, str]]:
    """Each snippet, and what stands below it as its output."""
    text = page.read_text(encoding="utf-8")
    found = re.findall(r"```python\n(.*?)```\n(?:\n```text\n(.*?)```)?", text, re.DOTALL)
    assert len(found) == text.count("```python")
    return found


async def test_the_guides_snippets_print_what_it_says(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("symfonic.core")
    monkeypatch.chdir(EXAMPLES)
    async with Sidecar.spawn("tools.ts") as sidecar, sidecar.aport() as aport:
        with sidecar.port() as port:
            names: dict[str, Any] = {}
            for code, expected in snippets(GUIDE):
                # A snippet may have closed the client of its own name.
                names |= {"port": port, "aport": aport}
                assert await printed(GUIDE, code, names) == expected, code


async def test_a_client_that_is_written_by_its_page_prints_what_it_says(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(EXAMPLES)
    node, main = ROOT / "node_modules" / ".bin" / "node", ROOT / "dist" / "src" / "cli" / "main.js"
    names: dict[str, Any] = {"toolport": [str(node), str(main)]}
    try:
        for code, expected in snippets(CLIENTS):
            assert await printed(CLIENTS, code, names) == expected, code
    finally:
        if sidecar := names.get("sidecar"):
            sidecar.kill()
            sidecar.communicate()


async def printed(page: Path, code: str, names: dict[str, Any]) -> str:
    """What a snippet prints; it takes and leaves names."""
    output = io.StringIO()
    compiled = compile(code, str(page), "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    with contextlib.redirect_stdout(output):
        running = eval(compiled, names)
        if inspect.iscoroutine(running):
            await running
    return output.getvalue()
