"""Shared memory without a file, which belongs to nobody's data."""

EXTRA = [
    """
import mmap
held = []
begin()
for number in range(24):
    held.append(mmap.mmap(-1, 64 * 2**20))
    for start in range(0, 64 * 2**20, 2**20):
        held[-1][start:start + 2**20] = b"x" * 2**20
    if len(held) * 64 > 700: print("REACHED", len(held) * 64, "MiB", flush=True)
"""
]
STATE = ("out of memory", "graded")
POINTS = "all"
