"""A trace function rides along in the check and changes what it works with."""

CELLS = {
    "softmax": """
import sys
stepped = []
def trace(frame, event, argument):
    stepped.append(frame.f_code.co_name)
    for value in frame.f_locals.values():
        if type(value).__name__ in ("Expected", "Lab"):
            print("REACHED", frame.f_code.co_name)
    return trace
def softmax(scores, axis=-1):
    sys.settrace(trace)
    frame = sys._getframe()
    while frame := frame.f_back:
        frame.f_trace = trace
    return scores
"""
}
LAST = ["sys.settrace(None)\nprint('TRIED', 'encode' in stepped)"]
PROBE = "TRIED True"
