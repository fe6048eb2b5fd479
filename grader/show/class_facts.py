"""How a class did in a lab: exercise by exercise, which misconceptions it holds and keeps, and who needs help. Everything comes from the gradebook, so
points given by hand count as well. Figures are of those whose whole work could be graded and whom no decision has excused or zeroed. A notebook
that could not be read says nothing about a check.
"""

from __future__ import annotations

import re
import statistics
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property

from nbformat import NotebookNode

from grader.book.requests import Request
from grader.book.results import Result
from grader.book.statuses import Marks
from grader.grade.work import WORKING
from grader.receive.refused import Refused
from grader.reference.lab import Lab, checked_exercise, nbgrader_of
from grader.run.states import (
    CRASHED,
    OUT_OF_MEMORY,
    TIMED_OUT,
    UNREADABLE,
    cells_that_ended,
    stopped_exercises,
)
from grader.show.check_statistics import FEW, Statistics, passes, statistics_of
from grader.show.pages import percent
from grader.show.standing import Standing, standing_of, standings

NEEDS_HELP_BELOW = 0.5
"""Share of the points."""
MANY_MISCONCEPTIONS = 3
MOST = 0.5
"""Of the class. What so many have solved should be expected of everybody."""
NOBODY_BEGINS = 0.9
STAYS = 2
"""A misconception that was there in so many hand-ins before the last, and still is, does not go away by itself."""
ENDED = {
    CRASHED: "crashed",
    TIMED_OUT: "timed out",
    OUT_OF_MEMORY: "ran out of memory",
    UNREADABLE: "could not be read",
}
"""What a submission did of which not everything was seen, by the state that it ended in."""
_CAUSE = {
    CRASHED: "Look for a function that calls itself without end, and for code that ends Python.",
    TIMED_OUT: "Look for a loop that never ends.",
    OUT_OF_MEMORY: "Look for a list that grows without end, and for an array with an axis too many.",
}
"""What most often is behind it."""


@dataclass(frozen=True)
class ExerciseFacts:
    """How a class did in one exercise or written answer.

    Attributes:
        figures: how hard it is, and how well it tells the strong from the weak; submissions that wait for a human to grade it are left out.
        not_begun: share of the submissions that left it as it was released; None if there are none.
        waiting: number of submissions in which it is waiting for a human to grade it.
        given: number of submissions in which it is right given a mistake in an earlier exercise.
        working: number of submissions in which it is right with a working earlier exercise, which their own is not.
        asked: number of open requests to look at it again.
        counts: in words, if its points do not count as others do by the rules of the term.
    """

    name: str
    cell: str
    points: float
    figures: Statistics
    not_begun: float | None
    waiting: int
    given: int
    working: int
    asked: int
    counts: str = ""

    @property
    def solved(self) -> float | None:
        """Share of the submissions with full points for it. None if nobody has points for it yet."""
        return self.figures.difficulty

    @property
    def mean(self) -> float | None:
        """Mean share of its points, of the same submissions."""
        return self.figures.mean

    @property
    def discrimination(self) -> float | None:
        return self.figures.discrimination

    @property
    def to_look_at(self) -> list[str]:
        """Sentences about what may be wrong with the check, its text or its place in the lab; none if nothing is."""
        told, found = [], self.figures
        if found.hardly_anybody:
            told.append(
                f"Hardly anybody solves `{self.name}`: {found.passed} of the {found.begun} who tried. Look at its text and its check first; if both are right, explain it again."
            )
        if found.backwards:
            told.append(
                f"Those who are best in the rest of the lab fail `{self.name}` more often than the weakest: {percent(found.strongest)} of the strongest solve it, "
                f"and {percent(found.weakest)} of the weakest. Read a few solutions of the strongest: the check may refuse what is right."
            )
        if self.not_begun is not None and found.count >= FEW and self.not_begun >= NOBODY_BEGINS:
            told.append(
                f"Hardly anybody begins `{self.name}`: {percent(self.not_begun)} left it as it was handed out. It may come too late in the lab, or its text may not say what to do."
            )
        return told


@dataclass(frozen=True)
class HeldMisconception:
    """A misconception, and who has it.

    Attributes:
        students: those who have it in their last hand-in.
        may_have: those of whose last hand-in it may be the cause of what is wrong; it is not certain.
        before: of those with several graded hand-ins, how many had it in one before the last. People whose last one was not seen as a whole, and does not show it, are left out.
        kept: how many of these still have it in the last one.
    """

    exercise: str
    title: str
    hint: str
    students: tuple[str, ...]
    before: int = 0
    kept: int = 0
    may_have: tuple[str, ...] = ()


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
        excused, zeroed: students of whom that was decided, and of whom nothing is graded.
        strangers: a sentence about people with work who are not on the roster, if there are any.
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
    excused: tuple[str, ...] = ()
    zeroed: tuple[str, ...] = ()
    strangers: tuple[str, ...] = ()

    def called(self, student: str) -> str:
        """What to call a student on the page: the name with the id, or the id alone."""
        name = self.names.get(student)
        return f"{name} ({student})" if name and name != student else student

    def state(self, result: Result) -> str:
        """How the run ended, or what an instructor has decided instead."""
        stands = standing_of(result, True, result.marks)
        if stands in (Standing.EXCUSED, Standing.ZERO):
            return str(stands)
        return result.state

    def notes(self, result: Result) -> list[str]:
        """What there is to know about a submission."""
        anew = ["Handed in again since it was graded."] if result.student in self.anew else []
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

    @cached_property
    def graded(self) -> list[Result]:
        """Those that the figures are of, see :func:`of_figures`."""
        return of_figures(self.results)

    @property
    def several(self) -> int:
        """How many have several hand-ins that were graded."""
        return sum(bool(result.before) for result in self.results)

    @property
    def shares(self) -> list[float]:
        """The share of the points of each submission that the figures are of, see :func:`share_of`."""
        return [share_of(result, self.points_of_cells) for result in self.graded]


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
    strangers: Sequence[str] = (),
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
        strangers: a sentence about people who are not on the roster, if there are any.
    """
    open_requests = tuple(each for each in requests if not each.decided)
    asked = Counter(each.cell for each in open_requests)
    figures = of_figures(results)
    cells, stand = names_of_cells(lab), standings(results, collected, students, marks)
    works = one_of_each(figures)
    decided = {who: each for who, each in stand.items() if who not in {result.student for result in results}}
    rest = _Rest(lab.points_of_cells, works)
    exercises = tuple(
        _exercise(cells[cell], cell, points, works, rest.of(cell), asked[cell], results[0].counts.of(cell))
        for cell, points in lab.points_of_cells.items()
    )
    return Analysis(
        results[0].counts.total(lab.points_of_cells),
        lab.points_of_cells,
        tuple(results),
        exercises,
        tuple(_misconceptions(lab, results)),
        tuple(_who_needs_help(lab, results, exercises)),
        tuple(student for student, each in stand.items() if each is Standing.COLLECTED),
        tuple(student for student, each in stand.items() if each is Standing.NOT_HANDED_IN),
        deadline,
        names or {},
        open_requests,
        tuple(anew),
        sections or {},
        tuple(refused),
        tuple(student for student, each in decided.items() if each is Standing.EXCUSED),
        tuple(student for student, each in decided.items() if each is Standing.ZERO),
        tuple(strangers),
    )


def of_figures(results: Iterable[Result]) -> list[Result]:
    """The results that say something about the lab: of work that was seen as a whole, without those that an instructor has excused or zeroed."""
    return [each for each in results if standing_of(each, True, each.marks) is Standing.GRADED]


def one_of_each(results: Iterable[Result]) -> list[Result]:
    """One result of each piece of work: of a team's, the first copy. A check has met its code once, however many people have it."""
    return list({each.work or each.student: each for each in reversed(list(results))}.values())[::-1]


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


class _Rest:
    """What each earned in all exercises but one. What counts in no score, and what waits for somebody to read it in any submission, belongs to nobody's rest."""

    def __init__(self, cells: Iterable[str], results: Sequence[Result]) -> None:
        self._results = results
        left_out = results[0].counts.left_out if results else frozenset()
        self._counting = [
            cell
            for cell in cells
            if cell not in left_out and all(result.points.get(cell, 0.0) is not None for result in results)
        ]
        self._earned = [sum(result.points.get(cell) or 0.0 for cell in self._counting) for result in results]

    def of(self, cell: str) -> list[float]:
        """The points of each submission in the exercises other than this one."""
        if cell not in self._counting:
            return self._earned
        return [
            earned - (result.points.get(cell) or 0.0)
            for earned, result in zip(self._earned, self._results, strict=True)
        ]


def _exercise(
    name: str,
    cell: str,
    points: float,
    results: Sequence[Result],
    rest: Sequence[float],
    asked: int,
    counts: str,
) -> ExerciseFacts:
    """How a class did in one exercise.

    Args:
        rest: the points of each in the rest of the lab.
    """
    given = [
        (own, other, name not in result.untouched)
        for result, other in zip(results, rest, strict=True)
        if (own := result.points.get(cell, 0.0)) is not None
    ]
    return ExerciseFacts(
        name,
        cell,
        points,
        statistics_of(
            [own for own, *_ in given],
            [other for _, other, _ in given],
            points,
            [begun for *_, begun in given],
        ),
        not_begun=statistics.fmean(name in result.untouched for result in results) if results else None,
        waiting=len(results) - len(given),
        given=sum(name in given_in(result) for result in results),
        working=sum(name in with_working(result) for result in results),
        asked=asked,
        counts=counts,
    )


def _misconceptions(lab: Lab, results: Sequence[Result]) -> list[HeldMisconception]:
    known = {
        (entry.exercise, entry.name): entry for entries in lab.misconceptions.values() for entry in entries
    }
    held: dict[str, list[str]] = {}
    may_have: dict[str, list[str]] = {}
    before: Counter[str] = Counter()
    kept: Counter[str] = Counter()
    for result in results:
        now = set(result.recognised)
        for text in sorted(now):
            held.setdefault(text, []).append(result.student)
        for text in result.possible:
            may_have.setdefault(text, []).append(result.student)
        earlier = set(result.recognised_before)
        if result.state in ENDED:
            earlier &= now  # of the others, nobody knows whether they are still there
        before.update(earlier)
        kept.update(earlier & now)
    found = []
    for text in held | may_have | dict.fromkeys(before):
        exercise, _, name = text.partition(": ")
        entry = known.get((exercise, name))
        title, hint = (entry.title, entry.hint) if entry else (name, "")
        found.append(
            HeldMisconception(
                exercise,
                title,
                hint,
                tuple(held.get(text, ())),
                before[text],
                kept[text],
                tuple(may_have.get(text, ())),
            )
        )
    return sorted(
        found, key=lambda each: (-len(each.students), -len(each.may_have), each.exercise, each.title)
    )


def _who_needs_help(
    lab: Lab, results: Sequence[Result], exercises: Sequence[ExerciseFacts]
) -> list[NeedsHelp]:
    """Those about whom there is evidence, the one with the fewest points first; of equal ones, those who tried the most. In a class that is not small, points are compared in what
    most have solved: that a hard exercise is not solved says nothing about a person.
    """
    expected = {each.cell for each in exercises if _solved_by_most(each)}
    names = {each.cell: each.name for each in exercises}
    titles = {
        f"{entry.exercise}: {entry.name}": entry.title
        for entries in lab.misconceptions.values()
        for entry in entries
    }
    found = []
    for result in results:
        if result.marks.excused:
            continue
        waiting = result.waiting
        at_stake = {
            cell: points
            for cell, points in result.counts.most(lab.points_of_cells).items()
            if cell not in waiting
        }
        base = {cell: points for cell, points in at_stake.items() if cell in expected} or at_stake
        share = _share_in(result, base)
        recognised = result.recognised
        tried = [name for name in names.values() if name not in result.untouched]
        ended = ENDED.get(result.state)
        reasons = [f"the submission {ended}"] if ended else []
        if not tried and result.state != UNREADABLE:
            reasons.append("nothing was attempted")
        elif tried and not ended and share < NEEDS_HELP_BELOW:  # lateness alone is no reason to need help
            of = "" if base == at_stake else " in what most of the class has solved"
            reasons.append(f"less than {percent(NEEDS_HELP_BELOW)} of the points{of}")
        reasons += [f"the check of `{name}` was stopped: it took too long" for name in _stopped(result)]
        if len(recognised) >= MANY_MISCONCEPTIONS:
            reasons.append(f"{len(recognised)} misconceptions at once")
        hand_ins = Counter(text for texts in result.before for text in set(texts))
        reasons += [
            f"still there after {hand_ins[text] + 1} hand-ins: {titles.get(text, text).rstrip('.')}"
            for text in recognised
            if hand_ins[text] >= STAYS
        ]
        if reasons:
            say = _to_begin_with(lab, names, result)
            rank = (share, not ended, -len(tried), result.student)
            found.append((rank, NeedsHelp(result.student, result.score, tuple(reasons), say)))
    return [one for _, one in sorted(found, key=lambda each: each[0])]


def _where_it_ended(lab: Lab, exercises: Collection[str], result: Result) -> list[str]:
    """The exercises in whose cells a run was cut short, or the ids of cells that belong to none."""
    cells = {cell.id: cell for cell in lab.release().cells}
    found: list[str] = []
    for name in cells_that_ended(result.marker.notes if result.marker else ()):
        cell = cells.get(name)
        found += (cell and _exercises_of(cell, exercises)) or [f"cell {name}"]
    return [f"`{each}`" for each in dict.fromkeys(found)]


def _exercises_of(cell: NotebookNode, exercises: Collection[str]) -> list[str]:
    """The exercise that a cell checks, those that it defines, or else those that it uses."""
    if key := checked_exercise(cell):
        return [key.rpartition(".")[2]]
    defined = [each for each in exercises if re.search(rf"^(?:def|class) {each}\b", cell.source, re.M)]
    return defined or [each for each in exercises if re.search(rf"\b{each}\b", cell.source)]


def _solved_by_most(facts: ExerciseFacts) -> bool:
    return facts.figures.count >= FEW and facts.solved is not None and facts.solved >= MOST


def _share_in(result: Result, cells: Mapping[str, float]) -> float:
    """A submission's share of the points of these cells, in which nothing waits; lateness does not count."""
    most = sum(cells.values())
    return sum(result.points.get(cell) or 0.0 for cell in cells) / most if most > 0 else 1.0


def _to_begin_with(lab: Lab, names: Mapping[str, str], result: Result) -> str:
    """What to talk about first with a student who has this result: what ended the run, else the first exercise without full points, with what
    was recognised there.
    """
    if result.state == UNREADABLE:
        return f"Run `grader doctor` on the file, and look together at why it {ENDED[result.state]}."
    if result.state in ENDED:
        where = " and ".join(_where_it_ended(lab, names.values(), result))
        at = f"Look together at {where}, where it" if where else "The feedback page says where it"
        return f"{at} {ENDED[result.state]}. {_CAUSE[result.state]}"
    lost = (
        cell
        for cell, points in result.points.items()
        if cell in result.counts.most(names)
        and points is not None
        and not passes(points, lab.points_of_cells[cell])
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
    if name in _stopped(result):
        return f"Begin with `{name}`: its check was stopped. {_CAUSE[TIMED_OUT]}"
    for texts, words in ((result.recognised, ""), (result.possible, "it may be this mistake. ")):
        for text in texts:
            exercise, _, which = text.partition(": ")
            if exercise == name and (entry := known.get((exercise, which))):
                return f"Begin with `{name}`: {words}{entry.title} Ask them to explain this: {entry.hint}"
    for text in result.marker.stands_out if result.marker else ():
        exercise, _, sentence = text.partition(": ")
        if exercise == name:
            return f"Begin with `{name}`. Their feedback page says: “{sentence}”"
    return (
        f"Begin with `{name}`, the first that is not right: ask what it should return, and for which input."
    )


def _stopped(result: Result) -> list[str]:
    """The exercises that the check had to stop."""
    return stopped_exercises(result.marker.notes if result.marker else ())
