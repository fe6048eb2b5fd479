"""What came back, from nbgrader's exchange, a folder or an LMS's zip -> ``grading/submitted``.

One notebook a student is taken, and nothing else of what was handed in. A path in a source only says whose a
file is: it is never written to. Each file is dealt with on its own, so one that is damaged or hostile stops
none of the others.

How the two LMSs name what they pack (read from their sources, ``lib/content_zipper.rb`` of Canvas and
``mod/assign/classes/downloader.php`` of Moodle):

* Canvas: ``<name>[_LATE]_<user>_<attachment>_<file>``, name in small letters without blanks, a group's name
  for a group; anonymous: ``[LATE_]anon_<code>_<attachment>_<file>``. A file handed in again is ``<file>-N``,
  what was typed into Canvas ``<name>[_LATE]_<user>_text.html``.
* Moodle: ``<name>_<number>_assignsubmission_file/<file>`` (older ones ``..._file_/<file>``), or flat
  ``<name>_<number>_assignsubmission_file_<file>``; the number is the participant's, or the group's.

The dates in these zips are those of the download, so no time of submission is taken from them.
"""

from __future__ import annotations

import hashlib
import io
import itertools
import logging
import os
import re
import stat
import unicodedata
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from pathlib import Path

from nbgrader.apps.baseapp import NbGrader
from nbgrader.auth import Authenticator
from nbgrader.coursedir import CourseDirectory
from nbgrader.exchange import ExchangeError
from nbgrader.exchange.default import ExchangeCollect
from nbgrader.utils import parse_utc
from traitlets.config import Application

from grader.course import Course, CourseError
from grader.gradebook import Gradebook
from grader.intake import (
    MAX_BYTES,
    REASON_FILE,
    SECRET,
    TIMESTAMP,
    Unreadable,
    file_bytes,
    find_notebook,
    printable,
)
from grader.lab import Lab

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


def collect(lab: Lab, source: Path | None = None) -> list[Collected]:
    """Puts submissions where they are graded, one notebook a student.

    A student whose work is refused gets a folder with the reason, which grading then reports as unreadable;
    what was collected of them before stays.

    Args:
        source: a folder, or a zip as Canvas and Moodle make it. None: nbgrader's exchange.

    Returns: a row for each student, by id, then files that belong to nobody.

    Raises:
        CourseError: the source cannot be used at all, or there is nothing in it.
    """
    with _opened(lab, source) as offers:
        rows = list(_collect(lab, offers))
    if not rows:
        raise CourseError(
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
    note: str = ""

    @property
    def shown(self) -> str:
        return printable("/".join(self.parts), 150)


def _refusing(why: str) -> Callable[[], bytes]:
    def read() -> bytes:
        raise Unreadable(why)

    return read


@contextmanager
def _opened(lab: Lab, source: Path | None) -> Iterator[list[_Offer]]:
    if source is None:
        yield _in_exchange(lab)
    elif source.is_dir():
        yield _in_folder(source.resolve())
    elif source.is_file():
        with _in_zip(source) as offers:
            yield offers
    else:
        raise CourseError(f"{source} does not exist, or is neither a folder nor a zip file.")


def _in_folder(root: Path) -> list[_Offer]:
    """
    Raises:
        CourseError: it cannot be read, or holds more than a class can have handed in.
    """
    offers = []
    try:
        for path, parts, kind in _walk(root, ()):
            offers.append(_Offer(parts, _reading(path, kind)))
            if len(offers) > MAX_ENTRIES:
                raise CourseError(f"{root} holds more than {MAX_ENTRIES} files. Is it the folder you meant?")
    except OSError as error:
        raise CourseError(f"{root} cannot be read: {error.strerror}.") from None
    return [offer for offer in offers if not _is_slip(offer.parts)]


def _reading(path: Path, kind: int) -> Callable[[], bytes]:
    if kind == stat.S_IFREG:
        return lambda: file_bytes(path)
    what = {stat.S_IFLNK: "a symbolic link", stat.S_IFDIR: "a folder that cannot be read"}.get(
        kind, "no file"
    )
    return _refusing(f"It is {what}. Hand in the file itself.")


def _walk(folder: Path, parts: tuple[str, ...]) -> Iterator[tuple[Path, tuple[str, ...], int]]:
    """Path, parts below the root, and kind (as of ``stat.S_IFMT``) of what is in a folder and below it.

    Follows no link. Of folders, only those are among it that cannot be read.

    Raises:
        OSError: ``folder`` itself cannot be read.
    """
    with os.scandir(folder) as entries:
        found = sorted(itertools.islice(entries, MAX_ENTRIES + 1), key=lambda entry: entry.name)
    for entry in found:
        path, below = Path(entry.path), (*parts, entry.name)
        kind = stat.S_IFMT(entry.stat(follow_symlinks=False).st_mode)
        if kind != stat.S_IFDIR:
            yield path, below, kind
        elif len(below) <= MAX_DEPTH:
            try:
                yield from _walk(path, below)
            except OSError:
                yield path, below, kind


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
def _in_zip(path: Path) -> Iterator[list[_Offer]]:
    """
    Raises:
        CourseError: it is not a zip, not a whole one, or its list of members cannot be read.
    """
    try:
        raw = _Archive(io.FileIO(path))
    except OSError as error:
        raise CourseError(f"{path} cannot be read: {error.strerror}.") from None
    with raw:
        try:
            archive = zipfile.ZipFile(raw)
        except (zipfile.BadZipFile, ValueError, NotImplementedError, OSError) as error:
            raise CourseError(
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
            yield _without_wrapper(offers, path.stem)


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


def _without_wrapper(offers: list[_Offer], stem: str) -> list[_Offer]:
    """The same without the folder that packing a folder puts around everything."""
    tops = {offer.parts[0] if len(offer.parts) > 1 else "" for offer in offers}
    packed_again = all(_CANVAS.fullmatch(offer.parts[-1]) for offer in offers)
    if len(tops) == 1 and (tops == {stem} or (packed_again and tops != {""})):
        return [_Offer(offer.parts[1:], offer.read) for offer in offers]
    return offers


# -- exchange


class _Inbound(ExchangeCollect):
    """nbgrader's own choice of what counts (the last, or the last before the due date), without its copying:
    that follows links, stops for one bad submission, and deletes what was collected before."""

    def copy_files(self) -> None:
        pass

    def _path_to_record(self, path):
        try:
            return super()._path_to_record(path)
        except (ValueError, OverflowError):  # a name without a time, which would stop the class
            name = Path(path).name
            return {"username": name.split("+")[0], "filename": name, "timestamp": datetime.min}


def _in_exchange(lab: Lab) -> list[_Offer]:
    """
    Raises:
        CourseError: the exchange is not set up.
    """
    app = _nbgrader_app(lab.course)
    with Gradebook.open(
        lab.course
    ):  # nbgrader looks up the due date there, and would make the file otherwise
        pass
    inbound = _Inbound(
        coursedir=CourseDirectory(parent=app), authenticator=Authenticator(parent=app), parent=app
    )
    inbound.coursedir.assignment_id = lab.name
    try:
        inbound.start()
    except ExchangeError as error:
        raise CourseError(
            f"nbgrader's exchange cannot be used: {error}. Set c.Exchange.root in {lab.course.root / 'nbgrader_config.py'} "
            "to a folder that everybody can write to, and release the lab there with nbgrader; or give the folder "
            f"or the zip of an LMS: grader collect {lab.name} SOURCE."
        ) from None
    return [
        offer
        for record in inbound.src_records
        for offer in _in_record(Path(inbound.inbound_path) / record["filename"], record, inbound.check_owner)
    ]


def _in_record(folder: Path, record: dict, check_owner: bool) -> Iterator[_Offer]:
    """The files of one submission in the exchange."""
    who, name = student_id(record["username"]), record["filename"]
    stamp = record["timestamp"] if record["timestamp"] > datetime.min else None
    note = _owner_note(folder, record["username"]) if check_owner else ""
    try:
        found = [] if folder.is_symlink() else _in_folder(folder.resolve())
    except CourseError:
        found = []
    secret = b""
    for offer in found:
        if offer.parts == (SECRET,):
            with suppress(Unreadable):
                secret = offer.read()[:1000]  # nbgrader's own have 128 bytes
    for offer in found:
        yield _Offer((name, *offer.parts), offer.read, who, stamp, secret, note)
    if not found:
        yield _Offer((name,), _refusing("In the exchange it is no folder with files."), who, stamp, note=note)


def _nbgrader_app(course: Course) -> NbGrader:
    """nbgrader with the configuration of this computer and this course, and without a voice of its own."""
    app = NbGrader()
    app.log.setLevel(logging.CRITICAL + 1)
    app.load_cwd_config = False
    app.load_config_file()
    Application.load_config_file(app, app.config_file_name, path=str(course.root))
    app.update_config(course.nbgrader_config())
    return app


def _owner_note(folder: Path, name: str) -> str:
    try:
        owner = folder.owner()
    except (KeyError, OSError):
        owner = "somebody unknown"
    return "" if owner == name else f"It belongs to {printable(owner)} on this machine: who handed it in?"


# ---------------------------------------------------------------------------------- whose is it


_CANVAS_REST = r"_(?:(?P<attachment>[0-9]{1,20})_(?P<file>.+)|(?P<typed>(?:text|link)\.html))"
_CANVAS = re.compile(r"(?:(?P<name>.*?)_)??(?P<late>LATE_)?(?P<number>[0-9]{1,20})" + _CANVAS_REST, re.DOTALL)
_CANVAS_ANONYMOUS = re.compile(
    r"(?P<late>LATE_)?(?P<name>anon)_(?P<number>[A-Za-z0-9]{1,20})" + _CANVAS_REST, re.DOTALL
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
    """

    student: str
    offer: _Offer
    stem: str = ""
    order: tuple[int, int] = (0, 0)
    sure: bool = True
    late: bool = False


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


def _owned(lab: Lab, offer: _Offer) -> _File | None:
    """Whose a file is; None if it is nobody's submission of this lab.

    Raises:
        Unreadable: it should be somebody's, but does not say whose.
    """
    parts = offer.parts
    if offer.student:
        return _file(lab, offer, offer.student, parts[-1])
    if _leads_out(parts[0]):
        raise Unreadable("Its path leads out of the archive.")
    for position, part in enumerate(parts, 1):
        if found := _MOODLE.fullmatch(part):
            name = parts[-1] if position < len(parts) else found["file"] or ""
            return _file(lab, offer, student_id(found["name"], found["number"] or ""), name)
    if len(parts) == 1 and (found := _CANVAS_ANONYMOUS.fullmatch(part) or _CANVAS.fullmatch(part)):
        who = student_id(found["name"] or "", found["number"])
        file, number = found["file"] or found["typed"], int(found["attachment"] or 0)
        return _file(lab, offer, who, file, number, bool(found["late"]))
    return _in_plain_layout(lab, offer)


def _file(lab: Lab, offer: _Offer, student: str, name: str, number: int = 0, late: bool = False) -> _File:
    notebook = _NOTEBOOK.fullmatch(name)
    if not notebook:
        return _File(student, offer, late=late)
    order = (_number(notebook["version"]), number)
    return _File(student, offer, _plain(notebook["stem"]), order, late=late)


def _number(version: str | None) -> int:
    return int((version or "0").strip(" -()"))


def _plain(stem: str) -> str:
    return re.sub("[- ]", "_", stem.lower())


def _in_plain_layout(lab: Lab, offer: _Offer) -> _File | None:
    """``[<lab>/]<student>/...``, ``<student>_<slug>.ipynb`` or ``<student>.ipynb``."""
    names = lab.course.labs()
    parts = offer.parts[1:] if offer.parts[0] == lab.name else offer.parts
    if any(part in names and part != lab.name for part in parts[:-1]):
        return None  # another lab's
    if len(parts) > 1:
        found = _file(lab, offer, student_id(parts[0]), parts[-1])
        return _File(found.student, offer, found.stem, found.order, sure=bool(found.stem))
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
        return _File(student_id(stem[: -len(slug) - 1]), offer, slug, (_number(version), 0))
    if version.startswith("-"):  # part of the student's name; what a browser adds, `(1)`, is not
        stem, version = stem + version, ""
    return _File(student_id(stem), offer, lab.slug, (_number(version), 0))


# ---------------------------------------------------------------------------------- into the course


def _collect(lab: Lab, offers: Sequence[_Offer]) -> Iterator[Collected]:
    by_student: dict[str, list[_File]] = {}
    of_nobody = []
    for offer in offers:
        try:
            if found := _owned(lab, offer):
                by_student.setdefault(found.student, []).append(found)
        except Unreadable as error:
            of_nobody.append(Collected("", offer.shown, REFUSED, str(error)))
    stamps = {offer.parts: offer for offer in offers if offer.parts[-1:] == (TIMESTAMP,)}
    seen: dict[str, str] = {}  # ids as file systems that ignore case see them
    for student in sorted(by_student):
        files = by_student[student]
        if (other := seen.setdefault(student.casefold(), student)) != student:
            why = f"The name differs from {other!r} in capitals only. Rename one, and collect again."
            yield Collected(student, files[0].offer.shown, REFUSED, why)
        else:
            yield _collect_one(lab, student, files, stamps)
    yield from of_nobody


def _collect_one(
    lab: Lab, student: str, files: Sequence[_File], stamps: dict[tuple[str, ...], _Offer]
) -> Collected:
    known = files[0]
    try:
        _see_that_folders_are_ours(lab, student)
    except Unreadable as error:
        return Collected(student, known.offer.shown, REFUSED, str(error))
    try:
        chosen, data = _choose(lab, files)
        known = chosen
        outcome = _store(lab, student, data, _receipt(chosen.offer, stamps))
    except Unreadable as error:
        receipt = _receipt(known.offer, stamps) if any(file.sure for file in files) else None
        return Collected(
            student, known.offer.shown, REFUSED, _leave_reason(lab, student, str(error), receipt)
        )
    notes = [known.offer.note, "Canvas marks it as late." if known.late else ""]
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
        return parse_utc(beside.read()[:100].decode("utf-8").strip())
    except (KeyError, Unreadable, ValueError, OverflowError):
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
        CourseError: it cannot be written.
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
        folder.mkdir(parents=True, exist_ok=True)
        scratch = _scratch(folder, target.name, data)
        if there:
            _keep(earlier, [present, folder / TIMESTAMP, folder / SECRET])
        scratch.replace(target)
        _write_receipt(folder, receipt)
        (folder / REASON_FILE).unlink(missing_ok=True)
    except OSError as error:
        raise CourseError(
            f"{target} cannot be written: {error.strerror}. See that the disk has room."
        ) from None
    return REPLACED if there else NEW


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
    earlier.mkdir(parents=True, exist_ok=True)
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
        CourseError: it cannot be written.
    """
    folder, _ = _folders(lab, student)
    present, _ = find_notebook(folder, lab.notebook_name)
    if present.is_symlink() or present.exists():
        return f"{why} What was collected before stays."
    if receipt is not None:
        try:
            folder.mkdir(parents=True, exist_ok=True)
            _scratch(folder, REASON_FILE, why.encode("utf-8", "replace")).replace(folder / REASON_FILE)
            _write_receipt(folder, receipt)
        except OSError as error:
            raise CourseError(f"{folder} cannot be written to: {error.strerror}.") from None
    return why
