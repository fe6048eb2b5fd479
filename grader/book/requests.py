"""Requests to look again at how an exercise was judged, and what was decided about them: a table of our own in the gradebook's
file, which nbgrader ignores.

A request is about a submission's id in the gradebook. This id stays the same when the work is graded again, handed in anew, or given to another id
of its student. :class:`grader.book.decisions.Decisions` is what uses this module.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, fields
from datetime import datetime
from typing import TYPE_CHECKING

from sqlalchemy import (
    Column,
    Connection,
    DateTime,
    Float,
    Integer,
    MetaData,
    String,
    Table,
    UniqueConstraint,
    func,
    select,
)
from sqlalchemy.dialects.sqlite import insert

from grader.errors import GraderError
from grader.reference.lab import Lab, checked_exercise, nbgrader_of

if TYPE_CHECKING:
    from nbformat import NotebookNode

MAX_REQUESTS = 30
"""The most requests that may be made about one submission."""

REQUESTS = Table(
    "transformer_labs_request",
    MetaData(),
    Column("number", Integer, primary_key=True),
    Column("submission", String(32), nullable=False),
    Column("student", String(128), nullable=False),
    Column("lab", String(128), nullable=False),
    Column("cell", String(128), nullable=False),
    Column("words", String, nullable=False),
    Column("file", String, nullable=False),
    Column("asked", DateTime, nullable=False),
    Column("work", String(64), nullable=False),
    Column("decided", DateTime),
    Column("decided_by", String),
    Column("points", Float),
    Column("before", Float),
    Column("reason", String),
    UniqueConstraint("submission", "cell", "words"),  # the same file read twice is one request
    sqlite_autoincrement=True,  # a number is never given twice
)


class TooMany(GraderError):
    """There are as many requests about a submission as there may be."""


@dataclass(frozen=True)
class Asked:
    """A request as it was handed in.

    Attributes:
        submission: the submission's id in the gradebook.
        cell: the graded cell that it is about.
        words: what the learner says, safe to show.
        file: where it was read from, safe to show.
        when: it was handed in (UTC).
    """

    submission: str
    student: str
    lab: str
    cell: str
    words: str
    file: str
    when: datetime


@dataclass(frozen=True)
class Request:
    """A request in the gradebook.

    Attributes:
        asked: when it was handed in (UTC).
        work: fingerprint of the work whose grade the request is about; empty if that is unknown.
        decided: when it was decided (UTC); None: it is open.
        decided_by: account of the system or of JupyterHub.
        points: that the exercise got by the decision; None: the points stayed.
        before: the exercise's points before the first decision.
    """

    number: int
    submission: str
    student: str
    lab: str
    cell: str
    words: str
    file: str
    asked: datetime
    work: str
    decided: datetime | None
    decided_by: str | None
    points: float | None
    before: float | None
    reason: str | None

    @property
    def decision(self) -> str:
        """What was decided, in words; only of a request that is decided."""
        if self.points is None:
            return "the points stay"
        if self.before is None or self.before == self.points:
            return f"{self.points:g} point{'' if self.points == 1 else 's'}"
        return f"{self.points:g} instead of {self.before:g} points"


def exercise_name(cell: NotebookNode) -> str:
    """What learners know a graded cell by: the exercise that it checks, or the written answer's own name."""
    key = checked_exercise(cell)
    return key.partition(".")[2] if key else nbgrader_of(cell)["grade_id"]


def exercises_in(lab: Lab) -> dict[str, str]:
    """Graded cell -> what learners know it by, in the order of the lab.

    Raises:
        CourseError: the lab has not been built.
    """
    graded = (cell for cell in lab.release().cells if nbgrader_of(cell).get("grade"))
    return {nbgrader_of(cell)["grade_id"]: exercise_name(cell) for cell in graded}


def enter(db: Connection, asked: Asked, work: str) -> tuple[int, bool]:
    """Enters a request. Returns its number, and whether it is new: the same words about the same exercise are one request.

    Args:
        work: see :class:`Request`.

    Raises:
        TooMany: there are ``MAX_REQUESTS`` about this submission.
    """
    same = select(REQUESTS.c.number).filter_by(
        submission=asked.submission, cell=asked.cell, words=asked.words
    )
    if (number := db.execute(same).scalar()) is not None:
        return number, False
    count = select(func.count()).select_from(REQUESTS).filter_by(submission=asked.submission)
    if db.execute(count).scalar_one() >= MAX_REQUESTS:
        raise TooMany(
            f"There are {MAX_REQUESTS} requests about {asked.student}'s {asked.lab} already. Talk to them."
        )
    values = {
        "submission": asked.submission,
        "student": asked.student,
        "lab": asked.lab,
        "cell": asked.cell,
        "words": asked.words,
        "file": asked.file,
        "asked": asked.when,
        "work": work,
    }
    return db.execute(insert(REQUESTS).values(values)).inserted_primary_key[0], True


def of_lab(db: Connection, lab: str = "", among: Collection[str] | None = None) -> list[Request]:
    """The requests in the order of their numbers.

    Args:
        lab: only about this one.
        among: only of these students; None: of everybody.
    """
    chosen = select(REQUESTS).order_by(REQUESTS.c.number)
    if lab:
        chosen = chosen.filter_by(lab=lab)
    if among is not None:
        chosen = chosen.where(REQUESTS.c.student.in_(among))
    return [_request(row) for row in db.execute(chosen).mappings()]


def numbered(db: Connection, number: int) -> Request:
    """
    Raises:
        GraderError: there is no request with this number.
    """
    known = 0 < number < 2**63  # SQLite has no larger ones
    row = db.execute(select(REQUESTS).filter_by(number=number)).mappings().first() if known else None
    if row is None:
        raise GraderError(f"There is no request {number}. `grader requests` lists them.")
    return _request(row)


def _request(row: Mapping) -> Request:
    return Request(**{field.name: row[field.name] for field in fields(Request)})
