"""Thousands of damaged notebooks through reading and rebuilding. A failure names the seed that repeats it."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Callable
from typing import Any

import nbformat
import pytest
from nbformat import NotebookNode
from project import LABS, turn_of

from grader.handout.demo import solved
from grader.receive.read import read_submission
from grader.receive.rebuild import Rebuilt, rebuild
from grader.reference.lab import ADDED_TAG, SKIP_TAG, Lab, checked_exercise

ODD_VALUES: list[Any] = [
    None,
    True,
    0,
    -1,
    10**30,
    1.5,
    float("nan"),
    float("inf"),
    "",
    " \n",
    "\ud800",
    "\u202e",
    "\x00",
    "x" * 30_000,
    "(" * 300,
    "<<<<<<< a\n=======\n>>>>>>> b\n",
    "```python\nx = 1\n```",
    "def softmax(x):\n    return x",
    "def padding_mask(",
    [],
    {},
    ["a", None, 3, "b"],
    {"cells": []},
    [[[[[]]]]],
]
PLANTED = {"planted": "by the submission", "tags": ["skip-execution"], "nbgrader": {"points": 99}}


# ---------------------------------------------------------------------------------- mutations


def places(value: Any) -> list[tuple[Any, Any]]:
    """Every (container, key) of a JSON value."""
    found, todo = [], [value]
    while todo:
        here = todo.pop()
        pairs = here.items() if isinstance(here, dict) else enumerate(here)
        for key, inner in pairs:
            found.append((here, key))
            if isinstance(inner, (dict, list)):
                todo.append(inner)
    return found


def delete(chance: random.Random, notebook: dict) -> None:
    container, key = chance.choice(places(notebook))
    del container[key]


def replace(chance: random.Random, notebook: dict) -> None:
    container, key = chance.choice(places(notebook))
    container[key] = copy.deepcopy(chance.choice(ODD_VALUES))


def exchange(chance: random.Random, notebook: dict) -> None:
    found = places(notebook)
    (one, key), (other, name) = chance.choice(found), chance.choice(found)
    one[key], other[name] = copy.deepcopy(other[name]), copy.deepcopy(one[key])


def rename(chance: random.Random, notebook: dict) -> None:
    objects = [(here, key) for here, key in places(notebook) if isinstance(here, dict)]
    container, key = chance.choice(objects)
    container[chance.choice(["source", "cells", "id", "input", "metadata", "x"])] = container.pop(key)


def some_cell(chance: random.Random, notebook: dict) -> dict | None:
    cells = notebook.get("cells")
    found = [cell for cell in cells if isinstance(cell, dict)] if isinstance(cells, list) else []
    return chance.choice(found) if found else None


def change_cell(chance: random.Random, notebook: dict) -> None:
    if cell := some_cell(chance, notebook):
        key = chance.choice(["source", "cell_type", "metadata", "id", "outputs", "attachments"])
        cell[key] = copy.deepcopy(chance.choice([*ODD_VALUES, "code", "markdown", "raw"]))


def repeat_cell(chance: random.Random, notebook: dict) -> None:
    if cell := some_cell(chance, notebook):
        twin = copy.deepcopy(cell)
        if chance.random() < 0.5:
            twin["source"] = chance.choice(
                ["x = 1", "def softmax(x):\n    return 0", str(twin.get("source"))[::-1]]
            )
        notebook["cells"].insert(chance.randrange(len(notebook["cells"]) + 1), twin)


def take_identity(chance: random.Random, notebook: dict) -> None:
    one, other = some_cell(chance, notebook), some_cell(chance, notebook)
    if one and other:
        for key in ("id", "metadata"):
            if key in other:
                one[key] = copy.deepcopy(other[key])


def shuffle(chance: random.Random, notebook: dict) -> None:
    if isinstance(notebook.get("cells"), list):
        chance.shuffle(notebook["cells"])


def older_format(chance: random.Random, notebook: dict) -> None:
    notebook["nbformat"] = chance.choice([1, 2, 3, 5, 99, "4", None])
    if chance.random() < 0.5 and "cells" in notebook:
        notebook["worksheets"] = [{"cells": notebook.pop("cells")}]


STRUCTURAL: list[Callable[[random.Random, dict], None]] = [
    delete,
    replace,
    exchange,
    rename,
    change_cell,
    repeat_cell,
    take_identity,
    shuffle,
    older_format,
]


def mutated_bytes(chance: random.Random, data: bytes) -> bytes:
    start, length = chance.randrange(len(data)), chance.randrange(1, 60)
    piece = data[start : start + length]
    return chance.choice(
        [
            lambda: data[:start],
            lambda: data[:start] + data[start + length :],
            lambda: data[:start] + piece + data[start:],
            lambda: data[:start] + chance.randbytes(length) + data[start + length :],
            lambda: data.replace(b'"source"', b'"source": "first", "source"', chance.randrange(9)),
            lambda: data.replace(b"\n", b"\r\n"),
            lambda: data.decode().encode(chance.choice(["utf-16", "utf-32", "utf-16-be", "utf-8-sig"])),
            lambda: b"[" * 5000 + data,
            lambda: data.replace(b'"cells"', b'"big": ' + b"9" * 5000 + b', "cells"', 1),
        ]
    )()


def mutant(seed: int, start: NotebookNode) -> bytes:
    """A damaged copy of a notebook: most are still JSON, some are not."""
    chance = random.Random(seed)
    notebook = copy.deepcopy(start)
    for cell in notebook["cells"]:
        cell["metadata"] = {**PLANTED, **cell["metadata"]}
    notebook["metadata"] = PLANTED
    for _ in range(chance.choice([0, 1, 1, 2, 3, 5, 10, 30])):
        if places(notebook):
            chance.choice(STRUCTURAL)(chance, notebook)
    data = json.dumps(notebook, indent=chance.choice([None, 1])).encode()
    return mutated_bytes(chance, data) if chance.random() < 0.25 else data


# ---------------------------------------------------------------------------------- what must hold


def see_that_it_is_safe(release: NotebookNode, result: Rebuilt) -> None:
    nbformat.validate(result.notebook)
    assert result.notebook.metadata == release.metadata
    released = {cell.id: cell for cell in release.cells}
    found = [cell for cell in result.notebook.cells if cell.id in released]
    assert [cell.id for cell in found] == list(released)
    for cell in found:
        assert {key: cell[key] for key in cell if key not in ("source", "attachments")} == {
            key: released[cell.id][key] for key in released[cell.id] if key != "source"
        }
        if checked_exercise(cell):
            assert cell == released[cell.id]
    for cell in result.notebook.cells:
        if cell.id not in released and cell.cell_type == "markdown":
            assert cell.metadata == {"tags": [ADDED_TAG]}
        elif cell.id not in released:
            assert cell.metadata in ({"tags": [ADDED_TAG]}, {"tags": [ADDED_TAG, SKIP_TAG]})
            assert (cell.cell_type, cell.outputs, cell.execution_count) == ("code", [], None)


def fuzz(labs: dict[str, Lab], seeds: range) -> int:
    """How many of the mutants could be read."""
    plain = {name: json.loads(json.dumps(solved(lab))) for name, lab in labs.items()}
    releases = {name: lab.release() for name, lab in labs.items()}
    readable = 0
    for seed in seeds:
        name = LABS[seed % len(LABS)]
        try:
            read = read_submission(mutant(seed, plain[name]))
            assert bool(read.cells) != bool(read.problem)
            see_that_it_is_safe(releases[name], rebuild(releases[name], read.cells))
        except Exception as error:
            raise AssertionError(f"seed {seed}, lab {name}: {type(error).__name__}: {error}") from error
        readable += bool(read.cells)
    return readable


def test_a_hundred_damaged_notebooks_are_read_and_rebuilt_safely(labs):
    assert 0 < fuzz(labs, range(100)) < 100


@pytest.mark.slow
def test_thousands_of_damaged_notebooks_are_read_and_rebuilt_safely(labs):
    """A thousand each day, of three."""
    first = 100 + 1000 * turn_of(3)
    assert 500 < fuzz(labs, range(first, first + 1000)) < 1000
