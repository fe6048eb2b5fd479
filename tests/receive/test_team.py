"""What one of a team hands in is collected for all: the last one counts, whoever handed it in and in whatever order it is collected."""

from __future__ import annotations

import shutil
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from classroom import with_gradebook
from collecting import FILE, LAB, course_with_two_labs, folder_of, notebook, taken, zip_of
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from grader.book.gradebook import Gradebook
from grader.files import SECRET, TIMESTAMP
from grader.people.roster import Person
from grader.people.shared import together_in
from grader.receive.collect import NEW, REFUSED, REPLACED, UNCHANGED, collect
from grader.reference.lab import Lab

TEAMS = {"anna": "red", "ben": "red", "carl": "red", "dora": "blue", "emil": "blue"}
PEOPLE = [*TEAMS, "fay"]
START = datetime(2027, 1, 4, 12)


@pytest.fixture
def lab(tmp_path) -> Lab:
    lab = Lab.load(with_gradebook(course_with_two_labs(tmp_path / "course")), LAB)
    with Gradebook.open(lab.course) as gradebook:
        gradebook.enter_people(Person(each, each.title(), "Ey") for each in PEOPLE)
        gradebook.enter_teams(TEAMS)
    return lab


def at(hours: int) -> bytes:
    return f"{START + timedelta(hours=hours):%Y-%m-%d %H:%M:%S} UTC".encode()


def collected(lab: Lab, works: dict[str, tuple[str, int | None]]) -> dict[str, tuple[str, str]]:
    """Student -> outcome and notes, of a folder with a text and an hour of each."""
    files = {}
    for student, (text, hour) in works.items():
        files[f"{student}/{FILE}"] = notebook(text)
        if hour is not None:
            files[f"{student}/{TIMESTAMP}"] = at(hour)
    return {row.student: (row.outcome, row.why) for row in collect(lab, folder_of(lab, files))}


def texts(lab: Lab) -> dict[str, str]:
    known = {
        notebook(text): text for text in ("one", "two", "three", *(f"text {number}" for number in range(40)))
    }
    return {student: known[data] for student, data in taken(lab).items()}


def state(lab: Lab) -> dict[str, bytes]:
    """Every file that collecting has left, with what is kept of earlier work."""
    files = [
        path for path in lab.course.grading.rglob("*") if path.is_file() and path.parent != lab.course.grading
    ]
    return {
        str(path.relative_to(lab.course.grading)): path.read_bytes()
        for path in files
        if "backups" not in path.parts
    }


def folder(lab: Lab, student: str) -> Path:
    return lab.course.submitted / student / LAB


def test_what_one_hands_in_is_collected_for_all_of_the_team_and_for_nobody_else(lab):
    rows = collected(lab, {"anna": ("one", 1), "fay": ("two", 2)})
    assert texts(lab) == {"anna": "one", "ben": "one", "carl": "one", "fay": "two"}
    assert {student: outcome for student, (outcome, _) in rows.items()} == dict.fromkeys(
        ("anna", "ben", "carl", "fay"), NEW
    )
    assert rows["ben"][1] == "What anna handed in counts for team red." and rows["fay"][1] == ""
    assert (folder(lab, "carl") / TIMESTAMP).read_bytes().startswith(b"2027-01-04 13:00")
    assert together_in(folder(lab, "ben")) == together_in(folder(lab, "anna"))
    assert together_in(folder(lab, "fay")) is None


def test_the_last_one_counts_and_the_others_are_named(lab):
    rows = collected(lab, {"anna": ("one", 3), "ben": ("two", 1)})
    assert texts(lab) == dict.fromkeys(("anna", "ben", "carl"), "one")
    assert rows["ben"][1] == "It is not the last. What anna handed in counts for team red."
    rows = collected(lab, {"anna": ("one", 3), "ben": ("three", 5)})
    assert texts(lab) == dict.fromkeys(("anna", "ben", "carl"), "three")
    assert {outcome for outcome, _ in rows.values()} == {REPLACED}
    assert len([*(lab.course.grading / "earlier").rglob(FILE)]) == 3


def test_where_nothing_says_which_is_the_last_none_is_taken_and_what_was_there_stays(lab):
    collected(lab, {"carl": ("three", None)})
    rows = collected(lab, {"anna": ("one", None), "ben": ("two", None), "fay": ("two", None)})
    assert texts(lab) == {**dict.fromkeys(("anna", "ben", "carl"), "three"), "fay": "two"}
    for student in ("anna", "ben"):
        outcome, why = rows[student]
        assert (
            outcome == REFUSED and "anna's anna/self_attention.ipynb, ben's ben/self_attention.ipynb" in why
        )
        assert why.endswith("What was collected before stays.")


def test_the_same_work_handed_in_by_several_counts_as_of_the_first_in_whatever_order(lab):
    for works in (
        {"ben": ("one", 4)},
        {"anna": ("one", 2)},
        {"ben": ("one", 4)},
        {"ben": ("one", 4), "anna": ("one", 2)},
    ):
        collected(lab, works)
    for student in ("anna", "ben", "carl"):
        assert (folder(lab, student) / TIMESTAMP).read_bytes().startswith(b"2027-01-04 14:00")
        assert together_in(folder(lab, student)).by == "anna"
    collected(lab, {"anna": ("two", None), "ben": ("two", None)})  # without times, too
    assert texts(lab) == dict.fromkeys(("anna", "ben", "carl"), "two")


def test_what_cannot_be_taken_of_one_is_named_and_another_s_counts(lab):
    files = {f"anna/{FILE}": b"%PDF-1.4", f"ben/{FILE}": notebook("one")}
    rows = {row.student: (row.outcome, row.why) for row in collect(lab, zip_of(lab, files))}
    assert texts(lab) == dict.fromkeys(("anna", "ben", "carl"), "one")
    assert "is a PDF, not a notebook" in rows["anna"][1] and "What ben handed in counts" in rows["anna"][1]


def test_if_nothing_of_a_team_can_be_taken_grading_tells_all_of_it(lab):
    rows = {row.student: row for row in collect(lab, zip_of(lab, {f"anna/{FILE}": b"%PDF-1.4"}))}
    assert rows["ben"].outcome == REFUSED and rows["ben"].why.startswith("Handed in by anna for team red: ")
    for student in ("anna", "ben", "carl"):
        assert "is a PDF" in (folder(lab, student) / "not-collected.txt").read_text()
    collected(lab, {"ben": ("one", None)})
    assert texts(lab) == dict.fromkeys(("anna", "ben", "carl"), "one")


def test_python_files_go_with_the_work_to_everybody_and_the_secret_to_whoever_handed_it_in(lab):
    source = folder_of(
        lab, {f"anna/{FILE}": notebook("import tools_of_mine"), "anna/tools_of_mine.py": b"x = 1"}
    )
    collect(lab, source)
    assert (folder(lab, "ben") / "tools_of_mine.py").read_bytes() == b"x = 1"
    (folder(lab, "anna") / SECRET).write_text("only anna's")
    collect(lab, source)
    assert not (folder(lab, "ben") / SECRET).exists() and (folder(lab, "anna") / SECRET).exists()


def test_who_leaves_keeps_what_was_collected_and_hands_in_alone_from_then_on(lab):
    collected(lab, {"anna": ("one", 1)})
    with Gradebook.open(lab.course) as gradebook:
        gradebook.enter_teams({"ben": ""}, [LAB])
    collected(lab, {"anna": ("two", 2)})
    assert texts(lab) == {"anna": "two", "ben": "one", "carl": "two"}
    collected(lab, {"ben": ("three", 0)})
    assert texts(lab) == {"anna": "two", "ben": "three", "carl": "two"}
    assert together_in(folder(lab, "ben")) is None


def test_who_moves_to_another_team_does_not_take_the_work_of_the_first_along(lab):
    collected(lab, {"ben": ("one", 9)})
    with Gradebook.open(lab.course) as gradebook:
        gradebook.enter_teams({"ben": "blue"}, [LAB])
    collected(lab, {"dora": ("two", 1)})
    assert texts(lab) == {"anna": "one", "carl": "one", **dict.fromkeys(("ben", "dora", "emil"), "two")}
    collected(lab, {"anna": ("three", 2)})
    assert texts(lab)["carl"] == "one"  # what ben handed in for them was later


def test_who_joins_gets_what_the_team_has_when_work_is_collected_again(lab):
    collected(lab, {"anna": ("one", 1)})
    with Gradebook.open(lab.course) as gradebook:
        gradebook.enter_teams({"fay": "red"}, [LAB])
    assert "fay" not in texts(lab)
    collected(lab, {"anna": ("one", 1)})
    assert texts(lab)["fay"] == "one"


def test_whoever_is_off_the_roster_gets_no_copy(lab):
    with Gradebook.open(lab.course) as gradebook:
        gradebook.remove_people(["ben"])
    collected(lab, {"anna": ("one", 1)})
    assert texts(lab) == dict.fromkeys(("anna", "carl"), "one")


@st.composite
def terms(draw) -> list[dict[str, tuple[str, int]]]:
    """Sources in the order in which they are collected, each with some people's work; no two are handed in at the same time."""
    hours = draw(st.permutations(range(20)))
    sources, used = [], 0
    for _ in range(draw(st.integers(1, 4))):
        who = draw(st.lists(st.sampled_from(PEOPLE), min_size=1, max_size=4, unique=True))
        sources.append(
            {
                student: (f"text {hours[used + place]}", hours[used + place])
                for place, student in enumerate(who)
            }
        )
        used += len(who)
    return sources


@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(terms(), st.randoms(use_true_random=False))
def test_each_member_has_the_team_s_last_and_nobody_else_s_in_whatever_order_and_however_often(
    lab, sources, random
):
    for place in ("submitted", "earlier"):
        shutil.rmtree(lab.course.grading / place, ignore_errors=True)
    last: dict[str, str] = {}
    handed_in: dict[str, list[tuple[int, str]]] = {}
    for source in sources:
        collected(lab, source)
        for student, (text, hour) in source.items():
            handed_in.setdefault(TEAMS.get(student, student), []).append((hour, text))
            if student not in TEAMS:
                last[student] = text
    for student, team in TEAMS.items():
        if team in handed_in:
            last[student] = max(handed_in[team])[1]
    assert texts(lab) == last
    before = state(lab)
    again = random.choice(sources)
    if not any(
        student not in TEAMS for student in again
    ):  # one person's older work replaces the later, as ever
        rows = collected(lab, again)
        assert state(lab) == before and {outcome for outcome, _ in rows.values()} == {UNCHANGED}
