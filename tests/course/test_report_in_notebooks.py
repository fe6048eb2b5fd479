"""How a verdict is shown: what is wrong once, what could not be tested neutrally, what holds folded."""

from __future__ import annotations

import re

import pytest

from course_utils.checking.checks import NOT_ENOUGH, NOT_REACHED, CheckResult
from course_utils.checking.comparison import Verdict
from course_utils.checking.expected import Misconception
from course_utils.checking.report import MOST_WORDS, Report
from course_utils.checking.symptoms.symptom import Symptom


def wrong(case: int, detail: str) -> CheckResult:
    return CheckResult(f"case {case}", False, detail, case)


def texts(verdict: Verdict, key: str = "lab.f") -> tuple[str, str]:
    report = Report(verdict, key)
    return repr(report), report._repr_html_()


def test_cases_that_are_wrong_in_the_same_way_are_folded_into_the_first():
    numbers = [
        wrong(0, "2 of 3 values differ, most at `y[0]`: got 1, expected -2.5e-05."),
        wrong(1, "9 of 12 values differ, most at `y[0, 2, 1]`: got nan, expected 0."),
        wrong(2, "`y` has shape (4, 3); expected (3, 4)."),
        wrong(3, "1 of 3 values differ, most at `y[2]`: got inf, expected 1."),
        wrong(4, "`y` has shape (2,); expected (2, 1)."),
    ]
    text, html = texts(Verdict("f", tuple(numbers)))
    assert text.count("values differ") == 1 and "The same in 2 other cases." in text
    assert text.count("has shape") == 1 and "The same in 1 other case." in text
    folded = re.findall(r"<details><summary[^>]*>([^<]*)</summary>(.*?)</details>", html)
    assert [summary for summary, _ in folded] == ["The same in 2 other cases", "The same in 1 other case"]
    assert "case 1" in folded[0][1] and "got nan" in folded[0][1] and "case 3" in folded[0][1]
    assert html.index("case 0") < html.index("<details>")


def test_the_inputs_to_try_are_those_that_differ_where_a_case_has_several():
    one, two = (CheckResult("three rows", False, "`y` differs.", 4, run=run) for run in (None, (2, 3)))
    for shown in texts(Verdict("f", (two,))):
        assert "Inputs 2 of 3: " in shown and re.search(r"case=4\)\[1\]$|case=4\)\[1\]<", shown, re.MULTILINE)
    for shown in texts(Verdict("f", (one,))):
        assert "Inputs" not in shown and "case=4)" in shown and "case=4)[" not in shown


def test_each_goal_that_is_missed_is_named_and_there_are_no_inputs_to_try():
    checks = (
        CheckResult("At least 45 % are right.", True, "", 0),
        CheckResult("At least 60 % are right.", False, NOT_ENOUGH, 0),
        CheckResult("At least 70 % are right.", False, NOT_ENOUGH, 0),
    )
    text, html = texts(Verdict("f", checks))
    for said in (text, html):
        assert "The same in" not in said and "inputs_of" not in said
        assert said.count(NOT_ENOUGH) == 2 and "60 %" in said and "70 %" in said


def test_other_arrays_other_errors_and_properties_are_said_apart():
    checks = (
        wrong(0, "1 of 3 values differ, most at `weights[2]`: got 3, expected 1."),
        wrong(1, "1 of 3 values differ, most at `output[2]`: got 3, expected 1."),
        CheckResult("Sums to 1.", False, "It does not hold for: case 0"),
        CheckResult("Is finite.", False, "It does not hold for: case 0"),
    )
    text, html = texts(Verdict("f", checks))
    assert "The same in" not in text + html
    assert all(check.title in text and check.title in html for check in checks)


def test_what_could_not_be_tested_is_neither_right_nor_wrong():
    checks = (
        wrong(0, "`weights` has shape (2,); expected (3,)."),
        CheckResult("Sums to 1.", False, NOT_REACHED),
        CheckResult("Is finite.", False, NOT_REACHED),
    )
    text, html = texts(Verdict("f", checks))
    assert (
        "   -   2 checks skipped: your result does not have the right form, so there is nothing to test."
        in text
        and text.count("not  ") == 1
    )
    assert html.count('aria-label="failed"') == 1 and html.count('aria-label="not tested"') == 1
    assert "Sums to 1." in html.partition("<details>")[2]


@pytest.mark.parametrize(
    "detail",
    [
        "ValueError: no",
        "ValueError",
        "ValueError (softmax, line 3 of its cell: raise ValueError)",
        "It was still computing after 10 seconds and was stopped.",
        "It did nothing for 20 seconds and was stopped.",
    ],
)
def test_what_raised_or_was_stopped_gave_no_result_of_a_wrong_form(detail):
    checks = (wrong(0, detail), wrong(1, "IndexError: no"), CheckResult("Sums to 1.", False, NOT_REACHED))
    for shown in texts(Verdict("f", checks)):
        assert "1 check skipped: there is no result to test." in shown and "right form" not in shown
    some = (*checks, wrong(2, "It returned 2 values; expected just `weights`."))
    assert all("right form" in shown for shown in texts(Verdict("f", some)))


def test_what_holds_is_one_line_that_opens():
    right = tuple(CheckResult(f"case {number}", True, case=number) for number in range(3))
    text, html = texts(Verdict("f", (*right, wrong(3, "No output."))))
    assert "ok   3 checks" in text and "case 1" not in text
    assert html.index('aria-label="failed"') < html.index("3 checks passed") < html.index("case 1")
    _, html = texts(Verdict("f", right))
    assert "all 3 checks passed." in html and "What was checked</summary>" in html and "inputs_of" not in html


def test_the_inputs_of_the_first_case_that_fails_can_be_copied_as_code():
    checks = (CheckResult("case 0", True, case=0), wrong(1, "No output."), wrong(2, "No output."))
    for shown in texts(Verdict("f", checks), "lab.f"):
        lines = re.search(r"from course_utils import inputs_of\n *(inputs_of\(.*\))", shown)
        assert lines[1].replace("&quot;", '"') == 'inputs_of("lab.f", case=1)'
    only_a_property = Verdict(
        "f", (checks[0], CheckResult("Is finite.", False, "It does not hold for: case 0"))
    )
    assert not any("inputs_of" in shown for shown in texts(only_a_property))
    assert not any("inputs_of" in shown for shown in texts(Verdict("f", checks), ""))


def test_what_is_not_certain_is_said_as_such_and_escaped():
    cause = Misconception("known", "The <b>mask</b> is ignored.", "Look at `mask`.")
    symptom = Symptom("transposed", "`y` has its last two axes exchanged.")
    text, html = texts(Verdict("f", (wrong(0, "It differs."),), possible=(cause,), symptoms=(symptom,)))
    assert "One possible cause: The <b>mask</b> is ignored.\n     Look at `mask`." in text
    assert "What stands out: `y` has its last two axes exchanged." in text
    assert "what this mistake does" not in text + html
    assert "One possible cause: The &lt;b&gt;mask&lt;/b&gt; is ignored.<br>Look at <code>mask</code>." in html
    assert "What stands out: <code>y</code> has" in html


def test_one_certain_mistake_explains_every_case_and_two_explain_some_each():
    one, other = (Misconception(name, f"{name} is forgotten.", "Look.") for name in ("a", "b"))
    checks = (CheckResult("one row", False, "2 of 4 values differ.", 0),)
    for found, words in (((one,), "Your"), ((one, other), "In some cases, your")):
        report = Report(Verdict("softmax", checks, found))
        for shown in (repr(report), report._repr_html_()):
            assert shown.count(f"{words} results are those of a well-known mistake:") == len(found)
            assert shown.count("well-known mistake") == len(found)


def words_open(html: str) -> int:
    html = re.sub(r"<details>(<summary.*?</summary>).*?</details>", r"\1", html, flags=re.DOTALL)
    return len(re.sub(r"<pre.*?</pre>|<[^>]*>", " ", html, flags=re.DOTALL).split())


def test_a_long_report_is_folded_until_it_can_be_read_at_a_glance():
    long = "RuntimeError: " + "something went wrong here and there " * 12
    checks = (
        *(wrong(number, f"{long} {'abc'[number]}.") for number in range(3)),
        CheckResult("Sums to 1.", False, "It does not hold for: case 0"),
    )
    cause = Misconception("known", "The mask is ignored.", "Look at the mask, and where it is used. " * 8)
    symptom = Symptom("transposed", "`y` has its last two axes exchanged.")
    for verdict in (
        Verdict("f", checks),
        Verdict("f", checks, possible=(cause,), symptoms=(symptom, symptom)),
        Verdict("f", checks, recognised=(cause,)),
        Verdict(
            "f",
            checks,
            recognised=(Misconception("other", "Padding is forgotten.", "Look at padding. " * 15), cause),
        ),
        Verdict("f", checks, symptoms=(symptom, Symptom("shapes", "The shapes do not match. " * 25))),
        Verdict(
            "f",
            checks,
            possible=(cause,),
            later=tuple("At least a third of all are right. " * 3 for _ in range(4)),
        ),
    ):
        html = Report(verdict, "lab.f")._repr_html_()
        assert words_open(html) <= MOST_WORDS
        assert all(f"{long} {letter}." in html for letter in "abc")  # nothing is lost
        assert "Sums to 1." in html
        assert cause.hint.strip() in html or not (verdict.possible or verdict.recognised)
        assert html.count("At least a third") == 3 * len(verdict.later)


def test_a_short_report_is_open():
    checks = (wrong(0, "`y` differs: got 1, expected 2."), wrong(1, "`y` has shape (1,); expected (2,)."))
    html = Report(Verdict("f", checks), "lab.f")._repr_html_()
    assert "<details" not in html


def test_beside_a_possible_cause_one_symptom_and_one_case_are_enough():
    cause = Misconception("known", "The mask is ignored.", "Look.")
    symptoms = (Symptom("a", "First of all."), Symptom("b", "Secondly."))
    checks = (wrong(0, "`y` differs: got 1, expected 2."), wrong(1, "`y` has shape (1,); expected (2,)."))
    text, html = texts(Verdict("f", checks, possible=(cause,), symptoms=symptoms))
    assert "Secondly" not in text + html
    assert "1 other check did not pass" in html and text.count("expected") == 1


def test_beside_a_possible_cause_cases_are_not_counted():
    cause = Misconception("known", "The mask is ignored.", "Look.")
    checks = (wrong(0, "`y` differs: got 1, expected 2."),)
    counted = (Symptom("one case", "Right in every case but one."),)
    for shown in texts(Verdict("f", checks, possible=(cause,), symptoms=counted)):
        assert "every case" not in shown and shown.index("One possible cause") < shown.index("expected 2")
    assert "every case" in texts(Verdict("f", checks, symptoms=counted))[0]
