"""All labs of a term on one page: how each went, where each student is heading, and which misconceptions stay.

Nothing that is handed in says which hints were read. This page follows a misconception from lab to lab, where the same one (the
same title) can be recognised again. The page about a lab follows it from one version of a submission to the next.
"""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import jinja2

from course_utils.display import inline
from grader.book.gradebook import Gradebook, students_of
from grader.book.requests import Request
from grader.book.results import Result
from grader.book.statuses import NONE, Marks, by_student
from grader.course import Course
from grader.errors import GraderError
from grader.people.roster import Person
from grader.reference.lab import Lab
from grader.show.class_facts import NEEDS_HELP_BELOW, share_of
from grader.show.pages import FIRST, default_page, in_short, percent, title_of, whom_first, write_page
from grader.show.standing import (
    Standing,
    anew_in_words,
    collected,
    graded,
    handed_in_anew,
    is_over,
    standing_of,
    strangers_in_words,
)

_MANY_MISSING = 2
_FALL = 0.25
"""Share of the points by which the last lab is worse than the mean of those before."""
_ENOUGH = 3
"""Scores that it takes to speak of a fall."""


@dataclass(frozen=True)
class LabFacts:
    """How a lab went. ``graded`` counts what could be read and ran to its end, and ``mean`` is its mean share of the points, None if there is none.
    ``waiting`` is work that is not graded yet. ``missing`` are those of whom there is none, and ``not_due`` those of them who still have time. ``excused``
    and ``zeroed`` are those whom an instructor has excused or given a zero, and ``anew`` is what is newer than its grade.
    """

    name: str
    title: str
    graded: int
    waiting: int
    missing: int
    mean: float | None
    anew: int = 0
    unreadable: int = 0
    excused: int = 0
    zeroed: int = 0
    ended: int = 0
    """Submissions that crashed, or ran out of time or memory."""
    not_due: int = 0


@dataclass(frozen=True)
class StudentFacts:
    """Where a student is heading.

    Attributes:
        shares: for each lab, the share of the points; None where nothing is graded.
        states: for each lab, how this student stands in it.
        again: titles of misconceptions that were recognised in two labs or more.
        expected: whether this student is in the course; of others, what they have handed in is shown.
        not_due: places of the labs that were not handed in, and for which this student still has time.
        reasons: why to talk to this student; empty if nothing stands out.
    """

    student: str
    shares: tuple[float | None, ...]
    states: tuple[Standing, ...]
    again: tuple[str, ...]
    expected: bool = True
    not_due: frozenset[int] = frozenset()

    @property
    def due(self) -> int:
        """How many labs should have been handed in, or were."""
        return len(self.shares) - len(self.not_due)

    @property
    def waiting(self) -> tuple[bool, ...]:
        """For each lab, whether there is work that is not graded yet."""
        return tuple(each is Standing.COLLECTED for each in self.states)

    @property
    def earned(self) -> list[float]:
        """The shares of what was handed in. A zero by decision says nothing about it."""
        return [
            share
            for share, state in zip(self.shares, self.states, strict=True)
            if share is not None and state is not Standing.ZERO
        ]

    @property
    def excused(self) -> int:
        """How many labs an instructor has excused this student from."""
        return sum(each is Standing.EXCUSED for each in self.states)

    @property
    def zeroed(self) -> int:
        """In how many labs an instructor has given this student a zero, whatever was handed in."""
        return sum(each is Standing.ZERO for each in self.states)

    @property
    def handed_in(self) -> int:
        """How many labs were handed in, without those with a zero by decision."""
        return len(self.earned) + sum(self.waiting)

    @property
    def mean(self) -> float | None:
        """Mean share over the labs, where what was not handed in in time counts as 0, and what waits, is excused or is not due yet does not count. None if
        nothing counts.
        """
        count = self.due - sum(self.waiting) - self.excused
        return sum(self.earned) / count if count else None

    @property
    def change(self) -> float | None:
        """The last score less the mean of those before; None with fewer than ``_ENOUGH`` scores."""
        *before, last = self.earned or [0.0]
        return last - statistics.fmean(before) if len(before) + 1 >= _ENOUGH else None

    @property
    def reasons(self) -> tuple[str, ...]:
        found = []
        asked = self.due - self.excused - self.zeroed
        if self.expected and asked - self.handed_in >= _MANY_MISSING:
            found.append(f"handed in {self.handed_in} of {asked}")
        if self.earned and statistics.fmean(self.earned) < NEEDS_HELP_BELOW:
            found.append(f"{percent(statistics.fmean(self.earned))} of the points of what was handed in")
        if self.change is not None and self.change <= -_FALL:
            found.append(f"the last score is {100 * -self.change:.0f} points of 100 below those before")
        return (*found, *(f"again: {title}" for title in self.again))


@dataclass(frozen=True)
class Lasting:
    """A misconception over the term.

    Attributes:
        labs: those in which it was held.
        students: number of students who had it in any lab.
        met: how many of them were graded later in another lab in which it can be recognised.
        again: how many of those had it there, too.
        longest: the first and the last lab of the student who had it over the most labs; None if nobody had it in two.
        held_so_long: number of students who first had it in the one and last in the other.
    """

    title: str
    labs: tuple[str, ...]
    students: int
    met: int
    again: int
    longest: tuple[str, str] | None
    held_so_long: int


@dataclass(frozen=True)
class Term:
    """All facts of the page. ``requests``: open ones, about all labs. ``hints``: title of a misconception -> its hint. ``strangers``: a sentence about
    people with work who are not on the roster, if there are any.
    """

    labs: tuple[LabFacts, ...]
    students: tuple[StudentFacts, ...]
    misconceptions: tuple[Lasting, ...]
    people: Mapping[str, Person]
    requests: tuple[Request, ...]
    hints: Mapping[str, str] = field(default_factory=dict)
    strangers: tuple[str, ...] = ()

    def to_begin_with(self, one: StudentFacts) -> str:
        """What to talk about first with a student who stands out."""
        missing = [
            lab
            for place, (lab, state) in enumerate(zip(self.labs, one.states, strict=True))
            if state is Standing.NOT_HANDED_IN and place not in one.not_due
        ]
        if not one.handed_in:
            return "Ask whether they are still in the course. If not: `grader roster remove`; if so, agree on one lab and a day for it."
        if len(missing) >= _MANY_MISSING:
            last = max(place for place, state in enumerate(one.states) if state is not Standing.NOT_HANDED_IN)
            since = (
                f"Nothing came after {self.labs[last].title}"
                if last + 1 < len(self.labs)
                else f"{missing[-1].title} is missing"
            )
            return f"{since}: ask what got in the way, and agree on one lab to hand in next, with `grader extend`."
        scored = [
            (share, lab.title)
            for share, lab, state in zip(one.shares, self.labs, one.states, strict=True)
            if share is not None and state is not Standing.ZERO
        ]
        if one.change is not None and one.change <= -_FALL:
            return f"{scored[-1][1]} went worse than the labs before: ask what was different, and look at its feedback page together."
        for title in one.again:
            return f"Ask them to explain this: {self.hints.get(title, title)}"
        share, weakest = min(scored)
        return f"{weakest} went worst ({percent(share)}): look at its feedback page together, beginning with the first exercise that is not right."

    def called(self, student: str) -> str:
        """The name with the id, or the id alone."""
        name = self.people[student].name if student in self.people else ""
        return f"{name} ({student})" if name and name != student else student

    @property
    def needs_help(self) -> list[StudentFacts]:
        """Those who stand out, the one who stands worst first."""
        return sorted(
            (each for each in self.students if each.reasons),
            key=lambda each: (each.mean or 0.0, each.student),
        )


def write_term(course: Course, page: Path | None = None, section: str | None = None) -> tuple[Path, ...]:
    """Writes ``grading/reports/term.html`` (or ``page``) and two CSV files next to it, of students and of misconceptions. Returns
    all paths.

    Args:
        section: only about the students of this one.

    Raises:
        GraderError: nothing has been graded, there is no such section, or a file cannot be written.
    """
    among = students_of(course, section)
    with Gradebook.open(course) as gradebook:
        labs = [Lab.load(course, name) for name in course.labs()]
        entered = {lab.name: gradebook.results(lab, among) for lab in labs}
        deadlines = {lab.name: gradebook.deadline(lab) for lab in labs}
        more = {lab.name: gradebook.times(lab) for lab in labs}
        people, listed = gradebook.people(), gradebook.roster()
        requests = gradebook.requests(among=among)
        marks = {lab.name: by_student(gradebook.statuses(lab.name, among)) for lab in labs}
    there = {
        lab.name: {each.student for each in entered[lab.name]}
        | {student for student in collected(lab) if among is None or student in among}
        for lab in labs
    }
    now = datetime.now(UTC).replace(tzinfo=None)
    results = [
        (lab, found)
        for lab in labs
        if (found := graded(entered[lab.name]))
        or (there[lab.name] and (deadlines[lab.name] or now) <= now)  # before its deadline, more is to come
    ]
    if not results:
        whose = f" of section {section!r}" if section else ""
        raise GraderError(f"Nothing{whose} has been graded yet. Run `grader autograde LAB` first.")
    anew = {lab.name: len(handed_in_anew(lab, found)) for lab, found in results}
    of_these = {lab.name: there[lab.name] for lab, _ in results}
    expected = listed or people
    not_due = {
        lab.name: {
            student
            for student in expected
            if not is_over(
                deadlines[lab.name], more[lab.name].get(student, timedelta()), bool(graded_there), now
            )
        }
        for lab, graded_there in results
    }
    found = analyse(results, of_these, expected, people, among, requests, anew, marks, not_due)
    with_work = {student for who in there.values() for student in who}
    found = replace(found, strangers=tuple(strangers_in_words(with_work, listed)))
    page = page or default_page(course, "term", section)
    more = {"misconceptions": rows_of_misconceptions(found)}
    return page, *write_page(page, as_html(found, section), as_rows(found), more)


def analyse(
    results: Sequence[tuple[Lab, Sequence[Result]]],
    collected: Mapping[str, Collection[str]],
    expected: Collection[str],
    people: Mapping[str, Person],
    among: Collection[str] | None = None,
    requests: Sequence[Request] = (),
    anew: Mapping[str, int] | None = None,
    marks: Mapping[str, Mapping[str, Marks]] | None = None,
    not_due: Mapping[str, Collection[str]] | None = None,
) -> Term:
    """The facts about a term.

    Args:
        results: each lab, in order, with its results.
        collected: lab -> students of whom there is work, graded or not.
        expected: who is in the course.
        among: only these students; None: everybody.
        requests: to look again, open and decided.
        anew: lab -> how many have handed in anew since they were graded.
        marks: lab -> student -> what was decided about this student there.
        not_due: lab -> students who still have time for it.
    """
    of_lab = {lab.name: {one.student: one for one in found} for lab, found in results}
    decided = {lab.name: (marks or {}).get(lab.name, {}) for lab, _ in results}
    shares = {lab.name: _shares(lab, found, decided[lab.name]) for lab, found in results}
    everybody = {*expected, *(student for those in shares.values() for student in those)}
    everybody |= {student for who in collected.values() for student in who}
    everybody = sorted(everybody if among is None else everybody.intersection(among))
    held = _held(results)
    students = []
    for student in everybody:
        states = tuple(
            standing_of(
                of_lab[lab.name].get(student),
                student in collected[lab.name],
                decided[lab.name].get(student, NONE),
            )
            for lab, _ in results
        )
        students.append(
            StudentFacts(
                student,
                tuple(shares[lab.name].get(student) for lab, _ in results),
                states,
                tuple(
                    title for title, labs in held.items() if sum(student in who for who in labs.values()) > 1
                ),
                student in expected,
                frozenset(
                    place
                    for place, (lab, _) in enumerate(results)
                    if states[place] is Standing.NOT_HANDED_IN
                    and student in (not_due or {}).get(lab.name, ())
                ),
            )
        )
    facts = [
        _lab_facts(lab, place, students, shares[lab.name], (anew or {}).get(lab.name, 0))
        for place, (lab, _) in enumerate(results)
    ]
    return Term(
        tuple(facts),
        tuple(students),
        tuple(_all_lasting(held, results)),
        people,
        tuple(each for each in requests if not each.decided),
        {entry.title: entry.hint for lab, _ in results for of in lab.misconceptions.values() for entry in of},
    )


def _shares(lab: Lab, results: Iterable[Result], decided: Mapping[str, Marks]) -> dict[str, float]:
    """Student -> share of a lab's points, of everybody who is not excused."""
    zero = {student: 0.0 for student, each in decided.items() if each.zeroed}
    earned = {one.student: share_of(one, lab.points_of_cells) for one in results} | zero
    excused = {student for student, each in decided.items() if each.excused}
    return {student: share for student, share in earned.items() if student not in excused}


def _lab_facts(
    lab: Lab,
    place: int,
    students: Sequence[StudentFacts],
    shares: Mapping[str, float],
    anew: int,
) -> LabFacts:
    """How a lab went.

    Args:
        place: of the lab among all labs.
    """
    seen = [shares[each.student] for each in students if each.states[place] is Standing.GRADED]
    return LabFacts(
        lab.name,
        title_of(lab),
        sum(each.states[place] is Standing.GRADED for each in students),
        sum(each.waiting[place] for each in students),
        sum(each.expected and each.states[place] is Standing.NOT_HANDED_IN for each in students),
        statistics.fmean(seen) if seen else None,
        anew,
        sum(each.states[place] is Standing.UNREADABLE for each in students),
        sum(each.states[place] is Standing.EXCUSED for each in students),
        sum(each.states[place] is Standing.ZERO for each in students),
        sum(each.states[place] is Standing.CUT_SHORT for each in students),
        sum(each.expected and place in each.not_due for each in students),
    )


def _all_lasting(
    held: Mapping[str, Mapping[str, set[str]]], results: Sequence[tuple[Lab, Sequence[Result]]]
) -> list[Lasting]:
    """All misconceptions of a term, those that stay the longest first."""
    places = {lab.name: place for place, (lab, _) in enumerate(results)}

    def duration(one: Lasting) -> int:
        return places[one.longest[1]] - places[one.longest[0]] if one.longest else 0

    found = [_lasting(title, labs, results) for title, labs in held.items()]
    found.sort(key=lambda one: (-duration(one), -one.held_so_long, -one.again, -one.students, one.title))
    return found


def _titles(lab: Lab) -> dict[tuple[str, str], str]:
    return {(one.exercise, one.name): one.title for entries in lab.misconceptions.values() for one in entries}


def _held(results: Sequence[tuple[Lab, Sequence[Result]]]) -> dict[str, dict[str, set[str]]]:
    """Title of a misconception -> lab -> who has it there."""
    held: dict[str, dict[str, set[str]]] = {}
    for lab, found in results:
        titles = _titles(lab)
        for one in found:
            for text in one.recognised:
                exercise, _, name = text.partition(": ")
                title = titles.get((exercise, name), name)
                held.setdefault(title, {}).setdefault(lab.name, set()).add(one.student)
    return held


def _lasting(
    title: str, labs: Mapping[str, set[str]], results: Sequence[tuple[Lab, Sequence[Result]]]
) -> Lasting:
    before: set[str] = set()
    met: set[str] = set()
    again: set[str] = set()
    for lab, found in results:
        now = labs.get(lab.name, set())
        if title in _titles(lab).values():
            met |= before & {one.student for one in found}
            again |= before & now
        before |= now
    order = [lab.name for lab, _ in results]
    over = Counter(
        (min(mine), max(mine))
        for student in before
        if len(mine := [place for place, name in enumerate(order) if student in labs.get(name, ())]) > 1
    )
    first, last = max(over, key=lambda pair: (pair[1] - pair[0], over[pair], pair), default=(0, 0))
    longest = (order[first], order[last]) if over else None
    return Lasting(title, tuple(labs), len(before), len(met), len(again), longest, over[first, last])


# ---------------------------------------------------------------------------------- the page


def as_html(found: Term, section: str | None = None) -> str:
    """The page, as one self-contained file."""
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("grader", "show"), autoescape=True, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters |= {
        "inline": inline,
        "percent": percent,
        "called": found.called,
        "in_words": in_words,
    }
    return environment.get_template("term.html").render(
        found=found,
        title=f"The term{f' ({section})' if section else ''}",
        sentences=[*summary(found), *in_short(found.requests, section=section)],
        first=FIRST,
    )


def summary(found: Term) -> list[str]:
    """What to know if you read nothing else."""
    old = [f"{lab.title}: {anew_in_words(lab.name, lab.anew)}" for lab in found.labs if lab.anew]
    lines = old
    with_mean = [lab for lab in found.labs if lab.mean is not None]
    if with_mean:
        hard = min(with_mean, key=lambda lab: lab.mean)
        hardest = ", the hardest so far" if len(with_mean) > 1 else ""
        lines.append(f"{hard.title}: {percent(hard.mean)} on average{hardest}.")
    if found.needs_help:
        lines.append(whom_first([found.called(one.student) for one in found.needs_help]))
    held = next((one for one in found.misconceptions if one.longest), None)
    if held:
        many = f"{held.held_so_long} student{'' if held.held_so_long == 1 else 's'}"
        first, last = (name[:2] for name in held.longest)
        lines.append(f"Held longest: {held.title} From lab {first} to lab {last}, by {many}.{_again(held)}")
        most = max(found.misconceptions, key=lambda one: one.again)
        if most.again > held.again:
            lines.append(f"Held again by most: {most.title}{_again(most)}")
    if waiting := sum(lab.waiting for lab in found.labs):
        labs = [f"`grader autograde {lab.name}` ({lab.waiting})" for lab in found.labs if lab.waiting]
        are = "submissions are" if waiting > 1 else "submission is"
        they = "they are" if waiting > 1 else "it is"
        lines.append(
            f"{waiting} {are} collected, not graded yet: {they} not in these figures. To grade: {', '.join(labs)}."
        )
    lines += found.strangers
    if unread := sum(lab.unreadable for lab in found.labs):
        lines.append(
            f"{unread} {'submissions are' if unread > 1 else 'submission is'} unreadable: no part of a lab's mean, and 0 points in the student's own unless somebody gave some."
        )
    return lines


def _again(one: Lasting) -> str:
    return f" Of the {one.met} who met it again, {one.again} still held it." if one.met else ""


def in_words(student: StudentFacts) -> str:
    """A student's scores in words, for those who cannot see the line."""
    words = {
        Standing.NOT_HANDED_IN: "nothing",
        Standing.COLLECTED: "not graded yet",
        Standing.UNREADABLE: "unreadable",
        Standing.EXCUSED: "excused",
        Standing.ZERO: "zero, by decision",
    }
    return ", ".join(
        "not due yet" if place in student.not_due else words.get(state) or percent(share or 0.0)
        for place, (share, state) in enumerate(zip(student.shares, student.states, strict=True))
    )


def as_rows(found: Term) -> list[list[str]]:
    """The same as a table with one row per student."""
    columns = [f"{lab.name} (%)" for lab in found.labs]
    states = [f"{lab.name} (state)" for lab in found.labs]
    rows = [
        [
            "student",
            "name",
            "section",
            *columns,
            "handed in",
            "of",
            "mean (%)",
            "change",
            "held again",
            "why",
            *states,
            "what to begin with",
        ]
    ]
    for each in found.students:
        person = found.people.get(each.student, Person(each.student))
        scores = ("" if share is None else f"{100 * share:.1f}" for share in each.shares)
        change = "" if each.change is None else f"{100 * each.change:.1f}"
        who = [each.student, person.name, person.section]
        mean = "" if each.mean is None else f"{100 * each.mean:.1f}"
        counts = [str(each.handed_in), str(each.due), mean, change]
        rows.append(
            [
                *who,
                *scores,
                *counts,
                " ".join(each.again),
                "; ".join(each.reasons),
                *(
                    f"{state}, not due yet" if place in each.not_due else state
                    for place, state in enumerate(each.states)
                ),
                found.to_begin_with(each) if each.reasons else "",
            ]
        )
    return rows


def rows_of_misconceptions(found: Term) -> list[list[str]]:
    """A heading, and a row for each misconception, in the order of the page."""
    rows = [
        [
            "misconception",
            "labs",
            "students",
            "held again",
            "of",
            "longest from",
            "longest to",
            "students so long",
        ]
    ]
    for one in found.misconceptions:
        over = [*one.longest, str(one.held_so_long)] if one.longest else ["", "", ""]
        rows.append([one.title, " ".join(one.labs), str(one.students), str(one.again), str(one.met), *over])
    return rows
