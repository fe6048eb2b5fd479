"""Where the project is that is tested, and which labs it has."""

from __future__ import annotations

from pathlib import Path

from grader.course import Course

ROOT = Path(__file__).parents[1]
LABS = Course(ROOT).labs()
