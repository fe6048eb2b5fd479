"""The table of mounts gives away where the instructor's folders lie, and what is behind them."""

EXTRA = [
    """
table = open("/proc/self/mountinfo").read()
print("TRIED", len(table.splitlines()) > 5)
import os
for line in table.splitlines():
    root, point, options = line.split()[3:6]
    inside = ("/home/learner", "/tmp", "/dev/shm", "/proc", "/dev/")
    if "rw" in options.split(",") and not point.startswith(inside) and os.access(point, os.W_OK):
        print("REACHED writable", point)
for name in ("@COURSE@/solutions", "@HOME@"):
    if name in table:
        print("REACHED", name)
"""
]
POINTS = "all"
