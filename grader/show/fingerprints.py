"""Code -> fingerprints that stay when names, layout, comments and the order of its parts change.

A cell becomes the tokens of its syntax tree, in which the learner's own names are all the same. Every ``SIZE`` tokens in a row
are a hash, and of every ``WINDOW`` hashes in a row one is kept (winnowing: Schleimer, Wilkerson and Aiken, SIGMOD 2003). Whatever two texts
share for at least ``SIZE + WINDOW - 1`` tokens, they share a fingerprint of.
"""

from __future__ import annotations

import ast
import builtins
import warnings
import zlib
from collections.abc import Iterable, Iterator, Mapping

from grader.files import MAX_PARSED
from grader.receive.rebuild import names_defined

SIZE, WINDOW = 12, 5
"""Tokens in a hash; hashes in a window. A line of NumPy is some ten to twenty tokens."""
MAX_TRIES = 10
"""At most this many lines that do not parse are left out of a cell."""

Token = tuple[str, int]
"""A word, and the line (from 1) that it comes from."""

_ANY = "·"
"""What stands for each of the learner's own names."""
_SKIPPED = (ast.expr_context, ast.Import, ast.ImportFrom, ast.Pass)
_NOT_CODE = ("annotation", "returns", "type_comment", "type_params")
_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


def fingerprints(tokens: list[Token]) -> dict[int, frozenset[int]]:
    """Fingerprint -> the lines where it is, of one cell."""
    hashes = _hashes(tokens)
    kept = {
        min(range(start, min(start + WINDOW, len(hashes))), key=lambda place: (hashes[place], -place))
        for start in range(max(len(hashes) - WINDOW + 1, min(len(hashes), 1)))
    }
    found: dict[int, set[int]] = {}
    for place in kept:
        found.setdefault(hashes[place], set()).update(line for _, line in tokens[place : place + SIZE])
    return {value: frozenset(lines) for value, lines in found.items()}


def all_hashes(tokens: list[Token]) -> set[int]:
    """The hashes of all places in a cell: whatever else contains one of them has it in common with the cell."""
    return set(_hashes(tokens))


def _hashes(tokens: list[Token]) -> list[int]:
    words = [word for word, _ in tokens]
    return [  # crc32 and not hash(), which differs from process to process
        zlib.crc32("\n".join(words[place : place + SIZE]).encode()) for place in range(len(words) - SIZE + 1)
    ]


def tokens_of(text: str, known: Mapping[str, str] | None = None) -> list[Token]:
    """The tokens of a cell's syntax tree, in order. Never raises: lines that do not parse are left out.

    Not in them are comments, layout, docstrings, annotations, imports, the text of strings, and most names. The names that stay
        are Python's own, those in ``known`` (what the lab defines) and attributes of things that the cell did not make.
    """
    tree = _parsed(text)
    if tree is None:
        return []
    try:
        return list(_Tokens(tree, known or {}).of(tree, 1))
    except RecursionError:  # absurdly nested
        return []


def _parsed(text: str) -> ast.Module | None:
    """The syntax tree; None if too much has to be left out, or the text is too long for Python's parser."""
    if len(text) > MAX_PARSED:
        return None
    lines = text.split("\n")
    for _ in range(MAX_TRIES + 1):
        try:
            with warnings.catch_warnings():  # about odd escapes and the like, in code that is not ours
                warnings.simplefilter("ignore")
                return ast.parse("\n".join(lines))
        except SyntaxError as error:
            place = min(max(error.lineno or 1, 1), len(lines)) - 1
            line = lines[place]
            if line.strip() == "pass":
                return None
            lines[place] = f"{line[: len(line) - len(line.lstrip())]}pass"
        except (ValueError, RecursionError, MemoryError):
            return None
    return None


class _Tokens:
    """Walks a tree, knowing which names are the learner's."""

    def __init__(self, tree: ast.Module, known: Mapping[str, str]) -> None:
        nodes = list(ast.walk(tree))
        defined = {node.name for node in nodes if isinstance(node, _DEFINITIONS)}
        stored = [node for node in nodes if isinstance(getattr(node, "ctx", None), ast.Store)]
        own = defined | {node.id for node in stored if isinstance(node, ast.Name)}
        own |= {node.arg for node in nodes if isinstance(node, ast.arg)}
        own |= {
            node.name for node in nodes if isinstance(node, (ast.ExceptHandler, ast.MatchAs, ast.MatchStar))
        }
        names = {name: name for name in dir(builtins)} | dict(known) | _imports(tree)
        self.public = {name: word for name, word in names.items() if name not in own}
        self.own_attributes = {node.attr for node in stored if isinstance(node, ast.Attribute)} | members(
            tree
        )

    def of(self, node: ast.AST, line: int) -> Iterator[Token]:
        line = getattr(node, "lineno", line)
        if isinstance(node, _SKIPPED) or (
            isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        ):
            return
        yield self._word(node), line
        for field, value in ast.iter_fields(node):
            if field in _NOT_CODE:
                continue
            for child in value if isinstance(value, list) else [value]:
                if isinstance(child, ast.AST):
                    yield from self.of(child, line)

    def _word(self, node: ast.AST) -> str:
        match node:
            case ast.Name(id=name):
                return self.public.get(name, _ANY)
            case ast.Attribute(attr=name):
                return "." + (_ANY if name in self.own_attributes else name)
            case ast.Constant(value=str() | bytes()):
                return "text"
            case ast.Constant(value=value):  # hexadecimal: Python refuses to write long numbers in decimals
                return hex(value)[:40] if type(value) is int else repr(value)
            case _:
                return type(node).__name__


def members(tree: ast.AST) -> set[str]:
    """The names of methods and fields in the bodies of classes."""
    found = set()
    for part in (part for node in ast.walk(tree) if isinstance(node, ast.ClassDef) for part in node.body):
        if isinstance(part, _DEFINITIONS):
            found.add(part.name)
        elif isinstance(part, (ast.Assign, ast.AnnAssign)):
            targets = part.targets if isinstance(part, ast.Assign) else [part.target]
            nodes = (node for target in targets for node in ast.walk(target))
            found.update(node.id for node in nodes if isinstance(node, ast.Name))
    return found


def _imports(tree: ast.Module) -> dict[str, str]:
    """What the names that a cell imports stand for, whatever they are called there."""
    found = {}
    for node in ast.walk(tree):
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            for each in node.names:
                top = each.name.partition(".")[0]
                found[each.asname or top] = each.name if each.asname else top
    return found


def names_in(cells: Iterable[str]) -> dict[str, str]:
    """The names that a lab's cells define or import -> what they stand for: those that learners have not chosen."""
    names: dict[str, str] = {}
    for text in cells:
        names |= {name: name for name in names_defined(text)}
        if tree := _parsed(text):
            names |= _imports(tree)
    return names
