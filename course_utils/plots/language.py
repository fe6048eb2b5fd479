"""Figures and widgets of lab 08: two decoders beside each other, what sampling keeps, what a cache saves, and a box that writes."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING

import numpy as np

from course_utils.display import TEXT
from course_utils.plots import focus_ring, show_live
from course_utils.plots.attention import weights_text
from course_utils.plots.drawing import arrow, box, note, show_drawing
from course_utils.plots.heads import Read, head_lines

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_COLOURS = ("#440154", "#21918c", "#d95f02", "#5b6b7b")  # told apart by colour-blind readers
_MARKERS = ("o", "s", "^", "D")

# ---------------------------------------------------------------------------------- what is built

_DECODERS = (  # title, input, and for each sub-layer its norm and its work, output
    (
        "your first decoder (as GPT-2)",
        "token embedding + position embedding",
        (
            ("LayerNorm", "causal attention,\nkeys and values for every head"),
            ("LayerNorm", "expand, GELU, contract"),
        ),
        "LayerNorm, then the token embeddings\nonce more: logits",
    ),
    (
        "your second decoder (as Llama, SmolLM2)",
        "token embedding",
        (("RMSNorm", "causal attention, heads in groups,\nrotary positions, cache"), ("RMSNorm", "SwiGLU")),
        "RMSNorm, then the token embeddings\nonce more: logits",
    ),
)


def show_decoders() -> None:
    """Draws the two decoders of the lab, from bottom to top; in the second one, what has been replaced is marked."""
    parts = []
    for new, (title, bottom, work, top) in enumerate(_DECODERS):
        left = 430 * new
        middle, inner = left + 215, left + 70
        parts += [
            note(middle, 16, title, "middle"),
            box(left + 20, 112, 390, 320, "", dashed=True),
            note(left + 402, 420, "× layers", "end", quiet=True),
            box(inner, 452, 290, 30, bottom),
            arrow((middle, 452), (middle, 400)),
            arrow((middle, 279), (middle, 246)),
            arrow((middle, 133), (middle, 84)),
            box(inner, 40, 290, 44, top, marked=bool(new)),
        ]
        for (norm, layer), low, tall in zip(work, (400, 246), (44, 36), strict=True):
            plus = low - 58 - tall - 10  # the middle of the sum
            parts += [
                box(inner, low - 28, 290, 28, norm, marked=bool(new)),
                arrow((middle, low - 28), (middle, low - 43)),
                box(inner, low - 43 - tall, 290, tall, layer, marked=bool(new)),
                arrow((middle, low - 43 - tall), (middle, plus + 9)),
                box(middle - 9, plus - 9, 18, 18, "+"),
                arrow((middle, low + 16), (left + 45, low + 16), (left + 45, plus), (middle - 9, plus)),
                note(left + 50, plus - 9, "residual", quiet=True),
            ]
    show_drawing(
        860, 490, parts,
        "Two decoders as stacks of boxes, to be read upwards. Left: token and position embeddings; then, repeated, LayerNorm, causal "
        "attention, LayerNorm, a network with GELU, each pair with a residual connection around it; LayerNorm and logits. Right: token "
        "embeddings; then, repeated, RMSNorm, grouped causal attention with rotary positions and a cache, RMSNorm, SwiGLU; RMSNorm and "
        "logits. On the right, the parts that have been replaced are marked.",
    )  # fmt: skip


# ---------------------------------------------------------------------------------- from 2017 to today

_ENCODER, _DECODER, _BOTH, _NEITHER = ("encoder",), ("decoder",), ("encoder", "decoder"), ("two LSTMs",)
_MODELS = (  # year, name, its shape, what it changed, who
    ("2017", "Transformer", _BOTH, "attention takes the place of recurrence", "Vaswani et al."),
    ("2018", "ELMo", _NEITHER, "pretrained states are features for other models", "Peters et al."),
    ("2018", "GPT", _DECODER, "pretrained on books, then fine-tuned for a task", "Radford et al."),
    ("2018", "BERT", _ENCODER, "pretrained by filling gaps; a new head for a task", "Devlin et al."),
    ("2019", "GPT-2", _DECODER, "tasks as continuations, without training", "Radford et al."),
    ("2019", "T5", _BOTH, "every task is text to text, named by a prefix", "Raffel et al."),
    ("2020", "GPT-3", _DECODER, "175 billion weights: examples in the prompt", "Brown et al."),
    ("2022", "InstructGPT", _DECODER, "follows instructions, from human feedback", "Ouyang et al."),
    ("2023", "Llama", _DECODER, "the right half of the first figure; open weights", "Touvron et al."),
    ("2025", "SmolLM2", _DECODER, "the same with 135 million weights: in your code", "Allal et al."),
)


def pretrained_time_line() -> None:
    """Shows the models from the Transformer to SmolLM2 from top to bottom: when, of which shape, and what each changed.

    It is narrow enough to be read on a telephone without scrolling.
    """
    width, row, line = 400, 66, 35
    bottom = 8 + row * len(_MODELS)
    parts = [arrow((line, 8), (line, bottom + 8))]
    for number, (year, name, shape, changed, who) in enumerate(_MODELS):
        top = 10 + row * number
        parts += [box(line - 24, top, 48, 24, year), note(70, top + 12, name)]
        if shape == _NEITHER:
            parts.append(box(250, top, 144, 24, shape[0], dashed=True))
        else:
            places = {"encoder": 250, "decoder": 326}
            parts += [box(places[part], top, 68, 24, part) for part in shape]
        parts += [note(70, top + 35, changed), note(70, top + 51, who, quiet=True)]
    told = "; ".join(
        f"{year} {name} ({who}), {' and '.join(shape)}: {changed}"
        for year, name, shape, changed, who in _MODELS
    )
    show_drawing(
        width, bottom + 12, parts, f"A line of time with the shape of each model and what it changed. {told}."
    )


# ---------------------------------------------------------------------------------- losses, sampling, seconds


def score_bars(scores: Mapping[str, float], label: str, title: str) -> Figure:
    """One bar for each model, with its number."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.5, 0.9 + 0.42 * len(scores)), layout="constrained")
    axes = figure.subplots()
    names, values = list(scores)[::-1], list(scores.values())[::-1]
    bars = axes.barh(names, values, color="#31688e")
    axes.bar_label(bars, [f"{value:.2f}" for value in values], padding=3)
    axes.set(xlabel=label, title=title, xlim=(0, 1.15 * max(values)))
    axes.spines[["top", "right"]].set_visible(False)
    return figure


def kept_bars(table: Mapping[str, np.ndarray], words: Sequence[str]) -> Figure:
    """What is left of the likeliest words' probabilities under several settings: one panel for each.

    Args:
        table: setting -> (len(words),) probabilities.
        words: the words, from the likeliest to the least likely.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 0.9 + 0.27 * len(words)), layout="constrained")
    panels = figure.subplots(1, len(table), sharey=True, squeeze=False)[0]
    for axes, (name, shares) in zip(panels, table.items(), strict=True):
        axes.barh(range(len(words)), shares, color=["#31688e" if share > 0 else "none" for share in shares])
        for place, share in enumerate(shares):
            axes.text(share + 0.01, place, f"{share:.2f}" if share > 0 else "-", va="center", fontsize=9)
        axes.set_title(name, fontsize=10)
        axes.set(xlim=(0, 1.35 * max(map(np.max, table.values()))), xlabel="probability")
        axes.spines[["top", "right"]].set_visible(False)
    panels[0].set_yticks(range(len(words)), words)
    panels[0].invert_yaxis()
    return figure


def seconds_by_token(curves: Mapping[str, Sequence[float]]) -> Figure:
    """The milliseconds that each new token took, in the order in which they were written.

    Args:
        curves: name -> seconds of each token.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.5, 3.2), layout="constrained")
    axes = figure.subplots()
    for (name, seconds), colour, marker in zip(curves.items(), _COLOURS, _MARKERS, strict=False):
        axes.plot(
            np.arange(1, len(seconds) + 1),
            1_000 * np.array(seconds),
            color=colour,
            marker=marker,
            markersize=3,
            label=name,
        )
    axes.set(
        xlabel="number of the new token",
        ylabel="milliseconds",
        title="Time for each new token",
        ylim=(0, None),
    )
    axes.legend(frameon=False)
    axes.spines[["top", "right"]].set_visible(False)
    return figure


# ---------------------------------------------------------------------------------- the box that writes

Predict = Callable[[str], Sequence[tuple[str, float]]]
LONGEST = 400
"""Characters of a text that the box goes on with."""


def writer_box(predict: Predict, text: str) -> None:
    """A text field and the five likeliest next tokens: choose one, and it is written; then come the next five.

    Args:
        predict: text -> (token, probability), the likeliest first.
        text: shown at first; without a kernel, the only one.
    """
    import ipywidgets

    predict = functools.lru_cache(maxsize=64)(predict)
    wide = ipywidgets.Layout(width="95%")
    typed = ipywidgets.Text(text, description="text", continuous_update=False, layout=wide)
    buttons = [ipywidgets.Button(layout=ipywidgets.Layout(width="auto", min_width="7em")) for _ in range(5)]
    shares = ipywidgets.HTML()
    found: list[str] = []

    def html(written: str) -> str:
        whole = f'<p style="white-space:pre-wrap">{escape(written)} ...</p>'  # the field shows only one line
        return f'<div style="{TEXT}">{whole}{_shares_html(predict(written))}</div>'

    def show(_: object = None) -> None:
        written = typed.value
        if not written.strip() or len(written) > LONGEST:
            shares.value = f"Type a text of 1 to {LONGEST} characters, then press Enter."
            return
        likeliest = predict(written)
        found[:] = [token for token, _ in likeliest]
        for button, (token, share) in zip(buttons, likeliest, strict=True):
            button.description, button.tooltip = (
                _visible(token),
                f"Write {_visible(token)}, probability {share:.2f}",
            )
        shares.value = html(written)

    def write(button: ipywidgets.Button) -> None:
        if found:
            typed.value += found[buttons.index(button)]

    typed.observe(show, names="value")
    for button in buttons:
        button.on_click(write)
    show()
    show_live(
        ipywidgets.VBox(
            [
                focus_ring(),
                typed,
                ipywidgets.HBox(buttons, layout=ipywidgets.Layout(flex_flow="row wrap")),
                shares,
            ]
        ),
        html=html(text),
        text=f"{text} ...\n" + "\n".join(f"{share:.3f}  {_visible(token)}" for token, share in predict(text)),
    )


def _visible(token: str) -> str:
    """A token with its space and its line breaks to be seen."""
    return token.replace(" ", "␣").replace("\n", "⏎") or "(end)"


def _shares_html(likeliest: Sequence[tuple[str, float]]) -> str:
    rows = "".join(
        f'<div style="display:flex;align-items:center;gap:.6em"><span style="width:9em;text-align:right">{escape(_visible(token))}</span>'
        f'<span style="background:#3b8bbd;height:.9em;width:{18 * share:.2f}em"></span><span>{share:.3f}</span></div>'
        for token, share in likeliest
    )
    return f'<div style="{TEXT};line-height:1.4">{rows}</div>'


# ---------------------------------------------------------------------------------- where a head looks

_MOST = 24


def causal_heads(read: Callable[[str], Read], sentence: str, layer: int, head: int) -> None:
    """Choose a layer and a head of a decoder, type a sentence, and see which earlier tokens each token looks at.

    Args:
        read: gives tokens and attention (layers, heads, n, n) of a sentence.
        sentence, layer, head: what is shown at first; layers and heads are counted from 1.
    """
    import ipywidgets

    read = functools.lru_cache(maxsize=16)(read)

    def html(text: str, layer: int, head: int) -> str:
        reading = read(text)
        tokens, weights = _first_tokens(reading, layer, head)
        return f'<div style="{TEXT}">Layer {layer}, head {head}: left looks at right.<br>{head_lines(tokens, weights)}</div>'

    layers, heads = read(sentence).attention.shape[:2]
    wide = ipywidgets.Layout(width="36em")
    typed = ipywidgets.Text(
        sentence, description="sentence", continuous_update=False, layout=ipywidgets.Layout(width="95%")
    )
    which_layer = ipywidgets.IntSlider(layer, 1, layers, description="layer", layout=wide)
    which_head = ipywidgets.IntSlider(head, 1, heads, description="head", layout=wide)
    picture = ipywidgets.HTML(html(sentence, layer, head))

    def redraw(_: object = None) -> None:
        if typed.value.strip():
            picture.value = html(typed.value, which_layer.value, which_head.value)

    for control in (typed, which_layer, which_head):
        control.observe(redraw, names="value")
    tokens, weights = _first_tokens(read(sentence), layer, head)
    show_live(
        ipywidgets.VBox([focus_ring(), typed, which_layer, which_head, picture]),
        html=html(sentence, layer, head),
        text=f"{sentence}\nLayer {layer}, head {head}\n{weights_text(tokens, weights)}",
    )


def _first_tokens(reading: Read, layer: int, head: int) -> tuple[list[str], np.ndarray]:
    tokens = [_visible(token) for token in reading.tokens[:_MOST]]
    return tokens, reading.attention[layer - 1, head - 1][: len(tokens), : len(tokens)]
