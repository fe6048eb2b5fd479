"""Any bytes that were handed in as a notebook -> plain cells, or the reason why it cannot be read.

Only the text of a submission is used. Time and memory have limits, which are below. What exceeds one is found by counting and rejected; it is not
parsed.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from grader.files import MAX_BYTES, Unreadable, file_bytes, printable
from grader.receive.pictures import KINDS, Attachment

MAX_CONTAINERS = 1_000_000
"""The most opening brackets and braces in a file. Each may become a list or dict of some 200 bytes."""
MAX_VALUES = 5_000_000
"""The most commas in a file. Each may separate two values of some 60 bytes."""
MAX_CELLS = 2_000
MAX_TEXT = 10_000_000
"""The most characters of all cells together."""
MAX_ATTACHMENTS = 50
"""The most files attached to one cell that are looked at."""


@dataclass(frozen=True)
class PlainCell:
    """What is left of a submitted cell: its text, three things that help to recognise it, and the files attached to it."""

    kind: str
    text: str
    id: str = ""
    grade_id: str = ""
    attachments: tuple[Attachment, ...] = ()


@dataclass(frozen=True)
class ReadResult:
    """The cells of a submission, or the ``problem`` that makes it unreadable."""

    cells: tuple[PlainCell, ...] = ()
    problem: str = ""
    notes: tuple[str, ...] = ()


def read_submission(source: bytes | Path) -> ReadResult:
    """Reads a submitted notebook, whatever its content. Never raises.

    Links are not followed: neither the file nor the two folders above it (lab and student) may be one.
    """
    notes = _Notes()
    try:
        cells = tuple(_plain_cells(parsed(source, notes), notes))
        if not cells:
            raise Unreadable("The notebook has no cells.")
        if (size := sum(len(cell.text) for cell in cells)) > MAX_TEXT:
            raise Unreadable(
                f"The cells contain {size / 1e6:.0f} million characters of text; more than {MAX_TEXT // 10**6} million "
                "are not graded. Take pasted data and images out and try again."
            )
    except Unreadable as error:
        return ReadResult(problem=str(error))
    return ReadResult(cells, notes=tuple(notes.sentences()))


def parsed(source: bytes | Path, notes: _Notes | None = None) -> dict[str, Any]:
    """A submitted notebook as it is, its numbers left out. Anything may be in it, in any place.

    Raises:
        Unreadable: it cannot be read, or not within the limits above.
    """
    notes = notes or _Notes()
    data = source if isinstance(source, bytes) else file_bytes(source)
    if len(data) > MAX_BYTES:
        raise Unreadable(
            f"The file is larger than {MAX_BYTES // 2**20} MiB. Clear its outputs and try again."
        )
    return _notebook(_decoded(data, notes), notes)


class _Notes:
    """What is odd about a submission that can nevertheless be read."""

    def __init__(self) -> None:
        self.general: list[str] = []
        self.of_cells: dict[str, list[int]] = {}  # what is odd -> numbers of the cells, from 1

    def sentences(self) -> Iterator[str]:
        yield from self.general
        for what, numbers in self.of_cells.items():
            listed = ", ".join(map(str, numbers[:5])) + (", …" if len(numbers) > 5 else "")
            yield f"{'Cell' if len(numbers) == 1 else 'Cells'} {listed} of the file: {what}"


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
            "The file contains nothing but zero bytes: it was damaged while it was saved or copied. Save the notebook "
            "again and hand in the new file."
        )
    for start, message in _OTHER_FORMATS.items():
        if data[:100].lstrip().lower().startswith(start.lower()):
            raise Unreadable(message)
    encoding = json.detect_encoding(data)  # UTF-8, UTF-16 or UTF-32, with or without a byte order mark
    try:
        # a damaged file may contain half a surrogate pair: that is handled where the cells' texts are read
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
    """Parsed JSON. Its numbers are not needed here, and parsing long ones would take too much time."""

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
"""Characters that make text appear in a different order, so that code does something other than what it seems to do."""


def _plain_cells(notebook: dict[str, Any], notes: _Notes) -> Iterator[PlainCell]:
    cells = notebook.get("cells")
    if isinstance(cells, list) and notebook.get("worksheets"):
        notes.general.append(
            "The file also has worksheets, as older formats have them; what is in these was not read."
        )
    notes.general += [
        f"The notebook's metadata say {said}; only what is in its cells is graded."
        for said in _said_in(notebook.get("metadata"))
    ]
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
        for said in _said_in(metadata):
            odd(f"its metadata say {said}; only its text is graded.", []).append(number)
        # formats 2 and 3 say `input` for code, format 1 says `code` and `text`
        source = next((cell[key] for key in ("source", "input", "code", "text") if key in cell), "")
        text = _text(source)
        if not _is_text(source):
            odd("what should be its text is something else, and was left out.", []).append(number)
        if line := _conflict(text):
            odd(f"an unresolved merge conflict (line {line}). Choose a side.", []).append(number)
        if kind == "code" and _TURNED.search(text):
            odd(
                "invisible characters change the direction of the text: it may not do what it seems to.", []
            ).append(number)
        yield PlainCell(
            kind=kind if kind in ("code", "markdown") else "raw",
            text=text,
            id=identity if isinstance(identity := cell.get("id"), str) else "",
            grade_id=grade_id if isinstance(grade_id, str) else "",
            attachments=_attachments(cell.get("attachments"), number, odd),
        )


def _said_in(metadata: Any) -> Iterator[str]:
    """What people may have written into metadata, where some programs show it."""
    if not isinstance(metadata, dict):
        return
    for name in ("title", "name"):
        if isinstance(value := metadata.get(name), str) and value.strip():
            yield f"{name} {printable(value.strip())!r}"
    for author in _list(metadata.get("authors"))[:10]:
        name = author.get("name") if isinstance(author, dict) else author
        if isinstance(name, str) and name.strip():
            yield f"author {printable(name.strip())!r}"


def _attachments(
    found: Any, number: int, odd: Callable[[str, list[int]], list[int]]
) -> tuple[Attachment, ...]:
    """The files attached to a cell, whatever they are."""
    if not isinstance(found, dict):
        return ()
    kept = []
    for name, file in list(found.items())[:MAX_ATTACHMENTS]:
        kinds = [(kind, _text(data)) for kind, data in file.items()] if isinstance(file, dict) else []
        if not kinds:
            odd(f"the file {printable(name)!r} attached to it has no content.", []).append(number)
        kinds.sort(key=lambda each: each[0] not in KINDS)
        if len(kinds) > 1:
            odd(
                f"of {printable(name)!r} attached to it, only {printable(kinds[0][0], 40)} was looked at.", []
            ).append(number)
        kept += [Attachment(_text(name), kind, data) for kind, data in kinds[:1]]
    if len(found) > MAX_ATTACHMENTS:
        odd(f"of its attached files, only {MAX_ATTACHMENTS} were looked at.", []).append(number)
    return tuple(kept)


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
