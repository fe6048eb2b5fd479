"""The time limit of the check is lifted, and the check takes for ever."""

CELLS = {
    "softmax": """
import time
from course_utils.checking.exercise import find_exercise
object.__setattr__(find_exercise("start_here.softmax"), "seconds", 1e6)
print("TRIED")
def softmax(scores, axis=-1):
    time.sleep(1e6)
"""
}
STATE = "timed out"
SECONDS = 100
