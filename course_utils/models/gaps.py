"""Three ways to learn from plain text, each with its shape of a Transformer, for lab 12: masked words, next words, cut-out spans.

Each is a small model over whole words. :meth:`gap_logits` asks all three the same: which word is missing here?
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import partial

import torch
from torch import nn

from course_utils.models.one_stack import Stack
from course_utils.models.text_to_text import TextToText

SPECIAL = ("<pad>", "<unk>", "<end>", "<mask>", "<0>", "<1>")
PAD, UNKNOWN, END, MASK, GAP, GAP_END = range(len(SPECIAL))
CLASSES = 12
"""Ids behind the special ones that stand for the classes of a task; no text has them."""

SHARE = 0.15
"""Of the words, how many are masked (Devlin et al. 2018, section 3.1)."""

WIDTH, HEADS, LAYERS = 64, 4, 4


class Vocabulary:
    """The words that are frequent enough, behind the special ids and the classes.

    Args:
        texts: words in small letters between single spaces.
        least: how often a word must occur in them.
    """

    def __init__(self, texts: Iterable[str], least: int = 5) -> None:
        counts = Counter(word for text in texts for word in text.split())
        known = sorted(word for word, count in counts.items() if count >= least)
        self.words = [*SPECIAL, *(f"<class {number}>" for number in range(CLASSES)), *known]
        self.id_of = {word: number for number, word in enumerate(self.words)}

    def __len__(self) -> int:
        return len(self.words)

    def ids(self, text: str) -> list[int]:
        return [self.id_of.get(word, UNKNOWN) for word in text.split()]


def padded(rows: Sequence[Sequence[int]]) -> torch.Tensor:
    """(rows, longest row), padded behind."""
    width = max(map(len, rows))
    return torch.tensor([[*row, *[PAD] * (width - len(row))] for row in rows])


def with_gap(row: Sequence[int], place: int, word: int) -> list[int]:
    return [*row[:place], word, *row[place + 1 :]]


class MaskedWords:
    """An encoder that says which words stood at the masked places (Devlin et al. 2018).

    Args:
        share: of the words, how many are masked.
    """

    def __init__(self, size: int, share: float = SHARE) -> None:
        self.model, self.share = Stack(size, WIDTH, HEADS, LAYERS), share

    def at(self, ids: torch.Tensor, chosen: torch.Tensor) -> torch.Tensor:
        """(batch, len), and a mask of places -> logits (places, vocabulary)."""
        x = self.model(ids, (ids != PAD)[:, None, None, :])  # (batch, len, WIDTH)
        return x[chosen] @ self.model.embedding.weight.T * WIDTH**-0.25  # (places, vocabulary)

    def loss(self, rows: Sequence[Sequence[int]], chance: random.Random) -> torch.Tensor:
        """For each masked word. At least one is masked in each text."""
        ids = padded(rows)
        chosen = torch.zeros(ids.shape, dtype=torch.bool)
        for row, masked in zip(rows, chosen, strict=True):
            masked[chance.sample(range(len(row)), max(1, round(len(row) * self.share)))] = True
        return nn.functional.cross_entropy(self.at(ids.masked_fill(chosen, MASK), chosen), ids[chosen])

    def gap_logits(self, rows: Sequence[Sequence[int]], places: Sequence[int]) -> torch.Tensor:
        """(rows, vocabulary): which word is missing at one place of each row, both sides known."""
        ids = padded([with_gap(row, place, MASK) for row, place in zip(rows, places, strict=True)])
        return self.at(ids, ids == MASK)


class NextWord:
    """A decoder that says the next word at each place (Radford et al. 2018; lab 08)."""

    def __init__(self, size: int) -> None:
        self.model = Stack(size, WIDTH, HEADS, LAYERS)

    def logits(self, rows: Sequence[Sequence[int]]) -> tuple[torch.Tensor, torch.Tensor]:
        """Logits (rows, len + 1, vocabulary) of each word and of the end; and these words, padded."""
        labels = padded([[*row, END] for row in rows])
        ids = torch.cat([torch.full((len(rows), 1), END), labels[:, :-1]], 1)
        causal = torch.ones(ids.shape[1], ids.shape[1], dtype=torch.bool).tril()
        return self.model(ids, causal) @ self.model.embedding.weight.T * WIDTH**-0.25, labels

    def loss(self, rows: Sequence[Sequence[int]], chance: random.Random) -> torch.Tensor:
        """For each word and the end."""
        logits, labels = self.logits(rows)
        return nn.functional.cross_entropy(logits.flatten(0, 1), labels.flatten(), ignore_index=PAD)

    def gap_logits(self, rows: Sequence[Sequence[int]], places: Sequence[int]) -> torch.Tensor:
        """(rows, vocabulary): which word comes at one place of each row. Only what stands before it is read."""
        logits, _ = self.logits([row[:place] for row, place in zip(rows, places, strict=True)])
        return logits[torch.arange(len(rows)), torch.tensor(places)]

    def log_prob(self, rows: Sequence[Sequence[int]]) -> torch.Tensor:
        """(rows,): of each whole text and its end."""
        logits, labels = self.logits(rows)
        each = nn.functional.cross_entropy(logits.transpose(1, 2), labels, ignore_index=PAD, reduction="none")
        return -each.sum(1)  # (rows,)


class CutSpans:
    """An encoder-decoder that writes what was cut out, behind its sentinel (Raffel et al. 2020)."""

    def __init__(self, size: int) -> None:
        self.model = TextToText(size, PAD, WIDTH, HEADS, LAYERS // 2)

    def logits(self, sources: list[list[int]], targets: list[list[int]]) -> tuple[torch.Tensor, torch.Tensor]:
        """Logits (rows, len, vocabulary) of each place of the targets; and the targets, padded."""
        labels = padded(targets)
        given = torch.cat([torch.full((len(targets), 1), PAD), labels[:, :-1]], 1)
        return self.model(padded(sources), given), labels

    def loss(self, rows: Sequence[Sequence[int]], chance: random.Random) -> torch.Tensor:
        """For each token of the targets, sentinels included. One span of one to three words is cut out of each text."""
        sources, targets = [], []
        for row in rows:
            length = min(chance.randint(1, 3), len(row) - 1)
            begin = chance.randint(0, len(row) - length)
            sources.append([*row[:begin], GAP, *row[begin + length :]])
            targets.append([GAP, *row[begin : begin + length], GAP_END])
        logits, labels = self.logits(sources, targets)
        return nn.functional.cross_entropy(logits.flatten(0, 1), labels.flatten(), ignore_index=PAD)

    def gap_logits(self, rows: Sequence[Sequence[int]], places: Sequence[int]) -> torch.Tensor:
        """(rows, vocabulary): which word comes first behind the sentinel, both sides known."""
        sources = [with_gap(row, place, GAP) for row, place in zip(rows, places, strict=True)]
        logits, _ = self.logits(sources, [[GAP, GAP_END]] * len(rows))
        return logits[:, 1]


SHAPES = {
    "decoder": NextWord,
    "encoder": MaskedWords,
    "encoder, 40 % masked": partial(MaskedWords, share=0.4),
    "encoder and decoder": CutSpans,
}
"""Masking more of the words is a control: the encoder then has more to predict in each text (Wettig et al. 2023)."""
