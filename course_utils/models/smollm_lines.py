"""What SmolLM2 writes on the next line, or thinks of some answers, for scripts that ask it about many texts and keep its answers."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import torch

from course_utils.models import smollm

AT_ONCE, LONGEST = 10, 32


@torch.no_grad()
def lines_after(
    model: Any,
    tokenizer: Any,
    prefix: str,
    texts: list[str],
    suffix: str,
    longest: int = LONGEST,
    say: Callable[[str], object] = print,
) -> list[str]:
    """What follows ``prefix + text + suffix`` up to the end of the line: the likeliest token at each step.

    The prefix is read once for all texts.

    Args:
        model: of :func:`smollm.library_model`.
        longest: tokens of an answer, at most.
        say: gets a line about each ten of them.
    """
    found = []
    for ids, mask, positions, past in _batches(model, tokenizer, prefix, texts, suffix):
        said: list[list[int]] = [[] for _ in ids]
        for _ in range(longest):
            logits = model(
                ids, attention_mask=mask, position_ids=positions, past_key_values=past, logits_to_keep=1
            ).logits[:, -1]
            ids = logits.argmax(dim=-1, keepdim=True)
            for row, token in zip(said, ids[:, 0].tolist(), strict=True):
                row.append(token)
            if all(_finished(tokenizer, row) for row in said):
                break
            mask = torch.cat([mask, torch.ones(len(said), 1, dtype=torch.long)], dim=1)
            positions = positions[:, -1:] + 1
        found += [_first_line(tokenizer, row) for row in said]
        say(f"{time.process_time():5.0f} s of CPU: {found[-1]}")
    return found


@torch.no_grad()
def shares_after(
    model: Any, tokenizer: Any, prefix: str, texts: list[str], suffix: str, answers: list[str]
) -> torch.Tensor:
    """The logarithm of the probability of each answer, and the end of its line, behind ``prefix + text + suffix``, (texts, answers).

    The prefix is read once for all texts, and each text once for all answers.

    Args:
        model: of :func:`smollm.library_model`.
    """
    endings = [torch.tensor(tokenizer.encode(f" {answer}\n").ids) for answer in answers]
    found = []
    for ids, mask, positions, past in _batches(model, tokenizer, prefix, texts, suffix):
        first = model(
            ids, attention_mask=mask, position_ids=positions, past_key_values=past, logits_to_keep=1
        ).logits.log_softmax(dim=-1)
        shares = []
        for ending in endings:
            width = len(ending)
            logits = model(
                ending.expand(len(ids), -1),
                attention_mask=torch.cat([mask, torch.ones(len(ids), width, dtype=torch.long)], dim=1),
                position_ids=positions[:, -1:] + 1 + torch.arange(width),
                past_key_values=past,
            ).logits.log_softmax(dim=-1)
            past.crop(-width)
            each = torch.cat([first, logits[:, :-1]], dim=1)
            shares.append(each[:, torch.arange(width), ending].sum(dim=1))
        found.append(torch.stack(shares, dim=1))
        print(f"{time.process_time():5.0f} s of CPU: {answers[int(found[-1][-1].argmax())]}", flush=True)
    return torch.cat(found)


def _batches(
    model: Any, tokenizer: Any, prefix: str, texts: list[str], suffix: str
) -> Iterator[tuple[torch.Tensor, torch.Tensor, torch.Tensor, Any]]:
    """What :func:`behind` gives for every ten texts."""
    read = model(torch.tensor([tokenizer.encode(prefix).ids]), use_cache=True).past_key_values
    for place in range(0, len(texts), AT_ONCE):
        yield behind(read, [tokenizer.encode(text + suffix).ids for text in texts[place : place + AT_ONCE]])


def behind(read: Any, rows: list[list[int]]) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, Any]:
    """What a model needs to read rows of ids behind a prefix.

    Args:
        read: the model's cache after the prefix.

    Returns:
        The ids, padded in front, (rows, width); the mask, (rows, prefix + width); positions, (rows, width); and a cache with a copy for each row.
    """
    from transformers import DynamicCache

    widest, count = max(map(len, rows)), len(rows)
    ids = torch.tensor([[0] * (widest - len(row)) + row for row in rows])
    real = torch.tensor([[0] * (widest - len(row)) + [1] * len(row) for row in rows])
    mask = torch.cat([torch.ones(count, read.get_seq_length(), dtype=torch.long), real], dim=1)
    past = DynamicCache()
    for number, layer in enumerate(read.layers):
        past.update(layer.keys.repeat(count, 1, 1, 1), layer.values.repeat(count, 1, 1, 1), number)
    return ids, mask, (mask.cumsum(1) - 1)[:, -widest:].clamp(min=0), past


def _finished(tokenizer: Any, row: list[int]) -> bool:
    """Whether the model has ended its answer, or its first line."""
    return smollm.end_id() in row or "\n" in tokenizer.decode(row).lstrip()


def _first_line(tokenizer: Any, row: list[int]) -> str:
    """The first line of an answer, up to its end."""
    if smollm.end_id() in row:
        row = row[: row.index(smollm.end_id())]
    return tokenizer.decode(row).strip().partition("\n")[0].strip()
