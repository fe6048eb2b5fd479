"""Processor time of children that end at once and are never waited for."""

EXTRA = [
    """
import os, signal, time
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
print("TRIED", flush=True)
end = time.monotonic() + 60
while time.monotonic() < end:
    if os.fork() == 0:
        until = time.process_time() + 0.2
        while time.process_time() < until:
            pass
        os._exit(0)
    time.sleep(0.1)
"""
]
STATE = "timed out"
POINTS = "all"
