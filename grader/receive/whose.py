"""Whose work a file is on the roster, whatever way it came in, and what is learned on the way."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from grader.files import Unreadable, printable
from grader.people.roster import Person, Roster, is_called
from grader.people.students import stored_moodle_number
from grader.receive.names import File
from grader.reference.lab import Lab

Ask = Callable[[str, Sequence[Person]], Person | None]
"""Asks whose work something is: what it is called, and who it may be. None: nobody can say."""

NOT_ON_THE_ROSTER = "Not on the roster."


class Reception:
    """Finds whose work it is on the roster, and remembers Canvas's numbers that it learns on the way.

    Args:
        roster: if it is empty, ids stay as the names in the source give them.
        teams: student -> team in this lab.
    """

    def __init__(self, lab: Lab, roster: Roster, teams: Mapping[str, str] | None = None) -> None:
        self.roster = roster
        self.teams = teams or {}
        numbers = {student: stored_moodle_number(lab, student) for student in roster.people}
        self.of_moodle = {number: student for student, number in numbers.items() if number}  # in this lab
        self.learned: dict[str, Person] = {}

    def known(self, file: File) -> File:
        """The file with the id that its student has on the roster.

        Raises:
            NotSure: several people may be meant.
        """
        if not self.roster.people:
            return file
        person = self._person(file)
        if not person:
            return replace(file, note=" ".join(filter(None, (file.note, NOT_ON_THE_ROSTER))))
        return self.of(person, file)

    def asked(self, file: File, people: Sequence[Person], ask: Ask | None) -> File:
        """The same where several may be meant: somebody is asked.

        Raises:
            Unreadable: nobody can say.
        """
        called = file.called or file.login
        if person := ask(f"{called} ({file.offer.shown})", people) if ask else None:
            return self.of(person, file)
        listed = ", ".join(f"{each.student} ({each.name})" for each in people[:10])
        raise Unreadable(
            f"Several people on the roster are called {printable(called)!r}: {listed}. Run `grader collect` in a "
            "terminal, where it asks whose this is. If two of these ids are one person's: grader roster merge OLD ID"
        )

    def of(self, person: Person, file: File) -> File:
        """The file as that person's."""
        if file.canvas and not person.canvas:
            self.learned[person.student] = replace(person, canvas=file.canvas)
        # What the roster does not say was found by a number: is it the same person?
        given = file.called or file.login
        told = not given or is_called(person, given)
        return replace(
            file,
            student=person.student,
            listed=True,
            note="" if told else f"Handed in as {printable(given)!r}.",
        )

    def _person(self, file: File) -> Person | None:
        """
        Raises:
            NotSure: several people may be meant.
        """
        if file.moodle_number and (before := self.of_moodle.get(file.moodle_number)):
            return self.roster.by_id(before)
        return self.roster.find(file.login, file.called, file.canvas)
