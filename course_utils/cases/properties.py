"""Properties and input makers that several labs share. A property's docstring is what learners read."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from course_utils.checking.exercise import Inputs, Outputs


def normal(rng: np.random.Generator, *shape: int, scale: float = 1.0) -> np.ndarray:
    """Standard normal numbers of the given shape, times ``scale``."""
    return rng.standard_normal(shape) * scale


def f32(array: np.ndarray) -> np.ndarray:
    """Single precision, as PyTorch and Keras compute."""
    return np.asarray(array, dtype=np.float32)


def random_mask(rng: np.random.Generator, *shape: int, allowed: float = 0.6) -> np.ndarray:
    """A boolean mask (True = may attend) in which every row allows at least one key and blocks at least one."""
    mask = rng.random(shape) < allowed
    order = rng.permuted(np.broadcast_to(np.arange(shape[-1]), shape), axis=-1)
    np.put_along_axis(mask, order[..., :1], True, axis=-1)
    np.put_along_axis(mask, order[..., 1:2], False, axis=-1)
    return mask


def together(
    *makers: Callable[[np.random.Generator], Inputs],
) -> Callable[[np.random.Generator], list[Inputs]]:
    """Inputs of one case that is right only if the run of each maker is.

    For what a constant would get right: beside it stands a run in which that constant is wrong.
    """
    return lambda rng: [make(rng) for make in makers]


def weights_are_probabilities(inputs: Inputs, outputs: Outputs) -> np.ndarray | None:
    """Each row of the weights is a probability distribution: nothing negative, sum 1 (0 for a fully blocked row)."""
    weights = outputs["weights"]
    totals = weights.sum(axis=-1)
    mask = inputs.get("mask")
    wanted = 1.0 if mask is None else np.broadcast_to(mask, weights.shape).any(axis=-1)
    return np.isclose(totals, wanted, atol=1e-4) & (weights >= 0).all(axis=-1)


def blocked_weights_are_zero(inputs: Inputs, outputs: Outputs) -> np.ndarray | None:
    """A blocked weight is exactly 0."""
    mask = inputs.get("mask")
    if mask is None:
        return None
    weights = outputs["weights"]
    return np.where(np.broadcast_to(mask, weights.shape), True, weights == 0)


def output_is_finite(inputs: Inputs, outputs: Outputs) -> np.ndarray:
    """Every number is finite, even for very large scores."""
    return np.array([np.isfinite(array).all() for array in outputs.values()])


def at_words(array: Any, real: np.ndarray) -> np.ndarray:
    """An output with zeros where padding stands: what comes out there is never used, and may be anything.

    Args:
        array: (batch, len, ...) or (batch, heads, len, ...): the words are on the last axis but one.
        real: (batch, len), True at the words.
    """
    array = np.array(array)
    if array.ndim < 3 or array.shape[0] != real.shape[0] or array.shape[-2] != real.shape[1]:
        return array  # of a wrong shape, which is said elsewhere
    words = real.reshape(real.shape[0], *[1] * (array.ndim - 3), real.shape[1], 1)
    return np.where(words, array, array.dtype.type(0))


def trained_in_training_mode(inputs: Inputs, outputs: Outputs) -> np.ndarray:
    """The model is in training mode while it is trained, whatever mode it was in before."""
    return outputs["in training mode"]


def weights_have_moved(inputs: Inputs, outputs: Outputs) -> np.ndarray:
    """Every kind of weight has changed."""
    return np.array(
        [not np.allclose(outputs[f"weight {name}"], old) for name, old in inputs["weights"].items()]
    )
