"""A learner's request to look again at how an exercise was judged: a small text file, ready-made on the feedback page.

The file names the submission by its id in the gradebook, a random number that only this learner's page shows. So whose request it
is does not depend on names, and a file handed in by mail says as much as one from an LMS. Anybody may have written the rest.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property, partial
from pathlib import Path

from grader.book.gradebook import Gradebook, roster_of
from grader.book.requests import Asked, TooMany, exercises_in
from grader.book.state import is_there
from grader.course import Course
from grader.errors import GraderError
from grader.files import Unreadable, file_bytes, printable
from grader.people.roster import NotSure, Roster
from grader.people.students import folded
from grader.receive.sources import Offer, in_folder, in_zip
from grader.reference.lab import Lab

MAX_FILE = 64 * 2**10
"""The most bytes of a request's file."""
MAX_WORDS = 5_000
"""At most this many characters of what a learner says are kept."""

_NAMED = re.compile(r"(?:^|[_\W])regrade(?!.*\.ipynb(?:\.txt|\.json)?\Z)", re.IGNORECASE | re.DOTALL)
_FIELD = re.compile(r"[\s>*#]*(lab|exercise|submission)\s*:\s*(.*)", re.IGNORECASE)
_CODE = re.compile(r"(?<![0-9a-f])[0-9a-f]{32}(?![0-9a-f])", re.IGNORECASE)
_RULE = re.compile(r"[\s>]*-{10,}\s*")
_ASIDE = "Keep the lines above. Write below why your answer deserves another look."  # mail wraps longer lines
_NO_TEXT = (b"PK\x03\x04", b"%PDF", b"{\\rtf", b"\xd0\xcf\x11\xe0", b"\x1f\x8b")


def file_name(exercise: str) -> str:
    """What the file of a request about an exercise is called. (LMSs and browsers put numbers into it.)"""
    return f"regrade-{exercise}.txt"


def blank(lab: str, exercise: str, submission: str) -> str:
    """The text of a request in which only the learner's words are missing."""
    return f"Lab: {lab}\nExercise: {exercise}\nSubmission: {submission}\n\n{_ASIDE}\n{'-' * 60}\n"


def is_request(offer: Offer) -> bool:
    """Whether a file is named like a request. LMSs put names and numbers in front."""
    return _NAMED.search(offer.name) is not None


@dataclass(frozen=True)
class Received:
    """What became of a file that was read as a request.

    Attributes:
        file: where it is, safe to show.
        student, exercise: empty if it could not be read.
        number: of the request; None if there is none.
        why: why there is none, or what else there is to know.
    """

    file: str
    student: str
    exercise: str
    number: int | None
    why: str = ""


class Desk:
    """Where requests are read. Use it as ``with Desk.opened(course) as desk``."""

    def __init__(self, course: Course, gradebook: Gradebook | None) -> None:
        self.course, self.gradebook = course, gradebook
        self._submissions = gradebook.submissions() if gradebook else {}
        self._exercises: dict[str, dict[str, str]] = {}

    @classmethod
    @contextmanager
    def opened(cls, course: Course) -> Iterator[Desk]:
        """
        Raises:
            CourseError: the gradebook cannot be used. (That there is none yet is no error: then nobody can ask for anything.)
        """
        if not is_there(course):
            yield cls(course, None)
            return
        with Gradebook.open(course) as gradebook:
            yield cls(course, gradebook)

    def read(self, offer: Offer, student: str = "") -> Asked:
        """What a file asks for. Nothing is entered.

        Args:
            student: who handed it in; empty if only the file itself says it.

        Raises:
            Unreadable: it is no request, says nothing, or is about somebody else's work.
        """
        given, words = _parts(_text(offer.read()))
        code = _CODE.search(given.get("submission", ""))
        if not code:
            raise Unreadable(
                "It has no line “Submission:” with the code from the feedback page. Take the ready-made file from there, and leave its first lines as they are."
            )
        found = self._submissions.get(code[0].lower())
        if not found or found.lab not in self.course.labs():
            raise Unreadable(
                "The gradebook knows no submission with its code. Take the file from the newest feedback page."
            )
        if student and folded(found.student) not in (folded(student), folded(self._now(student))):
            raise Unreadable(
                f"It is about {found.student}'s work, but {printable(student)} handed it in: ask both. (If they are one person, see `grader roster`.)"
            )
        names = self._exercises_in(found.lab)
        wanted = given.get("exercise", "").strip(" `*.").casefold()
        cell = next((cell for cell, name in names.items() if name.casefold() == wanted), None)
        if not cell:
            raise Unreadable(
                f"Its line “Exercise:” names none of {found.lab}: {', '.join(names.values())}. Take the ready-made file from the feedback page."
            )
        if not words:
            raise Unreadable("It has no words of its own: it does not say what should be looked at, or why.")
        when = (offer.stamp or datetime.now(UTC)).replace(tzinfo=None, microsecond=0)
        return Asked(code[0].lower(), found.student, found.lab, cell, words, offer.shown, when)

    def accepts(self, lab: Lab, offer: Offer) -> bool:
        """Whether a file is a request about a lab that the person who handed it in may make."""
        try:
            return is_request(offer) and self.read(offer, offer.student).lab == lab.name
        except Unreadable:
            return False

    def enter(self, asked: Asked) -> tuple[int, bool]:
        """Enters what was read. Returns the request's number, and whether it is new.

        Raises:
            TooMany: the learner has asked too often.
            CourseError: the gradebook cannot be written to.
        """
        return self.gradebook.ask(asked)

    def receive(self, offer: Offer) -> Received:
        """Reads a file and enters what it asks for.

        Raises:
            CourseError: the gradebook cannot be written to.
        """
        try:
            asked = self.read(offer)
        except Unreadable as error:
            return Received(offer.shown, "", "", None, str(error))
        exercise = self.exercise(asked)
        try:
            number, new = self.enter(asked)
        except TooMany as error:
            return Received(offer.shown, asked.student, exercise, None, str(error))
        return Received(offer.shown, asked.student, exercise, number, "" if new else "It was here already.")

    def exercise(self, asked: Asked) -> str:
        """What learners know the exercise by that a request is about."""
        return self._exercises_in(asked.lab)[asked.cell]

    @cached_property
    def _roster(self) -> Roster:
        return roster_of(self.course)

    def _now(self, student: str) -> str:
        """The id on the roster of the person who handed in something."""
        try:
            person = self._roster.find(student, student)
        except NotSure:
            return student
        return person.student if person else student

    def _exercises_in(self, lab: str) -> dict[str, str]:
        if lab not in self._exercises:
            self._exercises[lab] = exercises_in(Lab(self.course, lab))
        return self._exercises[lab]


def add(course: Course, sources: list[Path]) -> list[Received]:
    """Reads requests from text files, folders and zips; in the latter two, from files that are named like one. Nothing else in
    them is looked at, and nobody's work changes.

    Raises:
        GraderError: a source cannot be read, or has no request.
    """
    found: list[Received] = []
    with Desk.opened(course) as desk:
        for source in sources:
            with _offers(source) as offers:
                received = [desk.receive(offer) for offer in offers]
            if not received:
                raise GraderError(
                    f"{source} has no request: their files are called {file_name('<exercise>')}. Name a file that is called otherwise itself."
                )
            found += received
    return found


@contextmanager
def _offers(source: Path) -> Iterator[list[Offer]]:
    """
    Raises:
        GraderError: it cannot be read.
    """
    if source.is_dir():
        yield [offer for offer in in_folder(source.resolve()) if is_request(offer)]
    elif not source.is_file():
        raise GraderError(f"{source} does not exist, or is neither a text file, a folder nor a zip.")
    elif source.suffix.lower() == ".zip":
        with in_zip(source) as offers:
            yield [offer for offer in offers if is_request(offer)]
    else:
        path = source.resolve()
        yield [Offer((source.name,), partial(file_bytes, path, path.parent))]


# ---------------------------------------------------------------------------------- the text


def _text(data: bytes) -> str:
    """The text of a file in any of the encodings that editors write.

    Raises:
        Unreadable: it is no text, or too long.
    """
    if re.match(rb"(?:\xef\xbb\xbf)?\s*<(?:!doctype\s+html|html)\b", data[:1000], re.IGNORECASE):
        raise Unreadable(
            "It is a web page, perhaps the feedback page itself. What is wanted is the small text file that this page offers for each exercise "
            f"({file_name('<exercise>')}), with the learner's words in it."
        )
    if len(data) > MAX_FILE:
        raise Unreadable(f"It has more than {MAX_FILE // 2**10} KiB, too much for a request. Write less.")
    wide = data[:2] in (b"\xff\xfe", b"\xfe\xff")
    if data.startswith(_NO_TEXT) or (b"\0" in data and not wide):
        raise Unreadable("It is not plain text. Save it as a text file (.txt).")
    try:
        return data.decode("utf-16" if wide else "utf-8-sig")
    except UnicodeDecodeError:
        return data.decode("cp1252", "replace")  # what old editors on Windows write


def _parts(text: str) -> tuple[dict[str, str], str]:
    """What the first line of each name says (lab, exercise, submission), and everything that the learner wrote."""
    given: dict[str, str] = {}
    own = []
    for line in text.splitlines():
        field = _FIELD.fullmatch(line)
        if field and field[1].lower() not in given:
            given[field[1].lower()] = field[2]
        elif line.strip(" >\t") != _ASIDE and not _RULE.fullmatch(line):
            own.append(line.rstrip())
    words = re.sub(r"\n{4,}", "\n\n\n", legible("\n".join(own)).strip())
    if len(words) > MAX_WORDS:
        words = f"{words[:MAX_WORDS]}\n[{len(words) - MAX_WORDS} more characters were left out]"
    return given, words


def legible(text: str) -> str:
    """Lines that are safe to show, in a terminal too: without control characters or marks that change their direction. What
    joins letters in some scripts stays.
    """
    return "".join(
        char if char.isprintable() or char in "\n\u200c\u200d" else "\ufffd" for char in text.expandtabs(4)
    )
