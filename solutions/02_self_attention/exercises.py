"""Lab 02: scaled dot-product attention in NumPy, its masks, and its three kinds.

Sizes differ from each other in nearly all runs (batch, heads, query length, key length, d_k, d_v, d_model), so that no
mistake hides behind two axes of equal length. Code that guesses from sizes is wrong in the few runs where all are equal.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from course_utils.cases.attention import READY_MADE
from course_utils.cases.properties import (
    blocked_weights_are_zero,
    normal,
    output_is_finite,
    random_mask,
    together,
    weights_are_probabilities,
)
from course_utils.checking.exercise import Case, Exercise, Inputs, Outputs, Run, call_function


def _projections(rng: np.random.Generator, d_model: int, d_k: int, d_v: int) -> Inputs:
    """Projections that give queries and keys with a spread near 1, so that no softmax saturates."""
    scale = 1.2 / np.sqrt(d_model)
    return {
        "w_query": normal(rng, d_model, d_k, scale=scale),
        "w_key": normal(rng, d_model, d_k, scale=scale),
        "w_value": normal(rng, d_model, d_v, scale=scale),
    }


# ---------------------------------------------------------------------------------- project_qkv

project_qkv = Exercise(
    name="project_qkv",
    returns=("query", "key", "value"),
    cases=(
        Case(
            "one sentence: x of shape (5, 6)",
            lambda rng: {"x": normal(rng, 5, 6), **_projections(rng, 6, 3, 4)},
        ),
        Case(
            "a batch, x (2, 5, 7); then two leading axes, (2, 3, 4, 6)",
            together(
                lambda rng: {"x": normal(rng, 2, 5, 7), **_projections(rng, 7, 6, 3)},
                lambda rng: {"x": normal(rng, 2, 3, 4, 6), **_projections(rng, 6, 5, 7)},
            ),
        ),
        Case(
            "all sizes equal, x (3, 3, 3); then a single word, (1, 1, 6)",
            together(
                lambda rng: {"x": normal(rng, 3, 3, 3), **_projections(rng, 3, 3, 3)},
                lambda rng: {"x": normal(rng, 1, 1, 6), **_projections(rng, 6, 3, 4)},
            ),
        ),
    ),
)

# ---------------------------------------------------------------------------------- attend_one_word


def _one_word(position: int, seq_len: int, d_model: int, d_k: int, d_v: int):
    return lambda rng: {
        "x": normal(rng, seq_len, d_model), "position": position, **_projections(rng, d_model, d_k, d_v)
    }  # fmt: skip


def _large_scores_of_one_word(rng: np.random.Generator) -> Inputs:
    """Scores around 900 that differ by ordinary amounts. In sixteenths they are exact in float32 too."""
    inputs = _one_word(3, 5, 6, 4, 3)(rng)
    x, w_query, w_key = (np.round(4 * inputs[name]) / 4 for name in ("x", "w_query", "w_key"))
    x[:, 0], w_query[0], w_key[0] = 1, [0, 0, 0, 30], [0, 0, 0, 60]
    w_query[1:, 3] = w_key[1:, 3] = 0
    return {**inputs, "x": x, "w_query": w_query, "w_key": w_key}


def one_distribution(inputs: Inputs, outputs: Outputs) -> np.ndarray:
    """The weights are a probability distribution over the words: none is negative, and they sum to 1."""
    weights = outputs["weights"]
    return np.isclose(weights.sum(), 1, atol=1e-4) & (weights >= 0)


attend_one_word = Exercise(
    name="attend_one_word",
    returns=("output", "weights"),
    cases=(
        Case(
            "word 2 of 5 words; then the first word of 4",
            together(_one_word(2, 5, 6, 3, 4), _one_word(0, 4, 7, 5, 3)),
        ),
        Case("all sizes equal: word 1 of 4 words with 4 features", _one_word(1, 4, 4, 4, 4)),
        Case(
            "values of one number: the last of 7 words; then a single word",
            together(_one_word(6, 7, 5, 4, 1), _one_word(0, 1, 5, 4, 3)),
        ),
        Case("very large scores", _large_scores_of_one_word),
    ),
    properties=(one_distribution,),
    bypasses=READY_MADE,
)

# ---------------------------------------------------------------------------------- scaled_dot_product_attention


def _attention(
    lead: Sequence[int], q_len: int, k_len: int, d_k: int, d_v: int, mask: Sequence[int] | None = None
):
    def inputs(rng: np.random.Generator) -> Inputs:
        made = {
            "query": normal(rng, *lead, q_len, d_k),
            "key": normal(rng, *lead, k_len, d_k),
            "value": normal(rng, *lead, k_len, d_v),
        }
        return made if mask is None else {**made, "mask": random_mask(rng, *mask)}

    return inputs


def _a_key_of_zeros(rng: np.random.Generator) -> Inputs:
    inputs = _attention((), 2, 4, 4, 5)(rng)
    inputs["key"][1] = 0
    return inputs


def _fully_blocked_row(rng: np.random.Generator) -> Inputs:
    inputs = _attention((2,), 4, 6, 3, 5, mask=(2, 4, 6))(rng)
    inputs["mask"][1, 2] = False
    return inputs


def _equal_scores(rng: np.random.Generator) -> Inputs:
    """A row of equal shares, as a blocked row may have them before it is set to 0."""
    inputs = _attention((), 4, 6, 3, 5, mask=(4, 6))(rng)
    inputs["query"][1] = 0
    inputs["mask"][1] = True
    return inputs


def _everything_blocked(rng: np.random.Generator) -> Inputs:
    return {**_attention((), 4, 6, 3, 5)(rng), "mask": np.zeros((4, 6), dtype=bool)}


def _large_scores(rng: np.random.Generator) -> Inputs:
    """Scores around 800 or -800 that differ by ordinary amounts: exp() overflows or gives 0, yet no softmax is saturated.

    In sixteenths and with d_k = 4 they are exact in float32 too, so that nobody loses by its rounding.
    """
    inputs = _attention((2,), 3, 5, 4, 6)(rng)
    large = {name: np.round(16 * inputs[name]) / 16 for name in ("query", "key")}
    large["query"][..., -1] = rng.permuted(np.tile([40, -40, -40], (2, 1)), axis=1)
    large["key"][..., -1] = 40
    return {**inputs, **large}


def _far_apart(rng: np.random.Generator) -> Inputs:
    """Only the largest score of each row keeps all of its exponentials within bounds, and one of them above zero."""
    inputs = _attention((2,), 3, 5, 4, 6)(rng)
    far = {name: np.round(16 * inputs[name]) / 16 for name in ("query", "key")}
    far["query"][..., -1] = rng.permuted(np.tile([90, -90, 0], (2, 1)), axis=1)
    far["key"][..., -1] = rng.permuted(np.tile([20, 20, -20, -20, 20], (2, 1)), axis=1)
    return {**inputs, **far}


def _far_apart_and_blocked(rng: np.random.Generator) -> Inputs:
    """Only a row's largest score that is *allowed* does so: in either sentence a much larger one is blocked."""
    inputs = _far_apart(rng)
    negative = inputs["key"][..., -1] < 0
    return {**inputs, "mask": np.stack([negative[:1], ~negative[1:]])}


def _only_the_worst_allowed(rng: np.random.Generator) -> Inputs:
    """Each query may attend to one key only, the one that fits worst: its score is near -100,000, others are near 100,000."""
    inputs = _attention((2,), 4, 6, 3, 5)(rng)
    query, key = 1e5 * inputs["query"], inputs["key"]
    key[:, 1] = -key[:, 0]
    fit = np.einsum("bqd,bkd->bqk", query, key)
    return {**inputs, "query": query, "mask": fit == fit.min(axis=-1, keepdims=True)}


def _blocked_key_changed(rng: np.random.Generator) -> list[Inputs]:
    inputs = _attention((2,), 4, 6, 3, 5, mask=(2, 1, 6))(rng)
    blocked = ~inputs["mask"][:, 0, :, None]
    changed = {
        **inputs,
        "key": np.where(blocked, normal(rng, 2, 6, 3), inputs["key"]),
        "value": np.where(blocked, normal(rng, 2, 6, 5), inputs["value"]),
    }
    return [inputs, changed]


def _equal_outputs(runs: list[Run]) -> np.ndarray:
    return np.isclose(runs[0][1]["output"], runs[1][1]["output"], atol=1e-4)


def same_output(runs: list[Run]) -> np.ndarray:
    """Changing a blocked key or value changes no output."""
    return _equal_outputs(runs)


scaled_dot_product_attention = Exercise(
    name="scaled_dot_product_attention",
    returns=("output", "weights"),
    cases=(
        Case("one sentence, no mask: query (4, 3), key (6, 3)", _attention((), 4, 6, 3, 5)),
        Case("two sizes equal: query (2, 4), key (4, 4), one key all zeros", _a_key_of_zeros),
        Case(
            "no mask: a batch, (2, 4, 3); then batch and heads, (2, 3, 4, 6)",
            together(_attention((2,), 4, 6, 3, 5), _attention((2, 3), 4, 5, 6, 7)),
        ),
        Case(
            "a mask row for each query, (4, 6): one sentence, batches of 2 and 4",
            together(
                _attention((), 4, 6, 3, 5, mask=(4, 6)),
                _attention((2,), 4, 6, 3, 5, mask=(4, 6)),
                _attention((4,), 4, 6, 3, 5, mask=(4, 6)),
            ),
        ),
        Case(
            "masks for each sentence, (2, 1, 6) and (2, 1, 4, 5); for each head",
            together(
                _attention((2,), 4, 6, 3, 5, mask=(2, 1, 6)),
                _attention((2, 3), 4, 5, 6, 7, mask=(2, 1, 4, 5)),
                _attention((3, 3), 4, 5, 6, 7, mask=(3, 4, 5)),
            ),
        ),
        Case(
            "as many queries as keys: masks (1, 5) and (5, 5), and none",
            together(
                _attention((2,), 5, 5, 3, 4, mask=(1, 5)),
                _attention((), 5, 5, 3, 4, mask=(5, 5)),
                _attention((), 5, 5, 3, 4),
            ),
        ),
        Case(
            "a mask that blocks every key, of one query and of all",
            together(_fully_blocked_row, _everything_blocked, _equal_scores),
        ),
        Case(
            "very large scores; then a mask, even one that allows only the worst key",
            together(_large_scores, _far_apart, _far_apart_and_blocked, _only_the_worst_allowed),
        ),
        Case(
            "a batch of one query; a single key; a mask of one row, (6,)",
            together(
                _attention((1,), 1, 5, 4, 3),
                _attention((), 4, 1, 3, 5),
                _attention((), 4, 6, 3, 1),
                _attention((2,), 4, 6, 3, 5, mask=(6,)),
            ),
        ),
        Case("blocked keys and values changed", _blocked_key_changed, same_output),
    ),
    properties=(weights_are_probabilities, blocked_weights_are_zero, output_is_finite),
    bypasses=READY_MADE,
)

# ---------------------------------------------------------------------------------- masks


def _token_ids(sentences: int, padded: bool = True, pad_id: int = 0):
    """Sentences of lengths drawn at random, padded to the longest of them; or all of one length."""

    def inputs(rng: np.random.Generator) -> Inputs:
        seq_len = int(rng.integers(7, 20))
        lengths = rng.integers(2, seq_len, sentences) if padded else np.full(sentences, seq_len)
        lengths[rng.integers(sentences)] = seq_len
        ids = rng.integers(1, 50, (sentences, seq_len))
        ids[ids == pad_id] = 51
        if pad_id != 0:
            ids[:, 0] = 0  # a token like any other
        ids[np.arange(seq_len) >= lengths[:, None]] = pad_id
        return {"token_ids": ids} if pad_id == 0 else {"token_ids": ids, "pad_id": pad_id}

    return inputs


def _single_sentence(rng: np.random.Generator) -> Inputs:
    ids = rng.integers(1, 50, rng.integers(24, 60))
    ids[-rng.integers(2, 20) :] = 0
    return {"token_ids": ids}


def _padded_in_front(rng: np.random.Generator) -> Inputs:
    return {"token_ids": _token_ids(3)(rng)["token_ids"][:, ::-1].copy()}


def _anywhere(rng: np.random.Generator) -> Inputs:
    """The id of the padding between words, too: a mask is about each place, not about where a sentence ends."""
    ids = _token_ids(4)(rng)["token_ids"]
    middle = rng.integers(1, ids.shape[1] - 1)
    ids[:, middle - 1 : middle + 2] = [[3, 0, 5]]
    return {"token_ids": ids}


def _nothing_but_padding(rng: np.random.Generator) -> Inputs:
    """One sentence of three has no words: a mask says what is there, and no place becomes a token so that a row is not empty."""
    ids = _token_ids(3)(rng)["token_ids"]
    ids[rng.integers(3)] = 0
    return {"token_ids": ids}


def _two_leading_axes(rng: np.random.Generator) -> Inputs:
    ids = _token_ids(6)(rng)["token_ids"]
    return {"token_ids": ids.reshape(2, 3, -1)}


padding_mask = Exercise(
    name="padding_mask",
    returns=("mask",),
    cases=(
        Case(
            "batches padded at the end, nowhere, in front, and anywhere",
            together(_token_ids(3), _token_ids(5, padded=False), _padded_in_front, _anywhere),
        ),
        Case(
            "one sentence as a vector; a batch (2, 3, seq_len); a sentence of padding only",
            together(
                _single_sentence,
                lambda rng: {"token_ids": _single_sentence(rng)["token_ids"][None]},
                _two_leading_axes,
                _nothing_but_padding,
            ),
        ),
        Case("padded with another id: pad_id=25", _token_ids(4, pad_id=25)),
    ),
)


def _sequence(shortest: int, longest: int):
    return lambda rng: {"seq_len": int(rng.integers(shortest, longest + 1))}


causal_mask = Exercise(
    name="causal_mask",
    returns=("mask",),
    cases=(
        Case("two short sequences, one after the other", together(_sequence(2, 19), _sequence(20, 49))),
        Case(
            "a sequence of 1, which sees itself, then one of more than 512",
            together(_sequence(1, 1), _sequence(520, 600)),
        ),
    ),
)


def _call_combine(learner: Callable, inputs: Inputs) -> np.ndarray:
    mask = call_function(learner, inputs)
    if any(each is not None for each in inputs.values()):
        if mask is None:
            raise ValueError(
                "it returned None, which stands for a mask that allows everything; here there is something to combine or to hand "
                "back. Which way through the function ends without a `return` of the mask?"
            )
        return mask
    if mask is not None:
        raise ValueError("Both masks are None, so nothing is masked, and None should come back.")
    return np.array([True])


combine_masks = Exercise(
    name="combine_masks",
    returns=("mask",),
    call=_call_combine,
    cases=(
        Case(
            "two masks of one shape; padding (2, 1, 5) with causal (5, 5)",
            together(
                lambda rng: {"first": random_mask(rng, 4, 5), "second": random_mask(rng, 4, 5)},
                lambda rng: {"first": random_mask(rng, 2, 1, 5), "second": np.tri(5, dtype=bool)},
                lambda rng: {"first": random_mask(rng, 1, 6), "second": random_mask(rng, 3, 6, allowed=0.8)},
                lambda rng: {"first": random_mask(rng, 3, 6, allowed=0.8), "second": random_mask(rng, 1, 6)},
                lambda rng: {"first": random_mask(rng, 1, 1, 5), "second": random_mask(rng, 5, 5)},
            ),
        ),
        Case(
            "one of the two masks is None, or both: None allows everything",
            together(
                lambda rng: {"first": None, "second": random_mask(rng, 3, 4)},
                lambda rng: {"first": random_mask(rng, 5), "second": None},
                lambda rng: {"first": None, "second": None},
            ),
        ),
        Case(
            "one of the two masks blocks everything, or nothing: that is not None",
            together(
                lambda rng: {"first": np.ones((3, 4), dtype=bool), "second": random_mask(rng, 4)},
                lambda rng: {"first": random_mask(rng, 4), "second": np.ones((3, 4), dtype=bool)},
                lambda rng: {"first": np.ones((3, 1), dtype=bool), "second": np.ones(4, dtype=bool)},
                lambda rng: {"first": np.zeros((3, 4), dtype=bool), "second": random_mask(rng, 3, 4)},
                lambda rng: {"first": random_mask(rng, 2, 5), "second": np.zeros((2, 5), dtype=bool)},
                lambda rng: {"first": random_mask(rng, 4, 3), "second": random_mask(rng, 4, 3)},
            ),
        ),
    ),
)

# ---------------------------------------------------------------------------------- the kinds of attention


def _lengths(rng: np.random.Generator, lead: Sequence[int], seq_len: int) -> np.ndarray:
    """How many words each sentence has: at least two, fewer than ``seq_len``, and no two of a batch equally many."""
    return np.asarray(rng.choice(np.arange(2, seq_len), tuple(lead), replace=False))


def _causal(lead: Sequence[int], seq_len: int, d_model: int, d_k: int, d_v: int, padded: str = ""):
    def inputs(rng: np.random.Generator) -> Inputs:
        made = {"x": normal(rng, *lead, seq_len, d_model), **_projections(rng, d_model, d_k, d_v)}
        if padded:
            lengths = _lengths(rng, lead, seq_len)[..., None]
            if padded == "at the end":  # hidden from every real word by the causal mask already
                made["token_mask"] = (np.arange(seq_len) < lengths)[..., None, :]
            else:  # in front, where only the padding mask hides it
                made["token_mask"] = (np.arange(seq_len) >= seq_len - lengths)[..., None, :]
        return made

    return inputs


def _no_word_in_one(rng: np.random.Generator) -> Inputs:
    inputs = _causal((2,), 5, 6, 4, 3, padded="in front")(rng)
    inputs["token_mask"][1] = False
    return inputs


def _no_word_in_any(rng: np.random.Generator) -> Inputs:
    inputs = _no_word_in_one(rng)
    inputs["token_mask"][:] = False
    return inputs


def _future_changed(rng: np.random.Generator) -> list[Inputs]:
    inputs = _causal((2,), 6, 5, 3, 4)(rng)
    x = inputs["x"].copy()
    x[:, 4:] = normal(rng, 2, 2, 5)
    return [inputs, {**inputs, "x": x}]


def past_is_untouched(runs: list[Run]) -> np.ndarray:
    """Changing words 4 and 5 changes no output at words 0 to 3."""
    return np.isclose(runs[0][1]["output"][:, :4], runs[1][1]["output"][:, :4], atol=1e-4)


def rows_are_shares(inputs: Inputs, outputs: Outputs) -> np.ndarray | None:
    """Each row of the weights sums to 1 (0 where every key is blocked), and no weight is negative."""
    mask = np.tri(inputs["x"].shape[-2], dtype=bool)
    if inputs.get("token_mask") is not None:
        mask = mask & inputs["token_mask"]
    return weights_are_probabilities({"mask": mask}, outputs)


def future_weights_are_zero(inputs: Inputs, outputs: Outputs) -> np.ndarray:
    """No word gives any weight to a later word."""
    return np.triu(outputs["weights"], 1) == 0


causal_self_attention = Exercise(
    name="causal_self_attention",
    returns=("output", "weights"),
    uses=("project_qkv", "scaled_dot_product_attention", "causal_mask", "combine_masks"),
    bypasses=READY_MADE,
    cases=(
        Case(
            "one sentence of 5 words; then a sentence of one word, and one of 40",
            together(
                *(
                    _causal(lead, seq_len, d_model, 3, 4)
                    for lead, seq_len, d_model in (((), 5, 6), ((1,), 1, 6), ((), 40, 6), ((), 5, 4))
                )  # in the last one, values are as wide as words
            ),
        ),
        Case(
            "a batch of 2 sentences; then two leading axes, x (2, 3, 5, 6)",
            together(_causal((2,), 6, 5, 3, 4), _causal((2, 3), 5, 6, 4, 7)),
        ),
        Case("a batch of 3 with padding at the end", _causal((3,), 5, 6, 4, 2, padded="at the end")),
        Case(
            "padding in front: 3 sentences; one; two with one or both all padding",
            together(
                _causal((3,), 7, 6, 4, 2, padded="in front"),
                _causal((), 7, 6, 4, 2, padded="in front"),
                _no_word_in_one,
                _no_word_in_any,
            ),
        ),
        Case("the last two words changed", _future_changed, past_is_untouched),
    ),
    properties=(rows_are_shares, future_weights_are_zero),
)


def _cross(
    lead: Sequence[int], q_len: int, k_len: int, d_model: int, d_k: int, d_v: int, masked: bool = False
):
    def inputs(rng: np.random.Generator) -> Inputs:
        made = {
            "x": normal(rng, *lead, q_len, d_model),
            "memory": normal(rng, *lead, k_len, d_model),
            **_projections(rng, d_model, d_k, d_v),
        }
        if masked:
            lengths = _lengths(rng, lead, k_len)
            made["memory_mask"] = (np.arange(k_len) < lengths[..., None])[..., None, :]
        return made

    return inputs


def _a_word_of_zeros(rng: np.random.Generator) -> Inputs:
    """No mask, and a word of memory whose features are all 0: it is a word like others."""
    inputs = _cross((2,), 4, 5, 6, 3, 7)(rng)
    inputs["memory"][0, 4] = 0
    return inputs


def _nothing_but_padding(rng: np.random.Generator) -> Inputs:
    """Padding in front in one sentence of memory, and nowhere a word in the other."""
    inputs = _cross((2,), 4, 5, 6, 3, 7)(rng)
    real = np.arange(5) >= np.array([[rng.integers(1, 4)], [5]])
    return {**inputs, "memory_mask": real[:, None, :]}


def _no_word_at_all(rng: np.random.Generator) -> Inputs:
    """Memory of one sentence, which is nothing but padding."""
    return {**_cross((), 4, 5, 6, 3, 7)(rng), "memory_mask": np.zeros((1, 5), dtype=bool)}


def memory_is_shared_out(inputs: Inputs, outputs: Outputs) -> np.ndarray | None:
    """Each row of the weights sums to 1 (0 where every key is blocked), and no weight is negative."""
    return weights_are_probabilities({"mask": inputs.get("memory_mask")}, outputs)


def _padding_added(rng: np.random.Generator) -> list[Inputs]:
    inputs = _cross((2,), 4, 5, 6, 3, 7)(rng)
    longer = np.concatenate([inputs["memory"], normal(rng, 2, 3, 6)], axis=1)
    real = np.broadcast_to(np.arange(8) < 5, (2, 1, 8))
    return [
        {**inputs, "memory_mask": real[..., :5].copy()},
        {**inputs, "memory": longer, "memory_mask": real.copy()},
    ]


def extra_padding_changes_nothing(runs: list[Run]) -> np.ndarray:
    """Three more words of padding in memory change no output."""
    return _equal_outputs(runs)


cross_attention = Exercise(
    name="cross_attention",
    returns=("output", "weights"),
    uses=("scaled_dot_product_attention",),
    bypasses=READY_MADE,
    cases=(
        Case(
            "4 words ask 6 of memory; one asks one; a memory word is zero",
            together(_cross((), 4, 6, 5, 3, 7), _cross((1,), 1, 1, 5, 3, 7), _a_word_of_zeros),
        ),
        Case(
            "a batch of 2, with more words than memory; then two leading axes, (2, 3)",
            together(_cross((2,), 6, 4, 5, 3, 7), _cross((2, 3), 4, 5, 6, 3, 7)),
        ),
        Case("memory has the shape of x, and all sizes are equal: (4, 4, 4)", _cross((4,), 4, 4, 4, 4, 4)),
        Case(
            "memory with padding; then a sentence of memory that is only padding",
            together(
                _cross((2,), 4, 5, 6, 3, 7, masked=True),
                _cross((2,), 5, 5, 6, 3, 7, masked=True),
                _nothing_but_padding,
                _no_word_at_all,
            ),
        ),
        Case("three words of padding added to memory", _padding_added, extra_padding_changes_nothing),
    ),
    properties=(memory_is_shared_out,),
)
