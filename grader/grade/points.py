"""A graded notebook -> the points of its cells: the step from what is shown to what is entered in the gradebook."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from nbformat import NotebookNode
from nbgrader.utils import compute_checksum, determine_grade, is_grade, is_solution

from grader.lab import nbgrader_of


@dataclass(frozen=True)
class Points:
    """What the gradebook is told about one submission.

    Attributes:
        of_cells: grade_id -> the cell's automatic points; None where a human has to give them.
        untouched: solution cells and written answers that are as they were handed out.
        submitted: when it was handed in (UTC), if that is known.
    """

    of_cells: Mapping[str, float | None]
    untouched: frozenset[str]
    submitted: datetime | None = None


def points_in(notebook: NotebookNode, submitted: datetime | None, read: bool = True) -> Points:
    """The points of a notebook with results, by nbgrader's own rules.

    Args:
        read: False for a submission that could not be read: it gets 0 points everywhere and nothing is left to grade.
    """
    of_cells, untouched = {}, set()
    for cell in notebook.cells:
        name = nbgrader_of(cell).get("grade_id")
        if is_grade(cell):
            of_cells[name] = determine_grade(cell)[0] if read else 0.0
        if is_solution(cell) and nbgrader_of(cell).get("checksum") == compute_checksum(cell):
            untouched.add(name)
    return Points(of_cells, frozenset(untouched), submitted)
