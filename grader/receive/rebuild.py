"""Plain cells -> a notebook rebuilt from the release.

Cells, ids, metadata and check cells come from the release. The texts of solution cells, of written answers and of added cells come from the
submission, and so do pictures in written text and files that the code imports. So no damage
to a notebook can stop the grading of a class or move a point, and nothing that was handed in disappears.
Learner code is parsed here (to find the names that it defines), but never run.
"""

from __future__ import annotations

import ast
import copy
import re
import warnings
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell

from grader.files import MAX_PARSED, printable
from grader.receive.pictures import Album, draw_anew
from grader.receive.read import PlainCell
from grader.reference.lab import (
    ADDED_TAG,
    FILE_TAG,
    GO_ON_CELL,
    SKIP_TAG,
    checked_exercise,
    is_solution,
    nbgrader_of,
)

MAX_PARSED_ALL = 400_000
"""The same limit for all cells of a submission together."""


@dataclass(frozen=True)
class Rebuilt:
    """A notebook that is safe to treat as the lab's own, and what had to be repaired.

    Attributes:
        notes: sentences for learner and instructor: what was wrong, and what was done about it.
        missing: grade_ids of solution, answer and check cells that were missing and have been restored.
        by_name: grade_ids of solution cells that were recognised only by the name that they define.
    """

    notebook: NotebookNode
    notes: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    by_name: tuple[str, ...] = ()


NEARBY = "*Written in a cell beside the one for the answer:*"
"""What stands, in an answer, before text that was not in its own cell."""


def rebuild(
    release: NotebookNode, submitted: Sequence[PlainCell], files: Mapping[str, str] | None = None
) -> Rebuilt:
    """Puts a submission's texts into a copy of the release. Never raises, and never loses what a learner wrote.

    A solution cell is recognised by its grade_id, else by its cell id, else by the name that it defines.
    If there is more than one version of it, the last one that differs from the stub is the answer, and the
    others run before it. A changed cell of the lab runs as released, before or after its changed text.

    A written answer is what its own cell says and what was written in text cells between the lab's cells before and after it.
    Other text stays where it was, as Markdown.

    Args:
        files: name -> text of Python files that the notebook imports. Cells at its start stand for them.
    """
    return _Rebuilding(release, submitted, files or {}).result()


@dataclass
class _Slot:
    """A release cell, and the submitted cells (by index) that were recognised as it."""

    cell: NotebookNode
    role: str
    name: str = ""
    own: list[int] = field(default_factory=list)
    answer: int | None = None
    before: list[NotebookNode] = field(default_factory=list)
    kept: set[str] = field(default_factory=set)  # the texts in `before`
    after: list[NotebookNode] = field(default_factory=list)

    @property
    def grade_id(self) -> str:
        return nbgrader_of(self.cell).get("grade_id", "")


class _Rebuilding:
    def __init__(
        self, release: NotebookNode, submitted: Sequence[PlainCell], files: Mapping[str, str]
    ) -> None:
        self.notebook = copy.deepcopy(release)
        self.cells = submitted
        self.slots = [_slot(cell) for cell in self.notebook.cells]
        self.solutions = [slot for slot in self.slots if slot.role == "solution"]
        self.solution_names = {slot.name for slot in self.solutions}
        released = {_normal(cell.source) for cell in release.cells} | {""}
        self.normal = [_normal(cell.text) for cell in submitted]
        self.new = [
            text not in released or (cell.kind != "code" and bool(cell.attachments))
            for text, cell in zip(self.normal, submitted, strict=True)
        ]
        self.defines = list(self._names())
        self.slot_of: dict[int, _Slot] = {}
        self.chosen: dict[int, _Slot] = {}
        self.remarks: dict[str, list[str]] = {}  # what happened -> the cells it happened to
        self.missing: list[str] = []
        self.by_name: list[str] = []
        self.start: list[NotebookNode] = []  # added cells before the first recognised one
        self.added = 0
        self.files = files
        self.album = Album()
        self.texts: dict[int, str] = {}  # of written text, with its pictures
        self.moved: set[int] = set()  # cells whose text is a part of an answer elsewhere

    def result(self) -> Rebuilt:
        self._recognise()
        self._choose_solutions()
        self._fill_answers()
        self._keep_the_rest()
        self._fill_solutions()
        self._restore_checks()
        self.notebook.cells = [
            *(self._file(name, text) for name, text in self.files.items()),
            *self.start,
            *(cell for slot in self.slots for cell in (*slot.before, slot.cell, *slot.after)),
        ]
        for cell in self.notebook.cells:
            if cell.cell_type == "markdown":
                self.album.attach(cell)
        undrawn = draw_anew(self.notebook)
        notes = (*self._notes(), *self.album.problems, *undrawn, *self._attached_elsewhere())
        return Rebuilt(self.notebook, notes, tuple(self.missing), tuple(self.by_name))

    def _names(self) -> Iterator[set[str]]:
        """The names that each submitted cell defines; none for a cell that is as handed out."""
        left = MAX_PARSED_ALL
        for cell, new in zip(self.cells, self.new, strict=True):
            yield names_defined(cell.text, cell.kind, parse=len(cell.text) <= left) if new else set()
            left -= min(len(cell.text), left) if new else 0

    def _remark(self, slot: _Slot, what: str) -> None:
        self.remarks.setdefault(what, []).append(f"`{slot.grade_id or slot.cell.get('id')}`")

    def _notes(self) -> Iterator[str]:
        graded = {id(slot) for slot in self.slots if slot.role in ("solution", "answer", "check")}
        if graded and not self.chosen and not any(id(slot) in graded for slot in self.slot_of.values()):
            yield "None of this lab's exercises was found in the notebook: is it from another lab?"
        for what, happened in self.remarks.items():
            cells = list(dict.fromkeys(happened))
            yield f"{'Cell' if len(cells) == 1 else 'Cells'} {', '.join(cells)}: {what}"

    # -- which submitted cell is which release cell

    def _recognise(self) -> None:
        by_grade_id = {slot.grade_id: slot for slot in self.slots if slot.grade_id}
        by_id = {slot.cell.get("id"): slot for slot in self.slots if slot.cell.get("id")}
        for index, cell in enumerate(self.cells):
            if slot := by_grade_id.get(cell.grade_id) or by_id.get(cell.id):
                self._assign(index, slot)
        by_text: dict[str, list[_Slot]] = {}
        for slot in self.slots:
            if not slot.own and (text := _normal(slot.cell.source)):
                by_text.setdefault(text, []).append(slot)
        for index in range(len(self.cells)):
            if index not in self.slot_of and (slots := by_text.get(self.normal[index])):
                self._assign(index, slots.pop(0))

    def _assign(self, index: int, slot: _Slot) -> None:
        self.slot_of[index] = slot
        slot.own.append(index)

    def _choose_solutions(self) -> None:
        def choose(slot: _Slot, candidates: list[int]) -> None:
            if free := [index for index in candidates if index not in self.chosen]:
                slot.answer = free[-1]
                self.chosen[free[-1]] = slot

        for slot in self.solutions:  # the cell it should be, with the name it should define
            choose(slot, [index for index in slot.own if slot.name in self.defines[index]])
        for slot in self.solutions:  # any other cell that defines the name
            if slot.answer is None:
                choose(slot, [index for index in range(len(self.cells)) if slot.name in self.defines[index]])
                if slot.answer is not None and slot.answer not in slot.own:
                    self.by_name.append(slot.grade_id)
                    self._remark(slot, "recognised only by the name defined there.")
        for slot in self.solutions:  # the cell it should be, whatever it defines
            if slot.answer is None:
                choose(slot, [index for index in slot.own if self.new[index]])

    # -- what happens to their texts

    def _fill_solutions(self) -> None:
        runs = {
            name
            for slot in self.solutions
            if slot.answer is not None
            for name in self.defines[slot.answer] - {slot.name}
        }
        for slot in self.solutions:
            if slot.answer is not None:
                answer = self.cells[slot.answer]
                slot.cell.source = _code(answer)
                if answer.kind != "code":
                    self._remark(slot, "turned into text, but run as code.")
                if slot.before:
                    self._remark(
                        slot, "found more than once; the last version is graded, the others run before it."
                    )
                elif len(slot.own) > 1:
                    self._remark(slot, "found more than once; the one that is not the stub is graded.")
            elif slot.own:
                if all(not self.cells[index].text.strip() for index in slot.own):
                    self._remark(slot, "emptied, and restored as handed out.")
            elif slot.name in runs:  # the stub would undo the definition
                slot.cell.source = f"# `{slot.name}` is defined in another cell."
                self._remark(slot, "missing, but defined in another cell.")
            else:
                self._restore(slot)

    def _fill_answers(self) -> None:
        answers = [(position, slot) for position, slot in enumerate(self.slots) if slot.role == "answer"]
        own = {id(slot): self._different(slot.own) for _, slot in answers}
        # what stands between two answers belongs to the one that has no text of its own
        for position, slot in sorted(answers, key=lambda answer: bool(own[id(answer[1])])):
            nearby = [index for index in self._loose_text_near(position) if index not in self.moved]
            texts = own[id(slot)]
            loose = self._different(nearby)
            if not (texts or loose):
                nearby, loose = self._written_into_question(position)
            self.moved.update(nearby)
            if texts and loose:
                texts = [*texts, NEARBY, *loose]
            elif loose:
                texts = loose
                if slot.own:
                    self._remark(slot, "left as handed out; the text beside it counts as the answer.")
            if texts:
                slot.cell.source = "\n\n".join(texts)
            elif not slot.own:
                self._restore(slot)

    def _different(self, indexes: Sequence[int]) -> list[str]:
        """The new texts of these cells."""
        found = (
            self._text(index).strip() for index in indexes if self.new[index] and index not in self.chosen
        )
        return list(dict.fromkeys(text for text in found if text))

    def _text(self, index: int) -> str:
        """What was written into a cell, with its pictures. Of the lab's own text cells, only the lines that are not the lab's."""
        if index not in self.texts:
            cell, slot = self.cells[index], self.slot_of.get(index)
            text = cell.text
            if slot and slot.role == "prose":
                text = "\n".join(_lines_added(slot.cell.source, text))
            self.texts[index] = self.album.place(text, cell.attachments)
        return self.texts[index]

    def _written_into_question(self, position: int) -> tuple[list[int], list[str]]:
        """What was written into the lab's text cell before an answer's, if nothing of that cell was taken away."""
        slot = self.slots[position - 1] if position else None
        if not slot or slot.role != "prose":
            return [], []
        kept = Counter(_normal(slot.cell.source).split("\n"))
        whole = [
            index for index in slot.own if self.new[index] and kept <= Counter(self.normal[index].split("\n"))
        ]
        return whole, self._different(whole)

    def _loose_text_near(self, position: int) -> list[int]:
        """Unrecognised markdown cells between this release cell's neighbours: possibly an answer without metadata."""
        places = {id(slot): number for number, slot in enumerate(self.slots)}
        known = [(index, places[id(slot)]) for index, slot in sorted(self.slot_of.items())]
        start = max((index for index, place in known if place < position), default=-1)
        end = min(
            (index for index, place in known if place > position and index > start), default=len(self.cells)
        )
        return [
            index
            for index in range(start + 1, end)
            if index not in self.slot_of
            and index not in self.chosen
            and self.cells[index].kind != "code"
            and self.new[index]
        ]

    def _keep_the_rest(self) -> None:
        """Puts what is not an answer back where it was: code to be run, and text. Text that only looks like code is shown as code,
        and not run.
        """
        place = self.start
        answers = {self.normal[index] for index in self.chosen}
        for index, cell in enumerate(self.cells):
            slot = self.slot_of.get(index)
            if anchor := self.chosen.get(index) or slot:
                place = anchor.after
            if (
                index in self.chosen
                or index in self.moved
                or not self.new[index]
                or (slot and slot.role == "answer")
            ):
                continue
            if slot and slot.role == "solution":
                if self.normal[index] not in slot.kept and self.normal[index] not in answers:
                    slot.before.append(self._added(cell))
                    slot.kept.add(_normal(slot.before[-1].source))
                continue
            is_code = cell.kind == "code"
            if not is_code and not (self.defines[index] & self.solution_names and _parsed(_code(cell))):
                if text := self._text(index).strip():
                    place.append(new_markdown_cell(text, id=self._new_id(), metadata={"tags": [ADDED_TAG]}))
                continue
            if slot and slot.role == "check":
                slot.before.append(self._added(cell, run=is_code))
                self._remark(slot, "changed, so the changed text runs and then the original.")
                continue
            # What somebody added to the cell that brings a session back runs: that cell itself does nothing in grading.
            skipped = (
                slot and slot.cell.get("id") != GO_ON_CELL and SKIP_TAG in slot.cell.metadata.get("tags", [])
            )
            runs = is_code and not skipped
            place.append(self._added(cell, runs))
            if slot and runs:
                self._remark(slot, "changed, so the original runs and then the changed text.")

    def _added(self, cell: PlainCell, run: bool = True) -> NotebookNode:
        tags = [ADDED_TAG, *([] if run else [SKIP_TAG])]
        return new_code_cell(_code(cell), id=self._new_id(), metadata={"tags": tags})

    def _file(self, name: str, text: str) -> NotebookNode:
        tags = [ADDED_TAG, FILE_TAG]
        return new_code_cell(f"%%writefile {name}\n{text}", id=self._new_id(), metadata={"tags": tags})

    def _new_id(self) -> str:
        taken = {slot.cell.get("id") for slot in self.slots}
        while (name := f"added-{self.added + 1}") in taken:
            self.added += 1
        self.added += 1
        return name

    def _attached_elsewhere(self) -> Iterator[str]:
        """About files attached to cells whose text is not shown as text."""
        for index, cell in enumerate(self.cells):
            if cell.attachments and index not in self.texts:
                names = ", ".join(repr(printable(each.name)) for each in cell.attachments)
                yield f"Cell {index + 1} of the file: attached to it, and not shown: {names}."

    def _restore_checks(self) -> None:
        for slot in self.slots:
            if slot.role == "check" and slot.grade_id and not slot.own:
                self._restore(slot)

    def _restore(self, slot: _Slot) -> None:
        self.missing.append(slot.grade_id)
        self._remark(slot, "missing, restored as handed out.")


def _slot(cell: NotebookNode) -> _Slot:
    nbgrader = nbgrader_of(cell)
    if nbgrader.get("solution") and nbgrader.get("grade"):
        return _Slot(cell, "answer")
    if is_solution(cell):
        grade_id, defined = nbgrader.get("grade_id", ""), names_defined(cell.source)
        return _Slot(cell, "solution", grade_id if grade_id in defined else min(defined, default=grade_id))
    if checked_exercise(cell) or nbgrader.get("grade") or nbgrader.get("locked"):
        return _Slot(cell, "check")
    return _Slot(cell, "example" if cell.cell_type == "code" else "prose")


def names_defined(text: str, kind: str = "code", parse: bool = True) -> set[str]:
    """Names that a cell's text defines at its top level.

    Text that cannot be parsed, or should not be because there is too much of it, is searched line by line.
    """
    code = _code(PlainCell(kind, text))
    if parse and (module := _parsed(code)):
        return set(_top_level_names(module))
    return set(re.findall(r"^(?:async[ \t]+)?(?:def|class)[ \t]+(\w+)", code, re.MULTILINE)) | set(
        re.findall(r"^(\w+)[ \t]*(?::[^=\n]*)?=(?!=)", code, re.MULTILINE)
    )


def _top_level_names(module: ast.Module) -> Iterator[str]:
    for statement in module.body:
        if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            yield statement.name
        elif isinstance(statement, (ast.Assign, ast.AnnAssign)):
            targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
            nodes = (node for target in targets for node in ast.walk(target) if isinstance(node, ast.Name))
            yield from (node.id for node in nodes if isinstance(node.ctx, ast.Store))


def _parsed(code: str) -> ast.Module | None:
    if len(code) > MAX_PARSED:
        return None
    try:
        with warnings.catch_warnings():  # about odd escapes and the like, in code that is not ours
            warnings.simplefilter("ignore")
            return ast.parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError):  # the latter two: absurdly nested
        return None


def _code(cell: PlainCell) -> str:
    """A cell's text as code; for a cell that was turned into text, what is inside its one code fence."""
    fenced = cell.kind != "code" and re.fullmatch(r"\s*```[\w{}. ]*\n(.*?)\n?```\s*", cell.text, re.DOTALL)
    return fenced.group(1) if fenced else cell.text


def _lines_added(released: str, text: str) -> list[str]:
    """The lines of a text that are not in the released one, each as often as it is there more often."""
    left = Counter(_normal(released).split("\n"))
    added = []
    for line in text.split("\n"):
        if left[line.rstrip()] > 0:
            left[line.rstrip()] -= 1
        elif line.strip() or added:
            added.append(line)
    return added


def _normal(text: str) -> str:
    return "\n".join(line.rstrip() for line in text.strip().splitlines())
