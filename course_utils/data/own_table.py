"""A learner's own file as a table of text: CSV with any delimiter, Markdown, fastText, CoNLL, and a word with its tag in each row.

Other forms of text are refused by their names. What is read becomes records; which column is which is asked elsewhere.
"""

from __future__ import annotations

import contextlib
import csv
import io
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from course_utils.data.own import FileProblem, counted
from course_utils.data.own_columns import GROUPS, KNOWN, NAMES, Record, norm

_FORMS = (
    (r"T\d+\t\S+ \d+ \d+", "brat's .ann, which has places in the .txt beside it. Write both as JSON Lines: a text and its spans in each line."),
    (r"#FORMAT=WebAnno", "WebAnno's (INCEpTION's) own TSV. Export it as CoNLL 2002."),
    (r"\d+\|[ta]\|", "PubTator's. Write it as JSON Lines: a text and its spans in each line."),
    (r"(?i)@relation\s", "ARFF, Weka's. In Weka, save it as CSV."),
    (r"(?m)[+-]?\d+(\.\d+)?( \d+:[-+.\deE]+)+\s*$", "LIBSVM's: numbers without texts. The lab needs the texts themselves."),
    (r"(?i)(--.*\n|/\*.*\n|\s)*(CREATE TABLE|INSERT INTO|DROP TABLE)\s", "SQL. Export the table as CSV from the data base."),
    (r"((var|let|const|export default)\s+)?\w+\s*=\s*[\[{]", "JavaScript. Delete what stands before the first bracket, and a semicolon at the end: the rest is JSON."),
    (r"(---\s*\n)?(\w+:[ \t]*\n\s*)?- \w+:", "YAML. Load it with `yaml.safe_load`, and write it with `json.dump`."),
    (r"\[\[?\w+\]\]?\s*\n", "TOML or INI. Write a CSV with text and label."),
    (r"## intent:", "Rasa's Markdown. Convert it to Rasa's JSON, or write a CSV with text and label."),
)  # fmt: skip
"""How some forms begin that are no table, what they are called, and what to do."""

_INLINE = re.compile(r".*(\[[^\]\n]+\]\([\w-]+\)|<(?!(?:[abipu]|em|div|span|h\d|li|td)>)(\w+)>[^<\n]+</\2>)")
"""[Ada](PER), or <PER>Ada</PER>."""

WORDS = ("word", "token", "words", "tokens", "form")
TAGS = ("ner_tags", "ner_tag", "ner", "iob", "bio", "entity", "labels", "label", "tags", "tag")
"""The names of the columns of a table with a word in each row; the first that is there is taken."""

_TAG = re.compile(r"[Oo]|[BIESLUMbieslum][-:_][^\s,;|]+")


def from_text(path: Path, text: str, task: str, notes: list[str]) -> list[Record]:
    """The records of a text that is no JSON.

    Raises:
        FileProblem: it has a form that is not read, or a line of it is wrong.
    """
    lines = [line for line in text[:50_000].splitlines() if line.strip()][:200]
    if lines and (lines[0].lstrip().startswith("__label__") or all("__label__" in line for line in lines)):
        return _from_fasttext(text, notes)
    tab = "\t"
    if any(re.fullmatch(r"\d+(-\d+)?\t[^\t]*(\t[^\t]*){8}", line) for line in lines):
        return _from_conllu(path.name, text, notes)
    delimiter = _conll(lines, task == "entities")
    if (
        delimiter
        or path.suffix.lower() in (".conll", ".iob", ".bio", ".iob2")
        or "-docstart-" in text[:200].lower()
    ):
        tabbed = sum(tab in line for line in lines) > len(lines) / 2
        return _from_conll(path.name, text, notes, delimiter or (tab if tabbed else " "))
    named = _norms_of(lines[0]) & KNOWN if lines else set()
    for beginning, what in _FORMS:
        if not named and re.match(beginning, text.lstrip()):
            raise FileProblem(f"{path.name}: this form is {what}")
    if task == "entities" and not named and _INLINE.match(text.lstrip()):
        raise FileProblem(
            f"{path.name}: this form is text with inline annotation, as in [Ada](PER) or <PER>Ada</PER>. Write each text with its spans: "
            '{"text": "Ada met Bob", "spans": [[0, 3, "PER"]]}.'
        )
    return _from_csv(path.name, text, notes)


def _norms_of(line: str) -> set[str]:
    return {norm(cell) for cell in re.split(r"[,;\t|]", line)}


# ---------------------------------------------------------------------------------- CSV

_DELIMITERS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "vertical bars"}
_RARE = {"^": "carets", "~": "tildes", "\x1f": "unit separators"}


def _from_csv(name: str, text: str, notes: list[str]) -> list[Record]:
    skipped = 0
    said = re.match(r"\"?sep=(.)\"?[^\S\n]*\r?\n", text, re.IGNORECASE)
    if said:
        text, skipped = text[said.end() :], 1
    while (remark := re.match(r"#[^\n]*\n", text)) and not _norms_of(remark[0][1:]) & KNOWN:
        text, skipped = text[remark.end() :], skipped + 1
        notes.append(f"Line {skipped} is a remark, and was skipped.")
    delimiter = said[1] if said else _delimiter(text)
    lines = _lines(name, text, delimiter, skipped, notes)
    if lines and all(len(cells) < 2 for _, cells in lines):
        inside = "\n".join("".join(cells) for _, cells in lines)
        if (other := _delimiter(inside)) in inside.split("\n")[0]:
            lines, delimiter = _lines(name, inside, other, skipped, notes), other
            notes.append("Each line stood in quotation marks, which were taken away.")
    if delimiter == "|":
        ruled = [line for line in lines if not _rule(line[1])]
        if len(ruled) < len(lines):
            notes.append("Form: a table drawn with bars, as in Markdown; lines without letters were skipped.")
            lines = [(number, [cell.strip() for cell in cells]) for number, cells in ruled]
    said_as = {**_DELIMITERS, **_RARE}.get(delimiter, repr(delimiter))
    notes.append(f"Form: CSV, columns separated by {said_as}.")
    return tabled(name, [(f"line {number}", cells) for number, cells in lines], notes, delimiter)


def _delimiter(text: str) -> str:
    best = max(_DELIMITERS, key=lambda each: _fit(text, each))
    if _fit(text, best)[0] < 2:
        best = max([best, *_RARE], key=lambda each: (_fit(text, each)[0] >= 2, each == best))
    return best


def _rule(cells: Sequence[str]) -> bool:
    line = "".join(cells)
    return "--" in line and not re.search(r"[^\s:=+\-]", line)


def _lines(
    name: str, text: str, delimiter: str, skipped: int, notes: list[str]
) -> list[tuple[int, list[str]]]:
    """Each line's number and cells, whatever is meant by its quotation marks."""
    parts = text.split("\n", 1)[0].split(delimiter)[1:]
    spaced = delimiter not in " \t" and bool(parts) and all(part[:1] == " " for part in parts)
    try:
        lines = _not_merged(text, delimiter, _cells(text, delimiter, spaced=spaced), skipped, notes)
    except _Unclosed as problem:
        lines = _otherwise_quoted(text, delimiter, notes)
        if not lines:
            raise FileProblem(
                f"{name}, line {problem.line + skipped}: a quotation mark is not closed, or is followed by more text ({problem}). "
                'Inside a cell, write it twice: "".'
            ) from None
    return [
        (number + skipped, [cells[0].lstrip("\ufeff"), *cells[1:]] if cells else [])
        for number, cells in lines
    ]


def _otherwise_quoted(text: str, delimiter: str, notes: list[str]) -> list[tuple[int, list[str]]]:
    """The lines of a text whose quotation marks do not close as in most CSV; none if they close in no other way."""
    with contextlib.suppress(_Unclosed):
        if delimiter == "\t":  # tab-separated files often have quotes that mean nothing
            return _cells(text, delimiter, csv.QUOTE_NONE)
        if '\\"' in text:  # as MySQL writes it
            return _cells(text, delimiter, escape="\\")
        closer = re.sub(rf'"[ \t]+(?={re.escape(delimiter)}|\r|\n)', '"', text)
        lines = _cells(closer, delimiter, spaced=True)
        if len({len(cells) for _, cells in lines if any(cells)}) == 1:
            notes.append(f"Spaces around {_DELIMITERS.get(delimiter, delimiter)} were left out.")
            return lines
    return []


def _not_merged(
    text: str, delimiter: str, lines: list[tuple[int, list[str]]], skipped: int, notes: list[str]
) -> list[tuple[int, list[str]]]:
    """The lines, where a pair of quotation marks may have made one row of several: with tabs, the marks then mean nothing."""
    merged = [
        (number, cell) for number, cells in lines for cell in cells if "\n" in cell and delimiter in cell
    ]
    if not merged:
        return lines
    apart = _cells(text, delimiter, csv.QUOTE_NONE)
    width = len(lines[0][1])
    if delimiter == "\t" and all(len(cells) == width for _, cells in apart if any(cells)):
        notes.append(
            f"Quotation marks were taken as they stand: those in line {merged[0][0] + skipped} would make one row of several."
        )
        return apart
    widths = {number: len(cells) for number, cells in apart}
    for number, cell in merged:
        if all(widths.get(number + more) == width for more in range(cell.count("\n") + 1)):
            notes.append(
                f"Line {number + skipped}: a cell in quotation marks goes on to line {number + skipped + cell.count(chr(10))}, and each of "
                "these lines looks like a row. If they are rows, write the quotation mark twice."
            )
            break
    return lines


class _Unclosed(Exception):
    def __init__(self, line: int, error: csv.Error) -> None:
        super().__init__(str(error))
        self.line = line


def _cells(
    text: str,
    delimiter: str,
    quoting: int = csv.QUOTE_MINIMAL,
    escape: str | None = None,
    spaced: bool = False,
) -> list[tuple[int, list[str]]]:
    """Each line's number and cells; a cell may go on over several lines."""
    csv.field_size_limit(2**24)
    reader = csv.reader(
        io.StringIO(text, newline=""),
        delimiter=delimiter,
        strict=True,
        quoting=quoting,
        escapechar=escape,
        doublequote=escape is None,
        skipinitialspace=spaced,
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


def _fit(text: str, delimiter: str) -> tuple[int, float]:
    """How well a file is cut by a delimiter: names of columns that are known, then how many lines have as many cells as the header."""
    reader = csv.reader(io.StringIO(text[:50_000], newline=""), delimiter=delimiter)
    try:
        lines = [cells for cells, _ in zip(reader, range(60), strict=False) if cells]
    except csv.Error:
        return (0, 0.0)
    header = lines[_header([*lines[:20]])] if lines else []
    if len(header) < 2:
        return (0, 0.0)
    return (_named(header), sum(len(cells) == len(header) for cells in lines) / len(lines))


# ---------------------------------------------------------------------------------- a table, from whatever


def tabled(
    name: str,
    lines: Sequence[tuple[str, list[Any]]],
    notes: list[str],
    delimiter: str | None = None,
    headed: bool | None = None,
) -> list[Record]:
    """The records of a table.

    Args:
        lines: where each stands ("line 7"), and its cells.
        delimiter: of a text; None where cells cannot have run together.
        headed: whether the first line has the names of the columns; None where that is to be seen.

    Raises:
        FileProblem: a line has too many cells, or two columns have one name.
    """
    full = [
        number for number, (_, cells) in enumerate(lines) if any(str(cell or "").strip() for cell in cells)
    ]
    if not full:
        return []
    top = full[_header([lines[number][1] for number in full[:20]])]
    if top != full[0]:
        notes.append(
            f"The header seems to be {lines[top][0]}; what stands above was skipped, such as “{_shown(lines[full[0]][1])}”."
        )
    header = [str(cell or "").strip() for cell in lines[top][1]]
    if delimiter and sum(map(bool, header)) < 2 and not _named(header):
        raise FileProblem(
            f"{name}, {lines[top][0]}: there is one column only, and it is called “{_shown(header)}”. Columns are separated by "
            "commas, semicolons, tabs or vertical bars, and the first line has their names, such as text,label."
        )
    below = [cells for _, cells in lines[top + 1 :]]
    first = top + 1
    if headed is False or (
        headed is None and _is_a_row(header, [cells for cells in below[:200] if any(cells)])
    ):
        header, first = [f"column {number}" for number in range(1, len(lines[top][1]) + 1)], top
        notes.append("The first line is no header, so it was taken as a row.")
    if delimiter is None:
        header += [""] * (max(map(len, below), default=0) - len(header))
    header = _told_apart(name, lines[top][0], header, below)
    rows = full[full.index(top) :]
    if empty := len(lines) - top - len(rows):
        notes.append(f"{counted(empty, 'empty line')} skipped.")
    by_blank = full[-1] - top + 1 > len(rows) and not any(
        norm(each).startswith(("sent", "doc")) for each in header
    )
    by_blank = by_blank and _one_of(header, WORDS) and _one_of(header, TAGS)
    records: list[Record] = []
    again: list[str] = []
    sentence, known = 1, [norm(each) for each in header]
    filled = set(full)
    for number in range(first, len(lines)):
        place, cells = lines[number]
        if number not in filled:
            sentence += 1
            continue
        if any(str(cell or "").strip() for cell in cells[len(header) :]):
            raise FileProblem(
                f"{name}, {place}: there are {len(cells)} cells, and the header has {len(header)}. If a text contains "
                f"the character {delimiter!r}, put the text in quotation marks"
                + (', straight ones: ".' if re.search("[“”„]", "".join(map(str, cells))) else ".")
            )
        if (
            number > top
            and norm(cells[0]) == known[0]
            and len(cells) > 1
            and [norm(cell) for cell in cells] == known[: len(cells)]
        ):
            again.append(place)
            continue
        record = dict(zip(header, cells, strict=False))
        records.append((place, {**record, "sentence (by blank lines)": sentence} if by_blank else record))
    if again:
        notes.append(f"The header stands there again, and was skipped: {', '.join(again[:5])}.")
    return records


def _shown(cells: Iterable[Any]) -> str:
    text = ", ".join(str(cell) for cell in cells if str(cell or "").strip())[:60]
    return "".join(char if char.isprintable() else " " for char in text)


def _named(cells: Sequence[Any]) -> int:
    """How many different known names of columns are among some cells."""
    return len({norm(cell) for cell in cells} & KNOWN)


def _header(lines: Sequence[Sequence[Any]]) -> int:
    """Which line has the names of the columns: the first, unless a wider one below has more names, and two at least.

    Lines of a single cell above a table are a title, whatever the names below are.
    """
    best = max(range(len(lines)), key=lambda number: (_named(lines[number]), -number))
    width = [sum(bool(str(cell or "").strip()) for cell in cells) for cells in lines]
    named = _named(lines[best])
    if named >= 2 and named > _named(lines[0]) and (width[0] < width[best] or not _named(lines[0])):
        return best
    wide = [number for number, cells in enumerate(width) if cells > 1]
    if wide and len(wide) == len(lines) - wide[0] >= 3 and not any(map(_named, lines[: wide[0]])):
        return wide[0]
    return 0


def _told_apart(name: str, place: str, header: list[str], below: Sequence[Sequence[Any]]) -> list[str]:
    """The names of the columns, each once.

    Raises:
        FileProblem: a name that the reader knows is there twice.
    """
    names: list[str] = []
    for number, column in enumerate(header):
        if not column and any(str(cells[number] or "").strip() for cells in below if number < len(cells)):
            column = f"column {number + 1}"
        if column and column in names:
            if norm(column) in KNOWN:
                raise FileProblem(
                    f"{name}, {place}: two columns are called {column!r}, the {names.index(column) + 1}. and the {number + 1}. "
                    "Rename the one that is not meant."
                )
            column = f"{column} ({number + 1})"
        names.append(column)
    return names


def _is_a_row(header: Sequence[str], lines: Sequence[Sequence[str]]) -> bool:
    """Whether the first line is a row like the others: none of its cells is the name of a column, and one is there again below."""
    if _named(header):
        return False
    return any(
        cell in {line[place] for line in lines if place < len(line)} for place, cell in enumerate(header)
    )


def _one_of(columns: Iterable[str], names: Iterable[str]) -> str | None:
    by_norm = {norm(column): column for column in columns}
    return next((by_norm[name] for name in names if name in by_norm), None)


# ---------------------------------------------------------------------------------- a line for each text, or for each word


def _from_fasttext(text: str, notes: list[str]) -> list[Record]:
    """Labels, each after ``__label__``, and then the text; or before them."""
    notes.append("Form: fastText, a text and its labels on each line.")
    records: list[Record] = []
    for number, line in enumerate(re.split(r"\r\n|\r|\n", text), 1):
        if not line.strip():
            continue
        labels, words = re.match(r"((?:\s*__label__\S+)*)(.*)", line).groups()
        if not labels:
            words, labels = re.match(r"(.*?)((?:\s*__label__\S+)*)\s*$", line).groups()
        records.append(
            (f"line {number}", {"text": words.strip(), "label": re.findall(r"__label__(\S+)", labels)})
        )
    return records


def _tags_in(rows: Sequence[Sequence[str]]) -> int | None:
    """The last column of which all cells are tags, counted from the end (-1); None if there is none."""
    width = min(map(len, rows), default=0)
    for column in range(-1, -width, -1):
        tags = {cells[column] for cells in rows}
        if tags - {"0", "_", "-", "o"} and all(_TAG.fullmatch(tag) or tag in ("0", "_", "-") for tag in tags):
            return column
    return None


def _conll(lines: Sequence[str], entities: bool) -> str | None:
    """The delimiter of lines that all have a tag; None if they do not. A table with a tag in each row has a header.

    Args:
        entities: tags without B- and I- are seen, too, if there is an O among them.
    """
    for delimiter in ("\t", " ", ";", ",", "|"):
        rows = [cells for line in lines if (cells := _split(line, delimiter)) and not _comment(cells)]
        if delimiter == " " and all("\t" in line for line in lines):
            continue  # the spaces are those of texts
        if not rows or min(map(len, rows)) < 2 or (delimiter in ";,|" and len({*map(len, rows)}) > 1):
            continue
        rows = [cells for cells in rows if cells[0] != "-DOCSTART-"]
        last = [cells[-1] for cells in rows]
        if _tags_in(rows) is not None:
            return delimiter
        plain = all(re.fullmatch(r"[\w.&/-]+", tag) and not tag.isdigit() for tag in last)
        few = len(set(last)) <= max(2, len(last) / 2) and len({*map(len, rows)}) == 1
        if entities and {"O", "o"} & set(last) and plain and few and not _named(rows[0]):
            return delimiter
    return None


def _split(line: str, delimiter: str) -> list[str]:
    line = line.strip(" \r\n")
    if not line.strip():
        return []
    if delimiter == " ":  # a space that does not break is part of a word
        return re.split(r"[ \t]+", line.strip())
    if delimiter == "\t":
        return [cell.strip(" ") for cell in line.strip("\t").split("\t")]
    cells = next(csv.reader([line], delimiter=delimiter), [])
    return cells if any(cells) else []


def _comment(cells: Sequence[str]) -> bool:
    return cells[0].startswith("#") and (len(cells) < 2 or not _TAG.fullmatch(cells[-1]))


def _from_conll(name: str, text: str, notes: list[str], delimiter: str) -> list[Record]:
    """A word and its tag on each line (the first column and the last), an empty line between texts.

    Raises:
        FileProblem: a line has no tag, or more columns than others.
    """
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    simple = delimiter == " " and not re.search(r"[^\S \t\n]", text)
    lines = [line.split() if simple else _split(line, delimiter) for line in text.split("\n")]
    real = [cells for cells in lines if cells and not _comment(cells) and cells[0] != "-DOCSTART-"]
    headed = bool(real) and norm(real[0][0]) in WORDS and norm(real[0][-1]) in TAGS
    body = real[headed:]
    width = len(body[0]) if body else 0
    even = [cells for cells in body if len(cells) == width]
    word = int(width > 2 and all(cells[0].isdigit() for cells in body))  # each line may begin with its number
    tag = _tags_in(even)
    if tag is None and even and width > 1 and not {"O", "o"} & {cells[-1] for cells in even}:
        raise FileProblem(
            f"{name}: no column has tags, such as B-PER and O; the first line has {', '.join(even[0])}."
        )
    tag = -1 if tag is None else tag
    if word and width == 4 and tag == -1 and all(_TAG.fullmatch(cells[2]) for cells in even):
        tag = -2  # GermEval: the inner names stand last
    of_words = f"column {word + 1}" if word else "the first column"
    of_tags = "the last" if tag == -1 else f"column {width + tag + 1}"
    notes.append(f"Form: CoNLL, {of_words} as words, {of_tags} as tags.")
    records: list[Record] = []
    words: list[str] = []
    tags: list[str] = []
    begins, group, remarks = 1, 0, 0
    for number, cells in enumerate([*lines, []], 1):
        if cells[:1] == ["-DOCSTART-"]:
            group += 1
        elif not cells:
            if words:
                record = {"tokens": words, "ner_tags": tags} | ({"group": str(group)} if group else {})
                records.append((f"line {begins}", record))
            words, tags, begins = [], [], number + 1
        elif _comment(cells):
            remarks += 1
            group += bool(re.match(r"#\s*newdoc\b", " ".join(cells)))
        elif headed and cells is real[0]:
            begins = number + 1
        elif len(cells) < 2:
            raise FileProblem(
                f"{name}, line {number}: “{cells[0]}” has no tag. Each line has a word and its tag, such as B-PER or O."
            )
        elif len(cells) != width:
            raise FileProblem(
                f"{name}, line {number}: there are {len(cells)} columns, and {width} in the lines before. A word with a space in it "
                "needs tabs between columns; a tag has no space."
            )
        else:
            words.append(cells[word])
            tags.append(cells[tag])
    if remarks:
        notes.append(f"{counted(remarks, 'line')} with remarks, beginning with #, skipped.")
    if len(records) == 1 and len(records[0][1]["tokens"]) > 200:
        notes.append(
            "No empty line separates sentences, so all of it is one text. Put an empty line after each sentence."
        )
    return records


def _from_conllu(name: str, text: str, notes: list[str]) -> list[Record]:
    """CoNLL-U, if its last column has entities, as in NE=B-PER.

    Raises:
        FileProblem: it has none.
    """
    entity = re.compile(r"(?:^|\|)(?:NE|NER|NamedEntity|Entity)=([^|\s]+)")
    lines = []
    for line in re.split(r"\r\n|\r|\n", text):
        cells = line.split("\t")
        found = entity.search(cells[-1])
        kept = len(cells) == 10 and cells[0].isdigit()
        lines.append(
            f"{cells[1]}\t{found[1] if found else 'O'}" if kept else "" if cells == [""] else "# remark"
        )
    if not entity.search(text.replace("\t", "|")):
        raise FileProblem(
            f"{name}: this form is CoNLL-U, words with their grammar, and no entities are in it (NE=B-PER in the last column). "
            "Write a word and its tag in each line, such as Ada B-PER."
        )
    notes.append("Form: CoNLL-U, the entities in its last column.")
    return _from_conll(name, "\n".join(lines), notes, "\t")


def sentences(name: str, records: list[Record], notes: list[str]) -> list[Record]:
    """The sentences of a table with a word and its tag in each row; of any other table the records as they are.

    Raises:
        FileProblem: there is no column that says where a sentence begins.
    """
    columns = [column for column in records[0][1] if column]
    word, tag = _one_of(columns, WORDS), _one_of(columns, TAGS)
    some = [record.get(word) for _, record in records[:200] if record.get(word) not in (None, "")]
    if (
        word is None
        or tag is None
        or not all(re.fullmatch(r"\s*[^\s\[][^\s]*\s*|\[", str(one)) for one in some)
    ):
        return records
    sentence = next(
        (each for kind in ("sent", "doc") for each in columns if norm(each).startswith(kind)), None
    )
    if sentence is None:
        raise FileProblem(
            f"{name} has a word in each row, and no column that says to which sentence it belongs. Add one, sentence, with its number."
        )
    group = _one_of([each for each in columns if each != sentence], [norm(name) for name in GROUPS.split()])
    notes.append(f"Form: a word in each row; {sentence!r} says where a sentence begins.")
    found: list[Record] = []
    current, without = None, 0
    for place, record in records:
        given, of = str(record.get(sentence) or "").strip(), str(record.get(group) or "").strip()
        if (
            not found
            or (given not in ("", current and current[0]))
            or (of not in ("", current and current[1]))
        ):
            current = (given, of)  # the number may stand at the first word only
            found.append((place, {"tokens": [], "ner_tags": [], **({group: of} if group else {})}))
        if str(record.get(word) or "").strip():
            found[-1][1]["tokens"].append(str(record[word]).strip())
            found[-1][1]["ner_tags"].append(str(record.get(tag) or "O").strip())
            without += not str(record.get(tag) or "").strip()
    if without:
        notes.append(f"{counted(without, 'word')} without a tag: no part of a name, as if there were an O.")
    return found


_STARTS = ("start", "start_offset", "start_char", "begin", "begin_offset")
_ENDS = ("end", "end_offset", "end_char", "stop")
_KINDS = ("label", "type", "entity_type", "entity_label", "category", "class", "tag")


def mentions(name: str, records: list[Record], notes: list[str]) -> list[Record]:
    """The texts of a table with an entity and its place in each row; of any other table the records as they are.

    Raises:
        FileProblem: a place is no whole number.
    """
    columns = [column for column in records[0][1] if column]
    text = _one_of(columns, NAMES["entities"]["text"].split())
    start, end, kind = (_one_of(columns, names) for names in (_STARTS, _ENDS, _KINDS))
    if None in (text, start, end, kind) or str(records[0][1].get(kind)).startswith("["):
        return records
    found: dict[str, Record] = {}
    for place, record in records:
        given = str(record.get(text) or "")
        _, merged = found.setdefault(given, (place, {**record, "spans": []}))
        places = [str(record.get(column) or "0").strip() for column in (start, end)]
        if not str(record.get(kind) or "").strip():  # a text without entities
            continue
        if not all(re.fullmatch(r"-?\d+(\.0+)?", each) for each in places):
            raise FileProblem(
                f"{name}, {place}: {start!r} and {end!r} must be whole numbers, counted in characters; they are {', '.join(map(repr, places))}."
            )
        span = [*(int(float(each)) for each in places), str(record[kind]).strip()]
        if span not in merged["spans"]:
            merged["spans"].append(span)
    notes.append(
        f"Form: an entity in each row; {counted(len(records), 'row')} became {counted(len(found), 'text')}."
    )
    used = (start, end, kind)
    return [
        (place, {column: value for column, value in record.items() if column not in used})
        for place, record in found.values()
    ]
