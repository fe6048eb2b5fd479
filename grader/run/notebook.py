"""One rebuilt notebook, executed -> what its check cells published.

The process that runs learner code shares nothing with the one that grades: it gives back outputs.
:class:`Runner` is the interface. :class:`SandboxRunner` fills it with kernels that hostile code cannot leave
(see docs/sandbox.md); :class:`PlainRunner` with ordinary ones, for code that is trusted.
"""

from __future__ import annotations

import ast
import contextlib
import copy
import functools
import itertools
import logging
import os
import pwd
import re
import shutil
import signal
import sys
import tempfile
import time
import uuid
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Protocol

import psutil
import zmq
from jupyter_client.kernelspec import KernelSpec, KernelSpecManager
from jupyter_client.manager import KernelManager
from jupyter_core.utils import run_sync
from nbformat import NotebookNode
from nbformat.v4 import new_output

from course_utils.check import SEED_VARIABLE
from course_utils.exercise import find_exercise
from course_utils.exercises import FILE_NAME as EXERCISES
from course_utils.expected import FILE_NAME
from course_utils.outcome import OUTCOME_MIME
from course_utils.time_limit import IDLE_FACTOR
from grader.lab import Lab, checked_exercise, is_learners, runs_in_grading
from grader.sandbox.container import ONE_THREAD, NoSandbox
from grader.sandbox.preloaded import Limits, NoKernel, SandboxLost, Setting, borrow, give_back
from grader.sandbox.provisioner import NAME as PROVISIONER

GRADED, TIMED_OUT, CRASHED, OUT_OF_MEMORY = "graded", "timed out", "crashed", "out of memory"

_log = logging.getLogger("grader.run.notebook")
_log.addHandler(logging.NullHandler())
_log.propagate = False  # what nbclient says about a learner's kernel is for nobody's terminal


@dataclass(frozen=True)
class Executed:
    """What running a notebook gave.

    Attributes:
        notebook: a copy with outputs, which are raw: bounded in size, but not fit to be shown as they are.
        state: graded, timed out, crashed, or out of memory.
        payloads: exercise key -> the cases that its own check cell published at the right seed. Untrusted.
        notes: sentences about cells that had to be stopped.
        lost: whether nothing can be said of the submission: another run of it may end better.
    """

    notebook: NotebookNode
    state: str
    payloads: Mapping[str, Any]
    notes: tuple[str, ...] = ()
    lost: bool = False

    @property
    def in_doubt(self) -> bool:
        """Whether time ran out, for a cell or in a case, or memory: what is close to a limit may be within it the next
        time, and memory may have been short because of others.
        """
        return self.state in (TIMED_OUT, OUT_OF_MEMORY) or any(map(_says_slow, self.payloads.values()))


def _says_slow(payload: Any) -> bool:
    cases = payload if isinstance(payload, list) else []
    problems = (case.get("problem") for case in cases if isinstance(case, dict))
    return any(isinstance(problem, list) and problem[:1] == ["slow"] for problem in problems)


class Runner(Protocol):
    """Runs a rebuilt notebook. Learner code reaches neither the caller's process nor its files.

    Attributes:
        notebook_seconds: how long a notebook may take at most by the clock, replays included.
    """

    notebook_seconds: float

    def warm_up(self, folder: Path | None = None) -> None:
        """Begins whatever takes long before the first notebook can run; does not wait for it."""
        ...

    def run(self, notebook: NotebookNode, seed: int, folder: Path | None = None) -> Executed:
        """
        Args:
            notebook: from :func:`grader.receive.rebuild.rebuild`; it is not changed.
            seed: what the check cells draw their cases with.
            folder: the lab's release, whose data files the notebook may read.
        """
        ...


@dataclass(frozen=True)
class _Limited:
    """What both kinds of runner bound.

    A cell that runs too long or takes the kernel down costs only itself: a fresh kernel replays the cells
    before it, and goes on after it.

    Time is what a cell uses: a grade must not depend on what else the machine is doing.

    Args:
        cell_seconds: how long one cell may compute (CPU time, all its processes together), and how long it may
            sleep. A check cell gets as much more as its cases may take.
        notebook_seconds: how long all cells together may take by the clock, replays included. Far more than
            any needs, because this is the one limit that a busy machine brings closer.
        restarts: how often a fresh kernel is started before the rest is given up.
        output_bytes: how much output is kept; more is dropped.
    """

    cell_seconds: float = 30
    notebook_seconds: float = 3600
    restarts: int = 5
    output_bytes: int = 16 * 2**20


@dataclass(frozen=True)
class PlainRunner(_Limited):
    """Runs notebooks in an ordinary kernel, without a sandbox.

    Args:
        user: whose rights it has; only root may name another one than itself. None: those of this process.
    """

    user: str | None = None

    def warm_up(self, folder: Path | None = None) -> None:
        """There is nothing to prepare."""

    def run(self, notebook: NotebookNode, seed: int, folder: Path | None = None) -> Executed:
        with tempfile.TemporaryDirectory(prefix="run-", ignore_cleanup_errors=True) as scratch:
            work = Path(scratch) / "work"
            if folder is None:
                work.mkdir()
            else:
                shutil.copytree(folder, work, ignore=shutil.ignore_patterns("*.ipynb", FILE_NAME, ".*"))
            counter = itertools.count()
            run = _Run(
                self, notebook, seed, lambda: _PlainKernel(Path(scratch), next(counter), seed, self.user)
            )
            return run.to_the_end()


@dataclass(frozen=True)
class SandboxRunner(_Limited):
    """Runs notebooks in the sandbox, in forks of a preloaded process that is kept from one run to the next.

    If that process dies, the notebook is run once more in a container of its own with nothing preloaded; if
    that one dies too, the submission has crashed.

    Args:
        modules: what is imported before a notebook comes.
        hidden: folders of the course that must stay invisible, wherever they lie.
        limits: what a submission may use.
    """

    modules: tuple[str, ...] = ()
    hidden: tuple[Path, ...] = field(default=(), repr=False)  # a course may move without being graded anew
    limits: Limits = field(default_factory=Limits)

    @classmethod
    def for_lab(cls, lab: Lab) -> SandboxRunner:
        """With what the lab itself tells that notebooks import; submissions have no say in it."""
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
        for setting in (self._setting(folder), Setting((), folder, self.hidden)):
            fresh = not setting.modules

            def kernel(setting: Setting = setting, fresh: bool = fresh) -> _SandboxKernel:
                return _SandboxKernel(setting, self.limits, seed, fresh)

            try:
                return _Run(self, notebook, seed, kernel).to_the_end()
            except SandboxLost as error:
                _log.warning("the sandbox was lost: %s", error)
                lost = error
        if isinstance(lost, NoKernel):
            raise NoSandbox(
                f"The sandbox does not work on this machine at present. {lost}. See that there is memory and room "
                "on the disk left; --jobs 1 needs the least."
            )
        note = (
            "The process that runs submissions died twice on this one. It counts 0 points until it is graded again, "
            "which the next `grader autograde` tries."
        )
        return Executed(copy.deepcopy(notebook), CRASHED, {}, (note,), lost=True)


def imported_modules(lab: Lab) -> tuple[str, ...]:
    """What is imported before a notebook of the lab comes, in that order: what the release imports, what its checks
    need, and the frameworks that work on it may use.

    That is PyTorch in every lab (an import of it takes many times longer than all the rest of a notebook), and TensorFlow
    where anything of the lab names it. PyTorch's optimizers import a compiler when the first one is made: where the lab
    has optimizers, that has happened too.
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
        "course_utils.check",
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


class _Run:
    """The execution of one notebook over as many kernels as it takes."""

    def __init__(
        self, limits: _Limited, notebook: NotebookNode, seed: int, new_kernel: Callable[[], _Kernel]
    ) -> None:
        self.limits = limits
        self.seed = seed
        self.new_kernel = new_kernel
        self.notebook = copy.deepcopy(notebook)
        for cell in self.notebook.cells:
            if cell.cell_type == "code":
                cell.outputs, cell.execution_count = [], None
        self.bad: set[int] = set()
        self.state = GRADED
        self.notes: list[str] = []
        self.collected = _Collected(seed, limits.output_bytes)
        self.deadline = time.monotonic() + limits.notebook_seconds
        self.kernels = 0
        self.ahead = _AHEAD

    def to_the_end(self) -> Executed:
        cells = enumerate(self.notebook.cells)
        waiting = [index for index, cell in cells if runs_in_grading(cell) and cell.source.strip()]
        done: list[int] = []
        while waiting and self._may_go_on():
            kernel = self.new_kernel()
            self.kernels += 1
            try:
                kernel.start()
                kernel.execute(_FIX_CHANCE.format(seed=self.seed), silent=True)
                if self._replay(kernel, done):
                    self._go_on(kernel, waiting, done)
            except BaseException:
                with contextlib.suppress(SandboxLost):  # what came first counts: Ctrl-C, for one
                    kernel.stop()
                raise
            kernel.stop()
        return Executed(self.notebook, self.state, dict(self.collected.payloads), tuple(self.notes))

    def _may_go_on(self) -> bool:
        if self.kernels > self.limits.restarts + (
            self.ahead == 1
        ):  # the one that told us to be careful is free
            self.notes.append(f"The rest was not run: {self.kernels} kernels were used up.")
            return False
        if time.monotonic() >= self.deadline:
            self.state = TIMED_OUT if self.state == GRADED else self.state
            self.notes.append(f"The rest was not run: {self.limits.notebook_seconds:g} seconds were used up.")
            return False
        return True

    def _replay(self, kernel: _Kernel, done: list[int]) -> bool:
        """Brings a fresh kernel to where the last one was. Check cells change nothing, and are left out."""
        again = [i for i in done if i not in self.bad and not checked_exercise(self.notebook.cells[i])]
        count, trouble = self._run_cells(
            kernel, copy.deepcopy(self.notebook), _Collected(self.seed, 0), again
        )
        if trouble:
            self._record(again[count], trouble)
        return not trouble

    def _go_on(self, kernel: _Kernel, waiting: list[int], done: list[int]) -> None:
        count, trouble = self._run_cells(kernel, self.notebook, self.collected, waiting)
        if trouble and (trouble == TIMED_OUT or self.ahead == 1):
            self._record(waiting[count], trouble)
            count += 1
        elif trouble:  # a later cell's doing, perhaps: from here on, one at a time
            self.ahead = 1
            for index in waiting[count:]:
                self.notebook.cells[index].outputs = []
        done += waiting[:count]
        del waiting[:count]

    def _run_cells(
        self, kernel: _Kernel, notebook: NotebookNode, collected: _Collected, indexes: Sequence[int]
    ) -> tuple[int, str]:
        """Runs cells in this order. Returns how many came to their end, and what befell the next one, if any."""
        outputs = _Outputs(notebook, collected)
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

    def _await(self, kernel: _Kernel, outputs: _Outputs, cell_of: Mapping[str, int], name: str) -> str:
        """Waits for the end of a request. Returns the state that it puts the submission in, or an empty text."""
        computing, sleeping = self._seconds(self.notebook.cells[cell_of[name]])
        kernel.next_cell(computing, sleeping)
        later = set(itertools.dropwhile(lambda other: other != name, cell_of)) - {name}
        signs: _Signs | None = None
        while not (name in kernel.replied and name in outputs.idle):
            if name in kernel.replied:
                if signs is None:
                    signs = _Signs(kernel)
                    kernel.next_cell(computing, _DRAIN_SECONDS)  # that it sleeps now is our slowness
                if kernel.loses_messages or not later.isdisjoint(outputs.begun):
                    kernel.loses_messages = True  # by its own doing: not waited for again
                    return ""
                if signs.are_missing():  # it cannot be heard any more
                    return CRASHED
                later |= signs.asked
            if time.monotonic() > self.deadline or kernel.is_out_of_time():
                return TIMED_OUT
            if kernel.floods():
                return OUT_OF_MEMORY
            messages = kernel.receive(_LOOK_SECONDS)
            if messages is None:
                if trouble := kernel.cause_of_death():
                    return trouble
                continue
            for message in messages:
                parent = message["parent_header"]["msg_id"]
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
                sleeping += IDLE_FACTOR * exercise.seconds  # the first case that is too slow is the last one
        return computing, sleeping

    def _record(self, index: int, trouble: str) -> None:
        self.bad.add(index)
        self.state = trouble if self.state == GRADED else self.state
        cell = self.notebook.cells[index]
        computing, sleeping = self._seconds(cell)
        what = {
            TIMED_OUT: f"was stopped: it may compute for {computing:g} seconds, and sleep for {sleeping:g}",
            CRASHED: "took the kernel down",
            OUT_OF_MEMORY: "was stopped: it took more memory than there is for one submission",
        }[trouble]
        whose = "" if is_learners(cell) else ", which came with the lab,"
        self.notes.append(f"Cell `{cell.id}`{whose} {what}. It was left out, the others were run without it.")
        error = f"This cell{whose} {what}."
        cell.outputs.append(new_output("error", ename="Stopped", evalue=error, traceback=[error]))


_AHEAD = 32
"""Cells that are sent before the first of them has ended, so that neither side waits for the other."""

_LOOK_SECONDS = 0.05
"""How often it is asked whether a silent kernel still lives, and what its messages take of memory."""

_DRAIN_SECONDS = 300
"""How long a kernel that has replied may sleep while what it has said is still being read. A reply may be forged."""

_ASK_SECONDS = 1
_UNHEARD = 5


class _Signs:
    """Signs of life of a kernel that has replied, but not said that it is idle.

    It is asked for them again and again. Messages keep their order: when one about a later request has come, what is missing
    will not come any more. A kernel that replies to one request after another, and says nothing about them, is of no use any more.
    """

    def __init__(self, kernel: _Kernel) -> None:
        self.kernel = kernel
        self.asked: set[str] = set()
        self.heard, self.unheard = kernel.heard, 0
        self.next = time.monotonic() + _ASK_SECONDS

    def are_missing(self) -> bool:
        if time.monotonic() >= self.next:
            if self.heard != self.kernel.heard:
                self.heard, self.unheard = self.kernel.heard, 0
            elif self.asked and self.asked <= self.kernel.replied:
                self.unheard += 1
            self.asked.add(self.kernel.ask())
            self.next = time.monotonic() + _ASK_SECONDS
        return self.unheard >= _UNHEARD


_FIX_CHANCE = "__import__('course_utils.chance', fromlist=['fix']).fix({seed})"
"""What a kernel runs before anything else."""


@dataclass
class _Collected:
    """What a run keeps of its kernels' messages."""

    seed: int
    bytes_left: int
    payloads: dict[str, Any] = field(default_factory=dict)

    def take(self, message: Mapping[str, Any], key: str | None) -> bool:
        """Whether the message may go on to the notebook's outputs. ``key``: the exercise that its cell checks, while that
        cell runs.
        """
        kind, content = message["msg_type"], message["content"]
        if kind == "display_data" and OUTCOME_MIME in content["data"]:
            bundle = content["data"][OUTCOME_MIME]
            if key and (bundle["exercise"], bundle["seed"]) == (key, self.seed):
                self.payloads[key] = bundle["cases"]
            return False
        if kind in _SHOWN:
            self.bytes_left -= _OUTPUT_BYTES + _size(content)
            return self.bytes_left >= 0
        return kind in ("status", "clear_output")


_SHOWN = ("stream", "display_data", "execute_result", "error", "update_display_data")
_OUTPUT_BYTES = 200  # what an empty one costs


def _size(value: Any) -> int:
    """Roughly the bytes of a JSON value."""
    if isinstance(value, str):
        return 8 + len(value)
    if isinstance(value, Mapping):
        return 64 + sum(_size(name) + _size(part) for name, part in value.items())
    return 64 + sum(map(_size, value)) if isinstance(value, list) else 8


def _output(kind: str, content: Mapping[str, Any]) -> NotebookNode:
    """A cell's output of text: what else a message holds is for nobody here.

    nbformat's own way validates against a schema, which takes minutes for what a hostile kernel can send.

    Raises:
        ValueError, TypeError, KeyError: it is not what the protocol allows.
    """
    if kind == "stream":
        name = "stderr" if content["name"] == "stderr" else "stdout"
        return NotebookNode(output_type=kind, name=name, text=[_text(content["text"])])
    if kind == "error":
        trace = [_text(line) for line in content["traceback"][:_TRACE_LINES]]
        return NotebookNode(
            output_type=kind, ename=_text(content["ename"]), evalue=_text(content["evalue"]), traceback=trace
        )
    output = NotebookNode(output_type=kind, metadata=NotebookNode(), data=_texts(content["data"]))
    if kind == "execute_result":
        output.execution_count = int(content["execution_count"])
    return output


_TRACE_LINES = 200


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError("not a text")
    return value


def _texts(data: Any) -> NotebookNode:
    return NotebookNode({_text(mime): value for mime, value in data.items() if isinstance(value, str)})


class _Outputs:
    """Puts messages into the cells that they belong to, as a notebook would show them."""

    def __init__(self, notebook: NotebookNode, collected: _Collected) -> None:
        self.notebook = notebook
        self.collected = collected
        self.begun: set[str] = set()
        self.idle: set[str] = set()
        self._cleared_by_next: set[int] = set()
        self._displays: dict[str, list[NotebookNode]] = {}

    def take(self, message: Mapping[str, Any], parent: str, index: int) -> None:
        """Puts an iopub message in its place; one that is not what the protocol allows, in none."""
        try:
            running = parent in self.begun and parent not in self.idle
            if self.collected.take(
                message, checked_exercise(self.notebook.cells[index]) if running else None
            ):
                self._put(message, parent, index)
        except Exception as error:
            _log.warning("cell %d sent a malformed message: %r", index, error)

    def _put(self, message: Mapping[str, Any], parent: str, index: int) -> None:
        kind, content = message["msg_type"], message["content"]
        outputs = self.notebook.cells[index].outputs
        if kind == "status":
            if content["execution_state"] == "busy":
                self.begun.add(parent)
            elif content["execution_state"] == "idle":
                self.idle.add(parent)
        elif kind == "clear_output" and content.get("wait"):
            self._cleared_by_next.add(index)
        elif kind == "clear_output":
            outputs.clear()
        elif kind == "update_display_data":
            for shown in self._displays.get(content["transient"]["display_id"], ()):
                shown.data = _texts(content["data"])
        else:
            if index in self._cleared_by_next:
                self._cleared_by_next.remove(index)
                outputs.clear()
            self._append(outputs, _output(kind, content), content.get("transient") or {})

    def _append(
        self, outputs: list[NotebookNode], output: NotebookNode, transient: Mapping[str, Any]
    ) -> None:
        last = outputs[-1] if outputs else None
        if output.output_type == "stream" and last and last.get("name") == output.name:
            last.text += output.text
            return
        outputs.append(output)
        if name := transient.get("display_id"):
            self._displays.setdefault(_text(name), []).append(output)

    def finish(self) -> None:
        """Joins the pieces of streams, which would take long to do at each of very many."""
        for cell in self.notebook.cells:
            for output in cell.get("outputs", ()):
                if output.output_type == "stream":
                    output.text = "".join(output.text)


# ---------------------------------------------------------------------------------- kernels


class _OwnPython(KernelSpecManager):
    """This interpreter's kernel, whatever kernels the machine has installed and the notebook asks for."""

    def get_kernel_spec(self, kernel_name: str) -> KernelSpec:
        arguments = ["-P", "-c", _LAUNCH, "-f", "{connection_file}", "--HistoryManager.enabled=False"]
        return KernelSpec(argv=[sys.executable, *arguments], language="python", display_name="Python 3")


_LAUNCH = """
import sys
import zmq
from ipykernel.kernelapp import IPKernelApp

class App(IPKernelApp):
    def init_path(self):
        at = next((at for at, path in enumerate(sys.path) if path.endswith("site-packages")), len(sys.path))
        sys.path.insert(at, "")

    def init_iopub(self, context):
        context.setsockopt(zmq.SNDHWM, 0)
        super().init_iopub(context)

App.launch_instance()
"""
"""An ordinary kernel, but that no message is dropped, however slow the listener is. It imports nothing from its folder until it
has started, and what a notebook has written there afterwards (see grader/sandbox/inside)."""

_READY_SECONDS = 600
MAX_MESSAGE = 32 * 2**20
"""Bytes of one message; a kernel that sends a longer one is cut off."""

MAX_PIECES = 300_000
"""Lists, dicts and parts of them in one message: parsing takes many times the memory of its text."""

_LONGEST_NAME = 128

FLOOD = 2**30
"""Bytes by which the grader's process may grow while it listens to a kernel."""


@functools.cache
def _context() -> zmq.Context:
    """Sockets to kernels: bounded, because what is on the other end may be hostile."""
    context = zmq.Context()
    for option, value in {zmq.MAXMSGSIZE: MAX_MESSAGE, zmq.RCVHWM: 10, zmq.LINGER: 0}.items():
        context.setsockopt(option, value)
    return context


class _Kernel:
    """A kernel that cells are sent to, over Unix sockets where there are any."""

    manager: KernelManager

    def __init__(self) -> None:
        self.replied: set[str] = set()
        self.heard = 0  # messages on iopub
        self.loses_messages = False

    def start(self) -> None:
        raise NotImplementedError

    def connect(self) -> None:
        """Opens the two channels that matter, and waits until the kernel has been heard on them.

        Raises:
            NoKernel: it has not.
        """
        self._shell, self._iopub = self.manager.connect_shell(), self.manager.connect_iopub()
        self._memory = psutil.Process().memory_info().rss
        self._poller = zmq.Poller()
        for channel in (self._shell, self._iopub):
            self._poller.register(channel, zmq.POLLIN)
        # it greets whoever listens to it; until then what it says is lost
        deadline = time.monotonic() + _READY_SECONDS
        while not self._iopub.poll(_LOOK_SECONDS * 1000):
            if time.monotonic() > deadline or self.cause_of_death():
                raise NoKernel("A new kernel did not answer")
            # at times its greeting is lost; what it says of a request is as good
            self.manager.session.send(self._shell, "kernel_info_request")

    def execute(self, code: str, silent: bool = False) -> str:
        """Sends a cell; returns the name of the request."""
        content = {"code": code, "silent": silent, "store_history": not silent, "user_expressions": {}}
        return self._request("execute_request", {**content, "allow_stdin": False, "stop_on_error": False})

    def ask(self) -> str:
        """Asks for a sign of life; returns the name of the request."""
        return self._request("kernel_info_request", {})

    def _request(self, kind: str, content: dict[str, Any]) -> str:
        """Sends a request under a name that cannot be guessed by what runs before it."""
        message = self.manager.session.msg(kind, content)
        message["header"]["msg_id"] = message["msg_id"] = uuid.uuid4().hex
        self.manager.session.send(self._shell, message)
        return message["msg_id"]

    def receive(self, seconds: float) -> list[dict[str, Any]] | None:
        """What came on iopub; None if nothing came on either channel."""
        ready = dict(self._poller.poll(seconds * 1000))
        if self._shell in ready and (reply := self._next(self._shell)):
            self.replied.add(reply["parent_header"]["msg_id"])
        found = self._next(self._iopub) if self._iopub in ready else None
        self.heard += self._iopub in ready
        return ([found] if found else []) if ready else None

    def _next(self, channel: zmq.Socket) -> dict[str, Any] | None:
        try:
            parts = channel.recv_multipart()
            if sum(map(len, parts)) > MAX_MESSAGE:
                raise ValueError("too long")
            if sum(part.count(b"[") + part.count(b"{") + part.count(b",") for part in parts) > MAX_PIECES:
                raise ValueError("too many pieces")
            _, parts = self.manager.session.feed_identities(parts)
            message = self.manager.session.deserialize(parts)
        except Exception as error:  # learner code holds the key, and can send anything
            _log.warning("an unreadable message: %r", error)
            return None
        parent = message.get("parent_header")
        name = parent.get("msg_id") if isinstance(parent, dict) else None
        known = isinstance(name, str) and len(name) <= _LONGEST_NAME
        return message if known and isinstance(message.get("content"), dict) else None

    def floods(self) -> bool:
        """Whether this process holds far more than the limits of :func:`_context` allow: those do not count the
        parts of a message that never ends.
        """
        return psutil.Process().memory_info().rss > self._memory + FLOOD

    def next_cell(self, cpu_seconds: float, idle_seconds: float) -> None:
        """Told before each cell how long it may compute, and how long it may sleep."""
        raise NotImplementedError

    def is_out_of_time(self) -> bool:
        """Whether the cell has used more. Where a kernel is ended for that, its cause of death says so instead."""
        return False

    def cause_of_death(self) -> str:
        """The state that its death means, empty while it lives.

        SIGKILL from elsewhere is what the system does to a process that takes too much memory.
        """
        code = run_sync(self.manager.provisioner.poll)()
        if code is None:
            return ""
        return OUT_OF_MEMORY if os.name == "posix" and code == -signal.SIGKILL else CRASHED

    def stop(self) -> None:
        if self.manager.has_kernel:
            self._disconnect()
            self.manager.shutdown_kernel(now=True)  # with its process group

    def _disconnect(self) -> None:
        for channel in ("_shell", "_iopub"):
            if hasattr(self, channel):
                getattr(self, channel).close()


class _PlainKernel(_Kernel):
    """An ordinary kernel in a private folder, reached over sockets in another one."""

    def __init__(self, scratch: Path, number: int, seed: int, user: str | None) -> None:
        super().__init__()
        self.scratch = scratch
        self.seed = seed
        self.user = user
        self.number = number
        self.sockets = sockets = scratch / f"kernel{number}"
        sockets.mkdir()
        self.manager = KernelManager(
            context=_context(),
            kernel_name="python3",
            kernel_spec_manager=_OwnPython(),
            connection_file=str(sockets / "kernel.json"),
            log=_log,
        )
        if os.name == "posix":  # no port that other users of the machine could knock at
            self.manager.transport, self.manager.ip = "ipc", str(sockets / "s")

    def start(self) -> None:
        work, home, rights = self.scratch / "work", self.scratch, {}
        if self.user:
            home, rights = work, self._hand_over(work)
        environment = scrubbed_environment(os.environ, home, self.seed)
        self.manager.start_kernel(cwd=str(work), env=environment, **rights)
        self.connect()

    def next_cell(self, cpu_seconds: float, idle_seconds: float) -> None:
        self._usage = _Usage(self.manager.provisioner.process.pid, cpu_seconds, idle_seconds)

    def is_out_of_time(self) -> bool:
        return self._usage.is_used_up()

    def _hand_over(self, work: Path) -> dict[str, Any]:
        """Gives the user what the kernel needs to write to, and returns how it is to be started."""
        user = pwd.getpwnam(self.user)
        self.manager.write_connection_file()
        theirs = [Path(self.manager.connection_file), self.sockets]
        if not self.number:  # later, what lies in there is the learner's, and a link may lead anywhere
            theirs += [*work.rglob("*"), work]
        for path in theirs:
            os.chown(path, user.pw_uid, user.pw_gid, follow_symlinks=False)
        self.scratch.chmod(0o711)  # ours: nobody else can put a link in the place of what comes next
        return {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}


class _Usage:
    """What a process and those that it has started use from now on. In the sandbox, the preloaded process sees to this."""

    def __init__(self, pid: int, cpu_seconds: float, idle_seconds: float) -> None:
        self.pid = pid
        self.looked = time.monotonic()
        self.seen = self._cpu(self._family())
        self.cpu_left, self.idle_left = cpu_seconds, idle_seconds

    def is_used_up(self) -> bool:
        if (passed := time.monotonic() - self.looked) < _USAGE_SECONDS:
            return self.cpu_left < 0 or self.idle_left < 0
        family = self._family()
        used = self._cpu(family) - self.seen
        if used < passed / 10 and not any(map(_is_awake, family)):
            self.idle_left -= min(
                passed, 2 * _USAGE_SECONDS
            )  # this process may have waited for its turn, too
        self.cpu_left -= max(used, 0)  # of a child that nobody waits for, what it used is gone with it
        self.looked, self.seen = self.looked + passed, self.seen + used
        return self.cpu_left < 0 or self.idle_left < 0

    def _family(self) -> list[psutil.Process]:
        with contextlib.suppress(psutil.Error):
            kernel = psutil.Process(self.pid)
            return [kernel, *kernel.children(recursive=True)]
        return []

    def _cpu(self, family: Sequence[psutil.Process]) -> float:
        total = 0.0
        for process in family:
            with contextlib.suppress(psutil.Error):
                total += sum(process.cpu_times()[:4])  # its own, and of children that have ended
        return total


_USAGE_SECONDS = 0.5


def _is_awake(process: psutil.Process) -> bool:
    try:
        return process.status() in (psutil.STATUS_RUNNING, psutil.STATUS_DISK_SLEEP)
    except psutil.Error:
        return False


class _SandboxSpec(KernelSpecManager):
    """The kernel spec that names the sandbox's provisioner."""

    def __init__(self, setting: Setting, limits: Limits, fresh: bool) -> None:
        super().__init__()
        self.config_of_provisioner = {
            "modules": list(setting.modules),
            "folder": str(setting.folder or ""),
            "hidden": list(map(str, setting.hidden)),
            "limits": asdict(limits),
            "fresh": fresh,
        }

    def get_kernel_spec(self, kernel_name: str) -> KernelSpec:
        provisioner = {"provisioner_name": PROVISIONER, "config": self.config_of_provisioner}
        metadata = {"kernel_provisioner": provisioner}
        return KernelSpec(argv=[], language="python", display_name="Sandboxed Python", metadata=metadata)


class _SandboxKernel(_Kernel):
    """A fork of the preloaded process."""

    def __init__(self, setting: Setting, limits: Limits, seed: int, fresh: bool) -> None:
        super().__init__()
        self.seed = seed
        spec = _SandboxSpec(setting, limits, fresh)
        self.manager = KernelManager(
            context=_context(), kernel_name="sandbox", kernel_spec_manager=spec, log=_log
        )

    def start(self) -> None:
        self.manager.start_kernel(env={SEED_VARIABLE: str(self.seed)})
        self.connect()

    def next_cell(self, cpu_seconds: float, idle_seconds: float) -> None:
        self.manager.provisioner.preloaded.allow(cpu_seconds, idle_seconds)

    def cause_of_death(self) -> str:
        if not (seen := super().cause_of_death()):
            return ""
        match self.manager.provisioner.cause:
            case "memory":
                return OUT_OF_MEMORY
            case "cpu" | "idle":
                return TIMED_OUT
            case "sandbox":
                raise SandboxLost("it died while a cell ran")
        return seen

    def stop(self) -> None:
        self._disconnect()
        self.manager.cleanup_resources()  # which kills: nothing in there needs a goodbye


_KEPT = ("PATH", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "LD_LIBRARY_PATH", "SYSTEMROOT")


def scrubbed_environment(environment: Mapping[str, str], home: Path, seed: int) -> dict[str, str]:
    """What a kernel may know of the environment of whoever grades: next to nothing."""
    return (
        {name: environment[name] for name in _KEPT if name in environment}
        | ONE_THREAD
        | {
            "HOME": str(home),
            "IPYTHONDIR": str(home / ".ipython"),
            "TMPDIR": str(home),
            SEED_VARIABLE: str(seed),
            "MPLBACKEND": "module://matplotlib_inline.backend_inline",
            "MPLCONFIGDIR": str(home / ".matplotlib"),
            "PYTHONNOUSERSITE": "1",
            "PYTHONDONTWRITEBYTECODE": "1",
            "PYTHONHASHSEED": "0",
            "TF_CPP_MIN_LOG_LEVEL": "3",
        }
    )
