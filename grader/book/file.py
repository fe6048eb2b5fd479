"""The file of nbgrader's gradebook: created completely or not at all, and opened with errors that say what to do.

nbgrader itself, whose import takes a second, is loaded only where its own objects are needed: to make a gradebook, and for what
:attr:`Book.nbgrader_s` does.
"""

from __future__ import annotations

import logging
import os
import shutil
import sqlite3
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sqlalchemy import create_engine, text
from sqlalchemy.exc import DBAPIError

from grader.book.log import sign_sessions
from grader.book.state import is_there, see_that_it_is_the_same
from grader.book.tables import NBGRADER_S
from grader.course import Course, CourseError, make_private
from grader.files import state_in

if TYPE_CHECKING:
    from nbgrader.api import Gradebook as NbgraderGradebook

MERGE = "merge.json"
"""The file in ``grading/`` that says what a merge of two ids is about to do; it is there only until that is done."""
_PLANNED = {
    **{"old": str, "new": str, "labs": [str], "dropped": {str: str}, "removed": [str]},
    **{"moves": [(str, str)], "both": list},
}
BUSY_SECONDS = 30
"""How long to wait for another program (usually formgrader) that is writing to it at the moment."""


class Book:
    """A gradebook's file that is open.

    Attributes:
        engine: the database.
    """

    def __init__(self, course: Course) -> None:
        self.engine = create_engine(url(course.gradebook))
        self._course = course

    @cached_property
    def nbgrader_s(self) -> NbgraderGradebook:
        """nbgrader's own object for the file."""
        return _nbgrader_s(self._course, self._course.gradebook)

    def forget(self) -> None:
        """Has nbgrader's objects, if there are any, read again what was entered without them."""
        if "nbgrader_s" in self.__dict__:
            self.nbgrader_s.db.expire_all()

    def complete(self) -> None:
        """Has nbgrader add the tables that a file of an earlier version of it lacks."""
        with self.engine.connect() as db:
            there = set(db.execute(text("SELECT name FROM sqlite_master WHERE type = 'table'")).scalars())
        if not there >= NBGRADER_S:
            _ = self.nbgrader_s

    def close(self) -> None:
        """Closes it, and what nbgrader has opened."""
        if "nbgrader_s" in self.__dict__:
            self.nbgrader_s.close()
        self.engine.dispose()


@contextmanager
def opened(course: Course) -> Iterator[Book]:
    """A course's gradebook; a new one if there has never been one.

    Raises:
        CourseError: the file cannot be read or written, which can also be raised later, while it is open; or it is not the one that was
            last used.
    """
    try:
        see_that_it_is_the_same(course)
        _make(course)
        with _in_our_words(), closing(Book(course)) as book:
            book.complete()
            yield book
    except DBAPIError as error:
        raise unusable(course, str(error.orig)) from error
    except sqlite3.Error as error:
        raise unusable(course, str(error)) from error
    except ValueError as error:
        from nbgrader.api import InvalidEntry

        if not isinstance(error, InvalidEntry):  # nbgrader's word for the same
            raise
        raise unusable(course, str(getattr(error.__context__, "orig", error))) from error


def unfinished_merge(course: Course) -> dict[str, Any] | None:
    """What a merge that was begun and not finished is about to do; None if there is none.

    Raises:
        CourseError: its file cannot be read.
    """
    file = course.grading / MERGE
    try:
        return state_in(file, _PLANNED)
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else error
        raise CourseError(
            f"{file}, which says how to finish a merge that was interrupted, cannot be read: {why}. Put it back from a backup of the course's folder. If you "
            "have none, remove it, and run the same `grader roster merge` again."
        ) from None


def url(file: Path) -> str:
    """The address under which SQLAlchemy finds a gradebook."""
    return f"sqlite:///{file}?timeout={BUSY_SECONDS}"


def _make(course: Course) -> None:
    """Creates a gradebook if there is none: all or nothing, because half of one would be taken for a complete one."""
    scratch = course.grading / ".new-gradebook"
    try:
        make_private(course.grading)
        if is_there(course):
            return
        shutil.rmtree(scratch, ignore_errors=True)  # left by a process that was killed at this point
        scratch.mkdir()
        try:
            with _nbgrader_s(course, scratch / course.gradebook.name):
                pass
            (scratch / course.gradebook.name).replace(course.gradebook)
        finally:
            shutil.rmtree(scratch, ignore_errors=True)
    except OSError as error:
        raise unusable(course, str(error)) from error


def own_programs_first() -> None:
    """To make tables, nbgrader runs ``alembic``, which lies beside this Python and need not be on the PATH."""
    own, before = str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)
    if own not in before.split(os.pathsep):
        os.environ["PATH"] = os.pathsep.join([own, before])


@contextmanager
def _in_our_words() -> Iterator[None]:
    """Silences nbgrader, which logs a traceback when a gradebook cannot be written and raises the error as well."""
    log = logging.getLogger("tornado.application")
    before, log.disabled = log.disabled, True
    try:
        yield
    finally:
        log.disabled = before


def _nbgrader_s(course: Course, file: Path) -> NbgraderGradebook:
    from nbgrader.api import Gradebook as NbgraderGradebook

    own_programs_first()
    sign_sessions()
    return NbgraderGradebook(url(file), course.course_id())


def unusable(course: Course, reason: str, file: Path | None = None) -> CourseError:
    """What to say and do about a gradebook that cannot be read or written.

    Args:
        reason: SQLite's words.
        file: it, if it is not the one in its place.
    """
    if "malformed" in reason or "not a database" in reason:
        return CourseError(
            f"The gradebook {file or course.gradebook} cannot be used: it is damaged ({reason}). `grader restore` lists its backups, and `grader restore "
            "NAME` puts one in its place. Then run `grader autograde` for each lab: that grades what the backup does not have. Points and comments "
            "given by hand since the backup are lost."
        )
    causes = {
        "locked": "Another program is using it: close that program (formgrader, another grader, a database viewer)",
        "readonly": f"Make the file and the folder {course.grading} writable",
        "full": "The disk is full: free some space",
    }
    advice = next((advice for word, advice in causes.items() if word in reason), None)
    advice = advice or "Make sure that the disk has room, and the file and its folder can be read and written"
    return CourseError(
        f"The gradebook {file or course.gradebook} cannot be used: {reason}. {advice}, then run the same command "
        "again. What was entered before is safe."
    )
