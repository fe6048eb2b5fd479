"""What a later lab gets of an earlier one: the learner's own if it passes its check, else the course's, and a line that says which."""

from __future__ import annotations

import json
import shutil

import numpy as np
import pytest
import torch

from course_utils import yours
from course_utils.checking.bypass import uses_of
from course_utils.checking.check import SEED_VARIABLE
from course_utils.checking.ready_made import YOURS
from course_utils.maths import softmax
from course_utils.models.torch_attention import MultiHeadAttention, sinusoidal_positions
from course_utils.yours import OFFERS, fitted
from grader.handout.demo import solved

WHERE = {
    "softmax": "00_start_here",
    "scaled_dot_product_attention": "02_self_attention",
    "MultiHeadAttention": "03_multi_head_attention",
    "sinusoidal_positions": "04_positional_encoding",
    "positional_encoding": "04_positional_encoding",
}


@pytest.fixture
def learner(labs, tmp_path, monkeypatch):
    """Puts a lab's notebook with these texts beside the one that the learner works in."""
    here = tmp_path / "13_your_own_dataset"
    shutil.copytree(labs["13_your_own_dataset"].release_folder, here)
    monkeypatch.chdir(here)
    monkeypatch.syspath_prepend("")

    def puts(name: str, **texts: str):
        lab = labs[name]
        there = tmp_path / name
        shutil.copytree(lab.release_folder, there, ignore=shutil.ignore_patterns("*.ipynb"))
        (there / lab.notebook_name).write_text(json.dumps(solved(lab, texts)), "utf-8")
        return there / lab.notebook_name

    return puts


def test_there_is_a_place_for_each_of_them(labs):
    assert set(WHERE) == set(OFFERS)
    for name, offer in OFFERS.items():
        assert offer.key in labs[WHERE[name]].exercises


@pytest.mark.parametrize(
    "name",
    [
        # its check is the first here to make a PyTorch layer, for which PyTorch imports its compiler
        pytest.param(name, marks=[pytest.mark.slow] if name == "MultiHeadAttention" else [])
        for name in OFFERS
    ],
)
def test_one_s_own_is_used_where_it_passes_and_a_line_says_so(learner, capsys, name):
    learner(WHERE[name])
    found = getattr(yours, name)
    assert capsys.readouterr().out == f"{name}: your {OFFERS[name].called}, from lab {WHERE[name][:2]}\n"
    assert not getattr(found, "__module__", "").startswith("course_utils.m")


@pytest.mark.parametrize(
    "text, why",
    [
        ("def softmax(scores, axis=-1):\n    return scores", "because yours does not pass its check yet (lab 00)"),
        ("def softmax(scores, axis=-1):\n    # YOUR CODE HERE\n    raise NotImplementedError", "because yours is not written yet (lab 00)"),
        ("import not_here_at_all\n\n@not_here_at_all.fast\ndef softmax(scores, axis=-1):\n    return scores", "because yours stops with ModuleNotFoundError (lab 00)"),
        ("def softmaks(scores):\n    pass", "because yours is not written yet (lab 00)"),
    ],
)  # fmt: skip
def test_the_course_s_is_used_where_it_does_not_pass_and_a_line_says_why(learner, capsys, text, why):
    learner("00_start_here", softmax=text)
    assert yours.softmax is softmax
    assert capsys.readouterr().out == f"softmax: the course's softmax, {why}\n"


def test_a_notebook_that_cannot_be_read_is_no_reason_to_stop(learner, capsys):
    learner("00_start_here").write_text("{")
    assert yours.softmax is softmax
    assert "cannot be used: it is not a notebook that can be read" in capsys.readouterr().out


def test_in_grading_it_is_the_course_s_whatever_lies_beside_it(learner, capsys, monkeypatch):
    learner("00_start_here", softmax="raise SystemExit")
    monkeypatch.setenv(SEED_VARIABLE, "7")
    from course_utils.yours import softmax as found

    assert found is softmax
    assert capsys.readouterr().out == "softmax: the course's softmax, as always in grading\n"


def test_a_name_that_is_not_offered_is_refused_with_those_that_are():
    with pytest.raises(ImportError):
        from course_utils.yours import Transformer  # noqa: F401
    with pytest.raises(AttributeError, match="it has: softmax, "):
        yours.Transformer  # noqa: B018


def test_one_s_own_attention_takes_the_masks_of_later_labs(labs):
    theirs = labs["03_multi_head_attention"].reference["MultiHeadAttention"]
    torch.manual_seed(0)
    ours, own = MultiHeadAttention(6, 2), fitted("MultiHeadAttention", theirs)(6, 2)
    own.load_state_dict(ours.state_dict())
    x, mask = torch.randn(3, 5, 6), torch.rand(3, 1, 5, 5) > 0.4
    for allowed in (None, mask, mask[:, 0], mask[:, :, :1], mask[0, 0]):
        for found, wanted in zip(own(x, x, x, allowed), ours(x, x, x, allowed), strict=True):
            torch.testing.assert_close(found, wanted)
    with pytest.raises(ValueError, match="one mask for all heads"):
        own(x, x, x, torch.ones(3, 2, 5, 5, dtype=torch.bool))


def test_one_s_own_positions_are_what_later_labs_take(labs):
    theirs = labs["04_positional_encoding"].reference["positional_encoding"]
    found = fitted("sinusoidal_positions", theirs)(7, 6)
    assert found.dtype == torch.float32
    torch.testing.assert_close(found, sinusoidal_positions(7, 6))


@pytest.mark.slow  # it imports TensorFlow
def test_one_s_own_positions_are_what_the_labs_in_keras_take(labs):
    from course_utils.models.keras_translator import positional_encoding

    theirs = labs["04_positional_encoding"].reference["positional_encoding"]
    in_keras = fitted("positional_encoding", theirs)(7, 6)
    np.testing.assert_allclose(in_keras, positional_encoding(7, 6), atol=1e-6)
    assert in_keras.dtype == positional_encoding(7, 6).dtype


def test_no_exercise_is_solved_by_importing_what_it_asks_for(labs):
    assert {offer.course: f"course_utils.yours.{name}" for name, offer in OFFERS.items()} == YOURS
    for name, offer in OFFERS.items():
        lab = next(lab for lab in labs.values() if lab.slug == offer.key.partition(".")[0])
        exercise = lab.exercises[offer.key]
        cell = f"from course_utils.yours import {name} as {exercise.name}"
        assert uses_of(exercise, lab.exercises.values(), [cell]), name
