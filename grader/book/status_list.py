"""Statuses and extensions of many students from one table. It is a list made by hand with a line for each, or Canvas's gradebook export, where a
cell *EX* means that somebody is excused. Anything wrong is named by its cell, and then nothing is taken.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from grader.book.statuses import Kind, Status, see_that_the_lab_fits, understood
from grader.errors import GraderError
from grader.files import MAX_REASON
from grader.people.roster import NotSure, Roster
from grader.people.tables import Sheet, heading, read_sheet, tidy

_COLUMNS = ("student", "lab", "status", "reason")
_CANVAS = ("student", "id", "section")
_LOGIN = "sis login id"
_NO_REASON = "there is no reason, and the log needs one"
_IN_CANVAS = "excused in Canvas"
_OFF_THE_ROSTER = "Correct it, or import the class list first."


def read_statuses(
    file: Path,
    roster: Roster,
    lab_named: Callable[[str], str],
    tell: Callable[[str], None] = lambda _: None,
    too_many: Callable[[Sequence[Status]], Mapping[str, str]] = lambda _: {},
) -> list[Status]:
    """What a file says, in its order.

    Args:
        roster: who may be meant.
        lab_named: the lab that somebody means who writes its name or number.
        tell: gets sentences about what was read and assumed.
        too_many: student -> why the list has too many late days for this student.

    Raises:
        GraderError: it cannot be read, or a cell is wrong. The message names up to ten cells.
    """
    needed = f"Its first line needs the headings {', '.join(_COLUMNS)}."
    sheet = read_sheet(
        file, lambda row: len({heading(tidy(cell)) for cell in row} & {*_COLUMNS, *_CANVAS}), needed
    )
    reader = _Reader(roster, lab_named, sheet)
    if {*_COLUMNS} <= sheet.columns.keys():
        sheet.see_that_each_is_there_once(_COLUMNS)
        found = list(reader.listed())
        days = {each.student: line for line, each in reader.lines.items() if each.kind is Kind.LATE_DAYS}
        for student, why in too_many(found).items():
            if student in days:
                sheet.fault(days[student], sheet.columns["status"], why)
    elif {*_CANVAS} <= sheet.columns.keys():
        sheet.see_that_each_is_there_once((*_CANVAS, _LOGIN))
        found = list(reader.from_canvas())
    else:
        missing = [name for name in _COLUMNS if name not in sheet.columns]
        raise GraderError(
            f"{file}: line {sheet.first} has no heading {', '.join(missing)}. A list needs {', '.join(_COLUMNS)}; Canvas's gradebook export is read as it is. Nothing has changed."
        )
    sheet.refuse_faults()
    for note in (*sheet.notes, *reader.notes):
        tell(note)
    return found


class _Reader:
    """Reads rows, and notes what is wrong with them."""

    def __init__(self, roster: Roster, lab_named: Callable[[str], str], sheet: Sheet) -> None:
        self.roster, self.lab_named, self.sheet, self.columns = roster, lab_named, sheet, sheet.columns
        self.notes: list[str] = []
        self.lines: dict[int, Status] = {}

    def listed(self) -> Iterator[Status]:
        """The statuses of a list made by hand; what is wrong is noted."""
        there: dict[tuple[str, str, Kind], tuple[int, Status]] = {}
        for line, row in self.sheet.rows:
            student, lab, status, reason = (row[self.columns[name]] for name in _COLUMNS)
            before = len(self.sheet.faults)
            who = self._who(line, student)
            name = self._lab(line, self.columns["lab"], lab) if lab else ""
            kind, amount = self._status(line, status)
            if not 0 < len(reason) <= MAX_REASON:
                what = f"the reason has more than {MAX_REASON:,} characters" if reason else _NO_REASON
                self.sheet.fault(line, self.columns["reason"], what)
            if len(self.sheet.faults) > before or kind is None:
                continue
            found = Status(who, name, kind, amount, reason)
            try:
                see_that_the_lab_fits(found)
            except GraderError as error:
                self.sheet.fault(line, self.columns["lab"], str(error))
                continue
            first, other = there.setdefault((who, name, kind), (line, found))
            if other is not found:
                self.sheet.fault(
                    line,
                    self.columns["status"],
                    f"row {first} says “{other}” of {who} for the same lab already. Delete one of the rows.",
                )
                continue
            self.lines[line] = found
            yield found

    def from_canvas(self) -> Iterator[Status]:
        """Whom Canvas's gradebook export has as excused."""
        labs: dict[int, str] = {}
        for place, text in enumerate(self.sheet.headings):
            with suppress(GraderError):  # other assignments are not ours
                if re.match(r"\d\d_", text):
                    lab = self.lab_named(re.sub(r"\s*\(\d+\)$", "", text))
                    if lab in labs.values():
                        self.sheet.fault(
                            self.sheet.first, place, f"there is another column for {lab}. Delete one of them."
                        )
                    labs[place] = lab
        if not labs:
            raise GraderError(
                f"{self.sheet.file}: line {self.sheet.first} has no column that is named after a lab, as 02_self_attention (345) is, so no EX was read. "
                "Put the lab's name into its heading. Nothing has changed."
            )
        self.notes.append(f"Columns read: {', '.join(self.sheet.headings[place] for place in labs)}.")
        for line, row in self.sheet.rows:
            for place, lab in labs.items():
                if row[place].casefold() == "ex" and (who := self._who_in_canvas(line, row)):
                    yield Status(who, lab, Kind.EXCUSED, "", _IN_CANVAS)

    def _who_in_canvas(self, line: int, row: Sequence[str]) -> str:
        place = self.columns["student"]
        last, _, first = row[place].partition(",")
        login = row[self.columns[_LOGIN]] if _LOGIN in self.columns else ""
        name = f"{first} {last}".strip()
        try:
            person = self.roster.find(login, name, row[self.columns["id"]])
        except NotSure:
            person = None
        if person is None:
            self.sheet.fault(line, place, f"{row[place]!r} is not on the roster. {_OFF_THE_ROSTER}")
        elif others := self.roster.others(person, [login] * bool(login), name):
            self.sheet.fault(
                line,
                place,
                f"one cell says {person.student}, and another {others[0].student}. Is the roster right?",
            )
        return person.student if person else ""

    def _who(self, line: int, text: str) -> str:
        place = self.columns["student"]
        if not text:
            self.sheet.fault(line, place, "it does not say who. Write an id, or delete the row.")
            return ""
        try:
            who = self.roster.meant(text)
        except GraderError as error:
            self.sheet.fault(line, place, str(error))
            return ""
        if not self.roster.by_id(who):
            self.sheet.fault(
                line, place, f"{text!r} is not on the roster.{self.roster.near(text)} {_OFF_THE_ROSTER}"
            )
        return who

    def _lab(self, line: int, place: int, text: str) -> str:
        try:
            return self.lab_named(text)
        except GraderError:
            self.sheet.fault(
                line,
                place,
                f"there is no lab {text!r}. Write its number or its name: 02, or 02_self_attention.",
            )
            return ""

    def _status(self, line: int, text: str) -> tuple[Kind | None, str]:
        try:
            return understood(text)
        except GraderError as error:
            self.sheet.fault(line, self.columns["status"], str(error))
            return None, ""
