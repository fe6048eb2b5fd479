"""Legal inputs of an exercise, far beyond its cases: what the cases' makers give at many seeds, and small changes of that.

What is legal is found out, not declared: the reference computes something there, and every correct variant computes the same. Where a mutant
gives anything else for such an input, the checks have a hole, and the input shows it.
"""

from __future__ import annotations

import copy
import time
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from course_utils.checking.checks import difference
from course_utils.checking.exercise import Case, Exercise
from course_utils.checking.outcome import Outcome, try_case
from course_utils.checking.rounding import same_outcome

MOST = 1_000
"""So many inputs are tried at most."""
SECONDS = 3.0
"""So much CPU time goes into making them, for one exercise."""
_FIRST_SEED = 1_000
_UNCHANGED = 4
"""One input in so many is as a case makes it, at a seed of its own."""
_MOST_CHANGES = 3
_LEFT_OUT = 0.1
"""In this share of the changes, an input that may have a default is left out."""


@dataclass(frozen=True)
class Legal:
    """An input on which all right code agrees.

    Attributes:
        case: makes the input, whatever the seed.
        outcome: the reference's.
    """

    case: Case
    seed: int
    outcome: Outcome

    def __str__(self) -> str:
        return self.case.title


class LegalInputs:
    """The legal inputs of an exercise, made when they are first asked for, always the same ones in the same order.

    Args:
        right: the reference, and the correct variants.
    """

    def __init__(self, exercise: Exercise, key: str, right: list[Any]) -> None:
        self.exercise, self.key, self.right = exercise, key, right
        self._found: list[Legal] = []
        self._source = self._made()

    def __iter__(self) -> Iterator[Legal]:
        at = 0
        while at < len(self._found) or self._one_more():
            yield self._found[at]
            at += 1

    def _one_more(self) -> bool:
        found = next(self._source, None)
        if found is not None:
            self._found.append(found)
        return found is not None

    def _made(self) -> Iterator[Legal]:
        used = 0.0
        for number in range(2 * MOST):
            begin = time.process_time()
            legal = self._tried(number)
            used += time.process_time() - begin
            if legal is not None:
                yield legal
            if used > SECONDS or len(self._found) >= MOST:
                return

    def _tried(self, number: int) -> Legal | None:
        case = self.exercise.cases[number % len(self.exercise.cases)]
        seed = _FIRST_SEED + number
        rng = np.random.default_rng([seed, zlib.crc32(self.key.encode())])
        runs = case.runs(self.key, seed)
        inputs = dict(runs[rng.integers(len(runs))])
        title = f"{case.title!r} at seed {seed}"
        if number // len(self.exercise.cases) % _UNCHANGED:
            for _ in range(rng.integers(1, _MOST_CHANGES + 1)):
                words, inputs = changed(inputs, rng)
                title += f", {words}"
        return self._if_legal(replace(case, title=title, inputs=lambda _: inputs, relation=None), seed)

    def _if_legal(self, case: Case, seed: int) -> Legal | None:
        reference, *variants = self.right
        outcome = try_case(self.exercise, case, self.key, reference, seed)
        if outcome.problem or outcome.changed_inputs or _has_nan(outcome):
            return None
        legal = Legal(case, seed, outcome)
        return legal if all(self.agrees(legal, each) for each in variants) else None

    def agrees(self, legal: Legal, value: Any, seconds: float | None = None) -> bool:
        """Whether an implementation gives what the reference gives, as far as a check can tell, but for rounding."""
        exercise = self.exercise if seconds is None else replace(self.exercise, seconds=seconds)
        outcome = try_case(exercise, legal.case, self.key, value, legal.seed)
        if outcome.problem or outcome.changed_inputs:
            return False
        return not difference(exercise, outcome, legal.outcome) or same_outcome(
            exercise, outcome, legal.outcome
        )


def _has_nan(outcome: Outcome) -> bool:
    return any(
        array.dtype.kind == "f" and bool(np.isnan(array).any())
        for run in outcome.runs
        for array in run.values()
    )


# ---------------------------------------------------------------------------------- changes of an input

Path = tuple[Any, ...]
Change = Callable[[Any, np.random.Generator], Any]


def changed(inputs: Mapping[str, Any], rng: np.random.Generator) -> tuple[str, dict[str, Any]]:
    """What was changed, in words, and the inputs with it. One size changes wherever it occurs, or one array, number, text or
    list, or two become equal; or an input is left to its default.
    """
    defaults = [name for name, value in inputs.items() if _is_plain(value)]
    if defaults and len(inputs) > 1 and rng.random() < _LEFT_OUT:
        name = defaults[rng.integers(len(defaults))]
        return f"without {name}", {other: value for other, value in inputs.items() if other != name}
    parts = [each for each in _parts(inputs, ()) if each[0]]
    kinds = [(words, path, change) for path, value in parts for words, change in _changes_of(value)]
    sizes = sorted({size for _, value in parts for size in _sizes(value) if size > 1})
    if sizes and (not kinds or rng.random() < 0.3):
        old = int(rng.choice(sizes))
        new = int(rng.choice([1, old + 1, *sizes]))
        numbers, lists = rng.random(2) < 0.5
        return f"sizes of {old} become {new}", _resized(inputs, old, new, bool(numbers), bool(lists))
    if not kinds:
        return "nothing changed", dict(inputs)
    place = parts[rng.integers(len(parts))][
        0
    ]  # a long list has many parts, and counts for no more than a number
    top = [each for each in kinds if each[1][0] == place[0]] or kinds
    words, path, change = top[rng.integers(len(top))]
    value = _at(inputs, path)
    alike = [other for at, other in parts if at != path and type(other) is type(value)]
    if alike and rng.random() < 0.1:
        new, words = copy.deepcopy(alike[rng.integers(len(alike))]), "as another input"
    else:
        new = change(copy.deepcopy(value), rng)
    return f"{_name(path)} {words}", _with(inputs, path, new)


def _name(path: Path) -> str:
    first, *rest = path
    return f"{first}{''.join(f'[{each!r}]' for each in rest)}"


def _parts(value: Any, path: Path) -> Iterator[tuple[Path, Any]]:
    yield path, value
    if isinstance(value, Mapping):
        for name, part in value.items():
            yield from _parts(part, (*path, name))
    elif isinstance(value, list | tuple):
        for at, part in enumerate(value[:12]):
            yield from _parts(part, (*path, at))


def _at(value: Any, path: Path) -> Any:
    for each in path:
        value = value[each]
    return value


def _with(value: Any, path: Path, new: Any) -> Any:
    """A copy with another part at a place."""
    if not path:
        return new
    first, *rest = path
    part = _with(value[first], tuple(rest), new)
    if isinstance(value, Mapping):
        return {**value, first: part}
    return _like(value, [*value[:first], part, *value[first + 1 :]])


def _like(value: list | tuple, parts: list) -> list | tuple:
    return value._make(parts) if hasattr(value, "_make") else type(value)(parts)


def _sizes(value: Any) -> tuple[int, ...]:
    if isinstance(value, np.ndarray):
        return value.shape
    return (len(value),) if isinstance(value, list) else ()


def _resized(value: Any, old: int, new: int, numbers: bool, lists: bool) -> Any:
    """Every axis of that size gets another one, by leaving out or repeating; perhaps numbers of that size and lists, too."""
    if isinstance(value, np.ndarray):
        for axis, size in enumerate(value.shape):
            if size == old:
                value = value.take(np.arange(new) % old, axis=axis)
        return value
    if isinstance(value, Mapping):
        return {name: _resized(part, old, new, numbers, lists) for name, part in value.items()}
    if isinstance(value, list | tuple):
        parts = [_resized(part, old, new, numbers, lists) for part in value]
        if lists and isinstance(value, list) and len(value) == old:
            parts = [copy.deepcopy(parts[at % old]) for at in range(new)]
        return _like(value, parts)
    return new if numbers and type(value) is int and value == old else value


def _is_plain(value: Any) -> bool:
    return value is None or isinstance(value, bool | int | float | str)


def _without_a_setting(value: dict, rng: np.random.Generator) -> dict:
    plain = [name for name, part in value.items() if _is_plain(part)]
    left_out = plain[rng.integers(len(plain))] if plain else None
    return {name: part for name, part in value.items() if name != left_out}


def _changes_of(value: Any) -> list[tuple[str, Change]]:
    if isinstance(value, np.ndarray) and value.size:
        return [*_OF_ARRAYS, *_OF_KIND.get(value.dtype.kind, ())]
    if isinstance(value, bool):
        return [("the other way", lambda v, rng: not v)]
    if isinstance(value, int):
        return _OF_INTEGERS
    if isinstance(value, float):
        return _OF_FLOATS
    if isinstance(value, str):
        return _OF_TEXTS
    if isinstance(value, list):
        return _OF_LISTS if value else []
    return [("without a setting", _without_a_setting)] if isinstance(value, dict) else []


def _one_axis(value: np.ndarray, rng: np.random.Generator) -> int:
    return int(rng.integers(value.ndim))


def _copied(value: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """One slice becomes equal to another."""
    if value.ndim == 0:
        return value
    moved = np.moveaxis(value, _one_axis(value, rng), 0)
    moved[rng.integers(len(moved))] = moved[rng.integers(len(moved))].copy()
    return value


def _ordered(value: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    if value.ndim == 0:
        return value
    axis = _one_axis(value, rng)
    return [np.sort(value, axis), np.flip(value, axis), np.flip(np.sort(value, axis), axis)][rng.integers(3)]


def _one_place(value: np.ndarray, rng: np.random.Generator, new: Any) -> np.ndarray:
    value[tuple(rng.integers(size) for size in value.shape)] = new
    return value


def _drawn(value: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return rng.choice(value.ravel(), value.shape)


_OF_ARRAYS: list[tuple[str, Change]] = [
    ("with two equal slices", _copied),
    ("in another order", _ordered),
    ("with one value everywhere", lambda v, rng: np.full_like(v, v.ravel()[rng.integers(v.size)])),
    ("with some of its values, drawn again", _drawn),
    ("in another layout of memory", lambda v, rng: np.asfortranarray(v)),
]
_OF_KIND: dict[str, list[tuple[str, Change]]] = {
    "f": [
        ("rounded to quarters", lambda v, rng: np.round(v * 4) / 4),
        ("rounded to whole numbers", lambda v, rng: np.round(v)),
        ("100 times as large", lambda v, rng: v * 100),
        ("a hundredth of it", lambda v, rng: v / 100),
        ("moved far from 0", lambda v, rng: v + v.dtype.type(rng.choice([-1e3, 30.0, 1e4]))),
        ("with the other sign", lambda v, rng: -v),
        ("all 0", lambda v, rng: np.zeros_like(v)),
        ("with a 0", lambda v, rng: _one_place(v, rng, 0)),
        ("with a large number", lambda v, rng: _one_place(v, rng, rng.choice([-1e3, 1e3]))),
    ],
    "i": [
        ("with a 0", lambda v, rng: _one_place(v, rng, 0)),
        ("with a 1", lambda v, rng: _one_place(v, rng, 1)),
        ("one more at a place", lambda v, rng: _one_place(v, rng, v.ravel()[rng.integers(v.size)] + 1)),
        ("with a -1", lambda v, rng: _one_place(v, rng, -1)),
        ("with a -100", lambda v, rng: _one_place(v, rng, -100)),
        ("all one more", lambda v, rng: v + 1),
    ],
    "b": [
        ("all true", lambda v, rng: np.ones_like(v)),
        ("all false", lambda v, rng: np.zeros_like(v)),
        ("the other way", lambda v, rng: ~v),
        ("with a true", lambda v, rng: _one_place(v, rng, True)),
        ("with a false", lambda v, rng: _one_place(v, rng, False)),
        ("drawn again", lambda v, rng: rng.random(v.shape) < rng.random()),
    ],
}
_OF_INTEGERS: list[tuple[str, Change]] = [
    ("one more", lambda v, rng: v + 1),
    ("one less", lambda v, rng: v - 1),
    ("0", lambda v, rng: 0),
    ("1", lambda v, rng: 1),
    ("twice as much", lambda v, rng: 2 * v),
    ("half as much", lambda v, rng: v // 2),
    ("-1", lambda v, rng: -1),
    ("drawn again", lambda v, rng: int(rng.integers(0, 2 * abs(v) + 3))),
]
_OF_FLOATS: list[tuple[str, Change]] = [
    ("twice as much", lambda v, rng: 2 * v),
    ("half as much", lambda v, rng: v / 2),
    ("0.0", lambda v, rng: 0.0),
    ("1.0", lambda v, rng: 1.0),
    ("a quarter, a half or so", lambda v, rng: float(rng.choice([0.25, 0.5, 0.75, 0.8, 0.1]))),
    ("with the other sign", lambda v, rng: -v),
    ("a whole number", lambda v, rng: float(round(v))),
]
_OF_TEXTS: list[tuple[str, Change]] = [
    ("in capitals", lambda v, rng: v.upper()),
    ("in small letters", lambda v, rng: v.lower()),
    ("with a capital", lambda v, rng: v.capitalize()),
    ("with spaces around it", lambda v, rng: f" {v} "),
    ("with double spaces", lambda v, rng: v.replace(" ", "  ")),
    ("with accents", lambda v, rng: v.replace("a", "ä").replace("e", "é")),
    ("with a sign at its end", lambda v, rng: v + str(rng.choice(list(".,!'-:")))),
    ("with a digit", lambda v, rng: v + str(rng.integers(10))),
    ("without its end", lambda v, rng: v[: rng.integers(len(v) + 1)]),
    ("with its words in another order", lambda v, rng: " ".join(rng.permutation(v.split()).tolist())),
    ("with a word twice", lambda v, rng: f"{v} {v.split()[0]}" if v.split() else v),
    ("empty", lambda v, rng: ""),
]


def _without_one(value: list, rng: np.random.Generator) -> list:
    at = int(rng.integers(len(value)))
    return value[:at] + value[at + 1 :]


def _one_twice(value: list, rng: np.random.Generator) -> list:
    at, to = int(rng.integers(len(value))), int(rng.integers(len(value) + 1))
    return [*value[:to], copy.deepcopy(value[at]), *value[to:]]


_OF_LISTS: list[tuple[str, Change]] = [
    ("without one element", _without_one),
    ("with an element twice", _one_twice),
    ("with its elements in another order", lambda v, rng: [v[at] for at in rng.permutation(len(v))]),
    ("backwards", lambda v, rng: v[::-1]),
    ("shorter", lambda v, rng: v[: rng.integers(len(v) + 1)]),
    ("of one element", lambda v, rng: v[:1]),
    ("empty", lambda v, rng: []),
]
