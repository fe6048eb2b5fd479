"""What came back, from nbgrader's exchange, a folder or an LMS's zip -> ``grading/submitted``.

One notebook a student is taken, and nothing else of what was handed in. A path in a source only says whose a
file is: it is never written to. Each file is dealt with on its own, so one that is damaged or hostile stops
none of the others.

How the two LMSs name what they pack (read from their sources, ``lib/content_zipper.rb`` of Canvas and
``mod/assign/classes/downloader.php`` of Moodle):

* Canvas: ``<name>[_LATE]_<user>_<attachment>_<file>``, name in small letters and digits without blanks, a group's
  name for a group; anonymous: ``[LATE_]anon_<code>_<attachment>_<file>``. A file handed in again is ``<file>-N``,
  what was typed into Canvas ``<name>[_LATE]_<user>_text.html``. The user's number is the same in all assignments.
* Moodle: ``<name>_<number>_assignsubmission_file/<file>`` (older ones ``..._file_/<file>``), or flat
  ``<name>_<number>_assignsubmission_file_<file>``, name without ``_``; the number is the participant's in this one
  assignment, or the group's.

Learners choose the names of files, and often their own. So it is decided once, by all names at the top level, who
packed an archive, and only names at the top level say whose a file is. Moodle lets no ``_`` into a name, so what comes
first is Moodle's. Canvas takes ``_123_`` out of names, and after that what is no letter or digit, so that ``_-123_``
gets through: a file whose name can be read as that of two users is nobody's.

The dates in these zips are those of the download, so no time of submission is taken from them.
"""

from __future__ import annotations

import hashlib
import io
import itertools
import logging
import os
import pwd
import re
import stat
import unicodedata
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any

from nbgrader.apps.baseapp import NbGrader
from nbgrader.auth import Authenticator
from nbgrader.coursedir import CourseDirectory
from nbgrader.exchange import ExchangeError
from nbgrader.exchange.default import Exchange, ExchangeCollect
from traitlets.config import Application

from grader.course import Course, make_private
from grader.errors import GraderError
from grader.grade.gradebook import Gradebook
from grader.lab import Lab
from grader.receive.intake import (
    MAX_BYTES,
    REASON_FILE,
    SECRET,
    TIMESTAMP,
    Unreadable,
    file_bytes,
    find_notebook,
    opened_folder,
    printable,
    time_of,
)
from grader.show.export import MOODLE_NUMBER, number_in_id, stored_moodle_number

NEW, REPLACED, UNCHANGED, REFUSED = "new", "replaced", "unchanged", "refused"

MAX_ENTRIES = 50_000
"""Files of a source."""
MAX_DEPTH = 8
"""Folders within folders of a source."""
MAX_DIRECTORY = 4 * 2**20
"""Bytes of a zip's list of members: enough for some 30,000."""
MAX_UNPACKED = 4 * 2**30
"""Bytes that all members of a zip may unpack to."""
MAX_RATIO = 200
"""How many times its packed size a member of more than a MiB may be: the labs pack to about a third."""
MAX_ID = 100
"""Bytes of a student's id: file systems allow 255, some with encryption 143."""


@dataclass(frozen=True)
class Collected:
    """What happened to one student's work, or to one file whose student is not known (``student`` is empty).

    Attributes:
        file: its path in the source, safe to show.
        outcome: ``NEW``, ``REPLACED`` (what was there is kept in ``grading/earlier``), ``UNCHANGED`` or ``REFUSED``.
        why: why it was refused, or what else to know.
    """

    student: str
    file: str
    outcome: str
    why: str = ""


def collect(lab: Lab, source: Path | None = None, shared_account: bool = False) -> list[Collected]:
    """Puts submissions where they are graded, one notebook a student.

    A student whose work is refused gets a folder with the reason, which grading then reports as unreadable;
    what was collected of them before stays.

    Args:
        source: a folder, or a zip as Canvas and Moodle make it. None: nbgrader's exchange.
        shared_account: all submissions in the exchange belong to one user of the system, so that their owner says
            nothing about who handed in.

    Returns: a row for each student, by id, then files that belong to nobody.

    Raises:
        GraderError: the source cannot be used at all, or there is nothing in it.
    """
    with _opened(lab, source, shared_account) as offers:
        rows = list(_collect(lab, offers))
    if not rows:
        raise GraderError(
            f"{source or 'The exchange'} has no submission of {lab.name}. In a folder or zip, name files "
            f"<student>/{lab.notebook_name} or <student>_{lab.notebook_name}, or leave the names that Canvas or "
            "Moodle gave."
        )
    return rows


# ---------------------------------------------------------------------------------- sources


@dataclass(frozen=True)
class _Offer:
    """A file of a source: its path in it, and how to get its content (which raises Unreadable)."""

    parts: tuple[str, ...]
    read: Callable[[], bytes]
    student: str = ""  # an id, where the source itself says whose it is
    stamp: datetime | None = None
    secret: bytes = b""
    forged: str = ""  # why it is not that student's

    @property
    def shown(self) -> str:
        return printable("/".join(self.parts), 150)


def _refusing(why: str) -> Callable[[], bytes]:
    def read() -> bytes:
        raise Unreadable(why)

    return read


@contextmanager
def _opened(lab: Lab, source: Path | None, shared_account: bool) -> Iterator[list[_Offer]]:
    if source is None:
        yield _in_exchange(lab, shared_account)
    elif source.is_dir():
        yield _without_wrapper(lab, _in_folder(source.resolve()), source.name)
    elif source.is_file():
        with _in_zip(lab, source) as offers:
            yield offers
    else:
        raise GraderError(f"{source} does not exist, or is neither a folder nor a zip file.")


def _in_folder(root: Path) -> list[_Offer]:
    """
    Raises:
        GraderError: it cannot be read, or holds more than a class can have handed in.
    """
    try:
        with opened_folder(root) as folder:
            return _listed(root, folder)
    except OSError as error:
        raise GraderError(f"{root} cannot be read: {error.strerror}.") from None


def _listed(root: Path, folder: int, top: tuple[str, ...] = (), owner: int | None = None) -> list[_Offer]:
    """What is in a folder and below it.

    Args:
        root: a folder above it, from which on no link is followed.
        folder: its descriptor.
        top: its path below the root.
        owner: the number of the user whom everything in it has to belong to; None: it does not matter.

    Raises:
        OSError: it cannot be read.
        GraderError: it holds more than a class can have handed in.
    """
    offers = []
    for parts, found in _walk(folder, ()):
        offers.append(_Offer((*top, *parts), _reading(root, (*top, *parts), found, owner)))
        if len(offers) > MAX_ENTRIES:
            where = root.joinpath(*top)
            raise GraderError(f"{where} holds more than {MAX_ENTRIES} files. Is it the folder you meant?")
    return [offer for offer in offers if not _is_slip(offer.parts[len(top) :])]


def _reading(
    root: Path, parts: tuple[str, ...], found: os.stat_result, owner: int | None
) -> Callable[[], bytes]:
    kind = stat.S_IFMT(found.st_mode)
    if owner not in (None, found.st_uid):
        return _refusing(f"It belongs to {_user(found.st_uid)}, and its folder to {_user(owner)}.")
    if kind == stat.S_IFREG:
        return partial(file_bytes, root.joinpath(*parts), root, (found.st_dev, found.st_ino))
    what = {stat.S_IFLNK: "a symbolic link", stat.S_IFDIR: "a folder that cannot be read"}.get(
        kind, "no file"
    )
    return _refusing(f"It is {what}. Hand in the file itself.")


def _walk(folder: int, parts: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], os.stat_result]]:
    """Parts below the root, and what the system says about it, of what is in a folder (a descriptor) and below it.

    Follows no link. Of folders, only those are among it that cannot be read.

    Raises:
        OSError: ``folder`` itself cannot be read.
    """
    with os.scandir(folder) as entries:
        names = sorted(entry.name for entry in itertools.islice(entries, MAX_ENTRIES + 1))
    for name in names:
        below = (*parts, name)
        try:
            found = os.stat(name, dir_fd=folder, follow_symlinks=False)
        except FileNotFoundError:  # it went away while we looked
            continue
        if not stat.S_ISDIR(found.st_mode):
            yield below, found
        elif len(below) <= MAX_DEPTH:
            try:
                with opened_folder(name, folder) as inner:
                    yield from _walk(inner, below)
            except OSError:
                yield below, found


def _is_slip(parts: tuple[str, ...]) -> bool:
    """Whether a file is what editors and operating systems leave behind."""
    return any(part.startswith(".") or part in _SLIPS for part in parts) and not _leads_out(parts[0])


# -- zip


class _Archive(io.BufferedReader):
    """A zip file whose list of members is not read if it is huge: zipfile would take all of it into memory."""

    def read(self, size: int | None = -1, /) -> bytes:
        if size is not None and size > MAX_DIRECTORY:
            raise zipfile.BadZipFile("its list of files is too long")
        return super().read(size)


@contextmanager
def _in_zip(lab: Lab, path: Path) -> Iterator[list[_Offer]]:
    """
    Raises:
        GraderError: it is not a zip, not a whole one, or its list of members cannot be read.
    """
    try:
        raw = _Archive(io.FileIO(path))
    except OSError as error:
        raise GraderError(f"{path} cannot be read: {error.strerror}.") from None
    with raw:
        try:
            archive = zipfile.ZipFile(raw)
        except (zipfile.BadZipFile, ValueError, NotImplementedError, OSError) as error:
            raise GraderError(
                f"{path} cannot be read as a zip archive ({printable(str(error))}). Download it again. Archives of "
                "other kinds are not unpacked: unpack it yourself and collect the folder."
            ) from None
        with archive:
            budget = _Budget()
            overlapping = _overlapping(archive.infolist())
            offers = [
                _Offer(parts, partial(_unpacked, archive, info, info in overlapping, budget))
                for info in archive.infolist()
                if (parts := _parts(info)) and not info.orig_filename.endswith("/") and not _is_slip(parts)
            ]
            yield _without_wrapper(lab, offers, path.stem)


class _Budget:
    """Bytes that may still be unpacked of an archive."""

    def __init__(self) -> None:
        self.left = MAX_UNPACKED


def _parts(info: zipfile.ZipInfo) -> tuple[str, ...]:
    """A member's path. One that a path trick is in is kept whole, as one name."""
    name = info.orig_filename
    if not info.flag_bits & 0x800:  # by the standard it is in code page 437; in fact it often is in UTF-8
        with suppress(UnicodeError):
            name = name.encode("cp437").decode("utf-8")
    if "/" not in name:  # some programs on Windows write it so
        name = name.replace("\\", "/")
    parts = tuple(part for part in name.split("/") if part not in ("", "."))
    return (name,) if _leads_out(name) else parts


def _leads_out(name: str) -> bool:
    return (
        name.startswith("/")
        or re.match("[A-Za-z]:", name) is not None
        or ".." in name.split("/")
        or "\0" in name
        or len(name) > 1000
    )


def _overlapping(infos: Iterable[zipfile.ZipInfo]) -> set[zipfile.ZipInfo]:
    """Members that share bytes of the archive: the trick of the smallest and largest of zip bombs."""
    found: set[zipfile.ZipInfo] = set()
    last: zipfile.ZipInfo | None = None
    end = 0
    for info in sorted(infos, key=lambda info: info.header_offset):
        if last and info.header_offset < end:
            found |= {last, info}
        if (here := info.header_offset + 30 + info.compress_size) > end:  # 30: a header's least length
            last, end = info, here
    return found


def _unpacked(archive: zipfile.ZipFile, info: zipfile.ZipInfo, overlaps: bool, budget: _Budget) -> bytes:
    """A member's content, read bit by bit and within bounds: sizes that the archive declares count for nothing.

    Raises:
        Unreadable: it cannot or should not be unpacked.
    """
    kind = stat.S_IFMT(info.external_attr >> 16)
    if kind == stat.S_IFLNK:
        raise Unreadable("It is a symbolic link. Hand in the file itself.")
    if kind not in (0, stat.S_IFREG):
        raise Unreadable("It is not a file.")
    if info.flag_bits & 1:
        raise Unreadable("It is encrypted. Hand it in without a password.")
    if overlaps:
        raise Unreadable("It shares its place in the archive with another file. Hand in the notebook itself.")
    if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        # zipfile unpacks other methods without a bound
        raise Unreadable("It is packed by an unusual method. Hand in the notebook itself.")
    data = bytearray()
    try:
        with archive.open(info) as member:
            while chunk := member.read(2**16):
                data += chunk
                budget.left -= len(chunk)
                if len(data) > MAX_BYTES:
                    raise Unreadable(
                        f"It is larger than {MAX_BYTES // 2**20} MiB when unpacked. Clear the notebook's outputs."
                    )
                if len(data) > max(2**20, MAX_RATIO * info.compress_size):
                    raise Unreadable(
                        f"It unpacks to more than {MAX_RATIO} times its size, as a zip bomb does. Clear the notebook's outputs."
                    )
                if budget.left < 0:
                    raise Unreadable(
                        f"The archive unpacks to more than {MAX_UNPACKED // 2**30} GiB. Unpack it yourself and collect the folder."
                    )
    except (zipfile.BadZipFile, zlib.error, EOFError, ValueError, RuntimeError, OSError):
        raise Unreadable("It is damaged in the archive. Download or hand it in again.") from None
    return bytes(data)


def _without_wrapper(lab: Lab, offers: list[_Offer], stem: str) -> list[_Offer]:
    """The same without the folder that packing a folder puts around everything.

    Raises:
        GraderError: it may be that, or one student's folder with names of an LMS's in it.
    """
    tops = {offer.parts[0] if len(offer.parts) > 1 else "" for offer in offers}
    if len(tops) != 1 or tops == {""}:
        return offers
    (top,) = tops
    inside = [_Offer(offer.parts[1:], offer.read) for offer in offers]
    if top in (stem, lab.name):
        return inside
    if _layout(inside) is not _PLAIN:
        raise GraderError(
            f"Everything lies in one folder, {printable(top)!r}, with names in it as an LMS gives them. If that folder is "
            f"what the LMS packed, collect it itself: unpack the zip if it is one, and grader collect {lab.name} "
            f"<path of that folder>. If it is one student's, name the notebook in it {lab.notebook_name}."
        )
    return offers


# -- exchange


class _Inbound(ExchangeCollect):
    """nbgrader's own choice of what counts (the last, or the last before the due date), without its copying:
    that follows links, stops for one bad submission, and deletes what was collected before.

    What is forged has no part in that choice.
    """

    def __init__(self, shared_account: bool, **settings) -> None:
        super().__init__(**settings)
        self.shared_account = shared_account or not self.check_owner
        self.forged: list[tuple[str, str]] = []  # name in the exchange, and why

    def copy_files(self) -> None:
        pass

    def _path_to_record(self, path):
        name = Path(path).name
        username, _, stamp = name.rsplit("+", 3)[:3]
        # a name without a time would stop the class
        return {"username": username, "filename": name, "timestamp": time_of(stamp) or datetime.min}

    def _sort_by_timestamp(self, records):
        """nbgrader's, which it calls with what has one user's name, to choose from."""
        real = [record for record in records if not self._is_forged(record)]
        return super()._sort_by_timestamp(real or records)

    def _is_forged(self, record) -> bool:
        name, username = record["filename"], record["username"]
        try:
            record["owner"] = os.lstat(Path(self.inbound_path) / name).st_uid
        except OSError:  # gone in the meantime
            record["owner"] = None
            return False
        if self.shared_account or _user(record["owner"]) == username:
            return False
        self.forged.append((name, _why_forged(username, record["owner"])))
        return True


def _why_forged(username: str, owner: int) -> str:
    return (
        f"It claims to be {printable(username)}'s, and belongs to {printable(_user(owner))} on this machine: who handed it in? "
        "Where all submissions belong to one user of the machine, collect with --shared-account."
    )


def _user(number: int) -> str:
    """The name of one of the system's users, or the number of one without a name."""
    try:
        return pwd.getpwuid(number).pw_name
    except KeyError:
        return f"user number {number}"


def _in_exchange(lab: Lab, shared_account: bool) -> list[_Offer]:
    """
    Raises:
        GraderError: the exchange is not set up.
    """
    app = _nbgrader_app(lab.course)
    with Gradebook.open(
        lab.course
    ):  # nbgrader looks up the due date there, and would make the file otherwise
        pass
    inbound = _Inbound(
        shared_account,
        coursedir=CourseDirectory(parent=app),
        authenticator=Authenticator(parent=app),
        parent=app,
    )
    inbound.coursedir.assignment_id = lab.name
    try:
        inbound.start()
    except ExchangeError as error:
        raise GraderError(
            f"nbgrader's exchange cannot be used: {error}. Set c.Exchange.root in {lab.course.root / 'nbgrader_config.py'} "
            "to a folder that everybody can write to, and release the lab there with nbgrader; or give the folder "
            f"or the zip of an LMS: grader collect {lab.name} SOURCE."
        ) from None
    forged = dict(inbound.forged)
    offers = [_Offer((name,), _refusing(why), forged=why) for name, why in sorted(forged.items())]
    for record in inbound.src_records:
        if record["filename"] not in forged:
            offers += _in_record(lab, Path(inbound.inbound_path), record, inbound.shared_account)
    return offers


def _in_record(lab: Lab, inbound: Path, record: dict, shared_account: bool) -> Iterator[_Offer]:
    """The files of one submission in the exchange. nbgrader lets everybody write into its folder, so each has an owner."""
    who, name = student_id(record["username"]), record["filename"]
    stamp = record["timestamp"] if record["timestamp"] > datetime.min else None
    owner = None if shared_account else record["owner"]
    found, why = [], "In the exchange it is no folder with files."
    with (
        suppress(OSError, GraderError),
        opened_folder(inbound) as outer,
        opened_folder(name, outer) as folder,
    ):
        if owner in (None, os.fstat(folder).st_uid):
            found = _listed(inbound, folder, (name,), owner)
        else:
            why = "It was replaced while it was being collected. Collect again."
    secret = b""
    for offer in found:
        if offer.parts == (name, SECRET):
            with suppress(Unreadable):
                secret = offer.read()[:1000]  # nbgrader's own have 128 bytes
    for offer in found:
        yield replace(offer, student=who, stamp=stamp, secret=secret)
    if not found:
        yield _Offer((name, lab.notebook_name), _refusing(why), who, stamp)


def exchange_of(course: Course) -> Path:
    """The folder of nbgrader's exchange, as this computer and this course configure it; it need not be there."""
    app = _nbgrader_app(course)
    return Path(Exchange(coursedir=CourseDirectory(parent=app), parent=app).root)


def _nbgrader_app(course: Course) -> NbGrader:
    """nbgrader with the configuration of this computer and this course, and without a voice of its own."""
    app = NbGrader()
    app.log.setLevel(logging.CRITICAL + 1)
    app.load_cwd_config = False
    app.load_config_file()
    Application.load_config_file(app, app.config_file_name, path=str(course.root))
    app.update_config(course.nbgrader_config())
    return app


# ---------------------------------------------------------------------------------- whose is it


_CANVAS_REST = r"_(?:(?P<attachment>[0-9]{1,20})_(?P<file>.+)|(?P<typed>(?:text|link)\.html))"
_CANVAS = re.compile(rf"(?:^|_)(?P<late>LATE_)?(?P<number>[0-9]{{1,20}})(?={_CANVAS_REST}\Z)", re.DOTALL)
"""What follows a user's name. It may fit at several places of one file's name."""
_CANVAS_ANONYMOUS = re.compile(
    rf"(?P<late>LATE_)?anon_(?P<number>[A-Za-z0-9]{{1,20}}){_CANVAS_REST}", re.DOTALL
)
_MOODLE = re.compile(
    r"(?P<name>.+?)(?:_(?P<number>[0-9]{1,20}))?_assignsubmission_[a-z]+(?:_(?P<file>.*))?", re.DOTALL
)
_NOTEBOOK = re.compile(
    r"(?P<stem>.+?)(?P<version>-[0-9]{1,4}| ?\([0-9]{1,4}\))?\.ipynb(?:\.txt|\.json)?",
    re.DOTALL | re.IGNORECASE,
)
_SLIPS = ("__MACOSX", "Thumbs.db", "desktop.ini")


@dataclass(frozen=True)
class _File:
    """A file that was handed in, and by whom.

    Attributes:
        stem: its name as far as it tells one notebook from another; empty if it is no notebook.
        order: of several with one stem, the highest counts: version, then the LMS's number.
        sure: that ``student`` is one, even if there is no notebook.
        source: what in the archive says that it is this student's.
        number: of the student, in the LMS that packed the archive.
        moodle_number: the same if that was Moodle: it has to be stored, as it is not in the id.
        note: what else to know about whose it is.
    """

    student: str
    offer: _Offer
    stem: str = ""
    order: tuple[int, int] = (0, 0)
    sure: bool = True
    late: bool = False
    source: tuple[str, ...] = ()
    number: str = ""
    moodle_number: str = ""
    note: str = ""


def student_id(name: str, number: str = "") -> str:
    """An id that is safe as a folder's name, for a name as an LMS or a folder gives it and the LMS's number.

    Letters of all scripts stay (in Unicode's form NFC). Two people get two ids: by the number, or, if the name had
    to be changed and there is no number, by a hash of it.
    """
    name = unicodedata.normalize("NFC", name)
    kept = "".join(_id_character(char) for char in name)
    safe = unicodedata.normalize("NFC", " ".join(kept.split())).lstrip(" .-").rstrip(" .")
    if number:
        return f"{_cut(safe, MAX_ID - 1 - len(number)) or 'user'}_{number}"
    if safe and safe == name and len(safe.encode()) <= MAX_ID:
        return safe
    digest = hashlib.blake2b(name.encode("utf-8", "surrogatepass"), digest_size=4).hexdigest()
    return f"{_cut(safe, MAX_ID - 1 - len(digest)) or 'student'}-{digest}"


def _id_character(char: str) -> str:
    if char in " -_.,'@+":
        return char
    if char in "\u115f\u1160\u3164\uffa0":  # letters that cannot be seen
        return ""
    kind = unicodedata.category(char)
    if kind[0] in "LMN":
        return char
    return " " if kind[0] == "Z" else "" if kind[0] == "C" else "_"


def _cut(name: str, size: int) -> str:
    """As much of a name as fits into so many bytes."""
    return name.encode()[:size].decode("utf-8", "ignore").rstrip(" .")


_CANVAS_S, _ANONYMOUS, _MOODLE_S, _PLAIN = "Canvas", "Canvas, without names", "Moodle", "nobody"
"""Who packed an archive and named what is in it."""


def _layout(offers: Sequence[_Offer]) -> str:
    """Who packed an archive: ``_PLAIN``, unless every name at its top level that may be work is as an LMS gives it.

    Raises:
        GraderError: both LMSs may have given all these names.
    """
    tops = {offer.parts[0]: len(offer.parts) > 1 for offer in offers if not _leads_out(offer.parts[0])}
    telling = [top for top, is_folder in tops.items() if is_folder or _NOTEBOOK.fullmatch(top)] or list(tops)
    found = [_lms_of(top, tops[top]) for top in telling]
    fitting = set.intersection(*found) if found else set()
    if len(fitting) > 1:
        raise GraderError(
            f"{printable(telling[0], 150)!r} is a name that Canvas may have given and that Moodle may have given, and no other "
            "name there says which of them it was. Rename it to <student>.ipynb, and collect the folder that it is in."
        )
    return fitting.pop() if fitting else _PLAIN


def _lms_of(top: str, is_folder: bool) -> set[str]:
    """By which LMS a name at the top level may have been given."""
    found = {_MOODLE_S} if _MOODLE.fullmatch(top) else set()
    if not is_folder and _CANVAS_ANONYMOUS.fullmatch(top):
        return found | {_ANONYMOUS}
    return found | ({_CANVAS_S} if not is_folder and _CANVAS.search(top) else set())


def _files(lab: Lab, offers: Sequence[_Offer]) -> Iterator[_File | Collected]:
    """Whose each file is, and rows for those that should be somebody's. What is no submission of this lab is left out."""
    packed = [offer for offer in offers if not (offer.student or offer.forged)]
    owned: Callable[[_Offer], _File | None] = {
        _CANVAS_S: partial(_from_canvas, _least_attachment(packed)),
        _ANONYMOUS: _from_canvas_anonymous,
        _MOODLE_S: partial(_from_moodle, _MoodleNames(lab, packed)),
        _PLAIN: partial(_in_plain_layout, lab),
    }[_layout(packed)]
    for offer in offers:
        try:
            if offer.forged:
                raise Unreadable(offer.forged)
            if offer.student:
                yield _file(offer, offer.student, offer.parts[-1])
            elif _leads_out(offer.parts[0]):
                raise Unreadable("Its path leads out of the archive.")
            elif found := owned(offer):
                yield found
        except Unreadable as error:
            yield Collected("", offer.shown, REFUSED, str(error))


def _file(offer: _Offer, student: str, name: str, attachment: int = 0, **known: Any) -> _File:
    notebook = _NOTEBOOK.fullmatch(name)
    if not notebook:
        return _File(student, offer, **known)
    order = (_number(notebook["version"]), attachment)
    return _File(student, offer, _plain(notebook["stem"]), order, **known)


# -- Canvas


def _from_canvas(least: int, offer: _Offer) -> _File | None:
    """
    Args:
        least: see :func:`_least_attachment`.

    Raises:
        Unreadable: its name can be read as that of two users.
    """
    readings = list(_CANVAS.finditer(offer.parts[0]))
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
    known = {"late": bool(first["late"]), "source": (f"{name}_{first['number']}",), "number": first["number"]}
    file, attachment = first["file"] or first["typed"], int(first["attachment"] or 0)
    return _file(offer, student_id(name, first["number"]), file, attachment, **known)


def _may_be_the_true_one(first: re.Match, other: re.Match, least: int) -> bool:
    """Whether what comes before the second place that looks like Canvas's numbers may all be a user's name, and the first
    a part of it. Else the second is a part of the file's name.
    """
    if other["number"] == first["number"]:
        return False
    before = first.string[: other.start()]
    if before != before.lower() or re.search(r"[\s.()-]", before):  # Canvas leaves neither in a name
        return False
    attachment = other["attachment"] or ""
    if other["number"].startswith("0") or attachment.startswith("0"):  # no number of Canvas's does
        return False
    return not attachment or 10 * int(attachment) >= least


def _least_attachment(offers: Iterable[_Offer]) -> int:
    """The least number of an attachment in Canvas's archive, of those that are beyond doubt; 0 if there is none.

    Canvas counts them on for years, so what is far less is none: it saves learners whose file is called ``2_attention``.
    """
    readings = (list(_CANVAS.finditer(offer.parts[0])) for offer in offers)
    sure = (found[0]["attachment"] for found in readings if len(found) == 1)
    return min((int(number) for number in sure if number), default=0)


def _from_canvas_anonymous(offer: _Offer) -> _File | None:
    found = _CANVAS_ANONYMOUS.fullmatch(offer.parts[0])
    if not found:
        return None
    file, attachment = found["file"] or found["typed"], int(found["attachment"] or 0)
    return _file(offer, student_id("anon", found["number"]), file, attachment, late=bool(found["late"]))


# -- Moodle


class _MoodleNames:
    """Who is who in a zip of Moodle's. Its number of a person is of one assignment, so the id is the name.

    Two people of one name are told apart by the number. It says nothing in the next assignment, so it is then not guessed
    who is who: each gets an id of this lab only.
    """

    def __init__(self, lab: Lab, offers: Iterable[_Offer]) -> None:
        tops = {offer.parts[0] for offer in offers}
        found = [match for top in tops if (match := _MOODLE.fullmatch(top)) and match["number"]]
        self.lab = lab
        self.numbers: dict[str, set[str]] = {}  # name -> numbers in the zip
        for match in found:
            self.numbers.setdefault(_folded(student_id(match["name"])), set()).add(match["number"])
        self.stored: dict[str, str] = {}  # number -> id, of this lab
        self.known: dict[str, list[str]] = {}  # name -> ids, in all labs
        for folder in sorted(lab.course.submitted.glob("*")):
            student = folder.name
            if number := stored_moodle_number(lab, student):
                self.stored[number] = student
            for name in {student, student.removesuffix(f"_{number_in_id(student)}")}:
                self.known.setdefault(_folded(name), []).append(student)

    def student(self, name: str, number: str) -> tuple[str, str]:
        """A person's id, and what else to know.

        Raises:
            Unreadable: in this lab, the number is that of another name.
        """
        base, own = student_id(name), student_id(name, number)
        ids = dict.fromkeys(
            [*self.known.get(_folded(base), ()), *self.known.get(_folded(own.removesuffix(f"_{number}")), ())]
        )
        if before := self.stored.get(number):
            if before not in ids:
                raise Unreadable(
                    f"It says that Moodle's number {number} is {base!r}, but in {self.lab.name} it is {before!r}. Is it the "
                    "zip of another assignment? If the person was renamed in Moodle, rename the folder in it likewise."
                )
            return before, ""
        if self._is_here(own) and not stored_moodle_number(self.lab, own):  # of a time when all ids were so
            return own, ""
        only = next(iter(ids), base)
        alone = len(self.numbers[_folded(base)]) == 1 and len(ids) < 2
        # with blind marking everybody has one name, even if only one has handed in so far
        if alone and not self._has_another_number(only) and _folded(base) != "participant":
            return only, ""
        return own, (
            f"Several people are called {printable(name)!r}. This is the one with Moodle's number {number}, which is of this "
            "assignment only: who it was in other labs is not known."
        )

    def _is_here(self, student: str) -> bool:
        return _folders(self.lab, student)[0].is_dir()

    def _has_another_number(self, student: str) -> bool:
        """Whether a student, whose stored number is not the one that is looked for, has one in this lab."""
        return bool(
            stored_moodle_number(self.lab, student) or (self._is_here(student) and number_in_id(student))
        )


def _folded(student: str) -> str:
    """An id as file systems that ignore case see it."""
    return student.casefold()


def _from_moodle(names: _MoodleNames, offer: _Offer) -> _File | None:
    """
    Raises:
        Unreadable: Moodle says no number, or one that is another's.
    """
    found = _MOODLE.fullmatch(offer.parts[0])
    if not found:
        return None
    name, number = found["name"], found["number"]
    if not number:
        raise Unreadable(
            "Moodle gives no number here, as for people who are in no group, so it is not clear whose it is. Find that out "
            "in Moodle, and hand it over as <student>.ipynb."
        )
    student, note = names.student(name, number)
    file = offer.parts[-1] if len(offer.parts) > 1 else found["file"] or ""
    known = {"number": number, "moodle_number": number, "note": note}
    return _file(offer, student, file, source=(f"{name}_{number}",), **known)


# -- any other


def _number(version: str | None) -> int:
    return int((version or "0").strip(" -()"))


def _plain(stem: str) -> str:
    return re.sub("[- ]", "_", stem.lower())


def _in_plain_layout(lab: Lab, offer: _Offer) -> _File | None:
    """``[<lab>/]<student>/...``, ``<student>_<slug>.ipynb`` or ``<student>.ipynb``.

    Raises:
        Unreadable: it does not say whose it is, or is named as an LMS names what it packs, which it did not here.
    """
    names = lab.course.labs()
    parts = offer.parts[1:] if offer.parts[0] == lab.name else offer.parts
    if any(part in names and part != lab.name for part in parts[:-1]):
        return None  # another lab's
    work = len(parts) > 1 or (parts and _NOTEBOOK.fullmatch(parts[0]))
    if work and (lms := _lms_of(parts[0], is_folder=len(parts) > 1)):
        raise Unreadable(
            f"It is named as {min(lms).partition(',')[0]} names what it packs, but not all beside it is. Collect what "
            f"comes from there by itself, in a folder of its own; or rename this to <student>_{lab.notebook_name}."
        )
    if len(parts) > 1:
        source = offer.parts[: len(offer.parts) - len(parts) + 1]
        found = _file(offer, student_id(parts[0]), parts[-1], source=source)
        return replace(found, sure=bool(found.stem))
    notebook = _NOTEBOOK.fullmatch(parts[0]) if parts else None
    if not notebook:
        return None
    stem, version = notebook["stem"], notebook["version"] or ""
    slugs = [name.partition("_")[2] for name in names]
    # the longest: in `anna_self_attention` it is not the slug `attention` of another lab
    slug = max((slug for slug in slugs if f"_{_plain(stem)}".endswith(f"_{slug}")), key=len, default="")
    if slug and slug != lab.slug:
        return None
    if _plain(stem) == lab.slug:
        raise Unreadable(f"It does not say whose it is. Name it <student>_{lab.notebook_name}.")
    if slug:
        return _flat(offer, stem[: -len(slug) - 1], slug, version)
    if version.startswith("-"):  # part of the student's name; what a browser adds, `(1)`, is not
        stem, version = stem + version, ""
    return _flat(offer, stem, lab.slug, version)


def _flat(offer: _Offer, name: str, slug: str, version: str) -> _File:
    source = (*offer.parts[:-1], f"{name}*.ipynb")
    return _File(student_id(name), offer, slug, (_number(version), 0), source=source)


# ---------------------------------------------------------------------------------- into the course


def _collect(lab: Lab, offers: Sequence[_Offer]) -> Iterator[Collected]:
    by_student: dict[str, list[_File]] = {}
    of_nobody = []
    for found in _files(lab, offers):
        if isinstance(found, Collected):
            of_nobody.append(found)
        else:
            by_student.setdefault(found.student, []).append(found)
    rivals = _rivals(itertools.chain.from_iterable(by_student.values()))
    stamps = {offer.parts: offer for offer in offers if offer.parts[-1:] == (TIMESTAMP,)}
    seen: dict[str, str] = {}  # ids as file systems that ignore case see them
    for student in sorted(by_student):
        files = by_student[student]
        if (other := seen.setdefault(_folded(student), student)) != student:
            why = f"The name differs from {other!r} in capitals only. Rename one, and collect again."
            yield Collected(student, files[0].offer.shown, REFUSED, why)
        else:
            yield _collect_one(lab, student, files, stamps, rivals.get(student, ""))
    yield from of_nobody


def _rivals(files: Iterable[_File]) -> dict[str, str]:
    """Students whose work comes from two places of a source, or with a number that another's has too -> what to say."""
    claims: dict[str, dict[tuple[str, ...], set[str]]] = {}  # what is claimed -> source -> students
    for file in files:
        if file.source and file.sure:
            for what in (f"{file.student!r}", file.number and f"the number {file.number}"):
                if what:
                    claims.setdefault(what, {}).setdefault(file.source, set()).add(file.student)
    found = {}
    for what, sources in claims.items():
        if len(sources) > 1:
            listed = " and ".join(repr(printable("/".join(source))) for source in list(sources)[:5])
            why = f"Two claim to be {what}: {listed}. Find out whose they are, and take out or rename what is not right."
            found |= dict.fromkeys(itertools.chain.from_iterable(sources.values()), why)
    return found


def _collect_one(
    lab: Lab, student: str, files: Sequence[_File], stamps: dict[tuple[str, ...], _Offer], rival: str
) -> Collected:
    """
    Args:
        rival: why it is not clear that the files are the student's; empty if it is.
    """
    known = files[0]
    try:
        _see_that_folders_are_ours(lab, student)
    except Unreadable as error:
        return Collected(student, known.offer.shown, REFUSED, str(error))
    try:
        if rival:
            raise Unreadable(rival)
        chosen, data = _choose(lab, files)
        known = chosen
        outcome = _store(lab, student, data, _receipt(chosen.offer, stamps))
    except Unreadable as error:
        sure = any(file.sure for file in files) and not rival
        why = _leave_reason(lab, student, str(error), _receipt(known.offer, stamps) if sure else None)
        if not rival:
            _keep_number(lab, known)
        return Collected(student, known.offer.shown, REFUSED, why)
    _keep_number(lab, known)
    notes = [known.note, "Canvas marks it as late." if known.late else ""]
    return Collected(student, known.offer.shown, outcome, " ".join(filter(None, notes)))


def _choose(lab: Lab, files: Sequence[_File]) -> tuple[_File, bytes]:
    """The one notebook of a student's files that counts, and its content.

    Raises:
        Unreadable: there is none, it is not clear which, or it cannot be read.
    """
    notebooks = [file for file in files if file.stem]
    if not notebooks:
        raise Unreadable(_why_no_notebook(files))
    pool = [file for file in notebooks if file.stem == lab.slug] or notebooks
    best = [file for file in pool if file.order == max(file.order for file in pool)]
    if len({file.stem for file in pool}) > 1:
        best = pool
    contents = {file.offer.read(): file for file in reversed(best[:5])}
    if len(contents) > 1 or len(best) > 5:
        listed = ", ".join(file.offer.shown for file in best[:5])
        raise Unreadable(f"Several notebooks, and it is not clear which one counts: {listed}. Keep one.")
    data, chosen = contents.popitem()
    if len(data) > MAX_BYTES:
        raise Unreadable(f"It is larger than {MAX_BYTES // 2**20} MiB. Clear the notebook's outputs.")
    return chosen, data


def _why_no_notebook(files: Sequence[_File]) -> str:
    names = [file.offer.parts[-1] for file in files]
    listed = ", ".join(printable(name) for name in names[:5])
    archives = any(name.lower().endswith((".zip", ".7z", ".rar", ".gz", ".tar")) for name in names)
    advice = " Archives inside are not unpacked: hand in the notebook itself." if archives else ""
    return f"There is no notebook among what was handed in ({listed}).{advice}"


def _receipt(offer: _Offer, stamps: dict[tuple[str, ...], _Offer]) -> dict[str, bytes]:
    """The files that say when a submission was handed in, and by which secret its feedback is found."""
    stamp = offer.stamp or _stamp_beside(offer, stamps)
    receipt = {
        TIMESTAMP: f"{stamp:%Y-%m-%d %H:%M:%S.%f} UTC".encode() if stamp else b"",
        SECRET: offer.secret,
    }
    return {name: data for name, data in receipt.items() if data}


def _stamp_beside(offer: _Offer, stamps: dict[tuple[str, ...], _Offer]) -> datetime | None:
    """When it was handed in, by nbgrader's file in the same folder. None if that does not say."""
    try:
        beside = stamps[(*offer.parts[:-1], TIMESTAMP)]
        return time_of(beside.read()[:100].decode("utf-8").strip())
    except (KeyError, Unreadable, UnicodeDecodeError):
        return None


def _folders(lab: Lab, student: str) -> tuple[Path, Path]:
    """Where a student's submission is, and where earlier ones of it are kept."""
    return lab.course.submitted / student / lab.name, lab.course.grading / "earlier" / student / lab.name


def _see_that_folders_are_ours(lab: Lab, student: str) -> None:
    """
    Raises:
        Unreadable: to write there would write elsewhere, or is not possible.
    """
    for folder in _folders(lab, student):
        for place in (folder.parent, folder):
            if place.is_symlink() or (place.exists() and not place.is_dir()):
                where = place.relative_to(lab.course.root)
                raise Unreadable(f"{where} is a link or a file, where a folder should be. Move it away.")


def _store(lab: Lab, student: str, data: bytes, receipt: Mapping[str, bytes]) -> str:
    """Writes a submission, and says whether it is ``NEW``, ``REPLACED`` an earlier one, or is ``UNCHANGED``.

    Raises:
        GraderError: it cannot be written.
    """
    folder, earlier = _folders(lab, student)
    target = folder / lab.notebook_name
    present, _ = find_notebook(folder, lab.notebook_name)
    there = present.is_symlink() or present.exists()
    unchanged = there and _same(present, data)
    try:
        if unchanged:
            # of equal submissions the first time counts; feedback is found beside the last
            if SECRET in receipt:
                _scratch(folder, SECRET, receipt[SECRET]).replace(folder / SECRET)
            return UNCHANGED
        make_private(folder)
        scratch = _scratch(folder, target.name, data)
        if there:
            _keep(earlier, [present, folder / TIMESTAMP, folder / SECRET])
        scratch.replace(target)
        _write_receipt(folder, receipt)
        (folder / REASON_FILE).unlink(missing_ok=True)
    except OSError as error:
        raise GraderError(
            f"{target} cannot be written: {error.strerror}. See that the disk has room."
        ) from None
    return REPLACED if there else NEW


def _keep_number(lab: Lab, file: _File) -> None:
    """Keeps Moodle's number of a student in this lab, for the way back, also when later versions come another way.

    Raises:
        GraderError: it cannot be written.
    """
    folder, _ = _folders(lab, file.student)
    if not file.moodle_number or not folder.is_dir():
        return
    if stored_moodle_number(lab, file.student) != file.moodle_number:
        try:
            _scratch(folder, MOODLE_NUMBER, file.moodle_number.encode()).replace(folder / MOODLE_NUMBER)
        except OSError as error:
            raise GraderError(f"{folder} cannot be written to: {error.strerror}.") from None


def _write_receipt(folder: Path, receipt: Mapping[str, bytes]) -> None:
    for name in (TIMESTAMP, SECRET):
        if name in receipt:
            _scratch(folder, name, receipt[name]).replace(folder / name)
        else:  # of a submission that was refused before
            (folder / name).unlink(missing_ok=True)


def _same(path: Path, data: bytes) -> bool:
    try:
        return file_bytes(path) == data
    except Unreadable:
        return False


def _scratch(folder: Path, name: str, data: bytes) -> Path:
    """A new file beside the one that it is going to replace."""
    scratch = folder / f".{name}.new"
    scratch.unlink(missing_ok=True)
    with scratch.open("xb") as file:  # x: not through a link that stands in its place
        file.write(data)
    return scratch


def _keep(earlier: Path, files: Iterable[Path]) -> None:
    """Moves a submission's files to a folder of their own: the next number."""
    make_private(earlier)
    number = 1
    while (place := earlier / str(number)).exists():
        number += 1
    place.mkdir()
    for file in files:
        if file.is_symlink() or file.exists():
            file.replace(place / file.name)


def _leave_reason(lab: Lab, student: str, why: str, receipt: Mapping[str, bytes] | None) -> str:
    """Sees to it that grading reports a submission that was refused. Returns what to say about it.

    Args:
        receipt: None: it is not sure that there is such a student.

    Raises:
        GraderError: it cannot be written.
    """
    folder, _ = _folders(lab, student)
    present, _ = find_notebook(folder, lab.notebook_name)
    if present.is_symlink() or present.exists():
        return f"{why} What was collected before stays."
    if receipt is not None:
        try:
            make_private(folder)
            _scratch(folder, REASON_FILE, why.encode("utf-8", "replace")).replace(folder / REASON_FILE)
            _write_receipt(folder, receipt)
        except OSError as error:
            raise GraderError(f"{folder} cannot be written to: {error.strerror}.") from None
    return why
