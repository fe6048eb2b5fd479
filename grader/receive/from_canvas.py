"""What Canvas says about a class and about a lab: who is in it, until when they may hand in, who is excused, and how late work was.

Everything is asked first, compared with what is here, and entered only if somebody wants it. What somebody has entered here and differs stays, unless it is to be
replaced. What came from Canvas follows it, also when it is no longer there.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from grader.book.gradebook import Gradebook
from grader.book.lateness import settle, undecided
from grader.book.sent import Sent
from grader.book.statuses import Kind, Status
from grader.errors import GraderError
from grader.left_out import LeftOut
from grader.people.canvas import Canvas, User
from grader.people.roster import Person, contradictions, listed
from grader.people.students import number_in_id, student_id
from grader.people.tables import tidy
from grader.reference.lab import Lab

_LONGEST = timedelta(days=3650)
_SECOND = timedelta(seconds=1)
_GONE = {
    Kind.EXCUSED: "no longer excused in Canvas",
    Kind.EXTENSION: "no longer more time in Canvas",
}


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
        title: the assignment's name in Canvas.
        place: its address.
        deadline: the one to be entered (UTC); None: the one that is there stays.
        given: extensions and excuses.
        withdrawn: those that came from this assignment, which does not have them any more.
        handed_in: student -> when work was handed in (UTC) that is only marked as late.
        why: the reason, for the log.
        notes: about what stays or is left out.
    """

    title: str
    place: str
    deadline: datetime | None
    given: tuple[Status, ...]
    withdrawn: tuple[Status, ...]
    handed_in: Mapping[str, datetime]
    why: str
    notes: tuple[str, ...]

    def rows(self) -> list[tuple[str, str, str]]:
        """Whom it concerns, what, and how much, for a table."""
        found = [("everybody", "deadline", f"{self.deadline:%Y-%m-%d %H:%M} UTC")] if self.deadline else []
        for each in self.given:
            amount = f"{float(each.amount):g} days" if each.amount else ""
            found.append((each.student, str(each.kind), amount))
        found += [(each.student, _GONE[each.kind], "") for each in self.withdrawn]
        return found + [
            (student, "handed in", f"{when:%Y-%m-%d %H:%M} UTC") for student, when in self.handed_in.items()
        ]


def news(lab: Lab, canvas: Canvas, replacing: bool = False, because: str = "") -> News:
    """What Canvas says about a lab and the gradebook does not. Nothing is changed.

    Args:
        replacing: also where somebody has entered something else in the gradebook.
        because: the reason, for the log.

    Raises:
        GraderError: Canvas cannot be asked, or two students have the same number.
    """
    with Gradebook.open(lab.course) as gradebook:
        people, before = gradebook.people(), gradebook.deadline(lab)
        extensions, statuses = gradebook.extensions(lab), gradebook.statuses(lab.name)
        taken, sent = gradebook.taken(lab, canvas.place), gradebook.sent(lab, canvas.place)
    students = _by_number(people)
    left = LeftOut()
    assignment, others = canvas.assignment(), _other_dates(canvas, left)
    base = assignment.due
    everybody = base or min((due for due in others.values() if due), default=None)
    deadline = None
    if not assignment.published:
        left.add("The assignment is not published in Canvas")
    if everybody is None:
        left.add("Canvas has no due date for this assignment, so the deadline stays as it is")
    elif before is None or (replacing and before != everybody):
        deadline = everybody
    elif before != everybody:
        left.add(
            f"The deadline here, {before:%Y-%m-%d %H:%M} UTC, is not Canvas's, {everybody:%Y-%m-%d %H:%M} UTC, and stays; --replace takes Canvas's"
        )
    holds = deadline or before
    given: list[Status] = []
    withdrawn: list[Status] = []

    def withdraw(student: str, kind: Kind) -> None:
        withdrawn.append(Status(student, lab.name, kind, "", because or _GONE[kind]))

    for number, due in others.items():
        student = students.get(number)
        if student is None:
            left.add(
                "Students with another date in Canvas are not in the gradebook; run `grader roster canvas` first",
                number,
            )
        elif due is None:
            left.add("They have no due date in Canvas; give them an extension with `grader extend`", student)
        elif holds is None or due - holds >= _LONGEST:
            left.add("Their date in Canvas is too far away to be meant", student)
        elif due < holds:
            left.add("Canvas gives them less time than others, which is not possible here", student)
        else:
            there = extensions.get(student, timedelta())
            if abs(due - holds - there) < _SECOND:
                continue
            if there and not (replacing or (student, Kind.EXTENSION) in taken):
                left.add("They have another extension here, which stays; --replace takes Canvas's", student)
            elif due == holds:
                withdraw(student, Kind.EXTENSION)
            else:
                days = f"{(due - holds) / timedelta(days=1):.9g}"
                given.append(Status(student, lab.name, Kind.EXTENSION, days, because or "due date in Canvas"))
    excused, zeroed = (
        {each.student for each in statuses if each.kind is kind} for kind in (Kind.EXCUSED, Kind.ZERO)
    )
    late, handed_in = undecided(lab), {}
    for number, entry in canvas.submissions().items():
        student = students.get(number)
        if student is None:
            if entry.excused:
                left.add(
                    "Excused in Canvas, and not in the gradebook; run `grader roster canvas` first", number
                )
            continue
        # not while everybody has more time there than here: then this would be less than Canvas gives
        as_all = number not in others and everybody is not None and everybody <= holds
        if as_all and (student, Kind.EXTENSION) in taken:
            withdraw(student, Kind.EXTENSION)
        if entry.excused and student in zeroed:
            left.add("Excused in Canvas, but they have a zero here, which stays", student)
        elif entry.excused and student not in excused:
            if sent.get(student, Sent()).excused and not replacing:
                left.add(
                    "Excused in Canvas by an excuse that was withdrawn here; `grader export --canvas` tells Canvas, --replace takes Canvas's",
                    student,
                )
            else:
                given.append(Status(student, lab.name, Kind.EXCUSED, "", because or "excused in Canvas"))
        elif student in excused and not entry.excused:
            if (student, Kind.EXCUSED) in taken:
                withdraw(student, Kind.EXCUSED)
            else:
                left.add("Excused here and not in Canvas; `grader export --canvas` tells Canvas", student)
        due = others.get(number, base) or holds
        if student in late and entry.late and due:
            handed_in[student] = due + timedelta(seconds=entry.late)
    if unknown := sorted(late.keys() - handed_in.keys()):
        left.add("How late they are is not known in Canvas either; `grader late` decides it", *unknown)
    for decided in (given, withdrawn):
        decided.sort(key=lambda each: (each.student, str(each.kind)))
    return News(
        assignment.name,
        canvas.place,
        deadline,
        tuple(given),
        tuple(withdrawn),
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
        if due or found.given or found.withdrawn:
            gradebook.enter_statuses(found.given, due, found.withdrawn, found.place)
        sent = gradebook.sent(lab, found.place)
        gone = {each.student for each in found.withdrawn if each.kind is Kind.EXCUSED} & sent.keys()
        gradebook.note_sent(lab, found.place, {who: replace(sent[who], excused=False) for who in gone})
    settle(lab, found.handed_in)


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


def _other_dates(canvas: Canvas, left: LeftOut) -> dict[str, datetime | None]:
    """Number of a student -> due date, of those who have another one than everybody. Of several, the latest counts, as in Canvas."""
    overrides = canvas.overrides()
    members: dict[str, list[str]] = {}
    if any(each.section for each in overrides):
        for user in canvas.students():
            for section in user.sections:
                members.setdefault(section, []).append(user.number)
    dates: dict[str, list[datetime | None]] = {}
    for each in overrides:
        if not (each.students or each.section or each.group):
            left.add(
                "These dates in Canvas are for no student, section or group; give the extensions with `grader extend`",
                each.title,
            )
        together = canvas.members(each.group) if each.group else ()
        for number in (*each.students, *members.get(each.section, ()), *together):
            dates.setdefault(number, []).append(each.due)
    return {
        number: None if None in found else max(due for due in found if due) for number, found in dates.items()
    }
