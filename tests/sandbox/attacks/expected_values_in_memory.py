"""Every object in memory, and the memory itself, is searched for answers and secrets."""

CELLS = {
    "softmax": """
import gc, re
from course_utils.checking.expected import Expected, Misconception
gc.unfreeze()
found = [o for o in gc.get_objects() if isinstance(o, (Expected, Misconception))]
texts = [o for o in gc.get_objects() if type(o) is str and "BEGIN SOLUTION" in o]
print("REACHED" if found else "TRIED", len(gc.get_objects()), len(texts))
looked = 0
with open("/proc/self/maps") as maps, open("/proc/self/mem", "rb", 0) as memory:
    for line in maps:
        span, rights = line.split()[:2]
        start, end = (int(x, 16) for x in span.split("-"))
        if rights.startswith("rw") and end - start < 2**27:
            try:
                memory.seek(start)
                data = memory.read(end - start)
            except OSError:
                continue
            looked += len(data)
            for hit in re.findall(rb"CANARY-[a-z]+-[0-9a-f]{16}", data):
                print("REACHED", hit)
print("TRIED to find secrets in", looked > 2**20)
def softmax(scores, axis=-1):
    return scores
"""
}
PROBE = "TRIED to find secrets in True"
