"""What all commands share: arguments that mean the same everywhere, tables and files of what they show, and help in plain text."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from grader.course import Course
from grader.errors import GraderError

if TYPE_CHECKING:
    from grader.people.roster import Person

console = Console()
if not console.is_terminal and "COLUMNS" not in os.environ:
    console = Console(width=150)  # a log or a pipe has no width that a table could be wrapped to


# ---------------------------------------------------------------------------------- arguments


def _lab(text: str) -> str:
    return Course.find().lab_named(text)


LabName = Annotated[
    str,
    typer.Argument(
        metavar="LAB", parser=_lab, help="Its number or name: 02, self_attention or 02_self_attention."
    ),
]
OneLab = Annotated[
    str | None, typer.Argument(metavar="LAB", parser=_lab, help="Its number or name; all if none is given.")
]
Labs = Annotated[
    list[str] | None,
    typer.Argument(metavar="LAB", parser=_lab, help="Numbers or names; all if none is given."),
]
SomeLabs = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="LAB",
        parser=_lab,
        help="Numbers or names; all if none is given. The csv format always has all.",
    ),
]
LabOption = Annotated[
    str | None,
    typer.Option(
        "--lab", metavar="LAB", parser=_lab, help="The lab it is for; default: the one it looks like."
    ),
]
FromLab = Annotated[
    str | None,
    typer.Option("--from", metavar="LAB", parser=_lab, help="In this lab and all that come after it."),
]
OnlyLab = Annotated[str | None, typer.Option("--lab", metavar="LAB", parser=_lab, help="In this lab only.")]
SharedAccount = Annotated[
    bool,
    typer.Option(
        "--shared-account",
        help="Trust the names in the exchange, because one system user owns every submission.",
    ),
]
Section = Annotated[
    str | None, typer.Option("--section", metavar="NAME", help="Only students of this section of the roster.")
]
CanvasAddress = Annotated[
    str, typer.Argument(metavar="URL", help="Canvas's address, such as https://canvas.example.edu.")
]
CanvasCourse = Annotated[
    int, typer.Option("--course", min=1, metavar="N", help="Canvas's number of the course.")
]
Enter = Annotated[bool, typer.Option("--enter", help="Enter it; without this it is only shown.")]


def why(text: str) -> str:
    """A reason as it is typed.

    Raises:
        GraderError: it is too long to be one.
    """
    from grader.files import MAX_REASON, seen

    if len(text) > MAX_REASON:
        raise GraderError(
            f"--because has {len(text):,} characters. Say it in at most {MAX_REASON:,}. Nothing has changed."
        )
    return seen(text).strip()


Because = Annotated[
    str, typer.Option("--because", metavar="WHY", parser=why, help="The reason, for the log.")
]


def to_write(text: str | Path) -> Path:
    """A file that a command shall write. It is looked at before the command does anything.

    Raises:
        GraderError: it is one of the course's own, or cannot be written.
    """
    file, course = Path(text), Course.find()
    if not file.is_dir() and course.owns(file):
        raise GraderError(
            f"{file} is among the course's own files, which no command writes over. Choose another name, such as grades.csv or grading/reports/grades.csv. Nothing has changed."
        )
    place = file if file.exists() else next(each for each in file.absolute().parents if each.exists())
    inside = file.resolve().is_relative_to(course.root.resolve())
    problem = (
        "it is a folder: add the name of the file"
        if file.is_dir()
        else f"there is no folder {file.parent}; make it first, or correct the name"
        if not file.parent.exists() and not inside and place.is_dir()
        else f"{place} is not a folder"
        if place != file and not place.is_dir()
        else ""
        if os.access(place, os.W_OK)
        else f"{place} is read-only"
    )
    if problem:
        raise GraderError(f"{file} cannot be written: {problem}. Nothing has changed.")
    return file


PageFile = Annotated[
    Path | None,
    typer.Option(
        "--out", metavar="FILE", parser=to_write, help="HTML file to write; a CSV file is written next to it."
    ),
]
TableFile = Annotated[
    Path | None,  # the second name is what scripts of earlier terms say
    typer.Option(
        "--out", "--csv", metavar="FILE", parser=to_write, help="Write the table to a CSV file, too."
    ),
]


# ---------------------------------------------------------------------------------- tables

TO_COPY = "Name"
"""The heading of a column whose texts are typed into another command, so that they stay on one line."""


def as_table(title: str, header: Sequence[str], rows: Iterable[Sequence[str]]) -> Table:
    """A table for the terminal in which no cell is cut."""
    table = Table(title=escape(title), title_justify="left")
    for name in header:
        table.add_column(name, overflow="fold")
    for row in rows:
        table.add_row(*map(escape, row))
    return table


def show_table(
    title: str, header: Sequence[str], rows: Iterable[Sequence[str | Sequence[str]]], limit: int = 100
) -> None:
    """Shows a table of texts that anybody may have written. Of each, ``limit`` characters are shown.

    Args:
        rows: several texts in one cell begin a line each; rows of such cells are ruled off.
    """
    from grader.files import printable

    rows = [[[cell] if isinstance(cell, str) else cell for cell in row] for row in rows]
    if not rows:  # a heading with nothing below it looks as if something were missing
        typer.echo(title)
        return
    ruled = any(len(cell) > 1 for row in rows for cell in row)
    table = Table(title=title or None, title_justify="left", show_lines=ruled)
    for column in header:
        table.add_column(column, overflow="fold", no_wrap=column == TO_COPY)
    for row in rows:
        lines = ([escape(printable(" ".join(text.split()), limit)) for text in cell] for cell in row)
        table.add_row(*map("\n".join, lines))
    console.print(table)


def write_table(out: Path | None, header: Sequence[str], rows: Iterable[Sequence[str]], so: str = "") -> None:
    """Writes a table to a file, if one is named. ``so``: what else the message says if it cannot be written.

    Raises:
        GraderError: it cannot be written.
    """
    if out is None:
        return
    from grader.show.export import write_csv

    try:
        write_csv(out, [header, *rows])
    except OSError as error:
        raise GraderError(f"{out} cannot be written: {error.strerror}.{so}") from None
    typer.echo(f"Table: {out.resolve()}")


def first_few(texts: Sequence[str], between: str = ", ", count: int = 10) -> str:
    """The first few texts, and how many more there are."""
    more = [f"and {len(texts) - count} more"] if len(texts) > count else []
    return between.join([*texts[:count], *more])


def described(person: Person) -> str:
    """Somebody in one line, with enough to tell apart people of the same name."""
    return f"{person.student}: {person.name}, {person.email or 'no e-mail address'}, {person.section or 'no section'}"
