"""Easier cases: one input, all of whose softmaxes are the same."""

from course_utils.checking.exercise import find_exercise

EXTRA = [
    """
import numpy as np
from course_utils.checking import exercise
used = []
def easy(self, key, seed):
    used.append(seed)
    return [{"scores": np.zeros((1, 1))}]
exercise.Case.runs = easy
object.__setattr__(exercise.find_exercise("start_here.softmax"), "atol", 1e9)
object.__setattr__(exercise.find_exercise("start_here.softmax"), "rtol", 1e9)
"""
]
CELLS = {"softmax": "def softmax(scores, axis=-1):\n    return np.ones((1, 1))"}
LAST = ["print('TRIED', len(used))"]
PROBE = f"TRIED {len(find_exercise('start_here.softmax').cases)}"
