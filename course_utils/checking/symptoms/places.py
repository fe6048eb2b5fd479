"""Looks at where a wrong array is wrong: shifted, in another order, at one end, on the diagonal, where a mask blocks."""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np

from course_utils.checking.symptoms.pairs import Found, Pair, as_array, axis_in_words, same_set


def shifted(pair: Pair) -> Iterator[Found]:
    """Everything comes one place too early or too late."""
    got, wanted = pair.got, pair.wanted
    if got.shape != wanted.shape:
        return
    for axis in range(-1, -got.ndim - 1, -1):
        if got.shape[axis] < 3:
            continue
        all_but_first = np.delete(got, 0, axis), np.delete(wanted, 0, axis)
        all_but_last = np.delete(got, -1, axis), np.delete(wanted, -1, axis)
        along = f" along {axis_in_words(axis, got.ndim)}" if got.ndim > 1 else ""
        if pair.same(all_but_first[1], all_but_last[1]):  # then to shift it changes nothing
            continue
        if pair.same(all_but_first[0], all_but_last[1]):
            yield "shifted", f"{{it}} is shifted by one place{along}: everything comes one place too late."
        if pair.same(all_but_last[0], all_but_first[1]):
            yield "shifted", f"{{it}} is shifted by one place{along}: everything comes one place too early."


def reordered(pair: Pair) -> Iterator[Found]:
    """It is in reverse or another order along an axis."""
    got, wanted = pair.got, pair.wanted
    if got.shape != wanted.shape or got.dtype.kind == "b":
        return
    for axis in range(-got.ndim, 0):
        if got.shape[axis] > 1 and pair.same(got, np.flip(wanted, axis)):
            along = f" along {axis_in_words(axis, got.ndim)}" if got.ndim > 1 else ""
            yield "reversed", f"{{it}} is in reverse order{along}."
    for axis in range(-got.ndim, 0):
        if got.ndim < 2 or not 1 < got.shape[axis] <= 64:
            continue
        rows, others = np.moveaxis(got, axis, 0), np.moveaxis(wanted, axis, 0)
        left = list(range(len(others)))
        for row in rows:
            match = next((at for at in left if pair.same(row, others[at])), None)
            if match is None:
                break
            left.remove(match)
        else:
            where = {-1: "columns", -2: "rows"}.get(axis, f"entries along {axis_in_words(axis, got.ndim)}")
            yield "another order", f"The {where} of {{it}} are right, but in another order."


def other_places(pair: Pair) -> Iterator[Found]:
    """The numbers are right, their places are not."""
    if pair.got.shape != pair.wanted.shape or not same_set(pair):
        return
    yield "other places", "{it} has the right numbers, but in the wrong places."


def all_rows_alike(pair: Pair) -> Iterator[Found]:
    """All rows, columns or entries along an axis are the same."""
    got, wanted = pair.got, pair.wanted
    if got.shape != wanted.shape or got.ndim < 2 or got.dtype.kind == "b":
        return
    for axis in range(-got.ndim, 0):
        first = np.take(got, [0], axis)
        if (
            got.shape[axis] > 1
            and np.allclose(got, first)
            and not np.allclose(wanted, np.take(wanted, [0], axis))
        ):
            where = (
                "rows"
                if axis == -2
                else "columns"
                if axis == -1
                else f"entries along {axis_in_words(axis, got.ndim)}"
            )
            yield "all alike", f"All {where} of {{it}} are the same, which they should not be."


def where_a_mask_is(pair: Pair) -> Iterator[Found]:
    """All that is wrong stands where a mask blocks, or where it allows."""
    wrong = pair.wrong
    if wrong is None or not wrong.any() or wrong.all():
        return
    for name, blocked in _blocked(pair):
        try:
            here = np.broadcast_to(blocked, wrong.shape)
        except ValueError:
            continue
        if here.all() or not here.any():
            continue
        if not (wrong & ~here).any():
            yield "blocked places", f"{{it}} is wrong only where {name}, and right everywhere else."
        # where a mask leaves nothing, being right is no merit
        if not (wrong & here).any() and pair.wanted[here].any():
            yield (
                "places that are not blocked",
                f"{{it}} is right wherever {name}; it is wrong only in other places.",
            )


def _blocked(pair: Pair) -> Iterator[tuple[str, np.ndarray]]:
    """(words, where) of the masks and the padding among the inputs, in every way that they may be laid on the output."""
    for name, value in pair.inputs.items():
        array = as_array(value)
        if array is None or not array.ndim or array.size > 2**16:
            continue
        if array.dtype.kind == "b":
            words, where = f"`{name}` is False", ~array
        elif array.dtype.kind in "iu" and "mask" in name and np.isin(array, (0, 1)).all():
            words, where = f"`{name}` is 0", array == 0
        elif array.dtype.kind in "iu" and re.search(r"ids|labels|targets?|tokens|source|sequence", name):
            padding = pair.inputs.get("pad_id", 0)
            if not isinstance(padding, int | np.integer):
                continue
            ignored = -100 if (array == -100).any() else padding
            words = (
                f"`{name}` is {'-100' if ignored == -100 else 'padding' if 'pad_id' in pair.inputs else '0'}"
            )
            where = array == ignored
        else:
            continue
        yield words, where
        if where.ndim < pair.got.ndim:
            yield words, where.reshape(*where.shape, *[1] * (pair.got.ndim - where.ndim))


def ends_and_diagonals(pair: Pair) -> Iterator[Found]:
    """All that is wrong stands at one end of an axis, or all that is right does."""
    wrong = pair.wrong
    if wrong is None or wrong.ndim == 0 or not wrong.any():
        return
    for axis in range(-wrong.ndim, 0):
        length = wrong.shape[axis]
        if length < 2:
            continue
        others = tuple(each for each in range(wrong.ndim) if each != axis % wrong.ndim)
        any_wrong = wrong.any(axis=others)
        where = (
            "entry"
            if wrong.ndim == 1
            else {-1: "column", -2: "row"}.get(axis, f"entry along {axis_in_words(axis, wrong.ndim)}")
        )
        if any_wrong[0] and not any_wrong[1:].any():
            yield "only the first wrong", f"{{it}} is wrong only in the first {where}."
        if any_wrong[-1] and not any_wrong[:-1].any():
            yield "only the last wrong", f"{{it}} is wrong only in the last {where}."
        if length > 2 and not any_wrong[0] and any_wrong[1:].all():
            yield "only the first right", f"{{it}} is right in the first {where}, and wrong in all others."
        if length > 2 and not any_wrong[-1] and any_wrong[:-1].all():
            yield "only the last right", f"{{it}} is right in the last {where}, and wrong in all others."
        if length > 5 and not any_wrong[::2].any() and any_wrong[1::2].all():
            yield (
                "every second wrong",
                f"In {{it}}, every second {where} is right, and those in between are wrong.",
            )
        if length > 5 and not any_wrong[1::2].any() and any_wrong[::2].all():
            yield (
                "every second wrong",
                f"In {{it}}, every second {where} is right, beginning with the second, and those in between are wrong.",
            )
    if wrong.ndim >= 2 and 2 < wrong.shape[-2] == wrong.shape[-1]:
        rows, columns = wrong.shape[-2:]
        on = np.eye(rows, columns, dtype=bool)
        above = ~np.tri(rows, columns, dtype=bool)
        for place, words in (
            (on, "on the diagonal"),
            (above, "above the diagonal"),
            (~above & ~on, "below the diagonal"),
        ):
            if not (wrong & ~place).any():
                yield "diagonal", f"{{it}} is wrong only {words}."


def zeros_expected(pair: Pair) -> Iterator[Found]:
    """It is wrong only where 0 is expected."""
    if _some_numbers_wrong(pair) and not (pair.wrong & (pair.wanted != 0)).any():
        yield "zeros expected", "{it} is wrong only where 0 is expected."


def zeros_instead(pair: Pair) -> Iterator[Found]:
    """It is 0 wherever it is wrong. Where ids end too early, a check fills them up with 0."""
    if _some_numbers_wrong(pair) and pair.got.dtype.kind != "b" and (pair.got[pair.wrong] == 0).all():
        or_ends = ", or ends too early," if pair.got.dtype.kind in "iu" else ""
        yield "zeros instead", f"{{it}} is 0{or_ends} wherever it is wrong."


def negative_expected(pair: Pair) -> Iterator[Found]:
    """It is wrong only where a negative number is expected."""
    if not _some_numbers_wrong(pair):
        return
    negative = pair.wanted < 0
    # Some checks write -1 where None is expected.
    if (pair.wanted < -1).any() and not (pair.wrong & ~negative).any():
        yield "negative expected", "{it} is wrong only where a negative number is expected."


def _some_numbers_wrong(pair: Pair) -> bool:
    wrong = pair.wrong
    return wrong is not None and pair.wanted.dtype.kind != "b" and bool(wrong.any() and not wrong.all())
