"""Lab 12's summariser: SmolLM2 with an adapter that learns to write the summary line of a docstring from its name and its text."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from operator import add
from typing import TYPE_CHECKING, Any

import torch
from torch import nn

from course_utils.models import smollm
from course_utils.models.lora import LoRALinear
from course_utils.models.smollm_lines import lines_after

if TYPE_CHECKING:
    from course_utils.data.summaries import Pair

LAYERS = ("q_proj", "v_proj", "o_proj", "down_proj")
"""What is adapted in each of SmolLM2's thirty layers: query, value and output of the attention, and the last matrix of the feed-forward network."""

RANK, ALPHA = 16, 32

PREFIX, SUFFIX = "Name:", "\nSummary:"
"""What the model reads before and after a name and a text."""


def request(name: str, text: str) -> str:
    """What stands between :data:`PREFIX` and :data:`SUFFIX`."""
    return f" {name}\nDescription: {text}"


def adapted_model(made: Callable[..., nn.Module] = LoRALinear) -> Any:
    """SmolLM2 with a new adapter at each of :data:`LAYERS`, which changes nothing yet; nothing else of it is trained.

    Args:
        made: a layer like lab 13's ``LoRALinear``.
    """
    model = smollm.library_model(dict(smollm.read_weights())).requires_grad_(False)
    for name, layer in [*model.named_modules()]:
        if name.rpartition(".")[2] in LAYERS:
            model.set_submodule(name, made(layer, RANK, ALPHA))
    return model


def summary_loss(model: Any, pairs: Sequence[Pair], asked: Callable[[Pair], str]) -> torch.Tensor:
    """The mean loss of the tokens of the summaries and of their ends. What the model is given does not count.

    Args:
        model: SmolLM2, in transformers' class.
        asked: what it is given of a pair, between :data:`PREFIX` and :data:`SUFFIX`.
    """
    tokenizer = smollm.load_tokenizer()
    given = [tokenizer.encode(PREFIX + asked(pair) + SUFFIX).ids for pair in pairs]
    wanted = [[*tokenizer.encode(f" {pair.summary}").ids, smollm.end_id()] for pair in pairs]
    widest, longest = (max(map(len, each)) for each in (map(add, given, wanted), wanted))

    def padded(rows: Iterable[list[int]], width: int, with_: int) -> torch.Tensor:
        return torch.tensor([[with_] * (width - len(row)) + row for row in rows])

    mask = padded(([1] * len(one + other) for one, other in zip(given, wanted, strict=True)), widest, 0)
    return model(
        padded(map(add, given, wanted), widest, 0),
        attention_mask=mask,
        position_ids=(mask.cumsum(1) - 1).clamp(min=0),
        logits_to_keep=longest + 1,  # the summaries stand at the end, and nothing else counts
        labels=padded(wanted, longest + 1, -100),
    ).loss


def summarise(model: Any, name: str, text: str) -> str:
    """The summary line that a tuned model writes: the likeliest token at each step."""
    tokenizer = smollm.load_tokenizer()
    return lines_after(model, tokenizer, PREFIX, [request(name, text)], SUFFIX, say=str)[0]
