"""A course of one's own to grade in, and a runner without kernels. Imported by worker processes too."""

from __future__ import annotations

import contextlib
import io
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from nbformat import NotebookNode
from nbgrader.api import Gradebook as NbgraderGradebook
from project import ROOT

from course_utils.checking.exercise import exercises_of
from course_utils.checking.outcome import encode, try_exercise
from grader.book.gradebook import Gradebook
from grader.book.state import marker_of
from grader.course import Course
from grader.grade import autograde
from grader.handout.demo import hand_in, solved
from grader.reference.lab import Lab, checked_exercise, is_solution, runs_in_grading
from grader.run.states import GRADED, Executed

START, ATTENTION = "00_start_here", "02_self_attention"


def new_course(root: Path) -> Course:
    """The real labs and an empty grading folder."""
    shutil.copyfile(ROOT / "nbgrader_config.py", root / "nbgrader_config.py")
    for folder in ("solutions", "notebooks"):
        shutil.copytree(ROOT / folder, root / folder, ignore=shutil.ignore_patterns("__pycache__", ".*"))
    return Course(root)


def with_gradebook(course: Course) -> Course:
    """The course with an empty gradebook. nbgrader takes seconds to make one, so they are copies."""
    course.grading.mkdir(exist_ok=True)
    without_gradebook(course)
    course.gradebook.write_bytes(_empty_gradebook())
    return course


@contextmanager
def gradebook_undone(course: Course) -> Iterator[None]:
    """Afterwards the gradebook is as it was, and so is what the course knows of it.

    SQLite itself copies it, and into the file that is there: a server that still writes to that file keeps a journal beside it, which must
    never be taken for another file's.
    """
    with closing(sqlite3.connect(":memory:")) as kept:
        with closing(sqlite3.connect(course.gradebook, timeout=60)) as now:
            now.backup(kept)
        marker = marker_of(course).read_bytes() if marker_of(course).exists() else None
        yield
        with closing(sqlite3.connect(course.gradebook, timeout=60)) as now:
            kept.backup(now)
    marker_of(course).unlink(missing_ok=True)
    if marker is not None:
        marker_of(course).write_bytes(marker)


def without_gradebook(course: Course) -> None:
    """Removes the gradebook as somebody does who wants a new one."""
    for file in (course.gradebook, marker_of(course)):
        file.unlink(missing_ok=True)


def book_of(course: Course) -> NbgraderGradebook:
    return NbgraderGradebook(course.nbgrader_config().CourseDirectory.db_url)


def nbgrader(course: Course, *arguments: str) -> subprocess.CompletedProcess:
    """Runs nbgrader's own command in the course, as an instructor would."""
    environment = os.environ | {
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "HOME": str(course.root),
        "JUPYTER_CONFIG_DIR": str(course.root / ".jupyter"),
    }
    command = [sys.executable, "-m", "nbgrader", *arguments]
    return subprocess.run(command, cwd=course.root, env=environment, capture_output=True, text=True)


@cache
def _empty_gradebook() -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        course = Course(Path(folder))
        with Gradebook.open(course):
            pass
        return course.gradebook.read_bytes()


def graded_lab(root: Path, students: Sequence[str], unsolved: str) -> Lab:
    """The first lab with a submission of each of these, graded: all solved, but one that is handed in as it was released."""
    lab = Lab.load(with_gradebook(new_course(root)), START)
    for student in students:
        hand_in(lab.course, lab, student, lab.release() if student == unsolved else solved(lab))
    list(autograde.autograde(lab, autograde.submissions(lab), KernelFree(root / "runs"), 5))
    return lab


def hand_in_class(lab: Lab, size: int) -> list[Path]:
    """Submissions of students s00, s01, ...: every third is perfect, every third empty, every third wrong."""
    first = next(iter(lab.misconceptions.values()))
    folders = []
    for number in range(size):
        texts = {first[number % len(first)].exercise: first[number % len(first)].source}
        notebook = (solved(lab), lab.release(), solved(lab, texts))[number % 3]
        cell = next(cell for cell in notebook.cells if is_solution(cell))
        cell.source = f"# s{number:02}\n{cell.source}"  # so that a runner can tell whose it is
        folders.append(hand_in(lab.course, lab, f"s{number:02}", notebook))
    return folders


@dataclass(frozen=True)
class KernelFree:
    """Runs cells in its own process, so only those of tests. What kills a kernel kills a worker here.

    Args:
        log: a file that gets a line for every notebook: the first line of its first solution, the process, and
            the lab's files that are there.
        nap: seconds that each notebook takes on top.
    """

    log: Path = field(repr=False)  # so that it does not matter for what is graded again
    nap: float = field(default=0, repr=False)
    notebook_seconds: float = 60

    def warm_up(self, folder: Path | None = None) -> None:
        pass

    def run(self, notebook: NotebookNode, seed: int, folder: Path | None = None) -> Executed:
        with self.log.open("a") as log:
            first = next(cell for cell in notebook.cells if is_solution(cell))
            files = ",".join(sorted(os.listdir(folder))) if folder else ""
            log.write(f"{first.source.splitlines()[0]} {os.getpid()} {files}\n")
        time.sleep(self.nap)
        namespace: dict = {}
        payloads = {}
        for cell in notebook.cells:
            if key := checked_exercise(cell):
                slug, _, name = key.partition(".")
                outcomes = try_exercise(exercises_of(slug)[name], key, namespace.get(name), seed)
                payloads[key] = encode(outcomes)
            elif runs_in_grading(cell):
                with contextlib.suppress(Exception), contextlib.redirect_stdout(io.StringIO()):
                    exec(cell.source, namespace)
        return Executed(notebook, GRADED, payloads)

    def runs(self) -> list[str]:
        """Whose notebooks were run, in order."""
        if not self.log.exists():
            return []
        return [line.split()[1] for line in self.log.read_text().splitlines()]
