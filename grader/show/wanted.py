"""What another system should have of a lab, and why it may keep another grade: the same for every system that grades are sent to."""

from __future__ import annotations

from collections.abc import Collection

from grader.book.gradebook import Gradebook
from grader.book.sent import Sent
from grader.book.statuses import by_student
from grader.errors import GraderError
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
)

WAITING = "They have answers that wait to be graded by hand"


class Wanted:
    """What the gradebook has of a lab.

    Attributes:
        wanted: student -> the grade that the other system should have; None: excused.
        stand: student -> how things are.
        waiting: those with answers that wait to be graded by hand.
        late: student -> seconds after the deadline, of those who were late.
        people: student -> who it is.
        points: those of the lab that count.
        sent, taken: what was sent to this place, and what came from it.
    """

    def __init__(self, lab: Lab, place: str, among: Collection[str] | None) -> None:
        """
        Args:
            place: what the other system's assignment is called in notes of what was sent; empty if there is none yet.

        Raises:
            GraderError: nothing has been graded.
        """
        with Gradebook.open(lab.course) as gradebook:
            entered, self.people = gradebook.results(lab, among), gradebook.people()
            marks = by_student(gradebook.statuses(lab.name, among))
            self.points = gradebook.counted(lab).total(lab.points_of_cells)
            self.sent, self.taken = gradebook.sent(lab, place), gradebook.taken(lab, place)
        self._lab, self.results = lab, graded(entered)
        there = [student for student in collected(lab) if among is None or student in among]
        self.stand = standings(entered, there, (), marks)
        self.waiting = {each.student for each in self.results if each.waiting}
        self.late = {each.student: each.late.total_seconds() for each in self.results if each.late}
        scores = {student: round(score, 2) for student, score in scores_of(self.results, self.stand).items()}
        excused = {student: None for student, each in self.stand.items() if each is Standing.EXCUSED}
        self.wanted: dict[str, float | None] = dict(sorted((scores | excused).items()))
        if not self.wanted:
            raise GraderError(
                f"Nothing{'' if among is None else ' of this section'} of {lab.name} has been graded yet. Run `grader autograde {lab.name}` first."
            )

    def notes(self) -> list[str]:
        """Sentences about work that has no grade yet, or not this one."""
        anew = handed_in_anew(self._lab, self.results)
        return [
            *([anew_in_words(self._lab.name, len(anew))] if anew else []),
            *in_words(self._lab.name, self.stand),
        ]


def the_same(one: float | None, other: float | None) -> bool:
    """Whether two grades are there and differ by rounding at most."""
    return one is not None and other is not None and abs(one - other) <= 0.001


def why_it_stays(changed: str, there: float | None, sent: Sent, replacing: bool) -> str:
    """Why another grade in another system is left alone; empty if it was sent from here, or there is none.

    Args:
        changed: the sentence that somebody has entered it there.
    """
    if replacing or there is None or the_same(there, sent.score):
        return ""
    return f"{changed}. They are kept; --replace enters yours"
