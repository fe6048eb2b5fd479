"""grader build: what comes out, and everything it refuses to let out."""

from __future__ import annotations

import re
import shutil
from functools import partial
from pathlib import Path

import nbformat
import numpy as np
import pytest
from project import LABS, ROOT

from course_utils import exercises, start_page
from course_utils.checking.exercise import Case, Exercise
from course_utils.checking.expected import FILE_NAME, load_hints
from course_utils.labs import labs_in
from grader.author.build import SEEDS, BuildError, build, take_hints
from grader.author.faults import first_seeds
from grader.author.new import new_lab
from grader.author.rules import BREAK, SITTING, faults
from grader.course import Course, CourseError
from grader.reference.lab import checked_exercise, is_solution

ORDINARY = Case("2 by 3", lambda rng: {"x": rng.standard_normal((2, 3))})


@pytest.fixture
def tiny(tmp_path) -> Path:
    """A course with one tiny lab, as an author begins it; returns the lab's source folder."""
    (tmp_path / "solutions").mkdir()
    (tmp_path / "notebooks").mkdir()
    return new_lab(Course(tmp_path), "00_tiny")


def with_cases(monkeypatch, folder: Path, *cases: Case, **more) -> None:
    """Gives the tiny lab's exercise other cases."""
    module = exercises.load("tiny", folder / "exercises.py")
    monkeypatch.setattr(module, "double", Exercise("double", ("doubled",), cases, **more))


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
    assert sorted(path.name for path in release.iterdir()) == [
        "exercises.py",
        FILE_NAME,
        "lab.json",
        "quiz.md",
        "tiny.ipynb",
    ]
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
        "# %% [markdown]\n# Stuck?\n#\n# <details><summary>Hint 1: begin</summary>\n#\n# With $x$, as always in here.\n# </details>\n#\n"
        "# <details><summary>Another thing</summary>stays</details>\n\n"
        "# %% [markdown]\n# <details><summary>Hint</summary>\n#\n# And `x`, and a few words more.\n#\n# </details>\n\n"
    )
    path.write_text(before + cells + check + rest)
    release = made(tiny)
    hints = load_hints(release / FILE_NAME, "tiny.double")
    assert hints[1:] == [("begin", "With $x$, as always in here."), ("", "And `x`, and a few words more.")]
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
    (release / "tiny.ipynb").write_text(
        (release / "tiny.ipynb").read_text().replace("Doubles numbers", "Trebles numbers")
    )
    with pytest.raises(BuildError, match="tiny.ipynb is not what its source gives"):
        build(course, [], check=True, say=lambda line: None)


def test_the_labs_beside_a_new_one_lead_to_it_as_soon_as_it_is_built(tiny):
    course = Course(tiny.parents[1])
    before = (made(tiny) / "tiny.ipynb").read_bytes()
    new = new_lab(course, "14_demo")
    (new / "quiz.md").rename(new / "later.md")
    with pytest.raises(CourseError):
        build(course, ["14_demo"], say=lambda line: None)
    assert (course.notebooks / "00_tiny" / "tiny.ipynb").read_bytes() == before
    (new / "later.md").rename(new / "quiz.md")
    said: list[str] = []
    build(course, ["14_demo"], say=said.append)
    assert [line.partition(":")[0] for line in said] == ["14_demo", "00_tiny"]
    build(course, [], check=True, say=lambda line: None)  # every file is what a build of all labs gives


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
            "# ## 1. Twice as much",
            "# ## 1. Twice as much\n#\n#     twice_as_much = np.multiply(x, 2)",
            "shows a line of the solution of double",
        ),
        (
            "misconceptions.py",
            "Adding two is not",
            "Write\\n    twice_as_much = np.multiply(x, 2)\\n and not",
            "the hint of added_two gives the code",
        ),
        (
            "00_tiny.py",
            "    ### BEGIN SOLUTION\n",
            "",
            "00_tiny.py:52: solution cell 'double' has no ### BEGIN SOLUTION",
        ),
        ("00_tiny.py", "    ### END SOLUTION\n", "", "has no ### BEGIN SOLUTION"),
        (
            "00_tiny.py",
            'check("tiny.double")',
            "print('no check')",
            "solutions/00_tiny/exercises.py:16: tiny.double is checked by 0 cells",
        ),
        (
            "00_tiny.py",
            '"grade_id": "double"',
            '"grade_id": "other"',
            "has no solution cell with grade_id 'double'",
        ),
        (
            "misconceptions.py",
            "np.add(x, 2)",
            "np.add(x, x)",
            "solutions/00_tiny/misconceptions.py:5: tiny.double: the misconception added_two is not caught",
        ),
        (
            "variants.py",
            "return x + x",
            "return x + x + 1",
            "solutions/00_tiny/variants.py:6: tiny.double: the correct variant added_to_itself fails",
        ),
        ("variants.py", '"double"', '"treble"', "variants.py:6 names an exercise that the lab does not have"),
        ("lab.toml", "title = ", "title = '' # ", "lab.toml: it needs a line `title = ...` with a text"),
        (
            "misconceptions.py",
            "from grader",
            "from grades",
            "misconceptions.py:3: it cannot be imported: ModuleNotFoundError",
        ),
        (
            "variants.py",
            '"""Adds x to itself."""',
            "pass",
            "variants.py:6: it cannot be imported: ValueError: added_to_itself needs a docstring",
        ),
        (
            "00_tiny.py",
            "import numpy as np",
            "import numpy as mp",
            "solutions/00_tiny/exercises.py:20: tiny.double: the reference fails",
        ),
        (
            "00_tiny.py",
            "import numpy as np",
            "import nonumpy as np",
            "of the solution fails outside a notebook",
        ),
        (
            "teaching.md",
            "### double.trebled",
            "### double.cubed",
            "00_tiny/teaching.md:19: the lab's misconceptions.py has no 'double.cubed'",
        ),
    ],
)
def test_a_faulty_lab_is_refused_with_the_reason(tiny, file, old, new, reason):
    assert reason in refusal(tiny, file, old, new)


def test_two_misconceptions_that_cannot_be_told_apart_are_refused(tiny):
    slip = "slip(" + (tiny / "misconceptions.py").read_text().split("\nslip(")[1]
    reason = refusal(tiny, "misconceptions.py", slip, f"{slip}\n" + slip.replace("added_two", "another"))
    place = "solutions/00_tiny/misconceptions.py:13: tiny.double: "
    assert f"{place}the misconception another is mistaken for ['added_two', 'another']" in reason


def test_a_misconception_that_holds_other_checks_at_another_seed_is_refused(tiny, monkeypatch):
    def two_or_zero(rng: np.random.Generator) -> dict:
        return {"x": rng.integers(0, 2, 1) * 2.0}  # adding 2 doubles a 2 and not a 0: right by luck

    def differs(title: str) -> bool:
        drawn = [Case(title, two_or_zero).runs("tiny.double", seed)[0]["x"].item() for seed in SEEDS]
        return len(set(drawn)) == 2

    title = next(filter(differs, map(str, range(50))))
    with_cases(monkeypatch, tiny, ORDINARY, Case(title, two_or_zero))
    with pytest.raises(BuildError) as error:
        made(tiny)
    drawn = {seed: Case(title, two_or_zero).runs("tiny.double", seed)[0]["x"].item() for seed in SEEDS}
    (odd,) = (seed for seed in SEEDS if [*drawn.values()].count(drawn[seed]) == 1)
    verb = "passes" if drawn[odd] else "fails"
    fault = f"00_tiny/misconceptions.py:5: tiny.double: the misconception added_two {verb} {title!r} at seed {odd} only: its score would depend on chance"
    assert fault in str(error.value)


def anything(inputs, outputs):
    """The output is what it is."""
    return True


def finite(inputs, outputs):
    """Every number is finite."""
    return np.isfinite(outputs["doubled"])


def larger(inputs, outputs):
    """What is above 0 gets larger."""
    return outputs["doubled"][inputs["x"] > 0] > inputs["x"][inputs["x"] > 0]


@pytest.mark.parametrize("property_, fails", [(anything, False), (finite, False), (larger, True)])
def test_a_check_that_nothing_fails_is_refused_and_one_that_a_small_mistake_fails_is_not(
    tiny, monkeypatch, property_, fails
):
    with_cases(monkeypatch, tiny, ORDINARY, properties=(property_,))
    if fails:  # by x / 2 and not by x + 2
        made(tiny)
    else:
        with pytest.raises(BuildError) as error:
            made(tiny)
        assert (
            f"solutions/00_tiny/exercises.py:16: tiny.double: nothing fails the check {property_.__doc__!r}"
            in str(error.value)
        )


def test_a_property_whose_title_is_no_sentence_is_refused(tiny, monkeypatch):
    def untold(inputs, outputs):
        """larger than the input"""
        return outputs["doubled"] > inputs["x"]

    for kind in (untold, partial(larger)):
        with_cases(monkeypatch, tiny, ORDINARY, properties=(kind,))
        with pytest.raises(BuildError, match="of double needs a docstring with a sentence"):
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
    with_cases(monkeypatch, tiny, ORDINARY, Case("a special one", inputs))
    with pytest.raises(BuildError) as error:
        made(tiny)
    fault = f"tiny.double: {answer} earns 50% at seed {SEEDS[0]}, because it is right in: a special one."
    assert fault in str(error.value)
    with_cases(monkeypatch, tiny, ORDINARY, Case("both", lambda rng: [inputs(rng), ORDINARY.inputs(rng)]))
    made(tiny)


def test_a_case_with_the_same_answer_at_another_seed_is_refused_as_it_could_be_copied(tiny, monkeypatch):
    with_cases(monkeypatch, tiny, ORDINARY, Case("always 3", lambda rng: {"x": np.array([3.0, 1.0])}))
    with pytest.raises(BuildError) as error:
        made(tiny)
    faults = str(error.value).splitlines()
    assert len(faults) == len(SEEDS) - 1
    assert all("the case 'always 3' has the same answer at seed" in fault for fault in faults)
    with pytest.raises(BuildError) as error:
        build(Course(tiny.parents[1]), [], seeds=first_seeds(7), say=lambda line: None)
    assert len(str(error.value).splitlines()) == 6  # as `grader build --seeds 7` judges it


@pytest.mark.parametrize(
    "who, name, place",
    [
        ("the reference", "numpy.multiply", "solutions/00_tiny/00_tiny.py:51"),
        ("the correct variant added_up", "numpy.add", "solutions/00_tiny/variants.py:27"),
    ],
)
def test_a_reference_or_variant_that_uses_a_declared_bypass_is_refused(tiny, monkeypatch, who, name, place):
    with (tiny / "variants.py").open("a") as file:
        file.write(
            '\n\nimport numpy as np\n\n\n@variant("double")\ndef added_up(x):\n    """Adds x to itself with NumPy."""\n'
            "    return np.add(x, x)\n"
        )
    made(tiny)
    with_cases(monkeypatch, tiny, ORDINARY, bypasses=(name,))
    with pytest.raises(BuildError) as error:
        made(tiny)
    (line,) = str(error.value).splitlines()
    assert f"{place}: tiny.double: {who} uses {name}, which the exercise declares as a bypass: " in line


def test_a_line_of_a_misconception_in_the_lab_is_a_leak(tiny):
    path = tiny / "misconceptions.py"
    path.write_text(path.read_text().replace('"np.add(x, 2)"', '"2 + np.asarray(x) * 1"'))
    reason = refusal(
        tiny,
        "00_tiny.py",
        "import numpy as np",
        "import numpy as np\nx = 1\ntwice_as_much = 2 + np.asarray(x) * 1",
    )
    assert "shows a line of the misconception added_two" in reason


def test_of_a_slip_only_the_lines_that_are_not_the_reference_s_are_its_own(tiny):
    reason = refusal(
        tiny,
        "00_tiny.py",
        "import numpy as np",
        "import numpy as np\nx = 1\ntwice_as_much = np.add(x, 2)\nreturned = twice_as_much",
    )
    (line,) = reason.splitlines()
    assert line.endswith(
        "shows a line of the misconception added_two of tiny.double: twice_as_much = np.add(x, 2)"
    )


def test_a_slip_on_what_the_reference_does_not_say_is_refused_with_its_line(tiny):
    reason = refusal(tiny, "misconceptions.py", "np.multiply(x, 2)", "np.multiply(x, 4)")
    assert reason.endswith(
        f"{tiny / 'misconceptions.py'}:5: the slip added_two replaces 'np.multiply(x, 4)', which is in the solution cell of "
        "double 0 times, not once."
    )


def test_files_beside_the_source_never_reach_the_release(tiny):
    (tiny / "notes.txt").write_text("the solution is np.multiply")
    assert sorted(path.name for path in made(tiny).iterdir()) == [
        "exercises.py",
        FILE_NAME,
        "lab.json",
        "quiz.md",
        "tiny.ipynb",
    ]


def test_an_unknown_lab_is_answered_with_those_there_are(tiny):
    with pytest.raises(CourseError, match="There is no lab '77_none'.*Labs: 00_tiny"):
        build(Course(tiny.parents[1]), ["77_none"])


def test_a_folder_outside_a_course_is_told_so(tmp_path):
    with pytest.raises(CourseError, match="is not inside a course folder"):
        Course.find(tmp_path)


# ---------------------------------------------------------------------------------- what every lab must have

NB, EX, MI, VA = "00_tiny.py", "exercises.py", "misconceptions.py", "variants.py"
WRITTEN = """# | points | what the answer does |
# |---|---|
# | 1 | It gives a reason. |
# | 1.5 | It gives an example. |

# %% [markdown] nbgrader={"grade": true, "grade_id": "why", "locked": false, "points": 3, "schema_version": 3, "solution": true, "task": false}
# *Your answer.*

# %% [markdown]
# ## Going further"""


@pytest.mark.parametrize(
    "file, old, new, place, reason",
    [
        ("lab.toml", "minutes = 20\n", "", "lab.toml", "it needs a line `minutes = ...` with a whole number."),
        ("lab.toml", "minutes = 20", "minuten = 20\nminutes = 20", "lab.toml:5", "there is no setting 'minuten'"),
        ("lab.toml", 'title = "Tiny"', "title = Tiny", "lab.toml", "is not TOML"),
        ("lab.toml", "needs = []", 'needs = ["07"]', "lab.toml:4", "it needs lab '07', which the course does not have"),
        ("lab.toml", "needs = []", 'needs = ["00_tiny"]', "lab.toml:4", 'Write the two digits of each lab that comes before: needs = ["02"].'),
        ("lab.toml", "measured_seconds = 5\n", "", f"{NB}:24", "there is nothing to put in place of {measured_seconds}"),
        ("lab.toml", "_seconds = 5", "_seconds = 300", "lab.toml:6", "the notebook runs for 300 seconds; a lab has 240"),
        (NB, "# # Lab 00: tiny", "# # Tiny", f"{NB}:15", "must begin with the heading '# Lab 00: ...'"),
        (NB, "about 20 minutes", "20 minutes", f"{NB}:24", "must say 'about 20 minutes'"),
        ("lab.toml", "minutes = 20", "minutes = 2", "lab.toml:5", "2 minutes are promised. The exercises' own take"),
        ("lab.toml", "minutes = 20\n", "minutes = 20\ncore_minutes = 9\n", "lab.toml:6", "no heading says '(optional)' or '(before lab ...)'"),
        (NB, "# ## 1. Twice as much", "# ## 1. Twice as much (optional)", "lab.toml:5", "without what can wait (1. Twice as much (optional))"),
        (NB, "# ## 1. Twice as much", "# ## 1. Twice as much (before lab 05)", "lab.toml:5", "without what can wait (1. Twice as much (before lab 05))"),
        (NB, "| 3 | 2 |", "| 61 | 2 |", f"{NB}:", "from here, the core path goes on for more than 60 minutes"),
        (NB, "| 3 | 2 |", "| 3 | 4 |", f"{NB}:27", "the points are: double 2."),
        (NB, '"points": 2, ', "", f"{NB}:", "the check cell 'check_double' has no points"),
        (NB, "# ## Review quiz", "# ## Questions", f"{NB}:1", "'## Review quiz' must be there once; it is there 0 times"),
        (NB, "# ## Going further", "# ## Going\n#\n# ### further", f"{NB}:", "'## Going further' must be there once"),
        (NB, "# Hand the lab in: press **Validate** above first.\n", "", f"{NB}:", "the last section must name the next lab"),
        (NB, 'show_figure(figure, alt="', 'print("', f"{NB}:1", "the lab has no figure"),
        (NB, "# %% tags=[\"skip-grading\"]\nfrom matplotlib", f"# %%\nx = {'1 + ' * 22}1\n\n# %% tags=[\"skip-grading\"]\nfrom matplotlib", f"{NB}:", "a line of code of 93 characters; the limit is 88"),
        (NB, ', alt="A straight line through the points (1, 2), (2, 4) and (3, 6)."', "", f"{NB}:", "every show_figure needs alt="),
        (NB, '# %% tags=["skip-grading"]\nfrom matplotlib', "# %%\nfrom matplotlib", f"{NB}:", "needs the tag 'skip-grading'"),
        (NB, "# ## 1. Twice as much", "# ## 1. Twice $x$", f"{NB}:", "a heading must not contain formulas"),
        (NB, "**Exercise 1.** Write", "**B-**Exercise. Write", f"{NB}:", "a mark of Markdown is left"),
        (NB, "Hint 1: how", "Help: how", f"{NB}:", "double needs a hint before its check"),
        (NB, "# NumPy computes with whole arrays: what you write for one number works for a table of them.\n", "# Try.\n",
         f"{NB}:", "is too short to help"),
        (NB, '"grade_id": "check_double"', '"grade_id": "double_check"', f"{NB}:", "must be followed by its check"),
        (NB, "# ## Going further", WRITTEN, f"{NB}:", "the table of points above why adds up to 2.5, but the cell has 3 points"),
        (EX, '"""Lab 00: what', "# Lab 00: what", f"{EX}:", "it needs a docstring that says how"),
        (EX, '"""Half of the result is the input again."""', "", f"{EX}:", "needs a docstring with a sentence: learners read it as its title"),
        (EX, "a table of shape (2, 5)", "a row of 3 numbers", f"{EX}:", "two cases with the title 'a row of 3 numbers'"),
        (EX, 'lambda rng: {"x": normal(rng, 2, 5)}', "lambda rng: normal(rng, 2, 5)", f"{EX}:", "gives ndarray; it must give a dict"),
        (EX, "normal(rng, 2, 5)", "nothing(rng)", f"{EX}:", "cannot make its inputs: NameError"),
        (EX, "double = Exercise(", "double = dict(", f"{EX}:1", "there is no Exercise in it"),
        ("quiz.md", "## What does", "What does", "quiz.md:3", "this is not a question"),
        ("quiz.md", "- [x]", "- [ ]", "quiz.md:3", "Exactly one option of a question is right"),
        ("quiz.md", "  Every number counts twice as much, and so does their sum.\n", "", "quiz.md:3", "does not say why"),
        ("quiz.md", "It leaves the mean as it was.", "It doubles the mean.", "quiz.md:3", "two answers are the same"),
        ("quiz.md", "## What does", "## [odd] What does", "quiz.md:3", 'the notebook must call predict("tiny.odd") once'),
        (NB, 'quiz("tiny")', 'predict("tiny.odd")\nquiz("tiny")', f"{NB}:", "has no heading '## [...]' of this name"),
        (NB, 'quiz("tiny")', 'find_the_control(\n    "tiny.odd", [], [], [])\nquiz("tiny")', f"{NB}:", "has no heading '## [...]' of this name"),
        (VA, '@variant("double")\ndef less', "def less", f"{VA}:1", "needs 3 correct variants in other styles; it has 2"),
        (MI, '"Two is added."', '"Two is added"', f"{MI}:", "must be a sentence that ends in a full stop"),
        (MI, "Adding two is not the same as taking a number twice. Try both with 5.", "No.", f"{MI}:", "is too short"),
    ],
)  # fmt: skip
def test_what_a_lab_lacks_is_said_in_a_sentence_with_its_place(tiny, file, old, new, place, reason):
    said = refusal(tiny, file, old, new).splitlines()
    assert any(f"solutions/00_tiny/{place}" in line and reason in line for line in said), said
    assert not any("Traceback" in line for line in said)


@pytest.mark.parametrize(
    "defined, refused",
    [("three = 3", True), ("three = 3\n\n# %% [markdown]\n# ## 3. Core\n\n# %%\nthree = 1 + 2", False)],
)
def test_no_cell_of_the_core_needs_what_only_an_optional_section_defines(tiny, defined, refused):
    path, settings = tiny / NB, tiny / "lab.toml"
    sections = f"# ## 2. More (optional)\n\n# %%\n{defined}\n\n# %% [markdown]\n# ## 4. On\n\n# %%\nprint(three)\n\n# %% [markdown]\n"
    before, common, after = path.read_text().partition("# ## Common mistakes, by their symptom")
    before = before.replace(
        "about 20 minutes",
        "about 20 minutes. **The core path** is all, about 9 minutes, plus 0 minutes for the review quiz;",
    )
    path.write_text(before + sections + common + after)
    settings.write_text(settings.read_text().replace("minutes = 20\n", "minutes = 20\ncore_minutes = 9\n"))
    if refused:
        with pytest.raises(
            CourseError, match=r"the core path and needs the name 'three', [^\0]*: 2. More \(optional\)"
        ):
            made(tiny)
    else:
        made(tiny)


@pytest.mark.parametrize(
    ("name", "path"),
    [("10_question_answering_pytorch", "the core path"), ("04_positional_encoding", "the whole lab")],
)
def test_a_place_for_a_break_begins_a_new_sitting(labs, name, path):
    lab = labs[name]
    assert (lab.settings["core_minutes"] > SITTING) == (path == "the core path")
    source = lab.source()
    hints = take_hints(source)
    assert faults(lab, source, hints) == []
    for cell in source.cells:
        cell.source = cell.source.replace(BREAK, "")
    (said,) = faults(lab, source, hints)
    assert f"{path} goes on for more than 60 minutes" in said


@pytest.mark.parametrize("file", ["lab.toml", EX, "quiz.md", MI, VA])
def test_a_file_that_is_missing_is_named(tiny, file):
    (tiny / file).unlink()
    with pytest.raises(BuildError) as error:
        made(tiny)
    assert all(line.startswith("00_tiny: ") for line in str(error.value).splitlines())
    assert file in str(error.value)


@pytest.mark.parametrize("file", ["lab.toml", EX, "quiz.md", MI, VA, "teaching.md", "00_tiny.py"])
@pytest.mark.parametrize(("more", "words"), [(b"# \xe9\n", "is not in UTF-8"), (b"# \0\n", "NUL character")])
def test_a_file_that_is_no_text_is_named_with_its_line(tiny, file, more, words):
    lines = (tiny / file).read_bytes().count(b"\n")
    with (tiny / file).open("ab") as opened:
        opened.write(more)
    with pytest.raises(CourseError, match=rf"{file}:{lines + 1}: it .*{words}"):
        made(tiny)


@pytest.mark.parametrize("file", ["lab.toml", EX, "quiz.md", MI, VA, "teaching.md"])
def test_a_folder_in_the_place_of_a_file_is_named(tiny, file):
    (tiny / file).unlink(missing_ok=True)
    (tiny / file).mkdir()
    with pytest.raises(CourseError, match=f"{file} cannot be read: "):
        made(tiny)


@pytest.mark.parametrize("file", [EX, MI, VA])
@pytest.mark.parametrize("how", ["SystemExit(3)", "type('Own', (BaseException,), {})('so')"])
def test_however_a_file_ends_its_import_its_line_is_named(tiny, file, how):
    lines = (tiny / file).read_bytes().count(b"\n")
    with (tiny / file).open("a") as opened:
        opened.write(f"raise {how}\n")
    with pytest.raises(
        CourseError, match=rf"{file}:{lines + 1}: it cannot be imported: (SystemExit: 3|Own: so)"
    ):
        made(tiny)


def test_ctrl_c_while_a_lab_is_read_stops_the_build(tiny):
    with (tiny / MI).open("a") as opened:
        opened.write("raise KeyboardInterrupt\n")
    with pytest.raises(KeyboardInterrupt):
        made(tiny)


def test_a_case_without_a_title_is_refused(tiny, monkeypatch):
    with_cases(monkeypatch, tiny, ORDINARY, Case(" ", ORDINARY.inputs))
    with pytest.raises(BuildError, match=r"exercises\.py:\d+: a case of double has no title"):
        made(tiny)


def test_answers_that_are_always_in_the_same_place_are_refused(tiny):
    text = (tiny / "quiz.md").read_text()
    again = text.partition("\n\n")[2].replace("mean", "sum")
    assert "quiz.md:1: the right answer of every question is in the same place" in refusal(
        tiny, "quiz.md", text, f"{text}\n{again}"
    )


def test_the_readme_lists_the_labs(tiny):
    readme = tiny.parents[1] / "README.md"
    readme.write_text(
        "Before\n<!-- labs: grader build writes this list -->\nold\n<!-- end of labs -->\nAfter\n"
    )
    with pytest.raises(BuildError, match=r"README\.md: its list of labs"):
        build(Course(tiny.parents[1]), [], check=True, say=lambda line: None)
    made(tiny)
    text = readme.read_text()
    assert "| [00 Tiny](notebooks/00_tiny/tiny.ipynb) | a function that doubles numbers | 20 |" in text
    assert text.startswith("Before\n") and text.endswith("-->\nAfter\n") and "old" not in text


@pytest.mark.parametrize(
    "name", ["tiny", "7_tiny", "13-tiny", "13_Tiny", "13_tiny/..", "00_other", "13_tiny"]
)
def test_a_name_that_no_lab_can_have_is_refused_and_nothing_is_written(tiny, name):
    before = sorted(path.name for path in tiny.parent.iterdir())
    with pytest.raises(CourseError):
        new_lab(Course(tiny.parents[1]), name)
    assert sorted(path.name for path in tiny.parent.iterdir()) == before


def test_the_lab_that_the_guide_begins_has_a_number_that_is_free():
    guide = (ROOT / "docs" / "writing-a-lab.md").read_text("utf-8")
    (number,) = set(re.findall(r"grader (?:new|build|mutate) (\d\d)_", guide))
    assert not [name for name in LABS if name.startswith(number)]


def test_a_second_lab_is_on_the_map(tiny):
    made(new_lab(Course(tiny.parents[1]), "13_demo"))
    notebooks = tiny.parents[1] / "notebooks"
    assert [lab.name for lab in labs_in(notebooks)] == ["00_tiny", "13_demo"]
    page = start_page.write(notebooks).read_text("utf-8")
    assert "[13 Demo](13_demo/demo.ipynb) | a function that doubles numbers |" in page
