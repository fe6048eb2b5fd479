"""/proc: environments, memory, descriptors and roots of other processes, and the kernel's memory."""

EXTRA = [
    """
import glob, os
others = [p for p in os.listdir("/proc") if p.isdigit() and int(p) != os.getpid()]
print("TRIED others:", others)
if len(others) > 0:
    print("REACHED", others)
for path in ("/proc/@GRADER@/environ", "/proc/@GRADER@/root/etc/passwd", "/proc/@GRADER@/mem", "/proc/kcore",
             "/proc/kmsg", "/proc/kpagecount", "/proc/kpageflags", "/proc/1/root/@TMP@"):
    attempt("read " + path, lambda: open(path, "rb").read(100))
for path in glob.glob("/proc/self/fd/*") + glob.glob("/proc/self/task/*/fd/*"):
    try:
        target = os.readlink(path)
    except OSError:
        continue
    if target.startswith("/") and not target.startswith(("/dev/null", "/dev/urandom", "/proc/", "/tmp/", "/home/learner")):
        print("REACHED", path, target)
secret = [name for name, value in os.environ.items() if "CANARY" in value or name in ("GRADER_TOKEN",)]
print("REACHED" if secret else "TRIED", secret, len(open("/proc/self/environ").read()) > 0)
for entry in glob.glob("/proc/self/map_files/*")[:20]:
    attempt("open a mapped file", lambda: os.open(entry, os.O_RDWR))
"""
]
POINTS = "all"
