"""A class's submissions of one lab -> gradebook, graded notebooks, and a record each.

Every submission ends in exactly one state: graded, incomplete (cells were missing and have been restored),
timed out, crashed, out of memory, or unreadable. None can affect another, or stop the run.

Workers grade (:mod:`grader.grade.work`); the process that runs this is the only one that writes. A run may be killed
at any point: what has been entered is whole, and the next run goes on from there.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from course_utils.checking.comparison import Expected
from grader.course import Course, CourseError, make_private
from grader.errors import GraderError
from grader.grade import pool
from grader.grade.gradebook import Gradebook
from grader.grade.resume import Again, Marker, digest_of, fingerprint_of_lab, sort_out
from grader.grade.work import Graded, Grading, Record
from grader.lab import Lab
from grader.receive.files import SECRET, TIMESTAMP
from grader.run.notebook import PlainRunner, SandboxRunner
from grader.run.states import Runner
from grader.sandbox.container import bubblewrap

_GO_ON = "What was entered before is safe; run the same command again to go on."
_PRELOADED = ("grader.grade.work", "grader.run.notebook")
_SEED_BYTES = 4
_SEEDS = 256**_SEED_BYTES


def choose_runner(lab: Lab, sandbox: str | None = None, elsewhere: bool = False) -> Runner:
    """Who runs a lab's notebooks: the sandbox, unless it has been turned down explicitly.

    Args:
        elsewhere: they are run on other machines, and this one need not be able to.

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
        bubblewrap()  # said now, not after the workers have started
    return SandboxRunner.for_lab(lab)


def class_seed(lab: Lab) -> int:
    """The seed that a lab is graded with: drawn once for this course, so that nobody can know it, and kept.

    It is kept because code that is wrong may be right by luck at one seed and not at another: grading the
    same work again must give the same grade.

    Raises:
        CourseError: the file of seeds is not what was written there, or cannot be read or written.
    """
    file = lab.course.grading / "seeds.json"
    try:
        seeds = json.loads(file.read_text("utf-8")) if file.exists() else {}
        if not isinstance(seeds, dict):
            raise ValueError("it is not a table of labs and numbers")
        if lab.name not in seeds:
            seeds[lab.name] = int.from_bytes(os.urandom(_SEED_BYTES), "big")
            make_private(file.parent)
            _put(file, json.dumps(seeds, indent=1).encode(), mode=0o600)
        seed = seeds[lab.name]
        if type(seed) is not int or not 0 <= seed < _SEEDS:  # True is an int as well
            raise ValueError(f"the seed of {lab.name} is no whole number from 0 to {_SEEDS - 1}")
        return seed
    except (ValueError, RecursionError) as error:
        raise CourseError(
            f"{file}, which holds the seed of each lab's checks, is damaged ({error}). If you have a backup of it, put "
            "that back. If not, delete the file: each lab then gets a new seed, and work that is graded again may get "
            "another grade than before, where wrong code was right by luck."
        ) from None
    except OSError as error:
        raise CourseError(
            f"{file}, which holds the seed of each lab's checks, cannot be used: {error.strerror}. "
            "Make the file and its folder readable and writable."
        ) from None


def submissions(lab: Lab, student: str | None = None) -> list[Path]:
    """The folders ``submitted/<student>/<lab>``, by student.

    Raises:
        GraderError: there is none.
    """
    submitted = lab.course.submitted
    names = [student] if student else sorted(folder.name for folder in submitted.glob("*") if folder.is_dir())
    folders = [submitted / name / lab.name for name in names]
    folders = [folder for folder in folders if folder.is_dir()]
    if not folders:
        raise GraderError(
            f"There is no submission in {submitted / (student or '<student>') / lab.name}. "
            f"Put {lab.notebook_name} there, or collect submissions with nbgrader."
        )
    return folders


def usable_cores() -> int:
    """How many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def autograde(
    lab: Lab,
    folders: Sequence[Path],
    runner: Runner,
    seed: int,
    *,
    jobs: int | None = None,
    cluster: str | None = None,
    again: Again = Again.ALL,
) -> Iterator[Record]:
    """Grades submissions and enters them. Gives out a record each: first of those that are left as they are,
    then of the others as they are entered, in the order in which they get ready.

    Args:
        jobs: how many worker processes; None grades in this process, one submission after the other.
        cluster: address of a Dask scheduler, whose workers run the notebooks instead.
        again: which of those that were graded before are graded again.

    Raises:
        GraderError: nothing can be graded or entered (any more). Never for what a submission holds.
    """
    if jobs and not cluster:
        pool.prepare(_PRELOADED)  # they are imported while we go on
    with _alone(lab.course), Gradebook.open(lab.course) as gradebook:
        gradebook.register(lab)
        _remove_scratch(lab)
        fingerprint = fingerprint_of_lab(lab, seed, runner)
        todo, kept = sort_out(lab, folders, gradebook.markers(lab), fingerprint, again)
        yield from (_record_of(student, marker) for student, marker in kept.items())
        if todo:
            grading = Grading(lab.course, lab.name, seed, runner)
            with _workforce(grading, min(jobs or 0, len(todo)), cluster) as workforce:
                expected = grading.expected()
                for folder, answer in _answers(workforce, expected, todo):
                    yield _entered(lab, grading, gradebook, fingerprint, expected, folder, answer)
        gradebook.enter_lateness(lab)  # of those that are kept as well: the deadline may have changed


_Answer = Graded | Record | GraderError | pool.Lost


def _answers(
    workforce: _Workforce, expected: Mapping[str, Expected], todo: Sequence[Path]
) -> Iterator[tuple[Path, _Answer]]:
    """Pairs of a submission's folder and its answer. Those in which time ran out come last: each has been run once more, alone."""
    in_doubt = []
    for folder, answer in workforce.map(expected, todo):
        if isinstance(answer, Graded) and answer.in_doubt:
            in_doubt.append(folder)
        else:
            yield folder, answer
    for folder in in_doubt:
        yield from workforce.map(expected, [folder])


class _Workforce(Protocol):
    """Whoever grades: this process, others on this machine, or others elsewhere."""

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
    if cluster:
        from grader.grade.cluster import Cluster  # Dask takes a second, and few have a cluster

        return Cluster(cluster, grading)
    if jobs:
        # the runner's own limit is of running; starting, judging and a machine under load come on top
        return pool.Pool(grading, jobs, seconds=2 * grading.runner.notebook_seconds + 600)
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
    """Writes down what a worker gave for a submission, and says how it ended."""
    if isinstance(answer, GraderError):
        raise answer
    if isinstance(answer, Record):
        return answer
    try:
        graded = grading.lost(folder, answer.why, expected) if isinstance(answer, pool.Lost) else answer
        # the notebook first: without its marker in the gradebook it is simply written again
        _write_notebook(lab, graded)
        gradebook.write(lab, graded.record.student, graded.points, _marker_of(graded, fingerprint))
    except GraderError:
        raise
    except Exception as error:  # a fault of ours again
        return grading.failed(folder, error)
    return graded.record


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
        notes=record.notes,
    )


def _record_of(student: str, marker: Marker) -> Record:
    return Record(
        student,
        marker.state,
        marker.score,
        marker.max_score,
        marker.by_hand,
        marker.recognised,
        marker.notes,
        kept=True,
    )


def _write_notebook(lab: Lab, graded: Graded) -> None:
    """Puts a graded notebook where nbgrader's feedback and formgrader look for it, all or nothing."""
    target = lab.course.autograded / graded.record.student / lab.name
    beside = {TIMESTAMP: graded.timestamp, SECRET: graded.secret}
    try:
        make_private(target)
        _put(target / lab.notebook_name, graded.notebook)
        for name, text in beside.items():
            if text:
                _put(target / name, text.encode())
            else:  # of a submission that was graded before
                (target / name).unlink(missing_ok=True)
    except OSError as error:
        raise GraderError(
            f"The graded notebook of {graded.record.student} cannot be written into {target}: {error.strerror}. "
            f"See that the disk has room and that the folder can be written. {_GO_ON}"
        ) from None


def _put(file: Path, data: bytes, mode: int = 0o666) -> None:
    """Writes a file, all or nothing, also if the power fails.

    Args:
        mode: what it permits to whom, less what the umask takes away.

    Raises:
        OSError: it was not written; what was there before is still there.
    """
    scratch = file.with_name(f".{file.name}.new")
    try:
        scratch.unlink(missing_ok=True)  # of a run that was killed: it may have another mode
        with open(os.open(scratch, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb") as opened:
            opened.write(data)
            opened.flush()
            os.fsync(opened.fileno())
        scratch.replace(file)
    except BaseException:
        with contextlib.suppress(OSError):
            scratch.unlink(missing_ok=True)
        raise


def _remove_scratch(lab: Lab) -> None:
    """Files of a run that was killed while it wrote them."""
    for scratch in lab.course.autograded.glob(f"*/{lab.name}/.*.new"):
        with contextlib.suppress(OSError):
            scratch.unlink()


@contextlib.contextmanager
def _alone(course: Course) -> Iterator[None]:
    """Only one may grade a course at a time. The system gives the lock back when a process ends, however.

    Raises:
        GraderError: somebody else is grading, or nothing can be written there.
    """
    with contextlib.ExitStack() as stack:
        _lock(course, stack)
        yield


def _lock(course: Course, stack: contextlib.ExitStack) -> None:
    try:
        make_private(course.grading)
        file = stack.enter_context((course.grading / "autograde.lock").open("a"))
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise GraderError(
            f"Another `grader autograde` is at work in {course.grading}. Wait until it has finished, or stop it; "
            "what it has entered by then stays."
        ) from None
    except OSError as error:
        raise GraderError(
            f"{course.grading} cannot be written: {error.strerror}. Make the folder writable and see that the "
            f"disk has room. {_GO_ON}"
        ) from None
