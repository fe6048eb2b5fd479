"""Grades in Canvas, against a small server that behaves as Canvas's documentation says (Submissions, Progress, pagination, throttling)."""

from __future__ import annotations

import csv
import json
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
from classroom import START, KernelFree, book_of, new_course, with_gradebook
from typer.testing import CliRunner

from grader.cli import app
from grader.demo import hand_in, solved
from grader.errors import GraderError
from grader.grade import autograde as grading
from grader.grade.gradebook import Gradebook
from grader.lab import Lab
from grader.roster import Person
from grader.show import canvas as module
from grader.show.canvas import TOKEN, Canvas

COURSE, ASSIGNMENT, SECRET = 12, 345, "7~secret"
PATH = f"/api/v1/courses/{COURSE}/assignments/{ASSIGNMENT}"


@dataclass
class FakeCanvas:
    """Its grades, and every request that it got. ``refuse`` holds answers (status, headers, text) for the next requests."""

    points: float
    kind: str = "points"
    scores: dict[int, float | None] = field(default_factory=dict)
    excused: set[int] = field(default_factory=set)
    deaf: set[int] = field(default_factory=set)
    refuse: list[tuple[int, dict[str, str], str]] = field(default_factory=list)
    fail: str = ""
    next_page: str = ""
    requests: list[str] = field(default_factory=list)
    sent: list[dict[str, list[str]]] = field(default_factory=list)
    polls: int = 0
    url: str = ""

    def answer(
        self, method: str, target: str, token: str | None, form: str
    ) -> tuple[int, dict[str, str], str]:
        self.requests.append(f"{method} {target}")
        if self.refuse:
            return self.refuse.pop(0)
        if token != f"Bearer {SECRET}":
            return 401, {}, '{"errors": [{"message": "Invalid access token."}]}'
        parts = urlsplit(target)
        if (method, parts.path) == ("GET", PATH):
            what = {
                "id": ASSIGNMENT,
                "name": "Start",
                "points_possible": self.points,
                "grading_type": self.kind,
            }
            return 200, {}, json.dumps(what)
        if (method, parts.path) == ("GET", f"{PATH}/submissions"):
            return self._page(int(parse_qs(parts.query).get("page", ["1"])[0]))
        if (method, parts.path) == ("POST", f"{PATH}/submissions/update_grades"):
            self.sent.append(parse_qs(form))
            self.polls = 0
            return 200, {}, json.dumps({"id": 9, "workflow_state": "queued"})
        if (method, parts.path) == ("GET", "/api/v1/progress/9"):
            self.polls += 1
            if self.polls == 1:
                return 200, {}, json.dumps({"id": 9, "workflow_state": "running"})
            if self.fail:
                return 200, {}, json.dumps({"id": 9, "workflow_state": "failed", "message": self.fail})
            for key, value in self.sent[-1].items():
                number = int(key.removeprefix("grade_data[").removesuffix("][posted_grade]"))
                if number not in self.deaf:
                    self.scores[number] = float(value[0])
            return 200, {}, json.dumps({"id": 9, "workflow_state": "completed"})
        return 404, {}, '{"errors": [{"message": "The specified resource does not exist."}]}'

    def _page(self, page: int) -> tuple[int, dict[str, str], str]:
        """One student a page. Canvas's late policy takes half a point off ``score``, not off ``entered_score``."""
        number = sorted(self.scores)[page - 1]
        score = self.scores[number]
        entry = {
            "user_id": number, "entered_score": score, "score": score and score - 0.5,
            "excused": number in self.excused, "user": {"id": number, "name": f"Person {number}"},
        }  # fmt: skip
        following = self.next_page or f"{self.url}{PATH}/submissions?page={page + 1}"
        more = {"Link": f'<{self.url}{PATH}/submissions?page=1>; rel="first", <{following}>; rel="next"'}
        return 200, more if page < len(self.scores) else {}, json.dumps([entry])


@pytest.fixture(scope="module")
def lab(tmp_path_factory) -> Lab:
    """A lab with four graded submissions; one is of somebody whom Canvas does not know."""
    root = tmp_path_factory.mktemp("course")
    lab = Lab.load(with_gradebook(new_course(root)), START)
    for student in ("doe_1", "roe_2", "poe_3", "anna"):
        hand_in(lab.course, lab, student, lab.release() if student == "poe_3" else solved(lab))
    list(grading.autograde(lab, grading.submissions(lab), KernelFree(root / "runs"), 5))
    return lab


@pytest.fixture
def there(lab, monkeypatch) -> Iterator[FakeCanvas]:
    fake = FakeCanvas(lab.points, scores={1: lab.points, 2: None, 3: 1.0, 4: None})

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            form = self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode()
            status, headers, text = fake.answer(
                self.command, self.path, self.headers.get("Authorization"), form
            )
            self.send_response(status)
            for name, value in {**headers, "Content-Length": str(len(text.encode()))}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(text.encode())

        do_POST = do_GET

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    fake.url = f"http://127.0.0.1:{server.server_port}"
    monkeypatch.chdir(lab.course.root)
    monkeypatch.setenv(TOKEN, SECRET)
    yield fake
    server.shutdown()
    server.server_close()


@pytest.fixture(autouse=True)
def naps(monkeypatch) -> list[float]:
    """How long it would have slept, each time."""
    slept: list[float] = []
    monkeypatch.setattr(module.time, "sleep", slept.append)
    return slept


def export(there: FakeCanvas, *more: str):
    numbers = ("--course", str(COURSE), "--assignment", str(ASSIGNMENT))
    return CliRunner().invoke(app, ["export", START, "--canvas", there.url, *numbers, *more])


def test_without_send_it_only_says_what_differs(there, lab, tmp_path):
    result = export(there, "--out", str(tmp_path / "differences.csv"))
    assert result.exit_code == 0, result.output
    assert "Nothing was sent" in result.output and "anna" in result.output
    assert {request.split()[0] for request in there.requests} == {"GET"}
    rows = list(csv.reader((tmp_path / "differences.csv").open(newline="")))
    full = f"{lab.points:g}"
    assert rows[1:] == [["poe_3", "Person 3", "3", "1", "0"], ["roe_2", "Person 2", "2", "", full]]
    assert SECRET not in result.output


def test_work_that_is_newer_than_its_grade_is_told_before_anything_is_sent(there, lab):
    file = lab.course.submitted / "roe_2" / START / lab.notebook_name
    graded = file.read_bytes()
    file.write_bytes(graded + b" ")
    result = export(there)
    file.write_bytes(graded)
    assert "1 was handed in anew since it was graded: run" in result.output
    assert "handed in anew" not in export(there).output


def test_it_sends_what_differs_and_nothing_the_second_time(there, lab):
    result = export(there, "--send")
    assert result.exit_code == 0 and "read back: 2" in result.output, result.output
    assert there.sent == [
        {"grade_data[2][posted_grade]": [f"{lab.points:.2f}"], "grade_data[3][posted_grade]": ["0.00"]}
    ]
    assert there.scores == {1: lab.points, 2: lab.points, 3: 0.0, 4: None}
    again = export(there, "--send")
    assert again.exit_code == 0 and "0 grades differ" in again.output and len(there.sent) == 1


def test_many_grades_are_sent_in_parts(there, lab, monkeypatch):
    monkeypatch.setattr(module, "_BATCH", 1)
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
        ((429, {"Retry-After": "999999"}, ""), 120),
    ],
)
def test_throttled_requests_are_made_again(there, naps, refusal, waits):
    there.refuse = [refusal]
    assert export(there).exit_code == 0 and naps == [waits]


def test_it_gives_up_on_endless_throttling(there, naps):
    there.refuse = [(429, {}, "")] * 50
    result = export(there, "--send")
    assert result.exit_code == 1 and "in a few minutes" in result.output and naps == [1, 2, 4, 8, 16]


@pytest.mark.parametrize(
    ("refusal", "says"),
    [
        ((401, {}, "{}"), "does not accept the token"),
        ((403, {}, '{"status": "unauthorized"}'), "may not see or change"),
        ((404, {}, "{}"), "no such course or assignment"),
        ((302, {"Location": "http://127.0.0.1:1/login"}, ""), "status 302"),
        ((500, {}, ""), "status 500"),
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


def test_an_assignment_that_counts_otherwise_gets_nothing(there, lab):
    there.points = 100
    assert "100 points" in export(there, "--send").output
    there.points, there.kind = lab.points, "pass_fail"
    assert "not graded in points" in export(there, "--send").output
    assert there.sent == []


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
    assert "go with --canvas" in run(app, ["export", START, "--send"]).output
    assert "leave it out" in export(there, "--format", "moodle").output
    assert not Path("grades.csv").exists()


def test_a_section_limits_what_is_sent(there, lab):
    with Gradebook.open(lab.course) as gradebook:
        gradebook.enter_people([Person("roe_2", "Person", "2", section="Monday")])
    result = export(there, "--section", "Monday", "--send")
    assert result.exit_code == 0 and "read back: 1" in result.output, result.output
    assert there.sent == [{"grade_data[2][posted_grade]": [f"{lab.points:.2f}"]}]
    assert "no section 'Friday'" in str(export(there, "--section", "Friday", "--send").output)
    assert len(there.sent) == 1
