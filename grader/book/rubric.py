"""What is expected of a written answer: the table that learners see above it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from markdown_it import MarkdownIt
from nbformat import NotebookNode

from grader.reference.lab import nbgrader_of


@dataclass(frozen=True)
class RubricItem:
    """A line of a rubric: what an answer does, as Markdown, and what that is worth."""

    points: float
    text: str


@dataclass(frozen=True)
class Line:
    """A line of a rubric, and whether an answer earns it."""

    points: float
    text: str
    earned: bool


@dataclass(frozen=True)
class Question:
    """A written answer as the course asks for it.

    Attributes:
        cell: its grade_id.
        points: the most that it can earn.
        items: its rubric, in order; empty if it has none.
        prompt: the Markdown between it and the graded or locked cell before it.
    """

    cell: str
    points: float
    items: tuple[RubricItem, ...]
    prompt: str


def questions(notebook: NotebookNode) -> dict[str, Question]:
    """Grade_id -> question, for the cells of a release or source that people grade, in their order.

    The rubric is the last table above the answer whose first heading is "points".
    """
    found: dict[str, Question] = {}
    above: list[str] = []
    for cell in notebook.cells:
        managed = nbgrader_of(cell)
        if managed.get("grade") and managed.get("solution"):
            prompt = "\n\n".join(above)
            name = managed["grade_id"]
            found[name] = Question(name, float(managed["points"]), tuple(_items(prompt)), prompt)
        if managed:
            above = []
        elif cell.cell_type == "markdown":
            above.append(cell.source)
    return found


def _items(prompt: str) -> Iterator[RubricItem]:
    """The rows of the last table of points; one whose first cell is no number is none of them."""
    tables: list[list[list[str]]] = []
    for token in (tokens := iter(MarkdownIt().enable("table").parse(prompt))):
        if token.type == "table_open":
            tables.append([])
        elif token.type == "tr_open":
            tables[-1].append([])
        elif token.type in ("th_open", "td_open"):
            tables[-1][-1].append(next(tokens).content)
    rubrics = [table for table in tables if table[0][0].strip().casefold() == "points"]
    for row in rubrics[-1][1:] if rubrics else ():
        try:
            yield RubricItem(float(row[0]), row[1])
        except (ValueError, IndexError):
            continue
