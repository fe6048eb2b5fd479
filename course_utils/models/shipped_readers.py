"""The readers of lab 10 as they come with the course, for those who do not want to wait.

``train_weights.py`` beside lab 10's source makes the files, and measures what the readers lose by being small.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from course_utils.models.fine_tuned import load_learned, save_learned
from course_utils.training import Evaluation, History

FOLDER = Path(__file__).parents[1] / "weights"
FILES = {
    "stories": FOLDER / "reader_stories.safetensors",
    "prose": FOLDER / "reader_prose.safetensors",
}
HISTORY = FOLDER / "reader_stories.json"
RANKS = {"stories": 24, "prose": 64}
"""Of the differences of matrices. Prose is harder, and its reader loses more by a small one."""


def save_reader(name: str, state: Mapping[str, np.ndarray], rank: int | None = None) -> Path:
    """Writes what a reader has learned to the course's folder.

    Args:
        name: "stories" or "prose".
        state: all weights of lab 10's reader: those of the encoder begin with ``encoder.``, those of the head with ``head.``.
        rank: of the differences of matrices; None: as in ``RANKS``.
    """
    save_learned(FILES[name], state, rank or RANKS[name])
    return FILES[name]


def load_reader(name: str) -> dict[str, np.ndarray]:
    """All weights of a reader that comes with the course, under the names of lab 10's, as float32.

    Args:
        name: "stories" (trained on stories of task 1) or "prose" (on the course's paragraphs after that).

    Raises:
        ValueError: there is no such reader.
    """
    if name not in FILES:
        raise ValueError(f"No reader {name!r} comes with the course; choose one of {', '.join(FILES)}.")
    return load_learned(FILES[name])


def load_histories() -> list[History]:
    """Three trainings on stories, with seeds of their own: losses and exact match on validation, without the seconds.

    ``train_weights.py curves`` beside lab 10's source made them. The first has the seed of the reader that comes with the course.
    """
    return [
        History(
            run["name"], run["losses"], [], [Evaluation(step, 0.0, score) for step, score in run["exact"]]
        )
        for run in json.loads(HISTORY.read_text("utf-8"))
    ]
