"""A learner's server on the hub, which opens the map of the course: it is written anew before the server starts."""

from __future__ import annotations

import logging
import os
from pathlib import Path

from jupyterhub.singleuser import main

from course_utils import start_page


def write_maps(home: Path, courses: list[str]) -> None:
    """Writes the map of each course into the folder that its labs are fetched to. A server starts even if this cannot be done."""
    for course in courses:
        try:
            (home / course).mkdir(exist_ok=True)
            start_page.write(home / course)
        except Exception as error:  # a full disk, a damaged file of progress: no reason to keep anybody out
            logging.warning("The map of %s cannot be written: %s", course, error)


if __name__ == "__main__":
    write_maps(Path.home(), os.environ.get("TRANSFORMER_COURSES", "").split())
    main()
