"""Submissions in the gradebook that are one piece of work, because a team has handed it in and each member has a copy.

What a person gives for one copy, points or a comment, is given for all of them, whatever program enters it: triggers in the gradebook do that. People
read one of the copies.
"""

from __future__ import annotations

from collections.abc import Iterator

from sqlalchemy import Connection, Engine, delete, select
from sqlalchemy.dialects.sqlite import insert

from grader.book.tables import TOGETHER, install_triggers
from grader.people.shared import Together

_SHARED = {"grade": ("manual_score", "extra_credit", "needs_manual_grade"), "comment": ("manual_comment",)}
"""Table of nbgrader's -> what of it people enter."""
_SHARE = "transformer_labs_share"


def install(engine: Engine) -> None:
    """Sees to it that what a person enters for one copy of a work is entered for all. Each change is in the log."""
    install_triggers(engine, _SHARE, {name: f"CREATE TRIGGER {name} {sql}" for name, sql in _triggers()})


def _triggers() -> Iterator[tuple[str, str]]:
    others = (
        f"(SELECT other.page FROM {TOGETHER.name} mine JOIN {TOGETHER.name} other ON other.work = mine.work "
        "WHERE mine.page = NEW.notebook_id AND other.page <> NEW.notebook_id)"
    )
    for table, columns in _SHARED.items():
        differs = " OR ".join(f"OLD.{each} IS NOT NEW.{each}" for each in columns)
        same = ", ".join(f"{each} = NEW.{each}" for each in columns)
        yield (
            f"{_SHARE}_{table}",
            f"AFTER UPDATE OF {', '.join(columns)} ON {table} WHEN {differs} BEGIN "
            f"UPDATE {table} SET {same} WHERE cell_id = NEW.cell_id AND notebook_id IN {others}; END",
        )
    yield (
        f"{_SHARE}_no_more",
        f"AFTER DELETE ON submitted_notebook BEGIN DELETE FROM {TOGETHER.name} WHERE page = OLD.id; END",
    )


def part(db: Connection, page: str) -> None:
    """A submission is nobody else's work any more, until it is joined again."""
    db.execute(delete(TOGETHER).filter_by(page=page))


def join(db: Connection, page: str, student: str, together: Together) -> None:
    """Notes that a graded submission is a copy of a work, and gives all copies what people have given for it. What counts is the copy of the member
    who handed it in, if it is graded, else those that are here already.
    """
    part(db, page)
    lead = int(together.by == student)
    db.execute(insert(TOGETHER).values(page=page, work=together.work, lead=lead))
    copies = select(TOGETHER.c.page).where(TOGETHER.c.work == together.work, TOGETHER.c.page != page)
    others = db.execute(copies.order_by(TOGETHER.c.lead.desc(), TOGETHER.c.page)).scalars().all()
    for one, other in [(page, each) for each in others] if lead else [(each, page) for each in others[:1]]:
        _give(db, one, other)


def _give(db: Connection, page: str, other: str) -> None:
    """Gives one submission what people have given for another."""
    for table, columns in _SHARED.items():
        one = f"FROM {table} AS one WHERE one.notebook_id = ? AND one.cell_id = {table}.cell_id"
        values = ", ".join(f"{each} = (SELECT {each} {one})" for each in columns)
        db.exec_driver_sql(
            f"UPDATE {table} SET {values} WHERE notebook_id = ? AND EXISTS (SELECT 1 {one})",
            (*[page] * len(columns), other, page),
        )


def stands_for(db: Connection) -> dict[str, str]:
    """Page -> the one that is read for it, of all that are copies of another: that of the member who handed it in, where it is graded."""
    found: dict[str, str] = {}
    firsts: dict[str, str] = {}
    for row in db.execute(select(TOGETHER).order_by(TOGETHER.c.lead.desc(), TOGETHER.c.page)):
        first = firsts.setdefault(row.work, row.page)
        if first != row.page:
            found[row.page] = first
    return found
