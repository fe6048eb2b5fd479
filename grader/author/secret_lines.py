"""Which lines of a lab learners must not get, and where they would find them: in a release, in ``course_utils``, or in all that is handed out."""

from __future__ import annotations

import ast
import io
import json
import re
import textwrap
import tokenize
from collections.abc import Iterator
from pathlib import Path

import nbformat
from nbformat import NotebookNode

from grader.author.leaks import Secrets, files_in
from grader.reference.lab import REGION, Lab, is_solution

_TELLING_TOKENS = 8
"""A line of a misconception is a secret if it has at least this many tokens: prose may name a shorter mistake."""


def leaks(lab: Lab, source: NotebookNode, built: Path) -> list[str]:
    """Lines of solutions or misconceptions that learners would find in the lab or in ``course_utils``."""
    secrets = Secrets(secret_lines(lab, source))
    found: dict[tuple[str, str], str] = {}
    for place, content in _learner_texts(built):
        for shown in secrets.shown_by(content):
            found.setdefault(shown, place)  # a notebook's cells come before the whole file
    return [f"{place} shows a line of {owner}: {line}" for (line, owner), place in found.items()]


def leaks_of_all(labs: list[Lab], folder: Path) -> list[str]:
    """Lines of any lab's solutions or misconceptions in a folder. What the releases themselves show to everybody is no secret."""
    secret: dict[str, str] = {}
    for lab in labs:
        lines = secret_lines(lab, lab.source())
        secret |= {line: f"{owner} ({lab.name})" for line, owner in lines.items()}
    secrets = Secrets(secret, public="\n".join(cell.source for lab in labs for cell in lab.release().cells))
    return [
        f"{path.relative_to(folder)} shows a line of {owner}: {line}"
        for path, content in files_in(folder)
        for line, owner in secrets.shown_by(content)
    ]


def secret_lines(lab: Lab, source: NotebookNode) -> dict[str, str]:
    """Telling line of a solution or a misconception, and each statement of several lines -> whose it is."""
    solution: dict[str, str] = {}
    for cell in source.cells:
        if is_solution(cell):
            for region in REGION.finditer(cell.source):
                solution |= {line: f"the solution of {cell.id}" for line in telling_lines(region.group(2))}
    wrong: dict[str, str] = {}
    for key, entries in lab.misconceptions.items():
        for entry in entries:
            for line in telling_lines(entry.source):
                if len(re.findall(r"\w+|[^\w\s]", line)) >= _TELLING_TOKENS:
                    wrong.setdefault(line, f"the misconception {entry.name} of {key}")
    given = "\n".join(REGION.sub("", cell.source) for cell in source.cells if is_solution(cell))
    for shown, _ in Secrets(wrong).shown_by(given):
        del wrong[shown]
    return wrong | solution


def telling_lines(text: str) -> list[str]:
    """Lines of code that are long enough to give something away, without comments, bare strings, signatures and the like; and
    statements of several lines, each as one."""
    code = _without_comments(textwrap.dedent(text))
    lines = (" ".join(line.split()) for line in (*code.splitlines(), *_long_statements(code)))
    return [
        line
        for line in dict.fromkeys(lines)
        if len(line) >= 20
        and not re.match(r"(def|class|import|from|return \w+$|if \w+ is (not )?None:$|[\"'])", line)
    ]


def _without_comments(code: str) -> str:
    lines = code.splitlines()
    try:
        for token in tokenize.generate_tokens(io.StringIO(code).readline):
            if token.type == tokenize.COMMENT:
                row, column = token.start
                lines[row - 1] = lines[row - 1][:column]
    except (tokenize.TokenError, IndentationError):  # part of something
        lines = [line.split("#")[0] for line in lines]
    return "\n".join(lines)


def _long_statements(code: str) -> Iterator[str]:
    """Statements that are several lines long; of those with a block, the head."""
    try:
        tree = ast.parse(code)
    except SyntaxError:  # part of something
        return
    lines = code.splitlines()
    for node in ast.walk(tree):
        if isinstance(node, ast.stmt):
            block = getattr(node, "body", None)
            end = block[0].lineno - 1 if block else node.end_lineno
            if end > node.lineno:
                yield "\n".join(lines[node.lineno - 1 : end])


def _learner_texts(built: Path) -> Iterator[tuple[str, str | bytes]]:
    for path, content in files_in(built):
        if path.suffix == ".ipynb":
            for cell in nbformat.read(path, as_version=4).cells:
                yield f"cell {cell.id!r}", cell.source
                yield f"an output of cell {cell.id!r}", json.dumps(cell.get("outputs", []))
        yield path.name, content
    for path in sorted(
        (Path(__file__).parents[2] / "course_utils").rglob("*.py")
    ):  # caches come and go while others import
        yield f"course_utils/{path.name}", path.read_bytes()
