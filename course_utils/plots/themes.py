"""A second look for Matplotlib figures, for the dark theme.

A figure is drawn for white paper. On a dark page that is a glaring sheet, and no single rendering can do better. A colour that has a contrast of
4.5 to 1 on white has less than that on JupyterLab's dark ground. So a figure is drawn twice, and the page
shows the one that fits.
"""

from __future__ import annotations

import colorsys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.figure import Figure

PAPER, DARK = "#ffffff", "#111111"
"""The grounds of JupyterLab's two themes."""

_TEXT, _SHAPE = 4.5, 3.0  # the contrasts that WCAG 2.2 asks for (1.4.3 and 1.4.11)
_MOST = 13.0  # what black on white becomes: full white on black is hard on the eyes
_GREY = 0.06  # red, green and blue differ by less
_VIVID = 0.7  # as an HLS saturation: a dark colour that gets lighter should not become neon


def contrast(one: Any, other: Any) -> float:
    """The contrast of two colours as Matplotlib takes them, from 1 to 21 (WCAG 2.2, "contrast ratio")."""
    light, dark = sorted((_luminance(one), _luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def _luminance(colour: Any) -> float:
    from matplotlib.colors import to_rgb

    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in to_rgb(colour)]
    return float(np.dot(linear, (0.2126, 0.7152, 0.0722)))


def for_the_dark(colour: Any, text: bool = False) -> Any:
    """What a colour of a figure becomes on the dark ground.

    Greys get the contrast that they have on white, so white becomes the ground itself. A colour stays as it is if it
    stands out enough, and else gets lighter: the roles of attention look the same in both themes.

    Args:
        colour: anything that Matplotlib takes for one colour.
        text: whether it is the colour of text, which needs more contrast.
    """
    from matplotlib.colors import to_rgba

    *rgb, alpha = to_rgba(colour)
    if alpha == 0:
        return colour
    if max(rgb) - min(rgb) < _GREY:
        start, wanted = _lightness(DARK), min(contrast(rgb, PAPER), _MOST)
    elif contrast(rgb, DARK) < (_TEXT if text else _SHAPE):
        start, wanted = _lightness(rgb), _TEXT
    else:
        return colour
    hue, _, saturation = colorsys.rgb_to_hls(*rgb)
    saturation = min(saturation, _VIVID)
    for lightness in np.linspace(start, 1, 200):
        lighter = colorsys.hls_to_rgb(hue, lightness, saturation)
        if contrast(lighter, DARK) >= wanted:
            break
    return (*lighter, alpha)


def _lightness(colour: Any) -> float:
    from matplotlib.colors import to_rgb

    return colorsys.rgb_to_hls(*to_rgb(colour))[1]


@contextmanager
def dark(figure: Figure) -> Iterator[None]:
    """Within it, a figure that has been drawn once has the colours for the dark ground; afterwards its own again.

    Colours that stand for numbers (images, and what has a colour map) stay, and so does text that lies on an image,
    unless the ground shines through it.
    """
    colours = [
        (artist, name, colour, change)
        for artist in _artists(figure)
        for name, colour, change in _colours(artist)
    ]
    for artist, name, _, changed in colours:
        artist.set(**{name: changed})
    try:
        yield
    finally:
        for artist, name, colour, _ in colours:
            artist.set(**{name: colour})


def _artists(figure: Figure) -> Iterator[Artist]:
    from matplotlib.text import Annotation, Text

    for artist in figure.findobj():
        yield artist
        if isinstance(artist, Text) and (ground := artist.get_bbox_patch()):
            yield ground
        if isinstance(artist, Annotation) and artist.arrow_patch:
            yield artist.arrow_patch


def _colours(artist: Artist) -> Iterator[tuple[str, Any, Any]]:
    """Name, colour, and colour for the dark, of each of an artist's colours that changes."""
    from matplotlib.collections import Collection
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch
    from matplotlib.text import Text

    if isinstance(artist, Text):
        if not _on_an_image(artist):
            yield "color", artist.get_color(), for_the_dark(artist.get_color(), text=True)
    elif isinstance(artist, Line2D):
        for name in ("color", "markerfacecolor", "markeredgecolor"):
            colour = getattr(artist, f"get_{name}")()
            yield name, colour, for_the_dark(colour)
    elif isinstance(artist, Patch):
        yield "facecolor", artist.get_facecolor(), for_the_dark(artist.get_facecolor())
        yield "edgecolor", artist.get_edgecolor(), for_the_dark(artist.get_edgecolor())
    elif isinstance(artist, Collection) and artist.get_array() is None:
        for name in ("facecolor", "edgecolor"):
            rows = getattr(artist, f"get_{name}")()
            yield name, rows, [for_the_dark(row) for row in rows]


def _on_an_image(text: Any) -> bool:
    middle = np.mean(text.get_window_extent().get_points(), axis=0)
    images = text.axes.images if text.axes else ()
    return any(image.cmap(0.0)[3] == 1 and image.get_window_extent().contains(*middle) for image in images)
