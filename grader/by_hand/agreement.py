"""How far two readers agree who have graded the same answers without seeing each other's points.

Points are ordered and equally spaced, so a difference of two is worse than one of one. They get Cohen's weighted kappa with quadratic weights.
(Cohen 1968, *Weighted kappa: nominal scale agreement with provision for scaled disagreement or partial credit*, Psychological
Bulletin 70). A line of a rubric is earned or not: that is Cohen's kappa (Cohen 1960, *A coefficient of agreement for nominal scales*,
Educational and Psychological Measurement 20).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from grader.book.answers import DECISION, FIRST, SECOND, Mark, Work, same_text
from grader.book.rubric import Question

POINTS = "points"


@dataclass(frozen=True)
class Pair:
    """One answer, read twice.

    Attributes:
        decision: what was decided where the two differ; None if nothing was.
    """

    page: str
    cell: str
    first: Mark
    second: Mark
    decision: Mark | None

    @property
    def differ(self) -> bool:
        return self.points_differ or bool(self.other_items)

    @property
    def points_differ(self) -> bool:
        return abs(self.first.points - self.second.points) > 1e-9

    @property
    def other_items(self) -> list[int]:
        """Lines of the rubric, by number from 0, that only one of the two gives."""
        if self.first.items is None or self.second.items is None:
            return []
        return sorted({*self.first.items} ^ {*self.second.items})

    def giver(self, item: int) -> str:
        """Who gives a line that only one of the two gives."""
        return (self.first if item in self.first.items else self.second).reader


@dataclass(frozen=True)
class Agreement:
    """How far readers agree on the points of a question, or on one line of its rubric.

    Attributes:
        what: ``POINTS``, or the text of the line.
        answers: how many were read twice.
        equal: the share of them in which the two say the same.
        kappa: 1 is complete agreement, 0 what chance gives; None where it is not defined, because both always say the same
            one thing.
    """

    cell: str
    what: str
    answers: int
    equal: float
    kappa: float | None


def pairs(works: Mapping[str, Work]) -> list[Pair]:
    """All answers that two people have read, sorted by submission. Those handed in again between the readings are left out."""
    found = []
    for page, work in sorted(works.items()):
        for answer in work.answers:
            first, second = answer.first(), answer.marks.get(SECOND)
            if first and second and same_text(first, second):
                first = first if first.reader else Mark(work.tasks[FIRST].reader, first.points)
                found.append(Pair(page, answer.cell, first, second, answer.marks.get(DECISION)))
    return found


def agreement(found: Iterable[Pair], questions: Mapping[str, Question]) -> list[Agreement]:
    """For each question: on the points, then on each line of its rubric. Lines that formgrader's points say nothing about
    count only where both readers used the page.
    """
    found = list(found)
    result = []
    for cell, question in questions.items():
        both = [pair for pair in found if pair.cell == cell]
        if not both:
            continue
        first, second = [pair.first.points for pair in both], [pair.second.points for pair in both]
        result.append(_agreement(cell, POINTS, first, second, weighted_kappa(first, second)))
        itemised = [pair for pair in both if pair.first.items is not None and pair.second.items is not None]
        for number, item in enumerate(question.items if itemised else ()):
            one = [number in pair.first.items for pair in itemised]
            two = [number in pair.second.items for pair in itemised]
            result.append(_agreement(cell, item.text, one, two, kappa(one, two)))
    return result


def _agreement(
    cell: str, what: str, one: Sequence[float], two: Sequence[float], kappa: float | None
) -> Agreement:
    equal = sum(math.isclose(a, b, abs_tol=1e-9) for a, b in zip(one, two, strict=True)) / len(one)
    return Agreement(cell, what, len(one), equal, kappa)


def kappa(one: Sequence[bool], two: Sequence[bool]) -> float | None:
    """Cohen's kappa; None where it is not defined."""
    return _kappa([int(each) for each in one], [int(each) for each in two], None, [0, 1])


def weighted_kappa(one: Sequence[float], two: Sequence[float]) -> float | None:
    """Cohen's kappa of points, with the square of the difference as the weight of a disagreement; None where it is not defined.

    Points count in hundredths.
    """
    hundredths = [[round(100 * each) for each in points] for points in (one, two)]
    step = math.gcd(*hundredths[0], *hundredths[1]) or 1
    levels = [[each // step for each in points] for points in hundredths]
    # levels that nobody gives are there, too: scikit-learn takes their places in this list for distances
    every = list(range(min(map(min, levels)), max(map(max, levels)) + 1))
    return _kappa(*levels, "quadratic", every)


def _kappa(one: list[int], two: list[int], weights: str | None, labels: list[int]) -> float | None:
    if len({*one, *two}) == 1:
        return None
    from sklearn.metrics import cohen_kappa_score  # takes seconds to import, and no other command needs it

    return float(cohen_kappa_score(one, two, labels=labels, weights=weights))
