"""``grader``, the instructor's command-line tool: each command says what it did and where the results are.

Here is only what there is, in the order of a week. A command's module, with all that it imports, is loaded when the command is called.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

import typer
from typer.main import get_group

from grader.commands.help import Command, Commands, Group
from grader.errors import NO_ROOM, GraderError, no_room

COMMANDS = {
    "Each week": {
        "demo": ("week", "Grade a small made-up class to see what grading does."),
        "release": ("week", "Enter a lab and its deadline in the gradebook, and write the zip for learners."),
        "collect": ("week", "Collect submissions: from a platform's zip, a folder, or nbgrader's exchange."),
        "uncollect": ("week", "Take back what was collected by mistake, as if it had not been handed in."),
        "autograde": ("week", "Grade what has been collected. Stop it at any time; it goes on from there."),
        "watch": ("week", "Grade what is handed in as it arrives, and return its feedback."),
        "report": ("week", "Write a page about a class: scores, misconceptions, who needs help."),
        "similar": ("week", "Show pairs of submissions that are more alike than the lab explains."),
        "viva": ("viva", "Write a sheet of questions about a student's own code, to talk about it."),
        "feedback": ("week", "Make a page of feedback for each student."),
        "export": ("week", "Write scores for Canvas, Moodle or a spreadsheet, or enter them there."),
    },
    "The class": {
        "roster": ("roster", "Show who is in the course and in which team; import, remove, merge people."),
        "extend": ("decisions", "Give a student more time."),
        "status": (
            "decisions",
            "Excuse, zero, penalise, drop a lab, or give more time; of one, of many, or as in Canvas.",
        ),
        "late": ("decisions", "Decide how late work is whose hand-in time is not known."),
        "term": ("term", "Write a page about all labs and each student's way."),
        "grades": ("term", "Write final grades, by the rules of the term, and how each comes about."),
        "log": ("term", "Show who changed which points, deadlines and comments."),
    },
    "Grading by hand": {
        "queue": ("by_hand", "Share out answers that people grade, and show how far everybody is."),
        "requests": ("by_hand", "List, show and decide learners' requests to look at an answer again."),
    },
    "When something is wrong": {
        "doctor": ("trouble", "Say what is wrong with a notebook, or with the course."),
        "restore": ("trouble", "List the gradebook's backups, or put one in its place."),
    },
    "Publishing": {
        "publish": ("publishing", "Write the whole course as learners get it, without solutions."),
        "site": ("publishing", "Make web pages of the course, without solutions."),
        "kit": (
            "publishing",
            "Make pages for those who teach a lab, with solutions: what to show, ask and examine.",
        ),
        "gradescope": ("publishing", "Write the zip that makes a lab a Gradescope assignment."),
    },
    "Making labs": {
        "new": ("authors", "Start a new lab: a small one that already builds."),
        "build": ("authors", "Make notebooks/ from solutions/."),
        "mutate": (
            "authors",
            "Try small mistakes in every solution, and show those that the checks let pass.",
        ),
    },
}
"""Heading -> command -> its module in :mod:`grader.commands`, and the sentence about it in the list of all commands."""


class _Grader(Group):
    """All commands, which report a problem that users can fix themselves as one message, without a traceback."""

    def __init__(self, **how: Any) -> None:
        listed = {
            name: Command(name=name, help=sentence, rich_help_panel=heading)
            for heading, commands in COMMANDS.items()
            for name, (_, sentence) in commands.items()
        }
        super().__init__(**{**how, "commands": listed})

    def resolve_command(self, ctx: typer.Context, args: list[str]) -> tuple[str, Any, list[str]]:
        name, _, rest = super().resolve_command(ctx, args)
        (module,) = (commands[name][0] for commands in COMMANDS.values() if name in commands)
        loaded = get_group(import_module(f"grader.commands.{module}").app)
        return name, loaded.commands[name], rest

    def invoke(self, ctx: typer.Context) -> Any:
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


app = Commands(cls=_Grader, no_args_is_help=True, pretty_exceptions_show_locals=False)


@app.callback()
def grader() -> None:
    """The instructor's tool for this course. `grader COMMAND --help` says more about each."""


if __name__ == "__main__":
    app()
