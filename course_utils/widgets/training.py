"""Watch it learn: attention weights that were kept during a training, with a slider from its first step to its last."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from course_utils.plots.drawing import as_image, as_svg, note
from course_utils.plots.roles import WEIGHT
from course_utils.widgets import Widget, plain

_CELL, _HEIGHT = 22, 18


class WatchItLearn(Widget):
    """Attention weights, step by step.

    Args:
        rows: q_len words that look.
        columns: k_len words that are looked at.
        kept: step of the training -> weights (q_len, k_len), each row summing to 1.

    Raises:
        ValueError: fewer than two steps were kept, a shape does not fit, or a number is NaN or infinite.
    """

    module = "training.js"

    def __init__(self, rows: Sequence[str], columns: Sequence[str], kept: Mapping[int, np.ndarray]) -> None:
        self.rows, self.columns = list(rows), list(columns)
        self.kept = {step: np.asarray(kept[step], dtype=float) for step in sorted(kept)}
        if len(self.kept) < 2:
            raise ValueError(f"Two steps of the training are needed to see a change; {len(self.kept)} kept.")
        for step, weights in self.kept.items():
            if weights.shape != (len(self.rows), len(self.columns)):
                raise ValueError(
                    f"The weights of step {step} have shape {weights.shape}; {len(self.rows)} words that look at "
                    f"{len(self.columns)} need ({len(self.rows)}, {len(self.columns)})."
                )

    def data(self) -> dict[str, Any]:
        return {
            "rows": self.rows,
            "columns": self.columns,
            "steps": list(self.kept),
            "weights": [plain(weights, 2) for weights in self.kept.values()],
            "largest": [round(largest, 3) for largest in self.largest()],
        }

    def largest(self) -> list[float]:
        """For each step the largest weight of a row, averaged over the rows: 1 / k_len if it is uniform, 1 if it is sharp."""
        return [float(weights.max(axis=1).mean()) for weights in self.kept.values()]

    def still(self) -> str:
        """Tables of the first step, one in between, and the last."""
        steps, largest = list(self.kept), self.largest()
        half_way = (largest[0] + largest[-1]) / 2
        middle = min(range(len(steps)), key=lambda at: abs(largest[at] - half_way))
        left, top = 10 + 8 * max(map(len, self.rows)), 100
        width, parts = left, []
        for number, at in enumerate((0, middle, len(steps) - 1)):
            x = left + number * (_CELL * len(self.columns) + 24)
            parts += [note(x, 14, f"step {steps[at]:,}"), *_table(x, top, self.kept[steps[at]], self.columns)]
            width = x + _CELL * len(self.columns) + 24
        parts += [
            note(left - 6, top + _HEIGHT * (row + 0.5), word, "end") for row, word in enumerate(self.rows)
        ]
        return as_image(as_svg(width, top + _HEIGHT * len(self.rows) + 12, parts, self.alt()), self.alt())

    def alt(self) -> str:
        (first, start), *_, (last, end) = self.kept.items()
        looks = ", ".join(
            f"{word} at {self.columns[place]} ({row[place]:.2f})"
            for word, row, place in zip(self.rows, end, end.argmax(axis=1), strict=True)
        )
        return "\n".join(
            [
                "Attention weights during a training.",
                f"At step {first:,} the largest weight of a row is {start.max(axis=1).mean():.2f} on average "
                f"(uniform would be {1 / len(self.columns):.2f}); at step {last:,} it is {end.max(axis=1).mean():.2f}.",
                f"At the end each row looks most: {looks}.",
            ]
        )


def watch_it_learn(rows: Sequence[str], columns: Sequence[str], kept: Mapping[int, np.ndarray]) -> None:
    """Shows a :class:`WatchItLearn`."""
    WatchItLearn(rows, columns, kept).show()


def _table(x: float, top: float, weights: np.ndarray, columns: Sequence[str]) -> list[str]:
    parts = [
        f'<g transform="translate({x + _CELL * (at + 0.5):.0f} {top - 6}) rotate(-60)">{note(0, 0, word)}</g>'
        for at, word in enumerate(columns)
    ]
    for (row, column), weight in np.ndenumerate(weights):
        parts.append(
            f'<rect x="{x + _CELL * column:.0f}" y="{top + _HEIGHT * row}" width="{_CELL - 1}" height="{_HEIGHT - 1}" '
            f'style="fill:{WEIGHT.colour};fill-opacity:{0.04 + 0.96 * weight:.2f}"/>'
        )
    return parts
