"""What a lab promises about the network that its notebook trains, and the record that it kept its promise.

A solved notebook that trains for minutes is not run in every full run of the tests. It is run once for each version of
whatever its training depends on; the figures that it printed are kept in the lab's folder, with a fingerprint of that version.
"""

from __future__ import annotations

import ast
import hashlib
import json
import re
from dataclasses import asdict, dataclass
from importlib.metadata import packages_distributions
from pathlib import Path

from packaging.utils import canonicalize_name

from grader.course import CourseError, text_of
from grader.imports import code_of, data_of, imported, reached
from grader.reference.lab import SETTINGS, Lab, checked_exercise, line_of

FILE_NAME = "training.json"

LOCK = "requirements.txt"

_NO_PART_IN_TRAINING = tuple(
    f"course_utils/{name}"
    for name in (
        "cases/",
        "checking/",
        "exercises/",
        "own_code/",
        "plots/",
        "widgets/",
        "display.py",
        "environment.py",
        "labs.py",
        "progress.py",
        "quiz.py",
        "start_page.py",
    )
)
"""Code that checks, draws, or counts a learner's progress: after a change there, nothing has to be trained again."""

PICTURE_TAG = "picture"
"""The tag of a cell that only shows a picture of the course's own; see :func:`only_draws`."""

_PICTURES = ("course_utils.plots.", "course_utils.widgets.")


@dataclass(frozen=True)
class Promise:
    """A score that the solved notebook prints.

    Attributes:
        of: what the score measures, in a few words.
        line: a regular expression with one group, which finds the score in what the notebook prints.
        least: the lowest value that keeps the promise.
    """

    of: str
    line: str
    least: float


@dataclass(frozen=True)
class Record:
    """What a solved notebook printed when it was last run in full.

    Attributes:
        fingerprint: of everything that its training depended on, see :func:`fingerprint`.
        figures: ``of`` of each promise -> the score.
    """

    fingerprint: str
    figures: dict[str, float]


def promises(lab: Lab) -> list[Promise]:
    """What ``lab.toml`` promises under ``[[promises]]``. This is nothing if the notebook does not train for long.

    Raises:
        CourseError: an entry is not as it should be.
    """
    found = []
    file = lab.folder / SETTINGS
    for values in lab.settings.get("promises", []):
        where = f"{file}:{line_of(file, '[[promises]]')}"
        try:
            promise = Promise(**values)
            groups = re.compile(promise.line).groups
        except (TypeError, re.error) as error:
            raise CourseError(
                f"{where}: a promise has `of`, a regular expression `line`, and `least`: {error}"
            ) from None
        if groups != 1:
            raise CourseError(
                f"{where}: the line of {promise.of!r} needs one group, the score; it has {groups}."
            )
        found.append(promise)
    return found


def figures(lab: Lab, printed: str) -> dict[str, float]:
    """The promised scores, as the notebook printed them.

    Raises:
        CourseError: it did not print one of them.
    """
    found = {}
    for promise in promises(lab):
        score = re.search(promise.line, printed, re.MULTILINE)
        if not score:
            raise CourseError(
                f"{lab.name}: its notebook does not print {promise.of!r}, which {SETTINGS} promises."
            )
        found[promise.of] = float(score.group(1))
    return found


def broken(lab: Lab, scores: dict[str, float]) -> list[str]:
    """One sentence for each promise that these scores do not keep."""
    return [
        f"{lab.name}: {promise.of}: {scores[promise.of]:g}, and {promise.least:g} is promised."
        for promise in promises(lab)
        if scores[promise.of] < promise.least
    ]


def complaints(lab: Lab) -> list[str]:
    """Why the record does not prove what the lab promises; empty if it does."""
    if not promises(lab):
        return []
    again = f"Run `make timings ARGS='-k {lab.name}'`, which trains it, and commit the file."
    file = lab.folder / FILE_NAME
    try:
        record = Record(**json.loads(text_of(file)))
    except FileNotFoundError:
        return [f"{file} is missing: it records that the lab keeps its promises. {again}"]
    except (ValueError, TypeError) as error:
        return [f"{file} cannot be read ({error}). {again}"]
    if record.fingerprint != fingerprint(lab):
        return [f"{file} is stale: what the training depends on has changed since. {again}"]
    if set(record.figures) != {promise.of for promise in promises(lab)}:
        return [f"{file} has figures of other promises than {SETTINGS}. {again}"]
    return broken(lab, record.figures)


def keep_record(lab: Lab, scores: dict[str, float]) -> None:
    """Writes down what the notebook printed."""
    record = Record(fingerprint(lab), scores)
    (lab.folder / FILE_NAME).write_text(json.dumps(asdict(record), indent=1) + "\n", "utf-8")


def fingerprint(lab: Lab) -> str:
    """SHA-256 of everything that the training depends on. That is the code of the solved notebook without its checks and pictures, the course's
    code and data that it imports, and the locked versions of the packages. Comments, docstrings, layout
    and the cells that the build adds do not count.
    """
    cells = [
        cell.source
        for cell in lab.as_written().cells
        if cell.cell_type == "code"
        and checked_exercise(cell) is None
        and not (PICTURE_TAG in cell.metadata.get("tags", []) and only_draws(cell.source))
    ]
    modules = {name for cell in cells for name in imported(cell)}
    files = {
        name: path for name, path in reached(modules).items() if not name.startswith(_NO_PART_IN_TRAINING)
    }
    digest = hashlib.sha256()
    for cell in cells:
        digest.update(code_of(cell))
    for name, path in sorted(files.items()):
        digest.update(name.encode() + code_of(path.read_text("utf-8")))
    for name, path in sorted(data_of(files).items()):
        digest.update(name.encode() + path.read_bytes())
    texts = [*cells, *(path.read_text("utf-8") for path in files.values())]
    packages = {name.partition(".")[0] for text in texts for name in imported(text)}
    digest.update("\n".join(_locked(lab.course.root / LOCK, packages)).encode())
    return digest.hexdigest()


def only_draws(code: str) -> bool:
    """Whether a cell does nothing but import what draws (``course_utils.plots``, ``.widgets``) and call it with constants."""
    names: set[str] = set()
    for statement in ast.parse(code).body:
        match statement:
            case ast.ImportFrom(module=str(module)) if module.startswith(_PICTURES):
                names |= {alias.asname or alias.name for alias in statement.names}
            case ast.Expr(value=ast.Call(func=ast.Name(id=name), args=given, keywords=options)):
                if name not in names or not all(
                    isinstance(each, ast.Constant) for each in (*given, *(option.value for option in options))
                ):
                    return False
            case _:
                return False
    return True


def _locked(lock: Path, packages: set[str]) -> list[str]:
    """The lines of a lock file for the packages that are imported by these names."""
    providers = packages_distributions()
    wanted = {canonicalize_name(each) for name in packages for each in providers.get(name, [])}
    lines = lock.read_text("utf-8").splitlines()
    return sorted(line for line in lines if canonicalize_name(line.partition("==")[0]) in wanted)
