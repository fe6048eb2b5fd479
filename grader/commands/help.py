"""Help in plain text: what a command takes and does, without types of arguments, and commands under the headings that they belong to."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import groupby
from typing import Any

import typer
from typer.core import TyperArgument, TyperCommand, TyperGroup


class _Plain:
    """Writes options and commands; what typer writes beside them are Python's types."""

    def format_options(self, ctx: typer.Context, formatter: Any) -> None:
        rows: dict[str, list[tuple[str, str]]] = {"Arguments": [], "Options": []}
        for each in self.get_params(ctx):
            if isinstance(each, TyperArgument):
                rows["Arguments"].append((each.metavar or "", each.help or ""))
            else:
                names = "/".join([each.opts[0], *each.secondary_opts])
                said = f"{each.help} Required." if each.required else each.help
                rows["Options"].append((f"{names} {each.metavar or ''}".rstrip(), said))
        for title, listed in rows.items():
            if listed:
                with formatter.section(title):
                    formatter.write_dl(listed)
        if isinstance(self, TyperGroup):
            self.format_commands(ctx, formatter)


_NUMBERS = (
    (re.compile(r"valid integer"), "a whole number is needed, such as 3."),
    (re.compile(r"valid number"), "a number is needed, such as 2.5."),
    (re.compile(r"greater than or equal to (\S+)"), r"it has to be \1 or more."),
    (re.compile(r"less than or equal to (\S+)"), r"it has to be \1 or less."),
)
"""What the library says of a number, and what is said instead."""


class Command(_Plain, TyperCommand):
    """A command whose help is plain text, and which says in plain words which number it needs."""

    def parse_args(self, ctx: typer.Context, args: list[str]) -> list[str]:
        try:
            return super().parse_args(ctx, args)
        except typer.BadParameter as error:
            for pattern, words in _NUMBERS:
                if found := pattern.search(error.message):
                    error.message = found.expand(words)
                    break
            raise


class Group(_Plain, TyperGroup):
    """Commands that belong together, in the order in which they are needed."""

    def format_commands(self, ctx: typer.Context, formatter: Any) -> None:
        there = [self.get_command(ctx, name) for name in self.list_commands(ctx)]
        width = max(len(each.name) for each in there)
        for title, commands in groupby(there, lambda each: each.rich_help_panel or "Commands"):
            with formatter.section(title):
                formatter.write_dl(
                    [(each.name.ljust(width), each.help.partition("\n\n")[0]) for each in commands]
                )


class Commands(typer.Typer):
    """A set of commands with such help."""

    def __init__(self, **how: Any) -> None:
        super().__init__(**{"cls": Group, "add_completion": False, "rich_markup_mode": None, **how})

    def command(self, name: str | None = None, **how: Any) -> Callable:
        return super().command(name, cls=Command, **how)
