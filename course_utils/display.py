"""How the course puts something on the page: one output that carries HTML and the plain text beside it.

Colours come from JupyterLab's theme if there is one (``--jp-...``), so that everything is readable in
the dark theme too; nothing is conveyed by colour alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from html import escape
from typing import Any

GOOD, BAD, OPEN = "#1b7f5c", "#c2410c", "#5b6b7b"  # colour-blind readers can tell these apart, too
TEXT = (
    "color:var(--jp-content-font-color1,#1b1b1b);"
    "font-family:var(--jp-content-font-family,system-ui,sans-serif)"
)
CARD = (
    f"{TEXT};background:var(--jp-layout-color1,#fff);border:1px solid var(--jp-border-color2,#ccc);"
    "border-radius:6px;padding:.6em 1em;margin:.3em 0;max-width:52em;line-height:1.45"
)
LINE = "border-top:1px solid var(--jp-border-color2,#ccc)"


def publish(bundle: dict[str, Any]) -> None:
    """Publishes one output with a form for each MIME type; outside a notebook, prints its plain text."""
    try:
        from IPython.core.getipython import get_ipython
    except ImportError:
        shell = None
    else:
        shell = get_ipython()
    if shell is None:
        print(bundle.get("text/plain", ""))
    else:
        shell.display_pub.publish(data=bundle)


def table(rows: Iterable[Iterable[str]]) -> str:
    """An HTML table of cells that are HTML already."""
    lines = ("".join(f'<td style="{_CELL}">{cell}</td>' for cell in row) for row in rows)
    body = "".join(f'<tr style="background:none">{line}</tr>' for line in lines)
    return f'<table style="border:none;margin:.2em 0">{body}</table>'


# JupyterLab and nbgrader's pages right-align and stripe every table, but styles in the cells themselves take precedence.
_CELL = (
    "text-align:left;vertical-align:top;padding:.15em .9em .15em 0;background:none;border:none;"
    "font-size:inherit;white-space:normal"
)


def inline(text: str) -> str:
    """Escapes, then sets `backticked` parts as code and *starred* ones as emphasis."""
    parts = re.split(r"`([^`]*)`", escape(text))
    for place, part in enumerate(parts):
        parts[place] = f"<code>{part}</code>" if place % 2 else _EMPHASIS.sub(r"<em>\1</em>", part)
    return "".join(parts)


def plain(text: str) -> str:
    """The same text without the marks that :func:`inline` understands, for places that cannot show formatting."""
    parts = text.split("`")
    return "".join(part if place % 2 else _EMPHASIS.sub(r"\1", part) for place, part in enumerate(parts))


_EMPHASIS = re.compile(r"(?<![\w*])\*(\w(?:[^*]*[\w.!?])?)\*(?![\w*])")
