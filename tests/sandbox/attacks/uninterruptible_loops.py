"""Loops in C that no interrupt ends: a regular expression, a power, a sort."""

CELLS = {
    "softmax": """
import re
print("TRIED", flush=True)
def softmax(scores, axis=-1):
    re.match("(a+)+$", "a" * 40 + "b")
"""
}
EXTRA = ["print('TRIED', flush=True)\nx = 7 ** (7 ** 10)"]
STATE = "timed out"
