"""What was collected by mistake is taken back: as if it had not been handed in, and nothing is lost."""

from __future__ import annotations

from datetime import timedelta

import pytest
from classroom import START, KernelFree, book_of, hand_in_class, new_course, with_gradebook
from typer.testing import CliRunner

from grader.book import log
from grader.book.gradebook import Gradebook
from grader.cli import app
from grader.grade import autograde as grading
from grader.grade import uncollect as taking_back
from grader.people.roster import Person
from grader.reference.lab import Lab
from grader.show.standing import standing

WHY = "the folder was another lab's"


@pytest.fixture
def lab(tmp_path, monkeypatch) -> Lab:
    """Two people's work, graded, with a point by hand and an extension of the first."""
    lab = Lab.load(with_gradebook(new_course(tmp_path)), START)
    hand_in_class(lab, 2)
    grade(lab)
    with Gradebook.open(lab.course) as gradebook:
        gradebook.enter_people([Person("s00"), Person("s01")])
        gradebook.extend(lab, "s00", timedelta(days=3))
    with book_of(lab.course) as book:
        book.find_submission_notebook("start_here", START, "s00").grades[0].manual_score = 1.5
        book.db.commit()
    (lab.course.feedback / "s00" / START).mkdir(parents=True)
    (lab.course.feedback / "s00" / START / "start_here.html").write_text("page")
    monkeypatch.chdir(lab.course.root)
    return lab


def grade(lab: Lab) -> None:
    list(grading.autograde(lab, grading.submissions(lab), KernelFree(lab.course.root / "runs"), 5))


def uncollect(*arguments: str):
    return CliRunner().invoke(app, ["uncollect", START, *arguments])


def row_of(lab: Lab, student: str) -> list[str]:
    rows, _, _ = standing(lab.course, None)
    return next(row for row in rows if row[0] == student)


def test_who_is_uncollected_has_not_handed_in_and_the_work_is_kept_aside(lab):
    before = (lab.course.submitted / "s00" / START / "start_here.ipynb").read_bytes()
    others = row_of(lab, "s01")
    told = uncollect("s00", "--because", WHY)
    assert told.exit_code == 0 and f"No longer handed in for {START}: s00." in told.output, told.output
    aside = lab.course.grading / "earlier" / "s00" / START / "1"
    assert sorted(folder.name for folder in aside.iterdir()) == ["autograded", "feedback", "submitted"]
    assert (aside / "submitted" / "start_here.ipynb").read_bytes() == before
    assert not any(
        (lab.course.grading / place / "s00").exists() for place in ("submitted", "autograded", "feedback")
    )
    with Gradebook.open(lab.course) as gradebook:
        assert [each.student for each in gradebook.results(lab)] == ["s01"]
        assert set(gradebook.markers(lab)) == {"s01"}
        assert gradebook.extensions(lab) == {"s00": timedelta(days=3)}
    assert START not in " ".join(row_of(lab, "s00")) and row_of(lab, "s01") == others


def test_the_log_says_who_took_work_back_and_why_and_has_its_points(lab):
    with Gradebook.open(lab.course) as gradebook:
        before = len(gradebook.changes())
    uncollect("s00", "--because", WHY)
    with Gradebook.open(lab.course) as gradebook:
        new = gradebook.changes()[before:]
    assert {(each.student, each.why) for each in new} == {("s00", WHY)} and all(each.who for each in new)
    assert [(each.before, each.after) for each in new if each.what == log.WORK] == [("collected", "")]
    assert [each.before for each in new if each.what == log.POINTS] == ["1.5"]
    assert not [each for each in new if each.what == log.EXTENSION]  # it still holds


def test_work_that_is_collected_again_is_graded_as_before(lab):
    with Gradebook.open(lab.course) as gradebook:
        before = {each.student: each.submitted for each in gradebook.results(lab)}
    uncollect("s01", "--because", WHY)
    aside = lab.course.grading / "earlier" / "s01" / START / "1" / "submitted"
    (lab.course.submitted / "s01").mkdir()
    aside.rename(lab.course.submitted / "s01" / START)
    grade(lab)
    with Gradebook.open(lab.course) as gradebook:
        assert {each.student: each.submitted for each in gradebook.results(lab)} == before


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["s00", "nobody", "--because", WHY], "'nobody' is not on the roster"),
        (["../submitted/s00", "--because", WHY], "is not on the roster"),
        (["s00"], "Say why"),
    ],
)
def test_nothing_changes_if_somebody_has_no_work_or_no_reason_is_given(lab, arguments, words):
    told = uncollect(*arguments)
    assert told.exit_code == 1 and words in " ".join(told.output.split()), told.output
    with Gradebook.open(lab.course) as gradebook:
        assert [each.student for each in gradebook.results(lab)] == ["s00", "s01"]
    assert not (lab.course.grading / "earlier").exists()


def test_what_is_interrupted_is_named_and_the_same_command_goes_on(lab, monkeypatch):
    move = taking_back._move_aside

    def full(lab, student):
        if student == "s01":
            raise OSError(28, "No space left on device")
        return move(lab, student)

    with monkeypatch.context() as patch:
        patch.setattr(taking_back, "_move_aside", full)
        told = uncollect("s00", "s01", "--because", WHY)
    assert told.exit_code == 1 and "run the command again for s01." in " ".join(told.output.split())
    assert uncollect("s01", "--because", WHY).exit_code == 0
    assert not list(lab.course.submitted.glob("s*"))
