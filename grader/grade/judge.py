"""What check cells published -> verdicts. The only place where a grade is decided.

It reads arrays, and it parses the cells to find what an exercise must not call. It never imports, unpickles,
evaluates or formats with anything that a submission wrote, and learner code never runs in this process. The course's own
code does, where an exercise may be right given a mistake in an earlier one (:mod:`grader.reference.follow`), and where an output has no
other explanation (:mod:`grader.reference.lessons`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from importlib import import_module
from types import MappingProxyType
from typing import Any

from nbformat import NotebookNode

from course_utils.checking.bypass import uses_of
from course_utils.checking.checks import checks_of
from course_utils.checking.comparison import (
    Verdict,
    as_graded,
    compare,
    earlier_first,
    explained,
    follow_through,
    is_about_names,
    not_run,
)
from course_utils.checking.exercise import Exercise, Goal, sentence
from course_utils.checking.expected import Expected, Lesson
from course_utils.checking.names import names_without_value, reached_from, why_undefined
from course_utils.checking.outcome import Outcome, decode
from grader.reference.follow import Substitutions
from grader.reference.lab import Lab, around_check, code_before_check


def judge(
    lab: Lab,
    expected: Mapping[str, Expected],
    payloads: Mapping[str, Any],
    notebook: NotebookNode,
    substitutions: Substitutions | None = None,
    lessons: Callable[[str], Sequence[Lesson]] = lambda key: (),
    places: Mapping[str, str] = MappingProxyType({}),
) -> dict[str, Verdict]:
    """A verdict for every exercise of the lab.

    Args:
        expected: from ``lab.expected(seed)``, at the seed that the payloads were made with.
        payloads: from :class:`grader.run.states.Executed`. If one is missing or malformed, the exercise was not checked.
        notebook: the rebuilt notebook that was run. Its text is only parsed.
        substitutions: at the same seed; without them, no exercise is right given a mistake in an earlier one.
        lessons: an exercise -> its lessons at the same seed. Asked only for what is wrong and has no name.
        places: what the notebook's cells are called, from :func:`grader.reference.lab.places_of`.
    """
    outcomes = {key: read_outcomes(exercise, payloads.get(key)) for key, exercise in lab.exercises.items()}
    verdicts = {}
    for key, exercise in lab.exercises.items():
        uses = uses_of(exercise, lab.exercises.values(), code_before_check(notebook, key))
        verdict = compare(exercise, outcomes[key], expected[key], uses)
        if not (verdict.correct or verdict.recognised or all(each.problem for each in outcomes[key])):
            known = replace(expected[key], lessons=tuple(lessons(key)))
            verdict = compare(exercise, outcomes[key], known, uses) if known.lessons else verdict
        verdict = as_graded(verdict)
        if is_about_names(verdict):
            named = names_without_value(outcomes[key])
            why = why_undefined(exercise.name, *around_check(notebook, key, places), named)
            verdict = explained(verdict, why)
        verdicts[key] = verdict
    if substitutions is None:
        return verdicts
    return {
        key: follow_through(verdict, substitutions.given(key, outcomes, verdicts))
        for key, verdict in verdicts.items()
    }


def read_outcomes(exercise: Exercise, payload: Any) -> list[Outcome]:
    """Outcomes from an untrusted payload; if it is unreadable, outcomes saying that the check did not run to its end."""
    try:
        return decode(payload, len(exercise.cases))
    except ValueError:
        return not_run(exercise, "missing")


def remarkable(lab: Lab, expected: Mapping[str, Expected], payloads: Mapping[str, Any]) -> tuple[str, ...]:
    """What instructors should know about work that is better than anybody's; learners do not see it, and no points move.

    A lab's exercises.py may have ``REMARKABLE``: the name of an exercise with goals -> one more goal, which nobody is expected to reach.
    """
    bounds = vars(import_module(f"course_utils.exercises.{lab.slug}")).get("REMARKABLE", {})
    return tuple(
        f"{name}: {sentence(bound)} No points depend on this; ask how it was done."
        for name, bound in bounds.items()
        if _reaches(lab.exercises[key := f"{lab.slug}.{name}"], bound, payloads.get(key), expected[key])
    )


def _reaches(exercise: Exercise, bound: Goal, payload: Any, expected: Expected) -> bool:
    alone = replace(exercise, goals=(bound,))
    checks = checks_of(alone, read_outcomes(exercise, payload), expected)
    return any(check.counts and check.passed for check in checks)


def advice(lab: Lab, key: str, verdicts: Mapping[str, Verdict], notebook: NotebookNode) -> str:
    """Points to an earlier exercise of the lab that has to be fixed first; empty if there is none.

    Args:
        notebook: as for :func:`judge`.
    """
    exercise = lab.exercises[key]
    if verdicts[key].correct or not exercise.uses:
        return ""
    reached = reached_from(exercise.name, code_before_check(notebook, key))
    return earlier_first(
        exercise, verdicts[key], reached, lambda name: not verdicts[f"{lab.slug}.{name}"].correct
    )
