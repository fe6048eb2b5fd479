"""The final grades of a term, and how each comes about, from the gradebook: who stands how in each lab, what was decided, and the rules of the term.

:mod:`grader.book.grades` computes; here is what it is given, and the tables that show it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path

from grader.book.gradebook import Gradebook
from grader.book.grades import CENT, Final, InLab, final
from grader.book.results import Result
from grader.book.rules import Rules
from grader.book.statuses import NONE, Marks, by_student
from grader.course import Course
from grader.errors import GraderError
from grader.people.roster import Person
from grader.reference.lab import Lab
from grader.show.export import write_csv
from grader.show.standing import Standing, collected, graded, handed_in_anew, is_over, standings

NOT_RELEASED = "not released"
"""How everybody stands in a lab that is not out yet."""


@dataclass(frozen=True)
class Term:
    """Student -> final grade, of everybody who is expected, and what the gradebook knows of them."""

    finals: Mapping[str, Final]
    people: Mapping[str, Person]
    rules: Rules
    labs: tuple[str, ...]


@dataclass(frozen=True)
class _Class:
    """What is the same for everybody in a lab.

    Attributes:
        most: graded cell -> points that are part of 100 %.
        due: when the lab had to be handed in; None if there is no deadline.
        begun: whether anything in it has been graded.
        released: whether it is in the gradebook.
        more: student -> how much more time this student has.
        days: student -> late days that are spent.
        anew: who has handed in anew since.
    """

    lab: Lab
    most: Mapping[str, float]
    due: datetime | None
    begun: bool
    released: bool
    more: Mapping[str, timedelta]
    days: Mapping[str, int]
    anew: frozenset[str]


def final_grades(course: Course, among: Collection[str] | None = None, now: datetime | None = None) -> Term:
    """Everybody's final grade as it stands.

    Args:
        among: only these students; None: everybody on the roster, or in the gradebook if there is no roster.
        now: what counts as now (UTC); default: now.

    Raises:
        GraderError: the gradebook cannot be read, or the rules name a lab that is not there.
    """
    now = now or datetime.now(UTC).replace(tzinfo=None)
    with Gradebook.open(course) as gradebook:
        rules = gradebook.rules()
        people = gradebook.people()
        expected = gradebook.roster() or people
        students = sorted(each for each in expected if among is None or each in among)
        labs = sorted({lab for category in rules.categories for lab in category.labs})
        spent, released = gradebook.late_days(), gradebook.deadlines().keys()
        rows: dict[str, list[InLab]] = {student: [] for student in students}
        for name in labs:
            lab = Lab.load(course, name)
            entered = gradebook.results(lab, among)
            marks = by_student(gradebook.statuses(name, among))
            results = {each.student: each for each in graded(entered)}
            there = collected(lab)
            same = _Class(
                lab,
                gradebook.counted(lab).most(lab.points_of_cells),
                gradebook.deadline(lab),
                bool(results),
                name in released,
                gradebook.times(lab),
                {student: days for (student, of), days in spent.items() if of == name},
                frozenset(handed_in_anew(lab, results.values())),
            )
            stand = standings(entered, there, students, marks)
            for student in students:
                result, decided = results.get(student), marks.get(student, NONE)
                rows[student].append(_in_lab(same, student, stand[student], result, decided, now))
    return Term({student: final(own, rules) for student, own in rows.items()}, people, rules, tuple(labs))


def _in_lab(
    same: _Class, student: str, standing: Standing, result: Result | None, decided: Marks, now: datetime
) -> InLab:
    waiting = result.waiting if result else frozenset()
    most = _cents(sum(points for cell, points in same.most.items() if cell not in waiting))
    days, name, told = same.days.get(student, 0), same.lab.name, str(decided)
    if standing is Standing.EXCUSED:
        return InLab(name, standing, False, most, decision=told, late_days=days)
    if standing is Standing.COLLECTED or (standing is Standing.NOT_HANDED_IN and decided.dropped):
        is_open = standing is Standing.COLLECTED and not decided.dropped
        return InLab(name, standing, False, most, decision=told, open=is_open, late_days=days)
    if standing is Standing.NOT_HANDED_IN:
        over = is_over(same.due, same.more.get(student, timedelta()), same.begun, now)
        state = standing if same.released else NOT_RELEASED
        return InLab(name, state, over, most, decision=told, open=not over)
    if result is None:  # a zero of whom there is nothing
        return InLab(name, standing, True, most, score=Decimal(0), droppable=False, decision=told)
    earned, kept, score = (_cents(each) for each in (result.earned, result.after_lateness, result.score))
    unsure = bool(waiting) or bool(result.marked_late) or student in same.anew
    return InLab(
        name,
        standing,
        not decided.dropped,
        most,
        earned,
        earned - kept,
        kept - score,
        score,
        open=unsure and not decided.zeroed and not decided.dropped,
        droppable=not decided.zeroed,
        decision=told,
        late_days=days,
    )


def _cents(points: float) -> Decimal:
    """Points as every export writes them."""
    return Decimal(f"{points:.2f}").quantize(CENT)


# ---------------------------------------------------------------------------------- tables

LABS_HEADER = (
    "lab", "state", "points", "late", "deducted", "score", "of", "late days", "decision", "counts", "weight (%)", "adds",
)  # fmt: skip


def rows_of_labs(found: Final) -> list[tuple[str, ...]]:
    """A row for each lab of a student: ``LABS_HEADER``."""
    return [
        (
            each.lab,
            each.state,
            _text(each.earned),
            _text(each.late or None),
            _text(each.deducted or None),
            _text(each.score),
            _text(each.most),
            str(each.late_days or ""),
            each.decision,
            _counts(each),
            f"{float(100 * each.weight):.2f}" if each.weight else "",
            _text(each.adds if each.weight else None),
        )
        for each in found.labs
    ]


def _counts(each: InLab) -> str:
    if each.dropped:
        return "no: among the lowest"
    if each.weight:
        return "yes, so far" if each.open else "yes"
    return "not yet" if each.open else "no"


def _text(number: Decimal | None) -> str:
    return "" if number is None else f"{number:f}"


def as_rows(term: Term) -> list[list[str]]:
    """A heading, and a row for each student: for each lab the score, or in words why there is none, and what it adds."""
    columns = [column for lab in term.labs for column in (lab, f"{lab} adds")]
    rows = [["student", "name", "section", *columns, "percentage", "rounded", "grade", "may still change"]]
    for student, found in term.finals.items():
        person = term.people.get(student, Person(student))
        cells = []
        for each in found.labs:
            cells += [
                each.state if each.score is None else _text(each.score),
                _text(each.adds if each.weight else None),
            ]
        total = [_text(found.percentage), _text(found.rounded), found.grade, " ".join(found.open)]
        rows.append([student, person.name, person.section, *cells, *total])
    return rows


def write_grades(term: Term, file: Path) -> tuple[Path, Path]:
    """Writes a table with a row for each student, and beside it one with a row for each student and lab. Returns both paths.

    Raises:
        GraderError: they cannot be written.
    """
    details = file.with_stem(f"{file.stem}-labs")
    rows = [["student", *LABS_HEADER]]
    rows += [[student, *row] for student, found in term.finals.items() for row in rows_of_labs(found)]
    try:
        write_csv(file, as_rows(term))
        write_csv(details, rows)
    except OSError as error:
        raise GraderError(
            f"{file} cannot be written: {error.strerror}. Choose another file with --out."
        ) from None
    return file, details


def summary(term: Term) -> list[str]:
    """How many have which grade, and whose may still change."""
    known = [found for found in term.finals.values() if found.percentage is not None]
    lines = [f"{len(known)} of {len(term.finals)} students have a percentage."]
    if term.rules.grades and known:
        counts = Counter(found.grade or "below the last grade" for found in known)
        names = [*(name for name, _ in term.rules.grades), "below the last grade"]
        lines.append(", ".join(f"{name}: {counts[name]}" for name in names if counts[name]) + ".")
    labs = [each for found in term.finals.values() for each in found.labs]
    to_come = {each.lab for each in labs if each.state == NOT_RELEASED}
    of_lab = Counter(lab for found in term.finals.values() for lab in found.open if lab not in to_come)
    if of_lab or to_come:
        may = sum(bool(found.open) for found in term.finals.values())
        told = ", ".join(f"{lab} ({count})" for lab, count in sorted(of_lab.items()))
        because = [f"work that is not due, not graded, or not graded in full: {told}"] if told else []
        if to_come:
            because.append(
                f"{len(to_come)} lab{' that is' if len(to_come) == 1 else 's that are'} not released yet"
            )
        lines.append(f"{may} may still change, because of {', and of '.join(because)}.")
    return lines
