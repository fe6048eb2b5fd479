"""A learner's own file in JSON: the forms in which libraries and tools of annotation write rows.

Known are JSON Lines, rows in a list or under a name, columns, what pandas and the data sets server of Hugging Face write, SQuAD, spaCy, Rasa, Doccano,
Prodigy, Label Studio, DataTurks, and conversations. Each becomes records; which column is which is asked elsewhere.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from course_utils.data.own import FileProblem, counted
from course_utils.data.own_columns import KNOWN, TEXTS, Record, listed, norm
from course_utils.data.own_table import tabled


def from_json(path: Path, text: str, task: str, notes: list[str]) -> list[Record]:
    """The records of a file in JSON or JSON Lines.

    Raises:
        FileProblem: it is not JSON, or a row of it is none. The message says where, and why.
    """
    name = path.name
    lines = path.suffix.lower() in (".jsonl", ".ndjson")
    try:
        value = None if lines else _JSON.decode(text)
    except RecursionError:
        raise _too_deep(name) from None
    except _Twice as problem:
        raise problem.said(name, text, 0) from None
    except ValueError as error:
        try:
            _JSON.raw_decode(text.lstrip())
        except (ValueError, RecursionError):
            raise _no_json(name, text, error) from None
        lines = True
    if lines:
        notes.append("Form: JSON Lines.")
        records = _rows(name, [*_values(name, text)], notes)
    else:
        notes.append("Form: JSON.")
        records = _from_value(name, value, task, notes)
    return _judged(name, [*_questions(name, records)], task, notes)


class _Twice(Exception):
    """A name is there twice in an object."""

    def __init__(self, key: str) -> None:
        super().__init__(key)
        self.key = key

    def said(self, name: str, text: str, start: int) -> FileProblem:
        found = re.compile(
            rf"{re.escape(json.dumps(self.key))}\s*:[^{{}}]*?({re.escape(json.dumps(self.key))})\s*:"
        ).search(text, start)
        line = text.count("\n", 0, found.start(1) if found else start) + 1
        return FileProblem(
            f"{name}, line {line}: {self.key!r} stands twice in one object, and only one can be meant. Delete or rename the other."
        )


def _object_of(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) < len(pairs):
        for key, value in pairs:
            if made[key] != value:
                raise _Twice(key)
    return made


_JSON = json.JSONDecoder(
    parse_constant=lambda name: None,  # NaN is how some libraries write that there is no value
    parse_int=lambda digits: int(digits) if len(digits) < 4000 else digits,  # Python refuses longer ones
    object_pairs_hook=_object_of,
)

_WHY = (
    ("", r"\Z", "It ends there: is the line complete? Was the file cut off?"),
    ("Expecting property name", r"'", "JSON has double quotation marks; Python's `json.dumps` writes them."),
    ("Expecting value", r"'", "JSON has double quotation marks; Python's `json.dumps` writes them."),
    ("Expecting property name", r"[“”„]", 'The quotation marks must be straight: ".'),
    ("Expecting value", r"[“”„]", 'The quotation marks must be straight: ".'),
    ("", r"//|/\*|#", "JSON has no remarks; delete them."),
    ("", r";", "Delete the semicolon."),
    ("Expecting property name", r"[A-Za-z_]", "Names stand in double quotation marks."),
    ("Expecting value", r"True|False|None", "JSON writes true, false and null; Python's `json.dumps` does."),
    ("Invalid control character", r"", r"A line break or a tab inside of a text is written as \n or \t."),
    ("Invalid \\escape", r"", r"A backslash in a text is written twice: \\."),
    ("Invalid \\u", r"", r"A backslash in a text is written twice: \\."),
    ("Unterminated string", r"", 'Is the line complete, and is every quotation mark in a text written as \\"?'),
    (
        "Expecting ',' delimiter", r"\{",
        "Every row is an object in braces; several rows stand each on a line of their own, or in square brackets with commas between them.",
    ),
)  # fmt: skip
"""What the parser says, what stands at the place, and what is wrong there."""


def _no_json(name: str, text: str, error: ValueError, first: int = 1) -> FileProblem:
    """What to say of text that is not JSON."""
    if not isinstance(error, json.JSONDecodeError):
        return FileProblem(f"{name}: this is not JSON ({error}).")
    here = text[error.pos : error.pos + 10]
    before = text[: error.pos].rstrip()
    line = text.count("\n", 0, error.pos) + first
    rest = text[error.pos :].lstrip(", \t\r\n")
    if (before.endswith(",") or here.startswith(",")) and rest[:1] in ("]", "}"):
        return FileProblem(
            f"{name}, line {line}: this is not JSON. Remove the last comma, the one before {rest[0]}."
        )
    why = next(
        (why for said, at, why in _WHY if error.msg.startswith(said) and re.match(at, here)),
        'Is the line complete, with commas between its parts, and is every quotation mark in a text written as \\"?',
    )
    return FileProblem(f"{name}, line {line}: this is not JSON ({error.msg}). {why}")


def _too_deep(name: str) -> FileProblem:
    return FileProblem(
        f"{name}: its brackets are nested too deeply for rows, hundreds of them in each other. Is it damaged? Export it again."
    )


def _values(name: str, text: str) -> Iterator[tuple[str, Any]]:
    """Values one after another: each on a line of its own, or over several lines, with or without commas between them."""
    end, number = 0, 1
    between = re.compile("[\\s,\ufeff\x1e]*")
    while (start := between.match(text, end).end()) < len(text):
        number += text.count("\n", end, start)
        try:
            row, end = _JSON.raw_decode(text, start)
        except RecursionError:
            raise _too_deep(name) from None
        except _Twice as problem:
            raise problem.said(name, text, start) from None
        except json.JSONDecodeError as error:
            stop = text.find("\n", start)
            whole = text[start : stop if stop >= 0 else len(text)]
            at = error.pos - start
            if at > len(whole) and text[error.pos : error.pos + 1] != "{":
                raise _no_json(name, text, error) from None
            # where the next row begins in the middle of this one, its line is not complete
            raise _no_json(
                name, whole, json.JSONDecodeError(error.msg, whole, min(at, len(whole))), number
            ) from None
        if isinstance(row, str) and row[:1] in ("{", "["):  # a line that was made JSON twice
            row = next(_values(name, row))[1]
        rows = row if isinstance(row, list) and row and _of(row, dict) else [row]  # one list after another
        yield from ((f"line {number}", each) for each in rows)
        number += text.count("\n", start, end)


# ---------------------------------------------------------------------------------- where the rows are

KINDS = {
    bool: "true or false", int: "a number", float: "a number", str: "a text", list: "a list", tuple: "a list", dict: "an object",
    type(None): "nothing (null)", bytes: "bytes",
}  # fmt: skip
"""What a learner calls the types of Python."""


def kind_of(value: Any) -> str:
    return KINDS.get(type(value), f"a {type(value).__name__}")


def _of(value: Any, kind: type | tuple[type, ...]) -> bool:
    return isinstance(value, list) and all(isinstance(each, kind) for each in value)


def _rows(name: str, values: Sequence[tuple[str, Any]], notes: list[str]) -> list[Record]:
    """The records of values that should be rows.

    Raises:
        FileProblem: one is no row.
    """
    plain = (str, int, float, type(None))
    if values and all(_of(row, plain) and row for _, row in values):
        headed = any(norm(cell) in KNOWN for cell in values[0][1])
        return tabled(name, list(values), notes, headed=headed)
    skipped = sum(row is None for _, row in values)
    if skipped:
        notes.append(f"{counted(skipped, 'row')} of null skipped.")
    return [(place, _object(name, place, row)) for place, row in values if row is not None]


def _numbered(rows: Iterable[Any], before: str = "") -> list[tuple[str, Any]]:
    return [(f"{before}element {number}", row) for number, row in enumerate(rows, 1)]


def _known(names: Iterable[Any]) -> bool:
    return any(norm(name) in KNOWN for name in names)


def _from_value(name: str, value: Any, task: str, notes: list[str]) -> list[Record]:
    """The rows in a value: a list of them, or an object that :func:`_from_object` knows.

    Raises:
        FileProblem: there are none.
    """
    if isinstance(value, list):
        return _rows(name, _numbered(value), notes)
    if not isinstance(value, dict):
        raise FileProblem(
            f'{name} is JSON, but {kind_of(value)}, and no rows: [{{"text": "...", "label": "..."}}, ...].'
        )
    if not value:
        raise FileProblem(f"{name} is an object without rows, {{}}. Was it saved before it was filled in?")
    if "nbformat" in value:
        raise FileProblem(
            f"{name} is a notebook, and no data set. Save its table: `df.to_csv(FILE, index=False)`."
        )
    return _from_object(name, value, task, notes)


_ONE_TEXT = {"text", "sentence", "content", "tokens", "words", "context", "question"}
"""Names that an object with a row, or with columns, has; others, such as a description, may also be about all rows."""


def _from_object(name: str, value: dict[str, Any], task: str, notes: list[str]) -> list[Record]:
    """The rows in a JSON object: a list of rows under each of its names, a list or a dict for each column, or one row."""
    data = value.get("data")
    if _of(value.get("columns"), str) and _of(data, list):  # pandas: columns, index, data
        return tabled(name, [("the columns", value["columns"]), *_numbered(data)], notes, headed=True)
    if isinstance(value.get("annotations"), list) and not TEXTS & {norm(key) for key in value}:
        return _rows(name, _numbered(value["annotations"], "annotations, "), notes)  # of spaCy's annotator
    texts = _ONE_TEXT & {norm(key) for key, each in value.items() if isinstance(each, str | list) and each}
    lists = {key: each for key, each in value.items() if isinstance(each, list)}
    nested = any(_of(each, list) for key, each in lists.items() if norm(key) in ("tokens", "words"))
    if texts and len(lists) == len(value) > 1 and (nested or not texts & {"tokens", "words"}):
        if len({len(each) for each in lists.values()}) == 1:  # a list for each column
            rows = zip(*lists.values(), strict=True)
            return _rows(name, _numbered(dict(zip(lists, row, strict=True)) for row in rows), notes)
        sizes = ", ".join(f"{key!r} {len(each)}" for key, each in lists.items())
        raise FileProblem(
            f"{name}: its columns are not equally long ({sizes}). Which values belong together?"
        )
    if any(isinstance(each, str) or _of(each, str) for key, each in value.items() if norm(key) in texts):
        return _rows(name, [("element 1", value)], notes)
    if tables := {
        key: each for key, each in lists.items() if any(isinstance(row, dict | list) for row in each)
    }:
        rows = {key: [row for row in each if isinstance(row, dict)] for key, each in tables.items()}
        with_texts = {
            key for key, each in rows.items() if not each or any(_texts_in(row) for row in each[:20])
        }
        left = [key for key in value if key not in with_texts]
        if (with_texts and left) or len(tables) > 1:
            parts = listed(key for key in tables if key in with_texts or not with_texts)
            notes.append(f"Taken: {parts}.{f' Not used: {listed(left)}.' if with_texts and left else ''}")
        return [
            record
            for key, each in tables.items()
            if key in with_texts or not with_texts
            for record in _rows(name, _numbered(each, f"{key}, "), notes)
        ]
    inner = [each for each in value.values() if isinstance(each, dict)]
    if len(inner) == len(value):
        if (
            len(inner) == 1
            and not _known(value)
            and any(isinstance(each, list | dict) for each in inner[0].values())
        ):
            return _from_object(name, inner[0], task, notes)  # such as Rasa's {"rasa_nlu_data": {...}}
        columns = all(isinstance(each, list) for part in inner for each in part.values())
        if columns and not _known(value):  # a list for each column, in each part
            return [record for part in inner for record in _from_object(name, part, task, notes)]
        if all(_known(each) for each in inner) and not _known(value):  # pandas: row -> column -> value
            return _rows(name, [(f"element {key}", each) for key, each in value.items()], notes)
        keys = dict.fromkeys(key for each in inner for key in each)  # pandas: column -> row -> value
        return _rows(
            name,
            _numbered({column: cells.get(key) for column, cells in value.items()} for key in keys),
            notes,
        )
    if task == "classification" and not _known(value):
        return _by_label(name, value, notes)
    return _rows(name, [("element 1", value)], notes)


def _texts_in(row: Mapping[str, Any]) -> bool:
    """Whether a row has a text, under a name that is known or in what Label Studio and SQuAD put around it."""
    keys = {norm(key) for key in row}
    return bool(keys & (TEXTS | {"data", "row", "paragraphs", "qas", "messages"}))


def _by_label(name: str, value: Mapping[str, Any], notes: list[str]) -> list[Record]:
    """The rows of label -> texts, or of text -> label; a single row if it is neither."""
    if len(value) > 1 and all(each and _of(each, str) for each in value.values()):
        few = any(len(set(each)) <= len(each) / 2 for each in value.values())
        if few and len({*map(len, value.values())}) == 1:  # a list of few different values: these are columns
            return _numbered(dict(zip(value, row, strict=True)) for row in zip(*value.values(), strict=True))
        notes.append(f"Each name was taken as a label, and the list after it as texts: {listed(value, 6)}.")
        return [
            (f"{label}, element {number}", {"text": text, "label": label})
            for label, texts in value.items()
            for number, text in enumerate(texts, 1)
        ]
    if (
        len(value) > 1
        and all(isinstance(each, str) for each in value.values())
        and any(" " in key for key in value)
    ):
        notes.append("Each name was taken as a text, and what stands after it as its label.")
        return _numbered({"text": text, "label": label} for text, label in value.items())
    return [("element 1", _object(name, "element 1", dict(value)))]


# ---------------------------------------------------------------------------------- what tools make of a row

LEFT_OUT, SEVERAL = "left out", "several annotations"
"""Columns that a record has here only: why it is no row, and how many annotations it has."""


def _object(name: str, place: str, row: Any) -> dict[str, Any]:
    """A row as a dict; the pairs of spaCy, the tasks of Label Studio and the choices of Prodigy, too.

    Raises:
        FileProblem: it is none.
    """
    if isinstance(row, list) and len(row) == 2 and isinstance(row[0], str) and isinstance(row[1], dict):
        row = {"text": row[0], **row[1]}  # spaCy: [text, {"entities": [...]}]
    if _of(row, list) and row and all(_of(each, str) and len(each) == 2 for each in row):
        row = {"tokens": [word for word, _ in row], "ner_tags": [tag for _, tag in row]}
    if not isinstance(row, dict):
        raise FileProblem(
            f"{name}, {place}: this is {kind_of(row)}; a row is an object in braces: "
            '{"text": "...", "label": "..."}.'
        )
    if set(row) <= {"row_idx", "row", "truncated_cells"} and isinstance(row.get("row"), dict):
        row = row["row"]  # the data sets server of Hugging Face
    cats = row.get("cats")  # of spaCy
    if (
        isinstance(cats, dict)
        and "label" not in row
        and all(isinstance(each, int | float) for each in cats.values())
    ):
        row = {**row, "label": [label for label, given in cats.items() if given >= 0.5]}
        del row["cats"]
    if isinstance(row.get("data"), dict):
        if row.keys() & {"annotations", "completions", "predictions"}:
            return _of_label_studio(name, place, row)
        row = {**{key: each for key, each in row.items() if key != "data"}, **row["data"]}
    if isinstance(row.get("options"), list) and "accept" in row:  # Prodigy's choice
        row = {**row, "label": row["accept"]}
        del row["accept"], row["options"]
    if isinstance(row.get("messages"), list) and not TEXTS & {norm(key) for key in row}:
        said = [
            (str(each.get("role")), each.get("content")) for each in row["messages"] if isinstance(each, dict)
        ]
        if sorted(role for role, _ in said if role != "system") == ["assistant", "user"]:
            others = {key: each for key, each in row.items() if key != "messages"}
            row = {**others, "text": dict(said)["user"], "label": dict(said)["assistant"]}
    texts = [key for key, each in row.items() if norm(key) in TEXTS and not isinstance(each, dict)]
    if not texts and not row.keys() & {"paragraphs", "qas"}:
        flat: dict[str, Any] = {}  # {"review": {"text": "..."}, "meta": {"label": "..."}}
        for key, each in row.items():
            inner = isinstance(each, dict) and _known(each) and not flat.keys() & each.keys()
            flat.update(each if inner else {key: each})
        row = flat
    return row


def _of_label_studio(name: str, place: str, row: Mapping[str, Any]) -> dict[str, Any]:
    """A task of Label Studio, with the first of its annotations that was not cancelled.

    Raises:
        FileProblem: an annotation has another form.
    """
    given = row.get("annotations", row.get("completions"))
    given = [] if given is None else given
    if not _of(given, dict) or not all(_of(each.get("result") or [], dict) for each in given):
        raise FileProblem(
            f"{name}, {place}: the annotations of a task are objects with a list “result”; these are not. Export it from Label Studio as JSON again."
        )
    whole = [each for each in given if not each.get("was_cancelled") and not each.get("skipped")]
    if not whole:
        why = "annotations were cancelled" if given else "annotations are missing"
        if row.get("predictions") and not given:
            why = "there are only predictions of a model"
        return {LEFT_OUT: why}
    truth = next((each for each in whole if each.get("ground_truth")), whole[0])
    values = [each["value"] for each in truth.get("result") or [] if isinstance(each.get("value"), dict)]
    chosen = [value.get("choices") for value in values]
    choices = [choice for each in chosen for choice in (each if isinstance(each, list) else [each]) if choice]
    spans = [value for value in values if "start" in value]
    made = {
        **row["data"],
        **({"label": choices} if choices else {}),
        **({"spans": spans} if spans or not choices else {}),
    }
    if not TEXTS & {norm(key) for key in made}:
        texts = [key for key, each in row["data"].items() if isinstance(each, str)]
        if len(texts) == 1:
            made = {"text" if key == texts[0] else key: each for key, each in made.items()}
    return made | ({SEVERAL: len(whole)} if len(whole) > 1 else {})


_ANSWERS = {"accept", "reject", "ignore"}


def _judged(name: str, records: list[Record], task: str, notes: list[str]) -> list[Record]:
    """The records without those that an annotator has rejected, or nobody has annotated.

    Raises:
        FileProblem: none is left.
    """
    why = [record[LEFT_OUT] for _, record in records if LEFT_OUT in record]
    kept = [(place, record) for place, record in records if LEFT_OUT not in record]
    judged = bool(kept) and all(str(record.get("answer")) in _ANSWERS for _, record in kept)
    if judged and task != "questions":
        why += [f"the answer was {record['answer']}" for _, record in kept if record["answer"] != "accept"]
        kept = [
            (place, {key: value for key, value in record.items() if key != "answer"})
            for place, record in kept
            if record["answer"] == "accept"
        ]
    if why:
        counts = ", ".join(f"{reason} ({why.count(reason)})" for reason in dict.fromkeys(why))
        if not kept:
            raise FileProblem(
                f"{name}: no row of {len(why)} is left: {counts}. Annotate them, or accept the predictions, and export the file again."
            )
        notes.append(f"Left out: {len(why)} of {len(records)} rows; {counts}.")
    if several := sum(record.pop(SEVERAL, 0) > 1 for _, record in kept):
        notes.append(f"Of {counted(several, 'task')} with several annotations, one was taken.")
    return kept


def _questions(name: str, records: Iterable[Record]) -> Iterator[Record]:
    """The records, and in the place of SQuAD's articles and paragraphs their questions.

    Raises:
        FileProblem: an article, a paragraph or a question has another form.
    """

    def inside(place: str, row: Mapping[str, Any], key: str, what: str) -> list[tuple[str, dict[str, Any]]]:
        if not _of(row[key], dict):
            wrong = (
                row[key]
                if not isinstance(row[key], list)
                else next(x for x in row[key] if not isinstance(x, dict))
            )
            raise FileProblem(
                f"{name}, {place}: {key!r} must be a list of objects, as in SQuAD, and here is {kind_of(wrong)}. Correct it, or leave the {what} out."
            )
        return [(f"{place}, {key[:-1]} {number}", each) for number, each in enumerate(row[key], 1)]

    for number, (place, record) in enumerate(records, 1):
        paragraphs = [(place, record)]
        if "paragraphs" in record:
            place = place.replace("data, element", "article")
            paragraphs = inside(place, record, "paragraphs", "article")
        for where, paragraph in paragraphs:
            if "qas" not in paragraph:
                yield (
                    where,
                    {**paragraph, **({"title": record.get("title")} if paragraph is not record else {})},
                )
                continue
            for at, one in inside(where, paragraph, "qas", "paragraph"):
                yield (
                    at.replace("qa ", "question "),
                    {
                        "title": record.get("title") or str(number),
                        "context": paragraph.get("context"),
                        "question": one.get("question"),
                        "answers": one.get("answers") or [],
                    },
                )
