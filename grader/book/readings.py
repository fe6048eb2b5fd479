"""Who reads which written answer, what they gave, and what counts, in nbgrader's gradebook.

The points and the comment that count are where formgrader keeps them, so that formgrader, feedback and exports see them, and another
grading run keeps them. The rest is in tables of our own, which nbgrader ignores. Their rows belong to nbgrader's id of a submitted
notebook, the one in formgrader's addresses: it says nothing about the student, and it stays when two ids of a student are merged.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

from nbgrader.api import (
    Assignment,
    BaseCell,
    Comment,
    Grade,
    Notebook,
    SubmittedAssignment,
    SubmittedNotebook,
)
from sqlalchemy import (
    JSON,
    Column,
    Connection,
    Float,
    Integer,
    MetaData,
    String,
    Table,
    Text,
    delete,
    select,
    update,
)
from sqlalchemy.dialects.sqlite import insert

from grader.book.gradebook import ANSWERS, Gradebook
from grader.book.rubric import Line, Question, questions
from grader.book.split import Item, first_readers, second_readers
from grader.errors import GraderError
from grader.reference.lab import Lab

FIRST, SECOND, DECISION = "first", "second", "decision"
"""The roles in which answers are read. A decision replaces the first reading's points."""

HELD = timedelta(minutes=30)
"""How long an answer that somebody has opened is closed to others."""

_TABLES = MetaData()
_QUEUE = Table(
    "transformer_labs_queue",
    _TABLES,
    Column("assignment", String(128), primary_key=True),
    Column("readers", JSON, nullable=False),
    Column("by_section", Integer, nullable=False),
    Column("second", Float, nullable=False),
)
_TASK = Table(
    "transformer_labs_task",
    _TABLES,
    Column("page", String(32), primary_key=True),
    Column("role", String(16), primary_key=True),
    Column("reader", String(128), nullable=False),
    Column("holder", String(128)),
    Column("held_until", Float),  # seconds since 1970
    Column("released", Integer, nullable=False, server_default="0"),
)
_READING = Table(
    "transformer_labs_reading",
    _TABLES,
    Column("page", String(32), primary_key=True),
    Column("cell", String(255), primary_key=True),
    Column("role", String(16), primary_key=True),
    Column("reader", String(128), nullable=False),
    Column("points", Float, nullable=False),
    Column("items", JSON),
    Column("comment", Text, nullable=False),
    Column("answer", String(64), nullable=False),
)
_REMARK = Table(
    "transformer_labs_remark",
    _TABLES,
    Column("id", Integer, primary_key=True),
    Column("assignment", String(128), nullable=False),
    Column("cell", String(255), nullable=False),
    Column("text", Text, nullable=False),
)
_FORGET = "transformer_labs_forget_{table}"  # whatever removes a submission, nbgrader's own commands included

_PAGE, _SUBMISSION, _NOTEBOOK = SubmittedNotebook.__table__, SubmittedAssignment.__table__, Notebook.__table__
_CELL, _GRADE, _COMMENT = BaseCell.__table__, Grade.__table__, Comment.__table__


@dataclass(frozen=True)
class Settings:
    """How a lab's answers are given out; no readers: not at all."""

    readers: tuple[str, ...] = ()
    by_section: bool = False
    second: float = 0.0


@dataclass(frozen=True)
class Mark:
    """What a reader says about one answer.

    Attributes:
        items: which lines of the rubric it earns, by number from 0; None if that is not known.
        answer: a digest of the text that was read, because another may be handed in; empty if it is not known.
    """

    reader: str
    points: float
    items: tuple[int, ...] | None = None
    comment: str = ""
    answer: str = ""


@dataclass(frozen=True)
class Answer:
    """A written answer that is graded by hand.

    Attributes:
        points: what counts now; None if nobody has graded it.
        again: another answer was handed in since, so nbgrader wants a person to look at it once more.
        comment: what the feedback will say.
        marks: role -> what was read.
        text: a digest of the text that is there now; empty if it is not known.
    """

    cell: str
    points: float | None
    again: bool
    comment: str
    marks: Mapping[str, Mark]
    text: str = ""

    def replaced(self, role: str) -> bool:
        """Whether another text was handed in after somebody has read it in this role."""
        mark = self.marks.get(role)
        return bool(mark and mark.answer and self.text and mark.answer != self.text)

    def first(self) -> Mark | None:
        """The first reading; formgrader's points if it was read there."""
        if FIRST in self.marks or self.points is None:
            return self.marks.get(FIRST)
        return Mark("", self.points, None, self.comment)

    def counting(self) -> Mark | None:
        """The reading that gave the points that count; None if it was not on the page, or of another text."""
        role = DECISION if DECISION in self.marks else FIRST
        mark = self.marks.get(role)
        return mark if mark and _same(mark.points, self.points) and not self.replaced(role) else None


@dataclass(frozen=True)
class Task:
    """That somebody reads a submission."""

    reader: str
    holder: str = ""
    held_until: datetime | None = None

    def held(self, now: datetime) -> bool:
        return bool(self.held_until and self.held_until > now)


@dataclass(frozen=True)
class Work:
    """A submission with answers that are graded by hand.

    Attributes:
        tasks: role -> task, ``FIRST`` and perhaps ``SECOND``.
        released: the student's name may be shown.
    """

    page: str
    student: str
    section: str
    answers: tuple[Answer, ...]
    tasks: Mapping[str, Task]
    released: bool

    def state(self, role: str) -> str:
        """``"open"``, ``"again"`` (to be looked at once more) or ``"done"``."""
        if role == SECOND:
            read = all(SECOND in answer.marks for answer in self.answers)
            again = any(answer.replaced(SECOND) for answer in self.answers)
        else:
            read = all(answer.points is not None for answer in self.answers)
            again = any(answer.again for answer in self.answers)
        return "open" if not read else "again" if again else "done"

    def undecided(self) -> list[Answer]:
        """Answers with two readings that give different points, and no decision."""
        return [answer for answer in self.answers if _differ(answer) and DECISION not in answer.marks]

    def finished(self) -> bool:
        return all(self.state(role) == "done" for role in (FIRST, *self.tasks)) and not self.undecided()


def _differ(answer: Answer) -> bool:
    first, second = answer.first(), answer.marks.get(SECOND)
    return bool(first and second and same_text(first, second) and abs(first.points - second.points) > 1e-9)


def same_text(one: Mark, other: Mark) -> bool:
    """Whether two readers have read the same text, as far as that is known."""
    return not (one.answer and other.answer) or one.answer == other.answer


@dataclass(frozen=True)
class Dealt:
    """How many submissions were given out anew, moved to another reader, and are read by a second reader."""

    new: int
    moved: int
    second: int


class Readings:
    """The written answers of one lab, in an open gradebook.

    Args:
        now: tells the time.
    """

    def __init__(
        self, gradebook: Gradebook, lab: Lab, now: Callable[[], datetime] = lambda: datetime.now(UTC)
    ) -> None:
        self.lab = lab
        self._gradebook = gradebook
        self._now = now
        with gradebook.engine.begin() as db:
            _TABLES.create_all(db)
            for table in (_TASK, _READING, ANSWERS):
                db.exec_driver_sql(
                    f"CREATE TRIGGER IF NOT EXISTS {_FORGET.format(table=table.name)} AFTER DELETE ON {_PAGE.name} "
                    f"BEGIN DELETE FROM {table.name} WHERE page = OLD.id; END"
                )

    def questions(self) -> dict[str, Question]:
        """Grade_id -> question, of the lab's release."""
        return questions(self.lab.release())

    def settings(self) -> Settings:
        with self._gradebook.engine.connect() as db:
            return self._settings(db)

    def _settings(self, db: Connection) -> Settings:
        row = db.execute(select(_QUEUE).filter_by(assignment=self.lab.name)).mappings().first()
        return Settings(tuple(row["readers"]), bool(row["by_section"]), row["second"]) if row else Settings()

    def works(self, student: str | None = None) -> dict[str, Work]:
        """Page -> work, of everybody whose answers are graded by hand. What is as it was handed out is not.

        Args:
            student: only of this one; None: of everybody.
        """
        with self._gradebook.engine.connect() as db:
            return self._works(db, student)

    def lines(self, student: str | None = None) -> dict[str, dict[str, tuple[Line, ...]]]:
        """Student -> cell -> the lines of its rubric, by the reading that counts. Only what a reader has ticked: of points that
        were typed and with no line ticked, nobody knows which lines earned them.

        Args:
            student: only of this one, and nobody else's rows are read; None: of everybody.
        """
        asked = self.questions()
        found: dict[str, dict[str, tuple[Line, ...]]] = {}
        for work in self.works(student).values() if asked else ():
            for answer in work.answers:
                mark, question = answer.counting(), asked.get(answer.cell)
                if question and mark and mark.items is not None and (mark.items or not mark.points):
                    lines = (
                        Line(item.points, item.text, number in mark.items)
                        for number, item in enumerate(question.items)
                    )
                    found.setdefault(work.student, {})[answer.cell] = tuple(lines)
        return found

    def work(self, page: str) -> Work:
        """
        Raises:
            GraderError: there is no such submission, or nobody has to grade it.
        """
        if found := self.works().get(page):
            return found
        raise GraderError(f"{self.lab.name} has no submission {page!r} with an answer to grade by hand.")

    def _works(self, db: Connection, student: str | None = None) -> dict[str, Work]:
        graded = (
            select(
                _PAGE.c.id.label("page"),
                _SUBMISSION.c.student_id.label("student"),
                _CELL.c.name.label("cell"),
                _GRADE.c.manual_score,
                _GRADE.c.needs_manual_grade,
                ANSWERS.c.text,
            )
            .join(_SUBMISSION, _SUBMISSION.c.id == _PAGE.c.assignment_id)
            .join(Assignment, Assignment.id == _SUBMISSION.c.assignment_id)
            .join(_CELL, _CELL.c.notebook_id == _PAGE.c.notebook_id)
            .join(_GRADE, (_GRADE.c.notebook_id == _PAGE.c.id) & (_GRADE.c.cell_id == _CELL.c.id))
            .outerjoin(ANSWERS, (ANSWERS.c.page == _PAGE.c.id) & (ANSWERS.c.cell == _CELL.c.name))
            .where(Assignment.name == self.lab.name, _GRADE.c.auto_score.is_(None))
            .order_by(_PAGE.c.id)
        )
        said = (
            select(_PAGE.c.id, _CELL.c.name, _COMMENT.c.manual_comment)
            .join(_CELL, _CELL.c.notebook_id == _PAGE.c.notebook_id)
            .join(_COMMENT, (_COMMENT.c.notebook_id == _PAGE.c.id) & (_COMMENT.c.cell_id == _CELL.c.id))
            .where(_COMMENT.c.manual_comment.is_not(None))
        )
        read, given = select(_READING), select(_TASK)
        if student is not None:
            graded = graded.where(_SUBMISSION.c.student_id == student)
        rows = db.execute(graded).mappings().all()
        if student is not None:
            pages = {row["page"] for row in rows}
            said = said.where(_PAGE.c.id.in_(pages))
            read, given = read.where(_READING.c.page.in_(pages)), given.where(_TASK.c.page.in_(pages))
        comments = {(page, cell): text for page, cell, text in db.execute(said)}
        marks: dict[tuple[str, str], dict[str, Mark]] = {}
        for row in db.execute(read).mappings():
            items = None if row["items"] is None else tuple(row["items"])
            mark = Mark(row["reader"], row["points"], items, row["comment"], row["answer"])
            marks.setdefault((row["page"], row["cell"]), {})[row["role"]] = mark
        tasks: dict[str, dict[str, Task]] = {}
        released = set()
        for row in db.execute(given).mappings():
            until = datetime.fromtimestamp(row["held_until"], UTC) if row["held_until"] else None
            tasks.setdefault(row["page"], {})[row["role"]] = Task(row["reader"], row["holder"] or "", until)
            if row["released"]:
                released.add(row["page"])
        sections = self._gradebook.sections(student)
        order = list(self.questions())
        answers: dict[tuple[str, str], list[Answer]] = {}
        for row in rows:
            key = (row["page"], row["cell"])
            again = row["manual_score"] is not None and bool(row["needs_manual_grade"])
            comment, by_role = comments.get(key, ""), marks.get(key, {})
            answer = Answer(row["cell"], row["manual_score"], again, comment, by_role, row["text"] or "")
            answers.setdefault((row["page"], row["student"]), []).append(answer)
        return {
            page: Work(
                page,
                student,
                sections.get(student, ""),
                tuple(sorted(found, key=lambda each: order.index(each.cell) if each.cell in order else -1)),
                tasks.get(page, {}),
                page in released,
            )
            for (page, student), found in answers.items()
        }

    # ---------------------------------------------------------------------------------- giving out

    def deal(self, settings: Settings) -> Dealt:
        """Gives out what nobody has, takes back what was given to people who are no readers any more and is not begun, and
        draws the sample for second readers.

        Raises:
            GraderError: a second reading needs two readers, and there is only one; or nobody is named.
        """
        if not settings.readers:
            raise GraderError("Name at least one reader: --readers ana,ben.")
        if settings.second and len(settings.readers) < 2:
            raise GraderError("A second reading needs at least two readers: --readers ana,ben.")
        with self._gradebook.transaction() as db:
            works, before = self._works(db), self._settings(db)
            items = [
                Item(page, f"{self.lab.name}/{work.student}", work.section) for page, work in works.items()
            ]
            kept, begun = _given(works, FIRST), _begun(works, FIRST, self._now())
            seconds, begun_second = _given(works, SECOND), _begun(works, SECOND, self._now())
            first = first_readers(
                items,
                kept,
                settings.readers,
                set(settings.readers) - set(before.readers),
                settings.by_section,
                begun,
                seconds,
            )
            second = second_readers(items, first, seconds, settings.readers, settings.second, begun_second)
            values = {
                "readers": sorted(settings.readers),
                "by_section": int(settings.by_section),
                "second": settings.second,
            }
            db.execute(
                insert(_QUEUE)
                .values(assignment=self.lab.name, **values)
                .on_conflict_do_update(index_elements=["assignment"], set_=values)
            )
            self._enter_tasks(db, FIRST, kept, first)
            self._enter_tasks(db, SECOND, seconds, second)
        moved = sum(page in kept and kept[page] != reader for page, reader in first.items())
        return Dealt(len(first.keys() - kept.keys()), moved, len(second))

    def _enter_tasks(
        self, db: Connection, role: str, before: Mapping[str, str], after: Mapping[str, str]
    ) -> None:
        changed = [page for page, reader in before.items() if after.get(page) != reader]
        if changed:
            db.execute(delete(_TASK).where(_TASK.c.role == role, _TASK.c.page.in_(changed)))
        rows = [
            {"page": page, "role": role, "reader": reader}
            for page, reader in after.items()
            if before.get(page) != reader
        ]
        if rows:
            db.execute(insert(_TASK), rows)

    def release(self) -> int:
        """Lets names be shown for what is finished, and returns how many submissions that is."""
        with self._gradebook.transaction() as db:
            works = self._works(db)
            done = [page for page, work in works.items() if FIRST in work.tasks and work.finished()]
            db.execute(update(_TASK).where(_TASK.c.page.in_(done)).values(released=1))
        return len(done)

    # ---------------------------------------------------------------------------------- reading

    def hold(self, page: str, role: str, holder: str) -> Task:
        """Closes a task to others for a while, unless somebody else has done so. Returns it as it is then: if ``holder`` is
        another, it is theirs.
        """
        now = self._now()
        mine = (_TASK.c.page == page) & (_TASK.c.role == role)
        free = _TASK.c.holder.is_(None) | (_TASK.c.holder == holder) | (_TASK.c.held_until <= now.timestamp())
        until = (now + HELD).timestamp()
        with self._gradebook.transaction() as db:
            db.execute(update(_TASK).where(mine, free).values(holder=holder, held_until=until))
            row = db.execute(select(_TASK).where(mine)).mappings().first()
        if row is None:
            raise GraderError("This submission is not in anybody's queue. `grader queue LAB` gives it out.")
        return Task(row["reader"], row["holder"], datetime.fromtimestamp(row["held_until"], UTC))

    def read(
        self,
        page: str,
        role: str,
        holder: str,
        marks: Mapping[str, Mark],
        seen: Mapping[str, float | None],
        kept: Collection[str] = (),
    ) -> None:
        """Enters what somebody has read, and opens the task to others. First readings and decisions count; second ones do not.

        Args:
            holder: as in :meth:`hold`. Not needed for a decision.
            marks: cell -> mark.
            seen: cell -> the points that counted when the reader was shown the answer. Not needed for a second reading.
            kept: cells whose comment is kept for others to use.

        Raises:
            GraderError: somebody else has it open or has changed the points since; nothing was entered.
        """
        who = next(iter(marks.values())).reader
        with self._gradebook.transaction(who) as db:
            work = self._works(db).get(page)
            if work is None or any(answer.cell not in marks for answer in work.answers):
                raise GraderError("The answers have changed since you opened them. Load the page again.")
            if role != DECISION:
                task = work.tasks.get(role)
                if task is None or (task.holder != holder and task.held(self._now())):
                    raise GraderError("Somebody else is reading this submission now. Nothing was saved.")
            for answer in work.answers:
                mark = marks[answer.cell]
                if role != SECOND and not _same(answer.points, seen[answer.cell]):
                    raise GraderError(
                        f"Somebody has given {_shown(answer.points)} for this answer since you opened it. Nothing was saved: "
                        "load the page again."
                    )
                first = answer.first()
                if role == DECISION and FIRST not in answer.marks and first:
                    _enter(db, page, answer.cell, FIRST, replace(first, reader=work.tasks[FIRST].reader))
                decided = answer.marks.get(DECISION)
                if role == FIRST and decided and not same_text(decided, mark):
                    gone = {"page": page, "cell": answer.cell, "role": DECISION}
                    db.execute(delete(_READING).filter_by(**gone))  # it was about another text
                    decided = None
                if role != FIRST or not decided:  # a decision is confirmed: what was read before it stays
                    _enter(db, page, answer.cell, role, mark)
                if role != SECOND:
                    self._count(db, page, answer.cell, mark)
                if answer.cell in kept and mark.comment:
                    self._keep(db, answer.cell, mark.comment)
            db.execute(
                update(_TASK)
                .where(_TASK.c.page == page, _TASK.c.role == role, _TASK.c.holder == holder)
                .values(holder=None, held_until=None)
            )

    def _count(self, db: Connection, page: str, cell: str, mark: Mark) -> None:
        """Enters points and comment as formgrader does."""
        named = select(_CELL.c.id).join(_NOTEBOOK, _NOTEBOOK.c.id == _CELL.c.notebook_id)
        named = named.join(_PAGE, _PAGE.c.notebook_id == _NOTEBOOK.c.id)
        named = named.where(_PAGE.c.id == page, _CELL.c.name == cell)
        db.execute(
            update(_GRADE)
            .where(_GRADE.c.notebook_id == page, _GRADE.c.cell_id.in_(named))
            .values(manual_score=mark.points, needs_manual_grade=False)
        )
        db.execute(
            update(_COMMENT)
            .where(_COMMENT.c.notebook_id == page, _COMMENT.c.cell_id.in_(named))
            .values(manual_comment=mark.comment or None)
        )

    # ---------------------------------------------------------------------------------- remarks

    def remarks(self) -> dict[str, dict[int, str]]:
        """Cell -> comments that were kept for others to use, by their numbers, oldest first."""
        found: dict[str, dict[int, str]] = {}
        with self._gradebook.engine.connect() as db:
            for row in db.execute(select(_REMARK).filter_by(assignment=self.lab.name).order_by(_REMARK.c.id)):
                found.setdefault(row.cell, {})[row.id] = row.text
        return found

    def forget(self, number: int) -> None:
        """Removes a comment from those that are kept."""
        with self._gradebook.transaction() as db:
            db.execute(delete(_REMARK).filter_by(assignment=self.lab.name, id=number))

    def _keep(self, db: Connection, cell: str, text: str) -> None:
        row = {"assignment": self.lab.name, "cell": cell, "text": text}
        if not db.execute(select(_REMARK.c.id).filter_by(**row)).first():
            db.execute(_REMARK.insert().values(**row))


def _given(works: Mapping[str, Work], role: str) -> dict[str, str]:
    return {page: work.tasks[role].reader for page, work in works.items() if role in work.tasks}


def _begun(works: Mapping[str, Work], role: str, now: datetime) -> set[str]:
    """Pages that somebody has read in this role, at least in part, or is reading."""
    return {
        page
        for page, work in works.items()
        if role in work.tasks
        and (
            work.tasks[role].held(now)
            or any(role in answer.marks for answer in work.answers)
            or (role == FIRST and any(answer.points is not None for answer in work.answers))
        )
    }


def _enter(db: Connection, page: str, cell: str, role: str, mark: Mark) -> None:
    values = {
        "reader": mark.reader,
        "points": mark.points,
        "items": None if mark.items is None else list(mark.items),
        "comment": mark.comment,
        "answer": mark.answer,
    }
    db.execute(
        insert(_READING)
        .values(page=page, cell=cell, role=role, **values)
        .on_conflict_do_update(index_elements=["page", "cell", "role"], set_=values)
    )


def _same(one: float | None, other: float | None) -> bool:
    return one is other or (one is not None and other is not None and math.isclose(one, other, abs_tol=1e-9))


def _shown(points: float | None) -> str:
    return "no points" if points is None else f"{points:g} points"
