"""What of a lab counts, by the rules of the term: all of it, the core path alone, or the core path with everything else as a bonus.

The headings say what is on the core path (:mod:`grader.core_path`). Nothing else decides what counts: scores, exports, reports, feedback and final grades all
ask here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from grader.book.rules import BONUS, LEFT_OUT, Rules
from grader.core_path import pieces
from grader.reference.lab import Lab, nbgrader_of

if TYPE_CHECKING:
    from nbformat import NotebookNode

NOT = "does not count"
"""What is said of a cell whose points do not count."""

_TOLD = "**What counts.** "
_SENTENCES = {
    LEFT_OUT: "Only the core path is graded: points of all other sections do not count.",
    BONUS: "The core path alone is 100 %: points of all other sections are a bonus, and can only raise your score.",
}


@dataclass(frozen=True)
class Counted:
    """Which graded cells of a lab do not count as all others do.

    Attributes:
        left_out: their points do not count.
        bonus: their points count, and are no part of 100 %.
    """

    left_out: frozenset[str] = frozenset()
    bonus: frozenset[str] = frozenset()

    def most(self, points: Mapping[str, float]) -> dict[str, float]:
        """The cells that are part of 100 %, with their points.

        Args:
            points: graded cell -> its points.
        """
        return {cell: each for cell, each in points.items() if cell not in self.left_out | self.bonus}

    def total(self, points: Mapping[str, float]) -> float:
        """The points that are 100 %.

        Args:
            points: graded cell -> its points.
        """
        return sum(self.most(points).values())

    def of(self, cell: str) -> str:
        """In words what is different about a cell; empty if nothing is."""
        return NOT if cell in self.left_out else "bonus" if cell in self.bonus else ""

    @property
    def told(self) -> str:
        """A sentence for readers of a score; empty if everything counts."""
        return _SENTENCES[LEFT_OUT] if self.left_out else _SENTENCES[BONUS] if self.bonus else ""


EVERYTHING = Counted()


def counted(lab: Lab, rules: Rules) -> Counted:
    """What counts in a lab. A lab whose core path is all of it counts as a whole, whatever the rules say.

    Raises:
        CourseError: the lab has not been built.
    """
    how = rules.optional_in(lab.name)
    if how not in _SENTENCES:
        return EVERYTHING
    graded = (nbgrader_of(piece.cell) for piece in pieces(lab.release()) if piece.until)
    beside = frozenset(cell["grade_id"] for cell in graded if cell.get("grade"))
    return Counted(left_out=beside) if how == LEFT_OUT else Counted(bonus=beside)


def tell(notebook: NotebookNode, counts: Counted) -> NotebookNode:
    """Says on a notebook's first page what counts, in place of what it said before; nothing if everything does."""
    first = notebook.cells[0]
    kept = [part for part in first.source.split("\n\n") if not part.startswith(_TOLD)]
    first.source = "\n\n".join([*kept, *([f"{_TOLD}{counts.told}"] if counts.told else [])])
    return notebook
