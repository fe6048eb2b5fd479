"""A written answer that people grade: who reads it, what they gave, and what counts."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

FIRST, SECOND, DECISION = "first", "second", "decision"
"""The roles in which answers are read. A decision replaces the first reading's points."""


@dataclass(frozen=True)
class Mark:
    """What a reader says about one answer.

    Attributes:
        items: which lines of the rubric it earns, by number from 0; None if that is not known.
        answer: a digest of the text that somebody read, because another may follow; empty if that is unknown.
    """

    reader: str
    points: float
    items: tuple[int, ...] | None = None
    comment: str = ""
    answer: str = ""


@dataclass(frozen=True)
class Answer:
    """A written answer that is graded by hand.

    Attributes:
        points: what counts now; None if nobody has graded it.
        again: another answer was handed in since, so nbgrader wants a person to look at it once more.
        comment: what the feedback will say.
        marks: role -> what was read.
        text: a digest of the text that is there now; empty if it is not known.
    """

    cell: str
    points: float | None
    again: bool
    comment: str
    marks: Mapping[str, Mark]
    text: str = ""

    def replaced(self, role: str) -> bool:
        """Whether another text was handed in after somebody has read it in this role."""
        mark = self.marks.get(role)
        return bool(mark and mark.answer and self.text and mark.answer != self.text)

    def first(self) -> Mark | None:
        """The first reading; formgrader's points if it was read there."""
        if FIRST in self.marks or self.points is None:
            return self.marks.get(FIRST)
        return Mark("", self.points, None, self.comment)

    def counting(self) -> Mark | None:
        """The reading that gave the points that count; None if it was not on the page, or of another text."""
        role = DECISION if DECISION in self.marks else FIRST
        mark = self.marks.get(role)
        return mark if mark and same_points(mark.points, self.points) and not self.replaced(role) else None


@dataclass(frozen=True)
class Task:
    """That somebody reads a submission."""

    reader: str
    holder: str = ""
    held_until: datetime | None = None

    def held(self, now: datetime) -> bool:
        return bool(self.held_until and self.held_until > now)


@dataclass(frozen=True)
class Work:
    """A submission with answers that are graded by hand.

    Attributes:
        tasks: role -> task, ``FIRST`` and perhaps ``SECOND``.
        released: the student's name may be shown.
        copy: of another, as a member of a team has it: that one is read.
    """

    page: str
    student: str
    section: str
    answers: tuple[Answer, ...]
    tasks: Mapping[str, Task]
    released: bool
    copy: bool = False

    def state(self, role: str) -> str:
        """``"open"``, ``"again"`` (to be looked at once more) or ``"done"``."""
        if role == SECOND:
            read = all(SECOND in answer.marks for answer in self.answers)
            again = any(answer.replaced(SECOND) for answer in self.answers)
        else:
            read = all(answer.points is not None for answer in self.answers)
            again = any(answer.again for answer in self.answers)
        return "open" if not read else "again" if again else "done"

    def undecided(self) -> list[Answer]:
        """Answers with two readings that give different points, and no decision."""
        return [answer for answer in self.answers if _differ(answer) and DECISION not in answer.marks]

    def finished(self) -> bool:
        return all(self.state(role) == "done" for role in (FIRST, *self.tasks)) and not self.undecided()


def _differ(answer: Answer) -> bool:
    first, second = answer.first(), answer.marks.get(SECOND)
    return bool(first and second and same_text(first, second) and abs(first.points - second.points) > 1e-9)


def same_text(one: Mark, other: Mark) -> bool:
    """Whether two readers have read the same text, as far as that is known."""
    return not (one.answer and other.answer) or one.answer == other.answer


def same_points(one: float | None, other: float | None) -> bool:
    """Whether points are the same; None: nobody has given any."""
    return one is other or (one is not None and other is not None and math.isclose(one, other, abs_tol=1e-9))
