"""A learner's code, tried where they sit at the notebook but cannot answer it."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from course_utils.checking.exercise import Exercise
from course_utils.checking.outcome import Outcome, try_exercise


def _nobody_answers(*_: object) -> None:
    raise RuntimeError(
        "input() waits for somebody to type, and a check cannot. Use what the function is given."
    )


def _nobody_leaves(*_: object) -> None:
    raise RuntimeError("exit() ends the whole notebook. To end a function, use return.")


@contextlib.contextmanager
def unattended(namespace: dict[str, Any]) -> Iterator[None]:
    """Meanwhile ``input`` and ``exit`` raise: a question would leave the notebook waiting after the check, too, and IPython's own ``exit``
    raises nothing, but ends the kernel later.

    Args:
        namespace: the globals of the notebook, in which its code looks these names up.
    """
    instead = {"input": _nobody_answers, "exit": _nobody_leaves, "quit": _nobody_leaves}
    before = {name: namespace[name] for name in instead if name in namespace}
    own = {name for name, value in before.items() if not type(value).__module__.startswith("IPython")}
    namespace.update({name: value for name, value in instead.items() if name not in own})
    try:
        yield
    finally:
        for name in instead:
            if namespace.get(name) is instead[name]:
                del namespace[name]
        namespace.update({name: value for name, value in before.items() if name not in own})


def try_in_notebook(
    exercise: Exercise, key: str, attempt: Any, seed: int, namespace: dict[str, Any]
) -> list[Outcome]:
    """What an attempt does on the exercise's cases, :func:`unattended`."""
    with unattended(namespace):
        return try_exercise(exercise, key, attempt, seed, namespace)
