"""Opening files without waiting for a pipe and without reading more than a limit. They are those of a submission, where no link is followed, those
that a person names, and those in which the grader keeps its state.
"""

from __future__ import annotations

import contextlib
import errno
import itertools
import json
import os
import re
import stat
import tomllib
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

MAX_BYTES = 50 * 2**20
"""The most bytes that a file that is handed in may have."""
MAX_FILES = 1_000
"""In a submission's folder with more files than this, notebooks of other names are not looked for."""
MAX_PARSED = 20_000
"""A cell with more characters than this is searched, but not parsed. The time and memory that Python's parser needs grow
with the square of a dotted name's length: 200,000 characters of ``import a.a.a...`` took 10 GB."""

TIMESTAMP = "timestamp.txt"
"""When a submission was handed in, as nbgrader's exchange writes it."""
SECRET = "submission_secret.txt"
"""What nbgrader's exchange names a submission's feedback after, so that only the person who handed it in can find it."""
LATE = "late.txt"
"""Who marks a submission as late without saying by how much. What an instructor decides (``grader late``) is in ``timestamp.txt``."""
LOCAL_TIME = "local-time.txt"
"""When a submission was handed in, as its platform writes it into names, and the zone that somebody has given for that, if any."""
REASON_FILE = "not-collected.txt"
"""In a submission's folder without a notebook: why ``grader collect`` could not take what was handed in."""
TEAM = "team.json"
"""In a submission's folder: the team whose work it is, and who of it has handed it in (:func:`grader.people.shared.together_in`)."""


def came_through_the_exchange(folder: Path) -> bool:
    """Whether a submission, or its feedback, has what nbgrader's exchange needs to return something to the learner."""
    return all((folder / name).is_file() for name in (TIMESTAMP, SECRET))


class Unreadable(Exception):
    """A file that cannot be taken as a submission. Its text says why, and what to do."""


def printable(text: str, limit: int = 100) -> str:
    """Text from a submission made safe to show: without control characters or marks that change its direction, and short."""
    shown = "".join(char if char.isprintable() else "\ufffd" for char in text[: limit + 1])
    return shown if len(text) <= limit else f"{shown[: limit - 1]}…"


_UNSEEN = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


MAX_REASON = 2000
"""The most characters of a reason for a decision."""


def seen(text: str) -> str:
    """A text without characters that cannot be seen, and that change how others are shown: those that control a terminal or the direction of writing."""
    return _UNSEEN.sub("", text)


def toml_of(text: str) -> dict[str, Any]:
    """What a text says in TOML, which somebody may have written in an editor that puts a mark at its start.

    Raises:
        ValueError: it is no TOML, or none that anybody writes.
    """
    try:
        return tomllib.loads(text.removeprefix("\ufeff"))
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def find_notebook(folder: Path, name: str) -> tuple[Path, tuple[str, ...]]:
    """The notebook of a submission folder, and a note if it had to be looked for under another name.

    The path is returned even if nothing is there: reading it then says so.
    """
    wanted = folder / name
    if wanted.is_symlink() or wanted.exists() or _behind_link(wanted):
        return wanted, ()
    others = _notebooks_in(folder)
    if len(others) > 1:
        listed = ", ".join(repr(printable(other)) for other in others[:5])
        return wanted, (
            f"Several notebooks were handed in ({listed}), none named {name!r}: hand in one of that name.",
        )
    if not others:
        return wanted, ()
    shown = printable(others[0])
    return folder / others[0], (f"The notebook was handed in as {shown!r}; expected {name!r}.",)


def _notebooks_in(folder: Path) -> list[str]:
    """Names of the notebooks in a folder, including links (reading one then reports that it is a link)."""
    try:
        with os.scandir(folder) as entries:
            first = list(itertools.islice(entries, MAX_FILES + 1))
    except OSError:
        return []
    if len(first) > MAX_FILES:
        return []
    files = (entry for entry in first if entry.is_symlink() or entry.is_file(follow_symlinks=False))
    return sorted(entry.name for entry in files if entry.name.endswith(".ipynb"))


def _behind_link(path: Path) -> bool:
    """Whether the folder of a submission, or its student's, is a symbolic link."""
    return path.parent.is_symlink() or path.parent.parent.is_symlink()


def at_once(path: str | Path, flags: int) -> int:
    """An opener for ``open``: of a pipe or a device it waits for nothing.

    Raises:
        OSError: it cannot be opened, or is no file. ``strerror`` says so in words.
    """
    descriptor = os.open(path, flags | os.O_NONBLOCK | os.O_CLOEXEC, 0o666)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(errno.EINVAL, "it is a folder, a pipe or a device, not a file", str(path))
    return descriptor


def content_of(path: Path, most: int = MAX_BYTES) -> bytes:
    """What is in a file that a person names, or in one of the grader's own. Links are followed.

    Raises:
        OSError: it cannot be read, is no file, or has more than ``most`` bytes. ``strerror`` says so in words.
    """
    with open(path, "rb", opener=at_once) as file:
        data = file.read(
            min(most, os.fstat(file.fileno()).st_size) + 1
        )  # as much memory as is asked for is taken at once
    if len(data) > most:
        raise OSError(errno.EFBIG, f"it is larger than {most / 2**20:g} MiB", str(path))
    return data


def state_in(path: Path, form: Any) -> Any:
    """What is in a file in JSON in which the grader keeps something.

    Args:
        form: what must be in it. A type; ``[form]``, a list of these; ``(form, form)``, a list of just these. ``{str: form}``
            is a table of these, ``{"name": form}`` a table with these names.

    Raises:
        OSError: it cannot be read; FileNotFoundError: there is none.
        ValueError: it is no JSON, or has something else in it.
    """
    return state_of(content_of(path), form)


def state_of(data: bytes | str, form: Any) -> Any:
    """The same of what such a file has in it, or one of its lines.

    Raises:
        ValueError: see above.
    """
    try:
        found = json.loads(data if isinstance(data, str) else data.decode("utf-8"))
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    if not _has_form(found, form):
        raise ValueError("it has something else in it than the grader writes there")
    return found


def put(file: Path, data: bytes, mode: int = 0o666) -> None:
    """Writes a file completely or not at all, even if the power fails.

    Args:
        mode: its permissions, before the umask is applied.

    Raises:
        OSError: it was not written; the previous version, if any, is still there.
    """
    scratch = file.with_name(f".{file.name}.{os.getpid()}.new")
    try:
        scratch.unlink(missing_ok=True)  # left by a run that was killed: it may have another mode
        with open(os.open(scratch, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb") as opened:
            opened.write(data)
            opened.flush()
            os.fsync(opened.fileno())
        scratch.replace(file)
    except BaseException:
        with contextlib.suppress(OSError):
            scratch.unlink(missing_ok=True)
        raise


def _has_form(value: Any, form: Any) -> bool:
    if form is str:  # neither a file's name nor a gradebook can have the others
        return isinstance(value, str) and not re.search("[\0\ud800-\udfff]", value)
    if isinstance(form, type):
        return type(value) is form  # True is an int as well
    if isinstance(form, list):
        return isinstance(value, list) and all(_has_form(each, form[0]) for each in value)
    if isinstance(form, tuple):
        return isinstance(value, list) and len(value) == len(form) and all(map(_has_form, value, form))
    if not isinstance(value, dict):
        return False
    if str in form:
        return all(_has_form(name, str) and _has_form(each, form[str]) for name, each in value.items())
    return value.keys() == form.keys() and all(_has_form(value[name], form[name]) for name in form)


@contextmanager
def opened_folder(path: str | Path, within: int | None = None) -> Iterator[int]:
    """A descriptor of a folder. If ``within`` (another folder's descriptor) is given, ``path`` is a name in that folder and
    must not be a link.

    Raises:
        OSError: there is no such folder, or it cannot be read.
    """
    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
    descriptor = os.open(path, flags if within is None else flags | os.O_NOFOLLOW, dir_fd=within)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def file_bytes(path: Path, root: Path | None = None, seen: tuple[int, int] | None = None) -> bytes:
    """A file's content, up to one byte more than ``MAX_BYTES``.

    Every folder on the way is opened from within the one before, so a link that somebody puts in a folder's place at the
    last moment is not followed either.

    Args:
        root: the folder above it that may be behind links; default: three levels up (see
            :func:`grader.receive.read.read_submission`).
        seen: device and inode that the file had when it was found.

    Raises:
        Unreadable: it is a link, is behind one, is not a regular file, is not the file that was seen, or does not exist.
    """
    name = printable(path.name)
    root = root or path.parent.parent.parent
    try:
        with ExitStack() as stack:
            folder = stack.enter_context(opened_folder(root))
            for part in path.relative_to(root).parts[:-1]:
                try:
                    folder = stack.enter_context(opened_folder(part, folder))
                except OSError as error:
                    if error.errno in (errno.ELOOP, errno.ENOTDIR):
                        raise Unreadable(
                            "The submission's folder is a symbolic link, or no folder. Hand in the folder itself."
                        ) from None
                    raise
            # NONBLOCK: opening a named pipe would wait for somebody to write to it
            flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
            descriptor = os.open(path.name, flags, dir_fd=folder)
            stack.callback(os.close, descriptor)
            found = os.fstat(descriptor)
            if not stat.S_ISREG(found.st_mode):
                raise Unreadable(f"{name} is not a file.")
            if seen and (found.st_dev, found.st_ino) != seen:
                raise Unreadable(f"{name} was replaced while it was being collected. Collect again.")
            with open(descriptor, "rb", closefd=False) as file:
                return file.read(MAX_BYTES + 1)
    except FileNotFoundError:
        raise Unreadable(_why_missing(path.parent, name)) from None
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise Unreadable(f"{name} is a symbolic link. Hand in the file itself.") from None
        raise Unreadable(f"{name} cannot be read: {error.strerror}.") from None


def _why_missing(folder: Path, name: str) -> str:
    try:
        descriptor = os.open(folder / REASON_FILE, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        with open(descriptor, "rb") as file:
            reason = file.read(1000).decode("utf-8", "replace").strip()
    except OSError:
        reason = ""
    return printable(reason, 500) or f"There is no {name} in the submission."


def time_of(text: str) -> datetime | None:
    """The time (UTC) in a text by nbgrader; None if there is none, or none that a submission could have.

    No clock shows years like 1 or 9999, and not every program can write, compare or convert such times.
    """
    from nbgrader.utils import (
        parse_utc,  # which imports all of nbgrader: a second of every command, also of those without a time
    )

    try:
        found = parse_utc(text)
    except Exception:  # the parser fails in many ways, and anybody may have written the text
        return None
    return found if 1970 <= found.year < 2200 else None
