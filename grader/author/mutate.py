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
import time
import tomllib
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field, replace
from multiprocessing.connection import Connection, wait
from typing import Any, NamedTuple

from course_utils.checking.checks import checks_of, score_of
from course_utils.checking.exercise import Exercise
from course_utils.checking.expected import Expected
from course_utils.checking.outcome import try_case
from course_utils.exercises import FILE_NAME as EXERCISES
from grader.author.build import SEEDS
from grader.author.mutants import Mutant, mutants
from grader.catalogue import run_cell
from grader.course import Course, CourseError
from grader.imports import code_of, imported, reached
from grader.lab import Lab, is_solution, learners_lines, nbgrader_of

FILE_NAME, EQUIVALENT = "mutants.json", "equivalent.toml"

EVERY_CHANGE = "*"
"""In the place of an entry's new lines, if it has none."""
ENOUGH = 0.995
"""Of the mutants of every exercise that are not equivalent, at least such a share must lose points at every seed."""
OF_A_VARIANT = 60
"""So many mutants of each correct variant are tried, unless the record of a lab names another number, as it does where each of
them takes long. Those of the reference are all tried."""
TIMES_AS_LONG, SECONDS_MORE = 20, 1.0
"""A mutant may compute for so many times as long as what it was made from, and so many seconds more, in each case. One that needs
longer is taken for one that never ends."""
_SILENT_SECONDS = 300
"""After so long without a word, a mutant is stopped from outside. (Python code is stopped by the time limit of its case.)"""
_MEMORY = 2 * 2**30
_DECIDES = {
    "grader.author.mutants",
    *(f"course_utils.checking.{name}" for name in ("chance", "checks", "exercise", "outcome", "time_limit")),
}
"""What makes the mutants, and what decides the points of an output. Diagnoses and reports do not."""


class Change(NamedTuple):
    """What a mutant changes: lines of an exercise's solution.

    ``place`` counts from 1 at the top where a text can be changed so at several places, because the same lines stand at each; else it is None.
    ``of`` is "reference" or the name of a correct variant. In an entry of ``equivalent.toml``, None stands for all of them.
    """

    exercise: str
    old: str
    new: str = EVERY_CHANGE
    place: int | None = None
    of: str | None = None

    def __str__(self) -> str:
        where = (f" of {self.of}" if self.of else "") + (f" at place {self.place}" if self.place else "")
        return f"{self.old!r}{where} to {self.new!r}"

    @property
    def entries(self) -> set[Change]:
        """The entries that are about this change of one text."""
        return {self._replace(new=new, of=of) for new in (self.new, EVERY_CHANGE) for of in (self.of, None)}


@dataclass(frozen=True)
class Survivor:
    """A mutant that keeps full marks.

    Attributes:
        of: "reference", or the name of the correct variant that it was made from.
        seed: one at which it keeps them.
        place: see :class:`Change`.
    """

    exercise: str
    of: str
    kind: str
    old: str
    new: str
    seed: int
    place: int | None = None

    @property
    def change(self) -> Change:
        return Change(self.exercise, self.old, self.new, self.place, self.of)

    def __str__(self) -> str:
        where = f", at place {self.place}" if self.place else ""
        return f"{self.exercise}, {self.of}: {self.kind}{where}\n  - {self.old}\n  + {self.new}"


@dataclass
class Report:
    """What became of the mutants of a lab.

    Attributes:
        sample: so many mutants of each correct variant were tried, at most; 0: all.
        tried: exercise -> how many mutants it has.
        survivors: those that keep full marks and are not known to be equivalent.
        equivalent: exercise -> how many are.
        unused: entries of ``equivalent.toml`` that fit no survivor.
    """

    sample: int = OF_A_VARIANT
    tried: dict[str, int] = field(default_factory=dict)
    survivors: list[Survivor] = field(default_factory=list)
    equivalent: dict[str, int] = field(default_factory=dict)
    unused: list[Change] = field(default_factory=list)

    def share(self, exercise: str | None = None) -> float:
        """Of the mutants that are not equivalent, the share that loses points at every seed: of one exercise, or of all."""
        tried, equivalent, survive = self._counts(exercise)
        return 1 - survive / (tried - equivalent) if tried > equivalent else 1.0

    def figures(self, lab_name: str) -> str:
        """A line for each exercise, and one for the lab."""
        of_each = [
            f"  {self._line(exercise, exercise)}"
            + ("" if self.share(exercise) >= ENOUGH else f", fewer than the {ENOUGH:.1%} that are needed")
            for exercise in self.tried
        ]
        return "\n".join([*of_each, self._line(lab_name)])

    def _line(self, name: str, exercise: str | None = None) -> str:
        tried, equivalent, survive = self._counts(exercise)
        return (
            f"{name}: {tried} mutants, {equivalent} equivalent, {survive} survive; of those that are wrong, "
            f"{self.share(exercise):.2%} lose points at every seed"
        )

    def _counts(self, exercise: str | None) -> tuple[int, int, int]:
        """How many were tried, are equivalent, and survive."""
        names = self.tried if exercise is None else [exercise]
        return (
            sum(self.tried[name] for name in names),
            sum(self.equivalent.get(name, 0) for name in names),
            sum(each.exercise in names for each in self.survivors),
        )


def mutate(lab: Lab, jobs: int, only: str | None = None, sample: int | None = None) -> Report:
    """Tries the mutants of a lab.

    Args:
        jobs: processes at a time.
        only: the name of an exercise, to try no other.
        sample: at most so many mutants of each correct variant; 0: all; None: as many as the lab's record has. They are chosen by
            their texts, so that a smaller sample is a part of a larger one.

    Raises:
        CourseError: there is no such exercise, or the reference cannot be run.
    """
    names = [exercise.name for exercise in lab.exercises.values()]
    if only is not None and only not in names:
        raise CourseError(f"{lab.name} has no exercise {only!r}. It has {', '.join(names)}.")
    known = equivalents(lab)
    sample = _recorded_sample(lab) if sample is None else sample
    report, met = Report(sample), set()
    for name, survives in each_mutant(lab, [only] if only else names, jobs, sample, _Judge):
        report.tried[name] = report.tried.get(name, 0) + 1
        if survives is None:
            continue
        of, mutant, place, seed = survives
        survivor = Survivor(name, of, mutant.kind, mutant.old, mutant.new, seed, place)
        met |= survivor.change.entries
        if survivor.change.entries & known.keys():
            report.equivalent[name] = report.equivalent.get(name, 0) + 1
        else:
            report.survivors.append(survivor)
    report.tried = {name: report.tried[name] for name in names if name in report.tried}
    report.survivors.sort(
        key=lambda each: (names.index(each.exercise), each.of, each.old, each.new, each.place or 0)
    )
    if sample == 0:  # a sample may leave out what an entry is about
        report.unused = [change for change in known if change not in met and change.exercise in report.tried]
    return report


def equivalents(lab: Lab) -> dict[Change, str]:
    """A change -> why the mutant is as right as what it was made from. An entry without new lines is about every change of the
    old ones, and one that does not say of which text it is, about all. But an entry without a place is only about what can be
    changed at one place: what is harmless there may be a mistake elsewhere.

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
                if not {"old", "reason"} <= set(entry) <= {"old", "new", "place", "of", "reason"}:
                    raise ValueError(f"an entry of {exercise} has {', '.join(entry)}")
                reason = entry.pop("reason")
                found[Change(exercise, **entry)] = reason
    except (ValueError, TypeError, AttributeError) as error:
        raise CourseError(
            f"{file}: {error}. Write [[exercise]] with `old`, `reason`, and, unless every change of the old lines is "
            'meant, `new`; where the old lines stand at several places, `place` says which is meant: 1, 2, ...; `of` names a variant, or "reference".'
        ) from None
    return found


# ---------------------------------------------------------------------------------- the record


def fingerprint(lab: Lab) -> str:
    """SHA-256 of what the figures depend on: the solutions and correct variants, the cases, the code that judges, and the
    mutations themselves. Comments, docstrings and layout do not count.
    """
    texts = [*lab.solution_texts.values()]
    texts += [
        file.read_text("utf-8")
        for name in (EXERCISES, "variants.py")
        if (file := lab.folder / name).is_file()
    ]
    digest = hashlib.sha256()
    for text in texts:
        digest.update(code_of(text))
    if (known := lab.folder / EQUIVALENT).is_file():
        digest.update(known.read_bytes())
    modules = {*_DECIDES, *(name for text in texts for name in imported(text))}
    for name, path in sorted(reached(modules).items()):
        if name.startswith("course_utils/cases/") or name.removesuffix(".py").replace("/", ".") in _DECIDES:
            digest.update(name.encode() + code_of(path.read_text("utf-8")))
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
        "of_each_variant": report.sample,
        "mutants": report.tried,
        "equivalent": report.equivalent,
        "survivors": [asdict(survivor) for survivor in report.survivors],
    }
    text = json.dumps(record, indent=1, ensure_ascii=False)
    (lab.folder / FILE_NAME).write_text(text + "\n", "utf-8")


def _recorded_sample(lab: Lab) -> int:
    try:
        return json.loads((lab.folder / FILE_NAME).read_text("utf-8"))["of_each_variant"]
    except (OSError, ValueError, TypeError, KeyError):
        return OF_A_VARIANT


def recorded(lab: Lab) -> Report:
    """The last run, as ``mutants.json`` says."""
    record = json.loads((lab.folder / FILE_NAME).read_text("utf-8"))
    survivors = [Survivor(**each) for each in record["survivors"]]
    return Report(record["of_each_variant"], record["mutants"], survivors, record["equivalent"])


# ---------------------------------------------------------------------------------- trying them, each exercise in a process


class Tried(NamedTuple):
    """A mutant ``of`` the reference or a variant, the place of its change, and what a judge says of it."""

    of: str
    mutant: Mutant
    place: int | None
    said: Any


Judge = Callable[[str, dict[str, Any], str], Any]
"""Says something of a text: it gets the text, the names that the text may use, and what the text was made from. None is nothing."""


def each_mutant(
    lab: Lab, names: list[str], jobs: int, sample: int, make_judge: Callable[[Lab, str], Judge]
) -> Iterator[tuple[str, Tried | None]]:
    """Exercise, and what is said of it (None: nothing), of every mutant. A process that dies or hangs over a mutant is replaced
    by one that goes on with the next.

    Args:
        sample: at most so many mutants of each correct variant; 0: all.
        make_judge: called in each process, with the lab and an exercise's name.
    """
    lab.exercises  # noqa: B018  # imports the frameworks once; forks may use them as long as nothing was computed here
    forks = multiprocessing.get_context("fork")
    waiting, running = list(names), {}

    def start(name: str, first: int) -> None:
        ours, theirs = forks.Pipe(duplex=False)
        process = forks.Process(
            target=_work,
            args=(lab.course.root, lab.name, name, first, sample, make_judge, theirs),
            daemon=True,
        )
        process.start()
        theirs.close()
        running[ours] = name, None, process

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
            elif isinstance(said, int):  # it is ready, and begins there
                running[pipe] = name, said, process
            elif said is None:  # it died or hung: the mutant is wrong in a way that nobody can miss
                process.kill()
                process.join()
                if at is None:
                    raise CourseError(
                        f"{lab.name}: the reference of {name} cannot be run in a process of its own."
                    )
                yield name, None
                start(name, at + 1)
            else:
                running[pipe] = name, at + 1, process
                yield name, said[0]


def _work(
    root: Any,
    lab_name: str,
    name: str,
    first: int,
    sample: int,
    make_judge: Callable[[Lab, str], Judge],
    pipe: Connection,
) -> None:
    """In a process of its own: tries the mutants of one exercise from the ``first`` one on."""
    faulthandler.disable()  # what ends the process is a result, and no reason for a report
    quiet = os.open(os.devnull, os.O_WRONLY)
    for standard in (1, 2):
        os.dup2(quiet, standard)
    try:
        lab = Lab.load(Course(root), lab_name)
        judge = make_judge(lab, name)
        all_of_them = list(_mutants_of(lab, name, sample))
        with tempfile.TemporaryDirectory() as scratch, contextlib.chdir(scratch):
            tempfile.tempdir = scratch  # TensorFlow writes a file for each function that it compiles
            _limit_memory()
            pipe.send(first)
            for index, (of, mutant, place, names) in enumerate(all_of_them):
                if index >= first:
                    said = judge(mutant.source, names, of)
                    pipe.send([None if said is None else Tried(of, mutant, place, said)])
        pipe.send("done")
    except CourseError as error:
        pipe.send(error)
    finally:
        pipe.close()
        os._exit(0)


def _mutants_of(lab: Lab, name: str, sample: int) -> Iterator[tuple[str, Mutant, int | None, dict[str, Any]]]:
    """Of whom, the mutant, the place of its change, and the names that its text may use."""
    marked = next(
        cell.source
        for cell in lab.source().cells
        if nbgrader_of(cell).get("grade_id") == name and is_solution(cell)
    )
    seen = set()
    for mutant, place in _with_places(mutants(lab.solution_texts[name], learners_lines(marked))):
        seen.add(mutant.source)
        yield "reference", mutant, place, lab.reference
    for entry in lab.variants.get(f"{lab.slug}.{name}", []):
        names = {**lab.reference, **vars(sys.modules[entry.value.__module__])}
        new = [each for each in _with_places(mutants(entry.source)) if each[0].source not in seen]
        new.sort(key=lambda each: hashlib.sha256(each[0].source.encode()).digest())
        for mutant, place in new[: sample or None]:
            seen.add(mutant.source)
            yield entry.name, mutant, place, names


def _with_places(found: list[Mutant]) -> list[tuple[Mutant, int | None]]:
    """The mutants of one text, each with the place of its change: see :class:`Change`."""
    places = Counter((mutant.old, mutant.new) for mutant in found)
    seen: Counter[tuple[str, str]] = Counter()
    with_places = []
    for mutant in found:  # from the top of the text to its end
        change = mutant.old, mutant.new
        seen[change] += 1
        with_places.append((mutant, seen[change] if places[change] > 1 else None))
    return with_places


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
                hidden=lab.hidden if self.exercise.goals else None,
            )
            for seed in SEEDS
        }
        cases = self.exercise.cases
        self.alone = [replace(self.exercise, cases=cases[at : at + 1]) for at in range(len(cases))]
        self._limited: dict[str, list[Exercise]] = {}

    def __call__(self, text: str, names: dict[str, Any], of: str = "reference") -> int | None:
        """A seed at which a text keeps full marks; None if there is none.

        Args:
            of: what the text was made from: "reference", or the name of a correct variant.
        """
        scope = dict(names)
        try:
            run_cell(text, f"<mutant of {self.name}>", scope)
        except Exception:
            return None
        value = scope.get(self.name)
        telling = 0  # the case that was wrong at one seed is probably wrong at the next
        for seed in SEEDS:
            wrong = self._wrong_case(value, seed, of, telling)
            if wrong is None:
                return seed
            telling = wrong
        return None

    def _wrong_case(self, value: Any, seed: int, of: str, telling: int) -> int | None:
        """The first case that is wrong, beginning with the ``telling`` one; None if all is right."""
        expected, limited, outcomes = self.expected[seed], self._limited_as(of), {}
        for at in sorted(range(len(limited)), key=lambda at: at != telling):
            case = self.exercise.cases[at]
            outcomes[at] = try_case(limited[at], case, self.key, value, seed)
            here = replace(
                expected, inputs=expected.inputs[at : at + 1], reference=expected.reference[at : at + 1]
            )
            if not checks_of(self.alone[at], [outcomes[at]], here)[0].passed:
                return at
        in_order = [outcomes[at] for at in range(len(limited))]
        return None if score_of(checks_of(self.exercise, in_order, expected)) == 1 else telling

    def _limited_as(self, of: str) -> list[Exercise]:
        """The exercise with the time limit of each of its cases."""
        if of not in self._limited:
            value = self.lab.reference[self.name]
            if of != "reference":
                value = next(each.value for each in self.lab.variants[self.key] if each.name == of)
            self._limited[of] = []
            for case in self.exercise.cases:
                begin = time.process_time()
                try_case(self.exercise, case, self.key, value, SEEDS[0])
                seconds = SECONDS_MORE + TIMES_AS_LONG * (time.process_time() - begin)
                limit = min(seconds, self.exercise.seconds)
                self._limited[of].append(replace(self.exercise, seconds=limit))
        return self._limited[of]
