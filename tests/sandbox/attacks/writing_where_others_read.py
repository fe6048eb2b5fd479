"""Python's packages, the course's modules, the lab's data and system files are written to."""

EXTRA = [
    """
import course_utils, numpy, os, sys
packages = os.path.dirname(os.path.dirname(numpy.__file__))
own = os.path.dirname(course_utils.__file__)
for path in (f"{packages}/@MARKER@.pth", f"{packages}/sitecustomize.py", f"{packages}/numpy/__init__.py", f"{own}/checking/check.py",
             f"{own}/@MARKER@.py", f"{own}/__pycache__/check.cpython-311.pyc", "/lab/@MARKER@", "/etc/passwd", "/etc/ld.so.preload",
             "/usr/bin/@MARKER@", "/run/sockets/@MARKER@", "/run/@MARKER@", "/@MARKER@", "/dev/@MARKER@", "/home/@MARKER@", sys.executable):
    attempt("write " + path, lambda: open(path, "ab").write(b"print('REACHED')"))
    attempt("chmod " + path, lambda: os.chmod(path, 0o777))
    attempt("rename " + path, lambda: os.rename(path, path + ".old"))
for folder in (packages, own, "/lab", "/run/sockets", "/usr"):
    attempt("mkdir in " + folder, lambda: os.mkdir(folder + "/@MARKER@"))
    attempt("set times of " + folder, lambda: os.utime(folder))
"""
]
POINTS = "all"
