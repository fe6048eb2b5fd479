"""One sentence about a wrong output."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Symptom:
    """Something that stands out in a wrong output.

    Attributes:
        name: what it is called in the code.
        sentence: what is said of it, in Markdown.
        of_size: whether it reveals how large the expected values are.
        vague: whether it says less than almost any other.
    """

    name: str
    sentence: str
    of_size: bool = False
    vague: bool = False
