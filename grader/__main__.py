"""``python -m grader``: the same as ``grader``, where that is not on the PATH."""

from grader.cli import app

app(prog_name="grader")
