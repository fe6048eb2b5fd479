"""Errors that are meant for the person at the keyboard: the command line shows their text and no traceback."""

from __future__ import annotations

import traceback
from pathlib import Path


class GraderError(Exception):
    """A message for the person who called the tool: what went wrong, where, and what to do next."""


def place_of(error: BaseException, file: Path) -> str:
    """``file:line`` of the line in a file that raised an error, or that the error passed through."""
    if isinstance(error, SyntaxError) and error.filename == str(file):
        return f"{file}:{error.lineno}"
    lines = [
        frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == str(file)
    ]
    return f"{file}:{lines[-1]}" if lines else str(file)
