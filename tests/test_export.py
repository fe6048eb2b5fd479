"""Scores for Canvas, Moodle and spreadsheets; the zip that learners get."""

from __future__ import annotations

import csv
import io
import re
import shutil
import tomllib
import zipfile
from pathlib import Path

import pytest
from classroom import ROOT, START, KernelFree, new_course, with_gradebook
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from grader import autograde as grading
from grader.bundle import write_bundle
from grader.cli import app
from grader.course import CourseError
from grader.demo import hand_in, solved
from grader.export import export, inert, lms_number, write_feedback_zip
from grader.lab import Lab


@pytest.fixture
def lab(tmp_path) -> Lab:
    """A lab of which three submissions are graded: one from an LMS's zip, two from a folder."""
    lab = Lab.load(with_gradebook(new_course(tmp_path)), START)
    for student, notebook in (
        ("lovelace_4711", solved(lab)),
        ("anna", solved(lab)),
        ("=cmd()", lab.release()),
    ):
        hand_in(lab.course, lab, student, notebook)
    list(grading.autograde(lab, grading.submissions(lab), KernelFree(tmp_path / "runs"), 5))
    return lab


def rows_of(file: Path) -> list[list[str]]:
    with file.open(newline="") as opened:
        return list(csv.reader(opened))


def test_canvas_gets_its_numbers_points_and_scores(lab, tmp_path):
    notes = export(lab.course, [], "canvas", tmp_path / "canvas.csv")
    header, possible, *rows = rows_of(tmp_path / "canvas.csv")
    assert header == ["Student", "ID", "SIS User ID", "SIS Login ID", "Section", START]
    assert "Points Possible" in possible[0] and possible[-1] == "5"
    assert {row[0]: (row[1], row[3], row[-1]) for row in rows} == {
        "lovelace_4711": ("4711", "", "5.00"),
        "anna": ("", "anna", "5.00"),
        "'=cmd()": ("", "'=cmd()", "0.00"),
    }
    assert len(notes) == 1 and "2 of 3" in notes[0]


def test_moodle_s_worksheet_names_participants(lab, tmp_path):
    notes = export(lab.course, [START], "moodle", tmp_path / "moodle.csv")
    header, row = rows_of(tmp_path / "moodle.csv")
    worksheet = dict(zip(header, row, strict=True))
    assert worksheet["Identifier"] == "Participant 4711" and worksheet["Grade"] == "5.00"
    assert worksheet["Maximum grade"] == "5.00" and worksheet["Last modified (grade)"] == "-"
    assert "anna" in notes[0]


def test_csv_is_nbgrader_s(lab, tmp_path):
    assert export(lab.course, [], "csv", tmp_path / "all.csv") == []
    scores = {row["student_id"]: row["score"] for row in csv.DictReader((tmp_path / "all.csv").open())}
    assert scores == {"lovelace_4711": "5.0", "anna": "5.0", "=cmd()": "0.0"}


@pytest.mark.parametrize(
    "labs, form, words",
    [
        ([], "excel", "canvas, moodle, csv"),
        ([], "moodle", "name one lab"),
        ([START], "csv", "all labs"),
        (["no_such_lab"], "canvas", "There is no lab"),
    ],
)
def test_what_cannot_be_exported_is_said(lab, tmp_path, labs, form, words):
    with pytest.raises(CourseError, match=words):
        export(lab.course, labs, form, tmp_path / "out.csv")


def test_nothing_graded_nothing_written(tmp_path):
    course = with_gradebook(new_course(tmp_path))
    with pytest.raises(CourseError, match="Nothing has been graded"):
        export(course, [], "canvas", tmp_path / "out.csv")
    assert not (tmp_path / "out.csv").exists()


def test_a_place_that_cannot_be_written_is_said(lab, tmp_path):
    with pytest.raises(CourseError, match="--out"):
        export(lab.course, [], "canvas", tmp_path / "no" / "such" / "folder.csv")


@given(st.text(max_size=20))
def test_no_cell_of_a_table_is_a_formula(text):
    assert not re.match(r"[=+@\t\r]|-[^\d.]", inert(text))
    assert inert(text).endswith(text)


@pytest.mark.parametrize(
    "student, number", [("anna_7", "7"), ("anna", ""), ("anna_b_12", "12"), ("7", ""), ("anna_7b", "")]
)
def test_the_number_of_an_lms_ends_the_id(student, number):
    assert lms_number(student) == number


def test_feedback_pages_go_into_moodle_s_folders(lab, tmp_path):
    for student in ("lovelace_4711", "anna", "de_la_cruz_12"):
        folder = lab.course.feedback / student / lab.name
        folder.mkdir(parents=True)
        (folder / "start_here.html").write_text(student)
    assert write_feedback_zip(lab, tmp_path / "pages.zip") == 3
    with zipfile.ZipFile(tmp_path / "pages.zip") as archive:
        assert {name: archive.read(name).decode() for name in archive.namelist()} == {
            "anna/start_here.html": "anna",
            "de la cruz_12_assignfeedback_file/start_here.html": "de_la_cruz_12",
            "lovelace_4711_assignfeedback_file/start_here.html": "lovelace_4711",
        }


# ---------------------------------------------------------------------------------- the zip for learners


@pytest.fixture
def whole(tmp_path) -> Lab:
    """A lab in a course that has everything the project has at its root."""
    course = with_gradebook(new_course(tmp_path))
    for name in ("requirements.txt", "LICENSE", "NOTICE", "pyproject.toml"):
        shutil.copy(ROOT / name, tmp_path / name)
    for name in ("scripts", "course_utils"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
    return Lab.load(course, START)


def test_a_bundle_has_what_a_learner_needs_and_nothing_of_the_instructor_s(whole, tmp_path, monkeypatch):
    monkeypatch.chdir(whole.course.root)
    told = CliRunner().invoke(app, ["release", START, "--out", str(tmp_path / "bundle.zip")])
    assert told.exit_code == 0, told.output
    with zipfile.ZipFile(tmp_path / "bundle.zip") as archive:
        names = {name.partition("/")[2] for name in archive.namelist()}
        root = archive.namelist()[0].partition("/")[0]
        settings = tomllib.loads(archive.read(f"{root}/pyproject.toml").decode())
        makefile = archive.read(f"{root}/Makefile").decode()
        scripts = [archive.getinfo(f"{root}/{name}") for name in re.findall(r"scripts/\S+", makefile)]
    assert {
        f"notebooks/{START}/start_here.ipynb",
        f"notebooks/{START}/expected.npz",
        "README.md",
        "nbgrader_config.py",
    } <= names
    assert {"requirements.txt", "course_utils/check.py", "course_utils/data/paragraphs.json"} <= names
    assert not [name for name in names if name.startswith(("solutions", "grader", "tests"))]
    assert "scripts" not in settings["project"] and "entry-points" not in settings["project"]
    assert settings["project"]["dependencies"] and settings["tool"]["setuptools"]
    assert f"/lab/tree/{START}/start_here.ipynb" in makefile
    assert len(scripts) == 2 and all(
        script.external_attr >> 16 & 0o100 for script in scripts
    )  # they can be run


def test_a_bundle_that_would_tell_is_not_written(whole, tmp_path):
    solution = re.search(
        r"### BEGIN SOLUTION\n(.*?)### END", (whole.folder / f"{START}.py").read_text(), re.DOTALL
    )
    (whole.release_folder / "notes.txt").write_text(solution[1])
    with pytest.raises(CourseError, match=r"parts of the solution:\n.*notes\.txt"):
        write_bundle(whole, tmp_path / "bundle.zip")
    assert not (tmp_path / "bundle.zip").exists()


def test_a_bundle_s_files_are_whole(whole, tmp_path):
    files = write_bundle(whole, tmp_path / "bundle.zip")
    with zipfile.ZipFile(io.BytesIO((tmp_path / "bundle.zip").read_bytes())) as archive:
        assert archive.testzip() is None and len(archive.namelist()) == len(files)
