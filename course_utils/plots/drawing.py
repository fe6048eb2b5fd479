"""Drawings of mechanisms: SVG in the colours of JupyterLab's theme, so that they can be read in light and dark.

A drawing is made of boxes with words, arrows between them, and notes; coordinates are in pixels at full size.
"""

from __future__ import annotations

from html import escape

from course_utils.display import publish

INK, QUIET, PAPER = (
    "var(--jp-content-font-color1,#1b1b1b)",
    "var(--jp-content-font-color2,#5b6b7b)",
    "var(--jp-layout-color1,#fff)",
)
_YOURS = "#21918c"
_FONT = "var(--jp-content-font-family,system-ui,sans-serif)"


def box(
    x: float, y: float, width: float, height: float, text: str, yours: bool = False, dashed: bool = False
) -> str:
    """A box with one or more lines of text in its middle.

    Args:
        text: lines are separated by newlines.
        yours: whether the learner writes it: it gets a thick frame in colour.
        dashed: for what is there only at times, such as padding.
    """
    stroke, thickness = (_YOURS, 2.5) if yours else (INK, 1)
    dashes = ' stroke-dasharray="4 3"' if dashed else ""
    frame = (
        f'<rect x="{x}" y="{y}" width="{width}" height="{height}" rx="5" '
        f'style="fill:{PAPER};stroke:{stroke};stroke-width:{thickness}"{dashes}/>'
    )
    lines = text.split("\n")
    first = y + height / 2 - 8 * (len(lines) - 1)
    return frame + "".join(
        note(x + width / 2, first + 16 * number, line, "middle") for number, line in enumerate(lines)
    )


def note(x: float, y: float, text: str, anchor: str = "start", quiet: bool = False) -> str:
    """A line of text, its vertical middle at ``y``."""
    return (
        f'<text x="{x}" y="{y}" dominant-baseline="central" text-anchor="{anchor}" '
        f'style="fill:{QUIET if quiet else INK};font:13px {_FONT}">{escape(text)}</text>'
    )


def arrow(*points: tuple[float, float], dashed: bool = False) -> str:
    """A line through points with a head at its end."""
    path = " ".join(f"{x},{y}" for x, y in points)
    (before_x, before_y), (x, y) = points[-2:]
    length = max(1e-9, ((x - before_x) ** 2 + (y - before_y) ** 2) ** 0.5)
    along_x, along_y = (x - before_x) / length, (y - before_y) / length
    head = " ".join(
        f"{x - 7 * along_x + side * 4 * along_y:.1f},{y - 7 * along_y - side * 4 * along_x:.1f}"
        for side in (1, -1)
    )
    dashes = ' stroke-dasharray="4 3"' if dashed else ""
    return (
        f'<polyline points="{path}" style="fill:none;stroke:{INK};stroke-width:1.2"{dashes}/>'
        f'<polygon points="{x},{y} {head}" style="fill:{INK};stroke:none"/>'
    )


def show_drawing(width: int, height: int, parts: list[str], alt: str) -> None:
    """Shows parts as one drawing, which shrinks with the page.

    Args:
        alt: what the drawing shows, in one or two sentences, for whoever cannot see it.
    """
    svg = (
        f'<svg role="img" aria-label="{escape(alt)}" viewBox="0 0 {width} {height}" '
        f'style="width:{width}px;max-width:100%;height:auto">{"".join(parts)}</svg>'
    )
    publish({"text/html": svg, "text/plain": alt})
