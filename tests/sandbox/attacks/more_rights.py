"""Setuid programs, set-user-id files of one's own, capabilities, other user numbers."""

EXTRA = [
    """
import ctypes, os, shutil, stat, subprocess
def output(*command):
    done = subprocess.run(command, capture_output=True, text=True, timeout=2, stdin=subprocess.DEVNULL)
    assert done.returncode == 0, done.stderr[-200:]
    return done.stdout
for command in (("su", "-c", "id"), ("sudo", "-n", "id"), ("mount", "-t", "tmpfs", "x", "/tmp"), ("ping", "-c1", "-W1", "127.0.0.1"),
                ("newgrp", "root"), ("unshare", "-Ur", "id"), ("nsenter", "-t", "1", "-m", "id"), ("bwrap", "--ro-bind", "/", "/", "id")):
    attempt(" ".join(command), lambda: output(*command))
for name in ("setuid", "setgid", "setreuid"):
    attempt(name, lambda: getattr(os, name)(*([0] * (2 if "re" in name else 1))) or "done")
attempt("setgroups", lambda: os.setgroups([0]) or "done")
attempt("chown", lambda: (open("mine", "w").close(), os.chown("mine", 0, 0)))
shutil.copy("/usr/bin/id", "/tmp/id")
os.chmod("/tmp/id", 0o6755)
attempt("own setuid file", lambda: [w for w in output("/tmp/id").split() if w.startswith(("euid=", "uid=0"))][0])
status = open("/proc/self/status").read()
rights = [line.split()[1] for line in status.splitlines() if line.startswith("Cap")]
print("REACHED" if any(int(right, 16) for right in rights) else "TRIED capabilities", rights)
header, data = (ctypes.c_uint * 2)(0x20080522, 0), (ctypes.c_uint * 6)(*[0xFFFFFFFF] * 6)
attempt("capset", lambda: call(126, header, data))
attempt("raise limits", lambda: __import__("resource").setrlimit(7, (10**6, 10**6)) or "raised")
attempt("lower niceness", lambda: os.nice(-5))
attempt("real-time", lambda: os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1)) or "done")
print("TRIED as", os.getuid() != 0, "NoNewPrivs:\\t1" in status, "Seccomp:\\t2" in status)
"""
]
PROBE = "TRIED as True True True"
POINTS = "all"
