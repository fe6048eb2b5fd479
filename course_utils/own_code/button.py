"""A button in a notebook for what takes a while, so that *Run All* waits for nothing: it works when somebody presses it."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Callable
from html import escape
from typing import TYPE_CHECKING

from course_utils.display import QUIET, inline, plain

if TYPE_CHECKING:
    from ipywidgets import DOMWidget

Say = Callable[[str], None]
"""Shows one more line below the button."""


def show_button(label: str, work: Callable[[Say], DOMWidget | None], instead: str) -> None:
    """Shows a button.

    Args:
        label: what is written on it.
        work: what it does. What it returns is shown below the lines that it says.
        instead: a sentence for pages on which no button works.
    """
    import ipywidgets

    from course_utils.plots import show_live

    button = ipywidgets.Button(description=label, layout=ipywidgets.Layout(width="auto"))
    said = ipywidgets.HTML()
    below = ipywidgets.VBox()

    def say(line: str) -> None:
        said.value += f'<div aria-live="polite" style="{QUIET}">{inline(line)}</div>'

    def pressed(_: object) -> None:
        button.disabled, said.value, below.children = True, "", ()
        say("One moment ...")
        try:
            with contextlib.redirect_stdout(io.StringIO()):  # what a learner's code prints
                shown = work(say)
            said.value = said.value.partition("</div>")[2]
            below.children = (shown,) if shown else ()
        except Exception as error:  # ipywidgets would send it to a log
            said.value = ""
            say(f"That did not work: {type(error).__name__}: {error}")
        finally:
            button.disabled = False

    button.on_click(pressed)
    html = f'<div style="{QUIET}"><b>{escape(label)}</b>: {inline(instead)}</div>'
    show_live(ipywidgets.VBox([button, said, below]), html=html, text=f"{label}: {plain(instead)}")
