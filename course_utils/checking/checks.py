"""What is right about an output, check by check: values, properties, relations, goals, inputs left unchanged.

These functions decide points. They never raise, whatever the arrays hold.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from course_utils.checking.bypass import Use
from course_utils.checking.exercise import Exercise, sentence
from course_utils.checking.expected import Expected
from course_utils.checking.outcome import Outcome


@dataclass(frozen=True)
class CheckResult:
    """One line of a verdict. ``detail`` is empty if the check passed.

    ``counts`` is False for conditions, which earn no points themselves. If a solution uses something ready-made, nothing else
    earns any, and a case that changes an input does not count. ``values_right`` says of a case, counted or not, whether its
    values are right. ``run`` is what a case that runs the code several times failed with: the number of the run, counted from 1, and
    how many there are.
    """

    title: str
    passed: bool
    detail: str = ""
    case: int | None = None
    counts: bool = True
    values_right: bool = False
    run: tuple[int, int] | None = None


def checks_of(
    exercise: Exercise, outcomes: Sequence[Outcome], expected: Expected, bypass: Sequence[Use] = ()
) -> tuple[CheckResult, ...]:
    """Every check of an exercise, in the order in which learners read them.

    Args:
        outcomes: one for each case of the exercise.
        bypass: what :func:`course_utils.checking.bypass.uses_of` found in the learner's source.
    """
    checks = [
        _values_check(exercise, index, outcome, reference)
        for index, (outcome, reference) in enumerate(zip(outcomes, expected.reference, strict=True))
    ]
    checks += _property_checks(exercise, outcomes, expected)
    checks.append(_inputs_check(outcomes))
    if exercise.goals:
        checks = [replace(check, counts=False, values_right=False) for check in checks]
        checks += _goal_checks(exercise, outcomes, expected)
    if exercise.bypasses:
        checks.append(_own_work_check(exercise, outcomes, bypass))
    return tuple(checks)


def score_of(checks: Sequence[CheckResult], bypass: Sequence[Use] = ()) -> float:
    """Share of the exercise's points, 0 to 1: every check that counts earns the same.

    Properties alone earn nothing: an output whose values are right in no case at all (all zeros, say) may
    satisfy many of them. Neither does the output of something ready-made.
    """
    counted = [check for check in checks if check.counts]
    if bypass or not any(check.values_right or check.passed for check in counted if check.case is not None):
        return 0.0
    return sum(check.passed for check in counted) / len(counted)


def difference(exercise: Exercise, outcome: Outcome, reference: Outcome, form_only: bool = False) -> str:
    """What is wrong with the values (or only with their shapes and kinds), or an empty text."""
    return first_difference(exercise, outcome, reference, form_only)[0]


def first_difference(
    exercise: Exercise, outcome: Outcome, reference: Outcome, form_only: bool = False
) -> tuple[str, int]:
    """What is wrong, or an empty text; and in which run, counted from 0."""
    if outcome.problem:
        where = f" ({outcome.problem.where})" if outcome.problem.where else ""
        return f"{outcome.problem.message or 'No output.'}{where}", outcome.problem.run
    if not outcome.runs or len(outcome.runs) != len(reference.runs):
        return "No output.", 0
    for run, (got, wanted) in enumerate(zip(outcome.runs, reference.runs, strict=True)):
        if set(got) != set(wanted):
            return f"It returned {', '.join([*got][:5]) or 'nothing'}; expected {', '.join(wanted)}.", run
        for name, array in wanted.items():
            if not form_only and (detail := _difference_as_known(exercise, name, got[name], array)):
                return detail, run
            if detail := _form_difference(name, got[name], array):
                return detail, run
            if not form_only and (detail := _array_difference(exercise, name, got[name], array)):
                return detail, run
            if form_only and _of_kind(got[name], array) is None:
                return f"`{name}` contains fractions; expected whole numbers.", run
    return "", 0


def _values_check(exercise: Exercise, index: int, outcome: Outcome, reference: Outcome) -> CheckResult:
    title = exercise.cases[index].title
    detail, run = first_difference(exercise, outcome, reference, form_only=bool(exercise.goals))
    right, count = not detail, len(reference.runs)
    failed_in = (run + 1, count) if detail and 0 <= run < count > 1 else None
    if right and outcome.changed_inputs:
        detail = f"The values are right, but `{outcome.changed_inputs[0]}` was changed in place."
    return CheckResult(title, not detail, detail, index, values_right=right, run=failed_in)


_SHOWN = 60
"""Characters of a value that are shown, from a little before the place where it differs."""


def _difference_as_known(exercise: Exercise, name: str, got: np.ndarray, wanted: np.ndarray) -> str:
    """The first difference in what the numbers stand for, such as a text, where the exercise says what that is."""
    if name not in exercise.shown or got.size > 10_000 or np.array_equal(got, wanted):
        return ""
    try:
        one, other = (exercise.shown[name](array) for array in (got, wanted))
    except Exception:  # numbers that stand for nothing
        return ""
    place = ""
    while (
        isinstance(one, list | tuple) and type(one) is type(other) and len(one) == len(other) and one != other
    ):
        at = next(index for index, pair in enumerate(zip(one, other, strict=True)) if pair[0] != pair[1])
        place, one, other = f"{place}[{at}]", one[at], other[at]
    if one == other:
        return ""
    texts = repr(one), repr(other)
    same = next((at for at, pair in enumerate(zip(*texts, strict=False)) if pair[0] != pair[1]), 0)
    start = max(0, same - _SHOWN // 3) if max(map(len, texts)) > _SHOWN else 0
    parts = ["…" * (start > 0) + text[start:][:_SHOWN] + "…" * (len(text) > start + _SHOWN) for text in texts]
    return "`{}{}` is {}; expected {}.".format(name, place, *parts)


def _form_difference(name: str, got: np.ndarray, wanted: np.ndarray) -> str:
    if got.shape != wanted.shape:
        return f"`{name}` has shape {got.shape}; expected {wanted.shape}."
    if (got.dtype.kind == "b") != (wanted.dtype.kind == "b"):
        return f"`{name}` holds {_kind(got)}; expected {_kind(wanted)}."
    return ""


def _array_difference(exercise: Exercise, name: str, got: np.ndarray, wanted: np.ndarray) -> str:
    if got.dtype.kind == "f" and (bad := np.isnan(got) & ~np.isnan(wanted)).any():
        return f"`{name}` contains NaN (not a number), first at {_index(bad)}."
    with np.errstate(all="ignore"):
        if wanted.dtype.kind == "f":
            different = ~np.isclose(got, wanted, rtol=exercise.rtol, atol=exercise.atol, equal_nan=True)
        else:
            different = got != wanted
        # as floats: larger unsigned numbers cannot be subtracted from smaller ones, nor booleans from each other
        distance = np.nan_to_num(np.abs(got.astype(float) - wanted.astype(float)), nan=np.inf)
    if not different.any():
        return ""
    # the first of those that are as far off but for rounding: which of them is the very farthest is up to the processor
    farthest = np.where(different, distance, -1.0)
    worst = np.unravel_index(np.argmax(farthest >= farthest.max() * (1 - 1e-9)), different.shape)
    place = f"`{name}[{', '.join(map(str, worst))}]`" if worst else f"`{name}`"
    off = f"{place} differs"
    if different.size > 1:
        off = f"{different.sum()} of {different.size} values differ, most at {place}"
    numbers = (_number(array[worst], exercise.atol) for array in (got, wanted))
    return "{}: got {}, expected {}.".format(off, *numbers)


_COMPARED = re.compile(
    r"^(?:\d+ of \d+ values differ, most at )?`(\w+)[^`]*`(?:(?: differs)?: got .*, | is .*; )expected .*\.$",
    re.DOTALL,
)


def without_values(check: CheckResult) -> CheckResult:
    """A check that fails, without what would tell the expected values or where the difference to them is largest."""
    return replace(check, detail=_COMPARED.sub(OTHER_VALUES.format(r"`\1`"), check.detail))


OTHER_VALUES = "{} has other values than expected."

NOT_REACHED = "Skipped: your function returned nothing that could be tested."
NOT_ENOUGH = "Not reached."
"""Of a goal: the form is right."""


def _as_promised(outcome: Outcome, reference: Outcome) -> list[dict[str, np.ndarray]]:
    """The runs of an outcome, for properties to test; none if names, shapes or kinds of numbers do not fit.

    Properties see native booleans, int64 and float64, just as the reference has them. So any overflow is the learner's own, and
    an index is an index even if it comes back as 3.0.
    """
    if outcome.problem or len(outcome.runs) != len(reference.runs):
        return []
    runs = []
    for got, wanted in zip(outcome.runs, reference.runs, strict=True):
        if set(got) != set(wanted):
            return []
        fitting = {name: _of_kind(got[name], array) for name, array in wanted.items()}
        if any(array is None for array in fitting.values()):
            return []
        runs.append(fitting)
    return runs


def _of_kind(got: np.ndarray, wanted: np.ndarray) -> np.ndarray | None:
    """``got`` converted to the kind of number that ``wanted`` has, if it has that shape and nothing is lost.

    Whole numbers are accepted as floats, and floats without a fraction as whole numbers, as in the comparison of
    values. Booleans are accepted only as booleans.
    """
    if got.shape != wanted.shape or (got.dtype.kind == "b") != (wanted.dtype.kind == "b"):
        return None
    if wanted.dtype.kind == "b":
        return got
    if wanted.dtype.kind == "f":
        return got.astype(np.float64)
    with np.errstate(invalid="ignore"):  # this changes NaN, infinity and numbers that are too large
        whole = got.astype(np.int64)
    return whole if (whole == got).all() else None


def _property_checks(
    exercise: Exercise, outcomes: Sequence[Outcome], expected: Expected
) -> list[CheckResult]:
    pairs = zip(outcomes, expected.reference, strict=True)
    runs = [  # (inputs, outputs) of each case's runs; none if the form does not fit
        list(zip(inputs, outputs, strict=True)) if (outputs := _as_promised(*pair)) else []
        for inputs, pair in zip(expected.inputs, pairs, strict=True)
    ]
    checks = []
    for holds in exercise.properties:
        results = [(index, _objection(holds, *run)) for index, case in enumerate(runs) for run in case]
        checks.append(_summed_up(exercise, sentence(holds), results))
    for index, case in enumerate(exercise.cases):
        if case.relation is not None:
            results = [(index, _objection(case.relation, runs[index]))] if runs[index] else []
            checks.append(_summed_up(exercise, sentence(case.relation), results))
    return checks


def _inputs_check(outcomes: Sequence[Outcome]) -> CheckResult:
    ran = [outcome for outcome in outcomes if outcome.problem is None]
    changed = [name for outcome in ran for name in outcome.changed_inputs]
    detail = (
        f"`{changed[0]}` was changed in place; work on a copy of it."
        if changed
        else ""
        if ran
        else NOT_REACHED
    )
    return CheckResult("The inputs are left unchanged.", not detail, detail, counts=False)


def _goal_checks(exercise: Exercise, outcomes: Sequence[Outcome], expected: Expected) -> list[CheckResult]:
    """Whether every run reaches each goal; nothing where that cannot be known."""
    if expected.hidden is None:
        return []
    runs = [
        (inputs, outputs)
        for given, outcome, reference in zip(expected.inputs, outcomes, expected.reference, strict=True)
        for inputs, outputs in zip(
            given, _as_promised(outcome, reference) or [None] * len(given), strict=True
        )
    ]
    checks = []
    for goal in exercise.goals:
        reached = all(
            outputs is not None and _objection(goal, inputs, outputs, expected.hidden) == ""
            for inputs, outputs in runs
        )
        detail = "" if reached else NOT_ENOUGH if all(outputs for _, outputs in runs) else NOT_REACHED
        checks.append(CheckResult(sentence(goal), reached, detail, 0))
    return checks


def _own_work_check(exercise: Exercise, outcomes: Sequence[Outcome], bypass: Sequence[Use]) -> CheckResult:
    more = " or similar" if len(exercise.bypasses) > 1 else ""
    title = f"Written by you, without calling `{exercise.bypasses[0]}`{more}."
    if bypass:
        detail = f"It uses {'; '.join(map(_place_of, bypass))}"
    else:
        detail = "" if any(outcome.problem is None for outcome in outcomes) else NOT_REACHED
    return CheckResult(title, not detail, detail, counts=False)


def _place_of(use: Use) -> str:
    if not use.line:
        return f"`{use.name}` (seen while the cases ran)."
    text = (
        f": `{use.text.replace('`', ' ')}`" if use.text else ""
    )  # which a cell that was never stored does not have
    return f"`{use.name}` in line {use.line} of its cell{text}"


def seen_at_work(outcomes: Sequence[Outcome]) -> tuple[Use, ...]:
    """The ready-made things that ran with the cases, one of each name."""
    found = {
        seen.name: Use(seen.name, seen.line, seen.text) for outcome in outcomes for seen in outcome.ready_made
    }
    return tuple(found.values())


def _objection(function: Callable, *arguments) -> str | None:
    """Why a property or relation does not hold: empty if it holds, None if it does not apply.

    If it raises an exception, the output is one that it cannot handle: it contains, say, an invalid index or NaN.
    """
    try:
        with np.errstate(all="ignore"):
            result = function(*arguments)
            held = None if result is None else bool(np.all(result))
    except Exception as error:
        return f"It cannot be checked with this output ({type(error).__name__}: {error}) for:"
    return None if held is None else "" if held else "It does not hold for:"


def _summed_up(exercise: Exercise, title: str, results: list[tuple[int, str | None]]) -> CheckResult:
    applicable = [(index, objection) for index, objection in results if objection is not None]
    if not applicable:
        return CheckResult(title, False, NOT_REACHED)
    detail = next(
        (f"{objection} {exercise.cases[index].title}" for index, objection in applicable if objection), ""
    )
    return CheckResult(title, not detail, detail)


def _index(mask: np.ndarray) -> str:
    return "[" + ", ".join(map(str, np.argwhere(mask)[0])) + "]" if mask.ndim else "its only value"


def _kind(array: np.ndarray) -> str:
    return {"b": "booleans", "f": "floats"}.get(array.dtype.kind, "integers")


def _number(value: np.generic, nothing: float) -> str:
    """A value as a report shows it. What is no more than ``nothing`` is 0: the rest of a sum that cancels out differs by processor."""
    if value.dtype.kind != "f":
        return str(value)
    return "0" if abs(value) <= nothing else f"{value:.6g}"
