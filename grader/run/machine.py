"""What the machine did beside a run, and how much of it is free. It tells whether a run that went over a limit says something about the submission
alone, and how many can run side by side undisturbed.
"""

from __future__ import annotations

import contextlib
import os
import re
import time
from pathlib import Path

import psutil

_PRESSURE, _COUNTS = Path("/proc/pressure/memory"), Path("/proc/vmstat")
_CONTAINER = Path("/sys/fs/cgroup")
_STALLS = re.compile(r"^some .*\btotal=(\d+)$", re.MULTILINE)
_KILLS = re.compile(r"^oom_kill (\d+)$", re.MULTILINE)
_SHORTAGES = re.compile(r"^(?:pswpin|allocstall\w*) (\d+)$", re.MULTILINE)

MOST_STALLED = 0.01
"""The part of a run's time for which some process of the machine may have waited for memory."""
LEAST_COMPUTED = 0.25
"""The part of a run's time that it must have computed for. Beside another process on each core it gets half of the time."""
_LOOK_SECONDS = 0.3
_IDLE_PERCENT = 30


class Watch:
    """From its making on, looks at what happens to the whole machine."""

    def __init__(self) -> None:
        self._began, self._before = time.monotonic(), _troubles()

    @property
    def seconds(self) -> float:
        """How long it has been watching."""
        return time.monotonic() - self._began

    def undisturbed(self, cpu_seconds: float) -> bool:
        """Whether a run that has computed for so long meanwhile had what it needed: a processor for a good part of the time,
        and memory. If it went over a limit of CPU time, it would do so again. False where the system does not tell.
        """
        now = _troubles()
        if now is None or self._before is None or cpu_seconds < LEAST_COMPUTED * self.seconds:
            return False
        stalled, *counts = (after - before for after, before in zip(now, self._before, strict=True))
        return stalled <= MOST_STALLED * self.seconds and not any(counts)


def _troubles() -> tuple[float, ...] | None:
    """Seconds for which some process has waited for memory so far, and how many were killed because there was none. A system
    that does not count these seconds at least counts how often memory was short.
    """
    try:
        counts = _COUNTS.read_text()
        (kills,) = map(int, _KILLS.findall(counts))
    except (OSError, ValueError):
        return None
    with contextlib.suppress(OSError, ValueError):
        (stalls,) = map(int, _STALLS.findall(_PRESSURE.read_text()))
        return stalls / 1e6, kills
    return 0.0, kills, sum(map(int, _SHORTAGES.findall(counts)))


def room(jobs: int, memory: int) -> int:
    """How many runs, of at most ``jobs``, can go on side by side as if each were alone. That is one for each idle core, if
    there is this much memory (bytes) for it; at least one.
    """
    busy = psutil.cpu_percent(_LOOK_SECONDS, percpu=True)
    mine = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else range(len(busy))
    idle = sum(busy[core] < _IDLE_PERCENT for core in mine if core < len(busy))
    return max(1, min(jobs, idle, _free_memory() // memory))


def _free_memory() -> int:
    free = psutil.virtual_memory().available
    with contextlib.suppress(
        OSError, ValueError
    ):  # the limit of the container that we are in, if there is one
        most, used = (int((_CONTAINER / f"memory.{name}").read_text()) for name in ("max", "current"))
        free = min(free, max(0, most - used))
    return free
