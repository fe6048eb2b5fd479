"""Lab 13's rows: what columns a task has, the default sets for three tasks, an honest split, and texts without labels.

A row is a dict, column -> value, as :data:`COLUMNS` says. The default sets are made from what the other labs ship; a learner's own
file is read by :mod:`course_utils.data.own_file`. docs/data-own.md describes the files, and unlabelled.json, whose labels only instructors have.
"""

from __future__ import annotations

import csv
import json
import random
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from course_utils.data.documentation import fingerprint

Row = dict[str, Any]

COLUMNS: Mapping[str, Mapping[str, type]] = {
    "classification": {"group": str, "text": str, "label": str},
    "entities": {"group": str, "text": str, "spans": list},
    "questions": {"group": str, "context": str, "question": str, "answer": str, "start": int},
}
"""Task -> the columns that its rows have, each with the type of its values."""


class FileProblem(ValueError):
    """A file cannot be read as rows of a task, or its rows cannot be used. In a notebook it is shown as its sentence, without a traceback."""

    def _render_traceback_(self) -> list[str]:
        return [f"{type(self).__name__}: {self}"]


LIBRARIES = ("matplotlib", "networkx", "scikit-learn", "sqlalchemy", "sympy", "torch")
"""The labels of the default set for classification."""

UNLABELLED = Path(__file__).with_name("unlabelled.json")

LOGITS = Path(__file__).with_name("own_logits.json")

ASKED = Path(__file__).with_name("own_asked.json")


def write_rows(path: str | Path, rows: Iterable[Row]) -> None:
    """Writes CSV if the name ends in .csv, otherwise JSON lines. All rows have the columns of the first."""
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


# ---------------------------------------------------------------------------------- an honest split

TEST, VALIDATION, POOL = 300, 600, 1000
"""The most rows of each part."""

ORDERS = 50
"""So many orders of the groups are tried before rows are said not to make three parts."""


def groups_that_split(groups: Sequence[str]) -> tuple[list[str], str]:
    """The groups by which rows can be split, and what there is to say about it.

    With fewer than five groups, or one that has most of the rows, three parts cannot be made of whole groups. Then each row is a group of
    its own, and the note says what this costs.

    Raises:
        FileProblem: there are no rows.
    """
    if not groups:
        raise FileProblem(
            "No row is left to split: each has a fault, or its text is there with two labels. Section 1 lists the faults; mend the file."
        )
    rows_of = Counter(groups)
    largest, most = rows_of.most_common(1)[0]
    if len(rows_of) >= 5 and most <= 0.6 * len(groups):
        return list(groups), ""
    why = (
        f"there are only {len(rows_of)} groups"
        if len(rows_of) > 1
        else f"all rows are of one group, {largest[:40]!r}"
    )
    if len(rows_of) >= 5:
        why = f"the group {largest[:40]!r} has {most} of {len(groups)} rows"
    return [str(number) for number in range(len(groups))], (
        f"Split row by row, because {why}: whole groups do not make three parts. "
        "The test does not say how a model does with a new group."
    )


def three_parts(
    groups: Sequence[str],
    labels: Sequence[str],
    split: Callable[..., np.ndarray],
    seed: int = 0,
    classes: int = 2,
) -> dict[str, np.ndarray]:
    """The numbers of the rows in the test set, the validation set and the pool, each in random order.

    A file that is large enough also has a "second test", with groups of its own, for a model that is not the one for which the test is kept.
    In some orders of the groups, all rows of a rare class may miss the pool: then the next order is taken.

    Args:
        split: `split_by_group` of lab 13. It is asked for three tenths of the rows, and for a quarter of the others. Of a large file, most of
            these are left out at random, so that rows of many groups are left.
        classes: how many the pool must have at least.

    Raises:
        FileProblem: a part would be empty, or the pool would have fewer classes than it must.
    """
    there, known = np.array(groups), np.array(labels)
    for order in range(ORDERS):
        parts = _parts(there, known, split, seed if order == 0 else [seed, order])
        found = len(np.unique(known[parts["pool"]]))
        if found >= classes and min(map(len, parts.values())) > 0:
            return parts
    counts = Counter(known.tolist())
    rare = [label for label in counts if len(np.unique(there[known == label])) < 3]
    why = "It takes more rows in more groups."
    if len(counts) < classes:
        why = f"It takes more rows, more groups, or at least {classes} labels."
    elif len(counts) - len(rare) < classes:
        shown = ", ".join(f"{label!r} has {counted(counts[label], 'row')}" for label in rare[:5])
        why = (
            f"Each class needs rows in three groups at least, one group for each part, and {shown}. "
            "Find more rows of such a class, or join it with another."
        )
    raise FileProblem(
        f"{counted(len(known), 'row')} in {counted(len(np.unique(there)), 'group')} do not make three parts: the pool has "
        f"{counted(len(parts['pool']), 'row')} of {counted(found, 'class')}, validation {counted(len(parts['validation']), 'row')}, "
        f"the test {counted(len(parts['test']), 'row')}. {why}"
    )


def counted(number: int, what: str) -> str:
    """A number and what is counted: "1 row", "2 classes"."""
    plural = f"{what}es" if what.endswith("s") else f"{what}s"
    return f"{number:,} {what if number == 1 else plural}"


def _parts(
    groups: np.ndarray, labels: np.ndarray, split: Callable[..., np.ndarray], seed: int | list[int]
) -> dict[str, np.ndarray]:
    """Three or four parts for one order of the groups, however they turn out."""
    rng = np.random.default_rng(seed)
    order = rng.permutation(np.unique(groups)).tolist()

    def halves(rows: np.ndarray, share: float) -> tuple[np.ndarray, np.ndarray]:
        """Those of these rows that are taken, and the others."""
        there = set(groups[rows].tolist())
        inside = [group for group in order if group in there]
        taken = np.asarray(split(groups[rows].tolist(), labels[rows].tolist(), inside, share), dtype=bool)
        return rows[taken], rows[~taken]

    test, rest = halves(np.arange(len(labels)), 0.3)
    validation, pool = halves(rest, 0.25)
    second = np.array([], dtype=int)
    if len(test) >= 2 * TEST:
        test, second = halves(test, 0.5)
    parts = {
        "pool": rng.permutation(pool)[:POOL],
        "validation": rng.permutation(validation)[:VALIDATION],
        "test": rng.permutation(test)[:TEST],
    }
    if len(second):
        parts["second test"] = rng.permutation(second)[:TEST]
    return parts


# ---------------------------------------------------------------------------------- kept results, and texts without labels


def load_asked(texts: Sequence[str]) -> tuple[list[str], float]:
    """What the language model of lab 08 said about the validation texts of the default set, and its seconds; nothing about other texts.

    A script beside the source of the lab, ask_language_model.py, wrote it; docs/data-own.md says how it was asked.
    """
    kept = json.loads(ASKED.read_text("utf-8"))
    return (kept["said"], kept["seconds"]) if kept["about"] == fingerprint(texts) else ([], 0.0)


def kept_logits(name: str) -> dict[str, np.ndarray]:
    """What a model of lab 13, "LoRA" or "fine-tuned", gave on the default set: "validation" and "test" -> (texts, 6) logits."""
    kept = json.loads(LOGITS.read_text("utf-8"))[name]
    return {part: np.array(kept[part]) for part in ("validation", "test")}


def kept_seconds(name: str) -> int:
    """How long that model took, training and predicting, when its logits were kept."""
    return json.loads(LOGITS.read_text("utf-8"))[name]["seconds"]


def load_unlabelled() -> list[str]:
    """300 sentences about the six libraries, written for the course. Their labels are not here."""
    return json.loads(UNLABELLED.read_text("utf-8"))
