"""Tries the mutants of a lab in processes of their own: what kills, hangs or fills one of them is a result, and the others go on."""

from __future__ import annotations

import contextlib
import faulthandler
import hashlib
import multiprocessing
import os
import resource
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Any, NamedTuple

from grader.course import Course, CourseError
from grader.reference.lab import Lab
from grader.reference.mutants import CUT, Mutant, mutants, mutants_of

_SILENT_SECONDS = 600
"""After so long without a word, a mutant is stopped from outside. (Python code is stopped by the time limit of its case.)"""

_MEMORY = 2 * 2**30

Judge = Callable[[str, dict[str, Any], str], Any]
"""Says something of a text: it gets the text, the names that the text may use, and what the text was made from. None is nothing."""


class Tried(NamedTuple):
    """A mutant ``of`` the reference or a variant, and what a judge says of it."""

    of: str
    mutant: Mutant
    said: Any


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
