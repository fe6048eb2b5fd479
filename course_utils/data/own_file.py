"""A learner's own file, whatever wrote it, as the rows of a task of lab 13.

The reader finds out the encoding (`own_encoding`), the form (`own_table`, `own_json`, and binary ones here) and the columns (`own_columns`), makes the rows
(`own_rows`) and looks at them (`own_look`). It says what it took. What it cannot read it refuses in one sentence: the place, what is wrong there, and
the cure. Whether the rows are sound is what `validate_rows` asks.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from course_utils.data.own import COLUMNS, FileProblem, Row
from course_utils.data.own_columns import Record
from course_utils.data.own_encoding import SAVE, decoded
from course_utils.data.own_json import from_json
from course_utils.data.own_look import cure, look, refuse_if_none_is_sound
from course_utils.data.own_rows import Rows
from course_utils.data.own_table import from_text, mentions, sentences, tabled
from course_utils.workbook import WorkbookProblem, read_workbook

__all__ = ["FileProblem", "OwnFile", "cure", "read_file"]


@dataclass(frozen=True)
class OwnFile:
    """The rows of a file, and how they were read; ``print`` shows it.

    Attributes:
        rows: as :data:`course_utils.data.own.COLUMNS` says, apart from what is wrong in the file.
        places: where each row stands in the file.
        notes: what was taken, assumed and left out, a sentence each.
    """

    name: str
    task: str
    rows: list[Row]
    places: list[str]
    notes: tuple[str, ...]

    def __str__(self) -> str:
        shown = [
            f"{self.name}: {len(self.rows):,} rows for {self.task}",
            *(f"- {note}" for note in self.notes),
        ]
        for column in COLUMNS[self.task]:
            shown.append(f"    {column:9} {str(self.rows[0].get(column))[:90]!r}")
        return "\n".join(shown)


def read_file(
    path: str | Path, task: str, columns: Mapping[str, str] | None = None, encoding: str | None = None
) -> OwnFile:
    """The rows of a file, in whatever form they are.

    Args:
        task: a key of COLUMNS.
        columns: the file's name of a column -> the task's, where the reader cannot know it: ``{"Beschwerde": "text"}``.
        encoding: of a text file, where the reader is wrong about it: ``"cp1251"``.

    Raises:
        FileProblem: the file, or a row of it, cannot be read, or no row can be used. The message says where, why, and what to do.
    """
    path = Path(path)
    if task not in COLUMNS:
        raise FileProblem(f"there is no task {task!r}; the tasks are {', '.join(COLUMNS)}.")
    notes: list[str] = []
    try:
        records = _records(path, task, notes, encoding)
        if not records:
            raise FileProblem(f"{path.name} has no rows. Was it saved before it was filled in?")
        if "spans" in COLUMNS[task]:
            records = mentions(path.name, sentences(path.name, records, notes), notes)
        rows, places = Rows(path.name, task, records, notes).made(dict(columns or {}))
        refuse_if_none_is_sound(path.name, rows, places, task)
        return OwnFile(path.name, task, rows, places, (*notes, *look(rows, places, task)))
    except FileProblem:
        raise
    except Exception as error:  # of a library, about a file that nobody has thought of
        form = notes[-1] if notes else "Its form is not known."
        raise FileProblem(
            f"{path.name} is not as its form says ({form} {type(error).__name__}: {str(error)[:100]}). Export it anew, or save it as CSV."
        ) from None


# ---------------------------------------------------------------------------------- what kind of file it is

_OTHERS = (
    (b"\xd0\xcf\x11\xe0", "an old Excel or Word file, or one with a password"),
    (b"%PDF", "a PDF"),
    (b"{\\rtf", "a text with layout (RTF)"),
    (b"\x1f\x8b", "a compressed file; unpack it first"),
    (b"7z\xbc\xaf", "a compressed file; unpack it first"),
    (b"BZh", "a compressed file; unpack it first"),
    (b"\xfd7zXZ", "a compressed file; unpack it first"),
    (b"\x28\xb5\x2f\xfd", "a compressed file; unpack it first"),
    (b"Rar!", "a compressed file; unpack it first"),
    (b"SQLite format 3", "a data base (SQLite); export its table"),
    (b"ARROW1", "an Arrow file; load it with the library datasets, and save it as Parquet"),
    (b"FEA1", "a Feather file; load it with pandas, and save it as Parquet"),
    (b"\x80\x03", "a pickle; load it where it was made"),
    (b"\x80\x04", "a pickle; load it where it was made"),
    (b"\x80\x05", "a pickle; load it where it was made"),
    (b"\x93NUMPY", "an array of NumPy"),
    (b"\x89HDF", "an HDF5 file; load it with pandas"),
    (b"\x89PNG", "a picture"),
    (b"\xff\xd8\xff", "a picture"),
    (b"Obj\x01", "an Avro file; load it where it was made"),
)


def _records(path: Path, task: str, notes: list[str], encoding: str | None) -> list[Record]:
    if path.is_dir():
        return _from_datasets_folder(path, notes)
    try:
        data = path.read_bytes()
    except OSError as error:
        raise FileProblem(
            f"{path} cannot be read: {error.strerror}. The folder of this notebook is {Path.cwd()}."
        ) from None
    if data.startswith(b"PAR1"):
        return _from_parquet(path, notes)
    if data.startswith(b"PK\x03\x04"):
        return _from_sheet(path.name, data, notes)
    for beginning, what in _OTHERS:
        if data.startswith(beginning):
            raise FileProblem(f"{path.name} is {what}.{'' if ';' in what else ' ' + SAVE}")
    text = decoded(path.name, data, notes, encoding)
    start = text.lstrip()[:200].lower()
    if re.match(r"<(!doctype|html|\?xml|[a-z]+[^>]*>\s*<)", start):
        raise FileProblem(f"{path.name} is a web page or XML, not a table. {SAVE}")
    no_json = re.match(r"\[[^\]\"'{}\[]+\]\(|\[\[?[a-z]\w*\]\]?\s*\n", start)  # [Ada](PER) met, and TOML
    begins = start.startswith(("{", "[", '"{\\"', '"['))
    if (begins and not no_json) or _is_json_value(path, text):
        return from_json(path, text, task, notes)
    return from_text(path, text, task, notes)


def _is_json_value(path: Path, text: str) -> bool:
    """Whether a file that calls itself JSON begins with a remark, or has a single text or number."""
    if not path.suffix.lower().startswith(".json") or len(text) > 10_000:
        return False
    if text.lstrip().startswith(("//", "/*")):
        return True
    try:
        json.loads(text)
    except ValueError:
        return False
    return True


# ---------------------------------------------------------------------------------- Parquet, a folder, a sheet


def _from_parquet(path: Path, notes: list[str]) -> list[Record]:
    import datasets
    from pyarrow import ArrowException, parquet

    try:
        table = parquet.read_table(path)
    except (ArrowException, OSError) as error:
        raise FileProblem(
            f"{path.name} is a damaged Parquet file ({str(error).splitlines()[0]}). Download or export it again."
        ) from None
    notes.append("Form: Parquet.")
    return _named(table.to_pylist(), datasets.Features.from_arrow_schema(table.schema))


def _from_datasets_folder(path: Path, notes: list[str]) -> list[Record]:
    import datasets

    try:
        found = datasets.load_from_disk(str(path))
    except (FileNotFoundError, OSError, ValueError):
        raise FileProblem(
            f"{path} is a folder, and no data set that `save_to_disk` of the library datasets has written. Give the file in it."
        ) from None
    parts = found if isinstance(found, datasets.DatasetDict) else {"": found}
    notes.append(
        f"Form: a folder of the library datasets{', parts ' + ', '.join(parts) if len(parts) > 1 else ''}."
    )
    return [record for part in parts.values() for record in _named(part.to_list(), part.features)]


def _named(rows: Iterable[dict[str, Any]], features: Mapping[str, Any]) -> list[Record]:
    """Rows in which numbers of classes are their names, where the file has them."""
    names = {}
    for column, feature in features.items():
        inner = getattr(feature, "feature", feature)
        if hasattr(inner, "names") and hasattr(inner, "int2str"):
            names[column] = inner.names
    named = []
    for number, row in enumerate(rows, 1):
        for column, labels in names.items():
            value = row[column]
            if isinstance(value, list):
                row[column] = [labels[one] for one in value]
            elif isinstance(value, int):
                row[column] = labels[value] if 0 <= value < len(labels) else None  # -1 stands for no label
        named.append((f"row {number}", row))
    return named


_MOST_BYTES = 2**28


def _from_sheet(name: str, data: bytes, notes: list[str]) -> list[Record]:
    try:
        sheet = read_workbook(data, _MOST_BYTES)
    except WorkbookProblem as problem:
        inside = problem.names
        if not inside:
            raise FileProblem(f"{name} {problem}. {SAVE}") from None
        if "content.xml" in inside or any(each.startswith(("xl/", "Index/")) for each in inside):
            kind = (
                "an OpenDocument sheet (.ods)" if "content.xml" in inside else "a spreadsheet of another kind"
            )
            raise FileProblem(f"{name} is {kind}, and only .xlsx is read. {SAVE}") from None
        if any(each.startswith("word/") for each in inside):
            raise FileProblem(
                f"{name} is a Word document. Copy its table into a spreadsheet. {SAVE}"
            ) from None
        raise FileProblem(
            f"{name} is a zip archive without a sheet in it. Unpack it, and read the file that it holds."
        ) from None
    others = f" Not read: {', '.join(sheet.others[:5])}." if sheet.others else ""
    notes.append(f"Form: the first sheet of a workbook, {sheet.name!r}.{others}")
    rows: list[tuple[str, list[Any]]] = []
    for number, cells in sheet.rows:
        rows += [(f"line {line}", []) for line in range(len(rows) + 1, min(number, len(rows) + 1000))]
        rows.append((f"line {number}", cells))
    records = tabled(name, rows, notes)
    if not records and sheet.others:
        raise FileProblem(
            f"{name}: the first sheet, {sheet.name!r}, has no rows.{others} Put the one that is meant first."
        )
    return records
