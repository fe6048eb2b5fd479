"""A hundred processes that compute for ever, in the background."""

EXTRA = [
    """
import os, signal
begin()
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
for _ in range(100):
    try:
        if os.fork() == 0:
            os.setsid()
            while True:
                pass
    except OSError:
        break
"""
]
STATE = ("graded", "timed out", "out of memory")
POINTS = (0, 5)
