"""Figures and widgets about sequences: how far a signal has to travel in a layer, what it costs, and what a word looks at.

Functions that return a Matplotlib figure leave showing it to :func:`course_utils.plots.show_figure`. Lines differ
by marker as well as by colour.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from course_utils.display import inline
from course_utils.plots import show_live
from course_utils.plots.attention import _bars_html, _bars_text
from course_utils.plots.roles import WEIGHT

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_STYLES = (
    {"color": "#440154", "marker": "o"},
    {"color": "#d55e00", "marker": "s"},
    {"color": "#21918c", "marker": "^"},
    {"color": "#3b528b", "marker": "D"},
    {"color": "#35b779", "marker": "v"},
    {"color": "#000000", "marker": "*"},
)

# ---------------------------------------------------------------------------------- lines


def gradient_over_distance(norms: Mapping[str, np.ndarray], floor: float = 1e-10) -> Figure:
    """How strongly the last output depends on an input, against the distance between the two.

    Args:
        norms: name of a layer -> (n,) gradient norms at distances 0 to n - 1.
        floor: the lower end of the picture; smaller norms are cut off.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8.6, 4.4), layout="constrained")
    axes = figure.subplots()
    _lines(axes, {name: (np.arange(len(values)), values) for name, values in norms.items()}, every=10)
    axes.set(
        yscale="log",
        ylim=(floor, None),
        xlabel="distance between the input word and the last output",
        ylabel="gradient norm (logarithmic)",
        title="How much an earlier word still affects the last output",
    )
    axes.axhline(1, color="#7a7a7a", linewidth=0.8, linestyle=":")
    axes.legend(frameon=False, loc="center left", bbox_to_anchor=(1, 0.5))
    return figure


def accuracy_by_length(
    lengths: Sequence[int], accuracy: Mapping[str, Sequence[float]], trained_up_to: int
) -> Figure:
    """The share of sentences that are right from the first word to the last, against their length.

    Args:
        lengths: words in a sentence.
        accuracy: name of a model -> a share for each length.
        trained_up_to: the longest sentences in training; longer ones have a grey background.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.6, 3.6), layout="constrained")
    axes = figure.subplots()
    _lines(axes, {name: (lengths, values) for name, values in accuracy.items()})
    if trained_up_to < max(lengths):
        axes.axvspan(trained_up_to + 0.5, max(lengths) + 0.5, color="#eeeeee", zorder=0)
        axes.text(trained_up_to + 0.8, 0.5, "longer than\nin training", fontsize=9, va="center")
    axes.set(
        ylim=(-0.04, 1.06),
        xlim=(min(lengths) - 0.5, max(lengths) + 0.5),
        xticks=list(lengths),
        xlabel="words in the sentence",
        ylabel="share without a mistake",
        title="Sentences without a mistake, by their length",
    )
    axes.legend(frameon=False, loc="lower left")
    return figure


def times_against_length(
    lengths: Sequence[int],
    milliseconds: Mapping[str, Sequence[float]],
    laws: Mapping[str, np.ndarray],
    crossing: float | None = None,
) -> Figure:
    """Measured times on two logarithmic axes, with curves of what theory predicts.

    Args:
        lengths: (n,) lengths of the sequences.
        milliseconds: name of a layer -> a time for each length.
        laws: name of a curve -> (n,) its values in milliseconds, drawn dashed.
        crossing: the length marked by a vertical line. None: no line.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8.8, 4.6), layout="constrained")
    axes = figure.subplots()
    _lines(axes, {name: (lengths, values) for name, values in milliseconds.items()})
    for dashes, (name, values) in zip(("--", ":"), laws.items(), strict=False):
        axes.plot(lengths, values, dashes, color="#7a7a7a", label=name)
    if crossing is not None:
        axes.axvline(crossing, color="#d55e00", linewidth=1)
        axes.annotate(
            f"crossing near n = {crossing:.0f}",
            (crossing, 0.02),
            xycoords=("data", "axes fraction"),
            xytext=(-5, 0),
            textcoords="offset points",
            ha="right",
            fontsize=9,
        )
    low = min(min(values) for values in milliseconds.values())
    axes.set(
        xscale="log",
        yscale="log",
        ylim=(low / 3, None),
        xlabel="n: length of the sequence",
        ylabel="milliseconds, one layer, forward",
        title="Time against length, measured on this machine",
    )
    axes.set_xticks(lengths, [str(length) for length in lengths])
    axes.minorticks_off()
    axes.legend(frameon=False, loc="center left", bbox_to_anchor=(1, 0.5))
    return figure


def costs_against_length(lengths: Sequence[int], costs: Mapping[str, np.ndarray], d: int) -> Figure:
    """What a layer costs, and how far apart its ends are, against the length: two panels with logarithmic axes.

    Args:
        lengths: (n,) lengths of the sequences.
        costs: kind of layer -> (n, 3): operations, sequential steps and path length at each length.
        d: the number of features; the operations of self-attention and recurrence are equal at this length.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10, 3.9), layout="constrained")
    work, path = figure.subplots(1, 2)
    for axes, column, title in ((work, 0, "operations of one layer"), (path, 2, "path length")):
        _lines(axes, {kind: (lengths, table[:, column]) for kind, table in costs.items()}, every=2)
        axes.set(xscale="log", yscale="log", xlabel="n: length of the sequence", title=f"{title}, d = {d}")
    work.axvline(d, color="#7a7a7a", linewidth=0.8, linestyle=":")
    work.annotate(f"n = d = {d}", (d, 0.04), xycoords=("data", "axes fraction"), xytext=(5, 0),
                  textcoords="offset points", fontsize=9)  # fmt: skip
    path.legend(frameon=False, loc="center left", bbox_to_anchor=(1, 0.5))
    return figure


def _lines(axes: Axes, lines: Mapping[str, tuple[Sequence[float], Sequence[float]]], every: int = 1) -> None:
    """A line for each name; a marker at every ``every``-th point."""
    for style, (name, (x, y)) in zip(_STYLES, lines.items(), strict=False):
        axes.plot(x, y, label=name, markevery=every, markersize=5, linewidth=1.5, **style)
    axes.spines[["top", "right"]].set_visible(False)


# ---------------------------------------------------------------------------------- bars


_IN_A_LINE = 3
"""Panels beside each other that can still be read on a page of text."""


def weights_in_panels(words: Sequence[str], weights: Mapping[str, np.ndarray]) -> Figure:
    """Several ways to weight the words of one sentence, one panel each, all on one scale.

    Args:
        weights: name of the method -> (len(words),) shares that sum to 1.
    """
    from matplotlib.figure import Figure

    lines = -(-len(weights) // _IN_A_LINE)
    figure = Figure(figsize=(9, lines * (0.7 + 0.3 * len(words))), layout="constrained")
    panels = figure.subplots(lines, _IN_A_LINE, sharey=True).ravel()
    widest = max(float(np.max(shares)) for shares in weights.values())
    for axes, (name, shares) in zip(panels, weights.items(), strict=False):
        bars = axes.barh(range(len(words)), shares, color=WEIGHT.colour)
        axes.bar_label(bars, [f"{share:.2f}" for share in shares], padding=3, fontsize=10)
        axes.set_title(name, fontsize=11)
        axes.set_xlim(0, 1.3 * widest)
        axes.set_xticks([])
        axes.spines[["top", "right", "bottom"]].set_visible(False)
    for axes in panels[len(weights) :]:
        axes.set_axis_off()
    panels[0].set_yticks(range(len(words)), words, fontsize=11)
    panels[0].invert_yaxis()
    return figure


# ---------------------------------------------------------------------------------- the way through a layer

Node = tuple[int, int]
"""(position, height): height 0 is the input, 1 the states of a recurrent layer or the first layer of a stack."""


def read_by(kind: str, node: Node, n: int, kernel: int = 3) -> list[Node]:
    """The nodes from which one node computes its value.

    Args:
        kind: "self-attention", "recurrent", "convolutional" or "dilated". Convolutions see their own position and
            the ``kernel - 1`` before it; dilated ones in steps of 1, kernel, kernel², ... from layer to layer.

    Raises:
        ValueError: the kind is not one of these.
    """
    position, height = node
    if height == 0:
        return []
    match kind:
        case "self-attention":
            return [(other, height - 1) for other in range(n)]
        case "recurrent":
            return [(position, 0), *([(position - 1, 1)] if position else [])]
        case "convolutional" | "dilated":
            step = kernel ** (height - 1) if kind == "dilated" else 1
            behind = (position - step * place for place in range(kernel))
            return [(other, height - 1) for other in behind if other >= 0]
    raise ValueError(
        f"Unknown kind {kind!r}; there are self-attention, recurrent, convolutional and dilated layers."
    )


def way_through(kind: str, n: int, kernel: int = 3) -> list[Node]:
    """The shortest path from the first of n inputs to the last output, found by search: its nodes, input first.

    If one layer is not enough, layers are stacked until the last output sees the first input.
    """
    height = 1
    while not (way := _search(kind, (n - 1, height), n, kernel)):
        height += 1
    return way


def _search(kind: str, top: Node, n: int, kernel: int) -> list[Node]:
    """Breadth first, from the output down; empty if the first input cannot be reached."""
    above: dict[Node, Node | None] = {top: None}
    waiting = deque([top])
    while waiting and (0, 0) not in above:
        node = waiting.popleft()
        for below in read_by(kind, node, n, kernel):
            if below not in above:
                above[below] = node
                waiting.append(below)
    way: list[Node] = []
    step = (0, 0) if (0, 0) in above else None
    while step is not None:
        way.append(step)
        step = above[step]
    return way


def ways_figure(kinds: Sequence[str], n: int, kernel: int = 3) -> Figure:
    """What feeds the last output in each kind of layer, with the shortest path from the first input in bold."""
    from matplotlib.figure import Figure

    ways = {kind: way_through(kind, n, kernel) for kind in kinds}
    heights = [max(height for _, height in way) for way in ways.values()]
    figure = Figure(figsize=(9, 1.0 * len(kinds) + 0.28 * sum(heights)), layout="constrained")
    panels = figure.subplots(
        len(kinds), 1, sharex=True, squeeze=False, height_ratios=[1.5 + height for height in heights]
    )[:, 0]
    for axes, height, (kind, way) in zip(panels, heights, ways.items(), strict=True):
        edges = list(_edges_below(kind, (n - 1, height), n, kernel))
        for start, end in edges:
            axes.plot(*zip(start, end, strict=True), color="#b8b8b8", linewidth=0.7, zorder=1)
        axes.plot(*zip(*way, strict=True), color="#d55e00", linewidth=2.2, zorder=2)
        nodes = {(place, level) for place in range(n) for level in range(height + 1)}
        used = {node for edge in edges for node in edge}
        for group, colour in ((nodes - used, "#dddddd"), (used, "#31688e")):
            if group:
                axes.scatter(*zip(*sorted(group), strict=True), s=26, color=colour, zorder=3)
        steps = len(way) - 1
        axes.set_title(f"{kind}: {steps} step{'s' * (steps > 1)} from first to last", loc="left", fontsize=10)
        axes.set_yticks(range(height + 1), ["input", *map(str, range(1, height + 1))], fontsize=8)
        axes.spines[:].set_visible(False)
        axes.tick_params(length=0)
        axes.margins(y=0.25)
    panels[-1].set(xticks=range(n), xlabel="position in the sequence")
    return figure


def _edges_below(kind: str, top: Node, n: int, kernel: int) -> Iterator[tuple[Node, Node]]:
    waiting, seen = deque([top]), {top}
    while waiting:
        node = waiting.popleft()
        for below in read_by(kind, node, n, kernel):
            yield below, node
            if below not in seen:
                seen.add(below)
                waiting.append(below)


# ---------------------------------------------------------------------------------- widgets


def sentence_explorer(
    look: Callable[[str, str], tuple[Sequence[str], np.ndarray, str]], examples: Sequence[tuple[str, str]]
) -> None:
    """Type a sentence and one of its words, and see how the word distributes its attention.

    Args:
        look: (sentence, word) -> the words, a share for each, and a remark; for anything that it cannot handle, it
            raises ValueError with a message for the learner.
        examples: (sentence, word) pairs; the first is shown at the start, all of them without a kernel.
    """

    def html(sentence: str, word: str) -> str:
        words, shares, remark = look(sentence, word)
        return _bars_html(words, shares, f"“{word}” looks at") + f"<div>{inline(remark)}</div>"

    def text(sentence: str, word: str) -> str:
        words, shares, remark = look(sentence, word)
        return f"{sentence}: {word} looks at\n{_bars_text(words, shares)}\n{remark}"

    import ipywidgets

    narrow = {"max_width": "98%"}
    wide = ipywidgets.Layout(width="32em", **narrow)
    sentence = ipywidgets.Text(examples[0][0], description="sentence", layout=wide, continuous_update=False)
    word = ipywidgets.Text(examples[0][1], description="word", layout=narrow, continuous_update=False)
    picture = ipywidgets.HTML(html(*examples[0]))

    def redraw(_: object) -> None:
        try:
            picture.value = html(sentence.value, word.value)
        except ValueError as problem:
            picture.value = f"<div>{inline(str(problem))}</div>"

    sentence.observe(redraw, names="value")
    word.observe(redraw, names="value")
    widget = ipywidgets.VBox([sentence, word, picture])
    show_live(
        widget,
        html="".join(f"<p><i>{inline(example[0])}</i></p>{html(*example)}" for example in examples),
        text="\n\n".join(text(*example) for example in examples),
    )
