"""Every lab as a notebook: its form, and what happens when all of it is run, solved and as released."""

from __future__ import annotations

import shutil
import time

import pytest
from jupyter_client.manager import AsyncKernelManager
from nbclient import NotebookClient
from nbformat import NotebookNode
from project import ALONE, LABS, ROOT

from course_utils.checking.expected import FILE_NAME
from grader.author import training
from grader.core_path import MAY_FAIL
from grader.course import Course
from grader.handout.demo import solved
from grader.reference.lab import Lab, checked_exercise, is_solution, nbgrader_of


def executed(lab: Lab, notebook: NotebookNode, folder):
    """The notebook, run from top to bottom in an ordinary kernel whatever fails on the way."""
    shutil.copy(lab.release_folder / FILE_NAME, folder)
    manager = AsyncKernelManager(kernel_name="python3", transport="ipc", ip=str(folder / "kernel"))
    client = NotebookClient(notebook, km=manager, timeout=900, allow_errors=True)
    client.resources = {"metadata": {"path": str(folder)}}
    client.execute(cleanup_kc=True)  # else its kernel would outlive it, as the manager is ours
    return notebook


def outputs(notebook):
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            yield cell, output


def printed(notebook: NotebookNode) -> str:
    """What a whole notebook said, if no cell stopped at an error or wrote on stderr."""
    said = ""
    for cell, output in outputs(notebook):
        assert output.output_type != "error", (cell.id, output.evalue)
        assert output.get("name") != "stderr", (cell.id, output.text)
        said += output.get("text") or f"{output.get('data', {}).get('text/plain', '')}\n"
    return said


def printed_without_training(lab: Lab, folder) -> str:
    """What a solved lab says that was run with the weights which come with the course."""
    notebook = solved(lab)
    (switch,) = (cell for cell in notebook.cells if "RUN_TRAINING = True" in cell.source)
    switch.source = switch.source.replace("RUN_TRAINING = True", "RUN_TRAINING = False")
    return printed(executed(lab, notebook, folder))


RECORDED = [name for name in LABS if training.promises(Lab(Course(ROOT), name))]
"""The labs whose training is on record. One of them is run again every third day; a record is stale as soon as its training changes."""
QUICK = [name for name in LABS if name not in RECORDED]
"""The others: one of them is run each day."""


def for_itself(name: str):
    """A lab that trains has the machine to itself, so that its seconds can be compared with those on its first page."""
    return pytest.param(name, marks=[pytest.mark.alone] if name in RECORDED else [])


@pytest.mark.slow
@pytest.mark.parametrize("name", map(for_itself, LABS))
def test_the_solved_lab_runs_from_top_to_bottom_without_error_or_stderr(
    labs, name, tmp_path, timings, trained, its_turn
):
    if name in RECORDED:
        its_turn(ALONE.index("a training"), len(ALONE))
        its_turn(RECORDED.index(name), len(RECORDED), days=len(ALONE))
    else:
        its_turn(QUICK.index(name), len(QUICK))
    began = time.monotonic()
    notebook = executed(labs[name], solved(labs[name]), tmp_path)
    timings(name, time.monotonic() - began)
    said = printed(notebook)
    reports = [output for cell, output in outputs(notebook) if checked_exercise(cell)]
    assert len(reports) == len(labs[name].exercises)
    assert all("checks passed." in report.data["text/plain"] for report in reports)
    scores = training.figures(labs[name], said)
    trained(name, scores)
    assert not training.broken(labs[name], scores)


STOPS = (
    "NotImplementedError",
    "CheckFailed",
    "NameError",  # a name that an unfinished cell would have made
    "WrongWeights",  # a file that an unfinished cell would have written
)


@pytest.mark.slow
@pytest.mark.parametrize("name", LABS)
def test_the_untouched_lab_stops_only_at_what_is_still_to_be_written(labs, name, tmp_path, its_turn):
    its_turn(LABS.index(name) % 5, 5)
    notebook = executed(labs[name], labs[name].release(), tmp_path)
    for cell in (cell for cell in notebook.cells if checked_exercise(cell)):
        if checked_exercise(cell).partition(".")[2] in labs[name].info.waits:
            assert cell.outputs[-1].data["text/plain"].startswith("Not written yet: ")
        else:
            assert cell.outputs[-1].ename == "CheckFailed"
    for cell, output in outputs(notebook):
        if output.output_type == "error":
            assert output.ename in STOPS, (cell.id, output.ename)


@pytest.mark.slow
def test_run_all_ends_where_the_core_path_is_solved_and_nothing_else_is_begun(labs, tmp_path):
    lab = labs["02_self_attention"]
    notebook = lab.release()
    for cell in notebook.cells:
        if is_solution(cell) and nbgrader_of(cell)["grade_id"] not in lab.info.waits:
            cell.source = lab.solution_texts[nbgrader_of(cell)["grade_id"]]
    for cell, output in outputs(executed(lab, notebook, tmp_path)):
        if output.output_type == "error":
            assert MAY_FAIL in cell.metadata.tags, (cell.id, output.ename)
            assert output.ename in STOPS
    checks = {checked_exercise(cell): cell.outputs for cell in notebook.cells if checked_exercise(cell)}
    for key, said in checks.items():
        waits = key.partition(".")[2] in lab.info.waits
        assert said[-1].data["text/plain"].startswith("Not written yet: ") == waits
    # nbgrader's Validate looks at the checks' outputs alone
    assert all(output.output_type != "error" for said in checks.values() for output in said)
