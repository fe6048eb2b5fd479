"""Whose each file of an archive is, judging by the names that a learning platform gives to what it packs, or by our own scheme.

Learners choose the names of their files, and often their own names. So all names together decide who packed an archive, once for the
whole archive (:mod:`grader.receive.recognise`), and only what the platform wrote says whose a file is (:mod:`grader.receive.layouts`).
Canvas removes ``_123_`` from names, and after that every character that is not a letter or digit, so that ``_-123_`` gets through. A file whose
name can mean two users is nobody's.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any
from zoneinfo import ZoneInfo

from grader.files import Unreadable, printable
from grader.people.roster import NotSure, Roster
from grader.people.students import folded, number_in_id, stored_moodle_number, student_id
from grader.receive.layouts import Layout, Said, Titles, layouts
from grader.receive.metadata import submitters
from grader.receive.sources import Offer, is_zip, leads_out
from grader.reference.lab import Lab

NOTEBOOK = re.compile(
    r"(?P<stem>.+?)(?P<version>-[0-9]{1,4}| ?\([0-9]{1,4}\))?\.ipynb(?:\.txt|\.json)?",
    re.DOTALL | re.IGNORECASE,
)

Attempt = tuple[datetime, int]
"""What is later is greater."""
_ONLY: Attempt = (datetime.min, 0)


@dataclass(frozen=True)
class File:
    """A file that was handed in, and by whom.

    Attributes:
        stem: the part of its name that tells one notebook from another; empty if it is not a notebook.
        attempt: which of the student's attempts it belongs to.
        unclear: the time of its attempt as the platform writes it, if it is not understood.
        order: of several files of an attempt with the same stem or name, the highest counts: by version, then by the platform's number.
        sure: whether ``student`` certainly exists, even if there is no notebook, going by where the file lies.
        listed: whether ``student`` is on the roster.
        source: the part of the archive that says that it is this student's.
        number: the student's number on the platform that packed the archive.
        canvas, moodle_number: the same number if that was Canvas, or Moodle. Moodle's has to be stored, because it is not in the id.
        called: what the platform, or the file's name, calls the student; empty where only an id is given.
        login: an id, a user's name or an e-mail address; empty where only a name is given.
        local: when it was handed in, as the platform writes it, and the zone of that, if somebody has given it; empty if names do not say it.
        late: who marks it as late, without saying by how much; empty if nobody does.
        receipt: whether the platform itself wrote it, to say that somebody handed in something.
        note: anything else to know about whose it is.
        name: what the student called it.
    """

    student: str
    offer: Offer
    stem: str = ""
    attempt: Attempt = _ONLY
    unclear: str = ""
    order: tuple[int, int] = (0, 0)
    sure: bool = True
    listed: bool = False
    source: tuple[str, ...] = ()
    number: str = ""
    canvas: str = ""
    moodle_number: str = ""
    called: str = ""
    login: str = ""
    local: str = ""
    late: str = ""
    receipt: bool = False
    note: str = ""
    name: str = ""


class Aside(Exception):
    """A file that is nobody's work for this lab. Its text says what it is."""


Reader = Callable[[Offer], list[File]]
"""Says whose a file is: several people's, if they handed it in together.

It raises :class:`Unreadable` for a file that does not say whose it is, and :class:`Aside` for one that is no submission of this lab.
"""


def name_reader(
    lab: Lab, offers: Sequence[Offer], layout: Layout | None, roster: Roster, zone: ZoneInfo | None = None
) -> Reader:
    """
    Args:
        offers: all files of the archive.
        layout: who packed it; None: nobody.
        roster: who is in the course. Without anybody, something has to be made of the names here.
        zone: of the times in the platform's names; None: not known, so that they only tell attempts apart.
    """
    if layout is None:
        return _Plain(lab, roster)
    return _Packed(lab, layout, offers, roster, zone)


def file_of(offer: Offer, student: str, name: str, upload: int = 0, **known: Any) -> File:
    """A student's file.

    Args:
        name: what the student called it.
        upload: a number that grows with each one, where the platform has it.
    """
    notebook = NOTEBOOK.fullmatch(name)
    if not notebook:
        return File(student, offer, order=(0, upload), name=name, **known)
    order = (_number(notebook["version"]), upload)
    return File(student, offer, plain(notebook["stem"]), order=order, name=name, **known)


def in_utc(local: datetime, zone: ZoneInfo) -> datetime:
    return local.replace(tzinfo=zone).astimezone(UTC).replace(tzinfo=None)


def is_work(offer: Offer) -> bool:
    """Whether a file is what grading may need: a notebook, or a zip."""
    return bool(offer.inside or NOTEBOOK.fullmatch(offer.parts[-1]) or is_zip(offer.parts[-1]))


# ---------------------------------------------------------------------------------- what a platform has packed


class _Packed:
    """Whose a file is in what a learning platform has packed."""

    def __init__(
        self, lab: Lab, layout: Layout, offers: Sequence[Offer], roster: Roster, zone: ZoneInfo | None
    ) -> None:
        self.layout, self.zone, self.notebook_name = layout, zone, lab.notebook_name
        inside = [offer for offer in offers if not leads_out(offer.parts[0])]
        said = [found for offer in inside if (found := layout.read(offer.path))]
        self.titles = Titles(layout, said, lambda login: _knows(roster, login))
        self.least = _least_order(layout, inside)
        moodle = layout.number == "assignment" and not roster.people
        self.ids = _MoodleNames(lab, said) if moodle else None
        self.people = submitters(layout, inside) if layout.metadata else {}

    def __call__(self, offer: Offer) -> list[File]:
        readings = self.layout.readings(offer.path)
        if self.layout.is_beside(offer.path):
            raise Aside(f"{self.layout.name} has added it")
        if not readings:
            if is_work(offer):
                raise Unreadable(
                    f"It is not named as {self.layout.name} names files, so it does not say whose it is. Collect it from a folder of its own, as "
                    f"<student>_{self.notebook_name}."
                )
            raise Aside(f"{self.layout.name} gives no file of a student's such a name")
        said = self._the_one(offer, readings)
        if said.submission:
            return self._handed_in_together(offer, said)
        return [self._file(offer, said)]

    def _file(self, offer: Offer, said: Said) -> File:
        """
        Raises:
            Unreadable: Moodle gives no number, or one that belongs to somebody else.
        """
        number, note = said.number, ""
        login = said.login or (self.titles.login(said.who) if said.who else "")
        if self.layout.number == "assignment" and not number:
            raise Unreadable(
                "Moodle gives no number here, as for people who are in no group, so it is not clear whose it is. Find that out "
                "in Moodle, and hand it over as <student>.ipynb."
            )
        if self.ids:
            student, note = self.ids.student(said.called, number)
        elif login:
            student = student_id(login)
        else:
            student = student_id("anon" if said.anonymous else said.called, number)
        known = {
            "source": ("_".join(filter(None, (login or said.called, number))),),
            "number": number,
            "canvas": number if self.layout.anywhere else "",
            "moodle_number": number if self.layout.number == "assignment" else "",
            "called": said.called,
            "login": login,
            "attempt": (said.when or datetime.min, said.attempt),
            "unclear": said.unclear,
            "local": f"{said.when.isoformat()} {self.zone or ''}".strip() if said.when else "",
            "late": self.layout.name.partition(",")[0] if said.late else "",
            "receipt": self.layout.is_receipt(offer.path),
            "note": note,
        }
        if said.when and self.zone and not offer.stamp:
            offer = replace(offer, stamp=in_utc(said.when, self.zone))
        name = offer.inside[-1] if offer.inside else said.file
        return file_of(offer, student, name, said.order, **known)

    def _handed_in_together(self, offer: Offer, said: Said) -> list[File]:
        """
        Raises:
            Unreadable: nothing says who they are.
        """
        found = self.people.get(said.submission)
        if not found:
            raise Unreadable(
                f"Who handed in submission {said.submission} would be in submission_metadata.yml, and is not. Export the submissions again."
            )
        stamped = replace(offer, stamp=found.when) if found.when else offer
        name = offer.inside[-1] if offer.inside else said.file
        return [
            file_of(
                stamped,
                student_id(who.sid or who.email or who.name),
                name,
                source=(offer.path.partition(said.submission)[0] + said.submission,),
                called=who.name,
                login=who.email or who.sid,
                attempt=(found.when or datetime.min, 0),
            )
            for who in found.people
        ]

    def _the_one(self, offer: Offer, readings: Sequence[Said]) -> Said:
        """
        Raises:
            Unreadable: its name can be read as that of two users.
        """
        first = readings[0]
        for other in readings[1:]:
            if _may_be_the_true_one(offer.path, first, other, self.least):
                raise Unreadable(
                    f"Its name can be read as a file of Canvas's user {first.number} and of user {other.number}. See in "
                    "Canvas whose it is, rename it to <name>_<user>_<attachment>_<file>, and collect again."
                )
        return first


def _knows(roster: Roster, login: str) -> bool:
    try:
        return roster.find(login=login) is not None
    except NotSure:
        return True


def _may_be_the_true_one(path: str, first: Said, other: Said, least: int) -> bool:
    """Whether everything before the second place that looks like Canvas's numbers could be a user's name, with the first
    place as a part of it. If not, the second place is a part of the file's name.
    """
    if other.number == first.number:
        return False
    before = path[: other.name_ends]
    if before != before.lower() or re.search(r"[\s.()-]", before):  # Canvas leaves none of these in a name
        return False
    order = re.match(rf"_?(?:LATE_)?{other.number}_([0-9]+)", path[other.name_ends :])
    if other.number.startswith("0") or (order and order[1].startswith("0")):  # Canvas's numbers never do
        return False
    return not other.order or 10 * other.order >= least


def _least_order(layout: Layout, offers: Iterable[Offer]) -> int:
    """The lowest number of an attachment in Canvas's archive among those that are beyond doubt; 0 if there is none.

    Canvas has counted attachments for years, so a far lower number is not one of them. That helps learners whose file is
    called, say, ``2_attention``.
    """
    if not layout.anywhere:
        return 0
    readings = (layout.readings(offer.path) for offer in offers)
    return min((found[0].order for found in readings if len(found) == 1 and found[0].order), default=0)


class _MoodleNames:
    """Who is who in a zip from Moodle. Its number for a person is valid in one assignment only, so the id is the name.

    Two people of the same name are told apart by their numbers. These mean nothing in the next assignment, so nobody guesses
    who is who there: each of them gets an id for this lab only.
    """

    def __init__(self, lab: Lab, said: Iterable[Said]) -> None:
        self.lab = lab
        self.numbers: dict[str, set[str]] = {}  # name -> numbers in the zip
        for each in said:
            if each.number:
                self.numbers.setdefault(folded(student_id(each.called)), set()).add(each.number)
        self.stored: dict[str, str] = {}  # number -> id, of this lab
        self.known: dict[str, list[str]] = {}  # name -> ids, in all labs
        for folder in sorted(lab.course.submitted.glob("*")):
            student = folder.name
            if number := stored_moodle_number(lab, student):
                self.stored[number] = student
            for name in {student, student.removesuffix(f"_{number_in_id(student)}")}:
                self.known.setdefault(folded(name), []).append(student)

    def student(self, name: str, number: str) -> tuple[str, str]:
        """A person's id, and anything else to know about whose work it is.

        Raises:
            Unreadable: in this lab, the number is that of another name.
        """
        base, own = student_id(name), student_id(name, number)
        ids = dict.fromkeys(
            [*self.known.get(folded(base), ()), *self.known.get(folded(own.removesuffix(f"_{number}")), ())]
        )
        if before := self.stored.get(number):
            if before not in ids:
                raise Unreadable(
                    f"It says that Moodle's number {number} is {base!r}, but in {self.lab.name} it is {before!r}. Is it the "
                    "zip of another assignment? If the person was renamed in Moodle, rename the folder in it likewise."
                )
            return before, ""
        if self._is_here(own) and not stored_moodle_number(self.lab, own):  # from when all ids had this form
            return own, ""
        only = next(iter(ids), base)
        alone = len(self.numbers[folded(base)]) == 1 and len(ids) < 2
        # with blind marking everybody has the same name, even if only one person has handed in so far
        if alone and not self._has_another_number(only) and folded(base) != "participant":
            return only, ""
        return own, (
            f"Several people are called {printable(name)!r}. This is the one with Moodle's number {number}, which is valid in this "
            "assignment only: who it was in other labs is not known."
        )

    def _is_here(self, student: str) -> bool:
        return (self.lab.course.submitted / student / self.lab.name).is_dir()

    def _has_another_number(self, student: str) -> bool:
        """Whether a student has a number in this lab, given that it is not the number that is being looked for."""
        return bool(
            stored_moodle_number(self.lab, student) or (self._is_here(student) and number_in_id(student))
        )


# ---------------------------------------------------------------------------------- any other


def _number(version: str | None) -> int:
    return int((version or "0").strip(" -()"))


def plain(stem: str) -> str:
    """A notebook's name as far as it counts."""
    return re.sub("[- ]", "_", stem.lower())


class _Plain:
    """``[<lab>/]<student>/...``, ``<student>_<slug>.ipynb`` or ``<student>.ipynb``; likewise ``.zip``."""

    def __init__(self, lab: Lab, roster: Roster) -> None:
        self.lab, self.roster = lab, roster
        self.names = lab.course.labs()

    def __call__(self, offer: Offer) -> list[File]:
        """
        Raises:
            Unreadable: it does not say whose it is, or has a name that an LMS gives, although no LMS packed this.
            Aside: it is of another lab, or neither a notebook nor in anybody's folder.
        """
        lab = self.lab
        parts = offer.parts[1:] if offer.parts[0] == lab.name else offer.parts
        if any(part in self.names and part != lab.name for part in parts[:-1]):
            raise Aside("it is of another lab")
        path = "/".join(parts)
        work = len(parts) > 1 or (parts and (NOTEBOOK.fullmatch(parts[0]) or offer.inside))
        if work and (names := names_of_platforms(path)) and not _knows(self.roster, parts[0]):
            raise Unreadable(
                f"It is named as {min(names).partition(',')[0]} names what it packs, but not all beside it is. Collect what "
                f"comes from there separately, from a folder of its own; or rename this to <student>_{lab.notebook_name}."
            )
        if len(parts) > 1:
            source = offer.parts[: len(offer.parts) - len(parts) + 1]
            return [self._in_folder(offer, parts[0], source)]
        if parts and (offer.inside or is_zip(parts[0])):
            stem = re.sub(
                rf"[_ -]?{re.escape(lab.slug)}\Z", "", parts[0][: -len(".zip")], flags=re.IGNORECASE
            )
            if not stem:
                raise Unreadable(f"It does not say whose it is. Name it <student>_{lab.slug}.zip.")
            return [self._in_folder(offer, stem, offer.parts)]
        notebook = NOTEBOOK.fullmatch(parts[0]) if parts else None
        if not notebook:
            raise Aside("it is not a notebook, and not in anybody's folder")
        return [self._flat(offer, notebook["stem"], notebook["version"] or "")]

    def _in_folder(self, offer: Offer, name: str, source: tuple[str, ...]) -> File:
        found = file_of(offer, student_id(name), offer.name, source=source, called=name, login=name)
        return replace(found, sure=bool(found.stem))

    def _flat(self, offer: Offer, stem: str, version: str) -> File:
        lab = self.lab
        slugs = [name.partition("_")[2] for name in self.names]
        # the longest match: `anna_self_attention` does not end in the slug `attention` of another lab
        slug = max((slug for slug in slugs if f"_{plain(stem)}".endswith(f"_{slug}")), key=len, default="")
        if slug and slug != lab.slug:
            raise Aside("it is of another lab")
        if plain(stem) == lab.slug:
            raise Unreadable(f"It does not say whose it is. Name it <student>_{lab.notebook_name}.")
        if slug:
            name = stem[: -len(slug) - 1]
        else:
            name, slug = stem, lab.slug
            if version.startswith("-"):  # part of the student's name, unlike the `(1)` that a browser adds
                name, version = stem + version, ""
        source = (*offer.parts[:-1], f"{name}*.ipynb")
        order = (_number(version), 0)
        return File(student_id(name), offer, slug, order=order, source=source, called=name, login=name)


def names_of_platforms(path: str) -> set[str]:
    """The platforms that may have given a file its name, of those whose names nobody else gives."""
    return {each.name for each in layouts().values() if not each.common and each.read(path)}
