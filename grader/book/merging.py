"""What the gradebook has of two ids that are one person's becomes one person's, and work is taken out that does not count."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from sqlalchemy import Connection, delete, func, select, update
from sqlalchemy.dialects.sqlite import insert

from grader.book import log, statuses, teams
from grader.book.database import Database
from grader.book.requests import REQUESTS
from grader.book.sent import merge_taken
from grader.book.statuses import Kind
from grader.book.tables import (
    ANSWERS,
    ASSIGNMENT,
    ATTEMPTS,
    COMMENT,
    EARLIER,
    EXTENSIONS,
    GRADE,
    LTI_USERS,
    MARKERS,
    MORE_TIME,
    PAGE,
    ROSTER,
    SENT,
    STUDENT,
    SUBMISSION,
)
from grader.reference.lab import Lab


class Merging(Database):
    """Gives what belongs to one id to another, and takes out work that should not have been collected."""

    def take_out(self, lab: Lab, students: Collection[str], why: str) -> None:
        """Forgets what these students handed in for a lab, with its points and comments. What was decided about them stays."""
        of_lab = select(ASSIGNMENT.c.id).where(ASSIGNMENT.c.name == lab.name)
        with self.transaction() as db:
            log.give_reason(db, why)
            theirs = SUBMISSION.c.assignment_id.in_(of_lab) & SUBMISSION.c.student_id.in_(students)
            _remove(db, db.execute(select(SUBMISSION.c.id).where(theirs)).scalars().all())
            for student in students:
                log.note_taken_out(db, student, lab.name)

    def merge(self, old: str, new: str, removed: Collection[str], why: str = "") -> None:
        """Gives everything of one student to another, all or nothing: points, comments, markers, extensions, requests, and what the
        roster says of the first one only. That one is then not in the gradebook any more. To do it again changes nothing.

        Args:
            removed: ids of submissions that are removed before, because both students have one for the lab.
            why: the reason, for the log.
        """
        of_old = select(EXTENSIONS).where(EXTENSIONS.c.student == old)
        longer = insert(EXTENSIONS)
        longer = longer.on_conflict_do_update(
            index_elements=["student", "assignment"],
            set_={"seconds": func.max(EXTENSIONS.c.seconds, longer.excluded.seconds)},
        )
        with self.transaction() as db:
            log.give_reason(db, why)
            _remove(db, removed)
            for lab in db.execute(select(MARKERS.c.assignment).filter_by(student=old)).scalars().all():
                db.execute(
                    delete(MARKERS).filter_by(student=new, assignment=lab)
                )  # of a submission that is gone
            merge_taken(db, old, new, _given(db, old) & _given(db, new))
            if extensions := [dict(row) | {"student": new} for row in db.execute(of_old).mappings()]:
                db.execute(longer, extensions)
            db.execute(delete(EXTENSIONS).filter_by(student=old))
            for table in (MARKERS, EARLIER):
                db.execute(update(table).filter_by(student=old).values(student=new))
            db.execute(update(REQUESTS).filter_by(student=old).values(student=new))
            db.execute(update(ATTEMPTS).filter_by(student=old).values(student=new))
            for table in (SENT, LTI_USERS):
                db.execute(update(table).prefix_with("OR IGNORE").filter_by(student=old).values(student=new))
                db.execute(delete(table).filter_by(student=old))
            known = _given(db, new)
            for each in statuses.statuses_in(db, among=[old]):  # of two of a kind, the other's counts
                statuses.withdraw(db, each)
                if (each.lab, each.kind) not in known:
                    statuses.enter(db, replace(each, student=new))
            db.execute(delete(MORE_TIME).filter_by(student=old))
            db.execute(update(SUBMISSION).filter_by(student_id=old).values(student_id=new))
            _join_people(db, old, new)
            teams.merge(db, old, new)
            removed_student = db.execute(delete(STUDENT).filter_by(id=old)).rowcount
            if removed_student or not log.is_noted(db, old, new):  # work may be collected and not graded yet
                log.note_merge(db, old, new)


def _remove(db: Connection, removed: Collection[str]) -> None:
    """Removes submissions with these ids, and what belongs to them."""
    pages = select(PAGE.c.id).where(PAGE.c.assignment_id.in_(removed))
    for table in (GRADE, COMMENT):
        db.execute(delete(table).where(table.c.notebook_id.in_(pages)))
    db.execute(delete(ANSWERS).where(ANSWERS.c.page.in_(pages)))
    db.execute(delete(PAGE).where(PAGE.c.assignment_id.in_(removed)))
    db.execute(delete(SUBMISSION).where(SUBMISSION.c.id.in_(removed)))
    db.execute(delete(MARKERS).where(MARKERS.c.submission_id.in_(removed)))


def _given(db: Connection, student: str) -> set[tuple[str, Kind]]:
    """Lab and kind of all statuses and extensions of a student."""
    of_student = select(EXTENSIONS.c.assignment).filter_by(student=student)
    extended = {(lab, Kind.EXTENSION) for lab in db.execute(of_student).scalars()}
    return extended | {(each.lab, each.kind) for each in statuses.statuses_in(db, among=[student])}


def _join_people(db: Connection, old: str, new: str) -> None:
    """Adds what is known of one student and not of another to the other; the roster then has the other one only."""
    names = ("first_name", "last_name", "email", "lms_user_id")
    rows = {
        row["id"]: row for row in db.execute(select(STUDENT).where(STUDENT.c.id.in_((old, new)))).mappings()
    }
    if len(rows) == 2:
        known = {name: rows[new][name] or rows[old][name] for name in names}
        if rows[new]["first_name"] or rows[new]["last_name"]:  # both parts of a name belong together
            known |= {name: rows[new][name] for name in names[:2]}
        db.execute(update(STUDENT).filter_by(id=new).values(known))
    section = db.execute(select(ROSTER.c.section).filter_by(student=old)).scalar()
    if section:
        db.execute(update(ROSTER).filter_by(student=new, section="").values(section=section))
    db.execute(delete(ROSTER).filter_by(student=old))
