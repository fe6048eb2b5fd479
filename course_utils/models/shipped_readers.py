"""The readers of lab 10 as they come with the course, for whoever does not want to wait.

A trained reader differs from the pretrained encoder in six layers of weights, 43 MB. The files hold the difference only,
each matrix as a product of two thin ones, the best of their size (Eckart and Young 1936). LoRA (Hu et al. 2021) trains
such products; here they are computed afterwards, by ``train_weights.py`` beside lab 10's source, which also measures what the readers
lose by it.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from course_utils.models.pretrained import encoder_folder

FOLDER = Path(__file__).parents[1] / "weights"
FILES = {
    "stories": FOLDER / "reader_stories.safetensors",
    "prose": FOLDER / "reader_prose.safetensors",
}
RANKS = {"stories": 24, "prose": 64}
"""Of the differences of matrices. Prose is harder, and its reader loses more by a small one."""
ENCODER, HEAD = "encoder.", "head."


def save_reader(name: str, state: Mapping[str, np.ndarray], rank: int | None = None) -> Path:
    """Writes what a reader has learned to the course's folder, in 16 bits.

    Args:
        name: "stories" or "prose".
        state: all weights of lab 10's reader: those of the encoder begin with ``encoder.``, those of the head with ``head.``.
        rank: of the differences of matrices; None: as in ``RANKS``.
    """
    from safetensors.numpy import save_file

    before, kept, rank = _encoder(), {}, rank or RANKS[name]
    for key, value in state.items():
        if key.startswith(HEAD):
            kept[key] = value.astype(np.float32)
            continue
        difference = value - before[key.removeprefix(ENCODER)]
        if difference.ndim == 2 and difference.any():
            left, sizes, right = np.linalg.svd(difference, full_matrices=False)
            root = np.sqrt(sizes[:rank])
            kept[f"{key}.left"] = (left[:, :rank] * root).astype(np.float16)
            kept[f"{key}.right"] = (root[:, None] * right[:rank]).astype(np.float16)
        elif difference.any():
            kept[f"{key}.added"] = difference.astype(np.float16)
    save_file({key: np.ascontiguousarray(value) for key, value in kept.items()}, FILES[name])
    return FILES[name]


def load_reader(name: str) -> dict[str, np.ndarray]:
    """All weights of a reader that comes with the course, under the names of lab 10's, as float32.

    Args:
        name: "stories" (trained on stories of task 1) or "prose" (on the course's paragraphs after that).

    Raises:
        ValueError: there is no such reader.
    """
    from safetensors.numpy import load_file

    if name not in FILES:
        raise ValueError(f"No reader {name!r} comes with the course; choose one of {', '.join(FILES)}.")
    learned = load_file(FILES[name])
    state = {f"{ENCODER}{key}": value for key, value in _encoder().items()}
    state |= {key: value for key, value in learned.items() if key.startswith(HEAD)}
    for key in state:
        if f"{key}.left" in learned:
            left, right = (learned[f"{key}.{side}"].astype(np.float32) for side in ("left", "right"))
            state[key] = state[key] + left @ right
        elif f"{key}.added" in learned:
            state[key] = state[key] + learned[f"{key}.added"].astype(np.float32)
    return state


def _encoder() -> dict[str, np.ndarray]:
    """The pretrained encoder's own weights."""
    from safetensors.numpy import load_file

    stored = load_file(encoder_folder() / "model.safetensors")
    return {key: value for key, value in stored.items() if not key.endswith("position_ids")}
