"""Links, hard and symbolic, from the work folder to what must not be read or changed."""

EXTRA = [
    """
import os, sys
import course_utils
check = os.path.dirname(course_utils.__file__) + "/checking/check.py"
for target in ("@COURSE@/grading/gradebook.db", "@HOME@/secret.txt", "@TMP@", "/proc/1/root", "@SOCKET@"):
    os.symlink(target, "link")
    attempt("read through a link to " + target, lambda: os.listdir("link") and open("link").read() if "root" not in target else open("link/@TMP@").read())
    os.unlink("link")
for target in (check, sys.executable, "/etc/passwd", "/usr/bin/su"):
    attempt("hard link to " + target, lambda: os.link(target, "hard"))
    attempt("hard link by descriptor", lambda: os.link(f"/proc/self/fd/{os.open(target, os.O_RDONLY)}", "hard2", follow_symlinks=True))
    attempt("write through a descriptor", lambda: os.open(f"/proc/self/fd/{os.open(target, os.O_RDONLY)}", os.O_RDWR))
os.symlink("@COURSE@/grading", "left-behind")
"""
]
POINTS = "all"
