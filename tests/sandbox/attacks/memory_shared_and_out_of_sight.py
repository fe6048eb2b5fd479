"""Shared memory that is filled and then taken out of the process's own count, two gigabytes at most."""

EXTRA = [
    """
import mmap
held, step = [], 32 * 2**20
begin()
try:
    for number in range(64):
        held.append(mmap.mmap(-1, step))
        for start in range(0, step, 2**20):
            held[-1][start:start + 2**20] = b"x" * 2**20
        held[-1].madvise(mmap.MADV_DONTNEED)
except (OSError, MemoryError) as error:
    print("refused", error)
kept = sum(room[number] == 120 for room in held for number in range(0, step, 2**23)) * 8
if len(held) * 32 > 700:
    print("REACHED", len(held) * 32, "MiB are held;", kept, "seen", flush=True)
"""
]
STATE = ("out of memory", "graded")
POINTS = "all"
