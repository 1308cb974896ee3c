"""When a request may be asked again."""

from __future__ import annotations

import random
import time
from dataclasses import dataclass
from typing import Final

from .errors import ToolPortError, invalid_request, is_transient

_MIN_DELAY: Final = 0.05
_MAX_DELAY: Final = 2.0


@dataclass(frozen=True, slots=True)
class Retry:
    """Asks again where that is safe and may help; without one, nothing is ever asked again.

    - What has no effect of its own (``manifest``, ``select``, ``refuse``, the opening of a run):
      while the sidecar is overloaded or can't be reached.
    - A call that did not start: the same.
    - A call with a run id that may have started: once the sidecar is there again and says that its
      journal is durable, so that the call is joined or gets its recorded outcome, and never starts
      twice. What it streamed meanwhile is missing.

    A call with a run id that the lost connection aborted is ``INDETERMINATE`` when it is asked
    again, unless its tool is idempotent; ``on_disconnect="continue"`` keeps it running.
    """

    within: float = 30.0
    """For how long, in seconds from the first failure."""

    def __post_init__(self) -> None:
        if not self.within >= 0:
            raise invalid_request(f"Retry.within is {self.within!r}; expected seconds, 0 or more")


class Backoff:
    """The waits between attempts, which grow up to a limit, within a time."""

    def __init__(self, within: float) -> None:
        self._within = within
        self._until: float | None = None
        self._delay = 0.0

    def next(self, error: ToolPortError) -> float | None:
        """How long to wait before the next attempt, in seconds; None: the time has run out."""
        now = time.monotonic()
        if self._until is None:
            self._until = now + self._within
        self._delay = min(max(2 * self._delay, _MIN_DELAY), _MAX_DELAY)
        # Jittered, so that kernels that lost the same sidecar don't come back all at once.
        delay = max(error.retry_after or 0.0, self._delay * random.uniform(0.5, 1.5))
        return None if now + delay > self._until else delay


class Retries:
    """The retries of one request."""

    def __init__(self, retry: Retry | None, *, run_id: str = "") -> None:
        """``run_id``: the call's; empty for what a journal can't know."""
        self._backoff = None if retry is None else Backoff(retry.within)
        self._run_id = run_id
        self.may_have_started = False
        """Whether some attempt may have started its tool."""

    def failed(self, error: ToolPortError) -> float | None:
        """How long to wait before asking again, in seconds; None: the request ends with ``error``.

        What may have started must be asked again only of a durable journal.
        """
        if error.started != "no":
            self.may_have_started = True
        elif self.may_have_started:
            error.started = "unknown"
        if self._backoff is None or not is_transient(error):
            return None
        if self.may_have_started and not self._run_id:
            return None
        return self._backoff.next(error)
