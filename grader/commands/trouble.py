"""What to do when something is wrong: with a notebook, with the course's folders, or with the gradebook."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape
from rich.table import Table

from grader.commands.help import Commands
from grader.commands.terminal import (
    TO_COPY,
    LabOption,
    console,
    show_table,
)
from grader.course import Course
from grader.errors import GraderError

if TYPE_CHECKING:
    from grader.receive.doctor import Examination

app = Commands()


@app.command()
def doctor(
    file: Annotated[Path | None, typer.Argument(metavar="FILE", help="A notebook.")] = None,
    lab: LabOption = None,
    course: Annotated[
        bool,
        typer.Option(
            "--course",
            help="Instead of a notebook: show the gradebook's backups, and which parts of the course other users of this machine can access.",
        ),
    ] = False,
) -> None:
    """Say what is wrong with a notebook, and how grading will treat it; or with the course. Nothing is run or changed.

    \b
    Examples:
      grader doctor anna.ipynb
      grader doctor --course
    """

    from grader.receive.doctor import examine

    if course == (file is not None):
        raise GraderError("Name a notebook, as in grader doctor FILE, or give --course, but not both.")
    if course:
        found = Course.find()
        _show_backups(found)
        if wrong := _trouble_with_gradebook(found):
            typer.echo(wrong)
        _show_openings(found)
        if wrong:
            raise typer.Exit(1)
        return
    found = examine(Course.find(), file, lab)
    _show_examination(file, found)
    if not found.fine:
        raise typer.Exit(1)


def _show_examination(file: Path, found: Examination) -> None:
    if found.problem:
        typer.echo(f"{file.name!r} cannot be graded. {found.problem}")
        return
    table = Table(title=f"{escape(file.name)}, as a notebook of {found.lab}", title_justify="left")
    for name in ("Exercise or written answer", "State", "What is wrong"):
        table.add_column(name, overflow="fold")
    for part in found.parts:
        name = f"{part.name} (written)" if part.written else part.name
        table.add_row(*map(escape, (name, part.state, part.fault)))
    console.print(table)
    if found.own:
        typer.echo("Extra code cells, which will run:")
    for cell in found.own[:20]:
        fault = f"  [syntax error: {cell.fault}]" if cell.fault else ""
        typer.echo(f"  {f'after `{cell.after}`' if cell.after else 'first'}: {cell.first_line}{fault}")
    if len(found.own) > 20:
        typer.echo(f"  and {len(found.own) - 20} more")
    if found.files:
        typer.echo(f"Runs with it, if handed in together with it: {', '.join(found.files)}")
    for note in found.notes:
        typer.echo(f"Note: {note}")
    typer.echo(
        "It can be graded as it is."
        if found.fine
        else "It can be graded, but see above: fix it and hand it in again if you can."
    )


def _show_openings(course: Course) -> None:
    from grader.receive.openings import openings

    found, closed_above = openings(course)
    if not found:
        typer.echo(f"Nothing private in {course.root} is open to others.")
        return
    typer.echo("Other users of this machine can access these, but should not be able to:")
    for opening in found:
        typer.echo(f"  {opening.path}: {opening.what}")
    if closed_above:
        typer.echo(f"For now, the permissions of {closed_above} keep others out of the project.")
    typer.echo("To close them:")
    for opening in found:
        typer.echo(f"  {opening.fix}")
    raise typer.Exit(1)


@app.command()
def restore(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="NAME",
            help="A backup's name, or the path of a gradebook's file; default: list the backups.",
        ),
    ] = None,
) -> None:
    """List the gradebook's backups, or put one in its place. What was there is put aside, and can be restored in its turn.

    \b
    Examples:
      grader restore
      grader restore ~/backups/gradebook.db
    """

    from grader.book.backups import restore as restore_gradebook
    from grader.book.gradebook import Gradebook
    from grader.grade import autograde as grading

    course = Course.find()
    if name is None:
        _show_backups(course)
        if wrong := _trouble_with_gradebook(course):
            raise wrong
        typer.echo("To put one in the gradebook's place: grader restore NAME.")
        return
    with grading.alone(course):
        contents, aside = restore_gradebook(course, name)
        with Gradebook.open(course) as gradebook:
            gradebook.note_restored(Path(name).name)
    typer.echo(f"{course.gradebook} now has {contents}.")
    if aside:
        typer.echo(f"What was there is kept: {aside}")
    typer.echo(
        "If `make instructor` is running, start it again. Then run `grader autograde` for each lab: it grades what is missing, and nothing else."
    )


_BACKUPS = (
    TO_COPY,
    "Made (UTC)",
    "Submissions",
    "By hand",
    "Requests",
    "On the roster",
    "Last change (UTC)",
)


def _show_backups(course: Course) -> None:
    from grader.book.backups import backups

    rows = []
    for each in backups(course):
        had = each.contents()
        figures = (had.submissions, had.by_hand, had.requests, had.on_roster) if had else ()
        told = (
            [*(f"{figure:,}" for figure in figures), had.changed[:16]]
            if had
            else ["nothing in it", "", "", "", ""]
        )
        rows.append((each.name, f"{each.made:%Y-%m-%d %H:%M}", *told))
    show_table(f"{len(rows)} backup{'' if len(rows) == 1 else 's'} of the gradebook", _BACKUPS, rows)


def _trouble_with_gradebook(course: Course) -> GraderError | None:
    """Why the gradebook cannot be used, if it cannot."""

    from grader.book.backups import see_that_it_is_whole
    from grader.book.file import opened
    from grader.book.state import is_there

    try:
        if is_there(course):
            with opened(course):
                see_that_it_is_whole(course)
    except GraderError as error:
        return error
    return None
