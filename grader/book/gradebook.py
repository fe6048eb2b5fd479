"""nbgrader's gradebook.db. Only this module enters what the checks give, and :mod:`grader.book.readings` what people do.

A submission is written in one transaction together with its marker (:mod:`grader.grade.resume`), so that a run that is
killed leaves only complete submissions behind. The marker is in a table of our own, which nbgrader ignores.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, fields, replace
from datetime import UTC, datetime, timedelta
from shlex import quote
from typing import Any, NamedTuple

from nbgrader.api import (
    Assignment,
    BaseCell,
    Comment,
    Grade,
    Notebook,
    Student,
    SubmittedAssignment,
    SubmittedNotebook,
)
from nbgrader.api import Gradebook as NbgraderGradebook
from nbgrader.preprocessors import AssignLatePenalties, SaveCells
from sqlalchemy import (
    JSON,
    Column,
    Connection,
    Engine,
    Float,
    Integer,
    MetaData,
    String,
    Table,
    Update,
    bindparam,
    delete,
    func,
    inspect,
    select,
    text,
    update,
)
from sqlalchemy.dialects.sqlite import insert
from sqlalchemy.exc import DatabaseError, OperationalError

from grader.book import file as gradebook_file
from grader.book import late_days, log, requests, rules, statuses
from grader.book import state as gradebook_state
from grader.book.backups import back_up, see_that_no_other_s_changes_are_undone
from grader.book.lateness import marked_late
from grader.book.marker import Marker
from grader.book.points import Points
from grader.book.requests import REQUESTS, Asked, Request
from grader.book.rules import RULES, Rules
from grader.book.statuses import STATUSES, Kind, Marks, Status
from grader.course import Course, CourseError
from grader.errors import GraderError
from grader.people.roster import Person, Roster, in_section
from grader.reference.lab import Lab

_MARKERS = Table(
    "transformer_labs_graded",
    MetaData(),
    Column("student", String(128), primary_key=True),
    Column("assignment", String(128), primary_key=True),
    Column("submission_id", String(32), nullable=False),  # a submission that is entered anew gets a new id
    Column("handed_in", String(64), nullable=False),
    Column("lab", String(64), nullable=False),
    Column("notebook", String(100), nullable=False),
    Column("state", String(32), nullable=False),
    Column("score", Float, nullable=False),
    Column("max_score", Float, nullable=False),
    Column("by_hand", Integer, nullable=False),
    Column("recognised", JSON, nullable=False),
    Column("given", JSON, nullable=False, server_default="[]"),
    Column("notes", JSON, nullable=False),
)
_EXTENSIONS = Table(  # nbgrader keeps extensions with submissions, so it needs a submission to store one
    "transformer_labs_extension",
    _MARKERS.metadata,
    Column("student", String(128), primary_key=True),
    Column("assignment", String(128), primary_key=True),
    Column("seconds", Float, nullable=False),
)
_MORE_TIME = (
    Table(  # what nbgrader's extensions have from an accommodation or late days, so that it can be taken back
        "transformer_labs_more_time",
        _MARKERS.metadata,
        Column("student", String(128), primary_key=True),
        Column("assignment", String(128), primary_key=True),
        Column("late_days", Integer, nullable=False),
    )
)
_ROSTER = (
    Table(  # those who were put on the roster; nbgrader also lists everybody who has handed something in
        "transformer_labs_roster",
        _MARKERS.metadata,
        Column("student", String(128), primary_key=True),
        Column("section", String(128), nullable=False),
    )
)
ANSWERS = Table(  # what people grade: a digest of the text that is there now
    "transformer_labs_answer",
    _MARKERS.metadata,
    Column("page", String(32), primary_key=True),  # nbgrader's id of a submitted notebook
    Column("cell", String(255), primary_key=True),
    Column("text", String(64), nullable=False),
)


@dataclass(frozen=True)
class Result:
    """What the gradebook says about one student in one lab.

    Attributes:
        points: graded cell -> points. Those that a human gave take precedence over automatic ones; None where a human still
            has to give them.
        untouched: solution cells and written answers that are as they were handed out.
        submitted: when it was handed in (UTC); None if that is not known.
        late: how long after the student's own deadline that was.
        penalty: points deducted because of that.
        marked_late: who marks it as late without saying by how much, until an instructor has decided that; empty otherwise.
        comments: cell -> what its feedback page says about it: a human's comment, or else nbgrader's own.
        submission: its id in the gradebook, which requests to look again are about.
        requests: those about it, in the order of their numbers.
        marks: what an instructor has decided about it, beside points.
    """

    student: str
    points: Mapping[str, float | None]
    untouched: frozenset[str]
    submitted: datetime | None
    late: timedelta
    penalty: float
    marker: Marker | None
    comments: Mapping[str, str] = field(default_factory=dict)
    submission: str = ""
    requests: tuple[Request, ...] = ()
    marked_late: str = ""
    marks: Marks = statuses.NONE

    @property
    def waiting(self) -> frozenset[str]:
        """Cells whose points a human still has to give."""
        return frozenset(cell for cell, points in self.points.items() if points is None)

    @property
    def earned(self) -> float:
        """All points, without regard to lateness."""
        return sum(filter(None, self.points.values()))

    @property
    def after_lateness(self) -> float:
        """All points less the penalty for lateness, as nbgrader exports it."""
        return max(0.0, self.earned - self.penalty)

    @property
    def deducted(self) -> float:
        """The points that an instructor's decisions take off."""
        return self.marks.deducted(self.earned, self.after_lateness)

    @property
    def score(self) -> float:
        """All points less everything that is deducted."""
        return self.after_lateness - self.deducted


_NOTE_SECONDS = 60
"""So often a command that enters many submissions notes what the gradebook is: it may be killed."""


class Submission(NamedTuple):
    """Whose submission it is, and of which lab."""

    student: str
    lab: str


class Gradebook:
    """An open gradebook. Use it as ``with Gradebook.open(course) as gradebook``."""

    def __init__(self, course: Course, book: NbgraderGradebook) -> None:
        self.course = course
        self._book = book
        self._noted = time.monotonic()

    @classmethod
    @contextmanager
    def open(cls, course: Course, merging: bool = False) -> Iterator[Gradebook]:
        """
        Args:
            merging: two ids are being merged, and it is this that opens it.

        Raises:
            CourseError: the file cannot be read or written, which can also be raised later, while it is open; it is not the one that
                was last used; or a merge of two ids has not been finished.
        """
        if not merging and (merge := gradebook_file.unfinished_merge(course)):
            raise CourseError(
                f"The merge of {merge['old']!r} into {merge['new']!r} is not finished. If it is not at work at the moment, "
                f"finish it: grader roster merge {quote(merge['old'])} {quote(merge['new'])}"
            )
        see_that_no_other_s_changes_are_undone(course)
        usable = True
        try:
            with gradebook_file.opened(course) as book:
                back_up(course)  # also what formgrader has entered, before anything else is
                _MARKERS.metadata.create_all(book.engine)
                for table in (REQUESTS, STATUSES, RULES):
                    table.metadata.create_all(book.engine)
                _bring_up_to_date(book.engine)
                log.install(book.engine)
                log.sign_sessions()
                yield cls(course, book)
        except CourseError:
            usable = False
            raise
        finally:
            if usable:
                _leave_state(course)

    @property
    def engine(self) -> Engine:
        """The database, to read from."""
        return self._book.engine

    def register(self, lab: Lab) -> None:
        """Enters a lab's cells, or brings them up to date, with nbgrader's own step.

        Raises:
            CourseError: cells were added or removed since submissions were graded, which nbgrader cannot handle.
        """
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
        self._book.db.expire_all()  # the step used a connection of its own

    def markers(self, lab: Lab) -> dict[str, Marker]:
        """Student -> marker, for submissions whose scores are still those that were entered with the marker."""
        entered = (
            select(_PAGE.c.assignment_id.label("id"), func.sum(_GRADE.c.auto_score).label("score"))
            .join(_GRADE, _GRADE.c.notebook_id == _PAGE.c.id)
            .group_by(_PAGE.c.assignment_id)
            .subquery()
        )
        found = (
            select(_MARKERS, entered.c.score.label("entered"))
            .join(_SUBMISSION, _SUBMISSION.c.id == _MARKERS.c.submission_id)
            .outerjoin(entered, entered.c.id == _MARKERS.c.submission_id)
            .where(_MARKERS.c.assignment == lab.name)
        )
        with self._book.engine.connect() as connection:
            rows = connection.execute(found).mappings().all()
        return {
            row["student"]: _marker(row) for row in rows if abs((row["entered"] or 0) - row["score"]) < 0.005
        }

    def write(self, lab: Lab, student: str, points: Points, marker: Marker) -> None:
        """Enters one graded submission. Automatic scores are replaced; manual ones and comments stay.

        Raises:
            CourseError: the gradebook cannot be written to now; nothing was written.
        """
        # with tables and not with nbgrader's objects, which load a dozen relations per submission with a query each
        with self.transaction() as db:
            page = _page(db, lab, student, points.submitted)
            cells = db.execute(
                select(_CELL.c.id, _CELL.c.name, _CELL.c.type)
                .join(_NOTEBOOK, _NOTEBOOK.c.id == _CELL.c.notebook_id)
                .where(_NOTEBOOK.c.id == page.master)
            ).all()
            looked_at = _looked_at(db, page.id, points.written)
            _enter_scores(
                db, page.id, {id: points.of_cells[name] for id, name, kind in cells if kind == "GradeCell"}
            )
            _leave_as_they_are(db, page.id, looked_at)
            untouched = {id: name in points.untouched for id, name, kind in cells if kind == "SolutionCell"}
            _enter_comments(db, page.id, untouched)
            _enter_answers(db, page.id, points.written)
            _remember(db, lab, student, page.submission, marker)
        self._book.db.expire_all()
        if time.monotonic() - self._noted > _NOTE_SECONDS:
            self._noted = time.monotonic()
            _leave_state(self.course)

    @contextmanager
    def with_answers(self, lab: Lab, student: str, written: Mapping[str, str]) -> Iterator[None]:
        """For nbgrader's own grading of a submission, which asks people to look again at whatever they have graded: afterwards
        they are asked only for written answers that are others than before, as after :meth:`write`.

        Args:
            written: as in :class:`Points`.
        """
        id = (
            select(_PAGE.c.id)
            .join(_SUBMISSION, _SUBMISSION.c.id == _PAGE.c.assignment_id)
            .join(_ASSIGNMENT, _ASSIGNMENT.c.id == _SUBMISSION.c.assignment_id)
            .where(_ASSIGNMENT.c.name == lab.name, _SUBMISSION.c.student_id == student)
        )
        with self._book.engine.connect() as db:
            page = db.execute(id).scalar_one()
            looked_at = _looked_at(db, page, written)
        yield
        with self.transaction() as db:
            _leave_as_they_are(db, page, looked_at)
            _enter_answers(db, page, written)
        self._book.db.expire_all()

    @contextmanager
    def transaction(self, who: str = "") -> Iterator[Connection]:
        """Changes that are made together or not at all. Nobody else can write in the meantime.

        Args:
            who: makes them, if that is not the user of this process.

        Raises:
            CourseError: the gradebook cannot be written to now; nothing was written.
        """
        try:
            with self._book.engine.begin() as connection, log.signed(connection, who):
                yield connection
        except DatabaseError as error:
            if type(error) in (
                DatabaseError,
                OperationalError,
            ):  # other errors are faults in what was to be entered
                raise gradebook_file.unusable(self.course, str(error.orig)) from error
            raise

    def students(self) -> list[str]:
        """The ids of all students in the gradebook, sorted."""
        with self._book.engine.connect() as connection:
            return sorted(connection.execute(select(_STUDENT.c.id)).scalars())

    def people(self, student: str | None = None) -> dict[str, Person]:
        """Student -> what the gradebook knows of everybody in it, sorted by id.

        Args:
            student: only of this one; None: of everybody.
        """
        query = select(_STUDENT, _ROSTER.c.section).outerjoin(_ROSTER, _ROSTER.c.student == _STUDENT.c.id)
        if student is not None:
            query = query.where(_STUDENT.c.id == student)
        with self._book.engine.connect() as connection:
            rows = connection.execute(query.order_by(_STUDENT.c.id)).mappings().all()
        return {
            row["id"]: Person(
                row["id"],
                *(row[name] or "" for name in ("first_name", "last_name", "email", "section", "lms_user_id")),
            )
            for row in rows
        }

    def sections(self, student: str | None = None) -> dict[str, str]:
        """Student -> section, of those on the roster.

        Args:
            student: only of this one; None: of everybody.
        """
        query = select(_ROSTER.c.student, _ROSTER.c.section)
        if student is not None:
            query = query.where(_ROSTER.c.student == student)
        with self._book.engine.connect() as connection:
            return {row.student: row.section for row in connection.execute(query)}

    def roster(self) -> dict[str, Person]:
        """The same of those who are on the roster."""
        with self._book.engine.connect() as connection:
            listed = set(connection.execute(select(_ROSTER.c.student)).scalars())
        return {student: person for student, person in self.people().items() if student in listed}

    def enter_people(self, people: Iterable[Person]) -> None:
        """Puts people on the roster, or replaces what is there about them."""
        people = list(people)
        if not people:
            return
        add, listed = insert(_STUDENT), insert(_ROSTER)
        known = {name: add.excluded[name] for name in ("first_name", "last_name", "email", "lms_user_id")}
        students = [
            {
                "id": each.student,
                "first_name": each.first_name or None,
                "last_name": each.last_name or None,
                "email": each.email or None,
                "lms_user_id": each.canvas or None,
            }
            for each in people
        ]
        sections = [{"student": each.student, "section": each.section} for each in people]
        with self.transaction() as db:
            db.execute(add.on_conflict_do_update(index_elements=["id"], set_=known), students)
            db.execute(
                listed.on_conflict_do_update(
                    index_elements=["student"], set_={"section": listed.excluded.section}
                ),
                sections,
            )
        self._book.db.expire_all()

    def remove_people(self, students: Iterable[str]) -> None:
        """Takes people off the roster. The gradebook forgets those of whom it has no submission."""
        students = list(students)
        with self.transaction() as db:
            db.execute(delete(_ROSTER).where(_ROSTER.c.student.in_(students)))
            with_work = select(_SUBMISSION.c.student_id)
            db.execute(delete(_STUDENT).where(_STUDENT.c.id.in_(students), _STUDENT.c.id.not_in(with_work)))
        self._book.db.expire_all()

    def submissions_of(self, student: str) -> dict[str, str]:
        """Lab -> id of the student's submission in the gradebook."""
        query = select(_ASSIGNMENT.c.name, _SUBMISSION.c.id).join(
            _SUBMISSION, _SUBMISSION.c.assignment_id == _ASSIGNMENT.c.id
        )
        with self._book.engine.connect() as connection:
            rows = connection.execute(query.where(_SUBMISSION.c.student_id == student))
            return {row.name: row.id for row in rows}

    def merge(self, old: str, new: str, removed: Collection[str]) -> None:
        """Gives everything of one student to another, all or nothing: points, comments, markers, extensions, requests, and what the
        roster says of the first one only. That one is then not in the gradebook any more. To do it again changes nothing.

        Args:
            removed: ids of submissions that are removed before, because both students have one for the lab.
        """
        of_old = select(_EXTENSIONS).where(_EXTENSIONS.c.student == old)
        longer = insert(_EXTENSIONS)
        longer = longer.on_conflict_do_update(
            index_elements=["student", "assignment"],
            set_={"seconds": func.max(_EXTENSIONS.c.seconds, longer.excluded.seconds)},
        )
        with self.transaction() as db:
            pages = select(_PAGE.c.id).where(_PAGE.c.assignment_id.in_(removed))
            for table in (_GRADE, _COMMENT):
                db.execute(delete(table).where(table.c.notebook_id.in_(pages)))
            db.execute(delete(ANSWERS).where(ANSWERS.c.page.in_(pages)))
            db.execute(delete(_PAGE).where(_PAGE.c.assignment_id.in_(removed)))
            db.execute(delete(_SUBMISSION).where(_SUBMISSION.c.id.in_(removed)))
            db.execute(delete(_MARKERS).where(_MARKERS.c.submission_id.in_(removed)))
            for lab in db.execute(select(_MARKERS.c.assignment).filter_by(student=old)).scalars().all():
                db.execute(
                    delete(_MARKERS).filter_by(student=new, assignment=lab)
                )  # of a submission that is gone
            if extensions := [dict(row) | {"student": new} for row in db.execute(of_old).mappings()]:
                db.execute(longer, extensions)
            db.execute(delete(_EXTENSIONS).filter_by(student=old))
            db.execute(update(_MARKERS).filter_by(student=old).values(student=new))
            db.execute(update(REQUESTS).filter_by(student=old).values(student=new))
            known = {(each.lab, each.kind) for each in statuses.statuses_in(db, among=[new])}
            for each in statuses.statuses_in(db, among=[old]):  # of two of a kind, the other's counts
                statuses.withdraw(db, each)
                if (each.lab, each.kind) not in known:
                    statuses.enter(db, replace(each, student=new))
            db.execute(delete(_MORE_TIME).filter_by(student=old))
            db.execute(update(_SUBMISSION).filter_by(student_id=old).values(student_id=new))
            _join_people(db, old, new)
            removed_student = db.execute(delete(_STUDENT).filter_by(id=old)).rowcount
            if removed_student or not log.is_noted(db, old, new):  # work may be collected and not graded yet
                log.note_merge(db, old, new)
        self._book.db.expire_all()

    def results(self, lab: Lab, among: Collection[str] | None = None) -> list[Result]:
        """The results of the graded submissions of a lab, sorted by student.

        Args:
            among: only of these students; None: of everybody.
        """
        of_lab = (
            select(
                _SUBMISSION.c.student_id.label("student"),
                _SUBMISSION.c.id.label("submission"),
                _SUBMISSION.c.timestamp,
                _SUBMISSION.c.extension,
                _ASSIGNMENT.c.duedate,
                _PAGE.c.id.label("page"),
                _PAGE.c.late_submission_penalty.label("penalty"),
            )
            .join(_ASSIGNMENT, _ASSIGNMENT.c.id == _SUBMISSION.c.assignment_id)
            .join(_PAGE, _PAGE.c.assignment_id == _SUBMISSION.c.id)
            .where(_ASSIGNMENT.c.name == lab.name)
        )
        marked = select(_MARKERS).where(_MARKERS.c.assignment == lab.name)
        if among is not None:
            of_lab = of_lab.where(_SUBMISSION.c.student_id.in_(among))
            marked = marked.where(_MARKERS.c.student.in_(among))
        pages = of_lab.subquery()
        scores = select(pages.c.page, _CELL.c.name, _GRADE).join(_GRADE, _GRADE.c.notebook_id == pages.c.page)
        scores = scores.join(_CELL, _CELL.c.id == _GRADE.c.cell_id)
        said = select(pages.c.page, _CELL.c.name, _COMMENT.c.auto_comment, _COMMENT.c.manual_comment)
        said = said.join(_COMMENT, _COMMENT.c.notebook_id == pages.c.page)
        said = said.join(_CELL, _CELL.c.id == _COMMENT.c.cell_id)
        points: dict[str, dict[str, float | None]] = {}
        left: dict[str, set[str]] = {}
        comments: dict[str, dict[str, str]] = {}
        asked: dict[str, list[Request]] = {}
        with self._book.engine.connect() as connection:
            for row in connection.execute(scores).mappings():
                points.setdefault(row["page"], {})[row["name"]] = _points(row)
            for page, name, own, manual in connection.execute(said):
                if own == _NO_RESPONSE:
                    left.setdefault(page, set()).add(name)
                if comment := own if manual is None else manual:
                    comments.setdefault(page, {})[name] = comment
            for request in requests.of_lab(connection, lab.name, among):
                asked.setdefault(request.submission, []).append(request)
            marks = statuses.by_student(statuses.statuses_in(connection, lab.name, among))
            found = connection.execute(of_lab).mappings().all()
            markers = {row["student"]: _marker(row) for row in connection.execute(marked).mappings()}
        return sorted(
            (
                Result(
                    row["student"],
                    points.get(row["page"], {}),
                    frozenset(left.get(row["page"], ())),
                    row["timestamp"],
                    _late(row),
                    row["penalty"] or 0.0,
                    markers.get(row["student"]),
                    comments.get(row["page"], {}),
                    row["submission"],
                    tuple(asked.get(row["submission"], ())),
                    marked_late(self.course.submitted / row["student"] / lab.name),
                    marks.get(row["student"], statuses.NONE),
                )
                for row in found
            ),
            key=lambda result: result.student,
        )

    def set_deadline(self, lab: Lab, deadline: datetime | None) -> None:
        """Sets when a lab has to be handed in (UTC); None: at any time."""
        self._book.update_or_create_assignment(lab.name, duedate=deadline)

    def deadline(self, lab: Lab) -> datetime | None:
        """When a lab has to be handed in (UTC); None: at any time."""
        query = select(_ASSIGNMENT.c.duedate).where(_ASSIGNMENT.c.name == lab.name)
        with self._book.engine.connect() as connection:
            return connection.execute(query).scalar_one_or_none()

    def extend(self, lab: Lab, student: str, extension: timedelta, why: str = "") -> None:
        """Gives a student more time for a lab than the others have; an extension of zero withdraws it."""
        with self.transaction() as db:
            log.give_reason(db, why)
            _extend(db, lab.name, student, extension)
        self._book.db.expire_all()

    def extensions(self, lab: Lab) -> dict[str, timedelta]:
        """Student -> how much more time this student was given for a lab."""
        query = select(_EXTENSIONS.c.student, _EXTENSIONS.c.seconds).where(
            _EXTENSIONS.c.assignment == lab.name
        )
        with self._book.engine.connect() as connection:
            return {row.student: timedelta(seconds=row.seconds) for row in connection.execute(query)}

    def times(self, lab: Lab) -> dict[str, timedelta]:
        """Student -> how much more time this student has for a lab, by an extension or an accommodation, before late days."""
        given, the_rules = self.extensions(lab), self.rules()
        for each in self.statuses(""):
            more = the_rules.more_time(each)
            given[each.student] = max(given.get(each.student, timedelta()), more)
        return given

    def statuses(self, lab: str | None = None, among: Collection[str] | None = None) -> list[Status]:
        """What was decided about students beside points, sorted by student.

        Args:
            lab: only what is about this one alone; empty: only what is about all labs.
            among: only of these students; None: of everybody.
        """
        with self._book.engine.connect() as connection:
            return statuses.statuses_in(connection, lab, among)

    def late_days(self) -> dict[tuple[str, str], int]:
        """(student, lab) -> late days that are spent there."""
        query = select(_MORE_TIME).where(_MORE_TIME.c.late_days > 0)
        with self._book.engine.connect() as connection:
            return {(row.student, row.assignment): row.late_days for row in connection.execute(query)}

    def enter_statuses(self, given: Sequence[Status]) -> None:
        """Enters statuses and extensions, all of them or none, and brings lateness up to date.

        Raises:
            GraderError: more late days would be spent than there are, or the course spends them automatically.
        """
        the_rules = self.rules()
        with self.transaction() as db:
            for each in given:
                log.give_reason(db, each.reason)
                if each.kind is Kind.EXTENSION:
                    _extend(db, each.lab, each.student, timedelta(days=float(each.amount)))
                else:
                    statuses.enter(db, each)
            _see_that_late_days_suffice(the_rules, statuses.statuses_in(db), given)
        self._book.db.expire_all()
        self._enter_lateness_after(given)

    def withdraw_status(self, status: Status) -> bool:
        """Takes a status or an extension back, with the reason of ``status``. Returns whether there was one."""
        with self.transaction() as db:
            log.give_reason(db, status.reason)
            if status.kind is Kind.EXTENSION:
                key = {"student": status.student, "assignment": status.lab}
                there = db.execute(select(_EXTENSIONS).filter_by(**key)).first() is not None
                _extend(db, status.lab, status.student, timedelta())
            else:
                there = statuses.withdraw(db, status)
        self._book.db.expire_all()
        self._enter_lateness_after([status])
        return there

    def _enter_lateness_after(self, changed: Iterable[Status]) -> None:
        """Brings lateness up to date where these statuses may have changed it."""
        about = {each.lab for each in changed if each.kind in (Kind.TIME, Kind.LATE_DAYS, Kind.EXTENSION)}
        for name in self.course.labs() if "" in about else sorted(about):
            self.enter_lateness(Lab.load(self.course, name))

    def rules(self) -> Rules:
        """The rules of the term.

        Raises:
            GraderError: they name a lab that the course does not have any more.
        """
        with self._book.engine.connect() as connection:
            text = rules.text_in(connection)
        labs = self.course.labs()
        return rules.parsed(text, self.course.lab_named, labs) if text else rules.default(labs)

    def enter_rules(self, text: str, file: str, why: str) -> None:
        """Checks and enters the rules of the term, and brings lateness up to date.

        Raises:
            GraderError: they say something that no rule says. Nothing has changed.
        """
        new = rules.parsed(text, self.course.lab_named, self.course.labs(), file)
        with self.transaction() as db:
            _see_that_late_days_suffice(new, statuses.statuses_in(db))
            log.give_reason(db, why)
            rules.enter(db, text)
        for name in self.course.labs():
            self.enter_lateness(Lab.load(self.course, name))

    def enter_lateness(self, lab: Lab) -> None:
        """Brings extensions and late penalties of all graded submissions up to date, by the course's rule for lateness.

        The rule is a plugin of nbgrader's, as ``nbgrader_config.py`` names and configures it; without one, nothing is
        deducted. Where late days are spent automatically, other labs may change with this one.
        """
        rule = AssignLatePenalties(config=self.course.configuration())
        rule.init_plugin()
        others = self._enter_times(rule) - {lab.name}
        for each in (lab, *(Lab.load(self.course, name) for name in sorted(others & {*self.course.labs()}))):
            self._enter_penalties(each, rule)

    def _enter_penalties(self, lab: Lab, rule: AssignLatePenalties) -> None:
        page = (
            update(_PAGE)
            .where(_PAGE.c.id == bindparam("page"))
            .values(late_submission_penalty=bindparam("off"))
        )
        pages = select(_SUBMISSION.c.student_id, _PAGE.c.id).join(
            _PAGE, _PAGE.c.assignment_id == _SUBMISSION.c.id
        )
        pages = pages.join(_ASSIGNMENT, _ASSIGNMENT.c.id == _SUBMISSION.c.assignment_id)
        with self.transaction() as db:
            page_of = dict(db.execute(pages.where(_ASSIGNMENT.c.name == lab.name)).all())
        changes = []
        for result in self.results(lab):
            off, full = None, result.earned
            if result.late:
                off = rule.plugin_inst.late_submission_penalty(
                    result.student, full, result.late.total_seconds()
                )
            off = None if off is None else min(max(float(off), 0.0), full)
            if (off or 0.0) != result.penalty:
                changes.append({"page": page_of[result.student], "off": off})
        if changes:
            with self.transaction() as db:
                db.execute(page, changes)
            self._book.db.expire_all()

    def _enter_times(self, rule: AssignLatePenalties) -> set[str]:
        """Enters in all submissions how much more time somebody has: by an extension that was given before there was a submission, by an
        accommodation, and by late days. Returns the labs in which anything has changed.
        """
        the_rules = self.rules()
        query = select(
            _SUBMISSION.c.id, _SUBMISSION.c.student_id, _SUBMISSION.c.timestamp, _SUBMISSION.c.extension,
            _ASSIGNMENT.c.name, _ASSIGNMENT.c.duedate,
        ).join(_ASSIGNMENT, _ASSIGNMENT.c.id == _SUBMISSION.c.assignment_id)  # fmt: skip
        changed = set()
        with self.transaction() as db:
            given = {
                (row.student, row.assignment): timedelta(seconds=row.seconds)
                for row in db.execute(select(_EXTENSIONS))
            }
            noted = {(row.student, row.assignment): row.late_days for row in db.execute(select(_MORE_TIME))}
            decided = statuses.statuses_in(db)
            factors = {each.student: the_rules.more_time(each) for each in decided if each.kind is Kind.TIME}
            asked = {
                (each.student, each.lab): int(each.amount) for each in decided if each.kind is Kind.LATE_DAYS
            }
            rows: dict[str, list[Any]] = {}
            for row in db.execute(query):
                rows.setdefault(row.student_id, []).append(row)
            for student, own in rows.items():
                more = {
                    row.name: max(
                        given.get((student, row.name), timedelta()), factors.get(student, timedelta())
                    )
                    for row in own
                }
                days = {row.name: asked.get((student, row.name), 0) for row in own}
                if not the_rules.on_request:
                    days = late_days.spent(
                        (
                            late_days.Work(
                                row.name, row.duedate, _late({**row._mapping, "extension": more[row.name]})
                            )
                            for row in own
                            if row.duedate is not None
                        ),
                        the_rules.late_days,
                        lambda late, student=student: (
                            rule.plugin_inst.late_submission_penalty(student, 100.0, late.total_seconds())
                            or 0.0
                            if late
                            else 0.0
                        ),
                    )
                for row in own:
                    key = {"student": student, "assignment": row.name}
                    spent = days.get(row.name, 0)
                    wanted = more[row.name] + timedelta(days=spent)
                    is_ours = (student, row.name) in noted or (student, row.name) in given
                    if (wanted or is_ours) and wanted != (row.extension or timedelta()):
                        new = update(_SUBMISSION).where(_SUBMISSION.c.id == row.id)
                        db.execute(new.values(extension=wanted or None))
                        changed.add(row.name)
                    needed = spent if spent or student in factors else None
                    if needed != noted.get((student, row.name)):
                        db.execute(delete(_MORE_TIME).filter_by(**key))
                        if needed is not None:
                            db.execute(insert(_MORE_TIME).values(**key, late_days=needed))
        self._book.db.expire_all()
        return changed

    def changes(self, lab: str = "", student: str = "") -> list[log.Change]:
        """Who changed what, newest last; of one lab or student, or of all."""
        return log.changes(self._book.engine, lab, student)

    def now_called(self, student: str) -> str:
        """The id that somebody has now, after all merges of ids."""
        return log.now_called(self._book.engine, student)

    def submissions(self) -> dict[str, Submission]:
        """Id -> whose submission it is, and of which lab; of everybody in all labs."""
        query = select(_SUBMISSION.c.id, _SUBMISSION.c.student_id, _ASSIGNMENT.c.name)
        query = query.join(_ASSIGNMENT, _ASSIGNMENT.c.id == _SUBMISSION.c.assignment_id)
        with self._book.engine.connect() as connection:
            return {id: Submission(student, lab) for id, student, lab in connection.execute(query)}

    def ask(self, asked: Asked) -> tuple[int, bool]:
        """Enters a request to look again. Returns its number, and whether it is new.

        Raises:
            TooMany: there are ``MAX_REQUESTS`` about this submission.
            CourseError: the gradebook cannot be written to now.
        """
        graded = select(_MARKERS.c.handed_in).filter_by(submission_id=asked.submission)
        with self.transaction() as db:
            return requests.enter(db, asked, db.execute(graded).scalar() or "")

    def requests(self, lab: str = "", among: Collection[str] | None = None) -> list[Request]:
        """Requests to look again, in the order of their numbers; of one lab, or of all.

        Args:
            among: only of these students; None: of everybody.
        """
        with self._book.engine.connect() as connection:
            return requests.of_lab(connection, lab, among)

    def request(self, number: int) -> Request:
        """
        Raises:
            GraderError: there is no request with this number.
        """
        with self._book.engine.connect() as connection:
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
                    select(_GRADE)
                    .join(_PAGE, _PAGE.c.id == _GRADE.c.notebook_id)
                    .join(_CELL, _CELL.c.id == _GRADE.c.cell_id)
                    .where(_PAGE.c.assignment_id == request.submission, _CELL.c.name == request.cell)
                )
                .mappings()
                .first()
            )
            told = {"points": points, "before": request.before, "reason": reason}
            if not request.decided:
                told["before"] = _points(grade) if grade else None
            if points is not None:
                _give(db, lab, request, grade, points, told["before"])
            told |= {
                "decided": datetime.now(UTC).replace(tzinfo=None),
                "decided_by": log.user_and_program()[0],
            }
            db.execute(update(REQUESTS).filter_by(number=number).values(told))
        self._book.db.expire_all()
        if points is not None:
            self.enter_lateness(lab)
        return self.request(number)

    def table(self, collected: Mapping[str, Collection[str]]) -> list[list[str]]:
        """Everybody's scores in all labs: the columns of nbgrader's own CSV exporter, and a row per lab and student.

        That exporter itself is not used, because it puts texts between commas as they are, even names with commas in them
        and formulas.

        Args:
            collected: lab -> students of whom there is work, who have rows even if the gradebook does not know them yet.
        """
        header = "assignment duedate timestamp student_id last_name first_name email raw_score late_submission_penalty"
        rows: list[list[Any]] = [[*header.split(), "score", "max_score"]]
        handed_in = self._handed_in()
        people = {
            each.id: (each.id, each.last_name, each.first_name, each.email) for each in self._book.students
        }
        unknown = sorted({student for who in collected.values() for student in who} - people.keys())
        people |= {student: (student, None, None, None) for student in unknown}
        labs = [(lab.id, lab.name, lab.duedate, lab.max_score) for lab in self._book.assignments]
        known = {name for _, name, *_ in labs}
        labs += [
            (None, name, None, Lab.load(self.course, name).points)
            for name, who in collected.items()
            if who and name not in known
        ]
        for id, *about, most in labs:
            for student, who in people.items():
                when, raw, off = handed_in.get((id, student), (None, 0.0, 0.0))
                rows.append([*about, when, *who, raw, off, max(0.0, raw - off), most])
        return [["" if cell is None else str(cell) for cell in row] for row in rows]

    def _handed_in(self) -> dict[tuple[str, str], tuple[datetime | None, float, float]]:
        """(id of a lab, student) -> when it was handed in, the points, and the penalty. nbgrader's objects would take several
        queries for each.
        """
        earned = (
            select(_PAGE.c.assignment_id.label("id"), func.sum(Grade.score).label("score"))
            .join(Grade, Grade.notebook_id == _PAGE.c.id)
            .group_by(_PAGE.c.assignment_id)
            .subquery()
        )
        off = (
            select(
                _PAGE.c.assignment_id.label("id"), func.sum(_PAGE.c.late_submission_penalty).label("points")
            )
            .group_by(_PAGE.c.assignment_id)
            .subquery()
        )
        query = (
            select(_SUBMISSION, earned.c.score, off.c.points)
            .outerjoin(earned, earned.c.id == _SUBMISSION.c.id)
            .outerjoin(off, off.c.id == _SUBMISSION.c.id)
        )
        with self._book.engine.connect() as connection:
            return {
                (row["assignment_id"], row["student_id"]): (
                    row["timestamp"],
                    row["score"] or 0.0,
                    row["points"] or 0.0,
                )
                for row in connection.execute(query).mappings()
            }


def _leave_state(course: Course) -> None:
    """Notes what the gradebook is now, and keeps a copy, if anybody has changed it since the last time.

    Raises:
        CourseError: the gradebook is damaged.
    """
    if gradebook_state.is_unchanged(course):
        return
    was = gradebook_state.remembered(course)
    try:
        with gradebook_state.reading(course.gradebook) as db:
            if was and not gradebook_state.has_state(db, was.last):
                return  # another file was put in its place meanwhile: the next command says so
            with db:
                gradebook_state.leave_state(db)
            gradebook_state.remember(course, gradebook_state.contents_of(db))
        back_up(course)
    except (sqlite3.OperationalError, OSError):
        return  # held, read-only, or on a full disk: the last note is still true
    except sqlite3.Error as error:
        raise gradebook_file.unusable(course, str(error)) from error


def roster_of(course: Course) -> Roster:
    """Who is in the course; empty if no class list was imported.

    Raises:
        CourseError: the gradebook cannot be read.
    """
    if not gradebook_state.is_there(course):
        return Roster()
    with Gradebook.open(course) as gradebook:
        return Roster(gradebook.roster().values())


def students_of(course: Course, section: str | None) -> frozenset[str] | None:
    """The ids of those who are in a section; None, which stands for everybody, if no section is named.

    Raises:
        GraderError: there is no such section, or no roster.
    """
    return None if section is None else in_section(roster_of(course).people.values(), section)


# ---------------------------------------------------------------------------------- its tables

_STUDENT, _SUBMISSION = Student.__table__, SubmittedAssignment.__table__
_PAGE, _NOTEBOOK, _CELL = SubmittedNotebook.__table__, Notebook.__table__, BaseCell.__table__
_GRADE, _COMMENT, _ASSIGNMENT = Grade.__table__, Comment.__table__, Assignment.__table__
_NO_RESPONSE = "No response."  # nbgrader's comment on a cell that is as it was handed out


def _points(row: Mapping[str, Any]) -> float | None:
    """A cell's points, by nbgrader's rule; None if a human has not yet given them."""
    if row["manual_score"] is None and row["auto_score"] is None:
        return None
    given = row["auto_score"] if row["manual_score"] is None else row["manual_score"]
    return max(0.0, given + (row["extra_credit"] or 0.0))


def _extended(lab: str, student: str, extension: timedelta | None) -> Update:
    of_lab = select(_ASSIGNMENT.c.id).where(_ASSIGNMENT.c.name == lab).scalar_subquery()
    mine = (_SUBMISSION.c.student_id == student) & (_SUBMISSION.c.assignment_id == of_lab)
    return update(_SUBMISSION).where(mine).values(extension=extension)


def _extend(db: Connection, lab: str, student: str, extension: timedelta) -> None:
    key = {"student": student, "assignment": lab}
    add = insert(_EXTENSIONS).values(**key, seconds=extension.total_seconds())
    db.execute(_extended(lab, student, extension or None))  # first, or the log would take it for a copy
    if extension:
        changes = {"seconds": add.excluded.seconds}
        db.execute(add.on_conflict_do_update(index_elements=list(key), set_=changes))
    else:
        db.execute(delete(_EXTENSIONS).filter_by(**key))


def _see_that_late_days_suffice(
    the_rules: Rules, all_: Iterable[Status], given: Iterable[Status] = ()
) -> None:
    """
    Raises:
        GraderError: more late days are entered than there are for somebody, or they are spent automatically.
    """
    total: dict[str, int] = {}
    for each in all_:
        if each.kind is Kind.LATE_DAYS:
            total[each.student] = total.get(each.student, 0) + int(each.amount)
    if total and not the_rules.on_request:
        who = min({each.student for each in given if each.kind is Kind.LATE_DAYS} or total)
        raise GraderError(
            f"{who}: late days are entered only where the rules of the term say spend = 'on request'. Nothing has changed."
        )
    for student, days in sorted(total.items()):
        if days > the_rules.late_days:
            raise GraderError(
                f"{student} would spend {days} late days, and there are {the_rules.late_days} for the term. Nothing has changed."
            )


def _late(row: Mapping[str, Any]) -> timedelta:
    if row["timestamp"] is None or row["duedate"] is None:
        return timedelta()
    return max(row["timestamp"] - row["duedate"] - (row["extension"] or timedelta()), timedelta())


def _see_that_it_is_open(request: Request, points: float | None, again: bool) -> None:
    """
    Raises:
        GraderError: it must not be decided, or not in this way.
    """
    if request.decided and not again:
        raise GraderError(
            f"Request {request.number} has been decided by {request.decided_by} ({request.decision}). To decide it anew, add --again."
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
    if before is not None and _points({**grade, **given}) < before - 0.005:
        raise GraderError(
            f"{exercise} had {before:g} points, and a request must not cost any. Use --keep; if points have to be taken back, formgrader can."
        )
    db.execute(update(_GRADE).where(_GRADE.c.id == grade["id"]).values(given))


class _Page(NamedTuple):
    """The ids of a submitted notebook, of its submission, and of the lab's notebook."""

    id: str
    submission: str
    master: str


def _join_people(db: Connection, old: str, new: str) -> None:
    """Adds what is known of one student and not of another to the other; the roster then has the other one only."""
    names = ("first_name", "last_name", "email", "lms_user_id")
    rows = {
        row["id"]: row for row in db.execute(select(_STUDENT).where(_STUDENT.c.id.in_((old, new)))).mappings()
    }
    if len(rows) == 2:
        known = {name: rows[new][name] or rows[old][name] for name in names}
        if rows[new]["first_name"] or rows[new]["last_name"]:  # both parts of a name belong together
            known |= {name: rows[new][name] for name in names[:2]}
        db.execute(update(_STUDENT).filter_by(id=new).values(known))
    section = db.execute(select(_ROSTER.c.section).filter_by(student=old)).scalar()
    if section:
        db.execute(update(_ROSTER).filter_by(student=new, section="").values(section=section))
    db.execute(delete(_ROSTER).filter_by(student=old))


def _page(db: Connection, lab: Lab, student: str, submitted: datetime | None) -> _Page:
    """The rows of a student's submission, which are entered if they do not exist yet. Everything else in them stays."""
    master, assignment = db.execute(
        select(_NOTEBOOK.c.id, _NOTEBOOK.c.assignment_id)
        .join(Assignment, Assignment.id == _NOTEBOOK.c.assignment_id)
        .where(Assignment.name == lab.name, _NOTEBOOK.c.name == lab.slug)
    ).one()
    db.execute(insert(_STUDENT).values(id=student).on_conflict_do_nothing())
    owned = {"assignment_id": assignment, "student_id": student}
    db.execute(
        insert(_SUBMISSION)
        .values(**owned, timestamp=submitted)
        .on_conflict_do_update(index_elements=list(owned), set_={"timestamp": submitted})
    )
    submission = db.execute(select(_SUBMISSION.c.id).filter_by(**owned)).scalar_one()
    part = {"notebook_id": master, "assignment_id": submission}
    db.execute(insert(_PAGE).values(**part).on_conflict_do_nothing())
    return _Page(db.execute(select(_PAGE.c.id).filter_by(**part)).scalar_one(), submission, master)


def _enter_scores(db: Connection, page: str, scores: Mapping[str, float | None]) -> None:
    """Enters scores (cell id -> automatic points). A score that a human gave stays, but is marked to be looked at again."""
    add = insert(_GRADE)
    needed = _GRADE.c.manual_score.is_not(None) | add.excluded.auto_score.is_(None)
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
        select(_GRADE.c.cell_id)
        .join(_CELL, _CELL.c.id == _GRADE.c.cell_id)
        .where(
            _GRADE.c.notebook_id == page, _GRADE.c.auto_score.is_(None), _GRADE.c.manual_score.is_not(None)
        )
        .where(_GRADE.c.needs_manual_grade.is_(False), _CELL.c.name.in_(same))
    )
    return list(db.execute(graded).scalars())


def _leave_as_they_are(db: Connection, page: str, cells: Collection[str]) -> None:
    """Nobody has to look again at these cells (by id) if people still grade them."""
    mine = (_GRADE.c.notebook_id == page) & _GRADE.c.cell_id.in_(cells) & _GRADE.c.auto_score.is_(None)
    db.execute(update(_GRADE).where(mine).values(needs_manual_grade=False))


def _enter_comments(db: Connection, page: str, untouched: Mapping[str, bool]) -> None:
    """Enters whether each cell (by id) is as it was handed out, which nbgrader says in a comment of its own."""
    add = insert(_COMMENT)
    changes = {"auto_comment": add.excluded.auto_comment}
    add = add.on_conflict_do_update(index_elements=["cell_id", "notebook_id"], set_=changes)
    rows = [
        {"notebook_id": page, "cell_id": cell, "auto_comment": _NO_RESPONSE if same else None}
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
    db.execute(delete(_MARKERS).filter_by(**key))
    db.execute(_MARKERS.insert().values(**key, submission_id=submission, **asdict(marker)))


def _marker(row: Mapping[str, Any]) -> Marker:
    values = {field.name: row[field.name] for field in fields(Marker)}
    return Marker(**values | {name: tuple(row[name]) for name in ("recognised", "given", "notes")})


_INDEXES = {"submitted_notebook": "assignment_id", "grade": "notebook_id", "comment": "notebook_id"}
"""Columns by which nbgrader's tables cannot be searched without reading everybody's rows, so that a command of nbgrader's, which
asks for one student at a time, would take longer for each the more there are."""


def _bring_up_to_date(engine: Engine) -> None:
    """Adds what nbgrader's own gradebook does not have, and a column that a gradebook of an earlier version of this course does
    not have.
    """
    with engine.connect() as connection:
        names = connection.execute(text("SELECT name FROM sqlite_master WHERE type = 'index'")).scalars()
        there = set(names)
    for table, column in _INDEXES.items():
        if (name := f"transformer_labs_{table}_by_{column}") not in there:
            with engine.begin() as connection:
                connection.execute(text(f"CREATE INDEX IF NOT EXISTS {name} ON {table} ({column})"))
    if all(column["name"] != "given" for column in inspect(engine).get_columns(_MARKERS.name)):
        with engine.begin() as connection:
            connection.execute(
                text(f"ALTER TABLE {_MARKERS.name} ADD COLUMN given JSON NOT NULL DEFAULT '[]'")
            )
