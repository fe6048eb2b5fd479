"""What is written in the notebooks: the definition of each exercise, with what it needs. Nothing is run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from course_utils.labs import LabInfo
from course_utils.portfolio_source import Notebook, Statement, Unreadable, read_notebook


@dataclass(frozen=True)
class Piece:
    """An exercise that is written: its definition and what that needs.

    Attributes:
        statements: all of it, imports and the definition too, in the order of the notebook.
    """

    key: str
    lab: LabInfo
    notebook: Notebook
    definition: Statement
    statements: tuple[Statement, ...]

    @property
    def name(self) -> str:
        """The name of its exercise."""
        return self.key.partition(".")[2]


@dataclass
class Work:
    """What the notebooks have: the pieces by key, in the order of the course, and why other exercises have none."""

    pieces: dict[str, Piece] = field(default_factory=dict)
    missing: dict[str, str] = field(default_factory=dict)
    labs: list[LabInfo] = field(default_factory=list)

    def leave_out(self, key: str, why: str) -> None:
        """Leaves out an exercise and, until nothing changes, what calls one that is left out."""
        self.pieces.pop(key, None)
        self.missing[key] = why
        self.without_callers()

    def without_callers(self) -> None:
        """Leaves out what calls an exercise that is not there: the package would not run."""
        while found := next(
            ((key, other) for key in self.pieces if (other := self._calls_missing(key))), None
        ):
            key, other = found
            del self.pieces[key]
            self.missing[key] = f"it calls `{other}`, which is not in the package"

    def _calls_missing(self, key: str) -> str:
        piece = self.pieces[key]
        slug = piece.lab.slug
        bound = {name for each in piece.statements if not each.imported for name in each.binds}
        return next(
            (
                name
                for name in piece.lab.exercises
                if name != piece.name and name in bound and f"{slug}.{name}" not in self.pieces
            ),
            "",
        )


def gather(found: Sequence[LabInfo]) -> Work:
    """What is written in the notebooks of these labs. Nothing is run."""
    work = Work(labs=list(found))
    for lab in found:
        try:
            notebook = read_notebook(lab.folder / f"{lab.slug}.ipynb")
        except Unreadable as error:
            work.missing |= {f"{lab.slug}.{name}": f"its notebook: {error}" for name in lab.exercises}
            continue
        for name in lab.exercises:
            key = f"{lab.slug}.{name}"
            limit = notebook.limit(key)
            definition = notebook.definition(name, limit)
            if definition is None or definition.imported:
                work.missing[key] = "no cell of the notebook defines it"
            elif definition.is_unwritten:
                work.missing[key] = "not written yet"
            else:
                work.pieces[key] = Piece(
                    key, lab, notebook, definition, tuple(notebook.needed(definition, limit))
                )
    work.without_callers()
    return work
