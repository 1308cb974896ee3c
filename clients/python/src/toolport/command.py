"""Finds the toolport command."""

from __future__ import annotations

import json
import os
import shlex
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from .errors import SidecarError


@dataclass(frozen=True, slots=True)
class Command:
    """How to run toolport, without the command line's own part."""

    words: tuple[str, ...]
    bin: Path | None = None
    """Goes in front of the PATH, so that a script's own node is found."""

    def environment(self, extra: Mapping[str, str] | None) -> dict[str, str]:
        """This process's environment with the command's own folder on the PATH."""
        env = dict(os.environ)
        if self.bin is not None:
            env["PATH"] = os.pathsep.join([str(self.bin), env.get("PATH", os.defpath)])
        env.update(extra or {})
        return env


def find(command: str | Sequence[str] | None, tools: Path, cwd: Path) -> Command:
    """The command, in this order: the given one; TOOLPORT_COMMAND; from the tools file upwards and
    then from ``cwd`` upwards the nearest ``node_modules/.bin/toolport`` or built checkout of
    toolport; ``toolport`` on the PATH.

    Raises:
        SidecarError: there is none; the text says what to install.
    """
    given = command if command is not None else os.environ.get("TOOLPORT_COMMAND", "")
    words = tuple(shlex.split(given)) if isinstance(given, str) else tuple(given)
    if words:
        return Command(words)
    if command is not None:
        raise SidecarError("the command is empty; name one, or leave it out to have it found")
    unusable = ""
    for folder in _upwards(tools.parent, cwd):
        bin = folder / "node_modules" / ".bin"
        if (bin / "toolport").is_file():
            return Command((str(bin / "toolport"),), bin)
        if _package_name(folder) == "toolport":
            main = folder / "dist" / "src" / "cli" / "main.js"
            node = bin / "node" if (bin / "node").is_file() else shutil.which("node")
            if main.is_file() and node is not None:
                return Command((str(node), str(main)), bin)
            unusable = (
                f"there is no node to run the checkout of toolport in {folder}; install Node 24.12 "
                "or later, or name a command"
                if main.is_file()
                else f"the checkout in {folder} is not built; run `npm ci && npm run build` there, "
                "or name a command"
            )
    on_path = shutil.which("toolport")
    if on_path is not None:
        return Command((on_path,))
    if unusable:
        raise SidecarError(unusable)
    raise SidecarError(
        f"there is no toolport command for {tools}; run `npm install toolport` beside it, "
        "or name one as command= or in TOOLPORT_COMMAND"
    )


def _upwards(*starts: Path) -> Iterator[Path]:
    seen: set[Path] = set()
    for start in starts:
        for folder in (start, *start.parents):
            if folder not in seen:
                seen.add(folder)
                yield folder


def _package_name(folder: Path) -> object:
    try:
        manifest = json.loads((folder / "package.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return manifest.get("name") if isinstance(manifest, dict) else None
