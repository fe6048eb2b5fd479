"""What a definition gives, and what it gives with one change, on an exercise's cases at several seeds.

Only what is the same at every seed is kept: a question about chance has no answer. Everything runs in the process that calls, so it must be
one in which the learner's code may run: the learner's own kernel, or the sandbox.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from course_utils.checking.exercise import (
    PUBLIC_SEED,
    Case,
    Exercise,
    Inputs,
    call_for_dict,
    call_function,
    sentence,
)
from course_utils.checking.outcome import Outcome, try_case
from course_utils.checking.time_limit import TooSlow, time_limit
from course_utils.own_code.changes import Change

SEEDS = (PUBLIC_SEED, PUBLIC_SEED + 1, PUBLIC_SEED + 2)
_CASE_SECONDS = 0.5
_SURELY_SAME, _SURELY_OTHER = 1e-6, 1e-3
"""Differences in relation to the largest number; between the two, rounding may decide."""
SAME, VALUES, SHAPE, ERROR, MIXED = "same", "values", "shape", "error", "mixed"
"""What a change does to the results of a case: nothing, other values, another shape, an exception, or not the same in all of its runs."""


Shapes = Mapping[str, tuple[int, ...]]
"""Name of a returned value -> its shape."""


@dataclass(frozen=True)
class Effect:
    """What a change does in one case, at every seed.

    Attributes:
        kind: ``SAME``, ``VALUES``, ``SHAPE``, ``ERROR`` or ``MIXED``.
        names: the returned values that are different.
        evidence: a sentence that shows it, from the first seed.
    """

    kind: str
    names: tuple[str, ...] = ()
    evidence: str = ""


@dataclass(frozen=True)
class Trial:
    """A change, and what it does.

    Attributes:
        effects: title of a case -> what it does there; without those where chance or rounding decides.
        broken: sentence of a property that held and no longer does -> what shows it; empty unless it is so at every seed.
        kept: sentences of properties that still hold in every case, although something else is different.
        shapes: title -> the shapes that come back from the first run, where they are other ones.
    """

    change: Change
    effects: Mapping[str, Effect]
    broken: Mapping[str, str]
    kept: frozenset[str]
    shapes: Mapping[str, Shapes]


@dataclass(frozen=True)
class Tried:
    """A definition and its trials.

    Attributes:
        cases: those that can be asked about.
        inputs: title -> inputs of the first run at the first seed.
        several: titles of the cases that have more than one run.
        fixed: titles of the cases that have the same arrays at every seed, so that what happens may be due to just these numbers.
        shapes: title -> inputs of the first run, and the shapes of what comes back; only where shapes do not depend on the seed.
    """

    exercise: Exercise
    source: str
    cases: tuple[Case, ...]
    trials: tuple[Trial, ...]
    inputs: Mapping[str, Inputs]
    several: frozenset[str]
    fixed: frozenset[str]
    shapes: Mapping[str, tuple[Inputs, Shapes]]


def is_called_plainly(exercise: Exercise) -> bool:
    """Whether what a check sees is what the learner's function returns: some exercises make a model and measure what it does."""
    return exercise.call in (call_function, call_for_dict)


_WITH_TENSORS = "call_with_tensors"
"""What a call is named that makes tensors of the inputs, and nothing else. To import it would make the grades of all labs depend on its module."""


def _is_seen_plainly(exercise: Exercise) -> bool:
    """Whether the arrays that a check sees are those that the learner's function returns, which may be tensors."""
    return is_called_plainly(exercise) or getattr(exercise.call, "__name__", "") == _WITH_TENSORS


def defined(source: str, name: str, names: dict[str, Any]) -> Any:
    """What a text defines among other names. Give a copy of a notebook's, so that the notebook keeps what it has.

    Raises:
        Exception: whatever the text raises.
    """
    exec(compile(source, f"<{name}, to try>", "exec", dont_inherit=True), names)
    return names[name]


def made(source: str, name: str, names: dict[str, Any]) -> Any:
    """As :func:`defined`; None if the text raises, or takes too long."""
    try:
        with time_limit(_CASE_SECONDS):
            return defined(source, name, names)
    except (Exception, TooSlow):
        return None


def called_in_time(function: Callable, *args: Any, **kwargs: Any) -> Any:
    """What a call returns.

    Raises:
        TooSlow: it takes longer than one case may.
        Exception: whatever the call raises.
    """
    with time_limit(_CASE_SECONDS):
        return function(*args, **kwargs)


def to_try(exercise: Exercise) -> Exercise:
    """An exercise with those cases that change nothing but the inputs, each of which gets little time."""
    cases = tuple(case for case in exercise.cases if not case.relation and not case.reaches)
    return replace(exercise, cases=cases, seconds=_CASE_SECONDS, bypasses=())


def try_changes(
    exercise: Exercise,
    key: str,
    source: str,
    found: Sequence[Change],
    namespace: Mapping[str, Any],
    until: float,
    most: int = 16,
) -> Tried | None:
    """Runs a definition and its changes.

    Args:
        found: at most ``most`` of them are tried, from all parts of the text.
        until: when to stop, as :func:`time.process_time` counts.

    Returns:
        None if the definition itself fails, or gives something else at every call.
    """
    quick = to_try(exercise)
    cases = list(quick.cases)
    runner = _Runner(quick, key, namespace)
    own = runner.outcomes(source, cases, SEEDS)
    again = runner.outcomes(source, cases, SEEDS[:1])
    if own is None or again is None:
        return None
    steady = [
        number
        for number in range(len(cases))
        if all(not own[seed][number].problem for seed in SEEDS)
        and runner.compare(own[SEEDS[0]][number], again[SEEDS[0]][number]).kind == SAME
    ]
    cases = [cases[number] for number in steady]
    own = {seed: [outcomes[number] for number in steady] for seed, outcomes in own.items()}
    if not cases:
        return None
    runner.remember_properties(cases, own)
    trials = []
    step = max(1, -(-len(found) // most))
    for change in [*found[::step], *(each for at, each in enumerate(found) if at % step)][: 2 * most]:
        if time.process_time() > until or len(trials) >= most:
            break
        if trial := runner.trial(change, cases, own):
            trials.append(trial)
    given = {case.title: case.runs(key, SEEDS[0]) for case in cases}
    inputs = {title: runs[0] for title, runs in given.items()}
    several = frozenset(title for title, runs in given.items() if len(runs) > 1)
    shapes, fixed = {}, set()
    for number, case in enumerate(cases):
        first = [case.runs(key, seed)[0] for seed in SEEDS]
        if all(_are_equal(first[0], each) for each in first[1:]):
            fixed.add(case.title)
        came = [_shapes_of(own[seed][number]) for seed in SEEDS]
        if all(each == came[0] for each in came) and all(
            _shapes(each) == _shapes(first[0]) for each in first
        ):
            shapes[case.title] = first[0], came[0]
    return Tried(exercise, source, tuple(cases), tuple(trials), inputs, several, frozenset(fixed), shapes)


def _shapes_of(outcome: Outcome) -> Shapes:
    return {name: array.shape for name, array in outcome.runs[0].items()}


def _are_equal(one: Inputs, two: Inputs) -> bool:
    """Whether there are arrays, and all of them are the same."""
    arrays = [name for name, value in one.items() if isinstance(value, np.ndarray)]
    return bool(arrays) and all(np.array_equal(one[name], two[name]) for name in arrays)


def _shapes(inputs: Inputs) -> list[tuple[str, Any]]:
    return [(name, value.shape if isinstance(value, np.ndarray) else None) for name, value in inputs.items()]


class _Runner:
    def __init__(self, exercise: Exercise, key: str, namespace: Mapping[str, Any]) -> None:
        self.exercise, self.key, self.namespace = exercise, key, namespace
        self.held: dict[str, list[int]] = {}

    def outcomes(
        self, source: str, cases: Sequence[Case], seeds: Sequence[int]
    ) -> dict[int, list[Outcome]] | None:
        names = dict(self.namespace)
        learner = made(source, self.exercise.name, names)
        if learner is None:
            return None
        found: dict[int, list[Outcome]] = {}
        for seed in seeds:
            found[seed] = []
            for case in cases:
                outcome = try_case(self.exercise, case, self.key, learner, seed, names)
                if outcome.problem and outcome.problem.kind == "slow":
                    return None
                found[seed].append(outcome)
        return found

    def remember_properties(self, cases: Sequence[Case], own: Mapping[int, list[Outcome]]) -> None:
        """Which properties the definition has itself, and in which cases they say something."""
        for each in self.exercise.properties:
            seen = [
                [self._holds(each, case, outcomes[number], seed) for number, case in enumerate(cases)]
                for seed, outcomes in own.items()
            ]
            if all(holds is not False for row in seen for holds in row) and any(map(any, seen)):
                self.held[sentence(each)] = [at for at in range(len(cases)) if seen[0][at]]

    def _holds(self, each: Any, case: Case, outcome: Outcome, seed: int) -> bool | None:
        verdicts = []
        for inputs, arrays in zip(case.runs(self.key, seed), outcome.runs, strict=False):
            try:
                found = each(inputs, arrays)
            except Exception:  # it cannot be asked of such an output
                return None
            if found is not None:
                verdicts.append(bool(np.all(found)))
        return all(verdicts) if verdicts else None

    def trial(self, change: Change, cases: Sequence[Case], own: Mapping[int, list[Outcome]]) -> Trial | None:
        """None if it makes no difference anywhere, or cannot be run."""
        changed = self.outcomes(change.source, cases, SEEDS[:1])
        if changed is None:
            return None
        first = [
            self.compare(one, other) for one, other in zip(own[SEEDS[0]], changed[SEEDS[0]], strict=True)
        ]
        if all(each is None or each.kind == SAME for each in first):
            return None
        more = self.outcomes(change.source, cases, SEEDS[1:])
        if more is None:
            return None
        changed |= more
        effects: dict[str, Effect] = {}
        for number, case in enumerate(cases):
            seen = [self.compare(own[seed][number], changed[seed][number]) for seed in SEEDS]
            if all(each and (each.kind, each.names) == (seen[0].kind, seen[0].names) for each in seen):
                effects[case.title] = seen[0]
        broken, kept = self._properties(cases, own, changed, effects)
        shapes = {
            case.title: _shapes_of(changed[SEEDS[0]][number])
            for number, case in enumerate(cases)
            if case.title in effects and effects[case.title].kind == SHAPE
        }
        return Trial(change, effects, broken, kept, shapes)

    def _properties(
        self,
        cases: Sequence[Case],
        own: Mapping[int, list[Outcome]],
        changed: Mapping[int, list[Outcome]],
        effects: Mapping[str, Effect],
    ) -> tuple[dict[str, str], frozenset[str]]:
        broken, kept = {}, set()
        if len(effects) < len(cases) or any(each.kind == ERROR for each in effects.values()):
            return broken, frozenset()
        for each in self.exercise.properties:
            title = sentence(each)
            if title not in self.held:
                continue
            if any(effects[cases[at].title].kind == SHAPE for at in self.held[title]):
                continue  # a sentence about what is no longer there is neither true nor false
            seen = {
                seed: [self._holds(each, cases[at], changed[seed][at], seed) for at in self.held[title]]
                for seed in SEEDS
            }
            if all(holds for row in seen.values() for holds in row):
                kept.add(title)
            elif all(False in row for row in seen.values()):
                at = self.held[title][seen[SEEDS[0]].index(False)]
                shown = self._where_broken(each, cases[at], own[SEEDS[0]][at], changed[SEEDS[0]][at])
                broken[title] = f"With “{cases[at].title}”: {shown}"
        return broken, frozenset(kept)

    def _where_broken(self, each: Any, case: Case, own: Outcome, changed: Outcome) -> str:
        """The first place where a property no longer holds, in numbers where these are what the code itself returns."""
        for inputs, one, two in zip(case.runs(self.key, SEEDS[0]), own.runs, changed.runs, strict=True):
            holds = np.asarray(each(inputs, two))
            if _is_seen_plainly(self.exercise) and holds.dtype == bool and not holds.all():
                return _in_words(_differences(one, two, np.argwhere(~holds)[0]), sentence(each))
        return self.shown(own, changed)

    def compare(self, own: Outcome, changed: Outcome) -> Effect | None:
        """None where the two differ so little that rounding may decide, and where not the learner's code but what calls it complains."""
        if problem := changed.problem:
            if problem.kind != "exception" or not problem.where:
                return None
            said = _short(problem.message)
            # what calls it may have put another exception in its place
            if not is_called_plainly(self.exercise):
                said = said.partition(": ")[2] or "an error"
            return Effect(ERROR, (), f"It raises an error: `{said}`.")
        seen = [self._compare(one, two) for one, two in zip(own.runs, changed.runs, strict=True)]
        if None in seen:
            return None
        kinds = {(each.kind, each.names) for each in seen}
        if kinds == {(SAME, ())}:
            return Effect(SAME)
        if len(kinds) == 1:
            return Effect(*next(iter(kinds)), self.shown(own, changed))
        names = tuple(name for name in self.exercise.returns if any(name in each.names for each in seen))
        return Effect(MIXED, names, self.shown(own, changed))

    def shown(self, own: Outcome, changed: Outcome) -> str:
        """What is different, in numbers where these are what the code itself returns."""
        if not _is_seen_plainly(self.exercise):
            shaped = any(
                one[name].shape != two[name].shape
                for one, two in zip(own.runs, changed.runs, strict=True)
                for name in one
            )
            return f"What comes back has other {'shapes' if shaped else 'values, in the same shapes'}."
        return _difference(own, changed)

    def _compare(self, own: Mapping[str, np.ndarray], changed: Mapping[str, np.ndarray]) -> Effect | None:
        shaped, other = [], []
        for name in self.exercise.returns:
            if own[name].shape != changed[name].shape:
                shaped.append(name)
                continue
            far = _distance(own[name], changed[name])
            if _SURELY_SAME < far < _SURELY_OTHER:
                return None
            if far >= _SURELY_OTHER:
                other.append(name)
        names = tuple(name for name in self.exercise.returns if name in [*shaped, *other])
        return Effect(SHAPE if shaped else VALUES if other else SAME, names)


def _distance(one: np.ndarray, two: np.ndarray) -> float:
    """The largest difference in relation to the largest number; infinite where only one of them is a number."""
    if one.size == 0:
        return 0.0
    with np.errstate(all="ignore"):
        a, b = one.astype(float), two.astype(float)
        if not np.array_equal(np.isfinite(a), np.isfinite(b)):
            return float("inf")
        finite = np.isfinite(a)
        if not np.array_equal(a[~finite], b[~finite], equal_nan=True):
            return float("inf")
        if not finite.any():
            return 0.0
        scale = max(float(np.abs(a[finite]).max()), float(np.abs(b[finite]).max()), 1e-8)
        return float(np.abs(a[finite] - b[finite]).max()) / scale


# ---------------------------------------------------------------------------------- in words


def _difference(own: Outcome, changed: Outcome) -> str:
    """The place that shows best what is different: as it would be, and as it is, both in the same run."""
    by_run = [_differences(*runs) for runs in zip(own.runs, changed.runs, strict=True)]
    return _in_words(max(by_run, key=lambda each: max((far for far, _ in each.values()), default=0.0)))


def _in_words(found: Mapping[str, tuple[float, str]], about: str = "") -> str:
    """Two sentences at most; first of the values that a sentence speaks of."""
    names = sorted(found, key=lambda name: name.rstrip("s") not in about)
    return " ".join(found[name][1] for name in names[:2])


def _differences(
    own: Mapping[str, np.ndarray], changed: Mapping[str, np.ndarray], wrong: Sequence[int] = ()
) -> dict[str, tuple[float, str]]:
    """How far each value of one run is off, and a sentence that shows it.

    Args:
        wrong: indices of a place that shows it; without them, the place that is off by most.
    """
    found = {}
    for name, one in own.items():
        two = changed[name]
        if one.shape != two.shape:
            found[name] = float("inf"), f"`{name}` has the shape `{two.shape}` instead of `{one.shape}`."
        elif one.size and (far := _distance(one, two)) > _SURELY_SAME:
            found[name] = far, _rows(name, one, two, tuple(map(int, wrong)))
    return found


def _rows(name: str, one: np.ndarray, two: np.ndarray, wrong: tuple[int, ...]) -> str:
    if one.ndim == 0:
        return f"`{name}` is `{_scalar(two)}` instead of `{_scalar(one)}`."
    width = one.shape[-1]
    before, after = one.reshape(-1, width).astype(float), two.reshape(-1, width).astype(float)
    with np.errstate(all="ignore"):
        sums = np.abs(np.nan_to_num(after.sum(axis=-1), nan=1e9) - 1)
        far = np.nan_to_num(np.abs(before - after), nan=1e9, posinf=1e9, neginf=1e9).max(axis=-1)
    to_one = width > 1 and np.allclose(before.sum(axis=-1), 1, atol=1e-3) and sums.max() > 1e-2
    row, leading = int((sums if to_one else far).argmax()), one.shape[:-1]
    if len(wrong) >= len(leading) > 0 and all(map(int.__lt__, wrong, leading)):
        at = int(np.ravel_multi_index(wrong[: len(leading)], leading))
        row = at if far[at] > 0 else row  # another value of the same run may be as it was there
    place = np.unravel_index(row, one.shape[:-1]) if one.ndim > 1 else ()
    called = f"`{name}[{', '.join(str(int(each)) for each in place)}]`" if place else f"`{name}`"
    kind = one.dtype.kind
    start = 0
    if width > 6:  # the part in which the two differ
        at = int(np.nan_to_num(np.abs(before - after)[row], nan=1e9).argmax())
        start = 0 if at < 6 else min(at, width - 6)
    said = f"{called} is `{_list(after[row], kind, start)}` instead of `{_list(before[row], kind, start)}`."
    if to_one and sums[row] > 1e-2:
        said += f" It no longer sums to 1, but to {_number(after[row].sum())}."
    return said


def _list(row: np.ndarray, kind: str, start: int) -> str:
    numbers = [
        str(bool(each)) if kind == "b" else str(int(each)) if kind in "iu" else _number(each)
        for each in row[start : start + 6]
    ]
    before, after = ("…, " if start else ""), (", …" if start + 6 < len(row) else "")
    return f"[{before}{', '.join(numbers)}{after}]"


def _scalar(value: np.ndarray) -> str:
    kind = value.dtype.kind
    return str(bool(value)) if kind == "b" else str(int(value)) if kind in "iu" else _number(value)


def _number(value: Any) -> str:
    value = float(value) + 0.0  # no -0
    return f"{value:.3g}" if np.isfinite(value) else str(value)


def _short(message: str) -> str:
    first = (message.strip().splitlines() or ["an error"])[0].replace("`", "'")
    first = re.sub(r", with gufunc signature \S+", "", first)
    return f"{first[:120]}{'…' if len(first) > 120 else ''}"
