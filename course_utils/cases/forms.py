"""Of what form results must be, where more than their numbers matters to the code that goes on with them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np


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
            raise _not_a(kind, type(found).__name__)
    for part in parts:
        if isinstance(part, list) and not all(isinstance(each, kind) for each in part):
            raise _not_a(kind, "list")  # and not what is in it
        only(kind, part)
    return found


def no_floats(found: Any, expected: str) -> Any:
    """What a learner's code returned, if none of the numbers in its tuple is a float.

    Raises:
        TypeError: one is; the message ends with what is expected.
    """
    for number in found if isinstance(found, tuple | list) else ():
        if isinstance(number, float | np.floating):
            raise TypeError(f"it returned {number!r}, a float; expected {expected}.")
    return found


def plain(found: Any) -> Any:
    """The same in lists, tuples and numbers of Python's, so that a message shows ``[(0, 4)]`` and not ``[(np.int64(0), np.int64(4))]``."""
    if isinstance(found, list | tuple):
        parts = [plain(part) for part in found]
        return parts if isinstance(found, list) else tuple(parts)
    return found.tolist() if hasattr(found, "tolist") else found


def _not_a(kind: type, name: str) -> TypeError:
    article = "an" if name[0] in "aeiou" else "a"
    package = kind.__module__.partition(".")[0]
    return TypeError(f"it returned {article} {name} where a {package}.{kind.__name__} is expected.")
