"""unshare, clone, clone3, setns, mount, chroot and pivot_root."""

EXTRA = [
    """
import ctypes, os
for flag in (0x00020000, 0x02000000, 0x04000000, 0x08000000, 0x10000000, 0x20000000, 0x40000000, 0x10020000, 0x80, 0):
    attempt(f"unshare {flag:#x}", lambda: call(272, flag) if flag != 0 else call(272, 0x10000000))
    attempt(f"clone {flag:#x}", lambda: call(56, (flag or 0x10000000) | 17, 0, 0, 0, 0) if flag != 0x80 else call(56, 0x30000011, 0, 0, 0, 0))
arguments = (ctypes.c_ulonglong * 11)(0x10000000, 0, 0, 0, 17)
attempt("clone3", lambda: call(435, arguments, 88))
attempt("setns", lambda: call(308, os.open("/proc/self/ns/user", os.O_RDONLY), 0))
attempt("mount tmpfs", lambda: call(165, b"none", b"/tmp", b"tmpfs", 0, b""))
attempt("remount", lambda: call(165, b"none", b"/", b"none", 0x1020, b""))
attempt("bind", lambda: call(165, b"/", b"/tmp", b"none", 0x1000, b""))
attempt("umount", lambda: call(166, b"/run/sockets", 2))
attempt("umount proc", lambda: call(166, b"/proc", 2))
attempt("chroot", lambda: call(161, b"/tmp"))
attempt("pivot_root", lambda: call(155, b"/tmp", b"/tmp"))
for name, number in (("open_tree", 428), ("move_mount", 429), ("fsopen", 430), ("fsconfig", 431), ("fsmount", 432), ("fspick", 433),
                     ("mount_setattr", 442), ("open_by_handle_at", 304), ("swapon", 167), ("quotactl", 179), ("open_tree_attr", 467)):
    attempt(name, lambda: call(number, b"tmpfs" if name == "fsopen" else -100, 0, 0, 0, 0))
"""
]
POINTS = "all"
