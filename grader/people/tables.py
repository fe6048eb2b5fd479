"""The rows of a table in a file: CSV in whatever way a spreadsheet or a learning platform writes it, or ``.xlsx``.

A file says what it is by its content, not by its name: some platforms write text into ``.xls``. What cannot be read is refused with what it
looks like and how to save it anew. Of an ``.xlsx``, only the first sheet's cells are read.
"""

from __future__ import annotations

import csv
import io
import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from grader.errors import GraderError
from grader.files import content_of, printable, seen

MAX_BYTES = 20 * 2**20
"""The most bytes of a file, and of each part of an .xlsx when it is unpacked."""
_LOOKED_AT = 30
"""At most this many rows may stand above the headings."""
_MAX_FAULTS = 10
"""At most this many faults of a file are named at once."""
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


@dataclass(frozen=True)
class Sheet:
    """A table of which one row is known to have the headings.

    Attributes:
        first: the number of the row with the headings.
        columns: heading, as far as it counts (:func:`heading`) -> the place of its column; of several that are the same, the first one's.
        rows: those below it that are not empty, each with its number and as wide as the headings.
        notes: sentences about what was assumed or left out.
        faults: what is wrong, each with its row and column.
    """

    file: Path
    first: int
    headings: tuple[str, ...]
    columns: Mapping[str, int]
    rows: tuple[tuple[int, list[str]], ...]
    notes: tuple[str, ...]
    faults: list[str] = field(default_factory=list)

    def fault(self, line: int, column: int, what: str) -> None:
        """Notes what is wrong with a cell."""
        self.faults.append(f"row {line}, column {column_name(column)}: {what.rstrip('.')}.")

    def see_that_each_is_there_once(self, words: Iterable[str]) -> None:
        """Notes headings that several columns have, of those that are read: it is not clear which of them counts."""
        read = {*words}
        for place, text in enumerate(map(heading, self.headings)):
            if text in read and (first := self.columns[text]) != place:
                self.fault(
                    self.first,
                    place,
                    f"it is called “{self.headings[place]}”, as column {column_name(first)} is. Delete or rename one of them",
                )

    def refuse_faults(self) -> None:
        """
        Raises:
            GraderError: something is wrong. The message names up to ten cells.
        """
        if self.faults:
            raise GraderError(f"{self.file} was not imported; nothing has changed.{listed(self.faults)}")


def read_sheet(
    file: Path, score: Callable[[Sequence[str]], int], needed: str, shaped: Callable[[str], str] | None = None
) -> Sheet:
    """A table with headings. A row with more cells than there are headings is a fault: a comma in it was taken for the end of a cell.

    Args:
        score: how much a row looks like the headings. Of the first rows, the one that does most has them.
        needed: a sentence about the headings that it needs.
        shaped: what becomes of each cell; default: :func:`tidy`.

    Raises:
        GraderError: it cannot be read as a table, or has no row.
    """
    table = read_table(file, score)
    rows = [(line, row) for line, row in table.rows if any(map(tidy, row))]
    if not rows:
        raise GraderError(f"{file} is empty. {needed} Nothing has changed.")
    start = max(range(len(rows[:_LOOKED_AT])), key=lambda place: (score(rows[place][1]), -place))
    first, headings = rows[start]
    while not tidy(headings[-1]):
        headings = headings[:-1]
    width, above = len(headings), "what stands above them was left out"
    notes = [table.note, f"The headings are in line {first}; {above}." if start else ""]
    named = [(heading(tidy(text)), place) for place, text in enumerate(headings)]
    columns = {text: place for text, place in reversed(named) if text}
    found: list[tuple[int, list[str]]] = []
    sheet = Sheet(file, first, tuple(map(tidy, headings)), columns, (), tuple(filter(None, notes)))
    for line, row in rows[start + 1 :]:
        if any(map(tidy, row[width:])):
            sheet.fault(
                line,
                width,
                "this cell has no heading. If a comma inside another cell has moved it here, put that cell in quotes",
            )
        else:
            cells = [*row, *[""] * width][:width]
            found.append((line, [(shaped or tidy)(cell) for cell in cells]))
    return replace(sheet, rows=tuple(found))


def listed(lines: Sequence[str]) -> str:
    """A line each, below a message; of many, the first ones."""
    more = [f"and {len(lines) - _MAX_FAULTS} more"] if len(lines) > _MAX_FAULTS else []
    return "".join(f"\n  {line}" for line in [*lines[:_MAX_FAULTS], *more])


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
        reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
        rows: list[tuple[int, list[str]]] = []
        try:
            for row in reader:
                rows.append((reader.line_num + skipped, row))
        except csv.Error as error:
            last = rows[-1][0] if rows else skipped
            problem = problem or (last + 1, error)
            continue
        if (points := max((score(row) for _, row in rows[:30]), default=0)) > best:
            found, best = rows, points
    if best <= 0 and problem:
        raise GraderError(
            f"{file} cannot be read as a table, from line {problem[0]} on: {problem[1]}. A quote that begins a cell has to end it, too, and one inside a cell is written twice. {_SAVE}"
        )
    return found


# ---------------------------------------------------------------------------------- .xlsx


def _sheet(file: Path, data: bytes) -> list[tuple[int, list[str]]]:
    """The rows of the first sheet that can be seen.

    Raises:
        GraderError: it is no .xlsx, or a damaged one.
    """
    # only here: it loads NumPy, and a CSV file needs neither
    from course_utils.workbook import WorkbookProblem, read_workbook

    try:
        return read_workbook(data, MAX_BYTES).rows
    except WorkbookProblem as problem:
        if problem.names:
            kind = (
                "a spreadsheet of another kind (.ods)"
                if "content.xml" in problem.names
                else "a zip, or a document of another kind"
            )
            raise GraderError(
                f"{file} is {kind}. Open it in a spreadsheet, and save it as “CSV UTF-8” or as .xlsx."
            ) from None
        raise GraderError(f"{file} {problem}. {_SAVE}") from None


def column_name(column: int) -> str:
    """What a spreadsheet calls a column: B for the second one (1)."""
    letters, column = "", column + 1
    while column:
        column, rest = divmod(column - 1, 26)
        letters = chr(ord("A") + rest) + letters
    return letters


def tidy(cell: str) -> str:
    """A cell without what spreadsheets and platforms put around it to keep it as it is: ="00123", and without what cannot be seen."""
    text = (
        unicodedata.normalize("NFC", seen(cell))
        .replace("\u00a0", " ")
        .strip("\ufeff\u200b\u200e\u200f \t\r\n")
    )
    kept = re.fullmatch(r'="(.*)"', text)
    return kept[1].strip() if kept else text


def heading(text: str) -> str:
    """A heading as far as it counts."""
    return (
        re.sub(r"[\s_]+", " ", unicodedata.normalize("NFC", text.replace("’", "'")))
        .strip(" :*.\ufeff")
        .casefold()
    )
