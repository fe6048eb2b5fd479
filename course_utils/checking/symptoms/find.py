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
    # what is wrong in more cases comes first
    cases_of = {output: {pair.case for pair in wrong} for output, wrong in pairs.items()}
    most = max(map(len, cases_of.values()), default=0)
    for output, wrong in sorted(pairs.items(), key=lambda each: -len(cases_of[each[0]])):
        best, alike = looks.common(wrong), True
        if best is None or best.vague:  # perhaps the first case tells more than what all cases share
            first = [pair for pair in wrong if pair.case == wrong[0].case]
            if len(first) < len(wrong) and (telling := looks.of_first_case(first)):
                title = titles_of(exercise, [first[0].case])
                best = replace(telling, sentence=f"In {title}: {telling.sentence}")
                alike = len(cases_of[output]) == 1
        elif several and not beside_problems and len(cases := sorted(cases_of[output])) < len(failing):
            # in the others that fail, this output is right
            best = replace(best, sentence=f"{share_of(exercise, cases)}: {best.sentence}")
        if best and _says_too_little(best, output, wrong, most):
            continue
        if best and best.name == "nearly right":
            others_right = alike and all(outcomes[case].problem is None for case in failing)
            why = _why_nearly(wrong, others_right and 2 * len(cases_of[output]) <= len(outcomes))
            best = replace(best, sentence=best.sentence + why)
        if best is not None and not (best.vague and _are_names(output, wrong)):
            found.setdefault(best, []).append(output)
    symptoms = []
    scope = "In the results that differ: " if beside_problems else ""
    for symptom, names in sorted(found.items(), key=lambda each: each[0].vague):
        text = _plural(symptom.sentence) if len(names) > 1 else symptom.sentence
        listed = _listed(sorted(names, key=exercise.returns.index))
        symptoms.append(replace(symptom, sentence=scope + text.replace("{it}", listed)))
    right = [name for name in exercise.returns if name not in pairs]
    unseen = any(  # outputs that stand for something else are in no pair
        not same_array(exercise, got.get(name), wanted[name])
        for case in failing
        for got, wanted in zip(outcomes[case].runs, expected.reference[case].runs, strict=False)
        for name in exercise.shown
    )
    beside = several and right and pairs and not beside_problems and not unseen and len(symptoms) < MOST
    if beside and (sentence := _right_and_wrong(right, list(pairs))):
        symptoms.append(Symptom("only one output", sentence))
    return symptoms


def _why_nearly(pairs: Sequence[Pair], others_right: bool) -> str:
    """What it may be if an output is nearly right. A single number may be near by chance."""
    if all(pair.wanted.size == 1 for pair in pairs):
        return ""
    if not others_right:
        return " That may be a small constant, such as eps or n - 1 for n, or a rounding."
    return (
        " In other cases it is right. Perhaps digits get lost, as in the difference of two large numbers. "
        "Or something small, such as eps, counts only here."
    )


def _says_too_little(symptom: Symptom, output: str, pairs: Sequence[Pair], most: int) -> bool:
    """Whether a symptom of an output would only send somebody to the wrong place.

    Args:
        most: in how many cases the output that is wrong most often is wrong.
    """
    if symptom.name in (
        "too short",
        "too long",
        "true or false",
    ):  # that follows from what is wrong in many more cases
        return 2 * len({pair.case for pair in pairs}) < most
    if symptom.name == "nearly right":  # weights after a step are always near
        return " " in output
    if symptom.name in (
        "only the first right",
        "only the last right",
    ):  # of the rows of one table, that may be chance
        return (len(pairs) < 2 and pairs[0].wanted.ndim > 1) or _only_seen(output)
    return symptom.name in ("only the first wrong", "only the last wrong") and _only_seen(output)


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
        f"The values are right, but {_listed(list(differ))} {'is' if len(differ) == 1 else 'are'} not. Is part of the way back "
        "cut off, or does it go through something else? Or does the code do more when it is trained, such as dropout?"
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
        .replace("it is right", "they are right")
        .replace("wherever it is", "wherever they are")
        .replace("or ends too early", "or end too early")
        .replace("it would be right", "they would be right")
        .replace("and is right", "and are right")
    )


_LONG = 4
"""More outputs than that are not listed twice: those that are right, or those that differ, whichever are fewer."""


def _right_and_wrong(right: Sequence[str], wrong: Sequence[str]) -> str:
    """Which outputs are right, and which are not; empty if that says nothing. What only the check has seen is no output."""
    differ = "differs" if len(wrong) == 1 else "differ"
    returned = [name for name in right if not _only_seen(name)]
    are = "is" if len(returned) == 1 else "are"
    if not returned:
        return (
            f"Only {_listed(wrong)} {differ}; everything else is right."
            if any(map(_only_seen, wrong))
            else ""
        )
    if len(returned) + len(wrong) <= _LONG:
        return f"{_listed(returned)} {are} right; only {_listed(wrong)} {differ}."
    if len(returned) == len(right) < len(wrong):
        return f"Only {_listed(right)} {are} right; everything else differs."
    return f"Only {_listed(wrong)} {differ}; everything else is right."


def _only_seen(name: str) -> bool:
    """Whether it is the name of something that a check looks at beside the outputs. Weights are what training gives."""
    return " " in name and not name.startswith("weight ")


def _listed(names: Sequence[str]) -> str:
    *most, last = (f"`{name}`" for name in names)
    return f"{', '.join(most)} and {last}" if most else last
