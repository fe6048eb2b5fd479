"""Where the project is that is tested, which labs it has, and what several tests read."""

from __future__ import annotations

import base64
import re
import subprocess
from pathlib import Path
from xml.etree import ElementTree

from grader.course import Course

ROOT = Path(__file__).parents[1]
LABS = Course(ROOT).labs()


def turn_of(count: int) -> int:
    """Whose turn it is, from 0 to ``count`` - 1: what is too long for every proof takes turns from commit to commit."""
    done = subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, text=True)
    return int(done.stdout.strip() or "0", 16) % count


def drawn(html: str) -> ElementTree.Element:
    """The drawing that an HTML image holds."""
    data = re.search(r'src="data:image/svg\+xml;base64,([^"]+)"', html).group(1)
    return ElementTree.fromstring(base64.b64decode(data))
