"""What was sent to Canvas: so a grade that somebody entered there looks different, and feedback goes out once. And what came from Canvas: so it
looks different from what somebody entered here.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass

from sqlalchemy import Connection, delete, select, update
from sqlalchemy.dialects.sqlite import insert

from grader.book.database import Database
from grader.book.statuses import Kind, Status
from grader.book.tables import SENT, TAKEN
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
    """What was sent, for each assignment in Canvas that a lab was sent to, and what came from there."""

    def taken(self, lab: Lab, place: str) -> set[tuple[str, Kind]]:
        """Student and kind of the statuses and extensions in a lab that are as the assignment with this address had them."""
        query = select(TAKEN).filter_by(assignment=lab.name, place=place)
        with self.reading() as db:
            return {(row.student, Kind(row.kind)) for row in db.execute(query)}

    def sent(self, lab: Lab, place: str) -> dict[str, Sent]:
        """Student -> what was sent to the assignment with this address."""
        query = select(SENT).filter_by(assignment=lab.name, place=place)
        with self.reading() as db:
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


def note_taken(db: Connection, status: Status, place: str = "") -> None:
    """Notes which assignment in Canvas a status or an extension is from; without an address: somebody has entered it or taken it back here."""
    key = {"student": status.student, "assignment": status.lab, "kind": str(status.kind)}
    db.execute(delete(TAKEN).filter_by(**key))
    if place:
        db.execute(insert(TAKEN).values(**key, place=place))


def merge_taken(db: Connection, old: str, new: str, both: Collection[tuple[str, Kind]]) -> None:
    """Gives one student's notes to another.

    Args:
        both: lab and kind of what both have: nobody can say any more where it is from, so it stays until somebody takes it back here.
    """
    for student in (old, new):
        for lab, kind in both:
            note_taken(db, Status(student, lab, kind))
    db.execute(update(TAKEN).filter_by(student=old).values(student=new))
