"""Whose each file of an archive is, judging by the names that LMSs give to the files they pack, or by our own scheme.

How the two LMSs name files (taken from their source code, ``lib/content_zipper.rb`` of Canvas and
``mod/assign/classes/downloader.php`` of Moodle):

* Canvas: ``<name>[_LATE]_<user>_<attachment>_<file>``, where the name is in small letters and digits without blanks,
  and for a group is the group's name; anonymous: ``[LATE_]anon_<code>_<attachment>_<file>``. A file handed in again is
  ``<file>-N``; text typed into Canvas is ``<name>[_LATE]_<user>_text.html``. The user's number is the same in all
  assignments.
* Moodle: ``<name>_<number>_assignsubmission_file/<file>`` (older ones ``..._file_/<file>``), or flat
  ``<name>_<number>_assignsubmission_file_<file>``, where the name contains no ``_``; the number is the participant's in
  this one assignment, or the group's.

Learners choose the names of their files, and often their own names. So all names at the top level together decide who
packed an archive, once for the whole archive, and only names at the top level say whose a file is. Moodle allows no
``_`` in a name, so the first match is Moodle's own. Canvas removes ``_123_`` from names, and after that every character
that is not a letter or digit, so that ``_-123_`` gets through: a file whose name can be read as that of two users is
nobody's.

The dates in these zips are those of the download, so they are not taken for the time of submission.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from grader.errors import GraderError
from grader.lab import Lab
from grader.receive.files import Unreadable, printable
from grader.receive.sources import Offer, leads_out
from grader.receive.students import folded, number_in_id, stored_moodle_number, student_id

_CANVAS_REST = r"_(?:(?P<attachment>[0-9]{1,20})_(?P<file>.+)|(?P<typed>(?:text|link)\.html))"
_CANVAS_NAME = re.compile(rf"(?:^|_)(?P<late>LATE_)?(?P<number>[0-9]{{1,20}})(?={_CANVAS_REST}\Z)", re.DOTALL)
"""What follows a user's name. It may match at several places in one file's name."""
_ANONYMOUS_NAME = re.compile(
    rf"(?P<late>LATE_)?anon_(?P<number>[A-Za-z0-9]{{1,20}}){_CANVAS_REST}", re.DOTALL
)
_MOODLE_NAME = re.compile(
    r"(?P<name>.+?)(?:_(?P<number>[0-9]{1,20}))?_assignsubmission_[a-z]+(?:_(?P<file>.*))?", re.DOTALL
)
_NOTEBOOK = re.compile(
    r"(?P<stem>.+?)(?P<version>-[0-9]{1,4}| ?\([0-9]{1,4}\))?\.ipynb(?:\.txt|\.json)?",
    re.DOTALL | re.IGNORECASE,
)

_CANVAS, _ANONYMOUS, _MOODLE, PLAIN = "Canvas", "Canvas, without names", "Moodle", "nobody"
"""Who packed an archive and named what is in it."""


@dataclass(frozen=True)
class File:
    """A file that was handed in, and by whom.

    Attributes:
        stem: the part of its name that tells one notebook from another; empty if it is not a notebook.
        order: of several files with the same stem or name, the highest counts: by version, then by the LMS's number.
        sure: whether ``student`` certainly exists, even if there is no notebook.
        source: the part of the archive that says that it is this student's.
        number: the student's number in the LMS that packed the archive.
        moodle_number: the same number if that was Moodle. It has to be stored, because it is not in the id.
        called: what the LMS, or whoever named the file, calls the student; empty where the id itself is given.
        note: anything else to know about whose it is.
        name: what the student called it.
    """

    student: str
    offer: Offer
    stem: str = ""
    order: tuple[int, int] = (0, 0)
    sure: bool = True
    late: bool = False
    source: tuple[str, ...] = ()
    number: str = ""
    moodle_number: str = ""
    called: str = ""
    note: str = ""
    name: str = ""


def name_reader(
    lab: Lab, offers: Sequence[Offer], with_roster: bool = False
) -> Callable[[Offer], File | None]:
    """A function that says whose a file of an archive is. It returns None for a file that is not a submission of this lab,
    and raises Unreadable for one that does not say whose it is.

    Args:
        offers: all files of the archive.
        with_roster: the roster will tell people of one name apart, so that nothing needs to be made of names here.

    Raises:
        GraderError: all these names could have been given by either LMS.
    """
    of_moodle = _with_number if with_roster else _MoodleNames(lab, offers).student
    return {
        _CANVAS: partial(_from_canvas, _least_attachment(offers)),
        _ANONYMOUS: _from_canvas_anonymous,
        _MOODLE: partial(_from_moodle, of_moodle),
        PLAIN: partial(_in_plain_layout, lab),
    }[layout(offers)]


def layout(offers: Sequence[Offer]) -> str:
    """Who packed an archive: ``PLAIN``, unless every top-level name of a possible submission is one that an LMS gives.

    Raises:
        GraderError: all these names could have been given by either LMS.
    """
    tops = {offer.parts[0]: len(offer.parts) > 1 for offer in offers if not leads_out(offer.parts[0])}
    telling = [top for top, is_folder in tops.items() if is_folder or _NOTEBOOK.fullmatch(top)] or list(tops)
    found = [_lms_of(top, tops[top]) for top in telling]
    fitting = set.intersection(*found) if found else set()
    if len(fitting) > 1:
        raise GraderError(
            f"{printable(telling[0], 150)!r} is a name that either Canvas or Moodle may have given, and no other "
            "name there says which of them it was. Rename it to <student>.ipynb, and collect the folder that it is in."
        )
    return fitting.pop() if fitting else PLAIN


def _lms_of(top: str, is_folder: bool) -> set[str]:
    """The LMSs that may have given a name at the top level."""
    found = {_MOODLE} if _MOODLE_NAME.fullmatch(top) else set()
    if not is_folder and _ANONYMOUS_NAME.fullmatch(top):
        return found | {_ANONYMOUS}
    return found | ({_CANVAS} if not is_folder and _CANVAS_NAME.search(top) else set())


def file_of(offer: Offer, student: str, name: str, attachment: int = 0, **known: Any) -> File:
    """A student's file. ``name``: what the student called it; ``attachment``: Canvas's number of it."""
    notebook = _NOTEBOOK.fullmatch(name)
    if not notebook:
        return File(student, offer, order=(0, attachment), name=name, **known)
    order = (_number(notebook["version"]), attachment)
    return File(student, offer, _plain(notebook["stem"]), order, name=name, **known)


# ---------------------------------------------------------------------------------- Canvas


def _from_canvas(least: int, offer: Offer) -> File | None:
    """
    Args:
        least: see :func:`_least_attachment`.

    Raises:
        Unreadable: its name can be read as that of two users.
    """
    readings = list(_CANVAS_NAME.finditer(offer.parts[0]))
    if not readings:
        return None
    first = readings[0]
    for other in readings[1:]:
        if _may_be_the_true_one(first, other, least):
            raise Unreadable(
                f"Its name can be read as a file of Canvas's user {first['number']} and of user {other['number']}. See in "
                "Canvas whose it is, rename it to <name>_<user>_<attachment>_<file>, and collect again."
            )
    name = offer.parts[0][: first.start()]
    known = {
        "late": bool(first["late"]),
        "source": (f"{name}_{first['number']}",),
        "number": first["number"],
        "called": name,
    }
    file, attachment = first["file"] or first["typed"], int(first["attachment"] or 0)
    return file_of(offer, student_id(name, first["number"]), file, attachment, **known)


def _may_be_the_true_one(first: re.Match, other: re.Match, least: int) -> bool:
    """Whether everything before the second place that looks like Canvas's numbers could be a user's name, with the first
    place as a part of it. If not, the second place is a part of the file's name.
    """
    if other["number"] == first["number"]:
        return False
    before = first.string[: other.start()]
    if before != before.lower() or re.search(r"[\s.()-]", before):  # Canvas leaves none of these in a name
        return False
    attachment = other["attachment"] or ""
    if other["number"].startswith("0") or attachment.startswith("0"):  # Canvas's numbers never do
        return False
    return not attachment or 10 * int(attachment) >= least


def _least_attachment(offers: Iterable[Offer]) -> int:
    """The lowest number of an attachment in Canvas's archive among those that are beyond doubt; 0 if there is none.

    Canvas has counted attachments for years, so a far lower number is not one of them. That helps learners whose file is
    called, say, ``2_attention``.
    """
    readings = (list(_CANVAS_NAME.finditer(offer.parts[0])) for offer in offers)
    sure = (found[0]["attachment"] for found in readings if len(found) == 1)
    return min((int(number) for number in sure if number), default=0)


def _from_canvas_anonymous(offer: Offer) -> File | None:
    found = _ANONYMOUS_NAME.fullmatch(offer.parts[0])
    if not found:
        return None
    file, attachment = found["file"] or found["typed"], int(found["attachment"] or 0)
    return file_of(offer, student_id("anon", found["number"]), file, attachment, late=bool(found["late"]))


# ---------------------------------------------------------------------------------- Moodle


class _MoodleNames:
    """Who is who in a zip from Moodle. Its number for a person is valid in one assignment only, so the id is the name.

    Two people of the same name are told apart by their numbers. These mean nothing in the next assignment, so nobody guesses
    who is who there: each of them gets an id for this lab only.
    """

    def __init__(self, lab: Lab, offers: Iterable[Offer]) -> None:
        tops = {offer.parts[0] for offer in offers}
        found = [match for top in tops if (match := _MOODLE_NAME.fullmatch(top)) and match["number"]]
        self.lab = lab
        self.numbers: dict[str, set[str]] = {}  # name -> numbers in the zip
        for match in found:
            self.numbers.setdefault(folded(student_id(match["name"])), set()).add(match["number"])
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


def _with_number(name: str, number: str) -> tuple[str, str]:
    return student_id(name, number), ""


def _from_moodle(student_of: Callable[[str, str], tuple[str, str]], offer: Offer) -> File | None:
    """
    Args:
        student_of: name and Moodle's number -> id, and anything else to know.

    Raises:
        Unreadable: Moodle gives no number, or one that belongs to somebody else.
    """
    found = _MOODLE_NAME.fullmatch(offer.parts[0])
    if not found:
        return None
    name, number = found["name"], found["number"]
    if not number:
        raise Unreadable(
            "Moodle gives no number here, as for people who are in no group, so it is not clear whose it is. Find that out "
            "in Moodle, and hand it over as <student>.ipynb."
        )
    student, note = student_of(name, number)
    file = offer.parts[-1] if len(offer.parts) > 1 else found["file"] or ""
    known = {"number": number, "moodle_number": number, "called": name, "note": note}
    return file_of(offer, student, file, source=(f"{name}_{number}",), **known)


# ---------------------------------------------------------------------------------- any other


def _number(version: str | None) -> int:
    return int((version or "0").strip(" -()"))


def _plain(stem: str) -> str:
    return re.sub("[- ]", "_", stem.lower())


def _in_plain_layout(lab: Lab, offer: Offer) -> File | None:
    """``[<lab>/]<student>/...``, ``<student>_<slug>.ipynb`` or ``<student>.ipynb``.

    Raises:
        Unreadable: it does not say whose it is, or has a name that an LMS gives, although no LMS packed this.
    """
    names = lab.course.labs()
    parts = offer.parts[1:] if offer.parts[0] == lab.name else offer.parts
    if any(part in names and part != lab.name for part in parts[:-1]):
        return None  # it belongs to another lab
    work = len(parts) > 1 or (parts and _NOTEBOOK.fullmatch(parts[0]))
    if work and (lms := _lms_of(parts[0], is_folder=len(parts) > 1)):
        raise Unreadable(
            f"It is named as {min(lms).partition(',')[0]} names what it packs, but not all beside it is. Collect what "
            f"comes from there separately, from a folder of its own; or rename this to <student>_{lab.notebook_name}."
        )
    if len(parts) > 1:
        source = offer.parts[: len(offer.parts) - len(parts) + 1]
        found = file_of(offer, student_id(parts[0]), parts[-1], source=source, called=parts[0])
        return replace(found, sure=bool(found.stem))
    notebook = _NOTEBOOK.fullmatch(parts[0]) if parts else None
    if not notebook:
        return None
    stem, version = notebook["stem"], notebook["version"] or ""
    slugs = [name.partition("_")[2] for name in names]
    # the longest match: `anna_self_attention` does not end in the slug `attention` of another lab
    slug = max((slug for slug in slugs if f"_{_plain(stem)}".endswith(f"_{slug}")), key=len, default="")
    if slug and slug != lab.slug:
        return None
    if _plain(stem) == lab.slug:
        raise Unreadable(f"It does not say whose it is. Name it <student>_{lab.notebook_name}.")
    if slug:
        return _flat(offer, stem[: -len(slug) - 1], slug, version)
    if version.startswith("-"):  # part of the student's name, unlike the `(1)` that a browser adds
        stem, version = stem + version, ""
    return _flat(offer, stem, lab.slug, version)


def _flat(offer: Offer, name: str, slug: str, version: str) -> File:
    source = (*offer.parts[:-1], f"{name}*.ipynb")
    return File(student_id(name), offer, slug, (_number(version), 0), source=source, called=name)
