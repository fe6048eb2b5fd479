"""Real text for labs 07 and 13: the first sentences of docstrings, and the library that each of them comes from.

They are in documentation.json, part -> library -> module -> sentences, with the libraries' names masked ("___").
scripts/collect_documentation.py wrote it; docs/data-documentation.md says what is taken, and NOTICE under which licences.
"""

from __future__ import annotations

import functools
import hashlib
import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

FILE = Path(__file__).with_name("documentation.json")

ASKED = Path(__file__).with_name("documentation_asked.json")
"""What pretrained models said about lab 07's validation texts; docs/data-documentation.md says how they were asked."""

_WORD = re.compile(r"_{3,}|\w+(?:'\w+)?")


class Documented(NamedTuple):
    """A sentence, the library whose documentation it opens, and the module in which it stands."""

    text: str
    library: str
    module: str


@functools.cache
def load_documentation(first_part: bool = False) -> tuple[Documented, ...]:
    """The sentences by library; of each, those of the first part before the others, by module.

    Args:
        first_part: only these; lab 13 draws its default set from them. No module is in both parts.
    """
    data = json.loads(FILE.read_text(encoding="utf-8"))
    parts = ("first",) if first_part else ("first", "more")
    return tuple(
        Documented(text, library, module)
        for library in data["first"]
        for part in parts
        for module, texts in data[part][library].items()
        for text in texts
    )


class Asked(NamedTuple):
    """The libraries that a pretrained model named, in the order of the texts, its seconds, and its number of weights."""

    said: list[str]
    seconds: float
    weights: int


def load_asked(texts: Sequence[str]) -> dict[str, Asked]:
    """Model -> what it said about lab 07's validation texts, and what that took.

    Args:
        texts: these texts.

    Raises:
        ValueError: the models were asked about other texts.
    """
    kept = json.loads(ASKED.read_text("utf-8"))
    if kept["about"] != (found := fingerprint(texts)):
        raise ValueError(
            f"The pretrained models were asked about other texts ({kept['about']}, not {found})."
        )
    return {name: Asked(**answers) for name, answers in kept["models"].items()}


def fingerprint(texts: Sequence[str]) -> str:
    """The first twelve digits of the texts' SHA-256."""
    return hashlib.sha256("\n".join(texts).encode()).hexdigest()[:12]


def plain_words(text: str) -> str:
    """A text in small letters, its words separated by single spaces, without punctuation."""
    return " ".join(_WORD.findall(text.lower()))
