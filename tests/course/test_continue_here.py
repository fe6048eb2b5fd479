"""The cell that brings back what a learner had: what it runs of the saved notebook, what it says, and where it does nothing."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from types import SimpleNamespace

import nbformat
import numpy as np
import pytest
from nbclient import NotebookClient
from nbformat.v4 import new_code_cell, new_notebook
from project import LABS, ROOT

from course_utils import progress
from course_utils.checking import check as checking
from course_utils.checking.check import SEED_VARIABLE, check, digest
from course_utils.continue_here import GIVEN
from grader.author.rules import BREAK
from grader.core_path import pieces
from grader.handout.demo import with_texts
from grader.reference.lab import GO_ON_CELL, checked_exercise, is_solution, runs_in_grading

STUB = "def {}(*arguments):\n    # YOUR CODE HERE\n    raise NotImplementedError"
LAB = "02_self_attention"


@pytest.fixture
def day_two(labs, tmp_path, monkeypatch, capsys):
    """Puts a saved notebook into an empty folder and runs its first code cell in a fresh namespace; returns that, and what was said."""
    lab = labs[LAB]
    shutil.copytree(lab.release_folder, tmp_path / LAB)
    monkeypatch.chdir(tmp_path / LAB)
    monkeypatch.syspath_prepend("")

    def run(notebook=None, save=True, **names):
        if notebook is not None and save:
            nbformat.write(notebook, tmp_path / LAB / lab.notebook_name)
        namespace = {"__name__": "__main__", **names}
        cell = next(each for each in lab.source().cells if each.id == GO_ON_CELL)
        exec(cell.source, namespace)
        return namespace, capsys.readouterr().out

    yield run
    checking.brought_back.clear()


@pytest.fixture
def work(labs):
    """The notebook with these solution cells written and all others as they were handed out."""

    def of(*written: str, **texts: str):
        own = {name: text for name, text in labs[LAB].solution_texts.items() if name in written}
        return with_texts(labs[LAB].release(), own | texts)

    return of


def added(notebook, place: str, source: str):
    """The same with a cell of the learner's before another."""
    at = next(n for n, cell in enumerate(notebook.cells) if cell.id == place)
    notebook.cells.insert(at, new_code_cell(source))
    return notebook


CORE = ("project_qkv", "attend_one_word", "scaled_dot_product_attention")


def test_in_a_new_notebook_there_is_nothing_to_bring_back_and_it_names_the_first_exercise(day_two, work):
    _, said = day_two(work())
    assert said.startswith("Nothing to bring back yet")
    assert "Begin with project_qkv, in section 2. Jane's sentence in numbers." in said


def test_what_is_solved_comes_back_with_the_data_above_and_it_says_where_to_go_on(day_two, work):
    namespace, said = day_two(work("project_qkv"))
    query, _, _ = namespace["project_qkv"](
        namespace["jane"], *(namespace[f"w_{n}"] for n in ("query", "key", "value"))
    )
    assert np.array_equal(query, namespace["query"])  # the course's cell below the exercise has run, too
    assert "project_qkv, and the imports and data above" in said
    assert "Go on with attend_one_word, in section 3. Six steps for one word." in said


def test_with_the_core_done_it_goes_on_with_what_a_later_lab_needs(day_two, work):
    _, said = day_two(work(*CORE))
    assert "Go on with padding_mask" in said and "The core path is done; lab 05 needs this one." in said


def test_with_everything_solved_it_says_so(day_two, labs, work):
    namespace, said = day_two(work(*labs[LAB].solution_texts))
    assert "Every exercise of this lab is solved." in said
    assert {exercise.name for exercise in labs[LAB].exercises.values()} <= namespace.keys()


def test_an_exercise_that_does_not_pass_as_it_was_saved_is_where_to_go_on(day_two, work):
    wrong = "def attend_one_word(x, position, w_query, w_key, w_value):\n    return x, x"
    namespace, said = day_two(work(*CORE, attend_one_word=wrong))
    assert "Go on with attend_one_word" in said
    assert "scaled_dot_product_attention" not in namespace


def test_of_a_learner_s_own_and_of_changed_cells_only_definitions_are_run_and_what_others_need(day_two, work):
    more = "import json\nRATE = 0.1\ndef helper():\n    return RATE\nopen('trace', 'w').close()\nlong = [helper() for _ in range(3)]"
    notebook = added(work("project_qkv"), "project_qkv", more)
    given = next(cell for cell in notebook.cells if "jane = np.array" in cell.source)
    given.source += "\nopen('trace', 'w').close()"
    namespace, _ = day_two(notebook)
    assert namespace["helper"]() == 0.1 and "json" in namespace
    assert "long" not in namespace  # nobody else needs it
    assert "jane" in namespace
    assert not os.path.exists("trace")


def test_data_that_a_cell_outside_of_grading_has_made_come_back_whole_where_others_use_them(day_two, work):
    made = (
        "raw = [3, 1, 2]\nraw = sorted(raw)\ntable = dict(n=len(raw))\nfor number in raw:\n    table[number] = -number\n"
        "open('trace', 'w').close()\nunused = max(raw)"
    )
    notebook = added(work("project_qkv"), "project_qkv", made)
    notebook.cells.append(new_code_cell("print(table)"))
    namespace, said = day_two(notebook)
    assert namespace["table"] == {"n": 3, 1: -1, 2: -2, 3: -3} and namespace["raw"] == [1, 2, 3]
    assert "unused" not in namespace and not os.path.exists("trace")
    assert "also use what" not in said


@pytest.mark.slow
def test_what_trains_or_takes_long_is_not_run_and_its_cell_is_named_if_later_ones_use_it(day_two, work):
    slow = (
        "class Loss:\n    def backward(self):\n        open('trace', 'w').close()\n\n\n"
        "def trained(steps):\n    Loss().backward()\n    return steps\n\n\n"
        "history = trained(3)\nlosses = list('a')\nfor step in range(2):\n    Loss().backward()\n    losses.append(step)\n"
        "endless = max(each for each in iter(int, 1))"  # a list of them takes 13 GB till the limit of time
    )
    notebook = added(work("project_qkv"), "project_qkv", slow)
    number = next(n for n, cell in enumerate(notebook.cells, 1) if cell.source == slow)
    notebook.cells.append(new_code_cell("print(history, losses, endless)"))
    namespace, said = day_two(notebook)
    assert not {"history", "losses", "endless"} & namespace.keys() and not os.path.exists("trace")
    assert f"Cells from here on also use what cell {number} gives: run it before." in said


@pytest.mark.parametrize("trains", [True, False])
def test_a_model_comes_back_without_weights_only_if_nothing_above_has_trained_it(day_two, work, trains):
    cells = ["import torch", "net = torch.nn.Linear(2, 1)"]
    cells += ["net(torch.ones(2)).sum().backward()"] * trains
    notebook = work("project_qkv")
    for source in cells:
        added(notebook, "project_qkv", source)
    notebook.cells.append(new_code_cell("print(net)"))
    assert ("net" in day_two(notebook)[0]) == (not trains)


def test_a_name_that_a_cell_uses_for_something_else_keeps_the_value_that_is_there(day_two, work):
    made = "jane = list('abc')\nletters = sorted(jane)"
    notebook = added(work("project_qkv"), "project_qkv", made)
    notebook.cells.append(new_code_cell("print(letters)"))
    namespace, _ = day_two(notebook)
    assert namespace["letters"] == ["a", "b", "c"] and isinstance(namespace["jane"], np.ndarray)


def test_a_cell_that_asks_exits_or_fails_stops_nothing(day_two, work):
    cells = [
        "from nothing_at_all import x",
        "def broken(:",
        "class Odd:\n    raise SystemExit",
        "%timeit 1 + 1",
    ]
    notebook = work("project_qkv")
    for source in cells:
        added(notebook, "project_qkv", source)
    assert "Go on with attend_one_word" in day_two(notebook)[1]


def test_a_kernel_that_has_definitions_already_keeps_them(day_two, work):
    namespace, said = day_two(work("project_qkv"), project_qkv="newer than the file")
    assert namespace["project_qkv"] == "newer than the file"
    assert "this kernel has project_qkv already" in said and len(said.splitlines()) == 1


@pytest.mark.parametrize(
    "content, why",
    [
        (None, "there is no such file"),
        ("{", "it is not a notebook that can be read"),
        ('{"cells": 3}', "it is not a notebook that can be read"),
        (
            '{"cells": [3, {}, {"cell_type": "code", "source": 5, "metadata": 7}]}',
            "none of this lab's checks",
        ),
    ],
)
def test_a_notebook_that_is_broken_or_missing_gets_one_sentence(day_two, content, why):
    file = next(each for each in os.listdir() if each.endswith(".ipynb"))
    os.remove(file)
    if content is not None:
        with open(file, "w") as opened:
            opened.write(content)
    _, said = day_two()
    assert why in said and len(said.splitlines()) == 1 and "Traceback" not in said


def test_in_grading_and_where_nobody_sits_at_the_notebook_it_does_nothing(day_two, work, monkeypatch):
    notebook = work("project_qkv")
    with monkeypatch.context() as graded:
        graded.setenv(SEED_VARIABLE, "3")
        assert day_two(notebook)[1] == ""
    shell = SimpleNamespace(kernel=SimpleNamespace(_allow_stdin=False))
    monkeypatch.setattr("IPython.core.getipython.get_ipython", lambda: shell)
    namespace, said = day_two(notebook)
    assert said == "" and "project_qkv" not in namespace


def test_validate_and_whatever_else_runs_all_cells_in_a_kernel_gets_nothing_from_it(day_two, work, tmp_path):
    notebook = work("project_qkv")
    nbformat.write(notebook, tmp_path / LAB / "self_attention.ipynb")
    cell = next(each for each in notebook.cells if each.id == GO_ON_CELL)
    looked = new_code_cell("print('project_qkv' in globals(), get_ipython().kernel._allow_stdin)")
    run = NotebookClient(
        new_notebook(cells=[cell, looked]), resources={"metadata": {"path": tmp_path / LAB}}
    ).execute()
    assert run.cells[0].outputs == [] and run.cells[1].outputs[0].text == "False False\n"


def test_what_was_brought_back_is_history_for_the_check(day_two, work):
    ready = "from scipy.special import softmax as borrowed\n\n\ndef helper(x):\n    return borrowed(x)"
    day_two(added(work("project_qkv"), "project_qkv", ready))
    assert checking.history({"In": ["", "x = 1"]})[-2:] == ["", "x = 1"]
    assert ready in checking.history({"In": ["", "x = 1"]})


def test_what_has_passed_with_this_very_text_is_not_tried_again(day_two, labs, work, monkeypatch):
    text = labs[LAB].solution_texts["project_qkv"]
    namespace = {"__name__": "__main__", "check": check, "In": ["", "import numpy as np", text]}
    exec("import numpy as np\n" + text + "\ncheck('self_attention.project_qkv')", namespace)
    assert progress.load()["self_attention.project_qkv"]["code"] == digest(text)
    tried = []
    monkeypatch.setattr("course_utils.continue_here.fault_of", lambda key, *_: tried.append(key) or "wrong")
    assert "Go on with attend_one_word" in day_two(work("project_qkv"))[1] and not tried
    assert "Begin with project_qkv" in day_two(work(project_qkv=text + "\n\nX = 1"))[1]
    assert tried == ["self_attention.project_qkv"]


@pytest.mark.parametrize("name", LABS)
def test_every_lab_has_the_cell_it_is_not_run_in_grading_and_knows_the_course_s_cells(labs, name):
    source = labs[name].source()
    cell = source.cells[1]
    assert cell.id == GO_ON_CELL and f'continue_here("{labs[name].slug}")' in cell.source
    assert not runs_in_grading(cell)
    run = [each for each in source.cells if runs_in_grading(each) and not is_solution(each)]
    assert cell.metadata[GIVEN] == [digest(each.source) for each in run if not checked_exercise(each)]


@pytest.mark.slow
@pytest.mark.parametrize("name", LABS)
def test_in_every_lab_all_exercises_come_back_in_a_fresh_process(labs, name, tmp_path, its_turn):
    its_turn(LABS.index(name) % 4, 4)
    lab = labs[name]
    shutil.copytree(lab.release_folder, tmp_path / name)
    source = with_texts(lab.source(), lab.solution_texts)
    nbformat.write(source, tmp_path / name / lab.notebook_name)
    code = f"import sys\n\nsys.path.insert(0, '')\n{source.cells[1].source}"
    run = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path / name,
        env=os.environ
        | {"PYTHONPATH": str(ROOT), "TRANSFORMER_LABS_PROGRESS": str(tmp_path / "progress.json")},
        capture_output=True,
        text=True,
    )
    assert "left out" not in run.stdout, run.stdout + run.stderr
    assert "Every exercise of this lab is solved." in run.stdout, run.stdout + run.stderr


HERE = re.compile(rf"{re.escape(BREAK)}(?:.+\n)*?.*\*Continue here\*")
BREAKS = [
    (name, number)
    for name in LABS
    for number, _ in enumerate(HERE.findall((ROOT / "solutions" / name / f"{name}.py").read_text("utf-8")))
]
"""Places at which a lab says that the cell at its top is enough to go on."""
TO_RUN_AGAIN = {
    "04_positional_encoding": "def look_around",
    "07_text_classification": 'measure("split at random"',
}
"""The one cell that a lab says is to be run after it."""


ONE_BY_ONE = """
import json, linecache, sys

sys.path.insert(0, "")
for number, text in enumerate(json.load(open("cells.json"))):
    linecache.cache[f"<{number}>"] = len(text), None, text.splitlines(True), f"<{number}>"  # AutoGraph reads it
    exec(compile(text, f"<{number}>", "exec"), globals())
"""


@pytest.mark.slow
@pytest.mark.parametrize("name, number", BREAKS)
def test_after_a_break_the_rest_of_the_core_path_runs_on_what_comes_back(
    labs, name, number, tmp_path, its_turn
):
    its_turn(3 * BREAKS.index((name, number)), 3 * len(BREAKS))  # minutes: every third day
    lab, folder = labs[name], tmp_path / name
    shutil.copytree(lab.release_folder, folder)
    source = with_texts(lab.source(), lab.solution_texts)
    here = list(pieces(source))
    places = [at for at, piece in enumerate(here) if HERE.search(piece.text)]
    done = {checked_exercise(piece.cell) for piece in here[: places[number]]}
    texts = {name: text for name, text in lab.solution_texts.items() if f"{lab.slug}.{name}" in done}
    nbformat.write(with_texts(lab.release(), texts), folder / lab.notebook_name)
    rest = [
        piece.text.replace("RUN_TRAINING = True", "RUN_TRAINING = False")
        for piece in here[places[number] :]
        if piece.cell.cell_type == "code" and not piece.section
    ]
    again = [
        piece.text
        for piece in here[: places[number]]
        if name in TO_RUN_AGAIN and TO_RUN_AGAIN[name] in piece.text
    ]
    (folder / "cells.json").write_text(json.dumps([source.cells[1].source, *again, *rest]), "utf-8")
    run = subprocess.run(
        [sys.executable, "-c", ONE_BY_ONE],
        cwd=folder,
        env=os.environ
        | {"PYTHONPATH": str(ROOT), "TRANSFORMER_LABS_PROGRESS": str(tmp_path / "progress.json")},
        capture_output=True,
        text=True,
    )
    assert run.returncode == 0 and " was left out, because " not in run.stdout, (
        run.stdout[-3000:] + run.stderr[-3000:]
    )


def test_values_that_a_solution_needs_come_back_with_it(day_two, labs, work):
    """Also those that a call gives, and although its text has passed before."""
    text = 'FAR = float("-inf")\n' + labs[LAB].solution_texts["project_qkv"].replace(
        "    return query", "    assert FAR < 0\n    return query"
    )
    namespace = {"__name__": "__main__", "check": check, "In": ["", "import numpy as np", text]}
    exec("import numpy as np\n" + text + "\ncheck('self_attention.project_qkv')", namespace)
    namespace, said = day_two(work(project_qkv=text))
    assert "project_qkv, and the imports and data above" in said
    assert namespace["FAR"] == float("-inf")
    ones = np.ones((2, 2))
    assert len(namespace["project_qkv"](ones, ones, ones, ones)) == 3


def test_a_check_in_the_solution_s_own_cell_keeps_nothing_from_coming_back(day_two, labs, work):
    text = labs[LAB].solution_texts["project_qkv"] + '\n\ncheck("self_attention.project_qkv")'
    namespace, said = day_two(work(project_qkv=text))
    assert "project_qkv" in namespace and "Go on with attend_one_word" in said


def test_values_that_the_rest_of_a_cell_goes_on_to_change_do_not_come_back_half_made(day_two, work):
    own = "losses, total, STEPS, best = [], 0, 3, {}\nlosses = []\ntotal = 0\nSTEPS = 3\nbest = {}\nfor step in range(STEPS):\n    losses.append(step)\n    total += step\n    best[step] = 0"
    namespace, _ = day_two(added(work("project_qkv"), "project_qkv", own))
    assert not {"losses", "total", "best"} & namespace.keys()
    assert namespace["STEPS"] == 3


def test_annotations_are_those_of_the_notebook(day_two, work):
    own = "def helper(x: int) -> float:\n    return x"
    namespace, _ = day_two(added(work("project_qkv"), "project_qkv", own))
    assert namespace["helper"].__annotations__ == {"x": int, "return": float}


def test_another_notebook_in_vs_code_is_the_one_that_is_read_and_named(day_two, work, tmp_path):
    mine = tmp_path / "mine.ipynb"
    nbformat.write(work("project_qkv"), mine)
    _, said = day_two(__vsc_ipynb_file__=str(mine))
    assert "Brought back from mine.ipynb" in said


def test_in_colab_it_says_that_there_is_no_file_to_read(day_two, work, monkeypatch):
    monkeypatch.setitem(sys.modules, "google.colab", SimpleNamespace())
    _, said = day_two(work("project_qkv"))
    assert "in Colab" in said and "from the top" in said
