"""The course's own comparison is replaced by one that is always satisfied."""

EXTRA = [
    """
import sys, course_utils.checking.checks as checks, course_utils.checking.comparison as comparison
check_module = sys.modules["course_utils.checking.check"]
perfect = comparison.Verdict("softmax", (comparison.CheckResult("fine", True, case=0),))
comparison.compare = check_module.compare = lambda *a, **k: perfect
comparison.Verdict.score = comparison.Verdict.correct = property(lambda self: 1.0)
checks.difference = checks._array_difference = lambda *a, **k: ""
check_module.uses_of = lambda *a, **k: ()
print("TRIED", comparison.compare().score)
"""
]
CELLS = {"softmax": "def softmax(scores, axis=-1):\n    return scores * 0"}
PROBE = "TRIED 1.0"
