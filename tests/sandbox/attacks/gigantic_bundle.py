"""A bundle larger than any message may be."""

WIRE = True
CELLS = {
    "softmax": """
import sys
def big(data):
    print("TRIED", flush=True)
    publish("display_data", bundle("x" * 40_000_000))
    time.sleep(1)
sys.modules["course_utils.checking.check"]._display = big
def softmax(scores, axis=-1):
    return scores
"""
}
STATE = ("graded", "timed out")


def failed(result):
    assert result.executed.payloads == {}
