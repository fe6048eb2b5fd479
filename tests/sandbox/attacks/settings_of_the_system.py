"""Settings under /proc/sys, sysrq, control groups, and limits of namespaces are written."""

EXTRA = [
    """
import glob, os
for path in ("/proc/sysrq-trigger", "/proc/sys/kernel/core_pattern", "/proc/sys/kernel/hostname", "/proc/sys/kernel/domainname",
             "/proc/sys/vm/drop_caches", "/proc/sys/vm/overcommit_memory", "/proc/sys/user/max_user_namespaces",
             "/proc/sys/net/ipv4/ip_forward", "/proc/sys/fs/mqueue/msg_max", "/proc/sys/kernel/shmmax", "/proc/sys/kernel/msgmni",
             "/proc/self/oom_score_adj", "/proc/1/oom_score_adj", "/proc/self/uid_map", "/proc/self/setgroups", "/proc/irq/0/smp_affinity",
             "/proc/self/attr/current", "/proc/acpi/wakeup", "/proc/bus/pci/00/00.0", "/sys/fs/cgroup/x", "/sys/kernel/x"):
    def write():
        text = open(path).read() if "sysrq" not in path else "h"
        return os.write(os.open(path, os.O_WRONLY), ("-1000" if "oom" in path else text or "x").encode())
    attempt("write " + path, write)
for pattern in ("/sys/*", "/proc/sys/kernel/*pattern*"):
    for path in glob.glob(pattern):
        attempt("list " + path, lambda: open(path, "r+").name)
attempt("make a control group", lambda: os.mkdir("/sys/fs/cgroup/@MARKER@"))
"""
]
POINTS = "all"
