"""What has already been graded: fingerprints of everything that a grade depends on, and what is left to do.

A submission's *marker* is in the gradebook and is written in the same transaction as its scores. If a run is killed,
at whatever point, some submissions therefore have both scores and marker and the others have neither, and the next
run continues with those.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import Enum
from functools import cache
from importlib import metadata
from pathlib import Path

from course_utils.labs import INFO_NAME
from course_utils.quiz import FILE_NAME as QUIZ
from grader.book.marker import Marker
from grader.files import REASON_FILE
from grader.imports import PACKAGES, data_of, files_in, imported, reached
from grader.people.shared import together_in
from grader.receive.beside import NOT_TAKEN
from grader.receive.handed_in import combined, digest, fingerprint_of_files, fingerprint_of_submission
from grader.reference.follow import FollowThrough
from grader.reference.lab import SETTINGS, Lab, runs_in_grading
from grader.run.states import Runner

_FOR_LEARNERS = (INFO_NAME, QUIZ)  # files of a lab on which no grade depends
_ENGINE = ("grader.grade.work", "grader.run.notebook")  # everything in grading except entering the results


class Again(Enum):
    """Which submissions that were graded before are graded again."""

    CHANGED = "those for which anything changed that grading depends on"
    NEW = "those that were handed in again"
    ALL = "all"


def sort_out(
    lab: Lab, folders: Sequence[Path], markers: Mapping[str, Marker], fingerprint: str, again: Again
) -> tuple[list[Path], dict[str, Marker]]:
    """The submissions that are left to grade, and the markers of those that are not, by student.

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
    return digest(graded) == marker.notebook and fingerprint_of_submission(lab, folder) == marker.handed_in


# ---------------------------------------------------------------------------------- fingerprints


def copies(lab: Lab, folders: Sequence[Path]) -> tuple[list[Path], dict[Path, list[tuple[Path, str]]]]:
    """The submissions that are to be graded, one of each team's work; and for each of them all others that are copies of it, with
    their fingerprints.
    """
    first: dict[tuple[str, str], Path] = {}
    found: dict[Path, list[tuple[Path, str]]] = {}
    for folder in folders:
        if together := together_in(folder):
            handed_in = fingerprint_of_submission(lab, folder)
            key = together.work, fingerprint_of_files(lab, folder, (REASON_FILE, NOT_TAKEN))
            if (one := first.setdefault(key, folder)) != folder:
                found.setdefault(one, []).append((folder, handed_in))
    others = {folder for group in found.values() for folder, _ in group}
    return [folder for folder in folders if folder not in others], found


def fingerprint_of_lab(lab: Lab, seed: int, runner: Runner) -> str:
    """SHA-256 of everything else that a grade depends on: release, solution, misconceptions, checks, seed, limits and the code involved. It
    includes the share of the points for what is right given an earlier mistake. A field of the runner that must not count is declared with
    ``repr=False``.
    """
    release = {
        name: path for name, path in files_in(lab.release_folder, "*").items() if name not in _FOR_LEARNERS
    }
    texts = {
        "seed": str(seed),
        "runner": repr(runner),
        "code": version(modules_of(lab)),
        "share": repr(FollowThrough.share_of(lab.course)),
    }
    return combined(
        [
            *((f"release/{name}", digest(path)) for name, path in sorted(release.items())),
            *((f"source/{name}", digest(path)) for name, path in sorted(_sources(lab).items())),
            *sorted(texts.items()),
        ]
    )


def _sources(lab: Lab) -> dict[str, Path]:
    files = files_in(lab.folder, "**/*")
    return {
        name: path for name, path in files.items() if name not in ("variants.py", SETTINGS, *_FOR_LEARNERS)
    }


# ---------------------------------------------------------------------------------- code


def modules_of(lab: Lab) -> tuple[str, ...]:
    """The modules of this project that grading a lab starts from: the engine, and what the lab's notebooks, exercises and
    misconceptions import. :func:`version` follows their imports further.

    Raises:
        CourseError: the lab has not been built.
    """
    cells = (*lab.release().cells, *lab.source().cells)
    texts = [cell.source for cell in cells if runs_in_grading(cell)]
    notebook = f"{lab.name}.py"  # its cells are already in ``texts``, without those that grading leaves out
    files = (path for name, path in _sources(lab).items() if name.endswith(".py") and name != notebook)
    texts += [path.read_text("utf-8") for path in files]
    found = {name for text in texts for name in imported(text) if name.partition(".")[0] in PACKAGES}
    return (*_ENGINE, *sorted(found))


@cache
def version(modules: tuple[str, ...]) -> str:
    """The project's version and a fingerprint of these modules and of everything that they import, as one text.

    Imports inside functions count. Imports by a computed name do not, so a lab's grades do not depend on another lab's
    exercises unless its own exercises import them. A module's data files are those in ``course_utils`` that it names.
    """
    inside = files_in(PACKAGES["grader"] / "sandbox/inside", "*.py", prefix="grader/sandbox/inside/")
    texts = [
        path.read_text("utf-8") for path in inside.values()
    ]  # the sandbox starts them by path, not by import
    files = inside | reached([*modules, *(name for text in texts for name in imported(text))])
    parts = [(name, digest(path)) for name, path in sorted((files | data_of(files)).items())]
    return f"{metadata.version('transformer-labs')}+{combined(parts)[:12]}"
