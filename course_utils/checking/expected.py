"""What an exercise's outcomes are compared with, and ``expected.npz``: what the reference and the misconceptions produce at the public seed.

It lies beside each notebook, written by ``grader build``: arrays, and one JSON index with the words of the
misconceptions and the hints of each exercise. It is loaded without pickle.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import numpy as np

from course_utils.checking.exercise import PUBLIC_SEED, Exercise, Inputs
from course_utils.checking.outcome import Outcome, Problem
from course_utils.checking.wording import in_one_form

FILE_NAME = "expected.npz"


@dataclass(frozen=True)
class Misconception:
    """A known wrong answer: what the code does, and a hint for the learner who wrote it."""

    name: str
    title: str
    hint: str


class Lesson(NamedTuple):
    """What one small mistake in the reference would give: the kind of the mistake, a sentence, and a :func:`sketch` of the outcomes."""

    kind: str
    sentence: str
    outcomes: tuple[Outcome, ...]


@dataclass(frozen=True)
class Expected:
    """The inputs of each case's runs, the reference's outcomes, those of each misconception, and lessons.

    ``hidden`` is what goals are measured against. It is None where learners are: see :func:`for_learners`.

    ``given`` is known where learners are: an earlier exercise and a misconception of it -> the outcomes of this exercise's
    reference with that misconception in place (:mod:`course_utils.checking.given`).
    """

    inputs: tuple[list[Inputs], ...]
    reference: tuple[Outcome, ...]
    misconceptions: Mapping[Misconception, tuple[Outcome, ...]] = field(default_factory=dict)
    hidden: Mapping[str, np.ndarray] | None = None
    lessons: tuple[Lesson, ...] = ()
    given: Mapping[tuple[str, str], tuple[Outcome, ...]] = field(default_factory=dict)


SKETCHED = 96
"""A sketch of an array has this many of its values."""


def sketch(outcomes: Sequence[Outcome]) -> tuple[Outcome, ...]:
    """The same outcomes with a few values of each array, always from the same places; its shape becomes a part of its name."""
    return tuple(
        replace(
            outcome,
            runs=tuple(
                {f"{name} of shape {array.shape}": _drawn(array) for name, array in run.items()}
                for run in outcome.runs
            ),
        )
        for outcome in outcomes
    )


def _drawn(array: np.ndarray) -> np.ndarray:
    flat = array.ravel()
    if flat.size > SKETCHED:
        flat = flat[np.sort(np.random.default_rng(flat.size).choice(flat.size, SKETCHED, replace=False))]
    with np.errstate(over="ignore"):  # what is too large for float32 becomes infinite on both sides
        return flat.astype(np.float32) if flat.dtype == np.float64 else flat


def for_learners(exercise: Exercise, expected: Expected) -> Expected:
    """What may be handed out. Of an exercise with goals, that is the form of the reference's output, and the errors that
    misconceptions raise: their numbers would give away what is hidden.
    """
    if not exercise.goals:
        return replace(expected, hidden=None)
    form = tuple(
        replace(
            outcome,
            runs=tuple({name: np.zeros_like(array) for name, array in run.items()} for run in outcome.runs),
        )
        for outcome in expected.reference
    )
    raising = {
        each: outcomes
        for each, outcomes in expected.misconceptions.items()
        if all(outcome.problem for outcome in outcomes)
    }
    return Expected(expected.inputs, form, raising)


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
            "lessons": [
                [
                    each.kind,
                    each.sentence,
                    _put_lesson(arrays, f"{key}/lesson {number}", each, sketch(expected.reference)),
                ]
                for number, each in enumerate(expected.lessons)
            ],
            "given": [
                [
                    *piece,
                    _put_what_differs(arrays, f"{key}/given/{'/'.join(piece)}", outcomes, expected.reference),
                ]
                for piece, outcomes in expected.given.items()
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
        raise LookupError(f"{FILE_NAME} belongs to another version of this lab. Get the lab's folder again.")
    inputs = tuple(case.runs(key, PUBLIC_SEED) for case in exercise.cases)
    return replace(_taken(arrays, key, entry), inputs=inputs)


def load_outcomes(path: Path) -> tuple[dict[str, Expected], dict[str, list[Hint]]]:
    """All that :func:`save_expected` wrote: exercise -> what is expected, without its inputs; exercise -> its hints.

    Raises:
        LookupError: the file is missing or damaged; the message says so.
    """
    index, arrays = _load(path)
    try:
        expected = {key: _taken(arrays, key, entry) for key, entry in index.items()}
        return expected, {key: [Hint(*hint) for hint in entry["hints"]] for key, entry in index.items()}
    except (KeyError, TypeError, ValueError) as error:
        raise LookupError(f"{FILE_NAME} cannot be read ({error!r}). Get the lab's folder again.") from None


def _taken(arrays: dict[str, np.ndarray], key: str, entry: dict) -> Expected:
    misconceptions = {
        Misconception(name, title, hint): _take(arrays, f"{key}/{name}", outcomes)
        for name, title, hint, outcomes in entry["misconceptions"]
    }
    reference = _take(arrays, f"{key}/reference", entry["reference"])
    lessons = tuple(
        Lesson(kind, words, _take_lesson(arrays, f"{key}/lesson {number}", outcomes, sketch(reference)))
        for number, (kind, words, outcomes) in enumerate(entry.get("lessons", []))
    )
    given = {
        (earlier, name): _take_what_differs(arrays, f"{key}/given/{earlier}/{name}", outcomes, reference)
        for earlier, name, outcomes in entry.get("given", ())
    }
    return Expected((), reference, misconceptions, lessons=lessons, given=given)


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
    return read_index(arrays.pop("index")), arrays


def read_index(words: np.ndarray) -> dict:
    """What the array ``index`` of such a file says, by exercise. Messages are in one form, whichever Python raised the exceptions."""
    return json.loads(words.tobytes(), object_hook=_in_one_form)


def _in_one_form(entry: dict) -> dict:
    if problem := entry.get("problem"):
        entry["problem"] = [problem[0], in_one_form(problem[1]), *problem[2:]]
    return entry


def _put(arrays: dict[str, np.ndarray], prefix: str, outcomes: tuple[Outcome, ...]) -> list[dict]:
    entries = []
    for case, outcome in enumerate(outcomes):
        for run, named in enumerate(outcome.runs):
            arrays |= {f"{prefix}/{case}/{run}/{name}": array for name, array in named.items()}
        problem = outcome.problem and [outcome.problem.kind, in_one_form(outcome.problem.message)]
        if problem and outcome.problem.kind == "gradient" and outcome.problem.run:
            problem += ["", outcome.problem.run]  # it is missing for some inputs only
        names = [list(named) for named in outcome.runs]
        entries.append({"runs": names, "problem": problem, "changed": list(outcome.changed_inputs)})
    return entries


def _put_lesson(
    arrays: dict[str, np.ndarray], prefix: str, lesson: Lesson, reference: Sequence[Outcome]
) -> list[dict | None]:
    """Like :func:`_put`, with None in place of an outcome that is exactly the reference's."""
    own: dict[str, np.ndarray] = {}
    entries = []
    for case, (entry, outcome) in enumerate(
        zip(_put(own, prefix, lesson.outcomes), lesson.outcomes, strict=True)
    ):
        if _identical(outcome, reference[case]):
            entries.append(None)
        else:
            entries.append(entry)
            arrays |= {name: array for name, array in own.items() if name.startswith(f"{prefix}/{case}/")}
    return entries


def _take_lesson(
    arrays: dict[str, np.ndarray], prefix: str, entries: list[dict | None], reference: Sequence[Outcome]
) -> tuple[Outcome, ...]:
    empty = {"runs": [], "problem": None, "changed": []}
    found = _take(arrays, prefix, [entry or empty for entry in entries])
    return tuple(reference[case] if entry is None else found[case] for case, entry in enumerate(entries))


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


def _put_what_differs(
    arrays: dict[str, np.ndarray], prefix: str, outcomes: tuple[Outcome, ...], others: tuple[Outcome, ...]
) -> list[dict | None]:
    """Like :func:`_put`, but smaller: None for each case whose values are those of the other outcomes, and short floats."""
    entries = _put(scratch := {}, prefix, outcomes)
    for case, (outcome, other) in enumerate(zip(outcomes, others, strict=True)):
        if _identical(outcome, other):
            entries[case] = None
        else:
            arrays |= {
                name: array.astype(np.float32)
                if array.dtype == np.float64
                else array  # far closer than is asked for
                for name, array in scratch.items()
                if name.startswith(f"{prefix}/{case}/")
            }
    return entries


def _take_what_differs(
    arrays: dict[str, np.ndarray], prefix: str, entries: list[dict | None], others: tuple[Outcome, ...]
) -> tuple[Outcome, ...]:
    taken = _take(
        arrays, prefix, [entry or {"runs": [], "problem": None, "changed": []} for entry in entries]
    )
    return tuple(
        outcome if entry else other for entry, outcome, other in zip(entries, taken, others, strict=True)
    )


def _identical(outcome: Outcome, other: Outcome) -> bool:
    if outcome.problem or other.problem or outcome.changed_inputs != other.changed_inputs:
        return False
    return [[*run] for run in outcome.runs] == [[*run] for run in other.runs] and all(
        array.dtype == beside[name].dtype
        and array.shape == beside[name].shape
        and array.tobytes() == beside[name].tobytes()
        for run, beside in zip(outcome.runs, other.runs, strict=True)
        for name, array in run.items()
    )
