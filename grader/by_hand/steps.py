"""The process of a step of the week: does what the command of the same name does, and says how far it is (:mod:`grader.by_hand.running`)."""

from __future__ import annotations

import io
import os
import signal
import traceback
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeVar

from rich.console import Console

from grader.by_hand import running
from grader.by_hand.running import DONE, FAILED, STOPPED, Run
from grader.by_hand.week import Step, note_collected, note_returned
from grader.course import Course
from grader.errors import NO_ROOM, GraderError, no_room
from grader.files import printable
from grader.reference.lab import Lab
from grader.show.progress_bar import Progress

T = TypeVar("T")


@dataclass
class Working:
    """A step at work.

    Attributes:
        told: sentences about what was done.
        exceptions: who or what somebody has to look at, and why.
    """

    lab: Lab
    run: Run
    told: list[str] = field(default_factory=list)
    exceptions: list[tuple[str, str]] = field(default_factory=list)

    def say(self, **changed: object) -> None:
        self.run = replace(self.run, **changed)
        running.write(self.lab.course, self.run)

    def counted(self, progress: Progress, things: Iterable[T]) -> Iterator[T]:
        """Passes things on that a progress has counted, and says after each how far it is."""
        self.say(line=progress.line(), total=progress.total)
        for done, thing in enumerate(things, 1):
            self.say(done=done, line=progress.line())
            yield thing

    def work(self, source: str) -> None:
        """
        Raises:
            GraderError: it cannot be done.
        """
        match self.run.step:
            case Step.COLLECT:
                self._collect(source)
            case Step.GRADE:
                self._grade()
            case Step.FEEDBACK:
                self._feedback()
            case Step.RETURN:
                self._return()
            case Step.COMPARE:
                self._compare()

    def _collect(self, source: str) -> None:
        from grader.book.lateness import late_in_words, undecided
        from grader.receive.collect import OUTCOMES, collect

        began = datetime.now(UTC)
        rows = collect(self.lab, Path(source).expanduser() if source else None)
        if not source:
            note_collected(self.lab, began)
        counts = Counter(row.outcome for row in rows)
        self.told.append(
            ", ".join(f"{outcome}: {counts[outcome]}" for outcome in OUTCOMES if counts[outcome])
        )
        self.exceptions += [(row.student or row.file, f"{row.outcome}: {row.why}") for row in rows if row.why]
        if count := len(undecided(self.lab)):
            self.told.append(late_in_words(self.lab.name, count))

    def _grade(self) -> None:
        from grader.grade import autograde as grading
        from grader.grade.resume import Again
        from grader.run.states import GRADED

        runner = grading.choose_runner(self.lab)
        folders = grading.submissions(self.lab)
        progress = _progress(f"Grading {self.lab.name}", len(folders))
        stream = grading.autograde(
            self.lab,
            folders,
            runner,
            grading.class_seed(self.lab),
            jobs=grading.usable_cores(),
            again=Again.CHANGED,
            tell=progress.tell,
        )
        records = []
        try:
            for record in self.counted(progress, progress.watched(stream)):
                records.append(record)
        except KeyboardInterrupt:
            stream.close()
            raise
        finally:
            states = Counter(record.state for record in records)
            self.told.append(
                ", ".join(f"{count} {state}" for state, count in states.most_common()) or "None graded"
            )
            if kept := sum(record.kept for record in records):
                self.told.append(f"{kept} unchanged since they were graded, and left as they are.")
            if waiting := sum(record.by_hand for record in records):
                self.told.append(f"{waiting} written answers wait to be read.")
            self.exceptions += [
                (record.student, " ".join([f"{record.state}.", *record.notes]))
                for record in sorted(records, key=lambda each: each.student)
                if record.state != GRADED or record.score is None or record.notes
            ]
        if any(record.score is None for record in records):
            raise GraderError(
                "Some submissions were not entered because of an error in the grader; see below."
            )

    def _feedback(self) -> None:
        from grader.grade.autograde import usable_cores
        from grader.show.feedback import generate_feedback

        title = f"Feedback on {self.lab.name}"

        def watch(students: Iterable[str], total: int) -> Iterable[str]:
            progress = _progress(title, total)
            return self.counted(progress, progress.counted(students))

        found = generate_feedback(self.lab, usable_cores(), watch)
        self.told.append(f"{found.pages} pages, {found.made} of them new or changed.")

    def _return(self) -> None:
        from grader.receive.exchange import exchange_of
        from grader.show.export import write_feedback_zip
        from grader.show.returning import return_all

        course, among, why = self.lab.course, None, "There is no exchange."
        if (exchange_of(course) / course.course_id()).is_dir():
            there, among = return_all(self.lab)
            self.told.append(f"Pages returned through nbgrader's exchange: {len(there)}.")
            why = "The others did not hand in through the exchange, so they could not fetch a page there."
        if among is None or among:
            file = course.grading / "reports" / f"{self.lab.name}-feedback.zip"
            file.parent.mkdir(exist_ok=True)
            count = write_feedback_zip(self.lab, file, among)
            self.told.append(f"{why} Pages to upload: {count}, in {file}")
        note_returned(self.lab)

    def _compare(self) -> None:
        from grader.show.similar import write_similar

        _, _, found = write_similar(self.lab)
        self.told.append(
            f"{len(found.works)} compared; pairs to look at: {len(found.pairs)}. This does not prove anything."
        )


def _progress(title: str, total: int) -> Progress:
    """One that draws nothing: the page does."""
    return Progress(title, total, Console(file=io.StringIO()))


def main(root: str, lock: str, lab: str, step: str, who: str, source: str) -> None:
    """Does a step, and says how it ended."""
    os.set_inheritable(int(lock), False)  # so that no other program keeps the lock
    signal.signal(signal.SIGINT, signal.default_int_handler)  # also where the server ignores it
    course = Course(Path(root))
    run = Run(lab, Step(step), who, running.now(), "It begins.", process=os.getpid())
    running.write(course, run)
    working = None
    outcome, more = FAILED, []
    try:
        working = Working(Lab.load(course, lab), run)
        working.work(source)
        outcome = DONE
    except KeyboardInterrupt:
        outcome = STOPPED
        more = ["Stopped. What was done is kept; the same step goes on from there."]
    except GraderError as error:
        more = [str(error)]
    except OSError as error:
        traceback.print_exc()
        more = [str(no_room(error) if error.errno in NO_ROOM else error)]
    except Exception as error:  # a fault in the grader itself
        traceback.print_exc()
        more = [
            f"{type(error).__name__}: {error}. That is a fault in the grader: {running.log_of(course)} says where."
        ]
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # it has ended, and says so
    told = [*working.told, *more] if working else more
    exceptions = (
        [(printable(who, 200), printable(why, 1000)) for who, why in working.exceptions] if working else []
    )
    run = replace(
        working.run if working else run,
        ended=running.now(),
        outcome=outcome,
        told=tuple(told),
        exceptions=tuple(exceptions),
    )
    running.write(course, run)
