"""How a class did in a lab, on one page, for the person who teaches it next week. The facts are from :mod:`grader.show.class_facts`; here they
become sentences, a page and a table.
"""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from pathlib import Path

import jinja2

from course_utils.display import inline
from grader.book.counting import NOT
from grader.book.gradebook import Gradebook, students_of
from grader.book.results import Result
from grader.book.statuses import by_student
from grader.errors import GraderError
from grader.receive.refused import refused
from grader.reference.lab import Lab
from grader.run.states import GRADED
from grader.show.check_statistics import FEW, PART
from grader.show.class_facts import ENDED, Analysis, analyse, given_in, names_of_cells, with_working
from grader.show.pages import (
    FIRST,
    default_page,
    in_short,
    lateness,
    percent,
    title_of,
    whom_first,
    write_page,
)
from grader.show.standing import (
    Standing,
    anew_in_words,
    collected,
    graded,
    handed_in_anew,
    standings,
    strangers_in_words,
)

MANY = 0.25
"""If more than this part of the class may need help, that is about the lab."""


def write_report(lab: Lab, page: Path | None = None, section: str | None = None) -> tuple[Path, Path]:
    """Writes ``grading/reports/<lab>.html`` (or ``page``) and three CSV files next to it. One is of the students; its path is returned with the
    page's. The others have the same name with ``-checks`` and ``-misconceptions`` at its end.

    Args:
        section: only about the students of this one; the name of the page then ends in it.

    Raises:
        GraderError: nothing in the lab has been graded, there is no such section, or a file cannot be written.
    """
    among = students_of(lab.course, section)
    with Gradebook.open(lab.course) as gradebook:
        entered, deadline = gradebook.results(lab, among), gradebook.deadline(lab)
        requests = gradebook.requests(lab.name, among)
        roster = gradebook.roster()
        enrolled = roster or gradebook.students()
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
        strangers=strangers_in_words({*there, *(each.student for each in results)}, roster),
    )
    page = page or default_page(lab.course, lab.name, section)
    more = {"checks": rows_of_checks(found), "misconceptions": rows_of_misconceptions(found)}
    table, *_ = write_page(page, as_html(lab, found, section), as_rows(lab, found), more)
    return page, table


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
        median=statistics.median(shares) if shares else None,
        mean=statistics.fmean(shares) if shares else None,
        figure=histogram(shares) if shares else "",
        states=_counted(found),
        title=title_of(lab, section),
        several=_several_in_words(found),
        look=[sentence for facts in found.exercises for sentence in facts.to_look_at],
        few=FEW,
        part=PART,
        first=FIRST,
    )


def summary(found: Analysis) -> list[str]:
    """What to know if you read nothing else."""
    shares = found.shares
    good = sum(share >= 0.8 for share in shares)
    lines = []
    if shares:
        lines.append(
            f"{good} of {len(shares)} earned at least 80 % of the points; the median is {percent(statistics.median(shares))}."
        )
    if count := len(found.ended):
        lines.append(
            f"{count} submission{'s were' if count > 1 else ' was'} not seen as a whole, because {'they' if count > 1 else 'it'} could not be read, crashed, or ran out of time or memory: {'they are' if count > 1 else 'it is'} not among the graded, and not in these figures."
        )
    counting = [facts for facts in found.exercises if not facts.counts]
    graded = [facts for facts in counting if facts.mean is not None and not facts.waiting]
    hard = min(graded, key=lambda facts: facts.mean, default=None)
    if hard and hard.mean < 0.8 and len(graded) > 1:
        lines.append(f"The hardest exercise was `{hard.name}`: {percent(hard.solved)} solved it.")
    if count := sum(bool(facts.to_look_at) for facts in found.exercises):
        lines.append(f"{count} check{'s' if count > 1 else ''} to look at: see *Exercise by exercise*.")
    if found.misconceptions and found.misconceptions[0].students:
        most = found.misconceptions[0]
        lines.append(
            f"The most common misconception ({len(most.students)}), in `{most.exercise}`: {most.title}"
        )
    for named, words in (
        (given_in, "right given an earlier mistake"),
        (with_working, "right with a working earlier exercise instead of their own"),
    ):
        if counts := [count for result in found.results if (count := len(named(result)))]:
            count, students = sum(counts), len(counts)
            lines.append(
                f"{count} answer{'s' if count > 1 else ''} of {students} learner{'s' if students > 1 else ''}: {words}."
            )
    kept = max(found.misconceptions, key=lambda held: held.kept, default=None)
    if kept and kept.kept:
        lines.append(
            f"The misconception that stays most often, in `{kept.exercise}`: {kept.title} {kept.kept} of the {kept.before} who had it in an earlier hand-in still {'have' if kept.kept > 1 else 'has'} it in the last."
        )
    if found.needs_help:
        if len(found.needs_help) > max(FIRST, MANY * len(found.results)):
            lines.append(
                f"{len(found.needs_help)} of {len(found.results)} may need help. So many say more about the lab than about themselves: go over it with everybody, and talk to those at the top of the list."
            )
        lines.append(whom_first([found.called(one.student) for one in found.needs_help]))
    if found.ungraded:
        lines.append(f"{len(found.ungraded)} collected, not graded yet: they are not in these figures.")
    if count := len(found.refused):
        lines.append(
            f"{count} file{'s were' if count > 1 else ' was'} refused when work was last collected, and count{'' if count > 1 else 's'} for nobody: see the list below."
        )
    lines += found.strangers
    if told := found.results[0].counts.told:
        lines.append(told)
    if waiting := sum(facts.waiting for facts in found.exercises if facts.counts != NOT):
        lines.append(
            f"{waiting} written answers are waiting to be graded by hand. Percentages are of the points without them."
            if waiting > 1
            else "1 written answer is waiting to be graded by hand. Percentages are of the points without it."
        )
    return lines


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


def histogram(shares: Sequence[float]) -> str:
    """The distribution of the scores, as SVG in the page's own colours, which follow the theme."""
    counts, floor, width = _bins(shares), 128, 64
    parts = []
    for place, count in enumerate(counts):
        height = 100 * count / max(counts)
        x = width * place + 2
        parts.append(
            f'<rect x="{x}" y="{floor - height:.1f}" width="{width - 4}" height="{height:.1f}"/>'
            f'<text x="{x + width / 2 - 2:g}" y="{floor - height - 6:.1f}">{count or ""}</text>'
            f'<text x="{width * place}" y="{floor + 18}">{10 * place}</text>'
        )
    words = escape(f"Histogram of {len(shares)} scores in steps of ten percent: {in_words(shares)}.")
    return (
        f'<svg class="histogram" role="img" aria-label="{words}" viewBox="-14 0 668 170">{"".join(parts)}'
        f'<path d="M0 {floor}H640"/><text x="640" y="{floor + 18}">100</text><text x="320" y="{floor + 38}">percent of the points</text></svg>'
    )


def _counted(found: Analysis) -> Mapping[str, int]:
    """How many of those with a result or a decision are not simply graded, in words that say which of these are among the graded."""
    beside = {GRADED, *ENDED, Standing.EXCUSED, Standing.ZERO}
    states = Counter(found.state(result) or "graded elsewhere" for result in found.results)
    states |= {
        state: states[state] + len(who)
        for state, who in ((Standing.EXCUSED, found.excused), (Standing.ZERO, found.zeroed))
        if who
    }
    return {
        state if state in beside else f"of the graded: {state}": count
        for state, count in sorted(states.items())
    }


def _several_in_words(found: Analysis) -> str:
    """Whether it is known who still has a misconception, and of how many people."""
    if not found.several:
        return "Nobody here has an earlier hand-in that was graded, too, so it is not known who had a misconception before and is rid of it."
    people = f"{found.several} person has" if found.several == 1 else f"{found.several} people have"
    return (
        f"{people} several hand-ins that were graded. Still there: of those of them who had it in a hand-in before the last, how many have it in the last one. "
        "What was handed in and not graded before the next hand-in came is not known."
    )


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
    more = ["misconceptions", "may be", "right given an earlier mistake", "notes"]
    rows = [[*header, *more, "may need help (1: first)", "why", "what to begin with"]]
    help_ = {
        one.student: [str(place), "; ".join(one.reasons), one.say]
        for place, one in enumerate(found.needs_help, 1)
    }
    rows += [
        [*_row(found, names, result), *help_.get(result.student, ["", "", ""])] for result in found.results
    ]
    for students, state in (
        (found.ungraded, Standing.COLLECTED),
        (found.missing, Standing.NOT_HANDED_IN),
        (found.excused, Standing.EXCUSED),
        (found.zeroed, Standing.ZERO),
    ):
        for student in students:
            who = [student, found.names.get(student, ""), found.sections.get(student, "")]
            score = "0" if state is Standing.ZERO else ""
            rows.append([*who, state, "", "", "", score, *[""] * len(rows[0][8:])])
    return rows


def _row(found: Analysis, names: Iterable[str], result: Result) -> list[str]:
    """The row of somebody who was graded.

    Args:
        names: the graded cells, in the order of the columns.
    """
    hours = f"{result.late.total_seconds() / 3600:.1f}" if result.late else ""
    given = (result.points.get(cell) for cell in names)
    follows = [f"{name} (given {earlier})" for name, earlier in given_in(result).items()]
    follows += [f"{name} (with a working {earlier})" for name, earlier in with_working(result).items()]
    return [
        result.student,
        found.names.get(result.student, ""),
        found.sections.get(result.student, ""),
        found.state(result),
        result.submitted.isoformat(" ", "minutes") if result.submitted else "",
        "not known" if result.marked_late else hours,
        f"{result.penalty:g}" if result.penalty else "",
        f"{result.score:g}",
        f"{found.points:g}",
        *("" if points is None else f"{points:g}" for points in given),
        "; ".join(result.recognised),
        "; ".join(result.possible),
        "; ".join(follows),
        " ".join(found.notes(result)),
    ]


def rows_of_checks(found: Analysis) -> list[list[str]]:
    """A heading, and a row for each check and each answer that people read."""
    rows = [
        [
            "exercise",
            "points",
            "counts",
            "submissions",
            "waiting",
            "not begun (share)",
            "solve it",
            "difficulty (share that solves it)",
            "mean (share of the points)",
            "discrimination",
            "why it is not defined",
            "solve it of the strongest 27 %",
            "solve it of the weakest 27 %",
            "difference",
            "right given an earlier mistake",
            "right with a working earlier exercise",
            "to look at",
        ]
    ]
    for facts in found.exercises:
        figures = facts.figures
        groups = (figures.strongest, figures.weakest, figures.difference)
        counts = [facts.given, facts.working]
        rows.append(
            [
                facts.name,
                f"{facts.points:g}",
                facts.counts or "as all others",
                str(figures.count),
                str(facts.waiting),
                _number(facts.not_begun),
                str(figures.passed),
                _number(figures.difficulty),
                _number(figures.mean),
                _number(figures.discrimination),
                figures.undefined,
                *map(_number, groups),
                *map(str, counts),
                " ".join(facts.to_look_at),
            ]
        )
    return rows


def rows_of_misconceptions(found: Analysis) -> list[list[str]]:
    """A heading, and a row for each misconception, in the order of the page."""
    rows = [
        [
            "exercise",
            "misconception",
            "students",
            "may have it",
            "had it in an earlier hand-in",
            "still have it in the last",
        ]
    ]
    for held in found.misconceptions:
        known = [str(held.before), str(held.kept)] if found.several else ["", ""]
        counts = [str(len(held.students)), str(len(held.may_have))]
        rows.append([held.exercise, held.title, *counts, *known])
    return rows


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.3f}"
