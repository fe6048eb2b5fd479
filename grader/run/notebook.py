"""Runs one rebuilt notebook, and returns what its check cells published.

:class:`SandboxRunner` uses kernels that hostile code cannot escape from (see docs/sandbox.md); :class:`PlainRunner` uses
ordinary ones, for code that is trusted.
"""

from __future__ import annotations

import ast
import contextlib
import itertools
import logging
import re
import shutil
import tempfile
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from nbformat import NotebookNode
from nbformat.v4 import new_output

from course_utils import exercises, labs
from course_utils.checking.exercise import find_exercise
from course_utils.checking.expected import FILE_NAME
from course_utils.checking.time_limit import IDLE_FACTOR
from course_utils.exercises import FILE_NAME as EXERCISES
from grader.reference.lab import Lab, checked_exercise, copy_of, file_in, is_learners, runs_in_grading
from grader.run import machine
from grader.run.kernels import LOOK_SECONDS, Kernel, PlainKernel, SandboxKernel
from grader.run.outputs import Kept, Outputs
from grader.run.states import (
    CRASHED,
    ENDINGS,
    GRADED,
    ONE_AT_A_TIME,
    OUT_OF_MEMORY,
    STOPPED,
    TIMED_OUT,
    Executed,
    Limited,
    says_slow,
)
from grader.sandbox.container import NoSandbox
from grader.sandbox.preloaded import Limits, NoKernel, SandboxLost, Setting, borrow, give_back

_log = logging.getLogger(__name__)

_AHEAD = 32
"""How many cells are sent before the first of them has ended, so that neither side waits for the other."""

_DRAIN_SECONDS = 300
"""How long a kernel that has replied may sleep while its messages are still being read. (A reply may be forged.)"""

_LATE_SECONDS = 0.05
"""For how long the messages of a cell may come after its reply before it matters whether the kernel sleeps."""

_SET_UP_SECONDS = 60
"""How long a kernel may compute, or sleep, before the first cell."""

_SHOWING_SECONDS = 3
"""How long a cell that came with the lab may compute if it calls what has just been too slow for its check: it is there to be
looked at. Most take a fraction of a second.
"""

_ASK_SECONDS = 1
_UNHEARD = 5

_FIX_CHANCE = "__import__('course_utils.checking.chance', fromlist=['fix']).fix({seed})"
"""The code that a kernel runs before anything else."""

_WRITE = """
[__import__('pathlib').Path(name).write_text(text, encoding='utf-8') for name, text in {files}]
__import__('importlib').invalidate_caches()
"""
"""Then it puts the files that were handed in with the notebook beside it. Their names were checked when they were taken."""


@dataclass(frozen=True)
class PlainRunner(Limited):
    """Runs notebooks in an ordinary kernel, without a sandbox.

    Args:
        user: the user whose rights the kernel has; only root may name another user. None: those of this process.
    """

    user: str | None = None

    def warm_up(self, folder: Path | None = None) -> None:
        """Does nothing: there is nothing to prepare."""

    def run(self, notebook: NotebookNode, seed: int, folder: Path | None = None) -> Executed:
        with tempfile.TemporaryDirectory(prefix="run-", ignore_cleanup_errors=True) as scratch:
            work = Path(scratch) / "work"
            if folder is None:
                work.mkdir()
            else:
                shutil.copytree(folder, work, ignore=shutil.ignore_patterns("*.ipynb", FILE_NAME, ".*"))
            _know_exercises(folder)
            counter = itertools.count()
            run = _Run(
                self, notebook, seed, lambda: PlainKernel(Path(scratch), next(counter), seed, self.user)
            )
            return run.to_the_end()


@dataclass(frozen=True)
class SandboxRunner(Limited):
    """Runs notebooks in the sandbox, in forks of a preloaded process that is kept from one run to the next.

    If that process dies, the notebook is run once more in a container of its own with nothing preloaded; if
    that one dies too, the submission has crashed.

    Args:
        modules: what is imported before the first notebook.
        hidden: folders of the course that must stay invisible, wherever they are.
        limits: what a submission may use.
    """

    modules: tuple[str, ...] = ()
    hidden: tuple[Path, ...] = field(default=(), repr=False)  # moving a course grades nothing again
    limits: Limits = field(default_factory=Limits)

    @classmethod
    def for_lab(cls, lab: Lab) -> SandboxRunner:
        """A runner that preloads what the lab's own files say notebooks import; submissions have no influence on this."""
        course = lab.course
        hidden = (course.solutions, course.grading, course.build, course.root / ".git")
        return cls(modules=imported_modules(lab), hidden=hidden)

    def _setting(self, folder: Path | None) -> Setting:
        return Setting(self.modules, folder, self.hidden)

    def warm_up(self, folder: Path | None = None) -> None:
        """
        Raises:
            GraderError: the sandbox cannot be set up on this machine.
        """
        with contextlib.suppress(SandboxLost):  # the first run starts another
            give_back(borrow(self._setting(folder)))

    def run(self, notebook: NotebookNode, seed: int, folder: Path | None = None) -> Executed:
        """
        Raises:
            GraderError: the sandbox cannot be set up on this machine, or no kernel starts in it.
        """
        _know_exercises(folder)
        for setting in (self._setting(folder), Setting((), folder, self.hidden)):
            fresh = not setting.modules

            def kernel(setting: Setting = setting, fresh: bool = fresh) -> SandboxKernel:
                return SandboxKernel(setting, self.limits, seed, fresh)

            try:
                return _Run(self, notebook, seed, kernel).to_the_end()
            except SandboxLost as error:
                _log.warning("the sandbox was lost: %s", error)
                lost = error
        if isinstance(lost, NoKernel):
            raise NoSandbox(
                f"The sandbox does not work on this machine at present. {lost}. Make sure that there is memory and disk "
                "space left; --jobs 1 needs the least."
            )
        note = (
            "The process that runs submissions died twice on this one. It counts 0 points until it is graded again, "
            "which the next `grader autograde` tries."
        )
        return Executed(copy_of(notebook), CRASHED, {}, (note,), lost=True)


def imported_modules(lab: Lab) -> tuple[str, ...]:
    """What is imported before the first notebook of the lab, in this order: what the release imports, what its checks
    need, and the frameworks that submissions may use.

    These are PyTorch in every lab (importing it takes many times longer than the rest of a notebook), and TensorFlow if any
    file of the lab mentions it. PyTorch imports a compiler when the first optimizer is made: if the lab has optimizers,
    that compiler is imported, too.
    """
    cells = [cell.source for cell in lab.release().cells if runs_in_grading(cell)]
    files = [lab.folder / name for name in ("variants.py", "misconceptions.py", EXERCISES)]
    texts = [*cells, *(file.read_text("utf-8") for file in files if file.is_file())]
    named = {name.partition(".")[0] for text in texts for name in _imports(text)}
    found = dict.fromkeys(name for cell in cells for name in _imports(cell))
    found |= dict.fromkeys(("numpy.random", "torch"))
    if any(re.search(r"\boptim\b", text) for text in texts):
        found["torch._dynamo"] = None
    if named & {"tensorflow", "keras"}:
        found |= dict.fromkeys(("tensorflow", "keras"))
    checks = (
        "course_utils.checking.check",
        f"course_utils.exercises.{lab.slug}",
        "matplotlib_inline.backend_inline",
    )
    return tuple(found | dict.fromkeys(checks))


def _imports(code: str) -> Iterator[str]:
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module


# ---------------------------------------------------------------------------------- one notebook


def _know_exercises(folder: Path | None) -> None:
    """Loads a release's exercises, because their time limits are needed here. On a machine of a cluster, the release is all
    that there is of the lab.
    """
    if folder and (lab := labs.read(folder)) and (folder / EXERCISES).is_file():
        exercises.load(lab.slug, folder / EXERCISES)


def _set_up(kernel: Kernel, seed: int, files: Sequence[tuple[str, str]]) -> None:
    """Readies a kernel for the first cell, which must not be charged for it: on a slow machine, the first import alone takes
    seconds. What goes wrong here (an earlier kernel of this notebook may have left files behind) shows in that cell.
    """
    write = _WRITE.format(files=repr(list(files))) if files else ""
    name = kernel.execute(_FIX_CHANCE.format(seed=seed) + write, silent=True)
    kernel.next_cell(_SET_UP_SECONDS, _SET_UP_SECONDS)
    while name not in kernel.replied and not (kernel.is_out_of_time() or kernel.floods()):
        if kernel.receive(LOOK_SECONDS) is None and kernel.cause_of_death():
            return


class _Run:
    """The execution of one notebook with as many kernels as it takes."""

    def __init__(
        self, limits: Limited, notebook: NotebookNode, seed: int, new_kernel: Callable[[], Kernel]
    ) -> None:
        self.limits = limits
        self.seed = seed
        self.new_kernel = new_kernel
        self.notebook = copy_of(notebook)
        for cell in self.notebook.cells:
            if cell.cell_type == "code":
                cell.outputs, cell.execution_count = [], None
        self.files = [file for cell in self.notebook.cells if (file := file_in(cell))]
        self.bad: set[int] = set()
        self.state = GRADED
        self.notes: list[str] = []
        self.kept = Kept(seed, limits.output_bytes)
        self.deadline = time.monotonic() + limits.notebook_seconds
        self.watch, self.cpu_seconds = machine.Watch(), 0.0
        self.kernels = 0
        self.ahead = 1 if notebook.metadata.get(ONE_AT_A_TIME) else _AHEAD

    def to_the_end(self) -> Executed:
        cells = enumerate(self.notebook.cells)
        run = (index for index, cell in cells if runs_in_grading(cell) and not file_in(cell))
        waiting = [index for index in run if self.notebook.cells[index].source.strip()]
        done: list[int] = []
        while waiting and self._may_go_on():
            kernel = self.new_kernel()
            self.kernels += 1
            try:
                kernel.start()
                _set_up(kernel, self.seed, self.files)
                if self._replay(kernel, done):
                    self._go_on(kernel, waiting, done)
            except BaseException:
                with contextlib.suppress(SandboxLost):  # an earlier exception counts: Ctrl-C, for one
                    kernel.stop()
                raise
            kernel.stop()
            self.cpu_seconds += kernel.cpu_seconds
        return Executed(
            self.notebook,
            self.state,
            dict(self.kept.payloads),
            tuple(self.notes),
            undisturbed=self.watch.undisturbed(self.cpu_seconds),
            seconds=self.watch.seconds,
        )

    def _may_go_on(self) -> bool:
        if self.kernels > self.limits.restarts + (
            self.ahead == 1
        ):  # the kernel that showed that care is needed does not count
            self.notes.append(f"The rest was not run: {self.kernels} kernels were used up.")
            return False
        if time.monotonic() >= self.deadline:
            self.state = TIMED_OUT if self.state == GRADED else self.state
            self.notes.append(f"The rest was not run: {self.limits.notebook_seconds:g} seconds were used up.")
            return False
        return True

    def _replay(self, kernel: Kernel, done: list[int]) -> bool:
        """Brings a fresh kernel to where the last one was. Check cells change nothing, so they are left out."""
        again = [i for i in done if i not in self.bad and not checked_exercise(self.notebook.cells[i])]
        count, trouble = self._run_cells(kernel, copy_of(self.notebook), Kept(self.seed, 0), again)
        if trouble:
            self._record(again[count], trouble)
        return not trouble

    def _go_on(self, kernel: Kernel, waiting: list[int], done: list[int]) -> None:
        count, trouble = self._run_cells(kernel, self.notebook, self.kept, waiting)
        if trouble and (trouble == TIMED_OUT or self.ahead == 1):
            self._record(waiting[count], trouble)
            count += 1
        elif trouble:  # perhaps caused by a later cell: from here on, one at a time
            self.ahead = 1
            for index in waiting[count:]:
                self.notebook.cells[index].outputs = []
        done += waiting[:count]
        del waiting[:count]

    def _run_cells(
        self, kernel: Kernel, notebook: NotebookNode, kept: Kept, indexes: Sequence[int]
    ) -> tuple[int, str]:
        """Runs cells in this order. Returns how many ran to the end, and what went wrong with the next one, if anything."""
        outputs = Outputs(notebook, kept)
        cell_of: dict[str, int] = {}
        names: deque[str] = deque()
        for count in range(len(indexes)):
            while len(names) < self.ahead and len(cell_of) < len(indexes):
                index = indexes[len(cell_of)]
                names.append(kernel.execute(notebook.cells[index].source))
                cell_of[names[-1]] = index
            if trouble := self._await(kernel, outputs, cell_of, names.popleft()):
                outputs.finish()
                return count, trouble
        outputs.finish()
        return len(indexes), ""

    def _await(self, kernel: Kernel, outputs: Outputs, cell_of: Mapping[str, int], name: str) -> str:
        """Waits for the end of a request. Returns the state that it puts the submission in; empty if all went well."""
        computing, sleeping = self._seconds(self.notebook.cells[cell_of[name]])
        kernel.next_cell(computing, sleeping)
        later = set(itertools.dropwhile(lambda other: other != name, cell_of)) - {name}
        signs: _Signs | None = None
        while not (name in kernel.replied and name in outputs.idle):
            if name in kernel.replied:
                signs = signs or _Signs(kernel)
                if signs.are_late():  # if it sleeps now, we are slow
                    kernel.next_cell(computing, _DRAIN_SECONDS)
                if kernel.loses_messages or not later.isdisjoint(outputs.begun):
                    kernel.loses_messages = True  # its own fault: we do not wait for it again
                    return ""
                if signs.are_missing():  # nothing can be heard from it any more
                    return CRASHED
                later |= signs.asked
            if time.monotonic() > self.deadline or kernel.is_out_of_time():
                return TIMED_OUT
            if kernel.floods():
                return OUT_OF_MEMORY
            messages = kernel.receive(LOOK_SECONDS)
            if messages is None:
                if trouble := kernel.cause_of_death():
                    return trouble
                continue
            for message in messages:
                parent = message["parent"]
                if parent in cell_of:
                    outputs.take(message, parent, cell_of[parent])
                elif parent in later:
                    outputs.begun.add(parent)
        return ""

    def _seconds(self, cell: NotebookNode) -> tuple[float, float]:
        """How long a cell may compute, and how long it may sleep."""
        computing = sleeping = self.limits.cell_seconds
        with contextlib.suppress(LookupError):
            if key := checked_exercise(cell):
                exercise = find_exercise(key)
                computing += len(exercise.cases) * exercise.seconds
                sleeping += IDLE_FACTOR * exercise.seconds  # a check ends at the first slow case
            elif not is_learners(cell) and self._calls_what_is_slow(cell.source):
                computing = min(computing, _SHOWING_SECONDS)
        return computing, sleeping

    def _calls_what_is_slow(self, source: str) -> bool:
        slow = [key.partition(".")[2] for key, payload in self.kept.payloads.items() if says_slow(payload)]
        return any(re.search(rf"\b{re.escape(name)}\b", source) for name in slow)

    def _record(self, index: int, trouble: str) -> None:
        self.bad.add(index)
        self.state = trouble if self.state == GRADED else self.state
        cell = self.notebook.cells[index]
        computing, sleeping = self._seconds(cell)
        what = ENDINGS[trouble]
        if trouble == TIMED_OUT:
            what += f": at most {computing:g} seconds of computing or {sleeping:g} of waiting"
        whose = "" if is_learners(cell) else ", which came with the lab,"
        self.notes.append(f"Cell `{cell.id}`{whose} {what}. The other cells were run without it.")
        error = f"This cell{whose} {what}."
        cell.outputs.append(new_output("error", ename=STOPPED, evalue=error, traceback=[error]))


class _Signs:
    """Signs of life from a kernel that has replied, but has not said that it is idle.

    It is asked for them again and again. Messages keep their order, so once one about a later request has arrived, the missing
    ones will not arrive any more. A kernel that replies to request after request without saying anything about them cannot be
    used any more.
    """

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel
        self.asked: set[str] = set()
        self.heard, self.unheard = kernel.heard, 0
        self.next = time.monotonic() + _ASK_SECONDS
        self.late = time.monotonic() + _LATE_SECONDS

    def are_late(self) -> bool:
        """Whether they have not come with the reply, as they do for most cells. Says so once."""
        if late := time.monotonic() >= self.late:
            self.late = float("inf")
        return late

    def are_missing(self) -> bool:
        if time.monotonic() >= self.next:
            if self.heard != self.kernel.heard:
                self.heard, self.unheard = self.kernel.heard, 0
            elif self.asked and self.asked <= self.kernel.replied:
                self.unheard += 1
            self.asked.add(self.kernel.ask())
            self.next = time.monotonic() + _ASK_SECONDS
        return self.unheard >= _UNHEARD
