"""A lab as a Gradescope autograder: the zip that configures it, and the code that runs there for each submission.

According to its autograder specifications, Gradescope unpacks the zip to ``/autograder/source``, runs ``setup.sh`` once as root, and
``run_autograder`` for every submission, which reads ``/autograder/submission`` and writes ``/autograder/results/results.json``.

There, learners' code runs in the sandbox if the container permits one, otherwise as a user without rights who cannot read
solutions or results.
"""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
import zipfile
from pathlib import Path
from typing import Any

import nbformat
from nbformat.v4 import new_code_cell, new_notebook

from grader.book.seeds import seeds_in
from grader.course import Course, make_private
from grader.errors import GraderError
from grader.grade.autograde import choose_runner, class_seed
from grader.grade.work import Graded, Grading
from grader.handout.needed import write_weights
from grader.reference.lab import Lab, checked_exercise, nbgrader_of
from grader.run.notebook import PlainRunner
from grader.run.states import Runner
from grader.sandbox.container import NoSandbox

_ROOT = "/autograder"
_NOBODY = "nobody"
_PROOF = "A cell has run in the sandbox."

_SETUP = """\
#!/usr/bin/env bash
set -euo pipefail
cd "$(dirname "$0")"
apt-get update
apt-get install -y bubblewrap
pythons="3.13 3.12 3.11"
usable() {
  for version in $pythons; do
    if "python$version" -c 'import ensurepip, venv' 2>/dev/null; then return; fi
  done
  false
}
usable || for version in $pythons; do
  if apt-get install -y "python$version" "python$version-venv"; then break; fi
done
scripts/setup_environment.sh # says what is missing, if anything still is
"""

_RUN = """\
#!/usr/bin/env bash
set -euo pipefail
cd {root}/source
exec .venv/bin/python -P -m grader.handout.gradescope {lab} {root}/submission {root}/results/results.json
"""


def write_autograder(lab: Lab, out: Path) -> int:
    """Writes the zip for a lab, and returns how many files are in it. It contains the solution: for Gradescope only.

    Raises:
        GraderError: the lab has not been built, or the zip cannot be written.
    """
    seed = class_seed(lab)
    lab.release()
    with tempfile.TemporaryDirectory() as scratch:
        folder, root = Path(scratch), lab.course.root
        clutter = shutil.ignore_patterns("__pycache__", ".*")
        for name in ("course_utils", "grader", "scripts", f"solutions/{lab.name}", f"notebooks/{lab.name}"):
            shutil.copytree(root / name, folder / name, ignore=clutter)
        for name in (
            "requirements.txt",
            "pyproject.toml",
            "nbgrader_config.py",
            "LICENSE",
            "NOTICE",
            "README.md",
        ):
            shutil.copy(root / name, folder / name)
        write_weights(lab, folder)
        (folder / "grading").mkdir()
        (folder / "grading" / "seeds.json").write_text(json.dumps({lab.name: seed}))
        for name, text in {
            "setup.sh": _SETUP,
            "run_autograder": _RUN.format(root=_ROOT, lab=lab.name),
        }.items():
            (folder / name).write_text(text)
            (folder / name).chmod(0o755)
        files = [path for path in sorted(folder.rglob("*")) if path.is_file()]
        try:
            make_private(out.parent)
            with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
                for path in files:
                    archive.write(path, path.relative_to(folder))
        except OSError as error:
            raise GraderError(
                f"{out} cannot be written: {error.strerror}. Choose another file with --out."
            ) from None
    return len(files)


def grade(lab: Lab, submission: Path) -> dict[str, Any]:
    """Grades what is in a folder. Returns Gradescope's ``results.json``: a test for each exercise with its report in HTML.

    Raises:
        GraderError: the grader itself failed, which says nothing about the submission.
    """
    seed = seeds_in(lab.course).get(lab.name)
    if seed is None:
        raise GraderError(
            f"The zip has no seed for {lab.name}. Make it again with `grader gradescope`, and upload it."
        )
    grading = Grading(lab.course, lab.name, seed, _runner(lab))
    try:
        graded = grading.alone(grading.expected(), submission)
    finally:
        grading.close()
    if isinstance(graded, GraderError):
        raise graded
    if not isinstance(graded, Graded):
        raise GraderError(" ".join(graded.notes))
    if not graded.handed_in:  # it was lost and must be graded again
        raise GraderError(" ".join(graded.record.notes))
    notebook = nbformat.reads(graded.notebook.decode(), as_version=4)
    tests = [
        {
            "name": key.partition(".")[2],
            "score": graded.points.of_cells[nbgrader_of(cell)["grade_id"]],
            "max_score": float(nbgrader_of(cell)["points"]),
            "output": cell.outputs[0].data["text/html"],
            "output_format": "html",
        }
        for cell in notebook.cells
        if (key := checked_exercise(cell))
    ]
    notes = [f"State of this submission: {graded.record.state}.", *graded.record.notes]
    if graded.record.by_hand:
        notes.append(f"Written answers to grade by hand: {graded.record.by_hand}.")
    return {"tests": tests, "output": "\n".join(notes), "output_format": "text"}


def _runner(lab: Lab) -> Runner:
    """The sandbox or, if the container permits none, a user without rights.

    Raises:
        GraderError: something else is wrong that would be just as wrong without the sandbox.
    """
    try:
        runner = choose_runner(lab)
        ran = runner.run(new_notebook(cells=[new_code_cell(f"print({_PROOF!r})")]), 0, lab.release_folder)
    except NoSandbox:
        return PlainRunner(user=_NOBODY)
    (cell,) = ran.notebook.cells
    works = [output.get("text", "").strip() for output in cell.outputs] == [_PROOF]
    return runner if works else PlainRunner(user=_NOBODY)


def main(name: str, submission: Path, results: Path) -> None:
    """Called by ``run_autograder``. If the grader itself fails, no results are written: Gradescope then says that the
    autograder failed, gives no score, and can run it again.
    """
    course = Course.find()
    for folder in (course.solutions, course.grading, results.parent):
        folder.chmod(0o700)
    try:
        told = grade(Lab.load(course, name), submission)
    except GraderError as error:
        sys.exit(f"The autograder itself could not run, so there is no score. Run it again later. {error}")
    results.write_text(json.dumps(told), "utf-8")


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3]))
