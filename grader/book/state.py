"""What the gradebook was when it was last used, so that another file in its place is noticed instead of used.

Each command that finds the gradebook changed leaves a random *state* in it when it ends, and the same state in ``grading/gradebook.json``. A
gradebook without the state that this file names did not come from the one that was last used. It is empty, older, a copy that went its own way, or
another course's. Whatever nbgrader's own programs enter leaves the states alone, so they never make it look wrong.
"""

from __future__ import annotations

import json
import secrets
import shlex
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from urllib.parse import quote

from grader.course import Course, CourseError
from grader.files import put, state_in

STATES = "transformer_labs_state"
"""The table of the states that a gradebook has been in, the oldest first: that one tells gradebooks of several courses apart."""
_KEPT = 1000
_BUSY_SECONDS = 30


@dataclass(frozen=True)
class Contents:
    """What is in a gradebook, in figures.

    Attributes:
        by_hand: number of points that people gave.
        changed: when something was last changed, as text (UTC); empty if that is not known.
        first: the first state, which all copies of a gradebook have in common; empty if it has none.
        last: the last state.
        logged: number of the last line in its log.
    """

    submissions: int = 0
    by_hand: int = 0
    requests: int = 0
    on_roster: int = 0
    changed: str = ""
    first: str = ""
    last: str = ""
    logged: int = 0

    def __str__(self) -> str:
        figures = {
            "submission": self.submissions,
            "mark by hand": self.by_hand,
            "request": self.requests,
            "name on the roster": self.on_roster,
        }
        told = ", ".join(f"{count:,} {_plural(name, count)}" for name, count in figures.items())
        return f"{told}, last changed {self.changed[:16]} UTC" if self.changed else told


_NOTED = {
    "file": (int, int),
    "contents": {name: type(value) for name, value in asdict(Contents()).items()},
}


def _plural(name: str, count: int) -> str:
    first, *rest = name.split(" ")
    return " ".join([first if count == 1 else f"{first}s", *rest])


def marker_of(course: Course) -> Path:
    """The file that says what the gradebook was."""
    return course.grading / "gradebook.json"


def remembered(course: Course) -> Contents | None:
    """What the gradebook was when it was last used; None if there was none, or it was one of an earlier version of this course.

    Raises:
        CourseError: the file that says so is damaged or cannot be read.
    """
    file = marker_of(course)
    try:
        return Contents(**state_in(file, _NOTED)["contents"])
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is damaged"
        raise CourseError(
            f"{file}, which says what the gradebook was when it was last used, cannot be read: {why}. Look at what `grader doctor --course` says of "
            f"the gradebook; if that is what it should be, remove {file.name}, and it is written again."
        ) from None


def is_unchanged(course: Course) -> bool:
    """Whether nobody has written to the gradebook since it was last remembered, as far as its size and time tell."""
    try:
        return state_in(marker_of(course), _NOTED)["file"] == _look_of(course.gradebook)
    except (OSError, ValueError):
        return False


def remember(course: Course, contents: Contents, file: Path | None = None) -> None:
    """Notes what the gradebook is now.

    Args:
        file: it, if it is not in its place yet.

    Raises:
        OSError: that cannot be written. What was noted before is still there.
    """
    noted = {"file": _look_of(file or course.gradebook), "contents": asdict(contents)}
    put(marker_of(course), json.dumps(noted, indent=1).encode(), mode=0o600)


def is_there(course: Course) -> bool:
    """Whether there is a gradebook.

    Raises:
        CourseError: there is none where there was one.
    """
    if course.gradebook.exists():
        return True
    if was := remembered(course):
        raise CourseError(f"The gradebook {course.gradebook} is missing. {_advice(course, was)}")
    return False


def see_that_it_is_the_same(course: Course) -> None:
    """
    Raises:
        CourseError: the gradebook did not come from the one that was last used, or the file is not a gradebook.
        sqlite3.Error: it cannot be read.
    """
    if not is_there(course):
        return
    was = remembered(course)
    with reading(course.gradebook) as db:
        if not _tables(db):
            raise CourseError(f"The gradebook {course.gradebook} is empty. {_advice(course, was)}")
        if was is None or (
            has_state(db, was.last) and _number(db, "SELECT max(id) FROM transformer_labs_log") >= was.logged
        ):
            return
        now = contents_of(db)
    what = (
        "is older than the one that was last used, or a copy that went its own way"
        if now.first == was.first
        else "is another course's"
        if now.first
        else "is not the one that was last used"
    )
    itself = shlex.quote(str(course.gradebook))
    raise CourseError(
        f"The gradebook {course.gradebook} {what}: it has {now}. {_advice(course, was)} If this one is right nevertheless: grader restore {itself}"
    )


def _advice(course: Course, was: Contents | None) -> str:
    had = f"When it was last used, it had {was}. " if was else ""
    files = f"{course.gradebook.name} and {marker_of(course).name}" if was else course.gradebook.name
    return (
        f"{had}Nothing was changed. `grader restore` lists its backups, and `grader restore NAME` puts one in its place. To start a new gradebook on "
        f"purpose, move {files} away."
    )


@contextmanager
def reading(file: Path) -> Iterator[sqlite3.Connection]:
    """A gradebook's file, to read; what a killed program has half written is undone first.

    Raises:
        sqlite3.Error: it cannot be read. This can also be raised later, while it is open.
    """
    address = f"file:{quote(str(file))}?mode=rw"
    with closing(sqlite3.connect(address, uri=True, timeout=_BUSY_SECONDS)) as db:
        yield db


def contents_of(db: sqlite3.Connection) -> Contents:
    """What is in a gradebook.

    Raises:
        sqlite3.Error: it cannot be read.
    """
    if not (tables := _tables(db)):
        return Contents()

    def count(table: str, where: str = "1") -> int:
        return _number(db, f"SELECT count(*) FROM {table} WHERE {where}") if table in tables else 0

    times, first, last, logged = [], "", "", 0
    if STATES in tables:
        states = db.execute(f"SELECT state, at FROM {STATES} ORDER BY rowid").fetchall()
        times += [at for _, at in states[-1:]]
        first, last = (states[0][0], states[-1][0]) if states else ("", "")
    if "transformer_labs_log" in tables:
        logged = _number(db, "SELECT max(id) FROM transformer_labs_log")
        times += [at for (at,) in db.execute("SELECT at FROM transformer_labs_log WHERE id = ?", [logged])]
    return Contents(
        count("submitted_assignment"),
        count("grade", "manual_score IS NOT NULL"),
        count("transformer_labs_request"),
        count("transformer_labs_roster"),
        max(times, default=""),
        first,
        last,
        logged,
    )


def has_state(db: sqlite3.Connection, state: str) -> bool:
    """Whether a gradebook has been in a state.

    Raises:
        sqlite3.Error: it cannot be read.
    """
    return STATES in _tables(db) and bool(
        _number(db, f"SELECT count(*) FROM {STATES} WHERE state = ?", state)
    )


def leave_state(db: sqlite3.Connection) -> None:
    """Enters a new state, in the transaction that is open or in one of its own.

    Raises:
        sqlite3.Error: it cannot be entered.
    """
    db.execute(
        f"CREATE TABLE IF NOT EXISTS {STATES} (state TEXT PRIMARY KEY NOT NULL, at TEXT NOT NULL DEFAULT (strftime('%Y-%m-%d %H:%M:%f', 'now')))"
    )
    db.execute(f"INSERT INTO {STATES} (state) VALUES (?)", [secrets.token_hex(8)])
    newest = f"SELECT rowid FROM {STATES} ORDER BY rowid DESC LIMIT {_KEPT}"
    db.execute(f"DELETE FROM {STATES} WHERE rowid > 1 AND rowid NOT IN ({newest})")


def _tables(db: sqlite3.Connection) -> set[str]:
    """The tables of a gradebook; none if it is no gradebook."""
    tables = {name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    return tables if {"submitted_assignment", "grade", "student"} <= tables else set()


def _number(db: sqlite3.Connection, query: str, *values: str) -> int:
    return db.execute(query, values).fetchone()[0] or 0


def _look_of(file: Path) -> list[int]:
    """A file's size and time of change. The inode is left out, because a copy of the course's folder is the same course."""
    found = file.stat()
    return [found.st_size, found.st_mtime_ns]
