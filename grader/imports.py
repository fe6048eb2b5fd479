"""What the text of Python code says without being run: which modules and files of this project it needs, and whether it means the same as another
text.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import course_utils
import grader
from course_utils.checking.ready_made import YOURS

PACKAGES = {"course_utils": Path(course_utils.__file__).parent, "grader": Path(grader.__file__).parent}

_THE_COURSE_S = {yours: own.rpartition(".")[0] for own, yours in YOURS.items()}
"""What a lab may get of its learner's -> the module that has the course's own, which is imported by its name if that is needed."""


def reached(modules: Iterable[str], ends: Collection[str] = ()) -> dict[str, Path]:
    """Relative name -> file, for modules of this project, the packages that contain them, and all that they import.

    Args:
        ends: modules whose own imports are not followed.
    """
    found, waiting, seen = {}, [*modules], set()
    while waiting:
        name = waiting.pop()
        if name in seen:
            continue
        seen.add(name)
        if name in _THE_COURSE_S:
            waiting.append(_THE_COURSE_S[name])
        package, *parts = name.split(".")
        if package not in PACKAGES:
            continue
        if parts:
            waiting.append(name.rpartition(".")[0])  # Python imports the package first
        place = PACKAGES[package].joinpath(*parts)
        if path := next(filter(Path.is_file, (place / "__init__.py", place.with_suffix(".py"))), None):
            found[f"{package}/{path.relative_to(PACKAGES[package]).as_posix()}"] = path
            if name not in ends:
                waiting += imported(path.read_text("utf-8"))
    return found


def data_of(files: Mapping[str, Path]) -> dict[str, Path]:
    """Relative name -> file, for the data files in ``course_utils`` whose names occur in these modules."""
    texts = [path.read_text("utf-8") for path in files.values()]
    return {
        name: path
        for name, path in files_in(PACKAGES["course_utils"], "**/*", prefix="course_utils/").items()
        if path.suffix != ".py" and any(path.name in text for text in texts)
    }


def imported(source: str) -> Iterator[str]:
    """The full names of the modules that a text may import; for ``from a import b``, both ``a`` and ``a.b``."""
    try:
        tree = ast.parse(source)
    except SyntaxError:  # whatever runs it will report that
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def files_in(folder: Path, pattern: str, prefix: str = "") -> dict[str, Path]:
    """Relative name -> file; hidden files and caches are left out."""
    found = {path.relative_to(folder): path for path in folder.glob(pattern) if path.is_file()}
    return {
        f"{prefix}{name.as_posix()}": path
        for name, path in found.items()
        if not any(part.startswith((".", "__pycache__")) for part in name.parts)
    }


def code_of(text: str) -> bytes:
    """A Python text reduced to its syntax tree, in a form that is the same in all versions of Python that the course supports."""
    return "\n".join(_parts(ast.parse(text))).encode()


def _parts(node: Any) -> Iterator[str]:
    match node:
        case ast.AST():
            yield type(node).__name__
            for name, value in ast.iter_fields(node):
                if value not in (None, []):  # newer versions have more fields, which are empty for older code
                    yield name
                    yield from _parts(_without_docstring(node, value) if name == "body" else value)
        case list():
            for each in node:
                yield from _parts(each)
            yield "end"
        case _:
            yield repr(node)


def _without_docstring(node: ast.AST, body: Any) -> Any:
    documented = isinstance(node, ast.Module | ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
    match body:
        case [ast.Expr(value=ast.Constant(value=str())), *rest] if documented:
            return rest
    return body
