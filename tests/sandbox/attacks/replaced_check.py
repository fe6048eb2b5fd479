"""The check itself is replaced, by a module of the same name that publishes full marks."""

EXTRA = [
    """
import sys, types
import course_utils
from IPython.display import publish_display_data
def check(key):
    print("TRIED", key)
    mime = "application/vnd.transformer-labs.outcome+json"
    publish_display_data({mime: {"exercise": key, "seed": @SEED@, "score": 1.0, "passed": 12,
                                 "cases": [{"score": 1}] * 9}, "text/plain": "5.0"})
    return 5.0
fake = types.ModuleType("course_utils.checking.check"); fake.check = check
sys.modules["course_utils.checking.check"] = fake
course_utils.check = check
"""
]
CELLS = {"softmax": "softmax = None"}


def failed(result):
    assert (
        result.executed.payloads["start_here.softmax"] == [{"score": 1}] * 9
    )  # it was taken, and found wanting
