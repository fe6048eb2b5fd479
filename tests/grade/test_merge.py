"""Work from before the roster becomes its student's: points, comments, files; also if the merge is killed on the way."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest
from classroom import START, KernelFree, book_of, hand_in_class, new_course, with_gradebook
from typer.testing import CliRunner

from grader.book import log
from grader.book.file import MERGE
from grader.book.gradebook import Gradebook
from grader.cli import app
from grader.grade import autograde as grading
from grader.handout.demo import hand_in, solved
from grader.people.roster import Person
from grader.reference.lab import Lab
from grader.show.feedback import generate_feedback

OLD, NEW = "Zoë van Dyk", "zoe"


def graded(lab: Lab) -> None:
    list(grading.autograde(lab, grading.submissions(lab), KernelFree(lab.course.root / "runs"), 5))


@pytest.fixture
def lab(tmp_path, monkeypatch) -> Lab:
    """Work of OLD with a grade, a point and a comment by hand, feedback and an earlier version; NEW is on the roster."""
    lab = Lab.load(with_gradebook(new_course(tmp_path)), START)
    hand_in_class(lab, 2)
    hand_in(lab.course, lab, OLD, solved(lab))
    graded(lab)
    with Gradebook.open(lab.course) as gradebook:
        gradebook.enter_people([Person(NEW, "Zoë", "van Dyk"), Person("s00"), Person("s01")])
        gradebook.extend(lab, OLD, timedelta(days=3))
        gradebook.extend(lab, NEW, timedelta(days=1))
    with book_of(lab.course) as book:
        page = book.find_submission_notebook("start_here", START, OLD)
        page.grades[0].manual_score = 1.5
        page.comments[0].manual_comment = "Well done."
        book.db.commit()
    (lab.course.feedback / OLD / START).mkdir(parents=True)
    (lab.course.feedback / OLD / START / "start_here.html").write_text("page")
    (lab.course.grading / "earlier" / OLD / START / "1").mkdir(parents=True)
    (lab.course.grading / "earlier" / OLD / START / "1" / "old.ipynb").write_text("{}")
    monkeypatch.chdir(lab.course.root)
    return lab


def merge(*options: str, old: str = OLD, new: str = NEW, answer: str = ""):
    return CliRunner().invoke(app, ["roster", "merge", old, new, *options], input=answer)


def state(lab: Lab) -> tuple:
    """Everything that there is of anybody: files with their content, and what the gradebook says."""
    places = ("submitted", "autograded", "feedback", "earlier")
    files = {
        path.relative_to(lab.course.grading): path.read_bytes()
        for place in places
        for path in (lab.course.grading / place).rglob("*")
        if path.is_file()
    }
    with Gradebook.open(lab.course) as gradebook:
        return files, gradebook.results(lab), gradebook.people(), gradebook.markers(lab)


def of(student: str, files: dict[Path, bytes]) -> dict[Path, bytes]:
    """A student's files, without the student's name in their paths."""
    return {
        Path(path.parts[0], *path.parts[2:]): data for path, data in files.items() if path.parts[1] == student
    }


def test_everything_of_the_old_id_is_the_new_one_s(lab):
    files, results, _, _ = state(lab)
    before = next(each for each in results if each.student == OLD)
    told = merge(answer="y\n")
    assert told.exit_code == 0 and f"{OLD} is now {NEW}." in told.output, told.output
    now, results, people, _ = state(lab)
    assert of(NEW, now) == of(OLD, files) and not of(OLD, now) and len(of(NEW, now)) >= 5
    assert not list(lab.course.grading.glob(f"*/{OLD}")) and OLD not in people
    after = next(each for each in results if each.student == NEW)
    assert (after.points, after.submitted, after.marker) == (before.points, before.submitted, before.marker)
    assert 1.5 in after.points.values()
    with book_of(lab.course) as book:
        page = book.find_submission_notebook("start_here", START, NEW)
        assert page.comments[0].manual_comment == "Well done."
        assert page.assignment.extension == timedelta(days=3)  # the longer one


def test_the_log_tells_of_the_merge_and_shows_what_was_before_it(lab):
    with Gradebook.open(lab.course) as gradebook:
        before = gradebook.changes(student=OLD)
    merge("--yes", "--because", "two accounts")
    with Gradebook.open(lab.course) as gradebook:
        gradebook.merge(OLD, NEW, [])  # again, as after a kill
        now = gradebook.changes(student=NEW)
        assert before and [each for each in now if each.student == OLD] == before
    told = [(each.before, each.after, each.why) for each in now if each.what == log.MERGED]
    assert told == [(OLD, NEW, "two accounts")]
    assert CliRunner().invoke(app, ["log", "--student", OLD]).exit_code == 0


def test_nothing_is_graded_anew_and_feedback_can_be_made(lab):
    merge("--yes")
    runner = KernelFree(lab.course.root / "again")
    records = list(grading.autograde(lab, grading.submissions(lab), runner, 5, again=grading.Again.NEW))
    assert all(record.kept for record in records) and not runner.runs()
    assert generate_feedback(lab).pages == 3
    assert "Well done." in (lab.course.feedback / NEW / START / "start_here.html").read_text()


def test_who_says_no_changes_nothing(lab):
    before = state(lab)
    assert "Nothing has changed." in merge(answer="n\n").output
    assert state(lab) == before


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        (OLD, "nobody", "'nobody' is not on the roster"),
        ("nobody", NEW, "There is no work of 'nobody'"),
        ("../submitted", NEW, "There is no work of"),
        ("s00", "s01", "have different numbers in Canvas, 5 and 6: these are two people"),
        (NEW, NEW, "are the same id"),
    ],
)
def test_ids_that_cannot_be_merged_are_told(lab, old, new, words):
    with Gradebook.open(lab.course) as gradebook:
        gradebook.enter_people([Person("s00", canvas="5"), Person("s01", canvas="6")])
    before = state(lab)
    told = merge("--yes", old=old, new=new)
    assert told.exit_code == 1 and words in told.output, told.output
    assert state(lab) == before


@pytest.mark.parametrize("answer", ["n\n", "y\n"])
def test_two_ids_on_the_roster_are_shown_and_become_one_person(lab, answer):
    jane = Person("jane.doe@uni.example", "Jane", "Doe", "jane.doe@uni.example", "Monday")
    login = Person("jdoe", "Jane", "Doe", canvas="1001")
    hand_in(lab.course, lab, jane.student, solved(lab))
    graded(lab)
    with Gradebook.open(lab.course) as gradebook:
        gradebook.enter_people([jane, login])
    before = state(lab)
    told = merge(old=jane.student, new="jdoe", answer=answer)
    assert told.exit_code == 0 and "Both are on the roster" in told.output
    assert "jdoe: Jane Doe, no e-mail address, no section" in told.output
    if answer == "n\n":
        assert state(lab) == before
        return
    _, results, people, _ = state(lab)
    assert jane.student not in people and {each.student for each in results} >= {"jdoe"}
    assert people["jdoe"] == Person("jdoe", "Jane", "Doe", "jane.doe@uni.example", "Monday", "1001")
    with Gradebook.open(lab.course) as gradebook:
        assert gradebook.roster()["jdoe"] == people["jdoe"] and jane.student not in gradebook.roster()


def test_two_works_for_one_lab_are_refused_with_a_way_out(lab):
    before = state(lab)
    told = merge("--yes", new="s01")
    assert told.exit_code == 1 and f"have work for {START}" in told.output, told.output
    assert f"--keep '{OLD}' or --keep s01" in told.output and state(lab) == before
    assert "--keep is one of the two ids" in merge("--yes", "--keep", "s00", new="s01").output


@pytest.mark.parametrize(("keep", "loser"), [(OLD, "s01"), ("s01", OLD)])
def test_the_work_that_does_not_count_is_kept_aside(lab, keep, loser):
    files, results, _, _ = state(lab)
    points = {each.student: each.points for each in results}
    told = merge("--yes", "--keep", keep, new="s01")
    assert told.exit_code == 0, told.output
    now, results, _, _ = state(lab)
    assert {each.student: each.points for each in results} == {"s00": points["s00"], "s01": points[keep]}
    assert sorted(now.values()) == sorted(files.values())  # no file is lost, none is changed
    notebook = Path("submitted", "s01", START, lab.notebook_name)
    assert now[notebook] == files[Path("submitted", keep, START, lab.notebook_name)]
    aside = Path("earlier", "s01", START, "1", "submitted", lab.notebook_name)
    assert now[aside] == files[Path("submitted", loser, START, lab.notebook_name)]


@pytest.mark.parametrize("options", [(), ("--keep", OLD)])
def test_a_merge_that_is_killed_anywhere_is_finished_by_the_same_command(lab, monkeypatch, options):
    new = "s01" if options else NEW
    files = state(lab)[0]
    really, left = Path.rename, 0

    def rename(self, target):
        nonlocal left
        if not left:
            raise KeyboardInterrupt
        left -= 1
        return really(self, target)

    monkeypatch.setattr(Path, "rename", rename)
    kills = 0
    while (told := merge("--yes", *options, new=new)).exit_code:
        assert told.exit_code == 130 or isinstance(told.exception, SystemExit), told.output
        refused = CliRunner().invoke(app, ["report", START])
        assert refused.exit_code == 1 and f"grader roster merge '{OLD}' {new}" in refused.output
        other = merge("--yes", old="s00", new="s01")
        assert "Another merge was interrupted" in other.output
        kills, left = kills + 1, 1
        assert kills < 10, told.output
    assert kills >= 4 and "it goes on" in told.output and not (lab.course.grading / MERGE).exists()
    monkeypatch.undo()
    now, results, people, _ = state(lab)
    assert sorted(now.values()) == sorted(files.values()) and OLD not in people and not of(OLD, now)
    notebook = Path("submitted", new, START, lab.notebook_name)
    assert now[notebook] == files[Path("submitted", OLD, START, lab.notebook_name)]
    assert 1.5 in next(each for each in results if each.student == new).points.values()


def test_a_disk_that_fails_is_told_and_the_merge_goes_on_afterwards(lab, monkeypatch):
    def full(self, target):
        raise OSError(28, "No space left on device", str(self))

    with monkeypatch.context() as patch:
        patch.setattr(Path, "rename", full)
        told = merge("--yes")
    assert told.exit_code == 1 and "No space left on device. Nothing is lost." in told.output
    assert merge("--yes").exit_code == 0 and len(of(NEW, state(lab)[0])) >= 5


def test_the_roster_names_the_command(lab):
    told = " ".join(CliRunner().invoke(app, ["roster"]).output.split())
    assert f"If so: grader roster merge '{OLD}' {NEW}" in told


def test_whoever_asks_the_log_for_either_id_gets_the_history_of_both(lab):
    old = "mail 7"
    hand_in(lab.course, lab, old, solved(lab))  # collected, and not graded: the gradebook does not know it
    assert merge("--yes").exit_code == 0
    with Gradebook.open(lab.course) as gradebook:
        gradebook.extend(lab, old, timedelta(days=9))
    assert merge("--yes", "--keep", NEW, old=old).exit_code == 0

    def shown(student: str) -> str:
        done = CliRunner().invoke(app, ["log", "--student", student])
        assert done.exit_code == 0, done.output
        return done.output

    assert "9 d" in shown(NEW) and OLD in shown(NEW) and old in shown(NEW)
    for earlier in (OLD, old):
        first, _, table = shown(earlier).partition("\n")
        assert first == f"{earlier} is now {NEW}. These are the changes under all ids of {NEW}."
        assert table == shown(NEW)
    with Gradebook.open(lab.course) as gradebook:
        notes = [each.before for each in gradebook.changes(student=NEW) if each.what == log.MERGED]
    assert notes == [OLD, old]


def test_an_id_without_any_work_is_called_that(lab):
    with Gradebook.open(lab.course) as gradebook:
        gradebook.enter_people([Person("zvd", "Zoë", "van Dyk")])
    told = merge("--yes", old="zvd")
    assert (
        told.exit_code == 0
        and "zvd has no work in any lab." in told.output
        and "All of it" not in told.output
    )
