"""What small mistakes in a reference would give: they explain outputs that no written misconception does.

A few mutants of each reference (:mod:`grader.reference.mutants`) are run when a lab is built, and in grading where an output has no other name. If a
learner's output is that of one of them in every case, the check says what kind of mistake that is, in words that give no code. In grading, later exercises
may be right given such a mistake (:mod:`grader.reference.follow`).
"""

from __future__ import annotations

import contextlib
import itertools
import re
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from course_utils.checking.checks import difference
from course_utils.checking.diagnosis import same_everywhere
from course_utils.checking.exercise import PUBLIC_SEED, Exercise
from course_utils.checking.expected import Expected, Lesson, sketch
from course_utils.checking.outcome import Outcome, try_exercise
from grader.catalogue import run_cell
from grader.reference.lab import Lab
from grader.reference.mutants import Mutant, mutants_of

KEPT, TRIED = 8, 12
"""Of an exercise, so many mutants are kept at most, and so many are tried."""

_SECONDS = 2.0
"""CPU time that one case of a mutant may take."""

_KINDS = (
    ("axis", "an axis is off"),
    ("handed on", "something is not handed on: in a call, an argument is missing"),
    ("parameter", "one of the parameters is not used: whatever is passed, its default is in force"),
    ("part", "one part of a calculation is missing, such as a term of a sum or a factor"),
    ("step", "one step is left out"),
    ("constant", "a constant, such as eps or a rate, has another value or is missing"),
    ("related function", "a related function is taken, such as a mean for a sum, or the largest for the smallest"),
    ("variable", "one variable is used in place of another"),
    ("attribute", "one part of the object, such as a layer or a setting, is used in place of another"),
    ("order of arguments", "two arguments of a call, or the two sides of an operation, have changed places"),
    ("operation", "one operation is another, such as a product for a quotient, or a difference for a sum"),
    ("sign", "a sign or a negation is missing"),
    ("branch", "a condition decides nothing: it always goes the same way"),
    ("comparison", "one comparison stands in place of another, such as < in place of <= or =="),
    ("and or", "“and” and “or” have changed places, or a condition is missing"),
    ("off by one", "a number, such as an index, a size or a start, is off by one"),
    ("slice", "an index or a slice takes more or less than it should"),
    ("loop", "a loop ends too early"),
    ("option", "an option is set the other way: True for False, or False for True"),
    ("none", "something is asked whether it is true where the question is whether it is None"),
    ("order of results", "two results have changed places"),
)  # fmt: skip
"""Name and words, the commonest mistake first: of mutants with the same output, that one is said."""

_OF = {
    "an argument left out": "handed on", "an argument ignored": "parameter", "an operand left out": "part",
    "a call left out": "step", "a statement left out": "step", "another number": "constant",
    "a related function": "related function", "another variable": "variable", "another attribute": "attribute",
    "arguments swapped": "order of arguments", "operands swapped": "order of arguments",
    "another operation": "operation", "sign or negation left out": "sign",
    "a branch never taken": "branch", "a branch always taken": "branch", "another comparison": "comparison",
    "and for or": "and or", "a condition left out": "and or", "off by one": "off by one", "an index left out": "slice",
    "a bound left out": "slice", "a loop one short": "loop", "a loop ended after its first round": "loop",
    "the other truth value": "option", "truth instead of None": "none", "returned values swapped": "order of results",
}  # fmt: skip
"""What the mutants call a mistake -> the name of its kind here."""

_ABOUT_AXES = re.compile(
    r"\b(axis|dim|axes)\s*=|swapaxes|moveaxis|transpose|permute|softmax\(|concatenate|\bcat\(|stack\("
)

_FROM_THE_END = re.compile(r"(?:shape\[|\[|\()-[123](?=[\]),])")


@dataclass(frozen=True)
class Mistake:
    """A small mistake in the reference of an exercise, and what it gives at a seed.

    Attributes:
        name: unique in the exercise, and no misconception's.
        kind: the name of its kind, see :data:`_KINDS`.
        source: the solution's text with the mistake in it.
        value: what that text defines.
    """

    exercise: Exercise
    key: str
    seed: int
    name: str
    kind: str
    source: str
    value: Any

    @cached_property
    def outcomes(self) -> tuple[Outcome, ...]:
        return self._tried()

    @cached_property
    def again(self) -> tuple[Outcome, ...]:
        """Those of a second try. They are others if something is kept from one call to the next."""
        self.outcomes  # noqa: B018  # the first try is the first
        return self._tried()

    def _tried(self) -> tuple[Outcome, ...]:
        quick = replace(self.exercise, seconds=_SECONDS)
        with tempfile.TemporaryDirectory() as scratch, contextlib.chdir(scratch):
            return tuple(try_exercise(quick, self.key, self.value, self.seed))


def mistakes_of(lab: Lab, key: str, seed: int = PUBLIC_SEED) -> Iterator[Mistake]:
    """The small mistakes in an exercise's reference that are tried, the commonest first."""
    exercise = lab.exercises[key]
    if exercise.goals:
        return
    tried = itertools.islice(_in_turn(_mutants_of(lab, exercise)), TRIED)
    for number, (kind, mutant) in enumerate(tried, 1):
        value = _run(mutant, exercise.name, lab.reference)
        if value is not None:
            yield Mistake(exercise, key, seed, f"mutant {number}", kind, mutant.source, value)


def lessons_of(
    lab: Lab,
    key: str,
    expected: Expected,
    seed: int = PUBLIC_SEED,
    mistakes: Iterable[Mistake] | None = None,
) -> tuple[Lesson, ...]:
    """The lessons of one exercise. They differ from what is right, from the misconceptions, and from each other.

    Args:
        expected: what the reference and the misconceptions give at ``seed``.
        mistakes: from :func:`mistakes_of` at that seed, if they are known.
    """
    exercise, words = lab.exercises[key], dict(_KINDS)
    right, found = sketch(expected.reference), []
    known = [*map(sketch, expected.misconceptions.values()), right]
    for mistake in mistakes_of(lab, key, seed) if mistakes is None else mistakes:
        drawn = sketch(mistake.outcomes)
        if not _tells_something(exercise, drawn, right):
            continue
        if any(
            same_everywhere(exercise, drawn, other) for other in [*known, *(each.outcomes for each in found)]
        ):
            continue
        if not _same_again(exercise, drawn, sketch(mistake.again)):
            continue
        sentence = f"Your output is what a right solution gives if {words[mistake.kind]}."
        found.append(Lesson(mistake.kind, sentence, drawn))
        if len(found) == KEPT:
            break
    return tuple(found)


def _tells_something(exercise: Exercise, drawn: Sequence[Any], reference: Sequence[Any]) -> bool:
    """Whether something is wrong, shows in numbers somewhere, and would be the same on a slower computer."""
    if any(outcome.problem and outcome.problem.kind == "slow" for outcome in drawn):
        return False
    return any(
        outcome.problem is None and difference(exercise, outcome, right)
        for outcome, right in zip(drawn, reference, strict=True)
    )


def _same_again(exercise: Exercise, drawn: Sequence[Any], again: Sequence[Any]) -> bool:
    """Whether two tries give the same. If not (a layer that drops numbers at random keeps its place between calls), every build
    would write another file.
    """
    return same_everywhere(exercise, drawn, again) and [each.problem for each in drawn] == [
        each.problem for each in again
    ]


def _mutants_of(lab: Lab, exercise: Exercise) -> list[tuple[str, Mutant]]:
    if (
        "empty(" in lab.solution_texts[exercise.name]
    ):  # what a mutant leaves unfilled is another number each time
        return []
    return [(_kind_of(mutant), mutant) for mutant in mutants_of(lab, exercise.name) if mutant.kind in _OF]


def _kind_of(mutant: Mutant) -> str:
    kind = _OF[mutant.kind]
    about_axes = mutant.kind in (
        "off by one",
        "another number",
        "an argument left out",
        "sign or negation left out",
        "arguments swapped",
    )
    if about_axes and _ABOUT_AXES.search(mutant.old):
        return "axis"
    if kind == "sign" and (lost := _counted_back(mutant.old) - _counted_back(mutant.new)):
        return "axis" if any(each.startswith(("shape[", "(")) for each in lost) else "slice"
    return kind


def _counted_back(line: str) -> Counter[str]:
    """The places in a line that are counted from the end, such as ``shape[-1]`` or ``gather(-1, ...)``: without its sign, such a number means another one."""
    return Counter(_FROM_THE_END.findall(line))


def _in_turn(found: Sequence[tuple[str, Mutant]]) -> Iterator[tuple[str, Mutant]]:
    """One mutant of each kind, the commonest first; then a second one of each; and so on."""
    of_kinds = [[each for each in found if each[0] == kind] for kind, _ in _KINDS]
    for row in itertools.zip_longest(*of_kinds):
        yield from (each for each in row if each is not None)


def _run(mutant: Mutant, name: str, names: dict[str, Any]) -> Any:
    scope = dict(names)
    try:
        run_cell(mutant.source, f"<mutant of {name}>", scope)
    except Exception:
        return None
    return scope.get(name)
