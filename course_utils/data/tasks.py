"""The course's tasks as text for lab 12: each example is a text with a prefix in front, and the text that should come back.

Five tasks of earlier labs look alike in this form (Raffel et al. 2020, "Exploring the limits of transfer learning with a
unified text-to-text transformer"). docs/data-text-to-text.md says what is kept apart for the test in each.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import NamedTuple

from course_utils.data.agreement import make_unfinished
from course_utils.data.language_names import load_language_names
from course_utils.data.news import make_news, words
from course_utils.data.pairs import split_pairs
from course_utils.data.translation import translation_pairs

PREFIXES = {
    "translation": "translate French to English: ",
    "headline": "headline: ",
    "verb": "verb: ",
    "acceptability": "acceptable: ",
    "language": "language: ",
}
"""Name of a task -> what stands in front of its inputs."""

TESTED = 300
"""Examples of each task that are kept for the test, or for a test set of its own."""


class Example(NamedTuple):
    """What a model reads, prefix included, and what it should write."""

    source: str
    target: str


class TaskData(NamedTuple):
    """The examples of a task: for training, and for a test with texts that training does not contain."""

    train: list[Example]
    test: list[Example]


def load_tasks() -> dict[str, TaskData]:
    """All tasks by their names; always the same examples, in random order.

    No test sentence is in training. The names in the headlines' test occur in no training article, and a name is in
    training or in the test with all its languages.
    """
    makers: dict[str, Callable[[], TaskData]] = {
        "translation": _translation,
        "headline": _headline,
        "verb": _verb,
        "acceptability": _acceptability,
        "language": _language,
    }
    return {name: _prefixed(PREFIXES[name], make()) for name, make in makers.items()}


def unseen_pairings() -> list[Example]:
    """Translations of sentences with two words that no training sentence has together; without those of the test."""
    pairs = _split_translations().unseen_pairings[:TESTED]
    return [Example(PREFIXES["translation"] + pair.source, pair.target) for pair in pairs]


def _prefixed(prefix: str, data: TaskData) -> TaskData:
    return TaskData(*([Example(prefix + one.source, one.target) for one in part] for part in data))


def _split_translations():
    return split_pairs(translation_pairs(24_000, seed=5), validation=300, test=TESTED, seed=0)


def _translation() -> TaskData:
    split = _split_translations()
    return TaskData(
        *([Example(pair.source, pair.target) for pair in part] for part in (split.train, split.test))
    )


def _headline() -> TaskData:
    return TaskData(
        *(
            [Example(words(one.article), words(one.headline)) for one in make_news(count, 13, unseen)]
            for count, unseen in ((16_000, False), (TESTED, True))
        )
    )


def _unfinished(count: int, seed: int):
    """Unfinished sentences, those of the test last, and where the test begins."""
    made = make_unfinished(count + TESTED, seed)
    return made[:count], made[count:]


def _verb() -> TaskData:
    return TaskData(
        *(
            [Example(one.text, "are" if one.plural else "is") for one in part]
            for part in _unfinished(12_000, 13)
        )
    )


def _acceptability() -> TaskData:
    chance = random.Random(13)
    return TaskData(*([_judged(one, chance) for one in part] for part in _unfinished(16_000, 14)))


def _judged(one, chance: random.Random) -> Example:
    """The sentence with one of the two verbs, and whether the verb fits, its reason first: "bottles are: yes"."""
    right, plural = chance.random() < 0.5, one.plural
    verb = "are" if plural == right else "is"
    subject = one.text.split()[-one.distance]
    return Example(f"{one.text} {verb} here", f"{subject} {verb}: {'yes' if right else 'no'}")


def _language() -> TaskData:
    names = load_language_names()
    distinct = sorted({one.name for one in names})
    random.Random(13).shuffle(distinct)
    kept = set(distinct[: len(distinct) // 10])
    parts = ([one for one in names if (one.name in kept) == test] for test in (False, True))
    found = [[Example(one.name, one.language) for one in part] for part in parts]
    for part in found:
        random.Random(13).shuffle(part)
    return TaskData(found[0], found[1][:TESTED])
