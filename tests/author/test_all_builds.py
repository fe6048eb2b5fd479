"""Every lab is built once more: the build judges reference, variants and misconceptions, and refuses what a lab lacks.

That takes minutes for the labs that train networks, because they have many layers. So the text of each release is compared with its
source every time, and what a build judges takes turns from day to day.
"""

from __future__ import annotations

import shutil

import numpy as np
import processors
import pytest
from project import LABS, ROOT, turn_of

from course_utils.checking.exercise import PUBLIC_SEED
from course_utils.checking.expected import FILE_NAME, load_hints
from grader.author import build as author_build
from grader.author.build import build
from grader.author.faults import SEEDS
from grader.author.training import promises
from grader.course import STUB, Course
from grader.reference.lab import Lab

CHECKED = """
import sys
from pathlib import Path

from grader.author.build import build
from grader.course import Course

build(Course(Path(sys.argv[1])), [sys.argv[2]], check=True, seeds=[int(seed) for seed in sys.argv[3:]])
"""
QUICK = [name for name in LABS if not promises(Lab(Course(ROOT), name))]


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=() if name in QUICK[:3] else pytest.mark.slow) for name in LABS]
)
def test_a_release_has_the_text_and_the_hints_of_its_source(course, name, monkeypatch):
    """The build without what it judges: of ``expected.npz``, only the hints are looked at."""
    lab = Lab.load(course, name)

    def keep_the_committed_one(file, exercises, hints):
        shutil.copyfile(lab.release_folder / FILE_NAME, file)
        assert {key: load_hints(file, key) for key in lab.exercises} == {
            key: hints.get(key, []) for key in lab.exercises
        }

    monkeypatch.setattr(Lab, "expected", lambda lab, seed: {})
    for judged in ("catalogue_faults", "bypass_faults", "answer_faults"):
        monkeypatch.setattr(author_build, judged, lambda *_: [])
    monkeypatch.setattr(author_build, "save_expected", keep_the_committed_one)
    build(course, [name], check=True, say=lambda line: None)


@pytest.mark.slow
@pytest.mark.parametrize("name", LABS)
def test_the_committed_notebook_is_what_its_source_gives_on_other_processors(name, its_turn, request):
    """Releases hold what is expected at the public seed. The catalogue is judged at that seed and another one, in turn; a build judges three."""
    its_turn(LABS.index(name), len(LABS))
    every = request.config.getoption("--every-lab")
    others = [
        seed for seed in SEEDS if seed != PUBLIC_SEED
    ]  # at one seed alone, a constant may be right in every check
    seeds = SEEDS if every else (PUBLIC_SEED, others[turn_of(len(others))])
    for row in processors.in_turn(every):
        said = processors.in_row(row, "-c", CHECKED, str(ROOT), name, *map(str, seeds))
        assert not said, f"{row.name}: {said}"


@pytest.mark.parametrize("name", QUICK)
def test_the_committed_notebook_of_a_quick_lab_is_what_its_source_gives(course, name, its_turn):
    its_turn(QUICK.index(name), len(QUICK))
    build(course, [name], check=True, say=lambda line: None)


@pytest.mark.parametrize("name", LABS)
def test_no_release_names_a_folder_of_the_machine_that_built_it(course, name):
    """An exception's message may list every file that led to it."""
    folder = Lab.load(course, name).release_folder
    for file in folder.iterdir():
        if file.suffix == ".npz":
            with np.load(file) as arrays:
                text = bytes(arrays["index"]).decode("utf-8") if "index" in arrays else ""
        elif file.suffix in (".py", ".json", ".md", ".ipynb"):
            text = file.read_text("utf-8")
        else:
            continue
        assert str(ROOT) not in text and "site-packages" not in text, file.name


@pytest.mark.parametrize("name", LABS)
def test_no_release_contains_a_solution_region_or_its_text(course, name):
    lab = Lab.load(course, name)
    released = (lab.release_folder / lab.notebook_name).read_text("utf-8")
    assert "BEGIN SOLUTION" not in released
    assert released.count(STUB.splitlines()[0]) >= len(lab.exercises)
