"""A name without a value: the sentence says where it is defined and why that does not help, and nothing is said without a reason."""

from __future__ import annotations

import pytest
from project import LABS, ROOT

from course_utils.checking.names import (
    Cell,
    fault_of,
    names_without_value,
    odd_character,
    reached_from,
    why_undefined,
)
from course_utils.checking.outcome import Outcome, Problem
from grader.course import Course
from grader.handout.demo import solved
from grader.reference.lab import Lab, around_check

USE = "def answer(x):\n    return helper(x)"
LATER = "move it up, because cells are graded from top to bottom."


def cells(*sources: str, start: int = 1) -> list[Cell]:
    return [Cell(f"cell {number}", source) for number, source in enumerate(sources, start=start)]


def why(*above: str, below: tuple[str, ...] = ()) -> list[str]:
    return why_undefined("answer", cells(*above), cells(*below, start=len(above) + 1))


@pytest.mark.parametrize(
    "above, below, sentence",
    [
        ((USE,), ("def helper(x): pass",), f"`helper` is defined in cell 2 and used in cell 1: {LATER}"),
        ((USE,), ("import numpy as helper",), f"`helper` is defined in cell 2 and used in cell 1: {LATER}"),
        ((), (USE,), f"`answer` is defined in cell 1 and checked before that: {LATER}"),
        ((USE,), (), "`helper` is used in cell 1, and no cell defines it: it is misspelt, or its cell is gone."),
        (("helper = 1\ndel helper",), (), "No cell defines `answer`. Is it misspelt, or was its cell deleted?"),
        (
            ("%%timeit\ndef helper(x): pass", USE), (),
            "`helper` is defined in cell 1, under `%%timeit`, where names are lost when the cell ends: remove that line.",
        ),
        (
            ("%%timeit -n 3\n" + USE,), (),
            "`answer` is defined in cell 1, under `%%timeit`, where names are lost when the cell ends: remove that line.",
        ),
        (
            ("import no_such_package as np\ndef helper(x): pass", USE), (),
            "`helper` is defined in cell 1, which stops at the import of `no_such_package`: that package is not installed here.",
        ),
        (
            ("from no_such_package.parts import helper", USE), (),
            "`helper` is defined in cell 1, which stops at the import of `no_such_package`: that package is not installed here.",
        ),
        (
            ("def helper(x):\n    print(“x”)", USE), (),
            "`helper` is defined in cell 1, which is not valid Python (line 2: the quotation mark “ is not one that Python knows; "
            "type \" or ' instead).",
        ),
        (
            ("def helper(x):\n\u00a0   return x", USE), (),
            "`helper` is defined in cell 1, which is not valid Python (line 2: there is an invisible character (no-break space), "
            "which Python does not know; delete it, or type a space).",
        ),
        (
            ("def helper(x):\n    return x\u200b", USE), (),
            "`helper` is defined in cell 1, which is not valid Python (line 2: there is an invisible character (zero width space), "
            "which Python does not know; delete it, or type a space).",
        ),
        (("class answer:\n    def __call__(self, x):\n        return [helper(y) for y in x]",), (),
         "`helper` is used in cell 1, and no cell defines it: it is misspelt, or its cell is gone."),
        (("def between(x): return helper(x)", "def answer(x): return between(x)"), ("helper = len",),
         f"`helper` is defined in cell 3 and used in cell 1: {LATER}"),
    ],
)  # fmt: skip
def test_the_sentence_says_where_it_is_and_what_to_do(above, below, sentence):
    assert why(*above, below=below) == [sentence]


@pytest.mark.parametrize(
    "above",
    [
        ("def helper(x): pass", USE),
        (USE, "def helper(x): pass"),  # it is called only later
        ("%%time\ndef helper(x): pass", "%%capture\n" + USE),
        ("helper = !ls", USE),
        ("%%capture helper\nprint(1)", USE),
        ("from math import *", USE),  # it may come from there
        ("%run other.py", USE),
        ("for helper in (1, 2): pass", USE),
        ("with open('f') as helper: pass", USE),
        ("if (helper := 1): pass", USE),
        ("def set_it():\n    global helper\n    helper = 1", USE),
        ("try:\n    import no_such_package as helper\nexcept ImportError:\n    helper = None", USE),
        ("class answer:\n    helper = 1\n    other = helper\n    def f(self): return self.helper",),
        (
            "def answer(x, helper=None):\n    def inner(): return helper\n    return [inner() for helper in x], len(x)",
        ),
        ("def answer(x):\n    for helper in x: yield helper",),
        ("answer = lambda helper: helper",),
        ("def answer(x: 'nothing', y: nothing = 1) -> nothing:\n    z: nothing = __name__\n    return z",),
    ],
)
def test_nothing_is_said_of_a_name_that_may_have_a_value(above):
    assert why(*above) == []


def test_a_cell_that_grading_does_not_run_defines_nothing():
    above = [Cell("cell 4", "helper = train()", runs=False), Cell("cell 5", USE)]
    assert why_undefined("answer", above, ()) == [
        "`helper` is defined in cell 4, which is not run when the notebook is graded."
    ]


def test_only_what_an_exception_names_is_spoken_of_where_there_is_one():
    above = cells("def answer(x):\n    return one(x) + two(x)")
    assert len(why_undefined("answer", above, ())) == 2
    raised = [
        Outcome(problem=Problem("exception", "NameError: name 'two' is not defined. Did you mean: 'to'?")),
        Outcome(),
    ]
    (said,) = why_undefined("answer", above, (), names_without_value(raised))
    assert said.startswith("`two` is used in cell 1")
    assert why_undefined("answer", above, (), names_without_value([Outcome()])) == []


def test_a_file_beside_the_notebook_can_be_imported():
    above = cells("from my_helpers import helper", USE)
    assert why_undefined("answer", above, (), beside={"my_helpers"}) == []
    assert "not installed" in why_undefined("answer", above, ())[0]


@pytest.mark.parametrize("name", LABS)
def test_nothing_is_said_of_a_lab_that_is_solved(name):
    lab = Lab.load(Course(ROOT), name)
    notebook = solved(lab)
    for key, exercise in lab.exercises.items():
        assert why_undefined(exercise.name, *around_check(notebook, key, {})) == []


def test_what_a_definition_reaches_is_found_through_helpers_but_not_through_comments():
    cells = ["def a(): pass", "def b(): return a()", "def c():\n    # a is not called\n    return b.a"]
    assert reached_from("b", cells) == {"a"}
    assert reached_from("c", cells) == {"b", "a"}
    assert reached_from("a", cells) == set()
    assert reached_from("b", [*cells, "def b(): return 1"]) == set()  # the last definition counts


@pytest.mark.parametrize(
    "source", ["(" * 5000, "a." * 9000 + "b", "+".join(["a"] * 9000), "\0", "x = " + "-" * 15_000 + "1"]
)
def test_absurd_text_is_survived(source):
    assert isinstance(why(source, USE), list)
    assert isinstance(fault_of(source), str)


def test_other_faults_keep_pythons_words():
    assert fault_of("x = (1") == "line 1: '(' was never closed"
    assert odd_character("invalid syntax") == ""
