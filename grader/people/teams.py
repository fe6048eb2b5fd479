"""A list of teams: a table with a row for each person, made by hand or exported by Canvas. Anything wrong is named by its cell, and then nothing
is taken.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from grader.errors import GraderError
from grader.people.roster import NotSure, Person, Roster, heading, listed, words_of
from grader.people.tables import cell_name, read_table, tidy
from grader.people.team_names import Spellings

_TEAM = (*words_of("team"), "group name")
"""Headings of the column with the team. The last one is Canvas's; elsewhere a group may be half the class."""
_WHO = ("id", "email", "canvas", "name", "first", "last")
_NEEDED = "It needs a column “team”, and one that says who: “id”, “email” or “name”"


def read_teams(file: Path, roster: Roster, names: Iterable[str] = ()) -> dict[str, str]:
    """Student -> team, empty for none, of everybody whom a file lists.

    Args:
        roster: who may be meant.
        names: of teams that are there already.

    Raises:
        GraderError: it cannot be read, or a cell is wrong. The message names up to ten cells.
    """
    table = read_table(file, _score)
    rows = [(line, [tidy(cell) for cell in row]) for line, row in table.rows]
    rows = [(line, row) for line, row in rows if any(row)]
    if not rows:
        raise GraderError(f"{file} is empty. {_NEEDED}. Nothing has changed.")
    start = max(range(len(rows[:30])), key=lambda place: (_score(rows[place][1]), -place))
    line, headings = rows[start]
    columns = {heading(text): place for place, text in reversed(list(enumerate(headings))) if text}
    reader = _Reader(roster, Spellings(names), columns)
    if reader.team is None or not reader.says_who():
        raise GraderError(
            f"{file}: line {line} is no heading of a list of teams. {_NEEDED}. Nothing has changed."
        )
    found = reader.read(rows[start + 1 :])
    if reader.faults:
        raise GraderError(f"{file} was not imported; nothing has changed.{listed(reader.faults)}")
    if not any(found.values()) and not reader.alone:
        column = headings[reader.team]
        raise GraderError(f"{file} names no team: its column “{column}” is empty. Nothing has changed.")
    return found


def _score(row: Sequence[str]) -> int:
    """How much a row looks like the headings."""
    here = {heading(tidy(cell)) for cell in row}
    return 2 * bool(here & {*_TEAM}) + sum(bool(here & {*words_of(field)}) for field in _WHO)


class _Reader:
    """Reads rows, and notes what is wrong with them."""

    def __init__(self, roster: Roster, spellings: Spellings, columns: Mapping[str, int]) -> None:
        self.roster, self.spellings = roster, spellings
        words = {**{field: words_of(field) for field in _WHO}, "team": _TEAM}
        self.columns = {
            field: [columns[word] for word in named if word in columns] for field, named in words.items()
        }
        self.team = next(iter(self.columns["team"]), None)
        self.alone = False
        self.faults: list[str] = []

    def says_who(self) -> bool:
        """Whether any column says whom a row is about."""
        return any(self.columns[field] for field in _WHO)

    def _fault(self, line: int, column: int, what: str) -> None:
        letters = re.sub("[0-9]", "", cell_name(column, line))
        self.faults.append(f"row {line}, column {letters}: {what.rstrip('.')}.")

    def read(self, rows: Sequence[tuple[int, list[str]]]) -> dict[str, str]:
        """Student -> team; what is wrong is noted."""
        found: dict[str, str] = {}
        first: dict[str, int] = {}
        for line, row in rows:
            person = self._person(line, row)
            text = next(iter(self._cells(row, "team")), "")
            try:
                team = self.spellings.team(text) if text else ""
            except ValueError as error:
                self._fault(line, self.team or 0, str(error))
                continue
            if person is None:
                continue
            self.alone |= bool(text) and not team
            if found.setdefault(person.student, team) != team:
                told = f"“{found[person.student]}”" if found[person.student] else "no team"
                self._fault(
                    line,
                    self.team or 0,
                    f"{person.student} is in {told} by row {first[person.student]}, and in a lab everybody is in one team at most",
                )
            first.setdefault(person.student, line)
        return found

    def _cells(self, row: Sequence[str], field: str) -> list[str]:
        return [row[place] for place in self.columns[field] if place < len(row) and row[place]]

    def _person(self, line: int, row: Sequence[str]) -> Person | None:
        """Whom a row is about; None if that is not clear, which is noted."""
        canvas = next((number for number in self._cells(row, "canvas") if number.isdigit()), "")
        logins = [*self._cells(row, "id"), *self._cells(row, "email")]
        names = self._cells(row, "name") or [" ".join(self._cells(row, "first") + self._cells(row, "last"))]
        place = next(iter(place for field in _WHO for place in self.columns[field]))
        try:
            for login in logins or [""]:
                if person := self.roster.find(login, "", canvas):
                    return person
            person = self.roster.find("", names[0]) if names[0] and not (logins or canvas) else None
        except NotSure as error:
            who = ", ".join(each.student for each in error.args[0][:10])
            self._fault(line, place, f"this may be several people: {who}. Give the id")
            return None
        if person is None:
            said = next(iter([*logins, canvas, names[0]]), "")
            what = f"{said!r} is not on the roster" if said else "it does not say who"
            self._fault(line, place, what)
        return person
