"""Which hints are shown, and which of them is open."""

from __future__ import annotations

import re

from course_utils.checking.checks import CheckResult
from course_utils.checking.comparison import Verdict
from course_utils.checking.expected import Hint, Misconception
from course_utils.checking.hints import fitting, shown
from course_utils.checking.symptoms.symptom import Symptom

HINTS = [
    Hint("where do I begin?", "Look at the docstring."),
    Hint("I get NaN for large scores", "The exponential overflows."),
    Hint("rows with every key blocked", "Nothing is left to share out."),
    Hint("what are all the steps, in words?", "Shift, exponential, sum, division."),
]
FAILED = CheckResult("large scores, around 1000", False, "`probabilities` contains NaN (not a number).", 0)
PASSED = CheckResult("one row", True, "", 1)


def verdict(**more) -> Verdict:
    return Verdict("softmax", (FAILED, PASSED), **more)


def numbers(text: str) -> list[int]:
    return [int(number) for number in re.findall(r"Hint (\d) of 4", text)]


def test_before_the_first_attempt_there_is_one_hint_and_none_is_open():
    text = shown(HINTS, 0, False, verdict())
    assert numbers(text) == [1] and "<details open>" not in text and "More hints open" in text


def test_the_hint_of_the_failing_case_comes_first_and_is_open():
    text = shown(HINTS, 1, False, verdict())
    assert numbers(text) == [2, 1, 3] and text.startswith("<details open><summary>Hint 2")
    assert "Hint 4 opens when you have tried 3 times." in text


def test_the_hint_of_a_possible_cause_or_a_symptom_goes_before_that_of_the_failing_case():
    known = Misconception("blocked", "Rows whose keys are all blocked are shared out.", "")
    assert fitting(HINTS, verdict(possible=(known,))) == 2
    assert (
        fitting(HINTS, verdict(symptoms=(Symptom("x", "Wrong only in rows whose every key is blocked."),)))
        == 2
    )


def test_none_is_opened_where_the_mistake_is_known_because_the_report_says_what_helps():
    known = Misconception(
        "blocked", "Rows whose keys are all blocked are shared out.", "Nothing is left to share."
    )
    text = shown(HINTS, 1, False, verdict(recognised=(known,)))
    assert numbers(text) == [1, 2, 3] and "<details open>" not in text


def test_what_a_case_is_about_tells_nothing_where_every_case_fails():
    about = CheckResult("rows in which every key is blocked", False, "3 of 4 values differ.", 0)
    assert fitting(HINTS, Verdict("softmax", (about, PASSED))) == 2
    assert (
        fitting(HINTS, Verdict("softmax", (about, CheckResult("one row", False, "2 of 4 values differ.", 1))))
        is None
    )


def test_the_whole_way_opens_with_the_third_attempt_or_when_it_was_solved():
    assert numbers(shown(HINTS, 2, False, verdict())) == [2, 1, 3]
    assert numbers(shown(HINTS, 3, False, verdict())) == [2, 1, 3, 4]
    assert numbers(shown(HINTS, 1, True, verdict())) == [2, 1, 3, 4]


def test_nothing_is_opened_where_nothing_fits():
    other = Verdict("softmax", (CheckResult("a table", False, "`y` differs.", 0),))
    assert fitting(HINTS, other) is None and "<details open>" not in shown(HINTS, 1, False, other)
    assert fitting([], verdict()) is None
