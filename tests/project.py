"""Where the project is that is tested, which labs it has, and what several tests read."""

from __future__ import annotations

import base64
import re
from datetime import date
from pathlib import Path
from xml.etree import ElementTree

from grader.course import Course

ROOT = Path(__file__).parents[1]
LABS = Course(ROOT).labs()


ALONE = ("a training", "a class", "a release")
"""What has the machine to itself for minutes: one of them each day."""


def turn_of(count: int, days: int = 1) -> int:
    """Whose turn it is, from 0 to ``count`` - 1: what is too long for every proof takes turns. So a proof that is run again on the
    same day tries the same, and after ``count`` turns everything has been tried.

    Args:
        days: how long a turn is. Two that go together need turns of different lengths, or they would always meet in the same pairs.
    """
    return date.today().toordinal() // days % count


def drawn(html: str) -> ElementTree.Element:
    """The drawing that an HTML image holds."""
    data = re.search(r'src="data:image/svg\+xml;base64,([^"]+)"', html).group(1)
    return ElementTree.fromstring(base64.b64decode(data))
