"""Lab 02's reference computes what torch computes, for self-, causal and cross-attention, and Keras for self-attention.

Everything is in float64. No query row is fully blocked: what comes of one is a convention, and the
libraries have others (NaN, or equal weights). Lab 02's own checks fix the course's.
"""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

BATCH, SEQ_LEN, MEMORY_LEN, D_MODEL, D_K, D_V = 2, 5, 7, 6, 4, 3
# D_K is a square because Keras rounds 1 / √D_K to float32, whatever the layer's own dtype is.


@pytest.fixture
def reference(labs) -> SimpleNamespace:
    """The exercises of lab 02 as its solution defines them."""
    lab = labs["02_self_attention"]
    names = [exercise.name for exercise in lab.exercises.values()]
    return SimpleNamespace(**{name: lab.reference[name] for name in names})


def some_mask(rng: np.random.Generator, *shape: int) -> np.ndarray:
    """True = may attend. Every row blocks a key and allows one."""
    mask = rng.random(shape) < 0.5
    mask[..., 0], mask[..., -1] = True, False
    return rng.permuted(mask, axis=-1)


def some_padding(rng: np.random.Generator, seq_len: int) -> np.ndarray:
    """True = real token, shape (BATCH, 1, seq_len). The first sentence has none."""
    lengths = rng.integers(1, seq_len, BATCH)
    lengths[0] = seq_len
    return (np.arange(seq_len) < lengths[:, None])[:, None, :]


def words(rng: np.random.Generator, seq_len: int) -> np.ndarray:
    return rng.standard_normal((BATCH, seq_len, D_MODEL))


def projections(rng: np.random.Generator) -> tuple[np.ndarray, ...]:
    return tuple(rng.standard_normal((D_MODEL, width)) / np.sqrt(D_MODEL) for width in (D_K, D_K, D_V))


def assert_same(ours: tuple, theirs: tuple) -> None:
    """The same outputs and the same weights, shapes included."""
    for name, our, their in zip(("output", "weights"), ours, theirs, strict=True):
        np.testing.assert_allclose(our, their, rtol=1e-9, atol=1e-12, err_msg=name, strict=True)


# ---------------------------------------------------------------------------------- torch's function


def torch_attention(query, key, value, mask=None, **options) -> tuple[np.ndarray, np.ndarray]:
    """Output and weights of torch's function: the weights are what it puts out for unit vectors as values."""
    import torch

    query, key, value = torch.tensor(query), torch.tensor(key), torch.tensor(value)
    if mask is not None:
        options["attn_mask"] = torch.tensor(mask)
    units = torch.eye(key.shape[-2], dtype=value.dtype).expand(*key.shape[:-1], -1)
    attend = torch.nn.functional.scaled_dot_product_attention
    return tuple(attend(query, key, values, **options).numpy() for values in (value, units))


@pytest.mark.parametrize("lead", [(), (BATCH,), (BATCH, 3)], ids=str)
def test_attention_without_a_mask_equals_torchs_function(reference, rng, lead):
    query, key = rng.standard_normal((*lead, SEQ_LEN, D_K)), rng.standard_normal((*lead, MEMORY_LEN, D_K))
    value = rng.standard_normal((*lead, MEMORY_LEN, D_V))
    assert_same(reference.scaled_dot_product_attention(query, key, value), torch_attention(query, key, value))


@pytest.mark.parametrize(
    "lead, mask_shape",
    [
        ((), (SEQ_LEN, MEMORY_LEN)),
        ((BATCH,), (SEQ_LEN, MEMORY_LEN)),
        ((BATCH,), (BATCH, 1, MEMORY_LEN)),
        ((BATCH,), (BATCH, SEQ_LEN, MEMORY_LEN)),
        ((BATCH, 3), (BATCH, 1, SEQ_LEN, MEMORY_LEN)),
        ((BATCH, 3), (BATCH, 3, SEQ_LEN, MEMORY_LEN)),
    ],
    ids=str,
)
def test_attention_with_a_boolean_mask_equals_torchs_function(reference, rng, lead, mask_shape):
    query, key = rng.standard_normal((*lead, SEQ_LEN, D_K)), rng.standard_normal((*lead, MEMORY_LEN, D_K))
    value, mask = rng.standard_normal((*lead, MEMORY_LEN, D_V)), some_mask(rng, *mask_shape)
    ours = reference.scaled_dot_product_attention(query, key, value, mask)
    assert_same(ours, torch_attention(query, key, value, mask))


def test_causal_attention_equals_torchs_function_told_to_be_causal(reference, rng):
    x, weights = words(rng, SEQ_LEN), projections(rng)
    theirs = torch_attention(*reference.project_qkv(x, *weights), is_causal=True)
    assert_same(reference.causal_self_attention(x, *weights), theirs)


def test_causal_attention_with_padding_equals_torchs_function_with_both_masks(reference, rng):
    x, weights, padding = words(rng, SEQ_LEN), projections(rng), some_padding(rng, SEQ_LEN)
    theirs = torch_attention(*reference.project_qkv(x, *weights), np.tri(SEQ_LEN, dtype=bool) & padding)
    assert_same(reference.causal_self_attention(x, *weights, token_mask=padding), theirs)


@pytest.mark.parametrize("padded", [False, True], ids=["without padding", "with padding"])
def test_cross_attention_equals_torchs_function(reference, rng, padded):
    x, memory, (w_query, w_key, w_value) = words(rng, SEQ_LEN), words(rng, MEMORY_LEN), projections(rng)
    mask = some_padding(rng, MEMORY_LEN) if padded else None
    ours = reference.cross_attention(x, memory, w_query, w_key, w_value, memory_mask=mask)
    assert_same(ours, torch_attention(x @ w_query, memory @ w_key, memory @ w_value, mask))


def test_attention_of_bare_words_equals_torchs_layer_whose_masks_are_the_other_way_round(reference, rng):
    import torch

    x, mask = words(rng, SEQ_LEN), some_mask(rng, SEQ_LEN, SEQ_LEN)
    layer = torch.nn.MultiheadAttention(
        D_MODEL, num_heads=1, bias=False, batch_first=True, dtype=torch.float64
    )
    with torch.no_grad():
        layer.in_proj_weight.copy_(torch.eye(D_MODEL).repeat(3, 1))
        layer.out_proj.weight.copy_(torch.eye(D_MODEL))
        same = torch.tensor(x)
        theirs = layer(same, same, same, attn_mask=torch.tensor(~mask))
    assert_same(reference.scaled_dot_product_attention(x, x, x, mask), tuple(part.numpy() for part in theirs))


@pytest.mark.slow
@pytest.mark.parametrize("mask_shape", [None, (BATCH, 1, SEQ_LEN), (BATCH, SEQ_LEN, SEQ_LEN)], ids=str)
def test_self_attention_equals_keras_layer(reference, keras, rng, mask_shape):
    x, weights = words(rng, SEQ_LEN), projections(rng)
    mask = some_mask(rng, *mask_shape) if mask_shape else None
    layer = keras.layers.MultiHeadAttention(
        num_heads=1, key_dim=D_K, value_dim=D_V, output_shape=D_V, use_bias=False, dtype="float64"
    )
    layer.build(x.shape, x.shape)
    layer.set_weights([*(w[:, None, :] for w in weights), np.eye(D_V)[None]])
    output, shares = map(
        keras.ops.convert_to_numpy, layer(x, x, attention_mask=mask, return_attention_scores=True)
    )
    ours = reference.scaled_dot_product_attention(*reference.project_qkv(x, *weights), mask)
    assert_same(ours, (output, shares[:, 0]))
