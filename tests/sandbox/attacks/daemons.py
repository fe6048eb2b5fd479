"""Daemons, forked twice into sessions of their own, that wait for the next submission."""

EXTRA = [
    """
import os, signal, subprocess, sys, time
for number in range(5):
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            for each in range(1, 65):
                if each not in (9, 19, 32, 33):
                    signal.signal(each, signal.SIG_IGN)
            os.execv(sys.executable, [sys.executable, "-c", "import time; time.sleep(600)", "@MARKER@"])
        os._exit(0)
subprocess.Popen(["nohup", "setsid", "sleep", "600"], env={"NAME": "@MARKER@"}, stdout=subprocess.DEVNULL)
time.sleep(0.3)
print("TRIED", len([p for p in os.listdir("/proc") if p.isdigit()]) > 5)
"""
]
PROBE = "TRIED True"
POINTS = "all"
SECOND_EXTRA = [
    """
import os
others = [p for p in os.listdir("/proc") if p.isdigit() and int(p) != 1]
print("REACHED" if others else "TRIED", others)
"""
]
