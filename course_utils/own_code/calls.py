"""What a function returns for a call of a check that fits into a line, and what it would return with each change. So learners see the input, and no
title has to stand for it.
"""

from __future__ import annotations

import copy
import dataclasses
import functools
import itertools
import math
import re
import time
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from fractions import Fraction
from types import FunctionType
from typing import Any

import numpy as np

from course_utils.checking.exercise import PUBLIC_SEED, Exercise
from course_utils.checking.outcome import try_case
from course_utils.checking.time_limit import TooSlow
from course_utils.own_code.changes import Change
from course_utils.own_code.trials import called_in_time, made, to_try

_WIDTH, _RESULT_WIDTH = 120, 90
"""Characters of a call, and of what it returns."""
_TEXT = 30
"""Characters of a text whose places a reader may have to count."""
_MOST = 4
"""Calls of one function."""
_APART = 3
"""Different results that a question needs: the right one and two others."""

_DENOMINATOR, _LARGE = 12, 300
"""Fractions and whole numbers beyond these take a calculator."""

_Arguments = tuple[tuple[Any, ...], dict[str, Any]]


@dataclass(frozen=True)
class Call:
    """One call of a definition.

    Attributes:
        text: as it would be typed, in one line.
        own: what it returns, as text.
        is_plain: whether that needs no thought: it is one of the arguments, or all of these are alike.
        changed: a change -> what the call would return with it, where it returns something that fits into a line.
    """

    text: str
    own: str
    is_plain: bool
    changed: Mapping[Change, str]


def try_calls(
    exercise: Exercise,
    key: str,
    source: str,
    found: Sequence[Change],
    namespace: Mapping[str, Any],
    until: float,
) -> list[Call]:
    """Calls of a function whose results differ; none for a class, or where inputs and results cannot be written in a line.

    Args:
        found: the changes to try.
        until: when to stop, as :func:`time.process_time` counts.
    """
    own = made(source, exercise.name, dict(namespace))
    if not isinstance(own, FunctionType):
        return []
    recorded = _recorded(exercise, key, own, namespace, until)
    changed = {
        each: function
        for each in (found if recorded else ())
        if (function := made(each.source, exercise.name, dict(namespace)))
    }
    calls: dict[str, Call] = {}
    for arguments in recorded:
        if len(calls) >= _MOST or time.process_time() > until:
            break
        if call := _tried(exercise.name, arguments, own, changed):
            calls.setdefault(call.text, call)
    return list(calls.values())


def _recorded(
    exercise: Exercise, key: str, own: FunctionType, namespace: Mapping[str, Any], until: float
) -> list[_Arguments]:
    """What checks hand to a function, the shortest calls first, of each case one before a second one."""
    by_case, quick = [], to_try(exercise)
    for case in quick.cases:
        if time.process_time() > until:
            break
        seen: list[_Arguments] = []

        @functools.wraps(own)
        def recorder(*args: Any, seen: list[_Arguments] = seen, **kwargs: Any) -> Any:
            if 0 < len(_call("", (args, kwargs))) <= _WIDTH:
                seen.append(copy.deepcopy((args, kwargs)))
            return own(*args, **kwargs)

        try_case(quick, case, key, recorder, PUBLIC_SEED, dict(namespace))
        by_case.append(sorted(seen, key=lambda each: len(_call("", each))))
    rounds = itertools.zip_longest(*by_case)
    return [
        each
        for calls in rounds
        for each in sorted(filter(None, calls), key=lambda each: len(_call("", each)))
    ]


def _tried(
    name: str, arguments: _Arguments, own: FunctionType, changed: dict[Change, FunctionType]
) -> Call | None:
    """A call and its results; None if too few of them are different. Takes out of ``changed`` what does not return at all."""
    kept = _result(own, arguments)
    if not kept or kept != _result(own, arguments):
        return None
    results = {}
    for change, function in list(changed.items()):
        try:
            if text := _result(function, arguments):
                results[change] = text
        except TooSlow:  # once is enough: it may be a loop without end
            del changed[change]
    alike = {_value(text): text for text in (*results.values(), kept)}  # 1 and 1.0 are no two answers
    results = {change: alike[_value(text)] for change, text in results.items()}
    if len(alike) < _APART:
        return None
    given = [_bare(_written(each)) for each in (*arguments[0], *arguments[1].values())]
    return Call(_call(name, arguments), kept, _bare(kept) in given or len(set(given)) < len(given), results)


def _value(text: str) -> str:
    """The same for 1 and 1.0, which are equal; what stands in quotation marks is a text, and is left alone."""
    if "'" in text or '"' in text:
        return text
    return re.sub(r"(?<![\w.])(\d+)\.0(?!\d)", r"\1", text)


def _bare(text: str) -> str:
    """A text without the quotation marks and brackets around it."""
    return text.strip("'\"[]() ")


def _result(function: FunctionType, arguments: _Arguments) -> str:
    """What a call returns, as text; empty if it raises, returns nothing, or what it returns cannot be written in a line.

    Raises:
        TooSlow: it does not return.
    """
    args, kwargs = copy.deepcopy(arguments)
    try:
        returned = called_in_time(function, *args, **kwargs)
    except Exception:
        return ""
    written = "" if returned is None else _written(returned, exactly=False)
    return written if len(written) <= _RESULT_WIDTH else ""


# ---------------------------------------------------------------------------------- in words


def _call(name: str, arguments: _Arguments) -> str:
    """A call as it would be typed; empty if one of its arguments cannot be."""
    args, kwargs = arguments
    parts = [_written(each) for each in args]
    named = {key: _written(each) for key, each in kwargs.items()}
    if not all(parts) or not all(named.values()):
        return ""
    return f"{name}({', '.join([*parts, *(f'{key}={text}' for key, text in named.items())])})"


def _written(value: Any, exactly: bool = True) -> str:
    """A value as Python would show it in one line; empty if it is of another kind, or a number with many digits.

    Args:
        exactly: whether numbers with more than three digits are refused; else fractions like 2/3 are rounded.
    """

    def all_of(values: Any) -> list[str] | None:
        written = [_written(each, exactly) for each in values]
        return written if all(written) else None

    match value:
        case None | bool() | str() | bytes():
            return "" if isinstance(value, str) and len(value) > _TEXT else repr(value)
        case np.bool_():
            return repr(bool(value))
        case int() | np.integer():
            return repr(int(value)) if abs(value) <= _LARGE else ""
        case float() | np.floating():
            short = repr(float(f"{float(value):.3g}"))
            return short if float(short) == float(value) or (not exactly and _is_simple(value)) else ""
        case _ if dataclasses.is_dataclass(value) and not isinstance(value, type):
            names = [each.name for each in dataclasses.fields(value)]
            parts = all_of(getattr(value, name) for name in names)
            return _fields(value, names, parts) if parts else ""
        case tuple() if hasattr(value, "_fields"):
            parts = all_of(value)
            return _fields(value, value._fields, parts) if parts else ""
        case list() | tuple() | Set():
            parts = all_of(value)
            if parts is None:
                return ""
            return _bracketed(value, parts)
        case dict():
            keys, values = all_of(value), all_of(value.values())
            if keys is None or values is None:
                return ""
            return f"{{{', '.join(f'{key}: {each}' for key, each in zip(keys, values, strict=True))}}}"
    return _array(value, exactly)


def _is_simple(value: float) -> bool:
    """Whether a number can be found without a calculator: it is a fraction of small numbers."""
    return math.isfinite(value) and abs(float(Fraction(value).limit_denominator(_DENOMINATOR)) - value) < 1e-6


def _fields(value: Any, names: Sequence[str], parts: Sequence[str]) -> str:
    return f"{type(value).__name__}({', '.join(map('='.join, zip(names, parts, strict=True)))})"


def _bracketed(value: Any, parts: Sequence[str]) -> str:
    if isinstance(value, list):
        return f"[{', '.join(parts)}]"
    if isinstance(value, tuple):
        return f"({', '.join(parts)}{',' * (len(parts) == 1)})"
    return f"{{{', '.join(sorted(parts))}}}" if parts else "set()"


def _array(value: Any, exactly: bool) -> str:
    package = type(value).__module__.partition(".")[0]
    maker = {"numpy": "np.array", "torch": "torch.tensor", "tensorflow": "tf.constant"}.get(package)
    if maker is None or not hasattr(value, "shape") or not hasattr(value, "dtype"):
        return ""
    array = value.detach().numpy() if package == "torch" else np.asarray(value)
    if array.size > _WIDTH or array.dtype.kind not in "biuf":
        return ""
    numbers = _written(array.tolist(), exactly)
    return f"{maker}({numbers})" if numbers else ""
