"""The records of a learner's own file, whatever its form was, as the rows of a task of lab 13."""

from __future__ import annotations

import ast
import datetime
import io
import json
import math
import re
import tokenize
from collections.abc import Mapping, Sequence
from typing import Any

from course_utils.data.own import COLUMNS, FileProblem, Row, counted
from course_utils.data.own_columns import Columns, Record, listed, norm

_NUMPY = re.compile(r"array\(|\s*\[\s*-?[\d.]+(\s+-?[\d.]+)+\s*\]\s*$")
"""What `str` makes of an array of numbers, and of what has an array in it."""

_MARK = re.compile(r"([BIESLUM])[-:_](.+)", re.IGNORECASE)
_OUTSIDE = {"O", "o", "0", "_", "-", ""}


def _example(columns: Sequence[str]) -> str:
    """How to say that one of these columns has the groups."""
    if not columns:
        return ""
    return (
        f" Perhaps {' or '.join(map(repr, columns[:3]))} says which rows do: "
        f'read_file(FILE, TASK, columns={{"{columns[0]}": "group"}}).'
    )


class Rows:
    """The records of a file, on their way to rows of a task."""

    def __init__(self, name: str, task: str, records: list[Record], notes: list[str]) -> None:
        self.name, self.task, self.records, self.notes = name, task, records, notes
        self.bare, self.others = False, []

    def refuse(self, number: int, column: str, what: str) -> FileProblem:
        return FileProblem(
            f"{self.name}, row {number} ({self.records[number - 1][0]}), column {column}: {what}"
        )

    def made(self, given: Mapping[str, str]) -> tuple[list[Row], list[str]]:
        """The rows, and where each stands.

        Args:
            given: the file's name of a column -> the task's.
        """
        columns = Columns(self.name, self.task, self.records)
        taken = columns.find(given)
        self._say(columns, taken)
        make = {"classification": self._classified, "entities": self._with_spans}.get(
            self.task, self._with_answers
        )
        made = make(taken)
        if not made:
            raise FileProblem(
                f"{self.name}: none of the {len(self.records)} rows has an answer. Which column has the answers?"
            )
        for number, row in made:
            row["group"] = str(number)
            if "group" in taken:
                row["group"] = _as_group(self.records[number - 1][1].get(taken["group"]))
        return [
            {column: _clean(row[column]) for column in COLUMNS[self.task] if row.get(column) is not None}
            for _, row in made
        ], [self.records[number - 1][0] for number, _ in made]

    def _say(self, columns: Columns, taken: Mapping[str, str]) -> None:
        if columns.guessed:
            pairs = ", ".join(f"{column!r} as {role}" for role, column in columns.guessed.items())
            self.notes.append(f"Guessed from its values: {pairs}.")
        self.notes.append(f"Columns: {', '.join(f'{column!r} as {role}' for role, column in taken.items())}.")
        left = [column for column in columns.there if column not in (*taken.values(), columns.blank)]
        if left:
            self.notes.append(f"Not used: {listed(left)}.")
        if "group" not in taken:
            why = (
                f"{columns.blank!r} is empty in every row"
                if columns.blank
                else "There is no column with groups"
            )
            self.notes.append(
                f"{why}, so each row is a group of its own. If rows belong together (an author, a customer, "
                "a day), the test will look too good." + _example(columns.like_groups(taken))
            )

    def _cell(self, number: int, column: str, beginnings: str) -> Any:
        """What a cell holds, if it is written as JSON or as Python writes it; else the cell.

        Raises:
            FileProblem: it is what `str` makes of an array of NumPy.
        """
        value = self.records[number - 1][1].get(column)
        if hasattr(value, "tolist"):
            value = value.tolist()
        if isinstance(value, float) and math.isnan(value):  # how pandas and Parquet say that there is none
            return None
        if not isinstance(value, str) or not value.strip().startswith(tuple(beginnings)):
            return value
        try:
            return json.loads(value)
        except (ValueError, RecursionError):
            pass
        if _NUMPY.search(value) or _without_commas(value):
            raise self.refuse(
                number,
                column,
                f"“{value.strip()[:40]}” is an array as NumPy shows it, without commas, and cannot be told apart again. "
                'Save the table as JSON: df.to_json(FILE, orient="records", lines=True).',
            )
        try:
            return ast.literal_eval(value.strip())
        except (ValueError, SyntaxError, RecursionError, MemoryError):
            return value

    # ------------------------------------------------------------------------------ the three tasks

    def _classified(self, taken: Mapping[str, str]) -> list[tuple[int, Row]]:
        made: list[tuple[int, Row]] = []
        for number, (_, record) in enumerate(self.records, 1):
            label = _label(self._cell(number, taken["label"], "[{"))
            if isinstance(label, list | tuple) and label and all(map(_is_span, label)):
                raise self.refuse(
                    number,
                    taken["label"],
                    f'{str(label[0])[:40]} is a span: was read_file(FILE, "entities") meant?',
                )
            if isinstance(label, list | tuple) and len(label) < 2:
                label = label[0] if label else None
            made.append((number, {"text": record.get(taken["text"]), "label": label}))
        self._places_of_ones([row for _, row in made])
        spaced = [
            row
            for _, row in made
            if isinstance(row["label"], str) and row["label"].strip() not in ("", row["label"])
        ]
        for row in spaced:
            row["label"] = row["label"].strip()
        if spaced:
            self.notes.append(
                f"Labels with spaces at their ends, in {counted(len(spaced), 'row')}: the spaces were left out."
            )
        labels = [row["label"] for _, row in made if row["label"] not in (None, "")]
        numbers = [label for label in labels if isinstance(label, bool | int | float)]
        if labels and len(numbers) == len(labels):
            self.notes.append("The labels are numbers; each became a name: 4 is “4”.")
            for _, row in made:
                if row["label"] is not None:
                    row["label"] = name_of_number(row["label"])
        elif labels and all(isinstance(label, str) and re.fullmatch(r"-?\d+\.0+", label) for label in labels):
            for _, row in made:
                row["label"] = row["label"] and row["label"].partition(".")[0]
        return made

    def _places_of_ones(self, rows: Sequence[Row]) -> None:
        """Labels that are all equally long lists of 0 and 1 become the places of their ones."""
        lists = [row["label"] for row in rows if row["label"] not in (None, "")]
        sizes = {len(each) if isinstance(each, list) else 0 for each in lists}
        if (
            len(sizes) != 1
            or sizes == {0}
            or not all(type(one) in (int, float) and one in (0, 1) for each in lists for one in each)
        ):
            return
        self.notes.append("The labels are lists of 0 and 1; each became the place of its 1, counted from 0.")
        for row in rows:
            places = [str(place) for place, one in enumerate(row["label"] or []) if one == 1]
            row["label"] = places[0] if len(places) == 1 else places or None

    def _with_spans(self, taken: Mapping[str, str]) -> list[tuple[int, Row]]:
        made: list[tuple[int, Row]] = []
        without = 0
        for number, (_, record) in enumerate(self.records, 1):
            if "tokens" in taken:
                words, tags = (self._cell(number, taken[role], "[(") for role in ("tokens", "tags"))
                made.append((number, self._joined(number, words, tags, taken["tags"])))
                continue
            text, spans = record.get(taken["text"]), self._cell(number, taken["spans"], "[{(")
            without += spans in (None, "")
            tags = spans.split() if isinstance(spans, str) else spans
            if isinstance(tags, list) and tags and all(isinstance(tag, str) and _is_tag(tag) for tag in tags):
                made.append((number, self._joined(number, text, tags, taken["spans"])))
                continue
            found = [
                span
                for one in self._spans(number, taken["spans"], spans)
                for span in self._span(number, taken["spans"], one, text)
            ]
            made.append((number, {"text": text, "spans": found}))
        if without:
            self.notes.append(
                f"{counted(without, 'row')} with nothing in {taken['spans']!r}: a text without spans."
            )
        if self.others:
            self.notes.append(
                f"The file gives another text than stands there for {counted(len(self.others), 'span')} ({self.others[0]}). "
                "Some tools count an emoji, or the end of a line, as two characters."
            )
        if self.bare:
            self.notes.append("Some tags are B or I without a name; their spans are called “entity”.")
        return made

    def _spans(self, number: int, column: str, spans: Any) -> Sequence[Any]:
        """The spans of a cell, in any form."""
        if spans in (None, ""):
            return []
        if isinstance(spans, dict) and spans and all(isinstance(each, list) for each in spans.values()):
            if {norm(key) for key in spans} & set(_START.split()):  # a list for each part of a span
                return [dict(zip(spans, one, strict=False)) for one in zip(*spans.values(), strict=False)]
            if all(isinstance(one, list) and len(one) == 2 for each in spans.values() for one in each):
                return [[*one, label] for label, each in spans.items() for one in each]  # label -> places
        if not isinstance(spans, list | tuple):
            raise self.refuse(
                number,
                column,
                f'this is {str(spans)[:40]!r}; expected a list of spans, such as [[0, 12, "Name"]].',
            )
        return spans

    def _span(self, number: int, column: str, span: Any, text: Any) -> list[list[Any]]:
        """[start, end, label] of a span in any form, once for each of its labels."""
        given, more = None, 0
        if isinstance(span, dict):
            small = {norm(key): value for key, value in span.items()}
            points = small.get("points")
            if (
                isinstance(points, list) and points and all(isinstance(each, dict) for each in points)
            ):  # DataTurks
                small, more = (
                    {**{norm(key): value for key, value in points[0].items()}, "label": small.get("label")},
                    1,
                )
            parts = [
                next((small[key] for key in keys.split() if key in small), None)
                for keys in (_START, _END, _LABEL)
            ]
            given, length = small.get("text"), whole(small.get("length"))
            if parts[1] is None and whole(parts[0]) is not None and length is not None:
                parts[1] = whole(parts[0]) + length
        else:
            parts = [*span[:3]] if isinstance(span, list | tuple) and len(span) in (3, 4) else [None] * 3
            given = span[3] if isinstance(span, list | tuple) and len(span) == 4 else None
            if isinstance(parts[0], str) and not isinstance(parts[2], str):  # label first
                parts = [parts[1], parts[2], parts[0]]
        start, end, label = whole(parts[0]), whole(parts[1]), parts[2]
        labels = label if isinstance(label, list | tuple) and label else [label]
        if (
            start is None
            or end is None
            or any(not isinstance(each, str | int) or isinstance(each, bool) or each == "" for each in labels)
        ):
            raise self.refuse(
                number,
                column,
                f'{str(span)[:60]} is no span. One has a start, an end and a label: [0, 12, "Name"], or an object with these names.',
            )
        if isinstance(given, str) and isinstance(text, str) and text[start : end + more] != given:
            if text[start : end + 1] == given:
                more = 1
            else:
                self.others.append(
                    f"{self.records[number - 1][0]}: {text[start:end][:30]!r}, not {given[:30]!r}"
                )
        if more and not any("inclusive" in note for note in self.notes):
            self.notes.append(
                "The ends of spans are inclusive in this file; each became the place after the last character."
            )
        return [[start, end + more, str(each)] for each in labels]

    def _joined(self, number: int, words: Any, tags: Any, column: str) -> Row:
        """Words and their tags as a text with spans."""
        words, tags = (each.split() if isinstance(each, str) else each for each in (words, tags))
        if (
            not isinstance(words, list | tuple)
            or not isinstance(tags, list | tuple)
            or len(words) != len(tags)
        ):
            sizes = [f"{len(each)}" if isinstance(each, list | tuple) else "no" for each in (words, tags)]
            raise self.refuse(
                number,
                column,
                f"there must be a tag for every word, and a word for every tag; here are {sizes[0]} words and {sizes[1]} tags.",
            )
        spans: list[list[Any]] = []
        place, before = 0, "O"
        for word, tag in zip(map(str, words), tags, strict=True):
            if not isinstance(tag, str) or (tag.isdigit() and tag != "0"):
                raise self.refuse(
                    number,
                    column,
                    f"{tag!r} is a number, and the file does not say which tag it stands for. Write the tags as texts: B-PER, I-PER, O.",
                )
            if tag in _OUTSIDE:
                mark = label = "O"
            elif found := _MARK.fullmatch(tag):
                mark, label = found[1].upper(), found[2]
            elif tag in "BIESLU":
                mark, label, self.bare = tag, "entity", True
            else:
                mark, label = "I", tag
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
        without, found, twice, absent, several = 0, 0, 0, 0, 0
        for number, (_, record) in enumerate(self.records, 1):
            context = record.get(taken["context"])
            answer, start, more = self._answer(number, taken)
            several += more
            if answer in (None, ""):
                without += 1
                continue
            if (
                isinstance(answer, int | float)
                and not isinstance(answer, bool)
                and name_of_number(answer) in str(context)
            ):
                answer = name_of_number(answer)
            row = {"context": context, "question": record.get(taken["question"]), "answer": answer}
            texts = isinstance(context, str) and isinstance(answer, str)
            absent += texts and answer.strip() not in context
            if start not in (None, ""):
                row["start"] = start if whole(start) is None else whole(start)
            elif texts and answer.strip() in context:
                row["answer"] = answer = answer.strip()
                row["start"] = context.find(answer)
                found += 1
                twice += context.count(answer) > 1
            made.append((number, row))
        if without:
            self.notes.append(
                f"{counted(without, 'question')} without an answer left out: the model would have to learn to say so."
            )
        if several:
            self.notes.append(
                f"Of {counted(several, 'question')} with several different answers, the first was taken."
            )
        if found:
            self.notes.append(
                f"The place of {counted(found, 'answer')} was looked up in the context; {twice} of them more than once there, and the first place was taken."
            )
        if absent:
            self.notes.append(
                f"{counted(absent, 'answer')} not found in the context: a fault in each of these rows."
            )
        return made

    def _answer(self, number: int, taken: Mapping[str, str]) -> tuple[Any, Any, bool]:
        """The first answer of a row, where it begins, if the file says so, and whether there are others."""
        answer = self._cell(number, taken["answer"], "[{")
        start = self._cell(number, taken["start"], "[") if "start" in taken else None
        several = False
        if isinstance(answer, list | tuple):
            several = any(_text_of(each) != _text_of(answer[0]) for each in answer)
            answer = answer[0] if answer else None
        if isinstance(answer, dict):
            small = {norm(key): value for key, value in answer.items()}
            places = ("answer_start", "start", "start_offset", "offset", "span_start")
            start = next((small[key] for key in places if key in small), start)
            answer = next(
                (small[key] for key in ("text", "answer", "value", "input_text") if key in small), None
            )
            if isinstance(answer, list):
                several = len({str(each) for each in answer}) > 1
                answer = answer[0] if answer else None
        if isinstance(start, list):
            start = start[0] if start else None
        return answer, start, several


def _text_of(answer: Any) -> str:
    return str(answer.get("text") if isinstance(answer, dict) else answer)


_START = "start start_offset startoffset begin beginoffset from start_char offset"
_END = "end end_offset endoffset stop to end_char"
_LABEL = "label labels type tag entity entity_group entity_type category name class"


def _without_commas(value: str) -> bool:
    """Whether two texts follow each other without a comma, which Python would join: ['Ada' 'met']."""
    before = None
    try:
        for token in tokenize.generate_tokens(io.StringIO(value.strip()).readline):
            if token.type == before == tokenize.STRING:
                return True
            before = before if token.type in (tokenize.NL, tokenize.NEWLINE) else token.type
    except (tokenize.TokenError, SyntaxError):
        pass
    return False


def _is_tag(tag: str) -> bool:
    return tag in _OUTSIDE or bool(_MARK.fullmatch(tag))


def _is_span(value: Any) -> bool:
    if isinstance(value, dict):
        return bool({norm(key) for key in value} & {"start", "start_offset", "begin"})
    return (
        isinstance(value, list | tuple)
        and len(value) in (3, 4)
        and whole(value[0]) is not None
        and whole(value[1]) is not None
    )


def _label(value: Any) -> Any:
    """The label in a cell: a tool may have put it into an object, or one object for each into a list."""
    if isinstance(value, list | tuple) and any(isinstance(each, dict) for each in value):
        return [_label(each) for each in value]
    if isinstance(value, dict) and not _is_span(value):
        small = {norm(key): each for key, each in value.items()}
        for key in ("choices", "label", "labels", "name", "value", "class", "category"):
            if key in small:
                return small[key]
        if small and all(
            isinstance(each, bool | int | float) for each in small.values()
        ):  # how sure, of each label
            return [label for label, each in value.items() if each >= 0.5]
    if isinstance(value, datetime.date | datetime.time):
        return value.isoformat()
    return value


def _as_group(value: Any) -> Any:
    """A group as a text: 1, 1.0 and "1.0" are one."""
    if isinstance(value, list | tuple) and len(value) == 1:
        value = value[0]
    if isinstance(value, float) and math.isnan(value):
        return None
    if isinstance(value, int | float) and not isinstance(value, bool):
        return name_of_number(value)
    if isinstance(value, bytes):
        value = _clean(value)
    text = value if value is None or isinstance(value, str | bytes) else str(value)
    return text.partition(".")[0] if isinstance(text, str) and re.fullmatch(r"-?\d+\.0+", text) else text


def _clean(value: Any) -> Any:
    """A text as a text: bytes of UTF-8 become one, and what has half of a character becomes bytes, which `validate_rows` finds."""
    if isinstance(value, bytes):
        try:
            return value.decode()
        except UnicodeDecodeError:
            return value
    if isinstance(value, str) and not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError:
            return value.encode("utf-8", "surrogatepass")
    return value


def whole(value: Any) -> int | None:
    """A whole number, if that is what is meant: 12, 12.0 or "12"."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return value
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return (
        int(float(value))
        if isinstance(value, str) and re.fullmatch(r"\s*-?\d{1,15}(\.0+)?\s*", value)
        else None
    )


def name_of_number(value: bool | float) -> str:
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)
