"""What came back -> grading/submitted: names of LMSs, hostile archives, and nothing ever lost or written elsewhere."""

from __future__ import annotations

import csv
import io
import json
import os
import random
import shutil
import stat
import struct
import unicodedata
import zipfile
from pathlib import Path

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
from project import ROOT
from typer.testing import CliRunner

from grader.book import file as gradebook_file
from grader.cli import app
from grader.course import Course
from grader.errors import GraderError
from grader.files import LATE, REASON_FILE, SECRET, find_notebook
from grader.people.students import MOODLE_NUMBER, student_id
from grader.receive import exchange, sources
from grader.receive.collect import NEW, REFUSED, REPLACED, UNCHANGED, collect
from grader.receive.openings import openings
from grader.receive.read import read_submission
from grader.reference.lab import Lab


@pytest.fixture
def course(tmp_path) -> Course:
    return course_with_two_labs(tmp_path / "course")


@pytest.fixture
def lab(course) -> Lab:
    return Lab.load(course, LAB)


def graded_as(lab: Lab, student: str) -> str:
    """The problem that grading will report."""
    path, _ = find_notebook(lab.course.submitted / student / lab.name, lab.notebook_name)
    return read_submission(path).problem


# ---------------------------------------------------------------------------------- whose it is


@pytest.mark.parametrize(
    ("path", "student"),
    [
        (f"anna/{LAB}/{FILE}", "anna"),
        (f"anna/{FILE}", "anna"),
        ("anna/my work.ipynb", "anna"),
        (f"{LAB}/anna/{FILE}", "anna"),
        (f"{LAB}/anna.ipynb", "anna"),
        ("anna.ipynb", "anna"),
        ("student-7.ipynb", "student-7"),
        ("anna (2).ipynb", "anna"),
        (f"anna_{FILE}", "anna"),
        (f"Anna_van_der_Berg_{FILE}", "Anna_van_der_Berg"),
        ("anna_self-attention.ipynb", "anna"),
        ("anna_self_attention-2.ipynb", "anna"),
        ("anna_self_attention.ipynb.txt", "anna"),
        (f"Ωmega Łukasz/{FILE}", "Ωmega Łukasz"),
        (f"王小明_{FILE}", "王小明"),
        (f"doejane_12345_67890_{FILE}", "doejane_12345"),
        (f"doejane_LATE_12345_67890_{FILE}", "doejane_12345"),
        ("doejane_12345_67890_self_attention-1.ipynb", "doejane_12345"),
        ("doe_jane_12345_67890_Final_1_2_x.ipynb", "doe_jane_12345"),
        (f"_12345_67890_{FILE}", "user_12345"),
        (f"12345_67890_{FILE}", "user_12345"),
        (f"anon_5fGh2_67890_{FILE}", "anon_5fGh2"),
        (f"LATE_anon_5fGh2_67890_{FILE}", "anon_5fGh2"),
        (f"Jane Doe_123456_assignsubmission_file_/{FILE}", "Jane Doe"),
        (f"Jane Doe_123456_assignsubmission_file/{FILE}", "Jane Doe"),
        (f"Jane Doe_123456_assignsubmission_file/work/{FILE}", "Jane Doe"),
        (f"Jane Doe_123456_assignsubmission_file_{FILE}", "Jane Doe"),
        (f"{LAB}/Jane Doe_123456_assignsubmission_file_/{FILE}", "Jane Doe"),
        (f"Participant_77_assignsubmission_file_/{FILE}", "Participant_77"),
        (f"Group A_5_assignsubmission_file/{FILE}", "Group A"),
    ],
)
@pytest.mark.parametrize("source_of", [folder_of, zip_of])
def test_each_way_of_naming_says_whose_a_notebook_is(lab, source_of, path, student):
    rows = collect(lab, source_of(lab, {path: notebook()}))
    assert outcomes(rows) == {student: NEW}
    assert taken(lab) == {student: notebook()}
    beside = [MOODLE_NUMBER] if "assignsubmission" in path else [LATE] if "LATE" in path else []
    assert sorted(os.listdir(lab.course.submitted / student / LAB)) == [*beside, FILE]


CLUTTER = {"__MACOSX/._a_1_10_self_attention.ipynb": b"x", ".DS_Store": b"x", "README.txt": b"x"}


def test_a_whole_class_from_canvas_is_taken_and_nothing_else(lab):
    class_ = {
        f"a_1_10_{FILE}": notebook("a"),
        "a_1_11_photo.png": b"png",
        "b_LATE_2_12_self_attention-1.ipynb": notebook("b"),
        "f_5_text.html": b"<p>",
    }
    rows = collect(lab, zip_of(lab, class_ | CLUTTER))
    assert outcomes(rows) == {"a_1": NEW, "b_2": NEW, "f_5": REFUSED}
    assert [row.why for row in rows if row.student == "b_2"] == ["Canvas marks it as late."]
    assert taken(lab) == {"a_1": notebook("a"), "b_2": notebook("b")}


def test_a_whole_class_from_moodle_is_taken_and_nothing_else(lab):
    class_ = {
        f"C D_3_assignsubmission_file_/{FILE}": notebook("c"),
        "C D_3_assignsubmission_onlinetext_/onlinetext.html": b"<p>",
        "E_4_assignsubmission_onlinetext_/onlinetext.html": b"<p>",
        "G_6_assignsubmission_file_/": b"",  # a folder
        f"Default group_assignsubmission_file/{FILE}": notebook("of people without a group"),
    }
    rows = collect(lab, zip_of(lab, class_ | CLUTTER))
    assert outcomes(rows) == {"C D": NEW, "E": REFUSED, "": REFUSED}
    assert "no notebook among what was handed in (onlinetext.html)" in why(rows, "E")
    assert "no number" in why(rows)
    assert taken(lab) == {"C D": notebook("c")}


def test_other_labs_in_the_same_folder_are_left_alone(lab):
    source = folder_of(
        lab,
        {
            f"anna/{OTHER}/start_here.ipynb": notebook("other"),
            f"anna/{LAB}/{FILE}": notebook("this"),
            "ben_start_here.ipynb": notebook("other"),
            f"{OTHER}/ben.ipynb": notebook("other"),
        },
    )
    assert outcomes(collect(lab, source)) == {"anna": NEW}
    assert taken(lab) == {"anna": notebook("this")}
    shorter = lab.course.solutions / "01_attention"
    shorter.mkdir()
    (shorter / "01_attention.py").touch()
    source = folder_of(lab, {f"cleo_{FILE}": notebook(), "cleo_attention.ipynb": notebook("short")})
    assert outcomes(collect(Lab.load(lab.course, "01_attention"), source)) == {"cleo": NEW}
    assert (lab.course.submitted / "cleo" / "01_attention" / "attention.ipynb").read_bytes() == notebook(
        "short"
    )


def moodle(**files: bytes) -> dict[str, bytes]:
    """As Moodle packs it: the students' notebooks by name."""
    return {
        f"Person {who}_{number}_assignsubmission_file_/{name}.ipynb": data
        for number, (who, (name, data)) in enumerate(files.items(), 71)
    }


def test_the_zip_of_another_lab_is_refused_as_a_whole(lab):
    other = {who: ("start_here", notebook(who)) for who in "abc"}
    with pytest.raises(GraderError, match=f"All 3 notebooks are another lab's.*collect {OTHER}"):
        collect(lab, zip_of(lab, moodle(**other)))
    assert not lab.course.submitted.exists()


def test_a_notebook_of_another_lab_among_others_is_refused_alone(lab):
    mixed = {
        "a": ("self_attention", notebook("a")),
        "b": ("Start-Here (1)", notebook("b")),
        "c": ("homework", notebook("c")),
    }
    rows = collect(lab, zip_of(lab, moodle(**mixed)))
    assert outcomes(rows) == {"Person a": NEW, "Person b": REFUSED, "Person c": NEW}
    assert "Is it work for 00_start_here?" in why(rows, "Person b")
    assert "Is it work for 00_start_here?" in graded_as(lab, "Person b")


def test_a_source_that_is_mostly_another_lab_s_is_stopped_until_somebody_says_that_it_is_meant(
    lab, monkeypatch
):
    monkeypatch.chdir(lab.course.root)
    with_gradebook(lab.course)
    mostly = {who: ("start_here", notebook(who)) for who in "abc"} | {"d": ("self_attention", notebook("d"))}
    source = str(zip_of(lab, moodle(**mostly)))
    told = CliRunner().invoke(app, ["collect", LAB, source])
    assert told.exit_code == 1 and not lab.course.submitted.exists()
    assert "3 of 4 notebooks are another lab's, going by their names or cells" in told.output
    assert f"grader collect {OTHER} SOURCE" in told.output and "add --yes" in told.output
    told = CliRunner().invoke(app, ["collect", LAB, source, "--yes"])
    assert told.exit_code == 0, told.output
    assert taken(lab) == {"Person d": notebook("d")} and "refused: 3" in told.output


@pytest.fixture
def released(lab) -> dict[str, bytes]:
    """Lab -> the notebook that learners get, in a course that has both."""
    for name in (LAB, OTHER):
        shutil.copytree(ROOT / "notebooks" / name, lab.course.notebooks / name)
    return {name: (lab.course.notebooks / name / f"{name[3:]}.ipynb").read_bytes() for name in (LAB, OTHER)}


def test_another_lab_s_notebook_is_recognised_by_its_cells_and_replaces_nothing(lab, released):
    collect(lab, folder_of(lab, {f"olga/{FILE}": released[LAB]}))
    rows = collect(lab, folder_of(lab, {f"olga/{FILE}": released[OTHER], f"anna/{FILE}": released[LAB]}))
    assert outcomes(rows) == {"anna": NEW, "olga": REFUSED}
    said = f"{FILE} is the notebook of {OTHER}, not of {LAB}. Hand in the one of {LAB}."
    assert why(rows, "olga") == f"{said} What was collected before stays."
    assert taken(lab) == dict.fromkeys(("anna", "olga"), released[LAB])
    collect(lab, folder_of(lab, {f"ben/{FILE}": released[OTHER]}))
    assert graded_as(lab, "ben") == said


def test_a_notebook_is_taken_if_its_cells_do_not_clearly_show_another_lab(lab, released):
    ours, theirs = (json.loads(released[name]) for name in (LAB, OTHER))
    one = next(cell for cell in ours["cells"] if "nbgrader" in cell["metadata"])
    files = {
        "both": ours | {"cells": ours["cells"] + theirs["cells"]},
        "one": theirs | {"cells": [*theirs["cells"], one]},
        "none": json.loads(notebook()),
    }
    source = folder_of(lab, {f"{who}/{FILE}": json.dumps(each).encode() for who, each in files.items()})
    assert outcomes(collect(lab, source)) == dict.fromkeys(files, NEW)


def test_a_source_of_another_lab_is_recognised_by_cells_if_names_do_not_tell(lab, released):
    source = folder_of(lab, {f"{who}.ipynb": released[OTHER] for who in ("anna", "ben", "cleo")})
    with pytest.raises(GraderError, match=f"All 3 notebooks are another lab's.*collect {OTHER}"):
        collect(lab, source)
    assert not lab.course.submitted.exists()


def test_what_was_refused_is_in_a_table_too(lab, tmp_path, monkeypatch):
    monkeypatch.chdir(lab.course.root)
    with_gradebook(lab.course)
    source = folder_of(
        lab, {f"anna/{FILE}": notebook(), f"{FILE}": notebook("whose?"), "=b.ipynb": notebook()}
    )
    told = CliRunner().invoke(app, ["collect", LAB, str(source), "--csv", str(tmp_path / "rows.csv")])
    assert told.exit_code == 0, told.output
    with (tmp_path / "rows.csv").open(newline="") as file:
        rows = {row["File"]: row for row in csv.DictReader(file)}
    assert rows[f"anna/{FILE}"]["What happened"] == NEW and rows["'=b.ipynb"]["Student"].startswith("_b-")
    refused = rows[FILE]
    assert (refused["Student"], refused["What happened"]) == ("?", REFUSED)
    assert "does not say whose it is" in refused["Notes"]


def test_of_several_versions_the_last_counts(lab):
    files = {f"a_1_{10 + n}_self_attention-{n}.ipynb": notebook(str(n)) for n in (1, 10, 9)}
    collect(lab, zip_of(lab, {f"a_1_99_{FILE}": notebook("0"), "a_1_98_x.ipynb": notebook("x"), **files}))
    assert taken(lab) == {"a_1": notebook("10")}


def test_it_is_not_guessed_which_of_two_notebooks_counts_unless_they_are_equal(lab):
    files = {"a_1_10_first.ipynb": notebook("1"), "a_1_11_other.ipynb": notebook("2")}
    reason = why(collect(lab, zip_of(lab, files)), "a_1")
    assert "Several notebooks" in reason and "a_1_11_other.ipynb" in reason
    assert graded_as(lab, "a_1") == reason
    collect(lab, zip_of(lab, dict.fromkeys(files, notebook("same"))))
    assert taken(lab) == {"a_1": notebook("same")}
    assert not (lab.course.submitted / "a_1" / LAB / REASON_FILE).exists()


def test_a_folder_that_packing_put_around_everything_is_no_student(lab):
    zipped = zip_of(lab, {"class/anna.ipynb": notebook("a"), "class/ben.ipynb": notebook("b")}, "class.zip")
    assert outcomes(collect(lab, zipped)) == {"anna": NEW, "ben": NEW}
    again = {f"again/c_1_2_{FILE}": notebook(), f"again/d_3_4_{FILE}": notebook()}
    assert outcomes(collect(lab, zip_of(lab, again, "again.zip"))) == {"c_1": NEW, "d_3": NEW}
    for source in (zip_of(lab, again), folder_of(lab, again)):  # it may be a student of that name
        with pytest.raises(GraderError, match=r"in one folder, 'again'.*collect that folder"):
            collect(lab, source)
    assert outcomes(collect(lab, folder_of(lab, again) / "again")) == {"c_1": UNCHANGED, "d_3": UNCHANGED}


def test_a_notebook_that_nobody_owns_is_listed(lab):
    rows = collect(lab, folder_of(lab, {FILE: notebook(), "anna.ipynb": notebook()}))
    assert outcomes(rows) == {"anna": NEW, "": REFUSED}
    assert "whose it is" in why(rows)


# ---------------------------------------------------------------------------------- ids


@pytest.mark.parametrize(
    "name",
    [
        "../../etc",
        "a/b",
        "a\\b",
        ".hidden",
        "-rf",
        "a\x00b",
        "a\nb",
        "\u202eabc",
        "a\u200bb",
        "",
        ".",
        "..",
        " ",
        "*",
        "{x}",
        "x" * 500,
        "é" * 300,
        "王" * 300,
        "\ud800",
        "a" + "\u0301" * 500,
        "con|<>:\"?'",
    ],
)
@pytest.mark.parametrize("number", ["", "123"])
def test_an_id_is_a_safe_name_of_one_folder(tmp_path, name, number):
    made = student_id(name, number)
    assert made == Path(made).name and made.isprintable() and made == made.strip(" .")
    assert made[0] not in ".-" and not set(made) & set('/\\:*?"<>|[]{}') and len(made.encode()) <= 100
    assert unicodedata.is_normalized("NFC", made)
    assert made.endswith(f"_{number}") or not number
    (tmp_path / made).mkdir()
    assert student_id(made) == made


def test_letters_of_all_scripts_stay_and_different_people_stay_different():
    for name in ("Zoë Łuczak", "李 小龍", "O'Brien-Smith, Ann", "a.b@c.org", "محمد"):
        assert student_id(name) == name
    assert student_id(unicodedata.normalize("NFD", "Zoë")) == "Zoë"
    names = ["a b", "a_b", "a/b", "a\\b", "a:b", ".a b", "a  b", "a b.", "x" * 200, "x" * 201]
    assert len({student_id(name) for name in names}) == len(names)
    assert student_id("x" * 200, "1") != student_id("x" * 200, "2")


def test_names_that_differ_in_capitals_only_do_not_share_a_folder(lab):
    rows = collect(lab, folder_of(lab, {"Anna.ipynb": notebook("1"), "anna.ipynb": notebook("2")}))
    assert outcomes(rows) == {"Anna": NEW, "anna": REFUSED}
    assert "capitals" in why(rows, "anna")
    assert taken(lab) == {"Anna": notebook("1")}


# ---------------------------------------------------------------------------------- nothing is lost


def test_collecting_again_changes_nothing_and_another_version_keeps_the_first(lab):
    source = {text: zip_of(lab, {f"a_1_2_{FILE}": notebook(text)}, f"{text}.zip") for text in "xyz"}
    happened = [collect(lab, source[text])[0].outcome for text in "xxyzx"]
    assert happened == [NEW, UNCHANGED, REPLACED, REPLACED, REPLACED]
    earlier = lab.course.grading / "earlier" / "a_1" / LAB
    assert {path.name: (path / FILE).read_bytes() for path in earlier.iterdir()} == {
        "1": notebook("x"),
        "2": notebook("y"),
        "3": notebook("z"),
    }
    assert os.listdir(lab.course.submitted / "a_1" / LAB) == [FILE]


def test_the_time_that_nbgrader_noted_is_kept_with_its_version(lab):
    folder = lab.course.submitted / "anna" / LAB
    stamped = {f"anna/{LAB}/{FILE}": notebook("1"), f"anna/{LAB}/timestamp.txt": b"2030-01-15 12:00:00 CET\n"}
    collect(lab, folder_of(lab, stamped))
    assert (folder / "timestamp.txt").read_text() == "2030-01-15 11:00:00.000000 UTC"
    collect(lab, folder_of(lab, {f"anna/{FILE}": notebook("2"), "anna/timestamp.txt": b"soon"}))
    assert os.listdir(folder) == [FILE]
    assert sorted(os.listdir(lab.course.grading / "earlier" / "anna" / LAB / "1")) == [FILE, "timestamp.txt"]


def test_a_notebook_put_there_by_hand_under_another_name_is_replaced_but_kept(lab):
    folder = lab.course.submitted / "anna" / LAB
    folder.mkdir(parents=True)
    (folder / "mine.ipynb").write_bytes(notebook("old"))
    assert outcomes(collect(lab, folder_of(lab, {"anna.ipynb": notebook("new")}))) == {"anna": REPLACED}
    assert os.listdir(folder) == [FILE]
    assert (lab.course.grading / "earlier" / "anna" / LAB / "1" / "mine.ipynb").read_bytes() == notebook(
        "old"
    )


def test_what_was_collected_stays_when_a_later_version_is_refused(lab):
    collect(lab, zip_of(lab, {f"a_1_2_{FILE}": notebook()}))
    rows = collect(lab, zip_of(lab, {"a_1_3_work.zip": b"PK"}))
    assert why(rows, "a_1").endswith("What was collected before stays.")
    assert taken(lab) == {"a_1": notebook()}
    assert os.listdir(lab.course.submitted / "a_1" / LAB) == [FILE]


def test_nothing_is_written_through_a_link_in_grading(lab, tmp_path):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    lab.course.submitted.mkdir(parents=True)
    (lab.course.submitted / "anna").symlink_to(elsewhere)
    (lab.course.submitted / "ben").mkdir()
    (lab.course.submitted / "ben" / LAB).symlink_to(elsewhere)
    rows = collect(lab, folder_of(lab, {f"{name}.ipynb": notebook() for name in ("anna", "ben", "cleo")}))
    assert outcomes(rows) == {"anna": REFUSED, "ben": REFUSED, "cleo": NEW}
    assert "is a link" in why(rows, "anna")
    assert list(elsewhere.iterdir()) == []


def test_a_link_in_place_of_the_notebook_is_put_away_not_followed(lab, tmp_path):
    (tmp_path / "secret").write_bytes(b"secret")
    folder = lab.course.submitted / "anna" / LAB
    folder.mkdir(parents=True)
    for name in (FILE, f".{FILE}.new"):
        (folder / name).symlink_to(tmp_path / "secret")
    collect(lab, folder_of(lab, {"anna.ipynb": notebook()}))
    assert (tmp_path / "secret").read_bytes() == b"secret"
    assert taken(lab) == {"anna": notebook()}


# ---------------------------------------------------------------------------------- hostile sources


def info(name: str, mode: int = 0o644 | stat.S_IFREG) -> zipfile.ZipInfo:
    made = zipfile.ZipInfo(name)
    made.create_system, made.external_attr = 3, mode << 16
    made.compress_type = zipfile.ZIP_DEFLATED
    return made


GOOD = {f"good_9_9_{FILE}": notebook("good")}


def files_below(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if not path.is_dir()}


@pytest.mark.parametrize(
    "name",
    [
        f"/tmp/evil_1_2_{FILE}",
        f"../../evil_1_2_{FILE}",
        f"a/../../evil_1_2_{FILE}",
        f"..\\..\\evil_1_2_{FILE}",
        f"C:\\evil_1_2_{FILE}",
        f"../Jane Doe_1_assignsubmission_file_/{FILE}",
        "x" * 1500 + f"_1_2_{FILE}",
        "../.hidden.ipynb",
    ],
)
def test_a_path_that_leads_out_is_refused_and_the_others_are_taken(lab, name):
    source = zip_of(lab, {name: notebook("evil"), **GOOD})
    before = files_below(lab.course.root.parent)
    rows = collect(lab, source)
    assert outcomes(rows) == {"good_9": NEW, "": REFUSED}
    assert "leads out" in why(rows)
    assert files_below(lab.course.root.parent) - before == {
        f"course/grading/submitted/good_9/{LAB}/{FILE}",
        f"course/grading/refused/{LAB}.json",  # says which file was refused, and why
    }


@pytest.mark.parametrize(
    ("member", "data", "words"),
    [
        (info(f"e_1_2_{FILE}", 0o777 | stat.S_IFLNK), b"/etc/passwd", "symbolic link"),
        (info(f"e_1_2_{FILE}", 0o666 | stat.S_IFCHR), b"", "not a file"),
        (info(f"e_1_2_{FILE}", 0o666 | stat.S_IFIFO), b"", "not a file"),
        (
            info(f"e_1_2_{FILE}"),
            b"<!DOCTYPE html><html>",
            "self_attention.ipynb is a web page, not a notebook",
        ),
        (info("e_1_2_work.zip"), b"PK\x03\x04", "work.zip cannot be opened. It is damaged"),
        (info("e_1_2_work.7z"), b"7z", "Archives other than zips are not opened"),
        (info("e_1_2_work.py"), b"x = 1", "no notebook among what was handed in"),
    ],
)
def test_what_cannot_be_taken_is_said_and_graded_as_unreadable(lab, member, data, words):
    rows = collect(lab, zip_of(lab, {member: data, **GOOD}))
    assert outcomes(rows) == {"e_1": REFUSED, "good_9": NEW}
    assert words in why(rows, "e_1")
    assert graded_as(lab, "e_1") == why(rows, "e_1")
    assert taken(lab) == {"good_9": notebook("good")}


def test_a_member_beyond_the_size_of_a_notebook_is_refused_whatever_it_declares(lab, monkeypatch):
    monkeypatch.setattr(sources, "MAX_BYTES", 1000)
    monkeypatch.setattr(sources, "MAX_UNPACKED", 200_000)  # so it is not unpacked to its end
    monkeypatch.setattr(sources, "MAX_GROWTH", 0)
    source = zip_of(lab, {f"e_1_2_{FILE}": os.urandom(1_000_000), **GOOD})
    rows = collect(lab, source)
    assert "larger than" in why(rows, "e_1") and outcomes(rows)["good_9"] == NEW
    big = os.urandom(5000)
    path = zip_of(lab, {f"e_1_2_{FILE}": big, **GOOD})
    size = struct.pack("<L", 5000)
    assert path.read_bytes().count(size) == 2
    path.write_bytes(path.read_bytes().replace(size, struct.pack("<L", 10)))  # says that it has 10 bytes
    rows = collect(lab, path)
    assert outcomes(rows)["good_9"] == UNCHANGED
    assert "damaged" in why(rows, "e_1")


def test_an_archive_unpacks_to_no_more_than_the_limit(lab, monkeypatch):
    monkeypatch.setattr(sources, "MAX_UNPACKED", 3000)
    monkeypatch.setattr(sources, "MAX_GROWTH", 0)
    files = {f"s_{n}_1_{FILE}": os.urandom(1000) for n in range(5)}
    rows = collect(lab, zip_of(lab, files))
    assert sorted(outcomes(rows).values()) == [NEW] * 3 + [REFUSED] * 2
    assert "Unpack it yourself and collect the folder" in rows[-1].why
    monkeypatch.setattr(sources, "MAX_GROWTH", 10)  # a large archive may unpack to more
    assert sorted(outcomes(collect(lab, zip_of(lab, files))).values()) == [NEW] * 2 + [UNCHANGED] * 3


def test_an_archive_of_more_than_four_gibibytes_is_taken(lab, tmp_path):
    path = tmp_path / "large.zip"
    with path.open("wb") as file:
        file.seek(5 * 2**30)  # a hole, which takes no space on the disk: where members lie now needs zip64
        with zipfile.ZipFile(file, "w") as archive:
            archive.writestr(f"good_9_1_{FILE}", notebook("good"))
            with archive.open(f"new_8_1_{FILE}", "w", force_zip64=True) as member:
                member.write(notebook("new"))
    assert path.stat().st_blocks * 512 < 2**20 < 2**32 < path.stat().st_size
    assert outcomes(collect(lab, path)) == {"good_9": NEW, "new_8": NEW}
    assert taken(lab) == {"good_9": notebook("good"), "new_8": notebook("new")}

    with path.open("r+b") as file:  # as a download that stops at four gibibytes
        file.truncate(2**32)
    with pytest.raises(GraderError, match="Download it again"):
        collect(lab, path)


def test_members_that_share_their_place_are_refused(lab):
    path = zip_of(lab, {f"e_1_2_{FILE}": notebook("1"), f"f_3_4_{FILE}": notebook("2"), **GOOD})
    data = bytearray(path.read_bytes())
    entries = [n for n in range(len(data)) if data[n : n + 4] == b"PK\x01\x02"]
    data[entries[1] + 42 : entries[1] + 46] = data[entries[0] + 42 : entries[0] + 46]  # where a member starts
    path.write_bytes(data)
    rows = collect(lab, path)
    assert outcomes(rows) == {"e_1": REFUSED, "f_3": REFUSED, "good_9": NEW}
    assert "shares its place" in why(rows, "e_1")


@pytest.mark.parametrize(
    ("offset", "patch", "words"), [(8, b"\x01\x00", "encrypted"), (10, b"\x0c\x00", "unusual method")]
)
def test_encrypted_and_oddly_packed_members_are_refused(lab, offset, patch, words):
    path = zip_of(lab, {f"e_1_2_{FILE}": notebook(), **GOOD})
    data = bytearray(path.read_bytes())
    entry = data.index(b"PK\x01\x02")
    data[entry + offset : entry + offset + 2] = patch
    path.write_bytes(data)
    rows = collect(lab, path)
    assert outcomes(rows) == {"e_1": REFUSED, "good_9": NEW}
    assert words in why(rows, "e_1")


@pytest.mark.parametrize("damage", ["content", "stream", "header"])
def test_damaged_members_are_refused(lab, damage):
    path = zip_of(lab, {f"e_1_2_{FILE}": os.urandom(3000), **GOOD})
    data = bytearray(path.read_bytes())
    if damage == "content":
        data[1000] ^= 0xFF
    elif damage == "stream":
        data[30 + len(f"e_1_2_{FILE}")] = 0xFF  # no such kind of block
    else:
        data[0:4] = b"????"
    path.write_bytes(data)
    rows = collect(lab, path)
    assert outcomes(rows) == {"e_1": REFUSED, "good_9": NEW}
    assert "damaged" in why(rows, "e_1")


def test_a_member_whose_start_lies_beyond_the_end_is_refused(lab):
    path = zip_of(lab, {f"e_1_2_{FILE}": notebook(), **GOOD})
    data = bytearray(path.read_bytes())
    entry = data.index(b"PK\x01\x02")
    data[entry + 42 : entry + 46] = struct.pack("<L", len(data) - 10)
    path.write_bytes(data)
    assert outcomes(collect(lab, path)) == {"e_1": REFUSED, "good_9": NEW}


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_a_name_that_is_there_twice_with_other_content_is_refused(lab):
    path = lab.course.root.parent / "double.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for text in ("1", "2"):
            archive.writestr(f"e_1_2_{FILE}", notebook(text))
    assert "Several notebooks" in why(collect(lab, path), "e_1")


def test_no_damage_to_an_archive_raises_anything_but_an_error_of_use(lab):
    """Bytes changed, cut out or put in twice, near the lists that describe the members more than elsewhere."""
    whole = zip_of(lab, {f"s_{n}_1_{FILE}": notebook(str(n)) for n in range(4)}).read_bytes()
    before = files_below(lab.course.root.parent)
    ended = set()
    for seed in range(300):
        chance = random.Random(seed)
        data = bytearray(whole)
        for _ in range(chance.randrange(1, 6)):
            place = chance.choice([chance.randrange(len(data)), data.rindex(b"PK") - chance.randrange(250)])
            place, length = max(place, 0), chance.randrange(1, 9)
            new = chance.choice(
                [
                    b"",
                    chance.randbytes(length),
                    b"\xff" * 4,
                    bytes(4),
                    bytes(data[place : place + length]) * 2,
                ]
            )
            data[place : place + (len(new) or length)] = new
            if b"PK" not in data:
                break
        path = lab.course.root.parent / "submissions.zip"
        path.write_bytes(data)
        try:
            ended |= {row.outcome for row in collect(lab, path)}
        except GraderError:
            ended.add("no archive")
        except Exception as error:
            raise AssertionError(f"seed {seed}: {type(error).__name__}: {error}") from error
    assert ended >= {NEW, UNCHANGED, REFUSED, "no archive"}
    grown = files_below(lab.course.root.parent) - before
    assert all(name.startswith("course/grading/") for name in grown)


def test_names_in_utf_8_that_are_not_marked_so_are_read(lab):
    path = zip_of(lab, {f"X{'x' * 3}_1_2_{FILE}": notebook()})
    path.write_bytes(path.read_bytes().replace(b"Xxxx_1", "Zoë_1".encode()))
    assert outcomes(collect(lab, path)) == {"Zoë_1": NEW}


def test_thousands_of_members_are_no_trouble(lab):
    files = {f"s_{n}_1_{FILE}": b"" for n in range(3000)}
    rows = collect(lab, zip_of(lab, files))
    assert len(rows) == 3000 and {row.outcome for row in rows} == {NEW}


def broken_zips() -> dict[str, bytes]:
    whole = io.BytesIO()
    with zipfile.ZipFile(whole, "w") as archive:
        archive.writestr("a.ipynb", notebook())
    data = whole.getvalue()
    return {
        "empty": b"",
        "no zip": b"hello",
        "notebook": notebook(),
        "gzip": b"\x1f\x8b\x08" + b"\x00" * 50,
        "cut off": data[:-30],
        "list too long": data[: data.index(b"PK\x05\x06") + 12] + b"\xff\xff\xff\x7f" + data[-6:],
        "name not in its encoding": data.replace(b"a.ipynb", b"\xff.ipynb").replace(
            b"PK\x01\x02\x14\x03\x14\x00\x00\x00", b"PK\x01\x02\x14\x03\x14\x00\x00\x08"
        ),
    }


def test_a_single_notebook_is_told_where_to_put_it(lab, tmp_path):
    file = tmp_path / "anna.ipynb"
    file.write_bytes(notebook())
    with pytest.raises(
        GraderError, match=r"a single notebook. Put it into a folder, under the name <student>.ipynb"
    ):
        collect(lab, file)


@pytest.mark.parametrize("kind", broken_zips())
def test_what_is_no_whole_zip_is_said_so(lab, kind):
    path = lab.course.root.parent / "x.zip"
    path.write_bytes(broken_zips()[kind])
    with pytest.raises(GraderError, match="cannot be read as a zip archive|no submission"):
        collect(lab, path)


def test_a_list_of_members_beyond_the_limit_is_not_read(lab, monkeypatch):
    monkeypatch.setattr(sources, "MAX_DIRECTORY", 10_000)
    with pytest.raises(GraderError, match="list of files is too long"):
        collect(lab, zip_of(lab, {f"s_{n}_1_{FILE}": b"" for n in range(200)}))


def test_links_pipes_and_locked_folders_in_a_folder_are_refused_one_by_one(lab, tmp_path):
    (tmp_path / "secret.ipynb").write_bytes(notebook("secret"))
    source = folder_of(lab, {f"good/{FILE}": notebook("good")})
    for name in ("linked", "piped"):
        (source / name).mkdir()
    (source / "linked" / FILE).symlink_to(tmp_path / "secret.ipynb")
    os.mkfifo(source / "piped" / FILE)
    (source / "all").symlink_to(tmp_path)
    (source / "loop.ipynb").symlink_to(source / "loop.ipynb")
    rows = collect(lab, source)
    assert outcomes(rows) == {"good": NEW, "linked": REFUSED, "piped": REFUSED, "loop": REFUSED}
    assert "symbolic link" in why(rows, "linked") and "no file" in why(rows, "piped")
    assert taken(lab) == {"good": notebook("good")}
    assert "symbolic link" in graded_as(lab, "linked")


def test_a_source_that_is_not_there_or_has_nothing_is_said_so(lab, tmp_path):
    with pytest.raises(GraderError, match="does not exist"):
        collect(lab, tmp_path / "nowhere")
    (tmp_path / "empty").mkdir()
    with pytest.raises(GraderError, match="no submission of 02_self_attention"):
        collect(lab, tmp_path / "empty")
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(GraderError, match="neither a folder nor a zip"):
        collect(lab, tmp_path / "pipe")


# ---------------------------------------------------------------------------------- exchange


@pytest.fixture
def inbound(course, tmp_path, monkeypatch) -> Path:
    return exchange_for(course, tmp_path, monkeypatch)


@pytest.fixture
def i_am_anna(monkeypatch):
    for place in (exchange, sources):
        monkeypatch.setattr(place, "user_name", {os.getuid(): "anna"}.__getitem__)


@pytest.mark.slow
@pytest.mark.usefixtures("i_am_anna")
def test_the_last_submission_in_the_exchange_is_taken(lab, inbound):
    submit(inbound, "anna", "2030-01-01 10:00:00 UTC", "first")
    submit(inbound, "anna", "2030-01-02 10:00:00 UTC", "last")
    rows = collect(lab)
    assert outcomes(rows) == {"anna": NEW}
    assert "not used: diary.txt" in rows[0].why
    folder = lab.course.submitted / "anna" / LAB
    assert sorted(os.listdir(folder)) == sorted([FILE, "not-taken.txt", "timestamp.txt"])
    assert (folder / "timestamp.txt").read_text() == "2030-01-02 10:00:00.000000 UTC"
    submit(inbound, "anna", "2030-01-03 10:00:00 UTC", "once more")
    assert outcomes(collect(lab)) == {"anna": REPLACED}
    assert taken(lab) == {"anna": notebook("once more")}


@pytest.mark.slow
@pytest.mark.usefixtures("i_am_anna")
def test_feedback_of_what_is_handed_in_twice_is_found_beside_the_last_and_the_first_time_counts(lab, inbound):
    folder = lab.course.submitted / "anna" / LAB
    submit(inbound, "anna", "2030-01-01 10:00:00 UTC", "the same", "a" * 128)
    assert outcomes(collect(lab)) == {"anna": NEW}
    submit(inbound, "anna", "2030-01-02 10:00:00 UTC", "the same", "b" * 128)
    assert outcomes(collect(lab)) == {"anna": UNCHANGED}
    assert (folder / SECRET).read_text() == "b" * 128
    assert (folder / "timestamp.txt").read_text() == "2030-01-01 10:00:00.000000 UTC"
    submit(inbound, "anna", "2030-01-03 10:00:00 UTC", "another", "c" * 2000)
    assert outcomes(collect(lab)) == {"anna": REPLACED}
    assert (folder / SECRET).read_text() == "c" * 1000  # not what somebody wants our disk to hold
    assert (lab.course.grading / "earlier" / "anna" / LAB / "1" / SECRET).read_text() == "b" * 128
    collect(lab, folder_of(lab, {f"anna/{FILE}": notebook("by mail")}))
    assert sorted(os.listdir(folder)) == [FILE]


@pytest.mark.slow
def test_one_hostile_submission_in_the_exchange_stops_no_other(lab, inbound, tmp_path):
    submit(inbound, "anna", "2030-01-01 10:00:00 UTC", "good")
    (tmp_path / "secret").mkdir()
    (tmp_path / "secret" / FILE).write_bytes(notebook("secret"))
    os.mkfifo(submit(inbound, "pipe", "2030-01-01 10:00:00 UTC", "x") / "pipe.ipynb")
    (submit(inbound, "link", "2030-01-01 10:00:00 UTC", "x") / FILE).unlink()
    (inbound / f"link+{LAB}+2030-01-01 10:00:00 UTC+abc" / FILE).symlink_to(tmp_path / "secret" / FILE)
    (inbound / f"all+{LAB}+2030-01-01 10:00:00 UTC+abc").symlink_to(tmp_path / "secret")
    (inbound / f"file+{LAB}+2030-01-01 10:00:00 UTC+abc").write_text("x")
    (inbound / f"when+{LAB}+nonsense").mkdir()
    rows = collect(lab, shared_account=True)
    assert outcomes(rows) == {
        "all": REFUSED,
        "anna": NEW,
        "file": REFUSED,
        "link": REFUSED,
        "pipe": NEW,
        "when": REFUSED,
    }
    assert notebook("secret") not in taken(lab).values()


@pytest.mark.usefixtures("i_am_anna")
def test_two_courses_share_an_exchange_and_each_has_its_own_part_of_it(lab, inbound, tmp_path):
    theirs = inbound.parents[1] / "nlp-2027" / "inbound"
    theirs.mkdir(parents=True)
    submit(inbound, "anna", "2030-01-02 10:00:00 UTC", "ours")
    submit(theirs, "anna", "2030-01-01 10:00:00 UTC", "theirs")
    collect(lab)
    assert taken(lab) == {"anna": notebook("ours")}

    with (lab.course.root / "nbgrader_config.py").open("a") as file:
        file.write("\nget_config().CourseDirectory.course_id = 'nlp-2027'\n")
    collect(lab)
    assert taken(lab) == {"anna": notebook("theirs")}
    for folder in (inbound, theirs):
        folder.chmod(0o777)
    found, _ = openings(lab.course)
    assert {each.path for each in found if each.path.name == "inbound"} == {theirs}
    with gradebook_file.opened(lab.course) as book:
        assert book.nbgrader_s.course_id == "nlp-2027"


@pytest.mark.slow
def test_without_an_exchange_it_is_said_what_to_do(lab, tmp_path, monkeypatch):
    monkeypatch.setenv("JUPYTER_CONFIG_DIR", str(tmp_path / "config"))
    with_gradebook(lab.course)
    with (lab.course.root / "nbgrader_config.py").open("a") as file:
        file.write(f"\nget_config().Exchange.root = {str(tmp_path / 'nowhere')!r}\n")
    with pytest.raises(GraderError, match=r"exchange cannot be used.*c\.Exchange\.root.*grader collect"):
        collect(lab)


@pytest.mark.slow
@pytest.mark.usefixtures("i_am_anna")
def test_another_lab_s_notebooks_in_the_exchange_are_refused_one_by_one(lab, inbound, released):
    for student in ("anna", "ben"):
        folder = submit(inbound, student, "2030-01-01 10:00:00 UTC", "x")
        (folder / FILE).write_bytes(released[OTHER])
    rows = collect(lab, shared_account=True)
    assert outcomes(rows) == {"anna": REFUSED, "ben": REFUSED}
    assert f"is the notebook of {OTHER}" in graded_as(lab, "ben")


# ---------------------------------------------------------------------------------- the command


def test_the_command_lists_what_happened_to_whom(lab, monkeypatch):
    monkeypatch.chdir(lab.course.root)
    monkeypatch.setattr("grader.commands.terminal.console.width", 200)
    source = zip_of(lab, {info(f"[bold]x_1_2_{FILE}", stat.S_IFLNK): b"/etc", **GOOD})
    result = CliRunner().invoke(app, ["collect", LAB, str(source)])
    assert result.exit_code == 0, result.output
    assert "good_9" in result.output and NEW in result.output
    assert "_bold_x_1" in result.output and REFUSED in result.output and "symbolic link" in result.output
    assert f"{NEW}: 1, {REFUSED}: 1; with a note: 1" in result.output
    result = CliRunner().invoke(app, ["collect", LAB, "nowhere.zip"])
    assert result.exit_code == 1 and "does not exist" in result.output
