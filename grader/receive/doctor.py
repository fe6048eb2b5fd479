"""What is wrong with one notebook, and how grading will treat it. None of its code is run."""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from IPython.core.inputtransformer2 import TransformerManager
from nbformat import NotebookNode

from course_utils.checking.bypass import uses_of
from course_utils.checking.names import odd_character, why_undefined
from grader.course import Course
from grader.errors import GraderError
from grader.files import MAX_PARSED, printable
from grader.receive.beside import Beside, files_beside, names, sort_out
from grader.receive.likely import Labs
from grader.receive.needed import with_what_is_used
from grader.receive.read import PlainCell, read_submission
from grader.receive.rebuild import MAX_PARSED_ALL, Rebuilt, rebuild
from grader.reference.lab import (
    Lab,
    around_check,
    checked_exercise,
    code_before_check,
    file_in,
    is_solution,
    nbgrader_of,
    places_of,
    runs_in_grading,
)

AS_HANDED_OUT = "as handed out"
ANSWERED = "answered"
BY_NAME = "answered, recognised only by its name"
RESTORED = "missing, restored as handed out"

MAX_MAGICS = 50
"""A cell with more lines of IPython's own syntax than this is not checked for syntax errors: each line costs a pass."""


@dataclass(frozen=True)
class Part:
    """An exercise or a written answer of the lab, and how it was found.

    Attributes:
        state: ``AS_HANDED_OUT``, ``ANSWERED``, ``BY_NAME`` or ``RESTORED``.
        fault: where its code is not valid Python, which name has no value, or which ready-made thing it uses instead of
            building it; empty if nothing is wrong.
    """

    name: str
    written: bool
    state: str
    fault: str = ""


@dataclass(frozen=True)
class OwnCell:
    """A code cell that does not belong to the lab and will run: its first line, and the lab's cell that it follows."""

    first_line: str
    after: str
    fault: str = ""


@dataclass(frozen=True)
class Examination:
    """What was found out about a notebook.

    Attributes:
        lab: the lab whose notebook it was taken for; None if that is not known.
        problem: why it cannot be graded; empty if it can.
        notes: what is odd about it, and what grading will do about that.
        files: Python files in the same folder that it imports, and that run with it if they are handed in, too.
    """

    lab: str | None
    problem: str = ""
    notes: tuple[str, ...] = ()
    parts: tuple[Part, ...] = ()
    own: tuple[OwnCell, ...] = ()
    files: tuple[str, ...] = ()

    @property
    def fine(self) -> bool:
        """Whether grading accepts it as it is. Exercises that are not solved yet are not a fault."""
        faults = [part.fault for part in self.parts] + [cell.fault for cell in self.own]
        return not (self.problem or self.notes or any(faults))


def examine(course: Course, file: Path, lab_name: str | None = None) -> Examination:
    """Reads and rebuilds a notebook as grading does, and looks at the result.

    Args:
        lab_name: the lab that it is handed in for. None: the one that it looks like.

    Raises:
        GraderError: there is no such file or lab, or the lab has not been built.
    """
    if not file.exists() and not file.is_symlink():
        raise GraderError(f"There is no file {file}.")
    asked = Lab.load(course, lab_name) if lab_name else None
    # the user's own folder may well be behind a link; the file itself is judged as in grading
    read = read_submission(file.parent.resolve() / file.name)
    if read.problem:
        return Examination(lab_name, read.problem)
    likely = Labs(course).likely(read.cells, file.name)
    lab = asked or likely
    if not lab:
        return Examination(
            None, "It is a notebook, but not from any of the labs here. Name the lab with --lab.", read.notes
        )
    notes = read.notes
    if likely and likely != lab:
        notes = (f"It looks like the notebook of {likely.name}, not of {lab.name}.", *notes)
    release = lab.release()
    files, problems = _files(lab, file, read.cells)
    rebuilt = rebuild(release, read.cells, files)
    rebuilt = replace(rebuilt, notebook=with_what_is_used(rebuilt.notebook))
    places = places_of(rebuilt.notebook, [cell.text for cell in read.cells])
    modules = {name.removesuffix(".py") for name in files}
    without = _without_values(lab, release, rebuilt.notebook, places, modules)
    faults = _bypasses(lab, rebuilt.notebook) | without | _faults(release, rebuilt.notebook)
    return Examination(
        lab.name,
        notes=(*notes, *rebuilt.notes, *problems),
        files=tuple(files),
        parts=tuple(_parts(release, rebuilt, faults)),
        own=tuple(_own(release, rebuilt.notebook, faults)),
    )


def _files(lab: Lab, file: Path, cells: Sequence[PlainCell]) -> tuple[Mapping[str, str], list[str]]:
    """The Python files beside a notebook that will run with it, and what is wrong with those and with others that it names.

    Whatever else lies in the folder need not have anything to do with the notebook.
    """
    folder = file.parent.resolve()
    code, beside = list(cells), Beside()
    while True:  # files may import others
        named = [each for each in files_beside(folder, file.name) if names(code, each[0][0])]
        beside = sort_out(lab, named)
        if len(cells) + len(beside.modules) == len(code):
            break
        code = [*cells, *(PlainCell("code", text) for text in beside.modules.values())]
    faults = [f"{name}: {fault}" for name, text in beside.modules.items() if (fault := syntax_fault(text))]
    return beside.modules, [*faults, *beside.sentences()]


# ---------------------------------------------------------------------------------- its parts


def _parts(release: NotebookNode, rebuilt: Rebuilt, faults: dict[str, str]) -> Iterator[Part]:
    released = {cell.id: cell.source for cell in release.cells}
    for cell in rebuilt.notebook.cells:
        nbgrader = nbgrader_of(cell)
        written = bool(nbgrader.get("solution") and nbgrader.get("grade"))
        if cell.id not in released or not (written or is_solution(cell)):
            continue
        name = nbgrader["grade_id"]
        if name in rebuilt.missing:
            state = RESTORED
        elif cell.source == released[cell.id]:
            state = AS_HANDED_OUT
        else:
            state = BY_NAME if name in rebuilt.by_name else ANSWERED
        yield Part(name, written, state, faults.get(cell.id, ""))


def _bypasses(lab: Lab, notebook: NotebookNode) -> dict[str, str]:
    """Cell id -> the ready-made thing that it uses instead of building it."""
    found = {}
    for key, exercise in lab.exercises.items():
        for use in uses_of(exercise, lab.exercises.values(), code_before_check(notebook, key))[:1]:
            cells = (cell.id for cell in notebook.cells if nbgrader_of(cell).get("grade_id") == exercise.name)
            found |= dict.fromkeys(
                cells, f"uses {use.name}, which is to be built here: {printable(use.text, 60)}"
            )
    return found


def _without_values(
    lab: Lab,
    release: NotebookNode,
    notebook: NotebookNode,
    places: Mapping[str, str],
    beside: Collection[str],
) -> dict[str, str]:
    """Cell id -> the names that an exercise needs and that have no value when it is checked."""
    released = {cell.id: cell.source for cell in release.cells}
    answers = {nbgrader_of(cell).get("grade_id"): cell for cell in notebook.cells if is_solution(cell)}
    found = {}
    for key, exercise in lab.exercises.items():
        cell = answers.get(exercise.name)
        if cell is None or cell.source == released.get(cell.id):
            continue
        if why := why_undefined(exercise.name, *around_check(notebook, key, places), beside=beside):
            found[cell.id] = " ".join(why)
    return found


def _own(release: NotebookNode, notebook: NotebookNode, faults: dict[str, str]) -> Iterator[OwnCell]:
    released = {cell.id for cell in release.cells}
    after = ""
    for cell in notebook.cells:
        if cell.id in released:
            after = cell.id
        elif runs_in_grading(cell) and not file_in(cell):
            first = next((line for line in cell.source.splitlines() if line.strip()), "")
            yield OwnCell(printable(first.strip(), 60), after, faults.get(cell.id, ""))


def _faults(release: NotebookNode, notebook: NotebookNode) -> dict[str, str]:
    """Cell id -> its syntax error, for the learner's own cells that will run."""
    released = {cell.id: cell for cell in release.cells}
    faults, left = {}, MAX_PARSED_ALL
    for cell in notebook.cells:
        theirs = cell.id not in released or cell.source != released[cell.id].source
        if theirs and runs_in_grading(cell) and checked_exercise(cell) is None:
            if len(cell.source) <= left and (fault := syntax_fault(cell.source)):
                faults[cell.id] = fault
            left -= min(len(cell.source), left)
    return faults


_MAGIC = re.compile(r"^[ \t]*[%!?]|\?[ \t]*$|=[ \t]*[%!]", re.MULTILINE)


def syntax_fault(code: str) -> str:
    """Where and why code is not valid in a notebook, where magics and shell commands are allowed.

    Empty if it is valid, or too long to be checked.
    """
    if len(code) > MAX_PARSED:
        return ""
    fault = _python_fault(code)
    magics = len(_MAGIC.findall(code)) if fault else 0
    if magics > MAX_MAGICS:
        return ""
    if magics:
        try:
            return _python_fault(TransformerManager().transform_cell(code))
        except (SyntaxError, ValueError, RecursionError, RuntimeError):
            return fault
    return fault


def _python_fault(code: str) -> str:
    if "\0" in code:
        return "a NUL character"
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ast.parse(code)
    except SyntaxError as error:
        return f"line {error.lineno or 1}: {odd_character(error.msg) or printable(error.msg)}"
    except (RecursionError, MemoryError):
        return "it is nested too deeply"
    return ""
