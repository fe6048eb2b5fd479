"""Lab 03: multi-head attention, as a loop, all heads at once, and as a PyTorch module.

Batch, heads, query length, key length, d_k, d_v and d_model all differ in a case, so that no mistake hides behind two axes of
equal length. The cases that give up one of these differences say so in their title.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from course_utils.cases.properties import normal, random_mask, together
from course_utils.cases.torch_modules import differ, run_module, sent_back
from course_utils.checking.exercise import Case, Exercise, Inputs, Outputs, Run, call_function

if TYPE_CHECKING:
    import torch
    from torch import nn

READY_MADE = (  # the whole of it; attention itself (torch's scaled_dot_product_attention, say) is a building block
    "torch.nn.MultiheadAttention",
    "torch.nn.functional.multi_head_attention_forward",
    "keras.layers.MultiHeadAttention",
    "keras.layers.GroupQueryAttention",
    "course_utils.models.torch_attention.MultiHeadAttention",  # there for later labs
)

# ---------------------------------------------------------------------------------- the two NumPy functions


def _projections(rng: np.random.Generator, d_model: int, num_heads: int, d_k: int, d_v: int) -> Inputs:
    """Queries and keys get a spread near 1, so that no softmax saturates."""
    scale = 1.2 / np.sqrt(d_model)
    return {
        "w_query": normal(rng, d_model, num_heads * d_k, scale=scale),
        "w_key": normal(rng, d_model, num_heads * d_k, scale=scale),
        "w_value": normal(rng, d_model, num_heads * d_v, scale=scale),
        "w_output": normal(rng, num_heads * d_v, d_model, scale=1 / np.sqrt(num_heads * d_v)),
        "num_heads": num_heads,
    }


def _heads(
    lead: Sequence[int],
    q_len: int,
    k_len: int,
    d_model: int,
    num_heads: int,
    d_k: int,
    d_v: int,
    mask: Sequence[int] | None = None,
):
    def inputs(rng: np.random.Generator) -> Inputs:
        made = {
            "x": normal(rng, *lead, q_len, d_model),
            "memory": normal(rng, *lead, k_len, d_model),
            **_projections(rng, d_model, num_heads, d_k, d_v),
        }
        return made if mask is None else {**made, "mask": random_mask(rng, *mask)}

    return inputs


def _to_itself(lead: Sequence[int], mask: Sequence[int]):
    """Self-attention of 5 words with a mask."""

    def inputs(rng: np.random.Generator) -> Inputs:
        made = _heads(lead, 5, 5, 8, 3, 4, 6, mask=mask)(rng)
        return {**made, "memory": made["x"]}

    return inputs


def _blocked_query(rng: np.random.Generator) -> Inputs:
    inputs = _heads((2,), 5, 7, 8, 3, 4, 6, mask=(2, 5, 7))(rng)
    inputs["mask"][1, 3] = False
    return inputs


def _all_blocked(rng: np.random.Generator) -> Inputs:
    inputs = _heads((2,), 5, 7, 8, 3, 4, 6, mask=(2, 5, 7))(rng)
    inputs["mask"][:] = False
    return inputs


def _blocked_words_changed(rng: np.random.Generator) -> list[Inputs]:
    inputs = _heads((2,), 5, 7, 8, 3, 4, 6, mask=(2, 1, 7))(rng)
    blocked = ~inputs["mask"][:, 0, :, None]
    return [inputs, {**inputs, "memory": np.where(blocked, normal(rng, 2, 7, 8), inputs["memory"])}]


def blocked_words_count_for_nothing(runs: list[Run]) -> np.ndarray:
    """Changing a blocked word of memory changes no output."""
    return np.isclose(runs[0][1]["output"], runs[1][1]["output"], atol=1e-4)


def _mask_over_heads(inputs: Inputs, weights: np.ndarray) -> np.ndarray | None:
    """The mask, the same for each head, in the shape of the weights (..., num_heads, q_len, k_len)."""
    mask = inputs.get("mask")
    return None if mask is None else np.broadcast_to(np.expand_dims(mask, -3), weights.shape)


def each_head_shares_out(inputs: Inputs, outputs: Outputs) -> np.ndarray:
    """In each head, each row of the weights is a distribution: nothing negative, sum 1 (0 if everything is blocked)."""
    weights = outputs["weights"]
    mask = _mask_over_heads(inputs, weights)
    wanted = 1.0 if mask is None else mask.any(axis=-1)
    return np.isclose(weights.sum(axis=-1), wanted, atol=1e-4) & (weights >= 0).all(axis=-1)


def blocked_in_every_head(inputs: Inputs, outputs: Outputs) -> np.ndarray | None:
    """What the mask blocks has weight exactly 0, in every head."""
    mask = _mask_over_heads(inputs, outputs["weights"])
    return None if mask is None else mask | (outputs["weights"] == 0)


_CASES = (
    Case("one sentence: x (4, 7), memory (6, 7), 2 heads", _heads((), 4, 6, 7, 2, 3, 5)),
    Case("a batch: x (2, 5, 8), memory (2, 4, 8), 3 heads", _heads((2,), 5, 4, 8, 3, 6, 7)),
    Case(
        "d_k = d_v = d_model / num_heads; then memory shaped like x",
        together(_heads((2,), 5, 7, 12, 3, 4, 4), _heads((2,), 6, 6, 12, 4, 3, 3)),
    ),
    Case(
        "a mask row for each query, (5, 7); then one mask for all",
        together(
            _heads((2,), 5, 7, 8, 3, 4, 6, mask=(5, 7)),
            _heads((5,), 5, 7, 8, 2, 4, 6, mask=(5, 7)),  # the heads are as wide as x, the values wider
            _heads((2,), 5, 7, 8, 3, 4, 6, mask=(1, 5, 7)),
            _heads((3,), 5, 7, 8, 3, 4, 6, mask=(1, 1, 7)),
        ),
    ),
    Case(
        "a mask for each sentence: (2, 1, 7), (2, 2, 1, 7), (3, 5, 7)",
        together(
            _heads((2,), 5, 7, 8, 3, 4, 6, mask=(2, 1, 7)),
            _heads((2, 2), 5, 7, 8, 3, 4, 6, mask=(2, 2, 1, 7)),
            _heads((3,), 5, 7, 8, 3, 4, 6, mask=(3, 5, 7)),
        ),
    ),
    Case(
        "self-attention with a mask of words, (2, 1, 5), and of pairs, (5, 5)",
        together(
            _to_itself((2,), (2, 1, 5)),
            _to_itself((2,), (5, 5)),
            _to_itself((), (5, 5)),
        ),
    ),
    Case(
        "a query that may look at nothing; then none may look at anything",
        together(_blocked_query, _all_blocked),
    ),
    Case(
        "a single head; a batch of one with a single query",
        together(
            _heads((2,), 5, 7, 8, 1, 4, 6),
            _heads((1,), 1, 5, 8, 3, 4, 6),
            _heads((2,), 5, 7, 6, 1, 4, 6),  # w_output is square, and mixes all the same
        ),
    ),
    Case("blocked words of memory changed", _blocked_words_changed, blocked_words_count_for_nothing),
)

multi_head_attention_loop = Exercise(
    name="multi_head_attention_loop",
    returns=("output", "weights"),
    cases=_CASES,
    properties=(each_head_shares_out, blocked_in_every_head),
    bypasses=READY_MADE,
)

# ---------------------------------------------------------------------------------- split and merge


def words_keep_their_features(inputs: Inputs, outputs: Outputs) -> np.ndarray:
    """The heads of a word hold that word's own features, and none from another word or sentence."""
    heads, x = outputs["heads"], inputs["x"]
    of_word = [np.sort(heads[..., word, :].reshape(*x.shape[:-2], -1)) for word in range(x.shape[-2])]
    return np.isclose(np.stack(of_word, axis=-2), np.sort(x), atol=1e-6)


split_heads = Exercise(
    name="split_heads",
    returns=("heads",),
    cases=(
        Case("one sentence: x (5, 6), 2 heads", lambda rng: {"x": normal(rng, 5, 6), "num_heads": 2}),
        Case(
            "a batch: x (2, 5, 12), 3 heads; then x (3, 7, 8), 4 heads",
            together(
                lambda rng: {"x": normal(rng, 2, 5, 12), "num_heads": 3},
                lambda rng: {"x": normal(rng, 3, 7, 8), "num_heads": 4},
                # as many words as heads; as many sentences as heads
                lambda rng: {"x": normal(rng, 2, 3, 6), "num_heads": 3},
                lambda rng: {"x": normal(rng, 2, 5, 6), "num_heads": 2},
            ),
        ),
        Case(
            "two axes in front: x (3, 2, 5, 28), 4 heads",
            lambda rng: {"x": normal(rng, 3, 2, 5, 28), "num_heads": 4},
        ),
        Case(
            "a single head; a batch of one word; as many heads as features",
            together(
                lambda rng: {"x": normal(rng, 2, 4, 3), "num_heads": 1},
                lambda rng: {"x": normal(rng, 1, 1, 6), "num_heads": 2},
                lambda rng: {"x": normal(rng, 2, 5, 3), "num_heads": 3},
            ),
        ),
    ),
    properties=(words_keep_their_features,),
)


def words_stay_together(inputs: Inputs, outputs: Outputs) -> np.ndarray:
    """The row of a word holds what the heads found for that word, and nothing from another word or sentence."""
    heads, merged = inputs["heads"], outputs["merged"]
    lead = merged.shape[:-2]
    of_word = [np.sort(heads[..., word, :].reshape(*lead, -1)) for word in range(heads.shape[-2])]
    return np.isclose(np.stack(of_word, axis=-2), np.sort(merged), atol=1e-6)


merge_heads = Exercise(
    name="merge_heads",
    returns=("merged",),
    cases=(
        Case("one sentence: (2, 5, 3)", lambda rng: {"heads": normal(rng, 2, 5, 3)}),
        Case(
            "a batch: (2, 3, 5, 4); then more heads than words, (2, 6, 3, 5)",
            together(
                *(
                    lambda rng, shape=shape: {"heads": normal(rng, *shape)}
                    for shape in ((2, 3, 5, 4), (2, 6, 3, 5), (2, 3, 3, 4))
                )
            ),
        ),
        Case("two axes in front: (2, 3, 4, 6, 5)", lambda rng: {"heads": normal(rng, 2, 3, 4, 6, 5)}),
        Case(
            "a single head; a batch of one sentence; a single word",
            together(
                *(
                    lambda rng, shape=shape: {"heads": normal(rng, *shape)}
                    for shape in ((2, 1, 4, 3), (1, 3, 4, 2), (2, 3, 1, 4), (2, 5, 1))
                )
            ),
        ),
    ),
    properties=(words_stay_together,),
)

multi_head_attention = Exercise(
    name="multi_head_attention",
    returns=("output", "weights"),
    cases=_CASES,
    properties=(each_head_shares_out, blocked_in_every_head),
    uses=("split_heads", "merge_heads"),
    bypasses=READY_MADE,
)

# ---------------------------------------------------------------------------------- the module


class WrongModule(Exception):
    """The learner's module is not built as its docstring says; the message says what to change."""


def _module(
    batch: int,
    q_len: int,
    k_len: int,
    d_model: int,
    num_heads: int,
    mask: Sequence[int] | None = None,
    bias: bool = True,
    **more: Any,
):
    """Inputs of a run: what the module is constructed with, its weights as nn.Linear keeps them, and what
    ``forward`` gets. All in float32, as modules compute."""

    def inputs(rng: np.random.Generator) -> Inputs:
        parameters = {}
        for name in ("w_query", "w_key", "w_value", "w_output"):
            weight = normal(rng, d_model, d_model, scale=1.2 / np.sqrt(d_model))
            parameters[f"{name}.weight"] = weight.astype(np.float32)
            if bias:
                parameters[f"{name}.bias"] = normal(rng, d_model, scale=0.5).astype(np.float32)
        made = {
            "construct": {"d_model": d_model, "num_heads": num_heads} | ({} if bias else {"bias": False}),
            "parameters": parameters,
            "query": normal(rng, batch, q_len, d_model).astype(np.float32),
            "key": normal(rng, batch, k_len, d_model).astype(np.float32),
            "value": normal(rng, batch, k_len, d_model).astype(np.float32),
        }
        return made if mask is None else {**made, "mask": random_mask(rng, *mask)}

    return inputs


def _self_attention(mask: Sequence[int] | None = None):
    def inputs(rng: np.random.Generator) -> Inputs:
        made = _module(2, 5, 5, 12, 3, mask=mask)(rng)
        return {**made, "key": made["query"], "value": made["query"]}

    return inputs


def _queries_of_padding(rng: np.random.Generator) -> Inputs:
    """A mask that says of each query whether it may look at anything."""
    return {**_self_attention()(rng), "mask": np.arange(5)[:, None] < 4}


def _module_blocked_query(rng: np.random.Generator) -> Inputs:
    inputs = _module(2, 5, 7, 12, 3, mask=(2, 5, 7))(rng)
    inputs["mask"][1, 3] = False
    return inputs


def _module_all_blocked(rng: np.random.Generator) -> Inputs:
    inputs = _module_blocked_query(rng)
    inputs["mask"][:] = False
    return inputs


def _one_word_allowed(rng: np.random.Generator) -> Inputs:
    """Each query may look at one word only. About half of these have scores far below -10,000."""
    inputs = _module(2, 5, 7, 12, 3)(rng)
    allowed = np.arange(7) == rng.integers(7, size=(2, 5, 1))
    return {**inputs, "query": np.float32(1e5) * inputs["query"], "mask": allowed}


def _module_blocked_changed(rng: np.random.Generator) -> list[Inputs]:
    inputs = _module(2, 5, 7, 12, 3, mask=(2, 1, 7))(rng)
    blocked = ~inputs["mask"][:, 0, :, None]
    changed = {
        name: np.where(blocked, normal(rng, 2, 7, 12), inputs[name]).astype(np.float32)
        for name in ("key", "value")
    }
    return [inputs, {**inputs, **changed}]


def _module_masked_before(rng: np.random.Generator) -> Inputs:
    inputs = _module(2, 5, 7, 12, 3)(rng)
    return {**inputs, "mask of an earlier call": random_mask(rng, 2, 1, 7)}


def _made(learner: Any, inputs: Mapping[str, Any]) -> tuple[nn.Module, dict[str, nn.Parameter]]:
    """The module with the wanted weights, and these by name.

    Raises:
        WrongModule: it has not the parameters that its docstring names.
    """
    import torch

    construct = inputs["construct"]
    more = {name: construct[name] for name in construct if name == "bias"}
    module = learner(construct["d_model"], construct["num_heads"], **more)
    if not isinstance(module, torch.nn.Module):
        raise WrongModule(f"{type(module).__name__} is no nn.Module: the class line must be left as it is.")
    return module, _set(module, inputs["parameters"])


def _call_module(learner: Any, inputs: Inputs) -> tuple:
    """Constructs the module, sets its weights, and calls it; with a mask of an earlier call, after a call with that mask.

    Raises:
        WrongModule: it has not the parameters that its docstring names, or it is random.
    """
    import torch

    module, parameters = _made(learner, inputs)
    module.eval()
    like = next(iter(parameters.values()))
    made: dict[int, torch.Tensor] = {}
    forward = {  # in self-attention one and the same tensor three times, as a caller gives it
        name: made.setdefault(id(inputs[name]), _tensor(inputs[name], like))
        for name in ("query", "key", "value")
    }
    if "mask" in inputs:
        forward["mask"] = torch.from_numpy(inputs["mask"])
    if "mask of an earlier call" in inputs:
        run_module(module, {**forward, "mask": torch.from_numpy(inputs["mask of an earlier call"])})
    found = run_module(module, forward)
    if differ(found, run_module(module, forward)):
        raise WrongModule(
            "Two calls with the same input give two different outputs. Is there dropout? None is asked for. Is a layer made "
            "in `forward`? It gets new random weights at every call: use those of `__init__`. Or does a call leave something "
            "behind that the next one finds, such as a changed mask?"
        )
    return found


def _train_through(learner: Any, given: Mapping[str, Any]) -> tuple[Any, dict[str, nn.Parameter]]:
    module, parameters = _made(learner, given)
    like = next(iter(parameters.values()))
    forward = {name: given[name].to(like.dtype) for name in ("query", "key", "value")}
    return run_module(module.train(), {**forward, "mask": given["mask"]}), parameters


def _tensor(array: np.ndarray, like: torch.Tensor) -> torch.Tensor:
    import torch

    return torch.from_numpy(array).to(like.dtype)  # shares the array's memory: a change in place is noticed


def _set(module: nn.Module, wanted: Mapping[str, np.ndarray]) -> dict[str, nn.Parameter]:
    """Gives the module the wanted parameters, and returns them in that order."""
    import torch

    there = dict(module.named_parameters())
    names = {id(parameter): name for name, parameter in there.items()}
    for name, parameter in module.named_parameters(remove_duplicate=False):
        if name in wanted and name not in there:
            raise WrongModule(
                f"`{name}` and `{names[id(parameter)]}` are one and the same parameter, under two names. Each of the four layers has its own."
            )
    has = ", ".join(f"`{name}`" for name in there) or "none"
    for name, array in wanted.items():
        if name not in there:
            raise WrongModule(
                f"After `__init__` the module has no parameter `{name}` (it has: {has}). Make the four nn.Linear there, "
                "under the names in the docstring; one that is made in `forward` is new and random at every call."
            )
        if there[name].shape != array.shape:
            shape, expected = tuple(there[name].shape), array.shape
            raise WrongModule(
                f"`{name}` has shape {shape}; expected {expected}: from d_model numbers, all heads at once."
            )
    linear = [name.partition(".")[0] for name in wanted]
    if extra := [name for name in there if name not in wanted]:
        if extra[0].partition(".")[0] not in linear:
            raise WrongModule(
                f"There is a parameter too many: `{extra[0]}`. The docstring names the four layers that belong."
            )
        raise WrongModule(
            f"With bias=False there must be no `{extra[0]}`: hand `bias` on to every nn.Linear."
        )
    with torch.no_grad():
        for name, array in wanted.items():
            there[name].copy_(torch.from_numpy(array))
    return {name: there[name] for name in wanted}


MultiHeadAttention = Exercise(
    name="MultiHeadAttention",
    returns=("output", "weights"),
    cases=(
        Case("self-attention: query = key = value of shape (2, 5, 12), 3 heads", _self_attention()),
        Case(
            "self-attention, masks of words (2, 1, 5), pairs (5, 5), queries (5, 1)",
            together(_self_attention(mask=(2, 1, 5)), _self_attention(mask=(5, 5)), _queries_of_padding),
        ),
        Case("query (2, 5, 12); key and value (2, 7, 12) differ from each other", _module(2, 5, 7, 12, 3)),
        Case(
            "padding, (2, 1, 7); then a call without a mask, after one with it",
            together(_module(2, 5, 7, 12, 3, mask=(2, 1, 7)), _module_masked_before),
        ),
        Case(
            "a mask row for each query, (5, 7); then one mask for all",
            together(
                _module(2, 5, 7, 12, 3, mask=(5, 7)),
                _module(5, 5, 7, 12, 3, mask=(5, 7)),
                _module(2, 5, 7, 12, 3, mask=(1, 5, 7)),
                _module(3, 5, 7, 12, 3, mask=(1, 1, 7)),
            ),
        ),
        Case(
            "as many sentences as heads, 3, with a mask for each sentence",
            _module(3, 5, 7, 12, 3, mask=(3, 5, 7)),
        ),
        Case(
            "a query that may look at nothing; then none may look at anything",
            together(_module_blocked_query, _module_all_blocked),
        ),
        Case("each query may look at one word only, however badly it fits", _one_word_allowed),
        Case("without biases: bias=False, 2 heads", _module(3, 4, 6, 10, 2, bias=False)),
        Case(
            "a single head, all shapes equal; then one sentence with a single query",
            together(_module(2, 5, 5, 6, 1), _module(1, 1, 5, 6, 3)),
        ),
        Case(
            "gradients reach the inputs and every weight; then nothing to look at",
            together(_module(2, 5, 7, 12, 3, mask=(2, 1, 7)), _module_blocked_query),
            reaches=("query", "key", "value", "weights"),
        ),
        Case("blocked keys and values changed", _module_blocked_changed, blocked_words_count_for_nothing),
    ),
    properties=(each_head_shares_out, blocked_in_every_head),
    call=_call_module,
    backward=sent_back(_train_through),
    bypasses=READY_MADE,
)

# ---------------------------------------------------------------------------------- count_parameters


def _sizes(bias: bool):
    """Sizes from ranges that do not overlap: none can be taken for another."""

    def inputs(rng: np.random.Generator) -> Inputs:
        return {
            "d_model": int(rng.integers(80, 120)),  # more than num_heads * d_v can be
            "num_heads": int(rng.integers(2, 5)),
            "d_k": int(rng.integers(5, 10)),
            "d_v": int(rng.integers(11, 20)),
            "bias": bias,
        }

    return inputs


def _as_in_the_paper(**more: bool):
    def inputs(rng: np.random.Generator) -> Inputs:
        num_heads, d_k = int(rng.integers(3, 13)), int(rng.integers(16, 65))
        return {"d_model": num_heads * d_k, "num_heads": num_heads, "d_k": d_k, "d_v": d_k, **more}

    return inputs


def _call_count(learner: Callable, inputs: Inputs) -> Any:
    found = call_function(learner, inputs)
    if isinstance(found, float | np.floating):
        raise TypeError(f"it returned {found!r}, a float; expected a whole number.")
    return found


count_parameters = Exercise(
    name="count_parameters",
    returns=("parameters",),
    call=_call_count,
    cases=(
        Case(
            "d_k = d_v = d_model / num_heads, as in the paper, without biases", _as_in_the_paper(bias=False)
        ),
        Case("the same, with biases, as they are by default", _as_in_the_paper()),
        Case("other sizes, without biases", _sizes(False)),
        Case("other sizes, with biases", _sizes(True)),
        Case(
            "a single head of other sizes; then d_k = d_model / num_heads, but another d_v",
            together(
                lambda rng: {**_sizes(True)(rng), "num_heads": 1},
                lambda rng: {**_as_in_the_paper()(rng), "d_v": int(rng.integers(5, 15))},
            ),
        ),
    ),
)
