"""The page about a term: who needs help and why, which misconceptions stay, and that nothing in it can act."""

from __future__ import annotations

import csv
from dataclasses import replace
from datetime import datetime, timedelta

import pytest
from classroom import START, KernelFree, hand_in_class, new_course, with_gradebook
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from grader.book.gradebook import Gradebook
from grader.book.marker import Marker
from grader.book.results import Result
from grader.book.statuses import Kind, Marks, Status
from grader.cli import app
from grader.grade import autograde as grading
from grader.handout.demo import hand_in
from grader.people.roster import Person
from grader.reference.lab import Lab
from grader.show.pages import FIRST
from grader.show.standing import Standing
from grader.show.term import (
    StudentFacts,
    Term,
    analyse,
    as_html,
    as_rows,
    in_words,
    rows_of_misconceptions,
    summary,
)

FOUR = ("00_start_here", "01_why_attention", "02_self_attention", "03_multi_head_attention")
SHARED = "The key is not transposed, so the shapes do not fit."  # labs 01 and 02 both can recognise it


def result(lab: Lab, student: str, share: float, *titles: str) -> Result:
    points = {cell: points * share for cell, points in lab.points_of_cells.items()}
    entries = [entry for entries in lab.misconceptions.values() for entry in entries]
    recognised = tuple(f"{one.exercise}: {one.name}" for one in entries if one.title in titles)
    marker = Marker("", "", "", "graded", sum(points.values()), lab.points, 0, recognised, ())
    return Result(student, points, frozenset(), None, timedelta(), 0.0, marker)


def term(
    labs: dict[str, Lab],
    shares: dict[str, list[float | None]],
    *,
    held=None,
    waiting=None,
    people=None,
    expected=None,
) -> Term:
    """
    Args:
        shares: student -> share of the points in each of FOUR.
        held: student -> places of the labs in which SHARED is recognised.
    """
    results = [
        (
            labs[name],
            [
                result(labs[name], who, of[place], *([SHARED] if place in (held or {}).get(who, ()) else []))
                for who, of in shares.items()
                if of[place] is not None
            ],
        )
        for place, name in enumerate(FOUR)
    ]
    collected = {name: set((waiting or {}).get(name, ())) for name in FOUR}
    return analyse(results, collected, expected or list(shares), people or {})


def reasons(found: Term) -> dict[str, str]:
    return {one.student: "; ".join(one.reasons) for one in found.needs_help}


def test_who_needs_help_why_and_in_which_order(labs):
    found = term(
        labs,
        {
            "fine": [1.0, 0.9, 1.0, 0.9],
            "rare": [1.0, None, None, 1.0],
            "weak": [0.4] * 4,
            "falls": [1.0, 1.0, 0.9, 0.4],
            "once": [1.0, 1.0, None, 1.0],
            "gone": [None, None, None, None],
        },
    )
    assert list(reasons(found)) == ["gone", "weak", "rare", "falls"]
    assert reasons(found)["gone"] == "handed in 0 of 4" and reasons(found)["rare"] == "handed in 2 of 4"
    assert "40 %" in reasons(found)["weak"] and "57 points of 100 below" in reasons(found)["falls"]
    say = {one.student: found.to_begin_with(one) for one in found.needs_help}
    assert "still in the course" in say["gone"] and "is missing: ask what got in the way" in say["rare"]
    assert say["weak"].startswith("Lab 00") and say["falls"].startswith("Lab 03")
    assert "Talk first to gone, weak, rare, falls. What to begin with is in the list below." in summary(found)
    assert [row[-1] for row in as_rows(found)[1:]] == [say.get(one.student, "") for one in found.students]
    assert [lab.missing for lab in found.labs] == [1, 2, 3, 1]
    assert found.labs[1].title == f"Lab 01: {labs[FOUR[1]].settings['title']}"


def test_a_stranger_is_shown_and_is_not_missing_in_other_labs(labs):
    found = term(labs, {"a": [1.0] * 4, "stranger": [1.0, None, None, None]}, expected=["a", "b"])
    assert [each.student for each in found.students] == ["a", "b", "stranger"]
    assert [lab.missing for lab in found.labs] == [1] * 4
    assert list(reasons(found)) == ["b"]  # nobody expects more of a stranger, or of somebody who has left


def test_what_crashed_is_not_among_the_graded(labs):
    lab = labs[FOUR[0]]
    crashed = result(lab, "a", 0.5)
    crashed = replace(crashed, marker=replace(crashed.marker, state="crashed"))
    found = analyse([(lab, [crashed, result(lab, "b", 1.0)])], {lab.name: {"a", "b"}}, ["a", "b"], {})
    assert (found.labs[0].graded, found.labs[0].ended, found.labs[0].mean) == (1, 1, 1.0)
    assert 'data-of="not run to the end">1</td>' in as_html(found)


def test_a_zero_by_decision_is_no_hand_in_and_no_reason_to_talk(labs):
    lab = labs[FOUR[0]]
    marks = {who: Marks((Status(who, lab.name, Kind.ZERO, "", "copied"),)) for who in ("copied", "never")}
    results = [(lab, [result(lab, "copied", 1.0), result(lab, "fine", 0.8)])]
    found = analyse(
        results, {lab.name: {"copied", "fine"}}, ["copied", "fine", "never"], {}, marks={lab.name: marks}
    )
    (facts,) = found.labs
    assert (facts.graded, facts.zeroed, facts.missing) == (1, 2, 0) and facts.mean == pytest.approx(0.8)
    assert reasons(found) == {} and [each.handed_in for each in found.students] == [0, 1, 0]
    assert [each.mean for each in found.students] == [0.0, pytest.approx(0.8), 0.0]
    assert 'data-of="zero">2</td>' in as_html(found)


def test_work_that_waits_is_neither_missing_nor_a_nought(labs):
    found = term(labs, {"a": [1.0, 1.0, None, None], "b": [1.0] * 4}, waiting={n: ["a"] for n in FOUR[2:]})
    assert reasons(found) == {} and found.students[0].mean == 1.0
    assert [lab.waiting for lab in found.labs] == [0, 0, 1, 1] and [lab.missing for lab in found.labs] == [
        0
    ] * 4
    assert in_words(found.students[0]) == "100 %, 100 %, not graded yet, not graded yet"
    assert "2 submissions are collected, not graded yet" in " ".join(summary(found))
    found = term(labs, {"a": [None] * 4, "b": [1.0] * 4}, waiting={name: ["a"] for name in FOUR})
    assert reasons(found) == {} and found.students[0].mean is None  # nothing is known: neither 0 % nor 100 %
    assert 'data-of="mean">–</td>' in as_html(found) and as_rows(found)[1][9] == ""


def test_a_misconception_is_followed_into_the_labs_that_can_recognise_it(labs):
    found = term(
        labs,
        {
            "keeps": [1.0, 0.9, 0.9, 1.0],
            "mends": [1.0, 0.9, 1.0, 1.0],
            "stops": [1.0, 0.9, None, 1.0],
            "late": [1.0, 1.0, 0.9, 1.0],
        },
        held={"keeps": [1, 2], "mends": [1], "stops": [1], "late": [2]},
    )
    (one,) = found.misconceptions
    assert (one.title, one.labs, one.students, one.met, one.again) == (SHARED, FOUR[1:3], 4, 2, 1)
    assert reasons(found) == {"keeps": f"again: {SHARED}"}
    assert found.to_begin_with(found.needs_help[0]).startswith("Ask them to explain this: ")
    assert SHARED not in found.to_begin_with(found.needs_help[0])  # its hint
    assert (
        f"Held longest: {SHARED} From lab 01 to lab 02, by 1 student. Of the 2 who met it again, 1 still held it."
        in summary(found)
    )
    page = as_html(found)
    assert "1 of 2" in page and "01, 02" in page
    assert rows_of_misconceptions(found)[1] == [
        SHARED, f"{FOUR[1]} {FOUR[2]}", "4", "1", "2", FOUR[1], FOUR[2], "1"
    ]  # fmt: skip


def test_what_is_held_longest_is_not_what_most_hold_again(labs):
    positions = "Positions are counted from 1."  # labs 04 and 08 both can recognise it
    names = (
        *FOUR[1:3],
        "04_positional_encoding",
        "05_transformer_pytorch",
        "08_language_model_and_summarizer",
    )
    held = {SHARED: {"a": (0, 1), "b": (0, 1), "c": (0,)}, positions: {"c": (2, 4), "d": (2,), "e": (4,)}}
    results = [
        (
            labs[name],
            [
                result(labs[name], who, 0.9, *(t for t, of in held.items() if place in of.get(who, ())))
                for who in "abcde"
            ],
        )
        for place, name in enumerate(names)
    ]
    found = analyse(results, {name: set() for name in names}, [], {})
    assert [one.title for one in found.misconceptions] == [positions, SHARED]
    assert [(one.longest, one.held_so_long) for one in found.misconceptions] == [
        ((names[2], names[4]), 1),
        ((names[0], names[1]), 2),
    ]
    told = summary(found)
    assert (
        f"Held longest: {positions} From lab 04 to lab 08, by 1 student. Of the 2 who met it again, 1 still held it."
        in told
    )
    assert f"Held again by most: {SHARED} Of the 3 who met it again, 2 still held it." in told
    assert "04 to 08 (1)" in as_html(found) and "01 to 02 (2)" in as_html(found)
    nobody = analyse(results[:1], {names[0]: set()}, [], {})
    assert nobody.misconceptions[0].longest is None and "Held" not in " ".join(summary(nobody))


def test_nothing_that_somebody_is_called_becomes_markup_and_lines_are_told_in_words(labs):
    evil = "<script>alert(1)</script>"
    page = as_html(
        term(labs, {evil: [0.5, None, 0.25, 1.0], "b": [1.0] * 4}, people={evil: Person(evil, evil)})
    )
    assert "<script" not in page and "&lt;script&gt;" in page and "http" not in page
    assert 'aria-label="50 %, nothing, 25 %, 100 %"' in page


def test_of_a_large_class_the_first_rows_are_open_and_the_rest_is_folded(labs):
    page = as_html(term(labs, {f"s{number:03}": [0.1, 0.1, 0.1, 0.2] for number in range(300)}))
    assert f"{300 - FIRST} more who may need help" in page and f"{300 - FIRST} more students" in page


@given(st.lists(st.one_of(st.none(), st.floats(0, 1)), min_size=1, max_size=13), st.data())
def test_counts_and_means_hold_for_any_term(shares, data):
    waiting = tuple(share is None and data.draw(st.booleans()) for share in shares)
    states = (
        Standing.COLLECTED if waits else Standing.NOT_HANDED_IN if share is None else Standing.GRADED
        for share, waits in zip(shares, waiting, strict=True)
    )
    facts = StudentFacts("a", tuple(shares), tuple(states), ())
    assert (
        (facts.mean is None) == all(waiting)
        and 0 <= (facts.mean or 0) <= 1
        and 0 <= facts.handed_in <= len(shares)
    )
    assert len(in_words(facts).split(", ")) == len(shares)
    assert (facts.change is None) == (len(facts.earned) < 3)


def test_the_command_writes_a_page_and_a_table_of_everybody(tmp_path, monkeypatch):
    lab = Lab.load(with_gradebook(new_course(tmp_path)), START)
    monkeypatch.chdir(lab.course.root)
    told = CliRunner().invoke(app, ["term"])
    assert told.exit_code == 1 and "grader autograde LAB" in told.output
    hand_in_class(lab, 3)
    list(grading.autograde(lab, grading.submissions(lab), KernelFree(tmp_path / "runs"), 5))
    with Gradebook.open(lab.course) as gradebook:
        gradebook.enter_people([Person("s01", "Ben", "Costa", section="B"), Person("s9", section="A")])
    told = CliRunner().invoke(app, ["term"])
    assert told.exit_code == 0, told.output
    page = lab.course.grading / "reports" / "term.html"
    assert "Ben Costa (s01)" in page.read_text()
    with page.with_suffix(".csv").open() as file:
        rows = {row["student"]: row for row in csv.DictReader(file)}
    assert list(rows) == ["s00", "s01", "s02", "s9"]
    with (page.parent / "term-misconceptions.csv").open() as file:
        held = list(csv.DictReader(file))
    assert [row["labs"] for row in held] == [START] and held[0]["students"] == "1"
    assert "term-misconceptions.csv" in told.output.replace("\n", "")
    assert (rows["s00"][f"{START} (%)"], rows["s9"]["handed in"], rows["s01"]["section"]) == (
        "100.0",
        "0",
        "B",
    )
    assert CliRunner().invoke(app, ["term", "--section", "a"]).exit_code == 1  # nothing of A is graded
    assert CliRunner().invoke(app, ["term", "--section", "B"]).exit_code == 0
    assert "s00" not in (page.parent / "term-B.csv").read_text()


def test_what_is_not_due_yet_is_no_zero_and_no_reason_to_talk(tmp_path, monkeypatch):
    course = with_gradebook(new_course(tmp_path))
    monkeypatch.chdir(course.root)
    first, second = (Lab.load(course, name) for name in FOUR[:2])
    for lab in (first, second):
        hand_in(course, lab, "s00", lab.release())
        list(grading.autograde(lab, grading.submissions(lab), KernelFree(tmp_path / "runs"), 5))
    with Gradebook.open(course) as gradebook:
        gradebook.enter_people(Person(each) for each in ("s00", "waits", "extended"))
        gradebook.set_deadline(first, datetime(2020, 1, 1))
        gradebook.set_deadline(second, datetime(2999, 1, 1))
        gradebook.extend(first, "extended", timedelta(days=365_000))
    assert CliRunner().invoke(app, ["term"]).exit_code == 0
    page = course.grading / "reports" / "term.html"
    with page.with_suffix(".csv").open() as file:
        rows = {row["student"]: row for row in csv.DictReader(file)}
    told = {who: [row[each] for each in ("handed in", "of", "mean (%)", "why")] for who, row in rows.items()}
    assert told["waits"] == ["0", "1", "0.0", ""] and told["extended"] == ["0", "0", "", ""]
    assert [rows["waits"][f"{lab.name} (state)"] for lab in (first, second)] == [
        "not handed in",
        "not handed in, not due yet",
    ]
    assert "0 of 1" in page.read_text() and "2 not due yet" in page.read_text()
    assert 'aria-label="nothing, not due yet"' in page.read_text()


@pytest.mark.parametrize("size", [1, 3])
def test_a_short_term_has_a_page_too(labs, size):
    lab = labs[FOUR[0]]
    found = analyse([(lab, [result(lab, f"s{n}", 1.0) for n in range(size)])], {lab.name: set()}, [], {})
    assert "in 1 lab." in as_html(found) and "hardest" not in " ".join(summary(found))
    assert {len(row) for row in as_rows(found)} == {len(as_rows(found)[0])}


def test_what_is_not_graded_past_its_deadline_and_what_is_unreadable_are_on_the_page(tmp_path, monkeypatch):
    course = with_gradebook(new_course(tmp_path))
    monkeypatch.chdir(course.root)
    first, second, third = (Lab.load(course, name) for name in FOUR[:3])
    hand_in_class(first, 2)
    (course.submitted / "s01" / first.name / first.notebook_name).write_text("{")
    list(grading.autograde(first, grading.submissions(first), KernelFree(tmp_path / "runs"), 5))
    for lab in (second, third):
        hand_in(course, lab, "s00", lab.release())
    with Gradebook.open(course) as gradebook:
        for lab, due in ((second, datetime(2020, 1, 1)), (third, datetime(2999, 1, 1))):
            gradebook.set_deadline(lab, due)
    told = CliRunner().invoke(app, ["term"])
    assert told.exit_code == 0, told.output
    page = (course.grading / "reports" / "term.html").read_text()
    assert f"<code>grader autograde {second.name}</code> (1)" in page and third.name not in page
    assert "1 submission is unreadable" in page
    with (course.grading / "reports" / "term.csv").open() as file:
        rows = {row["student"]: row for row in csv.DictReader(file)}
    states = {who: [row[f"{lab.name} (state)"] for lab in (first, second)] for who, row in rows.items()}
    assert states == {
        "s00": ["graded", "collected, not graded yet"],
        "s01": ["unreadable", "not handed in"],
    }


def test_a_term_in_which_nothing_is_graded_has_a_page_if_something_should_be(labs):
    lab = labs[FOUR[0]]
    found = analyse([(lab, [])], {lab.name: {"ada"}}, ["ada", "ben"], {})
    assert (found.labs[0].mean, found.labs[0].waiting, found.labs[0].missing) == (None, 1, 1)
    assert (
        f"1 submission is collected, not graded yet: it is not in these figures. To grade: `grader autograde {lab.name}` (1)."
        in summary(found)
    )
    assert "not graded yet" in as_html(found)
