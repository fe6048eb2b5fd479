"""Every lab is built once more: the build judges reference, variants and misconceptions, and refuses what a lab lacks."""

from __future__ import annotations

import processors
import pytest
from project import LABS, ROOT

from grader.author.build import build
from grader.author.training import promises
from grader.course import STUB, Course
from grader.lab import Lab


def marked(name: str):
    """Labs that train a network have many layers to check: minutes each, so they are for the full proof."""
    return pytest.param(name, marks=pytest.mark.slow if promises(Lab(Course(ROOT), name)) else ())


@pytest.mark.parametrize("lab", map(marked, LABS))
def test_the_committed_notebook_is_what_its_source_gives(course, lab, request):
    """In the full proof, with the settings of another processor: another one every day."""
    if not request.config.getoption("--all"):
        build(course, [lab], check=True, say=lambda line: None)
        return
    for row in processors.in_turn(every=request.config.getoption("--every-lab")):
        said = processors.in_row(row, "-m", "grader.cli", "build", "--check", lab)
        assert not said, f"{row.name}: {said}"


@pytest.mark.parametrize("name", LABS)
def test_no_release_contains_a_solution_region_or_its_text(course, name):
    lab = Lab.load(course, name)
    released = (lab.release_folder / lab.notebook_name).read_text("utf-8")
    assert "BEGIN SOLUTION" not in released
    assert released.count(STUB.splitlines()[0]) >= len(lab.exercises)
