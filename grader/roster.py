"""Who is in the course: a class list as an LMS writes it, or one made by hand, in nbgrader's gradebook.

Read are CSV files of four kinds, told apart by their headings: Canvas's gradebook export, Moodle's list of participants,
nbgrader's own (``nbgrader db student import``), and any other with a column ``id`` or ``student``. What nbgrader has no
column for (the section) is in a table of our own, which nbgrader ignores.
"""

from __future__ import annotations

import csv
import io
import re
import shlex
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from grader.errors import GraderError
from grader.receive.files import printable
from grader.receive.students import folded, student_id

_MAX_BYTES = 20 * 2**20
_MAX_FAULTS = 10
"""So many faults of a file are named at once."""


@dataclass(frozen=True)
class Person:
    """Somebody on the roster.

    Attributes:
        student: the id, which is also the name of the folder in ``grading/submitted``.
        canvas: Canvas's number, which is the same in all assignments.
        section: the group or section; empty if there is none.
    """

    student: str
    first_name: str = ""
    last_name: str = ""
    email: str = ""
    section: str = ""
    canvas: str = ""

    @property
    def name(self) -> str:
        return " ".join(filter(None, (self.first_name, self.last_name)))

    @property
    def sections(self) -> tuple[str, ...]:
        """All sections: LMSs write several as “A, B” or “A and B”."""
        parts = re.split(r"\s*[,;]\s*(?:and\s+)?|\s+and\s+", self.section)
        return tuple(part for part in parts if part)


@dataclass(frozen=True)
class ClassList:
    """What a file says about people.

    Attributes:
        people: in the file's order.
        read: headings of the columns that say something about them.
        unused: all other headings.
    """

    people: tuple[Person, ...]
    read: tuple[str, ...]
    unused: tuple[str, ...]


@dataclass(frozen=True)
class Joined:
    """A class list, with whoever is on the roster under the roster's id.

    Attributes:
        known_as: id in the list -> another id that this person has on the roster, and keeps.
        doubtful: people with a new id and the name of somebody on the roster who is not in the list, and all who it may be. None of
            them is taken for another.
    """

    people: tuple[Person, ...]
    known_as: Mapping[str, str]
    doubtful: tuple[tuple[Person, tuple[Person, ...]], ...] = ()


@dataclass(frozen=True)
class Change:
    """What an import does to the roster: ids of people who are new, of those of whom something changes, and of those whom the
    file does not have. The last ones stay.
    """

    new: tuple[str, ...]
    changed: tuple[str, ...]
    absent: tuple[str, ...]


_ID = ("id", "student id", "student", "username", "login", "user", "id number")
_FIRST = ("first name", "firstname", "given name")
_LAST = ("last name", "lastname", "surname", "family name")
_NAME = ("name", "full name", "student name")
_EMAIL = ("email", "email address", "e-mail", "mail")
_SECTION = ("section", "sections", "group", "groups", "class")
_KEYS = "“id”, “username”, “id number” or “email”"
_CANVAS = ("canvas", "canvas id", "canvas number", "lms user id")


_USED_OF_CANVAS = ("student", "id", "sis user id", "sis login id", "section")
_USED_OF_ANY = (*_ID, *_FIRST, *_LAST, *_NAME, *_EMAIL, *_SECTION, *_CANVAS)


def read_roster(file: Path) -> ClassList:
    """The people of a class list.

    Raises:
        GraderError: it cannot be read, its headings are not understood, or rows contradict each other. The message names up to
            ten rows.
    """
    rows = _rows(file)
    if not rows:
        raise GraderError(f"{file} is empty. It needs a line of headings, and a line for each student.")
    _, headings = rows[0]
    columns = {_heading(text): place for place, text in reversed(list(enumerate(headings)))}
    reader = _from_canvas if "sis login id" in columns else _from_any
    if reader is _from_any and "student" in columns and columns.keys() & {*_ID} != {"student"}:
        columns = {"name": columns.pop("student"), **columns}  # the id is in another column
    if reader is _from_any and not columns.keys() & {*_ID, *_EMAIL}:
        raise GraderError(
            f"{file} does not say who is who: its first line needs a heading {_KEYS}. It has: {printable(', '.join(headings), 200)}."
        )
    people: list[Person] = []
    faults: list[str] = []
    for line, row in rows[1:]:
        row = [cell.strip() for cell in row] + [""] * (len(headings) - len(row))
        if not any(row):
            continue
        if any(row[len(headings) :]):
            faults.append(
                f"line {line}: it has more cells than there are headings. A comma inside a cell needs quotes around the cell."
            )
            continue
        try:
            if person := reader(columns, row):
                people.append(person)
        except ValueError as error:
            faults.append(f"line {line}: {error}")
    faults += _contradictions(people)
    if faults:
        raise GraderError(f"{file} was not imported; nothing has changed.{_listed(faults)}")
    if not people:
        raise GraderError(f"{file} has headings, but no student. Export the list again.")
    used = {
        columns[name]
        for name in (_USED_OF_CANVAS if reader is _from_canvas else _USED_OF_ANY)
        if name in columns
    }
    named = [(place in used, text.strip()) for place, text in enumerate(headings) if text.strip()]
    return ClassList(
        tuple(people),
        tuple(text for is_used, text in named if is_used),
        tuple(text for is_used, text in named if not is_used),
    )


def _rows(file: Path) -> list[tuple[int, list[str]]]:
    """The rows, each with the number of its last line."""
    try:
        if file.stat().st_size > _MAX_BYTES:
            raise GraderError(f"{file} is larger than {_MAX_BYTES // 2**20} MiB. Is it the class list?")
        data = file.read_bytes()
    except OSError as error:
        raise GraderError(f"{file} cannot be read: {error.strerror}.") from None
    encoding = "utf-16" if data[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig"
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError:
        raise GraderError(
            f"{file} is not a CSV file in UTF-8. In a spreadsheet, save it as “CSV UTF-8”."
        ) from None
    first = text.partition("\n")[0]
    delimiter = max(",;\t", key=first.count)
    try:
        reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
        return [(reader.line_num, row) for row in reader]
    except csv.Error as error:
        raise GraderError(
            f"{file} cannot be read as a table, around line {reader.line_num}: {error}."
        ) from None


def _heading(text: str) -> str:
    return re.sub(r"[\s_]+", " ", unicodedata.normalize("NFC", text)).strip().casefold()


def _cell(columns: Mapping[str, int], row: Sequence[str], names: Iterable[str]) -> str:
    """The first of the columns that the row has something in."""
    return next((row[columns[name]] for name in names if name in columns and row[columns[name]]), "")


def _from_canvas(columns: Mapping[str, int], row: Sequence[str]) -> Person | None:
    """A row of Canvas's gradebook: "Student" is "last, first", "ID" is Canvas's own number.

    Raises:
        ValueError: there is nothing in it that could be an id.
    """
    name = _cell(columns, row, ["student"])
    if name.casefold() in ("points possible", "student, test") or not (name or _cell(columns, row, ["id"])):
        return None
    last, _, first = (part.strip() for part in name.partition(","))
    login = _cell(columns, row, ["sis login id", "sis user id"])
    number = _cell(columns, row, ["id"])
    if number and not re.fullmatch("[0-9]{1,20}", number):
        raise ValueError(f"{number!r} is not one of Canvas's numbers.")
    if not login and not number:
        raise ValueError(f"{name!r} has neither a login nor a number.")
    identity = student_id(login) if login else student_id(re.sub(r"\W", "", name.casefold()), number)
    email = login if "@" in login else ""
    return Person(identity, first, last, email, _cell(columns, row, ["section"]), number)


def _from_any(columns: Mapping[str, int], row: Sequence[str]) -> Person:
    """A row of Moodle's participants, of nbgrader's list, or of one made by hand.

    Raises:
        ValueError: there is nothing in it that could be an id.
    """
    first, last = _cell(columns, row, _FIRST), _cell(columns, row, _LAST)
    if not (first or last):
        first, last = _split(_cell(columns, row, _NAME))
    email = _cell(columns, row, _EMAIL)
    identity = _cell(columns, row, _ID) or email
    if not identity:
        raise ValueError(f"it has no id. One of the columns {_KEYS} is needed.")
    canvas = _cell(columns, row, _CANVAS)
    return Person(student_id(identity), first, last, email, _cell(columns, row, _SECTION), canvas)


def _split(name: str) -> tuple[str, str]:
    """First and last name. Without a comma, the last word is the last name."""
    if "," in name:
        last, _, first = name.partition(",")
    else:
        first, _, last = name.rpartition(" ")
    return first.strip(), last.strip()


def _listed(lines: Sequence[str]) -> str:
    """A line each, below a message; of many, the first ones."""
    more = [f"and {len(lines) - _MAX_FAULTS} more"] if len(lines) > _MAX_FAULTS else []
    return "".join(f"\n  {line}" for line in [*lines[:_MAX_FAULTS], *more])


_UNIQUE: tuple[tuple[str, Callable[[Person], str]], ...] = (
    ("the e-mail address", lambda person: person.email.casefold()),
    ("Canvas's number", lambda person: person.canvas),
)
"""What two people cannot both have, besides an id."""


def _contradictions(people: Sequence[Person]) -> list[str]:
    """Ids, e-mail addresses and numbers that two rows have."""
    faults = []
    for what, value_of in (("the id", lambda person: folded(person.student)), *_UNIQUE):
        owner: dict[str, Person] = {}
        for person in people:
            value = value_of(person)
            other = owner.setdefault(value, person) if value else person
            if other is not person:
                faults.append(
                    f"{other.name or other.student!r} and {person.name or person.student!r} have {what} {value!r}."
                )
    return faults


def joined(before: Mapping[str, Person], people: Sequence[Person], same_names: bool | None = None) -> Joined:
    """The people of a list, each under the id that the roster has for this person: found by the id, then by Canvas's number, then by the
    e-mail address. What the list says nothing about stays as the roster has it: a list from Moodle has no numbers of Canvas's, and one
    from Canvas no e-mail addresses.

    Args:
        before: id -> who is on the roster.
        same_names: whether a name alone says that somebody with a new id is the one on the roster who has it; None: that is not known.

    Raises:
        GraderError: the list says of one person what the roster says of another; or a name that should say who it is fits several.
    """
    ids = {folded(student): student for student in before}
    by_canvas = {each.canvas: student for student, each in before.items() if each.canvas}
    by_email = {each.email.casefold(): student for student, each in before.items() if each.email}
    found = [
        ids.get(folded(each.student)) or by_canvas.get(each.canvas) or by_email.get(each.email.casefold())
        for each in people
    ]
    doubtful = _called_like_others(before, people, found) if same_names is not False else {}
    if same_names:
        _see_that_each_is_one(people, doubtful)
        found = [doubtful[place][0].student if place in doubtful else who for place, who in enumerate(found)]
        doubtful = {}
    now = [_with(before[who], each) if who else each for who, each in zip(found, people, strict=True)]
    _see_that_nobody_is_two(before, people, now)
    return Joined(
        tuple(now),
        {each.student: who for who, each in zip(found, people, strict=True) if who and who != each.student},
        tuple((people[place], candidates) for place, candidates in doubtful.items()),
    )


def _called_like_others(
    before: Mapping[str, Person], people: Sequence[Person], found: Sequence[str | None]
) -> dict[int, tuple[Person, ...]]:
    """Place in the list of somebody who is new -> all on the roster who have the same name, are not in the list, and may be the same."""
    rest: dict[str, list[Person]] = {}
    for student in before.keys() - {*found}:
        for way in _names(before[student]):
            rest.setdefault(way, []).append(before[student])
    candidates = {}
    for place, (who, each) in enumerate(zip(found, people, strict=True)):
        if who is None and (name := _called(each.name)):
            fitting = [
                one for one in rest.get(name, ()) if not (one.canvas and each.canvas)
            ]  # the numbers differ
            if fitting:
                candidates[place] = tuple(sorted(fitting, key=lambda one: one.student))
    return candidates


def _see_that_each_is_one(people: Sequence[Person], candidates: Mapping[int, Sequence[Person]]) -> None:
    """
    Raises:
        GraderError: a name fits several people on the roster, or several in the list.
    """
    names = [_called(people[place].name) for place in candidates]
    several = [
        f"{people[place].name} ({people[place].student}): {', '.join(one.student for one in who)} on the roster"
        for place, who in candidates.items()
        if len(who) > 1 or names.count(_called(people[place].name)) > 1
    ]
    if several:
        raise GraderError(
            "These names do not say who is who. Nothing has changed. Write the roster's ids into the list's column for ids:"
            + _listed(several)
        )


def _see_that_nobody_is_two(
    before: Mapping[str, Person], people: Sequence[Person], now: Sequence[Person]
) -> None:
    """
    Raises:
        GraderError: after the import, two ids would have one e-mail address or number, or two lines of the list one id.
    """
    faults = []
    lines: dict[str, Person] = {}
    for given, each in zip(people, now, strict=True):
        if (other := lines.setdefault(each.student, given)) is not given:
            faults.append(
                f"{other.student!r} and {given.student!r} of the list are both {each.student!r} on the roster, by their ids, numbers or e-mail addresses."
            )
    after = {**before, **{each.student: each for each in now}}
    for what, value_of in _UNIQUE:
        owners: dict[str, list[str]] = {}
        for student, each in after.items():
            if value := value_of(each):
                owners.setdefault(value, []).append(student)
        for value, who in owners.items():
            if len(who) > 1 and lines.keys() & {*who}:
                old, new = sorted(who, key=lambda one: one in lines)[:2]
                faults.append(
                    f"{new!r} would have {what} {value!r}, which {old!r} has. If they are one person: "
                    f"grader roster merge {shlex.quote(old)} {shlex.quote(new)}"
                )
    if faults:
        raise GraderError(f"The list contradicts the roster. Nothing has changed.{_listed(faults)}")


def _with(before: Person, now: Person) -> Person:
    named = now if now.name else before  # both parts of a name belong together
    return Person(
        before.student,
        named.first_name,
        named.last_name,
        now.email or before.email,
        now.section or before.section,
        now.canvas or before.canvas,
    )


def changes(before: Mapping[str, Person], people: Sequence[Person]) -> Change:
    """What importing these people would do.

    Args:
        before: id -> who is on the roster.
    """
    new = tuple(person.student for person in people if person.student not in before)
    changed = tuple(
        person.student for person in people if person.student in before and before[person.student] != person
    )
    here = {person.student for person in people}
    return Change(new, changed, tuple(sorted(set(before) - here)))


_NO_SECTIONS = "Nobody on the roster has one: import a class list with a column `section`, with `grader roster import FILE`."


def in_section(people: Iterable[Person], section: str) -> frozenset[str]:
    """The ids of those who are in a section, whatever its capitals.

    Raises:
        GraderError: there is no such section; the message lists those that there are.
    """
    people = list(people)
    wanted = _heading(section)
    found = {each.student for each in people if wanted in map(_heading, (each.section, *each.sections))}
    if not wanted or not found:
        sections = sorted({part for each in people for part in each.sections})
        there = f"Sections: {', '.join(sections)}." if sections else _NO_SECTIONS
        raise GraderError(f"There is no section {section!r}. {there}")
    return frozenset(found)


# ---------------------------------------------------------------------------------- whose work it is


class NotSure(Exception):
    """Several people on the roster could be meant. ``args[0]`` has them."""


class Roster:
    """Finds people by what an LMS, or whoever named a file, calls them. An empty one finds nobody."""

    def __init__(self, people: Iterable[Person] = ()) -> None:
        self.people = {person.student: person for person in people}
        self._ids = {folded(student): student for student in self.people}
        self._canvas = {person.canvas: person for person in self.people.values() if person.canvas}
        self._called: dict[str, list[Person]] = {}
        for person in self.people.values():
            for way in _ways(person):
                self._called.setdefault(way, []).append(person)

    def by_id(self, student: str) -> Person | None:
        """Somebody by the id, whatever its capitals."""
        found = self._ids.get(folded(student))
        return self.people[found] if found else None

    def by_canvas(self, number: str, name: str) -> Person | None:
        """Somebody by Canvas's number; where the roster has none, by the name as Canvas writes it in a file's name.

        Raises:
            NotSure: several have this name.
        """
        return self._canvas.get(number) or self.by_name(name, without_canvas=True)

    def by_name(self, name: str, without_canvas: bool = False) -> Person | None:
        """Somebody by name (in either order) or e-mail address.

        Args:
            without_canvas: only among those whose number in Canvas is not known.

        Raises:
            NotSure: several are called so.
        """
        found = [each for each in self._called.get(_called(name), ()) if not (without_canvas and each.canvas)]
        if len(found) > 1:
            raise NotSure(found)
        return found[0] if found else None


def is_called(person: Person, name: str) -> bool:
    """Whether a name says no more than the roster does: it is the person's id, name (in either order) or e-mail address."""
    return folded(name) == folded(person.student) or _called(name) in _ways(person)


def _names(person: Person) -> set[str]:
    """A name in either order, as far as it counts."""
    return {_called(way) for way in (person.name, f"{person.last_name} {person.first_name}")} - {""}


def _ways(person: Person) -> set[str]:
    """What somebody on the roster may be called, as far as it counts."""
    return _names(person) | {_called(way) for way in (person.email, person.email.partition("@")[0])} - {""}


def _called(name: str) -> str:
    """A name as far as it counts: LMSs leave out blanks, hyphens and capitals."""
    return re.sub(r"[\W_]", "", unicodedata.normalize("NFKC", name).casefold())
