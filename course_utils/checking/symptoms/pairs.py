"""An array that differs from the expected one, with what belongs to it, and what every look at it needs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from course_utils.checking.exercise import Exercise, Inputs
from course_utils.checking.expected import Expected
from course_utils.checking.outcome import Outcome

_LARGE = 2**18
"""Arrays with more values than that are not looked at, unless what is expected is large too."""

Found = tuple[str, str]
"""The name of a symptom, and its sentence about ``{it}``."""


class Pair(NamedTuple):
    """An array that differs from the expected one, and what belongs to it."""

    case: int
    got: np.ndarray
    wanted: np.ndarray
    same: Callable[[Any, Any], bool]
    wrong: np.ndarray | None  # where it differs; None if the shapes do
    inputs: Mapping[str, Any]
    others: Mapping[str, np.ndarray]  # what is expected under other names


def wrong_pairs(
    exercise: Exercise, outcomes: Sequence[Outcome], expected: Expected, failing: Sequence[int]
) -> dict[str, list[Pair]]:
    """Output -> its arrays that differ from the expected ones, in the order of the cases."""
    same = partial(same_array, exercise)
    found: dict[str, list[Pair]] = {}
    for case in failing:
        outcome, reference = outcomes[case], expected.reference[case]
        if outcome.problem or not len(outcome.runs) == len(reference.runs) == len(expected.inputs[case]):
            continue
        for got, wanted, inputs in zip(outcome.runs, reference.runs, expected.inputs[case], strict=True):
            if set(got) != set(wanted):
                continue
            flat = dict(by_last_name(inputs))
            for name, array in wanted.items():
                too_large = got[name].size > max(4 * array.size, _LARGE)
                if too_large or name in exercise.shown:  # sums of letters say nothing
                    continue
                alike = got[name].shape == array.shape and (got[name].dtype.kind == "b") == (
                    array.dtype.kind == "b"
                )
                wrong = ~close(exercise, got[name], array) if alike else None
                if wrong is None or wrong.any():
                    others = {other: each for other, each in wanted.items() if other != name}
                    found.setdefault(name, []).append(Pair(case, got[name], array, same, wrong, flat, others))
    return {name: found[name] for name in exercise.returns if name in found}


def same_array(exercise: Exercise, got: Any, wanted: Any) -> bool:
    """Whether two arrays have the same shape, and count as equal everywhere."""
    return np.shape(got) == np.shape(wanted) and bool(close(exercise, got, wanted).all())


def close(exercise: Exercise, got: Any, wanted: Any) -> np.ndarray:
    """Where two arrays count as equal."""
    got, wanted = np.asarray(got), np.asarray(wanted)
    if "f" in (got.dtype.kind, wanted.dtype.kind):
        return np.isclose(
            got.astype(float), wanted.astype(float), rtol=exercise.rtol, atol=exercise.atol, equal_nan=True
        )
    return np.asarray(got == wanted)


def by_last_name(inputs: Inputs) -> Iterator[tuple[str, Any]]:
    """The inputs by the last part of their name, those inside dicts too."""
    for name, value in inputs.items():
        if isinstance(value, Mapping):
            yield from by_last_name(value)
        elif isinstance(name, str):
            yield name, value


def as_array(value: Any) -> np.ndarray | None:
    """Numbers or booleans as an array, of a tensor, too; None if it is neither."""
    if hasattr(value, "detach"):
        value = value.detach().cpu()
    if hasattr(value, "numpy"):
        value = value.numpy()
    if isinstance(value, np.ndarray) and value.dtype.kind in "bifu":
        return value
    return None


def as_numbers(pair: Pair) -> tuple[np.ndarray, np.ndarray]:
    """Both arrays as floats.

    Raises:
        ValueError: their shapes differ, they hold booleans, or something that is not finite.
    """
    got, wanted = pair.got, pair.wanted
    if got.shape != wanted.shape or "b" in (got.dtype.kind, wanted.dtype.kind) or not got.size:
        raise ValueError
    got, wanted = got.astype(float), wanted.astype(float)
    if not (np.isfinite(got).all() and np.isfinite(wanted).all()):
        raise ValueError
    return got, wanted


def same_set(pair: Pair) -> bool:
    """Whether two arrays have the same numbers, in whatever order."""
    got, wanted = np.sort(pair.got, axis=None), np.sort(pair.wanted, axis=None)
    return pair.got.dtype.kind != "b" and len(np.unique(wanted)) > 2 and pair.same(got, wanted)


def evidence(pairs: Sequence[Pair]) -> int:
    """How many different numbers, other than 0, are expected: of a single one, anything may be said."""
    return len(np.unique(np.concatenate([pair.wanted[pair.wanted != 0].astype(float) for pair in pairs])))


def axis_in_words(axis: int, of: int) -> str:
    """An axis counted from the end, of so many, in words. The first one may be the entries of a list."""
    return {-1: "the last axis", -2: "the last axis but one", -of: "the first axis"}.get(axis, f"axis {axis}")


def number_in_words(value: float) -> str:
    """A number with three digits."""
    return f"{value:.3g}"
