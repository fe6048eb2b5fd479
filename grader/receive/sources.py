"""What a folder or a zip contains: the path of each file, and how to get its content.

No link is followed, and nothing is unpacked without a limit. A path in a source only says whose a file is; nothing is ever
written to that path. Each file is handled on its own, so one that is damaged or hostile does not stop the others.
"""

from __future__ import annotations

import fnmatch
import io
import itertools
import os
import pwd
import re
import stat
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from pathlib import Path

from grader.errors import GraderError
from grader.files import MAX_BYTES, MAX_FILES, Unreadable, file_bytes, opened_folder, printable

MAX_ENTRIES = 50_000
"""The most files that a source may have."""
MAX_DEPTH = 8
"""How deeply the folders of a source may be nested."""
MAX_DIRECTORY = 4 * 2**20
"""The most bytes of a zip's list of members: enough for some 30,000 of them."""
MAX_UNPACKED = 4 * 2**30
"""The most bytes that all members of a zip together may unpack to, unless the zip itself is large."""
MAX_GROWTH = 10
"""How many times its own size a zip may unpack to, if that is more: a large class's work, which packs to about a third."""
MAX_INSIDE = 100 * 2**20
"""The most bytes that archives inside one student's files are unpacked to when they are looked into."""
_NESTED = 2
"""So deep may archives lie in one another, below the source itself."""
_SLIPS = ("__MACOSX", "Thumbs.db", "desktop.ini")


@dataclass(frozen=True)
class Offer:
    """A file of a source: its path in it, and how to get its content (which raises Unreadable).

    Attributes:
        inside: its path in an archive that lies there. The person who handed that in chose it, so it never says whose a file is.
    """

    parts: tuple[str, ...]
    read: Callable[[], bytes]
    inside: tuple[str, ...] = ()
    student: str = ""  # an id, if the source itself says whose it is
    stamp: datetime | None = None
    secret: bytes = b""
    forged: str = ""  # why it cannot be the work of the student that it claims to be from
    beside_request: bool = (
        False  # handed in together with a request to look again, so it is not taken as work
    )

    @property
    def name(self) -> str:
        """What the file itself is called."""
        return (self.inside or self.parts)[-1]

    @property
    def path(self) -> str:
        """Its path in the source, with / between folders, whatever is inside it."""
        return "/".join(self.parts)

    @property
    def shown(self) -> str:
        return printable("/".join((*self.parts, *self.inside)), 150)


def refusing(why: str) -> Callable[[], bytes]:
    """The ``read`` of a file that is not accepted: it raises Unreadable."""

    def read() -> bytes:
        raise Unreadable(why)

    return read


def leads_out(name: str) -> bool:
    """Whether a path would lead outside the folder that it is unpacked to."""
    return (
        name.startswith("/")
        or re.match("[A-Za-z]:", name) is not None
        or ".." in name.split("/")
        or "\0" in name
        or len(name) > 1000
    )


def _is_slip(parts: tuple[str, ...]) -> bool:
    """Whether a file is one that editors and operating systems leave behind."""
    return any(part.startswith(".") or part in _SLIPS for part in parts) and not leads_out(parts[0])


# ---------------------------------------------------------------------------------- folders


def in_folder(root: Path) -> list[Offer]:
    """All files in a folder and below it.

    Raises:
        GraderError: it cannot be read, or contains more than a class can have handed in.
    """
    try:
        with opened_folder(root) as folder:
            return listed(root, folder)
    except OSError as error:
        raise GraderError(f"{root} cannot be read: {error.strerror}.") from None


def listed(root: Path, folder: int, top: tuple[str, ...] = (), owner: int | None = None) -> list[Offer]:
    """All files in a folder and below it.

    Args:
        root: a folder above it; below this one, no link is followed.
        folder: the folder's descriptor.
        top: the folder's path below the root.
        owner: the number of the user who has to own everything in it; None if the owner does not matter.

    Raises:
        OSError: it cannot be read.
        GraderError: it contains more than a class can have handed in.
    """
    offers = []
    for parts, found in _walk(folder, ()):
        offers.append(Offer((*top, *parts), _reading(root, (*top, *parts), found, owner)))
        if len(offers) > MAX_ENTRIES:
            where = root.joinpath(*top)
            raise GraderError(f"{where} contains more than {MAX_ENTRIES} files. Is it the folder you meant?")
    return [offer for offer in offers if not _is_slip(offer.parts[len(top) :])]


def states(root: Path, pattern: str = "*") -> dict[str, tuple[tuple[object, ...], ...]]:
    """What is in a folder -> what changes when any file of it does: path, time, size and number of each. It opens no file and follows no link. Of
    one entry, it looks at no more files than a submission may have.

    Args:
        pattern: of the names that count.

    Raises:
        GraderError: the folder cannot be read.
    """
    found: dict[str, tuple[tuple[object, ...], ...]] = {}
    try:
        with opened_folder(root) as folder:
            for name in fnmatch.filter(os.listdir(folder), pattern):
                with suppress(OSError):  # it disappeared while we were looking, or is nobody's to read
                    about = os.stat(name, dir_fd=folder, follow_symlinks=False)
                    files: Iterable[tuple[tuple[str, ...], os.stat_result]] = [((), about)]
                    with ExitStack() as stack:
                        if stat.S_ISDIR(about.st_mode):
                            inner = stack.enter_context(opened_folder(name, folder))
                            files = itertools.islice(_walk(inner, ()), MAX_FILES)
                        found[name] = tuple(
                            (parts, of.st_mtime_ns, of.st_size, of.st_ino) for parts, of in files
                        )
    except OSError as error:
        raise GraderError(f"{root} cannot be read: {error.strerror}.") from None
    return found


def _reading(
    root: Path, parts: tuple[str, ...], found: os.stat_result, owner: int | None
) -> Callable[[], bytes]:
    kind = stat.S_IFMT(found.st_mode)
    if owner not in (None, found.st_uid):
        return refusing(f"It belongs to {user_name(found.st_uid)}, and its folder to {user_name(owner)}.")
    if kind == stat.S_IFREG:
        return partial(file_bytes, root.joinpath(*parts), root, (found.st_dev, found.st_ino))
    what = {stat.S_IFLNK: "a symbolic link", stat.S_IFDIR: "a folder that cannot be read"}.get(
        kind, "no file"
    )
    return refusing(f"It is {what}. Hand in the file itself.")


def user_name(number: int) -> str:
    """The name of one of the system's users, or the number of a user without a name."""
    try:
        return pwd.getpwuid(number).pw_name
    except KeyError:
        return f"user number {number}"


def _walk(folder: int, parts: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], os.stat_result]]:
    """Everything in a folder (a descriptor) and below it: path parts, and what the system says about each.

    Follows no link. Folders themselves are listed only if they cannot be read.

    Raises:
        OSError: ``folder`` itself cannot be read.
    """
    with os.scandir(folder) as entries:
        names = sorted(entry.name for entry in itertools.islice(entries, MAX_ENTRIES + 1))
    for name in names:
        below = (*parts, name)
        try:
            found = os.stat(name, dir_fd=folder, follow_symlinks=False)
        except FileNotFoundError:  # it disappeared while we were looking
            continue
        if not stat.S_ISDIR(found.st_mode):
            yield below, found
        elif len(below) <= MAX_DEPTH:
            try:
                with opened_folder(name, folder) as inner:
                    yield from _walk(inner, below)
            except OSError:
                yield below, found


# ---------------------------------------------------------------------------------- zips


class _Listed:
    """A zip whose list of members is not read if it is huge: zipfile would read all of it into memory."""

    def read(self, size: int | None = -1, /) -> bytes:
        if size is not None and size > MAX_DIRECTORY:
            raise zipfile.BadZipFile("its list of files is too long")
        return super().read(size)  # type: ignore[misc]


class _Archive(_Listed, io.BufferedReader):
    """A zip in a file."""


class _Packed(_Listed, io.BytesIO):
    """A zip in memory."""


_NO_ZIP = (zipfile.BadZipFile, ValueError, NotImplementedError, OSError)


@contextmanager
def in_zip(path: Path) -> Iterator[list[Offer]]:
    """All files in a zip, which stays open so that they can be read.

    Raises:
        GraderError: it is not a zip, is not complete, or its list of members cannot be read.
    """
    try:
        raw = _Archive(io.FileIO(path))
    except OSError as error:
        raise GraderError(f"{path} cannot be read: {error.strerror}.") from None
    with raw:
        try:
            archive = zipfile.ZipFile(raw)
        except _NO_ZIP as error:
            if path.suffix.lower() == ".ipynb":
                raise GraderError(
                    f"{path} is a single notebook. Put it into a folder, under the name <student>.ipynb, and collect the folder."
                ) from None
            raise GraderError(
                f"{path} cannot be read as a zip archive ({printable(str(error))}). Download it again. Archives of "
                "other kinds are not unpacked: unpack it yourself and collect the folder."
            ) from None
        with archive:
            budget = _Budget(max(MAX_UNPACKED, MAX_GROWTH * path.stat().st_size))
            overlapping = _overlapping(archive.infolist())
            yield [
                Offer(parts, partial(_unpacked, archive, info, info in overlapping, budget))
                for parts, info in _files_of(archive)
            ]


def _files_of(archive: zipfile.ZipFile) -> list[tuple[tuple[str, ...], zipfile.ZipInfo]]:
    """The members that are files and somebody's, each with the parts of its path."""
    return [
        (parts, info)
        for info in archive.infolist()
        if (parts := _parts(info)) and not info.orig_filename.endswith("/") and not _is_slip(parts)
    ]


# ---------------------------------------------------------------------------------- archives inside


def looked_into(offers: Iterable[Offer]) -> list[Offer]:
    """The same files, with those inside zips that were handed in in place of the zips. One that cannot be opened stays as it is, and
    says why when it is read.

    What is looked into is bounded for each entry at the top of the source, so that nobody's archive is in the way of another's.
    """
    spent: dict[str, _Budget] = {}
    found: list[Offer] = []
    for offer in offers:
        if is_zip(offer.name) and not offer.forged:
            budget = spent.setdefault(offer.parts[0], _Budget(MAX_INSIDE))
            found += _inside(offer, budget, MAX_ENTRIES - len(found), _NESTED)
        else:
            found.append(offer)
    return found


def is_zip(name: str) -> bool:
    """Whether a file is named like a zip."""
    return name.lower().endswith(".zip")


def _inside(offer: Offer, budget: _Budget, most: int, levels: int) -> list[Offer]:
    try:
        data = offer.read()
        budget.left -= len(data)
        if budget.left < 0:
            raise Unreadable(f"The archives handed in together have more than {MAX_INSIDE // 2**20} MiB.")
        with _opened(data) as archive:
            names = [parts for parts, _ in _files_of(archive)]
    except Unreadable as error:
        return [replace(offer, read=refusing(f"{printable(offer.name)} cannot be opened. {error}"))]
    if len(names) > most:
        why = f"{printable(offer.name)} contains too many files. Hand in the notebook itself."
        return [replace(offer, read=refusing(why))]
    found = []
    for number, parts in enumerate(names):
        read = partial(_read_inside, offer, number)
        if leads_out(parts[0]):
            read = refusing("Its path leads out of the archive.")
        member = replace(offer, inside=(*offer.inside, *parts), read=read)
        deeper = is_zip(member.name) and levels > 1
        found += _inside(member, budget, most - len(found), levels - 1) if deeper else [member]
    return found


@contextmanager
def _opened(data: bytes) -> Iterator[zipfile.ZipFile]:
    """
    Raises:
        Unreadable: it is no zip, or not a whole one.
    """
    if len(data) > MAX_BYTES:
        raise Unreadable(f"It is larger than {MAX_BYTES // 2**20} MiB. Hand in the notebook itself.")
    try:
        archive = zipfile.ZipFile(_Packed(data))
    except _NO_ZIP:
        raise Unreadable("It is damaged, or no zip. Hand in the notebook itself.") from None
    with archive:
        yield archive


def _read_inside(offer: Offer, number: int) -> bytes:
    """The content of one of the files in a zip that was handed in. The zip is unpacked anew, so that no class's zips lie in memory.

    Raises:
        Unreadable: it cannot or should not be unpacked.
    """
    with _opened(offer.read()) as archive:
        _, info = _files_of(archive)[number]
        return _unpacked(archive, info, info in _overlapping(archive.infolist()), _Budget(MAX_UNPACKED))


class _Budget:
    """The number of bytes that may still be unpacked from an archive."""

    def __init__(self, total: int) -> None:
        self.total = self.left = total


def _parts(info: zipfile.ZipInfo) -> tuple[str, ...]:
    """The parts of a member's path. A path that would lead out of the archive is kept whole, as one name."""
    name = info.orig_filename
    if not info.flag_bits & 0x800:  # by the standard it is in code page 437, but in practice often in UTF-8
        with suppress(UnicodeError):
            name = name.encode("cp437").decode("utf-8")
    if "/" not in name:  # some programs on Windows write backslashes
        name = name.replace("\\", "/")
    parts = tuple(part for part in name.split("/") if part not in ("", "."))
    return (name,) if leads_out(name) else parts


def _overlapping(infos: Iterable[zipfile.ZipInfo]) -> set[zipfile.ZipInfo]:
    """Members that share bytes of the archive, which is how the smallest zip bombs unpack to the largest files."""
    found: set[zipfile.ZipInfo] = set()
    last: zipfile.ZipInfo | None = None
    end = 0
    for info in sorted(infos, key=lambda info: info.header_offset):
        if last and info.header_offset < end:
            found |= {last, info}
        if (here := info.header_offset + 30 + info.compress_size) > end:  # 30: the least length of a header
            last, end = info, here
    return found


def _unpacked(archive: zipfile.ZipFile, info: zipfile.ZipInfo, overlaps: bool, budget: _Budget) -> bytes:
    """A member's content, read bit by bit and within limits: the sizes that the archive declares are not trusted.

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
        # zipfile unpacks other methods without a limit
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
                if budget.left < 0:
                    raise Unreadable(
                        f"The archive unpacks to more than {budget.total / 2**30:.3g} GiB. Unpack it yourself and collect the folder."
                    )
    except (zipfile.BadZipFile, zlib.error, EOFError, ValueError, RuntimeError, OSError):
        raise Unreadable("It is damaged in the archive. Download or hand it in again.") from None
    return bytes(data)
