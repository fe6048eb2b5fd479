"""Work that a learning platform marks as late without saying by how much. Its lateness is not known until an instructor decides it, once;
until then reports, exports and feedback pages say so, and nothing is deducted.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import datetime, timedelta
from pathlib import Path

from grader.errors import GraderError
from grader.files import LATE, TIMESTAMP, Unreadable, file_bytes, printable
from grader.reference.lab import Lab


def marked_late(folder: Path) -> str:
    """Who marks a submission as late, if it is not known by how much; empty if nobody does, or if that is decided."""
    if (folder / TIMESTAMP).exists():
        return ""
    try:
        return printable(file_bytes(folder / LATE)[:50].decode("utf-8", "replace").strip())
    except Unreadable:
        return ""


def undecided(lab: Lab) -> dict[str, str]:
    """Student -> who marks the submission as late, of those whose lateness is not known."""
    folders = sorted(lab.course.submitted.glob(f"*/{lab.name}"))
    found = {folder.parent.name: marked_late(folder) for folder in folders}
    return {student: who for student, who in found.items() if who}


def decide(
    lab: Lab,
    deadline: datetime | None,
    extensions: Mapping[str, timedelta],
    days: float,
    students: Collection[str] = (),
) -> list[str]:
    """Decides how late work is, for all whose lateness is not known or for some of them. Returns whose it was.

    Args:
        deadline: when the lab had to be handed in (UTC).
        extensions: student -> more time that this student has.
        days: after the student's own deadline; 0: it is not late.

    Raises:
        GraderError: there is no deadline, nothing to decide, or a file cannot be written.
    """
    open_ones = undecided(lab)
    chosen = [student for student in open_ones if not students or student in students]
    if missing := [student for student in students if student not in open_ones]:
        raise GraderError(
            f"Nothing is to be decided about {', '.join(missing)}. `grader late {lab.name}` lists whose work is marked as late."
        )
    if not chosen:
        raise GraderError(f"No work for {lab.name} is marked as late without a time.")
    if deadline is None:
        raise GraderError(
            f"{lab.name} has no deadline to be late for. Set it first: grader release {lab.name} --due '2027-01-31 18:00 Europe/Berlin'"
        )
    settle(
        lab,
        {each: deadline + extensions.get(each, timedelta()) + timedelta(days=days) for each in chosen},
    )
    return chosen


def settle(lab: Lab, times: Mapping[str, datetime]) -> None:
    """Enters when work was handed in (UTC) whose lateness was not known.

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
            (folder / LATE).unlink(missing_ok=True)
    except OSError as error:
        raise GraderError(f"{folder} cannot be written to: {error.strerror}.") from None


def late_in_words(lab: str, count: int) -> str:
    """What to say about work whose lateness is not known."""
    which = f"{count} submissions are" if count > 1 else "1 submission is"
    return f"{which} marked as late, by how much is not known, so nothing was deducted. To decide it: grader late {lab} --days N"
