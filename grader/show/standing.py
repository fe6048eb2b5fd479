"""How each stands in a lab, which every table, page and export takes from here; everybody on the roster as a table; and whose work is newer than
its grade.
"""

from __future__ import annotations

import shlex
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from enum import StrEnum

from grader.book.gradebook import Gradebook
from grader.book.results import Result
from grader.book.statuses import NONE, Marks, by_student
from grader.course import Course, CourseError
from grader.people.roster import NotSure, Roster, described, in_section
from grader.receive.handed_in import fingerprint_of_submission
from grader.receive.refused import refused
from grader.reference.lab import Lab
from grader.run.states import CUT_SHORT, UNREADABLE


class Standing(StrEnum):
    """How somebody stands in a lab. *Graded* are only those of whose work everything was seen. What is unreadable has a score,
    too: 0 points unless a person gives some. So has what did not run to its end, because it crashed, or ran out of time or
    memory. *Excused* and *zero* are what an instructor
    has decided, whatever was handed in: no score, and a score of 0.
    """

    NOT_HANDED_IN = "not handed in"
    COLLECTED = "collected, not graded yet"
    GRADED = "graded"
    UNREADABLE = UNREADABLE
    CUT_SHORT = "not run to the end"
    EXCUSED = "excused"
    ZERO = "zero"

    @property
    def has_score(self) -> bool:
        """Whether there is a score, be it 0."""
        return self.seen or self is Standing.ZERO

    @property
    def seen(self) -> bool:
        """Whether the score is of what was handed in."""
        return self in (Standing.GRADED, Standing.UNREADABLE, Standing.CUT_SHORT)


def standing_of(result: Result | None, collected: bool, marks: Marks = NONE) -> Standing:
    """How somebody stands in a lab.

    Args:
        result: what the gradebook says; None if it says nothing.
        collected: whether there is work, see :func:`collected`.
        marks: what was decided about this student in the lab.
    """
    if marks.zeroed or marks.excused:
        return Standing.ZERO if marks.zeroed else Standing.EXCUSED
    if result is None:
        return Standing.COLLECTED if collected else Standing.NOT_HANDED_IN
    if result.marker is None and not any(points is not None for points in result.points.values()):
        return Standing.COLLECTED  # nbgrader enters a submission before it grades it
    if result.state == UNREADABLE:
        return Standing.UNREADABLE
    return Standing.CUT_SHORT if result.state in CUT_SHORT else Standing.GRADED


def is_over(due: datetime | None, more: timedelta, begun: bool, now: datetime) -> bool:
    """Whether a lab that somebody has not handed in counts against them: once their own deadline has passed; without a deadline, once anything in the
    lab has been graded.

    Args:
        due: when the lab has to be handed in (UTC); None: at any time.
        more: how much more time this person has.
        begun: whether anything in the lab has been graded.
    """
    return begun if due is None else due + more <= now


def collected(lab: Lab) -> frozenset[str]:
    """The students of whom there is work for a lab, graded or not."""
    return frozenset(
        folder.parent.name for folder in lab.course.submitted.glob(f"*/{lab.name}") if folder.is_dir()
    )


def graded(results: Iterable[Result]) -> list[Result]:
    """The results that have been graded, whatever was decided about them and however the run ended: all that may have a score."""
    return [result for result in results if standing_of(result, True) is not Standing.COLLECTED]


def standings(
    results: Iterable[Result],
    collected: Collection[str],
    students: Iterable[str],
    marks: Mapping[str, Marks] | None = None,
) -> dict[str, Standing]:
    """Student -> how each stands in a lab: of these students, and of all others with a result, work or a decision.

    Args:
        marks: student -> what was decided about this student in the lab.
    """
    found = {result.student: result for result in results}
    marks = marks or {}
    everybody = sorted({*students, *found, *collected, *marks})
    return {
        student: standing_of(found.get(student), student in collected, marks.get(student, NONE))
        for student in everybody
    }


def scores_of(results: Iterable[Result], standings: Mapping[str, Standing]) -> dict[str, float]:
    """Student -> score, of everybody who has one."""
    earned = {result.student: result.score for result in results}
    return {student: earned.get(student, 0.0) for student, each in standings.items() if each.has_score}


def in_words(lab: str, standings: Mapping[str, Standing]) -> list[str]:
    """Sentences about the work in a lab that has no grade yet, or could not be read."""
    waiting = sum(each is Standing.COLLECTED for each in standings.values())
    unread = [student for student, each in standings.items() if each is Standing.UNREADABLE]
    told = []
    if waiting:
        told.append(
            f"{lab}: {waiting} collected, not graded yet, so without a score: run `grader autograde {lab}`."
        )
    if unread:
        told.append(f"{lab}: {len(unread)} unreadable: {_first(unread)}. `grader report {lab}` says why.")
    return told


def _first(students: Sequence[str]) -> str:
    more = f" and {len(students) - 10} more" if len(students) > 10 else ""
    return ", ".join(students[:10]) + more


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
    return f"{count} {were} handed in again since {since} graded: run `grader autograde {lab}`."


def standing(course: Course, section: str | None = None) -> tuple[list[list[str]], list[str], list[str]]:
    """A heading and a row for each person on the roster, then a line about each id with work that is nobody's. Then come lines
    about each lab with work that is newer than its grade, or with refused files.

    Args:
        section: only the people of this one.

    Raises:
        CourseError: nobody is on the roster, or the gradebook cannot be read.
        GraderError: there is no such section.
    """
    with Gradebook.open(course) as gradebook:
        people = gradebook.roster()
        results = {name: gradebook.results(Lab.load(course, name)) for name in course.labs()}
        marks = {name: by_student(gradebook.statuses(name)) for name in course.labs()}
    there = {name: collected(Lab.load(course, name)) for name in course.labs()}
    if not people:
        raise CourseError(
            "Nobody is on the roster. Export the class list from your LMS, and run `grader roster import FILE`."
        )
    stand = {name: standings(found, there[name], people, marks[name]) for name, found in results.items()}
    scores = {name: scores_of(found, stand[name]) for name, found in results.items()}
    among = people if section is None else in_section(people.values(), section)
    labs = [name for name in course.labs() if scores[name] or there[name] or marks[name]]
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
            _state(stand[name][student], scores[name].get(student, 0.0), student in anew[name])
            for name in labs
        )
        rows.append([student, person.name, person.email, person.section, person.canvas, *states])
    roster = Roster(people.values())
    strange = sorted({student for who in there.values() for student in who if student not in people})
    strangers = [
        f"{student}, with work for {', '.join(name for name in course.labs() if student in there[name])}.{perhaps(roster, student)}"
        for student in strange
    ]
    notes = [f"{name}: {anew_in_words(name, len(who))}" for name, who in anew.items() if who]
    aside = {name: len(refused(Lab.load(course, name))) for name in course.labs()}
    notes += [
        f"{name}: {count} file{'s were' if count > 1 else ' was'} refused when work was last collected; `grader report {name}` says which."
        for name, count in aside.items()
        if count
    ]
    return rows, strangers, notes


def _state(standing: Standing, score: float, anew: bool) -> str:
    """A score, with a note if it is that of earlier work or of what could not be read; else whether there is work."""
    if not standing.has_score:
        return {Standing.COLLECTED: "collected", Standing.EXCUSED: "excused"}.get(standing, "")
    notes = [
        *(["zero"] if standing is Standing.ZERO else []),
        *([str(standing)] if standing in (Standing.UNREADABLE, Standing.CUT_SHORT) else []),
        *(["handed in again"] if anew else []),
    ]
    return f"{score:g} ({', '.join(notes)})" if notes else f"{score:g}"


def perhaps(roster: Roster, student: str) -> str:
    """Whose work it may be that lies under an id that is not on the roster, and what to do then."""
    name, _, number = student.rpartition("_")
    try:
        person = roster.find(student, student) or roster.find(name=name, canvas=number)
        near = [person] if person else roster.alike(student) or roster.alike(name)
    except NotSure as error:
        near = error.args[0]
    merge = f"grader roster merge {shlex.quote(student)}"
    if len(near) == 1:
        (person,) = near
        return f" Perhaps {described(person)}? If so: {merge} {shlex.quote(person.student)}"
    told = f" Perhaps {', '.join(map(described, near[:10]))}?" if near else ""
    return f"{told} If it is another id of somebody on the roster: {merge} ID"


def strangers_in_words(students: Iterable[str], roster: Collection[str]) -> list[str]:
    """A sentence about people with work who are not on the roster, if there are any and there is a roster."""
    strange = sorted({*students} - {*roster}) if roster else []
    if not strange:
        return []
    return [f"Not on the roster, but with work: {_first(strange)}. `grader roster` says who that may be."]
