"""Files beside a notebook: which of them run with it, and what is said about the others."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from grader.receive.beside import (
    MAX_CHARACTERS,
    MAX_TAKEN,
    NOT_TAKEN,
    Beside,
    in_folder,
    note,
    sort_out,
)
from grader.receive.read import PlainCell
from grader.reference.lab import Lab


@pytest.fixture
def lab(labs) -> Lab:
    return labs["02_self_attention"]


def sorted_out(lab: Lab, **files: bytes | str) -> Beside:
    """Two underscores in a name stand for a dot."""
    parts = [(tuple(name.replace("__", ".").split("/")), data) for name, data in files.items()]
    return sort_out(
        lab,
        [(name, lambda data=data: data.encode() if isinstance(data, str) else data) for name, data in parts],
    )


def test_a_module_of_the_learner_s_own_is_taken(lab):
    found = sorted_out(
        lab, helpers__py="x = 1\r\ny = 2", **{"my_tools-2.py": "z = 3", "more (1).py": "\ufeffa = 1"}
    )
    assert found.modules == {"helpers.py": "x = 1\ny = 2", "my_tools.py": "z = 3", "more.py": "a = 1"}
    assert found.left == {} and found.sentences() == []


@pytest.mark.parametrize(
    "name",
    ["numpy.py", "numpy-1.py", "torch.py", "re.py", "sitecustomize.py", "course_utils.py", "grader.py",
     "exercises.py", "exercises-1.py", "sys.py", "IPython.py", "matplotlib (2).py"],
)  # fmt: skip
def test_no_file_takes_the_place_of_python_s_of_a_package_or_of_the_lab(lab, name):
    found = sorted_out(lab, **{name: "evil = 1"})
    assert not found.modules and "it has the name of" in found.left[name]


@pytest.mark.parametrize(
    ("name", "data", "why"),
    [
        ("a b.py", "", "only Python"),
        ("é.py", "", "only Python"),
        ("1.py", "", "only Python"),
        ("helpers.pyx", "", "only Python"),
        ("data.csv", "", "only Python"),
        ("src/helpers.py", "", "in a folder"),
        ("other.ipynb", "", "another notebook"),
        ("helpers.py", "#" * (MAX_CHARACTERS + 1), "more than"),
        ("helpers.py", b"\x00", "not text"),
        ("helpers.py", b"\xff\xfe", "not text"),
        ("helpers.py", b"#" * 50_000_000, "more than"),
    ],
)
def test_other_files_are_named(lab, name, data, why):
    found = sorted_out(lab, **{name: data})
    assert not found.modules and why in found.left[name]
    assert name in found.sentences()[0]


def test_what_comes_with_the_lab_and_what_programs_leave_behind_is_passed_over(lab):
    own = {path.name: path.read_bytes() for path in lab.release_folder.iterdir() if path.is_file()}
    own.pop(lab.notebook_name)
    assert len(own) > 2
    found = sorted_out(lab, **own, **{".DS_Store": b"", "__pycache__/helpers.pyc": b"", "timestamp.txt": b""})
    assert found == Beside()
    changed = sorted_out(lab, **{"lab.json": b"{}"})
    assert "whose own is used" in changed.left["lab.json"]


def test_there_are_limits_to_how_much_is_taken(lab):
    many = sorted_out(lab, **{f"h{n}.py": "x = 1" for n in range(MAX_TAKEN + 1)})
    assert len(many.modules) == MAX_TAKEN and list(many.left.values()) == [f"{MAX_TAKEN} others are taken"]
    long = sorted_out(lab, **{f"h{n}.py": "#" * MAX_CHARACTERS for n in range(4)})
    assert len(long.modules) == 3 and "together" in long.left["h3.py"]


def test_of_several_versions_the_last_counts_and_the_other_is_named(lab):
    found = sorted_out(lab, **{"helpers.py": "x = 1", "helpers-1.py": "x = 2"})
    assert found.modules == {"helpers.py": "x = 2"}
    assert found.left == {"helpers.py": "a later version of it counts"}


@pytest.mark.parametrize(
    "code", ["import helpers", "from helpers import *", "import numpy, helpers as h", "%run helpers.py",
             "importlib.import_module('helpers')"],
)  # fmt: skip
def test_files_that_the_code_names_are_used_and_those_that_they_name(code):
    modules = {"helpers.py": "from tools import x", "tools.py": "x = 1", "old.py": "x = 1"}
    used = Beside(modules).used_by([PlainCell("code", code)])
    assert list(used.modules) == ["helpers.py", "tools.py"]
    assert used.left == {"old.py": "the notebook does not import it"}


def test_a_folder_is_looked_through_without_following_a_link(lab, tmp_path):
    folder = tmp_path / "ann" / lab.name
    folder.mkdir(parents=True)
    (tmp_path / "secret.py").write_text("password = 1")
    (folder / "linked.py").symlink_to(tmp_path / "secret.py")
    (folder / "folder.py").mkdir()
    os.mkfifo(folder / "pipe.py")
    (folder / "helpers.py").write_text("x = 1")
    (folder / NOT_TAKEN).write_bytes(note({"table.csv": "only Python files are used"}))
    found = in_folder(lab, folder / lab.notebook_name)
    assert found.modules == {"helpers.py": "x = 1"}
    assert set(found.left) == {"linked.py", "folder.py", "pipe.py", "table.csv"}
    assert "link" in found.left["linked.py"]


def test_a_note_that_was_tampered_with_is_only_text(lab, tmp_path):
    folder = tmp_path / "ann" / lab.name
    folder.mkdir(parents=True)
    (folder / NOT_TAKEN).write_bytes(
        b"\xff\x00\x1b[31m\t" + b"x" * 1000 + b"\n\n\tno name\n" + b"y\n" * 300_000
    )
    (sentence,) = in_folder(lab, Path(folder / "x.ipynb")).sentences()
    assert sentence.isprintable() and len(sentence) < 10_000
