"""How a class did in a lab, on one page, for the person who teaches it next week.

Scores, exercise by exercise, common misconceptions, and who needs help. Everything comes from the
gradebook, so points given by hand count as well.
"""

from __future__ import annotations

import base64
import io
import shlex
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path

import jinja2

from course_utils.display import inline
from grader.book.gradebook import Gradebook, Result, students_of
from grader.book.requests import Request
from grader.book.statuses import Marks, by_student
from grader.course import Course, make_private
from grader.errors import GraderError
from grader.grade.work import UNREADABLE, WORKING
from grader.people.students import student_id
from grader.receive.refused import Refused, refused
from grader.reference.lab import Lab, checked_exercise, nbgrader_of
from grader.run.states import CRASHED, OUT_OF_MEMORY, TIMED_OUT
from grader.show.export import write_csv
from grader.show.standing import Standing, anew_in_words, collected, graded, handed_in_anew, standings

FEW = 8
"""With fewer submissions than this, a correlation says nothing."""
NEEDS_HELP_BELOW = 0.5
"""Share of the points."""
MANY_MISCONCEPTIONS = 3
TALK_TO = 5
"""Of those who may need help, so many are named in the sentences at the top: more than anybody talks to in a week is no list to act on."""
FIRST = 15
"""Of a long list, so many rows are open; the rest is folded."""
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


def write_report(lab: Lab, page: Path | None = None, section: str | None = None) -> tuple[Path, Path]:
    """Writes ``grading/reports/<lab>.html`` (or ``page``) and a CSV file next to it. Returns both paths.

    Args:
        section: only about the students of this one; the name of the page then ends in it.

    Raises:
        GraderError: nothing in the lab has been graded, there is no such section, or a file cannot be written.
    """
    among = students_of(lab.course, section)
    with Gradebook.open(lab.course) as gradebook:
        entered, deadline = gradebook.results(lab, among), gradebook.deadline(lab)
        requests = gradebook.requests(lab.name, among)
        enrolled = gradebook.roster() or gradebook.students()
        students = [each for each in enrolled if among is None or each in among]
        people = gradebook.people()
        marks = by_student(gradebook.statuses(lab.name, among))
    names = {student: person.name for student, person in people.items() if person.name}
    there = [student for student in collected(lab) if among is None or student in among]
    results = graded(entered)
    stand = standings(entered, there, students, marks)
    if not results:
        waiting = sum(each is Standing.COLLECTED for each in stand.values())
        told = f"{waiting} collected, none graded" if waiting else "nothing was collected"
        raise GraderError(
            f"Nothing{f' of section {section!r}' if section else ''} in {lab.name} has been graded ({told}). Run `grader autograde {lab.name}` first."
        )
    found = analyse(
        lab,
        results,
        students,
        deadline,
        collected=there,
        marks=marks,
        names=names,
        requests=requests,
        anew=handed_in_anew(lab, results),
        sections={student: person.section for student, person in people.items()},
        refused=refused(lab),
    )
    page = page or default_page(lab.course, lab.name, section)
    (table,) = write_page(page, as_html(lab, found, section), as_rows(lab, found))
    return page, table


def default_page(course: Course, name: str, section: str | None = None) -> Path:
    """Where a report is written if nothing else is said."""
    return course.grading / "reports" / f"{name}{f'-{student_id(section)}' if section else ''}.html"


def write_page(
    page: Path, html: str, rows: list[list[str]], more: Mapping[str, list[list[str]]] | None = None
) -> tuple[Path, ...]:
    """Writes a page and its tables next to it. Returns the tables' paths.

    Args:
        more: what the name of another table ends in -> its rows.

    Raises:
        GraderError: they cannot be written.
    """
    if not page.name or page.is_dir():
        raise GraderError(f"--out names the page, and {page} is a folder: add a name that ends in .html.")
    table = page.with_suffix(".csv")
    if table == page:
        raise GraderError(f"--out names the page, and {page} is the table next to it: end the name in .html.")
    tables = {table: rows}
    tables |= {table.with_stem(f"{table.stem}-{name}"): found for name, found in (more or {}).items()}
    try:
        make_private(page.parent)
        page.write_text(html, "utf-8")
        for file, found in tables.items():
            write_csv(file, found)
    except OSError as error:
        raise GraderError(
            f"{page} cannot be written: {error.strerror}. Choose another file with --out."
        ) from None
    return tuple(tables)


# ---------------------------------------------------------------------------------- facts


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
        lab.points,
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
    """A submission's share of the points, without those that a human still has to give.

    Args:
        points: graded cell -> its points.
    """
    most = sum(points.values()) - sum(points.get(cell, 0.0) for cell in result.waiting)
    return result.score / most if most > 0 else 0.0


def _exercise(name: str, cell: str, points: float, results: Sequence[Result], asked: int) -> ExerciseFacts:
    given = [result for result in results if cell not in result.waiting]
    earned = [result.points.get(cell) or 0.0 for result in given]
    rest = [result.earned - own for result, own in zip(given, earned, strict=True)]
    return ExerciseFacts(
        name,
        points,
        solved=_share(own >= points - 0.005 for own in earned) if given else None,
        mean=(statistics.fmean(earned) / points if points else 0.0) if given else None,
        not_begun=_share(name in result.untouched for result in results),
        discrimination=_correlation(earned, rest),
        waiting=len(results) - len(given),
        given=sum(name in _given(result) for result in results),
        working=sum(name in _with_working(result) for result in results),
        asked=asked,
    )


def _given(result: Result) -> dict[str, str]:
    """Exercises that are right given a mistake in an earlier one -> the names of the earlier ones."""
    return {name: earlier for name, earlier in _follows(result) if not earlier.startswith(WORKING)}


def _with_working(result: Result) -> dict[str, str]:
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


def names_of_cells(lab: Lab) -> dict[str, str]:
    """Graded cell -> the name of its exercise; for a written answer, its own name."""
    graded = (cell for cell in lab.release().cells if nbgrader_of(cell).get("grade"))
    return {
        nbgrader_of(cell)["grade_id"]: (checked_exercise(cell) or nbgrader_of(cell)["grade_id"]).rpartition(
            "."
        )[2]
        for cell in graded
    }


def _share(truths) -> float:
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
        at_stake = lab.points - sum(lab.points_of_cells.get(cell, 0.0) for cell in result.waiting)
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
        if cell in names and points is not None and points < lab.points_of_cells[cell] - 0.005
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


# ---------------------------------------------------------------------------------- the page


def as_html(lab: Lab, found: Analysis, section: str | None = None) -> str:
    """The page, as one self-contained file.

    Args:
        section: what the page says it is limited to.
    """
    shares = found.shares
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("grader", "show"), autoescape=True, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters |= {
        "inline": inline,
        "percent": percent,
        "lateness": lateness,
        "called": found.called,
    }
    return environment.get_template("class_report.html").render(
        lab=lab,
        found=found,
        sentences=[
            *([anew_in_words(lab.name, len(found.anew))] if found.anew else []),
            *summary(found),
            *in_short(found.requests, lab.name, section),
        ],
        median=statistics.median(shares),
        mean=statistics.fmean(shares),
        figure=base64.b64encode(histogram(shares)).decode("ascii"),
        alt=f"Histogram of {len(shares)} scores in steps of ten percent: {in_words(shares)}.",
        states=_counted(
            [result.marker.state if result.marker else "graded elsewhere" for result in found.results]
        ),
        title=title_of(lab, section),
        few=FEW,
        first=FIRST,
    )


def title_of(lab: Lab, section: str | None = None) -> str:
    """What pages about a lab are called."""
    return f"Lab {lab.name[:2]}: {lab.settings['title']}{f' ({section})' if section else ''}"


def percent(share: float) -> str:
    """A share (0 to 1) as a percentage."""
    return f"{100 * share:.0f} %"


def summary(found: Analysis) -> list[str]:
    """What to know if you read nothing else."""
    shares = found.shares
    good = sum(share >= 0.8 for share in shares)
    lines = [
        f"{good} of {len(shares)} earned at least 80 % of the points; the median is {percent(statistics.median(shares))}."
    ]
    graded = [facts for facts in found.exercises if facts.mean is not None and not facts.waiting]
    hard = min(graded, key=lambda facts: facts.mean, default=None)
    if hard and hard.mean < 0.8 and len(graded) > 1:
        lines.append(f"The hardest exercise was `{hard.name}`: {percent(hard.solved)} solved it.")
    if found.misconceptions:
        most = found.misconceptions[0]
        lines.append(
            f"The most common misconception ({len(most.students)}), in `{most.exercise}`: {most.title}"
        )
    for named, words in (
        (_given, "right given an earlier mistake"),
        (_with_working, "right with a working earlier exercise in the place of their own"),
    ):
        if counts := [count for result in found.results if (count := len(named(result)))]:
            count, students = sum(counts), len(counts)
            lines.append(
                f"{count} answer{'s' if count > 1 else ''} of {students} learner{'s' if students > 1 else ''}: {words}."
            )
    if found.needs_help:
        lines.append(whom_first([found.called(one.student) for one in found.needs_help]))
    if found.ungraded:
        lines.append(f"{len(found.ungraded)} collected, not graded yet: they are not in these figures.")
    if count := len(found.refused):
        lines.append(
            f"{count} file{'s were' if count > 1 else ' was'} refused when work was last collected, and count{'' if count > 1 else 's'} for nobody: see the list below."
        )
    if waiting := sum(facts.waiting for facts in found.exercises):
        lines.append(
            f"{waiting} written answers are waiting to be graded by hand. Percentages are of the points without them."
            if waiting > 1
            else "1 written answer is waiting to be graded by hand. Percentages are of the points without it."
        )
    return lines


def whom_first(students: Sequence[str]) -> str:
    """A sentence about whom to talk to first, of those who may need help (the worst first)."""
    first, more = ", ".join(students[:TALK_TO]), len(students) - TALK_TO
    stand = "stands" if more == 1 else "stand"
    return f"Talk first to {first}{f'; {more} more {stand} out' if more > 0 else ''}. What to begin with is in the list below."


def in_short(requests: Sequence[Request], lab: str = "", section: str | None = None) -> list[str]:
    """How many open requests there are, and the command that lists them; no sentence if there are none."""
    if not requests:
        return []
    oldest = min(each.asked for each in requests)
    command = ["grader", "requests", *([lab] if lab else []), *(["--section", section] if section else [])]
    s, the, them = ("s", "the oldest ", "them") if len(requests) > 1 else ("", "", "it")
    return [
        f"{len(requests)} open request{s} to look again, {the}of {oldest:%Y-%m-%d}: `{shlex.join(command)}` lists {them}."
    ]


def _bins(shares: Sequence[float]) -> list[int]:
    counts = [0] * 10
    for share in shares:
        counts[min(int(share * 10 + 1e-9), 9)] += 1
    return counts


def in_words(shares: Sequence[float]) -> str:
    """The histogram in words, for those who cannot see it."""
    return ", ".join(
        f"{count} from {10 * place} to {10 * place + 10} %"
        for place, count in enumerate(_bins(shares))
        if count
    )


def histogram(shares: Sequence[float]) -> bytes:
    """The distribution of the scores, as SVG."""
    from matplotlib.figure import Figure  # half a second, for no other command

    figure = Figure(figsize=(6.4, 2.2), layout="constrained")
    axes = figure.subplots()
    bars = axes.bar(range(5, 100, 10), _bins(shares), width=9, color="#3b8bbd")
    axes.bar_label(bars, labels=[str(count) if count else "" for count in _bins(shares)], fontsize=9)
    axes.set(xlim=(0, 100), xticks=range(0, 101, 10), yticks=[], xlabel="percent of the points")
    axes.set_ylabel("submissions")
    axes.margins(y=0.2)
    axes.spines[["top", "right", "left"]].set_visible(False)
    file = io.BytesIO()
    figure.savefig(file, format="svg", metadata={"Date": None})
    return file.getvalue()


def lateness(late: timedelta) -> str:
    """How late something was, in words; empty if it was not late."""
    if not late:
        return ""
    hours = late.total_seconds() / 3600
    return (
        f"{hours / 24:.1f} days"
        if hours >= 48
        else f"{hours:.1f} hours"
        if hours >= 1
        else "less than an hour"
    )


def _counted(words: Sequence[str]) -> Mapping[str, int]:
    return {word: words.count(word) for word in sorted(set(words))}


def as_rows(lab: Lab, found: Analysis) -> list[list[str]]:
    """The same as a table with one row per student."""
    names = names_of_cells(lab)
    header = [
        "student",
        "name",
        "section",
        "state",
        "handed in (UTC)",
        "hours late",
        "penalty",
        "score",
        "of",
        *names.values(),
    ]
    rows = [[*header, "misconceptions", "right given an earlier mistake", "notes"]]
    for result in found.results:
        given = (result.points.get(cell) for cell in names)
        rows.append(
            [
                result.student,
                found.names.get(result.student, ""),
                found.sections.get(result.student, ""),
                result.marker.state if result.marker else "",
                result.submitted.isoformat(" ", "minutes") if result.submitted else "",
                "not known"
                if result.marked_late
                else f"{result.late.total_seconds() / 3600:.1f}"
                if result.late
                else "",
                f"{result.penalty:g}" if result.penalty else "",
                f"{result.score:g}",
                f"{found.points:g}",
                *("" if points is None else f"{points:g}" for points in given),
                "; ".join(result.marker.recognised) if result.marker else "",
                "; ".join(
                    [f"{name} (given {earlier})" for name, earlier in _given(result).items()]
                    + [
                        f"{name} (with a working {earlier})"
                        for name, earlier in _with_working(result).items()
                    ]
                ),
                " ".join(found.notes(result)),
            ]
        )
    for students, state in (
        (found.ungraded, Standing.COLLECTED),
        (found.missing, Standing.NOT_HANDED_IN),
    ):
        for student in students:
            who = [student, found.names.get(student, ""), found.sections.get(student, "")]
            rows.append([*who, state, *[""] * len(rows[0][4:])])
    return rows
