"""Figures about classifiers of texts: accuracies beside each other, epochs, confusions, and whether confidence can be trusted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from course_utils.data.tunes import split_word
from course_utils.plots.drawing import arrow, box, note, show_drawing

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_COLOURS = ("#440154", "#21918c", "#d95f02", "#5b6b7b")  # told apart by colour-blind readers


def accuracy_bars(table: Mapping[str, Mapping[str, float]], chance: Mapping[str, float]) -> Figure:
    """A panel for each task, a bar for each model, and a line where guessing at random would be.

    Args:
        table: task -> model -> accuracy on validation (0 to 1).
        chance: task -> the accuracy of guessing at random.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9.5, 1 + 0.33 * max(map(len, table.values()))), layout="constrained")
    panels = figure.subplots(1, len(table), squeeze=False)[0]
    for axes, (task, scores), colour in zip(panels, table.items(), _COLOURS, strict=False):
        names = list(scores)[::-1]
        values = [scores[name] for name in names]
        axes.barh(names, values, color=colour)
        for place, value in enumerate(values):
            ground = {"facecolor": "white", "edgecolor": "none", "pad": 1}
            axes.text(value + 0.015, place, f"{value:.2f}", va="center", bbox=ground)
        line = axes.axvline(chance[task], color="#000000", linestyle="--", linewidth=1, zorder=0)
        axes.set(title=task, xlim=(0, 1.12), xlabel="accuracy on validation")
        axes.spines[["top", "right"]].set_visible(False)
    figure.legend([line], ["guessing at random"], loc="outside lower center", frameon=False)
    return figure


def epochs(history: Mapping[str, Sequence[float]], best: int) -> Figure:
    """Left: the loss, right: the accuracy, in training and on validation, after each epoch; the best epoch is marked.

    Args:
        history: what ``fit`` returns in its ``history``: loss, val_loss, accuracy, val_accuracy.
        best: the best epoch, counted from 1.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9.5, 3.2), layout="constrained")
    for axes, name in zip(figure.subplots(1, 2), ("loss", "accuracy"), strict=True):
        for key, label, colour, marker in (
            (name, "training", _COLOURS[0], "o"),
            (f"val_{name}", "validation", _COLOURS[2], "s"),
        ):
            places = np.arange(1, len(history[key]) + 1)
            axes.plot(places, history[key], marker=marker, color=colour, label=label)
        axes.axvline(best, color="#000000", linestyle="--", linewidth=1, label="best epoch")
        axes.set(xlabel="epoch", ylabel=name, title=name.capitalize())
        axes.spines[["top", "right"]].set_visible(False)
        axes.legend(frameon=False)
    return figure


def confusion_map(counts: np.ndarray, names: Sequence[str]) -> Figure:
    """The shares of each true class (a row) that were given each class (a column).

    Args:
        counts: (classes, classes) how often; rows are true, columns are given.
    """
    from matplotlib.figure import Figure

    shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    figure = Figure(figsize=(6.6, 5.4), layout="constrained")
    axes = figure.subplots()
    picture = axes.imshow(shares, cmap="cividis", vmin=0, vmax=1)
    for row, column in np.ndindex(*shares.shape):
        colour = "#000000" if shares[row, column] > 0.55 else "#ffffff"
        axes.text(column, row, f"{shares[row, column]:.2f}"[1:] if shares[row, column] < 1 else "1",
                  ha="center", va="center", color=colour, fontsize=8)  # fmt: skip
    axes.set_xticks(range(len(names)), names, rotation=45, ha="right")
    axes.set_yticks(range(len(names)), names)
    axes.set(xlabel="the model says", ylabel="the sentence is from")
    figure.colorbar(picture, label="share of the row")
    return figure


def reliability(confidence: np.ndarray, right: np.ndarray, bins: int = 10) -> Figure:
    """How often a model is right among the texts where it is about as sure, against how sure it is.

    Args:
        confidence: (texts,) the probability of the class that was given.
        right: (texts,) whether it was right.
    """
    from matplotlib.figure import Figure

    place = np.minimum((np.asarray(confidence) * bins).astype(int), bins - 1)
    figure = Figure(figsize=(5.4, 4.2), layout="constrained")
    axes = figure.subplots()
    axes.plot([0, 1], [0, 1], "--", color="#000000", linewidth=1, label="as sure as it is right")
    for tenth in range(bins):
        inside = place == tenth
        if inside.any():
            accuracy = float(np.mean(np.asarray(right)[inside]))
            axes.bar((tenth + 0.5) / bins, accuracy, width=0.9 / bins, color=_COLOURS[1])
            axes.text((tenth + 0.5) / bins, accuracy + 0.01, str(int(inside.sum())), ha="center", fontsize=8)
    axes.set(xlabel="confidence", ylabel="share that is right", xlim=(0, 1), ylim=(0, 1.05))
    axes.set_title("Number of texts above each bar")
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, loc="upper left")
    return figure


def tune_lines(tunes: Mapping[str, str], bars: Mapping[str, tuple[float, float]], units: int = 48) -> Figure:
    """The beginnings of tunes, each in a panel: how high a note is over time, and a thin line at each bar.

    Args:
        tunes: "dance: title" -> the notes as words (:func:`course_utils.data.tunes.read_abc`).
        bars: dance -> the time before the first bar line, and from one to the next, in usual notes.
        units: how many usual notes fit into a panel.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9.5, 1.6 * len(tunes) + 0.5), layout="constrained")
    panels = figure.subplots(len(tunes), 1, sharex=True, sharey=True, squeeze=False)[:, 0]
    for axes, (title, notes), colour in zip(panels, tunes.items(), _COLOURS, strict=False):
        steps, lengths = zip(*map(split_word, notes.split()), strict=True)
        ends = np.cumsum([float(Fraction(length)) for length in lengths])
        heights = [np.nan if step == "z" else int(step) for step in steps]
        axes.hlines(heights, [0, *ends[:-1]], ends - 0.15, color=colour, linewidth=4)  # a gap between notes
        before, bar = bars[title.partition(":")[0]]
        for place in np.arange(before, units + 1, bar):
            axes.axvline(place, color="#7a7a7a", linewidth=0.8)
        axes.set(xlim=(0, units), ylabel="steps", yticks=(0, 4, 7, 11))
        axes.set_title(title, loc="left")
        axes.spines[["top", "right"]].set_visible(False)
    panels[-1].set_xlabel("time in usual notes")
    return figure


def show_classifier() -> None:
    """Draws the classifier of lab 07: from words to the logits of the classes, and the way of the mask."""
    words = [("the", "12"), ("keys", "87"), ("near", "40"), ("(padding)", "0")]
    parts = []
    for row, (word, number) in enumerate(words):
        y, padding = 20 + 38 * row, number == "0"
        parts += [box(8, y, 78, 28, word, dashed=padding), arrow((86, y + 14), (106, y + 14), dashed=padding)]
        parts += [
            box(106, y, 36, 28, number, dashed=padding),
            arrow((142, y + 14), (172, y + 14), dashed=padding),
        ]
        parts += [arrow((322, y + 14), (352, y + 14), dashed=padding)]
        parts += [arrow((532, y + 14), (562, y + 14), dashed=padding)]
    parts += [
        box(172, 20, 150, 142, "PositionalEmbedding\na vector for\neach word and\nits place", marked=True),
        box(352, 20, 180, 142, "", marked=True),
        note(442, 34, "TransformerEncoder", "middle"),
        box(364, 46, 156, 46, "attention to all words,\nadd, normalise"),
        box(364, 106, 156, 46, "feed-forward network,\nadd, normalise"),
        arrow((442, 92), (442, 106)),
        box(562, 20, 100, 142, "MaskedMean\none vector\nfor the\nwhole text", marked=True),
        arrow((662, 91), (690, 91)),
        box(690, 62, 84, 58, "Dropout,\nDense"),
        arrow((774, 80), (800, 60)),
        arrow((774, 102), (800, 122)),
        note(806, 58, "is"),
        note(806, 124, "are"),
        arrow((247, 162), (247, 190), (442, 190), (442, 164), dashed=True),
        arrow((442, 190), (612, 190), (612, 164), dashed=True),
        note(259, 206, "mask: the places with a word, not padding", quiet=True),
    ]
    show_drawing(
        840, 220, parts,
        "The classifier, from left to right. Words become numbers, and PositionalEmbedding makes each a vector. "
        "TransformerEncoder mixes the vectors by attention, then puts each through a feed-forward network. MaskedMean makes one "
        "vector of them, and a Dense layer gives a logit for each class. PositionalEmbedding also makes the mask, which "
        "TransformerEncoder and MaskedMean use to leave padding out.",
    )  # fmt: skip
