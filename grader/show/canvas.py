"""Grades to Canvas, by its REST API (https://developerdocs.instructure.com/services/canvas): what differs, and sending it.

Nothing is sent by :func:`differences`, and :func:`send` sends only what that has found and then reads it back. Requests are made one after the other, which
Canvas rarely throttles; where it does (429, or 403 with *Rate Limit Exceeded*), they wait as long as it says.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import requests

from grader.errors import GraderError
from grader.grade.gradebook import Gradebook
from grader.lab import Lab
from grader.receive.students import number_in_id
from grader.show.export import see_that_nobody_shares
from grader.show.standing import anew_in_words, collected, graded, handed_in_anew, in_words, standings

TOKEN = "CANVAS_TOKEN"
"""The environment variable with the access token: on a command line others could read it."""

_TRIES = 6
_BATCH = 100
_PATIENCE = 300
_TIMEOUT = 60


@dataclass(frozen=True)
class Difference:
    """A grade that Canvas does not have.

    Attributes:
        name: what Canvas calls the student.
        number: Canvas's number of the student.
        before: the points that Canvas has, before its own deductions for lateness; None if it has none.
        after: the score in the gradebook.
    """

    student: str
    name: str
    number: str
    before: float | None
    after: float


class Canvas:
    """An assignment of a course in Canvas."""

    def __init__(self, url: str, token: str, course: int, assignment: int) -> None:
        """
        Raises:
            GraderError: the address would send the token unencrypted, or is none.
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
        self._token = token

    def assignment(self) -> dict[str, Any]:
        """What Canvas says about the assignment."""
        return self._object(self._answer("GET", self._assignment))

    def submissions(self) -> dict[str, dict[str, Any]]:
        """Number of a student -> what Canvas says about the submission. Everybody who has the assignment is in it."""
        found, url = {}, f"{self._assignment}/submissions?per_page=100&include[]=user"
        while url:
            answer = self._answer("GET", url)
            for entry in self._json(answer, list):
                if isinstance(entry, dict) and "user_id" in entry:
                    found[str(entry["user_id"])] = entry
            url = answer.links.get("next", {}).get("url", "")
            if url and not url.startswith(f"{self._api}/"):
                raise GraderError(
                    f"{self.address} continues its list at another address, {url[:200]!r}. Nothing was sent there."
                )
        return found

    def enter(self, grades: Mapping[str, float]) -> None:
        """Enters grades (number of a student -> points), and waits until Canvas has done so.

        Raises:
            GraderError: Canvas refuses, fails, or takes longer than five minutes. Some of them may have been entered.
        """
        items = list(grades.items())
        for start in range(0, len(items), _BATCH):
            form = {
                f"grade_data[{number}][posted_grade]": f"{score:.2f}"
                for number, score in items[start : start + _BATCH]
            }
            progress = self._object(
                self._answer("POST", f"{self._assignment}/submissions/update_grades", form)
            )
            deadline = time.monotonic() + _PATIENCE
            while (state := progress.get("workflow_state")) in ("queued", "running"):
                if time.monotonic() > deadline:
                    raise GraderError(
                        f"{self.address} has not entered all grades yet. Run the same command again later: it sends what is missing."
                    )
                time.sleep(1)
                progress = self._object(self._answer("GET", f"{self._api}/progress/{int(progress['id'])}"))
            if state != "completed":
                why = str(progress.get("message") or state)[:300]
                raise GraderError(
                    f"{self.address} could not enter all grades: {why!r}. Run the same command again: it sends what is missing."
                )

    def _answer(self, method: str, url: str, form: Mapping[str, str] | None = None) -> requests.Response:
        for attempt in range(_TRIES):
            try:
                # no redirects, which could take the token elsewhere; auth, because a header would give way to a .netrc
                answer = self._session.request(
                    method, url, data=form, auth=self._authorise, timeout=_TIMEOUT, allow_redirects=False
                )
            except requests.RequestException as error:
                raise GraderError(
                    f"{self.address} cannot be reached: {type(error).__name__}. Check the address and the network, then run the same command again."
                ) from None
            throttled = answer.status_code == 429 or (
                answer.status_code == 403 and "rate limit exceeded" in answer.text.lower()
            )
            if not throttled and answer.status_code not in (
                502,
                503,
                504,
            ):  # entering a grade twice is harmless
                break
            if attempt < _TRIES - 1:
                asked = answer.headers.get("Retry-After", "")
                time.sleep(min(int(asked) if asked.isascii() and asked.isdigit() else 2**attempt, 120))
        if answer.status_code in (200, 201):
            return answer
        if throttled:
            raise GraderError(
                f"{self.address} is throttling requests. Run the same command again in a few minutes: it sends what is missing."
            )
        why = {
            401: f"it does not accept the token in {TOKEN}: make a new one",
            403: "the token's owner may not see or change these grades",
            404: "there is no such course or assignment, or the token's owner cannot see it. The numbers are in the address of the assignment's page: /courses/N/assignments/N",
        }.get(answer.status_code, f"it answers with status {answer.status_code}. Is the address right?")
        raise GraderError(f"{self.address} refuses: {why}.")

    def _authorise(self, request: requests.PreparedRequest) -> requests.PreparedRequest:
        request.headers["Authorization"] = f"Bearer {self._token}"
        return request

    def _object(self, answer: requests.Response) -> dict[str, Any]:
        return self._json(answer, dict)

    def _json(self, answer: requests.Response, kind: type) -> Any:
        try:
            found = answer.json()
        except requests.JSONDecodeError:
            found = None
        if not isinstance(found, kind):
            raise GraderError(f"{self.address} does not answer as Canvas does. Is the address right?")
        return found


def differences(
    lab: Lab, canvas: Canvas, among: Collection[str] | None = None
) -> tuple[list[Difference], list[str]]:
    """What Canvas would have to be told about a lab, sorted by student, and notes about whoever is left out.

    Args:
        among: only these students; None: everybody.

    Raises:
        GraderError: nothing has been graded, two students have the same number, Canvas's assignment does not count points as the lab
            does, or Canvas cannot be asked.
    """
    with Gradebook.open(lab.course) as gradebook:
        entered, people = gradebook.results(lab, among), gradebook.people()
    results = graded(entered)
    there = [student for student in collected(lab) if among is None or student in among]
    if not results:
        raise GraderError(
            f"Nothing{'' if among is None else ' of this section'} of {lab.name} has been graded yet. Run `grader autograde {lab.name}` first."
        )
    numbers = {each.student: people[each.student].canvas or number_in_id(each.student) for each in results}
    see_that_nobody_shares("Canvas", numbers)
    assignment = canvas.assignment()
    name, possible, kind = (assignment.get(key) for key in ("name", "points_possible", "grading_type"))
    if possible != lab.points:
        there = f"{possible:g}" if isinstance(possible, int | float) else "no"
        raise GraderError(
            f"In Canvas, {str(name)[:100]!r} has {there} points, but {lab.name} has {lab.points:g}. Is it the right assignment? If so, set its points in Canvas to {lab.points:g}."
        )
    if kind in ("pass_fail", "not_graded"):
        raise GraderError(
            f"In Canvas, {str(name)[:100]!r} is not graded in points. Choose *Points* under *Display Grade as*."
        )
    entries = canvas.submissions()
    found: list[Difference] = []
    left: dict[str, list[str]] = {}
    for result in results:
        entry = entries.get(numbers[result.student])
        if entry is None:
            left.setdefault("Canvas does not have them in this assignment", []).append(result.student)
        elif None in result.points.values():
            left.setdefault("They have answers that wait to be graded by hand", []).append(result.student)
        elif entry.get("excused"):
            left.setdefault("Canvas has them as excused", []).append(result.student)
        elif (before := _points(entry)) is None or abs(before - round(result.score, 2)) > 0.001:
            who = str((entry.get("user") or {}).get("name") or "")
            found.append(
                Difference(result.student, who, numbers[result.student], before, round(result.score, 2))
            )
    notes = [f"Left out: {', '.join(students)}. {why}." for why, students in left.items()]
    anew = handed_in_anew(lab, results)
    ungraded = in_words(lab.name, standings(entered, there, ()))
    return found, [*([anew_in_words(lab.name, len(anew))] if anew else []), *ungraded, *notes]


def _points(entry: Mapping[str, Any]) -> float | None:
    """What was entered in Canvas, before its own late policy takes something off."""
    entered = entry.get("entered_score", entry.get("score"))
    return None if entered is None else float(entered)


def send(canvas: Canvas, found: Sequence[Difference]) -> list[str]:
    """Enters the grades in Canvas and reads them back. Returns the students whose grades are not there.

    Raises:
        GraderError: Canvas cannot be reached, refuses or fails.
    """
    canvas.enter({each.number: each.after for each in found})
    return list(_missing(found, canvas.submissions()))


def _missing(found: Sequence[Difference], entries: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    for each in found:
        now = _points(entries.get(each.number, {}))
        if now is None or abs(now - each.after) > 0.001:
            yield each.student
