"""What later labs do with what learners built in earlier ones, and what makes a learner's own fit that.

A version that passes its check may still be too slow for a later lab, return tensors where arrays are needed, or print at every call. So
before it is used, it does what the later labs do with it, beside the course's own.
"""

from __future__ import annotations

import contextlib
import copy
import functools
import io
import itertools
import warnings
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from course_utils.checking.time_limit import TooSlow, time_limit

SECONDS = 1.0
"""CPU time for everything that is tried. The course's own versions need a tenth of it."""

Use = Callable[[Any], Any]
"""Does something with a version, and returns arrays, tensors or texts to compare."""


def fault_in_use(theirs: Any, ours: Any, uses: Mapping[str, Use]) -> str:
    """What is wrong with a learner's version where a later lab uses it, as the end of a sentence; empty if nothing is."""
    printed = io.StringIO()
    for what, use in uses.items():
        try:
            with warnings.catch_warnings(), contextlib.redirect_stdout(printed), time_limit(SECONDS):
                warnings.simplefilter("ignore")
                found = use(theirs)
        except TooSlow:
            return f"it is too slow with {what}"
        except (Exception, SystemExit) as error:  # the learner's code
            return f"it raises {type(error).__name__} with {what}"
        with np.errstate(all="ignore"):
            if not _same(found, use(ours)):
                return f"it goes wrong with {what}"
        if printed.getvalue():
            return "it prints something whenever it is called"
    return ""


def _same(found: Any, wanted: Any) -> bool:
    """Whether two results are of the same type and shape, and equal up to rounding."""
    if type(found) is not type(wanted):
        return False
    if isinstance(wanted, tuple):
        return len(found) == len(wanted) and all(map(_same, found, wanted))
    if isinstance(wanted, str):
        return found == wanted
    if (
        not isinstance(wanted, np.ndarray) and found.dtype != wanted.dtype
    ):  # later labs mix no types of tensors
        return False
    found, wanted = _as_array(found), _as_array(wanted)
    return found.shape == wanted.shape and np.allclose(found, wanted, rtol=1e-3, atol=1e-4)


def _as_array(value: Any) -> np.ndarray:
    """An array of what may be a tensor of PyTorch that records gradients."""
    return np.asarray(value.detach().cpu() if hasattr(value, "detach") else value)


def _random(*shape: int) -> np.ndarray:
    return np.random.default_rng(shape).standard_normal(shape)


# ---------------------------------------------------------------------------------- in NumPy


def arrays_only(theirs: Callable) -> Callable:
    """The same function for arrays of any kind: it gets floats of one type, and what it returns becomes arrays of that type."""

    @functools.wraps(theirs)
    def made(*given: Any, **named: Any) -> Any:
        arrays = [np.asarray(each) for each in given if each is not None]
        numbers = [each for each in arrays if each.dtype != bool]
        kind = np.result_type(np.float16, *numbers)
        taken = [
            each if each is None or np.asarray(each).dtype == bool else np.array(each, dtype=kind)
            for each in given
        ]
        found = theirs(*taken, **named)
        if isinstance(found, tuple | list):
            return tuple(_as_array(each).astype(kind) for each in found)
        return _as_array(found).astype(kind)

    return made


SOFTMAX: dict[str, Use] = {
    "one row of scores": lambda softmax: softmax(_random(5)),
    "scores in float32": lambda softmax: softmax(_random(40, 3).astype(np.float32)),
    "blocked scores, a billion below the others or minus infinity": lambda softmax: softmax(
        np.array([[0.5, -1e9, -np.inf], [-1e30, 2.0, 1.0], [-1e9, -1e9, -1e9]])
    ),
    "rows of 512 scores": lambda softmax: softmax(_random(128, 512)),
}
"""What labs 01, 02, 03 and 13 do with lab 00's."""


def _blocked() -> np.ndarray:
    """A mask for two texts, the same for all heads, that blocks everything for one query."""
    mask = np.ones((2, 1, 5, 7), dtype=bool)
    mask[0, :, :, 5:] = mask[1, :, 3] = False
    return mask


ATTENTION: dict[str, Use] = {
    "one sentence": lambda attend: attend(_random(5, 4), _random(5, 4), _random(5, 3)),
    "several heads with one mask": lambda attend: attend(
        _random(2, 3, 5, 4), _random(2, 3, 7, 4), _random(2, 3, 7, 6), _blocked()
    ),
    "a sentence of 128 words": lambda attend: attend(
        _random(1, 8, 128, 32), _random(1, 8, 128, 32), _random(1, 8, 128, 32)
    ),
}
"""What labs 03 and 04 do with lab 02's."""


# ---------------------------------------------------------------------------------- in PyTorch


def masks_of_later_labs(theirs: type) -> type:
    """Lab 03's attention takes masks without an axis for the heads; labs 05 and 08 give it masks with one, of length 1, and ask for ``num_heads``."""

    class MultiHeadAttention(theirs):
        def __init__(self, d_model, num_heads, bias=True):
            super().__init__(d_model, num_heads, bias=bias)
            self.num_heads = num_heads

        def forward(self, query, key, value, mask=None):
            if mask is not None and mask.dim() == 4:
                if mask.size(1) != 1:
                    raise ValueError(
                        f"This mask has {mask.size(1)} heads of its own, {tuple(mask.shape)}. Your attention of lab 03 has one mask "
                        "for all heads: an axis of length 1 at their place."
                    )
                mask = mask.squeeze(1)
            return super().forward(query, key, value, mask)

    MultiHeadAttention.__doc__ = theirs.__doc__
    return MultiHeadAttention


def _with_weights(made: Callable, d_model: int, num_heads: int) -> Any:
    """A layer with weights that depend on nothing but their names."""
    import torch

    layer = made(d_model, num_heads)
    weights = sorted(layer.named_parameters())
    with torch.no_grad():
        for number, (_, weight) in enumerate(weights):
            weight.copy_(torch.from_numpy(_random(number + 1, *weight.shape)[0]) / d_model**0.5)
    return copy.deepcopy(layer)


def _its_weights(made: Callable) -> str:
    return ", ".join(sorted(made(12, 3).state_dict()))


def _with_masks(made: Callable) -> tuple:
    import torch

    layer = _with_weights(made, 12, 3)
    query, memory = (torch.from_numpy(_random(2, length, 12)).float() for length in (5, 7))
    mask = torch.from_numpy(_blocked())
    masks = (None, mask, mask[:, :, :1], mask[:, 0], mask[0, 0])
    return tuple(part for each in masks for part in layer(query, memory, memory, each))


def _in_training(made: Callable) -> tuple:
    """Some steps of lab 05's training in one of its layers: the gradients."""
    import torch

    layer, threads = _with_weights(made, 128, 4), torch.get_num_threads()
    words = torch.from_numpy(_random(64, 16, 128)).float()
    past = torch.ones(16, 16, dtype=torch.bool).tril()
    torch.set_num_threads(1)  # the others' waiting would count as computing
    try:
        for _ in range(5):
            layer.zero_grad()
            layer(words, words, words, past)[0].square().mean().backward()
    finally:
        torch.set_num_threads(threads)
    return tuple(weight.grad for _, weight in sorted(layer.named_parameters()))


def _in_half(made: Callable) -> str:
    import torch

    words = torch.from_numpy(_random(2, 5, 12)).float()
    past = torch.ones(5, 5, dtype=torch.bool).tril()
    with torch.no_grad(), torch.autocast("cpu", dtype=torch.bfloat16):
        return str(_with_weights(made, 12, 3)(words, words, words, past)[0].dtype)


def _on_the_gpu(made: Callable) -> tuple:
    import torch

    if not torch.accelerator.is_available():
        return ()
    device = torch.accelerator.current_accelerator()
    words = torch.from_numpy(_random(2, 5, 12)).float().to(device)
    past = torch.ones(5, 5, dtype=torch.bool, device=device).tril()
    return tuple(part.cpu() for part in _with_weights(made, 12, 3).to(device)(words, words, words, past))


HEADS: dict[str, Use] = {
    "the weights that come with later labs": _its_weights,
    "the masks of later labs": _with_masks,
    "lab 05's training": _in_training,
    "bfloat16": _in_half,
    "the GPU": _on_the_gpu,
}
"""What labs 05 and 08 do with lab 03's."""


def as_tensor(theirs: Callable) -> Callable:
    """Lab 04's table of positions is an array; lab 05 takes a tensor of float32."""

    @functools.wraps(theirs)
    def sinusoidal_positions(max_len: int, d_model: int):
        import torch

        return torch.tensor(_as_array(theirs(max_len, d_model)), dtype=torch.float32)

    return sinusoidal_positions


def as_keras_tensor(theirs: Callable) -> Callable:
    """The same for lab 06."""

    @functools.wraps(theirs)
    def positional_encoding(max_len: int, embedding_dim: int):
        from keras import ops

        return ops.convert_to_tensor(_as_array(theirs(max_len, embedding_dim)), dtype="float32")

    return positional_encoding


POSITIONS: dict[str, Use] = {
    "a table of 64 positions": lambda table: table(64, 128),
    "a single position": lambda table: table(1, 2),
}
"""What labs 05 and 06 do with lab 04's."""


def of_layers_without_a_bias(theirs: type) -> type:
    """Lab 13's adapter corrects layers with a bias; lab 12 gives it SmolLM2's, which have none. They get one of zeros."""
    from torch import nn

    class LoRALinear(theirs):
        def __init__(self, base, rank=8, alpha=16):
            if base.bias is None:
                plain, base = base, nn.Linear(base.in_features, base.out_features)
                base.weight = plain.weight
                nn.init.zeros_(base.bias)
            super().__init__(base, rank, alpha)

    LoRALinear.__doc__ = theirs.__doc__
    return LoRALinear


def _adapted(made: Callable, base: Any) -> Any:
    """An adapter with numbers that depend on nothing but its shapes."""
    import torch

    layer = made(base, 16, 32)
    with torch.no_grad():
        for number, factor in enumerate((layer.down, layer.up)):
            factor.copy_(torch.from_numpy(_random(number + 1, *factor.shape)[0]) / 20)
    return layer


def _without_a_bias(made: Callable) -> tuple:
    import torch

    base = torch.nn.Linear(12, 7, bias=False)
    with torch.no_grad():
        base.weight.copy_(torch.from_numpy(_random(7, 12)))
    layer = _adapted(made, base)
    found = layer(torch.from_numpy(_random(2, 5, 12)).float())
    found.square().mean().backward()
    return found, layer.down.grad, layer.up.grad


def _only_its_factors(made: Callable) -> str:
    import torch

    layer = made(torch.nn.Linear(12, 7, bias=False), 16, 32)
    return ", ".join(sorted(name for name, weight in layer.named_parameters() if weight.requires_grad))


ADAPTER: dict[str, Use] = {
    "a layer without a bias": _without_a_bias,
    "the optimizer of lab 12": _only_its_factors,
}
"""What lab 12 does with lab 13's."""


# ---------------------------------------------------------------------------------- scores of texts


def _scores(rouge_l: Callable) -> np.ndarray:
    drawn = np.random.default_rng(0)
    texts = [drawn.choice(list("abcdefgh"), length).tolist() for length in (1, 9, 22, 60, 9, 10) * 5]
    return np.array([rouge_l(*pair) for pair in itertools.pairwise(texts)], dtype=float)


ROUGE: dict[str, Use] = {
    "texts of a sentence": _scores,
    "an answer without words": lambda rouge_l: np.array(rouge_l([], ["a"]), dtype=float),
}
"""What lab 12 does with lab 08's."""
