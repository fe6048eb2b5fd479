"""A learner's definitions as text: read from a notebook's cells, of which nothing is run.

For an exercise, it finds the last definition of its name above its check, and whatever that definition needs to stand alone:
imports, constants, helpers, other exercises. Notebooks may be damaged; parts that nobody could read are left out.
"""

from __future__ import annotations

import ast
import builtins
import json
import re
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from course_utils.checking.cells import MAX_PARSED, MAX_TOTAL, parsed
from course_utils.checking.names import free_names
from course_utils.checking.scopes import bound_names

_MOST_BYTES = 20 * 2**20
"""A longer notebook is not read."""

_FUNCTIONS_AND_CLASSES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_BUILTINS = frozenset(dir(builtins)) | {"__name__", "__file__", "__doc__", "__class__", "super"}
_TO_WRITE = re.compile(r"^[ \t]*# YOUR CODE HERE[ \t]*\n?", re.MULTILINE)
_FAR_DOWN = 10**9


class Unreadable(Exception):
    """A file is not a notebook that can be read. The message says why, in words for people."""


@dataclass(frozen=True)
class Statement:
    """A statement at the top level of a cell; of an import, one name of it.

    Attributes:
        cell: the number of its cell, from 1.
        place: how many statements stand before it.
        text: as the learner wrote it, with the comments right above it.
        binds: the names that it gives a value.
        changes: names that it only changes something of, as in ``PARTS["a"] = 1``.
        needs: the names that it looks up.
        imported: of an import, the full dotted name of what is imported; else empty.
    """

    cell: int
    place: int
    node: ast.stmt = field(compare=False, repr=False)
    text: str = field(compare=False, repr=False)
    binds: frozenset[str] = frozenset()
    changes: frozenset[str] = frozenset()
    needs: frozenset[str] = frozenset()
    imported: str = ""

    @property
    def is_definition(self) -> bool:
        """Whether it is a function or a class, whose body looks names up only when it is called."""
        return isinstance(self.node, _FUNCTIONS_AND_CLASSES)

    @property
    def is_unwritten(self) -> bool:
        """Whether lines are still missing."""
        return "raise NotImplementedError" in self.text and "YOUR CODE HERE" in self.text


@dataclass(frozen=True)
class Notebook:
    """The code cells of a notebook, from the top: number, from 1, and text."""

    cells: Sequence[tuple[int, str]]

    @property
    def sources(self) -> list[str]:
        """The texts of its code cells."""
        return [text for _, text in self.cells]

    @cached_property
    def statements(self) -> list[Statement]:
        """All statements of cells that can be parsed, from the top."""
        found: list[Statement] = []
        total = 0
        for number, source in self.cells:
            total += len(source)
            if len(source) > MAX_PARSED or total > MAX_TOTAL:
                continue
            for node in parsed(source):
                found += _statements(number, len(found), node, source)
        return found

    def limit(self, key: str) -> int:
        """The number of the cell that checks an exercise. What stands further down cannot be meant."""
        check = re.compile(rf"""^check\(["']{re.escape(key)}["']\)""", re.MULTILINE)
        return max((number for number, source in self.cells if check.search(source)), default=_FAR_DOWN)

    def definition(self, name: str, limit: int = _FAR_DOWN, before: int = _FAR_DOWN) -> Statement | None:
        """The last statement that gives a name its value above a cell; if there is none, the last one further down."""
        binding = [each for each in self.statements if name in each.binds and each.place < before]
        above = [each for each in binding if each.cell < limit]
        return (above or binding or [None])[-1]

    def needed(self, definition: Statement, limit: int) -> list[Statement]:
        """A definition and all that it needs to stand alone, in the order of the notebook."""
        found, work = {definition}, [definition]
        while work:
            each = work.pop()
            others = [self._meant(name, each, limit) for name in sorted(each.needs)]
            others += [
                other
                for other in self.statements
                if other.changes & each.binds and each.place < other.place and other.cell < limit
            ]
            for other in others:
                if other and other not in found:
                    found.add(other)
                    work.append(other)
        return sorted(found, key=lambda each: each.place)

    def _meant(self, name: str, user: Statement, limit: int) -> Statement | None:
        before = _FAR_DOWN if user.is_definition else user.place  # `f = cache(f)` means the earlier f
        return self.definition(name, limit, before)


def read_notebook(file: Path) -> Notebook:
    """The code cells of a notebook's file.

    Raises:
        Unreadable: it is missing, too large, or no notebook.
    """
    try:
        if not file.is_file():
            raise Unreadable("there is no such file")
        if file.stat().st_size > _MOST_BYTES:
            raise Unreadable("it is larger than 20 MB: clear its outputs and save it again")
        cells = json.loads(file.read_bytes().decode("utf-8"))["cells"]
        if not isinstance(cells, list):
            raise TypeError
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        raise Unreadable("it is not a notebook that can be read") from None
    return Notebook(list(_code_cells(cells)))


def _code_cells(cells: Sequence[object]) -> Iterator[tuple[int, str]]:
    for number, cell in enumerate(cells, start=1):
        if not isinstance(cell, dict) or cell.get("cell_type") != "code":
            continue
        source = cell.get("source")
        lines = source if isinstance(source, list) else [source]
        if all(isinstance(line, str) for line in lines):
            yield number, "".join(lines)


# ---------------------------------------------------------------------------------- statements


def _statements(cell: int, place: int, node: ast.stmt, source: str) -> Iterator[Statement]:
    imports = [part for part in _outside_of_functions(node) if isinstance(part, ast.Import | ast.ImportFrom)]
    for part in imports:
        for alias in part.names:
            yield Statement(
                cell,
                place,
                part,
                _import_of(part, alias),
                frozenset([alias.asname or alias.name.partition(".")[0]]),
                imported=f"{part.module or ''}.{alias.name}"
                if isinstance(part, ast.ImportFrom)
                else alias.name,
            )
            place += 1
    if not imports:
        changes = frozenset(_roots(node))
        yield Statement(
            cell,
            place,
            node,
            _text_of(node, source),
            frozenset(bound_names([node])) - changes,
            changes,
            frozenset(_names_in(node)) - _BUILTINS,
        )


def _outside_of_functions(node: ast.stmt) -> Iterator[ast.stmt]:
    """A statement and those in its blocks, such as the imports in a ``with``."""
    yield node
    if not isinstance(node, _FUNCTIONS_AND_CLASSES):
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.stmt | ast.ExceptHandler):
                yield from _outside_of_functions(child)


def _import_of(node: ast.Import | ast.ImportFrom, alias: ast.alias) -> str:
    name = f"{alias.name} as {alias.asname}" if alias.asname else alias.name
    return (
        f"import {name}"
        if isinstance(node, ast.Import)
        else f"from {'.' * node.level}{node.module or ''} import {name}"
    )


def _roots(node: ast.stmt) -> Iterator[str]:
    """The names of which a statement changes a part, or adds to."""
    targets: list[ast.expr] = []
    if isinstance(node, ast.Assign):
        targets = [target for target in node.targets if isinstance(target, ast.Attribute | ast.Subscript)]
    elif isinstance(node, ast.AugAssign):
        targets = [node.target]
    for target in targets:
        while isinstance(target, ast.Attribute | ast.Subscript):
            target = target.value
        if isinstance(target, ast.Name):
            yield target.id


def _names_in(node: ast.stmt) -> Iterator[str]:
    """The names that it looks up, those of its annotations too: Python evaluates these when the function is defined."""
    yield from free_names([node])
    for part in ast.walk(node):
        annotations = [getattr(part, "annotation", None), getattr(part, "returns", None)]
        for annotation in filter(None, annotations):
            yield from (each.id for each in ast.walk(annotation) if isinstance(each, ast.Name))


def _text_of(node: ast.stmt, source: str) -> str:
    """A statement as it stands in its cell, if that can be cut out in whole lines; else as Python would write it."""
    lines = source.split("\n")
    first = min([node.lineno, *(each.lineno for each in getattr(node, "decorator_list", ()))]) - 1
    while first and lines[first - 1].startswith("#") and "YOUR CODE HERE" not in lines[first - 1]:
        first -= 1
    text = "\n".join(lines[first : node.end_lineno])
    text = textwrap.dedent(text) if text[:1].isspace() else text  # a cell may be indented as a whole
    text = text if "raise NotImplementedError" in text else _TO_WRITE.sub("", text)
    try:
        alone = ast.parse(text).body
    except (SyntaxError, ValueError):
        alone = []
    return text.strip("\n") if len(alone) == 1 and type(alone[0]) is type(node) else ast.unparse(node)


def imports_of(statements: Iterable[Statement]) -> list[Statement]:
    """Those that are imports, each once."""
    found = {each.text: each for each in statements if each.imported}
    return list(found.values())


def in_order(statements: Iterable[Statement]) -> str:
    """The text of a cell that defines all that the statements do."""
    ordered = sorted(statements, key=lambda each: each.place)
    texts = [each.text for each in (*imports_of(ordered), *(each for each in ordered if not each.imported))]
    return "\n\n".join(texts) + "\n"
