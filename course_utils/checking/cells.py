"""The text of a notebook's cell as Python: with or without IPython's magics, of limited size, and never run.

The text may be hostile: what cannot be parsed has no statements.
"""

from __future__ import annotations

import ast
import re
import textwrap
import warnings
from collections.abc import Sequence

MAX_PARSED = 20_000
"""A cell with more characters than this is not parsed (Python 3.11 takes 10 GB for 200,000 of `import a.a.a...`)."""

MAX_TOTAL = 500_000
"""If all cells together have more characters than this, the older ones are not parsed."""


def parsed(source: str) -> Sequence[ast.stmt]:
    """A cell's statements; none if it is not Python."""
    return parsed_with_lines(source)[0]


def parsed_with_lines(source: str) -> tuple[Sequence[ast.stmt], list[str]]:
    """A cell's statements, with the line numbers of the cell, and its lines. Text that is not Python has no statements.

    Neither has a cell with a syntax error, because IPython runs nothing of it.
    """
    tree = _tree(source)
    if tree and (body := _body_of_cell_magic(tree)) is not None:
        source = "\n" + body
        tree = _tree(source)
    return (tree.body if tree else []), source.split("\n")


_WRITES = re.compile(r"\s*%%(?:writefile|file)[ \t]+(?:-a[ \t]+)?[\"']?(?:\./)?(\w+)\.py[\"']?[ \t]*\n")


def file_written(source: str) -> tuple[str, str] | None:
    """The module that a cell writes, and its text; None for other cells."""
    if found := _WRITES.match(source):
        return found[1], source[found.end() :]
    if "run_cell_magic" in source and (tree := _tree(source)):
        match tree.body:
            case [
                ast.Expr(
                    ast.Call(
                        ast.Attribute(attr="run_cell_magic"),
                        [
                            ast.Constant("writefile" | "file"),
                            ast.Constant(str() as line),
                            ast.Constant(str() as body),
                        ],
                    )
                )
            ] if found := _WRITES.match(f"%%writefile {line}\n"):
                return found[1], body
    return None


def _tree(source: str) -> ast.Module | None:
    """The syntax tree of Python with or without magics."""
    texts = (make() for make in (lambda: source, lambda: _plain(source), lambda: _plain(source, indent="")))
    for text in texts:
        try:
            with warnings.catch_warnings():  # about odd escapes and the like, in code that is not ours
                warnings.simplefilter("ignore")
                return ast.parse(text)
        except SyntaxError:
            continue
        except (ValueError, RecursionError, MemoryError):  # the latter two: absurdly nested
            break
    return None


_PYTHON_MAGICS = ("capture", "prun", "time")  # cell magics that run the cell as usual

_CELL_MAGIC = re.compile(r"\s*%%(\w*).*")

_MAGIC_LINE = r"(?:[%!?].*|[\w.%]+\?\??[ \t]*|\w[\w, \t]*+=[ \t]*+[%!].*)"


def _plain(source: str, indent: str = r"[ \t]*+") -> str:
    """A cell without its magics, which are whole lines. A stricter ``indent`` takes fewer lines for magics."""
    lines = textwrap.dedent(source).split("\n")
    first = next((index for index, line in enumerate(lines) if line.strip()), 0)
    if found := _CELL_MAGIC.fullmatch(lines[first]):
        if found.group(1) not in _PYTHON_MAGICS:
            return ""
        lines[first] = ""
    magic = re.compile(f"({indent}){_MAGIC_LINE}")
    return "\n".join(f"{found.group(1)}pass" if (found := magic.fullmatch(line)) else line for line in lines)


def _body_of_cell_magic(tree: ast.Module) -> str | None:
    """The body of a cell that IPython's history keeps as ``get_ipython().run_cell_magic('time', '', body)``."""
    match tree.body:
        case [
            ast.Expr(
                ast.Call(
                    ast.Attribute(attr="run_cell_magic"),
                    [ast.Constant(magic), ast.Constant(), ast.Constant(str() as body)],
                )
            )
        ] if magic in _PYTHON_MAGICS:
            return body
    return None
