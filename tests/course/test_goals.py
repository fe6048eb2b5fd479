"""Exercises whose output is measured against what only instructors have, such as predictions."""

from __future__ import annotations

import numpy as np

from course_utils.checking.comparison import compare
from course_utils.checking.exercise import Case, Exercise
from course_utils.checking.expected import Expected, Misconception, for_learners, load_expected, save_expected
from course_utils.checking.outcome import Outcome, Problem
from course_utils.checking.report import Report

TRUE = np.array([0, 1, 2, 0, 1, 2])
REFERENCE = np.array([0, 1, 2, 0, 1, 1])


def half(inputs, outputs, hidden):
    """At least half are right."""
    return (outputs["labels"] == hidden["labels"]).mean() >= 0.5


def all_but_one(inputs, outputs, hidden):
    """At most one is wrong."""
    return (outputs["labels"] != hidden["labels"]).sum() <= 1


EXERCISE = Exercise(
    "predictions",
    ("labels",),
    (Case("a label for each text", lambda rng: {"texts": list("abcdef")}),),
    goals=(half, all_but_one),
)
REVERSED = Misconception("reversed_order", "The order is reversed.", "The first text comes first.")
TOO_FEW = Misconception("too_few", "Some are missing.", "There is a label for each text.")


def outcome(array) -> Outcome:
    return Outcome(({"labels": np.asarray(array)},))


EXPECTED = Expected(
    ([{"texts": list("abcdef")}],),
    (outcome(REFERENCE),),
    {REVERSED: (outcome(REFERENCE[::-1]),), TOO_FEW: (Outcome(problem=Problem("exception", "too few")),)},
    {"labels": TRUE},
)
PUBLIC = for_learners(EXERCISE, EXPECTED)


def graded(array, expected=EXPECTED):
    return compare(EXERCISE, [array if isinstance(array, Outcome) else outcome(array)], expected)


def test_each_goal_earns_the_same_and_nothing_else_does():
    assert graded(REFERENCE).score == 1
    assert graded([0, 1, 2, 0, 0, 0]).score == 0.5
    assert graded([2, 2, 1, 1, 0, 0]).score == 0


def test_other_values_than_the_references_may_be_better():
    assert graded(TRUE).correct


def test_a_wrong_form_reaches_no_goal():
    for wrong in (TRUE[:5], TRUE + 0.5, TRUE == 1, np.full(6, np.nan), np.array(1)):
        verdict = graded(wrong)
        assert verdict.score == 0
        assert "expected" in verdict.checks[0].detail


def test_code_that_raises_reaches_no_goal():
    assert graded(Outcome(problem=Problem("exception", "ValueError: no"))).score == 0


def test_whole_numbers_may_be_floats():
    assert graded(TRUE.astype(float)).correct


def test_misconceptions_are_recognised_in_grading():
    assert graded(REFERENCE[::-1]).recognised == (REVERSED,)
    assert graded(Outcome(problem=Problem("exception", "too few"))).possible == (TOO_FEW,)


def test_a_learner_sees_the_form_and_the_names_of_the_goals():
    verdict = graded([2, 2, 2, 2, 2, 2], PUBLIC)
    assert verdict.correct
    assert verdict.score == 1
    assert verdict.later == ("At least half are right.", "At most one is wrong.")
    report = Report(verdict)
    assert "At most one is wrong." in repr(report)
    assert "At most one is wrong." in report._repr_html_()
    wrong = graded(TRUE[:5], PUBLIC)
    assert not wrong.correct
    assert wrong.score == 0


def test_in_grading_nothing_is_left_for_later():
    assert not graded(REFERENCE).later


def test_nothing_that_is_handed_out_gives_the_hidden_labels_away(tmp_path):
    assert PUBLIC.hidden is None
    assert not PUBLIC.reference[0].runs[0]["labels"].any()
    assert list(PUBLIC.misconceptions) == [TOO_FEW]
    save_expected(tmp_path / "expected.npz", {"lab.predictions": PUBLIC}, {})
    loaded = load_expected(tmp_path / "expected.npz", "lab.predictions", EXERCISE)
    assert loaded.hidden is None
    with np.load(tmp_path / "expected.npz") as arrays:
        assert not any(arrays[name].any() for name in arrays.files if name != "index")


def test_an_exercise_without_goals_is_handed_out_as_it_is():
    plain = Exercise("answer", ("labels",), EXERCISE.cases)
    assert for_learners(plain, EXPECTED).reference == EXPECTED.reference
    assert for_learners(plain, EXPECTED).misconceptions == EXPECTED.misconceptions


def test_a_goal_that_raises_is_not_reached():
    def broken(inputs, outputs, hidden):
        """It cannot be computed."""
        raise KeyError("missing")

    exercise = Exercise("predictions", ("labels",), EXERCISE.cases, goals=(broken, half))
    assert compare(exercise, [outcome(TRUE)], EXPECTED).score == 0.5
