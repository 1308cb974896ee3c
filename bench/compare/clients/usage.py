"""Processor time of processes and cores, as the Go client in bench/load-client reads it."""

import os
from pathlib import Path

TICK = 1 / os.sysconf("SC_CLK_TCK")


def used_by(pid: int) -> float:
    """What a process with its descendants has taken so far, in seconds."""
    processes = _processes()
    return (
        sum(ticks for each, (_, ticks) in processes.items() if _descends(processes, each, pid))
        * TICK
    )


def used_of_cores() -> float:
    """What the first two cores have worked, in seconds, by proc_stat(5)."""
    ticks = 0
    for line in Path("/proc/stat").read_text().splitlines():
        name, *fields = line.split()
        if name in ("cpu0", "cpu1"):
            # user, nice, system, irq, softirq and steal; not idle and iowait.
            ticks += sum(int(fields[at]) for at in (0, 1, 2, 5, 6, 7))
    return ticks * TICK


def _processes() -> dict[int, tuple[int, int]]:
    """Each process's parent, and its user and system time, by proc_pid_stat(5)."""
    found = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            # A name may contain anything, so the fields are counted from its end.
            fields = path.read_text().rpartition(") ")[2].split()
        except OSError:
            continue  # It has ended meanwhile.
        found[int(path.parent.name)] = (int(fields[1]), int(fields[11]) + int(fields[12]))
    return found


def _descends(processes: dict[int, tuple[int, int]], pid: int, ancestor: int) -> bool:
    while pid in processes and pid != ancestor:
        pid = processes[pid][0]
    return pid == ancestor
