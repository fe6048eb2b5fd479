"""Scores in the forms that learning management systems take.

What they take is read from their sources: Canvas's gradebook (``lib/gradebook_importer.rb``) finds a student by
``ID``, else by ``SIS Login ID``; Moodle's offline grading worksheet (``mod/assign/feedback/offline/importgradeslib.php``) by
``Identifier``, and asks for ``Grade`` and ``Last modified (grade)``; a zip of feedback files
(``mod/assign/feedback/file/importziplib.php``) has a folder ``<name>_<number>_<type>_<plugin>`` a student.
"""

from __future__ import annotations

import csv
import re
import zipfile
from collections.abc import Iterable, Sequence
from pathlib import Path

from grader.course import Course, CourseError
from grader.gradebook import Gradebook, Result
from grader.lab import Lab

_NUMBER = re.compile(r".+_(\d{1,20})", re.DOTALL)


def export(course: Course, labs: Sequence[str], form: str, file: Path) -> list[str]:
    """Writes the scores of labs (default: of all) to a file. Returns what else there is to know.

    Args:
        form: ``csv`` (nbgrader's own, all labs), ``canvas``, or ``moodle`` (one lab).

    Raises:
        CourseError: there is no such form, nothing to write, or the file cannot be written.
    """
    chosen = [Lab.load(course, name) for name in labs]
    if form not in ("csv", "canvas", "moodle"):
        raise CourseError(f"There is no format {form!r}. Formats: canvas, moodle, csv.")
    if form == "moodle" and len(chosen) != 1:
        raise CourseError(
            "A worksheet of Moodle's is about one assignment: name one lab, as in "
            "`grader export 02_self_attention --format moodle`."
        )
    if form == "csv" and chosen:
        raise CourseError(
            "nbgrader's CSV file holds all labs: leave the lab out, or choose another --format."
        )
    try:
        with Gradebook.open(course) as gradebook:
            if form == "csv":
                gradebook.export(file)
                return []
            every = chosen or [Lab.load(course, name) for name in course.labs()]
            results = {lab.name: gradebook.results(lab) for lab in every}
            results = {name: found for name, found in results.items() if found or chosen}
            students = gradebook.students()
        if not any(results.values()):
            raise CourseError("Nothing has been graded yet. Run `grader autograde LAB` first.")
        if form == "canvas":
            return _canvas(course, results, students, file)
        return _moodle(chosen[0], results[chosen[0].name], file)
    except OSError as error:
        raise CourseError(
            f"{file} cannot be written: {error.strerror}. Name another file with --out."
        ) from None


def _canvas(
    course: Course, results: dict[str, list[Result]], students: Iterable[str], file: Path
) -> list[str]:
    header = ["Student", "ID", "SIS User ID", "SIS Login ID", "Section", *results]
    possible = [f"{Lab.load(course, name).points:g}" for name in results]
    scores = {name: {result.student: result.score for result in found} for name, found in results.items()}
    rows: list[list[str]] = []
    for student in students:
        number = lms_number(student)
        who = [student, number, "", "" if number else student, ""]
        earned = (of_lab.get(student) for of_lab in scores.values())
        rows.append([*who, *("" if score is None else f"{score:.2f}" for score in earned)])
    write_csv(file, [header, ["    Points Possible", "", "", "", "", *possible], *rows])
    without = sum(not row[1] for row in rows)
    return [
        f"{without} of {len(rows)} students have no number of Canvas's in their id, because their work did not come in "
        "Canvas's zip: Canvas looks for them by login ID, then by name."
    ] * bool(without)


def _moodle(lab: Lab, results: Sequence[Result], file: Path) -> list[str]:
    header = ["Identifier", "Full name", "Grade", "Maximum grade", "Last modified (grade)"]
    rows, without = [], []
    for result in results:
        if number := lms_number(result.student):
            name = result.student.removesuffix(f"_{number}")
            rows.append([f"Participant {number}", name, f"{result.score:.2f}", f"{lab.points:.2f}", "-"])
        else:
            without.append(result.student)
    if not rows:
        raise CourseError(
            "No student's id ends in the number that Moodle gives participants, because their work did not come in Moodle's "
            "zip. Use --format csv, and Moodle's Grades > Import, which finds people by username or e-mail address."
        )
    write_csv(file, [header, *rows])
    return [f"Left out, because their ids have no number of Moodle's: {', '.join(without)}."] * bool(without)


def write_feedback_zip(lab: Lab, file: Path) -> int:
    """Packs a lab's feedback pages, a folder a student, named as Moodle's upload of feedback files wants it where the
    student's number is known. Returns how many pages there are.

    Raises:
        CourseError: the file cannot be written.
    """
    pages = sorted(lab.course.feedback.glob(f"*/{lab.name}/{lab.slug}.html"))
    try:
        with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
            for page in pages:
                student = page.parts[-3]
                number = lms_number(student)
                name = student.removesuffix(f"_{number}").replace("_", " ")  # Moodle takes names apart there
                folder = f"{name}_{number}_assignfeedback_file" if number else student
                archive.write(page, f"{folder}/{page.name}")
    except OSError as error:
        raise CourseError(
            f"{file} cannot be written: {error.strerror}. Name another file with --zip."
        ) from None
    return len(pages)


def lms_number(student: str) -> str:
    """The number that an LMS's zip gave a student, which ends the id that :mod:`grader.collect` made; or empty."""
    found = _NUMBER.fullmatch(student)
    return found[1] if found else ""


def write_csv(file: Path, rows: Iterable[Iterable[str]]) -> None:
    """Writes a table that a spreadsheet can open without running anything that is in it."""
    with file.open("w", encoding="utf-8", newline="") as opened:
        csv.writer(opened).writerows([inert(cell) for cell in row] for row in rows)


def inert(cell: str) -> str:
    """The text of a cell; what a spreadsheet would take for a formula begins with an apostrophe."""
    return f"'{cell}" if cell[:1] in ("=", "+", "@", "\t", "\r") or re.match(r"-[^\d.]", cell) else cell
