"""memfd, /dev/shm, /tmp and the home folder are filled, two gigabytes at most."""

EXTRA = [
    """
import os
block, all_written = b"x" * 2**20, 0
attempt("memfd", lambda: os.memfd_create("x"))
for folder in ("/dev/shm", "/tmp", "/home/learner", "/home/learner/work", "/run", "/dev", "/"):
    written = 0
    try:
        for number in range(10):
            with open(f"{folder}/@MARKER@{number}", "wb") as file:
                for _ in range(30):
                    written += file.write(block)
                    file.flush()
    except OSError as error:
        print("TRIED", folder, written // 2**20, "MiB", error)
    all_written += written
print("REACHED" if all_written > 160 * 2**20 else "TRIED", all_written // 2**20, "MiB in all")
"""
]
POINTS = "all"
