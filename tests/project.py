"""Where the project is that is tested, and which labs it has."""

from __future__ import annotations

import subprocess
from pathlib import Path

from grader.course import Course

ROOT = Path(__file__).parents[1]
LABS = Course(ROOT).labs()


def turn_of(count: int) -> int:
    """Whose turn it is, from 0 to ``count`` - 1: what is too long for every proof takes turns from commit to commit."""
    done = subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, text=True)
    return int(done.stdout.strip() or "0", 16) % count
