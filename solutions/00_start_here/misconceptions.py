"""Wrong ways to write lab 00's softmax. Each is tried on the grader: it must lose points as itself."""

import numpy as np

from grader.catalogue import misconception


@misconception(
    "softmax",
    "Ask along which axis the numbers are alternatives to each other: for `axis=-1` each *row* of a table is one choice. Add up your result along both axes and see which sums are 1.",
)
def wrong_axis(scores, axis=-1):
    """The results sum to 1 along the first axis, whatever `axis` says."""
    exponentials = np.exp(scores - np.max(scores, axis=0, keepdims=True))
    return exponentials / np.sum(exponentials, axis=0, keepdims=True)


@misconception(
    "softmax",
    "A sum without an axis runs over *all* numbers of the array, so the whole table is one distribution. "
    "Here every row (or whatever `axis` names) should be a distribution of its own.",
)
def no_axis(scores, axis=-1):
    """All numbers of the array sum to 1 together, instead of each row."""
    exponentials = np.exp(scores - np.max(scores))
    return exponentials / np.sum(exponentials)


@misconception(
    "softmax",
    "Your maximum belongs to each row (or whatever `axis` names), but the sum runs over *all* numbers of the array. "
    "What must the numbers of one row be divided by, so that this row sums to 1?",
)
def sum_over_all(scores, axis=-1):
    """The sum is taken over all numbers of the array, instead of each row."""
    exponentials = np.exp(scores - np.max(scores, axis=axis, keepdims=True))
    return exponentials / np.sum(exponentials)


@misconception(
    "softmax",
    "Whatever `axis` says, the last axis of your result is the one that sums to 1. Which steps run along an axis, "
    "and which argument does each of them need?",
)
def axis_ignored(scores, axis=-1):
    """The softmax always runs over the last axis, whatever `axis` says."""
    exponentials = np.exp(scores - np.max(scores, axis=-1, keepdims=True))
    return exponentials / np.sum(exponentials, axis=-1, keepdims=True)


@misconception(
    "softmax",
    "`axis=1` is the last axis only in a table. A row has no axis 1, and in a batch of shape (2, 3, 5) it is the middle one. Use the `axis` you are given; -1 always means the last.",
)
def axis_fixed_to_1(scores, axis=-1):
    """The softmax always runs over axis 1, whatever `axis` says."""
    exponentials = np.exp(scores - np.max(scores, axis=1, keepdims=True))
    return exponentials / np.sum(exponentials, axis=1, keepdims=True)


@misconception(
    "softmax",
    "The largest float64 is about exp(709), so exp(1000) overflows to infinity and inf/inf is NaN; "
    "exp(-1000) is 0 and 0/0 is NaN too. Adding the same number to all scores changes no softmax: which "
    "number must you add to make the largest score 0?",
)
def no_max_subtraction(scores, axis=-1):
    """For large scores an exponential overflows or becomes 0."""
    exponentials = np.exp(scores)
    return exponentials / np.sum(exponentials, axis=axis, keepdims=True)


@misconception(
    "softmax",
    "A sum or a maximum along an axis removes that axis: (3, 4) becomes (3,), which no longer lines up with (3, 4). "
    "NumPy can keep the axis with length 1, so that the shapes fit again: look at the `keepdims` argument.",
)
def no_keepdims(scores, axis=-1):
    """A sum, a maximum or something similar has lost its axis, so it does not line up with the scores."""
    exponentials = np.exp(scores - np.max(scores, axis=axis, keepdims=True))
    return exponentials / np.sum(exponentials, axis=axis)


@misconception(
    "softmax",
    "A Python loop over `scores` sees numbers only if the array has one axis; in a table it sees whole rows. "
    "Let NumPy work on all axes at once: exp() already does, and sums and maxima take an `axis`.",
)
def one_dimensional_only(scores, axis=-1):
    """It works for a single row only."""
    if scores.ndim > 1:
        raise ValueError("expected a single row")
    exponentials = np.exp(scores - np.max(scores))
    return exponentials / np.sum(exponentials)


@misconception(
    "softmax",
    "Dividing by the sum gives shares that sum to 1, but a negative score gets a negative share, and adding 100 to all scores changes every share. Make all numbers positive first, in a way that turns differences of scores into ratios: which function does that?",
)
def no_exponential(scores, axis=-1):
    """The scores are divided by their sum, without exp()."""
    return scores / np.sum(scores, axis=axis, keepdims=True)


@misconception(
    "softmax",
    "exp() makes every number positive, but it does not make them sum to 1. Print the sum of your result along `axis`: "
    "what must each exponential be divided by?",
)
def no_division(scores, axis=-1):
    """The results are the exponentials themselves, not their shares of the sum."""
    return np.exp(scores - np.max(scores, axis=axis, keepdims=True))


@misconception("softmax",
     "In a row far below the maximum that you subtract, exp is taken of very negative numbers and gives only "
     "zeros, and 0/0 is NaN. If every row is a choice of its own, how many maxima does a table need?")
def one_maximum_for_all(scores, axis=-1):
    """A row is shifted by a maximum that is not its own, and becomes 0 / 0 if it lies far below."""
    exponentials = np.exp(scores - np.max(scores))
    return exponentials / np.sum(exponentials, axis=axis, keepdims=True)


@misconception(
    "softmax",
    "Your shares are positive and sum to 1, but they are more alike than they should be. Two scores that differ by 1 should get shares that "
    "differ by a factor of e ≈ 2.718. By what factor do yours differ?",
)
def base_two(scores, axis=-1):
    """Powers of 2 are taken instead of powers of e."""
    powers = np.exp2(scores - np.max(scores, axis=axis, keepdims=True))
    return powers / np.sum(powers, axis=axis, keepdims=True)


@misconception(
    "softmax",
    "You return the logarithms of the shares: they are negative, and their exponentials sum to 1. PyTorch calls that log_softmax; losses need "
    "it. Here the shares themselves are asked for.",
)
def log_softmax(scores, axis=-1):
    """Logarithms of the shares are returned."""
    shifted = scores - np.max(scores, axis=axis, keepdims=True)
    return shifted - np.log(np.sum(np.exp(shifted), axis=axis, keepdims=True))
