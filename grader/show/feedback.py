"""The feedback for a lab: one page per graded notebook. Pages whose inputs are unchanged are left as they are.

A page depends on the graded notebook, on what the gradebook says about it and its student, and on the code. Their fingerprint is noted
in ``grading/pages/<lab>.jsonl`` with that of the page itself, as soon as the page is there. The note is not on the page,
because the graded notebook contains the seed of the checks. If the file of notes is lost, all pages are made again.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import shutil
import traceback
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import IO, Any

import nbformat
from nbconvert.exporters.exporter import ResourcesDict
from nbformat import NotebookNode
from nbgrader.preprocessors import NbGraderPreprocessor
from nbgrader.utils import is_grade, is_solution, is_task

from grader.book.gradebook import Gradebook
from grader.book.readings import Readings
from grader.book.results import Result
from grader.book.rubric import Line
from grader.course import Course, make_private
from grader.errors import NO_ROOM, GraderError
from grader.files import SECRET, TIMESTAMP, at_once, state_of
from grader.grade.pool import Lost, Pool, prepare
from grader.grade.resume import version
from grader.people.roster import Person
from grader.reference.lab import Lab, nbgrader_of
from grader.show.feedback_page import as_html

PAGE_SECONDS = 120
"""A process that works longer than this on one page is given up."""
_FEW = 8
"""Up to this many pages are made sooner than other processes are started."""
_DRAWN_BY = ("jinja2", "matplotlib", "mistune", "nbconvert", "pygments")
_BESIDE = (TIMESTAMP, SECRET)  # what nbgrader's exchange needs to return a page

Watch = Callable[[Iterable[str], int], Iterable[str]]
"""Passes on the students whose pages are made, as they are made; gets how many there will be."""


@dataclass(frozen=True)
class Feedback:
    """How many pages a lab has, and how many of these had to be made."""

    pages: int
    made: int


@dataclass(frozen=True)
class _Note:
    """What is known of a page: fingerprints of what it was made from, and of the page itself."""

    inputs: str
    page: str


def generate_feedback(
    lab: Lab,
    jobs: int = 1,
    watch: Watch = lambda students, _: students,
    among: Collection[str] | None = None,
) -> Feedback:
    """HTML feedback for every graded submission of a lab.

    It may be stopped at any point: pages that are there by then are complete and are not made again.

    Args:
        jobs: how many processes may make pages.
        among: only for these students; None: for everybody.

    Raises:
        GraderError: nothing has been graded, a page could not be made (all others are), or another process is making them.
    """
    graded = _graded(lab, among)
    if not graded:
        whose = "" if among is None else " of this section"
        raise GraderError(
            f"{lab.name} has no graded submissions{whose}. Run `grader autograde {lab.name}` first."
        )
    with Gradebook.open(lab.course) as gradebook:
        results = {result.student: result for result in gradebook.results(lab)}
        pages = _pages(lab, gradebook)
    failed: dict[str, str] = {}
    with _opened_notes(lab) as file:
        notes = _read(file)
        unknown = [student for student in graded if student not in results]
        failed |= dict.fromkeys(unknown, "The gradebook does not know this submission: grade it again.")
        todo = [results[student] for student in graded if student in results]
        todo = [result for result in todo if not pages.still_hold(result, notes.get(result.student))]

        def noted() -> Iterator[str]:
            for result, answer in _made(pages, todo, jobs):
                if isinstance(answer, OSError):
                    raise answer  # the next pages would not be written either
                if isinstance(answer, _Note):
                    file.write(json.dumps([result.student, answer.inputs, answer.page]) + "\n")
                    file.flush()
                else:
                    failed[result.student] = answer
                yield result.student

        made = sum(1 for _ in watch(noted(), len(todo)))
        if failed:
            raise _failure(lab, failed)
    return Feedback(len(graded), made)


def outdated(lab: Lab, gradebook: Gradebook, results: Iterable[Result]) -> list[str]:
    """Students whose page is not there, or would be made anew: of those with one of these results and a graded notebook."""
    graded, pages = {*_graded(lab)}, _pages(lab, gradebook)
    try:
        with open(
            lab.course.grading / "pages" / f"{lab.name}.jsonl",
            encoding="utf-8",
            errors="replace",
            opener=at_once,
        ) as file:
            notes = _noted(file)
    except OSError:
        notes = {}
    return [
        result.student
        for result in results
        if result.student in graded and not pages.still_hold(result, notes.get(result.student))
    ]


def _graded(lab: Lab, among: Collection[str] | None = None) -> list[str]:
    """Students with a graded notebook, sorted."""
    found = lab.course.autograded.glob(f"*/{lab.name}/{lab.notebook_name}")
    return sorted(path.parts[-3] for path in found if among is None or path.parts[-3] in among)


def _pages(lab: Lab, gradebook: Gradebook) -> _Pages:
    lines, people = Readings(gradebook, lab).lines(), gradebook.people()
    return _Pages(lab, _code(), lines, {student: _whose(person) for student, person in people.items()})


def _failure(lab: Lab, failed: Mapping[str, str]) -> GraderError:
    log = lab.course.grading / "feedback.log"
    log.write_text(
        "".join(f"{student}\n{why}\n\n" for student, why in sorted(failed.items())), "utf-8", "replace"
    )
    named = ", ".join(sorted(failed)[:10]) + (f" and {len(failed) - 10} more" if len(failed) > 10 else "")
    return GraderError(
        f"{lab.name}: no feedback page could be made for {named}; all other pages are there. {log} says what went wrong."
    )


def _made(pages: _Pages, todo: list[Result], jobs: int) -> Iterator[tuple[Result, _Note | OSError | str]]:
    """Pairs of what the gradebook says about a submission, and the note of its page or why there is none."""
    processes = min(jobs, len(todo) // _FEW)
    if processes < 2:
        yield from ((result, pages(None, result)) for result in todo)
        return
    prepare([__name__, "matplotlib.mathtext"])
    with Pool(pages, processes, PAGE_SECONDS) as pool:
        for result, answer in pool.map(None, todo):
            if isinstance(answer, Lost):
                pages.remove(result.student)
                answer = f"The process that made the page {answer.why}, twice."
            yield result, answer


# ---------------------------------------------------------------------------------- one page


@dataclass(frozen=True)
class _Pages:
    """Makes one page after the other; work for a :class:`grader.grade.pool.Pool`.

    Attributes:
        lines: student -> cell -> the rubric's lines, see :meth:`grader.book.readings.Readings.lines`.
        whose: student -> what the page calls this student.
    """

    lab: Lab
    code: str
    lines: Mapping[str, Mapping[str, tuple[Line, ...]]]
    whose: Mapping[str, str]

    def open(self) -> None:
        pass

    def close(self) -> None:
        pass

    def __call__(self, _: Any, result: Result) -> _Note | OSError | str:
        """Makes a page. Returns its note; or the error if there is no room for it, else the traceback if it cannot be made. After an error there is
        no page, not even the one of before, which may show other points.
        """
        try:
            source, target = self._source(result.student), self._target(result.student)
            make_private(target)
            data = (source / self.lab.notebook_name).read_bytes()
            for name in _BESIDE:
                if (source / name).is_file():
                    shutil.copyfile(source / name, target / name)
                else:
                    (target / name).unlink(missing_ok=True)
            notebook = nbformat.reads(data.decode("utf-8"), as_version=4)
            names = {
                "notebook": self.lab.slug,
                "assignment": self.lab.name,
                "whose": self.whose[result.student],
            }
            facts = enter(notebook, result, self.lines.get(result.student, {}))
            text = as_html(notebook, facts | names)
            scratch = target / f".{self._page.name}.new"
            scratch.write_text(text, "utf-8")
            scratch.replace(target / self._page.name)
            return _Note(self._inputs(result, data), self._digest(target))
        except Exception as error:
            self.remove(result.student)
            full = isinstance(error, OSError) and error.errno in NO_ROOM
            return error if full else traceback.format_exc()

    def still_hold(self, result: Result, note: _Note | None) -> bool:
        """Whether a page is there, as it was made, and would be made in the same way again."""
        if note is None:
            return False
        try:
            data = (self._source(result.student) / self.lab.notebook_name).read_bytes()
        except OSError:
            return False
        made = self._digest(self._target(result.student))
        return note == _Note(self._inputs(result, data), made)

    def remove(self, student: str) -> None:
        for name in (self._page.name, f".{self._page.name}.new"):
            with contextlib.suppress(OSError):
                (self._target(student) / name).unlink()

    @property
    def _page(self) -> Path:
        return Path(f"{self.lab.slug}.html")

    def _source(self, student: str) -> Path:
        return self.lab.course.autograded / student / self.lab.name

    def _target(self, student: str) -> Path:
        return self.lab.course.feedback / student / self.lab.name

    def _inputs(self, result: Result, notebook: bytes) -> str:
        source = self._source(result.student)
        told = (
            sorted(result.points.items()),
            sorted(result.comments.items()),
            result.penalty,
            result.marked_late,
            str(result.marks),
            result.counts.told,
        )
        asked = (result.submission, result.requests, self.lines.get(result.student))
        parts = [
            self.code,
            self.whose[result.student],
            repr(told),
            repr(asked),
            hashlib.sha256(notebook).hexdigest(),
        ]
        parts += [_digest_of(source / name) for name in _BESIDE]
        return hashlib.sha256("\n".join(parts).encode()).hexdigest()

    def _digest(self, target: Path) -> str:
        return " ".join(_digest_of(target / name) for name in (self._page.name, *_BESIDE))


def _whose(person: Person) -> str:
    """What a page calls somebody: the name and the id, or the id alone."""
    named = person.name and person.name != person.student
    return f"{person.name} ({person.student})" if named else person.student


def enter(notebook: NotebookNode, result: Result, lines: Mapping[str, tuple[Line, ...]]) -> dict[str, Any]:
    """Puts points and comments into the cells' metadata, as nbgrader does; points that a human still has to give are marked.
    Requests to look again and the rubric's ``lines`` (cell -> lines) are put there, too.

    Returns: ``score``, ``max_score``, ``late_penalty``, ``deducted``, ``decided`` and ``excused``, ``counts``, ``marked_late`` and ``submission``.
    """
    most = 0.0
    for cell in notebook.cells:
        meta = nbgrader_of(cell)
        if is_grade(cell) or is_task(cell):
            given = result.points.get(meta["grade_id"])
            meta["score"], meta["waiting"] = given or 0.0, given is None
            meta["requests"] = [each for each in result.requests if each.cell == meta["grade_id"]]
            meta["rubric"] = () if given is None else lines.get(meta["grade_id"], ())
            meta["counts"] = result.counts.of(meta["grade_id"])
            most += 0.0 if meta["counts"] else float(meta["points"])
        if is_solution(cell) or is_task(cell):
            # what somebody has said about an answer that has been replaced since is not about the new one
            meta["comment"] = None if meta.get("waiting") else result.comments.get(meta["grade_id"])
    return {
        "score": result.score,
        "max_score": most,
        "late_penalty": result.penalty,
        "deducted": result.deducted,
        "decided": str(result.marks),
        "excused": result.marks.excused,
        "counts": result.counts.told,
        "marked_late": result.marked_late,
        "submission": result.submission,
    }


class Grades(NbGraderPreprocessor):
    """The same for nbgrader's own commands and formgrader's button: takes the place of nbgrader's ``GetGrades``."""

    def preprocess(self, nb: NotebookNode, resources: ResourcesDict) -> tuple[NotebookNode, ResourcesDict]:
        """
        Raises:
            GraderError: the gradebook does not know the submission.
        """
        course = Course(Path(self.config.CourseDirectory.root))
        names = resources["nbgrader"]
        with Gradebook.open(course) as gradebook:
            lab = Lab(course, names["assignment"])
            found = gradebook.results(lab, [names["student"]])
            lines = Readings(gradebook, lab).lines(names["student"])
            people = gradebook.people(names["student"])
        if not found:
            raise GraderError(f"The gradebook does not know {names['student']}'s {names['assignment']}.")
        names |= enter(nb, found[0], lines.get(names["student"], {}))
        names["whose"] = _whose(people[names["student"]])
        return nb, resources


# ---------------------------------------------------------------------------------- what is remembered


def _code() -> str:
    """A fingerprint of everything else that a page depends on."""
    template = Path(__file__).with_name("feedback.html")
    packages = [f"{name} {metadata.version(name)}" for name in _DRAWN_BY]
    return "\n".join([version((__name__,)), _digest_of(template), *packages])


@contextlib.contextmanager
def _opened_notes(lab: Lab) -> Iterator[IO[str]]:
    """The file of notes, for this process alone.

    Raises:
        GraderError: another process has it, or something in the folder cannot be written.
    """
    path = lab.course.grading / "pages" / f"{lab.name}.jsonl"
    try:
        make_private(lab.course.feedback)
        make_private(path.parent)
        with open(path, "a+", encoding="utf-8", errors="replace", opener=at_once) as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            yield file
    except BlockingIOError:
        raise GraderError(
            f"Another `grader feedback {lab.name}` is at work. Wait until it has finished, or stop it."
        ) from None
    except OSError as error:
        raise GraderError(
            f"Feedback pages cannot be written into {lab.course.grading}: {error.strerror}. Make sure that the disk has room and "
            "that the folder can be written to, then run the same command again."
        ) from None


def _read(file: IO[str]) -> dict[str, _Note]:
    """The notes by student, the last one of each. What is not a note (a line cut short when the power failed) is skipped.
    The file is then written anew, so that it does not grow with every change.
    """
    file.seek(0)
    notes = _noted(lines := file.readlines())
    if len(lines) > len(notes):
        file.truncate(0)
        file.writelines(
            json.dumps([student, note.inputs, note.page]) + "\n" for student, note in notes.items()
        )
        file.flush()
    return notes


def _noted(lines: Iterable[str]) -> dict[str, _Note]:
    notes: dict[str, _Note] = {}
    for line in lines:
        with contextlib.suppress(ValueError):
            student, inputs, page = state_of(line, (str, str, str))
            notes[student] = _Note(inputs, page)
    return notes


def _digest_of(path: Path) -> str:
    """SHA-256 of a file; a dash if it cannot be read."""
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return "-"
