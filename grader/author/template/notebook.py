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
# # Lab @NUMBER@: @LOWER@
#
# Say here why anybody would want to know this, and what they will have built at the end.
#
# **After this lab you can**
#
# - double any array of numbers;
# - say what doubling does to a mean.
#
# **You need** NumPy arrays. **Time:** about 20 minutes for you; the computer needs {measured_seconds} seconds for the whole
# notebook on two cores.
#
# | # | exercise | difficulty | importance | minutes | points |
# |---|---|---|---|---|---|
# | 1 | `double` | ●○○○○ | ●●●○○ | 3 | 2 |

# %%
import numpy as np

# %% [markdown]
# ## 1. Twice as much
#
# A worked example with real numbers: 5 doubled is 10, and the row 1, 2, 3 doubled is 2, 4, 6. A picture shows it:

# %% tags=["skip-grading"]
from matplotlib.figure import Figure

from course_utils.plots import show_figure

figure = Figure(figsize=(4, 2), layout="constrained")
figure.subplots().plot([1, 2, 3], [2, 4, 6], "o-")
show_figure(figure, alt="A straight line through the points (1, 2), (2, 4) and (3, 6).")

# %% [markdown]
# **Exercise 1.** Write `double`.

# %% nbgrader={"grade": false, "grade_id": "double", "locked": false, "schema_version": 3, "solution": true, "task": false}
def double(x):
    """Doubles numbers.

    Args:
        x: (...) array.

    Returns:
        (...) array: twice each number.
    """
    ### BEGIN SOLUTION
    twice_as_much = np.multiply(x, 2)
    ### END SOLUTION
    return twice_as_much


# %% [markdown]
# <details><summary>Hint 1: how do I do it for all numbers at once?</summary>
#
# NumPy computes with whole arrays: what you write for one number works for a table of them.
#
# </details>

# %% nbgrader={"grade": true, "grade_id": "check_double", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
from course_utils import check

check("@SLUG@.double")

# %% [markdown]
# ## Common mistakes, by their symptom
#
# | what you see | likely cause |
# |---|---|
# | right for 2 and for no other number | two was added |

# %% [markdown]
# ## Review quiz

# %% tags=["skip-grading"]
from course_utils import quiz

quiz("@SLUG@")

# %% [markdown]
# ## Going further
#
# - What does doubling do to the variance?
#
# Hand the lab in: press **Validate** above first.
