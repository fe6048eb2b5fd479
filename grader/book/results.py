"""What the gradebook says about graded submissions: points, lateness, comments, and everybody's scores as a table."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, fields
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from sqlalchemy import Connection, Select, func, select

from grader.book import requests, rules, statuses, together
from grader.book.counting import EVERYTHING, Counted, counted
from grader.book.database import Database
from grader.book.lateness import marked_late
from grader.book.marker import Marker
from grader.book.requests import Request
from grader.book.rules import Rules
from grader.book.statuses import Marks
from grader.book.tables import (
    ASSIGNMENT,
    CELL,
    COMMENT,
    EARLIER,
    GRADE,
    MARKERS,
    NO_RESPONSE,
    PAGE,
    SUBMISSION,
)
from grader.reference.lab import Lab


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
        counts: which cells' points count, by the rules of the term.
        before: what was recognised in each hand-in that was graded before this one, the oldest first, as in the marker.
        work: the same for all copies of a work that a team has handed in, and nobody else's.
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
    counts: Counted = EVERYTHING
    before: tuple[tuple[str, ...], ...] = ()
    work: str = ""

    @property
    def state(self) -> str:
        """How the run ended, see :mod:`grader.run.states`; empty if it was not run by this course's grading."""
        return self.marker.state if self.marker else ""

    @property
    def recognised(self) -> tuple[str, ...]:
        """The misconceptions in it, each with its exercise, as in the marker."""
        return tuple(self.marker.recognised) if self.marker else ()

    @property
    def possible(self) -> tuple[str, ...]:
        """Those that may be the cause of something wrong in it, likewise."""
        return tuple(self.marker.possible) if self.marker else ()

    @property
    def recognised_before(self) -> frozenset[str]:
        """Those of any hand-in that was graded before this one."""
        return frozenset(text for texts in self.before for text in texts)

    @property
    def waiting(self) -> frozenset[str]:
        """Cells whose points a human still has to give, of those that count."""
        return frozenset(cell for cell, points in self._counting.items() if points is None)

    @property
    def earned(self) -> float:
        """All points that count, without regard to lateness."""
        return sum(filter(None, self._counting.values()))

    @property
    def _counting(self) -> Mapping[str, float | None]:
        left_out = self.counts.left_out
        return {cell: points for cell, points in self.points.items() if cell not in left_out}

    def most(self, points: Mapping[str, float]) -> float:
        """The points that are 100 %, without those that a human still has to give.

        Args:
            points: graded cell -> its points.
        """
        return sum(each for cell, each in self.counts.most(points).items() if cell not in self.waiting)

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


class Submission(NamedTuple):
    """Whose submission it is, and of which lab."""

    student: str
    lab: str


class Results(Database):
    """How everybody did."""

    def results(self, lab: Lab, among: Collection[str] | None = None) -> list[Result]:
        """The results of the graded submissions of a lab, sorted by student.

        Args:
            among: only of these students; None: of everybody.
        """
        of_lab, marked = _of_lab(lab), select(MARKERS).where(MARKERS.c.assignment == lab.name)
        replaced = select(EARLIER).where(EARLIER.c.assignment == lab.name).order_by(EARLIER.c.number)
        if among is not None:
            of_lab = of_lab.where(SUBMISSION.c.student_id.in_(among))
            marked = marked.where(MARKERS.c.student.in_(among))
            replaced = replaced.where(EARLIER.c.student.in_(among))
        with self.reading() as db:
            points = _points_in(db, of_lab)
            comments, untouched = _comments_in(db, of_lab)
            asked: dict[str, list[Request]] = {}
            for request in requests.of_lab(db, lab.name, among):
                asked.setdefault(request.submission, []).append(request)
            marks = statuses.by_student(statuses.statuses_in(db, lab.name, among))
            found = db.execute(of_lab).mappings().all()
            markers = {row["student"]: _marker(row) for row in db.execute(marked).mappings()}
            read = together.stands_for(db)
            before: dict[str, list[tuple[str, ...]]] = {}
            for row in db.execute(replaced):
                before.setdefault(row.student, []).append(tuple(row.recognised))
        counts = self.counted(lab)
        return sorted(
            (
                Result(
                    row["student"],
                    points.get(row["page"], {}),
                    frozenset(untouched.get(row["page"], ())),
                    row["timestamp"],
                    late_by(row),
                    row["penalty"] or 0.0,
                    markers.get(row["student"]),
                    comments.get(row["page"], {}),
                    row["submission"],
                    tuple(asked.get(row["submission"], ())),
                    marked_late(self.course.submitted / row["student"] / lab.name),
                    marks.get(row["student"], statuses.NONE),
                    counts,
                    tuple(before.get(row["student"], ())),
                    read.get(row["page"], row["page"]),
                )
                for row in found
            ),
            key=lambda result: result.student,
        )

    def rules(self) -> Rules:
        """The rules of the term.

        Raises:
            GraderError: they name a lab that the course does not have any more.
        """
        with self.reading() as connection:
            text = rules.text_in(connection)
        labs = self.course.labs()
        return rules.parsed(text, self.course.lab_named, labs) if text else rules.default(labs)

    def counted(self, lab: Lab) -> Counted:
        """What of a lab counts, by the rules of the term.

        Raises:
            GraderError: the rules name a lab that the course does not have any more, or this one has not been built.
        """
        return counted(lab, self.rules())

    def markers(self, lab: Lab) -> dict[str, Marker]:
        """Student -> marker, for submissions whose scores are still those that were entered with the marker."""
        entered = (
            select(PAGE.c.assignment_id.label("id"), func.sum(GRADE.c.auto_score).label("score"))
            .join(GRADE, GRADE.c.notebook_id == PAGE.c.id)
            .group_by(PAGE.c.assignment_id)
            .subquery()
        )
        found = (
            select(MARKERS, entered.c.score.label("entered"))
            .join(SUBMISSION, SUBMISSION.c.id == MARKERS.c.submission_id)
            .outerjoin(entered, entered.c.id == MARKERS.c.submission_id)
            .where(MARKERS.c.assignment == lab.name)
        )
        with self.reading() as connection:
            rows = connection.execute(found).mappings().all()
        return {
            row["student"]: _marker(row) for row in rows if abs((row["entered"] or 0) - row["score"]) < 0.005
        }

    def to_read(self, lab: Lab, student: str | None = None) -> dict[str, int]:
        """Student -> how many written answers a human has to read, or to look at again because another one was handed in.

        Args:
            student: only this one; None: everybody.
        """
        waits = GRADE.c.manual_score.is_(None) | GRADE.c.needs_manual_grade
        query = (
            select(SUBMISSION.c.student_id, func.count())
            .join(ASSIGNMENT, ASSIGNMENT.c.id == SUBMISSION.c.assignment_id)
            .join(PAGE, PAGE.c.assignment_id == SUBMISSION.c.id)
            .join(GRADE, GRADE.c.notebook_id == PAGE.c.id)
            .where(ASSIGNMENT.c.name == lab.name, GRADE.c.auto_score.is_(None), waits)
            .group_by(SUBMISSION.c.student_id)
        )
        if student is not None:
            query = query.where(SUBMISSION.c.student_id == student)
        with self.reading() as connection:
            return dict(connection.execute(query).all())

    def submissions(self) -> dict[str, Submission]:
        """Id -> whose submission it is, and of which lab; of everybody in all labs."""
        query = select(SUBMISSION.c.id, SUBMISSION.c.student_id, ASSIGNMENT.c.name)
        query = query.join(ASSIGNMENT, ASSIGNMENT.c.id == SUBMISSION.c.assignment_id)
        with self.reading() as connection:
            return {id: Submission(student, lab) for id, student, lab in connection.execute(query)}

    def submissions_of(self, student: str) -> dict[str, str]:
        """Lab -> id of the student's submission in the gradebook."""
        query = select(ASSIGNMENT.c.name, SUBMISSION.c.id).join(
            SUBMISSION, SUBMISSION.c.assignment_id == ASSIGNMENT.c.id
        )
        with self.reading() as connection:
            rows = connection.execute(query.where(SUBMISSION.c.student_id == student))
            return {row.name: row.id for row in rows}

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
        from nbgrader.api import Grade

        earned = (
            select(PAGE.c.assignment_id.label("id"), func.sum(Grade.score).label("score"))
            .join(Grade, Grade.notebook_id == PAGE.c.id)
            .group_by(PAGE.c.assignment_id)
            .subquery()
        )
        off = (
            select(PAGE.c.assignment_id.label("id"), func.sum(PAGE.c.late_submission_penalty).label("points"))
            .group_by(PAGE.c.assignment_id)
            .subquery()
        )
        query = (
            select(SUBMISSION, earned.c.score, off.c.points)
            .outerjoin(earned, earned.c.id == SUBMISSION.c.id)
            .outerjoin(off, off.c.id == SUBMISSION.c.id)
        )
        with self.reading() as connection:
            return {
                (row["assignment_id"], row["student_id"]): (
                    row["timestamp"],
                    row["score"] or 0.0,
                    row["points"] or 0.0,
                )
                for row in connection.execute(query).mappings()
            }


def _of_lab(lab: Lab) -> Select:
    """The submissions of a lab."""
    return (
        select(
            SUBMISSION.c.student_id.label("student"),
            SUBMISSION.c.id.label("submission"),
            SUBMISSION.c.timestamp,
            SUBMISSION.c.extension,
            ASSIGNMENT.c.duedate,
            PAGE.c.id.label("page"),
            PAGE.c.late_submission_penalty.label("penalty"),
        )
        .join(ASSIGNMENT, ASSIGNMENT.c.id == SUBMISSION.c.assignment_id)
        .join(PAGE, PAGE.c.assignment_id == SUBMISSION.c.id)
        .where(ASSIGNMENT.c.name == lab.name)
    )


def _points_in(db: Connection, submissions: Select) -> dict[str, dict[str, float | None]]:
    """Page -> cell -> points."""
    pages = submissions.subquery()
    scores = select(pages.c.page, CELL.c.name, GRADE).join(GRADE, GRADE.c.notebook_id == pages.c.page)
    scores = scores.join(CELL, CELL.c.id == GRADE.c.cell_id)
    found: dict[str, dict[str, float | None]] = {}
    for row in db.execute(scores).mappings():
        found.setdefault(row["page"], {})[row["name"]] = points_of(row)
    return found


def _comments_in(
    db: Connection, submissions: Select
) -> tuple[dict[str, dict[str, str]], dict[str, set[str]]]:
    """Page -> cell -> what is said about it; and page -> cells that are as they were handed out."""
    pages = submissions.subquery()
    said = select(pages.c.page, CELL.c.name, COMMENT.c.auto_comment, COMMENT.c.manual_comment)
    said = said.join(COMMENT, COMMENT.c.notebook_id == pages.c.page)
    said = said.join(CELL, CELL.c.id == COMMENT.c.cell_id)
    comments: dict[str, dict[str, str]] = {}
    untouched: dict[str, set[str]] = {}
    for page, name, own, manual in db.execute(said):
        if own == NO_RESPONSE:
            untouched.setdefault(page, set()).add(name)
        if comment := own if manual is None else manual:
            comments.setdefault(page, {})[name] = comment
    return comments, untouched


def points_of(row: Mapping[str, Any]) -> float | None:
    """A cell's points, by nbgrader's rule; None if a human has not yet given them. Those for an answer that was replaced since do not count for
    the new one.
    """
    if row["auto_score"] is None and (row["manual_score"] is None or row["needs_manual_grade"]):
        return None
    given = row["auto_score"] if row["manual_score"] is None else row["manual_score"]
    return max(0.0, given + (row["extra_credit"] or 0.0))


def late_by(row: Mapping[str, Any]) -> timedelta:
    if row["timestamp"] is None or row["duedate"] is None:
        return timedelta()
    return max(row["timestamp"] - row["duedate"] - (row["extension"] or timedelta()), timedelta())


def _marker(row: Mapping[str, Any]) -> Marker:
    values = {field.name: row[field.name] for field in fields(Marker)}
    lists = ("recognised", "given", "notes", "possible", "stands_out")
    return Marker(**values | {name: tuple(row[name]) for name in lists})
