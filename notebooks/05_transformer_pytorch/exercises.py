"""Lab 05: the encoder-decoder Transformer of Vaswani et al. (2017) in PyTorch, trained to translate.

A check constructs the learner's class with small sizes that all differ, and sets every parameter by its name, so
that nothing depends on a framework's seed. Dropout is tried at rate 1: then a sub-layer's output is dropped as a
whole in training, and not at all in evaluation, and both are exact. What decodes is given a scripted model, whose
best sentence is known.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from itertools import cycle, islice
from typing import TYPE_CHECKING, Any

import numpy as np

from course_utils.cases.forms import only
from course_utils.cases.properties import (
    at_words,
    f32,
    normal,
    together,
    trained_in_training_mode,
    weights_have_moved,
)
from course_utils.cases.torch_modules import (
    REMEMBERS,
    DescentWithDecay,
    a_function,
    a_module,
    built,
    call_with_tensors,
    differ,
    one_thread,
    run_module,
    sent_back,
    tensors,
)
from course_utils.cases.translation import (
    BATCH,
    BOS,
    EOS,
    INNER,
    LAYER,
    LAYERS,
    LENGTHS,
    PAD,
    SOURCE_LEN,
    SOURCE_WORDS,
    TARGET_LEN,
    TARGET_LENGTHS,
    TARGET_WORDS,
    WIDTH,
    Make,
    feed_forward_weights,
    future_words_change_nothing,
    linear,
    norm,
    padding_changes_no_loss,
    padding_changes_no_real_word,
    past_is_untouched,
    real_words,
    source_padding_changes_nothing,
    stops_when_all_have_ended,
    target_mask,
    trained,
    with_a_word_of_zeros,
    with_longer_tables,
    without_options,
)
from course_utils.checking.exercise import Case, Exercise, Inputs, Outputs, Run, call_function

if TYPE_CHECKING:
    import torch
    from torch import nn
# The head size is 5. No two sizes are equal.

READY_MADE = (  # what would do the work of the layers
    "torch.nn.Transformer",
    "torch.nn.TransformerEncoder",
    "torch.nn.TransformerEncoderLayer",
    "torch.nn.TransformerDecoder",
    "torch.nn.TransformerDecoderLayer",
)

# ---------------------------------------------------------------------------------- calling a learner's code


def _extremes(value: Any) -> Any:
    """Of each feature of a tensor, or of each tensor in a tuple, the greatest and the least value in the batch.

    If all rows that go in are equal, dropout at rate 0.5 leaves few different rows, and each of them occurs in a large
    batch: so the extremes do not depend on chance.
    """
    import torch

    if isinstance(value, torch.Tensor):
        rows = value.flatten(0, -2)
        return torch.stack([rows.amax(dim=0), rows.amin(dim=0)])
    if isinstance(value, dict):
        return {name: _extremes(part) for name, part in value.items()}
    return [_extremes(part) for part in value] if isinstance(value, tuple | list) else value


def _call_module(*names: str) -> Callable[[Callable, Inputs], Any]:
    """A call that constructs a module and runs it, without gradients, on the named inputs. Where something was ``asked_before``, it
    answers that first, with other weights if it was ``trained since``.
    """

    def call(learner: Callable, inputs: Inputs) -> Any:
        import torch

        given = {name: value for name, value in tensors(inputs).items() if name in names}
        with torch.no_grad(), one_thread():
            module = built(learner, inputs)
            if inputs.get("other positions"):
                module.positions.neg_()
            parameters = list(module.parameters()) if inputs.get("trained since") else []
            for parameter in parameters:
                parameter.neg_()
            if before := inputs.get("asked_before"):
                run_module(module, tensors(before))
            for parameter in parameters:
                parameter.neg_()
            same = copy.deepcopy(given)
            found = run_module(module, given)
            if not module.training:
                again = run_module(module, same)
                if _same_list(found, again):
                    raise TypeError(
                        "two calls return the same list, so the second changes what the first has returned. Make a new one in each call."
                    )
                if differ(found, again):
                    raise TypeError(REMEMBERS)
        found = _in_single_precision(only(torch.Tensor, found))
        return _extremes(found) if inputs.get("largest and smallest values") else found

    return call


def _same_list(found: Any, again: Any) -> bool:
    """Whether two calls returned one and the same list or dict, or have it among what they returned."""
    containers = [
        [
            part
            for part in (value, *(value if isinstance(value, tuple) else ()))
            if isinstance(part, list | dict)
        ]
        for value in (found, again)
    ]
    return any(one is other for one in containers[0] for other in containers[1])


def _in_single_precision(value: Any) -> Any:
    """What came out, unless it is wider than what went in: the weights of the next layer are float32, too."""
    import torch

    parts = (
        value.values() if isinstance(value, dict) else value if isinstance(value, tuple | list) else [value]
    )
    if any(isinstance(part, torch.Tensor) and part.dtype == torch.float64 for part in parts):
        raise TypeError("it returned a tensor of torch.float64; expected torch.float32, as it gets.")
    return value


def _call_in_single_precision(learner: Callable, inputs: Inputs) -> Any:
    return _in_single_precision(call_with_tensors(learner, inputs))


# ---------------------------------------------------------------------------------- inputs

LARGE_EPS = 0.2  # large enough that a LayerNorm with the default's 1e-6 gives something else


def _attention(rng: np.random.Generator, name: str) -> dict[str, np.ndarray]:
    roles = ("w_query", "w_key", "w_value", "w_output")
    return {
        key: array for role in roles for key, array in linear(rng, f"{name}.{role}", WIDTH, WIDTH).items()
    }


def _encoder_layer(rng: np.random.Generator, prefix: str = "") -> dict[str, np.ndarray]:
    return {
        **_attention(rng, f"{prefix}self_attention"),
        **feed_forward_weights(rng, f"{prefix}feed_forward"),
        **norm(rng, f"{prefix}norm1"),
        **norm(rng, f"{prefix}norm2"),
    }


def _decoder_layer(rng: np.random.Generator, prefix: str = "") -> dict[str, np.ndarray]:
    return {
        **_encoder_layer(rng, prefix),
        **_attention(rng, f"{prefix}cross_attention"),
        **norm(rng, f"{prefix}norm3"),
    }


def _stack(
    rng: np.random.Generator,
    layer: Callable[..., dict[str, np.ndarray]],
    words: int,
    norm_first: bool,
    prefix: str = "",
    layers: int = LAYERS,
) -> dict[str, np.ndarray]:
    weights = {f"{prefix}embedding.weight": f32(normal(rng, words, WIDTH, scale=WIDTH**-0.5))}
    for number in range(layers):
        weights |= layer(rng, f"{prefix}layers.{number}.")
    return weights | (norm(rng, f"{prefix}norm") if norm_first else {})


def _narrow(weights: dict[str, np.ndarray], width: int) -> dict[str, np.ndarray]:
    """The same weights for a smaller embedding_dim."""
    return {
        name: array[tuple(slice(width if size == WIDTH else size) for size in array.shape)].copy()
        for name, array in weights.items()
    }


def _half_dropped(
    make: Callable[..., Callable],
    width: int,
    rows: int,
    words: int,
    norm_first: bool = False,
    eps: float = 1e-6,
):
    """Equal rows through dropout at rate 0.5: enough of them that every possible output occurs.

    Args:
        make: makes inputs, with a batch of which the first row is repeated.
        width: embedding_dim, so small that few things can be dropped together.
        eps: so large for a stack that its last LayerNorm does not hide how much dropout scales up.
    """

    def inputs(rng: np.random.Generator) -> Inputs:
        made = make(dropout_rate=0.5, training=True, norm_first=norm_first, eps=eps)(rng)
        made["config"] |= {"embedding_dim": width, "num_heads": 1}
        made["weights"] = _narrow(made["weights"], width)
        for name in ("x", "memory"):
            if name in made:
                made[name] = np.tile(made[name][:1, :1, :width], (rows, words, 1))
        for name in ("source_ids", "target_ids"):
            if name in made:  # layers that add nothing: what is dropped in them does not matter
                made[name] = np.tile(made[name][:1, :words], (rows, 1))
                for part in made["weights"]:
                    if "w_output" in part or "linear2" in part:
                        made["weights"][part] *= 0
        return {**made, "largest and smallest values": True}

    return inputs


def _source_lengths(source_len: int) -> np.ndarray:
    """Some sources are longer than their target and some shorter where both have as many columns: neither padding is part of the other."""
    return np.roll(LENGTHS, int(source_len == TARGET_LEN)).clip(max=source_len)


def source_mask(source_len: int = SOURCE_LEN) -> np.ndarray:
    """(batch, 1, 1, src_len), True at the source sentences' words."""
    return real_words(_source_lengths(source_len), source_len)[:, None, None, :].copy()


def _ids(rng: np.random.Generator, lengths: np.ndarray, longest: int, words: int) -> np.ndarray:
    ids = rng.integers(4, words - 1, (len(lengths), longest))  # the vocabulary goes on after the highest id
    return np.where(real_words(lengths, longest), ids, PAD)


# ---------------------------------------------------------------------------------- layer_norm


def _layer_norm(*shape: int, scale: float = 2.0, shift: float = 1.5, eps: float | None = None):
    """``eps`` is handed over only if it is another one than the default."""

    def inputs(rng: np.random.Generator) -> Inputs:
        made = {
            "x": f32(normal(rng, *shape, scale=scale) + shift),
            "gamma": f32(rng.uniform(0.4, 1.6, shape[-1])),
            "beta": f32(normal(rng, shape[-1], scale=0.5)),
        }
        return made if eps is None else {**made, "eps": eps}

    return inputs


def _around_64(rng: np.random.Generator) -> Inputs:
    """Eight features, in steps of 1/1024: no mean is rounded, in whatever order it is computed. Squares are."""
    inputs = _layer_norm(2, 4, 8, scale=1.0, shift=64)(rng)
    return {**inputs, "x": np.round(1024 * inputs["x"]) / f32(1024)}


def _constant_rows(rng: np.random.Generator) -> Inputs:
    """Eight features: whichever way a mean of eight equal numbers is computed, nothing is rounded."""
    inputs = _layer_norm(3, 4, 8)(rng)
    x = inputs["x"].copy()
    x[0] = 0.5
    return {**inputs, "x": x}


def _others_changed(rng: np.random.Generator) -> list[Inputs]:
    """Rows that vary so much that eps, which other cases are about, never counts."""
    inputs = _layer_norm(4, 5, 8, scale=6.0)(rng)
    x = f32(normal(rng, 4, 5, 8, scale=6.0))
    x[1, 0] = inputs["x"][1, 0]
    return [inputs, {**inputs, "x": x}]


def every_word_by_itself(runs: list[Run]) -> np.ndarray:
    """Changing all other words, in this sentence and in the others, does not change a word's own result."""
    return np.isclose(runs[0][1]["output"][1, 0], runs[1][1]["output"][1, 0], atol=1e-4)


def rows_are_standardised(inputs: Inputs, outputs: Outputs) -> np.ndarray | None:
    """With γ and β undone, every row has mean 0 and variance 1."""
    if (inputs["x"].var(axis=-1) < 1e-2).any():
        return None  # eps has its share there
    rows = (outputs["output"] - inputs["beta"]) / inputs["gamma"]
    return np.isclose(rows.mean(axis=-1), 0, atol=1e-3) & np.isclose(rows.var(axis=-1), 1, atol=1e-3)


layer_norm = Exercise(
    name="layer_norm",
    returns=("output",),
    call=_call_in_single_precision,
    cases=(
        Case(
            "one sentence: x of shape (5, 6); then one word, (1, 1, 7) and (8,)",
            together(_layer_norm(5, 6), _layer_norm(1, 1, 7), _layer_norm(8)),
        ),
        Case("a batch: x of shape (3, 5, 8)", _layer_norm(3, 5, 8)),
        Case(
            "features around 64: the mean of their squares says little of the variance",
            _around_64,
        ),
        Case(
            "rows that hardly vary: eps counts, one that is handed over and the default",
            together(
                _layer_norm(3, 4, 6, scale=3e-3, shift=0, eps=3e-5), _layer_norm(2, 3, 7, scale=1e-3, shift=0)
            ),
        ),
        Case("three sentences, in one of which all numbers are equal: its variance is 0", _constant_rows),
        Case("all other words changed", _others_changed, every_word_by_itself),
        Case(
            "gradients reach x, gamma and beta, also where all numbers of a row are equal",
            together(_layer_norm(3, 4, 7), _constant_rows),
            reaches=("x", "gamma", "beta"),
        ),
    ),
    backward=sent_back(a_function),
    properties=(rows_are_standardised,),
    bypasses=(
        "torch.nn.LayerNorm",
        "torch.nn.functional.layer_norm",
        "torch.layer_norm",
        "torch.native_layer_norm",
        "keras.layers.LayerNormalization",
        "keras.ops.layer_normalization",
    ),
)

# ---------------------------------------------------------------------------------- FeedForward


def _feed_forward_inputs(*lead: int, scale: float = 1.0):
    def inputs(rng: np.random.Generator) -> Inputs:
        return {
            "config": {"embedding_dim": WIDTH, "fully_connected_dim": INNER},
            "weights": {
                name.removeprefix("feed_forward."): array
                for name, array in feed_forward_weights(rng, "feed_forward").items()
            },
            "x": f32(normal(rng, *lead, WIDTH, scale=scale)),
        }

    return inputs


def _as_wide_in_between(rng: np.random.Generator) -> Inputs:
    """Both layers have embedding_dim features."""
    made = _feed_forward_inputs(2, TARGET_LEN)(rng)
    weights = {
        name: array[tuple(map(slice, [WIDTH] * array.ndim))] for name, array in made["weights"].items()
    }
    return {**made, "config": {"embedding_dim": WIDTH, "fully_connected_dim": WIDTH}, "weights": weights}


def _check_doubles(learner: Callable, inputs: Inputs) -> None:
    """
    Raises:
        TypeError: what comes out has not the dtype of x.
    """
    import torch

    with torch.no_grad(), one_thread():
        x = torch.from_numpy(inputs["x"].astype(np.float64))
        found = built(learner, inputs).double()(x)
    if isinstance(found, torch.Tensor) and found.dtype != x.dtype:
        raise TypeError(f"for x of {x.dtype} it returned a tensor of {found.dtype}; expected x's dtype.")


def _call_feed_forward(learner: Callable, inputs: Inputs) -> dict[str, Any]:
    call = _call_module("x")
    output, in_training = call(learner, inputs), call(learner, {**inputs, "training": True})
    same = np.shape(output) == np.shape(in_training) and np.allclose(output, in_training, atol=1e-5)
    _check_doubles(learner, inputs)
    return {"output": output, "same in training": np.array(same)}


feed_forward = Exercise(
    name="FeedForward",
    returns=("output", "same in training"),
    call=_call_feed_forward,
    cases=(
        Case("a batch of 3 sentences of 7 words", _feed_forward_inputs(BATCH, SOURCE_LEN)),
        Case(
            "without a batch axis; a batch of one; four axes, fully_connected_dim = embedding_dim",
            together(
                _feed_forward_inputs(TARGET_LEN, scale=20.0),
                _feed_forward_inputs(1, TARGET_LEN),
                _feed_forward_inputs(2, 3, TARGET_LEN),
                _as_wide_in_between,
            ),
        ),
        Case(
            "gradients reach x and every weight",
            _feed_forward_inputs(BATCH, SOURCE_LEN),
            reaches=("x", "weights"),
        ),
    ),
    backward=sent_back(a_module("x")),
)

# ---------------------------------------------------------------------------------- EncoderLayer


def _encoder_layer_inputs(
    masked: bool = False,
    norm_first: bool = False,
    dropout_rate: float = 0.0,
    training: bool = False,
    eps: float = 1e-6,
):
    def inputs(rng: np.random.Generator) -> Inputs:
        return {
            "config": {**LAYER, "dropout_rate": dropout_rate, "layernorm_eps": eps, "norm_first": norm_first},
            "weights": _encoder_layer(rng),
            "x": f32(normal(rng, BATCH, SOURCE_LEN, WIDTH)),
            "training": training,
            **({"mask": source_mask()} if masked else {}),
        }

    return inputs


def _by_default(make: Callable[..., Callable]):
    """Small equal rows in training, through a layer that is made without what has a default. Only one number of what the
    feed-forward network gives is not 0: it is dropped, or scaled up.
    """

    def inputs(rng: np.random.Generator) -> Inputs:
        made = make(training=True)(rng)
        for part, array in made["weights"].items():
            if "w_output" in part or "linear2" in part:
                array *= 0
        made["weights"]["feed_forward.linear2.bias"][0] = 1
        made["x"] = np.tile(1e-3 * made["x"][:1, :1], (60, 8, 1))
        if "memory" in made:
            made["memory"] = np.tile(made["memory"][:1, :1], (60, 8, 1))
        return {**made, "largest and smallest values": True}

    return without_options(inputs)


def _all_shown(make: Callable[[np.random.Generator], Inputs], **lengths: int):
    """The same inputs with masks of these names, for sentences of so many words, that hide nothing."""

    def inputs(rng: np.random.Generator) -> Inputs:
        masks = {name: np.ones((BATCH, 1, 1, length), dtype=bool) for name, length in lengths.items()}
        return {**make(rng), **masks}

    return inputs


def _alone(make: Callable[[np.random.Generator], Inputs]):
    """The first sentence of a batch, in a batch of its own."""

    def inputs(rng: np.random.Generator) -> Inputs:
        made = make(rng)
        return {
            name: value[:1].copy() if isinstance(value, np.ndarray) else value for name, value in made.items()
        }

    return inputs


def _after(make: Callable[[np.random.Generator], Inputs], before: Callable[[np.random.Generator], Inputs]):
    """Inputs for a module that has answered others before."""

    def inputs(rng: np.random.Generator) -> Inputs:
        made, first = make(rng), before(rng)
        arrays = {name: value for name, value in first.items() if isinstance(value, np.ndarray)}
        return {**made, "asked_before": arrays}

    return inputs


def _encoder_layer_padded(rng: np.random.Generator) -> list[Inputs]:
    inputs = _encoder_layer_inputs()(rng)
    more = np.concatenate([inputs["x"], f32(normal(rng, BATCH, 2, WIDTH))], axis=1)
    masks = [
        np.broadcast_to(np.arange(n) < SOURCE_LEN, (BATCH, 1, 1, n)).copy()
        for n in (SOURCE_LEN, SOURCE_LEN + 2)
    ]
    return [{**inputs, "mask": masks[0]}, {**inputs, "x": more, "mask": masks[1]}]


encoder_layer = Exercise(
    name="EncoderLayer",
    returns=("output",),
    call=_call_module("x", "mask"),
    uses=("FeedForward",),
    bypasses=READY_MADE,
    cases=(
        Case(
            "post-norm, no mask, one word is all zeros; then with every default, in training",
            together(with_a_word_of_zeros(_encoder_layer_inputs()), _by_default(_encoder_layer_inputs)),
        ),
        Case(
            "post-norm, sentences of 4, 7 and 5 words, layernorm_eps=0.2",
            _encoder_layer_inputs(masked=True, eps=LARGE_EPS),
        ),
        Case(
            "pre-norm, layernorm_eps=0.2; then a call without a mask, after one with it",
            together(
                _encoder_layer_inputs(masked=True, norm_first=True, eps=LARGE_EPS),
                _after(_encoder_layer_inputs(norm_first=True), _encoder_layer_inputs(masked=True)),
            ),
        ),
        Case("evaluation mode: even dropout_rate=1 drops nothing", _encoder_layer_inputs(dropout_rate=1.0)),
        Case(
            "training mode with dropout_rate=1: only the residual path is left",
            _encoder_layer_inputs(dropout_rate=1.0, training=True),
        ),
        Case(
            "dropout_rate=1, pre-norm: in training the layer gives x itself, in evaluation it does not",
            together(
                _encoder_layer_inputs(dropout_rate=1.0, training=True, norm_first=True),
                _encoder_layer_inputs(dropout_rate=1.0, norm_first=True),
            ),
        ),
        Case(
            "training mode with dropout_rate=0.5: the greatest and the least values that can come out",
            together(
                _half_dropped(_encoder_layer_inputs, 3, 240, 8),
                _half_dropped(_encoder_layer_inputs, 3, 240, 8, norm_first=True),
            ),
        ),
        Case("two more words of padding", _encoder_layer_padded, padding_changes_no_real_word),
        Case(
            "gradients reach x and every weight",
            together(
                trained(_encoder_layer_inputs(masked=True)),
                trained(_encoder_layer_inputs(masked=True, norm_first=True, eps=LARGE_EPS)),
            ),
            reaches=("x", "weights"),
        ),
    ),
    backward=sent_back(a_module("x", "mask")),
)

# ---------------------------------------------------------------------------------- Encoder


def _encoder_inputs(
    masked: bool = False,
    norm_first: bool = False,
    dropout_rate: float = 0.0,
    training: bool = False,
    eps: float = 1e-6,
    words: int = SOURCE_WORDS,
    layers: int = LAYERS,
):
    def inputs(rng: np.random.Generator) -> Inputs:
        return {
            "config": {
                "num_layers": layers,
                **LAYER,
                "source_vocab_size": words,
                "max_len": 11,
                "dropout_rate": dropout_rate,
                "layernorm_eps": eps,
                "norm_first": norm_first,
            },
            "weights": _stack(rng, _encoder_layer, words, norm_first, layers=layers),
            "source_ids": _ids(rng, LENGTHS, SOURCE_LEN, SOURCE_WORDS),
            "training": training,
            **({"mask": source_mask()} if masked else {}),
        }

    return inputs


def _two_heads(make: Callable[[np.random.Generator], Inputs]) -> Callable[[np.random.Generator], Inputs]:
    """With another number of heads than in all other cases."""

    def inputs(rng: np.random.Generator) -> Inputs:
        made = make(rng)
        return {**made, "config": {**made["config"], "num_heads": 2}}

    return inputs


def _single_sentence(rng: np.random.Generator) -> Inputs:
    """Of more words than the vocabulary has, for a module that has read one of three words before."""
    made = _two_heads(_encoder_inputs(words=6, layers=3))(rng)
    ids = rng.integers(1, 5, (1, 60))
    return {
        **made,
        "config": {**made["config"], "max_len": 70},
        "source_ids": ids,
        "other positions": True,
        "asked_before": {"source_ids": ids[:, :3].copy()},
    }


def _padding_ids_changed(rng: np.random.Generator) -> list[Inputs]:
    inputs = _encoder_inputs(masked=True)(rng)
    other = _ids(rng, np.full(BATCH, SOURCE_LEN), SOURCE_LEN, SOURCE_WORDS)
    real = real_words(LENGTHS, SOURCE_LEN)
    return [inputs, {**inputs, "source_ids": np.where(real, inputs["source_ids"], other)}]


def padding_is_never_looked_at(runs: list[Run]) -> np.ndarray:
    """Whatever is in the padding, the memory of the real words stays the same."""
    real = real_words(LENGTHS, SOURCE_LEN)
    return np.isclose(runs[0][1]["memory"][real], runs[1][1]["memory"][real], atol=1e-4)


encoder = Exercise(
    name="Encoder",
    returns=("memory",),
    call=_call_module("source_ids", "mask"),
    uses=("EncoderLayer",),
    bypasses=READY_MADE,
    cases=(
        Case(
            "2 layers, no mask, then one that hides nothing, not even id 0",
            together(without_options(_encoder_inputs()), _all_shown(_encoder_inputs(), mask=SOURCE_LEN)),
        ),
        Case("post-norm, sentences of 4, 7 and 5 words", _encoder_inputs(masked=True)),
        Case(
            "pre-norm, sentences of 4, 7 and 5 words, layernorm_eps=0.2",
            _encoder_inputs(masked=True, norm_first=True, eps=LARGE_EPS),
        ),
        Case("evaluation mode: even dropout_rate=1 drops nothing", _encoder_inputs(dropout_rate=1.0)),
        Case(
            "training mode, dropout_rate=1, pre-norm, then post-norm: the embeddings are dropped too",
            together(
                _encoder_inputs(dropout_rate=1.0, training=True, norm_first=True),
                _encoder_inputs(dropout_rate=1.0, training=True),
            ),
        ),
        Case(
            "training mode with dropout_rate=0.5: the greatest and the least values that can come out",
            _half_dropped(_encoder_inputs, 4, 600, 3, norm_first=True, eps=1.0),
        ),
        Case(
            "one sentence of 3 words, then of 60; other numbers in self.positions",
            _single_sentence,
        ),
        Case("other ids in the padding", _padding_ids_changed, padding_is_never_looked_at),
        Case(
            "gradients reach every weight",
            together(trained(_encoder_inputs()), trained(_encoder_inputs(norm_first=True, eps=LARGE_EPS))),
            reaches=("weights",),
        ),
    ),
    backward=sent_back(a_module("source_ids", "mask")),
)

# ---------------------------------------------------------------------------------- DecoderLayer


def _decoder_layer_inputs(
    masked: bool = False,
    norm_first: bool = False,
    dropout_rate: float = 0.0,
    training: bool = False,
    source_len: int = SOURCE_LEN,
    eps: float = 1e-6,
):
    def inputs(rng: np.random.Generator) -> Inputs:
        return {
            "config": {**LAYER, "dropout_rate": dropout_rate, "layernorm_eps": eps, "norm_first": norm_first},
            "weights": _decoder_layer(rng),
            "x": f32(normal(rng, BATCH, TARGET_LEN, WIDTH)),
            "memory": f32(normal(rng, BATCH, source_len, WIDTH)),
            "training": training,
            **({"target_mask": target_mask(), "source_mask": source_mask(source_len)} if masked else {}),
        }

    return inputs


def _without(name: str, make: Make) -> Make:
    """The same inputs but one: of two masks, only the other is given."""
    return lambda rng: {key: value for key, value in make(rng).items() if key != name}


def _future_words_changed(rng: np.random.Generator) -> list[Inputs]:
    inputs = _decoder_layer_inputs(masked=True)(rng)
    x = inputs["x"].copy()
    x[:, 4:] = f32(normal(rng, BATCH, TARGET_LEN - 4, WIDTH))
    return [inputs, {**inputs, "x": x}]


def _source_padding_changed(rng: np.random.Generator) -> list[Inputs]:
    inputs = _decoder_layer_inputs(masked=True)(rng)
    real = real_words(LENGTHS, SOURCE_LEN)[..., None]
    other = f32(normal(rng, BATCH, SOURCE_LEN, WIDTH))
    return [inputs, {**inputs, "memory": np.where(real, inputs["memory"], other)}]


def source_padding_is_never_looked_at(runs: list[Run]) -> np.ndarray:
    """Changing the memory at the source's padding changes no output."""
    return np.isclose(runs[0][1]["output"], runs[1][1]["output"], atol=1e-4)


def both_weights_are_shares(inputs: Inputs, outputs: Outputs) -> np.ndarray:
    """Each row of both attention weights sums to 1, and what a mask blocks gets exactly 0."""
    fine = True
    for name, mask in (("self_weights", "target_mask"), ("cross_weights", "source_mask")):
        weights = outputs[name]
        fine &= np.isclose(weights.sum(axis=-1), 1, atol=1e-4).all() and (weights >= 0).all()
        if mask in inputs:
            fine &= not weights[~np.broadcast_to(inputs[mask], weights.shape)].any()
    return np.array(fine)


decoder_layer = Exercise(
    name="DecoderLayer",
    returns=("output", "self_weights", "cross_weights"),
    call=_call_module("x", "memory", "target_mask", "source_mask"),
    uses=("FeedForward",),
    bypasses=READY_MADE,
    cases=(
        Case(
            "post-norm, no masks, one word is all zeros; then with every default, in training",
            together(with_a_word_of_zeros(_decoder_layer_inputs()), _by_default(_decoder_layer_inputs)),
        ),
        Case("post-norm, both masks, layernorm_eps=0.2", _decoder_layer_inputs(masked=True, eps=LARGE_EPS)),
        Case(
            "pre-norm, both masks, layernorm_eps=0.2; then a call without masks, after one with them",
            together(
                _decoder_layer_inputs(masked=True, norm_first=True, eps=LARGE_EPS),
                _after(_decoder_layer_inputs(norm_first=True), _decoder_layer_inputs(masked=True)),
            ),
        ),
        Case(
            "post-norm, both masks: 6 target words, 6 source words; then each mask alone",
            together(
                _decoder_layer_inputs(masked=True, source_len=TARGET_LEN),
                _without("source_mask", _decoder_layer_inputs(masked=True, source_len=TARGET_LEN)),
                _without("target_mask", _decoder_layer_inputs(masked=True, source_len=TARGET_LEN)),
            ),
        ),
        Case("evaluation mode: even dropout_rate=1 drops nothing", _decoder_layer_inputs(dropout_rate=1.0)),
        Case(
            "training mode with dropout_rate=1: only the residual path is left",
            _decoder_layer_inputs(dropout_rate=1.0, training=True),
        ),
        Case(
            "dropout_rate=1, pre-norm: in training the layer gives x itself, in evaluation it does not",
            together(
                _decoder_layer_inputs(dropout_rate=1.0, training=True, norm_first=True),
                _decoder_layer_inputs(dropout_rate=1.0, norm_first=True),
            ),
        ),
        Case(
            "training mode with dropout_rate=0.5: the greatest and the least values that can come out",
            together(
                _half_dropped(_decoder_layer_inputs, 3, 1920, 8),
                _half_dropped(_decoder_layer_inputs, 3, 1920, 8, norm_first=True),
            ),
        ),
        Case("target words 4 and 5 changed", _future_words_changed, past_is_untouched),
        Case("the memory changed at its padding", _source_padding_changed, source_padding_is_never_looked_at),
        Case(
            "gradients reach x, the memory and every weight",
            together(
                trained(_decoder_layer_inputs(masked=True)),
                trained(_decoder_layer_inputs(masked=True, norm_first=True, eps=LARGE_EPS)),
            ),
            reaches=("x", "memory", "weights"),
        ),
    ),
    backward=sent_back(a_module("x", "memory", "target_mask", "source_mask")),
    properties=(both_weights_are_shares,),
)

# ---------------------------------------------------------------------------------- Decoder


def _other_positions(
    make: Callable[[np.random.Generator], Inputs],
) -> Callable[[np.random.Generator], Inputs]:
    """After the module is made, its table of positions gets other numbers."""
    return lambda rng: {**make(rng), "other positions": True}


def _asked_twice(make: Callable[[np.random.Generator], Inputs]) -> Callable[[np.random.Generator], Inputs]:
    """The module has just answered the same question: whatever it keeps from it must not come back."""

    def inputs(rng: np.random.Generator) -> Inputs:
        made = make(rng)
        before = {name: value.copy() for name, value in made.items() if isinstance(value, np.ndarray)}
        return {**made, "asked_before": before}

    return inputs


def _decoder_inputs(
    masked: bool = False,
    norm_first: bool = False,
    dropout_rate: float = 0.0,
    training: bool = False,
    eps: float = 1e-6,
    source_len: int = SOURCE_LEN,
):
    def inputs(rng: np.random.Generator) -> Inputs:
        return {
            "config": {
                "num_layers": LAYERS,
                **LAYER,
                "target_vocab_size": TARGET_WORDS,
                "max_len": 11,
                "dropout_rate": dropout_rate,
                "layernorm_eps": eps,
                "norm_first": norm_first,
            },
            "weights": _stack(rng, _decoder_layer, TARGET_WORDS, norm_first),
            "target_ids": _ids(rng, TARGET_LENGTHS, TARGET_LEN, TARGET_WORDS),
            "memory": f32(normal(rng, BATCH, source_len, WIDTH)),
            "training": training,
            **({"target_mask": target_mask(), "source_mask": source_mask()} if masked else {}),
        }

    return inputs


def _long_sentence(rng: np.random.Generator) -> Inputs:
    """Alone, for a module that has read one of three words before."""
    made = _other_positions(_two_heads(_alone(_decoder_inputs())))(rng)
    ids = rng.integers(1, TARGET_WORDS, (1, 60))
    before = {"target_ids": ids[:, :3].copy(), "memory": made["memory"].copy()}
    return {
        **made,
        "config": {**made["config"], "max_len": 70},
        "target_ids": ids,
        "asked_before": before,
    }


def _first_word(rng: np.random.Generator) -> Inputs:
    """What the decoder reads at the first step of every translation."""
    made = _other_positions(_decoder_inputs())(rng)
    return {**made, "target_ids": made["target_ids"][:, :1]}


def _call_decoder(learner: Callable, inputs: Inputs) -> dict[str, np.ndarray]:
    value = _call_module("target_ids", "memory", "target_mask", "source_mask")(learner, inputs)
    output, weights = _pair(value, "(output, cross_weights)")
    return {"output": output, "cross_weights": _all_layers(weights)}


def _pair(value: Any, names: str) -> tuple[Any, Any]:
    if not isinstance(value, tuple | list) or len(value) != 2:
        raise TypeError(f"it returned a {type(value).__name__}; expected two values: {names}.")
    return value[0], value[1]


def _all_layers(weights: Any) -> np.ndarray:
    """(num_layers, batch, heads, tgt_len, src_len) of a list with an entry a layer."""
    if not isinstance(weights, list | tuple) or not weights:
        raise TypeError("cross_weights is no list with one entry for each layer.")
    return np.stack([layer.detach().numpy() for layer in weights])


decoder = Exercise(
    name="Decoder",
    returns=("output", "cross_weights"),
    call=_call_decoder,
    uses=("DecoderLayer",),
    bypasses=READY_MADE,
    cases=(
        Case(
            "2 layers, no masks: nothing is hidden, not even id 0; a short source",
            without_options(_decoder_inputs(source_len=4)),
        ),
        Case(
            "masks that hide nothing; one sentence; other numbers in self.positions; 60 words after 3",
            together(
                _all_shown(_decoder_inputs(), target_mask=TARGET_LEN, source_mask=SOURCE_LEN),
                _other_positions(_two_heads(_alone(_decoder_inputs(masked=True)))),
                _long_sentence,
                _first_word,
            ),
        ),
        Case(
            "post-norm, both masks, asked a second time; then each mask alone",
            together(
                _asked_twice(_decoder_inputs(masked=True)),
                _without("source_mask", _decoder_inputs(masked=True)),
                _without("target_mask", _decoder_inputs(masked=True)),
            ),
        ),
        Case(
            "pre-norm, both masks, layernorm_eps=0.2",
            _decoder_inputs(masked=True, norm_first=True, eps=LARGE_EPS),
        ),
        Case("evaluation mode: even dropout_rate=1 drops nothing", _decoder_inputs(dropout_rate=1.0)),
        Case(
            "training mode, dropout_rate=1, pre-norm, then post-norm: the embeddings are dropped too",
            together(
                _decoder_inputs(dropout_rate=1.0, training=True, norm_first=True),
                _decoder_inputs(dropout_rate=1.0, training=True),
            ),
        ),
        Case(
            "training mode with dropout_rate=0.5: the greatest and the least values that can come out",
            _half_dropped(_decoder_inputs, 4, 600, 3, norm_first=True, eps=1.0),
        ),
        Case(
            "gradients reach the memory and every weight",
            together(trained(_decoder_inputs()), trained(_decoder_inputs(norm_first=True, eps=LARGE_EPS))),
            reaches=("memory", "weights"),
        ),
    ),
    backward=sent_back(a_module("target_ids", "memory", "target_mask", "source_mask")),
)

# ---------------------------------------------------------------------------------- make_masks


def _two_batches(
    pairs: int, source: tuple[int, int], target: tuple[int, int], padded: bool = True, pad_id: int = PAD
):
    """Makes ``pairs`` pairs. ``source`` and ``target``: least and greatest number of columns; one sentence fills them."""

    def inputs(rng: np.random.Generator) -> Inputs:
        made: dict[str, Any] = {}
        for name, (least, most) in (("source_ids", source), ("target_ids", target)):
            longest = int(rng.integers(least, most + 1))
            lengths = rng.integers(1, max(longest, 2), pairs) if padded else np.full(pairs, longest)
            lengths[rng.integers(pairs)] = longest
            ids = rng.integers(1, 50, (pairs, longest))
            # words with lower and with higher ids than padding; 0 is one, too
            ids[:2, 0] = int(pad_id == PAD), 49
            ids = np.where(ids == pad_id, 50, ids)
            made[name] = np.where(real_words(lengths, longest), ids, pad_id)
        return made if pad_id == PAD else {**made, "pad_id": pad_id}

    return inputs


def _all_padded(make: Callable[[np.random.Generator], Inputs]) -> Callable[[np.random.Generator], Inputs]:
    """With more columns of padding than the longest sentence needs."""

    def inputs(rng: np.random.Generator) -> Inputs:
        made = make(rng)
        return {name: np.pad(ids, ((0, 0), (0, 2)), constant_values=PAD) for name, ids in made.items()}

    return inputs


def _only_padding(rng: np.random.Generator) -> Inputs:
    """The second of three targets has no word at all, and another one no padding."""
    made = _two_batches(3, (5, 7), (8, 14), padded=False)(rng)
    made["target_ids"][1] = PAD
    return made


def future_is_blocked(inputs: Inputs, outputs: Outputs) -> np.ndarray:
    """No target position may attend to a later one, and each real one may attend to itself."""
    mask = outputs["target_mask"]
    real = (inputs["target_ids"] != inputs.get("pad_id", PAD))[:, None]
    itself = np.diagonal(mask, axis1=-2, axis2=-1)
    return np.array(not np.triu(mask, 1).any() and itself[real].all())


make_masks = Exercise(
    name="make_masks",
    returns=("source_mask", "target_mask"),
    call=call_with_tensors,
    cases=(
        Case(
            "three pairs of sentences, padded; then every sentence with padding",
            together(
                _two_batches(3, (9, 14), (5, 8)),
                _all_padded(_two_batches(3, (5, 8), (9, 14))),
            ),
        ),
        Case(
            "two pairs, the source shorter than the target; then targets of more than 512 words",
            together(_two_batches(2, (4, 7), (8, 14)), _two_batches(2, (4, 7), (520, 600))),
        ),
        Case("padded with another id: pad_id=9", _two_batches(3, (5, 7), (8, 14), pad_id=9)),
        Case(
            "a batch without any padding; then one in which a target has nothing else",
            together(_two_batches(4, (16, 30), (5, 15), padded=False), _only_padding),
        ),
        Case(
            "targets of a single word, which sees itself; then sources of a single word",
            together(_two_batches(3, (6, 20), (1, 1)), _two_batches(3, (1, 1), (5, 9))),
        ),
    ),
    properties=(future_is_blocked,),
    bypasses=("torch.nn.Transformer.generate_square_subsequent_mask",),
)

# ---------------------------------------------------------------------------------- Transformer


def _transformer_inputs(
    padded: bool = False,
    norm_first: bool = False,
    dropout_rate: float = 0.0,
    source_len: int = SOURCE_LEN,
    eps: float = 1e-6,
    training: bool = False,
):
    def inputs(rng: np.random.Generator) -> Inputs:
        lengths = _source_lengths(source_len) if padded else np.full(BATCH, source_len)
        target_lengths = TARGET_LENGTHS if padded else np.full(BATCH, TARGET_LEN)
        return {
            "config": {
                "num_layers": LAYERS,
                **LAYER,
                "source_vocab_size": SOURCE_WORDS,
                "target_vocab_size": TARGET_WORDS,
                "max_len": max(11, source_len),
                "dropout_rate": dropout_rate,
                "layernorm_eps": eps,
                "norm_first": norm_first,
            },
            "weights": {
                **_stack(rng, _encoder_layer, SOURCE_WORDS, norm_first, "encoder."),
                **_stack(rng, _decoder_layer, TARGET_WORDS, norm_first, "decoder."),
                **linear(rng, "final_linear", TARGET_WORDS, WIDTH),
            },
            "source_ids": _ids(rng, lengths, source_len, SOURCE_WORDS),
            "target_ids": _ids(rng, target_lengths, TARGET_LEN, TARGET_WORDS),
            "training": training,
        }

    return inputs


def _call_transformer(learner: Callable, inputs: Inputs) -> dict[str, np.ndarray]:
    logits, weights = _pair(
        _call_module("source_ids", "target_ids")(learner, inputs), "(logits, cross_weights)"
    )
    real = inputs["target_ids"] != PAD
    return {
        "logits": logits if logits is None else at_words(logits, real),
        "cross_weights": np.stack([at_words(layer, real) for layer in _all_layers(weights)]),
    }


def _source_padded(rng: np.random.Generator) -> list[Inputs]:
    inputs = _transformer_inputs(padded=True)(rng)
    more = np.pad(inputs["source_ids"], ((0, 0), (0, 2)), constant_values=PAD)
    return [inputs, {**inputs, "source_ids": more}]


def _other_source_before(rng: np.random.Generator) -> Inputs:
    """The same module has just read a source of the same shape, and of other words."""
    inputs = _transformer_inputs(padded=True)(rng)
    before = {name: inputs[name] for name in ("source_ids", "target_ids")}
    before["source_ids"] = np.where(before["source_ids"] == PAD, PAD, before["source_ids"][::-1, ::-1])
    return {**inputs, "asked_before": before}


def _other_weights_before(rng: np.random.Generator) -> Inputs:
    """The same module has just read the same sentences, and has been trained since."""
    inputs = _transformer_inputs(padded=True)(rng)
    before = {name: inputs[name] for name in ("source_ids", "target_ids")}
    return {**inputs, "asked_before": before, "trained since": True}


def _every_id(rng: np.random.Generator) -> Inputs:
    """Source and target are of equal length, and ids that mark the beginning, the end and unknown words stand in the middle, too."""
    made = _two_heads(_transformer_inputs(padded=True, source_len=TARGET_LEN))(rng)
    made["source_ids"][0, 1:4] = made["target_ids"][0, 1:4] = (1, 2, 3)
    return made


def _target_ends_changed(rng: np.random.Generator) -> list[Inputs]:
    inputs = _transformer_inputs()(rng)
    ids = inputs["target_ids"].copy()
    ids[:, 4:] = 4 + (ids[:, 4:] - 3) % (TARGET_WORDS - 4)  # other words
    return [inputs, {**inputs, "target_ids": ids}]


transformer = Exercise(
    name="Transformer",
    returns=("logits", "cross_weights"),
    call=_call_transformer,
    uses=("Encoder", "Decoder", "make_masks"),
    bypasses=READY_MADE,
    cases=(
        Case(
            "post-norm, no padding; then sources of 31 words, more than there are in a vocabulary",
            together(without_options(_transformer_inputs()), _transformer_inputs(source_len=31)),
        ),
        Case(
            "both padded; after a call with another source; trained since an equal call; longer tables",
            together(
                _transformer_inputs(padded=True),
                _other_source_before,
                _other_weights_before,
                with_longer_tables(_transformer_inputs(padded=True)),
            ),
        ),
        Case(
            "pre-norm, padded source and target, layernorm_eps=0.2",
            _transformer_inputs(padded=True, norm_first=True, eps=LARGE_EPS),
        ),
        Case("source and target of equal length, with the ids 1, 2 and 3; 2 heads", _every_id),
        Case(
            "pre-norm, dropout_rate=1: in training every word gets the same logits; in evaluation nothing is dropped",
            together(
                _transformer_inputs(norm_first=True, dropout_rate=1.0, training=True),
                _transformer_inputs(norm_first=True, dropout_rate=1.0),
            ),
        ),
        Case("two more columns of padding in the source", _source_padded, source_padding_changes_nothing),
        Case("target words 4 and 5 changed", _target_ends_changed, future_words_change_nothing),
        Case(
            "gradients reach every weight",
            together(
                trained(_transformer_inputs()), trained(_transformer_inputs(norm_first=True, eps=LARGE_EPS))
            ),
            reaches=("weights",),
        ),
    ),
    backward=sent_back(a_module("source_ids", "target_ids")),
)

# ---------------------------------------------------------------------------------- shift_right


def _labels(lengths: Sequence[int], longest: int, bos_id: int | None = None):
    """Sentences of different words with EOS at their end, then padding. ``lengths`` count EOS."""

    def inputs(rng: np.random.Generator) -> Inputs:
        words = rng.permuted(np.tile(np.arange(10, 40), (len(lengths), 1)), axis=1)[:, :longest]
        labels = np.where(real_words(np.array(lengths), longest), words, PAD)
        labels[np.arange(len(lengths)), np.array(lengths) - 1] = EOS
        return {"labels": labels} if bos_id is None else {"labels": labels, "bos_id": bos_id}

    return inputs


def input_lags_one_word_behind(inputs: Inputs, outputs: Outputs) -> np.ndarray:
    """At every position but the first, the decoder reads the label of the position before."""
    return outputs["decoder_input"][:, 1:] == inputs["labels"][:, :-1]


def _call_shift(learner: Callable, inputs: Inputs) -> Any:
    """Ids are for an embedding, which takes whole numbers only."""
    import torch

    return _whole_numbers(call_with_tensors(learner, inputs), (torch.int64,))


def _whole_numbers(ids: Any, kinds: tuple[torch.dtype, ...] = ()) -> Any:
    """Ids, unless an embedding could not look them up, or they are not of these ``kinds``."""
    import torch

    if (
        isinstance(ids, torch.Tensor)
        and ids.numel()
        and ids.dtype not in (kinds or (torch.int64, torch.int32))
    ):
        raise TypeError(
            f"it returned a tensor of {ids.dtype}; expected whole numbers of torch.int64: they are ids, for an embedding."
        )
    return ids


def _no_label_in_one(rng: np.random.Generator) -> Inputs:
    """A row of nothing but padding begins with BOS like any other."""
    made = _labels((4, 3, 2), 4, bos_id=7)(rng)
    made["labels"][1] = PAD
    return made


shift_right = Exercise(
    name="shift_right",
    returns=("decoder_input",),
    call=_call_shift,
    cases=(
        Case("one sentence of 4 words and EOS", _labels((5,), 5)),
        Case("three sentences of 2, 5 and 3 words and EOS, padded", _labels((3, 6, 4), 6)),
        Case("two sentences in a table that is longer than both", _labels((2, 4), 7)),
        Case(
            "another id for the beginning: bos_id=7; then a single column",
            together(_labels((4, 3), 4, bos_id=7), _labels((1, 1, 1), 1, bos_id=7), _no_label_in_one),
        ),
    ),
    properties=(input_lags_one_word_behind,),
)

# ---------------------------------------------------------------------------------- label_smoothed_loss


def _loss(
    lengths: Sequence[int],
    longest: int,
    words: int,
    smoothing: float | None,
    scale: float = 1.5,
    pad_id: int = PAD,
    padding_is_likely: bool = False,
):
    """``smoothing``: None leaves it to the default."""

    def inputs(rng: np.random.Generator) -> Inputs:
        ids = rng.integers(1, words, (len(lengths), longest))
        ids = np.where(ids == pad_id, words - 1 if pad_id != words - 1 else 1, ids)
        if pad_id != PAD:
            ids[:, 0] = PAD  # an ordinary word here
        labels = np.where(real_words(np.array(lengths), longest), ids, pad_id)
        logits = normal(rng, len(lengths), longest, words, scale=scale)
        # So that nothing wrong goes unnoticed by chance: the first sentence is easy, the last one hard,
        # and what is spent on the padding's column costs much.
        easy = np.broadcast_to(np.linspace(4, 0, len(lengths))[:, None], labels.shape)[..., None]
        at_label = np.take_along_axis(logits, labels[..., None], axis=-1)
        np.put_along_axis(logits, labels[..., None], at_label + easy, axis=-1)
        logits[..., pad_id] += 2 if padding_is_likely else -10
        made = {"logits": f32(logits), "labels": labels}
        made |= {} if smoothing is None else {"smoothing": smoothing}
        return made if pad_id == PAD else {**made, "pad_id": pad_id}

    return inputs


def _nothing_to_lose(rng: np.random.Generator) -> Inputs:
    """No smoothing, and so sure of some words that they cost exactly nothing: they are words all the same."""
    inputs = _loss((4, 4, 4), 4, 9, 0.0)(rng)
    sure = inputs["logits"][0]
    np.put_along_axis(sure, inputs["labels"][0, :, None], np.float32(1000), axis=-1)
    return inputs


def _huge_logits(rng: np.random.Generator) -> Inputs:
    inputs = _loss((3, 5), 5, 8, 0.1)(rng)
    return {**inputs, "logits": f32(100 * inputs["logits"])}


def _loss_with_more_padding(rng: np.random.Generator) -> list[Inputs]:
    inputs = _loss((3, 6, 4), 6, 11, 0.1)(rng)
    more = f32(normal(rng, 3, 4, 11))
    return [
        inputs,
        {
            **inputs,
            "logits": np.concatenate([inputs["logits"], more], axis=1),
            "labels": np.pad(inputs["labels"], ((0, 0), (0, 4)), constant_values=PAD),
        },
    ]


def loss_is_a_finite_number(inputs: Inputs, outputs: Outputs) -> np.ndarray:
    """The loss is one finite number."""
    return np.array(np.isfinite(outputs["loss"]).all() and outputs["loss"].ndim == 0)


label_smoothed_loss = Exercise(
    name="label_smoothed_loss",
    returns=("loss",),
    call=call_with_tensors,
    cases=(
        Case(
            "no padding, no smoothing: plain cross-entropy; then some words cost exactly nothing",
            together(_loss((4, 4, 4), 4, 9, 0.0, padding_is_likely=True), _nothing_to_lose),
        ),
        Case(
            "no padding, the default's smoothing; then 700 classes",
            together(_loss((4, 4, 4), 4, 9, None), _loss((9, 9, 9), 9, 700, None)),
        ),
        Case("sentences of 3, 6 and 4 words, smoothing 0.1", _loss((3, 6, 4), 6, 11, 0.1)),
        Case(
            "sentences of 7 and 1 words, smoothing 0.3; then a single word",
            together(_loss((7, 1), 7, 10, 0.3), _loss((1,), 4, 9, 0.2)),
        ),
        Case("padded with another id: pad_id=6, 0 is a word", _loss((5, 2, 4), 5, 8, 0.2, pad_id=6)),
        Case("logits of several hundred", _huge_logits),
        Case("four more columns of padding", _loss_with_more_padding, padding_changes_no_loss),
        Case("gradients reach the logits", _loss((6, 2), 6, 9, 0.2), reaches=("logits",)),
    ),
    backward=sent_back(a_function),
    properties=(loss_is_a_finite_number,),
)

# ---------------------------------------------------------------------------------- warmup_schedule


def _rate(of_warmup: Sequence[float], factor: bool = False):
    """Rates at these parts of the warm-up's length, which is drawn, a multiple of 4; at 0 stands the first step."""

    def inputs(rng: np.random.Generator) -> list[Inputs]:
        drawn = {
            "d_model": int(rng.integers(64, 600)),
            "warmup_steps": 4 * int(rng.integers(250, 500)),  # three quarters are more than any d_model here
        }
        drawn |= {"factor": round(rng.uniform(0.4, 0.9), 2)} if factor else {}
        return [{"step": max(1, round(part * drawn["warmup_steps"])), **drawn} for part in of_warmup]

    return inputs


def _around_a_short_warmup(rng: np.random.Generator) -> list[Inputs]:
    """Where one step more or less makes a difference."""
    drawn = {"d_model": int(rng.integers(64, 600)), "warmup_steps": int(rng.integers(8, 20))}
    return [{"step": drawn["warmup_steps"] + more, **drawn} for more in (-1, 0, 1)]


def peak_at_the_end_of_warmup(runs: list[Run]) -> np.ndarray:
    """The rate grows in proportion to the step until the warm-up ends, then falls with the step's square root."""
    half, three_quarters, peak, twice, four_times = (run[1]["rate"] for run in runs)
    return np.isclose(
        [half / peak, three_quarters / peak, twice / peak, four_times / peak],
        [0.5, 0.75, 0.5**0.5, 0.5],
        rtol=1e-3,
    )


warmup_schedule = Exercise(
    name="warmup_schedule",
    returns=("rate",),
    rtol=1e-4,
    atol=1e-10,
    cases=(
        Case("the first step", _rate([0])),
        Case("a step in the warm-up, with a factor below 1", _rate([0.33], factor=True)),
        Case("the last step of a short warm-up, and the steps before and after it", _around_a_short_warmup),
        Case("long after the warm-up, with a factor below 1", _rate([5, 30], factor=True)),
        Case("before, at and after the peak", _rate([0.5, 0.75, 1, 2, 4]), peak_at_the_end_of_warmup),
    ),
)

# ---------------------------------------------------------------------------------- train_step


def _tiny_model(weights: Mapping[str, np.ndarray]) -> nn.Module:
    """A model that is called like the Transformer, small enough to follow by hand; notes the mode that it and its part ran in."""
    import torch

    class TinyModel(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            for name, array in weights.items():
                self.register_parameter(name, torch.nn.Parameter(torch.from_numpy(array.copy())))
            self.part = torch.nn.Identity()
            self.modes: list[bool] = []

        def forward(self, source_ids: torch.Tensor, target_ids: torch.Tensor) -> tuple[torch.Tensor, None]:
            self.modes.append(self.training and self.part.training)
            source = self.source_embedding[source_ids].mean(dim=1, keepdim=True)
            hidden = torch.tanh(self.target_embedding[target_ids] + source)
            return hidden @ self.output_weight + self.output_bias, None

    return TinyModel()


def _steps(rates: Sequence[float], padded: bool = False, smoothing: float | None = None, scale: float = 1.0):
    """Steps of a model whose output weights have about this size: with large ones, so are the gradients."""

    def inputs(rng: np.random.Generator) -> Inputs:
        width, steps = 5, []
        for number, rate in enumerate(rates):
            lengths = TARGET_LENGTHS - number if padded else np.full(BATCH, TARGET_LEN - number)
            labels = _ids(rng, lengths, TARGET_LEN - number, TARGET_WORDS)
            labels[np.arange(BATCH), lengths - 1] = EOS
            steps.append(
                {
                    "source_ids": _ids(rng, LENGTHS, SOURCE_LEN, SOURCE_WORDS),
                    "labels": labels,
                    "learning_rate": rate,
                    **({} if smoothing is None else {"smoothing": smoothing}),
                }
            )
        return {
            "weights": {
                "source_embedding": f32(normal(rng, SOURCE_WORDS, width)),
                "target_embedding": f32(normal(rng, TARGET_WORDS, width)),
                "output_weight": f32(normal(rng, width, TARGET_WORDS, scale=scale)),
                "output_bias": f32(normal(rng, TARGET_WORDS, scale=0.3)),
            },
            "steps": steps,
        }

    return inputs


_SETTINGS = {"betas", "dampening", "eps", "maximize", "momentum", "nesterov", "weight_decay"}
"""What PyTorch's optimizers read in a group besides the learning rate."""


def _call_train_step(learner: Callable, inputs: Inputs) -> dict[str, np.ndarray]:
    import torch

    model = _tiny_model(inputs["weights"]).eval()  # as an evaluation may have left it
    for weight in model.parameters():
        weight.grad = torch.full_like(weight, 0.2)  # as another loss may have left it
    optimizer = DescentWithDecay(model.parameters(), lr=0.01)
    optimizer.param_groups = [  # as a scheduler may have left them
        {"params": [weight], "lr": 0.01 * number, "initial_lr": 0.4}
        for number, weight in enumerate(model.parameters(), 1)
    ]
    with one_thread():
        given = {"model": model, "optimizer": optimizer}
        losses = [call_function(learner, given | tensors(step)) for step in inputs["steps"]]
    if any(loss is None for loss in losses):
        raise TypeError("it returned None instead of the loss.")
    if more := sorted({name for group in optimizer.param_groups for name in group} & _SETTINGS):
        raise ValueError(
            f"it has set `{more[0]}` in the optimizer's groups, where the learning rate alone is to be set: how else the weights move is the "
            "optimizer's choice."
        )
    return {
        "losses": np.array([float(loss) for loss in losses]),
        "in training mode": np.array(bool(model.modes) and all(model.modes)),
        "in training mode afterwards": np.array(model.training),
        "learning rates": np.array([group["lr"] for group in optimizer.param_groups]),
        **{f"weight {name}": parameter.detach().numpy() for name, parameter in model.named_parameters()},
    }


train_step = Exercise(
    name="train_step",
    returns=(
        "losses",
        "in training mode",
        "in training mode afterwards",
        "learning rates",
        "weight source_embedding",
        "weight target_embedding",
        "weight output_weight",
        "weight output_bias",
    ),
    call=_call_train_step,
    uses=("shift_right", "label_smoothed_loss"),
    rtol=2e-5,  # a loss that is rounded to three digits is another one
    cases=(
        Case("one step, no padding", _steps([0.5])),
        Case("one step with large gradients, smoothing 0", _steps([0.5], scale=20.0, smoothing=0.0)),
        Case("one step with padded targets, smoothing 0.2", _steps([0.5], padded=True, smoothing=0.2)),
        Case("three steps with other batches and learning rates: 0.5, 0 and 0.25", _steps([0.5, 0.0, 0.25])),
    ),
    properties=(trained_in_training_mode, weights_have_moved),
)

# ---------------------------------------------------------------------------------- decoding


class ScriptedModel:
    """Stands in for a trained Transformer: it is called like one, and what it wants to say is written down.

    ``model(source_ids, target_ids)`` gives (logits (batch, tgt_len, vocabulary), None). The logits at a position
    depend on the target's ids up to there.

    Args:
        probabilities: target ids after BOS -> id of the next word -> its probability; what is not named shares
            the rest. A prefix that is not there is one that a good search does not ask about: it ends. Where the target does
            not begin with BOS, a word follows that depends on what it begins with.
        words: size of the vocabulary.
        by_source: whether the first key of a prefix is the id of the source's first word, so that every sentence
            of a batch has a script of its own.
        bos_id, eos_id, pad_id: the special ids.
        order: all ids; those that share the rest get shares that grow in this order.

    Attributes:
        sources: the sentences to translate, if it is to notice others.
        asked_in_vain: how often it was asked to continue sentences that had all ended already.
    """

    def __init__(
        self,
        probabilities: Mapping[tuple[int, ...], Mapping[int, float]],
        words: int,
        by_source: bool = False,
        bos_id: int = BOS,
        eos_id: int = EOS,
        pad_id: int = PAD,
        order: Sequence[int] = (),
    ) -> None:
        self.probabilities, self.words, self.by_source = probabilities, words, by_source
        self.order = list(order) or list(range(words))
        self.bos_id, self.eos_id, self.pad_id = bos_id, eos_id, pad_id
        self.sources: np.ndarray | None = None
        self.asked_in_vain = 0

    def train(self, mode: bool = True) -> ScriptedModel:
        """As of a module: nothing changes."""
        return self

    eval = train

    def __call__(self, source_ids: Any, target_ids: Any) -> tuple[torch.Tensor, None]:
        import torch

        for name, ids in {"source_ids": source_ids, "target_ids": target_ids}.items():
            if not isinstance(ids, torch.Tensor) or ids.is_floating_point():
                kind = ids.dtype if isinstance(ids, torch.Tensor) else type(ids).__name__
                raise TypeError(f"the model got {name} of type {kind}; it takes a tensor of whole numbers.")
        sources, targets = source_ids.numpy(), target_ids.numpy()
        if sources.ndim != 2 or targets.ndim != 2 or len(sources) not in (1, len(targets)):
            raise ValueError(
                f"the model was called with ids of the shapes {sources.shape} and {targets.shape}; it takes "
                "(batch, src_len) and (batch, tgt_len)."
            )
        if self.sources is not None and not all(row.tolist() in self.sources.tolist() for row in sources):
            raise ValueError("the model was given a source sentence that is none of those to translate.")
        ended = np.isin(targets[:, 1:], (self.eos_id, self.pad_id)).any(axis=1)
        self.asked_in_vain += bool(ended.all())
        logits = np.empty((*targets.shape, self.words), dtype=np.float32)
        for row, target in enumerate(targets.tolist()):
            source = sources[row % len(sources), 0]
            for position in range(len(target)):
                logits[row, position] = self._logits(int(source), target[: position + 1])
        return torch.from_numpy(logits), None

    def _logits(self, source: int, prefix: list[int]) -> np.ndarray:
        said = [self.eos_id if word == self.pad_id else word for word in prefix[1:]]
        key = (source, *said) if self.by_source else tuple(said)
        if prefix[0] == self.bos_id:
            named = self.probabilities.get(key, {self.eos_id: 0.6})
        if (
            prefix[0] != self.bos_id or said.count(self.eos_id) > 1
        ):  # after its end a real model says anything
            ordinary = [word for word in self.order if word not in (self.bos_id, self.eos_id, self.pad_id)]
            named = {ordinary[prefix[0] % len(ordinary)]: 0.6}
        others = [word for word in self.order if word not in named and word != self.bos_id]
        # Other shares at every length: else "x y" and "y x" would be equally probable, and rounding would choose.
        shares = np.linspace(1, 1.5 + 0.1 * len(prefix), len(others))
        rest = (1 - sum(named.values())) * shares / shares.sum()
        probabilities = np.ones(self.words)
        probabilities[list(named)] = list(named.values())
        probabilities[others] = rest
        # Logits are no log-probabilities: any number may be added to all of them. What is never said has a very low one.
        # And none of them need be above 0.
        logits = np.log(probabilities) - 15 + 0.7 * len(prefix) + 0.1 * self.order.index(prefix[-1])
        logits[self.bos_id] = -20_000
        return logits


def _normalised(ids: Any, width: int, pad_id: int) -> np.ndarray:
    """Sentences (lists, or rows of a tensor) as an array with at least ``width`` columns, padded at the end."""
    rows = [[int(word) for word in row] for row in ids]
    width = max([width, *map(len, rows)])
    return np.array([row + [pad_id] * (width - len(row)) for row in rows], dtype=np.int64)


def _around(rng: np.random.Generator, eos_id: int, ids: set[int]) -> list[int]:
    """Ids in an order of chance, in turn one below EOS and one above it as long as there are both."""
    below, above = (
        [int(id) for id in rng.permutation([id for id in sorted(ids) if (id < eos_id) == low])]
        for low in (True, False)
    )
    both = [id for pair in zip(below, above, strict=False) for id in pair]
    return both + below[len(both) // 2 :] + above[len(both) // 2 :]


def _scripts(
    lengths: Sequence[int], max_len: int, ids: Mapping[str, int] | None = None, padded: bool = False
):
    """A batch of sentences of which each is the most probable continuation at every step.

    After its end a script goes on with other words, and so does not hide who reads on.

    Args:
        padded: the second source is a single word and padding, however long its translation is.
    """
    special = {"bos_id": BOS, "eos_id": EOS, "pad_id": PAD, **(ids or {})}

    def inputs(rng: np.random.Generator) -> Inputs:
        names = 10 + rng.permutation(len(lengths))
        probabilities: dict[tuple[int, ...], dict[int, float]] = {}
        for name, length in zip(names.tolist(), lengths, strict=True):
            words = _around(rng, special["eos_id"], set(range(10, 30)) - set(special.values()))
            words = [*islice(cycle(words), max_len + 2)]
            words[2] = words[1]  # a word may follow itself
            if ids:  # where padding has another id, 0 is a word like any other
                words[0] = 0
            script = [*words[:length], special["eos_id"], *words[length:]]
            for place, word in enumerate(script):
                # A rival nearly as probable: whoever draws by chance, even carefully, leaves the script.
                rival = words[(place + 3) % len(words)]
                probabilities[(name, *script[:place])] = {word: 0.46} | (
                    {rival: 0.42} if rival != word else {}
                )
        source = rng.choice(sorted(set(range(10, 30)) - set(special.values())), (len(lengths), 3))
        source[:, 0] = names
        if padded:
            source[1, 1:] = special["pad_id"]
        model = ScriptedModel(probabilities, words=30, by_source=True, **special)
        model.sources = source.copy()
        return {"model": model, "source_ids": source, "max_len": max_len, **(ids or {})}

    return inputs


def _call_greedy(learner: Callable, inputs: Inputs) -> dict[str, np.ndarray]:
    ids = _whole_numbers(call_with_tensors(learner, inputs))
    if ids is None:
        raise TypeError("it returned None instead of the ids.")
    return {
        "ids": _normalised(ids, inputs["max_len"], inputs.get("pad_id", PAD)),
        "stopped in time": np.array(inputs["model"].asked_in_vain == 0),
    }


greedy_decode = Exercise(
    name="greedy_decode",
    returns=("ids", "stopped in time"),
    call=_call_greedy,
    cases=(
        Case("one sentence of 4 words; then one of 60", together(_scripts((4,), 9), _scripts((60,), 70))),
        Case(
            "three sentences of 5, 8 and 0 words end at different steps",
            _scripts((5, 8, 0), 9, padded=True),
        ),
        Case("two sentences of 5 and 2 words, cut off after 4", _scripts((5, 2), 4)),
        Case(
            "other ids: pad 12, begin 15, end 20",
            _scripts((2, 4), 7, {"pad_id": 12, "bos_id": 15, "eos_id": 20}),
        ),
    ),
    properties=(stops_when_all_have_ended,),
)

# ---------------------------------------------------------------------------------- beam_search

END = "end"
_Tree = Mapping[str, Mapping[str, float]]

GARDEN_PATH: _Tree = {  # the better first word leads nowhere; "a d" would win in the end, but is no longer among the best two
    "": {"a": 0.5, "b": 0.4},
    "a": {"c": 0.4, "d": 0.3, END: 0.1},
    "a c": {END: 0.5},
    "a d": {"f": 0.99},
    "a d f": {END: 0.99},
    "b": {"e": 0.9},
    "b e": {END: 0.6},
}
CERTAIN: _Tree = {
    "": {"a": 1 - 1e-9},
    "a": {"a": 1 - 1e-9},
    "a a": {END: 1 - 1e-9},
}  # a word that comes twice
SHORT_OR_LONG: _Tree = {  # the short sentence is more probable, the long one is so a word, but only in the end
    "": {"a": 0.45, "b": 0.35},
    "a": {END: 0.5, "d": 0.2},
    "b": {"c": 0.6},
    "b c": {"d": 0.95},
    "b c d": {END: 0.95},
    "a d": {END: 0.4},
}
CROWDED: _Tree = {  # a short sentence ends early; of two long ones the lesser at first is the best in the end
    "": {"a": 0.42, "b": 0.5},
    "a": {END: 0.72},
    "b": {"c": 0.9},
    "b c": {"d": 0.5, "e": 0.46},
    "b c d": {"f": 0.3, "g": 0.25},
    "b c e": {"f": 0.96},
    "b c d f": {END: 0.4},
    "b c e f": {END: 0.96},
}
CUT_OFF: _Tree = {  # of the three best after three words one has ended, which leaves no place for the one that would win
    "": {"a": 0.5, "b": 0.45},
    "a": {END: 0.65},
    "b": {"c": 0.95},
    "b c": {"d": 0.55, "e": 0.4},
    "b c d": {END: 0.2},
    "b c e": {"f": 0.99},
    "b c e f": {END: 0.99},
}
COMEBACK: _Tree = {  # a short sentence has ended and is only second; what was better turns out to lead nowhere
    "": {"a": 0.5, "b": 0.45},
    "a": {END: 0.5},
    "b": {"c": 0.9},
    "b c": {"d": 0.2, "e": 0.16},
    "b c d": {END: 0.5},
}
OVERTAKEN: _Tree = {  # a short sentence that has ended drops out of the beam; what overtook it ends worse
    "": {"a": 0.5, END: 0.45},
    "a": {"b": 0.5, "c": 0.45},
    "a b": {END: 0.2},
    "a c": {END: 0.2},
}
KEPT_TOO_LONG: _Tree = {  # a sentence that has ended drops out for the one that wins
    "": {"a": 0.5, "b": 0.3, END: 0.15},
    "a": {"c": 0.6, "d": 0.38},
    "b": {"e": 0.9},
    "a c": {END: 0.2},
    "a d": {END: 0.99},
    "b e": {END: 0.2},
}
ALWAYS_AHEAD: _Tree = {  # the long sentence is the best after every word, and its sum is lower than the short one's
    "": {"a": 0.6, "b": 0.33},
    "a": {"c": 0.6},
    "b": {END: 0.91},
    "a c": {END: 0.75},
}
TWO_ENDED: _Tree = {  # two of the three have ended; if the lesser of them made way, what comes then would win
    "": {"a": 0.4, "b": 0.3, "c": 0.2},
    "a": {END: 0.6},
    "b": {END: 0.6},
    "c": {"d": 0.5, "e": 0.4},
    "c d": {END: 0.1},
    "c e": {"f": 0.99},
    "c e f": {END: 0.99},
}
LONG: _Tree = {" ".join("a" * place): {"a": 0.9} for place in range(60)} | {" ".join("a" * 60): {END: 0.9}}
THIRD_AT_FIRST: _Tree = {  # all three of the beam continue the same hypothesis, and the last of them wins: twice
    "": {"a": 0.36, "b": 0.33, "c": 0.28},
    "a": {END: 0.2},
    "b": {END: 0.2},
    "c": {"d": 0.34, "e": 0.33, "f": 0.31},
    "c d": {END: 0.3},
    "c e": {END: 0.25},
    "c f": {END: 0.99},
}
LAST_AT_FIRST: _Tree = {  # the seventh-best first word leads to the best sentence
    "": {"a": 0.16, "b": 0.15, "c": 0.145, "d": 0.14, "e": 0.135, "f": 0.13, "g": 0.125},
    "g": {END: 0.99},
    **{word: {END: 0.1} for word in "abcdef"},
}
SILENT: _Tree = {"": {END: 0.6, "a": 0.3}, "a": {"b": 0.9}, "a b": {END: 0.9}}
ENDLESS: _Tree = {
    "": {"a": 0.5, "b": 0.4},
    "a": {"a": 0.5, "b": 0.3},
    "b": {"c": 0.9},
    "b c": {"d": 0.8, "e": 0.15},
    "b c d": {"e": 0.7, "a": 0.2},
    "a a": {"a": 0.5},
}


TELLING = ((5997, 3, 1.0), (5273, 3, 1.0), (589, 3, 1.0), (62, 2, 1.0), (2163, 2, 0.0), (3215, 3, 0.0))
"""Number, beam_size and length_penalty. Of 6,000 trees drawn, these tell apart best: each of fourteen wrong ways of keeping a beam finds
another sentence on two of them at least."""


def _drawn(number: int, length_penalty: float) -> _Tree:
    """At each of five steps any of three words or the end, with shares drawn at random. The tree is the same for every seed of
    a check, so that a mistake shows at all of them or at none. No two hypotheses have the same score, not even rounded."""
    rng = np.random.default_rng(number)
    while True:
        tree: dict[str, dict[str, float]] = {}
        scores, running = [], {"": 0.0}
        for length in range(1, 6):
            longer = {}
            for prefix, total in running.items():
                drawn = rng.random(4) ** 3
                shares = (0.02 + 0.9 * drawn / drawn.sum()).tolist()
                tree[prefix] = dict(zip(("a", "b", "c", END), shares, strict=True))
                longer |= {
                    f"{prefix} {word}".strip(): total + np.log(tree[prefix][word]) for word in tree[prefix]
                }
            scores += [total / length**length_penalty for total in longer.values()]
            running = {prefix: total for prefix, total in longer.items() if not prefix.endswith(END)}
        if np.diff(np.sort(scores)).min() > 1e-5:
            return tree


def _tree(
    tree: _Tree,
    beam_size: int,
    length_penalty: float | None,
    max_len: int = 8,
    ids: Mapping[str, int] | None = None,
):
    special = {"bos_id": BOS, "eos_id": EOS, **(ids or {})}

    def inputs(rng: np.random.Generator) -> Inputs:
        free = _around(rng, special["eos_id"], set(range(0 if ids else 3, 15)) - set(special.values()))
        if ids:  # where padding is no other id's name, 0 is a word like any other
            free.remove(0)
            free.insert(4, 0)
        letters = dict(zip("abcdefg", free, strict=False))
        named = {**letters, END: special["eos_id"]}
        probabilities = {
            tuple(named[word] for word in prefix.split()): {
                named[word]: chance for word, chance in following.items()
            }
            for prefix, following in tree.items()
        }
        order = [*named.values()]
        order += [word for word in range(15) if word not in order]
        model = ScriptedModel(probabilities, words=15, **special, pad_id=-1, order=order)
        model.sources = rng.integers(8, 15, (1, 5))
        return {
            "model": model,
            "source_ids": model.sources.copy(),
            "beam_size": beam_size,
            "max_len": max_len,
            **({} if length_penalty is None else {"length_penalty": length_penalty}),
            **(ids or {}),
        }

    return inputs


def _call_beam(learner: Callable, inputs: Inputs) -> dict[str, np.ndarray]:
    import torch

    with one_thread():
        ids, score = _pair(call_function(learner, tensors(inputs)), "(ids, score)")
    if not isinstance(ids, torch.Tensor):
        raise TypeError(f"ids is a {type(ids).__name__}; expected a torch.Tensor.")
    if ids.ndim != 1:
        raise TypeError(f"ids has shape {tuple(ids.shape)}; expected (length,): it is one sentence.")
    return {"ids": np.array(_whole_numbers(ids).tolist(), dtype=np.int64), "score": np.array(float(score))}


def scores_are_of_probabilities(inputs: Inputs, outputs: Outputs) -> np.ndarray:
    """The score comes from log-probabilities, so it is not above 0."""
    return outputs["score"] <= 0


beam_search = Exercise(
    name="beam_search",
    returns=("ids", "score"),
    call=_call_beam,
    cases=(
        Case(
            "beam_size 2 finds what greedy search misses; a model that is certain of every word",
            together(_tree(GARDEN_PATH, 2, None), _tree(CERTAIN, 2, 1.0)),
        ),
        Case(
            "beam_size 1 is greedy search; a model that ends at once; one of 60 words",
            together(_tree(GARDEN_PATH, 1, 1.0), _tree(SILENT, 1, 1.0), _tree(LONG, 1, 1.0, max_len=70)),
        ),
        Case("a short and a long sentence, length_penalty 1", _tree(SHORT_OR_LONG, 2, 1.0)),
        Case(
            "the same for two models, length_penalty 0: sums are compared; then length_penalty 2",
            together(
                _tree(SHORT_OR_LONG, 2, 0.0), _tree(SHORT_OR_LONG, 2, 0.0), _tree(SHORT_OR_LONG, 2, 2.0)
            ),
        ),
        Case(
            "seven models in which an ended sentence drops out, wins, or takes another's place",
            together(
                _tree(CROWDED, 2, 1.0),
                _tree(OVERTAKEN, 2, 1.0),
                _tree(COMEBACK, 2, 1.0),
                _tree(CUT_OFF, 2, 1.0),
                _tree(TWO_ENDED, 3, 1.0),
                _tree(KEPT_TOO_LONG, 3, 1.0),
                _tree(ALWAYS_AHEAD, 2, 1.0),
            ),
        ),
        Case(
            "other ids; no sentence ends within max_len=4",
            _tree(ENDLESS, 2, 1.0, max_len=4, ids={"bos_id": 4, "eos_id": 9}),
        ),
        Case(
            "beam_size 3: other ids, and the third-best word is right; 7: the seventh-best",
            together(
                _tree(SHORT_OR_LONG, 3, 0.6, ids={"bos_id": 4, "eos_id": 9}),
                _tree(THIRD_AT_FIRST, 3, 1.0),
                _tree(LAST_AT_FIRST, 7, 1.0),
            ),
        ),
        Case(
            "six models of three words; beam_size 2 and 3, length_penalty 1 and 0",
            together(
                *[_tree(_drawn(number, penalty), size, penalty, 5) for number, size, penalty in TELLING]
            ),
        ),
    ),
    properties=(scores_are_of_probabilities,),
)
