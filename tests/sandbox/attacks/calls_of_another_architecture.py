"""32-bit system calls, whose numbers no filter for 64 bits knows."""

EXTRA = [
    """
import ctypes, mmap, os
print("TRIED", flush=True)
child = os.fork()
if child == 0:
    code = bytes.fromhex("b814000000cd80c3")  # mov eax, 20 (getpid of 32 bits); int 0x80; ret
    room = mmap.mmap(-1, 4096, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    room.write(code)
    address = ctypes.addressof(ctypes.c_char.from_buffer(room))
    got = ctypes.CFUNCTYPE(ctypes.c_int)(address)()
    os._exit(77)
status = os.waitpid(child, 0)[1]
print("REACHED" if os.waitstatus_to_exitcode(status) == 77 else "TRIED", os.waitstatus_to_exitcode(status))
x32 = os.fork()
if x32 == 0:
    ctypes.CDLL(None).syscall(0x40000000 + 39)
    os._exit(77)
status = os.waitpid(x32, 0)[1]
print("REACHED" if os.waitstatus_to_exitcode(status) == 77 else "TRIED", os.waitstatus_to_exitcode(status))
"""
]
POINTS = "all"
