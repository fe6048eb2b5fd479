"""What a learner's code uses of cells that grading does not run.

Figures, timings and training are left out of grading, but such a cell may import `math`, or define a function that a learner then calls
in a solution. In the notebook its check passes, so it has to pass in grading as well. Of each such cell the statements are run that
what a learner wrote needs, and no others.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass
from functools import lru_cache

from nbformat import NotebookNode
from nbformat.v4 import new_code_cell

from course_utils.checking.cells import MAX_PARSED, MAX_TOTAL, parsed
from course_utils.checking.names import ALWAYS, free_names
from course_utils.checking.scopes import bound_names
from grader.reference.lab import file_in, is_learners, runs_in_grading

_KINDS = (
    ast.Import,
    ast.ImportFrom,
    ast.FunctionDef,
    ast.AsyncFunctionDef,
    ast.ClassDef,
    ast.Assign,
    ast.AnnAssign,
)
"""What may be run on its own. A name that a loop or a condition sets is not had without what it does otherwise."""


@dataclass
class _LeftOut:
    """A statement of a cell that grading does not run."""

    cell: int
    statement: ast.stmt
    names: frozenset[str]
    is_used: bool = False


def with_what_is_used(notebook: NotebookNode) -> NotebookNode:
    """The same notebook, where what a learner wrote needs nothing more. Else a copy with a cell behind each one that is left out and
    whose names are needed; it has the statements that set them.

    Args:
        notebook: a rebuilt submission. What stands in it is parsed, and not run.
    """
    there: set[str] = set(ALWAYS)  # names that have a value so far
    left_out: list[_LeftOut] = []
    total = 0
    for index, cell in enumerate(notebook.cells):
        if cell.cell_type != "code" or file_in(cell) or len(cell.source) > MAX_PARSED:
            continue
        total += len(cell.source)
        if total > MAX_TOTAL:
            break
        if not runs_in_grading(cell):
            left_out += [_LeftOut(index, *each) for each in _parts(cell.source)]
        elif is_learners(cell):
            statements = parsed(cell.source)
            own = set(bound_names(statements))
            _use(set(free_names(statements)) - own, there, left_out)
            there |= own
        else:
            there |= _bound(cell.source)
    used: dict[int, list[ast.stmt]] = {}
    for one in left_out:
        if one.is_used:
            used.setdefault(one.cell, []).append(one.statement)
    if not used:
        return notebook
    try:
        texts = {index: "\n".join(map(ast.unparse, statements)) for index, statements in used.items()}
    except RecursionError:  # nobody writes that by hand
        return notebook
    changed = NotebookNode({**notebook, "cells": []})
    for index, cell in enumerate(notebook.cells):
        changed.cells.append(cell)
        if index in texts:
            changed.cells.append(new_code_cell(f"{_SAID}\n{texts[index]}", id=f"left-out-{index}"))
    return changed


_SAID = "# Grading leaves the cell above out, but the solutions use this part of it:"


def _use(wanted: set[str], there: set[str], left_out: list[_LeftOut]) -> None:
    """Marks the last statements that set these names, and those that set the names that they need in turn."""
    waiting = [(name, len(left_out)) for name in wanted - there]
    while waiting:
        name, before = waiting.pop()
        number = next((n for n in reversed(range(before)) if name in left_out[n].names), None)
        if number is not None and not left_out[number].is_used:
            left_out[number].is_used = True
            waiting += [(other, number) for other in set(free_names([left_out[number].statement])) - there]


@lru_cache(maxsize=4096)
def _bound(source: str) -> frozenset[str]:
    """The names that a cell of the lab sets. The lab's cells are the same for a whole class."""
    return frozenset(bound_names(parsed(source)))


@lru_cache(maxsize=4096)
def _parts(source: str) -> tuple[tuple[ast.stmt, frozenset[str]], ...]:
    return tuple(
        (each, frozenset(bound_names([each]))) for each in parsed(source) if isinstance(each, _KINDS)
    )
