"""Whatever happens to a notebook, reading and rebuilding it never fails, and never loses a solution."""

from __future__ import annotations

import copy
import json

import nbformat
from hypothesis import given, settings
from hypothesis import strategies as st
from small_lab import SOLUTIONS, code, release, solved

from grader.receive.read import read_submission
from grader.receive.rebuild import rebuild
from grader.reference.lab import ADDED_TAG, SKIP_TAG

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
grade_ids = st.sampled_from([cell.id for cell in release().cells]) | json_values
metadata = json_values | st.fixed_dictionaries(
    {
        "nbgrader": st.fixed_dictionaries({"grade_id": grade_ids}, optional={"solution": json_values})
        | json_values
    },
    optional={"tags": json_values},
)
kinds = st.sampled_from(["code", "markdown", "raw", "heading", "nonsense"]) | json_values
RIVALS = ["def double(x):\n    return 0", "half = double", "def half("]
learner_texts = st.sampled_from(["", "x = 1", "# half = 2", *RIVALS]) | st.text(max_size=30)


@st.composite
def damaged_cells(draw) -> list[dict]:
    """A solved notebook's cells after any number of mishaps. The solutions' texts themselves stay whole."""
    cells = copy.deepcopy(solved().cells)
    solutions = [cell for cell in cells if cell["source"] in SOLUTIONS.values()]
    copies = copy.deepcopy(draw(st.lists(st.sampled_from(cells), max_size=4)))
    for cell in copies:
        cell["source"] = draw(learner_texts | st.just(cell["source"]))
    cells += copies
    for _ in range(draw(st.integers(0, 6))):
        cell = draw(st.sampled_from(cells) | st.sampled_from(solutions))
        match draw(
            st.sampled_from(["forget", "metadata", "kind", "id", "extra", "outputs", "source", "lines"])
        ):
            case "forget":
                for key in ("id", "metadata", *draw(st.sampled_from([(), ("cell_type",), ("outputs",)]))):
                    cell.pop(key, None)
            case "metadata":
                cell["metadata"] = draw(metadata)
            case "kind":
                cell["cell_type"] = draw(kinds)
            case "id":
                cell["id"] = draw(grade_ids)
            case "extra":
                cell[draw(st.text(min_size=1, max_size=5))] = draw(json_values)
            case "outputs":
                cell["outputs"], cell["execution_count"] = draw(json_values), draw(json_values)
            case "source" if not any(cell is solution for solution in solutions):
                cell["source"] = draw(learner_texts | json_values)
            case "lines" if isinstance(cell["source"], str):
                cell["source"] = cell["source"].splitlines(keepends=True)
    if draw(st.booleans()):
        cells = draw(st.permutations(cells))
    gone = draw(st.sets(st.integers(0, len(cells) - 1), max_size=4))
    return [cell for index, cell in enumerate(cells) if index not in gone]


@settings(deadline=None)  # the machine may be busy
@given(
    st.binary(max_size=300) | st.text(max_size=300).map(lambda text: text.encode("utf-8", "surrogatepass"))
)
def test_any_bytes_are_read_without_an_error(data):
    result = read_submission(data)
    assert bool(result.cells) != bool(result.problem)


@settings(deadline=None)
@given(
    json_values
    | st.fixed_dictionaries({"cells": st.lists(json_values, max_size=5)}, optional={"nbformat": json_values})
)
def test_any_json_is_read_and_rebuilt_without_an_error(value):
    result = read_submission(json.dumps(value).encode())
    nbformat.validate(rebuild(release(), result.cells).notebook)


@settings(deadline=None)
@given(st.integers(0, 10_000), st.binary(max_size=6))
def test_a_notebook_with_overwritten_bytes_is_read_without_an_error(position, noise):
    data = json.dumps(solved()).encode()
    position %= len(data)
    result = read_submission(data[:position] + noise + data[position + len(noise) :])
    nbformat.validate(rebuild(release(), result.cells).notebook)


@settings(deadline=None)
@given(damaged_cells())
def test_no_damage_to_cells_loses_a_solution_or_lets_anything_else_in(cells):
    planted = {"tags": ["skip-execution"], "nbgrader": {"points": 99}}
    submission = {"cells": cells, "nbformat": 4, "metadata": planted}
    plain = read_submission(json.dumps(submission).encode()).cells
    rebuilt = rebuild(release(), plain).notebook
    nbformat.validate(rebuilt)
    assert rebuilt.metadata == release().metadata

    submitted = [cell.text for cell in plain]
    assert all(text in code(rebuilt) for text in SOLUTIONS.values() if text in submitted)

    released = {cell.id: cell for cell in release().cells}
    found = {cell.id: cell for cell in rebuilt.cells if cell.id in released}
    known = {cell.source for cell in released.values()} | set(SOLUTIONS.values())
    for name, text in SOLUTIONS.items():
        rivals = [other for other in submitted if other not in known and name in other]
        if text in submitted and not rivals:
            assert found[name].source == text
    assert list(found) == list(released)
    for name, cell in released.items():
        assert found[name].metadata == cell.metadata
        assert found[name].cell_type == cell.cell_type
        assert (found[name].get("outputs"), found[name].get("execution_count")) == (
            cell.get("outputs"),
            cell.get("execution_count"),
        )
        if name not in ("double", "half", "why"):
            assert found[name].source == cell.source
    added = [cell for cell in rebuilt.cells if cell.id not in released]
    for cell in added:
        may_be = [[ADDED_TAG], [ADDED_TAG, SKIP_TAG]][: 1 + (cell.cell_type == "code")]
        assert cell.cell_type in ("code", "markdown") and cell.metadata in [{"tags": tags} for tags in may_be]
        assert not cell.get("outputs") and cell.get("execution_count") is None


@settings(deadline=None)
@given(damaged_cells())
def test_every_text_of_a_code_cell_that_is_new_is_kept_somewhere(cells):
    plain = read_submission(json.dumps({"cells": cells, "nbformat": 4}).encode()).cells
    kept = "\n".join(cell.source for cell in rebuild(release(), plain).notebook.cells)
    for cell in plain:
        if cell.kind == "code":
            assert all(line.rstrip() in kept for line in cell.text.strip().splitlines())
