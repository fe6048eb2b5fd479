"""The bubblewrap container that a preloaded process lives in: what it can see, and which user it is.

It contains nothing of the course but ``course_utils`` and the lab's own data files: no solutions, no
submissions, no gradebook. Nor does it have the grading user's home folder and environment variables, or a network.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO

import course_utils
from course_utils.checking.expected import FILE_NAME
from grader.errors import GraderError

INSIDE = Path(__file__).parent / "inside"
_SYSTEM = ("/bin", "/sbin", "/lib", "/lib32", "/lib64")
_SETTINGS = ("ld.so.cache", "localtime", "fonts", "alternatives", "matplotlibrc")
_PEOPLE = {
    "/etc/passwd": "root:x:0:0::/:/bin/false\nlearner:x:1000:1000::/home/learner:/bin/sh\n",
    "/etc/group": "root:x:0:\nlearner:x:1000:\n",
    "/etc/hosts": "127.0.0.1 localhost\n",
}
_LEARNERS = 1_879_048_192
"""The user number, as seen from outside, of learners' processes when root grades: far from any number that people
have. If the system has fewer user numbers, its highest one is used instead."""

_CAPABILITIES = (
    *("CAP_SYS_ADMIN", "CAP_SETUID", "CAP_SETGID", "CAP_KILL", "CAP_CHOWN", "CAP_DAC_OVERRIDE"),
    "CAP_SYS_PTRACE",  # to find out how much memory its forks share
)
"""What the preloaded process may do in its own namespaces; its forks give up all of these rights."""

ONE_THREAD = {f"{name}_NUM_THREADS": "1" for name in ("OMP", "OPENBLAS", "MKL", "NUMEXPR", "VECLIB")} | {
    "TF_NUM_INTRAOP_THREADS": "1",
    "TF_NUM_INTEROP_THREADS": "1",
}
"""For numerical libraries: sums of floating-point numbers depend on how many threads add them up."""

_WHAT_NOW = (
    "If you trust the code of every submission, --sandbox none runs it unprotected, as you, on this machine."
)


class NoSandbox(GraderError):
    """This machine does not permit a sandbox. Any other GraderError has a cause that more rights would not remove."""


def bubblewrap() -> str:
    """Path of bubblewrap's program.

    Raises:
        NoSandbox: it is not there; the message says how to get it.
    """
    if sys.platform != "linux":
        raise NoSandbox(
            "Grading runs learners' code in a sandbox (bubblewrap), which needs Linux. Grade on a Linux machine "
            f"or in a virtual one. {_WHAT_NOW}"
        )
    if program := shutil.which("bwrap"):
        return program
    raise NoSandbox(
        "Grading runs learners' code in a sandbox, and bubblewrap, which makes it, is not installed. Install it: "
        "apt-get install bubblewrap (Debian, Ubuntu), dnf install bubblewrap (Fedora), pacman -S bubblewrap "
        f"(Arch). {_WHAT_NOW}"
    )


def failed(reason: str, status: int | None) -> GraderError:
    """The error for a preloaded process that did not start properly.

    Args:
        reason: what bubblewrap or the process itself wrote.
        status: the exit status; None if it had to be stopped.
    """
    reason = reason.strip()[-2000:]
    if reason.rpartition("\n")[2].startswith("bwrap: "):
        return refused(reason)
    why = "did not get ready in time" if status is None else f"ended with status {status}"
    why += ". Make sure that the environment is as in requirements.txt, and that it can import what the lab imports"
    says = f" What it wrote last:\n{reason}" if reason else ""
    return GraderError(f"The process that is to run the submissions, in the sandbox, {why}.{says}")


def incomplete(module: str, why: str) -> GraderError:
    """The error for one of the lab's own modules that cannot be imported: without it, nobody's work could be right."""
    return GraderError(
        f"In the sandbox, {module}, which the lab imports, cannot be imported ({why}). Make sure that the environment is "
        "as in requirements.txt (make environment) and belongs to this copy of the course."
    )


def unreadable(file: str) -> GraderError:
    """The error for a file that learners' processes need and cannot read."""
    return GraderError(
        f"If root grades, learners' code runs as a user who owns nothing, and who may not read {file}. Let "
        "everybody read the environment and the course's notebooks: chmod -R a+rX on their folders. Or grade as "
        "a user other than root."
    )


def refused(reason: str) -> NoSandbox:
    """The error for a machine on which bubblewrap is installed, but cannot work."""
    reason = reason.strip() or "it gave no reason"
    return NoSandbox(
        f"The sandbox cannot be set up on this machine. Bubblewrap says: {reason} Most often user namespaces are "
        "switched off. As root, run `sysctl -w kernel.unprivileged_userns_clone=1` (Debian), `sysctl -w "
        "kernel.apparmor_restrict_unprivileged_userns=0` (Ubuntu), `sysctl -w user.max_user_namespaces=10000` "
        "(elsewhere). If you are in a container, start it with the right to create them and to mount /proc "
        "(docs/containers.md). " + _WHAT_NOW
    )


def start(
    folder: Path | None,
    hidden: Sequence[Path],
    sockets: Path,
    control: int,
    complaints: IO[bytes],
) -> subprocess.Popen[bytes]:
    """Starts the preloaded process in a new container.

    Args:
        folder: the lab's release, whose data files a notebook may read.
        hidden: folders that stay invisible even if they lie inside one that is shown, such as the system's.
        sockets: folder in which kernels bind their sockets; the only one that can be written to.
        control: file descriptor of the control socket.
        complaints: file for messages about anything that goes wrong at the start.

    Raises:
        GraderError: the sandbox cannot be set up on this machine.
    """
    command = [bubblewrap(), "--unshare-user", "--unshare-ipc", "--unshare-pid", "--unshare-net"]
    command += ["--unshare-uts", "--unshare-cgroup-try", "--hostname", "sandbox"]
    command += ["--new-session", "--die-with-parent", "--clearenv", "--cap-drop", "ALL"]
    command += [part for name in _CAPABILITIES for part in ("--cap-add", name)]
    command += _files(folder, hidden, sockets)
    people = {path: _in_memory(text) for path, text in _PEOPLE.items()}
    for path, file in people.items():
        command += ["--perms", "0644", "--ro-bind-data", str(file), path]
    command += ["--remount-ro", "/dev", "--remount-ro", "/", "--chdir", "/"]
    for name, value in environment().items():
        command += ["--setenv", name, value]
    given = [control, *people.values()]
    learner = _learner() if os.getuid() == 0 else 0
    mapping = _Mapping(learner) if learner else None
    if mapping:
        os.chown(sockets, learner, learner)
        command += ["--userns-block-fd", str(mapping.go), "--info-fd", str(mapping.information)]
        given += [mapping.go, mapping.information]
    elif os.getuid() == 0:  # in a namespace with only one number, an ordinary user's outside
        command += ["--uid", "1000", "--gid", "1000"]
    # -P: no module can be slipped in from the current folder
    command += ["--", str(_straight(sys.executable)), "-P", str(_straight(INSIDE)), str(control)]
    process = subprocess.Popen(
        command, pass_fds=given, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=complaints
    )
    for file in people.values():
        os.close(file)
    if mapping:
        try:
            mapping.write()
        except (OSError, ValueError) as error:
            with suppress(subprocess.TimeoutExpired):
                if (
                    process.wait(1) == -signal.SIGKILL
                ):  # by somebody, or because memory ran out: the caller that waits for it says so
                    return process
            process.kill()
            process.wait()
            raise refused(said(complaints) or f"user numbers could not be mapped ({error}).") from None
    return process


def said(complaints: IO[bytes]) -> str:
    """What the preloaded process and bubblewrap wrote to stderr."""
    complaints.seek(0)
    return complaints.read().decode(errors="replace").strip()


def _files(folder: Path | None, hidden: Sequence[Path], sockets: Path) -> list[str]:
    shown = [sys.prefix, sys.base_prefix, Path(sys.executable).resolve().parents[1]]
    shown = [_straight(path) for path in (*shown, Path(course_utils.__file__).parent, INSIDE)]
    shown = [path for path in dict.fromkeys(shown) if not path.is_relative_to("/usr")]
    arguments = ["--ro-bind", "/usr", "/usr", "--dir", "/etc", "--dir", "/run", "--dir", "/home"]
    arguments += ["--tmpfs", "/tmp", "--tmpfs", "/home/learner"]  # first: what is shown may be in there
    for name in _SYSTEM:
        if os.path.islink(name):
            arguments += ["--symlink", os.readlink(name), name]
        elif os.path.isdir(name):
            arguments += ["--ro-bind", name, name]
    for name in _SETTINGS:
        arguments += ["--ro-bind-try", f"/etc/{name}", f"/etc/{name}"]
    for path in shown:
        for above in reversed(path.parents[:-1]):  # otherwise only root could look into them
            arguments += ["--dir", str(above)]
        arguments += ["--ro-bind", str(path), str(path)]
    # shared mappings of the real /dev/zero would be memory that no limit counts
    arguments += ["--proc", "/proc", "--dev", "/dev", "--dev-bind", "/dev/null", "/dev/zero"]
    places = {
        seen / path.relative_to(seen.resolve())  # the environment may be shown under a link's name
        for path in map(Path.resolve, hidden)
        for seen in (Path("/usr"), *shown)
        if path.is_relative_to(seen.resolve()) and path.is_dir()
    }
    for place in map(str, sorted(places)):
        arguments += ["--tmpfs", place, "--remount-ro", place]
    arguments += ["--bind", str(sockets), "/run/sockets", "--dir", "/lab"]
    for file in sorted(folder.iterdir()) if folder else []:
        if file.suffix != ".ipynb" and file.name != FILE_NAME and not file.name.startswith("."):
            arguments += ["--ro-bind", str(file.resolve()), f"/lab/{file.name}"]
    return arguments


def _straight(path: str | Path) -> Path:
    """The same path without any ``..``, through which bubblewrap cannot make folders. Links after the last one stay links: an
    environment's Python is one, and it finds its packages by where the link is.
    """
    parts = Path(path).parts
    if ".." not in parts:
        return Path(path)
    after = len(parts) - parts[::-1].index("..")
    return Path(*parts[:after]).resolve().joinpath(*parts[after:])


def environment() -> dict[str, str]:
    """The environment variables of a learner's process: all that it knows of the world outside."""
    # MALLOC_ARENA_MAX: a thread's own heap never shrinks, so that what one cell frees would be lost to the next
    return ONE_THREAD | {
        "MALLOC_ARENA_MAX": "1",
        "TF_CPP_MIN_LOG_LEVEL": "3",
        "CUDA_VISIBLE_DEVICES": "",
        "HF_HUB_OFFLINE": "1",
        "PATH": "/usr/local/bin:/usr/bin:/bin",
        "HOME": "/home/learner",
        "IPYTHONDIR": "/tmp/ipython",
        "JUPYTER_PLATFORM_DIRS": "1",
        "LANG": "C.UTF-8",
        "MPLBACKEND": "module://matplotlib_inline.backend_inline",
        "MPLCONFIGDIR": "/tmp/matplotlib",
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONHASHSEED": "0",
        "PYTHONNOUSERSITE": "1",
    }


def _in_memory(text: str) -> int:
    """A file descriptor to read a text from."""
    file = os.memfd_create("sandbox")
    os.write(file, text.encode())
    os.lseek(file, 0, os.SEEK_SET)
    return file


def _learner() -> int:
    """The user and group number for learners; 0 if root's own is the only one."""

    def highest(file: str) -> int:
        lines = Path(f"/proc/self/{file}").read_text().splitlines()
        ranges = [tuple(map(int, line.split())) for line in lines]
        return max(min(first + count - 1, _LEARNERS) for first, _, count in ranges if first <= _LEARNERS)

    return min(highest("uid_map"), highest("gid_map"))


class _Mapping:
    """The user numbers of a container that root starts: root's own, and one for learners.

    Learners cannot have root's number: the system exempts it from the limit on processes, and lets it read files
    that only root may read.
    """

    def __init__(self, learner: int) -> None:
        self.learner = learner
        self.go, self._go = os.pipe()
        self._information, self.information = os.pipe()

    def write(self) -> None:
        """
        Raises:
            OSError, ValueError: bubblewrap has ended, or the system refuses.
        """
        os.close(self.go)
        os.close(self.information)
        with os.fdopen(self._information) as file, os.fdopen(self._go, "wb") as go:
            pid = json.load(file)["child-pid"]
            for name in ("uid_map", "gid_map"):
                Path(f"/proc/{pid}/{name}").write_text(f"0 0 1\n1000 {self.learner} 1\n")
            go.write(b"go")
