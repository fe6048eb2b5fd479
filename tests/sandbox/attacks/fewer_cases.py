"""The exercise keeps only the one case that is easy."""

EXTRA = [
    """
from course_utils.checking.exercise import find_exercise
softmax_exercise = find_exercise("start_here.softmax")
object.__setattr__(softmax_exercise, "cases", softmax_exercise.cases[:1])
object.__setattr__(softmax_exercise, "properties", ())
print("TRIED", len(softmax_exercise.cases))
"""
]
PROBE = "TRIED 1"
