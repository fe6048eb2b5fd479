"""Whose work it is: no name that a learner chooses makes it another's, and nobody becomes somebody else in the next lab."""

from __future__ import annotations

import itertools
import os
import shutil
from datetime import datetime
from pathlib import Path

import pytest
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
from typer.testing import CliRunner

from grader import files
from grader.book.gradebook import Gradebook
from grader.cli import app
from grader.errors import GraderError
from grader.files import SECRET
from grader.people.students import moodle_numbers
from grader.receive import collect as module
from grader.receive import exchange, sources
from grader.receive.collect import NEW, REFUSED, REPLACED, UNCHANGED, collect
from grader.receive.read import read_submission
from grader.reference.lab import Lab

HERS, THEIRS = notebook("hers"), notebook("theirs")
only_root = pytest.mark.skipif(os.getuid() != 0, reason="gives files to other users")


@pytest.fixture
def lab(tmp_path) -> Lab:
    return Lab.load(course_with_two_labs(tmp_path / "course"), LAB)


@pytest.fixture
def inbound(lab, tmp_path, monkeypatch) -> Path:
    return exchange_for(lab.course, tmp_path, monkeypatch)


# ---------------------------------------------------------------------------------- names that learners choose


@pytest.mark.parametrize("source_of", [folder_of, zip_of])
@pytest.mark.parametrize(
    "inside",
    [
        f"mallory_anna_assignsubmission_file/{FILE}",
        f"anna_assignsubmission_file/{FILE}",
        f"anna_7_assignsubmission_file_{FILE}",
        f"anna_7_8_{FILE}",
        f"anna/{LAB}/{FILE}",
    ],
)
def test_a_name_inside_a_student_s_folder_says_nothing_about_whose_it_is(lab, source_of, inside):
    rows = collect(lab, source_of(lab, {f"anna/{FILE}": HERS, f"mallory/{inside}": THEIRS}))
    assert outcomes(rows) == {"anna": NEW, "mallory": NEW}
    assert taken(lab) == {"anna": HERS, "mallory": THEIRS}


MALLORY = "mallory_42_90001_"


@pytest.mark.parametrize(
    ("name", "whose"),
    [
        (f"{MALLORY}anna_777_assignsubmission_file_{FILE}", "mallory_42"),
        (f"{MALLORY}anna_assignsubmission_file_{FILE}", "mallory_42"),
        (f"{MALLORY}777_text.html.ipynb", "mallory_42"),
        (f"{MALLORY}Anna_777_90002_{FILE}", "mallory_42"),  # names are in small letters
        (f"{MALLORY}my anna_777_90002_{FILE}", "mallory_42"),  # and without blanks
        (f"{MALLORY}anna_777_90002_{FILE}", None),
        (f"anna_777_90002_42_90001_{FILE}", None),  # by one who is called anna_-777_-90002
        (f"anna_777_90002_x_LATE_42_90001_{FILE}", None),
        (f"anna_777_text_42_90001_{FILE}", "anna_777_text_42"),
    ],
)
def test_neither_a_file_s_nor_a_user_s_name_takes_over_another_s_number_of_canvas(lab, name, whose):
    rows = collect(lab, zip_of(lab, {f"anna_777_90000_{FILE}": HERS, name: THEIRS}))
    assert outcomes(rows) == {"anna_777": NEW, whose or "": NEW if whose else REFUSED}
    assert taken(lab) == {"anna_777": HERS} | ({whose: THEIRS} if whose else {})
    if not whose:
        assert "user 42" in why(rows) and "user 777" in why(rows)


def test_who_is_named_so_that_a_typed_answer_looks_like_another_s_stays_nobody(lab):
    rows = collect(
        lab, zip_of(lab, {"anna_777_90002_x_42_text.html": b"", "anna_777_90000_photo.png": b"png"})
    )
    assert outcomes(rows) == {"": REFUSED, "anna_777": REFUSED}
    assert "photo.png" in why(rows, "anna_777") and "text.html" not in why(rows, "anna_777")


@pytest.mark.parametrize(
    "file", ["2_attention.ipynb", "final_1_2_x.ipynb", "02_03_x.ipynb", f"mallory_42_81234_{FILE}"]
)
def test_numbers_in_a_file_s_name_that_are_none_of_canvas_s_do_no_harm(lab, file):
    rows = collect(lab, zip_of(lab, {f"anna_777_90000_{FILE}": HERS, f"{MALLORY}{file}": THEIRS}))
    assert outcomes(rows) == {"anna_777": NEW, "mallory_42": NEW}


def test_two_names_with_one_number_are_both_refused_and_both_named(lab):
    files = {
        f"anna_777_90000_{FILE}": HERS,
        f"mallory_777_90001_{FILE}": THEIRS,
        f"ben_8_90002_{FILE}": HERS,
    }
    rows = collect(lab, zip_of(lab, files))
    assert outcomes(rows) == {"anna_777": REFUSED, "mallory_777": REFUSED, "ben_8": NEW}
    for student in ("anna_777", "mallory_777"):
        assert "number 777" in why(rows, student)
        assert "anna_777" in why(rows, student) and "mallory_777" in why(rows, student)
    assert os.listdir(lab.course.submitted) == ["ben_8"]  # or a grade would wait for one who may not exist


@pytest.mark.parametrize("other", ["Anna_self_attention.ipynb", f"{LAB}/Anna/x.ipynb", f"{LAB}/Anna.ipynb"])
def test_two_places_that_claim_one_student_are_both_named_and_what_was_there_stays(lab, other):
    collect(lab, folder_of(lab, {f"Anna/{FILE}": HERS}))
    rows = collect(lab, folder_of(lab, {f"Anna/{FILE}": notebook("new"), other: THEIRS}))
    assert outcomes(rows) == {"Anna": REFUSED}
    assert "'Anna'" in why(rows, "Anna") and other.partition(".")[0][:20] in why(rows, "Anna").replace(
        "Anna*", "Anna_self_attention" if other.startswith("Anna") else "Anna"
    )
    assert taken(lab) == {"Anna": HERS}


def test_names_of_an_lms_among_others_are_refused_one_by_one(lab):
    files = {
        f"anna_777_90000_{FILE}": HERS,
        f"Ben C_5_assignsubmission_file/{FILE}": HERS,
        f"dora/{FILE}": THEIRS,
    }
    rows = collect(lab, folder_of(lab, files))
    assert taken(lab) == {"dora": THEIRS}
    refused = {row.file.partition("/")[0]: row.why for row in rows if row.outcome == REFUSED}
    assert "as Canvas names" in refused[f"anna_777_90000_{FILE}"]
    assert "as Moodle names" in refused["Ben C_5_assignsubmission_file"]


def test_a_name_that_both_lms_may_have_given_is_not_guessed_at(lab):
    with pytest.raises(GraderError, match="either Canvas or Moodle may have given"):
        collect(lab, zip_of(lab, {f"mallory_42_90001_x_5_assignsubmission_file_{FILE}": THEIRS}))


# ---------------------------------------------------------------------------------- Moodle's numbers


def from_moodle(lab: Lab, *people: str) -> Path:
    return zip_of(lab, {f"{who}_assignsubmission_file/{lab.notebook_name}": notebook(who) for who in people})


@pytest.fixture
def next_lab(lab) -> Lab:
    return Lab.load(lab.course, OTHER)


def numbers(lab: Lab) -> dict[str, str]:
    return {who: number for who, number in moodle_numbers(lab, taken(lab)).items() if number}


def test_a_person_is_the_same_in_the_next_lab_with_another_number(lab, next_lab):
    collect(lab, from_moodle(lab, "Anna B_1", "Ben C_2"))
    rows = collect(next_lab, from_moodle(next_lab, "Anna B_2", "Ben C_1"))
    assert outcomes(rows) == {"Anna B": NEW, "Ben C": NEW} and not any(row.why for row in rows)
    assert numbers(lab) == {"Anna B": "1", "Ben C": "2"}
    assert numbers(next_lab) == {"Anna B": "2", "Ben C": "1"}
    assert taken(next_lab) == {"Anna B": notebook("Anna B_2"), "Ben C": notebook("Ben C_1")}


def test_two_people_of_one_name_are_told_apart_and_never_guessed_in_the_next_lab(lab, next_lab):
    rows = collect(lab, from_moodle(lab, "Jane Doe_1", "jane doe_2", "Ben C_3"))
    assert outcomes(rows) == {"Jane Doe_1": NEW, "jane doe_2": NEW, "Ben C": NEW}
    assert ["Several people are called" in row.why for row in rows] == [False, True, True]
    assert outcomes(collect(lab, from_moodle(lab, "Jane Doe_1"))) == {"Jane Doe_1": UNCHANGED}
    rows = collect(next_lab, from_moodle(next_lab, "Jane Doe_7"))
    assert outcomes(rows) == {"Jane Doe_7": NEW} and "who it was in other labs is not known" in rows[0].why
    assert numbers(next_lab) == {"Jane Doe_7": "7"}


def test_one_who_comes_later_does_not_become_the_one_of_that_name_who_was_there(lab):
    collect(lab, from_moodle(lab, "Jane Doe_1"))
    assert outcomes(collect(lab, from_moodle(lab, "Jane Doe_2"))) == {"Jane Doe_2": NEW}
    both = from_moodle(lab, "Jane Doe_1", "Jane Doe_2")
    assert outcomes(collect(lab, both)) == {"Jane Doe": UNCHANGED, "Jane Doe_2": UNCHANGED}
    assert numbers(lab) == {"Jane Doe": "1", "Jane Doe_2": "2"}


def test_with_blind_marking_everybody_keeps_a_number(lab, next_lab):
    assert outcomes(collect(lab, from_moodle(lab, "Participant_1"))) == {"Participant_1": NEW}
    assert outcomes(collect(next_lab, from_moodle(next_lab, "Participant_2"))) == {"Participant_2": NEW}


def test_another_assignment_s_zip_is_noticed(lab):
    collect(lab, from_moodle(lab, "Anna B_1"))
    rows = collect(lab, from_moodle(lab, "Ben C_1"))
    assert "'Ben C'" in why(rows) and "'Anna B'" in why(rows) and "another assignment" in why(rows)
    assert taken(lab) == {"Anna B": notebook("Anna B_1")}


def test_ids_that_end_in_a_number_of_moodle_s_from_before_go_on(lab, next_lab):
    before = lab.course.submitted / "Anna B_1" / LAB
    before.mkdir(parents=True)
    (before / FILE).write_bytes(notebook("before"))
    assert moodle_numbers(lab, ["Anna B_1", "Ben C_2", "dora"]) == {
        "Anna B_1": "1",
        "Ben C_2": "2",
        "dora": "",
    }
    assert outcomes(collect(lab, from_moodle(lab, "Anna B_1"))) == {"Anna B_1": REPLACED}
    assert outcomes(collect(next_lab, from_moodle(next_lab, "Anna B_5"))) == {"Anna B_1": NEW}
    assert numbers(lab) == {"Anna B_1": "1"} and numbers(next_lab) == {"Anna B_1": "5"}
    # beside numbers that are stored, one in an id may be of another lab
    assert moodle_numbers(next_lab, ["Anna B_1", "Ben C_2"]) == {"Anna B_1": "5", "Ben C_2": ""}


def test_moodle_s_number_stays_when_a_later_version_comes_by_mail_or_is_refused(lab):
    collect(lab, from_moodle(lab, "Anna B_1"))
    collect(lab, folder_of(lab, {"Anna B.ipynb": notebook("by mail")}))
    collect(lab, zip_of(lab, {"Anna B_1_assignsubmission_file/x.zip": b"PK"}))
    assert numbers(lab) == {"Anna B": "1"} and taken(lab) == {"Anna B": notebook("by mail")}
    collect(lab, zip_of(lab, {"Ben C_2_assignsubmission_file/x.zip": b"PK"}))
    assert moodle_numbers(lab, ["Ben C"]) == {"Ben C": "2"}


# ---------------------------------------------------------------------------------- swaps between look and open


def swapped_for_a_link(place: Path, target: Path) -> None:
    place.rename(place.with_name("was"))
    place.symlink_to(target)


@pytest.mark.parametrize("what", [FILE, ".", ".."])
def test_what_is_swapped_for_a_link_after_the_look_is_not_followed(lab, monkeypatch, what):
    """``what``: the file, its folder, or the folder above that, is replaced by a link to the same of another's."""
    source = folder_of(lab, {f"mallory/deep/{FILE}": notebook("mine"), f"good/{FILE}": HERS})
    elsewhere = source.parent / "elsewhere"
    (elsewhere / "deep").mkdir(parents=True)
    (elsewhere / "deep" / FILE).write_bytes(notebook("secret"))
    place = Path(os.path.normpath(source / "mallory" / "deep" / what))
    look = module._files

    def then_swap(*args):
        swapped_for_a_link(place, elsewhere / place.relative_to(source / "mallory"))
        return look(*args)

    monkeypatch.setattr(module, "_files", then_swap)
    rows = collect(lab, source)
    assert outcomes(rows) == {"good": NEW, "mallory": REFUSED} and "symbolic link" in why(rows, "mallory")
    assert taken(lab) == {"good": HERS}


def test_a_file_that_is_swapped_for_another_after_the_look_is_refused(lab, monkeypatch):
    source = folder_of(lab, {f"mallory/{FILE}": notebook("mine"), "secret": notebook("secret")})
    look = module._files

    def then_swap(*args):
        (source / "secret").rename(source / "mallory" / FILE)
        return look(*args)

    monkeypatch.setattr(module, "_files", then_swap)
    rows = collect(lab, source)
    assert "replaced while it was being collected" in why(rows, "mallory")
    assert taken(lab) == {}


@pytest.mark.parametrize("level", ["anna", f"anna/{LAB}"])
def test_a_folder_of_a_submission_that_becomes_a_link_while_it_is_opened_is_not_followed(
    tmp_path, monkeypatch, level
):
    submission = tmp_path / "submitted" / "anna" / LAB / FILE
    secret = tmp_path / "elsewhere" / "anna" / LAB / FILE
    for place, text in ((submission, "mine"), (secret, "secret")):
        place.parent.mkdir(parents=True)
        place.write_bytes(notebook(text))
    real, swaps = os.open, itertools.count()

    def open_after_a_swap(path, *args, **more):
        # just before anything is opened: whatever was looked at, it was before
        if not next(swaps):
            swapped_for_a_link(tmp_path / "submitted" / level, tmp_path / "elsewhere" / level)
        return real(path, *args, **more)

    monkeypatch.setattr(files.os, "open", open_after_a_swap)
    found = read_submission(submission)
    assert "symbolic link" in found.problem and not found.cells


# ---------------------------------------------------------------------------------- the exchange


def name_of(number: int) -> str:
    return {1: "anna", 2: "mallory", 3: "ben"}.get(number, f"user number {number}")


@pytest.fixture
def users(monkeypatch):
    for place in (exchange, sources):
        monkeypatch.setattr(place, "user_name", name_of)


def given(folder: Path, number: int) -> Path:
    for place in (folder, *folder.iterdir()):
        os.chown(place, number, -1, follow_symlinks=False)
    return folder


@only_root
@pytest.mark.usefixtures("users")
def test_a_forged_submission_in_the_exchange_is_refused_and_the_real_one_kept(lab, inbound):
    given(submit(inbound, "anna", "2030-01-01 10:00:00 UTC", "hers", "a" * 128), 1)
    forged = given(submit(inbound, "anna", "2030-01-02 10:00:00 UTC", "theirs", "b" * 128), 2)
    nameless = given(submit(inbound, "ben", "2030-01-02 10:00:00 UTC", "theirs"), 54321)
    rows = collect(lab)
    assert outcomes(row for row in rows if row.student) == {"anna": NEW}
    assert taken(lab) == {"anna": HERS}
    assert (lab.course.submitted / "anna" / LAB / SECRET).read_text() == "a" * 128
    refused = {row.file: row.why for row in rows if row.outcome == REFUSED}
    assert set(refused) == {forged.name, nameless.name}
    assert "anna's" in refused[forged.name] and "belongs to mallory" in refused[forged.name]
    assert "user number 54321" in refused[nameless.name] and "--shared-account" in refused[nameless.name]
    rows = collect(lab, shared_account=True)
    assert outcomes(rows) == {"anna": REPLACED, "ben": NEW}


@only_root
@pytest.mark.usefixtures("users")
def test_a_forged_submission_before_the_due_date_does_not_displace_a_late_one(lab, inbound):
    with (lab.course.root / "nbgrader_config.py").open("a") as file:
        file.write("\nget_config().ExchangeCollect.before_duedate = True\n")
    with Gradebook.open(lab.course) as gradebook:
        gradebook.set_deadline(lab, datetime(2030, 1, 1))
    given(submit(inbound, "anna", "2030-01-03 10:00:00 UTC", "hers"), 1)
    given(submit(inbound, "anna", "2029-01-01 10:00:00 UTC", "theirs"), 2)
    collect(lab)
    assert taken(lab) == {"anna": HERS}


@only_root
@pytest.mark.usefixtures("users")
def test_a_file_in_a_submission_that_belongs_to_another_is_not_taken(lab, inbound):
    """nbgrader leaves the folders of submissions open to everybody who knows their names."""
    folder = given(submit(inbound, "anna", "2030-01-01 10:00:00 UTC", "hers", "a" * 128), 1)
    for name, data in ((FILE, THEIRS), (SECRET, b"b" * 128)):
        (folder / name).unlink()
        (folder / name).write_bytes(data)
        os.chown(folder / name, 2, -1)
    rows = collect(lab)
    assert "belongs to mallory, and its folder to anna" in why(rows, "anna")
    assert taken(lab) == {} and not (lab.course.submitted / "anna" / LAB / SECRET).exists()


@only_root
@pytest.mark.usefixtures("users")
def test_a_submission_that_is_swapped_for_another_s_after_the_choice_is_refused(lab, inbound, monkeypatch):
    folder = given(submit(inbound, "anna", "2030-01-01 10:00:00 UTC", "hers"), 1)
    choose = exchange._Inbound.copy_files

    def then_swap(self):
        shutil.rmtree(folder)
        given(submit(inbound, "anna", "2030-01-01 10:00:00 UTC", "theirs"), 2)
        return choose(self)

    monkeypatch.setattr(exchange._Inbound, "copy_files", then_swap)
    assert "replaced" in why(collect(lab), "anna") and taken(lab) == {}


def test_an_owner_without_a_name_is_said_by_number():
    assert sources.user_name(3_999_999_999) == "user number 3999999999"


def test_the_option_for_shared_accounts_is_about_the_exchange(lab, monkeypatch):
    monkeypatch.chdir(lab.course.root)
    told = CliRunner().invoke(app, ["collect", LAB, "x.zip", "--shared-account"])
    assert told.exit_code == 1 and "exchange" in told.output
