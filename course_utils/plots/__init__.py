"""Figures and widgets of the labs, and the two ways to show them."""

from __future__ import annotations

import base64
import io
import sys
from html import escape
from typing import TYPE_CHECKING

from course_utils.display import publish

if TYPE_CHECKING:
    from ipywidgets import HTML, DOMWidget
    from matplotlib.figure import Figure

_CSS_PIXELS_AN_INCH = 80
_SHARPNESS = 2  # image pixels for each CSS pixel: crisp on high-resolution screens


def show_figure(figure: Figure, alt: str) -> None:
    """Shows a Matplotlib figure with a text that describes it where it cannot be seen.

    JupyterLab gives a PNG output no alt text, so the picture is published as an HTML image.

    Args:
        figure: made with or without pyplot; it is not shown a second time at the end of the cell.
        alt: what the figure shows, in one or two sentences.
    """
    picture = io.BytesIO()
    # White even in the dark theme: the figure's own text is black.
    figure.savefig(picture, format="png", dpi=_CSS_PIXELS_AN_INCH * _SHARPNESS, facecolor="white")
    if pyplot := sys.modules.get("matplotlib.pyplot"):
        pyplot.close(figure)
    data = base64.b64encode(picture.getvalue()).decode("ascii")
    width = round(figure.get_figwidth() * _CSS_PIXELS_AN_INCH)
    html = (
        f'<img alt="{escape(alt)}" src="data:image/png;base64,{data}" '
        f'width="{width}" style="max-width:100%;height:auto">'
    )
    publish({"text/html": html, "text/plain": alt})


def show_live(widget: DOMWidget, html: str, text: str) -> None:
    """Shows a widget if a kernel is running, and otherwise a static version of it.

    Args:
        widget: the live version, for JupyterLab.
        html: the same content for pages without a kernel: feedback, GitHub, a saved notebook as HTML.
        text: the same content for plain text.
    """
    publish({**widget._repr_mimebundle_(), "text/html": html, "text/plain": text})


def focus_ring() -> HTML:
    """Part of a widget with sliders, which would not show by themselves that they have the keyboard focus."""
    import ipywidgets

    return ipywidgets.HTML(
        "<style>.noUi-handle:focus-visible {outline: 2px solid var(--jp-brand-color1, #1976d2) !important; "
        "outline-offset: 2px}</style>"
    )
