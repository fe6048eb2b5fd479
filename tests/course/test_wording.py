"""Messages of exceptions in one form: what each version of Python says is recognised as the same."""

from __future__ import annotations

import contextlib
import io
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from course_utils.checking.comparison import compare
from course_utils.checking.diagnosis import same_everywhere
from course_utils.checking.exercise import Case, Exercise
from course_utils.checking.expected import (
    FILE_NAME,
    Expected,
    Misconception,
    load_expected,
    read_index,
    save_expected,
)
from course_utils.checking.outcome import Outcome, Problem
from course_utils.checking.symptoms.exceptions import complaint_of
from course_utils.checking.wording import in_one_form

SAID = json.loads((Path(__file__).parent / "reworded.json").read_text("utf-8"))
"""A line of code -> what CPython 3.11.7, 3.12.1, 3.13.0 and 3.15 say about it, each wording once, in this order."""


@pytest.mark.parametrize("code", SAID)
def test_what_every_version_of_python_says_has_one_form(code):
    assert len(SAID[code]) > 1, "no version words it differently"
    assert len({in_one_form(message) for message in SAID[code]}) == 1


@pytest.mark.parametrize("code", SAID)
def test_the_symptom_is_the_same_in_every_version(code):
    assert len({complaint_of(Problem("exception", message)) for message in SAID[code]}) == 1


def test_what_this_python_says_is_in_the_table():
    """So the table was not made up; a Python that is newer than it may say something else."""
    found = 0
    for code, messages in SAID.items():
        try:
            with contextlib.redirect_stdout(io.StringIO()):
                exec(code, {"np": np})
        except Exception as error:
            message = f"{type(error).__name__}: {error}"
            assert in_one_form(message) == in_one_form(messages[0]), code
            found += message in messages
    assert found > 0.9 * len(SAID)


@pytest.mark.parametrize(
    "message",
    [
        "ValueError: operands could not be broadcast together with shapes (2,3) (4,) ",
        "ValueError: not enough values to unpack (expected 3, got 2)",
        "ValueError: too many values to unpack (expected 2)",
        "ValueError: expected a single row",
        "ValueError: '0' is not one of the labels: matplotlib, networkx.",
        "TypeError: 'NoneType' object is not subscriptable",
        "KeyError: 'too many values to unpack (expected 2, got 3)'",
        "RuntimeError: The size of tensor a (3) must match the size of tensor b (4) at non-singleton dimension 1",
        "It returned None: is the `return` line there, and is it reached?",
        "",
    ],
)
def test_what_is_said_in_one_way_only_stays_as_it_is(message):
    assert in_one_form(message) == message


@pytest.mark.parametrize(
    "one, other",
    [
        ("ValueError: too many values to unpack (expected 2, got 3)", "ValueError: too many values to unpack (expected 3, got 4)"),
        ("ValueError: too many values to unpack (expected 2)", "ValueError: not enough values to unpack (expected 2, got 1)"),
        ("TypeError: unhashable type: 'list'", "TypeError: unhashable type: 'dict'"),
        ("TypeError: Value after * must be an iterable, not int", "TypeError: Value after ** must be a mapping, not int"),
        ("ZeroDivisionError: division by zero", "ZeroDivisionError: 0.0 cannot be raised to a negative power"),
        ("TypeError: f() takes 1 positional argument but 2 were given", "TypeError: f() takes 2 positional arguments but 3 were given"),
    ],
)  # fmt: skip
def test_what_says_different_things_keeps_different_forms(one, other):
    assert in_one_form(one) != in_one_form(other)


pieces = st.sampled_from(
    [message for messages in SAID.values() for message in messages] + [" (got 3)", "'", ")", " argument after * must be "]
)  # fmt: skip


@given(st.one_of(st.text(max_size=300), st.lists(pieces, max_size=3).map("".join)))
def test_a_form_is_its_own_form_whatever_the_message(message):
    assert in_one_form(in_one_form(message)) == in_one_form(message)


# ---------------------------------------------------------------------------------- in use

EXERCISE = Exercise("f", ("result",), (Case("one", lambda rng: {}), Case("two", lambda rng: {})))
OLD = "ValueError: too many values to unpack (expected 2)"
NEW = "ValueError: too many values to unpack (expected 2, got 3)"


def raising(message: str) -> Outcome:
    return Outcome(problem=Problem("exception", message))


def expected_with(message: str) -> Expected:
    right = Outcome(({"result": np.zeros(2)},))
    known = {Misconception("flat_only", "It works for a table only.", "Which axes are there?"): (right, raising(message))}  # fmt: skip
    return Expected(([{}], [{}]), (right, right), known)


@pytest.mark.parametrize("stored, raised", [(OLD, NEW), (NEW, OLD)])
def test_a_misconception_is_recognised_in_the_words_of_another_python(tmp_path, stored, raised):
    save_expected(tmp_path / FILE_NAME, {"lab.f": expected_with(stored)}, {})
    known = load_expected(tmp_path / FILE_NAME, "lab.f", EXERCISE)
    outcomes = (known.reference[0], raising(raised))
    verdict = compare(EXERCISE, outcomes, known)
    assert [each.name for each in verdict.recognised] == ["flat_only"]
    assert raised in "".join(check.detail for check in verdict.checks), (
        "a learner reads their own Python's words"
    )


def test_a_file_that_was_written_in_other_words_is_read_in_one_form(tmp_path):
    said = {"lab.f": {"misconceptions": [["a", "b", "c", [{"runs": [], "problem": ["exception", "ZeroDivisionError: float division by zero"], "changed": []}]]]}}  # fmt: skip
    index = read_index(np.frombuffer(json.dumps(said).encode(), np.uint8))
    assert index["lab.f"]["misconceptions"][0][3][0]["problem"] == [
        "exception",
        "ZeroDivisionError: division by zero",
    ]


def test_messages_are_stored_in_one_form(tmp_path):
    save_expected(tmp_path / FILE_NAME, {"lab.f": expected_with(NEW)}, {})
    assert OLD in np.load(tmp_path / FILE_NAME)["index"].tobytes().decode()


@pytest.mark.parametrize(
    "lab, name",
    [("self_attention.project_qkv", "single_sentence_only"), ("self_attention.scaled_dot_product_attention", "two_dimensional_only")],
)  # fmt: skip
def test_a_misconception_of_lab_02_that_unpacks_is_recognised_under_python_3_15(labs, lab, name):
    exercise = labs["02_self_attention"].exercises[lab]
    known = load_expected(labs["02_self_attention"].release_folder / FILE_NAME, lab, exercise)
    told = {each.name: outcomes for each, outcomes in known.misconceptions.items()}[name]
    newer = [
        outcome
        if outcome.problem is None
        else replace(outcome, problem=replace(outcome.problem, message=outcome.problem.message.replace("(expected 2)", "(expected 2, got 3)")))
        for outcome in told
    ]  # fmt: skip
    assert any(outcome.problem and "got 3" in outcome.problem.message for outcome in newer)
    assert same_everywhere(exercise, newer, told)
    verdict = compare(exercise, newer, known)
    assert [each.name for each in (*verdict.recognised, *verdict.possible)] == [name]
