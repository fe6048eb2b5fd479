"""One submission -> a graded notebook and what has to be entered: all of grading except entering the results.

This is what worker processes do. They get paths and return plain data; they write nothing.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cached_property
from pathlib import Path

from nbformat import NotebookNode

from course_utils.checking.comparison import Verdict, without_secrets
from course_utils.checking.expected import Expected, Lesson
from grader.book.points import Points, points_in
from grader.course import Course, CourseError
from grader.errors import GraderError
from grader.files import SECRET, TIMESTAMP, find_notebook, time_of
from grader.grade.judge import judge, remarkable
from grader.grade.results import with_results
from grader.grade.working import SecondRun, second_run, with_working
from grader.receive.beside import in_folder
from grader.receive.handed_in import fingerprint_of_submission
from grader.receive.needed import with_what_is_used
from grader.receive.read import read_submission
from grader.receive.rebuild import rebuild
from grader.reference.follow import FollowThrough, Substitutions
from grader.reference.lab import Lab, places_of
from grader.reference.lessons import Mistake, lessons_of, mistakes_of
from grader.run.notebook import PlainRunner
from grader.run.states import (
    CRASHED,
    GRADED,
    INCOMPLETE,
    UNREADABLE,
    Executed,
    Runner,
    says_slow,
    stopped_in_words,
)

WORKING = "working "
"""In :attr:`Record.given`: the earlier exercises give no usable values, and the later one is right with the reference in their place."""


@dataclass(frozen=True)
class Record:
    """How one submission ended.

    Attributes:
        score: points given by the autograder, out of ``max_score``. None if nothing was entered.
        by_hand: how many written answers are waiting for a human.
        recognised: misconceptions in this submission, as ``exercise: misconception``.
        given: exercises that are right given mistakes in earlier ones, as ``exercise: earlier, earlier``, or with working ones, as
            ``exercise: working earlier, earlier``.
        possible: misconceptions that may be the cause of a wrong result, as ``exercise: misconception``.
        stands_out: what the feedback page says of a wrong result without any of these, as ``exercise: sentence``.
        notes: sentences about what was wrong with the submission, and what was done about it.
        kept: whether it has not changed since it was graded, so that there was nothing to do.
    """

    student: str
    state: str
    score: float | None
    max_score: float
    by_hand: int = 0
    recognised: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    given: tuple[str, ...] = ()
    possible: tuple[str, ...] = ()
    stands_out: tuple[str, ...] = ()
    kept: bool = False


@dataclass(frozen=True)
class Graded:
    """One graded submission, before anything is written anywhere.

    Attributes:
        handed_in: fingerprint of what was graded; empty if the next run has to grade it again.
        notebook: the content of the graded notebook's file.
        in_doubt: whether time or memory ran out, and perhaps not by its own fault: it should be run once more, undisturbed.
        seconds: how long it ran by the clock.
        timestamp, secret: texts of the files named :data:`grader.files.TIMESTAMP` and ``SECRET``; None where there is none.
    """

    record: Record
    handed_in: str
    notebook: bytes
    timestamp: str | None
    secret: str | None
    points: Points
    in_doubt: bool = False
    seconds: float = 0.0


@dataclass(frozen=True)
class Prepared:
    """One submission after it was read. ``notebook`` is the rebuilt one, or the release if it could not be read.

    Attributes:
        problem: why it could not be read, as sentences; empty if it could.
        missing: whether cells had to be restored.
        places: what its cells are called, from :func:`grader.reference.lab.places_of`.
    """

    folder: Path
    handed_in: str
    notebook: NotebookNode
    problem: str = ""
    missing: bool = False
    notes: tuple[str, ...] = ()
    places: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Judged:
    """One submission after its first run.

    Attributes:
        second_run: what has to be run before it is finished; None if nothing has.
    """

    prepared: Prepared
    executed: Executed
    verdicts: Mapping[str, Verdict]
    second_run: SecondRun | None


@dataclass(frozen=True)
class Grading:
    """How the submissions of one lab are graded. This is the :class:`grader.grade.pool.Work` of worker processes."""

    course: Course
    lab_name: str
    seed: int
    runner: Runner

    def __reduce__(self) -> tuple[type[Grading], tuple[Course, str, int, Runner]]:
        return Grading, (self.course, self.lab_name, self.seed, self.runner)  # without what is cached below

    @cached_property
    def lab(self) -> Lab:
        return Lab.load(self.course, self.lab_name)

    @cached_property
    def release(self) -> NotebookNode:
        return self.lab.release()

    @cached_property
    def share(self) -> float:
        """Of the points, for what is right given a mistake in an earlier exercise."""
        return FollowThrough.share_of(self.course)

    @property
    def _keeps_references_in(self) -> bool:
        """Whether a reference may be where notebooks run: nothing gets out of there, or their code is trusted. Neither holds for
        another user's rights without a sandbox.
        """
        return not (isinstance(self.runner, PlainRunner) and self.runner.user)

    @cached_property
    def _substituted(self) -> dict:
        return {}  # what is right given a mistake: computed once, for all submissions that this process grades

    @cached_property
    def _mistakes(self) -> dict[str, Sequence[Mistake]]:
        return {}  # likewise

    @cached_property
    def _lessons(self) -> dict[str, Sequence[Lesson]]:
        return {}  # likewise

    def mistakes(self, key: str) -> Sequence[Mistake]:
        """Small mistakes in an exercise's reference: tried when the first submission needs them.

        There are none in a thread: nothing could stop one of them there if it ran on and on. Grading does not use threads.
        """
        if threading.current_thread() is not threading.main_thread():
            return ()
        if key not in self._mistakes:
            self._mistakes[key] = tuple(mistakes_of(self.lab, key, self.seed))
        return self._mistakes[key]

    def lessons(self, key: str, expected: Mapping[str, Expected]) -> Sequence[Lesson]:
        """What these mistakes teach about a wrong output that has no name."""
        if key not in self._lessons and (mistakes := self.mistakes(key)):
            self._lessons[key] = lessons_of(self.lab, key, expected[key], self.seed, mistakes)
        return self._lessons.get(key, ())

    def expected(self) -> dict[str, Expected]:
        """The outcomes that submissions are compared with.

        Raises:
            CourseError: the solution itself fails, so that no submission could be right.
        """
        found = self.lab.expected(self.seed)
        for key, expected in found.items():
            if problem := next((outcome.problem for outcome in expected.reference if outcome.problem), None):
                raise CourseError(
                    f"{self.lab_name}: the solution of {key} fails with the numbers that grading uses: {problem.message} "
                    "Nothing was graded. See what `grader build --check` says about the lab."
                )
        return found

    def open(self) -> None:
        self.runner.warm_up(self.lab.release_folder)

    def close(self) -> None:
        if close := getattr(self.runner, "close", None):
            close()

    def __call__(self, expected: Mapping[str, Expected], folder: Path) -> Graded | Record | GraderError:
        """Grades a submission. Returns a record without a score if the grader itself fails on it, and a GraderError if it
        could not grade any other submission either.
        """
        try:
            prepared = self.prepare(folder)
            if prepared.problem:
                return self.unread(prepared, expected)
            executed = self.runner.run(prepared.notebook, self.seed, self.lab.release_folder)
            judged = self.judged(prepared, executed, expected)
            if judged.second_run:
                again = self.runner.run(judged.second_run.notebook, self.seed, self.lab.release_folder)
                return self.finish(judged, expected, again)
            return self.finish(judged, expected)
        except GraderError as error:
            return error
        except Exception as error:  # a fault in the grader: only this submission has to wait
            return self.failed(folder, error)

    def prepare(self, folder: Path) -> Prepared:
        """Reads a submission."""
        handed_in = fingerprint_of_submission(self.lab, folder)  # first, so that a later change is noticed
        path, found_notes = find_notebook(folder, self.lab.notebook_name)
        read = read_submission(path)
        if read.problem:
            notes = (*found_notes, *in_folder(self.lab, path).used_by(()).sentences())
            return Prepared(folder, handed_in, self.release, read.problem, notes=notes)
        beside = in_folder(self.lab, path).used_by(read.cells)
        rebuilt = rebuild(self.release, read.cells, beside.modules)
        notes = (*found_notes, *read.notes, *rebuilt.notes, *beside.sentences())
        notebook = with_what_is_used(rebuilt.notebook)
        places = places_of(notebook, [cell.text for cell in read.cells])
        return Prepared(folder, handed_in, notebook, "", bool(rebuilt.missing), notes, places)

    def judged(self, prepared: Prepared, executed: Executed, expected: Mapping[str, Expected]) -> Judged:
        """Judges the results of running a submission, and finds out whether it has to be run a second time."""
        substitutions = Substitutions(self.lab, self.seed, expected, self.mistakes, self._substituted)
        verdicts = judge(
            self.lab,
            expected,
            executed.payloads,
            prepared.notebook,
            substitutions,
            lambda key: self.lessons(key, expected),
            prepared.places,
        )
        again = None
        if self.share and not executed.lost and self._keeps_references_in:
            again = second_run(self.lab, prepared.notebook, self.release, executed, verdicts)
        return Judged(prepared, executed, verdicts, again)

    def finish(
        self, judged: Judged, expected: Mapping[str, Expected], again: Executed | None = None
    ) -> Graded:
        """The graded notebook of a submission, and what is to be entered.

        Args:
            again: the results of its second run, if there was one. Nothing of them goes into the notebook.
        """
        prepared, executed, verdicts = judged.prepared, judged.executed, judged.verdicts
        if again and judged.second_run:
            verdicts = with_working(self.lab, judged.second_run, again.payloads, verdicts, expected)
        if executed.lost or (again and again.lost):
            prepared = replace(prepared, handed_in="")  # nothing has this fingerprint
        state = INCOMPLETE if executed.state == GRADED and prepared.missing else executed.state
        notes = (*prepared.notes, *executed.notes)
        graded = self._graded(prepared, executed.notebook, verdicts, state, notes, read=True)
        remarks = [  # not in the notebook, which learners get
            *remarkable(self.lab, expected, executed.payloads),
            *(
                stopped_in_words(self.lab.exercises[key].name, self.lab.exercises[key].seconds)
                for key, verdict in verdicts.items()
                if not verdict.correct and says_slow(executed.payloads.get(key))
            ),
        ]
        return replace(
            graded,
            record=replace(graded.record, notes=(*notes, *remarks)),
            in_doubt=executed.in_doubt or bool(again and again.in_doubt),
            seconds=executed.seconds + (again.seconds if again else 0.0),
        )

    def alone(self, expected: Mapping[str, Expected], folder: Path) -> Graded | Record | GraderError:
        """Grades a submission when no other is being graded. If it is in doubt, it gets a second chance."""
        graded = self(expected, folder)
        return self(expected, folder) if isinstance(graded, Graded) and graded.in_doubt else graded

    def copy(self, graded: Graded, folder: Path, handed_in: str) -> Graded:
        """What was graded, as another member of the team has it.

        Args:
            handed_in: the fingerprint of that member's copy.
        """
        timestamp, submitted = handed_in_at(folder)
        return replace(
            graded,
            record=replace(graded.record, student=folder.parent.name),
            handed_in=graded.handed_in and handed_in,
            timestamp=timestamp,
            secret=_text_of(folder / SECRET, 1000),
            points=replace(graded.points, submitted=submitted),
        )

    def unread(self, prepared: Prepared, expected: Mapping[str, Expected]) -> Graded:
        """Grades a submission that cannot be read."""
        notes = (*prepared.notes, f"{prepared.problem} It could not be graded and counts 0 points.")
        verdicts = judge(self.lab, expected, {}, self.release)
        return self._graded(prepared, self.release, verdicts, UNREADABLE, notes, read=False)

    def lost(self, folder: Path, why: str, expected: Mapping[str, Expected]) -> Graded:
        """Grades a submission that no worker survives: it gets no points, but the next run tries it again."""
        note = (
            f"The grader's own process {why} twice on this submission. It counts 0 points until it is graded "
            "again, which the next `grader autograde` tries to do."
        )
        prepared = Prepared(folder, handed_in="", notebook=self.release)  # nothing has this fingerprint
        verdicts = judge(self.lab, expected, {}, self.release)
        return self._graded(prepared, self.release, verdicts, CRASHED, (note,), read=False)

    def still_in_doubt(self, graded: Graded, seconds: float) -> Graded:
        """A submission in doubt that the class's time for second runs was not enough for: the first result counts until
        the next run, which tries it again.
        """
        note = (
            f"It ran out of time or memory, perhaps because of what else the machine did. It was not run once more, because second runs take "
            f"at most {seconds / 60:g} minutes a class. `grader autograde {self.lab_name}` runs it again, and so does "
            f"--student {graded.record.student} without the others."
        )
        record = replace(graded.record, notes=(*graded.record.notes, note))
        return replace(graded, record=record, handed_in="")  # nothing has this fingerprint

    def failed(self, folder: Path, error: Exception) -> Record:
        """The record of a submission that the grader itself failed on."""
        note = f"The grader itself failed here, and entered nothing: {type(error).__name__}: {error}"
        return Record(folder.parent.name, CRASHED, None, self.lab.points, notes=(note,))

    def _graded(
        self,
        prepared: Prepared,
        executed: NotebookNode,
        verdicts: Mapping[str, Verdict],
        state: str,
        notes: tuple[str, ...],
        read: bool,
    ) -> Graded:
        notebook = with_results(self.lab, executed, self.release, verdicts, state, notes, self.share)
        notebook.metadata["transformer_labs"] = {"seed": self.seed, "state": state}
        timestamp, submitted = handed_in_at(prepared.folder)
        points = points_in(notebook, submitted, read)
        scores = points.of_cells.values()
        record = Record(
            prepared.folder.parent.name,
            state,
            score=round(sum(score for score in scores if score is not None), 2),
            max_score=self.lab.points,
            by_hand=sum(score is None for score in scores),
            recognised=tuple(
                f"{verdict.exercise}: {found.name}"
                for verdict in verdicts.values()
                for found in verdict.recognised
            ),
            possible=tuple(
                f"{verdict.exercise}: {found.name}"
                for verdict in verdicts.values()
                for found in verdict.possible
            ),
            stands_out=tuple(
                f"{verdict.exercise}: {symptom.sentence}"
                for verdict in map(without_secrets, verdicts.values())
                if not (verdict.recognised or verdict.possible)
                for symptom in verdict.symptoms[:1]
            ),
            given=tuple(
                f"{verdict.exercise}: {WORKING if verdict.given.working else ''}{', '.join(verdict.given.earlier)}"
                for verdict in verdicts.values()
                if verdict.given
            ),
            notes=notes,
        )
        # as nbformat writes it, but for the layout: on one line, it takes a tenth of the time
        data = json.dumps(notebook, ensure_ascii=False, sort_keys=True).encode("utf-8")
        secret = _text_of(prepared.folder / SECRET, 1000)
        return Graded(record, prepared.handed_in, data, timestamp, secret, points)


def handed_in_at(folder: Path) -> tuple[str | None, datetime | None]:
    """When a submission was handed in, from the file that nbgrader's exchange leaves: its text, and the time in UTC."""
    text = _text_of(folder / TIMESTAMP, 100)
    time = time_of(text) if text else None
    return (text, time) if time else (None, None)


def _text_of(file: Path, size: int) -> str | None:
    """The first characters of a file that was handed in; None if it cannot be read, or is empty."""
    try:
        if file.is_symlink() or not file.is_file():
            return None
        with file.open(encoding="utf-8") as opened:
            return opened.read(size).strip() or None
    except (OSError, ValueError):
        return None
