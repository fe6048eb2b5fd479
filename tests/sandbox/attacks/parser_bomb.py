"""Code that is short to write and takes the judge's parser gigabytes to read, or takes the memory from all cells after it."""

LAB = "02_self_attention"
EXTRA = [
    """
def data():
    return next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmData"))

before = data()
print("TRIED", flush=True)
""",
    "import a" + ".a" * 30_000,
    "print('REACHED' if data() > before + 50_000 else 'given back')",
    "x = " + "-" * 19_000 + "1",
    "x = " + "(" * 9_000 + ")" * 9_000,
]
STATE = ("graded", "out of memory", "crashed", "timed out")
POINTS = (20,)
