"""Grades to Canvas, by its REST API (https://developerdocs.instructure.com/services/canvas): what differs, and sending it.

Nothing is sent by :func:`differences`, and :func:`send` sends only what that has found and then reads it back. Requests are made one after the other, which
Canvas rarely throttles; where it does (429, or 403 with *Rate Limit Exceeded*), they wait as long as it says.

What answers need not be Canvas: an address may be wrong, and a server broken or hostile. So every answer is limited in bytes and seconds, a list in pages and
minutes, and a value is used only after it was seen to be what Canvas documents. Whatever else comes is one sentence.
"""

from __future__ import annotations

import json
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from http.cookiejar import DefaultCookiePolicy
from queue import Empty, SimpleQueue
from threading import Thread
from typing import Any
from urllib.parse import urljoin, urlsplit

import requests

from grader.book.gradebook import Gradebook
from grader.book.statuses import by_student
from grader.errors import GraderError
from grader.files import printable
from grader.people.students import number_in_id
from grader.reference.lab import Lab
from grader.show.export import see_that_nobody_shares
from grader.show.standing import (
    Standing,
    anew_in_words,
    collected,
    graded,
    handed_in_anew,
    in_words,
    scores_of,
    standings,
)

TOKEN = "CANVAS_TOKEN"
"""The environment variable with the access token: on a command line others could read it."""

_TRIES = 6
_BATCH = 100
_PATIENCE = 300
"""Seconds until Canvas must have entered a batch, or given its whole list."""
_LONGEST_WAIT = 120
"""Seconds between two tries."""
_TIMEOUT = 60
"""Seconds without a byte."""
_ANSWER_SECONDS = 120
_ANSWER_BYTES = 8 * 2**20
"""Unpacked. As Python objects, JSON takes up to 30 times its size."""
_PAGES = 1000


@dataclass(frozen=True)
class Difference:
    """A grade that Canvas does not have.

    Attributes:
        name: what Canvas calls the student.
        number: Canvas's number of the student.
        before: the points that Canvas has, before its own deductions for lateness; None if it has none.
        after: the score in the gradebook; None if this student is excused.
    """

    student: str
    name: str
    number: str
    before: float | None
    after: float | None


@dataclass(frozen=True)
class Assignment:
    """What Canvas says about an assignment. It counts no points where ``points`` is None."""

    name: str
    points: float | None
    kind: str


@dataclass(frozen=True)
class Entry:
    """What Canvas says about a student's submission; of the points, those before its own deductions for lateness."""

    name: str
    points: float | None
    excused: bool


@dataclass(frozen=True)
class _Answer:
    status: int
    retry_after: str
    following: str
    body: bytes


class Canvas:
    """An assignment of a course in Canvas."""

    def __init__(self, url: str, token: str, course: int, assignment: int) -> None:
        """
        Raises:
            GraderError: the address is not a valid URL, or not HTTPS.
        """
        try:
            parts = urlsplit(url)
            local = parts.hostname in ("localhost", "127.0.0.1", "::1")
        except ValueError:
            parts, local = urlsplit(""), False
        if (
            not parts.hostname
            or parts.username
            or not (parts.scheme == "https" or (parts.scheme == "http" and local))
        ):
            raise GraderError(f"{url!r} is not Canvas's address. Write it as https://canvas.example.edu.")
        if not token or not token.isascii() or not token.isprintable():
            raise GraderError(
                f"There is no usable access token in the environment variable {TOKEN}. Make one in Canvas under Account > Settings > New Access Token, then "
                f"`read -rs {TOKEN} && export {TOKEN}` keeps it out of the shell's history."
            )
        self.address = f"{parts.scheme}://{parts.netloc}"
        self._api = f"{self.address}/api/v1"
        self._assignment = f"{self._api}/courses/{course}/assignments/{assignment}"
        self._session = requests.Session()
        self._session.cookies.set_policy(DefaultCookiePolicy(allowed_domains=()))  # none is needed
        self._token = token

    def assignment(self) -> Assignment:
        """What Canvas says about the assignment."""
        found = self._json(self._answer("GET", self._assignment), dict)
        match found:
            case {"name": str(name), "grading_type": str(kind), "points_possible": points}:
                return Assignment(
                    self._said(name), self._number(points, "the points of the assignment"), kind
                )
        raise self._strange("the assignment has no name, kind or points")

    def submissions(self) -> dict[str, Entry]:
        """Number of a student -> what Canvas says about the submission. Everybody who has the assignment is in it."""
        found: dict[str, Entry] = {}
        url, asked = f"{self._assignment}/submissions?per_page=100&include[]=user", set()
        deadline = time.monotonic() + _PATIENCE
        while url:
            if url in asked or len(asked) == _PAGES or time.monotonic() > deadline:
                raise GraderError(
                    f"The list of submissions of {self.address} does not end: page {len(asked)} continues at {self._said(url)!r}. Try again later; if it stays so, "
                    "enter the grades from a file (`grader export --format canvas`)."
                )
            asked.add(url)
            answer = self._answer("GET", url)
            for each in self._json(answer, list):
                number, entry = self._entry(each)
                if found.setdefault(number, entry) != entry:
                    raise GraderError(
                        f"{self.address} lists the student {number} twice, and differently. Perhaps somebody is grading there: run the same command again."
                    )
            try:
                url = urljoin(url, answer.following) if answer.following else ""
            except ValueError:  # no address at all
                url = answer.following
            if url and not url.startswith(f"{self._api}/"):
                raise GraderError(
                    f"{self.address} continues its list at another address, {self._said(url)!r}. Nothing was sent there. Is the address right?"
                )
        return found

    def enter(self, grades: Mapping[str, float | None]) -> None:
        """Enters grades (number of a student -> points; None: excused), and waits until Canvas has done so.

        Raises:
            GraderError: Canvas refuses, fails, or takes longer than five minutes. Some of them may have been entered.
        """
        items = list(grades.items())
        for start in range(0, len(items), _BATCH):
            form = {
                f"grade_data[{number}][{'excuse' if score is None else 'posted_grade'}]": (
                    "true" if score is None else f"{score:.2f}"
                )
                for number, score in items[start : start + _BATCH]
            }
            progress = self._json(
                self._answer("POST", f"{self._assignment}/submissions/update_grades", form), dict
            )
            deadline = time.monotonic() + _PATIENCE
            while (state := progress.get("workflow_state")) in ("queued", "running"):
                if time.monotonic() > deadline:
                    raise GraderError(f"{self.address} has not entered all grades yet.")
                time.sleep(1)
                number = self._id(progress.get("id"), "the job that enters grades")
                progress = self._json(self._answer("GET", f"{self._api}/progress/{number}"), dict)
            if state != "completed":
                why = next(
                    (text for text in (progress.get("message"), state) if isinstance(text, str) and text), ""
                )
                raise GraderError(f"{self.address} could not enter all grades: {self._said(why)!r}.")

    # what may be wrong with an answer

    def _entry(self, said: object) -> tuple[str, Entry]:
        """Whose submission this is, and what is said about it."""
        if not isinstance(said, dict):
            raise self._strange("one of the submissions is not an object")
        if said.get("user_id") is None and "anonymous_id" in said:
            raise GraderError(
                f"{self.address} does not say whose the submissions are, because the assignment is graded anonymously. Show the names there, then run the same command again."
            )
        number = self._id(said.get("user_id"), "the student of a submission")
        points = said.get("entered_score", said.get("score"))
        excused, user = said.get("excused"), said.get("user")
        if not isinstance(excused, bool | None):
            raise self._strange(f"whether the student {number} is excused is neither true nor false")
        name = user.get("name") if isinstance(user, dict) else None  # only shown
        return number, Entry(
            self._said(name) if isinstance(name, str) else "",
            self._number(points, f"the points of the student {number}"),
            bool(excused),
        )

    def _id(self, value: object, whose: str) -> str:
        text = str(value) if type(value) is int and 0 < value < 10**20 else value
        if not (isinstance(text, str) and text.isascii() and text.isdigit() and len(text) <= 20):
            raise self._strange(f"{whose} has no usable id")
        return text

    def _number(self, value: object, what: str) -> float | None:
        if value is None:
            return None
        if type(value) not in (int, float) or not -1e9 < value < 1e9:  # NaN is neither
            raise self._strange(f"{what} are no usable number")
        return float(value)

    def _said(self, text: str) -> str:
        """A text of the server's, made safe to show."""
        return printable(text.replace(self._token, "…"), 200)

    def _strange(self, how: str) -> GraderError:
        return GraderError(
            f"{self.address} does not answer as Canvas does: {how}. Is the address right? If so, enter the grades from a file (`grader export --format canvas`)."
        )

    def _json(self, answer: _Answer, kind: type) -> Any:
        try:
            found = json.loads(answer.body, parse_constant=_refuse)
        except (
            ValueError,
            RecursionError,
        ):  # none at all, a number of thousands of digits, or absurdly nested
            found = None
        if not isinstance(found, kind):
            raise self._strange("this is not the JSON that was asked for")
        return found

    # requests

    def _answer(self, method: str, url: str, form: Mapping[str, str] | None = None) -> _Answer:
        for attempt in range(_TRIES):
            answer = self._in_time(method, url, form)
            throttled = answer.status == 429 or (
                answer.status == 403 and b"rate limit exceeded" in answer.body.lower()
            )
            if not throttled and answer.status not in (502, 503, 504):  # entering a grade twice is harmless
                break
            asked = answer.retry_after if answer.retry_after.isascii() else ""
            if asked.isdigit() and (len(asked) > 9 or int(asked) > _LONGEST_WAIT):
                raise GraderError(
                    f"{self.address} wants {printable(asked, 9)} s without requests, longer than this waits. Run the same command again after that."
                )
            if attempt < _TRIES - 1:
                time.sleep(int(asked) if asked.isdigit() else 2**attempt)
        if answer.status in (200, 201):
            return answer
        if throttled:
            raise GraderError(
                f"{self.address} is throttling requests. Run the same command again in a few minutes."
            )
        why = {
            401: f"it does not accept the token in {TOKEN}: make a new one",
            403: "the token's owner may not see or change these grades",
            404: "there is no such course or assignment, or the token's owner cannot see it. The numbers are in the address of the assignment's page: /courses/N/assignments/N",
        }.get(answer.status, f"it answers with status {answer.status}. Is the address right?")
        raise GraderError(f"{self.address} refuses: {why}.")

    def _in_time(self, method: str, url: str, form: Mapping[str, str] | None) -> _Answer:
        """Makes a request, in a thread: a server that sends one byte a minute is never late by a timeout of `requests`."""
        results: SimpleQueue[_Answer | GraderError] = SimpleQueue()

        def ask() -> None:
            try:
                results.put(self._request(method, url, form))
            except GraderError as error:
                results.put(error)
            except Exception as error:  # what a network and a server can do wrong has many names
                results.put(
                    GraderError(
                        f"{self.address} cannot be reached, or breaks its answer off: {type(error).__name__}. Check the address and the network, then run the same command again."
                    )
                )

        Thread(target=ask, daemon=True).start()
        try:
            result = results.get(timeout=_ANSWER_SECONDS)
        except Empty:
            raise GraderError(
                f"{self.address} has not finished an answer in {_ANSWER_SECONDS} s. Run the same command again later."
            ) from None
        if isinstance(result, GraderError):
            raise result
        return result

    def _request(self, method: str, url: str, form: Mapping[str, str] | None) -> _Answer:
        # no redirects, which could take the token elsewhere; auth, because a header would give way to a .netrc
        with self._session.request(
            method,
            url,
            data=form,
            auth=self._authorise,
            timeout=_TIMEOUT,
            allow_redirects=False,
            stream=True,
        ) as answer:
            body = bytearray()
            for part in answer.iter_content(2**16):
                body += part
                if len(body) > _ANSWER_BYTES:
                    raise GraderError(
                        f"{self.address} answers with more than {_ANSWER_BYTES >> 20} MB, which Canvas does not. Is the address right? If so, enter the grades from a file (`grader export --format canvas`)."
                    )
            following = answer.links.get("next", {}).get("url", "")
            return _Answer(answer.status_code, answer.headers.get("Retry-After", ""), following, bytes(body))

    def _authorise(self, request: requests.PreparedRequest) -> requests.PreparedRequest:
        request.headers["Authorization"] = f"Bearer {self._token}"
        return request


def _refuse(constant: str) -> None:
    """Python's parser takes NaN and Infinity, which are no JSON."""
    raise ValueError(constant)


def differences(
    lab: Lab, canvas: Canvas, among: Collection[str] | None = None
) -> tuple[list[Difference], list[str]]:
    """What Canvas does not have right about a lab, sorted by student, and notes about those who are left out.

    Args:
        among: only these students; None: everybody.

    Raises:
        GraderError: nothing has been graded, two students have the same number, Canvas's assignment does not count points as the lab
            does, or Canvas cannot be asked.
    """
    with Gradebook.open(lab.course) as gradebook:
        entered, people = gradebook.results(lab, among), gradebook.people()
        marks = by_student(gradebook.statuses(lab.name, among))
        points = gradebook.counted(lab).total(lab.points_of_cells)
    results = graded(entered)
    there = [student for student in collected(lab) if among is None or student in among]
    stand = standings(entered, there, (), marks)
    scores = {student: round(score, 2) for student, score in scores_of(results, stand).items()}
    excused = {student: None for student, each in stand.items() if each is Standing.EXCUSED}
    wanted = dict(sorted((scores | excused).items()))
    waiting = {each.student for each in results if each.waiting}
    if not wanted:
        raise GraderError(
            f"Nothing{'' if among is None else ' of this section'} of {lab.name} has been graded yet. Run `grader autograde {lab.name}` first."
        )
    known = {student: people[student].canvas if student in people else "" for student in wanted}
    numbers = {student: number or number_in_id(student) for student, number in known.items()}
    see_that_nobody_shares("Canvas", numbers)
    _see_that_it_counts_as(canvas.assignment(), lab.name, points)
    entries = canvas.submissions()
    found: list[Difference] = []
    left: dict[str, list[str]] = {}
    for student, after in wanted.items():
        entry = entries.get(numbers[student])
        if entry is None:
            left.setdefault("Canvas does not have them in this assignment", []).append(student)
        elif student in waiting and stand[student].seen:
            left.setdefault("They have answers that wait to be graded by hand", []).append(student)
        elif entry.excused:
            if after is not None:
                left.setdefault("Canvas has them as excused", []).append(student)
        elif after is None or entry.points is None or abs(entry.points - after) > 0.001:
            found.append(Difference(student, entry.name, numbers[student], entry.points, after))
    notes = [f"Left out: {', '.join(students)}. {why}." for why, students in left.items()]
    anew = handed_in_anew(lab, results)
    ungraded = in_words(lab.name, stand)
    return found, [*([anew_in_words(lab.name, len(anew))] if anew else []), *ungraded, *notes]


def _see_that_it_counts_as(assignment: Assignment, name: str, points: float) -> None:
    """
    Raises:
        GraderError: Canvas's assignment does not count points as the lab does.
    """
    if assignment.points != points:
        most = "no" if assignment.points is None else f"{assignment.points:g}"
        raise GraderError(
            f"In Canvas, {assignment.name!r} has {most} points, but {name} has {points:g}. Is it the right assignment? If so, set its points in Canvas to {points:g}."
        )
    if assignment.kind in ("pass_fail", "not_graded"):
        raise GraderError(
            f"In Canvas, {assignment.name!r} is not graded in points. Choose *Points* under *Display Grade as*."
        )


def send(canvas: Canvas, found: Sequence[Difference]) -> list[str]:
    """Enters the grades in Canvas and reads them back. Returns the students whose grades are not there.

    Raises:
        GraderError: Canvas cannot be reached, refuses or fails; it says that grades may have been entered by then.
    """
    try:
        canvas.enter({each.number: each.after for each in found})
        return list(_missing(found, canvas.submissions()))
    except GraderError as error:
        raise GraderError(
            f"{error} Of these {len(found)} grades, some or all may have been entered by then: without --send the same command lists what is missing, with it sends that."
        ) from None


def _missing(found: Sequence[Difference], entries: Mapping[str, Entry]) -> Iterator[str]:
    for each in found:
        entry = entries.get(each.number)
        if each.after is None:
            there = entry is not None and entry.excused
        else:
            there = entry is not None and entry.points is not None and abs(entry.points - each.after) <= 0.001
        if not there:
            yield each.student
