"""What grading makes is its owner's alone, and ``grader doctor --course`` says what is not."""

from __future__ import annotations

import json
import os
import shlex
import stat
import subprocess
from pathlib import Path

import pytest
from classroom import START, KernelFree, new_course, with_gradebook
from typer.testing import CliRunner

from grader.author.build import build
from grader.cli import app
from grader.course import Course, make_private
from grader.grade import autograde as grading
from grader.handout.demo import solved
from grader.receive.collect import collect
from grader.receive.openings import openings
from grader.reference.lab import Lab
from grader.show.class_report import write_report
from grader.show.feedback import generate_feedback


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode) & 0o1777  # a folder inherits the other bits


@pytest.fixture(autouse=True)
def usual_umask():
    before = os.umask(0o022)
    yield
    os.umask(before)


@pytest.fixture
def course(tmp_path, monkeypatch) -> Course:
    monkeypatch.setenv("JUPYTER_CONFIG_DIR", str(tmp_path / "config"))
    monkeypatch.setenv("JUPYTER_CONFIG_PATH", str(tmp_path / "config"))
    (tmp_path / "course").mkdir()
    return new_course(tmp_path / "course")


@pytest.mark.slow
def test_what_grading_makes_is_its_owner_s_alone(course, tmp_path, monkeypatch):
    lab = Lab.load(course, START)
    for text in ("one", "another"):
        notebook = solved(lab)
        notebook.cells[0].source += text
        (tmp_path / "source").mkdir(exist_ok=True)
        (tmp_path / "source" / "anna.ipynb").write_text(json.dumps(notebook))
        collect(lab, tmp_path / "source")
    with_gradebook(course)
    runner = KernelFree(tmp_path / "runs")
    list(grading.autograde(lab, grading.submissions(lab), runner, grading.class_seed(lab)))
    write_report(lab)
    generate_feedback(lab)
    monkeypatch.setattr(
        "grader.author.build.catalogue_faults", lambda *_: []
    )  # they take long, and write nothing
    build(course, [START], say=lambda line: None)
    made = [course.grading / name for name in ("submitted", "autograded", "feedback", "reports", "earlier")]
    assert {path: oct(mode(path)) for path in (course.grading, course.build, *made)} == dict.fromkeys(
        (course.grading, course.build, *made), "0o700"
    )
    assert mode(course.grading / "seeds.json") == 0o600
    # the sandbox reads these as a user who owns nothing
    assert mode(course.notebooks) & 0o055 == 0o055
    assert mode(lab.release_folder / lab.notebook_name) & 0o044 == 0o044


def test_a_folder_that_is_there_keeps_its_mode(tmp_path):
    (tmp_path / "shared").mkdir()
    (tmp_path / "shared").chmod(0o2775)
    make_private(tmp_path / "shared" / "a" / "b")
    assert (mode(tmp_path / "shared"), mode(tmp_path / "shared/a"), mode(tmp_path / "shared/a/b")) == (
        0o775,
        0o700,
        0o700,
    )


def test_what_is_open_is_said_with_the_command_that_closes_it_and_nothing_is_changed(course, monkeypatch):
    monkeypatch.chdir(course.root)
    exchange = course.root.parent / "ex change"
    for folder in (
        course.grading,
        course.build,
        course.root / ".git",
        course.root / ".replaced" / START,
        exchange / "transformer-labs" / "inbound",
    ):
        folder.mkdir(parents=True)
    for file in (course.grading / "seeds.json", course.root / "grades.csv", course.root / "students.csv"):
        file.touch()
    with (course.root / "nbgrader_config.py").open("a") as file:
        file.write(f"\nget_config().Exchange.root = {str(exchange)!r}\n")
    for folder in (exchange, exchange / "transformer-labs" / "inbound", course.notebooks):
        folder.chmod(0o777)
    modes = {path: mode(path) for path in course.root.parent.rglob("*")}
    told = CliRunner().invoke(app, ["doctor", "--course"])
    assert told.exit_code == 1, told.output
    assert {path: mode(path) for path in course.root.parent.rglob("*")} == modes
    found, _ = openings(course)
    assert {opening.path.name for opening in found} == {
        *("solutions", "grading", ".build", ".git", ".replaced", "seeds.json", "grades.csv", "students.csv"),
        *("notebooks", "ex change", "inbound"),
    }
    for opening in found:
        assert str(opening.path) in told.output and opening.fix in told.output
        assert shlex.split(opening.fix)[-1] == str(opening.path)
        subprocess.run(opening.fix, shell=True, check=True)
    told = CliRunner().invoke(app, ["doctor", "--course"])
    assert told.exit_code == 0 and "Nothing private in" in told.output
    assert openings(course)[0] == []


def test_in_a_closed_project_nothing_is_open_but_what_links_lead_to(course):
    course.grading.mkdir()
    assert {opening.path for opening in openings(course)[0]} == {course.solutions, course.grading}
    course.root.chmod(0o700)
    assert openings(course) == ([], course.root)
    course.grading.rename(course.root.parent / "elsewhere")
    course.grading.symlink_to(course.root.parent / "elsewhere")
    assert [opening.path for opening in openings(course)[0]] == [course.grading]


def test_a_closed_folder_above_is_said_too(course):
    course.root.parent.chmod(0o700)
    assert openings(course)[1] == course.root.parent
    course.root.parent.chmod(0o755)
    assert openings(course)[1] != course.root.parent


@pytest.mark.parametrize("arguments", [[], ["x.ipynb", "--course"]])
def test_the_doctor_examines_a_notebook_or_the_course(course, monkeypatch, arguments):
    monkeypatch.chdir(course.root)
    told = CliRunner().invoke(app, ["doctor", *arguments])
    assert told.exit_code == 1 and "Name a notebook" in told.output
