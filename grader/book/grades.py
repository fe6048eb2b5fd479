"""Somebody's final grade: labs, what was decided about them, and the rules of the term -> a percentage, and what each lab adds to it.

Everything is counted in fractions, and rounded once. What is shown adds up: in a lab, the points less what was deducted are the score, and over the labs, what
each adds is the percentage. The order of labs, rules and decisions never matters.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import ROUND_HALF_UP, Decimal
from fractions import Fraction

from grader.book.rules import Category, Rules

CENT = Decimal("0.01")


@dataclass(frozen=True)
class InLab:
    """How somebody did in a lab.

    Attributes:
        state: how this student stands in it.
        counts: whether it counts.
        open: whether it does not count yet, or not as it will in the end.
        droppable: whether it may be one of the lowest that are dropped; a zero by decision may not.
        earned, late, deducted, score: points, less what was deducted for lateness and by decision, are the score; None where there is none.
        most: the points that are 100 %.
        decision: what was decided, and why; empty if nothing was.
        late_days: that are spent here.
        dropped: it is one of the lowest that are dropped.
        weight: its part of the final percentage, of 1; 0 where it does not count.
        adds: what it adds to the percentage.
    """

    lab: str
    state: str
    counts: bool
    most: Decimal
    earned: Decimal | None = None
    late: Decimal = Decimal(0)
    deducted: Decimal = Decimal(0)
    score: Decimal | None = None
    open: bool = False
    droppable: bool = True
    decision: str = ""
    late_days: int = 0
    dropped: bool = False
    weight: Fraction = Fraction(0)
    adds: Decimal = Decimal(0)

    @property
    def share(self) -> Fraction:
        """The share of the points, at most 1; 0 where there is no score."""
        if self.score is None or not self.most:
            return Fraction(0)
        return min(Fraction(self.score) / Fraction(self.most), Fraction(1))


@dataclass(frozen=True)
class Final:
    """Somebody's final grade.

    Attributes:
        labs: all of them, in the course's order.
        percentage: the sum of what the labs add; None if no lab counts.
        rounded: the same, as the rules round it.
        grade: by the rules; empty if they name none.
    """

    labs: tuple[InLab, ...]
    percentage: Decimal | None
    rounded: Decimal | None
    grade: str

    @property
    def open(self) -> tuple[str, ...]:
        """The labs that may still change it."""
        return tuple(each.lab for each in self.labs if each.open)


def final(labs: Sequence[InLab], rules: Rules) -> Final:
    """The final grade of a student with these results."""
    of_lab = {each.lab: each for each in labs}
    weights: dict[str, Fraction] = {}
    left_out: set[str] = set()
    counted: dict[Category, list[InLab]] = {}
    for category in rules.categories:
        there = [of_lab[lab] for lab in category.labs if lab in of_lab and of_lab[lab].counts]
        lowest = _lowest(there, category, rules)
        left_out |= lowest
        if kept := [each for each in there if each.lab not in lowest]:
            counted[category] = kept
    total = sum((Fraction(each.weight) for each in counted), Fraction(0))
    for category, kept in counted.items():
        within = sum((Fraction(rules.weight_of(each.lab)) for each in kept), Fraction(0))
        for each in kept:
            part = Fraction(rules.weight_of(each.lab)) / within
            weights[each.lab] = Fraction(category.weight) / total * part
    exact = {lab: 100 * weight * of_lab[lab].share for lab, weight in weights.items()}
    adds = apportioned(exact)
    shown = tuple(
        replace(
            each,
            dropped=each.lab in left_out,
            weight=weights.get(each.lab, Fraction(0)),
            adds=adds.get(each.lab, Decimal(0)),
            open=each.open and any(each.lab in category.labs for category in rules.categories),
        )
        for each in sorted(labs, key=lambda each: each.lab)
    )
    if not weights:
        return Final(shown, None, None, "")
    percentage = sum(adds.values(), Decimal(0))
    rounded = percentage.quantize(Decimal(1).scaleb(-rules.decimals), ROUND_HALF_UP)
    grade = next((name for name, least in rules.grades if rounded >= least), "")
    return Final(shown, percentage, rounded, grade)


def _lowest(labs: Sequence[InLab], category: Category, rules: Rules) -> set[str]:
    """The labs that are dropped: those with the lowest shares, and of equal ones those that weigh most. A zero by decision stays, and the next lowest
    is dropped in its place; nothing is dropped whose loss would lower the mean, and one lab always counts.
    """
    order = sorted(labs, key=lambda each: (each.share, -rules.weight_of(each.lab), each.lab))
    kept, dropped = list(order), set()
    for each in [each for each in order if each.droppable][: category.drop_lowest]:
        if len(kept) > 1 and each.share <= _mean(kept, rules):
            kept.remove(each)
            dropped.add(each.lab)
    return dropped


def _mean(labs: Sequence[InLab], rules: Rules) -> Fraction:
    weights = [Fraction(rules.weight_of(each.lab)) for each in labs]
    return sum((weight * each.share for weight, each in zip(weights, labs, strict=True)), Fraction(0)) / sum(
        weights
    )


def apportioned(exact: Mapping[str, Fraction]) -> dict[str, Decimal]:
    """The same with two decimals, so that their sum is the sum of the exact values, rounded half up: what is left over goes to the parts that lose most."""
    total = int(100 * sum(exact.values(), Fraction(0)) + Fraction(1, 2))
    whole = {name: int(100 * value) for name, value in exact.items()}
    by_loss = sorted(exact, key=lambda name: (whole[name] - 100 * exact[name], name))
    for name in by_loss[: total - sum(whole.values())]:
        whole[name] += 1
    return {name: Decimal(hundredths) * CENT for name, hundredths in whole.items()}
