"""Counts the calls of a closed loop, as the Go client in bench/load-client does."""

import json
import math
import os
import time

from usage import used_by, used_of_cores


class Meter:
    """A window after a warm-up, which begins and ends with the end of a call."""

    def __init__(self, warm_up: float, window: float, pid: int) -> None:
        """The warm-up begins now. Lengths are seconds; pid is the server's process."""
        self._warm = time.perf_counter() + warm_up
        self._window = window
        self._pid = pid
        self._times: list[float] = []
        self._from: float | None = None
        self._to: float | None = None

    def ended(self, start: float) -> bool:
        """Takes a call that began at start and has just been answered rightly.

        Returns whether more calls are to be made.
        """
        now = time.perf_counter()
        if self._to is not None:
            return False
        if now < self._warm:
            return True
        if self._from is None:
            self._used = self._usage()
            self._from = time.perf_counter()
            return True
        self._times.append(now - start)
        if now - self._from < self._window:
            return True
        self._to = now
        self._used = tuple(b - a for a, b in zip(self._used, self._usage(), strict=True))
        return False

    def report(self) -> str:
        """What the window came to, as a line of JSON."""
        if self._from is None or self._to is None:
            raise SystemExit("no call ended within the window: make it longer")
        server, client, cores = self._used
        calls, seconds = len(self._times), self._to - self._from
        times = sorted(self._times)
        return json.dumps(
            {
                "calls": calls,
                "seconds": seconds,
                "p50Us": percentile(times, 0.5) * 1e6,
                "p99Us": percentile(times, 0.99) * 1e6,
                "serverCpuUs": server * 1e6 / calls,
                "clientCpuUs": client * 1e6 / calls,
                "others": max(0.0, (cores - server - client) / seconds),
            }
        )

    def _usage(self) -> tuple[float, float, float]:
        return used_by(self._pid), used_by(os.getpid()), used_of_cores()


def percentile(times: list[float], share: float) -> float:
    """The smallest of the sorted times that a share of them does not exceed."""
    return times[max(0, math.ceil(share * len(times)) - 1)]
