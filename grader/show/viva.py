"""One sheet for a short conversation with a student: questions about their own code, with answers, and what else helps to talk about it.

The questions come from where the student's code runs, the sandbox (:mod:`course_utils.own_code`). So they are untrusted text
here. They are bounded and escaped, and none is about code that was not handed in. Nothing here touches a score.
"""

from __future__ import annotations

import difflib
import itertools
import json
import re
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jinja2
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell

from course_utils.display import inline
from grader.book.gradebook import Gradebook
from grader.book.results import Result
from grader.course import make_private
from grader.errors import GraderError
from grader.files import TIMESTAMP, content_of, find_notebook
from grader.grade.autograde import class_seed
from grader.grade.results import MAX_SOURCE
from grader.receive.beside import in_folder
from grader.receive.read import read_submission
from grader.receive.rebuild import rebuild
from grader.receive.store import folders_of
from grader.reference.lab import Lab, checked_exercise, copy_of, is_learners, is_solution, nbgrader_of
from grader.run.states import Runner
from grader.show.pages import title_of

QUESTIONS = 6
_SECONDS = 20
"""CPU time for making them, beside what the notebook itself takes."""
_MOST_TEXT, _MOST_OPTIONS, _MOST_LINES = 1_500, 4, 60
_LONGEST = 200_000
"""Characters of what the sandbox sends."""
_HELD, _VERSIONS = 4, 4
"""Misconceptions and earlier versions that fit on a sheet."""


@dataclass(frozen=True)
class Option:
    text: str
    right: bool
    why: str


@dataclass(frozen=True)
class Question:
    """A question as the sandbox sent it.

    Attributes:
        code: the numbered lines that it is about.
        lines: numbers of those that it names.
    """

    exercise: str
    text: str
    code: str
    lines: tuple[int, ...]
    options: tuple[Option, ...]

    @property
    def answer(self) -> str:
        return next(letter for letter, option in zip("ABCD", self.options, strict=False) if option.right)

    @property
    def why(self) -> str:
        return next(option.why for option in self.options if option.right)


@dataclass(frozen=True)
class Sheet:
    """All that a sheet shows.

    Attributes:
        questions: from easy to hard.
        instead: why there are none; empty if there are.
        held: misconceptions that grading recognised: exercise, title and hint.
        versions: a sentence about each hand-in after the first.
        untouched: exercises that are as they were handed out.
        graded: whether grading has looked for misconceptions yet.
    """

    student: str
    name: str
    questions: tuple[Question, ...] = ()
    instead: str = ""
    handed_in: str = ""
    held: tuple[tuple[str, str, str], ...] = ()
    versions: tuple[str, ...] = ()
    untouched: tuple[str, ...] = ()
    graded: bool = False


def write_sheets(
    lab: Lab, students: Sequence[str], runner: Runner, out: Path | None = None
) -> list[tuple[Path, Sheet]]:
    """Writes ``grading/viva/<lab>/<student>.html`` for each student, or into the folder ``out``.

    Raises:
        GraderError: a sheet cannot be written, or the sandbox cannot be set up.
    """
    folder = out or lab.course.grading / "viva" / lab.name
    with Gradebook.open(lab.course) as gradebook:
        results = {result.student: result for result in gradebook.results(lab, students)}
        names = {student: person.name for student, person in gradebook.people().items() if person.name}
    seed = class_seed(lab)
    written = []
    for student in students:
        sheet = sheet_of(lab, student, names.get(student, ""), results.get(student), runner, seed)
        page = folder / f"{student}.html"
        try:
            make_private(folder)
            page.write_text(as_html(lab, sheet), "utf-8")
        except OSError as error:
            raise GraderError(
                f"{page} cannot be written: {error.strerror}. Choose another folder with --out."
            ) from None
        written.append((page, sheet))
    return written


def is_readable(lab: Lab, student: str) -> bool:
    """Whether there is work of a student that a sheet can be made of."""
    path, _ = find_notebook(lab.course.submitted / student / lab.name, lab.notebook_name)
    return not read_submission(path).problem


def sheet_of(lab: Lab, student: str, name: str, result: Result | None, runner: Runner, seed: int) -> Sheet:
    """Runs what a student handed in, and makes the sheet of it.

    Args:
        seed: of the class. With the student's id it decides which questions are chosen, so that the sheet stays the same.
    """
    folder, earlier = folders_of(lab, student)
    if not folder.is_dir():
        return Sheet(student, name, instead=f"Nothing of theirs was collected for {lab.name}.")
    notebook, problem = _rebuilt(lab, folder)
    if notebook is None:
        return Sheet(student, name, instead=f"What was handed in cannot be read: {problem}")
    own = _texts(notebook)
    given = _texts(lab.release())
    untouched = tuple(each for each, text in own.items() if text == given.get(each))
    questions = [] if len(untouched) == len(own) else _questions(lab, notebook, student, runner, seed)
    instead = ""
    if len(untouched) == len(own):
        instead = "Nothing has been written yet: every exercise is as it was handed out."
    elif not questions:
        instead = (
            "No question could be made of this code: what is written fails, takes too long, or is too short."
        )
    return Sheet(
        student,
        name,
        tuple(questions),
        instead,
        _time_of(folder),
        _held(lab, result),
        tuple(_versions(lab, earlier, folder, own)),
        untouched,
        bool(result and result.marker),
    )


# ---------------------------------------------------------------------------------- questions


def _rebuilt(lab: Lab, folder: Path) -> tuple[NotebookNode | None, str]:
    path, _ = find_notebook(folder, lab.notebook_name)
    read = read_submission(path)
    if read.problem:
        return None, read.problem
    return rebuild(lab.release(), read.cells, in_folder(lab, path).used_by(read.cells).modules).notebook, ""


def _texts(notebook: NotebookNode) -> dict[str, str]:
    """Exercise -> the text of its cell."""
    return {nbgrader_of(cell)["grade_id"]: cell.source for cell in notebook.cells if is_solution(cell)}


def _questions(lab: Lab, notebook: NotebookNode, student: str, runner: Runner, seed: int) -> list[Question]:
    texts = [cell.source for cell in notebook.cells if cell.cell_type == "code" and is_learners(cell)]
    chance = zlib.crc32(f"{seed}/{lab.name}/{student}".encode())
    to_run = copy_of(notebook)
    to_run.cells = [cell for cell in to_run.cells if not checked_exercise(cell)]
    call = f"print_questions({lab.slug!r}, {texts!r}, {QUESTIONS}, {chance}, {_SECONDS})"
    to_run.cells.append(
        new_code_cell(f"from course_utils.own_code.practice import print_questions\n{call}", id="viva")
    )
    executed = runner.run(to_run, seed, lab.release_folder)
    printed = [
        output.text for output in executed.notebook.cells[-1].outputs if output.get("name") == "stdout"
    ]
    return [each for each in questions_in("".join(printed)) if _was_handed_in(each, texts)]


def questions_in(printed: str) -> list[Question]:
    """The questions that a notebook has printed; what has another form is left out."""
    for line in reversed(printed.splitlines()):
        try:
            found = json.loads(line) if len(line) <= _LONGEST else None
        except (ValueError, RecursionError):
            continue
        if isinstance(found, list):
            return [question for each in found[:QUESTIONS] if (question := _question(each))]
    return []


def _question(data: Any) -> Question | None:
    match data:
        case {
            "exercise": str(exercise),
            "text": str(text),
            "code": str(code),
            "lines": list(lines),
            "options": list(options),
        } if 2 <= len(options) <= _MOST_OPTIONS and code.count("\n") < _MOST_LINES:
            pass
        case _:
            return None
    read = []
    for option in options:
        match option:
            case [str(said), bool(right), str(why)]:
                read.append(Option(_bounded(said), right, _bounded(why)))
            case _:
                return None
    if sum(option.right for option in read) != 1 or not all(type(line) is int for line in lines):
        return None
    return Question(_bounded(exercise), _bounded(text), code[: 4 * _MOST_TEXT], tuple(lines), tuple(read))


def _bounded(text: str) -> str:
    return text if len(text) <= _MOST_TEXT else f"{text[:_MOST_TEXT]}…"


def _was_handed_in(question: Question, texts: Sequence[str]) -> bool:
    """Whether every line of code that a question shows is one that was handed in: the code that runs could print anything."""
    lines = {line.strip() for text in texts for line in text.splitlines()}
    return all(re.sub(r"^ *\d+  ", "", line).strip() in lines for line in question.code.splitlines())


# ---------------------------------------------------------------------------------- what else is known


def _held(lab: Lab, result: Result | None) -> tuple[tuple[str, str, str], ...]:
    known = {
        (entry.exercise, entry.name): entry for entries in lab.misconceptions.values() for entry in entries
    }
    found = []
    for text in result.recognised if result else ():
        exercise, _, name = text.partition(": ")
        entry = known.get((exercise, name))
        found.append((exercise, entry.title if entry else name, entry.hint if entry else ""))
    return tuple(found[:_HELD])


def _versions(lab: Lab, earlier: Path, folder: Path, own: Mapping[str, str]) -> Iterator[str]:
    """What changed from each hand-in to the next."""
    numbers = (int(each.name) for each in earlier.glob("*") if each.name.isdecimal() and each.is_dir())
    kept = [earlier / str(number) for number in sorted(numbers)][-_VERSIONS:]
    versions = []
    for each in kept:
        notebook, _ = _rebuilt(lab, each)
        versions.append((_time_of(each), _texts(notebook) if notebook else None))
    versions.append((_time_of(folder), own))
    for (before, old), (after, new) in itertools.pairwise(versions):
        times = f"{before or 'time not known'} → {after or 'time not known'}"
        if old is None or new is None:
            yield f"{times}: the earlier notebook cannot be read."
            continue
        changed = [
            f"`{name}` (+{added} −{gone} lines)"
            for name in new
            if (counted := _lines_changed(old.get(name, ""), new[name])) != (0, 0)
            for added, gone in [counted]
        ]
        yield f"{times}: {', '.join(changed) if changed else 'no exercise changed'}."


def _lines_changed(old: str, new: str) -> tuple[int, int]:
    if max(len(old), len(new)) > MAX_SOURCE:  # comparing takes longer than in proportion
        return (0, 0) if old == new else (new.count("\n"), old.count("\n"))
    found = list(difflib.unified_diff(old.splitlines(), new.splitlines(), n=0, lineterm=""))[2:]
    return sum(line.startswith("+") for line in found), sum(line.startswith("-") for line in found)


def _time_of(folder: Path) -> str:
    """When something was handed in, as it was noted; empty if it was not."""
    file = folder / TIMESTAMP
    try:
        return "" if file.is_symlink() else content_of(file).decode("utf-8")[:16].strip()
    except (OSError, UnicodeDecodeError):
        return ""


# ---------------------------------------------------------------------------------- the page


def as_html(lab: Lab, sheet: Sheet) -> str:
    """The sheet, as one file without scripts; it prints on one side of A4."""
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("grader", "show"), autoescape=True, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters["inline"] = inline
    named: dict[tuple[str, str], set[int]] = {}  # exercise, code -> the lines that questions name
    for question in sheet.questions:
        named.setdefault((question.exercise, question.code), set()).update(question.lines)
    codes = [
        (exercise, [(line, _number(line) in lines) for line in code.splitlines()])
        for (exercise, code), lines in named.items()
    ]
    return environment.get_template("viva.html").render(
        title=title_of(lab), sheet=sheet, codes=codes, letters="ABCD"
    )


def _number(line: str) -> int:
    found = re.match(r" *(\d+)", line)
    return int(found[1]) if found else 0
