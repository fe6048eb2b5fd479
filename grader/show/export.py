"""Scores in the formats that learning management systems accept.

The formats are taken from the systems' source code. Canvas's gradebook (``lib/gradebook_importer.rb``) finds a student by
``ID``, else by ``SIS Login ID``. Moodle's offline grading worksheet (``mod/assign/feedback/offline/importgradeslib.php``) finds
one by ``Identifier``, and requires ``Grade`` and ``Last modified (grade)``. A zip of feedback files
(``mod/assign/feedback/file/importziplib.php``) has a folder ``<name>_<number>_<type>_<plugin>`` per student.

:mod:`grader.people.students` says where the numbers come from by which LMSs know students.
"""

from __future__ import annotations

import csv
import os
import re
import shutil
import zipfile
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from grader.book.gradebook import Gradebook
from grader.book.lateness import late_in_words
from grader.book.results import Result
from grader.book.statuses import NONE, by_student
from grader.course import Course, make_private
from grader.errors import GraderError
from grader.files import seen
from grader.people.roster import Person, Roster
from grader.people.students import moodle_numbers, name_in_id, number_in_id
from grader.reference.lab import Lab
from grader.show.standing import (
    Standing,
    anew_in_words,
    collected,
    graded,
    handed_in_anew,
    in_words,
    scores_of,
    standings,
    strangers_in_words,
)

if TYPE_CHECKING:
    from grader.show.worksheet import Worksheet


def export(
    course: Course,
    labs: Sequence[str],
    form: str,
    file: Path,
    among: Collection[str] | None = None,
    worksheet: Worksheet | None = None,
    replacing: bool = False,
) -> list[str]:
    """Writes the scores of labs (default: all) to a file. Returns notes for the user.

    Args:
        form: ``csv`` (nbgrader's own, all labs), ``canvas``, or ``moodle`` (one lab).
        among: only these students; None: everybody.
        worksheet: Moodle's own, to be filled in.
        replacing: also where the worksheet has another grade.

    Raises:
        GraderError: there is no such format, nothing to write, two students have the same LMS number, or the file
            cannot be written.
    """
    chosen = [Lab.load(course, name) for name in labs]
    _see_that_it_fits(form, len(chosen))
    every = chosen or [Lab.load(course, name) for name in course.labs()]
    here = _Here(course, every, among, with_table=form == "csv")
    how = (
        "Their scores here are without those points." if form == "csv" else "They have no score in this file."
    )
    notes = [*_outdated(here.results), *here.notes(how)]
    try:
        if form == "csv":
            write_csv(file, _with_states(_as_it_counts(here), here, among))
            return notes
        shown = [lab.name for lab in every if chosen or here.scores[lab.name] or here.results[lab]]
        if not any(here.scores[name] for name in shown):
            whose = "" if among is None else " of this section"
            raise GraderError(f"Nothing{whose} has been graded yet. Run `grader autograde LAB` first.")
        if form == "canvas":
            return notes + _canvas(here, shown, file)
        (lab,) = chosen
        if worksheet is None:
            return notes + _moodle(lab, here, file)
        earned = here.final(lab.name)
        numbers = worksheet.numbers(lab, [*earned], Roster(here.people.values()))
        notes += worksheet.notes
        notes += worksheet.fill(file, numbers, earned, here.most(lab.name), replacing)
        return [*notes, *(worksheet.graded_elsewhere(numbers.values()) if among is None else ())]
    except OSError as error:
        raise GraderError(
            f"{file} cannot be written: {error.strerror}. Choose another file with --out."
        ) from None


class _Here:
    """What the gradebook has of some labs.

    Attributes:
        results: lab -> what has been graded.
        stand: lab's name -> student -> how things are.
        scores: lab's name -> student -> the score that counts.
        waiting: lab's name -> students with answers that wait to be graded by hand.
        marks: lab's name -> student -> what was decided.
        counted: names of the labs in which not everything counts.
        people: student -> who it is.
        others: students of whom something is there and who are not among these people.
        table: nbgrader's own, if it is wanted.
        strangers: a sentence about people with work who are not on the roster, if there are any.
    """

    def __init__(
        self, course: Course, labs: Sequence[Lab], among: Collection[str] | None, with_table: bool
    ) -> None:
        with Gradebook.open(course) as gradebook:
            entered = {lab: gradebook.results(lab, among) for lab in labs}
            there = {lab.name: _among(collected(lab), among) for lab in labs}
            self.marks = {lab.name: by_student(gradebook.statuses(lab.name, among)) for lab in labs}
            people, roster = gradebook.people(), gradebook.roster()
            counts = {lab: gradebook.counted(lab) for lab in labs}
            self.table = gradebook.table(there) if with_table else []
        self.people = {who: person for who, person in people.items() if among is None or who in among}
        self.stand = {
            lab.name: standings(found, there[lab.name], self.people, self.marks[lab.name])
            for lab, found in entered.items()
        }
        self.results = {lab: graded(found) for lab, found in entered.items()}
        self.scores = {
            lab.name: scores_of(found, self.stand[lab.name]) for lab, found in self.results.items()
        }
        self.waiting = {
            lab.name: {
                each.student for each in found if each.waiting and self.stand[lab.name][each.student].seen
            }
            for lab, found in self.results.items()
        }
        self._counts = {lab.name: (lab, each) for lab, each in counts.items()}
        self.counted = {lab.name for lab, each in counts.items() if each.told}
        known = {student for who in (*there.values(), *self.marks.values()) for student in who}
        with_work = {student for who in there.values() for student in who}
        with_work |= {each.student for found in entered.values() for each in found}
        self.strangers = strangers_in_words(with_work, roster)
        self.others = sorted(known - self.people.keys())

    def most(self, name: str) -> float:
        """The points of a lab that are 100 %; its notebook says so, and a lab that is not out may have none."""
        lab, counted = self._counts[name]
        return counted.total(lab.points_of_cells)

    def final(self, name: str) -> dict[str, float]:
        """Student -> score, of everybody in whose work no answer waits to be graded by hand."""
        return {who: score for who, score in self.scores[name].items() if who not in self.waiting[name]}

    def notes(self, how: str) -> list[str]:
        """
        Args:
            how: what becomes of scores to which points for written answers have still to be added.
        """
        told = self.strangers + [
            note for name, of_lab in self.stand.items() for note in in_words(name, of_lab)
        ]
        waiting = {name: len(students) for name, students in self.waiting.items() if students}
        return told + [
            f"{name}: written answers wait to be graded. Students: {count}. {how}"
            for name, count in waiting.items()
        ]


def _see_that_it_fits(form: str, labs: int) -> None:
    """
    Raises:
        GraderError: there is no such format, or it is not one of so many labs.
    """
    if form not in ("csv", "canvas", "moodle"):
        raise GraderError(f"There is no format {form!r}. Formats: canvas, moodle, csv, research.")
    if form == "moodle" and labs != 1:
        raise GraderError(
            "A Moodle worksheet covers one assignment: name one lab, as in "
            "`grader export 02_self_attention --format moodle`."
        )
    if form == "csv" and labs:
        raise GraderError(
            "nbgrader's CSV file contains all labs: leave out the lab, or choose another --format."
        )


def _among(students: Collection[str], among: Collection[str] | None) -> frozenset[str]:
    return frozenset(students) if among is None else frozenset(students).intersection(among)


def _as_it_counts(here: _Here) -> list[list[str]]:
    """nbgrader's table, with the points that count where not all do: by the rules of the term, or because they are for an answer that has been replaced."""
    changed = {
        lab.name: {each.student: each for each in found if lab.name in here.counted or each.waiting}
        for lab, found in here.results.items()
    }
    heading, *rows = here.table
    columns = {name: number for number, name in enumerate(heading)}
    for row in rows:
        if (lab := row[columns["assignment"]]) in changed:
            if lab in here.counted:
                row[columns["max_score"]] = str(here.most(lab))
            if result := changed[lab].get(row[columns["student_id"]]):
                row[columns["raw_score"]], row[columns["score"]] = (
                    str(result.earned),
                    str(result.after_lateness),
                )
    return [heading, *rows]


def _with_states(table: list[list[str]], here: _Here, among: Collection[str] | None) -> list[list[str]]:
    """nbgrader's table with how each stands, what was deducted by decision, and which decision it was, in the last columns; and with no score where
    there is none.
    """
    heading, *rows = table
    lab, whose = heading.index("assignment"), heading.index("student_id")
    raw, late, score = (heading.index(name) for name in ("raw_score", "late_submission_penalty", "score"))
    found = [[*heading, "deducted", "state", "decision"]]
    for row in rows:
        if among is not None and row[whose] not in among:
            continue
        # of a lab that the course does not have any more, nothing is known
        state, decided = (
            here.stand.get(row[lab], {}).get(row[whose]),
            here.marks.get(row[lab], {}).get(row[whose], NONE),
        )
        row, deducted = [*row], ""
        waits = " (answers wait to be graded by hand)" if row[whose] in here.waiting.get(row[lab], ()) else ""
        if state in (Standing.COLLECTED, Standing.EXCUSED):
            row[raw] = row[late] = row[score] = ""
        elif state is not None and decided.statuses:
            left = float(row[score])
            row[score] = str(here.scores[row[lab]].get(row[whose], 0.0))
            deducted = f"{left - float(row[score]):g}"
        found.append([*row, deducted, f"{state or ''}{waits}", str(decided)])
    return found


def _outdated(results: Mapping[Lab, Sequence[Result]]) -> list[str]:
    """A note about each lab with work that is newer than its grade, and about work that is late, nobody knows by how much."""
    anew = {lab.name: len(handed_in_anew(lab, found)) for lab, found in results.items()}
    late = {lab.name: sum(bool(each.marked_late) for each in found) for lab, found in results.items()}
    notes = [f"{name}: {anew_in_words(name, count)}" for name, count in anew.items() if count]
    return notes + [f"{name}: {late_in_words(name, count)}" for name, count in late.items() if count]


def _canvas(here: _Here, shown: Sequence[str], file: Path) -> list[str]:
    """Writes the scores of these labs. Canvas's importer takes *EX* for excused (``lib/gradebook_importer.rb``), and leaves an empty cell as it is."""
    header = ["Student", "ID", "SIS User ID", "SIS Login ID", "Section", *shown]
    possible = [f"{here.most(name):g}" for name in shown]
    people = here.people | {student: Person(student) for student in here.others}
    scores = {lab: here.final(lab) for lab in shown}
    numbers = {student: person.canvas or number_in_id(student) for student, person in people.items()}
    see_that_nobody_shares("Canvas", numbers)
    rows: list[list[str]] = []
    for student, number in numbers.items():
        person = people[student]
        name = f"{person.last_name}, {person.first_name}" if person.name else student
        who = [name, number, "", student if person.name or not number else "", person.section]
        rows.append(
            [
                *who,
                *(_canvas_cell(scores[lab].get(student), here.stand[lab].get(student)) for lab in shown),
            ]
        )
    write_csv(file, [header, ["    Points Possible", "", "", "", "", *possible], *rows])
    without = sum(not row[1] for row in rows)
    empty = [told for lab in shown if (told := _without_score(here, lab, numbers))]
    notes = [f"An empty cell leaves what Canvas has. {'; '.join(empty)}."] if empty else []
    if without:
        notes.append(
            f"{without} of {len(rows)} students have no Canvas number here: Canvas looks for them by login ID, then by name. "
            "To have their numbers, import Canvas's gradebook export with `grader roster import FILE`."
        )
    return notes


def _without_score(here: _Here, lab: str, students: Collection[str]) -> str:
    """Of how many of these students a lab has no score, by the reason; empty if there are none. Who is excused is not among them."""
    final, stand = here.final(lab), here.stand[lab]
    states = Counter(
        "answers wait to be graded by hand" if student in here.waiting[lab] and stand[student].seen else state
        for student in students
        if student not in final
        and (state := stand.get(student, Standing.NOT_HANDED_IN)) is not Standing.EXCUSED
    )
    return f"{lab}: {', '.join(f'{count} {state}' for state, count in states.items())}" if states else ""


def _canvas_cell(score: float | None, standing: Standing | None) -> str:
    if standing is Standing.EXCUSED:
        return "EX"
    return "" if score is None else f"{score:.2f}"


def _moodle(lab: Lab, here: _Here, file: Path) -> list[str]:
    """Moodle's importer leaves alone students who have no grade here, such as those who are excused, and does not read the column *Status*, as in its own worksheets.
    It takes no grade above the maximum, so a bonus ends there.
    """
    header = ["Identifier", "Full name", "Status", "Grade", "Maximum grade", "Last modified (grade)"]
    stand, most = here.stand[lab.name], here.most(lab.name)
    students = [student for student, each in stand.items() if each is not Standing.NOT_HANDED_IN]
    scores = {student: f"{min(score, most):.2f}" for student, score in here.final(lab.name).items()}
    numbers = moodle_numbers(lab, students)
    see_that_nobody_shares("Moodle", numbers)
    rows, without = [], []
    for student in students:
        if number := numbers[student]:
            person = here.people.get(student)
            name = (person and person.name) or name_in_id(student)
            rows.append(
                [
                    f"Participant {number}",
                    name,
                    stand[student],
                    scores.get(student, ""),
                    f"{most:.2f}",
                    "-",
                ]
            )
        else:
            without.append(student)
    if not rows:
        raise GraderError(
            "No student's Moodle number is known, because their work did not come in a zip from Moodle. Use --format csv, and Moodle's Grades > Import, which finds people by username or e-mail address."
        )
    write_csv(file, [header, *rows])
    return [f"Left out, because their Moodle number is not known: {', '.join(without)}."] * bool(without)


def write_feedback_zip(
    lab: Lab, file: Path, among: Collection[str] | None = None, worksheet: Worksheet | None = None
) -> int:
    """Packs a lab's feedback pages, one folder per student, named as Moodle's upload of feedback files expects if the
    student's number is known. Returns how many pages there are.

    Args:
        among: only these students'; None: everybody's.
        worksheet: Moodle's own, in which numbers are looked up, too.

    Raises:
        GraderError: two students have the same Moodle number, or the file cannot be written.
    """
    pages = sorted(
        page
        for page in lab.course.feedback.glob(f"*/{lab.name}/{lab.slug}.html")
        if among is None or page.parts[-3] in among
    )
    students = [page.parts[-3] for page in pages]
    if worksheet:
        with Gradebook.open(lab.course) as gradebook:
            roster = Roster(gradebook.people().values())
        numbers = worksheet.numbers(lab, students, roster)
    else:
        numbers = moodle_numbers(lab, students)
    see_that_nobody_shares("Moodle", numbers)
    scratch = file.parent / f".{file.name}.new"
    try:
        make_private(file.parent)
        with (
            open(scratch, "wb", opener=for_owner) as written,
            zipfile.ZipFile(written, "w", zipfile.ZIP_DEFLATED) as archive,
        ):
            for page in pages:
                student = page.parts[-3]
                name = name_in_id(student).replace("_", " ")  # Moodle splits names there
                folder = f"{name}_{numbers[student]}_assignfeedback_file" if numbers[student] else student
                packed = zipfile.ZipInfo(f"{folder}/{page.name}")  # without the time: equal pages, equal zips
                packed.compress_type, packed.external_attr = zipfile.ZIP_DEFLATED, 0o644 << 16
                with page.open("rb") as opened, archive.open(packed, "w") as target:
                    shutil.copyfileobj(opened, target)
        scratch.replace(file)
    except OSError as error:
        where = f" ({error.filename})" if error.filename else ""
        raise GraderError(
            f"{file} cannot be written: {error.strerror}{where}. Choose another file with --zip."
        ) from None
    finally:
        with suppress(OSError):
            scratch.unlink()
    return len(pages)


def see_that_nobody_shares(lms: str, numbers: Mapping[str, str]) -> None:
    """
    Args:
        numbers: student -> the LMS's number; empty if there is none.

    Raises:
        GraderError: two students have the same number, so that one would get the other's grade.
    """
    owner: dict[str, str] = {}
    for student, number in numbers.items():
        if number and owner.setdefault(number, student) != student:
            raise GraderError(
                f"{owner[number]!r} and {student!r} have the same {lms} number, {number}, so it is not clear whose grade "
                f"is whose, and nothing was written. If they are the same person, or one of them does not exist, look at "
                "what both handed in. Then remove the wrong one: move its folder out of grading/submitted, and run "
                "`nbgrader db student remove ID --force`."
            )


def write_csv(file: Path, rows: Iterable[Iterable[str]]) -> None:
    """Writes a table that a spreadsheet can open without running anything in it. A new file is its owner's only: such tables have names and scores."""
    make_private(file.parent)
    with open(file, "w", encoding="utf-8", newline="", opener=for_owner) as opened:
        csv.writer(opened).writerows([inert(cell) for cell in row] for row in rows)


def for_owner(path: str, flags: int) -> int:
    """An opener for ``open``: a file that it makes can be read by its owner only."""
    return os.open(path, flags, 0o600)


def inert(cell: str) -> str:
    """The text of a cell, without what cannot be seen; anything that a spreadsheet would read as a formula begins with an apostrophe."""
    cell = seen(cell)
    return f"'{cell}" if cell[:1] in ("=", "+", "@", "\t") or re.match(r"-[^\d.]", cell) else cell
