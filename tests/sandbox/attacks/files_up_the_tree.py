"""Solutions, gradebook, seeds, other submissions and the home folder are read, by every path there may be."""

EXTRA = [
    """
import glob, os, pathlib
course, home = "@COURSE@", "@HOME@"
targets = [f"{course}/solutions/00_start_here/variants.py", f"{course}/grading/seeds.json", f"{course}/grading/gradebook.db",
           f"{course}/grading/submitted/other/00_start_here/start_here.ipynb", f"{home}/secret.txt", f"{home}/.ssh/id_rsa",
           "@TMP@", "@SHM@", "/etc/shadow", "/etc/machine-id", "/root/.bashrc"]
roots = ["", "/proc/1/root", "/proc/self/root", "/proc/self/cwd/../../../..", "/lab/..", "/usr/..", "/run/sockets/../.."]
for target in targets:
    for root in roots:
        attempt(f"read {root}{target}", lambda: open(root + target, errors="replace").read())
for folder in (course, home, f"{course}/grading", f"{course}/solutions", "/home", "/run/sockets"):
    attempt(f"list {folder}", lambda: [n for n in os.listdir(folder) if n not in
            ("learner", "bin sbin lib lib32 lib64 libx32 usr etc run home proc dev tmp lab var opt".split())][0])
for path in pathlib.Path("..").resolve().rglob("*.ipynb"):
    print("REACHED", path)
"""
]


CELLS = {"softmax": "softmax = None"}


def failed(result):
    assert result.text.count("TRIED read") == 11 * 7
