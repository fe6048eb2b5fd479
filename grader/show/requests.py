"""Learners' requests to look again, for the person who decides them: the list, and one with everything that is needed to decide it."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from html.parser import HTMLParser

import nbformat
from nbformat import NotebookNode

from grader.book.gradebook import Gradebook
from grader.book.requests import Request, exercises_in
from grader.book.results import Result
from grader.course import Course
from grader.receive.regrade import legible
from grader.reference.lab import Lab, checked_exercise, nbgrader_of

HEADER = (
    "No.",
    "State",
    "Asked (UTC)",
    "Lab",
    "Student",
    "Name",
    "Exercise",
    "Request",
    "Decision",
    "Reason",
    "By",
)
SHORT_HEADER = ("No.", "State", "Request")


def table(course: Course, lab: str = "", among: Collection[str] | None = None) -> list[list[str]]:
    """A row (see ``HEADER``) for each request. Open ones are last, where a terminal shows them, the oldest of them first.

    Args:
        lab: only about this one.
        among: only of these students; None: of everybody.
    """
    with Gradebook.open(course) as gradebook:
        found = gradebook.requests(lab, among)
        people = gradebook.people()
    here = set(course.labs())
    names = {name: exercises_in(Lab(course, name)) for name in {each.lab for each in found} & here}
    found.sort(key=lambda each: (not each.decided, each.asked, each.number))
    return [
        [
            str(each.number),
            "decided" if each.decided else "open",
            each.asked.isoformat(" ", "minutes"),
            each.lab,
            each.student,
            people[each.student].name if each.student in people else "",
            names.get(each.lab, {}).get(each.cell, each.cell),
            each.words,
            each.decision if each.decided else "",
            each.reason or "",
            each.decided_by or "",
        ]
        for each in found
    ]


def short_row(row: Sequence[str]) -> tuple[str, str, tuple[str, ...]]:
    """A row of :func:`table` in three columns (see ``SHORT_HEADER``), for a terminal: the last one in lines."""
    number, state, asked, lab, student, name, exercise, words, decision, reason, by = row
    who = _called(name, student)
    lines = (f"{lab}, {exercise}", f"{who}, asked {_ago(datetime.fromisoformat(asked))}", words)
    return number, state, (*lines, f"Decided by {by}: {decision}: {reason}") if decision else lines


@dataclass(frozen=True)
class Shown:
    """Everything that is needed to decide a request, safe to show in a terminal.

    Attributes:
        title: whose request it is, and about what.
        parts: pairs of a heading and a text of one or more lines.
    """

    title: str
    parts: Sequence[tuple[str, str]]


def details(course: Course, number: int) -> Shown:
    """
    Raises:
        GraderError: there is no such request, or its lab is not there any more.
    """
    with Gradebook.open(course) as gradebook:
        request = gradebook.request(number)
        lab = Lab.load(course, request.lab)
        results = gradebook.results(lab, [request.student])
        people = gradebook.people()
    result = next((each for each in results if each.submission == request.submission), None)
    exercise = exercises_in(lab).get(request.cell, request.cell)
    state = "decided" if request.decided else f"open since {_ago(request.asked)}"
    person = people.get(request.student)
    who = _called(person.name if person else "", request.student)
    parts = [("Request", request.words)]
    if request.decided:
        when = f"{request.decided:%Y-%m-%d %H:%M} UTC, {request.decided_by}"
        parts.append((f"Decision ({when})", f"{request.decision}.\n{request.reason}"))
    parts += _of_work(lab, request, result, exercise)
    return Shown(
        f"Request {number} ({state}): {who}, {lab.name}, {exercise}",
        [(heading, legible(text)) for heading, text in parts],
    )


def _of_work(lab: Lab, request: Request, result: Result | None, exercise: str) -> Sequence[tuple[str, str]]:
    """What was handed in, what the check said, and the points."""
    file = lab.course.autograded / request.student / lab.name / lab.notebook_name
    if result is None or not file.is_file():
        return [("Answer", "The work that it is about is not in the gradebook any more.")]
    cells = {
        nbgrader_of(cell)["grade_id"]: cell
        for cell in nbformat.read(file, as_version=4).cells
        if "grade_id" in nbgrader_of(cell)
    }
    parts = []
    if request.work and result.marker and request.work != result.marker.handed_in:
        parts.append(
            ("Note", "The work was handed in again after the request was made; this is the new one.")
        )
    if answer := cells.get(exercise):
        parts.append(("Answer", answer.source))
    check = cells.get(request.cell)
    if check is not None and (report := _report(check)):
        parts.append(("What the check said", report))
    points = result.points.get(request.cell)
    most = lab.points_of_cells.get(request.cell, 0.0)
    parts.append(("Points", f"{'not graded yet' if points is None else f'{points:g}'} of {most:g}"))
    page = lab.course.feedback / request.student / lab.name / f"{lab.slug}.html"
    if page.is_file():
        parts.append(("Feedback page", f"{page.as_uri()}#{request.cell}"))
    return parts


def _report(check: NotebookNode) -> str:
    """The report in a check cell's output, as text."""
    if not checked_exercise(check) or not check.outputs:
        return ""
    reader = _Lines()
    reader.feed(check.outputs[0].get("data", {}).get("text/html", ""))
    lines = ("".join(line).strip() for line in reader.lines)
    return "\n".join(filter(None, lines))


class _Lines(HTMLParser):
    """The lines of text in HTML. A mark at the start of a line (✗) stays with what follows."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[list[str]] = [[]]

    def handle_starttag(self, tag: str, attrs: object) -> None:
        if tag == "li":
            self.lines.append(["- "])
        elif tag in ("div", "br", "pre", "summary"):
            only_mark = len("".join(self.lines[-1]).strip()) <= len("- ✗")
            self.lines += [] if only_mark else [[]]
            self.lines[-1].append(" ")

    def handle_data(self, data: str) -> None:
        if "\n" in data:
            self.lines += [[line] for line in data.split("\n")]
        else:
            self.lines[-1].append(data)


def _ago(when: datetime) -> str:
    """A day, and how many days ago it was."""
    days = (datetime.now(UTC).replace(tzinfo=None) - when).days
    return f"{when:%Y-%m-%d} ({max(days, 0)} d)"


def _called(name: str, student: str) -> str:
    return f"{name} ({student})" if name else student
