"""The preloaded process, seen from the grader's side: starting it, asking it for kernels, learning how they ended."""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import weakref
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, Any

from grader.errors import GraderError
from grader.sandbox import container

_PACKET = 2**16
# How long to wait for one of our own processes: on a very busy machine, what usually takes a moment can take minutes.
_ANSWER_SECONDS = 400
_PRELOAD_SECONDS = 1800
_END_SECONDS = 5
_LONGEST_PATH = 107
"""The most bytes that the path of a Unix socket may have."""


@dataclass(frozen=True)
class Limits:
    """What one submission may use.

    Attributes:
        memory: bytes that all its processes may use together, on top of what was imported beforehand.
        disk: bytes in its home folder; the same again in /tmp and in /dev/shm. Also the size of the largest file.
        processes: processes and threads at any one time.
        files: open files per process.
        cpu_seconds: CPU time per process.
    """

    memory: int = 2 * 2**30
    disk: int = 256 * 2**20
    processes: int = 256
    files: int = 512
    cpu_seconds: int = 1200


@dataclass(frozen=True)
class Setting:
    """What is the same for all submissions of a lab.

    Attributes:
        modules: what is imported before the first submission.
        folder: the lab's release, whose data files a notebook may read.
        hidden: folders of the course that must stay invisible, wherever they are.
    """

    modules: tuple[str, ...] = ()
    folder: Path | None = None
    hidden: tuple[Path, ...] = ()


class SandboxLost(Exception):
    """The preloaded process died, or does not answer as it should, and has to be replaced."""


class NoKernel(SandboxLost):
    """A kernel did not start, so no learner's code has run in it."""


class Preloaded:
    """One preloaded process in its container. It runs one kernel at a time.

    Raises:
        GraderError: the sandbox cannot be set up on this machine.
    """

    def __init__(self, setting: Setting) -> None:
        container.bubblewrap()  # is it there?
        self.setting = setting
        self.running = False
        self._ended: dict[str, Any] = {}
        self._ready = False
        self._process: subprocess.Popen[bytes] | None = None
        self.sockets, self._complaints = _room()
        weakref.finalize(self, shutil.rmtree, self.sockets, ignore_errors=True)  # if nobody closes it
        self._control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        try:
            with theirs:
                self._process = container.start(
                    setting.folder,
                    setting.hidden,
                    self.sockets,
                    theirs.fileno(),
                    self._complaints,
                )
            self._send({"modules": setting.modules})
        except SandboxLost:
            raise self._failed() from None
        except BaseException:
            self.close()
            raise

    def wait_until_ready(self) -> None:
        """Waits until everything is imported.

        Raises:
            GraderError: the sandbox cannot be set up on this machine.
            NoKernel: it was killed in the meantime.
        """
        if not self._ready:
            try:
                answer = self._answer(_PRELOAD_SECONDS)
            except SandboxLost:
                raise self._failed() from None
            if failed := answer.get("failed"):
                self.close()
                raise container.incomplete(*next(iter(failed.items())))
            if file := answer.get("unreadable"):
                self.close()
                raise container.unreadable(file.replace("/lab", str(self.setting.folder), 1))
            self._ready = True

    def _failed(self) -> GraderError | NoKernel:
        """The error for a process that did not start properly. The process is removed."""
        try:
            status = self._process.wait(_END_SECONDS)
        except subprocess.TimeoutExpired:
            status = None
        reason = container.said(self._complaints)
        self.close()
        if status in (
            -signal.SIGKILL,
            128 + signal.SIGKILL,
        ):  # by somebody, or by the system because memory ran out
            return NoKernel("The process that runs submissions was killed while it started")
        return container.failed(reason, status)

    @property
    def pid(self) -> int:
        """The id of the container's outermost process."""
        return self._process.pid

    @property
    def alive(self) -> bool:
        return self._process.poll() is None

    # -- kernels

    def start_kernel(
        self, connection: Mapping[str, Any], environment: Mapping[str, str], limits: Limits
    ) -> None:
        """Forks a kernel. When this returns, the kernel has bound its sockets.

        Args:
            connection: as in a Jupyter connection file; its ``ip`` is a path in :attr:`sockets`.
            environment: variables in addition to the container's own.

        Raises:
            SandboxLost: no kernel could be started.
            GraderError: the sandbox cannot be set up on this machine.
        """
        self.wait_until_ready()
        inside = f"/run/sockets/{Path(connection['ip']).relative_to(self.sockets)}"
        own = {"connection": {**connection, "ip": inside}, "environment": dict(environment)}
        answer = self._ask({"do": "start", "limits": asdict(limits), **own})
        if "pid" not in answer:
            raise NoKernel(f"No kernel could be started: {answer.get('error')}")
        self.running, self._ended = True, {}

    def allow(self, cpu_seconds: float, idle_seconds: float) -> None:
        """Sets how long the running kernel may compute (all its processes together) and sleep from now on."""
        self._send({"do": "budget", "cpu_seconds": cpu_seconds, "idle_seconds": idle_seconds})

    def signal(self, number: int) -> None:
        if self.running:
            self._send({"do": "signal", "number": number})

    def poll(self) -> int | None:
        """The exit status of the kernel, negative for a signal; None while it runs."""
        if self.running:
            with contextlib.suppress(SandboxLost, BlockingIOError):
                self._note_end(self._receive(0))
        if self.running and not self.alive:
            self._note_end({"ended": -signal.SIGKILL, "cause": "sandbox"})
        return None if self.running else self._ended.get("ended", 0)

    @property
    def cause(self) -> str:
        """Why the kernel was ended: "memory", "cpu", "idle" or "sandbox". Empty if it ended by itself."""
        return self._ended.get("cause", "")

    @property
    def cpu_seconds(self) -> float:
        """What the kernel that has ended, and all that it had started, have computed."""
        return self._ended.get("cpu_seconds", 0.0)

    def stop_kernel(self) -> None:
        """Ends the kernel and everything it has started.

        Raises:
            SandboxLost: the preloaded process is no longer in the state it was in before.
        """
        if not self._ready:
            raise SandboxLost("It was not ready yet.")
        if self.running:
            self.signal(signal.SIGKILL)
            self._note_end(self._answer(_ANSWER_SECONDS))
        if self._ask({"do": "check"}) != {"clean": True}:
            raise SandboxLost("The sandbox is not as clean as it was.")
        for leftover in self.sockets.iterdir():
            leftover.unlink()

    def _note_end(self, answer: Mapping[str, Any]) -> None:
        if not isinstance(answer.get("ended"), int):
            raise SandboxLost(f"An unexpected answer: {answer}")
        self.running, self._ended = False, dict(answer)

    def close(self) -> None:
        """Ends the container and everything in it."""
        self._control.close()
        if self._process:
            self._process.kill()
            self._process.wait()
        self._complaints.close()
        shutil.rmtree(self.sockets, ignore_errors=True)
        self.running = False

    # -- packets

    def _ask(self, request: Mapping[str, Any]) -> dict[str, Any]:
        self._send(request)
        return self._answer(_ANSWER_SECONDS)

    def _send(self, request: Mapping[str, Any]) -> None:
        try:
            self._control.settimeout(_ANSWER_SECONDS)
            self._control.send(json.dumps(request).encode())
        except OSError as error:
            raise SandboxLost(str(error)) from None

    def _answer(self, seconds: float) -> dict[str, Any]:
        """The next answer. A process that is gone is waited for no longer, even if a child that it had just begun keeps the connection open."""
        end = time.monotonic() + seconds
        while True:
            gone = not self.alive  # asked before looking: what it has said last is still read
            try:
                return self._receive(0.0 if gone else min(1.0, max(0.0, end - time.monotonic())))
            except BlockingIOError:
                if gone:
                    raise SandboxLost("it has ended") from None
                if time.monotonic() >= end:
                    raise SandboxLost(f"no answer for {seconds} seconds") from None

    def _receive(self, seconds: float) -> dict[str, Any]:
        try:
            self._control.settimeout(seconds)  # not select, which handles only low file descriptors
            packet = self._control.recv(_PACKET)
        except (BlockingIOError, TimeoutError):
            raise BlockingIOError from None
        except (OSError, ValueError) as error:
            raise SandboxLost(str(error)) from None
        try:
            answer = json.loads(packet)
        except ValueError:
            raise SandboxLost("it has ended" if not packet else "it does not answer in JSON") from None
        if not isinstance(answer, dict):
            raise SandboxLost("it does not answer in the agreed form")
        return answer


def _room() -> tuple[Path, IO[bytes]]:
    """A folder for sockets, and a file for complaints. If the usual temporary folder has a long path, they lie elsewhere.

    Raises:
        GraderError: they cannot be made, for example because the disk is full.
    """
    error: OSError | None = None
    for parent in (tempfile.gettempdir(), "/tmp", "/var/tmp"):
        if len(os.fsencode(parent)) + len("/tl-12345678/k-5") > _LONGEST_PATH:
            continue
        try:
            complaints = tempfile.TemporaryFile(dir=parent)  # noqa: SIM115
            return Path(tempfile.mkdtemp(prefix="tl-", dir=parent)), complaints
        except OSError as reason:
            error = reason
    raise GraderError(
        f"No temporary folder can be made: {error}. Free some disk space, or set TMPDIR to another folder."
    )


# ---------------------------------------------------------------------------------- kept for the next kernel

_idle: dict[Setting, list[Preloaded]] = {}


def borrow(setting: Setting) -> Preloaded:
    """A preloaded process that runs no kernel: one that was given back, or a new one.

    Raises:
        GraderError: the sandbox cannot be set up on this machine.
    """
    for preloaded in _taken(_idle.get(setting, [])):
        if preloaded.alive:
            return preloaded
        preloaded.close()
    return Preloaded(setting)


def _taken(waiting: list[Preloaded]) -> Iterator[Preloaded]:
    """Takes processes out, one after the other, so that no other thread, which may be doing the same, gets one of them, too."""
    while True:
        try:
            preloaded = waiting.pop()
        except IndexError:
            return
        yield preloaded


def give_back(preloaded: Preloaded) -> None:
    """Keeps a preloaded process for the next kernel of the same setting."""
    _idle.setdefault(preloaded.setting, []).append(preloaded)


@atexit.register
def close_all() -> None:
    """Ends every container that is being kept for another kernel."""
    for waiting in list(_idle.values()):
        for preloaded in _taken(waiting):
            preloaded.close()
