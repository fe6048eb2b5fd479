"""The course's one way to measure: equal to the libraries where they have it, and true for any rows where they do not."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binomtest, bootstrap
from seqeval.metrics import f1_score as seqeval_f1
from sklearn.metrics import accuracy_score, f1_score

from course_utils import evaluation
from course_utils.evaluation import (
    accuracy,
    from_shares,
    interval,
    macro_f1,
    mean,
    noise_floor,
    paired,
    show_scores,
    shuffled,
    span_f1,
)

rights = st.lists(st.booleans(), min_size=1, max_size=40).map(np.array)
pairs = st.integers(1, 40).flatmap(
    lambda count: st.tuples(*[st.lists(st.integers(0, 3), min_size=count, max_size=count).map(np.array)] * 2)
)
few = settings(max_examples=20, deadline=None)


def made(seed: int, count: int = 200) -> tuple[np.ndarray, np.ndarray]:
    """Two models' hits on the same rows; both find the same rows hard."""
    rng = np.random.default_rng(seed)
    hard = rng.random(count)
    return hard < 0.7 + 0.1 * rng.random(count), hard < 0.6 + 0.1 * rng.random(count)


# ---------------------------------------------------------------------------------- equal to the libraries


@few
@given(pairs)
def test_scores_are_those_of_scikit_learn(both):
    said, labels = both
    assert accuracy(said == labels).score == pytest.approx(accuracy_score(labels, said))
    assert macro_f1(said, labels).score == pytest.approx(
        f1_score(labels, said, average="macro", zero_division=0)
    )


def test_f1_of_spans_is_that_of_seqeval():
    tags = [["B-A", "I-A", "O", "B-B"], ["O", "B-A", "O", "O"], ["B-B", "O", "B-A", "I-A"]]
    guesses = [["B-A", "I-A", "O", "B-A"], ["O", "B-A", "B-B", "O"], ["B-B", "O", "B-A", "O"]]
    true = [[(0, 2, "A"), (3, 4, "B")], [(1, 2, "A")], [(0, 1, "B"), (2, 4, "A")]]
    found = [[(0, 2, "A"), (3, 4, "A")], [(1, 2, "A"), (2, 3, "B")], [(0, 1, "B"), (2, 3, "A")]]
    assert span_f1(true, found).score == pytest.approx(seqeval_f1(tags, guesses))


def test_an_interval_is_that_of_scipy():
    ours, _ = made(1)
    theirs = bootstrap(
        (ours.astype(float),),
        np.mean,
        n_resamples=evaluation.DRAWS,
        method="percentile",
        rng=np.random.default_rng(0),
    ).confidence_interval
    found = interval(accuracy(ours))
    assert (found.low, found.high) == pytest.approx((theirs.low, theirs.high))


def test_a_paired_difference_is_that_of_scipy():
    ours, theirs = made(2)
    expected = bootstrap(
        (ours.astype(float), theirs.astype(float)),
        lambda a, b, axis: a.mean(axis=axis) - b.mean(axis=axis),
        n_resamples=evaluation.DRAWS,
        method="percentile",
        paired=True,
        rng=np.random.default_rng(0),
    ).confidence_interval
    found = paired(accuracy(ours), accuracy(theirs))
    assert (found.low, found.high) == pytest.approx((expected.low, expected.high))


@few
@given(st.integers(1, 60), st.booleans())
def test_where_all_rows_are_right_or_none_the_interval_is_the_exact_one(count, right):
    expected = binomtest(count * right, count).proportion_ci(0.95, method="exact")
    found = interval(accuracy([right] * count))
    assert (found.low, found.high) == pytest.approx((expected.low, expected.high))


# ---------------------------------------------------------------------------------- true for any rows


@few
@given(rights)
def test_the_score_lies_in_its_interval_and_a_share_between_0_and_1(right):
    found = interval(accuracy(right))
    assert 0 <= found.low <= found.value + 1e-9 and found.value - 1e-9 <= found.high <= 1


@few
@given(pairs)
def test_ours_minus_theirs_is_theirs_minus_ours_with_the_other_sign(both):
    ours, theirs = (accuracy(each > 1) for each in both)
    one, other = paired(ours, theirs), paired(theirs, ours)
    assert (one.value, one.low, one.high) == pytest.approx((-other.value, -other.high, -other.low))
    assert one.verdict.replace("higher", "lower") == other.verdict.replace("higher", "lower")


@few
@given(rights)
def test_a_model_cannot_be_told_from_itself(right):
    found = paired(accuracy(right), accuracy(right))
    assert (found.value, found.low, found.high, found.verdict) == (0, 0, 0, "cannot be told apart")


@few
@given(rights, st.integers(1, 5))
def test_rows_that_only_repeat_others_of_their_group_do_not_make_an_interval_narrower(right, times):
    alone = interval(accuracy(right))
    groups = [number for number in range(len(right)) for _ in range(times)]
    repeated = interval(accuracy(np.repeat(right, times)), groups)
    assert (repeated.low, repeated.high) == pytest.approx((alone.low, alone.high))


def test_pairs_are_narrower_than_two_models_apart():
    ours, theirs = made(3)
    together = paired(accuracy(ours), accuracy(theirs))
    apart = [interval(accuracy(each)) for each in (ours, theirs)]
    assert together.high - together.low < sum(each.high - each.low for each in apart) / 2


def test_of_a_hundred_samples_about_95_intervals_hold_the_truth():
    rng = np.random.default_rng(5)
    held = [
        found.low <= 0.7 <= found.high
        for found in (interval(accuracy(rng.random(150) < 0.7)) for _ in range(100))
    ]
    assert 88 <= sum(held) <= 99


def test_the_smallest_difference_is_what_two_independent_models_of_one_quality_seldom_differ_by():
    rng = np.random.default_rng(0)
    least = evaluation.smallest_difference(evaluation.accuracy(rng.random(300) < 0.7))
    apart = np.abs(np.diff(rng.binomial(300, 0.7, (4000, 2)) / 300))
    assert 0.92 < np.mean(apart < least) < 0.98


def test_a_loss_is_weighted_by_its_tokens_and_is_no_share():
    counts = mean([10.0, 1.0], [4, 1])
    assert counts.score == pytest.approx(11 / 5)
    assert interval(mean([1.0, 1.0], [1, 1])).high == 1


@pytest.mark.parametrize(
    ("bounds", "verdict"),
    [
        ((0.01, 0.09, -0.01, 0.11), "probably higher"),
        ((0.02, 0.08, 0.01, 0.09), "clearly higher"),
        ((-0.08, -0.02, -0.1, 0.0), "probably lower"),
        ((-0.08, -0.02, -0.1, -0.01), "clearly lower"),
        ((0.0, 0.1, -0.02, 0.12), "cannot be told apart"),
    ],
)
def test_clearly_and_probably_are_said_of_the_same_figures_everywhere(bounds, verdict):
    assert evaluation._verdict(*bounds) == verdict


# ---------------------------------------------------------------------------------- the noise floor


def test_a_model_that_has_learned_nothing_lies_in_the_floor_of_shuffled_labels():
    rng = np.random.default_rng(6)
    labels, said = rng.integers(0, 4, (2, 300))
    low, high = noise_floor(lambda truth: np.mean(said == truth), shuffled(labels))
    assert low <= np.mean(said == labels) <= high
    assert np.mean(labels == labels) > high


def test_labels_of_a_model_s_own_shares_are_as_frequent_as_it_says():
    shares = np.tile([0.1, 0.6, 0.3], (4000, 1))
    drawn = from_shares(shares)(np.random.default_rng(7))
    assert np.bincount(drawn) / 4000 == pytest.approx(shares[0], abs=0.03)


# ---------------------------------------------------------------------------------- what is said


def test_different_numbers_of_rows_are_refused_with_both_numbers():
    with pytest.raises(ValueError, match="3 and 2 rows"):
        paired(accuracy([1, 0, 1]), accuracy([1, 0]))
    with pytest.raises(ValueError, match="2 rows and 1 groups"):
        interval(accuracy([1, 0]), ["a"])
    with pytest.raises(ValueError, match="no rows"):
        interval(accuracy([]))


def test_the_table_has_the_interval_and_the_difference_of_each_model(capsys):
    ours, theirs = made(8)
    show_scores("accuracy", {"bag": accuracy(theirs), "encoder": accuracy(ours)}, beside="bag")
    head, bag, encoder = capsys.readouterr().out.splitlines()
    difference = paired(accuracy(ours), accuracy(theirs))
    assert head.split()[:2] == ["accuracy", "score"] and "minus bag" in head
    assert bag.split()[0] == "bag" and "higher" not in bag
    assert str(difference) in encoder and difference.verdict in encoder
