"""Of what form results must be, where more than their numbers matters to the code that goes on with them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def only(kind: type, found: Any) -> Any:
    """What a learner's code returned, if all of it is of one kind, such as ``torch.Tensor``; lists, tuples and dicts are looked into.

    A number or an array with the right value would do for a comparison, but no gradient goes through it, and no layer takes it.

    Raises:
        TypeError: something else is in it. None is let through: the report has its own words for it.
    """
    if isinstance(found, Mapping):
        parts = found.values()
    elif isinstance(found, tuple | list):
        parts = found
    else:
        parts = ()
        if found is not None and not isinstance(found, kind):
            package = kind.__module__.partition(".")[0]
            raise TypeError(
                f"it returned a {type(found).__name__} where a {package}.{kind.__name__} is expected."
            )
    for part in parts:
        only(kind, part)
    return found
