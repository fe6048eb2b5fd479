"""Follow-through: what the reference of an exercise gives when mistakes of earlier exercises are put in the place of what is right.

Only the course's own code is executed here: the reference, its catalogue of misconceptions, and small mistakes made in the reference.
Nothing of a submission is.
A learner who has made exactly these mistakes earlier, and gives exactly this now, has made no further mistake.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import takewhile
from typing import Any, NamedTuple

import numpy as np
from traitlets import Float, TraitError
from traitlets.config import Configurable

from course_utils.checking.checks import checks_of, score_of
from course_utils.checking.comparison import Verdict
from course_utils.checking.exercise import Exercise
from course_utils.checking.expected import Expected
from course_utils.checking.given import Given, all_earlier, exactly, given_earlier, same
from course_utils.checking.outcome import Outcome, try_case
from grader.catalogue import Entry, run_cell
from grader.course import Course, CourseError
from grader.reference.effortless import FOR_NOTHING, answers_for_nothing
from grader.reference.lab import (
    Lab,
    checked_exercise,
    is_solution,
    nbgrader_of,
    runs_in_grading,
    without_marks,
)
from grader.reference.lessons import Mistake

MAX_PIECES = 3
"""How many mistakes of earlier exercises are put in place at the same time."""

_USES_KERAS = re.compile(r"^\s*(import|from)\s+(keras|tensorflow)\b", re.MULTILINE)

Piece = tuple[str, str]
"""The name of an exercise, and of a misconception of it or of a small mistake in its reference."""


class FollowThrough(Configurable):
    """What ``nbgrader_config.py`` may say about exercises that are right given a mistake in an earlier one."""

    share = Float(1.0, min=0.0, max=1.0, help="Share of the points that such an exercise earns.").tag(
        config=True
    )

    @classmethod
    def share_of(cls, course: Course) -> float:
        """
        Raises:
            CourseError: the course's share is not a number from 0 to 1.
        """
        try:
            return cls(config=course.configuration()).share
        except TraitError as error:
            raise CourseError(
                f"{course.root / 'nbgrader_config.py'}: FollowThrough.share must be a number from 0 to 1. {error}"
            ) from None


class _Cell(NamedTuple):
    """A code cell of the solved notebook that grading runs. ``exercise``: the name of the one that it solves, or empty."""

    id: str
    exercise: str
    text: str


@dataclass
class Substitutions:
    """What exercises of a lab give at a seed with mistakes of earlier ones in place.

    Each combination is computed when it is first asked for, and kept: a class costs what its mistakes cost once.

    Args:
        expected: from ``lab.expected(seed)``.
        mistakes: an exercise -> small mistakes in its reference (:mod:`grader.reference.lessons`) at that seed. Asked only where no
            misconception gives what is wrong.
    """

    lab: Lab
    seed: int
    expected: Mapping[str, Expected]
    mistakes: Callable[[str], Sequence[Mistake]] = lambda key: ()
    _kept: dict[tuple[str, frozenset[Piece]], tuple[Outcome, ...] | None] = field(default_factory=dict)

    def given(
        self,
        key: str,
        outcomes: Mapping[str, Sequence[Outcome]],
        verdicts: Mapping[str, Verdict],
    ) -> Given | None:
        """What holds of an exercise given the mistakes in earlier ones; None if it does not follow from any.

        All recognised mistakes are tried at once, then each one alone.

        Args:
            outcomes: of every exercise in the submission.
            verdicts: on every exercise, from its outcomes.
        """
        verdict, exercise = verdicts[key], self.lab.exercises[key]
        if verdict.correct or verdict.bypass or not all(map(_is_sound, outcomes[key])):
            return None
        wrong = {
            name: self._recognised(name, outcomes[its])
            for name in all_earlier(exercise, self._exercises)
            if not verdicts[its := self._key(name)].correct and not verdicts[its].bypass
        }
        together = frozenset(pieces[0] for pieces in wrong.values() if pieces)
        tried = [together] if 1 < len(together) <= MAX_PIECES else []
        tried += [frozenset([piece]) for pieces in wrong.values() for piece in pieces]
        for pieces in tried:
            if substituted := self.outcomes(key, pieces):
                earlier = [name for name in wrong if any(name == piece[0] for piece in pieces)]
                found = given_earlier(exercise, outcomes[key], self.expected[key], earlier, substituted)
                if found:
                    return found
        return None

    def _recognised(self, name: str, outcomes: Sequence[Outcome]) -> list[Piece]:
        """The mistakes that give exactly these outcomes of an exercise: misconceptions, or else small mistakes in its reference."""
        key, exercise = self._key(name), self._exercises[name]
        found = [each.name for each in exactly(exercise, outcomes, self.expected[key])]
        if not found and all(map(_is_sound, outcomes)):
            found = [
                each.name
                for each in self.mistakes(key)
                if same(exercise, outcomes, each.outcomes) and same(exercise, each.outcomes, each.again)
            ]
        return [(name, each) for each in found]

    def of_single_pieces(self, key: str) -> dict[Piece, tuple[Outcome, ...]]:
        """The outcomes of an exercise with each single mistake of an earlier one, where they may earn points.

        There are none in labs whose exercises use Keras: each would take seconds to compute at every build. Grading computes those
        that a class needs.
        """
        if any(_USES_KERAS.search(cell.source) for cell in self._running):
            return {}
        earlier = all_earlier(self.lab.exercises[key], self._exercises)
        pieces = [
            (name, each.name) for name in earlier for each in self.expected[self._key(name)].misconceptions
        ]
        found = {piece: self.outcomes(key, frozenset([piece])) for piece in pieces}
        return {piece: outcomes for piece, outcomes in found.items() if outcomes}

    def outcomes(self, key: str, pieces: frozenset[Piece]) -> tuple[Outcome, ...] | None:
        """The outcomes of an exercise's reference with these mistakes in place.

        They are None if they may not earn points, because the reference without them, a mistake in this exercise or an answer without any work
        gives the same. They are also None if something fails.
        """
        if (key, pieces) not in self._kept:
            self._kept[key, pieces] = self._computed(key, pieces)
        return self._kept[key, pieces]

    # -- what may earn points

    def _computed(self, key: str, pieces: frozenset[Piece]) -> tuple[Outcome, ...] | None:
        exercise, expected = self.lab.exercises[key], self.expected[key]
        entries = self._entries_of(pieces)
        if entries is None or exercise.goals:
            return None
        reference = self._with(key, entries)
        if reference is None:
            return None
        found = tuple(takewhile(_is_sound, self._cases(key, reference)))
        if len(found) < len(exercise.cases) or _more_nan(found, expected.reference):
            return None
        others = (expected.reference, *expected.misconceptions.values())
        if any(same(exercise, found, other) for other in others) or self._takes_no_work(key, found):
            return None
        return None if self._hides_a_mistake(key, entries, found) else found

    def _takes_no_work(self, key: str, found: tuple[Outcome, ...]) -> bool:
        wanted = replace(self.expected[key], reference=found, misconceptions={})
        exercise = self.lab.exercises[key]
        return any(
            score_of(checks_of(exercise, outcomes, wanted)) > FOR_NOTHING
            for _, outcomes in answers_for_nothing(self.lab, key, self.seed, wanted, wanted)
        )

    def _hides_a_mistake(self, key: str, entries: Mapping[str, Entry], found: tuple[Outcome, ...]) -> bool:
        """Whether a mistake in this exercise gives the same, as long as the earlier ones are in place."""
        exercise = self.lab.exercises[key]
        for entry in self.lab.misconceptions.get(key, []):
            if entry.slip and (wrong := self._with(key, entries, entry)) is not None:
                pairs = zip(self._cases(key, wrong), found, strict=False)  # ends with the first that differs
                if all(same(exercise, [outcome], [other]) for outcome, other in pairs):
                    return True
        return False

    def _cases(self, key: str, implementation: Any) -> Iterator[Outcome]:
        exercise = self.lab.exercises[key]
        for case in exercise.cases:
            yield try_case(exercise, case, key, implementation, self.seed)

    # -- putting mistakes in place

    def _with(self, key: str, entries: Mapping[str, Entry], own: Entry | None = None) -> Any:
        """The reference of an exercise (or a slip of its ``own``) among definitions that reach these mistakes.

        Whatever the notebook defines between them and that reaches them is defined again, so that it does. Returns None
        if nothing reaches them, or if it cannot be defined.
        """
        lab, name = self.lab, self.lab.exercises[key].name
        names = {**lab.reference, **lab.stand_ins}
        changed: set[str] = set()
        reached = False
        try:
            for cell in self._cells_before(key):
                if cell.exercise in entries and not entries[cell.exercise].slip:
                    names[cell.exercise] = entries[cell.exercise].value
                    changed.add(cell.exercise)
                    continue
                if cell.exercise in entries:
                    text, defined = entries[cell.exercise].source, defined_in(entries[cell.exercise].source)
                elif cell.exercise == name:
                    reached = changed & names_in(cell.text)
                    text, defined = own.source if own else cell.text, {name}
                else:
                    text, defined = _reaching(cell.text, changed)
                if text:
                    run_cell(text, f"<{lab.name}: {cell.id}, with mistakes>", names)
                    changed |= defined
        except Exception:  # with this mistake, what the notebook needs cannot even be defined
            return None
        return names[name] if reached else None

    def _entries_of(self, pieces: Collection[Piece]) -> dict[str, Entry] | None:
        """Exercise name -> the implementation of its mistake; None if one has no implementation."""
        found = {}
        for exercise, name in pieces:
            key = self._key(exercise)
            entry = next((each for each in self._entries(key) if each.name == name), None)
            if entry is None or self._exercises[exercise].goals:
                return None
            found[exercise] = entry
        return found

    def _entries(self, key: str) -> Iterator[Entry]:
        """The known mistakes in an exercise."""
        yield from self.lab.misconceptions.get(key, ())
        yield from map(_as_entry, self.mistakes(key))

    def _cells_before(self, key: str) -> list[_Cell]:
        """Cells up to the check of an exercise."""
        return self._cells[: self._check_at[key]]

    @cached_property
    def _cells(self) -> list[_Cell]:
        return [
            _Cell(
                cell.id,
                nbgrader_of(cell).get("grade_id", "") if is_solution(cell) else "",
                without_marks(cell.source),
            )
            for cell in self._running
            if checked_exercise(cell) is None
        ]

    @cached_property
    def _check_at(self) -> dict[str, int]:
        places, count = {}, 0
        for cell in self._running:
            if key := checked_exercise(cell):
                places[key] = count
            else:
                count += 1
        return places

    @cached_property
    def _running(self) -> list:
        return [cell for cell in self.lab.source().cells if runs_in_grading(cell)]

    @cached_property
    def _exercises(self) -> dict[str, Exercise]:
        return {exercise.name: exercise for exercise in self.lab.exercises.values()}

    def _key(self, name: str) -> str:
        return f"{self.lab.slug}.{name}"


def _as_entry(mistake: Mistake) -> Entry:
    """A small mistake as a slip, which it is."""
    name = mistake.exercise.name
    return Entry(name, mistake.name, "", "", mistake.source, make=lambda: mistake.value, slip=True)


def _is_sound(outcome: Outcome) -> bool:
    return outcome.problem is None


def _more_nan(outcomes: Sequence[Outcome], others: Sequence[Outcome]) -> bool:
    """Whether something is not a number where it is one in the others."""
    return _nan_in(outcomes) > _nan_in(others)


def _nan_in(outcomes: Sequence[Outcome]) -> int:
    arrays = (array for outcome in outcomes for run in outcome.runs for array in run.values())
    return sum(int(np.isnan(array).sum()) for array in arrays if array.dtype.kind == "f")


# ---------------------------------------------------------------------------------- what reaches what

_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


def names_in(text: str) -> set[str]:
    """The names that the course's own code mentions."""
    return _names(ast.parse(text))


def _names(tree: ast.AST) -> set[str]:
    return {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}


def defined_in(text: str) -> set[str]:
    """The functions and classes that the course's own code defines."""
    return {node.name for node in ast.parse(text).body if isinstance(node, _DEFINITIONS)}


def _reaching(text: str, changed: Collection[str]) -> tuple[str, set[str]]:
    """The functions and classes of a cell that reach what has changed: their text, and their names."""
    if not any(name in text for name in changed):
        return "", set()
    lines = text.splitlines(keepends=True)
    definitions = [node for node in ast.parse(text).body if isinstance(node, _DEFINITIONS)]
    found: set[str] = set()
    while more := {node.name for node in definitions if _names(node) & (found | set(changed))} - found:
        found |= more
    parts = (
        "".join(
            lines[min([node.lineno, *(each.lineno for each in node.decorator_list)]) - 1 : node.end_lineno]
        )
        for node in definitions
        if node.name in found
    )
    return "\n\n".join(parts), found
