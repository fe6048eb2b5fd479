"""``expected.npz``: what the reference and the misconceptions produce at the public seed.

It lies beside each notebook, written by ``grader build``: arrays, and one JSON index with the words of the
misconceptions and the hints of each exercise. It is loaded without pickle.
"""

from __future__ import annotations

import json
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import numpy as np

from course_utils.checking.comparison import Expected, Misconception
from course_utils.checking.exercise import PUBLIC_SEED, Exercise
from course_utils.checking.outcome import Outcome, Problem

FILE_NAME = "expected.npz"


class Hint(NamedTuple):
    """A hint of an exercise: what it is about (may be empty), and its text in Markdown."""

    title: str
    text: str


def save_expected(path: Path, exercises: dict[str, Expected], hints: dict[str, list[Hint]]) -> None:
    """Writes the expected outcomes and the hints of a lab's exercises (key -> Expected, key -> its hints in order)."""
    arrays: dict[str, np.ndarray] = {}
    index: dict[str, dict] = {}
    for key, expected in exercises.items():
        index[key] = {
            "reference": _put(arrays, f"{key}/reference", expected.reference),
            "misconceptions": [
                [each.name, each.title, each.hint, _put(arrays, f"{key}/{each.name}", outcomes)]
                for each, outcomes in expected.misconceptions.items()
            ],
            "hints": hints.get(key, []),
        }
    words = np.frombuffer(json.dumps(index, sort_keys=True).encode(), np.uint8)
    np.savez_compressed(path, index=words, **arrays)


def load_expected(path: Path, key: str, exercise: Exercise) -> Expected:
    """The expected outcomes of one exercise.

    Raises:
        LookupError: the file is missing, damaged, or from another version of the lab; the message says which.
    """
    index, arrays = _load(path)
    entry = index.get(key)
    if entry is None or len(entry["reference"]) != len(exercise.cases):
        raise LookupError(f"{FILE_NAME} is of another version of this lab. Get the lab's folder again.")
    inputs = tuple(case.runs(key, PUBLIC_SEED) for case in exercise.cases)
    misconceptions = {
        Misconception(name, title, hint): _take(arrays, f"{key}/{name}", outcomes)
        for name, title, hint, outcomes in entry["misconceptions"]
    }
    return Expected(inputs, _take(arrays, f"{key}/reference", entry["reference"]), misconceptions)


def load_hints(path: Path, key: str) -> list[Hint]:
    """The hints of one exercise, in order.

    Raises:
        LookupError: the file is missing or damaged; the message says so.
    """
    return [Hint(*hint) for hint in _load(path)[0].get(key, {}).get("hints", [])]


def _load(path: Path) -> tuple[dict, dict[str, np.ndarray]]:
    try:
        return _read(path, path.stat().st_mtime_ns)
    except FileNotFoundError:
        raise LookupError(
            f"{FILE_NAME} is not in this notebook's folder ({path.parent}). It comes with the lab: get the "
            "lab's folder again, or open the notebook from inside it."
        ) from None
    except Exception as error:
        raise LookupError(f"{FILE_NAME} cannot be read ({error}). Get the lab's folder again.") from None


@lru_cache(maxsize=4)
def _read(path: Path, modified: int) -> tuple[dict, dict[str, np.ndarray]]:
    with np.load(path, allow_pickle=False) as file:
        arrays = {name: file[name] for name in file.files}
    return json.loads(arrays.pop("index").tobytes()), arrays


def _put(arrays: dict[str, np.ndarray], prefix: str, outcomes: tuple[Outcome, ...]) -> list[dict]:
    entries = []
    for case, outcome in enumerate(outcomes):
        for run, named in enumerate(outcome.runs):
            arrays |= {f"{prefix}/{case}/{run}/{name}": array for name, array in named.items()}
        problem = outcome.problem and [outcome.problem.kind, outcome.problem.message]
        names = [list(named) for named in outcome.runs]
        entries.append({"runs": names, "problem": problem, "changed": list(outcome.changed_inputs)})
    return entries


def _take(arrays: dict[str, np.ndarray], prefix: str, entries: list[dict]) -> tuple[Outcome, ...]:
    return tuple(
        Outcome(
            tuple(
                {name: arrays[f"{prefix}/{case}/{run}/{name}"] for name in names}
                for run, names in enumerate(entry["runs"])
            ),
            entry["problem"] and Problem(*entry["problem"]),
            tuple(entry["changed"]),
        )
        for case, entry in enumerate(entries)
    )
