"""Looks at the form of a wrong array: its kind of values, its shape, the order of its axes."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np

from course_utils.checking.symptoms.pairs import Found, Pair, axis_in_words, same_set


def another_kind(pair: Pair) -> Iterator[Found]:
    """Booleans for numbers, or numbers for booleans."""
    got, wanted = pair.got, pair.wanted
    if got.shape != wanted.shape or (got.dtype.kind == "b") == (wanted.dtype.kind == "b"):
        return
    if wanted.dtype.kind != "b":
        yield "booleans for numbers", "{it} contains booleans where numbers are expected."
        return
    as_wanted = got.astype(bool)
    if pair.same(as_wanted, wanted):
        yield (
            "numbers for booleans",
            "{it} contains numbers where booleans are expected; as booleans they would be right.",
        )
    if pair.same(~as_wanted, wanted):
        yield (
            "numbers for booleans",
            "{it} contains numbers where booleans are expected, and they are inverted.",
        )
    yield "numbers for booleans", "{it} contains numbers where booleans are expected."


def axis_of_one(pair: Pair) -> Iterator[Found]:
    """It has axes of length 1 too many, too few, or elsewhere."""
    got, wanted = pair.got, pair.wanted
    if got.shape == wanted.shape or got.size != wanted.size:
        return
    if [size for size in got.shape if size != 1] != [size for size in wanted.shape if size != 1]:
        return
    name, words = "axis of one elsewhere", "has its axis of length 1 in another place"
    many = "axes" if abs(got.ndim - wanted.ndim) > 1 else "an axis"
    if got.ndim > wanted.ndim:
        name, words = "axis kept", f"has {many} of length 1 too many"
    elif got.ndim < wanted.ndim:
        name, words = "axis dropped", f"lacks {many} of length 1"
    if (got.dtype == bool) == (wanted.dtype == bool) and pair.same(got.reshape(wanted.shape), wanted):
        yield name, f"{{it}} {words}, and is right apart from that."
    yield name, f"{{it}} {words}."


def transposed(pair: Pair) -> Iterator[Found]:
    """Its axes are in another order."""
    got, wanted = pair.got, pair.wanted
    if not 2 <= got.ndim <= 5 or got.ndim != wanted.ndim or sorted(got.shape) != sorted(wanted.shape):
        return
    swaps = list(itertools.combinations(range(-wanted.ndim, 0), 2))
    for one, other in reversed(swaps):
        if pair.same(got, np.swapaxes(wanted, one, other)):
            which = "its last two axes" if (one, other) == (-2, -1) else f"its axes {one} and {other}"
            yield "transposed", f"{{it}} has {which} exchanged, and is right apart from that."
    for order in itertools.permutations(range(wanted.ndim)):
        if pair.same(got, wanted.transpose(order)):
            yield (
                "axes in another order",
                "{it} has its axes in another order, and is right apart from that.",
            )


def too_short_or_long(pair: Pair) -> Iterator[Found]:
    """One axis is too short or too long."""
    got, wanted = pair.got, pair.wanted
    if got.ndim != wanted.ndim or got.shape == wanted.shape:
        return
    differ = [axis for axis in range(-got.ndim, 0) if got.shape[axis] != wanted.shape[axis]]
    if len(differ) != 1:
        return
    (axis,) = differ
    by = got.shape[axis] - wanted.shape[axis]
    long, short = (got, wanted) if by > 0 else (wanted, got)
    count, along = abs(by), f" along {axis_in_words(axis, got.ndim)}" if got.ndim > 1 else ""
    size = short.shape[axis]
    head = np.take(long, range(size), axis)
    tail = np.take(long, range(long.shape[axis] - size, long.shape[axis]), axis)
    for end, part in (("last", head), ("first", tail)):
        if size and pair.same(short, part):
            for what in ([f"the {end} entry"] if count == 1 else [f"the {end} {count} entries"]) + [
                f"some entries at the {'end' if end == 'last' else 'beginning'}"
            ]:
                if by > 0:
                    yield f"{end} added", f"{{it}} is too long{along}: without {what} it would be right."
                else:
                    yield (
                        f"{end} missing",
                        f"{{it}} is too short{along}: {what} of what is expected {'are' if 'entries' in what else 'is'} missing, the rest is right.",
                    )
    name = "too long" if by > 0 else "too short"
    yield name, f"{{it}} is {name} by {count}{along}."
    yield name, f"{{it}} is {name}{along}."


_SUMMARIES = (("sum", np.sum), ("mean", np.mean), ("maximum", np.max), ("product", np.prod))


def summarised(pair: Pair) -> Iterator[Found]:
    """An axis is gone, or there is one that should be gone."""
    got, wanted = pair.got, pair.wanted
    small, large = (got, wanted) if got.ndim < wanted.ndim else (wanted, got)
    if large.ndim - small.ndim != 1 or large.size == 0:
        return
    for axis in range(-large.ndim, 0):
        if np.delete(large.shape, axis).tolist() != list(small.shape):
            continue
        ways = [(name, how(large, axis=axis)) for name, how in _SUMMARIES if large.dtype.kind != "b"]
        ways += [("first entry", np.take(large, 0, axis)), ("last entry", np.take(large, -1, axis))]
        fitting = [name for name, result in ways if pair.same(small, result)]
        if len(fitting) != 1:  # if all entries along the axis are equal, several fit
            continue
        if small is got:
            yield (
                "axis gone",
                f"{{it}} is the {fitting[0]} of what is expected, over {axis_in_words(axis, large.ndim)}, which should stay.",
            )
        else:
            yield (
                "axis left",
                f"{{it}} has one axis too many: the {fitting[0]} over {axis_in_words(axis, large.ndim)} would be right.",
            )
    yield (
        ("axis gone", "{it} has one axis too few.")
        if small is got
        else ("axis left", "{it} has one axis too many.")
    )


def same_numbers_in_another_shape(pair: Pair) -> Iterator[Found]:
    """It has as many numbers, in another shape."""
    got, wanted = pair.got, pair.wanted
    if got.shape == wanted.shape or got.size != wanted.size or got.size < 2:
        return
    if pair.same(got.ravel(), wanted.ravel()):
        yield "another shape", "{it} has the right numbers in the right order, but in another shape."
    elif same_set(pair):
        yield "another shape", "{it} has the right numbers, but in another shape and another order."
    yield "another shape", "{it} has a different shape from the expected one, but the same number of values."
