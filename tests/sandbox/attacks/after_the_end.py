"""atexit, finalisers, threads and signal handlers that go on after the last cell."""

EXTRA = [
    """
import atexit, os, signal, threading, time, weakref
def go_on():
    end = time.monotonic() + 60
    while time.monotonic() < end:
        open("/tmp/@MARKER@", "a").write("x")
        time.sleep(0.01)
atexit.register(go_on)
for number in range(1, 65):
    try:
        signal.signal(number, lambda *a: go_on())
    except (OSError, ValueError):
        pass
threads = [threading.Thread(target=go_on) for _ in range(20)]
for thread in threads:
    thread.start()
class Last:
    def __del__(self): go_on()
last = Last()
print("TRIED", len(threads))
"""
]
POINTS = "all"
SECONDS = 24
