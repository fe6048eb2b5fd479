"""exit() in one cell, so that the cells after it, the solution among them, are blamed and left out."""

EXTRA = [
    "print('TRIED', flush=True)\nexit()",
    "import time; time.sleep(0.4)",
    "time.sleep(0.4)",
    "time.sleep(0.4)",
    "time.sleep(0.4)",
]
STATE = ("graded", "crashed")
POINTS = "all"


def failed(result):
    assert all("`added-2`" in note for note in result.record.notes), result.record.notes
