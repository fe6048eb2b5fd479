"""Answers that people grade, and learners' requests to look again."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from grader.commands.help import Commands, Group
from grader.commands.terminal import (
    LabName,
    OneLab,
    Section,
    TableFile,
    show_table,
    write_table,
)
from grader.course import Course
from grader.errors import GraderError

if TYPE_CHECKING:
    from grader.book.answers import Work
    from grader.book.readings import Readings, Settings
    from grader.book.rubric import Question

app = Commands()


@app.command()
def queue(
    lab: LabName,
    readers: Annotated[
        str | None,
        typer.Option(
            metavar="NAMES",
            help="Share the submissions among these readers, e.g. ana,ben. Readers you leave out lose the submissions they have not started.",
        ),
    ] = None,
    by_section: Annotated[
        bool | None,
        typer.Option(
            "--by-section/--no-by-section",
            help="Each section to as few readers as possible. Default: same as last time.",
        ),
    ] = None,
    second: Annotated[
        str | None,
        typer.Option(
            metavar="PERCENT",
            help="Share that a second reader also grades, e.g. 10%. Default: same as last time.",
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
    out: TableFile = None,
) -> None:
    """Share out answers that people grade, and show how far everybody is. Students stay anonymous.

    \b
    Examples:
      grader queue 13 --readers ana,ben --second 10%
      grader queue 13 --reader ana
      grader queue 13 --agreement
      grader queue 13 --release
    """

    from grader.book.gradebook import Gradebook, students_of
    from grader.book.readings import Readings
    from grader.by_hand.overview import nobody_s
    from grader.reference.lab import Lab

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
            _give_out(readings, len(there) - nobody_s(there), readers, by_section, second)
        if release:
            typer.echo(f"Submissions that are finished and no longer anonymous: {readings.release()}")
        works, settings = readings.works(), readings.settings()
        questions = readings.questions()
    works = {page: work for page, work in works.items() if among is None or work.student in among}
    if agree:
        _show_agreement(lab, works, questions, out)
    elif reader is not None:
        _show_reader(lab, works, settings, reader, out)
    else:
        _show_progress(lab, works, settings, out)


def _give_out(
    readings: Readings, here: int, readers: str | None, by_section: bool | None, second: str | None
) -> None:
    """Gives answers out, by what was typed and, where nothing was, by what was said last time.

    Args:
        here: how many submissions had been given out before.
    """
    from grader.book.readings import Settings
    from grader.by_hand.overview import readers_of, share_of

    before = readings.settings()
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


def _show_agreement(
    lab: str, works: Mapping[str, Work], questions: Mapping[str, Question], out: Path | None
) -> None:
    """
    Raises:
        GraderError: nothing has been read twice.
    """
    from grader.by_hand.agreement import agreement, pairs
    from grader.by_hand.overview import ADDRESS, agreement_table, difference_table, short_differences

    found = pairs(works)
    if not found:
        raise GraderError(
            f"No answer of {lab} has been read by two people yet: `grader queue {lab}` shows who has what, and --second 10% has some read twice."
        )
    figures = agreement_table(agreement(found, questions))
    show_table(f"Answers read twice: {len(found)}", *figures)
    header, rows = difference_table(found, questions)
    show_table("Differences" if rows else "Differences: none", *short_differences(rows))
    write_table(out, header, rows)
    if out:
        write_table(out.with_name(f"{out.stem}-agreement{out.suffix}"), *figures)
    typer.echo(f"To decide: /{ADDRESS}/{lab}/differences at the address of `make instructor`.")


def _show_reader(
    lab: str, works: Mapping[str, Work], settings: Settings, reader: str, out: Path | None
) -> None:
    """
    Raises:
        GraderError: this reader has nothing to read.
    """
    from grader.by_hand.overview import ADDRESS, reader_table

    header, rows = reader_table(works, reader)
    if not rows:
        names = ", ".join(settings.readers) or "nobody yet"
        raise GraderError(f"{reader!r} has nothing to read in {lab}. Readers: {names}.")
    show_table(f"For {reader}: {len(rows)}", header, rows)
    write_table(out, header, rows)
    typer.echo(f"To grade: /{ADDRESS}/{lab}/{reader} at the address of `make instructor`.")


def _show_progress(lab: str, works: Mapping[str, Work], settings: Settings, out: Path | None) -> None:
    from grader.by_hand.overview import ADDRESS, nobody_s, progress_table, standings

    header, rows = progress_table(standings(works, settings))
    show_table(lab, header, rows)
    write_table(out, header, rows)
    if waiting := nobody_s(works):
        names = ",".join(settings.readers) or "NAME,NAME"
        typer.echo(f"In nobody's queue: {waiting}. To give them out: grader queue {lab} --readers {names}")
    typer.echo(f"To grade: /{ADDRESS}/{lab} at the address of `make instructor`.")


class _ListUnlessNamed(Group):
    """Commands of which ``list`` need not be named: what follows is then its."""

    def parse_args(self, ctx: typer.Context, args: list[str]) -> list[str]:
        if not args or args[0] not in {*self.commands, "--help"}:
            args = ["list", *args]
        return super().parse_args(ctx, args)


requests_app = Commands(
    cls=_ListUnlessNamed,
    help="""Regrade requests: list, read, decide.

    \b
    Examples:
      grader requests
      grader requests show 3
    """,
)
app.add_typer(requests_app, name="requests")


@requests_app.command("list")
def requests_list(
    lab: OneLab = None,
    section: Section = None,
    out: TableFile = None,
) -> None:
    """List requests, the open ones last. The same as `grader requests [LAB]`.

    \b
    Examples:
      grader requests list
      grader requests list 02 --section Monday
    """

    from grader.book.gradebook import students_of
    from grader.reference.lab import Lab
    from grader.show.requests import HEADER as REQUESTS_HEADER
    from grader.show.requests import SHORT_HEADER, short_row
    from grader.show.requests import table as table_of_requests

    course = Course.find()
    name = Lab.load(course, lab).name if lab else ""
    rows = table_of_requests(course, name, students_of(course, section))
    waiting = sum(row[1] == "open" for row in rows)
    title = f"{len(rows)} request{'' if len(rows) == 1 else 's'}, {waiting} open"
    show_table(title, SHORT_HEADER, map(short_row, rows), limit=200)
    write_table(out, REQUESTS_HEADER, rows)
    if waiting:
        typer.echo("To see one: grader requests show NO. To decide it: grader requests decide NO.")


@requests_app.command("add")
def requests_add(
    files: Annotated[
        list[Path],
        typer.Argument(metavar="FILE", help="Text files, folders, or zips with files regrade-*.txt."),
    ],
) -> None:
    """Read requests that came by mail or LMS. `grader collect` reads those among submissions by itself.

    \b
    Examples:
      grader requests add mails/
    """

    from grader.receive.regrade import add as add_requests

    received = add_requests(Course.find(), files)
    entered = [each for each in received if each.number is not None]
    refused = [each for each in received if each.number is None]
    header = ("File", "Student", "Exercise", "Request", "Notes")
    rows = [
        (each.file, each.student or "?", each.exercise, str(each.number or "refused"), each.why)
        for each in [*entered, *refused[:20]]
    ]
    show_table("", header, rows, limit=500)
    if len(refused) > 20:
        typer.echo(f"{len(refused) - 20} more files were refused.")


@requests_app.command("show")
def requests_show(
    number: Annotated[int, typer.Argument(metavar="NO", help="Number in the list.")],
) -> None:
    """Show a request, the answer that it is about, what the check said, and the points.

    \b
    Examples:
      grader requests show 3
    """

    from grader.show.requests import details

    shown = details(Course.find(), number)
    typer.echo(shown.title)
    for heading, text in shown.parts:
        typer.echo(f"\n{heading}")
        for line in text.splitlines():
            typer.echo(f"    {line}".rstrip())


@requests_app.command("decide")
def requests_decide(
    number: Annotated[int, typer.Argument(metavar="NO", help="Number in the list.")],
    reason: Annotated[str, typer.Option("--reason", metavar="TEXT", help="What the learner reads.")],
    points: Annotated[
        float | None, typer.Option("--points", metavar="X", help="The exercise gets X points.")
    ] = None,
    keep: Annotated[bool, typer.Option("--keep", help="The points stay as they are.")] = False,
    again: Annotated[bool, typer.Option("--again", help="Change an earlier decision.")] = False,
) -> None:
    """Decide a request: record the decision and its reason, and enter the points in the gradebook.

    \b
    Examples:
      grader requests decide 3 --points 2 --reason "Right in another way."
      grader requests decide 3 --keep --reason "The mask is missing."
    """

    from grader.book.gradebook import Gradebook
    from grader.receive.regrade import MAX_WORDS, legible

    if keep == (points is not None):
        raise GraderError("Say either --points X or --keep.")
    told = legible(reason).strip()
    if not told or len(told) > MAX_WORDS:
        raise GraderError(
            f"--reason is what the learner reads: write something, at most {MAX_WORDS:,} characters."
        )
    with Gradebook.open(Course.find()) as gradebook:
        decided = gradebook.decide(number, points, told, again)
    typer.echo(f"Request {number} of {decided.student} is decided: {decided.decision}.")
    typer.echo(f"To put it on the feedback page: grader feedback {decided.lab}")
