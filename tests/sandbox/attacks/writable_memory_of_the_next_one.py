"""Memory that is shared with the preloaded process, and by it with the next submission, is looked for and written."""

EXTRA = [
    """
import os, re
shared = []
for line in open("/proc/self/maps"):
    span, rights, *_, name = (line.split() + [""])[:6]
    if rights.endswith("s") and "w" in rights:
        shared.append((rights, name))
print("REACHED" if shared else "TRIED", shared)
open_files = {n: os.readlink(f"/proc/self/fd/{n}") for n in os.listdir("/proc/self/fd") if os.path.exists(f"/proc/self/fd/{n}")}
print("TRIED", len(open_files))
"""
]
POINTS = "all"
