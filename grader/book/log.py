"""The log of the gradebook: who changed which points, deadline, extension or comment, when, from what to what.

SQLite's triggers write it, in the gradebook's own file and in the same transaction as the change. So it also has what formgrader,
nbgrader's commands and any other program change, and a change that is undone leaves no line. Two more triggers refuse to
change or remove lines. That keeps out mistakes, not the file's owner, who may change anything in it.

A trigger does not know who is at work. For the length of a transaction, :func:`signed` says it in a table that the triggers
read, and :func:`sign_sessions` does so for whatever uses nbgrader's own objects.
"""

from __future__ import annotations

import os
import pwd
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from sqlalchemy import Connection, Engine, event

from grader.book.tables import install_triggers
from grader.files import seen

if TYPE_CHECKING:
    from sqlalchemy.orm import Session

LOG, _SIGNATURE = "transformer_labs_log", "transformer_labs_signature"

POINTS, CHECKS, EXTRA = "points by hand", "points from the checks", "extra credit"
PENALTY, COMMENT = "late penalty", "comment"
DEADLINE, EXTENSION = "deadline", "extension"
MERGED = "id"
DECISION = "decision on a request"
STATUS, RULES = "status", "rules of the term"
TEAM = "team"
ROSTER = "roster"
RESTORED = "gradebook"
WORK = "work"
LATENESS = "days late"
ATTEMPT = "graded on hand-in"
ASSISTANT = "assistant"
UNSIGNED = "unknown"
"""Who made a change that came from a program which does not say who uses it."""

_acting: ContextVar[str] = ContextVar("acting", default="")


@dataclass(frozen=True)
class Change:
    """A line of the log.

    Attributes:
        when: in UTC.
        who: account of the system or of JupyterHub; ``UNSIGNED`` if the program did not say.
        program: such as ``grader`` or ``jupyter-lab`` (formgrader); empty if it did not say.
        student: empty if it concerns everybody.
        item: the graded cell or written answer; empty if it concerns the whole lab.
        what: what was changed: ``POINTS``, ``DEADLINE`` and so on.
        before, after: as text; empty where there was or is nothing.
        why: the reason that was given; empty if none was.
    """

    when: datetime
    who: str
    program: str
    lab: str
    student: str
    item: str
    what: str
    before: str
    after: str
    why: str = ""


@dataclass(frozen=True)
class _Watched:
    """A column of the gradebook whose changes are logged, in SQL; ``{row}`` is OLD or NEW.

    Attributes:
        name: of its triggers.
        value: what is compared. NULL: there is nothing.
        shown: what the log says.
        of: lab, student and item.
        on: which events are logged.
        only: which of the changes are logged.
    """

    name: str
    table: str
    column: str
    what: str
    value: str
    shown: str
    of: tuple[str, str, str]
    on: tuple[str, ...] = ("INSERT", "UPDATE", "DELETE")
    only: str = "1"

    def triggers(self) -> Iterator[tuple[str, str]]:
        """Name and SQL, as SQLite keeps it, of each trigger."""
        for on in self.on:
            old, before = ("NULL", "NULL") if on == "INSERT" else self._of_row("OLD")
            new, after = ("NULL", "NULL") if on == "DELETE" else self._of_row("NEW")
            row = "OLD" if on == "DELETE" else "NEW"
            of = ", ".join(part.format(row=row) for part in self.of)
            name = f"{LOG}_{self.name}_{on.lower()}"
            yield (
                name,
                (
                    f"CREATE TRIGGER {name} AFTER {on}{f' OF {self.column}' if on == 'UPDATE' else ''} ON {self.table} "
                    f"WHEN ({old}) IS NOT ({new}) AND ({self.only.format(row=row, old=old, new=new)}) BEGIN "
                    f"INSERT INTO {LOG} (who, program, why, lab, student, item, what, before, after) VALUES "
                    f"((SELECT who FROM {_SIGNATURE}), (SELECT program FROM {_SIGNATURE}), (SELECT why FROM {_SIGNATURE}), {of}, '{self.what}', {before}, {after}); END"
                ),
            )

    def _of_row(self, row: str) -> tuple[str, str]:
        return self.value.format(row=row), self.shown.format(row=row)


def _written(value: str, form: str = "%g") -> str:
    return f"CASE WHEN {value} IS NOT NULL THEN printf('{form}', {value}) END"


_PAGE_S = "FROM submitted_notebook p JOIN submitted_assignment s ON s.id = p.assignment_id JOIN assignment a ON a.id = s.assignment_id"
_CELL_S = (
    f"(SELECT a.name {_PAGE_S} WHERE p.id = {{row}}.notebook_id)",
    f"(SELECT s.student_id {_PAGE_S} WHERE p.id = {{row}}.notebook_id)",
    "(SELECT name FROM base_cell WHERE id = {row}.cell_id)",
)
_LAB_S = "(SELECT name FROM assignment WHERE id = {row}.assignment_id)"
_SUBMISSION_S = "FROM submitted_assignment s JOIN assignment a ON a.id = s.assignment_id"
# SQLAlchemy keeps an interval as a time after 1970, and a part of a second from the 20th character on
_SECONDS = "round(strftime('%s', {row}.extension) + CAST('0' || substr({row}.extension, 20) AS REAL), 6)"
_OURS = f"(SELECT round(seconds, 6) FROM transformer_labs_extension WHERE student = {{row}}.student_id AND assignment = {_LAB_S})"

_DECIDED = (
    "CASE WHEN {row}.decided IS NOT NULL THEN CASE WHEN {row}.points IS NULL THEN 'the points stay'"
    " ELSE printf('%g points', {row}.points) END || ': ' || {row}.reason END"
)

_ON_ROSTER = (
    "CASE {row}.section WHEN '' THEN 'without a section' ELSE printf('section %s', {row}.section) END"
)

_WATCHED = (
    _Watched("by_hand", "grade", "manual_score", POINTS, "{row}.manual_score",
             "CASE WHEN {row}.manual_score IS NOT NULL THEN printf('%g', {row}.manual_score)"
             " WHEN {row}.auto_score IS NOT NULL THEN printf('%g from the checks', {row}.auto_score) END", _CELL_S),
    _Watched("extra", "grade", "extra_credit", EXTRA, "NULLIF({row}.extra_credit, 0)",
             _written("NULLIF({row}.extra_credit, 0)"), _CELL_S),
    # the first points from the checks change nothing
    _Watched("checks", "grade", "auto_score", CHECKS, "{row}.auto_score", _written("{row}.auto_score"), _CELL_S,
             ("UPDATE", "DELETE"), "OLD.auto_score IS NOT NULL"),
    _Watched("comment", "comment", "manual_comment", COMMENT, "NULLIF({row}.manual_comment, '')",
             "{row}.manual_comment", _CELL_S),
    _Watched("penalty", "submitted_notebook", "late_submission_penalty", PENALTY,
             "NULLIF({row}.late_submission_penalty, 0)", _written("NULLIF({row}.late_submission_penalty, 0)"),
             (f"(SELECT a.name {_SUBMISSION_S} WHERE s.id = {{row}}.assignment_id)",
              f"(SELECT s.student_id {_SUBMISSION_S} WHERE s.id = {{row}}.assignment_id)", "NULL")),
    _Watched("deadline", "assignment", "duedate", DEADLINE, "{row}.duedate",
             "substr({row}.duedate, 1, 16) || ' UTC'", ("{row}.name", "NULL", "NULL")),
    # nbgrader's own, less the copy of ours in a new submission
    _Watched("extension", "submitted_assignment", "extension", EXTENSION, f"NULLIF({_SECONDS}, 0)",
             _written(f"NULLIF({_SECONDS} / 86400, 0)", "%.10g d"), (_LAB_S, "{row}.student_id", "NULL"),
             ("INSERT", "UPDATE"), f"({{old}}) IS NOT NULL OR ({{new}}) IS NOT {_OURS}"),
    # ours stays when a submission is taken out
    _Watched("extension_gone", "submitted_assignment", "extension", EXTENSION, f"NULLIF({_SECONDS}, 0)",
             _written(f"NULLIF({_SECONDS} / 86400, 0)", "%.10g d"), (_LAB_S, "{row}.student_id", "NULL"),
             ("DELETE",), f"({{old}}) IS NOT {_OURS}"),
    # ours, where there is no submission that nbgrader could keep it with
    _Watched("early_extension", "transformer_labs_extension", "seconds", EXTENSION, "{row}.seconds",
             _written("{row}.seconds / 86400", "%.10g d"), ("{row}.assignment", "{row}.student", "NULL"),
             only=f"NOT EXISTS (SELECT 1 {_SUBMISSION_S} WHERE s.student_id = {{row}}.student AND a.name = {{row}}.assignment)"),
    _Watched("decision", "transformer_labs_request", "decided", DECISION, "{row}.decided", _DECIDED,
             ("{row}.lab", "{row}.student", "{row}.cell")),
    _Watched("status", "transformer_labs_status", "amount, reason", STATUS, "{row}.amount || ': ' || {row}.reason",
             "trim({row}.kind || ' ' || {row}.amount)", ("{row}.assignment", "{row}.student", "NULL")),
    _Watched("attempt", "transformer_labs_attempt", "begun", ATTEMPT, "{row}.begun",
             "substr({row}.begun, 1, 16) || ' UTC'", ("{row}.assignment", "{row}.student", "NULL"), ("INSERT",)),
    # to be on the roster from the first is no change
    _Watched("roster", "transformer_labs_roster", "section", ROSTER, "{row}.section", _ON_ROSTER,
             ("NULL", "{row}.student", "NULL"), ("UPDATE", "DELETE")),
    _Watched("back", "transformer_labs_roster", "section", ROSTER, "{row}.section", _ON_ROSTER,
             ("NULL", "{row}.student", "NULL"), ("INSERT",),
             f"EXISTS (SELECT 1 FROM {LOG} WHERE what = '{ROSTER}' AND student = {{row}}.student)"),
    _Watched("rules", "transformer_labs_rules", "text", RULES, "{row}.text", "{row}.text", ("NULL", "NULL", "NULL")),
)  # fmt: skip


def _triggers() -> dict[str, str]:
    """Name -> SQL, as SQLite keeps it, of all triggers."""
    guards = {
        "update": "UPDATE ON {log}",
        "delete": "DELETE ON {log}",
        "replace": "INSERT ON {log} WHEN EXISTS (SELECT 1 FROM {log} WHERE id = NEW.id)",  # else REPLACE gets by
    }
    kept = {
        f"{LOG}_no_{name}": f"CREATE TRIGGER {LOG}_no_{name} BEFORE {change.format(log=LOG)} "
        "BEGIN SELECT RAISE(ABORT, 'the log is append-only'); END"
        for name, change in guards.items()
    }
    return kept | {name: sql for each in _WATCHED for name, sql in each.triggers()}


def install(engine: Engine) -> None:
    """Makes a gradebook keep a log from now on. One that already does is only read."""
    install_triggers(engine, LOG, _triggers(), _make_tables)


def _make_tables(db: Connection) -> None:
    db.exec_driver_sql(
        f"CREATE TABLE IF NOT EXISTS {LOG} (id INTEGER PRIMARY KEY AUTOINCREMENT, "
        "at TEXT NOT NULL DEFAULT (strftime('%Y-%m-%d %H:%M:%f', 'now')), "
        "who TEXT, program TEXT, lab TEXT, student TEXT, item TEXT, what TEXT NOT NULL, before TEXT, after TEXT, why TEXT)"
    )
    db.exec_driver_sql(f"CREATE TABLE IF NOT EXISTS {_SIGNATURE} (who TEXT, program TEXT, why TEXT)")
    for table in (LOG, _SIGNATURE):  # in gradebooks of earlier versions, no reasons were kept
        columns = {row[1] for row in db.exec_driver_sql(f"PRAGMA table_info({table})")}
        if "why" not in columns:
            db.exec_driver_sql(f"ALTER TABLE {table} ADD COLUMN why TEXT")


def changes(engine: Engine, lab: str = "", student: str = "") -> list[Change]:
    """The lines of the log, newest last.

    Args:
        lab: only those of this lab.
        student: only those about this student, also under ids that were merged into this one; not those about everybody.
    """
    ids = f"SELECT ? UNION SELECT before FROM {LOG} JOIN ids ON student = ids.name WHERE what = '{MERGED}'"
    chosen = (
        f"WITH RECURSIVE ids (name) AS ({ids}) "
        f"SELECT * FROM {LOG} WHERE ? IN ('', lab) AND (? = '' OR student IN ids) ORDER BY id"
    )
    with engine.connect() as db:
        rows = db.exec_driver_sql(chosen, (student, lab, student)).mappings().all()
    texts = ("program", "lab", "student", "item", "what", "before", "after", "why")
    return [
        Change(
            datetime.fromisoformat(row["at"]).replace(tzinfo=UTC),
            row["who"] or UNSIGNED,
            *(row[name] or "" for name in texts),
        )
        for row in rows
    ]


def now_called(engine: Engine, student: str) -> str:
    """The id that somebody has now, after all merges of ids."""
    seen = {student}
    latest = f"SELECT after FROM {LOG} WHERE what = '{MERGED}' AND before = ? ORDER BY id DESC LIMIT 1"
    with engine.connect() as db:
        while (new := db.exec_driver_sql(latest, (student,)).scalar()) and new not in seen:
            seen.add(new)
            student = new
    return student


def is_noted(db: Connection, old: str, new: str) -> bool:
    """Whether the log has it that one id was merged into another."""
    query = f"SELECT 1 FROM {LOG} WHERE what = '{MERGED}' AND before = ? AND after = ?"
    return db.exec_driver_sql(query, (old, new)).first() is not None


def note_merge(db: Connection, old: str, new: str) -> None:
    """Logs, in a signed transaction, that one id was merged into another."""
    db.exec_driver_sql(
        f"INSERT INTO {LOG} (who, program, why, student, what, before, after) SELECT who, program, why, ?, '{MERGED}', ?, ? FROM {_SIGNATURE}",
        (new, old, new),
    )


def note_team(db: Connection, student: str, lab: str, before: str, after: str) -> None:
    """Logs, in a signed transaction, that somebody is in another team from a lab on."""
    _note(db, TEAM, student, lab, before, after)


def note_lateness(db: Connection, student: str, lab: str, before: str, after: str) -> None:
    """Logs, in a signed transaction, how late work counts that is only marked as late."""
    _note(db, LATENESS, student, lab, before, after)


def note_restored(db: Connection, backup: str) -> None:
    """Logs, in a signed transaction, that a backup was put in the gradebook's place. What was logged since it was made is in the other file."""
    _note(db, RESTORED, "", "", "", f"the backup {backup}")


def note_assistants(engine: Engine, now: Mapping[str, str]) -> None:
    """Logs what has changed in the list of assistants, a file that anybody may edit, since the log last said who is on it. Who has edited it is not
    known, so the line says who has noticed.

    Args:
        now: name -> what the list says of it.
    """
    line = f"INSERT INTO {LOG} (who, item, what, before, after) VALUES (?, ?, '{ASSISTANT}', ?, ?)"

    def changed(db: Connection) -> list[tuple[str, str, str | None, str | None]]:
        then = _assistants(db)
        noticed = f"noticed by {user_and_program()[0]}"
        return [
            (noticed, name, then.get(name), now.get(name))
            for name in sorted({*then, *now})
            if then.get(name) != now.get(name)
        ]

    with engine.connect() as db:
        if not changed(db):
            return
    with engine.begin() as db:
        for each in changed(db):
            db.exec_driver_sql(line, each)


def assistants(engine: Engine) -> list[str]:
    """Who was on the list of assistants when the log last said so."""
    with engine.connect() as db:
        return sorted(name for name, said in _assistants(db).items() if said)


def _assistants(db: Connection) -> dict[str, str | None]:
    latest = f"SELECT item, after FROM {LOG} WHERE what = '{ASSISTANT}' ORDER BY id"
    return {name: said for name, said in db.exec_driver_sql(latest) if name}


def _note(db: Connection, what: str, student: str, lab: str, before: str, after: str) -> None:
    db.exec_driver_sql(
        f"INSERT INTO {LOG} (who, program, why, lab, student, what, before, after) SELECT who, program, why, ?, ?, ?, ?, ? FROM {_SIGNATURE}",
        (lab, student, what, before, after),
    )


def note_taken_out(db: Connection, student: str, lab: str) -> None:
    """Logs, in a signed transaction, that somebody's work for a lab is no longer there."""
    db.exec_driver_sql(
        f"INSERT INTO {LOG} (who, program, why, lab, student, what, before) SELECT who, program, why, ?, ?, '{WORK}', 'collected' FROM {_SIGNATURE}",
        (lab, student),
    )


# ---------------------------------------------------------------------------------- who


@contextmanager
def signed(db: Connection, who: str = "") -> Iterator[None]:
    """Says who makes the changes of a transaction. No other program ever sees it, because it is gone when they are
    committed.

    Args:
        who: if that is not the user of this process.
    """
    _sign(db, who)
    yield
    _unsign(db)


def give_reason(db: Connection, why: str) -> None:
    """Says, in a signed transaction, why the next changes are made."""
    db.exec_driver_sql(f"UPDATE {_SIGNATURE} SET why = ?", (seen(why) or None,))


def _sign(db: Connection, who: str = "") -> None:
    _unsign(db)
    user, program = user_and_program()
    db.exec_driver_sql(f"INSERT INTO {_SIGNATURE} (who, program) VALUES (?, ?)", (who or user, program))


def _unsign(db: Connection) -> None:
    db.exec_driver_sql(f"DELETE FROM {_SIGNATURE}")


@contextmanager
def acting(who: str) -> Iterator[None]:
    """Somebody acts through this process, which serves several people: what is changed meanwhile is theirs. Empty: its own user acts."""
    before = _acting.set(who)
    try:
        yield
    finally:
        _acting.reset(before)


def user_and_program() -> tuple[str, str]:
    """The user and the program of this process. A hub's user name counts more than the account that its server runs as, and the person who
    acts through the process more than both.
    """
    hub = _acting.get() or os.environ.get("JUPYTERHUB_USER")
    script = Path(sys.argv[0])
    program = script.parent.name if script.stem == "__main__" else script.stem
    return hub or _account(), program or "python"


def _account() -> str:
    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:  # in a container that runs as a number
        return f"user {os.getuid()}"


def sign_sessions() -> None:
    """Signs what this process changes through nbgrader's own objects, as formgrader does. May be called more than once."""
    from sqlalchemy.orm import Session  # a third of all SQLAlchemy, and most commands use its tables only

    if not event.contains(Session, "before_flush", _before_flush):
        event.listen(Session, "before_flush", _before_flush)
        event.listen(Session, "after_flush", _after_flush)


def _before_flush(session: Session, *_: object) -> None:
    if _is_logged(session):
        _sign(session.connection())


def _after_flush(session: Session, *_: object) -> None:
    if _is_logged(session):
        _unsign(session.connection())


def _is_logged(session: Session) -> bool:
    """Whether a session's database is a gradebook with a log; a process may have others, too."""
    db = session.connection()
    if db.dialect.name != "sqlite":
        return False
    return bool(db.exec_driver_sql("SELECT 1 FROM sqlite_master WHERE name = ?", (_SIGNATURE,)).first())
