"""``grader``, the instructor's command-line tool: each command says what it did and where the results are."""

from __future__ import annotations

import os
import re
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import nullcontext, suppress
from dataclasses import astuple, replace
from datetime import UTC, datetime, timedelta
from math import isnan
from pathlib import Path
from shlex import quote
from typing import Annotated
from zoneinfo import ZoneInfo

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table
from typer.core import TyperGroup

from grader.author.build import build as build_labs
from grader.author.mutate import EQUIVALENT, OF_A_VARIANT, keep_record
from grader.author.mutate import mutate as mutate_lab
from grader.author.new import new_lab
from grader.by_hand.agreement import agreement, pairs
from grader.by_hand.overview import (
    ADDRESS,
    agreement_table,
    difference_table,
    nobody_s,
    progress_table,
    reader_table,
    readers_of,
    share_of,
    short_differences,
    standings,
)
from grader.by_hand.readings import Readings, Settings
from grader.course import Course
from grader.demo import run_demo
from grader.errors import NO_ROOM, GraderError, no_room
from grader.grade import autograde as grading
from grader.grade.gradebook import Gradebook, students_of
from grader.grade.merge import carry_out, plan, work_of
from grader.grade.requests import exercises_in
from grader.grade.resume import Again
from grader.grade.work import Record
from grader.gradebook_backups import backups
from grader.gradebook_backups import restore as restore_gradebook
from grader.gradebook_file import opened
from grader.gradebook_state import is_there
from grader.handout.bundle import publish as publish_course
from grader.handout.bundle import write_bundle
from grader.handout.gradescope import write_autograder
from grader.handout.site import build_site
from grader.lab import Lab
from grader.receive.collect import OUTCOMES, when_sure
from grader.receive.collect import collect as collect_lab
from grader.receive.doctor import Examination, examine
from grader.receive.files import printable, time_of
from grader.receive.lateness import decide, late_in_words, undecided
from grader.receive.openings import openings
from grader.receive.recognise import names_of_layouts
from grader.receive.regrade import MAX_WORDS, legible
from grader.receive.regrade import add as add_requests
from grader.roster import Joined, Person, Roster, changes, joined, read_roster
from grader.show.canvas import TOKEN, Canvas, differences, send
from grader.show.class_report import write_report
from grader.show.export import export as export_scores
from grader.show.export import write_csv, write_feedback_zip
from grader.show.feedback import generate_feedback
from grader.show.progress_bar import Progress
from grader.show.requests import HEADER as REQUESTS_HEADER
from grader.show.requests import SHORT_HEADER, details, short_row
from grader.show.requests import table as table_of_requests
from grader.show.similar import write_similar
from grader.show.standing import standing
from grader.show.term import write_term

console = Console()
if not console.is_terminal and "COLUMNS" not in os.environ:
    console = Console(width=150)  # a log or a pipe has no width that a table could be wrapped to


class _Commands(TyperGroup):
    """Commands that report a problem which users can fix themselves as one message, without a traceback."""

    def invoke(self, ctx):
        try:
            return super().invoke(ctx)
        except GraderError as error:
            said = error
        except OSError as error:  # wherever it happened: each command writes something
            if error.errno not in NO_ROOM:
                raise
            said = no_room(error)
        typer.echo(f"grader: {said}", err=True)
        raise typer.Exit(1)


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
Section = Annotated[
    str | None, typer.Option("--section", metavar="NAME", help="Only students of this section of the roster.")
]
PageFile = Annotated[
    Path | None,
    typer.Option("--out", metavar="FILE", help="HTML file to write; a CSV file is written next to it."),
]
CsvFile = Annotated[
    Path | None, typer.Option("--csv", metavar="FILE", help="Write the table to a CSV file, too.")
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
    variants: Annotated[
        bool,
        typer.Option("--variants", help="Mutants of the correct variants instead; nothing is recorded."),
    ] = False,
    sample: Annotated[
        int, typer.Option(min=1, help="So many mutants of each correct variant.")
    ] = OF_A_VARIANT,
) -> None:
    """Try small mistakes in every solution, and show those that the checks let pass."""
    course = Course.find()
    for name in labs or course.labs():
        lab = Lab.load(course, name)
        report = mutate_lab(lab, jobs, exercise, sample if variants else None)
        typer.echo("\n".join(map(str, report.survivors)), nl=bool(report.survivors))
        for change in report.unused:
            typer.echo(
                f"{lab.folder / EQUIVALENT}: {change.exercise}, {change}: it loses points, or makes no difference. Delete the entry."
            )
        if exercise is None and not variants:
            keep_record(lab, report)
        typer.echo(report.figures(name))


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
    deadline = None if due in (None, "none") else _time(due)
    build_labs(course, [lab], check=True)
    loaded = Lab.load(course, lab)
    with Gradebook.open(course) as gradebook:
        gradebook.register(loaded)  # so that formgrader lists it before anything is handed in
        if due is not None:
            gradebook.set_deadline(loaded, deadline)
        deadline = gradebook.deadline(loaded)
    typer.echo(f"Notebook for learners: {loaded.release_folder / loaded.notebook_name}")
    typer.echo(f"Deadline: {f'{deadline:%Y-%m-%d %H:%M} UTC' if deadline else 'none'}")
    if out:
        files = write_bundle(loaded, out)
        typer.echo(f"To hand out: {out.resolve()} ({len(files)} files, no solutions)")


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
    """Write the whole course as learners get it: a repository or a container image of all labs, no solutions."""
    count = publish_course(Course.find(), folder, colab)
    typer.echo(f"To hand out: {folder.resolve()} ({count} labs, no solutions)")


def _time(text: str) -> datetime:
    """A time that somebody has typed. Unlike in what programs write, a day and a month that could be taken for each other, or a zone
    that nobody knows, are not guessed about: a deadline that is wrong by hours is seen too late.

    Raises:
        GraderError: it is none.
    """
    found = re.fullmatch(r"(\d{4}-\d\d-\d\d)[ T](\d\d:\d\d(?::\d\d)?) ?(\S*)", text.strip())
    with suppress(ValueError, KeyError, OSError, OverflowError):  # that is what dates and zones raise
        if found:
            date, clock, zone = found.groups()
            if zone and zone[0] not in "+-Z":
                when = datetime.fromisoformat(f"{date} {clock}").replace(tzinfo=ZoneInfo(zone))
            else:
                when = datetime.fromisoformat(f"{date} {clock}{zone or 'Z'}")
            if time := time_of(f"{when.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC"):
                return time
    raise GraderError(
        f"{text!r} is not a time. Write it as 2027-01-31 18:00, with a zone if it is not UTC: '2027-01-31 18:00 Europe/Berlin'."
    )


@app.command()
def extend(
    lab: LabName,
    student: Annotated[str, typer.Argument(metavar="STUDENT", help="Id, e-mail address or name.")],
    days: Annotated[
        float, typer.Option(min=0, max=3650, help="Days after the deadline; 0 withdraws an extension.")
    ],
) -> None:
    """Give a student more time. Extensions do not add up: the last one counts."""
    loaded = Lab.load(Course.find(), lab)
    if isnan(days):
        raise GraderError("--days is a number of days, as in --days 2.5.")
    if not student.strip():
        raise GraderError("Say who gets more time: STUDENT is empty. `grader roster` lists the ids.")
    with Gradebook.open(loaded.course) as gradebook:
        student = _on_roster(Roster(gradebook.roster().values()), student, withdrawn=not days)
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


def _on_roster(roster: Roster, student: str, withdrawn: bool) -> str:
    """The id of whoever is meant on the roster; the text as it is where there is no roster.

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


@app.command()
def late(
    lab: LabName,
    students: Annotated[
        list[str] | None, typer.Argument(metavar="[STUDENT]...", help="Only these; all if none is given.")
    ] = None,
    days: Annotated[
        float | None,
        typer.Option(min=0, max=3650, help="So many days after their deadline; 0: they are not late."),
    ] = None,
) -> None:
    """Show whose work is marked as late without saying by how much, and decide it with --days."""
    loaded = Lab.load(Course.find(), lab)
    if days is None:
        found = undecided(loaded)
        if students:
            raise GraderError("Say how late their work counts: --days N, where 0 means that it is not late.")
        _show_table(f"{len(found)} marked as late", ("Student", "By"), list(found.items()))
        if found:
            typer.echo(f"To decide how late they count: grader late {lab} --days N")
        return
    with Gradebook.open(loaded.course) as gradebook:
        who = Roster(gradebook.roster().values())
        chosen = [who.meant(each) for each in students or []]
        decided = decide(loaded, gradebook.deadline(loaded), gradebook.extensions(loaded), days, chosen)
    typer.echo(f"{days:g} day{'' if days == 1 else 's'} late: {_first(decided)}.")
    typer.echo(f"To bring their grades up to date: grader autograde {lab}")


_COLLECTED = ("Student", "File", "What happened", "Notes")


@app.command()
def collect(
    lab: LabName,
    source: Annotated[
        Path | None,
        typer.Argument(
            metavar="[SOURCE]", help="A folder, or your learning platform's zip; default: the exchange."
        ),
    ] = None,
    shared_account: Annotated[
        bool,
        typer.Option(
            "--shared-account",
            help="In the exchange, all submissions belong to one system user: do not check whose they are.",
        ),
    ] = False,
    layout: Annotated[
        str,
        typer.Option(
            "--as",
            metavar="LAYOUT",
            help=f"What SOURCE is, if that is not seen by itself: {', '.join(names_of_layouts())}.",
        ),
    ] = "",
    yes: Annotated[
        bool, typer.Option("--yes", help="Do not ask whether SOURCE is what it is taken for.")
    ] = False,
    zone: Annotated[
        str | None,
        typer.Option(
            metavar="ZONE",
            help="Time zone of the times in the names, e.g. Europe/Berlin: they then count as times of submission.",
        ),
    ] = None,
    out: CsvFile = None,
) -> None:
    """Collect submissions for grading, from nbgrader's exchange, a folder, or a learning platform's zip."""
    if shared_account and source:
        raise GraderError("--shared-account is for nbgrader's exchange: leave it out, or leave SOURCE out.")
    if (layout or zone) and not source:
        raise GraderError("--as and --zone say something about SOURCE: leave them out, or give SOURCE.")
    loaded = Lab.load(Course.find(), lab)
    rows = collect_lab(
        loaded,
        source,
        shared_account,
        _ask_whose if sys.stdin.isatty() else None,
        _go_on if yes or layout else _ask_whether_right,
        layout,
        _zone(zone) if zone else None,
    )
    table = [(row.student or "?", row.file, row.outcome, row.why) for row in rows]
    console.print(_table(lab, _COLLECTED, table))
    counts = Counter(row.outcome for row in rows)
    told = [f"{outcome}: {counts[outcome]}" for outcome in OUTCOMES if counts[outcome]]
    typer.echo(f"{', '.join(told)}; with a note: {sum(bool(row.why) for row in rows)}")
    if count := len(undecided(loaded)):
        typer.echo(late_in_words(lab, count))
    typer.echo(f"Submissions: {loaded.course.submitted}/<student>/{lab}/{loaded.notebook_name}")
    _write_table(out, _COLLECTED, table)


def _go_on(said: str, doubts: Sequence[str]) -> None:
    typer.echo(said)


def _ask_whether_right(said: str, doubts: Sequence[str]) -> None:
    """Says what a source is taken for, and asks in the terminal if that is not certain.

    Raises:
        GraderError: it is not, or nobody can be asked.
    """
    if not (doubts and sys.stdin.isatty()):
        when_sure(said, doubts)
        typer.echo(said)
        return
    for doubt in doubts:
        typer.echo(f"{doubt}.")
    typer.echo(f"Taken for: {said}")
    if not typer.confirm("Is that right?"):
        raise GraderError(
            "Nothing was collected. Say what it is with --as LAYOUT (docs/collecting.md lists them)."
        )


def _zone(name: str) -> ZoneInfo:
    """
    Raises:
        GraderError: there is no such time zone.
    """
    with suppress(ValueError, KeyError, OSError):
        return ZoneInfo(name)
    raise GraderError(f"{name!r} is no time zone. Write it as Europe/Berlin or America/New_York.")


def _ask_whose(what: str, people: Sequence[Person]) -> Person | None:
    """Asks in the terminal which of several people is meant."""
    typer.echo(f"Who is {what}?")
    for number, person in enumerate(people, 1):
        typer.echo(f"  {number}  {_described(person)}")
    while True:
        chosen = typer.prompt("  Number (0: I cannot say)", type=int, default=0)
        if 0 <= chosen <= len(people):
            return people[chosen - 1] if chosen else None


def _described(person: Person) -> str:
    """Somebody in a line, to be told from others of the same name."""
    return f"{person.student}: {person.name}, {person.email or 'no e-mail address'}, {person.section or 'no section'}"


def _table(title: str, header: Sequence[str], rows: Iterable[Sequence[str]]) -> Table:
    """A table for the terminal in which no cell is cut."""
    table = Table(title=escape(title), title_justify="left")
    for name in header:
        table.add_column(name, overflow="fold")
    for row in rows:
        table.add_row(*map(escape, row))
    return table


roster_app = typer.Typer(cls=_Commands, no_args_is_help=False)
app.add_typer(roster_app, name="roster")


@roster_app.callback(invoke_without_command=True)
def roster(
    context: typer.Context,
    out: Annotated[
        Path | None,
        typer.Option("--csv", "--out", metavar="FILE", help="Write the table to a CSV file, too."),
    ] = None,
    section: Section = None,
) -> None:
    """Show who is in the course, what they have handed in, and whose work belongs to nobody on the roster."""
    if context.invoked_subcommand:
        return
    course = Course.find()
    rows, strangers, notes = standing(course, section)
    where = f" in {section}" if section else ""
    console.print(_table(f"{len(rows) - 1} on the roster{where}", rows[0], rows[1:]))
    for line in strangers:
        typer.echo(f"Not on the roster: {line}")
    for line in notes:
        typer.echo(line)
    _write_table(out, rows[0], rows[1:])


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
    """Put a class list on the roster: ids, names, e-mail addresses, sections. Nobody is ever removed."""
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
        typer.echo(f"On the roster under another id, which stays: {_first(pairs)}.")
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
    typer.echo("  " + _first(who, "\n  "))
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


def _first(texts: Sequence[str], between: str = ", ", count: int = 10) -> str:
    """The first few texts, and how many more there are."""
    more = [f"and {len(texts) - count} more"] if len(texts) > count else []
    return between.join([*texts[:count], *more])


@roster_app.command("remove")
def roster_remove(
    students: Annotated[list[str], typer.Argument(metavar="ID...", help="Ids on the roster.")],
    keep_work: Annotated[
        bool,
        typer.Option(
            "--keep-work", help="Also remove people who have handed in something; their work and grades stay."
        ),
    ] = False,
) -> None:
    """Take people off the roster who have left the course. Nothing that was handed in is removed."""
    course = Course.find()
    with Gradebook.open(course) as gradebook:
        listed = gradebook.roster()
        if strangers := [each for each in students if each not in listed]:
            raise GraderError(
                f"Not on the roster: {_first(strangers)}. Nothing has changed. `grader roster` lists the ids."
            )
        had = {each: work_of(course, gradebook, each) for each in students}
        busy = [f"{each} ({', '.join(labs)})" for each, labs in had.items() if labs]
        if busy and not keep_work:
            raise GraderError(
                f"There is work of {_first(busy)}. Nothing has changed. With --keep-work they are taken off the roster, and what they handed in stays, "
                "with its grades. If an id is another one of somebody in the course: grader roster merge OLD ID"
            )
        gradebook.remove_people(students)
    typer.echo(f"No longer on the roster: {_first(students)}.")


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
    """Make one person of two ids: submissions, grades, comments and feedback of the first become the second's."""
    course = Course.find()
    planned, begun = plan(course, old, new, keep)
    if begun:
        typer.echo("This merge was begun before; it goes on.")
    else:
        if planned.both:
            typer.echo("Both are on the roster. They become one person:")
            for who in planned.both:
                typer.echo(f"  {_described(who)}")
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
def doctor(
    file: Annotated[Path | None, typer.Argument(metavar="FILE", help="A notebook.")] = None,
    lab: Annotated[
        str | None, typer.Option(metavar="LAB", help="The lab it is for; default: the one it looks like.")
    ] = None,
    course: Annotated[
        bool,
        typer.Option(
            "--course",
            help="Instead of a notebook: show the gradebook's backups, and which parts of the course other users of this machine can access.",
        ),
    ] = False,
) -> None:
    """Say what is wrong with a notebook, and how grading will treat it; or with the course. Nothing is run or changed."""
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


_TO_COPY = "Name"
"""The heading of a column whose texts are typed into another command, so that they stay on one line."""
_BACKUPS = (
    _TO_COPY,
    "Made (UTC)",
    "Submissions",
    "By hand",
    "Requests",
    "On the roster",
    "Last change (UTC)",
)


def _show_backups(course: Course) -> None:
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
    _show_table(f"{len(rows)} backup{'' if len(rows) == 1 else 's'} of the gradebook", _BACKUPS, rows)


def _trouble_with_gradebook(course: Course) -> GraderError | None:
    """Why the gradebook cannot be used, if it cannot."""
    try:
        with opened(course) if is_there(course) else nullcontext():
            return None
    except GraderError as error:
        return error


@app.command()
def restore(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="[NAME]",
            help="A backup's name, or the path of a gradebook's file; default: list the backups.",
        ),
    ] = None,
) -> None:
    """List the gradebook's backups, or put one in its place. What was there is put aside, and can be restored in its turn."""
    course = Course.find()
    if name is None:
        _show_backups(course)
        if wrong := _trouble_with_gradebook(course):
            raise wrong
        typer.echo("To put one in the gradebook's place: grader restore NAME.")
        return
    with grading.alone(course):
        contents, aside = restore_gradebook(course, name)
    typer.echo(f"{course.gradebook} now has {contents}.")
    if aside:
        typer.echo(f"What was there is kept: {aside}")
    typer.echo(
        "If `make instructor` is running, start it again. Then run `grader autograde` for each lab: it grades what is missing, and nothing else."
    )


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
    if found.files:
        typer.echo(f"Runs with it, if handed in together with it: {', '.join(found.files)}")
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
    section: Section = None,
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
    out: CsvFile = None,
) -> None:
    """Grade a lab's submissions. You can stop it at any point; run it again and it continues from there."""
    if force and only_new:
        raise GraderError(
            "--force grades everything and --only-new only new submissions: use one or the other."
        )
    loaded = Lab.load(Course.find(), lab)
    runner = grading.choose_runner(loaded, sandbox, elsewhere=cluster is not None)
    among = students_of(loaded.course, section)
    folders = grading.submissions(loaded, student, among)
    progress = Progress(f"Grading {lab}", len(folders), console)
    stream = grading.autograde(
        loaded,
        folders,
        runner,
        grading.class_seed(loaded),
        jobs=jobs or grading.usable_cores(),
        cluster=cluster,
        again=Again.ALL if force else Again.NEW if only_new else Again.CHANGED,
        tell=progress.tell,
    )
    records: list[Record] = []
    try:
        records.extend(progress.watched(stream))
    except KeyboardInterrupt:
        stream.close()
        typer.echo(
            "grader: stopped. Grades already entered are kept; the same command continues from there.",
            err=True,
        )
        raise typer.Exit(130) from None
    records.sort(key=lambda record: record.student)
    show(lab, records)
    _write_table(out, ("Student", "State", "Score", "Of", *_RECORD[3:]), map(_cells_of, records))
    typer.echo(f"Graded notebooks: {loaded.course.autograded}. Gradebook: {loaded.course.gradebook}")
    with Gradebook.open(loaded.course) as gradebook:
        other = [
            result.student
            for result in gradebook.results(loaded, {student} if student else among)
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
    section: Section = None,
) -> None:
    """Make HTML feedback for a lab's graded submissions. Pages that would not change are left as they are."""
    loaded = Lab.load(Course.find(), lab)
    among = students_of(loaded.course, section)
    jobs = grading.usable_cores()
    try:
        found = generate_feedback(
            loaded,
            jobs,
            lambda pages, total: Progress(f"Feedback on {lab}", total, console).counted(pages),
            among,
        )
    except KeyboardInterrupt:
        typer.echo(
            "grader: stopped. Pages made so far stay; the same command continues from there.", err=True
        )
        raise typer.Exit(130) from None
    typer.echo(
        f"{found.pages} feedback pages ({found.made} new or changed): {loaded.course.feedback}/<student>/{lab}/{loaded.slug}.html"
    )
    if pack:
        write_feedback_zip(loaded, pack, among)
        typer.echo(f"All of them: {pack.resolve()}")


@app.command()
def report(
    lab: LabName,
    out: PageFile = None,
    section: Section = None,
) -> None:
    """Write one page about a class: scores, exercises, common misconceptions, who needs help."""
    page, table = write_report(Lab.load(Course.find(), lab), out, section)
    typer.echo(f"Report: {page.resolve()}\nTable:  {table.resolve()}")


@app.command()
def term(
    out: PageFile = None,
    section: Section = None,
) -> None:
    """Write one page about all labs: how each went, each student's way, misconceptions that stay, who needs help."""
    page, *tables = write_term(Course.find(), out, section)
    typer.echo(f"Report: {page.resolve()}")
    for table in tables:
        typer.echo(f"Table:  {table.resolve()}")


@app.command()
def similar(
    lab: LabName,
    out: PageFile = None,
    section: Annotated[
        str | None,
        typer.Option(
            "--section", metavar="NAME", help="Compare everybody; show pairs with a student of this section."
        ),
    ] = None,
) -> None:
    """Show pairs of submissions that are more alike than the lab explains. No proof of anything; no points change."""
    page, table, found = write_similar(Lab.load(Course.find(), lab), out, section)
    typer.echo(
        f"{len(found.works)} compared; pairs to look at: {len(found.pairs)}. This is no proof of anything."
    )
    typer.echo(f"Page:  {page.resolve()}\nTable: {table.resolve()}")


@app.command()
def export(
    labs: Labs = None,
    form: Annotated[
        str | None, typer.Option("--format", metavar="FORMAT", help="csv, canvas or moodle; default: csv.")
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", "--csv", metavar="FILE", help="CSV file to write; default: grades.csv."),
    ] = None,
    canvas: Annotated[
        str | None,
        typer.Option(metavar="URL", help="Compare one lab with an assignment in Canvas instead; see --send."),
    ] = None,
    course: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Canvas's number of the course.")
    ] = None,
    assignment: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Canvas's number of the assignment.")
    ] = None,
    really: Annotated[bool, typer.Option("--send", help="Enter what differs in Canvas.")] = False,
    section: Section = None,
) -> None:
    """Write everybody's scores to a file for Canvas, Moodle or a spreadsheet, or enter them in Canvas."""
    if canvas is not None:
        if course is None or assignment is None or len(labs or []) != 1:
            raise GraderError(
                "Name one lab, and Canvas's numbers of the course and the assignment, as in "
                "`grader export 02_self_attention --canvas https://canvas.example.edu --course 12 --assignment 345`."
            )
        if form is not None:
            raise GraderError("--format is for files; with --canvas URL, leave it out.")
        there = Canvas(canvas, os.environ.get(TOKEN, ""), course, assignment)
        _export_to_canvas(Lab.load(Course.find(), labs[0]), there, section, really, out)
        return
    if course or assignment or really:
        raise GraderError("--course, --assignment and --send go with --canvas URL.")
    out = out or Path("grades.csv")
    found = Course.find()
    for note in export_scores(found, labs or [], form or "csv", out, students_of(found, section)):
        typer.echo(f"Note: {note}")
    typer.echo(f"Scores: {out.resolve()}")


def _show_table(
    title: str, header: Sequence[str], rows: Iterable[Sequence[str | Sequence[str]]], limit: int = 100
) -> None:
    """Shows a table of texts that anybody may have written. Of each, ``limit`` characters are shown.

    Args:
        rows: several texts in one cell begin a line each; rows of such cells are ruled off.
    """
    rows = [[[cell] if isinstance(cell, str) else cell for cell in row] for row in rows]
    if not rows:  # a heading with nothing below it looks as if something were missing
        typer.echo(title)
        return
    ruled = any(len(cell) > 1 for row in rows for cell in row)
    table = Table(title=title or None, title_justify="left", show_lines=ruled)
    for column in header:
        table.add_column(column, overflow="fold", no_wrap=column == _TO_COPY)
    for row in rows:
        lines = ([escape(printable(" ".join(text.split()), limit)) for text in cell] for cell in row)
        table.add_row(*map("\n".join, lines))
    console.print(table)


def _write_table(
    out: Path | None, header: Sequence[str], rows: Iterable[Sequence[str]], so: str = ""
) -> None:
    """Writes a table to a file, if one is named. ``so``: what else the message says if it cannot be written."""
    if out is None:
        return
    try:
        write_csv(out, [header, *rows])
    except OSError as error:
        raise GraderError(f"{out} cannot be written: {error.strerror}.{so}") from None
    typer.echo(f"Table: {out.resolve()}")


def _export_to_canvas(lab: Lab, there: Canvas, section: str | None, really: bool, out: Path | None) -> None:
    found, notes = differences(lab, there, students_of(lab.course, section))
    header = ("Student", "In Canvas", "Number", "Points there", "Points here")
    rows = [
        (
            each.student,
            each.name,
            each.number,
            "" if each.before is None else f"{each.before:g}",
            f"{each.after:g}",
        )
        for each in found
    ]
    _show_table("1 grade differs" if len(rows) == 1 else f"{len(rows)} grades differ", header, rows)
    for note in notes:
        typer.echo(f"Note: {note}")
    _write_table(out, header, rows, " Nothing was sent.")
    if not found:
        return
    if not really:
        typer.echo("Nothing was sent. Add --send to enter these grades in Canvas.")
        return
    if missing := send(there, found):
        raise GraderError(
            f"Canvas has not taken the grades of {', '.join(missing)}. Look at them there, then run the same command again."
        )
    typer.echo(f"Entered in Canvas and read back: {len(found)}.")


@app.command()
def log(
    lab: Annotated[
        str | None, typer.Argument(metavar="[LAB]", help="Folder name; all if none is given.")
    ] = None,
    student: Annotated[
        str | None, typer.Option(metavar="ID", help="Only what concerns this student.")
    ] = None,
    section: Section = None,
    out: CsvFile = None,
) -> None:
    """Show who changed which points, deadlines, extensions and comments, also in formgrader. Newest last."""
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
            ),
        )
        for each in found
    ]
    title = f"{len(found)} change{'' if len(found) == 1 else 's'}"
    _show_table(title, ("When (UTC), who", "Whose", "What, from → to"), short, limit=200)
    header = ("Time (UTC)", "Who", "With", "Lab", "Student", "Exercise", "What", "From", "To")
    _write_table(out, header, [(f"{each.when:%Y-%m-%d %H:%M:%S}", *astuple(each)[1:]) for each in found])


class _ListUnlessNamed(_Commands):
    """Commands of which ``list`` need not be named: what follows is then its."""

    def parse_args(self, ctx: typer.Context, args: list[str]) -> list[str]:
        if not args or args[0] not in {*self.commands, "--help"}:
            args = ["list", *args]
        return super().parse_args(ctx, args)


requests_app = typer.Typer(
    cls=_ListUnlessNamed, help="Learners' requests to look again at how an exercise was judged."
)
app.add_typer(requests_app, name="requests")


@requests_app.command("list")
def requests_list(
    lab: Annotated[
        str | None, typer.Argument(metavar="[LAB]", help="Folder name; all if none is given.")
    ] = None,
    section: Section = None,
    out: CsvFile = None,
) -> None:
    """List requests, the open ones last. The same as `grader requests [LAB]`."""
    course = Course.find()
    name = Lab.load(course, lab).name if lab else ""
    rows = table_of_requests(course, name, students_of(course, section))
    waiting = sum(row[1] == "open" for row in rows)
    title = f"{len(rows)} request{'' if len(rows) == 1 else 's'}, {waiting} open"
    _show_table(title, SHORT_HEADER, map(short_row, rows), limit=200)
    _write_table(out, REQUESTS_HEADER, rows)
    if waiting:
        typer.echo("To see one: grader requests show NO. To decide it: grader requests decide NO.")


@requests_app.command("add")
def requests_add(
    files: Annotated[
        list[Path],
        typer.Argument(metavar="FILE...", help="Text files, folders, or zips with files regrade-*.txt."),
    ],
) -> None:
    """Read requests that came by mail or LMS. `grader collect` reads those among submissions by itself."""
    received = add_requests(Course.find(), files)
    entered = [each for each in received if each.number is not None]
    refused = [each for each in received if each.number is None]
    header = ("File", "Student", "Exercise", "Request", "Notes")
    rows = [
        (each.file, each.student or "?", each.exercise, str(each.number or "refused"), each.why)
        for each in [*entered, *refused[:20]]
    ]
    _show_table("", header, rows, limit=500)
    if len(refused) > 20:
        typer.echo(f"{len(refused) - 20} more files were refused.")


@requests_app.command("show")
def requests_show(
    number: Annotated[int, typer.Argument(metavar="NO", help="Number in the list.")],
) -> None:
    """Show a request, the answer that it is about, what the check said, and the points."""
    shown = details(Course.find(), number)
    typer.echo(shown.title)
    for heading, text in shown.parts:
        typer.echo(f"\n{heading}")
        for line in text.splitlines():
            typer.echo(f"    {line}".rstrip())


@requests_app.command("decide")
def requests_decide(
    number: Annotated[int, typer.Argument(metavar="NO", help="Number in the list.")],
    reason: Annotated[str, typer.Option("--reason", metavar="TEXT", help="What the learner is told.")],
    points: Annotated[
        float | None, typer.Option("--points", metavar="X", help="The exercise gets X points.")
    ] = None,
    keep: Annotated[bool, typer.Option("--keep", help="The points stay as they are.")] = False,
    again: Annotated[bool, typer.Option("--again", help="Decide anew what was decided before.")] = False,
) -> None:
    """Decide a request: record the decision and its reason, and enter the points in the gradebook."""
    if keep == (points is not None):
        raise GraderError("Say either --points X or --keep.")
    told = legible(reason).strip()
    if not told or len(told) > MAX_WORDS:
        raise GraderError(
            f"--reason is what the learner is told: give it words, at most {MAX_WORDS:,} characters."
        )
    with Gradebook.open(Course.find()) as gradebook:
        decided = gradebook.decide(number, points, told, again)
    typer.echo(f"Request {number} of {decided.student} is decided: {decided.decision}.")
    typer.echo(f"To put it on the feedback page: grader feedback {decided.lab}")


@app.command()
def queue(
    lab: LabName,
    readers: Annotated[
        str | None,
        typer.Option(
            metavar="NAMES",
            help="Give submissions out to these, as in ana,ben; who is not named loses what is not begun.",
        ),
    ] = None,
    by_section: Annotated[
        bool | None,
        typer.Option(
            "--by-section/--no-by-section",
            help="Each section to as few readers as possible. Default: as the last time.",
        ),
    ] = None,
    second: Annotated[
        str | None,
        typer.Option(
            metavar="PERCENT",
            help="Have so many read by a second reader, too, e.g. 10%. Default: as the last time.",
        ),
    ] = None,
    reader: Annotated[str | None, typer.Option(metavar="NAME", help="Show what this reader has.")] = None,
    agree: Annotated[
        bool,
        typer.Option(
            "--agreement", help="Show how far first and second readers agree, and where they differ."
        ),
    ] = False,
    release: Annotated[
        bool,
        typer.Option("--release", help="From now on, show the names of students whose answers are finished."),
    ] = False,
    section: Section = None,
    out: CsvFile = None,
) -> None:
    """Share out answers that people grade, and show how far everybody is. Students stay anonymous."""
    giving = readers is not None or by_section is not None or second is not None
    if sum((giving, reader is not None, agree, release)) > 1:
        raise GraderError(
            "Do one thing at a time: give out (--readers, --by-section, --second), --reader, --agreement or --release."
        )
    if section is not None and (giving or release):
        raise GraderError("--section limits what is shown: leave it out to give out or to release.")
    loaded = Lab.load(Course.find(), lab)
    among = students_of(loaded.course, section)
    with Gradebook.open(loaded.course) as gradebook:
        readings = Readings(gradebook, loaded)
        if not readings.questions():
            raise GraderError(
                f"{lab} has no answers that people grade. docs/writing-a-lab.md says how to add one."
            )
        if not (there := readings.works()):
            raise GraderError(
                f"No answer of {lab} waits to be graded by hand. Run `grader autograde {lab}` first."
            )
        if giving:
            before, here = readings.settings(), len(there) - nobody_s(there)
            dealt = readings.deal(
                Settings(
                    before.readers if readers is None else readers_of(readers),
                    before.by_section if by_section is None else by_section,
                    before.second if second is None else share_of(second),
                )
            )
            typer.echo(f"Given out: {dealt.new} new, {dealt.moved} moved, {dealt.second} to be read twice.")
            if by_section is not None and here:
                which = "by section" if by_section else "without regard to sections"
                typer.echo(f"{here} had been given out before and stay. What comes is given out {which}.")
        if release:
            typer.echo(f"Submissions that are finished and no longer anonymous: {readings.release()}")
        works, settings = readings.works(), readings.settings()
        questions = readings.questions()
    works = {page: work for page, work in works.items() if among is None or work.student in among}
    if agree:
        found = pairs(works)
        if not found:
            raise GraderError(
                f"No answer of {lab} has been read by two people yet: `grader queue {lab}` shows who has what, and --second 10% has some read twice."
            )
        figures = agreement_table(agreement(found, questions))
        _show_table(f"Answers read twice: {len(found)}", *figures)
        header, rows = difference_table(found, questions)
        title = "Differences" if rows else "Differences: none"
    elif reader is not None:
        header, rows = reader_table(works, reader)
        title = f"For {reader}: {len(rows)}"
        if not rows:
            names = ", ".join(settings.readers) or "nobody yet"
            raise GraderError(f"{reader!r} has nothing to read in {lab}. Readers: {names}.")
    else:
        title, (header, rows) = lab, progress_table(standings(works, settings))
    _show_table(title, *(short_differences(rows) if agree else (header, rows)))
    _write_table(out, header, rows)
    if agree and out:
        _write_table(out.with_name(f"{out.stem}-agreement{out.suffix}"), *figures)
    place = f"/{ADDRESS}/{lab}"
    if agree:
        typer.echo(f"To decide: {place}/differences at the address of `make instructor`.")
    elif reader is not None:
        typer.echo(f"To grade: {place}/{reader} at the address of `make instructor`.")
    else:
        if waiting := nobody_s(works):
            names = ",".join(settings.readers) or "NAME,NAME"
            typer.echo(
                f"In nobody's queue: {waiting}. To give them out: grader queue {lab} --readers {names}"
            )
        typer.echo(f"To grade: {place} at the address of `make instructor`.")


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
def site(
    labs: Labs = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Run no lab: those without an earlier run have no results.")
    ] = False,
    out: Annotated[Path, typer.Option("--out", metavar="FOLDER", help="Folder to write.")] = Path("site"),
    colab: Colab = None,
) -> None:
    """Make web pages of the course, without solutions. Only the labs named are run; all if none is."""
    course = Course.find()
    page = build_site(course, out.resolve(), [] if quick else labs or course.labs(), colab, say=typer.echo)
    typer.echo(f"Pages without solutions: {page}")


@app.command()
def demo(labs: Labs = None) -> None:
    """Grade a small made-up class in .demo/ to show what grading does."""
    run_demo(Course.find(), labs or [], say=typer.echo, show=show)


_RECORD = ("Student", "State", "Score", "Recognised misconceptions", "Notes")


def show(lab: str, records: Iterable[Record]) -> None:
    console.print(table_of(lab, records))


def table_of(title: str, records: Iterable[Record]) -> Table:
    """Students, states, scores, recognised misconceptions and notes, as a table for the terminal."""
    table = Table(title=title, title_justify="left")
    student, state, score, *rest = _RECORD
    table.add_column(student, overflow="fold")
    table.add_column(state)
    table.add_column(score, justify="right", no_wrap=True)
    for name in rest:
        table.add_column(name, overflow="fold")
    for student, state, score, of, *rest in map(_cells_of, records):
        table.add_row(escape(student), state, f"{score or '-'} / {of}", *map(escape, rest))
    return table


def _cells_of(record: Record) -> tuple[str, ...]:
    """A record's cells; the score and what it is of are two."""
    score = "" if record.score is None else f"{record.score:g}"
    by_hand = [f"Written answers to grade by hand: {record.by_hand}."] if record.by_hand else []
    notes = "\n".join([*by_hand, *record.notes])
    return record.student, record.state, score, f"{record.max_score:g}", "\n".join(record.recognised), notes


if __name__ == "__main__":
    app()
