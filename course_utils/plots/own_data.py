"""Figures about a data set of one's own: the ladder of models, LoRA, learning curves, intervals and calibration."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_COLOURS = ("#440154", "#21918c", "#d95f02", "#5b6b7b")  # told apart by colour-blind readers
_MARKERS = ("o", "s", "^", "D")
_GIVEN, _TRAINED = "#d3d9de", "#d95f02"


def _box(
    axes: Axes, left: float, bottom: float, width: float, height: float, text: str, trained: bool
) -> None:
    from matplotlib.patches import FancyBboxPatch

    axes.add_patch(
        FancyBboxPatch((left, bottom), width, height, boxstyle="round,pad=0.02,rounding_size=0.06",
                       facecolor=_TRAINED if trained else _GIVEN, edgecolor="#444444", linewidth=0.8)
    )  # fmt: skip
    axes.text(left + width / 2, bottom + height / 2, text, ha="center", va="center", fontsize=8.5,
              color="#ffffff" if trained else "#000000", fontweight="bold" if trained else "normal")  # fmt: skip


def ladder() -> Figure:
    """The five models, from bottom to top of each column; what is trained is coloured."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9.5, 3.9), layout="constrained")
    axes = figure.subplots()
    for column, name in enumerate(["1 majority", "2 TF-IDF", "3 frozen encoder", "4 LoRA", "5 fine-tuned"]):
        left = column * 2.0
        axes.text(left + 0.8, 4.55, name, ha="center", fontsize=11, fontweight="bold")
        _box(axes, left, -0.35, 1.6, 0.4, "text", False)
        if column == 0:
            _box(axes, left, 3.7, 1.6, 0.5, "most frequent", True)
            continue
        _box(axes, left, 3.7, 1.6, 0.5, "linear layer", True)
        if column == 1:
            _box(axes, left, 0.45, 1.6, 2.9, "weighted\nwords", False)
            continue
        for layer in range(6):
            bottom = 0.45 + layer * 0.49
            label = f"layer {layer + 1}"
            _box(axes, left, bottom, 1.28 if column == 3 else 1.6, 0.36, label, column == 4)
            if column == 3:
                _box(axes, left + 1.4, bottom, 0.2, 0.36, "", True)
    axes.set(xlim=(-0.2, 9.8), ylim=(-0.6, 5))
    axes.set_axis_off()
    return figure


def low_rank() -> Figure:
    """LoRA: a frozen square beside two narrow strips whose product has its shape."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 3.4), layout="constrained")
    axes = figure.subplots()
    arrow = {"arrowstyle": "->", "color": "#333333", "lw": 1.3}
    axes.text(0.25, 1.7, "x\n384", ha="center", va="center", fontsize=12)
    _box(axes, 2.3, 1.75, 1.5, 1.5, "$W_0$\n384 × 384\nfrozen", False)
    _box(axes, 1.7, 0.45, 1.5, 0.22, "", True)
    axes.text(2.45, 0.16, "down ($A$): 8 × 384", ha="center", fontsize=9)
    _box(axes, 4.15, -0.15, 0.22, 1.5, "", True)
    axes.text(4.55, 0.35, "up ($B$): 384 × 8", fontsize=9)
    axes.text(3.68, 0.72, "8 numbers", ha="center", fontsize=9)
    axes.text(6.4, 1.7, "+", ha="center", va="center", fontsize=20)
    axes.text(7.5, 1.7, "h\n384", ha="center", va="center", fontsize=12)
    for start, end in (
        ((0.5, 1.8), (2.2, 2.5)),
        ((0.5, 1.6), (1.6, 0.56)),
        ((3.3, 0.56), (4.05, 0.56)),
        ((3.95, 2.5), (6.15, 1.8)),
        ((4.5, 0.62), (6.2, 1.55)),
        ((6.65, 1.7), (7.2, 1.7)),
    ):
        axes.annotate("", end, start, arrowprops=arrow)
    axes.text(5.75, 0.85, "× α / r", fontsize=10)
    axes.set(xlim=(-0.1, 8), ylim=(-0.3, 3.4))
    axes.set_axis_off()
    return figure


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
    axes.set(xlabel="labels for training", ylabel="accuracy on the test", ylim=(0, 1))
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, loc="upper left", ncols=3)
    return figure


def intervals(found: Mapping[str, tuple[float, float, float]], title: str) -> Figure:
    """Differences with their intervals, one in a line, and a line at no difference.

    Args:
        found: name -> the difference, and the low and the high end of its interval.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 0.7 + 0.55 * len(found)), layout="constrained")
    axes = figure.subplots()
    for place, (_name, (middle, low, high)) in enumerate(reversed(found.items())):
        inside = low <= 0 <= high
        colour = _COLOURS[3] if inside else _COLOURS[1] if middle > 0 else _COLOURS[2]
        axes.plot([low, high], [place, place], color=colour, linewidth=3)
        axes.plot([middle], [place], "o", color=colour, markersize=9)
        axes.text(high + 0.008, place, "may be luck" if inside else "clear", va="center", fontsize=9)
    axes.axvline(0, color="#000000", linestyle="--", linewidth=1)
    axes.set_yticks(range(len(found)), list(found)[::-1])
    axes.set(xlabel=title, ylim=(-0.6, len(found) - 0.4))
    axes.margins(x=0.22)
    axes.spines[["top", "right"]].set_visible(False)
    return figure


def before_and_after(errors: Mapping[str, tuple[float, float]]) -> Figure:
    """Calibration errors, before and after a temperature.

    Args:
        errors: model -> the error before, and after.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 3.2), layout="constrained")
    axes = figure.subplots()
    places = np.arange(len(errors))
    for shift, label, colour in ((-0.2, "as trained", _COLOURS[2]), (0.2, "with a temperature", _COLOURS[1])):
        values = [pair[int(shift > 0)] for pair in errors.values()]
        axes.bar(places + shift, values, width=0.36, color=colour, label=label)
        for place, value in zip(places, values, strict=True):
            axes.text(place + shift, value + 0.003, f"{value:.3f}", ha="center", fontsize=9)
    axes.set_xticks(places, list(errors))
    axes.set_ylabel("calibration error")
    axes.margins(y=0.12)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False)
    return figure
