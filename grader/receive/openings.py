"""What of a course's files is open to other users of the machine, by their modes: nothing of it is changed."""

from __future__ import annotations

import shlex
import stat
from dataclasses import dataclass
from pathlib import Path

from grader.course import Course
from grader.receive.exchange import exchange_of


@dataclass(frozen=True)
class Opening:
    """A file or folder that other users of the machine can do more with than they should.

    Attributes:
        what: what they can do.
        fix: the command line that ends it.
    """

    path: Path
    what: str
    fix: str


def openings(course: Course) -> tuple[list[Opening], Path | None]:
    """What of a course, and of the exchange that it uses, is open to others, by its modes; links are followed.

    Returns: what is open, and the folder at or above the project's root, if there is one, that keeps others out.

    Raises:
        GraderError: nbgrader's configuration cannot be used.
    """
    found = []
    for path in (course.solutions, course.grading, course.build, course.root / ".git", course.root / ".demo"):
        if _mode(path) & 0o077:
            found.append(Opening(path, "others can look into it", f"chmod 700 {shlex.quote(str(path))}"))
    seeds = course.grading / "seeds.json"
    if _mode(seeds) & 0o077:
        found.append(Opening(seeds, "others can read it", f"chmod 600 {shlex.quote(str(seeds))}"))
    for name in (".", "nbgrader_config.py", "notebooks", "course_utils", "grader", ".venv"):
        path = course.root / name
        if _mode(path) & 0o002:
            found.append(Opening(path, "others can change it", f"chmod o-w {shlex.quote(str(path))}"))
    exchange = exchange_of(course)
    for path in (exchange, exchange / "transformer-labs" / "inbound"):
        if _mode(path) & 0o1002 == 0o002:  # all may write, and it has no sticky bit
            what = "others can rename and delete what is another's in it"
            found.append(Opening(path, what, f"chmod +t {shlex.quote(str(path))}"))
    above = (course.root, *course.root.parents)
    return found, next((folder for folder in above if not _mode(folder) & 0o011), None)


def _mode(path: Path) -> int:
    """The bits of permission of a file or folder; none if it is not there."""
    try:
        return stat.S_IMODE(path.stat().st_mode)
    except OSError:
        return 0
