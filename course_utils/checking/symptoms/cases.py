"""Cases in words: which ones fail, and what their inputs share that no other case has."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from course_utils.checking.checks import difference, first_difference
from course_utils.checking.exercise import Exercise, Inputs
from course_utils.checking.expected import Expected
from course_utils.checking.outcome import Outcome
from course_utils.checking.symptoms.pairs import as_array, by_last_name, close, wrong_pairs
from course_utils.checking.symptoms.symptom import Symptom
from course_utils.checking.wording import said_by_a_check

COUNTS_CASES = ("the form is right", "one case", "two cases", "one case right", "some cases")
"""Symptoms that only say in how many cases the output is right."""


def about_cases(
    exercise: Exercise, outcomes: Sequence[Outcome], expected: Expected, failing: Sequence[int]
) -> list[Symptom]:
    """What the failing cases share, and no other case does."""
    everything = range(len(exercise.cases))
    right = [index for index in everything if index not in failing]
    if not right:
        forms = (
            difference(exercise, *pair, form_only=True)
            for pair in zip(outcomes, expected.reference, strict=True)
        )
        if any(forms):
            return []
        wrong, of = _wrong_values(exercise, outcomes, expected, failing)
        if of >= _MANY and wrong <= _FEW * of:
            return [Symptom("few values", f"Every case fails, but most values are right: {of - wrong} of {of} in the first one. So what is special about the others?")]  # fmt: skip
        what = "The form" if exercise.shown else "Every shape"
        return [Symptom("the form is right", f"{what} is right, but something differs in every case: it takes no special input to see the mistake.")]  # fmt: skip
    explained = all(_explains_itself(outcomes[index]) for index in failing)
    if (
        len(failing) > 1
        and len(right) > 1
        and not explained
        and (shared := _shared(exercise, outcomes, expected, failing))
    ):
        return [Symptom("cases that share something", shared)]
    if len(failing) == 1:
        return [Symptom("one case", "Right in every case but one.")]
    if len(right) == 1:
        return [Symptom("one case right", f"Right in one case only: {titles_of(exercise, right)}.")]
    if len(failing) == 2:
        return [Symptom("two cases", "Right in every case but two.")]
    before = max((index for index in right if index < failing[0]), default=right[0])
    sample = [Symptom("some cases", f"Right in {len(right)} of {len(everything)} cases, such as {titles_of(exercise, [before])}.")]  # fmt: skip
    if explained:
        return []
    if len(right) < len(failing):  # what hides most of a function hides its mistakes, too
        return sample
    inputs = expected.inputs[failing[0]]
    _, run = first_difference(exercise, outcomes[failing[0]], expected.reference[failing[0]])
    unlike = _unlike(
        inputs[min(run, len(inputs) - 1)],
        [expected.inputs[index] for index in right],
        [expected.inputs[index] for index in failing],
    )
    if unlike:
        return [Symptom("two to compare", unlike)]
    return sample


def _explains_itself(outcome: Outcome) -> bool:
    """Whether a check says what is wrong. Which cases ask for that says nothing about why."""
    return outcome.problem is not None and said_by_a_check(outcome.problem.message, outcome.problem.where)


def _wrong_values(
    exercise: Exercise, outcomes: Sequence[Outcome], expected: Expected, failing: Sequence[int]
) -> tuple[int, int]:
    """Of the outputs that differ in the first failing case: how many values are wrong, and how many there are."""
    pairs = [
        pair
        for found in wrong_pairs(exercise, outcomes, expected, failing[:1]).values()
        for pair in found
        if pair.wrong is not None
    ]
    return sum(int(pair.wrong.sum()) for pair in pairs), sum(pair.wrong.size for pair in pairs)


def _unlike(
    wrong: Inputs, all_right: Sequence[Sequence[Inputs]], all_wrong: Sequence[Sequence[Inputs]]
) -> str:
    """What distinguishes the inputs of a run that is wrong from those of all cases that are right; empty if nothing does. What most of the other wrong
    cases do not share can hardly be the reason, so it is not said.
    """

    def seen(run: Inputs) -> dict[str, None]:
        return dict.fromkeys(
            feature for name, value in by_last_name(run) for feature in _features(name, value)
        )

    here, there = seen(wrong), [seen(run) for runs in all_right for run in runs]
    others = [[seen(run) for run in runs] for runs in all_wrong]

    def mostly(share: Iterable[bool]) -> bool:
        return 2 * sum(share) > len(others)

    if only := [
        feature
        for feature in here
        if not any(feature in each for each in there)
        and mostly(any(feature in run for run in runs) for runs in others)
    ]:
        return f"What sets the first case below apart from all that are right: {min(only, key=_rank)}."
    if only := [
        feature
        for feature in there[0]
        if feature not in here
        and all(feature in each for each in there)
        and mostly(any(feature not in run for run in runs) for runs in others)
    ]:
        return (
            f"In all cases that are right, {min(only, key=_rank)}. In the first case below, that is not so."
        )
    return ""


def _shared(
    exercise: Exercise, outcomes: Sequence[Outcome], expected: Expected, failing: Sequence[int]
) -> str:
    """What all failing cases have, or all others. In a case that runs the code several times, the runs that fail must have it, too."""
    names = dict.fromkeys(name for runs in expected.inputs for run in runs for name, _ in by_last_name(run))
    features: dict[str, set[tuple[int, int]]] = {}
    for case, runs in enumerate(expected.inputs):
        for number, run in enumerate(runs):
            flat = dict(by_last_name(run))
            for name in names:
                for feature in _features(name, flat.get(name)):
                    features.setdefault(feature, set()).add((case, number))
    right, wrong = _right_and_wrong_runs(exercise, outcomes, expected)
    wanted, everything = set(failing), set(range(len(expected.inputs)))

    def cases(feature: str) -> set[int]:
        return {case for case, _ in features[feature]}

    found = [
        feature
        for feature, runs in features.items()
        if cases(feature) == wanted
        and wrong <= runs
        and _in_its_rows(feature, exercise, outcomes, expected, wrong)
    ]
    if found:
        return f"Wrong exactly in the cases in which {_in_words(found)}."
    found = [
        feature
        for feature, runs in features.items()
        if everything - cases(feature) == wanted
        and not wrong & runs
        and (right <= runs or not feature.endswith(_OFTEN_BY_CHANCE))
        and (len(cases(feature)) >= len(wanted) or not feature.endswith(_MAY_HIDE))
    ]
    return f"Right exactly in the cases in which {_in_words(found)}." if found else ""


_OFTEN_BY_CHANCE = ("given", "axis", "axes")
"""How features end that the right cases may share by chance: then other runs without them are right, too."""


_MAY_HIDE = ("is 1", "is True")
"""How features end that may hide a mistake, as a dropout of 1 in training does. If few cases are right, that is likely."""


def _right_and_wrong_runs(
    exercise: Exercise, outcomes: Sequence[Outcome], expected: Expected
) -> tuple[set[tuple[int, int]], set[tuple[int, int]]]:
    """The runs, as (case, number), that are known to be right, and those that are wrong."""
    right: set[tuple[int, int]] = set()
    wrong: set[tuple[int, int]] = set()
    for case, (outcome, reference) in enumerate(zip(outcomes, expected.reference, strict=True)):
        if outcome.problem:
            wrong.add((case, outcome.problem.run))
            continue
        for number, runs in enumerate(zip(outcome.runs, reference.runs, strict=False)):
            differs = difference(exercise, *(Outcome((run,)) for run in runs))
            (wrong if differs else right).add((case, number))
    return right, wrong


def _in_its_rows(
    feature: str,
    exercise: Exercise,
    outcomes: Sequence[Outcome],
    expected: Expected,
    wrong: set[tuple[int, int]],
) -> bool:
    """Of a feature of some rows of a mask: whether these are the rows that are wrong, where the output has the same rows."""
    for case, number in wrong:
        if outcomes[case].problem:
            continue
        got, wanted = outcomes[case].runs[number], expected.reference[case].runs[number]
        for name, value in by_last_name(expected.inputs[case][number]):
            rows = next((rows for words, rows in _row_features(name, value) if words == feature), None)
            if rows is None:
                continue
            for output, array in wanted.items():
                if output not in got or got[output].shape != array.shape or array.ndim <= rows.ndim:
                    continue
                off = ~close(exercise, got[output], array)
                off = off.any(axis=tuple(range(rows.ndim, off.ndim)))
                if off.shape == rows.shape and (off & ~rows).any():
                    return False
    return True


def _in_words(features: Sequence[str]) -> str:
    """The most telling of some features; of several inputs, if it is true of all of them."""
    name, _, said = min(features, key=_rank).partition("` ")
    alike = [each.partition("` ")[0] + "`" for each in features if each.endswith(f"` {said}")]
    if len(alike) < 2 or not said.startswith("is ") or len(alike) > _LONG:
        return f"{name}` {said}"
    return f"{', '.join(alike[:-1])} and {alike[-1]} are {said.removeprefix('is ')}"


_LONG = 4
"""More inputs than that are not listed."""

_MANY, _FEW = 8, 0.25
"""Of so many values, at most such a share is said to be few."""


def _rank(feature: str) -> tuple[bool, bool, bool]:
    return "axes" in feature or "axis" in feature, feature.endswith("not given"), "mask" not in feature


_LARGE = 100
"""An exponential of a number of that size is far beyond float32."""


def _features(name: str, value: Any) -> Iterator[str]:
    """What may be said about an input, in words; nothing about a weight or a setting of the check, whose names learners do not see."""
    if "." in name or " " in name:
        return
    if value is None:
        yield f"`{name}` is not given"
        return
    array = as_array(value)
    if array is not None:
        yield f"`{name}` is given"
        yield f"`{name}` has {array.ndim} {'axis' if array.ndim == 1 else 'axes'}"
        if array.ndim > 2:
            yield f"`{name}` has more than 2 axes"
        if array.dtype.kind == "f" and (np.abs(array) > _LARGE).any():
            yield f"`{name}` has numbers with an absolute value above {_LARGE}"
        for words, rows in _row_features(name, array):
            if rows.any():
                yield words
    elif isinstance(value, bool):
        yield f"`{name}` is {value}"
    elif isinstance(value, int | float):
        yield f"`{name}` is given"
        if value in (0, 1):
            yield f"`{name}` is {value:g}"
    elif isinstance(value, list | tuple | set | str):
        yield f"`{name}` is given"
        if not len(value):
            yield f"`{name}` is empty"


def _row_features(name: str, value: Any) -> Iterator[tuple[str, np.ndarray]]:
    """What may be said about rows of a mask, and of which."""
    array = as_array(value)
    if array is None or array.dtype.kind != "b" or not array.ndim:
        return
    yield f"a row of `{name}` is False everywhere", ~array.any(axis=-1)
    yield f"a row of `{name}` has True after False", (~array[..., :-1] & array[..., 1:]).any(axis=-1)


def share_of(exercise: Exercise, cases: Sequence[int]) -> str:
    """How many of the cases these are, in words; of a single one, its title."""
    return (
        f"In {titles_of(exercise, cases)}"
        if len(cases) == 1
        else f"In {len(cases)} of {len(exercise.cases)} cases"
    )


def titles_of(exercise: Exercise, cases: Sequence[int]) -> str:
    """The titles of cases, in words."""
    titles = [_title(exercise, index) for index in cases]
    more = f" and {len(titles) - 2} more" if len(titles) > 3 else ""
    shown = titles[:2] if more else titles
    return (", " if more or len(shown) > 2 else " and ").join(shown) + more


def _title(exercise: Exercise, case: int) -> str:
    """A title in quotes. One that says little without the one before it, such as "the same, post-norm", is named by that."""
    title = exercise.cases[case].title
    if case and re.match(r"the same,|once more\b", title):
        return f"the case after {_title(exercise, case - 1)}"
    return f"“{title}”"
