"""Who is in the course: the roster, more time, late work, the page about the term, and the log."""

from __future__ import annotations

import sys
from dataclasses import astuple, replace
from datetime import timedelta
from math import isnan
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated

import typer

from grader.commands.help import Commands
from grader.commands.terminal import (
    LabName,
    OneLab,
    PageFile,
    Section,
    TableFile,
    as_table,
    console,
    described,
    first_few,
    show_table,
    write_table,
)
from grader.course import Course
from grader.errors import GraderError

if TYPE_CHECKING:
    from grader.people.roster import Joined, Roster

app = Commands()

roster_app = Commands()
app.add_typer(roster_app, name="roster")


@roster_app.callback(invoke_without_command=True)
def roster(
    context: typer.Context,
    out: TableFile = None,
    section: Section = None,
) -> None:
    """Show who is in the course, what they have handed in, and whose work belongs to nobody on the roster.

    \b
    Examples:
      grader roster
      grader roster import students.csv
      grader roster remove anna
      grader roster merge anna.m anna
    """

    from grader.show.standing import standing

    if context.invoked_subcommand:
        return
    course = Course.find()
    rows, strangers, notes = standing(course, section)
    where = f" in {section}" if section else ""
    console.print(as_table(f"{len(rows) - 1} on the roster{where}", rows[0], rows[1:]))
    for line in strangers:
        typer.echo(f"Not on the roster: {line}")
    for line in notes:
        typer.echo(line)
    write_table(out, rows[0], rows[1:])


@roster_app.command("import")
def roster_import(
    file: Annotated[
        Path,
        typer.Argument(metavar="FILE", help="CSV or .xlsx from your learning platform, or made by hand."),
    ],
    same_names: Annotated[
        bool | None,
        typer.Option(
            "--same-names/--other-people",
            help="Whether a new id with the name of somebody on the roster is the same person. Default: ask.",
        ),
    ] = None,
) -> None:
    """Put a class list on the roster: ids, names, e-mail addresses, sections. Nobody is ever removed.

    \b
    Examples:
      grader roster import students.csv
    """

    from grader.book.gradebook import Gradebook
    from grader.files import printable
    from grader.people.roster import changes, joined, read_roster

    listed = read_roster(file)
    typer.echo(f"Read: {printable(', '.join(listed.read), 300)}.")
    if listed.unused:
        typer.echo(f"Not used: {printable(', '.join(listed.unused), 300)}.")
    for note in listed.notes:
        typer.echo(note)
    with Gradebook.open(Course.find()) as gradebook:
        before = gradebook.roster()
        found = joined(before, listed.people, same_names)
        if found.doubtful:
            found = joined(before, listed.people, _ask_whether_same(file, found))
        told = changes(before, found.people)
        gradebook.enter_people(found.people)
    typer.echo(f"{len(found.people)} in {file.name}: {len(told.new)} new, {len(told.changed)} changed.")
    if found.known_as:
        pairs = [f"{new} is {old}" for new, old in found.known_as.items()]
        typer.echo(f"On the roster under another id, which stays: {first_few(pairs)}.")
    if told.absent:
        typer.echo(
            f"On the roster, but not in the file: {', '.join(told.absent)}. They stay. `grader roster remove ID` removes one."
        )


def _ask_whether_same(file: Path, found: Joined) -> bool:
    """Asks in the terminal whether people with a new id and a known name are those on the roster.

    Raises:
        GraderError: nobody can be asked, or the answer is neither yes nor no.
    """
    who = [
        f"{new.name}: {new.student} in {file.name}, {' or '.join(each.student for each in old)} on the roster"
        for new, old in found.doubtful
    ]
    many = (
        f"{len(who)} in the list have a new id and"
        if len(who) > 1
        else "Somebody in the list has a new id and"
    )
    typer.echo(f"{many} the name of somebody on the roster who is not in the list:")
    typer.echo("  " + first_few(who, "\n  "))
    if sys.stdin.isatty():
        answer = typer.prompt(
            "Are they the same people? (yes, no, or nothing to stop)", default="", show_default=False
        )
        if answer.strip().lower() in ("y", "yes", "n", "no"):
            return answer.strip().lower().startswith("y")
    raise GraderError(
        "Nothing has changed. If they are the same people, add --same-names: they keep the ids that they have. If all of them are others, add "
        "--other-people. If some are the same, write the roster's ids into the list's column for ids."
    )


@roster_app.command("remove")
def roster_remove(
    students: Annotated[list[str], typer.Argument(metavar="ID", help="Ids on the roster.")],
    keep_work: Annotated[
        bool,
        typer.Option(
            "--keep-work", help="Also remove people who have handed in something; their work and grades stay."
        ),
    ] = False,
) -> None:
    """Take people off the roster who have left the course. Nothing that was handed in is removed."""

    from grader.book.gradebook import Gradebook
    from grader.grade.merge import work_of

    course = Course.find()
    with Gradebook.open(course) as gradebook:
        listed = gradebook.roster()
        if strangers := [each for each in students if each not in listed]:
            raise GraderError(
                f"Not on the roster: {first_few(strangers)}. Nothing has changed. `grader roster` lists the ids."
            )
        had = {each: work_of(course, gradebook, each) for each in students}
        busy = [f"{each} ({', '.join(labs)})" for each, labs in had.items() if labs]
        if busy and not keep_work:
            raise GraderError(
                f"There is work of {first_few(busy)}. Nothing has changed. With --keep-work they are taken off the roster, and what they handed in stays, "
                "with its grades. If an id is another one of somebody in the course: grader roster merge OLD ID"
            )
        gradebook.remove_people(students)
    typer.echo(f"No longer on the roster: {first_few(students)}.")


@roster_app.command("merge")
def roster_merge(
    old: Annotated[
        str, typer.Argument(metavar="OLD", help="Another id of the same person; it will be gone.")
    ],
    new: Annotated[str, typer.Argument(metavar="ID", help="The id on the roster that this person keeps.")],
    keep: Annotated[
        str | None,
        typer.Option(metavar="OLD|ID", help="Whose work counts in labs that both have work for."),
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
) -> None:
    """Make one person of two ids: submissions, grades, comments and feedback of the first become the second's.

    \b
    Examples:
      grader roster merge anna.m anna
    """

    from grader.grade.merge import carry_out, plan

    course = Course.find()
    planned, begun = plan(course, old, new, keep)
    if begun:
        typer.echo("This merge was begun before; it goes on.")
    else:
        if planned.both:
            typer.echo("Both are on the roster. They become one person:")
            for who in planned.both:
                typer.echo(f"  {described(who)}")
        labs = ", ".join(planned.labs) or "no lab"
        typer.echo(f"{old} has work for {labs}. All of it becomes {new}'s.")
        for lab, loser in planned.dropped.items():
            typer.echo(f"{lab}: {loser}'s work goes to grading/earlier, and its points out of the gradebook.")
        if not yes and not typer.confirm("Is that right? It cannot be undone"):
            typer.echo("Nothing has changed.")
            return
    carry_out(course, planned, keep)
    typer.echo(f"{old} is now {new}.")


@app.command()
def extend(
    lab: LabName,
    student: Annotated[str, typer.Argument(metavar="STUDENT", help="Id, e-mail address or name.")],
    days: Annotated[
        float,
        typer.Option(
            metavar="DAYS", min=0, max=3650, help="Days after the deadline; 0 withdraws an extension."
        ),
    ],
    because: Annotated[str, typer.Option(metavar="WHY", help="The reason, for the log.")] = "",
) -> None:
    """Give a student more time. Extensions do not add up: the last one counts.

    \b
    Examples:
      grader extend 02 anna --days 3 --because "ill, note of 3 November"
      grader extend 02 anna --days 0
    """

    from grader.book.gradebook import Gradebook
    from grader.people.roster import Roster
    from grader.reference.lab import Lab

    loaded = Lab.load(Course.find(), lab)
    if isnan(days):
        raise GraderError("--days is a number of days, as in --days 2.5.")
    if not student.strip():
        raise GraderError("Say who gets more time: STUDENT is empty. `grader roster` lists the ids.")
    with Gradebook.open(loaded.course) as gradebook:
        student = _on_roster(Roster(gradebook.roster().values()), student, withdrawn=not days)
        gradebook.register(loaded)
        gradebook.extend(loaded, student, timedelta(days=days), because)
        gradebook.enter_lateness(loaded)
        deadline, known = gradebook.deadline(loaded), student in gradebook.students()
    until = (
        f"The deadline is {deadline + timedelta(days=days):%Y-%m-%d %H:%M} UTC."
        if deadline
        else "There is no deadline yet."
    )
    extension = f"{days:g} extra day{'' if days == 1 else 's'}" if days else "no extra days"
    typer.echo(f"Saved: {extension} for {student} in {lab}. {until}")
    if not known:
        typer.echo(f"Note: the gradebook does not know {student!r} yet. Is the id right?")


def _on_roster(roster: Roster, student: str, withdrawn: bool) -> str:
    """The id of the person on the roster who is meant; the text as it is where there is no roster.

    Args:
        withdrawn: something is only taken back, which nobody has to be on the roster for.

    Raises:
        GraderError: nobody on the roster is meant, or several people could be.
    """
    meant = roster.meant(student)
    if roster.people and not roster.by_id(meant) and not withdrawn:
        raise GraderError(
            f"{student!r} is not on the roster, so nothing has changed. `grader roster` lists the ids; if it is another id of somebody on it: grader roster "
            f"merge {quote(student)} ID; if somebody is missing: grader roster import FILE."
        )
    return meant


status_app = Commands()
app.add_typer(status_app, name="status")

Student = Annotated[str, typer.Argument(metavar="STUDENT", help="Id, e-mail address or name.")]
Because = Annotated[
    str, typer.Option(metavar="WHY", help="The reason: for the log, and on the student's feedback page.")
]


@status_app.callback(invoke_without_command=True)
def status(context: typer.Context, out: TableFile = None, section: Section = None) -> None:
    """Show what was decided about students beside points: excused, zero, penalty, dropped, late days, more time.

    \b
    Examples:
      grader status
      grader status set anna excused 02 --because "ill, note of 3 November"
      grader status import decisions.csv
    """

    from grader.book.gradebook import Gradebook, students_of

    if context.invoked_subcommand:
        return
    course = Course.find()
    among = students_of(course, section)
    with Gradebook.open(course) as gradebook:
        found = gradebook.statuses(among=among)
        spent = gradebook.late_days()
        entered = {(each.student, each.lab) for each in found if each.kind == "late days"}
    rows = [(each.student, each.lab or "all labs", str(each), each.reason) for each in found]
    rows += [
        (student, lab, f"late days {days}", "spent automatically")
        for (student, lab), days in sorted(spent.items())
        if (student, lab) not in entered and (among is None or student in among)
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
    because: Because = "",
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
    because: Because = "",
) -> None:
    """Take back a status of a student.

    \b
    Examples:
      grader status withdraw anna excused 02 --because "entered for the wrong student"
    """

    _change_status(student, what, lab, because, withdrawn=True)


def _change_status(student: str, what: str, lab: str | None, because: str, withdrawn: bool) -> None:
    from grader.book.gradebook import Gradebook
    from grader.book.statuses import Kind, Status, see_that_the_lab_fits, understood
    from grader.people.roster import Roster
    from grader.reference.lab import Lab

    if not because.strip():
        raise GraderError("Say why, for the log: --because 'ill, note of 3 November'. Nothing has changed.")
    course = Course.find()
    kind, amount = understood(what)
    with Gradebook.open(course) as gradebook:
        who = _on_roster(Roster(gradebook.roster().values()), student, withdrawn)
        changed = Status(who, lab or "", kind, amount, because.strip())
        see_that_the_lab_fits(changed)
        if kind is Kind.EXTENSION:
            gradebook.register(Lab.load(course, changed.lab))
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
    from grader.book.statuses import Kind
    from grader.people.roster import Roster
    from grader.reference.lab import Lab

    course = Course.find()
    with Gradebook.open(course) as gradebook:
        found = read_statuses(file, Roster(gradebook.roster().values()), course.lab_named)
        before = {(each.student, each.lab, each.kind): each for each in gradebook.statuses()}
        new = [each for each in found if before.get((each.student, each.lab, each.kind)) != each]
        for name in sorted({each.lab for each in new if each.kind is Kind.EXTENSION}):
            gradebook.register(Lab.load(course, name))
        gradebook.enter_statuses(new)
    typer.echo(f"{len(found)} in {file.name}: {len(new)} entered, {len(found) - len(new)} there already.")


@app.command()
def grades(
    rules: Annotated[
        Path | None,
        typer.Option(
            "--rules",
            metavar="FILE",
            help="TOML file with the rules of the term, to be checked and entered first.",
        ),
    ] = None,
    because: Annotated[str, typer.Option(metavar="WHY", help="Why the rules change, for the log.")] = "",
    student: Annotated[
        str | None, typer.Option(metavar="STUDENT", help="Show how this student's grade comes about.")
    ] = None,
    section: Section = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="FILE", help="CSV file to write; default: grading/reports/grades.csv."),
    ] = None,
) -> None:
    """Write everybody's final grade, and how it comes about, by the rules of the term.

    \b
    Examples:
      grader grades
      grader grades --rules term.toml --because "decided on 1 October"
      grader grades --student anna
    """

    from grader.book.gradebook import Gradebook, students_of
    from grader.people.roster import Roster
    from grader.show.grades import LABS_HEADER, final_grades, rows_of_labs, summary, write_grades

    course = Course.find()
    if because and rules is None:
        raise GraderError("--because goes with --rules.")
    if rules is not None:
        if not because.strip():
            raise GraderError(
                "Say why the rules change, for the log: --because 'decided on 1 October'. Nothing has changed."
            )
        try:
            text = rules.read_text("utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise GraderError(
                f"{rules} cannot be read: {getattr(error, 'strerror', None) or 'it is not in UTF-8'}."
            ) from None
        with Gradebook.open(course) as gradebook:
            gradebook.enter_rules(text, str(rules), because.strip())
        typer.echo(f"Rules entered: {rules}")
    among = students_of(course, section)
    if student is not None:
        with Gradebook.open(course) as gradebook:
            who = Roster(gradebook.roster().values()).meant(student)
            if who not in gradebook.students():
                raise GraderError(
                    f"The gradebook knows no student {student!r}. `grader roster` lists the ids."
                )
        found = final_grades(course, {who}).finals.get(who)
        if found is None:
            raise GraderError(
                f"{who} is not on the roster, so there is no final grade. `grader roster` lists the ids."
            )
        show_table(who, LABS_HEADER, rows_of_labs(found), limit=200)
        total = (
            "no lab counts yet"
            if found.percentage is None
            else f"{found.percentage} % in all, {found.rounded} rounded"
        )
        typer.echo(
            f"{total}{f', grade {found.grade}' if found.grade else ''}.{' It may still change.' if found.open else ''}"
        )
        return
    term = final_grades(course, among)
    table, details = write_grades(term, out or course.grading / "reports" / "grades.csv")
    for line in summary(term):
        typer.echo(line)
    typer.echo(f"Grades:  {table.resolve()}\nBy lab:  {details.resolve()}")


@app.command()
def late(
    lab: LabName,
    students: Annotated[
        list[str] | None, typer.Argument(metavar="STUDENT", help="Only these; all if none is given.")
    ] = None,
    days: Annotated[
        float | None,
        typer.Option(
            metavar="DAYS", min=0, max=3650, help="Days after their deadline; 0: they are not late."
        ),
    ] = None,
) -> None:
    """Show whose work is marked as late without saying by how much, and decide it with --days.

    \b
    Examples:
      grader late 02
      grader late 02 anna --days 1
    """

    from grader.book.gradebook import Gradebook
    from grader.book.lateness import decide, undecided
    from grader.people.roster import Roster
    from grader.reference.lab import Lab

    loaded = Lab.load(Course.find(), lab)
    if days is None:
        found = undecided(loaded)
        if students:
            raise GraderError("Say how late their work counts: --days N, where 0 means that it is not late.")
        show_table(f"{len(found)} marked as late", ("Student", "By"), list(found.items()))
        if found:
            typer.echo(f"To decide how late they count: grader late {lab} --days N")
        return
    with Gradebook.open(loaded.course) as gradebook:
        who = Roster(gradebook.roster().values())
        chosen = [who.meant(each) for each in students or []]
        decided = decide(loaded, gradebook.deadline(loaded), gradebook.times(loaded), days, chosen)
    typer.echo(f"{days:g} day{'' if days == 1 else 's'} late: {first_few(decided)}.")
    typer.echo(f"To bring their grades up to date: grader autograde {lab}")


@app.command()
def term(
    out: PageFile = None,
    section: Section = None,
) -> None:
    """Write one page about all labs: how each went, each student's way, misconceptions that stay, who needs help.

    \b
    Examples:
      grader term
      grader term --section Monday --out monday.html
    """

    from grader.show.term import write_term

    page, *tables = write_term(Course.find(), out, section)
    typer.echo(f"Report: {page.resolve()}")
    for table in tables:
        typer.echo(f"Table:  {table.resolve()}")


@app.command()
def log(
    lab: OneLab = None,
    student: Annotated[
        str | None, typer.Option(metavar="ID", help="Only what concerns this student.")
    ] = None,
    section: Section = None,
    out: TableFile = None,
) -> None:
    """Show who changed which points, deadlines, extensions and comments, also in formgrader. Newest last.

    \b
    Examples:
      grader log 02 --student anna
      grader log --out log.csv
    """

    from grader.book.gradebook import Gradebook, students_of
    from grader.book.requests import exercises_in
    from grader.reference.lab import Lab

    course = Course.find()
    name = Lab.load(course, lab).name if lab else ""
    among = students_of(course, section)
    with Gradebook.open(course) as gradebook:
        now = gradebook.now_called(student) if student else ""
        found = gradebook.changes(name, now)
        if student and not found and now == student and student not in gradebook.students():
            raise GraderError(f"The gradebook knows no student {student!r}. `grader roster` lists the ids.")
        if among is not None:
            names = {each.student: gradebook.now_called(each.student) for each in found}
            found = [each for each in found if names[each.student] in among]
    exercises = {
        name: exercises_in(Lab(course, name)) for name in {each.lab for each in found} & {*course.labs()}
    }
    found = [replace(each, item=exercises.get(each.lab, {}).get(each.item, each.item)) for each in found]
    if now != (student or ""):
        typer.echo(f"{student} is now {now}. These are the changes under all ids of {now}.")
    short = [
        (
            (f"{each.when:%Y-%m-%d %H:%M}", f"{each.who} ({each.program})" if each.program else each.who),
            (each.student or "everybody", each.lab),
            (
                f"{each.item}: {each.what}" if each.item else each.what,
                f"{each.before or '–'} → {each.after or '–'}",
                *([f"because: {each.why}"] if each.why else []),
            ),
        )
        for each in found
    ]
    title = f"{len(found)} change{'' if len(found) == 1 else 's'}"
    show_table(title, ("When (UTC), who", "Whose", "What, from → to"), short, limit=200)
    header = ("Time (UTC)", "Who", "With", "Lab", "Student", "Exercise", "What", "From", "To", "Why")
    write_table(out, header, [(f"{each.when:%Y-%m-%d %H:%M:%S}", *astuple(each)[1:]) for each in found])
