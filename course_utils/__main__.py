"""``python -m course_utils FOLDER`` writes the start page into a folder of notebooks; ``python -m course_utils portfolio``
makes a package of the learner's own code (:mod:`course_utils.portfolio`).
"""

import sys
from pathlib import Path

if __name__ == "__main__":
    if sys.argv[1:2] == ["portfolio"]:
        from course_utils.portfolio import main

        sys.exit(main(sys.argv[2:]))
    from course_utils.start_page import write

    write(Path(sys.argv[1]))
