"""The labs that can be found from here: what their folders say about them, and which exercises they have.

A lab's folder in ``notebooks/`` contains its notebook, ``lab.json`` (what the map of the course shows), ``exercises.py`` (what
is checked), ``quiz.md`` and ``expected.npz``. ``grader build`` writes them all.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path

INFO_NAME = "lab.json"


def core_part(core_minutes: int | None) -> str:
    """What lists add to a lab's minutes if it has optional parts: " (core 65)", which no line breaks in two."""
    return f" (core\N{NO-BREAK SPACE}{core_minutes})" if core_minutes else ""


@dataclass(frozen=True)
class LabInfo:
    """What the map of the course shows about a lab.

    Attributes:
        name: its folder's name, ``"02_self_attention"``.
        part: the part of the course that it belongs to.
        builds: what learners build in it, in a few words.
        needs: numbers of the labs that come before it.
        minutes: how long it takes a learner.
        core_minutes: how long it takes without its optional parts; None if it has none.
        exercises: their names, in order.
        waits: those that are not on the core path -> "optional", or the number of the lab that needs them.
        folder: where the lab is; this is not in the file.
    """

    name: str
    title: str
    part: str
    builds: str
    needs: tuple[str, ...]
    minutes: int
    exercises: tuple[str, ...]
    core_minutes: int | None = None
    waits: Mapping[str, str] = field(default_factory=dict, hash=False)
    folder: Path = field(default=Path(), compare=False)

    @property
    def number(self) -> str:
        return self.name.partition("_")[0]

    @property
    def slug(self) -> str:
        return self.name.partition("_")[2]

    def as_json(self) -> str:
        """The text of its file."""
        values = asdict(self)
        del values["folder"]
        for name in ("core_minutes", "waits"):
            if not values[name]:
                del values[name]
        return json.dumps(values, indent=1, ensure_ascii=False) + "\n"


def read(folder: Path) -> LabInfo | None:
    """The lab in a folder; None if there is none, or its file cannot be read."""
    try:
        values = json.loads((folder / INFO_NAME).read_text("utf-8"))
        values |= {name: tuple(values[name]) for name in ("needs", "exercises")}
        values["waits"] = dict(values.get("waits", {}))
        return LabInfo(**values, folder=folder)
    except (OSError, ValueError, TypeError, KeyError):
        return None


def labs_in(notebooks: Path) -> list[LabInfo]:
    """The labs in a folder of labs, in order."""
    try:
        folders = sorted(path for path in notebooks.iterdir() if path.is_dir())
    except OSError:
        return []
    return [lab for folder in folders if (lab := read(folder))]


def find(slug: str) -> LabInfo | None:
    """The lab with this name: the one in the current folder, a neighbour of it, or one of the course's notebooks."""
    return next((lab for labs in _places() for lab in labs if lab.slug == slug), None)


def all_labs() -> list[LabInfo]:
    """The current folder's lab and its neighbours; the course's labs, if the current folder has none."""
    _, *neighbours = places = _places()
    return (neighbours or places)[0]


def beside() -> list[LabInfo]:
    """The lab in the current folder and its neighbours; empty if there is none in it, as in the grader."""
    _, *neighbours = _places()
    return neighbours[0] if neighbours else []


def _places() -> list[list[LabInfo]]:
    """The places where labs are looked for, nearest first.

    The current folder counts only if Python itself imports from it, as it does in a notebook, but not in the grader.
    """
    course = labs_in(Path(__file__).parents[1] / "notebooks")
    if ("" in sys.path or os.getcwd() in sys.path) and (current := read(Path.cwd())):
        return [[current], labs_in(Path.cwd().parent), course]
    return [course]
