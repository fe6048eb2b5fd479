"""System V shared memory, filled and detached, two gigabytes at most."""

EXTRA = [
    """
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
libc.shmat.restype = ctypes.c_void_p
begin()
held = 0
for number in range(64):
    segment = libc.shmget(0, 32 * 2**20, 0o1600)
    if segment < 0:
        break
    address = libc.shmat(segment, None, 0)
    if address in (None, ctypes.c_void_p(-1).value):
        break
    ctypes.memset(address, 1, 32 * 2**20)
    libc.shmdt(ctypes.c_void_p(address))
    held += 32
if held > 700:
    print("REACHED", held, "MiB", flush=True)
"""
]
STATE = ("out of memory", "graded")
POINTS = "all"
