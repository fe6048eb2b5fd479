"""Pairs of submissions that are more alike than the lab explains, for a person to look at.

What is compared is the code of solution cells and of cells that learners added (:mod:`grader.show.fingerprints`), and wrong results. Whatever
the release, the reference, the variants, the misconceptions or much of the class have in common says nothing about a pair and is left out. Nothing
here touches a score.
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from pathlib import Path
from typing import NamedTuple

import jinja2
import nbformat

from course_utils.checking.given import all_earlier
from grader.book.gradebook import Gradebook, students_of
from grader.book.results import Result
from grader.files import find_notebook
from grader.grade.autograde import submissions
from grader.grade.results import FACTS, MAX_SOURCE
from grader.people.shared import together_in
from grader.receive.beside import in_folder
from grader.receive.handed_in import fingerprint_of_submission
from grader.receive.read import read_submission
from grader.receive.rebuild import rebuild
from grader.reference.lab import ADDED_TAG, Lab, checked_exercise, is_solution, nbgrader_of
from grader.show.fingerprints import all_hashes, fingerprints, names_in, tokens_of
from grader.show.pages import FIRST, default_page, percent, title_of, write_page

COMMON_SHARE, COMMON_FROM, COMMON_TO = 0.1, 4, 20
"""What more than this share of the class have in common is left out. What only ``COMMON_FROM`` have is never left out, and what
more than ``COMMON_TO`` have always is. So the work grows with the class and not with its square."""
MIN_SHARED, MIN_ALIKE = 8, 0.4
"""A pair is shown if it shares at least MIN_SHARED fingerprints and these are at least MIN_ALIKE of the smaller submission's, or if both have the same
wrong result."""
WRONG_COUNTS = 30
"""An identical wrong result counts as much as this many fingerprints that are as rare."""
SHOWN = 60
"""Pairs on the page; the table has all."""
OTHER = "added cells"

_WRONG = re.compile(
    r"(?:\d+ of \d+ values differ, most at [^:]{1,100}|\S{1,100} differs): got (\S+), expected \S+\.$"
)


@dataclass(frozen=True)
class Work:
    """What one student handed in.

    Attributes:
        texts: exercise -> its code.
        prints: exercise -> fingerprint -> the lines (from 1) where it is; without those of the lab itself.
        wrong: exercise -> the lines of its report about wrong values, if no misconception explains them.
        graded: whether the work as it is now has been graded.
    """

    student: str
    texts: Mapping[str, str]
    prints: Mapping[str, Mapping[int, frozenset[int]]]
    wrong: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    graded: bool = False

    @property
    def all_prints(self) -> set[int]:
        return set().union(*self.prints.values())


class Alike(NamedTuple):
    """What a pair shares in one exercise: the share of the smaller answer's fingerprints (0 to 1), their number, and identical wrong
    results."""

    share: float
    shared: int
    wrong: tuple[str, ...] = ()


@dataclass(frozen=True)
class Pair:
    """Two submissions that are alike.

    Attributes:
        evidence: what the page is ranked by: how rare in this class it is, in bits, that two share what they share.
        whole: both submissions as a whole.
        exercises: exercise -> what is shared in it, where anything is; the most telling first.
        prints: what is shared, and is not common in the class.
    """

    works: tuple[Work, Work]
    evidence: float
    whole: Alike
    exercises: Mapping[str, Alike]
    prints: frozenset[int]


@dataclass(frozen=True)
class Found:
    """All that the page shows.

    Attributes:
        pairs: the most telling first.
        crowds: (exercise, students) where more have the same code than pairs are made of.
        unread: students whose submission cannot be read.
        mates: student -> all others of the team who have the same work, of whom it is compared once.
    """

    works: tuple[Work, ...]
    pairs: tuple[Pair, ...]
    crowds: tuple[tuple[str, tuple[str, ...]], ...] = ()
    unread: tuple[str, ...] = ()
    names: Mapping[str, str] = field(default_factory=dict)
    mates: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def ungraded(self) -> int:
        return sum(not work.graded for work in self.works)

    def called(self, student: str) -> str:
        mates = ", ".join(map(self._called, self.mates.get(student, ())))
        return f"{self._called(student)}{f' with {mates}' if mates else ''}"

    def named(self, student: str) -> str:
        """A student's name for the table, with those who have the same work."""
        mates = ", ".join(map(self._called, self.mates.get(student, ())))
        return f"{self.names.get(student, '')}{f' with {mates}' if mates else ''}".strip()

    def _called(self, student: str) -> str:
        name = self.names.get(student)
        return f"{name} ({student})" if name and name != student else student


def write_similar(lab: Lab, page: Path | None = None, section: str | None = None) -> tuple[Path, Path, Found]:
    """Writes ``grading/reports/<lab>-similar.html`` (or ``page``) and a CSV file next to it. Returns both paths, and what they show.

    Args:
        section: everybody's work is compared, and shown is what concerns a student of this one.

    Raises:
        GraderError: nothing was collected, there is no such section, or a file cannot be written.
    """
    among = students_of(lab.course, section)
    folders, mates, teams = _works_of_teams(submissions(lab))
    with Gradebook.open(lab.course) as gradebook:
        results = {result.student: result for result in gradebook.results(lab)}
        names = {student: person.name for student, person in gradebook.people().items() if person.name}
        teams = gradebook.teams(lab.name) | teams
    reader, works, unread = Reader(lab), [], []
    for folder in folders:
        work = reader.read(folder, results.get(folder.parent.name))
        if work:
            works.append(work)
        else:
            unread.append(folder.parent.name)
    pairs, crowds = compare(works)
    pairs = [pair for pair in pairs if not _of_one_team(pair, teams)]
    if among is not None:
        among |= {student for student, others in mates.items() if among.intersection(others)}
        pairs = [pair for pair in pairs if any(work.student in among for work in pair.works)]
        crowds = [(name, who) for name, who in crowds if among.intersection(who)]
    found = Found(tuple(works), tuple(pairs), tuple(crowds), tuple(unread), names, mates)
    page = page or default_page(lab.course, f"{lab.name}-similar", section)
    (table,) = write_page(page, as_html(lab, found, section), as_rows(found, reader.exercises))
    return page, table, found


def _works_of_teams(
    folders: Sequence[Path],
) -> tuple[list[Path], dict[str, tuple[str, ...]], dict[str, str]]:
    """One submission of each that a team has handed in: that of the member who did it, if it is there. Then who else has the
    same, and the team of everybody who has a copy.
    """
    copies: dict[str, list[Path]] = defaultdict(list)
    teams: dict[str, str] = {}
    for folder in folders:
        student = folder.parent.name
        if together := together_in(folder):
            teams[student] = together.team
            place = 0 if together.by == student else len(folders)
            copies[together.work].insert(place, folder)
        else:
            copies[f"{student}'s"].append(folder)
    mates = {
        first.parent.name: tuple(other.parent.name for other in others)
        for first, *others in copies.values()
        if others
    }
    return sorted(first for first, *_ in copies.values()), mates, teams


def _of_one_team(pair: Pair, teams: Mapping[str, str]) -> bool:
    one, other = (teams.get(work.student, "") for work in pair.works)
    return bool(one) and one == other


# ---------------------------------------------------------------------------------- reading


class Reader:
    """Reads submissions of a lab, and leaves out what the lab itself has."""

    def __init__(self, lab: Lab) -> None:
        self.lab = lab
        self.release = lab.release()
        code = [cell.source for cell in self.release.cells if cell.cell_type == "code"]
        self.exercises = [
            nbgrader_of(cell)["grade_id"] for cell in self.release.cells if is_solution(cell)
        ] + [OTHER]
        self.known = names_in([*code, *lab.solution_texts.values()])
        entries = [
            entry for each in (lab.variants, lab.misconceptions) for found in each.values() for entry in found
        ]
        self.own: set[int] = set()
        for text in (*code, *lab.solution_texts.values(), *(entry.source for entry in entries)):
            self.own |= all_hashes(tokens_of(text, self.known))

    def read(self, folder: Path, result: Result | None = None) -> Work | None:
        """A submission from its folder, and what was wrong with it if ``result`` is about it as it is; None if it cannot be read."""
        path, _ = find_notebook(folder, self.lab.notebook_name)
        read = read_submission(path)
        if read.problem:
            return None
        files = in_folder(self.lab, path).used_by(read.cells).modules
        texts: dict[str, str] = {}
        for cell in rebuild(self.release, read.cells, files).notebook.cells:
            if is_solution(cell):
                texts[nbgrader_of(cell)["grade_id"]] = cell.source
            elif cell.cell_type == "code" and ADDED_TAG in cell.metadata.get("tags", []):
                texts[OTHER] = f"{texts[OTHER]}\n\n{cell.source}" if OTHER in texts else cell.source
        marker = result.marker if result else None
        current = bool(marker) and marker.handed_in == fingerprint_of_submission(self.lab, folder)
        wrong = self._wrong(folder.parent.name, result) if current else {}
        return self.work(folder.parent.name, texts, wrong, current)

    def work(
        self,
        student: str,
        texts: Mapping[str, str],
        wrong: Mapping[str, tuple[str, ...]] | None = None,
        graded: bool = False,
    ) -> Work:
        """What was handed in as these texts (exercise -> code)."""
        prints = {}
        for name, text in texts.items():
            found = fingerprints(tokens_of(text, self.known))
            prints[name] = {value: lines for value, lines in found.items() if value not in self.own}
        return Work(student, texts, prints, wrong or {}, graded)

    def _wrong(self, student: str, result: Result) -> dict[str, tuple[str, ...]]:
        """Exercise -> what its report says about wrong values, if no misconception is recognised in it or explains it.

        A misconception in an earlier exercise that it calls explains it, too, at least in part. Two who both have it, and
        another common one here, get the same wrong values without knowing each other.
        """
        file = self.lab.course.autograded / student / self.lab.name / self.lab.notebook_name
        recognised = {text.partition(": ")[0] for text in result.marker.recognised}
        explained = recognised | {text.partition(": ")[0] for text in result.marker.given}
        by_name = {exercise.name: exercise for exercise in self.lab.exercises.values()}
        explained |= {name for name, each in by_name.items() if recognised & {*all_earlier(each, by_name)}}
        try:
            cells = nbformat.read(file, as_version=4).cells
        except (OSError, ValueError):  # the latter: no notebook
            return {}
        found = {}
        for cell in cells:
            name = (checked_exercise(cell) or "").rpartition(".")[2]
            if name and name not in explained and cell.outputs:
                found[name] = wrong_values(
                    cell.outputs[0].get("metadata", {}).get(FACTS, {}).get("wrong", ())
                )
        return {name: lines for name, lines in found.items() if lines}


def wrong_values(details: Sequence[str]) -> tuple[str, ...]:
    """What the grader noted about wrong values; nothing if no value in it has at least four digits, because it could be wrong in the
    same way by chance.
    """
    lines = [found for text in details if (found := _WRONG.search(text.replace("`", "")))]
    telling = any(len(re.sub(r"e.*|\D", "", found[1]).strip("0")) >= 4 for found in lines)
    return tuple(dict.fromkeys(found[0] for found in lines)) if telling else ()


# ---------------------------------------------------------------------------------- comparing


def compare(works: Sequence[Work]) -> tuple[list[Pair], list[tuple[str, tuple[str, ...]]]]:
    """The pairs that are alike, the most telling first; and (exercise, students) where the same code is in too many for pairs."""
    limit = min(max(COMMON_SHARE * len(works), COMMON_FROM), COMMON_TO)
    code: dict[int, list[int]] = defaultdict(list)
    wrong: dict[tuple[str, tuple[str, ...]], list[int]] = defaultdict(list)
    for number, work in enumerate(works):
        for value in work.all_prints:
            code[value].append(number)
        for each in work.wrong.items():
            wrong[each].append(number)
    rare = {value for value, where in code.items() if len(where) <= limit}
    evidence: dict[tuple[int, int], float] = defaultdict(float)
    shared: dict[tuple[int, int], set[int]] = defaultdict(set)
    for value, where in code.items():
        if 2 <= len(where) <= limit:
            for pair in combinations(where, 2):
                shared[pair].add(value)
                evidence[pair] += _bits(len(where), len(works))
    same: dict[tuple[int, int], dict[str, tuple[str, ...]]] = defaultdict(dict)
    for (name, lines), where in wrong.items():
        if 2 <= len(where) <= limit:
            for pair in combinations(where, 2):
                same[pair][name] = lines
                evidence[pair] += WRONG_COUNTS * _bits(len(where), len(works))
    pairs = []
    for pair in evidence:
        one, other = (works[number] for number in pair)
        found = _pair(one, other, evidence[pair], shared[pair], rare, same.get(pair, {}))
        if found.whole.wrong or (found.whole.shared >= MIN_SHARED and found.whole.share >= MIN_ALIKE):
            pairs.append(found)
    pairs.sort(key=lambda each: (-each.evidence, *(work.student for work in each.works)))
    return pairs, _crowds(works, limit)


def _bits(having: int, of: int) -> float:
    """How telling it is that two share what ``having`` of a class have."""
    return math.log2((of + 1) / (having - 1))


def _pair(
    one: Work,
    other: Work,
    evidence: float,
    shared: set[int],
    rare: set[int],
    wrong: Mapping[str, tuple[str, ...]],
) -> Pair:
    exercises = {}
    for name in dict.fromkeys((*one.prints, *other.prints)):
        own = [shared & each.prints.get(name, {}).keys() for each in (one, other)]
        sizes = [len(rare & each.prints.get(name, {}).keys()) for each in (one, other)]
        if any(own) or name in wrong:
            share = max((len(had) / size for had, size in zip(own, sizes, strict=True) if size), default=0.0)
            exercises[name] = Alike(share, max(map(len, own)), wrong.get(name, ()))
    smaller = min(len(rare & each.all_prints) for each in (one, other))
    lines = tuple(line for each in wrong.values() for line in each)
    whole = Alike(len(shared) / smaller if smaller else 0.0, len(shared), lines)
    telling = sorted(exercises.items(), key=lambda each: (not each[1].wrong, -each[1].shared))
    return Pair((one, other), evidence, whole, dict(telling), frozenset(shared))


def _crowds(works: Sequence[Work], limit: float) -> list[tuple[str, tuple[str, ...]]]:
    groups: dict[tuple[str, frozenset[int]], list[str]] = defaultdict(list)
    for work in works:
        for name, prints in work.prints.items():
            if len(prints) >= MIN_SHARED:
                groups[name, frozenset(prints)].append(work.student)
    return [(name, tuple(who)) for (name, _), who in groups.items() if len(who) > limit]


# ---------------------------------------------------------------------------------- the page


def as_html(lab: Lab, found: Found, section: str | None = None) -> str:
    """The page, as one self-contained file without scripts.

    Args:
        section: what the page says it is limited to.
    """
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("grader", "show"), autoescape=True, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters |= {"percent": percent, "called": found.called}
    return environment.get_template("similar.html").render(
        title=title_of(lab, section),
        section=section,
        lab=lab,
        found=found,
        pairs=found.pairs[:SHOWN],
        marked=marked,
        first=FIRST,
    )


def marked(work: Work, name: str, shared: Iterable[int]) -> list[tuple[str, bool]]:
    """The lines of an answer, and whether each is in something shared."""
    prints = work.prints.get(name, {})
    lines = set().union(*(prints[value] for value in shared if value in prints))
    text = work.texts.get(name, "")[:MAX_SOURCE]
    return [(line, number in lines) for number, line in enumerate(text.split("\n"), 1)]


def as_rows(found: Found, exercises: Sequence[str]) -> list[list[str]]:
    """A heading, and a row for each pair, in the order of the page."""
    heading = "rank,student,name,other student,other name,evidence (bits),alike (%),shared fingerprints,identical wrong results in"
    rows = [[*heading.split(","), *(f"{name} alike (%)" for name in exercises)]]
    for rank, pair in enumerate(found.pairs, 1):
        people = [text for work in pair.works for text in (work.student, found.named(work.student))]
        wrong = ", ".join(name for name, alike in pair.exercises.items() if alike.wrong)
        shares = (pair.exercises.get(name) for name in exercises)
        row = [str(rank), *people, f"{pair.evidence:.0f}", f"{100 * pair.whole.share:.0f}"]
        row += [str(pair.whole.shared), wrong]
        rows.append([*row, *(f"{100 * alike.share:.0f}" if alike else "" for alike in shares)])
    return rows
