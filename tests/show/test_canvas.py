"""Grades in Canvas, against a small server that behaves as Canvas's documentation says (Submissions, Progress, pagination, throttling).

It can also lie: any answer may be replaced by others, by bytes that are no JSON, or by a body that does not end.
"""

from __future__ import annotations

import csv
import gzip
import itertools
import json
import re
import threading
import tracemalloc
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from classroom import START, book_of, gradebook_undone, graded_lab
from fake_canvas import ASSIGNMENT, COURSE, PATH, PLACES, SECRET, Clock, FakeCanvas, Reply, serving
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from grader.book.gradebook import Gradebook
from grader.book.sent import Sent
from grader.book.statuses import Kind, Status
from grader.cli import app
from grader.errors import GraderError
from grader.people import canvas as module
from grader.people import server
from grader.people.canvas import TOKEN, Canvas
from grader.people.roster import Person
from grader.reference.lab import Lab
from grader.show import to_canvas


@pytest.fixture(scope="module")
def lab(tmp_path_factory) -> Lab:
    """A lab with four graded submissions; one is of somebody whom Canvas does not know."""
    return graded_lab(
        tmp_path_factory.mktemp("course"), ("doe_1", "roe_2", "poe_3", "anna"), unsolved="poe_3"
    )


@pytest.fixture
def there(lab, monkeypatch) -> Iterator[FakeCanvas]:
    fake = FakeCanvas(lab.points, scores={1: lab.points, 2: None, 3: 1.0, 4: None})

    monkeypatch.chdir(lab.course.root)
    monkeypatch.setenv(TOKEN, SECRET)
    with serving(fake.answer) as fake.url:
        yield fake


@pytest.fixture(autouse=True)
def naps(monkeypatch) -> list[float]:
    """How long it would have slept, each time."""
    clock = Clock()
    for each in (module, server):
        monkeypatch.setattr(each, "time", clock)
    return clock.naps


@pytest.fixture(autouse=True)
def nothing_stays_sent(lab) -> Iterator[None]:
    """What one test has sent, the next one does not know."""
    with gradebook_undone(lab.course):
        yield


def export(there: FakeCanvas, *more: str, replace: bool = True):
    numbers = ("--course", str(COURSE), "--assignment", str(ASSIGNMENT))
    more = ("--replace", *more) if replace else more
    return CliRunner().invoke(app, ["export", START, "--canvas", there.url, *numbers, *more])


def test_without_send_it_only_says_what_differs(there, lab, tmp_path):
    result = export(there, "--out", str(tmp_path / "differences.csv"))
    assert result.exit_code == 0, result.output
    assert "Nothing was sent" in result.output and "anna" in result.output
    assert {request.split()[0] for request in there.requests} == {"GET"}
    rows = list(csv.reader((tmp_path / "differences.csv").open(newline="")))
    full = f"{lab.points:g}"
    assert rows[1:] == [
        ["poe_3", "Person 3", "3", "1", "0", "", ""],
        ["roe_2", "Person 2", "2", "", full, "", ""],
    ]
    assert SECRET not in result.output and "The assignment in Canvas: “Start”." in result.output


def test_work_that_is_newer_than_its_grade_is_told_before_anything_is_sent(there, lab):
    file = lab.course.submitted / "roe_2" / START / lab.notebook_name
    graded = file.read_bytes()
    file.write_bytes(graded + b" ")
    result = export(there)
    file.write_bytes(graded)
    assert "1 was handed in again since it was graded: run" in result.output
    assert "handed in again" not in export(there).output


def test_it_sends_what_differs_and_nothing_the_second_time(there, lab):
    result = export(there, "--send")
    assert result.exit_code == 0 and "read back: 2" in result.output, result.output
    assert there.sent == [
        {"grade_data[2][posted_grade]": [f"{lab.points:.2f}"], "grade_data[3][posted_grade]": ["0.00"]}
    ]
    assert there.scores == {1: lab.points, 2: lab.points, 3: 0.0, 4: None}
    again = export(there, "--send")
    assert again.exit_code == 0 and "0 grades differ" in again.output and len(there.sent) == 1


def test_whom_the_gradebook_excuses_canvas_excuses_too_and_a_zero_is_a_grade(there, lab):
    given = [
        Status("poe_3", START, Kind.EXCUSED, "", "ill"),
        Status("roe_2", START, Kind.ZERO, "", "copied"),
    ]
    with gradebook_undone(lab.course):
        with Gradebook.open(lab.course) as gradebook:
            gradebook.enter_statuses(given)
        assert "excused" in export(there, "--send").output
        assert there.sent == [{"grade_data[3][excuse]": ["true"], "grade_data[2][posted_grade]": ["0.00"]}]
        assert there.excused == {3}
        assert "0 grades differ" in export(there).output


def test_grades_that_somebody_entered_in_canvas_are_kept_and_named(there, lab):
    result = export(there, "--send", replace=False)
    assert result.exit_code == 0 and there.scores[3] == 1.0 and there.scores[2] == lab.points, result.output
    assert "poe_3 (1 there, 0 here). Somebody entered or changed these" in " ".join(result.output.split())
    assert export(there, "--send").exit_code == 0 and there.scores[3] == 0.0


def test_grades_that_were_sent_from_here_follow_the_gradebook(there, lab):
    export(there, "--send")
    with Gradebook.open(lab.course) as gradebook:
        gradebook.enter_statuses([Status("roe_2", START, Kind.ZERO, "", "copied"),
                                  Status("doe_1", START, Kind.EXCUSED, "", "ill")])  # fmt: skip
    assert export(there, "--send", replace=False).exit_code == 0
    assert there.scores[2] == 0.0 and there.excused == {1}
    with Gradebook.open(lab.course) as gradebook:
        gradebook.withdraw_status(Status("doe_1", START, Kind.EXCUSED, "", "not ill"))
    assert export(there, "--send", replace=False).exit_code == 0 and there.excused == set()
    there.scores[2] = 3.0  # in Canvas
    result = export(there, "--send", replace=False)
    assert "roe_2 (3 there, 0 here)" in result.output and there.scores[2] == 3.0


def test_what_was_sent_goes_with_an_id_that_is_merged_into_another(lab):
    with Gradebook.open(lab.course) as gradebook:
        gradebook.note_sent(lab, "there", {"old": Sent(1.0), "both": Sent(2.0), "new": Sent(3.0)})
        gradebook.merge("old", "newer", [])
        gradebook.merge("both", "new", [])
        assert gradebook.sent(lab, "there") == {"newer": Sent(1.0), "new": Sent(3.0)}
        assert gradebook.sent(lab, "elsewhere") == {}


# ---------------------------------------------------------------------------------- feedback pages and lateness


@pytest.fixture
def pages(lab) -> Iterator[dict[str, Path]]:
    """Student -> feedback page, of two students who have one."""
    found = {who: lab.course.feedback / who / START / f"{lab.slug}.html" for who in ("roe_2", "doe_1")}
    for who, page in found.items():
        page.parent.mkdir(parents=True, exist_ok=True)
        page.write_text(f"<p>Feedback for {who}, é</p>", "utf-8")
    yield found
    for page in found.values():
        page.unlink()


def test_feedback_pages_are_attached_once_and_again_only_if_they_change(there, pages):
    dry = export(there, "--feedback")
    assert (
        "Canvas does not have: 2" in dry.output
        and there.uploads == []
        and "poe_3. They have no feedback" in dry.output
    )
    result = export(there, "--feedback", "--send")
    assert result.exit_code == 0 and "Feedback pages sent: 2" in result.output, result.output
    assert [number for number, _ in there.comments] == [1, 2]
    _, said = there.comments[0]
    assert said["comment[file_ids][]"] == ["70"] and "download the page" in said["comment[text_comment]"][0]
    assert "Feedback for doe_1, é" in there.uploads[0][1] and 'name="key"' in there.uploads[0][1]
    assert export(there, "--feedback", "--send").exit_code == 0 and len(there.comments) == 2
    pages["roe_2"].write_text("<p>Another page</p>")
    assert "Feedback pages sent: 1" in export(there, "--feedback", "--send").output
    assert [number for number, _ in there.comments] == [1, 2, 2]


def test_what_a_reader_says_stands_in_the_comment_itself(there, pages, lab):
    with book_of(lab.course) as book:
        notebook = book.find_submission_notebook("start_here", START, "doe_1")
        comment, *_ = notebook.comments
        name, comment.manual_comment = comment.name, "Well done, é."
        book.db.commit()
    assert export(there, "--feedback", "--send").exit_code == 0
    said = {number: form["comment[text_comment]"][0] for number, form in there.comments}
    assert said[1].endswith(f"open it in a browser.\n\n{name}: Well done, é.")
    assert said[2].endswith("open it in a browser.")


def test_where_files_go_never_gets_the_token(there, pages, monkeypatch):
    """Also if that is another server, which then sends on to Canvas."""
    assert export(there, "--feedback", "--send").exit_code == 0
    there.upload_at = there.url.replace("127.0.0.1", "localhost")
    pages["roe_2"].write_text("<p>Another page</p>")
    result = export(there, "--feedback", "--send")
    assert result.exit_code == 1 and "no address with HTTPS" in result.output and len(there.uploads) == 2
    monkeypatch.setattr(module, "_is_https", lambda url: True)
    assert export(there, "--feedback", "--send").exit_code == 0
    assert len(there.uploads) == 3 and {token for token, _ in there.uploads} == {None}


@pytest.mark.parametrize(
    ("place", "reply", "says"),
    [
        ("file", (200, {}, '{"upload_params": {}}'), "where a file goes"),
        ("file", (200, {}, '{"upload_url": "ftp://x", "upload_params": {}}'), "no address with HTTPS"),
        ("file", (200, {}, '{"upload_url": "https://[", "upload_params": {}}'), "no address with HTTPS"),
        ("file", (200, {}, '{"upload_url": "https://x", "upload_params": {"a": ["b"]}}'), "where a file goes"),
        ("file", (403, {}, "{}"), "may not see or change"),
        ("upload", (201, {"Location": "http://localhost:9/steal"}, "{}"), "continues at another address"),
        ("upload", (302, {"Location": "http://[/"}, ""), "continues at another address"),
        ("upload", (500, {}, ""), "does not take the file"),
        ("upload", (200, {"Content-Length": "99"}, "{"), "breaks its answer off"),
        ("upload", (200, {}, "{}"), "an uploaded file has no usable id"),
        ("confirm", (200, {}, '{"id": null}'), "an uploaded file has no usable id"),
        ("comment", (404, {}, "{}"), "no such course or assignment"),
        ("comment", (502, {}, ""), "status 502"),
    ],
)  # fmt: skip
def test_if_a_page_cannot_be_sent_the_rest_is_sent_by_the_same_command(there, pages, place, reply, says):
    pages["doe_1"].unlink()  # so the first is the second student's
    there.lie = lambda where, own: reply if where == place else own
    result = export(there, "--feedback", "--send")
    said = " ".join(result.output.split())
    assert result.exit_code == 1 and says in said and "This was at roe_2" in said and SECRET not in said
    assert not any("localhost" in request or "steal" in request for request in there.requests)
    assert sum(request.startswith("PUT") for request in there.requests) <= 1  # a comment is not made twice
    pages["doe_1"].write_text("<p>Feedback for doe_1</p>")
    there.lie, there.comments = lambda where, own: own, []
    assert export(there, "--feedback", "--send").exit_code == 0
    assert [number for number, _ in there.comments] == [1, 2]


@pytest.mark.parametrize("deducting", [None, False, True])
def test_who_is_late_is_marked_unless_canvas_would_take_points_off_once_more(
    there, lab, monkeypatch, deducting
):
    from datetime import timedelta

    from grader.book.deadlines import Deadlines

    own = Deadlines.results
    late = {"doe_1": timedelta(hours=30), "roe_2": timedelta(hours=2)}
    monkeypatch.setattr(
        Deadlines,
        "results",
        lambda self, *how: [
            replace(each, late=late.get(each.student, timedelta())) for each in own(self, *how)
        ],
    )
    there.late, there.deducting = {2: 60.0}, deducting
    result = export(there, "--send")
    assert result.exit_code == 0, result.output
    if deducting:
        assert there.comments == [] and "take points off once more" in result.output
    else:
        marks = {"submission[late_policy_status]": ["late"], "submission[seconds_late_override]": ["108000"]}
        assert there.comments == [(1, marks)] and "Marked as late: 1" in result.output
        assert "1.25 days" not in export(there).output


def test_many_grades_are_sent_in_parts(there, lab, monkeypatch):
    monkeypatch.setattr(to_canvas, "BATCH", 1)
    assert export(there, "--send").exit_code == 0
    assert [len(form) for form in there.sent] == [1, 1]


def test_grades_of_excused_students_and_of_unfinished_grading_stay(there, lab):
    there.excused = {3}
    with book_of(lab.course) as book:
        grade = book.find_submission_notebook("start_here", START, "roe_2").grades[0]
        kept, grade.auto_score = grade.auto_score, None
        book.db.commit()
        result = export(there, "--send")
        grade.auto_score = kept
        book.db.commit()
    assert result.exit_code == 0 and there.sent == [] and "0 grades differ" in result.output
    said = " ".join(result.output.split())
    assert "roe_2. They have answers that wait" in said and "poe_3. Canvas has them as excused" in said


@pytest.mark.parametrize(
    ("refusal", "waits"),
    [
        ((429, {"Retry-After": "7"}, ""), 7),
        ((403, {}, "403 Forbidden (Rate Limit Exceeded)"), 1),
        ((503, {}, ""), 1),
        ((429, {"Retry-After": "Wed, 21 Oct 2099 07:28:00 GMT"}, ""), 1),
        ((429, {"Retry-After": "-5"}, ""), 1),
    ],
)
def test_throttled_requests_are_made_again(there, naps, refusal, waits):
    there.refuse = [refusal]
    assert export(there).exit_code == 0 and naps == [waits]


def test_it_gives_up_on_endless_throttling(there, naps):
    there.refuse = [(429, {}, "")] * 50
    result = export(there, "--send")
    assert result.exit_code == 1 and "in a few minutes" in result.output and naps == [1, 2, 4, 8, 16]


@pytest.mark.parametrize("asked", ["121", "31536000", "9" * 6000])
def test_it_does_not_wait_for_a_year(there, naps, asked):
    there.refuse = [(429, {"Retry-After": asked}, "")]
    result = export(there)
    assert result.exit_code == 1 and naps == []
    assert f"wants {asked[:8]}" in result.output and "again after that" in result.output


@pytest.mark.parametrize(
    ("refusal", "says"),
    [
        ((401, {}, "{}"), "does not accept the token"),
        (
            (401, {}, '{"status":"unauthorised","errors":[{"message":"user not authorised"}]}'),
            "may not see or change",
        ),
        ((401, {}, '{"errors":[{"message":"Expired access token."}]}'), "does not accept the token"),
        ((403, {}, '{"status": "unauthorized"}'), "may not see or change"),
        ((404, {}, "{}"), "no such course or assignment"),
        ((302, {"Location": "http://127.0.0.1:1/login"}, ""), "status 302"),
        ((500, {}, ""), "fails with status 500. Run the same command again later"),
        ((200, {}, "<html>Log in</html>"), "does not answer as Canvas"),
        ((200, {}, "[]"), "does not answer as Canvas"),
    ],
)
def test_what_canvas_refuses_is_said_in_a_sentence(there, refusal, says):
    there.refuse = [refusal]
    result = export(there, "--send")
    assert (
        result.exit_code == 1 and says in result.output and there.sent == [] and SECRET not in result.output
    )


def test_the_token_goes_to_no_other_address(there):
    there.next_page = "http://localhost:9/api/v1/more"
    result = export(there)
    assert result.exit_code == 1 and "another address" in result.output


# ---------------------------------------------------------------------------------- answers that are not Canvas's


def replacing(place: str, *replies: Reply) -> Callable[[str, Reply], Reply]:
    """A lie: the answers at one place, in turn; the last of them for ever."""
    left = list(replies)
    return lambda where, reply: (left.pop(0) if len(left) > 1 else left[0]) if where == place else reply


def seen_as(result) -> str:
    """What was said, after making sure that it is a sentence and no traceback, and does not tell the token."""
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    assert result.exit_code in (0, 1) and SECRET not in result.output
    last = result.output.strip().splitlines()[-1]
    assert len(last) < 2000 and last.endswith((".", "?", ")")), last
    return last


def test_a_list_that_does_not_end_is_given_up(there):
    entry = json.dumps([{"user_id": 1, "score": 1.0}])
    here = f"{there.url}{PATH}/submissions"
    itself = {"Link": f'<{here}?per_page=100&include[]=user>; rel="next"'}
    there.lie = replacing("list", (200, itself, entry))
    assert "does not end: page 1 continues at" in seen_as(export(there)) and len(there.requests) == 2
    pages = itertools.count(2)

    def another(place: str, reply: Reply) -> Reply:
        more = {"Link": f'<{here}?page={next(pages)}>; rel="next"'}
        return (200, more, entry) if place == "list" else reply

    there.lie = another
    assert f"page {server.PAGES} continues at" in seen_as(export(there))


def test_a_list_that_takes_too_long_is_given_up(there, naps):
    """Each page is throttled once for two minutes."""
    pages = itertools.count(2)

    def slow(place: str, reply: Reply) -> Reply:
        if place != "list":
            return reply
        page = next(pages)
        more = {"Link": f'<{there.url}{PATH}/submissions?page={page}>; rel="next"'}
        return (200, more, "[]") if page % 2 else (429, {"Retry-After": "120"}, "")

    there.lie = slow
    assert "does not end" in seen_as(export(there)) and sum(naps) < 500


def test_a_relative_link_to_the_next_page_is_followed(there):
    def relative(place: str, reply: Reply) -> Reply:
        return reply[0], {key: value.replace(there.url, "") for key, value in reply[1].items()}, reply[2]

    there.lie = relative
    assert "2 grades differ" in export(there).output


BOMB = gzip.compress(b"[" + b" " * 50_000_000)


@pytest.mark.parametrize("encodings", [1, 2])
def test_what_is_packed_is_unpacked_only_as_far_as_an_answer_may_be_long(there, encodings):
    """Less than 64 KB on the way: 50 MB of spaces, packed once or twice."""
    packed = gzip.compress(BOMB) if encodings == 2 else BOMB
    there.lie = replacing(
        "list", (200, {"Content-Encoding": ", ".join(["gzip"] * encodings)}, packed[:60_000])
    )
    tracemalloc.start()
    try:
        said = seen_as(export(there))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert "more than 8 MB" in said and peak < 30e6


@pytest.mark.parametrize(("status", "headers"), [(200, {}), (302, {"Location": "/login"})])
def test_a_body_without_an_end_is_given_up(there, status, headers):
    there.lie = replacing("list", (status, headers, itertools.repeat(b"[" + b" " * 65536)))
    assert "more than 8 MB" in seen_as(export(there))


def test_a_body_that_drips_is_given_up(there, monkeypatch):
    monkeypatch.setattr(server, "ANSWER_SECONDS", 0.2)
    over = threading.Event()

    def drips() -> Iterator[bytes]:
        yield b"["
        over.wait(60)

    there.lie = replacing("list", (200, {}, drips()))
    said = seen_as(export(there))
    over.set()
    assert "has not finished an answer in 0.2 s" in said


@pytest.mark.parametrize(
    ("place", "body", "says"),
    [
        ("list", "[" * 100_000, "not the JSON"),
        ("list", "[1" + "0" * 6000 + "]", "not the JSON"),
        ("list", '[{"user_id": 2, "score": NaN}]', "not the JSON"),
        ("list", '[{"user_id": 2, "score": 1e999}]', "points of the student 2 are no usable number"),
        ("list", '[{"user_id": 2, "score": 1' + "0" * 400 + "}]", "points of the student 2"),
        ("list", '[{"user_id": 2, "entered_score": "five"}]', "points of the student 2"),
        ("list", '[{"user_id": 2, "score": true}]', "points of the student 2"),
        ("list", '[{"user_id": 2, "excused": "no"}]', "excused is neither true nor false"),
        ("list", '[{"score": 1}]', "the student of a submission has no usable id"),
        ("list", '[{"user_id": [2], "score": 1}]', "has no usable id"),
        ("list", '[{"user_id": -2, "score": 1}]', "has no usable id"),
        ("list", "[7]", "one of the submissions is not an object"),
        ("list", '[{"anonymous_id": "x7", "score": 1}]', "graded anonymously"),
        ("list", '[{"user_id": 2, "score": 1}, {"user_id": "2", "score": 3}]', "the student 2 twice"),
        ("list", b"\xff\xfe[", "not the JSON"),
        ("list", "", "not the JSON"),
        ("assignment", '{"errors": [{"message": "no"}]}', "no name, kind or points"),
        ("assignment", '{"name": "x", "grading_type": "points", "points_possible": "5"}', "points of the assignment"),
        ("assignment", '{"name": "x", "grading_type": "points", "points_possible": null}', "has no points"),
        ("entering", '{"workflow_state": "queued"}', "the job that enters grades has no usable id"),
        ("entering", '{"workflow_state": "queued", "id": "9/../../users"}', "no usable id"),
        ("entering", "{}", "could not enter all grades"),
        ("progress", '{"workflow_state": ["running"]}', "could not enter all grades"),
        ("progress", '{"workflow_state": "failed", "message": {"a": 1}}', "could not enter all grades: 'failed'"),
        ("progress", '{"workflow_state": "failed", "message": "\\u001b[2J' + SECRET + '"}', "\ufffd[2J…"),
        ("progress", "<html>Log in</html>", "not the JSON"),
    ],
)  # fmt: skip
def test_what_canvas_would_not_say_is_one_sentence(there, place, body, says):
    there.lie = replacing(place, (200, {}, body))
    said = seen_as(export(there, "--send"))
    assert says in said
    assert ("may have been entered by then" in said) == bool(there.sent)


def test_a_user_that_is_no_user_only_has_no_name(there, tmp_path):
    entries = [{"user_id": number, "score": 1.0, "user": ["Ada"]} for number in (1, 2, 3)]
    there.lie = replacing("list", (200, {}, json.dumps(entries)))
    assert export(there, "--out", str(tmp_path / "differences.csv")).exit_code == 0
    assert [row[1] for row in csv.reader((tmp_path / "differences.csv").open(newline=""))][1:] == ["", "", ""]


def test_a_job_that_never_ends_is_given_up_after_five_minutes(there, naps):
    there.lie = replacing("progress", (200, {}, '{"id": 9, "workflow_state": "running"}'))
    said = seen_as(export(there, "--send"))
    assert "has not entered all grades yet" in said and "may have been entered" in said and sum(naps) < 310


def test_if_it_fails_after_the_first_part_it_says_that_grades_may_be_there(there, monkeypatch):
    monkeypatch.setattr(to_canvas, "BATCH", 1)
    posts = itertools.count()

    def second_refused(place: str, reply: Reply) -> Reply:
        return (401, {}, "{}") if place == "entering" and next(posts) else reply

    there.lie = second_refused
    said = seen_as(export(there, "--send"))
    assert "does not accept the token" in said and "Of these 2 grades, 1 are known to be in Canvas" in said


@pytest.mark.parametrize("status", [500, 503])
def test_what_was_sent_before_canvas_failed_is_known_and_not_sent_twice(there, lab, monkeypatch, status):
    """Also if the gradebook has another grade by then: it is still ours in Canvas."""
    monkeypatch.setattr(to_canvas, "BATCH", 1)

    def second_fails(place: str, reply: Reply) -> Reply:
        return (status, {}, "") if len(there.sent) > 1 else reply  # and everything after it

    there.scores = {1: lab.points, 2: None, 3: None, 4: None}
    there.lie = second_fails
    said = seen_as(export(there, "--send", replace=False))
    assert f"status {status}" in said and "Of these 2 grades, 1 are known to be in Canvas" in said
    assert there.scores[3] == 0.0 and there.scores[2] is None
    there.lie, there.sent = lambda place, reply: reply, []
    with Gradebook.open(lab.course) as gradebook:
        gradebook.enter_statuses([Status("poe_3", START, Kind.EXCUSED, "", "ill")])
    assert export(there, "--send", replace=False).exit_code == 0
    assert there.sent == [
        {"grade_data[3][excuse]": ["true"]},
        {"grade_data[2][posted_grade]": [f"{lab.points:.2f}"]},
    ]


def test_a_student_whom_canvas_refuses_does_not_keep_the_others_from_theirs(there, lab, monkeypatch):
    monkeypatch.setattr(to_canvas, "BATCH", 1)

    def first_failed(place: str, reply: Reply) -> Reply:
        failed = place == "progress" and len(there.sent) == 1 and there.polls == 2
        message = {"id": 9, "workflow_state": "failed", "message": "Couldn't find User(s) with API ids '2'"}
        return (200, {}, json.dumps(message)) if failed else reply

    there.deaf, there.lie = {3}, first_failed
    said = seen_as(export(there, "--send"))
    assert "API ids '2'" in said and "Of these 2 grades, 1 are known to be in Canvas" in said
    assert there.scores[2] == lab.points and there.scores[3] == 1.0


def test_what_an_answer_was_lost_of_is_looked_up(there, lab):
    """Canvas enters the grades, and breaks down before it says so. They are noted as ours."""

    def lost(place: str, reply: Reply) -> Reply:
        return (500, {}, "") if place == "progress" and there.polls == 2 else reply

    there.lie = lost
    assert "Of these 2 grades, 2 are known to be in Canvas" in seen_as(export(there, "--send"))
    with Gradebook.open(lab.course) as gradebook:
        noted = gradebook.sent(lab, f"{there.url}{PATH.removeprefix('/api/v1')}")
    assert {who: each.score for who, each in noted.items()} == dict.fromkeys(
        ["doe_1", "roe_2"], lab.points
    ) | {"poe_3": 0.0}


def test_an_excuse_that_canvas_has_withdrawn_is_not_sent_back(there, lab):
    place = f"{there.url}{PATH.removeprefix('/api/v1')}"
    with Gradebook.open(lab.course) as gradebook:
        gradebook.enter_statuses([Status("roe_2", START, Kind.EXCUSED, "", "excused in Canvas")], place=place)
    result = export(there, "--send")
    assert "roe_2. Their excuse came from Canvas, which has it no longer" in " ".join(result.output.split())
    assert there.excused == set() and there.scores[2] is None


def test_cookies_are_not_kept(there):
    def sweet(place: str, reply: Reply) -> Reply:
        return reply[0], {**reply[1], "Set-Cookie": f"a{len(there.requests)}=1; Path=/"}, reply[2]

    there.lie = sweet
    client = Canvas(there.url, SECRET, COURSE, ASSIGNMENT)
    assert len(client.submissions()) == 4 and len(client._session.cookies) == 0


ANOTHER = itertools.count()
RAW = st.sampled_from(
    ["NaN", "-Infinity", "1e999", "9" * 6000, "9" * 400, "[" * 9999, "", "{", '"\\ud800"', f'"{SECRET}"', "1", '"1"']
)  # fmt: skip
ANY_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=9), inner, max_size=3),
    max_leaves=8,
).map(json.dumps)
HEADERS = st.fixed_dictionaries(
    {},
    optional={
        "Link": st.sampled_from(["<", "next", '<>; rel="next"', '<//localhost:9/x>; rel="next"', '<http://[>; rel="next"',
                                 '<?page=2>; rel="next"', '<http://a\\@b/>; rel=next; rel=prev', ", <;;;="]),
        "Content-Encoding": st.sampled_from(["gzip", "br", "deflate", "identity", "gzip, gzip, gzip, gzip, gzip, gzip", "?"]),
        "Content-Type": st.sampled_from(["text/html; charset=none-such", "image/png", ""]),
        "Content-Length": st.sampled_from(["99999", "1", "-1", "x"]),
        "Retry-After": st.sampled_from(["0", "-1", "\xb2", "soon", "1e9", "9" * 5000]),
        "Location": st.just("http://localhost:9/login"),
        "Transfer-Encoding": st.just("chunked"),
    },
)  # fmt: skip


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_whatever_a_server_answers_it_works_or_says_one_sentence(there, naps, lab, pages, data):
    """One value of an otherwise right answer is another one or missing, at any place, and headers and status may be odd, too."""
    there.scores, there.sent, there.polls = {1: lab.points, 2: None, 3: 1.0, 4: None}, [], 0
    there.groups = {50: [1, 2], 51: [3]}
    there.about = {"group_category_id": 8, "grade_group_students_individually": False, "due_at": None}
    there.about |= {"published": True, "post_manually": True}
    there.requests.clear()
    naps.clear()
    pages["roe_2"].write_text(f"<p>{next(ANOTHER)}</p>")
    where = data.draw(st.sampled_from([*PLACES]))
    change = data.draw(st.one_of(RAW, ANY_JSON, st.none()))  # None: it is left out
    depth = data.draw(st.integers(0, 3))
    choice = data.draw(st.integers(0, 9))
    headers = data.draw(st.one_of(st.just({}), HEADERS))
    status = data.draw(st.sampled_from([200, 200, 200, 201, 204, 301, 302, 401, 403, 429, 500, 503, 999]))

    def lie(place: str, reply: Reply) -> Reply:
        if place != where:
            return reply
        said, mark = {"": json.loads(reply[2])}, '"the place"'
        inside, key = said, ""
        for _ in range(depth):
            below = inside[key]
            if not isinstance(below, (dict, list)) or not below:
                break
            keys = list(below) if isinstance(below, dict) else range(len(below))
            inside, key = below, keys[choice % len(keys)]
        if change is None:
            del inside[key]
        else:
            inside[key] = json.loads(mark)
        return status, {**reply[1], **headers}, json.dumps(said.get("")).replace(mark, change or "")

    there.lie = lie
    result = export(there, "--feedback", "--send")
    said = seen_as(result)
    assert sum(naps) <= 1000 and len(there.requests) < 400
    assert not any("localhost" in request for request in there.requests)
    if result.exit_code:
        assert not there.sent or re.search(
            "may have been entered by then|has not taken the grades of|and this one may be", said
        )
    else:
        assert "read back" in result.output or "0 grades differ" in result.output


def test_an_assignment_that_counts_otherwise_gets_nothing(there, lab):
    there.points = 100
    assert "100 points" in export(there, "--send").output
    there.points, there.kind = lab.points, "pass_fail"
    assert "not graded in points" in export(there, "--send").output
    there.kind, there.about = "points", {"published": False}
    assert "is not published, so it takes no grades" in export(there).output
    assert there.sent == []


@pytest.mark.parametrize("kind", ["points", "percent", "letter_grade", "gpa_scale"])
def test_a_score_is_no_grade_of_a_scheme_that_has_its_name(there, lab, kind):
    there.kind = kind
    assert export(there, "--send").exit_code == 0
    assert there.scores == {1: lab.points, 2: lab.points, 3: 0.0, 4: None}
    assert "0 grades differ" in export(there).output


def test_points_that_are_the_same_but_for_rounding_are_the_same(there, lab):
    there.points = lab.points + 1e-9
    assert "2 grades differ" in export(there).output


def test_where_grades_are_posted_by_hand_it_says_so(there):
    there.about = {"post_manually": True}
    note = "Learners see what is sent only when somebody posts it in Canvas"
    assert note in " ".join(export(there, "--send").output.split())
    assert note not in " ".join(export(there).output.split())  # nothing differs any more


def test_a_grade_for_a_whole_group_is_sent_only_if_all_of_it_have_it(there, lab):
    there.about = {"group_category_id": 8, "grade_group_students_individually": False}
    there.groups = {50: [1, 2, 999], 51: [3, 4]}
    result = export(there, "--send")  # 4 has no grade here, and 3 has 0
    text = " ".join(result.output.split())
    assert "poe_3. Canvas gives all of a group one grade" in text and "roe_2. Canvas gives" not in text
    assert there.scores == {1: lab.points, 2: lab.points, 3: 1.0, 4: None}
    there.about["grade_group_students_individually"] = True
    assert export(there, "--send").exit_code == 0 and there.scores[3] == 0.0


def test_a_failed_job_and_grades_that_do_not_arrive_are_reported(there):
    there.fail = "no permission for 1 student"
    assert "no permission for 1 student" in export(there, "--send").output
    there.fail, there.deaf = "", {2}
    result = export(there, "--send")
    assert result.exit_code == 1 and "has not taken the grades of roe_2" in result.output


@pytest.mark.parametrize(
    "url",
    [
        "http://canvas.example.edu",
        "canvas.example.edu",
        "https://",
        "ftp://x",
        "https://me:pw@x.org",
        "https://[x",
    ],
)
def test_an_address_that_would_show_the_token_is_refused(url):
    with pytest.raises(GraderError, match="https://"):
        Canvas(url, SECRET, 1, 2)


@pytest.mark.parametrize("token", ["", "two\nlines", "é"])
def test_a_token_that_cannot_be_one_is_refused(token):
    with pytest.raises(GraderError, match=TOKEN):
        Canvas("https://canvas.example.edu", token, 1, 2)


def test_a_server_that_is_not_there(there):
    there.url = "http://127.0.0.1:1"
    result = export(there)
    assert result.exit_code == 1 and "cannot be reached" in result.output


def test_options_that_do_not_go_together(there):
    run = CliRunner().invoke
    assert "Name one lab" in run(app, ["export", "--canvas", there.url]).output
    assert "goes with --canvas" in run(app, ["export", START, "--send"]).output
    assert "leave them out" in export(there, "--format", "moodle").output
    assert not Path("grades.csv").exists()


def test_a_section_limits_what_is_sent(there, lab):
    with Gradebook.open(lab.course) as gradebook:
        gradebook.enter_people([Person("roe_2", "Person", "2", section="Monday")])
    result = export(there, "--section", "Monday", "--send")
    assert result.exit_code == 0 and "read back: 1" in result.output, result.output
    assert there.sent == [{"grade_data[2][posted_grade]": [f"{lab.points:.2f}"]}]
    assert "no section 'Friday'" in str(export(there, "--section", "Friday", "--send").output)
    assert len(there.sent) == 1
