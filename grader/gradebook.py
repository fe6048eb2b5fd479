"""nbgrader's gradebook.db, of which this is the only writer.

A submission is written in one transaction, so that a run that is killed leaves whole submissions only.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path

from nbformat import NotebookNode
from nbgrader.api import Comment, Grade, MissingEntry, Student, SubmittedAssignment, SubmittedNotebook
from nbgrader.api import Gradebook as NbgraderGradebook
from nbgrader.plugins import CsvExportPlugin
from nbgrader.preprocessors import SaveCells
from nbgrader.utils import compute_checksum, determine_grade
from sqlalchemy.exc import DBAPIError

from grader.course import Course, CourseError
from grader.lab import Lab, nbgrader_of


@contextmanager
def _own_programs_first() -> Iterator[None]:
    """To make a new gradebook, nbgrader runs ``alembic``: it is beside this Python, perhaps not on PATH."""
    before = os.environ.get("PATH", "")
    os.environ["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), before])
    try:
        yield
    finally:
        os.environ["PATH"] = before


class Gradebook:
    """An open gradebook. Use it as ``with Gradebook.open(course) as gradebook``."""

    def __init__(self, course: Course, book: NbgraderGradebook) -> None:
        self.course = course
        self._book = book

    @classmethod
    @contextmanager
    def open(cls, course: Course) -> Iterator[Gradebook]:
        """
        Raises:
            CourseError: the file cannot be read or written (also later, while it is open).
        """
        course.grading.mkdir(parents=True, exist_ok=True)
        config = course.nbgrader_config().CourseDirectory
        try:
            with _own_programs_first():
                book = NbgraderGradebook(config.db_url, config.course_id)
            with book:
                yield cls(course, book)
        except DBAPIError as error:
            raise CourseError(
                f"The gradebook {course.gradebook} cannot be used: {error.orig}. Nothing was lost: see that "
                "the disk has room, that the file can be written and that no other program holds it."
            ) from error

    def register(self, lab: Lab) -> None:
        """Enters a lab's cells, or brings them up to date, by nbgrader's own step.

        Raises:
            CourseError: cells came or went since submissions were graded, which nbgrader cannot follow.
        """
        self._book.update_or_create_assignment(lab.name)
        names = {
            "notebook": lab.slug,
            "assignment": lab.name,
            "db_url": self.course.nbgrader_config().CourseDirectory.db_url,
        }
        try:
            SaveCells().preprocess(lab.release(), {"nbgrader": names})
        except RuntimeError as error:
            raise CourseError(
                f"{lab.name} has other cells than when its first submission was graded ({error}). Undo that, "
                f"or move {self.course.gradebook} away to start a new gradebook and grade everything again."
            ) from None
        self._book.db.expire_all()  # the step had a connection of its own

    def write(
        self, lab: Lab, student: str, notebook: NotebookNode, submitted: datetime | None, read: bool = True
    ) -> None:
        """Enters one graded submission. Automatic scores are replaced; manual ones and comments stay.

        Args:
            notebook: with results, so that nbgrader's own rules give the scores.
            submitted: when it was handed in (UTC), if that is known.
            read: False for a submission that could not be read: everything is 0 and nothing left to grade.
        """
        session = self._book.db
        try:
            submission = self._submission(lab, student)
            submission.timestamp = submitted
            page = next(page for page in submission.notebooks if page.name == lab.slug)
            grades = {grade.cell_id: grade for grade in page.grades}
            comments = {comment.cell_id: comment for comment in page.comments}
            cells = {nbgrader_of(cell)["grade_id"]: cell for cell in notebook.cells if nbgrader_of(cell)}
            for entry in page.notebook.grade_cells:
                grade = grades.get(entry.id) or Grade(cell_id=entry.id, notebook_id=page.id)
                session.add(grade)
                grade.auto_score = determine_grade(cells[entry.name])[0] if read else 0
                grade.needs_manual_grade = grade.manual_score is not None or grade.auto_score is None
            for entry in page.notebook.solution_cells:
                comment = comments.get(entry.id) or Comment(cell_id=entry.id, notebook_id=page.id)
                session.add(comment)
                untouched = nbgrader_of(cells[entry.name]).get("checksum") == compute_checksum(
                    cells[entry.name]
                )
                comment.auto_comment = "No response." if untouched else None
            session.commit()
        except BaseException:
            session.rollback()
            raise

    def _submission(self, lab: Lab, student: str) -> SubmittedAssignment:
        try:
            return self._book.find_submission(lab.name, student)
        except MissingEntry:
            pass
        # as nbgrader's own add_submission, which would commit in between
        session = self._book.db
        assignment = self._book.find_assignment(lab.name)
        owner = session.get(Student, student) or Student(id=student)
        with session.no_autoflush:
            submission = SubmittedAssignment(assignment_id=assignment.id, student=owner)
            session.add(submission)
            for page in assignment.notebooks:
                session.add(SubmittedNotebook(notebook_id=page.id, assignment=submission))
        session.flush()
        return submission

    def export(self, file: Path) -> None:
        """Everybody's scores as a CSV file, by nbgrader's exporter."""
        CsvExportPlugin(to=str(file)).export(self._book)
