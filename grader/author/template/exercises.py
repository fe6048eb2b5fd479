"""Lab @NUMBER@: what is checked. Inputs are drawn from the generator; all sizes of a case differ."""

from __future__ import annotations

import numpy as np

from course_utils.cases.properties import normal
from course_utils.checking.exercise import Case, Exercise, Inputs, Outputs


def halving_gives_the_input_back(inputs: Inputs, outputs: Outputs) -> np.ndarray:
    """Half of the result is the input again."""
    return np.isclose(outputs["doubled"] / 2, inputs["x"])


double = Exercise(
    name="double",
    returns=("doubled",),
    cases=(
        Case("a row of 3 numbers", lambda rng: {"x": normal(rng, 3)}),
        Case("a table of shape (2, 5)", lambda rng: {"x": normal(rng, 2, 5)}),
    ),
    properties=(halving_gives_the_input_back,),
)
