"""Many processes, each with less memory than the limit, all together with far more."""

EXTRA = [
    """
import os, time
begin()
reading, writing = os.pipe()
for _ in range(20):
    if os.fork() == 0:
        held = bytearray(b"x") * (100 * 2**20)
        os.write(writing, b"x")
        time.sleep(30)
        os._exit(0)
time.sleep(2)
os.set_blocking(reading, False)
print("REACHED", len(os.read(reading, 100)) * 100, "MiB")
"""
]
STATE = "out of memory"
POINTS = "all"
