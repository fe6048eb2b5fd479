"""The errors that are a message for the person at the keyboard. The command line shows their text and no traceback."""

from __future__ import annotations

import traceback
from pathlib import Path


class GraderError(Exception):
    """What the person who called the tool must know: what, where, and what to do next."""


def place_of(error: BaseException, file: Path) -> str:
    """``file:line`` where an error arose in a file, or was handed on."""
    if isinstance(error, SyntaxError) and error.filename == str(file):
        return f"{file}:{error.lineno}"
    lines = [
        frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == str(file)
    ]
    return f"{file}:{lines[-1]}" if lines else str(file)
