"""``python -m course_utils FOLDER`` writes the start page into a folder of notebooks."""

import sys
from pathlib import Path

from course_utils.start_page import write

if __name__ == "__main__":
    write(Path(sys.argv[1]))
