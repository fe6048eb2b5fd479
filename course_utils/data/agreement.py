"""Made text for lab 07: sentences that are right or wrong by the agreement of the verb with a distant subject.

"the keys near the cabinet that faced the doors beside the lamp still are cheap" is right, because it is about keys; with
"is" it would be wrong. Linzen et al. (2016), "Assessing the ability of LSTMs to learn syntax-sensitive dependencies", test
networks in this way with sentences of real text. These come from a small grammar, so that nothing but the order can help:
docs/data-documentation.md says how that is arranged, and the tests count it.
"""

from __future__ import annotations

import random
from typing import NamedTuple

NOUNS = [
    "key",
    "cabinet",
    "door",
    "lamp",
    "letter",
    "picture",
    "table",
    "garden",
    "teacher",
    "student",
    "doctor",
    "driver",
    "painter",
    "singer",
    "neighbour",
    "farmer",
    "guard",
    "pilot",
    "window",
    "bridge",
    "tower",
    "river",
    "island",
    "village",
    "hotel",
    "engine",
    "camera",
    "guitar",
    "poem",
    "report",
    "basket",
    "ladder",
    "ticket",
    "mirror",
    "blanket",
    "bottle",
    "carpet",
    "statue",
    "fountain",
    "statement",
]
"""All of them make their plural with "s"."""

PREPOSITIONS = ("near", "behind", "beside", "above", "below", "across from")
RELATIVES = ("that faced", "that followed", "that resembled", "that replaced")
ADJECTIVES = ("old", "new", "small", "famous", "quiet", "red", "expensive", "strange")
ADVERBS = ("really", "still", "often", "probably", "always", "now", "certainly", "today")
VERBS = (("is", "are"), ("was", "were"), ("seems", "seem"), ("looks", "look"), ("has become", "have become"))
"""Each in the singular and in the plural."""
QUALITIES = ("beautiful", "important", "well known", "interesting", "popular", "ugly", "cheap", "rather dull")
OPENINGS = ("", "", "in town", "in summer", "as we know", "at first", "this time")


class Judged(NamedTuple):
    """A sentence, and what there is to know about it.

    Attributes:
        text: words in small letters, without punctuation.
        right: whether the verb agrees with its subject.
        subject: the number of the subject: 0 singular, 1 plural.
        attractors: how many nouns between subject and verb have the other number.
        distance: how many words after the subject the verb comes.
    """

    text: str
    right: bool
    subject: int
    attractors: int
    distance: int


def make_judgements(count: int, seed: int) -> list[Judged]:
    """Different sentences, about half of them right.

    Args:
        count: how many.
        seed: another one gives other sentences.
    """
    chance = random.Random(f"agreement/{seed}")
    found: dict[str, Judged] = {}
    while len(found) < count:
        made = _sentence(chance)
        found.setdefault(made.text, made)
    return list(found.values())


def _numbers(chance: random.Random) -> list[int]:
    """The numbers of four nouns: always two plurals, and the last noun says nothing about the first."""
    first, last = chance.randrange(2), chance.randrange(2)
    between = [int(first + last == 0), int(first + last == 0)]
    if first != last:
        between = chance.sample([0, 1], 2)
    return [first, *between, last]


def _sentence(chance: random.Random) -> Judged:
    numbers = _numbers(chance)
    words, places = chance.choice(OPENINGS).split(), []
    for place, (noun, number) in enumerate(zip(chance.sample(NOUNS, 4), numbers, strict=True)):
        if place:
            words += chance.choice(PREPOSITIONS if chance.random() < 0.6 else RELATIVES).split()
        words += ["the", *([chance.choice(ADJECTIVES)] if chance.random() < 0.3 else [])]
        places.append(len(words))
        words.append(noun + "s" * number)
    words.append(chance.choice(ADVERBS))
    verb = chance.randrange(2)
    distance = len(words) - places[0]
    words += [*chance.choice(VERBS)[verb].split(), *chance.choice(QUALITIES).split()]
    others = sum(number != numbers[0] for number in numbers[1:])
    return Judged(" ".join(words), verb == numbers[0], numbers[0], others, distance)
