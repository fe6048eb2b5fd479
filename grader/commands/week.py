"""What an instructor does each week: release, collect, grade, look, and give back."""

from __future__ import annotations

import os
import re
import sys
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated
from zoneinfo import ZoneInfo

import typer
from rich.markup import escape
from rich.table import Table

from grader.commands.help import Commands
from grader.commands.terminal import (
    Because,
    LabName,
    Labs,
    PageFile,
    Section,
    SharedAccount,
    SomeLabs,
    TableFile,
    as_table,
    console,
    described,
    first_few,
    show_table,
    to_write,
    write_table,
)
from grader.course import Course
from grader.errors import GraderError
from grader.receive.layouts import names_of_layouts

if TYPE_CHECKING:
    from grader.book.results import Result
    from grader.grade.work import Record
    from grader.people.canvas import Canvas
    from grader.people.roster import Person
    from grader.reference.lab import Lab

app = Commands()

Sandbox = Annotated[
    str | None, typer.Option(metavar="none", help="'none': run learners' code unprotected on this machine.")
]


@app.command()
def release(
    lab: LabName,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", metavar="ZIP", parser=to_write, help="Also write everything a learner needs to a zip."
        ),
    ] = None,
    due: Annotated[
        str | None,
        typer.Option(
            metavar="TIME", help="Deadline, e.g. '2027-01-31 18:00 Europe/Berlin'; UTC if no zone; or 'none'."
        ),
    ] = None,
    because: Because = "",
) -> None:
    """Check that a lab's notebook matches its source, and enter the lab in the gradebook.

    \b
    Examples:
      grader release 02 --due "2027-01-31 18:00 Europe/Berlin" --out self_attention.zip
      grader release 02 --due none --because "by agreement with the class"
    """

    from grader.author.build import build as build_labs
    from grader.book.gradebook import Gradebook
    from grader.handout.bundle import tell_learners, write_bundle
    from grader.reference.lab import Lab

    if because and due is None:
        raise GraderError("--because goes with --due. Nothing has changed.")
    course = Course.find()
    deadline = None if due in (None, "none") else _time(due)
    build_labs(course, [lab], check=True)
    loaded = Lab.load(course, lab)
    with Gradebook.open(course) as gradebook:
        gradebook.register(loaded)  # so that formgrader lists it before anything is handed in
        if due is not None:
            gradebook.set_deadline(loaded, deadline, because)
        deadline = gradebook.deadline(loaded)
        told = tell_learners(loaded, gradebook.counted(loaded))
    typer.echo(f"Notebook for learners: {loaded.release_folder / loaded.notebook_name}")
    if told:
        typer.echo(f"Its first page says: {told}")
    typer.echo(f"Deadline: {f'{deadline:%Y-%m-%d %H:%M} UTC' if deadline else 'none'}")
    if out:
        files = write_bundle(loaded, out)
        typer.echo(f"To hand out: {out.resolve()} ({len(files)} files, no solutions)")


def _time(text: str) -> datetime:
    """A time that somebody has typed. Unlike in what programs write, a day and a month that could be taken for each other, or a zone
    that nobody knows, are not guessed about: a deadline that is wrong by hours is seen too late.

    Raises:
        GraderError: the text is not a time.
    """

    from grader.files import time_of

    found = re.fullmatch(r"(\d{4}-\d\d-\d\d)[ T](\d\d:\d\d(?::\d\d)?) ?(\S*)", text.strip())
    with suppress(ValueError, KeyError, OSError, OverflowError):  # that is what dates and zones raise
        if found:
            date, clock, zone = found.groups()
            if zone and zone[0] not in "+-Z":
                when = datetime.fromisoformat(f"{date} {clock}").replace(tzinfo=ZoneInfo(zone))
                if when.utcoffset() != when.replace(fold=1).utcoffset():
                    raise GraderError(
                        f"Clocks change in {zone} then, so {date} {clock} is there not at all, or twice. Write it with the hours from UTC, as in '2027-01-31 18:00 +01:00'. Nothing has changed."
                    )
            else:
                when = datetime.fromisoformat(f"{date} {clock}{zone or 'Z'}")
            if time := time_of(f"{when.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC"):
                return time
    raise GraderError(
        f"{text!r} is not a time. Write it as 2027-01-31 18:00, with a zone if it is not UTC: '2027-01-31 18:00 Europe/Berlin'."
    )


_Layout = Annotated[
    str,
    typer.Option(
        "--as",
        metavar="LAYOUT",
        help=f"What SOURCE is, if it is not recognised: {', '.join(names_of_layouts())}.",
    ),
]
_COLLECTED = ("Student", "File", "What happened", "Notes")


@app.command()
def collect(
    lab: LabName,
    source: Annotated[
        Path | None,
        typer.Argument(
            metavar="SOURCE", help="A folder, or your learning platform's zip; default: the exchange."
        ),
    ] = None,
    shared_account: SharedAccount = False,
    layout: _Layout = "",
    yes: Annotated[
        bool,
        typer.Option(
            "--yes",
            help="Do not ask whether SOURCE is what it seems to be, and do not stop if most of it is another lab's.",
        ),
    ] = False,
    zone: Annotated[
        str | None,
        typer.Option(
            metavar="ZONE",
            help="Time zone of the times in the names, e.g. Europe/Berlin: they then count as times of submission.",
        ),
    ] = None,
    out: TableFile = None,
) -> None:
    """Collect submissions for grading, from nbgrader's exchange, a folder, or a learning platform's zip.

    \b
    Examples:
      grader collect 02 submissions.zip
      grader collect 02 submissions.zip --zone Europe/Berlin
      grader collect 02 handed_in/ --as folder
      grader collect 02
    """

    from grader.book.gradebook import roster_of
    from grader.book.lateness import late_in_words, undecided
    from grader.files import printable
    from grader.receive.collect import OUTCOMES
    from grader.receive.collect import collect as collect_lab
    from grader.receive.whose import NOT_ON_THE_ROSTER
    from grader.reference.lab import Lab
    from grader.show.standing import perhaps

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
        yes,
    )
    table = [(row.student or "?", row.file, row.outcome, row.why) for row in rows]
    console.print(as_table(lab, _COLLECTED, table))
    roster = roster_of(loaded.course)
    for student in sorted({row.student for row in rows if row.student and NOT_ON_THE_ROSTER in row.why}):
        typer.echo(f"Not on the roster: {printable(student)}.{perhaps(roster, student)}")
    counts = Counter(row.outcome for row in rows)
    told = [f"{outcome}: {counts[outcome]}" for outcome in OUTCOMES if counts[outcome]]
    typer.echo(f"{', '.join(told)}; with a note: {sum(bool(row.why) for row in rows)}")
    if count := len(undecided(loaded)):
        typer.echo(late_in_words(lab, count))
    typer.echo(f"Submissions: {loaded.course.submitted}/<student>/{lab}/{loaded.notebook_name}")
    write_table(out, _COLLECTED, table)


def _go_on(said: str, doubts: Sequence[str]) -> None:
    typer.echo(said)


def _ask_whether_right(said: str, doubts: Sequence[str]) -> None:
    """Says what a source is taken for, and asks in the terminal if that is not certain.

    Raises:
        GraderError: it is not, or nobody can be asked.
    """

    from grader.receive.collect import when_sure

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
    raise GraderError(f"{name!r} is not a time zone. Write it as Europe/Berlin or America/New_York.")


def _ask_whose(what: str, people: Sequence[Person]) -> Person | None:
    """Asks in the terminal which of several people is meant."""
    typer.echo(f"Who is {what}?")
    for number, person in enumerate(people, 1):
        typer.echo(f"  {number}  {described(person)}")
    while True:
        chosen = typer.prompt("  Number (0: I cannot say)", type=int, default=0)
        if 0 <= chosen <= len(people):
            return people[chosen - 1] if chosen else None


@app.command()
def uncollect(
    lab: LabName,
    students: Annotated[list[str], typer.Argument(metavar="STUDENT", help="Ids, e-mail addresses or names.")],
    because: Because = "",
) -> None:
    """Take back what was collected by mistake. These students then count as not having handed in this lab.

    Their work, its graded copy and its feedback are moved to grading/earlier, and its points are taken out of the gradebook. Extensions and
    other decisions stay.

    \b
    Examples:
      grader uncollect 02 anna ben --because "the folder was lab 03's"
    """

    from grader.grade.uncollect import meant
    from grader.grade.uncollect import uncollect as take_back
    from grader.reference.lab import Lab

    if not because:
        raise GraderError(
            "Say why, for the log: --because 'the folder was another lab's'. Nothing has changed."
        )
    loaded = Lab.load(Course.find(), lab)
    chosen = meant(loaded, students)
    for folder in take_back(loaded, chosen, because):
        typer.echo(f"Moved to {folder}")
    typer.echo(f"No longer handed in for {lab}: {', '.join(chosen)}.")


@app.command()
def autograde(
    lab: LabName,
    sandbox: Sandbox = None,
    student: Annotated[
        str | None,
        typer.Option(metavar="STUDENT", help="Grade only this student: id, e-mail address or name."),
    ] = None,
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
    out: TableFile = None,
) -> None:
    """Grade a lab's submissions. You can stop it at any point; run it again and it continues from there.

    \b
    Examples:
      grader autograde 02
      grader autograde 02 --student anna --force
      grader autograde 02 --cluster tcp://host:8786
    """

    from grader.book.gradebook import roster_of, students_of
    from grader.grade import autograde as grading
    from grader.grade.resume import Again
    from grader.reference.lab import Lab
    from grader.show.progress_bar import Progress
    from grader.show.standing import collected

    if force and only_new:
        raise GraderError(
            "--force grades everything and --only-new only new submissions: use one or the other."
        )
    loaded = Lab.load(Course.find(), lab)
    if student:
        student = roster_of(loaded.course).known(student, collected(loaded))
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
    write_table(out, ("Student", "State", "Score", "Of", *_RECORD[3:]), map(_cells_of, records))
    typer.echo(f"Graded notebooks: {loaded.course.autograded}. Gradebook: {loaded.course.gradebook}")
    _tell_of_other_points(loaded, {student} if student else among)
    if any(record.score is None for record in records):
        raise GraderError(
            "Some submissions were not entered because of an error in the grader; see their notes."
        )


def _tell_of_other_points(lab: Lab, among: Collection[str] | None) -> None:
    """Says so where scores differ from what the checks gave."""
    from grader.book.gradebook import Gradebook

    with Gradebook.open(lab.course) as gradebook:
        other = [
            result
            for result in gradebook.results(lab, among)
            if result.marker and round(result.score - result.marker.score, 2)
        ]
    if other:
        counts = Counter(cause for result in other for cause in _other_points(result))
        causes = ", ".join(f"{cause} ({counts[cause]})" for cause in _OTHER_POINTS if counts[cause])
        typer.echo(
            f"The table shows the points from the checks. Scores that differ: {len(other)}. Because of: {causes}. `grader report {lab.name}` shows them."
        )


_OTHER_POINTS = (
    "points given by hand",
    "what the rules of the term count",
    "lateness",
    "a decision about the student",
)


def _other_points(result: Result) -> list[str]:
    """Which of these make a score another than the checks gave."""
    every = sum(filter(None, result.points.values()))
    applies = (every - result.marker.score, every - result.earned, result.penalty, result.deducted)
    return [cause for cause, points in zip(_OTHER_POINTS, applies, strict=True) if round(points, 2)]


_RECORD = ("Student", "State", "Score", "Recognised misconceptions", "Notes")


_EVERYBODY = 40
"""A table of more submissions than this hides the few that somebody has to look at."""


def show(lab: str, records: Sequence[Record]) -> None:
    """A table of all submissions; of a large class, only those about which there is something to say, and how many there are of each kind."""
    from grader.run.states import GRADED

    told = [record for record in records if record.state != GRADED or record.score is None or record.notes]
    if len(records) <= _EVERYBODY:
        console.print(table_of(lab, records))
        if told and len(records) > 1:
            typer.echo(
                f"To look at, because of their state or a note: {first_few([each.student for each in told])}."
            )
        return
    if told:
        console.print(table_of(f"{lab}: those to look at", told))
    states = Counter(record.state for record in records)
    counted = ", ".join(f"{count} {state}" for state, count in states.most_common())
    typer.echo(f"{lab}: {len(records)} submissions: {counted}.")
    if kept := sum(record.kept for record in records):
        typer.echo(f"{kept} of them have not changed since they were graded, so they were left as they are.")
    if by_hand := sum(record.by_hand for record in records):
        typer.echo(f"{by_hand} written answers wait to be graded by hand: `grader queue {lab}`.")
    typer.echo(f"`grader report {lab}` shows everybody, and --out FILE writes this table with all of them.")


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


@app.command()
def feedback(
    lab: LabName,
    pack: Annotated[
        Path | None,
        typer.Option(
            "--zip",
            metavar="ZIP",
            parser=to_write,
            help="Also pack the pages in the form that Moodle accepts.",
        ),
    ] = None,
    section: Section = None,
) -> None:
    """Make HTML feedback for a lab's graded submissions. Pages that would not change are left as they are.

    \b
    Examples:
      grader feedback 02
      grader feedback 02 --zip feedback.zip
    """

    from grader.book.gradebook import students_of
    from grader.grade import autograde as grading
    from grader.reference.lab import Lab
    from grader.show.export import write_feedback_zip
    from grader.show.feedback import generate_feedback
    from grader.show.progress_bar import Progress

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
def watch(
    lab: LabName,
    source: Annotated[
        Path | None,
        typer.Argument(metavar="SOURCE", help="A folder that is handed in to; default: the exchange."),
    ] = None,
    attempts: Annotated[
        int,
        typer.Option(
            min=1, metavar="N", help="Grade at most so many of one person in 24 hours; the rest is kept."
        ),
    ] = 5,
    jobs: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Processes at most; default: one per core.")
    ] = None,
    shared_account: SharedAccount = False,
    layout: _Layout = "",
    sandbox: Sandbox = None,
) -> None:
    """Grade what is handed in as it arrives, and return its feedback, until you stop it with Ctrl-C.

    \b
    Examples:
      grader watch 02
      grader watch 02 --attempts 3 --jobs 2
      grader watch 02 handed_in/ --as folder
    """

    import itertools
    import signal

    from grader.grade import autograde as grading
    from grader.grade.watch import LOOK_SECONDS, HandIn, Queue, Watch, place_of
    from grader.reference.lab import Lab
    from grader.show.returning import return_feedback, say_kept

    if source and shared_account:
        raise GraderError("--shared-account is for nbgrader's exchange: leave it out, or leave SOURCE out.")
    if layout and not source:
        raise GraderError("--as says something about SOURCE: leave it out, or give SOURCE.")
    loaded, exchange = Lab.load(Course.find(), lab), source is None

    def tell_kept(hand_in: HandIn, free: datetime) -> None:
        say_kept(loaded, hand_in.student, hand_in.when, free, hand_in.due, attempts, exchange)

    watching = Watch(
        loaded,
        grading.choose_runner(loaded, sandbox),
        grading.class_seed(loaded, on_hand_in=True),
        place_of(loaded, source, shared_account, layout),
        Queue(attempts),
        jobs or grading.usable_cores(),
        lambda student: return_feedback(loaded, student, exchange),
        tell_kept,
        typer.echo,
    )
    typer.echo(
        f"Watching {watching.place.folder} every {LOOK_SECONDS} seconds for {lab}. Stop with Ctrl-C; the same command goes on from there."
    )
    # also where it is started in the background, or as a service, which is stopped by SIGTERM
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, lambda *_: signal.raise_signal(signal.SIGINT))
    try:
        watching.go_on(itertools.repeat(None))
    except KeyboardInterrupt:
        typer.echo("grader: stopped. What was graded is kept; the same command goes on from there.", err=True)
        raise typer.Exit(130) from None


@app.command()
def report(
    lab: LabName,
    out: PageFile = None,
    section: Section = None,
) -> None:
    """Write one page about a class: scores, exercises, common misconceptions, who needs help.

    \b
    Examples:
      grader report 02
      grader report 02 --section Monday --out monday.html
    """

    from grader.reference.lab import Lab
    from grader.show.class_report import write_report

    page, table = write_report(Lab.load(Course.find(), lab), out, section)
    typer.echo(f"Report: {page.resolve()}\nTable:  {table.resolve()}")
    typer.echo(f"Beside it: {table.stem}-checks.csv and {table.stem}-misconceptions.csv")


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
    """Show pairs of submissions that are more alike than the lab explains. No proof of anything; no points change.

    \b
    Examples:
      grader similar 02
    """

    from grader.reference.lab import Lab
    from grader.show.similar import write_similar

    page, table, found = write_similar(Lab.load(Course.find(), lab), out, section)
    typer.echo(
        f"{len(found.works)} compared; pairs to look at: {len(found.pairs)}. This does not prove anything."
    )
    typer.echo(f"Page:  {page.resolve()}\nTable: {table.resolve()}")


@app.command()
def export(
    labs: SomeLabs = None,
    form: Annotated[
        str | None,
        typer.Option(
            "--format", metavar="FORMAT", help="csv, canvas, moodle or research (no names); default: csv."
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", "--csv", metavar="FILE", parser=to_write, help="CSV file to write; default: grades.csv."
        ),
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
    lti: Annotated[
        bool,
        typer.Option("--lti", help="Compare one lab with its column on your learning platform, by LTI 1.3."),
    ] = False,
    really: Annotated[
        bool, typer.Option("--send", help="Send what differs to Canvas or the learning platform.")
    ] = False,
    replace: Annotated[
        bool, typer.Option("--replace", help="Also where somebody else has entered a grade there.")
    ] = False,
    feedback: Annotated[
        bool,
        typer.Option(
            "--feedback", help="Also feedback pages: attached in Canvas, or as Moodle's zip beside --out."
        ),
    ] = False,
    worksheet: Annotated[
        Path | None,
        typer.Option("--worksheet", metavar="FILE", help="Moodle's own grading worksheet, to be filled in."),
    ] = None,
    section: Section = None,
) -> None:
    """Write everybody's scores to a file for Canvas, Moodle or a spreadsheet, or enter them in Canvas or by LTI.

    \b
    Labs that each form takes:
      --format csv       none: it always has all
      --format canvas    any; all if none is named
      --format research  any; all if none is named
      --format moodle    one
      --canvas, --lti    one

    \b
    Examples:
      grader export --format canvas --out grades.csv
      grader export 02 --format moodle --out grades.csv
      grader export 02 --format moodle --worksheet downloaded.csv --feedback --out grades.csv
      grader export --format research --out research.csv
      grader export 02 --canvas https://canvas.example.edu --course 12 --assignment 345
      grader export 02 --canvas https://canvas.example.edu --course 12 --assignment 345 --feedback --send
      grader export 02 --lti
      grader export 02 --lti --send
    """

    from grader.people.canvas import TOKEN, Canvas
    from grader.reference.lab import Lab

    if canvas is not None:
        if lti:
            raise GraderError(
                "Choose one: --canvas URL is Canvas's own API, --lti the standard that many platforms have."
            )
        if course is None or assignment is None or len(labs or []) != 1:
            raise GraderError(
                "Name one lab, and Canvas's numbers of the course and the assignment, as in "
                "`grader export 02_self_attention --canvas https://canvas.example.edu --course 12 --assignment 345`."
            )
        if form is not None or worksheet is not None:
            raise GraderError("--format and --worksheet are for files; with --canvas URL, leave them out.")
        there = Canvas(canvas, os.environ.get(TOKEN, ""), course, assignment)
        _export_to_canvas(Lab.load(Course.find(), labs[0]), there, section, really, replace, feedback, out)
    elif course or assignment:
        raise GraderError("--course and --assignment go with --canvas URL.")
    elif lti:
        if len(labs or []) != 1 or form is not None or worksheet is not None or feedback:
            raise GraderError(
                "Name one lab, as in `grader export 02_self_attention --lti`, without --format, --worksheet and --feedback, which are for files and for Canvas."
            )
        _export_by_lti(Lab.load(Course.find(), labs[0]), section, really, replace, out)
    elif really:
        raise GraderError("--send goes with --canvas URL or --lti.")
    else:
        _export_to_files(
            labs or [], form or "csv", out or to_write("grades.csv"), section, worksheet, replace, feedback
        )


def _export_to_files(
    labs: list[str],
    form: str,
    out: Path,
    section: str | None,
    worksheet: Path | None,
    replace: bool,
    feedback: bool,
) -> None:
    from grader.book.gradebook import students_of
    from grader.reference.lab import Lab
    from grader.show.export import export as export_scores
    from grader.show.export import write_feedback_zip
    from grader.show.worksheet import Worksheet

    if form != "moodle" and (worksheet or replace or feedback):
        raise GraderError(
            "--feedback and --replace go with --canvas URL or --format moodle, and --worksheet with the latter; --replace also goes with --lti."
        )
    if worksheet and out.resolve() == worksheet.resolve():
        raise GraderError("The worksheet stays as it was downloaded: choose another file with --out.")
    found = Course.find()
    among = students_of(found, section)
    if form == "research":
        from grader.show.research import write_research

        try:
            told = write_research(found, [Lab.load(found, name) for name in labs or found.labs()], out, among)
        except OSError as error:
            raise GraderError(
                f"{out} cannot be written: {error.strerror}. Choose another file with --out."
            ) from None
        typer.echo("\n".join([*told, f"Table: {out.resolve()}"]))
        return
    sheet = Worksheet(worksheet) if worksheet else None
    for note in export_scores(found, labs, form, out, among, sheet, replace):
        typer.echo(f"Note: {note}")
    typer.echo(f"Scores: {out.resolve()}")
    if feedback:
        pack = out.with_name(f"{out.stem}-feedback.zip")
        count = write_feedback_zip(Lab.load(found, labs[0]), pack, among, sheet)
        typer.echo(f"Feedback pages: {count}, as `grader feedback` made them: {pack.resolve()}")


def _export_to_canvas(
    lab: Lab,
    there: Canvas,
    section: str | None,
    really: bool,
    replace: bool,
    feedback: bool,
    out: Path | None,
) -> None:
    from grader.book.gradebook import students_of
    from grader.show.to_canvas import differences, send

    told = differences(lab, there, students_of(lab.course, section), replace, feedback)
    header = ("Student", "In Canvas", "Number", "Points there", "Points here", "Late", "Feedback")
    rows = [
        (
            each.student,
            each.name,
            each.number,
            "" if each.before is None else f"{each.before:g}",
            "excused" if each.after is None else f"{each.after:g}",
            "" if each.late is None else f"{each.late / 86400:.2f} days",
            "page" if each.page else "",
        )
        for each in told.found
    ]
    grades, pages, late = (
        sum(bool(getattr(each, kind)) for each in told.found) for kind in ("grade", "page", "late")
    )
    typer.echo(f"The assignment in Canvas: “{told.title}”.")
    show_table("1 grade differs" if grades == 1 else f"{grades} grades differ", header, rows)
    if pages or late:
        typer.echo(f"Feedback pages that Canvas does not have: {pages}. Late here and not in Canvas: {late}.")
    for note in told.notes:
        typer.echo(f"Note: {note}")
    write_table(out, header, rows, " Nothing was sent.")
    if not really:
        if rows:
            typer.echo("Nothing was sent. Add --send to enter this in Canvas.")
        return
    if missing := send(lab, there, told):
        raise GraderError(
            f"Canvas has not taken the grades of {', '.join(missing)}. Look at them there, then run the same command again."
        )
    if grades:
        typer.echo(f"Entered in Canvas and read back: {grades}.")
    if pages or late:
        typer.echo(f"Feedback pages sent: {pages}. Marked as late: {late}.")


def _export_by_lti(lab: Lab, section: str | None, really: bool, replace: bool, out: Path | None) -> None:
    from grader.book.gradebook import students_of
    from grader.people.lti import Platform, read_registration
    from grader.show.to_lti import differences, send

    registration = read_registration(lab.course)
    platform = Platform(registration)
    told = differences(lab, registration, platform, students_of(lab.course, section), replace)
    header = ("Student", "Id there", "Points there", "Points here", "Late")
    rows = [
        (
            each.student,
            each.user,
            "" if each.before is None else f"{each.before:g}",
            f"{each.after:g}",
            f"{each.late / 86400:.2f} days" if each.late else "",
        )
        for each in told.found
    ]
    count = len(rows)
    if told.column:
        typer.echo(f"The column on the platform: “{told.label}”.")
    else:
        typer.echo(f"There is no column for {lab.name} on the platform yet: --send makes “{told.label}”.")
    show_table("1 score differs" if count == 1 else f"{count} scores differ", header, rows)
    for note in told.notes:
        typer.echo(f"Note: {note}")
    write_table(out, header, rows, " Nothing was sent.")
    if not really:
        if rows:
            typer.echo("Nothing was sent. Add --send to enter this on the platform.")
        return
    missing, read = send(lab, platform, told)
    if missing:
        raise GraderError(
            f"The platform does not have the scores of {', '.join(missing)}, which were sent. It may need some minutes, or not know them in this course. Look there, then "
            "run the same command again."
        )
    if count:
        typer.echo(f"Entered on the platform{' and read back' if read else ''}: {count}.")


@app.command()
def demo(labs: Labs = None) -> None:
    """Grade a small made-up class in .demo/ to show what grading does.

    \b
    Examples:
      grader demo 02
    """

    from grader.handout.demo import run_demo

    run_demo(Course.find(), labs or [], say=typer.echo, show=show)
