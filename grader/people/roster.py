"""Who is in the course: a class list as a learning platform writes it, or one made by hand, in nbgrader's gradebook.

A list is understood by its headings, which ``headings.toml`` lists in many languages; only Canvas's gradebook export has a shape of its own.
What nbgrader has no column for (the section) is in a table of our own, which nbgrader ignores.
"""

from __future__ import annotations

import re
import shlex
import tomllib
import unicodedata
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher, get_close_matches
from functools import cache
from pathlib import Path

from grader.errors import GraderError
from grader.files import printable
from grader.people.students import folded, student_id
from grader.people.tables import Sheet, column_name, heading, listed, read_sheet, tidy
from grader.people.team_names import Spellings


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


Place = Callable[[str, int], str]
"""Where a list says something (the id, the e-mail address or Canvas's number) of the person of a number; empty if it has no rows."""


@dataclass(frozen=True)
class ClassList:
    """What a file says about people.

    Attributes:
        people: in the file's order.
        read: headings of the columns that say something about them.
        unused: all other headings.
        notes: sentences about what was assumed or left out.
        teams: id -> team, of those of whom the file says one; empty where it says that somebody is in none.
        place: “row 3, column B”, for a refusal.
    """

    people: tuple[Person, ...]
    read: tuple[str, ...]
    unused: tuple[str, ...]
    notes: tuple[str, ...] = ()
    teams: Mapping[str, str] = field(default_factory=dict)
    place: Place = lambda *_: ""


@dataclass(frozen=True)
class Joined:
    """A class list, in which people on the roster have the roster's id.

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


_KEYS = "“id”, “username”, “id number” or “email”"
_SIGNS_OF_CANVAS = ({"sis login id"}, {"sis user id"}, {"student", "id", "section"})


@cache
def _data() -> dict[str, dict[str, list[str]]]:
    return tomllib.loads(Path(__file__).with_name("headings.toml").read_text("utf-8"))


@cache
def words_of(field: str) -> tuple[str, ...]:
    """The headings that stand for something, in the order in which they count."""
    return tuple(map(heading, _data()["columns"][field]))


@cache
def worksheet_words(field: str) -> frozenset[str]:
    """The same for a column of Moodle's grading worksheet, or what *no* is there."""
    return frozenset(map(heading, _data()["worksheet"][field]))


@cache
def _known_headings() -> frozenset[str]:
    return frozenset(word for field in _data()["columns"] for word in words_of(field))


@cache
def _roles(kind: str) -> frozenset[str]:
    return frozenset(map(heading, _data()["roles"][kind]))


@cache
def _nobody() -> frozenset[str]:
    return frozenset(map(heading, _data()["rows"]["nobody"]))


def read_roster(file: Path) -> ClassList:
    """The people of a class list.

    Raises:
        GraderError: it cannot be read, its headings are not understood, or rows contradict each other. The message names up to
            ten rows.
    """
    needed = "It needs a line of headings, and a line for each student."
    read = read_sheet(file, _score, needed)
    if not (_is_canvas(read) or read.columns.keys() & {*words_of("id"), *words_of("email")}):
        shown = printable(", ".join(filter(None, read.headings)), 200)
        raise GraderError(
            f"{file} does not say who is who: its first line needs a heading {_KEYS}. It has: {shown}. "
            "Name the column with the ids so, or add its heading to grader/people/headings.toml."
        )
    sheet = _Sheet(read)
    people, others = sheet.people()
    read.refuse_faults()
    if not people:
        raise GraderError(f"{file} has headings, but no student. Export the list again.")
    named = [(place in sheet.used, text) for place, text in enumerate(read.headings) if text]
    notes = [*read.notes, _who_are_no_students(others)]
    return ClassList(
        tuple(people),
        tuple(text for is_used, text in named if is_used),
        tuple(text for is_used, text in named if not is_used),
        tuple(filter(None, notes)),
        sheet.teams,
        sheet.place,
    )


def _score(row: Sequence[str]) -> int:
    """How much a row looks like headings: how many of its cells are known, and more if one of them says who is who."""
    found = {heading(tidy(cell)) for cell in row} & _known_headings()
    if any(signs <= {heading(tidy(cell)) for cell in row} for signs in _SIGNS_OF_CANVAS):
        return 100 + len(found)
    return len(found) + (10 if found & {*words_of("id"), *words_of("email")} else 0)


def _who_are_no_students(others: Mapping[str, Sequence[str]]) -> str:
    """What to say about people with other roles."""
    if not others:
        return ""
    listed = "; ".join(
        f"{role}: {', '.join(names[:5])}{', …' if len(names) > 5 else ''}" for role, names in others.items()
    )
    return f"Left out, because they are no students: {printable(listed, 300)}."


def _is_canvas(read: Sheet) -> bool:
    """Whether Canvas has written it: "Student" is "last, first", and "ID" is Canvas's own number."""
    here = read.columns.keys()
    if "student" not in here or "id" not in here:
        return False
    if here & {"sis login id", "sis user id"}:
        return True
    name, number = read.columns["student"], read.columns["id"]
    if any(heading(row[name]) in _nobody() for _, row in read.rows):
        return "section" in here
    filled = [row for _, row in read.rows if row[name]]
    return (
        "section" in here
        and bool(filled)
        and all("," in row[name] and row[number].isdigit() for row in filled)
    )


class _Wrong(ValueError):
    """What is wrong with a row; ``args`` are the place of the column, and what to say."""


class _Sheet:
    """The people in a table whose headings are known."""

    def __init__(self, read: Sheet) -> None:
        self.read, self.columns = read, dict(read.columns)
        self.is_canvas = _is_canvas(read)
        ids = self.columns.keys() & {*words_of("id")}
        if not self.is_canvas and "student" in ids and ids != {"student"}:
            self.columns = {
                "name": self.columns.pop("student"),
                **self.columns,
            }  # the id is in another column
        self.marked = self._all_marked()
        self.teams: dict[str, str] = {}
        self._of_people: list[tuple[int, list[str]]] = []
        self._spellings = Spellings()
        read.see_that_each_is_there_once(self._words)

    def _all_marked(self) -> bool:
        """Whether all ids begin with #, which Brightspace puts before them so that no spreadsheet changes them."""
        ids = [cell for _, row in self.read.rows for cell in self._cells(row, words_of("id"))]
        return bool(ids) and all(cell.startswith("#") for cell in ids)

    @property
    def _words(self) -> Collection[str]:
        """The headings that say something."""
        if self.is_canvas:
            return ("student", "id", "sis user id", "sis login id", "section", *words_of("team"))
        return _known_headings()

    @property
    def used(self) -> set[int]:
        """The columns that say something."""
        return {self.columns[name] for name in self._words if name in self.columns}

    def people(self) -> tuple[list[Person], dict[str, list[str]]]:
        """The students; and role -> names of people who are not students. What is wrong is noted."""
        people: list[Person] = []
        others: dict[str, list[str]] = {}
        for line, row in self.read.rows:
            try:
                if self._is_nobody(row):
                    continue
                self._see_that_numbers_are_whole(row)
                person = self._from_canvas(row) if self.is_canvas else self._from_any(row)
                team = self._team(row)
            except _Wrong as error:
                self.read.fault(line, *error.args)
                continue
            if role := self._other_role(row):
                others.setdefault(role, []).append(person.name or person.student)
            else:
                people.append(person)
                self._of_people.append((line, row))
                if team is not None:
                    self.teams[person.student] = team

        def where(what: str, first: int, second: int) -> str:
            return f"{self.place(what, second)} (and row {self._of_people[first][0]}): "

        found = contradictions(people, where)
        self.read.faults.extend(f"{each} Delete one of the rows, or correct it." for each in found)
        return people, others

    def place(self, what: str, number: int) -> str:
        """Where it says something of ``_VALUES`` of the person of a number."""
        line, row = self._of_people[number]
        return f"row {line}, column {column_name(self._place_of(what, row))}"

    def _place_of(self, what: str, row: Sequence[str]) -> int:
        """The column that says something of ``_VALUES``, the first one in which the row has something."""
        if self.is_canvas:
            words = ("id",) if what == _NUMBER else ("sis login id", "sis user id", "id")
        else:
            words = words_of("canvas") if what == _NUMBER else (*words_of("id"), *words_of("email"))
            words = words_of("email") if what == _ADDRESS else words
        places = [self.columns[word] for word in words if word in self.columns]
        return next((place for place in places if row[place]), places[0] if places else 0)

    def _team(self, row: Sequence[str]) -> str | None:
        """The team that a row names, empty for none; None if it says nothing about it.

        Raises:
            _Wrong: it cannot be one.
        """
        for word in words_of("team"):
            if word in self.columns and (text := row[self.columns[word]]):
                try:
                    return self._spellings.team(text)
                except ValueError as error:
                    raise _Wrong(self.columns[word], str(error)) from None
        return None

    def _cells(self, row: Sequence[str], names: Iterable[str]) -> list[str]:
        places = (self.columns[name] for name in names if name in self.columns)
        return [row[place] for place in places if place < len(row) and row[place]]

    def _cell(self, row: Sequence[str], field: str) -> str:
        """The first of the columns for something that the row has something in."""
        return next(iter(self._cells(row, words_of(field))), "")

    def _is_nobody(self, row: Sequence[str]) -> bool:
        """Whether a row is no person: Canvas's points and its made-up student, or headings that are repeated."""
        names = self._cells(row, ["student", *words_of("name")])
        first_last = f"{self._cell(row, 'first')} {self._cell(row, 'last')}".strip()
        if any(heading(name) in _nobody() for name in [*names, first_last]):
            return True
        if self.is_canvas and not self._cells(row, ["student", "id"]):
            return True
        return list(map(heading, row)) == list(map(heading, self.read.headings))

    def _see_that_numbers_are_whole(self, row: Sequence[str]) -> None:
        """
        Raises:
            _Wrong: a spreadsheet has shortened a number that should be an id.
        """
        names = (
            ("id", "sis user id", "sis login id")
            if self.is_canvas
            else (*words_of("id"), *words_of("canvas"))
        )
        for place in sorted(self.columns[name] for name in names if name in self.columns):
            if re.fullmatch(r"#?\d+(?:[.,]\d+)?[Ee]\+?\d+", row[place]):
                raise _Wrong(
                    place,
                    f"{row[place]!r} is an id that a spreadsheet has shortened, so its last digits are lost. Export "
                    "the list again and import it without opening it in a spreadsheet, or give the column the format “text” there first.",
                )

    def _other_role(self, row: Sequence[str]) -> str:
        """The role of somebody who is no student; empty for students, and where nothing is said."""
        said = self._cell(row, "role")
        roles = {heading(part) for part in [said, *re.split(r"[,;/|]", said)]} - {""}
        return said if roles & _roles("other") and not roles & _roles("student") else ""

    def _id(self, text: str) -> str:
        if self.marked:
            text = text.removeprefix("#")
        whole = re.fullmatch(r"(\d+)\.0", text)  # as a spreadsheet writes a whole number
        return whole[1] if whole else text

    def _from_canvas(self, row: Sequence[str]) -> Person:
        """
        Raises:
            _Wrong: there is nothing in it that could be an id.
        """
        name = next(iter(self._cells(row, ["student"])), "")
        last, _, first = (part.strip() for part in name.partition(","))
        login = next(iter(self._cells(row, ["sis login id", "sis user id"])), "")
        number = self._id(next(iter(self._cells(row, ["id"])), ""))
        if number and not re.fullmatch("[0-9]{1,20}", number):
            raise _Wrong(
                self.columns["id"],
                f"{number!r} is not one of Canvas's numbers. Export the list again, or correct it",
            )
        if not login and not number:
            raise _Wrong(
                self.columns["id"],
                f"{name!r} has neither a login nor a number. Write Canvas's number here, or delete the row",
            )
        identity = student_id(login) if login else student_id(re.sub(r"\W", "", name.casefold()), number)
        email = login if "@" in login else ""
        return Person(identity, first, last, email, self._cell(row, "section"), number)

    def _from_any(self, row: Sequence[str]) -> Person:
        """
        Raises:
            _Wrong: there is nothing in it that could be an id.
        """
        first, last = self._cell(row, "first"), self._cell(row, "last")
        if not (first or last):
            first, last = _split(self._cell(row, "name"))
        email = self._cell(row, "email")
        identity = self._id(self._cell(row, "id")) or email
        if not identity:
            raise _Wrong(
                self._place_of(_ID, row),
                f"it has no id. One of the columns {_KEYS} is needed: fill it, or delete the row",
            )
        return Person(
            student_id(identity),
            first,
            last,
            email,
            self._cell(row, "section"),
            self._id(self._cell(row, "canvas")),
        )


def _split(name: str) -> tuple[str, str]:
    """First and last name. Without a comma, the last word is the last name."""
    if "," in name:
        last, _, first = name.partition(",")
    else:
        first, _, last = name.rpartition(" ")
    return first.strip(), last.strip()


_ID, _ADDRESS, _NUMBER = "the id", "the e-mail address", "Canvas's number"
_VALUES: dict[str, Callable[[Person], str]] = {
    _ID: lambda person: folded(person.student),
    _ADDRESS: lambda person: person.email.casefold(),
    _NUMBER: lambda person: person.canvas,
}
"""What two people cannot both have."""


def in_rows(place: Place, *said: tuple[str, int]) -> str:
    """What a sentence about rows of a list begins with; empty if the list has none."""
    places = [place(*each) for each in said]
    return f"{', and '.join(places)}: " if all(places) else ""


def contradictions(
    people: Sequence[Person], where: Callable[[str, int, int], str] = lambda *_: ""
) -> list[str]:
    """Ids, e-mail addresses and numbers that two people have.

    Args:
        where: what a fault begins with: it gets what they have, and the numbers of both.
    """
    faults = []
    for what, value_of in _VALUES.items():
        owner: dict[str, int] = {}
        for number, person in enumerate(people):
            value = value_of(person)
            if value and (first := owner.setdefault(value, number)) != number:
                other = people[first]
                faults.append(
                    f"{where(what, first, number)}{other.name or other.student!r} and {person.name or person.student!r} have {what} {value!r}."
                )
    return faults


def joined(
    before: Mapping[str, Person],
    people: Sequence[Person],
    same_names: bool | None = None,
    where: str = "The list",
    place: Place = lambda *_: "",
) -> Joined:
    """The people of a list, each under the id that the roster has for this person: found by the id, then by Canvas's number, then by the
    e-mail address. What the list says nothing about stays as the roster has it: a list from Moodle has no numbers of Canvas's, and one
    from Canvas no e-mail addresses.

    Args:
        before: id -> who is on the roster.
        same_names: whether a name alone says that somebody with a new id is the one on the roster who has it; None: that is not known.
        where: what the list is called in a message, as the first words of a sentence.
        place: see :class:`ClassList`.

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
        _see_that_each_is_one(people, doubtful, where, place)
        found = [
            doubtful[number][0].student if number in doubtful else who for number, who in enumerate(found)
        ]
        doubtful = {}
    now = [_with(before[who], each) if who else each for who, each in zip(found, people, strict=True)]
    if faults := _two_in_one(before, people, now, place) + _one_in_two(before, people, now, place):
        raise GraderError(f"{where} contradicts the roster; nothing has changed.{listed(faults)}")
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


def _see_that_each_is_one(
    people: Sequence[Person], candidates: Mapping[int, Sequence[Person]], where: str, place: Place
) -> None:
    """
    Raises:
        GraderError: a name fits several people on the roster, or several in the list.
    """
    names = [_called(people[number].name) for number in candidates]
    several = [
        f"{in_rows(place, (_ID, number))}{people[number].name} ({people[number].student}): {', '.join(one.student for one in who)} on the roster"
        for number, who in candidates.items()
        if len(who) > 1 or names.count(_called(people[number].name)) > 1
    ]
    if several:
        raise GraderError(
            f"{where} contradicts the roster: these names do not say who is who. Nothing has changed. Write the roster's ids into the list's column for ids:"
            + listed(several)
        )


def _two_in_one(
    before: Mapping[str, Person], people: Sequence[Person], now: Sequence[Person], place: Place
) -> list[str]:
    """What is wrong where two lines of a list are one person on the roster."""
    faults = []
    first: dict[str, int] = {}
    for number, each in enumerate(now):
        if (other := first.setdefault(each.student, number)) != number:
            both = [(_known_by(people[one], before.get(each.student)), one) for one in (other, number)]
            faults.append(
                f"{in_rows(place, *both)}{people[other].student!r} and {people[number].student!r} are both {each.student!r} on the roster. "
                f"Delete one of them, or correct what is wrong: {' or '.join(dict.fromkeys(what for what, _ in both))}."
            )
    return faults


def _known_by(now: Person, before: Person | None) -> str:
    """By what somebody in a list is known to be the person on the roster."""
    same = (what for what, value in _VALUES.items() if before and value(now) and value(now) == value(before))
    return next(same, _ID)


def _one_in_two(
    before: Mapping[str, Person], people: Sequence[Person], now: Sequence[Person], place: Place
) -> list[str]:
    """What is wrong where two ids would have one e-mail address or number after an import."""
    faults = []
    numbers = {each.student: number for number, each in enumerate(now)}
    after = {**before, **{each.student: each for each in now}}
    for what in (_ADDRESS, _NUMBER):
        owners: dict[str, list[str]] = {}
        for student, each in after.items():
            if value := _VALUES[what](each):
                owners.setdefault(value, []).append(student)
        for value, who in owners.items():
            # last, whom the list gives it
            who.sort(
                key=lambda one: (
                    one in numbers,
                    one in numbers and _VALUES[what](people[numbers[one]]) == value,
                )
            )
            old, new = who[0], who[-1]
            if old != new and new in numbers:
                faults.append(
                    f"{in_rows(place, (what, numbers[new]))}{new!r} would have {what} {value!r}, which {old!r} has. If they are one person: "
                    f"grader roster merge {shlex.quote(old)} {shlex.quote(new)}. If not, correct {what}."
                )
    return faults


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
    wanted = heading(section)
    found = {each.student for each in people if wanted in map(heading, (each.section, *each.sections))}
    if not wanted or not found:
        sections = sorted({part for each in people for part in each.sections})
        there = f"Sections: {', '.join(sections)}." if sections else _NO_SECTIONS
        raise GraderError(f"There is no section {section!r}. {there}")
    return frozenset(found)


# ---------------------------------------------------------------------------------- whose work it is


_MOST_ALIKE = 8
"""At most this many people are offered."""
_AS_ALIKE = 0.1
"""Of the letters: who is less alike than the closest by more than this is not offered."""


def described(person: Person) -> str:
    """The id, with the name if there is one."""
    return f"{person.student} ({person.name})" if person.name else person.student


class NotSure(Exception):
    """Several people on the roster could be meant. ``args[0]`` has them."""


class Roster:
    """Finds people by what an LMS, a system, or the name of a file calls them. An empty one finds nobody.

    There is this one way for all ways in: folders, archives, the exchange, requests, and what an instructor types.
    """

    def __init__(self, people: Iterable[Person] = ()) -> None:
        self.people = {person.student: person for person in people}
        self._ids = {folded(student): student for student in self.people}
        self._canvas = {person.canvas: person for person in self.people.values() if person.canvas}
        self._logins: dict[str, list[Person]] = {}
        self._called: dict[str, list[Person]] = {}
        for person in self.people.values():
            for login in _logins(person):
                self._logins.setdefault(login, []).append(person)
            for way in _ways(person):
                self._called.setdefault(way, []).append(person)

    def by_id(self, student: str) -> Person | None:
        """Somebody by the id, whatever its capitals."""
        found = self._ids.get(folded(student))
        return self.people[found] if found else None

    def find(self, login: str = "", name: str = "", canvas: str = "") -> Person | None:
        """Somebody by whatever is known: Canvas's number counts first, then an id, then an address, then a name.

        Args:
            login: an id, a user's name on a system, or an e-mail address. It has to be the very same, but for capitals, and for a
                domain that only one of the two has.
            name: a name, in either order and as freely as LMSs write it, or an address.
            canvas: Canvas's number. A name then finds only people whose number is not known.

        Raises:
            NotSure: several people may be meant.
        """
        if canvas and canvas in self._canvas:
            return self._canvas[canvas]
        if login and (person := self.by_id(login) or self._by_login(login)):
            return person
        return self.by_name(name, without_canvas=bool(canvas)) if name else None

    def others(self, person: Person, logins: Iterable[str], name: str) -> list[Person]:
        """Who else may be meant by what is said of somebody beside; nobody by an id, address or name that is not known.

        Args:
            logins, name: as for :meth:`find`.
        """
        found: list[Person] = []
        for login, called in [*((login, "") for login in logins), ("", name)]:
            try:
                those = [self.find(login, called)]
            except NotSure as error:
                those = error.args[0]
            found += [] if person in those else [each for each in those if each]
        return found

    def meant(self, text: str) -> str:
        """The id of whom somebody who types an id, an address or a name means; the text itself if that is nobody on the roster.

        Raises:
            GraderError: several people may be meant.
        """
        try:
            person = self.find(text, text)
        except NotSure as error:
            listed = ", ".join(f"{each.student} ({each.name})" for each in error.args[0][:10])
            raise GraderError(f"{text!r} may be several people: {listed}. Give the id.") from None
        return person.student if person else text

    def known(self, text: str, others: Collection[str] = ()) -> str:
        """The id of whom somebody who types an id, an address or a name means; the text itself where nobody is on the roster.

        Args:
            others: ids that are known from elsewhere, such as those of work that was collected.

        Raises:
            GraderError: that is nobody on the roster, or several people may be meant.
        """
        if text in others:
            return text
        meant = self.meant(text)
        if self.people and meant not in self.people and meant not in others:
            raise GraderError(
                f"{text!r} is not on the roster.{self.near(text)} `grader roster` lists the ids."
            )
        return meant

    def alike(self, text: str) -> list[Person]:
        """Who may be meant by what somebody has typed, or by the name of a folder.

        That is everybody of whose name it is a part, or else those whose name or id is spelt most like it, the closest first.
        """
        words = set(folded(text).split())
        called = [each for each in self.people.values() if words and words <= {*folded(each.name).split()}]
        if called:
            return sorted(called, key=lambda each: (each.last_name, each.first_name, each.student))
        spelt: dict[str, list[Person]] = {}
        for each in self.people.values():
            names = {each.name, f"{each.last_name} {each.first_name}".strip(), each.student}
            for name in {*names, *(each.name.split() if len(words) == 1 else ())}:
                spelt.setdefault(folded(name), []).append(each)
        wanted = " ".join(folded(text).split())
        found = get_close_matches(wanted, spelt, _MOST_ALIKE)
        best = max((SequenceMatcher(None, each, wanted).ratio() for each in found), default=0.0)
        close = [each for each in found if SequenceMatcher(None, each, wanted).ratio() >= best - _AS_ALIKE]
        return list({each.student: each for name in close for each in spelt[name]}.values())

    def near(self, text: str) -> str:
        """A question whether one of :meth:`alike` was meant; empty if there is nobody."""
        near = [described(each) for each in self.alike(text)]
        more = [f"one of {len(near) - _MOST_ALIKE} more"] if len(near) > _MOST_ALIKE else []
        near = [*near[:_MOST_ALIKE], *more]
        return f" Did you mean {', '.join(near[:-1])}{' or ' if near[1:] else ''}{near[-1]}?" if near else ""

    def _by_login(self, login: str) -> Person | None:
        """
        Raises:
            NotSure: several have this address.
        """
        wanted = folded(login)
        if not (found := self._logins.get(wanted, [])):
            local, at, _ = wanted.partition("@")
            alone = (
                self.by_id(local) if at else None
            )  # an id without a domain, unless another address says otherwise
            return alone if alone and not alone.email else None
        if len(found) > 1:
            raise NotSure(found)
        return found[0]

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
    given = folded(name)
    return given == folded(person.student) or given in _logins(person) or _called(name) in _ways(person)


def _logins(person: Person) -> set[str]:
    """Somebody's addresses, and what stands before the @ in them."""
    addresses = [folded(text) for text in (person.email, person.student) if "@" in text]
    return {way for text in addresses for way in (text, text.partition("@")[0])} - {""}


def _names(person: Person) -> set[str]:
    """A name in either order, as far as it counts."""
    return {_called(way) for way in (person.name, f"{person.last_name} {person.first_name}")} - {""}


def _ways(person: Person) -> set[str]:
    """What somebody on the roster may be called, as far as it counts."""
    return _names(person) | {_called(way) for way in (person.email, person.email.partition("@")[0])} - {""}


def _called(name: str) -> str:
    """A name as far as it counts: LMSs leave out blanks, hyphens and capitals."""
    return re.sub(r"[\W_]", "", unicodedata.normalize("NFKC", name).casefold())
