"""The course as others get it: the release, the web pages, and Gradescope's autograder."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from grader.commands.help import Commands
from grader.commands.terminal import (
    LabName,
    Labs,
    to_write,
)
from grader.course import Course

app = Commands()

Colab = Annotated[
    str | None,
    typer.Option(
        "--colab",
        metavar="OWNER/NAME",
        help="The learners' GitHub repository: each lab gets a link that opens it in Colab.",
    ),
]


@app.command()
def publish(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="A new folder, or an empty one.")],
    colab: Colab = None,
) -> None:
    """Write the whole course as learners get it: a repository or a container image of all labs, no solutions.

    \b
    Examples:
      grader publish transformer-labs --colab OWNER/NAME
    """

    from grader.handout.bundle import publish as publish_course

    count = publish_course(Course.find(), folder, colab)
    typer.echo(f"To hand out: {folder.resolve()} ({count} labs, no solutions)")


@app.command()
def site(
    labs: Labs = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Run no lab: those without an earlier run have no results.")
    ] = False,
    out: Annotated[Path, typer.Option("--out", metavar="FOLDER", help="Folder to write.")] = Path("site"),
    colab: Colab = None,
    pyodide: Annotated[
        Path | None,
        typer.Option(
            "--pyodide",
            metavar="FOLDER",
            help="An unpacked Pyodide distribution: labs in the browser then ask no other machine.",
        ),
    ] = None,
) -> None:
    """Make web pages of the course, without solutions. Only the labs named are run; all if none is.

    \b
    Examples:
      grader site --out site
      grader site --quick
    """

    from grader.handout.site import build_site

    course = Course.find()
    page = build_site(
        course, out.resolve(), [] if quick else labs or course.labs(), colab, typer.echo, pyodide
    )
    typer.echo(f"Pages without solutions: {page}")


@app.command()
def kit(
    labs: Labs = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Run no lab: those without an earlier run come without pictures.")
    ] = False,
    out: Annotated[Path, typer.Option("--out", metavar="FOLDER", help="Folder to write.")] = Path("kit"),
) -> None:
    """Make pages for those who teach: what to show and ask in each lab, its pictures, quiz and examination on paper. With solutions.

    \b
    Examples:
      grader kit --quick
      grader kit 02_self_attention --out kit
    """

    from grader.handout.kit import build_kit

    course = Course.find()
    page = build_kit(course, out.resolve(), [] if quick else labs or course.labs(), typer.echo)
    typer.echo(f"For those who teach; do not share it with learners: {page}")


@app.command()
def gradescope(
    lab: LabName,
    out: Annotated[Path, typer.Option("--out", metavar="ZIP", parser=to_write, help="Zip to write.")] = Path(
        "autograder.zip"
    ),
) -> None:
    """Write the zip that makes a lab a Gradescope assignment. It contains the solution.

    \b
    Examples:
      grader gradescope 02 --out autograder.zip
    """

    from grader.handout.gradescope import write_autograder
    from grader.reference.lab import Lab

    count = write_autograder(Lab.load(Course.find(), lab), out)
    typer.echo(
        f"For Gradescope's Configure Autograder only; do not share it: {out.resolve()} ({count} files)"
    )
