"""Cases in words: which ones fail, and what their inputs share that no other case has."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from course_utils.checking.checks import difference, first_difference
from course_utils.checking.exercise import Exercise, Inputs
from course_utils.checking.expected import Expected
from course_utils.checking.outcome import Outcome
from course_utils.checking.symptoms.pairs import as_array, by_last_name, wrong_pairs
from course_utils.checking.symptoms.symptom import Symptom


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
        return [Symptom("the form is right", f"{what} is right, but every case fails, even the simplest: the mistake is in the calculation itself.")]  # fmt: skip
    if len(failing) > 1 and len(right) > 1 and (shared := _shared(expected, failing)):
        return [Symptom("cases that share something", shared)]
    if len(failing) == 1:
        return [Symptom("one case", "Right in every case but one.")]
    if len(right) == 1:
        return [Symptom("one case right", f"Right in one case only: {titles_of(exercise, right)}.")]
    if len(failing) == 2:
        return [Symptom("two cases", "Right in every case but two.")]
    before = max((index for index in right if index < failing[0]), default=right[0])
    inputs = expected.inputs[failing[0]]
    _, run = first_difference(exercise, outcomes[failing[0]], expected.reference[failing[0]])
    unlike = _unlike(
        inputs[min(run, len(inputs) - 1)],
        [expected.inputs[index] for index in right],
        [expected.inputs[index] for index in failing],
    )
    title = titles_of(exercise, [before])
    if unlike:
        return [Symptom("two to compare", f"{title} is right, and the first case below is not: {unlike}.")]
    return [Symptom("some cases", f"Right in {len(right)} of {len(everything)} cases, such as {title}.")]


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
        return f"only there, {min(only, key=_rank)}"
    if len(all_right) < len(all_wrong):  # what hides most of a function hides its mistakes, too
        return ""
    if only := [
        feature
        for feature in there[0]
        if feature not in here
        and all(feature in each for each in there)
        and mostly(any(feature not in run for run in runs) for runs in others)
    ]:
        return f"in all cases that pass, {min(only, key=_rank)}; in this case that is not true"
    return ""


def _shared(expected: Expected, failing: Sequence[int]) -> str:
    features: dict[str, set[int]] = {}
    names = dict.fromkeys(name for runs in expected.inputs for run in runs for name, _ in by_last_name(run))
    for case, runs in enumerate(expected.inputs):
        for run in runs:
            flat = dict(by_last_name(run))
            for name in names:
                for feature in _features(name, flat.get(name)):
                    features.setdefault(feature, set()).add(case)
    wanted = set(failing)
    found = [feature for feature, cases in features.items() if cases == wanted]
    if found:
        return f"Wrong exactly in the cases in which {min(found, key=_rank)}."
    everything = set(range(len(expected.inputs)))
    found = [feature for feature, cases in features.items() if everything - cases == wanted]
    return f"Right exactly in the cases in which {min(found, key=_rank)}." if found else ""


_MANY, _FEW = 8, 0.25
"""Of so many values, at most such a share is said to be few."""


def _rank(feature: str) -> tuple[bool, bool]:
    return "axes" in feature, "mask" not in feature


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
        if array.dtype.kind == "f" and (np.abs(array) > _LARGE).any():
            yield f"`{name}` has numbers with an absolute value above {_LARGE}"
        if array.dtype.kind == "b" and array.ndim and not array.any(axis=-1).all():
            yield f"a row of `{name}` is False everywhere"
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


def share_of(exercise: Exercise, cases: Sequence[int]) -> str:
    """How many of the cases these are, in words; of a single one, its title."""
    return (
        f"In {titles_of(exercise, cases)}"
        if len(cases) == 1
        else f"In {len(cases)} of {len(exercise.cases)} cases"
    )


def titles_of(exercise: Exercise, cases: Sequence[int]) -> str:
    """The titles of cases, in words."""
    titles = [f"“{exercise.cases[index].title}”" for index in cases]
    more = f" and {len(titles) - 2} more" if len(titles) > 3 else ""
    shown = titles[:2] if more else titles
    return (", " if more or len(shown) > 2 else " and ").join(shown) + more
