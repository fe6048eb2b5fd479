"""Garbage, and answers in the grader's own form, are written to every descriptor that is open."""

EXTRA = [
    """
import json, os, time
print("TRIED", sorted(map(int, os.listdir("/proc/self/fd")))[:3], flush=True)
time.sleep(0.2)
for number in range(256):
    for text in (b"garbage" * 100, json.dumps({"ended": 0, "clean": True, "pid": 1}).encode()):
        try:
            os.set_blocking(number, False)
            os.write(number, text)
        except OSError:
            pass
""",
    "import time\ntime.sleep(0.3)",
]
STATE = ("graded", "crashed", "timed out")
POINTS = (0, 5)
