"""Answers that take no work: a constant, or an input as it is. None of them may earn points."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from course_utils.checking.exercise import Inputs
from course_utils.checking.expected import Expected
from course_utils.checking.outcome import Outcome
from grader.reference.lab import Lab

FOR_NOTHING = 0.1
"""The largest share of an exercise's points that an answer without any work may earn."""


def answers_for_nothing(
    lab: Lab, key: str, seed: int, expected: Expected, elsewhere: Expected
) -> Iterator[tuple[str, tuple[Outcome, ...]]]:
    """Answers that take no work, described in words, and their outcomes, which have the reference's shapes and kinds.

    Args:
        elsewhere: what is expected at another seed. If every element of a run's answer is the same number there, that number
            is tried as a constant here.
    """
    exercise = lab.exercises[key]
    constants: list[dict[str, Any]] = [dict.fromkeys(exercise.returns, number) for number in (0, 1, -1)]
    for outcome in elsewhere.reference:
        for run in outcome.runs:
            if all(array.size and (array == array.flat[0]).all() for array in run.values()):
                constants.append({name: array.flat[0] for name, array in run.items()})
    for constant in constants:
        numbers = ", ".join(f"{float(number):g}" for number in dict.fromkeys(constant.values()))
        yield (
            f"nothing but {numbers}",
            _made(expected, lambda name, array, inputs, by=constant: np.full_like(array, by.get(name, 0))),
        )
    for given in dict.fromkeys(name for runs in expected.inputs for run in runs for name in _arrays(run)):

        def taken(name: str, array: np.ndarray, inputs: Inputs, given: str = given) -> np.ndarray:
            value = _arrays(inputs).get(given)
            fits = value is not None and value.shape == array.shape
            return value.astype(array.dtype) if fits else np.zeros_like(array)

        yield f"the input `{given}` as it is", _made(expected, taken)
    for number, given in enumerate(
        expected.inputs[0][0]
    ):  # through the exercise's call, which makes arrays of lists
        yield f"the argument `{given}` returned", lab.outcomes(key, _returning(number), seed)


def _returning(number: int) -> Callable[..., Any]:
    return lambda *values, **named: [*values, *named.values()][number]


def _made(expected: Expected, make: Callable[[str, np.ndarray, Inputs], np.ndarray]) -> tuple[Outcome, ...]:
    """Outcomes in which each array of the reference is replaced by one made from it and the inputs."""
    return tuple(
        Outcome(
            tuple(
                {name: make(name, array, inputs) for name, array in run.items()}
                for run, inputs in zip(outcome.runs, runs, strict=True)
            )
        )
        for outcome, runs in zip(expected.reference, expected.inputs, strict=True)
    )


def _arrays(inputs: Inputs) -> dict[str, np.ndarray]:
    """The arrays among the inputs, including those inside dicts, by the last part of their name."""
    found: dict[str, np.ndarray] = {}
    for name, value in inputs.items():
        if isinstance(value, Mapping):
            found |= _arrays(value)
        elif isinstance(value, np.ndarray):
            found[name] = value
    return found
