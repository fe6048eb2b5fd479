"""What a solution uses of cells that grading leaves out has its value in grading, too."""

from __future__ import annotations

import pytest
from classroom import KernelFree
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_notebook

from grader.handout.demo import solved
from grader.receive.needed import with_what_is_used
from grader.reference.lab import ADDED_TAG, SKIP_TAG


def notebook(*cells: tuple[str, str]) -> NotebookNode:
    """Cells by who wrote them ("lab", "figure" or "learner") and their text."""
    tags = {"lab": [], "figure": [SKIP_TAG], "learner": [ADDED_TAG]}
    return new_notebook(cells=[new_code_cell(text, metadata={"tags": tags[who]}) for who, text in cells])


def added(*cells: tuple[str, str]) -> list[str]:
    """What is put behind the cells that are left out, without its remark."""
    before = notebook(*cells)
    after = with_what_is_used(before)
    return [cell.source.partition("\n")[2] for cell in after.cells if cell.id.startswith("left-out")]


FIGURE = "import math\nfrom os import path\nprint('drawn')\nsize = 3\nfor row in range(size):\n    last = row\nbig = size * 2"


@pytest.mark.parametrize(
    ("solution", "needed"),
    [
        ("def f(x):\n    return math.ceil(x)", ["import math"]),
        ("y = path.join('a', 'b')", ["from os import path"]),
        ("def f(x):\n    return big + x", ["size = 3\nbig = size * 2"]),
        ("def f(x):\n    return last", []),
        ("import math\ndef f(x):\n    return math.ceil(x)", []),
        ("def f(math):\n    return math.ceil(2)", []),
        ("def f(x):\n    return len(x)", []),
        ("def f(x) return", []),
    ],
)
def test_of_a_cell_that_is_left_out_the_statements_run_that_a_solution_needs(solution, needed):
    assert added(("lab", "import os"), ("figure", FIGURE), ("learner", solution)) == needed


def test_a_name_that_the_lab_sets_in_a_cell_that_runs_is_not_set_again():
    assert added(("lab", "size = 5"), ("figure", FIGURE), ("learner", "y = size")) == []


def test_what_a_definition_needs_in_turn_comes_with_it_from_wherever_it_is():
    found = added(
        ("figure", "import math"),
        ("figure", "def half(x):\n    return math.floor(x / 2)"),
        ("learner", "def f(x):\n    return half(x)"),
    )
    assert found == ["import math", "def half(x):\n    return math.floor(x / 2)"]


def test_what_is_set_below_a_solution_is_not_there():
    assert added(("learner", "y = size"), ("figure", FIGURE)) == []


def test_of_several_cells_that_set_a_name_the_last_one_counts():
    assert added(("figure", "a = 1"), ("figure", "a = 2"), ("learner", "y = a")) == ["a = 2"]


def test_a_notebook_whose_solutions_need_nothing_is_handed_back_itself():
    for cells in ([("figure", FIGURE), ("learner", "y = 1")], [("lab", "y = 1")]):
        made = notebook(*cells)
        assert with_what_is_used(made) is made


def test_a_very_long_chain_and_very_deep_nesting_end_in_no_exception():
    chain = "a0 = 0\n" + "\n".join(f"a{n} = a{n - 1}" for n in range(1, 1200))
    assert added(("figure", chain), ("learner", "y = a1199"))[0].count("\n") == 1199
    deep = "a = " + "-" * 9000 + "1"
    with_what_is_used(notebook(("figure", deep), ("learner", "y = a")))


def test_the_reference_of_no_lab_needs_more_than_grading_runs(labs):
    for lab in labs.values():
        made = solved(lab)
        assert with_what_is_used(made) is made, lab.name


@pytest.mark.slow
def test_a_solution_that_uses_an_import_of_the_lab_s_own_figure_passes_in_grading_as_in_the_notebook(
    labs, tmp_path
):
    lab = labs["01_why_attention"]
    made = solved(lab)
    (cell,) = [each for each in made.cells if each.cell_type == "code" and "def layer_cost(" in each.source]
    cell.source = cell.source.replace("return n * n * d, 1, 1", "return math.prod((n, n, d)), 1, 1")
    assert "math.prod" in cell.source
    key = "why_attention.layer_cost"
    problems = []
    for each in (made, with_what_is_used(made)):
        cases = KernelFree(tmp_path / "runs").run(each, 5).payloads[key]
        problems.append([case["problem"] for case in cases if case["problem"]])
    assert problems[0] and not problems[1]
