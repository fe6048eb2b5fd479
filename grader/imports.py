"""Which modules and files of this project a piece of code needs: read from its text, nothing is run."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import course_utils
import grader

PACKAGES = {"course_utils": Path(course_utils.__file__).parent, "grader": Path(grader.__file__).parent}


def reached(modules: Iterable[str]) -> dict[str, Path]:
    """Relative name -> file, of modules of this project, the packages that they are in, and all that they import."""
    found, waiting, seen = {}, [*modules], set()
    while waiting:
        name = waiting.pop()
        if name in seen:
            continue
        seen.add(name)
        package, *parts = name.split(".")
        if package not in PACKAGES:
            continue
        if parts:
            waiting.append(name.rpartition(".")[0])  # Python imports it first
        place = PACKAGES[package].joinpath(*parts)
        if path := next(filter(Path.is_file, (place / "__init__.py", place.with_suffix(".py"))), None):
            found[f"{package}/{path.relative_to(PACKAGES[package]).as_posix()}"] = path
            waiting += imported(path.read_text("utf-8"))
    return found


def data_of(files: Mapping[str, Path]) -> dict[str, Path]:
    """Relative name -> file, of the data files in ``course_utils`` that these modules name."""
    texts = [path.read_text("utf-8") for path in files.values()]
    return {
        name: path
        for name, path in files_in(PACKAGES["course_utils"], "**/*", prefix="course_utils/").items()
        if path.suffix != ".py" and any(path.name in text for text in texts)
    }


def imported(source: str) -> Iterator[str]:
    """The modules that a text may import, by their full names; of ``from a import b``, ``a`` and ``a.b``."""
    try:
        tree = ast.parse(source)
    except SyntaxError:  # whoever runs it will say so
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def files_in(folder: Path, pattern: str, prefix: str = "") -> dict[str, Path]:
    """Relative name -> file; hidden ones and caches are left out."""
    found = {path.relative_to(folder): path for path in folder.glob(pattern) if path.is_file()}
    return {
        f"{prefix}{name.as_posix()}": path
        for name, path in found.items()
        if not any(part.startswith((".", "__pycache__")) for part in name.parts)
    }
