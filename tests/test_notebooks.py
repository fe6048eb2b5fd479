"""Every lab as a notebook: its form, and what happens when all of it is run, solved and as released."""

from __future__ import annotations

import re
import shutil
import subprocess
import time

import pytest
from jupyter_client.manager import AsyncKernelManager
from nbclient import NotebookClient
from nbformat import NotebookNode
from project import LABS, ROOT

from course_utils.checking.expected import FILE_NAME
from grader.demo import solved
from grader.lab import Lab, checked_exercise

pytestmark = [pytest.mark.parametrize("name", LABS), pytest.mark.alone]

PROMISES = {
    "05_transformer_pytorch": {
        r"^new sentences .*exact match +([\d.]+)%": 95,
        r"^words that never met .*exact match +([\d.]+)%": 95,
    },
    "06_transformer_tensorflow": {
        r"^new sentences .*exact match +([\d.]+)%": 95,
        r"^words that never met .*exact match +([\d.]+)%": 95,
    },
    "09_named_entity_recognition": {
        r"^on unseen documents\n(?:.*\n){2} +fine-tuned .* ([\d.]+)$": 0.90,
        r"^on unseen templates\n(?:.*\n){2} +fine-tuned .* ([\d.]+)$": 0.90,
    },
    "10_question_answering_pytorch": {
        r"^task 1, known names +your reader +exact match +([\d.]+)%": 95,
        r"^task 1, unseen names +your reader +exact match +([\d.]+)%": 95,
    },
    "11_question_answering_tensorflow": {
        r"^task 1, known names +your reader +exact match +([\d.]+)%": 95,
        r"^task 1, unseen names +your reader +exact match +([\d.]+)%": 95,
    },
}
"""What a learner is promised of the model that is trained in the notebook: a score as it is printed, and its least value."""


def executed(lab: Lab, notebook: NotebookNode, folder):
    """The notebook, run from top to bottom in an ordinary kernel whatever fails on the way."""
    shutil.copy(lab.release_folder / FILE_NAME, folder)
    manager = AsyncKernelManager(kernel_name="python3", transport="ipc", ip=str(folder / "kernel"))
    client = NotebookClient(notebook, km=manager, timeout=900, allow_errors=True)
    client.resources = {"metadata": {"path": str(folder)}}
    client.execute()
    return notebook


def outputs(notebook):
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            yield cell, output


LONG = 60
"""Seconds of a notebook on its first page from which on it counts as one that trains for long."""


def waits_for_its_turn(labs: dict[str, Lab], name: str) -> bool:
    """Of the labs that train for long, one is run at each commit."""
    long = [name for name, lab in labs.items() if (lab.seconds or LONG) >= LONG]
    done = subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, text=True)
    return name in long and name != long[int(done.stdout.strip() or "0", 16) % len(long)]


@pytest.mark.slow
def test_the_solved_lab_runs_from_top_to_bottom_without_error_or_stderr(
    labs, name, tmp_path, timings, request
):
    if not request.config.getoption("--every-lab") and waits_for_its_turn(labs, name):
        pytest.skip("it trains for minutes, and it is another lab's turn; --every-lab runs them all")
    began = time.monotonic()
    notebook = executed(labs[name], solved(labs[name]), tmp_path)
    timings(name, time.monotonic() - began)
    for cell, output in outputs(notebook):
        assert output.output_type != "error", (cell.id, output.evalue)
        assert output.get("name") != "stderr", (cell.id, output.text)
    reports = [output for cell, output in outputs(notebook) if checked_exercise(cell)]
    assert len(reports) == len(labs[name].exercises)
    assert all("checks passed." in report.data["text/plain"] for report in reports)
    printed = "".join(output.text for _, output in outputs(notebook) if output.get("name") == "stdout")
    for line, least in PROMISES.get(name, {}).items():
        scores = re.findall(line, printed, re.MULTILINE)
        assert scores and float(scores[0]) >= least, (line, scores)


@pytest.mark.slow
def test_the_untouched_lab_stops_only_at_what_is_still_to_be_written(labs, name, tmp_path):
    notebook = executed(labs[name], labs[name].release(), tmp_path)
    checks = [cell for cell in notebook.cells if checked_exercise(cell)]
    assert all(cell.outputs[-1].ename == "CheckFailed" for cell in checks)
    for cell, output in outputs(notebook):
        if output.output_type == "error":  # a name that an unfinished cell would have made is missing too
            assert output.ename in ("NotImplementedError", "CheckFailed", "NameError"), (
                cell.id,
                output.ename,
            )
