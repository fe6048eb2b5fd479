"""What pretraining was worth: on gap texts for lab 12's model, and in three ways for three small models.

docs/data-text-to-text.md says how it was measured.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import NamedTuple

FILE = Path(__file__).with_name("pretraining.json")
OBJECTIVES = Path(__file__).with_name("objectives.json")


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


def load_objectives() -> dict[str, dict[str, list[float]]]:
    """Model or rival -> what was measured -> right answers of 300 or the mean loss, with the seeds 0, 1 and 2."""
    found: dict[str, dict[str, list[float]]] = {}
    for model, what, _, result in json.loads(OBJECTIVES.read_text(encoding="utf-8")):
        found.setdefault(model, {}).setdefault(what, []).append(result)
    return found
