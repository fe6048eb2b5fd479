"""nbgrader's gradebook.db, with all that this course knows of it: a class for each thing that it knows, and here what they are together.

Only this room enters anything in it: :mod:`grader.book.scores` what the checks give, :mod:`grader.book.readings` what people do.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from grader.book import log
from grader.book import state as gradebook_state
from grader.book.attempts import Attempts
from grader.book.decisions import Decisions
from grader.book.merging import Merging
from grader.book.people import People
from grader.book.scores import Scores
from grader.book.seeds import Seeds
from grader.book.sent import SentGrades
from grader.book.teams import Teams
from grader.course import Course
from grader.people.roster import Roster, in_section


class Gradebook(People, Teams, Scores, Decisions, Attempts, SentGrades, Seeds, Merging):
    """An open gradebook. Use it as ``with Gradebook.open(course) as gradebook``."""

    def changes(self, lab: str = "", student: str = "") -> list[log.Change]:
        """Who changed what, newest last; of one lab or student, or of all."""
        return log.changes(self.engine, lab, student)

    def note_restored(self, backup: str) -> None:
        """Logs that a backup, which has this name, was put in the gradebook's place, and has the seeds of the labs be those of the backup."""
        with self.transaction() as db:
            log.note_restored(db, backup)
        self.put_seeds_back()

    def note_assistants(self, listed: Mapping[str, Sequence[str]]) -> None:
        """Logs what has changed in the list of assistants: name -> their sections."""
        log.note_assistants(
            self.engine,
            {
                name: f"section {', '.join(mine)}" if mine else "without a section"
                for name, mine in listed.items()
            },
        )

    def assistants(self) -> list[str]:
        """Who was on the list of assistants when the log last said so."""
        return log.assistants(self.engine)

    def now_called(self, student: str) -> str:
        """The id that somebody has now, after all merges of ids."""
        return log.now_called(self.engine, student)


def roster_of(course: Course) -> Roster:
    """Who is in the course; empty if no class list was imported.

    Raises:
        CourseError: the gradebook cannot be read.
    """
    if not gradebook_state.is_there(course):
        return Roster()
    with Gradebook.open(course) as gradebook:
        return Roster(gradebook.roster().values())


def teams_of(course: Course, lab: str) -> dict[str, str]:
    """Student -> team in a lab, of all on the roster who are in one.

    Raises:
        CourseError: the gradebook cannot be read.
    """
    if not gradebook_state.is_there(course):
        return {}
    with Gradebook.open(course) as gradebook:
        return gradebook.teams(lab)


def students_of(course: Course, section: str | None) -> frozenset[str] | None:
    """The ids of those who are in a section; None, which stands for everybody, if no section is named.

    Raises:
        GraderError: there is no such section, or no roster.
    """
    return None if section is None else in_section(roster_of(course).people.values(), section)
