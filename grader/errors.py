"""Errors that are meant for the person at the keyboard: the command line shows their text and no traceback."""

from __future__ import annotations

import errno
import traceback
from pathlib import Path

NO_ROOM = {errno.ENOSPC, errno.EDQUOT}
"""What the system says when nothing more can be written: the disk is full, or the user's share of it is used up."""


class GraderError(Exception):
    """A message for the person who called the tool: what went wrong, where, and what to do next."""


def no_room(error: OSError) -> GraderError:
    """The error for a disk on which nothing more can be written."""
    where = f"{error.filename} cannot be written" if error.filename else "Something cannot be written"
    return GraderError(f"{where}: {error.strerror}. Free some disk space, then run the same command again.")


def see_whether_it_was_ctrl_c(error: BaseException | None) -> None:
    """SQLAlchemy makes an AssertionError of Ctrl-C that comes in the middle of a transaction; then the run would go on.

    Raises:
        KeyboardInterrupt: the error, or what it was raised in the middle of, was one.
    """
    while error:
        if isinstance(error, KeyboardInterrupt):
            raise KeyboardInterrupt from error
        error = error.__context__


def place_of(error: BaseException, file: Path) -> str:
    """``file:line`` of the line in a file that raised an error, or that the error passed through."""
    if isinstance(error, SyntaxError) and error.filename == str(file):
        return f"{file}:{error.lineno}"
    lines = [
        frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == str(file)
    ]
    return f"{file}:{lines[-1]}" if lines else str(file)
