"""What a build keeps of the ``expected.npz`` that is committed: every array that is the same but for rounding.

So what is committed does not depend on the machine that builds. A lab whose source has not changed gives the same file, byte for byte. Where
something has changed, only its own arrays do. The rule is that of :mod:`course_utils.checking.rounding`.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from course_utils.checking.exercise import Exercise
from course_utils.checking.expected import Expected, Lesson, load_outcomes, save_expected, sketch
from course_utils.checking.outcome import Outcome
from course_utils.checking.rounding import same_array, same_outcome

_LESSONS_FOUND_AGAIN = 0.75
"""The share of a lab's lessons that every machine must find. A few of them hang on the last digit of a number: which of two
equal tokens is the likeliest, or whether a small slip shows at all. A lab may have no more than 27, of which 3 are of that kind. A change
of the source moves far more than those.
"""


def without_rounding(exercise: Exercise, expected: Expected) -> Expected:
    """The same, with the reference's own outcome wherever a lesson or a follow-through gives that but for rounding: files leave it out."""
    drawn = sketch(expected.reference)
    return replace(
        expected,
        lessons=tuple(
            lesson._replace(outcomes=_or_the_others(exercise, lesson.outcomes, drawn))
            for lesson in expected.lessons
        ),
        given={
            piece: _or_the_others(exercise, outcomes, expected.reference)
            for piece, outcomes in expected.given.items()
        },
    )


def keep(built: Path, committed: Path, exercises: Mapping[str, Exercise]) -> None:
    """Puts back into a built file what the committed one has, wherever the two are the same but for rounding.

    Args:
        built: the file to be changed.
        committed: nothing is kept if it is missing or damaged.
        exercises: those of the lab, by their keys.
    """
    if committed.is_file() and built.read_bytes() == committed.read_bytes():
        return
    try:
        old, _ = load_outcomes(committed)
    except LookupError:
        return
    new, hints = load_outcomes(built)
    again = {
        key: _found_again(exercises[key], each.lessons, old[key].lessons) if key in old else ()
        for key, each in new.items()
    }
    enough = _LESSONS_FOUND_AGAIN * max(_lessons_in(new), _lessons_in(old)) <= sum(
        lesson is not None for found in again.values() for lesson in found
    )
    kept = {
        key: _kept(exercises[key], each, old[key], again[key], enough) if key in old else each
        for key, each in new.items()
    }
    save_expected(built, kept, hints)
    if _content(built) == _content(committed):  # though another version of zlib may have packed it
        shutil.copyfile(committed, built)


def _kept(
    exercise: Exercise, new: Expected, old: Expected, again: Sequence[Lesson | None], enough: bool
) -> Expected:
    before = {each.name: outcomes for each, outcomes in old.misconceptions.items()}
    reference = _arrays_of(exercise, new.reference, old.reference)
    misconceptions = {
        each: _arrays_of(exercise, outcomes, before.get(each.name, ()))
        for each, outcomes in new.misconceptions.items()
    }
    unchanged = (
        _all_same(exercise, new.reference, old.reference)
        and {each.name for each in misconceptions} == before.keys()
        and all(_all_same(exercise, outcomes, before[each.name]) for each, outcomes in misconceptions.items())
    )
    return replace(
        new,
        reference=reference,
        misconceptions=misconceptions,
        lessons=old.lessons
        if enough and unchanged
        else tuple(found or lesson for found, lesson in zip(again, new.lessons, strict=True)),
        given={
            piece: _arrays_of(exercise, outcomes, old.given.get(piece, ()))
            for piece, outcomes in new.given.items()
        },
    )


def _arrays_of(exercise: Exercise, new: Sequence[Outcome], old: Sequence[Outcome]) -> tuple[Outcome, ...]:
    """New outcomes with the old ones' arrays wherever these are the same."""
    if len(new) != len(old):
        return tuple(new)
    return tuple(
        replace(
            outcome,
            runs=tuple(
                {
                    name: before[name]
                    if name in before and same_array(exercise, array, before[name])
                    else array
                    for name, array in run.items()
                }
                for run, before in zip(outcome.runs, other.runs, strict=True)
            ),
        )
        if len(outcome.runs) == len(other.runs)
        else outcome
        for outcome, other in zip(new, old, strict=True)
    )


def _or_the_others(
    exercise: Exercise, outcomes: Sequence[Outcome], others: Sequence[Outcome]
) -> tuple[Outcome, ...]:
    return tuple(
        other if same_outcome(exercise, outcome, other) else outcome
        for outcome, other in zip(outcomes, others, strict=True)
    )


def _all_same(exercise: Exercise, outcomes: Sequence[Outcome], others: Sequence[Outcome]) -> bool:
    return len(outcomes) == len(others) and all(
        same_outcome(exercise, *pair) for pair in zip(outcomes, others, strict=True)
    )


def _found_again(
    exercise: Exercise, new: Sequence[Lesson], old: Sequence[Lesson]
) -> tuple[Lesson | None, ...]:
    """For each new lesson the old one that says and gives the same, if there is one."""
    return tuple(
        next(
            (
                other
                for other in old
                if other[:2] == lesson[:2] and _all_same(exercise, lesson.outcomes, other.outcomes)
            ),
            None,
        )
        for lesson in new
    )


def _lessons_in(expected: Mapping[str, Expected]) -> int:
    return sum(len(each.lessons) for each in expected.values())


def _content(path: Path) -> dict[str, tuple[str, tuple[int, ...], bytes]]:
    return dict(_entries(path))


def _entries(path: Path) -> Iterator[tuple[str, tuple[str, tuple[int, ...], bytes]]]:
    with np.load(path, allow_pickle=False) as file:
        for name in file.files:
            array = file[name]
            yield name, (array.dtype.str, array.shape, array.tobytes())
