"""Lab 12's files: rows of a data set in CSV or JSON lines, the default sets for three tasks, and texts without labels.

A row is a dict, column -> value, as :data:`COLUMNS` says. The default sets are made from what the other labs ship.
docs/data-own.md describes the files, and unlabelled.json, whose labels only instructors have.
"""

from __future__ import annotations

import csv
import json
import random
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

Row = dict[str, Any]

COLUMNS: Mapping[str, Mapping[str, type]] = {
    "classification": {"group": str, "text": str, "label": str},
    "entities": {"group": str, "text": str, "spans": list},
    "questions": {"group": str, "context": str, "question": str, "answer": str, "start": int},
}
"""Task -> the columns that its rows have, each with the type of its values."""

LIBRARIES = ("matplotlib", "networkx", "scikit-learn", "sqlalchemy", "sympy", "torch")
"""The labels of the default set for classification."""

UNLABELLED = Path(__file__).with_name("unlabelled.json")

LOGITS = Path(__file__).with_name("own_logits.json")


def read_rows(path: str | Path) -> list[Row]:
    """The rows of a file: CSV with a header if its name ends in .csv, otherwise one JSON object per line.

    In a CSV file, ``spans`` holds JSON and ``start`` a whole number; what cannot be read as such stays a text.

    Raises:
        ValueError: a line cannot be read at all, or has other cells than the header; the message says which line.
    """
    path = Path(path)
    with path.open(encoding="utf-8-sig", newline="") as file:
        return list(_from_csv(file) if path.suffix.lower() == ".csv" else _from_json(file))


def _from_csv(lines: Iterable[str]) -> Iterable[Row]:
    reader = csv.reader(lines)
    header = next(reader, [])
    for cells in reader:
        if len(cells) != len(header):
            raise ValueError(
                f"line {reader.line_num}: there are {len(cells)} cells, and the header has {len(header)}."
            )
        row: Row = dict(zip(header, cells, strict=True))
        for column, kind in (("spans", list), ("start", int)):
            try:
                value = json.loads(row[column])
            except (KeyError, ValueError):
                continue
            if type(value) is kind:
                row[column] = value
        yield row


def _from_json(lines: Iterable[str]) -> Iterable[Row]:
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except ValueError as error:
            raise ValueError(f"line {number}: this is not JSON: {error}") from None
        if not isinstance(row, dict):
            raise ValueError(f"line {number}: this is a {type(row).__name__}; a row is an object in braces.")
        yield row


def write_rows(path: str | Path, rows: Iterable[Row]) -> None:
    """Writes a file that :func:`read_rows` reads. All rows have the columns of the first."""
    path, rows = Path(path), list(rows)
    with path.open("w", encoding="utf-8", newline="") as file:
        if path.suffix.lower() != ".csv":
            file.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
            return
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        for row in rows:
            writer.writerow(
                {name: json.dumps(value) if isinstance(value, list) else value for name, value in row.items()}
            )


def default_rows(task: str) -> list[Row]:
    """The set that comes with the course for a task.

    classification: sentences of documentation, six libraries, in groups by module; entities: made résumés, in groups by layout;
    questions: paragraphs, in groups by text.
    """
    if task == "classification":
        from course_utils.data.documentation import load_documentation

        return [
            {"group": one.module, "text": one.text, "label": one.library}
            for one in load_documentation(first_part=True)
            if one.library in LIBRARIES
        ]
    if "spans" in COLUMNS[task]:
        from course_utils.data.resumes import make_resumes

        return [
            {"group": one.template, "text": one.text, "spans": [list(entity) for entity in one.entities]}
            for one in make_resumes(180, seed=0)
        ]
    from course_utils.data.paragraphs import load_paragraphs

    rows = []
    for one in load_paragraphs():
        if one.answers:
            start, end = one.answers[0]
            answer = one.context[start:end]
            rows.append({"group": one.document, "context": one.context, "question": one.question,
                         "answer": answer, "start": start})  # fmt: skip
    return rows


def with_faults(rows: Iterable[Row], seed: int = 0) -> list[Row]:
    """A copy of rows for classification in which things are wrong, as in a file that several people have typed:
    an empty text, a missing label, a label that is a number, copies with other spaces, one text with two labels.
    """
    rng = random.Random(seed)
    rows = [dict(row) for row in rows]
    empty, missing, number, *copied = rng.sample(range(len(rows)), 9)
    rows[empty]["text"] = "  "
    del rows[missing]["label"]
    rows[number]["label"] = 4
    labels = sorted({row["label"] for row in rows if isinstance(row.get("label"), str)})
    for place, source in enumerate(copied):
        copy = {**rows[source], "text": rows[source]["text"].replace(" ", "  ", 1).upper()}
        if place % 3 == 0:
            copy["label"] = next(label for label in labels if label != copy["label"])
        rows.append(copy)
    return rows


def kept_logits(name: str) -> dict[str, np.ndarray]:
    """What a model of lab 12, "LoRA" or "fine-tuned", gave on the default set: "validation" and "test" -> (texts, 6) logits."""
    kept = json.loads(LOGITS.read_text("utf-8"))[name]
    return {part: np.array(kept[part]) for part in ("validation", "test")}


def kept_seconds(name: str) -> int:
    """How long that model took, training and predicting, when its logits were kept."""
    return json.loads(LOGITS.read_text("utf-8"))[name]["seconds"]


def load_unlabelled() -> list[str]:
    """300 sentences of the six libraries, from modules that are not in the default set. Their labels are not here."""
    return json.loads(UNLABELLED.read_text("utf-8"))
