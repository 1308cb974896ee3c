"""What a fork does to gRPC, and what this package does about it.

gRPC works in a forked child only if its fork support is on and nobody was using it at that moment.
Otherwise the child hangs or crashes with its first request, past any deadline. So this module keeps
in mind who uses gRPC, and tells the child at once.
"""

from __future__ import annotations

import os
import sys
from typing import Protocol
from weakref import WeakSet

from .errors import forked


class Inherited(Protocol):
    """Something that a forked child must not go on using."""

    def after_fork(self) -> None:
        """Runs in the child; must not block, nor call gRPC."""


_inherited: WeakSet[Inherited] = WeakSet()
# Weak, since whoever drops a call or a client without closing it has ended it, too.
_in_use: WeakSet[object] = WeakSet()
_opened = False
_broken: str | None = None


def tell(inherited: Inherited) -> None:
    """Has a forked child tell ``inherited`` of the fork."""
    _inherited.add(inherited)


def opened() -> None:
    """Says that this process has used gRPC."""
    global _opened
    _opened = True


def begin(use: object) -> None:
    """Says that gRPC is in use, so that a child forked now can't use it, until :func:`end`."""
    _in_use.add(use)


def end(use: object) -> None:
    """Says that this use has ended. Idempotent."""
    _in_use.discard(use)


def check() -> None:
    """Makes sure that gRPC can be used in this process.

    Raises:
        Unavailable: it was forked from one where gRPC was in use; the reason is ``FORKED``.
    """
    if _broken is not None:
        raise forked(_broken)


def _supported() -> bool:
    setting = os.environ.get("GRPC_ENABLE_FORK_SUPPORT", "").lower()
    if setting in ("0", "f", "false", "n", "no"):
        return False
    return sys.platform == "linux" or setting in ("1", "t", "true", "y", "yes")


def _after_fork() -> None:
    global _broken
    if _opened and not _supported():
        _broken = "after gRPC was used, without gRPC's support for forks"
    elif _in_use:
        _broken = "while a call was running or an AsyncToolPort was open"
    _in_use.clear()
    for each in list(_inherited):
        each.after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
