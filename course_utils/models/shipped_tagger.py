"""The model of lab 09 as it comes with the course, for those who do not want to wait.

``measure.py --save`` beside lab 09's source makes the file, and measures what the model loses by being small.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from course_utils.models.fine_tuned import load_learned, save_learned

FILE = Path(__file__).parents[1] / "weights" / "tagger_resumes.safetensors"
RANK = 24
"""Of the differences of matrices."""


def save_tagger(state: Mapping[str, np.ndarray], rank: int = RANK) -> None:
    """Writes what lab 09's model has learned to the course's folder.

    Args:
        state: all its weights: those of the encoder begin with ``encoder.``, those of the head with ``classifier.``.
        rank: of the differences of matrices.
    """
    save_learned(FILE, state, rank)


def load_tagger() -> dict[str, np.ndarray]:
    """All weights of the model that comes with the course, under the names of lab 09's, as float32."""
    return load_learned(FILE)
