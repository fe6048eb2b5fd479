"""Lab 12's summariser: SmolLM2 with an adapter that learns to write the summary line of a docstring from its name and its text."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from operator import add
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import nn

from course_utils.models import in_8_bits, smollm
from course_utils.models.lora import LoRALinear
from course_utils.models.smollm_lines import lines_after

if TYPE_CHECKING:
    from course_utils.data.summaries import Pair

SHIPPED = Path(__file__).parents[1] / "weights" / "summariser.safetensors"
"""The trained adapter that comes with the course, in 8 bits; docs/data-text-to-text.md says how it was made."""

LAYERS = ("q_proj", "v_proj", "o_proj", "down_proj")
"""What is adapted in each of SmolLM2's thirty layers: query, value and output of the attention, and the last matrix of the feed-forward network."""

RANK, ALPHA = 16, 32

PREFIX, SUFFIX = "Name:", "\nSummary:"
"""What the model reads before and after a name and a text."""

ASKED = "Summarize in one short sentence what the function does.\n\n"
"""What SmolLM2 is asked as it is, zero-shot, in front of a text."""

Factors = dict[str, tuple[torch.Tensor, torch.Tensor]]
"""Name of an adapted layer -> its ``down``, (rank, in features), and its ``up``, (out features, rank)."""


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


def write_adapter(factors: Mapping[str, tuple[torch.Tensor, torch.Tensor]], path: Path = SHIPPED) -> None:
    """Writes an adapter in 8 bits. Each row of ``down`` and each column of ``up`` has a scale of its own."""
    arrays = {}
    for name, (down, up) in factors.items():
        arrays[f"{name}.down"] = down.detach().numpy()
        arrays[f"{name}.up"] = up.detach().numpy().T
    in_8_bits.write(path, arrays, {"base": smollm.FILE_NAME})


def read_adapter(path: Path = SHIPPED) -> Factors:
    """An adapter that :func:`write_adapter` has written, in float32."""
    arrays, _ = in_8_bits.read(path)
    names = dict.fromkeys(name.rpartition(".")[0] for name in arrays)
    return {
        name: (torch.from_numpy(arrays[f"{name}.down"]), torch.from_numpy(arrays[f"{name}.up"].T))
        for name in names
    }


@torch.no_grad()
def load_adapter(model: Any, factors: Factors | None = None) -> None:
    """Puts trained factors into the layers of a model.

    Args:
        model: of :func:`adapted_model`.
        factors: None takes those that come with the course.
    """
    for name, (down, up) in (factors or read_adapter()).items():
        layer = model.get_submodule(name)
        layer.down.copy_(down)
        layer.up.copy_(up)


@contextmanager
def without_adapter(model: Any) -> Iterator[None]:
    """Inside, a model of :func:`adapted_model` is SmolLM2 as it was: each ``up`` is zero."""
    ups = [layer.up for layer in model.modules() if isinstance(getattr(layer, "up", None), nn.Parameter)]
    kept = [up.detach().clone() for up in ups]
    with torch.no_grad():
        for up in ups:
            up.zero_()
    try:
        yield
    finally:
        with torch.no_grad():
            for up, before in zip(ups, kept, strict=True):
                up.copy_(before)


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


def summarise(model: Any, pairs: Sequence[tuple[str, str]]) -> list[str]:
    """The summary lines that a tuned model writes: the likeliest token at each step.

    Args:
        pairs: a name and a text each.
    """
    asked = [request(name, text) for name, text in pairs]
    return lines_after(model, smollm.load_tokenizer(), PREFIX, asked, SUFFIX, say=str)


def zero_shot(model: Any, texts: Sequence[str], say: Callable[[str], object] = str) -> list[str]:
    """What SmolLM2 answers if it is asked for a summary of each text, without examples and without any training for this."""
    before, after = smollm.chat(f"{ASKED}@").split("@")
    return lines_after(model, smollm.load_tokenizer(), before, [*texts], after, say=say)
