"""What the checks of a lab let pass: mutants of its reference, and of its correct variants, judged as learners' code is.

A mutant that keeps full marks at any seed is tried on many more legal inputs (:mod:`grader.author.legal`). If it differs from the reference
there, the checks have a hole, and the input shows it. If it never does, it is as right as the reference. What differs, but only where the exercise
promises nothing, stands in ``equivalent.toml`` beside the lab, with the reason; ``mutants.json`` records what became of the reference's mutants.
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
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Any, NamedTuple

from course_utils.checking.checks import checks_of, score_of
from course_utils.checking.exercise import Exercise
from course_utils.checking.expected import Expected
from course_utils.checking.outcome import try_case
from course_utils.exercises import FILE_NAME as EXERCISES
from grader.author.build import SEEDS
from grader.author.legal import LegalInputs
from grader.catalogue import run_cell
from grader.course import Course, CourseError
from grader.imports import code_of, imported, reached
from grader.reference.lab import Lab
from grader.reference.mutants import CUT, LEFT, Mutant, mutants, mutants_of

FILE_NAME, EQUIVALENT = "mutants.json", "equivalent.toml"

EVERY_CHANGE = "*"
"""In the place of a change's new lines, if it has none."""
ENOUGH = 0.995
"""Of the mutants of every exercise that are wrong, at least such a share must lose points at every seed."""
TIMES_AS_LONG, SECONDS_MORE = 20, 1.0
"""A mutant may compute for so many times as long as what it was made from, and so many seconds more, in each case. One that needs
longer is taken for one that never ends."""
SEARCH_SECONDS = 0.5
"""So much CPU time goes into the search for an input that tells a survivor from the reference."""
_SILENT_SECONDS = 300
"""After so long without a word, a mutant is stopped from outside. (Python code is stopped by the time limit of its case.)"""
_MEMORY = 2 * 2**30
_DECIDES = {
    "grader.author.legal",
    "grader.reference.mutants",
    *(
        f"course_utils.checking.{name}"
        for name in ("chance", "checks", "exercise", "outcome", "rounding", "time_limit")
    ),
}
"""What makes the mutants and the inputs, and what decides the points of an output. Diagnoses and reports do not."""


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


def mutate(lab: Lab, jobs: int, only: str | None = None, of_variants: int | None = None) -> Report:
    """Tries the mutants of a lab's references, or of its correct variants.

    Args:
        jobs: processes at a time.
        only: the name of an exercise, to try no other.
        of_variants: at most so many mutants of each correct variant are tried, and none of the references. They are chosen by what is changed,
            so a smaller sample is a part of a larger one, and an edited line changes the choice only where it stands.

    Raises:
        CourseError: there is no such exercise, or the reference cannot be run.
    """
    names = [exercise.name for exercise in lab.exercises.values()]
    if only is not None and only not in names:
        raise CourseError(f"{lab.name} has no exercise {only!r}. It has {', '.join(names)}.")
    known = equivalents(lab)
    report, met = Report(), set()
    for name, survives in each_mutant(lab, [only] if only else names, jobs, _Judge, of_variants):
        report.tried[name] = report.tried.get(name, 0) + 1
        if survives is None:
            continue
        of, mutant, (seed, differs) = survives
        survivor = Survivor(name, of, mutant.kind, mutant.old, mutant.new, seed, mutant.place, differs)
        entries = survivor.change.entries & known.keys()
        if not survivor.may_be_wrong:
            report.same[name] = report.same.get(name, 0) + 1
        elif entries:
            met |= entries
            report.excused[name] = report.excused.get(name, 0) + 1
        else:
            report.survivors.append(survivor)
    report.tried = {name: report.tried[name] for name in names if name in report.tried}
    report.survivors.sort(
        key=lambda each: (names.index(each.exercise), each.of, each.old, each.new, each.place or 0)
    )
    if of_variants is None:
        report.unused = [change for change in known if change not in met and change.exercise in report.tried]
    return report


def equivalents(lab: Lab) -> dict[Change, str]:
    """A change of the reference -> why it is no mistake, although an input shows it. A change without new lines stands for every change of
    the old ones.

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
            f"{file}: {error}. Write [[exercise]] with a `reason` and its `changes`, a list of [old lines, new lines], or [old lines] for "
            "every change of them; where the old lines stand at several places, a third part says which is meant: 1, 2, ..."
        ) from None
    return found


_FORMS = ([str], [str, str], [str, str, int])


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


# ---------------------------------------------------------------------------------- the record


def fingerprint(lab: Lab) -> str:
    """SHA-256 of what the figures depend on: the solutions, the cases, the code that judges, and the mutations themselves. Comments,
    docstrings and layout do not count, nor do the correct variants: they only keep the search for inputs within what is promised.
    """
    texts = [*lab.solution_texts.values(), (lab.folder / EXERCISES).read_text("utf-8")]
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
    """Writes ``mutants.json``: of each exercise, how many mutants were tried, are the same, and are excused; and the survivors."""
    counts = {
        name: [number, report.same.get(name, 0), report.excused.get(name, 0)]
        for name, number in report.tried.items()
    }
    text = f"""{{
"fingerprint": "{fingerprint(lab)}",
"mutants": {{
{_rows(f"{json.dumps(name)}: {numbers}" for name, numbers in counts.items())}
}},
"survivors": [
{_rows(json.dumps(asdict(each), ensure_ascii=False) for each in report.survivors)}
]
}}
"""
    (lab.folder / FILE_NAME).write_text(text, "utf-8")


def _rows(rows: Iterator[str]) -> str:
    return ",\n".join(f" {row}" for row in rows)


def recorded(lab: Lab) -> Report:
    """The last run, as ``mutants.json`` says."""
    record = json.loads((lab.folder / FILE_NAME).read_text("utf-8"))
    tried, same, excused = (
        {name: counts[at] for name, counts in record["mutants"].items()} for at in range(3)
    )
    return Report(tried, same, excused, [Survivor(**each) for each in record["survivors"]])


# ---------------------------------------------------------------------------------- trying them, in processes of their own


class Tried(NamedTuple):
    """A mutant ``of`` the reference or a variant, and what a judge says of it."""

    of: str
    mutant: Mutant
    said: Any


Judge = Callable[[str, dict[str, Any], str], Any]
"""Says something of a text: it gets the text, the names that the text may use, and what the text was made from. None is nothing."""


@dataclass
class _Running:
    """A process, the exercises that it still has to try, and the number of the next mutant of the first one; None: it is not ready for it."""

    process: BaseProcess
    names: list[str]
    at: int | None = None


def each_mutant(
    lab: Lab,
    names: list[str],
    jobs: int,
    make_judge: Callable[[Lab, str], Judge],
    of_variants: int | None = None,
) -> Iterator[tuple[str, Tried | None]]:
    """Exercise, and what is said of it (None: nothing), of every mutant. A process that dies or hangs over a mutant is replaced
    by one that goes on with the next.

    Args:
        make_judge: called in each process, with the lab and an exercise's name.
        of_variants: None: the mutants of the references; a number: at most so many of each correct variant.
    """
    lab.exercises  # noqa: B018  # imports the frameworks once; forks may use them as long as nothing was computed here
    forks = multiprocessing.get_context("fork")
    running: dict[Connection, _Running] = {}

    def start(names: list[str], first: int = 0) -> None:
        ours, theirs = forks.Pipe(duplex=False)
        process = forks.Process(
            target=_work,
            args=(lab.course.root, lab.name, names, first, of_variants, make_judge, theirs),
            daemon=True,
        )
        process.start()
        theirs.close()
        running[ours] = _Running(process, list(names))

    for job in range(min(jobs, len(names))):
        start(names[job::jobs])
    while running:
        heard = wait(list(running), timeout=_SILENT_SECONDS)
        for pipe in heard or list(running):  # if nobody says anything, all of them hang
            state = running[pipe]
            try:
                said = pipe.recv() if pipe in heard else None
            except EOFError:
                said = None
            match said:
                case CourseError():
                    raise said
                case int():  # it is ready, and begins with this mutant
                    state.at = said
                case "done":
                    state.names.pop(0)
                    state.at = None
                    if not state.names:
                        state.process.join()
                        del running[pipe]
                case [tried]:
                    state.at += 1
                    yield state.names[0], tried
                case _:  # it died or hung: the mutant is wrong in a way that nobody can miss
                    state.process.kill()
                    state.process.join()
                    del running[pipe]
                    if state.at is None:
                        raise CourseError(
                            f"{lab.name}: the reference of {state.names[0]} cannot be run in a process of its own."
                        )
                    yield state.names[0], None
                    start(state.names, state.at + 1)


def _work(
    root: Any,
    lab_name: str,
    names: list[str],
    first: int,
    of_variants: int | None,
    make_judge: Callable[[Lab, str], Judge],
    pipe: Connection,
) -> None:
    """In a process of its own: tries the mutants of some exercises, those of the first one from the ``first`` on."""
    faulthandler.disable()  # what ends the process is a result, and no reason for a report
    quiet = os.open(os.devnull, os.O_WRONLY)
    for standard in (1, 2):
        os.dup2(quiet, standard)
    try:
        lab = Lab.load(Course(root), lab_name)
        for name in names:
            judge = make_judge(lab, name)
            all_of_them = list(_mutants_of(lab, name, of_variants))
            with tempfile.TemporaryDirectory() as scratch, contextlib.chdir(scratch):
                tempfile.tempdir = scratch  # TensorFlow writes a file for each function that it compiles
                _limit_memory()
                pipe.send(first)
                for of, mutant, known in all_of_them[first:]:
                    said = judge(mutant.source, known, of)
                    pipe.send([None if said is None else Tried(of, mutant, said)])
            tempfile.tempdir = None
            pipe.send("done")
            first = 0
    except CourseError as error:
        pipe.send(error)
    finally:
        pipe.close()
        os._exit(0)


def _mutants_of(
    lab: Lab, name: str, of_variants: int | None = None
) -> Iterator[tuple[str, Mutant, dict[str, Any]]]:
    """Of whom, the mutant, and the names that its text may use."""
    of_the_reference = mutants_of(lab, name)
    trained_through = any(case.reaches for case in lab.exercises[f"{lab.slug}.{name}"].cases)
    if of_variants is None:
        for mutant in of_the_reference:
            if trained_through or mutant.kind != CUT:
                yield "reference", mutant, lab.reference
        return
    seen = {mutant.source for mutant in of_the_reference}
    for entry in lab.variants.get(f"{lab.slug}.{name}", []):
        names = {**lab.reference, **vars(sys.modules[entry.value.__module__])}
        new = [
            each
            for each in mutants(entry.source)
            if each.source not in seen and (trained_through or each.kind != CUT)
        ]
        new.sort(key=_drawn_by)
        for mutant in new[:of_variants]:
            seen.add(mutant.source)
            yield entry.name, mutant, names


def _drawn_by(mutant: Mutant) -> bytes:
    """By this order, samples are drawn. It depends on what is changed, and not on the rest of the text."""
    return hashlib.sha256(repr((mutant.kind, mutant.old, mutant.new, mutant.place)).encode()).digest()


def _limit_memory() -> None:
    with open("/proc/self/status") as status:
        data = next(int(line.split()[1]) for line in status if line.startswith("VmData:")) * 1024
    resource.setrlimit(resource.RLIMIT_DATA, (data + _MEMORY, resource.getrlimit(resource.RLIMIT_DATA)[1]))


class _Judge:
    """Judges texts of one exercise, at every seed, and stops at the first case that is wrong. Survivors are tried on more inputs."""

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
        self._legal: LegalInputs | None = None

    def __call__(self, text: str, names: dict[str, Any], of: str = "reference") -> tuple[int, str] | None:
        """A seed at which a text keeps full marks, and an input that tells it from the reference, in words, or nothing; None if there is
        no such seed.

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
                return seed, self._what_tells(value, of)
            telling = wrong
        return None

    def _what_tells(self, value: Any, of: str) -> str:
        """A legal input for which the value is wrong, in words; empty if none was found."""
        if self.exercise.goals:
            return "what its goals do not measure"
        if self._legal is None:
            right = [
                self.lab.reference[self.name],
                *(each.value for each in self.lab.variants.get(self.key, [])),
            ]
            seconds = max(each.seconds for each in self._limited_as("reference"))
            self._legal = LegalInputs(replace(self.exercise, seconds=seconds), self.key, right)
        seconds = max(each.seconds for each in self._limited_as(of))
        used = 0.0
        for legal in self._legal:
            begin = time.process_time()
            if not self._legal.agrees(legal, value, seconds):
                return str(legal)
            used += time.process_time() - begin
            if used > SEARCH_SECONDS:
                break
        return ""

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
