"""Files are left for one's next submission, in every folder that can be written."""

EXTRA = [
    """
import os
left = 0
for folder in ("/", "/tmp", "/dev/shm", "/var/tmp", "/home/learner", "/home/learner/work", "/run", "/run/sockets", "/lab", "/dev", "/proc", "/dev/mqueue"):
    try:
        open(f"{folder}/left-@MARKER@", "w").write("left")
        left += 1
    except OSError:
        pass
os.chmod("/tmp", 0); os.chmod("/home/learner", 0)
print("TRIED", left)
"""
]
SECOND_EXTRA = [
    """
import glob, os
found = [p for p in glob.glob("/*/left-*") + glob.glob("/*/*/left-*") + glob.glob("/*/*/*/left-*") + glob.glob("/left-*")]
print("REACHED" if found else "TRIED", found)
"""
]
POINTS = "all"
