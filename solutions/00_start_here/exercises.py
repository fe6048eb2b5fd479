"""Lab 00: the softmax, and with it how a check works."""

from __future__ import annotations

import numpy as np

from course_utils.cases.properties import normal, together
from course_utils.checking.exercise import Case, Exercise, Inputs, Outputs, Run


def rows_sum_to_one(inputs: Inputs, outputs: Outputs) -> np.ndarray:
    """Along the chosen axis the results sum to 1."""
    return np.isclose(outputs["probabilities"].sum(axis=inputs.get("axis", -1)), 1, atol=1e-4)


def never_negative(inputs: Inputs, outputs: Outputs) -> np.ndarray:
    """No result is negative."""
    return ~(outputs["probabilities"] < 0)  # NaN is the business of the values' own check


def shift_changes_nothing(runs: list[Run]) -> np.ndarray:
    """Adding the same number to all scores changes nothing."""
    (_, plain), (_, shifted) = runs
    return np.isclose(plain["probabilities"], shifted["probabilities"], atol=1e-4)


def _shifted(rng: np.random.Generator) -> list[Inputs]:
    scores = normal(rng, 3, 4)
    return [{"scores": scores}, {"scores": scores + 7.5}]


def _sixteenths(rng: np.random.Generator, *shape: int) -> np.ndarray:
    return rng.integers(-80, 81, shape) / 16  # exact in float32 too, so that nobody loses by its rounding


def _whole_numbers(rng: np.random.Generator) -> Inputs:
    scores = rng.integers(-5, 6, (3, 4))
    scores[scores.sum(axis=-1) == 0, 0] += 1  # code that divides by the sum must not divide by 0
    return {"scores": scores}


def _far_apart(rng: np.random.Generator) -> Inputs:
    """Only the largest score of each row, wherever it stands, keeps all exponentials of the row within bounds."""
    scores = _sixteenths(rng, 3, 5)
    for row, (high, low) in enumerate(([[1, 3], [2]], [[0, 2], [1, 3]], [[4], [0]])):
        scores[row, high] += 900
        scores[row, low] -= 900
    return {"scores": scores}


def _one_far_above(rng: np.random.Generator) -> Inputs:
    """One score of each row gets everything. A logarithm of the sum loses nothing here, however it is rounded."""
    scores = _sixteenths(rng, 2, 5)
    scores[[0, 1], rng.integers(5, size=2)] += 40_000
    scores[1] -= 60_000
    return {"scores": scores}


softmax = Exercise(
    name="softmax",
    returns=("probabilities",),
    cases=(
        Case("a single row of 5 scores", lambda rng: {"scores": normal(rng, 5, scale=2)}),
        Case(
            "a table (3, 4); one of whole numbers; one of a single row, (1, 4)",
            together(
                lambda rng: {"scores": normal(rng, 3, 4, scale=2)},
                _whole_numbers,
                lambda rng: {"scores": normal(rng, 1, 4, scale=2)},
            ),
        ),
        Case("a batch of shape (2, 3, 5)", lambda rng: {"scores": normal(rng, 2, 3, 5)}),
        Case(
            "axis=0, the first axis: of a table, of a batch, of a single row",
            together(
                lambda rng: {"scores": normal(rng, 3, 4), "axis": 0},
                lambda rng: {"scores": normal(rng, 2, 3, 5), "axis": 0},
                lambda rng: {"scores": normal(rng, 5), "axis": 0},
                lambda rng: {"scores": normal(rng, 1, 4), "axis": 0},
            ),
        ),
        Case(
            "axis=1, then axis=-2: the middle axis of a batch",
            together(
                lambda rng: {"scores": normal(rng, 2, 3, 5), "axis": 1},
                lambda rng: {"scores": normal(rng, 2, 3, 5), "axis": -2},
            ),
        ),
        Case(
            "other axes: -2 of a table, 2 and -3 of a batch, 1 of four",
            together(
                lambda rng: {"scores": normal(rng, 3, 4), "axis": -2},
                lambda rng: {"scores": normal(rng, 2, 3, 5), "axis": 2},
                lambda rng: {"scores": normal(rng, 2, 3, 5), "axis": -3},
                lambda rng: {"scores": normal(rng, 2, 3, 4, 5), "axis": 1},
            ),
        ),
        Case(
            "scores around 1000; then scores around -1000",
            together(
                lambda rng: {"scores": 1000 + _sixteenths(rng, 2, 4)},
                lambda rng: {"scores": -1000 + _sixteenths(rng, 2, 4)},
            ),
        ),
        Case(
            "one row around 1000, another around -1000",
            lambda rng: {"scores": np.array([[1000.0], [-1000.0]]) + _sixteenths(rng, 2, 4)},
        ),
        Case(
            "scores around 900 and -900 in each row; then one far above the others",
            together(_far_apart, _one_far_above),
        ),
        Case("a row, and the same row plus 7.5", _shifted, shift_changes_nothing),
    ),
    properties=(rows_sum_to_one, never_negative),
    bypasses=(
        "course_utils.maths.softmax",  # there for later labs
        "course_utils.plots.attention.softmax",
        "keras.activations.softmax",
        "keras.layers.Softmax",
        "keras.ops.softmax",
        "scipy.special.softmax",
        "tensorflow.math.softmax",
        "tensorflow.nn.softmax",
        "torch.nn.Softmax",
        "torch.nn.functional.softmax",
        "torch.softmax",
        "torch.special.softmax",
    ),
)
