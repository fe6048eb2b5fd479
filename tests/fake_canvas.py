"""A web server for tests that stands for Canvas, and time that passes only while somebody sleeps."""

from __future__ import annotations

import contextlib
import json
import re
import threading
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from email.message import Message
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

SECRET = "7~secret"
COURSE, ASSIGNMENT = 12, 345
PATH = f"/api/v1/courses/{COURSE}/assignments/{ASSIGNMENT}"
PLACES = {
    "assignment": f"GET {PATH}",
    "list": f"GET {PATH}/submissions",
    "entering": f"POST {PATH}/submissions/update_grades",
    "progress": "GET /api/v1/progress/9",
    "policy": f"GET /api/v1/courses/{COURSE}/late_policy",
    "file": f"POST {PATH}/submissions/2/comments/files",
    "upload": "POST /files_api",
    "confirm": "GET /api/v1/files/70/create_success",
    "comment": f"PUT {PATH}/submissions/2",
    "groups": "GET /api/v1/group_categories/8/groups",
    "members": "GET /api/v1/groups/50/users",
}

Reply = tuple[int, dict[str, str], str | bytes | Iterable[bytes]]


@contextlib.contextmanager
def serving(
    answer: Callable[[str, str, Any, str], Reply],
    seen: Callable[[Message], Any] = lambda headers: headers.get("Authorization"),
) -> Iterator[str]:
    """Serves what a function answers to method, target, token and form. A body of several parts is sent as they come, without its length.

    Args:
        seen: what the function sees of the headers; by default, the token.
    """

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            form = self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode()
            status, headers, body = answer(self.command, self.path, seen(self.headers), form)
            whole = body.encode() if isinstance(body, str) else body
            if isinstance(whole, bytes):
                headers = {"Content-Length": str(len(whole))} | headers
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.end_headers()
            with contextlib.suppress(ConnectionError):  # the client may have had enough
                for part in [whole] if isinstance(whole, bytes) else whole:
                    self.wfile.write(part)

        do_POST = do_PUT = do_GET

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


class Clock:
    """Time that passes only while somebody sleeps."""

    def __init__(self) -> None:
        self.naps: list[float] = []

    def sleep(self, seconds: float) -> None:
        self.naps.append(seconds)

    def monotonic(self) -> float:
        return sum(self.naps)


@dataclass
class ToRead:
    """What Canvas says: path below /api/v1 -> an object, or a list, of which each page has one entry.

    Attributes:
        refuse: answers for the next requests, in the place of its own.
        next_page: the address of each next page, in the place of its own.
    """

    says: dict[str, Any]
    refuse: list[Reply] = field(default_factory=list)
    next_page: str = ""
    requests: list[str] = field(default_factory=list)
    url: str = ""

    def answer(self, method: str, target: str, token: str | None, _: str) -> Reply:
        self.requests.append(f"{method} {target}")
        if self.refuse:
            return self.refuse.pop(0)
        parts = urlsplit(target)
        said = self.says.get(parts.path.removeprefix("/api/v1"))
        if token != f"Bearer {SECRET}" or said is None:
            return 404 if token else 401, {}, "{}"
        if not isinstance(said, list):
            return 200, {}, json.dumps(said)
        page = int(parse_qs(parts.query).get("page", ["1"])[0])
        following = self.next_page or f"{self.url}{parts.path}?page={page + 1}"
        more = {"Link": f'<{following}>; rel="next"'} if page < len(said) else {}
        return 200, more, json.dumps(said[page - 1 : page])


@dataclass
class FakeCanvas:
    """Its grades, and every request that it got.

    Attributes:
        about: what else it says about the assignment.
        groups: number of a group -> its members, who get one grade if the assignment says so.
        refuse: answers (status, headers, body) for the next requests, in the place of its own.
        lie: makes of every answer, given its place, another one. A body of several parts is sent as they come, without its length.
    """

    points: float
    kind: str = "points"
    about: dict[str, Any] = field(default_factory=dict)
    groups: dict[int, list[int]] = field(default_factory=dict)
    scores: dict[int, float | None] = field(default_factory=dict)
    excused: set[int] = field(default_factory=set)
    late: dict[int, float] = field(default_factory=dict)
    deducting: bool | None = None
    comments: list[tuple[int, dict[str, list[str]]]] = field(default_factory=list)
    uploads: list[tuple[str | None, str]] = field(default_factory=list)
    upload_at: str = ""
    deaf: set[int] = field(default_factory=set)
    refuse: list[Reply] = field(default_factory=list)
    lie: Callable[[str, Reply], Reply] = lambda place, reply: reply
    fail: str = ""
    next_page: str = ""
    requests: list[str] = field(default_factory=list)
    sent: list[dict[str, list[str]]] = field(default_factory=list)
    polls: int = 0
    url: str = ""

    def answer(self, method: str, target: str, token: str | None, form: str) -> Reply:
        asked = f"{method} {target.partition('?')[0]}"
        place = next((name for name, request in PLACES.items() if request == asked), "")
        return self.lie(place, self._answer(method, target, token, form))

    def _answer(self, method: str, target: str, token: str | None, form: str) -> Reply:
        self.requests.append(f"{method} {target}")
        if self.refuse:
            return self.refuse.pop(0)
        if method == "POST" and target == "/files_api":
            self.uploads.append((token, form))
            return 201, {"Location": f"{self.url}/api/v1/files/70/create_success?uuid=u"}, "{}"
        if token != f"Bearer {SECRET}":
            return 401, {}, '{"errors": [{"message": "Invalid access token."}]}'
        parts = urlsplit(target)
        if (method, parts.path) == ("GET", PATH):
            what = {
                "id": ASSIGNMENT,
                "name": "Start",
                "points_possible": self.points,
                "grading_type": self.kind,
                **self.about,
            }
            return 200, {}, json.dumps(what)
        if (method, parts.path) == ("GET", f"{PATH}/submissions"):
            return self._page(int(parse_qs(parts.query).get("page", ["1"])[0]))
        if (method, parts.path) == ("GET", "/api/v1/group_categories/8/groups"):
            return 200, {}, json.dumps([{"id": number, "name": "a group"} for number in self.groups])
        if method == "GET" and (group := re.fullmatch("/api/v1/groups/([0-9]+)/users", parts.path)):
            return 200, {}, json.dumps([{"id": number} for number in self.groups.get(int(group[1]), [])])
        if (method, parts.path) == ("POST", f"{PATH}/submissions/update_grades"):
            if self.about.get("published") is False:
                return 403, {}, '{"status": "unauthorized"}'
            self.sent.append(parse_qs(form))
            self.polls = 0
            return 200, {}, json.dumps({"id": 9, "workflow_state": "queued"})
        if (method, parts.path) == ("GET", f"/api/v1/courses/{COURSE}/late_policy"):
            if self.deducting is None:
                return 404, {}, "{}"
            return 200, {}, json.dumps({"late_policy": {"late_submission_deduction_enabled": self.deducting}})
        if method == "POST" and re.fullmatch(f"{PATH}/submissions/[0-9]+/comments/files", parts.path):
            where = {
                "upload_url": f"{self.upload_at or self.url}/files_api",
                "upload_params": {"key": "k", "n": 1},
            }
            return 200, {}, json.dumps(where)
        if (method, parts.path) == ("GET", "/api/v1/files/70/create_success"):
            return 200, {}, json.dumps({"id": 70, "display_name": "page.html"})
        if method == "PUT" and (whose := re.fullmatch(f"{PATH}/submissions/([0-9]+)", parts.path)):
            said = parse_qs(form)
            self.comments.append((int(whose[1]), said))
            if said.get("submission[late_policy_status]") == ["late"]:
                self.late[int(whose[1])] = float(said["submission[seconds_late_override]"][0])
            return 200, {}, json.dumps({"user_id": int(whose[1])})
        if (method, parts.path) == ("GET", "/api/v1/progress/9"):
            self.polls += 1
            if self.polls == 1:
                return 200, {}, json.dumps({"id": 9, "workflow_state": "running"})
            if self.fail:
                return 200, {}, json.dumps({"id": 9, "workflow_state": "failed", "message": self.fail})
            for key, value in self.sent[-1].items():
                if key.endswith("][excuse]"):
                    self.excused.add(int(key.removeprefix("grade_data[").removesuffix("][excuse]")))
                    continue
                number = int(key.removeprefix("grade_data[").removesuffix("][posted_grade]"))
                together = next((own for own in self.groups.values() if number in own), [number])
                for member in together if self.about.get("group_category_id") else [number]:
                    if member in self.scores and member not in self.deaf:
                        self.scores[member] = self._meant(value[0])
                        self.excused.discard(member)
            return 200, {}, json.dumps({"id": 9, "workflow_state": "completed"})
        return 404, {}, '{"errors": [{"message": "The specified resource does not exist."}]}'

    def _meant(self, grade: str) -> float:
        """Per cent are per cent. Every other number is the grade of the scheme that is called so, if there is one: here, the 5 is worth 30 %."""
        if grade.endswith("%"):
            return self.points * float(grade[:-1]) / 100
        scheme = self.kind in ("letter_grade", "gpa_scale") and float(grade) == 5
        return 0.3 * self.points if scheme else float(grade)

    def _page(self, page: int) -> Reply:
        """One student a page. Canvas's late policy takes half a point off ``score``, not off ``entered_score``."""
        if page > len(self.scores):
            return 200, {}, "[]"
        number = sorted(self.scores)[page - 1]
        score = self.scores[number]
        entry = {
            "user_id": number, "entered_score": score, "score": score and score - 0.5,
            "excused": number in self.excused, "user": {"id": number, "name": f"Person {number}"},
            "late": number in self.late, "seconds_late": self.late.get(number, 0),
        }  # fmt: skip
        following = self.next_page or f"{self.url}{PATH}/submissions?page={page + 1}"
        more = {"Link": f'<{self.url}{PATH}/submissions?page=1>; rel="first", <{following}>; rel="next"'}
        return 200, more if page < len(self.scores) else {}, json.dumps([entry])
