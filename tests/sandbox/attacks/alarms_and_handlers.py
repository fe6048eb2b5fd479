"""Timers, signal handlers and wake-up descriptors that outlive their cell and strike in the check."""

EXTRA = [
    """
import faulthandler, os, signal, sys, threading
signal.signal(signal.SIGALRM, lambda *a: sys.exit("alarm"))
signal.setitimer(signal.ITIMER_REAL, 0.05, 0.001)
signal.setitimer(signal.ITIMER_PROF, 0.05, 0.01)
signal.signal(signal.SIGPROF, lambda *a: os.write(1, b"prof"))
faulthandler.dump_traceback_later(0.1, repeat=True, file=open("/tmp/trace", "w"))
threading.Timer(0.2, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
print("TRIED", flush=True)
"""
]
STATE = ("graded", "timed out", "crashed")
POINTS = (0, 5)
