"""What was handed in beside a notebook: the Python files that it imports, which run with it, and everything else, which is named.

A file is taken only if its name can mean nothing but the learner's own module. It must not stand for a module of Python's, an installed package or
a file of the lab. Files are read as text, within limits, and never run here.
"""

from __future__ import annotations

import itertools
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from importlib.machinery import PathFinder
from pathlib import Path
from typing import TYPE_CHECKING

from grader.files import (
    LATE,
    LOCAL_TIME,
    MAX_FILES,
    MAX_PARSED,
    REASON_FILE,
    SECRET,
    TEAM,
    TIMESTAMP,
    Unreadable,
    file_bytes,
    printable,
)
from grader.people.students import MOODLE_NUMBER
from grader.reference.lab import Lab

if TYPE_CHECKING:
    from grader.receive.read import PlainCell

MAX_TAKEN = 8
"""The most Python files that run with one notebook."""
MAX_CHARACTERS = MAX_PARSED - 1_000
"""Of each, so that the whole file is shown to people and searched for what an exercise must not call."""
MAX_CHARACTERS_ALL = 60_000
MAX_NAMED = 30
"""At most this many other files are named one by one."""
NOT_TAKEN = "not-taken.txt"
"""In a submission's folder: what else was handed in, and why ``grader collect`` left it, a file on each line."""

_MODULE = re.compile(r"([A-Za-z_][A-Za-z0-9_]{0,60}?)(?:-\d{1,4}| ?\(\d{1,4}\))?\.py(?:\.txt)?")
"""A module's file, with the number that LMSs and browsers give to one that comes again."""
_OWN = frozenset({TIMESTAMP, SECRET, LATE, LOCAL_TIME, REASON_FILE, MOODLE_NUMBER, NOT_TAKEN, TEAM})
_MAX_NOTE = 200_000
_CUSTOM = frozenset({"sitecustomize", "usercustomize", "__main__"})  # imported without being asked for


@dataclass(frozen=True)
class Beside:
    """What was handed in beside a notebook.

    Attributes:
        modules: name -> text of the Python files that can run with the notebook.
        left: name -> why it is not taken, of all others.
    """

    modules: Mapping[str, str] = field(default_factory=dict)
    left: Mapping[str, str] = field(default_factory=dict)

    def sentences(self) -> list[str]:
        """About what is not taken; none if there is nothing."""
        named = [f"{name} ({why})" for name, why in self.left.items()]
        more = len(named) - MAX_NAMED
        listed = "; ".join(named[:MAX_NAMED]) + (f"; and {more} more" if more > 0 else "")
        return [f"Handed in beside the notebook, and not used: {listed}."] if named else []

    def used_by(self, cells: Iterable[PlainCell]) -> Beside:
        """The same for a notebook with these cells: files that neither its code nor one of the files used names are left."""
        texts = _code_in(cells)
        used: dict[str, str] = {}
        while found := {
            name: text
            for name, text in self.modules.items()
            if name not in used and any(_names(each, name.removesuffix(".py")) for each in texts)
        }:
            used |= found
            texts = list(found.values())
        unused = dict.fromkeys(sorted(set(self.modules) - set(used)), "the notebook does not import it")
        kept = {name: text for name, text in self.modules.items() if name in used}
        return Beside(kept, {**self.left, **unused})


def names(cells: Iterable[PlainCell], file: str) -> bool:
    """Whether a notebook's code names the module in a file."""
    stem, _, kind = file.rpartition(".")
    return kind == "py" and any(_names(text, stem) for text in _code_in(cells))


def _code_in(cells: Iterable[PlainCell]) -> list[str]:
    return [cell.text for cell in cells if cell.kind == "code" or "import" in cell.text]


def _names(code: str, module: str) -> bool:
    return re.search(rf"\b{re.escape(module)}\b", code) is not None


def sort_out(lab: Lab, files: Iterable[tuple[tuple[str, ...], Callable[[], bytes]]]) -> Beside:
    """Which files can run with a notebook of the lab. What comes with the lab, and what editors and operating systems leave behind,
    is skipped.

    Args:
        files: the path of each from the notebook's folder, and how to get its content (which raises Unreadable). Of several
            versions of a file, the last one is taken.
    """
    modules: dict[str, str] = {}
    left: dict[str, str] = {}
    called: dict[str, str] = {}
    for parts, read in files:
        shown = printable("/".join(parts))
        if _is_clutter(parts):
            continue
        if (released := _released(lab, parts)) is not None:
            if not _is(released, read):
                left[shown] = "it has the name of a file of the lab, whose own is used"
            continue
        name = f"{found[1]}.py" if (found := _MODULE.fullmatch(parts[-1])) else ""
        if why := _why_not(lab, parts, name):
            left[shown] = why
        elif name not in modules and len(modules) == MAX_TAKEN:
            left[shown] = f"{MAX_TAKEN} others are taken"
        else:
            try:
                text = _text(read)
                total = sum(len(each) for other, each in modules.items() if other != name)
                if total + len(text) > MAX_CHARACTERS_ALL:
                    raise Unreadable(f"the files together have more than {MAX_CHARACTERS_ALL} characters")
                if modules.get(name, text) != text:
                    left[called[name]] = "a later version of it counts"
                modules[name], called[name] = text, shown
            except Unreadable as error:
                left[shown] = str(error).rstrip(".")
    return Beside(modules, left)


def in_folder(lab: Lab, notebook: Path) -> Beside:
    """What lies beside a submitted notebook, and what ``grader collect`` has noted of what it left."""
    folder = notebook.parent
    found = sort_out(lab, files_beside(folder, notebook.name))
    return Beside(found.modules, _noted(folder) | found.left)


def files_beside(folder: Path, notebook: str) -> Iterator[tuple[tuple[str, ...], Callable[[], bytes]]]:
    """The files in a submission's folder, for :func:`sort_out`. What is no file is there, too, and cannot be read."""
    try:
        with os.scandir(folder) as entries:
            names = sorted(entry.name for entry in itertools.islice(entries, MAX_FILES))
    except OSError:
        return
    for name in names:
        if name != notebook and not _is_clutter((name,)):
            yield (name,), lambda path=folder / name: file_bytes(path)


def note(left: Mapping[str, str]) -> bytes:
    """The content of the file :data:`NOT_TAKEN`."""
    return "".join(f"{name}\t{why}\n" for name, why in left.items()).encode("utf-8", "replace")


def _noted(folder: Path) -> dict[str, str]:
    try:
        lines = file_bytes(folder / NOT_TAKEN)[:_MAX_NOTE].decode("utf-8", "replace").splitlines()
    except Unreadable:
        return {}
    pairs = (line.partition("\t") for line in lines)
    return {printable(name): printable(why, 200) for name, _, why in pairs if name}


def _is_clutter(parts: tuple[str, ...]) -> bool:
    """Whether it is one of the grader's own files, or what editors, Python and operating systems leave behind."""
    left_behind = any(part.startswith(".") or part == "__pycache__" for part in parts)
    return left_behind or parts[-1].endswith(".pyc") or (len(parts) == 1 and parts[0] in _OWN)


def _released(lab: Lab, parts: tuple[str, ...]) -> Path | None:
    """The file of the lab that has this name."""
    file = lab.release_folder.joinpath(*parts)
    inside = all(part not in ("", ".", "..") and "/" not in part and "\0" not in part for part in parts)
    return file if inside and parts[-1] != lab.notebook_name and file.is_file() else None


def _is(file: Path, read: Callable[[], bytes]) -> bool:
    try:
        return read() == file.read_bytes()
    except (Unreadable, OSError):
        return False


def _why_not(lab: Lab, parts: tuple[str, ...], name: str) -> str:
    from grader.imports import PACKAGES

    if parts[-1].lower().endswith(".ipynb"):
        return "another notebook is graded"
    if not name:
        return "only Python files are used"
    if len(parts) > 1:
        return "it is in a folder"
    if _released(lab, (name,)):
        return "it has the name of a file of the lab, whose own is used"
    stem = name.removesuffix(".py")
    if stem in sys.stdlib_module_names or stem in sys.builtin_module_names or stem in _CUSTOM:
        return "it has the name of a module of Python's"
    installed = PathFinder.find_spec(stem, _installed_in()) is not None or stem in PACKAGES
    return "it has the name of an installed package" if installed else ""


def _installed_in() -> list[str]:
    return [path for path in sys.path if Path(path).name in ("site-packages", "dist-packages")]


def _text(read: Callable[[], bytes]) -> str:
    """
    Raises:
        Unreadable: it cannot be read, is no text, or is too long.
    """
    data = read()
    try:
        text = data[: 4 * MAX_CHARACTERS + 4].decode("utf-8-sig")
    except UnicodeDecodeError:
        text = "\0"
    if len(data) > 4 * MAX_CHARACTERS or len(text) > MAX_CHARACTERS:
        raise Unreadable(f"it has more than {MAX_CHARACTERS} characters")
    if "\0" in text:
        raise Unreadable("it is not text in UTF-8")
    return text.replace("\r\n", "\n").replace("\r", "\n")
