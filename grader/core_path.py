"""What of a lab can wait: sections whose headings say "(optional)" or "(before lab 05)", with everything under them.

The headings are the only place where this is said. The rules for labs, the release (where such a cell may fail without stopping *Run All*), the
checks and the map of the course all follow from it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from nbformat import NotebookNode


MAY_FAIL = "raises-exception"
"""The tag of cells whose exception does not stop *Run All*: JupyterLab's own."""

END = "## Common mistakes, by their symptom"
"""The core path ends before what every lab ends with: a table to look things up in, the quiz, and what goes further."""

_WAITS = re.compile(r"\((?:(optional)|before lab (\d\d))\)")


class Piece(NamedTuple):
    """A piece of a lab: a code cell, or the part of a text cell under one heading.

    Attributes:
        section: the heading of the section that can wait and has this piece in it; "" on the core path.
        until: "optional", or the number of the lab that needs the section; "" on the core path.
    """

    cell: NotebookNode
    text: str
    section: str = ""
    until: str = ""


def pieces(source: NotebookNode) -> Iterator[Piece]:
    """The pieces of a lab up to its end, in order."""
    section, until, level = "", "", 0
    for cell in source.cells:
        texts = [cell.source]
        if cell.cell_type == "markdown":
            texts = re.split(r"^(?=#{2,4} )", cell.source, flags=re.MULTILINE)
        for text in texts:
            heading = re.match(r"(#{2,4}) (.*)", text) if cell.cell_type == "markdown" else None
            if text.startswith(END):
                return
            if heading and (not level or len(heading[1]) <= level):
                found = _WAITS.search(heading[2])
                section, until, level = (
                    (heading[2], found[1] or found[2], len(heading[1])) if found else ("", "", 0)
                )
            yield Piece(cell, text, section, until)


def mark(source: NotebookNode) -> None:
    """Tags the code cells that can wait, so that *Run All* goes on after them even if they stop at what is not written yet."""
    for piece in pieces(source):
        tags = piece.cell.metadata.get("tags", [])
        if piece.until and piece.cell.cell_type == "code" and MAY_FAIL not in tags:
            piece.cell.metadata["tags"] = [*tags, MAY_FAIL]
