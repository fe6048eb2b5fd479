"""The two small decoders that lab 08 trains, as they come with the course: weights in a file, for those who do not want to wait."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import torch

FOLDER = Path(__file__).parents[1] / "weights"
FILES = {
    "names": "decoder_names.safetensors",
    "news": "decoder_news.safetensors",
}  # whole names: a bundle is made by them
NAMES = ("names", "news")


def file_of(name: str) -> Path:
    """Where the weights of "names" or "news" are."""
    return FOLDER / FILES[name]


def save_decoder(name: str, state: Mapping[str, torch.Tensor]) -> None:
    """Writes weights to the course's folder, in 16 bits."""
    from safetensors.numpy import save_file

    save_file({key: value.detach().numpy().astype(np.float16) for key, value in state.items()}, file_of(name))


def load_decoder(name: str, expected: Mapping[str, Any]) -> dict[str, torch.Tensor]:
    """The weights that come with the course, as float32.

    Args:
        name: "names" or "news".
        expected: name -> tensor: the model's ``state_dict()``. It may contain more than the file does: a parameter under a second name,
            and buffers of numbers that are not trained.

    Raises:
        ValueError: the model has other parameters than the file.
    """
    import torch
    from safetensors.numpy import load_file

    found = {
        key: torch.from_numpy(array.astype(np.float32)) for key, array in load_file(file_of(name)).items()
    }
    at = {tensor.data_ptr(): key for key, tensor in expected.items() if key in found}
    more = {
        key: found[at[tensor.data_ptr()]] if tensor.data_ptr() in at else tensor
        for key, tensor in expected.items()
        if key not in found and (tensor.data_ptr() in at or not tensor.is_floating_point())
    }
    for key in sorted(set(found) | set(expected) - set(more)):
        if key not in found or key not in expected or found[key].shape != expected[key].shape:
            raise ValueError(
                f"The weights in {file_of(name).name} do not fit your model: {key} is missing or has another shape. "
                "Construct the model with the lab's sizes, or train it."
            )
    return found | more
