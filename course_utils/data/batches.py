"""Sentence pairs as arrays of token ids, a batch at a time, for any framework.

for source, target in batches(train, french, english, batch_size=64, seed=epoch):
    torch.from_numpy(source)                  # or tf.convert_to_tensor(source), or tf.data's from_generator
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from course_utils.data.pairs import Pair
from course_utils.data.vocabulary import TextEncoder

WINDOW = 16
"""Batches are cut from this many batches' worth of pairs, sorted by length."""


class Batch(NamedTuple):
    """Token ids of a batch's pairs, each row ending in ``eos_id`` and then padded with ``pad_id``.

    Attributes:
        source: (batch, source_len) of int64.
        target: (batch, target_len) of int64. A decoder's input is the same, shifted right behind ``bos_id``.
    """

    source: np.ndarray
    target: np.ndarray


def batches(
    pairs: Sequence[Pair],
    source_vocabulary: TextEncoder,
    target_vocabulary: TextEncoder,
    batch_size: int,
    seed: int,
) -> list[Batch]:
    """All pairs once, in an order that depends on ``seed``: give each epoch a different one.

    Sentences of similar length share a batch, so that little of it is padding. Every batch but one has
    ``batch_size`` pairs.

    Raises:
        ValueError: ``batch_size`` is less than 1.
    """
    if batch_size < 1:
        raise ValueError(f"A batch has at least one pair, not {batch_size}.")
    rng = np.random.default_rng(seed)
    sources = [source_vocabulary.encode(pair.source) for pair in pairs]
    targets = [target_vocabulary.encode(pair.target) for pair in pairs]
    order = rng.permutation(len(pairs)).tolist()
    window = WINDOW * batch_size
    found = []
    for start in range(0, len(order), window):
        similar = sorted(order[start : start + window], key=lambda number: len(targets[number]))
        for first in range(0, len(similar), batch_size):
            chosen = similar[first : first + batch_size]
            source = _padded([sources[number] for number in chosen], source_vocabulary.pad_id)
            target = _padded([targets[number] for number in chosen], target_vocabulary.pad_id)
            found.append(Batch(source, target))
    return [found[number] for number in rng.permutation(len(found))]  # not from short to long


def encode_batch(texts: Iterable[str], vocabulary: TextEncoder) -> np.ndarray:
    """Token ids of sentences to be translated, (batch, seq_len) of int64, padded with ``pad_id``."""
    return _padded([vocabulary.encode(text) for text in texts], vocabulary.pad_id)


def _padded(rows: Sequence[Sequence[int]], pad_id: int) -> np.ndarray:
    padded = np.full((len(rows), max(map(len, rows), default=0)), pad_id, dtype=np.int64)
    for row, ids in zip(padded, rows, strict=True):
        row[: len(ids)] = ids
    return padded
