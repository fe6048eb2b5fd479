"""How far everybody is: what the terminal and the page show."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from grader.book.answers import FIRST, SECOND, Task, Work
from grader.book.readings import Settings
from grader.book.rubric import Question
from grader.by_hand.agreement import POINTS, Agreement, Pair
from grader.errors import GraderError

ADDRESS = "by-hand"
"""Where the page for readers is, below the address of Jupyter."""
WEEK = "week"
"""Where the page about the week is."""

STATES = {"open": "open", "again": "look again", "done": "done"}
ROLES = {FIRST: "first", SECOND: "second"}

_READER = re.compile(r"[\w.@+-]{1,64}", re.ASCII)
_RESERVED = ("differences", "static")


@dataclass(frozen=True)
class Standing:
    """How far one reader is.

    Attributes:
        given: submissions to read first, of which ``done``, ``again`` (read, and another answer was handed in since) and ``open``.
        second: submissions to read second, of which ``second_done``.
    """

    reader: str
    given: int
    done: int
    again: int
    open: int
    second: int
    second_done: int


def standings(works: Mapping[str, Work], settings: Settings) -> list[Standing]:
    """A row for each reader, also for those who have something from before; sorted."""
    readers = {task.reader for work in works.values() for task in work.tasks.values()} | {*settings.readers}
    return [_standing(works, reader) for reader in sorted(readers)]


def _standing(works: Mapping[str, Work], reader: str) -> Standing:
    states = {role: [work.state(role) for work in in_order(works, reader, role)] for role in ROLES}
    first, second = states[FIRST], states[SECOND]
    counts = [first.count(state) for state in ("done", "again", "open")]
    return Standing(reader, len(first), *counts, len(second), second.count("done"))


def in_order(works: Mapping[str, Work], reader: str, role: str) -> list[Work]:
    """What a reader has in a role, in the order of the ids, which says nothing about anybody."""
    return [
        work for _, work in sorted(works.items()) if role in work.tasks and work.tasks[role].reader == reader
    ]


def nobody_s(works: Mapping[str, Work]) -> int:
    """How many submissions are in nobody's queue."""
    return sum(FIRST not in work.tasks for work in works.values())


def readers_of(text: str) -> tuple[str, ...]:
    """The names in ``"ana,ben"``.

    Raises:
        GraderError: one cannot be a name, or is there twice.
    """
    names = [name.strip() for name in text.split(",") if name.strip()]
    folded = [name.casefold() for name in names]
    for name in names:
        if not _READER.fullmatch(name) or name in _RESERVED:
            raise GraderError(
                f"{name!r} cannot be a reader's name: use letters of the alphabet, digits and . _ @ + - only, as in login names."
            )
        if folded.count(name.casefold()) > 1:  # "Ana,ana" is a slip of the shift key
            raise GraderError(f"--readers names {name} twice.")
    return tuple(names)


def share_of(text: str) -> float:
    """``"10%"`` as a share.

    Raises:
        GraderError: it is no percentage.
    """
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*%?\s*", text)
    if not found or float(found[1]) > 100:
        raise GraderError(f"--second is a percentage from 0% to 100%, as in --second 10%, not {text!r}.")
    return float(found[1]) / 100


def short(page: str) -> str:
    """An id as it is shown where its beginning is enough."""
    return page[:8]


def progress_table(found: Sequence[Standing]) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Heading and rows, the last one of which is the sum."""
    header = ("Reader", "Given", "Done", "Look again", "Open", "Second readings", "Done of these")
    rows = [
        (each.reader, each.given, each.done, each.again, each.open, each.second, each.second_done)
        for each in found
    ]
    total = ("all", *(sum(column) for column in list(zip(*rows, strict=True))[1:])) if rows else ()
    return header, [tuple(map(str, row)) for row in [*rows, total] if row]


def reader_table(works: Mapping[str, Work], reader: str) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Heading and rows: everything that a reader has, without names until they are released."""
    header = ("Submission", "Reading", "State", "Points", "Student", "In formgrader")
    rows = []
    for role, name in ROLES.items():
        for work in in_order(works, reader, role):
            rows.append(
                (
                    short(work.page),
                    name,
                    STATES[work.state(role)],
                    points_of(work, role),
                    work.student if work.released else "",
                    f"/formgrader/submissions/{work.page}/"
                    if role == FIRST
                    else "",  # it shows the first reading
                )
            )
    return header, rows


def minutes_left(task: Task, holder: str, now: datetime) -> int:
    """How many minutes a task stays closed because another window has it open; 0 if it is open to this holder."""
    if task.holder == holder or not task.held_until:
        return 0
    return max(0, math.ceil((task.held_until - now) / timedelta(minutes=1)))


def points_of(work: Work, role: str) -> str:
    """The sum of what a reader gave; what counts, for the first one. Empty until all is given."""
    if role == FIRST:
        points = [answer.points for answer in work.answers]
    else:
        points = [answer.marks[SECOND].points if SECOND in answer.marks else None for answer in work.answers]
    return "" if None in points else f"{sum(points):g}"


def agreement_table(found: Sequence[Agreement]) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    header = ("Answer", "What", "Read twice", "The same", "Cohen's kappa")
    return header, [
        (
            each.cell,
            "points (quadratic weights)" if each.what == POINTS else each.what,
            str(each.answers),
            f"{each.equal:.0%}",
            "not defined" if each.kappa is None else f"{each.kappa:.2f}",
        )
        for each in found
    ]


def short_differences(
    rows: Sequence[tuple[str, ...]],
) -> tuple[tuple[str, ...], list[tuple[str | Sequence[str], ...]]]:
    """Heading and rows of :func:`difference_table` in fewer columns, for a terminal: some cells are in lines."""
    header = ("Submission", "Answer", "Readers", "Only one gives", "Decision")
    return header, [
        (page, cell, (f"{one}: {points}", f"{two}: {others}"), only.split("\n"), decision)
        for page, cell, one, points, two, others, only, decision in rows
    ]


def difference_table(
    pairs: Sequence[Pair], questions: Mapping[str, Question]
) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    header = (
        "Submission",
        "Answer",
        "First reader",
        "First points",
        "Second reader",
        "Second points",
        "Only one gives",
        "Decision",
    )
    rows = []
    for pair in pairs:
        if pair.differ:
            items = questions[pair.cell].items if pair.cell in questions else ()
            given = [number for number in pair.other_items if number < len(items)]
            only = [f"{pair.giver(number)}: {items[number].text}" for number in given]
            decision = f"{pair.decision.points:g} ({pair.decision.reader})" if pair.decision else ""
            first, second = f"{pair.first.points:g}", f"{pair.second.points:g}"
            row = (short(pair.page), pair.cell, pair.first.reader, first, pair.second.reader, second)
            rows.append((*row, "\n".join(only), decision or ("open" if pair.points_differ else "")))
    return header, rows
