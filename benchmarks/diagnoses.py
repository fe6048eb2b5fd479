"""What the checks say about attempts that were written without a look at the catalogue.

    python benchmarks/diagnoses.py FOLDER [LAB ...]

The folder has a file for each lab, ``NN_slug.py``, with a list ``ATTEMPTS`` of dicts: ``exercise``, ``name``, ``right`` (whether it is
correct), ``what`` (one sentence), ``source``. Every attempt is judged at the public seed against the lab's ``expected.npz``. What is said is printed
one by one, so that somebody can read whether it is true; the shares follow.
"""

from __future__ import annotations

import os
import runpy
import sys
from collections import Counter
from pathlib import Path

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("KERAS_BACKEND", "tensorflow")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from course_utils.checking.comparison import Verdict, compare
from course_utils.checking.exercise import PUBLIC_SEED
from course_utils.checking.expected import FILE_NAME, load_expected
from course_utils.checking.outcome import try_exercise
from grader.catalogue import run_cell
from grader.course import Course
from grader.reference.lab import Lab


def said(verdict: Verdict) -> list[tuple[str, str]]:
    """(mark, words) of everything that a report says about the cause, the most certain first."""
    found = [("certain", f"{each.name}: {each.title}") for each in verdict.recognised]
    found += [("possible", f"{each.name}: {each.title}") for each in verdict.possible]
    return found + [(each.name, each.sentence) for each in verdict.symptoms]


def kind_of(verdict: Verdict) -> str:
    """How much is said: a name, a possible cause, a symptom, or nothing but the lines of the checks."""
    if verdict.recognised:
        return "certain"
    if verdict.possible:
        return "possible"
    if any(each.name.startswith("like ") for each in verdict.symptoms):
        return "general"
    if verdict.symptoms and verdict.symptoms[0].name != "the form is right":
        return "symptom"
    values = [check for check in verdict.checks if not check.passed and check.case is not None]
    return "property" if not values else "nothing"


def main(folder: Path, only: list[str]) -> None:
    course, total = Course(Path(__file__).resolve().parents[1]), Counter()
    for path in sorted(folder.glob("[0-9][0-9]_*.py")):
        if only and path.stem not in only and path.stem[:2] not in only:
            continue
        lab, counts = Lab.load(course, path.stem), Counter()
        loaded = {
            key: load_expected(lab.release_folder / FILE_NAME, key, exercise)
            for key, exercise in lab.exercises.items()
        }
        for attempt in runpy.run_path(str(path))["ATTEMPTS"]:
            name, key = attempt["exercise"], f"{lab.slug}.{attempt['exercise']}"
            scope = dict(lab.reference)
            try:
                run_cell(attempt["source"], f"<attempt {attempt['name']}>", scope)
            except Exception as error:
                print(f"{path.stem[:2]} {name} / {attempt['name']}: the cell fails: {error!r}")
                counts["cell fails"] += 1
                continue
            outcomes = try_exercise(lab.exercises[key], key, scope[name], PUBLIC_SEED, scope)
            verdict = compare(lab.exercises[key], outcomes, loaded[key])
            if attempt["right"] or verdict.correct:
                kind = ("right, " if attempt["right"] else "WRONG, ") + (
                    "passes" if verdict.correct else "LOST"
                )
                counts[kind] += 1
                if kind not in ("right, passes",):
                    print(f"{path.stem[:2]} {name} / {attempt['name']}: {kind}: {attempt['what']}")
                continue
            kind = kind_of(verdict)
            counts[kind] += 1
            counts["wrong"] += 1
            print(f"{path.stem[:2]} {name} / {attempt['name']} [{kind}]: {attempt['what']}")
            for mark, words in said(verdict):
                print(f"      {mark} > {words}")
            if kind in ("nothing", "property"):
                failing = next(check for check in verdict.checks if not check.passed)
                print(f"      check > {failing.title} {failing.detail[:200]}")
        print(f"== {path.stem}: {_shares(counts)}", flush=True)
        total += counts
    print(f"== all: {_shares(total)}")


def _shares(counts: Counter) -> str:
    wrong = counts["wrong"] or 1
    words = [f"{counts['wrong']} wrong"]
    for kind in ("certain", "possible", "general", "symptom", "property", "nothing"):
        words.append(f"{kind} {counts[kind]} ({counts[kind] / wrong:.0%})")
    rest = [f"{kind} {count}" for kind, count in counts.items() if "," in kind or kind == "cell fails"]
    return ", ".join([*words, *rest])


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
