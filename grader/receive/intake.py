"""Submissions in: any bytes -> plain cells -> a notebook rebuilt from the release.

Nothing of a submission is trusted but text. Cells, ids, metadata and check cells come from the release;
from the submission come the texts of solution cells, of written answers, and of code cells that the learner
added. So no damage to a notebook can stop a class run, and none can move a point. Learner code is parsed
here (to find the names that it defines), never run.

Time and memory are bounded too: what is larger, longer or more than the limits below is turned away by
counting, before it is taken apart.
"""

from __future__ import annotations

import ast
import copy
import errno
import itertools
import json
import os
import re
import stat
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from nbformat import NotebookNode
from nbformat.v4 import new_code_cell
from nbgrader.utils import parse_utc

from grader.lab import ADDED_TAG, SKIP_TAG, checked_exercise, is_solution, nbgrader_of

MAX_BYTES = 50 * 2**20
MAX_CONTAINERS = 1_000_000
"""Opening brackets and braces in a file. Each may become a list or dict of some 200 bytes."""
MAX_VALUES = 5_000_000
"""Commas in a file. Each may part two values of some 60 bytes."""
MAX_CELLS = 2_000
MAX_TEXT = 10_000_000
"""Characters of all cells together."""
MAX_PARSED = 20_000
"""Characters of a cell beyond which its syntax is not analysed, only searched. Python's parser needs time and
memory that grow with the square of a dotted name: 200,000 characters of ``import a.a.a...`` took 10 GB."""
MAX_PARSED_ALL = 400_000
"""The same for all cells of a submission together."""
MAX_FILES = 1_000
"""Files of a submission's folder beyond which no notebook of another name is looked for."""

TIMESTAMP = "timestamp.txt"
"""When a submission was handed in, as nbgrader's exchange writes it."""
SECRET = "submission_secret.txt"
"""What nbgrader's exchange names the feedback of a submission by, so that only who handed it in finds it."""
REASON_FILE = "not-collected.txt"
"""In a submission's folder without a notebook: why ``grader collect`` could not take what was handed in."""


def printable(text: str, limit: int = 100) -> str:
    """Text of a submission, safe to show: no controls, no marks that turn its direction, and not long."""
    shown = "".join(char if char.isprintable() else "\ufffd" for char in text[: limit + 1])
    return shown if len(text) <= limit else f"{shown[: limit - 1]}…"


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
    if wanted.is_symlink() or wanted.exists() or _behind_link(wanted):
        return wanted, ()
    others = _notebooks_in(folder)
    if len(others) > 1:
        listed = ", ".join(repr(printable(other)) for other in others[:5])
        return wanted, (
            f"Several notebooks were handed in ({listed}), none named {name!r}: hand in one of that name.",
        )
    if not others:
        return wanted, ()
    shown = printable(others[0])
    return folder / others[0], (f"The notebook was handed in as {shown!r}; expected {name!r}.",)


def _notebooks_in(folder: Path) -> list[str]:
    """Names of the notebooks in a folder, links too (reading one says that it is one)."""
    try:
        with os.scandir(folder) as entries:
            first = list(itertools.islice(entries, MAX_FILES + 1))
    except OSError:
        return []
    if len(first) > MAX_FILES:
        return []
    files = (entry for entry in first if entry.is_symlink() or entry.is_file(follow_symlinks=False))
    return sorted(entry.name for entry in files if entry.name.endswith(".ipynb"))


def read_submission(source: bytes | Path) -> ReadResult:
    """Reads a submitted notebook, whatever it is. Never raises.

    Links are not followed: neither the file nor the two folders above it (lab and student) may be one.
    """
    notes = _Notes()
    try:
        data = source if isinstance(source, bytes) else file_bytes(source)
        if len(data) > MAX_BYTES:
            raise Unreadable(
                f"The file is larger than {MAX_BYTES // 2**20} MiB. Clear its outputs and try again."
            )
        text = _decoded(data, notes)
        cells = tuple(_plain_cells(_notebook(text, notes), notes))
        if not cells:
            raise Unreadable("The notebook has no cells.")
        if (size := sum(len(cell.text) for cell in cells)) > MAX_TEXT:
            raise Unreadable(
                f"The cells hold {size / 1e6:.0f} million characters of text; more than {MAX_TEXT // 10**6} million "
                "are not graded. Take pasted data and images out and try again."
            )
    except Unreadable as error:
        return ReadResult(problem=str(error))
    return ReadResult(cells, notes=tuple(notes.sentences()))


class Unreadable(Exception):
    """A file that cannot be taken as a submission. Its text says why, and what to do."""


class _Notes:
    """What is odd about a submission that can be read nevertheless."""

    def __init__(self) -> None:
        self.general: list[str] = []
        self.of_cells: dict[str, list[int]] = {}  # what is odd -> numbers of the cells, from 1

    def sentences(self) -> Iterator[str]:
        yield from self.general
        for what, numbers in self.of_cells.items():
            listed = ", ".join(map(str, numbers[:5])) + (", …" if len(numbers) > 5 else "")
            yield f"{'Cell' if len(numbers) == 1 else 'Cells'} {listed} of the file: {what}"


def _behind_link(path: Path) -> bool:
    """Whether the folder of a submission, or its student's, is a symbolic link."""
    return path.parent.is_symlink() or path.parent.parent.is_symlink()


@contextmanager
def opened_folder(path: str | Path, within: int | None = None) -> Iterator[int]:
    """A descriptor of a folder. With ``within``, another folder's descriptor, ``path`` is a name in there and no link.

    Raises:
        OSError: there is no such folder, or it cannot be read.
    """
    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
    descriptor = os.open(path, flags if within is None else flags | os.O_NOFOLLOW, dir_fd=within)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def file_bytes(path: Path, root: Path | None = None, seen: tuple[int, int] | None = None) -> bytes:
    """A file's content, of which one byte more than ``MAX_BYTES`` at most.

    Every folder on the way is opened within the one before, so a link that somebody puts in the place of one at the
    last moment is not followed either.

    Args:
        root: the folder above it that may lie behind links; default: three levels up (see :func:`read_submission`).
        seen: device and inode that the file had when it was looked at.

    Raises:
        Unreadable: it is a link, lies behind one, is no regular file, is another than was seen, or is not there.
    """
    name = printable(path.name)
    root = root or path.parent.parent.parent
    try:
        with ExitStack() as stack:
            folder = stack.enter_context(opened_folder(root))
            for part in path.relative_to(root).parts[:-1]:
                try:
                    folder = stack.enter_context(opened_folder(part, folder))
                except OSError as error:
                    if error.errno in (errno.ELOOP, errno.ENOTDIR):
                        raise Unreadable(
                            "The submission's folder is a symbolic link, or no folder. Hand in the folder itself."
                        ) from None
                    raise
            # NONBLOCK: opening a named pipe would wait for somebody to write to it
            flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
            descriptor = os.open(path.name, flags, dir_fd=folder)
            stack.callback(os.close, descriptor)
            found = os.fstat(descriptor)
            if not stat.S_ISREG(found.st_mode):
                raise Unreadable(f"{name} is not a file.")
            if seen and (found.st_dev, found.st_ino) != seen:
                raise Unreadable(f"{name} was replaced while it was being collected. Collect again.")
            with open(descriptor, "rb", closefd=False) as file:
                return file.read(MAX_BYTES + 1)
    except FileNotFoundError:
        raise Unreadable(_why_missing(path.parent, name)) from None
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise Unreadable(f"{name} is a symbolic link. Hand in the file itself.") from None
        raise Unreadable(f"{name} cannot be read: {error.strerror}.") from None


def _why_missing(folder: Path, name: str) -> str:
    try:
        descriptor = os.open(folder / REASON_FILE, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        with open(descriptor, "rb") as file:
            reason = file.read(1000).decode("utf-8", "replace").strip()
    except OSError:
        reason = ""
    return printable(reason, 500) or f"There is no {name} in the submission."


def time_of(text: str) -> datetime | None:
    """The time (UTC) that a text of nbgrader's says; None if it says none, or one that no submission has.

    Years like 1 or 9999 are in no clock's reach, and cannot be written, compared or moved by a time zone everywhere.
    """
    try:
        found = parse_utc(text)
    except Exception:  # the parser's failures are of many kinds, and anybody may have written the text
        return None
    return found if 1970 <= found.year < 2200 else None


_OTHER_FORMATS = {
    b"PK\x03\x04": "The file is a zip archive, not a notebook. Hand in the notebook that is inside.",
    b"\x1f\x8b": "The file is a compressed archive, not a notebook. Hand in the notebook that is inside.",
    b"%PDF": "The file is a PDF, not a notebook. Hand in the .ipynb file.",
    b"<!doctype html": "The file is a web page, not a notebook. Download the .ipynb file itself and hand it in.",
    b"<html": "The file is a web page, not a notebook. Download the .ipynb file itself and hand it in.",
}


def _decoded(data: bytes, notes: _Notes) -> str:
    if data and not data.strip(b"\0"):
        raise Unreadable(
            "The file holds nothing but zero bytes: it was damaged while it was saved or copied. Save the notebook "
            "again and hand in the new file."
        )
    for start, message in _OTHER_FORMATS.items():
        if data[:100].lstrip().lower().startswith(start.lower()):
            raise Unreadable(message)
    encoding = json.detect_encoding(data)  # UTF-8, UTF-16 or UTF-32, with or without a byte order mark
    try:
        # half a surrogate pair in a damaged file: dealt with where texts of cells are taken
        text = data.decode(encoding, "surrogatepass")
    except UnicodeDecodeError:
        if not encoding.startswith("utf-8"):
            raise Unreadable(
                f"The file looks like {encoding.upper()}, but cannot be read as such: it may be cut off or damaged."
            ) from None
        encoding, text = "cp1252", data.decode("cp1252", "replace")  # what old editors on Windows write
    if not encoding.startswith("utf-8"):
        notes.general.append(f"The file is not in UTF-8; it was read as {encoding.upper()}.")
    return text


def _notebook(text: str, notes: _Notes) -> dict[str, Any]:
    if not text:
        raise Unreadable("The file is empty.")
    if not text.strip():
        raise Unreadable("The file is empty: there is only white space in it.")
    if text.count("{") + text.count("[") > MAX_CONTAINERS or text.count(",") > MAX_VALUES:
        raise Unreadable(
            "The file is made of too many pieces to be read safely. Clear the notebook's outputs and try again."
        )
    repeated: set[str] = set()
    try:
        notebook = _json(text, repeated)
    except RecursionError:
        raise Unreadable("The file is nested too deeply to be a notebook.") from None
    except json.JSONDecodeError as error:
        raise Unreadable(_why_no_json(text, error)) from None
    if not isinstance(notebook, dict) or not ({"cells", "worksheets", "nbformat"} & set(notebook)):
        raise Unreadable("The file is JSON, but not a notebook.")
    if repeated:
        names = ", ".join(repr(printable(name, 30)) for name in sorted(repeated)[:3])
        notes.general.append(f"The file gives {names} twice in one place; the last one counts.")
    version = notebook.get("nbformat")
    if type(version) is int and version != 4:
        notes.general.append(
            f"The notebook is in format {version}, not 4; it was read as well as possible. Save it with JupyterLab."
        )
    return notebook


def _json(text: str, repeated: set[str]) -> Any:
    """Parsed JSON. Its numbers do not matter here, and are not worth what parsing long ones takes."""

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        value = dict(pairs)
        if len(value) < len(pairs):
            times = Counter(name for name, _ in pairs)
            repeated.update(name for name, count in times.items() if count > 1)
        return value

    return json.loads(
        text,
        object_pairs_hook=unique,
        parse_int=lambda digits: int(digits) if len(digits) < 10 else 0,
        parse_float=lambda digits: 0.0,
        parse_constant=lambda name: 0.0,
    )


def _why_no_json(text: str, error: json.JSONDecodeError) -> str:
    if line := _conflict(text):
        return f"The file has an unresolved merge conflict (line {line}). Choose a side and try again."
    why = f"The file is not a notebook: it is not valid JSON (line {error.lineno}: {error.msg})."
    if error.pos >= len(text.rstrip()) or error.msg.startswith("Unterminated string"):
        why += " It ends too early: it may have been cut off while it was saved or uploaded."
    return why


_CONFLICT_START, _CONFLICT_END = (re.compile(f"^{mark * 7} ", re.MULTILINE) for mark in "<>")


def _conflict(text: str) -> int | None:
    """The line (from 1) where an unresolved merge conflict starts."""
    start = _CONFLICT_START.search(text)
    if not start or not _CONFLICT_END.search(text, start.end()):
        return None
    return text.count("\n", 0, start.start()) + 1


_TURNED = re.compile("[\u202a-\u202e\u2066-\u2069]")
"""Characters that make text be shown in another order than it is in: code that looks other than it runs."""


def _plain_cells(notebook: dict[str, Any], notes: _Notes) -> Iterator[PlainCell]:
    cells = notebook.get("cells")
    if "cells" in notebook and not isinstance(cells, list) and "worksheets" not in notebook:
        raise Unreadable("The notebook has no cells: what should be the list of them is something else.")
    if not isinstance(cells, list):  # formats 2 and 3 keep them in worksheets
        worksheets = notebook.get("worksheets")
        sheets = worksheets if isinstance(worksheets, list) else []
        cells = [cell for sheet in sheets if isinstance(sheet, dict) for cell in _list(sheet.get("cells"))]
    if len(cells) > MAX_CELLS:
        raise Unreadable(f"The notebook has {len(cells)} cells; more than {MAX_CELLS} are not graded.")
    for number, cell in enumerate(cells, 1):
        odd = notes.of_cells.setdefault  # note -> the cells' numbers
        if not isinstance(cell, dict):
            odd("no cell of a notebook, left out.", []).append(number)
            continue
        kind = cell.get("cell_type")
        metadata = cell.get("metadata")
        nbgrader = metadata.get("nbgrader") if isinstance(metadata, dict) else None
        grade_id = nbgrader.get("grade_id") if isinstance(nbgrader, dict) else None
        # formats 2 and 3 say `input` for code, format 1 says `code` and `text`
        source = next((cell[key] for key in ("source", "input", "code", "text") if key in cell), "")
        text = _text(source)
        if not _is_text(source):
            odd("what should be its text is something else, and was left out.", []).append(number)
        if line := _conflict(text):
            odd(f"an unresolved merge conflict (line {line}). Choose a side.", []).append(number)
        if kind == "code" and _TURNED.search(text):
            odd(
                "invisible characters turn the direction of the text: it may look other than it runs.", []
            ).append(number)
        yield PlainCell(
            kind=kind if kind in ("code", "markdown") else "raw",
            text=text,
            id=identity if isinstance(identity := cell.get("id"), str) else "",
            grade_id=grade_id if isinstance(grade_id, str) else "",
        )


def _list(value: Any) -> list:
    return value if isinstance(value, list) else []


def _is_text(source: Any) -> bool:
    lines = source if isinstance(source, list) else [source]
    return all(isinstance(line, str) for line in lines)


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
        by_name: grade_ids of solution cells that were recognised only by the name that they define.
    """

    notebook: NotebookNode
    notes: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    by_name: tuple[str, ...] = ()


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
    kept: set[str] = field(default_factory=set)  # the texts in `before`
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
        self.normal = [_normal(cell.text) for cell in submitted]
        self.new = [text not in released for text in self.normal]
        self.defines = list(self._names())
        self.slot_of: dict[int, _Slot] = {}
        self.chosen: dict[int, _Slot] = {}
        self.remarks: dict[str, list[str]] = {}  # what happened -> the cells it happened to
        self.missing: list[str] = []
        self.by_name: list[str] = []
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
        return Rebuilt(self.notebook, tuple(self._notes()), tuple(self.missing), tuple(self.by_name))

    def _names(self) -> Iterator[set[str]]:
        """The names that each submitted cell defines; none for a cell as handed out."""
        left = MAX_PARSED_ALL
        for cell, new in zip(self.cells, self.new, strict=True):
            yield names_defined(cell.text, cell.kind, parse=len(cell.text) <= left) if new else set()
            left -= min(len(cell.text), left) if new else 0

    def _remark(self, slot: _Slot, what: str) -> None:
        self.remarks.setdefault(what, []).append(f"`{slot.grade_id or slot.cell.get('id')}`")

    def _notes(self) -> Iterator[str]:
        graded = {id(slot) for slot in self.slots if slot.role in ("solution", "answer", "check")}
        if graded and not self.chosen and not any(id(slot) in graded for slot in self.slot_of.values()):
            yield "None of this lab's exercises was found in the notebook: is it of another lab?"
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
        answers = {self.normal[index] for index in self.chosen}
        for index, cell in enumerate(self.cells):
            slot = self.slot_of.get(index)
            if anchor := self.chosen.get(index) or slot:
                place = anchor.after
            if index in self.chosen or not self.new[index] or (slot and slot.role == "answer"):
                continue
            if slot and slot.role == "solution":
                if self.normal[index] not in slot.kept and self.normal[index] not in answers:
                    slot.before.append(self._added(cell))
                    slot.kept.add(_normal(slot.before[-1].source))
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
        return new_code_cell(
            _code(cell), id=name, metadata={"tags": [ADDED_TAG, *([] if run else [SKIP_TAG])]}
        )

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

    What does not parse, or is not to be parsed (it is too much), is searched line by line.
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
    """A cell's text as code: of a cell retyped to text, what is inside its one code fence."""
    fenced = cell.kind != "code" and re.fullmatch(r"\s*```[\w{}. ]*\n(.*?)\n?```\s*", cell.text, re.DOTALL)
    return fenced.group(1) if fenced else cell.text


def _normal(text: str) -> str:
    return "\n".join(line.rstrip() for line in text.strip().splitlines())
