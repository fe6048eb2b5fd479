"""Judges attempts at exercises and prints the reports. Run by :mod:`test_elsewhere`: by this Python, by one in WebAssembly, and by one
for arm64. There nothing is installed but NumPy. It imports nothing of the grader, as in a browser.

Its folder of data holds ``attempts.json``: lab -> its cells, and the attempts at its exercises, as texts.
"""

from __future__ import annotations

import ast
import contextlib
import io
import json
import os
import sys
from dataclasses import replace
from pathlib import Path

from course_utils import exercises
from course_utils.checking.comparison import compare
from course_utils.checking.exercise import PUBLIC_SEED, exercises_of
from course_utils.checking.expected import FILE_NAME, load_expected
from course_utils.checking.outcome import try_exercise
from course_utils.checking.report import Report
from course_utils.checking.wording import in_one_form


def run(text: str, namespace: dict) -> str:
    """Runs a cell, but for imports of what is not installed. Returns the first module or name that is then lacking, or nothing."""
    lacks = ""
    for statement in ast.parse(text).body:
        try:
            with contextlib.redirect_stdout(io.StringIO()):
                exec(compile(ast.Module([statement], []), "<cell>", "exec", dont_inherit=True), namespace)
        except (ModuleNotFoundError, NameError) as error:
            lacks = lacks or error.name or str(error)
    return lacks


def report_on(key: str, exercise, attempt, expected) -> str:
    """What is recognised in Python's own words, and the report in plain text and in HTML, with these words in one form.

    Raises:
        ModuleNotFoundError: the attempt imports something that is not installed.
    """
    tried = try_exercise(exercise, key, attempt, PUBLIC_SEED)
    absent = "ModuleNotFoundError: No module named "
    for outcome in tried:
        if outcome.problem and outcome.problem.message.startswith(absent):
            raise ModuleNotFoundError(name=outcome.problem.message.removeprefix(absent).strip("'"))
    outcomes = [
        outcome
        if outcome.problem is None
        else replace(
            outcome, problem=replace(outcome.problem, message=in_one_form(outcome.problem.message), where="")
        )
        for outcome in tried
    ]
    report = Report(compare(exercise, outcomes, expected), key)
    verdict = compare(exercise, tried, expected)
    found = [each.name for each in (*verdict.recognised, *verdict.possible, *verdict.symptoms)]
    return f"{found}\n{report!r}\n{report._repr_html_()}"


def main(data: Path, notebooks: Path) -> dict[str, dict[str, str]]:
    """Two texts for each attempt's name: the report; or, in its place, what is missing here."""
    reports, missing = {}, {}
    for name, lab in json.loads((data / "attempts.json").read_text("utf-8")).items():
        slug = name.partition("_")[2]
        os.chdir(notebooks / name)
        exercises.load(slug, notebooks / name / exercises.FILE_NAME)
        known, namespace = exercises_of(slug), {"__name__": "__main__"}
        for cell in lab["cells"]:
            run(cell, namespace)
        for exercise, attempt, text in lab["attempts"]:
            key, own = f"{slug}.{exercise}", dict(namespace)
            lacks = run(text, own) if text else ""
            if not lacks and exercise not in own:
                lacks = exercise
            if lacks:
                missing[f"{key} {attempt}"] = lacks
                continue
            try:
                expected = load_expected(notebooks / name / FILE_NAME, key, known[exercise])
                reports[f"{key} {attempt}"] = report_on(key, known[exercise], own[exercise], expected)
            except ModuleNotFoundError as error:
                missing[f"{key} {attempt}"] = error.name
    return {"reports": reports, "missing": missing}


if __name__ == "__main__":
    print(json.dumps(main(Path(sys.argv[1]), Path(sys.argv[2]))))
