"""The Transformers of labs 05 and 06 are twins: with the same weights they say the same, number by number and word by word."""

from __future__ import annotations

import itertools
import warnings
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

pytestmark = pytest.mark.slow  # TensorFlow takes seconds to begin, and to trace

CONFIG = {
    "num_layers": 2, "embedding_dim": 24, "num_heads": 4, "fully_connected_dim": 40, "source_vocab_size": 30,
    "target_vocab_size": 26, "max_len": 16, "layernorm_eps": 1e-5,
}  # fmt: skip


@pytest.fixture(scope="module")
def in_keras(labs) -> SimpleNamespace:
    """Lab 06's exercises, as its solution defines them."""
    return SimpleNamespace(**labs["06_transformer_tensorflow"].reference)


@pytest.fixture(scope="module")
def in_torch(labs) -> SimpleNamespace:
    """Lab 05's exercises, as its solution defines them."""
    return SimpleNamespace(**labs["05_transformer_pytorch"].reference)


def given(lab, definition: str, **names: Any) -> dict[str, Any]:
    """The names that a cell of lab 06 defines, which learners get as it is; ``names`` are there already."""
    (cell,) = (cell for cell in lab.source().cells if cell.source.lstrip().startswith(definition))
    exec(compile(cell.source, definition, "exec"), names)
    return names


def spread(name: str) -> tuple[float, float]:
    """Mean and deviation of random weights with which sentences are not all alike."""
    if "norm" in name and name.endswith("weight"):
        return 1, 0.3
    return 0, 1.0 if "embedding" in name else 0.12


@pytest.fixture(scope="module", params=[False, True], ids=["post-norm", "pre-norm"])
def twins(in_keras, in_torch, request) -> SimpleNamespace:
    """Both models with the same random weights, and PyTorch's own layers with them, too."""
    import torch

    from course_utils.data.vocabulary import Vocabulary
    from course_utils.models.keras_translator import set_weights
    from course_utils.models.translator import Checkpoint, LibraryTranslator

    config = CONFIG | {"norm_first": request.param}
    ours = in_torch.Transformer(**config).eval()
    rng = np.random.default_rng(4)
    state = {
        name: rng.normal(*spread(name), array.shape).astype("float32")
        for name, array in ours.state_dict().items()
    }
    ours.load_state_dict({name: torch.from_numpy(array) for name, array in state.items()})
    model = in_keras.Transformer(**config)
    model(np.ones((1, 2), dtype="int64"), np.ones((1, 2), dtype="int64"))
    set_weights(model, state)
    vocabularies = [
        Vocabulary([str(n) for n in range(config[f"{side}_vocab_size"] - 4)]) for side in ("source", "target")
    ]
    library = LibraryTranslator(Checkpoint(state, config, *vocabularies)).model
    return SimpleNamespace(keras=model, torch=ours, library=library, state=state)


def padded(seed: int, source_len: int, target_len: int, batch: int = 4) -> tuple[np.ndarray, np.ndarray]:
    """Ids of sentences of different lengths, padded with 0 at their ends."""
    rng = np.random.default_rng(seed)
    found = []
    for length, words in ((source_len, 30), (target_len, 26)):
        ids = rng.integers(4, words, (batch, length))
        lengths = np.append(rng.integers(1, length + 1, batch - 1), length)
        found.append(np.where(np.arange(length) < lengths[:, None], ids, 0))
    found[1][:, 0] = 1
    return found[0], found[1]


SHAPES = [(7, 5), (5, 7), (6, 6), (1, 3), (12, 1)]


@pytest.mark.parametrize("source_len, target_len", SHAPES)
@pytest.mark.parametrize("other", ["torch", "library"])
def test_logits_and_attention_weights_are_equal_for_padded_batches(twins, other, source_len, target_len):
    import torch

    source, target = padded(source_len, source_len, target_len)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about a softmax over one word
        logits, weights = twins.keras(source, target, training=False)
    with torch.no_grad():
        theirs, cross = getattr(twins, other)(torch.from_numpy(source), torch.from_numpy(target))
    real = target != 0
    np.testing.assert_allclose(logits.numpy()[real], theirs.numpy()[real], atol=1e-4)
    for number, layer in enumerate(cross, start=1):
        ours = weights[f"decoder_layer{number}_block2_decenc_att"].numpy().swapaxes(1, 2)[real]
        np.testing.assert_allclose(ours, layer.numpy().swapaxes(1, 2)[real], atol=1e-5)


@pytest.mark.parametrize("seed", range(3))
def test_greedy_search_writes_the_same_words(in_keras, in_torch, twins, seed):
    import torch

    source, _ = padded(seed, 9, 3, batch=8)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ours = in_keras.greedy_decode(twins.keras, source, max_len=12).numpy()
    theirs = in_torch.greedy_decode(twins.torch, torch.from_numpy(source), max_len=12).numpy()
    np.testing.assert_array_equal(ours, theirs)
    assert len(np.unique(ours)) > 3  # not just the same word


@pytest.mark.parametrize("beam_size, length_penalty", [(2, 0.0), (4, 0.6), (4, 1.0)])
def test_beam_search_finds_the_same_words_with_the_same_score(
    labs, in_torch, twins, beam_size, length_penalty
):
    import torch
    from keras import ops

    search = given(labs["06_transformer_tensorflow"], "def beam_search", np=np, ops=ops)["beam_search"]
    found = []
    for seed in range(4):
        source = padded(seed, 9, 3)[0][-1:]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            words, score = search(twins.keras, source, beam_size, 6, length_penalty)
        theirs = in_torch.beam_search(twins.torch, torch.from_numpy(source), beam_size, 6, length_penalty)
        assert words == theirs[0].tolist()
        assert score == pytest.approx(theirs[1], abs=1e-4)
        found += words
    assert len(set(found)) > 1  # not just the same word


def test_fit_with_the_step_as_a_method_moves_the_weights_as_the_loop_and_as_pytorch_do(
    labs, in_keras, in_torch
):
    import keras
    import tensorflow as tf
    import torch

    from course_utils.models.keras_translator import get_weights, set_weights

    lab = labs["06_transformer_tensorflow"]
    fitted = given(lab, "class Fitted", Transformer=in_keras.Transformer, train_step=in_keras.train_step)[
        "Fitted"
    ]
    config = CONFIG | {"dropout_rate": 0.0}
    ours = in_torch.Transformer(**config)
    start = {name: array.numpy().copy() for name, array in ours.state_dict().items()}
    several = [padded(seed, 6, 8) for seed in range(3)]
    several = [(source, np.where(target == 1, 5, target)) for source, target in several]

    model = fitted(**config)
    model(*several[0])
    set_weights(model, start)
    model.compile(optimizer=keras.optimizers.SGD(0.1))
    pipeline = tf.data.Dataset.from_tensor_slices(
        tuple(np.stack(side) for side in zip(*several, strict=True))
    )
    history = model.fit(pipeline, shuffle=False, verbose=0).history

    loop = in_keras.Transformer(**config)
    loop(*several[0])
    set_weights(loop, start)
    optimizer, plain = keras.optimizers.SGD(0.1), torch.optim.SGD(ours.parameters(), lr=1.0)
    losses = []
    for source, labels in several:
        losses += [in_keras.train_step(loop, optimizer, tf.constant(source), tf.constant(labels))]
        in_torch.train_step(ours, plain, torch.from_numpy(source), torch.from_numpy(labels), 0.1)
    assert history["batch_loss"] == pytest.approx([float(losses[-1])], rel=1e-4)
    assert history["loss"] == pytest.approx([np.mean(losses)], rel=1e-4)
    by_loop = get_weights(loop)
    for name, array in get_weights(model).items():
        np.testing.assert_allclose(array, by_loop[name], atol=1e-5, err_msg=name)
        np.testing.assert_allclose(array, ours.state_dict()[name].numpy(), atol=1e-4, err_msg=name)


def test_buckets_lose_no_sentence_and_pad_less(labs):
    import tensorflow as tf

    from course_utils.data.translation import translation_pairs
    from course_utils.data.vocabulary import Vocabulary

    pairs = translation_pairs(500, seed=3)
    sides = [[pair.source for pair in pairs], [pair.target for pair in pairs]]
    french, english = (Vocabulary.from_texts(side) for side in sides)
    cell = given(labs["06_transformer_tensorflow"], "def as_tensors", tf=tf, french=french, english=english)
    padding = []
    for boundaries in ([], cell["BOUNDARIES"]):
        found = [(s.numpy(), t.numpy()) for s, t in cell["pipeline"](pairs, boundaries, batch_size=16)]
        texts = sorted(
            (french.decode(s), english.decode(t))
            for source, target in found
            for s, t in zip(source, target, strict=True)
        )
        assert texts == sorted((pair.source, pair.target) for pair in pairs)
        assert max(len(source) for source, _ in found) == 16
        padding.append(sum((side == 0).sum() for batch in found for side in batch))
    assert padding[1] < padding[0] / 2


@pytest.mark.parametrize("smoothing, pad_id", itertools.product([0.0, 0.1, 0.4], [0, 3]))
def test_both_labs_have_the_same_loss(in_keras, in_torch, smoothing, pad_id):
    import torch

    rng = np.random.default_rng(6)
    labels = rng.integers(4, 9, (3, 5))
    labels[0, 2:], labels[2, 4:] = pad_id, pad_id
    logits = rng.standard_normal((3, 5, 9)).astype("float32")
    ours = in_keras.masked_loss(labels, logits, smoothing, pad_id)
    theirs = in_torch.label_smoothed_loss(
        torch.from_numpy(logits), torch.from_numpy(labels), smoothing, pad_id
    )
    assert float(ours) == pytest.approx(float(theirs), rel=1e-5)


def test_both_labs_have_the_same_learning_rate_at_every_step(in_keras, in_torch):
    schedule = in_keras.WarmupSchedule(128, warmup_steps=300, factor=0.5)
    for step in (1, 2, 150, 299, 300, 301, 5000):
        wanted = in_torch.warmup_schedule(step, 128, 300, 0.5)
        assert float(schedule(step - 1)) == pytest.approx(wanted, rel=1e-5)


def test_one_step_of_training_moves_both_to_the_same_weights(in_keras, in_torch, twins):
    """With plain gradient descent, and without dropout."""
    import keras
    import tensorflow as tf
    import torch

    from course_utils.models.keras_translator import get_weights, set_weights

    config = CONFIG | {"dropout_rate": 0.0, "norm_first": "encoder.norm.weight" in twins.state}
    source, target = padded(3, 6, 8)
    labels = np.where(target == 1, 5, target)
    model, ours = in_keras.Transformer(**config), in_torch.Transformer(**config)
    model(source, target)
    set_weights(model, twins.state)
    ours.load_state_dict({name: torch.from_numpy(array) for name, array in twins.state.items()})
    optimizer = keras.optimizers.SGD(0.1)
    loss = in_keras.train_step(model, optimizer, tf.constant(source), tf.constant(labels))
    plain = torch.optim.SGD(ours.parameters(), lr=1.0)
    wanted = in_torch.train_step(ours, plain, torch.from_numpy(source), torch.from_numpy(labels), 0.1)
    assert float(loss) == pytest.approx(wanted, rel=1e-5)
    for name, array in get_weights(model).items():
        np.testing.assert_allclose(array, ours.state_dict()[name].numpy(), atol=2e-5, err_msg=name)


# ---------------------------------------------------------------------------------- the weights that come with the course


def test_with_the_shipped_weights_both_translate_alike_and_most_sentences_rightly(in_keras):
    import tensorflow as tf

    from course_utils.data.batches import encode_batch
    from course_utils.data.translation import translation_pairs
    from course_utils.models.keras_translator import set_weights
    from course_utils.models.translator import SHIPPED, LibraryTranslator, load_weights

    assert SHIPPED.is_file(), "the weights that come with the course are missing"
    checkpoint = load_weights()
    french, english = checkpoint.source_vocabulary, checkpoint.target_vocabulary
    pairs = [
        pair for pair in translation_pairs(100, seed=77) if french.unk_id not in french.encode(pair.source)
    ]
    model = in_keras.SavableTransformer(**checkpoint.config)
    model(np.ones((1, 2), dtype="int64"), np.ones((1, 2), dtype="int64"))
    set_weights(model, checkpoint.state)
    signature = [tf.TensorSpec([None, None], tf.int64), tf.TensorSpec([None, None], tf.int32)]
    forward = tf.function(
        lambda source, target: model(source, target, training=False), input_signature=signature
    )
    ids = in_keras.greedy_decode(
        lambda source, target, training=False: forward(source, target),
        tf.constant(encode_batch([pair.source for pair in pairs], french)),
        max_len=24,
    )
    ours = [english.decode(row) for row in ids.numpy()]
    theirs = LibraryTranslator(checkpoint)
    assert ours == [theirs(pair.source)[0] for pair in pairs]
    assert np.mean([written == pair.target for written, pair in zip(ours, pairs, strict=True)]) > 0.9
