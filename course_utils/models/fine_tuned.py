"""Fine-tuned encoders in small files: only what they have learned on top of the pretrained one.

A fine-tuned model differs from the pretrained encoder in six layers of weights, 43 MB. A file holds the difference only,
each matrix as a product of two thin ones, the best of their size (Eckart and Young 1936). LoRA (Hu et al. 2021) trains
such products; here they are computed afterwards, by the scripts beside the labs' sources, which also measure what the models lose
by it.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from course_utils.models.pretrained import encoder_folder

ENCODER = "encoder."


def save_learned(path: Path, state: Mapping[str, np.ndarray], rank: int) -> None:
    """Writes what a model has learned, in 16 bits; the head in 32.

    Args:
        path: the file.
        state: all weights; the encoder's begin with ``encoder.``, all others are the head's.
        rank: of the differences of matrices.
    """
    from safetensors.numpy import save_file

    before, kept = _encoder(), {}
    for key, value in state.items():
        if not key.startswith(ENCODER):
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
    save_file({key: np.ascontiguousarray(value) for key, value in kept.items()}, path)


def load_learned(path: Path) -> dict[str, np.ndarray]:
    """All weights of a model that :func:`save_learned` wrote, under the names that it had, as float32."""
    from safetensors.numpy import load_file

    learned = load_file(path)
    state = {f"{ENCODER}{key}": value for key, value in _encoder().items()}
    state |= {key: value for key, value in learned.items() if not key.startswith(ENCODER)}
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
