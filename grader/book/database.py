"""nbgrader's gradebook.db while it is open. It must be the right file, changes are made together or not at all, and the next command must know what
it is in the end.
"""

from __future__ import annotations

import sqlite3
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from shlex import quote
from typing import TYPE_CHECKING, Self

from sqlalchemy import Connection, Engine
from sqlalchemy.exc import DatabaseError, OperationalError

from grader.book import file as gradebook_file
from grader.book import log, together
from grader.book import state as gradebook_state
from grader.book.backups import back_up, backups, see_that_no_other_s_changes_are_undone
from grader.book.requests import REQUESTS
from grader.book.rules import RULES
from grader.book.statuses import STATUSES
from grader.book.tables import bring_up_to_date
from grader.course import Course, CourseError
from grader.errors import see_whether_it_was_ctrl_c

if TYPE_CHECKING:
    from nbgrader.api import Gradebook as NbgraderGradebook

_NOTE_SECONDS = 60
"""So often a command that enters many submissions notes what the gradebook is: it may be killed."""


class Database:
    """A gradebook that is open. What is in it is known by the classes made of this one; :class:`grader.book.gradebook.Gradebook`
    is all of them.
    """

    def __init__(self, course: Course, file: gradebook_file.Book) -> None:
        self.course = course
        self._file = file
        self._changing: Connection | None = None
        self._noted = time.monotonic()

    @classmethod
    @contextmanager
    def open(cls, course: Course, merging: bool = False) -> Iterator[Self]:
        """
        Args:
            merging: two ids are being merged, and it is this that opens it.

        Raises:
            CourseError: the file cannot be read or written (also later, while it is open), is not the one last used, or a merge
                of two ids is unfinished.
        """
        if not merging and (merge := gradebook_file.unfinished_merge(course)):
            raise CourseError(
                f"The merge of {merge['old']!r} into {merge['new']!r} is not finished. If it is not at work at the moment, "
                f"finish it: grader roster merge {quote(merge['old'])} {quote(merge['new'])}"
            )
        is_new = not course.gradebook.exists()
        kept = backups(course) if is_new else []
        see_that_no_other_s_changes_are_undone(course)
        usable = True
        try:
            with gradebook_file.opened(course) as book:
                if not is_new:
                    back_up(course)  # also what formgrader has entered, before anything else is
                bring_up_to_date(book.engine)
                for table in (REQUESTS, STATUSES, RULES):
                    table.metadata.create_all(book.engine)
                together.install(book.engine)
                log.install(book.engine)
                if kept:
                    print(
                        "grader: a new gradebook was begun, although there are backups of another one. To go on with the newest of these: grader restore "
                        f"{kept[0].name}",
                        file=sys.stderr,
                    )
                elif is_new:
                    print(f"grader: a gradebook was made: {course.gradebook}", file=sys.stderr)
                yield cls(course, book)
        except CourseError:
            usable = False
            raise
        except AssertionError as error:
            see_whether_it_was_ctrl_c(error)
            raise
        finally:
            if usable:
                _leave_state(course)

    @property
    def engine(self) -> Engine:
        """The database. What a transaction that is going on has changed is not yet in it."""
        return self._file.engine

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """To read from the database, as the transaction that is going on has left it, if there is one."""
        if self._changing is not None:
            yield self._changing
            return
        with self.engine.connect() as connection:
            yield connection

    @property
    def _book(self) -> NbgraderGradebook:
        """nbgrader's own object for the same file."""
        return self._file.nbgrader_s

    @contextmanager
    def transaction(self, who: str = "") -> Iterator[Connection]:
        """Changes that are made together or not at all. Nobody else can write in the meantime. Within another transaction, they are part of that one.

        Args:
            who: makes them, if that is not the user of this process.

        Raises:
            CourseError: the gradebook cannot be written to now; nothing was written.
        """
        if self._changing is not None:
            yield self._changing
            return
        try:
            with self.engine.begin() as connection, log.signed(connection, who):
                self._changing = connection
                yield connection
            self._file.forget()
        except DatabaseError as error:
            if type(error) in (
                DatabaseError,
                OperationalError,
            ):  # other errors are faults in what was to be entered
                raise gradebook_file.unusable(self.course, str(error.orig)) from error
            raise
        finally:
            self._changing = None

    @contextmanager
    def together(self) -> Iterator[None]:
        """What is entered within is entered as a whole, or not at all: for those who do not write to the tables themselves.

        Raises:
            CourseError: as for :meth:`transaction`.
        """
        with self.transaction():
            yield

    def note_now_and_then(self) -> None:
        """Notes what the gradebook is, unless that was done a short while ago."""
        if time.monotonic() - self._noted > _NOTE_SECONDS:
            self._noted = time.monotonic()
            _leave_state(self.course)


def _leave_state(course: Course) -> None:
    """Notes what the gradebook is now, and keeps a copy, if anybody has changed it since the last time.

    Raises:
        CourseError: the gradebook is damaged.
    """
    if gradebook_state.is_unchanged(course):
        return
    was = gradebook_state.remembered(course)
    try:
        with gradebook_state.reading(course.gradebook) as db:
            if was and not gradebook_state.has_state(db, was.last):
                return  # another file was put in its place meanwhile: the next command says so
            with db:
                gradebook_state.leave_state(db)
            gradebook_state.remember(course, gradebook_state.contents_of(db))
        back_up(course)
    except (sqlite3.OperationalError, OSError):
        return  # held, read-only, or on a full disk: the last note is still true
    except sqlite3.Error as error:
        raise gradebook_file.unusable(course, str(error)) from error
