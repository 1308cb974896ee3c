"""Which tools to offer the model this turn, and why, as plain data."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from .tools import ToolDescriptor


class StageAction(StrEnum):
    """What a stage of the selection came to."""

    ABSTAINED = "abstained"
    """Said nothing about set or force."""
    FORCED = "forced"
    """Set the forced choice."""
    RELEASED = "released"
    """Says that the force has been met."""
    DEGRADED = "degraded"
    """Failed, and changed nothing."""
    NARROWED = "narrowed"
    """Dropped some tools."""
    EXTENDED = "extended"
    """Only added tools."""
    EMPTIED = "emptied"
    """Dropped them all."""
    UNCHANGED = "unchanged"
    """Returned the set as it was, in this or another order."""
    OTHER = "other"
    """An action that this client is too old to know."""


@dataclass(frozen=True, slots=True)
class Intent:
    """What an intent classifier found."""

    label: str
    """``action``, ``knowledge`` or ``ambiguous``; any other abstains."""
    matched_tools: tuple[str, ...] = ()
    """The tools whose keywords matched."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StageRecord:
    """What one stage of the selection did."""

    stage: str
    """``intent_routing``, ``forced_choice``, ``role_palette``, or one of the tools file's own."""
    action: StageAction
    kept: tuple[str, ...] = ()
    dropped: tuple[str, ...] = ()
    added: tuple[str, ...] = ()
    reinstated: tuple[str, ...] = ()
    """Dropped by the stage, and brought back by the standing force."""
    forced_choice: str | None = None
    """The choice that this stage forced."""
    detail: str = ""
    """Why, for people."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """The tools to offer, and why."""

    tools: tuple[str, ...]
    """Names, in the order to offer them."""
    decided: bool
    """False: every stage abstained, and ``tools`` is simply the whole set."""
    forced_choice: str | None = None
    """The tool, or reserved word, that the model must choose; None: nothing."""
    trace: tuple[StageRecord, ...] = ()
    """One record a stage, in the order they ran."""
    descriptors: tuple[ToolDescriptor, ...] | None = None
    """Those of the selected tools; None unless asked for."""
    digest: str = ""
    """Names the whole set."""
    provider_tool_choice: Any | None = None
    """What goes into the provider's tool choice; None without a format or a force."""
