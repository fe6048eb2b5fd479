"""Sheets of questions about a student's own code: what is on them, what hostile text does there, and what is said where there are none."""

from __future__ import annotations

import contextlib
import io
import json
import shutil

import pytest
from classroom import ATTENTION, new_course, with_gradebook
from nbformat import NotebookNode
from typer.testing import CliRunner

from grader.book.gradebook import Gradebook
from grader.cli import app
from grader.grade.autograde import choose_runner
from grader.handout.demo import hand_in, solved
from grader.people.roster import Person
from grader.reference.lab import Lab, copy_of, runs_in_grading
from grader.run.states import GRADED, Executed
from grader.show.viva import as_html, questions_in, sheet_of, write_sheets


class InThisProcess:
    """Runs cells here and keeps what they print. Only for code that this file wrote."""

    notebook_seconds = 60.0

    def warm_up(self, folder=None) -> None:
        pass

    def run(self, notebook: NotebookNode, seed: int, folder=None) -> Executed:
        notebook = copy_of(notebook)
        namespace: dict = {"__name__": "notebook"}
        for cell in notebook.cells:
            if runs_in_grading(cell):
                with contextlib.redirect_stdout(io.StringIO()) as printed, contextlib.suppress(Exception):
                    exec(cell.source, namespace)
                cell.outputs = [NotebookNode(output_type="stream", name="stdout", text=printed.getvalue())]
        return Executed(notebook, GRADED, {})


@pytest.fixture(scope="module")
def course(tmp_path_factory):
    return with_gradebook(new_course(tmp_path_factory.mktemp("course")))


@pytest.fixture
def lab(course):
    yield Lab.load(course, ATTENTION)
    for folder in (course.submitted, course.grading / "earlier", course.grading / "viva"):
        shutil.rmtree(folder, ignore_errors=True)


def in_another_style(lab: Lab) -> dict[str, str]:
    return {entries[0].exercise: entries[0].source for entries in lab.variants.values() if entries}


@pytest.mark.parametrize("name", ["00_start_here", ATTENTION])
def test_a_sheet_has_six_questions_about_the_students_own_lines(course, name):
    lab = Lab.load(course, name)
    texts = in_another_style(lab)
    hand_in(course, lab, "ana", solved(lab, texts))
    ((page, sheet),) = write_sheets(lab, ["ana"], InThisProcess())
    assert len(sheet.questions) == 6
    lines = {
        line.strip() for text in [*texts.values(), *lab.solution_texts.values()] for line in text.splitlines()
    }
    for question in sheet.questions:
        assert {line.split("  ", 1)[-1].strip() for line in question.code.splitlines()} <= lines
        assert sum(option.right for option in question.options) == 1
    html = page.read_text("utf-8")
    assert "<script" not in html
    assert page.parent.stat().st_mode & 0o077 == 0


def test_the_same_student_gets_the_same_questions(course, lab):
    hand_in(course, lab, "ana", solved(lab))
    one, other = (sheet_of(lab, "ana", "", None, InThisProcess(), 1) for _ in range(2))
    assert one.questions == other.questions


@pytest.mark.slow
def test_the_sandbox_gives_the_same_kind_of_sheet(course):
    lab = Lab.load(course, "05_transformer_pytorch")
    hand_in(course, lab, "ana", solved(lab, in_another_style(lab)))
    ((_, sheet),) = write_sheets(lab, ["ana"], choose_runner(lab))
    assert len(sheet.questions) == 6


def test_code_that_is_wrong_gets_questions_too_and_the_sheet_says_what_changed(course, lab):
    first = lab.misconceptions["self_attention.causal_mask"][0]
    folder = hand_in(course, lab, "ana", solved(lab, {first.exercise: first.source}))
    kept = course.grading / "earlier" / "ana" / lab.name / "1"
    kept.parent.mkdir(parents=True)
    shutil.move(folder, kept)
    hand_in(course, lab, "ana", solved(lab))
    sheet = sheet_of(lab, "ana", "", None, InThisProcess(), 1)
    assert len(sheet.versions) == 1
    assert "`causal_mask` (+" in sheet.versions[0]
    assert "padding_mask" not in sheet.versions[0]


def test_who_has_handed_in_nothing_or_nothing_of_their_own_gets_a_sentence(course, lab):
    hand_in(course, lab, "blank", lab.release())
    hand_in(course, lab, "broken", b"{no notebook")
    sheets = {who: sheet_of(lab, who, "", None, InThisProcess(), 1) for who in ("absent", "blank", "broken")}
    assert sheets["absent"].instead == f"Nothing of theirs was collected for {lab.name}."
    assert "Nothing has been written yet" in sheets["blank"].instead
    assert "cannot be read" in sheets["broken"].instead
    assert all(sheet.instead in as_html(lab, sheet) for sheet in sheets.values())


HOSTILE = "<script>alert(1)</script><img src=x onerror=alert(2)>"


def printed(**changed) -> str:
    question = {
        "exercise": "causal_mask",
        "text": HOSTILE,
        "code": "1  pass",
        "lines": [1],
        "options": [[HOSTILE, True, HOSTILE], ["b", False, "c"]],
    }
    return json.dumps([{**question, **changed}])


def test_hostile_text_is_shown_as_text(course, lab):
    text = f"def causal_mask(seq_len):\n    pass\nprint({printed()!r})"
    cheat = f"import course_utils.own_code.practice as p\np.print_questions = lambda *a: print({printed()!r})"
    hand_in(course, lab, "script", solved(lab, {"causal_mask": f"{text}\n{cheat}"}))
    kept = course_utils_practice()
    try:
        sheet = sheet_of(lab, "script", HOSTILE, None, InThisProcess(), 1)
    finally:
        kept()
    assert sheet.questions[0].text == HOSTILE
    html = as_html(lab, sheet)
    assert "<script" not in html
    assert "<img" not in html
    assert "&lt;script&gt;" in html


def course_utils_practice():
    """What puts the module back that hostile code has changed in this process."""
    import course_utils.own_code.practice as module

    own = module.print_questions
    return lambda: setattr(module, "print_questions", own)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "no json",
        "[" * 100_000,
        "9" * 300_000,
        printed(options=[]),
        printed(options=[["a", True, "b"], ["c", True, "d"]]),
        printed(options=[["a", 1, "b"], ["c", 0, "d"]]),
        printed(lines=["1"]),
        printed(code="x\n" * 100),
    ],
)
def test_what_is_no_question_is_left_out(text):
    assert questions_in(text) == []


def test_questions_about_code_that_was_not_handed_in_are_left_out(course, lab):
    lines = printed(code="1  secret = 1")
    cheat = f"import course_utils.own_code.practice as p\np.print_questions = lambda *a: print({lines!r})"
    hand_in(course, lab, "ana", solved(lab, {"causal_mask": cheat}))
    kept = course_utils_practice()
    try:
        sheet = sheet_of(lab, "ana", "", None, InThisProcess(), 1)
    finally:
        kept()
    assert sheet.questions == ()


def test_a_sample_is_drawn_from_each_section(course, lab, monkeypatch):
    people = [Person(f"s{number}", section=("Monday", "Friday")[number % 2]) for number in range(6)]
    with Gradebook.open(course) as gradebook:
        gradebook.enter_people(people)
    for person in people:
        hand_in(course, lab, person.student, lab.release())
    monkeypatch.chdir(course.root)
    done = CliRunner().invoke(app, ["viva", "02", "--sample", "2", "--sandbox", "none"])
    assert done.exit_code == 0, done.output
    sheets = [file.stem for file in (course.grading / "viva" / lab.name).glob("*.html")]
    assert sorted(int(name[1:]) % 2 for name in sheets) == [0, 0, 1, 1]


def test_a_sample_leaves_out_whose_file_cannot_be_read(course, lab, monkeypatch):
    for number in range(4):
        hand_in(course, lab, f"broken{number}", b"{no notebook")
    for student in ("ann", "bo"):
        hand_in(course, lab, student, lab.release())
    monkeypatch.chdir(course.root)
    done = CliRunner().invoke(app, ["viva", "02", "--sample", "3", "--sandbox", "none"])
    assert done.exit_code == 0, done.output
    assert {file.stem for file in (course.grading / "viva" / lab.name).glob("*.html")} == {"ann", "bo"}


def test_the_command_asks_whom_it_is_for(course, lab, monkeypatch):
    monkeypatch.chdir(course.root)
    for words in (["02"], ["02", "--sample", "1", "--student", "ana"], ["02", "--student", "../ana"]):
        done = CliRunner().invoke(app, ["viva", *words, "--sandbox", "none"])
        assert done.exit_code != 0
