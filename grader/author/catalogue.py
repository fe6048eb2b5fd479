"""How misconceptions and correct variants are written down beside a lab's solution.

``solutions/NN_slug/misconceptions.py`` holds small wrong implementations, each decorated with
:func:`misconception`; ``variants.py`` holds correct ones in other styles, decorated with :func:`variant`.
"""

from __future__ import annotations

import ast
import importlib.util
import inspect
import re
import sys
import zlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from grader.course import CourseError


@dataclass(frozen=True)
class Entry:
    """One implementation of an exercise: a misconception (with a hint) or a correct variant (without).

    Attributes:
        exercise: name of the exercise it implements.
        name: the function's or class's own name, unique in the exercise.
        title: the first sentence of its docstring.
        source: code text that defines the exercise's name this way, as a learner could hand it in.
    """

    exercise: str
    name: str
    value: Any
    title: str
    hint: str = ""
    source: str = ""


_MARK = "__transformer_labs_entry__"


def misconception(exercise: str, hint: str) -> Callable:
    """Marks a wrong implementation. Its docstring says, in one sentence, what the learner's code does.

    Args:
        exercise: name of the exercise, e.g. ``"softmax"``.
        hint: what learners read: explains the mistake, does not give the code.
    """

    def mark(value: Any) -> Any:
        title = inspect.getdoc(value).strip().splitlines()[0]
        setattr(value, _MARK, Entry(exercise, value.__name__, value, title, hint))
        return value

    return mark


def variant(exercise: str) -> Callable:
    """Marks a correct implementation in another style. Its docstring says what is different about it."""
    return misconception(exercise, hint="")


def load_entries(path: Path) -> dict[str, list[Entry]]:
    """Exercise name -> entries of ``misconceptions.py`` or ``variants.py``, in the order they are written.

    Raises:
        CourseError: the file cannot be imported.
    """
    if not path.is_file():
        return {}
    name = f"_lab_{path.parent.name}_{path.stem}_{zlib.crc32(bytes(path)):08x}"
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # that is where inspect looks for the source of a class
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        raise CourseError(f"{path} cannot be imported: {type(error).__name__}: {error}") from error
    sources = _sources(path.read_text("utf-8"))
    entries: dict[str, list[Entry]] = {}
    for value in vars(module).values():
        if isinstance(entry := getattr(value, "__dict__", {}).get(_MARK), Entry):
            text = re.sub(rf"\A(def|class) {entry.name}\b", rf"\1 {entry.exercise}", sources[entry.name])
            entries.setdefault(entry.exercise, []).append(replace(entry, source=text))
    return entries


def _sources(text: str) -> dict[str, str]:
    """Name -> text, without decorators, of what a module defines. (``inspect`` would parse it again for every class.)"""
    lines = text.splitlines(keepends=True)
    return {
        node.name: "".join(lines[node.lineno - 1 : node.end_lineno])
        for node in ast.parse(text).body
        if isinstance(node, ast.FunctionDef | ast.ClassDef)
    }
