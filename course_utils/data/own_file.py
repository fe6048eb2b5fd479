"""A learner's own file, whatever wrote it, as the rows of a task of lab 13.

The reader finds out the form (CSV with any delimiter, JSON, JSON Lines, fastText, CoNLL, Parquet, a sheet), the encoding and the columns, under
the names that spreadsheets, Hugging Face, Doccano, Label Studio, spaCy and SQuAD give them. It says what it took. What it cannot read it
refuses in one sentence: the place, what is wrong there, and the cure. Whether the rows are sound is what `validate_rows` asks.
"""

from __future__ import annotations

import ast
import contextlib
import csv
import io
import json
import math
import re
import unicodedata
import zipfile
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from course_utils.data.own import COLUMNS, Row

Record = tuple[str, dict[str, Any]]
"""Where a row stands in its file ("line 7"), and its columns as the file names them."""

NAMES: Mapping[str, Mapping[str, str]] = {
    "classification": {
        "text": "text sentence sentences content body message comment review tweet utterance post description abstract headline document "
        "data input phrase texte phrase texto testo satz kommentar nachricht",
        "label": "label_text label_name label category categories class classes labels target sentiment intent topic tag rating stars y "
        "output klasse kategorie classe catégorie categoria categoría clase étiquette etiqueta etichetta",
    },
    "entities": {
        "text": "text sentence content body message document data texte texto testo satz",
        "spans": "spans entities ents annotations labels label",
        "tokens": "tokens words",
        "tags": "ner_tags tags ner labels label",
    },
    "questions": {
        "context": "context passage paragraph article document text",
        "question": "question query q frage pregunta domanda",
        "answer": "answer answer_text answers antwort réponse respuesta risposta",
        "start": "start answer_start begin offset start_offset answer_offset",
    },
}
"""Task -> column -> the names it may have in a file, the first that is there is taken."""

GROUPS = (
    "group groups group_id author author_id user user_id customer customer_id client patient source doc_id document_id document "
    "session session_id conversation conversation_id speaker thread gruppe groupe grupo gruppo"
)


class FileProblem(ValueError):
    """A file cannot be read as rows of a task. In a notebook it is shown as its sentence, without a traceback."""

    def _render_traceback_(self) -> list[str]:
        return [f"{type(self).__name__}: {self}"]


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
        FileProblem: the file, or a row of it, cannot be read. The message says where, why, and what to do.
    """
    path = Path(path)
    if task not in COLUMNS:
        raise FileProblem(f"there is no task {task!r}; the tasks are {', '.join(COLUMNS)}.")
    notes: list[str] = []
    records = _records(path, notes, encoding)
    if not records:
        raise FileProblem(f"{path.name} has no rows. Was it saved before it was filled in?")
    if "spans" in COLUMNS[task]:
        records = _sentences(path.name, records, notes)
    rows, places = _Table(path.name, task, records, notes).rows(dict(columns or {}))
    return OwnFile(path.name, task, rows, places, tuple(notes))


# ---------------------------------------------------------------------------------- what kind of file it is

_SAVE = "Save it as “CSV UTF-8” (in a spreadsheet: File, Save as)."
_OTHERS = (
    (b"\xd0\xcf\x11\xe0", "an old Excel or Word file"),
    (b"%PDF", "a PDF"),
    (b"{\\rtf", "a text with layout (RTF)"),
    (b"\x1f\x8b", "a compressed file; unpack it first"),
    (b"7z\xbc\xaf", "a compressed file; unpack it first"),
)


def _records(path: Path, notes: list[str], encoding: str | None) -> list[Record]:
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
        return _from_sheet(path, notes)
    for beginning, what in _OTHERS:
        if data.startswith(beginning):
            raise FileProblem(f"{path.name} is {what}. {_SAVE}")
    text = _decoded(path.name, data, notes, encoding)
    start = text.lstrip()[:200].lower()
    if re.match(r"<(!doctype|html|\?xml|[a-z]+[^>]*>\s*<)", start):
        raise FileProblem(f"{path.name} is a web page or XML, not a table. {_SAVE}")
    if start.startswith(("{", "[")):
        return _from_json(path, text, notes)
    if path.suffix.lower() in (".conll", ".iob", ".bio", ".iob2") or "-docstart-" in start or _is_conll(text):
        return _from_conll(path.name, text, notes)
    if start.startswith("__label__"):
        return _from_fasttext(text, notes)
    return _from_csv(path.name, text, notes)


def _decoded(name: str, data: bytes, notes: list[str], encoding: str | None) -> str:
    """The text of a file."""
    half, wide = data[:2000], ""
    if data[:4] in (b"\xff\xfe\0\0", b"\0\0\xfe\xff"):
        wide = "utf-32"
    elif data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        wide = "utf-16"
    elif half[1::2].count(0) > len(half) // 5:
        wide = "utf-16-le"
    elif half[0::2].count(0) > len(half) // 5:
        wide = "utf-16-be"
    try:
        text = data.decode(encoding or wide or "utf-8-sig")
    except LookupError:
        raise FileProblem(
            f"there is no encoding {encoding!r}. Common ones: utf-8, cp1252, cp1251, utf-16."
        ) from None
    except UnicodeDecodeError as error:
        if encoding or wide:
            raise FileProblem(
                f"{name} is not in {encoding or wide}: byte {error.start} does not fit. {_SAVE}"
            ) from None
        text = data.decode("cp1252", "replace")
        line = data.count(b"\n", 0, error.start) + 1
        seen = text.splitlines()[line - 1].strip()[:60]
        letters = re.findall(r"[^\W\d_]", text)
        foreign = sum(not letter.isascii() for letter in letters)
        if "�" in text or foreign > 0.3 * len(letters) or re.search(r"[a-z][ŠŽŸŒ†‡‰]|[a-z][‚„”ƒ][a-z]", text):
            raise FileProblem(
                f"{name}, line {line}: the encoding is not known; this line would read “{seen}”. {_SAVE} "
                'Or say which it is: read_file(FILE, TASK, encoding="cp1251") for Cyrillic, "mac_roman" for an old Mac.'
            ) from None
        notes.append(f"Encoding: not UTF-8, so Windows-1252 was taken. Is line {line} right? “{seen}”")
    else:
        if encoding or wide:
            notes.append(f"Encoding: {(encoding or wide).upper()}.")
        if broken := re.search(r"[^\n]{0,20}(?:Ã[\x80-¿]|â€)[^\n]{0,20}", text):
            notes.append(
                f"It was once saved in the wrong encoding: it has “{broken[0].strip()}”. Export it again."
            )
    if "\0" in text:
        raise FileProblem(f"{name} is no text file. {_SAVE}")
    return text.removeprefix("\ufeff")


# ---------------------------------------------------------------------------------- CSV

_DELIMITERS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "vertical bars"}


def _from_csv(name: str, text: str, notes: list[str]) -> list[Record]:
    skipped = 0
    said = re.match(r"\"?sep=(.)\"?[^\S\n]*\r?\n", text, re.IGNORECASE)
    if said:
        text, skipped = text[said.end() :], 1
    known = _norms(" ".join(" ".join(each.values()) for each in NAMES.values()) + " " + GROUPS)
    while (remark := re.match(r"#[^\n]*\n", text)) and not _norms(re.sub(r"[,;\t|]", " ", remark[0])) & known:
        text, skipped = text[remark.end() :], skipped + 1
        notes.append(f"Line {skipped} is a remark, and was skipped.")
    delimiter = said[1] if said else max(_DELIMITERS, key=lambda each: _fit(text, each, known))
    try:
        lines = _cells(text, delimiter, csv.QUOTE_MINIMAL)
    except _Unclosed as problem:
        if '"' in text and delimiter == "\t":  # tab-separated files often have quotes that mean nothing
            lines = _cells(text, delimiter, csv.QUOTE_NONE)
        elif '\\"' in text:  # as MySQL writes it
            lines = _cells(text, delimiter, csv.QUOTE_MINIMAL, escape="\\")
        else:
            raise FileProblem(
                f"{name}, line {problem.line + skipped}: a quotation mark is not closed, or is followed by more text ({problem}). "
                'Inside a cell, write it twice: "".'
            ) from None
    lines = [(number + skipped, cells) for number, cells in lines]
    empty = sum(not any(cell.strip() for cell in cells) for _, cells in lines)
    lines = [(number, cells) for number, cells in lines if any(cell.strip() for cell in cells)]
    if not lines:
        return []
    header = [cell.strip() for cell in lines[0][1]]
    while header and not header[-1]:
        header.pop()
    if len(header) < 2 and not _norms(" ".join(header)) & known:
        raise FileProblem(
            f"{name}, line {lines[0][0]}: there is one column only, and it is called “{header[0][:60] if header else ''}”. Columns are separated by "
            "commas, semicolons, tabs or vertical bars, and the first line has their names, such as text,label."
        )
    first = 1
    if _is_a_row(header, [cells for _, cells in lines[1:200]], known):
        header, first = [f"column {number}" for number in range(1, len(header) + 1)], 0
        notes.append("The first line is no header, so it was taken as a row.")
    notes.append(f"Form: CSV, columns separated by {_DELIMITERS.get(delimiter, repr(delimiter))}.")
    if empty:
        notes.append(f"{empty} empty lines were skipped.")
    records = []
    for number, cells in lines[first:]:
        if any(cell.strip() for cell in cells[len(header) :]):
            raise FileProblem(
                f"{name}, line {number}: there are {len(cells)} cells, and the header has {len(header)}. If a text contains "
                f"the character {delimiter!r}, put the text in quotation marks."
            )
        records.append((f"line {number}", dict(zip(header, cells, strict=False))))
    return records


class _Unclosed(Exception):
    def __init__(self, line: int, error: csv.Error) -> None:
        super().__init__(str(error))
        self.line = line


def _cells(text: str, delimiter: str, quoting: int, escape: str | None = None) -> list[tuple[int, list[str]]]:
    """Each line's number and cells; a cell may go on over several lines."""
    csv.field_size_limit(2**24)
    reader = csv.reader(
        io.StringIO(text, newline=""),
        delimiter=delimiter,
        strict=True,
        quoting=quoting,
        escapechar=escape,
        doublequote=escape is None,
    )
    lines: list[tuple[int, list[str]]] = []
    before = 0
    try:
        for cells in reader:
            lines.append((before + 1, cells))
            before = reader.line_num
    except csv.Error as error:
        raise _Unclosed(before + 1, error) from None
    return lines


def _fit(text: str, delimiter: str, known: set[str]) -> tuple[int, float]:
    """How well a file is cut by a delimiter: names of columns that are known, then how many lines have as many cells as the first."""
    reader = csv.reader(io.StringIO(text[:50_000], newline=""), delimiter=delimiter)
    try:
        lines = [cells for cells, _ in zip(reader, range(60), strict=False) if cells]
    except csv.Error:
        return (0, 0.0)
    if not lines or len(lines[0]) < 2:
        return (0, 0.0)
    named = sum(_norm(cell) in known for cell in lines[0])
    return (named, sum(len(cells) == len(lines[0]) for cells in lines) / len(lines))


def _is_a_row(header: Sequence[str], lines: Sequence[Sequence[str]], known: set[str]) -> bool:
    """Whether the first line is a row like the others: none of its cells is the name of a column, and one is there again below."""
    if any(_norm(cell) in known for cell in header):
        return False
    return any(
        cell in {line[place] for line in lines if place < len(line)} for place, cell in enumerate(header)
    )


def _from_fasttext(text: str, notes: list[str]) -> list[Record]:
    """Labels, each after ``__label__``, and then the text."""
    notes.append("Form: fastText, a text and its labels on each line.")
    return [
        (f"line {number}", {"text": words.strip(), "label": re.findall(r"__label__(\S+)", labels)})
        for number, line in enumerate(text.splitlines(), 1)
        if line.strip()
        for labels, words in [re.match(r"((?:\s*__label__\S+)*)(.*)", line).groups()]
    ]


# ---------------------------------------------------------------------------------- JSON


def _from_json(path: Path, text: str, notes: list[str]) -> list[Record]:
    name = path.name
    if path.suffix.lower() in (".jsonl", ".ndjson"):
        notes.append("Form: JSON Lines.")
        return _from_lines(name, text)
    try:
        value = _JSON.decode(text)
    except ValueError as error:
        try:
            _JSON.raw_decode(text.lstrip())
        except ValueError:
            line = getattr(error, "lineno", 1)
            raise FileProblem(
                f"{name}, line {line}: this is not JSON ({error}). Every row is an object in braces; several rows stand "
                "each on a line of their own, or in square brackets with commas between them."
            ) from None
        notes.append("Form: JSON Lines.")
        return _from_lines(name, text)
    notes.append("Form: JSON.")
    if isinstance(value, list):
        return [
            (f"element {number}", _object(name, f"element {number}", row))
            for number, row in enumerate(value, 1)
        ]
    return _from_object(name, value)


_JSON = json.JSONDecoder(
    parse_constant=lambda name: None
)  # NaN is how some libraries write that there is no value


def _from_lines(name: str, text: str) -> list[Record]:
    """Objects one after another: each on a line of its own, or over several lines, with or without commas between them."""
    records: list[Record] = []
    end, number = 0, 1
    while (start := re.compile(r"[\s,]*").match(text, end).end()) < len(text):
        number += text.count("\n", end, start)
        try:
            row, end = _JSON.raw_decode(text, start)
        except json.JSONDecodeError as error:
            why = "JSON has double quotation marks; Python's `json.dumps` writes them."
            if not re.match(r"\{\s*'", text[start:]):
                why = 'Is the line complete, and is every quotation mark in a text written as \\"?'
            raise FileProblem(f"{name}, line {number}: this is not JSON ({error.msg}). {why}") from None
        records.append((f"line {number}", _object(name, f"line {number}", row)))
        number += text.count("\n", start, end)
    return records


def _object(name: str, place: str, row: Any) -> dict[str, Any]:
    """A row as a dict; the pairs of spaCy and the tasks of Label Studio, too."""
    if isinstance(row, list) and len(row) == 2 and isinstance(row[0], str) and isinstance(row[1], dict):
        row = {"text": row[0], **row[1]}  # spaCy: [text, {"entities": [...]}]
        if isinstance(row.get("cats"), dict):
            row["label"] = [label for label, given in row.pop("cats").items() if given]
    if not isinstance(row, dict):
        raise FileProblem(
            f"{name}, {place}: this is a {type(row).__name__}; a row is an object in braces: "
            '{"text": "...", "label": "..."}.'
        )
    if isinstance(row.get("data"), dict):  # Label Studio
        results = [
            result["value"]
            for annotation in (row.get("annotations") or row.get("completions") or [])[:1]
            for result in annotation.get("result", [])
            if isinstance(result.get("value"), dict)
        ]
        spans = [value for value in results if "start" in value]
        choices = [choice for value in results for choice in value.get("choices", [])]
        row = {**row["data"], **({"label": choices} if choices else {"spans": spans})}
    if set(row) == {"row_idx", "row", "truncated_cells"} or (set(row) <= {"row_idx", "row"} and "row" in row):
        row = row["row"]  # the data sets server of Hugging Face
    return row


def _from_object(name: str, value: dict[str, Any]) -> list[Record]:
    """The rows in a JSON object: SQuAD's, a list of rows under each of its names, a list or a dict for each column, or one row."""
    data = value.get("data")
    if isinstance(data, list) and data and isinstance(data[0], dict) and "paragraphs" in data[0]:
        return list(_from_squad(data))
    if _of(value.get("columns"), str) and _of(data, list):  # pandas: columns, index, data
        return [
            (f"element {number}", dict(zip(value["columns"], cells, strict=False)))
            for number, cells in enumerate(data, 1)
        ]
    texts = {_norm(key) for key, each in value.items() if isinstance(each, str) or _of(each, str)}
    if texts & _norms("text sentence content tokens words context question"):
        lists = {key: each for key, each in value.items() if isinstance(each, list)}
        by_column = len(lists) == len(value) > 1 and not texts & {"tokens", "words"}
        if by_column and len({len(each) for each in lists.values()}) == 1:
            return [
                (f"element {number}", dict(zip(lists, row, strict=True)))
                for number, row in enumerate(zip(*lists.values(), strict=True), 1)
            ]
        return [("element 1", _object(name, "element 1", value))]
    if tables := {key: each for key, each in value.items() if each and _of(each, dict)}:
        return [
            (f"{key}, element {number}", _object(name, f"{key}, element {number}", row))
            for key, rows in tables.items()
            for number, row in enumerate(rows, 1)
        ]
    if value and all(isinstance(each, dict) for each in value.values()):  # pandas: column -> row -> value
        return [
            (f"element {number}", {column: cells.get(key) for column, cells in value.items()})
            for number, key in enumerate(next(iter(value.values())), 1)
        ]
    return [("element 1", _object(name, "element 1", value))]


def _of(value: Any, kind: type) -> bool:
    return isinstance(value, list) and all(isinstance(each, kind) for each in value)


def _from_squad(data: Sequence[Mapping[str, Any]]) -> Iterable[Record]:
    for number, article in enumerate(data, 1):
        for place, paragraph in enumerate(article.get("paragraphs", []), 1):
            for one in paragraph.get("qas", []):
                yield (
                    f"article {number}, paragraph {place}, question {one.get('id', '')}".rstrip(),
                    {
                        "title": article.get("title") or str(number),
                        "context": paragraph.get("context"),
                        "question": one.get("question"),
                        "answers": one.get("answers") or [],
                    },
                )


# ---------------------------------------------------------------------------------- CoNLL, Parquet, sheets


def _is_conll(text: str) -> bool:
    """Whether all of the first lines end in a tag. A table with a tag in each row has a header."""
    lines = [line.strip() for line in text[:20_000].splitlines()[:200] if line.strip()]
    return bool(lines) and all(re.search(r"[ \t](O|[BIESLUM]-\w+)$", line) for line in lines)


def _from_conll(name: str, text: str, notes: list[str]) -> list[Record]:
    """A word and its tag on each line (the first column and the last), an empty line between texts."""
    notes.append("Form: CoNLL, the first column as words, the last as tags.")
    records: list[Record] = []
    words: list[str] = []
    tags: list[str] = []
    begins, group = 1, 0
    for number, line in enumerate([*text.splitlines(), ""], 1):
        cells = line.split()
        if cells[:1] == ["-DOCSTART-"]:
            group += 1
        elif not cells:
            if words:
                record = {"tokens": words, "ner_tags": tags} | ({"group": str(group)} if group else {})
                records.append((f"line {begins}", record))
            words, tags, begins = [], [], number + 1
        elif len(cells) < 2:
            raise FileProblem(
                f"{name}, line {number}: “{cells[0]}” has no tag. Each line has a word and its tag, such as B-PER or O."
            )
        else:
            words, tags = [*words, cells[0]], [*tags, cells[-1]]
    return records


def _sentences(name: str, records: list[Record], notes: list[str]) -> list[Record]:
    """The sentences of a table with a word and its tag in each row; of any other table the records as they are.

    Raises:
        FileProblem: there is no column that says where a sentence begins.
    """
    by_norm = {_norm(column): column for column in records[0][1]}
    word, tag = (
        next((by_norm[one] for one in some.split() if one in by_norm), None)
        for some in ("word token", "tag ner_tag ner iob bio label")
    )
    if word is None or tag is None:
        return records
    sentence = next((by_norm[one] for one in by_norm if re.match(r"(sent|doc)", one)), None)
    if sentence is None:
        raise FileProblem(
            f"{name} has a word in each row, and no column that says to which sentence it belongs. Add one, sentence, with its number."
        )
    notes.append(f"Form: a word in each row; {sentence!r} says where a sentence begins.")
    found: list[Record] = []
    current = None
    for place, record in records:
        given = str(record.get(sentence) or "").strip()
        if not found or given not in ("", current):  # the number may stand at the first word only
            current = given
            found.append((place, {"tokens": [], "ner_tags": []}))
        if str(record.get(word) or "").strip():
            found[-1][1]["tokens"].append(str(record[word]).strip())
            found[-1][1]["ner_tags"].append(str(record.get(tag) or "O").strip())
    return found


def _from_parquet(path: Path, notes: list[str]) -> list[Record]:
    import datasets
    from pyarrow import ArrowException, parquet

    try:
        table = parquet.read_table(path)
    except ArrowException as error:
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


def _from_sheet(path: Path, notes: list[str]) -> list[Record]:
    import pandas

    with contextlib.suppress(zipfile.BadZipFile), zipfile.ZipFile(path) as packed:
        if not any(name.startswith("xl/") or name == "content.xml" for name in packed.namelist()):
            raise FileProblem(
                f"{path.name} is a zip archive without a sheet in it. Unpack it, and read the file that it holds."
            )
    try:
        sheet = pandas.read_excel(path, dtype=object, keep_default_na=False)
    except ImportError as error:
        package, what = "openpyxl", "an Excel file (.xlsx)"
        if "odf" in str(error):
            package, what = "odfpy", "an OpenDocument sheet (.ods)"
        raise FileProblem(
            f"{path.name} is {what}, and the package that reads it is not installed. {_SAVE} Or install it, in a cell of its own: "
            f"%pip install {package}"
        ) from None
    except Exception as error:
        raise FileProblem(
            f"{path.name} is no sheet that can be read ({type(error).__name__}). {_SAVE}"
        ) from None
    notes.append("Form: the first sheet of a workbook.")
    return [(f"line {number}", row) for number, row in enumerate(sheet.to_dict("records"), 2)]


# ---------------------------------------------------------------------------------- columns


def _norm(name: str) -> str:
    """A column's name in a form in which those that mean the same are equal."""
    return re.sub(r"[\s_\-.]+", "_", unicodedata.normalize("NFKC", str(name)).strip("\ufeff\"' ").casefold())


def _norms(names: str) -> set[str]:
    return {_norm(name) for name in names.split()}


class _Table:
    """The records of a file, on their way to rows of a task."""

    def __init__(self, name: str, task: str, records: list[Record], notes: list[str]) -> None:
        self.name, self.task, self.records, self.notes = name, task, records, notes
        found: dict[str, None] = {}
        for _, record in records:
            found.update(dict.fromkeys(record))
        self.there = [column for column in found if column]

    def refuse(self, number: int, column: str, what: str) -> FileProblem:
        return FileProblem(
            f"{self.name}, row {number} ({self.records[number - 1][0]}), column {column}: {what}"
        )

    def rows(self, given: dict[str, str]) -> tuple[list[Row], list[str]]:
        """The rows, and where each stands.

        Args:
            given: the file's name of a column -> the task's.
        """
        taken = self._columns(given)
        self._say(taken)
        made = {
            "classification": self._classified,
            "entities": self._with_spans,
            "questions": self._with_answers,
        }[self.task](taken)
        if not made:
            raise FileProblem(
                f"{self.name}: none of the {len(self.records)} rows has an answer. Which column has the answers?"
            )
        numbers = [number for number, _ in made]
        rows = [row for _, row in made]
        for number, row in zip(numbers, rows, strict=True):
            value = self.records[number - 1][1].get(taken["group"]) if "group" in taken else str(number)
            if isinstance(value, list | tuple) and len(value) == 1:
                value = value[0]
            row["group"] = value if value is None or isinstance(value, str) else str(value)
        ordered = [
            {column: row[column] for column in COLUMNS[self.task] if row.get(column) is not None}
            for row in rows
        ]
        return ordered, [self.records[number - 1][0] for number in numbers]

    def _columns(self, given: dict[str, str]) -> dict[str, str]:
        """The task's name of a column -> the file's."""
        for column, role in given.items():
            if column not in self.there:
                raise FileProblem(
                    f"{self.name} has no column {column!r}; it has {', '.join(map(repr, self.there))}."
                )
            if role not in COLUMNS[self.task]:
                raise FileProblem(
                    f"{self.task} has no column {role!r}; it has {', '.join(COLUMNS[self.task])}."
                )
        taken = {role: column for column, role in given.items()}
        names = dict(NAMES[self.task])
        if self.task == "entities":
            tagged = self._first(names["tokens"], taken) and self._first(names["tags"], taken)
            for role in ("text", "spans") if tagged else ("tokens", "tags"):
                names.pop(role)
        names["group"] = GROUPS + (" title" if self.task == "questions" else "")
        for role, some in names.items():
            if role not in taken and (column := self._first(some, taken)):
                taken[role] = column
        if self.task == "classification":
            self._guess(taken)
        missing = [role for role in names if role not in taken and role not in ("group", "start")]
        if missing:
            example = f'read_file(FILE, TASK, columns={{"{self.there[-1]}": "{missing[-1]}"}})'
            raise FileProblem(
                f"{self.name} has no column that is known as {' or '.join(missing)}; it has {', '.join(map(repr, self.there[:12]))}. "
                f"Rename the column in the file, or say which it is: {example}."
            )
        return taken

    def _first(self, names: str, taken: Mapping[str, str]) -> str | None:
        by_norm: dict[str, str] = {}
        for column in self.there:
            if column not in taken.values():
                by_norm.setdefault(_norm(column), column)
        return next((by_norm[_norm(name)] for name in names.split() if _norm(name) in by_norm), None)

    def _guess(self, taken: dict[str, str]) -> None:
        """What the names do not say, the values may: the longest texts, and the only column with few different values."""
        left = [column for column in self.there if column not in taken.values()]
        values = {column: [str(row.get(column, "")) for _, row in self.records[:2000]] for column in left}
        guessed = []
        if "text" not in taken and left:
            longest = max(left, key=lambda column: sum(map(len, values[column])))
            if sum(map(len, values[longest])) >= 10 * len(values[longest]):
                taken["text"] = longest
                left.remove(longest)
                guessed.append("text")
        if "label" not in taken:
            few = [
                column for column in left if 1 < len(set(values[column])) <= max(2, len(values[column]) / 3)
            ]
            if len(few) == 1:
                taken["label"] = few[0]
                guessed.append("label")
        if guessed:
            self.notes.append(
                f"Guessed from its values: {', '.join(f'{taken[role]!r} as {role}' for role in guessed)}."
            )

    def _say(self, taken: Mapping[str, str]) -> None:
        self.notes.append(f"Columns: {', '.join(f'{column!r} as {role}' for role, column in taken.items())}.")
        left = [column for column in self.there if column not in taken.values()]
        if left:
            self.notes.append(f"Not used: {', '.join(map(repr, left[:12]))}.")
        if "group" not in taken:
            self.notes.append(
                "There is no column with groups, so each row is a group of its own. If rows belong together (an author, a customer, "
                "a day), the test will look too good."
            )

    # ------------------------------------------------------------------------------ the three tasks

    def _classified(self, taken: Mapping[str, str]) -> list[tuple[int, Row]]:
        made: list[tuple[int, Row]] = []
        for number, (_, record) in enumerate(self.records, 1):
            label = _loaded(record.get(taken["label"]), "[")
            if isinstance(label, list | tuple) and len(label) < 2:
                label = label[0] if label else None
            made.append((number, {"text": record.get(taken["text"]), "label": label}))
        labels = [row["label"] for _, row in made if row["label"] not in (None, "")]
        numbers = [label for label in labels if isinstance(label, bool | int | float)]
        if labels and len(numbers) == len(labels):
            self.notes.append("The labels are numbers; each became a name: 4 is “4”.")
            for _, row in made:
                if row["label"] is not None:
                    row["label"] = _name_of_number(row["label"])
        elif labels and all(isinstance(label, str) and re.fullmatch(r"-?\d+\.0+", label) for label in labels):
            for _, row in made:
                row["label"] = row["label"] and row["label"].partition(".")[0]
        self._look_at(Counter(row["label"] for _, row in made if isinstance(row["label"], str)))
        return made

    def _look_at(self, labels: Counter[str]) -> None:
        """Notes about labels that look wrong."""
        alike: dict[str, list[str]] = {}
        for label in labels:
            alike.setdefault(" ".join(label.casefold().split()), []).append(label)
        for several in alike.values():
            if several[0].strip() and len(several) > 1:
                self.notes.append(
                    f"Labels that may be the same: {', '.join(map(repr, several))}. Each counts as a class of its own."
                )
        if len(labels) > 20 and len(labels) > labels.total() / 5:
            self.notes.append(
                f"There are {len(labels)} different labels in {labels.total()} rows. Are these classes, or was another column meant?"
            )

    def _with_spans(self, taken: Mapping[str, str]) -> list[tuple[int, Row]]:
        made: list[tuple[int, Row]] = []
        for number, (_, record) in enumerate(self.records, 1):
            if "tokens" in taken:
                made.append((number, self._joined(number, record, taken)))
                continue
            spans = _loaded(record.get(taken["spans"]), "[{(")
            if spans in (None, ""):
                spans = []
            if not isinstance(spans, list | tuple):
                raise self.refuse(
                    number,
                    taken["spans"],
                    f'this is {str(spans)[:40]!r}; expected a list of spans, such as [[0, 12, "Name"]].',
                )
            made.append(
                (
                    number,
                    {
                        "text": record.get(taken["text"]),
                        "spans": [self._span(number, taken["spans"], one) for one in spans],
                    },
                )
            )
        return made

    def _span(self, number: int, column: str, span: Any) -> list[Any]:
        """[start, end, label] of a span in any form."""
        if isinstance(span, dict):
            small = {_norm(key): value for key, value in span.items()}
            parts = [
                next((small[key] for key in keys.split() if key in small), None)
                for keys in (
                    "start start_offset begin from start_char",
                    "end end_offset stop to end_char",
                    "label labels type tag entity entity_group entity_type category name class",
                )
            ]
        else:
            parts = [*span] if isinstance(span, list | tuple) and len(span) == 3 else [None] * 3
            if isinstance(parts[0], str) and not isinstance(parts[2], str):  # label first
                parts = [parts[1], parts[2], parts[0]]
        start, end, label = parts
        if isinstance(label, list | tuple) and len(label) == 1:
            label = label[0]
        start, end = _whole(start), _whole(end)
        if start is None or end is None or not isinstance(label, str | int) or label == "":
            raise self.refuse(
                number,
                column,
                f'{str(span)[:60]} is no span. One has a start, an end and a label: [0, 12, "Name"], or an object with these names.',
            )
        return [start, end, str(label)]

    def _joined(self, number: int, record: Mapping[str, Any], taken: Mapping[str, str]) -> Row:
        """Words and their tags as a text with spans."""
        words, tags = (_loaded(record.get(taken[role]), "[(") for role in ("tokens", "tags"))
        words, tags = (each.split() if isinstance(each, str) else each for each in (words, tags))
        if (
            not isinstance(words, list | tuple)
            or not isinstance(tags, list | tuple)
            or len(words) != len(tags)
        ):
            raise self.refuse(
                number, taken["tags"], "there must be a tag for every word, and a word for every tag."
            )
        spans: list[list[Any]] = []
        place, before = 0, "O"
        for word, tag in zip(map(str, words), tags, strict=True):
            if not isinstance(tag, str):
                raise self.refuse(
                    number,
                    taken["tags"],
                    f"{tag!r} is a number, and the file does not say which tag it stands for. Write the tags as texts: B-PER, I-PER, O.",
                )
            mark, _, label = (
                tag.partition("-")
                if re.match(r"[BIOESLUM]-", tag)
                else ("O" if tag in ("O", "_", "") else "I", "", tag)
            )
            if mark != "O":
                if mark in "BSU" or before != label or not spans:
                    spans.append([place, place + len(word), label])
                else:
                    spans[-1][1] = place + len(word)
            before = label if mark != "O" else "O"
            place += len(word) + 1
        return {"text": " ".join(map(str, words)), "spans": spans}

    def _with_answers(self, taken: Mapping[str, str]) -> list[tuple[int, Row]]:
        made: list[tuple[int, Row]] = []
        without, found, twice = 0, 0, 0
        for number, (_, record) in enumerate(self.records, 1):
            answer, start = _loaded(record.get(taken["answer"]), "[{"), record.get(taken.get("start", ""))
            context = record.get(taken["context"])
            if isinstance(answer, list | tuple):
                answer = answer[0] if answer else None
                start = start[0] if isinstance(start, list | tuple) and start else start
            if isinstance(answer, dict):
                small = {_norm(key): value for key, value in answer.items()}
                start = next(
                    (
                        small[key]
                        for key in ("answer_start", "start", "start_offset", "offset")
                        if key in small
                    ),
                    start,
                )
                answer = small.get("text", small.get("answer"))
                answer, start = (
                    each[0] if isinstance(each, list) and each else None if each == [] else each
                    for each in (answer, start)
                )
            if answer in (None, ""):
                without += 1
                continue
            row = {"context": context, "question": record.get(taken["question"]), "answer": answer}
            if start in (None, ""):
                if isinstance(context, str) and isinstance(answer, str) and answer in context:
                    row["start"] = context.find(answer)
                    found += 1
                    twice += context.count(answer) > 1
            else:
                row["start"] = start if _whole(start) is None else _whole(start)
            made.append((number, row))
        if without:
            self.notes.append(
                f"{without} questions without an answer were left out: the model would have to learn to say so."
            )
        if found:
            self.notes.append(
                f"The place of {found} answers was looked up in their contexts; {twice} of them stand there more than once, and the first place was taken."
            )
        return made


def _loaded(value: Any, beginnings: str) -> Any:
    """What a cell holds, if it is written as JSON or as Python writes it; else the cell."""
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, float) and math.isnan(value):  # how pandas and Parquet say that there is none
        return None
    if not isinstance(value, str) or not value.strip().startswith(tuple(beginnings)):
        return value
    for load in (json.loads, ast.literal_eval):
        try:
            return load(value.strip())
        except (ValueError, SyntaxError, RecursionError):
            continue
    return value


def _whole(value: Any) -> int | None:
    """A whole number, if that is what is meant: 12, 12.0 or "12"."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return value
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return (
        int(value)
        if isinstance(value, str) and re.fullmatch(r"\s*-?\d{1,15}(\.0+)?\s*", value) and "." not in value
        else None
    )


def _name_of_number(value: bool | float) -> str:
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


# ---------------------------------------------------------------------------------- what is to be done about faults


def cure(row: Mapping[str, Any], column: str, task: str) -> str:
    """What is wrong at a place that `validate_rows` found, and what to do about it: one sentence."""
    value, kind = row.get(column), COLUMNS[task][column]
    if value is None or not str(value).strip():
        return "it is empty; fill it in, or delete the row."
    if column == "label" and isinstance(value, list):
        return f"it has {len(value)} labels; keep one, or make a task of each."
    if not isinstance(value, kind):
        return (
            f"{str(value)[:40]!r} is a {type(value).__name__}, and the others are {_KINDS[kind]}; write one."
        )
    if column == "spans":
        size = len(str(row["text"]))
        wrong = next(
            ([start, end, label] for start, end, label in value if not 0 <= start < end <= size), None
        )
        return f"{wrong} does not fit a text of {size} characters: 0 ≤ start < end ≤ {size}; the end is the place after the last character."
    if column == "start":
        places = [found.start() for found in re.finditer(re.escape(row["answer"]), row["context"])]
        if not places:
            return f"the answer {row['answer'][:40]!r} does not stand in the context; copy it from there, letter by letter."
        return f"the answer does not stand at {value}; write {' or '.join(map(str, places[:3]))}."
    return "look at it."


_KINDS = {str: "texts", list: "lists of spans", int: "whole numbers"}
