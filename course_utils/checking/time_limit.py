"""A time limit that does not depend on how busy the machine is: it counts computing, not waiting for a processor."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from types import FrameType

IDLE_FACTOR = 3
"""Code may do nothing at all (sleep, say, or wait for a file) for this many times as long as it may compute."""

_TICK_SECONDS = 0.2
_BUSY_SECONDS = 0.001
"""CPU time between two looks that cannot be due to the looking alone. A process that waits for a processor does not count as
idle: it is looked at only when it runs, and then it computes."""


class TooSlow(BaseException):
    """Raised by the limit, with a sentence for the learner. Not an Exception, so that ``except Exception`` lets it pass."""


@contextlib.contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Interrupts Python code that has computed for ``seconds`` (CPU time of the process, all its threads), or has been idle
    for :data:`IDLE_FACTOR` times as long.

    It never interrupts an import, because a package that is only partly imported stays broken until Python starts again. An
    import may take as long as it needs, and after it the count starts again from zero.

    Needs the main thread and POSIX signals; elsewhere there is no limit.

    Raises:
        TooSlow: in the code that is running.
    """
    if not hasattr(signal, "setitimer") or threading.current_thread() is not threading.main_thread():
        yield
        return
    clock = _Clock(seconds, within=sys._getframe(2))  # 1 is contextlib's
    previous = signal.signal(signal.SIGALRM, clock.look)
    signal.setitimer(signal.ITIMER_REAL, _TICK_SECONDS, _TICK_SECONDS)
    try:
        yield
    finally:
        while True:  # until it is off: the signal may arrive once more while it is being turned off
            with contextlib.suppress(TooSlow):
                signal.setitimer(signal.ITIMER_REAL, 0)
                signal.signal(signal.SIGALRM, previous)
                break


class _Clock:
    """What has been used up so far, as seen at each tick."""

    def __init__(self, seconds: float, within: FrameType) -> None:
        self.seconds = seconds
        self.within = within
        self._begin()

    def _begin(self) -> None:
        self.start = self.last = time.process_time()
        self.idle = 0.0
        self.importing = False

    def look(self, signum: int, frame: FrameType | None) -> None:
        if self._in_import(frame):
            self.importing = True
            return
        if self.importing:
            self._begin()
        now = time.process_time()
        if now - self.last < _BUSY_SECONDS and not _has_children():
            self.idle += _TICK_SECONDS
        self.last = now
        if now - self.start > self.seconds:
            raise TooSlow(f"It was still computing after {self.seconds:g} seconds and was stopped.")
        if self.idle > IDLE_FACTOR * self.seconds:
            raise TooSlow(f"It did nothing for {IDLE_FACTOR * self.seconds:g} seconds and was stopped.")

    def _in_import(self, frame: FrameType | None) -> bool:
        """Whether an import is going on that began inside the limit."""
        while frame and frame is not self.within:
            if frame.f_code.co_filename.startswith("<frozen importlib"):
                return True
            frame = frame.f_back
        return False


def _has_children() -> bool:
    """Whether the process has started others, which may compute while it waits. Unknown (False) on macOS."""
    if not hasattr(os, "waitid"):
        return False
    try:
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return False
    return True
