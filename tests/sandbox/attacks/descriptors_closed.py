"""Every descriptor from 0 to 255 is closed."""

EXTRA = [
    "import os\nprint('TRIED', flush=True)\nimport time; time.sleep(0.2)\nos.closerange(0, 256)\nprint('REACHED')"
]
STATE = ("crashed", "timed out")
POINTS = "all"
