"""The roster as a table: who is in the course, and what has been collected and graded of each."""

from __future__ import annotations

import shlex

from grader.course import Course, CourseError
from grader.grade.gradebook import Gradebook
from grader.lab import Lab
from grader.roster import NotSure, Roster, in_section


def standing(course: Course, section: str | None = None) -> tuple[list[list[str]], list[str]]:
    """A heading and a row for each person on the roster, then a line about each id with work that is nobody's.

    Args:
        section: only the people of this one.

    Raises:
        CourseError: nobody is on the roster, or the gradebook cannot be read.
        GraderError: there is no such section.
    """
    folders = {
        folder.name: sorted(each.name for each in folder.iterdir() if each.is_dir())
        for folder in sorted(course.submitted.glob("*"))
        if folder.is_dir()
    }
    with Gradebook.open(course) as gradebook:
        people = gradebook.roster()
        graded = {
            name: {result.student: result.score for result in gradebook.results(Lab.load(course, name))}
            for name in course.labs()
        }
    if not people:
        raise CourseError(
            "Nobody is on the roster. Export the class list from your LMS, and run `grader roster import FILE`."
        )
    among = people if section is None else in_section(people.values(), section)
    labs = [name for name in course.labs() if graded[name] or any(name in had for had in folders.values())]
    rows = [["id", "name", "email", "section", "Canvas", *labs]]
    for student in sorted(among):
        person = people[student]
        states = (_state(graded[name].get(student), name in folders.get(student, ())) for name in labs)
        rows.append([student, person.name, person.email, person.section, person.canvas, *states])
    roster = Roster(people.values())
    strangers = [
        f"{student}, with work for {', '.join(had)}.{_perhaps(roster, student)}"
        for student, had in folders.items()
        if student not in people and had
    ]
    return rows, strangers


def _state(score: float | None, collected: bool) -> str:
    """A score; else whether there is work."""
    return f"{score:g}" if score is not None else "collected" if collected else ""


def _perhaps(roster: Roster, student: str) -> str:
    try:
        person = roster.by_name(student) or roster.by_canvas(
            student.rpartition("_")[2], student.rpartition("_")[0]
        )
    except NotSure:
        return " Several people on the roster are called so."
    return (
        f" Perhaps {person.student} ({person.name})? If so: grader roster merge {shlex.quote(student)} {shlex.quote(person.student)}"
        if person
        else ""
    )
