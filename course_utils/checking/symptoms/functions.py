"""Looks for what turns the expected numbers into those of a wrong array: a factor, an offset, a function, another temperature."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from course_utils.checking.symptoms.pairs import Found, Pair, as_numbers, evidence, number_in_words


def factor_in(pair: Pair) -> float | None:
    """What the expected numbers are multiplied by, if it is one number."""
    got, wanted = as_numbers(pair)
    size = float((wanted * wanted).sum())
    factor = float((got * wanted).sum()) / size if size else 0.0
    largest = np.abs(wanted).max()
    if (
        not factor
        or not np.isfinite(factor)
        or not np.allclose(got, factor * wanted, rtol=1e-3, atol=1e-4 * abs(factor) * largest)
    ):
        return None
    return factor


def one_factor(pair: Pair) -> Iterator[Found]:
    """All numbers are multiplied by one."""
    factor = factor_in(pair)
    if factor is None or math.isclose(factor, 1, rel_tol=5e-3):  # it would be called "1 times"
        return
    yield "factor", f"{{it}} is {number_in_words(factor)} times what is expected."


def plain_factor(pair: Pair) -> Iterator[Found]:
    """Of a single number: only what cannot be chance."""
    if pair.wanted.dtype.kind != "f" and evidence([pair]) < 3:  # one place is twice another by chance
        return
    factor = factor_in(pair)
    plain = (2, 3, 4, 10, 100, 0.5, 0.1, 0.01)
    if factor is None or not any(math.isclose(factor, each, rel_tol=1e-4) for each in plain):
        return
    yield "factor", f"{{it}} is {number_in_words(factor)} times what is expected."


def factor_of_its_own(pairs: Sequence[Pair]) -> Found | None:
    """Every array is a multiple of the expected one, but they are not all the same multiple."""
    try:
        factors = [factor_in(pair) for pair in pairs]
    except ValueError:
        return None
    if len(pairs) < 2 or None in factors or any(evidence([pair]) < 3 for pair in pairs):
        return None
    words = [number_in_words(factor) for factor in factors]
    if (
        len(set(words[:3])) < 2
    ):  # three equal numbers would say nothing; those that are all alike have been found before
        words = list(dict.fromkeys(words))
    return "factor that varies", (
        "{it} is a multiple of what is expected, but the factor varies: "
        f"{', '.join(words[:3])}{' ...' if len(words) > 3 else ''} times. Does that depend on a size?"
    )


def one_offset(pair: Pair) -> Iterator[Found]:
    """All numbers are off by one and the same."""
    got, wanted = as_numbers(pair)
    off = got - wanted
    middle = float(np.median(off))
    if not np.allclose(off, middle, rtol=1e-3, atol=1e-5 * max(1.0, np.abs(wanted).max())):
        return
    whole = abs(middle - round(middle)) < 1e-4
    if (wanted.size < 3 and not whole) or number_in_words(abs(middle)) == "0":
        return
    yield (
        "offset",
        f"{{it}} is {'larger' if middle > 0 else 'smaller'} than expected by {number_in_words(abs(middle))} everywhere.",
    )


def one_minus(pair: Pair) -> Iterator[Found]:
    """It is 1 minus what is expected."""
    got, wanted = as_numbers(pair)
    if got.size > 1 and pair.same(got, 1 - wanted):  # a single number is 1 minus another by chance: 0 for 1
        yield "one minus", "{it} is 1 minus what is expected."


def factor_of_rows(pair: Pair) -> Iterator[Found]:
    """Each row or column has a factor of its own."""
    got, wanted = as_numbers(pair)
    if got.ndim > 1 and factor_in(pair) is None:  # one factor for all rows is none of their own
        if _is_scaled_along(got, wanted, -1):
            yield (
                "factor of rows",
                "{it} is proportional to what is expected row by row, each with a factor of its own.",
            )
        if _is_scaled_along(got, wanted, tuple(range(got.ndim - 1))):
            yield (
                "factor of columns",
                "{it} is proportional to what is expected column by column, each with a factor of its own.",
            )


def _is_scaled_along(got: np.ndarray, wanted: np.ndarray, axes: int | tuple[int, ...]) -> bool:
    size = (wanted * wanted).sum(axes, keepdims=True)
    if got.size < 3 * size.size or size.size < 2 or not _varies_along(wanted, axes):
        return False
    factor = np.divide((got * wanted).sum(axes, keepdims=True), size, out=np.zeros_like(size), where=size > 0)
    return bool(factor.all() and np.allclose(got, factor * wanted, rtol=1e-3, atol=1e-4 * np.abs(got).max()))


def _varies_along(wanted: np.ndarray, axes: int | tuple[int, ...]) -> bool:
    """Whether the numbers of some row or column differ: of equal ones, any others are a multiple."""
    return not np.allclose(wanted, wanted.mean(axes, keepdims=True), rtol=1e-3, atol=0)


def offset_of_rows(pair: Pair) -> Iterator[Found]:
    """Each row or column is off by a number of its own."""
    got, wanted = as_numbers(pair)
    off, near = got - wanted, {"rtol": 1e-3, "atol": 1e-5 * max(1.0, np.abs(wanted).max())}
    if (
        got.ndim > 1
        and got.shape[-1] > 2
        and np.allclose(off, off[..., :1], **near)
        and _varies_along(wanted, -1)
    ):
        yield "offset of rows", "Each row of {it} is off by one number, the same for the whole row."
    if (
        got.ndim > 1
        and off.size > 2 * off.shape[-1]
        and np.allclose(off, off.reshape(-1, off.shape[-1])[0], **near)
        and _varies_along(wanted, tuple(range(got.ndim - 1)))
    ):
        yield "offset of columns", "Each column of {it} is off by one number, the same for the whole column."


_FUNCTIONS = (
    ("the exponential", np.exp),
    ("the logarithm", np.log),
    ("the square root", np.sqrt),
    ("the square", np.square),
    ("the reciprocal", np.reciprocal),
    ("the absolute value", np.abs),
    ("the base-2 logarithm", np.log2),
    ("the hyperbolic tangent", np.tanh),
)

_FUNCTIONS_OF_A_ROW = (  # of a single number they say nothing: its log-softmax is 0, whatever it is
    ("a softmax", lambda x: _softmax(x)),
    (
        "the log-softmax",
        lambda x: (
            x - x.max(-1, keepdims=True) - np.log(np.exp(x - x.max(-1, keepdims=True)).sum(-1, keepdims=True))
        ),
    ),
    ("the cumulative sum", lambda x: np.cumsum(x, -1)),
)

_LEFT_OUT = (
    ("The hyperbolic tangent", np.tanh),
    ("The positive part, max(0, x),", lambda x: np.maximum(x, 0)),
    ("A sigmoid", lambda x: 1 / (1 + np.exp(-x))),
)

_LEFT_OUT_OF_A_ROW = (
    ("A softmax over the last axis", lambda x: _softmax(x)),
    ("The cumulative sum", lambda x: np.cumsum(x, -1)),
)


def function_of_it(pair: Pair) -> Iterator[Found]:
    """A function was applied one time too many, or is left out."""
    got, wanted = as_numbers(pair)
    rows = wanted.ndim > 0 and wanted.shape[-1] > 1
    for name, function in (*_FUNCTIONS, *(_FUNCTIONS_OF_A_ROW if rows else ())):
        if _equals(got, function(wanted)) and not _equals(wanted, function(wanted)):
            yield "function of it", f"{{it}} is {name} of what is expected."
    if pair.got.dtype.kind in "iu":  # ids, say: -1 may stand for none
        return
    for name, function in (*_LEFT_OUT, *(_LEFT_OUT_OF_A_ROW if rows else ())):
        if _equals(function(got), wanted) and not _equals(got, function(got)):
            yield "function left out", f"{name} of {{it}} would be right."


_BASES = (("2", math.log(2)), ("10", math.log(10)))


def shares_of_multiple(pair: Pair) -> Iterator[Found]:
    """Both are shares that sum to 1, and what is got is what a softmax gives if the right scores are multiplied by a number.

    That is so for powers of another base than e, and for scores that are divided by the root of something else than d_k.
    """
    got, wanted = as_numbers(pair)
    if not got.ndim or (got < 0).any() or (wanted < 0).any():
        return
    for axis in range(-1, -got.ndim - 1, -1):
        there = wanted > 0
        sums = (got.sum(axis), wanted.sum(axis))
        if not all(np.isclose(each, there.any(axis), rtol=0, atol=1e-4).all() for each in sums):
            continue
        compared = there & (got > 0) & (there.sum(axis, keepdims=True) > 1)
        if (
            compared.sum() - compared.any(axis).sum() < 3
        ):  # of two shares in a row, any others are such a multiple
            continue
        logs = (np.log(each, out=np.zeros_like(each), where=compared) for each in (got, wanted))
        count = np.maximum(compared.sum(axis, keepdims=True), 1)
        off, right = (np.where(compared, each - each.sum(axis, keepdims=True) / count, 0.0) for each in logs)
        if not (size := float((right * right).sum())):
            continue
        factor = float((off * right).sum()) / size
        powers = np.power(wanted, factor, out=np.zeros_like(wanted), where=there)
        again = powers / np.maximum(powers.sum(axis, keepdims=True), 1e-300)
        if abs(factor) < 1e-3 or not np.allclose(got, again, rtol=1e-3, atol=1e-6):
            continue
        base = next((name for name, number in _BASES if math.isclose(factor, number, rel_tol=1e-3)), "")
        as_if = f": as if powers of {base} were taken instead of powers of e" if base else ""
        yield (
            "shares of a multiple",
            f"{{it}} is what a softmax gives if the right scores are multiplied by {number_in_words(factor)}{as_if}.",
        )
        yield (
            "shares of a multiple",
            "{it} is what a softmax gives if the right scores are multiplied by a number that differs from case to case. Should the scores be scaled, and if so, by which size?",
        )


def _equals(got: np.ndarray, wanted: np.ndarray) -> bool:
    return bool(
        np.isfinite(wanted).all() and np.allclose(got, wanted, rtol=1e-3, atol=1e-6 * np.abs(wanted).max())
    )


def _softmax(scores: np.ndarray) -> np.ndarray:
    exponentials = np.exp(scores - scores.max(-1, keepdims=True))
    return exponentials / exponentials.sum(-1, keepdims=True)
