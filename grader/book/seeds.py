"""The seed of each lab's checks. It is in the gradebook, so every backup has it and ``grader restore`` brings it back, and in ``grading/seeds.json``, for
people and for Gradescope. Grades depend on it, so the two must agree.
"""

from __future__ import annotations

import json
import os
import shlex
import sys
from collections.abc import Mapping
from pathlib import Path

from sqlalchemy import insert, select

from grader.book.database import Database
from grader.book.tables import MARKERS, SEEDS
from grader.course import Course, CourseError
from grader.files import put, state_in

_SEED_BYTES = 4
_SEEDS = 256**_SEED_BYTES
_WHAT = "which has the seed of each lab's checks"


class Seeds(Database):
    """The seeds that were drawn for a course."""

    def seed_of(self, name: str) -> int:
        """A seed: drawn once, so that nobody can know it, and then kept.

        Args:
            name: a lab's, or another name for a seed of its own.

        Raises:
            CourseError: the file of seeds contradicts the gradebook, is damaged, or cannot be read or written.
        """
        known = self._seeds()
        noted = seeds_in(self.course, known)
        if other := sorted(each for each in known if noted.get(each, known[each]) != known[each]):
            raise CourseError(
                f"{file_of(self.course)}, {_WHAT}, is another course's or was changed: for {other[0]} it has another seed than the gradebook, with which work was "
                f"graded. Nothing was changed. {_write_again(self.course)} If the gradebook is the wrong one: `grader restore` lists its backups."
            )
        if new := {each: seed for each, seed in noted.items() if each not in known}:
            self._enter(new)
        if name not in known | noted:
            if not known | noted and self._has_graded():
                print(
                    f"grader: {file_of(self.course)} is missing, although work has been graded. Each lab gets a new seed, and work that is graded again may get a "
                    "different grade if wrong code was right by luck. If you have a backup of the file, put it back and run the same command again.",
                    file=sys.stderr,
                )
            self._enter({name: int.from_bytes(os.urandom(_SEED_BYTES), "big")})
        seeds = self._seeds()
        if lost := sorted(known.keys() - noted):
            print(
                f"grader: {file_of(self.course)} lacked the seed of {', '.join(lost)}; it was written again from the gradebook.",
                file=sys.stderr,
            )
        if seeds != noted:
            self._write(seeds)
        return seeds[name]

    def put_seeds_back(self) -> None:
        """Has the file say what a gradebook says that was just restored. A file that cannot be right with it is kept as ``seeds.json.old``.

        Raises:
            CourseError: it cannot be written.
        """
        known, file = self._seeds(), file_of(self.course)
        try:
            noted = seeds_in(self.course)
        except CourseError:
            noted = None
        if noted is None or any(noted.get(name, seed) != seed for name, seed in known.items()):
            try:
                file.replace(file.with_name(f"{file.name}.old"))
            except OSError as error:
                raise _unusable(self.course, error) from None
            noted = {}
        if not known.keys() <= noted.keys():
            self._write(noted | known)

    def _write(self, seeds: Mapping[str, int]) -> None:
        try:
            put(file_of(self.course), json.dumps(seeds, indent=1).encode(), mode=0o600)
        except OSError as error:
            raise _unusable(self.course, error) from None

    def _seeds(self) -> dict[str, int]:
        with self.reading() as db:
            return {row.name: row.seed for row in db.execute(select(SEEDS).order_by(SEEDS.c.name))}

    def _has_graded(self) -> bool:
        with self.reading() as db:
            return db.execute(select(MARKERS)).first() is not None

    def _enter(self, seeds: Mapping[str, int]) -> None:
        """Enters those that the gradebook has not got: another process may have drawn one a moment ago."""
        rows = [{"name": name, "seed": seed} for name, seed in seeds.items()]
        with self.transaction() as db:
            db.execute(insert(SEEDS).prefix_with("OR IGNORE"), rows)


def file_of(course: Course) -> Path:
    """Where the seeds are beside the gradebook."""
    return course.grading / "seeds.json"


def seeds_in(course: Course, known: Mapping[str, int] | None = None) -> dict[str, int]:
    """The seeds in the file; none if there is no file.

    Args:
        known: those in the gradebook, from which a damaged file can be written again.

    Raises:
        CourseError: it is damaged, or cannot be read.
    """
    file = file_of(course)
    try:
        seeds = state_in(file, {str: int})
        if wrong := [name for name, seed in seeds.items() if not 0 <= seed < _SEEDS]:
            raise ValueError(f"the seed of {wrong[0]} is not a whole number from 0 to {_SEEDS - 1}")
        return seeds
    except FileNotFoundError:
        return {}
    except ValueError as error:
        advice = (
            _write_again(course)
            if known
            else "If you have a backup of it, put that back. If not, delete the file: each lab then gets a new seed, and work that is graded again may get "
            "a different grade if wrong code was right by luck."
        )
        raise CourseError(f"{file}, {_WHAT}, is damaged ({error}). {advice}") from None
    except OSError as error:
        raise _unusable(course, error) from None


def _write_again(course: Course) -> str:
    file = shlex.quote(str(file_of(course)))
    return f"Move the file away (mv {file} {file}.old), then run the same command again: it is written again from the gradebook, and all grades stay."


def _unusable(course: Course, error: OSError) -> CourseError:
    return CourseError(
        f"{file_of(course)}, {_WHAT}, cannot be used: {error.strerror}. Make the file and its folder readable and writable."
    )
