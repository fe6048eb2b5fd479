"""What is drawn without a seed depends on the seed of the checks alone."""

from __future__ import annotations

import random
import subprocess
import sys

import numpy as np
import pytest
import torch

from course_utils.checking import chance
from course_utils.checking.exercise import Case, Exercise
from course_utils.checking.outcome import try_exercise

DRAWS = {
    "Python": lambda: random.random(),
    "NumPy, the old way": lambda: np.random.rand(3),
    "NumPy, a new generator": lambda: np.random.default_rng().normal(size=3),
    "NumPy, an old generator": lambda: np.random.RandomState().rand(3),
    "PyTorch": lambda: torch.rand(3).numpy(),
    "PyTorch, a layer's weights": lambda: torch.nn.Linear(2, 3).weight.detach().numpy(),
}


@pytest.fixture(autouse=True)
def as_it_was():
    with chance.fixed(0):
        yield


@pytest.mark.parametrize("draw", DRAWS.values(), ids=DRAWS)
def test_the_same_seed_draws_the_same_and_another_one_draws_otherwise(draw):
    drawn = []
    for seed in (1, 1, 2):
        chance.fix(seed)
        drawn.append(np.concatenate([np.ravel(draw()), np.ravel(draw())]))
    same, again, other = drawn
    assert np.array_equal(same, again)
    assert not np.array_equal(same, other)
    assert len(set(same)) == len(same)  # and one draw is not the next


@pytest.mark.parametrize("draw", [DRAWS["Python"], DRAWS["NumPy, the old way"], DRAWS["PyTorch"]])
def test_a_check_leaves_the_numbers_that_a_notebook_draws_next_as_they_are(draw):
    chance.fix(1)
    first, second = draw(), draw()
    chance.fix(1)
    assert np.array_equal(draw(), first)
    with chance.fixed(7):
        draw()
    assert np.array_equal(draw(), second)


def test_new_generators_are_unlike_each_other_again_after_a_check():
    with chance.fixed(7):
        inside = np.random.default_rng().random()
    with chance.fixed(7):
        assert np.random.default_rng().random() == inside
    assert np.random.default_rng().random() != inside


def test_every_case_draws_the_same_numbers_in_whatever_order_it_is_tried():
    cases = tuple(Case(title, lambda rng: {"x": rng.normal(size=3)}) for title in ("one", "another"))

    def noisy(x):
        return x + np.random.rand(3) + np.random.default_rng().random(3) + torch.rand(3).numpy()

    def arrays(exercise: Exercise) -> dict[str, list[float]]:
        outcomes = try_exercise(exercise, "small.noisy", noisy, seed=3)
        return {
            case.title: outcome.runs[0]["y"].tolist()
            for case, outcome in zip(exercise.cases, outcomes, strict=True)
        }

    forwards = arrays(Exercise("noisy", ("y",), cases))
    assert arrays(Exercise("noisy", ("y",), cases[::-1])) == forwards
    assert forwards["one"] != forwards["another"]


def test_a_library_that_was_taken_apart_stops_nothing(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", object())
    monkeypatch.setattr(np.random, "seed", None)
    chance.fix(1)
    with chance.fixed(2):
        pass


KERAS = """
import sys
import keras
import tensorflow as tf
from course_utils.checking import chance
for seed in (1, 1, 2):
    chance.fix(seed)
    print(float(tf.random.normal(())), float(keras.random.normal(())), float(keras.layers.Dense(1)(tf.ones((1, 2)))[0, 0]))
"""


@pytest.mark.slow
def test_tensorflow_and_keras_draw_by_the_seed_too():
    done = subprocess.run([sys.executable, "-c", KERAS], capture_output=True, text=True, check=True)
    same, again, other = done.stdout.splitlines()
    assert same == again and not set(same.split()) & set(other.split())
