"""The pretrained encoder again, in Keras: from the same weights file, with the same results.

BERT (Devlin et al. 2019) is a stack of the encoder layers of Vaswani et al. 2017, with learned positions and
GELU. Ordinary Keras layers are enough, and PyTorch is not needed to read the weights.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from course_utils.models.pretrained import fetch

if TYPE_CHECKING:
    import keras

BERT = {"model_type": ["bert"], "hidden_act": ["gelu"], "position_embedding_type": ["absolute", None]}
"""What a configuration must say for the layers below to match it."""


def keras_encoder(name: str | Path | None = None) -> keras.Model:
    """The pretrained encoder in Keras, to be trained: a new model at every call.

    It takes the tokenizer's output, ``encoder(dict(tokenizer(texts, padding=True, return_tensors="np")))``:

    * input_ids: (batch, seq_len), the numbers of the tokens,
    * attention_mask: (batch, seq_len), 1 for a token and 0 for padding,
    * token_type_ids: (batch, seq_len), 0 in the first text and 1 in the second of a pair,

    and returns the output of the last layer, (batch, seq_len, hidden_size). It can be part of another model, and be
    saved and loaded like any Keras model.

    Args:
        name: another model: a name on the Hugging Face hub, or a folder with a saved model. It must be a BERT,
            with its weights in a file model.safetensors.

    Raises:
        RuntimeError: there is no such model, or it is not on this computer and the hub cannot be reached.
        ValueError: it exists, but it is not a BERT, or its weights do not fit its configuration.
    """
    from safetensors.numpy import load_file

    config = json.loads(_file(name, "config.json").read_text("utf-8"))
    other = [f"{key} = {config.get(key)!r}" for key, known in BERT.items() if config.get(key) not in known]
    if other:
        raise ValueError(
            f"The model {str(name)!r} is not a BERT that these layers can represent: its configuration says "
            f"{', '.join(other)}. Choose another one, or use PyTorch, where new_encoder takes any encoder."
        )
    encoder = _layers(config)
    try:
        set_encoder_weights(encoder, load_file(_file(name, "model.safetensors")))
    except ValueError as error:
        raise ValueError(f"The weights of {str(name)!r} do not fit its configuration: {error}") from None
    return encoder


def set_encoder_weights(encoder: keras.Model, state: Mapping[str, np.ndarray]) -> None:
    """Gives a :func:`keras_encoder` all its weights, from PyTorch's names and shapes.

    Args:
        state: the weights of a BERT, as its file holds them: ``encoder.layer.0.output.dense.weight`` (out, in), and so on.

    Raises:
        ValueError: a weight is missing, or has another size. Nothing has been set then.
    """
    stored = {_plain(key): tensor for key, tensor in state.items()}
    found = []
    for name, tensors in _origins(sum(layer.name.endswith("_inner") for layer in encoder.layers)):
        layer = encoder.get_layer(name)
        if missing := [key for key in tensors if key not in stored]:
            raise ValueError(f"there is no weight {missing[0]!r}.")
        pairs = zip(tensors, layer.weights, strict=True)
        found.append((layer, [_turned(key, stored[key]).reshape(weight.shape) for key, weight in pairs]))
    for layer, values in found:
        layer.set_weights(values)


def _file(name: str | Path | None, file: str) -> Path:
    """Where a model's ``file`` is on this computer, after downloading it if necessary."""

    def find(model: str | Path, *, local_files_only: bool) -> Path:
        from huggingface_hub import hf_hub_download

        if Path(model).is_dir():
            return (Path(model) / file).resolve(strict=True)
        return Path(hf_hub_download(str(model), file, local_files_only=local_files_only))

    return fetch(find, name)


def _layers(config: dict[str, Any]) -> keras.Model:
    """The encoder with untrained weights."""
    import keras
    from keras import layers, ops

    depth, heads = config["hidden_size"], config["num_attention_heads"]

    def embedding(rows: str, kind: str) -> keras.Layer:
        return layers.Embedding(config[rows], depth, name=f"{kind}_embeddings")

    def normed(x: keras.KerasTensor, where: str) -> keras.KerasTensor:
        return layers.LayerNormalization(epsilon=config["layer_norm_eps"], name=f"{where}_norm")(x)

    def dropped(x: keras.KerasTensor) -> keras.KerasTensor:
        return layers.Dropout(config["hidden_dropout_prob"])(x)

    inputs = {
        key: keras.Input((None,), dtype="int32", name=key)  # (batch, seq_len)
        for key in ("input_ids", "attention_mask", "token_type_ids")
    }
    positions = ops.cumsum(ops.ones_like(inputs["input_ids"]), axis=1) - 1  # 0, 1, 2 ... in each row
    x = embedding("vocab_size", "word")(inputs["input_ids"])  # (batch, seq_len, depth)
    x = x + embedding("type_vocab_size", "token_type")(inputs["token_type_ids"])
    x = x + embedding("max_position_embeddings", "position")(positions)
    x = dropped(normed(x, "embeddings"))
    mask = ops.expand_dims(
        ops.cast(inputs["attention_mask"], "bool"), 1
    )  # (batch, 1, seq_len): for every query
    for i in range(config["num_hidden_layers"]):
        attention = layers.MultiHeadAttention(
            heads, depth // heads, dropout=config["attention_probs_dropout_prob"], name=f"layer_{i}_attention"
        )
        x = normed(x + dropped(attention(x, x, attention_mask=mask)), f"layer_{i}_attention")
        # Keras' "gelu" is the exact one, with the error function, as BERT's is.
        inner = layers.Dense(config["intermediate_size"], activation="gelu", name=f"layer_{i}_inner")(x)
        outer = layers.Dense(depth, name=f"layer_{i}_outer")(inner)
        x = normed(x + dropped(outer), f"layer_{i}")
    return keras.Model(inputs, x, name="encoder")


def _origins(num_layers: int) -> Iterator[tuple[str, list[str]]]:
    """For each layer with weights, its name and the tensors of the file that are its weights, in order."""

    def both(part: str) -> list[str]:
        return [f"{part}.weight", f"{part}.bias"]

    for kind in ("word", "token_type", "position"):
        yield f"{kind}_embeddings", [f"embeddings.{kind}_embeddings.weight"]
    yield "embeddings_norm", both("embeddings.LayerNorm")
    for i in range(num_layers):
        layer = f"encoder.layer.{i}"
        projections = ("self.query", "self.key", "self.value", "output.dense")
        yield (
            f"layer_{i}_attention",
            [key for part in projections for key in both(f"{layer}.attention.{part}")],
        )
        yield f"layer_{i}_attention_norm", both(f"{layer}.attention.output.LayerNorm")
        yield f"layer_{i}_inner", both(f"{layer}.intermediate.dense")
        yield f"layer_{i}_outer", both(f"{layer}.output.dense")
        yield f"layer_{i}_norm", both(f"{layer}.output.LayerNorm")


def _plain(key: str) -> str:
    """A tensor's name in one form: some files (those of the first BERTs on the hub) add or rename parts."""
    return (
        key.removeprefix("bert.")
        .replace("LayerNorm.gamma", "LayerNorm.weight")
        .replace("LayerNorm.beta", "LayerNorm.bias")
    )


def _turned(key: str, tensor: np.ndarray) -> np.ndarray:
    """PyTorch keeps a matrix as (out, in), Keras as (in, out); rows of an embedding are rows in both."""
    return tensor if key.endswith("embeddings.weight") else tensor.T
