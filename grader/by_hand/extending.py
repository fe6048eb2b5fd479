"""More time for a student, as `grader extend` and the page about the week give it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from shlex import quote

from grader.book.gradebook import Gradebook
from grader.errors import GraderError
from grader.people.roster import Roster
from grader.reference.lab import Lab

MOST_DAYS = 3650
_LEAST = 1 / (24 * 60)


@dataclass(frozen=True)
class Extended:
    """What was entered.

    Attributes:
        until: the student's deadline (UTC); None: the lab has none.
        known: whether the gradebook knows the student.
    """

    student: str
    days: float
    until: datetime | None
    known: bool

    @property
    def given(self) -> str:
        """What was given to whom, in words."""
        return f"{self.days:.10g} extra day{'' if self.days == 1 else 's'}" if self.days else "no extra days"

    @property
    def deadline(self) -> str:
        """The student's deadline, as a sentence."""
        return (
            f"The deadline is {self.until:%Y-%m-%d %H:%M} UTC." if self.until else "There is no deadline yet."
        )


def extend(
    gradebook: Gradebook,
    lab: Lab,
    student: str,
    days: float,
    why: str = "",
    allowed: Callable[[str], None] = lambda _: None,
) -> Extended:
    """Gives a student more time for a lab; 0 days withdraw an extension. A lab that is not out yet stays so: the extension is kept for when it is.

    Args:
        student: id, e-mail address or name.
        allowed: gets the student's id, and raises :class:`GraderError` if this student must not get anything.

    Raises:
        GraderError: nobody or several people are meant, or this is no number of days. Nothing has changed.
    """
    if days and not _LEAST <= days <= MOST_DAYS:  # nan, too
        raise GraderError(
            f"An extension is a number of days from 0 to {MOST_DAYS}, such as 2.5, and no shorter than a minute."
        )
    if not student.strip():
        raise GraderError("Say who gets more time: STUDENT is empty. `grader roster` lists the ids.")
    student = on_roster(gradebook, student, not days, allowed)
    allowed(student)
    with gradebook.together():
        gradebook.extend(lab, student, timedelta(days=days), why)
        gradebook.enter_lateness(lab)
    deadline = gradebook.deadline(lab)
    until = deadline + timedelta(days=days) if deadline else None
    return Extended(student, days, until, student in gradebook.students())


def on_roster(
    gradebook: Gradebook, student: str, withdrawn: bool, allowed: Callable[[str], None] = lambda _: None
) -> str:
    """The id of the person on the roster who is meant; the text as it is where there is no roster.

    Args:
        withdrawn: something is only taken back, which nobody has to be on the roster for.
        allowed: as for :func:`extend`. Nobody else is named as the one who may be meant.

    Raises:
        GraderError: nobody on the roster is meant, or several people could be.
    """
    roster = Roster(gradebook.roster().values())
    meant = roster.meant(student)
    if roster.people and not roster.by_id(meant) and not withdrawn:
        theirs = Roster(each for each in roster.people.values() if _is_allowed(each.student, allowed))
        work = student in {folder.name for folder in gradebook.course.submitted.glob("*")}
        merge = (
            f" If it is another id of somebody on it: grader roster merge {quote(student)} ID."
            if work
            else ""
        )
        raise GraderError(
            f"{student!r} is not on the roster, so nothing has changed.{theirs.near(student)} `grader roster` lists the ids.{merge} If somebody is missing: grader roster import FILE."
        )
    return meant


def _is_allowed(student: str, allowed: Callable[[str], None]) -> bool:
    try:
        allowed(student)
    except GraderError:
        return False
    return True
