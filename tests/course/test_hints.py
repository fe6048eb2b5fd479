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
PASSED = CheckResult("small numbers", True, "", 1)


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


def opened(title: str, *checks: tuple[str, str], **more) -> bool:
    """Whether a hint is opened beside others. A check is a case's title and what is wrong; nothing is if that is empty."""
    cases = tuple(CheckResult(case, not detail, detail, at) for at, (case, detail) in enumerate(checks))
    return fitting([Hint("where do I begin?", ""), Hint(title, "")], Verdict("f", cases, **more)) == 1


def test_a_hint_that_says_what_is_right_is_opened_only_if_it_is():
    title = "right without masks, wrong with them"
    everywhere = (
        ("no masks", "It differs."),
        ("masks that hide nothing", "It differs."),
        ("training mode", ""),
    )
    assert not opened(title, *everywhere)
    assert not opened("post-norm is right, pre-norm is not", ("post-norm", "It differs."), ("a batch", ""))
    given = Symptom("x", "Wrong exactly in the cases in which `mask` is given.")
    assert opened(title, ("no masks", ""), ("a mask", "It differs."), symptoms=(given,))
    assert opened(
        "the shape is right, but a row is missing", ("a table", "A row is missing."), ("no rows", "")
    )


def test_what_a_case_that_passes_is_about_too_opens_no_hint():
    cases = (
        ("pre-norm, a mask", ""),
        ("pre-norm in training", "It differs."),
        ("in training", "It differs."),
    )
    assert not opened("pre-norm", *cases)
    assert not opened(
        "masking", ("large scores; then a mask", "It differs."), ("a mask", ""), ("no mask", "")
    )


def test_what_is_said_to_be_right_or_is_only_a_name_opens_no_hint():
    wrong = ("a batch", "2 of 3 values differ.")
    for title, sentence in (
        ("vectors depend on the batch", "`batch too large` is right; only `vectors` differs."),
        ("leaked rows are missing", "`leaked` is True in places that should be False; nothing that should be True is missing."),
        ("`ids` has one place too many", "`ids` is wrong only in the first column."),
        ("[CLS] is the answer", "Right in every case but one: “the answer is [CLS]”."),
        ("from features to one number", "Each row of `y` is off by one number."),
        ('I get "there is a weight too many"', "Dropout acts on the attention weights."),
    ):  # fmt: skip
        assert not opened(title, wrong, symptoms=(Symptom("x", sentence),)), title
    parts = Symptom(
        "weights", "The parts do not have the names, shapes or number of weights that are needed."
    )
    assert not opened("names with a number in them", wrong, symptoms=(parts,))
    line = "ValueError: too long (Table.forward, line 9 of its cell: if n > self.max_len: raise ValueError)"
    assert not opened("how does forward know max_len?", ("a table", line))


def test_one_too_many_is_as_much_as_too_long():
    long = Symptom("x", "`ids` is too long along the last axis.")
    assert opened("`ids` has one place too many", ("a batch", "Other shapes."), symptoms=(long,))
    assert opened("I get one window too many", ("a batch", "`windows` is too long."))


def test_axes_are_an_axis_and_of_two_hints_that_fit_the_longer_title_is_meant():
    two = Symptom("x", "What sets the first case below apart from all that are right: `mask` has 2 axes.")
    assert opened("where does the new axis of the mask go?", ("a batch", "It differs."), symptoms=(two,))
    hints = [Hint("how long are they?", ""), Hint("the first word is never learned", "")]
    never = Misconception("m", "One place too many is marked.", "So the first word is never learned.")
    check = CheckResult("a batch", False, "It differs.", 0)
    assert fitting(hints, Verdict("f", (check,), possible=(never,))) == 1
