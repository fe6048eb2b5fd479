"""``grader``, the instructor's tool on the command line: each command says what it did and where to look."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.progress import track
from rich.table import Table
from typer.core import TyperGroup

from grader import autograde as grading
from grader.build import build as build_labs
from grader.course import Course, CourseError
from grader.demo import run_demo
from grader.feedback import generate_feedback
from grader.gradebook import Gradebook
from grader.lab import Lab

console = Console()
if not console.is_terminal and "COLUMNS" not in os.environ:
    console = Console(width=150)  # a log or a pipe has no edge to fold the table at


class _Commands(TyperGroup):
    """Commands whose users never see a traceback for a fault that is theirs to mend."""

    def invoke(self, ctx):
        try:
            return super().invoke(ctx)
        except CourseError as error:
            typer.echo(f"grader: {error}", err=True)
            raise typer.Exit(1) from None


app = typer.Typer(
    cls=_Commands,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_show_locals=False,
    help="The instructor's tool for this course.",
)

LabName = Annotated[str, typer.Argument(metavar="LAB", help="Folder name, e.g. 02_self_attention.")]
Labs = Annotated[
    list[str] | None, typer.Argument(metavar="[LAB]...", help="Folder names; all if none is given.")
]
Sandbox = Annotated[str | None, typer.Option(help="'none': run learners' code unprotected on this machine.")]


@app.command()
def build(
    labs: Labs = None,
    check: Annotated[bool, typer.Option("--check", help="Only compare notebooks/ with its sources.")] = False,
) -> None:
    """Make notebooks/ from solutions/."""
    build_labs(Course.find(), labs or [], check=check)


@app.command()
def release(lab: LabName) -> None:
    """Check that a lab's notebook is what its source gives, and enter the lab in the gradebook."""
    course = Course.find()
    build_labs(course, [lab], check=True)
    loaded = Lab.load(course, lab)
    with Gradebook.open(course) as gradebook:
        gradebook.register(loaded)  # so that formgrader lists it before anything is handed in
    typer.echo(f"Learners open {loaded.release_folder / loaded.notebook_name}")


@app.command()
def autograde(
    lab: LabName,
    sandbox: Sandbox = None,
    student: Annotated[str | None, typer.Option(metavar="NAME", help="Grade only this one.")] = None,
) -> None:
    """Grade what was handed in of a lab."""
    runner = grading.choose_runner(sandbox)
    loaded = Lab.load(Course.find(), lab)
    folders = grading.submissions(loaded, student)
    records = grading.autograde(loaded, folders, runner, grading.class_seed(loaded))
    records = list(track(records, f"Grading {lab}", len(folders), console=console, transient=True))
    show(lab, records)
    typer.echo(f"Graded notebooks: {loaded.course.autograded}. Gradebook: {loaded.course.gradebook}")
    if any(record.score is None for record in records):
        raise CourseError(
            "Some submissions were not entered because of a fault in the grader; see their notes."
        )


@app.command()
def feedback(lab: LabName) -> None:
    """Make HTML feedback of a lab's graded submissions, with nbgrader."""
    loaded = Lab.load(Course.find(), lab)
    count = generate_feedback(loaded)
    typer.echo(f"{count} feedback pages: {loaded.course.feedback}/<student>/{lab}/{loaded.slug}.html")


@app.command()
def export(
    out: Annotated[Path, typer.Option("--out", metavar="FILE", help="CSV file to write.")] = Path(
        "grades.csv"
    ),
) -> None:
    """Write everybody's scores to a CSV file, with nbgrader."""
    with Gradebook.open(Course.find()) as gradebook:
        gradebook.export(out)
    typer.echo(f"Scores: {out.resolve()}")


@app.command()
def demo(labs: Labs = None) -> None:
    """Grade a small made-up class in .demo/, to see what grading does."""
    run_demo(Course.find(), labs or [], say=typer.echo, show=show)


def show(lab: str, records: Iterable[grading.Record]) -> None:
    console.print(table_of(lab, records))


def table_of(title: str, records: Iterable[grading.Record]) -> Table:
    """Students, states, scores, recognised misconceptions and notes, as a table for the terminal."""
    table = Table(title=title, title_justify="left")
    table.add_column("Student", overflow="fold")
    table.add_column("State")
    table.add_column("Score", justify="right", no_wrap=True)
    table.add_column("Recognised misconceptions", overflow="fold")
    table.add_column("Notes", overflow="fold")
    for record in records:
        score = "-" if record.score is None else f"{record.score:g}"
        by_hand = [f"Written answers to grade by hand: {record.by_hand}."] if record.by_hand else []
        table.add_row(
            escape(record.student),
            record.state,
            f"{score} / {record.max_score:g}",
            escape("\n".join(record.recognised)),
            escape("\n".join([*by_hand, *record.notes])),
        )
    return table


if __name__ == "__main__":
    app()
