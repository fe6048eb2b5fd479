"""Worker processes with one task each at a time: if one dies, only its task is affected.

This does not use ``concurrent.futures``, where one dead process breaks the whole pool and it is not known which task it
had. Here each worker has a pipe of its own, so a death can be traced to one task. That task is tried once more on a
fresh worker and then given up; the others never notice.

Workers are forked from multiprocessing's fork server, which has imported what they need and nothing else: they inherit
no thread, no open database and no state of the main program.
"""

from __future__ import annotations

import contextlib
import ctypes
import multiprocessing
import multiprocessing.forkserver
import os
import pickle
import shutil
import signal
import sys
import tempfile
import threading
import time
import types
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any, Protocol

import psutil

from grader.errors import GraderError

START_SECONDS = 600
"""How long a worker may take until it is ready for its first task."""

_TRIES = 2
_GRACE_SECONDS = 5
_PR_SET_PDEATHSIG = 1
_context = multiprocessing.get_context("forkserver")


class Work(Protocol):
    """What workers do. It must be picklable, because it is copied into each worker."""

    def open(self) -> None:
        """Called once in each worker, before there is anything to do."""
        ...

    def __call__(self, shared: Any, task: Any) -> Any:
        """The answer to a task. An exception counts as the worker's death, so expected exceptions must be answers."""
        ...

    def close(self) -> None:
        """Called once in each worker at its end, unless it is killed."""
        ...


@dataclass(frozen=True)
class Lost:
    """Takes the place of an answer if the workers that had the task did not survive it. ``why`` ends a sentence."""

    why: str


class _Failed(str):
    """A worker's message saying why it cannot start."""


_READY = "ready"


@dataclass(eq=False)
class _Worker:
    """A worker as the main process sees it. ``deadline``: when it must have answered (monotonic clock)."""

    process: Any
    connection: Connection
    folder: Path
    deadline: float
    ready: bool = False
    task: _Task | None = None


@dataclass(eq=False)
class _Task:
    what: Any
    deaths: int = 0


def prepare(modules: Iterable[str]) -> None:
    """Starts the fork server, which imports ``modules`` while the caller goes on. To be called before the first pool is
    made; later calls do nothing.
    """
    _context.set_forkserver_preload(list(modules))
    _see_to_the_fork_server()


def _spawned(pickled: bytes, folder: Path) -> tuple[Any, Connection]:
    """A new worker and the pipe to it."""
    end = time.monotonic() + _GRACE_SECONDS
    while True:
        ours, its = _context.Pipe()
        arguments = (its, pickled, dict(os.environ), str(folder))
        process = _context.Process(target=_run_worker, args=arguments, daemon=True)
        try:
            _see_to_the_fork_server()
            with _no_main_module(), its:
                process.start()
            return process, ours
        except (EOFError, OSError) as error:
            ours.close()
            if time.monotonic() > end:
                raise GraderError(
                    f"No worker process can be started ({type(error).__name__}: {error}). Make sure that there is memory "
                    "left and that more processes are allowed, or use fewer with --jobs."
                ) from None
            time.sleep(0.1)  # the fork server has just died; once that has been noticed, there is a new one


def _see_to_the_fork_server() -> None:
    with _ignoring_interrupts(), _environment_of_the_fork_server():
        multiprocessing.forkserver.ensure_running()


@dataclass
class Pool:
    """Worker processes for one kind of work. Use it as ``with Pool(work, 4, 600) as pool``.

    Args:
        processes: how many; each runs one task at a time.
        seconds: a worker that has not answered for this long is killed, and counts as dead.
        look_again: where tasks may come while others are at work: after so many seconds without news, they are asked for again.
    """

    work: Work
    processes: int
    seconds: float
    look_again: float | None = None
    _workers: list[_Worker] = field(default_factory=list, init=False)
    _started: int = field(default=0, init=False)
    _failed_starts: int = field(default=0, init=False)

    def __enter__(self) -> Pool:
        self._pickled = pickle.dumps(self.work)
        try:
            self._folder = Path(tempfile.mkdtemp(prefix="grader-"))
        except OSError as error:
            raise GraderError(
                f"No temporary folder can be made: {error}. Free some disk space, or set TMPDIR to another folder."
            ) from None
        try:
            for _ in range(self.processes):
                self._start()
        except BaseException:
            self._stop()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._stop()

    def map(self, shared: Any, tasks: Iterable[Any]) -> Iterator[tuple[Any, Any]]:
        """Pairs of task and answer (or :class:`Lost`), as they come in.

        It takes a task from ``tasks`` only when a worker is free, and keeps an answer only until it has yielded it. So the
        memory needed does not grow with the number of tasks. An iterator that had no task may have one later: it is asked
        again as long as any worker is at work.

        Raises:
            GraderError: workers cannot start; the message says why.
        """
        data = pickle.dumps(shared)
        fresh = map(_Task, tasks)
        again: deque[_Task] = deque()
        finished: list[tuple[Any, Any]] = []
        while True:
            none_left = self._employ(fresh, again)  # first, so that no worker waits while answers are handled
            if finished:
                yield from finished
                finished = []
                continue  # a task may have come meanwhile
            if none_left and not any(worker.task for worker in self._workers):
                return
            finished = [
                pair for worker in self._those_with_news() for pair in self._hear(worker, data, again)
            ]

    def _employ(self, fresh: Iterator[_Task], again: deque[_Task]) -> bool:
        """Gives tasks to the workers that are free. Returns whether the tasks ran out."""
        for worker in list(self._workers):
            if not worker.ready or worker.task:
                continue
            task = again.popleft() if again else next(fresh, None)
            if task is None:
                return True
            if not self._give(worker, task):
                again.appendleft(task)
        return False

    # -- one worker

    def _start(self) -> None:
        folder = self._folder / f"w{self._started}"  # a short path, because sockets lie in it
        self._started += 1
        process, connection = _spawned(self._pickled, folder)
        self._workers.append(_Worker(process, connection, folder, time.monotonic() + START_SECONDS))

    def _give(self, worker: _Worker, task: _Task) -> bool:
        """Sends a worker a task. Returns whether it was still there to take it."""
        try:
            worker.connection.send(task.what)
        except OSError:
            self._replace(worker)
            return False
        worker.task, worker.deadline = task, time.monotonic() + self.seconds
        return True

    def _those_with_news(self) -> list[_Worker]:
        """Waits until some workers have sent something, have ended or are overdue, and returns these."""
        deadlines = [worker.deadline for worker in self._workers if worker.task or not worker.ready]
        left = max(0.0, min(deadlines) - time.monotonic()) if deadlines else None
        if self.look_again is not None:
            left = self.look_again if left is None else min(left, self.look_again)
        sources = [
            source for worker in self._workers for source in (worker.connection, worker.process.sentinel)
        ]
        found = set(wait(sources, left))
        now = time.monotonic()
        return [
            worker
            for worker in self._workers
            if {worker.connection, worker.process.sentinel} & found
            or ((worker.task or not worker.ready) and worker.deadline <= now)
        ]

    def _hear(self, worker: _Worker, data: bytes, again: deque[_Task]) -> Iterator[tuple[Any, Any]]:
        try:
            message = worker.connection.recv() if worker.connection.poll() else None
        except (EOFError, OSError):
            message = None
        if isinstance(message, _Failed):
            raise GraderError(str(message))
        if message is None:
            yield from self._bury(worker, again)
        elif not worker.ready:
            worker.ready, self._failed_starts = True, 0
            with contextlib.suppress(OSError):  # if it has died, its first task will show
                worker.connection.send_bytes(data)
        else:
            task, worker.task = worker.task, None
            yield task.what, message

    def _bury(self, worker: _Worker, again: deque[_Task]) -> Iterator[tuple[Any, Any]]:
        overdue = worker.process.exitcode is None and worker.deadline <= time.monotonic()
        why = f"did not answer within {self.seconds:g} seconds" if overdue else "died"
        self._replace(worker)
        if task := worker.task:
            task.deaths += 1
            if task.deaths < _TRIES:
                again.append(task)
            else:
                yield task.what, Lost(why)

    def _replace(self, worker: _Worker) -> None:
        if not worker.ready:
            self._failed_starts += 1
        self._workers.remove(worker)
        _end(worker, time.monotonic() + _GRACE_SECONDS)
        if self._failed_starts > 2 * self.processes:
            raise GraderError(
                "The grader's worker processes end before they are ready. Their messages are above. Make sure that there "
                "is memory left, or use fewer of them with --jobs."
            )
        self._start()

    def _stop(self) -> None:
        for worker in self._workers:
            worker.connection.close()  # idle workers then end by themselves
            if worker.task or not worker.ready:
                worker.process.terminate()
        deadline = time.monotonic() + _GRACE_SECONDS
        for worker in self._workers:
            _end(worker, deadline)
        self._workers.clear()
        shutil.rmtree(self._folder, ignore_errors=True)


def _end(worker: _Worker, deadline: float) -> None:
    """Ends a worker and everything that it has started: it is given until the deadline, and then killed."""
    process = worker.process
    if process.exitcode is None and not worker.connection.closed:
        process.terminate()
    process.join(max(0.0, deadline - time.monotonic()))
    if process.exitcode is None:
        _kill_descendants(process.pid)
        process.kill()
        process.join()
    worker.connection.close()
    shutil.rmtree(worker.folder, ignore_errors=True)


# ---------------------------------------------------------------------------------- starting processes


@contextlib.contextmanager
def _ignoring_interrupts() -> Iterator[None]:
    """Processes started here ignore Ctrl-C, which the terminal sends to all of them: the main process ends them."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


@contextlib.contextmanager
def _environment_of_the_fork_server() -> Iterator[None]:
    """Makes its NumPy start no threads, which would not survive a fork. And neither it nor multiprocessing's resource
    tracker imports from the current folder, which may be a submission's.
    """
    values = {"OPENBLAS_NUM_THREADS": "1", "PYTHONSAFEPATH": "1"}
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


@contextlib.contextmanager
def _no_main_module() -> Iterator[None]:
    """Hides the main program, for example JupyterLab. Otherwise multiprocessing would import it in each process."""
    main = sys.modules["__main__"]
    sys.modules["__main__"] = types.ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = main


# ---------------------------------------------------------------------------------- in a worker


def _run_worker(connection: Connection, pickled: bytes, environment: dict[str, str], folder: str) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, _leave)
    _die_with_parents()
    os.environ.clear()
    os.environ.update(environment | {"TMPDIR": folder})
    tempfile.tempdir = folder
    work: Work | None = None
    try:
        work = pickle.loads(pickled)
        _serve(connection, work)
    except (EOFError, OSError):
        pass  # the main process has closed the pipe, or has ended
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        if work:
            with contextlib.suppress(Exception):
                work.close()
        _kill_descendants(os.getpid())
        shutil.rmtree(folder, ignore_errors=True)
        if not multiprocessing.parent_process().is_alive():  # nobody else can clean up
            with contextlib.suppress(OSError):
                os.rmdir(os.path.dirname(folder))


def _serve(connection: Connection, work: Work) -> None:
    try:
        os.mkdir(tempfile.gettempdir())
        work.open()
    except Exception as error:
        reason = str(error) if isinstance(error, GraderError) else f"{type(error).__name__}: {error}"
        connection.send(_Failed(reason))
        return
    connection.send(_READY)
    shared = connection.recv()
    while True:
        connection.send(work(shared, connection.recv()))


def _leave(*_: object) -> None:
    raise SystemExit(1)


def _die_with_parents() -> None:
    """Ends this process, cleanly if possible, when the main process or the fork server ends in any way."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
    main = multiprocessing.parent_process().sentinel

    def watch() -> None:
        wait([main])
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(2 * _GRACE_SECONDS)
        _kill_descendants(os.getpid())
        os._exit(1)

    threading.Thread(target=watch, name="watch-main-process", daemon=True).start()


def _kill_descendants(pid: int) -> None:
    try:
        family = psutil.Process(pid).children(recursive=True)
    except psutil.Error:
        return
    for process in family:
        with contextlib.suppress(psutil.Error):
            process.kill()
