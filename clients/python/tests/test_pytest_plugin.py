"""The fixtures for other people's tests."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from cases import ROOT

TOOLS = Path(__file__).with_name("tools.ts")

pytestmark = pytest.mark.skipif(
    not (ROOT / "dist" / "src" / "cli" / "main.js").is_file(), reason="toolport is not built here"
)

TESTS = """
import pytest

def test_sync(toolport_sidecar, toolport_port):
    assert toolport_sidecar.alive
    assert toolport_port.execute("echo", {"a": 1}).value == {"a": 1}

@pytest.mark.asyncio
async def test_async(toolport_aport):
    assert (await toolport_aport.execute("echo", {"a": 1})).value == {"a": 1}
"""


def pytest_in(folder: Path, *args: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *args],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def test_the_fixtures_serve_the_tools_that_are_named(tmp_path: Path) -> None:
    (tmp_path / "test_theirs.py").write_text(TESTS)

    by_option = pytest_in(tmp_path, "--toolport-tools", str(TOOLS))
    assert "2 passed" in by_option.stdout, by_option.stdout

    (tmp_path / "pytest.ini").write_text(f"[pytest]\ntoolport_tools = {TOOLS}\n")
    by_ini = pytest_in(tmp_path)
    assert "2 passed" in by_ini.stdout, by_ini.stdout


def test_without_a_tools_file_the_fixtures_say_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "test_theirs.py").write_text(TESTS)

    done = pytest_in(tmp_path)

    assert done.returncode != 0
    assert "no tools file is named: pass --toolport-tools FILE" in done.stdout
