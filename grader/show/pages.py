"""What the pages about a class, a term and alike submissions have in common: their folder and names, and the words for shares,
lateness, and what to do first.
"""

from __future__ import annotations

import hashlib
import shlex
from collections.abc import Mapping, Sequence
from datetime import timedelta
from pathlib import Path

from grader.book.requests import Request
from grader.course import Course, make_private
from grader.errors import GraderError
from grader.people.students import student_id
from grader.reference.lab import Lab
from grader.show.export import for_owner, write_csv

TALK_TO = 5
"""Of those who may need help, so many are named in the sentences at the top: more than anybody talks to in a week is no list to act on."""
_ENDINGS = frozenset({"checks", "misconceptions", "similar"})
"""What the names of pages and tables about everybody end in."""
FIRST = 10
"""Of a long list, so many rows are open; the rest is folded."""


def default_page(course: Course, name: str, section: str | None = None) -> Path:
    """Where a report is written if nothing else is said."""
    return course.grading / "reports" / f"{name}{f'-{_in_name(section)}' if section else ''}.html"


def _in_name(section: str) -> str:
    """A section in a file's name, which is never that of another page or table: a section may be called “checks”."""
    name = student_id(section)
    if _ENDINGS.isdisjoint(name.casefold().split("-")):
        return name
    return f"{name}-{hashlib.blake2b(name.encode(), digest_size=4).hexdigest()}"


def write_page(
    page: Path, html: str, rows: list[list[str]], more: Mapping[str, list[list[str]]] | None = None
) -> tuple[Path, ...]:
    """Writes a page and its tables next to it. Returns the tables' paths.

    Args:
        more: what the name of another table ends in -> its rows.

    Raises:
        GraderError: they cannot be written.
    """
    table = page.with_suffix(".csv")
    if table == page:
        raise GraderError(f"--out names the page, and {page} is the table next to it: end the name in .html.")
    tables = {table: rows}
    tables |= {table.with_stem(f"{table.stem}-{name}"): found for name, found in (more or {}).items()}
    try:
        make_private(page.parent)
        with open(page, "w", encoding="utf-8", opener=for_owner) as opened:
            opened.write(html)
        for file, found in tables.items():
            write_csv(file, found)
    except OSError as error:
        raise GraderError(
            f"{page} cannot be written: {error.strerror}. Choose another file with --out."
        ) from None
    return tuple(tables)


def title_of(lab: Lab, section: str | None = None) -> str:
    """What pages about a lab are called."""
    return f"Lab {lab.name[:2]}: {lab.settings['title']}{f' ({section})' if section else ''}"


def percent(share: float) -> str:
    """A share (0 to 1) as a percentage."""
    return f"{100 * share:.0f} %"


def lateness(late: timedelta) -> str:
    """How late something was, in words; empty if it was not late."""
    if not late:
        return ""
    hours = late.total_seconds() / 3600
    return (
        f"{hours / 24:.1f} days"
        if hours >= 48
        else f"{hours:.1f} hours"
        if hours >= 1
        else "less than an hour"
    )


def whom_first(students: Sequence[str]) -> str:
    """A sentence about whom to talk to first, of those who may need help (the worst first)."""
    first, more = ", ".join(students[:TALK_TO]), len(students) - TALK_TO
    stand = "stands" if more == 1 else "stand"
    return f"Talk first to {first}{f'; {more} more {stand} out' if more > 0 else ''}. What to begin with is in the list below."


def in_short(requests: Sequence[Request], lab: str = "", section: str | None = None) -> list[str]:
    """How many open requests there are, and the command that lists them; no sentence if there are none."""
    if not requests:
        return []
    oldest = min(each.asked for each in requests)
    command = ["grader", "requests", *([lab] if lab else []), *(["--section", section] if section else [])]
    s, the, them = ("s", "the oldest ", "them") if len(requests) > 1 else ("", "", "it")
    return [
        f"{len(requests)} open request{s} to look again, {the}of {oldest:%Y-%m-%d}: `{shlex.join(command)}` lists {them}."
    ]
