"""Outcomes + expected outcomes + misconceptions -> :class:`Verdict`. Pure functions, used on both sides.

The learner's notebook and the grader call the same :func:`compare`. They differ only in where the expected outcomes come from: ``expected.npz`` at
the public seed, or the reference at a secret one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace

from course_utils.checking.bypass import Use
from course_utils.checking.checks import (
    NOT_ENOUGH,
    CheckResult,
    checks_of,
    score_of,
    seen_at_work,
    without_values,
)
from course_utils.checking.diagnosis import Diagnosis, diagnose
from course_utils.checking.exercise import Exercise, sentence
from course_utils.checking.expected import Expected, Misconception
from course_utils.checking.given import Given
from course_utils.checking.outcome import Outcome, Problem
from course_utils.checking.symptoms.exceptions import UNKNOWN_NAME
from course_utils.checking.symptoms.symptom import Symptom


@dataclass(frozen=True)
class Verdict:
    """Everything that there is to say about a submitted exercise.

    ``recognised`` are misconceptions that are certain, ``possible`` those that fit but need not be meant, and ``symptoms``
    what stands out where none is certain (:mod:`course_utils.checking.diagnosis`).
    ``problem`` is set if no case could be run. ``bypass`` lists the ready-made functions that the code uses. ``later`` has the titles of the goals
    that only grading can judge. ``given`` says what holds given a mistake in an earlier exercise, or with a working one.
    """

    exercise: str
    checks: tuple[CheckResult, ...]
    recognised: tuple[Misconception, ...] = ()
    problem: str = ""
    where: str = ""
    next_step: str = ""
    printed: str = ""
    bypass: tuple[Use, ...] = ()
    later: tuple[str, ...] = ()
    possible: tuple[Misconception, ...] = ()
    symptoms: tuple[Symptom, ...] = ()
    given: Given | None = None

    @property
    def shown(self) -> tuple[CheckResult, ...]:
        """The checks that a report lists."""
        return self.given.checks if self.given else self.checks

    @property
    def passed(self) -> int:
        return sum(check.passed for check in self.checks)

    @property
    def correct(self) -> bool:
        return self.passed == len(self.checks)

    @property
    def score(self) -> float:
        """Share of the exercise's points, 0 to 1; see :func:`course_utils.checking.checks.score_of`.

        Where all that counts is judged later, the right form is all that there is to reach.
        """
        return float(self.correct) if self.later else score_of(self.checks, self.bypass)

    @property
    def summary(self) -> str:
        """One plain sentence."""
        if self.correct:
            return f"{self.exercise}: all {len(self.checks)} checks passed."
        if self.problem:
            return f"{self.exercise}: {self.problem}"
        if self.given:
            return f"{self.exercise}: {self.given.summary}"
        passed = f"{self.passed} of {len(self.checks)} checks passed"
        if not self.bypass:
            return f"{self.exercise}: {passed}."
        others_passed = all(check.passed for check in self.checks if check.counts)
        return (
            f"{self.exercise}: {'everything else is right, but' if others_passed else f'{passed}, and'} "
            f"`{self.bypass[0].name}` does the work. Build it from its parts here; compare with the ready-made "
            "one in an extra cell."
        )


PROBLEMS = {
    "undefined": "not defined yet. Run the cell that defines it, then this one again.",
    "stub": "part of it is not written yet. Replace the lines marked YOUR CODE HERE, then run both cells.",
    "missing": "not checked, because its check cell did not run to the end.",
}

_GRADED = {
    PROBLEMS["undefined"]: "not defined: no cell above its check that ran to the end defines it.",
    PROBLEMS["stub"]: "part of it is not written yet: the lines marked YOUR CODE HERE.",
}
"""The same where a notebook has been graded, and nobody can run a cell."""


def compare(
    exercise: Exercise, outcomes: Sequence[Outcome], expected: Expected, bypass: Sequence[Use] = ()
) -> Verdict:
    """Judges a learner's outcomes, one per case, against the reference's. It never raises, whatever the arrays hold.

    Args:
        outcomes: one for each case of the exercise, which is ensured by :func:`course_utils.checking.outcome.decode`.
        bypass: what :func:`course_utils.checking.bypass.uses_of` found in the learner's source. If that is nothing, what was seen
            when the cases ran counts.
    """
    bypass = bypass or seen_at_work(outcomes)
    checks = checks_of(exercise, outcomes, expected, bypass)
    printed = next((outcome.printed for outcome in outcomes if outcome.printed), "")

    first = outcomes[0].problem
    if first and first.kind in PROBLEMS:
        text = PROBLEMS[first.kind]
        if first.kind == "stub" and (called := re.split(r"\W", first.where)[0]) in exercise.uses:
            text = f"`{called}`, which it calls, is not written yet."
        return Verdict(exercise.name, checks, problem=text, where=first.where, printed=printed)
    matters = (check for check in checks if check.counts or exercise.goals)
    failing = next((check for check in matters if not check.passed), None)
    diagnosis = diagnose(exercise, outcomes, expected) if failing else Diagnosis()
    return Verdict(
        exercise.name,
        checks,
        diagnosis.certain,
        next_step=_next_step(failing, diagnosis.certain),
        printed=printed,
        bypass=tuple(bypass),
        later=() if expected.hidden is not None else tuple(map(sentence, exercise.goals)),
        possible=diagnosis.possible,
        symptoms=diagnosis.symptoms,
    )


def follow_through(verdict: Verdict, given: Given | None) -> Verdict:
    """The verdict on an exercise that is right given a mistake in an earlier one, or with a working one: nothing else is wrong with
    it.
    """
    if not given:
        return verdict
    nothing = {"recognised": (), "possible": (), "symptoms": (), "next_step": "", "problem": "", "where": ""}
    return replace(verdict, given=given, **nothing)


def as_graded(verdict: Verdict) -> Verdict:
    """The verdict in words that fit a notebook that has been graded."""
    return replace(verdict, problem=_GRADED.get(verdict.problem, verdict.problem))


def without_secrets(verdict: Verdict) -> Verdict:
    """The verdict as learners may see it where the cases have a seed that stays secret.

    A learner who sees what was expected can hand in just that the next time, without the work. One who sees that something is too large can find it
    by halves. Learners see which checks pass, and what a mistake that has a name does.
    """
    given = verdict.given and replace(verdict.given, checks=tuple(map(without_values, verdict.given.checks)))
    return replace(
        verdict,
        checks=tuple(map(without_values, verdict.checks)),
        symptoms=tuple(each for each in verdict.symptoms if not each.of_size),
        given=given,
    )


def is_about_names(verdict: Verdict) -> bool:
    """Whether a name without a value is what is wrong, so that :mod:`course_utils.checking.names` may say more."""
    undefined = {PROBLEMS["undefined"], _GRADED[PROBLEMS["undefined"]]}
    return verdict.problem in undefined or any(each.name == UNKNOWN_NAME for each in verdict.symptoms)


def explained(verdict: Verdict, why: Sequence[str]) -> Verdict:
    """A verdict that :func:`is_about_names`, with the sentences of :func:`course_utils.checking.names.why_undefined`."""
    if not why:
        return verdict
    if verdict.problem:
        return replace(verdict, problem=f"not defined. {' '.join(why)}")
    symptoms = (
        replace(each, sentence=" ".join(why)) if each.name == UNKNOWN_NAME else each
        for each in verdict.symptoms
    )
    return replace(verdict, symptoms=tuple(symptoms))


def earlier_first(
    exercise: Exercise, verdict: Verdict, reached: Collection[str], wrong: Callable[[str], bool]
) -> str:
    """Points to an earlier exercise that this one calls and that is wrong; empty if there is none.

    Args:
        reached: the names that this one reaches (:func:`course_utils.checking.names.reached_from`).
        wrong: whether an exercise is wrong as it is now. Asked only about those that are called.
    """
    if verdict.correct or verdict.given:
        return ""
    first = next((name for name in exercise.uses if name in reached and wrong(name)), "")
    return first and f"`{exercise.name}` calls your `{first}`, which is not right yet: fix that first."


def not_run(exercise: Exercise, kind: str) -> list[Outcome]:
    """Outcomes of an exercise whose code could not even be called (``undefined``, ``missing``)."""
    return [Outcome(problem=Problem(kind, ""))] * len(exercise.cases)


# ---------------------------------------------------------------------------------- words


def _next_step(failing: CheckResult | None, recognised: Sequence[Misconception]) -> str:
    if failing is None:
        return ""
    if recognised:
        return recognised[0].hint
    if failing.detail == NOT_ENOUGH:
        return "The form is right, but these predictions do not reach every goal. A better model earns more."
    if failing.case is None:
        return f"Every value is right, but one property is not true: {failing.title}"
    return "Take the first case that fails, and follow its inputs through your code."
