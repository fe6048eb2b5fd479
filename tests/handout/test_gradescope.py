"""The zip for Gradescope: unpacked elsewhere, it grades as Gradescope would call it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

import nbformat
import pytest
from classroom import START, KernelFree, new_course
from nbformat.v4 import new_code_cell
from project import ROOT
from typer.testing import CliRunner

from grader.cli import app
from grader.errors import GraderError
from grader.grade.work import Graded, Grading, Record
from grader.handout import gradescope
from grader.handout.demo import solved
from grader.handout.gradescope import _SETUP, _runner, write_autograder
from grader.reference.lab import Lab
from grader.run.notebook import PlainRunner, SandboxRunner
from grader.sandbox.preloaded import NoKernel, Preloaded, close_all

slow = pytest.mark.slow


@pytest.fixture(scope="module")
def unpacked():
    """What Gradescope has after it unpacked the zip, in a folder that every user may look into."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as scratch:
        root = Path(scratch)
        course = new_course(root)
        for name in ("requirements.txt", "LICENSE", "NOTICE", "README.md", "pyproject.toml"):
            shutil.copy(ROOT / name, root / name)
        for name in ("scripts", "course_utils", "grader"):
            shutil.copytree(ROOT / name, root / name, ignore=shutil.ignore_patterns("__pycache__"))
        write_autograder(Lab.load(course, START), root / "autograder.zip")
        folder = root / "autograder" / "source"
        with zipfile.ZipFile(root / "autograder.zip") as archive:
            archive.extractall(folder)
        for path in (root, root / "autograder"):
            path.chmod(0o755)
        yield folder


def graded(folder: Path, notebook, **environment: str) -> dict:
    submission, results = folder.parent / "submission", folder.parent / "results"
    shutil.rmtree(submission, ignore_errors=True)
    for path in (submission, results):
        path.mkdir(exist_ok=True)
    nbformat.write(notebook, submission / "my_notebook.ipynb")
    # -P: this environment's code, which is that of the zip; there, it is the zip's environment
    call = [sys.executable, "-P", "-m", "grader.handout.gradescope", START]
    command = [*call, str(submission), str(results / "results.json")]
    ran = subprocess.run(
        command, cwd=folder, env=os.environ | environment, capture_output=True, text=True, timeout=300
    )
    assert ran.returncode == 0, ran.stderr
    return json.loads((results / "results.json").read_text())


@slow
def test_the_zip_has_one_lab_and_its_two_scripts(unpacked, labs):
    assert [path.name for path in (unpacked / "solutions").iterdir()] == [START]
    assert (
        f"grader.handout.gradescope {START} /autograder/submission"
        in (unpacked / "run_autograder").read_text()
    )
    assert "setup_environment.sh" in (unpacked / "setup.sh").read_text()


@slow
def test_each_exercise_is_a_test_with_its_report(unpacked, labs):
    lab = labs[START]
    told = graded(unpacked, solved(lab))
    assert "tests" in told, told["output"]
    (test,) = told["tests"]
    assert (test["name"], test["score"], test["max_score"]) == ("softmax", 5.0, 5.0)
    assert "State of this submission: graded." in told["output"]
    assert "my_notebook.ipynb" in told["output"]
    wrong = next(entries[0] for entries in lab.misconceptions.values())
    (test,) = graded(unpacked, solved(lab, {wrong.exercise: wrong.source}))["tests"]
    assert test["score"] < 5
    assert "Your results are those of a well-known mistake" in test["output"]


@slow
def test_what_is_no_notebook_is_told_to_the_learner(unpacked, labs):
    notebook = solved(labs[START])
    notebook.cells = []
    told = graded(unpacked, notebook)
    assert all(test["score"] == 0 for test in told["tests"])


PRYING = """
import os, pathlib
root = pathlib.Path({root!r})
seen = []
for path in (root / "solutions" / "00_start_here" / "00_start_here.py", root / "grading" / "seeds.json"):
    try:
        seen.append(path.read_text())
    except OSError:
        pass
for path in (root.parent / "results" / "results.json", root / "grader" / "judge.py"):
    try:
        path.write_text("{{}}")
        seen.append(str(path))
    except OSError:
        pass
print("SAW", len(seen), "AS", os.getuid())
"""


def can_be_nobody() -> bool:
    if os.getuid():
        return False
    command = [sys.executable, "-c", "import course_utils"]
    try:
        return not subprocess.run(
            command, user="nobody", group=65534, cwd="/", capture_output=True
        ).returncode
    except PermissionError:  # of the interpreter
        return False


@slow
@pytest.mark.skipif(not can_be_nobody(), reason="needs root, and an environment that all users may read")
def test_without_a_sandbox_learners_code_has_no_rights(unpacked, labs, tmp_path):
    notebook = solved(labs[START])
    notebook.cells.insert(1, new_code_cell(PRYING.format(root=str(unpacked))))
    # no bubblewrap to be found: as in a container that permits none
    told = graded(unpacked, notebook, PATH=str(tmp_path))
    assert [test["score"] for test in told["tests"]] == [5.0]
    assert (unpacked / "grader" / "judge.py").stat().st_size > 10
    run = PlainRunner(user="nobody").run(notebook, 5, labs[START].release_folder)
    text = json.dumps(run.notebook.cells[1].outputs)
    assert "SAW 0 AS" in text and "AS 0" not in text, text


# ---------------------------------------------------------------------------------- sandbox or not

NO_RIGHTS = """#!/bin/sh
echo 'bwrap: No permissions to create new namespace' >&2
exit 1
"""


@pytest.mark.skipif(not shutil.which("bwrap"), reason="bubblewrap is not installed")
def test_the_sandbox_is_taken_where_a_cell_runs_in_it(labs):
    assert isinstance(_runner(labs[START]), SandboxRunner)


def without_bubblewrap(folder: Path, patched: pytest.MonkeyPatch) -> None:
    patched.setenv("PATH", str(folder))


def without_rights(folder: Path, patched: pytest.MonkeyPatch) -> None:
    (folder / "bwrap").write_text(NO_RIGHTS)
    (folder / "bwrap").chmod(0o755)
    patched.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")


def without_kernels(folder: Path, patched: pytest.MonkeyPatch) -> None:
    def start_kernel(preloaded: Preloaded, *_: object) -> None:
        preloaded.wait_until_ready()
        raise NoKernel("No kernel could be started: Operation not permitted")

    patched.setattr(Preloaded, "start_kernel", start_kernel)


@pytest.mark.parametrize("what", [without_bubblewrap, without_rights, without_kernels])
def test_without_a_sandbox_that_works_a_user_without_rights_is_taken(labs, tmp_path, monkeypatch, what):
    close_all()  # none that was started before
    what(tmp_path, monkeypatch)
    assert _runner(labs[START]) == PlainRunner(user="nobody")


def test_what_is_no_fault_of_the_sandbox_is_told_and_unlocks_nothing(tmp_path):
    lab = Lab.load(new_course(tmp_path), START)
    (lab.release_folder / lab.notebook_name).unlink()
    with pytest.raises(GraderError, match="does not exist. Run `grader build"):
        _runner(lab)


# ---------------------------------------------------------------------------------- setup.sh

FAKE_APT = """#!/bin/sh
echo "$@" >>calls
case "$*" in
  *python{works}*) cp "$0" python{works}; printf '#!/bin/sh\\n' >python{works} ;;
  *python*) exit 100 ;;
esac
"""


@pytest.mark.parametrize(
    "there, installable, tried", [("3.12", "3.11", []), ("", "3.11", ["3.13", "3.12", "3.11"])]
)
def test_the_image_s_own_python_is_taken_else_the_newest_that_can_be_installed(
    tmp_path, there, installable, tried
):
    for name in ("bash", "dirname", "cp"):
        (tmp_path / name).symlink_to(shutil.which(name))
    (tmp_path / "scripts").mkdir()
    made = {"apt-get": FAKE_APT.format(works=installable), "setup.sh": _SETUP}
    made["scripts/setup_environment.sh"] = "#!/bin/sh\necho set up >>calls\n"
    made |= {f"python{there}": "#!/bin/sh\n"} if there else {}
    for name, text in made.items():
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o755)
    ran = subprocess.run(["bash", "setup.sh"], cwd=tmp_path, env={"PATH": str(tmp_path)}, capture_output=True)
    assert ran.returncode == 0, ran.stderr
    calls = (tmp_path / "calls").read_text().splitlines()
    installs = [f"install -y python{version} python{version}-venv" for version in tried]
    assert calls == ["update", "install -y bubblewrap", *installs, "set up"]


def test_the_command_says_whom_the_zip_is_for(tmp_path, monkeypatch):
    course = new_course(tmp_path)
    monkeypatch.chdir(course.root)
    told = CliRunner().invoke(app, ["gradescope", "no_such_lab"])
    assert told.exit_code == 1 and "There is no lab" in told.output


@pytest.mark.parametrize("answer", ["raises", "a record without a score", "lost"])
def test_where_the_grader_itself_fails_there_is_no_score(tmp_path, monkeypatch, answer):
    """Gradescope then says that the autograder failed; a score of 0 would be taken for the learner's."""
    lab = Lab.load(new_course(tmp_path), START)
    record = Record("anna", "crashed", None if "record" in answer else 0.0, 5.0, notes=("It died.",))

    def alone(*_):
        if answer == "raises":
            return GraderError("No memory is left.")
        return record if "record" in answer else Graded(record, "", b"", None, None, None)

    monkeypatch.setattr(gradescope, "_runner", lambda lab: KernelFree(tmp_path / "log"))
    monkeypatch.setattr(Grading, "alone", alone)
    monkeypatch.chdir(lab.course.root)
    (tmp_path / "results").mkdir()
    lab.course.grading.mkdir()
    (lab.course.grading / "seeds.json").write_text(json.dumps({START: 5}))
    with pytest.raises(SystemExit, match="could not run, so there is no score"):
        gradescope.main(lab.name, tmp_path, tmp_path / "results" / "results.json")
    assert not list((tmp_path / "results").iterdir())
