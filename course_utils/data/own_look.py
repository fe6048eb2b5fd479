"""What stands out in the rows of a learner's own file: notes about values that may be wrong, and what to do about a fault."""

from __future__ import annotations

import html
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from course_utils.data.own import COLUMNS, FileProblem, Row, counted
from course_utils.data.own_columns import listed
from course_utils.data.own_json import kind_of

_NOTHING = {"na", "n/a", "nan", "none", "null", "nil", "\\n", "#n/a", "#nv", "#na", "-", "--", "?", "<na>", "missing", "undefined", "nat", "-1"}  # fmt: skip
"""What programs and people write where there is nothing, in small letters."""

_ONE_CLASS = "Each counts as a class of its own. If one is meant, write it alike in the file."

_LOOK_ALIKE = str.maketrans("аеорсухіјѕвнкмтαορνικ", "aeopcyxijsbhkmtaopvik")
"""Small letters of Cyrillic and Greek that look like Latin ones."""


def look(rows: Sequence[Row], places: Sequence[str], task: str) -> list[str]:
    """A sentence about each thing that may be wrong in the rows, although each row by itself is sound."""
    notes: list[str] = []
    text = "context" if "context" in COLUMNS[task] else "text"
    for column in (text, "label", "group"):
        notes += _nothing([row.get(column) for row in rows], places, column)
    notes += _markup([row.get(text) for row in rows], places)
    if task == "classification":
        labels = [row["label"] for row in rows if isinstance(row.get("label"), str)]
        notes += _labels(Counter(labels), rows, places)
    elif "spans" in COLUMNS[task]:
        notes += _spans(rows, places)
        names = Counter(span[2] for row in rows for span in row["spans"])
        notes += _alike(names, "Labels", _ONE_CLASS)
    else:
        notes += _questions(rows, places)
    groups = Counter(row["group"] for row in rows if isinstance(row.get("group"), str))
    if len(groups) < len(rows):
        notes += _alike(groups, "Groups", "Rows of one group must stay together; give them one name.")
    halves = [
        number for number, row in enumerate(rows) if any(isinstance(each, bytes) for each in row.values())
    ]
    if halves:
        notes.append(
            f"Bytes that are no text, or half of a character: {_where(halves, places)}. These rows have a fault."
        )
    return notes


def refuse_if_none_is_sound(name: str, rows: Sequence[Row], places: Sequence[str], task: str) -> None:
    """
    Raises:
        FileProblem: every row lacks something. The message says what the first one lacks.
    """
    lacking: list[str] = []
    for row in rows:
        wrong = [
            c for c, kind in COLUMNS[task].items() if type(row.get(c)) is not kind or not str(row[c]).strip()
        ]
        if not wrong:
            return
        lacking.append(wrong[0])
    column = lacking[0]
    raise FileProblem(
        f"{name}: no row can be used, of {len(rows)}. Row 1 ({places[0]}), column {column}: {cure(rows[0], column, task)}"
    )


def _where(numbers: Sequence[int], places: Sequence[str]) -> str:
    """The places of some rows, counted from 0."""
    return ", ".join(places[number] for number in numbers[:3]) + (
        f" and {len(numbers) - 3} more" if len(numbers) > 3 else ""
    )


def _nothing(values: Sequence[Any], places: Sequence[str], column: str) -> list[str]:
    found: dict[str, list[int]] = {}
    for number, value in enumerate(values):
        if isinstance(value, str) and len(value) < 12 and value.strip().casefold() in _NOTHING:
            found.setdefault(value, []).append(number)
    return [
        f"{column.capitalize()} {value!r}, in {counted(len(numbers), 'row')} ({_where(numbers, places)}), may stand for nothing. If so, empty these cells."
        for value, numbers in found.items()
    ]


_MARKUP = re.compile(r"</[a-z]\w*>|<br ?/?>|&(amp|lt|gt|quot|nbsp|#\d+);", re.IGNORECASE)


def _markup(texts: Sequence[Any], places: Sequence[str]) -> list[str]:
    found = [number for number, text in enumerate(texts) if isinstance(text, str) and _MARKUP.search(text)]
    if len(found) * 10 < len(texts):
        return []
    sign = _MARKUP.search(texts[found[0]])[0]
    return [
        f"Texts with HTML, such as {sign!r}: {len(found)} of {len(texts)} ({_where(found, places)}). A model reads it as words."
    ]


def _labels(labels: Counter[str], rows: Sequence[Row], places: Sequence[str]) -> list[str]:
    notes = _alike(labels, "Labels", _ONE_CLASS)
    if len(labels) > 20 and len(labels) > labels.total() / 5:
        notes.append(
            f"There are {len(labels)} different labels in {labels.total()} rows. Are these classes, or was another column meant?"
        )
    if len(labels) == 1 and labels.total() > 1:
        notes.append(f"All rows have the label {next(iter(labels))!r}. There is nothing to tell apart.")
    if len(labels) > 1 and labels.total() >= 10 and sum(count > 2 for count in labels.values()) < 2:
        notes.append(
            "Fewer than two labels have three rows or more, and section 2 cannot split the file without that."
        )
    several = [
        label for label in labels
        if len(parts := [part.strip() for part in re.split(r"[,;|#/+]", label)]) > 1 and all(part in labels for part in parts)
    ]  # fmt: skip
    if several:
        notes.append(
            f"Labels that seem to be several in one: {listed(several, 5)}. Each counts as a class of its own."
        )
    once = [label for label, count in labels.items() if count == 1]
    if once and len(once) <= len(labels) / 2 and labels.total() >= 5:
        at = [number for number, row in enumerate(rows) if row.get("label") in once]
        notes.append(f"Labels of a single row: {listed(once, 5)} ({_where(at, places)}). Are they meant?")
    length = [len(row["text"]) for row in rows if isinstance(row.get("text"), str)]
    if labels and length:
        usual = sum(len(label) * count for label, count in labels.items()) / labels.total()
        if usual > 40 and usual > sum(length) / len(length):
            notes.append("The labels are longer than the texts: are the columns the wrong way round?")
    return notes


def _folded(label: str) -> str:
    """A label in a form in which those that may be the same are equal."""
    plain = unicodedata.normalize("NFKC", html.unescape(label)).casefold()
    plain = "".join(
        char for char in plain if unicodedata.category(char) not in ("Cf", "Cc") or char.isspace()
    )
    plain = " ".join(plain.translate(_LOOK_ALIKE).split()).strip("\"'“”„‘’ ")
    if re.fullmatch(r"[+-]?\d+([.,]\d+)?", plain):
        return str(float(plain.replace(",", ".")))
    plain = {"true": "1.0", "false": "0.0"}.get(plain, plain)
    return re.sub(r"[\s_\-]+", " ", plain).strip(" .:;") or plain


def _alike(names: Counter[str], what: str, so: str) -> list[str]:
    alike: dict[str, list[str]] = {}
    for name in names:
        alike.setdefault(_folded(name), []).append(name)
    several = [each for folded, each in alike.items() if folded and len(each) > 1]
    return [
        f"{what} that may be the same: {', '.join(map(_visible, each))}. {so}" for each in several[:5]
    ] + ([f"{len(several) - 5} more such {what.lower()}."] if len(several) > 5 else [])


def _visible(name: str) -> str:
    """A name between quotation marks, in which letters that look like others are told apart, too."""
    letters = [char for char in name if not char.isascii()]
    odd = (
        any(unicodedata.combining(char) for char in letters)
        or name.casefold().translate(_LOOK_ALIKE) != name.casefold()
    )
    return ascii(name) if odd else repr(name)


def _inside_word(text: str, place: int) -> bool:
    """Whether a place is between two letters of one word, in a script that has spaces between words."""
    around = text[place - 1 : place + 1] if 0 < place < len(text) else ""
    return len(around) == 2 and around.isalnum() and max(around) < "\u0e00"


def _spans(rows: Sequence[Row], places: Sequence[str]) -> list[str]:
    begin, end, spaces, total = [], [], [], 0
    example = ""
    for index, row in enumerate(rows):
        text = row.get("text")
        if not isinstance(text, str):
            continue
        for first, last, _ in row["spans"]:
            total += 1
            if not 0 <= first < last <= len(text):
                continue
            if _inside_word(text, last):
                end.append(index)
                example = example or text[first:last]
            if _inside_word(text, first):
                begin.append(index)
                example = example or text[first:last]
            if text[first:last] != text[first:last].strip():
                spaces.append(index)
    notes = []
    if end or begin:
        both = sorted({*begin, *end})
        cause = (
            "Are the ends inclusive? Then add 1 to each."
            if len(end) > len(begin)
            else "Do places count from 1, or in bytes?"
        )
        if any(ord(char) > 0xFFFF for number in both[:100] for char in rows[number]["text"]):
            cause = "Some tools count an emoji as two characters."
        notes.append(
            f"Spans that begin or end in the middle of a word: {len(begin) + len(end)} of {total}, such as {example[:40]!r} "
            f"({_where(both, places)}). {cause}"
        )
    if spaces:
        notes.append(f"Spans with spaces at their ends: {len(spaces)} of {total} ({_where(spaces, places)}).")
    if rows and not total:
        notes.append("No row has a span, so there is nothing to learn. Is it the right column?")
    return notes


def _questions(rows: Sequence[Row], places: Sequence[str]) -> Iterable[str]:
    long = [
        number for number, row in enumerate(rows)
        if isinstance(row.get("question"), str) and len(row["question"]) > 100
        and len(re.findall(r"[^\W\u2e80-\U0003ffff]+|\S", row["question"])) > 100
    ]  # fmt: skip
    contexts = Counter(str(row.get("context")) for row in rows)
    if len({row.get("group") for row in rows}) == len(rows) > len(contexts):
        yield "Several questions have one context, and each is a group of its own: add a column, group, with a number for each context."
    if long:
        yield f"{counted(len(long), 'question')} of more than 100 words ({_where(long, places)}): a model reads the first 128 word pieces of a question."


# ---------------------------------------------------------------------------------- what is to be done about faults


def cure(row: Mapping[str, Any], column: str, task: str) -> str:
    """What is wrong at a place that `validate_rows` found, and what to do about it: one sentence."""
    value, kind = row.get(column), COLUMNS[task][column]
    context, answer = row.get("context"), row.get("answer")
    if column == "start" and isinstance(context, str) and isinstance(answer, str) and answer not in context:
        found = (
            re.search(r"\s+".join(map(re.escape, answer.split())), context, re.IGNORECASE)
            if answer.strip()
            else None
        )
        meant = f" There stands {found[0][:40]!r}." if found else ""
        return f"the answer {answer[:40]!r} does not stand in the context; copy it from there, letter by letter.{meant}"
    if value is None or not str(value).strip():
        return "it is empty; fill it in, or delete the row."
    if column == "label" and isinstance(value, list):
        return f"it has {len(value)} labels; keep one, or make a task of each."
    if isinstance(value, bytes):
        return f"{str(value)[1:40]} has half of a character, or bytes that are no text; write it anew, or delete the row."
    if not isinstance(value, kind):
        return f"{str(value)[:40]!r} is {kind_of(value)}, and the others are {_KINDS[kind]}; write one."
    if column == "spans":
        size = len(str(row.get("text", "")))
        wrong = next(
            ([start, end, label] for start, end, label in value if not 0 <= start < end <= size), None
        )
        emoji = any(ord(char) > 0xFFFF for char in str(row.get("text", "")))
        return (
            f"{wrong} does not fit a text of {size} characters: 0 ≤ start < end ≤ {size}; the end is the place after the last character."
            + (" Some tools count an emoji as two characters." if emoji else "")
        )
    if column == "start" and isinstance(context, str) and isinstance(answer, str):
        places = [found.start() for found in re.finditer(re.escape(answer), context)]
        return f"the answer does not stand at {value}; write {' or '.join(map(str, places[:3]))}."
    return "look at it."


_KINDS = {str: "texts", list: "lists of spans", int: "whole numbers"}
