"""Figures about a data set of one's own: the ladder of models, LoRA, learning curves, intervals and calibration."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from course_utils.plots.drawing import arrow, box, note, show_drawing

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from course_utils.evaluation import Difference

_COLOURS = ("#440154", "#21918c", "#d95f02", "#5b6b7b")  # told apart by colour-blind readers
_MARKERS = ("o", "s", "^", "D")


def show_ladder() -> None:
    """Draws the five models of lab 13, each a column that is read upwards, and marks what is trained."""
    parts = []
    for column, name in enumerate(["1 majority", "2 TF-IDF", "3 frozen encoder", "4 LoRA", "5 fine-tuned"]):
        left = 8 + 172 * column
        middle = left + 78
        parts += [note(middle, 14, name, "middle"), box(left, 288, 156, 28, "text")]
        if column == 0:
            parts += [
                box(left, 32, 156, 30, "most frequent class", marked=True),
                note(middle, 170, "not read", "middle", quiet=True),
            ]
            continue
        parts += [
            box(left, 32, 156, 30, "linear layer", marked=True),
            arrow((middle, 80), (middle, 62)),
            arrow((middle, 288), (middle, 268)),
        ]
        if column == 1:
            parts.append(box(left, 80, 156, 188, "weighted\nwords"))
            continue
        for layer in range(6):
            y = 242 - 32 * layer
            parts.append(
                box(left, y, 126 if column == 3 else 156, 26, f"layer {layer + 1}", marked=column == 4)
            )
            if column == 3:
                parts.append(box(left + 134, y, 22, 26, "", marked=True))
    show_drawing(
        868, 324, parts,
        "Five columns, from left to right. Majority does not read the text. TF-IDF has a linear layer. A frozen encoder of six layers "
        "has a linear layer, too. LoRA also trains narrow strips beside the six frozen layers. Full fine-tuning trains all six layers.",
    )  # fmt: skip


def show_low_rank() -> None:
    """Draws LoRA: a frozen square beside two narrow strips whose product has its shape."""
    parts = [
        box(10, 120, 50, 50, "x\n384"),
        arrow((60, 135), (150, 88)),
        arrow((60, 155), (130, 222)),
        box(150, 20, 130, 130, "W₀\n384 × 384\nfrozen"),
        box(130, 216, 150, 18, "", marked=True),
        note(205, 250, "down (A): 8 × 384", "middle"),
        note(320, 212, "8 numbers", "middle"),
        arrow((280, 225), (362, 225)),
        box(362, 160, 18, 130, "", marked=True),
        note(371, 304, "up (B): 384 × 8", "middle"),
        arrow((380, 225), (494, 98)),
        note(452, 172, "× α / r"),
        arrow((280, 85), (490, 85)),
        box(490, 76, 18, 18, "+"),
        arrow((508, 85), (540, 85)),
        box(540, 60, 50, 50, "h\n384"),
    ]
    show_drawing(
        600, 316, parts,
        "LoRA in two paths from the input x to the output h. Above, a large square: the frozen matrix of 384 by 384. Below, two narrow "
        "strips, which are trained: down with 8 rows gives 8 numbers, up with 8 columns makes 384 of them. Their result is multiplied by "
        "alpha divided by r and added to the square's.",
    )  # fmt: skip


def curves(
    sizes: Sequence[int], measured: Mapping[str, tuple[np.ndarray, np.ndarray]], majority: float
) -> Figure:
    """Accuracy against the number of labels; a band of one standard deviation around each line.

    Args:
        measured: model -> mean and standard deviation at each size.
        majority: the accuracy of always giving the most frequent class.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 3.8), layout="constrained")
    axes = figure.subplots()
    for (name, (mean, around)), colour, marker in zip(measured.items(), _COLOURS[1:], _MARKERS, strict=False):
        axes.plot(sizes, mean, marker=marker, color=colour, label=name)
        axes.fill_between(sizes, mean - around, mean + around, color=colour, alpha=0.2, linewidth=0)
    axes.axhline(majority, color="#000000", linestyle="--", linewidth=1, label="majority")
    axes.set_xscale("log")
    axes.set_xticks(sizes, [f"{size:,}" for size in sizes])
    axes.minorticks_off()
    axes.set(xlabel="labels for training", ylabel="accuracy on validation", ylim=(0, 1))
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, loc="upper left", ncols=3)
    return figure


def intervals(found: Mapping[str, Difference], title: str) -> Figure:
    """Differences with their intervals and verdicts, one in a line, and a line at no difference."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 0.7 + 0.65 * len(found)), layout="constrained")
    axes = figure.subplots()
    for place, each in enumerate(reversed(found.values())):
        inside = each.low <= 0 <= each.high
        colour = _COLOURS[3] if inside else _COLOURS[1] if each.value > 0 else _COLOURS[2]
        axes.plot([each.low, each.high], [place, place], color=colour, linewidth=3)
        axes.plot([each.value], [place], "o", color=colour, markersize=9)
        axes.text(
            each.high, place + 0.16, each.verdict, ha="right", va="bottom", fontsize=9,
            bbox={"facecolor": "white", "edgecolor": "none", "pad": 1},
        )  # fmt: skip
    axes.axvline(0, color="#000000", linestyle="--", linewidth=1)
    axes.set_yticks(range(len(found)), list(found)[::-1])
    axes.set(xlabel=title, ylim=(-0.5, len(found) - 0.3))
    axes.margins(x=0.2)
    axes.spines[["top", "right"]].set_visible(False)
    return figure


def before_and_after(
    errors: Mapping[str, tuple[float, float]],
    floors: Mapping[str, tuple[tuple[float, float], tuple[float, float]]],
) -> Figure:
    """Calibration errors, before and after a temperature, each beside what perfect models have.

    Args:
        errors: model -> the error before, and after.
        floors: model -> the range of the errors of perfect models before, and after.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 3.2), layout="constrained")
    axes = figure.subplots()
    places = np.arange(len(errors))
    for shift, label, colour in ((-0.2, "as trained", _COLOURS[2]), (0.2, "with a temperature", _COLOURS[1])):
        values = [pair[int(shift > 0)] for pair in errors.values()]
        axes.bar(places + shift - 0.04, values, width=0.26, color=colour, label=label)
        low, high = np.transpose([floors[name][int(shift > 0)] for name in errors])
        axes.vlines(
            places + shift + 0.13, low, high, colors="#000000", linewidth=4,
            label="95 % of perfect models" if shift > 0 else None,
        )  # fmt: skip
        for place, value in zip(places, values, strict=True):
            axes.text(place + shift - 0.04, value + 0.003, f"{value:.3f}", ha="center", fontsize=9)
    axes.set_xticks(places, list(errors))
    axes.set_ylabel("calibration error")
    axes.margins(y=0.12)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False)
    return figure
