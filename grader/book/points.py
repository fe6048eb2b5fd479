"""A graded notebook -> the points of its cells: the step from what is shown to what is entered in the gradebook."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from grader.reference.lab import nbgrader_of

if TYPE_CHECKING:
    from nbformat import NotebookNode


@dataclass(frozen=True)
class Points:
    """What the gradebook records of one submission.

    Attributes:
        of_cells: grade_id -> the cell's automatic points; None where a human has to give them.
        untouched: solution cells and written answers that are as they were handed out.
        submitted: when it was handed in (UTC), if that is known.
        written: grade_id -> :func:`digest` of the answer, for cells that people grade.
    """

    of_cells: Mapping[str, float | None]
    untouched: frozenset[str]
    submitted: datetime | None
    written: Mapping[str, str]


def points_in(notebook: NotebookNode, submitted: datetime | None, read: bool = True) -> Points:
    """The points of a notebook with results, by nbgrader's own rules.

    Args:
        read: False for a submission that could not be read: it gets 0 points everywhere and nothing is left to grade.
    """
    from nbgrader.utils import compute_checksum, determine_grade, is_grade, is_solution

    of_cells, untouched, written = {}, set(), {}
    for cell in notebook.cells:
        name = nbgrader_of(cell).get("grade_id")
        if is_grade(cell):
            of_cells[name] = determine_grade(cell)[0] if read else 0.0
        if is_solution(cell) and nbgrader_of(cell).get("checksum") == compute_checksum(cell):
            untouched.add(name)
        if is_grade(cell) and is_solution(cell):
            written[name] = digest_of_answer(cell)
    return Points(of_cells, frozenset(untouched), submitted, written)


def digest_of_answer(cell: NotebookNode) -> str:
    """:func:`digest` of a written answer, with its pictures."""
    pictures = cell.get("attachments")
    return digest(cell.source + (json.dumps(pictures, sort_keys=True) if pictures else ""))


def digest(text: str) -> str:
    """What is remembered of an answer's text, to see whether another one was handed in."""
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()
