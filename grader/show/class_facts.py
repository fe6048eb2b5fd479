"""How a class did in a lab: exercise by exercise, which misconceptions it holds, and who needs help. Everything comes from the gradebook, so
points given by hand count as well.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from grader.book.requests import Request
from grader.book.results import Result
from grader.book.statuses import Marks
from grader.grade.work import WORKING
from grader.receive.refused import Refused
from grader.reference.lab import Lab, checked_exercise, nbgrader_of
from grader.run.states import CRASHED, OUT_OF_MEMORY, TIMED_OUT, UNREADABLE
from grader.show.pages import percent
from grader.show.standing import Standing, standings

FEW = 8
"""With fewer submissions than this, a correlation says nothing."""
NEEDS_HELP_BELOW = 0.5
"""Share of the points."""
MANY_MISCONCEPTIONS = 3
ENDED = {
    CRASHED: "crashed",
    TIMED_OUT: "timed out",
    OUT_OF_MEMORY: "ran out of memory",
    UNREADABLE: "could not be read",
}
"""What a submission did of which not everything was seen, by the state that it ended in."""


@dataclass(frozen=True)
class ExerciseFacts:
    """How a class did in one exercise or written answer.

    Attributes:
        solved: share of the submissions with full points for it; those that wait for a human to grade it are left out. None if
            all wait.
        mean: mean share of its points, of the same submissions: how easy it was.
        not_begun: share of the submissions that left it as it was released.
        discrimination: Pearson's correlation between its points and those of the rest of the lab (the corrected item-total
            correlation of classical test theory); None where there are fewer than ``FEW`` submissions, or no differences.
        waiting: number of submissions in which it is waiting for a human to grade it.
        given: number of submissions in which it is right given a mistake in an earlier exercise.
        working: number of submissions in which it is right with a working earlier exercise, which their own is not.
        asked: number of open requests to look at it again.
        counts: in words, if its points do not count as others do by the rules of the term.
    """

    name: str
    points: float
    solved: float | None
    mean: float | None
    not_begun: float
    discrimination: float | None
    waiting: int
    given: int
    working: int
    asked: int
    counts: str = ""


@dataclass(frozen=True)
class HeldMisconception:
    """A misconception, and who has it."""

    exercise: str
    title: str
    hint: str
    students: tuple[str, ...]


@dataclass(frozen=True)
class NeedsHelp:
    """A student to talk to, why, and what to begin with."""

    student: str
    score: float | None
    reasons: tuple[str, ...]
    say: str = ""


@dataclass(frozen=True)
class Analysis:
    """All facts of the page.

    Attributes:
        ungraded: students whose submissions were collected and are not graded yet.
        missing: students on the roster (in the gradebook, if there is none) of whom nothing was collected.
        names: student -> first and last name, where the gradebook knows them.
        requests: open ones.
        anew: students whose scores are those of earlier work than what lies there now.
        sections: student -> section, of those on the roster.
        refused: files that were refused when work was last collected, and why: nobody knows whose they are.
    """

    points: float
    points_of_cells: Mapping[str, float]
    results: tuple[Result, ...]
    exercises: tuple[ExerciseFacts, ...]
    misconceptions: tuple[HeldMisconception, ...]
    needs_help: tuple[NeedsHelp, ...]
    ungraded: tuple[str, ...]
    missing: tuple[str, ...]
    deadline: datetime | None = None
    names: Mapping[str, str] = field(default_factory=dict)
    requests: tuple[Request, ...] = ()
    anew: tuple[str, ...] = ()
    sections: Mapping[str, str] = field(default_factory=dict)
    refused: tuple[Refused, ...] = ()

    def called(self, student: str) -> str:
        """What to call a student on the page: the name with the id, or the id alone."""
        name = self.names.get(student)
        return f"{name} ({student})" if name and name != student else student

    def notes(self, result: Result) -> list[str]:
        """What there is to know about a submission."""
        anew = ["Handed in anew since it was graded."] if result.student in self.anew else []
        late = (
            [f"{result.marked_late} marks it as late; by how much is not known."]
            if result.marked_late
            else []
        )
        decided = [f"Decided: {result.marks}."] if str(result.marks) else []
        return [*decided, *anew, *late, *(result.marker.notes if result.marker else ())]

    @property
    def ended(self) -> list[Result]:
        """Those that could not be read, or did not run to their end: not all of their work was seen, so they are not among the *graded*."""
        return [result for result in self.results if result.marker and result.marker.state in ENDED]

    @property
    def shares(self) -> list[float]:
        """Each submission's share of the points, see :func:`share_of`."""
        return [share_of(result, self.points_of_cells) for result in self.results]


def analyse(
    lab: Lab,
    results: Sequence[Result],
    students: Sequence[str],
    deadline: datetime | None = None,
    collected: Sequence[str] = (),
    names: Mapping[str, str] | None = None,
    requests: Sequence[Request] = (),
    anew: Sequence[str] = (),
    sections: Mapping[str, str] | None = None,
    refused: Sequence[Refused] = (),
    marks: Mapping[str, Marks] | None = None,
) -> Analysis:
    """The facts about a class's results.

    Args:
        results: those of everybody who was graded; at least one.
        students: all students in the gradebook.
        collected: everybody of whom a submission was collected, graded or not.
        names: student -> first and last name, where known.
        requests: to look again, open and decided.
        anew: students who have handed in anew since they were graded.
        sections: student -> section, where known.
        refused: files that are in no student's folder, and why.
        marks: student -> what was decided about this student in the lab.
    """
    open_requests = tuple(each for each in requests if not each.decided)
    cells, stand = names_of_cells(lab), standings(results, collected, students, marks)
    return Analysis(
        results[0].counts.total(lab.points_of_cells),
        lab.points_of_cells,
        tuple(results),
        tuple(
            _exercise(cells[cell], cell, points, results, sum(each.cell == cell for each in open_requests))
            for cell, points in lab.points_of_cells.items()
        ),
        tuple(_misconceptions(lab, results)),
        tuple(_who_needs_help(lab, cells, results)),
        tuple(student for student, each in stand.items() if each is Standing.COLLECTED),
        tuple(student for student, each in stand.items() if each is Standing.NOT_HANDED_IN),
        deadline,
        names or {},
        open_requests,
        tuple(anew),
        sections or {},
        tuple(refused),
    )


def share_of(result: Result, points: Mapping[str, float]) -> float:
    """A submission's share of the points that count, without those that a human still has to give; at most 1.

    Args:
        points: graded cell -> its points.
    """
    most = result.most(points)
    return min(result.score / most, 1.0) if most > 0 else 0.0


def names_of_cells(lab: Lab) -> dict[str, str]:
    """Graded cell -> the name of its exercise; for a written answer, its own name."""
    graded = (cell for cell in lab.release().cells if nbgrader_of(cell).get("grade"))
    return {
        nbgrader_of(cell)["grade_id"]: (checked_exercise(cell) or nbgrader_of(cell)["grade_id"]).rpartition(
            "."
        )[2]
        for cell in graded
    }


def given_in(result: Result) -> dict[str, str]:
    """Exercises that are right given a mistake in an earlier one -> the names of the earlier ones."""
    return {name: earlier for name, earlier in _follows(result) if not earlier.startswith(WORKING)}


def with_working(result: Result) -> dict[str, str]:
    """Exercises that are right with working earlier ones in the place of the learner's -> the names of the earlier ones."""
    return {
        name: earlier.removeprefix(WORKING)
        for name, earlier in _follows(result)
        if earlier.startswith(WORKING)
    }


def _follows(result: Result) -> list[tuple[str, str]]:
    """What :attr:`grader.grade.work.Record.given` says."""
    parts = (text.partition(": ") for text in (result.marker.given if result.marker else ()))
    return [(name, earlier) for name, _, earlier in parts]


def _exercise(name: str, cell: str, points: float, results: Sequence[Result], asked: int) -> ExerciseFacts:
    given = [result for result in results if result.points.get(cell, 0.0) is not None]
    earned = [result.points.get(cell) or 0.0 for result in given]
    rest = [
        result.earned - own * (cell not in result.counts.left_out)
        for result, own in zip(given, earned, strict=True)
    ]
    return ExerciseFacts(
        name,
        points,
        solved=_share(own >= points - 0.005 for own in earned) if given else None,
        mean=(statistics.fmean(earned) / points if points else 0.0) if given else None,
        not_begun=_share(name in result.untouched for result in results),
        discrimination=_correlation(earned, rest),
        waiting=len(results) - len(given),
        given=sum(name in given_in(result) for result in results),
        working=sum(name in with_working(result) for result in results),
        asked=asked,
        counts=results[0].counts.of(cell) if results else "",
    )


def _share(truths: Iterable[bool]) -> float:
    return statistics.fmean(map(float, truths))


def _correlation(xs: Sequence[float], ys: Sequence[float]) -> float | None:
    if len(xs) < FEW or len({round(x, 9) for x in xs}) == 1 or len({round(y, 9) for y in ys}) == 1:
        return None
    return statistics.correlation(xs, ys)


def _misconceptions(lab: Lab, results: Sequence[Result]) -> list[HeldMisconception]:
    known = {
        (entry.exercise, entry.name): entry for entries in lab.misconceptions.values() for entry in entries
    }
    held: dict[tuple[str, str], list[str]] = {}
    for result in results:
        for text in result.marker.recognised if result.marker else ():
            exercise, _, name = text.partition(": ")
            held.setdefault((exercise, name), []).append(result.student)
    found = []
    for (exercise, name), who in held.items():
        entry = known.get((exercise, name))
        found.append(
            HeldMisconception(
                exercise, entry.title if entry else name, entry.hint if entry else "", tuple(who)
            )
        )
    return sorted(found, key=lambda each: (-len(each.students), each.exercise, each.title))


def _who_needs_help(lab: Lab, names: Mapping[str, str], results: Sequence[Result]) -> list[NeedsHelp]:
    found = []
    for result in results:
        reasons = []
        if result.marker and result.marker.state in ENDED:
            reasons.append(f"the submission {ENDED[result.marker.state]}")
        at_stake = result.most(lab.points_of_cells)
        if all(name in result.untouched for name in names.values()):
            reasons.append("nothing was attempted")
        elif result.earned < NEEDS_HELP_BELOW * at_stake:  # lateness alone is no reason to need help
            reasons.append(f"less than {percent(NEEDS_HELP_BELOW)} of the points")
        count = len(result.marker.recognised) if result.marker else 0
        if count >= MANY_MISCONCEPTIONS:
            reasons.append(f"{count} misconceptions at once")
        if reasons:
            found.append(
                NeedsHelp(result.student, result.score, tuple(reasons), _to_begin_with(lab, names, result))
            )
    return sorted(found, key=lambda one: (one.score or 0.0, one.student))


def _to_begin_with(lab: Lab, names: Mapping[str, str], result: Result) -> str:
    """What to talk about first with a student who has this result: what ended the run, else the first exercise without full points, with what
    was recognised there.
    """
    state = result.marker.state if result.marker else ""
    if state in ENDED:
        return f"Run `grader doctor` on the file, and look together at why it {ENDED[state]}."
    lost = (
        cell
        for cell, points in result.points.items()
        if cell in result.counts.most(names)
        and points is not None
        and points < lab.points_of_cells[cell] - 0.005
    )
    first = min(lost, key=list(names).index, default=None)
    if first is None:
        return ""
    name = names[first]
    if name in result.untouched:
        return f"Ask how far they read. `{name}` is the first exercise that is not begun."
    known = {
        (entry.exercise, entry.name): entry for entries in lab.misconceptions.values() for entry in entries
    }
    for text in result.marker.recognised if result.marker else ():
        exercise, _, which = text.partition(": ")
        if exercise == name and (entry := known.get((exercise, which))):
            return f"Begin with `{name}`: {entry.title} Ask them to explain this: {entry.hint}"
    return (
        f"Begin with `{name}`, the first that is not right: ask what it should return, and for which input."
    )
