"""A list of teams: a table with a row for each person, made by hand or exported by Canvas. Anything wrong is named by its cell, and then nothing
is taken.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from grader.errors import GraderError
from grader.people.roster import NotSure, Person, Roster, words_of
from grader.people.tables import Sheet, heading, read_sheet, tidy
from grader.people.team_names import Spellings

_TEAM = (*words_of("team"), "group name")
"""Headings of the column with the team. The last one is Canvas's; elsewhere a group may be half the class."""
_WHO = ("id", "email", "canvas", "name", "first", "last")
_NEEDED = "It needs a column “team”, and one that says who: “id”, “email” or “name”"


def read_teams(
    file: Path, roster: Roster, names: Iterable[str] = (), tell: Callable[[str], None] = lambda _: None
) -> dict[str, str]:
    """Student -> team, empty for none, of everybody whom a file lists.

    Args:
        roster: who may be meant.
        names: of teams that are there already.
        tell: gets sentences about what was assumed.

    Raises:
        GraderError: it cannot be read, or a cell is wrong. The message names up to ten cells.
    """
    sheet = read_sheet(file, _score, f"{_NEEDED}.")
    reader = _Reader(roster, Spellings(names), sheet)
    if reader.team is None or not reader.says_who():
        raise GraderError(
            f"{file}: line {sheet.first} is no heading of a list of teams. {_NEEDED}. Nothing has changed."
        )
    sheet.see_that_each_is_there_once(word for words in reader.words.values() for word in words)
    found = reader.read()
    sheet.refuse_faults()
    if not any(found.values()) and not reader.alone:
        column = sheet.headings[reader.team]
        raise GraderError(f"{file} names no team: its column “{column}” is empty. Nothing has changed.")
    for note in sheet.notes:
        tell(note)
    return found


def _score(row: Sequence[str]) -> int:
    """How much a row looks like the headings."""
    here = {heading(tidy(cell)) for cell in row}
    return 2 * bool(here & {*_TEAM}) + sum(bool(here & {*words_of(field)}) for field in _WHO)


class _Reader:
    """Reads rows, and notes what is wrong with them."""

    def __init__(self, roster: Roster, spellings: Spellings, sheet: Sheet) -> None:
        self.roster, self.spellings, self.sheet = roster, spellings, sheet
        self.words = {**{field: words_of(field) for field in _WHO}, "team": _TEAM}
        self.columns = {
            field: [sheet.columns[word] for word in named if word in sheet.columns]
            for field, named in self.words.items()
        }
        self.team = next(iter(self.columns["team"]), None)
        self.alone = False

    def says_who(self) -> bool:
        """Whether any column says whom a row is about."""
        return any(self.columns[field] for field in _WHO)

    def read(self) -> dict[str, str]:
        """Student -> team; what is wrong is noted."""
        found: dict[str, str] = {}
        first: dict[str, int] = {}
        for line, row in self.sheet.rows:
            person = self._person(line, row)
            text = next(iter(self._cells(row, "team")), "")
            try:
                team = self.spellings.team(text) if text else ""
            except ValueError as error:
                self.sheet.fault(line, self.team or 0, str(error))
                continue
            if person is None:
                continue
            self.alone |= bool(text) and not team
            if found.setdefault(person.student, team) != team:
                told = f"“{found[person.student]}”" if found[person.student] else "no team"
                self.sheet.fault(
                    line,
                    self.team or 0,
                    f"{person.student} is in {told} by row {first[person.student]}, and in a lab everybody is in one team at most. Delete one of the rows",
                )
            first.setdefault(person.student, line)
        return found

    def _cells(self, row: Sequence[str], field: str) -> list[str]:
        return [row[place] for place in self.columns[field] if row[place]]

    def _person(self, line: int, row: Sequence[str]) -> Person | None:
        """Whom a row is about; None if that is not clear, which is noted."""
        canvas = next((number for number in self._cells(row, "canvas") if number.isdigit()), "")
        logins = [*self._cells(row, "id"), *self._cells(row, "email")]
        names = self._cells(row, "name") or [" ".join(self._cells(row, "first") + self._cells(row, "last"))]
        place = next(iter(place for field in _WHO for place in self.columns[field]))
        try:
            found = (self.roster.find(login, "", canvas) for login in logins or [""])
            person = next(filter(None, found), None)
            if person is None and names[0] and not (logins or canvas):
                person = self.roster.find("", names[0])
        except NotSure as error:
            who = ", ".join(each.student for each in error.args[0][:10])
            self.sheet.fault(line, place, f"this may be several people: {who}. Give the id")
            return None
        if person is None:
            said = next(iter([*logins, canvas, names[0]]), "")
            what = (
                f"{said!r} is not on the roster.{self.roster.near(said)} Correct it, or import the class list first"
                if said
                else "it does not say who. Write an id, or delete the row"
            )
            self.sheet.fault(line, place, what)
            return None
        if others := self.roster.others(person, logins, names[0]):
            self.sheet.fault(
                line,
                place,
                f"one cell says {person.student}, and another {others[0].student}. Give the id alone",
            )
            return None
        return person
