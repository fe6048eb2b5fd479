# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
#       format_version: '1.3'
#   kernelspec:
#     display_name: Python 3 (ipykernel)
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Lab 00: start here

# %%
import numpy as np

# %% nbgrader={"grade": false, "grade_id": "softmax", "locked": false, "schema_version": 3, "solution": true, "task": false}
def softmax(scores: np.ndarray, axis: int = -1) -> np.ndarray:
    """Turns scores into probabilities along one axis.

    Args:
        scores: array of any shape.
        axis: the axis along which the results sum to 1.

    Returns:
        Array of the same shape: exp(score), divided by the sum of all exp(score) along ``axis``.
    """
    ### BEGIN SOLUTION
    shifted = scores - scores.max(axis=axis, keepdims=True)
    exponentials = np.exp(shifted)
    return exponentials / exponentials.sum(axis=axis, keepdims=True)
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "check_softmax", "locked": true, "points": 5, "schema_version": 3, "solution": false, "task": false}
from course_utils import check

check("start_here.softmax")
