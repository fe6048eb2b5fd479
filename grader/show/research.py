"""Results without names, for research about the course: a row for each student, lab and exercise, and a data dictionary beside it.

Students are numbers drawn anew for each export, so two exports cannot be put together by them. Left out is whatever a person wrote or is known by: ids, names,
sections, comments, reasons, times.
"""

from __future__ import annotations

import math
import secrets
from collections.abc import Collection, Mapping, Sequence
from datetime import timedelta
from pathlib import Path

from grader.book.gradebook import Gradebook
from grader.book.results import Result
from grader.book.statuses import by_student
from grader.course import Course
from grader.errors import GraderError
from grader.reference.lab import Lab
from grader.show.class_facts import names_of_cells
from grader.show.export import write_csv
from grader.show.standing import Standing, collected, graded, standings

COLUMNS = {
    "student": "number of a student, drawn at random for this export alone; the same in all rows of a student",
    "lab": "folder name of the lab",
    "exercise": "name of the exercise, or of the written answer",
    "standing": "how the student stands in the lab: not handed in; collected, not graded yet; graded; unreadable; excused; zero (both by an instructor's decision)",
    "run": "how the run of the notebook ended: graded, incomplete (cells were missing), timed out, crashed, out of memory, unreadable; empty if there was none",
    "points": "points for the exercise, before deductions, with those given by hand; empty if there are none (yet)",
    "of": "points that the exercise has",
    "begun": "1 if the exercise's cell is not as it was handed out, 0 if it is; empty if nothing was graded",
    "misconceptions": "names of the misconceptions that were recognised in the exercise, separated by blanks; they are explained in the lab's misconceptions.py",
    "given": "1 if the exercise is right given a mistake in an earlier one, else 0; empty if nothing was graded",
    "days late": "days after the student's own deadline, rounded up; 0 if in time; empty if nothing was graded",
}
"""Column -> what the data dictionary says of it."""


def write_research(
    course: Course, labs: Sequence[Lab], file: Path, among: Collection[str] | None = None
) -> list[str]:
    """Writes the table, and the dictionary beside it as ``<name>-dictionary.csv``. Returns notes for the user.

    Args:
        among: only these students; None: everybody.

    Raises:
        GraderError: nothing has been graded.
        OSError: they cannot be written.
    """
    with Gradebook.open(course) as gradebook:
        expected = [
            each for each in gradebook.roster() or gradebook.people() if among is None or each in among
        ]
        entered = {lab.name: gradebook.results(lab, among) for lab in labs}
        marks = {lab.name: by_student(gradebook.statuses(lab.name, among)) for lab in labs}
    rows: list[tuple[str, ...]] = []
    numbers: dict[str, str] = {}
    for lab in labs:
        results = {one.student: one for one in graded(entered[lab.name])}
        if not results:
            continue
        there = [each for each in collected(lab) if among is None or each in among]
        for student, stands in standings(entered[lab.name], there, expected, marks[lab.name]).items():
            number = numbers.setdefault(student, _new(numbers.values()))
            rows += [(number, lab.name, *row) for row in _exercises(lab, stands, results.get(student))]
    if not rows:
        raise GraderError("Nothing has been graded yet. Run `grader autograde LAB` first.")
    dictionary = file.with_stem(f"{file.stem}-dictionary")
    write_csv(file, [list(COLUMNS), *sorted(rows)])
    write_csv(dictionary, [("column", "meaning"), *COLUMNS.items()])
    return [
        f"The data dictionary is {dictionary.resolve()}.",
        "Names are gone, and points stay: anyone who knows a person's points can find the rows. Treat the file as your rules for research say.",
    ]


def _new(taken: Collection[str]) -> str:
    while (number := f"{secrets.randbelow(10**8):08}") in taken:
        pass
    return number


def _exercises(lab: Lab, stands: Standing, result: Result | None) -> list[tuple[str, ...]]:
    """The columns from ``exercise`` on, for each graded cell of the lab."""
    rows = []
    recognised = _by_exercise(result.marker.recognised if result and result.marker else ())
    given = _by_exercise(result.marker.given if result and result.marker else ())
    for cell, name in names_of_cells(lab).items():
        of = f"{lab.points_of_cells[cell]:g}"
        if result is None:
            rows.append((name, str(stands), "", "", of, "", "", "", ""))
            continue
        points = result.points.get(cell)
        rows.append(
            (
                name,
                str(stands),
                result.marker.state if result.marker else "",
                "" if points is None else f"{points:g}",
                of,
                str(int(name not in result.untouched)),
                " ".join(recognised.get(name, ())),
                str(int(name in given)),
                "" if result.marked_late else str(math.ceil(result.late / timedelta(days=1))),
            )
        )
    return rows


def _by_exercise(texts: Sequence[str]) -> Mapping[str, list[str]]:
    found: dict[str, list[str]] = {}
    for text in texts:
        exercise, _, rest = text.partition(": ")
        found.setdefault(exercise, []).append(rest)
    return found
