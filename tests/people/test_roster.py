"""One person is one student in all labs, however the work came."""

from __future__ import annotations

import csv
import json
import re
import shutil
import sys
from pathlib import Path

import pexpect
import pytest
from classroom import START, new_course, with_gradebook
from collecting import FILE, LAB, OTHER, course_with_two_labs, folder_of, notebook, taken, zip_of
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from grader.book.gradebook import Gradebook
from grader.cli import app
from grader.errors import GraderError
from grader.people.roster import NotSure, Person, Roster, changes, read_roster
from grader.people.students import folded
from grader.receive.collect import NEW, REFUSED, REPLACED, UNCHANGED, collect
from grader.receive.refused import refused
from grader.reference.lab import Lab

CANVAS = """Student,ID,SIS User ID,SIS Login ID,Section,Lab 2 (77)
    Points Possible,,,,,20
"Doe, Jane",12345,u9,jdoe,Monday,
"O'Neil, Seán Óg",12346,u8,sean@example.org,Tuesday,18
"Student, Test",1,,,,
"""
MOODLE = """First name;Last name;Username;Email address;Groups
Jane;Doe;jdoe;jane@example.org;Monday
Jane;Doe;jdoe2;j2@example.org;Tuesday
Zoë;van Dyk;zoe;zoe@example.org;Monday
"""


@pytest.fixture
def lab(tmp_path) -> Lab:
    return Lab.load(with_gradebook(course_with_two_labs(tmp_path / "course")), LAB)


def class_list(tmp_path: Path, text: str, encoding: str = "utf-8") -> Path:
    file = tmp_path / "list.csv"
    file.write_bytes(text.encode(encoding))
    return file


def people_in(tmp_path: Path, text: str, encoding: str = "utf-8") -> list[Person]:
    return list(read_roster(class_list(tmp_path, text, encoding)).people)


def enrol(lab: Lab, *people: Person) -> None:
    with Gradebook.open(lab.course) as gradebook:
        gradebook.enter_people(people)


def on_roster(lab: Lab) -> dict[str, Person]:
    with Gradebook.open(lab.course) as gradebook:
        return gradebook.roster()


def collected(lab: Lab, files: dict[str, bytes], ask=None) -> dict[str, tuple[str, str]]:
    return {row.student: (row.outcome, row.why) for row in collect(lab, zip_of(lab, files), ask=ask)}


JANE = Person("jdoe", "Jane", "Doe", "jane@example.org", "Monday")
OTHER_JANE = Person("jdoe2", "Jane", "Doe", "j2@example.org", "Tuesday")
ZOE = Person("zoe", "Zoë", "van Dyk", "zoe@example.org", "Monday")


# ---------------------------------------------------------------------------------- class lists


def test_canvas_s_export_is_read_without_its_row_of_points_and_its_test_student(tmp_path):
    assert people_in(tmp_path, CANVAS) == [
        Person("jdoe", "Jane", "Doe", "", "Monday", "12345"),
        Person("sean@example.org", "Seán Óg", "O'Neil", "sean@example.org", "Tuesday", "12346"),
    ]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "is empty"),
        ("id,name\n", "no student"),
        ("name\nJane Doe\n", "needs a heading “id”, “username”, “id number” or “email”. It has: name."),
        ("id,name\n,Jane Doe\n", "row 2, column A: it has no id"),
        (CANVAS.replace("12346", "12345"), "have Canvas's number '12345'"),
        (CANVAS.replace("12346", "x"), "row 4, column B: 'x' is not one of Canvas's numbers"),
    ],
)
def test_what_is_wrong_with_a_list_is_said_with_its_line_and_nothing_changes(
    lab, tmp_path, monkeypatch, text, words
):
    enrol(lab, ZOE)
    monkeypatch.chdir(lab.course.root)
    told = CliRunner().invoke(app, ["roster", "import", str(class_list(tmp_path, text))])
    assert told.exit_code == 1 and words in told.output, told.output
    assert on_roster(lab) == {"zoe": ZOE}


def test_a_file_that_is_not_there_is_told_in_a_sentence(tmp_path):
    with pytest.raises(GraderError, match="No such file"):
        read_roster(tmp_path / "list.csv")


def test_an_import_tells_who_is_new_changed_and_absent_and_removes_nobody(lab, tmp_path, monkeypatch):
    enrol(lab, JANE, Person("left", "Has", "Left"))
    monkeypatch.chdir(lab.course.root)
    file = class_list(tmp_path, MOODLE.replace("jane@", "new@"))
    told = CliRunner().invoke(app, ["roster", "import", str(file)])
    assert told.exit_code == 0, told.output
    assert (
        "3 in list.csv: 2 new, 1 changed." in told.output
        and "not in the file: left. They stay." in told.output
    )
    assert set(on_roster(lab)) == {"jdoe", "jdoe2", "left", "zoe"}
    assert on_roster(lab)["jdoe"].email == "new@example.org"
    again = CliRunner().invoke(app, ["roster", "import", str(file)])
    assert "0 new, 0 changed" in again.output


def test_what_a_list_does_not_say_stays_as_another_list_said_it(lab, tmp_path, monkeypatch):
    monkeypatch.chdir(lab.course.root)
    by_hand = "id,name,section\njdoe,,Friday\n"
    for text in (CANVAS, MOODLE, by_hand, CANVAS.replace("Monday", "")):
        told = CliRunner().invoke(app, ["roster", "import", str(class_list(tmp_path, text))])
        assert told.exit_code == 0, told.output
    assert on_roster(lab)["jdoe"] == Person("jdoe", "Jane", "Doe", "jane@example.org", "Friday", "12345")
    assert "0 new, 0 changed" in told.output


def test_which_headings_are_read_and_which_are_not_is_told(lab, tmp_path, monkeypatch):
    monkeypatch.chdir(lab.course.root)
    told = imported(tmp_path, "id,Name,E-Mail,Bemerkung,,Kurs\nzoe,Zoë van Dyk,zoe@example.org,Monday,,\n")
    assert "Read: id, Name, E-Mail.\nNot used: Bemerkung, Kurs.\n" in told
    assert on_roster(lab)["zoe"].section == ""
    assert "Not used" not in imported(tmp_path, MOODLE)


@pytest.mark.parametrize(
    ("text", "student", "name"),
    [
        ("student,id\nJane Doe,jdoe\n", "jdoe", "Jane Doe"),
        ("Student,Student ID,Name\nx,jdoe,Jane Doe\n", "jdoe", "Jane Doe"),
        ("student,name\njdoe,Jane Doe\n", "jdoe", "Jane Doe"),
    ],
)
def test_a_student_is_a_name_where_another_column_has_the_ids(tmp_path, text, student, name):
    ((found),) = people_in(tmp_path, text)
    assert (found.student, found.name) == (student, name)


# ---------------------------------------------------------------------------------- two lists, one class

BY_LOGIN = """Student,ID,SIS User ID,SIS Login ID,Section
"Doe, Jane",1001,S1,jdoe,Monday
"van Dyk, Zoë",1002,S2,zvd,Monday
"""
BY_EMAIL = """First name,Last name,Email address,Groups
Jane,Doe,jane.doe@uni.example,Monday
Zoë,van Dyk,zoe@uni.example,Monday
"""


def imported(tmp_path: Path, text: str, *options: str, fails: bool = False) -> str:
    told = CliRunner().invoke(app, ["roster", "import", str(class_list(tmp_path, text)), *options])
    assert told.exit_code == int(fails), told.output
    return told.output


@pytest.fixture
def by_login(lab, tmp_path, monkeypatch) -> Lab:
    monkeypatch.chdir(lab.course.root)
    imported(tmp_path, BY_LOGIN)
    return lab


def test_a_known_name_with_a_new_id_is_asked_about_and_nothing_changes(by_login, tmp_path):
    before = on_roster(by_login)
    told = imported(tmp_path, BY_EMAIL, fails=True)
    assert "Jane Doe: jane.doe@uni.example in list.csv (row 2, column C), jdoe on the roster" in told
    assert "2 in the list have a new id" in told and "--same-names" in told and "--other-people" in told
    assert on_roster(by_login) == before


def test_the_same_people_keep_their_ids_and_get_what_the_other_list_says(by_login, tmp_path):
    told = imported(tmp_path, BY_EMAIL, "--same-names")
    assert "0 new, 2 changed" in told and "jane.doe@uni.example is jdoe, zoe@uni.example is zvd." in told
    assert on_roster(by_login)["jdoe"] == Person(
        "jdoe", "Jane", "Doe", "jane.doe@uni.example", "Monday", "1001"
    )
    assert set(on_roster(by_login)) == {"jdoe", "zvd"}
    for text in (
        BY_EMAIL,
        BY_LOGIN,
        BY_EMAIL.replace("jane.doe@", "Jane.Doe@").replace("Jane,Doe", "J.,Doe"),
    ):
        assert "0 new" in imported(
            tmp_path, text
        )  # the e-mail address says it from now on, whatever its capitals
    files = {f"Zoë van Dyk_71_assignsubmission_file/{FILE}": notebook()}
    assert collected(by_login, files) == {"zvd": (NEW, "")}


def test_a_number_of_canvas_s_says_who_it_is(by_login, tmp_path):
    told = imported(tmp_path, "id,name,canvas\nj.doe,Jane Meyer,1001\n")
    assert "0 new, 1 changed" in told and "j.doe is jdoe" in told
    assert on_roster(by_login)["jdoe"].name == "Jane Meyer"


def test_other_people_of_the_same_name_are_new(by_login, tmp_path):
    assert "2 new, 0 changed" in imported(tmp_path, BY_EMAIL, "--other-people")
    assert "0 new, 0 changed" in imported(tmp_path, BY_EMAIL)  # and nobody is asked again


def test_who_has_another_number_in_canvas_is_somebody_else(by_login, tmp_path):
    numbers = BY_LOGIN.replace("100", "200").replace("jdoe", "jd").replace("zvd", "zo")
    assert "2 new, 0 changed" in imported(tmp_path, numbers)


def test_the_terminal_asks_and_an_empty_answer_changes_nothing(by_login, tmp_path):
    command = ["-m", "grader.cli", "roster", "import", str(class_list(tmp_path, BY_EMAIL))]
    for answer, code, ids in (("", 1, {"jdoe", "zvd"}), ("yes", 0, {"jdoe", "zvd"})):
        terminal = pexpect.spawn(
            sys.executable, command, cwd=by_login.course.root, encoding="utf-8", timeout=60
        )
        terminal.expect("Are they the same people")
        terminal.sendline(answer)
        terminal.expect(pexpect.EOF)
        terminal.close()
        assert terminal.exitstatus == code and set(on_roster(by_login)) == ids, terminal.before
    assert on_roster(by_login)["zvd"].email == "zoe@uni.example"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (f"{BY_EMAIL}Jane,Doe,j2@uni.example,Monday\n", "j2@uni.example): jdoe on the roster"),
        ("id,name\nnew,Ann Kim\n", "new): ak1, ak2 on the roster"),
    ],
)
def test_a_name_that_fits_several_is_not_guessed_about(by_login, tmp_path, text, words):
    enrol(by_login, Person("ak1", "Ann", "Kim"), Person("ak2", "Ann", "Kim"))
    before = on_roster(by_login)
    told = imported(tmp_path, text, "--same-names", fails=True)
    assert re.search(
        rf"(?s)list.csv contradicts the roster: .* do not say who is who.* row \d, column [AC]: .*{re.escape(words)}",
        told,
    )
    assert on_roster(by_login) == before


def test_a_list_that_gives_somebody_what_another_has_is_refused_with_a_way_out(by_login, tmp_path):
    enrol(by_login, Person("jane", "Jane", "Doe", "jane.doe@uni.example"))
    before = on_roster(by_login)
    told = imported(tmp_path, "id,email\njdoe,Jane.Doe@uni.example\n", fails=True)
    assert "list.csv contradicts the roster; nothing has changed." in told
    has = "row 2, column B: 'jdoe' would have the e-mail address 'jane.doe@uni.example', which 'jane' has."
    assert (
        f"{has} If they are one person: grader roster merge jane jdoe. If not, correct the e-mail address."
        in told
    )
    assert on_roster(by_login) == before
    told = imported(tmp_path, "id,canvas,email\nx,1001,\ny,,JANE.DOE@uni.example\njdoe,,\n", fails=True)
    assert "row 2, column B, and row 4, column A: 'x' and 'jdoe' are both 'jdoe' on the roster." in told
    assert "Delete one of them, or correct what is wrong" in told and on_roster(by_login) == before


def test_of_two_in_the_list_the_row_is_named_that_gives_one_what_the_other_has(by_login, tmp_path):
    imported(tmp_path, "id,email\njdoe,jane@uni.example\n")
    told = imported(tmp_path, "Email,id\n,jdoe\n,\nJANE@uni.example,zvd\n", fails=True)
    assert "row 4, column A: 'zvd' would have the e-mail address 'jane@uni.example', which 'jdoe' has" in told


def test_two_who_swap_addresses_in_one_list_are_no_contradiction(by_login, tmp_path):
    imported(tmp_path, "id,email\njdoe,a@uni.example\nzvd,b@uni.example\n")
    imported(tmp_path, "id,email\njdoe,b@uni.example\nzvd,a@uni.example\n")
    assert on_roster(by_login)["zvd"].email == "a@uni.example"


def test_who_has_left_can_be_removed_and_work_is_never_lost(by_login, tmp_path):
    collect(by_login, folder_of(by_login, {f"zvd/{FILE}": notebook()}))
    run = CliRunner().invoke
    told = run(app, ["roster", "remove", "jdoe", "nobody"])
    assert (
        told.exit_code == 1 and "Not on the roster: nobody." in told.output and len(on_roster(by_login)) == 2
    )
    told = run(app, ["roster", "remove", "jdoe", "zvd"])
    assert told.exit_code == 1 and f"There is work of zvd ({LAB})" in told.output
    assert set(on_roster(by_login)) == {"jdoe", "zvd"}
    assert run(app, ["roster", "remove", "jdoe"]).exit_code == 0
    with Gradebook.open(by_login.course) as gradebook:
        assert gradebook.students() == ["zvd"]
    assert run(app, ["roster", "remove", "zvd", "--keep-work"]).exit_code == 0
    assert on_roster(by_login) == {} and taken(by_login).keys() == {"zvd"}
    assert "1 new" in imported(tmp_path, "id\nzvd\n")  # whoever comes back


# ---------------------------------------------------------------------------------- whose work it is


def test_a_moodle_name_is_the_same_student_in_every_lab(lab):
    enrol(lab, ZOE, JANE)
    other = Lab.load(lab.course, OTHER)
    for each, number in ((lab, 71), (other, 903)):
        name = f"Zoë van Dyk_{number}_assignsubmission_file/{each.notebook_name}"
        assert collected(each, {name: notebook()}) == {"zoe": (NEW, "")}
    assert sorted(path.name for path in lab.course.submitted.iterdir()) == ["zoe"]


def test_two_of_one_name_are_asked_about_and_never_guessed(lab):
    enrol(lab, JANE, OTHER_JANE)
    files = {f"Jane Doe_71_assignsubmission_file/{FILE}": notebook("hers")}
    ((outcome, why),) = collected(lab, files).values()
    assert (
        outcome == REFUSED
        and "jdoe (Jane Doe), jdoe2 (Jane Doe)" in why
        and not lab.course.submitted.exists()
    )
    asked = []

    def ask(what, people):
        asked.append((what, [each.student for each in people]))
        return people[1]

    assert collected(lab, files, ask)["jdoe2"][0] == NEW
    assert asked[0][1] == ["jdoe", "jdoe2"] and asked[0][0].startswith("Jane Doe (Jane Doe_71")
    assert collected(lab, files)["jdoe2"][0] == UNCHANGED  # Moodle's number is known from now on


def test_the_terminal_asks_until_the_answer_is_one_of_the_numbers(lab):
    enrol(lab, JANE, OTHER_JANE)
    files = {f"Jane Doe_{number}_assignsubmission_file/{FILE}": notebook(str(number)) for number in (71, 72)}
    command = ["-m", "grader.cli", "collect", LAB, str(zip_of(lab, files))]
    terminal = pexpect.spawn(sys.executable, command, cwd=lab.course.root, encoding="utf-8", timeout=60)
    for answer in ("2", "3", "two", "1"):
        terminal.expect("0: I cannot say")
        terminal.sendline(answer)
    terminal.expect(pexpect.EOF)
    terminal.close()
    assert terminal.exitstatus == 0, terminal.before
    assert {student: json.loads(data)["cells"][0]["source"] for student, data in taken(lab).items()} == {
        "jdoe": "72",
        "jdoe2": "71",
    }


def test_who_cannot_say_whose_it_is_gets_it_refused(lab):
    enrol(lab, JANE, OTHER_JANE)
    files = {f"Jane Doe_71_assignsubmission_file/{FILE}": notebook()}
    assert [outcome for outcome, _ in collected(lab, files, lambda what, people: None).values()] == [REFUSED]


def test_what_is_in_nobody_s_folder_is_remembered_until_work_is_collected_again(lab, monkeypatch):
    enrol(lab, JANE, OTHER_JANE, ZOE)
    monkeypatch.chdir(lab.course.root)
    files = {f"Jane Doe_71_assignsubmission_file/{FILE}": notebook()}
    broken = {"Zoë van Dyk_72_assignsubmission_file/notes.txt": b"x"}  # refused, but grading says so
    collected(lab, files | broken)
    ((file, why),) = refused(lab)
    assert file.startswith("Jane Doe_71") and "Several people on the roster" in why
    told = " ".join(CliRunner().invoke(app, ["roster"]).output.split())
    assert f"{LAB}: 1 file was refused when work was last collected" in told
    collected(lab, files, lambda what, people: people[0])
    assert refused(lab) == [] and "refused" not in CliRunner().invoke(app, ["roster"]).output
    two = {f"vandykzoë_6_901_{FILE}": notebook("a"), f"zoëvandyk_7_902_{FILE}": notebook("b")}
    shutil.rmtree(lab.course.submitted / "zoe")
    collected(lab, two)  # the student is known, and still nothing is in the folder
    assert len(refused(lab)) == 1
    next((lab.course.grading / "refused").iterdir()).write_text("{")
    assert refused(lab) == []


def test_canvas_s_number_counts_before_the_name_and_is_learned_from_it(lab):
    enrol(lab, Person("jdoe", "Jane", "Doe", canvas="5"), ZOE)
    files = {f"somebodyelse_5_900_{FILE}": notebook("a"), f"vandykzoë_6_901_{FILE}": notebook("b")}
    found = collected(lab, files)
    assert {student: outcome for student, (outcome, _) in found.items()} == {"jdoe": NEW, "zoe": NEW}
    assert on_roster(lab)["zoe"].canvas == "6"
    renamed = {f"zoevandykmeyer_6_950_{FILE}": notebook("c"), f"doejane_5_951_{FILE}": notebook("a")}
    assert collected(lab, renamed) == {
        "jdoe": (UNCHANGED, ""),
        "zoe": (REPLACED, "Handed in as 'zoevandykmeyer'."),  # only the number says who it is
    }


def test_a_name_does_not_get_the_place_of_somebody_whose_number_is_known(lab):
    enrol(lab, Person("jdoe", "Jane", "Doe", canvas="5"))
    found = collected(lab, {f"doejane_66_900_{FILE}": notebook(), f"janedoe_5_901_{FILE}": notebook("hers")})
    assert found == {"doejane_66": (NEW, "Not on the roster."), "jdoe": (NEW, "")}


def test_two_who_are_taken_for_one_are_refused(lab):
    enrol(lab, ZOE)
    found = collected(
        lab, {f"vandykzoë_6_901_{FILE}": notebook("a"), f"zoëvandyk_7_902_{FILE}": notebook("b")}
    )
    assert found["zoe"][0] == REFUSED and "Two claim to be" in found["zoe"][1]


@pytest.mark.parametrize("called", ["zoe", "ZOE", "Zoë van Dyk", "van Dyk, Zoë", "zoe@example.org"])
def test_a_folder_may_be_called_by_id_name_or_address(lab, called):
    enrol(lab, ZOE, JANE)
    rows = collect(lab, folder_of(lab, {f"{called}/{FILE}": notebook()}))
    assert [(row.student, row.outcome, row.why) for row in rows] == [("zoe", NEW, "")]


def test_without_a_roster_everything_is_as_it_was(lab):
    found = collected(lab, {f"Jane Doe_71_assignsubmission_file/{FILE}": notebook()})
    assert found == {"Jane Doe": (NEW, "")}


names = st.text("abcdé -'", min_size=1, max_size=8).filter(str.strip)


@given(st.lists(st.tuples(names, names), min_size=1, max_size=8), names)
def test_nobody_is_found_who_is_not_called_so_alone(pairs, called):
    people = [Person(f"s{number}", *pair) for number, pair in enumerate(pairs)]
    roster = Roster(people)
    try:
        found = roster.by_name(called)
    except NotSure as error:
        assert len(error.args[0]) > 1
        return
    letters = [char for char in folded(called) if char.isalnum()]
    if found:
        parts = [char for char in folded(found.first_name + found.last_name) if char.isalnum()]
        assert letters and sorted(parts) == sorted(letters)
    assert changes({}, people).new == tuple(person.student for person in people)


# ---------------------------------------------------------------------------------- shown


def test_the_roster_shows_what_was_collected_and_whose_work_is_nobody_s(lab, tmp_path, monkeypatch):
    collected(lab, {f"Zoë van Dyk_71_assignsubmission_file/{FILE}": notebook()})  # before there was a roster
    enrol(lab, JANE, ZOE)
    collect(lab, folder_of(lab, {f"jdoe/{FILE}": notebook()}))
    monkeypatch.chdir(lab.course.root)
    told = CliRunner().invoke(app, ["roster", "--out", str(tmp_path / "roster.csv")])
    assert told.exit_code == 0, told.output
    assert f"Not on the roster: Zoë van Dyk, with work for {LAB}. Perhaps zoe (Zoë van Dyk)?" in told.output
    with (tmp_path / "roster.csv").open() as file:
        rows = {row["id"]: row for row in csv.DictReader(file)}
    assert rows["jdoe"][LAB] == "collected" and rows["zoe"][LAB] == "" and rows["zoe"]["section"] == "Monday"


def test_an_empty_roster_says_how_to_fill_it(lab, monkeypatch):
    monkeypatch.chdir(lab.course.root)
    told = CliRunner().invoke(app, ["roster"])
    assert told.exit_code == 1 and "grader roster import FILE" in told.output


@pytest.mark.parametrize(
    "command",
    [
        ["autograde", LAB, "--sandbox", "none", "--student", "an"],
        ["viva", LAB, "--sandbox", "none", "--student", "an"],
        ["log", "--student", "an"],
        ["grades", "--student", "an"],
        ["late", LAB, "an", "--days", "1"],
        ["roster", "team", "an", "red"],
        ["roster", "remove", "an"],
        ["extend", LAB, "an", "--days", "1"],
        ["status", "set", "an", "excused", LAB, "--because", "ill"],
        ["uncollect", LAB, "an", "--because", "the wrong folder"],
        ["roster", "merge", "ben", "an"],
    ],
)
def test_a_slip_in_an_id_is_said_with_whom_it_may_be_and_makes_nothing(tmp_path, monkeypatch, command):
    course = with_gradebook(course_with_two_labs(tmp_path))
    with Gradebook.open(course) as gradebook:
        gradebook.enter_people([Person("anna", "Anna", "Ey"), Person("ben", "Ben", "Oz")])
    monkeypatch.chdir(course.root)
    told = CliRunner().invoke(app, command)
    text = " ".join(told.output.split())
    assert told.exit_code == 1 and "ot on the roster" in text and "Did you mean anna (Anna Ey)?" in text, text
    assert not list(course.grading.rglob("an.html"))


@pytest.mark.parametrize("called", ["anna", "Anna Ey", "ANNA"])
def test_whoever_types_a_name_for_one_student_means_the_id(tmp_path, monkeypatch, called):
    course = with_gradebook(new_course(tmp_path))
    with Gradebook.open(course) as gradebook:
        gradebook.enter_people([Person("anna", "Anna", "Ey")])
    monkeypatch.chdir(course.root)
    assert CliRunner().invoke(app, ["extend", START, "anna", "--days", "1"]).exit_code == 0
    logged = CliRunner().invoke(app, ["log", "--student", called])
    assert logged.exit_code == 0 and "1 change" in logged.output and "is now" not in logged.output
    graded = CliRunner().invoke(app, ["autograde", START, "--sandbox", "none", "--student", called])
    assert "There is no submission" in graded.output and "anna" in graded.output


CLASS = [
    Person("abraun26", "Anna", "Braun"),
    Person("acruz52", "Anna", "Cruz"),
    Person("aabel00", "Anna", "Abel"),
    Person("ddiaz03", "Dora", "Diaz"),
    Person("vdiaz21", "Vera", "Diaz"),
    Person("eabel01", "Eva", "Abel"),
]


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        ("Anna", ["aabel00", "abraun26", "acruz52"]),  # everybody of the name
        ("eva", ["eabel01"]),
        ("Abel Eva", ["eabel01"]),
        ("Dora Dias", ["ddiaz03"]),  # nobody who is less alike
        ("Diaz Dora", ["ddiaz03"]),
        ("abruan26", ["abraun26"]),
        ("xyz", []),
        ("", []),
    ],
)
def test_everybody_who_may_be_meant_is_offered_and_nobody_else(typed, offered):
    roster = Roster(CLASS)
    assert [each.student for each in roster.alike(typed)] == offered
    assert all(f"{each} (" in roster.near(typed) for each in offered) and bool(offered) == bool(
        roster.near(typed)
    )


def test_a_question_about_many_is_short():
    roster = Roster(Person(f"s{number:02}", "Anna", f"Name{number:02}") for number in range(12))
    assert roster.near("anna").count("Anna") == 8 and roster.near("anna").endswith("or one of 4 more?")


def test_a_slip_in_a_folder_s_name_is_told_with_whom_it_may_be_and_how_to_mend_it(lab, tmp_path, monkeypatch):
    enrol(lab, *CLASS)
    monkeypatch.chdir(lab.course.root)
    source = folder_of(
        lab, {f"Dora Dias/{FILE}": notebook(), f"guest/{FILE}": notebook(), f"abraun26/{FILE}": notebook()}
    )
    merge = "grader roster merge 'Dora Dias' ddiaz03"
    told = CliRunner().invoke(app, ["collect", LAB, str(source), "--yes"]).output
    assert f"Not on the roster: Dora Dias. Perhaps ddiaz03 (Dora Diaz)? If so: {merge}" in told, told
    told = CliRunner().invoke(app, ["roster"]).output
    assert (
        merge in told
        and "If it is another id of somebody on the roster: grader roster merge guest ID" in told
    )
    told = CliRunner().invoke(app, ["status", "set", "Eva", "excused", LAB, "--because", "ill"]).output
    assert "eabel01 (Eva Abel)" in told and "merge" not in told
    told = CliRunner().invoke(app, ["extend", LAB, "Dora Dias", "--days", "1"]).output
    assert "merge 'Dora Dias' ID" in " ".join(told.split())
    told = CliRunner().invoke(app, ["roster", "merge", "Dora Dias", "ddiaz03"])
    assert told.exit_code == 1 and "Nobody can be asked here" in told.output and "--yes" in told.output
    told = CliRunner().invoke(app, ["uncollect", LAB, "Anna Braun", "DDIAZ03", "--because", "wrong folder"])
    assert "There is no work" in told.output and "of ddiaz03" in told.output and "abraun26" not in told.output
    assert (
        CliRunner().invoke(app, ["uncollect", LAB, "Anna Braun", "--because", "wrong folder"]).exit_code == 0
    )
    assert (
        CliRunner().invoke(app, ["roster", "remove", "Vera Diaz"]).output
        == "No longer on the roster: vdiaz21.\n"
    )


def test_work_of_somebody_who_is_not_on_the_roster_is_found_by_its_id():
    roster = Roster([Person("anna", "Anna", "Ey")])
    assert roster.known("guest_7", ["guest_7"]) == "guest_7" and Roster().known("guest_8") == "guest_8"
    with pytest.raises(GraderError, match="'guest_8' is not on the roster. `grader roster` lists the ids."):
        roster.known("guest_8", ["guest_7"])
