"""A class's notebooks, run by the workers of a Dask cluster; everything else in grading stays on this machine.

What is sent to a worker: a rebuilt notebook as text, the seed, the runner, and the lab's data files. Nothing from
other submissions or from the gradebook is sent, and of ``solutions/`` only the references that a second run needs
(:mod:`grader.grade.working`). What comes back is text (JSON).

What is trusted: Dask unpickles what its workers send, so the workers' own processes, the scheduler, and anybody who
can reach their ports are trusted as much as this machine. Learners' code is not trusted: on a worker it runs in the
runner's sandbox, as it does here, and its results remain text until they are judged here.
"""

from __future__ import annotations

import hashlib
import json
import logging
import pickle
import tempfile
import threading
import time
import uuid
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import CancelledError
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import nbformat
from distributed import Client, Future, KilledWorker, get_worker, wait
from distributed.comm.addressing import resolve_address

from course_utils.checking.expected import FILE_NAME
from grader.errors import GraderError
from grader.grade.pool import Lost
from grader.grade.resume import modules_of, version
from grader.grade.work import Graded, Grading, Judged, Prepared, Record
from grader.run.states import Executed, Runner

CONNECT_SECONDS = 15
NO_WORKER_SECONDS = 60
"""How long to wait for a worker if there is none."""

_PER_THREAD = 2  # one runs, and the next one is already there when it ends
_LOOK_SECONDS = 2
_AS_THEY_ARE = ("state", "payloads", "lost", "undisturbed", "seconds")
"""What of a run comes back as it is."""


@dataclass
class Cluster:
    """A Dask cluster that runs notebooks. Use it as ``with Cluster(address, grading) as cluster``.

    Args:
        address: of its scheduler, such as ``tcp://host:8786``.
    """

    address: str
    grading: Grading
    _running: dict[Future, _Sent] = field(default_factory=dict, init=False)

    def __enter__(self) -> Cluster:
        """
        Raises:
            GraderError: there is no scheduler; the message says how to start one.
        """
        logging.getLogger("distributed").setLevel(logging.CRITICAL)  # we report what matters in our own words
        try:
            # Client, given what is no address, takes half a minute to clean up and fails at it.
            resolve_address(self.address)
        except OSError:
            pass  # it may be a name that only now cannot be found: Client tries for a while
        except ValueError as error:
            raise GraderError(
                f"There is no Dask scheduler at {self.address!r}: {error}. Give the address that `dask scheduler` shows when it "
                "starts, such as tcp://host:8786."
            ) from None
        try:
            self._client = Client(self.address, timeout=CONNECT_SECONDS, set_as_default=False)
        except (OSError, ValueError) as error:
            raise GraderError(
                f"There is no Dask scheduler at {self.address} ({error}). Start one with `dask scheduler`, which "
                f"shows its address, and workers with `{self._how_to_start_workers()}`."
            ) from None
        return self

    def __exit__(self, *_: object) -> None:
        # If the scheduler is gone, both may fail in ways of their own, which would hide what went wrong.
        with suppress(OSError, CancelledError, RuntimeError):
            self._client.cancel(list(self._running))
        with suppress(OSError, CancelledError, RuntimeError):
            self._client.close(timeout=5)

    def _how_to_start_workers(self) -> str:
        return f"PYTHONSAFEPATH=1 dask worker {self.address} --nthreads 1 --nworkers N"

    def map(self, shared: Any, tasks: Iterable[Path]) -> Iterator[tuple[Path, Graded | Record | Lost]]:
        """Pairs of a submission's folder and its answer, as they come in. Only a few are on their way at any time.

        When a worker dies, Dask cannot say which of its submissions is to blame. Submissions that were on too many
        dead workers are therefore run once more at the end, one at a time.

        Args:
            shared: what is expected; it stays on this machine.

        Raises:
            GraderError: the cluster cannot be used (any more); the message says why.
        """
        fresh = iter(tasks)
        suspects: deque[tuple[Prepared, Judged | None]] = deque()
        try:
            self._modules = modules_of(self.grading.lab)
            self._files = self._send_files()
            while True:
                while len(self._running) < self._room() and (folder := next(fresh, None)) is not None:
                    if answer := self._begin(folder, shared):
                        yield folder, answer
                if not self._running:
                    if not suspects:
                        return
                    self._send(*suspects.popleft(), alone=True)
                for sent, outcome in self._finished():
                    if isinstance(outcome, KilledWorker) and not sent.alone:
                        suspects.append((sent.prepared, sent.judged))
                    elif answer := self._answer(sent, outcome, shared):
                        yield sent.prepared.folder, answer
        except (OSError, CancelledError) as error:
            raise GraderError(
                f"The connection to the Dask scheduler at {self.address} was lost ({type(error).__name__}). What was "
                "entered before is safe. Start the scheduler and its workers, then run the same command again."
            ) from None

    # -- what is sent

    def _begin(self, folder: Path, expected: Any) -> Graded | Record | None:
        """Sends a submission to the cluster, or, if it need not be run, returns at once how it ended."""
        try:
            prepared = self.grading.prepare(folder)
            if prepared.problem:
                return self.grading.unread(prepared, expected)
        except Exception as error:
            return self.grading.failed(folder, error)
        self._send(prepared)
        return None

    def _send(self, prepared: Prepared, judged: Judged | None = None, alone: bool = False) -> None:
        """Sends a submission to be run: for the first time, or once it has been ``judged``, for the second."""
        grading = self.grading
        notebook = judged.second_run.notebook if judged and judged.second_run else prepared.notebook
        runner = pickle.dumps(grading.runner)  # as bytes, because the scheduler can read nothing but builtins
        home = (self._modules, version(self._modules))
        arguments = (*home, nbformat.writes(notebook), grading.seed, runner, self._files)
        future = self._client.submit(_on_a_worker(), *arguments, key=f"submission-{uuid.uuid4()}")
        # the runner's own limit covers running only; starting, and the submission before it, add to that
        seconds = _PER_THREAD * (2 * grading.runner.notebook_seconds + 600)
        self._running[future] = _Sent(prepared, judged, alone, time.monotonic() + seconds)

    def _send_files(self) -> Future:
        """Sends the data files as a task, not as scattered data: Dask repeats a task if the worker that holds it dies."""
        files = data_files(self.grading.lab.release_folder)
        name = hashlib.sha256(repr(sorted(files.items())).encode()).hexdigest()
        return self._client.submit(dict, {name: files}, key=f"lab-files-{uuid.uuid4()}")

    def _room(self) -> int:
        """How many submissions may be on their way."""
        end = time.monotonic() + NO_WORKER_SECONDS
        while not (threads := sum(self._client.nthreads().values())):
            if time.monotonic() > end:
                raise GraderError(
                    f"The Dask scheduler at {self.address} has had no worker for {NO_WORKER_SECONDS} seconds. What "
                    f"was entered before is safe. Start workers with `{self._how_to_start_workers()}`, then run "
                    "the same command again."
                )
            time.sleep(0.2)
        return _PER_THREAD * threads

    # -- what comes back

    def _finished(self) -> list[tuple[_Sent, Any]]:
        """The submissions that have ended, with the text that came back or the exception that came instead."""
        try:
            with self._client.as_current():
                wait(list(self._running), timeout=_LOOK_SECONDS, return_when="FIRST_COMPLETED")
        except TimeoutError:
            self._room()
        found = []
        for future, sent in list(self._running.items()):
            if future.cancelled():
                raise CancelledError
            if future.done():
                found.append((sent, future.exception() or future.result()))
            elif sent.deadline < time.monotonic():
                found.append((sent, Lost("did not answer in time")))
                future.cancel()
            else:
                continue
            del self._running[future]  # so that Dask forgets it
        return found

    def _answer(self, sent: _Sent, outcome: Any, expected: Any) -> Graded | Record | Lost | None:
        """How a submission ended; None if it has been sent a second time."""
        if isinstance(outcome, KilledWorker):
            return Lost("died")
        if isinstance(outcome, Lost):
            return outcome
        if isinstance(outcome, ImportError):
            raise self._other_version("A worker", f"none, {outcome}")
        if isinstance(outcome, GraderError):
            raise GraderError(f"On a worker of the cluster: {outcome}")
        try:
            if isinstance(outcome, Exception):
                raise outcome
            came = json.loads(outcome)
            if "other_version" in came:
                raise self._other_version(*came["other_version"])
            notebook = nbformat.from_dict(came["notebook"])
            executed = Executed(
                notebook, notes=tuple(came["notes"]), **{name: came[name] for name in _AS_THEY_ARE}
            )
            if sent.judged:
                return self.grading.finish(sent.judged, expected, executed)
            judged = self.grading.judged(sent.prepared, executed, expected)
            if not judged.second_run:
                return self.grading.finish(judged, expected)
            self._send(sent.prepared, judged, sent.alone)
            return None
        except GraderError:
            raise
        except Exception as error:
            return self.grading.failed(sent.prepared.folder, error)

    def _other_version(self, worker: str, theirs: str) -> GraderError:
        return GraderError(
            f"{worker} of the cluster does not have this machine's version of the grader (there: {theirs}; here: "
            f"{version(self._modules)}). Install the same version of this project on all machines, and restart their "
            "workers."
        )


@dataclass(frozen=True)
class _Sent:
    """A submission that was sent. ``judged``: it had been run before. ``alone``: without any others, so that a worker's death must be
    its fault.
    """

    prepared: Prepared
    judged: Judged | None
    alone: bool
    deadline: float


# ---------------------------------------------------------------------------------- on a worker


def _on_a_worker() -> Callable[..., str]:
    """:func:`run_there` inside a nested function, which is sent as code: a worker without the grader can still say so."""

    def imported_there(*arguments: Any) -> str:
        from grader.grade.cluster import run_there

        return run_there(*arguments)

    return imported_there


def data_files(release: Path) -> dict[str, bytes]:
    """The files of a release that a notebook may read: no notebooks, no expected outcomes, no hidden files."""
    found = {path.relative_to(release): path for path in sorted(release.rglob("*")) if path.is_file()}
    return {
        name.as_posix(): path.read_bytes()
        for name, path in found.items()
        if name.suffix != ".ipynb"
        and name.name != FILE_NAME
        and not any(p.startswith(".") for p in name.parts)
    }


_one_at_a_time = threading.Lock()
_folders: dict[str, Path] = {}


def run_there(
    modules: tuple[str, ...], home: str, notebook: str, seed: int, runner: bytes, files: Mapping[str, Any]
) -> str:
    """Runs a notebook on a worker, one at a time in each process.

    Args:
        modules: the modules that grading this lab starts from.
        home: the version of these modules on the machine that will judge the notebook.
        notebook: as text.
        runner: pickled.
        files: a name that stands for the lab's data files -> relative name -> content.

    Returns:
        An :class:`~grader.run.states.Executed` as plain JSON, or a note that the version on this worker is different.
    """
    if (here := version(modules)) != home:
        return json.dumps({"other_version": [f"The worker {get_worker().address}", here]})
    with _one_at_a_time:
        runs: Runner = pickle.loads(runner)
        ((name, contents),) = files.items()
        executed = runs.run(nbformat.reads(notebook, as_version=4), seed, _folder_of(name, contents, runs))
    return json.dumps(
        {
            "notebook": executed.notebook,
            "notes": list(executed.notes),
            **{name: getattr(executed, name) for name in _AS_THEY_ARE},
        }
    )


def _folder_of(name: str, files: Mapping[str, bytes], runner: Runner) -> Path:
    """A folder of this process with a lab's data files, made when it is first needed, and then kept."""
    if name not in _folders:
        folder = Path(tempfile.mkdtemp(prefix="lab-", dir=get_worker().local_directory))  # Dask removes it
        for file, data in files.items():
            (folder / file).parent.mkdir(parents=True, exist_ok=True)
            (folder / file).write_bytes(data)
        runner.warm_up(folder)
        _folders[name] = folder
    return _folders[name]
