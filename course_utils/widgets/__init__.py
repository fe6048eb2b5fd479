"""Pictures that answer: widgets that are drawn in the page, from arrays that the learner's own functions made.

A widget is a :class:`Widget` with its data, a still picture, and one small ES module of the same name beside it. There is no
build step and nothing is fetched: the module travels with the data in the notebook. So a widget that needs no more than its
data works in a saved notebook without a kernel, too. Where widgets are not drawn at all, the still picture
takes its place.

The module's ``draw(place, model, roles)`` puts its elements into ``place``; what it may use is in ``shared.js``.
"""

from __future__ import annotations

import functools
from abc import ABC, abstractmethod
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from course_utils.display import in_notebook, publish
from course_utils.plots.roles import ROLES

_FOLDER = Path(__file__).parent
_SHARED, _STYLE = "shared.js", "shared.css"


class Widget(ABC):
    """A widget: what the page gets, and what takes its place where widgets are not drawn."""

    module: ClassVar[str]
    """The name of the ES module beside this file."""

    @abstractmethod
    def data(self) -> dict[str, Any]:
        """What the module draws: numbers, texts, lists and dictionaries, and arrays by :func:`plain`."""

    @abstractmethod
    def still(self) -> str:
        """HTML that takes the widget's place: a picture by :func:`course_utils.plots.drawing.as_image`, or text."""

    @abstractmethod
    def alt(self) -> str:
        """What the still picture shows, in a few sentences or lines: for plain text, and for readers who cannot see it."""

    def answer(self, asked: Mapping[str, Any]) -> dict[str, Any] | None:
        """New data for what the page asks (``ask`` in shared.js), computed in the kernel.

        Raises:
            ValueError: it cannot be answered; the page shows the message.
        """
        return None

    def source(self) -> str:
        """The ES module, with what all widgets share."""
        return "\n".join(_read(name) for name in (_SHARED, self.module))

    def show(self) -> None:
        """Shows the widget, with its still picture and its text for pages that do not draw widgets."""
        bundle, metadata = {}, None
        if in_notebook():
            bundle, metadata = self.live()._repr_mimebundle_()
        publish({**bundle, "text/html": self.still(), "text/plain": self.alt()}, metadata)

    def live(self) -> Any:
        """The widget as Jupyter knows it: an ``anywidget.AnyWidget`` with this widget's data."""
        live = _live_class()(
            _esm=self.source(), _css=_read(_STYLE), data=self.data(), alt=self.alt(), roles=_ROLES
        )

        def answered(change: Mapping[str, Any]) -> None:
            live.error = ""
            try:
                if (data := self.answer(change["new"])) is not None:
                    live.data = {**data, "answers": change["new"]}  # the same answer again is news, too
            except ValueError as error:
                live.error = str(error)

        live.observe(answered, names="asked")
        return live


def plain(array: np.ndarray, digits: int = 4) -> list:
    """An array as nested lists, rounded to save space in the notebook.

    Raises:
        ValueError: a number is NaN or infinite, which pages cannot read.
    """
    array = np.asarray(array)
    if not np.isfinite(array).all():
        raise ValueError("This array has NaN or infinite numbers, so it cannot be drawn.")
    return np.round(array, digits).tolist() if array.dtype.kind == "f" else array.tolist()


_ROLES = {
    name: {"letter": role.letter, "colour": role.colour, "path": role.path} for name, role in ROLES.items()
}


@functools.cache
def _read(name: str) -> str:
    return (_FOLDER / name).read_text("utf-8")


@functools.cache
def _live_class() -> type:
    """Imports anywidget only when a widget is shown: importing the course must stay light."""
    import traitlets
    from anywidget import AnyWidget

    class Live(AnyWidget):
        """The one kind of widget that the course has; what differs is the ES module."""

        _esm = traitlets.Unicode().tag(sync=True)
        _css = traitlets.Unicode().tag(sync=True)
        data = traitlets.Dict().tag(sync=True)
        alt = traitlets.Unicode().tag(sync=True)
        roles = traitlets.Dict().tag(sync=True)
        asked = traitlets.Dict().tag(sync=True)
        error = traitlets.Unicode().tag(sync=True)

    return Live
