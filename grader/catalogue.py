"""How misconceptions and correct variants are written down beside a lab's solution.

``solutions/NN_slug/misconceptions.py`` lists what learners get wrong. It has a :func:`slip` where only a few words differ from the reference. Where
the whole approach is different, it has a function or class decorated with :func:`misconception`.
``variants.py`` has correct implementations in other styles, decorated with :func:`variant`.
"""

from __future__ import annotations

import ast
import contextlib
import importlib.util
import inspect
import io
import linecache
import re
import sys
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from types import FrameType
from typing import Any

from grader.course import CourseError, text_of
from grader.errors import place_of, see_whether_it_was_ctrl_c


@dataclass(frozen=True)
class Entry:
    """One implementation of an exercise: a misconception (with a hint) or a correct variant (without).

    Attributes:
        exercise: name of the exercise it implements.
        name: its own name (of the function, class or slip), unique in the exercise.
        title: one sentence; the first line of its docstring.
        source: code that defines the exercise's name this way, as a learner could hand it in.
        make: computes ``value``; a slip needs the reference for that, which takes time.
        slip: whether it is a change in the reference's text, which runs among what the notebook defines.
        line: where its file states it; 0 if it is in none.
    """

    exercise: str
    name: str
    title: str
    hint: str
    source: str
    make: Callable[[], Any] = field(repr=False, compare=False)
    slip: bool = False
    line: int = 0

    @cached_property
    def value(self) -> Any:
        """The implementation.

        Raises:
            CourseError: it is a slip that does not compile, or that fails when it is executed.
        """
        return self.make()


Replacement = tuple[str, str] | tuple[str, str, int]
"""A piece of the reference's text, what replaces it, and how often it occurs (once, unless stated)."""


@dataclass(frozen=True)
class _Written:
    """An entry as its file states it: with a value, or with what is replaced in the reference."""

    line: int
    exercise: str
    name: str
    title: str
    hint: str
    value: Any = None
    replacements: Sequence[Replacement] | None = None


_WRITTEN = "__transformer_labs_entries__"
"""In the module of a catalogue: its entries, in the order in which they are written."""

_STAND_INS = "__transformer_labs_stand_ins__"
"""In the module of a catalogue: name of an exercise -> what replaces it when slips of other exercises are run."""


def misconception(exercise: str, hint: str) -> Callable:
    """Marks a wrong implementation. Its docstring says, in one sentence, what the learner's code does.

    Args:
        exercise: name of the exercise, e.g. ``"softmax"``.
        hint: what learners read. It explains what is wrong without giving the code.
    """
    return _marking(inspect.currentframe().f_back, exercise, hint)


def variant(exercise: str) -> Callable:
    """Marks a correct implementation in another style. Its docstring says what is different about it."""
    return _marking(inspect.currentframe().f_back, exercise, hint="")


def slip(exercise: str, name: str, title: str, hint: str, *replacements: Replacement) -> None:
    """Declares a wrong implementation that differs from the reference in only a few words.

    Args:
        exercise: name of the exercise, e.g. ``"softmax"``.
        name: of the misconception, unique in the exercise.
        title: says, in one sentence, what the learner's code does.
        hint: what learners read. It explains what is wrong without giving the code.
        replacements: ``(old, new)`` or ``(old, new, count)``. ``old`` must occur in the exercise's solution cell exactly
            once, or ``count`` times. All are replaced at the same time, so two pieces may be swapped.
    """
    frame = inspect.currentframe().f_back
    _write_down(frame, _Written(frame.f_lineno, exercise, name, title, hint, replacements=replacements))


def stand_in(value: Any) -> Any:
    """Marks a function or class that replaces the exercise of the same name when slips of other exercises are run.

    It must do what the reference does, only faster. If the reference is fast enough, no stand-in is needed.
    """
    inspect.currentframe().f_back.f_globals.setdefault(_STAND_INS, {})[value.__name__] = value
    return value


def _marking(frame: FrameType, exercise: str, hint: str) -> Callable:
    line = frame.f_lineno  # the decorator's

    def mark(value: Any) -> Any:
        if not (value.__doc__ or "").strip():
            raise ValueError(
                f"{value.__name__} needs a docstring that says, in one sentence, what its code does"
            )
        title = inspect.cleandoc(value.__doc__).splitlines()[0]
        _write_down(frame, _Written(line, exercise, value.__name__, title, hint, value))
        return value

    return mark


def _write_down(frame: FrameType, written: _Written) -> None:
    for name in ("exercise", "name", "title", "hint"):
        if not isinstance(value := getattr(written, name), str):
            raise TypeError(f"its {name} is a text in quotes, not {value!r}")
    for each in written.replacements or ():
        if not isinstance(each, tuple) or [type(part) for part in each] not in ([str, str], [str, str, int]):
            raise TypeError(
                f"what it replaces is (old, new) or (old, new, count), with texts in quotes, not {each!r}"
            )
    frame.f_globals.setdefault(_WRITTEN, []).append(written)


def load_entries(
    path: Path, texts: Callable[[], Mapping[str, str]], namespace: Callable[[], Mapping[str, Any]]
) -> dict[str, list[Entry]]:
    """Exercise name -> entries of ``misconceptions.py`` or ``variants.py``, in the order in which they are written.

    Args:
        texts: returns the reference's text of each exercise. It is called only if there are slips.
        namespace: returns what the reference defines. It is called when a slip's value is asked for.

    Raises:
        CourseError: the file cannot be imported, two entries have the same name, or a slip does not fit the reference.
    """
    if not path.exists():
        return {}
    text_of_file = text_of(path)
    name = _module_name(path)
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # where inspect looks for the source of a class
    try:
        spec.loader.exec_module(module)
    except BaseException as error:
        raise cannot_be_imported(error, path) from error
    sources = _sources(text_of_file)
    stand_ins = vars(module).get(_STAND_INS, {})
    entries: dict[str, list[Entry]] = {}
    for written in vars(module).get(_WRITTEN, ()):
        where = f"{path}:{written.line}"
        others = entries.setdefault(written.exercise, [])
        if any(other.name == written.name for other in others):
            raise CourseError(f"{where}: {written.exercise} already has an entry {written.name}.")
        if not written.title.strip():
            raise CourseError(
                f"{where}: {written.name} needs a title: one sentence that says what its code does."
            )
        if written.replacements is not None:
            if written.exercise not in (known := texts()):
                raise CourseError(
                    f"{where} names an exercise that the lab does not have: {written.exercise}."
                )
            source = _replaced(where, written, known[written.exercise])
            make = partial(_executed, where, written, source, namespace, stand_ins)
        else:
            text = sources[written.line]
            source = re.sub(rf"\A(def|class) {written.name}\b", rf"\1 {written.exercise}", text)
            make = partial(getattr, written, "value")
        slip = written.replacements is not None
        others.append(
            Entry(
                written.exercise, written.name, written.title, written.hint, source, make, slip, written.line
            )
        )
    return entries


def cannot_be_imported(error: BaseException, file: Path) -> CourseError:
    """What to say of a lab's file that ends its import in any way.

    Raises:
        KeyboardInterrupt: somebody has pressed Ctrl-C.
    """
    see_whether_it_was_ctrl_c(error)
    return CourseError(
        f"{place_of(error, file)}: it cannot be imported: {type(error).__name__}: {error}".rstrip(": ")
    )


def stand_ins_of(path: Path) -> Mapping[str, Any]:
    """Exercise name -> what takes its place when slips of others are run, after :func:`load_entries` has read the file."""
    return vars(sys.modules[_module_name(path)]).get(_STAND_INS, {}) if path.is_file() else {}


def _module_name(path: Path) -> str:
    return f"_lab_{path.parent.name}_{path.stem}_{zlib.crc32(bytes(path)):08x}"


def _sources(text: str) -> dict[int, str]:
    """Line of a decorator -> the text of what it decorates, without decorators. (``inspect`` would parse the file again
    for every class.)
    """
    lines = text.splitlines(keepends=True)
    return {
        decorator.lineno: "".join(lines[node.lineno - 1 : node.end_lineno])
        for node in ast.parse(text).body
        if isinstance(node, ast.FunctionDef | ast.ClassDef)
        for decorator in node.decorator_list
    }


def _replaced(where: str, written: _Written, text: str) -> str:
    """The reference's text with a slip in it."""
    new_of: dict[str, str] = {}
    wanted = 0
    for old, new, *said in written.replacements:
        (count,) = said or (1,)
        if (found := text.count(old)) != count:
            raise CourseError(
                f"{where}: the slip {written.name} replaces {old!r}, which is in the solution cell of "
                f"{written.exercise} {_times(found)}, not {_times(count)}."
            )
        new_of[old] = new
        wanted += count
    pattern = "|".join(map(re.escape, new_of))
    changed, done = re.subn(pattern, lambda found: new_of[found.group()], text)
    if done != wanted:
        raise CourseError(
            f"{where}: the slip {written.name} replaces texts that overlap in the solution cell of {written.exercise}."
        )
    return changed


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"


def _executed(
    where: str,
    written: _Written,
    source: str,
    namespace: Callable[[], Mapping[str, Any]],
    stand_ins: Mapping[str, Any],
) -> Any:
    names = {**namespace(), **{name: value for name, value in stand_ins.items() if name != written.exercise}}
    try:
        run_cell(source, f"<{Path(where).parent.name}: {written.exercise}, {written.name}>", names)
    except BaseException as error:
        see_whether_it_was_ctrl_c(error)
        raise CourseError(
            f"{where}: the solution cell of {written.exercise} with the slip {written.name} cannot be run: "
            f"{type(error).__name__}: {error}"
        ) from error
    return names[written.exercise]


def run_cell(source: str, file_name: str, namespace: dict[str, Any]) -> None:
    """Runs a cell's text in such a way that ``inspect.getsource`` works on what it defines, as in a notebook. Nothing
    is printed.
    """
    linecache.cache[file_name] = (len(source), None, source.splitlines(True), file_name)
    with contextlib.redirect_stdout(io.StringIO()):
        exec(compile(source, file_name, "exec", dont_inherit=True), namespace)
