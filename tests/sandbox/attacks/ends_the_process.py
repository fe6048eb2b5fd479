"""The process ends at once, with a status that means success."""

EXTRA = ["import os, time\nprint('TRIED', flush=True)\ntime.sleep(0.2)\nos._exit(0)"]
STATE = "crashed"
POINTS = "all"
