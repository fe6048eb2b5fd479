"""What the cells of a submission showed when it was handed in: text, and pictures drawn anew.

Grading drops all outputs of a submission, because nothing tells that they are the outputs of its code. Cells that are not run in grading then show nothing,
though a report may be about what they showed. Its reader sees it as what it is: the learner's word. It earns no points.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from grader.files import Unreadable
from grader.receive.pictures import KINDS, MAX_PIXELS_ALL, Refused, anew
from grader.receive.read import parsed

_MAX_OUTPUTS = 50
_MAX_TEXT, _MAX_TEXT_ALL = 10_000, 200_000
_COLOURS = re.compile(r"\x1b\[[0-9;]{0,20}[A-Za-z]")


@dataclass(frozen=True)
class Shown:
    """One output: text, or a picture as an address that has all of it."""

    text: str = ""
    picture: str = ""


@dataclass(frozen=True)
class CellShown:
    """What a code cell showed. ``id`` and ``source`` tell which one it was."""

    id: str
    source: str
    outputs: tuple[Shown, ...]


def figures_of(file: Path) -> list[CellShown]:
    """The code cells of a submission that showed anything, as far as they can be read; none of what cannot. Never raises for what was handed in."""
    try:
        cells = parsed(file).get("cells")
    except Unreadable:
        return []
    bounds = _Bounds()
    found = []
    for cell in cells if isinstance(cells, list) else ():
        if (
            isinstance(cell, dict)
            and cell.get("cell_type") == "code"
            and isinstance(cell.get("outputs"), list)
        ):
            outputs = tuple(shown for each in cell["outputs"][:_MAX_OUTPUTS] for shown in bounds.shown(each))
            if outputs:
                name = cell.get("id")
                found.append(
                    CellShown(name if isinstance(name, str) else "", _text(cell.get("source")), outputs)
                )
    return found


class _Bounds:
    """What is left of a submission's allowance."""

    def __init__(self) -> None:
        self.text, self.pixels = _MAX_TEXT_ALL, MAX_PIXELS_ALL

    def shown(self, output: Any) -> Iterator[Shown]:
        if not isinstance(output, dict):
            return
        kind, data = output.get("output_type"), output.get("data")
        if kind == "stream":
            yield from self._bounded(_text(output.get("text")))
        elif kind == "error":
            yield from self._bounded(f"{_text(output.get('ename'))}: {_text(output.get('evalue'))}")
        elif isinstance(data, Mapping):
            pictures = [mime for mime in KINDS if isinstance(data.get(mime), (str, list))]
            if pictures:
                yield self._picture(_text(data[pictures[0]]))
            else:
                yield from self._bounded(_text(data.get("text/plain")))

    def _picture(self, data: str) -> Shown:
        try:
            kind, encoded, pixels = anew(data, self.pixels)
        except Refused as error:
            return Shown(f"(a picture that is not shown: {error})")
        self.pixels -= pixels
        return Shown(picture=f"data:{kind};base64,{base64.b64encode(encoded).decode('ascii')}")

    def _bounded(self, text: str) -> Iterator[Shown]:
        limit = min(_MAX_TEXT, self.text)
        cut = text[:limit]
        self.text -= len(cut)
        cut = re.sub("[\ud800-\udfff]", "\ufffd", _COLOURS.sub("", cut))
        if cut.strip():
            left_out = len(text) - limit
            yield Shown(cut if left_out <= 0 else f"{cut}\n... {left_out} more characters left out")


def _text(value: Any) -> str:
    if isinstance(value, list):
        return "".join(part for part in value if isinstance(part, str))
    return value if isinstance(value, str) else ""
