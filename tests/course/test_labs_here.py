"""Which labs are found, and where: beside a notebook, or in the course, and never in a folder that Python does not import from."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from project import LABS, ROOT

from course_utils import labs
from course_utils.checking.exercise import exercises_of
from course_utils.labs import LabInfo

EXERCISES = '''"""Of a lab of one's own."""
from course_utils.checking.exercise import Case, Exercise

mine = Exercise("mine", ("x",), (Case("a number", lambda rng: {"x": rng.normal()}),))
'''


@pytest.fixture
def own(tmp_path, monkeypatch) -> Path:
    """A folder of labs that begins with one of the course's names; the current folder is that lab."""
    for name in ("02_self_attention", "50_mine"):
        folder = tmp_path / name
        folder.mkdir()
        info = LabInfo(name, f"My {name}", "Part", "things", (), 5, ("mine",))
        (folder / "lab.json").write_text(info.as_json(), "utf-8")
        (folder / "exercises.py").write_text(EXERCISES)
    monkeypatch.chdir(tmp_path / "02_self_attention")
    return tmp_path


def test_a_notebook_finds_its_own_lab_first_then_its_neighbours_then_the_course(own, monkeypatch):
    monkeypatch.syspath_prepend("")
    assert labs.find("self_attention").title == "My 02_self_attention"
    assert labs.find("mine").folder == own / "50_mine"
    assert labs.find("start_here").folder == ROOT / "notebooks/00_start_here"
    assert [lab.name for lab in labs.all_labs()] == ["02_self_attention", "50_mine"]


def test_what_does_not_import_from_the_current_folder_takes_no_lab_from_there(own, monkeypatch):
    monkeypatch.setattr(sys, "path", [path for path in sys.path if path not in ("", str(Path.cwd()))])
    assert labs.find("self_attention").folder == ROOT / "notebooks/02_self_attention"
    assert labs.find("mine") is None
    assert [lab.name for lab in labs.all_labs()] == LABS


@pytest.mark.parametrize("safely", [False, True])
def test_exercises_come_from_beside_the_notebook_unless_python_is_told_to_be_safe(own, safely):
    code = "from course_utils.checking.exercise import exercises_of; print(*exercises_of('self_attention'))"
    command = [sys.executable, *(["-P"] if safely else []), "-c", code]
    told = subprocess.run(command, cwd=own / "02_self_attention", capture_output=True, text=True, check=True)
    assert (told.stdout == "mine\n") is not safely and ("causal_mask" in told.stdout) is safely


def test_a_lab_that_is_not_here_is_named_with_where_it_was_looked_for():
    with pytest.raises(LookupError, match="The exercises of the lab 'nowhere' are not here"):
        exercises_of("nowhere")


def test_its_file_gives_back_what_was_written(tmp_path):
    info = LabInfo("07_x", "Ünï", "Part", 'a "thing"', ("02", "03"), 60, ("one", "two"))
    (tmp_path / "lab.json").write_text(info.as_json(), "utf-8")
    assert labs.read(tmp_path) == info
