"""Made text for lab 07: sentences cut off before their verb, whose form depends on a distant subject.

"the keys near the cabinet that faced the doors beside the lamp still ..." goes on with "are", because it is about keys.
Linzen et al. (2016), "Assessing the ability of LSTMs to learn syntax-sensitive dependencies", set networks this task, with
sentences of real text. These come from a small grammar, so that nothing but the order can help: docs/data-documentation.md
says how that is arranged, and the tests count it.
"""

from __future__ import annotations

import random
from typing import NamedTuple

_NOUNS = (
    "key cabinet door lamp letter picture table garden teacher student doctor driver painter singer neighbour "
    "farmer guard pilot window bridge tower river island village hotel engine camera guitar poem report "
    "basket ladder ticket mirror blanket bottle carpet statue fountain statement"
)
NOUNS = tuple(_NOUNS.split())
"""All of them make their plural with "s"."""

PREPOSITIONS = ("near", "behind", "beside", "above", "below", "across from")
RELATIVES = ("that faced", "that followed", "that resembled", "that replaced")
ADJECTIVES = ("old", "new", "small", "famous", "quiet", "red", "expensive", "strange")
ADVERBS = ("really", "still", "often", "probably", "always", "now", "certainly", "today")
OPENINGS = ("", "", "in town", "in summer", "as we know", "at first", "this time")


class Unfinished(NamedTuple):
    """A sentence up to its verb, and what there is to know about it.

    Attributes:
        text: words in small letters, without punctuation.
        plural: whether the subject, and so the verb, is in the plural.
        distance: how many words after the subject the verb comes.
    """

    text: str
    plural: bool
    distance: int


def make_unfinished(count: int, seed: int) -> list[Unfinished]:
    """Different sentences, about half of them with a subject in the plural.

    Args:
        count: how many.
        seed: another one gives other sentences.
    """
    chance = random.Random(f"agreement/{seed}")
    found: dict[str, Unfinished] = {}
    while len(found) < count:
        made = _sentence(chance)
        found.setdefault(made.text, made)
    return list(found.values())


def _numbers(chance: random.Random) -> list[int]:
    """The numbers of four nouns: always two plurals (1), and the last noun says nothing about the first."""
    first, last = chance.randrange(2), chance.randrange(2)
    between = chance.sample([0, 1], 2) if first != last else [1 - first] * 2
    return [first, *between, last]


def _sentence(chance: random.Random) -> Unfinished:
    numbers = _numbers(chance)
    words, places = chance.choice(OPENINGS).split(), []
    for place, (noun, number) in enumerate(zip(chance.sample(NOUNS, 4), numbers, strict=True)):
        if place:
            words += chance.choice(PREPOSITIONS if chance.random() < 0.6 else RELATIVES).split()
        words += ["the", *([chance.choice(ADJECTIVES)] if chance.random() < 0.3 else [])]
        places.append(len(words))
        words.append(noun + "s" * number)
    words.append(chance.choice(ADVERBS))
    return Unfinished(" ".join(words), bool(numbers[0]), len(words) - places[0])
