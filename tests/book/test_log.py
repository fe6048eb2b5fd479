"""The log: whoever changes points, deadlines, extensions or comments, with whatever program, leaves a line."""

from __future__ import annotations

import csv
import os
import pwd
import sqlite3
from contextlib import closing
from datetime import UTC, datetime, timedelta

import pytest
from classroom import START, KernelFree, book_of, new_course, with_gradebook
from rich.console import ConsoleDimensions
from typer.testing import CliRunner

from grader.book import log
from grader.book.gradebook import Gradebook
from grader.cli import app
from grader.commands.terminal import console
from grader.grade import autograde as grading
from grader.handout.demo import hand_in, solved
from grader.reference.lab import Lab

ME = pwd.getpwuid(os.getuid()).pw_name


@pytest.fixture
def lab(tmp_path, monkeypatch) -> Lab:
    """A lab with one graded submission, anna's."""
    monkeypatch.delenv("JUPYTERHUB_USER", raising=False)
    lab = Lab.load(with_gradebook(new_course(tmp_path)), START)
    hand_in(lab.course, lab, "anna", solved(lab))
    grade(lab)
    return lab


def grade(lab: Lab) -> None:
    list(grading.autograde(lab, grading.submissions(lab), KernelFree(lab.course.root / "runs"), 5))


def lines(lab: Lab) -> list[tuple[str, ...]]:
    """Who, student, item, what, before, after."""
    with Gradebook.open(lab.course) as gradebook:
        found = gradebook.changes()
    return [(each.who, each.student, each.item, each.what, each.before, each.after) for each in found]


def first_grade(book) -> tuple[str, object]:
    page = book.find_submission_notebook("start_here", START, "anna")
    grade = min(page.grades, key=lambda grade: grade.name)
    return grade.name, grade


def test_grading_for_the_first_time_changes_nothing(lab):
    assert lines(lab) == []
    grade(lab)
    assert lines(lab) == []


def test_what_formgrader_changes_is_signed(lab, monkeypatch):
    monkeypatch.setenv("JUPYTERHUB_USER", "tutor")
    before = datetime.now(UTC)
    with book_of(lab.course) as book:  # formgrader's own way
        name, entry = first_grade(book)
        full = f"{entry.auto_score:g}"
        entry.manual_score, entry.extra_credit = 0.5, 0.25
        book.db.commit()
        entry.manual_score = None
        entry.extra_credit = 0
        comment = book.find_submission_notebook("start_here", START, "anna").comments[0]
        comment.manual_comment = "Well done; 'really'"
        book.db.commit()
        comment.manual_comment = ""
        book.db.commit()
        answer = comment.name
    assert sorted(lines(lab)[:2]) == [
        ("tutor", "anna", name, log.EXTRA, "", "0.25"),
        ("tutor", "anna", name, log.POINTS, f"{full} from the checks", "0.5"),
    ]
    assert sorted(lines(lab)[2:]) == sorted([
        ("tutor", "anna", name, log.EXTRA, "0.25", ""),
        ("tutor", "anna", name, log.POINTS, "0.5", f"{full} from the checks"),
        ("tutor", "anna", answer, log.COMMENT, "", "Well done; 'really'"),
        ("tutor", "anna", answer, log.COMMENT, "Well done; 'really'", ""),
    ])  # fmt: skip
    with Gradebook.open(lab.course) as gradebook:
        times = [each.when for each in gradebook.changes()]
    assert times == sorted(times) and before - timedelta(seconds=1) < times[0] <= datetime.now(UTC)


def test_another_program_is_logged_without_a_name_even_after_a_signed_change(lab):
    with Gradebook.open(lab.course) as gradebook:
        gradebook.set_deadline(lab, datetime(2030, 1, 1))
    with closing(sqlite3.connect(lab.course.gradebook)) as book, book:
        book.execute("UPDATE grade SET manual_score = 1.5")
    who = [(line[0], line[3]) for line in lines(lab)]
    assert who[0] == (ME, log.DEADLINE) and set(who[1:]) == {(log.UNSIGNED, log.POINTS)}


def test_an_account_without_a_name_is_its_number(monkeypatch):
    monkeypatch.setattr(os, "getuid", lambda: 4_000_000_000)
    assert log._account() == "user 4000000000"


def test_a_change_that_is_undone_leaves_no_line(lab):
    with closing(sqlite3.connect(lab.course.gradebook)) as book:
        book.execute("UPDATE grade SET manual_score = 1.5")
        book.rollback()
    assert lines(lab) == []


def test_writing_the_same_again_is_no_change(lab):
    with closing(sqlite3.connect(lab.course.gradebook)) as book, book:
        book.execute(
            "UPDATE grade SET auto_score = auto_score, manual_score = manual_score, extra_credit = 0.0"
        )
        book.execute("UPDATE comment SET manual_comment = ''")
    assert lines(lab) == []


def test_deadlines_extensions_and_what_follows_from_them(lab):
    with (lab.course.root / "nbgrader_config.py").open("a") as file:
        file.write('get_config().AssignLatePenalties.plugin_class = "grader.plugins.late.PenaltyPerDay"\n')
    with Gradebook.open(lab.course) as gradebook:
        gradebook.set_deadline(lab, datetime(2030, 1, 14, 12))
        gradebook.enter_lateness(lab)
        for days in (3, 5, 0):
            gradebook.extend(lab, "anna", timedelta(days=days))
        gradebook.extend(lab, "ben", timedelta(days=2))  # who has not handed in anything
        gradebook.extend(lab, "ben", timedelta(days=1))
        score = gradebook.results(lab)[0].earned
    assert lines(lab) == [
        (ME, "", "", log.DEADLINE, "", "2030-01-14 12:00 UTC"),
        (ME, "anna", "", log.PENALTY, "", f"{score / 10:g}"),
        (ME, "anna", "", log.EXTENSION, "", "3 d"),
        (ME, "anna", "", log.EXTENSION, "3 d", "5 d"),
        (ME, "anna", "", log.EXTENSION, "5 d", ""),
        (ME, "ben", "", log.EXTENSION, "", "2 d"),
        (ME, "ben", "", log.EXTENSION, "2 d", "1 d"),
    ]
    hand_in(lab.course, lab, "ben", solved(lab))
    grade(lab)  # copies the extension to the submission
    assert len(lines(lab)) == 7
    with book_of(lab.course) as book:
        book.find_submission(START, "ben").extension = timedelta(days=9)
        book.db.commit()
    grade(lab)  # ours counts
    assert [line[4:] for line in lines(lab)[7:]] == [("1 d", "9 d"), ("9 d", "1 d")]


def test_other_points_from_the_checks_and_a_removed_submission(lab):
    with closing(sqlite3.connect(lab.course.gradebook)) as book, book:
        book.execute("UPDATE grade SET auto_score = 0")
    changed = lines(lab)
    assert changed and {(line[1], line[3], line[5]) for line in changed} == {("anna", log.CHECKS, "0")}
    with book_of(lab.course) as book:
        book.remove_submission(START, "anna")
    removed = lines(lab)[len(changed) :]
    assert {line[:2] + line[3:] for line in removed} == {(ME, "anna", log.CHECKS, "0", "")}
    assert {line[2] for line in removed} == {line[2] for line in changed}


@pytest.mark.parametrize(
    "change",
    ["UPDATE {} SET who = 'nobody'", "DELETE FROM {}", "INSERT OR REPLACE INTO {} (id, what) VALUES (1, '')"],
)
def test_the_log_is_append_only(lab, change):
    with Gradebook.open(lab.course) as gradebook:
        gradebook.set_deadline(lab, datetime(2030, 1, 1))
    kept = lines(lab)
    with (
        closing(sqlite3.connect(lab.course.gradebook)) as book,
        pytest.raises(sqlite3.IntegrityError, match="append-only"),
    ):
        book.execute(change.format(log.LOG))
    assert lines(lab) == kept != []


def test_triggers_that_an_upgrade_has_dropped_come_back_and_the_log_stays(lab):
    with Gradebook.open(lab.course) as gradebook:
        gradebook.set_deadline(lab, datetime(2030, 1, 1))
    with closing(sqlite3.connect(lab.course.gradebook)) as book, book:
        names = [row[0] for row in book.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'")]
        for name in names:
            book.execute(f"DROP TRIGGER {name}")
    assert names and len(lines(lab)) == 1
    with closing(sqlite3.connect(lab.course.gradebook)) as book, book:
        book.execute("UPDATE assignment SET duedate = NULL")
    assert [line[3:] for line in lines(lab)][1:] == [(log.DEADLINE, "2030-01-01 00:00 UTC", "")]


def test_triggers_of_an_earlier_version_are_replaced_those_of_the_log_and_those_of_teams(lab):
    def triggers(book: sqlite3.Connection) -> dict[str, str]:
        return dict(book.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'").fetchall())

    lines(lab)  # which opens the gradebook
    with closing(sqlite3.connect(lab.course.gradebook)) as book, book:
        ours = triggers(book)
        for name in ours:
            book.execute(f"DROP TRIGGER {name}")
            book.execute(f"CREATE TRIGGER {name} AFTER UPDATE ON assignment BEGIN SELECT 1; END")
        assert triggers(book).keys() == ours.keys()
    lines(lab)
    with closing(sqlite3.connect(lab.course.gradebook)) as book:
        assert triggers(book) == ours and len({name.rpartition("_")[0] for name in ours}) > 1


def test_the_command_shows_the_log_and_writes_a_table(lab, monkeypatch):
    monkeypatch.chdir(lab.course.root)
    with book_of(lab.course) as book:
        comment = book.find_submission_notebook("start_here", START, "anna").comments[0]
        comment.manual_comment = "=cmd() [red]see me[/red]\x1b[2J"
        book.db.commit()
    run = CliRunner().invoke
    assert run(app, ["extend", START, "ben", "--days", "2"]).exit_code == 0
    shown = run(app, ["log", START, "--csv", "log.csv"])
    assert shown.exit_code == 0 and "2 changes" in shown.output and "\x1b[2J" not in shown.output
    rows = list(csv.reader((lab.course.root / "log.csv").open(newline="")))
    assert [row[3:5] for row in rows[1:]] == [[START, "anna"], [START, "ben"]]
    assert rows[1][8].startswith("'=cmd() [red]")
    assert "1 change\n" in run(app, ["log", "--student", "anna"]).output.replace(" \n", "\n").replace(
        "  ", ""
    )
    wrong = run(app, ["log", "--student", "nobody"])
    assert wrong.exit_code == 1 and "nobody" in wrong.output


def test_the_log_is_legible_in_a_terminal_of_80_columns(lab, monkeypatch):
    monkeypatch.chdir(lab.course.root)
    monkeypatch.setattr(console, "size", ConsoleDimensions(80, 50))
    with book_of(lab.course) as book:
        grade = book.find_submission_notebook("start_here", START, "anna").grades[0]
        name, grade.manual_score = grade.name, 1.25
        book.db.commit()
    lines_shown = CliRunner().invoke(app, ["log"]).output.splitlines()
    assert max(map(len, lines_shown)) <= 80
    (change,) = lines(lab)
    for words in (START, "anna", f"{name.removeprefix('check_')}: {log.POINTS}", "5 from the checks → 1.25"):
        assert any(words in line for line in lines_shown), words
    assert change[1:3] == ("anna", name)
