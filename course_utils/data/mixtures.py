"""What is known of models that share their weights between tasks: beside a specialist for each, at three temperatures, and without one task.

docs/data-text-to-text.md says how it was measured.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import NamedTuple

FILE = Path(__file__).with_name("mixtures.json")
SPECIALISTS = Path(__file__).with_name("specialists.json")
COMPANY = Path(__file__).with_name("company.json")

SIZES = {"translation": 16_000, "language": 4_000, "headline": 1_000, "acceptability": 250}
"""Task -> how many of its examples were mixed."""

TOGETHER = ("translation", "similarity", "verb", "acceptability", "headline", "language")
"""The tasks of :func:`load_company`."""


class Mixed(NamedTuple):
    """One training: how the tasks were mixed, the seed, and task -> right answers of 300."""

    mixed: str
    seed: int
    right: dict[str, int]


class Learned(NamedTuple):
    """One training: the tasks that were learned, the seed, task -> right answers of 300, and task -> mean loss of a token of the targets."""

    learned: tuple[str, ...]
    seed: int
    right: dict[str, int]
    loss: dict[str, float]


class Compared(NamedTuple):
    """Right answers of 300 with the seeds 0, 1 and 2: of one model for all tasks, and of a model for this task alone."""

    shared: list[int]
    alone: list[int]


def load_mixtures() -> list[Mixed]:
    """Three mixtures, with three seeds each."""
    return [Mixed(**row) for row in json.loads(FILE.read_text(encoding="utf-8"))]


def load_company() -> list[Learned]:
    """All of six tasks, all but one, and each alone, with three seeds each. Each task has the same batches every time."""
    rows = json.loads(COMPANY.read_text(encoding="utf-8"))
    return [Learned(**row | {"learned": tuple(row["learned"])}) for row in rows]


def load_specialists() -> dict[str, Compared]:
    """Task -> lab 12's model beside a specialist, as ``measure.py specialists`` has printed it."""
    kept = json.loads(SPECIALISTS.read_text(encoding="utf-8"))
    return {name: Compared(**found) for name, found in kept.items()}
