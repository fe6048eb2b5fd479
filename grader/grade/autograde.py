"""A class's submissions of one lab -> the gradebook, graded notebooks, and a record of each submission.

Every submission ends in exactly one state: graded, incomplete (cells were missing and have been restored),
timed out, crashed, out of memory, or unreadable. No submission can affect another, or stop the run.

Workers grade (:mod:`grader.grade.work`); the process that runs this module is the only one that writes. A run may be
killed at any point: whatever has been entered is complete, and the next run continues from there.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

from course_utils.checking.expected import Expected
from grader.book.gradebook import Gradebook
from grader.book.marker import Marker
from grader.course import Course, make_private
from grader.errors import GraderError, see_whether_it_was_ctrl_c
from grader.files import SECRET, TIMESTAMP, at_once, put
from grader.grade import pool
from grader.grade.resume import Again, copies, fingerprint_of_lab, sort_out
from grader.grade.work import Graded, Grading, Record
from grader.people.shared import together_in
from grader.receive.handed_in import digest_of
from grader.reference.lab import Lab
from grader.run import machine
from grader.run.notebook import PlainRunner, SandboxRunner
from grader.run.states import Runner
from grader.sandbox.container import bubblewrap

_GO_ON = "What was entered before is safe; run the same command again to go on."
_PRELOADED = ("grader.grade.work", "grader.run.notebook")
LOOK_AGAIN_SECONDS = 2
"""So often a process that has nothing to do is looked for work that has just arrived."""
SECOND_RUNS_SECONDS = 600
"""For how long submissions of a class may be run once more, by the clock. One always is."""
SECOND_RUNS_ON_HAND_IN_SECONDS = 120
"""The same where others may arrive meanwhile, who would have to wait. What takes longer is not run once more."""


def choose_runner(lab: Lab, sandbox: str | None = None, elsewhere: bool = False) -> Runner:
    """The runner for a lab's notebooks: the sandbox, unless the instructor explicitly asked for none.

    Args:
        elsewhere: the notebooks are run on other machines, so this one need not be able to run them.

    Raises:
        GraderError: there is no such sandbox, or bubblewrap, which makes it, is missing.
    """
    if sandbox == "none":
        return PlainRunner()
    if sandbox is not None:
        raise GraderError(
            f"There is no sandbox called {sandbox!r}. Leave --sandbox out to grade in the sandbox; only if you "
            "trust the code of every submission, --sandbox none runs it unprotected, as you, on this machine."
        )
    if not elsewhere:
        bubblewrap()  # if it is missing, say so now and not after the workers have started
    return SandboxRunner.for_lab(lab)


def class_seed(lab: Lab, on_hand_in: bool = False) -> int:
    """The seed that a lab is graded with: drawn once per course, so that nobody can know it, and then kept.

    It is kept because wrong code may be right by luck at one seed and not at another, and grading the same work
    again must give the same grade.

    Args:
        on_hand_in: the seed for feedback before the deadline. Learner code can print its seed, and there is time to use it. So it is another one
            than the seed that counts in the end.

    Raises:
        CourseError: the file of seeds contradicts the gradebook, is damaged, or cannot be read or written.
    """
    with Gradebook.open(lab.course) as gradebook:
        return gradebook.seed_of(f"{lab.name}, on hand-in" if on_hand_in else lab.name)


def submissions(lab: Lab, student: str | None = None, among: Collection[str] | None = None) -> list[Path]:
    """The folders ``submitted/<student>/<lab>``, sorted by student.

    Args:
        student: only this one's, and the copies of it that other members of a team have.
        among: only theirs; None: everybody's.

    Raises:
        GraderError: there are none.
    """
    submitted = lab.course.submitted
    names = [student] if student else sorted(folder.name for folder in submitted.glob("*") if folder.is_dir())
    if student and (together := together_in(submitted / student / lab.name)):
        with_team = (folder for folder in submitted.glob(f"*/{lab.name}") if folder.is_dir())
        names = sorted(
            each.parent.name
            for each in with_team
            if (other := together_in(each)) and other.work == together.work
        )
    folders = [submitted / name / lab.name for name in names if among is None or name in among]
    folders = [folder for folder in folders if folder.is_dir()]
    if not folders:
        raise GraderError(
            f"There is no submission{'' if among is None else ' of this section'} in "
            f"{submitted / (student or '<student>') / lab.name}. "
            f"Collect submissions with `grader collect`, or put {lab.notebook_name} there."
        )
    return folders


def usable_cores() -> int:
    """How many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class Busy(GraderError):
    """Somebody else is grading this course at the moment."""


@dataclass(frozen=True)
class SecondRuns:
    """Submissions that are to be run once more, as far as is known yet.

    Attributes:
        submissions: how many there are.
        seconds: how long their first runs took, together.
        side_by_side: how many are run at once; 0 before the second runs have begun.
        given_up: students for whose second runs no time was left.
    """

    submissions: int
    seconds: float
    side_by_side: int = 0
    given_up: tuple[str, ...] = ()


def autograde(
    lab: Lab,
    folders: Sequence[Path],
    runner: Runner,
    seed: int,
    *,
    jobs: int | None = None,
    cluster: str | None = None,
    again: Again = Again.ALL,
    tell: Callable[[SecondRuns], None] = lambda _: None,
    arriving: Iterator[Path] | None = None,
    copies_of: Callable[[Path], Sequence[tuple[Path, str]]] = lambda _: (),
) -> Iterator[Record]:
    """Grades submissions and enters their grades. Yields a record of each: first of those that stay as they are, then of the others, in the order
    in which they are finished and entered.

    Args:
        jobs: how many worker processes to use; None grades in this process, one submission after the other.
        cluster: address of a Dask scheduler, whose workers run the notebooks instead.
        again: which of the submissions that were graded before are graded again.
        tell: gets the number of second runs that are left, whenever that changes.
        arriving: more submissions, which are graded whatever was before. It is asked for the next one whenever a process is free, and again after
            it had none. Grading ends when it has none and no process is at work.
        copies_of: of what arrives, the copies that other members of the team have, with their fingerprints.

    Raises:
        Busy: somebody else is grading this course.
        GraderError: nothing (more) can be graded or entered. The content of a submission is never the reason.
    """
    if jobs and cluster is None:
        pool.prepare(_PRELOADED)  # they are imported while we go on
    with alone(lab.course), Gradebook.open(lab.course) as gradebook:
        gradebook.register(lab)
        _remove_scratch(lab)
        fingerprint = fingerprint_of_lab(lab, seed, runner)
        todo, kept = sort_out(lab, folders, gradebook.markers(lab), fingerprint, again)
        todo, others = copies(lab, todo)
        to_read = gradebook.to_read(lab) if kept else {}  # the marker has what was to read before anybody did
        yield from (_record_of(student, marker, to_read.get(student, 0)) for student, marker in kept.items())
        if todo or arriving:
            grading = Grading(lab.course, lab.name, seed, runner)
            processes = (jobs or 0) if arriving else min(jobs or 0, len(todo))
            with _workforce(grading, processes, cluster) as workforce:
                expected = grading.expected()
                for folder, answer in _answers(
                    grading, workforce, expected, arriving or todo, tell, bool(arriving)
                ):
                    same = {
                        copy: _as_copy(grading, answer, copy, handed_in)
                        for copy, handed_in in (*others.get(folder, ()), *copies_of(folder))
                    }
                    for each, its_answer in {folder: answer, **same}.items():
                        record = _entered(lab, grading, gradebook, fingerprint, expected, each, its_answer)
                        if arriving:  # nobody waits for the end
                            gradebook.enter_lateness(lab)
                        yield record
        gradebook.enter_lateness(lab)  # for submissions that are kept, too: the deadline may have changed


_Answer = Graded | Record | GraderError | pool.Lost


def _as_copy(grading: Grading, answer: _Answer, folder: Path, handed_in: str) -> _Answer:
    """The answer for a submission, as it is for a copy that another member of the team has."""
    if isinstance(answer, Graded):
        return grading.copy(answer, folder, handed_in)
    return replace(answer, student=folder.parent.name) if isinstance(answer, Record) else answer


def _answers(
    grading: Grading,
    workforce: _Workforce,
    expected: Mapping[str, Expected],
    todo: Iterable[Path],
    tell: Callable[[SecondRuns], None],
    on_hand_in: bool = False,
) -> Iterator[tuple[Path, _Answer]]:
    """Pairs of a submission's folder and its answer. Those in doubt come last: each has been run once more, undisturbed by the
    others, the shortest first, as far as there is time for that.
    """
    most = SECOND_RUNS_ON_HAND_IN_SECONDS if on_hand_in else SECOND_RUNS_SECONDS
    in_doubt: dict[Path, Graded] = {}

    def tell_what_is_left(side_by_side: int = 0) -> None:
        tell(SecondRuns(len(in_doubt), sum(each.seconds for each in in_doubt.values()), side_by_side))

    for folder, answer in workforce.map(expected, todo):
        if isinstance(answer, Graded) and answer.in_doubt:
            in_doubt[folder] = answer
            tell_what_is_left()
        else:
            yield folder, answer
    waiting = sorted(in_doubt, key=lambda folder: in_doubt[folder].seconds)
    began, none_yet = time.monotonic(), not on_hand_in
    while waiting:
        left = most - (time.monotonic() - began)
        group = [
            each for each in waiting[: _side_by_side(grading, workforce)] if in_doubt[each].seconds <= left
        ]
        if not group and none_yet:
            group = waiting[:1]
        if not group:
            break
        none_yet = False
        del waiting[: len(group)]
        tell_what_is_left(len(group))
        for folder, answer in workforce.map(expected, group):
            del in_doubt[folder]
            tell_what_is_left(len(group))
            yield folder, answer
    if waiting:
        tell(SecondRuns(0, 0.0, 1, tuple(folder.parent.name for folder in waiting)))
    for folder in waiting:
        yield folder, grading.still_in_doubt(in_doubt[folder], most)


def _side_by_side(grading: Grading, workforce: _Workforce) -> int:
    """How many second runs there may be at once. On a cluster, nobody here knows which machines are idle."""
    if isinstance(workforce, pool.Pool) and isinstance(grading.runner, SandboxRunner):
        return machine.room(workforce.processes, grading.runner.limits.memory)
    return 1


class _Workforce(Protocol):
    """The processes that grade: this one, others on this machine, or others elsewhere."""

    def map(
        self, shared: Mapping[str, Expected], tasks: Iterable[Path]
    ) -> Iterator[tuple[Path, _Answer]]: ...


@dataclass
class _ThisProcess(AbstractContextManager):
    grading: Grading

    def __enter__(self) -> _ThisProcess:
        self.grading.open()
        return self

    def __exit__(self, *_: object) -> None:
        self.grading.close()

    def map(self, shared: Any, tasks: Iterable[Path]) -> Iterator[tuple[Path, Any]]:
        for task in tasks:
            yield task, self.grading(shared, task)


def _workforce(grading: Grading, jobs: int, cluster: str | None) -> AbstractContextManager[_Workforce]:
    if cluster is not None:
        from grader.grade.cluster import Cluster  # Dask takes a second, and few have a cluster

        return Cluster(cluster, grading)
    if jobs:
        # a submission may be run a second time, and either run may be lost and begun anew. The runner's own limit covers running
        # only; starting, judging and a busy machine add to that
        return pool.Pool(grading, jobs, 4 * grading.runner.notebook_seconds + 600, LOOK_AGAIN_SECONDS)
    return _ThisProcess(grading)


# ---------------------------------------------------------------------------------- writing


def _entered(
    lab: Lab,
    grading: Grading,
    gradebook: Gradebook,
    fingerprint: str,
    expected: Mapping[str, Expected],
    folder: Path,
    answer: _Answer,
) -> Record:
    """Enters a worker's answer for a submission, and returns the record of how it ended."""
    if isinstance(answer, GraderError):
        raise answer
    if isinstance(answer, Record):
        return answer
    try:
        graded = grading.lost(folder, answer.why, expected) if isinstance(answer, pool.Lost) else answer
        # the notebook first: if its marker does not reach the gradebook, the next run simply writes it again
        _write_notebook(lab, graded)
        gradebook.write(lab, graded.record.student, graded.points, _marker_of(graded, fingerprint))
    except GraderError:
        raise
    except Exception as error:  # again a fault in the grader itself
        see_whether_it_was_ctrl_c(error)
        return grading.failed(folder, error)
    student = graded.record.student
    return replace(graded.record, by_hand=gradebook.to_read(lab, student).get(student, 0))


def _marker_of(graded: Graded, fingerprint: str) -> Marker:
    record = graded.record
    return Marker(
        handed_in=graded.handed_in,
        lab=fingerprint,
        notebook=digest_of(graded.notebook),
        state=record.state,
        score=record.score or 0.0,
        max_score=record.max_score,
        by_hand=record.by_hand,
        recognised=record.recognised,
        given=record.given,
        notes=record.notes,
        possible=record.possible,
        stands_out=record.stands_out,
    )


def _record_of(student: str, marker: Marker, by_hand: int) -> Record:
    return Record(
        student,
        marker.state,
        marker.score,
        marker.max_score,
        by_hand,
        marker.recognised,
        marker.notes,
        marker.given,
        marker.possible,
        marker.stands_out,
        kept=True,
    )


def _write_notebook(lab: Lab, graded: Graded) -> None:
    """Puts a graded notebook where nbgrader's feedback and formgrader look for it, completely or not at all."""
    target = lab.course.autograded / graded.record.student / lab.name
    beside = {TIMESTAMP: graded.timestamp, SECRET: graded.secret}
    try:
        make_private(target)
        put(target / lab.notebook_name, graded.notebook)
        for name, text in beside.items():
            if text:
                put(target / name, text.encode())
            else:  # left by an earlier submission
                (target / name).unlink(missing_ok=True)
    except OSError as error:
        raise GraderError(
            f"The graded notebook of {graded.record.student} cannot be written into {target}: {error.strerror}. "
            f"Make sure that the disk has room and that the folder can be written to. {_GO_ON}"
        ) from None


def _remove_scratch(lab: Lab) -> None:
    """Removes files that a run was writing when it was killed."""
    for scratch in lab.course.autograded.glob(f"*/{lab.name}/.*.new"):
        with contextlib.suppress(OSError):
            scratch.unlink()


@contextlib.contextmanager
def alone(course: Course) -> Iterator[None]:
    """Makes sure that only one process grades a course at a time. The system releases the lock when the process ends,
    in whatever way.

    Raises:
        Busy: somebody else is grading.
        GraderError: nothing can be written there.
    """
    busy = (
        f"Another `grader autograde` is at work in {course.grading}, or a `grader watch`. Wait until it has finished, or stop it; "
        "what it has entered by then is kept."
    )
    with locked(course, "autograde.lock", busy):
        yield


@contextlib.contextmanager
def locked(course: Course, name: str, busy: str) -> Iterator[None]:
    """Holds a lock in ``grading/``, which the system releases when the process ends, in whatever way.

    Raises:
        Busy: somebody else holds it: ``busy``.
        GraderError: nothing can be written there.
    """
    with contextlib.ExitStack() as stack:
        try:
            make_private(course.grading)
            file = stack.enter_context(open(course.grading / name, "a", opener=at_once))
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise Busy(busy) from None
        except IsADirectoryError as error:
            raise GraderError(
                f"{error.filename} is a folder, where a file should be. Move it away. {_GO_ON}"
            ) from None
        except OSError as error:
            raise GraderError(
                f"{course.grading} cannot be written to: {error.strerror}. Make the folder writable and make sure that the "
                f"disk has room. {_GO_ON}"
            ) from None
        yield
