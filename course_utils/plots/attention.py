"""Figures and widgets about attention weights and masks, shared by the labs.

Functions that return a Matplotlib figure leave showing it to :func:`course_utils.plots.show_figure`.
Widgets come with an HTML and a text fallback, so that a lab reads well without a running kernel.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING

import numpy as np

from course_utils.display import show_table
from course_utils.maths import softmax
from course_utils.plots.drawing import arrow, box, note, show_drawing
from course_utils.plots.roles import KEY, OUTPUT, QUERY, VALUE, WEIGHT, Role, shades, shape, tint
from course_utils.widgets.panels import Control, Panels

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def attention_heatmap(
    weights: np.ndarray, queries: Sequence[str], keys: Sequence[str], title: str = "Attention weights"
) -> Figure:
    """Weights as a table of colours with their numbers: one row per query, one column per key.

    Args:
        weights: (q_len, k_len), rows summing to 1.
        queries, keys: the words of the two axes.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(1.6 + 0.85 * len(keys), 1.4 + 0.5 * len(queries)), layout="constrained")
    axes = figure.subplots()
    _colour_table(axes, weights, queries, keys)
    axes.set(title=title, xlabel="word looked at (key)", ylabel="word that looks (query)")
    return figure


def heatmaps_side_by_side(
    tables: Mapping[str, np.ndarray], queries: Sequence[str], keys: Sequence[str]
) -> Figure:
    """Several (q_len, k_len) tables over the same words, for comparing masks or kinds of attention.

    With more than ten keys, numbers would be too small to read: there are colours only.
    """
    from matplotlib.figure import Figure

    numbered = len(keys) <= 10
    width, height = (0.62, 0.42) if numbered else (0.32, 0.3)
    figure = Figure(
        figsize=(1.2 + (0.5 + width * len(keys)) * len(tables), 1.9 + height * len(queries)),
        layout="compressed",
    )
    for axes, (title, table) in zip(
        figure.subplots(1, len(tables), squeeze=False)[0], tables.items(), strict=True
    ):
        _colour_table(axes, table, queries, keys, numbered)
        axes.set_title(title, fontsize=11)
    return figure


def _colour_table(
    axes: Axes, table: np.ndarray, rows: Sequence[str], columns: Sequence[str], numbered: bool = True
) -> None:
    mask = table.dtype == bool
    axes.imshow(table.astype(float), cmap="viridis" if mask else shades(WEIGHT), vmin=0, vmax=1)
    if max(map(len, columns), default=0) > 2:
        axes.set_xticks(range(len(columns)), columns, rotation=35, ha="right")
    else:
        axes.set_xticks(range(len(columns)), columns)
    axes.set_yticks(range(len(rows)), rows)
    for (row, column), value in np.ndenumerate(table) if numbered else ():
        text = ("yes" if value else "-") if mask else f"{value:.2f}"
        colour = "white" if mask and not value else "black"  # whichever stands out more
        axes.text(column, row, text, ha="center", va="center", fontsize=9, color=colour)


def word_bars(
    words: Sequence[str], weights: np.ndarray, title: str, label: str = "attention weight"
) -> Figure:
    """How one word distributes its attention, or another share of 1: one bar per word, with its number."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6.2, 0.7 + 0.38 * len(words)), layout="constrained")
    axes = figure.subplots()
    bars = axes.barh(range(len(words)), weights, color=WEIGHT.colour)
    axes.bar_label(bars, [f"{weight:.3f}" for weight in weights], padding=3)
    axes.set_yticks(range(len(words)), words)
    axes.invert_yaxis()
    axes.set(title=title, xlim=(0, max(1.0, float(np.max(weights)) * 1.15)), xlabel=label)
    axes.spines[["top", "right"]].set_visible(False)
    return figure


def growth_with_d_k(
    d_ks: Sequence[int], plain: np.ndarray, scaled: np.ndarray, gradients: Mapping[str, np.ndarray]
) -> Figure:
    """Left: spread of the scores against d_k, with the √d_k curve. Right: what is left of the softmax's gradient."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9.5, 3.4), layout="constrained")
    left, right = figure.subplots(1, 2)
    left.plot(d_ks, plain, "o-", color="#440154", label="q·k, measured")
    left.plot(d_ks, np.sqrt(d_ks), "--", color="#7a7a7a", label="√d_k")
    left.plot(d_ks, scaled, "s-", color="#21918c", label="q·k / √d_k, measured")
    left.set(
        xscale="log",
        yscale="log",
        xlabel="d_k",
        ylabel="standard deviation of the scores",
        title="The scores grow with √d_k",
    )
    styles = {"marker": "o", "color": "#440154"}, {"marker": "s", "color": "#21918c"}
    for style, (label, values) in zip(styles, gradients.items(), strict=True):
        right.plot(d_ks, values, label=label, **style)
    right.set(
        xscale="log",
        yscale="log",
        xlabel="d_k",
        ylabel="mean |gradient| of the weights",
        title="A saturated softmax passes no gradient",
    )
    for axes in (left, right):
        axes.set_xticks(d_ks, [str(d_k) for d_k in d_ks])
        axes.minorticks_off()
        axes.legend(frameon=False)
        axes.spines[["top", "right"]].set_visible(False)
    return figure


def pictures(panels: Mapping[str, np.ndarray]) -> Figure:
    """Grey pictures side by side: title -> (height, width), 0 is black and 1 is white."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(1.8 * len(panels), 2.1), layout="constrained")
    for axes, (title, picture) in zip(
        figure.subplots(1, len(panels), squeeze=False)[0], panels.items(), strict=True
    ):
        axes.imshow(picture, cmap="gray", vmin=0, vmax=1)
        axes.set_title(title, fontsize=10)
        axes.set_axis_off()
    return figure


def show_shapes() -> None:
    """Shows how the shapes of attention follow from each other, from the words at the bottom to the output at the top."""
    width, height = 620, 424
    parts = [
        *_labelled_box(230, 16, "output\n(..., q_len, d_v)", OUTPUT),
        *_labelled_box(120, 110, "weights\n(..., q_len, k_len)", WEIGHT),
        *_labelled_box(120, 204, "scores\n(..., q_len, k_len)", None),
        *_labelled_box(20, 298, "query\n(..., q_len, d_k)", QUERY),
        *_labelled_box(220, 298, "key\n(..., k_len, d_k)", KEY),
        *_labelled_box(420, 298, "value\n(..., k_len, d_v)", VALUE),
        arrow((100, 298), (160, 248)),
        arrow((300, 298), (240, 248)),
        note(286, 272, "Q Kᵀ / √d_k", quiet=True),
        arrow((200, 204), (200, 154)),
        note(210, 179, "softmax of each row", quiet=True),
        arrow((230, 110), (290, 60)),
        arrow((500, 298), (500, 132), (370, 60)),
        note(392, 108, "weights V", "end", quiet=True),
        *(arrow((x, 388), (x, 342)) for x in (100, 300, 500)),
        *(note(x + 8, 365, name, quiet=True) for x, name in ((100, "W^Q"), (300, "W^K"), (500, "W^V"))),
        note(100, 402, "words that ask", "middle"),
        note(400, 402, "words that answer", "middle"),
    ]
    show_drawing(
        width,
        height,
        parts,
        "The shapes of attention. Words that ask give queries (..., q_len, d_k); words that answer give keys (..., k_len, d_k) and values "
        "(..., k_len, d_v). Queries times keys, divided by the square root of d_k, are scores (..., q_len, k_len). The softmax of each row "
        "makes weights of the same shape. Weights times values are the output (..., q_len, d_v).",
    )


def _labelled_box(x: int, y: int, text: str, role: Role | None) -> list[str]:
    """A box of the drawing of shapes, with the shape of its role in its corner."""
    return [box(x, y, 160, 44, text), *([shape(role, x + 14, y + 14)] if role else [])]


# ---------------------------------------------------------------------------------- widgets


def _bars_html(labels: Sequence[str], values: np.ndarray, caption: str) -> str:
    """Bars in plain HTML that follow JupyterLab's theme; the number is next to each bar."""
    rows = "".join(
        f'<tr><td style="text-align:right;padding:1px 8px">{escape(label)}</td><td style="width:20em;text-align:left">'
        f'<div style="background:{WEIGHT.colour};height:1em;width:{100 * value:.1f}%"></div></td>'
        f'<td style="padding:1px 8px;font-variant-numeric:tabular-nums">{value:.3f}</td></tr>'
        for label, value in zip(labels, values, strict=True)
    )
    return (
        '<div style="color:var(--jp-content-font-color1,#1b1b1b);line-height:1.3">'
        f'<div>{escape(caption)}</div><table style="margin:.3em 0;border:none">{rows}</table></div>'
    )


def _bars_text(labels: Sequence[str], values: np.ndarray) -> str:
    width = max(map(len, labels))
    return "\n".join(
        f"{label:>{width}}  {value:5.3f}  {'#' * round(40 * value)}"
        for label, value in zip(labels, values, strict=True)
    )


def temperature_widget(scores: np.ndarray, labels: Sequence[str]) -> None:
    """A slider for d_k: the softmax of ``scores`` that grow with √d_k, with and without the division.

    Args:
        scores: (n,) the scores of one query at d_k = 1.
        labels: a name for each of the n keys.
    """

    def view(d_k: int) -> tuple[np.ndarray, np.ndarray]:
        grown = scores * np.sqrt(d_k)
        return softmax(grown), softmax(grown / np.sqrt(d_k))

    def html(d_k: int) -> str:
        plain, scaled = view(d_k)
        return _bars_html(labels, plain, f"d_k = {d_k}, scores as they are") + _bars_html(
            labels, scaled, f"d_k = {d_k}, scores divided by √d_k"
        )

    def text(d_k: int) -> str:
        plain, scaled = view(d_k)
        return f"d_k = {d_k}, scores as they are\n{_bars_text(labels, plain)}\nd_k = {d_k}, scores divided by √d_k\n{_bars_text(labels, scaled)}"

    sizes = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512]
    Panels(
        [Control("d_k", list(map(str, sizes)), start=sizes.index(4), slider=True)],
        lambda at: html(sizes[at]),
        still="".join(map(html, (1, 16, 256))),
        alt="\n\n".join(map(text, (1, 16, 256))),
    ).show()


def word_picker(words: Sequence[str], attention: Mapping[str, np.ndarray]) -> None:
    """Choose a word and a mask, and see what the word attends to.

    Args:
        words: the words of the sentence.
        attention: name of a mask -> weights (len(words), len(words)).
    """

    kinds = list(attention)
    Panels(
        [Control("word", words), Control("mask", kinds)],
        lambda word, mask: _bars_html(
            words, attention[kinds[mask]][word], f"{kinds[mask]}: “{words[word]}” attends to"
        ),
        still="".join(_weights_table(words, weights, kind) for kind, weights in attention.items()),
        alt="\n\n".join(f"{kind}\n{weights_text(words, weights)}" for kind, weights in attention.items()),
    ).show()


def _weights_table(words: Sequence[str], weights: np.ndarray, caption: str) -> str:
    def cell(value: float) -> str:
        return f'<td style="text-align:right;background:{tint(WEIGHT, 0.6 * value)}">{value:.2f}</td>'

    head = "".join(f"<th>{escape(word)}</th>" for word in words)
    rows = "".join(
        f'<tr><th style="text-align:left">{escape(word)}</th>{"".join(map(cell, row))}</tr>'
        for word, row in zip(words, weights, strict=True)
    )
    return f"<table><caption>{escape(caption)}: row looks at column</caption><tr><td></td>{head}</tr>{rows}</table>"


def weights_text(words: Sequence[str], weights: np.ndarray, columns: Sequence[str] | None = None) -> str:
    """A table of weights (len(words), len(columns)) in plain text; rows look at columns."""
    columns = columns or words
    width = max(map(len, [*words, *columns])) + 1
    lines = [" " * width + "".join(f"{word:>{width}}" for word in columns)]
    lines += [
        f"{word:<{width}}" + "".join(f"{value:>{width}.2f}" for value in row)
        for word, row in zip(words, weights, strict=True)
    ]
    return "\n".join(lines)


def numbers(
    title: str, words: Sequence[str], vectors: np.ndarray, features: Sequence[str] = (), digits: int = 2
) -> None:
    """Shows a vector for each word as a row of a table; features without names are counted from 0.

    Args:
        vectors: (len(words), n_features).
    """
    head = ["", *(features or map(str, range(vectors.shape[-1])))]
    rows = [
        [word, *(f"{value:.{digits}f}" for value in vector)]
        for word, vector in zip(words, vectors, strict=True)
    ]
    show_table(head, rows, title)
