"""`grader`, started in a submission's folder, imports and reads as code nothing that lies there."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import nbformat
import pytest
from classroom import START, new_course, with_gradebook

from grader.course import Course
from grader.handout.demo import hand_in, solved
from grader.reference.lab import Lab

GRADER = Path(sys.executable).with_name("grader")
CONFIGURATIONS = ("nbgrader_config", "jupyter_config", "jupyter_nbconvert_config", "ipython_config")


@pytest.fixture
def lab(tmp_path) -> Lab:
    return Lab.load(new_course(tmp_path), START)


@pytest.fixture
def trap(lab, tmp_path) -> Path:
    """A submission's folder full of modules that leave their name behind when they are imported."""
    folder = hand_in(lab.course, lab, "anna", solved(lab))
    marks = tmp_path / "marks"
    marks.mkdir()
    names = {*sys.stdlib_module_names, *metadata.packages_distributions(), *CONFIGURATIONS}
    names |= {"course_utils", "grader", "sitecustomize", "usercustomize", "torch", "tensorflow", "scipy"}
    for name in names:
        if name.isidentifier() and name != "__main__":
            mark = marks / name
            (folder / f"{name}.py").write_text(f"open({str(mark)!r}, 'w').close()\n")
    for name in ("feedback", "lab", "classic", "base"):  # templates run code, too
        (folder / name).mkdir()
        (folder / name / "index.html.j2").write_text("{{ raise_an_error() }}")
    (folder / "solutions" / START).mkdir(parents=True)  # with nbgrader_config.py: it looks like a course
    (folder / "solutions" / START / f"{START}.py").write_text(f"open({str(marks / 'solution')!r}, 'w')\n")
    return folder


def test_what_lies_in_a_course_s_grading_folder_is_no_course(lab, trap):
    assert Course.find(trap) == lab.course
    assert Course.find(trap / "solutions") == lab.course


def test_a_course_within_a_course_is_found(lab):
    inner = lab.course.root / ".demo" / "one"
    (inner / "solutions").mkdir(parents=True)
    (inner / "nbgrader_config.py").touch()
    assert Course.find(inner / "solutions") == Course(inner)


COMMANDS = """
import sys
from grader.cli import app

for arguments in {arguments!r}:
    app(arguments, standalone_mode=False)
"""


@pytest.mark.slow
def test_nothing_that_grader_starts_imports_from_the_current_folder(lab, trap, tmp_path):
    with_gradebook(lab.course)
    (tmp_path / "from").mkdir()
    nbformat.write(solved(lab), tmp_path / "from" / "zoe.ipynb")
    commands = [
        ["build", "--check", START],
        ["collect", START, "../../../../from"],
        ["doctor", lab.notebook_name],
        ["feedback", START],
        ["report", START],
        ["export"],
    ]
    (tmp_path / "bin").mkdir()
    others = tmp_path / "bin" / "others"  # in one process, which saves time, but started as `grader` is
    others.write_text(COMMANDS.format(arguments=commands))
    own = {"HOME": str(tmp_path), "PATH": f"{GRADER.parent}{os.pathsep}{os.environ['PATH']}"}
    environment = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "PYTHONSAFEPATH")} | own

    def run(*command: str | Path) -> subprocess.CompletedProcess:
        return subprocess.run(command, cwd=trap, env=environment, capture_output=True, text=True)

    for command in ([GRADER, "autograde", START, "--jobs", "2"], [sys.executable, others]):
        ran = run(*command)
        assert ran.returncode == 0, ran.stdout + ran.stderr
        assert not [path.name for path in (tmp_path / "marks").iterdir()]
    run(sys.executable, "-c", "import psutil")
    assert [path.name for path in (tmp_path / "marks").iterdir()], "the traps do not work"
