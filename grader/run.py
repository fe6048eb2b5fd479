"""One rebuilt notebook, executed -> what its check cells published.

The process that runs learner code shares nothing with the one that grades: it gets a private empty folder
and a scrubbed environment, and gives back outputs. :class:`Runner` is the interface; :class:`PlainRunner`
fills it with an ordinary kernel, which does *not* hold hostile code back, and so is only for trusted code.
"""

from __future__ import annotations

import copy
import logging
import os
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from jupyter_client.kernelspec import KernelSpec, KernelSpecManager
from jupyter_client.manager import AsyncKernelManager
from jupyter_core.utils import run_sync
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionComplete, CellTimeoutError, DeadKernelError
from nbclient.util import ensure_async
from nbformat import NotebookNode
from nbformat.v4 import new_output

from course_utils.check import SEED_VARIABLE
from course_utils.expected import FILE_NAME
from course_utils.outcome import OUTCOME_MIME
from grader.lab import checked_exercise, runs_in_grading

GRADED, TIMED_OUT, CRASHED, OUT_OF_MEMORY = "graded", "timed out", "crashed", "out of memory"

_log = logging.getLogger("grader.run")
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
    """

    notebook: NotebookNode
    state: str
    payloads: Mapping[str, Any]
    notes: tuple[str, ...] = ()


class Runner(Protocol):
    """Runs a rebuilt notebook. Learner code reaches neither the caller's process nor its files."""

    def run(self, notebook: NotebookNode, seed: int, folder: Path | None = None) -> Executed:
        """
        Args:
            notebook: from :func:`grader.intake.rebuild`; it is not changed.
            seed: what the check cells draw their cases with.
            folder: the lab's release, whose data files the notebook may read.
        """
        ...


@dataclass(frozen=True)
class PlainRunner:
    """Runs notebooks in an ordinary kernel, without a sandbox.

    A cell that runs too long or takes the kernel down costs only itself: a fresh kernel replays the cells
    before it, and goes on after it.

    Args:
        cell_seconds: time limit of one cell.
        notebook_seconds: time limit of all cells together, replays included.
        restarts: how often a fresh kernel is started before the rest is given up.
        output_bytes: how much output is kept; more is dropped.
    """

    cell_seconds: float = 30
    notebook_seconds: float = 600
    restarts: int = 5
    output_bytes: int = 16 * 2**20

    def run(self, notebook: NotebookNode, seed: int, folder: Path | None = None) -> Executed:
        with tempfile.TemporaryDirectory(prefix="run-", ignore_cleanup_errors=True) as scratch:
            work = Path(scratch) / "work"
            if folder is None:
                work.mkdir()
            else:
                shutil.copytree(folder, work, ignore=shutil.ignore_patterns("*.ipynb", FILE_NAME, ".*"))
            run = _Run(self, notebook, seed, Path(scratch))
            return run_sync(run.to_the_end)()


# ---------------------------------------------------------------------------------- one notebook


class _Run:
    """The execution of one notebook over as many kernels as it takes."""

    def __init__(self, limits: PlainRunner, notebook: NotebookNode, seed: int, scratch: Path) -> None:
        self.limits = limits
        self.seed = seed
        self.scratch = scratch
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

    async def to_the_end(self) -> Executed:
        cells = enumerate(self.notebook.cells)
        waiting = [index for index, cell in cells if runs_in_grading(cell) and cell.source.strip()]
        done: list[int] = []
        while waiting and self._may_go_on():
            kernel = _Kernel(self.scratch / f"kernel{self.kernels}", self.scratch, self.seed)
            self.kernels += 1
            try:
                await kernel.start()
                if await self._replay(kernel, done):
                    await self._go_on(kernel, waiting, done)
            finally:
                await kernel.stop()
        return Executed(self.notebook, self.state, dict(self.collected.payloads), tuple(self.notes))

    def _may_go_on(self) -> bool:
        if self.kernels > self.limits.restarts:
            self.notes.append(f"The rest was not run: {self.kernels} kernels were used up.")
            return False
        if time.monotonic() >= self.deadline:
            self.state = TIMED_OUT if self.state == GRADED else self.state
            self.notes.append(f"The rest was not run: {self.limits.notebook_seconds:g} seconds were used up.")
            return False
        return True

    async def _replay(self, kernel: _Kernel, done: list[int]) -> bool:
        """Brings a fresh kernel to where the last one was. Check cells change nothing, and are left out."""
        client = kernel.client(copy.deepcopy(self.notebook), _Collected(self.seed, 0))
        for index in done:
            if index in self.bad or checked_exercise(self.notebook.cells[index]):
                continue
            if trouble := await self._try_cell(kernel, client, index):
                self._record(index, trouble)
                return False
        return True

    async def _go_on(self, kernel: _Kernel, waiting: list[int], done: list[int]) -> None:
        client = kernel.client(self.notebook, self.collected)
        while waiting:
            done.append(waiting.pop(0))
            if trouble := await self._try_cell(kernel, client, done[-1]):
                self._record(done[-1], trouble)
                return

    async def _try_cell(self, kernel: _Kernel, client: _Client, index: int) -> str:
        """Runs a cell; returns the state that it puts the submission in, or an empty text."""
        left = min(self.limits.cell_seconds, self.deadline - time.monotonic())
        client.timeout_func = lambda cell: max(left, 0.1)
        try:
            await client.async_execute_cell(client.nb.cells[index], index)
        except CellTimeoutError:
            return TIMED_OUT
        except DeadKernelError:
            return await kernel.cause_of_death()
        except Exception as error:  # a kernel that breaks the protocol
            _log.warning("cell %d: %r", index, error)
            return CRASHED
        return ""

    def _record(self, index: int, trouble: str) -> None:
        self.bad.add(index)
        self.state = trouble if self.state == GRADED else self.state
        cell = self.notebook.cells[index]
        what = {
            TIMED_OUT: f"was stopped after {self.limits.cell_seconds:g} seconds",
            CRASHED: "took the kernel down",
            OUT_OF_MEMORY: "was killed by the system, most likely for want of memory",
        }[trouble]
        self.notes.append(f"Cell `{cell.id}` {what}. It was left out, the others were run without it.")
        error = f"This cell {what}."
        cell.outputs.append(new_output("error", ename="Stopped", evalue=error, traceback=[error]))


@dataclass
class _Collected:
    """What a run keeps of its kernels' messages."""

    seed: int
    bytes_left: int
    payloads: dict[str, Any] = field(default_factory=dict)

    def take(self, message: Mapping[str, Any], key: str | None) -> bool:
        """Whether the message may go on to the notebook's outputs. ``key``: the exercise its cell checks."""
        kind, content = message["msg_type"], message["content"]
        if kind.startswith("comm"):  # widgets: nobody is there to use them
            return False
        if kind == "display_data" and OUTCOME_MIME in content["data"]:
            bundle = content["data"][OUTCOME_MIME]
            if key and (bundle["exercise"], bundle["seed"]) == (key, self.seed):
                self.payloads[key] = bundle["cases"]
            return False
        if kind in ("stream", "display_data", "execute_result", "update_display_data", "error"):
            self.bytes_left -= _size(content)
            return self.bytes_left >= 0
        return True


def _size(value: Any) -> int:
    """Roughly the bytes of a JSON value."""
    if isinstance(value, str):
        return len(value)
    if isinstance(value, Mapping):
        return sum(len(name) + _size(part) for name, part in value.items())
    return sum(map(_size, value)) if isinstance(value, list) else 8


class _Client(NotebookClient):
    """nbclient, with an eye on what comes in."""

    def __init__(self, notebook: NotebookNode, collected: _Collected, **kwargs: Any) -> None:
        super().__init__(notebook, **kwargs)
        self.collected = collected

    def process_message(self, msg: dict[str, Any], cell: NotebookNode, cell_index: int) -> Any:
        try:
            if self.collected.take(msg, checked_exercise(self.nb.cells[cell_index])):
                return super().process_message(msg, cell, cell_index)
        except CellExecutionComplete:
            raise
        except Exception as error:  # not what the protocol allows
            _log.warning("cell %d sent a malformed message: %r", cell_index, error)
        return None


# ---------------------------------------------------------------------------------- kernels


class _OwnPython(KernelSpecManager):
    """This interpreter's kernel, whatever kernels the machine has installed and the notebook asks for."""

    def get_kernel_spec(self, kernel_name: str) -> KernelSpec:
        arguments = ["-m", "ipykernel_launcher", "-f", "{connection_file}", "--HistoryManager.enabled=False"]
        return KernelSpec(argv=[sys.executable, *arguments], language="python", display_name="Python 3")


class _Kernel:
    """An ordinary kernel in a private folder, reached over sockets in another one."""

    def __init__(self, sockets: Path, scratch: Path, seed: int) -> None:
        sockets.mkdir()
        self.scratch = scratch
        self.seed = seed
        self.manager = AsyncKernelManager(
            kernel_name="python3",
            kernel_spec_manager=_OwnPython(),
            connection_file=str(sockets / "kernel.json"),
            log=_log,
        )
        if os.name == "posix":  # no port that other users of the machine could knock at
            self.manager.transport, self.manager.ip = "ipc", str(sockets / "s")
        self.connection: Any = None

    async def start(self) -> None:
        environment = scrubbed_environment(os.environ, self.scratch, self.seed)
        await self.manager.start_kernel(cwd=str(self.scratch / "work"), env=environment)
        self.connection = self.manager.client()
        self.connection.start_channels()
        await self.connection.wait_for_ready(timeout=60)
        self.connection.allow_stdin = False

    def client(self, notebook: NotebookNode, collected: _Collected) -> _Client:
        client = _Client(
            notebook,
            collected,
            km=self.manager,
            log=_log,
            allow_errors=True,
            coalesce_streams=True,
            store_widget_state=False,
            record_timing=False,
            skip_cells_with_tag="",
        )
        client.kc = self.connection
        return client

    async def cause_of_death(self) -> str:
        """SIGKILL from elsewhere is what the system does to a process that takes too much memory."""
        code = await self.manager.provisioner.poll() if self.manager.provisioner else None
        return OUT_OF_MEMORY if os.name == "posix" and code == -signal.SIGKILL else CRASHED

    async def stop(self) -> None:
        if self.connection is not None:
            self.connection.stop_channels()
        if self.manager.has_kernel:
            await ensure_async(self.manager.shutdown_kernel(now=True))  # with its process group


_KEPT = ("PATH", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "LD_LIBRARY_PATH", "OMP_NUM_THREADS", "SYSTEMROOT")


def scrubbed_environment(environment: Mapping[str, str], home: Path, seed: int) -> dict[str, str]:
    """What a kernel may know of the environment of whoever grades: next to nothing."""
    return {name: environment[name] for name in _KEPT if name in environment} | {
        "HOME": str(home),
        "IPYTHONDIR": str(home / ".ipython"),
        "TMPDIR": str(home),
        SEED_VARIABLE: str(seed),
        "MPLBACKEND": "module://matplotlib_inline.backend_inline",
        "MPLCONFIGDIR": str(home / ".matplotlib"),
        "PYTHONNOUSERSITE": "1",
        "PYTHONDONTWRITEBYTECODE": "1",
        "TF_CPP_MIN_LOG_LEVEL": "3",
    }
