"""The rule for "the same values" forgives what processors do to numbers, and nothing that a check can tell."""

from __future__ import annotations

import numpy as np
import pytest
from project import LABS

from course_utils.checking.checks import difference
from course_utils.checking.exercise import Case, Exercise
from course_utils.checking.expected import FILE_NAME, load_outcomes
from course_utils.checking.outcome import Outcome, Problem
from course_utils.checking.rounding import same_array, same_outcome

EXERCISE = Exercise("answer", ("y",), (Case("a", dict),))


def same(one, other, exercise: Exercise = EXERCISE) -> bool:
    return same_array(exercise, np.asarray(one), np.asarray(other))


@pytest.mark.parametrize("size", [1e-3, 1.0, 4e3, 1e12])
def test_large_numbers_that_cancel_out_may_leave_their_own_rounding_near_zero(size):
    rng = np.random.default_rng(3)
    wanted = (size * rng.standard_normal((40, 30))).astype(np.float32)
    wanted[0, :7] = 0  # what is left of numbers that cancel out
    moved = wanted + (1e-6 * size * rng.uniform(-1, 1, wanted.shape)).astype(np.float32)
    assert same(moved, wanted) and same(wanted, moved)
    assert not same(wanted + max(np.float32(1e-3 * size), 2e-5), wanted)


def test_one_number_far_larger_than_the_others_excuses_none_of_them():
    scores = np.random.default_rng(4).standard_normal((6, 6))
    masked = np.where(np.triu(np.ones((6, 6)), 1) == 1, -1e9, scores)
    assert same(np.where(masked < -1e8, masked * (1 + 1e-7), masked), masked)
    assert not same(np.where(masked < -1e8, masked, masked + 1e-3), masked)


def test_each_exercise_has_the_tolerance_of_its_own_checks():
    exact = Exercise("answer", ("y",), (Case("a", dict),), rtol=1e-6, atol=0)
    assert same([1.00005], [1.0]) and not same([1.00005], [1.0], exact)


@pytest.mark.parametrize(
    "one, other",
    [
        ([1, 2], [1, 3]),
        ([True], [False]),
        ([1], [1.0]),
        ([[1.0]], [1.0]),
        ([np.nan, 1.0], [1.0, np.nan]),
        ([np.inf], [-np.inf]),
        ([np.inf], [1e300]),
        ([1e300], [np.inf]),
    ],
)
def test_whole_numbers_forms_and_what_is_no_number_are_exact(one, other):
    assert not same(one, other)
    assert same(one, one) and same(other, other)


def test_an_outcome_is_the_same_only_with_the_same_names_problem_and_changed_inputs():
    plain = Outcome(({"y": np.ones(2)},))
    assert same_outcome(EXERCISE, plain, Outcome(({"y": np.ones(2) + 1e-7},)))
    for other in (
        Outcome(({"z": np.ones(2)},)),
        Outcome(({"y": np.ones(2)}, {"y": np.ones(2)})),
        Outcome(({"y": np.ones(2)},), changed_inputs=("x",)),
        Outcome(problem=Problem("exception", "ValueError")),
    ):
        assert not same_outcome(EXERCISE, plain, other)


@pytest.mark.parametrize("name", LABS)
def test_the_rule_tells_apart_whatever_a_check_tells_apart_in_any_lab(labs, name):
    told = 0
    for key, expected in load_outcomes(labs[name].release_folder / FILE_NAME)[0].items():
        exercise = labs[name].exercises[key]
        for misconception, outcomes in expected.misconceptions.items():
            for case, (outcome, right) in enumerate(zip(outcomes, expected.reference, strict=True)):
                if difference(exercise, outcome, right):
                    told += 1
                    assert not same_outcome(exercise, outcome, right), (key, misconception.name, case)
    assert told > 10
