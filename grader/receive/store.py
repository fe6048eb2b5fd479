"""Writes what was collected into the course, where grading looks for it: a notebook, when and from whom it came, or why it could not be taken. It
keeps what was there, follows no link, and writes a file completely or not at all.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from pathlib import Path
from zoneinfo import ZoneInfo

from grader.course import make_private
from grader.errors import GraderError
from grader.files import (
    LATE,
    LOCAL_TIME,
    REASON_FILE,
    SECRET,
    TEAM,
    TIMESTAMP,
    Unreadable,
    file_bytes,
    find_notebook,
    time_of,
)
from grader.people.students import MOODLE_NUMBER, stored_moodle_number
from grader.receive.beside import NOT_TAKEN, Beside, note
from grader.receive.names import File, in_utc
from grader.receive.sources import Offer
from grader.reference.lab import Lab

_RECEIPT = (TIMESTAMP, LOCAL_TIME, SECRET, LATE)
NEW, REPLACED, UNCHANGED = "new", "replaced", "unchanged"


def receipt_of(file: File, stamps: dict[tuple[str, ...], Offer]) -> dict[str, bytes]:
    """The files that say when a submission was handed in, or that it was late, and under which secret its feedback is found."""
    offer = file.offer
    stamp = offer.stamp or _stamp_beside(offer, stamps)
    receipt = {
        TIMESTAMP: _stamped(stamp) if stamp else b"",
        LOCAL_TIME: file.local.encode(),
        SECRET: offer.secret,
        LATE: file.late.encode() if not stamp else b"",
    }
    return {name: data for name, data in receipt.items() if data}


def _stamped(when: datetime) -> bytes:
    return f"{when:%Y-%m-%d %H:%M:%S.%f} UTC".encode()


def _stamp_beside(offer: Offer, stamps: dict[tuple[str, ...], Offer]) -> datetime | None:
    """When it was handed in, according to nbgrader's file in the same folder. None if that does not say."""
    try:
        beside = stamps[(*offer.parts[:-1], TIMESTAMP)]
        return time_of(beside.read()[:100].decode("utf-8").strip())
    except (KeyError, Unreadable, UnicodeDecodeError):
        return None


def folders_of(lab: Lab, student: str) -> tuple[Path, Path]:
    """Where a student's submission is, and where its earlier versions are kept."""
    return lab.course.submitted / student / lab.name, lab.course.grading / "earlier" / student / lab.name


def see_that_folders_are_ours(lab: Lab, student: str) -> None:
    """Sees that a student's submission is a folder of the course's.

    Raises:
        Unreadable: writing there would write somewhere else, or is not possible.
    """
    for folder in folders_of(lab, student):
        for place in (folder.parent, folder):
            if place.is_symlink() or (place.exists() and not place.is_dir()):
                where = place.relative_to(lab.course.root)
                raise Unreadable(f"{where} is a link or a file, where a folder should be. Move it away.")


def store(
    lab: Lab, student: str, data: bytes, beside: Beside, receipt: Mapping[str, bytes]
) -> tuple[str, str]:
    """Writes a submission. Returns whether it is ``NEW``, ``REPLACED`` an earlier one, or is ``UNCHANGED``; and what to say if an
    unchanged one has got another time.

    Raises:
        GraderError: it cannot be written.
    """
    folder, earlier = folders_of(lab, student)
    target = folder / lab.notebook_name
    present, _ = find_notebook(folder, lab.notebook_name)
    there = present.is_symlink() or present.exists()
    modules = {name: text.encode() for name, text in beside.modules.items()}
    old = [path for path in folder.glob("*.py") if path.is_symlink() or path.is_file()] if there else []
    unchanged = (
        there
        and same(present, data)
        and {path.name for path in old} == set(modules)
        and all(same(folder / name, module) for name, module in modules.items())
    )
    try:
        if unchanged:
            # of equal submissions, the time of the first one counts; feedback is found under the secret of the last one
            told = _enter_time(folder, receipt)
            names = [SECRET] if (folder / TIMESTAMP).exists() else [SECRET, LATE]
            for name in names:
                if name in receipt:
                    scratch(folder, name, receipt[name]).replace(folder / name)
            _note_left(folder, beside)
            return UNCHANGED, told
        make_private(folder)
        written = scratch(folder, target.name, data)
        if there:
            _keep(earlier, [present, *(folder / name for name in (*_RECEIPT, NOT_TAKEN, TEAM)), *old])
        for name, module in modules.items():
            scratch(folder, name, module).replace(folder / name)
        _note_left(folder, beside)
        written.replace(target)
        write_receipt(folder, receipt)
        (folder / REASON_FILE).unlink(missing_ok=True)
    except OSError as error:
        raise GraderError(
            f"{target} cannot be written: {error.strerror}. Make sure that the disk has room."
        ) from None
    return REPLACED if there else NEW, ""


def _enter_time(folder: Path, receipt: Mapping[str, bytes]) -> str:
    """Enters when somebody handed in an unchanged submission, if that was unknown, or known in another zone. Returns what to say."""
    before = _text_in(folder / TIMESTAMP)
    # in this order: if the second cannot be written, the next time does both
    for name, data in _learned(folder, receipt).items():
        scratch(folder, name, data).replace(folder / name)
    after = _text_in(folder / TIMESTAMP)
    if after == before:
        return ""
    (folder / LATE).unlink(missing_ok=True)  # the time says by how much
    then, now = (_to_the_minute(text) for text in (before, after))
    return (
        f"Its time of submission is corrected: {now}, not {then}."
        if before
        else f"Its time of submission is entered: {now}."
    )


def _learned(folder: Path, receipt: Mapping[str, bytes]) -> dict[str, bytes]:
    """Of an unchanged submission's receipt, the files that say something new about when it was handed in.

    The time in the platform's names tells whether it is the same upload, in a zone that nobody had named, or a later one of the same file. A later
    one must not make punctual work late.
    """
    said, there = receipt.get(LOCAL_TIME, b"").decode(), _text_in(folder / LOCAL_TIME)
    if said and there:
        (now, _, zone), (before, _, zone_before) = said.partition(" "), there.partition(" ")
        first, zone = min(now, before), zone or zone_before
        if (local := f"{first} {zone}".strip()) == there:
            return {}
        stamp = {TIMESTAMP: _stamped(in_utc(datetime.fromisoformat(first), ZoneInfo(zone)))} if zone else {}
        return {**stamp, LOCAL_TIME: local.encode()}
    if (folder / TIMESTAMP).exists():
        return {}
    return {name: receipt[name] for name in (TIMESTAMP, LOCAL_TIME) if name in receipt}


def _text_in(file: Path) -> str:
    """What one of these files says; empty if it is not there."""
    try:
        return file_bytes(file)[:100].decode("ascii", "replace").strip()
    except Unreadable:
        return ""


def _to_the_minute(stamp: str) -> str:
    when = time_of(stamp) if stamp else None
    return f"{when:%Y-%m-%d %H:%M} UTC" if when else stamp


def _note_left(folder: Path, beside: Beside) -> None:
    """Writes down what else was handed in, so that grading can say so."""
    if beside.left:
        scratch(folder, NOT_TAKEN, note(beside.left)).replace(folder / NOT_TAKEN)
    else:
        (folder / NOT_TAKEN).unlink(missing_ok=True)


def keep_number(lab: Lab, file: File) -> None:
    """Keeps Moodle's number for a student in this lab: exports need it, even if later versions arrive another way.

    Raises:
        GraderError: it cannot be written.
    """
    folder, _ = folders_of(lab, file.student)
    if not file.moodle_number or not folder.is_dir():
        return
    if stored_moodle_number(lab, file.student) != file.moodle_number:
        try:
            scratch(folder, MOODLE_NUMBER, file.moodle_number.encode()).replace(folder / MOODLE_NUMBER)
        except OSError as error:
            raise GraderError(f"{folder} cannot be written to: {error.strerror}.") from None


def write_receipt(folder: Path, receipt: Mapping[str, bytes]) -> None:
    """Writes when a submission was handed in, and removes what is left of another's."""
    for name in _RECEIPT:
        if name in receipt:
            scratch(folder, name, receipt[name]).replace(folder / name)
        else:  # left by a submission that was refused before
            (folder / name).unlink(missing_ok=True)


def same(path: Path, data: bytes) -> bool:
    try:
        return file_bytes(path) == data
    except Unreadable:
        return False


def scratch(folder: Path, name: str, data: bytes) -> Path:
    """A new file beside the one that it is going to replace."""
    new = folder / f".{name}.new"
    new.unlink(missing_ok=True)
    with new.open("xb") as file:  # x: does not follow a link that somebody has put there
        file.write(data)
    return new


def _keep(earlier: Path, files: Iterable[Path]) -> None:
    """Moves a submission's files to a folder of their own, named with the next free number."""
    make_private(earlier)
    number = 1
    while (place := earlier / str(number)).exists():
        number += 1
    place.mkdir()
    for file in files:
        if file.is_symlink() or file.exists():
            file.replace(place / file.name)


def leave_reason(lab: Lab, student: str, why: str, receipt: Mapping[str, bytes] | None) -> str:
    """Makes sure that grading reports a submission that was refused. Returns what to say about it.

    Args:
        receipt: None if it is not certain that there is such a student.

    Raises:
        GraderError: it cannot be written.
    """
    folder, _ = folders_of(lab, student)
    present, _ = find_notebook(folder, lab.notebook_name)
    if present.is_symlink() or present.exists():
        return f"{why} What was collected before stays."
    if receipt is not None:
        try:
            make_private(folder)
            scratch(folder, REASON_FILE, why.encode("utf-8", "replace")).replace(folder / REASON_FILE)
            write_receipt(folder, receipt)
        except OSError as error:
            raise GraderError(f"{folder} cannot be written to: {error.strerror}.") from None
    return why
