"""Who is in the course: a class list is put on the roster, people leave, and two ids become one person's."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from grader.commands.help import Commands
from grader.commands.terminal import Section, TableFile, as_table, console, described, first_few, write_table
from grader.course import Course
from grader.errors import GraderError

if TYPE_CHECKING:
    from grader.people.roster import Joined

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
