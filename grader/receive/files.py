"""The files of a submission, looked for and opened so that no link is followed and nothing is read without a bound."""

from __future__ import annotations

import errno
import itertools
import os
import stat
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from datetime import datetime
from pathlib import Path

from nbgrader.utils import parse_utc

MAX_BYTES = 50 * 2**20
"""Bytes of a file that is handed in."""
MAX_FILES = 1_000
"""Files of a submission's folder beyond which no notebook of another name is looked for."""

TIMESTAMP = "timestamp.txt"
"""When a submission was handed in, as nbgrader's exchange writes it."""
SECRET = "submission_secret.txt"
"""What nbgrader's exchange names the feedback of a submission by, so that only who handed it in finds it."""
REASON_FILE = "not-collected.txt"
"""In a submission's folder without a notebook: why ``grader collect`` could not take what was handed in."""


class Unreadable(Exception):
    """A file that cannot be taken as a submission. Its text says why, and what to do."""


def printable(text: str, limit: int = 100) -> str:
    """Text of a submission, safe to show: no controls, no marks that turn its direction, and not long."""
    shown = "".join(char if char.isprintable() else "\ufffd" for char in text[: limit + 1])
    return shown if len(text) <= limit else f"{shown[: limit - 1]}…"


def find_notebook(folder: Path, name: str) -> tuple[Path, tuple[str, ...]]:
    """The notebook of a submission folder, and a note if it had to be looked for under another name.

    The path is returned even if nothing is there: reading it then says so.
    """
    wanted = folder / name
    if wanted.is_symlink() or wanted.exists() or _behind_link(wanted):
        return wanted, ()
    others = _notebooks_in(folder)
    if len(others) > 1:
        listed = ", ".join(repr(printable(other)) for other in others[:5])
        return wanted, (
            f"Several notebooks were handed in ({listed}), none named {name!r}: hand in one of that name.",
        )
    if not others:
        return wanted, ()
    shown = printable(others[0])
    return folder / others[0], (f"The notebook was handed in as {shown!r}; expected {name!r}.",)


def _notebooks_in(folder: Path) -> list[str]:
    """Names of the notebooks in a folder, links too (reading one says that it is one)."""
    try:
        with os.scandir(folder) as entries:
            first = list(itertools.islice(entries, MAX_FILES + 1))
    except OSError:
        return []
    if len(first) > MAX_FILES:
        return []
    files = (entry for entry in first if entry.is_symlink() or entry.is_file(follow_symlinks=False))
    return sorted(entry.name for entry in files if entry.name.endswith(".ipynb"))


def _behind_link(path: Path) -> bool:
    """Whether the folder of a submission, or its student's, is a symbolic link."""
    return path.parent.is_symlink() or path.parent.parent.is_symlink()


@contextmanager
def opened_folder(path: str | Path, within: int | None = None) -> Iterator[int]:
    """A descriptor of a folder. With ``within``, another folder's descriptor, ``path`` is a name in there and no link.

    Raises:
        OSError: there is no such folder, or it cannot be read.
    """
    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
    descriptor = os.open(path, flags if within is None else flags | os.O_NOFOLLOW, dir_fd=within)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def file_bytes(path: Path, root: Path | None = None, seen: tuple[int, int] | None = None) -> bytes:
    """A file's content, of which one byte more than ``MAX_BYTES`` at most.

    Every folder on the way is opened within the one before, so a link that somebody puts in the place of one at the
    last moment is not followed either.

    Args:
        root: the folder above it that may lie behind links; default: three levels up (see :func:`read_submission`).
        seen: device and inode that the file had when it was looked at.

    Raises:
        Unreadable: it is a link, lies behind one, is no regular file, is another than was seen, or is not there.
    """
    name = printable(path.name)
    root = root or path.parent.parent.parent
    try:
        with ExitStack() as stack:
            folder = stack.enter_context(opened_folder(root))
            for part in path.relative_to(root).parts[:-1]:
                try:
                    folder = stack.enter_context(opened_folder(part, folder))
                except OSError as error:
                    if error.errno in (errno.ELOOP, errno.ENOTDIR):
                        raise Unreadable(
                            "The submission's folder is a symbolic link, or no folder. Hand in the folder itself."
                        ) from None
                    raise
            # NONBLOCK: opening a named pipe would wait for somebody to write to it
            flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
            descriptor = os.open(path.name, flags, dir_fd=folder)
            stack.callback(os.close, descriptor)
            found = os.fstat(descriptor)
            if not stat.S_ISREG(found.st_mode):
                raise Unreadable(f"{name} is not a file.")
            if seen and (found.st_dev, found.st_ino) != seen:
                raise Unreadable(f"{name} was replaced while it was being collected. Collect again.")
            with open(descriptor, "rb", closefd=False) as file:
                return file.read(MAX_BYTES + 1)
    except FileNotFoundError:
        raise Unreadable(_why_missing(path.parent, name)) from None
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise Unreadable(f"{name} is a symbolic link. Hand in the file itself.") from None
        raise Unreadable(f"{name} cannot be read: {error.strerror}.") from None


def _why_missing(folder: Path, name: str) -> str:
    try:
        descriptor = os.open(folder / REASON_FILE, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        with open(descriptor, "rb") as file:
            reason = file.read(1000).decode("utf-8", "replace").strip()
    except OSError:
        reason = ""
    return printable(reason, 500) or f"There is no {name} in the submission."


def time_of(text: str) -> datetime | None:
    """The time (UTC) that a text of nbgrader's says; None if it says none, or one that no submission has.

    Years like 1 or 9999 are in no clock's reach, and cannot be written, compared or moved by a time zone everywhere.
    """
    try:
        found = parse_utc(text)
    except Exception:  # the parser's failures are of many kinds, and anybody may have written the text
        return None
    return found if 1970 <= found.year < 2200 else None
