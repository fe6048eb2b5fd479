"""``python -m course_utils FOLDER`` writes the start page into a folder of notebooks. ``python -m course_utils portfolio`` makes a package of the
learner's own code (:mod:`course_utils.portfolio`). ``python -m course_utils progress FILE`` adds the progress that
was made elsewhere, such as in the browser.
"""

import sys
from pathlib import Path


def progress(arguments: list[str]) -> int:
    """Adds progress from a file, and says what it had."""
    from course_utils.progress import take_in

    if len(arguments) != 1:
        print(
            "Name the file with the progress: python -m course_utils progress progress.json", file=sys.stderr
        )
        return 2
    try:
        exercises, solved = take_in(Path(arguments[0]))
    except (ValueError, OSError, RuntimeError) as error:
        print(error, file=sys.stderr)
        return 1
    print(f"Added. Exercises in the file: {exercises}. Solved here for the first time: {solved}.")
    return 0


if __name__ == "__main__":
    if sys.argv[1:2] == ["portfolio"]:
        from course_utils.portfolio import main

        sys.exit(main(sys.argv[2:]))
    if sys.argv[1:2] == ["progress"]:
        sys.exit(progress(sys.argv[2:]))
    from course_utils.start_page import write

    write(Path(sys.argv[1]))
