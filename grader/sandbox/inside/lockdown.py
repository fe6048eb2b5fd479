"""What the operating system's kernel is asked to refuse to a learner's process: limits, rights and system calls.

Runs inside the sandbox and imports the standard library only.
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import os
import platform
import resource
import signal
import struct

_libc = ctypes.CDLL(None, use_errno=True)

NEW_MOUNTS, NEW_CGROUP, NEW_UTS, NEW_IPC = 0x00020000, 0x02000000, 0x04000000, 0x08000000
NEW_USER, NEW_PID, NEW_NETWORK = 0x10000000, 0x20000000, 0x40000000
_NEW_ANYTHING = NEW_MOUNTS | NEW_CGROUP | NEW_UTS | NEW_IPC | NEW_USER | NEW_PID | NEW_NETWORK

READ_ONLY, NO_SUID, NO_DEVICES, NO_EXECUTION, RECURSIVE, PRIVATE = 1, 2, 4, 8, 0x4000, 0x40000
BIND = 0x1000

_DUMPABLE, _NO_NEW_PRIVILEGES, _DROP_BOUNDING = 4, 38, 24
_SECCOMP, _FILTER = 22, 2
_SET_FILTER, _NEW_LISTENER = 1, 8
_RECEIVE, _SEND, _GO_ON = 0xC0502100, 0xC0182101, 1  # see seccomp_unotify(2)
_REQUEST_BYTES, _SECOND_ARGUMENT = 80, 40
_NO_WAITING = 2  # SA_NOCLDWAIT


def _call(name: str, *arguments: object) -> None:
    if getattr(_libc, name)(*arguments) != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{name}: {os.strerror(number)}")


def unshare(flags: int) -> None:
    _call("unshare", ctypes.c_int(flags))


def mount(source: str, target: str, kind: str, flags: int = 0, options: str = "") -> None:
    """
    Raises:
        OSError: the system refuses.
    """
    texts = (source.encode(), target.encode(), kind.encode())
    _call("mount", *texts, ctypes.c_ulong(flags), options.encode())


def own_proc() -> None:
    """Lets the caller use /proc/self again after a change of user has taken that away."""
    _call("prctl", _DUMPABLE, 1, 0, 0, 0)


def enter_own_user_namespace(number: int) -> None:
    """Gives the caller this user and group number in a namespace of its own, in which no further one can be made."""
    maps = {"uid_map": f"{number} {os.getuid()} 1", "gid_map": f"{number} {os.getgid()} 1"}
    unshare(NEW_USER)
    for name, text in {"setgroups": "deny", **maps}.items():
        with open(f"/proc/self/{name}", "w") as file:
            file.write(text)
    with open("/proc/sys/user/max_user_namespaces", "w") as file:
        file.write("0")


def limit(memory: int, processes: int, file_bytes: int, files: int, cpu_seconds: int) -> None:
    """Sets the limits of each process; ``memory`` is in bytes, on top of what the preloaded process already uses."""
    with open("/proc/self/status") as status:
        data = next(int(line.split()[1]) for line in status if line.startswith("VmData:")) * 1024
    for name, wanted in {
        resource.RLIMIT_DATA: data + memory,
        resource.RLIMIT_NPROC: processes,
        resource.RLIMIT_FSIZE: file_bytes,
        resource.RLIMIT_NOFILE: files,
        resource.RLIMIT_CPU: cpu_seconds,
        resource.RLIMIT_MEMLOCK: 0,
        resource.RLIMIT_MSGQUEUE: 0,
        resource.RLIMIT_CORE: 0,
    }.items():
        hard = resource.getrlimit(name)[1]
        most = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        resource.setrlimit(name, (most, most))


def give_up_rights() -> int | None:
    """Drops every capability for good, and forbids calls that no notebook needs. To be called before any thread starts.

    Returns:
        A file descriptor: the process that has it is asked whenever a process wants to change what happens when a child ends (see
        :func:`decide`). None where the system has no such thing: then nobody can change it.
    """
    capability = 0
    while _libc.prctl(_DROP_BOUNDING, capability, 0, 0, 0) == 0:
        capability += 1
    header, none = struct.pack("<Ii", 0x20080522, 0), bytes(24)  # version 3; all three sets empty
    _call("capset", header, none)
    _call("prctl", _NO_NEW_PRIVILEGES, 1, 0, 0, 0)
    return _forbid_calls()


# ---------------------------------------------------------------------------------- seccomp

# Calls that make namespaces or mounts, look into other processes, reach rarely used parts of the kernel, hold memory
# that no limit counts (memfd, System V shared memory and messages), or tell when somebody else opens a visible file
# (inotify). The numbers are from arch/x86/entry/syscalls/syscall_64.tbl and include/uapi/asm-generic/unistd.h of the
# Linux source.
_FORBIDDEN = {
    "x86_64": {
        "shmget": 29, "semget": 64, "msgget": 68, "ptrace": 101, "syslog": 103, "personality": 135,
        "modify_ldt": 154, "pivot_root": 155, "chroot": 161, "acct": 163, "mount": 165,
        "umount2": 166, "swapon": 167, "init_module": 175, "quotactl": 179, "io_setup": 206, "mbind": 237,
        "kexec_load": 246, "add_key": 248, "request_key": 249, "keyctl": 250, "migrate_pages": 256,
        "inotify_init": 253, "unshare": 272, "splice": 275, "vmsplice": 278, "move_pages": 279, "inotify_init1": 294,
        "perf_event_open": 298, "fanotify_init": 300,
        "open_by_handle_at": 304, "setns": 308, "process_vm_readv": 310, "process_vm_writev": 311,
        "kcmp": 312, "finit_module": 313, "memfd_create": 319, "kexec_file_load": 320, "bpf": 321,
        "userfaultfd": 323, "io_uring_setup": 425, "io_uring_enter": 426, "io_uring_register": 427,
        "open_tree": 428, "move_mount": 429, "fsopen": 430, "fsconfig": 431, "fsmount": 432, "fspick": 433,
        "pidfd_getfd": 438, "mount_setattr": 442, "quotactl_fd": 443, "memfd_secret": 447,
        "open_tree_attr": 467,
    },
    "aarch64": {
        "io_setup": 0, "inotify_init1": 26, "umount2": 39, "mount": 40, "pivot_root": 41, "chroot": 51, "quotactl": 60,
        "vmsplice": 75, "splice": 76, "acct": 89, "personality": 92, "unshare": 97, "kexec_load": 104, "init_module": 105,
        "syslog": 116, "ptrace": 117, "msgget": 186, "semget": 190, "shmget": 194,
        "add_key": 217, "request_key": 218, "keyctl": 219, "swapon": 224, "mbind": 235,
        "migrate_pages": 238, "move_pages": 239, "perf_event_open": 241, "fanotify_init": 262,
        "open_by_handle_at": 265, "setns": 268, "process_vm_readv": 270, "process_vm_writev": 271,
        "kcmp": 272, "finit_module": 273, "memfd_create": 279, "bpf": 280, "userfaultfd": 282,
        "kexec_file_load": 294, "io_uring_setup": 425, "io_uring_enter": 426, "io_uring_register": 427,
        "open_tree": 428, "move_mount": 429, "fsopen": 430, "fsconfig": 431, "fsmount": 432, "fspick": 433,
        "pidfd_getfd": 438, "mount_setattr": 442, "quotactl_fd": 443, "memfd_secret": 447,
        "open_tree_attr": 467,
    },
}  # fmt: skip
_CLONE = {"x86_64": 56, "aarch64": 220}
_CLONE3 = 435
_MMAP = {"x86_64": 9, "aarch64": 222}
_SHARED_ANONYMOUS = 0x01 | 0x20
_FCNTL = {"x86_64": 72, "aarch64": 25}
_LEASE, _NOTIFY = 1024, 1026
_SIGACTION = {"x86_64": 13, "aarch64": 134}
_SECCOMP_CALL = {"x86_64": 317, "aarch64": 277}
_SOCKET = {"x86_64": 41, "aarch64": 198}
_FAMILIES = (1, 2, 10, 16)  # Unix, IPv4, IPv6, netlink
_ARCHITECTURE = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}

_LOAD, _AND, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x54, 0x15, 0x35, 0x45, 0x06  # classic BPF
_ALLOW, _ASK, _KILL, _ERROR = 0x7FFF0000, 0x7FC00000, 0x80000000, 0x00050000
_NOT_PERMITTED, _NOT_THERE, _NO_SUCH_FAMILY = 1, 38, 97


def _instruction(code: int, value: int, if_true: int = 0, if_false: int = 0) -> bytes:
    return struct.pack("<HBBI", code, if_true, if_false, value)


def _filter(machine: str, at_sigchld: int) -> bytes:
    """The BPF program; see seccomp(2). Offsets in its data: 0 is the call number, 4 the architecture; of the arguments, 16
    is the first, 24 the second and 40 the fourth.

    Args:
        at_sigchld: what becomes of a call that would change what happens when a child ends.
    """
    program = [
        _instruction(_LOAD, 4),
        _instruction(_EQUAL, _ARCHITECTURE[machine], 1, 0),
        _instruction(_RETURN, _KILL),  # 32-bit calls have other numbers
        _instruction(_LOAD, 0),
    ]
    if machine == "x86_64":
        program += [_instruction(_AT_LEAST, 0x40000000, 0, 1), _instruction(_RETURN, _KILL)]  # x32
    for number in _FORBIDDEN[machine].values():
        program += [_instruction(_EQUAL, number, 0, 1), _instruction(_RETURN, _ERROR | _NOT_PERMITTED)]
    # clone3 hides its flags behind a pointer: the C library falls back to clone, whose flags can be read
    program += [_instruction(_EQUAL, _CLONE3, 0, 1), _instruction(_RETURN, _ERROR | _NOT_THERE)]
    # memory that stays allocated when no process maps it any longer, so that watching the processes would miss it
    program += [
        _instruction(_EQUAL, _MMAP[machine], 0, 5),
        _instruction(_LOAD, 40),
        _instruction(_AND, _SHARED_ANONYMOUS),
        _instruction(_EQUAL, _SHARED_ANONYMOUS, 0, 1),
        _instruction(_RETURN, _ERROR | _NOT_PERMITTED),
        _instruction(_RETURN, _ALLOW),
    ]
    # these, too, tell when somebody else opens a file
    program += [
        _instruction(_EQUAL, _FCNTL[machine], 0, 5),
        _instruction(_LOAD, 24),
        _instruction(_EQUAL, _LEASE, 1, 0),
        _instruction(_EQUAL, _NOTIFY, 0, 1),
        _instruction(_RETURN, _ERROR | _NOT_PERMITTED),
        _instruction(_RETURN, _ALLOW),
    ]
    # a child that nobody has to wait for would take the CPU time that it has used with it
    program += [
        _instruction(_EQUAL, _SIGACTION[machine], 0, 8),
        _instruction(_LOAD, 16),
        _instruction(_EQUAL, signal.SIGCHLD, 0, 5),
        _instruction(_LOAD, 24),  # the second argument, a pointer of 64 bits: null if it only asks
        _instruction(_ANY_BIT, 0xFFFFFFFF, 2, 0),
        _instruction(_LOAD, 28),
        _instruction(_ANY_BIT, 0xFFFFFFFF, 0, 1),
        _instruction(_RETURN, at_sigchld),
        _instruction(_RETURN, _ALLOW),
    ]
    # vsock above all must be refused: it ignores network namespaces
    program += [_instruction(_EQUAL, _SOCKET[machine], 0, 3 + len(_FAMILIES)), _instruction(_LOAD, 16)]
    program += [_instruction(_EQUAL, family, len(_FAMILIES) - i, 0) for i, family in enumerate(_FAMILIES)]
    program += [_instruction(_RETURN, _ERROR | _NO_SUCH_FAMILY), _instruction(_RETURN, _ALLOW)]
    program += [
        _instruction(_EQUAL, _CLONE[machine], 0, 3),
        _instruction(_LOAD, 16),
        _instruction(_ANY_BIT, _NEW_ANYTHING, 0, 1),
        _instruction(_RETURN, _ERROR | _NOT_PERMITTED),
        _instruction(_RETURN, _ALLOW),
    ]
    return b"".join(program)


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.c_void_p))


def _forbid_calls() -> int | None:
    machine = platform.machine()
    if machine not in _FORBIDDEN:  # the namespaces and limits still hold
        return None
    listener = _libc.syscall(
        _SECCOMP_CALL[machine], _SET_FILTER, _NEW_LISTENER, ctypes.byref(_program(_filter(machine, _ASK)))
    )
    if listener >= 0:
        return listener
    # an old kernel, or the process that has started us already listens: the call then does nothing, and says that it was done
    _call("prctl", _SECCOMP, _FILTER, ctypes.byref(_program(_filter(machine, _ERROR))), 0, 0)
    return None


def _program(code: bytes) -> _Program:
    program = _Program(len(code) // 8, None)
    program.code = ctypes.create_string_buffer(code, len(code))  # kept as long as the program is
    program.filter = ctypes.addressof(program.code)
    return program


def decide(listener: int) -> None:
    """Answers a process that wants to change what happens when one of its children ends.

    Handlers are installed: multiprocessing and shells need them. To ignore the end of children is only said to be done,
    because the system would forget at once what CPU time they have used. The same if another thread could change
    what has been read here.
    """
    request = bytearray(_REQUEST_BYTES)
    with contextlib.suppress(OSError):  # the process that asked has ended meanwhile
        fcntl.ioctl(listener, _RECEIVE, request)
        number, pid = struct.unpack_from("<QI", request)
        (action,) = struct.unpack_from("<Q", request, _SECOND_ARGUMENT)
        go_on = _GO_ON if _keeps_the_books(pid, action) else 0
        fcntl.ioctl(listener, _SEND, struct.pack("<QqiI", number, 0, 0, go_on))


def _keeps_the_books(pid: int, action: int) -> bool:
    """Whether the CPU time of this process's children is still counted once it has this action (an address) for SIGCHLD."""
    try:
        with open(f"/proc/{pid}/status") as status:
            alone = "Threads:\t1\n" in status.readlines()
        with open(f"/proc/{pid}/mem", "rb", buffering=0) as memory:
            handler, flags = struct.unpack("<QQ", os.pread(memory.fileno(), 16, action))
    except (OSError, OverflowError, struct.error):
        return False
    return alone and handler != signal.SIG_IGN and not flags & _NO_WAITING
