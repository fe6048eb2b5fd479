"""Drawings of lab 12: merges as they happen, a vocabulary's size against what it saves, span corruption, and one model for all tasks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from course_utils.plots.drawing import arrow, box, note, show_drawing

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_COLOURS = ("#440154", "#21918c", "#d95f02")
_MARKERS = ("o", "s", "^")
_LETTER, _GAP, _ROW = 15, 7, 44


def token_text(token: bytes) -> str:
    """A token as it can be read: a space as "␣", bytes that are no text of their own as hexadecimal numbers."""
    try:
        return token.decode().replace(" ", "␣").replace("\n", "↵")
    except UnicodeDecodeError:
        return " ".join(f"{byte:02x}" for byte in token)


def show_merges(steps: Sequence[tuple[tuple[bytes, bytes] | None, Sequence[bytes]]]) -> None:
    """Draws a word as it is merged, from top to bottom; the token that has just been made has a thick frame.

    Args:
        steps: the pair that was merged (None for the beginning), and the word's tokens after that.
    """
    parts, widest = [], 0
    for row, (pair, word) in enumerate(steps):
        y, x = 10 + _ROW * row, 200
        text = "single bytes" if pair is None else f"{token_text(pair[0])}  +  {token_text(pair[1])}"
        parts.append(note(12, y + 15, text))
        for token in word:
            letters = token_text(token)
            width = 12 + (_LETTER - 5) * len(letters)
            parts.append(
                box(x, y, width, 30, letters, marked=pair is not None and token == pair[0] + pair[1])
            )
            x += width + _GAP
        widest = max(widest, x)
    last = " ".join(token_text(token) for token in steps[-1][1])
    show_drawing(
        widest + 10,
        20 + _ROW * len(steps),
        parts,
        f"A word as rows of boxes, a row for each merge: {len(steps[0][1])} single bytes above, {len(steps[-1][1])} tokens below: {last}.",
    )


def compression_curves(curves: Mapping[str, Mapping[int, float]]) -> Figure:
    """Characters for each token against the size of the vocabulary: a line for each kind of text."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.5, 3.6), layout="constrained")
    axes = figure.subplots()
    for (name, points), colour, marker in zip(curves.items(), _COLOURS, _MARKERS, strict=False):
        axes.plot(list(points), list(points.values()), color=colour, marker=marker, label=name)
    axes.set(xlabel="tokens in the vocabulary", ylabel="characters for each token")
    axes.set_ylim(bottom=0)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False)
    return figure


def show_spans(
    words: Sequence[str], spans: Sequence[tuple[int, int]], source: Sequence[str], target: Sequence[str]
) -> None:
    """Draws span corruption: the text, what the model reads, and what it should write.

    Args:
        words: the text.
        spans: begin and end (exclusive) of what is cut out.
        source, target: the two sides, sentinels included.
    """
    parts, widest = [], 0
    cut = {place for begin, end in spans for place in range(begin, end)}
    rows = (
        ("text", words, [place in cut for place in range(len(words))]),
        ("the model reads", source, [word.startswith("<") for word in source]),
        ("the model writes", target, [word.startswith("<") for word in target]),
    )
    for number, (title, tokens, marks) in enumerate(rows):
        x, y = 150, 10 + 58 * number
        parts.append(note(12, y + 16, title))
        for token, marked in zip(tokens, marks, strict=True):
            width = 16 + 8 * len(token)
            parts.append(box(x, y, width, 32, token, marked=marked))
            x += width + _GAP
        widest = max(widest, x)
    alt = f"Three rows of boxes. The text: {' '.join(words)}. The model reads: {' '.join(source)}. It writes: {' '.join(target)}."
    show_drawing(widest + 10, 180, parts, alt)


def show_tasks(examples: Mapping[str, tuple[str, str]]) -> None:
    """Draws examples of several tasks entering one model, and what comes out of it.

    Args:
        examples: prefix -> input and target. Long ones are shortened.
    """
    tall = 20 + 52 * len(examples)
    parts = [
        box(
            470,
            10,
            130,
            tall - 20,
            "one encoder\nand one decoder,\nthe same weights\nfor all tasks",
            marked=True,
        )
    ]
    for number, (prefix, (source, target)) in enumerate(examples.items()):
        y = 16 + 52 * number
        parts += [
            box(10, y, 420, 36, _short(prefix + source, 58)),
            arrow((430, y + 18), (470, y + 18)),
            arrow((600, y + 18), (640, y + 18)),
            box(640, y, 270, 36, _short(target, 33)),
        ]
    alt = "Texts go into one box, the model, each with a prefix, and texts come out: " + "; ".join(
        f"{prefix}{_short(source, 40)} gives {target}" for prefix, (source, target) in examples.items()
    )
    show_drawing(920, tall, parts, alt + ".")


def _short(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 1].rstrip() + "…"
