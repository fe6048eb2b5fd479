"""Why an output is wrong. What is said here never moves a point.

A misconception is named only if that is certain: see :func:`diagnose`. What fits in part is a possible cause. Where nothing is
certain, there are symptoms, which are true of any output (:mod:`course_utils.checking.symptoms`).
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from course_utils.checking.checks import difference
from course_utils.checking.exercise import Exercise
from course_utils.checking.expected import Expected, Misconception, sketch
from course_utils.checking.outcome import Outcome, Problem
from course_utils.checking.rounding import same_outcome
from course_utils.checking.symptoms.exceptions import complaint_of, may_be_one_mistake
from course_utils.checking.symptoms.find import MOST, symptoms_of
from course_utils.checking.symptoms.pairs import same_array
from course_utils.checking.symptoms.symptom import Symptom
from course_utils.checking.wording import in_one_form

_TOLD_APART = 10
"""Of two misconceptions that both give the output, the closer one is meant if the other is so many times as far away."""


@dataclass(frozen=True)
class Diagnosis:
    """What is said about a wrong output.

    Attributes:
        certain: the misconception that it is, or two at once.
        possible: misconceptions that fit, where another mistake might look the same. None if one is certain.
        symptoms: what stands out. None if a misconception is certain.
    """

    certain: tuple[Misconception, ...] = ()
    possible: tuple[Misconception, ...] = ()
    symptoms: tuple[Symptom, ...] = ()


def diagnose(exercise: Exercise, outcomes: Sequence[Outcome], expected: Expected) -> Diagnosis:
    """Explains outcomes of which something is wrong.

    A misconception is certain

    - if it gives the same output in *every* case, and differs from the expected one in numbers somewhere. An exception alone
      can have many causes. So it counts only if its words and shapes agree in every case, no other misconception fits, and
      some cases are right (that no gradient arrives counts as shapes do);
    - together with another one, if each explains failing cases wholly on its own, and no case contradicts.

    Possible causes are what gives the same problems, or explains most of the failing cases and breaks none that is right here.
    """
    view = _View(exercise, outcomes, expected)
    certain, possible = _whole(view)
    if not certain and not possible:
        certain, possible = _two_at_once(view)
    if certain:
        return Diagnosis(certain)
    possible = possible or _raising_in_the_same_cases(view) or _mostly(view)
    said = (*_lesson(exercise, outcomes, expected), *symptoms_of(exercise, outcomes, expected))
    return Diagnosis((), possible, said[:MOST])


def _lesson(exercise: Exercise, outcomes: Sequence[Outcome], expected: Expected) -> list[Symptom]:
    """The kind of the small mistake that would give this output in every case, if there is one."""
    if not expected.lessons or _is_one_number(exercise, outcomes, expected):
        return []
    drawn = sketch(outcomes)
    found = (each for each in expected.lessons if same_everywhere(exercise, drawn, each.outcomes))
    return [Symptom(f"like {each.kind}", each.sentence) for each in itertools.islice(found, 1)]


def _is_one_number(exercise: Exercise, outcomes: Sequence[Outcome], expected: Expected) -> bool:
    """Whether all that is wrong is one and the same number again and again, or a yes or no: many mistakes give that, whatever their kind."""
    wrong = [
        array.ravel()
        for outcome, right in zip(outcomes, expected.reference, strict=True)
        for run, wanted in zip(outcome.runs, right.runs, strict=False)
        for name, array in run.items()
        if name not in wanted or not same_array(exercise, array, wanted[name])
    ]
    if wrong and all(array.dtype.kind == "b" and array.size == 1 for array in wrong):
        return True
    numbers = np.concatenate([array.astype(float) for array in wrong]) if wrong else np.empty(0)
    return len(numbers) > 2 and bool((numbers == numbers[0]).all())


def same_everywhere(exercise: Exercise, outcomes: Sequence[Outcome], others: Sequence[Outcome]) -> bool:
    """Whether outcomes are the same in every case."""
    return all(itertools.starmap(partial(_alike, exercise), zip(outcomes, others, strict=True)))


class _View:
    """Outcomes as seen beside the reference and the misconceptions.

    Attributes:
        wrong: the cases that are wrong.
        alike: misconception -> the cases in which it gives the same.
        broken: misconception -> the cases in which it is wrong.
    """

    def __init__(self, exercise: Exercise, outcomes: Sequence[Outcome], expected: Expected) -> None:
        self.exercise, self.outcomes, self.expected = exercise, outcomes, expected
        self.all = set(range(len(outcomes)))
        self.wrong = self._wrong(outcomes)
        self.known: Mapping[Misconception, tuple[Outcome, ...]] = expected.misconceptions
        self.alike = {
            each: {i for i in self.all if _alike(exercise, outcomes[i], wrongly[i])}
            for each, wrongly in self.known.items()
        }
        self.broken = {each: self._wrong(wrongly) for each, wrongly in self.known.items()}

    def _wrong(self, outcomes: Sequence[Outcome]) -> set[int]:
        pairs = enumerate(zip(outcomes, self.expected.reference, strict=True))
        return {index for index, pair in pairs if difference(self.exercise, *pair)}

    def has_numbers(self, cases: set[int]) -> bool:
        """Whether there is an output in one of the cases, and not only problems."""
        return any(self.outcomes[case].problem is None for case in cases)


def _whole(view: _View) -> tuple[tuple[Misconception, ...], tuple[Misconception, ...]]:
    """(certain, possible) among the misconceptions that give the same in every case."""
    whole = [each for each, alike in view.alike.items() if alike == view.all]
    if not whole:
        return (), ()
    far = {each: _distance(view.outcomes, view.known[each]) for each in whole}
    whole.sort(key=far.__getitem__)
    if len(whole) > 1 and far[whole[1]] <= _TOLD_APART * far[whole[0]]:
        return (), tuple(whole[:2])
    if view.has_numbers(view.wrong) or not view.wrong or _is_telling(view):
        return (whole[0],), ()
    return (), (whole[0],)


def _is_telling(view: _View) -> bool:
    """Whether problems say enough to be sure: each tells shapes, or where no gradient arrives, and some cases are right."""
    problems = [view.outcomes[case].problem for case in view.wrong]
    return view.wrong != view.all and all(each.kind == "gradient" or _shapes(each) for each in problems)


def _two_at_once(view: _View) -> tuple[tuple[Misconception, ...], tuple[Misconception, ...]]:
    """(certain, possible) pairs of misconceptions.

    Where only one of the two is wrong, the output must be that one's; where neither is, it must be right; where both
    are, it must be wrong somehow. Each must show alone, with numbers.
    """
    candidates = [
        each for each, broken in view.broken.items() if broken < view.wrong and broken & view.alike[each]
    ]
    found = []
    for one, other in itertools.combinations(candidates, 2):
        only_one, only_other = view.broken[one] - view.broken[other], view.broken[other] - view.broken[one]
        if (
            view.broken[one] | view.broken[other] == view.wrong
            and only_one <= view.alike[one]
            and only_other <= view.alike[other]
            and view.has_numbers(only_one)
            and view.has_numbers(only_other)
        ):
            found.append((one, other))
    if len(found) == 1:
        return found[0], ()
    return (), tuple(dict.fromkeys(itertools.chain(*found)))[:2]


def _raising_in_the_same_cases(view: _View) -> tuple[Misconception, ...]:
    """The one misconception that raises an exception exactly where this code does, and is right everywhere else.

    The wording of an exception depends on how the code is written; the cases in which it is raised do not, nor do
    the shapes that it mentions. A single case says too little: then the two must also complain about the same thing.
    """
    wrong = view.wrong
    raising = {i for i in wrong if (problem := view.outcomes[i].problem) and problem.kind == "exception"}
    if raising != wrong or wrong == view.all:
        return ()
    found = [
        each
        for each, wrongly in view.known.items()
        if {i for i, outcome in enumerate(wrongly) if outcome.problem} == raising == view.broken[each]
        and all(
            _may_be_of_one_shape(view.outcomes[i].problem, wrongly[i].problem)
            and may_be_one_mistake(view.outcomes[i].problem, wrongly[i].problem)
            for i in raising
        )
        and (len(raising) > 1 or _of_one_kind(view.outcomes, wrongly, raising))
    ]
    return tuple(found) if len(found) == 1 else ()


def _mostly(view: _View) -> tuple[Misconception, ...]:
    """The one misconception that explains most of the failing cases with their numbers, and breaks none that is right here."""
    found = [
        each
        for each, broken in view.broken.items()
        if broken <= view.wrong
        and 2 * len(explained := view.alike[each] & view.wrong) > len(view.wrong)
        and len(explained) > 1
        and view.has_numbers(explained)
    ]
    found.sort(key=lambda each: -len(view.alike[each]))
    unclear = len(found) > 1 and len(view.alike[found[0]]) == len(view.alike[found[1]])
    return () if unclear else tuple(found[:1])


def _alike(exercise: Exercise, outcome: Outcome, other: Outcome) -> bool:
    if outcome.problem or other.problem:
        return _gist(outcome.problem) == _gist(other.problem)
    if bool(outcome.changed_inputs) != bool(other.changed_inputs):
        return False
    # what is known comes from another processor: where large numbers cancel out, its rounding is more than a check forgives
    return not difference(exercise, outcome, other) or same_outcome(exercise, outcome, other)


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
    """A problem's kind, the words of its message without any numbers, the shapes that it mentions, in order, and of a missing
    gradient the run: where it is missing for the second input only, it is not missing everywhere.

    Code and misconceptions run on the same inputs, so the same mistake mentions the same shapes. Any other
    number in a message depends on the process or on how the code is written: an address, the line of a cell,
    Keras's counter in a layer's name, a value.
    """
    if problem is None:
        return None
    return (
        problem.kind,
        re.sub(r"0x[0-9a-fA-F]+|\d+", "#", _SHAPE.sub("#", in_one_form(problem.message))),
        _shapes(problem),
        problem.run if problem.kind == "gradient" else None,
    )


def _shapes(problem: Problem) -> tuple[tuple[int, ...], ...]:
    """Shapes and sizes in a message about form: ``(4, 3)``, ``[4,3]``, ``4x3``, ``size 3``. Other messages have none."""
    message = in_one_form(problem.message)
    if not _OF_FORM.search(message):
        return ()
    found = (tuple(map(int, re.findall(r"\d+", shape))) for shape in _SHAPE.findall(message))
    return tuple(shape for shape in found if shape)


def _of_one_kind(outcomes: Sequence[Outcome], others: Sequence[Outcome], cases: set[int]) -> bool:
    return all(complaint_of(outcomes[i].problem) == complaint_of(others[i].problem) for i in cases)


def _may_be_of_one_shape(problem: Problem, other: Problem) -> bool:
    """Whether two problems may mention the same shapes: either operand may come first, and some messages have no shapes."""
    shapes, others = set(_shapes(problem)), set(_shapes(other))
    return not shapes or not others or shapes == others
