"""The tables of the gradebook: nbgrader's own, and those of ours in the same file, which nbgrader ignores.

nbgrader's are written down here as it makes them (a test compares them with its own), because to import it takes a second of every command.
Requests, statuses, rules, the log, and who reads which answer have their tables beside what is known about them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from uuid import uuid4

from sqlalchemy import (
    JSON,
    Boolean,
    Column,
    Connection,
    DateTime,
    Engine,
    Float,
    Integer,
    Interval,
    MetaData,
    String,
    Table,
    Text,
    inspect,
    text,
)

_NBGRADER = MetaData()


def _id() -> Column:
    return Column("id", String(32), primary_key=True, default=lambda: uuid4().hex)


STUDENT = Table(
    "student",
    _NBGRADER,
    Column("id", String(128), primary_key=True),
    Column("first_name", String(128)),
    Column("last_name", String(128)),
    Column("email", String(128)),
    Column("lms_user_id", String(128)),
)
ASSIGNMENT = Table(
    "assignment",
    _NBGRADER,
    _id(),
    Column("name", String(128), nullable=False),
    Column("duedate", DateTime),
    Column("course_id", String(128), nullable=False),
)
SUBMISSION = Table(
    "submitted_assignment",
    _NBGRADER,
    _id(),
    Column("assignment_id", String(32)),
    Column("student_id", String(128)),
    Column("timestamp", DateTime),
    Column("extension", Interval),
)
NOTEBOOK = Table(
    "notebook",
    _NBGRADER,
    _id(),
    Column("name", String(128), nullable=False),
    Column("assignment_id", String(32)),
    Column("kernelspec", String(1024)),
)
PAGE = Table(
    "submitted_notebook",
    _NBGRADER,
    _id(),
    Column("assignment_id", String(32)),
    Column("notebook_id", String(32)),
    Column("flagged", Boolean, default=False),
    Column("late_submission_penalty", Float(0)),
)
CELL = Table(
    "base_cell",
    _NBGRADER,
    _id(),
    Column("name", String(128), nullable=False),
    Column("notebook_id", String(32), nullable=False),
    Column("type", String(50)),
)
GRADE = Table(
    "grade",
    _NBGRADER,
    _id(),
    Column("notebook_id", String(32)),
    Column("cell_id", String(32)),
    Column("auto_score", Float),
    Column("manual_score", Float),
    Column("extra_credit", Float),
    Column("needs_manual_grade", Boolean, nullable=False, default=True),
)
COMMENT = Table(
    "comment",
    _NBGRADER,
    _id(),
    Column("notebook_id", String(32)),
    Column("cell_id", String(32)),
    Column("auto_comment", Text),
    Column("manual_comment", Text),
)
NBGRADER_S = {*_NBGRADER.tables, "course", "grade_cells", "solution_cells", "task_cells", "source_cell"}
"""The names of all of nbgrader's tables."""
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
    Column("possible", JSON, nullable=False, server_default="[]"),
    Column("stands_out", JSON, nullable=False, server_default="[]"),
)
_ADDED = ("given", "possible", "stands_out")
"""Columns of it that gradebooks of earlier versions of this course do not have."""
EARLIER = Table(  # what was recognised in hand-ins that were graded and that another one has replaced since, in their order
    "transformer_labs_earlier",
    MARKERS.metadata,
    Column("number", Integer, primary_key=True),
    Column("student", String(128), nullable=False),
    Column("assignment", String(128), nullable=False, index=True),
    Column("recognised", JSON, nullable=False),
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
SENT = Table(  # what was sent to an assignment in Canvas: grades that are another one there were entered by somebody else
    "transformer_labs_sent",
    MARKERS.metadata,
    Column("student", String(128), primary_key=True),
    Column("assignment", String(128), primary_key=True),
    Column("place", String(255), primary_key=True),  # its address
    Column("score", Float),
    Column("excused", Boolean, nullable=False),
    Column("page", String(64), nullable=False),  # a digest of the feedback page; empty: none was sent
)
TAKEN = Table(  # statuses and extensions that an assignment in Canvas has, and nobody has entered here
    "transformer_labs_taken",
    MARKERS.metadata,
    Column("student", String(128), primary_key=True),
    Column("assignment", String(128), primary_key=True),
    Column("kind", String(32), primary_key=True),
    Column("place", String(255), nullable=False),  # its address
)
ROSTER = Table(  # those who were put on the roster; nbgrader also lists everybody who has handed something in
    "transformer_labs_roster",
    MARKERS.metadata,
    Column("student", String(128), primary_key=True),
    Column("section", String(128), nullable=False),
)
LTI_USERS = Table(  # by which id a learning platform knows somebody, where the roster was read from it by LTI
    "transformer_labs_lti_user",
    MARKERS.metadata,
    Column("student", String(128), primary_key=True),
    Column("platform", String(255), primary_key=True),  # its address: an id is unique there only
    Column("user", String(255), nullable=False),
)
ANSWERS = Table(  # what people grade: a digest of the text that is there now
    "transformer_labs_answer",
    MARKERS.metadata,
    Column("page", String(32), primary_key=True),  # nbgrader's id of a submitted notebook
    Column("cell", String(255), primary_key=True),
    Column("text", String(64), nullable=False),
)
TEAMS = Table(  # a row says what holds from a lab on, so nobody can be in two teams of one lab
    "transformer_labs_team",
    MARKERS.metadata,
    Column("student", String(128), primary_key=True),
    Column("since", String(128), primary_key=True),  # a lab; they are in order
    Column("team", String(128), nullable=False),  # empty: alone
)
TOGETHER = Table(
    "transformer_labs_together",
    MARKERS.metadata,
    Column("page", String(32), primary_key=True),  # nbgrader's id of a submitted notebook
    Column("work", String(64), nullable=False),
    Column("lead", Integer, nullable=False),  # whether it is the copy of the one who handed it in
)
SEEDS = Table(  # the seed of each lab's checks; also in ``grading/seeds.json``
    "transformer_labs_seed",
    MARKERS.metadata,
    Column("name", String(160), primary_key=True),
    Column("seed", Integer, nullable=False),
)

_INDEXES = {"submitted_notebook": "assignment_id", "grade": "notebook_id", "comment": "notebook_id"}
"""Columns that have no index in nbgrader's tables, so a search by them reads everybody's rows. A command of nbgrader's asks for one student at a
time, and would take longer for each the more there are."""


def install_triggers(
    engine: Engine,
    prefix: str,
    wanted: Mapping[str, str],
    prepare: Callable[[Connection], None] = lambda _: None,
) -> None:
    """Makes a gradebook have exactly these of our triggers. One that already has them is only read.

    It is done whenever the grader opens a gradebook, because an upgrade of nbgrader's may replace tables, and with them their triggers.

    Args:
        prefix: what the names of these triggers begin with, and no others.
        wanted: name -> SQL, as SQLite keeps it.
        prepare: what has to be there before them, made in the same transaction.
    """
    with engine.connect() as db:
        ours = dict(
            db.exec_driver_sql(
                "SELECT name, sql FROM sqlite_master WHERE type = 'trigger' AND name LIKE ?", (f"{prefix}%",)
            ).all()
        )
    if ours == wanted:
        return
    with engine.connect() as db:
        db.exec_driver_sql(
            "BEGIN IMMEDIATE"
        )  # so that no change falls between the old triggers and the new ones
        prepare(db)
        for name in ours.keys() | wanted.keys():
            db.exec_driver_sql(f"DROP TRIGGER IF EXISTS {name}")
        for sql in wanted.values():
            db.exec_driver_sql(sql)
        db.commit()


def bring_up_to_date(engine: Engine) -> None:
    """Makes our tables and indexes, and adds columns that a gradebook of an earlier version of this course does not have."""
    MARKERS.metadata.create_all(engine)
    with engine.connect() as connection:
        names = connection.execute(text("SELECT name FROM sqlite_master WHERE type = 'index'")).scalars()
        there = set(names)
    for table, column in _INDEXES.items():
        if (name := f"transformer_labs_{table}_by_{column}") not in there:
            with engine.begin() as connection:
                connection.execute(text(f"CREATE INDEX IF NOT EXISTS {name} ON {table} ({column})"))
    has = {column["name"] for column in inspect(engine).get_columns(MARKERS.name)}
    for name in _ADDED:
        if name not in has:
            with engine.begin() as connection:
                connection.execute(
                    text(f"ALTER TABLE {MARKERS.name} ADD COLUMN {name} JSON NOT NULL DEFAULT '[]'")
                )
