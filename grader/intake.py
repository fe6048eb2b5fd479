"""Submissions in: any bytes -> plain cells -> a notebook rebuilt from the release.

Nothing of a submission is trusted but text. Cells, ids, metadata and check cells come from the release;
from the submission come the texts of solution cells, of written answers, and of code cells that the learner
added. So no damage to a notebook can stop a class run, and none can move a point. Learner code is parsed
here (to find the names that it defines), never run.
"""

from __future__ import annotations

import ast
import copy
import json
import re
import stat
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from nbformat import NotebookNode
from nbformat.v4 import new_code_cell

from grader.lab import SKIP_TAG, checked_exercise, is_solution, nbgrader_of

MAX_BYTES = 50 * 2**20
MAX_CELLS = 2_000
MAX_PARSED = 200_000
"""Characters of a cell beyond which its syntax is not analysed, only searched."""


# ---------------------------------------------------------------------------------- reading


@dataclass(frozen=True)
class PlainCell:
    """What is left of a submitted cell: its text, and three things that help to recognise it."""

    kind: str
    text: str
    id: str = ""
    grade_id: str = ""


@dataclass(frozen=True)
class ReadResult:
    """The cells of a submission, or the ``problem`` that makes it unreadable."""

    cells: tuple[PlainCell, ...] = ()
    problem: str = ""
    notes: tuple[str, ...] = ()


def find_notebook(folder: Path, name: str) -> tuple[Path, tuple[str, ...]]:
    """The notebook of a submission folder, and a note if it had to be looked for under another name.

    The path is returned even if nothing is there: reading it then says so.
    """
    wanted = folder / name
    if wanted.is_symlink() or wanted.exists():
        return wanted, ()
    others = sorted(path for path in folder.glob("*.ipynb") if path.is_file())
    if len(others) != 1:
        return wanted, ()
    return others[0], (f"The notebook was handed in as {others[0].name!r}; expected {name!r}.",)


def read_submission(source: bytes | Path) -> ReadResult:
    """Reads a submitted notebook, whatever it is. Never raises."""
    try:
        data = source if isinstance(source, bytes) else _file_bytes(source)
        if len(data) > MAX_BYTES:
            raise _Unreadable(
                f"The file is larger than {MAX_BYTES // 2**20} MiB. Clear its outputs and try again."
            )
        text, notes = _decoded(data)
        cells = tuple(_plain_cells(_notebook(text)))
        if not cells:
            raise _Unreadable("The notebook has no cells.")
        if len(cells) > MAX_CELLS:
            raise _Unreadable(f"The notebook has {len(cells)} cells; more than {MAX_CELLS} are not graded.")
    except _Unreadable as error:
        return ReadResult(problem=str(error))
    return ReadResult(cells, notes=notes)


class _Unreadable(Exception):
    pass


def _file_bytes(path: Path) -> bytes:
    try:
        kind = path.lstat().st_mode
        if stat.S_ISLNK(kind):
            raise _Unreadable(f"{path.name} is a symbolic link. Hand in the file itself.")
        if not stat.S_ISREG(kind):
            raise _Unreadable(f"{path.name} is not a file.")
        with path.open("rb") as file:
            return file.read(MAX_BYTES + 1)
    except FileNotFoundError:
        raise _Unreadable(f"There is no {path.name} in the submission.") from None
    except OSError as error:
        raise _Unreadable(f"{path.name} cannot be read: {error.strerror}.") from None


def _decoded(data: bytes) -> tuple[str, tuple[str, ...]]:
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        likely = "utf-16"
    elif b"\x00" in data[:2]:
        likely = "utf-16-be" if data.startswith(b"\x00") else "utf-16-le"
    else:
        likely = "utf-8-sig"
    for encoding in (likely, "latin-1"):
        try:
            text = data.decode(encoding)
        except UnicodeDecodeError:
            continue
        usual = encoding == "utf-8-sig"
        return text, () if usual else (f"The file is not in UTF-8; it was read as {encoding.upper()}.",)
    raise AssertionError("latin-1 decodes anything")


def _notebook(text: str) -> dict[str, Any]:
    if not text.strip():
        raise _Unreadable("The file is empty.")
    try:
        notebook = json.loads(text)
    except RecursionError:
        raise _Unreadable("The file is nested too deeply to be a notebook.") from None
    except ValueError as error:
        if re.search(r"^<<<<<<< ", text, re.MULTILINE) and re.search(r"^>>>>>>> ", text, re.MULTILINE):
            line = text[: re.search(r"^<<<<<<< ", text, re.MULTILINE).start()].count("\n") + 1
            raise _Unreadable(
                f"The file has an unresolved merge conflict (line {line}). Choose a side and try again."
            ) from None
        place = f" (line {error.lineno}: {error.msg})" if isinstance(error, json.JSONDecodeError) else ""
        raise _Unreadable(f"The file is not a notebook: it is not valid JSON{place}.") from None
    if not isinstance(notebook, dict) or not ({"cells", "worksheets", "nbformat"} & set(notebook)):
        raise _Unreadable("The file is JSON, but not a notebook.")
    return notebook


def _plain_cells(notebook: dict[str, Any]) -> Iterator[PlainCell]:
    cells = notebook.get("cells")
    if not isinstance(cells, list):  # nbformat 3 keeps them in worksheets
        worksheets = notebook.get("worksheets")
        sheets = worksheets if isinstance(worksheets, list) else []
        cells = [cell for sheet in sheets if isinstance(sheet, dict) for cell in _list(sheet.get("cells"))]
    for cell in cells:
        if not isinstance(cell, dict):
            continue
        kind = cell.get("cell_type")
        metadata = cell.get("metadata")
        nbgrader = metadata.get("nbgrader") if isinstance(metadata, dict) else None
        grade_id = nbgrader.get("grade_id") if isinstance(nbgrader, dict) else None
        yield PlainCell(
            kind=kind if kind in ("code", "markdown") else "raw",
            text=_text(cell.get("source", cell.get("input"))),  # nbformat 3: `input`
            id=identity if isinstance(identity := cell.get("id"), str) else "",
            grade_id=grade_id if isinstance(grade_id, str) else "",
        )


def _list(value: Any) -> list:
    return value if isinstance(value, list) else []


def _text(source: Any) -> str:
    if isinstance(source, list):
        source = "".join(line for line in source if isinstance(line, str))
    if not isinstance(source, str):
        return ""
    # half a surrogate pair cannot be written to a file again
    return re.sub("[\ud800-\udfff]", "\ufffd", source.replace("\r\n", "\n").replace("\r", "\n"))


# ---------------------------------------------------------------------------------- rebuilding


@dataclass(frozen=True)
class Rebuilt:
    """A notebook that is safe to treat as the lab's own, and what had to be mended.

    Attributes:
        notes: sentences for learner and instructor: what was wrong, what was done.
        missing: grade_ids of solution, answer and check cells that were not there and were restored.
    """

    notebook: NotebookNode
    notes: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()


def rebuild(release: NotebookNode, submitted: Sequence[PlainCell]) -> Rebuilt:
    """Puts a submission's texts into a copy of the release. Never raises, and never loses learner code.

    A solution cell is recognised by its grade_id, else by its cell id, else by the name that it defines.
    If it is there more than once, the last version that differs from the stub is the answer and the others
    run before it. A changed cell that belongs to the lab runs as released, and its changed text after it.
    """
    return _Rebuilding(release, submitted).result()


@dataclass
class _Slot:
    """A release cell, and the submitted cells (by index) that were recognised as it."""

    cell: NotebookNode
    role: str
    name: str = ""
    own: list[int] = field(default_factory=list)
    answer: int | None = None
    before: list[NotebookNode] = field(default_factory=list)
    after: list[NotebookNode] = field(default_factory=list)

    @property
    def grade_id(self) -> str:
        return nbgrader_of(self.cell).get("grade_id", "")


class _Rebuilding:
    def __init__(self, release: NotebookNode, submitted: Sequence[PlainCell]) -> None:
        self.notebook = copy.deepcopy(release)
        self.cells = submitted
        self.slots = [_slot(cell) for cell in self.notebook.cells]
        self.solutions = [slot for slot in self.slots if slot.role == "solution"]
        self.solution_names = {slot.name for slot in self.solutions}
        released = {_normal(cell.source) for cell in release.cells} | {""}
        self.new = [_normal(cell.text) not in released for cell in submitted]
        self.defines = [
            names_defined(cell.text, cell.kind) if new else set()
            for cell, new in zip(submitted, self.new, strict=True)
        ]
        self.slot_of: dict[int, _Slot] = {}
        self.chosen: dict[int, _Slot] = {}
        self.remarks: dict[str, list[str]] = {}  # what happened -> the cells it happened to
        self.missing: list[str] = []
        self.start: list[NotebookNode] = []  # added cells before the first recognised one
        self.added = 0

    def result(self) -> Rebuilt:
        self._recognise()
        self._choose_solutions()
        self._fill_answers()
        self._keep_the_rest()
        self._fill_solutions()
        self._restore_checks()
        self.notebook.cells = [
            *self.start,
            *(cell for slot in self.slots for cell in (*slot.before, slot.cell, *slot.after)),
        ]
        return Rebuilt(self.notebook, tuple(self._notes()), tuple(self.missing))

    def _remark(self, slot: _Slot, what: str) -> None:
        self.remarks.setdefault(what, []).append(f"`{slot.grade_id or slot.cell.get('id')}`")

    def _notes(self) -> Iterator[str]:
        if not self.slot_of and not self.chosen:
            yield "None of this lab's cells was found in the notebook: is it of another lab?"
        for what, cells in self.remarks.items():
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
        for index, cell in enumerate(self.cells):
            if index not in self.slot_of and (slots := by_text.get(_normal(cell.text))):
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
                    self._remark(slot, "recognised only by the name defined there.")
        for slot in self.solutions:  # the cell it should be, whatever it defines
            if slot.answer is None:
                choose(slot, [index for index in slot.own if self.new[index]])

    # -- what becomes of their texts

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
                    self._remark(slot, "turned into text, run as code.")
                if slot.before:
                    self._remark(
                        slot, "there more than once, the last version graded, the others run before."
                    )
                elif len(slot.own) > 1:
                    self._remark(slot, "there more than once, the one that is not the stub graded.")
            elif slot.own:
                if all(not self.cells[index].text.strip() for index in slot.own):
                    self._remark(slot, "emptied, restored as handed out.")
            elif slot.name in runs:  # the stub would undo the definition
                slot.cell.source = f"# `{slot.name}` is defined in another cell."
                self._remark(slot, "gone, but defined in another cell.")
            else:
                self._restore(slot)

    def _fill_answers(self) -> None:
        for position, slot in enumerate(self.slots):
            if slot.role != "answer":
                continue
            own = slot.own or self._loose_text_near(position)
            texts = dict.fromkeys(
                self.cells[index].text.strip()
                for index in own
                if self.new[index] and index not in self.chosen
            )
            if texts:
                slot.cell.source = "\n\n".join(texts)
            elif not own:
                self._restore(slot)

    def _loose_text_near(self, position: int) -> list[int]:
        """Unrecognised markdown cells between this release cell's neighbours: an answer without metadata."""
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
        """Learner code that is no answer runs where it stood; what only looks like code is shown, not run."""
        place = self.start
        answers = {_normal(self.cells[index].text) for index in self.chosen}
        for index, cell in enumerate(self.cells):
            slot = self.slot_of.get(index)
            if anchor := self.chosen.get(index) or slot:
                place = anchor.after
            if index in self.chosen or not self.new[index] or (slot and slot.role == "answer"):
                continue
            if slot and slot.role == "solution":
                kept = {_normal(other.source) for other in slot.before} | answers
                if _normal(cell.text) not in kept:
                    slot.before.append(self._added(cell))
                continue
            is_code = cell.kind == "code"
            if not is_code and not (self.defines[index] & self.solution_names and _parsed(_code(cell))):
                continue
            if slot and slot.role == "check":
                slot.before.append(self._added(cell, run=is_code))
                self._remark(slot, "changed, so the changed text runs and then the original.")
                continue
            runs = is_code and not (slot and SKIP_TAG in slot.cell.metadata.get("tags", []))
            place.append(self._added(cell, runs))
            if slot and runs:
                self._remark(slot, "changed, so the original runs and then the changed text.")

    def _added(self, cell: PlainCell, run: bool = True) -> NotebookNode:
        taken = {slot.cell.get("id") for slot in self.slots}
        while (name := f"added-{self.added + 1}") in taken:
            self.added += 1
        self.added += 1
        return new_code_cell(_code(cell), id=name, metadata={} if run else {"tags": [SKIP_TAG]})

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


def names_defined(text: str, kind: str = "code") -> set[str]:
    """Names that a cell's text defines at its top level. What does not parse is searched line by line."""
    code = _code(PlainCell(kind, text))
    if module := _parsed(code):
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
    """A cell's text as code: of a cell retyped to text, what is inside its one code fence."""
    fenced = cell.kind != "code" and re.fullmatch(r"\s*```[\w{}. ]*\n(.*?)\n?```\s*", cell.text, re.DOTALL)
    return fenced.group(1) if fenced else cell.text


def _normal(text: str) -> str:
    return "\n".join(line.rstrip() for line in text.strip().splitlines())
