"""Statistics of one check, or of one answer that people read, over a class. They say how hard it is, whether it separates those who understood the
lab from the others, and whether it needs a look.

*Difficulty* is the share of the submissions that pass, that is, that have all of its points. *Discrimination* is Pearson's
correlation of its points with the points of the rest of the lab. For a check that is right or wrong, that is the point-biserial
correlation. The *strongest* and the *weakest* are the 27 % with the most and the fewest points in the rest of the lab. Sources:
Guilford 1953, *The correlation of an item with a composite of the remaining items in a test*, Educational and Psychological
Measurement 13. Kelley 1939, *The selection of upper and lower groups for the validation of test items*, Journal of Educational
Psychology 30.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

FEW = 8
"""With fewer submissions than this, neither a correlation nor a comparison of groups says anything."""
PART = 0.27
"""Of the class, so many are the strongest, and so many the weakest."""
HARDLY_ANYBODY = 0.1
_ROUNDING = 0.005
"""nbgrader keeps points as floats; a person who has all but this much of them has all."""


@dataclass(frozen=True)
class Statistics:
    """What the points of a class say about a check.

    Attributes:
        count: submissions that have points for it; those that wait for somebody to read them do not.
        difficulty: share of these that pass; None if there are none.
        mean: mean share of its points, of the same.
        discrimination: see the module; None where it is not defined.
        undefined: why it is not; empty if it is.
        strongest, weakest: share that passes of these; None with fewer than ``FEW`` submissions, or if all have the same points in the rest of the lab.
        begun: submissions that have points for it and that did not leave it as it was handed out.
        passed: how many pass.
    """

    count: int
    difficulty: float | None
    mean: float | None
    discrimination: float | None
    undefined: str
    strongest: float | None
    weakest: float | None
    begun: int
    passed: int

    @property
    def difference(self) -> float | None:
        """How much more of the strongest pass than of the weakest, from -1 to 1."""
        return None if self.strongest is None or self.weakest is None else self.strongest - self.weakest

    @property
    def hardly_anybody(self) -> bool:
        """Whether nearly all fail who tried."""
        return self.begun >= FEW and self.passed <= HARDLY_ANYBODY * self.begun

    @property
    def backwards(self) -> bool:
        """Whether the best fail more often than the weakest, by more than chance explains. The correlation is two standard errors below 0, that is,
        below -2 / sqrt(count). Chance alone gives that once in forty checks.
        """
        return bool(
            self.discrimination is not None
            and self.discrimination <= -2 / math.sqrt(self.count)
            and self.difference is not None
            and self.difference < 0
        )


def passes(points: float, most: float) -> bool:
    """Whether so many points are all that there are."""
    return points >= most - _ROUNDING


def statistics_of(
    earned: Sequence[float], rest: Sequence[float], points: float, begun: Sequence[bool]
) -> Statistics:
    """The statistics of a check.

    Args:
        earned: the points of each submission for it.
        rest: the points of the same submissions in the rest of the lab.
        points: the most that it gives.
        begun: whether each submission did not leave it as it was handed out.
    """
    passed = [passes(own, points) for own in earned]
    undefined = _why_undefined(earned, rest)
    grouped = len(earned) >= FEW and not _all_the_same(rest)
    return Statistics(
        len(earned),
        statistics.fmean(passed) if passed else None,
        (statistics.fmean(earned) / points if points else 0.0) if earned else None,
        None if undefined else statistics.correlation(earned, rest),
        undefined,
        _share_that_passes(passed, rest, strongest=True) if grouped else None,
        _share_that_passes(passed, rest, strongest=False) if grouped else None,
        sum(begun),
        sum(passed),
    )


def _why_undefined(earned: Sequence[float], rest: Sequence[float]) -> str:
    """Why there is no correlation; empty if there is one."""
    if len(earned) < FEW:
        return f"fewer than {FEW} submissions"
    if _all_the_same(earned):
        return "all have the same points for it"
    return "all have the same points in the rest of the lab" if _all_the_same(rest) else ""


def _all_the_same(values: Sequence[float]) -> bool:
    return len({round(value, 9) for value in values}) <= 1


def _share_that_passes(passed: Sequence[bool], rest: Sequence[float], strongest: bool) -> float:
    """The share that passes of the strongest or the weakest. If several have equally many points and only some of them belong to the group, each
    counts in part. So the order of the submissions does not matter.
    """
    size = left = max(1, round(PART * len(rest)))
    ordered = sorted(
        zip((round(points, 9) for points in rest), passed, strict=True),
        key=lambda each: each[0],
        reverse=strongest,
    )
    total = 0.0
    for _, equal in groupby(ordered, key=lambda each: each[0]):
        tied = [each for _, each in equal]
        total += min(left, len(tied)) * statistics.fmean(tied)
        left -= len(tied)
        if left <= 0:
            break
    return total / size
