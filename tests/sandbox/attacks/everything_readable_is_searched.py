"""The whole file system is walked for secrets, expected values and notebooks."""

RUNNER = {"cell_seconds": 20}
EXTRA = [
    """
import os
looked = suspicious = 0
skip = ("/proc", "/usr", "/bin", "/lib", "/lib64", "/sbin")
for folder, folders, names in os.walk("/"):
    folders[:] = [n for n in folders if os.path.join(folder, n) not in skip and n not in ("lib", "site-packages", "__pycache__")]
    for name in names:
        path = os.path.join(folder, name)
        looked += 1
        if name.endswith((".ipynb", ".db", ".npz")) or name in ("seeds.json", "id_rsa", "misconceptions.py"):
            print("REACHED", path)
        try:
            if os.path.isfile(path) and os.path.getsize(path) < 10**6 and b"CANARY" + b"-" in open(path, "rb").read():
                print("REACHED", path)
        except OSError:
            pass
print("TRIED", looked)
"""
]
POINTS = "all"
