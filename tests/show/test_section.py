"""One section of a class: every command leaves out the others, and says so if there is no such section."""

from __future__ import annotations

import csv
import html
import io
import re

import pytest
from classroom import START, KernelFree, book_of, hand_in_class, new_course, with_gradebook
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from grader.book.gradebook import Gradebook
from grader.cli import app
from grader.errors import GraderError
from grader.grade import autograde as grading
from grader.handout.demo import hand_in
from grader.people.roster import Person, in_section
from grader.reference.lab import Lab

PEOPLE = [
    Person("s00", "Ada", "Berg", section="Monday"),
    Person("s01", "Ben", "Costa", section="Tuesday"),
    Person("s02", "Chloé", "Diaz", section="Monday and Tuesday"),
    Person("s03", "Dana", "Eze"),
]


@pytest.fixture
def lab(tmp_path, monkeypatch) -> Lab:
    """Four submissions, all graded, of people in two sections."""
    lab = Lab.load(with_gradebook(new_course(tmp_path)), START)
    hand_in_class(lab, 4)
    with Gradebook.open(lab.course) as gradebook:
        gradebook.enter_people(PEOPLE)
    list(grading.autograde(lab, grading.submissions(lab), KernelFree(tmp_path / "runs"), 5))
    monkeypatch.chdir(lab.course.root)
    return lab


def run(*arguments: str) -> str:
    told = CliRunner().invoke(app, [*arguments])
    assert told.exit_code == 0, told.output
    return told.output


def column(text: str, name: str) -> list[str]:
    return [row[name] for row in csv.DictReader(io.StringIO(text))]


def test_report_and_exports_of_a_section_have_its_students_only(lab, tmp_path):
    run("report", START, "--section", "monday")
    page = lab.course.grading / "reports" / f"{START}-monday.html"
    assert "(monday)</h1>" in page.read_text() and "Ben Costa" not in page.read_text()
    assert column(page.with_suffix(".csv").read_text(), "student") == ["s00", "s02"]
    for form, who in (("csv", "student_id"), ("canvas", "SIS Login ID")):
        out = tmp_path / f"{form}.csv"
        run("export", "--format", form, "--section", "Tuesday", "--out", str(out))
        assert [id for id in column(out.read_text(), who) if id] == ["s01", "s02"]


@pytest.mark.parametrize("section", ["checks", "Misconceptions", "similar", "Monday-checks"])
def test_files_of_a_section_are_nobody_else_s_whatever_it_is_called(lab, section):
    with Gradebook.open(lab.course) as gradebook:
        gradebook.enter_people([Person("s00", "Ada", "Berg", section=section)])
    for command in (
        ("report", START),
        ("similar", START),
        ("report", START, "--section", "Monday"),
        ("term",),
    ):
        run(*command)
    reports = lab.course.grading / "reports"
    before = {file: file.read_bytes() for file in reports.iterdir()}
    for command in (("report", START), ("similar", START), ("term",)):
        run(*command, "--section", section)
    names = [file.name.casefold() for file in reports.iterdir()]  # as some file systems see them
    assert {file: file.read_bytes() for file in before} == before and len(names) == len({*names})
    (table,) = (
        file for file in {*reports.glob(f"{START}-*.csv")} - before.keys()
        if re.fullmatch("[0-9a-f]{8}", file.stem.removeprefix(f"{START}-{section}-"))
    )  # fmt: skip
    assert column(table.read_text(), "student") == ["s00"]


def test_who_is_not_on_the_roster_is_not_missing_from_it(lab):
    with book_of(lab.course) as book:
        book.add_student("stranger")  # as whoever handed in another lab under a name of their own
    run("report", START)
    page = lab.course.grading / "reports" / f"{START}.html"
    assert "stranger" not in page.read_text() + page.with_suffix(".csv").read_text()
    with Gradebook.open(lab.course) as gradebook:
        gradebook.enter_people([Person("s9", "Eva", "Fox")])
    run("report", START)
    assert "nothing handed in: Eva Fox (s9)." in " ".join(page.read_text().split())


def test_feedback_of_a_section_leaves_the_pages_of_others_alone(lab, tmp_path):
    said = run("feedback", START, "--section", "Monday", "--zip", str(tmp_path / "pages.zip"))
    assert said.startswith("2 feedback pages")
    assert sorted(path.name for path in lab.course.feedback.iterdir()) == ["s00", "s02"]


def test_only_a_section_is_graded(lab):
    said = run("autograde", START, "--section", "Tuesday", "--sandbox", "none", "--only-new")
    assert "s01" in said and "s02" in said and "s00" not in said and "s03" not in said


def test_what_was_graded_is_in_a_table_too(lab, tmp_path):
    run("autograde", START, "--sandbox", "none", "--only-new", "--csv", str(tmp_path / "graded.csv"))
    rows = {row["Student"]: row for row in csv.DictReader((tmp_path / "graded.csv").open())}
    assert (rows["s00"]["State"], rows["s00"]["Score"], rows["s00"]["Of"]) == ("graded", "5", "5")
    assert rows["s02"]["Recognised misconceptions"].startswith("softmax: ") and len(rows) == 4


@pytest.mark.parametrize("option", ["--csv", "--out"])
def test_the_roster_shows_a_section(lab, tmp_path, option):
    run("roster", option, str(tmp_path / "roster.csv"))
    assert column((tmp_path / "roster.csv").read_text(), "id") == ["s00", "s01", "s02", "s03"]
    said = run("roster", "--section", "Tuesday")
    assert "2 on the roster in Tuesday" in said and "s01" in said and "s00" not in said


def test_work_that_is_newer_than_its_grade_is_told_wherever_scores_are_shown(lab, tmp_path):
    def told() -> list[str]:
        said = [
            run("export", "--format", form, "--out", str(tmp_path / "x.csv")) for form in ("csv", "canvas")
        ]
        said.append(run("roster"))
        for command in (("report", START), ("term",)):
            run(*command)
            name = START if command[0] == "report" else "term"
            said.append(html.unescape((lab.course.grading / "reports" / f"{name}.html").read_text()))
        return [" ".join(text.split()) for text in said]

    assert not any("handed in again" in text for text in told())
    for student in ("s00", "s01"):
        hand_in(lab.course, lab, student, lab.release())
    for text in told():
        assert "2 were handed in again since they were graded: run" in text
    run("report", START, "--section", "Monday")
    page = lab.course.grading / "reports" / f"{START}-Monday.html"
    assert "1 was handed in again since it was graded: run" in page.read_text()
    rows = {row["student"]: row for row in csv.DictReader(page.with_suffix(".csv").open())}
    assert "Handed in again" in rows["s00"]["notes"] and "Handed in again" not in rows["s02"]["notes"]
    list(grading.autograde(lab, grading.submissions(lab), KernelFree(tmp_path / "again"), 5))
    assert not any("handed in again" in text for text in told())


def test_the_log_of_a_section_has_its_students_only_also_under_earlier_ids(lab):
    with book_of(lab.course) as book:
        for student in ("s00", "s01", "s03"):
            book.find_submission_notebook("start_here", START, student).grades[0].manual_score = 2.5
        book.db.commit()
    assert all(each in run("log", START) for each in ("s00", "s01", "s03", "3 changes"))
    said = run("log", START, "--section", "Monday")
    assert "1 change" in said and "s00" in said and "s01" not in said
    assert "│ softmax: points by hand" in said and "check_" not in said  # as everywhere else
    run("roster", "remove", "s03", "--keep-work")
    run("roster", "merge", "s03", "s00", "--keep", "s03", "--yes")
    assert "s03" in run("log", START, "--section", "Monday")


@pytest.mark.parametrize(
    "command",
    [(name, START) for name in ("autograde", "report", "feedback", "similar", "log", "queue")]
    + [("export",), ("roster",), ("term",)],
)
def test_a_section_that_is_not_there_is_told_with_those_that_are(lab, command):
    told = CliRunner().invoke(app, [*command, "--section", "Friday"])
    assert told.exit_code == 1
    assert "There is no section 'Friday'. Sections: Monday, Tuesday." in told.output


def test_without_sections_it_is_said_how_to_get_some():
    with pytest.raises(GraderError, match="grader roster import FILE"):
        in_section([Person("a"), Person("b")], "Monday")


@given(st.lists(st.sampled_from(["A", "B 2", "c"]), min_size=1, unique=True))
def test_whoever_is_in_several_sections_is_found_in_each_as_lms_write_them(sections):
    *first, last = sections
    written = {", ".join(sections), "; ".join(sections), " and ".join(sections)}
    written |= {f"{', '.join(first)}, and {last}"} if len(first) > 1 else set()
    for text in written:
        person = Person("p", section=text)
        assert person.sections == tuple(sections)
        assert all(in_section([person], name.upper()) == {"p"} for name in (*sections, text))
