"""What has been graded already: fingerprints of what a grade depends on, and what is left to do.

A submission's *marker* lies in the gradebook and is written in the same transaction as its scores. A run
that is killed, at any point, therefore leaves some submissions with scores and marker and the others without,
and the next run goes on with the others.
"""

from __future__ import annotations

import ast
import hashlib
import os
import stat
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cache
from importlib import metadata
from pathlib import Path

import course_utils
import grader
from grader.lab import Lab, runs_in_grading
from grader.receive.intake import MAX_BYTES, REASON_FILE, SECRET, TIMESTAMP, find_notebook
from grader.run.notebook import Runner

_PACKAGES = {"course_utils": Path(course_utils.__file__).parent, "grader": Path(grader.__file__).parent}
_ENGINE = "grader.grade.work"  # all of grading but writing it down
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
    and the code that has a part in it. A limit that must not count is a field of the runner with ``repr=False``.
    """
    release = _files(lab.release_folder, "*")
    texts = {"seed": str(seed), "runner": repr(runner), "code": version(modules_of(lab))}
    return _combined(
        [
            *((f"release/{name}", _digest(path)) for name, path in sorted(release.items())),
            *((f"source/{name}", _digest(path)) for name, path in sorted(_sources(lab).items())),
            *sorted(texts.items()),
        ]
    )


def _sources(lab: Lab) -> dict[str, Path]:
    return {name: path for name, path in _files(lab.folder, "**/*").items() if name != "variants.py"}


# ---------------------------------------------------------------------------------- code


def modules_of(lab: Lab) -> tuple[str, ...]:
    """The modules of this project that grading a lab begins with: the engine, the lab's exercises, and what its
    notebooks and known mistakes import. :func:`version` follows them further.

    Raises:
        CourseError: the lab has not been built.
    """
    cells = (*lab.release().cells, *lab.source().cells)
    texts = [cell.source for cell in cells if runs_in_grading(cell)]
    notebook = f"{lab.name}.py"  # its cells are there already, without those that grading leaves out
    files = (path for name, path in _sources(lab).items() if name.endswith(".py") and name != notebook)
    texts += [path.read_text("utf-8") for path in files]
    found = {name for text in texts for name in _imported(text) if name.partition(".")[0] in _PACKAGES}
    return (_ENGINE, f"course_utils.exercises.{lab.slug}", *sorted(found))


@cache
def version(modules: tuple[str, ...]) -> str:
    """The project's version and a fingerprint of these modules and of all that they import, as one text.

    Imports inside functions count. Those by a computed name do not: so a lab's grades depend on no other lab's
    exercises, unless its own import them. A module's data files are those in ``course_utils`` that it names.
    """
    files = _reached(modules)
    texts = [path.read_text("utf-8") for path in files.values()]
    data = {
        name: path
        for name, path in _files(_PACKAGES["course_utils"], "**/*", prefix="course_utils/").items()
        if path.suffix != ".py" and any(path.name in text for text in texts)
    }
    parts = [(name, _digest(path)) for name, path in sorted((files | data).items())]
    return f"{metadata.version('transformer-labs')}+{_combined(parts)[:12]}"


def _reached(modules: Iterable[str]) -> dict[str, Path]:
    """Relative name -> file, of modules of this project, the packages that they are in, and all that they import."""
    inside = _files(_PACKAGES["grader"] / "sandbox/inside", "*.py", prefix="grader/sandbox/inside/")
    found = dict(inside)  # the sandbox starts them by their path, not by an import
    waiting = [*modules, *(name for path in inside.values() for name in _imported(path.read_text("utf-8")))]
    seen = set()
    while waiting:
        name = waiting.pop()
        if name in seen:
            continue
        seen.add(name)
        package, *parts = name.split(".")
        if package not in _PACKAGES:
            continue
        if parts:
            waiting.append(name.rpartition(".")[0])  # Python imports it first
        place = _PACKAGES[package].joinpath(*parts)
        if path := next(filter(Path.is_file, (place / "__init__.py", place.with_suffix(".py"))), None):
            found[f"{package}/{path.relative_to(_PACKAGES[package]).as_posix()}"] = path
            waiting += _imported(path.read_text("utf-8"))
    return found


def _imported(source: str) -> Iterator[str]:
    """The modules that a text may import, by their full names; of ``from a import b``, ``a`` and ``a.b``."""
    try:
        tree = ast.parse(source)
    except SyntaxError:  # whoever runs it will say so
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


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
