"""Lab 06: the Transformer of lab 05 once more, in Keras 3 on TensorFlow, with the interfaces that many courses use.

A check constructs the learner's layer with small sizes that all differ, calls it once, so that Keras makes its
variables, and then sets each of them by the name of the part that it belongs to: nothing depends on a seed. Dropout is
tried at rate 1: in training a sub-layer's output is dropped as a whole, otherwise not at all, and both are exact.
What trains or decodes is given a tiny model in place of the Transformer.
"""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import cycle, islice, zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from course_utils.cases.forms import only
from course_utils.cases.keras_layers import (
    a_function,
    built,
    built_as_it_goes,
    fill,
    plain_errors,
    sent_back,
    tensors,
)
from course_utils.cases.properties import at_words, f32, normal, together, weights_have_moved
from course_utils.cases.translation import (
    BATCH,
    BOS,
    EOS,
    INNER,
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
from course_utils.cases.translation import (
    LAYER as SIZES,
)
from course_utils.checking.exercise import Case, Exercise, Inputs, Outputs, Run, call_function

if TYPE_CHECKING:
    import keras
    import tensorflow as tf

MAX_LEN = 11
EPS = 0.02  # of the LayerNormalizations: large enough to be noticed where it is not handed on
LAYER = SIZES | {"dropout_rate": 1.0, "layernorm_eps": EPS}

SECONDS = 30.0  # TensorFlow may have to be imported, and Keras makes a layer's variables at its first call

READY_MADE = (  # attention and LayerNormalization are building blocks here; whole Transformer layers are not
    "torch.nn.Transformer",
    "torch.nn.TransformerEncoderLayer",
    "torch.nn.TransformerDecoderLayer",
)

# ---------------------------------------------------------------------------------- calling a learner's code


def call_with_tensors(learner: Callable, inputs: Inputs) -> Any:
    """Calls a function on tensors, by keyword, or in order if parameters were renamed."""
    with plain_errors():
        return call_function(learner, tensors(inputs))


def _call_for_tensors(learner: Callable, inputs: Inputs) -> Any:
    """A call of a function that promises a tensor: a number has the right value, but nothing in TensorFlow can go on with it."""
    import tensorflow as tf

    if _IN_A_GRAPH not in inputs:
        return only(tf.Tensor, call_with_tensors(learner, inputs))
    given = tensors({name: value for name, value in inputs.items() if name != _IN_A_GRAPH})
    with plain_errors(), _no_advice():
        return tf.function(lambda: only(tf.Tensor, call_function(learner, given)))()


_IN_A_GRAPH = "in a graph"
"""An input of this name says so; a learner's function does not get it."""

ARRAYS = ("x", "enc_output")  # handed over in order; Keras takes everything else by keyword only
OPTIONS = ("training", "mask", "look_ahead_mask", "padding_mask")


def _call_layer(kind: str) -> Callable[[Callable, Inputs], Any]:
    """A call that makes a layer, sets its weights, and runs it.

    Args:
        kind: what it is: the name of a function of ``course_utils.models.keras_translator``.
    """

    run = _run_layer(kind)

    def call(learner: Callable, inputs: Inputs) -> Any:
        with plain_errors():
            found, _ = run(learner, tensors(inputs))
        return found

    return call


def _parts(kind: str) -> Callable[[str, Any], Any]:
    """A function of ``course_utils.models.keras_translator`` that names a layer's variables."""
    from course_utils.models import keras_translator

    parts = getattr(keras_translator, kind)
    return partial(parts, width=WIDTH) if kind == "feed_forward" else parts


def _run_layer(kind: str) -> Callable[[Callable, Mapping[str, Any]], tuple[Any, dict[str, Any]]]:
    """Makes a layer, sets its weights, and runs it on tensors: what it returned, and its variables by name."""

    def run(learner: Callable, given: Mapping[str, Any]) -> tuple[Any, dict[str, Any]]:
        arrays = [given[name] for name in ARRAYS if name in given]
        options = {name: given[name] for name in OPTIONS if name in given}
        layer = built(learner, given["config"], lambda new: new(*arrays, **{**options, "training": False}))
        parts = _parts(kind)
        fill(layer, given["weights"], parts)
        if before := given.get(_BEFORE):
            _ask(layer, tensors(before))
        if given.get("in a graph of any length"):
            return _in_a_graph(layer, arrays, options), dict(parts("", layer))
        return layer(*arrays, **options), dict(parts("", layer))

    return run


_BEFORE = "asked before"
"""An input of this name has inputs that the same layer answers first: it must not keep anything of them."""


def _ask(layer: Callable, given: Mapping[str, Any]) -> None:
    layer(
        *(given[name] for name in ARRAYS if name in given),
        **{name: given[name] for name in OPTIONS if name in given},
    )


def _in_a_graph(layer: Callable, arrays: Sequence[Any], options: Mapping[str, Any]) -> Any:
    """What a layer gives in a graph for batches of every size, as the lab makes them."""
    import tensorflow as tf

    signature = [tf.TensorSpec([None, None, *array.shape[2:]], array.dtype) for array in arrays]
    with _no_advice():
        return tf.function(lambda *arrays: layer(*arrays, **options), input_signature=signature)(*arrays)


# ---------------------------------------------------------------------------------- inputs


Weights = dict[str, np.ndarray]


def _layer(rng: np.random.Generator, prefix: str, attentions: Sequence[str]) -> Weights:
    weights = feed_forward_weights(rng, f"{prefix}feed_forward")
    for name in attentions:
        for role in ("query", "key", "value", "output"):
            weights |= linear(rng, f"{prefix}{name}.w_{role}", WIDTH, WIDTH)
    for number in range(1, len(attentions) + 2):
        weights |= norm(rng, f"{prefix}norm{number}")
    return weights


ENCODER, DECODER = ("self_attention",), ("self_attention", "cross_attention")
ENCODER_PARTS, DECODER_PARTS = (*ENCODER, "feed_forward"), (*DECODER, "feed_forward")


def _stack(
    rng: np.random.Generator,
    attentions: Sequence[str],
    num_layers: int,
    words: int,
    norm_first: bool,
    prefix: str = "",
) -> Weights:
    weights = {f"{prefix}embedding.weight": f32(normal(rng, words, WIDTH, scale=WIDTH**-0.5))}
    for number in range(num_layers):
        weights |= _layer(rng, f"{prefix}layers.{number}.", attentions)
    return weights | (norm(rng, f"{prefix}norm") if norm_first else {})


def _whole(rng: np.random.Generator, norm_first: bool) -> Weights:
    return {
        **_stack(rng, ENCODER, 1, SOURCE_WORDS, norm_first, "encoder."),
        **_stack(rng, DECODER, 1, TARGET_WORDS, norm_first, "decoder."),
        **linear(rng, "final_linear", TARGET_WORDS, WIDTH),
    }


def _source_lengths(source_len: int) -> np.ndarray:
    """Some sources are longer than their target and some shorter where both have as many columns: neither padding is part of the other."""
    return np.roll(LENGTHS, int(source_len == TARGET_LEN)).clip(max=source_len)


def source_mask(source_len: int = SOURCE_LEN) -> np.ndarray:
    """(batch, 1, 1, src_len), True at the source sentences' words."""
    return real_words(_source_lengths(source_len), source_len)[:, None, None, :].copy()


def _ids(rng: np.random.Generator, lengths: np.ndarray, longest: int, words: int) -> np.ndarray:
    ids = rng.integers(4, words, (len(lengths), longest), dtype=np.int32)
    return np.where(real_words(lengths, longest), ids, np.int32(PAD))


def _states(rng: np.random.Generator, *shape: int) -> np.ndarray:
    """What comes out of a layer: rows of WIDTH numbers."""
    return f32(normal(rng, *shape, WIDTH))


COPIES, RATE = 100, 0.4
LAST = {  # sub-layer: what makes its output
    "self_attention": "self_attention.w_output",
    "cross_attention": "cross_attention.w_output",
    "feed_forward": "feed_forward.linear2",
}


def _copies(make: Callable[[np.random.Generator], Inputs], alone: str):
    """Copies of one sentence, in training with a rate below 1, where all sub-layers but one give zeros."""

    def inputs(rng: np.random.Generator) -> Inputs:
        made = make(rng)
        # what dropout has changed would ask in the cross-attention, and its weights would be chance
        silent = ("cross_attention.w_query", *(last for name, last in LAST.items() if name != alone))
        return {
            **made,
            **{name: np.repeat(made[name][:1], COPIES, axis=0) for name in ARRAYS if name in made},
            "config": {**made["config"], "dropout_rate": RATE},
            "weights": {
                name: np.zeros_like(array) if name.startswith(silent) else array
                for name, array in made["weights"].items()
            },
            "many copies in training": True,
        }

    return inputs


def _with_and_without(output: Any) -> np.ndarray:
    """For each number of a sentence, the least and the greatest that it is in any copy.

    Raises:
        ValueError: it has other values, too, so dropout acts on something else than a sub-layer's output.
    """
    output = np.asarray(output)
    least, greatest = output.min(axis=0), output.max(axis=0)
    close = np.minimum(abs(output - least), abs(output - greatest)) < 1e-3
    if not close.all():
        raise ValueError(
            "in training, copies of a sentence gave more than two values for one number of the output. A number that a "
            "sub-layer gives is either dropped or scaled up, so there are only two."
        )
    return np.stack([least, greatest])


FEW, MANY = 4, 800  # features and copies: each way to drop some of the features occurs for every word


def _few_features(make: Callable[[np.random.Generator], Inputs]):
    """Copies of three words in training with a rate below 1, in a stack whose layers add nothing to them."""

    def inputs(rng: np.random.Generator) -> Inputs:
        made = make(rng)
        silent = (".w_query.", *(f".{last}." for last in LAST.values()))
        weights = {
            name: array[tuple(slice(FEW if size == WIDTH else size) for size in array.shape)]
            for name, array in made["weights"].items()
        }
        given = {**made, "x": np.tile(made["x"][:1, :3], (MANY, 1))}
        if "enc_output" in made:
            given["enc_output"] = np.tile(made["enc_output"][:1, :, :FEW], (MANY, 1, 1))
        return {
            **given,
            # so large an eps does not hide how much dropout scales up
            "config": {
                **made["config"],
                "embedding_dim": FEW,
                "num_heads": 1,
                "dropout_rate": RATE,
                "layernorm_eps": 1.0,
            },
            "weights": {
                name: np.zeros_like(array) if any(part in name for part in silent) else array.copy()
                for name, array in weights.items()
            },
            "largest and smallest values": True,
        }

    return inputs


def _extremes(output: Any) -> np.ndarray:
    """For each number of a sentence, the least and the greatest that it is in any copy."""
    output = np.asarray(output)
    return np.stack([output.min(axis=0), output.max(axis=0)])


# ---------------------------------------------------------------------------------- FullyConnected


def _feed_forward_inputs(*lead: int, scale: float = 1.0):
    def inputs(rng: np.random.Generator) -> Inputs:
        return {
            "config": {"embedding_dim": WIDTH, "fully_connected_dim": INNER},
            "weights": {
                name.removeprefix("ffn."): array for name, array in feed_forward_weights(rng, "ffn").items()
            },
            "x": scale * _states(rng, *lead),
        }

    return inputs


def _call_fully_connected(learner: Callable, inputs: Inputs) -> dict[str, Any]:
    from course_utils.models import keras_translator

    x, config = tensors(inputs)["x"], inputs["config"]
    with plain_errors():
        # one for each number of axes: a Sequential that was built for three takes no other
        layer = built(learner, {**config, "axes": x.ndim}, lambda layer: layer(x), lambda: learner(**config))
        if not hasattr(layer, "weights"):
            raise keras_translator.WrongLayer(
                f"it returned a {type(layer).__name__}; expected a Keras layer, such as a keras.Sequential."
            )
        if learner(**config) is layer:
            raise keras_translator.WrongLayer(
                "called twice, it returns one and the same layer, and every block would have the same weights."
            )
        fill(layer, inputs["weights"], _parts("feed_forward"))
        output, in_training = layer(x), _in_training(layer, x)
    same = np.shape(output) == np.shape(in_training) and np.allclose(output, in_training, atol=1e-5)
    return {"output": output, "same in training": np.array(same)}


def _in_training(layer: keras.Layer, x: tf.Tensor) -> tf.Tensor:
    """The output of the layer inside another one that is called in training: it need not take the argument itself."""
    import keras

    class Model(keras.layers.Layer):
        def call(self, x: tf.Tensor, training: bool = False) -> tf.Tensor:
            return layer(x)

    return Model()(x, training=True)


fully_connected = Exercise(
    name="FullyConnected",
    returns=("output", "same in training"),
    call=_call_fully_connected,
    seconds=SECONDS,
    cases=(
        Case("a batch of 3 sentences of 7 words", _feed_forward_inputs(BATCH, SOURCE_LEN)),
        Case(
            "2 sentences of 6 words; then x with two axes, and x with four",
            together(
                _feed_forward_inputs(2, TARGET_LEN, scale=20.0),
                _feed_forward_inputs(2),
                _feed_forward_inputs(2, 3, TARGET_LEN),
            ),
        ),
        Case(
            "gradients reach x and every weight",
            _feed_forward_inputs(BATCH, SOURCE_LEN),
            reaches=("x", "weights"),
        ),
    ),
    backward=sent_back(_run_layer("feed_forward")),
)

# ---------------------------------------------------------------------------------- EncoderLayer


def _encoder_layer_inputs(masked: bool = False, training: bool = False, norm_first: bool = False):
    def inputs(rng: np.random.Generator) -> Inputs:
        return {
            "config": {**LAYER, "norm_first": norm_first},
            "weights": _layer(rng, "", ENCODER),
            "x": _states(rng, BATCH, SOURCE_LEN),
            "training": training,
            "mask": source_mask() if masked else None,
        }

    return inputs


def _encoder_layer_padded(rng: np.random.Generator) -> list[Inputs]:
    inputs = _encoder_layer_inputs(masked=True)(rng)
    more = np.concatenate([inputs["x"], _states(rng, BATCH, 2)], axis=1)
    return [inputs, {**inputs, "x": more, "mask": source_mask(SOURCE_LEN + 2)}]


def _mask_of_every_head(rng: np.random.Generator) -> Inputs:
    made = _encoder_layer_inputs(norm_first=True)(rng)
    mask = rng.random((BATCH, LAYER["num_heads"], SOURCE_LEN, SOURCE_LEN)) < 0.5
    return {**made, "mask": mask | np.eye(SOURCE_LEN, dtype=bool)}


def _call_encoder_layer(learner: Callable, inputs: Inputs) -> Any:
    output = _call_layer("encoder_layer")(learner, inputs)
    return _with_and_without(output) if "many copies in training" in inputs else output


encoder_layer = Exercise(
    name="EncoderLayer",
    returns=("output",),
    call=_call_encoder_layer,
    uses=("FullyConnected",),
    bypasses=READY_MADE,
    seconds=SECONDS,
    cases=(
        Case(
            "post-norm, not in training, no mask; one word is all zeros",
            without_options(with_a_word_of_zeros(_encoder_layer_inputs())),
        ),
        Case(
            "post-norm, three padded sentences; once more with two more columns of padding",
            _encoder_layer_padded,
            padding_changes_no_real_word,
        ),
        Case(
            "pre-norm, three padded sentences; then another mask for every head and query",
            together(_encoder_layer_inputs(masked=True, norm_first=True), _mask_of_every_head),
        ),
        Case(
            "in training with dropout_rate=1: only the residual path is left",
            _encoder_layer_inputs(training=True),
        ),
        Case(
            "the same, pre-norm: in training the layer gives x itself, otherwise it does not",
            together(
                _encoder_layer_inputs(training=True, norm_first=True), _encoder_layer_inputs(norm_first=True)
            ),
        ),
        Case(
            f"pre-norm, dropout_rate={RATE}: in training, dropout acts on each sub-layer's output only",
            together(
                *(
                    _copies(_encoder_layer_inputs(training=True, norm_first=True), name)
                    for name in ENCODER_PARTS
                )
            ),
        ),
        Case(
            "gradients reach x and every weight",
            together(
                trained(_encoder_layer_inputs(masked=True)),
                trained(_encoder_layer_inputs(masked=True, norm_first=True)),
            ),
            reaches=("x", "weights"),
        ),
    ),
    backward=sent_back(_run_layer("encoder_layer")),
)

# ---------------------------------------------------------------------------------- Encoder


def _encoder_inputs(
    masked: bool = False,
    norm_first: bool = False,
    training: bool = False,
    words: int = SOURCE_WORDS,
    layers: int = 2,
):
    def inputs(rng: np.random.Generator) -> Inputs:
        lengths = LENGTHS if masked else np.full(BATCH, SOURCE_LEN)
        config = {
            "num_layers": layers,
            "source_vocab_size": words,
            "max_len": MAX_LEN,
            "norm_first": norm_first,
        }
        return {
            "config": {**LAYER, **config},
            "weights": _stack(rng, ENCODER, layers, words, norm_first),
            "x": _ids(rng, lengths, SOURCE_LEN, SOURCE_WORDS),
            "training": training,
            "mask": source_mask() if masked else None,
        }

    return inputs


def _with_a_zero(make: Callable[[np.random.Generator], Inputs], **lengths: int):
    """One of the words has the id 0. The masks of these names, for sentences of so many words, hide nothing."""

    def inputs(rng: np.random.Generator) -> Inputs:
        made = make(rng)
        made["x"][0, 2] = PAD
        masks = {name: np.ones((BATCH, 1, 1, length), dtype=bool) for name, length in lengths.items()}
        return {**made, **masks}

    return inputs


def _one_sentence(make: Callable[..., Callable[[np.random.Generator], Inputs]]):
    """A single sentence, of more words than the vocabulary has, for a layer that has read one of three words before."""

    def inputs(rng: np.random.Generator) -> Inputs:
        made = make(words=5, layers=3)(rng)
        alone = {name: made[name][:1] for name in ARRAYS if name in made}
        alone |= {"x": rng.integers(1, 5, (1, 60), dtype=np.int32), "in a graph of any length": True}
        config = {**made["config"], "num_heads": 2, "max_len": 70}
        short = {name: array[:, :3] for name, array in alone.items() if name in ARRAYS}
        return {**made, **alone, "config": config, _BEFORE: short}

    return inputs


def _padding_ids_changed(rng: np.random.Generator) -> list[Inputs]:
    inputs = _encoder_inputs(masked=True)(rng)
    other = _ids(rng, np.full(BATCH, SOURCE_LEN), SOURCE_LEN, SOURCE_WORDS)
    return [inputs, {**inputs, "x": np.where(real_words(LENGTHS, SOURCE_LEN), inputs["x"], other)}]


def padding_is_never_looked_at(runs: list[Run]) -> np.ndarray:
    """Whatever is in the padding, the output of the real words stays the same."""
    return np.isclose(runs[0][1]["output"], runs[1][1]["output"], atol=1e-4)


def _call_encoder(learner: Callable, inputs: Inputs) -> Any:
    output = _call_layer("encoder")(learner, inputs)
    if "largest and smallest values" in inputs:
        return _extremes(output)
    if inputs["mask"] is None or not hasattr(output, "shape"):
        return output
    return at_words(output, inputs["mask"][:, 0, 0])


encoder = Exercise(
    name="Encoder",
    returns=("output",),
    call=_call_encoder,
    uses=("EncoderLayer",),
    bypasses=READY_MADE,
    seconds=SECONDS,
    cases=(
        Case(
            "post-norm, no mask; then a mask that hides nothing, not even the id 0",
            together(
                without_options(_with_a_zero(_encoder_inputs())),
                _with_a_zero(_encoder_inputs(), mask=SOURCE_LEN),
            ),
        ),
        Case(
            "post-norm, three padded sentences; once more with other ids in the padding",
            _padding_ids_changed,
            padding_is_never_looked_at,
        ),
        Case("pre-norm, sentences of 4, 7 and 5 words", _encoder_inputs(masked=True, norm_first=True)),
        Case(
            "in training, pre-norm, dropout_rate=1: the embeddings are dropped too",
            _encoder_inputs(norm_first=True, training=True),
        ),
        Case("the same, post-norm", _encoder_inputs(training=True)),
        Case(
            f"in training, pre-norm, dropout_rate={RATE}: the least and the greatest that can come out",
            _few_features(_encoder_inputs(norm_first=True, training=True)),
        ),
        Case(
            "a sentence of 3 words, then one of 60, in a graph for every length",
            _one_sentence(_encoder_inputs),
        ),
        Case(
            "gradients reach every weight",
            together(trained(_encoder_inputs()), trained(_encoder_inputs(norm_first=True))),
            reaches=("weights",),
        ),
    ),
    backward=sent_back(_run_layer("encoder")),
)

# ---------------------------------------------------------------------------------- DecoderLayer


def _decoder_layer_inputs(
    masked: bool = False, training: bool = False, norm_first: bool = False, source_len: int = SOURCE_LEN
):
    def inputs(rng: np.random.Generator) -> Inputs:
        return {
            "config": {**LAYER, "norm_first": norm_first},
            "weights": _layer(rng, "", DECODER),
            "x": _states(rng, BATCH, TARGET_LEN),
            "enc_output": _states(rng, BATCH, source_len),
            "training": training,
            "look_ahead_mask": target_mask() if masked else None,
            "padding_mask": source_mask(source_len) if masked else None,
        }

    return inputs


def _without(name: str, make: Make) -> Make:
    """The same inputs, and None in place of one: of two masks, only the other is given."""
    return lambda rng: {**make(rng), name: None}


def _future_words_changed(rng: np.random.Generator) -> list[Inputs]:
    inputs = _decoder_layer_inputs(masked=True)(rng)
    x = inputs["x"].copy()
    x[:, 4:] = _states(rng, BATCH, TARGET_LEN - 4)
    return [inputs, {**inputs, "x": x}]


def _source_padding_changed(rng: np.random.Generator) -> list[Inputs]:
    inputs = _decoder_layer_inputs(masked=True, norm_first=True)(rng)
    real = real_words(LENGTHS, SOURCE_LEN)[..., None]
    return [
        inputs,
        {**inputs, "enc_output": np.where(real, inputs["enc_output"], _states(rng, BATCH, SOURCE_LEN))},
    ]


def source_padding_is_never_looked_at(runs: list[Run]) -> np.ndarray:
    """Changing the encoder's output at the source's padding changes no output."""
    return np.isclose(runs[0][1]["output"], runs[1][1]["output"], atol=1e-4)


def both_weights_are_shares(inputs: Inputs, outputs: Outputs) -> np.ndarray:
    """Each row of both attention weights sums to 1, and what a mask blocks gets exactly 0."""
    fine = True
    for block, mask in ((1, inputs["look_ahead_mask"]), (2, inputs["padding_mask"])):
        weights = outputs[f"attn_weights_block{block}"]
        fine &= np.isclose(weights.sum(axis=-1), 1, atol=1e-4).all() and (weights >= 0).all()
        if mask is not None:
            fine &= not weights[~np.broadcast_to(mask, weights.shape)].any()
    return np.array(fine)


def _call_decoder_layer(learner: Callable, inputs: Inputs) -> Any:
    found = _call_layer("decoder_layer")(learner, inputs)
    if "many copies in training" not in inputs or not isinstance(found, tuple | list) or len(found) != 3:
        return found
    return _with_and_without(found[0]), *(np.asarray(weights)[:1] for weights in found[1:])


decoder_layer = Exercise(
    name="DecoderLayer",
    returns=("output", "attn_weights_block1", "attn_weights_block2"),
    call=_call_decoder_layer,
    uses=("FullyConnected",),
    bypasses=READY_MADE,
    seconds=SECONDS,
    cases=(
        Case(
            "post-norm, no masks, one word all zeros; both masks, sides equally long; each mask alone",
            together(
                without_options(with_a_word_of_zeros(_decoder_layer_inputs())),
                _decoder_layer_inputs(masked=True, source_len=TARGET_LEN),
                _without("padding_mask", _decoder_layer_inputs(masked=True, source_len=TARGET_LEN)),
                _without("look_ahead_mask", _decoder_layer_inputs(masked=True, source_len=TARGET_LEN)),
            ),
        ),
        Case(
            "post-norm, both masks, and once more with other target words 4 and 5",
            _future_words_changed,
            past_is_untouched,
        ),
        Case(
            "pre-norm, both masks, and once more with the encoder's output changed at its padding",
            _source_padding_changed,
            source_padding_is_never_looked_at,
        ),
        Case(
            "in training with dropout_rate=1: only the residual path is left",
            _decoder_layer_inputs(training=True),
        ),
        Case(
            "the same, pre-norm: the layer gives x itself",
            _decoder_layer_inputs(training=True, norm_first=True),
        ),
        Case(
            f"pre-norm, dropout_rate={RATE}: in training, dropout acts on each sub-layer's output only",
            together(
                *(
                    _copies(_decoder_layer_inputs(training=True, norm_first=True), name)
                    for name in DECODER_PARTS
                )
            ),
        ),
        Case(
            "gradients reach x, the encoder's output and every weight",
            together(
                trained(_decoder_layer_inputs(masked=True)),
                trained(_decoder_layer_inputs(masked=True, norm_first=True)),
            ),
            reaches=("x", "enc_output", "weights"),
        ),
    ),
    backward=sent_back(_run_layer("decoder_layer")),
    properties=(both_weights_are_shares,),
)

# ---------------------------------------------------------------------------------- Decoder

SELF, CROSS = "decoder_layer{}_block1_self_att", "decoder_layer{}_block2_decenc_att"


def _decoder_inputs(
    masked: bool = False,
    norm_first: bool = False,
    training: bool = False,
    words: int = TARGET_WORDS,
    source_len: int = SOURCE_LEN,
    layers: int = 2,
):
    def inputs(rng: np.random.Generator) -> Inputs:
        lengths = TARGET_LENGTHS if masked else np.full(BATCH, TARGET_LEN)
        config = {
            "num_layers": layers,
            "target_vocab_size": words,
            "max_len": MAX_LEN,
            "norm_first": norm_first,
        }
        return {
            "config": {**LAYER, **config},
            "weights": _stack(rng, DECODER, layers, words, norm_first),
            "x": _ids(rng, lengths, TARGET_LEN, TARGET_WORDS),
            "enc_output": _states(rng, BATCH, source_len),
            "training": training,
            "look_ahead_mask": target_mask() if masked else None,
            "padding_mask": source_mask(source_len) if masked else None,
        }

    return inputs


def _as_long_as_each_other(rng: np.random.Generator) -> Inputs:
    return {**_decoder_inputs(masked=True, source_len=TARGET_LEN)(rng), _TWICE: True}


_TWICE = "two calls"
"""An input of this name says that a second call must not change what the first one returned."""


def _with_weights(value: Any, num_layers: int, real: np.ndarray, first: str) -> dict[str, np.ndarray]:
    """(output, attention_weights) as arrays, those of the weights with an axis for the layers in front."""
    if not isinstance(value, tuple | list) or len(value) != 2:
        raise TypeError(
            f"it returned a {type(value).__name__}; expected two values: ({first}, attention_weights)."
        )
    output, weights = value
    if not isinstance(weights, Mapping):
        raise TypeError(f"attention_weights is a {type(weights).__name__}; expected a dict.")
    arrays = {first: at_words(output, real)}
    for name, key in (("self_weights", SELF), ("cross_weights", CROSS)):
        wanted = [key.format(number) for number in range(1, num_layers + 1)]
        if missing := [key for key in wanted if key not in weights]:
            has = ", ".join(map(str, weights)) or "nothing"
            raise LookupError(f"attention_weights has no `{missing[0]}`; it has: {has}")
        layers = [at_words(weights[key], real) for key in wanted]
        if len({layer.shape for layer in layers}) > 1:
            shapes = ", ".join(str(layer.shape) for layer in layers)
            raise ValueError(
                f"attention weights of the layers have different shapes: {shapes} under {wanted}."
            )
        arrays[name] = np.stack(layers)
    return arrays


def _call_decoder(learner: Callable, inputs: Inputs) -> dict[str, np.ndarray]:
    call = _call_layer("decoder")
    value = call(learner, inputs)
    if _TWICE in inputs and isinstance(value, tuple | list) and value[-1] is call(learner, inputs)[-1]:
        raise TypeError(
            "two calls return the same dict, so the second changes what the first has returned. Make a new one in each call."
        )
    arrays = _with_weights(value, inputs["config"]["num_layers"], inputs["x"] != PAD, "output")
    if "largest and smallest values" not in inputs:
        return arrays
    weights = {name: arrays[name][:, :1] for name in ("self_weights", "cross_weights")}
    return {"output": _extremes(arrays["output"]), **weights}


decoder = Exercise(
    name="Decoder",
    returns=("output", "self_weights", "cross_weights"),
    call=_call_decoder,
    uses=("DecoderLayer",),
    bypasses=READY_MADE,
    seconds=SECONDS,
    cases=(
        Case(
            "post-norm, no masks; then masks that hide nothing, not even the id 0",
            together(
                without_options(_with_a_zero(_decoder_inputs(source_len=4))),
                _with_a_zero(_decoder_inputs(), look_ahead_mask=TARGET_LEN, padding_mask=SOURCE_LEN),
            ),
        ),
        Case(
            "post-norm, both masks; then as many source words as target words; then each mask alone",
            together(
                _decoder_inputs(masked=True),
                _as_long_as_each_other,
                _without("padding_mask", _decoder_inputs(masked=True)),
                _without("look_ahead_mask", _decoder_inputs(masked=True)),
            ),
        ),
        Case("pre-norm, both masks", _decoder_inputs(masked=True, norm_first=True)),
        Case(
            "in training, pre-norm, dropout_rate=1: the embeddings are dropped too",
            _decoder_inputs(norm_first=True, training=True),
        ),
        Case("the same, post-norm", _decoder_inputs(training=True)),
        Case(
            f"in training, pre-norm, dropout_rate={RATE}: the least and the greatest that can come out",
            _few_features(_decoder_inputs(norm_first=True, training=True)),
        ),
        Case(
            "a sentence of 3 words, then one of 60, in a graph for every length",
            _one_sentence(_decoder_inputs),
        ),
        Case(
            "gradients reach the encoder's output and every weight",
            together(trained(_decoder_inputs()), trained(_decoder_inputs(norm_first=True))),
            reaches=("enc_output", "weights"),
        ),
    ),
    backward=sent_back(_run_layer("decoder")),
)

# ---------------------------------------------------------------------------------- Transformer

WHOLE = {**LAYER, "num_layers": 1, "source_vocab_size": SOURCE_WORDS, "target_vocab_size": TARGET_WORDS}
WHOLE |= {"max_len": MAX_LEN}


def _transformer_inputs(
    padded: bool = False, norm_first: bool = False, training: bool = False, source_len: int = SOURCE_LEN
):
    def inputs(rng: np.random.Generator) -> Inputs:
        lengths = _source_lengths(source_len) if padded else np.full(BATCH, source_len)
        target_lengths = TARGET_LENGTHS if padded else np.full(BATCH, TARGET_LEN)
        return {
            "config": {**WHOLE, "norm_first": norm_first},
            "weights": _whole(rng, norm_first),
            "source_ids": _ids(rng, lengths, source_len, SOURCE_WORDS),
            "target_ids": _ids(rng, target_lengths, TARGET_LEN, TARGET_WORDS),
            "training": training,
        }

    return inputs


def _run_transformer(learner: Callable, given: Mapping[str, Any]) -> tuple[Any, dict[str, Any]]:
    from course_utils.models import keras_translator

    source, target = given["source_ids"], given["target_ids"]
    model = built(learner, given["config"], lambda model: model(source, target, training=False))
    fill(model, given["weights"], keras_translator.transformer)
    options = {name: given[name] for name in ("training",) if name in given}
    if given.get("in a graph of any length"):
        found = _in_a_graph(model, (source, target), options)
    else:
        found = model(source, target, **options)
    return found, dict(keras_translator.transformer("", model))


def _call_transformer(learner: Callable, inputs: Inputs) -> dict[str, np.ndarray]:
    with plain_errors():
        found, _ = _run_transformer(learner, tensors(inputs))
    return _with_weights(found, 1, inputs["target_ids"] != PAD, "logits")


def _for_every_length(rng: np.random.Generator) -> Inputs:
    return {
        **with_longer_tables(_transformer_inputs(padded=True))(rng),
        "in a graph of any length": True,
    }


def _source_padded(rng: np.random.Generator) -> list[Inputs]:
    inputs = _transformer_inputs(padded=True, norm_first=True)(rng)
    for name in ("source_ids", "target_ids"):  # whatever they mark elsewhere, here they are words
        inputs[name][0, 1:4] = (1, 2, 3)
    more = np.pad(inputs["source_ids"], ((0, 0), (0, 2)), constant_values=PAD)
    return [inputs, {**inputs, "source_ids": more}]


def _target_ends_changed(rng: np.random.Generator) -> list[Inputs]:
    inputs = _transformer_inputs()(rng)
    ids = inputs["target_ids"].copy()
    ids[:, 4:] = 4 + (ids[:, 4:] - 3) % (TARGET_WORDS - 4)  # other words
    return [inputs, {**inputs, "target_ids": ids}]


transformer = Exercise(
    name="Transformer",
    returns=("logits", "self_weights", "cross_weights"),
    call=_call_transformer,
    uses=("Encoder", "Decoder"),
    bypasses=READY_MADE,
    seconds=SECONDS,
    cases=(
        Case(
            "post-norm, no padding, and once more with other target words 4 and 5",
            _target_ends_changed,
            future_words_change_nothing,
        ),
        Case(
            "post-norm, padded; then both sides equally long; then every default, in one graph",
            together(
                _transformer_inputs(padded=True),
                _transformer_inputs(padded=True, source_len=TARGET_LEN),
                without_options(_for_every_length),
            ),
        ),
        Case(
            "pre-norm, with the ids 1, 2 and 3; once more with more source padding",
            _source_padded,
            source_padding_changes_nothing,
        ),
        Case(
            "in training, pre-norm, dropout_rate=1: every word gets the same logits",
            _transformer_inputs(norm_first=True, training=True),
        ),
        Case(
            "gradients reach every weight",
            together(trained(_transformer_inputs()), trained(_transformer_inputs(norm_first=True))),
            reaches=("weights",),
        ),
    ),
    backward=sent_back(_run_transformer),
)

# ---------------------------------------------------------------------------------- masked_loss


def _labelled(
    lengths: Sequence[int],
    longest: int,
    words: int,
    pad_id: int = PAD,
    scale: float = 1.5,
    dtype: str = "int32",
    padding: float = -4,
    **more: Any,
):
    """Labels, and logits of a model that has learned a little: large ones for the labels, for padding those that are given.

    It knows the later sentences of a batch better than the first one.
    """

    def inputs(rng: np.random.Generator) -> Inputs:
        ids = rng.integers(1, words, (len(lengths), longest), dtype=np.int32)
        ids[ids == pad_id] = 2 if pad_id == 1 else 1
        if pad_id != PAD:
            ids[:, 0] = PAD  # an ordinary word here
        logits = normal(rng, len(lengths), longest, words)
        best = 1 + rng.random((len(lengths), longest, 1)) + 0.8 * np.arange(len(lengths))[:, None, None]
        np.put_along_axis(logits, ids[..., None], best, axis=-1)
        logits[..., pad_id] = padding - rng.random((len(lengths), longest))
        made = {
            "labels": np.where(real_words(np.array(lengths), longest), ids, np.int32(pad_id)).astype(dtype),
            "logits": f32(scale * logits),
            **more,
        }
        return made if pad_id == PAD else {**made, "pad_id": pad_id}

    return inputs


def _with_more_padding(inputs: Inputs, rng: np.random.Generator) -> Inputs:
    logits = inputs["logits"]
    more = f32(normal(rng, logits.shape[0], 4, logits.shape[2]))
    labels = np.pad(inputs["labels"], ((0, 0), (0, 4)), constant_values=PAD)
    return {**inputs, "labels": labels, "logits": np.concatenate([logits, more], axis=1)}


def _loss_with_more_padding(rng: np.random.Generator) -> list[Inputs]:
    inputs = _labelled((2, 6, 5), 6, 11, smoothing=0.1)(rng)
    return [inputs, _with_more_padding(inputs, rng)]


def loss_is_one_finite_number(inputs: Inputs, outputs: Outputs) -> np.ndarray:
    """The loss is one finite number."""
    return np.array(np.isfinite(outputs["loss"]).all() and outputs["loss"].ndim == 0)


masked_loss = Exercise(
    name="masked_loss",
    returns=("loss",),
    call=_call_for_tensors,
    seconds=SECONDS,
    cases=(
        Case(
            "no padding, no smoothing: plain cross-entropy",
            _labelled((4, 4, 4), 4, 9, padding=2, smoothing=0.0),
        ),
        Case(
            "no padding, the default's smoothing; then 700 classes",
            together(_labelled((4, 4, 4), 4, 9), _labelled((9, 9, 9), 9, 700)),
        ),
        Case("sentences of 2, 6 and 5 words, no smoothing", _labelled((2, 6, 5), 6, 11, smoothing=0.0)),
        Case(
            "sentences of 7 and 1 words, int64 labels, smoothing 0.3",
            _labelled((7, 1), 7, 10, dtype="int64", smoothing=0.3),
        ),
        Case(
            "padded with another id: pad_id=6, 0 is a word",
            _labelled((5, 2, 4), 5, 8, pad_id=6, smoothing=0.2),
        ),
        Case("logits of several hundred", _labelled((3, 5), 5, 8, scale=150.0, smoothing=0.1)),
        Case("four more columns of padding", _loss_with_more_padding, padding_changes_no_loss),
        Case("in a graph, as `fit` runs it", _labelled((3, 6), 6, 10, smoothing=0.1, **{_IN_A_GRAPH: True})),
        Case("gradients reach the logits", _labelled((7, 2), 7, 10, smoothing=0.3), reaches=("logits",)),
    ),
    backward=sent_back(a_function),
    properties=(loss_is_one_finite_number,),
)

# ---------------------------------------------------------------------------------- masked_accuracy


def _guessed(
    words: int,
    padded: bool = True,
    some_right: bool = True,
    pad_id: int = PAD,
    dtype: str = "int32",
    sure: bool = True,
):
    """Labels of three sentences, a short, a long and a middle one, and their logits. The logits say padding at the padding (or,
    not ``sure`` of it, a word), and at one real word of each sentence that has a wrong one. They are right for one word of the
    first sentence, for all of the second, and for half of the third or more. So no other share is the accuracy by chance. Or
    they are right for none at all.
    """

    def inputs(rng: np.random.Generator) -> Inputs:
        longest = int(rng.integers(16, 60))
        lengths = [int(rng.integers(3, 7)), longest, int(rng.integers(7, 16))] if padded else [longest] * 3
        right = [1, longest, int(rng.integers((lengths[2] + 1) // 2, lengths[2]))] if some_right else [0] * 3
        made = dict(_labelled(lengths, longest, words, pad_id, dtype=dtype)(rng))
        guesses = made["labels"].copy()
        for row, (length, hits) in enumerate(zip(lengths, right, strict=True)):
            misses = rng.permutation(length)[hits:]
            others = [id for id in range(words) if id != pad_id]
            for place in misses:
                guesses[row, place] = rng.choice([id for id in others if id != guesses[row, place]])
            guesses[row, misses[:1]] = pad_id
        if not sure:
            guesses[made["labels"] == pad_id] = max(id for id in range(words) if id != pad_id)
        best = np.eye(words, dtype=np.float32)[guesses]
        made["logits"] = f32(np.where(best == 1, 4 + rng.random(best.shape), made["logits"].clip(-3, 3)))
        return made

    return inputs


def _accuracy_with_more_padding(rng: np.random.Generator) -> list[Inputs]:
    inputs = _guessed(64)(rng)
    more = _with_more_padding(inputs, rng)
    more["logits"][:, inputs["labels"].shape[1] :, PAD] = 5  # sure of the padding
    return [inputs, more]


def padding_changes_no_accuracy(runs: list[Run]) -> np.ndarray:
    """Four more columns of padding do not change the accuracy."""
    return np.isclose(runs[0][1]["accuracy"], runs[1][1]["accuracy"], atol=1e-4)


masked_accuracy = Exercise(
    name="masked_accuracy",
    returns=("accuracy",),
    call=_call_for_tensors,
    seconds=SECONDS,
    cases=(
        Case("three sentences without padding", _guessed(61, padded=False)),
        Case(
            "three padded sentences, int64 labels; then words guessed at the padding",
            together(_guessed(62, dtype="int64"), _guessed(62, sure=False)),
        ),
        Case(
            "all wrong but the padding, then some words right",
            together(_guessed(63, some_right=False), _guessed(63)),
        ),
        Case("padded with another id: pad_id=6, 0 is a word", _guessed(61, pad_id=6)),
        Case("four more columns of padding", _accuracy_with_more_padding, padding_changes_no_accuracy),
    ),
)

# ---------------------------------------------------------------------------------- WarmupSchedule


def _rates(
    steps: Sequence[int],
    warmup_steps: tuple[int, int],
    how: str = "called",
    factor: tuple[float, float] | None = None,
):
    """Rates after so many updates, with a width, a warm-up and perhaps a factor drawn from these ranges."""

    def inputs(rng: np.random.Generator) -> Inputs:
        config = {
            "embedding_dim": int(rng.integers(40, 600)),
            "warmup_steps": int(rng.integers(*warmup_steps)),
        }
        config |= {"factor": round(rng.uniform(*factor), 2)} if factor else {}
        return {"config": config, "steps": np.array(steps), "how": how}

    return inputs


def _usual_warmup(rng: np.random.Generator) -> Inputs:
    """Nothing is said of the warm-up: it has the paper's 4,000 steps."""
    return {
        "config": {"embedding_dim": int(rng.integers(40, 600))},
        "steps": np.array([0, 2]),
        "how": "called",
    }


def _around_the_peak(rng: np.random.Generator) -> Inputs:
    inputs = _rates((), (50, 200))(rng)
    quarter = inputs["config"]["warmup_steps"]
    config = {**inputs["config"], "warmup_steps": 4 * quarter}
    return {**inputs, "config": config, "steps": quarter * np.array([2, 3, 4, 8, 16]) - 1}


def _call_schedule(learner: Callable, inputs: Inputs) -> np.ndarray:
    """Rates of a schedule that is called, as an optimizer does it, or made again from its configuration first."""
    import tensorflow as tf

    with plain_errors(), _no_advice():
        schedule = learner(**inputs["config"])
        if inputs["how"] == "from its configuration":
            schedule(tf.constant(1, dtype=tf.int64))  # it may change itself when it is called
            try:
                config = schedule.get_config()
                if computed := [name for name, value in config.items() if tf.is_tensor(value)]:
                    raise RuntimeError(
                        f"`get_config` gives a tensor for {', '.join(computed)}: a file can only hold the numbers that "
                        "the schedule was made with."
                    )
                schedule = learner.from_config(config)
            except NotImplementedError as error:
                if "YOUR CODE" in str(error) or not str(error):
                    raise
                raise RuntimeError(
                    "`get_config` comes down to Keras's own, which raises NotImplementedError: a schedule has to say itself "
                    "how it was made."
                ) from None
        if inputs["how"] == "in an optimizer":
            return _descent(schedule, len(inputs["steps"]))
        rates = [schedule(tf.constant(step, dtype=tf.int64)) for step in inputs["steps"].tolist()]
        return np.array([float(rate) for rate in rates])


def _descent(schedule: Any, updates: int) -> np.ndarray:
    """What plain gradient descent takes off a weight at each update, for a gradient of 1: the learning rate."""
    import keras
    import tensorflow as tf

    weight = keras.Variable(0.0)
    optimizer = keras.optimizers.SGD(schedule)
    optimizer.build([weight])
    update = tf.function(lambda: optimizer.apply([tf.constant(1.0)], [weight]))  # as `fit` compiles it
    path = [0.0]
    for _ in range(updates):
        update()
        path.append(float(weight.numpy()))
    return -np.diff(path)


def peak_at_the_end_of_warmup(runs: list[Run]) -> np.ndarray:
    """The rate grows in proportion to the step until the warm-up ends, then falls with the step's square root."""
    half, three_quarters, peak, twice, four_times = runs[0][1]["rates"]
    return np.isclose(
        [half / peak, three_quarters / peak, twice / peak, four_times / peak],
        [0.5, 0.75, 0.5**0.5, 0.5],
        rtol=1e-3,
    )


warmup_schedule = Exercise(
    name="WarmupSchedule",
    returns=("rates",),
    call=_call_schedule,
    seconds=SECONDS,
    rtol=1e-4,
    atol=1e-10,
    cases=(
        Case(
            "the first three updates; then with the usual warm-up",
            together(_rates((0, 1, 2), (1000, 8000)), _usual_warmup),
        ),
        Case("before, at and after the peak", _around_the_peak, peak_at_the_end_of_warmup),
        Case("with a factor below 1", _rates((99, 5000), (200, 400), factor=(0.4, 0.9))),
        Case(
            "in an optimizer: what its first three updates take off a weight",
            _rates((0, 1, 2), (2, 3), "in an optimizer"),
        ),
        Case(
            "made again from what get_config says",
            _rates((9, 700), (150, 300), "from its configuration", factor=(1.2, 1.9)),
        ),
    ),
)

# ---------------------------------------------------------------------------------- train_step


def _tiny_model(weights: Weights) -> keras.Model:
    """A model that is called like the Transformer, small enough to follow by hand.

    In training it doubles what goes into its last product: a dropout that leaves nothing to chance.
    """
    import keras
    from keras import ops

    class TinyModel(keras.Model):
        def __init__(self) -> None:
            super().__init__()
            for name, array in weights.items():
                initial = keras.initializers.Constant(array)
                setattr(self, name, self.add_weight(shape=array.shape, initializer=initial, name=name))
            self.built = True

        def call(
            self, source_ids: tf.Tensor, target_ids: tf.Tensor, training: bool = False
        ) -> tuple[tf.Tensor, dict]:
            source = ops.mean(ops.take(self.source_embedding, source_ids, axis=0), axis=1, keepdims=True)
            hidden = ops.tanh(ops.take(self.target_embedding, target_ids, axis=0) + source)
            return ops.matmul(hidden * (2.0 if training else 1.0), self.output_weight), {}

    return TinyModel()


def _steps(
    count: int,
    padded: bool = False,
    compiled: bool = False,
    dtype: str = "int32",
    scale: float = 1.0,
    **options: Any,
):
    """Steps of a model whose output weights have about the size ``scale``: with large ones, so are the gradients."""

    def inputs(rng: np.random.Generator) -> Inputs:
        width = 5
        lengths = TARGET_LENGTHS if padded else np.full(BATCH, TARGET_LEN)
        labels = [_ids(rng, lengths, TARGET_LEN, TARGET_WORDS) for _ in range(count)]
        for batch in labels:
            batch[np.arange(BATCH), lengths - 1] = EOS
        return {
            "weights": {
                "source_embedding": f32(normal(rng, SOURCE_WORDS, width)),
                "target_embedding": f32(normal(rng, TARGET_WORDS, width)),
                "output_weight": f32(normal(rng, width, TARGET_WORDS, scale=scale)),
            },
            "source_ids": [_ids(rng, LENGTHS, SOURCE_LEN, SOURCE_WORDS).astype(dtype) for _ in range(count)],
            "labels": [batch.astype(dtype) for batch in labels],
            "options": options,
            "compiled": compiled,
        }

    return inputs


def _one_label(rng: np.random.Generator) -> Inputs:
    """The decoder reads BOS, whatever the only label is."""
    made = _steps(1)(rng)
    return {**made, "labels": [batch[:, :1] for batch in made["labels"]]}


def _ends_inside(rng: np.random.Generator) -> Inputs:
    """EOS among the words is a word like any other: it is no padding."""
    made = _steps(1)(rng)
    made["labels"][0][:, 1] = EOS
    return made


def _call_train_step(learner: Callable, inputs: Inputs) -> dict[str, np.ndarray]:
    """Runs the step as it is, or as a graph, as the lab does; the second batch finds the graph made for the first."""
    import keras
    import tensorflow as tf

    model, optimizer = _tiny_model(inputs["weights"]), keras.optimizers.SGD(0.5, weight_decay=0.1)
    if inputs["compiled"]:  # as the lab does: a graph should not have to make the optimizer's variables
        optimizer.build(model.trainable_variables)

    def step(source_ids: tf.Tensor, labels: tf.Tensor) -> Any:
        given = {"model": model, "optimizer": optimizer, "source_ids": source_ids, "labels": labels}
        return call_function(learner, given | inputs["options"])

    if inputs["compiled"]:  # for batches of every size, as the lab does
        kind = inputs["labels"][0].dtype
        step = tf.function(step, input_signature=[tf.TensorSpec([None, None], kind)] * 2)
    losses = []
    with plain_errors(), _no_advice():
        for source_ids, labels in zip(inputs["source_ids"], inputs["labels"], strict=True):
            losses.append(step(tf.convert_to_tensor(source_ids), tf.convert_to_tensor(labels)))
    if any(loss is None for loss in only(tf.Tensor, losses)):
        raise TypeError("it returned None instead of the loss.")
    return {
        "losses": np.array([float(np.asarray(loss).reshape(-1)[0]) for loss in losses]),
        **{f"weight {name}": getattr(model, name).numpy() for name in inputs["weights"]},
    }


@contextlib.contextmanager
def _no_advice() -> Iterator[None]:
    """TensorFlow warns of many functions that are traced one after the other; here that is meant."""
    import tensorflow as tf

    logger = tf.get_logger()
    level = logger.level
    logger.setLevel("ERROR")
    try:
        yield
    finally:
        logger.setLevel(level)


train_step = Exercise(
    name="train_step",
    returns=("losses", "weight source_embedding", "weight target_embedding", "weight output_weight"),
    call=_call_train_step,
    uses=("masked_loss",),
    seconds=SECONDS,
    cases=(
        Case(
            "one step with padded targets, smoothing 0.2; then by default, with large gradients",
            together(_steps(1, padded=True, smoothing=0.2), _steps(1, scale=20.0), _one_label, _ends_inside),
        ),
        Case(
            "two steps, compiled by tf.function, with int64 ids and bos_id=3",
            _steps(2, compiled=True, dtype="int64", smoothing=0.1, bos_id=3),
        ),
    ),
    properties=(weights_have_moved,),
)

# ---------------------------------------------------------------------------------- greedy_decode


class ScriptedModel:
    """Called like a Transformer; says, word by word, the sentence that belongs to the first id of each source.

    It does so only if the prefix is what it said so far, with BOS in front, and only outside of training; otherwise it
    answers with a word that no sentence has: in training with one, and else with one that depends on what the prefix begins with.
    What it predicts at earlier positions is right, too, so that reading another row than the last is noticed.
    """

    def __init__(
        self, scripts: Mapping[int, Sequence[int]], words: int, bos_id: int, eos_id: int, pad_id: int
    ) -> None:
        self.scripts, self.words = scripts, words
        self.bos_id, self.ends = bos_id, (eos_id, pad_id)
        self.asked_in_vain = 0

    def __call__(self, source_ids: Any, target_ids: Any, training: bool = False) -> tuple[tf.Tensor, dict]:
        import tensorflow as tf

        sources, targets = np.asarray(source_ids), np.asarray(target_ids)
        if sources.ndim != 2 or targets.ndim != 2 or len(sources) != len(targets):
            raise ValueError(
                f"the model was called with ids of the shapes {sources.shape} and {targets.shape}; it takes "
                "(batch, src_len) and (batch, tgt_len)."
            )
        self.asked_in_vain += bool(np.isin(targets[:, 1:], self.ends).any(axis=1).all())
        logits = np.zeros((*targets.shape, self.words), dtype=np.float32)
        for row, prefix in enumerate(targets.tolist()):
            script = self.scripts.get(int(sources[row, 0]), ())
            said = [self.bos_id, *script]
            # no script and no special id of a case has an id from 3 to 9
            lost = 9 if training else 3 + prefix[0] % 6
            for place in range(len(prefix)):
                known = prefix[: place + 1] == said[: place + 1] and place < len(script) and not training
                # Not all positive, and the best is not the largest in absolute value.
                logits[row, place] = -1 - np.arange(self.words) / self.words
                best = script[place] if known else lost
                logits[row, place, (best + 7) % self.words] = (
                    0.45  # whoever draws by chance, even carefully, says this
                )
                logits[row, place, best] = 0.5
        return tf.convert_to_tensor(logits), {}


def _around(rng: np.random.Generator, eos_id: int, ids: set[int]) -> list[int]:
    """Ids in an order of chance, in turn one below EOS and one above it as long as there are both."""
    drawn = rng.permutation(sorted(ids)).tolist()
    below, above = ([id for id in drawn if (id < eos_id) == low] for low in (True, False))
    return [id for pair in zip_longest(below, above) for id in pair if id is not None]


def _scripts(
    lengths: Sequence[int], max_len: int, ids: Mapping[str, int] | None = None, padded: bool = False
):
    """A batch of sentences; after its end a script goes on with other words, and does not hide who reads on.

    Args:
        padded: the second source is a single word and padding, however long its translation is.
    """
    special = {"bos_id": BOS, "eos_id": EOS, "pad_id": PAD, **(ids or {})}

    def inputs(rng: np.random.Generator) -> Inputs:
        names = (10 + rng.permutation(len(lengths))).tolist()
        scripts = {}
        for name, length in zip(names, lengths, strict=True):
            words = _around(rng, special["eos_id"], set(range(10, 29)) - set(special.values()))
            words = [*islice(cycle(words), max_len + 3)]
            if ids:  # where padding has another id, 0 is a word like any other
                words[0] = 0
            scripts[name] = [*words[:length], special["eos_id"], *words[length:]]
        ordinary = np.array(sorted(set(range(10, 30)) - set(special.values())), dtype=np.int32)
        source = rng.choice(ordinary, (len(lengths), 3))
        source[:, 0] = names
        if padded:
            source[1, 1:] = special["pad_id"]
        model = ScriptedModel(scripts, words=30, **special)
        return {"model": model, "source_ids": source, "max_len": max_len, **(ids or {})}

    return inputs


def _call_greedy(learner: Callable, inputs: Inputs) -> dict[str, np.ndarray]:
    with plain_errors():
        ids = call_function(learner, tensors(inputs))
    if ids is None:
        raise TypeError("it returned None instead of the ids.")
    if (kind := np.asarray(ids).dtype.kind) not in "iu" and np.size(ids):
        raise TypeError(
            f"it returned {'floats' if kind == 'f' else 'something else'}; expected ids: whole numbers."
        )
    rows = [[int(word) for word in np.asarray(row).reshape(-1)] for row in ids]
    if len({len(row) for row in rows}) > 1:
        lengths = ", ".join(str(len(row)) for row in rows)
        raise ValueError(
            f"it returned rows of {lengths} ids; expected a table (batch, n), filled up with pad_id."
        )
    width, pad_id = max([inputs["max_len"], *map(len, rows)]), inputs.get("pad_id", PAD)
    return {
        "ids": np.array([row + [pad_id] * (width - len(row)) for row in rows], dtype=np.int64),
        "stopped in time": np.array(inputs["model"].asked_in_vain == 0),
    }


greedy_decode = Exercise(
    name="greedy_decode",
    returns=("ids", "stopped in time"),
    call=_call_greedy,
    seconds=SECONDS,
    cases=(
        Case("one sentence of 4 words; then one of 60", together(_scripts((4,), 9), _scripts((60,), 70))),
        Case(
            "three sentences that end at different steps, after 3, 8 and 0 words",
            _scripts((3, 8, 0), 9, padded=True),
        ),
        Case("two sentences of 5 and 2 words, cut off after 4", _scripts((5, 2), 4)),
        Case(
            "other ids: pad 12, begin 15, end 20",
            _scripts((2, 4), 7, {"pad_id": 12, "bos_id": 15, "eos_id": 20}),
        ),
    ),
    properties=(stops_when_all_have_ended,),
)

# ---------------------------------------------------------------------------------- SavableTransformer


def _as_saved(how: str, dropout_rate: float):
    def inputs(rng: np.random.Generator) -> Inputs:
        return {
            "config": {**WHOLE, "norm_first": True, "layernorm_eps": 0.3, "dropout_rate": dropout_rate},
            "weights": _whole(rng, norm_first=True),
            "source_ids": _ids(rng, LENGTHS, SOURCE_LEN, SOURCE_WORDS),
            "target_ids": _ids(rng, TARGET_LENGTHS, TARGET_LEN, TARGET_WORDS),
            "how": how,
        }

    return inputs


def _call_saved(learner: Callable, inputs: Inputs) -> list[np.ndarray]:
    """The logits of a model made from another one's configuration, or after its way through a file."""
    import keras

    from course_utils.models import keras_translator

    given = tensors(inputs)
    source, target = given["source_ids"], given["target_ids"]
    # this class and no other of its name, which an earlier cell or another notebook of this process may have registered
    names = {name: learner for name in (learner.__name__, keras.saving.get_registered_name(learner))}
    with (
        plain_errors(),
        built_as_it_goes(),
        keras.saving.custom_object_scope(names),
        tempfile.TemporaryDirectory() as folder,
    ):
        model = built(learner, inputs["config"], lambda model: model(source, target, training=False))
        if type(model).build is keras.Model.build:  # one of the learner's own may want two shapes
            model.build(source.shape)  # what Keras does when it builds a model itself; the file then tells so
        keras_translator.set_weights(model, inputs["weights"])
        first = model.get_config()
        names = {*first}
        first.clear()  # others may change what they get
        config = model.get_config()
        if names - {*config}:
            raise keras_translator.WrongLayer(
                "get_config gives the same dict at every call, so anybody who changes it changes the model's, too. Make a new one each time."
            )
        if missing := [
            name for name in {**inputs["config"], **keras.Model.get_config(model)} if name not in config
        ]:
            raise keras_translator.WrongLayer(
                f"the configuration that get_config gives lacks {', '.join(missing)}."
            )
        if wrong := [name for name, given in inputs["config"].items() if config[name] != given]:
            raise keras_translator.WrongLayer(
                f"the configuration that get_config gives has another {', '.join(wrong)} than the model was made with."
            )
        layers = learner(**{**inputs["config"], "num_layers": 3}).get_config()["num_layers"]
        if layers != 3:
            raise keras_translator.WrongLayer(
                f"the configuration that get_config gives has num_layers={layers!r} for a model with num_layers=3."
            )
        from_file = inputs["how"] == "through a file"
        if 3 in (config["num_layers"], from_file and model.get_config()["num_layers"]):
            raise keras_translator.WrongLayer(
                "the models share one configuration: once a second one is made with num_layers=3, that of the first says 3, too."
            )
        if not from_file:
            small = {"max_len": 4, "source_vocab_size": 6, "target_vocab_size": 6}
            learner(**{**inputs["config"], **small}).build_from_config({"input_shape": (None, None)})
            again = learner.from_config(config)
            again(source, target, training=False)
            keras_translator.set_weights(again, inputs["weights"])
        else:
            path = Path(folder) / "model.keras"
            model.save(path)
            again = keras.saving.load_model(path, compile=False)
            if len(again.weights) < len(model.weights):  # before a call makes random ones
                raise keras_translator.WrongLayer(
                    f"when the file's weights were read, the loaded model had {len(again.weights)} variables to put them "
                    f"into, and should have had {len(model.weights)}."
                )
        says = again.get_config()
        if lost := [name for name, given in inputs["config"].items() if says.get(name, None) != given]:
            raise keras_translator.WrongLayer(
                f"the model that was made again gives a configuration in which {', '.join(lost)} is lost, or is another one: it could "
                "not be saved once more."
            )
        if again.name != model.name:
            raise keras_translator.WrongLayer(
                f"the model that was made again is named {again.name}; its configuration says {model.name}."
            )
        logits = [again(source, target, training=training)[0] for training in (False, True)]
    return [at_words(each, inputs["target_ids"] != PAD) for each in logits]


savable_transformer = Exercise(
    name="SavableTransformer",
    returns=("logits", "logits in training"),
    call=_call_saved,
    uses=("Transformer",),
    seconds=SECONDS,
    cases=(
        Case(
            "a model made from another one's configuration, dropout_rate=0",
            _as_saved("from its configuration", 0.0),
        ),
        Case("a model that was saved and loaded again, dropout_rate=1", _as_saved("through a file", 1.0)),
    ),
)
