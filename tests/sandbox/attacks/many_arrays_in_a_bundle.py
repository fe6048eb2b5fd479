"""A bundle of a hundred thousand arrays, each tiny, in the name of the one that is expected."""

WIRE = True
CELLS = {
    "softmax": """
import sys
many = {"runs": [{f"n{i}": ["f8", [0], ""] for i in range(50_000)}], "problem": None, "changed_inputs": ["x"] * 64}
def publish_many(data):
    publish("display_data", bundle([many] * 9))
sys.modules["course_utils.checking.check"]._display = publish_many
print("TRIED")
def softmax(scores, axis=-1):
    return scores
"""
}


def failed(result):
    assert len(result.executed.payloads.get("start_here.softmax", [])) in (
        0,
        9,
    )  # not taken, or found wanting
    assert len(result.graded.notebook) < 2**21
