"""Drawings of mechanisms: SVG in the colours of JupyterLab's theme, so that they can be read in light and dark.

A drawing is made of boxes with words, arrows between them, and notes; coordinates are in pixels at full size.
"""

from __future__ import annotations

import base64
import hashlib
from html import escape

from course_utils.display import publish
from course_utils.plots import ON_DARK_PAGES, ON_LIGHT_PAGES, scrolling

INK, QUIET, PAPER = (
    "var(--jp-content-font-color1,#1b1b1b)",
    "var(--jp-content-font-color2,#5b6b7b)",
    "var(--jp-layout-color1,#fff)",
)
_MARK = "#21918c"
_FONT = "var(--jp-content-font-family,system-ui,sans-serif)"


def box(
    x: float,
    y: float,
    width: float,
    height: float,
    text: str,
    marked: bool = False,
    dashed: bool = False,
    done: bool = False,
) -> str:
    """A box with one or more lines of text in its middle.

    Args:
        text: lines are separated by newlines.
        marked: it gets a thick frame in colour, for what the learner writes, or what is trained.
        dashed: for what is there only at times, such as padding, or is repeated.
        done: whether the learner has written it already: it is tinted, and its first line gets a tick.
    """
    place = f'x="{x}" y="{y}" width="{width}" height="{height}" rx="5"'
    stroke, thickness = (_MARK, 2.5) if marked else (INK, 1)
    dashes = ' stroke-dasharray="4 3"' if dashed else ""
    frame = f'<rect {place} style="fill:{PAPER};stroke:{stroke};stroke-width:{thickness}"{dashes}/>'
    if done:
        frame += f'<rect {place} style="fill:{_MARK};fill-opacity:.22"/>'
        text = f"✓ {text}"
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


def as_svg(width: int, height: int, parts: list[str], alt: str) -> str:
    """Parts as one drawing, which shrinks with the page."""
    return (
        f'<svg role="img" aria-label="{escape(alt)}" viewBox="0 0 {width} {height}" '
        f'style="width:{width}px;max-width:100%;height:auto">{"".join(parts)}</svg>'
    )


_LIGHT = "--jp-content-font-color1:#1b1b1b;--jp-content-font-color2:#5b6b7b;--jp-layout-color1:#fff;--jp-border-color2:#ccc"
_DARK = "--jp-content-font-color1:#eee;--jp-content-font-color2:#b5bdc5;--jp-layout-color1:#111;--jp-border-color2:#555"


def as_image(svg: str, alt: str) -> str:
    """A drawing of :func:`as_svg` as an HTML image.

    An image survives where a page removes SVG: in notebooks that are not trusted, on GitHub, in feedback. It cannot see the page's
    theme, so where the page says what that is, a style puts the version for it in its place. Elsewhere, and where styles are
    removed, too, it has a ground of its own and follows the reader's preference.
    """
    begin, _, parts = svg.partition(">")
    width, height = begin.partition('viewBox="0 0 ')[2].partition('"')[0].split()
    ground = '<rect width="100%" height="100%" rx="8" style="fill:var(--jp-layout-color1);stroke:var(--jp-border-color2)"/>'

    def address(colours: str, ground: str = "") -> str:
        start = f'{begin} xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}">'
        drawn = f"{start}<style>{colours}</style>{ground}{parts}"
        return f"data:image/svg+xml;base64,{base64.b64encode(drawn.encode()).decode('ascii')}"

    anywhere = address(f":root{{{_LIGHT}}}@media (prefers-color-scheme: dark){{:root{{{_DARK}}}}}", ground)
    name = f"drawing-{hashlib.sha256(svg.encode()).hexdigest()[:12]}"
    themes = ((ON_LIGHT_PAGES, _LIGHT), (ON_DARK_PAGES, _DARK))
    styles = "".join(
        f":is({pages}) .{name}{{content:url({address(f':root{{{colours}}}')})}}" for pages, colours in themes
    )
    return (
        f'<img alt="{escape(alt)}" src="{anywhere}" width="{width}" style="max-width:100%;height:auto" class="{name}">'
        f"<style>{styles}</style>"
    )


def show_drawing(width: int, height: int, parts: list[str], alt: str) -> None:
    """Shows parts as one drawing.

    Args:
        alt: what the drawing shows, in one or two sentences, for readers who cannot see it.
    """
    picture = as_image(as_svg(width, height, parts, alt), alt)
    publish({"text/html": scrolling(picture, width), "text/plain": alt})
