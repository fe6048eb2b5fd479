"""What packs the arrays says that they are right, instead of what they are."""

from course_utils.checking.exercise import find_exercise

EXTRA = [
    """
import sys, course_utils.checking.outcome as outcome
check_module = sys.modules["course_utils.checking.check"]
calls = []
def encode(outcomes):
    calls.append(len(outcomes))
    return [{"runs": [], "problem": None, "changed_inputs": [], "score": 1, "passed": True} for _ in outcomes]
check_module.encode = outcome.encode = encode
"""
]
CELLS = {"softmax": "def softmax(scores, axis=-1):\n    return scores"}
LAST = ["print('TRIED', calls)"]
PROBE = f"TRIED [{len(find_exercise('start_here.softmax').cases)}]"
