"""exit() in a cell, which takes the kernel down a moment later, when another cell runs."""

EXTRA = ["print('TRIED', flush=True)\nexit()"]
STATE = ("graded", "crashed")
POINTS = "all"
