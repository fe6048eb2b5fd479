"""A text with named entities in it, and files of such texts.

:func:`load_entities` reads columns as in CoNLL-2003 (Tjong Kim Sang and De Meulder 2003, "Introduction to the
CoNLL-2003 shared task") and the JSON lines of two annotation tools, doccano and DataTurks. Whatever the file, the
result is the same, and anything that cannot be used is reported with its row and the reason.
"""

from __future__ import annotations

import itertools
import json
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

MAX_BAD_ROWS = 20
"""This many are reported one by one; the others are counted."""


class Entity(NamedTuple):
    """A span of a text that names something: ``text[start:end]``, counted in characters, ``end`` exclusive."""

    start: int
    end: int
    label: str


@dataclass(frozen=True)
class EntityExample:
    """A text and the entities in it.

    As they come from annotators, entities may overlap, be in any order, and begin or end with white space.
    """

    text: str
    entities: tuple[Entity, ...]


@dataclass(frozen=True)
class BadRow:
    """A part of a file that cannot be used.

    Attributes:
        file: name of the file.
        row: where in the file: ``line 12``.
        reason: what is wrong with it.
    """

    file: str
    row: str
    reason: str

    def __str__(self) -> str:
        return f"{self.file}: {self.row}: {self.reason}"


def load_entities(path: str | Path) -> tuple[list[EntityExample], list[BadRow]]:
    """The annotated texts of a file; its format is recognised.

    * Columns: a token and its tag on each line, with anything between them; an empty line ends a sentence, which
      becomes one text with a space between the tokens. Tags are BIO (every entity begins with B-) or IOB1 (B- only
      where an entity follows another one of its type).
    * doccano: on each line ``{"text": ..., "label": [[start, end, label], ...]}``, or with ``"entities": [{"start_offset",
      "end_offset", "label"}, ...]``.
    * DataTurks: on each line ``{"content": ..., "annotation": [{"label": [...], "points": [{"start", "end", "text"}]}]}``,
      where ``end`` is the last character and not the one after it.

    A text with one wrong annotation is left out entirely: half of its entities would teach a model that the others
    are none. Nothing is cleaned: see :class:`EntityExample`.

    Returns:
        The usable texts in the order of the file, and the rows that are left out, each with the reason. If there are
        many of these, the last one counts the rest.

    Raises:
        ValueError: there is no such file, or nothing in it can be used.
    """
    path = Path(path)
    try:
        lines = path.read_bytes().removeprefix(b"\xef\xbb\xbf").split(b"\n")
    except OSError as error:
        raise ValueError(f"{path.name} cannot be read: {error.strerror}. Is the path {path} right?") from None
    first = next((line.strip() for line in lines if line.strip()), b"")
    examples: list[EntityExample] = []
    bad: list[BadRow] = []
    found = _json_lines(lines) if first.startswith((b"{", b"[")) else _columns(lines)
    for number, result in found:
        if isinstance(result, EntityExample):
            examples.append(result)
        else:
            bad.append(BadRow(path.name, f"line {number}", str(result)))
    if not examples:
        problem = f"The first of {len(bad)} problems: {bad[0]}." if bad else "There is nothing in it."
        raise ValueError(f"No text of {path.name} can be used. {problem}")
    if len(bad) > MAX_BAD_ROWS:
        rest = len(bad) - MAX_BAD_ROWS
        bad[MAX_BAD_ROWS:] = [
            BadRow(path.name, f"after {bad[MAX_BAD_ROWS - 1].row}", f"{rest} more cannot be used")
        ]
    return examples, bad


class _Unusable(ValueError):
    """What is wrong with a row; the message is the reason that is reported."""


Found = Iterator[tuple[int, EntityExample | _Unusable]]
"""The number of a line, and what was found there."""


def _decoded(line: bytes) -> str:
    try:
        return line.decode("utf-8").removesuffix("\r")
    except UnicodeDecodeError as error:
        raise _Unusable(f"not UTF-8 text: {error.reason} at byte {error.start}") from None


# ---------------------------------------------------------------------------------- JSON lines


def _json_lines(lines: Iterable[bytes]) -> Found:
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            yield number, _json_example(_decoded(line))
        except _Unusable as reason:
            yield number, reason


def _json_example(line: str) -> EntityExample:
    try:
        row = json.loads(line)
    except RecursionError:
        raise _Unusable("JSON that is nested too deeply") from None
    except ValueError as error:
        raise _Unusable(f"not JSON: {error}") from None
    if not isinstance(row, dict):
        raise _Unusable(f"expected an object {{...}}, but this is {_kind(row)}")
    if "content" in row:
        text, entities = _text(row, "content"), _dataturks(row)
    elif "text" in row:
        text, entities = _text(row, "text"), _doccano(row)
    else:
        raise _Unusable('there is neither "text" (as doccano writes it) nor "content" (as DataTurks does)')
    return EntityExample(text, tuple(_checked(entity, quote, text) for entity, quote in entities))


def _text(row: dict[str, Any], key: str) -> str:
    text = row[key]
    if not isinstance(text, str) or not text.strip():
        raise _Unusable(f'"{key}" must be a text, but is {_kind(text)}')
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        raise _Unusable(f'"{key}" contains half a character (a lone surrogate)') from None
    return text


Annotation = tuple[tuple[Any, Any, Any], str | None]
"""Start, end (exclusive) and label as the file has them, and the text that the file says is there."""


def _doccano(row: dict[str, Any]) -> Iterator[Annotation]:
    key = next((key for key in ("label", "labels", "entities") if key in row), None)
    if key is None:
        raise _Unusable('there is neither "label" nor "entities"; a text without entities has an empty list')
    for entity in _list(row[key], f'"{key}"'):
        if isinstance(entity, dict):
            yield tuple(entity.get(part) for part in ("start_offset", "end_offset", "label")), None
        elif isinstance(entity, list) and len(entity) == 3:
            yield tuple(entity), None
        else:
            raise _Unusable(f'"{key}" must hold [start, end, label], and holds {_kind(entity)}')


def _dataturks(row: dict[str, Any]) -> Iterator[Annotation]:
    for annotation in _list(row.get("annotation") or [], '"annotation"'):  # null: nothing was marked
        if not isinstance(annotation, dict):
            raise _Unusable(f'"annotation" must hold objects {{...}}, and holds {_kind(annotation)}')
        labels = annotation.get("label")
        labels = _list([labels] if isinstance(labels, str) else labels, '"label"')
        points = _list(annotation.get("points"), '"points"')
        if not labels or not points:
            raise _Unusable('an annotation has no "label" or no "points"')
        for label, point in itertools.product(labels, points):
            if not isinstance(point, dict):
                raise _Unusable(f'"points" must hold objects {{...}}, and holds {_kind(point)}')
            start, last, quote = (point.get(part) for part in ("start", "end", "text"))
            end = last + 1 if _is_number(last) else last
            yield (start, end, label), quote if isinstance(quote, str) else None


def _checked(found: tuple[Any, Any, Any], quote: str | None, text: str) -> Entity:
    start, end, label = found
    if not isinstance(label, str) or not label.strip():
        raise _Unusable(f"a label must be a text, but is {_kind(label)}")
    if not _is_number(start) or not _is_number(end):
        raise _Unusable(
            f"the positions of {label!r} must be whole numbers, but are {_kind(start)} and {_kind(end)}"
        )
    if not 0 <= start < end <= len(text):
        raise _Unusable(
            f"{label!r} goes from character {_short(start)} to {_short(end)} of a text of {len(text)} characters"
        )
    # Tools differ in how they count (emoji as two characters, line ends as two): the quotation shows it.
    if quote is not None and quote.split() != text[start:end].split():
        raise _Unusable(
            f"{label!r} is {_short(quote)} according to its quotation, but {_short(text[start:end])} according to its position"
        )
    return Entity(start, end, label)


def _list(value: Any, name: str) -> list[Any]:
    if not isinstance(value, list):
        raise _Unusable(f"{name} must be a list, but is {_kind(value)}")
    return value


def _is_number(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _kind(value: Any) -> str:
    """A value in words, for a message."""
    match value:
        case None:
            return "missing"
        case dict():
            return "an object"
        case list():
            return f"a list of {len(value)}"
        case _:
            return _short(value)


def _short(value: Any) -> str:
    try:
        words = repr(value)
    except ValueError:  # Python refuses to print a number of thousands of digits
        return "a huge number"
    return words if len(words) <= 40 else words[:36] + " ..."


# ---------------------------------------------------------------------------------- columns


class _Token(NamedTuple):
    line: int
    text: str
    prefix: str  # "B", "I" or "O"
    label: str  # "" outside of entities


def _columns(lines: Iterable[bytes]) -> Found:
    sentences = list(_sentences(lines))
    # An entity that follows none of its own type begins with B- in BIO and with I- in IOB1: the majority decides.
    firsts = Counter(
        token.prefix
        for sentence in sentences
        if isinstance(sentence, list)
        for token, before in _with_previous(sentence)
        if token.label and token.label != before
    )
    begin = "I" if firsts["I"] > firsts["B"] else "B"
    for sentence in sentences:
        yield sentence if isinstance(sentence, tuple) else _column_example(sentence, begin)


def _sentences(lines: Iterable[bytes]) -> Iterator[list[_Token] | tuple[int, _Unusable]]:
    """The sentences between empty lines; for one with wrong lines, the first of these."""
    sentence: list[_Token] = []
    wrong = None
    for number, line in enumerate(itertools.chain(lines, [b""]), 1):
        try:
            token = _token(number, _decoded(line))
        except _Unusable as reason:
            wrong = wrong or (number, reason)
            continue
        if token is not None:
            sentence.append(token)
            continue
        if wrong or sentence:
            yield wrong or sentence
        sentence, wrong = [], None


def _token(number: int, line: str) -> _Token | None:
    """The token of a line; None if the line ends a sentence."""
    columns = line.split("\t") if "\t" in line else line.split()
    if not line.strip() or columns[0] == "-DOCSTART-":
        return None
    if len(columns) < 2 or not columns[0].strip():
        raise _Unusable(f"expected a token and its tag, but found {_short(line)}")
    tag = columns[-1].strip()
    prefix, _, label = tag.partition("-")
    if tag != "O" and (prefix not in ("B", "I") or not label):
        raise _Unusable(f"the tag {_short(tag)} is neither O nor B-... nor I-...")
    return _Token(number, columns[0], prefix, label)


def _with_previous(sentence: list[_Token]) -> Iterator[tuple[_Token, str]]:
    """Each token, and the label of the one before it."""
    return zip(sentence, ["", *(token.label for token in sentence)], strict=False)


def _column_example(sentence: list[_Token], begin: str) -> tuple[int, EntityExample | _Unusable]:
    """The sentence as a text, if its entities begin as those of the file do: with B- or with I-."""
    text = ""
    entities: list[Entity] = []
    for token, before in _with_previous(sentence):
        start = len(text) + bool(text)
        text = f"{text} {token.text}" if text else token.text
        if token.label and token.label != before and token.prefix != begin:
            tag = f"{token.prefix}-{token.label}"
            return token.line, _Unusable(
                f"{tag} begins an entity, where this file has {begin}-{token.label} elsewhere"
            )
        if token.label and (token.label != before or token.prefix == "B"):
            entities.append(Entity(start, len(text), token.label))
        elif token.label:
            entities[-1] = entities[-1]._replace(end=len(text))
    return sentence[0].line, EntityExample(text, tuple(entities))
