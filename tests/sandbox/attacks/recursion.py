"""Recursion without end, in Python and in C."""

CELLS = {
    "softmax": """
import sys
sys.setrecursionlimit(10**9)
print("TRIED")
def softmax(scores, axis=-1):
    def deeper(n): return deeper(n + 1) + sorted([n], key=lambda x: deeper(x))[0]
    return deeper(0)
"""
}
STATE = (
    "crashed",
    "out of memory",
    "timed out",
    "graded",
)  # graded: a slow machine stops each case by its limit
