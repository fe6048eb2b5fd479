"""grader build: what comes out, and everything it refuses to let out."""

from __future__ import annotations

import shutil
import sys
import types
from pathlib import Path

import nbformat
import numpy as np
import pytest
from conftest import ROOT

from course_utils.exercise import Case, Exercise
from course_utils.expected import FILE_NAME, load_hints
from grader.author.build import SEEDS, BuildError, build
from grader.course import STUB, Course, CourseError
from grader.lab import Lab, checked_exercise, is_solution

LAB = """# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
#       format_version: '1.3'
#   kernelspec:
#     display_name: Python 3 (ipykernel)
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Doubling

# %%
import numpy as np

# %% nbgrader={"grade": false, "grade_id": "double", "locked": false, "schema_version": 3, "solution": true, "task": false}
def double(x):
    \"\"\"Doubles x.\"\"\"
    ### BEGIN SOLUTION
    twice_as_much = np.multiply(x, 2)
    ### END SOLUTION
    return twice_as_much


# %% nbgrader={"grade": true, "grade_id": "check_double", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
from course_utils import check

check("tiny.double")
"""

MISCONCEPTIONS = '''
from grader.author.catalogue import misconception

@misconception("double", "Adding two is not the same as taking it twice; try it with 5.")
def added_two(x):
    """Two is added."""
    return x + 2
'''

VARIANTS = '''
from grader.author.catalogue import variant

@variant("double")
def added_to_itself(x):
    """Adds x to itself."""
    return x + x
'''


ORDINARY = Case("2 by 3", lambda rng: {"x": rng.standard_normal((2, 3))})


@pytest.fixture
def tiny(tmp_path, monkeypatch) -> Path:
    """A course with one tiny lab; returns the lab's source folder."""
    module = types.ModuleType("course_utils.exercises.tiny")
    module.double = Exercise("double", ("doubled",), (ORDINARY,))
    monkeypatch.setitem(sys.modules, module.__name__, module)
    folder = tmp_path / "solutions" / "00_tiny"
    folder.mkdir(parents=True)
    (tmp_path / "notebooks").mkdir()
    (folder / "00_tiny.py").write_text(LAB)
    (folder / "misconceptions.py").write_text(MISCONCEPTIONS)
    (folder / "variants.py").write_text(VARIANTS)
    return folder


def with_cases(monkeypatch, *cases: Case) -> None:
    """Gives the tiny lab's exercise other cases."""
    module = sys.modules["course_utils.exercises.tiny"]
    monkeypatch.setattr(module, "double", Exercise("double", ("doubled",), cases))


def made(folder: Path) -> Path:
    """Builds the tiny course and returns the lab's release folder."""
    build(course := Course(folder.parents[1]), [], say=lambda line: None)
    return course.notebooks / folder.name


def refusal(folder: Path, file: str, old: str, new: str) -> str:
    """What the build says after a change to one file. The release must not appear."""
    path = folder / file
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))
    with pytest.raises(CourseError) as error:
        made(folder)
    assert not (folder.parents[1] / "notebooks" / folder.name).exists()
    return str(error.value)


def test_a_lab_becomes_a_release_with_stubs_checks_and_expected_values(tiny):
    release = made(tiny)
    assert sorted(path.name for path in release.iterdir()) == [FILE_NAME, "tiny.ipynb"]
    notebook = nbformat.read(release / "tiny.ipynb", as_version=4)
    nbformat.validate(notebook)
    (solution,) = filter(is_solution, notebook.cells)
    assert "YOUR CODE HERE" in solution.source and "twice_as_much = " not in solution.source
    assert [key for cell in notebook.cells if (key := checked_exercise(cell))] == ["tiny.double"]
    assert all(not cell.get("outputs") for cell in notebook.cells)


def test_hints_go_from_the_notebook_to_the_check_in_their_order(tiny):
    path = tiny / "00_tiny.py"
    before, check, rest = path.read_text().partition('# %% nbgrader={"grade": true')
    cells = (
        "# %% [markdown]\n# Stuck?\n#\n# <details><summary>Hint 1: begin</summary>\n#\n# With $x$.\n# </details>\n#\n"
        "# <details><summary>Another thing</summary>stays</details>\n\n"
        "# %% [markdown]\n# <details><summary>Hint</summary>\n#\n# And `x`.\n#\n# </details>\n\n"
    )
    path.write_text(before + cells + check + rest)
    release = made(tiny)
    hints = load_hints(release / FILE_NAME, "tiny.double")
    assert hints == [("begin", "With $x$."), ("", "And `x`.")]
    texts = [cell.source for cell in nbformat.read(release / "tiny.ipynb", as_version=4).cells]
    assert not [text for text in texts if "Hint" in text or not text]
    assert "Stuck?\n\n<details><summary>Another thing</summary>stays</details>" in texts


def test_building_twice_gives_the_same_bytes(tiny):
    first = {path.name: path.read_bytes() for path in made(tiny).iterdir()}
    shutil.rmtree(tiny.parents[1] / "notebooks" / tiny.name)
    assert {path.name: path.read_bytes() for path in made(tiny).iterdir()} == first


def test_check_holds_right_after_a_build_and_fails_after_any_change(tiny):
    course = Course(tiny.parents[1])
    release = made(tiny)
    build(course, [], check=True, say=lambda line: None)
    (release / "tiny.ipynb").write_text((release / "tiny.ipynb").read_text().replace("Doubling", "Trebling"))
    with pytest.raises(BuildError, match="tiny.ipynb is not what its source gives"):
        build(course, [], check=True, say=lambda line: None)


def test_check_finds_files_and_folders_that_no_source_makes(tiny):
    course = Course(tiny.parents[1])
    (made(tiny) / "extra.txt").write_text("left over")
    (course.notebooks / "99_gone").mkdir()
    with pytest.raises(BuildError, match="extra.txt is not made by its source(.|\n)*99_gone"):
        build(course, [], check=True, say=lambda line: None)


def test_a_notebook_that_somebody_worked_in_is_kept_when_the_build_replaces_it(tiny):
    path = made(tiny) / "tiny.ipynb"
    untouched = path.read_text()
    notebook = nbformat.read(path, as_version=4)
    notebook.cells[1].execution_count = 7
    notebook.cells[2].source = "def double(x): return my_own_work(x)"
    nbformat.write(notebook, path)
    made(tiny)
    assert path.read_text() == untouched
    made(tiny)
    (kept,) = (tiny.parents[1] / ".replaced" / tiny.name).iterdir()
    assert "my_own_work" in kept.read_text()


@pytest.mark.parametrize(
    "file, old, new, reason",
    [
        (
            "00_tiny.py",
            "# # Doubling",
            "# # Doubling\n#\n#     twice_as_much = np.multiply(x, 2)",
            "shows a line of the solution of double",
        ),
        (
            "misconceptions.py",
            "Adding two is",
            "Write\\n    twice_as_much = np.multiply(x, 2)\\n",
            "expected.npz shows a line of the solution",
        ),
        ("00_tiny.py", "    ### BEGIN SOLUTION\n", "", "has no ### BEGIN SOLUTION"),
        ("00_tiny.py", "    ### END SOLUTION\n", "", "has no ### BEGIN SOLUTION"),
        ("00_tiny.py", 'check("tiny.double")', "print('no check')", "is checked by 0 cells"),
        (
            "00_tiny.py",
            '"grade_id": "double"',
            '"grade_id": "other"',
            "has no solution cell with grade_id 'double'",
        ),
        ("misconceptions.py", "return x + 2", "return 2 * x", "the misconception added_two is not caught"),
        ("variants.py", "return x + x", "return x + x + 1", "the correct variant added_to_itself fails"),
        ("misconceptions.py", '"double"', '"treble"', "names an exercise that the lab does not have"),
        ("misconceptions.py", "from grader", "from grades", "cannot be imported: ModuleNotFoundError"),
        ("00_tiny.py", "import numpy as np", "import numpy as mp", "the reference fails"),
        (
            "00_tiny.py",
            "import numpy as np",
            "import nonumpy as np",
            "of the solution fails outside a notebook",
        ),
    ],
)
def test_a_faulty_lab_is_refused_with_the_reason(tiny, file, old, new, reason):
    assert reason in refusal(tiny, file, old, new)


def test_two_misconceptions_that_cannot_be_told_apart_are_refused(tiny):
    again = MISCONCEPTIONS.replace("added_two", "another").split("import misconception\n")[1]
    reason = refusal(tiny, "misconceptions.py", MISCONCEPTIONS, MISCONCEPTIONS + again)
    assert "the misconception another is taken for ['added_two']" in reason


def test_a_misconception_that_holds_other_checks_at_another_seed_is_refused(tiny, monkeypatch):
    def two_or_zero(rng: np.random.Generator) -> dict:
        return {"x": rng.integers(0, 2, 1) * 2.0}  # adding 2 doubles a 2 and not a 0: right by luck

    def differs(title: str) -> bool:
        drawn = [Case(title, two_or_zero).runs("tiny.double", seed)[0]["x"].item() for seed in SEEDS]
        return len(set(drawn)) == 2

    title = next(filter(differs, map(str, range(50))))
    with_cases(monkeypatch, ORDINARY, Case(title, two_or_zero))
    with pytest.raises(BuildError, match="its score would depend on chance"):
        made(tiny)


def zeros(rng: np.random.Generator) -> dict:
    return {"x": np.zeros((2, rng.integers(3, 1000)))}


def halves(rng: np.random.Generator) -> dict:
    return {"x": np.full((2, rng.integers(3, 1000)), 3.5)}


def its_own_double(rng: np.random.Generator) -> dict:
    return {"x": np.where(rng.random((5, 9)) < 0.5, 0, np.inf)}


@pytest.mark.parametrize(
    "inputs, answer",
    [(zeros, "nothing but 0"), (halves, "nothing but 7"), (its_own_double, "the input `x` as it is")],
)
def test_an_answer_without_any_work_must_not_earn_points(tiny, monkeypatch, inputs, answer):
    with_cases(monkeypatch, ORDINARY, Case("a special one", inputs))
    with pytest.raises(BuildError) as error:
        made(tiny)
    fault = f"tiny.double: {answer} earns 67% at seed {SEEDS[0]}, because it is right in: a special one."
    assert fault in str(error.value)
    with_cases(monkeypatch, ORDINARY, Case("both", lambda rng: [inputs(rng), ORDINARY.inputs(rng)]))
    made(tiny)


def test_a_case_with_the_same_answer_at_another_seed_is_refused_as_it_could_be_copied(tiny, monkeypatch):
    with_cases(monkeypatch, ORDINARY, Case("always 3", lambda rng: {"x": np.array([3.0, 1.0])}))
    with pytest.raises(BuildError) as error:
        made(tiny)
    faults = str(error.value).splitlines()
    assert len(faults) == len(SEEDS) - 1
    assert all("the case 'always 3' has the same answer at seed" in fault for fault in faults)


@pytest.mark.parametrize(
    "who, name", [("the reference", "numpy.multiply"), ("the correct variant added_up", "numpy.add")]
)
def test_a_reference_or_variant_that_uses_a_declared_bypass_is_refused(tiny, monkeypatch, who, name):
    with (tiny / "variants.py").open("a") as file:
        file.write(
            VARIANTS.replace("added_to_itself", "added_up").replace("return x + x", "return np.add(x, x)")
        )
    (tiny / "variants.py").write_text("import numpy as np\n" + (tiny / "variants.py").read_text())
    made(tiny)
    module = sys.modules["course_utils.exercises.tiny"]
    declared = Exercise("double", ("doubled",), module.double.cases, bypasses=(name,))
    monkeypatch.setattr(module, "double", declared)
    with pytest.raises(BuildError) as error:
        made(tiny)
    (line,) = str(error.value).splitlines()
    assert f"tiny.double: {who} uses {name}, which the exercise declares as a bypass: " in line


def test_a_line_of_a_misconception_in_the_lab_is_a_leak(tiny):
    (tiny / "misconceptions.py").write_text(
        MISCONCEPTIONS.replace("return x + 2", "wrong_by_two = x + 2\n    return wrong_by_two")
    )
    reason = refusal(
        tiny, "00_tiny.py", "import numpy as np", "import numpy as np\nx = 1\nwrong_by_two = x + 2"
    )
    assert "shows a line of the misconception added_two" in reason


def test_files_beside_the_source_never_reach_the_release(tiny):
    (tiny / "notes.txt").write_text("the solution is np.multiply")
    assert sorted(path.name for path in made(tiny).iterdir()) == [FILE_NAME, "tiny.ipynb"]


def test_an_unknown_lab_is_answered_with_those_there_are(tiny):
    with pytest.raises(CourseError, match="There is no lab '77_none'.*Labs: 00_tiny"):
        build(Course(tiny.parents[1]), ["77_none"])


def test_a_folder_outside_a_course_is_told_so(tmp_path):
    with pytest.raises(CourseError, match="is not inside a course folder"):
        Course.find(tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("lab", Course(ROOT).labs())
def test_the_committed_notebook_is_what_its_source_gives(course, lab):
    build(course, [lab], check=True, say=lambda line: None)


@pytest.mark.parametrize("name", Course(ROOT).labs())
def test_no_release_contains_a_solution_region_or_its_text(course, name):
    lab = Lab.load(course, name)
    released = (lab.release_folder / lab.notebook_name).read_text("utf-8")
    assert "BEGIN SOLUTION" not in released
    assert released.count(STUB.splitlines()[0]) >= len(lab.exercises)
