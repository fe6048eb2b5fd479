"""Every lab as a notebook: its form, and what happens when all of it is run, solved and as released."""

from __future__ import annotations

import ast
import re
import shutil
import subprocess
import time

import pytest
from conftest import LABS, ROOT
from jupyter_client.manager import AsyncKernelManager
from markdown_it import MarkdownIt
from nbclient import NotebookClient
from nbformat import NotebookNode

from course_utils.expected import FILE_NAME
from grader.demo import solved
from grader.lab import SKIP_TAG, Lab, checked_exercise, nbgrader_of

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
    assert all("checks hold." in report.data["text/plain"] for report in reports)
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


def test_the_table_of_exercises_names_each_with_its_points(labs, name):
    table = labs[name].release().cells[0].source
    rows = re.findall(r"^\| *\d+ *\| *`(\w+)` *\|.*\| *(\d+) *\|$", table, re.MULTILINE)
    points = {
        checked_exercise(cell).partition(".")[2]: str(int(nbgrader_of(cell)["points"]))
        for cell in labs[name].release().cells
        if checked_exercise(cell)
    }
    assert dict(rows) == points and [row[0] for row in rows] == list(points)


def test_each_solution_cell_is_followed_by_its_check(labs, name):
    order = [
        nbgrader_of(cell)["grade_id"]
        for cell in labs[name].release().cells
        if nbgrader_of(cell).get("grade_id")
    ]
    for solution, check in zip(order[::2], order[1::2], strict=True):
        assert check == f"check_{solution}"


def test_no_cell_makes_a_learner_read_more_than_thirty_lines_of_code(labs, name):
    for cell in labs[name].release().cells:
        if cell.cell_type == "code":
            prose = sum(
                len((ast.get_docstring(node, clean=False) or "").splitlines())
                for node in ast.walk(ast.parse(cell.source))
                if isinstance(node, (ast.FunctionDef, ast.ClassDef))
            )
            assert len(cell.source.splitlines()) - prose <= 30, cell.id


def test_figures_and_widgets_have_words_and_are_left_out_of_grading(labs, name):
    shown = [
        cell for cell in labs[name].release().cells if cell.cell_type == "code" and "show_" in cell.source
    ]
    assert shown
    for cell in shown:
        assert SKIP_TAG in cell.metadata.get("tags", []), cell.id
        assert cell.source.count("show_figure(") == cell.source.count("alt="), cell.id


def test_the_first_page_says_how_long_the_notebook_runs_and_that_is_under_four_minutes(labs, name):
    """As measured by `make timings`, not in this run."""
    seconds = labs[name].seconds
    assert seconds is not None, "not measured yet: make timings"
    assert f"needs {seconds} seconds" in " ".join(labs[name].release().cells[0].source.split())
    assert seconds < 240


def test_a_lab_has_what_a_learner_expects(labs, name):
    text = "\n".join(cell.source for cell in labs[name].release().cells)
    parts = ["**After this lab you can**", "**Time:**", "## Common mistakes, by their symptom\n", "## Review quiz", "quiz(",
             "## Going further\n"]  # fmt: skip
    assert [text.count(part) for part in parts] == [1] * len(parts)
    assert sorted(parts, key=text.index) == parts
    assert "Validate" in text.partition(parts[-1])[2] or "Next: " in text.partition(parts[-1])[2]


def test_headings_are_words(labs, name):
    """JupyterLab's table of contents shows formulas as TeX."""
    for cell in labs[name].release().cells:
        if cell.cell_type == "markdown":
            assert not re.search(r"^#+ .*\$", cell.source, re.MULTILINE), cell.id


def test_no_mark_of_markdown_is_left_in_the_prose(labs, name):
    """``**B-**Name`` looks bold in the source and is not: after a hyphen, no letter may follow the stars."""
    read = MarkdownIt("commonmark").enable("table")
    for cell in labs[name].release().cells:
        if cell.cell_type == "markdown":
            page = read.render(re.sub(r"\$\$.*?\$\$|\$[^$\n]+\$", "formula", cell.source, flags=re.DOTALL))
            shown = re.sub("<[^>]*>", "", re.sub("<code>.*?</code>", "", page, flags=re.DOTALL))
            left = [line for line in shown.splitlines() if re.search(r"\*\S|\S\*|`|\]\(", line)]
            assert not left, (cell.id, left)
