"""nbgrader's own autograde on this course: the same grades, and learner code only in the sandbox."""

from __future__ import annotations

import json
import shutil
import threading

import nbformat
import pytest
from classroom import START, book_of, nbgrader, new_course, without_gradebook
from nbgrader.apps import NbGraderAPI

from grader.book.gradebook import Gradebook
from grader.course import Course
from grader.grade import autograde as grading
from grader.grade.results import RESULT_CELL
from grader.handout.demo import duplicated, hand_in, retyped, solved, with_texts
from grader.plugins import steps as stock
from grader.reference.lab import Lab

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not shutil.which("bwrap"), reason="bubblewrap is not installed"),
]


def entered(course: Course) -> dict[str, float]:
    with book_of(course) as book:
        return {row["student"]: row["score"] for row in book.submission_dicts(START)}


@pytest.fixture
def course(tmp_path) -> Course:
    """A course with a class of lab 00: honest, half right, damaged, and one that reaches out."""
    course = new_course(tmp_path)
    lab = Lab.load(course, START)
    perfect, stubs = solved(lab), lab.release()
    mistake = next(iter(lab.misconceptions["start_here.softmax"]))
    skipping = solved(lab, {"softmax": "softmax = None"})
    for cell in skipping.cells:
        cell.metadata["tags"] = ["skip-execution"]
    trace = tmp_path / "was-here"
    for student, notebook in {
        "perfect": perfect,
        "untouched": stubs,
        "mistaken": solved(lab, {"softmax": mistake.source}),
        "twice": duplicated(perfect, stubs),
        "retyped": retyped(perfect),
        "skips": skipping,
        "mallory": with_texts(perfect, {"softmax": f"open({str(trace)!r}, 'w').write('x')\nsoftmax = max"}),
    }.items():
        hand_in(course, lab, student, notebook)
    with Gradebook.open(course) as gradebook:
        gradebook.register(lab)
    return course


def test_the_command_gives_the_same_grades_as_ours_and_runs_nothing_unprotected(course, tmp_path):
    result = nbgrader(course, "autograde", START, "--create")
    assert result.returncode == 0, result.stderr
    theirs = entered(course)
    lab = Lab.load(course, START)
    page = nbformat.read(course.autograded / "mallory" / START / lab.notebook_name, as_version=4)
    said = next(cell for cell in page.cells if "was-here" in cell.source).outputs
    assert [output.ename for output in said] == ["FileNotFoundError"]  # it was run, where no such folder is
    assert not (tmp_path / "was-here").exists()
    assert page.cells[0].id == RESULT_CELL

    without_gradebook(course)
    shutil.rmtree(course.autograded)
    records = grading.autograde(
        lab, grading.submissions(lab), grading.choose_runner(lab), grading.class_seed(lab)
    )
    ours = {record.student: record.score for record in records}
    assert theirs == pytest.approx(ours)
    assert (theirs["perfect"], theirs["untouched"], theirs["skips"]) == (lab_points(lab), 0, 0)
    assert len({score for score in ours.values()}) > 0 and theirs["mistaken"] < theirs["perfect"]


def lab_points(lab: Lab) -> float:
    return sum(
        cell.metadata.nbgrader.get("points", 0) for cell in lab.release().cells if "nbgrader" in cell.metadata
    )


def test_formgrader_s_button_takes_the_same_way(course, monkeypatch):
    monkeypatch.chdir(course.root)
    result = NbGraderAPI(config=course.nbgrader_config()).autograde(START, "twice")
    assert result["success"], result
    assert entered(course)["twice"] == lab_points(Lab.load(course, START))


def test_without_bubblewrap_it_stops_with_what_to_do(course, monkeypatch, tmp_path):
    environment = tmp_path / "bin"
    environment.mkdir()
    monkeypatch.setenv("PATH", str(environment))
    result = nbgrader(course, "autograde", START, "--create")
    assert result.returncode != 0
    assert "bubblewrap, which makes it, is not installed" in result.stdout + result.stderr
    assert "apt-get install bubblewrap" in result.stdout + result.stderr


def test_a_submission_that_nbgrader_cannot_read_stops_no_other(course):
    lab = Lab.load(course, START)
    hand_in(course, lab, "corrupt", json.dumps(lab.release()).encode()[:-200])
    nbgrader(course, "autograde", START, "--create")
    assert entered(course)["perfect"] == lab_points(lab)


def test_the_preloaded_process_is_ended_when_nothing_has_come_for_a_while(monkeypatch):
    ended = threading.Event()
    monkeypatch.setattr(stock, "_IDLE_SECONDS", 0.05)
    monkeypatch.setattr(stock, "close_all", ended.set)
    idle = stock._Idle()
    idle.begin()
    idle.end()
    assert ended.wait(5)
