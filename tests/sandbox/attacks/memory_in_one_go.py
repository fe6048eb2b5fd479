"""One array of more memory than the machine has; and of all there is, filled at once."""

EXTRA = [
    """
import mmap
import numpy as np
for size in (2**50, 2**42, 6 * 2**30):
    attempt(f"allocate {size}", lambda: np.ones(size // 8).nbytes)
attempt("populate", lambda: len(mmap.mmap(-1, 3 * 2**30, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | mmap.MAP_POPULATE)))
"""
]
POINTS = "all"
