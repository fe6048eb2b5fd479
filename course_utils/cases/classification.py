"""What the checks of classification share: invented words, and a split by group."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from course_utils.checking.exercise import Inputs, Outputs, call_function

_LETTERS = np.array(list("abdefghiklmnoprstuvy"))


def new_words(rng: np.random.Generator, count: int) -> list[str]:
    """Different words of two to eight letters."""
    found: dict[str, None] = {}
    while len(found) < count:
        found["".join(rng.choice(_LETTERS, int(rng.integers(2, 9))))] = None
    return list(found)


def no_group_on_both_sides(inputs: Inputs, outputs: Outputs) -> np.ndarray:
    """No group is on both sides."""
    groups, test = np.array(inputs["groups"]), outputs["in_test"].astype(bool)
    return np.array([len(set(test[groups == group])) == 1 for group in sorted(set(inputs["groups"]))])


def call_split(learner: Callable, inputs: Inputs) -> Any:
    """What says of each text whether it is in the test part, as an array whatever it is kept in."""
    found = call_function(learner, inputs)
    return None if found is None else np.asarray(found)
