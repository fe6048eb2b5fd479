"""Figures about positions: encodings, their waves, and the effect of distance.

Functions that return a Matplotlib figure leave showing it to :func:`course_utils.plots.show_figure`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_COLOURS = ("#440154", "#21918c", "#e08214", "#31688e", "#7a7a7a")
_MARKERS = ("o", "s", "^", "D", "v")


def encoding_and_waves(encoding: np.ndarray, features: Sequence[int]) -> Figure:
    """Left: the encoding as a table of colours. Right: a few of its columns as curves over the positions.

    Args:
        encoding: (n_positions, d_model), entries between -1 and 1.
        features: the columns to draw as curves, at most five.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10.5, 4.2), layout="constrained")
    left, right = figure.subfigures(1, 2, width_ratios=(1.15, 1))
    axes = left.subplots()
    image = axes.imshow(encoding, cmap="viridis", vmin=-1, vmax=1, aspect="auto", interpolation="nearest")
    left.colorbar(image, ax=axes, label="value", shrink=0.85)
    axes.set(title="One row per position, one column per feature", xlabel="feature k", ylabel="position")
    positions = np.arange(len(encoding))
    panels = right.subplots(len(features), 1, sharex=True, squeeze=False)[:, 0]
    for panel, feature, colour in zip(panels, features, _COLOURS, strict=False):
        panel.plot(positions, encoding[:, feature], ".-", color=colour, linewidth=1, markersize=3)
        panel.set(ylim=(-1.15, 1.15), yticks=(-1, 0, 1))
        kind = "sine" if feature % 2 == 0 else "cosine"
        panel.set_title(f"feature {feature} ({kind})", fontsize=9, loc="left", pad=2)
        panel.spines[["top", "right"]].set_visible(False)
    panels[-1].set_xlabel("position")
    return figure


def wavelengths(designs: Mapping[str, np.ndarray]) -> Figure:
    """Wavelength of each pair, on a logarithmic scale: a geometric progression is a straight line.

    Args:
        designs: name -> (n_pairs,) wavelengths in positions.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6.6, 3.6), layout="constrained")
    axes = figure.subplots()
    for (name, lengths), colour, marker in zip(designs.items(), _COLOURS, _MARKERS, strict=False):
        each = max(1, len(lengths) // 16)  # markers only on some points if there are many
        axes.plot(lengths, marker=marker, markevery=each, color=colour, markersize=4, linewidth=1, label=name)
    axes.set(yscale="log", xlabel="pair i", ylabel="wavelength (positions)", title="How long is each wave?")
    axes.legend(frameon=False)
    axes.spines[["top", "right"]].set_visible(False)
    return figure


def distance_over_steps(choices: Mapping[str, np.ndarray]) -> Figure:
    """How far apart two encodings are, over the number of steps between their positions.

    Args:
        choices: name -> (n_steps,) distances of positions that are 1, 2, ... steps apart; at most five.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6.6, 3.6), layout="constrained")
    axes = figure.subplots()
    for (name, distances), colour in zip(choices.items(), _COLOURS, strict=False):
        axes.plot(np.arange(1, len(distances) + 1), distances, color=colour, linewidth=1.2, label=name)
    axes.set(xscale="log", ylim=(0, None), xlabel="steps between the two positions", ylabel="distance")
    axes.set_title("Is near near, and far far?")
    axes.legend(frameon=False)
    axes.spines[["top", "right"]].set_visible(False)
    return figure


def similarity_and_distance(
    similarity: np.ndarray, starts: Sequence[int], title: str, reach: int = 25, ylabel: str = "dot product"
) -> Figure:
    """Left: how alike any two positions are. Right: the rows of some positions, drawn over the distance.

    If only the distance counts, the curves on the right coincide.

    Args:
        similarity: (n_positions, n_positions).
        starts: the positions whose rows are drawn, at most five.
        reach: the largest distance drawn.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9.8, 3.9), layout="constrained")
    left, right = figure.subplots(1, 2, width_ratios=(1, 1.15))
    image = left.imshow(similarity, cmap="viridis", interpolation="nearest")
    figure.colorbar(image, ax=left, shrink=0.8)
    left.set(title=title, xlabel="position", ylabel="position")
    sizes = np.linspace(11, 4, len(starts))  # the first marker is the largest, so that none hides another
    for start, colour, marker, size in zip(starts, _COLOURS, _MARKERS, sizes, strict=False):
        others = np.arange(max(0, start - reach), min(len(similarity), start + reach + 1))
        right.plot(
            others - start,
            similarity[start, others],
            marker=marker,
            markersize=size,
            fillstyle="none",
            linewidth=0.8,
            color=colour,
            label=f"position {start}",
        )
    right.set(title="The same, over the distance", xlabel="distance", ylabel=ylabel)
    right.legend(frameon=False, fontsize=9)
    right.spines[["top", "right"]].set_visible(False)
    return figure


def accuracy_by_length(
    lengths: Sequence[int], accuracies: Mapping[str, Sequence[float]], trained: int
) -> Figure:
    """Share of right answers against the length of the sentence, one curve per model; chance is the grey line.

    Args:
        lengths: lengths of the sentences, ascending.
        accuracies: name of a model -> a share for each length.
        trained: the length of the sentences in training.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.8, 3.9), layout="constrained")
    axes = figure.subplots()
    for (name, shares), colour, marker in zip(accuracies.items(), _COLOURS, _MARKERS, strict=False):
        axes.plot(lengths, shares, marker=marker, color=colour, label=name)
    axes.axhline(0.5, color="#7a7a7a", linestyle=":", linewidth=1)
    axes.axvline(trained, color="#7a7a7a", linestyle="--", linewidth=1)
    axes.text(trained, 0.02, " trained on this length", fontsize=8, color="#555555")
    axes.set(
        xlabel="tokens in the sentence",
        ylabel="share of right answers",
        title="Does a come before b?",
        ylim=(0, 1.05),
        xticks=list(lengths),
    )
    axes.legend(frameon=False, fontsize=9, loc="center left", bbox_to_anchor=(1, 0.5))
    axes.spines[["top", "right"]].set_visible(False)
    return figure
