"""Sheets for short conversations with students about their own code."""

from __future__ import annotations

import random
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from grader.commands.help import Commands
from grader.commands.terminal import LabName, Section, to_write
from grader.commands.week import Sandbox
from grader.course import Course
from grader.errors import GraderError

if TYPE_CHECKING:
    from grader.people.roster import Roster
    from grader.reference.lab import Lab

app = Commands()


@app.command()
def viva(
    lab: LabName,
    student: Annotated[
        str | None,
        typer.Option("--student", metavar="ID", help="Whom to talk to: id, e-mail address or name."),
    ] = None,
    sample: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            min=1,
            help="Draw this many of those whose work can be read, from each section of the roster.",
        ),
    ] = None,
    section: Section = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="FOLDER", help="Where to write the sheets; default: grading/viva/LAB."),
    ] = None,
    sandbox: Sandbox = None,
) -> None:
    """Write a sheet of questions about a student's own code, for a conversation of five minutes. No points change.

    \b
    Examples:
      grader viva 02 --student anna
      grader viva 02 --sample 3
      grader viva 02 --sample 3 --section Monday
    """

    from grader.book.gradebook import Gradebook, students_of
    from grader.grade.autograde import choose_runner, submissions
    from grader.people.roster import Roster
    from grader.reference.lab import Lab
    from grader.show.viva import is_readable, write_sheets

    if (student is None) == (sample is None):
        raise GraderError(
            "Say whom the sheets are for: --student ID for one person, or --sample N to draw some."
        )
    loaded = Lab.load(Course.find(), lab)
    with Gradebook.open(loaded.course) as gradebook:
        roster = gradebook.roster()
        sections = gradebook.sections()
    if student is not None:
        chosen = [_id_of(Roster(roster.values()), student, loaded)]
    else:
        among = students_of(loaded.course, section)
        there = [folder.parent.name for folder in submissions(loaded, among=among)]
        groups: dict[str, list[str]] = {}
        for each in there:
            groups.setdefault(sections.get(each, ""), []).append(each)
        chosen = []
        for _, who in sorted(groups.items()):
            drawn = (each for each in random.sample(who, len(who)) if is_readable(loaded, each))
            chosen += islice(drawn, sample)
    for each in chosen if out else []:
        to_write(out / f"{each}.html")
    for page, sheet in write_sheets(loaded, chosen, choose_runner(loaded, sandbox), out):
        said = f"{len(sheet.questions)} questions" if sheet.questions else sheet.instead
        typer.echo(f"{sheet.student}: {said}\n  {page.resolve()}")


def _id_of(roster: Roster, student: str, lab: Lab) -> str:
    """The id of the person who is meant: on the roster, or as the folder of their work is called.

    Raises:
        GraderError: that is nobody, or several people could be meant.
    """
    from grader.show.standing import collected

    there = collected(lab)
    meant = roster.known(student, there)
    if meant not in there and meant not in roster.people:  # nobody is on the roster
        raise GraderError(
            f"There is no work of {student!r} for {lab.name}. `grader report {lab.name}` lists whose work there is."
        )
    return meant
