"""Processes that fork as fast as they can, three hundred at most."""

EXTRA = [
    """
import os, time
made = 0
begin()
for _ in range(300):
    try:
        if os.fork() == 0:
            time.sleep(30)
            os._exit(0)
        made += 1
    except BlockingIOError:
        break
print("REACHED" if made >= 290 else "TRIED", made)
"""
]
STATE = ("graded", "out of memory")
POINTS = "all"
