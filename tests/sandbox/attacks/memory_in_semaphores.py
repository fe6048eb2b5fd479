"""System V semaphores and message queues by the thousand, which are memory of the kernel's own."""

EXTRA = [
    """
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
sets = 0
while sets < 300 and libc.semget(0, 32000, 0o1600) >= 0:
    sets += 1
queues, message = 0, ctypes.create_string_buffer(b"\\x01" + bytes(7) + b"x" * 8000)
for _ in range(4000):
    queue = libc.msgget(0, 0o1600)
    if queue < 0 or libc.msgsnd(queue, message, 8000, 0o4000) < 0:
        break
    queues += 1
print("TRIED", sets, queues)
if sets * 32000 * 64 > 300 * 2**20 or queues > 1000:
    print("REACHED", sets * 32000 * 64 // 2**20, "MiB in semaphores,", queues * 8000 // 2**20, "in queues")
"""
]
POINTS = "all"
