"""What stands out in a wrong output: of its exceptions, its values, its gradients, and of the cases that fail."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from course_utils.checking.checks import difference
from course_utils.checking.exercise import Exercise
from course_utils.checking.expected import Expected
from course_utils.checking.outcome import Outcome
from course_utils.checking.symptoms import looks
from course_utils.checking.symptoms.cases import about_cases, share_of, titles_of
from course_utils.checking.symptoms.exceptions import about_exceptions
from course_utils.checking.symptoms.pairs import Pair, close, same_array, wrong_pairs
from course_utils.checking.symptoms.symptom import Symptom

MOST = 2
"""At most this many symptoms are reported."""


def symptoms_of(exercise: Exercise, outcomes: Sequence[Outcome], expected: Expected) -> tuple[Symptom, ...]:
    """What stands out in a wrong output, the most telling first; empty if every value is right, or if nothing does."""
    failing = [
        index
        for index, (outcome, reference) in enumerate(zip(outcomes, expected.reference, strict=True))
        if difference(exercise, outcome, reference, form_only=bool(exercise.goals))
    ]
    if not failing:
        return ()
    with np.errstate(all="ignore"):
        what = about_exceptions(exercise, outcomes, failing)
        changed = _changed(outcomes)
        if not exercise.goals:
            what += _values(exercise, outcomes, expected, failing, beside_problems=bool(what))
            what = what or _gradients(exercise, outcomes, expected, failing)
        # of inputs that are changed, more cases fail than have wrong values
        where = [] if changed else about_cases(exercise, outcomes, expected, failing)
    if len(failing) < len(outcomes):
        what = [_in_those_that_fail(each, len(failing)) for each in what]
    return tuple([*what, *changed, *where][:MOST])


def _in_those_that_fail(symptom: Symptom, count: int) -> Symptom:
    """A symptom of the cases that fail, beside others that are right: "everywhere" is not to be taken for all of them."""
    if "everywhere" not in symptom.sentence or symptom.sentence.startswith(("In ", "Where ")):
        return symptom
    scope = "In the case that fails" if count == 1 else "In the cases that fail"
    return replace(symptom, sentence=f"{scope}: {symptom.sentence}")


def _changed(outcomes: Sequence[Outcome]) -> list[Symptom]:
    names = dict.fromkeys(name for outcome in outcomes for name in outcome.changed_inputs)
    if not names:
        return []
    what, of = ("An input is", "it") if len(names) == 1 else ("Inputs are", "them")
    return [
        Symptom(
            "an input changed",
            f"{what} changed in place, so everything computed from {of} afterwards sees the changed values.",
        )
    ]


def _values(
    exercise: Exercise,
    outcomes: Sequence[Outcome],
    expected: Expected,
    failing: Sequence[int],
    beside_problems: bool,
) -> list[Symptom]:
    pairs = wrong_pairs(exercise, outcomes, expected, failing)
    several = len(exercise.returns) > 1
    found: dict[Symptom, list[str]] = {}  # of which outputs
    for output, wrong in pairs.items():
        best = looks.common(wrong)
        if best is None or best.vague:  # perhaps the first case tells more than what all cases share
            first = [pair for pair in wrong if pair.case == wrong[0].case]
            if len(first) < len(wrong) and (telling := looks.of_first_case(first)):
                title = titles_of(exercise, [first[0].case])
                best = replace(telling, sentence=f"In {title}: {telling.sentence}")
        elif (
            several
            and not beside_problems
            and len(cases := sorted({pair.case for pair in wrong})) < len(failing)
        ):
            # in the others that fail, this output is right
            best = replace(best, sentence=f"{share_of(exercise, cases)}: {best.sentence}")
        if best is not None and not (best.vague and _are_names(output, wrong)):
            found.setdefault(best, []).append(output)
    symptoms = []
    scope = "In the results that differ:  " if beside_problems else ""
    for symptom, names in found.items():
        text = _plural(symptom.sentence) if len(names) > 1 else symptom.sentence
        symptoms.append(replace(symptom, sentence=scope + text.replace("{it}", _listed(names))))
    right = [name for name in exercise.returns if name not in pairs]
    unseen = any(  # outputs that stand for something else are in no pair
        not same_array(exercise, got.get(name), wanted[name])
        for case in failing
        for got, wanted in zip(outcomes[case].runs, expected.reference[case].runs, strict=False)
        for name in exercise.shown
    )
    if several and right and len(pairs) and not beside_problems and not unseen and len(symptoms) < MOST:
        symptoms.append(Symptom("only one output", _right_and_wrong(right, list(pairs))))
    return symptoms


def _are_names(output: str, pairs: Sequence[Pair]) -> bool:
    """Whether whole numbers name something, such as words or rows. None of them is too large or too small, then."""
    named = re.search(r"(^|_)(ids?|labels|tokens|targets|decoder_input|training|test)$", output)
    return bool(named) and all(pair.wanted.dtype.kind in "iu" for pair in pairs)


def _gradients(
    exercise: Exercise, outcomes: Sequence[Outcome], expected: Expected, failing: Sequence[int]
) -> list[Symptom]:
    """That only what comes back differs, if every value is right."""
    differ: dict[str, None] = {}
    for case in failing:
        runs, right = outcomes[case].runs, expected.reference[case].runs
        if not exercise.cases[case].reaches or not runs or len(runs) != len(right):
            return []
        for got, wanted in zip(runs, right, strict=True):
            names = [
                name
                for name in wanted
                if name not in got
                or got[name].shape != wanted[name].shape
                or not close(exercise, got[name], wanted[name]).all()
            ]
            differ |= dict.fromkeys(names)
    if not differ or not set(differ).isdisjoint(exercise.returns):
        return []
    text = (
        f"The values are right, but {_listed(list(differ))} {'is' if len(differ) == 1 else 'are'} not: part of the way back "
        "is cut off, or goes through something else."
    )
    return [Symptom("gradient", text)]


def _plural(text: str) -> str:
    """A sentence about one output, said of several."""
    for one, many in (
        ("is", "are"),
        ("has", "have"),
        ("holds", "hold"),
        ("differs", "differ"),
        ("lacks", "lack"),
    ):
        text = text.replace(f"{{it}} {one} ", f"{{it}} {many} ")
    return (
        text.replace("it differs", "they differ")
        .replace("wherever it is", "wherever they are")
        .replace("and is right", "and are right")
    )


_LONG = 4
"""More outputs than that are not listed twice: those that are right, or those that differ, whichever are fewer."""


def _right_and_wrong(right: Sequence[str], wrong: Sequence[str]) -> str:
    are, differ = "is" if len(right) == 1 else "are", "differs" if len(wrong) == 1 else "differ"
    if len(right) + len(wrong) <= _LONG:
        return f"{_listed(right)} {are} right; only {_listed(wrong)} {differ}."
    if len(right) < len(wrong):
        return f"Only {_listed(right)} {are} right; everything else differs."
    return f"Only {_listed(wrong)} {differ}; everything else is right."


def _listed(names: Sequence[str]) -> str:
    *most, last = (f"`{name}`" for name in names)
    return f"{', '.join(most)} and {last}" if most else last
