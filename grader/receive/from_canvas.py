"""What Canvas says about a class and about a lab: who is in it, until when they may hand in, who is excused, and how late work was.

Everything is asked first, compared with what is here, and entered only if somebody wants it. What is here already and differs stays, unless it is to be
replaced.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from grader.book.gradebook import Gradebook
from grader.book.lateness import settle, undecided
from grader.book.statuses import Kind, Status
from grader.errors import GraderError
from grader.people.canvas import Canvas, User
from grader.people.roster import Person, contradictions, listed
from grader.people.students import number_in_id, student_id
from grader.people.tables import tidy
from grader.reference.lab import Lab

_LONGEST = timedelta(days=3650)
_SECOND = timedelta(seconds=1)


def class_list(canvas: Canvas) -> list[Person]:
    """The students of a course in Canvas, as a class list has them.

    Raises:
        GraderError: Canvas cannot be asked, there is nobody, or two of them have the same id or address.
    """
    sections = canvas.sections()
    people = [_person(user, sections) for user in canvas.students()]
    if faults := contradictions(people):
        raise GraderError(f"Canvas's class list contradicts itself; nothing has changed.{listed(faults)}")
    if not people:
        raise GraderError(f"{canvas.address} lists no students in this course. Nothing has changed.")
    return people


def _person(user: User, sections: Mapping[str, str]) -> Person:
    name, login, email = (tidy(text) for text in (user.name, user.login, user.email))
    last, comma, first = (part.strip() for part in name.partition(","))
    if not comma:
        first, _, last = name.rpartition(" ")
    identity = student_id(login) if login else student_id(re.sub(r"\W", "", name.casefold()), user.number)
    names = ", ".join(tidy(sections[each]) for each in user.sections if each in sections)
    return Person(identity, first, last, email or (login if "@" in login else ""), names, user.number)


@dataclass(frozen=True)
class News:
    """What Canvas says about a lab and the gradebook does not.

    Attributes:
        deadline: the one to be entered (UTC); None: the one that is there stays.
        given: extensions and excuses.
        handed_in: student -> when work was handed in (UTC) that is only marked as late.
        why: the reason, for the log.
        notes: about what stays or is left out.
    """

    deadline: datetime | None
    given: tuple[Status, ...]
    handed_in: Mapping[str, datetime]
    why: str
    notes: tuple[str, ...]

    def rows(self) -> list[tuple[str, str, str]]:
        """Whom it concerns, what, and how much, for a table."""
        found = [("everybody", "deadline", f"{self.deadline:%Y-%m-%d %H:%M} UTC")] if self.deadline else []
        for each in self.given:
            amount = f"{float(each.amount):g} days" if each.amount else ""
            found.append((each.student, str(each.kind), amount))
        return found + [
            (student, "handed in", f"{when:%Y-%m-%d %H:%M} UTC") for student, when in self.handed_in.items()
        ]


def news(lab: Lab, canvas: Canvas, replacing: bool = False, because: str = "") -> News:
    """What Canvas says about a lab and the gradebook does not. Nothing is changed.

    Args:
        replacing: also where the gradebook says something else.
        because: the reason, for the log.

    Raises:
        GraderError: Canvas cannot be asked, or two students have the same number.
    """
    with Gradebook.open(lab.course) as gradebook:
        people, before = gradebook.people(), gradebook.deadline(lab)
        extensions, statuses = gradebook.extensions(lab), gradebook.statuses(lab.name)
    students = _by_number(people)
    left = _Left()
    base, others = canvas.due(), _other_dates(canvas, left)
    everybody = base or min((due for due in others.values() if due), default=None)
    deadline = None
    if everybody is None:
        left.out("Canvas has no due date for this assignment, so the deadline stays as it is")
    elif before is None or (replacing and before != everybody):
        deadline = everybody
    elif before != everybody:
        left.out(
            f"The deadline here, {before:%Y-%m-%d %H:%M} UTC, is not Canvas's, {everybody:%Y-%m-%d %H:%M} UTC, and stays; --replace takes Canvas's"
        )
    holds = deadline or before
    given: list[Status] = []
    for number, due in others.items():
        student = students.get(number)
        if student is None:
            left.out(
                "Students with another date in Canvas are not in the gradebook; run `grader roster canvas` first",
                number,
            )
        elif due is None:
            left.out("They have no due date in Canvas; give them an extension with `grader extend`", student)
        elif holds is None or due - holds >= _LONGEST:
            left.out("Their date in Canvas is too far away to be meant", student)
        elif due < holds:
            left.out("Canvas gives them less time than others, which is not possible here", student)
        else:
            there = extensions.get(student, timedelta())
            if abs(due - holds - there) < _SECOND:
                continue
            if there and not replacing:
                left.out("They have another extension here, which stays; --replace takes Canvas's", student)
                continue
            days = f"{(due - holds) / timedelta(days=1):.9g}"
            given.append(Status(student, lab.name, Kind.EXTENSION, days, because or "due date in Canvas"))
    decided = {each.student: each.kind for each in statuses if each.kind in (Kind.EXCUSED, Kind.ZERO)}
    late, handed_in = undecided(lab), {}
    for number, entry in canvas.submissions().items():
        student = students.get(number)
        if student is None:
            if entry.excused:
                left.out(
                    "Excused in Canvas, and not in the gradebook; run `grader roster canvas` first", number
                )
            continue
        if entry.excused and decided.get(student) is Kind.ZERO:
            left.out("Excused in Canvas, but they have a zero here, which stays", student)
        elif entry.excused and student not in decided:
            given.append(Status(student, lab.name, Kind.EXCUSED, "", because or "excused in Canvas"))
        elif decided.get(student) is Kind.EXCUSED and not entry.excused:
            left.out("Excused here and not in Canvas; `grader export --canvas` tells Canvas", student)
        due = others.get(number, base) or holds
        if student in late and entry.late and due:
            handed_in[student] = due + timedelta(seconds=entry.late)
    if unknown := sorted(late.keys() - handed_in.keys()):
        left.out("How late they are is not known in Canvas either; `grader late` decides it", *unknown)
    given.sort(key=lambda each: (each.student, str(each.kind)))
    return News(
        deadline,
        tuple(given),
        dict(sorted(handed_in.items())),
        because or "due date in Canvas",
        left.sentences(),
    )


def enter(lab: Lab, found: News) -> None:
    """Enters what Canvas says: deadline, extensions and excuses together or not at all, then when late work was handed in.

    Raises:
        GraderError: nothing has changed, or the times of late work cannot be written.
    """
    with Gradebook.open(lab.course) as gradebook:
        gradebook.register(lab)
        due = (lab, found.deadline, found.why) if found.deadline else None
        if due or found.given:
            gradebook.enter_statuses(found.given, due)
    settle(lab, found.handed_in)


class _Left:
    """Why something is left out, and whom that concerns."""

    def __init__(self) -> None:
        self._found: dict[str, list[str]] = {}

    def out(self, why: str, *who: str) -> None:
        self._found.setdefault(why, []).extend(who)

    def sentences(self) -> tuple[str, ...]:
        return tuple(f"{', '.join(who)}: {why}." if who else f"{why}." for why, who in self._found.items())


def _by_number(people: Mapping[str, Person]) -> dict[str, str]:
    """Canvas's number -> student.

    Raises:
        GraderError: two students have the same one.
    """
    found: dict[str, str] = {}
    for student, person in people.items():
        number = person.canvas or number_in_id(student)
        if number and (other := found.setdefault(number, student)) != student:
            raise GraderError(
                f"{other!r} and {student!r} have the same number in Canvas, {number}. Nothing has changed. If they are one person: grader roster merge OLD ID"
            )
    return found


def _other_dates(canvas: Canvas, left: _Left) -> dict[str, datetime | None]:
    """Number of a student -> due date, of those who have another one than everybody. Of several, the latest counts, as in Canvas."""
    overrides = canvas.overrides()
    members: dict[str, list[str]] = {}
    if any(each.section for each in overrides):
        for user in canvas.students():
            for section in user.sections:
                members.setdefault(section, []).append(user.number)
    dates: dict[str, list[datetime | None]] = {}
    for each in overrides:
        if not (each.students or each.section):
            left.out(
                "These dates in Canvas are for groups, which are not looked up; give the extensions with `grader extend`",
                each.title,
            )
        for number in (*each.students, *members.get(each.section, ())):
            dates.setdefault(number, []).append(each.due)
    return {
        number: None if None in found else max(due for due in found if due) for number, found in dates.items()
    }
