"""The note beside a submission that a team has handed in: which team, and who of it."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path

from grader.files import TEAM, Unreadable, file_bytes


@dataclass(frozen=True)
class Together:
    """What is noted beside a submission that a team has handed in.

    Attributes:
        by: the member who did.
        work: the same for all copies of it, and for nothing else.
    """

    team: str
    by: str
    work: str


def together_in(folder: Path) -> Together | None:
    """What is noted in a submission's folder; None if nobody shares it."""
    try:
        found = json.loads(file_bytes(folder / TEAM)[:10_000])
        return Together(**{name: str(found[name]) for name in ("team", "by", "work")})
    except (Unreadable, ValueError, KeyError, TypeError):
        return None


def note_of(together: Together) -> bytes:
    """The content of the file :data:`grader.files.TEAM`."""
    return json.dumps(asdict(together), ensure_ascii=False).encode("utf-8", "replace")
