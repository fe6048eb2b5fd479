"""The tables of the gradebook: nbgrader's own, and those of ours in the same file, which nbgrader ignores.

Requests, statuses, rules, the log, and who reads which answer have their tables beside what is known about them.
"""

from __future__ import annotations

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
from sqlalchemy import (
    JSON,
    Boolean,
    Column,
    DateTime,
    Engine,
    Float,
    Integer,
    MetaData,
    String,
    Table,
    inspect,
    text,
)

STUDENT, ASSIGNMENT, SUBMISSION = Student.__table__, Assignment.__table__, SubmittedAssignment.__table__
NOTEBOOK, PAGE, CELL = Notebook.__table__, SubmittedNotebook.__table__, BaseCell.__table__
GRADE, COMMENT = Grade.__table__, Comment.__table__
NO_RESPONSE = "No response."
"""nbgrader's comment on a cell that is as it was handed out."""

MARKERS = Table(
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
EXTENSIONS = Table(  # nbgrader keeps extensions with submissions, so it needs a submission to store one
    "transformer_labs_extension",
    MARKERS.metadata,
    Column("student", String(128), primary_key=True),
    Column("assignment", String(128), primary_key=True),
    Column("seconds", Float, nullable=False),
)
MORE_TIME = Table(  # what nbgrader's extensions have from an accommodation or late days: it can be taken back
    "transformer_labs_more_time",
    MARKERS.metadata,
    Column("student", String(128), primary_key=True),
    Column("assignment", String(128), primary_key=True),
    Column("late_days", Integer, nullable=False),
)
ATTEMPTS = Table(  # what was graded as it arrived (``grader watch``)
    "transformer_labs_attempt",
    MARKERS.metadata,
    Column("id", Integer, primary_key=True),
    Column("student", String(128), nullable=False),
    Column("assignment", String(128), nullable=False),
    Column("handed_in", String(64), nullable=False),
    Column("begun", DateTime, nullable=False),
    Column("returned", Boolean, nullable=False),
)
ROSTER = Table(  # those who were put on the roster; nbgrader also lists everybody who has handed something in
    "transformer_labs_roster",
    MARKERS.metadata,
    Column("student", String(128), primary_key=True),
    Column("section", String(128), nullable=False),
)
ANSWERS = Table(  # what people grade: a digest of the text that is there now
    "transformer_labs_answer",
    MARKERS.metadata,
    Column("page", String(32), primary_key=True),  # nbgrader's id of a submitted notebook
    Column("cell", String(255), primary_key=True),
    Column("text", String(64), nullable=False),
)

_INDEXES = {"submitted_notebook": "assignment_id", "grade": "notebook_id", "comment": "notebook_id"}
"""Columns by which nbgrader's tables cannot be searched without reading everybody's rows, so that a command of nbgrader's, which
asks for one student at a time, would take longer for each the more there are."""


def bring_up_to_date(engine: Engine) -> None:
    """Makes our tables and indexes, and adds a column that a gradebook of an earlier version of this course does not have."""
    MARKERS.metadata.create_all(engine)
    with engine.connect() as connection:
        names = connection.execute(text("SELECT name FROM sqlite_master WHERE type = 'index'")).scalars()
        there = set(names)
    for table, column in _INDEXES.items():
        if (name := f"transformer_labs_{table}_by_{column}") not in there:
            with engine.begin() as connection:
                connection.execute(text(f"CREATE INDEX IF NOT EXISTS {name} ON {table} ({column})"))
    if all(column["name"] != "given" for column in inspect(engine).get_columns(MARKERS.name)):
        with engine.begin() as connection:
            connection.execute(
                text(f"ALTER TABLE {MARKERS.name} ADD COLUMN given JSON NOT NULL DEFAULT '[]'")
            )
