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
QUIET = f"{TEXT};color:var(--jp-content-font-color2,#5b6b7b);margin:.3em 0"
LINE = "border-top:1px solid var(--jp-border-color2,#ccc)"


def publish(bundle: dict[str, Any], metadata: dict[str, Any] | None = None) -> None:
    """Publishes one output with a form for each MIME type; outside a notebook, prints its plain text."""
    if not in_notebook():
        print(bundle.get("text/plain", ""))
    else:
        from IPython.core.getipython import get_ipython

        get_ipython().display_pub.publish(data=bundle, metadata=metadata)


def in_notebook() -> bool:
    """Whether the code runs in IPython, which can show more than text."""
    try:
        from IPython.core.getipython import get_ipython
    except ImportError:
        return False
    return get_ipython() is not None


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


_NUMBER = re.compile(r"\W*\d")

_EMPHASIS = re.compile(r"(?<![\w*])\*(\w(?:[^*]*[\w.!?])?)\*(?![\w*])")


def show_table(head: Iterable[str], rows: Iterable[Iterable[str]], title: str = "") -> None:
    """Shows a table of texts. The first column is set left, and so are columns of words; columns of numbers are set right.

    Args:
        head: the columns' titles.
        rows: their cells, as many as there are titles; `backticks` set code.
        title: shown above.
    """
    html, text = a_table(head, rows)
    publish(
        {
            "text/html": f'<div style="{TEXT}">{f"<p><b>{inline(title)}</b></p>" if title else ""}{html}</div>',
            "text/plain": f"{plain(title)}\n{text}" if title else text,
        }
    )


def _whole(cell: str) -> str:
    """Keeps an interval, such as "0.87 to 0.95", on one line."""
    return "white-space:nowrap;" if len(cell) <= 20 else ""


def a_table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> tuple[str, str]:
    """A table of texts as HTML and as plain text, for :func:`show_table` and for what holds tables."""
    lines = [[*head], *([*row] for row in rows)]
    widths = [max(len(plain(cell)) for cell in column) for column in zip(*lines, strict=True)]
    # On a narrow page, names of several words would otherwise have a line for each word.
    first = f"min-width:{min(8, widths[0] // 2)}em;"
    right = [
        place > 0 and 2 * sum(bool(_NUMBER.match(cell)) for cell in column) >= len(column) - column.count("")
        for place, (_, *column) in enumerate(zip(*lines, strict=True))
    ]
    html = "".join(
        "<tr style='background:none'>"
        + "".join(
            f'<{tag} style="{_CELL};text-align:{"right" if right[column] else "left"};{"" if column else first}{_whole(cell) if number and right[column] else ""}{LINE if number else ""}">{inline(cell)}</{tag}>'
            for column, cell in enumerate(line)
            for tag in ["td" if number or not cell else "th"]  # an empty corner heads nothing
        )
        + "</tr>"
        for number, line in enumerate(lines)
    )
    text = "\n".join(
        "  ".join(
            plain(cell).rjust(width) if numbers else plain(cell).ljust(width)
            for cell, width, numbers in zip(line, widths, right, strict=True)
        ).rstrip()
        for line in lines
    )
    return f'<table style="border:none;margin:.2em 0">{html}</table>', text
