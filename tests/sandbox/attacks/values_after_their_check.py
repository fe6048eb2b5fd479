"""The last cell publishes the right values for a check that has long ended, with the message that asked for that check."""

WIRE = True
EXTRA = [
    """
parents = {}
def remember(*_):
    parents[len(parents)] = kernel.get_parent()
get_ipython().events.register("pre_run_cell", remember)
"""
]
CELLS = {"softmax": "def softmax(scores, axis=-1):\n    return scores * 0.5"}
LAST = [
    """
import numpy as np
from course_utils.checking.exercise import find_exercise
from course_utils.checking.outcome import encode, try_exercise
@HONEST@
right = encode(try_exercise(find_exercise("start_here.softmax"), "start_here.softmax", softmax, @SEED@))
for parent in list(parents.values()):
    publish("display_data", bundle(right), parent)
print("TRIED", len(parents), flush=True)
"""
]
