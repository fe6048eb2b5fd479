"""Questions about a text whose answer is a span of that text; files of such questions, and how to split them.

Extractive question answering as in SQuAD: Rajpurkar et al. 2016, "SQuAD: 100,000+ questions for machine
comprehension of text", and 2018, "Know what you don't know" (version 2, with questions that have no answer).
:func:`load_squad` reads files of both versions; the course's own questions are made by
:mod:`course_utils.data.stories` and kept by :mod:`course_utils.data.paragraphs`.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

MAX_FILE_BYTES = 100 * 2**20
"""Larger files are refused. SQuAD's largest file has 42 MB."""

MAX_BAD_ROWS = 1000
"""This many are reported one by one; the rest are counted."""


class Span(NamedTuple):
    """A span of a text: ``text[start:end]``, counted in characters, ``end`` exclusive."""

    start: int
    end: int


@dataclass(frozen=True)
class QuestionExample:
    """One question about a context.

    Attributes:
        context: the text that contains the answer.
        question: what is asked.
        answers: where the answer is in the context. If there are several spans, they are equally right (SQuAD's
            annotators disagree); if none, the context does not answer the question.
        id: identifies the example; unique within its set.
        document: the source of the context. Split by it; otherwise a model is tested on texts it was trained on.
        support: for a story: the numbers, from 0, of the sentences from which the answer follows, in order.

    Raises:
        ValueError: an answer is empty or not within the context.
    """

    context: str
    question: str
    answers: tuple[Span, ...]
    id: str
    document: str
    support: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        for start, end in self.answers:
            if not 0 <= start < end <= len(self.context):
                raise ValueError(
                    f"{self.id}: the answer from {start} to {end} is not in the context, "
                    f"which has {len(self.context)} characters."
                )

    @property
    def answer_texts(self) -> tuple[str, ...]:
        """The text at each answer's position; empty if the question has no answer."""
        return tuple(self.context[start:end] for start, end in self.answers)


@dataclass(frozen=True)
class BadRow:
    """A question of a file that cannot be used.

    Attributes:
        file: name of the file.
        row: where in the file, and the question's id if it has one: ``data[0].paragraphs[2].qas[1] (id q17)``.
        reason: what is wrong with it.
    """

    file: str
    row: str
    reason: str

    def __str__(self) -> str:
        return f"{self.file}: {self.row}: {self.reason}"


def split_by_document(
    examples: Sequence[QuestionExample], held_out: float = 0.25, seed: int = 0
) -> tuple[list[QuestionExample], list[QuestionExample]]:
    """Training and held-out examples, no document in both.

    Args:
        examples: any number, of two documents or more.
        held_out: share of the documents (not of the examples) to hold out, at least one.
        seed: decides which documents these are. The order of the examples does not matter.

    Raises:
        ValueError: there are fewer than two documents, or ``held_out`` is not between 0 and 1.
    """
    documents = sorted({example.document for example in examples})
    if len(documents) < 2 or not 0 < held_out < 1:
        raise ValueError(
            f"Cannot hold out {held_out} of {len(documents)} documents. At least two documents are needed, "
            "and a share between 0 and 1."
        )
    count = min(max(1, round(held_out * len(documents))), len(documents) - 1)
    chosen = set(random.Random(seed).sample(documents, count))
    train = [example for example in examples if example.document not in chosen]
    return train, [example for example in examples if example.document in chosen]


# ---------------------------------------------------------------------------------- files as SQuAD has them


def load_squad(path: str | Path) -> tuple[list[QuestionExample], list[BadRow]]:
    """The questions of a JSON file in SQuAD's format, version 1.1 or 2.0.

    A document is what the file calls an article; articles without a title are identified by their number.

    Args:
        path: a file ``{"data": [{"title", "paragraphs": [{"context", "qas": [{"id", "question", "answers":
            [{"text", "answer_start"}], "is_impossible"}]}]}]}``. ``answer_start`` counts characters.

    Returns:
        The usable questions in the order of the file, and the others, each with its row and the reason.

    Raises:
        ValueError: there is no such file, it is too large or not JSON, or no question in it can be used.
    """
    path = Path(path)
    try:
        articles = _field(_read_json(path), "data", list)
    except _Unusable as reason:
        raise ValueError(f"{path.name} is not a file in SQuAD's format: {reason}.") from None
    examples: dict[str, QuestionExample] = {}
    bad_rows: list[BadRow] = []
    more = 0
    for row, found in _rows(articles):
        if isinstance(found, QuestionExample) and found.id not in examples:
            examples[found.id] = found
        elif len(bad_rows) == MAX_BAD_ROWS:
            more += 1
        elif isinstance(found, QuestionExample):
            bad_rows.append(BadRow(path.name, row, "an earlier question has the same id"))
        else:
            bad_rows.append(BadRow(path.name, row, str(found)))
    if not examples:
        raise ValueError(f"No question of {path.name} can be used. {_first(bad_rows)}")
    if more:
        bad_rows.append(BadRow(path.name, "further rows", f"{more} more cannot be used"))
    return list(examples.values()), bad_rows


def _first(bad_rows: list[BadRow]) -> str:
    if not bad_rows:
        return "There is none in it."
    return f"The first problem: {bad_rows[0].row}: {bad_rows[0].reason}."


class _Unusable(ValueError):
    """What is wrong with a part of the file; the message is the reason that is reported."""


def _read_json(path: Path) -> Any:
    if not path.is_file():
        raise ValueError(f"There is no file {path}.")
    size = path.stat().st_size
    if size > MAX_FILE_BYTES:
        raise ValueError(f"{path.name} has {size} bytes; files of up to {MAX_FILE_BYTES} bytes are read.")
    try:
        return json.loads(path.read_bytes().decode("utf-8-sig"))
    except OSError as error:
        raise ValueError(f"{path.name} cannot be read: {error.strerror}.") from None
    except UnicodeDecodeError as error:
        raise ValueError(f"{path.name} is not UTF-8 text: {error.reason} at byte {error.start}.") from None
    except json.JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno}"
        raise ValueError(f"{path.name} is not JSON: {error.msg} at {where}.") from None
    except (RecursionError, ValueError):  # Python reads no number with more than a few thousand digits
        raise ValueError(
            f"{path.name} is nested too deeply, or contains too long a number, to be read."
        ) from None


def _rows(articles: list) -> Iterator[tuple[str, QuestionExample | _Unusable]]:
    """Every question's row with its example, or the reason why there is none.

    A problem with a whole article or paragraph is reported once, in its own row.
    """
    for number, article in enumerate(articles):
        row = f"data[{number}]"
        try:
            title = _text(article, "title") if _field(article, "title", str, default="") else ""
            paragraphs = _field(article, "paragraphs", list)
        except _Unusable as reason:
            yield row, reason
            continue
        document = title or f"article {number}"
        for place, paragraph in enumerate(paragraphs):
            yield from _rows_of_paragraph(f"{row}.paragraphs[{place}]", document, paragraph)


def _rows_of_paragraph(
    row: str, document: str, paragraph: Any
) -> Iterator[tuple[str, QuestionExample | _Unusable]]:
    try:
        context = _text(paragraph, "context")
        asked = _field(paragraph, "qas", list)
    except _Unusable as reason:
        yield row, reason
        return
    for number, entry in enumerate(asked):
        name = f"{row}.qas[{number}]"
        try:
            identity = _identity(entry)
            name += f" (id {identity:.60})"
            question = _text(entry, "question")
            yield name, QuestionExample(context, question, _answers(entry, context), identity, document)
        except _Unusable as reason:
            yield name, reason


def _identity(entry: Any) -> str:
    """The id, which some tools write as a number."""
    if isinstance(entry, dict) and type(entry.get("id")) is int:
        return str(entry["id"])
    return _text(entry, "id")


def _answers(entry: dict, context: str) -> tuple[Span, ...]:
    """The right answers' spans, each once; the wrong "plausible answers" of version 2.0 do not count."""
    impossible = _field(entry, "is_impossible", bool, default=False)
    answers = _field(entry, "answers", list, default=[] if impossible else None)
    if impossible and answers:
        raise _Unusable("it is marked as impossible to answer, but has an answer")
    if not impossible and not answers:
        raise _Unusable("it has no answer, but is not marked as impossible to answer")
    return tuple(dict.fromkeys(_span(answer, context) for answer in answers))


def _span(answer: Any, context: str) -> Span:
    text, start = _text(answer, "text"), _field(answer, "answer_start", int)
    if start < 0 or context[start : start + len(text)] != text:
        raise _Unusable(f"the answer {_short(text)} is not at character {start}")
    return Span(start, start + len(text))


def _text(holder: Any, name: str) -> str:
    text = _field(holder, name, str)
    if not text.strip():
        raise _Unusable(f'its "{name}" is empty')
    try:
        text.encode()
    except UnicodeEncodeError:
        raise _Unusable(f'its "{name}" contains half of a surrogate pair, which is not a character') from None
    return text


def _field(holder: Any, name: str, kind: type, default: Any = None) -> Any:
    """``holder[name]`` if it is of this kind, and ``default`` (unless that is None) if it is not there at all."""
    if not isinstance(holder, dict):
        raise _Unusable(f'there is {_kind(holder)} where an object with "{name}" should be')
    value = holder.get(name, default)
    if value is None:
        raise _Unusable(f'it has no "{name}"')
    if type(value) is not kind:  # isinstance would take True for a number
        raise _Unusable(f'its "{name}" is {_kind(value)} instead of {_KINDS[kind]}')
    return value


_KINDS = {
    dict: "an object",
    list: "a list",
    str: "a text",
    int: "a whole number",
    float: "a number with a fraction",
    bool: "true or false",
    type(None): "null",
}


def _kind(value: Any) -> str:
    return _KINDS[type(value)]


def _short(text: str) -> str:
    return repr(text if len(text) <= 60 else f"{text[:57]}...")
