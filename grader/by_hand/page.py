"""The page on which written answers are graded, served by Jupyter beside formgrader.

Formgrader shows whole notebooks and knows neither rubrics nor who reads what. This page shows one answer after the other, with the
rubric and the comments that others have kept, and links to formgrader for the rest. `make instructor` loads it as an extension of
Jupyter's server; it uses Jupyter's own log-in, authorisation and protection against forged requests.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from jupyter_server.serverapp import ServerApp
from jupyter_server.utils import url_path_join
from nbformat import NotebookNode
from nbformat.v4 import new_markdown_cell
from tornado import web

from grader.book.answers import DECISION, FIRST, SECOND, Answer, Mark, Task, Work
from grader.book.gradebook import Gradebook
from grader.book.points import digest_of_answer
from grader.book.readings import Readings
from grader.book.rubric import Question
from grader.by_hand.agreement import agreement, pairs
from grader.by_hand.blind import graded_notebook, notebook_for_readers
from grader.by_hand.overview import (
    ADDRESS,
    ROLES,
    STATES,
    in_order,
    minutes_left,
    points_of,
    short,
    standings,
)
from grader.by_hand.rights import Refused
from grader.by_hand.web import Page, allowed, number_in
from grader.by_hand.week_page import PAGES as WEEK_PAGES
from grader.course import Course
from grader.errors import GraderError
from grader.people.roster import Person
from grader.reference.lab import Lab, file_in, nbgrader_of
from grader.show.pages import title_of

_MAX_COMMENT = 20_000
_NUMBER = re.compile(r"[0-9]{1,9}")
"""A number that one of the forms may send. Longer ones are nobody's, and Python or the gradebook may refuse them."""


def _load_jupyter_server_extension(server: ServerApp) -> None:
    """Adds the page to a Jupyter server whose root is a course."""
    root = Path(server.root_dir).resolve()
    course = Course.find(root)
    settings = {"course": course}
    name = r"([^/]+)"
    pages = [
        (rf"/{ADDRESS}/?", _Labs),
        (rf"/{ADDRESS}/{name}/?", _Readers),
        (rf"/{ADDRESS}/{name}/differences/?", _Differences),
        (rf"/{ADDRESS}/{name}/differences/([0-9a-f-]+)/?", _Decision),
        (rf"/{ADDRESS}/{name}/{name}/?", _Queue),
        (rf"/{ADDRESS}/{name}/{name}/next/?", _Next),
        (rf"/{ADDRESS}/{name}/{name}/([0-9a-f-]+)/?", _Reading),
        (rf"/{ADDRESS}/{name}/{name}/([0-9a-f-]+)/notebook/?", _Notebook),
        *WEEK_PAGES,
    ]
    base = server.web_app.settings["base_url"]
    server.web_app.add_handlers(
        ".*$", [(url_path_join(base, path), handler, settings) for path, handler in pages]
    )


def _jupyter_server_extension_points() -> list[dict[str, str]]:
    return [{"module": "grader.by_hand.page"}]


class _Page(Page):
    """A page about the answers of a lab."""

    @contextmanager
    def readings(self, name: str) -> Iterator[Readings]:
        lab = self.lab(name)
        with Gradebook.open(self.course) as gradebook:
            readings = Readings(gradebook, lab)
            if not readings.questions():
                raise GraderError(f"{lab.name} has no answers that people grade.")
            yield readings

    def see_that_it_is(self, reader: str) -> None:
        """
        Raises:
            GraderError: a hub says that somebody else is logged in.
        """
        if self.who() not in ("", reader):
            raise GraderError(f"These are {reader}'s answers, and you are logged in as {self.who()}.")

    def minutes_elsewhere(self, task: Task) -> int:
        """How many minutes a task stays closed here because it is open in another window."""
        return minutes_left(task, self.current_user.username, datetime.now(UTC))

    def may_decide(self, work: Work) -> bool:
        """Whether this person may see what both readers of a submission gave: an assistant only as one of them. Nobody sees another's points
        before giving some.
        """
        return self.rights.instructor or any(task.reader == self.who() for task in work.tasks.values())


class _Labs(_Page):
    @allowed
    def get(self) -> None:
        found = []
        with Gradebook.open(self.course) as gradebook:
            for name in self.course.labs():
                readings = Readings(gradebook, Lab.load(self.course, name))
                if readings.questions():
                    found.append((readings.lab, standings(readings.works(), readings.settings())))
        self.show("labs", title="Answers to grade by hand", labs=found)


class _Readers(_Page):
    @allowed
    def get(self, lab: str) -> None:
        with self.readings(lab) as readings:
            found = standings(readings.works(), readings.settings())
            undecided = sum(bool(work.undecided()) for work in readings.works().values())
            title = title_of(readings.lab)
        self.show("readers", title=title, lab=lab, called=title, standings=found, undecided=undecided)


class _Queue(_Page):
    @allowed
    def get(self, lab: str, reader: str) -> None:
        self.see_that_it_is(reader)
        with self.readings(lab) as readings:
            works, settings, called = readings.works(), readings.settings(), title_of(readings.lab)
        rows = [
            {
                "work": work,
                "reading": ROLES[role],
                "state": STATES[work.state(role)],
                "points": points_of(work, role),
                "elsewhere": self.minutes_elsewhere(work.tasks[role]) if work.state(role) != "done" else 0,
            }
            for role in ROLES
            for work in in_order(works, reader, role)
        ]
        if not rows and reader not in settings.readers:
            names = ", ".join(settings.readers) or "nobody yet"
            raise GraderError(f"{reader!r} has nothing to read here. Readers: {names}.")
        title = f"{called}: {reader}"
        self.show("queue", title=title, lab=lab, called=called, reader=reader, rows=rows, short=short)


class _Next(_Page):
    @allowed
    def get(self, lab: str, reader: str) -> None:
        self.see_that_it_is(reader)
        holder = self.current_user.username
        with self.readings(lab) as readings:
            works = readings.works()
            for role in ROLES:
                for work in in_order(works, reader, role):
                    if work.state(role) != "done" and readings.hold(work.page, role, holder).holder == holder:
                        self.go_to(ADDRESS, lab, reader, work.page)
                        return
        self.go_to(ADDRESS, lab, reader)


class _Marking(_Page):
    """A page with a form for the points of a submission's answers."""

    def form(self, readings: Readings, work: Work, role: str, faults: list[str], **facts: Any) -> None:
        """Shows the form: as it was sent, with what is wrong with it, or filled with what the gradebook says."""
        cells, files = _handed_in(readings.lab, work)
        questions, remarks = readings.questions(), readings.remarks()
        answers = [
            {
                "cell": answer.cell,
                "question": questions[answer.cell],
                "text": cells[answer.cell],
                "answer": answer,
                "entered": self._entered(answer, role),
                "remarks": remarks.get(answer.cell, {}),
            }
            for answer in work.answers
        ]
        self.show(
            "marking",
            lab=readings.lab.name,
            called=title_of(readings.lab),
            work=work,
            role=role,
            answers=answers,
            files=files,
            faults=faults,
            short=short,
            xsrf=self.xsrf_form_html(),
            **facts,
        )

    def _entered(self, answer: Answer, role: str) -> dict[str, Any]:
        """What is in the fields of an answer. A second reader's say nothing about the first reading."""
        if self.request.method == "POST":
            return {
                "points": self.get_body_argument(f"points-{answer.cell}", ""),
                "items": self._ticked(answer),
                "comment": self.get_body_argument(f"comment-{answer.cell}", "", strip=False),
                "keep": bool(self.get_body_argument(f"keep-{answer.cell}", "")),
                "seen": self.get_body_argument(f"seen-{answer.cell}", ""),
            }
        mark = answer.marks.get(role) or (answer.marks.get(FIRST) if role == DECISION else None)
        points = (mark.points if mark else None) if role == SECOND else answer.points
        comment = (mark.comment if mark else "") if role == SECOND else answer.comment
        return {
            "points": "" if points is None else f"{points:g}",
            "items": {*mark.items} if mark and mark.items and mark.points == points else set(),
            "comment": comment,
            "keep": False,
            "seen": "" if role == SECOND or answer.points is None else repr(answer.points),
        }

    def _ticked(self, answer: Answer) -> set[int]:
        """The numbers of the rubric's items that are ticked."""
        return {
            int(each) for each in self.get_body_arguments(f"item-{answer.cell}") if _NUMBER.fullmatch(each)
        }

    def marks(
        self, work: Work, reader: str, questions: Mapping[str, Question], cells: Mapping[str, NotebookNode]
    ) -> tuple[dict[str, Mark], list[str]]:
        """What was entered, and what is wrong with it."""
        marks, faults = {}, []
        for answer in work.answers:
            question = questions[answer.cell]
            items = tuple(sorted(each for each in self._ticked(answer) if each < len(question.items)))
            written = self.get_body_argument(f"points-{answer.cell}", "")
            comment = self.get_body_argument(f"comment-{answer.cell}", "").replace("\r\n", "\n")
            try:
                points = number_in(written) if written else sum(question.items[each].points for each in items)
            except ValueError:
                points = -1.0
            if not written and not items:
                faults.append(f"Give points for {answer.cell}: 0 if it earns nothing.")
            elif not 0 <= points <= question.points:
                faults.append(
                    f"{answer.cell}: points are a number from 0 to {question.points:g}, not {written!r}."
                )
            elif len(comment) > _MAX_COMMENT:
                faults.append(f"{answer.cell}: the comment is longer than {_MAX_COMMENT} characters.")
            marks[answer.cell] = Mark(reader, points, items, comment, digest_of_answer(cells[answer.cell]))
        return marks, faults

    def enter(self, readings: Readings, work: Work, role: str, reader: str) -> list[str]:
        """Enters what was sent, or says why not."""
        marks, faults = self.marks(work, reader, readings.questions(), _handed_in(readings.lab, work)[0])
        if faults:
            return faults
        seen, kept = {}, []
        for answer in work.answers:
            before = self.get_body_argument(f"seen-{answer.cell}", "")
            try:
                seen[answer.cell] = float(before) if before else None
            except ValueError:
                raise web.HTTPError(400, "The form is broken: load the page again.") from None
            if self.get_body_argument(f"keep-{answer.cell}", ""):
                kept.append(answer.cell)
        try:
            readings.read(work.page, role, self.current_user.username, marks, seen, kept)
        except GraderError as error:
            return [str(error)]
        return []


class _Reading(_Marking):
    @allowed
    def get(self, lab: str, reader: str, page: str) -> None:
        with self.readings(lab) as readings:
            work, role = self._work(readings, reader, page)
            task = readings.hold(page, role, self.current_user.username)
            if task.holder == self.current_user.username:
                self._show(readings, work, role, reader, [])
                return
            called = title_of(readings.lab)
        self.set_status(409)
        self.show(
            "elsewhere",
            title="Open in another window",
            lab=lab,
            called=called,
            reader=reader,
            minutes=self.minutes_elsewhere(task),
            xsrf=self.xsrf_form_html(),
        )

    @allowed
    def post(self, lab: str, reader: str, page: str) -> None:
        with self.readings(lab) as readings:
            work, role = self._work(readings, reader, page)
            number, here = self.get_body_argument("forget", ""), bool(self.get_body_argument("here", ""))
            minutes = 0 if here else self.minutes_elsewhere(work.tasks[role])
            faults: list[str] = []
            if here:
                readings.hold(page, role, self.current_user.username, take_over=True)
                if not self.get_body_arguments("marks"):  # from the page that only says where it is open
                    self.redirect(self.request.path)
                    return
            elif _NUMBER.fullmatch(number):
                readings.forget(int(number))
            elif not minutes:
                faults = self.enter(readings, work, role, reader)
            if here or number or minutes or faults:
                self._show(readings, work, role, reader, faults, minutes)
                return
        self.go_to(ADDRESS, lab, reader, "next")

    def _work(self, readings: Readings, reader: str, page: str) -> tuple[Work, str]:
        self.see_that_it_is(reader)
        work = readings.work(page)
        return work, _role_in(work, reader)

    def _show(
        self, readings: Readings, work: Work, role: str, reader: str, faults: list[str], elsewhere: int = 0
    ) -> None:
        works = readings.works()
        left = sum(each.state(kind) != "done" for kind in ROLES for each in in_order(works, reader, kind))
        self.form(
            readings,
            work,
            role,
            faults,
            title=f"{title_of(readings.lab)}: {reader}",
            reader=reader,
            left=left,
            elsewhere=elsewhere,
        )


class _Notebook(_Page):
    """All of the notebook, for the person who reads an answer in it: figures, and no names and points."""

    @allowed
    def get(self, lab: str, reader: str, page: str) -> None:
        self.see_that_it_is(reader)
        with self.readings(lab) as readings:
            work, called = readings.work(page), title_of(readings.lab)
            _role_in(work, reader)
            with Gradebook.open(self.course) as gradebook:
                known = gradebook.people(work.student).get(work.student, Person(work.student))
            cells = notebook_for_readers(readings.lab, work.student, None if work.released else known)
        self.show(
            "notebook",
            title=f"{called}: the whole notebook",
            lab=lab,
            called=called,
            reader=reader,
            work=work,
            cells=cells,
            short=short,
        )


class _Differences(_Page):
    @allowed
    def get(self, lab: str) -> None:
        with self.readings(lab) as readings:
            works, questions, called = readings.works(), readings.questions(), title_of(readings.lab)
        found = [each for each in pairs(works) if self.may_decide(works[each.page])]
        rows = agreement(found, questions)
        differ = [pair for pair in found if pair.differ]
        self.show(
            "differences",
            title=f"{called}: first and second readers",
            lab=lab,
            called=called,
            found=found,
            rows=rows,
            differ=differ,
            questions=questions,
            short=short,
        )


class _Decision(_Marking):
    @allowed
    def get(self, lab: str, page: str) -> None:
        with self.readings(lab) as readings:
            self._show(readings, self._work(readings, page), [])

    @allowed
    def post(self, lab: str, page: str) -> None:
        with self.readings(lab) as readings:
            work, decider = self._work(readings, page), self._decider()
            faults = self.enter(readings, work, DECISION, decider) if decider else ["Say who decides."]
            if faults:
                self._show(readings, work, faults)
                return
        self.go_to(ADDRESS, lab, "differences")

    def _decider(self) -> str:
        return self.who() or self.get_body_argument("decider", "")[:64]

    def _work(self, readings: Readings, page: str) -> Work:
        work = readings.work(page)
        if not self.may_decide(work):
            raise Refused(f"{self.who()} is neither the first nor the second reader of this submission.")
        if not pairs({page: work}):
            raise GraderError("Two people have to read this submission before anything can be decided.")
        return work

    def _show(self, readings: Readings, work: Work, faults: list[str]) -> None:
        both = {pair.cell: pair for pair in pairs({work.page: work})}
        title = f"{title_of(readings.lab)}: what counts"
        self.form(
            readings,
            work,
            DECISION,
            faults,
            title=title,
            pairs=both,
            decider=self._decider(),
            known=self.who(),
        )


def _role_in(work: Work, reader: str) -> str:
    """As what somebody reads a submission.

    Raises:
        GraderError: it is not in this reader's queue.
    """
    for role, task in work.tasks.items():
        if task.reader == reader:
            return role
    raise GraderError(f"This submission is not in the queue of {reader} any more.")


def _handed_in(lab: Lab, work: Work) -> tuple[dict[str, NotebookNode], list[tuple[str, str]]]:
    """Cell -> what the student wrote, with pictures; and names and texts of the files that the notebook imports.

    Raises:
        GraderError: the graded notebook cannot be read.
    """
    notebook = graded_notebook(lab, work.student, f"The graded notebook of submission {short(work.page)}")
    found = {nbgrader_of(cell).get("grade_id"): cell for cell in notebook.cells}
    files = [file for cell in notebook.cells if (file := file_in(cell))]
    return {answer.cell: found.get(answer.cell) or new_markdown_cell() for answer in work.answers}, files
