"""Empty files, folders, links and long names without number."""

EXTRA = [
    """
import os
made = 0
try:
    os.chdir("/tmp")
    for number in range(100_000):
        os.mkdir(f"{number}" + "n" * 200)
        made += 1
except OSError as error:
    print("TRIED", made, error)
if made > 50_000:
    print("REACHED", made)
deep = 0
try:
    os.chdir("/home/learner")
    for deep in range(30_000):
        os.mkdir("d"); os.chdir("d")
except OSError as error:
    print("TRIED", deep, error)
"""
]
STATE = ("graded", "timed out")
POINTS = "all"
