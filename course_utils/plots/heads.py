"""Figures and measurements about attention heads; the browser is in :mod:`course_utils.widgets.heads`. Layers and heads are counted from 1 in words, from 0 in arrays.

Weights have shape (layers, heads, seq_len, seq_len), as :func:`course_utils.models.pretrained.read` gives them.
Heat maps of a few heads side by side are in :mod:`course_utils.plots.attention`.
"""

from __future__ import annotations

import string
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

import numpy as np

from course_utils.plots.drawing import as_svg, note
from course_utils.plots.roles import WEIGHT, shades

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


class Read(Protocol):
    """What an encoder makes of a sentence: see :class:`course_utils.models.pretrained.Reading`."""

    tokens: Sequence[str]
    attention: np.ndarray


# ---------------------------------------------------------------------------------- splitting


def split_figure(seq_len: int, num_heads: int, d_k: int) -> Figure:
    """A table of words, the heads it should be split into, and what a reshape alone makes of it.

    A cell's letter is its word, its number the feature; its colour is the head that it belongs to.
    """
    from matplotlib.figure import Figure

    labels = _cell_labels(seq_len, num_heads * d_k)
    wanted = np.split(labels, num_heads, axis=1)
    scrambled = labels.reshape(num_heads, seq_len, d_k)
    figure = Figure(figsize=(0.62 * num_heads * d_k + 1.2, 1.26 * seq_len + 2.1), layout="constrained")
    rows = figure.subplots(3, 1, gridspec_kw={"hspace": 0.06})
    for axes, title, tables in zip(
        rows,
        ("projected: one row per word", "split into heads", "reshape alone: right shape, wrong places"),
        ([labels], wanted, scrambled),
        strict=True,
    ):
        axes.set_title(title, fontsize=10)
        _labelled_cells(axes, np.concatenate(list(tables), axis=1), num_heads, d_k)
        if len(tables) > 1:
            middles = [head * d_k + (d_k - 1) / 2 for head in range(num_heads)]
            axes.set_xticks(middles, [f"head {head}" for head in range(num_heads)], fontsize=9)
            for head in range(1, num_heads):
                axes.axvline(head * d_k - 0.5, color="white", linewidth=12)
    return figure


def _cell_labels(seq_len: int, width: int) -> np.ndarray:
    """a0, a1, ... in the first row, b0, b1, ... in the second: the letter is the word, the number the feature."""
    letters = string.ascii_lowercase[:seq_len]
    return np.array([[f"{letter}{column}" for column in range(width)] for letter in letters])


def _labelled_cells(axes: Axes, labels: np.ndarray, num_heads: int, d_k: int) -> None:
    shades = np.array([[int(label[1:]) // d_k for label in row] for row in labels]) / max(num_heads - 1, 1)
    axes.imshow(shades, cmap="viridis", vmin=-0.15, vmax=1.15, aspect="auto")
    for (row, column), label in np.ndenumerate(labels):
        colour = "black" if shades[row, column] > 0.6 else "white"
        axes.text(column, row, label, ha="center", va="center", fontsize=10, color=colour)
    axes.set(xticks=[], yticks=[])
    axes.set_xticks(np.arange(labels.shape[1] - 1) + 0.5, minor=True)
    axes.set_yticks(np.arange(labels.shape[0] - 1) + 0.5, minor=True)
    axes.grid(which="minor", color="white", linewidth=2)
    axes.tick_params(which="both", length=0)
    axes.spines[:].set_visible(False)


# ---------------------------------------------------------------------------------- measuring what heads look at

PATTERNS = {
    "previous token": "the token just before",
    "next token": "the token just after",
    "itself": "the token itself",
    "same word": "the same token elsewhere in the sentence",
    "[CLS]": "the marker at the beginning",
    "[SEP]": "the marker at the end",
}
"""Name -> which token is looked at (Clark et al. 2019, "What does BERT look at?", section 3)."""


def pattern_shares(tokens: Sequence[str], attention: np.ndarray) -> dict[str, np.ndarray]:
    """How much of its attention each head gives to each of PATTERNS, on average over the tokens that ask.

    [CLS] and [SEP], first and last, do not ask; the first word has no previous and the last no next token.

    Args:
        tokens: n tokens, [CLS] and [SEP] included.
        attention: (..., n, n) rows sum to 1.

    Returns:
        Name of a pattern -> (...) shares between 0 and 1; NaN where no token of the sentence has such a partner.
    """
    return {name: _mean_share(attention, pairs) for name, pairs in partners(tokens).items()}


def partners(tokens: Sequence[str], complete: bool = True) -> dict[str, list[tuple[int, int]]]:
    """Name of a pattern -> (position that looks, position looked at) of the tokens that have such a partner.

    Args:
        tokens: [CLS] first and, if the sentence is ``complete``, [SEP] last.
    """
    last = len(tokens) - complete
    words = range(1, last)
    return {
        "previous token": [(word, word - 1) for word in words if word > 1],
        "next token": [(word, word + 1) for word in words if word + 1 < last],
        "itself": [(word, word) for word in words],
        "same word": [(i, j) for i in words for j in words if i != j and tokens[i] == tokens[j]],
        "[CLS]": [(word, 0) for word in words],
        "[SEP]": [(word, last) for word in words] if complete else [],
    }


def _mean_share(attention: np.ndarray, pairs: Sequence[tuple[int, int]]) -> np.ndarray:
    """Summed over the partners of a token, then averaged over the tokens that have one."""
    if not pairs:
        return np.full(attention.shape[:-2], np.nan)
    asking, asked = np.array(pairs).T
    return attention[..., asking, asked].sum(axis=-1) / len(set(asking.tolist()))


def mean_patterns(readings: Sequence[Read]) -> dict[str, np.ndarray]:
    """The shares of :func:`pattern_shares`, averaged over the sentences that have such a pattern at all."""
    every = [pattern_shares(reading.tokens, reading.attention) for reading in readings]
    return {
        name: np.mean([shares[name] for shares in every if not np.isnan(shares[name]).any()], axis=0)
        for name in PATTERNS
    }


def strongest(shares: np.ndarray) -> tuple[int, int]:
    """Layer and head, from 1, that give the largest of (layers, heads) shares."""
    layer, head = np.unravel_index(np.argmax(shares), shares.shape)
    return int(layer) + 1, int(head) + 1


def pattern_grid(shares: Mapping[str, np.ndarray]) -> Figure:
    """A panel for each pattern: rows are layers, columns heads, strength the share; the strongest has its number."""
    from matplotlib.figure import Figure

    columns = 3
    rows = -(-len(shares) // columns)
    layers, heads = next(iter(shares.values())).shape
    figure = Figure(figsize=(10.5, rows * (0.27 * layers + 1.0)), layout="constrained")
    panels = figure.subplots(rows, columns, squeeze=False, sharex=True, sharey=True)
    for axes in panels.flat[len(shares) :]:
        axes.set_visible(False)
    for axes, (name, share) in zip(panels.flat, shares.items(), strict=False):
        picture = axes.imshow(share, cmap=shades(WEIGHT), vmin=0, vmax=1, aspect="auto")
        layer, head = strongest(share)
        largest = share[layer - 1, head - 1]
        axes.text(head - 1, layer - 1, f"{largest:.2f}", ha="center", va="center", fontsize=9)
        axes.set_title(name, fontsize=10)
        axes.set_xticks(range(heads), range(1, heads + 1), fontsize=9)
        axes.set_yticks(range(layers), range(1, layers + 1), fontsize=9)
    for axes in panels[-1]:
        axes.set_xlabel("head", fontsize=9)
    for axes in panels[:, 0]:
        axes.set_ylabel("layer", fontsize=9)
    figure.colorbar(picture, ax=panels, label="share of attention", shrink=0.8)
    return figure


# ---------------------------------------------------------------------------------- lines between words

_ROW, _LEFT, _RIGHT = 22, 190, 430


def line_parts(
    tokens: Sequence[str],
    weights: np.ndarray,
    left: float,
    right: float,
    top: float = 0,
    chosen: int | None = None,
) -> list[str]:
    """Attention as lines of an SVG picture, from each token (at ``left``) to those it looks at (at ``right``).

    Args:
        weights: (n, n), rows sum to 1; a line's thickness and opacity are its weight.
        chosen: show the lines of this token only, with their numbers.
    """
    rows = [chosen] if chosen is not None else range(len(tokens))
    middle = [top + _ROW * (place + 0.5) for place in range(len(tokens))]
    parts = [
        f'<line x1="{left + 6}" y1="{middle[row]}" x2="{right - 6}" y2="{middle[column]}" stroke="{WEIGHT.colour}" '
        f'stroke-width="{0.4 + 3 * weights[row, column]:.2f}" stroke-opacity="{min(1, 0.1 + weights[row, column]):.2f}"/>'
        for row in rows
        for column in range(len(tokens))
        if weights[row, column] >= 0.02
    ]
    for place, token in enumerate(tokens):
        shown = chosen is not None and weights[chosen, place] >= 0.01
        number = f" {weights[chosen, place]:.2f}" if shown else ""
        parts.append(note(left, middle[place], token, "end"))
        parts.append(note(right, middle[place], f"{token}{number}"))
    return parts


def head_lines(tokens: Sequence[str], weights: np.ndarray, chosen: int | None = None) -> str:
    """The lines of :func:`line_parts` as an SVG picture of their own."""
    parts = line_parts(tokens, weights, _LEFT, _RIGHT, chosen=chosen)
    return as_svg(640, _ROW * len(tokens), parts, _in_words(tokens, weights, chosen))


def _in_words(tokens: Sequence[str], weights: np.ndarray, chosen: int | None) -> str:
    """What a picture of lines shows: which token each token looks at most."""
    rows = [chosen] if chosen is not None else range(len(tokens))
    most = weights.argmax(axis=-1)
    return "; ".join(
        f"{tokens[row]} looks most at {tokens[most[row]]} ({weights[row, most[row]]:.2f})" for row in rows
    )


def pattern_summary(tokens: Sequence[str], weights: np.ndarray) -> list[tuple[str, float]]:
    """The shares that one head, (n, n), gives to the patterns that the sentence has, largest first."""
    shares = pattern_shares(tokens, weights)
    found = [(name, float(share)) for name, share in shares.items() if not np.isnan(share)]
    return sorted(found, key=lambda entry: -entry[1])
