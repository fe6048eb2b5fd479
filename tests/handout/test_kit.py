"""The teaching kit: notes that are not complete are refused with their place, a plan is as even as it can be, and pages keep solutions apart."""

from __future__ import annotations

import re
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from classroom import START, new_course
from hypothesis import given
from hypothesis import strategies as st
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output
from playwright.sync_api import sync_playwright
from project import LABS, ROOT
from test_browser import CHROMIUM, FLAGS

from course_utils.quiz import FILE_NAME as QUIZ
from course_utils.quiz import Option, Question, read_questions
from grader.course import Course, CourseError
from grader.handout import kit, site
from grader.reference import teaching_notes
from grader.reference.lab import Lab


@pytest.mark.slow
@pytest.mark.parametrize("name", LABS)
def test_every_lab_has_notes_for_those_who_teach_it(labs, name):
    notes = teaching_notes.read_notes(labs[name])
    assert notes is not None
    assert len({(mistake.exercise, mistake.name) for mistake in notes.mistakes}) == teaching_notes.MISTAKES
    assert {" ".join(question.split()) for question in teaching_notes.discussed(labs[name])} <= set(
        notes.discussion
    )
    assert all(task.points > 0 for task in notes.exam)


@pytest.mark.parametrize("name", LABS)
def test_nothing_of_the_notes_is_in_what_learners_get(labs, name):
    released = [
        path.read_text("utf-8")
        for path in labs[name].release_folder.iterdir()
        if path.suffix in (".md", ".ipynb")
    ]
    lines = (labs[name].folder / teaching_notes.NOTES).read_text("utf-8").splitlines()
    assert not (labs[name].release_folder / teaching_notes.NOTES).exists()
    for line in lines:
        if line.startswith(("**Listen for:**", "- Write", "- Draw")):
            assert not any(line in text for text in released)


@pytest.fixture
def noted(tmp_path, labs) -> tuple[Lab, Path, str]:
    """A copy of a lab with its notes, the notes' file, and its text."""
    for place in ("solutions", "notebooks"):
        shutil.copytree(ROOT / place / START, tmp_path / place / START)
    lab = Lab.load(Course(tmp_path), START)
    file = lab.folder / teaching_notes.NOTES
    return lab, file, file.read_text("utf-8")


FAULTS = {
    "no board": (("## On the board", "## On the wall"), "there is nothing under '## On the board'"),
    "an unknown mistake": (("### softmax.", "### softmax.no_"), "misconceptions.py has no 'softmax.no_"),
    "a mistake without a question": (("**Ask:**", "Ask:"), "a mistake has a line '**Ask:** ...'"),
    "a solution without points": (("Points: ", "Worth: "), "a last line 'Points: N'"),
    "no line that says where a solution begins": (("\nSolution:\n", "\nIt is:\n"), "has a line 'Solution:'"),
}


@pytest.mark.parametrize(("change", "said"), FAULTS.values(), ids=FAULTS)
def test_notes_that_are_not_complete_are_refused_with_their_place(noted, change, said):
    lab, file, text = noted
    assert change[0] in text
    file.write_text(text.replace(*change, 1), "utf-8")
    with pytest.raises(CourseError, match=r"teaching\.md") as refused:
        teaching_notes.read_notes(lab)
    assert said in str(refused.value)


def test_a_question_of_the_notebook_without_an_answer_is_refused(noted):
    lab, file, text = noted
    question = teaching_notes.discussed(lab)[0]
    before, _, after = text.partition("## Discussion\n")
    first, _, rest = after.partition("### ")
    file.write_text(f"{before}## Discussion\n{first}### Something else? {rest}", "utf-8")
    with pytest.raises(CourseError, match="has no answer here") as refused:
        teaching_notes.read_notes(lab)
    assert " ".join(question.split())[:30] in str(refused.value)


def test_a_lab_without_notes_is_no_fault(noted):
    lab, file, _ = noted
    file.unlink()
    assert teaching_notes.read_notes(lab) is None


# ---------------------------------------------------------------------------------- a plan


@given(st.lists(st.integers(1, 99), min_size=1, max_size=7), st.integers(1, 9))
def test_a_plan_keeps_the_order_and_its_fullest_week_is_as_light_as_can_be(minutes, weeks):
    labs = {f"lab {number}": value for number, value in enumerate(minutes)}
    found = kit.plan(labs, weeks)
    assert len(found) == weeks
    assert [name for week in found for name in week] == list(labs)
    assert max(sum(labs[name] for name in week) for week in found) == lightest(minutes, weeks)


def lightest(minutes: list[int], weeks: int) -> int:
    """The fullest week of the best of all ways to cut a list into weeks, each of which is tried."""
    if weeks == 1 or not minutes:
        return sum(minutes)
    return min(
        max(sum(minutes[:cut]), lightest(minutes[cut:], weeks - 1)) for cut in range(1, len(minutes) + 1)
    )


def test_a_term_without_weeks_is_refused():
    with pytest.raises(ValueError, match="at least one week"):
        kit.plan({"a": 1}, 0)


# ---------------------------------------------------------------------------------- pages


def test_an_examination_has_twenty_questions_and_those_about_code_are_of_the_lab(labs):
    lab = labs[START]
    page = kit.Page(
        lab, teaching_notes.read_notes(lab), read_questions((lab.folder / QUIZ).read_text("utf-8"))
    )
    tasks = kit.examination(page)
    assert len(tasks) == kit.EXAM_QUESTIONS
    about = [task for task in tasks if task.source.startswith("the code of ")]
    assert about and all(task.source.split("`")[1] in lab.info.exercises for task in about)
    assert sum(task.source == "a discussion in pairs" for task in tasks) == 2
    assert all(task.solution for task in tasks)
    assert len({task.text for task in tasks}) == len(tasks)


def test_in_an_examination_the_code_is_nobody_s():
    options = (Option("a", True, "As your code is now, it returns 3."), Option("b", False, "c"))
    task = kit._as_task(
        Question("Your code returns `x`. This is true of your code: “b”", options), "the code of `f`"
    )
    assert "This code returns `x`. This is true of this code" in task.text
    assert task.solution.endswith("As this code is now, it returns 3.")


def test_the_way_through_a_lab_has_the_minutes_of_its_first_page(labs):
    lab = labs[START]
    (minutes,) = re.findall(
        r"^\| 1 \| `softmax` \|.*?\| (\d+) \| \d+ \|$", lab.source().cells[0].source, re.MULTILINE
    )
    assert any(f"`softmax` {minutes} |" in row for row in kit._way(lab))


def test_pictures_have_the_heading_above_them_and_reports_are_none():
    picture = new_output("display_data", data={"text/html": '<img alt="A curve." src="data:,">'})
    text = new_output("display_data", data={"text/html": "<p>words</p>"})
    notebook = new_notebook(
        cells=[
            new_markdown_cell("## 1. First\n\ntext\n\n### Inside"),
            new_code_cell("show()", outputs=[text, picture]),
            new_code_cell('check("lab.exercise")', outputs=[picture], metadata={"nbgrader": {"grade": True}}),
            new_markdown_cell("no heading"),
            new_code_cell("show()", outputs=[picture]),
        ]
    )
    html = '<img alt="A curve." src="data:,">'
    assert list(kit.pictures(notebook)) == [("Inside", html), ("Inside", html)]


@pytest.mark.parametrize("make", [kit.build_kit, site.build_site])
@pytest.mark.parametrize(
    ("place", "words"), [("file", "is no folder"), ("file/kit", "cannot be made"), ("link", "is no folder")]
)
def test_where_no_folder_can_be_is_said_before_anything_is_made(course, tmp_path, make, place, words):
    (tmp_path / "file").write_text("mine", "utf-8")
    (tmp_path / "link").symlink_to("nowhere")
    said: list[str] = []
    with pytest.raises(CourseError, match=rf"{words}.*--out"):
        make(course, tmp_path / place, [], say=said.append)
    assert said == [] and (tmp_path / "file").read_text("utf-8") == "mine"


def test_another_folder_is_never_replaced(noted, tmp_path):
    lab, _, _ = noted
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "letter.txt").write_text("mine", "utf-8")
    with pytest.raises(CourseError, match="contains something other"):
        kit.build_kit(lab.course, folder, [])
    assert (folder / "letter.txt").read_text("utf-8") == "mine"


@pytest.mark.slow
@pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed")
def test_the_pages_keep_solutions_apart_and_show_pictures_one_to_a_screen(tmp_path, monkeypatch):
    course = new_course(tmp_path)
    for name in ("README.md", "requirements.txt", "pyproject.toml", "requirements-learners.lock"):
        shutil.copy(ROOT / name, tmp_path / name)
    shutil.copytree(
        ROOT / "course_utils", tmp_path / "course_utils", ignore=shutil.ignore_patterns("__pycache__")
    )
    for name in course.labs():
        if name != START:
            shutil.rmtree(course.solutions / name)
    told: list[str] = []
    first = kit.build_kit(course, tmp_path / "kit", [START], told.append)
    assert first.is_file() and not any("Without" in line for line in told)
    notes = teaching_notes.read_notes(Lab.load(course, START))
    assert notes is not None
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        page = browser.new_page(viewport={"width": 1200, "height": 800})
        asked: list[str] = []
        page.on("request", lambda request: asked.append(request.url))
        page.goto(first.as_uri())
        assert page.locator("table").count() == 1 + len(kit.WEEKS)
        for kind, solved in (("exam", False), ("exam_solutions", True)):
            page.goto((first.parent / f"{START}_{kind}.html").as_uri())
            assert page.locator("article h2").count() == kit.EXAM_QUESTIONS
            assert page.locator(".admonition").count() == (kit.EXAM_QUESTIONS if solved else 0)
        page.goto((first.parent / f"{START}_pictures.html").as_uri())
        slides = page.locator("section")
        assert slides.count() > 1
        assert all(
            box["height"] >= 800 for box in (slides.nth(i).bounding_box() for i in range(slides.count()))
        )
        assert all(url.startswith(("file:", "data:")) for url in asked)
        browser.close()
    again = kit.build_kit(course, tmp_path / "kit", [], told.append)
    assert again == first


def test_an_exam_keeps_a_teachers_questions_first(labs):
    lab = labs[START]
    notes = teaching_notes.read_notes(lab)
    assert notes is not None
    page = kit.Page(lab, replace(notes, exam=notes.exam[:1]), ())
    assert kit.examination(page)[0] == notes.exam[0]
