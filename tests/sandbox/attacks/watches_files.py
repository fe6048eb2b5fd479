"""Watches who opens the system's files, and its own: inotify, fanotify, dnotify, leases."""

EXTRA = [
    """
import fcntl, os
attempt("inotify_init", lambda: call(253))
attempt("inotify_init1", lambda: call(294, 0))
attempt("fanotify_init", lambda: call(300, 0, 0))
open("/tmp/own", "w").close()
for path in ("/usr/bin", "/", os.__file__, "/tmp", "/tmp/own"):
    file = os.open(path, os.O_RDONLY)
    attempt("notify " + path, lambda: fcntl.fcntl(file, fcntl.F_NOTIFY, fcntl.DN_ACCESS | fcntl.DN_MULTISHOT))
    attempt("lease " + path, lambda: fcntl.fcntl(file, fcntl.F_SETLEASE, fcntl.F_RDLCK))
fcntl.fcntl(file, fcntl.F_SETFL, os.O_NONBLOCK)  # what else it is for goes on working
fcntl.lockf(os.open("/tmp/own", os.O_RDWR), fcntl.LOCK_EX | fcntl.LOCK_NB)
print("TRIED the rest", fcntl.fcntl(file, fcntl.F_GETFL) & os.O_NONBLOCK)
"""
]
PROBE = "TRIED the rest 2048"
POINTS = "all"
