"""Students' ids, and the numbers that LMSs know students by.

Canvas's number of a student is the same in all assignments, and ends the student's id. Moodle's is another in each assignment:
:mod:`grader.receive.collect` keeps it beside the submission.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Iterable

from grader.lab import Lab
from grader.receive.files import Unreadable, file_bytes

MAX_ID = 100
"""Bytes of a student's id: file systems allow 255, some with encryption 143."""
MOODLE_NUMBER = "moodle-number.txt"
"""Beside a submission: the number that Moodle gives its student in this one assignment."""

_NUMBER = re.compile(r".+_([0-9]{1,20})", re.DOTALL)


def student_id(name: str, number: str = "") -> str:
    """An id that is safe as a folder's name, for a name as an LMS or a folder gives it and the LMS's number.

    Letters of all scripts stay (in Unicode's form NFC). Two people get two ids: by the number, or, if the name had
    to be changed and there is no number, by a hash of it.
    """
    name = unicodedata.normalize("NFC", name)
    kept = "".join(_id_character(char) for char in name)
    safe = unicodedata.normalize("NFC", " ".join(kept.split())).lstrip(" .-").rstrip(" .")
    if number:
        return f"{_cut(safe, MAX_ID - 1 - len(number)) or 'user'}_{number}"
    if safe and safe == name and len(safe.encode()) <= MAX_ID:
        return safe
    digest = hashlib.blake2b(name.encode("utf-8", "surrogatepass"), digest_size=4).hexdigest()
    return f"{_cut(safe, MAX_ID - 1 - len(digest)) or 'student'}-{digest}"


def _id_character(char: str) -> str:
    if char in " -_.,'@+":
        return char
    if char in "\u115f\u1160\u3164\uffa0":  # letters that cannot be seen
        return ""
    kind = unicodedata.category(char)
    if kind[0] in "LMN":
        return char
    return " " if kind[0] == "Z" else "" if kind[0] == "C" else "_"


def _cut(name: str, size: int) -> str:
    """As much of a name as fits into so many bytes."""
    return name.encode()[:size].decode("utf-8", "ignore").rstrip(" .")


def folded(student: str) -> str:
    """An id as file systems that ignore case see it."""
    return student.casefold()


def number_in_id(student: str) -> str:
    """The number of an LMS's that ends a student's id, as :mod:`grader.receive.collect` makes it; or empty."""
    found = _NUMBER.fullmatch(student)
    return found[1] if found else ""


def name_in_id(student: str) -> str:
    """An id without the number that ends it."""
    return student.removesuffix(f"_{number_in_id(student)}")


def stored_moodle_number(lab: Lab, student: str) -> str:
    """What Moodle's zip of this lab said is a student's number; or empty."""
    try:
        text = (
            file_bytes(lab.course.submitted / student / lab.name / MOODLE_NUMBER)[:30].decode("ascii").strip()
        )
    except (Unreadable, UnicodeDecodeError):
        return ""
    return text if re.fullmatch("[0-9]{1,20}", text) else ""


def moodle_numbers(lab: Lab, students: Iterable[str]) -> dict[str, str]:
    """Student -> Moodle's number in a lab; empty where it is not known.

    Where none is stored of anybody, those that end ids count: so it was once. Beside stored ones they may be of another lab.
    """
    stored = {student: stored_moodle_number(lab, student) for student in students}
    return stored if any(stored.values()) else {student: number_in_id(student) for student in stored}
