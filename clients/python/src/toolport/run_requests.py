"""A call to be made on a run, as data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from .errors import invalid_request


@dataclass(frozen=True, slots=True)
class CallRequest:
    """One call for ``gather``; its fields are the arguments of ``execute``."""

    name: str
    """A tool's exact name."""
    arguments: Mapping[str, Any] | None = None
    call_id: str | None = None
    """Unique in its run; None: one is made."""
    timeout: float | None = None
    """When it passes, in seconds, the call ends in a ``DeadlineExceeded``."""
    tool_timeout: float | None = None
    """How long the tool may run, in seconds from its start."""
    metadata: Mapping[str, str] | None = None
    """Reaches the tool's context; goes before the run's own."""


RequestLike: TypeAlias = CallRequest | tuple[str, Mapping[str, Any] | None] | str
"""A ``CallRequest``, a tool's name with its arguments, or its name alone."""


def call_request(request: RequestLike) -> CallRequest:
    """Reads one request.

    Raises:
        InvalidRequest: it is none.
    """
    if isinstance(request, CallRequest):
        return request
    if isinstance(request, str):
        return CallRequest(request)
    if isinstance(request, tuple) and len(request) == 2:
        return CallRequest(*request)
    raise invalid_request(
        f"{request!r} is no request; give a CallRequest, (name, arguments), or a name"
    )
