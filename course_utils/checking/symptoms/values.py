"""Looks at single values of a wrong array: none that is finite, all the same, an input's, too large, too many True."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from course_utils.checking.symptoms.pairs import Found, Pair, as_array, as_numbers


def not_a_number(pair: Pair) -> Iterator[Found]:
    """Something is NaN or infinite that should not be."""
    got, wanted = pair.got, pair.wanted
    if got.dtype.kind != "f" or got.shape != wanted.shape:
        return
    bad = ~np.isfinite(got) & np.isfinite(wanted.astype(float))
    if not bad.any():
        return
    what = "NaN" if np.isnan(got[bad]).all() else "infinite"
    if what == "NaN" or np.isinf(got[bad]).all():
        if bad.all():
            yield "nan", f"{{it}} is {what} everywhere."
        elif pair.wrong is not None and not (pair.wrong & ~bad).any():
            yield "nan", f"{{it}} is {what} in some places, and right everywhere else."
        yield (
            "nan",
            f"{{it}} is {what} in some or all places: look for a division by 0, a logarithm of 0, or exp() of something large.",
        )
    yield (
        "nan",
        "{it} is not finite everywhere: look for a division by 0, a logarithm of 0, or exp() of something large.",
    )


def one_value(pair: Pair) -> Iterator[Found]:
    """All values are the same."""
    got, wanted = pair.got, pair.wanted
    if (
        got.shape != wanted.shape
        or got.size < 2
        or not (got == got.flat[0]).all()
        or (wanted == wanted.flat[0]).all()
    ):
        return
    if got.dtype.kind == "b":
        yield f"all {got.flat[0]}", f"{{it}} is {bool(got.flat[0])} everywhere."
    elif got.flat[0] == 0:
        or_empty = (
            ", or empty" if got.dtype.kind in "iu" else ""
        )  # a check fills up with 0 what ends too early
        yield "all zeros", f"{{it}} is 0 everywhere{or_empty}."
    yield "constant", "{it} has the same value everywhere."


def opposite(pair: Pair) -> Iterator[Found]:
    """It is inverted or negated."""
    got, wanted = pair.got, pair.wanted
    if got.shape != wanted.shape:
        return
    if got.dtype.kind == "b":
        if got.size > 1 and wanted.dtype.kind == "b" and (got == ~wanted).all():
            yield "inverted", "{it} is inverted: True where False is expected, and the other way round."
    elif pair.same(got.astype(float), -wanted.astype(float)):
        yield "negated", "{it} has the wrong sign everywhere, and is right apart from that."


def another_output(pair: Pair) -> Iterator[Found]:
    """It is what another output should be."""
    for name, other in pair.others.items():
        if other.size > 1 and pair.same(pair.got, other):
            yield "another output", f"{{it}} is what `{name}` should be."


def an_input(pair: Pair) -> Iterator[Found]:
    """It is an input, unchanged."""
    if pair.got.size < 2 or (pair.got == pair.got.flat[0]).all():
        return
    for name, value in pair.inputs.items():
        array = as_array(value)
        if (
            array is not None
            and (array.dtype.kind == "b") == (pair.got.dtype.kind == "b")
            and pair.same(pair.got, array)
        ):
            yield "an input", f"{{it}} is the input `{name}`, unchanged."


def plus_an_input(pair: Pair) -> Iterator[Found]:
    """What is got differs from what is expected by an input, such as a bias, everywhere."""
    got, wanted = as_numbers(pair)
    off, near = got - wanted, {"rtol": 1e-3, "atol": 1e-5 * max(1.0, np.abs(wanted).max())}
    for name, value in pair.inputs.items():
        array = as_array(value)
        if array is None or array.dtype.kind != "f" or not 1 <= array.ndim <= got.ndim:
            continue
        if len(np.unique(array[array != 0])) < 2 or array.shape != got.shape[got.ndim - array.ndim :]:
            continue
        if np.allclose(off, array, **near):
            yield (
                "an input too often",
                f"{{it}} is what is expected plus `{name}`, as if that were added one time too many.",
            )
        if np.allclose(off, -array, **near):
            yield (
                "an input left out",
                f"{{it}} is what is expected minus `{name}`, as if that were left out once.",
            )


def rounded_or_not(pair: Pair) -> Iterator[Found]:
    """It is rounded, or is not."""
    got, wanted = pair.got, pair.wanted
    if got.shape != wanted.shape or "b" in (got.dtype.kind, wanted.dtype.kind):
        return
    got, wanted = got.astype(float), wanted.astype(float)
    for name, rounded in (("down", np.floor), ("up", np.ceil), ("to the nearest whole number", np.round)):
        if (got != rounded(got)).any() and pair.same(rounded(got), wanted):
            yield "not rounded", f"{{it}} would be right if it were rounded {name}."
        if (
            (wanted != rounded(wanted)).any()
            and len(np.unique(rounded(wanted))) >= _SEVERAL
            and pair.same(got, rounded(wanted))
        ):
            yield "rounded", f"{{it}} is what is expected, rounded {name}."
    for digits in range(1, 5):
        if len(np.unique(np.round(wanted, digits))) >= _SEVERAL and np.allclose(
            got, np.round(wanted, digits), rtol=2e-7, atol=1e-7
        ):
            what = "one digit" if digits == 1 else f"{digits} digits"
            yield "rounded", f"{{it}} is what is expected, rounded to {what} after the point."
            return


_SEVERAL = 3
"""Of fewer different numbers, such as the 0 and 1 of shares that are nearly certain, rounding may be chance."""


def too_many_or_few(pair: Pair) -> Iterator[Found]:
    """Booleans are wrong on one side only."""
    got, wanted = pair.got, pair.wanted
    if pair.wrong is None or got.dtype.kind != "b" or wanted.dtype.kind != "b":
        return
    if wanted.size == 1:
        yield ("true or false", f"{{it}} should be {bool(wanted.flat[0])}.")
        return
    if not (wanted & ~got).any():
        yield (
            "too many True",
            "{it} is True in places that should be False; nothing that should be True is missing.",
        )
    if not (got & ~wanted).any():
        yield (
            "too few True",
            "{it} is False in places that should be True; nothing is True that should be False.",
        )


def off_by_one(pair: Pair) -> Iterator[Found]:
    """Whole numbers are off by 1 or 2."""
    got, wanted = as_numbers(pair)
    if (wanted != np.round(wanted)).any() or (got != np.round(got)).any():
        return
    off = got[pair.wrong] - wanted[pair.wrong]
    if (off == off[0]).all() and abs(off[0]) <= 2:
        how = "large" if off[0] > 0 else "small"
        yield "off by one", f"{{it}} is too {how} by {int(abs(off[0]))} wherever it is wrong."


def nearly(pair: Pair) -> Iterator[Found]:
    """It differs by little: everywhere, or in most of the places where it differs."""
    got, wanted = as_numbers(pair)
    size = np.abs(wanted)
    if not size.max() or wanted.dtype.kind != "f" or (wanted == np.round(wanted)).all():
        return
    scale = np.maximum(size, 0.1 * size.max())
    # of what a step of training changes, only the change counts: the weights are nearly right in any case
    for value in pair.inputs.values():
        array = as_array(value)
        if array is not None and array.shape == wanted.shape and array.dtype.kind == "f":
            scale = np.minimum(scale, np.abs(wanted - array).max())
    near = np.abs(got - wanted) <= 0.02 * scale
    if near.all():
        where = " everywhere" if wanted.size > 1 else ""
        yield "nearly right", f"{{it}} is nearly right: it differs by less than 2 %{where}."
    if pair.wrong is not None and pair.wrong.sum() >= _MANY and near[pair.wrong].mean() > 0.9:
        yield "nearly right", "{it} is nearly right in most places: there it differs by less than 2 %."


_MANY = 8
"""Of so many numbers, it may be said what most of them are."""


def one_sided(pair: Pair) -> Iterator[Found]:
    """It is too large or too small wherever it is wrong."""
    got, wanted = as_numbers(pair)
    off = (got - wanted)[pair.wrong]
    if (off > 0).all():
        yield "too large", "{it} is too large wherever it is wrong."
    if (off < 0).all():
        yield "too small", "{it} is too small wherever it is wrong."
