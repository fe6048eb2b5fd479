"""What an exercise promises if something is trained through it: that gradients arrive, and that they are the right ones.

A value alone does not show it: under ``no_grad`` it is the same, and nothing can be trained any more. So a case may say what
gradients must reach, and an exercise how they are sent back (``torch_modules.sent_back``, ``keras_layers.sent_back``). A check
compares what arrives with the reference's: of each input two numbers in one, of each weight its length. Nothing is compared element by element, so that it does not matter
how a layer lays out its weights, and rounding stays far below a check's tolerance.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from course_utils.checking.exercise import NoGradient

WEIGHTS = "weights"
"""Among what gradients must reach, this stands for every weight of a module or layer."""


def direction(shape: Sequence[int], number: int = 0) -> np.ndarray:
    """An array of this shape whose length, as a vector, is 1: always the same one, and no simple one. There is one for every number."""
    drawn = np.random.default_rng([number, *shape]).standard_normal(tuple(shape))
    return drawn / max(float(np.linalg.norm(drawn)), 1e-12)


def outputs_in(found: Any, count: int | None = None) -> list[Any]:
    """What was returned, one after the other: tuples, lists and dicts are opened.

    Args:
        count: so many of what was returned, from the first on; None: all of it.
    """
    if not isinstance(found, tuple | list | Mapping):
        return [found]
    parts = list(found.values() if isinstance(found, Mapping) else found)[:count]
    return list(_opened(parts))


def _opened(found: Any) -> Iterator[Any]:
    if isinstance(found, tuple | list | Mapping):
        for part in found.values() if isinstance(found, Mapping) else found:
            yield from _opened(part)
    else:
        yield found


def arrived(
    at_inputs: Mapping[str, np.ndarray | None], at_weights: Mapping[str, np.ndarray | None], cut_by: str
) -> dict[str, np.ndarray]:
    """What a check compares.

    Of an input it is twice the length of the gradient plus its component along a fixed direction. Neither is right if a way
    from the input to the output is cut off. Large numbers that cancel out cannot make their sum small. Of weights it is the length.

    Args:
        at_inputs: input -> its gradient; None if there is none at all.
        at_weights: weight -> its gradient, likewise.
        cut_by: what cuts gradients off in this framework.

    Raises:
        NoGradient: somewhere there is none.
    """
    missing = [name for name, gradient in at_inputs.items() if gradient is None]
    lost = sorted(name for name, gradient in at_weights.items() if gradient is None)
    if missing or lost:
        raise no_gradient(missing, lost, len(at_weights), cut_by)
    found = {
        f"gradient at {name}": np.array(
            2 * np.linalg.norm(gradient) + (gradient * direction(gradient.shape)).sum()
        )
        for name, gradient in at_inputs.items()
    }
    if at_weights:
        lengths = [np.linalg.norm(at_weights[name]) for name in sorted(at_weights)]
        found["gradient at the weights"] = np.array(lengths)
    return found


def no_gradient(inputs: Sequence[str], weights: Sequence[str], of: int, cut_by: str) -> NoGradient:
    """The error that says where no gradient arrives: at these inputs, at these weights ``of`` so many, and what cuts it off."""
    parts = [f"`{name}`" for name in inputs]
    if weights and len(weights) == of:
        parts.append("any weight")
    elif weights:
        others = len(weights) - 1
        more = f" (and {others} other{'s' * (others > 1)})" if others else ""
        parts.append(f"the weight `{weights[0]}`{more}")
    where = f"{', '.join(parts[:-1])} or {parts[-1]}" if len(parts) > 1 else parts[0]
    return NoGradient(
        f"no gradient reaches {where}: {cut_by} cuts it off, or the result does not depend on it. "
        "So nothing before it could be trained."
    )
