"""Agreement is what the textbooks compute; points count by their distance, whatever levels occur."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader.book.answers import Mark
from grader.book.rubric import Question, RubricItem
from grader.by_hand.agreement import POINTS, Pair, agreement, kappa, weighted_kappa


def test_kappa_of_a_known_table():
    """50 proposals, two readers: 20 yes-yes, 15 no-no, 5 and 10 apart. Observed 0.7, by chance 0.5, so kappa is 0.4."""
    one = [True] * 25 + [False] * 25
    two = [True] * 20 + [False] * 5 + [True] * 10 + [False] * 15
    assert kappa(one, two) == pytest.approx(0.4)


POINT = st.integers(0, 16).map(lambda quarter: quarter / 4)


@given(st.lists(st.tuples(POINT, POINT), min_size=2, max_size=40))
def test_weighted_kappa_is_one_less_the_ratio_of_squared_differences(pairs):
    """Cohen's (1968) definition, from the points themselves: mean squared difference, of the pairs and of all pairings."""
    one, two = map(np.array, zip(*pairs, strict=True))
    expected = np.mean((one[:, None] - two[None, :]) ** 2)
    found = weighted_kappa(list(one), list(two))
    if expected == 0:
        assert found is None
    else:
        assert found == pytest.approx(1 - np.mean((one - two) ** 2) / expected)


def test_complete_agreement_is_one_and_on_one_value_not_defined():
    assert weighted_kappa([0, 1, 4], [0, 1, 4]) == pytest.approx(1)
    assert weighted_kappa([4, 4], [4, 4]) is None and kappa([True], [True]) is None
    assert weighted_kappa([3, 3], [4, 4]) == pytest.approx(0)


def test_a_question_has_a_row_for_its_points_and_one_for_each_line_of_its_rubric():
    question = Question("report", 2.0, (RubricItem(1.0, "data"), RubricItem(1.0, "result")), "")
    marks = [((0, 1), (0, 1)), ((0,), (1,)), ((), (0,)), (None, (0, 1))]

    def mark(items):
        return Mark("ana", 2.0 if items is None else len(items), items)

    found = [Pair(str(n), "report", mark(one), mark(two), None) for n, (one, two) in enumerate(marks)]
    rows = agreement(found, {"report": question, "other": question})
    assert [(row.what, row.answers, row.equal) for row in rows] == [
        (POINTS, 4, 0.75),
        ("data", 3, pytest.approx(1 / 3)),
        ("result", 3, pytest.approx(2 / 3)),
    ]
    assert [pair.differ for pair in found] == [False, True, True, False]
    assert [pair.points_differ for pair in found] == [False, False, True, False]
    assert found[1].other_items == [0, 1]
