"""Outcome bundles of the right name whose inside is not what the check writes."""

WIRE = True
CELLS = {
    "softmax": """
import base64
def array(dtype, shape, data): return {"probabilities": [dtype, shape, base64.b64encode(data).decode()]}
def case(**other): return {"runs": [], "problem": None, "changed_inputs": [], **other}
odd = [
    None, 5, "x", {}, [None] * 9, [{}] * 9, [[]] * 9, [case(runs=None)] * 9, [case(extra=1)] * 9,
    [case(problem=["magic", "", ""])] * 9, [case(problem=["stub", 1, 2])] * 9, [case(changed_inputs=[3])] * 9,
    [case(runs=[array("O", [1], b"x" * 8)])] * 9, [case(runs=[array("V8", [1], b"x" * 8)])] * 9,
    [case(runs=[array("f8", [-1], b"x" * 8)])] * 9, [case(runs=[array("f8", [2**31 - 1] * 16, b"")])] * 9,
    [case(runs=[array("f8", [0, 2**30, 2**30, 2**30], b"")])] * 9, [case(runs=[array("f8", [True], b"x" * 8)])] * 9,
    [case(runs=[array("<f8", [1], b"x" * 8)])] * 9, [case(runs=[{"probabilities": ["f8", [1], "\\u00e9" * 12]}])] * 9,
    [case(runs=[{}] * 17)] * 9, [case(runs=[{"x" * 10**5: ["f8", [0], ""]}])] * 9,
]
shown = [0]
def softmax(scores, axis=-1):
    return scores

import sys
publish_real = sys.modules["course_utils.checking.check"]._display
def each(data):
    for cases in odd:
        publish("display_data", bundle(cases))
        shown[0] += 1
sys.modules["course_utils.checking.check"]._display = each
"""
}
LAST = ["print('TRIED', shown[0] == len(odd))"]
PROBE = "TRIED True"
