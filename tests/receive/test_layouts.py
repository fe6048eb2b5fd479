"""What each school has: archives named as learning platforms name them give the right people, their last attempt, and lose nothing."""

from __future__ import annotations

import io
import json
import os
import zipfile
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from classroom import with_gradebook
from collecting import (
    FILE,
    LAB,
    OTHER,
    course_with_two_labs,
    exchange_for,
    folder_of,
    notebook,
    outcomes,
    submit,
    taken,
    why,
    zip_of,
)
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from grader.book import log
from grader.book.gradebook import Gradebook
from grader.cli import app
from grader.errors import GraderError
from grader.files import LATE, REASON_FILE, TIMESTAMP
from grader.people.roster import Person, Roster
from grader.receive import sources
from grader.receive.collect import NEW, REFUSED, UNCHANGED, _found, collect
from grader.receive.layouts import layouts, names_of_layouts
from grader.receive.recognise import recognise
from grader.receive.refused import refused
from grader.receive.sources import looked_into
from grader.receive.whose import Reception
from grader.reference.lab import Lab


@pytest.fixture
def lab(tmp_path) -> Lab:
    return Lab.load(course_with_two_labs(tmp_path / "course"), LAB)


@pytest.fixture
def enrol(monkeypatch):
    """Puts people on the roster, without the time that it takes to make a gradebook."""

    def enrolled(*people: Person) -> None:
        monkeypatch.setattr("grader.receive.collect.roster_of", lambda course: Roster(people))

    return enrolled


JANE = Person("jdoe", "Jane", "Doe", "jdoe@uni.example", "Monday")
ZOE = Person("zvandyk", "Zoë", "van Dyk", "zvandyk@uni.example", "Tuesday")

BRIGHTSPACE = {
    "39786-640693 - Jane Doe - Oct 10, 2026 1022 AM/a.ipynb": "early",
    f"39786-640693 - Jane Doe - Oct 10, 2026 1105 PM/{FILE}": "jane",
    f"39787-640693 - Zoë van Dyk - Oct 9, 2026 905 AM/{FILE}": "zoe",
    "index.html": "<html>",
}
BLACKBOARD = {
    f"Lab 02_jdoe_attempt_2026-10-10-23-05-11_{FILE}": "jane",
    "Lab 02_jdoe_attempt_2026-10-10-23-05-11.txt": "Name: Jane Doe (jdoe)",
    f"Lab 02_jdoe_attempt_2026-10-09-08-00-00_{FILE}": "early",
    f"Lab 02_zvandyk_attempt_2026-10-10-22-00-00_{FILE}": "zoe",
    "Lab 02_zvandyk_attempt_2026-10-10-22-00-00.txt": "Name: Zoë van Dyk (zvandyk)",
}
SAKAI = {
    f"Lab 02/Doe, Jane(jdoe)/Submission attachment(s)/{FILE}": "jane",
    "Lab 02/Doe, Jane(jdoe)/timestamp.txt": "20261010230511123",
    "Lab 02/Doe, Jane(jdoe)/Doe, Jane(jdoe)_submissionText.html": "",
    f"Lab 02/van Dyk, Zoë(zvandyk)/Submission attachment(s)/{FILE}": "zoe",
    "Lab 02/van Dyk, Zoë(zvandyk)/timestamp.txt": "20261010220000000",
    "Lab 02/grades.csv": "Lab 02",
}
METADATA = """---
submission_101:
  :submitters:
  - :name: Jane Doe
    :sid: jdoe
    :email: jdoe@uni.example
  :created_at: !ruby/object:ActiveSupport::TimeWithZone
    utc: &1 2026-10-10 21:05:11.000000000 Z
    zone: !ruby/object:ActiveSupport::TimeZone
      name: Europe/Berlin
    time: 2026-10-10 23:05:11.000000000 Z
  :score: 0.0
submission_102:
  :submitters:
  - :name: Zoë van Dyk
    :sid: zvandyk
    :email: zvandyk@uni.example
  :created_at: 2026-10-10 20:00:00 Z
"""
GRADESCOPE = {
    "assignment_77_export/submission_metadata.yml": METADATA,
    f"assignment_77_export/submission_101/{FILE}": "jane",
    f"assignment_77_export/submission_102/{FILE}": "zoe",
}
TWO = {"jdoe": "jane", "zvandyk": "zoe"}
NAMES = {"Jane Doe": "jane", "Zoë van Dyk": "zoe"}


def month(jane: str, zoe: str) -> dict[str, str]:
    """Brightspace in another language, with two attempts of Jane's."""
    early, last = jane.split("|")
    return {
        f"1-9 - Jane Doe - {early}/{FILE}": "early",
        f"1-9 - Jane Doe - {last}/{FILE}": "jane",
        f"2-9 - Zoë van Dyk - {zoe}/{FILE}": "zoe",
    }


ARCHIVES = {  # name -> what it is taken for, its files, and whose they are without a roster
    "brightspace": ("Brightspace", BRIGHTSPACE, {"Jane Doe_39786": "jane", "Zoë van Dyk_39787": "zoe"}),
    "brightspace, with the assignment's folder": (
        "Brightspace",
        {f"Lab 02/{name}": text for name, text in BRIGHTSPACE.items()},
        {"Jane Doe_39786": "jane", "Zoë van Dyk_39787": "zoe"},
    ),
    "brightspace, without folders": (
        "Brightspace",
        {name.replace("AM/", "AM - ").replace("PM/", "PM - "): text for name, text in BRIGHTSPACE.items()},
        {"Jane Doe_39786": "jane", "Zoë van Dyk_39787": "zoe"},
    ),
    "brightspace, names with hyphens": (
        "Brightspace",
        {
            f"1-9 - Smith - Jones - Oct 10, 2026 1022 AM/{FILE}": "jane",
            f"2-9 - Anne-Marie O'Neil - Oct 10, 2026 1105 PM/{FILE}": "zoe",
        },
        {"Smith - Jones_1": "jane", "Anne-Marie O'Neil_2": "zoe"},
    ),
    "brightspace, of long ago": (
        "Brightspace",
        {
            f"1-9 - Jane Doe- 12 October, 2015 1159 PM - {FILE}": "jane",
            f"1-9 - Jane Doe- 2 October, 2015 1159 PM - {FILE}": "early",
            f"2-9 - Zoë van Dyk- 12 October, 2015 905 AM - {FILE}": "zoe",
        },
        {"Jane Doe_1": "jane", "Zoë van Dyk_2": "zoe"},
    ),
    "brightspace in French": (
        "Brightspace",
        month("3 févr. 2026 22h05|12 février 2026 9h05", "1 mars 2026 12h00"),
        {"Jane Doe_1": "jane", "Zoë van Dyk_2": "zoe"},
    ),
    "brightspace in German": (
        "Brightspace",
        month("3. Oktober 2026 2205|12. Dezember 2026 0905", "1. März 2026 1200"),
        {"Jane Doe_1": "jane", "Zoë van Dyk_2": "zoe"},
    ),
    "brightspace in Spanish": (
        "Brightspace",
        month("3 enero 2026 2205|12 enero 2026 0905", "1 agosto 2026 1200"),
        {"Jane Doe_1": "jane", "Zoë van Dyk_2": "zoe"},
    ),
    "blackboard": ("Blackboard", BLACKBOARD, TWO),
    "blackboard, with underscores in the title": (
        "Blackboard",
        {name.replace("Lab 02", "Lab_02_self_attention"): text for name, text in BLACKBOARD.items()},
        TWO,
    ),
    "blackboard in Spanish": (
        "Blackboard",
        {name.replace("attempt", "intento"): text for name, text in BLACKBOARD.items()},
        TWO,
    ),
    "sakai": ("Sakai", SAKAI, TWO),
    "sakai, the folder itself": (
        "Sakai",
        {name.removeprefix("Lab 02/"): text for name, text in SAKAI.items()},
        TWO,
    ),
    "sakai, without folders": (
        "Sakai",
        {
            f"Lab 02/Doe, Jane(jdoe)_Submission attachment(s)_{FILE}": "jane",
            f"Lab 02/van Dyk, Zoë(zvandyk)_Submission attachment(s)_{FILE}": "zoe",
        },
        TWO,
    ),
    "ilias": (
        "ILIAS",
        {f"Doe_Jane_jdoe_1204/{FILE}": "jane", f"van Dyk_Zoe_zvandyk_1310/Late Submission - {FILE}": "zoe"},
        TWO,
    ),
    "ilias, in a folder, with its table": (
        "ILIAS",
        {
            f"Abgaben/Doe_Jane_jdoe_1204/{FILE}": "jane",
            f"Abgaben/van Dyk_Zoe_zvandyk_1310/{FILE}": "zoe",
            "Abgaben/Lab 02.xlsx": "PK",
        },
        TWO,
    ),
    "gradescope": ("Gradescope", GRADESCOPE, TWO),
    "gradescope, the folder itself": (
        "Gradescope",
        {name.partition("/")[2]: text for name, text in GRADESCOPE.items()},
        TWO,
    ),
    "teams": (
        "Teams",
        {
            f"Submitted files/Jane Doe/Lab 02/Version 1/{FILE}": "early",
            f"Submitted files/Jane Doe/Lab 02/Version 10/{FILE}": "jane",
            f"Submitted files/Zoë van Dyk/Lab 02/Version 2/{FILE}": "zoe",
            f"Working files/Zoë van Dyk/Lab 02/{FILE}": "draft",
        },
        NAMES,
    ),
    "teams, only what was submitted": (
        "Teams",
        {
            f"Jane Doe/Lab 02/Version 1/{FILE}": "early",
            f"Jane Doe/Lab 02/Version 2/{FILE}": "jane",
            f"Zoë van Dyk/Lab 02/Version 1/{FILE}": "zoe",
        },
        NAMES,
    ),
    "google classroom": (
        "Google Classroom",
        {f"Jane Doe - {FILE}": "jane", f"Zoë van Dyk - {FILE}": "zoe"},
        NAMES,
    ),
    "github classroom": (
        "GitHub Classroom",
        {
            f"lab-02-submissions/lab-02-jdoe/notebooks/{FILE}": "jane",
            "lab-02-submissions/lab-02-jdoe/README.md": "#",
            f"lab-02-submissions/lab-02-zvandyk/notebooks/{FILE}": "zoe",
        },
        TWO,
    ),
    "github classroom, the folder itself": (
        "GitHub Classroom, without its folder",
        {f"lab-02-jdoe/{FILE}": "jane", f"lab-02-zvandyk/{FILE}": "zoe"},
        TWO,
    ),
    "prairielearn": (
        "PrairieLearn",
        {
            f"Homework1/jdoe@uni.example_1_lab02_1_301_{FILE}": "early",
            f"Homework1/jdoe@uni.example_1_lab02_1_1302_{FILE}": "jane",
            f"Homework1/zvandyk@uni.example_1_lab02_1_303_{FILE}": "zoe",
        },
        {"jdoe@uni.example": "jane", "zvandyk@uni.example": "zoe"},
    ),
    "prairielearn, the folder itself": (
        "PrairieLearn",
        {
            f"jdoe@uni.example_1_lab02_1_2_302_{FILE}": "jane",
            f"zvandyk@uni.example_1_lab02_1_1_303_{FILE}": "zoe",
        },
        {"jdoe@uni.example": "jane", "zvandyk@uni.example": "zoe"},
    ),
    "canvas": (
        "Canvas",
        {f"doejane_5_900_{FILE}": "jane", f"vandykzoë_LATE_6_901_{FILE}": "zoe"},
        {"doejane_5": "jane", "vandykzoë_6": "zoe"},
    ),
    "canvas, without names": (
        "Canvas, without names",
        {f"anon_a1_900_{FILE}": "jane", f"LATE_anon_b2_901_{FILE}": "zoe"},
        {"anon_a1": "jane", "anon_b2": "zoe"},
    ),
    "moodle": (
        "Moodle",
        {
            f"Jane Doe_71_assignsubmission_file_/{FILE}": "jane",
            f"Zoë van Dyk_72_assignsubmission_file_/{FILE}": "zoe",
        },
        NAMES,
    ),
    "a folder for each student": (
        "folder or file",
        {f"jdoe/{FILE}": "jane", f"zvandyk/x/{FILE}": "zoe"},
        TWO,
    ),
    "a zip of each student": (
        "folder or file",
        {"jdoe.zip": {f"work/{FILE}": "jane"}, "zvandyk_self_attention.zip": {"x.ipynb": "zoe"}},
        TWO,
    ),
    "a folder of the class": (
        "folder or file",
        {f"Lab02/jdoe/{FILE}": "jane", f"Lab02/zvandyk/{FILE}": "zoe"},
        TWO,
    ),
    "a folder of each section": (
        "folder or file",
        {
            f"Monday/jdoe/{FILE}": "jane",
            f"Monday/ben/{FILE}": "ben",
            f"Tuesday/zvandyk/{FILE}": "zoe",
            f"Tuesday/cleo/{FILE}": "cleo",
        },
        {**TWO, "ben": "ben", "cleo": "cleo"},
    ),
}


def packed(files: dict[str, str | dict]) -> dict[str, bytes]:
    """The files, with notebooks of these texts, and zips of these files."""
    return {
        name: zipped(packed(text))
        if isinstance(text, dict)
        else notebook(text)
        if name.endswith(".ipynb")
        else text.encode()
        for name, text in files.items()
    }


def zipped(files: dict[str, bytes]) -> bytes:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return data.getvalue()


def texts(lab: Lab) -> dict[str, str]:
    """Student -> the text in the notebook that grading will find."""
    return {student: json.loads(data)["cells"][0]["source"] for student, data in taken(lab).items()}


IN_FOLDERS = ("brightspace", "blackboard", "sakai", "gradescope", "a zip of each student")


@pytest.mark.parametrize(
    ("name", "source_of"),
    [*((name, zip_of) for name in ARCHIVES), *((name, folder_of) for name in IN_FOLDERS)],
)
def test_each_archive_gives_the_right_people_and_their_last_attempt(lab, source_of, name):
    taken_for, files, expected = ARCHIVES[name]
    told = []
    rows = collect(lab, source_of(lab, packed(files)), confirm=lambda said, doubts: told.append(said))
    assert texts(lab) == expected, rows
    assert taken_for in told[0] and f"{len(expected)} people" in told[0]
    assert ("1 with two attempts: the later one counts" in told[0]) == ("early" in files.values())
    assert {row.outcome for row in rows} == {NEW}


@pytest.mark.parametrize(
    "name",
    sorted(
        ARCHIVES.keys()
        - {"canvas, without names", "a folder of each section", "brightspace, names with hyphens"}
    ),
)
def test_with_a_roster_the_same_archives_are_certain_and_give_the_people_on_it(lab, enrol, name):
    enrol(JANE, ZOE)
    collect(lab, zip_of(lab, packed(ARCHIVES[name][1])))  # would stop if there were a doubt
    assert texts(lab) == TWO


# ---------------------------------------------------------------------------------- what is said first, and asked


def run(lab: Lab, monkeypatch: pytest.MonkeyPatch, *arguments: str):
    monkeypatch.chdir(lab.course.root)
    monkeypatch.setattr("grader.commands.terminal.console.width", 200)
    return CliRunner().invoke(app, ["collect", LAB, *arguments])


def test_the_command_first_says_what_it_takes_the_source_for(lab, enrol, monkeypatch):
    enrol(JANE)
    told = run(lab, monkeypatch, str(zip_of(lab, packed(BRIGHTSPACE))))
    assert told.exit_code == 0, told.output
    first = told.output.splitlines()[0]
    assert first.startswith(
        "Brightspace, 2 people, 1 with two attempts: the later one counts; 1 not on the roster"
    )
    assert "index.html" in first
    assert "The last of 2 attempts." in told.output


UNSURE = {
    "a class's folder with one student": {
        f"Lab02/anna/{FILE}": "anna",
        "Lab02/ben/x.txt": "x",
        f"Lab02/ben/{FILE}": "ben",
    },
    "a platform's zip for each section": {
        "A.zip": {f"Jane Doe_1_assignsubmission_file_/{FILE}": "jane"},
        "B.zip": {f"Zoë van Dyk_2_assignsubmission_file_/{FILE}": "zoe"},
    },
    "a class's folder or a student's": ARCHIVES["a folder of the class"][1],
    "sections or students": ARCHIVES["a folder of each section"][1],
    "names that are no people's": {f"{n}_{n}_2026-10-10-1200{n}/{FILE}": str(n) for n in range(4)},
    "most are named so": BRIGHTSPACE | {f"Ben/{FILE}": "ben"},
    "two folders of a platform's": {
        f"{'A' if number < 3 else 'B'}/{number}-9 - Jane {number} - Oct 10, 2026 1022 AM/{FILE}": str(number)
        for number in range(4)
    },
    "github or students": ARCHIVES["github classroom, the folder itself"][1],
}


@pytest.mark.parametrize("name", UNSURE)
def test_without_a_terminal_what_is_not_certain_stops_before_anything_is_collected(lab, monkeypatch, name):
    source = str(folder_of(lab, packed(UNSURE[name])))
    told = run(lab, monkeypatch, source)
    assert told.exit_code == 1 and "nothing was collected" in told.output and "--as" in told.output, (
        told.output
    )
    assert not lab.course.submitted.exists()
    told = run(lab, monkeypatch, source, "--yes")
    assert told.exit_code == 0 and len(taken(lab)) > 1, told.output


def test_who_knows_better_says_what_it_is(lab, monkeypatch):
    source = str(folder_of(lab, packed({f"Lab02/jdoe/{FILE}": "a", f"Lab02/zvandyk/{FILE}": "b"})))
    assert run(lab, monkeypatch, source, "--as", "class-folder").exit_code == 0
    assert taken(lab).keys() == {"jdoe", "zvandyk"}
    told = run(lab, monkeypatch, source, "--as", "folder")
    assert "Several notebooks" in told.output and "Lab02" in told.output
    told = run(lab, monkeypatch, source, "--as", "moodle")
    assert (
        told.exit_code == 1
        and "Nothing in it has a name like the names that Moodle gives files" in told.output
    )
    told = run(lab, monkeypatch, source, "--as", "nonsense")
    assert told.exit_code == 1 and "There is no layout 'nonsense'. Layouts: canvas" in told.output


def test_what_is_named_otherwise_than_the_rest_is_refused_by_name_and_not_lost(lab):
    files = packed(BRIGHTSPACE | {"39788-640693 - Ben - soon/x.ipynb": "ben"})
    told = []
    rows = collect(lab, zip_of(lab, files), confirm=lambda said, doubts: told.extend([said, *doubts]))
    assert len(taken(lab)) == 2 and any("1 of 4 are not" in each for each in told), told
    assert [row.file for row in rows if row.outcome == REFUSED] == ["39788-640693 - Ben - soon/x.ipynb"]
    assert refused(lab)[0][0] == "39788-640693 - Ben - soon/x.ipynb"


def test_names_of_which_none_is_on_the_roster_are_asked_about(lab, enrol):
    enrol(JANE)
    folders = packed({f"{name}/{FILE}": name for name in ("anna", "ben", "cleo")})
    one = packed({f"anna_{FILE}": "anna"})
    moodle = packed({f"Anna Ey_7_assignsubmission_file_/{FILE}": "anna"})
    for files, who in ((folders, "anna, ben, cleo"), (one, "anna"), (moodle, "Anna Ey_7")):
        with pytest.raises(GraderError, match=rf"Nobody in it is on the roster \({who}\).*add --yes"):
            collect(lab, folder_of(lab, files))
    assert not lab.course.submitted.exists()
    assert outcomes(collect(lab, folder_of(lab, packed({f"jdoe/{FILE}": "jane", f"ben/{FILE}": "ben"})))) == {
        "jdoe": NEW,
        "ben": NEW,
    }


@pytest.mark.parametrize("source_of", [zip_of, folder_of])
@pytest.mark.parametrize("around", ["", f"transformer-lab-{LAB}/"])
def test_the_zip_that_learners_get_is_recognised_and_makes_no_student(lab, source_of, around):
    files = {
        f"{around}README.md": "x",
        f"{around}notebooks/{LAB}/lab.json": "{}",
        f"{around}notebooks/{LAB}/{FILE}": "as handed out",
    }
    with pytest.raises(
        GraderError, match=f"is what learners get for {LAB}, and nothing in it says whose it is"
    ):
        collect(lab, source_of(lab, packed(files)), confirm=lambda said, doubts: None)
    assert not lab.course.submitted.exists()
    of_somebody = {f"jdoe/{name}": text for name, text in files.items()}
    assert outcomes(collect(lab, source_of(lab, packed(of_somebody)))) == {"jdoe": NEW}


def test_times_that_are_not_understood_are_not_guessed_about(lab):
    files = {f"1-9 - Jane Doe - 31 foo 2026 22{n:02}/{FILE}": str(n) for n in (1, 2)}
    rows = collect(lab, zip_of(lab, packed(files)))
    assert "Several attempts, and it is not clear which is the last" in why(rows, "Jane Doe_1")


def test_refused_work_of_somebody_on_the_roster_is_graded_as_unreadable_with_the_reason(lab, enrol):
    files = {"jdoe/self_attention.py": "x = 1", "nobody/self_attention.py": "x = 1", f"zvandyk/{FILE}": "zoe"}
    enrol(JANE, ZOE)
    rows = collect(lab, folder_of(lab, packed(files)))
    assert outcomes(rows) == {"jdoe": REFUSED, "nobody": REFUSED, "zvandyk": NEW}
    reason = (lab.course.submitted / "jdoe" / LAB / REASON_FILE).read_text()
    assert (
        reason == why(rows, "jdoe") and "no notebook among what was handed in (self_attention.py)" in reason
    )
    assert not (lab.course.submitted / "nobody").exists()
    assert refused(lab) == [("nobody/self_attention.py", why(rows, "nobody"))]


def test_a_file_without_a_notebook_beside_somebody_s_work_is_no_second_claim_to_it(lab, enrol):
    enrol(JANE, ZOE)
    files = {"jdoe/notes.txt": "x", f"jdoe_{FILE}": "jane", f"zvandyk/{FILE}": "zoe"}
    assert outcomes(collect(lab, folder_of(lab, packed(files)))) == {"jdoe": NEW, "zvandyk": NEW}


def test_a_zone_that_is_given_later_enters_or_corrects_the_times_of_the_same_uploads(lab, monkeypatch):
    source = str(zip_of(lab, packed(BLACKBOARD)))
    folder = lab.course.submitted / "jdoe" / LAB
    told = run(lab, monkeypatch, source)
    assert "The names say when 2 people handed in, but not in which time zone" in told.output
    assert "--zone Europe/Berlin" in told.output and not (folder / TIMESTAMP).exists()

    told = run(lab, monkeypatch, source, "--zone", "America/New_York")
    assert "unchanged: 2" in told.output and "in which time zone" not in told.output
    assert "Its time of submission is entered: 2026-10-11 03:05 UTC." in " ".join(told.output.split())
    assert (folder / TIMESTAMP).read_text() == "2026-10-11 03:05:11.000000 UTC"

    rows = collect(lab, Path(source), zone=ZoneInfo("Europe/Berlin"))
    said = "Its time of submission is corrected: 2026-10-10 21:05 UTC, not 2026-10-11 03:05 UTC."
    assert said in next(row.why for row in rows if row.student == "jdoe")
    assert (folder / TIMESTAMP).read_text() == "2026-10-10 21:05:11.000000 UTC"

    rows = collect(lab, Path(source), zone=ZoneInfo("Europe/Berlin"))
    assert not any("time of submission" in row.why for row in rows)
    collect(lab, Path(source))
    assert (folder / TIMESTAMP).read_text() == "2026-10-10 21:05:11.000000 UTC"


@pytest.mark.parametrize("zones", [("Europe/Berlin", "Europe/Berlin"), (None, "Europe/Berlin")])
def test_who_uploads_the_same_file_again_after_the_deadline_keeps_the_first_time(lab, zones):
    first, again = ({f"Lab 02_jdoe_attempt_2026-10-{day}-12-00-00_{FILE}": "same"} for day in ("10", "11"))
    for zone, files in zip(zones, (first, again), strict=True):
        rows = collect(lab, zip_of(lab, packed(files)), zone=ZoneInfo(zone) if zone else None)
    assert outcomes(rows) == {"jdoe": UNCHANGED}
    file = lab.course.submitted / "jdoe" / LAB / TIMESTAMP
    assert file.read_text() == "2026-10-10 10:00:00.000000 UTC"


def test_a_zone_that_is_given_later_counts_for_a_whole_team(lab):
    with_gradebook(lab.course)
    with Gradebook.open(lab.course) as gradebook:
        gradebook.enter_people([JANE, Person("ben", "Ben", "Ey")])
        gradebook.enter_teams({"jdoe": "red", "ben": "red"})
    for zone in (None, ZoneInfo("America/New_York"), ZoneInfo("Europe/Berlin")):
        rows = collect(lab, zip_of(lab, packed(BLACKBOARD)), layout="blackboard", zone=zone)
    for student in ("jdoe", "ben"):
        file = lab.course.submitted / student / LAB / TIMESTAMP
        assert file.read_text() == "2026-10-10 21:05:11.000000 UTC"
        assert "corrected" in next(row.why for row in rows if row.student == student)


def test_gradescope_s_own_time_is_in_utc_and_counts(lab):
    collect(lab, zip_of(lab, packed(GRADESCOPE)))
    assert (lab.course.submitted / "jdoe" / LAB / TIMESTAMP).read_text() == "2026-10-10 21:05:11.000000 UTC"


def test_who_hand_in_together_each_get_the_work(lab):
    together = "submission_101:\n  :submitters:\n  - :name: Jane Doe\n    :sid: jdoe\n  - :name: Zoë van Dyk\n    :sid: zvandyk\n"
    files = {"x/submission_metadata.yml": together, f"x/submission_101/{FILE}": "both"}
    collect(lab, zip_of(lab, packed(files)))
    assert texts(lab) == {"jdoe": "both", "zvandyk": "both"}


@pytest.mark.parametrize(
    "text", ["a: [", "&a [*a, *a]", "submission_101: 7", "!!python/object/apply:os.system [ls]", "x" * 10]
)
def test_odd_metadata_is_told_in_a_sentence(lab, text):
    files = {"x/submission_metadata.yml": text, f"x/submission_101/{FILE}": "jane"}
    try:
        rows = collect(lab, zip_of(lab, packed(files)))
    except GraderError as error:
        assert "submission_metadata.yml" in str(error)
    else:
        assert "submission_metadata.yml" in why(rows)


# ---------------------------------------------------------------------------------- archives in archives


def test_a_zip_that_somebody_handed_in_is_opened(lab):
    inner = {f"my work/{FILE}": "jane", "my work/helpers.py": "x = 1"}
    files = {"doejane_5_900_work.zip": inner, "vandykzoë_6_901_work.zip": {"deep.zip": {FILE: "zoe"}}}
    collect(lab, zip_of(lab, packed(files)))
    assert texts(lab) == {"doejane_5": "jane", "vandykzoë_6": "zoe"}


def test_names_inside_a_zip_never_say_whose_it_is(lab):
    inner = {
        f"doejane_5_900_{FILE}": "forged",
        "39786-640693 - Jane Doe - Oct 10, 2026 1022 AM/a.ipynb": "forged",
    }
    for name, owner in (("mallory_7_902_x.zip", "mallory_7"), ("mallory.zip", "mallory")):
        others = f"doejane_5_900_{FILE}" if "_" in name else f"doejane/{FILE}"
        collect(lab, zip_of(lab, packed({name: inner, others: "hers"})))
        assert {who for who, text in texts(lab).items() if text == "forged"} <= {"mallory", "mallory_7"}
        assert (
            texts(lab)[owner] == "forged"
            and texts(lab)["doejane" if owner == "mallory" else "doejane_5"] == "hers"
        )


def test_a_zip_of_a_platform_s_zip_is_opened(lab):
    collect(lab, zip_of(lab, {"download.zip": zipped(packed(BRIGHTSPACE))}, "download.zip"))
    assert set(texts(lab).values()) == {"jane", "zoe"}


def test_what_archives_inside_unpack_to_is_bounded_for_each_student(lab, monkeypatch):
    monkeypatch.setattr(sources, "MAX_INSIDE", 3000)
    big = zipped({FILE: os.urandom(5000)})
    files = {"doejane_5_900_a.zip": big, "vandykzoë_6_901_b.zip": zipped({FILE: notebook("zoe")})}
    rows = collect(lab, zip_of(lab, files))
    assert outcomes(rows) == {"doejane_5": REFUSED, "vandykzoë_6": NEW}
    assert "a.zip cannot be opened" in why(rows, "doejane_5")


def test_paths_links_and_damage_inside_a_zip_do_no_harm(lab):
    link = zipfile.ZipInfo(FILE)
    link.create_system, link.external_attr = 3, 0o120777 << 16
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        archive.writestr(link, "/etc/passwd")
    files = {
        "a_1_10_x.zip": zipped({f"../../{FILE}": notebook("out")}),
        "b_2_11_x.zip": data.getvalue(),
        "c_3_12_x.zip": b"PK\x03\x04nonsense",
        "d_4_13_x.zip": zipped({FILE: notebook("good")}),
    }
    rows = collect(lab, zip_of(lab, files))
    assert outcomes(rows) == {"a_1": REFUSED, "b_2": REFUSED, "c_3": REFUSED, "d_4": NEW}
    assert (
        "leads out" in why(rows, "a_1")
        and "symbolic link" in why(rows, "b_2")
        and "damaged" in why(rows, "c_3")
    )


@pytest.mark.parametrize("source_of", [folder_of, zip_of])
def test_a_flood_of_prints_is_taken_from_a_zip_as_from_a_folder(lab, source_of):
    flood = notebook("0.0" * (6 * 2**20))
    assert outcomes(collect(lab, source_of(lab, {f"doejane_5_900_{FILE}": flood}))) == {"doejane_5": NEW}


@pytest.mark.parametrize(
    ("start", "what"),
    [
        (b"<!DOCTYPE html>", "a web page"),
        (b"\xef\xbb\xbf\n <html>", "a web page"),
        (b"%PDF-1.7", "a PDF"),
        (b"PK\x03\x04", "a zip"),
        (b"\x89PNG\r\n", "a picture"),
        (b"{\\rtf1", "RTF"),
    ],
)
def test_a_file_that_is_only_called_a_notebook_is_unreadable_at_once(lab, start, what):
    rows = collect(lab, folder_of(lab, {f"anna/{FILE}": start + b" something", f"ben/{FILE}": notebook()}))
    assert outcomes(rows) == {"anna": REFUSED, "ben": NEW}
    assert what in why(rows, "anna") and "not a notebook" in why(rows, "anna")


# ---------------------------------------------------------------------------------- one way of matching

BY_MAIL = Person("yberrocal@uni.example", "Yadira", "Berrocal", "yberrocal@uni.example")


@pytest.mark.parametrize(
    "given_as", ["yberrocal", "YBerrocal", "yberrocal@uni.example", "Yadira Berrocal", "Berrocal, Yadira"]
)
def test_whoever_types_or_names_somebody_means_the_same_person(lab, enrol, given_as):
    enrol(BY_MAIL, JANE)
    collect(lab, folder_of(lab, {f"{given_as}/{FILE}": notebook()}))
    assert taken(lab).keys() == {BY_MAIL.student}
    assert Roster([BY_MAIL, JANE]).meant(given_as) == BY_MAIL.student


def test_a_user_of_the_exchange_s_machine_is_found_by_what_stands_before_the_at(
    lab, enrol, tmp_path, monkeypatch
):
    enrol(BY_MAIL, JANE)
    inbound = exchange_for(lab.course, tmp_path, monkeypatch)
    submit(inbound, "yberrocal", "2030-01-01 10:00:00 UTC", "hers")
    rows = collect(lab, shared_account=True)
    assert [(row.student, row.outcome) for row in rows] == [(BY_MAIL.student, NEW)]


def test_a_name_that_may_mean_two_is_not_guessed_about():
    with pytest.raises(GraderError, match="'Jane Doe' may be several people: a .*b .*Give the id"):
        Roster([Person("a", "Jane", "Doe"), Person("b", "Jane", "Doe")]).meant("Jane Doe")


def test_a_login_is_never_taken_for_one_that_only_looks_alike():
    roster = Roster([Person("j.doe@uni.example", "Jane", "Doe"), Person("ann", email="ann@other.example")])
    assert roster.find(login="j.doe").student == "j.doe@uni.example"
    assert roster.find(login="jdoe") is None and roster.find(login="ann@uni.example") is None
    assert roster.find(login="ANN").student == "ann"


# ---------------------------------------------------------------------------------- late, nobody knows by how much


def test_work_that_is_marked_as_late_stays_so_until_it_is_decided(lab, monkeypatch):
    monkeypatch.chdir(lab.course.root)
    source = str(zip_of(lab, packed(ARCHIVES["canvas"][1])))
    told = run(lab, monkeypatch, source)
    assert "1 marked as late" in told.output.splitlines()[0]
    assert "1 submission is marked as late, by how much is not known" in " ".join(told.output.split())
    folder = lab.course.submitted / "vandykzoë_6" / LAB
    assert (folder / LATE).read_text() == "Canvas"
    listed = CliRunner().invoke(app, ["late", LAB])
    assert "vandykzoë_6" in listed.output and "Canvas" in listed.output
    decide = ["late", LAB, "--days", "1.5"]
    refusal = CliRunner().invoke(app, decide)
    assert refusal.exit_code == 1 and "has no deadline to be late for" in refusal.output
    with Gradebook.open(lab.course) as gradebook:
        gradebook.set_deadline(lab, datetime(2026, 10, 10))
    assert CliRunner().invoke(app, decide).exit_code == 0
    assert (folder / TIMESTAMP).read_text() == "2026-10-11 12:00:00.000000 UTC"
    assert outcomes(collect(lab, Path(source))) == {"doejane_5": UNCHANGED, "vandykzoë_6": UNCHANGED}
    assert "1 marked as late, 0 to decide" in CliRunner().invoke(app, ["late", LAB]).output


def test_a_decision_about_late_work_is_made_again_for_people_who_are_named_and_is_in_the_log(
    lab, monkeypatch
):
    monkeypatch.delenv("JUPYTERHUB_USER", raising=False)
    run(lab, monkeypatch, str(zip_of(lab, packed(ARCHIVES["canvas"][1]))))
    with Gradebook.open(lab.course) as gradebook:
        gradebook.set_deadline(lab, datetime(2026, 10, 10))
    zoe, file = "vandykzoë_6", lab.course.submitted / "vandykzoë_6" / LAB / TIMESTAMP
    for arguments, time in ((["--days", "1"], "2026-10-11 00:00"), ([zoe, "--days", "3"], "2026-10-13 00:00"), ([zoe, "--days", "0"], "2026-10-10 00:00")):  # fmt: skip
        decided = CliRunner().invoke(app, ["late", LAB, *arguments, "--because", "her mail"])
        assert decided.exit_code == 0, decided.output
        assert file.read_text().startswith(time)
    unnamed = CliRunner().invoke(app, ["late", LAB, "--days", "2"])
    assert unnamed.exit_code == 1 and "name whose: grader late" in " ".join(unnamed.output.split())
    jane = CliRunner().invoke(app, ["late", LAB, "doejane_5", "--days", "2"])  # not marked
    assert jane.exit_code == 1 and "There is nothing to decide about doejane_5" in jane.output
    with Gradebook.open(lab.course) as gradebook:
        lines = [each for each in gradebook.changes(LAB, zoe) if each.what == log.LATENESS]
    assert [(each.before, each.after) for each in lines] == [("", "1 d"), ("1 d", "3 d"), ("3 d", "0 d")]
    assert {each.why for each in lines} == {"her mail"}
    assert {each.who for each in lines} == {log.user_and_program()[0]}


def test_work_that_is_handed_in_again_is_to_be_decided_again(lab, monkeypatch):
    there = ARCHIVES["canvas"][1]
    run(lab, monkeypatch, str(zip_of(lab, packed(there))))
    with Gradebook.open(lab.course) as gradebook:
        gradebook.set_deadline(lab, datetime(2026, 10, 10))
    assert CliRunner().invoke(app, ["late", LAB, "--days", "1"]).exit_code == 0
    newer = {name: f"{content}, again" for name, content in there.items()}
    run(lab, monkeypatch, str(zip_of(lab, packed(newer))))
    assert "1 marked as late, 1 to decide" in CliRunner().invoke(app, ["late", LAB]).output


# ---------------------------------------------------------------------------------- the table itself


def test_every_layout_is_tried_in_some_archive():
    tried = {taken_for for taken_for, _, _ in ARCHIVES.values()}
    assert layouts().keys() <= tried


@given(st.text(max_size=80), st.sampled_from(sorted(layouts())))
def test_no_name_is_too_odd_to_be_read(name, layout):
    for said in layouts()[layout].readings(name):
        assert isinstance(said.file, str)


def test_files_of_another_lab_beside_are_named(lab):
    files = {
        f"jdoe/{FILE}": "jane",
        f"zvandyk/{FILE}": "zoe",
        f"{OTHER}/ben.ipynb": "other",
        "notes.txt": "x",
    }
    told = []
    collect(lab, folder_of(lab, packed(files)), confirm=lambda said, doubts: told.append(said))
    assert "2 other files are not work for this lab" in told[0] and "notes.txt" in told[0]


def offers_of(*names: str) -> Iterator[sources.Offer]:
    return (sources.Offer(tuple(name.split("/")), lambda: b"") for name in names)


def test_what_is_no_zip_is_left_as_it_is():
    (offer,) = looked_into(offers_of("a/b.txt"))
    assert offer.parts == ("a", "b.txt") and offer.inside == ()


# ---------------------------------------------------------------------------------- conservation

PARTS = st.sampled_from(
    sorted({part for _, files, _ in ARCHIVES.values() for name in files for part in name.split("/")})
) | st.text("aB1_- ./@(),", min_size=1, max_size=12).filter(lambda part: part.strip(" ./"))


@pytest.fixture(scope="module")
def empty(tmp_path_factory) -> Lab:
    return Lab.load(course_with_two_labs(tmp_path_factory.mktemp("course")), LAB)


@given(
    st.lists(st.lists(PARTS, min_size=1, max_size=4), min_size=1, max_size=8),
    st.sampled_from([(), (JANE, ZOE)]),
    st.sampled_from(["", *names_of_layouts()]),
)
def test_every_file_is_somebody_s_refused_or_named_as_aside(empty, paths, people, layout):
    given_names = {"/".join(path) for path in paths}
    offers = [sources.Offer(tuple(name.split("/")), lambda: b"") for name in sorted(given_names)]
    try:
        taken_for = recognise(empty, offers, "source", Roster(people), layout)
        found = _found(empty, taken_for, taken_for.offers, Reception(empty, Roster(people)), None)
    except GraderError:
        return  # told in a sentence
    kept = [file.offer.shown for file in found.files] + [file.offer.shown for file, _ in found.unclear]
    told = kept + [row.file for row in found.of_nobody] + found.aside
    assert sorted({*told}) == sorted({offer.shown for offer in taken_for.offers})
    assert len(taken_for.offers) == len(offers)
