"""``grader new``: a small lab that already builds, whose parts an author only has to replace."""

from __future__ import annotations

import re
import tempfile
from pathlib import Path

from grader.course import Course, CourseError
from grader.reference.lab import Lab

_TEMPLATE = Path(__file__).parent / "template"


def new_lab(course: Course, name: str) -> Path:
    """Writes the source folder of a new lab and returns it.

    Args:
        name: two digits, an underscore, and words in small letters: ``"14_my_lab"``.

    Raises:
        CourseError: the name is no name for a lab, or the folder cannot be written. Nothing has changed.
    """
    if not (parts := re.fullmatch(r"(\d\d)_([a-z][a-z0-9]*(?:_[a-z0-9]+)*)", name)):
        raise CourseError(
            f"{name!r} is not a name for a lab: give it a number of two digits and a few words in small letters, as in 14_my_lab."
        )
    number, slug = parts.groups()
    for other in course.labs():
        if number == other.partition("_")[0] or slug == other.partition("_")[2]:
            raise CourseError(f"There is already a lab {other}. Choose another number and another name.")
    folder = course.solutions / name
    if folder.exists():
        raise CourseError(f"{folder} already exists. Choose another name, or remove it.")
    words = slug.replace("_", " ")
    labs = course.labs()
    values = {
        "@NUMBER@": number,
        "@SLUG@": slug,
        "@TITLE@": words.capitalize(),
        "@LOWER@": words,
        "@PART@": Lab.load(course, labs[-1]).settings["part"] if labs else "The course",
    }
    try:
        with tempfile.TemporaryDirectory(dir=course.solutions, prefix=".new-") as scratch:
            written = Path(scratch) / name
            written.mkdir()
            for path in sorted(_TEMPLATE.iterdir()):
                if path.is_file():
                    text = re.sub("@[A-Z]+@", lambda mark: values[mark[0]], path.read_text("utf-8"))
                    target = written / (f"{name}.py" if path.name == "notebook.py" else path.name)
                    target.write_text(text, "utf-8")
            written.rename(folder)
    except OSError as error:
        raise CourseError(f"{folder} cannot be written: {error.strerror}.") from None
    return folder
