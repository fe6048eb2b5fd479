"""Results without names, for research about the course: a row for each student, lab and exercise, and a data dictionary beside it.

Students are numbers drawn anew for each export, so two exports cannot be put together by them. Left out is whatever a person wrote or is known by: ids, names,
sections, comments, reasons, notes, times of day.
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
from grader.run.states import UNREADABLE
from grader.show.check_statistics import passes
from grader.show.class_facts import given_in, names_of_cells, with_working
from grader.show.export import write_csv
from grader.show.standing import Standing, collected, graded, standings

COLUMNS = {
    "student": "number of a student, drawn at random for this export alone; the same in all rows of a student",
    "lab": "folder name of the lab",
    "exercise": "name of the exercise, or of the written answer",
    "standing": "the student's state in the lab: not handed in; collected, not graded yet; graded; unreadable; not run to the end; excused; zero (the last two by an instructor's decision)",
    "run": "how the run of the notebook ended: graded, incomplete (cells were missing), timed out, crashed, out of memory, unreadable; empty if there was none",
    "hand-ins": "how many different hand-ins of the student were graded in the lab, with this one, which is the last; empty if nothing was graded",
    "points": "points for the exercise, before deductions, with those given by hand; empty if there are none (yet)",
    "of": "points that the exercise has",
    "passed": "outcome of the check: 1 if all points of the exercise were earned, else 0; empty if there are no points (yet), or nothing could be read",
    "begun": "1 if the exercise's cell differs from the one in the release, 0 if not; empty if nothing was graded, or nothing could be read",
    "misconceptions": "names of the misconceptions that were recognised in the exercise, separated by blanks; they are explained in the lab's misconceptions.py",
    "misconceptions before": "the same, of the hand-ins that were graded before the last one",
    "given": "1 if the exercise is right given a mistake in an earlier one, else 0; empty if nothing was graded",
    "working": "1 if the exercise is right with a working earlier one instead of the student's, else 0; empty if nothing was graded",
    "days late": "days after the student's own deadline, rounded up; 0 if in time; empty if nothing was graded, or it is not known",
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
    if result is None:
        return [
            (name, str(stands), "", "", "", f"{lab.points_of_cells[cell]:g}", *[""] * 7)
            for cell, name in names_of_cells(lab).items()
        ]
    recognised, before = _by_exercise(result.recognised), _by_exercise(sorted(result.recognised_before))
    given, working = given_in(result), with_working(result)
    for cell, name in names_of_cells(lab).items():
        of, points = lab.points_of_cells[cell], result.points.get(cell)
        unread = result.state == UNREADABLE
        rows.append(
            (
                name,
                str(stands),
                result.state,
                str(len(result.before) + 1),
                "" if points is None else f"{points:g}",
                f"{of:g}",
                "" if points is None or unread else str(int(passes(points, of))),
                "" if unread else str(int(name not in result.untouched)),
                " ".join(recognised.get(name, ())),
                " ".join(before.get(name, ())),
                str(int(name in given)),
                str(int(name in working)),
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
