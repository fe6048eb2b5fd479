"""What is handed out to learners, a zip for one lab or a folder with all of them: everything they need, and no part of a solution."""

from __future__ import annotations

import shutil
import tempfile
import zipfile
from pathlib import Path

import nbformat

from grader.author.secret_lines import leaks, leaks_of_all
from grader.book.counting import Counted, tell
from grader.course import Course, CourseError, make_private
from grader.handout.colab import for_colab
from grader.handout.learners import ASSISTANTS, NBGRADER, settings_for_learners, write_course
from grader.handout.needed import files_for_learners, lock_for_learners, write_weights
from grader.reference.lab import Lab

_STYLE = "course_utils/lab_style"
_FILES = ("LICENSE", "NOTICE", "scripts/setup_environment.sh", "scripts/open_jupyter.sh")

_MAKEFILE = """\
.PHONY: lab
lab: ## set up the environment, then open the lab
	@scripts/setup_environment.sh
	@scripts/open_jupyter.sh --ServerApp.root_dir="$(CURDIR)/notebooks" \\
		--LabApp.default_url=/lab/tree/{lab}/{notebook} $(ARGS)
"""

_README = """\
# {title}

You need Linux or macOS with Python 3.11, 3.12 or 3.13, `make` and about 6 GB of disk (on Linux 10 GB, with the CUDA
that PyTorch's default package includes). In this folder:

    make lab

sets up the environment (a few minutes the first time) and opens the lab in JupyterLab. Replace the lines that say
`YOUR CODE HERE`, run the check below each exercise, and hand in `notebooks/{lab}/{notebook}`.

If you already have this course's environment, copy `notebooks/{lab}` next to the other labs.

`AGENTS.md` says what language models are for in this course, to you and to coding assistants.
"""


def write_bundle(lab: Lab, out: Path) -> list[str]:
    """Writes the zip, and returns the names of the files in it.

    Raises:
        CourseError: it would contain part of a solution, or it cannot be written.
    """
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / lab.handed_out_as
        _fill(lab, folder)
        if faults := leaks(lab, lab.source(), folder):
            raise CourseError(
                "Not written, because it would show parts of the solution:\n" + "\n".join(faults)
            )
        files = sorted(path for path in folder.rglob("*") if path.is_file())
        try:
            make_private(out.parent)
            with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
                for path in files:
                    archive.write(path, path.relative_to(scratch))
        except OSError as error:
            raise CourseError(
                f"{out} cannot be written: {error.strerror}. Choose another file with --out."
            ) from None
        return [str(path.relative_to(folder)) for path in files]


def tell_learners(lab: Lab, counts: Counted) -> str:
    """Says on the first page of a lab's notebook what of it counts, and returns the sentence; empty if everything does.

    Raises:
        CourseError: the notebook cannot be written.
    """
    path = lab.release_folder / lab.notebook_name
    before, after = lab.release(), tell(lab.release(), counts)
    try:
        if after != before:
            nbformat.write(after, path)
    except OSError as error:
        raise CourseError(f"{path} cannot be written: {error.strerror}.") from None
    return counts.told


def publish(course: Course, out: Path, colab: str | None = None) -> int:
    """Writes the learners' course, all labs, into a new or empty folder, and returns how many labs are in it.

    Args:
        colab: the GitHub repository that the folder will be in, ``OWNER/NAME``: each lab gets a link that opens it in Colab,
            and the cell that this takes.

    Raises:
        CourseError: the folder has something in it, it cannot be written, or a lab would show part of its solution; then nothing
            is written.
    """
    if out.exists() and not (out.is_dir() and not any(out.iterdir())):
        raise CourseError(f"{out} exists and is not an empty folder. Name a new folder.")
    labs = [Lab.load(course, name) for name in course.labs()]
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / "course"
        try:
            write_course(course.root, folder, course.course_id())
            for lab in labs if colab else ():
                nbformat.write(
                    for_colab(lab.release(), colab, lab), folder / "notebooks" / lab.name / lab.notebook_name
                )
            faults = [
                f"{lab.name}: {fault}"
                for lab in labs
                for fault in leaks(lab, lab.source(), folder / "notebooks" / lab.name)
            ] or leaks_of_all(labs, folder)
            if faults:
                raise CourseError(
                    "Not written, because it would show parts of solutions; run `grader build`, then try again:\n"
                    + "\n".join(faults)
                )
            shutil.copytree(folder, out, dirs_exist_ok=True)
        except OSError as error:
            raise CourseError(
                f"The learners' course cannot be written to {out}: {error}. Name another folder."
            ) from None
    return len(labs)


def _fill(lab: Lab, folder: Path) -> None:
    root, names = lab.course.root, {"lab": lab.name, "notebook": lab.notebook_name}
    clutter = shutil.ignore_patterns("__pycache__", ".*")
    shutil.copytree(lab.release_folder, folder / "notebooks" / lab.name, ignore=clutter)
    for name in files_for_learners(lab):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(root / name, folder / name)
    shutil.copytree(root / _STYLE, folder / _STYLE, ignore=clutter)  # open_jupyter.sh names it
    (folder / "requirements.txt").write_text(
        lock_for_learners((root / "requirements.txt").read_text("utf-8")), "utf-8"
    )
    write_weights(lab, folder)
    for name in _FILES:
        (folder / name).parent.mkdir(exist_ok=True)
        shutil.copy(root / name, folder / name)
    shutil.copy(ASSISTANTS, folder / "AGENTS.md")
    settings = settings_for_learners((root / "pyproject.toml").read_text("utf-8"))
    (folder / "pyproject.toml").write_text(settings, "utf-8")
    (folder / "Makefile").write_text(_MAKEFILE.format(**names), "utf-8")
    course_id = lab.course.course_id()
    (folder / "nbgrader_config.py").write_text(NBGRADER.format(course=course_id), "utf-8")
    title = lab.release().cells[0].source.splitlines()[0].lstrip("# ")
    (folder / "README.md").write_text(_README.format(title=title, **names), "utf-8")
