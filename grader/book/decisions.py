"""Requests to look again (:mod:`grader.book.requests`), entered and decided: points that a decision gives are entered as formgrader enters
those that a human gives.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import Connection, select, update

from grader.book import log, requests
from grader.book.deadlines import Deadlines
from grader.book.requests import REQUESTS, Asked, Request
from grader.book.results import points_of
from grader.book.tables import CELL, GRADE, MARKERS, PAGE
from grader.errors import GraderError
from grader.reference.lab import Lab


class Decisions(Deadlines):
    """What learners ask to have looked at again, and what became of it."""

    def ask(self, asked: Asked) -> tuple[int, bool]:
        """Enters a request to look again. Returns its number, and whether it is new.

        Raises:
            TooMany: there are ``MAX_REQUESTS`` about this submission.
            CourseError: the gradebook cannot be written to now.
        """
        graded = select(MARKERS.c.handed_in).filter_by(submission_id=asked.submission)
        with self.transaction() as db:
            return requests.enter(db, asked, db.execute(graded).scalar() or "")

    def requests(self, lab: str = "", among: Collection[str] | None = None) -> list[Request]:
        """Requests to look again, in the order of their numbers; of one lab, or of all.

        Args:
            among: only of these students; None: of everybody.
        """
        with self.reading() as connection:
            return requests.of_lab(connection, lab, among)

    def request(self, number: int) -> Request:
        """
        Raises:
            GraderError: there is no request with this number.
        """
        with self.reading() as connection:
            return requests.numbered(connection, number)

    def decide(self, number: int, points: float | None, reason: str, again: bool = False) -> Request:
        """Decides a request. The points are entered as formgrader enters points that a human gives, so they stay when the work
        is graded again, and late penalties follow.

        Args:
            points: for the exercise; None: they stay as they are.
            reason: what the learner reads.
            again: it may have been decided before.

        Raises:
            GraderError: there is no such request, it has been decided, or the exercise cannot have these points. Nothing has changed.
        """
        with self.transaction() as db:
            request = requests.numbered(db, number)
            _see_that_it_is_open(request, points, again)
            lab = Lab.load(self.course, request.lab)
            grade = (
                db.execute(
                    select(GRADE)
                    .join(PAGE, PAGE.c.id == GRADE.c.notebook_id)
                    .join(CELL, CELL.c.id == GRADE.c.cell_id)
                    .where(PAGE.c.assignment_id == request.submission, CELL.c.name == request.cell)
                )
                .mappings()
                .first()
            )
            told = {"points": points, "before": request.before, "reason": reason}
            if not request.decided:
                told["before"] = points_of(grade) if grade else None
            if points is not None:
                _give(db, lab, request, grade, points, told["before"])
            told |= {
                "decided": datetime.now(UTC).replace(tzinfo=None),
                "decided_by": log.user_and_program()[0],
            }
            db.execute(update(REQUESTS).filter_by(number=number).values(told))
            if points is not None:
                self.enter_lateness(lab)
        return self.request(number)


def _see_that_it_is_open(request: Request, points: float | None, again: bool) -> None:
    """
    Raises:
        GraderError: it must not be decided, or not in this way.
    """
    if request.decided and not again:
        raise GraderError(
            f"Request {request.number} has been decided by {request.decided_by} ({request.decision}). To decide it again, add --again."
        )
    if request.points is not None and points is None:
        raise GraderError(
            f"Request {request.number} has been decided before ({request.decision}), so it is not clear which points stay. Say with "
            f"--points how many the exercise has now; it had {request.before or 0:g} before that."
        )


def _give(
    db: Connection,
    lab: Lab,
    request: Request,
    grade: Mapping[str, Any] | None,
    points: float,
    before: float | None,
) -> None:
    """Enters points that a human gives.

    Args:
        before: what the exercise had when nobody had decided yet.

    Raises:
        GraderError: there is nothing that could have them, they are too many, or fewer than before: asking costs nothing.
    """
    most = lab.points_of_cells.get(request.cell)
    exercise = requests.exercises_in(lab).get(request.cell, request.cell)
    if grade is None or most is None:
        raise GraderError(
            f"{request.student}'s {lab.name} has no {exercise} in the gradebook any more. Grade it again with "
            f"`grader autograde {lab.name}`, or decide with --keep."
        )
    if not 0 <= points <= most:
        raise GraderError(
            f"{exercise} has {most:g} points, so it cannot get {points:g}. More than that is extra credit, which formgrader can give."
        )
    given = {"manual_score": points, "needs_manual_grade": False}
    if before is not None and points_of({**grade, **given}) < before - 0.005:
        raise GraderError(
            f"{exercise} had {before:g} points, and a request must not cost any. Use --keep; if points have to be taken back, formgrader can."
        )
    db.execute(update(GRADE).where(GRADE.c.id == grade["id"]).values(given))
