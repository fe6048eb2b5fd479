"""Why a lab is refused: its cells do not fit its exercises, or the checks misjudge its reference, a correct variant, a misconception, or an
answer that takes no work. Each function returns a sentence for each fault, with file and line.
"""

from __future__ import annotations

import contextlib
import itertools
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import replace

from nbformat import NotebookNode

from course_utils.checking.bypass import uses_of
from course_utils.checking.checks import NOT_REACHED, checks_of, score_of
from course_utils.checking.comparison import compare
from course_utils.checking.exercise import PUBLIC_SEED, Exercise
from course_utils.checking.expected import Expected
from course_utils.checking.outcome import Outcome, try_exercise
from course_utils.exercises import FILE_NAME as EXERCISES
from grader.catalogue import run_cell
from grader.course import STUB
from grader.reference.effortless import FOR_NOTHING, answers_for_nothing
from grader.reference.lab import (
    MISCONCEPTIONS,
    REGION,
    VARIANTS,
    Lab,
    checked_exercise,
    code_before_check,
    is_solution,
    nbgrader_of,
)
from grader.reference.mutants import mutants_of


def first_seeds(count: int) -> tuple[int, ...]:
    """The public seed and the next ones: at these, the reference, the variants and the misconceptions are tried."""
    return PUBLIC_SEED, *range(1, count)


SEEDS = first_seeds(3)

_MUTANT_SECONDS = 2.0
"""CPU time that one case of a mutant may take."""


def _in_exercise(lab: Lab, exercise: Exercise, title: str = "") -> str:
    """The place of a check's title: in the exercise, since others may have the same; else where a property says it; else of the exercise."""
    lines = dict(enumerate((lab.folder / EXERCISES).read_text("utf-8").splitlines(), 1))
    starts = [number for number, line in lines.items() if " = Exercise(" in line]
    begin = next((at for at in starts if lines[at].startswith(f"{exercise.name} = ")), 1)
    end = next((at for at in starts if at > begin), len(lines) + 1)
    found = [number for number, line in lines.items() if title and title in line]
    inside = [number for number in found if begin <= number < end]
    return lab.at(EXERCISES, (inside or found or [begin])[0])


def source_faults(lab: Lab, source: NotebookNode) -> list[str]:
    """What is wrong with the cells: each exercise has one to solve it and one to check it, and nothing has been run."""
    faults = []
    solutions = [cell for cell in source.cells if is_solution(cell)]
    defined = {nbgrader_of(cell)["grade_id"] for cell in solutions}
    checked = [key for cell in source.cells if (key := checked_exercise(cell))]
    for cell in solutions:
        if not REGION.search(cell.source):
            place = lab.at_cell(cell.source.partition("\n")[0])
            faults.append(
                f"{place}: solution cell {cell.id!r} has no ### BEGIN SOLUTION ... ### END SOLUTION region."
            )
    for key, exercise in lab.exercises.items():
        place = _in_exercise(lab, exercise)
        if checked.count(key) != 1:
            faults.append(
                f"{place}: {key} is checked by {checked.count(key)} cells; it needs exactly one check cell."
            )
        if exercise.name not in defined:
            faults.append(f"{place}: {key} has no solution cell with grade_id {exercise.name!r}.")
    faults += [
        f"{lab.at_cell(key)}: a check cell names {key}, which is not an exercise."
        for key in set(checked) - set(lab.exercises)
    ]
    if any(cell.get("outputs") for cell in source.cells):
        faults.append(f"{lab.at_cell('')}: the source contains outputs.")
    return faults


def catalogue_faults(lab: Lab, expected_at: Mapping[int, dict[str, Expected]]) -> list[str]:
    """What is wrong with the reference, the variants and the misconceptions: each must be judged as what it is.

    Args:
        expected_at: seed -> exercise -> what is expected; the first seed is the public one.
    """
    faults = []
    place_of = {
        (key, each.name): lab.at(MISCONCEPTIONS, each.line)
        for key, entries in lab.misconceptions.items()
        for each in entries
    }
    passed_at: dict[tuple[str, str, str], set[int]] = {}  # exercise, misconception, title of a check -> seeds
    for seed, everything in expected_at.items():
        for key, expected in everything.items():
            exercise = lab.exercises[key]
            verdict = compare(exercise, expected.reference, expected)
            if not verdict.correct:
                failing = next(check for check in verdict.checks if not check.passed)
                place = _in_exercise(lab, exercise, failing.title)
                faults.append(
                    f"{place}: {key}: the reference fails at seed {seed}: {failing.title} {failing.detail}"
                )
            for entry in lab.variants.get(key, []):
                verdict = compare(exercise, lab.outcomes(key, entry.value, seed), expected)
                if not verdict.correct:
                    failing = next(check for check in verdict.checks if not check.passed)
                    faults.append(
                        f"{lab.at(VARIANTS, entry.line)}: {key}: the correct variant {entry.name} fails at seed {seed}: {failing.title} {failing.detail}"
                    )
            for misconception, wrongly in expected.misconceptions.items():
                verdict = compare(exercise, wrongly, expected)
                name = misconception.name
                found = [each.name for each in (*verdict.recognised, *verdict.possible)]
                for check in verdict.checks:
                    seeds = passed_at.setdefault((key, name, check.title), set())
                    if check.passed:
                        seeds.add(seed)
                place = place_of[key, name]
                if verdict.score == 1:
                    faults.append(f"{place}: {key}: the misconception {name} is not caught at seed {seed}.")
                elif found != [name]:
                    faults.append(
                        f"{place}: {key}: the misconception {name} is mistaken for {found} at seed {seed}."
                    )
    for (key, name, title), seeds in passed_at.items():
        if seeds and (others := set(expected_at) - seeds):
            some = f"passes {title!r} at {_few(seeds)} only"
            if len(others) < len(seeds):
                some = f"fails {title!r} at {_few(others)} only"
            faults.append(
                f"{place_of[key, name]}: {key}: the misconception {name} {some}: its score would depend on chance. Choose inputs that show it every time."
            )
    return faults


def _few(seeds: set[int]) -> str:
    return f"seed{'s' * (len(seeds) > 1)} {' and '.join(map(str, sorted(seeds)))}"


def point_faults(lab: Lab, expected: dict[str, Expected]) -> list[str]:
    """Checks that earn points and say nothing: neither a misconception nor a mutant of the reference fails them.

    A property or relation that was not tested, because an output had another form, did not fail. A mutant has to be found only for what no
    misconception fails, so a few are run, in most labs none.

    Args:
        expected: what is expected at the public seed.
    """
    faults = []
    for key, each in expected.items():
        exercise = lab.exercises[key]
        if any(outcome.problem for outcome in each.reference):
            continue  # catalogue_faults says so
        left = [check.counts for check in checks_of(exercise, each.reference, each)]
        for wrongly in itertools.chain(each.misconceptions.values(), _wrong_outcomes(lab, exercise, key)):
            for at, check in enumerate(checks_of(exercise, wrongly, each)):
                left[at] &= check.passed or check.detail == NOT_REACHED
            if not any(left):
                break
        faults += [
            f"{_in_exercise(lab, exercise, check.title)}: {key}: nothing fails the check {check.title!r}: no misconception, and no "
            "small mistake in the reference. So any output of the right form would earn its points. Write down the misconception that it is there to find, or delete it."
            for check, is_left in zip(checks_of(exercise, each.reference, each), left, strict=True)
            if is_left
        ]
    return faults


def _wrong_outcomes(lab: Lab, exercise: Exercise, key: str) -> Iterator[list[Outcome]]:
    """What the mutants of an exercise's reference give at the public seed."""
    quick = replace(exercise, seconds=min(_MUTANT_SECONDS, exercise.seconds))
    for mutant in mutants_of(lab, exercise.name):
        scope = dict(lab.reference)
        try:
            run_cell(mutant.source, f"<mutant of {exercise.name}>", scope)
        except Exception:
            continue
        with tempfile.TemporaryDirectory() as scratch, contextlib.chdir(scratch):
            outcomes = try_exercise(quick, key, scope.get(exercise.name), PUBLIC_SEED)
        yield outcomes


def bypass_faults(lab: Lab, source: NotebookNode) -> list[str]:
    """Where the reference or a correct variant uses something ready-made that its exercise declares."""
    faults = []
    exercises = lab.exercises.values()
    for key, exercise in lab.exercises.items():
        cells = code_before_check(source, key)
        tried = [("the reference", "", lab.at_cell(f'"grade_id": "{exercise.name}"'))]
        for entry in lab.variants.get(key, []):
            tried.append((f"the correct variant {entry.name}", entry.source, lab.at(VARIANTS, entry.line)))
        for who, text, place in tried:
            for use in uses_of(exercise, exercises, [*cells, text]):
                faults.append(
                    f"{place}: {key}: {who} uses {use.name}, which the exercise declares as a bypass: {use.text}"
                )
    return faults


def answer_faults(lab: Lab, expected_at: Mapping[int, dict[str, Expected]]) -> list[str]:
    """Where an answer without any work earns points: one copied from another seed, a constant, or an input.

    Args:
        expected_at: seed -> exercise -> what is expected; the first seed is the public one.
    """
    faults = []
    public, *others = expected_at
    for key, exercise in lab.exercises.items():
        at = {seed: replace(everything[key], misconceptions={}) for seed, everything in expected_at.items()}
        if any(outcome.problem for expected in at.values() for outcome in expected.reference):
            continue  # catalogue_faults says so
        for seed in others:
            if exercise.goals:  # judged by what only instructors have: there is nothing to copy
                continue
            copied = checks_of(exercise, at[public].reference, at[seed])
            faults += [
                f"{_in_exercise(lab, exercise, check.title)}: {key}: the case {check.title!r} has the same answer at seed {seed} as at the public one, so an "
                "answer that is copied from the notebook would be right in grading. Draw its inputs (numbers, sizes, "
                "rates) from the generator, in wide enough ranges."
                for check in copied
                if check.passed and check.case is not None
            ]
        earned: dict[str, str] = {}
        for seed, elsewhere in zip(at, [*others, public], strict=True):
            for answer, outcomes in answers_for_nothing(lab, key, seed, at[seed], at[elsewhere]):
                checks = checks_of(exercise, outcomes, at[seed])
                if (score := score_of(checks)) > FOR_NOTHING:
                    right = [check.title for check in checks if check.passed and check.case is not None]
                    earned.setdefault(
                        answer,
                        f"{_in_exercise(lab, exercise, ''.join(right[:1]))}: {key}: {answer} earns {score:.0%} at seed {seed}, because it is right in: "
                        f"{'; '.join(right)}. Let such a case return a list of inputs, one of which has a different answer.",
                    )
        faults += earned.values()
    return faults


def stub_faults(lab: Lab, source: NotebookNode, release: NotebookNode) -> list[str]:
    """Solution cells whose released text is not the source with each region replaced by the stub."""
    released = {cell.id: cell.source for cell in release.cells}
    faults = []
    for cell in source.cells:
        if is_solution(cell):
            wanted = REGION.sub(lambda region: _indented(STUB, region.group(1)), cell.source)
            if released.get(cell.id) != wanted:
                place = lab.at_cell(cell.source.partition("\n")[0])
                faults.append(f"{place}: the stub of {cell.id!r} is not its solution minus the blanks.")
    return faults


def _indented(text: str, indent: str) -> str:
    return "\n".join(indent + line for line in text.splitlines())
