"""Review quizzes: what learners read with a kernel, without one, and in plain text."""

from __future__ import annotations

import re

import ipywidgets
import pytest

from course_utils import plots, quiz
from course_utils.labs import LabInfo
from course_utils.quiz import Option, Question, as_html, as_text, read_questions, widget_of

QUESTIONS = (
    Question(
        "What is `2 * 3`?",
        (Option("5 < 6", False, "That is *addition*."), Option("6", True, "Twice three.")),
    ),
    Question("Is it?", (Option("Yes.", True, "It is."), Option("No.", False, "It is not so."))),
)


def _buttons(box: ipywidgets.VBox) -> list[ipywidgets.Button]:
    return [part for part in box.children if isinstance(part, ipywidgets.Button)]


def _shown(box: ipywidgets.VBox) -> str:
    visible = [part for part in box.children if part.layout.display != "none"]
    return "\n".join(part.value for part in visible if isinstance(part, ipywidgets.HTML))


@pytest.mark.parametrize("options", [(("a", False), ("b", False)), (("a", True), ("b", True))])
def test_exactly_one_option_is_right(options):
    with pytest.raises(ValueError, match="Exactly one"):
        Question("What?", tuple(Option(text, right, "Because.") for text, right in options))


def test_every_option_says_why():
    with pytest.raises(ValueError, match="does not say why"):
        Question("What?", (Option("this", True, "Because."), Option("that", False, " ")))


@pytest.mark.parametrize("lab", ["properties", "no_such_lab"])
def test_a_lab_without_questions_is_named(lab):
    with pytest.raises(LookupError, match=lab):
        quiz(lab)


def test_questions_are_read_from_markdown():
    text = "# Review\n\n## What?\n\n- [ ] This.\n  No,\n  not this.\n- [x] That *one*.\n  Yes.\n"
    expected = Question(
        "What?", (Option("This.", False, "No, not this."), Option("That *one*.", True, "Yes."))
    )
    assert read_questions(text) == (expected,)


@pytest.mark.parametrize(
    "text, said",
    [
        ("- [x] Before all questions.\n", "1: an answer stands before the first question"),
        ("## What?\nThis.\n", "2: this is no question"),
        ("\n## What?\n- [x] This.\n", "2: The option 'This.' does not say why"),
        ("## What?\n- [ ] This.\n  No.\n", "1: Exactly one option of a question is right"),
        ("## What?\n  A reason without an answer.\n", "2: this is no question"),
    ],
)
def test_what_is_no_quiz_is_refused_with_its_line(text, said):
    with pytest.raises(ValueError, match=said):
        read_questions(text)


@pytest.mark.parametrize("text", ["", "## What?\n- [ ] This.\n"])
def test_a_damaged_file_beside_the_notebook_is_told_so(tmp_path, monkeypatch, text):
    folder = tmp_path / "05_mine"
    folder.mkdir()
    (folder / "lab.json").write_text(LabInfo("05_mine", "Mine", "Part", "things", (), 5, ()).as_json())
    (folder / "quiz.md").write_text(text)
    monkeypatch.chdir(folder)
    monkeypatch.syspath_prepend("")
    with pytest.raises(LookupError, match=r"no quiz\.md"):
        quiz("mine")


def test_text_has_all_questions_before_all_answers():
    questions, answers = as_text(QUESTIONS).split("Answers\n")
    assert "1. What is" in questions and "2. Is it?" in questions and "Twice three." not in questions
    assert answers.splitlines()[:2] == ["1A. Wrong: That is *addition*.", "1B. Right: Twice three."]


def test_html_folds_the_answers_and_escapes_every_text():
    html = as_html(QUESTIONS)
    before, folded = html.split("<details>")[:2]
    assert "<code>2 * 3</code>" in before and "5 &lt; 6" in before and "Twice three." not in before
    assert "Twice three." in folded and "<em>addition</em>" in folded
    assert html.count("<details>") == html.count("</details>") == len(QUESTIONS)


def test_right_and_wrong_are_told_apart_without_colour():
    plain = re.sub(r"<[^>]+>", "", as_html(QUESTIONS))
    assert "✗ A That is" in plain and "✓ B Twice" in plain


def test_no_reason_shows_before_a_choice():
    shown = _shown(widget_of(QUESTIONS))
    assert "Is it?" in shown and "Twice three." not in shown and "addition" not in shown


def test_a_choice_shows_its_own_reason_only_and_marks_its_button():
    box = widget_of(QUESTIONS)
    wrong, right, *_ = _buttons(box)
    wrong.click()
    assert "Not this one." in _shown(box) and "addition" in _shown(box) and "Twice three." not in _shown(box)
    right.click()
    assert "Twice three." in _shown(box)
    assert wrong.description.startswith("✗") and right.description.startswith("✓")


def test_a_button_shows_no_marks_that_it_cannot_render():
    options = (Option("Put *train* after `a * b * c`.", True, "So."), Option("5 * 6 * 7", False, "No."))
    labels = [button.description for button in _buttons(widget_of((Question("Where?", options),)))]
    assert labels == ["○ Put train after a * b * c.", "○ 5 * 6 * 7"]


def test_the_first_try_counts_and_later_ones_do_not():
    box = widget_of(QUESTIONS)
    for button in _buttons(box)[:3]:  # the first question wrong, then right; the second one right
        button.click()
    assert "2 of 2 answered, 1 right at the first try." in _shown(box)


def test_a_quiz_is_one_output_with_a_widget_html_and_text(monkeypatch):
    published = []
    monkeypatch.setattr(plots, "publish", published.append)
    quiz("start_here")
    (bundle,) = published
    assert set(bundle) == {"application/vnd.jupyter.widget-view+json", "text/html", "text/plain"}
    assert "<details>" in bundle["text/html"] and "Answers" in bundle["text/plain"]
