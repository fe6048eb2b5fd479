"""What has been graded already: fingerprints of what a grade depends on, and what is left to do.

A submission's *marker* lies in the gradebook and is written in the same transaction as its scores. A run
that is killed, at any point, therefore leaves some submissions with scores and marker and the others without,
and the next run goes on with the others.
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cache
from importlib import metadata
from pathlib import Path

import course_utils
from grader.intake import MAX_BYTES, REASON_FILE, SECRET, TIMESTAMP, find_notebook
from grader.lab import Lab
from grader.run import Runner

_PACKAGES = {"course_utils": Path(course_utils.__file__).parent, "grader": Path(__file__).parent}
_NO_PART_IN_GRADES = {
    f"grader/{name}.py"
    for name in (
        *(
            "build",
            "bundle",
            "cli",
            "cluster",
            "collect",
            "demo",
            "doctor",
            "exchange",
            "export",
            "gradebook",
            "gradescope",
        ),
        *("late", "pool", "report", "stock"),
    )
}
_READ = MAX_BYTES + 1


class Again(Enum):
    """Which submissions that were graded before are graded again."""

    CHANGED = "those for which anything changed that grading depends on"
    NEW = "those that were handed in anew"
    ALL = "all"


@dataclass(frozen=True)
class Marker:
    """What the gradebook remembers of one graded submission.

    Attributes:
        handed_in: fingerprint of the submission, see :func:`fingerprint_of_submission`.
        lab: fingerprint of all else that the grade depends on, see :func:`fingerprint_of_lab`.
        notebook: SHA-256 of the graded notebook's file.
    """

    handed_in: str
    lab: str
    notebook: str
    state: str
    score: float
    max_score: float
    by_hand: int
    recognised: tuple[str, ...]
    notes: tuple[str, ...]


def sort_out(
    lab: Lab, folders: Sequence[Path], markers: Mapping[str, Marker], fingerprint: str, again: Again
) -> tuple[list[Path], dict[str, Marker]]:
    """What is left to grade, and the markers of what is not, by student.

    Args:
        markers: of submissions whose scores are in the gradebook, by student.
        fingerprint: the lab's.
    """
    todo: list[Path] = []
    kept: dict[str, Marker] = {}
    for folder in folders:
        student = folder.parent.name
        marker = None if again is Again.ALL else markers.get(student)
        if marker and _still_holds(lab, folder, marker, fingerprint, again):
            kept[student] = marker
        else:
            todo.append(folder)
    return todo, kept


def _still_holds(lab: Lab, folder: Path, marker: Marker, fingerprint: str, again: Again) -> bool:
    if again is Again.CHANGED and marker.lab != fingerprint:
        return False
    graded = lab.course.autograded / folder.parent.name / lab.name / lab.notebook_name
    return _digest(graded) == marker.notebook and fingerprint_of_submission(lab, folder) == marker.handed_in


# ---------------------------------------------------------------------------------- fingerprints


def fingerprint_of_submission(lab: Lab, folder: Path) -> str:
    """SHA-256 of all that grading takes from a submission's folder: the notebook that it finds there, and what
    the exchange says about it. What cannot be read counts by the reason.
    """
    path, notes = find_notebook(folder, lab.notebook_name)
    link = str(folder.is_symlink() or folder.parent.is_symlink())
    beside = (folder / name for name in (TIMESTAMP, SECRET, REASON_FILE))
    files = [(other.name, _digest(other)) for other in (path, *beside)]
    return _combined([*files, ("link", link), ("notes", repr(notes))])


def fingerprint_of_lab(lab: Lab, seed: int, runner: Runner) -> str:
    """SHA-256 of all else that a grade depends on: release, solution, known mistakes, checks, seed, limits,
    and the grader's own code. A limit that must not count is a field of the runner with ``repr=False``.
    """
    release = _files(lab.release_folder, "*")
    source = {name: path for name, path in _files(lab.folder, "**/*").items() if name != "variants.py"}
    texts = {"seed": str(seed), "runner": repr(runner), "code": version()}
    return _combined(
        [
            *((f"release/{name}", _digest(path)) for name, path in sorted(release.items())),
            *((f"source/{name}", _digest(path)) for name, path in sorted(source.items())),
            *sorted(texts.items()),
        ]
    )


@cache
def version() -> str:
    """The project's version and a fingerprint of the code that has a part in grades, as one text."""
    parts = [
        (name, _digest(path))
        for package, folder in sorted(_PACKAGES.items())
        for name, path in sorted(_files(folder, "**/*.py", prefix=f"{package}/").items())
        if name not in _NO_PART_IN_GRADES
    ]
    return f"{metadata.version('transformer-labs')}+{_combined(parts)[:12]}"


def _files(folder: Path, pattern: str, prefix: str = "") -> dict[str, Path]:
    """Relative name -> file; hidden ones and caches are left out."""
    found = {path.relative_to(folder): path for path in folder.glob(pattern) if path.is_file()}
    return {
        f"{prefix}{name.as_posix()}": path
        for name, path in found.items()
        if not any(part.startswith((".", "__pycache__")) for part in name.parts)
    }


def _combined(parts: Iterable[tuple[str, str]]) -> str:
    return hashlib.sha256("\n".join(f"{name!r} {value}" for name, value in parts).encode()).hexdigest()


def digest_of(data: bytes) -> str:
    """What a file with this content has as its fingerprint."""
    return f"{hashlib.sha256(data[:_READ]).hexdigest()} {len(data)}"


def _digest(path: Path) -> str:
    """SHA-256 of a file's first bytes (of a submission, no more are read) and its size, or why it has none."""
    try:
        kind = path.lstat().st_mode
        if not stat.S_ISREG(kind):  # opening it might follow a link, or wait for ever
            return f"no file: {stat.S_IFMT(kind):o}"
        with path.open("rb") as file:
            return f"{hashlib.sha256(file.read(_READ)).hexdigest()} {os.fstat(file.fileno()).st_size}"
    except OSError as error:
        return f"unreadable: {error.errno}"
