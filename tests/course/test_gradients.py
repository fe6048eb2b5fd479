"""What is trained through passes gradients on: right code in any style earns everything, and whatever cuts them off is told where."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from course_utils.cases import keras_layers, torch_modules
from course_utils.cases.gradients import arrived, direction, outputs_in
from course_utils.cases.properties import f32, normal
from course_utils.checking.comparison import compare
from course_utils.checking.exercise import Case, Exercise, NoGradient
from course_utils.checking.expected import Expected, Misconception
from course_utils.checking.outcome import decode, encode, try_exercise

# ---------------------------------------------------------------------------------- exercises


def mixed(*shape: int, scale: float = 1.0):
    """A function of two arrays, of which either may be cut off."""
    return lambda rng: {"x": f32(normal(rng, *shape, scale=scale)), "y": f32(normal(rng, *shape))}


def exercise_of(backward, call, *shape: int, scale: float = 1.0) -> Exercise:
    cases = (
        Case("two arrays", mixed(*shape, scale=scale)),
        Case("gradients reach x and y", mixed(*shape, scale=scale), reaches=("x", "y")),
    )
    return Exercise("mix", ("output",), cases, call=call, backward=backward)


def in_torch(*shape: int, scale: float = 1.0) -> Exercise:
    backward = torch_modules.sent_back(torch_modules.a_function)
    return exercise_of(backward, torch_modules.call_with_tensors, *shape, scale=scale)


def in_keras(*shape: int) -> Exercise:
    def call(learner, inputs):
        return learner(**keras_layers.tensors(inputs))

    return exercise_of(keras_layers.sent_back(keras_layers.a_function), call, *shape)


def verdict_on(exercise: Exercise, right, attempt, wrong=(), seed: int = 1):
    def outcomes(code):
        return tuple(try_exercise(exercise, "lab.exercise", code, seed))

    known = {Misconception(each.__name__, "", ""): outcomes(each) for each in wrong}
    inputs = tuple(case.runs("lab.exercise", seed) for case in exercise.cases)
    handed_in = decode(encode(list(outcomes(attempt))), len(exercise.cases))
    return compare(exercise, handed_in, Expected(inputs, outcomes(right), known))


def detail_of(verdict) -> str:
    (failing,) = [check for check in verdict.checks if not check.passed]
    assert failing.title.startswith("gradients reach")
    return failing.detail


# ---------------------------------------------------------------------------------- functions in PyTorch


def mix(x, y):
    """tanh(x)·y + x, normalised over the last axis."""
    z = torch.tanh(x) * y + x
    return z / (z.square().mean(dim=-1, keepdim=True) + 1e-3).sqrt()


def mix_in_double_precision(x, y):
    return mix(x.double(), y.double()).float()


def mix_row_by_row(x, y):
    rows = [mix(*pair) for pair in zip(x.flatten(0, -2), y.flatten(0, -2), strict=True)]
    return torch.stack(rows).view(x.shape)


def mix_with_other_functions(x, y):
    exponentials = torch.exp(2 * x)
    z = torch.addcmul(x, 1 - 2 / (exponentials + 1), y)
    return torch.einsum(
        "...i,...->...i", z, torch.rsqrt(torch.einsum("...i,...i->...", z, z) / z.shape[-1] + 1e-3)
    )


def mix_in_place(x, y):
    z = torch.tanh(x) * y
    z += x
    return z / (z.square().mean(dim=-1, keepdim=True) + 1e-3).sqrt()


STYLES = (mix, mix_in_double_precision, mix_row_by_row, mix_with_other_functions, mix_in_place)


@given(
    style=st.sampled_from(STYLES),
    shape=st.lists(st.integers(1, 6), min_size=2, max_size=4),
    scale=st.sampled_from([0.01, 0.5, 3.0]),
    seed=st.integers(0, 2**31),
)
@settings(max_examples=60)
def test_right_code_in_any_style_passes_whatever_the_sizes(style, shape, scale, seed):
    assert verdict_on(in_torch(*shape, scale=scale), mix, style, seed=seed).correct


def under_no_grad(x, y):
    with torch.no_grad():
        return mix(x, y)


def detached(x, y):
    return mix(x, y).detach()


def as_an_inference(x, y):
    with torch.inference_mode():
        return mix(x, y)


def through_numpy(x, y):
    return torch.from_numpy(np.asarray(mix(x, y)))


def through_detached_numpy(x, y):
    return torch.from_numpy(mix(x, y).detach().numpy())


def through_a_list(x, y):
    return torch.tensor(mix(x, y).tolist())


def with_gradients_switched_off_for_good(x, y):
    torch.set_grad_enabled(False)
    return mix(x, y)


@pytest.mark.parametrize(
    "wrongly",
    [
        under_no_grad,
        detached,
        as_an_inference,
        through_numpy,
        through_detached_numpy,
        through_a_list,
        with_gradients_switched_off_for_good,
    ],
)
def test_what_cuts_off_everything_is_told_and_recognised(wrongly):
    with torch.enable_grad():  # nobody else's switch is left off
        verdict = verdict_on(in_torch(3, 4), mix, wrongly, wrong=[under_no_grad])
    assert detail_of(verdict).startswith(
        "no gradient reaches `x` or `y`: `detach`, `no_grad` or a way through NumPy"
    )
    assert [each.name for each in verdict.recognised] == ["under_no_grad"]


def without_gradients_at_y(x, y):
    return mix(x, y.detach())


def test_one_input_that_is_cut_off_is_named_and_is_another_mistake():
    verdict = verdict_on(in_torch(3, 4), mix, without_gradients_at_y, wrong=[under_no_grad])
    assert detail_of(verdict).startswith("no gradient reaches `y`: ")
    assert not verdict.recognised and not verdict.possible
    assert "no gradient" not in [each.name for each in verdict.symptoms]  # that would only repeat it


TERMS = 4


def cut(off: frozenset[int]):
    """The sum of several terms, of which some are detached: the values are always the same."""

    def add(x, y):
        terms = [torch.tanh(x) * y, x.square() @ y.mT @ x, torch.softmax(x - y, dim=-1), 0.3 * x * y.exp()]
        return sum(term.detach() if number in off else term for number, term in enumerate(terms))

    return add


@given(off=st.frozensets(st.integers(0, TERMS - 1)), seed=st.integers(0, 2**31))
@settings(max_examples=40)
def test_every_part_that_is_cut_off_is_noticed(off, seed):
    verdict = verdict_on(in_torch(3, 4), cut(frozenset()), cut(off), seed=seed)
    assert verdict.correct == (not off)
    if 0 < len(off) < TERMS:
        assert "`gradient at " in detail_of(verdict)
        assert verdict.symptoms[0].sentence.startswith("The values are right, but `gradient at ")


def test_a_gradient_that_is_not_finite_is_wrong_though_the_value_is_right():
    def safe(x, y):
        return torch.where(x > 0, torch.sqrt(x.clamp(min=1e-6)), 0 * x) + y

    def unsafe(x, y):
        return torch.where(x > 0, torch.sqrt(x * (x > 0)), 0 * x) + y

    assert "`gradient at x` contains NaN" in detail_of(verdict_on(in_torch(3, 4), safe, unsafe))


def test_a_tensor_that_is_changed_in_place_before_its_gradient_is_computed_is_told():
    def changed(x, y):
        z = torch.tanh(x)
        return z.mul_(y)

    told = detail_of(verdict_on(in_torch(3, 4), lambda x, y: torch.tanh(x) * y, changed))
    assert told.startswith("no gradient gets back: a tensor that it is computed from was changed in place")


def test_only_so_many_outputs_are_trained_through():
    def pair(x, y):
        return mix(x, y), x * y

    def second_detached(x, y):
        return mix(x, y), (x * y).detach()

    def judged(outputs):
        cases = (
            Case("a pair", mixed(2, 3)),
            Case("gradients reach x and y", mixed(2, 3), reaches=("x", "y")),
        )
        backward = torch_modules.sent_back(torch_modules.a_function, outputs)
        exercise = Exercise(
            "pair", ("one", "other"), cases, call=torch_modules.call_with_tensors, backward=backward
        )
        return verdict_on(exercise, pair, second_detached).correct

    assert judged(1) and not judged(2) and not judged(None)


# ---------------------------------------------------------------------------------- modules in PyTorch


class Network(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(width, 5), nn.Linear(5, width)

    def forward(self, x):
        return self.second(torch.relu(self.first(x)))


class Renamed(Network):
    def forward(self, tokens):
        return self.second(self.first(tokens).clamp(min=0))


class WithoutItsOutput(Network):
    def forward(self, x):
        return super().forward(x).detach()


class WithoutTheFirst(Network):
    def forward(self, x):
        with torch.no_grad():
            hidden = self.first(x)
        return self.second(torch.relu(hidden))


class WithoutOneBias(Network):
    def forward(self, x):
        return nn.functional.linear(torch.relu(self.first(x)), self.second.weight, self.second.bias.detach())


class ThroughData(Network):
    def forward(self, x):
        return nn.functional.linear(torch.relu(self.first(x)), self.second.weight.data, self.second.bias)


class Frozen(Network):
    def __init__(self, width: int) -> None:
        super().__init__(width)
        self.first.bias.requires_grad_(False)


class InTrainingOnly(Network):
    def forward(self, x):
        with torch.set_grad_enabled(not self.training):
            return super().forward(x)


def network_inputs(rng):
    weights = {
        "first.weight": f32(normal(rng, 5, 3)),
        "first.bias": f32(normal(rng, 5)),
        "second.weight": f32(normal(rng, 3, 5)),
        "second.bias": f32(normal(rng, 3)),
    }
    return {"config": {"width": 3}, "weights": weights, "x": f32(normal(rng, 2, 4, 3)), "training": True}


def call_network(learner, inputs):
    with torch.no_grad():
        return torch_modules.a_module("x")(learner, torch_modules.tensors(inputs))[0]


NETWORK = Exercise(
    "Network",
    ("output",),
    (
        Case("a batch", network_inputs),
        Case("gradients reach x and every weight", network_inputs, reaches=("x", "weights")),
    ),
    call=call_network,
    backward=torch_modules.sent_back(torch_modules.a_module("x")),
)


@pytest.mark.parametrize(
    "module, where",
    [
        (WithoutItsOutput, "no gradient reaches `x` or any weight: "),
        (InTrainingOnly, "no gradient reaches `x` or any weight: "),
        (WithoutTheFirst, "no gradient reaches `x` or the weight `first.bias` (and 1 other): "),
        (WithoutOneBias, "no gradient reaches the weight `second.bias`: "),
        (ThroughData, "no gradient reaches the weight `second.weight`: "),
        (Frozen, "`first.bias` cannot be trained: its `requires_grad` is False."),
    ],
)
def test_a_module_is_told_which_weights_cannot_be_trained(module, where):
    assert verdict_on(NETWORK, Network, Renamed).correct
    assert detail_of(verdict_on(NETWORK, Network, module)).startswith(where)


# ---------------------------------------------------------------------------------- Keras


def keras_mix(x, y):
    from keras import ops

    z = ops.tanh(x) * y + x
    return z / ops.sqrt(ops.mean(ops.square(z), axis=-1, keepdims=True) + 1e-3)


def tensorflow_mix(x, y):
    import tensorflow as tf

    z = tf.math.tanh(x) * y + x
    return z * tf.math.rsqrt(tf.reduce_mean(z * z, axis=-1, keepdims=True) + 1e-3)


def compiled_mix(x, y):
    import tensorflow as tf

    return tf.function(tensorflow_mix)(x, y)


def keras_through_numpy(x, y):
    import tensorflow as tf

    return tf.constant(keras_mix(x, y).numpy())


def keras_stopped(x, y):
    from keras import ops

    return ops.stop_gradient(keras_mix(x, y))


def keras_without_y(x, y):
    import tensorflow as tf

    return keras_mix(x, tf.stop_gradient(y))


def test_functions_in_keras_pass_in_any_style_and_are_told_what_is_cut_off():
    exercise = in_keras(3, 4)
    for right in (keras_mix, tensorflow_mix, compiled_mix):
        assert verdict_on(exercise, keras_mix, right).correct
    for wrong in (keras_through_numpy, keras_stopped):
        verdict = verdict_on(exercise, keras_mix, wrong, wrong=[keras_stopped])
        assert detail_of(verdict).startswith(
            "no gradient reaches `x` or `y`: `stop_gradient` or a way through NumPy"
        )
        assert [each.name for each in verdict.recognised] == ["keras_stopped"]
    assert detail_of(verdict_on(exercise, keras_mix, keras_without_y)).startswith("no gradient reaches `y`: ")


def test_layers_in_keras_are_told_which_weights_cannot_be_trained():
    import keras
    from keras import ops

    class Layer(keras.layers.Layer):
        def __init__(self, cut=None, **more):
            super().__init__()
            self.cut = cut
            self.table, self.dense = keras.layers.Embedding(7, 3), keras.layers.Dense(2, **more)

        def call(self, ids):
            found = self.table(ids)
            return self.dense(ops.stop_gradient(found) if self.cut == "table" else found)

    def frozen():
        layer = Layer()
        layer.table.trainable = False
        return layer

    def run(learner, given):
        layer = learner()
        layer(given["ids"])
        layer.table.embeddings.assign(given["table"])
        layer.dense.kernel.assign(given["kernel"])
        return layer(given["ids"]), {"table": layer.table.embeddings, "kernel": layer.dense.kernel}

    def inputs(rng):
        drawn = {"table": f32(normal(rng, 7, 3)), "kernel": f32(normal(rng, 3, 2))}
        return {**drawn, "ids": rng.integers(0, 7, (2, 4), dtype=np.int32)}

    exercise = Exercise(
        "Layer",
        ("output",),
        (Case("a batch", inputs), Case("gradients reach every weight", inputs, reaches=("weights",))),
        call=lambda learner, given: run(learner, keras_layers.tensors(given))[0],
        backward=keras_layers.sent_back(run),
    )
    assert verdict_on(exercise, Layer, lambda: Layer(use_bias=False)).correct  # a bias of zeros, or none
    told = {
        learner: detail_of(verdict_on(exercise, Layer, learner))
        for learner in (frozen, lambda: Layer("table"))
    }
    first, second = told.values()
    assert first == "`table` cannot be trained: its `trainable` is False."
    assert second.startswith("no gradient reaches the weight `table`: ")


# ---------------------------------------------------------------------------------- the parts


@given(
    shape=st.lists(st.integers(1, 5), max_size=3),
    size=st.floats(1e-6, 1e6),
    seed=st.integers(0, 1000),
)
def test_what_is_compared_is_never_small_because_numbers_cancel_out(shape, size, seed):
    gradient = size * np.random.default_rng(seed).standard_normal(shape)
    found = arrived({"x": gradient}, {"w": gradient}, "")
    length = np.linalg.norm(gradient)
    assert length * 0.999 <= found["gradient at x"] <= 3.001 * length
    np.testing.assert_allclose(found["gradient at the weights"], [length])


def test_directions_are_fixed_and_differ():
    np.testing.assert_array_equal(direction((2, 3)), direction((2, 3)))
    assert not np.allclose(direction((2, 3)), direction((2, 3), 1))
    assert np.linalg.norm(direction((2, 3))) == pytest.approx(1)
    assert abs(direction(())) == pytest.approx(1)


def test_outputs_are_taken_from_tuples_lists_and_dicts():
    assert outputs_in(1) == [1]
    assert outputs_in((1, [2, {"a": 3}]), 1) == [1]
    assert outputs_in((1, [2, {"a": 3}])) == [1, 2, 3]


def test_a_case_that_says_what_gradients_reach_needs_a_way_to_send_them():
    with pytest.raises(ValueError, match="'gradients reach x'.*Give it `backward`"):
        Exercise("f", ("y",), (Case("gradients reach x", mixed(2, 2), reaches=("x",)),))


def test_no_gradient_is_an_error_of_its_own():
    with pytest.raises(NoGradient, match="no gradient reaches `x`, `y` or any weight: this cuts it off"):
        arrived({"x": None, "y": None}, {"w": None}, "this")
