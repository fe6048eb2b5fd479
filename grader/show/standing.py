"""What has been collected and graded of each: as a table of everybody on the roster, and whose work is newer than its grade."""

from __future__ import annotations

import shlex
from collections.abc import Iterable

from grader.course import Course, CourseError
from grader.grade.gradebook import Gradebook, Result
from grader.grade.resume import fingerprint_of_submission
from grader.lab import Lab
from grader.receive.refused import refused
from grader.roster import NotSure, Roster, in_section


def handed_in_anew(lab: Lab, results: Iterable[Result]) -> list[str]:
    """Students whose work is not the one that was graded any more: their scores are those of earlier work."""
    return [
        result.student
        for result in results
        if result.marker
        and (folder := lab.course.submitted / result.student / lab.name).is_dir()
        and result.marker.handed_in != fingerprint_of_submission(lab, folder)
    ]


def anew_in_words(lab: str, count: int) -> str:
    """That so many have handed in anew, and what to do."""
    were = "was" if count == 1 else "were"
    since = "it was" if count == 1 else "they were"
    return f"{count} {were} handed in anew since {since} graded: run `grader autograde {lab}`."


def standing(course: Course, section: str | None = None) -> tuple[list[list[str]], list[str], list[str]]:
    """A heading and a row for each person on the roster, then a line about each id with work that is nobody's, and lines about
    each lab with work that is newer than its grade, or with files that were refused.

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
        results = {name: gradebook.results(Lab.load(course, name)) for name in course.labs()}
    if not people:
        raise CourseError(
            "Nobody is on the roster. Export the class list from your LMS, and run `grader roster import FILE`."
        )
    graded = {name: {result.student: result.score for result in found} for name, found in results.items()}
    among = people if section is None else in_section(people.values(), section)
    labs = [name for name in course.labs() if graded[name] or any(name in had for had in folders.values())]
    anew = {
        name: handed_in_anew(
            Lab.load(course, name), (each for each in results[name] if each.student in among)
        )
        for name in labs
    }
    rows = [["id", "name", "email", "section", "Canvas", *labs]]
    for student in sorted(among):
        person = people[student]
        states = (
            _state(graded[name].get(student), name in folders.get(student, ()), student in anew[name])
            for name in labs
        )
        rows.append([student, person.name, person.email, person.section, person.canvas, *states])
    roster = Roster(people.values())
    strangers = [
        f"{student}, with work for {', '.join(had)}.{_perhaps(roster, student)}"
        for student, had in folders.items()
        if student not in people and had
    ]
    notes = [f"{name}: {anew_in_words(name, len(who))}" for name, who in anew.items() if who]
    aside = {name: len(refused(Lab.load(course, name))) for name in course.labs()}
    notes += [
        f"{name}: {count} file{'s were' if count > 1 else ' was'} refused when work was last collected; `grader report {name}` says which."
        for name, count in aside.items()
        if count
    ]
    return rows, strangers, notes


def _state(score: float | None, collected: bool, anew: bool) -> str:
    """A score, with a note if it is that of earlier work; else whether there is work."""
    if score is None:
        return "collected" if collected else ""
    return f"{score:g} (handed in anew)" if anew else f"{score:g}"


def _perhaps(roster: Roster, student: str) -> str:
    try:
        name, _, number = student.rpartition("_")
        person = roster.find(student, student) or roster.find(name=name, canvas=number)
    except NotSure:
        return " Several people on the roster are called so."
    return (
        f" Perhaps {person.student} ({person.name})? If so: grader roster merge {shlex.quote(student)} {shlex.quote(person.student)}"
        if person
        else ""
    )
