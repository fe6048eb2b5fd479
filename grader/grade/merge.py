"""Work that was handed in under another id, from before the roster or from another class list -> the person on the roster whose it is.

First a file says what is to be done. Then the gradebook is changed in one transaction, then folders are renamed. So a
merge that is killed at any point can be finished by the same command, and until then no other command opens the gradebook.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from grader.book.file import MERGE, unfinished_merge
from grader.book.gradebook import Gradebook
from grader.course import Course, make_private
from grader.errors import GraderError
from grader.files import put
from grader.grade.autograde import alone
from grader.people.roster import Person, Roster
from grader.reference.lab import Lab


@dataclass(frozen=True)
class Merge:
    """What a merge does.

    Attributes:
        old: the id whose work moves.
        new: the id that gets it.
        labs: all labs that there is anything of in ``old``.
        dropped: lab that both have work for -> the id whose work does not count. It is kept in ``grading/earlier``.
        removed: ids of the submissions that leave the gradebook because of that.
        moves: what is renamed to what in ``grading/``, in this order.
        both: what the roster says of the two, if both are on it.
    """

    old: str
    new: str
    labs: tuple[str, ...]
    dropped: Mapping[str, str]
    removed: tuple[str, ...]
    moves: tuple[tuple[str, str], ...]
    both: tuple[Person, ...] = field(default=(), compare=False)


def plan(course: Course, old: str, new: str, keep: str | None = None) -> tuple[Merge, bool]:
    """What merging two ids would do, and whether it has been begun. Nothing is changed.

    Args:
        keep: ``old`` or ``new``: the one whose work counts in labs that both have work for.

    Raises:
        GraderError: nobody has one of the ids, Canvas says that these are two people, or both have work for a lab and ``keep`` does not say which
            counts.
    """
    if begun := unfinished_merge(course):
        return _gone_on_with(begun, old, new), True
    if keep not in (None, old, new):
        raise GraderError(f"--keep is one of the two ids, {old!r} or {new!r}, not {keep!r}.")
    with Gradebook.open(course) as gradebook:
        listed, known = gradebook.roster(), gradebook.students()
        entered = {who: gradebook.submissions_of(who) for who in (old, new)}
    had = {who: set(entered[who]) for who in (old, new)}
    if new not in listed:
        near = Roster(listed.values()).near(new)
        raise GraderError(f"{new!r} is not on the roster.{near} `grader roster` shows the ids that are.")
    if old == new:
        raise GraderError(f"{old!r} and {new!r} are the same id.")
    both = (listed[old], listed[new]) if old in listed else ()
    if both and len(numbers := {each.canvas for each in both} - {""}) > 1:
        raise GraderError(
            f"{old!r} and {new!r} have different numbers in Canvas, {' and '.join(sorted(numbers))}: these are two people."
        )
    places = (*_places(course), _earlier(course))
    if old not in {*known, *listed, *(folder.name for place in places for folder in place.glob("*"))}:
        raise GraderError(
            f"There is no work of {old!r}. `grader roster` names the ids that are not on the roster."
        )
    for place in places:
        for who in (old, new):
            if (place / who).is_symlink():
                raise GraderError(f"{place / who} is a link, where a folder should be. Move it away.")
    for place in _places(course):
        for who in (old, new):
            had[who] |= {folder.name for folder in (place / who).glob("*")}
    shared = sorted(had[old] & had[new])
    if shared and not keep:
        raise GraderError(
            f"Both {old!r} and {new!r} have work for {', '.join(shared)}. Look at what they handed in, under {course.submitted}; "
            f"then say whose counts there with --keep {shlex.quote(old)} or --keep {shlex.quote(new)}. The other's is kept in {_earlier(course)}."
        )
    dropped = dict.fromkeys(shared, new if keep == old else old)
    removed = tuple(entered[loser][lab] for lab, loser in dropped.items() if lab in entered[loser])
    moves = tuple(_moves(course, old, new, dropped))
    return Merge(old, new, tuple(sorted(had[old])), dropped, removed, moves, both), False


def _gone_on_with(begun: Mapping[str, Any], old: str, new: str) -> Merge:
    """A merge that has been begun.

    Raises:
        GraderError: it is one of other ids.
    """
    if (begun["old"], begun["new"]) != (old, new):
        raise GraderError(
            f"Another merge was interrupted. Finish it first: grader roster merge {shlex.quote(begun['old'])} {shlex.quote(begun['new'])}"
        )
    moves = tuple((source, target) for source, target in begun["moves"])
    lists = {"labs": tuple(begun["labs"]), "removed": tuple(begun["removed"]), "moves": moves}
    return Merge(**{**begun, **lists, "both": ()})


def work_of(course: Course, gradebook: Gradebook, student: str) -> list[str]:
    """The labs with anything of a student: submissions, grades, feedback or points."""
    folders = {folder.name for place in _places(course) for folder in (place / student).glob("*")}
    return sorted(folders | set(gradebook.submissions_of(student)))


def carry_out(course: Course, merge: Merge, keep: str | None = None, why: str = "") -> None:
    """Does what was planned, or what is left of it.

    Args:
        keep: as it was planned with.
        why: the reason, for the log.

    Raises:
        GraderError: there is newer work or a newer grade than in the plan; or it was interrupted, e.g. because the disk is full. Nothing is lost,
            and the same merge goes on from there.
    """
    journal = course.grading / MERGE
    try:
        with alone(course):
            if plan(course, merge.old, merge.new, keep)[0] != merge:
                raise GraderError(
                    "There is other work now than a moment ago. Nothing has changed; run it again."
                )
            put(journal, json.dumps(asdict(merge)).encode())
            with Gradebook.open(course, merging=True) as gradebook:
                gradebook.merge(merge.old, merge.new, merge.removed, why)
            _move_folders(course, merge)
            journal.unlink()
            with Gradebook.open(course) as gradebook:
                for name in sorted(set(merge.labs) & set(course.labs())):
                    gradebook.enter_lateness(Lab.load(course, name))  # extensions have moved along
    except OSError as error:
        raise GraderError(
            f"The merge was interrupted: {error.filename or course.grading}: {error.strerror}. Nothing is lost. Fix this, then "
            f"run the same command again to finish it."
        ) from None


def _moves(course: Course, old: str, new: str, dropped: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """All renamings: first what does not count goes aside, then what is left of the old id goes to the new one."""
    taken: set[Path] = set()

    def free(folder: Path) -> Path:
        number = 1
        while (found := folder / str(number)).exists() or found in taken:
            number += 1
        taken.add(found)
        return found

    def move(source: Path, target: Path) -> tuple[str, str]:
        return str(source.relative_to(course.grading)), str(target.relative_to(course.grading))

    for name, loser in dropped.items():
        aside = free(_earlier(course) / new / name)
        for place in _places(course):
            if (place / loser / name).exists():
                yield move(place / loser / name, aside / place.name)
    for place in _places(course):
        for folder in sorted((place / old).glob("*")):
            if dropped.get(folder.name) != old:
                yield move(folder, place / new / folder.name)
    for version in sorted((_earlier(course) / old).glob("*/*")):
        yield move(version, free(_earlier(course) / new / version.parent.name))


def _move_folders(course: Course, merge: Merge) -> None:
    for source, target in ((course.grading / one, course.grading / other) for one, other in merge.moves):
        if source.exists() and not target.exists():  # otherwise it was done before
            make_private(target.parent)
            source.rename(target)
    for place in (*_places(course), *sorted((_earlier(course) / merge.old).glob("*")), _earlier(course)):
        emptied = place if place.parent.name == merge.old else place / merge.old
        if emptied.is_dir():
            emptied.rmdir()


def _earlier(course: Course) -> Path:
    return course.grading / "earlier"


def _places(course: Course) -> tuple[Path, ...]:
    """Where the folders ``<student>/<lab>`` are that count."""
    return course.submitted, course.autograded, course.feedback
