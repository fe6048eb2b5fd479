"""A whole notebook with its figures, for somebody who reads an answer and must not know whose it is."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

import nbformat
from nbformat import NotebookNode

from grader.errors import GraderError
from grader.files import find_notebook
from grader.grade.results import RESULT_CELL
from grader.people.roster import Person
from grader.receive.figures import CellShown, Shown, figures_of
from grader.reference.lab import Lab, checked_exercise, is_added, nbgrader_of, runs_in_grading
from grader.show.feedback_page import Markdown

LEFT_OUT = "[name]"
_WIDE = 40
"""Characters of a line that fit on a phone: longer ones have to be scrolled."""
_CORNER = re.compile(r"<th( style=\"[^\"]*\")?></th>")
"""The empty corner of a table, which heads nothing."""
_HOMES = re.compile(r"((?:/home|/Users|[A-Za-z]:\\+Users)[/\\]+)[^/\\\s'\":]+")


@dataclass(frozen=True)
class CellSeen:
    """A cell as a reader sees it: ``html`` of Markdown that is safe to show, or ``text``.

    Attributes:
        handed_in: the outputs are not those of grading.
    """

    kind: str
    html: str = ""
    text: str = ""
    outputs: tuple[Shown, ...] = ()
    handed_in: bool = False

    @property
    def wide(self) -> bool:
        return any(len(line) > _WIDE for line in self.text.splitlines())


def without_names(text: str, person: Person) -> str:
    """A text without what the course knows of a person: id, name, address; nor the name of anybody's home folder."""
    names = {person.student, person.name, person.first_name, person.last_name, person.email}
    names |= {
        person.email.partition("@")[0],
        f"{person.last_name}, {person.first_name}",
        person.student.replace("_", " "),
    }
    names = sorted((name for name in names if len(name.strip(" ,")) > 1), key=len, reverse=True)
    if names:
        known = "|".join(re.escape(name) for name in names)
        text = re.sub(rf"(?<!\w)(?:{known})(?!\w)", LEFT_OUT, text, flags=re.IGNORECASE)
    return _HOMES.sub(rf"\g<1>{LEFT_OUT}", text)


def graded_notebook(lab: Lab, student: str, which: str = "The graded notebook") -> NotebookNode:
    """A student's notebook as it was graded.

    Args:
        which: what the message calls it; without the student, who may have no name on a page.

    Raises:
        GraderError: it cannot be read.
    """
    try:
        return nbformat.read(lab.course.autograded / student / lab.name / lab.notebook_name, as_version=4)
    except (OSError, ValueError, nbformat.ValidationError):
        raise GraderError(f"{which} cannot be read. `grader autograde {lab.name}` makes it again.") from None


def notebook_for_readers(lab: Lab, student: str, person: Person | None) -> list[CellSeen]:
    """The cells of a graded notebook. It says nothing of points, and of checks only that they are there.

    Args:
        person: whose name is left out; None: it may be seen.

    Raises:
        GraderError: the graded notebook cannot be read.
    """
    notebook = graded_notebook(lab, student)
    path, _ = find_notebook(lab.course.submitted / student / lab.name, lab.notebook_name)
    shown = _Handed(figures_of(path))
    release = {cell.id: cell.source for cell in lab.release().cells}
    return [
        _seen(cell, release.get(cell.id) == cell.source, shown, person)
        for cell in notebook.cells
        if cell.id != RESULT_CELL
    ]


class _Handed:
    """What the cells of a submission showed, to be found by the cells of the rebuilt one."""

    def __init__(self, cells: Sequence[CellShown]) -> None:
        self._by_id = {cell.id: cell.outputs for cell in cells if cell.id}
        self._by_source = {cell.source.strip(): cell.outputs for cell in cells}

    def of(self, cell: NotebookNode) -> tuple[Shown, ...]:
        """Some programs give cells other ids, and some learners change the code."""
        return self._by_source.get(cell.source.strip()) or self._by_id.get(cell.id, ())


def _seen(cell: NotebookNode, as_released: bool, shown: _Handed, person: Person | None) -> CellSeen:
    def cleaned(text: str) -> str:
        return text if as_released or person is None else without_names(text, person)

    if cell.cell_type == "markdown":
        trusted = as_released and not is_added(cell) and not nbgrader_of(cell).get("solution")
        source = cell.source if trusted else cleaned(cell.source)
        html = Markdown(trusted=trusted)(source, cell.get("attachments"))
        return CellSeen("markdown", html=_CORNER.sub(r"<td\1></td>", html))
    text = cleaned(cell.source)
    if cell.cell_type != "code" or checked_exercise(cell):
        return CellSeen("code", text=text)
    graded = tuple(_output(output) for output in cell.outputs)
    handed_in = not runs_in_grading(cell)
    outputs = shown.of(cell) if handed_in else graded
    if person is not None:
        outputs = tuple(replace(each, text=without_names(each.text, person)) for each in outputs)
    return CellSeen("code", text=text, outputs=outputs, handed_in=handed_in and bool(outputs))


def _output(output: NotebookNode) -> Shown:
    """An output of a graded notebook: text and pictures that the grader has let through."""
    if output.output_type == "stream":
        return Shown(_plain(output.text))
    if output.output_type == "error":
        return Shown(_plain(f"{output.ename}: {output.evalue}"))
    for kind in ("image/png", "image/jpeg"):
        if kind in output.data:
            return Shown(picture=f"data:{kind};base64,{output.data[kind]}")
    return Shown(_plain(output.data.get("text/plain", "")))


def _plain(text: str) -> str:
    return re.sub(r"\x1b\[[0-9;]{0,20}[A-Za-z]", "", text)
