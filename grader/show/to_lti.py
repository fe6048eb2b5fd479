"""Scores to a learning platform by LTI: what it does not have, and sending it.

Nothing is sent by :func:`differences`, and :func:`send` sends only what that has found and then reads the results back, where this tool may do so. The
gradebook notes what was sent. So a grade that somebody entered on the platform is not taken for ours.

The standard has no excuses and no lateness: who is excused is named and gets nothing, and how late work was stands in a comment.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass

from grader.book.gradebook import Gradebook
from grader.book.sent import Sent
from grader.errors import GraderError
from grader.left_out import LeftOut
from grader.people.lti import Column, NotAllowed, Platform, Registration
from grader.reference.lab import Lab
from grader.show.pages import title_of
from grader.show.wanted import WAITING, Wanted, the_same, why_it_stays


@dataclass(frozen=True)
class Difference:
    """A score that the platform does not have.

    Attributes:
        user: the platform's id of the student.
        before: the points that the platform has; None if it has none, or does not say.
        late: seconds after the student's deadline; 0 if it was not late.
    """

    student: str
    user: str
    before: float | None
    after: float
    late: float


@dataclass(frozen=True)
class Differences:
    """What the platform does not have of a lab.

    Attributes:
        column: the lab's; None if there is no such column yet.
        label, points: of the column.
        found: sorted by student.
        same: student -> the score that it has already.
        notes: about those who are left out.
    """

    column: Column | None
    label: str
    points: float
    found: tuple[Difference, ...]
    same: Mapping[str, float]
    notes: tuple[str, ...]


def differences(
    lab: Lab,
    registration: Registration,
    platform: Platform,
    among: Collection[str] | None = None,
    replacing: bool = False,
) -> Differences:
    """What the platform does not have of a lab.

    Args:
        among: only these students; None: everybody.
        replacing: also scores that somebody else entered there.

    Raises:
        GraderError: nothing has been graded, the column does not count points as the lab does, or the platform cannot be asked.
    """
    column = platform.column(lab.name)
    here = Wanted(lab, column.url if column else "", among)
    if column and abs(column.points - here.points) > 0.001:
        raise GraderError(
            f"On the platform, {column.label!r} has {column.points:g} points, but {lab.name} has {here.points:g}. Set its points there to {here.points:g}. Scores are never "
            "scaled."
        )
    results: dict[str, float | None] | None = {}
    if column:
        try:
            results = platform.results(column)
        except NotAllowed:
            results = None
    with Gradebook.open(lab.course) as gradebook:
        users = gradebook.lti_users(registration.issuer)
    found, same, left = [], {}, LeftOut()
    for student, after in here.wanted.items():
        user, sent = users.get(student), here.sent.get(student, Sent())
        there = results.get(user) if user and results is not None else None
        known = sent.score if results is None else there
        if after is None:
            has = "" if there is None else f" ({there:g} there)"
            left.add("They are excused, which LTI cannot say: excuse them on the platform", student + has)
        elif user is None:
            left.add("Nobody knows who they are on the platform; run `grader roster lti` first", student)
        elif student in here.waiting and here.stand[student].seen:
            left.add(WAITING, student)
        elif the_same(known, after):
            same[student] = after
        elif why := why_it_stays(
            "Somebody entered or changed these grades on the platform", there, sent, replacing
        ):
            left.add(why, f"{student} ({there:g} there, {after:g} here)")
        else:
            found.append(Difference(student, user, there, after, here.late.get(student, 0.0)))
    notes = [*here.notes(), *left.sentences()]
    if results is None:
        notes.append(
            "This tool may not read results on the platform. So nothing is said about scores that somebody has entered there, and sent scores cannot be read back."
        )
    return Differences(
        column,
        column.label if column else title_of(lab),
        here.points,
        tuple(found),
        same,
        tuple(notes),
    )


def send(lab: Lab, platform: Platform, told: Differences) -> tuple[list[str], bool]:
    """Sends scores and reads the results back; makes the column first, if there is none. Returns the students whose scores are not there, and whether
    that was read there or is only what the platform has answered.

    Raises:
        GraderError: the platform cannot be reached, refuses or fails; it says what may have been entered by then.
    """
    if not (told.found or told.same):
        return [], True
    column = told.column or platform.make_column(lab.name, told.label, told.points)
    _note(lab, column, told.same)
    taken: Mapping[str, Difference] = {}
    try:
        for each in told.found:
            comment = f"Handed in {each.late / 86400:.2f} days after the deadline." if each.late else ""
            if platform.send(column, each.user, each.after, comment):
                taken = {**taken, each.student: each}
    except GraderError as error:
        with suppress(GraderError):
            taken, _ = _there(platform, column, told, taken)
        _note(lab, column, {who: each.after for who, each in taken.items()})
        raise GraderError(
            f"{error} Of these {len(told.found)} scores, {len(taken)} are known to be on the platform; others may have been entered by then. Without --send, the same "
            "command lists what is missing; with --send it sends that."
        ) from None
    taken, read = _there(platform, column, told, taken)
    _note(lab, column, {who: each.after for who, each in taken.items()})
    return [each.student for each in told.found if each.student not in taken], read


def _there(
    platform: Platform, column: Column, told: Differences, taken: Mapping[str, Difference]
) -> tuple[Mapping[str, Difference], bool]:
    """Which of the scores are on the platform, by its results; those that it has taken, if they cannot be read; and whether they can."""
    try:
        results = platform.results(column) if told.found else {}
    except NotAllowed:
        return taken, False
    return {each.student: each for each in told.found if the_same(results.get(each.user), each.after)}, True


def _note(lab: Lab, column: Column, there: Mapping[str, float]) -> None:
    with Gradebook.open(lab.course) as gradebook:
        sent = gradebook.sent(lab, column.url)
        now = {student: Sent(score) for student, score in there.items()}
        gradebook.note_sent(
            lab, column.url, {who: each for who, each in now.items() if sent.get(who) != each}
        )
