"""The example kernels, against their own tools."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from cases import ROOT

pytestmark = pytest.mark.skipif(
    not (ROOT / "dist" / "src" / "cli" / "main.js").is_file(), reason="toolport is not built here"
)


def run(name: str) -> str:
    done = subprocess.run(
        [sys.executable, str(ROOT / "examples" / name)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        env={**os.environ, "PYTHONIOENCODING": "utf-8"},
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def test_the_langgraph_kernel_comes_to_its_end() -> None:
    pytest.importorskip("langgraph")
    said = run("langgraph_kernel.py")

    for part in (
        "  ? the harbour master of Skerry is asked about the Otter",
        "call-3 watch_crossing 4/5 Otter: approach",
        "call-2 ask_harbour_master (success): Otter may berth at Skerry, berth 2",
        "call-4 convert_currency (error): InvalidArguments",
        "assistant: The Otter may berth at Skerry",
    ):
        assert part in said
    # The progress is streamed, not told afterwards.
    assert said.index("watch_crossing 1/5") < said.index("call-1 search_handbook (success)")


def test_the_symfonic_kernel_comes_to_its_end() -> None:
    pytest.importorskip("symfonic.core")
    said = run("symfonic_kernel.py")

    for part in (
        "query_bookings: data, safe",
        "call-2 convert_currency: 52 EUR = 8814 JPY",
        "call-3 convert_currency: InvalidArguments",
        "assistant: She gets her 52 EUR back",
        "book_crossing: ask the customer first",
    ):
        assert part in said
