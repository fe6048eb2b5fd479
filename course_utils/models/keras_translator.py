"""The Transformers of labs 06 and 05, variable by variable: which Keras variable is which PyTorch parameter.

Both labs build the same architecture, so the weights of one can be loaded into the other. This module knows the two
sets of names, and transposes and reshapes the arrays on the way. It contains no layers: those are the learner's.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import keras
    import tensorflow as tf

    Found = Iterator[tuple[str, keras.Variable]]
    Kind = Callable[[str, keras.Layer], Found]

HINT = (
    "A part of a layer must be an attribute (`self.name = ...`), under the name that the docstring gives it."
)


class WrongLayer(ValueError):
    """A layer does not have the parts named in its docstring; the message says which one is missing or wrong."""


class WrongWeights(ValueError):
    """Weights do not fit a model: names or shapes differ; the message says which."""


# ---------------------------------------------------------------------------------- positions


def positional_encoding(max_len: int, embedding_dim: int) -> tf.Tensor:
    """The fixed sinusoids of Vaswani et al. 2017, section 3.5, interleaved: sin, cos, sin, cos, ... (lab 04).

    Args:
        max_len: number of positions, counted from 0.
        embedding_dim: width, an even number.

    Returns:
        (max_len, embedding_dim), a float32 tensor.
    """
    from keras import ops

    turns = np.arange(max_len)[:, None] / np.power(1e4, np.arange(0, embedding_dim, 2) / embedding_dim)
    waves = np.stack((np.sin(turns), np.cos(turns)), axis=2)  # (max_len, embedding_dim / 2, 2)
    return ops.convert_to_tensor(waves.reshape(max_len, embedding_dim), dtype="float32")


# ---------------------------------------------------------------------------------- one part after the other


def _part(owner: Any, attribute: str) -> Any:
    """A part of a layer, or an error that says which parts the layer has instead."""
    part = getattr(owner, attribute, None)
    if part is None:
        own = [name for name, value in vars(owner).items() if hasattr(value, "weights") and name[0] != "_"]
        has = ", ".join(f"`{name}`" for name in own) or "none"
        raise WrongLayer(f"there is no `{attribute}` (but: {has}). {HINT}")
    return part


def _variable(part: Any, attribute: str, name: str, kind: str) -> Any:
    """What a built Keras layer of this ``kind`` has under ``name``, or an error that says why it is not there."""
    variable = getattr(part, name, None)
    if variable is None and type(part).__name__ == kind:
        why = f"no {name}, but other weights" if part.weights else "no weights: it is never called"
        raise WrongLayer(f"`{attribute}` has {why}.")
    if variable is None:
        raise WrongLayer(f"`{attribute}` is a {type(part).__name__}; expected a keras.layers.{kind}.")
    return variable


def _attention(prefix: str, owner: keras.Layer, attribute: str) -> Found:
    part = _part(owner, attribute)
    for role in ("query", "key", "value", "output"):
        dense = _variable(part, attribute, f"{role}_dense", "MultiHeadAttention")
        if dense.bias is None:
            raise WrongLayer(f"`{attribute}` has no bias for its {role}.")
        yield f"{prefix}.w_{role}.weight", dense.kernel
        yield f"{prefix}.w_{role}.bias", dense.bias


def _feed_forward(prefix: str, part: keras.Layer, attribute: str, width: int | None) -> Found:
    kernels = [weight for weight in part.weights if len(weight.shape) == 2]
    biases = [weight for weight in part.weights if len(weight.shape) == 1]
    if len(kernels) != 2 or len(biases) != 2 or len(part.weights) != 4:
        shapes = ", ".join(str(tuple(weight.shape)) for weight in part.weights) or "none: it is never called"
        raise WrongLayer(
            f"Weights of `{attribute}`: {shapes}. Expected: two matrices and two biases, of two Dense layers."
        )
    layers = list(zip(kernels, biases, strict=True))
    if width is not None and kernels[0].shape[0] != width == kernels[1].shape[0]:
        layers.reverse()  # variables are listed as layers were made, and the second may have been made first
    for number, (kernel, bias) in enumerate(layers, start=1):
        yield f"{prefix}linear{number}.weight", kernel
        yield f"{prefix}linear{number}.bias", bias


def _norm(prefix: str, owner: keras.Layer, attribute: str) -> Found:
    part = _part(owner, attribute)
    yield f"{prefix}.weight", _variable(part, attribute, "gamma", "LayerNormalization")
    yield f"{prefix}.bias", _variable(part, attribute, "beta", "LayerNormalization")


def _width(layer: keras.Layer) -> int:
    """Of the vectors that a layer reads and gives."""
    return _variable(_part(layer, "layernorm1"), "layernorm1", "gamma", "LayerNormalization").shape[0]


def feed_forward(prefix: str, layer: keras.Layer, width: int | None = None) -> Found:
    """A feed-forward network for vectors of this width, however it is made of two Dense layers."""
    yield from _feed_forward(prefix, layer, "FullyConnected", width)


def encoder_layer(prefix: str, layer: keras.Layer) -> Found:
    """An EncoderLayer: mha, ffn, layernorm1, layernorm2."""
    yield from _attention(f"{prefix}self_attention", layer, "mha")
    yield from _feed_forward(f"{prefix}feed_forward.", _part(layer, "ffn"), "ffn", _width(layer))
    for number in (1, 2):
        yield from _norm(f"{prefix}norm{number}", layer, f"layernorm{number}")


def decoder_layer(prefix: str, layer: keras.Layer) -> Found:
    """A DecoderLayer: mha1 (to itself), mha2 (to the encoder's output), ffn, layernorm1 to layernorm3."""
    yield from _attention(f"{prefix}self_attention", layer, "mha1")
    yield from _attention(f"{prefix}cross_attention", layer, "mha2")
    yield from _feed_forward(f"{prefix}feed_forward.", _part(layer, "ffn"), "ffn", _width(layer))
    for number in (1, 2, 3):
        yield from _norm(f"{prefix}norm{number}", layer, f"layernorm{number}")


def encoder(prefix: str, layer: keras.Layer) -> Found:
    """An Encoder: embedding, enc_layers, and layernorm if it is pre-norm."""
    yield from _stack(prefix, layer, "enc_layers", encoder_layer)


def decoder(prefix: str, layer: keras.Layer) -> Found:
    """A Decoder: embedding, dec_layers, and layernorm if it is pre-norm."""
    yield from _stack(prefix, layer, "dec_layers", decoder_layer)


def _stack(prefix: str, owner: keras.Layer, attribute: str, kind: Kind) -> Found:
    table = _variable(_part(owner, "embedding"), "embedding", "embeddings", "Embedding")
    yield f"{prefix}embedding.weight", table
    layers = _part(owner, attribute)
    if not isinstance(layers, list | tuple):
        raise WrongLayer(f"`{attribute}` is a {type(layers).__name__}; expected a list of layers.")
    if len({id(layer) for layer in layers}) < len(layers):
        raise WrongLayer(
            f"`{attribute}` holds the same layer more than once, so they would share their weights."
        )
    for number, layer in enumerate(layers):
        yield from kind(f"{prefix}layers.{number}.", layer)
    if getattr(owner, "layernorm", None) is not None:
        yield from _norm(f"{prefix}norm", owner, "layernorm")


def transformer(prefix: str, model: keras.Model) -> Found:
    """A Transformer: encoder, decoder, final_layer."""
    yield from encoder(f"{prefix}encoder.", _part(model, "encoder"))
    yield from decoder(f"{prefix}decoder.", _part(model, "decoder"))
    final = _part(model, "final_layer")
    yield f"{prefix}final_linear.weight", _variable(final, "final_layer", "kernel", "Dense")
    yield f"{prefix}final_linear.bias", _variable(final, "final_layer", "bias", "Dense")


# ---------------------------------------------------------------------------------- in and out


def set_weights(
    layer: keras.Layer,
    weights: Mapping[str, np.ndarray],
    kind: Kind = transformer,
    prefix: str = "",
) -> None:
    """Gives a layer or model all of its weights, under the names and in the layout of lab 05's PyTorch modules.

    Args:
        layer: built, that is, called at least once.
        weights: parameter -> array, as in a PyTorch state dict.
        kind: one of the functions of this module, such as ``encoder_layer``.

    Raises:
        WrongLayer: no part has the expected name.
        WrongWeights: a name is missing on one side, or a shape differs. Nothing has been set then.
    """
    variables = dict(kind(prefix, layer))
    if missing := [name for name in weights if name not in variables]:
        raise WrongWeights(f"there is no place for `{missing[0]}`{_configured(missing[0])}")
    if missing := [name for name in variables if name not in weights]:
        raise WrongWeights(f"there is a weight too many, `{missing[0]}`{_configured(missing[0])}")
    known = {id(variable) for variable in variables.values()}
    if more := [variable for variable in layer.weights if id(variable) not in known]:
        raise WrongLayer(
            f"there is a weight too many, {_short(more[0])} of shape {tuple(more[0].shape)}. The docstring names the parts "
            "that belong."
        )
    turned = {}
    for name, variable in variables.items():
        wanted = _from_torch(name, weights[name])
        if wanted.size != np.prod(variable.shape) or not _fits(wanted.shape, tuple(variable.shape)):
            raise WrongWeights(
                f"{_short(variable)} has shape {tuple(variable.shape)}, which cannot hold `{name}` of shape "
                f"{weights[name].shape}{_why(name)}"
            )
        turned[name] = wanted.reshape(variable.shape)
    for name, variable in variables.items():
        variable.value.assign(turned[name])  # the shapes are compared above


def get_weights(layer: keras.Layer, kind: Kind = transformer, prefix: str = "") -> dict[str, np.ndarray]:
    """A layer's or model's weights under the names and in the layout of lab 05: the way back from :func:`set_weights`."""
    return {name: _to_torch(name, variable.numpy()) for name, variable in kind(prefix, layer)}


def load_translator(
    path: Path | str, config: Mapping[str, Any], custom_objects: Mapping[str, Any] | None = None
) -> keras.Model:
    """Reads a model from a ``.keras`` file, and makes sure that it is the expected one.

    Args:
        path: of the file, as ``model.save`` wrote it.
        config: the constructor's arguments that matter, such as ``target_vocab_size``, and their expected values.
        custom_objects: class name -> class, for classes that are not registered with Keras.

    Raises:
        WrongWeights: the file is missing or damaged, its class is unknown or has changed, its weights could not be
            placed, or the sizes differ. The message says which.
    """
    import keras

    path = Path(path)
    if not path.is_file():
        raise WrongWeights(f"there is no {path.name} in {path.parent}. Save a model there first.")
    try:
        with warnings.catch_warnings(record=True) as complaints:
            warnings.simplefilter("always")
            model = keras.saving.load_model(path, custom_objects=custom_objects, compile=False)
    except Exception as error:
        reason = str(error).strip().partition("\n")[0]
        raise WrongWeights(
            f"{path.name} cannot be read ({type(error).__name__}: {reason}) Is it a .keras file, has the cell with the "
            "model's class been run, and is the class unchanged?"
        ) from error
    if any("built" in str(complaint.message) for complaint in complaints):
        raise WrongWeights(
            f"{path.name} was read before the model had variables, so its weights are lost: `build_from_config` "
            "has to create them."
        )
    has = model.get_config()
    if differing := [name for name, value in config.items() if has.get(name) != value]:
        listed = ", ".join(f"{name} {has.get(name)!r} instead of {config[name]!r}" for name in differing)
        raise WrongWeights(
            f"{path.name} contains a different model than expected: {listed}. Load one of the same sizes, or train again."
        )
    return model


def _short(variable: keras.Variable) -> str:
    """The end of a variable's path, such as "query/kernel": the rest depends on names that Keras numbers."""
    return "/".join(part for part in variable.path.split("/")[-2:] if not part[-1].isdigit())


def _from_torch(name: str, array: np.ndarray) -> np.ndarray:
    """PyTorch keeps a matrix as (out, in), Keras as (in, out); rows of an embedding are rows in both."""
    return array.T if array.ndim == 2 and not name.endswith("embedding.weight") else array


def _to_torch(name: str, array: np.ndarray) -> np.ndarray:
    if name.endswith(".bias") or array.ndim == 1:
        return array.reshape(-1)  # a bias of heads is (heads, head size)
    if name.endswith("embedding.weight"):
        return array
    if name.endswith("w_output.weight"):
        return np.ascontiguousarray(array.reshape(-1, array.shape[-1]).T)  # from (heads, head size, width)
    return np.ascontiguousarray(
        array.reshape(array.shape[0], -1).T
    )  # from (width, heads, head size), or (in, out)


def _fits(wanted: tuple[int, ...], has: tuple[int, ...]) -> bool:
    """Whether one shape is the other with neighbouring axes, those of the heads, merged."""
    if len(wanted) == len(has):
        return wanted == has
    if len(wanted) == 1:
        return len(has) == 2
    return len(has) == 3 and (wanted[0] == has[0] or wanted[-1] == has[-1])


def _why(name: str) -> str:
    if ".w_" in name:
        return ": each head has the size embedding_dim // num_heads."
    if "feed_forward" in name or name.startswith("linear"):
        return ": the first layer widens to fully_connected_dim, the second goes back to embedding_dim."
    return ". Sizes, or the number of words, differ."


def _configured(name: str) -> str:
    if name.rpartition(".")[0].endswith("coder.norm") or name.startswith("norm."):
        return ": the last LayerNormalization of a stack, `layernorm`, exists only with norm_first=True."
    if "layers." in name:
        return ": the number of layers differs."
    return "."
