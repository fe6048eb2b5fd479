"""Which mutants get the name of a misconception: to read whether its title and hint are true of all of them.

    python benchmarks/names.py [LAB ...]

A misconception is named where the output is the same in every case. Several mistakes may give that output, and the title must be
true of each. So it judges every mutant of a lab's references, and some of each correct variant (:mod:`grader.author.each_mutant`), at the public
seed. It prints each misconception with the changes that get its name.
"""

from __future__ import annotations

import itertools
import os
import sys
from collections import defaultdict
from dataclasses import replace
from pathlib import Path
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("KERAS_BACKEND", "tensorflow")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from course_utils.checking.comparison import compare
from course_utils.checking.exercise import PUBLIC_SEED
from course_utils.checking.expected import FILE_NAME, load_expected
from course_utils.checking.outcome import try_exercise
from grader.author.each_mutant import each_mutant
from grader.catalogue import run_cell
from grader.course import Course
from grader.reference.lab import Lab

OF_A_VARIANT = 20
SECONDS = 5.0
"""A mutant may compute for so long in each case, if the exercise does not allow it less."""


class Namer:
    """Says which misconceptions a text is certainly said to be."""

    def __init__(self, lab: Lab, name: str) -> None:
        self.name, self.key = name, f"{lab.slug}.{name}"
        exercise = lab.exercises[self.key]
        self.exercise = replace(exercise, seconds=min(SECONDS, exercise.seconds))
        self.expected = load_expected(lab.release_folder / FILE_NAME, self.key, self.exercise)

    def __call__(self, text: str, names: dict[str, Any], of: str) -> list[str] | None:
        scope = dict(names)
        try:
            run_cell(text, f"<mutant of {self.name}>", scope)
        except Exception:
            return None
        outcomes = try_exercise(self.exercise, self.key, scope.get(self.name), PUBLIC_SEED, scope)
        verdict = compare(self.exercise, outcomes, self.expected)
        return [each.name for each in verdict.recognised] or None


def main(only: list[str]) -> None:
    course = Course(Path(__file__).resolve().parents[1])
    for lab_name in course.labs():
        if only and lab_name not in only and lab_name[:2] not in only:
            continue
        lab = Lab.load(course, lab_name)
        got = defaultdict(list)
        names = [exercise.name for exercise in lab.exercises.values()]
        of_references, of_variants = (
            each_mutant(lab, names, 1, Namer, sample) for sample in (None, OF_A_VARIANT)
        )
        for exercise, tried in itertools.chain(of_references, of_variants):
            for name in tried.said if tried else ():
                changed = f"{tried.of}, {tried.mutant.kind}: {tried.mutant.old}  =>  {tried.mutant.new}"
                pair = " (with another)" if len(tried.said) > 1 else ""
                got[exercise, name].append(changed + pair)
        for key, entries in lab.misconceptions.items():
            exercise = lab.exercises[key].name
            for entry in entries:
                if found := got.get((exercise, entry.name)):
                    print(
                        f"## {lab_name[:2]} {exercise} / {entry.name}\n   title: {entry.title}\n   hint: {entry.hint}"
                    )
                    print(*(f"   - {change}" for change in found), sep="\n", flush=True)
        print(f"== {lab_name}: {len(got)} names", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
