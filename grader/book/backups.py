"""Backups of the gradebook in ``grading/backups/``, made by SQLite's own online backup whenever a command finds or leaves it changed, and put
back by ``grader restore``. They are on the same disk, so they help against mistakes and full disks, not against a broken disk.
"""

from __future__ import annotations

import math
import os
import shutil
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from grader.book.file import unusable
from grader.book.state import Contents, contents_of, is_unchanged, leave_state, reading, remember
from grader.course import Course, CourseError, make_private
from grader.errors import GraderError

NEWEST = 10
"""This many of the newest are kept; of older ones, one for each time that their age doubles, in minutes."""
MOST_BYTES = 500_000_000
"""All together; the newest two are kept, however large."""
LARGE = 10_000_000
"""A gradebook of more bytes than this is not copied again within ``PAUSE``."""
PAUSE = timedelta(minutes=5)
_FORM = "%Y-%m-%d_%H-%M-%S-%f"
_ASIDE = "replaced-"


@dataclass(frozen=True)
class Backup:
    """A gradebook that can be put back.

    Attributes:
        made: when it was copied or put aside (UTC).
        aside: whether it is what another one has taken the place of. Such files are never removed.
    """

    file: Path
    made: datetime
    aside: bool

    @property
    def name(self) -> str:
        return self.file.stem

    def contents(self) -> Contents | None:
        """What is in it; None if it is no gradebook, or damaged."""
        try:
            with reading(self.file) as db:
                found = contents_of(db)
        except sqlite3.Error:
            return None
        return found if found != Contents() else None


def folder_of(course: Course) -> Path:
    """Where a course's backups are."""
    return course.grading / "backups"


def backups(course: Course) -> list[Backup]:
    """All backups, the newest first."""
    found = []
    for file in folder_of(course).glob("*.db"):
        name = file.stem.removeprefix(_ASIDE)
        with suppress(ValueError):
            made = datetime.strptime(name, _FORM).replace(tzinfo=UTC)
            found.append(Backup(file, made, name != file.stem))
    return sorted(found, key=lambda each: each.made, reverse=True)


def back_up(course: Course) -> None:
    """Copies the gradebook if it has changed since the last copy, unless it is large and that was a moment ago, or the disk is
    almost full. Removes copies that are not needed any more.

    Raises:
        CourseError: the gradebook is damaged.
    """
    made = [each for each in backups(course) if not each.aside]
    before = course.gradebook.stat()
    now = datetime.now(UTC)
    if made and made[0].file.stat().st_mtime_ns == before.st_mtime_ns:
        return
    if made and before.st_size > LARGE and now - made[0].made < PAUSE:
        return
    folder = folder_of(course)
    try:
        make_private(folder)
        if shutil.disk_usage(folder).free < 5 * before.st_size:
            return  # grades need the room more
        scratch = folder / f".{os.getpid()}.new"
        try:
            _copy(course, course.gradebook, scratch)
            os.utime(
                scratch, ns=(before.st_atime_ns, before.st_mtime_ns)
            )  # to see later whether it has changed
            scratch.replace(folder / f"{now:{_FORM}}.db")
        finally:
            scratch.unlink(missing_ok=True)
        for old in surplus(backups(course), now):
            old.file.unlink(missing_ok=True)
    except OSError:
        return  # nothing is lost by it, and grading must not depend on it; `grader doctor --course` says when the last one was made


def see_that_no_other_s_changes_are_undone(course: Course) -> None:
    """SQLite undoes what a journal beside a database says, even if it is another database's or an older one. Of a gradebook that nobody has
    written to since it was copied there is nothing to undo, so the copy is put back if SQLite has changed it.

    Raises:
        CourseError: that has happened.
    """
    beside = (
        course.gradebook.with_name(f"{course.gradebook.name}-{ending}") for ending in ("journal", "wal")
    )
    found = next((file for file in beside if file.exists() and file.stat().st_size), None)
    if found is None or not is_unchanged(course):
        return
    noted = course.gradebook.stat().st_mtime_ns
    copy = next((each for each in backups(course) if each.file.stat().st_mtime_ns == noted), None)
    if copy is None:
        return
    number, _ = _number_and_pages(course.gradebook.read_bytes())
    try:
        with reading(course.gradebook) as db:
            now, pages = _number_and_pages(db.serialize())  # as SQLite sees it, at one moment
    except sqlite3.Error:
        return  # opening it says so
    if now > number:  # somebody has just written to it
        return
    if pages == _number_and_pages(copy.file.read_bytes())[1]:
        return
    restore(course, copy.name)
    raise CourseError(
        f"{found}, which is another gradebook's or was left from an earlier time, has changed {course.gradebook}. The gradebook has been put back as it was. "
        "Run the same command again."
    )


def _number_and_pages(data: bytes) -> tuple[int, bytes]:
    """How often a database has been changed, and what is in it."""
    return int.from_bytes(data[24:28], "big"), data[100:]


def surplus(made: Sequence[Backup], now: datetime) -> Iterator[Backup]:
    """The backups that need not be kept.

    Args:
        made: all, the newest first.
    """
    copies = [each for each in made if not each.aside]
    older = copies[NEWEST:]
    oldest = {_age(each, now): each for each in older}  # the oldest of each age: it will be the next age's
    kept = [*copies[:NEWEST], *(each for each in older if oldest[_age(each, now)] is each)]
    size = 0
    for place, each in enumerate(kept):
        size += each.file.stat().st_size
        if size > MOST_BYTES and place >= 2:
            kept = kept[:place]
            break
    yield from (each for each in copies if each not in kept)


def _age(backup: Backup, now: datetime) -> int:
    """How often its age, in minutes, has doubled."""
    return int(math.log2(max((now - backup.made) / timedelta(minutes=1), 1)))


def restore(course: Course, name: str) -> tuple[Contents, Path | None]:
    """Puts a gradebook in the place of the one that is there, which is put aside. Returns what is in it, and where the other one is.

    Args:
        name: a backup's, or the path of a gradebook's file; of the one that is there, if it is right as it is.

    Raises:
        GraderError: there is no such backup, it is no gradebook, or it cannot be put there.
    """
    named = {each.name: each.file for each in backups(course)}
    source = named.get(name.removesuffix(".db"), Path(name))
    if not source.is_file():
        raise GraderError(
            f"There is no backup {name!r}, and no such file. `grader restore` lists the backups."
        )
    scratch = course.grading / f".{course.gradebook.name}.new"
    try:
        make_private(folder_of(course))
        try:
            _copy(course, source, scratch)
            with closing(sqlite3.connect(scratch)) as db:
                if contents_of(db) == Contents():
                    raise GraderError(
                        f"{source} is not a gradebook, or it is empty. Nothing has changed. `grader restore` lists the backups."
                    )
                with db:
                    leave_state(db)
                contents = contents_of(db)
            aside = _put_aside(course)
            remember(course, contents, scratch)  # a stop at this point is noticed: the gradebook is missing
            scratch.replace(course.gradebook)
        finally:
            scratch.unlink(missing_ok=True)
    except sqlite3.Error as error:
        raise unusable(course, str(error)) from error
    except OSError as error:
        raise GraderError(
            f"{error.filename or course.grading} cannot be written: {error.strerror}. Make room or make it writable, then run the same command again. "
            "Nothing is lost."
        ) from None
    return contents, aside


def _copy(course: Course, source: Path, target: Path) -> None:
    """Copies a gradebook's file as it is at one moment, also while others write to it.

    Raises:
        CourseError: it is damaged, or cannot be read.
        OSError: the copy cannot be written.
    """
    target.unlink(missing_ok=True)
    target.touch(mode=0o600)
    try:
        with reading(source) as db, closing(sqlite3.connect(target)) as copy:
            copy.execute("PRAGMA synchronous = OFF")  # of a copy that a power failure spoils there are others
            copy.execute("PRAGMA journal_mode = OFF")
            db.backup(copy)
            _see_that_it_is_whole(copy)
    except sqlite3.Error as error:
        if "full" in str(error):
            raise OSError(None, str(error), str(target)) from None
        if "not a database" in str(error):
            raise CourseError(
                f"{source} is not a gradebook. Nothing has changed. `grader restore` lists the backups."
            ) from None
        raise unusable(course, str(error), source) from None


def see_that_it_is_whole(course: Course) -> None:
    """Reads all of a gradebook that is there.

    Raises:
        CourseError: it is damaged anywhere, or cannot be read.
    """
    try:
        with reading(course.gradebook) as db:
            _see_that_it_is_whole(db)
    except sqlite3.Error as error:
        raise unusable(course, str(error)) from None


def _see_that_it_is_whole(db: sqlite3.Connection) -> None:
    (verdict,) = db.execute("PRAGMA quick_check(1)").fetchone()
    if verdict != "ok":
        raise sqlite3.DatabaseError(f"malformed: {verdict.splitlines()[-1]}")


def _put_aside(course: Course) -> Path | None:
    """Moves what is in the gradebook's place among the backups, with the files that SQLite keeps beside it."""
    moved = folder_of(course) / f"{_ASIDE}{datetime.now(UTC):{_FORM}}.db"
    for ending in ("-journal", "-wal", "-shm", ""):
        part = course.gradebook.with_name(f"{course.gradebook.name}{ending}")
        if part.exists():
            part.rename(moved.with_name(f"{moved.name}{ending}"))
    return moved if moved.exists() else None
