"""What is decided about students beside points: more time, statuses, and how late work counts that is only marked as late."""

from __future__ import annotations

import os
from datetime import timedelta
from pathlib import Path
from typing import Annotated

import typer

from grader.commands.help import Commands
from grader.commands.terminal import (
    Because,
    CanvasAddress,
    CanvasCourse,
    Enter,
    LabName,
    OneLab,
    Section,
    TableFile,
    first_few,
    show_table,
    why,
    write_table,
)
from grader.course import Course
from grader.errors import GraderError

app = Commands()

Student = Annotated[str, typer.Argument(metavar="STUDENT", help="Id, e-mail address or name.")]


@app.command()
def extend(
    lab: LabName,
    student: Student,
    days: Annotated[
        float,
        typer.Option(
            metavar="DAYS", min=0, max=3650, help="Days after the deadline; 0 withdraws an extension."
        ),
    ],
    because: Because = "",
) -> None:
    """Give a student more time. Extensions do not add up: the last one counts.

    \b
    Examples:
      grader extend 02 anna --days 3 --because "ill, note of 3 November"
      grader extend 02 anna --days 0
    """

    from grader.book.gradebook import Gradebook
    from grader.by_hand.extending import extend as give_more_time
    from grader.reference.lab import Lab

    loaded = Lab.load(Course.find(), lab)
    with Gradebook.open(loaded.course) as gradebook:
        given = give_more_time(gradebook, loaded, student, days, because)
    typer.echo(f"Saved: {given.given} for {given.student} in {lab}. {given.deadline}")
    if not given.known:
        typer.echo(f"Note: the gradebook does not know {given.student!r} yet. Is the id right?")


status_app = Commands()
app.add_typer(status_app, name="status")

Told = Annotated[
    str,
    typer.Option(
        "--because",
        metavar="WHY",
        parser=why,
        help="The reason: for the log, and on the student's feedback page.",
    ),
]


@status_app.callback(invoke_without_command=True)
def status(context: typer.Context, out: TableFile = None, section: Section = None) -> None:
    """Show what was decided about students beside points: excused, zero, penalty, dropped, late days, more time.

    \b
    Examples:
      grader status
      grader status set anna excused 02 --because "ill, note of 3 November"
      grader status import decisions.csv
      grader status canvas 02 https://canvas.example.edu --course 12 --assignment 345
    """

    from grader.book.gradebook import Gradebook, students_of
    from grader.book.log import EXTENSION

    if context.invoked_subcommand:
        return
    course = Course.find()
    among = students_of(course, section)
    with Gradebook.open(course) as gradebook:
        found = gradebook.statuses(among=among)
        spent = gradebook.late_days()
        extended = gradebook.all_extensions()
        changes = gradebook.changes() if extended else []
        entered = {(each.student, each.lab) for each in found if each.kind == "late days"}
    reasons = {(each.student, each.lab): each.why for each in changes if each.what == EXTENSION}
    rows = [(each.student, each.lab or "all labs", str(each), each.reason) for each in found]
    rows += [
        (student, lab, f"late days {days}", "spent automatically")
        for (student, lab), days in sorted(spent.items())
        if (student, lab) not in entered and (among is None or student in among)
    ]
    rows += [
        (student, lab, f"extension {more / timedelta(days=1):.10g}", reasons.get((student, lab), ""))
        for (student, lab), more in extended.items()
        if among is None or student in among
    ]
    header = ("Student", "Lab", "Status", "Why")
    show_table(f"{len(rows)} status{'' if len(rows) == 1 else 'es'}", header, sorted(rows), limit=200)
    write_table(out, header, sorted(rows))


@status_app.command("set")
def status_set(
    student: Student,
    what: Annotated[
        str,
        typer.Argument(
            metavar="STATUS",
            help="excused, dropped, zero, 'penalty 2', 'penalty 10%', 'extension 3', 'late days 2' or 'time 1.5'.",
        ),
    ],
    lab: OneLab = None,
    because: Told = "",
) -> None:
    """Enter a status of a student in a lab, or with 'time 1.5' in all labs.

    \b
    Examples:
      grader status set anna excused 02 --because "ill, note of 3 November"
      grader status set ben "penalty 10%" 02 --because "two files of data left out"
      grader status set eva "time 1.5" --because "accommodation, letter of 1 October"
    """

    _change_status(student, what, lab, because, withdrawn=False)


@status_app.command("withdraw")
def status_withdraw(
    student: Student,
    what: Annotated[str, typer.Argument(metavar="STATUS", help="The status, as it is listed.")],
    lab: OneLab = None,
    because: Told = "",
) -> None:
    """Take back a status of a student.

    \b
    Examples:
      grader status withdraw anna excused 02 --because "entered for the wrong student"
    """

    _change_status(student, what, lab, because, withdrawn=True)


def _change_status(student: str, what: str, lab: str | None, because: str, withdrawn: bool) -> None:
    from grader.book.gradebook import Gradebook
    from grader.book.statuses import Status, see_that_the_lab_fits, understood
    from grader.by_hand.extending import on_roster

    if not because:
        raise GraderError("Say why, for the log: --because 'ill, note of 3 November'. Nothing has changed.")
    course = Course.find()
    kind, amount = understood(what)
    with Gradebook.open(course) as gradebook:
        who = on_roster(gradebook, student, withdrawn)
        changed = Status(who, lab or "", kind, amount, because)
        see_that_the_lab_fits(changed)
        if withdrawn and not gradebook.withdraw_status(changed):
            raise GraderError(
                f"{who} has no “{kind}” {f'in {lab}' if lab else 'for all labs'}. `grader status` lists what there is."
            )
        if not withdrawn:
            gradebook.enter_statuses([changed])
        known = who in gradebook.students()
    where = f"in {lab}" if lab else "in all labs"
    typer.echo(f"{who}: {kind if withdrawn else changed} {where}{', withdrawn' if withdrawn else ''}.")
    if not known:
        typer.echo(f"Note: the gradebook does not know {who!r} yet. Is the id right?")


@status_app.command("import")
def status_import(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE",
            help="CSV or .xlsx with the headings student, lab, status, reason; or Canvas's gradebook export, for its EX.",
        ),
    ],
) -> None:
    """Enter statuses and extensions of many students. If anything is wrong, its row and column are named, and nothing changes.

    \b
    Examples:
      grader status import decisions.csv
    """

    from grader.book.gradebook import Gradebook
    from grader.book.status_list import read_statuses
    from grader.people.roster import Roster

    course = Course.find()
    with Gradebook.open(course) as gradebook:
        roster = Roster(gradebook.roster().values())
        found = read_statuses(file, roster, course.lab_named, typer.echo, gradebook.too_many_late_days)
        there, extended = {*gradebook.statuses()}, gradebook.all_extensions()
        new = [
            each
            for each in found
            if each not in there
            and (each.kind != "extension" or extended.get((each.student, each.lab)) != each.time)
        ]
        gradebook.enter_statuses(new)
    typer.echo(f"{len(found)} in {file.name}: {len(new)} entered, {len(found) - len(new)} there already.")


@status_app.command("canvas")
def status_canvas(
    lab: LabName,
    url: CanvasAddress,
    course: CanvasCourse,
    assignment: Annotated[
        int, typer.Option("--assignment", min=1, metavar="N", help="Canvas's number of the assignment.")
    ],
    enter: Enter = False,
    replace: Annotated[
        bool, typer.Option("--replace", help="Also where the gradebook says something else.")
    ] = False,
    because: Told = "",
) -> None:
    """Take a lab's due dates, extensions and excuses from Canvas, and how late work is that is only marked as late.

    \b
    Examples:
      grader status canvas 02 https://canvas.example.edu --course 12 --assignment 345
      grader status canvas 02 https://canvas.example.edu --course 12 --assignment 345 --enter
    """

    from grader.people.canvas import TOKEN, Canvas
    from grader.receive.from_canvas import enter as enter_news
    from grader.receive.from_canvas import news
    from grader.reference.lab import Lab

    loaded = Lab.load(Course.find(), lab)
    there = Canvas(url, os.environ.get(TOKEN, ""), course, assignment)
    found = news(loaded, there, replace, because)
    rows = found.rows()
    typer.echo(f"The assignment in Canvas: “{found.title}”.")
    show_table(f"{len(rows)} new in Canvas", ("Student", "What", ""), rows)
    for note in found.notes:
        typer.echo(f"Note: {note}")
    if not rows:
        return
    if not enter:
        typer.echo("Nothing has changed. Add --enter to enter this.")
        return
    enter_news(loaded, found)
    typer.echo(f"Entered: {len(rows)}.")
    if found.handed_in:
        typer.echo(f"To bring grades up to date: grader autograde {lab}")


@app.command()
def late(
    lab: LabName,
    students: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="STUDENT",
            help="Only these, even if they were decided before. Default: all that are not decided.",
        ),
    ] = None,
    days: Annotated[
        float | None,
        typer.Option(
            metavar="DAYS", min=0, max=3650, help="Days after their deadline; 0: they are not late."
        ),
    ] = None,
    because: Because = "",
) -> None:
    """Show whose work is marked as late without saying by how much, and decide it with --days.

    \b
    Examples:
      grader late 02
      grader late 02 --days 1
      grader late 02 anna --days 3 --because "her mail of 3 November"
    """

    from grader.book.gradebook import Gradebook
    from grader.book.lateness import marked, undecided
    from grader.people.roster import Roster
    from grader.reference.lab import Lab

    loaded = Lab.load(Course.find(), lab)
    if days is None:
        found, still_open = marked(loaded), undecided(loaded)
        if students or because:
            raise GraderError("Say how late their work counts: --days N, where 0 means that it is not late.")
        rows = [(student, who, "no" if student in still_open else "yes") for student, who in found.items()]
        title = f"{len(found)} marked as late, {len(still_open)} to decide"
        show_table(title if found else "0 marked as late", ("Student", "By", "Decided"), rows)
        if still_open:
            typer.echo(f"To decide how late they count: grader late {lab} --days N")
        return
    with Gradebook.open(loaded.course) as gradebook:
        who = Roster(gradebook.roster().values())
        chosen = [who.known(each, marked(loaded)) for each in students or []]
        decided = gradebook.decide_lateness(loaded, days, chosen, because)
    typer.echo(f"{days:.10g} day{'' if days == 1 else 's'} late: {first_few(decided)}.")
    typer.echo(f"To bring their grades up to date: grader autograde {lab}")
