"""Figures about the softmax, for lab 00."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def exponential_curve(scores: np.ndarray, labels: Sequence[str]) -> Figure:
    """The curve of exp, with each score as a point on it and its exponential as a number.

    Args:
        scores: (n,) a few scores between about -2 and 3.
        labels: a name for each.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 3.6), layout="constrained")
    axes = figure.subplots()
    low, high = scores.min() - 1, scores.max() + 0.5
    x = np.linspace(low, high, 200)
    axes.plot(x, np.exp(x), color="#21918c")
    axes.vlines(scores, 0, np.exp(scores), color="#440154", linewidth=1)
    axes.plot(scores, np.exp(scores), "o", color="#440154")
    for score, label in zip(scores, labels, strict=True):
        axes.annotate(
            f"{label}: {np.exp(score):.2f}",
            (score, np.exp(score)),
            xytext=(-8, 6),
            textcoords="offset points",
            ha="right",
        )
    axes.set(xlabel="score", ylabel="exp(score)", title="exp makes every score positive", ylim=(0, None))
    axes.set_xlim(low - 0.5, high)  # room for the words on the left
    axes.spines[["top", "right"]].set_visible(False)
    return figure


def bars_at_temperatures(distributions: Mapping[float, np.ndarray], labels: Sequence[str]) -> Figure:
    """A panel of bars for each temperature, all on the same scale.

    Args:
        distributions: temperature -> (n,) probabilities.
        labels: a name for each of the n alternatives.
    """
    import matplotlib
    from matplotlib.figure import Figure

    figure = Figure(figsize=(2.6 * len(distributions), 3.3), layout="constrained")
    panels = figure.subplots(1, len(distributions), sharey=True, squeeze=False)[0]
    colours = matplotlib.colormaps["viridis"](np.linspace(0.1, 0.8, len(labels)))
    for axes, (temperature, probabilities) in zip(panels, distributions.items(), strict=True):
        bars = axes.bar(range(len(labels)), probabilities, color=colours)
        axes.bar_label(bars, [f"{probability:.2f}" for probability in probabilities], padding=2, fontsize=9)
        axes.set_xticks(range(len(labels)), labels, rotation=35, ha="right")
        axes.set(title=f"temperature {temperature:g}", ylim=(0, 1.1))
        axes.spines[["top", "right"]].set_visible(False)
    panels[0].set_ylabel("probability")
    return figure
