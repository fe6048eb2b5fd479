"""Moodle's own grading worksheet of an assignment, filled in: its columns, rows and language stay as they are, and Moodle takes it back.

Moodle's importer (``mod/assign/feedback/offline/importgradeslib.php``) finds its columns by their headings in the language of the person who uploads the file, and
a participant by the number at the end of the identifier.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from grader.errors import GraderError
from grader.left_out import LeftOut
from grader.people.roster import NotSure, Roster, heading, words_of, worksheet_words
from grader.people.students import moodle_numbers
from grader.people.tables import read_table, tidy
from grader.reference.lab import Lab
from grader.show.export import inert, see_that_nobody_shares

_COLUMNS = ("identifier", "grade", "most", "changeable", "modified", "comments")
_NEEDED = {"identifier": "Identifier", "grade": "Grade", "modified": "Last modified (grade)"}


class Worksheet:
    """A worksheet as it was downloaded."""

    def __init__(self, file: Path) -> None:
        """
        Raises:
            GraderError: it cannot be read, is not a grading worksheet, or has somebody twice.
        """
        rows = [row for _, row in read_table(file, _score).rows if any(map(tidy, row))]
        start = max(range(len(rows[:5])), key=lambda place: _score(rows[place]), default=None)
        self._header = rows[start] if start is not None else []
        columns = {heading(tidy(cell)): place for place, cell in reversed(list(enumerate(self._header)))}
        words = {field: worksheet_words(field) for field in _COLUMNS}
        words |= {field: frozenset(words_of(field)) for field in ("name", "email")}
        self._places = {
            field: place
            for field, known in words.items()
            if (place := next((columns[word] for word in columns if word in known), None)) is not None
        }
        if missing := [told for field, told in _NEEDED.items() if field not in self._places]:
            raise GraderError(
                f"{file} is not Moodle's grading worksheet: it has no column {', '.join(missing)}. Download it in the assignment, with *Download grading worksheet*; "
                "headings are known in English, German, French and Spanish, and others can be added to grader/people/headings.toml."
            )
        width = len(self._header)
        self._rows: dict[str, list[str]] = {}
        for row in rows[start + 1 :]:
            identifier = tidy((row + [""] * width)[self._places["identifier"]])
            number = re.search(r"[0-9]{1,20}$", identifier)
            if not number or len(row) > width:
                raise GraderError(
                    f"{file} has a row that is nobody's: {identifier!r}. Download the worksheet again."
                )
            if number[0] in self._rows:
                raise GraderError(f"{file} has {identifier!r} twice. Download the worksheet again.")
            self._rows[number[0]] = row + [""] * (width - len(row))

    def _cell(self, row: Sequence[str], field: str) -> str:
        return tidy(row[self._places[field]]) if field in self._places else ""

    def numbers(self, lab: Lab, students: Sequence[str], roster: Roster) -> dict[str, str]:
        """Student -> number in the worksheet; empty where there is none. The number that came with the work counts, then the e-mail address or name.

        Raises:
            GraderError: two students have the same one.
        """
        found = {
            student: number if number in self._rows else ""
            for student, number in moodle_numbers(lab, students).items()
        }
        rest = self._rows.keys() - {*found.values()}
        for number in sorted(rest, key=int):
            email, name = (self._cell(self._rows[number], field) for field in ("email", "name"))
            with suppress(NotSure):
                person = roster.find(email, name) or roster.by_id(name)
                if person and found.get(person.student) == "":
                    found[person.student] = number
        see_that_nobody_shares("Moodle", found)
        return found

    def fill(
        self,
        file: Path,
        numbers: Mapping[str, str],
        scores: Mapping[str, float],
        most: float,
        replacing: bool,
    ) -> tuple[str, ...]:
        """Writes the worksheet with these scores. Returns notes about those who are left out.

        Args:
            numbers: student -> number.
            most: the points that are 100 %. Moodle takes no grade above them.
            replacing: also where the worksheet has another grade.

        Raises:
            GraderError: the assignment in Moodle does not count so many points.
            OSError: the file cannot be written.
        """
        left = LeftOut()
        filled = {number: [*row] for number, row in self._rows.items()}
        for student, score in scores.items():
            row = filled.get(numbers.get(student, ""))
            if row is None:
                left.add("They are not in the worksheet", student)
                continue
            there, limit = self._cell(row, "grade"), self._cell(row, "most")
            if abs((_number(limit) or 0.0) - most) > 0.001:
                raise GraderError(
                    f"In Moodle, the assignment counts {limit or 'no'} points, but {most:g} here. Is it the right worksheet? If so, set its maximum grade in Moodle."
                )
            grade = f"{min(score, most):.2f}".replace(".", "," if "," in limit else ".")
            if heading(self._cell(row, "changeable")) in worksheet_words("no"):
                left.add("Moodle says that their grade cannot be changed", student)
            elif there not in ("", "-") and _number(there) != round(min(score, most), 2) and not replacing:
                left.add(
                    "They have another grade in Moodle, which stays; --replace enters yours",
                    f"{student} ({there} there, {grade} here)",
                )
            else:
                row[self._places["grade"]] = grade
        kept = {self._places.get("comments")}  # a teacher's own text, which Moodle reads again
        with file.open("w", encoding="utf-8", newline="") as opened:
            csv.writer(opened).writerows(
                [cell if place in kept else inert(cell) for place, cell in enumerate(row)]
                for row in (self._header, *filled.values())
            )
        return left.sentences()


def _score(row: Sequence[str]) -> int:
    """How much a row looks like the worksheet's headings."""
    cells = {heading(tidy(cell)) for cell in row}
    return sum(bool(cells & worksheet_words(field)) for field in _COLUMNS)


def _number(text: str) -> float | None:
    """A number as Moodle writes it in any language."""
    try:
        return float(text.replace(" ", "").replace(",", "."))
    except ValueError:
        return None
