"""Which command starts a sidecar."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from toolport import SidecarError
from toolport.command import find


@pytest.fixture(autouse=True)
def nothing_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TOOLPORT_COMMAND", raising=False)
    monkeypatch.setenv("PATH", "/nonexistent")


def program(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return path


def checkout(folder: Path, *, built: bool) -> Path:
    node = program(folder / "node_modules" / ".bin" / "node")
    (folder / "package.json").write_text('{"name": "toolport"}')
    if built:
        program(folder / "dist" / "src" / "cli" / "main.js")
    return node


def test_a_given_command_comes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOOLPORT_COMMAND", "npx toolport")
    program(tmp_path / "node_modules" / ".bin" / "toolport")
    tools = tmp_path / "tools.ts"

    assert find(["a b", "c"], tools, tmp_path).words == ("a b", "c")
    assert find("node 'a b.js'", tools, tmp_path).words == ("node", "a b.js")
    assert find(None, tools, tmp_path).words == ("npx", "toolport")
    with pytest.raises(SidecarError, match="command is empty"):
        find([], tools, tmp_path)


def test_the_nearest_installed_one_is_found_from_the_tools_file_upwards(tmp_path: Path) -> None:
    far = program(tmp_path / "node_modules" / ".bin" / "toolport")
    near = program(tmp_path / "a" / "node_modules" / ".bin" / "toolport")
    elsewhere = program(tmp_path / "cwd" / "node_modules" / ".bin" / "toolport")

    found = find(None, tmp_path / "a" / "b" / "tools.ts", tmp_path / "cwd")

    assert found.words == (str(near),)
    path = found.environment({"X": "1"})["PATH"]
    assert path.split(os.pathsep)[0] == str(near.parent)
    assert find(None, tmp_path / "tools.ts", tmp_path / "cwd").words == (str(far),)
    far.unlink()
    assert find(None, tmp_path / "tools.ts", tmp_path / "cwd").words == (str(elsewhere),)


def test_a_built_checkout_is_run_with_its_own_node(tmp_path: Path) -> None:
    node = checkout(tmp_path, built=True)

    found = find(None, tmp_path / "examples" / "tools.ts", tmp_path)

    assert found.words == (str(node), str(tmp_path / "dist" / "src" / "cli" / "main.js"))


def test_a_built_checkout_without_a_node_is_told_as_that(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    checkout(tmp_path, built=True).unlink()
    monkeypatch.setenv("PATH", str(tmp_path))

    with pytest.raises(SidecarError, match=r"no node to run .*; install Node 24\.12 or later"):
        find(None, tmp_path / "tools.ts", tmp_path)


def test_the_one_on_the_path_is_the_last_resort(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    on_path = program(tmp_path / "bin" / "toolport")
    monkeypatch.setenv("PATH", str(on_path.parent))

    assert find(None, tmp_path / "tools.ts", tmp_path).words == (str(on_path),)


def test_where_there_is_none_the_error_says_what_to_install(tmp_path: Path) -> None:
    with pytest.raises(SidecarError, match="run `npm install toolport` beside it"):
        find(None, tmp_path / "tools.ts", tmp_path)
    checkout(tmp_path, built=False)
    with pytest.raises(SidecarError, match="is not built; run `npm ci && npm run build`"):
        find(None, tmp_path / "tools.ts", tmp_path)
