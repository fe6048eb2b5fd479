"""Signals to every process, every group and the parent."""

EXTRA = [
    """
import os, signal
signal.signal(signal.SIGTERM, signal.SIG_IGN)
assert os.getpid() == 1, "only where there is nobody else"
own = {int(task) for task in os.listdir("/proc/self/task")}
for target in (-1, *(pid for pid in range(2, 40) if pid not in own), @GRADER@, -@GRADER@):
    for number in (signal.SIGTERM, signal.SIGKILL, signal.SIGSTOP):
        attempt(f"signal {number} to {target}", lambda: os.kill(target, number) or "sent")
"""
]
POINTS = "all"
