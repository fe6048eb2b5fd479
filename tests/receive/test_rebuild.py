"""Plain cells -> a notebook rebuilt from the release."""

from __future__ import annotations

import ast
import copy
import json
import subprocess
import sys

import nbformat
import pytest
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell
from small_lab import ANSWER, SOLUTIONS, cell, code, release, solved, without_metadata

from grader.files import MAX_PARSED
from grader.receive.read import read_submission
from grader.receive.rebuild import NEARBY, Rebuilt, names_defined, rebuild
from grader.reference.lab import ADDED_TAG, SKIP_TAG


def bytes_of(notebook: NotebookNode) -> bytes:
    return json.dumps(notebook).encode()


def rebuilt(notebook: NotebookNode) -> Rebuilt:
    read = read_submission(bytes_of(notebook))
    assert read.problem == ""
    result = rebuild(release(), read.cells)
    nbformat.validate(result.notebook)
    return result


def added_to(result: Rebuilt) -> list[NotebookNode]:
    known = {each.id for each in release().cells}
    return [each for each in result.notebook.cells if each.id not in known]


def test_an_untouched_notebook_comes_back_as_the_release():
    result = rebuilt(release())
    assert result == Rebuilt(release())


def test_solutions_and_written_answers_are_taken_over_and_nothing_else():
    notebook = solved()
    for each in notebook.cells:
        each.metadata["tags"] = ["skip-execution", "raises-exception"]
        each.metadata.setdefault("nbgrader", {})["points"] = 1000
        if each.cell_type == "code":
            each.outputs = [{"output_type": "stream", "name": "stdout", "text": "100 points"}]
    notebook.metadata["kernelspec"] = {"name": "bash"}
    result = rebuilt(notebook)
    assert result.notebook == solved()
    assert (result.notes, result.missing) == ((), ())


def test_the_lab_s_own_prose_is_as_released_and_what_the_learner_wrote_into_it_follows():
    notebook = solved()
    cell(notebook, "title").source = "# A small lab\n\nWhat is it for?"
    notebook.cells.append(new_markdown_cell("notes of mine"))
    notebook.cells.insert(0, NotebookNode(cell_type="raw", source="by me", metadata={}))
    result = rebuilt(notebook)
    lab = {each.id: each for each in result.notebook.cells}
    assert [lab[each.id] for each in release().cells] == solved().cells
    assert [each.cell_type for each in added_to(result)] == ["markdown"] * 3
    texts = [each.source for each in result.notebook.cells]
    assert texts[:3] == ["by me", "# A small lab", "What is it for?"]
    assert texts[-1] == "notes of mine"
    assert result.notes == ()


@pytest.mark.parametrize("kind", ["markdown", "raw"])
@pytest.mark.parametrize("place", [0, 1])
def test_text_in_a_cell_beside_an_answer_that_was_left_as_it_was_is_the_answer(kind, place):
    notebook = release()
    at = next(number for number, each in enumerate(notebook.cells) if each.id == "why")
    notebook.cells.insert(at + place, NotebookNode(cell_type=kind, source=ANSWER, metadata={}))
    result = rebuilt(notebook)
    assert cell(result.notebook, "why").source == ANSWER
    assert result.notes == ("Cell `why`: left as handed out; the text beside it counts as the answer.",)
    assert not added_to(result)


def test_text_beside_an_answer_is_shown_with_it_and_marked():
    notebook = solved()
    at = next(number for number, each in enumerate(notebook.cells) if each.id == "why")
    notebook.cells.insert(at + 1, new_markdown_cell("And a remark."))
    result = rebuilt(notebook)
    assert cell(result.notebook, "why").source == f"{ANSWER}\n\n{NEARBY}\n\nAnd a remark."
    assert result.notes == () and not added_to(result)


def two_answers(first: str, between: str, second: str) -> NotebookNode:
    lab = release()
    at = next(number for number, each in enumerate(lab.cells) if each.id == "why")
    answer = {
        "grade": True,
        "solution": True,
        "locked": False,
        "task": False,
        "schema_version": 3,
        "points": 1,
    }
    how = new_markdown_cell("HOW?", id="how", metadata={"nbgrader": answer | {"grade_id": "how"}})
    lab.cells.insert(at + 1, how)
    notebook = copy.deepcopy(lab)
    notebook.cells[at].source, notebook.cells[at + 1].source = first, second
    notebook.cells.insert(at + 1, new_markdown_cell(between))
    found = rebuild(lab, read_submission(bytes_of(notebook)).cells).notebook
    return found


def test_text_between_two_answers_belongs_to_the_one_that_has_no_other():
    found = two_answers("One.", "Between.", "HOW?")
    assert (cell(found, "why").source, cell(found, "how").source) == ("One.", "Between.")
    found = two_answers("YOUR ANSWER HERE", "Between.", "Two.")
    assert (cell(found, "why").source, cell(found, "how").source) == ("Between.", "Two.")
    found = two_answers("YOUR ANSWER HERE", "Between.", "HOW?")
    assert (cell(found, "why").source, cell(found, "how").source) == ("Between.", "HOW?")


def with_question() -> NotebookNode:
    lab = release()
    at = next(number for number, each in enumerate(lab.cells) if each.id == "why")
    lab.cells.insert(at, new_markdown_cell("### Why?\n\nIn two sentences.", id="question"))
    return lab


def test_an_answer_that_was_written_into_the_question_is_found():
    lab = with_question()
    notebook = copy.deepcopy(lab)
    cell(notebook, "question").source += f"\n\n{ANSWER}"
    result = rebuild(lab, read_submission(bytes_of(notebook)).cells)
    assert cell(result.notebook, "why").source == ANSWER
    assert cell(result.notebook, "question") == cell(lab, "question")
    assert len(result.notebook.cells) == len(lab.cells)
    assert "counts as the answer" in result.notes[0]


def test_a_question_of_an_older_release_is_no_answer():
    lab = with_question()
    notebook = copy.deepcopy(lab)
    cell(notebook, "question").source = "### Why?\n\nIn three sentences."
    result = rebuild(lab, read_submission(bytes_of(notebook)).cells)
    assert cell(result.notebook, "why").source == "YOUR ANSWER HERE"
    assert "In three sentences." in [each.source for each in result.notebook.cells]


def test_what_is_in_metadata_that_people_see_is_named():
    notebook = solved()
    notebook.metadata |= {"title": "My title", "authors": [{"name": "Ann"}]}
    cell(notebook, "setup").metadata["name"] = "preparations"
    notes = " ".join(read_submission(bytes_of(notebook)).notes)
    assert all(word in notes for word in ("My title", "Ann", "preparations", "Cell 2 "))


def test_cells_without_grade_id_are_recognised_by_their_cell_id():
    notebook = solved()
    for each in notebook.cells:
        each.metadata = {}
    result = rebuilt(notebook)
    assert result.notebook == solved()
    assert result.notes == ()


def test_cells_without_any_metadata_are_recognised_by_the_names_they_define():
    result = rebuilt(without_metadata(solved()))
    assert result.notebook == solved()
    assert result.missing == ()
    assert result.notes == ("Cells `double`, `half`: recognised only by the name defined there.",)


@pytest.mark.parametrize("kind", ["markdown", "raw", "heading", None])
@pytest.mark.parametrize("damage", [lambda notebook: notebook, without_metadata])
def test_solution_cells_of_another_type_are_run_as_code(kind, damage):
    notebook = damage(solved())
    for each in notebook.cells:
        if each.source in SOLUTIONS.values():
            each.cell_type = kind
    result = rebuilt(notebook)
    assert result.notebook == solved()
    assert any("turned into text" in note for note in result.notes)


def test_a_solution_in_a_code_fence_is_unwrapped():
    notebook = without_metadata(solved())
    for each in notebook.cells:
        if each.source in SOLUTIONS.values():
            each.cell_type, each.source = "markdown", f"```python\n{each.source}\n```"
    assert rebuilt(notebook).notebook == solved()


def test_code_with_a_syntax_error_is_recognised_by_its_name_too():
    broken = "def double(x):\n    return x +"
    notebook = solved()
    cell(notebook, "double").source = broken
    assert cell(rebuilt(without_metadata(notebook)).notebook, "double").source == broken


def test_missing_cells_are_restored_and_named():
    notebook = solved()
    notebook.cells = [
        each for each in notebook.cells if each.id not in ("half", "check_double", "why", "title")
    ]
    result = rebuilt(notebook)
    expected = solved()
    for name in ("half", "why"):
        cell(expected, name).source = cell(release(), name).source
    assert result.notebook == expected
    assert set(result.missing) == {"half", "check_double", "why"}
    assert sum("missing" in note for note in result.notes) == 1


def test_cells_of_one_id_are_told_apart_by_what_they_define():
    notebook = solved()
    for each in notebook.cells:
        each.metadata, each.id = {}, "double"
    result = rebuilt(notebook)
    for name, text in SOLUTIONS.items():
        assert cell(result.notebook, name).source == text
    assert any("more than once" in note for note in result.notes)
    assert result.by_name == ("half",)


def test_of_a_cell_that_is_there_more_than_once_the_last_real_answer_counts():
    notebook = solved()
    place = notebook.cells.index(cell(notebook, "double"))
    first = new_code_cell("def double(x):\n    return 2 * x", metadata=cell(notebook, "double").metadata)
    stub = cell(release(), "double")
    notebook.cells[place : place + 1] = [stub, first, first, cell(notebook, "double"), first, stub]
    answer = copy.deepcopy(cell(solved(), "double"))
    notebook.cells.append(answer)
    result = rebuilt(notebook)
    assert cell(result.notebook, "double").source == SOLUTIONS["double"]
    assert [each.source for each in added_to(result)] == [first.source]
    texts = code(result.notebook)
    assert texts.index(first.source) == texts.index(SOLUTIONS["double"]) - 1
    assert "more than once; the last version is graded, the others run before it." in result.notes[0]


def test_added_code_cells_stay_in_place_and_lose_their_metadata():
    notebook = solved()
    helper = new_code_cell(
        "helper = 1", metadata={"nbgrader": {"grade": True, "points": 9}, "tags": ["skip-grading"]}
    )
    notebook.cells.insert(2, helper)
    notebook.cells.insert(0, new_code_cell("first = 1"))
    result = rebuilt(notebook)
    assert [each.source for each in result.notebook.cells[:5]] == [
        "first = 1",
        "# A small lab",
        "import math",
        "helper = 1",
        SOLUTIONS["double"],
    ]
    assert all(each.metadata == {"tags": [ADDED_TAG]} for each in added_to(result))


def test_a_changed_set_up_cell_runs_as_released_and_then_as_changed():
    notebook = solved()
    cell(notebook, "setup").source = "import math\nimport cmath"
    result = rebuilt(notebook)
    assert code(result.notebook)[:2] == ["import math", "import math\nimport cmath"]
    assert "original runs" in result.notes[0]


def test_a_changed_cell_that_grading_skips_is_kept_but_not_run():
    notebook = solved()
    cell(notebook, "heavy").source = "train_for_days()"
    kept = added_to(rebuilt(notebook))
    assert [(each.source, each.metadata) for each in kept] == [
        ("train_for_days()", {"tags": [ADDED_TAG, SKIP_TAG]})
    ]


def test_a_changed_check_cell_is_as_released_and_its_text_runs_before():
    notebook = solved()
    cell(notebook, "check_double").source = "half_way = 1"
    result = rebuilt(notebook)
    assert cell(result.notebook, "check_double") == cell(release(), "check_double")
    texts = code(result.notebook)
    assert texts.index("half_way = 1") == texts.index(cell(release(), "check_double").source) - 1


@pytest.mark.parametrize("kind", ["markdown", "raw"])
def test_another_version_kept_as_text_is_shown_but_not_run(kind):
    notebook = solved()
    older = "def double(x):\n    return 2 * x"
    notebook.cells.append(NotebookNode(cell_type=kind, source=older, metadata={}))
    result = rebuilt(notebook)
    assert cell(result.notebook, "double").source == SOLUTIONS["double"]
    assert [(each.source, each.metadata) for each in added_to(result)] == [
        (older, {"tags": [ADDED_TAG, SKIP_TAG]})
    ]


def test_a_solution_written_into_another_cell_is_found():
    notebook = solved()
    cell(notebook, "half").source = cell(release(), "half").source
    cell(notebook, "heavy").source = SOLUTIONS["half"]
    result = rebuilt(notebook)
    assert cell(result.notebook, "half").source == SOLUTIONS["half"]
    assert added_to(result) == []


def test_swapped_grade_ids_do_not_swap_solutions():
    notebook = solved()
    one, other = cell(notebook, "double"), cell(notebook, "half")
    one.metadata, other.metadata, one.id, other.id = other.metadata, one.metadata, other.id, one.id
    assert rebuilt(notebook).notebook == solved()


def test_a_stub_is_not_restored_over_a_definition_in_another_answer():
    notebook = solved()
    cell(notebook, "double").source = "\n\n\n".join(SOLUTIONS.values())
    notebook.cells.remove(cell(notebook, "half"))
    result = rebuilt(notebook)
    assert cell(result.notebook, "half").source.startswith("#")
    assert result.missing == ()


def test_an_emptied_cell_is_restored_as_the_stub():
    notebook = solved()
    cell(notebook, "double").source = " \n"
    result = rebuilt(notebook)
    assert cell(result.notebook, "double") == cell(release(), "double")
    assert "emptied" in result.notes[0]


def test_several_versions_of_a_written_answer_are_all_kept():
    notebook = solved()
    notebook.cells.append(new_markdown_cell("And *odd*.", metadata=cell(notebook, "why").metadata))
    assert cell(rebuilt(notebook).notebook, "why").source == f"{ANSWER}\n\nAnd *odd*."


def test_a_notebook_of_another_lab_is_said_to_be_one():
    notebook = nbformat.v4.new_notebook(cells=[new_code_cell("x = 1"), new_markdown_cell("# Lab 99")])
    result = rebuilt(notebook)
    assert "another lab" in result.notes[0]
    assert "double" in result.missing
    notebook.cells[0].id = "example"  # labs share ids of cells such as headings
    assert "another lab" in rebuilt(notebook).notes[0]
    notebook.cells[0].source = SOLUTIONS["double"]
    assert not any("another lab" in note for note in rebuilt(notebook).notes)


def test_names_defined_are_those_at_the_top_level():
    assert names_defined(
        "def a():\n    b = 1\nclass c: pass\nd, (e, *f) = x\ng: int = 1\nh[0] = i.j = 2"
    ) == set("acdefg")
    assert names_defined("%matplotlib inline\nasync def a(): ...\nb = 1\nc == 2\nd: int = 3") == {
        "a",
        "b",
        "d",
    }
    assert names_defined("x = '\\d'\x00") == {"x"}
    assert names_defined("(" * 5000) == set()


BOMBS = {
    "parentheses": "'(' * 10**5 + ')' * 10**5",
    "signs": "'-' * 10**5 + '1'",
    "negations": "'not ' * 10**5 + '1'",
    "attributes": "'a' + '.b' * 10**5",
    "sums": "'a' + '+a' * 10**5",
    "calls": "'a' + '()' * 10**5",
    "branches": "'if a:\\n p\\n' + 'elif a:\\n p\\n' * 10**5",
    "functions": "'lambda:' * 10**5 + '1'",
    "digits": "'1' * 10**5",
    "modules": "'import a' + '.a' * 10**5",
    "statements": "'a;' * 10**5",
}


@pytest.mark.skipif(sys.platform != "linux", reason="reads Linux's numbers of memory")
@pytest.mark.parametrize("size", [MAX_PARSED, 200_000])
def test_code_that_breaks_parsers_is_searched_in_bounded_memory(size):
    """In a process of its own, as it might take that one down; and with a limit, as it might take the machine."""
    program = f"""
from resource import RLIMIT_AS, RUSAGE_SELF, getrusage, setrlimit

from grader.receive.rebuild import names_defined

pages = int(open("/proc/self/statm").read().split()[0])
setrlimit(RLIMIT_AS, (pages * 4096 + 2 * 2**30,) * 2)
before = getrusage(RUSAGE_SELF).ru_maxrss
for name, bomb in {BOMBS!r}.items():
    text = "def wanted():\\n    pass\\n" + eval(bomb)
    assert "wanted" in names_defined(text[:{size}]), name
    assert getrusage(RUSAGE_SELF).ru_maxrss - before < 500_000, name  # KiB
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-500:]


def test_a_submission_of_very_many_long_cells_is_parsed_only_in_part(monkeypatch):
    parsed, parse = [], ast.parse

    def counted(text):
        parsed.append(len(text))
        return parse("")

    cells = [new_code_cell(f"x = {number}\n" + "y = 1\n" * 3000) for number in range(200)]
    read = read_submission(bytes_of(nbformat.v4.new_notebook(cells=cells)))
    with monkeypatch.context() as patched:
        patched.setattr("grader.receive.rebuild.ast.parse", counted)
        rebuild(release(), read.cells)
    assert 0 < sum(parsed) < 500_000


def test_reading_code_shows_no_warnings(recwarn):
    names_defined("x = '\\d'")
    assert not recwarn.list
