"""Which lab a notebook is of, whatever it is called and whatever it was handed in for."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cached_property

from grader.course import Course
from grader.receive.read import PlainCell, read_submission
from grader.receive.rebuild import names_defined
from grader.reference.lab import Lab, is_solution, nbgrader_of


class Labs:
    """The graded cells of all labs that have been built. They are read once, when they are first needed."""

    def __init__(self, course: Course) -> None:
        self.course = course

    def likely(self, cells: Sequence[PlainCell], file_name: str) -> Lab | None:
        """The lab that most of the cells belong to: by grade_id and cell id, then by names defined, then by file name."""
        grade_ids, ids = _ids_in(cells)
        names = set().union(*(names_defined(cell.text, cell.kind, parse=False) for cell in cells))
        scores = {}
        for lab, graded in self._graded.items():
            found = sum(grade_id in grade_ids or cell_id in ids for grade_id, cell_id, _ in graded)
            defined = sum(solution and grade_id in names for grade_id, _, solution in graded)
            scores[lab] = (found, defined, lab.slug in re.sub("[- ]", "_", file_name.lower()))
        best = max(scores, key=scores.__getitem__, default=None)
        return best if best and any(scores[best]) else None

    def clearly_another(self, lab: Lab, data: bytes) -> Lab | None:
        """Another lab, if a file is certainly that lab's notebook and not this one's: it has most of the other's graded cells, and none
        of this one's. Cells that both labs have tell nothing.
        """
        mine = self._cells_of(lab)
        if not mine:
            return None
        grade_ids, ids = _ids_in(read_submission(data).cells)
        here = grade_ids | ids
        for other in self._graded:
            theirs = self._cells_of(other)
            own = theirs - mine
            if other != lab and 2 * len(own & here) > len(own) and not (mine - theirs) & here:
                return other
        return None

    @cached_property
    def _graded(self) -> dict[Lab, list[tuple[str, str, bool]]]:
        """Lab -> grade_id and cell id of each graded cell, and whether it is an exercise's solution."""
        found = {}
        for name in self.course.labs():
            lab = Lab.load(self.course, name)
            if (lab.release_folder / lab.notebook_name).is_file():
                cells = [cell for cell in lab.release().cells if nbgrader_of(cell).get("grade_id")]
                found[lab] = [
                    (nbgrader_of(cell)["grade_id"], cell.get("id", ""), is_solution(cell)) for cell in cells
                ]
        return found

    def _cells_of(self, lab: Lab) -> set[str]:
        return {grade_id for grade_id, _, _ in self._graded.get(lab, ())}


def _ids_in(cells: Sequence[PlainCell]) -> tuple[set[str], set[str]]:
    return {cell.grade_id for cell in cells} - {""}, {cell.id for cell in cells} - {""}
