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
from grader.people.canvas import Canvas, Entry, User
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
    compared = _Comparison(lab, canvas, replacing, because)
    deadline = compared.compare_deadline()
    compared.compare_extensions()
    entries = canvas.submissions()
    for number, entry in entries.items():
        compared.compare_excuse(number, entry)
    handed_in = compared.times_of_late_work(entries)
    for decided in (compared.given, compared.withdrawn):
        decided.sort(key=lambda each: (each.student, str(each.kind)))
    return News(
        compared.assignment.name,
        canvas.place,
        deadline,
        tuple(compared.given),
        tuple(compared.withdrawn),
        dict(sorted(handed_in.items())),
        because or "due date in Canvas",
        compared.left.sentences(),
    )


class _Comparison:
    """An assignment in Canvas beside what the gradebook has of the lab.

    Attributes:
        students: Canvas's number -> student.
        others: Canvas's number -> due date, of those who have another one than everybody.
        everybody: the due date of all others; None: there is none.
        holds: the deadline that the lab has, or will have; None: none.
        given, withdrawn, left: what was found so far.
    """

    def __init__(self, lab: Lab, canvas: Canvas, replacing: bool, because: str) -> None:
        with Gradebook.open(lab.course) as gradebook:
            self.students = _by_number(gradebook.people())
            self.holds = gradebook.deadline(lab)
            self._extensions, statuses = gradebook.extensions(lab), gradebook.statuses(lab.name)
            self._taken = gradebook.taken(lab, canvas.place)
            self._sent = gradebook.sent(lab, canvas.place)
        self._excused, self._zeroed = (
            {each.student for each in statuses if each.kind is kind} for kind in (Kind.EXCUSED, Kind.ZERO)
        )
        self._lab, self._replacing, self._because = lab, replacing, because
        self.given: list[Status] = []
        self.withdrawn: list[Status] = []
        self.left = LeftOut()
        self.assignment, self.others = canvas.assignment(), _other_dates(canvas, self.left)
        self.everybody = self.assignment.due or min(
            (due for due in self.others.values() if due), default=None
        )
        if not self.assignment.published:
            self.left.add("The assignment is not published in Canvas")

    def compare_deadline(self) -> datetime | None:
        """The deadline to be entered; None: the one that is there stays."""
        here, there = self.holds, self.everybody
        if there is None:
            self.left.add("Canvas has no due date for this assignment, so the deadline stays as it is")
        elif here is None or (self._replacing and here != there):
            self.holds = there
            return there
        elif here != there:
            self.left.add(
                f"The deadline here, {here:%Y-%m-%d %H:%M} UTC, is not Canvas's, {there:%Y-%m-%d %H:%M} UTC, and stays; --replace takes Canvas's"
            )
        return None

    def compare_extensions(self) -> None:
        """Those of everybody with another date, once the deadline is known."""
        for number, due in self.others.items():
            student = self.students.get(number)
            if student is None:
                self.left.add(
                    "Students with another date in Canvas are not in the gradebook; run `grader roster canvas` first",
                    number,
                )
            elif due is None:
                self.left.add(
                    "They have no due date in Canvas; give them an extension with `grader extend`", student
                )
            elif self.holds is None or due - self.holds >= _LONGEST:
                self.left.add("Their date in Canvas is too far away to be meant", student)
            elif due < self.holds:
                self.left.add("Canvas gives them less time than others, which is not possible here", student)
            else:
                self._compare_extension(student, due - self.holds)

    def _compare_extension(self, student: str, there: timedelta) -> None:
        here = self._extensions.get(student, timedelta())
        if abs(there - here) < _SECOND:
            return
        if here and not (self._replacing or (student, Kind.EXTENSION) in self._taken):
            self.left.add("They have another extension here, which stays; --replace takes Canvas's", student)
        elif there:
            self._give(student, Kind.EXTENSION, f"{there / timedelta(days=1):.9g}", "due date in Canvas")
        else:
            self._withdraw(student, Kind.EXTENSION)

    def compare_excuse(self, number: str, entry: Entry) -> None:
        """Whether somebody is excused, and whether an extension that came from Canvas has gone from there."""
        student = self.students.get(number)
        if student is None:
            if entry.excused:
                self.left.add(
                    "Excused in Canvas, and not in the gradebook; run `grader roster canvas` first", number
                )
            return
        # not while everybody has more time there than here: then this would be less than Canvas gives
        as_all = number not in self.others and self.everybody is not None and self.everybody <= self.holds
        if as_all and (student, Kind.EXTENSION) in self._taken:
            self._withdraw(student, Kind.EXTENSION)
        if entry.excused and student in self._zeroed:
            self.left.add("Excused in Canvas, but they have a zero here, which stays", student)
        elif entry.excused and student not in self._excused:
            if self._sent.get(student, Sent()).excused and not self._replacing:
                self.left.add(
                    "Excused in Canvas by an excuse that was withdrawn here; `grader export --canvas` tells Canvas, --replace takes Canvas's",
                    student,
                )
            else:
                self._give(student, Kind.EXCUSED, "", "excused in Canvas")
        elif student in self._excused and not entry.excused:
            if (student, Kind.EXCUSED) in self._taken:
                self._withdraw(student, Kind.EXCUSED)
            else:
                self.left.add(
                    "Excused here and not in Canvas; `grader export --canvas` tells Canvas", student
                )

    def times_of_late_work(self, entries: Mapping[str, Entry]) -> dict[str, datetime]:
        """Student -> when work was handed in (UTC) that is only marked as late."""
        late, found = undecided(self._lab), {}
        for number, entry in entries.items():
            student = self.students.get(number)
            due = self.others.get(number, self.assignment.due) or self.holds
            if student in late and entry.late and due:
                found[student] = due + timedelta(seconds=entry.late)
        if unknown := sorted(late.keys() - found.keys()):
            self.left.add(
                "How late they are is not known in Canvas either; `grader late` decides it", *unknown
            )
        return found

    def _give(self, student: str, kind: Kind, amount: str, why: str) -> None:
        self.given.append(Status(student, self._lab.name, kind, amount, self._because or why))

    def _withdraw(self, student: str, kind: Kind) -> None:
        self.withdrawn.append(Status(student, self._lab.name, kind, "", self._because or _GONE[kind]))


def enter(lab: Lab, found: News) -> None:
    """Enters what Canvas says: deadline, extensions and excuses together or not at all, then when late work was handed in.

    Raises:
        GraderError: nothing has changed, or the times of late work cannot be written.
    """
    with Gradebook.open(lab.course) as gradebook:
        due = (lab, found.deadline, found.why) if found.deadline else None
        if due:  # extensions and excuses are kept without it, and a lab that is in the gradebook counts as released
            gradebook.register(lab)
        if due or found.given or found.withdrawn:
            gradebook.enter_statuses(found.given, due, found.withdrawn, found.place)
        sent = gradebook.sent(lab, found.place)
        gone = {each.student for each in found.withdrawn if each.kind is Kind.EXCUSED} & sent.keys()
        gradebook.note_sent(lab, found.place, {who: replace(sent[who], excused=False) for who in gone})
    settle(lab, found.handed_in, known=True)


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
