"""What was graded as it arrived (``grader watch``): how often of each student, and whose feedback has still to be returned."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple

from sqlalchemy import insert, select, update

from grader.book.database import Database
from grader.book.tables import ATTEMPTS
from grader.reference.lab import Lab


class Attempt(NamedTuple):
    """A submission that was graded as it arrived: when (UTC) that began, and the submission's fingerprint."""

    begun: datetime
    handed_in: str


class Attempts(Database):
    """Each submission that was graded as it arrived is an attempt, from when its grading begins."""

    def begin_attempt(self, lab: Lab, student: str, new: Attempt) -> None:
        """Notes that a submission is about to be graded. If that was begun before and broken off, it is the same attempt."""
        whose = {"student": student, "assignment": lab.name}
        query = select(ATTEMPTS.c.id, ATTEMPTS.c.handed_in).filter_by(**whose)
        with self.transaction() as db:
            last = db.execute(query.order_by(ATTEMPTS.c.id.desc()).limit(1)).first()
            if last and last.handed_in == new.handed_in:
                db.execute(update(ATTEMPTS).filter_by(id=last.id).values(returned=False))
            else:
                db.execute(insert(ATTEMPTS).values(**whose, **new._asdict(), returned=False))

    def attempts(self, lab: Lab, since: datetime) -> dict[str, list[Attempt]]:
        """Student -> the attempts that began since then (UTC), the first of them first."""
        query = select(ATTEMPTS).where(ATTEMPTS.c.assignment == lab.name, ATTEMPTS.c.begun > since)
        found: dict[str, list[Attempt]] = {}
        with self.reading() as db:
            for row in db.execute(query.order_by(ATTEMPTS.c.id)):
                found.setdefault(row.student, []).append(Attempt(row.begun, row.handed_in))
        return found

    def unreturned(self, lab: Lab) -> set[str]:
        """Students for whom a submission was graded, or begun to be, and whose feedback was not returned since."""
        query = select(ATTEMPTS.c.student).filter_by(assignment=lab.name, returned=False)
        with self.reading() as db:
            return set(db.execute(query).scalars())

    def note_returned(self, lab: Lab, student: str) -> None:
        """Notes that a student's feedback was returned."""
        done = update(ATTEMPTS).filter_by(student=student, assignment=lab.name, returned=False)
        with self.transaction() as db:
            db.execute(done.values(returned=True))
