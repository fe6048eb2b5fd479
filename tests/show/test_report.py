"""The instructor's page about a class: its numbers, its words, and that nothing of a submission can act in it."""

from __future__ import annotations

import csv
import re
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from html.parser import HTMLParser

import pytest
from classroom import ATTENTION, START, KernelFree, hand_in_class, new_course, with_gradebook
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from course_utils.checking.outcome import Outcome, Problem, encode
from grader.book.gradebook import Gradebook
from grader.book.marker import Marker
from grader.book.requests import Request
from grader.book.results import Result
from grader.book.statuses import Kind, Marks, Status
from grader.by_hand.rights import Rights
from grader.by_hand.week import week
from grader.cli import app
from grader.commands.week import _time
from grader.errors import GraderError
from grader.grade import autograde as grading
from grader.grade.resume import Again
from grader.handout.demo import hand_in, solved
from grader.people.roster import Person
from grader.reference.lab import Lab
from grader.run.states import ENDINGS, Executed, stopped_in_words
from grader.show.class_facts import ENDED, analyse
from grader.show.class_report import (
    as_html,
    as_rows,
    histogram,
    in_words,
    rows_of_checks,
    rows_of_misconceptions,
    summary,
    write_report,
)
from grader.show.pages import FIRST, lateness, write_page


@pytest.fixture(scope="module")
def lab(labs) -> Lab:
    return labs[ATTENTION]


def result(lab: Lab, student: str, shares: dict[str, float], **other) -> Result:
    """Somebody's result: a share of the points for some exercises, none for the others."""
    points = {
        cell: points * shares.get(cell.removeprefix("check_"), 0.0)
        for cell, points in lab.points_of_cells.items()
    }
    recognised = other.pop("recognised", ())
    state, notes = other.pop("state", "graded"), other.pop("notes", ())
    marker = Marker("", "", "", state, sum(points.values()), lab.points, 0, recognised, notes)
    untouched = frozenset(other.pop("untouched", ()))
    return Result(student, points, untouched, other.pop("submitted", None), timedelta(), 0.0, marker, **other)


def exercises(lab: Lab) -> list[str]:
    return [exercise.name for exercise in lab.exercises.values()]


def a_class(lab: Lab, size: int = 12) -> list[Result]:
    """Each student solves one exercise more than the one before, and starts again."""
    names = exercises(lab)
    return [
        result(lab, f"s{number:02}", dict.fromkeys(names[: number % (len(names) + 1)], 1.0))
        for number in range(size)
    ]


# ---------------------------------------------------------------------------------- numbers


def test_shares_of_each_exercise_are_those_of_the_class(lab):
    first, second = exercises(lab)[:2]
    class_ = [
        result(lab, "a", {first: 1.0, second: 0.5}),
        result(lab, "b", {first: 1.0}, untouched=[second]),
        result(lab, "c", {first: 0.5}, untouched=[second]),
        result(lab, "d", {}, untouched=exercises(lab)),
    ]
    facts = {facts.name: facts for facts in analyse(lab, class_, []).exercises}
    assert (facts[first].solved, facts[first].mean, facts[first].not_begun) == (0.5, 0.625, 0.25)
    assert (facts[second].solved, facts[second].mean, facts[second].not_begun) == (0.0, 0.125, 0.75)
    assert all(one.discrimination is None for one in facts.values())  # four submissions say nothing
    page = as_html(lab, analyse(lab, class_, []))
    assert "cannot be said of fewer than 8 submissions" in page and "discrimination" not in page


def test_a_misconception_comes_with_its_words_and_who_holds_it(lab):
    key, entries = next(iter(lab.misconceptions.items()))
    entry, exercise = entries[0], key.partition(".")[2]
    held = (f"{exercise}: {entry.name}",)
    class_ = [result(lab, name, {}, recognised=held if name in "ac" else ()) for name in "abc"]
    (mistake,) = analyse(lab, class_, []).misconceptions
    assert (mistake.title, mistake.hint, mistake.students) == (entry.title, entry.hint, ("a", "c"))
    assert entry.title in as_html(lab, analyse(lab, class_, [])) or "<code>" in as_html(
        lab, analyse(lab, class_, [])
    )


def test_one_that_the_lab_no_longer_knows_is_shown_by_its_name(lab):
    (mistake,) = analyse(lab, [result(lab, "a", {}, recognised=("softmax: gone",))], []).misconceptions
    assert (mistake.exercise, mistake.title, mistake.hint) == ("softmax", "gone", "")


def test_who_needs_help_and_why(lab):
    names = exercises(lab)
    class_ = [
        result(lab, "fine", dict.fromkeys(names, 1.0)),
        result(lab, "half", dict.fromkeys(names[: len(names) // 3], 1.0)),
        result(lab, "empty", {}, untouched=names),
        result(lab, "late-crash", dict.fromkeys(names, 1.0), state="crashed"),
        result(lab, "confused", dict.fromkeys(names, 0.9), recognised=("a: b", "c: d", "e: f")),
    ]
    found = analyse(lab, class_, ["fine", "nowhere"])
    reasons = {one.student: " ".join(one.reasons) for one in found.needs_help}
    assert set(reasons) == {"half", "empty", "late-crash", "confused"}
    assert "less than 50 %" in reasons["half"] and reasons["empty"] == "nothing was attempted"
    assert "crashed" in reasons["late-crash"] and "3 misconceptions" in reasons["confused"]
    say = {one.student: one.say for one in found.needs_help}
    assert names[len(names) // 3] in say["half"] and names[0] in say["empty"] and "not begun" in say["empty"]
    assert "The feedback page says where it crashed" in say["late-crash"]
    assert [each.student for each in found.ended] == ["late-crash"]
    assert found.missing == ("nowhere",)
    assert "<dt>graded</dt><dd>4</dd>" in as_html(lab, found) and "<dt>crashed</dt><dd>1</dd>" in as_html(
        lab, found
    )


def test_whoever_holds_a_misconception_is_asked_about_its_hint(lab):
    entry = next(one for entries in lab.misconceptions.values() for one in entries)
    rest = {name: 1.0 for name in exercises(lab) if name != entry.exercise}
    held = (f"{entry.exercise}: {entry.name}", "c: d", "e: f")
    (one,) = analyse(lab, [result(lab, "a", rest, recognised=held)], []).needs_help
    assert one.say == f"Begin with `{entry.exercise}`: {entry.title} Ask them to explain this: {entry.hint}"


def test_of_many_who_may_need_help_a_few_are_named_and_the_rest_counted(lab):
    found = analyse(lab, [result(lab, f"s{number}", {}) for number in range(9)], [])
    told = next(line for line in summary(found) if "Talk first" in line)
    assert "s0, s1, s2, s3, s4; 4 more stand out" in told


def test_points_by_hand_that_are_missing_are_counted_and_said(lab):
    cell = next(iter(lab.points_of_cells))
    waiting = replace(result(lab, "a", {}), points={cell: None})
    found = analyse(lab, [waiting], [])
    assert found.exercises[0].waiting == 1 and found.exercises[0].solved is None
    assert "1 written answer is waiting to be graded by hand" in " ".join(summary(found))


def test_points_that_a_human_still_has_to_give_count_against_nobody(lab):
    cell, rest = next(iter(lab.points_of_cells)), exercises(lab)[1:]
    all_right = {name: 1.0 for name in exercises(lab)}
    works = [replace(each, points={**each.points, cell: None}) for each in (
        result(lab, "good", all_right),
        result(lab, "weak", {name: 0.9 for name in rest[:1]}),
    )]  # fmt: skip
    found = analyse(lab, [*works, result(lab, "read", all_right)], [])
    assert found.shares[0] == pytest.approx(1) and found.shares[2] == pytest.approx(1)
    assert [one.student for one in found.needs_help] == ["weak"]
    assert (found.exercises[0].solved, found.exercises[0].mean, found.exercises[0].waiting) == (1, 1, 2)
    told = " ".join(summary(found))
    assert f"The hardest exercise was `{exercises(lab)[0]}`" not in told
    assert "2 written answers are waiting to be graded by hand. Percentages are of the points without" in told
    assert "–" in as_html(lab, analyse(lab, works, []))


@given(st.lists(st.floats(0, 1), min_size=1, max_size=40))
def test_every_score_is_in_the_histogram_once(shares):
    counts = [int(count) for count in re.findall(r"(\d+) from", in_words(shares))]
    assert sum(counts) == len(shares)


def test_the_histogram_is_in_the_page_has_a_text_and_takes_its_colours_from_the_theme(lab):
    figure = histogram([0.0, 0.55, 0.58, 1.0])
    assert figure.count("<rect") == 10 and re.findall(r'height="([\d.]+)"', figure).count("0.0") == 7
    assert 'aria-label="Histogram of 4 scores in steps of ten percent: 1 from 0 to 10 %, 2 from' in figure
    assert "fill" not in figure and "stroke" not in figure
    page = as_html(lab, analyse(lab, a_class(lab), []))
    assert ".histogram text { fill: var(--ink)" in page and "<img" not in page


def test_lateness_in_words():
    assert lateness(timedelta()) == ""
    assert lateness(timedelta(minutes=20)) == "less than an hour"
    assert lateness(timedelta(hours=5)) == "5.0 hours"
    assert lateness(timedelta(days=3)) == "3.0 days"


@pytest.mark.parametrize("state", sorted(ENDED))
def test_what_was_not_seen_as_a_whole_is_in_no_figure_and_is_counted_by_itself(lab, state):
    class_ = a_class(lab)
    also = result(lab, "t", dict.fromkeys(exercises(lab)[:3], 1.0), state=state)
    found, without = analyse(lab, [*class_, also], []), analyse(lab, class_, [])
    assert found.exercises == without.exercises and found.shares == without.shares
    page = as_html(lab, found)
    assert "What 12 submissions show" in page and "12 scores" in page and " of 12 earned at least" in page
    assert "<dt>graded</dt><dd>12</dd>" in page and f"<dt>{state}</dt><dd>1</dd>" in page
    assert "1 submission was not seen as a whole" in page
    assert [row[3] for row in as_rows(lab, found) if row[0] == "t"] == [state]
    assert f"the submission {ENDED[state]}" in {one.student: one.reasons for one in found.needs_help}["t"]


def test_the_report_names_the_exercises_that_ran_out_of_time_and_what_to_look_for(lab):
    def advice(
        *cells: str, state: str = "timed out", what: str = "was stopped because it took too long: at most 30"
    ) -> str:
        notes = tuple(f"Cell `{cell}` {what}. The other cells were run without it." for cell in cells)
        (found,) = analyse(lab, [result(lab, "t", {}, state=state, notes=notes)], []).needs_help
        return found.say

    assert advice("check_causal_mask") == (
        "Look together at `causal_mask`, where it timed out. Look for a loop that never ends."
    )
    assert "at `project_qkv` and `causal_self_attention`, where it" in advice(
        "exercise-1-project-qkv-4", "causal_self_attention", "project_qkv"
    )
    assert "at `cell 0f3a`, where it" in advice("0f3a")
    assert "The feedback page says where it timed out." in advice()
    memory = advice("causal_mask", state="out of memory", what=ENDINGS["out of memory"])
    assert "at `causal_mask`, where it ran out of memory. Look for a list" in memory
    assert "grader doctor" in advice(state="unreadable") and "doctor" not in memory


def test_what_lacks_cells_is_graded_and_is_not_counted_as_somebody_else(lab):
    page = as_html(lab, analyse(lab, [result(lab, "a", {}), result(lab, "b", {}, state="incomplete")], []))
    assert "<dt>graded</dt><dd>2</dd>" in page and "<dt>of the graded: incomplete</dt><dd>1</dd>" in page


@pytest.mark.parametrize("kind", [Kind.EXCUSED, Kind.ZERO])
def test_whoever_is_excused_or_zeroed_by_decision_is_in_no_figure(lab, kind):
    class_ = a_class(lab)
    marks = Marks((Status("t", lab.name, kind, "", "so"),))
    also = replace(result(lab, "t", {}), marks=marks)
    found, without = analyse(lab, [*class_, also], [], marks={"t": marks}), analyse(lab, class_, [])
    assert found.exercises == without.exercises and found.shares == without.shares
    page = as_html(lab, found)
    assert "<dt>graded</dt><dd>12</dd>" in page and f"<dt>{kind}</dt><dd>1</dd>" in page
    assert [row[3] for row in as_rows(lab, found) if row[0] == "t"] == [kind]


def test_a_class_of_which_nothing_could_be_read_has_a_page_without_figures(lab):
    class_ = [result(lab, f"s{n}", {}, state="unreadable", untouched=exercises(lab)) for n in range(9)]
    found = analyse(lab, class_, [])
    page = as_html(lab, found)
    assert "None of the work was seen as a whole, so there are no figures." in page
    assert "<dt>graded</dt><dd>0</dd>" in page and "<dt>median</dt>" not in page
    # nobody knows whether they began
    assert {one.reasons for one in found.needs_help} == {("the submission could not be read",)}
    assert {row[7] for row in rows_of_checks(found)[1:]} == {""}


def test_checks_to_look_at_are_named_with_figures_and_the_others_are_not(lab):
    names = exercises(lab)
    hard, odd, last = names[1], names[2], names[-1]
    class_ = []
    for number in range(20):
        shares = dict.fromkeys(names[: 2 + number % 6], 1.0) | {hard: float(number == 19), last: 0.0}
        shares[odd] = float(number % 6 == 0)
        class_.append(result(lab, f"s{number:02}", shares, untouched=[last]))
    found = analyse(lab, class_, [])
    told = {facts.name: " ".join(facts.to_look_at) for facts in found.exercises}
    assert "Hardly anybody solves" in told[hard] and "1 of the 20 who tried" in told[hard]
    assert "fail `" + odd in told[odd] and "0 % of the strongest solve it" in told[odd]
    assert told[last].startswith("Hardly anybody begins") and "100 % left it" in told[last]
    assert not any(told[name] for name in names if name not in (hard, odd, last))
    page = as_html(lab, found)
    assert page.count("<li>Hardly anybody") == 2 and "3 checks to look at" in page
    heading, *rows = rows_of_checks(found)
    table = {row[0]: dict(zip(heading, row, strict=True)) for row in rows}
    assert table[hard]["difficulty (share that solves it)"] == "0.050" and table[hard]["solve it"] == "1"
    assert table[last]["discrimination"] == ""
    assert table[last]["why it is not defined"] == "all have the same points for it"
    assert float(table[odd]["discrimination"]) < 0 and float(table[odd]["difference"]) < 0


def test_answers_that_wait_for_a_reader_are_in_nobody_s_rest(lab):
    cell, other = list(lab.points_of_cells)[:2]
    class_ = a_class(lab)
    half_read = [
        replace(each, points={**each.points, cell: None if place % 2 else 100.0})
        for place, each in enumerate(class_)
    ]
    none_read = [replace(each, points={**each.points, cell: None}) for each in class_]
    figures = [
        {facts.cell: facts.figures for facts in analyse(lab, each, []).exercises}[other]
        for each in (half_read, none_read)
    ]
    assert figures[0] == figures[1]


def test_what_hardly_anybody_solves_is_no_evidence_about_a_person(lab):
    names = exercises(lab)
    few = names[: len(names) // 3]
    class_ = [result(lab, f"s{number:02}", dict.fromkeys(few, 1.0)) for number in range(18)]
    class_.append(result(lab, "weak", {}))
    found = analyse(lab, class_, [])
    assert [one.student for one in found.needs_help] == ["weak"]
    assert found.needs_help[0].reasons == (
        "less than 50 % of the points in what most of the class has solved",
    )


def test_of_equal_points_whoever_tried_the_most_comes_first_and_lateness_moves_nobody(lab):
    names = exercises(lab)
    class_ = [
        result(lab, "a-blank", {}, untouched=names),
        result(lab, "b-some", {}, untouched=names[2:]),
        result(lab, "c-all", {}),
        replace(result(lab, "d-late", {names[0]: 0.5}), penalty=9.0),
        result(lab, "e-unread", {}, untouched=names, state="unreadable"),
    ]
    order = [one.student for one in analyse(lab, class_, []).needs_help]
    assert order == ["e-unread", "c-all", "b-some", "a-blank", "d-late"]


def test_so_many_that_it_is_about_the_lab_are_called_so_and_ten_are_shown(lab):
    found = analyse(lab, [result(lab, f"s{number:03}", {}) for number in range(289)], [])
    told = " ".join(summary(found))
    assert "289 of 289 may need help. So many say more about the lab" in told
    heading, *rows = as_rows(lab, found)
    table = {row[0]: dict(zip(heading, row, strict=True)) for row in rows}
    assert [table[one.student]["may need help (1: first)"] for one in found.needs_help] == [
        str(place) for place in range(1, 290)
    ]
    assert all(row["why"] and row["what to begin with"] for row in table.values())
    page = as_html(lab, found)
    open_part = re.sub(r"<details class=.more.>.*?</details>", "", page, flags=re.DOTALL)
    section = open_part.partition("Who may need help")[2].partition("<h2>")[0]
    assert FIRST <= 10 and section.count("<tr><td>") == FIRST


def test_which_misconceptions_stay_is_counted_over_the_hand_ins_that_were_graded(lab):
    entries = [entry for some in lab.misconceptions.values() for entry in some][:3]
    stays, goes, new = (f"{entry.exercise}: {entry.name}" for entry in entries)
    class_ = [
        replace(result(lab, "kept", {}, recognised=(stays,)), before=((stays,), (stays, goes))),
        replace(result(lab, "rid", {}, recognised=(new,)), before=((stays,), ())),
        replace(result(lab, "clean", {}), before=((),)),
        result(lab, "once", {}, recognised=(stays,)),
        # nobody knows whether it is still there
        replace(result(lab, "unread", {}, state="unreadable"), before=((goes,),)),
    ]
    found = analyse(lab, class_, [])
    seen = {
        f"{held.exercise}: {held.title}": (held.students, held.before, held.kept)
        for held in found.misconceptions
    }
    assert [seen[f"{entry.exercise}: {entry.title}"] for entry in entries] == [
        (("kept", "once"), 2, 1), ((), 1, 0), (("rid",), 0, 0),
    ]  # fmt: skip
    assert [row[2:] for row in rows_of_misconceptions(found)[1:]] == [
        ["2", "0", "2", "1"],
        ["1", "0", "0", "0"],
        ["0", "0", "1", "0"],
    ]
    told = " ".join(summary(found))
    assert (
        "The misconception that stays most often" in told
        and "1 of the 2 who had it in an earlier hand-in still has it" in told
    )
    page = as_html(lab, found)
    assert "4 people have several hand-ins that were graded" in page and "1 of 2" in page
    reasons = {one.student: one.reasons for one in found.needs_help}
    assert reasons["kept"][-1] == f"still there after 3 hand-ins: {entries[0].title.rstrip('.')}"
    only_last = [replace(each, before=()) for each in class_]
    found = analyse(lab, only_last, [])
    assert "Nobody here has an earlier hand-in that was graded" in as_html(lab, found)
    assert {tuple(row[4:]) for row in rows_of_misconceptions(found)[1:]} == {("", "")}


def test_what_the_learner_is_told_is_what_to_begin_with_and_a_possible_cause_is_counted_apart(lab):
    first = exercises(lab)[0]
    entry = next(one for entries in lab.misconceptions.values() for one in entries if one.exercise == first)
    known, other = f"{first}: {entry.name}", f"{exercises(lab)[1]}: something else"
    told = {
        "may": {"possible": (known,)},
        "odd": {"stands_out": (other, f"{first}: All values are negative.")},
        "loop": {"notes": (stopped_in_words(first, 10.0),)},
        "none": {},
    }
    plain = {who: result(lab, who, {}) for who in told}
    class_ = [replace(plain[who], marker=replace(plain[who].marker, **more)) for who, more in told.items()]
    found = analyse(lab, class_, [])
    (held,) = found.misconceptions
    assert (held.title, held.students, held.may_have) == (entry.title, (), ("may",))
    say = {one.student: one.say for one in found.needs_help}
    assert say["may"].startswith(f"Begin with `{first}`: it may be this mistake. {entry.title}")
    assert say["odd"] == f"Begin with `{first}`. Their feedback page says: “All values are negative.”"
    assert "was stopped. Look for a loop that never ends." in say["loop"]
    assert say["none"].endswith("ask what it should return, and for which input.")
    why = {one.student: one.reasons for one in found.needs_help}
    assert why["loop"][-1] == f"the check of `{first}` was stopped: it took too long" and len(why["may"]) == 1
    assert "most common misconception" not in " ".join(summary(found))
    page = as_html(lab, found)
    assert 'data-of="may be">1</td>' in page and "May be the cause: may" in page
    assert rows_of_misconceptions(found)[1][2:4] == ["0", "1"]
    assert [dict(zip(as_rows(lab, found)[0], row, strict=True))["may be"] for row in as_rows(lab, found)[1:]] == [
        known, "", "", ""
    ]  # fmt: skip


# ---------------------------------------------------------------------------------- the page


class _Page(HTMLParser):
    def __init__(self):
        super().__init__()
        self.tags, self.images, self.words = [], [], []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        if dict(attrs).get("role") == "img":
            self.images.append(dict(attrs))

    def handle_data(self, data):
        self.words.append(data)


def test_nothing_that_a_submission_is_called_or_says_becomes_markup(lab):
    evil = "<script>alert(1)</script>"
    class_ = [result(lab, evil, {}, notes=(evil,), recognised=(f"{evil}: {evil}",), state=evil)]
    page = as_html(lab, analyse(lab, class_, [f"{evil}2"]))
    parsed = _Page()
    parsed.feed(page)
    assert "script" not in parsed.tags and evil in "".join(parsed.words)


def test_the_page_stands_alone_and_its_figure_is_told_in_words(lab):
    parsed = _Page()
    page = as_html(lab, analyse(lab, a_class(lab), []))
    parsed.feed(page)
    assert not {"link", "script", "iframe"} & set(parsed.tags)
    (image,) = parsed.images
    assert "12 scores" in image["aria-label"] and "http" not in page


def test_the_table_has_a_row_for_everybody(lab):
    found = analyse(
        lab,
        a_class(lab, 3),
        ["s00", "absent"],
        collected=["s00", "waits"],
        names={"absent": "Ab Sent"},
        sections={"s01": "Mon", "absent": "Tue"},
    )
    rows = as_rows(lab, found)
    assert [row[0] for row in rows] == ["student", "s00", "s01", "s02", "waits", "absent"]
    assert [row[2] for row in rows] == ["section", "", "Mon", "", "", "Tue"]
    assert [row[3] for row in rows[4:]] == ["collected, not graded yet", "not handed in"]
    assert rows[-1][1] == "Ab Sent" and len({len(row) for row in rows}) == 1


def test_what_waits_to_be_graded_is_not_called_missing(lab):
    students = ["s00", "s01", "s02", "waits", "absent"]
    found = analyse(lab, a_class(lab, 3), students, collected=["s00", "waits"])
    assert (found.ungraded, found.missing) == (("waits",), ("absent",))
    assert "1 collected, not graded yet: they are not in these figures." in summary(found)
    page = as_html(lab, found)
    assert "Collected, not graded yet: waits." in page and "Enrolled, but nothing handed in: absent." in page


def test_files_that_are_nobody_s_are_listed_and_their_names_are_no_markup(lab):
    page = as_html(lab, analyse(lab, a_class(lab, 3), [], refused=[("<b>Ann Kim", "Several are called so.")]))
    assert "1 file was refused when work was last collected" in page
    assert '<li>&lt;b&gt;Ann Kim: <span class="soft">Several are called so.</span></li>' in page
    assert "refused" not in as_html(lab, analyse(lab, a_class(lab, 3), []))


def test_of_a_large_class_the_first_rows_are_open_and_the_rest_is_folded(lab):
    everybody = [f"s{number:02}" for number in range(300)]
    found = analyse(lab, a_class(lab, 250), everybody)
    page = as_html(lab, found)
    open_part = re.sub(r"<details class=.more.>.*?</details>", "", page, flags=re.DOTALL)
    assert len(found.needs_help) > FIRST and f"{len(found.needs_help) - FIRST} more who may need help" in page
    assert open_part.count("<tr><td>s") == 2 * FIRST and page.count("<tr><td>s") == 250 + len(
        found.needs_help
    )
    assert "Enrolled, but nothing handed in: 50" in page and "s299" not in open_part


def test_the_page_calls_the_lab_and_its_students_by_their_names(lab):
    page = as_html(lab, analyse(lab, a_class(lab, 3), [], names={"s01": "Jane Doe"}))
    assert f"<h1>Lab 02: {lab.settings['title']}</h1>" in page
    assert "Jane Doe (s01)" in page and "<td>s00</td>" in page


def test_open_requests_are_counted_with_the_oldest_and_the_command_that_lists_them(lab):
    cell = f"check_{exercises(lab)[0]}"
    days = [datetime(2030, 1, day, 12) for day in (9, 7, 1)]
    open_, older, decided = (
        Request(n, "", f"s0{n}", lab.name, cell, "?", "", when, "", None, None, None, None, None)
        for n, when in enumerate(days)
    )
    decided = replace(decided, decided=datetime(2030, 1, 2), decided_by="ana", reason="So.")
    found = analyse(lab, a_class(lab, 3), [], requests=[open_, older, decided])
    assert [facts.asked for facts in found.exercises][:2] == [2, 0]
    page = as_html(lab, found, "Monday, late")
    assert "2 open requests to look again, the oldest of 2030-01-07" in page
    assert f"<code>grader requests {lab.name} --section &#x27;Monday, late&#x27;</code>" in page
    assert "(2 open requests)" in page and "<dt>open requests</dt><dd>2</dd>" in page
    page = as_html(lab, analyse(lab, a_class(lab, 3), [], requests=[decided]))
    assert "open request" not in page


# ---------------------------------------------------------------------------------- from a gradebook


@pytest.fixture
def graded(tmp_path) -> Lab:
    lab = Lab.load(with_gradebook(new_course(tmp_path)), START)
    hand_in_class(lab, 6)
    list(grading.autograde(lab, grading.submissions(lab), KernelFree(tmp_path / "runs"), 5))
    return lab


def test_report_of_a_graded_class(graded, monkeypatch):
    monkeypatch.chdir(graded.course.root)
    told = CliRunner().invoke(app, ["report", START])
    assert told.exit_code == 0, told.output
    page = graded.course.grading / "reports" / f"{START}.html"
    assert "6 submissions" in page.read_text()
    with page.with_suffix(".csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [row["student"] for row in rows] == [f"s{number:02}" for number in range(6)]
    with Gradebook.open(graded.course) as gradebook:
        scores = {one.student: one.score for one in gradebook.results(graded)}
    assert {row["student"]: float(row["score"]) for row in rows} == scores
    assert rows[2]["misconceptions"].startswith("softmax: ")
    with page.with_name(f"{START}-checks.csv").open() as file:
        checks = list(csv.DictReader(file))
    assert len(checks) == len(graded.points_of_cells)
    assert {row["why it is not defined"] for row in checks} == {"fewer than 8 submissions"}
    assert f"{START}-checks.csv and {START}-misconceptions.csv" in told.output


@dataclass(frozen=True)
class NeverEnding(KernelFree):
    """Says of everybody's first check what a real runner says of one that does not end."""

    def run(self, *arguments) -> Executed:
        executed = super().run(*arguments)
        key = next(iter(executed.payloads))
        slow = Problem("slow", "It was still computing after 10 seconds and was stopped.")
        stopped = encode([Outcome(problem=slow)] * len(executed.payloads[key]))
        return replace(executed, payloads={**executed.payloads, key: stopped}, undisturbed=True)


def test_what_the_learner_is_told_of_a_loop_and_of_a_possible_cause_is_kept_with_the_result(tmp_path):
    lab = Lab.load(with_gradebook(new_course(tmp_path)), START)
    both = (
        "import numpy as np\n\ndef softmax(scores, axis=-1):\n    e = np.exp(scores)\n    return e / e.sum()"
    )
    hand_in(lab.course, lab, "two", solved(lab, {"softmax": both}))
    (record,) = grading.autograde(lab, grading.submissions(lab), KernelFree(tmp_path / "runs"), 5)
    assert record.recognised == () and record.notes == ()
    (loop,) = grading.autograde(
        lab, grading.submissions(lab), NeverEnding(tmp_path / "runs"), 5, again=Again.ALL
    )
    assert loop.notes == ("The check of `softmax` was stopped after 10 s. Does every loop end?",)
    with Gradebook.open(lab.course) as gradebook:
        (kept,) = gradebook.results(lab)
    assert (kept.marker.stands_out, kept.marker.notes) == (loop.stands_out, loop.notes)
    assert loop.stands_out == ("softmax: It takes too long. Does every loop end?",)
    assert record.possible and all(text.startswith("softmax: ") for text in record.possible)
    list(grading.autograde(lab, grading.submissions(lab), KernelFree(tmp_path / "runs"), 5))
    page, _ = write_report(lab)
    assert "it may be this mistake" in page.read_text()


def test_a_hand_in_that_another_one_replaces_is_remembered_and_one_graded_twice_is_not(graded, tmp_path):
    def grade() -> None:
        runner = KernelFree(tmp_path / "runs")
        list(grading.autograde(graded, grading.submissions(graded), runner, 5, again=grading.Again.ALL))

    def before(student: str) -> tuple[tuple[str, ...], ...]:
        with Gradebook.open(graded.course) as gradebook:
            (mine,) = gradebook.results(graded, [student])
        return mine.before

    grade()
    assert before("s02") == ()
    with Gradebook.open(graded.course) as gradebook:
        held = gradebook.results(graded, ["s02"])[0].marker.recognised
    assert held
    hand_in(graded.course, graded, "s02", solved(graded))
    grade()
    grade()
    assert before("s02") == (held,) and before("s01") == ()
    with Gradebook.open(graded.course) as gradebook:
        gradebook.merge("s02", "new", [])
    assert before("new") == (held,)


def test_what_a_human_graded_counts(graded):
    from nbgrader.api import Gradebook as NbgraderGradebook

    with NbgraderGradebook(graded.course.nbgrader_config().CourseDirectory.db_url) as book:
        grade = book.find_submission_notebook("start_here", START, "s01").grades[0]
        grade.manual_score = 2.5
        book.db.commit()
    with Gradebook.open(graded.course) as gradebook:
        (mine,) = [one for one in gradebook.results(graded) if one.student == "s01"]
    assert mine.score == 2.5


def test_without_grades_there_is_a_clear_message(tmp_path):
    lab = Lab.load(with_gradebook(new_course(tmp_path)), START)
    with pytest.raises(GraderError, match="grader autograde 00_start_here"):
        write_report(lab)


def test_a_place_that_cannot_be_written_is_said(graded, tmp_path):
    (tmp_path / "taken").write_text("")
    with pytest.raises(GraderError, match="--out"):
        write_report(graded, tmp_path / "taken" / "page.html")


# ---------------------------------------------------------------------------------- deadlines


def lateness_of(lab: Lab) -> dict[str, tuple[timedelta, float]]:
    with Gradebook.open(lab.course) as gradebook:
        gradebook.enter_lateness(lab)
        return {one.student: (one.late, one.penalty) for one in gradebook.results(lab)}


def with_deadline(lab: Lab, deadline: datetime | None, rule: str = "") -> None:
    (lab.course.root / "nbgrader_config.py").write_text(f"c = get_config()\n{rule}\n")
    with Gradebook.open(lab.course) as gradebook:
        gradebook.set_deadline(lab, deadline)


PER_DAY = (
    'c.AssignLatePenalties.plugin_class = "grader.plugins.late.PenaltyPerDay"\nc.PenaltyPerDay.percent = 20'
)
HANDED_IN_AT = datetime(2030, 1, 15, 12)  # what grader.handout.demo.hand_in writes


def test_late_work_costs_what_the_rule_says_and_nothing_without_one(graded):
    with_deadline(graded, HANDED_IN_AT - timedelta(hours=30))
    assert lateness_of(graded)["s00"] == (timedelta(hours=30), 0.0)
    with_deadline(graded, HANDED_IN_AT - timedelta(hours=30), PER_DAY)
    assert lateness_of(graded)["s00"] == (timedelta(hours=30), 2.0)  # two days have begun, of 5 points
    assert lateness_of(graded)["s01"] == (timedelta(hours=30), 0.0)  # 0 points: nothing to take
    with_deadline(graded, HANDED_IN_AT - timedelta(days=30), PER_DAY)
    assert lateness_of(graded)["s00"][1] == 5.0
    with_deadline(graded, HANDED_IN_AT - timedelta(days=1), 'c.LateSubmissionPlugin.penalty_method = "zero"')
    assert lateness_of(graded)["s00"][1] == 5.0
    with_deadline(graded, None, PER_DAY)
    assert lateness_of(graded)["s00"] == (timedelta(), 0.0)


def test_who_was_only_late_does_not_need_help(lab):
    solved = result(lab, "late", dict.fromkeys(exercises(lab), 1.0))
    late = replace(solved, late=timedelta(days=9), penalty=lab.points)
    begun = result(lab, "begun", {exercises(lab)[0]: 1.0})
    assert late.score == 0 and late.earned == lab.points
    assert [one.student for one in analyse(lab, [late, begun], [], None).needs_help] == ["begun"]


def test_an_extension_moves_one_student_s_deadline(graded, monkeypatch):
    with_deadline(graded, HANDED_IN_AT - timedelta(hours=30), PER_DAY)
    monkeypatch.chdir(graded.course.root)
    told = CliRunner().invoke(app, ["extend", START, "s00", "--days", "2"])
    assert told.exit_code == 0 and "The deadline is 2030-01-16 06:00 UTC." in told.output, told.output
    assert lateness_of(graded)["s00"] == (timedelta(), 0.0)
    late = [student for student, (_, penalty) in lateness_of(graded).items() if penalty]
    assert "s03" in late and lateness_of(graded)["s03"][1] == 2.0
    told = CliRunner().invoke(app, ["autograde", START, "--sandbox", "none", "--only-new"])  # runs nothing
    other = f"Scores that differ: {len(late)}. Because of: lateness ({len(late)})."
    assert other in " ".join(told.output.split()), told.output
    told = CliRunner().invoke(
        app, ["autograde", START, "--sandbox", "none", "--only-new", "--student", "s03"]
    )
    assert "Because of: lateness (1)." in " ".join(told.output.split()), told.output
    with Gradebook.open(graded.course) as gradebook:
        gradebook.enter_statuses([Status("s00", START, Kind.PENALTY, "1", "a file left out")])
    told = CliRunner().invoke(
        app, ["autograde", START, "--sandbox", "none", "--only-new", "--student", "s00"]
    )
    assert "Because of: a decision about the student (1)." in " ".join(told.output.split()), told.output
    CliRunner().invoke(app, ["extend", START, "s00", "--days", "0"])
    assert lateness_of(graded)["s00"][1] == 2.0


def test_only_who_is_on_the_roster_gets_more_time(tmp_path, monkeypatch):
    lab = Lab.load(with_gradebook(new_course(tmp_path)), START)
    monkeypatch.chdir(lab.course.root)

    def extend(student: str, days: str = "2"):
        return CliRunner().invoke(app, ["extend", START, student, "--days", days])

    assert extend("nobody").exit_code == 0  # there is no roster yet
    with Gradebook.open(lab.course) as gradebook:
        gradebook.enter_people(
            [
                Person("yberrocal@uni.example", "Ysé", "Berrocal", "yberrocal@uni.example"),
                Person("k1", "Ann", "Kim"),
                Person("k2", "Ann", "Kim"),
            ]
        )
    told = extend("yberrocal")
    assert told.exit_code == 0 and "2 extra days for yberrocal@uni.example" in told.output, told.output
    wrong = extend("somebody")
    assert wrong.exit_code == 1 and "'somebody' is not on the roster, so nothing has changed" in wrong.output
    several = extend("Ann Kim")
    assert (
        several.exit_code == 1
        and "'Ann Kim' may be several people: k1 (Ann Kim), k2 (Ann Kim)" in several.output
    )
    with Gradebook.open(lab.course) as gradebook:
        assert {each.student for each in gradebook.changes(START)} == {"nobody", "yberrocal@uni.example"}
    assert extend("nobody", "0").exit_code == 0  # what was given by mistake can be taken back


def test_an_extension_may_come_before_the_submission(tmp_path):
    lab = Lab.load(with_gradebook(new_course(tmp_path)), START)
    with Gradebook.open(lab.course) as gradebook:
        gradebook.register(lab)
        gradebook.extend(lab, "s00", timedelta(days=2))
    with_deadline(lab, HANDED_IN_AT - timedelta(hours=30), PER_DAY)
    hand_in_class(lab, 4)
    list(grading.autograde(lab, grading.submissions(lab), KernelFree(tmp_path / "runs"), 5))
    with Gradebook.open(lab.course) as gradebook:
        late = {one.student: one.penalty for one in gradebook.results(lab)}
    assert (late["s00"], late["s03"]) == (0.0, 2.0)


def test_an_extension_for_a_lab_that_is_not_released_waits_for_it_and_leaves_it_unreleased(
    tmp_path, monkeypatch
):
    lab = Lab.load(with_gradebook(new_course(tmp_path)), START)
    monkeypatch.chdir(lab.course.root)
    with Gradebook.open(lab.course) as gradebook:
        gradebook.enter_people([Person("s00", "Ann", "Kim"), Person("s03", "Bo", "Lee")])
    listed = tmp_path / "statuses.csv"
    listed.write_text(f"student,lab,status,reason\ns03,{START},extension 1,ill\n")
    why = ["--because", "ill"]
    for command in (
        ["extend", START, "s00", "--days", "2"],
        ["status", "set", "s03", "extension 2", START, *why],
        ["status", "withdraw", "s03", "extension 2", START, *why],
        ["status", "import", str(listed)],
        ["extend", START, "s03", "--days", "0"],
    ):
        told = CliRunner().invoke(app, command)
        assert told.exit_code == 0, told.output
    with Gradebook.open(lab.course) as gradebook:
        assert gradebook.deadlines() == {} and gradebook.extensions(lab) == {"s00": timedelta(days=2)}
    assert not any(row.released for row in week(lab.course, Rights()))
    with_deadline(lab, HANDED_IN_AT - timedelta(hours=30), PER_DAY)
    hand_in_class(lab, 4)
    list(grading.autograde(lab, grading.submissions(lab), KernelFree(tmp_path / "runs"), 5))
    assert (lateness_of(lab)["s00"][1], lateness_of(lab)["s03"][1]) == (0.0, 2.0)


def test_a_changed_deadline_counts_without_grading_anew(graded, tmp_path):
    with_deadline(graded, HANDED_IN_AT - timedelta(hours=1), PER_DAY)
    runner = KernelFree(tmp_path / "runs")
    before = len(runner.runs())
    records = list(
        grading.autograde(graded, grading.submissions(graded), runner, 5, again=grading.Again.CHANGED)
    )
    assert all(record.kept for record in records) and len(runner.runs()) == before
    with Gradebook.open(graded.course) as gradebook:
        assert {one.student: one.penalty for one in gradebook.results(graded)}["s00"] == 1.0


def test_a_broken_configuration_is_named(graded):
    with pytest.raises(GraderError, match=r"nbgrader_config\.py.*Fix it"):
        with_deadline(graded, HANDED_IN_AT, "c.nonsense = (")
        lateness_of(graded)


@pytest.mark.parametrize(
    "time",
    ["soonish", "", "3.1.2027 18:00", "03/01/2027 18:00", "2027-01-31", "18:00", "2027-02-30 18:00", "2027-01-31 18:00 Europe/Brlin",
     "2027-01-31 18:00 CEST", "2027-01-31 18:00 Europe", "2027-01-31 18:00 ../x", "9999-01-31 18:00", "0001-01-01 00:00 Asia/Tokyo"],
)  # fmt: skip
def test_a_time_that_is_none_or_may_be_another_is_refused(graded, monkeypatch, time):
    monkeypatch.chdir(graded.course.root)
    told = CliRunner().invoke(app, ["release", START, "--due", time])
    assert told.exit_code == 1 and "'2027-01-31 18:00 Europe/Berlin'" in told.output, told.output


@pytest.mark.parametrize(
    ("time", "hour"),
    [("2027-07-31 18:00", 18), ("2027-07-31 18:00 Europe/Berlin", 16), ("2027-07-31T18:00:00+02:00", 16), ("2027-07-31 18:00Z", 18),
     ("2027-07-31 18:00 UTC", 18), ("2027-07-31 18:00 -05:00", 23)],
)  # fmt: skip
def test_a_deadline_is_the_same_moment_in_every_zone(time, hour):
    assert _time(time) == datetime(2027, 7, 31, hour)


def test_a_page_is_not_overwritten_by_its_own_table(tmp_path):
    with pytest.raises(GraderError, match="end the name in .html"):
        write_page(tmp_path / "report.csv", "page", [["table"]])
    assert list(tmp_path.iterdir()) == []


def test_a_table_of_alike_pairs_does_not_take_the_place_of_their_page(graded, monkeypatch):
    monkeypatch.chdir(graded.course.root)
    told = CliRunner().invoke(app, ["similar", START, "--out", "pairs.csv"])
    assert told.exit_code == 1 and "end the name in .html" in told.output
    assert not (graded.course.root / "pairs.csv").exists()


@pytest.mark.parametrize("out", [".", "/", "grading"])
def test_a_page_that_is_to_be_a_folder_is_told_in_a_sentence(graded, monkeypatch, out):
    monkeypatch.chdir(graded.course.root)
    for command in (["report", START], ["term"], ["similar", START]):
        told = CliRunner().invoke(app, [*command, "--out", out])
        assert told.exit_code == 1 and "it is a folder: add the name of the file" in told.output
