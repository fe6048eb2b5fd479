"""The page about the week: how each lab stands, its next step as a button, requests, extensions and pairs that are alike, beside the page for readers.

Everything is entered as the commands enter it. A step runs in a process of its own (:mod:`grader.by_hand.running`); the page only shows how far it is.
"""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Collection, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from grader.book.gradebook import Gradebook
from grader.by_hand import running
from grader.by_hand.blind import without_names
from grader.by_hand.extending import extend
from grader.by_hand.overview import WEEK, short
from grader.by_hand.rights import Refused
from grader.by_hand.running import Run
from grader.by_hand.web import Page, allowed, number_in
from grader.by_hand.week import Seen, Step, requests_for, week
from grader.errors import GraderError
from grader.people.roster import Person
from grader.receive.regrade import MAX_WORDS, legible
from grader.reference.lab import Lab
from grader.show.pages import default_page, title_of
from grader.show.requests import details
from grader.show.standing import Standing

_NUMBER = re.compile(r"[0-9]{1,9}")
_MAX_TEXT = 1_000
"""Characters of a student's name, a reason or a path that a form may send."""
_NAMELESS = {"Request", "Note", "Answer", "What the check said", "Points"}
"""What of a request is shown to those who must not see whose it is."""
ACTIONS = {
    Step.COLLECT: "Collect",
    Step.GRADE: "Grade",
    Step.FEEDBACK: "Make feedback",
    Step.RETURN: "Return feedback",
    Step.COMPARE: "Compare submissions",
}


class _Week(Page):
    template = "week.html"
    script_may_load = "'self'"

    def run(self) -> Run | None:
        """The step that is shown; an assistant sees none, because it names everybody."""
        return running.last(self.course) if self.rights.instructor else None

    def people(self) -> tuple[dict[str, Person], frozenset[str] | None]:
        """Everybody on the roster, and whom of them this person may see by name; None: all."""
        with Gradebook.open(self.course) as gradebook:
            people = gradebook.roster()
        return people, self.rights.students(people.values())

    def argument(self, name: str) -> str:
        """What a form sent.

        Raises:
            GraderError: it is longer than anybody writes.
        """
        text = self.get_body_argument(name, "")
        if len(text) > _MAX_TEXT:
            raise GraderError(f"Write at most {_MAX_TEXT:,} characters.")
        return text


class _Table(_Week):
    @allowed
    def get(self) -> None:
        rows = week(self.course, self.rights)
        self.show(
            "week",
            title="The week",
            rows=rows,
            states=Standing,
            sections=self.rights.sections,
            run=self.run(),
            asked=sum(row.asked for row in rows),
            actions=ACTIONS,
            xsrf=self.xsrf_form_html(),
        )


class _Progress(_Week):
    """How far the step is, for the page's own script."""

    @allowed
    def get(self) -> None:
        self.rights.see_that_it_is_an_instructor()
        run = self.run()
        self.set_header("Content-Type", "application/json")
        self.finish(json.dumps({**asdict(run), "title": run.title} if run else {}))


class _Stop(_Week):
    @allowed
    def post(self) -> None:
        self.rights.see_that_it_is_an_instructor()
        running.stop(self.course)
        self.go_to(WEEK)


class _Start(_Week):
    @allowed
    def post(self, lab: str) -> None:
        self.rights.see_that_it_is_an_instructor()
        lab = self.lab(lab).name
        try:
            step = Step(self.get_body_argument("step", ""))
        except ValueError:
            raise GraderError("The form is broken: load the page again.") from None
        source = self.argument("source").strip() if step is Step.COLLECT else ""
        running.start(self.course, lab, step, self.who(), source)
        self.go_to(WEEK)


class _Lab(_Week):
    @allowed
    def get(self, lab: str) -> None:
        self._show(lab, "", [])

    @allowed
    def post(self, lab: str) -> None:
        """Gives more time."""
        _, among = self.people()
        loaded, faults, given = self.lab(lab), [], ""
        try:
            student, why, days = (self.argument(name) for name in ("student", "why", "days"))
            if not why.strip():
                raise GraderError("Say why: the reason is for the log. Nothing has changed.")
            try:
                count = number_in(days)
            except ValueError:
                raise GraderError(f"{days!r} is not a number of days. Nothing has changed.") from None
            with Gradebook.open(self.course) as gradebook:
                found = extend(
                    gradebook,
                    loaded,
                    student.strip(),
                    count,
                    why.strip(),
                    lambda one: self.rights.see_that_it_is_theirs(one, among),
                )
            given = f"Saved: {found.given} for {found.student}. {found.deadline}"
            if not found.known:
                given += f" The gradebook does not know {found.student!r} yet. Is the id right?"
        except Refused:
            raise
        except GraderError as error:
            faults = [str(error)]
        self._show(lab, given, faults)

    def _show(self, name: str, given: str, faults: list[str]) -> None:
        lab = self.lab(name)
        people, among = self.people()
        with Gradebook.open(self.course) as gradebook:
            extensions, due = gradebook.extensions(lab), gradebook.deadline(lab)
        pairs = similar_pairs(lab, among)
        self.show(
            "lab",
            title=title_of(lab),
            lab=lab,
            due=due,
            run=self.run(),
            instructor=self.rights.instructor,
            extensions=[
                (student, people[student].name if student in people else "", more)
                for student, more in sorted(extensions.items())
                if among is None or student in among
            ],
            listed=[person for student, person in people.items() if among is None or student in among],
            entered={name: self.get_body_argument(name, "") for name in ("student", "days", "why")}
            if faults
            else {},
            may_extend=among is None or bool(among),
            pairs=pairs,
            report=_report(lab, self.rights.sections) is not None,
            steps=[step for step in Step],
            actions=ACTIONS,
            given=given,
            faults=faults,
            xsrf=self.xsrf_form_html(),
        )


class _Similar(_Week):
    """The page of `grader similar`, as it was written last."""

    @allowed
    def get(self, lab: str) -> None:
        loaded = self.lab(lab)
        page = _report(loaded, self.rights.sections)
        if page is None:
            raise GraderError(
                f"Nothing was compared yet for this page: `grader similar {loaded.name}` does it."
            )
        self.finish(page.read_text("utf-8"))


class _Requests(_Week):
    @allowed
    def get(self) -> None:
        with Gradebook.open(self.course) as gradebook:
            found = requests_for(gradebook, self.course, self.rights)
            people = gradebook.people()
        found.sort(key=lambda each: (bool(each.request.decided), each.request.asked, each.request.number))
        self.show("requests", title="Requests to look again", requests=found, people=people, short=short)


class _Request(_Week):
    @allowed
    def get(self, number: str) -> None:
        self._show(self._seen(number), [])

    @allowed
    def post(self, number: str) -> None:
        seen = self._seen(number)
        try:
            self._decide(seen)
        except GraderError as error:
            self._show(seen, [str(error)])
            return
        self.go_to(WEEK, "requests")

    def _decide(self, seen: Seen) -> None:
        reason = legible(self.get_body_argument("reason", "")).strip()
        if not reason or len(reason) > MAX_WORDS:
            raise GraderError(
                f"Say why, in a sentence that the learner reads; at most {MAX_WORDS:,} characters."
            )
        points = None
        if self.get_body_argument("decision", "") == "points":
            written = self.argument("points")
            try:
                points = number_in(written)
            except ValueError:
                raise GraderError(f"{written!r} is not a number of points. Nothing has changed.") from None
        with Gradebook.open(self.course) as gradebook:
            gradebook.decide(seen.request.number, points, reason, bool(seen.request.decided))

    def _seen(self, number: str) -> Seen:
        """
        Raises:
            GraderError: there is no such request.
            Refused: it is not this person's.
        """
        wanted = int(number) if _NUMBER.fullmatch(number) else 0
        with Gradebook.open(self.course) as gradebook:
            gradebook.request(wanted)
            found = requests_for(gradebook, self.course, self.rights)
        for each in found:
            if each.request.number == wanted:
                return each
        raise Refused(
            f"Request {wanted} is about nobody in your sections, and about no answer in your queue."
        )

    def _show(self, seen: Seen, faults: list[str]) -> None:
        request = seen.request
        shown = details(self.course, request.number)
        title, parts = shown.title, [part for part in shown.parts if part[0] != "Feedback page"]
        if seen.page:
            with Gradebook.open(self.course) as gradebook:
                person = gradebook.people(request.student).get(request.student, Person(request.student))
            title = f"Request {request.number}: submission {short(seen.page)}"
            parts = [(what, without_names(text, person)) for what, text in parts if what in _NAMELESS]
        lab = Lab.load(self.course, request.lab)
        self.show(
            "request",
            title=title,
            parts=parts,
            request=request,
            most=lab.points_of_cells.get(request.cell),
            faults=faults,
            entered={name: self.get_body_argument(name, "") for name in ("decision", "points", "reason")}
            if faults
            else {},
            xsrf=self.xsrf_form_html(),
        )


def _report(lab: Lab, sections: tuple[str, ...] | None) -> Path | None:
    """The page of `grader similar` that somebody may see: that of the class, or of an assistant's only section; None if there is none."""
    if sections is None:
        page = default_page(lab.course, f"{lab.name}-similar")
    elif len(sections) == 1:
        page = default_page(lab.course, f"{lab.name}-similar", sections[0])
    else:
        return None
    return page if page.is_file() else None


def similar_pairs(lab: Lab, among: Collection[str] | None) -> list[Mapping[str, Any]] | None:
    """The pairs that `grader similar` has found last, the most telling first; None if it has not been run.

    Args:
        among: only pairs with one of these students; None: all.
    """
    table = default_page(lab.course, f"{lab.name}-similar").with_suffix(".csv")
    try:
        with table.open(encoding="utf-8-sig", newline="") as file:
            rows = list(csv.DictReader(file))
    except (OSError, ValueError):
        return None
    return [
        row
        for row in rows
        if among is None or {row.get("student", ""), row.get("other student", "")} & set(among)
    ]


_NAME = r"([^/]+)"
PAGES = (
    (rf"/{WEEK}/?", _Table),
    (rf"/{WEEK}/progress", _Progress),
    (rf"/{WEEK}/stop", _Stop),
    (rf"/{WEEK}/requests/?", _Requests),
    (rf"/{WEEK}/requests/([0-9]+)/?", _Request),
    (rf"/{WEEK}/{_NAME}/?", _Lab),
    (rf"/{WEEK}/{_NAME}/steps/?", _Start),
    (rf"/{WEEK}/{_NAME}/similar/?", _Similar),
)
"""Addresses below Jupyter's, and what answers there; to be tried in this order."""
