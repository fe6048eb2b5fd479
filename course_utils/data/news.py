"""Made news for lab 08: short articles and their headlines, with people and places that nobody has heard of.

Names are written in syllables, and each syllable is a token, as a subword tokenizer would have it. All syllables occur in
training, but the names of the test do not: a model that writes them in a headline has copied them from the article.
"""

from __future__ import annotations

import random
from typing import NamedTuple

SYLLABLES = tuple(first + second for first in "bdfklmnrst" for second in "aeiou")

EVENTS = {  # what the article says -> what the headline says
    "opened": "opens",
    "closed": "closes",
    "sold": "sells",
    "bought": "buys",
    "painted": "paints",
    "repaired": "repairs",
    "designed": "designs",
    "visited": "visits",
}
THINGS = tuple(
    [
        "bridge",
        "school",
        "museum",
        "library",
        "station",
        "theatre",
        "market",
        "harbour",
        "garden",
        "tower",
        "bakery",
        "stadium",
    ]
)
ROLES = tuple(["mayor", "teacher", "doctor", "farmer", "painter", "baker", "pilot", "singer"])
DAYS = tuple(["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"])
_OTHERS = (  # what else an article says
    "people from {other} came to watch .",
    "{stranger} of {other} wrote a letter about it .",
    "a friend from {other} helped for {number} days .",
    "the idea came from {stranger} .",
    "{stranger} was not there .",
    "it rained on {day} .",
    "the work took {number} months .",
    "there was music until midnight .",
    "the streets were full on {day} .",
    "everybody in town had waited for {number} years .",
)
_NUMBERS = tuple(["two", "three", "four", "five", "six", "seven", "eight", "nine"])


class News(NamedTuple):
    """An article, its headline, and the names in it. All are tokens: words, marks, and syllables of names."""

    article: list[str]
    headline: list[str]
    names: tuple[str, ...]


def words(tokens: list[str]) -> str:
    """Tokens as a text: a syllable that begins with + belongs to the one before it."""
    return " ".join(tokens).replace(" +", "")


def make_news(count: int, seed: int, unseen: bool = False) -> list[News]:
    """Different articles.

    Args:
        count: how many.
        seed: another one gives other articles.
        unseen: whether the names are those of the test (none of which is in training) or those of training.
    """
    chance = random.Random(f"news/{seed}/{unseen}")
    found: dict[str, News] = {}
    while len(found) < count:
        made = _article(chance, unseen)
        found.setdefault(" ".join(made.article), made)
    return list(found.values())


def _name(chance: random.Random, unseen: bool) -> list[str]:
    """Two or three syllables. Of all possible names about a fifth is kept for the test."""
    while True:
        parts = chance.choices(SYLLABLES, k=chance.choice((2, 3)))
        if (random.Random(" ".join(parts)).random() < 0.2) == unseen:
            return [parts[0], *(f"+{part}" for part in parts[1:])]


def _article(chance: random.Random, unseen: bool) -> News:
    person, place, stranger, other = (_name(chance, unseen) for _ in range(4))
    said, thing = chance.choice(list(EVENTS)), chance.choice(THINGS)
    role, day = chance.choice(ROLES), chance.choice(DAYS)
    event = [*person, ",", "a", role, "from", *place, ",", said, "the", thing, "on", day, "."]
    names = {"{stranger}": stranger, "{other}": other, "{day}": [day], "{number}": [chance.choice(_NUMBERS)]}
    sentences = [event, _filled(chance.choice(_OTHERS), names)]
    chance.shuffle(sentences)
    headline = [*person, EVENTS[said], thing, "in", *place]
    return News(
        [token for sentence in sentences for token in sentence],
        headline,
        tuple(words(name) for name in (person, place, stranger, other)),
    )


def _filled(pattern: str, names: dict[str, list[str]]) -> list[str]:
    return [token for word in pattern.split() for token in names.get(word, [word])]
