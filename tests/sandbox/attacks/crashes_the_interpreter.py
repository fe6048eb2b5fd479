"""The interpreter is crashed while a check runs."""

CELLS = {
    "softmax": """
import ctypes
print("TRIED")
def softmax(scores, axis=-1):
    ctypes.string_at(0)
"""
}
STATE = "crashed"
