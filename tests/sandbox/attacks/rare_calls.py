"""Calls into rarely used parts of the system: io_uring, bpf, perf, userfaultfd, keys, modules, fanotify."""

EXTRA = [
    """
import ctypes
room = ctypes.create_string_buffer(256)
for name, number, *arguments in (
    ("io_uring_setup", 425, 8, room), ("bpf", 321, 0, room, 72), ("perf_event_open", 298, room, 0, -1, -1, 0),
    ("userfaultfd", 323, 0), ("memfd_create", 319, b"x", 0), ("memfd_secret", 447, 0), ("fanotify_init", 300, 0, 0),
    ("add_key", 248, b"user", b"@MARKER@", b"x", 1, -3), ("keyctl", 250, 0, -3, 0), ("request_key", 249, b"user", b"x", 0, -3),
    ("init_module", 175, room, 1, b""), ("finit_module", 313, 0, b"", 0), ("kexec_load", 246, 0, 0, 0, 0), ("reboot", 169, 0, 0, 0, 0),
    ("acct", 163, b"/tmp/x"), ("syslog read", 103, 3, room, 200), ("iopl", 172, 3), ("ioperm", 173, 0, 1, 1), ("sethostname", 170, b"x", 1),
    ("clock_settime", 227, 0, room), ("settimeofday", 164, room, 0), ("personality", 135, 0x0040000), ("vmsplice", 278, 1, room, 0, 0),
    ("splice", 275, 0, 0, 0, 0, 0, 0), ("lookup_dcookie", 212, 0, room, 10), ("mbind", 237, 0, 0, 0, 0, 0, 0)):
    attempt(name, lambda: call(number, *arguments))
"""
]
POINTS = "all"
