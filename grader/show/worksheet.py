"""Moodle's own grading worksheet of an assignment, filled in: its columns, rows and language stay as they are, and Moodle takes it back.

Moodle's importer (``mod/assign/feedback/offline/importgradeslib.php``) finds its columns by their headings, in the language of
the person who uploads the file. It finds a participant by the number at the end of the identifier.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from grader.course import make_private
from grader.errors import GraderError
from grader.left_out import LeftOut
from grader.people.roster import NotSure, Roster, words_of, worksheet_words
from grader.people.students import moodle_numbers
from grader.people.tables import heading, read_sheet, tidy
from grader.reference.lab import Lab
from grader.show.export import inert, see_that_nobody_shares

_COLUMNS = ("identifier", "grade", "most", "changeable", "modified", "comments")
_NEEDED = {"identifier": "Identifier", "grade": "Grade", "modified": "Last modified (grade)"}


class Worksheet:
    """A worksheet as it was downloaded. ``notes`` say what was assumed to read it."""

    def __init__(self, file: Path) -> None:
        """
        Raises:
            GraderError: it cannot be read, is not a grading worksheet, or has somebody twice.
        """
        needed = "It is not Moodle's grading worksheet: download it in the assignment, with *Download grading worksheet*."
        sheet = read_sheet(file, _score, needed, str)  # what is not filled in is written as it was
        self.notes = sheet.notes
        self._header, columns = sheet.headings, sheet.columns
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
        sheet.see_that_each_is_there_once(word for known in words.values() for word in known)
        self._rows: dict[str, list[str]] = {}
        for line, row in sheet.rows:
            identifier = tidy(row[self._places["identifier"]])
            number = re.search(r"[0-9]{1,20}$", identifier)
            if not number or number[0] in self._rows:
                what = "there twice" if number else "nobody's"
                sheet.fault(
                    line,
                    self._places["identifier"],
                    f"{identifier!r} is {what}. Download the worksheet again",
                )
                continue
            self._rows[number[0]] = row
        sheet.refuse_faults()

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

    def graded_elsewhere(self, numbers: Iterable[str]) -> tuple[str, ...]:
        """A note about those who have a grade in the worksheet, without these."""
        left, mine = LeftOut(), {*numbers}
        for number, row in self._rows.items():
            if number not in mine and (there := self._cell(row, "grade")) not in ("", "-"):
                who = self._cell(row, "name") or self._cell(row, "identifier")
                left.add("They have a grade in Moodle, which stays, and none here", f"{who} ({there} there)")
        return left.sentences()

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
            if not abs((_number(limit) or 0.0) - most) <= 0.001:  # it may be “nan”
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
        make_private(file.parent)
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
