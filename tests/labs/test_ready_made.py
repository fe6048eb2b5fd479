"""No ready-made function or class earns an exercise's points, unless the exercise declares it.

Everything that ``course_utils`` and the usual libraries offer is tried in place of a learner's work. What would need
other arguments than a learner's is not found that way; where it comes to mind, it is declared all the same.
"""

from __future__ import annotations

import copy
import importlib
import inspect
import pkgutil
import re
import signal
import warnings
from collections.abc import Iterator
from dataclasses import replace
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from project import LABS

import course_utils
from course_utils.checking.bypass import uses_of
from course_utils.checking.comparison import compare
from course_utils.checking.exercise import PUBLIC_SEED, Exercise, Inputs
from course_utils.checking.expected import FILE_NAME, load_expected
from course_utils.checking.outcome import try_exercise
from grader.reference.lab import Lab

LIBRARIES = (
    "keras.activations",
    "keras.layers",
    "keras.losses",
    "keras.metrics",
    "keras.ops",
    "keras.optimizers.schedules",
    "keras.utils",
    "numpy",
    "numpy.linalg",
    "sacrebleu",
    "scipy.linalg",
    "scipy.special",
    "seqeval.metrics",
    "sklearn.metrics",
    "tensorflow.linalg",
    "tensorflow.math",
    "tensorflow.nn",
    "torch",
    "torch.linalg",
    "torch.nn",
    "torch.nn.functional",
    "torch.nn.utils.rnn",
    "torch.optim.lr_scheduler",
    "torch.special",
    "transformers.optimization",
)

COURSE = "course_utils"

LEFT_OUT = re.compile(  # what an exercise's inputs must not be handed to
    r"__main__"
    r"|^course_utils\.models\.pretrained"  # reads a model of 90 MB
    r"|make_resumes|resume_splits"  # write a thousand résumés
    r"|^torch\.[A-Z]"  # files, streams and compilers, some of which end the process
    r"|\.(test|info)$|load|save|write|get_file|pip_|from_?file|tofile|genfrom|memmap|DataSource"  # numpy's own tests; files
    r"|\.set_?[a-z]|seed|\.use_|default|clear_session|enable|disable|threads|printoptions|policy"  # what holds everywhere
    r"|scatter"  # TensorFlow ends the process at odd shapes
    r"|compile|fork|vmap|cond$|scan$|while_loop|map_fn"  # run other code
)

PARTS = {
    "why_attention.dot_product_scores": "A matrix product is one step; the others are a batch and a matrix in between.",
    "self_attention.combine_masks": "To join two masks takes one operation; the other half is what None stands for.",
    "multi_head_attention.merge_heads": "For one sentence it is a concatenation; with a batch it is not.",
}
"""Exercises of which a building block does a part, as it may: it must not earn everything."""

OWN_ONLY = {"transformer_tensorflow.train_step", "question_answering_tensorflow.train_step"}
"""Exercises in which each call makes a model and a graph, 20 ms: there only what the course itself offers is tried."""

SECONDS = 5.0
"""For one call, far more than any needs that is right."""


def _modules() -> list[str]:
    """All of the course's own modules, and the libraries."""
    return [
        *(module.name for module in pkgutil.walk_packages(course_utils.__path__, "course_utils.")),
        *LIBRARIES,
    ]


def _offered_by(module: ModuleType) -> Iterator[tuple[str, Any]]:
    """Full name -> function or class that can be imported from a module; static methods, too."""
    for name, value in inspect.getmembers(module, callable):
        full = f"{module.__name__}.{name}"
        if name.startswith("_") or LEFT_OUT.search(full) or _draws(value):
            continue
        if full.startswith(COURSE) and not str(getattr(value, "__module__", "")).startswith(COURSE):
            continue  # a module's own imports from elsewhere
        yield full, value
        if inspect.isclass(value):
            static = (
                part for part, kind in vars(value).items() if isinstance(kind, staticmethod | classmethod)
            )
            yield from (
                (f"{full}.{part}", getattr(value, part)) for part in static if not part.startswith("_")
            )


def _draws(function: Any) -> bool:
    """Whether a function returns a figure, which is no answer, and takes long to draw."""
    return getattr(function, "__annotations__", {}).get("return") == "Figure"


@pytest.fixture(scope="module")
def ready_made() -> list[tuple[Any, list[str]]]:
    """Each function or class once, with all the names that it can be imported by."""
    found: dict[int, tuple[Any, list[str]]] = {}
    for name in _modules():
        if not LEFT_OUT.search(name):
            for full, value in _offered_by(importlib.import_module(name)):
                found.setdefault(id(value), (value, []))[1].append(full)
    return list(found.values())


@pytest.fixture
def out_of_harms_way(tmp_path, monkeypatch) -> Iterator[None]:
    """In an empty folder, without warnings, with a time limit, and with torch and NumPy left as they were."""
    import torch

    monkeypatch.chdir(tmp_path)
    dtype, gradients, errors = torch.get_default_dtype(), torch.is_grad_enabled(), np.geterr()

    def stop(signum: int, frame: Any) -> None:
        raise TimeoutError

    previous = signal.signal(signal.SIGALRM, stop)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        signal.signal(signal.SIGALRM, previous)
        torch.set_default_dtype(dtype)
        torch.set_grad_enabled(gradients)
        np.seterr(**errors)


def _right_at_first(exercise: Exercise, thing: Any, inputs: Inputs, expected: dict[str, np.ndarray]) -> bool:
    """Whether a thing gives the right arrays in one run: a quick look, before all cases are tried."""
    signal.setitimer(signal.ITIMER_REAL, SECONDS)
    try:
        value = exercise.call(thing, copy.deepcopy(inputs))
        if isinstance(value, dict):
            value = [value[name] for name in expected]
        parts = value if isinstance(value, tuple | list) and len(expected) > 1 else [value]
        parts = [part.detach() if hasattr(part, "detach") else part for part in parts]
        return all(
            np.shape(part) == array.shape
            and np.allclose(part, array, rtol=exercise.rtol, atol=exercise.atol, equal_nan=True)
            for part, array in zip(parts, expected.values(), strict=True)
        )
    except (Exception, SystemExit):
        return False
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def _declared(lab: Lab, exercise: Exercise, full: str) -> bool:
    """Whether the use of a thing under this name is found in a notebook."""
    module, _, name = full.rpartition(".")
    try:
        importlib.import_module(module)
        cell = f"from {module} import {name} as {exercise.name}"
    except ModuleNotFoundError:  # a method
        module, _, owner = module.rpartition(".")
        cell = f"from {module} import {owner}\n{exercise.name} = {owner}.{name}"
    return bool(uses_of(exercise, lab.exercises.values(), [cell]))


def _earned(lab: Lab, key: str, ready_made: list[tuple[Any, list[str]]]) -> Iterator[tuple[float, list[str]]]:
    """What earns points in an exercise: the share, and its names."""
    exercise = lab.exercises[key]
    expected = load_expected(lab.release_folder / FILE_NAME, key, exercise)
    inputs, arrays = expected.inputs[0][0], expected.reference[0].runs[0]
    for thing, names in ready_made:
        if key in OWN_ONLY and not names[0].startswith(COURSE):
            continue
        if _right_at_first(exercise, thing, inputs, arrays):
            outcomes = try_exercise(exercise, key, thing, PUBLIC_SEED)
            unwatched = [
                replace(outcome, ready_made=()) for outcome in outcomes
            ]  # the names must be known, too
            verdict = compare(exercise, unwatched, expected)
            if verdict.score > 0:
                yield verdict.score, names


@pytest.mark.slow
@pytest.mark.parametrize("name", LABS)
def test_nothing_ready_made_earns_points_unless_the_exercise_declares_it(
    labs, ready_made, out_of_harms_way, its_turn, name
):
    its_turn(LABS.index(name), len(LABS))  # some ten thousand things are tried in each exercise
    lab = labs[name]
    undeclared = [
        f"{full} earns {score:.0%} of {key}"
        for key, exercise in lab.exercises.items()
        for score, names in _earned(lab, key, ready_made)
        if key not in PARTS or score == 1
        for full in names
        if not _declared(lab, exercise, full)
    ]
    assert not undeclared, "Declare in the exercise's `bypasses`:\n" + "\n".join(undeclared)


@pytest.mark.slow
@pytest.mark.parametrize(
    "name, exercise, solution",
    [
        ("00_start_here", "softmax", "scipy.special.softmax"),
        (
            "03_multi_head_attention",
            "MultiHeadAttention",
            "course_utils.models.torch_attention.MultiHeadAttention",
        ),
        (
            "04_positional_encoding",
            "positional_encoding",
            "course_utils.models.torch_attention.sinusoidal_positions",
        ),
    ],
)
def test_a_thing_that_solves_an_exercise_is_found(
    labs, ready_made, out_of_harms_way, name, exercise, solution
):
    lab = labs[name]
    found = [full for _, names in _earned(lab, f"{lab.slug}.{exercise}", ready_made) for full in names]
    assert solution in found
