"""What was handed in, as a fingerprint: another one means that there is something else to grade.

It needs nothing of what grades, so a command that only asks whether somebody has handed in again does not wait for that.
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterable, Sequence
from pathlib import Path

from grader.files import MAX_BYTES, REASON_FILE, SECRET, TEAM, TIMESTAMP, find_notebook
from grader.receive.beside import NOT_TAKEN, files_beside
from grader.reference.lab import Lab

_READ = MAX_BYTES + 1
_LOOKED_AT = 50
"""Of so many other files of a submission's folder the content counts; of the rest, the name."""


def fingerprint_of_submission(lab: Lab, folder: Path) -> str:
    """SHA-256 of everything that grading takes from a submission's folder: the notebook that it finds there, the files
    beside it, and what the exchange says about it. For a file that cannot be read, the reason counts.
    """
    shared = (TEAM,) if (folder / TEAM).exists() else ()
    return fingerprint_of_files(lab, folder, (TIMESTAMP, SECRET, REASON_FILE, NOT_TAKEN, *shared))


def fingerprint_of_files(lab: Lab, folder: Path, names: Sequence[str]) -> str:
    """The same, with only these of the grader's own files in the folder."""
    path, notes = find_notebook(folder, lab.notebook_name)
    link = str(folder.is_symlink() or folder.parent.is_symlink())
    beside = (folder / name for name in names)
    files = [(other.name, digest(other)) for other in (path, *beside)]
    others = [name for (name,), _ in files_beside(folder, path.name)]
    files += [(name, digest(folder / name)) for name in others[:_LOOKED_AT]]
    return combined([*files, ("others", repr(others)), ("link", link), ("notes", repr(notes))])


def combined(parts: Iterable[tuple[str, str]]) -> str:
    """One fingerprint of several, each with its name."""
    return hashlib.sha256("\n".join(f"{name!r} {value}" for name, value in parts).encode()).hexdigest()


def digest_of(data: bytes) -> str:
    """The fingerprint of a file with this content."""
    return f"{hashlib.sha256(data[:_READ]).hexdigest()} {len(data)}"


def digest(path: Path) -> str:
    """SHA-256 of a file's first bytes (grading reads no more of a submission) and its size, or why it has no fingerprint."""
    try:
        kind = path.lstat().st_mode
        if not stat.S_ISREG(kind):  # opening it might follow a link, or block for ever
            return f"no file: {stat.S_IFMT(kind):o}"
        with path.open("rb") as file:
            return f"{hashlib.sha256(file.read(_READ)).hexdigest()} {os.fstat(file.fileno()).st_size}"
    except OSError as error:
        return f"unreadable: {error.errno}"
