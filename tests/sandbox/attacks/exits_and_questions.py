"""sys.exit, quit, KeyboardInterrupt, breakpoint and input, in a check and outside."""

CELLS = {
    "softmax": """
import sys
print("TRIED")
tries = iter([SystemExit(0), KeyboardInterrupt(), GeneratorExit()])
def softmax(scores, axis=-1):
    raise next(tries)
"""
}
EXTRA = [
    "input('password: ')",
    "breakpoint()",
    "import getpass; getpass.getpass()",
    "raise KeyboardInterrupt",
    "%debug",
    "%pdb on\n1/0",
]
STATE = ("graded", "timed out")
