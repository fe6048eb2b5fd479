"""What was sent to Canvas, so that it can be told from what somebody entered there, and feedback is sent once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass

from sqlalchemy import select
from sqlalchemy.dialects.sqlite import insert

from grader.book.database import Database
from grader.book.tables import SENT
from grader.reference.lab import Lab


@dataclass(frozen=True)
class Sent:
    """What an assignment in Canvas has of a student from here.

    Attributes:
        score: None if none was sent.
        page: a digest of the feedback page; empty if none was sent.
    """

    score: float | None = None
    excused: bool = False
    page: str = ""


class SentGrades(Database):
    """What was sent, for each assignment in Canvas that a lab was sent to."""

    def sent(self, lab: Lab, place: str) -> dict[str, Sent]:
        """Student -> what was sent to the assignment with this address."""
        query = select(SENT).filter_by(assignment=lab.name, place=place)
        with self.engine.connect() as db:
            return {row.student: Sent(row.score, row.excused, row.page) for row in db.execute(query)}

    def note_sent(self, lab: Lab, place: str, now: Mapping[str, Sent]) -> None:
        """Notes what the assignment has now, in place of what was noted."""
        if not now:
            return
        add = insert(SENT)
        new = {name: add.excluded[name] for name in ("score", "excused", "page")}
        rows = [
            {"student": student, "assignment": lab.name, "place": place, **asdict(each)}
            for student, each in now.items()
        ]
        with self.transaction() as db:
            db.execute(
                add.on_conflict_do_update(index_elements=["student", "assignment", "place"], set_=new), rows
            )
