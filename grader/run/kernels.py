"""The kernels that run cells: ordinary ones, and those in the sandbox. The code at the other end may be hostile."""

from __future__ import annotations

import contextlib
import functools
import json
import logging
import os
import pwd
import signal
import sys
import time
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import psutil
import zmq
from jupyter_client.kernelspec import KernelSpec, KernelSpecManager
from jupyter_client.manager import KernelManager
from jupyter_client.session import DELIM
from jupyter_core.utils import run_sync

from course_utils.checking.check import SEED_VARIABLE
from grader.run.states import CRASHED, OUT_OF_MEMORY, TIMED_OUT
from grader.sandbox.container import ONE_THREAD
from grader.sandbox.preloaded import Limits, NoKernel, SandboxLost, Setting
from grader.sandbox.provisioner import NAME as PROVISIONER

_log = logging.getLogger(__name__)

_READY_SECONDS = 600
MAX_MESSAGE = 32 * 2**20
"""The most bytes of one message; a kernel that sends a longer one is cut off."""

MAX_PIECES = 300_000
"""The most lists, dicts and elements in one message: parsing them takes many times the memory of the text."""

_LONGEST_NAME = 128

FLOOD = 3 * 2**28
"""Bytes by which the grader's process may grow while it listens to a kernel."""

LOOK_SECONDS = 0.01
"""Seconds between two looks at whether a silent kernel is still alive, and at how much memory its messages take: in this
time, a fast machine moves a hundred megabytes.
"""
_GREETING_SECONDS = 0.1
_USAGE_SECONDS = 0.5


@functools.cache
def _context() -> zmq.Context:
    """Sockets to kernels. They are bounded, because the code at the other end may be hostile."""
    context = zmq.Context()
    for option, value in {zmq.MAXMSGSIZE: MAX_MESSAGE, zmq.RCVHWM: 10, zmq.LINGER: 0}.items():
        context.setsockopt(option, value)
    return context


def _json(part: bytes) -> Any:
    return json.loads(part.decode("utf-8", "replace"))


class Kernel:
    """A kernel that runs cells, reached over Unix sockets where the system has them.

    Attributes:
        cpu_seconds: what it and all that it has started have computed; known once it has been stopped.
    """

    manager: KernelManager

    def __init__(self) -> None:
        self.cpu_seconds = 0.0
        self.replied: set[str] = set()
        self.heard = 0  # messages on iopub
        self.loses_messages = False

    def start(self) -> None:
        raise NotImplementedError

    def connect(self) -> None:
        """Opens the two channels that matter, and waits until the kernel has been heard on them.

        Raises:
            NoKernel: the kernel was not heard.
        """
        self._shell, self._iopub = self.manager.connect_shell(), self.manager.connect_iopub()
        self._this_process, self._looked = psutil.Process(), 0.0
        self._memory = self._this_process.memory_info().rss
        self._poller = zmq.Poller()
        for channel in (self._shell, self._iopub):
            self._poller.register(channel, zmq.POLLIN)
        # the kernel greets a new listener; anything that it says before that is lost
        deadline = time.monotonic() + _READY_SECONDS
        while not self._iopub.poll(_GREETING_SECONDS * 1000):
            if time.monotonic() > deadline or self.cause_of_death():
                raise NoKernel("A new kernel did not answer")
            # at times its greeting is lost; anything that it says about a request will do, too
            self.manager.session.send(self._shell, "kernel_info_request")

    def execute(self, code: str, silent: bool = False) -> str:
        """Sends a cell; returns the name of the request."""
        content = {"code": code, "silent": silent, "store_history": not silent, "user_expressions": {}}
        return self._request("execute_request", {**content, "allow_stdin": False, "stop_on_error": False})

    def ask(self) -> str:
        """Asks for a sign of life; returns the name of the request."""
        return self._request("kernel_info_request", {})

    def _request(self, kind: str, content: dict[str, Any]) -> str:
        """Sends a request under a name that code that runs before it cannot guess."""
        message = self.manager.session.msg(kind, content)
        message["header"]["msg_id"] = message["msg_id"] = uuid.uuid4().hex
        self.manager.session.send(self._shell, message)
        return message["msg_id"]

    def receive(self, seconds: float) -> list[dict[str, Any]] | None:
        """The messages that came on iopub; None if nothing came on either channel."""
        ready = dict(self._poller.poll(seconds * 1000))
        if self._shell in ready and (reply := self._next(self._shell)):
            self.replied.add(reply["parent"])
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
            _, header, parent, _, content = parts[parts.index(DELIM) + 1 :][:5]
            kind, name, content = _json(header)["msg_type"], _json(parent).get("msg_id", ""), _json(content)
        except (
            Exception
        ) as error:  # learner code can send anything; as it has the key, a signature would prove nothing
            _log.warning("an unreadable message: %r", error)
            return None
        known = isinstance(kind, str) and isinstance(name, str) and len(name) <= _LONGEST_NAME
        return (
            {"msg_type": kind, "parent": name, "content": content}
            if known and isinstance(content, dict)
            else None
        )

    def floods(self) -> bool:
        """Whether this process holds far more memory than the limits of :func:`_context` should allow: these do not
        count the parts of a message that never ends.
        """
        if (now := time.monotonic()) < self._looked + LOOK_SECONDS:
            return False
        self._looked = now
        return self._this_process.memory_info().rss > self._memory + FLOOD

    def next_cell(self, cpu_seconds: float, idle_seconds: float) -> None:
        """To be called before each cell: says how long it may compute, and how long it may sleep."""
        raise NotImplementedError

    def is_out_of_time(self) -> bool:
        """Whether the cell has used more time than it may. If the kernel is ended for that, its cause of death says so
        instead.
        """
        return False

    def cause_of_death(self) -> str:
        """The state that its death puts the submission in; empty while it is alive.

        A SIGKILL that we did not send is how the system ends a process that takes too much memory.
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


# ---------------------------------------------------------------------------------- ordinary ones


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
"""An ordinary kernel, except that no message is dropped, however slow the listener is. It imports nothing from its folder
until it has started; after that it can import what the notebook has written there (see grader/sandbox/inside)."""


class PlainKernel(Kernel):
    """An ordinary kernel in a private folder, reached over sockets in another folder."""

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
        if os.name == "posix":  # no port that other users of the machine could connect to
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

    def stop(self) -> None:
        if self.manager.has_kernel:
            self.cpu_seconds = _Usage(self.manager.provisioner.process.pid, 0, 0).seen
        super().stop()

    def _hand_over(self, work: Path) -> dict[str, Any]:
        """Gives the user what the kernel needs to write to, and returns how it is to be started."""
        user = pwd.getpwnam(self.user)
        self.manager.write_connection_file()
        theirs = [Path(self.manager.connection_file), self.sockets]
        if not self.number:  # later, the files in there are the learner's, and a link may lead anywhere
            theirs += [*work.rglob("*"), work]
        for path in theirs:
            os.chown(path, user.pw_uid, user.pw_gid, follow_symlinks=False)
        self.scratch.chmod(0o711)  # ours: nobody else can replace what is made next by a link
        return {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}


class _Usage:
    """The time that a process and those that it has started use from now on. (In the sandbox, the preloaded process counts
    this.)
    """

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
            )  # this process may have waited for a processor, too
        self.cpu_left -= max(used, 0)  # negative if a child ended that nobody waited for: its time is lost
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
                total += sum(process.cpu_times()[:4])  # its own time, and that of children that have ended
        return total


def _is_awake(process: psutil.Process) -> bool:
    try:
        return process.status() in (psutil.STATUS_RUNNING, psutil.STATUS_DISK_SLEEP)
    except psutil.Error:
        return False


_KEPT = ("PATH", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "LD_LIBRARY_PATH", "SYSTEMROOT")


def scrubbed_environment(environment: Mapping[str, str], home: Path, seed: int) -> dict[str, str]:
    """What a kernel may know about the environment of the person who grades: next to nothing."""
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


# ---------------------------------------------------------------------------------- in the sandbox


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


class SandboxKernel(Kernel):
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
        preloaded = self.manager.provisioner.preloaded if self.manager.provisioner else None
        self.manager.cleanup_resources()  # this kills the kernel: nothing in there needs an orderly end
        self.cpu_seconds = preloaded.cpu_seconds if preloaded else 0.0
