"""The review questions at the end of a lab."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Option:
    """One answer, and why it is right or wrong."""

    text: str
    right: bool
    why: str


@dataclass(frozen=True)
class Question:
    """A question with its options; exactly one is right."""

    text: str
    options: tuple[Option, ...]
