"""Figures, measurements and the browser about attention heads. Layers and heads are counted from 1 in words, from 0 in arrays.

Weights have shape (layers, heads, seq_len, seq_len), as :func:`course_utils.models.pretrained.read` gives them.
Heat maps of a few heads side by side are in :mod:`course_utils.plots.attention`.
"""

from __future__ import annotations

import functools
import string
from collections.abc import Callable, Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING, Protocol

import numpy as np

from course_utils.plots import focus_ring, show_live
from course_utils.plots.attention import weights_text

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
    last = len(tokens) - 1
    words = range(1, last)
    partners = {
        "previous token": [(word, word - 1) for word in words if word > 1],
        "next token": [(word, word + 1) for word in words if word + 1 < last],
        "itself": [(word, word) for word in words],
        "same word": [(i, j) for i in words for j in words if i != j and tokens[i] == tokens[j]],
        "[CLS]": [(word, 0) for word in words],
        "[SEP]": [(word, last) for word in words],
    }
    return {name: _mean_share(attention, pairs) for name, pairs in partners.items()}


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
    """A panel for each pattern: rows are layers, columns heads, brightness the share; the strongest has its number."""
    from matplotlib.figure import Figure

    columns = 3
    rows = -(-len(shares) // columns)
    layers, heads = next(iter(shares.values())).shape
    figure = Figure(figsize=(10.5, rows * (0.27 * layers + 1.0)), layout="constrained")
    panels = figure.subplots(rows, columns, squeeze=False, sharex=True, sharey=True)
    for axes in panels.flat[len(shares) :]:
        axes.set_visible(False)
    for axes, (name, share) in zip(panels.flat, shares.items(), strict=False):
        picture = axes.imshow(share, cmap="cividis", vmin=0, vmax=1, aspect="auto")
        layer, head = strongest(share)
        largest = share[layer - 1, head - 1]
        axes.text(head - 1, layer - 1, f"{largest:.2f}", ha="center", va="center", fontsize=7,
                  color="black" if largest > 0.5 else "white")  # fmt: skip
        axes.set_title(name, fontsize=10)
        axes.set_xticks(range(heads), range(1, heads + 1), fontsize=7)
        axes.set_yticks(range(layers), range(1, layers + 1), fontsize=7)
    for axes in panels[-1]:
        axes.set_xlabel("head", fontsize=9)
    for axes in panels[:, 0]:
        axes.set_ylabel("layer", fontsize=9)
    figure.colorbar(picture, ax=panels, label="share of attention", shrink=0.8)
    return figure


# ---------------------------------------------------------------------------------- the head browser

LONGEST = 40
"""Tokens of a sentence that the browser shows."""

_ROW, _LEFT, _RIGHT = 22, 190, 430
_BLUE = "#3b8bbd"  # readable on white and on black


def head_lines(tokens: Sequence[str], weights: np.ndarray, chosen: int | None = None) -> str:
    """Attention as lines in an SVG picture, from each token (left) to those it looks at (right).

    Args:
        weights: (n, n), rows sum to 1; a line's thickness and opacity are its weight.
        chosen: show the lines of this token only, with their numbers.
    """
    rows = [chosen] if chosen is not None else range(len(tokens))
    middle = [_ROW * (place + 0.5) for place in range(len(tokens))]
    parts = [
        f'<line x1="{_LEFT + 6}" y1="{middle[row]}" x2="{_RIGHT - 6}" y2="{middle[column]}" stroke="{_BLUE}" '
        f'stroke-width="{0.4 + 3 * weights[row, column]:.2f}" stroke-opacity="{weights[row, column]:.2f}"/>'
        for row in rows
        for column in range(len(tokens))
        if weights[row, column] >= 0.02
    ]
    for place, token in enumerate(tokens):
        bold = ' font-weight="bold"' if place == chosen else ""
        shown = chosen is not None and weights[chosen, place] >= 0.01
        number = f" {weights[chosen, place]:.2f}" if shown else ""
        y = middle[place] + 4.5
        parts.append(f'<text x="{_LEFT}" y="{y}" text-anchor="end"{bold}>{escape(token)}</text>')
        parts.append(f'<text x="{_RIGHT}" y="{y}">{escape(token)}{number}</text>')
    return (
        f'<svg role="img" aria-label="{escape(_in_words(tokens, weights, chosen))}" width="640" '
        f'height="{_ROW * len(tokens)}" style="max-width:100%;height:auto" viewBox="0 0 640 {_ROW * len(tokens)}" '
        f'font-size="13.5" font-family="system-ui,sans-serif" fill="var(--jp-content-font-color1,#1b1b1b)">'
        f"{''.join(parts)}</svg>"
    )


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


def _summary_html(tokens: Sequence[str], weights: np.ndarray) -> str:
    parts = [f"{escape(name)} <b>{share:.2f}</b>" for name, share in pattern_summary(tokens, weights)]
    parts.append(f"(even shares would be {1 / len(tokens):.2f} each)")
    spans = (f'<span style="white-space:nowrap;margin-right:1.3em">{part}</span> ' for part in parts)
    return f'<div style="margin:.2em 0 .6em">{"".join(spans)}</div>'


def _view_html(reading: Read, layer: int, head: int, chosen: int | None) -> str:
    tokens, weights = reading.tokens[:LONGEST], reading.attention[layer - 1, head - 1]
    shown = weights[: len(tokens), : len(tokens)]
    cut = len(reading.tokens) - len(tokens)
    note = (
        f"<div>The picture shows the first {LONGEST} tokens; {cut} more are not drawn.</div>" if cut else ""
    )
    chosen = chosen if chosen is not None and chosen < len(tokens) else None
    return (
        f'<div style="color:var(--jp-content-font-color1,#1b1b1b);line-height:1.4"><div>Layer {layer}, head {head}: left looks at '
        f"right. Where its attention goes on average:</div>{_summary_html(reading.tokens, weights)}{note}"
        f"{head_lines(tokens, shown, chosen)}</div>"
    )


def _view_text(reading: Read, layer: int, head: int) -> str:
    tokens, weights = reading.tokens[:LONGEST], reading.attention[layer - 1, head - 1]
    shares = ", ".join(f"{name} {share:.2f}" for name, share in pattern_summary(reading.tokens, weights))
    table = weights_text(tokens, weights[: len(tokens), : len(tokens)])
    return f"Layer {layer}, head {head}. On average: {shares}\n{table}"


def head_browser(
    read: Callable[[str], Read], sentence: str, layer: int = 1, head: int = 1, token: int | None = None
) -> None:
    """Choose a layer and a head, type a sentence, and see what each token looks at.

    Args:
        read: gives tokens and attention (layers, heads, n, n) of a sentence, as
            :func:`course_utils.models.pretrained.read` does.
        sentence: shown at first; without a kernel, the only one shown.
        layer, head: which head is shown at first, counted from 1.
        token: the token whose lines are shown at first, counted from 0; None shows all.
    """
    import ipywidgets

    read = functools.lru_cache(maxsize=16)(read)
    shown = read(sentence)
    layers, heads = shown.attention.shape[:2]
    wide = ipywidgets.Layout(width="36em")
    typed = ipywidgets.Text(sentence, description="sentence", continuous_update=False, layout=wide)
    which_layer = ipywidgets.IntSlider(layer, 1, layers, description="layer", layout=wide)
    which_head = ipywidgets.IntSlider(head, 1, heads, description="head", layout=wide)
    # No drop-down lists: JupyterLab uses the up and down keys itself.
    who = ipywidgets.SelectionSlider(
        options=_asking(shown), value=_ALL if token is None else token, description="token", layout=wide
    )
    fits = ipywidgets.Layout(width="auto")
    jumps = [
        ipywidgets.Button(
            description=name, tooltip=f"Go to the head that looks most at {meant}.", layout=fits
        )
        for name, meant in PATTERNS.items()
    ]
    wraps = ipywidgets.Layout(flex_flow="row wrap")
    said = ipywidgets.HTML()
    picture = ipywidgets.HTML(_view_html(shown, layer, head, token))

    def redraw(_: object = None) -> None:
        chosen = None if who.value == _ALL else who.value
        picture.value = _view_html(shown, which_layer.value, which_head.value, chosen)

    def new_sentence(change: Mapping[str, str]) -> None:
        nonlocal shown
        try:
            found = read(change["new"])
        except RuntimeError as error:  # the encoder is missing, or fails on this text
            said.value = escape(str(error))
            return
        if len(found.tokens) <= 2:
            said.value = "Type at least one word, then press Enter."
            return
        shown, said.value = found, ""
        who.options, who.value = _asking(found), _ALL
        redraw()

    def go_to(button: ipywidgets.Button) -> None:
        shares = pattern_shares(shown.tokens, shown.attention)[button.description]
        if np.isnan(shares).any():
            said.value = (
                "No token of this sentence has such a partner. Type a sentence in which a word occurs twice."
            )
        else:
            said.value = ""
            which_layer.value, which_head.value = strongest(shares)

    typed.observe(new_sentence, names="value")
    for jump in jumps:
        jump.on_click(go_to)
    for control in (which_layer, which_head, who):
        control.observe(redraw, names="value")
    going = ipywidgets.HBox([ipywidgets.Label("go to"), *jumps], layout=wraps)
    show_live(
        ipywidgets.VBox([focus_ring(), typed, which_layer, which_head, going, who, said, picture]),
        html=f"<div>{escape(sentence)}</div>{_view_html(read(sentence), layer, head, token)}",
        text=f"{sentence}\n{_view_text(read(sentence), layer, head)}",
    )


_ALL = -1  # not None, which a slider treats as "nothing chosen"


def _asking(reading: Read) -> list[tuple[str, int]]:
    return [
        ("all tokens", _ALL),
        *((f"{place}: {token}", place) for place, token in enumerate(reading.tokens[:LONGEST])),
    ]
