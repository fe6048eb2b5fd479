"""What was solved before is undone, and what is missing is borrowed, by the cell of another exercise."""

LAB = "02_self_attention"
CELLS = {
    "causal_mask": """
import sys
def causal_mask(*args, **kwargs):
    return sys._getframe(1).f_globals.get("combine_masks", None)
from course_utils.checking.exercise import find_exercise
object.__setattr__(find_exercise("self_attention.causal_mask"), "name", "padding_mask")
print("TRIED")
"""
}
POINTS = 18  # causal_self_attention, which calls causal_mask, is right with a working one


def failed(result):
    assert result.score_of("causal_mask") == 0
