"""The tables of our own in which it stands who reads which written answer and what they gave, and how all answers of a lab stand.

The points and the comment that count are where formgrader keeps them. The rows here belong to nbgrader's id of a submitted notebook, the one in
formgrader's addresses. It says nothing about the student, and it stays when two ids of a student are merged.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import UTC, datetime

from sqlalchemy import (
    JSON,
    Column,
    Connection,
    Engine,
    Float,
    Integer,
    MetaData,
    Select,
    String,
    Table,
    Text,
    select,
)

from grader.book import together
from grader.book.answers import Answer, Mark, Task, Work
from grader.book.tables import ANSWERS, ASSIGNMENT, CELL, COMMENT, GRADE, PAGE, SUBMISSION
from grader.reference.lab import Lab

_TABLES = MetaData()
QUEUE = Table(
    "transformer_labs_queue",
    _TABLES,
    Column("assignment", String(128), primary_key=True),
    Column("readers", JSON, nullable=False),
    Column("by_section", Integer, nullable=False),
    Column("second", Float, nullable=False),
)
TASK = Table(
    "transformer_labs_task",
    _TABLES,
    Column("page", String(32), primary_key=True),
    Column("role", String(16), primary_key=True),
    Column("reader", String(128), nullable=False),
    Column("holder", String(128)),
    Column("held_until", Float),  # seconds since 1970
    Column("released", Integer, nullable=False, server_default="0"),
)
READING = Table(
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
REMARK = Table(
    "transformer_labs_remark",
    _TABLES,
    Column("id", Integer, primary_key=True),
    Column("assignment", String(128), nullable=False),
    Column("cell", String(255), nullable=False),
    Column("text", Text, nullable=False),
)
_FORGET = "transformer_labs_forget_{table}"  # whatever removes a submission, nbgrader's own commands included


def install(engine: Engine) -> None:
    """Makes the tables, and sees to it that their rows go with the submission that they are about."""
    with engine.begin() as db:
        _TABLES.create_all(db)
        for table in (TASK, READING, ANSWERS):
            db.exec_driver_sql(
                f"CREATE TRIGGER IF NOT EXISTS {_FORGET.format(table=table.name)} AFTER DELETE ON {PAGE.name} "
                f"BEGIN DELETE FROM {table.name} WHERE page = OLD.id; END"
            )


def works_in(
    db: Connection, lab: Lab, order: Sequence[str], sections: Mapping[str, str], student: str | None = None
) -> dict[str, Work]:
    """Page -> work, of everybody whose answers are graded by hand. What is as it was handed out is not.

    Args:
        order: cells, as they follow each other in the lab.
        sections: student -> section.
        student: only of this one; None: of everybody.
    """
    graded = _graded(lab)
    if student is not None:
        graded = graded.where(SUBMISSION.c.student_id == student)
    rows = db.execute(graded).mappings().all()
    first = together.stands_for(db)
    pages = (
        None
        if student is None
        else {page for row in rows for page in (row["page"], first.get(row["page"], ""))}
    )
    comments, marks = _comments(db, pages), _marks(db, pages)
    tasks, released = _tasks(db, pages)
    answers: dict[tuple[str, str], list[Answer]] = {}
    for row in rows:
        key = (row["page"], row["cell"])
        again = row["manual_score"] is not None and bool(row["needs_manual_grade"])
        read = (first.get(row["page"], row["page"]), row["cell"])
        comment, by_role = comments.get(key, ""), marks.get(read, {})
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
            page in first,
        )
        for (page, student), found in answers.items()
    }


def _graded(lab: Lab) -> Select:
    """The written answers of a lab that people grade, with what counts."""
    return (
        select(
            PAGE.c.id.label("page"),
            SUBMISSION.c.student_id.label("student"),
            CELL.c.name.label("cell"),
            GRADE.c.manual_score,
            GRADE.c.needs_manual_grade,
            ANSWERS.c.text,
        )
        .join(SUBMISSION, SUBMISSION.c.id == PAGE.c.assignment_id)
        .join(ASSIGNMENT, ASSIGNMENT.c.id == SUBMISSION.c.assignment_id)
        .join(CELL, CELL.c.notebook_id == PAGE.c.notebook_id)
        .join(GRADE, (GRADE.c.notebook_id == PAGE.c.id) & (GRADE.c.cell_id == CELL.c.id))
        .outerjoin(ANSWERS, (ANSWERS.c.page == PAGE.c.id) & (ANSWERS.c.cell == CELL.c.name))
        .where(ASSIGNMENT.c.name == lab.name, GRADE.c.auto_score.is_(None))
        .order_by(PAGE.c.id)
    )


def _comments(db: Connection, pages: Collection[str] | None) -> dict[tuple[str, str], str]:
    """(page, cell) -> what a person says about it; of these pages, or of all."""
    said = (
        select(PAGE.c.id, CELL.c.name, COMMENT.c.manual_comment)
        .join(CELL, CELL.c.notebook_id == PAGE.c.notebook_id)
        .join(COMMENT, (COMMENT.c.notebook_id == PAGE.c.id) & (COMMENT.c.cell_id == CELL.c.id))
        .where(COMMENT.c.manual_comment.is_not(None))
    )
    if pages is not None:
        said = said.where(PAGE.c.id.in_(pages))
    return {(page, cell): text for page, cell, text in db.execute(said)}


def _marks(db: Connection, pages: Collection[str] | None) -> dict[tuple[str, str], dict[str, Mark]]:
    """(page, cell) -> role -> what was read; of these pages, or of all."""
    read = select(READING)
    if pages is not None:
        read = read.where(READING.c.page.in_(pages))
    found: dict[tuple[str, str], dict[str, Mark]] = {}
    for row in db.execute(read).mappings():
        items = None if row["items"] is None else tuple(row["items"])
        mark = Mark(row["reader"], row["points"], items, row["comment"], row["answer"])
        found.setdefault((row["page"], row["cell"]), {})[row["role"]] = mark
    return found


def _tasks(db: Connection, pages: Collection[str] | None) -> tuple[dict[str, dict[str, Task]], set[str]]:
    """Page -> role -> who reads it, and the pages whose names may be shown; of these pages, or of all."""
    given = select(TASK)
    if pages is not None:
        given = given.where(TASK.c.page.in_(pages))
    tasks: dict[str, dict[str, Task]] = {}
    released = set()
    for row in db.execute(given).mappings():
        until = datetime.fromtimestamp(row["held_until"], UTC) if row["held_until"] else None
        tasks.setdefault(row["page"], {})[row["role"]] = Task(row["reader"], row["holder"] or "", until)
        if row["released"]:
            released.add(row["page"])
    return tasks, released
