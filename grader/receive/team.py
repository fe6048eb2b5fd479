"""What a team hands in: of all that its members have handed in, the one piece of work that counts, and a copy of it for each of them.

The same rule holds as for one person's attempts: the last one counts. Lateness is that of the work that counts, by each member's own deadline.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from grader.files import (
    LATE,
    LOCAL_TIME,
    SECRET,
    TEAM,
    TIMESTAMP,
    Unreadable,
    file_bytes,
    find_notebook,
    time_of,
)
from grader.people.shared import Together, note_of, together_in
from grader.receive.beside import Beside, in_folder
from grader.receive.store import UNCHANGED, folders_of, scratch, store, write_receipt
from grader.reference.lab import Lab


@dataclass(frozen=True)
class HandedIn:
    """One person's work, as it can be taken.

    Attributes:
        shown: its path in the source, safe to show; empty for work that was collected before.
        attempt: when it was handed in, as names in the source say it; None if they do not.
    """

    student: str
    shown: str
    data: bytes
    beside: Beside
    receipt: Mapping[str, bytes]
    attempt: datetime | None = None

    @property
    def when(self) -> datetime | None:
        """When it was handed in (UTC), if that is known."""
        text = self.receipt.get(TIMESTAMP, b"").decode("ascii", "replace").strip()
        return time_of(text) if text else None

    @property
    def content(self) -> tuple[bytes, Mapping[str, str]]:
        """What is graded of it."""
        return self.data, dict(self.beside.modules)


def last_of(works: Sequence[HandedIn]) -> HandedIn:
    """Of what several members have handed in, what counts. Of the same work that several have handed in, it is the first one.

    Raises:
        Unreadable: nothing says which of them is the last.
    """
    whens: list[datetime | None] = [work.when for work in works]
    if None in whens:
        whens = [work.attempt for work in works]
    if None in whens:
        last = works[0]
        unclear = [work for work in works if work.content != last.content]
    else:
        latest = max(filter(None, whens))
        last = next(work for work, when in zip(works, whens, strict=True) if when == latest)
        unclear = [
            work
            for work, when in zip(works, whens, strict=True)
            if when == latest and work.content != last.content
        ]
    if unclear:
        listed = ", ".join(f"{work.student}'s {work.shown}" for work in works)
        raise Unreadable(
            f"Several members of a team handed in different work, and nothing says which is the last: {listed}. Find that out, and remove the others."
        )
    same = [(when, work) for when, work in zip(whens, works, strict=True) if work.content == last.content]
    return min(same, key=lambda each: (each[0] or datetime.min, LATE in each[1].receipt, each[1].student))[1]


def collected_later(lab: Lab, team: str, members: Sequence[str], last: HandedIn) -> HandedIn | None:
    """Work of a team that was collected before and is later than what a source has. None if there is none, or if times are not known.

    So it does not matter in which order sources are collected that have some of the members each.
    """
    found = []
    for member in members:
        folder, _ = folders_of(lab, member)
        note = together_in(folder)
        if note and note.team != team:  # of the team that this member was in before
            continue
        work = _collected(lab, folder, note.by if note else member)
        if work and work.when and last.when and work.when > last.when and work.content != last.content:
            found.append((work.when, work.student, work))
    return max(found, key=lambda each: each[:2])[2] if found else None


def _collected(lab: Lab, folder: Path, student: str) -> HandedIn | None:
    path, _ = find_notebook(folder, lab.notebook_name)
    receipt = {}
    try:
        data = file_bytes(path)
    except Unreadable:
        return None
    for name in (TIMESTAMP, LOCAL_TIME, LATE):
        with suppress(Unreadable):
            receipt[name] = file_bytes(folder / name)[:100]
    return HandedIn(student, "", data, in_folder(lab, path), receipt)


def give_to(lab: Lab, member: str, team: str, work: HandedIn, secret: bytes = b"") -> tuple[str, str]:
    """Puts a team's work where grading looks for a member's, and notes whose it is. Returns what has happened, as
    :func:`grader.receive.store.store` does.

    Args:
        secret: under which nbgrader finds this member's feedback; empty if this member has not handed it in.

    Raises:
        GraderError: it cannot be written.
    """
    folder, _ = folders_of(lab, member)
    note = Together(team, work.student, _digest(lab, team, work))
    before, was = together_in(folder), _collected(lab, folder, member)
    same = was is not None and was.content == work.content
    receipt = {name: data for name, data in work.receipt.items() if name != SECRET}
    if secret := secret or (_secret_in(folder) if same else b""):
        receipt[SECRET] = secret
    outcome, told = store(lab, member, work.data, work.beside, receipt)
    earlier = was is not None and was.when and work.when and work.when < was.when
    if before is None or before.work != note.work or (same and earlier):
        if outcome == UNCHANGED:  # of the same work, the time of the first counts for all
            write_receipt(folder, receipt)
        scratch(folder, TEAM, note_of(note)).replace(folder / TEAM)
    return outcome, told


def _secret_in(folder: Path) -> bytes:
    try:
        return file_bytes(folder / SECRET)[:1000]
    except Unreadable:
        return b""


def is_own(lab: Lab, student: str) -> None:
    """Notes that a student's work is nobody else's."""
    folder, _ = folders_of(lab, student)
    (folder / TEAM).unlink(missing_ok=True)


def _digest(lab: Lab, team: str, work: HandedIn) -> str:
    data, modules = work.content
    parts = [lab.name, team, hashlib.sha256(data).hexdigest(), *map(repr, sorted(modules.items()))]
    return hashlib.sha256("\n".join(parts).encode("utf-8", "replace")).hexdigest()
