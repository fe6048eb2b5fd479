"""The preloaded process: imports what a lab needs once, then forks a kernel for each submission.

Started by :class:`grader.sandbox.preloaded.Preloaded` inside bubblewrap, as
``python -P <this folder> <file descriptor of the control socket>``. It never runs learner code. Each fork gets
namespaces, limits and temporary folders of its own and becomes an ordinary IPython kernel, most of whose
start-up has already been done here. See docs/sandbox.md.

The control socket carries one JSON object per packet. Requests: ``start``, ``budget``, ``signal``, ``check``.
"""

from __future__ import annotations

import contextlib
import contextvars
import functools
import gc
import importlib
import json
import os
import re
import select
import shutil
import signal
import socket
import sys
import threading
import time
from collections.abc import Iterable, Iterator
from typing import Any

import lockdown
from warm_kernel import WarmKernelApp

HOME, WORK, DATA, SOCKETS = "/home/learner", "/home/learner/work", "/lab", "/run/sockets"
UID = 1000
PACKET = 2**16
START_SECONDS = 300
"""How long a fork may take until its sockets are bound. Usually that takes a moment, but the machine may be busy."""
WATCH_SECONDS = 0.05
"""Seconds between two looks at a running submission's memory and CPU time."""
NAP_SECONDS = 1
"""Seconds between two looks at whether a running submission does anything at all."""
SOCKET_BYTES = 2**20
"""Bytes that the buffers of one socket may hold. The system counts them as no process's memory."""
MANY = 32
"""With more processes than this, the memory that they share is not worked out in detail, as that takes too long."""
STACK_BYTES = 8 * 2**20
"""How deep calls in a kernel may be nested: as in most main threads, whatever the limits of this system are."""
BOUND = b"bound"
MOUNT_FIELDS = (0, 1, 2, 4, 5)
"""Of a line of mountinfo, see proc(5): the mount's number, its parent's, the device, the place, and the mount's options."""

_TICK = os.sysconf("SC_CLK_TCK")
_MEMORY, _TABLES = (b"RssAnon", b"RssShmem", b"VmSwap"), (b"VmPTE",)
_IN_STATUS = re.compile(rb"^(%s):\s*(\d+) kB$" % b"|".join(_MEMORY + _TABLES), re.MULTILINE)
_SHARE = (b"Pss_Anon", b"Pss_Shmem", b"SwapPss")


# ---------------------------------------------------------------------------------- one submission's process


def start(app: WarmKernelApp, request: dict[str, Any], control: socket.socket) -> dict[str, Any]:
    """Forks a kernel. Returns ``{"pid": ..., "listeners": [...]}`` as seen here (of listeners, as :func:`lockdown.give_up_rights`
    says, there is at most one), or ``{"error": ...}``.

    A thread does that, because namespaces belong to a thread, and those of this one must stay as they are. A process in its place would
    cost one more fork, which takes long if much has been imported.
    """
    answer: dict[str, Any] = {}

    def fork() -> None:
        threading.stack_size(0)  # for threads of learners
        try:
            answer.update(_make_room(app, request, control))
        except Exception as error:
            answer.update(error=f"{type(error).__name__}: {error}")

    thread = threading.Thread(target=contextvars.copy_context().run, args=(fork,), name="MainThread")
    threading.stack_size(STACK_BYTES)
    thread.start()
    thread.join()
    return answer


@contextlib.contextmanager
def _never_returning(answer: int) -> Iterator[None]:
    """Ends a forked process here, whatever happens, and reports what went wrong."""
    try:
        yield
        os._exit(0)
    except BaseException as error:
        with contextlib.suppress(OSError):
            os.write(answer, json.dumps({"error": f"{type(error).__name__}: {error}"}).encode())
        os._exit(1)


def _make_room(app: WarmKernelApp, request: dict[str, Any], control: socket.socket) -> dict[str, Any]:
    """Makes namespaces and temporary folders, and then starts the process that becomes the kernel. Whatever this thread makes of its
    namespaces ends with it.

    The kernel has no right to mount anything. So this thread waits until the kernel has bound its sockets, and hides the folder of
    sockets (the only place outside the sandbox that could be written to).

    Returns:
        As :func:`start`.
    """
    lockdown.unshare(
        lockdown.NEW_MOUNTS | lockdown.NEW_PID | lockdown.NEW_IPC | lockdown.NEW_UTS | lockdown.NEW_NETWORK
    )
    lockdown.mount("none", "/", "none", lockdown.RECURSIVE | lockdown.PRIVATE)
    limits = request["limits"]
    owner = (UID, UID) if os.getuid() == 0 else (os.getuid(), os.getgid())
    for folder, size in {HOME: limits["disk"], "/tmp": limits["disk"], "/dev/shm": limits["disk"]}.items():
        options = f"size={size},nr_inodes=20000,mode=0700,uid={owner[0]},gid={owner[1]}"
        kept = [(place, os.open(place, os.O_PATH)) for place in mounted_in(folder)]
        lockdown.mount("tmpfs", folder, "tmpfs", lockdown.NO_SUID | lockdown.NO_DEVICES, options)
        for place, opened in kept:
            os.makedirs(place)
            lockdown.mount(f"/proc/self/fd/{opened}", place, "none", lockdown.BIND | lockdown.RECURSIVE)
            os.close(opened)
    # as numbers: in the fork, nothing may close them later, when they mean something else
    bound, binding = (end.detach() for end in socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET))
    kernel = os.fork()
    if kernel == 0:
        with _never_returning(binding):
            control.close()
            os.dup2(binding, 3)
            with _never_returning(3):
                _become_kernel(app, request)
    os.close(binding)
    with socket.socket(fileno=bound) as ours:
        ready, _, _ = select.select([ours], [], [], START_SECONDS)
        said, listeners, *_ = socket.recv_fds(ours, PACKET, 1) if ready else (b"", [])  # nothing, if it died
    safe = False
    try:
        if said == BOUND:
            flags = lockdown.READ_ONLY | lockdown.NO_SUID | lockdown.NO_DEVICES
            lockdown.mount("tmpfs", SOCKETS, "tmpfs", flags, "size=4k,nr_inodes=1")  # over it
            safe = True
    finally:
        if not safe:
            os.kill(kernel, signal.SIGKILL)
            os.waitpid(kernel, 0)
            for listener in listeners:
                os.close(listener)
    if safe:
        return {"pid": kernel, "listeners": listeners}
    return json.loads(said) if said else {"error": "the new process died while it was being set up"}


@functools.cache
def mounted_in(folder: str) -> list[str]:
    """What the container shows inside one of the temporary folders, because a course may be in /tmp."""
    found: list[str] = []
    with open("/proc/self/mountinfo") as mounts:
        for line in mounts:
            place = re.sub(r"\\([0-7]{3})", lambda code: chr(int(code[1], 8)), line.split()[4])
            if place.startswith(f"{folder}/") and not any(place.startswith(f"{other}/") for other in found):
                found.append(place)
    return found


def _become_kernel(app: WarmKernelApp, request: dict[str, Any]) -> None:
    """Becomes the kernel. Writes to file descriptor 3 that the sockets are bound, or an error."""
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
    with open("/proc/self/oom_score_adj", "w") as file:
        file.write("1000")  # if memory runs out after all, the system should end this process first
    shutil.copytree(DATA, WORK)
    os.chdir(WORK)
    lockdown.enter_own_user_namespace(UID)
    lockdown.limit(
        memory=limits["memory"],
        processes=limits["processes"],
        file_bytes=limits["disk"],
        files=limits["files"],
        cpu_seconds=limits["cpu_seconds"],
    )
    listener = lockdown.give_up_rights()
    os.environ.update(request["environment"])
    app.connect(request["connection"])
    with socket.socket(fileno=3) as there:
        if listener is None:
            there.send(BOUND)
        else:
            socket.send_fds(there, [BOUND], [listener])
            os.close(listener)  # a process that has it decides, so a learner's code must not have it
    app.start()


# ---------------------------------------------------------------------------------- watching it


def processes() -> dict[int, dict[str, int]]:
    """Every process in the sandbox except this one and bubblewrap's own: its memory (bytes) and CPU seconds (its own, and
    those of the children that it has waited for).

    No CPU time is missing in this: the system lists a process that has ended until somebody has waited for it, and
    :func:`lockdown.decide` keeps processes from doing without that. Parents come first, as a rule, so that no child counts twice.
    """
    found = {}
    for name in os.listdir("/proc"):
        if not name.isdigit() or int(name) in (1, os.getpid()):
            continue
        with contextlib.suppress(OSError, ValueError, IndexError, StopIteration):
            found[int(name)] = _usage(name)
    return found


def _usage(pid: str) -> dict[str, int]:
    with open(f"/proc/{pid}/status", "rb") as file:
        status = dict(_IN_STATUS.findall(file.read()))
    with open(f"/proc/{pid}/stat", "rb") as file:
        numbers = file.read().rpartition(b")")[2].split()
    memory, tables = (sum(int(status.get(name, 0)) for name in names) * 1024 for names in (_MEMORY, _TABLES))
    cpu = sum(map(int, numbers[11:15])) / _TICK
    return {"memory": memory + tables, "tables": tables, "cpu": cpu}


def cpu(usage: dict[int, dict[str, int]]) -> float:
    """CPU seconds that these processes have used so far, with those that have ended."""
    return sum(each["cpu"] for each in usage.values())


def asleep(pids: Iterable[int]) -> bool:
    """Whether none of these processes has a thread that is running, waiting for a processor or reading from a disk."""
    for pid in pids:
        with contextlib.suppress(OSError):  # it has ended meanwhile
            for thread in os.listdir(f"/proc/{pid}/task"):
                with open(f"/proc/{pid}/task/{thread}/stat", "rb") as file:
                    if file.read().rpartition(b")")[2].split()[0] in (b"R", b"D"):
                        return False
    return True


def _share(pid: str) -> dict[bytes, int]:
    """Bytes of memory. Memory that several processes share is divided between them (``Pss``, see proc(5))."""
    with open(f"/proc/{pid}/smaps_rollup", "rb") as file:
        lines = [line.split() for line in file.read().splitlines()[1:]]
    return {line[0].rstrip(b":"): int(line[1]) * 1024 for line in lines}


class Kernel:
    """The running submission, as this process sees it."""

    def __init__(self, pid: int, listeners: list[int], limits: dict[str, Any], shared: int) -> None:
        self.pid = pid
        self.listeners = listeners
        self.handle = os.pidfd_open(pid)
        self.limits = limits
        self.shared = shared  # memory that was inherited, and that the submission is not charged for
        self.cause = ""
        self.computed = 0.0
        self.allow(float("inf"), float("inf"))

    def allow(self, cpu_seconds: float, idle_seconds: float) -> None:
        """Sets how long it may compute, and how long it may do nothing, from now on."""
        self.seen = cpu(processes())
        self.budget, self.patience = self.seen + cpu_seconds, idle_seconds
        self.looked = time.monotonic()

    def watch(self) -> None:
        """Ends the submission if it uses too much."""
        usage = processes()
        self.computed = max(self.computed, cpu(usage))
        if self.takes_too_much_memory(usage):
            self.cause = "memory"
        elif cpu(usage) > self.budget and cpu(processes()) > self.budget:  # see above: "as a rule"
            self.cause = "cpu"
        elif self.idles(usage):
            self.cause = "idle"
        if self.cause:
            self.kill(signal.SIGKILL)

    def idles(self, usage: dict[int, dict[str, int]]) -> bool:
        """Whether it has been asleep for longer than it may. Waiting for a processor on a busy machine is not sleep."""
        nap, used = time.monotonic() - self.looked, cpu(usage) - self.seen
        if nap < NAP_SECONDS:
            return False
        if used < nap / 10 and asleep(usage):
            self.patience -= min(nap, 2 * NAP_SECONDS)  # this process may have waited for a processor, too
        self.looked, self.seen = self.looked + nap, self.seen + used
        return self.patience < 0

    def takes_too_much_memory(self, usage: dict[int, dict[str, int]]) -> bool:
        """Asks the slow way only where the quick one cannot tell: looking through very large page tables takes as long as
        making them does.
        """
        most = self.limits["memory"]
        if self.memory_at_most(usage) <= most:
            return False
        return (
            len(usage) == 1
            or sum(each["tables"] for each in usage.values()) > most
            or self.memory(usage) > most
        )

    def memory_at_most(self, usage: dict[int, dict[str, int]]) -> float:
        """Quick, but exact only for a single process: memory that it shares with its own forks counts in each of them."""
        memory = sum(each["memory"] for each in usage.values())
        return memory - self.shared + self.sockets() * SOCKET_BYTES

    def memory(self, usage: dict[int, dict[str, int]]) -> float:
        """Slow, but exact for any number of processes: memory that they share counts once."""
        usage = {pid: each for pid, each in usage.items() if each["memory"]}  # none once it has ended
        if len(usage) > MANY:
            return float("inf")
        here = _share("self")
        memory = here[b"Pss_Anon"] - here[b"Anonymous"]  # the part of this process that forks are charged for
        for pid, each in usage.items():
            with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # it has ended meanwhile
                share = _share(str(pid))
                memory += sum(share.get(name, 0) for name in _SHARE) + each["tables"]
        return memory + self.sockets() * SOCKET_BYTES

    def sockets(self) -> int:
        with contextlib.suppress(OSError), open(f"/proc/{self.pid}/net/sockstat") as file:
            return int(file.readline().split()[-1])
        return 0

    def kill(self, number: int) -> None:
        with contextlib.suppress(ProcessLookupError):
            signal.pidfd_send_signal(self.handle, number)

    def ended(self) -> dict[str, Any]:
        """Reaps the kernel, which has ended, and with it all processes of its namespace."""
        _, status, used = os.wait4(self.pid, 0)
        for opened in (self.handle, *self.listeners):
            os.close(opened)
        code = os.waitstatus_to_exitcode(status)
        computed = used.ru_utime + used.ru_stime
        if not self.cause and code < 0 and computed >= self.limits["cpu_seconds"] - 1:
            self.cause = "cpu"  # the system's own limit
        return {"ended": code, "cause": self.cause, "cpu_seconds": max(self.computed, computed)}


# ---------------------------------------------------------------------------------- serving


def preload(modules: list[str]) -> dict[str, str]:
    """Imports modules. Returns those that could not be imported, and why."""
    failed = {}
    for name in modules:
        try:
            importlib.import_module(name)
        except BaseException as error:
            failed[name] = f"{type(error).__name__}: {error}"[:300]
    return failed


def unreadable() -> str:
    """A file that kernels need but may not read, if there is one: if root grades, kernels run as a user without rights."""
    if os.getuid() != 0:
        return ""
    files = [file for module in list(sys.modules.values()) if (file := getattr(module, "__file__", None))]
    for folder, _, names in os.walk(DATA):
        files += [folder, *(os.path.join(folder, name) for name in names)]
    os.setgroups([])
    os.setegid(UID)
    os.seteuid(UID)
    try:
        for file in files:
            with contextlib.suppress(FileNotFoundError, NotADirectoryError):
                os.close(os.open(file, os.O_RDONLY))
    except PermissionError:
        return file
    finally:
        os.seteuid(0)
        os.setegid(0)
        lockdown.own_proc()
    return ""


def state_of_sandbox() -> str:
    """The state that no submission may change. Of each mount, that is what :data:`MOUNT_FIELDS` says. The rest also changes when somebody outside
    replaces a file that is shown in here, or the system changes how a disk is mounted.
    """
    with open("/proc/self/mountinfo") as file:
        mounts = [line.split()[:6] for line in file]
    shown = [[fields[place] for place in MOUNT_FIELDS] for fields in mounts]
    return json.dumps([shown, sorted(os.listdir("/proc/self/fd")), sorted(processes())])


def serve(app: WarmKernelApp, control: socket.socket, shared: int) -> None:
    kernel: Kernel | None = None
    clean = state_of_sandbox()
    look = time.monotonic()
    while True:
        watched = [control, kernel.handle, *kernel.listeners] if kernel else [control]
        wait = max(0.0, look - time.monotonic()) if kernel else None
        ready, _, _ = select.select(watched, [], [], wait)
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
                        listeners = answer.pop("listeners")
                        kernel = Kernel(answer["pid"], listeners, request["limits"], shared)
                case "budget" if kernel:
                    kernel.allow(request["cpu_seconds"], request["idle_seconds"])
                case "signal" if kernel:
                    kernel.kill(request["number"])
                case "check":
                    answer = {"clean": kernel is None and state_of_sandbox() == clean}
        elif kernel and kernel.listeners and kernel.listeners[0] in ready:
            lockdown.decide(kernel.listeners[0])
        if kernel and time.monotonic() >= look:  # however many requests come
            kernel.watch()
            look = time.monotonic() + WATCH_SECONDS
        if answer:
            control.send(json.dumps(answer).encode())


def main() -> None:
    control = socket.socket(fileno=os.dup(int(sys.argv[1])))  # a low number, as select needs it
    os.close(int(sys.argv[1]))
    sys.argv[1:] = []
    sys.path.remove(os.path.dirname(__file__))
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)  # forks have what this process has
    request = json.loads(control.recv(PACKET))
    app = WarmKernelApp.instance()
    app.prepare()
    os.chdir(DATA)  # the lab's release: its exercises are imported from there
    sys.path.insert(0, "")
    failed = preload(request["modules"])
    sys.path.remove("")
    gc.collect()
    gc.freeze()  # so that collections in forks leave shared pages alone
    shared = _usage(str(os.getpid()))["memory"]
    ready = {"ready": True, "failed": failed, "unreadable": unreadable()}
    control.send(json.dumps(ready).encode())
    serve(app, control, shared)


main()
