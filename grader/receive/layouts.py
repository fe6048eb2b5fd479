"""How learning platforms name what they pack, read from ``layouts.toml``: whose a file is, when it was handed in, which attempt it belongs
to, and what its owner called it. What is known about each platform is in that file; here is only what is true of all of them.
"""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cache, cached_property
from pathlib import Path

_MAX_NAME = 255
"""No file system that a platform runs on has longer names; and some patterns take long for them."""
_DATA = Path(__file__).with_name("layouts.toml")
STUDENTS, CLASSES = "folder", "class-folder"
"""Our own layouts: a folder or file named after each student; and the same in a folder of the class, or one of each section."""


@dataclass(frozen=True)
class Said:
    """What a file's path in an archive says about it.

    Attributes:
        called: the student's name, as the platform writes it; empty if only a login or an address is given.
        anonymous: whether the platform hides who it is.
        login: an id, a user's name or an e-mail address.
        number: the platform's number for the student.
        attempt: what is later is greater; ``unclear`` where a time is given that is not understood.
        when: its time in the platform's own zone.
        file: what the student called it; empty for text that was typed in, and for a file of the platform's own.
        late: whether the platform marks it so.
        order: a number that grows with each upload.
        title: what the platform calls the assignment, where that comes first in the path.
        who: a title and a login in one name (see :class:`Titles`).
        submission: its key in the platform's metadata.
        name_ends: where in the path the student's name ends, if a name may contain what follows names.
    """

    called: str = ""
    anonymous: bool = False
    login: str = ""
    number: str = ""
    attempt: int = 0
    when: datetime | None = None
    unclear: str = ""
    late: bool = False
    order: int = 0
    file: str = ""
    title: str = ""
    who: str = ""
    submission: str = ""
    name_ends: int = 0


@dataclass(frozen=True, eq=False)
class Layout:
    """How one platform names files. ``layouts.toml`` says what the attributes mean."""

    name: str
    path: tuple[re.Pattern[str], ...]
    beside: tuple[re.Pattern[str], ...] = ()
    receipt: tuple[re.Pattern[str], ...] = ()
    metadata: tuple[re.Pattern[str], ...] = ()
    dates: tuple[str, ...] = ()
    number: str = ""
    between: str = ""
    weak: bool = False
    common: bool = False
    anywhere: bool = False
    anonymous: bool = False

    def read(self, path: str) -> Said | None:
        """What a path says; None if the platform would not name a file so."""
        return next(iter(self.readings(path)), None)

    def readings(self, path: str) -> list[Said]:
        """All ways of reading a path: several only where a name may contain what follows names."""
        if any(len(part) > _MAX_NAME for part in path.split("/")):
            return []
        if self.anywhere:
            (pattern,) = self.path
            found = [
                match for match in pattern.finditer(path) if not re.search("[/@]", path[: match.start()])
            ]
            return [self._said(match, path[: match.start()]) for match in found]
        found = next(filter(None, (pattern.fullmatch(path) for pattern in self.path)), None)
        return [self._said(found)] if found else []

    def is_beside(self, path: str) -> bool:
        """Whether a file is the platform's own and says nothing about anybody."""
        return any(pattern.fullmatch(path) for pattern in self.beside)

    def is_receipt(self, path: str) -> bool:
        """Whether a file is what the platform itself wrote about somebody's attempt."""
        return any(pattern.fullmatch(path) for pattern in self.receipt)

    def _said(self, match: re.Match[str], name: str = "") -> Said:
        given = {key: value for key, value in match.groupdict().items() if value}
        names = (given.get("name"), " ".join(filter(None, (given.get("first"), given.get("last")))), name)
        written = given.get("when", "")
        when = _time(written, self.dates) if written else None
        return Said(
            called="" if self.anonymous else next(filter(None, names), ""),
            anonymous=self.anonymous,
            login=given.get("login") or given.get("email") or "",
            number=given.get("number", ""),
            attempt=int(given.get("attempt", 0)),
            when=when,
            unclear="" if when else written,
            late="late" in given,
            order=int(given.get("order", 0)),
            file=given.get("file") or given.get("typed") or "",
            title=given["title"] if "title" in given and not match.start("title") else "",
            who=given.get("who", ""),
            submission=given.get("submission", ""),
            name_ends=match.start(),
        )


@cache
def layouts() -> Mapping[str, Layout]:
    """All platforms that are known here, by name."""
    found = {}
    for entry in _data()["layout"]:
        patterns = {
            key: tuple(re.compile(text, re.DOTALL) for text in entry.get(key, ()))
            for key in ("path", "beside", "receipt", "metadata")
        }
        rest = {key: value for key, value in entry.items() if key not in patterns and key != "dates"}
        found[entry["name"]] = Layout(**rest, **patterns, dates=tuple(entry.get("dates", ())))
    return found


@cache
def _data() -> dict:
    return tomllib.loads(_DATA.read_text("utf-8"))


@cache
def _english() -> dict[str, str]:
    """Months in other languages -> in English."""
    return {word.casefold(): month for month, words in _data()["months"].items() for word in words}


def _time(text: str, formats: Iterable[str]) -> datetime | None:
    """The time that a platform has written; None if it is not understood."""
    words = re.split(r"(\W+)", text.replace("a.m.", "AM").replace("p.m.", "PM"))
    english = "".join(_english().get(word.casefold(), word) for word in words)
    english = re.sub(r"(?<=[^\W\d])\.(?=\s)", "", english)  # févr.
    tidy = re.sub(r"(?<=\d)[.:h](?=\d{2}\b)", "", " ".join(english.split()))
    tidy = re.sub(r"(?<=\d)(?=[AP]M\b)", " ", tidy, flags=re.IGNORECASE)
    tidy = re.sub(r"(?<![\d-])(\d{3})(?= [AP]M\b|$)", r"0\1", tidy, flags=re.IGNORECASE)  # 905 PM
    for pattern in formats:
        try:
            return datetime.strptime(tidy, pattern)
        except ValueError:
            continue
    return None


class Titles:
    """Tells a login from the title before it, where a platform puts both into one name: the title is what all names share.

    Args:
        knows: whether a login is somebody's on the roster.
    """

    def __init__(self, layout: Layout, said: Iterable[Said], knows=lambda login: False) -> None:
        self.layout, self.knows = layout, knows
        self._names = sorted({each.who for each in said if each.who})

    @cached_property
    def title(self) -> str:
        """What all names begin with, with what follows it; empty if they share nothing, or there is only one."""
        if len(self._names) < 2:
            return ""
        shared = os.path.commonprefix(self._names)  # noqa: RUF071 (letters, not folders, are compared)
        return shared[: shared.rfind(self.layout.between) + 1]

    def login(self, who: str) -> str:
        """The login in a name."""
        places = [found.end() for found in re.finditer(re.escape(self.layout.between), who)]
        for place in places:
            if who[place:] and self.knows(who[place:]):
                return who[place:]
        return who.removeprefix(self.title) if self.title else who.rpartition(self.layout.between)[2]


def names_of_layouts() -> list[str]:
    """What ``--as`` takes."""
    return [*map(key, layouts()), STUDENTS, CLASSES]


def key(name: str) -> str:
    """A layout's name as it is typed."""
    return re.sub(r"\W+", "-", name.lower()).strip("-")
