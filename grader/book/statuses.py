"""What an instructor decides about a student in a lab, beside points: excused, a zero, a penalty, a lab that does not count, more time. It is kept in a
table of our own in the gradebook's file, which nbgrader ignores, and every change of it is in the log with its reason.

What several of them do together depends on which they are, never on the order in which they were entered. :class:`grader.book.deadlines.Deadlines`
is what uses this module.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal
from enum import StrEnum

from sqlalchemy import Column, Connection, MetaData, String, Table, delete, select
from sqlalchemy.dialects.sqlite import insert

from grader.errors import GraderError

STATUSES = Table(
    "transformer_labs_status",
    MetaData(),
    Column("student", String(128), primary_key=True),
    Column("assignment", String(128), primary_key=True),  # empty: in all labs
    Column("kind", String(32), primary_key=True),
    Column("amount", String(32), nullable=False),
    Column("reason", String, nullable=False),
)


class Kind(StrEnum):
    """What may be decided. ``TIME`` is about all labs, the others are about one."""

    EXCUSED = "excused"
    ZERO = "zero"
    PENALTY = "penalty"
    DROPPED = "dropped"
    LATE_DAYS = "late days"
    EXTENSION = "extension"
    TIME = "time"


HOW = "excused, dropped, zero, penalty 2, penalty 10%, extension 3 (days), late days 2, or time 1.5"
"""All forms of a status, as they are typed."""

_FORM = re.compile(
    r"(excused|dropped|zero|penalty|extension|late days?|time)(?:\s+[x×]?(\d{1,4}(?:[.,]\d{1,4})?)\s*(%?))?"
)


@dataclass(frozen=True)
class Status:
    """A decision about a student.

    Attributes:
        lab: empty if it is about all labs.
        amount: points or, with %, the share of those earned; days; how many times the usual time. Empty if the kind has none.
    """

    student: str
    lab: str
    kind: Kind
    amount: str = ""
    reason: str = ""

    @property
    def time(self) -> timedelta:
        """How long an extension is."""
        return timedelta(days=float(self.amount))

    def __str__(self) -> str:
        return f"{self.kind} {self.amount}".strip()


@dataclass(frozen=True)
class Marks:
    """All that was decided about a student in a lab and that changes a score or whether it counts.

    A zero counts more than an excuse, and an excuse more than everything else.
    """

    statuses: tuple[Status, ...] = ()

    def _has(self, kind: Kind) -> bool:
        return any(each.kind is kind for each in self.statuses)

    @property
    def zeroed(self) -> bool:
        return self._has(Kind.ZERO)

    @property
    def excused(self) -> bool:
        return self._has(Kind.EXCUSED) and not self.zeroed

    @property
    def dropped(self) -> bool:
        return self._has(Kind.DROPPED) and not self.zeroed and not self.excused

    def deducted(self, earned: float, after_lateness: float) -> float:
        """The points that these decisions take off, of those that are left after the deduction for lateness.

        Args:
            earned: all points, without regard to lateness: what a penalty in per cent is of.
        """
        if self.zeroed:
            return after_lateness
        off = 0.0
        for each in self.statuses:
            if each.kind is Kind.PENALTY:
                number = float(each.amount.rstrip("%"))
                off += earned * number / 100 if each.amount.endswith("%") else number
        return min(off, after_lateness)

    def __str__(self) -> str:
        told = (
            each
            for each in self.statuses
            if each.kind in (Kind.ZERO, Kind.EXCUSED, Kind.DROPPED, Kind.PENALTY)
        )
        return "; ".join(f"{each}: {each.reason}" for each in sorted(told, key=str))


NONE = Marks()


def understood(text: str) -> tuple[Kind, str]:
    """What somebody means who types a status: its kind, and how much.

    Raises:
        GraderError: the text is not a status, or the number is missing, too much, or too large to be meant.
    """
    found = _FORM.fullmatch(" ".join(text.casefold().split()))
    if not found:
        raise GraderError(f"{text!r} is not a status. Write {HOW}.")
    word, number, percent = found.groups()
    kind = Kind("late days" if word == "late day" else word)
    with_number = kind not in (Kind.EXCUSED, Kind.ZERO, Kind.DROPPED)
    if bool(number) != with_number or (percent and kind is not Kind.PENALTY):
        raise GraderError(f"{text!r} is not a status: {_form_of(kind)}.")
    if not number:
        return kind, ""
    value = Decimal(number.replace(",", "."))
    if kind is Kind.LATE_DAYS and (value % 1 or not 1 <= value <= 100):
        raise GraderError(f"{text!r}: late days are whole days, from 1 to 100.")
    if kind is Kind.TIME and not 1 < value <= 10:
        raise GraderError(f"{text!r}: time is how many times the usual time, more than 1 and at most 10.")
    if kind in (Kind.PENALTY, Kind.EXTENSION) and not value:
        raise GraderError(f"{text!r} changes nothing. To take back what was given, withdraw it.")
    if percent and value > 100:
        raise GraderError(f"{text!r}: a penalty is at most 100%.")
    if kind is Kind.EXTENSION and value > 3650:
        raise GraderError(f"{text!r}: an extension is at most 3650 days.")
    return kind, f"{value.normalize():f}{percent}"


def _form_of(kind: Kind) -> str:
    forms = {
        Kind.PENALTY: "a penalty has its points or per cent, as in “penalty 2” or “penalty 10%”",
        Kind.EXTENSION: "an extension has its days, as in “extension 3”",
        Kind.LATE_DAYS: "late days have their number, as in “late days 2”",
        Kind.TIME: "time says how many times the usual time, as in “time 1.5”",
    }
    return forms.get(kind, f"write “{kind}” alone")


def see_that_the_lab_fits(status: Status) -> None:
    """
    Raises:
        GraderError: it is about one lab and should be about all, or the other way round.
    """
    if status.kind is Kind.TIME and status.lab:
        raise GraderError(
            f"“{status}” is about all labs: leave out the lab. For more time in one lab, write “extension 3”."
        )
    if status.kind is not Kind.TIME and not status.lab:
        raise GraderError(f"“{status}” is about one lab: say which.")


# ---------------------------------------------------------------------------------- in the gradebook


def statuses_in(db: Connection, lab: str | None = None, among: Collection[str] | None = None) -> list[Status]:
    """All statuses, sorted by student.

    Args:
        lab: only those that are about this one alone.
        among: only of these students; None: of everybody.
    """
    query = select(STATUSES).order_by(STATUSES.c.student, STATUSES.c.assignment, STATUSES.c.kind)
    if lab is not None:
        query = query.where(STATUSES.c.assignment == lab)
    if among is not None:
        query = query.where(STATUSES.c.student.in_(among))
    return [
        Status(row.student, row.assignment, Kind(row.kind), row.amount, row.reason)
        for row in db.execute(query)
    ]


def enter(db: Connection, status: Status) -> None:
    """Enters a status; one of the same kind that is there is replaced."""
    add = insert(STATUSES).values(
        student=status.student,
        assignment=status.lab,
        kind=str(status.kind),
        amount=status.amount,
        reason=status.reason,
    )
    new = {"amount": add.excluded.amount, "reason": add.excluded.reason}
    db.execute(add.on_conflict_do_update(index_elements=["student", "assignment", "kind"], set_=new))


def withdraw(db: Connection, status: Status) -> bool:
    """Takes a status back, whatever its amount. Returns whether there was one."""
    key = {"student": status.student, "assignment": status.lab, "kind": str(status.kind)}
    return bool(db.execute(delete(STATUSES).filter_by(**key)).rowcount)


def by_student(statuses: Iterable[Status]) -> Mapping[str, Marks]:
    """Student -> all of these statuses."""
    found: dict[str, list[Status]] = {}
    for each in statuses:
        found.setdefault(each.student, []).append(each)
    return {student: Marks(tuple(each)) for student, each in found.items()}
