"""Which files of a course other users of the machine can access, judging by their modes. Nothing is changed."""

from __future__ import annotations

import shlex
import stat
from dataclasses import dataclass
from pathlib import Path

from grader.course import Course
from grader.receive.exchange import exchange_of


@dataclass(frozen=True)
class Opening:
    """A file or folder with which other users of the machine can do more than they should.

    Attributes:
        what: what they can do.
        fix: the command line that stops it.
    """

    path: Path
    what: str
    fix: str


def openings(course: Course) -> tuple[list[Opening], Path | None]:
    """Which parts of a course, and of the exchange that it uses, others can access, judging by modes. Links are followed.

    Returns: the open files and folders, and the folder at or above the project's root that keeps others out, if there is one.

    Raises:
        GraderError: nbgrader's configuration cannot be used.
    """
    found = _open_inside(course)
    if (
        not _mode(course.root) & 0o077
    ):  # nobody gets at what is in it, whatever its modes: only at what links lead to
        found = [each for each in found if not each.path.resolve().is_relative_to(course.root.resolve())]
    exchange = exchange_of(course)
    for path in (exchange, exchange / course.course_id() / "inbound"):
        if _mode(path) & 0o1002 == 0o002:  # everybody may write to it, and it has no sticky bit
            what = "others can rename and delete files in it that belong to somebody else"
            found.append(Opening(path, what, f"chmod +t {shlex.quote(str(path))}"))
    above = (course.root, *course.root.parents)
    return found, next((folder for folder in above if not _mode(folder) & 0o011), None)


def _open_inside(course: Course) -> list[Opening]:
    found = []
    others = (course.root / name for name in (".git", ".demo", ".replaced"))
    for path in (course.solutions, course.grading, course.build, *others):
        if _mode(path) & 0o077:
            found.append(Opening(path, "others can look into it", f"chmod 700 {shlex.quote(str(path))}"))
    tables = sorted(course.root.glob("*.csv"))  # of scores, or class lists
    for path in (course.grading / "seeds.json", *tables):
        if _mode(path) & 0o077:
            found.append(Opening(path, "others can read it", f"chmod 600 {shlex.quote(str(path))}"))
    for name in (".", "nbgrader_config.py", "notebooks", "course_utils", "grader", ".venv"):
        path = course.root / name
        if _mode(path) & 0o002:
            found.append(Opening(path, "others can change it", f"chmod o-w {shlex.quote(str(path))}"))
    return found


def _mode(path: Path) -> int:
    """The permission bits of a file or folder; none if it does not exist."""
    try:
        return stat.S_IMODE(path.stat().st_mode)
    except OSError:
        return 0
