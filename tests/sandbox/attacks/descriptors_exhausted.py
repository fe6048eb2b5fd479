"""Descriptors are opened until there are none, so that nothing can answer."""

EXTRA = [
    """
import os
held = []
print("TRIED", flush=True)
try:
    while len(held) < 5000:
        held.append(os.open("/dev/null", os.O_RDONLY))
except OSError as error:
    print("TRIED", len(held), error)
print("REACHED" if len(held) > 4000 else "TRIED", len(held))
"""
]
STATE = ("graded", "crashed", "timed out")
POINTS = (0, 5)
