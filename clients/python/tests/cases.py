"""The contract's cases, which the clients of every language run."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[3]
CONFORMANCE = ROOT / "test" / "conformance"


@dataclass(frozen=True)
class Case:
    """One case, as its file has it."""

    id: str
    input: dict[str, Any]
    expect: dict[str, Any]
    contains: tuple[str, ...]

    def __str__(self) -> str:
        return self.id


def cases(group: str) -> list[Case]:
    """The cases of one group; none where only the package is here, without its repository."""
    path = CONFORMANCE / "cases" / f"{group}.json"
    if not path.is_file():
        return []
    return [
        Case(case["id"], case["input"], case["expect"], tuple(case.get("contains", ())))
        for case in json.loads(path.read_text(encoding="utf-8"))["cases"]
    ]


def known_failures() -> dict[str, dict[str, Any]]:
    """The cases that are known to fail, by id."""
    path = CONFORMANCE / "known-failures.json"
    if not path.is_file():
        return {}
    listed = json.loads(path.read_text(encoding="utf-8"))
    return {entry["id"]: entry for entry in listed}
