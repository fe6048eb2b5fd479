"""The first sheet of an ``.xlsx``, with nothing but the standard library: a class list of the grader's, or a learner's own data.

An .xlsx is a zip of XML. Only cells are read, within limits; formulas count with the values that the spreadsheet has kept beside them.
"""

from __future__ import annotations

import io
import re
import zipfile
import zlib
from dataclasses import dataclass
from datetime import datetime, timedelta
from xml.etree import ElementTree

MAX_CELLS = 2_000_000
_MAIN = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"
_STRICT = "{http://purl.oclc.org/ooxml/spreadsheetml/main}"
_ID = (
    "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}id",
    "{http://purl.oclc.org/ooxml/officeDocument/relationships}id",
)


class WorkbookProblem(ValueError):
    """A file is no .xlsx that can be read: its message goes on after the file's name.

    Attributes:
        names: what is in the zip, if it is one of another kind.
    """

    def __init__(self, message: str, names: frozenset[str] = frozenset()) -> None:
        super().__init__(message)
        self.names = names


@dataclass(frozen=True)
class Sheet:
    """The first sheet that can be seen.

    Attributes:
        rows: each with its number; a cell is a text: 4, 1.5, TRUE, 2026-11-30. Cells that are missing before others are empty.
        others: the names of the other sheets that can be seen.
    """

    name: str
    rows: list[tuple[int, list[str]]]
    others: tuple[str, ...]


def read_workbook(data: bytes, most_bytes: int) -> Sheet:
    """
    Args:
        most_bytes: of each part when it is unpacked.

    Raises:
        WorkbookProblem: it is no .xlsx, a damaged one, or one with a password.
    """
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            names = frozenset(info.filename for info in archive.infolist()[:10_000])
            if "xl/workbook.xml" not in names:
                raise WorkbookProblem("is no .xlsx", names)
            book = _Book(archive, names, most_bytes)
            sheets = [each for each in book.part("xl/workbook.xml").iter() if _tag(each) == "sheet"]
            shown = [each for each in sheets if each.get("state", "visible") == "visible"] or sheets
            called = [each.get("name", "") for each in shown]
            return Sheet(called[0], book.rows(book.place_of(shown[0])), tuple(called[1:]))
    except WorkbookProblem:
        raise
    except (
        zipfile.BadZipFile, zlib.error, ElementTree.ParseError, KeyError, IndexError, ValueError, EOFError, StopIteration,
    ) as error:  # fmt: skip
        raise WorkbookProblem(f"cannot be read as an .xlsx file ({_printable(error)})") from None
    except (NotImplementedError, RuntimeError):
        raise WorkbookProblem("is protected by a password. Save it without one") from None


def _printable(error: Exception) -> str:
    return "".join(char if char.isprintable() else "\ufffd" for char in str(error)[:100])


class _Book:
    def __init__(self, archive: zipfile.ZipFile, names: frozenset[str], most_bytes: int) -> None:
        self.archive, self.names, self.most_bytes = archive, names, most_bytes
        self.strings = [
            _words(each) for each in self._children("xl/sharedStrings.xml", "sst") if _tag(each) == "si"
        ]
        self.dates = self._dates()
        properties = [each for each in self.part("xl/workbook.xml") if _tag(each) == "workbookPr"]
        since_1904 = any(each.get("date1904", "0") in ("1", "true") for each in properties)
        self.first_day = datetime(1904, 1, 1) if since_1904 else datetime(1899, 12, 30)

    def part(self, name: str) -> ElementTree.Element:
        """
        Raises:
            ValueError: it is too large, or not plain XML.
        """
        info = self.archive.getinfo(name)
        if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise ValueError("it is packed by an unusual method")
        with self.archive.open(info) as member:
            text = member.read(self.most_bytes + 1)
        if len(text) > self.most_bytes:
            raise ValueError(f"{name} unpacks to more than {self.most_bytes // 2**20} MiB")
        if b"<!DOCTYPE" in text or b"<!ENTITY" in text or b"<\0!\0" in text:
            raise ValueError(f"{name} has definitions of its own")
        return ElementTree.fromstring(text)

    def _children(self, part: str, tag: str) -> list[ElementTree.Element]:
        """What is in the first element of a name; nothing if the part is not there."""
        if part not in self.names:
            return []
        return next(([*each] for each in self.part(part).iter() if _tag(each) == tag), [])

    def _dates(self) -> set[int]:
        """The numbers of the styles that show a number as a date or a time."""
        days = {*range(14, 23), 45, 46, 47}  # what all spreadsheets have
        for each in self._children("xl/styles.xml", "numFmts"):
            code = re.sub(r'"[^"]*"|\\.|\[[^\]]*\]', "", each.get("formatCode", ""))
            if re.search(r"[dmyhs]", code, re.IGNORECASE):
                days.add(int(each.get("numFmtId", "0")))
        styles = self._children("xl/styles.xml", "cellXfs")
        return {number for number, each in enumerate(styles) if int(each.get("numFmtId", "0")) in days}

    def place_of(self, sheet: ElementTree.Element) -> str:
        wanted = next(filter(None, (sheet.get(name) for name in _ID)), None)
        for each in self.part("xl/_rels/workbook.xml.rels"):
            if each.get("Id") == wanted:
                target = each.get("Target", "")
                return target.lstrip("/") if target.startswith("/") else f"xl/{target}"
        return next(name for name in sorted(self.names) if name.startswith("xl/worksheets/sheet"))

    def rows(self, place: str) -> list[tuple[int, list[str]]]:
        rows: list[tuple[int, list[str]]] = []
        count = 0
        for row in (each for each in self.part(place).iter() if _tag(each) == "row"):
            number = int(row.get("r", len(rows) + 1))
            cells: list[str] = []
            for cell in row:
                column = _column(cell.get("r", "")) or len(cells) + 1
                if column > 500:  # beyond what a list has; a sheet may have notes far to the right
                    break
                cells += [""] * (column - 1 - len(cells))
                cells.append(self._value(cell))
                count += 1
            if count > MAX_CELLS:
                raise ValueError(f"it has more than {MAX_CELLS} cells")
            rows.append((number, cells))
        return rows

    def _value(self, cell: ElementTree.Element) -> str:
        kind = cell.get("t", "n")
        inside = next((each for each in cell if _tag(each) in ("v", "is")), None)
        if inside is None:
            return ""
        if kind == "inlineStr":
            return _words(inside)
        text = inside.text or ""
        if kind == "s":
            return self.strings[int(text)]
        if kind == "b":
            return "TRUE" if text == "1" else "FALSE"
        if kind == "n" and re.fullmatch(r"-?\d+(?:\.\d+)?(?:[Ee][+-]?\d+)?", text):
            amount = float(text)
            if self.dates and int(cell.get("s", "0")) in self.dates and 0 <= amount < 2_958_466:  # year 9999
                day = self.first_day + timedelta(seconds=round(amount * 86_400))
                return f"{day:%H:%M:%S}" if amount < 1 else str(day).removesuffix(" 00:00:00")
            if amount.is_integer() and abs(amount) < 1e15:  # beyond that, the last digits are lost
                return str(int(amount))
        return text


def _tag(element: ElementTree.Element) -> str:
    return element.tag.removeprefix(_MAIN).removeprefix(_STRICT)


def _words(element: ElementTree.Element) -> str:
    """The text of a cell, without how its words are pronounced."""
    if _tag(element) == "rPh":
        return ""
    text = element.text or "" if _tag(element) == "t" else ""
    text = re.sub(r"_x([0-9A-Fa-f]{4})_", lambda found: chr(int(found[1], 16)), text)  # what XML cannot hold
    return text + "".join(map(_words, element))


def _column(reference: str) -> int:
    """The number of a cell's column: 2 for B7; 0 if it is not said."""
    letters = re.match("[A-Z]{1,3}", reference)
    number = 0
    for letter in letters[0] if letters else "":
        number = 26 * number + ord(letter) - ord("A") + 1
    return number
