"""Students' ids, and the numbers by which LMSs know students.

Canvas's number for a student is the same in all assignments, and the student's id ends in it. Moodle's number is different in
each assignment, so :mod:`grader.receive.collect` keeps it beside the submission.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Iterable

from grader.files import Unreadable, file_bytes
from grader.reference.lab import Lab

MAX_ID = 100
"""The most bytes of a student's id: file systems allow 255, and some with encryption 143."""
MOODLE_NUMBER = "moodle-number.txt"
"""The file beside a submission with the number that Moodle gives its student in this one assignment."""

_NUMBER = re.compile(r".+_([0-9]{1,20})", re.DOTALL)


def student_id(name: str, number: str = "") -> str:
    """An id that is safe as a folder's name, made from a name as given by an LMS or a folder, and the LMS's number.

    Letters of all scripts stay (in Unicode's form NFC). Two people must get different ids. So an id ends in the number or, if there is no number
    and the name had to be changed, in a hash of the name.
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
    """As much of a name as fits into ``size`` bytes."""
    return name.encode()[:size].decode("utf-8", "ignore").rstrip(" .")


def folded(student: str) -> str:
    """An id as seen by file systems that ignore case."""
    return student.casefold()


def number_in_id(student: str) -> str:
    """The LMS's number at the end of a student's id as :mod:`grader.receive.collect` makes it; empty if there is none."""
    found = _NUMBER.fullmatch(student)
    return found[1] if found else ""


def name_in_id(student: str) -> str:
    """An id without the number at its end."""
    return student.removesuffix(f"_{number_in_id(student)}")


def stored_moodle_number(lab: Lab, student: str) -> str:
    """A student's number according to Moodle's zip for this lab; empty if it is not known."""
    try:
        text = (
            file_bytes(lab.course.submitted / student / lab.name / MOODLE_NUMBER)[:30].decode("ascii").strip()
        )
    except (Unreadable, UnicodeDecodeError):
        return ""
    return text if re.fullmatch("[0-9]{1,20}", text) else ""


def moodle_numbers(lab: Lab, students: Iterable[str]) -> dict[str, str]:
    """Student -> Moodle's number in a lab; empty where it is not known.

    If no numbers are stored at all, those at the end of ids count, because that is where they used to be. Otherwise a number
    in an id may be from another lab.
    """
    stored = {student: stored_moodle_number(lab, student) for student in students}
    return stored if any(stored.values()) else {student: number_in_id(student) for student in stored}
