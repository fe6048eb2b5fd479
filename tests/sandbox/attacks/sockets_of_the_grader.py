"""The folder in which the kernel's sockets lie is used to take over or block the next kernel's."""

EXTRA = [
    """
import os, socket
print("TRIED", os.listdir("/run/sockets"))
for name in ("k-1", "k-2", "@MARKER@"):
    attempt("bind " + name, lambda: socket.socket(socket.AF_UNIX).bind("/run/sockets/" + name) or "bound")
    attempt("unlink " + name, lambda: os.unlink("/run/sockets/" + name) or "gone")
    attempt("mkfifo " + name, lambda: os.mkfifo("/run/sockets/" + name) or "made")
attempt("bind beside", lambda: socket.socket(socket.AF_UNIX).bind("/run/x") or "bound")
attempt("move the folder", lambda: os.rename("/run/sockets", "/run/old"))
"""
]
POINTS = "all"
