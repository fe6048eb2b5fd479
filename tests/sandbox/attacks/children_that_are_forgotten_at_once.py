"""Processor time of short-lived children that the system would forget at once: in every way that a process can ask for that."""

EXTRA = [
    """
import ctypes, os, signal, time

class Action(ctypes.Structure):
    _fields_ = [("handler", ctypes.c_void_p), ("mask", ctypes.c_char * 128), ("flags", ctypes.c_int), ("restorer", ctypes.c_void_p)]

def forget_children():
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    ctypes.CDLL(None).sigaction(17, ctypes.byref(Action(0, b"", 2, 0)), None)  # SA_NOCLDWAIT

def burn(seconds):
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass

def chain(until):
    \"\"\"Children that end between two looks of whoever counts, one after the other.\"\"\"
    while time.monotonic() < until:
        if os.fork() == 0:
            burn(0.01)
            os._exit(0)
        with contextlib.suppress(ChildProcessError):
            os.wait()

print("TRIED", flush=True)
forget_children()
until = time.monotonic() + 60
if os.fork() == 0:  # a daemon: its parent ends, it ignores its children on its own account, and starts grandchildren
    os.setsid()
    if os.fork() == 0:
        forget_children()
        chain(until)
    os._exit(0)
chain(until)
"""
]
STATE = "timed out"
POINTS = "all"
SECONDS = 45
