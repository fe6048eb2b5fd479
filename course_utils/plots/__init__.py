"""Figures and widgets of the labs, and the two ways to show them."""

from __future__ import annotations

import base64
import hashlib
import io
import sys
from html import escape
from typing import TYPE_CHECKING, Any

from course_utils.display import publish
from course_utils.plots.themes import dark

if TYPE_CHECKING:
    from ipywidgets import HTML, DOMWidget
    from matplotlib.figure import Figure

_CSS_PIXELS_AN_INCH = 80
_FITS_A_PHONE = 500  # pixels: a wider figure scrolls there, because its text would become too small
_SHARPNESS = 2  # image pixels for each CSS pixel: crisp on high-resolution screens
# Who says on the page what its theme is: JupyterLab, the course's web pages, Colab, VS Code.
ON_DARK_PAGES = '[data-jp-theme-light="false"],html[data-theme="dark"],html[theme="dark"],body.vscode-dark'
ON_LIGHT_PAGES = '[data-jp-theme-light="true"],html[data-theme="light"],html[theme="light"],body.vscode-light'
_AFTER_THE_KERNEL = """\
<style>
.tl-live.jupyter-widgets-disconnected::before, .tl-live .jupyter-widgets-disconnected::before { display: none; }
.tl-live:not(.jupyter-widgets-disconnected) .tl-ended { display: none; }
</style>
<div class="tl-ended">Only a running kernel can answer something new: run this cell again.</div>"""
"""JupyterLab puts a broken link at every part of a widget whose kernel has ended, and drops what is typed there."""


def show_figure(figure: Figure, alt: str) -> None:
    """Shows a Matplotlib figure, in the colours of the page's theme, with a text that describes it where it cannot be seen.

    JupyterLab gives a PNG output no alt text, so the picture is published as an HTML image. It is drawn for a white ground;
    where the theme is dark, a style puts its dark version in its place, without a ground of its own. Pages that remove styles,
    as JupyterLab does in notebooks that are not trusted, show the white one, and so does paper.

    Args:
        figure: made with or without pyplot; it is not shown a second time at the end of the cell.
        alt: what the figure shows, in one or two sentences.
    """
    light = _picture(figure, facecolor="white")
    with dark(figure):
        at_night = _picture(figure, transparent=True)
    if pyplot := sys.modules.get("matplotlib.pyplot"):
        pyplot.close(figure)
    name = f"figure-{hashlib.sha256(light.encode()).hexdigest()[:12]}"
    width = round(figure.get_figwidth() * _CSS_PIXELS_AN_INCH)
    picture = f'<img alt="{escape(alt)}" src="{light}" width="{width}" style="max-width:100%;height:auto" class="{name}">'
    html = (scrolling(picture, width) if width > _FITS_A_PHONE else picture) + (
        f"<style>@media screen{{:is({ON_DARK_PAGES}) .{name}{{content:url({at_night});background:none!important}}}}</style>"
    )
    publish({"text/html": html, "text/plain": alt})


def _picture(figure: Figure, **how: Any) -> str:
    """The address of a drawing of a figure that holds the drawing itself."""
    file = io.BytesIO()
    # Lossless WebP has a third of PNG's size, so both versions together are smaller than one PNG.
    figure.savefig(
        file,
        format="webp",
        dpi=_CSS_PIXELS_AN_INCH * _SHARPNESS,
        pil_kwargs={"lossless": True, "quality": 50, "method": 2},
        **how,
    )
    return f"data:image/webp;base64,{base64.b64encode(file.getvalue()).decode('ascii')}"


def scrolling(picture: str, width: int) -> str:
    """A picture that scrolls sideways in a page where it would become too small to read, by keyboard, too."""
    box = '<div tabindex="0" role="group" aria-label="picture, scrolls sideways" style="overflow-x:auto">'
    return f'{box}<div style="min-width:{round(0.66 * width)}px">{picture}</div></div>'


def show_live(widget: DOMWidget, html: str, text: str) -> None:
    """Shows a widget if a kernel is running, and otherwise a static version of it.

    Args:
        widget: the live version, for JupyterLab.
        html: the same content for pages without a kernel: feedback, GitHub, a saved notebook as HTML.
        text: the same content for plain text.
    """
    import ipywidgets

    live = ipywidgets.VBox([widget, ipywidgets.HTML(_AFTER_THE_KERNEL)])
    live.add_class("tl-live")
    publish({**live._repr_mimebundle_(), "text/html": html, "text/plain": text})


def focus_ring() -> HTML:
    """Part of a widget with sliders, which would not show by themselves that they have the keyboard focus."""
    import ipywidgets

    return ipywidgets.HTML(
        "<style>.noUi-handle:focus-visible {outline: 2px solid var(--jp-brand-color1, #1976d2) !important; "
        "outline-offset: 2px}</style>"
    )
