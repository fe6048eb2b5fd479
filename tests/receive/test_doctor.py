"""What is wrong with one notebook, without running any of it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell
from project import ROOT
from typer.testing import CliRunner

from grader.cli import app
from grader.course import Course
from grader.errors import GraderError
from grader.handout.demo import duplicated, retyped, solved, with_texts, without_cells, without_metadata
from grader.receive.doctor import (
    ANSWERED,
    AS_HANDED_OUT,
    BY_NAME,
    RESTORED,
    Examination,
    examine,
    syntax_fault,
)
from grader.receive.likely import Labs
from grader.receive.read import PlainCell, read_submission
from grader.reference.lab import GO_ON_CELL, SKIP_TAG, Lab

START, LAB = "00_start_here", "02_self_attention"


@pytest.fixture
def lab(labs) -> Lab:
    return labs[LAB]


@pytest.fixture
def examined(tmp_path, course):
    def run(
        notebook: NotebookNode | bytes, lab_name: str | None = None, name: str = "x.ipynb"
    ) -> Examination:
        data = notebook if isinstance(notebook, bytes) else json.dumps(notebook).encode()
        (tmp_path / name).write_bytes(data)
        return examine(course, tmp_path / name, lab_name)

    return run


def states(found: Examination) -> set[str]:
    return {part.state for part in found.parts}


def test_a_solved_notebook_of_any_lab_is_fine_and_known(labs, examined):
    for name, lab in labs.items():
        found = examined(solved(lab))
        assert found.lab == name and found.fine, found
        assert {part.state for part in found.parts if not part.written} == {ANSWERED}
        assert [part.name for part in found.parts if not part.written] == [
            exercise.name for exercise in lab.exercises.values()
        ]


ATTEND = "scaled_dot_product_attention"
LATER = "`my_softmax` is defined in cell {} and used in cell {}: move it up, because cells are graded from top to bottom."


def test_a_name_without_a_value_is_no_notebook_that_is_fine(lab, examined):
    notebook = solved(lab, {ATTEND: lab.solution_texts[ATTEND].replace("softmax(", "my_softmax(")})
    place = next(n for n, cell in enumerate(notebook.cells, 1) if "my_softmax(" in cell.source)
    faults = {part.name: part.fault for part in examined(notebook).parts if part.fault}
    assert (
        faults[ATTEND]
        == f"`my_softmax` is used in cell {place}, and no cell defines it: it is misspelt, or its cell is gone."
    )
    notebook.cells.append(new_code_cell("def my_softmax(x):\n    return x"))
    found = examined(notebook)
    faults = {part.name: part.fault for part in found.parts if part.fault}
    assert not found.fine and faults[ATTEND] == LATER.format(len(notebook.cells), place)
    notebook.cells.insert(0, notebook.cells.pop())
    assert examined(notebook).fine


def test_odd_characters_are_told_in_words(lab, examined):
    for text, said in (
        ("x\u00a0= 1", "there is an invisible character (no-break space)"),
        ("x = “a”", "the quotation mark “ is not one that Python knows"),
    ):
        found = examined(solved(lab, {ATTEND: f"{text}\n{lab.solution_texts[ATTEND]}"}))
        fault = next(part.fault for part in found.parts if part.name == ATTEND)
        assert fault.startswith("line 1: ") and said in fault


def test_a_notebook_as_handed_out_is_fine(lab, examined):
    found = examined(lab.release())
    assert found.fine and states(found) == {AS_HANDED_OUT}


def test_missing_and_nameless_cells_are_found_out(lab, examined):
    names = [exercise.name for exercise in lab.exercises.values()]
    found = examined(without_cells(solved(lab), names[0], f"check_{names[1]}"))
    assert not found.fine and "missing" in found.notes[0]
    assert {part.name: part.state for part in found.parts} == dict.fromkeys(names, ANSWERED) | {
        names[0]: RESTORED
    }
    found = examined(without_metadata(solved(lab)))
    assert found.lab == LAB and states(found) == {BY_NAME}


@pytest.mark.parametrize("mishap", [retyped, lambda notebook: duplicated(notebook, notebook)])
def test_mishaps_that_cost_nothing_are_told(lab, examined, mishap):
    found = examined(mishap(solved(lab)))
    assert states(found) == {ANSWERED} and found.notes and not found.fine


def test_syntax_errors_are_shown_with_their_lines(lab, examined):
    name = next(iter(lab.exercises.values())).name
    broken = lab.solution_texts[name] + "\n\nx = = 1"
    found = examined(with_texts(solved(lab), {name: broken}))
    line = f"line {broken.count(chr(10)) + 1}: invalid syntax"
    faults = {part.name: part.fault for part in found.parts if part.fault}
    assert faults.pop(name) == line and not found.fine
    assert set(faults) == {each.name for each in lab.exercises.values() if name in each.uses}
    assert all(fault.endswith(f", which is not valid Python ({line}).") for fault in faults.values())


def test_a_ready_made_thing_in_place_of_an_exercise_is_named(labs, examined):
    lab = labs["02_self_attention"]
    code = (
        "from torch.nn.functional import scaled_dot_product_attention as ready\n"
        "def cross_attention(x, memory, w_q, w_k, w_v, memory_mask=None):\n    return ready(x, memory, memory), None"
    )
    found = examined(solved(lab, {"cross_attention": code}), lab.name)
    (part,) = (part for part in found.parts if part.fault)
    assert part.name == "cross_attention"
    assert "torch.nn.functional.scaled_dot_product_attention" in part.fault and not found.fine


def test_files_that_the_notebook_imports_are_named_and_what_is_wrong_with_them(lab, examined, tmp_path):
    for name, text in {
        "helpers": "import tools",
        "tools": "x = = 1",
        "numpy": "x = 1",
        "unrelated": "x = 1",
    }.items():
        (tmp_path / f"{name}.py").write_text(text)
    (tmp_path / "letter.pdf").write_bytes(b"")
    notebook = solved(lab)
    notebook.cells.insert(0, new_code_cell("import numpy, helpers"))
    found = examined(notebook)
    assert found.files == ("helpers.py", "tools.py") and not found.fine
    assert found.notes == (
        "tools.py: line 1: invalid syntax",
        "Handed in beside the notebook, and not used: numpy.py (it has the name of an installed package).",
    )
    assert [cell.first_line for cell in found.own] == ["import numpy, helpers"]


def test_an_answer_that_is_not_in_its_own_cell_is_told(labs, examined):
    notebook = solved(labs["13_your_own_dataset"])
    at, cell = next(
        (at, cell)
        for at, cell in enumerate(notebook.cells)
        if cell.cell_type == "markdown" and cell.metadata.get("nbgrader", {}).get("solution")
    )
    release = {each.id: each.source for each in labs["13_your_own_dataset"].release().cells}
    cell.source = release[cell.id]
    notebook.cells.insert(at + 1, new_markdown_cell("My report."))
    found = examined(notebook)
    (part,) = (part for part in found.parts if part.written)
    assert part.state == ANSWERED and "counts as the answer" in found.notes[0]


def test_cells_of_one_s_own_are_listed_if_they_run(lab, examined):
    notebook = solved(lab)
    notebook.cells.insert(0, new_code_cell("\n\nfirst = 1\nsecond = 2"))
    notebook.cells.append(new_code_cell("def broken(:"))
    notebook.cells.append(new_markdown_cell("thoughts"))
    go_on, skipped, *_ = (cell for cell in notebook.cells if SKIP_TAG in cell.metadata.get("tags", []))
    assert go_on.id == GO_ON_CELL
    go_on.source = (
        f"import math\n{go_on.source}"  # the first cell of the lab: whoever adds something there needs it
    )
    skipped.source = "changed = 1"  # is shown, but does not run
    found = examined(notebook)
    assert [(cell.first_line, cell.fault[:6]) for cell in found.own] == [
        ("first = 1", ""),
        ("import math", ""),
        ("def broken(:", "line 1"),
    ]
    assert found.own[0].after == "" and found.own[2].after == lab.release().cells[-1].id
    assert not found.fine


@pytest.mark.parametrize(
    ("code", "fault"),
    [
        ("x = 1", ""),
        ("%matplotlib inline\n!ls\nx = 1", ""),
        ("files = !ls\nlen?", ""),
        ("%%time\nx = 1", ""),
        ("await x", ""),
        ("x = '\\d'", ""),
        ("%matplotlib inline\nx = (", "line 2: '(' was never closed"),
        ("x = 1\n  y = 2", "line 2: unexpected indent"),
        ("x\x00", "a NUL character"),
        ("-" * 19_000 + "1", "it is nested too deeply"),
        ("x = (" + " " * 30_000, ""),  # too long to be looked at
        ("!ls\n" * 3000 + "x = (", ""),
    ],
)
def test_what_a_notebook_may_hold_is_no_syntax_error(code, fault):
    assert syntax_fault(code) == fault


def test_an_unreadable_file_has_its_reason(examined):
    found = examined(b"hello")
    assert "not valid JSON" in found.problem and not found.fine


def test_a_notebook_of_another_lab_than_asked_is_said_to_be_one(labs, examined):
    found = examined(solved(labs[START]), LAB)
    assert found.lab == LAB and not found.fine
    assert found.notes[0] == f"It looks like the notebook of {START}, not of {LAB}."
    assert states(found) == {RESTORED}


def test_a_notebook_of_no_lab_needs_the_lab_s_name(examined):
    foreign = b'{"nbformat": 4, "cells": [{"cell_type": "code", "source": "a = 1"}]}'
    assert "not from any of the labs" in examined(foreign).problem
    found = examined(foreign, name="my self-attention.ipynb")
    assert found.lab == LAB and "another lab" in found.notes[0]
    found = examined(foreign, START)
    assert found.lab == START and not found.problem


def test_cells_count_for_more_than_the_name_of_the_file(labs, course):
    cells = read_submission(json.dumps(solved(labs[START])).encode()).cells
    assert Labs(course).likely(cells, "self_attention.ipynb") == labs[START]
    without_names = [PlainCell("code", "", grade_id=cell.grade_id) for cell in cells]
    assert Labs(course).likely(without_names, "self_attention.ipynb") == labs[START]


def test_links_and_files_that_are_not_there(course, tmp_path, lab):
    with pytest.raises(GraderError, match="no file"):
        examine(course, tmp_path / "none.ipynb")
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "x.ipynb").write_text(json.dumps(solved(lab)))
    (tmp_path / "folder").symlink_to(tmp_path / "real")
    (tmp_path / "link.ipynb").symlink_to(tmp_path / "real" / "x.ipynb")
    assert examine(
        course, tmp_path / "folder" / "x.ipynb"
    ).fine  # where one keeps one's files is one's own affair
    assert "symbolic link" in examine(course, tmp_path / "link.ipynb").problem


def run(file: Path, *more: str):
    return CliRunner().invoke(app, ["doctor", str(file), *more])


def test_the_command_says_so_by_its_exit_code_too(tmp_path, lab, monkeypatch):
    monkeypatch.chdir(Course(ROOT).root)
    file = tmp_path / "self_attention.ipynb"
    file.write_text(json.dumps(solved(lab)))
    result = run(file)
    assert (
        result.exit_code == 0
        and "can be graded as it is" in result.output
        and "padding_mask" in result.output
    )
    notebook = without_cells(solved(lab), "padding_mask")
    notebook.cells.append(new_code_cell("[bold]mine"))
    file.write_text(json.dumps(notebook))
    result = run(file, "--lab", LAB)
    assert result.exit_code == 1
    assert "Note: Cell `padding_mask`: missing" in result.output and ": [bold]mine" in result.output
    file.write_text("")
    result = run(file)
    assert result.exit_code == 1 and "cannot be graded. The file is empty." in result.output
    result = run(tmp_path / "none.ipynb")
    assert result.exit_code == 1 and "There is no file" in result.output
    assert run(file, "--lab", "99_none").exit_code == 1
