"""Scores by LTI, against a platform that is as strict as the standards let it be, and against worse ones."""

from __future__ import annotations

import csv
import itertools
import json
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta

import pytest
from classroom import START, book_of, gradebook_undone, graded_lab
from fake_canvas import Clock, Reply
from fake_lti import AGS, COLUMNS, QUERY, FakePlatform, member, needs_lti, register
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from grader.book.deadlines import Deadlines
from grader.book.gradebook import Gradebook
from grader.book.statuses import Kind, Status
from grader.cli import app
from grader.people import server
from grader.people.roster import Person
from grader.reference.lab import Lab

pytestmark = needs_lti
USERS = {"doe": "u1", "roe": "U2", "poe": "3"}


@pytest.fixture(scope="module")
def lab(tmp_path_factory) -> Lab:
    """A lab with four graded submissions; one is of somebody whom nobody knows on the platform."""
    return graded_lab(tmp_path_factory.mktemp("course"), ("doe", "roe", "poe", "anna"), unsolved="poe")


@pytest.fixture
def there(lab, monkeypatch) -> Iterator[FakePlatform]:
    """A platform that knows three of them, and has a column in which one has a score of somebody's."""
    fake = FakePlatform([member(user, who.title(), "X") for who, user in USERS.items()])
    fake.columns = {7: {"label": "Attention", "scoreMaximum": 20, "resourceId": "02_self_attention"},
                    8: {"label": "By hand", "scoreMaximum": 5},
                    9: {"label": "Start", "scoreMaximum": lab.points, "resourceId": START}}  # fmt: skip
    fake.results[9] = {"u1": lab.points, "3": 1.0}
    monkeypatch.chdir(lab.course.root)
    monkeypatch.setattr(server, "time", Clock())
    with fake.serving() as fake.url, gradebook_undone(lab.course):
        register(lab.course.grading, fake.url)
        with Gradebook.open(lab.course) as gradebook:
            gradebook.note_lti_users(fake.url, USERS)
        yield fake


def export(there: FakePlatform, *more: str) -> tuple[int, str]:
    return there.what_is_said(CliRunner().invoke(app, ["export", START, "--lti", *more]))


def refused(there: FakePlatform, *more: str) -> str:
    status, said = export(there, *more)
    assert status == 1 and len(said) < 3000 and said.endswith((".", "?")), said
    return said


def test_without_send_it_only_says_what_differs(there, lab, tmp_path):
    file = tmp_path / "differences.csv"
    status, said = export(there, "--replace", "--out", str(file))
    assert status == 0 and "“Start”" in said and "Nothing was sent" in said and there.scores == []
    assert "anna. Nobody knows who they are on the platform; run `grader roster lti`" in said
    full = f"{lab.points:g}"
    assert list(csv.reader(file.open(newline="")))[1:] == [
        ["poe", "3", "1", "0", ""],
        ["roe", "U2", "", full, ""],
    ]
    assert {each.split()[0] for each in there.requests if "/token" not in each} == {"GET"}


def test_it_sends_what_differs_with_all_that_the_standard_asks_for_and_nothing_the_second_time(there, lab):
    status, said = export(there, "--replace", "--send")
    assert status == 0 and "Entered on the platform and read back: 2." in said
    assert there.results[9] == {"u1": lab.points, "U2": lab.points, "3": 0.0}
    sent = {score["userId"]: score for score in there.scores}
    stamp = sent["U2"].pop("timestamp")
    assert sent.keys() == {"U2", "3"} and stamp.endswith("+00:00")
    assert sent["U2"] == {
        "userId": "U2",
        "scoreGiven": lab.points,
        "scoreMaximum": lab.points,
        "activityProgress": "Completed",
        "gradingProgress": "FullyGraded",
    }
    status, said = export(there, "--send")
    assert status == 0 and "0 scores differ" in said and len(there.scores) == 2
    assert len(there.tokens) == 5  # not one for each score


def test_a_column_is_made_once_with_the_lab_s_points(there, lab):
    del there.columns[9], there.results[9]
    status, said = export(there)
    assert status == 0 and "There is no column for 00_start_here" in said and 9 not in there.columns
    assert export(there, "--send")[0] == 0
    (made,) = (each for each in there.columns.values() if each.get("resourceId") == START)
    assert made == {"label": "Lab 00: Start here", "scoreMaximum": lab.points, "resourceId": START}
    assert "0 scores differ" in export(there, "--send")[1] and len(there.columns) == 3


def test_scores_that_somebody_entered_there_are_kept_and_named_and_ours_follow_the_gradebook(there, lab):
    status, said = export(there, "--send")
    assert status == 0 and there.results[9]["3"] == 1.0
    assert "poe (1 there, 0 here). Somebody entered or changed these grades on the platform" in said
    with Gradebook.open(lab.course) as gradebook:
        gradebook.enter_statuses([Status(who, START, Kind.ZERO, "", "copied") for who in ("doe", "roe")])
    assert export(there, "--send")[0] == 0
    assert there.results[9] == {"u1": 0.0, "U2": 0.0, "3": 1.0}  # what was the same counts as ours
    there.results[9]["U2"] = 3.0
    assert "roe (3 there, 0 here)" in export(there, "--send")[1] and there.results[9]["U2"] == 3.0


def test_who_is_excused_or_waits_gets_nothing_and_is_named(there, lab):
    with Gradebook.open(lab.course) as gradebook:
        gradebook.enter_statuses([Status("poe", START, Kind.EXCUSED, "", "ill")])
    with book_of(lab.course) as book:
        book.find_submission_notebook("start_here", START, "roe").grades[0].auto_score = None
        book.db.commit()
    status, said = export(there, "--send", "--replace")
    assert status == 0 and there.scores == []
    assert "poe (1 there). They are excused, which LTI cannot say" in said
    assert "roe. They have answers that wait" in said


def test_how_late_work_was_stands_in_the_comment(there, monkeypatch):
    own = Deadlines.results
    monkeypatch.setattr(
        Deadlines,
        "results",
        lambda self, *how: [
            replace(each, late=timedelta(hours=30 * (each.student == "roe"))) for each in own(self, *how)
        ],
    )
    assert "1.25 days" in export(there)[1] and export(there, "--send", "--replace")[0] == 0
    assert {each["userId"]: each.get("comment") for each in there.scores} == {
        "U2": "Handed in 1.25 days after the deadline.",
        "3": None,
    }


def test_a_section_limits_what_is_sent(there, lab):
    with Gradebook.open(lab.course) as gradebook:
        gradebook.enter_people([Person("roe", "Roe", "X", section="Monday")])
    assert export(there, "--section", "Monday", "--send", "--replace")[0] == 0
    assert [each["userId"] for each in there.scores] == ["U2"]


def test_where_results_cannot_be_read_only_what_was_not_sent_before_is_sent(there, lab):
    there.granted.discard(AGS["result.readonly"])
    status, said = export(there, "--send")
    assert (
        status == 0
        and "may not read results" in said
        and "read back" not in said.replace("cannot be read back", "")
    )
    assert {each["userId"] for each in there.scores} == {"u1", "U2", "3"}
    assert "0 scores differ" in export(there, "--send")[1] and len(there.scores) == 3
    del there.columns[9]
    status, said = export(
        there, "--send"
    )  # a new column: that results cannot be read is found out at the end
    assert status == 0 and "Entered on the platform: 3." in said


def test_a_score_that_the_platform_does_not_take_keeps_nobody_else_from_theirs(there, lab):
    there.members = there.members[1:]
    there.results[9] = {}
    said = refused(there, "--send")
    assert "does not have the scores of doe" in said and there.results[9] == {"U2": lab.points, "3": 0.0}
    there.members, there.deaf = [member("u1", "Jane", "Doe")], {"u1"}
    assert "does not have the scores of doe" in refused(there, "--send")


def test_tokens_that_expire_are_renewed(there, lab):
    there.lifetime = 1
    assert export(there, "--send", "--replace")[0] == 0
    assert there.results[9] == {"u1": lab.points, "U2": lab.points, "3": 0.0} and len(there.scores) == 2


@pytest.mark.parametrize("status", [403, 429, 500, 503])
def test_what_was_sent_before_the_platform_failed_is_known_and_not_sent_twice(there, lab, status):
    there.results[9] = {}

    def second_fails(place: str, reply: Reply) -> Reply:
        return (status, {}, "") if place == "POST scores" and len(there.scores) > 1 else reply

    there.lie = second_fails
    said = refused(there, "--send")
    # the fake has entered the second one, too, before it failed: it is found there
    known = len(there.results[9])
    assert f"Of these 3 scores, {known} are known to be on the platform" in said
    there.lie, there.scores = lambda place, reply: reply, []
    assert export(there, "--send")[0] == 0 and len(there.scores) == 3 - known
    with Gradebook.open(lab.course) as gradebook:
        noted = gradebook.sent(lab, f"{there.url}{COLUMNS}/9/lineitem?{QUERY}")
    assert {who: each.score for who, each in noted.items()} == {
        "doe": lab.points,
        "roe": lab.points,
        "poe": 0.0,
    }


def test_a_column_that_counts_otherwise_or_is_there_twice_gets_nothing(there, lab):
    there.columns[9]["scoreMaximum"] = 100
    assert "has 100 points, but 00_start_here has 5" in refused(there, "--send")
    there.columns[10] = there.columns[9] | {"label": "Again"}
    assert "has 2 columns of this tool for 00_start_here: 'Start', 'Again'" in refused(there, "--send")
    assert there.scores == []


COLUMN = {
    "id": "URL/services/2/lineitems/9/lineitem?type_id=3",
    "label": "Start",
    "scoreMaximum": 5,
    "resourceId": START,
}


@pytest.mark.parametrize(
    ("place", "reply", "said"),
    [
        ("GET lineitems", (200, {}, "{}"), "not the JSON"),
        ("GET lineitems", (200, {}, itertools.repeat(b" " * 65536)), "more than 8 MB"),
        ("GET lineitems", (200, {"Link": '<http://localhost:9/steal>; rel="next"'}, "[]"), "another address"),
        ("GET lineitems", (200, {}, [COLUMN | {"id": "http://localhost:9/steal"}]), "a column at another address"),
        ("GET lineitems", (200, {}, [COLUMN | {"id": "URL.evil.example/x"}]), "a column at another address"),
        ("GET lineitems", (200, {}, [COLUMN | {"id": 9}]), "no address, label or points"),
        ("GET lineitems", (200, {}, [COLUMN | {"scoreMaximum": 0}]), "no address, label or points"),
        ("GET lineitems", (200, {}, [COLUMN | {"scoreMaximum": "5"}]), "points of a column are no usable number"),
        ("GET lineitems", (401, {}, ""), "may not use the service (lineitem)"),
        ("GET lineitems", (403, {}, ""), "may not use the service (lineitem)"),
        ("GET lineitems", (301, {"Location": "http://localhost:9/steal"}, ""), "status 301"),
        ("GET results", (200, {}, "{}"), "not the JSON"),
        ("GET results", (200, {}, [7]), "not an object"),
        ("GET results", (200, {}, [{"userId": "u1", "resultScore": True}]), "points of a result"),
        ("GET results", (200, {}, [{"userId": "u1", "resultScore": 1, "resultMaximum": 0}]), "most points of a result"),
        ("GET results", (200, {}, [{"resultScore": 1}]), "one of the results has no usable id"),
        ("GET results", (200, {}, [{"userId": "u1", "resultScore": 1}, {"userId": "u1", "resultScore": 2}]), "twice, and differently"),
        ("GET results", (200, {"Link": '<?>; rel="next"'}, "[]"), "does not end"),
        ("GET results", (500, {}, ""), "fails with status 500"),
    ],
)  # fmt: skip
def test_what_no_platform_would_say_is_one_sentence_and_nothing_is_sent(there, place, reply, said):
    status, headers, body = reply
    if isinstance(body, list):
        body = json.dumps(body).replace("URL", there.url)
    there.lie = lambda where, own: (status, headers, body) if where == place else own
    assert said in refused(there, "--send", "--replace")
    assert there.scores == [] and not any("steal" in each for each in there.requests)


def test_a_column_that_was_not_confirmed_is_found_by_the_same_command(there):
    del there.columns[9], there.results[9]
    there.lie = lambda where, own: (502, {}, "") if where == "POST lineitems" else own
    assert "status 502" in refused(there, "--send")
    there.lie = lambda where, own: own
    assert export(there, "--send")[0] == 0 and len(there.columns) == 3


@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.sampled_from(["POST token", "GET lineitems", "GET results", "POST scores"]),
    st.sampled_from(["NaN", "[" * 9999, "9" * 5000, "", "{}", "[]", "[{}]", '{"access_token": {}}', '[{"resourceId": "00_start_here"}]']),
    st.sampled_from([200, 201, 204, 301, 400, 401, 403, 404, 409, 429, 503, 999]),
)  # fmt: skip
def test_whatever_a_platform_answers_it_works_or_says_one_sentence(there, place, body, status):
    there.lie = lambda where, own: (status, {}, body) if where == place else own
    worked, _ = export(there, "--send", "--replace")
    assert worked == 0 or refused(there, "--send", "--replace")


def test_options_that_do_not_go_together(there):
    run = CliRunner().invoke
    assert "Name one lab" in run(app, ["export", "--lti"]).output
    for more in (("--format", "csv"), ("--feedback",), ("--worksheet", "x.csv")):
        assert "Name one lab" in export(there, *more)[1]
    assert "Choose one" in export(there, "--canvas", "https://canvas.example.edu")[1]
    assert "go with --canvas" in export(there, "--course", "3")[1]
