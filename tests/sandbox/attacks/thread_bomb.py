"""Threads without end."""

EXTRA = [
    """
import threading, time
made = 0
try:
    for _ in range(1000):
        threading.Thread(target=time.sleep, args=(30,), daemon=True).start()
        made += 1
except RuntimeError as error:
    print("TRIED", made, error)
if made > 400:
    print("REACHED", made)
"""
]
POINTS = "all"
