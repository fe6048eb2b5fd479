"""axe-core finds nothing in any page that the course makes, in both themes.

Pages that need more than a lab are asked about where they are made: those that run in test_live.py, the site in test_site.py, written answers
in tests/by_hand/test_page.py.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import timedelta

import numpy as np
import pytest
from accessible import needs_axe, violations
from classroom import ATTENTION, START
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output
from playwright.sync_api import Browser, sync_playwright
from test_browser import CHROMIUM, FLAGS, MADE_WIDGETS

from course_utils import widgets
from course_utils.checking.comparison import Verdict, compare
from course_utils.checking.exercise import PUBLIC_SEED
from course_utils.checking.expected import FILE_NAME, load_expected
from course_utils.checking.outcome import try_exercise
from course_utils.checking.report import Report
from course_utils.display import a_table
from course_utils.quiz import Question, as_html, questions_of
from course_utils.widgets import one_model, what_comes_next
from course_utils.widgets.controls import MissingControl
from course_utils.widgets.heads import HeadBrowser
from course_utils.widgets.questions import Questions
from course_utils.widgets.stepper import AttentionStepper
from grader.book.marker import Marker
from grader.book.results import Result
from grader.grade.results import FACTS
from grader.handout import site
from grader.handout.lab_pages import live_widget
from grader.people.roster import Person
from grader.reference.lab import Lab
from grader.show import class_report, feedback_page, similar, term, viva

MANY = class_report.FIRST + 3
"""Students: more than a page shows unfolded."""


# ---------------------------------------------------------------------------------- what is part of a page


def judged(labs: dict[str, Lab], right: bool) -> tuple[str, Verdict]:
    """A softmax, checked."""
    lab = labs[START]
    (key, (wrong, *_)), *_ = lab.misconceptions.items()
    exercise = next(each for each in lab.exercises.values() if each.name == key.partition(".")[2])
    namespace = {"np": np}
    exec(wrong.source, namespace)
    attempt = lab.reference[exercise.name] if right else namespace[exercise.name]
    expected = load_expected(lab.release_folder / FILE_NAME, key, exercise)
    return key, compare(exercise, try_exercise(exercise, key, attempt, PUBLIC_SEED), expected)


def report(labs: dict[str, Lab], right: bool) -> str:
    key, verdict = judged(labs, right)
    return Report(verdict, key, tally="Attempt 2.")._repr_html_()


def nothing_written(labs: dict[str, Lab]) -> str:
    key, verdict = judged(labs, right=False)
    problem = "There is nothing to check yet."
    return Report(replace(verdict, problem=problem, printed="a line\n" * 30), key)._repr_html_()


def quiz(labs: dict[str, Lab]) -> str:
    """Review questions as a page without a kernel has them, one of them with code."""
    question, *others = questions_of("self_attention")
    return as_html([Question(question.text, question.options, code="def f(x):\n    return x"), *others])


def made_widgets() -> Iterator[widgets.Widget]:
    """One widget of each module."""
    x = np.array([[2.0, 0.0], [1.0, 1.0], [0.0, 3.0]])
    yield AttentionStepper(["one", "two", "three"], x, x, x)
    control = next(each for each in questions_of("why_attention") if each.name == "company")
    yield MissingControl(
        f"why_attention.{control.name}",
        ["", "n"],
        [["a", 60 * "1"]],  # wider than a phone
        [lambda: [["b", "2"]]] * len(control.options),
    )
    yield Questions(questions_of("self_attention"))
    yield HeadBrowser(Reading, "The cat sat")
    yield what_comes_next.widget()
    yield one_model.widget()
    shown: list[widgets.Widget] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(widgets.Widget, "show", lambda self: shown.append(self))
        namespace: dict = {}
        for cell in MADE_WIDGETS:
            exec(cell, namespace)
    yield from shown


class Reading:
    """Three layers of two heads that look everywhere alike."""

    def __init__(self, sentence: str) -> None:
        self.tokens = ["[CLS]", *sentence.split(), "[SEP]"]
        count = len(self.tokens)
        self.attention = np.full((3, 2, count, count), 1 / count)


PARTS: dict[str, Callable[[dict[str, Lab]], str]] = {
    "a report on what is wrong": lambda labs: report(labs, right=False),
    "a report on what is right": lambda labs: report(labs, right=True),
    "a report on nothing": nothing_written,
    "review questions": quiz,
    "a table with an empty corner": lambda labs: a_table(["", "n"], [["a", "1"]])[0],
}


def on_the_site(part: str, title: str, theme: str) -> str:
    """A page with what the site's pages and JupyterLab have around it: their ground, and their colours as variables."""
    style, script = (site.FILES.joinpath(name).read_text("utf-8") for name in ("style.css", "widgets.js"))
    ground = "body { background: var(--jp-layout-color0); color: var(--jp-content-font-color1); }"
    return (
        f'<!doctype html><html lang="en" data-theme="{theme}"><title>{title}</title><style>{style}{ground}</style>'
        f"<main><h1>{title}</h1>{part}</main><script>{script}</script></html>"
    )


# ---------------------------------------------------------------------------------- whole pages


def result(lab: Lab, student: str, share: float, *held: str) -> Result:
    points = {cell: points * share for cell, points in lab.points_of_cells.items()}
    marker = Marker("", "", "", "graded", sum(points.values()), lab.points, 0, held, ("It was cut off.",))
    untouched = frozenset({next(iter(lab.exercises.values())).name})
    late = timedelta(hours=3 * share)
    return Result(student, points, untouched, None, late, 0.0, marker, before=(held,) if held else ())


def classroom(lab: Lab) -> list[Result]:
    """A class in which every second student holds the lab's misconceptions."""
    held = [f"{entry.exercise}: {entry.name}" for entries in lab.misconceptions.values() for entry in entries]
    return [
        result(lab, f"s{number:02}", number / MANY, *(held if number % 2 else ())) for number in range(MANY)
    ]


def class_page(labs: dict[str, Lab]) -> str:
    """Of a class in which nobody begins the first exercise."""
    lab = labs[ATTENTION]
    found = class_report.analyse(lab, classroom(lab), ["not there"])
    assert found.several and any(facts.to_look_at for facts in found.exercises)
    return class_report.as_html(lab, found)


def term_page(labs: dict[str, Lab]) -> str:
    results = [(lab, classroom(lab)) for lab in list(labs.values())[:3]]
    people = {"s01": Person("s01", "Ann Kim")}
    return term.as_html(term.analyse(results, {lab.name: set() for lab, _ in results}, ["not there"], people))


def feedback(labs: dict[str, Lab]) -> str:
    """A graded notebook with one of everything that a page shows."""

    def graded(name: str, points: float, score: float, **more: object) -> dict:
        return {"nbgrader": {"grade_id": name, "grade": True, "points": points, "score": score, **more}}

    facts = {"summary": "softmax: 1 of 2 checks passed.", "misconceptions": ["It is not *divided*."]}
    told = new_output(
        "execute_result",
        data={"text/html": report(labs, right=False), "text/plain": "1.0"},
        metadata={FACTS: facts},
    )
    printed = new_output(
        "stream", name="stdout", text="\x1b[31mred\x1b[0m \x1b[32mgreen\x1b[0m and a" + " long" * 80
    )
    failed = new_output("error", ename="ValueError", evalue="no", traceback=["line 1"])
    picture = new_output(
        "display_data",
        data={
            "image/png": "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
        },
    )
    rubric = [
        {"points": 1, "earned": True, "text": "It names the *sum*."},
        {"points": 2, "earned": False, "text": "Why."},
    ]
    code = (
        "import numpy as np\n\n\nclass A:\n    # a comment\n    x: str = 'text' + str(1.5)  # and another\n"
    )
    cells = [
        new_markdown_cell(
            "# Lab 00\n\n## A part\n\nIt is $\\sqrt{d_k}$, [a link](#top) and `code`.\n\n$$a = b$$\n\n"
            "| a | b |\n|---|---|\n| 1 | 2 |\n\n| | b |\n|---|---|\n| 1 | 2 |"
        ),
        new_code_cell(
            code, metadata=graded("softmax", 0, 0, solution=True) | {}, outputs=[printed, failed, picture]
        ),
        new_code_cell('check("start_here.softmax")', metadata=graded("check_softmax", 2, 1), outputs=[told]),
        new_markdown_cell(
            "Because it is `so`.",
            metadata=graded("why", 3, 1, solution=True, rubric=rubric, comment="Say *more*."),
        ),
        new_markdown_cell("And?", metadata=graded("later", 3, 0, solution=True, waiting=True)),
    ]
    scores = {
        "score": 2.0,
        "max_score": 8.0,
        "late_penalty": 0.5,
        "notebook": "x",
        "assignment": "00_start_here",
    }
    scores |= {"submission": "0123456789abcdef" * 2, "whose": "Ann Kim (ak1)"}
    return feedback_page.as_html(new_notebook(cells=cells), scores)


def pairs_page(labs: dict[str, Lab]) -> str:
    code = {"softmax": "def softmax(x):\n    total = 1\n    return x / total\n"}
    works = tuple(similar.Work(name, code, {"softmax": {2: frozenset({1})}}, {}) for name in ("ana", "ben"))
    alike = similar.Alike(0.9, 7, ("2.0 instead of 1.0",))
    pair = similar.Pair(works, 30.0, alike, {"softmax": alike}, frozenset({1}))
    found = similar.Found(
        works, (pair,) * (similar.FIRST + 1), crowds=(("softmax", ("ana", "ben")),), unread=("cem",)
    )
    return similar.as_html(labs[START], found)


def viva_sheet(labs: dict[str, Lab]) -> str:
    options = (viva.Option("It is `0`.", True, "It *is*."), viva.Option("It is 1.", False, "No."))
    question = viva.Question("softmax", "What if?", "1  def softmax(x):\n2      return x", (2,), options)
    sheet = viva.Sheet(
        "ana", "Ana", (question,), handed_in="2026-11-01", held=(("softmax", "Said.", "Hint."),)
    )
    return viva.as_html(labs[START], sheet)


PAGES: dict[str, Callable[[dict[str, Lab]], str]] = {
    "the report on a class": class_page,
    "the page about a term": term_page,
    "feedback": feedback,
    "submissions that are alike": pairs_page,
    "questions about a student's own code": viva_sheet,
}


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield started
        started.close()


in_a_browser = pytest.mark.skipif(
    CHROMIUM is None, reason="Chromium is not installed: scripts/setup_browser.sh says how"
)


def found_in(browser: Browser, text: str, theme: str, width: int = 1400, ready: str = "") -> list[str]:
    """What is wrong with a page in which everything is unfolded; folded parts are not looked at by axe."""
    page = browser.new_page(
        color_scheme=theme, viewport={"width": width, "height": 900}, reduced_motion="reduce"
    )
    page.set_content(text)
    if ready:
        page.locator(ready).first.wait_for()
    page.evaluate("document.querySelectorAll('details').forEach((each) => (each.open = true))")
    found = violations(page)
    page.close()
    return found


@needs_axe
@in_a_browser
@pytest.mark.slow
@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("name", PARTS)
def test_reports_and_questions_have_no_violation(labs, browser, name, theme):
    assert found_in(browser, on_the_site(PARTS[name](labs), name, theme), theme) == []


@needs_axe
@in_a_browser
@pytest.mark.slow
@pytest.mark.parametrize("width, theme", [(1400, "light"), (400, "dark")])
def test_no_widget_has_a_violation_live_or_still_wide_or_on_a_phone(browser, width, theme, its_turn):
    its_turn(theme == "light", 2)
    made = list(made_widgets())
    assert {widget.module for widget in made} == MODULES
    for widget in made:
        live = live_widget(widget.live().get_state(), widget.still())
        page = on_the_site(live, widget.module, theme)
        assert found_in(browser, page, theme, width, ready=".course-widget[data-live]") == [], widget.module
        still = on_the_site(widget.still(), widget.module, theme)
        assert found_in(browser, still, theme, width) == [], widget.module


OUT_OF_PLACE = """[...document.querySelectorAll(".course-widget svg")]
  .filter((each) => each.getBoundingClientRect().width > each.parentElement.clientWidth + 1).map((each) => each.getAttribute("aria-label"))"""
"""Pictures that are wider than what they stand in, so that they cover the next one."""


@in_a_browser
@pytest.mark.slow
def test_no_picture_of_a_widget_on_a_page_is_wider_than_its_place(browser):
    for widget in made_widgets():
        live = live_widget(widget.live().get_state(), widget.still())
        page = browser.new_page(viewport={"width": 1400, "height": 900})
        page.set_content(on_the_site(live, widget.module, "light"))
        page.locator(".course-widget[data-live]").first.wait_for()
        assert page.evaluate(OUT_OF_PLACE) == [], widget.module
        page.close()


MODULES = {path.name for path in widgets._FOLDER.glob("*.js")} - {widgets._SHARED}


@needs_axe
@in_a_browser
@pytest.mark.slow
@pytest.mark.parametrize("width, theme", [(1400, "light"), (400, "dark")])
@pytest.mark.parametrize("name", PAGES)
def test_pages_have_no_violation_wide_or_on_a_phone(labs, browser, name, width, theme):
    assert found_in(browser, PAGES[name](labs), theme, width) == []


@needs_axe
@in_a_browser
@pytest.mark.slow
def test_what_is_wrong_on_purpose_is_found(browser):
    wrong = '<!doctype html><html lang="en"><title>x</title><main><h1>x</h1><button></button></main></html>'
    assert [each.partition(" ")[0] for each in found_in(browser, wrong, "light")] == ["button-name"]
