"""Grading on hand-in: what arrives in the exchange, or in a folder, is collected, graded and given back, by what the commands do one after
the other.

Its feedback is of a seed of its own, so that nothing that learners can find out by handing in again and again is about the seed that counts in
the end: `grader autograde` then grades everything with that one. It is watched by looking every few seconds. Whose turn it is is decided by a :class:`Queue`. What a watch has to know lies in the gradebook and in
``grading/``, so one that was stopped or killed goes on where it was.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

from grader.book.attempts import Attempt
from grader.book.gradebook import Gradebook
from grader.errors import GraderError
from grader.files import printable
from grader.grade.autograde import SecondRuns, autograde, locked
from grader.grade.resume import Again, copies, sort_out
from grader.grade.work import Record, handed_in_at
from grader.people.shared import together_in
from grader.receive.collect import ASKED, REFUSED, Collected, collect, when_sure
from grader.receive.exchange import inbound_of
from grader.receive.handed_in import fingerprint_of_submission
from grader.receive.sources import states
from grader.reference.lab import Lab
from grader.run.states import Runner

LOOK_SECONDS = 3
"""So often it is looked for what has arrived. A hand-in that is still being written is left until it has not changed between two looks."""
SESSION_SECONDS = 120
"""After so long, processes take nothing new and end when they are ready, so that second runs, other watches and `grader autograde` get
their turn."""
LONG_SECONDS = 20
"""While a notebook is running for longer than this, the other processes go on taking what is new."""
IDLE_SECONDS = 20
"""Processes that have nothing to do wait this long for the next hand-in before they end."""
RETRY_SECONDS = 30
"""What could not be done is tried again after so long."""
DAY = timedelta(days=1)
"""The length of time in which attempts are counted: always the last 24 hours, so that midnight gives nobody twice as many."""


_QUEUE = "The queue cannot be brought up to date"


@dataclass(frozen=True)
class HandIn:
    """Somebody's work that waits to be graded.

    Attributes:
        handed_in: its fingerprint.
        when: it was handed in (UTC).
        due: the student's own deadline (UTC); None: there is none.
        copies: the other members of the team that handed it in -> the fingerprints of their copies. The student is the one who did it.
    """

    student: str
    handed_in: str
    when: datetime
    due: datetime | None = None
    copies: Mapping[str, str] = field(default_factory=dict)

    @property
    def people(self) -> set[str]:
        """All whose work it is."""
        return {self.student, *self.copies}


class Queue:
    """Everybody has one place in it, in the order of arrival. What is handed in meanwhile takes the place of what waits there; after that
    was graded, the next one goes to the end. So ten hand-ins of one person keep nobody else waiting for more than one.

    Args:
        per_day: how many of one person are graded within 24 hours. What is over that waits until there is room again, or until the deadline
            has passed if it was handed in by then.
    """

    def __init__(self, per_day: int) -> None:
        self.per_day = per_day
        self.attempts: dict[str, list[Attempt]] = {}
        self._waiting: dict[str, HandIn] = {}

    def put(self, hand_in: HandIn) -> None:
        """Puts work in its student's place, or at the end if the student has none."""
        self._waiting[hand_in.student] = hand_in

    def keep_only(self, students: Collection[str]) -> None:
        """Removes everybody else."""
        for student in self._waiting.keys() - set(students):
            del self._waiting[student]

    def free_from(self, hand_in: HandIn, now: datetime) -> datetime | None:
        """When work may be graded that is over the bound; None: now."""
        recent = [each for each in self.attempts.get(hand_in.student, ()) if each.begun > now - DAY]
        if len(recent) < self.per_day or recent[-1].handed_in == hand_in.handed_in:
            return None
        free = recent[-self.per_day].begun + DAY
        due = hand_in.due
        if due is not None and hand_in.when <= due and not any(each.begun >= due for each in recent):
            free = min(free, due)  # once: who hands in may have written the time
        return free if free > now else None

    def ready(self, now: datetime, busy: Collection[str] = ()) -> list[HandIn]:
        """What may be graded now, in its order; nothing of those who are ``busy``."""
        return [
            each
            for each in self._waiting.values()
            if each.people.isdisjoint(busy) and not self.free_from(each, now)
        ]

    def take(self, now: datetime, busy: Collection[str] = ()) -> HandIn | None:
        """Takes out what is to be graded next and counts it as an attempt; None if nothing is."""
        for hand_in in self.ready(now, busy)[:1]:
            del self._waiting[hand_in.student]
            mine = self.attempts.setdefault(hand_in.student, [])
            if (
                not mine or mine[-1].handed_in != hand_in.handed_in
            ):  # else it was broken off, and is begun again
                mine.append(Attempt(now, hand_in.handed_in))
            return hand_in
        return None

    def held(self, now: datetime) -> list[tuple[HandIn, datetime]]:
        """What is over the bound, and when it may be graded."""
        found = ((each, self.free_from(each, now)) for each in self._waiting.values())
        return [(each, free) for each, free in found if free]


@dataclass(frozen=True)
class Place:
    """What is watched: of a folder, the entries of a pattern; and what collects from it."""

    folder: Path
    pattern: str
    collect: Callable[[], list[Collected]]


def place_of(lab: Lab, source: Path | None, shared_account: bool = False, layout: str = "") -> Place:
    """The exchange, or a folder that is handed in to; the arguments are those of :func:`grader.receive.collect.collect`.

    Raises:
        GraderError: it is not there.
    """
    if source is None:
        inbound = inbound_of(lab.course)
        return Place(inbound, f"*+{lab.name}+*", lambda: collect(lab, None, shared_account))
    if not source.is_dir():
        raise GraderError(
            f"{source} is not a folder. Name the folder to which work is handed in, or leave it out to watch the exchange."
        )

    def confirm(said: str, doubts: Collection[str]) -> None:
        if not layout:
            when_sure(said, list(doubts))

    return Place(source, "*", lambda: collect(lab, source, confirm=confirm, layout=layout, anyway=True))


def _is_another_s(folder: Path) -> bool:
    """Whether it is a copy of what another member of the team handed in."""
    together = together_in(folder)
    return together is not None and together.by != folder.parent.name


def _utc() -> datetime:
    return datetime.now(UTC).replace(tzinfo=None)


@dataclass
class Watch:
    """Watches one lab. As an iterator it hands out the folder of what is to be graded next, or has nothing at the moment.

    Args:
        jobs: at most so many processes grade; None: this one does.
        give_back: returns a student's feedback, and says what became of it.
        seed: of the feedback on hand-in, from :func:`grader.grade.autograde.class_seed`.
        tell_kept: tells a student that work is over the bound, and until when it is kept.
        say: gets a line for each hand-in, and for what goes wrong.
        now, clock, pause: the time (UTC), seconds that only grow, and waiting.
    """

    lab: Lab
    runner: Runner
    seed: int
    place: Place
    queue: Queue
    jobs: int | None
    give_back: Callable[[str], str]
    tell_kept: Callable[[HandIn, datetime], None]
    say: Callable[[str], None]
    now: Callable[[], datetime] = _utc
    clock: Callable[[], float] = time.monotonic
    pause: Callable[[float], None] = time.sleep
    _students: set[str] = field(default_factory=set)  # who has handed in something here
    _seen: Mapping[str, object] = field(default_factory=dict)  # at the last look
    _taken: Mapping[str, object] = field(default_factory=dict)  # when it was collected
    _running: dict[str, HandIn] = field(default_factory=dict)
    _since: dict[str, float] = field(default_factory=dict)  # when that began, by the clock
    _done: dict[str, str] = field(
        default_factory=dict
    )  # student -> the last one tried, also if it was in vain
    _results: dict[str, str] = field(default_factory=dict)  # what is said when the feedback is returned
    _unreturned: set[str] = field(default_factory=set)
    _kept: dict[str, str] = field(default_factory=dict)  # student -> the one that was told to be kept
    _said: set[str] = field(default_factory=set)  # of what was refused
    _wrong: dict[str, str] = field(default_factory=dict)  # what cannot be done at the moment, and why
    _look_at: float = 0.0
    _return_at: float = 0.0
    _grade_at: float = 0.0
    _ends_at: float = 0.0
    _processes: int = 0
    _in_doubt: int = 0

    def go_on(self, rounds: Iterator[object]) -> None:
        """Watches for as many rounds as there are; each ends when there is nothing to grade at the moment.

        Raises:
            GraderError: another watch of this lab is at work, or the gradebook cannot be used.
        """
        busy = (
            f"Another `grader watch {self.lab.name}` is at work in {self.lab.course.grading}. Stop it first, or leave it at work: "
            "one is enough."
        )
        with locked(self.lab.course, f"watch-{self.lab.name}.lock", busy):
            with Gradebook.open(self.lab.course) as gradebook:
                self._unreturned = gradebook.unreturned(self.lab)
            for _ in rounds:
                self.look()
                self._return()
                if self.queue.ready(self.now()) and self.clock() >= self._grade_at:
                    self._grade()
                self.pause(1)  # also after grading, so that others get their turn

    # -- what arrives

    def look(self) -> None:
        """Collects what has arrived, unless it was looked for a moment ago."""
        if self.clock() < self._look_at:
            return
        self._look_at = self.clock() + LOOK_SECONDS
        if not self._tried("Nothing can be collected at the moment", self._collect):
            self._look_at = self.clock() + RETRY_SECONDS
        for hand_in, free in self.queue.held(self.now()):
            if self._kept.get(hand_in.student) != hand_in.handed_in:
                self._kept[hand_in.student] = hand_in.handed_in
                self._line(
                    f"{hand_in.student}: kept, because all attempts of 24 hours are used ({self.queue.per_day}); to be graded after {free:%Y-%m-%d %H:%M} UTC"
                )
                for student in sorted(hand_in.people):
                    self._tried(
                        f"{student} cannot be told so",
                        partial(self.tell_kept, replace(hand_in, student=student), free),
                    )

    def _collect(self) -> None:
        seen = states(self.place.folder, self.place.pattern)
        changed = {name for name, state in seen.items() if state != self._taken.get(name)}
        written = {name for name in changed if seen[name] != self._seen.get(name)}  # perhaps not to the end
        self._seen = seen
        if changed == written:
            return
        rows = self.place.collect()
        self._taken = {name: state for name, state in seen.items() if name not in written}
        unfinished = set(map(printable, written))
        for row in rows:
            if row.outcome == REFUSED:
                told = f"{row.student or row.file}: refused. {row.why}"
                if told not in self._said:  # it is collected again with every other one
                    self._said.add(told)
                    self._line(told)
            if row.student and row.outcome != ASKED and row.file.partition("/")[0] not in unfinished:
                self._students.add(row.student)
        self._line_up()

    def _line_up(self) -> None:
        """Brings the queue up to date with what is collected and graded, by whomever."""
        lab = self.lab
        with Gradebook.open(lab.course) as gradebook:
            markers, deadline, times = gradebook.markers(lab), gradebook.deadline(lab), gradebook.times(lab)
            self.queue.attempts = gradebook.attempts(lab, self.now() - DAY)
        folders = [lab.course.submitted / student / lab.name for student in sorted(self._students)]
        todo, _ = sort_out(lab, [each for each in folders if each.is_dir()], markers, "", Again.NEW)
        todo, copied = copies(lab, sorted(todo, key=_is_another_s))
        waiting = []
        for folder in todo:
            student, handed_in = folder.parent.name, fingerprint_of_submission(lab, folder)
            theirs = {copy.parent.name: fingerprint for copy, fingerprint in copied.get(folder, ())}
            running = self._running.get(student)
            if handed_in not in (self._done.get(student), running and running.handed_in):
                due = deadline + times.get(student, timedelta()) if deadline else None
                when = handed_in_at(folder)[1] or self.now()
                waiting.append(HandIn(student, handed_in, when, due, theirs))
        self.queue.keep_only({each.student for each in waiting})
        for each in sorted(waiting, key=lambda each: each.when):
            self.queue.put(each)

    # -- grading

    @property
    def _at_work(self) -> set[str]:
        """Whose work is being graded."""
        return {student for each in self._running.values() for student in each.people}

    def copies_of(self, folder: Path) -> list[tuple[Path, str]]:
        """The copies that other members of the team have of what is being graded, with their fingerprints."""
        theirs = self._running[folder.parent.name].copies
        return [(self.lab.course.submitted / each / self.lab.name, copy) for each, copy in theirs.items()]

    def __iter__(self) -> Watch:
        return self

    def __next__(self) -> Path:
        self.look()
        lab, idle_until = self.lab, self.clock() + IDLE_SECONDS
        wanted = len(self.queue.ready(self.now(), self._at_work)) + len(self._running)
        ends = self.clock() > self._ends_at or self._processes < min(self.jobs or 0, wanted)
        at_work = sorted(self._since.values())[self._in_doubt :]  # the others wait to be run once more
        if ends and all(self.clock() - since <= LONG_SECONDS for since in at_work):
            raise StopIteration  # it begins anew in a moment, with as many processes as are needed
        while not (hand_in := self.queue.take(self.now(), self._at_work)):
            if self._running or self.clock() > idle_until:
                raise StopIteration
            self.pause(1)
            self.look()
        attempt = self.queue.attempts[hand_in.student][-1]
        with Gradebook.open(lab.course) as gradebook:
            gradebook.begin_attempt(lab, hand_in.student, attempt)
            for student, fingerprint in hand_in.copies.items():
                gradebook.begin_attempt(lab, student, attempt._replace(handed_in=fingerprint))
        self._running[hand_in.student], self._since[hand_in.student] = hand_in, self.clock()
        return lab.course.submitted / hand_in.student / lab.name

    def _grade(self) -> None:
        if not self._tried(_QUEUE, self._line_up) or not self.queue.ready(self.now()):
            return
        self._ends_at = self.clock() + SESSION_SECONDS
        # one more than are needed, so that a notebook that takes long keeps nobody waiting
        self._processes = min(self.jobs or 0, len(self.queue.ready(self.now())) + 1)
        self._in_doubt = 0

        def tell(second: SecondRuns) -> None:
            self._in_doubt = second.submissions

        stream = autograde(
            self.lab,
            [],
            self.runner,
            self.seed,
            jobs=self._processes or None,
            tell=tell,
            arriving=self,
            copies_of=self.copies_of,
        )

        def grade() -> None:
            for record in stream:
                self._finished(record)
                self._return()

        try:
            if not self._tried("What was handed in waits", grade):
                self._grade_at = self.clock() + LOOK_SECONDS
        finally:
            stream.close()
        self._running.clear()
        self._since.clear()
        self._tried(_QUEUE, self._line_up)

    def _finished(self, record: Record) -> None:
        student = record.student
        if hand_in := self._running.pop(student, None):  # else it is a copy of what was finished just now
            del self._since[student]
            self._done |= {student: hand_in.handed_in, **hand_in.copies}
        if record.score is None:
            self._line(
                f"{student}: {' '.join(record.notes)} `grader autograde {self.lab.name}` tries it again."
            )
            return
        self._results[student] = (
            f"{record.state}, {record.score:g} of {record.max_score:g} points from the checks"
        )
        self._unreturned.add(student)

    def _return(self) -> None:
        """Returns the feedback of whom it is due to."""
        lab = self.lab
        if self.clock() < self._return_at:
            return
        for student in sorted(self._unreturned - self._running.keys()):
            if not (lab.course.autograded / student / lab.name / lab.notebook_name).exists():
                continue  # its grading was broken off; it is in the queue
            if not self._tried(
                f"{student}: no feedback can be returned at the moment", partial(self._return_to, student)
            ):
                self._return_at = self.clock() + RETRY_SECONDS

    def _return_to(self, student: str) -> None:
        became = self.give_back(student)
        with Gradebook.open(self.lab.course) as gradebook:
            gradebook.note_returned(self.lab, student)
        self._unreturned.discard(student)
        self._line(f"{student}: {self._results.pop(student, 'graded before')}; {became}")

    # -- what is said

    def _line(self, text: str) -> None:
        self.say(f"{datetime.now():%Y-%m-%d %H:%M:%S}  {text}")

    def _tried(self, what: str, do: Callable[[], None]) -> bool:
        """Whether something could be done. What is wrong is said when it begins, and nothing stops."""
        try:
            do()
        except GraderError as error:
            if self._wrong.get(what) != str(error):
                self._wrong[what] = str(error)
                self._line(f"{what}. {error}")
            return False
        self._wrong.pop(what, None)
        return True
