"""The table for research: its dictionary says what is in it, and nobody who is in the gradebook can be found in it by name, text, place or time."""

from __future__ import annotations

import csv
import re
from dataclasses import replace
from datetime import datetime, timedelta

import pytest
from classroom import START, KernelFree, hand_in_class, new_course, with_gradebook
from sqlalchemy import update

from grader.book.gradebook import Gradebook
from grader.book.statuses import Kind, Status
from grader.book.tables import COMMENT, GRADE, MARKERS, SUBMISSION
from grader.course import Course
from grader.grade import autograde as grading
from grader.handout.demo import hand_in, solved
from grader.people.roster import Person
from grader.reference.lab import Lab
from grader.run import states
from grader.show.research import COLUMNS, write_research
from grader.show.standing import Standing

WHEN = datetime(2031, 5, 17, 13, 47, 29)
SECRETS = ("zzname", "zzsurname", "zzmail", "zzcanvas", "zzsection", "zzreason", "zzcomment", "zznote", "zzpath", "13:47", "2031", "47:29")  # fmt: skip
PEOPLE = ("s00", "s01", "s02", "s03", "zzexcused", "zznothing", "zzcrashed", "zzunread")


@pytest.fixture(scope="module")
def course(tmp_path_factory) -> Course:
    """A graded class; wherever a gradebook keeps words about people, there are some by which they could be known."""
    course = with_gradebook(new_course(tmp_path_factory.mktemp("research")))
    lab, runner = Lab.load(course, START), KernelFree(course.root / "runs")
    hand_in_class(lab, 4)
    for name in ("zzexcused", "zzcrashed"):
        hand_in(course, lab, name, solved(lab))
    folder = course.submitted / "zzunread" / START
    folder.mkdir(parents=True)
    (folder / lab.notebook_name).write_text("{")
    list(grading.autograde(lab, grading.submissions(lab), runner, 5))
    hand_in(course, lab, "s02", solved(lab))  # its first one held a misconception
    list(grading.autograde(lab, grading.submissions(lab), runner, 5))
    with Gradebook.open(course) as gradebook:
        gradebook.enter_people(
            [
                Person(
                    name, "zzname", "zzsurname", "zzmail@example.org", f"zzsection{place}", f"zzcanvas{place}"
                )
                for place, name in enumerate(PEOPLE)
            ]
        )
        gradebook.enter_statuses([Status("zzexcused", START, Kind.EXCUSED, "", "zzreason")])
        gradebook.set_deadline(lab, WHEN - timedelta(hours=30))
        with gradebook.transaction() as db:
            db.execute(update(SUBMISSION).values(timestamp=WHEN))
            db.execute(update(MARKERS).values(notes=["zznote: /home/zzpath/x.ipynb"]))
            db.execute(update(MARKERS).filter_by(student="zzcrashed").values(state=states.CRASHED))
            db.execute(update(COMMENT).values(manual_comment="zzcomment"))
            db.execute(update(GRADE).where(GRADE.c.auto_score.is_(None)).values(manual_score=1.0))
    return course


@pytest.fixture
def tables(course, tmp_path) -> tuple[list[dict[str, str]], dict[str, str], str]:
    """The rows, the dictionary, and all that was written and said."""
    said = write_research(course, [Lab.load(course, name) for name in course.labs()], tmp_path / "all.csv")
    files = [tmp_path / "all.csv", tmp_path / "all-dictionary.csv"]
    rows, meanings = (list(csv.DictReader(file.open(newline=""))) for file in files)
    text = "\n".join([*(file.read_text() for file in files), *said]).replace(str(tmp_path), "")
    return rows, {row["column"]: row["meaning"] for row in meanings}, text


def test_nothing_by_which_a_person_is_known_is_in_the_table_the_dictionary_or_what_is_said(tables):
    rows, _, text = tables
    assert len(rows) == len(PEOPLE) * len({row["exercise"] for row in rows})
    assert [word for word in (*SECRETS, *PEOPLE) if word in text.casefold()] == []
    assert "@" not in text and not re.search(r"\d\d:\d\d", text)


NUMBER, ONE = r"\d+(\.\d+)?", "[01]"
LOOK = {
    "student": r"\d{8}",
    "lab": START,
    "exercise": r"\w+",
    "standing": "|".join(Standing),
    "run": "|".join(["", states.GRADED, states.INCOMPLETE, states.UNREADABLE, *states.CUT_SHORT]),
    "hand-ins": r"\d*",
    "points": f"({NUMBER})?",
    "of": NUMBER,
    "passed": f"{ONE}?",
    "begun": f"{ONE}?",
    "misconceptions": r"(\w+( \w+)*)?",
    "misconceptions before": r"(\w+( \w+)*)?",
    "given": f"{ONE}?",
    "working": f"{ONE}?",
    "days late": r"\d*",
}
"""Column -> what its cells may look like: names of the lab's own, and numbers."""


def test_the_dictionary_has_the_columns_in_their_order_and_every_value_looks_as_it_says(tables):
    rows, meanings, _ = tables
    assert [*meanings] == [*rows[0]] == [*COLUMNS] == [*LOOK]
    strange = {(name, row[name]) for row in rows for name in LOOK if not re.fullmatch(LOOK[name], row[name])}
    assert strange == set()
    for standing in Standing:
        assert standing in meanings["standing"]
    for state in (states.GRADED, states.INCOMPLETE, states.UNREADABLE, *states.CUT_SHORT):
        assert state in meanings["run"]


def test_the_outcome_of_each_check_is_there_and_is_empty_where_there_is_none(course, tables):
    rows, _, _ = tables
    lab = Lab.load(course, START)
    with Gradebook.open(course) as gradebook:
        results = gradebook.results(lab)
    expected = sorted(
        ("1" if result.points[cell] >= points - 0.005 else "0")
        for result in results
        if result.student != "zzunread"
        for cell, points in lab.points_of_cells.items()
    )
    assert sorted(row["passed"] for row in rows if row["passed"]) == expected and set(expected) == {"0", "1"}
    without = {row["standing"] for row in rows if not row["passed"]}
    assert without == {"not handed in", "unreadable"}
    assert {row["begun"] for row in rows if row["standing"] == "unreadable"} == {""}
    assert {row["standing"] for row in rows if row["run"] == "crashed"} == {"not run to the end"}
    assert {row["days late"] for row in rows if row["passed"]} == {"2"}


def test_a_misconception_of_an_earlier_hand_in_is_told_from_one_of_the_last(course, tables):
    rows, _, _ = tables
    again = [row for row in rows if row["hand-ins"] == "2"]
    assert len({row["student"] for row in again}) == 1
    assert any(row["misconceptions before"] for row in again)
    assert not any(row["misconceptions"] for row in again)
    assert not any(row["misconceptions before"] for row in rows if row["hand-ins"] != "2")


@pytest.mark.parametrize(("earlier", "told"), [("x", ("1", "0")), ("working x", ("0", "1"))])
def test_right_given_a_mistake_and_right_with_a_working_earlier_exercise_are_two_columns(
    course, tmp_path, monkeypatch, earlier, told
):
    lab = Lab.load(course, START)
    name = next(exercise.name for exercise in lab.exercises.values())
    results = Gradebook.results

    def follows(self, lab, among=None):
        given = (f"{name}: {earlier}",)
        found = results(self, lab, among)
        return [replace(each, marker=replace(each.marker, given=given)) for each in found]

    monkeypatch.setattr(Gradebook, "results", follows)
    write_research(course, [lab], tmp_path / "all.csv")
    rows = [row for row in csv.DictReader((tmp_path / "all.csv").open()) if row["run"]]
    assert {(row["given"], row["working"]) for row in rows if row["exercise"] == name} == {told}
