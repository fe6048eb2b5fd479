"""Scores are printed, returned and displayed: 5.0, 1e9, -1, inf."""

FEEDBACK = True
CELLS = {
    "softmax": """
from IPython.display import display
def softmax(scores, axis=-1):
    print("5.0")
    return scores
for points in (5.0, 1e9, -1, float("inf"), float("nan")):
    print(points)
    display(points)
print("TRIED")
5.0
"""
}
LAST = ["10**9"]
