"""Pairs of features of an encoding as clocks, whose hands move at their own speeds."""

from __future__ import annotations

import base64
import math
from typing import Any

import numpy as np

from course_utils.display import TEXT
from course_utils.plots.roles import KEY, QUERY
from course_utils.widgets import Widget, plain

_MOST_STEPS = 10


class Clocks(Widget):
    """Each pair of features as a clock; a slider moves the position, and all hands move at their own speeds.

    The tip of a hand is at (sin, cos): straight up at position 0, then clockwise.

    Args:
        angles: (n_positions, n_pairs) in radians.
        offset: if given, a second, dashed hand shows the position that many steps later, and a second
            slider changes it, from 0 to 10.
        start: the position shown first.
    """

    module = "clocks.js"

    def __init__(self, angles: np.ndarray, offset: int | None = None, start: int = 3) -> None:
        self.angles, self.offset, self.start = angles, offset, start

    def data(self) -> dict[str, Any]:
        steps = 0 if self.offset is None else _MOST_STEPS
        return {
            "angles": plain(self.angles),
            "offsets": steps,
            "start": self.start,
            "offset": self.offset or 0,
        }

    def _positions(self) -> list[int]:
        last = len(self.angles) - 1 - (0 if self.offset is None else _MOST_STEPS)
        return [position for position in (0, self.start, self.start + 7) if position <= last]

    def still(self) -> str:
        return "".join(map(self._dials, self._positions()))

    def _dials(self, position: int) -> str:
        later = None if self.offset is None else position + self.offset
        head = f"position {position}" + ("" if later is None else f", and (dashed) position {later}")
        dials = "".join(
            _dial(pair, self.angles[position, pair], None if later is None else self.angles[later, pair])
            for pair in range(self.angles.shape[1])
        )
        return f'<div style="{TEXT};line-height:1.3"><div>{head}</div><div style="display:flex;flex-wrap:wrap">{dials}</div></div>'

    def alt(self) -> str:
        return "\n\n".join(map(self._text, self._positions()))

    def _text(self, position: int) -> str:
        steps = self.offset
        lines = [f"position {position}" + ("" if steps is None else f", then {steps} steps later")]
        for pair, angle in enumerate(self.angles[position]):
            line = f"  pair {pair}: sin {math.sin(angle):6.3f}  cos {math.cos(angle):6.3f}"
            if steps is not None:
                line += f"  turns by {self.angles[position + steps, pair] - angle:.3f} radians"
            lines.append(line)
        return "\n".join(lines)


def clocks(angles: np.ndarray, offset: int | None = None, start: int = 3) -> None:
    """Shows :class:`Clocks`."""
    Clocks(angles, offset, start).show()


def _dial(pair: int, angle: float, later: float | None) -> str:
    """One clock as an image, with its numbers as text below."""

    def hand(at: float, style: str) -> str:
        x, y = 50 + 38 * math.sin(at), 50 - 38 * math.cos(at)
        return f'<line x1="50" y1="50" x2="{x:.1f}" y2="{y:.1f}" stroke-width="4" stroke-linecap="round" {style}/>'

    hands = hand(angle, f'stroke="{QUERY.colour}"')
    words = f"sin {math.sin(angle):.2f}, cos {math.cos(angle):.2f}"
    caption = words
    if later is not None:
        hands = hand(later, f'stroke="{KEY.colour}" stroke-dasharray="6 6"') + hands
        caption = f"turned by {later - angle:.3f} rad"
        words += f"; dashed: {caption}"
    drawn = (
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 100 100">'
        '<circle cx="50" cy="50" r="46" fill="none" stroke="#888" stroke-width="2"/>'
        f'<line x1="50" y1="4" x2="50" y2="12" stroke="#888" stroke-width="2"/>{hands}</svg>'
    )
    data = base64.b64encode(drawn.encode()).decode("ascii")
    return (
        f'<div style="text-align:center;width:9.5em;padding:.3em"><div>pair {pair}</div>'
        f'<img width="90" height="90" alt="pair {pair}: {words}" src="data:image/svg+xml;base64,{data}">'
        f'<div style="font-size:85%;font-variant-numeric:tabular-nums">{caption}</div></div>'
    )
