"""Real text for labs 07 and 13: the first sentences of docstrings, and the library that each of them comes from.

They are in documentation.json, part -> library -> module -> sentences, with the libraries' names masked ("___").
scripts/collect_documentation.py wrote it; docs/data-documentation.md says what is taken, and NOTICE under which licences.
"""

from __future__ import annotations

import functools
import json
import re
from pathlib import Path
from typing import NamedTuple

FILE = Path(__file__).with_name("documentation.json")

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


def plain_words(text: str) -> str:
    """A text in small letters, its words separated by single spaces, without punctuation."""
    return " ".join(_WORD.findall(text.lower()))
