"""What a team may be called, in a class list, a list of teams, or on the command line."""

from __future__ import annotations

from collections.abc import Iterable

from grader.files import printable

ALONE = "alone"
"""What stands for no team where people read or write it."""
MAX_NAME = 60


class Spellings:
    """Teams whose names differ only in capitals or blanks are one team, which is called as it was first written.

    Args:
        names: of teams that are there already.
    """

    def __init__(self, names: Iterable[str] = ()) -> None:
        self._first = {_folded(name): name for name in sorted(names)}

    def team(self, text: str) -> str:
        """The team that a text names; empty if it says that somebody is in none.

        Raises:
            ValueError: it cannot be the name of one team.
        """
        name = " ".join(text.split())
        if _folded(name) == ALONE:
            return ""
        if "," in name or ";" in name:
            raise ValueError(
                f"“{printable(name, MAX_NAME)}” reads as several teams, and in a lab everybody is in one at most. If it is one, leave out the comma or semicolon"
            )
        if not any(char.isalnum() for char in name) or len(name) > MAX_NAME or printable(name) != name:
            raise ValueError(
                f"“{printable(name, MAX_NAME)}” cannot be a team's name, which has a letter or digit and at most {MAX_NAME} characters. "
                f"For somebody who is in no team, write “{ALONE}”"
            )
        return self._first.setdefault(_folded(name), name)


def _folded(name: str) -> str:
    return " ".join(name.casefold().split())
