"""The whole course as learners get it: all labs and ``course_utils``, and no part of the grader or of a solution.

It needs nothing but Python, because an image is built with it before any package is there: ``python grader/handout/learners.py FOLDER``.
"""

from __future__ import annotations

import re
import shutil
import sys
from pathlib import Path

LOCK = "requirements-learners.lock"
"""The lines of requirements.txt that learners need."""

_FOLDERS = ("course_utils", "notebooks", ".devcontainer")
_FILES = (
    *("LICENSE", "NOTICE", "requirements-weights.txt", "Dockerfile", ".dockerignore"),
    *("scripts/setup_environment.sh", "scripts/open_jupyter.sh", "scripts/start_container.sh"),
)
ASSISTANTS = Path(__file__).with_name("for_assistants.md")
"""The course's policy on language models, which learners get as ``AGENTS.md``."""
_CLUTTER = shutil.ignore_patterns("__pycache__", ".*", "START.md", "AGENTS.md", "my_transformer")

MAKEFILE = """\
.PHONY: environment
environment: ## create or update .venv
	@scripts/setup_environment.sh

.PHONY: lab
lab: environment ## open the labs in JupyterLab, at the map of the course
	@.venv/bin/python -m course_utils notebooks
	@scripts/open_jupyter.sh --ServerApp.root_dir="$(CURDIR)/notebooks" --LabApp.default_url=/lab/tree/START.md $(ARGS)
"""

NBGRADER = """\
\"\"\"For Validate, and for the Assignment List where learners and instructors share an exchange.\"\"\"

c = get_config()
c.CourseDirectory.course_id = "{course}"
"""

_README = """\
# Transformer labs

Labs on Transformer networks in Jupyter notebooks: you write the missing pieces, and a check under each exercise says at once what is right.

You need Linux or macOS with Python 3.11, 3.12 or 3.13, `make` and about 6 GB of disk (on Linux 10 GB, with the CUDA
that PyTorch's default package includes). In this folder:

    make lab

sets up the environment (a few minutes the first time) and opens the map of the course. In a container instead:

    docker build -t transformer-labs . && docker run --init -p 127.0.0.1:8888:8888 -v transformer-labs:/course/notebooks transformer-labs

Then open the address that it prints, the one that starts with http://127.0.0.1.

`AGENTS.md` says what language models are for in this course, to you and to coding assistants.
"""

_GITIGNORE = ".venv/\n/notebooks/START.md\n__pycache__/\n.ipynb_checkpoints/\n*.egg-info/\n"


def write_course(root: Path, out: Path, course_id: str = "transformer-labs") -> None:
    """Writes the learners' course into a folder that does not exist or is empty.

    Args:
        root: the project.
        course_id: nbgrader's name of the course.

    Raises:
        OSError: it cannot be written, or a file of the project is missing.
    """
    out.mkdir(parents=True, exist_ok=True)
    for name in _FOLDERS:
        shutil.copytree(root / name, out / name, ignore=_CLUTTER)
    for name in _FILES:
        (out / name).parent.mkdir(exist_ok=True)
        shutil.copy(root / name, out / name)
    shutil.copy(root / LOCK, out / "requirements.txt")
    shutil.copy(ASSISTANTS, out / "AGENTS.md")
    settings = settings_for_learners((root / "pyproject.toml").read_text("utf-8"))
    (out / "pyproject.toml").write_text(settings, "utf-8")
    (out / "Makefile").write_text(MAKEFILE, "utf-8")
    (out / "nbgrader_config.py").write_text(NBGRADER.format(course=course_id), "utf-8")
    (out / "README.md").write_text(_README, "utf-8")
    (out / ".gitignore").write_text(_GITIGNORE, "utf-8")


def settings_for_learners(settings: str) -> str:
    """pyproject.toml without the sections about the instructor's tool, and without the packages that it needs."""
    return re.sub(
        r"^\[project\.(?:scripts|optional-dependencies|entry-points[^\]]*)\].*\n(?:(?!\[).*\n)*",
        "",
        settings,
        flags=re.MULTILINE,
    )


if __name__ == "__main__":
    write_course(Path(__file__).resolve().parents[2], Path(sys.argv[1]))
