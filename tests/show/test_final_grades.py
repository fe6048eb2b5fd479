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
    assert cells == {"anna": "EX", "ben": "0.00", "dan": "", "eva": "3.00"} and notes == []
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
    nobody = SimpleNamespace(percentage=None, grade="", open=())
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
