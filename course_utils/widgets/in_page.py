"""A page of the site that runs a trained model, as a widget: the model's numbers travel with the notebook, so it answers without a kernel."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from course_utils.models import in_8_bits
from course_utils.widgets import Widget

PAGES = Path(__file__).parent / "pages"
"""The parts of pages that the site and notebooks share: style, and files of ES modules."""

STYLE = "page.css"


class InPage(Widget):
    """A page as a widget. Its files are ES modules that end with ``whenInAPage(begin)``.

    Args:
        files: of the module, in order.
        about: what the module needs to know; :func:`rounded` adds the names and sizes of the arrays.
        numbers: of the model, as :func:`rounded` gives them.
        told: whose numbers these are, in a sentence.
        still, alt: HTML and plain text that take the widget's place.
    """

    module = "in_page.js"

    def __init__(
        self, files: Sequence[str], about: Mapping[str, Any], numbers: bytes, told: str, still: str, alt: str
    ) -> None:
        self.files, self.about, self.numbers, self.told = files, about, numbers, told
        self._still, self._alt = still, alt

    def source(self) -> str:
        style = f"const STYLE = {json.dumps((PAGES / STYLE).read_text('utf-8'))};"
        return "\n".join(
            [style, super().source(), *((PAGES / file).read_text("utf-8") for file in self.files)]
        )

    def data(self) -> dict[str, Any]:
        return {
            "told": self.told,
            "about": dict(self.about),
            "numbers": base64.b64encode(self.numbers).decode("ascii"),
        }

    def still(self) -> str:
        return self._still

    def alt(self) -> str:
        return self._alt


def rounded(state: Mapping[str, np.ndarray]) -> tuple[list[list], bytes, dict[str, np.ndarray]]:
    """A model's arrays in half the space of 16 bits: tables have 8 bits a number and a scale for each row, all else 16 bits.

    Returns:
        for each array its name, its size and the width of its rows (0: 16 bits); the bytes; the arrays as they are then.
    """
    tensors, parts, now = [], [], {}
    for name, array in state.items():
        array = np.asarray(array, np.float32)
        width = array.shape[1] if array.ndim == 2 else 0
        tensors.append([name, array.size, width])
        if not width:
            half = array.astype("<f2")
            parts.append(half.tobytes())
            now[name] = half.astype(np.float32)
            continue
        scales, eighths = in_8_bits.rounded(array)
        parts += [scales.tobytes(), eighths.tobytes()]
        now[name] = eighths * scales.astype(np.float32)
    return tensors, b"".join(parts), now
