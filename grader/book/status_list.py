"""Statuses and extensions of many students from one table: a list made by hand with a line for each, or Canvas's gradebook export, of which every cell
*EX* is somebody who is excused there. Anything wrong is named by its cell, and then nothing is taken.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from grader.book.statuses import Kind, Status, see_that_the_lab_fits, understood
from grader.errors import GraderError
from grader.people.roster import NotSure, Roster
from grader.people.tables import cell_name, read_table, tidy

_COLUMNS = ("student", "lab", "status", "reason")
_CANVAS = ("student", "id", "section")
_MAX_FAULTS = 10
_IN_CANVAS = "excused in Canvas"


def read_statuses(file: Path, roster: Roster, lab_named: Callable[[str], str]) -> list[Status]:
    """What a file says, in its order.

    Args:
        roster: who may be meant.
        lab_named: the lab that somebody means who writes its name or number.

    Raises:
        GraderError: it cannot be read, or a cell is wrong. The message names up to ten cells.
    """
    table = read_table(file, lambda row: len({_heading(cell) for cell in row} & {*_COLUMNS, *_CANVAS}))
    rows = [(line, [tidy(cell) for cell in row]) for line, row in table.rows]
    rows = [(line, row) for line, row in rows if any(row)]
    if not rows:
        raise GraderError(f"{file} is empty. Its first line needs the headings {', '.join(_COLUMNS)}.")
    headings = [_heading(cell) for cell in rows[0][1]]
    columns = {text: place for place, text in reversed(list(enumerate(headings))) if text}
    reader = _Reader(roster, lab_named, columns)
    if {*_COLUMNS} <= columns.keys():
        found = list(reader.listed(rows[1:]))
    elif {*_CANVAS} <= columns.keys():
        found = list(reader.from_canvas(*rows[0], rows[1:]))
    else:
        missing = [name for name in _COLUMNS if name not in columns]
        raise GraderError(
            f"{file}: line {rows[0][0]} has no heading {', '.join(missing)}. A list needs {', '.join(_COLUMNS)}; Canvas's gradebook export is read as it is. Nothing has changed."
        )
    if reader.faults:
        more = [f"and {len(reader.faults) - _MAX_FAULTS} more"] if len(reader.faults) > _MAX_FAULTS else []
        told = "".join(f"\n  {line}" for line in [*reader.faults[:_MAX_FAULTS], *more])
        raise GraderError(f"{file} was not imported; nothing has changed.{told}")
    return found


def _heading(text: str) -> str:
    return " ".join(tidy(text).casefold().split())


class _Reader:
    """Reads rows, and notes what is wrong with them."""

    def __init__(self, roster: Roster, lab_named: Callable[[str], str], columns: Mapping[str, int]) -> None:
        self.roster, self.lab_named, self.columns = roster, lab_named, columns
        self.faults: list[str] = []

    def _fault(self, line: int, column: int, what: str) -> None:
        self.faults.append(f"row {line}, column {re.sub('[0-9]', '', cell_name(column, line))}: {what}")

    def listed(self, rows: Sequence[tuple[int, list[str]]]) -> Iterator[Status]:
        """The statuses of a list made by hand; what is wrong is noted."""
        there: dict[tuple[str, str, Kind], tuple[int, Status]] = {}
        width = max(self.columns.values()) + 1
        for line, row in rows:
            student, lab, status, reason = ([*row, *[""] * width][self.columns[name]] for name in _COLUMNS)
            before = len(self.faults)
            who = self._who(line, student)
            name = self._lab(line, self.columns["lab"], lab) if lab else ""
            kind, amount = self._status(line, status)
            if not reason:
                self._fault(line, self.columns["reason"], "there is no reason, and the log needs one.")
            if len(self.faults) > before or kind is None:
                continue
            found = Status(who, name, kind, amount, reason)
            try:
                see_that_the_lab_fits(found)
            except GraderError as error:
                self._fault(line, self.columns["lab"], str(error))
                continue
            first, other = there.setdefault((who, name, kind), (line, found))
            if other is not found:
                self._fault(
                    line,
                    self.columns["status"],
                    f"row {first} says “{other}” of {who} for the same lab already.",
                )
                continue
            yield found

    def from_canvas(
        self, first: int, headings: Sequence[str], rows: Sequence[tuple[int, list[str]]]
    ) -> Iterator[Status]:
        """Whom Canvas's gradebook export has as excused.

        Args:
            first: the line of the headings.
        """
        labs: dict[int, str] = {}
        for place, text in enumerate(headings):
            with suppress(GraderError):  # other assignments are not ours
                if re.match(r"\d\d_", text):
                    lab = self.lab_named(re.sub(r"\s*\(\d+\)$", "", text))
                    if lab in labs.values():
                        self._fault(first, place, f"there is another column for {lab}. Delete one of them.")
                    labs[place] = lab
        for line, row in rows:
            for place, lab in labs.items():
                excused = place < len(row) and row[place].casefold() == "ex"
                if excused and (who := self._who_in_canvas(line, row)):
                    yield Status(who, lab, Kind.EXCUSED, "", _IN_CANVAS)

    def _who_in_canvas(self, line: int, row: Sequence[str]) -> str:
        cells = {name: row[place] for name, place in self.columns.items() if place < len(row)}
        last, _, first = cells.get("student", "").partition(",")
        login = cells.get("sis login id", "")
        try:
            person = self.roster.find(login, f"{first} {last}".strip(), cells.get("id", ""))
        except NotSure:
            person = None
        if person is None:
            self._fault(line, self.columns["student"], f"{cells.get('student')!r} is not on the roster.")
        return person.student if person else ""

    def _who(self, line: int, text: str) -> str:
        place = self.columns["student"]
        if not text:
            self._fault(line, place, "it does not say who.")
            return ""
        try:
            who = self.roster.meant(text)
        except GraderError as error:
            self._fault(line, place, str(error))
            return ""
        if not self.roster.by_id(who):
            self._fault(line, place, f"{text!r} is not on the roster.")
        return who

    def _lab(self, line: int, place: int, text: str) -> str:
        try:
            return self.lab_named(text)
        except GraderError:
            self._fault(line, place, f"there is no lab {text!r}.")
            return ""

    def _status(self, line: int, text: str) -> tuple[Kind | None, str]:
        try:
            return understood(text)
        except GraderError as error:
            self._fault(line, self.columns["status"], str(error))
            return None, ""
