"""Real text for lab 08's summaries: what NumPy's documentation says about ten functions, and its own line about each.

Both are read from the installed package (BSD licence); nothing of it is kept here.
"""

from __future__ import annotations

import inspect
import re
from typing import NamedTuple

FUNCTIONS = (
    "allclose", "bincount", "count_nonzero", "cov", "einsum", "errstate", "fmax", "logaddexp", "unwrap", "vectorize",
)  # fmt: skip
MOST_WORDS = 70


class Description(NamedTuple):
    """What a function is called, its description (at most 70 words), and the line above it."""

    name: str
    text: str
    summary: str


def load_descriptions() -> list[Description]:
    """Ten functions of NumPy."""
    import numpy

    return [_described(name, inspect.getdoc(getattr(numpy, name)) or "") for name in FUNCTIONS]


def _described(name: str, documentation: str) -> Description:
    parts = [" ".join(part.split()) for part in documentation.replace("`", "").split("\n\n")]
    if parts[0].startswith(f"{name}("):
        del parts[0]  # the signature
    text: list[str] = []
    for part in parts[1:]:
        if re.match(r"[A-Z][a-z ]+ -{4,}", part):  # the first heading: Parameters
            break
        if not part.startswith("..") and ">>>" not in part:
            text += part.split()
    return Description(name, " ".join(text[:MOST_WORDS]), parts[0])
