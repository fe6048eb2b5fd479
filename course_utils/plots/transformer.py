"""Figures about the parts of a Transformer: its depth, its masks, its learning rate."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from course_utils.plots.drawing import arrow, box, note, show_drawing

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_STYLES = (  # distinguishable without colour, too
    {"color": "#21918c", "marker": "o", "linestyle": "-"},
    {"color": "#d95f02", "marker": "s", "linestyle": "--"},
    {"color": "#440154", "marker": "^", "linestyle": ":"},
    {"color": "#5b6b7b", "marker": "D", "linestyle": "-."},
)


def curves_over_depth(panels: Mapping[str, Mapping[str, np.ndarray]], log: Sequence[bool]) -> Figure:
    """Quantities measured after each layer of several stacks, one panel per quantity.

    Args:
        panels: title of a panel -> name of a stack (at most four) -> a value for each layer, from layer 0 on.
        log: whether a panel's axis is logarithmic.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(3.4 * len(panels), 3.2), layout="constrained")
    for axes, (title, curves), logarithmic in zip(
        figure.subplots(1, len(panels), squeeze=False)[0], panels.items(), log, strict=True
    ):
        for (name, values), style in zip(curves.items(), _STYLES, strict=False):
            axes.plot(range(len(values)), values, label=name, markersize=4, **style)
        if logarithmic:
            axes.set_yscale("log")
            axes.set_ylim(bottom=max(1e-12 * max(map(max, curves.values())), axes.get_ylim()[0]))
        axes.set(title=title, xlabel="layer")
        axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, fontsize=9)
    return figure


class MaskTable(NamedTuple):
    """A mask with the words of its axes: True = may attend.

    Attributes:
        mask: (len(queries), len(keys)) of booleans; a row of length 1 is repeated for all queries.
    """

    title: str
    mask: np.ndarray
    queries: Sequence[str]
    keys: Sequence[str]


def mask_tables(tables: Sequence[MaskTable], rows: int = 3) -> Figure:
    """Who may look at whom, each table with its own words, column by column; allowed cells are bright and have a dot."""
    from matplotlib.figure import Figure

    columns = -(-len(tables) // rows)
    width = 1.3 + 0.34 * max(len(table.keys) for table in tables)
    height = 1.0 + 0.27 * max(len(table.queries) for table in tables)
    figure = Figure(figsize=(columns * width, 0.5 + rows * height), layout="constrained")
    panels = figure.subplots(rows, columns, squeeze=False).T.ravel()
    for axes, table in zip(panels, tables, strict=False):
        mask = np.broadcast_to(table.mask, (len(table.queries), len(table.keys)))
        axes.imshow(mask.astype(float), cmap="cividis", vmin=0, vmax=1)
        for row, column in np.argwhere(mask):
            axes.text(column, row, "•", ha="center", va="center", fontsize=8, color="black")
        axes.set_title(table.title, fontsize=11)
        axes.set_xticks(range(len(table.keys)), table.keys, rotation=45, ha="right", fontsize=9)
        axes.set_yticks(range(len(table.queries)), table.queries, fontsize=9)
    for axes in panels[len(tables) :]:
        axes.set_visible(False)
    figure.supxlabel("keys: who is looked at", fontsize=10)
    figure.supylabel("queries: who looks", fontsize=10)
    figure.suptitle("a dot: may look; no dot: hidden", fontsize=10)
    return figure


def post_and_pre_norm() -> None:
    """Draws the two places of the LayerNorm around one sub-layer, from bottom to top."""
    parts = []
    for number, (title, order) in enumerate(
        {
            "post-norm (the paper)": ("sub-layer", "dropout", "+", "LayerNorm"),
            "pre-norm": ("LayerNorm", "sub-layer", "dropout", "+"),
        }.items()
    ):
        left = 20 + 260 * number
        middle, side, low = left + 140, left + 30, 262
        parts += [note(middle, 14, title, "middle"), note(middle, low + 10, "x", "middle")]
        for place, name in enumerate(order):
            top = low - 40 - 54 * place
            parts.append(arrow((middle, top + 54 if place else low), (middle, top + 28)))
            if name == "+":
                parts += [
                    arrow((middle, low - 6), (side, low - 6), (side, top + 14), (middle - 14, top + 14)),
                    box(middle - 14, top, 28, 28, "+"),
                ]
            else:
                parts.append(box(middle - 65, top, 130, 28, name, marked=name == "LayerNorm"))
        parts.append(arrow((middle, low - 40 - 54 * 3), (middle, 30)))
    show_drawing(
        540, 286, parts,
        "One sub-layer in two forms, to be read upwards. Post-norm: sub-layer, dropout, sum with x, LayerNorm. Pre-norm: LayerNorm, "
        "sub-layer, dropout, sum with x. In the second form no LayerNorm lies on the residual path from x to the sum and beyond.",
    )  # fmt: skip


def schedule_curves(curves: Mapping[str, np.ndarray]) -> Figure:
    """Learning rates over the steps 1, 2, ...: name of a curve (at most four) -> a rate for each step."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 3.4), layout="constrained")
    axes = figure.subplots()
    for (name, rates), style in zip(curves.items(), _STYLES, strict=False):
        axes.plot(
            range(1, len(rates) + 1), rates, label=name, color=style["color"], linestyle=style["linestyle"]
        )
        peak = int(np.argmax(rates))
        axes.plot(peak + 1, rates[peak], style["marker"], color=style["color"])
    axes.set(
        xlabel="step", ylabel="learning rate", title="Warm-up, then 1/√step", xlim=(0, None), ylim=(0, None)
    )
    axes.legend(frameon=False)
    axes.spines[["top", "right"]].set_visible(False)
    return figure


def break_even(times: Mapping[str, tuple[float, float]], steps: int) -> Figure:
    """How long a training takes, for ways to run a step that cost different amounts of time at first.

    Args:
        times: name of a way (at most four) -> seconds for the first step, and for each of the others.
        steps: how many steps the axis shows.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 3.6), layout="constrained")
    axes = figure.subplots()
    numbers = np.unique(np.geomspace(1, steps, 60).astype(int))
    for (name, (first, later)), style in zip(times.items(), _STYLES, strict=False):
        axes.plot(
            numbers, first + later * (numbers - 1), label=name, **style, markevery=(0, 12), markersize=5
        )
    axes.set(xscale="log", yscale="log", xlabel="steps of training", ylabel="seconds in all")
    axes.legend(frameon=False)
    axes.spines[["top", "right"]].set_visible(False)
    return figure
