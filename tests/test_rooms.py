"""The rooms of the grader: what a module may import depends on the floor that it is on."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from graphlib import TopologicalSorter

from project import ROOT

FLOORS = (
    {"commands"},
    {"by_hand", "handout", "plugins"},
    {"show"},
    {"grade"},
    {"author", "receive", "run"},
    {"book", "people", "sandbox"},
    {"reference"},
    {"grader"},  # what lies in no room
)
"""As docs/design.md draws them, from top to bottom."""

FILES = {
    ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path
    for path in (ROOT / "grader").rglob("*.py")
    if "template" not in path.parts
}


def room_of(module: str) -> str:
    if module in ("grader.cli", "grader.__main__"):
        return "commands"
    _, *parts = module.split(".")
    return parts[0] if parts and (ROOT / "grader" / parts[0]).is_dir() else "grader"


def imported(module: str) -> Iterator[str]:
    """The modules of the grader that one imports, in functions, too."""
    for node in ast.walk(ast.parse(FILES[module].read_text("utf-8"))):
        if isinstance(node, ast.Import):
            yield from (each.name for each in node.names if each.name in FILES)
        elif isinstance(node, ast.ImportFrom) and node.module in FILES:
            for each in node.names:
                inner = f"{node.module}.{each.name}"
                yield inner if inner in FILES else node.module


def arrows() -> set[tuple[str, str]]:
    found = {(room_of(one), room_of(other)) for one in FILES for other in imported(one)}
    return {(one, other) for one, other in found if one != other}


def test_every_room_has_its_floor():
    rooms = {room_of(module) for module in FILES}
    assert rooms == set().union(*FLOORS)


def test_a_room_imports_from_its_own_floor_and_below_only():
    floor = {room: number for number, rooms in enumerate(FLOORS) for room in rooms}
    assert not [(one, other) for one, other in arrows() if floor[one] > floor[other]]


def test_no_room_imports_from_one_that_imports_from_it():
    graph: dict[str, set[str]] = {}
    for one, other in arrows():
        graph.setdefault(one, set()).add(other)
    TopologicalSorter(graph).prepare()  # raises where there is a circle


def test_only_the_book_s_room_knows_the_gradebook_s_tables_and_writes_to_them():
    doors = {"sqlalchemy", "sqlite3", "nbgrader.api"}
    for module, path in FILES.items():
        if room_of(module) == "book":
            continue
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Import):
                assert not doors & {each.name.partition(".")[0] for each in node.names}, module
            elif isinstance(node, ast.ImportFrom):
                assert not doors & {node.module, (node.module or "").partition(".")[0]}, module
            elif isinstance(node, ast.Attribute):
                assert node.attr != "transaction", module
