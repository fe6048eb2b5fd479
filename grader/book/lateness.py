"""Work that a learning platform marks as late without saying by how much. Its lateness is not known until an instructor decides it;
until then reports, exports and feedback pages say so, and nothing is deducted.

What was decided is the time in the submission's folder, as if it had been handed in then. The mark stays beside it. So a decision differs from a
time that is known, and can be changed.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import datetime
from pathlib import Path

from grader.errors import GraderError
from grader.files import LATE, TIMESTAMP, Unreadable, file_bytes, printable, time_of
from grader.reference.lab import Lab


def marked_late(folder: Path) -> str:
    """Who marks a submission as late, if it is not known by how much; empty if nobody does, or if that is decided."""
    return "" if (folder / TIMESTAMP).exists() else _mark(folder)


def marked(lab: Lab) -> dict[str, str]:
    """Student -> who marks the submission as late, whether or not it is decided by how much."""
    return {folder.parent.name: who for folder in _folders(lab) if (who := _mark(folder))}


def undecided(lab: Lab) -> dict[str, str]:
    """Student -> who marks the submission as late, of those whose lateness is not known."""
    return {folder.parent.name: who for folder in _folders(lab) if (who := marked_late(folder))}


def to_decide(lab: Lab, students: Collection[str] = ()) -> list[str]:
    """Whose lateness can be decided: of people who are named, also where it has been; else only where it has not.

    Raises:
        GraderError: there is nothing to decide.
    """
    everybody, chosen = marked(lab), list(dict.fromkeys(students)) or list(undecided(lab))
    if missing := [student for student in chosen if student not in everybody]:
        raise GraderError(
            f"There is nothing to decide about {', '.join(missing)}: the work has no mark of lateness, or its time is known. "
            f"`grader late {lab.name}` lists whose work is marked as late."
        )
    if not chosen and everybody:
        raise GraderError(
            f"All late work for {lab.name} has been decided. To decide again, name whose: grader late {lab.name} STUDENT --days N"
        )
    if not chosen:
        raise GraderError(f"No work for {lab.name} is marked as late without a time.")
    return chosen


def decided_time(lab: Lab, student: str) -> datetime | None:
    """When work that is marked as late counts as handed in (UTC); None if that has not been decided."""
    try:
        data = file_bytes(lab.course.submitted / student / lab.name / TIMESTAMP)
    except Unreadable:
        return None
    return time_of(data[:100].decode("utf-8", "replace").strip())


def settle(lab: Lab, times: Mapping[str, datetime], known: bool = False) -> None:
    """Enters when work was handed in (UTC) whose lateness was not known.

    Args:
        known: it really was handed in then, so nobody has to decide it any more.

    Raises:
        GraderError: a file cannot be written.
    """
    try:
        for student, when in times.items():
            folder = lab.course.submitted / student / lab.name
            scratch = folder / f".{TIMESTAMP}.new"
            scratch.unlink(missing_ok=True)
            with scratch.open("x") as file:  # x: does not follow a link that somebody has put there
                file.write(f"{when:%Y-%m-%d %H:%M:%S.%f} UTC")
            scratch.replace(folder / TIMESTAMP)
            if known:
                (folder / LATE).unlink(missing_ok=True)
    except OSError as error:
        raise GraderError(f"{folder} cannot be written to: {error.strerror}.") from None


def _folders(lab: Lab) -> list[Path]:
    return sorted(lab.course.submitted.glob(f"*/{lab.name}"))


def _mark(folder: Path) -> str:
    try:
        return printable(file_bytes(folder / LATE)[:50].decode("utf-8", "replace").strip())
    except Unreadable:
        return ""


def late_in_words(lab: str, count: int) -> str:
    """What to say about work whose lateness is not known."""
    which = f"{count} submissions are" if count > 1 else "1 submission is"
    return f"{which} marked as late, by how much is not known, so nothing was deducted. To decide it: grader late {lab} --days N"
