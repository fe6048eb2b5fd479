"""Review quizzes: what learners read with a kernel, without one, and in plain text."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import sync_playwright
from test_browser import CHROMIUM, FLAGS

from course_utils import quiz, widgets
from course_utils.labs import LabInfo
from course_utils.quiz import Option, Question, as_html, as_text, read_questions
from course_utils.widgets.questions import Questions
from grader.handout import site
from grader.handout.lab_pages import live_widget

QUESTIONS = (
    Question(
        "What is `2 * 3`?",
        (Option("5 < 6", False, "That is *addition*."), Option("6", True, "Twice three.")),
    ),
    Question("Is it?", (Option("Yes.", True, "It is."), Option("No.", False, "It is not so."))),
)


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
        ("- [x] Before all questions.\n", "1: an answer comes before the first question"),
        ("## What?\nThis.\n", "2: this is not a question"),
        ("\n## What?\n- [x] This.\n", "2: The option 'This.' does not say why"),
        ("## What?\n- [ ] This.\n  No.\n", "1: Exactly one option of a question is right"),
        ("## What?\n  A reason without an answer.\n", "2: this is not a question"),
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


def test_a_quiz_is_one_output_with_a_widget_html_and_text(monkeypatch):
    published = []
    monkeypatch.setattr(widgets, "publish", lambda bundle, metadata=None: published.append(bundle))
    monkeypatch.setattr(widgets, "in_notebook", lambda: True)
    quiz("start_here")
    (bundle,) = published
    assert {"application/vnd.jupyter.widget-view+json", "text/html", "text/plain"} <= set(bundle)
    assert "<details>" in bundle["text/html"] and "Answers" in bundle["text/plain"]


def test_every_text_of_a_question_is_escaped_where_the_page_takes_it_as_html():
    data = Questions(QUESTIONS).data()["questions"]
    assert data[0]["text"] == "What is <code>2 * 3</code>?"
    assert data[0]["options"][0] == {"text": "5 &lt; 6", "right": False, "why": "That is <em>addition</em>."}


@pytest.mark.slow
@pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed: scripts/setup_browser.sh says how")
def test_by_keyboard_a_choice_shows_its_own_reason_and_the_first_try_counts():
    """In a page without a kernel, as in a saved notebook."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        page = browser.new_page()
        script = (site.FILES / "widgets.js").read_text("utf-8")
        made = Questions(QUESTIONS)
        page.set_content(f"{live_widget(made.live().get_state(), made.still())}<script>{script}</script>")
        first = page.get_by_role("group", name="What is 2 * 3?")
        second = page.get_by_role("group", name="Is it?")
        first.get_by_role("button", name="5 < 6").wait_for()
        assert not page.get_by_text("Twice three.").is_visible() and second.get_by_role("button").count() == 2
        first.get_by_role("button", name="5 < 6").focus()
        page.keyboard.press("Enter")
        assert "✗ Not this one. That is addition." in first.inner_text() and "Twice" not in first.inner_text()
        page.keyboard.press("Tab")
        page.keyboard.press("Space")
        assert "✓ Right. Twice three." in first.inner_text()
        page.keyboard.press("Tab")
        page.keyboard.press("Enter")
        assert page.get_by_text("2 of 2 answered, 1 right at the first try.").is_visible()
        browser.close()
