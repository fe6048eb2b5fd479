"""Figures and widgets of the labs, and the two ways to show them."""

from __future__ import annotations

import base64
import io
from html import escape
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def show_figure(figure: Figure, alt: str) -> None:
    """Shows a Matplotlib figure with a text that stands for it where it cannot be seen.

    JupyterLab gives a PNG output no alt text, so the picture is published as an HTML image.
    """
    picture = io.BytesIO()
    figure.savefig(picture, format="png", dpi=110, facecolor="white")
    data = base64.b64encode(picture.getvalue()).decode("ascii")
    html = f'<img alt="{escape(alt)}" src="data:image/png;base64,{data}" style="max-width:100%">'
    _publish({"text/html": html, "text/plain": alt})


def show_live(widget: Any, html: str, text: str) -> None:
    """Shows a widget where there is a kernel behind it, and else its HTML or plain-text fallback."""
    bundle = dict(widget._repr_mimebundle_())
    _publish({**bundle, "text/html": html, "text/plain": text})


def _publish(bundle: dict[str, Any]) -> None:
    from IPython.core.getipython import get_ipython

    shell = get_ipython()
    if shell is None:
        print(bundle["text/plain"])
    else:
        shell.display_pub.publish(data=bundle)
