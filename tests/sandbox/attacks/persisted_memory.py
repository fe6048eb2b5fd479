"""Shared memory, semaphores, message queues and locks are left for one's next submission."""

EXTRA = [
    """
import ctypes, fcntl, os
libc = ctypes.CDLL(None, use_errno=True)
made = [libc.shmget(4711, 4096, 0o1666), libc.msgget(4711, 0o1666), libc.semget(4711, 1, 0o1666)]
named = libc.sem_open(b"/left", os.O_CREAT, 0o666, 1) if hasattr(libc, "sem_open") else 0
from multiprocessing import shared_memory
shared_memory.SharedMemory("left-over", create=True, size=4096)
import course_utils
for path in (course_utils.__file__, "/usr/bin/env", "/etc/passwd"):
    fcntl.flock(os.open(path, os.O_RDONLY), fcntl.LOCK_EX)
print("TRIED", made)
"""
]
SECOND_EXTRA = [
    """
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
found = [libc.shmget(4711, 4096, 0), libc.msgget(4711, 0), libc.semget(4711, 1, 0)]
print("REACHED" if max(found) >= 0 or os.listdir("/dev/shm") else "TRIED", found, os.listdir("/dev/shm"))
"""
]
POINTS = "all"
