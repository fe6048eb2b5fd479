"""What packs the arrays says that they are right, instead of what they are."""

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
PROBE = "TRIED [9]"
