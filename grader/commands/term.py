"""The whole term: the page about all labs, final grades, and who changed what."""

from __future__ import annotations

from dataclasses import astuple, replace
from pathlib import Path
from typing import Annotated

import typer

from grader.commands.help import Commands
from grader.commands.terminal import (
    Because,
    OneLab,
    PageFile,
    Section,
    TableFile,
    show_table,
    to_write,
    write_table,
)
from grader.course import Course
from grader.errors import GraderError
from grader.files import content_of

app = Commands()


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
    because: Because = "",
    student: Annotated[
        str | None, typer.Option(metavar="STUDENT", help="Show how this student's grade comes about.")
    ] = None,
    section: Section = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            metavar="FILE",
            parser=to_write,
            help="CSV file to write; default: grading/reports/grades.csv.",
        ),
    ] = None,
) -> None:
    """Write everybody's final grade, and how it comes about, by the rules of the term.

    \b
    Examples:
      grader grades
      grader grades --rules term.toml --because "decided on 1 October"
      grader grades --student anna
    """

    from grader.book.gradebook import students_of
    from grader.show.grades import final_grades, summary, write_grades

    course = Course.find()
    if because and rules is None:
        raise GraderError("--because goes with --rules.")
    among = students_of(course, section)
    who = _known(course, student) if student is not None else ""
    if rules is not None:
        _enter_rules(course, rules, because)
    if who:
        _show_grade(course, who)
        return
    term = final_grades(course, among)
    table, details = write_grades(term, out or course.grading / "reports" / "grades.csv")
    for line in summary(term):
        typer.echo(line)
    typer.echo(f"Grades:  {table.resolve()}\nBy lab:  {details.resolve()}")


def _enter_rules(course: Course, file: Path, why: str) -> None:
    """
    Raises:
        GraderError: the file cannot be read, says something that no rule says, or it is not said why the rules change.
    """
    from grader.book.gradebook import Gradebook

    if not why:
        raise GraderError(
            "Say why the rules change, for the log: --because 'decided on 1 October'. Nothing has changed."
        )
    try:
        text = content_of(file).decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise GraderError(
            f"{file} cannot be read: {getattr(error, 'strerror', None) or 'it is not in UTF-8'}. Nothing has changed."
        ) from None
    with Gradebook.open(course) as gradebook:
        gradebook.enter_rules(text, str(file), why)
    typer.echo(f"Rules entered: {file}")


def _known(course: Course, student: str) -> str:
    """The id of somebody who has a final grade.

    Raises:
        GraderError: nobody is meant, or somebody who has none.
    """
    from grader.book.gradebook import Gradebook
    from grader.people.roster import Roster

    with Gradebook.open(course) as gradebook:
        students, listed = gradebook.students(), gradebook.roster()
    who = Roster(listed.values()).known(student, students)
    if who not in students:
        raise GraderError(f"The gradebook knows no student {student!r}. `grader roster` lists the ids.")
    if listed and who not in listed:
        raise GraderError(
            f"{who} is not on the roster, so there is no final grade. `grader roster` lists the ids."
        )
    return who


def _show_grade(course: Course, who: str) -> None:
    from grader.show.grades import LABS_HEADER, final_grades, rows_of_labs

    found = final_grades(course, {who}).finals[who]
    show_table(who, LABS_HEADER, rows_of_labs(found), limit=200)
    total = (
        "no lab counts yet"
        if found.percentage is None
        else f"{found.percentage} % in all, {found.rounded} rounded"
    )
    typer.echo(
        f"{total}{f', grade {found.grade}' if found.grade else ''}.{' It may still change.' if found.open else ''}"
    )


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
        str | None,
        typer.Option(metavar="STUDENT", help="Only what concerns this student: id, e-mail address or name."),
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
    from grader.by_hand.rights import notice_changes
    from grader.people.roster import Roster
    from grader.reference.lab import Lab

    course = Course.find()
    name = Lab.load(course, lab).name if lab else ""
    among = students_of(course, section)
    notice_changes(course)
    with Gradebook.open(course) as gradebook:
        if student and gradebook.now_called(student) == student and not gradebook.changes("", student):
            students = gradebook.students()
            student = Roster(gradebook.roster().values()).known(student, students)
            if student not in students:
                raise GraderError(
                    f"The gradebook knows no student {student!r}. `grader roster` lists the ids."
                )
        now = gradebook.now_called(student) if student else ""
        found = gradebook.changes(name, now)
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
