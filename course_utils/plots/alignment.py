"""Which source words a translator looked at for each word that it wrote: cross-attention as heat maps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING

import numpy as np

from course_utils.plots.roles import WEIGHT, shades, tint

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True, eq=False)
class Alignment:
    """The cross-attention behind a translation.

    Attributes:
        source: the source's tokens, including the end of the sentence.
        target: the tokens that were written, in order; the weights of a row belong to the moment *before* its
            word was written.
        weights: (num_layers, num_heads, len(target), len(source)), rows summing to 1.
        choices: for each written token, the most probable ones at that moment with their probabilities, best first;
            empty if nobody asked.

    Raises:
        ValueError: the weights do not have that shape, or there are choices for another number of tokens.
    """

    source: Sequence[str]
    target: Sequence[str]
    weights: np.ndarray
    choices: Sequence[Sequence[tuple[str, float]]] = ()

    def __post_init__(self) -> None:
        if self.weights.ndim != 4 or self.weights.shape[2:] != (len(self.target), len(self.source)):
            raise ValueError(
                f"The weights of {len(self.target)} target and {len(self.source)} source tokens have the shape "
                f"(layers, heads, {len(self.target)}, {len(self.source)}), not {self.weights.shape}."
            )
        if self.choices and len(self.choices) != len(self.target):
            raise ValueError(f"There are choices for {len(self.choices)} of {len(self.target)} tokens.")

    def mean(self, layer: int = -1) -> np.ndarray:
        """The mean over the heads of one layer (the last, unless told otherwise), (len(target), len(source))."""
        return self.weights[layer].mean(axis=0)


def alignment_heads(alignment: Alignment, layer: int = -1) -> Figure:
    """A small heat map for each head of one layer, and their mean as the last one."""
    from matplotlib.figure import Figure

    heads = alignment.weights[layer]
    tables = {f"head {number}": table for number, table in enumerate(heads, 1)} | {
        "mean of the heads": alignment.mean(layer)
    }
    columns = min(3, len(tables))
    rows = -(-len(tables) // columns)
    width, height = 0.9 + 0.36 * len(alignment.source), 1.2 + 0.3 * len(alignment.target)
    figure = Figure(figsize=(1.0 + columns * width, rows * height), layout="constrained")
    panels = figure.subplots(rows, columns, sharex=True, sharey=True, squeeze=False).ravel()
    for axes, (title, table) in zip(panels, tables.items(), strict=False):
        image = axes.imshow(table, cmap=shades(WEIGHT), vmin=0, vmax=1, aspect="auto")
        axes.set_title(title, fontsize=10)
        axes.set_xticks(range(len(alignment.source)), alignment.source, rotation=45, ha="right", fontsize=9)
        axes.set_yticks(range(len(alignment.target)), alignment.target, fontsize=9)
        axes.tick_params(labelbottom=True)
    for axes in panels[len(tables) :]:
        axes.set_visible(False)
    figure.colorbar(image, ax=panels.tolist(), shrink=0.7, label="attention weight")
    figure.supxlabel("source", fontsize=9)
    figure.supylabel("next word to be written", fontsize=9)
    return figure


def alignment_html(alignment: Alignment, layer: int = -1) -> str:
    """The mean over a layer's heads as an HTML table, a row for each written token, with a number in each cell.

    A cell says on hover what it means. If the alignment has choices, the last column lists them.
    """

    def cell(word: str, source: str, value: float) -> str:
        shade = f"background:{tint(WEIGHT, 0.6 * value)}"
        says = escape(f"before “{word}”: {value:.0%} of the attention on “{source}”", quote=True)
        return f'<td title="{says}" style="text-align:right;{shade};padding:1px 6px">{value:.2f}</td>'

    def row(number: int, word: str, looked: np.ndarray) -> str:
        cells = "".join(
            cell(word, source, value) for source, value in zip(alignment.source, looked, strict=True)
        )
        name = f'<th style="text-align:left;padding:1px 8px 1px 0">{escape(word)}</th>'
        return f"<tr>{name}{cells}{_choices(alignment.choices[number]) if alignment.choices else ''}</tr>"

    head = "".join(
        f'<th style="text-align:right;padding:1px 6px">{escape(word)}</th>' for word in alignment.source
    )
    if alignment.choices:
        head += '<th style="text-align:left;padding:1px 6px 1px 1.2em">its first choices</th>'
    rows = "".join(
        row(number, word, looked)
        for number, (word, looked) in enumerate(zip(alignment.target, alignment.mean(layer), strict=True))
    )
    return (
        f'<table style="font-size:90%;margin:.3em 0"><caption style="text-align:left">where it looked before it wrote '
        f"each word (mean of the last layer's heads)</caption><tr><td></td>{head}</tr>{rows}</table>"
    )


def _choices(choices: Sequence[tuple[str, float]]) -> str:
    listed = ", ".join(f"{escape(word)} {share:.0%}" for word, share in choices)
    return f'<td style="text-align:left;padding:1px 6px 1px 1.2em;white-space:nowrap">{listed}</td>'


def strongest_links(alignment: Alignment, layer: int = -1) -> str:
    """One line per written word: the source word that it looked at most, and how much; and its choices, if any."""
    width = max(map(len, alignment.target), default=0)
    lines = [
        f"{word:<{width}} <- {alignment.source[int(row.argmax())]} ({row.max():.2f})"
        for word, row in zip(alignment.target, alignment.mean(layer), strict=True)
    ]
    for number, choices in enumerate(alignment.choices):
        lines[number] += "   " + ", ".join(f"{word} {share:.0%}" for word, share in choices)
    return "\n".join(lines)
