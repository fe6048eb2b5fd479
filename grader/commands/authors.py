"""What an author of labs does: start one, build it, and try small mistakes in its solutions."""

from __future__ import annotations

import os
from typing import Annotated

import typer

from grader.commands.help import Commands
from grader.commands.terminal import Labs
from grader.course import Course

app = Commands()


@app.command()
def new(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Its number and name, e.g. 14_my_lab.")],
) -> None:
    """Start a new lab: a small one that already builds, to be replaced piece by piece with your own.

    \b
    Examples:
      grader new 14_my_lab
    """

    from grader.author.new import new_lab

    folder = new_lab(Course.find(), name)
    typer.echo(
        f"{folder} has a small lab. Build it with `grader build {name}`, then replace it file by file (docs/writing-a-lab.md)."
    )


@app.command()
def build(
    labs: Labs = None,
    check: Annotated[bool, typer.Option("--check", help="Only compare notebooks/ with its sources.")] = False,
    seeds: Annotated[
        int, typer.Option(metavar="N", min=3, help="Seeds at which the catalogue is judged.")
    ] = 3,
) -> None:
    """Make notebooks/ from solutions/.

    \b
    Examples:
      grader build 14_my_lab
      grader build --check
      grader build 14_my_lab --seeds 30
    """

    from grader.author.build import build as build_labs
    from grader.author.faults import first_seeds

    build_labs(Course.find(), labs or [], check, first_seeds(seeds))


@app.command()
def mutate(
    labs: Labs = None,
    exercise: Annotated[
        str | None, typer.Option(metavar="NAME", help="Only this one; nothing is recorded.")
    ] = None,
    jobs: Annotated[int, typer.Option(metavar="N", min=1, help="Processes at a time.")] = os.cpu_count() or 1,
    variants: Annotated[
        bool,
        typer.Option("--variants", help="Mutants of the correct variants instead; nothing is recorded."),
    ] = False,
    sample: Annotated[
        int, typer.Option(metavar="N", min=1, help="With --variants: mutants tried of each of them.")
    ] = 60,
) -> None:
    """Try small mistakes in every solution, and show those that the checks let pass.

    \b
    Examples:
      grader mutate 14_my_lab
      grader mutate 02 --exercise causal_mask
    """

    from grader.author.mutants_record import keep_record
    from grader.author.mutate import mutate as mutate_lab
    from grader.author.survivors import EQUIVALENT, entries_for
    from grader.reference.lab import Lab

    course, enough = Course.find(), True
    for name in labs or course.labs():
        lab = Lab.load(course, name)
        report = mutate_lab(lab, jobs, exercise, sample if variants else None)
        typer.echo("\n".join(map(str, report.survivors)), nl=bool(report.survivors))
        if entries := entries_for(report.survivors):
            typer.echo(
                f"Add cases that show them. Only if the exercise promises nothing there, say why in {lab.folder / EQUIVALENT}:\n\n{entries}\n"
            )
        for change in report.unused:
            typer.echo(
                f"{lab.folder / EQUIVALENT}: {change.exercise}, {change}: it loses points, or makes no difference. Delete the entry."
            )
        if exercise is None and not variants:
            keep_record(lab, report)
        typer.echo(report.figures(name))
        enough = enough and (variants or report.is_enough)
    if not enough:
        raise typer.Exit(1)
