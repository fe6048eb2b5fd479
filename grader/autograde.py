"""A class's submissions of one lab -> gradebook, graded notebooks, and a record each.

Every submission ends in exactly one state: graded, incomplete (cells were missing and have been restored),
timed out, crashed, out of memory, or unreadable. None can affect another, or stop the run.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

import nbformat
from nbformat import NotebookNode
from nbgrader.utils import determine_grade, is_grade, parse_utc

from course_utils.comparison import Expected, Verdict
from grader.course import Course, CourseError
from grader.feedback import with_results
from grader.gradebook import Gradebook
from grader.intake import find_notebook, read_submission, rebuild
from grader.judge import judge
from grader.lab import Lab
from grader.run import CRASHED, GRADED, Executed, PlainRunner, Runner

INCOMPLETE, UNREADABLE = "incomplete", "unreadable"


@dataclass(frozen=True)
class Record:
    """How one submission ended.

    Attributes:
        score: points given by the autograder, of ``max_score``. None: nothing was entered.
        by_hand: how many written answers wait for a human.
        verdicts: by exercise key; empty if nothing was entered.
        notes: sentences about what was wrong with the submission, and what was done about it.
    """

    student: str
    state: str
    score: float | None
    max_score: float
    by_hand: int = 0
    verdicts: Mapping[str, Verdict] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    @property
    def recognised(self) -> list[str]:
        """Known mistakes in this submission, as ``exercise: mistake``."""
        return [
            f"{verdict.exercise}: {diagnosis.name}"
            for verdict in self.verdicts.values()
            for diagnosis in verdict.diagnoses
        ]


@dataclass(frozen=True)
class Graded:
    """One submission's notebook with results, before anything is written anywhere."""

    notebook: NotebookNode
    state: str
    verdicts: Mapping[str, Verdict]
    notes: tuple[str, ...]


def choose_runner(sandbox: str | None) -> Runner:
    """
    Raises:
        CourseError: there is no such sandbox, or none was turned down explicitly.
    """
    if sandbox == "none":
        return PlainRunner()
    asked = f"There is no sandbox called {sandbox!r}." if sandbox else "No sandbox is available yet."
    raise CourseError(
        f"{asked} Grading runs code that learners wrote, and without a sandbox that code can do whatever you "
        "can do on this machine. If you trust it, add --sandbox none."
    )


def class_seed(lab: Lab) -> int:
    """The seed that a lab is graded with: drawn once for this course, so that nobody can know it, and kept.

    It is kept because code that is wrong may be right by luck at one seed and not at another: grading the
    same work again must give the same grade.

    Raises:
        CourseError: the file of seeds is not what was written there.
    """
    file = lab.course.grading / "seeds.json"
    try:
        seeds = json.loads(file.read_text("utf-8")) if file.exists() else {}
        if lab.name not in seeds:
            seeds[lab.name] = int.from_bytes(os.urandom(4), "big")
            file.parent.mkdir(parents=True, exist_ok=True)
            scratch = file.with_suffix(".new")
            scratch.write_text(json.dumps(seeds, indent=1), "utf-8")
            scratch.replace(file)
        return int(seeds[lab.name])
    except (OSError, ValueError, TypeError) as error:
        raise CourseError(
            f"{file} cannot be used ({error}). It holds the seed of each lab's checks. Delete it to draw new ones."
        ) from None


def submissions(lab: Lab, student: str | None = None) -> list[Path]:
    """The folders ``submitted/<student>/<lab>``, by student.

    Raises:
        CourseError: there is none.
    """
    submitted = lab.course.submitted
    names = [student] if student else sorted(folder.name for folder in submitted.glob("*") if folder.is_dir())
    folders = [submitted / name / lab.name for name in names]
    folders = [folder for folder in folders if folder.is_dir()]
    if not folders:
        raise CourseError(
            f"There is no submission in {submitted / (student or '<student>') / lab.name}. "
            f"Put {lab.notebook_name} there, or collect submissions with nbgrader."
        )
    return folders


def autograde(lab: Lab, folders: Sequence[Path], runner: Runner, seed: int) -> Iterator[Record]:
    """Grades submissions one after the other; each is entered before its record is given out.

    Raises:
        CourseError: the lab has not been built or the gradebook cannot be used. Never for a submission.
    """
    release = lab.release()
    expected = lab.expected(seed)
    with Gradebook.open(lab.course) as gradebook:
        gradebook.register(lab)
        for folder in folders:
            yield _grade_and_enter(lab, release, expected, seed, runner, gradebook, folder)


def _grade_and_enter(
    lab: Lab,
    release: NotebookNode,
    expected: Mapping[str, Expected],
    seed: int,
    runner: Runner,
    gradebook: Gradebook,
    folder: Path,
) -> Record:
    student = folder.parent.name
    grades = [determine_grade(cell) for cell in release.cells if is_grade(cell)]
    max_score = sum(points for _, points in grades)
    try:
        graded = grade(lab, release, expected, seed, runner, folder)
        submitted = _submitted_at(folder)
        _write_notebook(lab.course, lab, student, graded.notebook, folder if submitted else None)
        read = graded.state != UNREADABLE
        gradebook.write(lab, student, graded.notebook, submitted, read)
    except CourseError:
        raise
    except Exception as error:  # a fault of ours: this submission waits, the class goes on
        note = f"The grader itself failed here, and entered nothing: {type(error).__name__}: {error}"
        return Record(student, CRASHED, None, max_score, notes=(note,))
    scores = [determine_grade(cell)[0] for cell in graded.notebook.cells if is_grade(cell)] if read else []
    return Record(
        student,
        graded.state,
        score=round(sum(score for score in scores if score is not None), 2),
        max_score=max_score,
        by_hand=scores.count(None),
        verdicts=graded.verdicts,
        notes=graded.notes,
    )


def grade(
    lab: Lab,
    release: NotebookNode,
    expected: Mapping[str, Expected],
    seed: int,
    runner: Runner,
    folder: Path,
) -> Graded:
    """Takes one submission from its folder to a notebook with results. Writes nothing."""
    path, found_notes = find_notebook(folder, lab.notebook_name)
    read = read_submission(path)
    if read.problem:
        executed, state = Executed(release, UNREADABLE, {}), UNREADABLE
        notes = (*found_notes, f"{read.problem} It could not be graded and counts 0 points.")
    else:
        rebuilt = rebuild(release, read.cells)
        executed = runner.run(rebuilt.notebook, seed, lab.release_folder)
        state = INCOMPLETE if executed.state == GRADED and rebuilt.missing else executed.state
        notes = (*found_notes, *read.notes, *rebuilt.notes, *executed.notes)
    verdicts = judge(lab, expected, executed.payloads)
    notebook = with_results(lab, executed.notebook, release, verdicts, state, notes)
    notebook.metadata["transformer_labs"] = {"seed": seed, "state": state}
    return Graded(notebook, state, verdicts, notes)


def _submitted_at(folder: Path) -> datetime | None:
    """When a submission was handed in, from the file that nbgrader's exchange leaves. None if unknown."""
    file = folder / "timestamp.txt"
    try:
        return None if file.is_symlink() else parse_utc(file.read_text("utf-8")[:100].strip())
    except (OSError, ValueError, OverflowError):
        return None


def _write_notebook(
    course: Course, lab: Lab, student: str, notebook: NotebookNode, dated: Path | None
) -> None:
    """Puts a graded notebook where nbgrader's feedback and formgrader look for it, all or nothing."""
    target = course.autograded / student / lab.name
    target.mkdir(parents=True, exist_ok=True)
    files = {lab.notebook_name: nbformat.writes(notebook)}
    if dated:
        files["timestamp.txt"] = (dated / "timestamp.txt").read_text("utf-8")
    for name, text in files.items():
        scratch = target / f".{name}.new"
        scratch.write_text(text, "utf-8")
        scratch.replace(target / name)
