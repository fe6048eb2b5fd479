"""From what check cells published to verdicts and points."""

from __future__ import annotations

import json
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from course_utils.checking.checks import CheckResult
from course_utils.checking.comparison import Verdict
from course_utils.checking.outcome import encode
from grader.catalogue import run_cell
from grader.grade.judge import advice, judge
from grader.grade.results import earned
from grader.grade.work import Grading
from grader.handout.demo import solved
from grader.reference.mutants import mutants

SEED = 20_240


@pytest.fixture(scope="module")
def lab(labs):
    return labs["02_self_attention"]


@pytest.fixture(scope="module")
def expected(lab):
    return lab.expected(SEED)


@pytest.fixture(scope="module")
def notebook(lab):
    return solved(lab)


def published(outcomes) -> list:
    """What arrives: JSON, so nothing but text, numbers and lists."""
    return json.loads(json.dumps(encode(list(outcomes))))


def test_the_reference_earns_every_exercise(lab, expected, notebook):
    payloads = {key: published(expected[key].reference) for key in lab.exercises}
    assert all(verdict.correct for verdict in judge(lab, expected, payloads, notebook).values())


def test_every_misconception_is_recognised_as_itself_after_the_journey(lab, expected, notebook):
    for key in lab.exercises:
        for misconception, outcomes in expected[key].misconceptions.items():
            verdict = judge(lab, expected, {key: published(outcomes)}, notebook)[key]
            assert not verdict.correct
            assert misconception.name in [each.name for each in (*verdict.recognised, *verdict.possible)]


def test_outcomes_of_another_seed_earn_next_to_nothing(lab, expected, notebook):
    others = lab.expected(SEED + 1)
    payloads = {key: published(others[key].reference) for key in lab.exercises}
    verdict = judge(lab, expected, payloads, notebook)["self_attention.scaled_dot_product_attention"]
    assert not verdict.correct


def test_a_check_that_published_nothing_was_not_run(lab, expected, notebook):
    for verdict in judge(lab, expected, {}, notebook).values():
        assert verdict.score == 0
        assert "did not run to the end" in verdict.problem


@pytest.mark.parametrize(
    "payload",
    [None, {}, [], "x", 3, [None] * 99, [{"runs": [], "problem": None}], [["gASVBQ=="]], float("nan")],
)
def test_a_malformed_payload_counts_as_not_run(lab, expected, notebook, payload):
    for verdict in judge(lab, expected, dict.fromkeys(lab.exercises, payload), notebook).values():
        assert verdict.score == 0


def test_advice_points_to_the_earlier_exercise_that_is_wrong(lab, expected, notebook):
    payloads = {key: published(expected[key].reference) for key in lab.exercises}
    key = next(key for key, exercise in lab.exercises.items() if exercise.uses)
    first = lab.exercises[key].uses[0]
    assert advice(lab, key, judge(lab, expected, payloads, notebook), notebook) == ""
    del payloads[key], payloads[f"{lab.slug}.{first}"]
    assert f"`{first}`" in advice(lab, key, judge(lab, expected, payloads, notebook), notebook)


@pytest.mark.slow
def test_a_small_mistake_without_a_name_is_told_its_kind_and_costs_the_same(lab, expected, notebook):
    key, told, asked = "self_attention.scaled_dot_product_attention", set(), []
    grading = Grading(lab.course, lab.name, SEED, runner=None)

    def lessons(key):
        asked.append(key)
        return grading.lessons(key, expected)

    right = {other: published(expected[other].reference) for other in lab.exercises}
    for mutant in mutants(lab.solution_texts["scaled_dot_product_attention"]):
        scope = dict(lab.reference)
        run_cell(mutant.source, "<mutant>", scope)
        wrong = {key: published(lab.outcomes(key, scope["scaled_dot_product_attention"], SEED))}
        without = judge(lab, expected, right | wrong, notebook)[key]
        verdict = judge(lab, expected, right | wrong, notebook, lessons=lessons)[key]
        assert (verdict.score, verdict.checks, verdict.recognised) == (
            without.score,
            without.checks,
            without.recognised,
        )
        told |= {each.sentence for each in verdict.symptoms if each.name.startswith("like ")}
        assert not any(each.name.startswith("like ") for each in without.symptoms)
    assert len(told) >= 3
    assert set(asked) == {key}  # nothing that is right asks


def test_no_lesson_is_computed_for_what_was_never_written_or_where_nothing_could_stop_it(
    lab, expected, notebook
):
    def lessons(key):
        raise AssertionError(key)

    judge(lab, expected, {}, notebook, lessons=lessons)
    grading, found = Grading(lab.course, lab.name, SEED, runner=None), []
    thread = threading.Thread(
        target=lambda: found.append(grading.lessons(next(iter(lab.exercises)), expected))
    )
    thread.start()
    thread.join()
    assert found == [()]


@given(passed=st.integers(0, 40), failed=st.integers(0, 40), points=st.floats(0, 100))
def test_points_are_full_only_if_all_checks_hold_and_never_more(passed, failed, points):
    checks = [CheckResult("x", index < passed, case=index) for index in range(passed + failed)]
    verdict = Verdict("x", tuple(checks))
    assert 0 <= earned(verdict, points) <= points
    if verdict.correct:
        assert earned(verdict, points) == points
