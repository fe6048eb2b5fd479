"""Who is in the course: a class list is put on the roster, people leave, and two ids become one person's."""

from __future__ import annotations

import json
import os
import sys
from collections import defaultdict
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated

import typer

from grader.commands.help import Commands
from grader.commands.terminal import (
    Because,
    CanvasAddress,
    CanvasCourse,
    Enter,
    FromLab,
    OnlyLab,
    Section,
    TableFile,
    as_table,
    console,
    described,
    first_few,
    show_table,
    write_table,
)
from grader.course import Course
from grader.errors import GraderError

if TYPE_CHECKING:
    from grader.book.gradebook import Gradebook
    from grader.book.teams import Moves
    from grader.people.roster import Change, ClassList, Joined, Person

app = Commands()

roster_app = Commands()
app.add_typer(roster_app, name="roster")


SameNames = Annotated[
    bool | None,
    typer.Option(
        "--same-names/--other-people",
        help="Whether a new id with the name of somebody on the roster is the same person. Default: ask.",
    ),
]


@roster_app.callback(invoke_without_command=True)
def roster(
    context: typer.Context,
    out: TableFile = None,
    section: Section = None,
) -> None:
    """Show who is in the course, what they have handed in, and whose work belongs to nobody on the roster.

    \b
    Examples:
      grader roster
      grader roster import students.csv
      grader roster canvas https://canvas.example.edu --course 12
      grader roster lti
      grader roster teams teams.csv
      grader roster remove anna
      grader roster merge anna.m anna
    """

    from grader.show.standing import standing

    if context.invoked_subcommand:
        return
    course = Course.find()
    rows, strangers, notes = standing(course, section)
    where = f" in {section}" if section else ""
    console.print(as_table(f"{len(rows) - 1} on the roster{where}", rows[0], rows[1:]))
    for line in strangers:
        typer.echo(f"Not on the roster: {line}")
    for line in notes:
        typer.echo(line)
    write_table(out, rows[0], rows[1:])


@roster_app.command("import")
def roster_import(
    file: Annotated[
        Path,
        typer.Argument(metavar="FILE", help="CSV or .xlsx from your learning platform, or made by hand."),
    ],
    same_names: SameNames = None,
    because: Because = "",
) -> None:
    """Put a class list on the roster: ids, names, e-mail addresses, sections, teams. Nobody is ever removed.

    \b
    Examples:
      grader roster import students.csv
    """

    from grader.book.gradebook import Gradebook
    from grader.files import printable
    from grader.people.roster import changes, joined, read_roster
    from grader.people.team_names import Spellings

    listed = read_roster(file)
    typer.echo(f"Read: {printable(', '.join(listed.read), 300)}.")
    if listed.unused:
        typer.echo(f"Not used: {printable(', '.join(listed.unused), 300)}.")
    for note in listed.notes:
        typer.echo(note)
    with Gradebook.open(Course.find()) as gradebook:
        before = gradebook.roster()
        called = (f"{file}", listed.place)
        found = joined(before, listed.people, same_names, *called)
        if found.doubtful:
            same_names = _ask_whether_same(file.name, found, listed)
            found = joined(before, listed.people, same_names, *called)
        told = changes(before, found.people)
        spellings = Spellings(gradebook.team_names())
        teams = {
            now.student: spellings.team(listed.teams[given.student]) if listed.teams[given.student] else ""
            for given, now in zip(listed.people, found.people, strict=True)
            if given.student in listed.teams
        }
        with gradebook.together():
            gradebook.enter_people(found.people, because)
            moves = gradebook.enter_teams(teams, why=because)
    typer.echo(f"{len(found.people)} in {file.name}: {len(told.new)} new, {len(told.changed)} changed.")
    _tell_of_others(found, told, "the file")
    if teams:
        _tell_moves(moves, f"grader roster teams {quote(str(file))}")


def _tell_of_others(found: Joined, told: Change, where: str) -> None:
    """Says who has another id on the roster, and who is not in a list."""
    if found.known_as:
        pairs = [f"{new} is {old}" for new, old in found.known_as.items()]
        typer.echo(f"On the roster under another id, which stays: {first_few(pairs)}.")
    if told.absent:
        typer.echo(
            f"On the roster, but not in {where}: {', '.join(told.absent)}. They stay. `grader roster remove ID` removes one."
        )


def _ask_whether_same(where: str, found: Joined, file: ClassList | None = None) -> bool:
    """Asks in the terminal whether people with a new id and a known name are those on the roster.

    Args:
        file: the list, if it has rows, which are then named.

    Raises:
        GraderError: nobody can be asked, or the answer is neither yes nor no.
    """

    def row_of(new: Person) -> str:
        return f" ({file.place('the id', file.people.index(new))})" if file else ""

    who = [
        f"{new.name}: {new.student} in {where}{row_of(new)}, {' or '.join(each.student for each in old)} on the roster"
        for new, old in found.doubtful
    ]
    many = (
        f"{len(who)} in the list have a new id and"
        if len(who) > 1
        else "Somebody in the list has a new id and"
    )
    typer.echo(f"{many} the name of somebody on the roster who is not in the list:")
    typer.echo("  " + first_few(who, "\n  "))
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


@roster_app.command("canvas")
def roster_canvas(
    url: CanvasAddress,
    course: CanvasCourse,
    enter: Enter = False,
    same_names: SameNames = None,
    because: Because = "",
) -> None:
    """Put a course's class list in Canvas on the roster, by Canvas's API. Nobody is ever removed.

    \b
    Examples:
      grader roster canvas https://canvas.example.edu --course 12
      grader roster canvas https://canvas.example.edu --course 12 --enter
    """

    from grader.book.gradebook import Gradebook
    from grader.people.canvas import TOKEN, Canvas
    from grader.people.roster import changes, joined
    from grader.receive.from_canvas import class_list

    own = Course.find()
    people = class_list(Canvas(url, os.environ.get(TOKEN, ""), course))
    with Gradebook.open(own) as gradebook:
        before = gradebook.roster()
        found = joined(before, people, same_names)
        if found.doubtful:
            found = joined(before, people, _ask_whether_same("Canvas", found))
        told = changes(before, found.people)
        if enter:
            gradebook.enter_people(found.people, because)
    rows = [
        (
            each.student,
            each.name,
            each.email,
            each.section,
            each.canvas,
            "new" if each.student in told.new else "changed",
        )
        for each in found.people
        if each.student in {*told.new, *told.changed}
    ]
    title = f"{len(found.people)} in Canvas: {len(told.new)} new, {len(told.changed)} changed"
    show_table(title, ("Student", "Name", "E-mail", "Section", "Canvas", ""), rows)
    _tell_of_others(found, told, "Canvas")
    if rows and not enter:
        typer.echo("Nothing has changed. Add --enter to put them on the roster.")


@roster_app.command("lti")
def roster_lti(
    enter: Enter = False,
    same_names: SameNames = None,
    public_key: Annotated[
        bool,
        typer.Option("--public-key", help="Show the public key, which the platform has to know, and stop."),
    ] = False,
    because: Because = "",
) -> None:
    """Put the learners of a course on a learning platform on the roster, by LTI 1.3. Nobody is ever removed.

    \b
    Examples:
      grader roster lti --public-key
      grader roster lti
      grader roster lti --enter
    """

    from grader.book.gradebook import Gradebook
    from grader.people.lti import Platform, read_registration
    from grader.people.roster import changes, joined
    from grader.receive.from_lti import class_of

    own = Course.find()
    registration = read_registration(own)
    if public_key:
        typer.echo(json.dumps({"keys": [registration.public()]}, indent=2))
        return
    members = Platform(registration).members()
    with Gradebook.open(own) as gradebook:
        before = gradebook.roster()
        users = gradebook.lti_users(registration.issuer)
        there = class_of(members, {user: student for student, user in users.items() if student in before})
        found = joined(before, there.people, same_names)
        if found.doubtful:
            found = joined(before, there.people, _ask_whether_same("the platform", found))
        told = changes(before, found.people)
        now = {each.student: user for each, user in zip(found.people, there.users, strict=True)}
        if enter:
            with gradebook.together():
                gradebook.enter_people(found.people, because)
                gradebook.note_lti_users(registration.issuer, now)
    unknown = {student for student, user in now.items() if users.get(student) != user}
    marks = {**dict.fromkeys(unknown, "now known there"), **dict.fromkeys(told.changed, "changed")}
    marks |= dict.fromkeys(told.new, "new")
    rows = [
        (each.student, each.name, each.email, marks[each.student])
        for each in found.people
        if each.student in marks
    ]
    title = f"{len(found.people)} learners on the platform: {len(told.new)} new, {len(told.changed)} changed"
    show_table(title, ("Student", "Name", "E-mail", ""), rows)
    for note in there.notes:
        typer.echo(note)
    _tell_of_others(found, told, "the platform's list")
    if rows and not enter:
        typer.echo("Nothing has changed. Add --enter to put them on the roster.")


@roster_app.command("remove")
def roster_remove(
    students: Annotated[
        list[str], typer.Argument(metavar="STUDENT", help="Ids, e-mail addresses or names of people on it.")
    ],
    keep_work: Annotated[
        bool,
        typer.Option(
            "--keep-work", help="Also remove people who have handed in something; their work and grades stay."
        ),
    ] = False,
    because: Because = "",
) -> None:
    """Take people off the roster who have left the course. Nothing that was handed in is removed.

    What was decided about people who have handed in nothing is taken back.

    \b
    Examples:
      grader roster remove dan --because "left the course on 3 November"
    """

    from grader.book.gradebook import Gradebook
    from grader.grade.merge import work_of
    from grader.people.roster import Roster

    course = Course.find()
    with Gradebook.open(course) as gradebook:
        listed = gradebook.roster()
        on_it = Roster(listed.values())
        students = list(dict.fromkeys(map(on_it.meant, students)))
        if strangers := [each for each in students if each not in listed]:
            near = on_it.near(strangers[0])
            raise GraderError(
                f"Not on the roster: {first_few(strangers)}. Nothing has changed.{near} `grader roster` lists the ids."
            )
        had = {each: work_of(course, gradebook, each) for each in students}
        busy = [f"{each} ({', '.join(labs)})" for each, labs in had.items() if labs]
        if busy and not keep_work:
            raise GraderError(
                f"There is work of {first_few(busy)}. Nothing has changed. With --keep-work they are taken off the roster, and what they handed in stays, "
                "with its grades. If an id is another one of somebody in the course: grader roster merge OLD ID"
            )
        withdrawn = gradebook.remove_people(students, because)
    typer.echo(f"No longer on the roster: {first_few(students)}.")
    if withdrawn:
        told = [
            f"{each.student}: {each} {f'in {each.lab}' if each.lab else 'in all labs'}" for each in withdrawn
        ]
        typer.echo(f"Taken back with that: {first_few(told, '; ')}.")


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
    because: Because = "",
) -> None:
    """Make one person of two ids: submissions, grades, comments and feedback of the first become the second's.

    \b
    Examples:
      grader roster merge anna.m anna --because "she handed in from her own account"
    """

    from grader.grade.merge import carry_out, plan

    course = Course.find()
    planned, begun = plan(course, old, new, keep)
    if begun:
        typer.echo("This merge was begun before; it goes on.")
    else:
        if planned.both:
            typer.echo("Both are on the roster. They become one person:")
            for who in planned.both:
                typer.echo(f"  {described(who)}")
        if planned.labs:
            typer.echo(f"{old} has work for {', '.join(planned.labs)}. All of it becomes {new}'s.")
        else:
            typer.echo(f"{old} has no work in any lab. The two ids become one person, {new}.")
        for lab, loser in planned.dropped.items():
            typer.echo(f"{lab}: {loser}'s work goes to grading/earlier, and its points out of the gradebook.")
        if not yes and not _confirmed("Is that right? It cannot be undone"):
            typer.echo("Nothing has changed.")
            return
    carry_out(course, planned, keep, because)
    typer.echo(f"{old} is now {new}.")


def _confirmed(question: str) -> bool:
    """
    Raises:
        GraderError: nobody can be asked.
    """
    try:
        return typer.confirm(question)
    except typer.Abort:
        if sys.stdin.isatty():
            raise
        raise GraderError(
            "Nobody can be asked here, so nothing has changed. If it is right, add --yes."
        ) from None


# ---------------------------------------------------------------------------------- teams


@roster_app.command("teams")
def roster_teams(
    file: Annotated[
        Path | None,
        typer.Argument(
            metavar="FILE",
            help="CSV or .xlsx with a column team, and one that says who: id, email or name. An empty team: alone.",
        ),
    ] = None,
    since: FromLab = None,
    lab: OnlyLab = None,
    because: Because = "",
    out: TableFile = None,
) -> None:
    """Show who hands in together with whom, or enter it from a file. What one of a team hands in counts for all.

    \b
    Examples:
      grader roster teams
      grader roster teams teams.csv
      grader roster teams teams.csv --from 05 --because "new teams for the second half"
      grader roster teams pairs.csv --lab 03
    """

    from grader.book.gradebook import Gradebook
    from grader.people.roster import Roster
    from grader.people.teams import read_teams

    course = Course.find()
    labs = _labs_meant(course, since, lab)
    if file is None:
        if labs or because:
            raise GraderError(
                "--from, --lab and --because go with FILE, or with `grader roster team STUDENT TEAM`."
            )
        with Gradebook.open(course) as gradebook:
            rows = _who_is_with_whom(course, gradebook)
        header = ("Team", "Labs", "Members")
        count = len({row[0] for row in rows})
        show_table(f"{count} team{'' if count == 1 else 's'}", header, rows, limit=400)
        write_table(out, header, rows)
        return
    if out:
        raise GraderError("--out goes with `grader roster teams` alone, which shows them.")
    with Gradebook.open(course) as gradebook:
        roster = Roster(gradebook.roster().values())
        if not roster.people:
            raise GraderError("There is nobody on the roster yet. First: grader roster import FILE")
        found = read_teams(file, roster, gradebook.team_names(), typer.echo)
        moves = gradebook.enter_teams(found, labs, because)
    typer.echo(f"{len(found)} in {file.name}.")
    _tell_moves(moves, f"grader roster teams {quote(str(file))}", labs is not None)


@roster_app.command("team")
def roster_team(
    student: Annotated[str, typer.Argument(metavar="STUDENT", help="Id, e-mail address or name.")],
    team: Annotated[str, typer.Argument(metavar="TEAM", help="The team, or 'alone'.")],
    since: FromLab = None,
    lab: OnlyLab = None,
    because: Because = "",
) -> None:
    """Put somebody into a team, or out of one. What was graded before stays as it is.

    \b
    Examples:
      grader roster team carl red --from 05 --because "joined on 3 November"
      grader roster team ben alone --from 05 --because "left the team"
    """

    from grader.book.gradebook import Gradebook
    from grader.people.roster import Roster
    from grader.people.team_names import Spellings

    course = Course.find()
    labs = _labs_meant(course, since, lab)
    with Gradebook.open(course) as gradebook:
        roster = Roster(gradebook.roster().values())
        if not (person := roster.by_id(roster.meant(student))):
            raise GraderError(
                f"{student!r} is not on the roster, so nothing has changed.{roster.near(student)} `grader roster` lists the ids."
            )
        try:
            name = Spellings(gradebook.team_names()).team(team)
        except ValueError as error:
            raise GraderError(f"{error}. Nothing has changed.") from None
        moves = gradebook.enter_teams({person.student: name}, labs, because)
    _tell_moves(moves, f"grader roster team {quote(student)} {quote(team)}", labs is not None)


def _labs_meant(course: Course, since: str | None, lab: str | None) -> list[str] | None:
    """The labs that somebody names; None: none.

    Raises:
        GraderError: they are named in two ways.
    """
    if since and lab:
        raise GraderError(
            "--from is for all labs from one on, and --lab for a single one: use one or the other."
        )
    if lab:
        return [lab]
    return [each for each in course.labs() if each >= since] if since else None


def _tell_moves(moves: Moves, command: str, named: bool = False) -> None:
    """Says what has become of teams.

    Args:
        command: what to run to change a lab that was left as it was.
        named: whether the labs were named, so that none was left as it was.
    """
    typer.echo(f"Team changed: {first_few(moves.moved) or 'nobody'}.")
    for lab, who in moves.collected.items():
        if named:
            typer.echo(
                f"{lab}: work of {first_few(who)} was collected before. It stays, with its grades, until this lab is collected again."
            )
        else:
            typer.echo(
                f"{lab}: left as it was for {first_few(who)} and their teams, because work is collected. To change it there, too: {command} --lab {lab}"
            )


def _who_is_with_whom(course: Course, gradebook: Gradebook) -> list[tuple[str, str, str]]:
    """Team, labs and members: a row for each time that a team has the same members in labs that follow each other."""
    runs: dict[str, list[tuple[list[str], list[str]]]] = defaultdict(list)
    for lab in course.labs():
        members = defaultdict(list)
        for student, team in sorted(gradebook.teams(lab).items()):
            members[team].append(student)
        for team, who in members.items():
            if runs[team] and runs[team][-1][1] == who and runs[team][-1][0][-1] == _before(course, lab):
                runs[team][-1][0].append(lab)
            else:
                runs[team].append(([lab], who))
    return [
        (team, labs[0] if len(labs) == 1 else f"{labs[0]} to {labs[-1]}", ", ".join(who))
        for team, found in sorted(runs.items())
        for labs, who in found
    ]


def _before(course: Course, lab: str) -> str:
    """The lab before another; empty if there is none."""
    return max((each for each in course.labs() if each < lab), default="")
