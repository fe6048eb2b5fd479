"""The rows of a table in a file: CSV in whatever way a spreadsheet or a learning platform writes it, or ``.xlsx``.

A file says what it is by its content, not by its name: some platforms write text into ``.xls``. What cannot be read is refused with what it
looks like and how to save it anew. An ``.xlsx`` is a zip of XML; only its first sheet's cells are read, within limits.
"""

from __future__ import annotations

import csv
import io
import re
import unicodedata
import zipfile
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

from grader.errors import GraderError
from grader.files import content_of, printable

MAX_BYTES = 20 * 2**20
"""The most bytes of a file, and of each part of an .xlsx when it is unpacked."""
MAX_CELLS = 2_000_000
_DELIMITERS = ",;\t|"
_SAVE = "In a spreadsheet, save it as “CSV UTF-8” or as .xlsx."
_OTHERS = (
    (b"\xd0\xcf\x11\xe0", "an old Excel file (.xls)"),
    (b"%PDF", "a PDF"),
    (b"{\\rtf", "a text with layout (RTF)"),
    (b"<", "a web page, which some platforms save under the name of a table"),
    (b"\x1f\x8b", "a compressed file"),
)


@dataclass(frozen=True)
class Table:
    """A table as it is in a file.

    Attributes:
        rows: each with the number of its last line, or of its row in a sheet.
        note: what had to be assumed to read it; empty if nothing.
    """

    rows: tuple[tuple[int, list[str]], ...]
    note: str = ""


def read_table(file: Path, score: Callable[[Sequence[str]], int]) -> Table:
    """The rows of a file.

    Args:
        score: how much a row looks like the headings: the way of cutting lines into cells that gives the best heading is the right one.

    Raises:
        GraderError: it cannot be read as a table. The message says what it looks like, and how to save it anew.
    """
    try:
        data = content_of(file, MAX_BYTES)
    except OSError as error:
        raise GraderError(f"{file} cannot be read: {error.strerror}.") from None
    if data.startswith(b"PK\x03\x04"):
        return Table(tuple(_sheet(file, data)))
    for beginning, what in _OTHERS:
        if data.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(beginning):
            raise GraderError(
                f"{file} is {what}. Open it in a spreadsheet, and save it as “CSV UTF-8” or as .xlsx."
            )
    text, note = _text(file, data)
    return Table(tuple(_csv(file, text, score)), note)


# ---------------------------------------------------------------------------------- text


def _text(file: Path, data: bytes) -> tuple[str, str]:
    """A file's text, and what was assumed about its encoding.

    Raises:
        GraderError: it is no text, or in an encoding that is not known.
    """
    encoding = _wide(data) or "utf-8-sig"
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError:
        if encoding != "utf-8-sig":
            raise GraderError(
                f"{file} is damaged: it begins as {encoding.upper()}, and is not. {_SAVE}"
            ) from None
        return _windows(
            file, data
        ), "It is not in UTF-8, so it was read as Windows-1252: are all names right?"
    if "\0" in text:
        raise GraderError(f"{file} is no text, and no .xlsx. {_SAVE}")
    if twice := re.search("[^\n]{0,20}Ã[¡-¿][^\n]{0,20}", text):
        raise GraderError(
            f"{file} was once saved in the wrong encoding: it has “{printable(twice[0].strip())}”. Export the list again, and import it without opening it."
        )
    return text, ""


def _wide(data: bytes) -> str:
    """The encoding of a text with several bytes for each character; empty if there is one."""
    if data[:4] in (b"\xff\xfe\0\0", b"\0\0\xfe\xff"):
        return "utf-32"
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return "utf-16"
    start = data[:400]
    if (
        len(start) >= 8 and b"\0" in start
    ):  # without a mark: most characters of a heading have one byte that is zero
        if start[1::2].count(0) > len(start) // 3:
            return "utf-16-le"
        if start[0::2].count(0) > len(start) // 3:
            return "utf-16-be"
    return ""


_STRANGE = re.compile(
    r"[a-z][ŠŽŸŒ]|[À-ÖØ-öø-ÿ]{3,}|[¡-©«-¶¸-¿×÷ˆ˜‡†‰‹›ƒ](?=\w)|(?<=\w)[¡-©«-¶¸¹¼-¿×÷ˆ˜‡†‰‹›ƒ]"
)
"""What comes out if text in another encoding (of a Mac, of Central Europe, of Russia) is read as Windows-1252, and no name contains."""


def _windows(file: Path, data: bytes) -> str:
    """
    Raises:
        GraderError: it is in some other encoding.
    """
    try:
        text = data.decode("cp1252")
    except UnicodeDecodeError:
        text = data.decode("latin-1")
        odd = re.search(r"[\x80-\x9f]", text)
    else:
        odd = _STRANGE.search(text)
    if odd:
        line = text.count("\n", 0, odd.start()) + 1
        seen = printable(text.splitlines()[line - 1].strip(), 60) if text.splitlines()[line - 1 :] else ""
        raise GraderError(
            f"{file} is in an encoding that is not known: line {line} would read “{seen}”. It is neither UTF-8 nor Windows-1252. {_SAVE}"
        )
    return text


def _csv(file: Path, text: str, score: Callable[[Sequence[str]], int]) -> list[tuple[int, list[str]]]:
    """
    Raises:
        GraderError: quotes do not match.
    """
    said = re.match(r"\ufeff?\"?sep=(.)\"?[^\S\n]*\r?\n", text, re.IGNORECASE)
    skipped = 1 if said else 0
    if said:
        text = text[said.end() :]
    found: list[tuple[int, list[str]]] = []
    best, problem = -1, None
    for delimiter in said[1] if said else _DELIMITERS:
        try:
            reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
            rows = [(reader.line_num + skipped, row) for row in reader]
        except csv.Error as error:
            problem = problem or (reader.line_num + skipped, error)
            continue
        if (points := max((score(row) for _, row in rows[:30]), default=0)) > best:
            found, best = rows, points
    if best < 0 and problem:
        raise GraderError(
            f"{file} cannot be read as a table, around line {problem[0]}: {problem[1]}. A quote inside a cell is written twice. {_SAVE}"
        )
    return found


# ---------------------------------------------------------------------------------- .xlsx

_MAIN = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"
_STRICT = "{http://purl.oclc.org/ooxml/spreadsheetml/main}"
_ID = (
    "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}id",
    "{http://purl.oclc.org/ooxml/officeDocument/relationships}id",
)


def _sheet(file: Path, data: bytes) -> list[tuple[int, list[str]]]:
    """The rows of the first sheet that can be seen.

    Raises:
        GraderError: it is no .xlsx, or a damaged one.
    """
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            names = {info.filename for info in archive.infolist()[:10_000]}
            if "xl/workbook.xml" not in names:
                what = (
                    "a spreadsheet of another kind (.ods)"
                    if "content.xml" in names
                    else "a zip, or a document of another kind"
                )
                raise GraderError(
                    f"{file} is {what}. Open it in a spreadsheet, and save it as “CSV UTF-8” or as .xlsx."
                )
            strings = _strings(archive) if "xl/sharedStrings.xml" in names else []
            return _rows_of(_part(archive, _first_sheet(archive, names)), strings)
    except (
        zipfile.BadZipFile,
        zlib.error,
        ElementTree.ParseError,
        KeyError,
        IndexError,
        ValueError,
        EOFError,
    ) as error:
        raise GraderError(
            f"{file} cannot be read as an .xlsx file ({printable(str(error))}). {_SAVE}"
        ) from None
    except (NotImplementedError, RuntimeError):
        raise GraderError(f"{file} is protected by a password. Save it without one.") from None


def _part(archive: zipfile.ZipFile, name: str) -> ElementTree.Element:
    """
    Raises:
        ValueError: it is too large, or not plain XML.
    """
    info = archive.getinfo(name)
    if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise ValueError("it is packed by an unusual method")
    with archive.open(info) as member:
        text = member.read(MAX_BYTES + 1)
    if len(text) > MAX_BYTES:
        raise ValueError(f"{name} unpacks to more than {MAX_BYTES // 2**20} MiB")
    if b"<!DOCTYPE" in text or b"<!ENTITY" in text or b"<\0!\0" in text:
        raise ValueError(f"{name} has definitions of its own")
    return ElementTree.fromstring(text)


def _first_sheet(archive: zipfile.ZipFile, names: set[str]) -> str:
    sheets = [each for each in _part(archive, "xl/workbook.xml").iter() if _tag(each) == "sheet"]
    shown = [each for each in sheets if each.get("state", "visible") == "visible"] or sheets
    wanted = next(filter(None, (shown[0].get(name) for name in _ID)), None)
    for each in _part(archive, "xl/_rels/workbook.xml.rels"):
        if each.get("Id") == wanted:
            target = each.get("Target", "")
            return target.lstrip("/") if target.startswith("/") else f"xl/{target}"
    return next(name for name in sorted(names) if name.startswith("xl/worksheets/sheet"))


def _tag(element: ElementTree.Element) -> str:
    return element.tag.removeprefix(_MAIN).removeprefix(_STRICT)


def _strings(archive: zipfile.ZipFile) -> list[str]:
    return [_words(each) for each in _part(archive, "xl/sharedStrings.xml") if _tag(each) == "si"]


def _words(element: ElementTree.Element) -> str:
    """The text of a cell, without how its words are pronounced."""
    if _tag(element) == "rPh":
        return ""
    return (element.text or "" if _tag(element) == "t" else "") + "".join(map(_words, element))


def _rows_of(sheet: ElementTree.Element, strings: Sequence[str]) -> list[tuple[int, list[str]]]:
    rows: list[tuple[int, list[str]]] = []
    count = 0
    for row in (each for each in sheet.iter() if _tag(each) == "row"):
        number = int(row.get("r", len(rows) + 1))
        cells: list[str] = []
        for cell in row:
            place = _column(cell.get("r", "")) or len(cells) + 1
            if place > 500:  # beyond what a class list has; a sheet may have notes far to the right
                break
            cells += [""] * (place - 1 - len(cells))
            cells.append(_value(cell, strings))
            count += 1
        if count > MAX_CELLS:
            raise ValueError(f"it has more than {MAX_CELLS} cells")
        rows.append((number, cells))
    return rows


def _column(reference: str) -> int:
    """The number of a cell's column: 2 for B7; 0 if it is not said."""
    letters = re.match("[A-Z]{1,3}", reference)
    number = 0
    for letter in letters[0] if letters else "":
        number = 26 * number + ord(letter) - ord("A") + 1
    return number


def cell_name(column: int, row: int) -> str:
    """What a spreadsheet calls a cell: B7 for the second column (1) of row 7."""
    letters, column = "", column + 1
    while column:
        column, rest = divmod(column - 1, 26)
        letters = chr(ord("A") + rest) + letters
    return f"{letters}{row}"


def _value(cell: ElementTree.Element, strings: Sequence[str]) -> str:
    kind = cell.get("t", "n")
    inside = next((each for each in cell if _tag(each) in ("v", "is")), None)
    if inside is None:
        return ""
    if kind == "inlineStr":
        return _words(inside)
    text = inside.text or ""
    if kind == "s":
        return strings[int(text)]
    if kind == "n" and re.fullmatch(r"-?\d+(?:\.\d+)?(?:[Ee][+-]?\d+)?", text):
        number = float(text)
        if number.is_integer() and abs(number) < 1e15:  # beyond that, the last digits are lost
            return str(int(number))
    return text


def tidy(cell: str) -> str:
    """A cell without what spreadsheets and platforms put around it to keep it as it is: ="00123", and blanks that cannot be seen."""
    text = unicodedata.normalize("NFC", cell).replace("\u00a0", " ").strip("\ufeff\u200b\u200e\u200f \t\r\n")
    kept = re.fullmatch(r'="(.*)"', text)
    return kept[1].strip() if kept else text
