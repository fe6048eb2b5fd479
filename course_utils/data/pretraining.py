"""What pretraining on gap texts was worth for lab 12's model.

docs/data-text-to-text.md says how it was measured.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import NamedTuple

FILE = Path(__file__).with_name("pretraining.json")


class Trained(NamedTuple):
    """A model that was trained on a thousand examples of one task: right answers of 300, and its loss for each token of the test."""

    task: str
    way: str
    seed: int
    right: int
    loss: float


def load_pretraining() -> list[Trained]:
    """All trainings: tasks, three ways, three seeds."""
    return [Trained(**row) for row in json.loads(FILE.read_text(encoding="utf-8"))]
