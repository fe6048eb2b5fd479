"""Lab 01: from recurrent networks to attention, in NumPy, and what each costs.

All sizes of a case differ from each other (batch, query length, key length, every feature size), so that no
mistake hides behind two axes of equal length.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from course_utils.cases.attention import READY_MADE
from course_utils.cases.forms import no_floats
from course_utils.cases.properties import normal, output_is_finite, together
from course_utils.checking.exercise import Case, Exercise, Inputs, Outputs, Run, call_function

# ---------------------------------------------------------------------------------- rnn_forward


def _recurrent(lead: Sequence[int], seq_len: int, d_input: int, d_hidden: int, state: bool = False):
    def inputs(rng: np.random.Generator) -> Inputs:
        made = {
            "x": normal(rng, *lead, seq_len, d_input),
            "w_input": normal(rng, d_input, d_hidden, scale=0.8 / np.sqrt(d_input)),
            "w_hidden": normal(rng, d_hidden, d_hidden, scale=1.0 / np.sqrt(d_hidden)),
            "bias": normal(rng, d_hidden, scale=0.4),
        }
        return {**made, "state": rng.uniform(-0.9, 0.9, (*lead, d_hidden))} if state else made

    return inputs


def _saturated(rng: np.random.Generator) -> Inputs:
    """In all features but the first one the tanh is 1 or -1, and an exponential of what it is taken of is beyond its bounds."""
    inputs = _recurrent((2,), 5, 3, 4)(rng)
    inputs["x"][..., 0] = rng.permuted(np.tile([1.0, 1.0, -1.0, -1.0, 1.0], (2, 1)), axis=-1)
    inputs["w_input"][0] = [0, 900, -900, 900]
    return inputs


def _one_word_changed(rng: np.random.Generator) -> list[Inputs]:
    inputs = _recurrent((2,), 6, 3, 4)(rng)
    x = inputs["x"].copy()
    x[:, 3] = -x[:, 3]
    return [inputs, {**inputs, "x": x}]


def only_later_states_change(runs: list[Run]) -> np.ndarray:
    """Changing word 3 changes no state before it, and every state from there on."""
    before, after = (run[1]["states"] for run in runs)
    same = np.isclose(before, after, atol=1e-7).all(axis=-1)
    return np.where(np.arange(same.shape[-1]) < 3, same, ~same)


def states_are_bounded(inputs: Inputs, outputs: Outputs) -> np.ndarray:
    """Every number of a state lies between -1 and 1."""
    return np.abs(outputs["states"]) <= 1


rnn_forward = Exercise(
    name="rnn_forward",
    returns=("states",),
    cases=(
        Case("one sentence of 6 words: x of shape (6, 3), 4 hidden features", _recurrent((), 6, 3, 4)),
        Case(
            "a batch of 2, x (2, 5, 3); then one of a single word",
            together(_recurrent((2,), 5, 3, 4), _recurrent((1,), 1, 3, 4)),
        ),
        Case("two leading axes: x of shape (2, 3, 6, 4)", _recurrent((2, 3), 6, 4, 5)),
        Case(
            "a first state is given: for a batch, one sentence, two leading axes",
            together(
                _recurrent((2,), 5, 4, 3, state=True),
                _recurrent((), 4, 3, 5, state=True),
                _recurrent((2, 3), 4, 6, 5, state=True),
            ),
        ),
        Case(
            "very large numbers: states near 1 and -1; then all sizes equal",
            together(_saturated, _recurrent((3,), 3, 3, 3)),
        ),
        Case("word 3 of 6 changed", _one_word_changed, only_later_states_change),
    ),
    properties=(states_are_bounded,),
    bypasses=(
        "torch.nn.RNN",
        "torch.nn.RNNCell",
        "torch.rnn_tanh",
        "keras.layers.SimpleRNN",
        "keras.layers.SimpleRNNCell",
    ),
)

# ---------------------------------------------------------------------------------- scores


def _additive(lead: Sequence[int], q_len: int, k_len: int, d_query: int, d_key: int, d_align: int):
    return lambda rng: {
        "query": normal(rng, *lead, q_len, d_query),
        "key": normal(rng, *lead, k_len, d_key),
        "w_query": normal(rng, d_query, d_align, scale=1.0 / np.sqrt(d_query)),
        "w_key": normal(rng, d_key, d_align, scale=1.0 / np.sqrt(d_key)),
        "v": normal(rng, d_align, scale=0.5),
    }


def asking_has_an_effect(inputs: Inputs, outputs: Outputs) -> np.ndarray | None:
    """Different queries prefer different keys: their scores differ by more than a constant."""
    scores = outputs["scores"]
    if scores.shape[-2] == 1 or np.abs(inputs["query"]).max() > 100:
        return None  # of such numbers a tanh leaves 1 and -1, and whether queries differ is chance
    difference = scores[..., 1:, :] - scores[..., :1, :]
    return np.ptp(difference, axis=-1) > 1e-5


def _very_large(rng: np.random.Generator) -> Inputs:
    """In all features but one the tanh is nearly always 1 or -1, and what an exponential makes of the sum is beyond its bounds.
    More words than in other cases, too. The numbers lie on a grid, so that single precision adds them without rounding even where a query
    and a key nearly cancel out.
    """
    inputs = _additive((), 21, 18, 3, 5, 7)(rng)
    for name in ("w_query", "w_key"):
        inputs[name] = np.round(64 * inputs[name]) / 64
        inputs[name][:, 0] /= 800
    return {**inputs, "query": np.round(800 * inputs["query"]), "key": np.round(800 * inputs["key"])}


additive_scores = Exercise(
    name="additive_scores",
    returns=("scores",),
    cases=(
        Case("4 queries (4, 3) and 6 keys (6, 5), compared in 7 features", _additive((), 4, 6, 3, 5, 7)),
        Case(
            "one query (1, 4) and 5 keys (5, 3); then as a batch of one",
            together(_additive((), 1, 5, 4, 3, 6), _additive((1,), 1, 5, 4, 3, 6)),
        ),
        Case(
            "a batch of 2, query (2, 3, 6); then two leading axes",
            together(_additive((2,), 3, 5, 6, 4, 7), _additive((2, 3), 4, 7, 5, 6, 8)),
        ),
        Case("all sizes equal: query and key (3, 3, 3)", _additive((3,), 3, 3, 3, 3, 3)),
        Case("21 queries and 18 keys, all with very large features", _very_large),
    ),
    properties=(asking_has_an_effect,),
    bypasses=("keras.layers.AdditiveAttention",),
)


def _dot(lead: Sequence[int], q_len: int, k_len: int, d_query: int, d_key: int | None = None):
    def inputs(rng: np.random.Generator) -> Inputs:
        made = {
            "query": normal(rng, *lead, q_len, d_query),
            "key": normal(rng, *lead, k_len, d_key or d_query),
        }
        if d_key:
            made["w"] = normal(rng, d_query, d_key, scale=1.0 / np.sqrt(d_query))
        return made

    return inputs


def _without_matrix_with_identity_with_zeros(rng: np.random.Generator) -> list[Inputs]:
    inputs = _dot((2,), 3, 5, 4)(rng)
    return [inputs, {**inputs, "w": np.eye(4)}, {**inputs, "w": np.zeros((4, 4))}]


dot_product_scores = Exercise(
    name="dot_product_scores",
    returns=("scores",),
    cases=(
        Case("dot: query (4, 3), key (6, 3)", _dot((), 4, 6, 3)),
        Case(
            "dot: a batch of 2, query (2, 4, 3); then a batch of one query",
            together(_dot((2,), 4, 5, 3), _dot((1,), 1, 5, 3)),
        ),
        Case(
            "general: query (4, 3), key (6, 5); then equally long, w (3, 3)",
            together(_dot((), 4, 6, 3, 5), _dot((), 4, 6, 3, 3)),
        ),
        Case(
            "general: a batch of 2, w (6, 3); then two leading axes, (2, 3)",
            together(_dot((2,), 4, 5, 6, 3), _dot((2, 3), 4, 7, 5, 6)),
        ),
        Case(
            "dot, then general with the identity, then with a matrix of zeros",
            _without_matrix_with_identity_with_zeros,
        ),
    ),
    bypasses=READY_MADE,
)

# ---------------------------------------------------------------------------------- attend


def _attend(
    lead: Sequence[int],
    q_len: int,
    k_len: int,
    d_key: int,
    d_value: int,
    spread: float = 0.8,
    constant: bool = False,
):
    """Scores are not scaled in this lab, so short vectors keep the softmax from saturating. With a larger ``spread``, the shares
    of a query range from nearly 1 to nearly 0.

    With ``constant``, the last feature of every value is 1. So it is in every average, and in nothing else.
    """

    def inputs(rng: np.random.Generator) -> Inputs:
        value = normal(rng, *lead, k_len, d_value)
        if constant:
            value[..., -1] = 1
        return {
            "query": normal(rng, *lead, q_len, d_key, scale=spread),
            "key": normal(rng, *lead, k_len, d_key, scale=spread),
            "value": value,
        }

    return inputs


def _large_scores(rng: np.random.Generator) -> Inputs:
    """Scores around 900 or -900 that differ by ordinary amounts: exp() overflows or gives 0, yet no softmax is saturated.

    In sixteenths they are exact in float32 too, so that nobody loses by its rounding.
    """
    return _with_last_feature(rng, [30, -30], [30, 30, 30])


def _far_apart(rng: np.random.Generator) -> Inputs:
    """Only the largest score of each row keeps all of its exponentials within bounds, and one of them above zero."""
    return _with_last_feature(rng, [30, -30, 0], [30, 30, -30, -30, 30])


def _with_last_feature(rng: np.random.Generator, queries: list[int], keys: list[int]) -> Inputs:
    """Drawn again while two scores of a query are equal: sixteenths sometimes are, and then there is no single best key."""
    while True:
        inputs = _attend((), len(queries), len(keys), 4, 6)(rng)
        large = {name: np.round(16 * inputs[name]) / 16 for name in ("query", "key")}
        large["query"][..., -1], large["key"][..., -1] = rng.permutation(queries), rng.permutation(keys)
        if np.diff(np.sort(large["query"] @ large["key"].T)).all():
            return {**inputs, **large}


def rows_are_shares(inputs: Inputs, outputs: Outputs) -> np.ndarray:
    """Each row of the weights sums to 1, and no weight is negative."""
    weights = outputs["weights"]
    return np.isclose(weights.sum(axis=-1), 1, atol=1e-4) & (weights >= 0).all(axis=-1)


def contexts_are_averages(inputs: Inputs, outputs: Outputs) -> np.ndarray:
    """Each context lies between the smallest and the largest value, feature by feature."""
    value, context = inputs["value"], outputs["context"]
    low, high = value.min(axis=-2, keepdims=True), value.max(axis=-2, keepdims=True)
    return (context >= low - 1e-4) & (context <= high + 1e-4)


attend = Exercise(
    name="attend",
    returns=("context", "weights"),
    uses=("dot_product_scores",),
    cases=(
        Case(
            "one query (1, 3), 5 values (5, 4); then as a batch of one",
            together(_attend((), 1, 5, 3, 4), _attend((1,), 1, 5, 3, 4)),
        ),
        Case("4 queries (4, 3), 6 keys (6, 3), 6 values (6, 5)", _attend((), 4, 6, 3, 5)),
        Case(
            "a batch of 2, value (2, 6, 5); then two leading axes, (2, 3)",
            together(_attend((2,), 4, 6, 3, 5, constant=True), _attend((2, 3), 4, 7, 5, 6, constant=True)),
        ),
        Case("all sizes equal: query, key and value (4, 4, 4)", _attend((4,), 4, 4, 4, 4)),
        Case(
            "very large scores, positive or negative; then shares near 1 and 0",
            together(_large_scores, _far_apart, _attend((), 6, 8, 4, 5, spread=2.0)),
        ),
    ),
    properties=(rows_are_shares, contexts_are_averages, output_is_finite),
    bypasses=(*READY_MADE, "keras.layers.AdditiveAttention"),
)

# ---------------------------------------------------------------------------------- reweight


def _words(*shape: int, constant: bool = False) -> Callable[[np.random.Generator], Inputs]:
    """With ``constant``, the last feature of every word is 1. So it is in every average, and in nothing else."""

    def inputs(rng: np.random.Generator) -> Inputs:
        x = normal(rng, *shape, scale=0.7)
        if constant:
            x[..., -1] = 1
        return {"x": x}

    return inputs


def _very_long(rng: np.random.Generator) -> Inputs:
    """Words along different directions, so long that exp() of a dot product overflows, or is 0 far below the largest one. In
    sixteenths the dot products are exact in float32 too."""
    x = np.round(16 * _words(6, 4)(rng)["x"]) / 16
    x[:, 0] = rng.permutation([40, 40, -40, -40, 0, 0])
    return {"x": x}


def _unequally_long(rng: np.random.Generator) -> Inputs:
    """For some words exp() overflows if a word's product with itself is subtracted first: longer words have far larger ones with it."""
    x = np.round(16 * _words(6, 4)(rng)["x"]) / 16
    x[:, 0] = rng.permutation([20, -20, 60, 60, -60, -60])
    return {"x": x}


def _said_twice(rng: np.random.Generator) -> list[Inputs]:
    x = _words(2, 4, 3)(rng)["x"]
    return [{"x": x}, {"x": np.concatenate([x, x], axis=1)}]


def saying_it_twice_changes_nothing(runs: list[Run]) -> np.ndarray:
    """Saying the sentence twice leaves each word's output the same."""
    once, twice = (run[1]["y"] for run in runs)
    return np.isclose(np.concatenate([once, once], axis=1), twice, atol=1e-4)


def outputs_are_averages(inputs: Inputs, outputs: Outputs) -> np.ndarray:
    """Each output lies between the smallest and the largest word, feature by feature."""
    return contexts_are_averages({"value": inputs["x"]}, {"context": outputs["y"]})


reweight = Exercise(
    name="reweight",
    returns=("y", "weights"),
    uses=("attend",),
    cases=(
        Case("5 words of 4 features; then 4 words of 4", together(_words(5, 4), _words(4, 4))),
        Case(
            "3 words of 6 features; then as a batch of one; then one word",
            together(_words(3, 6), _words(1, 3, 6), _words(1, 5)),
        ),
        Case(
            "a batch of 2, (2, 6, 4); then two leading axes, (2, 3, 5, 4)",
            together(_words(2, 6, 4, constant=True), _words(2, 3, 5, 4, constant=True)),
        ),
        Case(
            "very large dot products, positive, negative and near 0; then words unequally long",
            together(_very_long, _unequally_long),
        ),
        Case("the sentence said twice", _said_twice, saying_it_twice_changes_nothing),
    ),
    properties=(rows_are_shares, outputs_are_averages),
    bypasses=READY_MADE,
)

# ---------------------------------------------------------------------------------- layer_cost

KINDS = ("self-attention", "recurrent", "convolutional", "dilated")


def _layer(kind: str, n: Callable[[np.random.Generator], int], **more: int):
    def inputs(rng: np.random.Generator) -> Inputs:
        return {"kind": kind, "n": int(n(rng)), "d": int(rng.integers(100, 600)), **more}

    return inputs


def _even(low: int, high: int) -> Callable[[np.random.Generator], int]:
    return lambda rng: 2 * rng.integers(low // 2, high // 2 + 1)


def _one_position(rng: np.random.Generator) -> list[Inputs]:
    return [{"kind": kind, "n": 1, "d": int(rng.integers(5, 9))} for kind in KINDS]


def _doubled(rng: np.random.Generator) -> list[Inputs]:
    n, d = int(rng.integers(10, 20)), int(rng.integers(100, 140))
    return [{"kind": kind, "n": length, "d": d} for kind in KINDS for length in (n, 2 * n)]


def doubling(runs: list[Run]) -> np.ndarray:
    """Twice the length takes four times the operations in self-attention, and twice as many in the others."""
    growth = [
        long[1]["operations"] == (4 if short[0]["kind"] == "self-attention" else 2) * short[1]["operations"]
        for short, long in zip(runs[::2], runs[1::2], strict=True)
    ]
    return np.array(growth)


def _cost_or_refusal(learner: Any, inputs: Inputs) -> Any:
    """Of an unknown kind, that it is refused by a ValueError that names it; (0, 0, 0) stands for that."""
    if inputs["kind"] in KINDS:
        return no_floats(call_function(learner, inputs), "three whole numbers")
    try:
        answer = call_function(learner, inputs)
    except ValueError as error:
        if inputs["kind"] in str(error):
            return 0, 0, 0
        raise AssertionError(
            f"a ValueError, as it should be; but its message does not name the kind {inputs['kind']!r}: {error}"
        ) from None
    raise AssertionError(f"no ValueError for the unknown kind {inputs['kind']!r}; it returned {answer}")


layer_cost = Exercise(
    name="layer_cost",
    returns=("operations", "sequential_steps", "path_length"),
    call=_cost_or_refusal,
    seconds=2.0,  # a few multiplications: only a loop without end takes longer
    cases=(
        Case("self-attention", _layer("self-attention", _even(20, 60))),
        Case("recurrent", _layer("recurrent", _even(20, 60))),
        Case(
            "convolutional: kernel 3, unless another one is given; then kernel 5, 4 and 2",
            together(
                _layer("convolutional", _even(20, 60)),
                *(
                    _layer("convolutional", lambda rng, n=n: n, kernel=kernel)
                    for n, kernel in ((21, 5), (22, 5), (23, 5), (8, 4), (8, 2))
                ),
            ),
        ),
        Case(
            "dilated: kernel 3; then kernel 2",
            together(
                _layer("dilated", _even(30, 80)),
                _layer("dilated", lambda rng: rng.integers(70, 120), kernel=2),
            ),
        ),
        Case(
            "dilated, lengths that the layers just reach: 27 and 243 with kernel 3",
            together(  # ratios of logarithms are whole, or a little more or less
                *(
                    _layer("dilated", lambda rng, n=n: n, kernel=kernel)
                    for n, kernel in ((27, 3), (125, 5), (243, 3), (512, 8))
                ),
            ),
        ),
        Case(
            "dilated, lengths just out of reach: 10, 244 and 2,188 with kernel 3",
            together(
                *(
                    _layer("dilated", lambda rng, n=n: n, kernel=kernel)
                    for n, kernel in ((10, 3), (244, 3), (2188, 3), (4097, 2))
                ),
            ),
        ),
        Case("a single position, every kind", _one_position),
        Case("n, then twice n, every kind", _doubled, doubling),
        Case(
            "kinds that do not exist: 'pooling', 'Recurrent', an empty string",
            together(
                _layer("recurrent", _even(20, 60)),
                *(
                    _layer(kind, lambda rng: 8)
                    for kind in (
                        "attention",
                        "cosine",
                        "pooling",
                        "routed",
                        "sparse",
                        "Recurrent",
                        "self attention",
                        "self_attention",
                        "convolution",
                        "recurrence",
                        "dilated ",
                        "dilate",
                        "current",
                        "",
                    )
                ),
            ),
        ),
    ),
)
