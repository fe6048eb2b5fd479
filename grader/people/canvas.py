"""Canvas, by its REST API (https://developerdocs.instructure.com/services/canvas): what is asked there, and what is entered.

What answers need not be Canvas: :mod:`grader.people.server` has the bounds.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urljoin, urlsplit

import requests

from grader.errors import GraderError
from grader.people.server import PATIENCE, Answer, Server, address_of

TOKEN = "CANVAS_TOKEN"
"""The environment variable with the access token: on a command line others could read it."""

BATCH = 100
"""Grades that are entered together, at most."""

_LEFT = ("completed", "inactive", "rejected", "deleted")
"""States of an enrolment that is over. Somebody may be in another section since."""


@dataclass(frozen=True)
class Assignment:
    """What Canvas says about an assignment.

    Attributes:
        points: None: it counts none.
        kind: how grades are shown: ``points``, ``percent``, ``letter_grade``, ``gpa_scale``, ``pass_fail`` or ``not_graded``.
        published: Canvas takes no grades for one that is not.
        hidden: learners see grades only when somebody posts them.
        groups: the set of groups of which each gets one grade; empty: everybody gets their own.
        due: when everybody has to hand in who has no other date (UTC); None: Canvas does not say.
    """

    name: str
    points: float | None
    kind: str
    published: bool = True
    hidden: bool = False
    groups: str = ""
    due: datetime | None = None


@dataclass(frozen=True)
class Entry:
    """What Canvas says about a student's submission; of the points, those before its own deductions for lateness.

    Attributes:
        late: seconds; None if it does not count as late there.
    """

    name: str
    points: float | None
    excused: bool
    late: float | None = None


@dataclass(frozen=True)
class User:
    """What Canvas says about a student of a course. Texts are as they came, and empty where there is none.

    Attributes:
        name: with a comma after the last name.
        sections: Canvas's numbers of them.
    """

    number: str
    name: str
    login: str
    email: str
    sections: tuple[str, ...]


@dataclass(frozen=True)
class Override:
    """Another due date of some students.

    Attributes:
        students: their numbers.
        section, group: the number of a section or group that it is for; empty if it is for none.
        due: in UTC; None: they have all the time in the world.
    """

    title: str
    students: tuple[str, ...]
    section: str
    group: str
    due: datetime | None


class NotAllEntered(GraderError):
    """Canvas has entered some grades and not others."""


class Canvas(Server):
    """A course in Canvas, and an assignment of it."""

    def __init__(self, url: str, token: str, course: int, assignment: int | None = None) -> None:
        """
        Raises:
            GraderError: the address is not a valid URL, or not HTTPS.
        """
        if not (address := address_of(url)):
            raise GraderError(f"{url!r} is not Canvas's address. Write it as https://canvas.example.edu.")
        if not token or not token.isascii() or not token.isprintable():
            raise GraderError(
                f"There is no usable access token in the environment variable {TOKEN}. Make one in Canvas under Account > Settings > New Access Token, then "
                f"`read -rs {TOKEN} && export {TOKEN}` keeps it out of the shell's history."
            )
        super().__init__(
            address,
            "Canvas",
            "use files: `grader export --format canvas` writes one, and `grader roster import` and `grader status import` read one",
        )
        self._api = f"{self.address}/api/v1"
        self._course = f"{self._api}/courses/{course}"
        self._assignment = f"{self._course}/assignments/{assignment}"
        self.place = f"{self.address}/courses/{course}/assignments/{assignment}"
        self._token = token
        self.secrets.append(token)

    def assignment(self) -> Assignment:
        """What Canvas says about the assignment."""
        found = self.json(
            self.ask("GET", f"{self._assignment}?override_assignment_dates=false"), dict
        )  # else the due date would be that of the person who asks
        match found:
            case {"name": str(name), "grading_type": str(kind), "points_possible": points}:
                together = not found.get("grade_group_students_individually")
                groups = found.get("group_category_id") if together else None
                return Assignment(
                    self.said(name),
                    self.number(points, "the points of the assignment"),
                    kind,
                    published=found.get("published") is not False,
                    hidden=found.get("post_manually") is True,
                    groups="" if groups is None else self._id(groups, "the set of groups of the assignment"),
                    due=self._time(found.get("due_at"), "the due date of the assignment"),
                )
        raise self.strange("the assignment has no name, kind or points")

    def submissions(self) -> dict[str, Entry]:
        """Number of a student -> what Canvas says about the submission. Everybody who has the assignment is in it."""
        found: dict[str, Entry] = {}
        for each in self._list(f"{self._assignment}/submissions?per_page=100&include[]=user", "submissions"):
            number, entry = self._entry(each)
            if found.setdefault(number, entry) != entry:
                raise self._twice(number, "Perhaps somebody is grading there")
        return found

    def overrides(self) -> list[Override]:
        """Due dates of some students that are other ones."""
        found = []
        for each in self._list(f"{self._assignment}/overrides?per_page=100", "other dates"):
            if not isinstance(each, dict):
                raise self.strange("one of the other dates is not an object")
            if "due_at" not in each:  # it is about when the assignment can be seen
                continue
            students, title = each.get("student_ids") or [], each.get("title")
            if not isinstance(students, list):
                raise self.strange("the students with another date are no list")
            section, group = (
                "" if each.get(key) is None else self._id(each[key], f"a {what} with another date")
                for key, what in (("course_section_id", "section"), ("group_id", "group"))
            )
            found.append(
                Override(
                    self.said(title) if isinstance(title, str) else "",
                    tuple(self._id(number, "a student with another date") for number in students),
                    section,
                    group,
                    self._time(each["due_at"], "the due date of some students"),
                )
            )
        return found

    def sections(self) -> dict[str, str]:
        """Number of a section -> name."""
        found = {}
        for each in self._list(f"{self._course}/sections?per_page=100", "sections"):
            match each:
                case {"id": number, "name": str(name)}:
                    found[self._id(number, "a section")] = self.said(name)
                case _:
                    raise self.strange("a section has no name")
        return found

    def groups(self, category: str) -> dict[str, list[str]]:
        """Number of a group -> numbers of its members, of all groups of a set."""
        found = self._list(f"{self._api}/group_categories/{category}/groups?per_page=100", "groups")
        numbers = [self._id(each.get("id") if isinstance(each, dict) else None, "a group") for each in found]
        return {number: self.members(number) for number in numbers}

    def members(self, group: str) -> list[str]:
        """The numbers of those who are in a group."""
        found = self._list(f"{self._api}/groups/{group}/users?per_page=100", "members of a group")
        return [
            self._id(each.get("id") if isinstance(each, dict) else None, "a member of a group")
            for each in found
        ]

    def students(self) -> list[User]:
        """Who is in the course as a student, without Canvas's test student and those who have left."""
        asked = "enrollment_type[]=student&include[]=enrollments&include[]=email"
        found: dict[str, User] = {}
        for each in self._list(f"{self._course}/users?per_page=100&{asked}", "people"):
            if not isinstance(each, dict):
                raise self.strange("one of the people is not an object")
            number, enrolled = self._id(each.get("id"), "one of the people"), each.get("enrollments")
            if not isinstance(enrolled, list) or not all(isinstance(one, dict) for one in enrolled):
                raise self.strange(f"it does not say as what {number} is in the course")
            sections = [
                self._id(one.get("course_section_id"), f"a section of {number}")
                for one in enrolled
                if one.get("type") == "StudentEnrollment" and one.get("enrollment_state") not in _LEFT
            ]
            if not sections:
                continue
            name, login, email = (
                next(
                    (self.said(each[key]) for key in keys if isinstance(each.get(key), str) and each[key]),
                    "",
                )
                for keys in (("sortable_name", "name"), ("login_id", "sis_user_id"), ("email",))
            )
            user = User(number, name, login, email, tuple(sorted({*sections}, key=int)))
            if found.setdefault(number, user) != user:
                raise self._twice(number, "Perhaps somebody is changing the class there")
        return list(found.values())

    def deducts_for_lateness(self) -> bool:
        """Whether Canvas itself takes points off what is marked as late there, as far as one can know."""
        answer = self.ask("GET", f"{self._course}/late_policy", accept=(404,))
        if answer.status == 404:
            return False
        match self.json(answer, dict):
            case {"late_policy": {"late_submission_deduction_enabled": False}}:
                return False
        return True

    def comment(self, number: str, text: str, file: tuple[str, bytes] | None, late: float | None) -> None:
        """Comments on a student's submission with a file, or marks it as late, or both.

        Args:
            text: of the comment; without a file there is none.
            file: name and content of a web page.
            late: seconds after the deadline; None: that stays as it is.

        Raises:
            GraderError: Canvas refuses or fails. The file may be there without the comment.
        """
        form = {}
        if file:
            form = {"comment[text_comment]": text, "comment[file_ids][]": self._upload(number, *file)}
        if late is not None:
            form["submission[late_policy_status]"] = "late"
            form["submission[seconds_late_override]"] = str(round(late))
        self.ask("PUT", f"{self._assignment}/submissions/{number}", data=form, repeatable=False)

    def _upload(self, number: str, name: str, content: bytes) -> str:
        """Uploads a file for a comment, in Canvas's three steps: it names an address, gets the file there, and is asked whether it has it. Returns the
        file's id. Where files lie may be another server, which never gets the token.
        """
        wanted = {"name": name, "size": str(len(content)), "content_type": "text/html"}
        url = f"{self._assignment}/submissions/{number}/comments/files"
        told = self.json(self.ask("POST", url, data=wanted), dict)
        match told:
            case {"upload_url": str(where), "upload_params": dict(fields)} if all(
                isinstance(value, str | int | None) for value in fields.values()
            ):
                pass
            case _:
                raise self.strange("it does not say where a file goes")
        if not (_is_https(where) or where.startswith(f"{self.address}/")):
            raise GraderError(
                f"{self.address} wants files at {self.said(where)!r}, which is no address with HTTPS. Nothing was sent there."
            )
        form = {key: "" if value is None else str(value) for key, value in fields.items()}
        answer = self.in_time(
            "POST", where, data=form, files={"file": (name, content, "text/html")}, auth=_as_it_is
        )  # where files go, no token is needed
        if answer.location and (answer.status == 201 or 300 <= answer.status < 400):
            try:
                confirm = urljoin(where, answer.location)
            except ValueError:
                confirm = answer.location
            if not confirm.startswith(f"{self._api}/"):
                raise GraderError(
                    f"After an upload, {self.address} continues at another address, {self.said(confirm)!r}. Nothing was sent there."
                )
            answer = self.ask("GET", confirm)
        elif answer.status not in (200, 201):
            raise GraderError(f"{self.address} does not take the file {name}: status {answer.status}.")
        return self._id(self.json(answer, dict).get("id"), "an uploaded file")

    def _list(self, url: str, what: str) -> Iterator[Any]:
        """What is on all pages of a list.

        Args:
            what: is listed, for messages.
        """
        for answer in self.pages(url, what, f"{self._api}/"):
            yield from self.json(answer, list)

    def enter(self, grades: Mapping[str, float | None], of: float | None = None) -> None:
        """Enters at most ``BATCH`` grades (number of a student -> points; None: excused), and waits until Canvas has done so.

        Args:
            of: the points that are 100 %, if grades are sent in per cent: a grading scheme may have a grade that is called “5”.

        Raises:
            NotAllEntered: it has done so as far as it can.
            GraderError: Canvas refuses, fails, or takes longer than five minutes. Some of them may have been entered.
        """
        form = {}
        for number, score in grades.items():
            key = "excuse" if score is None else "posted_grade"
            value = "true" if score is None else f"{100 * score / of:.6f}%" if of else f"{score:.2f}"
            form[f"grade_data[{number}][{key}]"] = value
        progress = self.json(
            self.ask("POST", f"{self._assignment}/submissions/update_grades", data=form), dict
        )
        deadline = time.monotonic() + PATIENCE
        while (state := progress.get("workflow_state")) in ("queued", "running"):
            if time.monotonic() > deadline:
                raise GraderError(f"{self.address} has not entered all grades yet.")
            time.sleep(1)
            number = self._id(progress.get("id"), "the job that enters grades")
            progress = self.json(self.ask("GET", f"{self._api}/progress/{number}"), dict)
        if state != "completed":
            why = next(
                (text for text in (progress.get("message"), state) if isinstance(text, str) and text), ""
            )
            raise NotAllEntered(f"{self.address} could not enter all grades: {self.said(why)!r}.")

    # what may be wrong with an answer

    def _entry(self, said: object) -> tuple[str, Entry]:
        """Whose submission this is, and what is said about it."""
        if not isinstance(said, dict):
            raise self.strange("one of the submissions is not an object")
        if said.get("user_id") is None and "anonymous_id" in said:
            raise GraderError(
                f"{self.address} does not say whose the submissions are, because the assignment is graded anonymously. Show the names there, then run the same command again."
            )
        number = self._id(said.get("user_id"), "the student of a submission")
        points = said.get("entered_score", said.get("score"))
        excused, user = said.get("excused"), said.get("user")
        for value, what in ((excused, "is excused"), (said.get("late"), "was late")):
            if not isinstance(value, bool | None):
                raise self.strange(f"whether the student {number} {what} is neither true nor false")
        late = self.number(said.get("seconds_late"), f"the seconds that the student {number} was late")
        if late is not None and late < 0:
            raise self.strange(f"the student {number} was late by less than nothing")
        name = user.get("name") if isinstance(user, dict) else None  # only shown
        return number, Entry(
            self.said(name) if isinstance(name, str) else "",
            self.number(points, f"the points of the student {number}"),
            bool(excused),
            (late or 0.0) if said.get("late") else None,
        )

    def _id(self, value: object, whose: str) -> str:
        text = str(value) if type(value) is int and 0 < value < 10**20 else value
        if not (isinstance(text, str) and text.isascii() and text.isdigit() and len(text) <= 20):
            raise self.strange(f"{whose} has no usable id")
        return text

    def _time(self, value: object, what: str) -> datetime | None:
        """A time in UTC, without a zone."""
        if value is None:
            return None
        try:
            found = datetime.fromisoformat(value) if isinstance(value, str) else None
            if found and found.tzinfo and 2000 <= found.year < 2100:
                return found.astimezone(UTC).replace(tzinfo=None, microsecond=0)
        except ValueError:
            pass
        raise self.strange(f"{what} is no time with a zone: {self.said(str(value))!r}")

    def _twice(self, number: str, why: str) -> GraderError:
        return GraderError(
            f"{self.address} lists the student {number} twice, and differently. {why}: run the same command again."
        )

    # requests

    def throttles(self, answer: Answer) -> bool:
        return super().throttles(answer) or (
            answer.status == 403 and b"rate limit exceeded" in answer.body.lower()
        )

    def refusal(self, answer: Answer) -> GraderError:
        # a Canvas of before 2022 also says 401 where somebody lacks the right, and then this, in British or American English
        lacks_right = answer.status == 401 and b'"unauthori' in answer.body.lower()
        why = {
            401: f"it does not accept the token in {TOKEN}: make a new one",
            403: "the token's owner may not see or change this",
            404: "there is no such course or assignment, or the token's owner cannot see it. The numbers are in the address of the assignment's page: /courses/N/assignments/N",
        }.get(403 if lacks_right else answer.status)
        return GraderError(f"{self.address} refuses: {why}.") if why else super().refusal(answer)

    def authorise(self, request: requests.PreparedRequest) -> requests.PreparedRequest:
        request.headers["Authorization"] = f"Bearer {self._token}"
        return request


def _as_it_is(request: requests.PreparedRequest) -> requests.PreparedRequest:
    """In place of what `requests` would find in a .netrc."""
    return request


def _is_https(url: str) -> bool:
    try:
        parts = urlsplit(url)
        return parts.scheme == "https" and bool(parts.hostname) and not parts.username
    except ValueError:
        return False
