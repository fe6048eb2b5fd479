"""The preloaded process: imports what a lab needs once, then forks a kernel for each submission.

Started by :class:`grader.sandbox.preloaded.Preloaded` inside bubblewrap, as
``python -P <this folder> <file descriptor of the control socket>``. It never runs learner code. Each fork gets
namespaces, limits and temporary folders of its own and becomes an ordinary IPython kernel, whose start
has been paid for here already. See docs/sandbox.md.

The control socket carries one JSON object a packet. Requests: ``start``, ``budget``, ``signal``, ``stop``.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import json
import os
import select
import shutil
import signal
import socket
import sys
import time
from collections.abc import Iterator
from typing import Any

import lockdown
from ipykernel.compiler import XCachingCompiler
from ipykernel.kernelapp import IPKernelApp
from ipykernel.zmqshell import ZMQInteractiveShell

HOME, WORK, DATA, SOCKETS = "/home/learner", "/home/learner/work", "/lab", "/run/sockets"
UID = 1000
PACKET = 2**16
WATCH_SECONDS = 0.05
"""How often a running submission's memory and CPU time are looked at."""

_TICK = os.sysconf("SC_CLK_TCK")


# ---------------------------------------------------------------------------------- IPython, in two steps


class WarmKernelApp(IPKernelApp):
    """IPython's kernel, started in two steps: what can be shared by forks, and what cannot."""

    def prepare(self) -> None:
        """Everything that needs neither sockets nor threads; the shell is most of IPython's start."""
        super(IPKernelApp, self).initialize(["--HistoryManager.enabled=False", "--log-level=CRITICAL"])
        self.init_pdb()
        # a singleton: the kernel finds it, and does not make another
        ZMQInteractiveShell.instance(
            parent=self, profile_dir=self.profile_dir, user_ns={}, compiler_class=XCachingCompiler
        )
        importlib.import_module("ipykernel.debugger")

    def connect(self, connection_file: str) -> None:
        """The rest of ``IPKernelApp.initialize``, in a fork."""
        self.connection_file = connection_file
        self.load_connection_file()
        self.init_sockets()
        self.init_heartbeat()
        self.init_io()
        self.init_signal()
        self.init_kernel()
        self.init_path()
        self.init_shell()
        self.kernel.shell.parent = self.kernel
        self.kernel.shell.kernel = self.kernel
        self.init_gui_pylab()
        self.init_extensions()
        self.init_code()
        sys.stdout.flush()
        sys.stderr.flush()


# ---------------------------------------------------------------------------------- one submission's process


def start(app: WarmKernelApp, request: dict[str, Any], control: socket.socket) -> dict[str, Any]:
    """Forks a kernel. Returns ``{"pid": ...}`` as seen here, or ``{"error": ...}``."""
    reading, writing = os.pipe()
    helper = os.fork()
    if helper == 0:
        with _never_returning(writing):
            control.close()
            os.close(reading)
            _make_room(app, request, writing)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        ready, _, _ = select.select([pipe], [], [], 30)
        answer = pipe.read(PACKET) if ready else b""
    os.waitpid(helper, 0)
    return json.loads(answer) if answer else {"error": "the new process died while it was being set up"}


@contextlib.contextmanager
def _never_returning(answer: int) -> Iterator[None]:
    """A forked process ends here, whatever happens, and says what went wrong."""
    try:
        yield
        os._exit(0)
    except BaseException as error:
        with contextlib.suppress(OSError):
            os.write(answer, json.dumps({"error": f"{type(error).__name__}: {error}"}).encode())
        os._exit(1)


def _make_room(app: WarmKernelApp, request: dict[str, Any], answer: int) -> None:
    """Namespaces and temporary folders; then the process that becomes the kernel.

    That one has no rights to mount anything. So this one waits until it has bound its sockets, takes the folder
    of sockets out of sight (the only place outside that could be written to), and ends.
    """
    lockdown.unshare(
        lockdown.NEW_MOUNTS | lockdown.NEW_PID | lockdown.NEW_IPC | lockdown.NEW_UTS | lockdown.NEW_NETWORK
    )
    lockdown.mount("none", "/", "none", lockdown.RECURSIVE | lockdown.PRIVATE)
    limits = request["limits"]
    owner = (UID, UID) if os.getuid() == 0 else (os.getuid(), os.getgid())
    for folder, size in {HOME: limits["disk"], "/tmp": limits["disk"], "/dev/shm": limits["disk"]}.items():
        options = f"size={size},nr_inodes=20000,mode=0700,uid={owner[0]},gid={owner[1]}"
        lockdown.mount("tmpfs", folder, "tmpfs", lockdown.NO_SUID | lockdown.NO_DEVICES, options)
    bound, binding = os.pipe()
    kernel = os.fork()
    if kernel == 0:
        os.dup2(binding, 3)
        with _never_returning(3):
            _become_kernel(app, request)
    os.close(binding)
    with os.fdopen(bound, "rb") as pipe:
        error = pipe.read()
    flags = lockdown.READ_ONLY | lockdown.NO_SUID | lockdown.NO_DEVICES
    lockdown.mount("tmpfs", SOCKETS, "tmpfs", flags, "size=4k,nr_inodes=1")  # over it
    os.write(answer, error or json.dumps({"pid": kernel}).encode())


def _become_kernel(app: WarmKernelApp, request: dict[str, Any]) -> None:
    """File descriptor 3 is open until the sockets are bound, or an error is written to it."""
    os.setsid()
    nothing = os.open(os.devnull, os.O_RDWR)
    for standard in (0, 1, 2):
        os.dup2(nothing, standard)
    os.closerange(4, os.sysconf("SC_OPEN_MAX"))
    lockdown.mount(
        "proc", "/proc", "proc", lockdown.NO_SUID | lockdown.NO_DEVICES | lockdown.NO_EXECUTION, ""
    )
    limits = request["limits"]
    if os.getuid() == 0:  # started by root: learners get a number that owns nothing
        os.setgroups([])
        os.setresgid(UID, UID, UID)
        os.setresuid(UID, UID, UID)
        lockdown.own_proc()
    shutil.copytree(DATA, WORK)
    os.chdir(WORK)
    with open("/tmp/kernel.json", "w") as file:
        json.dump(request["connection"], file)
    lockdown.enter_own_user_namespace(UID)
    lockdown.limit(
        memory=limits["memory"],
        processes=limits["processes"],
        file_bytes=limits["disk"],
        files=limits["files"],
        cpu_seconds=limits["cpu_seconds"],
    )
    lockdown.give_up_rights()
    os.environ.update(request["environment"])
    app.connect("/tmp/kernel.json")
    os.remove("/tmp/kernel.json")
    os.close(3)  # the sockets are bound
    app.start()


# ---------------------------------------------------------------------------------- watching it


def processes() -> dict[int, dict[str, int]]:
    """Every process in the sandbox but this one and bubblewrap's own: anonymous memory (bytes), CPU seconds."""
    found = {}
    for name in os.listdir("/proc"):
        if not name.isdigit() or int(name) in (1, os.getpid()):
            continue
        with contextlib.suppress(OSError, ValueError, IndexError, StopIteration):
            found[int(name)] = _usage(name)
    return found


def _usage(pid: str) -> dict[str, int]:
    with open(f"/proc/{pid}/status", "rb") as file:
        status = dict(line.split(b":", 1) for line in file.read().splitlines() if b":" in line)
    with open(f"/proc/{pid}/stat", "rb") as file:
        numbers = file.read().rpartition(b")")[2].split()
    memory = sum(int(status.get(name, b"0").split()[0]) for name in (b"RssAnon", b"RssShmem")) * 1024
    # own time and that of children which have ended
    return {"memory": memory, "cpu": sum(map(int, numbers[11:15])) / _TICK}


class Kernel:
    """The running submission, as this process sees it."""

    def __init__(self, pid: int, limits: dict[str, Any], shared: int) -> None:
        self.pid = pid
        self.handle = os.pidfd_open(pid)
        self.limits = limits
        self.shared = shared  # memory that each fork inherits and has not used up itself
        self.cause = ""
        self.budget = float("inf")

    def cpu(self, usage: dict[int, dict[str, int]]) -> float:
        return sum(each["cpu"] for each in usage.values())

    def allow(self, cpu_seconds: float) -> None:
        self.budget = self.cpu(processes()) + cpu_seconds

    def watch(self) -> None:
        """Ends a submission that takes too much."""
        usage = processes()
        memory = sum(max(0, each["memory"] - self.shared) for each in usage.values())
        if memory > self.limits["memory"]:
            self.cause = "memory"
        elif self.cpu(usage) > self.budget:
            self.cause = "cpu"
        if self.cause:
            self.kill(signal.SIGKILL)

    def kill(self, number: int) -> None:
        with contextlib.suppress(ProcessLookupError):
            signal.pidfd_send_signal(self.handle, number)

    def ended(self) -> dict[str, Any]:
        """Reaps the kernel, which has ended. With it all processes of its namespace have."""
        _, status = os.waitpid(self.pid, 0)
        os.close(self.handle)
        code = os.waitstatus_to_exitcode(status)
        if not self.cause and code == -signal.SIGXCPU:
            self.cause = "cpu"
        return {"ended": code, "cause": self.cause}


# ---------------------------------------------------------------------------------- serving


def preload(modules: list[str]) -> dict[str, str]:
    """Imports modules. Returns those that could not be, and why."""
    failed = {}
    for name in modules:
        try:
            importlib.import_module(name)
        except BaseException as error:
            failed[name] = f"{type(error).__name__}: {error}"
    return failed


def state_of_sandbox() -> str:
    """What no submission may change."""
    with open("/proc/self/mountinfo") as mounts:
        return json.dumps([mounts.read(), sorted(os.listdir("/proc/self/fd")), sorted(processes())])


def serve(app: WarmKernelApp, control: socket.socket, shared: int) -> None:
    kernel: Kernel | None = None
    clean = state_of_sandbox()
    while True:
        watched = [control, kernel.handle] if kernel else [control]
        ready, _, _ = select.select(watched, [], [], WATCH_SECONDS if kernel else None)
        answer: dict[str, Any] = {}
        if kernel and kernel.handle in ready:
            answer, kernel = kernel.ended(), None
        elif control in ready:
            packet = control.recv(PACKET)
            if not packet:
                return
            request = json.loads(packet)
            match request["do"]:
                case "start":
                    answer = start(app, request, control)
                    if "pid" in answer:
                        kernel = Kernel(answer["pid"], request["limits"], shared)
                case "budget" if kernel:
                    kernel.allow(request["cpu_seconds"])
                case "signal" if kernel:
                    kernel.kill(request["number"])
                case "check":
                    answer = {"clean": kernel is None and state_of_sandbox() == clean}
        elif kernel:
            kernel.watch()
        if answer:
            control.send(json.dumps(answer).encode())


def main() -> None:
    control = socket.socket(fileno=int(sys.argv[1]))
    sys.argv[1:] = []
    sys.path.remove(os.path.dirname(__file__))
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    request = json.loads(control.recv(PACKET))
    lockdown.adopt_orphans()
    began = time.monotonic()
    app = WarmKernelApp.instance()
    app.prepare()
    failed = preload(request["modules"])
    gc.collect()
    gc.freeze()  # so that collections in forks leave shared pages alone
    seconds = time.monotonic() - began
    shared = _usage(str(os.getpid()))["memory"]
    control.send(json.dumps({"ready": True, "failed": failed, "seconds": seconds}).encode())
    serve(app, control, shared)


main()
