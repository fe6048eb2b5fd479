"""One of several pictures, chosen by buttons and sliders; all of them travel with the notebook, so no kernel is needed."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from course_utils.widgets import Widget


@dataclass(frozen=True)
class Control:
    """What is chosen: a group of buttons, or a slider over the options in their order."""

    label: str
    options: Sequence[str]
    start: int = 0
    slider: bool = False


class Panels(Widget):
    """Controls, and below them the panel of what is chosen.

    Args:
        controls: one or more.
        panel: HTML of a panel, for the number of the option of each control. It is shown as it is: escape what is not your own.
        still: HTML that takes the widget's place, with as much of the panels as fits.
        alt: the same in plain text.
    """

    module = "panels.js"

    def __init__(self, controls: Sequence[Control], panel: Callable[..., str], still: str, alt: str) -> None:
        self.controls, self._still, self._alt = controls, still, alt
        counts = (range(len(control.options)) for control in controls)
        self.panels = {",".join(map(str, chosen)): panel(*chosen) for chosen in itertools.product(*counts)}

    def data(self) -> dict[str, Any]:
        controls = [
            {"label": each.label, "options": list(each.options), "start": each.start, "slider": each.slider}
            for each in self.controls
        ]
        return {"controls": controls, "panels": self.panels}

    def still(self) -> str:
        return self._still

    def alt(self) -> str:
        return self._alt
