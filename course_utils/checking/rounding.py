"""The one rule for "the same values": what may differ where another processor, number of threads or library has computed them.

It is a check's own tolerance, so nothing counts as other that no check can tell. Only numbers near zero get more, because what
is left of larger ones that cancel out has the errors of these. `grader build` uses it for all that it compares.
"""

from __future__ import annotations

import numpy as np

from course_utils.checking.exercise import Exercise
from course_utils.checking.outcome import Outcome

_SMALLEST_SHARE = 0.1
"""So many of an array's numbers may be smaller than its scale. Not the largest number, nor the mean: one -1e9 of a mask would excuse all others."""


def same_array(exercise: Exercise, one: np.ndarray, other: np.ndarray) -> bool:
    """Whether two arrays are the same but for rounding.

    They have the same shape and kind of numbers. Whole numbers and booleans are equal: where rounding decides between two of them, such as
    the likelier of two equal tokens, the inputs leave too much to chance. A float differs from the other by at most
    ``atol + rtol * size``, with the tolerances of the exercise. Its size is its own, or the array's scale if that is larger: what nine
    in ten of the numbers other than zero reach. NaN and infinities stand at the same places.
    """
    if one.shape != other.shape or one.dtype.kind != other.dtype.kind:
        return False
    if one.dtype.kind != "f":
        return np.array_equal(one, other)
    finite = np.isfinite(other)
    if not np.array_equal(one[~finite], other[~finite], equal_nan=True) or not np.isfinite(one[finite]).all():
        return False
    got, wanted = one[finite].astype(float), other[finite].astype(float)
    sizes = np.abs(wanted)
    scale = np.quantile(sizes[sizes > 0], _SMALLEST_SHARE) if sizes.any() else 0.0
    with np.errstate(over="ignore"):
        return bool((np.abs(got - wanted) <= exercise.atol + exercise.rtol * np.maximum(sizes, scale)).all())


def same_outcome(exercise: Exercise, one: Outcome, other: Outcome) -> bool:
    """Whether two outcomes are the same but for rounding: values, the problem, and which inputs were changed."""
    return (
        one.problem == other.problem
        and one.changed_inputs == other.changed_inputs
        and [[*run] for run in one.runs] == [[*run] for run in other.runs]
        and all(
            same_array(exercise, run[name], beside[name])
            for run, beside in zip(one.runs, other.runs, strict=True)
            for name in run
        )
    )
