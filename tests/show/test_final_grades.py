"""A term from decisions and rules to final grades: against an independent computation, in exports both ways, in the log, and with bad input."""

from __future__ import annotations

import csv
import random
import sqlite3
import uuid
from contextlib import closing
from datetime import datetime, timedelta
from pathlib import Path
from types import SimpleNamespace

import pytest
from classroom import START, KernelFree, new_course, with_gradebook
from nbgrader.api import BaseCell, Grade, Notebook, Student, SubmittedAssignment, SubmittedNotebook
from project import ROOT
from sqlalchemy import insert, select
from typer.testing import CliRunner

from grader.author.build import differences
from grader.book.counting import Counted, counted
from grader.book.gradebook import Gradebook
from grader.book.log import LOG
from grader.book.rules import Rules
from grader.book.statuses import Kind, Status
from grader.by_hand.extending import extend as give_more_time
from grader.cli import app
from grader.course import Course
from grader.errors import GraderError
from grader.grade import autograde as grading
from grader.handout.bundle import tell_learners
from grader.handout.demo import hand_in, solved
from grader.people.roster import Person
from grader.reference.lab import Lab
from grader.show.class_report import write_report
from grader.show.export import export
from grader.show.feedback import enter
from grader.show.feedback_page import as_html
from grader.show.grades import final_grades, summary, write_grades
from grader.show.standing import standing
from grader.show.term import write_term

DUE = datetime(2026, 9, 1, 12)
OTHER = "02_self_attention"


def say(course: Course, monkeypatch, *words: str) -> str:
    """What a command says; its whole output, whether it succeeds or not."""
    monkeypatch.chdir(course.root)
    done = CliRunner().invoke(app, [*words])
    assert done.exception is None or isinstance(done.exception, SystemExit), done.output
    return " ".join(done.output.split())


def rows_of(file: Path) -> list[dict[str, str]]:
    with file.open(newline="") as opened:
        return list(csv.DictReader(opened))


def submit(gradebook: Gradebook, lab: Lab, works: dict[str, tuple[float, datetime]]) -> None:
    """Puts the rows of graded work into the gradebook.

    Args:
        works: student -> the share of the points, the same in every cell, and when it was handed in.
    """
    assignment = gradebook._book.find_assignment(lab.name).id
    cells = (
        select(BaseCell.id, BaseCell.name, Notebook.id.label("notebook"))
        .join(Notebook, Notebook.id == BaseCell.notebook_id)
        .where(Notebook.assignment_id == assignment, BaseCell.type == "GradeCell")
    )
    ids = {student: (uuid.uuid4().hex, uuid.uuid4().hex) for student in works}
    with gradebook.transaction() as db:
        found = db.execute(cells).all()
        db.execute(insert(Student.__table__).prefix_with("OR IGNORE"), [{"id": student} for student in works])
        db.execute(
            insert(SubmittedAssignment.__table__),
            [
                {"id": ids[student][0], "assignment_id": assignment, "student_id": student, "timestamp": when}
                for student, (_, when) in works.items()
            ],
        )
        db.execute(
            insert(SubmittedNotebook.__table__),
            [
                {"id": page, "assignment_id": submission, "notebook_id": found[0].notebook}
                for submission, page in ids.values()
            ],
        )
        db.execute(
            insert(Grade.__table__),
            [
                {
                    "id": uuid.uuid4().hex,
                    "cell_id": cell.id,
                    "notebook_id": ids[student][1],
                    "auto_score": share * lab.points_of_cells[cell.name],
                    "needs_manual_grade": False,
                }
                for student, (share, _) in works.items()
                for cell in found
            ],
        )


@pytest.fixture
def course(tmp_path) -> Course:
    """Four people on the roster; anna, ben and eva have handed in and earned 80 % in one lab, of 5 points; dan has handed in nothing."""
    course = with_gradebook(new_course(tmp_path))
    lab = Lab.load(course, START)
    people = [
        Person(name, name.title(), "Doe", f"{name}@example.org", "", str(number))
        for number, name in enumerate(("anna", "ben", "dan", "eva"), 11)
    ]
    with Gradebook.open(course) as gradebook:
        gradebook.register(lab)
        gradebook.set_deadline(lab, DUE)
        gradebook.enter_people(people)
        submit(gradebook, lab, dict.fromkeys(("anna", "ben", "eva"), (0.8, DUE - timedelta(days=1))))
    return course


def put(course: Course, *given: Status) -> None:
    with Gradebook.open(course) as gradebook:
        gradebook.enter_statuses(given)


def test_every_export_tells_not_handed_in_excused_zero_and_graded_apart(course, tmp_path):
    put(
        course,
        Status("anna", START, Kind.EXCUSED, "", "ill"),
        Status("ben", START, Kind.ZERO, "", "copied"),
        Status("eva", START, Kind.PENALTY, "1", "a file left out"),
    )
    notes = export(course, [], "canvas", tmp_path / "canvas.csv")
    cells = {row["SIS Login ID"]: row[START] for row in rows_of(tmp_path / "canvas.csv")[1:]}
    assert cells == {"anna": "EX", "ben": "0.00", "dan": "", "eva": "3.00"}
    assert notes == [f"An empty cell leaves what Canvas has. {START}: 1 not handed in."]
    export(course, [], "csv", tmp_path / "all.csv")
    told = {
        row["student_id"]: (row["score"], row["deducted"], row["state"], row["decision"])
        for row in rows_of(tmp_path / "all.csv")
    }
    assert told == {
        "anna": ("", "", "excused", "excused: ill"),
        "ben": ("0.0", "4", "zero", "zero: copied"),
        "dan": ("0.0", "", "not handed in", ""),
        "eva": ("3.0", "1", "graded", "penalty 1: a file left out"),
    }
    table = {row[0]: row[-1] for row in standing(course)[0][1:]}
    assert table == {"anna": "excused", "ben": "0 (zero)", "dan": "", "eva": "3"}
    page, students, _ = write_term(course)
    states = {row["student"]: (row[f"{START} (%)"], row[f"{START} (state)"]) for row in rows_of(students)}
    assert states == {
        "anna": ("", "excused"), "ben": ("0.0", "zero"), "dan": ("", "not handed in"), "eva": ("60.0", "graded"),
    }  # fmt: skip
    assert 'data-of="excused">1</td>' in page.read_text()
    assert 'data-of="graded">1</td>' in page.read_text() and 'data-of="zero">1</td>' in page.read_text()
    assert {row["student"]: row["handed in"] for row in rows_of(students)}["ben"] == "0"
    finals = final_grades(course).finals
    assert {name: str(each.percentage) for name, each in finals.items()} == {
        "anna": "None", "ben": "0.00", "dan": "0.00", "eva": "60.00",
    }  # fmt: skip
    row = finals["eva"].labs[0]
    assert row.earned - row.late - row.deducted == row.score


def test_canvas_s_excused_comes_back_in(course, tmp_path, monkeypatch):
    put(course, Status("anna", START, Kind.EXCUSED, "", "ill"))
    export(course, [], "canvas", tmp_path / "canvas.csv")
    text = (tmp_path / "canvas.csv").read_text().replace(START, f"{START} (4711)")
    (tmp_path / "canvas.csv").write_text(
        text.replace("11,,anna,,EX", "11,,anna,,EX").replace("13,,dan,,", "13,,dan,,EX")
    )
    assert "2 entered" in say(course, monkeypatch, "status", "import", str(tmp_path / "canvas.csv"))
    assert "0 entered, 2 there already" in say(
        course, monkeypatch, "status", "import", str(tmp_path / "canvas.csv")
    )
    with Gradebook.open(course) as gradebook:
        found = {each.student: (str(each), each.reason) for each in gradebook.statuses()}
    assert found == {"anna": ("excused", "excused in Canvas"), "dan": ("excused", "excused in Canvas")}


def test_two_assignments_of_one_lab_in_canvas_s_export_are_refused(course, tmp_path, monkeypatch):
    file = tmp_path / "canvas.csv"
    file.write_text(f'Student,ID,Section,{START} (4711),{START} (4712)\n"Doe, Anna",11,Monday,EX,4\n')
    monkeypatch.chdir(course.root)
    told = " ".join(str(CliRunner().invoke(app, ["status", "import", str(file)]).output).split())
    assert f"row 1, column E: there is another column for {START}" in told and "nothing has changed" in told


def test_the_log_has_who_what_and_why(course, monkeypatch):
    say(course, monkeypatch, "status", "set", "Anna Doe", "excused", "00", "--because", "ill")
    say(course, monkeypatch, "status", "withdraw", "anna", "excused", "00", "--because", "not ill")
    say(course, monkeypatch, "extend", "00", "dan", "--days", "2", "--because", "moved house")
    with Gradebook.open(course) as gradebook:
        found = [
            (each.student, each.what, each.before, each.after, each.why) for each in gradebook.changes(START)
        ]
        assert all(each.who != "unknown" for each in gradebook.changes())
    assert found[-3:] == [
        ("anna", "status", "", "excused", "ill"),
        ("anna", "status", "excused", "", "not ill"),
        ("dan", "extension", "", "2 d", "moved house"),
    ]
    assert "because: moved house" in say(course, monkeypatch, "log", "00")
    assert "extension 2" in say(course, monkeypatch, "status")


def test_the_log_of_a_gradebook_from_before_reasons_goes_on(course):
    with closing(sqlite3.connect(course.gradebook)) as db, db:
        for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
            db.execute(f"DROP TRIGGER {name}")
        for table in (LOG, "transformer_labs_signature"):
            db.execute(f"ALTER TABLE {table} DROP COLUMN why")
    put(course, Status("anna", START, Kind.EXCUSED, "", "ill"))
    with Gradebook.open(course) as gradebook:
        *before, last = gradebook.changes()
    assert (last.after, last.why) == ("excused", "ill") and before and not any(each.why for each in before)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["set", "anna", "excused", "00"], "Say why"),
        (["set", "anna", "ill", "00", "--because", "x"], "is not a status"),
        (["set", "zoe", "excused", "00", "--because", "x"], "not on the roster"),
        (["set", "anna", "excused", "--because", "x"], "say which"),
        (["set", "anna", "time 1.5", "00", "--because", "x"], "leave out the lab"),
        (["set", "anna", "late days 2", "00", "--because", "x"], "on request"),
        (["withdraw", "anna", "zero", "00", "--because", "x"], "has no “zero”"),
    ],
)
def test_a_status_that_cannot_be_is_one_sentence_and_changes_nothing(course, monkeypatch, words, said):
    assert said in say(course, monkeypatch, "status", *words)
    with Gradebook.open(course) as gradebook:
        assert gradebook.statuses() == []


def test_a_list_with_anything_wrong_names_row_and_column_and_changes_nothing(course, tmp_path, monkeypatch):
    file = tmp_path / "list.csv"
    file.write_text(
        "student,lab,status,reason\n"
        "anna,00,excused,ill\n"
        "zoe,00,zero,copied\n"
        "ben,17,zero,copied\n"
        "ben,00,nought,copied\n"
        "ben,00,zero,\n"
        "eva,00,time 1.5,letter\n"
        "anna,00,excused,again\n"
    )
    said = say(course, monkeypatch, "status", "import", str(file))
    for place in (
        "row 3, column A",
        "row 4, column B",
        "row 5, column C",
        "row 6, column D",
        "row 7, column B",
        "row 8, column C",
    ):
        assert place in said
    assert "nothing has changed" in said
    file.write_text("who,lab,status\nanna,00,excused\n")
    assert "no heading student, reason" in say(course, monkeypatch, "status", "import", str(file))
    with Gradebook.open(course) as gradebook:
        assert gradebook.statuses() == []
    file.write_text(
        "student;lab;status;reason\nanna@example.org;00;excused;ill\nBen Doe;00;penalty 10%;late form\nEVA;;time 1.5;letter\ndan;00;extension 3;moved\n"
    )
    assert "4 entered" in say(course, monkeypatch, "status", "import", str(file))
    with Gradebook.open(course) as gradebook:
        found = {(each.student, each.lab): str(each) for each in gradebook.statuses()}
        lab = Lab.load(course, START)
        assert gradebook.extensions(lab) == {"dan": timedelta(days=3)}
        assert gradebook.times(lab) == {"dan": timedelta(days=3), "eva": timedelta(days=3.5)}
    assert found == {("anna", START): "excused", ("ben", START): "penalty 10%", ("eva", ""): "time 1.5"}


HEAD = "student,lab,status,reason\n"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (HEAD + "anna,00,penalty 2,5,two files\n", "row 2, column E: this cell has no heading. If a comma"),
        (HEAD + "anna,00,excused,ill, note of 3 November\n", "row 2, column E: this cell has no heading"),
        (HEAD.replace("\n", ",\n") + "anna,00,extension 1,5,moved\n", "row 2, column E: this cell has no"),
        (
            "student,lab,status,reason,status\nanna,00,excused,ill,zero\n",
            "row 1, column E: it is called “status”, as column C is. Delete or rename one",
        ),
        (HEAD + 'anna,00,excused,"ill\nben,00,zero,copied\n', "from line 2 on: unexpected end of data"),
        (
            'Student,ID,Section,Start here (345)\n"Doe, Anna",11,Monday,EX\n',
            "no column that is named after a lab",
        ),
        (
            f'Student,ID,SIS Login ID,Section,{START} (345)\n"Doe, Anna",11,ben,Monday,EX\n',
            "row 2, column A: one cell says anna, and another ben",
        ),
    ],
)
def test_a_list_that_could_be_meant_otherwise_is_refused(course, tmp_path, monkeypatch, text, said):
    file = tmp_path / "list.csv"
    file.write_text(text)
    told = say(course, monkeypatch, "status", "import", str(file))
    assert said in told and (str(file) in told)
    with Gradebook.open(course) as gradebook:
        assert gradebook.statuses() == [] and gradebook.all_extensions() == {}


def test_what_was_read_and_assumed_in_a_list_is_told(course, tmp_path, monkeypatch):
    file = tmp_path / "list.csv"
    file.write_bytes((HEAD + "anna,00,excused,fièvre\n").encode("cp1252"))
    assert "read as Windows-1252" in say(course, monkeypatch, "status", "import", str(file))
    file.write_text(f'Student,ID,Section,{START} (345),Quiz (9)\n"Doe, Ben",12,Monday,EX,EX\n')
    told = say(course, monkeypatch, "status", "import", str(file))
    assert f"Columns read: {START} (345)." in told and "1 entered" in told


def test_an_extension_that_is_there_already_is_not_entered_again(course, tmp_path, monkeypatch):
    file = tmp_path / "list.csv"
    file.write_text(HEAD + "anna,00,extension 1.5,moved\n")
    assert "1 entered" in say(course, monkeypatch, "status", "import", str(file))
    assert "0 entered, 1 there already" in say(course, monkeypatch, "status", "import", str(file))


def test_what_cannot_be_seen_in_a_reason_is_not_kept(course, tmp_path, monkeypatch):
    file = tmp_path / "list.csv"
    file.write_text(HEAD + 'anna,00,excused,"\x1b[31mill"\n')
    say(course, monkeypatch, "status", "import", str(file))
    say(course, monkeypatch, "status", "set", "ben", "zero", "00", "--because", "\x1b[31mcopied\u202e")
    with Gradebook.open(course) as gradebook:
        assert [each.reason for each in gradebook.statuses()] == ["[31mill", "[31mcopied"]
        gradebook.extend(
            Lab.load(course, START), "dan", timedelta(days=1), "moved\x1b[2J"
        )  # as a form may say
        assert gradebook.changes()[-1].why == "moved[2J"
    put(course, Status("eva", START, Kind.ZERO, "", "of an \x1bearlier version"))
    say(course, monkeypatch, "grades")
    assert "\x1b" not in (course.grading / "reports" / "grades-labs.csv").read_text()


def rules(course: Course, tmp_path: Path, monkeypatch, text: str | bytes, *more: str) -> str:
    """What is said when these rules are entered."""
    file = tmp_path / "term.toml"
    file.write_bytes(text.encode() if isinstance(text, str) else text)
    return say(course, monkeypatch, "grades", "--rules", str(file), "--because", "decided", *more)


def entered_rules(course: Course) -> list[str]:
    with Gradebook.open(course) as gradebook:
        return [each.after for each in gradebook.changes() if each.what == "rules of the term"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("days = 400", "days is 400, and has to be a number greater than 0, at most 366."),
        ("late_days = " + "9" * 5000, "cannot be read as TOML: Exceeds the limit"),
        ("late_days = 0x" + "f" * 5000, "cannot be read as TOML: Exceeds the limit"),
        ("x = " + "[" * 5000 + "]" * 5000, "cannot be read as TOML: it is nested too deeply"),
        ("#" * 100_001, "has more than 100,000 characters. Is it the right file?"),
    ],
)
def test_rules_that_nobody_means_are_one_sentence(course, tmp_path, monkeypatch, text, said):
    told = rules(course, tmp_path, monkeypatch, text)
    assert said in told and "Nothing has changed" in told and entered_rules(course) == []


def test_rules_with_a_mark_at_their_start_are_read(course, tmp_path, monkeypatch):
    assert "Rules entered" in rules(course, tmp_path, monkeypatch, b"\xef\xbb\xbfdrop_lowest = 1\n")


@pytest.mark.parametrize(
    "more",
    [
        ("--student", "zoe"),
        ("--section", "Monday"),
        ("--out", "grading/gradebook.db"),
        ("--out", "README/x.csv"),
    ],
)
def test_rules_are_not_entered_if_the_rest_of_the_command_cannot_be_done(course, tmp_path, monkeypatch, more):
    (course.root / "README").write_text("no folder")
    told = rules(course, tmp_path, monkeypatch, "drop_lowest = 1", *more)
    assert told.startswith("grader: ") and entered_rules(course) == []


def test_nothing_is_entered_if_lateness_cannot_be_brought_up_to_date(course, tmp_path, monkeypatch):
    def broken(*_: object) -> None:
        raise OverflowError

    put(course, Status("anna", "", Kind.TIME, "1.5", "letter"))
    with Gradebook.open(course) as gradebook:
        before = gradebook.changes()
        monkeypatch.setattr(type(gradebook), "_enter_penalties", broken)
        for change in (
            lambda: gradebook.enter_statuses([Status("ben", START, Kind.EXTENSION, "2", "moved")]),
            lambda: gradebook.withdraw_status(Status("anna", "", Kind.TIME, "", "a mistake")),
            lambda: gradebook.enter_rules("days = 3", "term.toml", "decided"),
            lambda: give_more_time(gradebook, Lab.load(course, START), "ben", 2),
        ):
            with pytest.raises(OverflowError):
                change()
        assert gradebook.changes() == before and gradebook.all_extensions() == {}
        assert len(gradebook.statuses()) == 1


def test_no_command_writes_over_the_course_s_own_files(course, monkeypatch):
    (course.grading / "seeds.json").write_text("{}")
    own = [
        "grading/gradebook.db",
        "grading/seeds.json",
        "nbgrader_config.py",
        "solutions/00_start_here/lab.toml",
    ]
    there = {name: (course.root / name).read_bytes() for name in own}
    new = ["grading/submitted/anna/x.csv", "docs/x.csv"]
    plain = ["export", "status", "roster", "roster teams", "grades", "log", "requests", "term"]
    of_lab = ["autograde", "collect", "queue", "report", "similar", "release", "gradescope"]
    for command in (*plain, *(f"{each} 00" for each in of_lab), "export --format canvas"):
        for name in (*own, *new):
            said = say(course, monkeypatch, *command.split(), "--out", name)
            assert "among the course's own files" in said, (command, name)
    assert "own files" in say(course, monkeypatch, "feedback", "00", "--zip", own[0])
    assert "own files" in say(course, monkeypatch, "viva", "00", "--student", "anna", "--out", "docs")
    assert {name: (course.root / name).read_bytes() for name in own} == there
    assert not any((course.root / name).exists() for name in new)


def test_tables_may_lie_in_the_course_s_folder_and_among_reports(course, tmp_path, monkeypatch):
    for name in ("status.csv", "grading/status.csv", "grading/reports/of/status.csv", "mine/status.csv"):
        assert "Table: " in say(course, monkeypatch, "status", "--out", name)
        assert (course.root / name).exists()
    assert not course.owns(tmp_path.parent / "elsewhere" / "gradebook.db")
    assert course.owns(course.root) and course.owns(course.root / "solutions")
    assert "it is a folder: add the name of the file" in say(course, monkeypatch, "status", "--out", "mine")


def test_more_time_of_less_than_a_second_is_logged_and_none_withdraws_by_mistake(course, monkeypatch):
    say(course, monkeypatch, "extend", "00", "anna", "--days", "2")
    say(course, monkeypatch, "extend", "00", "anna", "--days", "2.000001")
    say(course, monkeypatch, "extend", "00", "dan", "--days", "0.001")
    assert "is a number of days" in say(course, monkeypatch, "extend", "00", "anna", "--days", "1e-13")
    with Gradebook.open(course) as gradebook:
        found = [(each.student, each.before, each.after) for each in gradebook.changes(START)][-3:]
    assert found == [("anna", "", "2 d"), ("anna", "2 d", "2.000001 d"), ("dan", "", "0.001 d")]


def test_who_moved_a_deadline_and_why_is_logged(course, monkeypatch):
    words = ["release", "00", "--due", "2026-09-02 12:00", "--because", "the lab was out late"]
    assert "Deadline: 2026-09-02 12:00 UTC" in say(course, monkeypatch, *words)
    with Gradebook.open(course) as gradebook:
        last = gradebook.changes(START)[-1]
    assert (last.what, last.after, last.why) == ("deadline", "2026-09-02 12:00 UTC", words[-1])
    assert "goes with --due" in say(course, monkeypatch, "release", "00", "--because", "why not")


@pytest.mark.parametrize("when", ["2026-03-29 02:30", "2026-10-25 02:30"])
def test_a_deadline_at_an_hour_that_is_not_there_or_twice_is_refused(course, monkeypatch, when):
    told = say(course, monkeypatch, "release", "00", "--due", f"{when} Europe/Berlin")
    assert "Clocks change in Europe/Berlin then" in told and "Nothing has changed" in told
    with Gradebook.open(course) as gradebook:
        assert gradebook.deadline(Lab.load(course, START)) == DUE
    assert "Deadline: " in say(course, monkeypatch, "release", "00", "--due", f"{when} +01:00")


def test_a_list_with_too_many_late_days_names_row_and_column(course, tmp_path, monkeypatch):
    rules(course, tmp_path, monkeypatch, "late_days = 5\nspend = 'on request'\n")
    put(course, Status("ben", OTHER, Kind.LATE_DAYS, "3", "asked"))
    file = tmp_path / "list.csv"
    file.write_text(HEAD + "anna,00,late days 5,asked\nben,00,late days 3,asked\n")
    told = say(course, monkeypatch, "status", "import", str(file))
    assert "row 3, column C: ben would spend 6 late days, and there are 5" in told and "row 2" not in told
    file.write_text(HEAD + "ben,00,late days 3,asked\nben,02,late days 2,asked\n")
    assert "2 entered" in say(course, monkeypatch, "status", "import", str(file))


def test_whom_somebody_excused_or_zeroed_is_in_the_report_without_any_work(course):
    put(
        course,
        Status("dan", START, Kind.EXCUSED, "", "ill"),
        Status("eva", START, Kind.ZERO, "", "copied"),
        Status("finn", START, Kind.ZERO, "", "never came"),
    )
    page, table = write_report(Lab.load(course, START))
    rows = {row["student"]: (row["state"], row["score"]) for row in rows_of(table)}
    assert rows["dan"] == ("excused", "") and rows["finn"] == ("zero", "0") and rows["eva"][0] == "zero"
    text = page.read_text()
    assert "Excused, and nothing of theirs is graded" in text and "finn" in text
    assert "<dt>zero</dt><dd>2</dd>" in text and "<dt>excused</dt><dd>1</dd>" in text


PENALTY = '\nc.AssignLatePenalties.plugin_class = "grader.plugins.late.PenaltyPerDay"\n'


def test_late_days_and_more_time_move_the_penalty_and_the_log_says_so(course, tmp_path):
    config = course.root / "nbgrader_config.py"
    config.write_text(config.read_text() + PENALTY)
    labs = [Lab.load(course, name) for name in (START, OTHER)]

    def penalties() -> dict[tuple[str, str], float]:
        return {(one.student, lab.name[:2]): one.penalty for lab in labs for one in gradebook.results(lab)}

    with Gradebook.open(course) as gradebook:
        gradebook.register(labs[1])
        gradebook.set_deadline(labs[1], DUE + timedelta(days=7))
        submit(gradebook, labs[0], {"dan": (1.0, DUE + timedelta(days=1.5))})
        late = {"anna": 2.5, "ben": 2.5, "dan": 1.5}
        submit(gradebook, labs[1], {who: (1.0, DUE + timedelta(days=7 + days)) for who, days in late.items()})
        for lab in labs:
            gradebook.enter_lateness(lab)
        assert (
            penalties()["anna", "02"] == 6.0
            and penalties()["dan", "00"] == 1.0
            and penalties()["dan", "02"] == 4.0
        )
        gradebook.enter_rules("late_days = 3", "term.toml", "decided")
        after = penalties()
        assert (after["anna", "02"], after["dan", "00"], after["dan", "02"]) == (0.0, 0.0, 2.0)
        assert gradebook.late_days() == {
            ("anna", OTHER): 3,
            ("ben", OTHER): 3,
            ("dan", START): 2,
            ("dan", OTHER): 1,
        }
        gradebook.enter_statuses(
            [Status("dan", "", Kind.TIME, "1.5", "letter")]
        )  # 3.5 of 7 days more: not late at all
        assert penalties()["dan", "00"] == penalties()["dan", "02"] == 0.0
        assert ("dan", START) not in gradebook.late_days()
        gradebook.withdraw_status(Status("dan", "", Kind.TIME, "", "a mistake"))
        assert penalties() == after
        gradebook.extend(labs[0], "dan", timedelta(days=2), "ill")
        gradebook.enter_lateness(labs[0])
        assert penalties()["dan", "02"] == 0.0  # what is not spent in the first lab is left for the second
        told = [each for each in gradebook.changes() if each.what == "late penalty" and each.student == "dan"]
        assert [(each.lab[:2], each.before, each.after) for each in told[:3]] == [
            ("00", "", "1"),
            ("02", "", "4"),
            ("00", "1", ""),
        ]
        with pytest.raises(GraderError, match="on request"):
            gradebook.enter_statuses([Status("ben", OTHER, Kind.LATE_DAYS, "1", "asked")])
        gradebook.enter_rules("late_days = 3\nspend = 'on request'", "term.toml", "decided again")
        assert penalties()["ben", "02"] == 6.0 and gradebook.late_days() == {}
        gradebook.enter_statuses([Status("ben", OTHER, Kind.LATE_DAYS, "1", "asked")])
        assert penalties()["ben", "02"] == 4.0
        with pytest.raises(GraderError, match="4 late days, and there are 3"):
            gradebook.enter_statuses([Status("ben", START, Kind.LATE_DAYS, "3", "asked")])
        assert penalties()["ben", "02"] == 4.0 and len(gradebook.statuses()) == 1


def test_where_nobody_has_a_percentage_yet_no_grades_are_listed():
    nobody = SimpleNamespace(percentage=None, grade="", open=(), labs=())
    term = SimpleNamespace(finals={"anna": nobody}, rules=SimpleNamespace(grades=[("pass", 50)]))
    assert summary(term) == ["0 of 1 students have a percentage."]


def test_rules_that_cannot_be_change_nothing_and_a_grade_says_how_it_comes_about(
    course, tmp_path, monkeypatch
):
    file = tmp_path / "term.toml"
    file.write_text("drop = 1")
    assert "drop is not a rule" in say(course, monkeypatch, "grades", "--rules", str(file), "--because", "x")
    assert "Say why" in say(course, monkeypatch, "grades", "--rules", str(file))
    file.write_text('[categories.all]\nweight = 1\nlabs = ["00"]\n[grades]\npass = 50\n')
    said = say(course, monkeypatch, "grades", "--rules", str(file), "--because", "decided")
    assert "4 of 4 students have a percentage. pass: 3, below the last grade: 1." in said
    said = say(course, monkeypatch, "grades", "--student", "anna@example.org")
    assert "80.00 % in all, 80.0 rounded, grade pass." in said
    (row,) = [each for each in rows_of(course.grading / "reports" / "grades.csv") if each["student"] == "dan"]
    assert (row[START], row["percentage"], row["grade"]) == ("not handed in", "0.00", "")
    with Gradebook.open(course) as gradebook:
        last = gradebook.changes()[-1]
    assert (last.what, last.why, last.after) == ("rules of the term", "decided", file.read_text())


def test_labs_that_are_not_released_are_no_missed_ones_and_one_short_clause(course, monkeypatch):
    said = say(course, monkeypatch, "grades")
    assert "may still change, because of " in said and "labs that are not released yet" in said
    assert "01_" not in said and len(said) < 400
    (row,) = [each for each in rows_of(course.grading / "reports" / "grades.csv") if each["student"] == "dan"]
    assert [row[lab] for lab in course.labs()[:3]] == ["not handed in", "not released", "not released"]


def test_an_extension_is_listed_with_its_reason(course, monkeypatch):
    for days, why in (("3", "moved"), ("4", "moved twice")):
        say(course, monkeypatch, "extend", START, "eva", "--days", days, "--because", why)
        assert f"extension {days} │ {why} │" in say(course, monkeypatch, "status")


def test_what_is_not_due_or_not_graded_does_not_count_yet(course, monkeypatch):
    lab = Lab.load(course, OTHER)
    with Gradebook.open(course) as gradebook:
        gradebook.register(lab)
        gradebook.set_deadline(lab, DUE + timedelta(days=7))
        gradebook.enter_rules('[categories.all]\nweight = 1\nlabs = ["00", "02"]', "term.toml", "decided")
    hand_in(course, lab, "anna", lab.release())
    before = final_grades(course, now=DUE + timedelta(days=1)).finals
    assert before["anna"].open == before["ben"].open == (OTHER,) and str(before["ben"].percentage) == "80.00"
    after = final_grades(course, now=DUE + timedelta(days=8)).finals
    assert after["anna"].open == (OTHER,) and str(after["anna"].percentage) == "80.00"
    assert after["ben"].open == () and str(after["ben"].percentage) == "40.00"
    put(course, Status("ben", OTHER, Kind.DROPPED, "", "joined late"))
    assert str(final_grades(course, now=DUE + timedelta(days=8)).finals["ben"].percentage) == "80.00"


def test_the_feedback_page_says_what_was_deducted_and_why(tmp_path, monkeypatch):
    course = with_gradebook(new_course(tmp_path))
    lab = Lab.load(course, START)
    hand_in(course, lab, "anna", solved(lab))
    list(grading.autograde(lab, grading.submissions(lab), KernelFree(tmp_path / "runs"), 5))
    say(course, monkeypatch, "feedback", START)
    page = course.feedback / "anna" / START / f"{lab.slug}.html"
    assert "by decision" not in page.read_text()
    put(course, Status("anna", START, Kind.PENALTY, "20%", "a file left out"))
    say(course, monkeypatch, "feedback", START)
    assert "1 deducted by decision; penalty 20%: a file left out" in page.read_text()


def test_the_table_for_research_names_nobody_and_its_dictionary_every_column(course, tmp_path, monkeypatch):
    put(course, Status("anna", START, Kind.EXCUSED, "", "a private reason"))
    file = tmp_path / "research.csv"
    said = say(course, monkeypatch, "export", "--format", "research", "--out", str(file))
    assert (
        "research-dictionary.csv" in said and "anyone who knows a person's points can find the rows" in said
    )
    rows = rows_of(file)
    text = file.read_text().casefold()
    assert not any(word in text for word in ("anna", "ben", "dan", "eva", "doe", "example.org", "private"))
    assert {row["column"] for row in rows_of(tmp_path / "research-dictionary.csv")} == {*rows[0]}
    lab = Lab.load(course, START)
    assert len({row["student"] for row in rows}) == 4 and len(rows) == 4 * len(lab.points_of_cells)
    standing_ = {row["student"]: row["standing"] for row in rows}
    assert sorted(standing_.values()) == ["excused", "graded", "graded", "not handed in"]
    earned = [float(row["points"]) for row in rows if row["standing"] == "graded"]
    assert sum(earned) == pytest.approx(2 * 0.8 * lab.points)
    assert all(row["days late"] == "0" for row in rows if row["standing"] == "graded")
    say(course, monkeypatch, "export", "--format", "research", "--out", str(file))
    assert {row["student"] for row in rows_of(file)}.isdisjoint(standing_)  # other numbers each time


# ---------------------------------------------------------------------------------- what counts


@pytest.fixture
def partly(tmp_path) -> Course:
    """In lab 02, anna has solved all, ben the core path alone, and eva everything but the core path. The core path has 11 of 20 points."""
    course = with_gradebook(new_course(tmp_path))
    lab = Lab.load(course, OTHER)
    core = counted(lab, Rules((), optional="left out")).most(lab.points_of_cells)
    assert (sum(core.values()), lab.points) == (11, 20)
    with Gradebook.open(course) as gradebook:
        gradebook.register(lab)
        gradebook.enter_people(Person(name) for name in ("anna", "ben", "eva"))
        submit(gradebook, lab, dict.fromkeys(("anna", "ben", "eva"), (1.0, DUE)))
        wrong = {"ben": set(lab.points_of_cells) - set(core), "eva": set(core)}
        with gradebook.transaction() as db:
            for student, cells in wrong.items():
                page = (
                    select(SubmittedNotebook.id)
                    .join(SubmittedAssignment)
                    .where(SubmittedAssignment.student_id == student)
                )
                their = select(BaseCell.id).where(BaseCell.name.in_(cells))
                rows = Grade.notebook_id.in_(page) & Grade.cell_id.in_(their)
                db.execute(Grade.__table__.update().where(rows).values(auto_score=0.0))
    return course


@pytest.mark.parametrize(
    ("how", "of", "scores", "percentages"),
    [
        ("counts", 20, (20, 11, 9), (100, 55, 45)),
        ("left out", 11, (11, 11, 0), (100, 100, 0)),
        ("bonus", 11, (20, 11, 9), (100, 100, 81.8)),
    ],
)
def test_scores_exports_reports_and_final_grades_count_what_the_rules_say(
    partly, tmp_path, how, of, scores, percentages
):
    lab = Lab.load(partly, OTHER)
    with Gradebook.open(partly) as gradebook:
        gradebook.enter_rules(f"optional = '{how}'", "term.toml", "made up")
        assert [each.score for each in gradebook.results(lab)] == [*scores]
    people = ("anna", "ben", "eva")
    export(partly, [], "csv", tmp_path / "all.csv")
    rows = {row["student_id"]: row for row in rows_of(tmp_path / "all.csv")}
    assert [(float(rows[who]["score"]), float(rows[who]["max_score"])) for who in people] == [
        (each, of) for each in scores
    ]
    assert [float(rows[who]["raw_score"]) for who in people] == [*scores]
    export(partly, [OTHER], "canvas", tmp_path / "canvas.csv")
    possible, *cells = rows_of(tmp_path / "canvas.csv")
    assert possible[OTHER] == f"{of}" and [float(row[OTHER]) for row in cells] == [*scores]
    page, table = write_report(lab, tmp_path / "report.html")
    assert [(float(row["score"]), float(row["of"])) for row in rows_of(table)] == [
        (each, of) for each in scores
    ]
    text = page.read_text()
    assert ("Only the core path is graded" in text) == (how == "left out") == ("(does not count)" in text)
    assert ("The core path alone is 100 %" in text) == (how == "bonus") == ("(bonus)" in text)
    finals = final_grades(partly).finals
    assert [float(finals[who].rounded) for who in people] == [*percentages]


def test_the_first_page_says_what_counts_and_takes_it_back_and_is_still_what_its_source_gives(
    partly, tmp_path
):
    lab = Lab.load(partly, OTHER)
    file = lab.release_folder / lab.notebook_name
    before = file.read_bytes()
    (tmp_path / "built").mkdir()
    (tmp_path / "built" / lab.notebook_name).write_bytes(before)
    only = Counted(left_out=frozenset(["check_causal_mask"]))
    for _ in range(2):  # said twice, it is there once
        assert tell_learners(lab, only) == only.told
    assert lab.release().cells[0].source.endswith(f"**What counts.** {only.told}")
    assert lab.release().cells[0].source.count("What counts") == 1
    released = tmp_path / "released"
    released.mkdir()
    (released / lab.notebook_name).write_bytes(file.read_bytes())
    assert differences(tmp_path / "built", released) == []
    assert tell_learners(lab, Counted()) == "" and file.read_bytes() == before


def test_a_feedback_page_says_which_exercises_do_not_count(partly):
    lab = Lab.load(partly, OTHER)
    with Gradebook.open(partly) as gradebook:
        gradebook.enter_rules("optional = 'left out'", "term.toml", "made up")
        (anna, *_) = gradebook.results(lab)
    notebook = lab.release()
    facts = enter(notebook, anna, {}) | {"notebook": lab.slug, "assignment": lab.name, "whose": "anna"}
    page = as_html(notebook, facts)
    assert "11 of 11 points" in page and "Only the core path is graded" in page
    assert page.count("does not count") == 5


# ---------------------------------------------------------------------------------- a whole term

RULES = """
drop_lowest = 1
decimals = 1
optional = "bonus"
[categories.foundations]
weight = 40
labs = ["00", "01", "02", "03", "04"]
[categories.building]
weight = 35
labs = ["05", "06", "07", "08"]
drop_lowest = 0
[categories.using]
weight = 25
labs = ["09", "10", "11", "12"]
[labs]
"00" = 0.5
"05" = 2
[grades]
A = 90
B = 80
C = 65
D = 50
"""


def independent(work: dict, most: dict[str, float]) -> float | None:
    """The same grade by plain arithmetic from what was made up, without the gradebook.

    Args:
        work: lab's number -> (earned, late, what was decided), or None where nothing was handed in.
    """

    def mean(rows: list) -> float:
        return sum(share * own for share, own, _ in rows) / sum(own for _, own, _ in rows)

    total = weights = 0.0
    for weight, numbers, drop in ((40, range(5), 1), (35, range(5, 9), 0), (25, range(9, 13), 1)):
        rows = []
        for number in numbers:
            earned, late, decided = work[number] or (0.0, 0.0, "")
            if decided in ("excused", "dropped"):
                continue
            left = max(0.0, earned - late - {"penalty 2": 2.0, "penalty 10%": 0.1 * earned}.get(decided, 0.0))
            share = 0.0 if decided == "zero" else min(1.0, round(left, 2) / most[number])
            rows.append((share, {0: 0.5, 5: 2}.get(number, 1), decided != "zero"))
        rows.sort(key=lambda row: (round(row[0], 9), -row[1]))
        lowest = next((row for row in rows if row[2]), None)  # a zero by decision is never dropped
        if drop and lowest and len(rows) > 1:
            rest = [row for row in rows if row is not lowest]
            # beside zeros by decision, even the lowest of the others may be above the mean
            if mean(rest) >= mean(rows) - 1e-12:
                rows = rest
        if rows:
            total += weight * mean(rows)
            weights += weight
    return 100 * total / weights if weights else None


@pytest.mark.slow
def test_final_grades_of_300_students_in_13_labs_are_those_of_an_independent_computation(tmp_path):
    (tmp_path / "grading").mkdir()
    for name in ("solutions", "notebooks"):
        (tmp_path / name).symlink_to(ROOT / name)
    (tmp_path / "nbgrader_config.py").write_text((ROOT / "nbgrader_config.py").read_text() + PENALTY)
    course, chance = with_gradebook(Course(tmp_path)), random.Random(7)
    labs = [Lab.load(course, name) for name in course.labs()]
    whole = {int(lab.name[:2]): lab for lab in labs}
    bonus = Rules((), optional="bonus")
    most = {
        number: sum(counted(lab, bonus).most(lab.points_of_cells).values()) for number, lab in whole.items()
    }
    students = [f"s{number:03}" for number in range(300)]
    made: dict[str, dict] = {student: {} for student in students}
    decisions = []
    with Gradebook.open(course) as gradebook:
        gradebook.enter_people(Person(student) for student in students)
        for lab in labs:
            gradebook.register(lab)
            gradebook.set_deadline(lab, DUE)
        for number, lab in whole.items():
            works = {}
            for student in students:
                work = None
                if chance.random() < 0.9:
                    share, late = chance.randint(0, 10) / 10, chance.choice([0, 0, 0, 1])
                    works[student] = (share, DUE + timedelta(days=late - 0.5))
                    work = (share * lab.points, round(0.1 * late * share * lab.points, 2), "")
                if decided := chance.choice(
                    [*[""] * 30, "excused", "dropped", "zero", "penalty 2", "penalty 10%"]
                ):
                    kind, _, amount = decided.partition(" ")
                    decisions.append(Status(student, lab.name, Kind(kind), amount, "made up"))
                    work = (*(work or (0.0, 0.0))[:2], decided)
                made[student][number] = work
            submit(gradebook, lab, works)
        gradebook.enter_statuses(decisions)
        gradebook.enter_rules(RULES, "term.toml", "made up")
    found = final_grades(course)
    assert len(found.finals) == 300 and len({each.rounded for each in found.finals.values()}) > 150
    for student, each in found.finals.items():
        assert float(each.percentage) == pytest.approx(independent(made[student], most), abs=0.02), student
        assert each.open == () and sum(row.adds for row in each.labs) == each.percentage
        grade = next(
            (name for name, least in (("A", 90), ("B", 80), ("C", 65), ("D", 50)) if each.rounded >= least),
            "",
        )
        assert each.grade == grade
    table, details = write_grades(found, tmp_path / "grades.csv")
    shown = {row["student"]: row for row in rows_of(table)}
    adds: dict[str, float] = {}
    for row in rows_of(details):
        adds[row["student"]] = adds.get(row["student"], 0.0) + float(row["adds"] or 0)
        if row["points"]:
            left = float(row["points"]) - float(row["late"] or 0) - float(row["deducted"] or 0)
            assert left == pytest.approx(float(row["score"]), abs=1e-9)
    assert all(
        adds[student] == pytest.approx(float(row["percentage"]), abs=1e-9) for student, row in shown.items()
    )
