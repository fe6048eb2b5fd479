"""The head browser: all heads of an encoder as small pictures, two of them beside each other as lines between words."""

from __future__ import annotations

import base64
import io
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from course_utils.plots.attention import weights_text
from course_utils.plots.drawing import as_image, as_svg, note
from course_utils.plots.heads import PATTERNS, Read, line_parts, partners, pattern_summary
from course_utils.plots.roles import WEIGHT
from course_utils.widgets import Widget, plain

LONGEST = 24
"""Tokens of a sentence that are drawn."""

_THOUSAND = 1000


class HeadBrowser(Widget):
    """Every head's attention to a sentence that the learner types, and two heads beside each other.

    Args:
        read: gives tokens and attention (layers, heads, n, n) of a sentence, as
            :func:`course_utils.models.pretrained.read` does.
        sentence: shown at first.
        heads: (layer, head), counted from 1, of the two pictures.
        value_lengths: gives the lengths of the values, (layers, heads, n), of what was read. Without it there are only weights.

    Raises:
        ValueError: the sentence has no words, or a head does not exist.
    """

    module = "head_browser.js"

    def __init__(
        self,
        read: Callable[[str], Read],
        sentence: str,
        heads: tuple[tuple[int, int], tuple[int, int]] = ((1, 1), (1, 2)),
        value_lengths: Callable[[Any], np.ndarray] | None = None,
    ) -> None:
        self.read, self.value_lengths, self.heads = read, value_lengths, heads
        self._set(sentence)
        layers, count = self.attention.shape[:2]
        for layer, head in heads:
            if not (1 <= layer <= layers and 1 <= head <= count):
                raise ValueError(
                    f"There are {layers} layers of {count} heads; there is no head {layer}, {head}."
                )

    def _set(self, sentence: str) -> None:
        reading = self.read(sentence)
        if len(reading.tokens) <= 2:
            raise ValueError("Type at least one word, then press Enter.")
        self.sentence, self.cut = sentence, max(0, len(reading.tokens) - LONGEST)
        self.tokens = tuple(reading.tokens[:LONGEST])
        self.attention = reading.attention[..., :LONGEST, :LONGEST]
        self.lengths = None
        if self.value_lengths:
            self.lengths = np.asarray(self.value_lengths(reading))[..., :LONGEST]

    def answer(self, asked: Mapping[str, Any]) -> dict[str, Any]:
        """Reads the sentence that was typed."""
        try:
            self._set(str(asked["sentence"]))
        except RuntimeError as error:  # the encoder is missing, or fails on this text
            raise ValueError(str(error)) from error
        return self.data()

    def data(self) -> dict[str, Any]:
        markers = [place for place, token in enumerate(self.tokens) if token in ("[CLS]", "[SEP]")]
        return {
            "sentence": self.sentence,
            "tokens": list(self.tokens),
            "cut": self.cut,
            "markers": markers,
            "heads": [[layer - 1, head - 1] for layer, head in self.heads],
            # Whole numbers take a third of the space.
            "thousandths": np.rint(self.attention * _THOUSAND).astype(int).tolist(),
            "lengths": None if self.lengths is None else plain(self.lengths, 3),
            "patterns": [
                {"name": name, "meant": meant, "pairs": partners(self.tokens, self.cut == 0)[name]}
                for name, meant in PATTERNS.items()
            ],
        }

    def still(self) -> str:
        """All heads as small pictures, and the two chosen ones as lines."""
        layers, heads = self.attention.shape[:2]
        cell, left, top = 44, 74, 40
        width, below = left + cell * heads + 20, top + cell * layers
        parts = [
            note(left + cell * (head + 0.5), top - 12, str(head + 1), "middle", quiet=True)
            for head in range(heads)
        ]
        parts += [
            note(left - 8, top + cell * (layer + 0.5), f"layer {layer + 1}", "end", quiet=True)
            for layer in range(layers)
        ]
        for layer in range(layers):
            for head in range(heads):
                parts.append(
                    f'<image x="{left + cell * head}" y="{top + cell * layer}" width="{cell - 4}" height="{cell - 4}" '
                    f'style="image-rendering:pixelated" href="{_tile(self.attention[layer, head])}"/>'
                )
        for side, (layer, head) in enumerate(self.heads):
            start, weights = 20 + side * max(320, width / 2), self.attention[layer - 1, head - 1]
            parts.append(note(start, below + 24, f"Layer {layer}, head {head}: left looks at right"))
            parts += line_parts(self.tokens, weights, start + 100, start + 220, below + 44)
        height = below + 52 + 22 * len(self.tokens)
        return as_image(as_svg(round(max(width, 700)), height, parts, self._title()), self._title())

    def alt(self) -> str:
        return "\n".join([self._title(), *(self._in_words(layer, head) for layer, head in self.heads)])

    def _title(self) -> str:
        layers, heads = self.attention.shape[:2]
        return f"The attention of {layers * heads} heads to: {self.sentence}"

    def _in_words(self, layer: int, head: int) -> str:
        weights = self.attention[layer - 1, head - 1]
        found = [] if self.cut else pattern_summary(self.tokens, weights)
        shares = "".join(f", {name} {share:.2f}" for name, share in found)
        return f"Layer {layer}, head {head}{shares}\n{weights_text(self.tokens, weights)}"


def head_browser(
    read: Callable[[str], Read],
    sentence: str,
    heads: tuple[tuple[int, int], tuple[int, int]] = ((1, 1), (1, 2)),
    value_lengths: Callable[[Any], np.ndarray] | None = None,
) -> None:
    """Shows a :class:`HeadBrowser`."""
    HeadBrowser(read, sentence, heads, value_lengths).show()


def _tile(weights: np.ndarray) -> str:
    """A small picture of (n, n) weights as the address of a PNG: no weight is clear, 1 is the weights' own colour."""
    from matplotlib.colors import to_rgb
    from matplotlib.image import imsave

    picture = np.empty((*weights.shape, 4))
    picture[..., :3], picture[..., 3] = to_rgb(WEIGHT.colour), 0.08 + 0.92 * np.sqrt(weights.clip(0, 1))
    file = io.BytesIO()
    imsave(file, picture, format="png")
    return "data:image/png;base64," + base64.b64encode(file.getvalue()).decode("ascii")
