"""French sentences with their English translations, as many as you like, made by a grammar of both languages.

The translation is right by construction, each sentence has only one translation, and some words never appear together in
training: sentences that combine them test what a model has learned about one verb and about one place. docs/data.md says
what the data is and is not. The grammar is in :mod:`course_utils.data.french_english`.
"""

from __future__ import annotations

import random

from course_utils.data.french_english.sentences import Writer
from course_utils.data.pairs import Pair

JANE = Pair("Jane visite l'Afrique en septembre", "Jane visits Africa in September")
"""The sentence of the labs. It is always the first pair, which :func:`~course_utils.data.pairs.split_pairs` puts into the test set."""

MAX_PAIRS = 100_000


def translation_pairs(count: int, seed: int) -> list[Pair]:
    """Different sentences with their translations, in random order, but :data:`JANE` first.

    About one in twelve has words that training must not see together, see :attr:`Pair.held_out`.

    Args:
        count: from 1 to 100,000.
        seed: the same seed gives the same pairs, and a longer list begins like a shorter one.

    Raises:
        ValueError: ``count`` is not in that range.
    """
    if not 1 <= count <= MAX_PAIRS:
        raise ValueError(f"There can be 1 to {MAX_PAIRS:,} pairs, not {count:,}.")
    writer = Writer(random.Random(seed))
    pairs = {JANE: None}
    while len(pairs) < count:
        pairs.setdefault(writer.pair())
    return list(pairs)
