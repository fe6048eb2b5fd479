"""What a learner has solved so far, kept in one small JSON file of their own; no server is needed."""

from __future__ import annotations

import contextlib
import json
import os
import stat
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from html import escape
from pathlib import Path

from course_utils import labs
from course_utils.display import CARD, LINE, publish, table
from course_utils.labs import LabInfo

PROGRESS_VARIABLE = "TRANSFORMER_LABS_PROGRESS"

_MOST_BYTES = 2**22
"""A larger file is not one that the course has written: all exercises together need some 20 KB."""


watchers: dict[str, Callable[[], object]] = {}
"""What is called after each attempt: whatever shows progress, such as a drawing that fills in. If one fails, the check goes on."""


def progress_file() -> Path:
    """Where it is kept: in the home folder, unless ``TRANSFORMER_LABS_PROGRESS`` names another file."""
    return Path(os.environ.get(PROGRESS_VARIABLE) or Path.home() / ".transformer-labs" / "progress.json")


def load() -> dict[str, dict]:
    """Exercise key -> ``{"best": 0..1, "attempts": n, "first": time, "last": time, "solved": time or None}``.

    Empty if the file is missing or damaged; what is sound in a damaged one is there.
    """
    return _own()[0]


def _own() -> tuple[dict[str, dict], bool]:
    try:
        return _read(progress_file())
    except RuntimeError:  # nobody knows a home folder
        return {}, True


def _read(file: Path) -> tuple[dict[str, dict], bool]:
    """The sound entries, and whether anything else is in the place of the file. Never raises, whatever is there."""
    try:
        entries = json.loads(content_of(file).decode("utf-8"))
    except FileNotFoundError:
        return {}, False
    except (OSError, ValueError, RecursionError):
        return {}, True
    if not isinstance(entries, dict):
        return {}, True
    sound = {key: entry for key, entry in entries.items() if _is_entry(entry)}
    return sound, len(sound) < len(entries)


def content_of(file: Path) -> bytes:
    """What is in a small file of the learner's.

    Raises:
        OSError: it is not there, cannot be read, is no file, or is larger than any that the course writes.
    """
    status = file.stat()
    if not stat.S_ISREG(status.st_mode) or status.st_size > _MOST_BYTES:
        raise OSError("it is no file, or too large")  # a pipe would never end
    return file.read_bytes()


def put(file: Path, text: str) -> None:
    """Writes such a file completely or not at all, so that a reader never sees half of one.

    Raises:
        OSError: it cannot be written. What was there before still is.
    """
    file.parent.mkdir(parents=True, exist_ok=True)
    # A new name each time: what has a name that can be known may be a link, or a pipe.
    descriptor, scratch = tempfile.mkstemp(prefix=f".{file.name}.", suffix=".new", dir=file.parent)
    try:
        with open(descriptor, "w", encoding="utf-8") as opened:
            opened.write(text)
        os.replace(scratch, file)
    except BaseException:
        os.unlink(scratch)
        raise


def _is_entry(entry: object) -> bool:
    if not isinstance(entry, dict) or "solved" not in entry:
        return False
    best, attempts = entry.get("best"), entry.get("attempts")
    return (
        type(best) in (int, float)
        and 0 <= best <= 1
        and type(attempts) is int
        and 0 <= attempts < 10**9
        and all(isinstance(entry.get(name), str | None) for name in ("first", "last", "solved"))
    )


def _put_aside() -> str:
    """Renames what is in the place of the file, whatever it is, and returns its new name.

    Raises:
        OSError: it cannot be renamed, or it is a device, which is nobody's progress.
    """
    file = progress_file()
    kind = file.lstat().st_mode
    if stat.S_ISCHR(kind) or stat.S_ISBLK(kind):
        raise OSError(f"{file} is a device")
    number, aside = 1, file.with_name(f"{file.stem}.damaged{file.suffix}")
    while os.path.lexists(aside):
        number += 1
        aside = file.with_name(f"{file.stem}.damaged-{number}{file.suffix}")
    file.rename(aside)
    return aside.name


def best_scores() -> dict[str, float]:
    """Exercise key -> the largest share of its checks that held at the same time."""
    return {key: entry.get("best", 0.0) for key, entry in load().items()}


def record(key: str, score: float, code: str = "") -> dict:
    """Records an attempt and returns the exercise's entry. Once an exercise is solved, its attempts are no longer counted.

    Args:
        code: a digest of the cell that defines it, if that is known; kept as ``"code"`` where the attempt is right.

    A check never fails because its progress cannot be read or written. What is damaged is put aside. That, or that nothing could be written, is said
    in one line.
    """
    entries, damaged = _own()
    now = datetime.now(UTC).isoformat(timespec="seconds")
    entry = entries.setdefault(key, {"best": 0.0, "attempts": 0, "first": now, "solved": None})
    if entry["solved"] is None:
        entry["attempts"] += 1
    entry["best"] = max(entry["best"], score)
    entry["last"] = now
    if score == 1 and code:
        entry["code"] = code
    if score == 1 and entry["solved"] is None:
        entry["solved"] = now
    try:
        _write(entries, damaged)
    except (OSError, ValueError, RuntimeError) as error:
        why = (isinstance(error, OSError) and error.strerror) or error
        print(f"This could not be saved in your progress file: {why}. What you wrote is not affected.")
    for changed in watchers.values():
        with contextlib.suppress(Exception):
            changed()
    return entry


def _write(entries: dict[str, dict], damaged: bool) -> None:
    """
    Args:
        damaged: something unreadable is in the place of the file; it is kept beside it.

    Raises:
        OSError, ValueError, RuntimeError: the file cannot be written.
    """
    target = progress_file()
    if damaged:
        aside = _put_aside()
        print(f"What was in {target} could not be read, or not all of it: it is kept beside it as {aside}.")
    put(target, json.dumps(entries, indent=1))


def take_in(file: Path) -> tuple[int, int]:
    """Adds the progress that the same learner has made elsewhere, for example in the browser. Nothing is lost, and to take a
    file in twice changes nothing more. Of each exercise it keeps the better score, the larger number of attempts, the first
    time of a try and of a solution, and the last time of a try.

    Returns:
        How many exercises the file has, and how many of them are solved only now.

    Raises:
        ValueError: the file is no progress file, or cannot be read. Nothing is changed.
        OSError: the own progress file cannot be written.
    """
    others, damaged = _read(file)
    if damaged or not file.is_file():
        raise ValueError(
            f"{file} is not a progress file of this course, or it is damaged. Download it again."
        )
    entries, damaged = _own()
    solved = sum(entry["solved"] is not None for entry in entries.values())
    for key, theirs in others.items():
        entries[key] = _joined(entries[key], theirs) if key in entries else theirs
    _write(entries, damaged)
    return len(others), sum(entry["solved"] is not None for entry in entries.values()) - solved


def _joined(ours: dict, theirs: dict) -> dict:
    def chosen(which: Callable, name: str) -> str | None:
        return which((each[name] for each in (ours, theirs) if each.get(name)), default=None)

    joined = {
        **theirs,
        **ours,
        "best": max(ours["best"], theirs["best"]),
        "attempts": max(ours["attempts"], theirs["attempts"]),
        "solved": chosen(min, "solved"),
    }
    return joined | {
        name: at for name, which in (("first", min), ("last", max)) if (at := chosen(which, name))
    }


def tally(entry: dict) -> str:
    """Attempts and time of an exercise in one sentence: "Solved at attempt 3, 12 minutes after the first." """
    attempts = entry["attempts"]
    solved = "Solved at the first attempt" if attempts == 1 else f"Solved at attempt {attempts}"
    word = solved if entry["solved"] else f"Attempt {attempts}"
    return f"{word}{f', {_time(entry)} after the first' if attempts > 1 else ''}."


def _time(entry: dict) -> str:
    """From the first attempt to the solution, or to the last one."""
    try:
        begun, ended = (datetime.fromisoformat(entry[name]) for name in ("first", "last"))
        if entry["solved"]:
            ended = datetime.fromisoformat(entry["solved"])
        minutes = round((ended - begun).total_seconds() / 60)
    except (KeyError, TypeError, ValueError):  # written by an older course, or by hand
        return "some time"
    if minutes < 1:
        return "less than a minute"
    count, unit = (
        (minutes, "minute")
        if minutes < 90
        else (round(minutes / 60), "hour")
        if minutes < 36 * 60
        else (round(minutes / 1440), "day")
    )
    return f"{count} {unit}{'s' if count > 1 else ''}"


# ---------------------------------------------------------------------------------- overview


@dataclass(frozen=True)
class LabProgress:
    """A lab and the progress in its exercises. ``exercises``: name -> its entry in the file, empty if never tried."""

    lab: LabInfo
    exercises: dict[str, dict]

    @property
    def begun(self) -> bool:
        return any(entry.get("attempts") for entry in self.exercises.values())

    @property
    def solved(self) -> int:
        return sum(entry.get("best", 0) == 1 for entry in self.exercises.values())

    @property
    def core_done(self) -> bool:
        """Whether all is solved that cannot wait."""
        return all(
            entry.get("best", 0) == 1 for name, entry in self.exercises.items() if name not in self.lab.waits
        )

    @property
    def share(self) -> float:
        """How much of the lab's exercises is solved."""
        return self.solved / len(self.exercises)


def overview() -> None:
    """Shows how far you are in every lab of the course."""
    found = progress_of(labs.all_labs())
    publish({"text/html": as_html(found), "text/plain": as_text(found)})


def progress_of(labs: Sequence[LabInfo]) -> list[LabProgress]:
    """The labs that have exercises, with what the file says about each exercise."""
    done = load()
    return [
        LabProgress(lab, {name: done.get(f"{lab.slug}.{name}", {}) for name in lab.exercises})
        for lab in labs
        if lab.exercises
    ]


def as_text(labs: list[LabProgress]) -> str:
    """The overview in plain text; a lab that was not begun gets only one line."""
    lines = []
    for lab in labs:
        lines.append(_heading(lab))
        width = max(map(len, lab.exercises))
        for name, entry in lab.exercises.items() if lab.begun else ():
            filled = int(10 * entry.get("best", 0))
            lines.append(f"  {name:<{width}}  [{'#' * filled}{'.' * (10 - filled)}]  {_words(entry)}")
    return "\n".join([*lines, "", _total(labs)])


def as_html(labs: list[LabProgress]) -> str:
    """The overview with a bar for each exercise and its number beside the bar. Labs in progress are unfolded."""
    parts = []
    for lab in labs:
        rows = table(
            (f"<code>{escape(name)}</code>", _bar(entry.get("best", 0)), _words(entry))
            for name, entry in lab.exercises.items()
        )
        unfolded = " open" if lab.begun and lab.solved < len(lab.exercises) else ""
        heading = f'<summary style="cursor:pointer"><b>{escape(_heading(lab))}</b></summary>'
        parts.append(f'<details style="margin-top:.5em"{unfolded}>{heading}{rows}</details>')
    total = f'<div style="{LINE};padding-top:.4em;margin-top:.4em"><b>{_total(labs)}</b></div>'
    return f'<div style="{CARD}">{"".join(parts)}{total}</div>'


def _heading(lab: LabProgress) -> str:
    info = lab.lab
    return f"{info.number} {info.title}: {lab.solved} of {len(lab.exercises)} solved, {info.minutes} minutes"


def _total(labs: list[LabProgress]) -> str:
    exercises = sum(len(lab.exercises) for lab in labs)
    return f"{sum(lab.solved for lab in labs)} of {exercises} exercises solved."


def _words(entry: dict) -> str:
    attempts = entry.get("attempts", 0)
    if not attempts:
        return "not started"
    count = f"{attempts} {'attempt' if attempts == 1 else 'attempts'}"
    return f"solved, {count}" if entry.get("best") == 1 else f"best {int(100 * entry['best'])} %, {count}"


def _bar(share: float) -> str:
    """A bar in blue and grey, which everyone can tell apart in both themes; the words beside it say the same."""
    frame = "width:9em;height:.8em;margin-top:.3em;border:1px solid var(--jp-border-color0,#888)"
    filled = f"width:{100 * share:.0f}%;height:100%;background:#3b8bbd"
    return f'<div aria-hidden="true" style="{frame}"><div style="{filled}"></div></div>'
