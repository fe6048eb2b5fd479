"""The zip to hand out for one lab: everything a learner needs, and no part of a solution."""

from __future__ import annotations

import re
import shutil
import tempfile
import zipfile
from pathlib import Path

from grader.author.build import leaks
from grader.course import CourseError
from grader.handout.needed import files_for_learners, lock_for_learners, write_weights
from grader.lab import Lab

_FILES = ("LICENSE", "NOTICE", "scripts/setup_environment.sh", "scripts/open_jupyter.sh")

_MAKEFILE = """\
.PHONY: lab
lab: ## set up the environment, then open the lab
	@scripts/setup_environment.sh
	@scripts/open_jupyter.sh --ServerApp.root_dir="$(CURDIR)/notebooks" \\
		--LabApp.default_url=/lab/tree/{lab}/{notebook} $(ARGS)
"""

_NBGRADER = """\
\"\"\"For Validate, and for the Assignment List where learners and instructors share an exchange.\"\"\"

c = get_config()
c.CourseDirectory.course_id = "{course}"
"""

_README = """\
# {title}

You need Linux or macOS with Python 3.11, 3.12 or 3.13, `make` and about 6 GB of disk. In this folder:

    make lab

sets up the environment (a few minutes the first time) and opens the lab in JupyterLab. Replace the lines that say
`YOUR CODE HERE`, run the check below each exercise, and hand in `notebooks/{lab}/{notebook}`.

If you already have this course's environment, copy `notebooks/{lab}` next to the other labs.
"""


def write_bundle(lab: Lab, out: Path) -> list[str]:
    """Writes the zip, and returns the names of the files in it.

    Raises:
        CourseError: it would contain part of a solution, or it cannot be written.
    """
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / f"transformer-lab-{lab.name}"
        _fill(lab, folder)
        if faults := leaks(lab, lab.source(), folder):
            raise CourseError(
                "Not written, because it would show parts of the solution:\n" + "\n".join(faults)
            )
        files = sorted(path for path in folder.rglob("*") if path.is_file())
        try:
            with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
                for path in files:
                    archive.write(path, path.relative_to(scratch))
        except OSError as error:
            raise CourseError(
                f"{out} cannot be written: {error.strerror}. Choose another file with --out."
            ) from None
        return [str(path.relative_to(folder)) for path in files]


def _fill(lab: Lab, folder: Path) -> None:
    root, names = lab.course.root, {"lab": lab.name, "notebook": lab.notebook_name}
    clutter = shutil.ignore_patterns("__pycache__", ".*")
    shutil.copytree(lab.release_folder, folder / "notebooks" / lab.name, ignore=clutter)
    for name in files_for_learners(lab):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(root / name, folder / name)
    (folder / "requirements.txt").write_text(
        lock_for_learners((root / "requirements.txt").read_text("utf-8")), "utf-8"
    )
    write_weights(lab, folder)
    for name in _FILES:
        (folder / name).parent.mkdir(exist_ok=True)
        shutil.copy(root / name, folder / name)
    settings = (root / "pyproject.toml").read_text("utf-8")
    # without the sections about the instructor's tool, which is not included, and the packages that it needs
    settings = re.sub(
        r"^\[project\.(?:scripts|optional-dependencies|entry-points[^\]]*)\].*\n(?:(?!\[).*\n)*",
        "",
        settings,
        flags=re.MULTILINE,
    )
    (folder / "pyproject.toml").write_text(settings, "utf-8")
    (folder / "Makefile").write_text(_MAKEFILE.format(**names), "utf-8")
    course_id = lab.course.nbgrader_config().CourseDirectory.course_id
    (folder / "nbgrader_config.py").write_text(_NBGRADER.format(course=course_id), "utf-8")
    title = lab.release().cells[0].source.splitlines()[0].lstrip("# ")
    (folder / "README.md").write_text(_README.format(title=title, **names), "utf-8")
