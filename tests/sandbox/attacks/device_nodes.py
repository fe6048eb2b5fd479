"""Devices: memory, kernel log, disks, terminals; and device nodes of one's own."""

EXTRA = [
    """
import fcntl, glob, os, stat
for path in ("/dev/mem", "/dev/kmem", "/dev/port", "/dev/kmsg", "/dev/fuse", "/dev/kvm", "/dev/vsock", "/dev/vda", "/dev/sda", "/dev/loop0",
             "/dev/net/tun", "/dev/userfaultfd", "/dev/console", "/dev/tty", "/dev/nvidia0", "/dev/dri/card0", "/dev/snd/timer", "/dev/mapper/control"):
    attempt("open " + path, lambda: os.open(path, os.O_RDWR | os.O_NONBLOCK))
for number, name in ((os.makedev(1, 1), "mem"), (os.makedev(1, 11), "kmsg"), (os.makedev(254, 0), "disk")):
    for folder in ("/tmp", "/dev/shm", "."):
        attempt(f"mknod {folder}/{name}", lambda: os.mknod(f"{folder}/{name}", 0o666 | stat.S_IFBLK if name == "disk" else 0o666 | stat.S_IFCHR, number) or "made")
for descriptor in (0, 1, 2):
    attempt("type on a terminal", lambda: fcntl.ioctl(descriptor, 0x5412, b"x"))
allowed = {"null", "zero", "full", "random", "urandom", "tty", "ptmx", "pts", "shm", "fd", "stdin", "stdout", "stderr", "core", "console", "mqueue"}
odd = set(os.listdir("/dev")) - allowed
print("REACHED" if odd else "TRIED", odd)
"""
]
POINTS = "all"
