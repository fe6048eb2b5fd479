"""What the checks give: a graded submission is entered in one transaction together with its marker (:mod:`grader.grade.resume`), so that a run
that is killed leaves only complete submissions behind.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from datetime import datetime
from typing import NamedTuple

from sqlalchemy import Connection, delete, select, update
from sqlalchemy.dialects.sqlite import insert

from grader.book import file as gradebook_file
from grader.book import together
from grader.book.database import Database
from grader.book.marker import Marker
from grader.book.points import Points
from grader.book.tables import (
    ANSWERS,
    ASSIGNMENT,
    CELL,
    COMMENT,
    EARLIER,
    GRADE,
    MARKERS,
    NO_RESPONSE,
    NOTEBOOK,
    PAGE,
    STUDENT,
    SUBMISSION,
)
from grader.course import CourseError
from grader.people.shared import together_in
from grader.reference.lab import Lab


class Scores(Database):
    """Where the checks' points go."""

    def register(self, lab: Lab) -> None:
        """Enters a lab's cells, or brings them up to date, with nbgrader's own step.

        Raises:
            CourseError: cells were added or removed since submissions were graded, which nbgrader cannot handle.
        """
        from nbgrader.preprocessors import SaveCells

        self._book.update_or_create_assignment(lab.name)
        names = {
            "notebook": lab.slug,
            "assignment": lab.name,
            "db_url": gradebook_file.url(self.course.gradebook),
        }
        try:
            SaveCells().preprocess(lab.release(), {"nbgrader": names})
        except RuntimeError as error:
            raise CourseError(
                f"{lab.name} has other cells than when its first submission was graded ({error}). Undo that, "
                f"or move {self.course.gradebook} away to start a new gradebook and grade everything again."
            ) from None
        self._file.forget()  # the step used a connection of its own

    def write(self, lab: Lab, student: str, points: Points, marker: Marker) -> None:
        """Enters one graded submission. Automatic scores are replaced; manual ones and comments stay.

        Raises:
            CourseError: the gradebook cannot be written to now; nothing was written.
        """
        # with tables and not with nbgrader's objects, which load a dozen relations per submission with a query each
        with self.transaction() as db:
            page = _page(db, lab, student, points.submitted)
            cells = db.execute(
                select(CELL.c.id, CELL.c.name, CELL.c.type)
                .join(NOTEBOOK, NOTEBOOK.c.id == CELL.c.notebook_id)
                .where(NOTEBOOK.c.id == page.master)
            ).all()
            looked_at = _looked_at(db, page.id, points.written)
            together.part(db, page.id)  # what is entered now is of this submission alone
            _enter_scores(
                db, page.id, {id: points.of_cells[name] for id, name, kind in cells if kind == "GradeCell"}
            )
            _leave_as_they_are(db, page.id, looked_at)
            untouched = {id: name in points.untouched for id, name, kind in cells if kind == "SolutionCell"}
            _enter_comments(db, page.id, untouched)
            _enter_answers(db, page.id, points.written)
            self._join_team(db, lab, student, page.id)
            _remember(db, lab, student, page.submission, marker)
        self.note_now_and_then()

    @contextmanager
    def with_answers(self, lab: Lab, student: str, written: Mapping[str, str]) -> Iterator[None]:
        """For nbgrader's own grading of a submission, which asks people to look again at everything that they have graded. Afterwards it asks only
        for written answers that have changed, as after :meth:`write`.

        Args:
            written: as in :class:`Points`.
        """
        id = (
            select(PAGE.c.id)
            .join(SUBMISSION, SUBMISSION.c.id == PAGE.c.assignment_id)
            .join(ASSIGNMENT, ASSIGNMENT.c.id == SUBMISSION.c.assignment_id)
            .where(ASSIGNMENT.c.name == lab.name, SUBMISSION.c.student_id == student)
        )
        with self.reading() as db:
            page = db.execute(id).scalar_one()
            looked_at = _looked_at(db, page, written)
        with self.transaction() as db:
            together.part(db, page)  # what is entered now is of this submission alone
        yield
        with self.transaction() as db:
            _leave_as_they_are(db, page, looked_at)
            _enter_answers(db, page, written)
            self._join_team(db, lab, student, page)

    def _join_team(self, db: Connection, lab: Lab, student: str, page: str) -> None:
        """What people have given for a team's work counts for this copy of it, too."""
        if found := together_in(self.course.submitted / student / lab.name):
            together.join(db, page, student, found)


class _Page(NamedTuple):
    """The ids of a submitted notebook, of its submission, and of the lab's notebook."""

    id: str
    submission: str
    master: str


def _page(db: Connection, lab: Lab, student: str, submitted: datetime | None) -> _Page:
    """The rows of a student's submission, which are entered if they do not exist yet. Everything else in them stays."""
    master, assignment = db.execute(
        select(NOTEBOOK.c.id, NOTEBOOK.c.assignment_id)
        .join(ASSIGNMENT, ASSIGNMENT.c.id == NOTEBOOK.c.assignment_id)
        .where(ASSIGNMENT.c.name == lab.name, NOTEBOOK.c.name == lab.slug)
    ).one()
    db.execute(insert(STUDENT).values(id=student).on_conflict_do_nothing())
    owned = {"assignment_id": assignment, "student_id": student}
    db.execute(
        insert(SUBMISSION)
        .values(**owned, timestamp=submitted)
        .on_conflict_do_update(index_elements=list(owned), set_={"timestamp": submitted})
    )
    submission = db.execute(select(SUBMISSION.c.id).filter_by(**owned)).scalar_one()
    part = {"notebook_id": master, "assignment_id": submission}
    db.execute(insert(PAGE).values(**part).on_conflict_do_nothing())
    return _Page(db.execute(select(PAGE.c.id).filter_by(**part)).scalar_one(), submission, master)


def _enter_scores(db: Connection, page: str, scores: Mapping[str, float | None]) -> None:
    """Enters scores (cell id -> automatic points). A score that a human gave stays, but is marked to be looked at again."""
    add = insert(GRADE)
    needed = GRADE.c.manual_score.is_not(None) | add.excluded.auto_score.is_(None)
    changes = {"auto_score": add.excluded.auto_score, "needs_manual_grade": needed}
    add = add.on_conflict_do_update(index_elements=["cell_id", "notebook_id"], set_=changes)
    rows = [
        {"notebook_id": page, "cell_id": cell, "auto_score": score, "needs_manual_grade": score is None}
        for cell, score in scores.items()
    ]
    if rows:
        db.execute(add, rows)


def _looked_at(db: Connection, page: str, written: Mapping[str, str]) -> list[str]:
    """Cell ids of the written answers that a person has graded and need not look at again: the text is the same as then."""
    kept = select(ANSWERS.c.cell, ANSWERS.c.text).filter_by(page=page)
    before = {row.cell: row.text for row in db.execute(kept)}
    same = [name for name, text in written.items() if before.get(name) == text]
    graded = (
        select(GRADE.c.cell_id)
        .join(CELL, CELL.c.id == GRADE.c.cell_id)
        .where(GRADE.c.notebook_id == page, GRADE.c.auto_score.is_(None), GRADE.c.manual_score.is_not(None))
        .where(GRADE.c.needs_manual_grade.is_(False), CELL.c.name.in_(same))
    )
    return list(db.execute(graded).scalars())


def _leave_as_they_are(db: Connection, page: str, cells: Collection[str]) -> None:
    """Nobody has to look again at these cells (by id) if people still grade them."""
    mine = (GRADE.c.notebook_id == page) & GRADE.c.cell_id.in_(cells) & GRADE.c.auto_score.is_(None)
    db.execute(update(GRADE).where(mine).values(needs_manual_grade=False))


def _enter_comments(db: Connection, page: str, untouched: Mapping[str, bool]) -> None:
    """Enters whether each cell (by id) is as it was handed out, which nbgrader says in a comment of its own."""
    add = insert(COMMENT)
    changes = {"auto_comment": add.excluded.auto_comment}
    add = add.on_conflict_do_update(index_elements=["cell_id", "notebook_id"], set_=changes)
    rows = [
        {"notebook_id": page, "cell_id": cell, "auto_comment": NO_RESPONSE if same else None}
        for cell, same in untouched.items()
    ]
    if rows:
        db.execute(add, rows)


def _enter_answers(db: Connection, page: str, written: Mapping[str, str]) -> None:
    """Enters digests of the answers that people grade (cell's name -> digest), in place of those from before."""
    db.execute(delete(ANSWERS).filter_by(page=page))
    if rows := [{"page": page, "cell": name, "text": text} for name, text in written.items()]:
        db.execute(insert(ANSWERS), rows)


def _remember(db: Connection, lab: Lab, student: str, submission: str, marker: Marker) -> None:
    key = {"student": student, "assignment": lab.name}
    before = db.execute(select(MARKERS.c.handed_in, MARKERS.c.recognised).filter_by(**key)).first()
    # the same work graded again is no other hand-in; without a fingerprint, nobody knows whether it is the same
    if before and before.handed_in and marker.handed_in and before.handed_in != marker.handed_in:
        db.execute(EARLIER.insert().values(**key, recognised=before.recognised))
    db.execute(delete(MARKERS).filter_by(**key))
    db.execute(MARKERS.insert().values(**key, submission_id=submission, **asdict(marker)))
