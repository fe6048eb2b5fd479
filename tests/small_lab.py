"""A release of a few cells, for tests of what happens to submissions of it."""

from __future__ import annotations

import copy
from collections.abc import Iterator

from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

STUB = "# YOUR CODE HERE\nraise NotImplementedError"
SOLUTIONS = {
    "double": "def double(x):\n    return x + x",
    "half": "def half(x):\n    return x / 2",
}
ANSWER = "Because it is *even*."


def _nbgrader(grade_id: str, **values) -> dict:
    usual = {"grade": False, "solution": False, "locked": False, "task": False, "schema_version": 3}
    return {"nbgrader": usual | {"grade_id": grade_id} | values}


def _stub(name: str) -> NotebookNode:
    indented = STUB.replace("\n", "\n    ")
    source = f"def {name}(x):\n    {indented}"
    return new_code_cell(source, id=name, metadata=_nbgrader(name, solution=True))


def _check(name: str) -> NotebookNode:
    source = f'from course_utils import check\n\ncheck("small.{name}")'
    metadata = _nbgrader(f"check_{name}", grade=True, locked=True, points=2)
    return new_code_cell(source, id=f"check_{name}", metadata=metadata)


def release() -> NotebookNode:
    """Prose, a set-up cell, two exercises with their checks, an example, a heavy cell, a written answer."""
    answer = _nbgrader("why", grade=True, solution=True, points=3)
    cells = [
        new_markdown_cell("# A small lab", id="title"),
        new_code_cell("import math", id="setup"),
        _stub("double"),
        _check("double"),
        new_code_cell("print(double(4))", id="example"),
        new_markdown_cell("YOUR ANSWER HERE", id="why", metadata=answer),
        _stub("half"),
        _check("half"),
        new_code_cell("train_for_hours()", id="heavy", metadata={"tags": ["skip-grading"]}),
    ]
    return new_notebook(cells=cells)


def solved() -> NotebookNode:
    notebook = release()
    for name, text in SOLUTIONS.items():
        cell(notebook, name).source = text
    cell(notebook, "why").source = ANSWER
    return notebook


def cell(notebook: NotebookNode, cell_id: str) -> NotebookNode:
    return next(cell for cell in notebook.cells if cell.get("id") == cell_id)


def without_metadata(notebook: NotebookNode) -> NotebookNode:
    notebook = copy.deepcopy(notebook)
    for each in notebook.cells:
        each.metadata = {}
        del each["id"]
    return notebook


def code(notebook: NotebookNode) -> list[str]:
    return list(_code(notebook))


def _code(notebook: NotebookNode) -> Iterator[str]:
    for each in notebook.cells:
        if each.cell_type == "code":
            yield each.source
