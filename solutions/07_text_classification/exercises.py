"""Lab 07: an encoder that classifies texts, in Keras, and the honest measurements around it.

Texts are words drawn at random. A layer is constructed with small sizes that all differ, and each of its weights is set
by the name of its part: nothing depends on a seed. What comes out at padding is never used and may be anything. Dropout
is tried at rate 1, where it is exact.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from course_utils.cases.classification import call_split, new_words, no_group_on_both_sides
from course_utils.cases.forms import no_floats
from course_utils.cases.keras_layers import (
    a_function,
    built,
    built_as_it_goes,
    fill,
    plain_errors,
    sent_back,
    tensors,
)
from course_utils.cases.properties import at_words, f32, normal, together
from course_utils.cases.translation import feed_forward_weights, linear, norm
from course_utils.checking.exercise import Case, Exercise, Inputs, Outputs, Run, call_function

SECONDS = 30.0  # TensorFlow may have to be imported

# ---------------------------------------------------------------------------------- texts


def new_texts(rng: np.random.Generator, lengths: list[int], words: list[str]) -> list[str]:
    return [" ".join(rng.choice(words, length)) for length in lengths]


# ---------------------------------------------------------------------------------- samples_per_length

_ONE_WORD_EACH = ("it's", "well-known", "3.5", "e.g.")


def _rule(above: bool):
    """One text comes twice, and some words have marks within them."""

    def inputs(rng: np.random.Generator) -> Inputs:
        lengths = rng.integers(2, 7, int(rng.integers(20, 60))).tolist()
        lengths[: int(rng.integers(3, 7))] = rng.integers(20, 60, 6).tolist()[: int(rng.integers(3, 7))]
        rng.shuffle(lengths)
        lengths[-1] = lengths[0]
        ratio = len(lengths) / np.mean(lengths)
        threshold = ratio * (rng.uniform(0.75, 0.95) if above else rng.uniform(1.05, 1.3))
        texts = new_texts(rng, lengths, [*new_words(rng, 11), *_ONE_WORD_EACH])
        return {"texts": [*texts[:-1], texts[0]], "threshold": float(threshold)}

    return inputs


def _usual(count: int) -> Callable[[np.random.Generator], Inputs]:
    """Texts of one word each, ``count`` of them, which is the ratio, and no threshold is passed."""
    return lambda rng: {"texts": rng.choice(new_words(rng, 15), count).tolist()}


def _just_the_threshold(rng: np.random.Generator) -> Inputs:
    """A ratio that is exactly the threshold, however it is calculated: the mean length is a whole number, and the ratio, too."""
    mean, ratio = int(rng.integers(4, 9)), 2 * int(rng.integers(2, 6))
    apart = rng.integers(1, mean - 1, mean * ratio // 2)
    lengths = rng.permutation([*(mean - apart), *(mean + apart)]).tolist()
    return {"texts": new_texts(rng, lengths, new_words(rng, 15)), "threshold": float(ratio)}


def _just_above(rng: np.random.Generator) -> Inputs:
    """A ratio that is above its threshold, a whole number, but not when it is rounded."""
    while True:
        inputs = _rule(True)(rng)
        ratio = len(inputs["texts"]) / np.mean([len(text.split()) for text in inputs["texts"]])
        if 0.1 < ratio % 1 < 0.4:
            return {**inputs, "threshold": float(int(ratio))}


def _any_ratio(rng: np.random.Generator) -> Inputs:
    """A mark that stands alone is a word. Any ratio is above the threshold 0."""
    word, other = new_words(rng, 2)
    texts = [f"{word} - {other}", *new_texts(rng, [3, int(rng.integers(4, 9))], [word, other])]
    return {"texts": texts, "threshold": 0.0}


samples_per_length = Exercise(
    name="samples_per_length",
    returns=("ratio", "sequence_model"),
    cases=(
        Case(
            "texts of very different lengths, above and below the threshold",
            together(_rule(True), _rule(False)),
        ),
        Case("once more, with other texts, below and above", together(_rule(False), _rule(True))),
        Case(
            "the usual threshold, missed and passed; one just reached, one just passed; 0",
            together(_usual(1_500), _usual(1_501), _just_the_threshold, _just_above, _any_ratio),
        ),
    ),
)

# ---------------------------------------------------------------------------------- split_by_group


def _groups(count: int, share: tuple[float, float], sizes: tuple[int, int]):
    """Groups of which some end in the test set: not as many as by the alphabet, from the end, or by counting groups."""

    def draw(rng: np.random.Generator) -> tuple[Inputs, bool]:
        size_of = {
            f"library.algorithms.{word.title()}.{other}": int(rng.integers(*sizes))
            for word, other in zip(new_words(rng, count), new_words(rng, count), strict=True)
        }
        groups = [name for name, size in size_of.items() for _ in range(size)]
        rng.shuffle(groups)
        order = list(size_of)
        rng.shuffle(order)
        wanted = float(rng.uniform(*share))
        before = np.cumsum([0, *(size_of[name] for name in order)])
        fewest = wanted * len(groups)
        number = int(np.searchsorted(before, fewest))  # of groups that are needed
        clear = before[number - 1] + 0.6 < fewest < before[number] - 1.1  # within a group
        telling = (
            clear
            and number >= 2
            and number != int(np.ceil(wanted * count))
            and set(order[:number]) not in (set(sorted(order)[:number]), set(order[-number:]))
        )
        return {"groups": groups, "order": order, "share": wanted}, telling

    def inputs(rng: np.random.Generator) -> Inputs:
        while True:
            drawn, telling = draw(rng)
            if telling:
                return drawn

    return inputs


def _about_the_share(short: float):
    """After some groups the test set has its share, a quarter or a half of all samples, exactly; or it is so many samples short.
    A share need not be a whole number of samples."""

    def inputs(rng: np.random.Generator) -> Inputs:
        wanted = 0.25 if short % 1 else float(rng.choice([0.25, 0.5]))
        first = rng.integers(3, 8, int(rng.integers(2, 5)))
        rest = int((first.sum() + short) / wanted - first.sum())
        cuts = np.sort(rng.choice(np.arange(1, rest), 3, replace=False))
        return _in_this_order(rng, [*first.tolist(), *np.diff([0, *cuts, rest]).tolist()], wanted)

    return inputs


def _all_of_them(rng: np.random.Generator) -> Inputs:
    """A share that takes the last group, too."""
    return _in_this_order(rng, rng.integers(3, 8, 5).tolist(), 0.95)


def _none_of_them(rng: np.random.Generator) -> Inputs:
    """No sample is to be tested."""
    return _in_this_order(rng, rng.integers(3, 8, 5).tolist(), 0.0)


def _in_tenths(rng: np.random.Generator) -> Inputs:
    """Eight tenths are reached exactly by counting; 0.7 + 0.1 is less than 0.8 as a sum of floats."""
    tenth = int(rng.integers(2, 6))
    return _in_this_order(rng, [7 * tenth, tenth, tenth, *[1] * tenth], 0.8)


def _one_group(rng: np.random.Generator) -> Inputs:
    word, size = new_words(rng, 1)[0], int(rng.integers(2, 9))
    return {"groups": [word] * size, "order": [word], "share": 0.2}


def _in_this_order(rng: np.random.Generator, sizes: list[int], share: float) -> Inputs:
    order = new_words(rng, len(sizes))
    order[-4:] = (
        f"{order[0]}.b",
        f"{order[0]} ",
        order[0].upper(),
        order[0][:-1],
    )  # nearly another group's name, or a part of it
    groups = [name for name, size in zip(order, sizes, strict=True) for _ in range(size)]
    rng.shuffle(groups)
    return {"groups": groups, "order": order, "share": share}


split_by_group = Exercise(
    name="split_by_group",
    returns=("in_test",),
    call=call_split,
    cases=(
        Case(
            "12 groups of very different sizes, about a fifth for the test",
            _groups(12, (0.15, 0.28), (1, 15)),
        ),
        Case(
            "about a half; shares reached exactly or just missed; all; none; one group",
            together(
                _groups(9, (0.4, 0.6), (2, 9)),
                _about_the_share(0),
                _about_the_share(short=1),
                _about_the_share(short=0.25),
                _in_tenths,
                _all_of_them,
                _none_of_them,
                _one_group,
            ),
        ),
        Case("25 small groups, about a tenth", _groups(25, (0.08, 0.14), (1, 7))),
    ),
    properties=(no_group_on_both_sides,),
)

# ---------------------------------------------------------------------------------- bag_of_ngrams


def _bag(n: int, lengths: tuple[int, ...], few_words: bool = False):
    """Each text ends in a word of its own. A longer one repeats a word, and has one that is not in the index. One word has one letter.
    The longest text has words with a capital, an accent, digits and marks, and a full stop at its end. The index has them, too,
    and what would be left of them."""

    def inputs(rng: np.random.Generator) -> Inputs:
        names = [str(rng.choice(list("aio"))), *new_words(rng, 11 + len(lengths))]
        marked = [
            names[1].title(),
            f"{names[2]}'s",
            f"é{names[3]}",
            f"{names[4]}-{names[5]}",
            "42",
        ]
        plain = [names[2] + "s", f"e{names[3]}", names[4] + names[5], *names[1:7]]
        words, ends = names[: 4 if few_words else 10], names[12:]
        lists = []
        for length, end in zip(rng.permutation(lengths).tolist(), ends, strict=True):
            row = rng.choice(words, length).tolist()
            row = [*row, row[0], names[11], end] if length > 2 else [*row[1:], end]
            lists.append(row if length < max(lengths) else [*row, *rng.permutation(marked), f"{names[6]}."])
        found = {
            " ".join(row[start : start + size])
            for row in lists
            for size in range(2, n + 2)
            for start in range(len(row) - size + 1)
        }
        found |= {f"{one[-1]} {two[0]}" for one, two in itertools.pairwise(lists)}  # of two texts
        found |= {" ".join(row[:-1]) for row in lists if len(row) > n + 1}  # too long
        found |= {" ".join(sorted(gram.split())) for gram in found} | {
            " ".join(rng.choice(words, 2)) for _ in range(4)
        }
        kept = [gram for gram in sorted(found) if rng.random() < 0.85] + marked + words + ends[2:]
        kept = list(dict.fromkeys([*kept, f"{names[6]}.", *plain]))
        between = rng.permutation(len(kept)).tolist()  # the columns stand in no order
        index = {ends[0]: 0} | {gram: column + 1 for gram, column in zip(kept, between, strict=True)}
        index[ends[1]] = len(index)
        texts = [" ".join(row) for row in lists]
        return {"texts": [*texts, texts[0]], "index": index, "n": n}  # one comes twice

    return inputs


def _a_single_text(rng: np.random.Generator) -> Inputs:
    made = _bag(2, (5, 8))(rng)
    return {**made, "texts": made["texts"][:1]}


bag_of_ngrams = Exercise(
    name="bag_of_ngrams",
    returns=("bags",),
    cases=(
        Case("single words (n = 1), in 6 texts", _bag(1, (6, 4, 7, 3, 5))),
        Case(
            "words and pairs (n = 2), in 5 texts; then in a single one",
            together(_bag(2, (7, 5, 6, 8)), _a_single_text),
        ),
        Case("the same few words again and again (n = 2)", _bag(2, (9, 12, 10), few_words=True)),
        Case("up to three words (n = 3), and texts of one and of two words", _bag(3, (1, 6, 2, 8, 5))),
    ),
    bypasses=("sklearn.feature_extraction.text.CountVectorizer", "keras.layers.TextVectorization"),
)

# ---------------------------------------------------------------------------------- bucketed_batches

_FILL = -9  # stands for "not there" where a check lays batches of different widths on each other
_WIDEST = 110


def _rows(count: int, batch_size: int, boundaries: tuple[int, ...], longest: int, outlier: int = 2):
    """``outlier``: the length of one of the sentences. One sentence comes twice, with another label, another one with the same, and one
    is empty. No sentence fills the first bucket, so padding up to a bucket's boundary always shows.
    """

    def inputs(rng: np.random.Generator) -> Inputs:
        lengths = rng.integers(2, longest + 1, count - 3)
        lengths[lengths == boundaries[0] - 1] -= 1
        lengths[: len(boundaries)] = boundaries  # on the border
        lengths[-1] = outlier
        rng.shuffle(lengths)
        sentences = [rng.integers(1, 100, length).tolist() for length in lengths]
        labels = rng.integers(0, 10, count - 3).tolist()
        return {
            "sentences": [*sentences, list(sentences[0]), list(sentences[1]), []],
            "labels": [*labels, (labels[0] + 1) % 10, labels[1], int(rng.integers(0, 10))],
            "batch_size": batch_size,
            "boundaries": list(boundaries),
        }

    return inputs


def _call_batches(learner: Callable, inputs: Inputs) -> dict[str, np.ndarray]:
    import tensorflow as tf

    with plain_errors():
        found = call_function(learner, inputs)
        if not isinstance(found, tf.data.Dataset):
            raise TypeError(f"it returned {type(found).__name__}; expected a tf.data.Dataset.")
        parts = list(found.take(60))
        again = len(list(found.take(60)))
    if again != len(parts):
        raise TypeError(
            f"gone through again, as `fit` does in each epoch, the dataset gives {again} batches, not {len(parts)}."
        )
    for part in parts:
        if not isinstance(part, tuple) or len(part) != 2:
            raise TypeError("an element of the dataset must be a pair: (ids, labels).")
    batches = [tuple(np.asarray(each) for each in part) for part in parts]
    for ids, labels in batches:
        if ids.ndim != 2 or labels.shape != ids.shape[:1]:
            raise TypeError(
                f"a batch has ids of shape {ids.shape} and labels of shape {labels.shape}; expected (batch, longest) and (batch,)."
            )
        if ids.dtype != np.int32 or labels.dtype != np.int32:
            raise TypeError(
                f"a batch has ids of {ids.dtype} and labels of {labels.dtype}; expected int32 for both."
            )
    batches.sort(key=lambda batch: [part.tolist() for part in batch])  # in whatever order they come
    height = max([inputs["batch_size"], *(len(ids) for ids, _ in batches)]) + 1
    laid = np.full((len(batches), height, _WIDEST), _FILL, dtype=np.int64)
    marks = np.full((len(batches), height), _FILL, dtype=np.int64)
    for table, row, (ids, labels) in zip(laid, marks, batches, strict=True):
        table[: len(ids), : ids.shape[1]] = ids[:, :_WIDEST]
        row[: len(labels)] = labels
    return {"ids": laid, "labels": marks}


def every_sentence_once(inputs: Inputs, outputs: Outputs) -> np.ndarray:
    """Every sentence is in one batch, with its own label."""
    found = sorted(
        (*(int(number) for number in row if number > 0), -int(label))
        for table, labels in zip(outputs["ids"], outputs["labels"], strict=True)
        for row, label in zip(table, labels, strict=True)
        if label != _FILL
    )
    wanted = sorted((*row, -label) for row, label in zip(inputs["sentences"], inputs["labels"], strict=True))
    return np.array(found == wanted)


bucketed_batches = Exercise(
    name="bucketed_batches",
    returns=("ids", "labels"),
    call=_call_batches,
    seconds=SECONDS,
    cases=(
        Case("23 sentences in batches of 3, with boundaries at 5 and 9", _rows(23, 3, (5, 9), 13)),
        Case("17 sentences in batches of 4, with one boundary", _rows(17, 4, (6,), 11)),
        Case(
            "26 sentences, one very long; batches of 5; boundaries at 4, 8 and 12",
            _rows(26, 5, (4, 8, 12), 17, outlier=100),
        ),
    ),
    properties=(every_sentence_once,),
)

# ---------------------------------------------------------------------------------- PositionalEmbedding

LENGTHS = {3: (7, 4, 5), 4: (6, 6, 2, 3), 2: (8, 5)}
"""Number of sentences: how long they are. The first is the longest."""


def _real(batch: int) -> np.ndarray:
    lengths = np.array(LENGTHS[batch])
    return np.arange(lengths.max()) < lengths[:, None]


def _ids(rng: np.random.Generator, batch: int, words: int) -> np.ndarray:
    """Word numbers, 0 at padding; one of them is 1, which is no padding."""
    real = _real(batch)
    ids = np.where(real, rng.integers(1, words, real.shape), 0).astype(np.int32)
    ids[0, int(rng.integers(1, 4))] = 1
    return ids


def _embedding(
    batch: int, width: int, max_len: int, use_positions: bool | None = None, symbolic: bool = False
):
    """``use_positions``: None leaves it to the learner's layer."""

    def inputs(rng: np.random.Generator) -> Inputs:
        config = {"vocabulary_size": 19, "max_len": max_len, "embedding_dim": width}
        if use_positions is not None:
            config["use_positions"] = use_positions
        weights = {"token_embeddings": f32(normal(rng, 19, width))}
        if use_positions is not False:
            weights["position_embeddings"] = f32(normal(rng, max_len, width))
        return {"config": config, "weights": weights, "ids": _ids(rng, batch, 19), "in a graph": symbolic}

    return inputs


def _as_many_as_can_be(rng: np.random.Generator) -> Inputs:
    """As many sentences as words in each, features, and places."""
    inputs = _embedding(2, 4, 4)(rng)
    return {**inputs, "ids": rng.integers(1, 19, (4, 4)).astype(np.int32)}


def _single_words(rng: np.random.Generator) -> Inputs:
    inputs = _embedding(2, 4, 4)(rng)
    return {**inputs, "ids": rng.integers(1, 19, (3, 1)).astype(np.int32)}


def _set_embeddings(layer: Any, weights: Mapping[str, np.ndarray], which: str = "the layer") -> None:
    for name, array in weights.items():
        part = getattr(layer, name, None)
        table = getattr(part, "embeddings", None)
        if table is None:
            raise TypeError(
                f"`{name}` is a {type(part).__name__}; expected a keras.layers.Embedding that is used."
            )
        if tuple(table.shape) != array.shape:
            raise TypeError(f"`{name}` has the shape {tuple(table.shape)}; expected {array.shape}.")
        table.assign(array)
    if len(layer.weights) != len(weights):
        raise TypeError(
            f"{which} has {len(layer.weights)} weights; expected {len(weights)}: {', '.join(weights)}."
        )


def _copy_of(layer: Any) -> Any:
    """A new layer from the configuration of another, as loading a model makes it."""
    usual = layer.dtype_policy
    layer.get_config().clear()  # whoever gets a configuration may change it
    for policy in ("float64", usual):
        layer.dtype_policy = policy
        try:
            copy = type(layer).from_config(layer.get_config())
        except TypeError as error:
            raise TypeError(
                f"`get_config` does not have every argument of the constructor: {error}"
            ) from None
        if copy.name != layer.name or copy.dtype != layer.dtype:
            raise TypeError(
                "a layer that is made from `get_config` has another name or type of numbers. "
                "The base class knows both."
            )
    return copy


def _as_layer(layer: Any) -> Any:
    import keras

    if not isinstance(layer, keras.layers.Layer):
        raise TypeError(f"it is a {type(layer).__name__}; expected a keras.layers.Layer.")
    return layer


def _layer_and_copy(learner: Callable, inputs: Inputs, x: Any, **options: Any) -> tuple[Any, Any]:
    """A learner's layer and its copy, both with the variables that a call with ``x`` makes."""

    def make() -> tuple[Any, Any]:
        layer = _as_layer(learner(**inputs["config"]))
        return layer, _copy_of(layer)

    return built(learner, inputs["config"], lambda layers: [each(x, **options) for each in layers], make)


def _call_embedding(learner: Callable, inputs: Inputs) -> dict[str, np.ndarray]:
    import keras
    import tensorflow as tf

    ids = tensors(inputs)["ids"]
    symbol = (
        keras.Input((None,), dtype="int32") if inputs["in a graph"] else None
    )  # of a length that is not known yet
    found = {}
    with plain_errors():
        layers = _layer_and_copy(learner, inputs, ids if symbol is None else symbol)
        for name, each, which in zip(
            ("output", "output of its copy"),
            layers,
            ("the layer", "the layer that is made from get_config"),
            strict=True,
        ):
            _set_embeddings(each, inputs["weights"], which)
            run = each
            if symbol is not None:  # as in training: one graph for batches of all sizes
                model = keras.Model(symbol, each(symbol))
                run = tf.function(model, input_signature=[tf.TensorSpec((None, None), tf.int32)])
            output = run(ids)
            found[name] = at_words(np.asarray(output), inputs["ids"] != 0)
        if len(layers[0].trainable_weights) != len(inputs["weights"]):
            raise TypeError("a table of the layer cannot be trained, so it is never learned.")
        mask = layers[0].compute_mask(ids)
        if mask is None:
            raise TypeError("compute_mask returned None, so nobody after this layer knows where padding is.")
        found["mask"] = np.asarray(mask)
    return found


def _run_embedding(learner: Callable, given: Mapping[str, Any]) -> tuple[Any, dict[str, Any]]:
    """What gradients are sent back through: what comes out at words, and the tables."""
    import tensorflow as tf

    ids = given["ids"]
    layer, _ = _layer_and_copy(learner, given, ids)
    _set_embeddings(layer, given["weights"])
    output = layer(ids)
    tables = {name: getattr(layer, name).embeddings for name in given["weights"]}
    return tf.where((ids != 0)[..., None], output, tf.zeros_like(output)), tables


def same_word_other_place(runs: list[Run]) -> np.ndarray:
    """With positions the same sentence in reverse order gives other vectors; without them, the same in reverse order."""
    differ = []
    for one, two in (runs[:2], runs[2:]):
        turned = two[1]["output"][:, ::-1]
        same = np.allclose(one[1]["output"], turned, atol=1e-4)
        differ.append(same != one[0]["config"].get("use_positions", True))
    return np.array(differ)


def _reversed(rng: np.random.Generator) -> list[Inputs]:
    runs = []
    for use_positions in (True, False):
        inputs = _embedding(2, 5, 11, use_positions)(rng)
        inputs["ids"] = rng.integers(1, 19, (2, 7)).astype(np.int32)
        inputs["ids"][0, 2] = 1
        runs += [inputs, {**inputs, "ids": inputs["ids"][:, ::-1].copy()}]
    return runs


positional_embedding = Exercise(
    name="PositionalEmbedding",
    returns=("output", "mask", "output of its copy"),
    call=_call_embedding,
    seconds=SECONDS,
    cases=(
        Case(
            "3 sentences of 7, 4 and 5 words; all sizes equal; single words",
            together(_embedding(3, 6, 10), _as_many_as_can_be, _single_words),
        ),
        Case("4 sentences, without positions", _embedding(4, 5, 9, use_positions=False)),
        Case(
            "in a model for any length: one sentence has `max_len` words; then none",
            together(_embedding(2, 7, 8, symbolic=True), _embedding(3, 5, 11, symbolic=True)),
        ),
        Case("sentences in reverse order, with and without positions", _reversed, same_word_other_place),
        Case("gradients reach both tables", _embedding(3, 6, 10), reaches=("weights",)),
    ),
    backward=sent_back(_run_embedding),
)

# ---------------------------------------------------------------------------------- TransformerEncoder

WIDTH, INNER, HEADS = 20, 28, 4  # as in course_utils.cases.translation


def _encoder_weights(rng: np.random.Generator) -> dict[str, np.ndarray]:
    weights = feed_forward_weights(rng, "feed_forward")
    for role in ("query", "key", "value", "output"):
        weights |= linear(rng, f"self_attention.w_{role}", WIDTH, WIDTH)
    return weights | norm(rng, "norm1") | norm(rng, "norm2")


def _encoder(batch: int, masked: bool, heads: int = HEADS, training: bool = False):
    def inputs(rng: np.random.Generator) -> Inputs:
        real = _real(batch)
        return {
            "config": {"embedding_dim": WIDTH, "dense_dim": INNER, "num_heads": heads},
            "weights": _encoder_weights(rng),
            "inputs": f32(normal(rng, *real.shape, WIDTH)),
            "mask": real if masked else None,
            "training": training,
        }

    return inputs


def _other_padding(rng: np.random.Generator) -> list[Inputs]:
    inputs = _encoder(3, masked=True)(rng)
    other = np.where(inputs["mask"][..., None], inputs["inputs"], f32(normal(rng, *inputs["inputs"].shape)))
    return [inputs, {**inputs, "inputs": other}]


def padding_is_never_looked_at(runs: list[Run]) -> np.ndarray:
    """What stands in the padding changes the output of no real word."""
    return np.isclose(runs[0][1]["output"], runs[1][1]["output"], atol=1e-4)


def _call_encoder(learner: Callable, inputs: Inputs) -> dict[str, np.ndarray]:
    import keras

    from course_utils.models import keras_translator

    given, found = tensors(inputs), {}
    with plain_errors():
        layers = _layer_and_copy(learner, inputs, given["inputs"], mask=given["mask"])
        if "in a Keras model" in inputs:  # whose sizes are not known when it is made
            shapes = keras.Input((None, WIDTH)), keras.Input((None,), dtype="bool")
            layers = layers[0], keras.Model(shapes, layers[0](shapes[0], mask=shapes[1]))
            fill(layers[0], inputs["weights"], keras_translator.encoder_layer)
            output = np.asarray(layers[1]([given["inputs"], given["mask"]]))
            return dict.fromkeys(("output", "output of its copy"), at_words(output, inputs["mask"]))
        if not layers[0].supports_masking:
            raise TypeError("`supports_masking` is not True, so the mask ends at this layer.")
        if inputs["mask"] is not None:
            handed_on = layers[0].compute_mask(given["inputs"], given["mask"])
            if not np.array_equal(handed_on, inputs["mask"]):
                raise TypeError("`compute_mask` returns something other than the mask that came in.")
        for name, each in zip(("output", "output of its copy"), layers, strict=True):
            fill(each, inputs["weights"], keras_translator.encoder_layer)
            output = np.asarray(each(given["inputs"], mask=given["mask"], training=inputs["training"]))
            found[name] = output if inputs["mask"] is None else at_words(output, inputs["mask"])
    return found


def _run_encoder(learner: Callable, given: Mapping[str, Any]) -> tuple[Any, dict[str, Any]]:
    """What gradients are sent back through: what comes out at words, and the weights."""
    import tensorflow as tf

    from course_utils.models import keras_translator

    mask = given["mask"]
    layer, _ = _layer_and_copy(learner, given, given["inputs"], mask=mask)
    fill(layer, given["weights"], keras_translator.encoder_layer)
    output = layer(given["inputs"], mask=mask, training=given["training"])
    found = tf.where(mask[..., None], output, tf.zeros_like(output))
    return found, dict(keras_translator.encoder_layer("", layer))


def _reordered(rng: np.random.Generator) -> list[Inputs]:
    inputs = _encoder(2, masked=False, heads=1)(rng)
    inputs["inputs"][0, 2] = 0  # without a mask, a word like any other
    return [inputs, {**inputs, "inputs": inputs["inputs"][:, ::-1].copy()}]


def _one_encoded(rng: np.random.Generator) -> Inputs:
    made = _encoder(2, masked=True)(rng)
    return {**made, **{name: made[name][1:] for name in ("inputs", "mask")}}


def _in_a_model(rng: np.random.Generator) -> Inputs:
    return {**_encoder(3, masked=True)(rng), "in a Keras model": True}


def outputs_follow_their_words(runs: list[Run]) -> np.ndarray:
    """Reordering the words reorders the outputs in the same way, and changes nothing else."""
    return np.isclose(runs[0][1]["output"][:, ::-1], runs[1][1]["output"], atol=1e-4)


transformer_encoder = Exercise(
    name="TransformerEncoder",
    returns=("output", "output of its copy"),
    call=_call_encoder,
    seconds=SECONDS,
    cases=(
        Case(
            "no mask, 1 head, one word all zeros; once more in reverse order",
            _reordered,
            outputs_follow_their_words,
        ),
        Case(
            "padding, 2 heads, in training: nothing is dropped; one sentence alone; in a model",
            together(_encoder(4, masked=True, heads=2, training=True), _one_encoded, _in_a_model),
        ),
        Case(
            "3 sentences, and once more with other numbers in the padding",
            _other_padding,
            padding_is_never_looked_at,
        ),
        Case(
            "gradients reach the inputs and every weight",
            _encoder(3, masked=True, training=True),
            reaches=("inputs", "weights"),
        ),
    ),
    backward=sent_back(_run_encoder),
)

# ---------------------------------------------------------------------------------- masked_mean


def _states(batch: int, width: int, masked: bool = True, an_empty_one: bool = False):
    def inputs(rng: np.random.Generator) -> Inputs:
        real = _real(batch)
        mask = rng.random(real.shape) < 0.5 if an_empty_one else real
        mask[:, 0] = True
        if an_empty_one:
            mask[1] = False
            mask[2, 1:] = False
        states = f32(normal(rng, *real.shape, width) + rng.uniform(0.5, 1.5))
        return {"states": states, **({"mask": mask} if masked else {})}

    return inputs


def _real_zeros(rng: np.random.Generator) -> Inputs:
    """No mask, and a word whose vector happens to be 0: it is a word like any other."""
    inputs = _states(2, 3, masked=False)(rng)
    inputs["states"][:, 1] = 0
    return inputs


def _all_sizes_equal(rng: np.random.Generator) -> Inputs:
    """4 sentences of up to 4 words of 4 numbers."""
    mask = np.arange(4) < rng.permutation([1, 2, 3, 4])[:, None]
    return {"states": f32(normal(rng, 4, 4, 4) + 1), "mask": mask}


def _one_sentence(rng: np.random.Generator) -> Inputs:
    return {name: array[1:] for name, array in _states(2, 3)(rng).items()}


def _a_real_zero(rng: np.random.Generator) -> Inputs:
    """A single number of a word happens to be 0, and all numbers of another word: they count as any others."""
    inputs = _states(3, 4)(rng)
    inputs["states"][:, 0, 1] = 0
    inputs["states"][:, 1] = 0
    return inputs


def _in_a_model(make: Callable[[np.random.Generator], Inputs]):
    return lambda rng: {**make(rng), "in a Keras model": True}


def _more_padding(rng: np.random.Generator) -> list[Inputs]:
    inputs = _states(3, 4)(rng)
    more = f32(normal(rng, 3, 2, 4, scale=3))
    return [
        inputs,
        {
            "states": np.concatenate([inputs["states"], more], axis=1),
            "mask": np.concatenate([inputs["mask"], np.zeros((3, 2), bool)], axis=1),
        },
    ]


def padding_changes_no_mean(runs: list[Run]) -> np.ndarray:
    """Two more columns of padding change no mean."""
    return np.isclose(runs[0][1]["mean"], runs[1][1]["mean"], atol=1e-4)


def _call_mean(learner: Callable, inputs: Inputs) -> Any:
    import keras

    given = {name: value for name, value in inputs.items() if name != "in a Keras model"}
    with plain_errors():
        if "in a Keras model" in inputs:  # whose sizes are not known when it is made, as in the lab's

            class Mean(keras.layers.Layer):
                def call(self, *given: Any) -> Any:
                    return learner(*given)

            shapes = [keras.Input((None, inputs["states"].shape[-1]))]
            if "mask" in inputs:
                shapes.append(keras.Input((None,), dtype="bool"))
            return keras.Model(shapes, Mean()(*shapes))(list(tensors(given).values()))
        mean = call_function(learner, tensors(given))
    if isinstance(mean, np.ndarray):
        raise TypeError(
            "it returned a NumPy array; expected a tensor. NumPy does not work inside a model: use `ops`."
        )
    return mean


masked_mean = Exercise(
    name="masked_mean",
    returns=("mean",),
    call=_call_mean,
    seconds=SECONDS,
    cases=(
        Case(
            "4 padded sentences; all sizes 4; in a model, with a mask and without",
            together(
                _states(4, 5),
                _all_sizes_equal,
                _in_a_model(_states(4, 5)),
                _in_a_model(_states(4, 5, masked=False)),
            ),
        ),
        Case(
            "no mask; zeros that are real, without a mask and with one; one sentence",
            together(_states(2, 3, masked=False), _real_zeros, _a_real_zero, _one_sentence),
        ),
        Case(
            "3 sentences, and once more with two more columns of padding",
            _more_padding,
            padding_changes_no_mean,
        ),
        Case(
            "one of 4 sentences has no real word: its mean is 0; another has one",
            _states(4, 7, an_empty_one=True),
        ),
        Case(
            "gradients reach the states: masked, without a mask, with an empty sentence",
            together(_states(3, 4), _states(2, 5, masked=False), _states(4, 6, an_empty_one=True)),
            reaches=("states",),
        ),
    ),
    backward=sent_back(a_function),
    bypasses=("keras.layers.GlobalAveragePooling1D",),
)

# ---------------------------------------------------------------------------------- build_classifier


def _classifier(
    batch: int,
    classes: int,
    use_positions: bool = True,
    heads: int = HEADS,
    training: bool = False,
    rate: float = 1.0,
    usual: tuple[str, ...] = (),
):
    """``usual``: what is left to the learner's function."""

    def inputs(rng: np.random.Generator) -> Inputs:
        weights = {
            "token_embeddings": f32(normal(rng, 19, WIDTH)),
            **({"position_embeddings": f32(normal(rng, 11, WIDTH))} if use_positions else {}),
        }
        ids = _ids(rng, batch, 19)
        config = {
            "vocabulary_size": 19,
            "max_len": 11,
            "num_classes": classes,
            "embedding_dim": WIDTH,
            "dense_dim": INNER,
            "num_heads": heads,
            "dropout_rate": rate,
            "learning_rate": float(rng.uniform(0.002, 0.02)),
            "use_positions": use_positions,
        }
        return {
            "config": {name: value for name, value in config.items() if name not in usual},
            "weights": {
                "embedding": weights,
                "encoder": _encoder_weights(rng),
                "head": [f32(normal(rng, WIDTH, classes)), f32(normal(rng, classes))],
            },
            "ids": ids,
            "labels": rng.integers(0, classes, batch).astype(np.int32),
            "training": training,
        }

    return inputs


def _the_one(model: Any, what: str, fits: Callable[[Any], bool]) -> Any:
    found = [layer for layer in model.layers if fits(layer)]
    if len(found) != 1:
        raise TypeError(f"the model has {len(found)} layers of the kind {what}; expected one.")
    return found[0]


def _compiled(learner: Callable, config: Mapping[str, Any]) -> Any:
    import keras

    model = learner(**config)
    if not isinstance(model, keras.Model):
        raise TypeError(f"it returned {type(model).__name__}; expected a keras.Model.")
    if getattr(model, "optimizer", None) is None or not model.compiled:
        raise TypeError("the model is not compiled.")
    return model


def _filled(learner: Callable, given: Mapping[str, Any]) -> tuple[Any, dict[str, Any]]:
    """A learner's model with its weights set, and its variables by name."""
    import keras

    from course_utils.models import keras_translator

    config, weights = given["config"], given["weights"]
    model = built(learner, config, lambda model: model(given["ids"]), lambda: _compiled(learner, config))
    embedding = _the_one(model, "PositionalEmbedding", lambda layer: hasattr(layer, "token_embeddings"))
    _set_embeddings(embedding, weights["embedding"])
    encoder = _the_one(model, "TransformerEncoder", lambda layer: hasattr(layer, "mha"))
    keras_translator.set_weights(encoder, weights["encoder"], keras_translator.encoder_layer)
    head = _the_one(model, "Dense", lambda layer: isinstance(layer, keras.layers.Dense))
    head.set_weights(weights["head"])
    tables = {name: getattr(embedding, name).embeddings for name in weights["embedding"]}
    parts = dict(keras_translator.encoder_layer("encoder.", encoder))
    return model, {**tables, **parts, "head.kernel": head.kernel, "head.bias": head.bias}


def _run_classifier(learner: Callable, given: Mapping[str, Any]) -> tuple[Any, dict[str, Any]]:
    """What gradients are sent back through."""
    with built_as_it_goes():
        model, variables = _filled(learner, given)
        return model(given["ids"], training=given["training"]), variables


def _usual_sizes(learner: Callable, given: Mapping[str, Any]) -> None:
    """Called with what it needs and nothing else, the model has the widths of the signature.

    Raises:
        TypeError: it has others.
    """
    needed = ("vocabulary_size", "max_len", "num_classes")
    model = _compiled(learner, {name: given["config"][name] for name in needed})
    model(given["ids"])
    shapes = {tuple(weight.shape) for weight in model.weights}
    words = given["config"]["vocabulary_size"]
    for name, wanted in {"embedding_dim": (words, 64), "dense_dim": (64, 128)}.items():
        if wanted not in shapes:
            raise TypeError(
                f"called without `{name}`, the model has no weight of shape {wanted}; its default is {wanted[1]}."
            )


def _call_classifier(learner: Callable, inputs: Inputs) -> dict[str, np.ndarray]:
    import keras

    given = tensors(inputs)
    with plain_errors(), built_as_it_goes():
        if inputs.get("default sizes"):
            _usual_sizes(learner, given)
        model, _ = _filled(learner, given)
        logits = model(given["ids"], training=inputs["training"])
        if not inputs["training"] and not np.allclose(model(given["ids"]), logits, atol=1e-4):
            raise TypeError(
                "model(ids), called without `training`, gives other logits than in an evaluation: some layer always takes part as in training."
            )
        if inputs.get("largest and smallest values"):
            logits = np.stack([np.max(logits, axis=0), np.min(logits, axis=0)])
        loss = model.compute_loss(y=given["labels"][: len(logits)], y_pred=logits)
        model.run_eagerly = True  # a graph for one batch takes longer
        measured = model.evaluate(given["ids"], given["labels"], verbose=0, return_dict=True)
    if "accuracy" not in measured:
        raise TypeError(f"the model measures {', '.join(measured)}; expected the metric 'accuracy', too.")
    if not isinstance(model.optimizer, keras.optimizers.Adam):
        raise TypeError(f"the optimizer is {type(model.optimizer).__name__}; expected Adam.")
    if model.optimizer.weight_decay:
        raise TypeError(
            f"the optimizer is {type(model.optimizer).__name__}, with weight decay; expected Adam without it."
        )
    usual = keras.optimizers.Adam().get_config()
    for name, value in model.optimizer.get_config().items():
        if name not in ("name", "learning_rate") and value != usual[name]:
            raise TypeError(f"Adam has {name}={value!r}; expected its default, {usual[name]!r}.")
    return {
        "logits": np.asarray(logits),
        "loss": np.array(float(loss)),
        "accuracy": np.array(float(measured["accuracy"])),
        "learning_rate": np.array(float(model.optimizer.learning_rate)),
    }


def _each_feature_by_itself(rng: np.random.Generator) -> Inputs:
    """The same sentence many times, and a last layer that shows the first features of its mean as they are. After dropout
    at a rate of 0.5 each is either 0 or twice as large; where words are dropped before the mean is taken, it is anything between.
    """
    inputs = _classifier(2, 6, training=True, usual=("dropout_rate",))(rng)
    inputs["weights"]["head"] = [np.eye(WIDTH, 6, dtype=np.float32), np.zeros(6, dtype=np.float32)]
    ids = inputs["ids"][:1]
    return {
        **inputs,
        "ids": np.repeat(ids, 64, axis=0),
        "labels": np.repeat(inputs["labels"], 32),
        "largest and smallest values": True,
    }


def _more_columns(rng: np.random.Generator) -> list[Inputs]:
    inputs = _classifier(3, 5, usual=("num_heads", "learning_rate", "use_positions"))(rng)
    return [inputs, {**inputs, "ids": np.pad(inputs["ids"], ((0, 0), (0, 2)))}]


def padding_changes_no_logits(runs: list[Run]) -> np.ndarray:
    """Two more columns of padding change no logits."""
    return np.isclose(runs[0][1]["logits"], runs[1][1]["logits"], atol=1e-4)


build_classifier = Exercise(
    name="build_classifier",
    returns=("logits", "loss", "accuracy", "learning_rate"),
    call=_call_classifier,
    backward=sent_back(_run_classifier),
    uses=("PositionalEmbedding", "TransformerEncoder", "masked_mean"),
    seconds=SECONDS,
    cases=(
        Case(
            "3 sentences, 5 classes, and once more with two more columns of padding",
            _more_columns,
            padding_changes_no_logits,
        ),
        Case(
            "4 sentences, 3 classes, 2 heads, without positions",
            _classifier(4, 3, use_positions=False, heads=2),
        ),
        Case(
            "2 classes, usual widths, in training with dropout_rate=1: only the last bias is left",
            lambda rng: {**_classifier(2, 2, training=True)(rng), "default sizes": True},
        ),
        Case(
            "in training with the usual dropout_rate: each feature of the mean is dropped or doubled",
            _each_feature_by_itself,
        ),
        Case(
            "gradients reach every weight", _classifier(3, 4, training=True, rate=0.0), reaches=("weights",)
        ),
    ),
)

# ---------------------------------------------------------------------------------- best_epoch


def _losses(kind: str):
    """Validation losses with a first valley, a bump, and a deeper valley that patience may or may not reach."""

    def inputs(rng: np.random.Generator) -> Inputs:
        patience = int(rng.integers(11, 25))
        falling = np.linspace(2.0, 1.0, int(rng.integers(3, 30)))
        more = int(rng.integers(1, 4))
        bump = patience + {"reached": -1, "just missed": 0, "missed": more, "ends": -1}[kind]
        rise = 1.2 + np.sort(rng.uniform(0.0, 0.4, bump))[::-1]  # falls again, but stays above the valley
        seen, unseen = np.linspace(0.9, 0.7, int(rng.integers(2, 9))), np.array([0.5, 0.4])
        after = {"reached": seen, "just missed": unseen, "missed": unseen}
        tail = 0.75 + np.sort(rng.uniform(0.0, 0.2, patience + 2)) if kind == "reached" else np.array([])
        parts = (falling, rise, after.get(kind, np.array([])), tail)
        return {"losses": [float(loss) for part in parts for loss in part], "patience": patience}

    return inputs


def _tie(rng: np.random.Generator) -> Inputs:
    falling = np.sort(rng.uniform(1.1, 2.0, int(rng.integers(3, 30))))[::-1]
    patience = int(rng.integers(2, 12))
    return {"losses": [*map(float, falling), 1.0, 1.0, *[1.2] * (patience + 1)], "patience": patience}


def _rising(*first: float):
    """After the first losses all are higher."""

    def inputs(rng: np.random.Generator) -> Inputs:
        patience = int(rng.integers(2, 12))
        rising = np.sort(rng.uniform(1.1, 2.0, patience + int(rng.integers(1, 9))))
        return {"losses": [*first, *map(float, rising)], "patience": patience}

    return inputs


def _falling(rng: np.random.Generator) -> Inputs:
    falling = np.sort(rng.uniform(0.5, 2.0, int(rng.integers(6, 30))))[::-1]
    return {"losses": falling.tolist(), "patience": int(rng.integers(2, 5))}


def _hardly_falling(rng: np.random.Generator) -> Inputs:
    """Each loss is the lowest so far, by less than a ten-thousandth."""
    steps = rng.uniform(1e-6, 2e-5, int(rng.integers(12, 30)))
    return {"losses": (1.0 - np.cumsum(steps)).tolist(), "patience": 2}


def _least_steps(rng: np.random.Generator) -> Inputs:
    """Each loss is lower than the one before, by the least that two numbers near 1 can differ, or a little more."""
    steps = rng.integers(1, 9, int(rng.integers(12, 30))) * 2.0**-52
    return {"losses": (1.0 - np.cumsum(steps)).tolist(), "patience": 2}


def _valley(high: float, low: float):
    """Losses fall from the high number to the low one, and rise again."""

    def inputs(rng: np.random.Generator) -> Inputs:
        patience = int(rng.integers(2, 6))
        falling = np.linspace(high, low, int(rng.integers(3, 9)))
        rising = np.linspace(low, high, 2 * patience)[1:]
        return {"losses": [*falling.tolist(), *rising.tolist()], "patience": patience}

    return inputs


def _impatient(rng: np.random.Generator) -> Inputs:
    """The first loss that is higher ends the training."""
    falling = np.sort(rng.uniform(1.1, 2.0, int(rng.integers(3, 9))))[::-1]
    return {"losses": [*falling.tolist(), 2.5, 0.5], "patience": 1}


def _single(rng: np.random.Generator) -> Inputs:
    return {"losses": [float(rng.uniform(0.5, 2.0))], "patience": int(rng.integers(1, 6))}


def _call_best_epoch(learner: Callable, inputs: Inputs) -> Any:
    return no_floats(call_function(learner, inputs), "epochs, which are whole numbers")


best_epoch = Exercise(
    name="best_epoch",
    returns=("best", "last"),
    call=_call_best_epoch,
    cases=(
        Case(
            "a bump that patience survives, and a second valley; twice, with other numbers",
            together(_losses("reached"), _losses("reached")),
        ),
        Case(
            "bumps that are too long and just too long: the second valley stays unseen",
            together(_losses("missed"), _losses("just missed")),
        ),
        Case(
            "training ends before patience does; equal losses; the first epoch best; the last best",
            together(_losses("ends"), _tie, _rising(1.0), _rising(1.0, 1.0), _falling),
        ),
        Case(
            "losses that hardly fall; billions; 0 and below; a patience of 1; one epoch",
            together(
                _hardly_falling,
                _least_steps,
                _valley(9e9, 3e9),
                _valley(1.0, 0.0),
                _valley(1.0, -2.0),
                _impatient,
                _single,
            ),
        ),
    ),
)

# ---------------------------------------------------------------------------------- calibration_error


def _judged(count: int, classes: int, sharpness: float, bins: int | None = None, certain: int = 0):
    """In every second bin, from the lowest on, the model is always right, and elsewhere seldom.

    bins: None leaves the usual number, 10, to the learner's function.
    certain: of so many texts the model is absolutely sure, and wrong. Then it is right about all others in the last bin.
    """
    passed = {} if bins is None else {"bins": bins}
    bins = bins or 10

    def inputs(rng: np.random.Generator) -> Inputs:
        logits = normal(rng, count, classes, scale=sharpness)
        shares = np.exp(logits - logits.max(axis=1, keepdims=True))
        shares = f32(shares / shares.sum(axis=1, keepdims=True))
        shares[:certain] = np.eye(classes, dtype=shares.dtype)[rng.integers(0, classes, certain)]
        hit = ((shares.max(axis=1) * bins).astype(int) % 2 == 0) | (rng.random(count) < 0.1)
        if certain:
            hit |= shares.max(axis=1) >= 1 - 1 / bins
            hit[:certain] = False
        said = shares.argmax(axis=1)
        labels = np.where(hit, said, (said + rng.integers(1, classes, count)) % classes)
        return {"probabilities": shares, "labels": labels, **passed}

    return inputs


def _too_sure(make: Callable[[np.random.Generator], Inputs]) -> Callable[[np.random.Generator], Inputs]:
    """What ``make`` gives, drawn again until the model is surer than it is right."""

    def inputs(rng: np.random.Generator) -> Inputs:
        while True:
            drawn = make(rng)
            shares = drawn["probabilities"]
            if shares.max(axis=1).mean() > (shares.argmax(axis=1) == drawn["labels"]).mean() + 0.02:
                return drawn

    return inputs


def _on_the_edges(count: int, classes: int, bins: int):
    """About half of the confidences are exactly on the edge between two bins, the others are inside of one. The number of bins is
    a power of two, so that an edge is the same number however it is calculated. In every second bin the model is always right, and
    always wrong elsewhere."""

    def inputs(rng: np.random.Generator) -> Inputs:
        bin_of = rng.integers(bins // classes + 1, bins, count)
        confidence = (bin_of + rng.uniform(0.2, 0.8, count) * (rng.random(count) < 0.5)) / bins
        said = rng.integers(0, classes, count)
        shares = np.repeat((1 - confidence[:, None]) / (classes - 1), classes, axis=1)
        shares[np.arange(count), said] = confidence
        labels = np.where(bin_of % 2 == 0, said, (said + rng.integers(1, classes, count)) % classes)
        return {"probabilities": f32(shares), "labels": labels, "bins": bins}

    return inputs


calibration_error = Exercise(
    name="calibration_error",
    returns=("error", "overconfidence"),
    cases=(
        Case(
            "80 texts of 4 classes, then 85 of 6; the usual number of bins",
            together(_too_sure(_judged(80, 4, 1.6)), _too_sure(_judged(85, 6, 1.8))),
        ),
        Case(
            "3 classes, 12 bins; 12 classes, 4 bins; 8 bins, many texts on their edges",
            together(
                _too_sure(_judged(90, 3, 1.6, 12)),
                _judged(60, 12, 0.7, 4),  # not sure enough
                _too_sure(_on_the_edges(75, 4, 8)),
            ),
        ),
        Case(
            "a model that is nearly always sure: most bins are empty; a less sure one",
            together(_judged(40, 6, 12.0, 10, certain=6), _too_sure(_judged(70, 5, 1.8, 7))),
        ),
    ),
)
