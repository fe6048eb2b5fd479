"""How sure a score is: its interval, the paired difference of two models, the noise floor, and the table that shows them.

Labs 07 to 13 measure in this way and no other. A score is a formula of sums over rows (:class:`Counts`), so accuracy, F1 and a mean loss have the
same interval. Rows that succeed and fail together (of one module, layout or document) are drawn together.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from course_utils.display import show_table

LEVEL = 0.95
"""The share of the resamples that an interval holds."""

CLEAR = 0.99
"""A difference is *clear* if even the interval of this level leaves out 0, and *probable* if only that of `LEVEL` does."""

DRAWS, _BLOCK = 2000, 100

# ---------------------------------------------------------------------------------- what a score is made of


@dataclass(frozen=True)
class Counts:
    """What a score is made of. The score of any set of rows is the formula of the sum of their counts.

    Attributes:
        rows: (rows, counts): what each row adds.
        formula: (..., counts) sums -> (...) scores.
        share: whether the score lies between 0 and 1, as accuracy and F1 do and a loss does not.
    """

    rows: np.ndarray
    formula: Callable[[np.ndarray], np.ndarray]
    share: bool = True

    @property
    def score(self) -> float:
        """The score of all rows."""
        return float(self.formula(self.rows.sum(axis=0)))


def _ratio(sums: np.ndarray) -> np.ndarray:
    over, under = sums[..., 0], sums[..., 1]
    return np.divide(over, under, out=np.zeros_like(over), where=under > 0)


def accuracy(right: Sequence[bool] | np.ndarray) -> Counts:
    """The share of the rows that are right.

    Args:
        right: (rows,) whether each is; or how far it is, from 0 to 1, as SQuAD's F1 of an answer.
    """
    values = np.asarray(right, dtype=float)
    return Counts(np.stack([values, np.ones_like(values)], axis=1), _ratio)


def mean(totals: Sequence[float] | np.ndarray, sizes: Sequence[float] | np.ndarray) -> Counts:
    """A mean over all parts of all rows, as the loss of a token over texts of different lengths.

    Args:
        totals: (rows,) the sum of each row.
        sizes: (rows,) of how many parts.
    """
    return Counts(np.stack([totals, sizes], axis=1).astype(float), _ratio, share=False)


def span_f1(true: Sequence[Sequence[Hashable]], found: Sequence[Sequence[Hashable]]) -> Counts:
    """F1 of whole spans over all texts together (micro), as CoNLL-2003 counts it (Tjong Kim Sang and De Meulder 2003).

    Args:
        true, found: for each text its spans, with their labels; a span counts once.

    Raises:
        ValueError: they are not about equally many texts.
    """
    pairs = [(set(one), set(other)) for one, other in zip(true, found, strict=True)]
    rows = [(2 * len(one & other), len(one) + len(other)) for one, other in pairs]
    return Counts(np.array(rows, dtype=float).reshape(-1, 2), _ratio)


def macro_f1(said: np.ndarray, labels: np.ndarray) -> Counts:
    """The mean of the classes' F1, in which a rare class counts as much as a frequent one. A class that a resample has lost counts 0
    only if it was said.

    Args:
        said, labels: (rows,) the class that was given, and the true one.
    """
    classes = np.union1d(said, labels)
    given, true = (np.asarray(each)[:, None] == classes for each in (said, labels))
    rows = np.concatenate([2.0 * (given & true), given + true.astype(float)], axis=1)

    def formula(sums: np.ndarray) -> np.ndarray:
        right, both = np.split(sums, 2, axis=-1)
        there = both > 0
        each = np.divide(right, both, out=np.zeros_like(right), where=there)
        return each.sum(axis=-1) / np.maximum(there.sum(axis=-1), 1)

    return Counts(rows, formula)


# ---------------------------------------------------------------------------------- intervals


@dataclass(frozen=True)
class Interval:
    """A score and the interval of its resamples."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.low:.3f} to {self.high:.3f}"


@dataclass(frozen=True)
class Difference(Interval):
    """Our score minus theirs on the same rows, its interval, and what that says in words."""

    verdict: str

    def __str__(self) -> str:
        return f"{self.low:+.3f} to {self.high:+.3f}"


def interval(counts: Counts, groups: Sequence[Hashable] | None = None, level: float = LEVEL) -> Interval:
    """The percentile bootstrap (Efron 1979): the middle of the scores of 2,000 sets of rows, drawn from these with replacement.

    It is about the rows only. The split and the seed of a training are sources of chance, too, and a set of few groups (below about
    twenty) makes it too narrow. Where every row is right, or none, resamples show nothing, and the exact interval of Clopper and Pearson
    (1934) for so many groups is given.

    Args:
        counts: what the score is made of.
        groups: the group of each row; whole groups are drawn. None: each row by itself.
        level: the share of the resamples inside; what is outside is shared equally by both sides.

    Raises:
        ValueError: there are no rows, or not one group for each row.
    """
    sums = _by_group(counts.rows, groups)
    low, high = _middle(counts.formula(_resampled(sums)), level)
    value = counts.score
    if counts.share and low == high == value:
        exact = (0.5 - level / 2) ** (1 / len(sums))
        low, high = (exact if value == 1 else low), (1 - exact if value == 0 else high)
    return Interval(value, low, high)


def paired(ours: Counts, theirs: Counts, groups: Sequence[Hashable] | None = None) -> Difference:
    """Our score minus theirs, with both computed from the *same* drawn rows: rows that both find hard cancel out.

    The verdict says *clearly* if even the 99 % interval leaves out 0, *probably* if only the 95 % interval does, and that the two cannot be told
    apart otherwise. Of twenty comparisons of equal models, one leaves out 0 by chance.

    Args:
        ours, theirs: counts of the same rows in the same order.
        groups: the group of each row, as for :func:`interval`.

    Raises:
        ValueError: they are not about equally many rows; or as :func:`interval`.
    """
    if len(ours.rows) != len(theirs.rows):
        raise ValueError(
            f"A paired difference needs both models' answers to the same rows; these are {len(ours.rows)} and {len(theirs.rows)} rows."
        )
    results = [counts.formula(_resampled(_by_group(counts.rows, groups))) for counts in (ours, theirs)]
    differences = results[0] - results[1]
    (low, high), (lowest, highest) = (_middle(differences, level) for level in (LEVEL, CLEAR))
    return Difference(ours.score - theirs.score, low, high, _verdict(low, high, lowest, highest))


def smallest_difference(counts: Counts, groups: Sequence[Hashable] | None = None) -> float:
    """How far from this score another model's has to be before these rows show it, if the two make their mistakes independently: √2 times
    half the 95 % interval. Models that find the same rows hard need less; :func:`paired` says how far two given ones are apart.

    Args:
        counts: what the score is made of.
        groups: the group of each row, as for :func:`interval`.
    """
    found = interval(counts, groups)
    return (found.high - found.low) / 2**0.5


def _verdict(low: float, high: float, lowest: float, highest: float) -> str:
    if low <= 0 <= high:
        return "cannot be told apart"
    return f"{'probably' if lowest <= 0 <= highest else 'clearly'} {'higher' if low > 0 else 'lower'}"


def _by_group(rows: np.ndarray, groups: Sequence[Hashable] | None) -> np.ndarray:
    if not len(rows):
        raise ValueError("There are no rows, so there is no score.")
    if groups is None:
        return rows
    if len(groups) != len(rows):
        raise ValueError(f"Each row needs its group; there are {len(rows)} rows and {len(groups)} groups.")
    numbers: dict[Hashable, int] = {}
    number_of = [numbers.setdefault(group, len(numbers)) for group in groups]
    sums = np.zeros((len(numbers), rows.shape[1]))
    np.add.at(sums, number_of, rows)
    return sums


def _resampled(sums: np.ndarray) -> np.ndarray:
    """The sums of each resample. The draws depend on the number of groups only, so two models get the same."""
    rng, count, found = np.random.default_rng(0), len(sums), []
    for _ in range(0, DRAWS, _BLOCK):  # all at once would take gigabytes for many thousands of rows
        drawn = rng.integers(0, count, (_BLOCK, count)) + count * np.arange(_BLOCK)[:, None]
        times = np.bincount(drawn.ravel(), minlength=_BLOCK * count).reshape(_BLOCK, count)
        found.append(times @ sums)
    return np.concatenate(found)


def _middle(results: np.ndarray, level: float) -> tuple[float, float]:
    ends = np.quantile(results, (0.5 - level / 2, 0.5 + level / 2))
    return ends[0].item(), ends[1].item()


# ---------------------------------------------------------------------------------- the noise floor


def noise_floor(
    measure: Callable[[np.ndarray], float],
    drawn: Callable[[np.random.Generator], np.ndarray],
    draws: int = 200,
) -> tuple[float, float]:
    """Between which values 95 % of the results lie where nothing but chance is at work.

    Args:
        measure: labels -> the score or error of a model's answers.
        drawn: labels for which there is nothing to find, see :func:`shuffled` and :func:`from_shares`.
        draws: how many times.
    """
    rng = np.random.default_rng(0)
    return _middle(np.array([measure(drawn(rng)) for _ in range(draws)]), LEVEL)


def shuffled(labels: np.ndarray) -> Callable[[np.random.Generator], np.ndarray]:
    """Labels that have nothing to do with the texts any more (a permutation test, Fisher 1935): what a model gets that has learned nothing but
    how frequent the classes are."""
    return lambda rng: rng.permutation(labels)


def from_shares(shares: np.ndarray) -> Callable[[np.random.Generator], np.ndarray]:
    """Labels drawn from the model's own probabilities (rows, classes). So it is calibrated by construction (Bröcker and Smith 2007, consistency
    resampling), and what is left of a calibration error is its floor."""
    up_to = np.asarray(shares).cumsum(axis=1)[:, :-1]
    return lambda rng: (rng.random((len(up_to), 1)) > up_to).sum(axis=1)


# ---------------------------------------------------------------------------------- the table


def show_scores(
    title: str,
    scores: Mapping[str, Counts],
    groups: Sequence[Hashable] | None = None,
    beside: str | None = None,
) -> None:
    """A table of models: each score with its 95 % interval and, paired, its difference to one of them.

    Args:
        title: what was measured, on which set.
        scores: the models' names -> what their scores are made of, all of the same rows.
        groups: the group of each row, as for :func:`interval`.
        beside: the model with which the others are compared; None: no comparison.
    """
    head = [title, "score", "95 % interval"]
    if beside is not None:
        head += [f"minus {beside}", "95 % interval", "in words"]
    rows = []
    for name, counts in scores.items():
        found = interval(counts, groups)
        row = [name, f"{found.value:.3f}", str(found)]
        if beside is not None:
            difference = paired(counts, scores[beside], groups)
            row += (
                ["", "", ""]
                if name == beside
                else [f"{difference.value:+.3f}", str(difference), difference.verdict]
            )
        rows.append(row)
    show_table(head, rows)
