"""The guide's snippets run, in its order, and print what it says."""

from __future__ import annotations

import ast
import contextlib
import inspect
import io
import re
from typing import Any

import pytest
from cases import ROOT

from toolport import Sidecar

GUIDE = ROOT / "docs" / "python.md"
EXAMPLES = ROOT / "examples"

pytestmark = pytest.mark.skipif(
    not GUIDE.is_file() or not (ROOT / "dist" / "src" / "cli" / "main.js").is_file(),
    reason="the guide is not here, or toolport is not built",
)


def snippets() -> list[tuple[str, str]]:
    """Each snippet, and what stands below it as its output."""
    text = GUIDE.read_text(encoding="utf-8")
    found = re.findall(r"```python\n(.*?)```\n(?:\n```text\n(.*?)```)?", text, re.DOTALL)
    assert len(found) == text.count("```python")
    return found


async def test_the_guides_snippets_print_what_it_says(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("symfonic.core")
    monkeypatch.chdir(EXAMPLES)
    async with Sidecar.spawn("tools.ts") as sidecar, sidecar.aport() as aport:
        with sidecar.port() as port:
            names: dict[str, Any] = {}
            for code, expected in snippets():
                # A snippet may have closed the client of its own name.
                names |= {"port": port, "aport": aport}
                printed = io.StringIO()
                compiled = compile(code, str(GUIDE), "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
                with contextlib.redirect_stdout(printed):
                    running = eval(compiled, names)
                    if inspect.iscoroutine(running):
                        await running
                assert printed.getvalue() == expected, code
