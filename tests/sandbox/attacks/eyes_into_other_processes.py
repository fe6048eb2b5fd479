"""ptrace, process_vm_readv, pidfd_getfd and kcmp, on oneself, a child and everybody else."""

EXTRA = [
    """
import ctypes, os, time
child = os.fork()
if child == 0:
    time.sleep(20)
    os._exit(0)
for name, number, *arguments in (
    ("ptrace attach", 101, 16, child, 0, 0), ("ptrace seize", 101, 0x4206, child, 0, 0), ("ptrace traceme", 101, 0, 0, 0, 0),
    ("process_vm_readv", 310, child, 0, 0, 0, 0, 0), ("process_vm_writev", 311, child, 0, 0, 0, 0, 0),
    ("pidfd_getfd", 438, os.pidfd_open(child), 0, 0), ("kcmp", 312, child, 1, 0, 0, 0),
    ("migrate_pages", 256, child, 0, 0, 0), ("move_pages", 279, child, 0, 0, 0, 0, 0), ("ptrace 1", 101, 16, 1, 0, 0)):
    attempt(name, lambda: call(number, *arguments))
os.kill(child, 9); os.waitpid(child, 0)
"""
]
POINTS = "all"
