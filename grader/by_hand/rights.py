"""Who may see and do what on the pages for those who teach.

Everyone whom Jupyter lets in is an instructor, unless the course has a list of assistants. Only a hub knows who somebody is, so only there the list means
anything: without one, everyone who has Jupyter's address has a terminal, too.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from contextlib import suppress
from dataclasses import dataclass

from grader.book.gradebook import Gradebook
from grader.book.state import is_there
from grader.course import Course
from grader.errors import GraderError
from grader.files import content_of, toml_of
from grader.people.roster import Person, in_section

LIST = "assistants.toml"
"""In ``grading/``: the login names of assistants, each with the sections of the roster that are theirs."""


class Refused(GraderError):
    """Somebody is not allowed to see or do this."""


@dataclass(frozen=True)
class Rights:
    """What somebody may see and do.

    Attributes:
        who: as the hub knows them; empty if there is no hub.
        sections: of an assistant, perhaps none; None: an instructor, who may see and do everything.
    """

    who: str = ""
    sections: tuple[str, ...] | None = None

    @property
    def instructor(self) -> bool:
        return self.sections is None

    def students(self, people: Iterable[Person]) -> frozenset[str] | None:
        """The ids of those whom this person may see by name; None: everybody.

        Raises:
            GraderError: the list names a section that the roster does not have.
        """
        if self.sections is None:
            return None
        people = list(people)
        return frozenset().union(*(in_section(people, section) for section in self.sections))

    def see_that_it_is_an_instructor(self) -> None:
        """
        Raises:
            Refused: it is an assistant.
        """
        if not self.instructor:
            raise Refused(f"{self.who} is on the list of assistants, and this is for instructors.")

    def see_that_it_is_theirs(self, student: str, among: Collection[str] | None) -> None:
        """
        Args:
            among: see :meth:`students`.

        Raises:
            Refused: the student is in none of the sections.
        """
        if among is not None and student not in among:
            mine = ", ".join(self.sections or ()) or "none"
            raise Refused(f"{student} is in no section of {self.who}'s (which are: {mine}).")


def rights_of(course: Course, who: str) -> Rights:
    """What somebody may see and do.

    Args:
        who: as the hub knows them; empty if there is no hub.

    Raises:
        GraderError: the list of assistants cannot be read. Then nobody may do anything, because nobody knows who is an assistant.
    """
    listed = assistants(course)
    return Rights(who, tuple(listed[who]) if who and who in listed else None)


def assistants(course: Course) -> dict[str, list[str]]:
    """Login name -> the sections that are theirs, of all who are on the list of assistants.

    Raises:
        GraderError: the list cannot be read, or it is gone: then those who were on it would be instructors.
    """
    file = course.grading / LIST
    try:
        text = content_of(file).decode("utf-8")
        listed = toml_of(text)
    except FileNotFoundError:
        text, listed = "", {}
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else str(error)
        raise GraderError(
            f'{file} cannot be read: {why}. It has a line for each assistant: "ana" = ["Monday"], with the sections that are hers.'
        ) from None
    if not text.strip() and (were := _were_listed(course)):
        raise GraderError(
            f"{file} is {'empty' if file.exists() else 'missing'}, but {', '.join(were)} {'was' if len(were) == 1 else 'were'} on this list of assistants, "
            "and without it they would be instructors. Put it back from a backup. If the course has no assistants any more, write a comment into it: # none"
        )
    for name, sections in listed.items():
        if not isinstance(sections, list) or not all(isinstance(each, str) for each in sections):
            raise GraderError(
                f'{file}: what it says of {name} is not a list of sections. Write it as "{name}" = ["Monday"], or "{name}" = [].'
            )
    return listed


def _were_listed(course: Course) -> list[str]:
    if not is_there(course):
        return []
    with Gradebook.open(course) as gradebook:
        return gradebook.assistants()


_noticed: dict[Course, dict[str, list[str]]] = {}


def notice_changes(course: Course) -> None:
    """Logs what has changed in the list of assistants, if this process has not done so already. While the list cannot be read, or the gradebook
    cannot be written to, that waits.
    """
    with suppress(GraderError):
        listed = assistants(course)
        if listed != _noticed.get(course) and is_there(course):
            with Gradebook.open(course) as gradebook:
                gradebook.note_assistants(listed)
            _noticed[course] = listed
