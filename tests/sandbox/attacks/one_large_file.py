"""A sparse file of a terabyte, and one that grows by truncation."""

EXTRA = [
    """
import os
with open("/tmp/large", "wb") as file:
    attempt("truncate", lambda: (file.truncate(2**40), "made"))
    attempt("seek", lambda: (file.seek(2**40), file.write(b"x"), file.flush()))
    attempt("allocate", lambda: os.posix_fallocate(file.fileno(), 0, 2**40) or "made")
"""
]
POINTS = "all"
