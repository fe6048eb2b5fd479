"""For whom something is not done, and why, as sentences: wherever grades, dates and excuses go to or come from another system."""

from __future__ import annotations


class LeftOut:
    """Why somebody is left out, and who that is."""

    def __init__(self) -> None:
        self._found: dict[str, list[str]] = {}

    def add(self, why: str, *who: str) -> None:
        """
        Args:
            why: a sentence without its full stop.
            who: nobody if it is about everybody.
        """
        self._found.setdefault(why, []).extend(who)

    def sentences(self) -> tuple[str, ...]:
        """A note for each reason."""
        return tuple(
            f"Left out: {', '.join(who)}. {why}." if who else f"{why}." for why, who in self._found.items()
        )
