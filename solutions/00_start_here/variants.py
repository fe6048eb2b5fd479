"""Correct versions of lab 00's exercise in other styles, as different learners would write them."""

# Each one is handed in alone, in place of the reference: what it needs besides np is imported inside.

import numpy as np

from grader.catalogue import variant


@variant("softmax")
def softmax_subtracts_the_maximum(scores, axis=-1):
    """Subtracts the maximum and keeps the summed axis."""
    shifted = scores - scores.max(axis=axis, keepdims=True)
    exponentials = np.exp(shifted)
    return exponentials / exponentials.sum(axis=axis, keepdims=True)


@variant("softmax")
def softmax_by_loops(scores, axis=-1):
    """Pure Python loops over rows and numbers, with math.exp."""
    import math

    last = np.moveaxis(np.asarray(scores), axis, -1)
    rows = last.reshape(-1, last.shape[-1]).tolist()
    result = []
    for row in rows:
        biggest = row[0]
        for number in row:
            if number > biggest:
                biggest = number
        total = 0.0
        new_row = []
        for number in row:
            e = math.exp(number - biggest)
            new_row.append(e)
            total += e
        for i in range(len(new_row)):
            new_row[i] = new_row[i] / total
        result.append(new_row)
    return np.moveaxis(np.array(result).reshape(last.shape), -1, axis)


@variant("softmax")
def softmax_in_logarithms(scores, axis=-1):
    """Works in logarithms: exp(score - log of the sum of exponentials)."""
    top = np.max(scores, axis=axis, keepdims=True)
    log_total = top + np.log(np.sum(np.exp(scores - top), axis=axis, keepdims=True))
    return np.exp(scores - log_total)


@variant("softmax")
def softmax_by_logaddexp(scores, axis=-1):
    """Lets np.logaddexp.reduce find the normaliser, so that no maximum is written down."""
    return np.exp(scores - np.expand_dims(np.logaddexp.reduce(scores, axis=axis), axis))


@variant("softmax")
def softmax_by_pairwise_differences(scores, axis=-1):
    """Uses 1 / sum_j exp(s_j - s_i): no maximum, only differences of scores."""
    s = np.moveaxis(scores, axis, -1)
    difference = s[..., None, :] - s[..., :, None]
    with np.errstate(over="ignore"):
        probabilities = 1 / np.exp(difference).sum(axis=-1)
    return np.moveaxis(probabilities, -1, axis)


@variant("softmax")
def softmax_along_each_line(scores, axis=-1):
    """Writes the softmax of a vector and applies it with np.apply_along_axis."""

    def of_vector(vector):
        e = np.exp(vector - np.amax(vector))
        return e / np.sum(e)

    return np.apply_along_axis(of_vector, axis, scores)


@variant("softmax")
def softmax_by_recursion(scores, axis=-1):
    """Recurses over the leading axes until a single row is left."""

    def descend(part):
        if part.ndim == 1:
            e = np.exp(part - part.max())
            return e / e.sum()
        return np.stack([descend(smaller) for smaller in part])

    return np.swapaxes(descend(np.swapaxes(scores, axis, -1)), axis, -1)


@variant("softmax")
def softmax_vectorized_with_signature(scores, axis=-1):
    """Uses np.vectorize with a signature on the axis moved to the end."""

    def one_row(row):
        powers = np.exp(row - max(row))
        return powers / sum(powers)

    every_row = np.vectorize(one_row, signature="(n)->(n)")
    return np.moveaxis(every_row(np.moveaxis(scores, axis, -1)), -1, axis)


@variant("softmax")
def softmax_by_einsum(scores, axis=-1):
    """Sums with np.einsum after moving the axis to the front."""
    front = np.moveaxis(scores, axis, 0)
    e = np.exp(front - front.max(axis=0))
    return np.moveaxis(np.einsum("i...,...->i...", e, 1 / np.einsum("i...->...", e)), 0, axis)


@variant("softmax")
def softmax_in_float32(scores, axis=-1):
    """Computes in float32 and returns float32."""
    scores = np.array(scores, dtype=np.float32)
    scores -= scores.max(axis=axis, keepdims=True)  # in place, but on its own copy
    np.exp(scores, out=scores)
    scores /= scores.sum(axis=axis, keepdims=True)
    return scores


@variant("softmax")
def softmax_with_powers_of_two(scores, axis=-1):
    """Takes powers of 2 instead of e, of scores divided by log(2)."""
    in_bits = scores / np.log(2)
    powers = np.exp2(in_bits - np.max(in_bits, axis, keepdims=True))
    return np.divide(powers, np.add.reduce(powers, axis, keepdims=True))


@variant("softmax")
def softmax_in_decimals(scores, axis=-1):
    """Uses Python's Decimal numbers, which cannot overflow here, so that nothing is subtracted."""
    from decimal import Decimal

    last = np.moveaxis(scores, axis, -1)
    result = np.empty(last.shape)
    for place in np.ndindex(*last.shape[:-1]):
        exact = [Decimal(float(number)).exp() for number in last[place]]
        result[place] = [float(number / sum(exact)) for number in exact]
    return np.moveaxis(result, -1, axis)


@variant("softmax")
def softmax_in_one_pass(scores, axis=-1):
    """Goes through the scores once, with a running maximum and a running total."""
    slices = np.moveaxis(scores, axis, 0)
    running_max = slices[0].copy()
    running_total = np.ones_like(running_max)
    for part in slices[1:]:
        new_max = np.maximum(running_max, part)
        running_total = running_total * np.exp(running_max - new_max) + np.exp(part - new_max)
        running_max = new_max
    return np.stack([np.exp(part - running_max) / running_total for part in slices], axis=axis)


@variant("softmax")
def softmax_that_talks(scores, axis=-1):
    """Prints every step and issues warnings on the way."""
    import warnings

    print("scores:", scores)
    print("shape is", np.shape(scores), "axis is", axis)
    naive = np.exp(scores) / np.exp(scores).sum(axis=axis, keepdims=True)  # just to look at it
    if not np.isfinite(naive).all():
        warnings.warn("the naive softmax overflows here", RuntimeWarning, stacklevel=2)
    warnings.warn("TODO: remove the prints", UserWarning, stacklevel=2)
    e = np.exp(scores - np.max(scores, axis=axis, keepdims=True))
    print("exponentials:\n", e)
    p = e / np.sum(e, axis=axis, keepdims=True)
    print("they sum to", np.sum(p, axis=axis))
    return p


@variant("softmax")
def softmax_with_strange_names(scores, axis=-1):
    """Has local names that say nothing, or shadow builtins."""
    banana = scores
    max = banana.max(axis, keepdims=True)
    _ = np.exp(banana - max)
    sum = _.sum(axis, keepdims=True)
    softmax_ = Ergebnis = _ / sum
    assert softmax_ is Ergebnis
    return Ergebnis


@variant("softmax")
def softmax_by_an_inner_class(scores, axis=-1):
    """Defines a class inside, makes an object of it and calls it."""

    class Softmax:
        def __init__(self, dim):
            self.dim = dim

        def stable(self, z):
            return z - np.max(z, axis=self.dim, keepdims=True)

        def __call__(self, z):
            e = np.exp(self.stable(z))
            return e / np.sum(e, axis=self.dim, keepdims=True)

    return Softmax(dim=axis)(scores)


@variant("softmax")
def softmax_in_torch(scores, axis=-1):
    """Computes with torch tensors and returns one."""
    import torch

    scores = torch.tensor(scores)
    exponentials = torch.exp(scores - scores.amax(dim=axis, keepdim=True))
    return exponentials / exponentials.sum(dim=axis, keepdim=True)


@variant("softmax")
def softmax_in_torch_in_logarithms(scores, axis=-1):
    """Subtracts the logarithm of the sum, in torch and float32, with gradients being recorded."""
    import torch

    scores = torch.tensor(scores, dtype=torch.float32, requires_grad=True)
    scores = scores - scores.amax(axis, keepdim=True)
    return (scores - scores.exp().sum(axis, keepdim=True).log()).exp()
