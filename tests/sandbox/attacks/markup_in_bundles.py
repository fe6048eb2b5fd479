"""Markup in every text of a forged bundle: names of arrays, kinds, messages, places."""

FEEDBACK = True
WIRE = True
CELLS = {
    "softmax": """
import sys
S = "<script>window.attacked = 1</script><img src=x onerror=window.attacked=1>`<b onclick=window.attacked=1>`"
cases = [{"runs": [{S: ["f8", [0], ""]}], "problem": None, "changed_inputs": [S]},
         {"runs": [], "problem": ["exception", S, S, 0], "changed_inputs": [S]},
         {"runs": [], "problem": ["type", S, S, 0], "changed_inputs": []}] * 4
from course_utils.checking.exercise import find_exercise
del cases[len(find_exercise("start_here.softmax").cases):]
sys.modules["course_utils.checking.check"]._display = lambda data: publish("display_data", bundle(cases))
print("TRIED")
def softmax(scores, axis=-1):
    return scores
"""
}


def failed(result):
    report = next(o.data["text/html"] for o in result.outputs() if "text/html" in o.get("data", {}))
    assert (
        "&lt;script&gt;" in report
        and "<script" not in report
        and "<img" not in report
        and "<b " not in report
    )
