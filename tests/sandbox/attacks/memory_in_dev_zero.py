"""Shared memory made from /dev/zero, taken out of the process's own count, two gigabytes at most."""

EXTRA = [
    """
import mmap, os
held, step = [], 32 * 2**20
begin()
try:
    zero = os.open("/dev/zero", os.O_RDWR)
    for number in range(64):
        held.append(mmap.mmap(zero, step, mmap.MAP_SHARED))
        for start in range(0, step, 2**20):
            held[-1][start:start + 2**20] = b"x" * 2**20
        held[-1].madvise(mmap.MADV_DONTNEED)
except (OSError, MemoryError, ValueError) as error:
    print("refused", error)
if len(held) * 32 > 700 and held[0][0] == 120:
    print("REACHED", len(held) * 32, "MiB", flush=True)
"""
]
STATE = ("out of memory", "graded")
POINTS = "all"
