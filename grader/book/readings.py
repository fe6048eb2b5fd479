"""Written answers are given out to readers, and what they read is entered, in nbgrader's gradebook.

The points and the comment that count are where formgrader keeps them, so that formgrader, feedback and exports see them, and another
grading run keeps them. The rest is in tables of our own (:mod:`grader.book.works`).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

from sqlalchemy import Connection, delete, select, update
from sqlalchemy.dialects.sqlite import insert

from grader.book.answers import DECISION, FIRST, SECOND, Answer, Mark, Task, Work, same_points, same_text
from grader.book.gradebook import Gradebook
from grader.book.rubric import Line, Question, questions
from grader.book.split import Item, first_readers, second_readers
from grader.book.tables import CELL, COMMENT, GRADE, NOTEBOOK, PAGE
from grader.book.works import QUEUE, READING, REMARK, TASK, install, works_in
from grader.errors import GraderError
from grader.reference.lab import Lab

HELD = timedelta(minutes=30)
"""How long an answer that somebody has opened is closed to others."""


@dataclass(frozen=True)
class Settings:
    """How a lab's answers are given out; no readers: not at all."""

    readers: tuple[str, ...] = ()
    by_section: bool = False
    second: float = 0.0


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
        install(gradebook.engine)

    def questions(self) -> dict[str, Question]:
        """Grade_id -> question, of the lab's release."""
        return questions(self.lab.release())

    def settings(self) -> Settings:
        with self._gradebook.reading() as db:
            return self._settings(db)

    def _settings(self, db: Connection) -> Settings:
        row = db.execute(select(QUEUE).filter_by(assignment=self.lab.name)).mappings().first()
        return Settings(tuple(row["readers"]), bool(row["by_section"]), row["second"]) if row else Settings()

    def works(self) -> dict[str, Work]:
        """Page -> work, of everybody whose answers are graded by hand; of a team's work, the one copy that is read. What is as it was handed
        out is not.
        """
        with self._gradebook.reading() as db:
            return self._to_read(db)

    def lines(self, student: str | None = None) -> dict[str, dict[str, tuple[Line, ...]]]:
        """Student -> cell -> the lines of its rubric, by the reading that counts. Only what a reader has ticked: of points that
        were typed and with no line ticked, nobody knows which lines earned them.

        Args:
            student: only of this one, and nobody else's rows are read; None: of everybody.
        """
        asked = self.questions()
        found: dict[str, dict[str, tuple[Line, ...]]] = {}
        with self._gradebook.reading() as db:
            works = self._works(db, student) if asked else {}
        for work in works.values():
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

    def _to_read(self, db: Connection) -> dict[str, Work]:
        return {page: work for page, work in self._works(db).items() if not work.copy}

    def _works(self, db: Connection, student: str | None = None) -> dict[str, Work]:
        order, sections = list(self.questions()), self._gradebook.sections(student)
        return works_in(db, self.lab, order, sections, student)

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
            works, before = self._to_read(db), self._settings(db)
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
                insert(QUEUE)
                .values(assignment=self.lab.name, **values)
                .on_conflict_do_update(index_elements=["assignment"], set_=values)
            )
            _enter_tasks(db, FIRST, kept, first)
            _enter_tasks(db, SECOND, seconds, second)
        moved = sum(page in kept and kept[page] != reader for page, reader in first.items())
        return Dealt(len(first.keys() - kept.keys()), moved, len(second))

    def release(self) -> int:
        """Lets names be shown for what is finished, and returns how many submissions that is."""
        with self._gradebook.transaction() as db:
            works = self._to_read(db)
            done = [page for page, work in works.items() if FIRST in work.tasks and work.finished()]
            db.execute(update(TASK).where(TASK.c.page.in_(done)).values(released=1))
        return len(done)

    # ---------------------------------------------------------------------------------- reading

    def hold(self, page: str, role: str, holder: str, take_over: bool = False) -> Task:
        """Closes a task to others for a while, unless somebody else has done so. Returns it as it is then: if ``holder`` is
        another, it is theirs.

        Args:
            take_over: also if somebody else has done so, who then cannot save any more.
        """
        now = self._now()
        mine = (TASK.c.page == page) & (TASK.c.role == role)
        free = TASK.c.holder.is_(None) | (TASK.c.holder == holder) | (TASK.c.held_until <= now.timestamp())
        until = (now + HELD).timestamp()
        with self._gradebook.transaction() as db:
            db.execute(
                update(TASK).where(mine if take_over else mine & free).values(holder=holder, held_until=until)
            )
            row = db.execute(select(TASK).where(mine)).mappings().first()
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
            work = self._to_read(db).get(page)
            if work is None or any(answer.cell not in marks for answer in work.answers):
                raise GraderError("The answers have changed since you opened them. Load the page again.")
            if role != DECISION:
                task = work.tasks.get(role)
                if task is None or (task.holder != holder and task.held(self._now())):
                    raise GraderError("Somebody else is reading this submission now. Nothing was saved.")
            for answer in work.answers:
                mark = marks[answer.cell]
                if role != SECOND and not same_points(answer.points, seen[answer.cell]):
                    raise GraderError(
                        f"Somebody has given {_shown(answer.points)} for this answer since you opened it. Nothing was saved: "
                        "load the page again."
                    )
                _enter_mark(db, work, answer, role, mark)
                if role != SECOND:
                    _count(db, page, answer.cell, mark)
                if answer.cell in kept and mark.comment:
                    self._keep(db, answer.cell, mark.comment)
            db.execute(
                update(TASK)
                .where(TASK.c.page == page, TASK.c.role == role, TASK.c.holder == holder)
                .values(holder=None, held_until=None)
            )

    # ---------------------------------------------------------------------------------- remarks

    def remarks(self) -> dict[str, dict[int, str]]:
        """Cell -> comments that were kept for others to use, by their numbers, oldest first."""
        found: dict[str, dict[int, str]] = {}
        with self._gradebook.reading() as db:
            for row in db.execute(select(REMARK).filter_by(assignment=self.lab.name).order_by(REMARK.c.id)):
                found.setdefault(row.cell, {})[row.id] = row.text
        return found

    def forget(self, number: int) -> None:
        """Removes a comment from those that are kept."""
        with self._gradebook.transaction() as db:
            db.execute(delete(REMARK).filter_by(assignment=self.lab.name, id=number))

    def _keep(self, db: Connection, cell: str, text: str) -> None:
        row = {"assignment": self.lab.name, "cell": cell, "text": text}
        if not db.execute(select(REMARK.c.id).filter_by(**row)).first():
            db.execute(REMARK.insert().values(**row))


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


def _enter_tasks(db: Connection, role: str, before: Mapping[str, str], after: Mapping[str, str]) -> None:
    changed = [page for page, reader in before.items() if after.get(page) != reader]
    if changed:
        db.execute(delete(TASK).where(TASK.c.role == role, TASK.c.page.in_(changed)))
    rows = [
        {"page": page, "role": role, "reader": reader}
        for page, reader in after.items()
        if before.get(page) != reader
    ]
    if rows:
        db.execute(insert(TASK), rows)


def _enter_mark(db: Connection, work: Work, answer: Answer, role: str, mark: Mark) -> None:
    """Enters what was read in this role, and keeps right what was read in the others."""
    first, decided = answer.first(), answer.marks.get(DECISION)
    if role == DECISION and FIRST not in answer.marks and first:
        _enter(db, work.page, answer.cell, FIRST, replace(first, reader=work.tasks[FIRST].reader))
    if role == FIRST and decided and not same_text(decided, mark):
        gone = {"page": work.page, "cell": answer.cell, "role": DECISION}
        db.execute(delete(READING).filter_by(**gone))  # it was about another text
        decided = None
    if role != FIRST or not decided:  # a decision is confirmed: what was read before it stays
        _enter(db, work.page, answer.cell, role, mark)


def _enter(db: Connection, page: str, cell: str, role: str, mark: Mark) -> None:
    values = {
        "reader": mark.reader,
        "points": mark.points,
        "items": None if mark.items is None else list(mark.items),
        "comment": mark.comment,
        "answer": mark.answer,
    }
    db.execute(
        insert(READING)
        .values(page=page, cell=cell, role=role, **values)
        .on_conflict_do_update(index_elements=["page", "cell", "role"], set_=values)
    )


def _count(db: Connection, page: str, cell: str, mark: Mark) -> None:
    """Enters points and comment as formgrader does."""
    named = select(CELL.c.id).join(NOTEBOOK, NOTEBOOK.c.id == CELL.c.notebook_id)
    named = named.join(PAGE, PAGE.c.notebook_id == NOTEBOOK.c.id)
    named = named.where(PAGE.c.id == page, CELL.c.name == cell)
    db.execute(
        update(GRADE)
        .where(GRADE.c.notebook_id == page, GRADE.c.cell_id.in_(named))
        .values(manual_score=mark.points, needs_manual_grade=False)
    )
    db.execute(
        update(COMMENT)
        .where(COMMENT.c.notebook_id == page, COMMENT.c.cell_id.in_(named))
        .values(manual_comment=mark.comment or None)
    )


def _shown(points: float | None) -> str:
    return "no points" if points is None else f"{points:g} points"
