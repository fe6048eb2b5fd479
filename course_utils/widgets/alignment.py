"""Type a sentence and see its translation with the alignment: which source words each translated word looked at."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from course_utils.plots.drawing import as_image, as_svg, note
from course_utils.plots.roles import WEIGHT
from course_utils.widgets import Widget, plain

Align = Callable[[str], "tuple[Sequence[str], Sequence[str], np.ndarray]"]
"""Text -> source words, target words, weights (target words, source words)."""

_GAP, _TOP, _BOTTOM = 14, 30, 150


class TypeAndAlign(Widget):
    """A text field; below it the source and the translation, with lines as strong as the weights between them.

    Args:
        align: translates; for a text that it cannot handle it raises ValueError with a message for the learner.
        examples: texts that work; the first is shown at the start, and all of them without a kernel.

    Raises:
        ValueError: an example cannot be translated, or a number is NaN or infinite.
    """

    module = "alignment.js"

    def __init__(self, align: Align, examples: Sequence[str]) -> None:
        self.align = align
        self.examples = [self._shown(example) for example in examples]

    def _shown(self, text: str) -> dict[str, Any]:
        source, target, weights = self.align(text)
        return {"text": text, "source": list(source), "target": list(target), "weights": plain(weights, 3)}

    def data(self) -> dict[str, Any]:
        return {"shown": self.examples[0], "examples": self.examples}

    def answer(self, asked: Mapping[str, Any]) -> dict[str, Any]:
        return {"shown": self._shown(str(asked["text"])), "examples": self.examples}

    def still(self) -> str:
        """The first example: a line from each word of the translation to the words that it looked at."""
        shown = self.examples[0]
        above, width_above = _places(shown["source"])
        below, width_below = _places(shown["target"])
        parts = []
        for target, row in zip(below, shown["weights"], strict=True):
            for source, weight in zip(above, row, strict=True):
                if weight >= 0.05:
                    parts.append(
                        f'<line x1="{source:.0f}" y1="{_TOP + 12}" x2="{target:.0f}" y2="{_BOTTOM - 12}" '
                        f'style="stroke:{WEIGHT.colour};stroke-width:{6 * weight:.1f};stroke-opacity:{weight:.2f}"/>'
                    )
        for words, places, y in ((shown["source"], above, _TOP), (shown["target"], below, _BOTTOM)):
            parts += [note(x, y, word, "middle") for word, x in zip(words, places, strict=True)]
        svg = as_svg(int(max(width_above, width_below)), _BOTTOM + 24, parts, self.alt())
        return as_image(svg, self.alt())

    def alt(self) -> str:
        lines = ["Translations with their alignment: each word, and the source word that it looked at most."]
        for shown in self.examples:
            looks = ", ".join(
                f"{word} ← {shown['source'][int(np.argmax(row))]} ({max(row):.2f})"
                for word, row in zip(shown["target"], shown["weights"], strict=True)
            )
            lines.append(f"{shown['text']}: {looks}.")
        return "\n".join(lines)


def type_and_align(align: Align, examples: Sequence[str]) -> None:
    """Shows a :class:`TypeAndAlign`."""
    TypeAndAlign(align, examples).show()


def _places(words: Sequence[str]) -> tuple[list[float], float]:
    """The middles of words set in a row, and the row's width."""
    x, middles = float(_GAP), []
    for word in words:
        width = 7.6 * len(word) + 6
        middles.append(x + width / 2)
        x += width + _GAP
    return middles, x
