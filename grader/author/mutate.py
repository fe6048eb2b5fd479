"""What the checks of a lab let pass: mutants of its reference and of its correct variants, judged as learners' code is.

A mutant that keeps full marks at any seed is a hole in the checks, unless it is equivalent: as right as the code that
it was made from. ``equivalent.toml`` beside the lab says of which mutants that is so, and why; ``mutants.json`` records
the last run.
"""

from __future__ import annotations

import contextlib
import faulthandler
import hashlib
import json
import multiprocessing
import os
import resource
import sys
import tempfile
import tomllib
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field, replace
from multiprocessing.connection import Connection, wait
from typing import Any

from course_utils.checking.comparison import Expected, compare
from course_utils.checking.exercise import Exercise
from course_utils.checking.outcome import try_case
from course_utils.exercises import FILE_NAME as EXERCISES
from grader.author.build import SEEDS
from grader.author.mutants import Mutant, mutants
from grader.catalogue import run_cell
from grader.course import Course, CourseError
from grader.imports import imported, reached
from grader.lab import Lab, is_solution, nbgrader_of

FILE_NAME, EQUIVALENT = "mutants.json", "equivalent.toml"

EVERY_CHANGE = "*"
"""In the place of an entry's new lines, if it has none."""
_SILENT_SECONDS = 300
"""After so long without a word, a mutant is stopped from outside. (Python code is stopped by the time limit of its case.)"""
_MEMORY = 2 * 2**30
_MODULES = "import course_utils.checking.comparison, course_utils.checking.outcome, grader.author.mutants"
"""What judges, and what makes the mutants."""


@dataclass(frozen=True)
class Survivor:
    """A mutant that keeps full marks.

    Attributes:
        of: "reference", or the name of the correct variant that it was made from.
        seed: one at which it keeps them.
    """

    exercise: str
    of: str
    kind: str
    old: str
    new: str
    seed: int

    @property
    def change(self) -> tuple[str, str, str]:
        return self.exercise, self.old, self.new

    def __str__(self) -> str:
        return f"{self.exercise}, {self.of}: {self.kind}\n  - {self.old}\n  + {self.new}"


@dataclass
class Report:
    """What became of the mutants of a lab.

    Attributes:
        tried: exercise -> how many mutants it has.
        survivors: those that keep full marks and are not known to be equivalent.
        equivalent: exercise -> how many are.
        unused: entries of ``equivalent.toml`` that fit no survivor.
    """

    tried: dict[str, int] = field(default_factory=dict)
    survivors: list[Survivor] = field(default_factory=list)
    equivalent: dict[str, int] = field(default_factory=dict)
    unused: list[tuple[str, str, str]] = field(default_factory=list)

    @property
    def share(self) -> float:
        """Of the mutants that are not equivalent, the share that loses points at every seed."""
        wrong = sum(self.tried.values()) - sum(self.equivalent.values())
        return 1 - len(self.survivors) / wrong if wrong else 1.0


def mutate(lab: Lab, jobs: int, only: str | None = None) -> Report:
    """Tries every mutant of a lab.

    Args:
        jobs: processes at a time.
        only: the name of an exercise, to try no other.

    Raises:
        CourseError: there is no such exercise, or the reference cannot be run.
    """
    names = [exercise.name for exercise in lab.exercises.values()]
    if only is not None and only not in names:
        raise CourseError(f"{lab.name} has no exercise {only!r}. It has {', '.join(names)}.")
    known = equivalents(lab)
    report, met = Report(), set()
    for name, survivor in _in_processes(lab, [only] if only else names, jobs):
        report.tried[name] = report.tried.get(name, 0) + 1
        if survivor is None:
            continue
        met.add(survivor.change)
        if survivor.change in known or (*survivor.change[:2], EVERY_CHANGE) in known:
            report.equivalent[name] = report.equivalent.get(name, 0) + 1
        else:
            report.survivors.append(survivor)
    report.survivors.sort(key=lambda each: (names.index(each.exercise), each.of, each.old, each.new))
    met |= {(exercise, old, EVERY_CHANGE) for exercise, old, _ in met}
    report.unused = [change for change in known if change not in met and change[0] in report.tried]
    return report


def equivalents(lab: Lab) -> dict[tuple[str, str, str], str]:
    """(exercise, old lines, new lines) -> why the mutant is as right as what it was made from. An entry without new lines
    is about every change of the old ones.

    Raises:
        CourseError: ``equivalent.toml`` is not as it should be.
    """
    file = lab.folder / EQUIVALENT
    if not file.is_file():
        return {}
    found = {}
    try:
        for exercise, entries in tomllib.loads(file.read_text("utf-8")).items():
            for entry in entries:
                if not {"old", "reason"} <= set(entry) <= {"old", "new", "reason"}:
                    raise ValueError(f"an entry of {exercise} has {', '.join(entry)}")
                found[exercise, entry["old"], entry.get("new", EVERY_CHANGE)] = entry["reason"]
    except (ValueError, TypeError, AttributeError) as error:
        raise CourseError(
            f"{file}: {error}. Write [[exercise]] with `old`, `reason`, and, unless every change of the old lines is "
            "meant, `new`."
        ) from None
    return found


# ---------------------------------------------------------------------------------- the record


def fingerprint(lab: Lab) -> str:
    """SHA-256 of what the figures depend on: the solutions and correct variants, the cases, the code that judges, and the
    mutations themselves.
    """
    files = [lab.folder / name for name in (EXERCISES, "variants.py", EQUIVALENT)]
    texts = [*lab.solution_texts.values(), *(file.read_text("utf-8") for file in files if file.is_file())]
    modules = {name for text in (*texts[:-1], _MODULES) for name in imported(text)}
    digest = hashlib.sha256("\0".join(texts).encode())
    for name, path in sorted(reached(modules).items()):
        if name.startswith(("course_utils/checking/", "course_utils/cases/", "grader/author/mutants.py")):
            digest.update(name.encode() + path.read_bytes())
    return digest.hexdigest()


def complaints(lab: Lab) -> list[str]:
    """Why ``mutants.json`` no longer says what the checks let pass; empty if it does, or if there is none."""
    file = lab.folder / FILE_NAME
    if not file.is_file():
        return []
    try:
        recorded = json.loads(file.read_text("utf-8"))["fingerprint"]
    except (ValueError, TypeError, KeyError) as error:
        return [f"{file} cannot be read ({error!r}). Run `grader mutate {lab.name}`, and commit the file."]
    if recorded != fingerprint(lab):
        return [
            f"{file} is stale: what it depends on has changed. Run `grader mutate {lab.name}`, and commit the file."
        ]
    return []


def keep_record(lab: Lab, report: Report) -> None:
    """Writes ``mutants.json``."""
    record = {
        "fingerprint": fingerprint(lab),
        "mutants": report.tried,
        "equivalent": report.equivalent,
        "survivors": [asdict(survivor) for survivor in report.survivors],
    }
    text = json.dumps(record, indent=1, ensure_ascii=False)
    (lab.folder / FILE_NAME).write_text(text + "\n", "utf-8")


def recorded_survivors(lab: Lab) -> set[tuple[str, str, str]]:
    """(exercise, old lines, new lines) of the survivors in ``mutants.json``."""
    record = json.loads((lab.folder / FILE_NAME).read_text("utf-8"))
    return {Survivor(**each).change for each in record["survivors"]}


# ---------------------------------------------------------------------------------- trying them, each exercise in a process


def _in_processes(lab: Lab, names: list[str], jobs: int) -> Iterator[tuple[str, Survivor | None]]:
    """Exercise and survivor (None: it lost points) of every mutant. A process that dies or hangs over a mutant is replaced
    by one that goes on with the next.
    """
    lab.exercises  # noqa: B018  # imports the frameworks once; forks may use them as long as nothing was computed here
    forks = multiprocessing.get_context("fork")
    waiting, running = list(names), {}

    def start(name: str, first: int) -> None:
        ours, theirs = forks.Pipe(duplex=False)
        process = forks.Process(
            target=_work, args=(lab.course.root, lab.name, name, first, theirs), daemon=True
        )
        process.start()
        theirs.close()
        running[ours] = name, first, process

    while waiting or running:
        while waiting and len(running) < jobs:
            start(waiting.pop(0), 0)
        heard = wait(list(running), timeout=_SILENT_SECONDS)
        for pipe in heard or list(running):  # if nobody says anything, all of them hang
            name, at, process = running.pop(pipe)
            try:
                said = pipe.recv() if pipe in heard else None
            except EOFError:
                said = None
            if isinstance(said, CourseError):
                raise said
            if said == "done":
                process.join()
            elif said is None:  # it died or hung: the mutant is wrong in a way that nobody can miss
                process.kill()
                process.join()
                if at < 0:
                    raise CourseError(
                        f"{lab.name}: the reference of {name} cannot be run in a process of its own."
                    )
                yield name, None
                start(name, at + 1)
            else:
                index, survivor = said
                running[pipe] = name, index, process
                if survivor != "begun":
                    yield name, survivor
                    running[pipe] = name, index + 1, process


def _work(root: Any, lab_name: str, name: str, first: int, pipe: Connection) -> None:
    """In a process of its own: tries the mutants of one exercise from the ``first`` one on."""
    faulthandler.disable()  # what ends the process is a result, and no reason for a report
    quiet = os.open(os.devnull, os.O_WRONLY)
    for standard in (1, 2):
        os.dup2(quiet, standard)
    try:
        lab = Lab.load(Course(root), lab_name)
        judge = _Judge(lab, name)
        all_of_them = list(_mutants_of(lab, name))
        with tempfile.TemporaryDirectory() as scratch, contextlib.chdir(scratch):
            _limit_memory()
            for index, (of, mutant, names) in enumerate(all_of_them):
                if index >= first:
                    seed = judge.seed_of_full_marks(mutant.source, names)
                    survivor = (
                        None
                        if seed is None
                        else Survivor(name, of, mutant.kind, mutant.old, mutant.new, seed)
                    )
                    pipe.send((index, survivor))
        pipe.send("done")
    except CourseError as error:
        pipe.send(error)
    finally:
        pipe.close()
        os._exit(0)


def _mutants_of(lab: Lab, name: str) -> Iterator[tuple[str, Mutant, dict[str, Any]]]:
    """Of whom, the mutant, and the names that its text may use."""
    marked = next(
        cell.source
        for cell in lab.source().cells
        if nbgrader_of(cell).get("grade_id") == name and is_solution(cell)
    )
    seen = set()
    for mutant in mutants(lab.solution_texts[name], _learners_lines(marked)):
        seen.add(mutant.source)
        yield "reference", mutant, lab.reference
    for entry in lab.variants.get(f"{lab.slug}.{name}", []):
        names = {**lab.reference, **vars(sys.modules[entry.value.__module__])}
        for mutant in mutants(entry.source):
            if mutant.source not in seen:
                seen.add(mutant.source)
                yield entry.name, mutant, names


def _learners_lines(marked: str) -> set[int]:
    """The numbers of the lines between the marks, in the text without the marks."""
    found, number, inside = set(), 0, False
    for line in marked.splitlines():
        if "### BEGIN SOLUTION" in line or "### END SOLUTION" in line:
            inside = "BEGIN" in line
        else:
            number += 1
            if inside:
                found.add(number)
    return found


def _limit_memory() -> None:
    with open("/proc/self/status") as status:
        data = next(int(line.split()[1]) for line in status if line.startswith("VmData:")) * 1024
    resource.setrlimit(resource.RLIMIT_DATA, (data + _MEMORY, data + _MEMORY))


class _Judge:
    """Judges texts of one exercise, at every seed, and stops at the first case that is wrong."""

    def __init__(self, lab: Lab, name: str) -> None:
        self.lab, self.name, self.key = lab, name, f"{lab.slug}.{name}"
        self.exercise: Exercise = lab.exercises[self.key]
        self.expected = {
            seed: Expected(
                inputs=tuple(case.runs(self.key, seed) for case in self.exercise.cases),
                reference=lab.outcomes(self.key, lab.reference[name], seed),
            )
            for seed in SEEDS
        }
        cases = self.exercise.cases
        self.alone = [replace(self.exercise, cases=cases[at : at + 1]) for at in range(len(cases))]

    def seed_of_full_marks(self, text: str, names: dict[str, Any]) -> int | None:
        """A seed at which a text keeps full marks; None if there is none."""
        scope = dict(names)
        try:
            run_cell(text, f"<mutant of {self.name}>", scope)
        except Exception:
            return None
        value = scope.get(self.name)
        return next((seed for seed in SEEDS if self._is_right(value, seed)), None)

    def _is_right(self, value: Any, seed: int) -> bool:
        expected, outcomes = self.expected[seed], []
        for at, case in enumerate(self.exercise.cases):
            outcomes.append(try_case(self.exercise, case, self.key, value, seed))
            here = Expected(expected.inputs[at : at + 1], expected.reference[at : at + 1])
            if not compare(self.alone[at], outcomes[-1:], here).checks[0].passed:
                return False
        return compare(self.exercise, outcomes, expected).score == 1
