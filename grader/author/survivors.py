"""What became of a lab's mutants: which of them keep full marks, and which of these ``equivalent.toml`` beside the lab excuses."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from grader.course import CourseError, text_of
from grader.files import toml_of
from grader.reference.lab import Lab
from grader.reference.mutants import LEFT

EQUIVALENT = "equivalent.toml"

EVERY_CHANGE = "*"
"""In the place of a change's new lines, if it has none."""

ENOUGH = 0.995
"""Of the mutants of every exercise that are wrong, at least such a share must lose points at every seed."""

_FORMS = ([str], [str, str], [str, str, int])


class Change(NamedTuple):
    """What a mutant changes: lines of an exercise's solution. For ``place`` see :class:`grader.reference.mutants.Mutant`."""

    exercise: str
    old: str
    new: str = EVERY_CHANGE
    place: int | None = None

    def __str__(self) -> str:
        where = f" at place {self.place}" if self.place else ""
        return f"{self.old!r}{where} to {self.new!r}"

    @property
    def entries(self) -> set[Change]:
        """What ``equivalent.toml`` may say to be about this change."""
        return {self, self._replace(new=EVERY_CHANGE), self._replace(new=EVERY_CHANGE, place=None)}


@dataclass(frozen=True)
class Survivor:
    """A mutant that keeps full marks.

    Attributes:
        of: "reference", or the name of the correct variant that it was made from.
        seed: one at which it keeps them.
        place: see :class:`grader.reference.mutants.Mutant`.
        differs: a legal input for which it gives something else than the reference, in words; empty if none was found.
    """

    exercise: str
    of: str
    kind: str
    old: str
    new: str
    seed: int
    place: int | None = None
    differs: str = ""

    @property
    def change(self) -> Change:
        return Change(self.exercise, self.old, self.new, self.place)

    @property
    def may_be_wrong(self) -> bool:
        """Whether an input shows it, or no output could."""
        return bool(self.differs) or self.kind == LEFT

    def __str__(self) -> str:
        where = f", at place {self.place}" if self.place else ""
        shown = f"differs for {self.differs}" if self.differs else "no output can show it"
        return f"{self.exercise}, {self.of}: {self.kind}{where}\n  - {self.old}\n  + {self.new}\n  {shown}"


@dataclass
class Report:
    """What became of the mutants of a lab.

    Attributes:
        tried: exercise -> how many mutants it has.
        same: exercise -> how many keep full marks, and are the same as the reference for every legal input.
        excused: exercise -> how many more keep full marks for a reason that ``equivalent.toml`` gives.
        survivors: the others that keep them.
        unused: what ``equivalent.toml`` says of changes that lose points, or make no difference.
    """

    tried: dict[str, int] = field(default_factory=dict)
    same: dict[str, int] = field(default_factory=dict)
    excused: dict[str, int] = field(default_factory=dict)
    survivors: list[Survivor] = field(default_factory=list)
    unused: list[Change] = field(default_factory=list)

    def share(self, exercise: str | None = None) -> float:
        """Of the mutants that are wrong, the share that loses points at every seed: of one exercise, or of all."""
        tried, same, excused, survive = self._counts(exercise)
        wrong = tried - same - excused
        return 1 - survive / wrong if wrong else 1.0

    @property
    def is_enough(self) -> bool:
        """Whether of each exercise's mutants that are wrong so many lose points as is asked for."""
        return all(self.share(exercise) >= ENOUGH for exercise in self.tried)

    def figures(self, lab_name: str) -> str:
        """A line for each exercise, and one for the lab."""
        of_each = [
            f"  {self._line(exercise, exercise)}"
            + ("" if self.share(exercise) >= ENOUGH else f", fewer than the {ENOUGH:.1%} that are needed")
            for exercise in self.tried
        ]
        return "\n".join([*of_each, self._line(lab_name)])

    def _line(self, name: str, exercise: str | None = None) -> str:
        tried, same, excused, survive = self._counts(exercise)
        return (
            f"{name}: {tried} mutants, {same} are the same, {excused} excused, {survive} survive; of those that are wrong, "
            f"{self.share(exercise):.2%} lose points at every seed"
        )

    def _counts(self, exercise: str | None) -> tuple[int, int, int, int]:
        """How many were tried, are the same, are excused, and survive."""
        names = self.tried if exercise is None else [exercise]
        sums = [sum(of.get(name, 0) for name in names) for of in (self.tried, self.same, self.excused)]
        return (*sums, sum(each.exercise in names for each in self.survivors))


def equivalents(lab: Lab) -> dict[Change, str]:
    """A change of the reference -> why it is no mistake, although an input shows it. A change without new lines stands for every change of
    the old ones.

    Raises:
        CourseError: ``equivalent.toml`` is not as it should be.
    """
    file = lab.folder / EQUIVALENT
    if not file.exists():
        return {}
    found = {}
    try:
        for exercise, entries in toml_of(text_of(file)).items():
            for entry in entries:
                if set(entry) != {"reason", "changes"}:
                    raise ValueError(f"an entry of {exercise} has {', '.join(entry)}")
                if not isinstance(entry["reason"], str) or not entry["reason"].strip():
                    raise ValueError(f"an entry of {exercise} gives no reason")
                for lines in entry["changes"]:
                    if not isinstance(lines, list) or [type(each) for each in lines] not in _FORMS:
                        raise ValueError(f"a change of {exercise} is {lines}")
                    found[Change(exercise, *lines)] = entry["reason"]
    except (ValueError, TypeError, AttributeError) as error:
        raise CourseError(
            f"{file}: {error}. Write [[exercise]] with a `reason` and its `changes`: a list of [old lines, new lines], or [old lines] for "
            "every change of them. If the old lines occur in several places, a third part says which is meant: 1, 2, ..."
        ) from None
    return found


def entries_for(survivors: Sequence[Survivor]) -> str:
    """What ``equivalent.toml`` would have to say of mutants of the reference, but for the reasons; nothing if there are none."""
    changes: dict[str, dict[Change, None]] = {}
    for each in survivors:
        if each.of == "reference":
            changes.setdefault(each.exercise, {})[each.change] = None
    lines = []
    for exercise, its in changes.items():
        lines += [f"[[{exercise}]]", 'reason = ""', "changes = ["]
        for change in its:
            parts = [change.old, change.new, *([change.place] if change.place else [])]
            lines.append(f"    {json.dumps(parts, ensure_ascii=False)},")
        lines.append("]")
    return "\n".join(lines)
