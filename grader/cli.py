"""``grader``, the instructor's command-line tool: each command says what it did and where the results are."""

from __future__ import annotations

import os
from collections.abc import Iterable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table
from typer.core import TyperGroup

from grader.author.build import build as build_labs
from grader.author.mutate import EQUIVALENT, keep_record
from grader.author.mutate import mutate as mutate_lab
from grader.author.new import new_lab
from grader.course import Course
from grader.demo import run_demo
from grader.errors import GraderError
from grader.grade import autograde as grading
from grader.grade.gradebook import Gradebook
from grader.grade.resume import Again
from grader.grade.work import Record
from grader.handout.bundle import write_bundle
from grader.handout.gradescope import write_autograder
from grader.lab import Lab
from grader.receive.collect import Collected
from grader.receive.collect import collect as collect_lab
from grader.receive.doctor import Examination, examine
from grader.receive.files import time_of
from grader.receive.openings import openings
from grader.show.class_report import write_report
from grader.show.export import export as export_scores
from grader.show.export import write_feedback_zip
from grader.show.feedback import generate_feedback
from grader.show.progress_bar import watched

console = Console()
if not console.is_terminal and "COLUMNS" not in os.environ:
    console = Console(width=150)  # a log or a pipe has no width that a table could be wrapped to


class _Commands(TyperGroup):
    """Commands that report a problem which users can fix themselves as one message, without a traceback."""

    def invoke(self, ctx):
        try:
            return super().invoke(ctx)
        except GraderError as error:
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
def new(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Its number and name, e.g. 13_my_lab.")],
) -> None:
    """Start a new lab: a small one that already builds, to be replaced piece by piece with your own."""
    folder = new_lab(Course.find(), name)
    typer.echo(
        f"{folder} holds a small lab. Build it with `grader build {name}`, then replace it file by file (docs/writing-a-lab.md)."
    )


@app.command()
def mutate(
    labs: Labs = None,
    exercise: Annotated[
        str | None, typer.Option(metavar="NAME", help="Only this one; nothing is recorded.")
    ] = None,
    jobs: Annotated[int, typer.Option(min=1, help="Processes at a time.")] = os.cpu_count() or 1,
) -> None:
    """Try small mistakes in every solution, and show those that the checks let pass."""
    course = Course.find()
    for name in labs or course.labs():
        lab = Lab.load(course, name)
        report = mutate_lab(lab, jobs, exercise)
        typer.echo("\n".join(map(str, report.survivors)), nl=bool(report.survivors))
        for change in report.unused:
            typer.echo(
                f"{lab.folder / EQUIVALENT}: no mutant of {change[0]} changes {change[1]!r} to {change[2]!r} and survives."
            )
        if exercise is None:
            keep_record(lab, report)
        tried, equivalent = sum(report.tried.values()), sum(report.equivalent.values())
        typer.echo(
            f"{name}: {tried} mutants, {equivalent} equivalent, {len(report.survivors)} survive; of those that are wrong, "
            f"{report.share:.1%} lose points at every seed."
        )


@app.command()
def release(
    lab: LabName,
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="ZIP", help="Also write everything a learner needs to a zip."),
    ] = None,
    due: Annotated[
        str | None,
        typer.Option(
            metavar="TIME", help="Deadline, e.g. '2027-01-31 18:00 Europe/Berlin'; UTC if no zone; or 'none'."
        ),
    ] = None,
) -> None:
    """Check that a lab's notebook matches its source, and enter the lab in the gradebook."""
    course = Course.find()
    deadline = _time(due) if due and due != "none" else None
    build_labs(course, [lab], check=True)
    loaded = Lab.load(course, lab)
    with Gradebook.open(course) as gradebook:
        gradebook.register(loaded)  # so that formgrader lists it before anything is handed in
        if due:
            gradebook.set_deadline(loaded, deadline)
        deadline = gradebook.deadline(loaded)
    typer.echo(f"Notebook for learners: {loaded.release_folder / loaded.notebook_name}")
    typer.echo(f"Deadline: {f'{deadline:%Y-%m-%d %H:%M} UTC' if deadline else 'none'}")
    if out:
        files = write_bundle(loaded, out)
        typer.echo(f"To hand out: {out.resolve()} ({len(files)} files, no solutions)")


def _time(text: str) -> datetime:
    if time := time_of(text):
        return time
    raise GraderError(
        f"{text!r} is not a time. Write it as 2027-01-31 18:00, with a zone if it is not UTC: '2027-01-31 18:00 Europe/Berlin'."
    )


@app.command()
def extend(
    lab: LabName,
    student: Annotated[str, typer.Argument(metavar="STUDENT", help="Id, as in the gradebook.")],
    days: Annotated[
        float, typer.Option(min=0, max=3650, help="Days after the deadline; 0 withdraws an extension.")
    ],
) -> None:
    """Give a student more time. Extensions do not add up: the last one counts."""
    loaded = Lab.load(Course.find(), lab)
    with Gradebook.open(loaded.course) as gradebook:
        gradebook.register(loaded)
        gradebook.extend(loaded, student, timedelta(days=days))
        gradebook.enter_lateness(loaded)
        deadline, known = gradebook.deadline(loaded), student in gradebook.students()
    until = (
        f"until {deadline + timedelta(days=days):%Y-%m-%d %H:%M} UTC"
        if deadline
        else "once there is a deadline"
    )
    extension = f"{days:g} more day{'' if days == 1 else 's'}" if days else "no extension"
    typer.echo(f"{student} has {extension} for {lab}: {until}.")
    if not known:
        typer.echo(f"Note: the gradebook does not know {student!r} yet. Is the id right?")


@app.command()
def collect(
    lab: LabName,
    source: Annotated[
        Path | None,
        typer.Argument(
            metavar="[SOURCE]", help="A folder, or a zip from Canvas or Moodle; default: the exchange."
        ),
    ] = None,
    shared_account: Annotated[
        bool,
        typer.Option(
            "--shared-account",
            help="In the exchange, all submissions belong to one system user: do not check whose they are.",
        ),
    ] = False,
) -> None:
    """Collect submissions for grading, from nbgrader's exchange, a folder, or an LMS's zip."""
    if shared_account and source:
        raise GraderError("--shared-account is for nbgrader's exchange: leave it out, or leave SOURCE out.")
    loaded = Lab.load(Course.find(), lab)
    rows = collect_lab(loaded, source, shared_account)
    console.print(_table_of_collected(lab, rows))
    typer.echo(f"Submissions: {loaded.course.submitted}/<student>/{lab}/{loaded.notebook_name}")


def _table_of_collected(lab: str, rows: Iterable[Collected]) -> Table:
    table = Table(title=lab, title_justify="left")
    for name in ("Student", "File", "What happened", "Notes"):
        table.add_column(name, overflow="fold")
    for row in rows:
        table.add_row(*map(escape, (row.student or "?", row.file, row.outcome, row.why)))
    return table


@app.command()
def doctor(
    file: Annotated[Path | None, typer.Argument(metavar="FILE", help="A notebook.")] = None,
    lab: Annotated[
        str | None, typer.Option(metavar="LAB", help="The lab it is for; default: the one it looks like.")
    ] = None,
    course: Annotated[
        bool,
        typer.Option(
            "--course",
            help="Instead of a notebook: show which parts of the course other users of this machine can access.",
        ),
    ] = False,
) -> None:
    """Say what is wrong with a notebook, and how grading will treat it. Nothing is run or changed."""
    if course == (file is not None):
        raise GraderError("Name a notebook, as in grader doctor FILE, or give --course, but not both.")
    if course:
        _show_openings(Course.find())
        return
    found = examine(Course.find(), file, lab)
    _show_examination(file, found)
    if not found.fine:
        raise typer.Exit(1)


def _show_openings(course: Course) -> None:
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
    for note in found.notes:
        typer.echo(f"Note: {note}")
    typer.echo(
        "It can be graded as it is."
        if found.fine
        else "It can be graded, but see above: fix it and hand it in again if you can."
    )


@app.command()
def autograde(
    lab: LabName,
    sandbox: Sandbox = None,
    student: Annotated[str | None, typer.Option(metavar="NAME", help="Grade only this student.")] = None,
    jobs: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Processes; default: one per core.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Regrade unchanged submissions too.")] = False,
    only_new: Annotated[
        bool, typer.Option("--only-new", help="Grade only new submissions, even if the lab changed.")
    ] = False,
    cluster: Annotated[
        str | None, typer.Option(metavar="ADDRESS", help="Run notebooks on a Dask cluster: tcp://host:8786.")
    ] = None,
) -> None:
    """Grade a lab's submissions. You can stop it at any point; run it again and it continues from there."""
    if force and only_new:
        raise GraderError(
            "--force grades everything and --only-new only new submissions: use one or the other."
        )
    loaded = Lab.load(Course.find(), lab)
    runner = grading.choose_runner(loaded, sandbox, elsewhere=cluster is not None)
    folders = grading.submissions(loaded, student)
    stream = grading.autograde(
        loaded,
        folders,
        runner,
        grading.class_seed(loaded),
        jobs=jobs or grading.usable_cores(),
        cluster=cluster,
        again=Again.ALL if force else Again.NEW if only_new else Again.CHANGED,
    )
    records: list[Record] = []
    try:
        records.extend(watched(stream, f"Grading {lab}", len(folders), console))
    except KeyboardInterrupt:
        stream.close()
        typer.echo(
            "grader: stopped. Grades already entered are kept; the same command continues from there.",
            err=True,
        )
        raise typer.Exit(130) from None
    records.sort(key=lambda record: record.student)
    show(lab, records)
    typer.echo(f"Graded notebooks: {loaded.course.autograded}. Gradebook: {loaded.course.gradebook}")
    with Gradebook.open(loaded.course) as gradebook:
        other = [
            result.student
            for result in gradebook.results(loaded)
            if result.marker and round(result.score - result.marker.score, 2)
        ]
    if other:
        typer.echo(
            f"Points given by hand or deducted for lateness change {len(other)} of the scores (the table shows "
            f"the points from the checks): see `grader report {lab}`."
        )
    if any(record.score is None for record in records):
        raise GraderError(
            "Some submissions were not entered because of an error in the grader; see their notes."
        )


@app.command()
def feedback(
    lab: LabName,
    pack: Annotated[
        Path | None,
        typer.Option("--zip", metavar="ZIP", help="Also pack the pages in the form that Moodle accepts."),
    ] = None,
) -> None:
    """Make HTML feedback for a lab's graded submissions, with nbgrader."""
    loaded = Lab.load(Course.find(), lab)
    count = generate_feedback(loaded)
    typer.echo(f"{count} feedback pages: {loaded.course.feedback}/<student>/{lab}/{loaded.slug}.html")
    if pack:
        write_feedback_zip(loaded, pack)
        typer.echo(f"All of them: {pack.resolve()}")


@app.command()
def report(
    lab: LabName,
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="FILE", help="HTML file to write; a CSV file is written next to it."),
    ] = None,
) -> None:
    """Write one page about a class: scores, exercises, common misconceptions, who needs help."""
    page, table = write_report(Lab.load(Course.find(), lab), out)
    typer.echo(f"Report: {page.resolve()}\nTable:  {table.resolve()}")


@app.command()
def export(
    labs: Labs = None,
    form: Annotated[str, typer.Option("--format", metavar="FORMAT", help="csv, canvas or moodle.")] = "csv",
    out: Annotated[Path, typer.Option("--out", metavar="FILE", help="CSV file to write.")] = Path(
        "grades.csv"
    ),
) -> None:
    """Write everybody's scores to a file for Canvas, Moodle or a spreadsheet."""
    for note in export_scores(Course.find(), labs or [], form, out):
        typer.echo(f"Note: {note}")
    typer.echo(f"Scores: {out.resolve()}")


@app.command()
def gradescope(
    lab: LabName,
    out: Annotated[Path, typer.Option("--out", metavar="ZIP", help="Zip to write.")] = Path("autograder.zip"),
) -> None:
    """Write the zip that makes a lab a Gradescope assignment. It contains the solution."""
    count = write_autograder(Lab.load(Course.find(), lab), out)
    typer.echo(
        f"For Gradescope's Configure Autograder only; do not share it: {out.resolve()} ({count} files)"
    )


@app.command()
def demo(labs: Labs = None) -> None:
    """Grade a small made-up class in .demo/ to show what grading does."""
    run_demo(Course.find(), labs or [], say=typer.echo, show=show)


def show(lab: str, records: Iterable[Record]) -> None:
    console.print(table_of(lab, records))


def table_of(title: str, records: Iterable[Record]) -> Table:
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
