"""The term as it stands, a row for each lab, and the next step of each: what the page about the week shows.

The figures come from where `grader term` and every export have theirs (:mod:`grader.show.standing`).
"""

from __future__ import annotations

import hashlib
import os
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path

from grader.book.answers import FIRST, SECOND, Work
from grader.book.gradebook import Gradebook
from grader.book.readings import Readings
from grader.book.requests import Request
from grader.book.results import Result
from grader.book.statuses import by_student
from grader.by_hand.rights import Rights
from grader.course import Course, make_private
from grader.errors import GraderError
from grader.files import TIMESTAMP, content_of, put, time_of
from grader.people.students import student_id
from grader.receive.exchange import inbound_of
from grader.reference.lab import Lab
from grader.show.feedback import outdated
from grader.show.pages import title_of
from grader.show.standing import Standing, collected, handed_in_anew, standings

FOLDER = "week"
"""In ``grading/``: what the page remembers of the steps that it has run."""


class Step(StrEnum):
    """What is done about a lab, in this order."""

    COLLECT = "collect"
    GRADE = "autograde"
    FEEDBACK = "feedback"
    RETURN = "return"
    COMPARE = "similar"
    """At any time after grading: it changes nothing."""


@dataclass(frozen=True)
class Row:
    """How a lab stands.

    Attributes:
        released: it is in the gradebook.
        due: when it has to be handed in (UTC); None: at any time.
        handed_in: students of whom there is work, graded or not.
        stand: how many students stand how.
        anew: how many have handed in again since they were graded.
        to_read: submissions with answers that a person has to read; of an assistant, those in their own queue.
        readable: there are answers that people read, also if all are read.
        asked: open requests to look again.
        step: what comes next; None: nothing.
        why: what it is needed for, or what is waited for.
    """

    name: str
    title: str
    released: bool
    due: datetime | None
    handed_in: int
    stand: Mapping[Standing, int]
    anew: int
    to_read: int
    readable: bool
    asked: int
    step: Step | None
    why: str

    def count(self, *states: Standing) -> int:
        return sum(self.stand.get(state, 0) for state in states)


@dataclass(frozen=True)
class Seen:
    """What somebody sees of the requests to look again.

    Attributes:
        request: as it is in the gradebook.
        page: of the submission in the queue of the person who reads it; empty if the student's name may be seen.
    """

    request: Request
    page: str = ""


def week(course: Course, rights: Rights, now: datetime | None = None) -> list[Row]:
    """A row for each lab.

    Args:
        rights: an assistant's rows are about the students of their sections, and have no steps.
        now: UTC.

    Raises:
        GraderError: the gradebook cannot be read, or the list of assistants names a section that is not there.
    """
    now = now or datetime.now(UTC).replace(tzinfo=None)
    labs = [Lab.load(course, name) for name in course.labs()]
    rows = []
    with Gradebook.open(course) as gradebook:
        expected = gradebook.roster() or gradebook.people()
        among = rights.students(expected.values())
        deadlines = gradebook.deadlines()
        waiting = waiting_in_exchange(course) if rights.instructor else {}
        asked = Counter(
            each.request.lab for each in requests_for(gradebook, course, rights) if not each.request.decided
        )
        for lab in labs:
            results = gradebook.results(lab, among)
            there = {each for each in collected(lab) if among is None or each in among}
            marks = by_student(gradebook.statuses(lab.name, among))
            students = [each for each in expected if among is None or each in among]
            stand = standings(results, there, students, marks)
            anew = _anew(lab, results)
            works = Readings(gradebook, lab).works() if results or not rights.instructor else {}
            row = Row(
                lab.name,
                title_of(lab),
                lab.name in deadlines,
                deadlines.get(lab.name),
                len({*there, *(each.student for each in results)}),
                Counter(stand.values()),
                len(anew),
                sum(_is_to_read(work, rights) for work in works.values()),
                bool(works),
                asked[lab.name],
                None,
                "",
            )
            step, why = _next(lab, gradebook, row, results, waiting.get(lab.name, 0), now)
            rows.append(replace(row, step=step if rights.instructor else None, why=why))
    return rows


def _is_to_read(work: Work, rights: Rights) -> bool:
    if rights.instructor:
        return work.state(FIRST) != "done" or (SECOND in work.tasks and work.state(SECOND) != "done")
    return any(task.reader == rights.who and work.state(role) != "done" for role, task in work.tasks.items())


# ---------------------------------------------------------------------------------- the next step


def _next(
    lab: Lab, gradebook: Gradebook, row: Row, results: Sequence[Result], in_exchange: int, now: datetime
) -> tuple[Step | None, str]:
    """The step that comes next, and what it is needed for.

    Args:
        in_exchange: of how many students there is newer work in the exchange.
    """
    if not row.released and not row.handed_in:
        return None, f"grader release {lab.name[:2]} --due TIME"
    if in_exchange:
        return Step.COLLECT, f"{in_exchange} in the exchange"
    if todo := row.count(Standing.COLLECTED) + row.anew:
        return Step.GRADE, f"{todo} to grade"
    if not row.handed_in:
        over = row.due is not None and row.due < now
        return (Step.COLLECT, "The deadline is over") if over else (None, "Nothing handed in yet")
    if old := _outdated(lab, gradebook, results):
        return Step.FEEDBACK, f"{len(old)} feedback page{'' if len(old) == 1 else 's'} to make"
    if _pages(lab) and returned(lab) != digest_of_pages(lab):
        return Step.RETURN, "Feedback to return"
    return None, f"{row.to_read} to be read" if row.to_read else "Up to date"


def waiting_in_exchange(course: Course) -> dict[str, int]:
    """Lab -> of how many students there is newer work in nbgrader's exchange than what was collected; empty where there is no exchange.

    What was there when the page last collected the lab was looked at then, whatever became of it.
    """
    newest: dict[tuple[str, str], datetime] = {}
    try:
        names = [each.name for each in inbound_of(course).iterdir()]
    except (GraderError, OSError):
        return {}
    for name in names:
        user, *rest = name.split("+")
        when = time_of(rest[1]) if len(rest) > 1 else None
        if when:
            key = rest[0], student_id(user)
            newest[key] = max(when, newest.get(key, when))
    found: Counter[str] = Counter()
    for (lab, student), when in newest.items():
        if when > max(
            _time_in(course.submitted / student / lab / TIMESTAMP), _time_in(_note(course, lab, "collected"))
        ):
            found[lab] += 1
    return found


def _time_in(file: Path) -> datetime:
    try:
        return time_of(content_of(file, 1_000).decode("utf-8").strip()) or datetime.min
    except (OSError, ValueError):
        return datetime.min


def _note(course: Course, lab: str, what: str) -> Path:
    return course.grading / FOLDER / f"{lab}-{what}.txt"


def note_collected(lab: Lab, when: datetime) -> None:
    """Remembers that the exchange was looked through."""
    _remember(_note(lab.course, lab.name, "collected"), f"{when:%Y-%m-%d %H:%M:%S} UTC")


def note_returned(lab: Lab) -> None:
    """Remembers that the feedback pages, as they are now, were returned."""
    _remember(_note(lab.course, lab.name, "returned"), digest_of_pages(lab))


def _remember(note: Path, text: str) -> None:
    make_private(note.parent)
    put(note, text.encode())


def returned(lab: Lab) -> str:
    """The digest of the pages that were returned last; empty if none were."""
    try:
        return content_of(_note(lab.course, lab.name, "returned"), 1_000).decode("utf-8")
    except (OSError, ValueError):
        return ""


def _pages(lab: Lab) -> list[Path]:
    return sorted(lab.course.feedback.glob(f"*/{lab.name}/{lab.slug}.html"))


def digest_of_pages(lab: Lab) -> str:
    """Another one means that there is another page to return. Pages that would not change are not written again."""
    looks = ((page.parts[-3], page.stat().st_size, page.stat().st_mtime_ns) for page in _pages(lab))
    return hashlib.sha256(repr(list(looks)).encode()).hexdigest()


# ---------------------------------------------------------------------------------- what takes long to find

_known: dict[tuple[str, Path, str], tuple[str, list[str]]] = {}
"""Of each lab, what was found last, with the digest of what it was found from."""


def _anew(lab: Lab, results: Sequence[Result]) -> list[str]:
    """As :func:`handed_in_anew` says, without reading what has not changed since it was last asked."""
    told = [(each.student, each.marker and each.marker.handed_in) for each in results]
    folders = [lab.course.submitted / each.student / lab.name for each in results]
    return _kept("anew", lab, told, folders, lambda: handed_in_anew(lab, results))


def _outdated(lab: Lab, gradebook: Gradebook, results: Sequence[Result]) -> list[str]:
    told = [results, Readings(gradebook, lab).lines(), gradebook.people()]
    roots = (lab.course.autograded, lab.course.feedback)
    folders = [root / each.student / lab.name for root in roots for each in results]
    folders.append(lab.course.grading / "pages")
    return _kept("outdated", lab, told, folders, lambda: outdated(lab, gradebook, results))


def _kept(
    what: str, lab: Lab, told: object, folders: Iterable[Path], find: Callable[[], list[str]]
) -> list[str]:
    key = hashlib.sha256(repr(told).encode())
    for folder in folders:
        key.update(_look_of(folder))
    place, digest = (what, lab.course.root, lab.name), key.hexdigest()
    if _known.get(place, ("",))[0] != digest:
        _known[place] = digest, find()
    return _known[place][1]


def _look_of(folder: Path) -> bytes:
    """Names, sizes and times of the files in a folder: other ones mean that there may be something else."""
    try:
        with os.scandir(folder) as files:
            return repr(sorted((each.name, *_size_and_time(each)) for each in files)).encode()
    except OSError:
        return b"-"


def _size_and_time(file: os.DirEntry[str]) -> tuple[int, int]:
    found = file.stat(follow_symlinks=False)
    return found.st_size, found.st_mtime_ns


# ---------------------------------------------------------------------------------- requests


def requests_for(gradebook: Gradebook, course: Course, rights: Rights) -> list[Seen]:
    """The requests that somebody sees: all; or those of their sections, and those about answers in their own queue, these without names
    until they are released.
    """
    found = gradebook.requests()
    if rights.instructor:
        return [Seen(each) for each in found]
    among = rights.students(gradebook.roster().values())
    queues = {
        name: _queue(gradebook, Lab.load(course, name), rights.who)
        for name in {each.lab for each in found} & {*course.labs()}
    }
    seen = []
    for each in found:
        if each.student in among:
            seen.append(Seen(each))
        elif work := queues.get(each.lab, {}).get((each.student, each.cell)):
            seen.append(Seen(each, "" if work.released else work.page))
    return seen


def _queue(gradebook: Gradebook, lab: Lab, reader: str) -> dict[tuple[str, str], Work]:
    """(student, cell) -> work, of what somebody reads first. A second reader must not see what the first one said."""
    return {
        (work.student, answer.cell): work
        for work in Readings(gradebook, lab).works().values()
        if FIRST in work.tasks and work.tasks[FIRST].reader == reader
        for answer in work.answers
    }
