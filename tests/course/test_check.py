"""check(...) as learners meet it: every kind of fault has a clear message of its own, every kind of object fits."""

from __future__ import annotations

import json
import linecache
import os
import subprocess
import sys
import types
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest

from course_utils import check, inputs_of, progress
from course_utils.checking import check as checking
from course_utils.checking.check import SEED_VARIABLE, CheckFailed
from course_utils.checking.exercise import (
    PUBLIC_SEED,
    Case,
    Exercise,
    call_for_dict,
    call_function,
    find_exercise,
    take_value,
)
from course_utils.checking.expected import FILE_NAME, Expected, Hint, save_expected
from course_utils.checking.outcome import try_exercise
from course_utils.checking.wording import reason_in_a_graph
from course_utils.own_code import practice

# ---------------------------------------------------------------------------------- exercises of every kind


def _x(rng):
    return {"x": rng.standard_normal((2, 3))}


def _linear_inputs(rng):
    return {
        "x": rng.standard_normal((2, 3)),
        "weight": rng.standard_normal((4, 3)),
        "bias": rng.standard_normal(4),
    }


def call_torch_module(learner, inputs):
    import torch

    module = learner(3, 4)
    with torch.no_grad():
        module.linear.weight.copy_(torch.tensor(inputs["weight"]))
        module.linear.bias.copy_(torch.tensor(inputs["bias"]))
    return module(torch.tensor(inputs["x"], dtype=torch.float32))


def call_keras_layer(learner, inputs):
    layer = learner(4)
    layer(inputs["x"])  # builds the weights that are set next
    layer.dense.set_weights([inputs["weight"].T, inputs["bias"]])
    return layer(inputs["x"])


KINDS = types.ModuleType("course_utils.exercises.kinds")
KINDS.double = Exercise("double", ("doubled",), (Case("2 by 3", _x), Case("again", _x)), seconds=0.3)
KINDS.quadruple = Exercise("quadruple", ("out",), (Case("2 by 3", _x),), uses=("double",))
KINDS.both = Exercise("both", ("low", "high"), (Case("2 by 3", _x),))
KINDS.as_dict = Exercise("as_dict", ("low", "high"), (Case("2 by 3", _x),), call=call_for_dict)
KINDS.table = Exercise("table", ("table",), (Case("its value", lambda rng: {}),), call=take_value)
KINDS.pair = Exercise("pair", ("low", "high"), (Case("its values", lambda rng: {}),), call=take_value)
KINDS.module = Exercise(
    "Module", ("output",), (Case("given weights", _linear_inputs),), call=call_torch_module
)
KINDS.layer = Exercise(
    "Layer", ("output",), (Case("given weights", _linear_inputs),), call=call_keras_layer, seconds=60
)


def reference_module():
    import torch

    class Module(torch.nn.Module):
        def __init__(self, n_in, n_out):
            super().__init__()
            self.linear = torch.nn.Linear(n_in, n_out)

        def forward(self, x):
            return self.linear(x)

    return Module


def reference_layer():
    import keras

    class Layer(keras.layers.Layer):
        def __init__(self, units):
            super().__init__()
            self.dense = keras.layers.Dense(units)

        def call(self, x):
            return self.dense(x)

    return Layer


REFERENCES = {
    "double": lambda x: 2 * x,
    "quadruple": lambda x: 4 * x,
    "both": lambda x: (x.min(axis=1), x.max(axis=1)),
    "as_dict": lambda x: {"low": x.min(axis=1), "high": x.max(axis=1)},
    "table": np.array([[1.0, 2.0]]),
    "pair": (np.array(1.0), np.array([2.0, 3.0])),
}


HINTS = {
    "kinds.double": [
        Hint("where do I begin?", "Add $x$ to itself."),
        Hint("", "Once."),
        Hint("the end", "Twice."),
    ]
}


@pytest.fixture
def lab(tmp_path, monkeypatch):
    """A lab with an exercise of each kind; the current folder is that of its notebook."""
    monkeypatch.setitem(sys.modules, KINDS.__name__, KINDS)
    monkeypatch.chdir(tmp_path)
    write_expected(tmp_path, REFERENCES)
    return tmp_path


def write_expected(folder, references):
    exercises = {value.name: value for value in vars(KINDS).values() if isinstance(value, Exercise)}
    everything = {}
    for name, reference in references.items():
        key, exercise = f"kinds.{name}", exercises[name]
        inputs = tuple(case.runs(key, PUBLIC_SEED) for case in exercise.cases)
        everything[key] = Expected(inputs, tuple(try_exercise(exercise, key, reference, PUBLIC_SEED)))
    save_expected(folder / FILE_NAME, everything, HINTS)


def run(source: str, key: str, capsys) -> tuple[str, str]:
    """Runs a cell and the check as a notebook does; returns what was printed and the error's line."""
    linecache.cache["<cell>"] = (len(source), None, source.splitlines(True), "<cell>")
    namespace = {"np": np, "check": check, "__name__": "__main__"}
    exec(compile(source, "<cell>", "exec"), namespace)
    error = ""
    try:
        exec(f"check({key!r})", namespace)
    except CheckFailed as raised:
        error = "".join(raised._render_traceback_())
    return capsys.readouterr().out, error


# ---------------------------------------------------------------------------------- how a function is called


@pytest.mark.parametrize(
    "parameters",
    ["labels, logits", "a, b", "labels, logits, more=1", "*, logits, labels", "logits=0, labels=0"],
)
def test_a_function_is_called_by_name_or_in_order(parameters):
    learner = eval(f"lambda {parameters}: {'(a, b)' if 'a, b' in parameters else '(labels, logits)'}")
    assert call_function(learner, {"labels": 1, "logits": 2}) == (1, 2)


def test_parameters_in_another_order_are_told():
    with pytest.raises(TypeError, match=r"are \(logits, labels\).*has \(labels, logits\)"):
        call_function(lambda logits, labels: 0, {"labels": 1, "logits": 2})


# ---------------------------------------------------------------------------------- kinds of objects


@pytest.mark.parametrize(
    "key, source",
    [
        ("kinds.double", "def double(x): return x + x"),
        ("kinds.double", "double = lambda x: np.float32(2) * x.astype('float32')"),
        ("kinds.both", "def both(x): return [x.min(1), x.max(1)]"),
        ("kinds.as_dict", "def as_dict(x): return {'high': x.max(1), 'low': x.min(1), 'more': None}"),
        ("kinds.table", "table = np.array([[1, 2]])"),
        ("kinds.pair", "pair = 1, np.array([2, 3])"),
        ("kinds.double", "import torch\ndef double(x): return 2 * torch.tensor(x, requires_grad=True)"),
    ],
)
def test_functions_arrays_tuples_dicts_and_tensors_are_all_learner_objects(lab, capsys, key, source):
    report, error = run(source, key, capsys)
    assert error == "" and report.startswith("[ok]")


MODULE = (
    "import torch\nclass Module(torch.nn.Module):\n"
    "    def __init__(self, a, b):\n        super().__init__()\n        self.linear = torch.nn.Linear(a, b)\n"
    "    def forward(self, x):\n        return x @ self.linear.weight.T + self.linear.bias\n"
)


def test_a_pytorch_module_is_checked_with_weights_set_by_the_check(lab, capsys):
    write_expected(lab, {"Module": reference_module()})
    assert run(MODULE, "kinds.Module", capsys)[1] == ""
    report, _ = run(MODULE.replace(" + self.linear.bias", ""), "kinds.Module", capsys)
    assert "8 of 8 values differ" in report


def test_a_layer_that_switches_gradients_off_does_not_fail_what_is_checked_or_trained_next(lab, capsys):
    import torch

    write_expected(lab, {"Module": reference_module()})
    off = MODULE.replace("return", "torch.set_grad_enabled(False)\n        return")
    run(off, "kinds.Module", capsys)
    assert torch.is_grad_enabled()
    try:
        torch.set_grad_enabled(False)  # in a cell of the learner's own
        asks = MODULE.replace("return", "assert torch.is_grad_enabled()\n        return")
        assert run(asks, "kinds.Module", capsys)[1] == ""
    finally:
        torch.set_grad_enabled(True)


@pytest.mark.slow
def test_a_keras_layer_is_checked_with_weights_set_by_the_check(lab, capsys):
    write_expected(lab, {"Layer": reference_layer()})
    right = (
        "import keras\nclass Layer(keras.layers.Layer):\n"
        "    def __init__(self, units):\n        super().__init__()\n        self.dense = keras.layers.Dense(units)\n"
        "    def call(self, x):\n        return self.dense(x)\n"
    )
    assert run(right, "kinds.Layer", capsys)[1] == ""
    report, _ = run(right.replace("return self", "return 2 * self"), "kinds.Layer", capsys)
    assert "8 of 8 values differ" in report


# ---------------------------------------------------------------------------------- what comes first

CALLS = "def quadruple(x): return 3 * double(x)\n"
FIRST = "`quadruple` calls your `double`, which is not right yet: fix that first."
STILL = " In grading, what is right with a working `double` may still earn points."


@pytest.mark.parametrize(
    "double, quadruple, said",
    [
        ("def double(x): return 2 * x\n", CALLS, ""),  # right, although it was never checked here
        ("def double(x): return 5 * x\n", CALLS, FIRST),
        ("def double(x): raise ValueError\n", CALLS, FIRST + STILL),
        ("", CALLS, FIRST + STILL),
        ("def double(x): return 5 * x\n", "def quadruple(x): return 3 * x  # not double\n", ""),
        (
            "def double(x): return 5 * x\n",
            "def half(x): return double(x)\ndef quadruple(x): return 3 * half(x)\n",
            FIRST,
        ),
    ],
)
def test_an_earlier_exercise_comes_first_only_if_it_is_called_and_wrong_now(
    lab, capsys, double, quadruple, said
):
    source = double + quadruple
    report, _ = run(f"{source}In = [{source!r}]", "kinds.quadruple", capsys)
    assert said in report and ("calls your" in report) == bool(said)
    assert ("In grading" in report) == ("In grading" in said)


def test_a_part_that_an_earlier_exercise_lacks_is_told_as_its_own(lab, capsys):
    source = f"def double(x):\n    raise NotImplementedError\n{CALLS}"
    report, error = run(f"{source}In = [{source!r}]", "kinds.quadruple", capsys)
    assert error == "CheckFailed: quadruple: `double`, which it calls, is not written yet."
    assert FIRST + STILL in report


def test_an_earlier_exercise_that_passed_as_it_is_now_is_not_tried_again(lab, capsys):
    source = f"calls = []\ndef double(x):\n    calls.append(1)\n    return 2 * x\n{CALLS}"
    code = f"{source}In = [{source!r}]\ncheck('kinds.double')\nbefore = len(calls)\ntry:\n    check('kinds.quadruple')\n"
    report, _ = run(f"{code}except Exception:\n    assert len(calls) == before + 1", "kinds.double", capsys)
    assert "calls your" not in report


@pytest.mark.parametrize(
    "saved, code, said",
    [
        (
            ["def double(x): return helper(x)", "check('kinds.double')", "def helper(x): pass"], "def double(x): return helper(x)",
            "`helper` is defined in cell 4 and used in cell 2: move it up, because cells are graded from top to bottom.",
        ),
        (
            ["def helper(x): pass", "def double(x): return helper(x)", "check('kinds.double')"], "def double(x): return helper(x)",
            "`helper` is defined in cell 2, which has not been run: run it first.",
        ),
        (
            ["def helper(x: np.ndarray): pass", "def double(x): return helper(x)", "check('kinds.double')"],
            "def double(x): return helper(x)\nIn = ['def helper(x: np.ndarray): pass', 'def double(x): return helper(x)']",
            "`helper` is defined in cell 2, which ended with an error: read the message below it.",
        ),
        (
            ["def double(x): return helper(x)", "check('kinds.double')"], "def double(x): return helper(x)",
            "`helper` is used in cell 2, and no cell defines it: it is misspelt, or its cell is gone.",
        ),
        (["%%timeit\ndef double(x): return 2 * x", "check('kinds.double')"], "pass", "under `%%timeit`"),
        (["check('kinds.other')"], "def double(x): return helper(x)", "This name is not defined at that point"),
        (None, "def double(x): return helper(x)", "This name is not defined at that point"),
        (["print(2)", 7], "def double(x): return helper(x)", "This name is not defined at that point"),
    ],
)  # fmt: skip
def test_the_check_says_what_the_saved_notebook_tells_about_a_name(lab, capsys, saved, code, said):
    if saved is not None:
        cells = [{"cell_type": "code", "source": source} for source in saved]
        text = json.dumps({"cells": [{"cell_type": "markdown", "source": ["# Title"]}, *cells]})
        Path("kinds.ipynb").write_text(text)
    report, error = run(code, "kinds.double", capsys)
    assert said in report + error


# ---------------------------------------------------------------------------------- kinds of faults


@pytest.mark.parametrize(
    "source, message",
    [
        ("pass", "double: not defined yet. Run the cell that defines it"),
        ("pass", "If the kernel was restarted, run all cells above first"),
        (
            "def double(x):\n    raise NotImplementedError",
            "double: part of it is not written yet. Replace the lines marked YOUR CODE HERE",
        ),
        ("def double(x):\n    2 * x", "It returned None; expected `doubled`."),
        ("def double(x):\n    return (x, x)", "It returned 2 values; expected just `doubled`."),
        ("def double(x):\n    return [[1, 2]]", "`doubled` is a Python list; make it an array"),
        ("def double(x):\n    return 'x'", "`doubled` is of type str; expected an array of numbers."),
        (
            "def double(x):\n    return np.array(['x'])",
            "`doubled` holds texts; expected numbers or booleans.",
        ),
        ("def double(x):\n    return x * 2j", "`doubled` holds complex numbers"),
        ("def double(x):\n    return 2 * x.T", "`doubled` has shape (3, 2); expected (2, 3)."),
        ("def double(x):\n    return x / 0 * 0", "`doubled` contains NaN (not a number), first at [0, 0]."),
        ("def double(x):\n    y = x + 1\n    return y @ x", "double, line 3 of its cell: return y @ x"),
        ("def double(x):\n    import sys\n    sys.exit()", "SystemExit"),
        ("def double(x):\n    return x * int(input('how often? '))", "input() waits for somebody to type"),
        ("def double(x):\n    exit()", "exit() ends the whole notebook. To end a function, use return."),
        ("def double(x):\n    x *= 2\n    return x", "The values are right, but `x` was changed in place."),
        (
            "def double(x):\n    while True:\n        pass",
            "It was still computing after 0.3 seconds and was stopped.",
        ),
        (
            "def double(x):\n    try:\n        while True: pass\n    except Exception: return x",
            "after 0.3 seconds",
        ),
        ("def double(x):\n    return 3 * x", "values differ, most at `doubled["),
        ("def double():\n    return 3", "TypeError"),
        ("double = 3", "TypeError: 'int' object is not callable"),
    ],
)
def test_each_fault_has_a_clear_message_of_its_own(lab, capsys, source, message):
    report, error = run(source, "kinds.double", capsys)
    assert message in report
    assert error.startswith("CheckFailed: double: ") and "\n" not in error and "Traceback" not in error


def test_the_message_for_a_tuple_of_another_length_names_what_is_expected(lab, capsys):
    report, _ = run("def both(x): return x", "kinds.both", capsys)
    assert "It returned one ndarray; expected 2: (low, high)." in report


@pytest.mark.parametrize(
    "key, source, message",
    [
        (
            "kinds.both",
            "def both(x): return {'low': x.min(1), 'high': x.max(1)}",
            "It returned one dict; expected 2: (low, high).",
        ),
        ("kinds.both", "def both(x): return (x.min(1),)", "It returned 1 value; expected 2: (low, high)."),
        ("kinds.double", "def double(x): return {'doubled': 2 * x}", "`doubled` is of type dict"),
        (
            "kinds.as_dict",
            "def as_dict(x): return x.min(1), x.max(1)",
            "It returned one tuple; expected a dict with the keys low, high.",
        ),
    ],
)
def test_values_for_a_dict_and_a_dict_for_values_are_refused(lab, capsys, key, source, message):
    report, error = run(source, key, capsys)  # whoever unpacks a dict gets its keys
    assert message in report and error


def test_a_dict_without_a_key_is_told_which(lab, capsys):
    report, _ = run("def as_dict(x): return {'low': x}", "kinds.as_dict", capsys)
    assert "has no key 'high'; expected keys: low, high." in report


def test_prints_and_warnings_neither_cost_nor_vanish(lab, capsys):
    source = "import warnings\ndef double(x):\n    print('looking at', x.shape)\n    warnings.warn('careful')\n    return 2 * x"
    report, error = run(source, "kinds.double", capsys)
    assert (
        error == ""
        and "Your code printed:" in report
        and "looking at (2, 3)" in report
        and "careful" not in report
    )


def test_attempts_until_it_is_solved_and_the_best_score_are_remembered(lab, capsys):
    run("def double(x): return x", "kinds.double", capsys)
    run("def double(x): return 2 * x", "kinds.double", capsys)
    run("def double(x): return x", "kinds.double", capsys)
    entry = progress.load()["kinds.double"]
    assert entry["attempts"] == 2 and entry["best"] == 1 and entry["solved"]


def shown_hints(lab, capsys, source: str) -> list[str]:
    report = run(source, "kinds.double", capsys)[0]
    return [line for line in report.splitlines() if line.startswith("Hint ")]


def test_one_hint_opens_at_once_and_the_others_with_the_first_attempt(lab, capsys):
    untouched, wrong = "def double(x): raise NotImplementedError()", "def double(x): return x"
    first, second, third = "Hint 1 of 3: where do I begin?", "Hint 2 of 3", "Hint 3 of 3: the end"
    assert shown_hints(lab, capsys, "pass") == []  # nothing is there that a hint could be about
    assert shown_hints(lab, capsys, untouched) == [first]
    assert shown_hints(lab, capsys, wrong) == [first, second, third]
    assert shown_hints(lab, capsys, "def double(x): return 2 * x") == []


def test_who_has_solved_an_exercise_sees_all_its_hints_when_it_breaks_again(lab, capsys):
    run("def double(x): return 2 * x", "kinds.double", capsys)
    assert len(shown_hints(lab, capsys, "def double(x): return x")) == 3


def test_a_check_says_attempts_and_time(lab, capsys):
    wrong, right = "def double(x): return x", "def double(x): return 2 * x"
    assert "Attempt 1." in run(wrong, "kinds.double", capsys)[0]
    entries = progress.load()
    entries["kinds.double"]["first"] = (datetime.now(UTC) - timedelta(minutes=12)).isoformat(
        timespec="seconds"
    )
    Path(os.environ["TRANSFORMER_LABS_PROGRESS"]).write_text(json.dumps(entries))
    assert "Attempt 2, 12 minutes after the first." in run(wrong, "kinds.double", capsys)[0]
    for _ in range(2):
        assert "Solved at attempt 3, 12 minutes after the first." in run(right, "kinds.double", capsys)[0]
    assert "ttempt" not in run(wrong, "kinds.double", capsys)[0]


def test_progress_that_cannot_be_written_costs_nothing(lab, capsys, monkeypatch):
    monkeypatch.setenv("TRANSFORMER_LABS_PROGRESS", "/dev/null/progress.json")
    report, error = run("def double(x): return 2 * x", "kinds.double", capsys)
    assert error == "" and "could not be saved in your progress file: Not a directory" in report


def test_a_cell_that_goes_to_another_folder_leaves_the_check_where_it_is(lab, capsys, monkeypatch):
    monkeypatch.setattr(checking, "_BEGAN_IN", lab)
    (lab / "elsewhere").mkdir()
    source = "import os\nos.chdir('elsewhere')\ndef double(x): return 2 * x"
    report, error = run(source, "kinds.double", capsys)
    assert "all 3 checks passed" in report and error == ""


def test_what_a_check_puts_in_the_place_of_input_and_exit_is_gone_afterwards(lab):
    own = {"input": 3}
    namespace = {"check": check, "double": lambda x: 2 * x, **own}
    before = set(namespace)
    exec("check('kinds.double')", namespace)
    assert namespace["input"] == 3 and set(namespace) == before | {"__builtins__"}


def test_in_practice_a_solution_does_not_end_the_kernel_either(lab, monkeypatch):
    monkeypatch.chdir(lab)
    ended = []
    by_ipython = type("ExitAutocall", (), {"__module__": "IPython.core.autocall", "__call__": ended.append})()
    namespace = {"__name__": "__main__", "exit": by_ipython}
    exec("def double(x):\n    exit()\n    return 2 * x", namespace)
    assert practice._passes("kinds.double", find_exercise("kinds.double"), namespace) is False
    assert not ended and namespace["exit"] is by_ipython


def test_an_unknown_exercise_is_answered_with_those_there_are(lab):
    with pytest.raises(LookupError, match="it has: double, quadruple, both"):
        check("kinds.treble")
    with pytest.raises(LookupError, match="The exercises of the lab 'nowhere' are not here"):
        check("nowhere.treble")


def test_without_expected_npz_the_message_says_what_to_do(lab, capsys):
    (lab / FILE_NAME).unlink()
    with pytest.raises(LookupError, match="not in this notebook's folder.*get the lab's folder again"):
        run("def double(x): return x", "kinds.double", capsys)


def test_a_damaged_expected_npz_is_named(lab, capsys):
    (lab / FILE_NAME).write_bytes(b"PK not really")
    with pytest.raises(LookupError, match="cannot be read"):
        run("def double(x): return x", "kinds.double", capsys)


def test_the_public_inputs_of_a_case_can_be_had_to_try_things_on(lab):
    assert inputs_of("kinds.double", case=1)["x"].shape == (2, 3)
    with pytest.raises(LookupError, match="cases 0 to 1"):
        inputs_of("kinds.double", case=2)


def test_in_grading_the_check_publishes_outcomes_and_judges_nothing(lab, capsys, monkeypatch):
    published = []
    monkeypatch.setenv(SEED_VARIABLE, "99")
    monkeypatch.setattr(sys.modules["course_utils.checking.check"], "_display", published.append)
    (lab / FILE_NAME).unlink()
    assert run("def double(x): return 5 * x", "kinds.double", capsys) == ("", "")
    (bundle,) = published[0].values()
    assert bundle["exercise"] == "kinds.double" and bundle["seed"] == 99 and len(bundle["cases"]) == 2
    json.dumps(bundle)


def test_importing_course_utils_loads_neither_frameworks_nor_figures():
    heavy = (
        "torch",
        "tensorflow",
        "keras",
        "matplotlib",
        "ipywidgets",
        "IPython",
        "grader",
        "transformers",
        "scipy",
    )
    code = f"import sys, course_utils; print([name for name in {heavy!r} if name in sys.modules])"
    assert (
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
        == "[]\n"
    )


def test_course_utils_never_imports_the_instructors_side():
    from project import ROOT

    for path in (ROOT / "course_utils").rglob("*.py"):
        text = path.read_text("utf-8")
        assert (
            "import grader" not in text
            and "from grader" not in text
            and "solutions" not in text.replace("CheckFailed", "")
        ), path


@pytest.mark.slow  # imports Keras and TensorFlow: seconds
def test_no_library_greets_anybody_under_a_check(labs):
    """Keras, whatever its backend, loads TensorFlow when its seed is set for the first time."""
    code = """
import os
os.environ["KERAS_BACKEND"] = "torch"
import keras
from course_utils import check
import numpy as np

def softmax(scores, axis=-1):
    shares = np.exp(scores - scores.max(axis=axis, keepdims=True))
    return shares / shares.sum(axis=axis, keepdims=True)

check("start_here.softmax")
"""
    environment = {name: value for name, value in os.environ.items() if name != "TF_CPP_MIN_LOG_LEVEL"}
    found = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        cwd=labs["00_start_here"].release_folder,
        env=environment,
    )
    assert "checks passed" in found.stdout and found.stderr == ""


# ---------------------------------------------------------------------------------- what is not on the core path


@pytest.mark.parametrize(
    ("key", "said"),
    [
        ("why_attention.additive_scores", "Not written yet: `additive_scores` is optional."),
        (
            "self_attention.causal_mask",
            "Not written yet: `causal_mask` can wait until lab 05, which needs it.",
        ),
    ],
)
def test_what_can_wait_and_is_not_written_fails_nothing(key, said, capsys, monkeypatch, labs):
    slug, _, name = key.partition(".")
    (folder,) = (lab.release_folder for lab in labs.values() if lab.slug == slug)
    monkeypatch.chdir(folder)
    namespace = {"check": check}
    exec(f"def {name}(*arguments, **named):\n    raise NotImplementedError", namespace)
    exec(f"check({key!r})", namespace)
    assert capsys.readouterr().out.startswith(said)
    assert key not in progress.load()
    exec(f"def {name}(*arguments, **named):\n    return 1", namespace)
    with pytest.raises(CheckFailed):  # as soon as it is begun, it counts
        exec(f"check({key!r})", namespace)
    monkeypatch.setenv(SEED_VARIABLE, "5")
    exec(f"def {name}(*arguments, **named):\n    raise NotImplementedError", namespace)
    exec(f"check({key!r})", namespace)
    assert "Not written yet" not in capsys.readouterr().out  # in grading, it is an exercise like any other


def test_what_is_on_the_core_path_and_not_written_does_not_pass(monkeypatch, labs):
    monkeypatch.chdir(labs["01_why_attention"].release_folder)
    namespace = {"check": check}
    exec("def attend(*arguments, **named):\n    raise NotImplementedError", namespace)
    with pytest.raises(CheckFailed):
        exec("check('why_attention.attend')", namespace)


def test_what_can_wait_and_only_calls_what_is_not_written_is_not_called_unwritten(monkeypatch, labs, capsys):
    monkeypatch.chdir(labs["02_self_attention"].release_folder)
    namespace = {"check": check}
    exec("def causal_mask(seq_len):\n    raise NotImplementedError", namespace)
    exec("def causal_self_attention(x, *weights, **named):\n    return causal_mask(len(x))", namespace)
    with pytest.raises(CheckFailed, match="`causal_mask`, which it calls, is not written yet"):
        exec("check('self_attention.causal_self_attention')", namespace)
    assert "Not written yet" not in capsys.readouterr().out


def test_of_an_error_in_a_compiled_model_the_reason_is_told_and_no_path():
    began = "Graph execution error:\n\nDetected at node a/add defined at (most recent call last):\n"
    lines = '  File "/some/where.py", line 8, in call\n\n  File "/some/where else.py", line 9, in f\n\n'
    reason = "Incompatible shapes: [4,3] vs. [3,3]"
    ended = "\n\t [[{{node a/add}}]] [Op:__inference_f_19]"
    several = (
        f"2 root error(s) found.\n  (0) INVALID_ARGUMENT:  {reason}{ended}\n  (1) INVALID_ARGUMENT:  ..."
    )
    assert reason_in_a_graph(f"{began}{lines}{reason}{ended}") == reason
    assert reason_in_a_graph(f"{began}{lines}{began}{lines}{several}") == reason
    for other in ("Graph execution error:", "Incompatible shapes", f"No {began}{lines}{reason}"):
        assert reason_in_a_graph(other) == other
