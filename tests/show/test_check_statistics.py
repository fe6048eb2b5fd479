"""The statistics of a check, against straightforward computations with NumPy and SciPy, and where they are not defined."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.stats import pearsonr, pointbiserialr

from grader.show.check_statistics import FEW, PART, Statistics, statistics_of

MOST = 2.0
quarters = st.integers(0, 8).map(lambda number: number / 4)
a_class = st.lists(st.tuples(quarters, st.integers(0, 30).map(float), st.booleans()), max_size=60)


def of(class_: list[tuple[float, float, bool]]) -> Statistics:
    """The statistics of a check of two points, of (points, points in the rest, whether it was begun)."""
    return statistics_of(
        [own for own, _, _ in class_],
        [rest for _, rest, _ in class_],
        MOST,
        [begun for _, _, begun in class_],
    )


def share_that_passes(class_: list[tuple[float, float, bool]], sign: int) -> float:
    """Of the strongest (1) or the weakest (-1): a person's weight is what is left of the group for all with equally many points, divided by their number."""
    rest = sign * np.array([rest for _, rest, _ in class_])
    size = max(1, round(PART * len(rest)))
    better = (rest[None, :] > rest[:, None]).sum(axis=1)
    equal = (rest[None, :] == rest[:, None]).sum(axis=1)
    weights = np.clip((size - better) / equal, 0, 1)
    assert weights.sum() == pytest.approx(size)
    return float(weights @ np.array([own == MOST for own, _, _ in class_]) / size)


@given(a_class)
def test_each_figure_is_that_of_a_straightforward_computation(class_):
    found = of(class_)
    own, rest = (np.array([each[place] for each in class_]) for place in (0, 1))
    assert (found.count, found.passed) == (len(class_), int((own == MOST).sum()))
    assert found.begun == sum(begun for *_, begun in class_)
    if not class_:
        assert found.difficulty is None and found.mean is None
        return
    assert found.difficulty == pytest.approx((own == MOST).mean())
    assert found.mean == pytest.approx(own.mean() / MOST)
    if len(class_) < FEW or own.std() == 0 or rest.std() == 0:
        assert found.discrimination is None and found.undefined
    else:
        assert found.discrimination == pytest.approx(pearsonr(own, rest).statistic) and not found.undefined
    if len(class_) < FEW or rest.std() == 0:
        assert found.strongest is found.weakest is found.difference is None
    else:
        assert found.strongest == pytest.approx(share_that_passes(class_, 1))
        assert found.weakest == pytest.approx(share_that_passes(class_, -1))


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 30).map(float)), min_size=FEW, max_size=60))
def test_of_a_check_that_is_right_or_wrong_discrimination_is_the_point_biserial_correlation(class_):
    right, rest = zip(*class_, strict=True)
    assume(len(set(right)) == 2 and len(set(rest)) > 1)
    found = of([(MOST * each, other, True) for each, other in class_])
    assert found.discrimination == pytest.approx(pointbiserialr(right, rest).statistic)


@given(a_class, st.randoms())
def test_the_order_of_the_submissions_does_not_matter(class_, chance):
    found = of(class_)
    shuffled = chance.sample(class_, len(class_))
    other = of(shuffled)
    for name in ("difficulty", "mean", "discrimination", "strongest", "weakest"):
        assert getattr(found, name) == pytest.approx(getattr(other, name)), name
    assert (found.undefined, found.hardly_anybody) == (other.undefined, other.hardly_anybody)


@pytest.mark.parametrize(
    ("class_", "why"),
    [
        ([], "fewer than 8 submissions"),
        ([(MOST, float(n), True) for n in range(7)], "fewer than 8 submissions"),
        ([(MOST, float(n), True) for n in range(8)], "all have the same points for it"),
        ([(0.0, float(n), True) for n in range(8)], "all have the same points for it"),
        ([(n % 2, 3.0, True) for n in range(8)], "all have the same points in the rest of the lab"),
        # what differs by less than floats are accurate to does not differ
        ([(n % 2, 0.3 + (n % 2) * 1e-12, True) for n in range(8)], "all have the same points in the rest of the lab"),
    ],
)  # fmt: skip
def test_where_a_figure_is_not_defined_it_is_said_why_and_there_is_no_number(class_, why):
    found = of(class_)
    assert (found.discrimination, found.undefined) == (None, why)
    assert not found.backwards


def test_a_check_that_the_best_fail_and_the_weakest_pass_is_backwards_and_a_slight_tendency_is_not():
    backwards = of([(MOST if rest < 6 else 0.0, float(rest), True) for rest in range(12)])
    assert backwards.backwards and (backwards.strongest, backwards.weakest) == (0, 1)
    assert not of([(MOST if rest >= 6 else 0.0, float(rest), True) for rest in range(12)]).backwards
    slight = of([(MOST if rest % 2 == 0 else 0.0, float(rest), True) for rest in range(12)])
    assert slight.discrimination < 0 and slight.discrimination > -2 / math.sqrt(12) and not slight.backwards


@settings(max_examples=10)
@given(st.integers(0, 2**32 - 1))
def test_what_chance_alone_gives_is_seldom_called_backwards(seed):
    chance = np.random.default_rng(seed)
    checks = 200
    found = 0
    for _ in range(checks):
        own, rest = chance.integers(0, 2, 60), chance.integers(0, 20, 60)
        found += of(
            [(MOST * each, float(other), True) for each, other in zip(own, rest, strict=True)]
        ).backwards
    assert found < 0.1 * checks  # 2.3 % on average


def test_hardly_anybody_solves_it_only_if_people_tried():
    assert of([(MOST if n == 0 else 0.0, float(n), True) for n in range(20)]).hardly_anybody
    assert not of([(MOST if n < 3 else 0.0, float(n), True) for n in range(20)]).hardly_anybody
    assert not of([(0.0, float(n), n < FEW - 1) for n in range(20)]).hardly_anybody
