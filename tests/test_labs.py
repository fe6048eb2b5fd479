"""The four truths about every lab: reference 100 %, stub 0, misconceptions known by name, variants 100 %."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from conftest import LABS

from course_utils.comparison import compare
from course_utils.exercise import PUBLIC_SEED
from course_utils.expected import FILE_NAME, load_expected, load_hints
from course_utils.outcome import decode, encode, try_exercise
from grader.demo import reference_texts
from grader.lab import Lab, is_solution, nbgrader_of


@pytest.fixture(scope="module")
def expected(labs):
    """``expected(lab, seed)``, worked out once."""
    return cache(lambda name, seed: labs[name].expected(seed))


def exercises_of_all_labs(course_labs: list[str]) -> list:
    from conftest import ROOT

    from grader.course import Course

    return [
        pytest.param(name, key, marks=[pytest.mark.slow] if "tensorflow" in name else [])  # seconds for each
        for name in course_labs
        for key in Lab.load(Course(ROOT), name).exercises
    ]


EXERCISES = exercises_of_all_labs(LABS)


@pytest.mark.parametrize("lab, key", EXERCISES)
def test_the_reference_earns_everything(labs, expected, lab, key):
    public = expected(lab, PUBLIC_SEED)[key]
    verdict = compare(labs[lab].exercises[key], public.reference, public)
    assert verdict.correct and verdict.score == 1 and not verdict.diagnoses, verdict


@pytest.mark.parametrize("lab, key", EXERCISES)
def test_the_untouched_stub_earns_nothing_and_is_told_so(labs, expected, lab, key):
    exercise = labs[lab].exercises[key]
    namespace = {**labs[lab].reference}
    stub = next(
        cell
        for cell in labs[lab].release().cells
        if is_solution(cell) and nbgrader_of(cell)["grade_id"] == exercise.name
    )
    exec(stub.source, namespace)
    outcomes = try_exercise(exercise, key, namespace[exercise.name], PUBLIC_SEED, namespace)
    verdict = compare(exercise, outcomes, expected(lab, PUBLIC_SEED)[key])
    assert verdict.score == 0 and verdict.passed == 0
    assert "a part is still to be written" in verdict.summary


@pytest.mark.parametrize("lab, key", EXERCISES)
def test_every_misconception_loses_points_and_is_recognised_by_name(labs, expected, lab, key):
    public = expected(lab, PUBLIC_SEED)[key]
    assert public.mistakes, "an exercise without a known misconception"
    for mistake in public.mistakes:
        verdict = compare(labs[lab].exercises[key], mistake.outcomes, public)
        assert verdict.score < 1, mistake.name
        assert [diagnosis.name for diagnosis in verdict.diagnoses] == [mistake.name]


@pytest.mark.parametrize("lab, key", EXERCISES)
def test_at_least_three_correct_variants_in_other_styles_earn_everything(labs, expected, lab, key):
    exercise, variants = labs[lab].exercises[key], labs[lab].variants.get(key, [])
    assert len(variants) >= 3
    for entry in variants:
        verdict = compare(
            exercise, labs[lab].outcomes(key, entry.value, PUBLIC_SEED), expected(lab, PUBLIC_SEED)[key]
        )
        assert verdict.score == 1, (entry.name, [check for check in verdict.checks if not check.passed])


@pytest.mark.parametrize("lab, key", EXERCISES)
def test_what_learners_compare_with_is_what_the_reference_gives(labs, expected, lab, key):
    path = labs[lab].release_folder / FILE_NAME
    stored = load_expected(path, key, labs[lab].exercises[key])
    fresh = expected(lab, PUBLIC_SEED)[key]
    assert compare(labs[lab].exercises[key], stored.reference, fresh).correct
    assert [mistake.name for mistake in stored.mistakes] == [mistake.name for mistake in fresh.mistakes]


@pytest.mark.parametrize("lab, key", EXERCISES)
def test_outcomes_survive_the_wire_unchanged(labs, expected, lab, key):
    reference = expected(lab, PUBLIC_SEED)[key].reference
    carried = decode(encode(list(reference)), len(reference))
    for sent, received in zip(reference, carried, strict=True):
        for run, other in zip(sent.runs, received.runs, strict=True):
            assert list(run) == list(other)
            assert all(
                np.array_equal(run[name], other[name], equal_nan=run[name].dtype.kind == "f") for name in run
            )


@pytest.mark.parametrize("lab, key", EXERCISES)
def test_no_case_hides_a_mistake_behind_equal_sizes(labs, lab, key):
    for case in labs[lab].exercises[key].cases:
        for inputs in case.runs(key, PUBLIC_SEED):
            if "query" in inputs:
                sizes = inputs["query"].shape[-2:] + inputs["key"].shape[-2:-1]
                sizes += inputs["value"].shape[-1:] if "value" in inputs else ()
                assert len(set(sizes)) == len(sizes), f"{case.title}: q_len, d_k, k_len, d_v are {sizes}"


@pytest.mark.parametrize("lab", LABS)
def test_every_hint_teaches_without_the_code(labs, lab):
    given = "\n".join(cell.source for cell in labs[lab].release().cells)
    lines = "\n".join(reference_texts(labs[lab]).values()).splitlines()
    parts = {part.strip() for line in lines for part in (line, line.partition(" = ")[2])}
    secret = {part for part in parts if len(part) >= 12 and part not in given}
    assert secret
    for entries in labs[lab].misconceptions.values():
        for entry in entries:
            assert len(entry.hint) > 40, entry.name
            assert entry.title.endswith("."), entry.name
            assert "`return" not in entry.hint, entry.name
            assert not [part for part in secret if part in entry.hint], entry.name


@pytest.mark.parametrize("name", LABS)
def test_every_exercise_has_hints_and_only_the_check_shows_them(labs, name):
    lab = labs[name]
    for key in lab.exercises:
        hints = load_hints(lab.release_folder / FILE_NAME, key)
        assert hints and all(len(hint.text) > 20 for hint in hints), key
    assert not [cell.id for cell in lab.release().cells if "<summary>Hint" in cell.source]


SEEDS = range(100, 103)
"""The build tries three others."""


@pytest.mark.slow
@pytest.mark.parametrize("name", LABS)
def test_at_other_seeds_all_is_as_at_the_public_one(labs, name):
    """Reference and variants earn everything, misconceptions are recognised, and hold the same checks."""
    lab = labs[name]
    holding: dict[tuple[str, str], set[tuple[str, ...]]] = {}
    for seed in SEEDS:
        for key, at_seed in lab.expected(seed).items():
            exercise = lab.exercises[key]
            right = [entry.value for entry in lab.variants.get(key, [])] if seed == SEEDS[0] else []
            for outcomes in (at_seed.reference, *(lab.outcomes(key, value, seed) for value in right)):
                assert compare(exercise, outcomes, at_seed).correct, (key, seed)
            for mistake in at_seed.mistakes:
                verdict = compare(exercise, mistake.outcomes, at_seed)
                assert [diagnosis.name for diagnosis in verdict.diagnoses] == [mistake.name], (key, seed)
                passed = tuple(check.title for check in verdict.checks if check.passed)
                holding.setdefault((key, mistake.name), set()).add(passed)
    assert not [mistake for mistake, ways in holding.items() if len(ways) > 1]
