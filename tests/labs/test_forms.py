"""Right numbers in a form that the docstring does not promise earn nothing: whoever goes on with them would fail."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import pytest
from project import LABS, ROOT

from course_utils.checking.comparison import compare
from course_utils.checking.exercise import PUBLIC_SEED
from course_utils.checking.expected import FILE_NAME, load_expected
from course_utils.checking.outcome import decode, encode, try_case, try_exercise
from grader.course import Course
from grader.reference.lab import Lab


def returning(change: Callable[[Any], Any], learner: Any) -> Any:
    """A function, module or layer that returns what ``change`` makes of it."""
    if not isinstance(learner, type):
        return functools.wraps(learner)(lambda *args, **options: change(learner(*args, **options)))
    (method,) = {"forward", "call"} & set(vars(learner))
    own = vars(learner)[method]
    changed = functools.wraps(own)(lambda *args, **options: change(own(*args, **options)))
    return type(learner.__name__, (learner,), {method: changed, "__module__": learner.__module__})


def without_a_dict() -> list:
    """The exercises whose results do not come back in a dict."""
    return [
        pytest.param(name, key, marks=[pytest.mark.slow] if "tensorflow" in name else [])
        for name in LABS
        for key, exercise in Lab.load(Course(ROOT), name).exercises.items()
        if not exercise.as_dict and not exercise.goals
    ]


@pytest.mark.parametrize("lab, key", without_a_dict())
def test_results_under_their_names_are_refused_where_the_values_are_promised(labs, lab, key):
    exercise, reference = labs[lab].exercises[key], labs[lab].reference
    learner, named = reference[exercise.name], []
    if isinstance(learner, type) and not {"forward", "call"} & set(vars(learner)):
        pytest.skip("its results do not come from a call")

    def under_names(value: Any) -> Any:
        named.append(True)
        several = len(exercise.returns) > 1 and isinstance(value, tuple)
        return dict(zip(exercise.returns, value if several else [value], strict=False))

    outcome = try_case(exercise, exercise.cases[0], key, returning(under_names, learner), PUBLIC_SEED)
    assert named and outcome.problem


@pytest.mark.parametrize("name", LABS)
def test_a_judge_can_read_what_every_reference_gives(labs, name):
    """A judge reads so many outputs of a run, and no more: a check that gives another one, gradients included, would cost everybody all points."""
    for key, exercise in labs[name].exercises.items():
        reference = load_expected(labs[name].release_folder / FILE_NAME, key, exercise).reference
        assert len(decode(encode([*reference]), len(exercise.cases))) == len(exercise.cases), key


@pytest.mark.parametrize(
    "lab, name, change",
    [
        ("02_self_attention", "project_qkv", lambda found: dict(zip("qkv", found, strict=True))),
        ("05_transformer_pytorch", "layer_norm", lambda found: found.numpy()),
        ("05_transformer_pytorch", "FeedForward", lambda found: found.detach().numpy()),
        ("08_language_model_and_summarizer", "shift_targets", lambda found: (found[0], found[1].numpy())),
        ("08_language_model_and_summarizer", "sampling_probabilities", lambda found: found.numpy()),
        ("08_language_model_and_summarizer", "rms_norm", lambda found: found.numpy()),
        ("09_named_entity_recognition", "encode_batch", lambda found: tuple(found.values())),
        pytest.param("06_transformer_tensorflow", "masked_loss", lambda found: float(found), marks=pytest.mark.slow),
        pytest.param("06_transformer_tensorflow", "train_step", lambda found: float(found), marks=pytest.mark.slow),
    ],
)  # fmt: skip
def test_right_numbers_in_another_form_lose_points_and_the_report_says_why(labs, lab, name, change):
    key, exercise = f"{labs[lab].slug}.{name}", labs[lab].exercises[f"{labs[lab].slug}.{name}"]
    learner = returning(change, labs[lab].reference[name])
    expected = load_expected(labs[lab].release_folder / FILE_NAME, key, exercise)
    verdict = compare(exercise, try_exercise(exercise, key, learner, PUBLIC_SEED), expected)
    assert verdict.score < 0.7 and not verdict.recognised
    details = " ".join(check.detail for check in verdict.checks)
    assert "eturned a" in details or "eturned one" in details
