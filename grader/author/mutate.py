"""What the checks of a lab let pass: mutants of its reference, and of its correct variants, judged as learners' code is.

A mutant that keeps full marks at any seed is tried on many more legal inputs (:mod:`grader.author.legal`). If it differs from the reference
there, the checks have a hole, and the input shows it. If it never does, it is as right as the reference. What differs, but only where the exercise
promises nothing, stands in ``equivalent.toml`` beside the lab, with the reason; ``mutants.json`` records what became of the reference's mutants.
"""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

from course_utils.checking.checks import checks_of, score_of
from course_utils.checking.exercise import Exercise
from course_utils.checking.expected import Expected
from course_utils.checking.outcome import try_case
from grader.author.each_mutant import each_mutant
from grader.author.faults import SEEDS
from grader.author.legal import LegalInputs
from grader.author.survivors import Report, Survivor, equivalents
from grader.catalogue import run_cell
from grader.course import CourseError
from grader.reference.lab import Lab

TIMES_AS_LONG, SECONDS_MORE = 20, 1.0
"""A mutant may compute for so many times as long as what it was made from, and so many seconds more, in each case. One that needs
longer is taken for one that never ends."""
SEARCH_SECONDS = 0.5
"""So much CPU time goes into the search for an input that tells a survivor from the reference."""


def mutate(lab: Lab, jobs: int, only: str | None = None, of_variants: int | None = None) -> Report:
    """Tries the mutants of a lab's references, or of its correct variants.

    Args:
        jobs: processes at a time.
        only: the name of an exercise, to try no other.
        of_variants: at most so many mutants of each correct variant are tried, and none of the references. They are chosen by what is changed,
            so a smaller sample is a part of a larger one, and an edited line changes the choice only where it stands.

    Raises:
        CourseError: there is no such exercise, or the reference cannot be run.
    """
    names = [exercise.name for exercise in lab.exercises.values()]
    if only is not None and only not in names:
        raise CourseError(f"{lab.name} has no exercise {only!r}. It has {', '.join(names)}.")
    known = equivalents(lab)
    report, met = Report(), set()
    for name, survives in each_mutant(lab, [only] if only else names, jobs, _Judge, of_variants):
        report.tried[name] = report.tried.get(name, 0) + 1
        if survives is None:
            continue
        of, mutant, (seed, differs) = survives
        survivor = Survivor(name, of, mutant.kind, mutant.old, mutant.new, seed, mutant.place, differs)
        entries = survivor.change.entries & known.keys()
        if not survivor.may_be_wrong:
            report.same[name] = report.same.get(name, 0) + 1
        elif entries:
            met |= entries
            report.excused[name] = report.excused.get(name, 0) + 1
        else:
            report.survivors.append(survivor)
    report.tried = {name: report.tried[name] for name in names if name in report.tried}
    report.survivors.sort(
        key=lambda each: (names.index(each.exercise), each.of, each.old, each.new, each.place or 0)
    )
    if of_variants is None:
        report.unused = [change for change in known if change not in met and change.exercise in report.tried]
    return report


class _Judge:
    """Judges texts of one exercise, at every seed, and stops at the first case that is wrong. Survivors are tried on more inputs."""

    def __init__(self, lab: Lab, name: str) -> None:
        self.lab, self.name, self.key = lab, name, f"{lab.slug}.{name}"
        self.exercise: Exercise = lab.exercises[self.key]
        self.expected = {
            seed: Expected(
                inputs=tuple(case.runs(self.key, seed) for case in self.exercise.cases),
                reference=lab.outcomes(self.key, lab.reference[name], seed),
                hidden=lab.hidden if self.exercise.goals else None,
            )
            for seed in SEEDS
        }
        cases = self.exercise.cases
        self.alone = [replace(self.exercise, cases=cases[at : at + 1]) for at in range(len(cases))]
        self._limited: dict[str, list[Exercise]] = {}
        self._legal: LegalInputs | None = None

    def __call__(self, text: str, names: dict[str, Any], of: str = "reference") -> tuple[int, str] | None:
        """A seed at which a text keeps full marks, and an input that tells it from the reference, in words, or nothing; None if there is
        no such seed.

        Args:
            of: what the text was made from: "reference", or the name of a correct variant.
        """
        scope = dict(names)
        try:
            run_cell(text, f"<mutant of {self.name}>", scope)
        except Exception:
            return None
        value = scope.get(self.name)
        telling = 0  # the case that was wrong at one seed is probably wrong at the next
        for seed in SEEDS:
            wrong = self._wrong_case(value, seed, of, telling)
            if wrong is None:
                return seed, self._what_tells(value, of)
            telling = wrong
        return None

    def _what_tells(self, value: Any, of: str) -> str:
        """A legal input for which the value is wrong, in words; empty if none was found."""
        if self.exercise.goals:
            return "what its goals do not measure"
        if self._legal is None:
            right = [
                self.lab.reference[self.name],
                *(each.value for each in self.lab.variants.get(self.key, [])),
            ]
            seconds = max(each.seconds for each in self._limited_as("reference"))
            self._legal = LegalInputs(replace(self.exercise, seconds=seconds), self.key, right)
        seconds = max(each.seconds for each in self._limited_as(of))
        used = 0.0
        for legal in self._legal:
            begin = time.process_time()
            if not self._legal.agrees(legal, value, seconds):
                return str(legal)
            used += time.process_time() - begin
            if used > SEARCH_SECONDS:
                break
        return ""

    def _wrong_case(self, value: Any, seed: int, of: str, telling: int) -> int | None:
        """The first case that is wrong, beginning with the ``telling`` one; None if all is right."""
        expected, limited, outcomes = self.expected[seed], self._limited_as(of), {}
        for at in sorted(range(len(limited)), key=lambda at: at != telling):
            case = self.exercise.cases[at]
            outcomes[at] = try_case(limited[at], case, self.key, value, seed)
            here = replace(
                expected, inputs=expected.inputs[at : at + 1], reference=expected.reference[at : at + 1]
            )
            if not checks_of(self.alone[at], [outcomes[at]], here)[0].passed:
                return at
        in_order = [outcomes[at] for at in range(len(limited))]
        return None if score_of(checks_of(self.exercise, in_order, expected)) == 1 else telling

    def _limited_as(self, of: str) -> list[Exercise]:
        """The exercise with the time limit of each of its cases."""
        if of not in self._limited:
            value = self.lab.reference[self.name]
            if of != "reference":
                value = next(each.value for each in self.lab.variants[self.key] if each.name == of)
            self._limited[of] = []
            for case in self.exercise.cases:
                begin = time.process_time()
                try_case(self.exercise, case, self.key, value, SEEDS[0])
                seconds = SECONDS_MORE + TIMES_AS_LONG * (time.process_time() - begin)
                limit = min(seconds, self.exercise.seconds)
                self._limited[of].append(replace(self.exercise, seconds=limit))
        return self._limited[of]
