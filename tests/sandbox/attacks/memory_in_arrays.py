"""Arrays of six gigabytes, made a little at a time."""

EXTRA = [
    """
import numpy as np
held = []
try:
    for number in range(96):
        held.append(np.ones(2**23))
        if number == 2: print("TRIED", flush=True)
except MemoryError as error:
    print("refused after", len(held) * 64, "MiB")
if len(held) * 64 > 400:
    print("REACHED", len(held) * 64, "MiB")
"""
]
STATE = ("out of memory", "graded")
POINTS = "all"
