"""Outcomes + expected outcomes + misconceptions -> :class:`Verdict`. Pure functions, used on both sides.

The learner's notebook and the grader call the same :func:`compare`; they differ only in where the
expected outcomes come from (``expected.npz`` at the public seed, or the reference at a secret one).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from course_utils.checking.bypass import Use
from course_utils.checking.exercise import Exercise, Inputs, sentence
from course_utils.checking.outcome import Outcome, Problem


@dataclass(frozen=True)
class Misconception:
    """A known wrong answer: what the code does, and a hint for the learner who wrote it."""

    name: str
    title: str
    hint: str


@dataclass(frozen=True)
class Expected:
    """The inputs of each case's runs, the reference's outcomes, and those of each misconception.

    ``hidden`` is what goals are measured against. It is None where learners are: see :func:`for_learners`.
    """

    inputs: tuple[list[Inputs], ...]
    reference: tuple[Outcome, ...]
    misconceptions: Mapping[Misconception, tuple[Outcome, ...]] = field(default_factory=dict)
    hidden: Mapping[str, np.ndarray] | None = None


def for_learners(exercise: Exercise, expected: Expected) -> Expected:
    """What may be handed out. Of an exercise with goals, that is the form of the reference's output, and the errors that
    misconceptions raise: their numbers would give away what is hidden.
    """
    if not exercise.goals:
        return replace(expected, hidden=None)
    form = tuple(
        replace(
            outcome,
            runs=tuple({name: np.zeros_like(array) for name, array in run.items()} for run in outcome.runs),
        )
        for outcome in expected.reference
    )
    raising = {
        each: outcomes
        for each, outcomes in expected.misconceptions.items()
        if all(outcome.problem for outcome in outcomes)
    }
    return Expected(expected.inputs, form, raising)


@dataclass(frozen=True)
class CheckResult:
    """One line of a verdict. ``detail`` is empty if the check passed.

    ``counts`` is False for the check that nothing ready-made is used: it earns no points, but if it fails,
    nothing else does either.
    """

    title: str
    passed: bool
    detail: str = ""
    case: int | None = None
    counts: bool = True


@dataclass(frozen=True)
class Verdict:
    """Everything that there is to say about a submitted exercise.

    ``problem`` is set if no case could be run; ``bypass`` lists the ready-made functions that the code uses; ``later``
    has the titles of the goals that only grading can judge.
    """

    exercise: str
    checks: tuple[CheckResult, ...]
    recognised: tuple[Misconception, ...] = ()
    problem: str = ""
    where: str = ""
    next_step: str = ""
    printed: str = ""
    bypass: tuple[Use, ...] = ()
    later: tuple[str, ...] = ()

    @property
    def passed(self) -> int:
        return sum(check.passed for check in self.checks)

    @property
    def correct(self) -> bool:
        return self.passed == len(self.checks)

    @property
    def score(self) -> float:
        """Share of the exercise's points, 0 to 1: every check that counts earns the same.

        Properties alone earn nothing: an output that is right in no case at all (all zeros, say) may
        satisfy many of them. Neither does the output of something ready-made. Where all that counts is judged later,
        the right form is all that there is to reach.
        """
        counted = [check for check in self.checks if check.counts]
        if self.later:
            return float(self.correct)
        if self.bypass or not any(check.passed and check.case is not None for check in counted):
            return 0.0
        return sum(check.passed for check in counted) / len(counted)

    @property
    def summary(self) -> str:
        """One plain sentence."""
        if self.correct:
            return f"{self.exercise}: all {len(self.checks)} checks passed."
        if self.problem:
            return f"{self.exercise}: {self.problem}"
        passed = f"{self.passed} of {len(self.checks)} checks passed"
        if not self.bypass:
            return f"{self.exercise}: {passed}."
        others_passed = all(check.passed for check in self.checks if check.counts)
        return (
            f"{self.exercise}: {'everything else is right, but' if others_passed else f'{passed}, and'} "
            f"`{self.bypass[0].name}` does the work. Build it from its parts here; compare with the ready-made "
            "one in an extra cell."
        )


PROBLEMS = {
    "undefined": "not defined yet. Run the cell that defines it, then this one again.",
    "stub": "part of it is not written yet. Replace the lines marked YOUR CODE HERE, then run both cells.",
    "missing": "not checked, because its check cell did not run to the end.",
}


def compare(
    exercise: Exercise, outcomes: Sequence[Outcome], expected: Expected, bypass: Sequence[Use] = ()
) -> Verdict:
    """Judges a learner's outcomes, one per case, against the reference's. It never raises, whatever the arrays hold.

    Args:
        outcomes: one for each case of the exercise, which is ensured by :func:`course_utils.checking.outcome.decode`.
        bypass: what :func:`course_utils.checking.bypass.uses_of` found in the learner's source.
    """
    checks = [
        _values_check(exercise, index, outcome, reference)
        for index, (outcome, reference) in enumerate(zip(outcomes, expected.reference, strict=True))
    ]
    checks += _property_checks(exercise, outcomes, expected)
    if exercise.goals:
        checks = [replace(check, counts=False) for check in checks]
        checks += _goal_checks(exercise, outcomes, expected)
    if exercise.bypasses:
        checks.append(_own_work_check(exercise, outcomes, bypass))
    printed = next((outcome.printed for outcome in outcomes if outcome.printed), "")

    first = outcomes[0].problem
    if first and first.kind in PROBLEMS:
        text = PROBLEMS[first.kind]
        return Verdict(exercise.name, tuple(checks), problem=text, where=first.where, printed=printed)
    matters = (check for check in checks if check.counts or exercise.goals)
    failing = next((check for check in matters if not check.passed), None)
    recognised = recognise(exercise, outcomes, expected) if failing else ()
    return Verdict(
        exercise.name,
        tuple(checks),
        recognised,
        next_step=_next_step(failing, recognised),
        printed=printed,
        bypass=tuple(bypass),
        later=() if expected.hidden is not None else tuple(map(sentence, exercise.goals)),
    )


def earlier_first(exercise: Exercise, verdict: Verdict, correct: Collection[str]) -> str:
    """Points to an earlier exercise that this one calls, if its name is not among the ``correct`` ones."""
    unfinished = [name for name in exercise.uses if name not in correct]
    if verdict.correct or not unfinished:
        return ""
    return f"This exercise calls your `{unfinished[0]}`, whose check does not pass yet: fix that first."


def not_run(exercise: Exercise, kind: str) -> list[Outcome]:
    """Outcomes of an exercise whose code could not even be called (``undefined``, ``missing``)."""
    return [Outcome(problem=Problem(kind, ""))] * len(exercise.cases)


# ---------------------------------------------------------------------------------- checks


def _values_check(exercise: Exercise, index: int, outcome: Outcome, reference: Outcome) -> CheckResult:
    title = exercise.cases[index].title
    detail = _difference(exercise, outcome, reference, form_only=bool(exercise.goals))
    return CheckResult(title, not detail, detail, index)


def _difference(exercise: Exercise, outcome: Outcome, reference: Outcome, form_only: bool = False) -> str:
    """What is wrong with the values (or only with their shapes and kinds), or an empty text."""
    if outcome.problem:
        where = f" ({outcome.problem.where})" if outcome.problem.where else ""
        return f"{outcome.problem.message or 'No output.'}{where}"
    if not outcome.runs or len(outcome.runs) != len(reference.runs):
        return "No output."
    for got, wanted in zip(outcome.runs, reference.runs, strict=True):
        if set(got) != set(wanted):
            return f"It returned {', '.join([*got][:5]) or 'nothing'}; expected {', '.join(wanted)}."
        for name, array in wanted.items():
            if detail := _form_difference(name, got[name], array):
                return detail
            if not form_only and (detail := _array_difference(exercise, name, got[name], array)):
                return detail
            if form_only and _of_kind(got[name], array) is None:
                return f"`{name}` holds fractions; expected whole numbers."
    return ""


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
    worst = np.unravel_index(np.argmax(np.where(different, distance, -1)), different.shape)
    place = f"`{name}[{', '.join(map(str, worst))}]`" if worst else f"`{name}`"
    off = f"{place} differs"
    if different.size > 1:
        off = f"{different.sum()} of {different.size} values differ, most at {place}"
    return f"{off}: got {_number(got[worst])}, expected {_number(wanted[worst])}."


NOT_REACHED = "Not tested: there is no output of the right form."


def _as_promised(outcome: Outcome, reference: Outcome) -> list[dict[str, np.ndarray]]:
    """The runs of an outcome, for properties to test; none if names, shapes or kinds of numbers do not fit.

    Properties see native booleans, int64 and float64, just as the reference has them: so any overflow is the
    learner's own, and an index is an index even if it was returned as 3.0.
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
    ran = [outcome for outcome in outcomes if outcome.problem is None]
    changed = [name for outcome in ran for name in outcome.changed_inputs]
    detail = (
        f"`{changed[0]}` was changed in place; work on a copy of it."
        if changed
        else ""
        if ran
        else NOT_REACHED
    )
    return [*checks, CheckResult("The inputs are left unchanged.", not detail, detail)]


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
        detail = "" if reached else "Not reached." if all(outputs for _, outputs in runs) else NOT_REACHED
        checks.append(CheckResult(sentence(goal), reached, detail, 0))
    return checks


def _own_work_check(exercise: Exercise, outcomes: Sequence[Outcome], bypass: Sequence[Use]) -> CheckResult:
    more = " or similar" if len(exercise.bypasses) > 1 else ""
    title = f"Written by you, without calling `{exercise.bypasses[0]}`{more}."
    if bypass:
        lines = [
            f"`{use.name}` in line {use.line} of its cell: `{use.text.replace('`', ' ')}`" for use in bypass
        ]
        detail = f"It uses {'; '.join(lines)}"
    else:
        detail = "" if any(outcome.problem is None for outcome in outcomes) else NOT_REACHED
    return CheckResult(title, not detail, detail, counts=False)


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


# ---------------------------------------------------------------------------------- misconceptions


def recognise(
    exercise: Exercise, outcomes: Sequence[Outcome], expected: Expected
) -> tuple[Misconception, ...]:
    """The misconceptions that explain what is wrong, at most two.

    A misconception that gives the learner's output in *every* case is the answer (the closest one if two give nearly
    the same: a blocked score of 1e-9 is hard to tell from 0). Otherwise there may be two at once: each must explain a
    failing case, and must not break a case that is right here.
    """
    wrong = _wrong_cases(exercise, outcomes, expected)
    explained = {
        each: {i for i in range(len(outcomes)) if _alike(exercise, outcomes[i], wrongly[i])}
        for each, wrongly in expected.misconceptions.items()
    }
    whole = [each for each, alike in explained.items() if len(alike) == len(outcomes)]
    found = sorted(whole, key=lambda each: _distance(outcomes, expected.misconceptions[each]))[:1]
    found = found or _fails_in_the_same_cases(exercise, outcomes, expected, wrong)
    candidates = (
        []
        if found
        else [
            each
            for each, wrongly in expected.misconceptions.items()
            if _wrong_cases(exercise, wrongly, expected) <= wrong
        ]
    )
    left = set(wrong)
    while candidates and left and len(found) < 2:
        best = max(candidates, key=lambda each: len(explained[each] & left))
        if not explained[best] & left:
            break
        found.append(best)
        left -= explained[best]
    return tuple(found)


def _fails_in_the_same_cases(
    exercise: Exercise, outcomes: Sequence[Outcome], expected: Expected, wrong: set[int]
) -> list[Misconception]:
    """The one misconception that raises an exception exactly where this code does, and is right everywhere else.

    The wording of an exception depends on how the code is written; the cases in which it is raised do not, nor do
    the shapes that it mentions.
    """
    raising = {i for i in wrong if outcomes[i].problem and outcomes[i].problem.kind == "exception"}
    if raising != wrong or not wrong or len(wrong) == len(outcomes):
        return []
    found = [
        each
        for each, wrongly in expected.misconceptions.items()
        if {i for i, outcome in enumerate(wrongly) if outcome.problem} == raising
        and _wrong_cases(exercise, wrongly, expected) == raising
        and all(_may_be_of_one_shape(outcomes[i].problem, wrongly[i].problem) for i in raising)
    ]
    return found if len(found) == 1 else []


def _wrong_cases(exercise: Exercise, outcomes: Sequence[Outcome], expected: Expected) -> set[int]:
    pairs = enumerate(zip(outcomes, expected.reference, strict=True))
    return {index for index, (outcome, reference) in pairs if _difference(exercise, outcome, reference)}


def _alike(exercise: Exercise, outcome: Outcome, other: Outcome) -> bool:
    if outcome.problem or other.problem:
        return _gist(outcome.problem) == _gist(other.problem)
    if bool(outcome.changed_inputs) != bool(other.changed_inputs):
        return False
    return not _difference(exercise, outcome, other)


def _distance(outcomes: Sequence[Outcome], others: Sequence[Outcome]) -> float:
    """The largest difference between outcomes that are alike in every case."""
    pairs = [
        (array.astype(float), other_run[name].astype(float))
        for outcome, other in zip(outcomes, others, strict=True)
        if not outcome.problem
        for run, other_run in zip(outcome.runs, other.runs, strict=True)
        for name, array in run.items()
    ]
    with np.errstate(all="ignore"):
        return max(
            (float(np.fmax.reduce(np.abs(a - b), axis=None, initial=0)) for a, b in pairs), default=0.0
        )


_OF_FORM = re.compile(r"shape|size|dimension|\bax[ei]s\b|length|unpack|broadcast", re.IGNORECASE)
_SHAPE = re.compile(r"[(\[](?:\d+(?:, ?\d+)*,?)?[)\]]|\b\d+(?:x\d+)+\b|(?<![\w./])(?<!line )\d+(?!\w|\.\d)")


def _gist(problem: Problem | None) -> tuple | None:
    """A problem's kind, the words of its message without any numbers, and the shapes that it mentions, in order.

    Code and misconceptions run on the same inputs, so the same mistake mentions the same shapes. Any other
    number in a message depends on the process or on how the code is written: an address, the line of a cell,
    Keras's counter in a layer's name, a value.
    """
    if problem is None:
        return None
    return (
        problem.kind,
        re.sub(r"0x[0-9a-fA-F]+|\d+", "#", _SHAPE.sub("#", problem.message)),
        _shapes(problem),
    )


def _shapes(problem: Problem) -> tuple[tuple[int, ...], ...]:
    """Shapes and sizes in a message about form: ``(4, 3)``, ``[4,3]``, ``4x3``, ``size 3``. Other messages have none."""
    if not _OF_FORM.search(problem.message):
        return ()
    found = (tuple(map(int, re.findall(r"\d+", shape))) for shape in _SHAPE.findall(problem.message))
    return tuple(shape for shape in found if shape)


def _may_be_of_one_shape(problem: Problem, other: Problem) -> bool:
    """Whether two problems may mention the same shapes: either operand may come first, and some messages have no shapes."""
    shapes, others = set(_shapes(problem)), set(_shapes(other))
    return not shapes or not others or shapes == others


# ---------------------------------------------------------------------------------- words


def _next_step(failing: CheckResult | None, recognised: Sequence[Misconception]) -> str:
    if failing is None:
        return ""
    if recognised:
        return recognised[0].hint
    if failing.detail == "Not reached.":
        return "The form is right. These predictions do not reach every goal: a better model earns more."
    if failing.case is None:
        return f"Every value is right, but one property does not hold: {failing.title}"
    return f"Look at the first case that fails; `inputs_of(..., case={failing.case})` gives you its inputs to try out."


def _index(mask: np.ndarray) -> str:
    return "[" + ", ".join(map(str, np.argwhere(mask)[0])) + "]" if mask.ndim else "its only value"


def _kind(array: np.ndarray) -> str:
    return {"b": "booleans", "f": "floats"}.get(array.dtype.kind, "integers")


def _number(value: np.generic) -> str:
    return f"{value:.6g}" if value.dtype.kind == "f" else str(value)
