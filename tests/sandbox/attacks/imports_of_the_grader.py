"""The grader, the solutions and their text are imported or looked up."""

EXTRA = [
    """
import importlib, inspect, linecache, sys
def bring(name):
    return importlib.import_module(name).__file__
for name in ("grader", "grader.reference.lab", "grader.grade.judge", "solutions", "misconceptions", "variants"):
    attempt(f"import {name}", lambda: bring(name))
sys.path[:0] = ["@COURSE@", "@COURSE@/solutions", "@COURSE@/solutions/00_start_here"]
importlib.invalidate_caches()
for name in ("grader", "solutions", "variants", "misconceptions"):
    attempt(f"import {name} by path", lambda: bring(name))
for cached in linecache.cache:
    if "reference" in cached or "00_start_here" in cached:
        print("REACHED", cached)
import course_utils, pathlib
near = pathlib.Path(course_utils.__file__).parents[1]
attempt("what lies beside course_utils", lambda: sorted(p.name for p in near.iterdir() if p.name in ("solutions", "grading", "notebooks", "tests", ".git"))[0])
attempt("the file beside", lambda: (near / "solutions/00_start_here/variants.py").read_text())
"""
]
CELLS = {"softmax": "softmax = None"}


def failed(result):
    assert result.text.count("TRIED") == 12
