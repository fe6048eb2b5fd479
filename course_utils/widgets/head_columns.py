"""The way of one word through multi-head attention: which columns of W^Q make a head, and which rows of W^O read what it found."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any

import numpy as np

from course_utils import maths
from course_utils.plots.drawing import INK, QUIET, as_image, as_svg, note, scrolling
from course_utils.plots.roles import OUTPUT, QUERY, VALUE, WEIGHT, Role
from course_utils.widgets import Widget, plain

_CELL, _ROW, _GAP, _LEFT = 48, 26, 44, 16
_PAIR, _APART = 30, 10  # between two heads: their panels, and their columns or rows


class HeadColumns(Widget):
    """One word from its embedding to the output, step by step; a chosen head is followed all the way.

    Args:
        words: the sentence.
        x: its words, (n, d_model); every word looks at every word.
        w_query, w_key: (d_model, num_heads * d_k).
        w_value: (d_model, num_heads * d_v).
        w_output: (num_heads * d_v, d_model).
        num_heads: number of heads.
        features: names of the d_model features.
        word: the place of the word shown first.

    Raises:
        ValueError: the shapes do not fit together.
    """

    module = "head_columns.js"

    def __init__(
        self,
        words: Sequence[str],
        x: np.ndarray,
        w_query: np.ndarray,
        w_key: np.ndarray,
        w_value: np.ndarray,
        w_output: np.ndarray,
        num_heads: int,
        features: Sequence[str],
        word: int = 0,
    ) -> None:
        if (
            x.shape != (len(words), len(features))
            or w_query.shape[1] % num_heads
            or w_value.shape[1] % num_heads
        ):
            raise ValueError(
                f"{len(words)} words, {len(features)} features and {num_heads} heads do not fit x {x.shape}, "
                f"w_query {w_query.shape} and w_value {w_value.shape}."
            )
        self.words, self.features, self.word, self.num_heads = list(words), list(features), word, num_heads
        self.x, self.w_query, self.w_output = x, w_query, w_output
        self.query = np.einsum("nd,dk->nk", x, w_query)

        def by_head(matrix: np.ndarray) -> np.ndarray:
            """(heads, n, columns of a head)."""
            return np.einsum("nd,dhk->hnk", x, matrix.reshape(len(features), num_heads, -1))

        found, self.weights = maths.scaled_dot_product_attention(*map(by_head, (w_query, w_key, w_value)))
        self.joined = np.hstack(list(found))
        """What the heads found, side by side, (n, num_heads * d_v)."""
        self.output = np.einsum("nk,kd->nd", self.joined, w_output)

    def data(self) -> dict[str, Any]:
        arrays = ("x", "w_query", "query", "weights", "joined", "w_output", "output")
        return {
            "words": self.words,
            "features": self.features,
            "word": self.word,
            **{name: plain(getattr(self, name)) for name in arrays},
        }

    # ---------------------------------------------------------------------------------- the still picture

    def still(self) -> str:
        """All steps at once, for the word that is shown first."""
        d_model, heads, at = len(self.features), self.num_heads, self.word
        d_k, d_v = self.query.shape[1] // heads, self.joined.shape[1] // heads
        room = max(self.query.shape[1], self.joined.shape[1], d_model) * _CELL + (heads - 1) * _APART
        middle, right = _LEFT + room + _GAP, _LEFT + 2 * (room + _GAP)
        width, top, parts = right + room + _LEFT, 84, []

        def of_heads(role: Role | None, left: float, y: float, row: np.ndarray) -> None:
            """A row of which each head has an equal part."""
            for head, own in enumerate(np.split(row, heads)):
                parts.extend(_strip(role, left + head * (len(own) * _CELL + _APART), y, own))

        def named(left: float, y: float, size: int) -> None:
            """A frame around what each head has of a row, and its name below."""
            for head in range(heads):
                x = left + head * (size * _CELL + _APART)
                parts.append(_frame(x, y - 14, size * _CELL, 28, f"head {head}", 42))

        def around(y: float, first: str, matrix: str, above: float, result: str) -> None:
            """What stands around a row, a matrix and their product."""
            parts.extend(
                [note(_LEFT, y - 26, first), note(middle, above, matrix), note(right, y - 26, result)]
            )
            parts.extend(
                [note(middle - _GAP / 2, y, "×", "middle"), note(right - _GAP / 2, y, "=", "middle")]
            )

        centre = top + _ROW * d_model / 2
        parts.append(note(_LEFT, 22, "1. The word reads all of W^Q. A head is some of its columns."))
        around(centre, f"embedding of {self.words[at]}", "W^Q", top - 30, "query")
        parts.extend(_strip(None, _LEFT, centre, self.x[at]))
        for feature, row in enumerate(self.w_query):
            of_heads(None, middle, top + _ROW * (feature + 0.5), row)
        for head in range(heads):
            x = middle + head * (d_k * _CELL + _APART)
            parts.append(_frame(x, top, d_k * _CELL, _ROW * d_model, f"head {head}", -12))
        of_heads(QUERY, right, centre, self.query[at])
        named(right, centre, d_k)

        y = top + _ROW * d_model + 44
        parts.append(note(_LEFT, y, "2. Each head has weights of its own, and finds values of its own."))
        panel = (width - 2 * _LEFT - _PAIR * (heads - 1)) / heads
        cell = panel / len(self.words)
        for head in range(heads):
            left = _LEFT + head * (panel + _PAIR)
            parts.extend(
                _small(left + (place + 0.5) * cell, y + 52, word) for place, word in enumerate(self.words)
            )
            parts.extend(_strip(WEIGHT, left, y + 76, self.weights[head, at], cell))
            parts.append(_frame(left, y + 38, panel, 88, f"head {head}", -10))
            parts.append(note(left + 8, y + 108, "finds"))
            parts.extend(_strip(VALUE, left + 52, y + 108, self.joined[at, head * d_v : (head + 1) * d_v]))

        y += 164
        tall = _ROW * len(self.w_output) + (heads - 1) * _APART
        parts.append(note(_LEFT, y, "3. Side by side. 4. W^O mixes: each head has rows of its own."))
        for place, name in enumerate(self.features):
            parts.append(_small(_LEFT + (place + 0.5) * _CELL, centre + 26, name))
            parts.append(_small(right + (place + 0.5) * _CELL, y + 40 + tall / 2 + 26, name))
        centre = y + 40 + tall / 2
        around(centre, "what the heads found", "W^O", y + 26, "output")
        of_heads(VALUE, _LEFT, centre, self.joined[at])
        named(_LEFT, centre, d_v)
        for head, rows in enumerate(np.split(self.w_output, heads)):
            first = y + 40 + head * (d_v * _ROW + _APART)
            parts.append(_frame(middle, first, d_model * _CELL, d_v * _ROW, "", 0))
            for place, row in enumerate(rows):
                parts.extend(_strip(None, middle, first + _ROW * (place + 0.5), row))
        parts.extend(_strip(OUTPUT, right, centre, self.output[at]))
        height = round(y + 40 + tall + 16)
        svg = as_svg(round(width), height, parts, self.alt())
        return scrolling(as_image(svg, self.alt()), round(width))

    def alt(self) -> str:
        at, heads = self.word, self.num_heads
        d_k, d_v = self.query.shape[1] // heads, self.joined.shape[1] // heads
        lines = [
            f"The way of {self.words[at]} through {heads} heads.",
            f"Its embedding: {_listed(self.features, self.x[at])}.",
            f"W^Q has {self.query.shape[1]} columns; each reads the whole embedding.",
        ]
        for head in range(heads):
            asks, finds = slice(head * d_k, (head + 1) * d_k), slice(head * d_v, (head + 1) * d_v)
            lines.append(
                f"Head {head} has {_span('column', asks)}: its query is {_spaced(self.query[at, asks])}. It looks at "
                f"{_listed(self.words, self.weights[head, at])}. It finds {_spaced(self.joined[at, finds])}, "
                f"read by {_span('row', finds)} of W^O."
            )
        lines.append(f"Side by side: {_spaced(self.joined[at])}.")
        lines.append(f"Mixed by W^O: {_listed(self.features, self.output[at])}.")
        return "\n".join(lines)


def head_columns(
    words: Sequence[str],
    x: np.ndarray,
    w_query: np.ndarray,
    w_key: np.ndarray,
    w_value: np.ndarray,
    w_output: np.ndarray,
    num_heads: int,
    features: Sequence[str],
    word: int = 0,
) -> None:
    """Shows :class:`HeadColumns`."""
    HeadColumns(words, x, w_query, w_key, w_value, w_output, num_heads, features, word).show()


def _spaced(vector: np.ndarray) -> str:
    return "  ".join(f"{entry:.2f}" for entry in vector)


def _listed(names: Sequence[str], numbers: np.ndarray) -> str:
    return ", ".join(f"{name} {number:.2f}" for name, number in zip(names, numbers, strict=True))


def _span(what: str, places: slice) -> str:
    last = places.stop - 1
    return f"{what}s {places.start} to {last}" if last > places.start else f"{what} {last}"


def _strip(role: Role | None, x: float, y: float, entries: np.ndarray, cell: float = _CELL) -> list[str]:
    """A row of cells with their numbers; without a role they are grey."""
    most = max(1e-9, float(np.abs(entries).max()))
    colour, parts = role.colour if role else QUIET, []
    for place, entry in enumerate(entries):
        strength = 0.06 + 0.34 * abs(float(entry)) / most if role else 0.06
        parts.append(
            f'<rect x="{x + place * cell + 1:.1f}" y="{y - 12:.1f}" width="{cell - 2:.1f}" height="24" rx="3" '
            f'style="fill:{colour};fill-opacity:{strength:.2f};stroke:{colour}"/>'
        )
        parts.append(note(round(x + (place + 0.5) * cell, 1), y, f"{float(entry):.2f}", "middle"))
    return parts


def _frame(x: float, y: float, width: float, height: float, label: str, label_at: float) -> str:
    """A thick frame around what belongs to one head, with its name above or below."""
    return (
        f'<rect x="{x - 1:.1f}" y="{y - 2:.1f}" width="{width + 2:.1f}" height="{height + 4:.1f}" rx="5" '
        f'style="fill:none;stroke:{INK};stroke-width:2"/>'
        + note(x + width / 2, y + label_at, label, "middle")
    )


def _small(x: float, y: float, words: str) -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="middle" dominant-baseline="central" '
        f'style="fill:{QUIET};font:12px system-ui,sans-serif">{escape(words)}</text>'
    )
