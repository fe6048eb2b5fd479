"""Page tables for a terabyte of nothing: memory that belongs to no page of the process."""

EXTRA = [
    """
import ctypes, mmap
libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
begin()
size = 2**40
address = libc.mmap(None, size, mmap.PROT_READ, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | 0x4000, -1, 0)
def tables():
    return next(int(l.split()[1]) for l in open("/proc/self/status") if l.startswith("VmPTE")) // 1024
if address not in (None, ctypes.c_void_p(-1).value):
    for place in range(address, address + size, 2**21):
        ctypes.c_char.from_address(place).value
        if (place - address) % 2**32 == 0 and tables() > 600:
            print("REACHED", tables(), "MiB of page tables", flush=True)
            break
"""
]
STATE = ("graded", "out of memory", "timed out", "crashed")
POINTS = "all"
