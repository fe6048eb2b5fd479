"""The seed of a lab's checks stays what it is, whatever happens to its file: grades depend on it."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from classroom import (
    ATTENTION,
    START,
    KernelFree,
    hand_in_class,
    new_course,
    with_gradebook,
    without_gradebook,
)
from typer.testing import CliRunner

from grader.book.backups import backups
from grader.book.gradebook import Gradebook
from grader.cli import app
from grader.course import Course, CourseError
from grader.grade import autograde as grading
from grader.grade.resume import Again
from grader.people.roster import Person
from grader.reference.lab import Lab

LOST = {
    "deleted": lambda file: file.unlink(),
    "a table without names": lambda file: file.write_text("{}"),
    "older": lambda file: file.write_text(json.dumps({ATTENTION: in_file(file)[ATTENTION]})),
    "another course's, of other labs": lambda file: file.write_text('{"13_extractive_summarisation": 7}'),
}
DAMAGED = ("", "{", "[]", "5", "[" * 9999, b"\xff\xfe{}", *(
    f'{{"{START}": {seed}}}'
    for seed in ('"x"', '"5"', "null", "true", "-1", "1.5", "5.0", str(2**32), "9" * 5000, "[5]", "NaN", "{}")
))  # fmt: skip


def in_file(file: Path) -> dict[str, int]:
    return json.loads(file.read_text())


@pytest.fixture
def course(tmp_path) -> Course:
    (tmp_path / "course").mkdir()
    return with_gradebook(new_course(tmp_path / "course"))


@pytest.fixture
def lab(course) -> Lab:
    return Lab.load(course, START)


@pytest.fixture
def seeds(course) -> Path:
    return course.grading / "seeds.json"


def test_a_lab_keeps_the_seed_that_was_drawn_for_it_and_each_lab_has_another(course, lab, seeds):
    others = [(Lab.load(course, ATTENTION), False), (lab, True)]
    drawn = [grading.class_seed(lab), *(grading.class_seed(*each) for each in others)]
    assert len(set(drawn)) == 3 and sorted(in_file(seeds).values()) == sorted(drawn)
    assert [grading.class_seed(lab), *(grading.class_seed(*each) for each in others)] == drawn
    seeds.unlink()
    without_gradebook(course)
    assert grading.class_seed(with_gradebook(course) and lab) not in drawn  # as in another course


@pytest.mark.parametrize("lost", LOST.values(), ids=LOST)
def test_what_its_file_lacks_is_written_again_from_the_gradebook_and_no_grade_changes(
    course, lab, seeds, tmp_path, capsys, lost
):
    attention = grading.class_seed(Lab.load(course, ATTENTION))
    folders, runner = hand_in_class(lab, 1), KernelFree(tmp_path / "runs")
    list(grading.autograde(lab, folders, runner, seed := grading.class_seed(lab)))
    lost(seeds)
    assert capsys.readouterr().err == ""
    assert grading.class_seed(lab) == seed
    said = capsys.readouterr().err
    assert said.count("\n") == 1 and str(seeds) in said and START in said and "from the gradebook" in said
    assert {START: seed, ATTENTION: attention}.items() <= in_file(seeds).items()
    assert seeds.stat().st_mode & 0o777 == 0o600
    (record,) = grading.autograde(lab, folders, runner, grading.class_seed(lab), again=Again.CHANGED)
    assert record.kept and capsys.readouterr().err == ""


@pytest.mark.parametrize("name", [START, f"{START}, on hand-in"])
def test_a_file_that_contradicts_the_gradebook_stops_whatever_needs_a_seed(
    course, lab, seeds, monkeypatch, name
):
    hand_in_class(lab, 1)
    drawn = [grading.class_seed(lab), grading.class_seed(lab, on_hand_in=True)]
    wrong = json.dumps({**in_file(seeds), name: 5})
    seeds.write_text(wrong)
    monkeypatch.chdir(course.root)
    for arguments in (
        ("autograde", START, "--sandbox", "none"),
        ("gradescope", START),
        ("viva", START, "--student", "s00"),
    ):
        told = CliRunner().invoke(app, [*arguments])
        said = " ".join(told.output.split())
        assert told.exit_code == 1 and isinstance(told.exception, SystemExit), (arguments, told.exception)
        assert f"{seeds}, which" in said and "another course's or was changed" in said, (arguments, said)
        assert f"mv {seeds} {seeds}.old" in said and "Nothing was changed" in said
        assert seeds.read_text() == wrong
    seeds.rename(f"{seeds}.old")
    assert [grading.class_seed(lab), grading.class_seed(lab, on_hand_in=True)] == drawn


@pytest.mark.parametrize(
    "drawn", [True, False], ids=["with a gradebook that knows it", "with a new gradebook"]
)
def test_a_damaged_file_is_told_with_what_to_do(course, lab, seeds, drawn):
    if drawn:
        grading.class_seed(lab)
    for damage in DAMAGED:
        data = damage if isinstance(damage, bytes) else damage.encode()
        seeds.write_bytes(data)
        what = (
            "written again from the gradebook, and all grades stay"
            if drawn
            else "backup.*delete.*different grade"
        )
        with pytest.raises(CourseError, match=rf"seeds\.json.* is damaged \(.*{what}"):
            grading.class_seed(lab)
        assert seeds.read_bytes() == data


def test_seeds_of_a_course_of_an_earlier_version_are_entered_into_its_gradebook(course, lab, seeds):
    seeds.write_text(json.dumps({START: 2**32 - 1, ATTENTION: 0}))
    assert grading.class_seed(lab) == 2**32 - 1
    seeds.unlink()
    assert grading.class_seed(Lab.load(course, ATTENTION)) == 0


def test_a_file_that_was_lost_before_the_gradebook_knew_it_is_told(lab, seeds, tmp_path, capsys):
    list(grading.autograde(lab, hand_in_class(lab, 1), KernelFree(tmp_path / "runs"), 5))
    grading.class_seed(lab)
    said = capsys.readouterr().err
    assert said.count("\n") == 1 and f"{seeds} is missing, although work has been graded" in said
    grading.class_seed(lab, on_hand_in=True)
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    "left", [None, "", '{"00_start_here": 5, "01_x": 6}'], ids=["deleted", "empty", "another course's"]
)
def test_a_backup_of_the_gradebook_brings_the_seeds_back(course, lab, seeds, monkeypatch, left):
    drawn = {START: grading.class_seed(lab)}
    newest = backups(course)[0].name
    with Gradebook.open(course) as gradebook:
        gradebook.enter_people([Person("ada")])
    os.truncate(course.gradebook, 0)
    seeds.unlink()
    monkeypatch.chdir(course.root)
    with pytest.raises(CourseError, match=r"gradebook\.db is empty"):
        grading.class_seed(lab)
    assert not seeds.exists()
    if left is not None:
        seeds.write_text(left)
    told = CliRunner().invoke(app, ["restore", newest])
    assert told.exit_code == 0, told.output
    assert in_file(seeds) == drawn and grading.class_seed(lab) == drawn[START]
    if left is not None:
        assert seeds.with_name("seeds.json.old").read_text() == left
