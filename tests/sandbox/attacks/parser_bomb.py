"""Code that is short to write and takes the judge's parser gigabytes to read."""

LAB = "02_self_attention"
EXTRA = [
    "print('TRIED', flush=True)",
    "import a" + ".a" * 30_000,
    "x = " + "-" * 19_000 + "1",
    "x = " + "(" * 9_000 + ")" * 9_000,
]
STATE = ("graded", "out of memory", "crashed", "timed out")
POINTS = (20,)
