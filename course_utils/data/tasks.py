"""The course's tasks as text for lab 12: each example is a text with a prefix in front, and the text that should come back.

Seven tasks look alike in this form (Raffel et al. 2020, "Exploring the limits of transfer learning with a unified
text-to-text transformer"); six of them come from earlier labs. docs/data-text-to-text.md says what is kept apart for the
test in each.
"""

from __future__ import annotations

import functools
import random
import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

from course_utils.data.agreement import make_unfinished
from course_utils.data.language_names import load_language_names
from course_utils.data.news import make_news, words
from course_utils.data.pairs import split_pairs
from course_utils.data.resumes import Resume, resume_splits
from course_utils.data.translation import translation_pairs

PREFIXES = {
    "translation": "translate French to English: ",
    "headline": "headline: ",
    "verb": "verb: ",
    "acceptability": "acceptable: ",
    "language": "language: ",
    "entities": "entities: ",
    "similarity": "similarity: ",
}
"""Name of a task -> what stands in front of its inputs."""

REASONED = ("acceptability", "similarity")
"""Tasks whose answer stands behind its reason and a colon: "bottles are: yes"."""

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

    No test text is in training. The names in the headlines' test occur in no training article, and a name is in
    training or in the test with all its languages. Of two sentences to compare in the test, training has the second one only.
    """
    makers: dict[str, Callable[[], TaskData]] = {
        "translation": _translation,
        "headline": _headline,
        "verb": _verb,
        "acceptability": _acceptability,
        "language": _language,
        "entities": _entities,
        "similarity": _similarity,
    }
    return {name: _prefixed(PREFIXES[name], make()) for name, make in makers.items()}


def answer(task: str, text: str) -> str:
    """The part of what was written that is judged: all of it, or what stands behind the reason."""
    return text.rpartition(": ")[2] if task in REASONED else text


def unseen_pairings() -> list[Example]:
    """Translations of sentences with two words that no training sentence has together; without those of the test."""
    pairs = _split_translations().unseen_pairings[:TESTED]
    return [Example(PREFIXES["translation"] + pair.source, pair.target) for pair in pairs]


def unseen_entities() -> list[Example]:
    """Lines of résumés about people, places and companies none of which occurs in training."""
    split = _resumes()
    lines = _not_in(_lines_with_entities(split.train), _lines_with_entities(split.unseen_documents))
    return [Example(PREFIXES["entities"] + one.source, one.target) for one in lines]


def _prefixed(prefix: str, data: TaskData) -> TaskData:
    return TaskData(*([Example(prefix + one.source, one.target) for one in part] for part in data))


@functools.cache  # two tasks and a test of its own begin with it
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


@functools.cache  # the task and a test of its own
def _resumes():
    return resume_splits(train=1_500)


def _lines_with_entities(resumes: Sequence[Resume]) -> list[Example]:
    """Each line that has entities, once, and these by name: "Place: Cádiz, Spain" -> "Location: Cádiz, Spain"."""
    found: dict[str, str] = {}
    for one in resumes:
        end = -1
        for line in one.text.split("\n"):
            start, end = end + 1, end + 1 + len(line)
            inside = [each for each in one.entities if start <= each.start and each.end <= end]
            if inside and len(line.split()) <= 30:
                named = "; ".join(f"{each.label}: {one.text[each.start : each.end]}" for each in inside)
                found.setdefault(line.strip(), named)
    return [Example(*each) for each in found.items()]


def _entities() -> TaskData:
    split = _resumes()
    train = _lines_with_entities(split.train)
    return TaskData(train, _not_in(train, _lines_with_entities(split.validation)))


def _not_in(train: Sequence[Example], lines: Sequence[Example]) -> list[Example]:
    """Some people's lines are another's, too: "Data Analyst"."""
    known = {one.source for one in train}
    return [one for one in lines if one.source not in known][:TESTED]


def _similarity() -> TaskData:
    split = _split_translations()
    known = [pair.target for pair in split.train]
    return TaskData(
        _compared(known, known, 12_000, seed=13),
        _compared([pair.target for pair in split.test], known, TESTED, seed=14),
    )


def _compared(texts: Sequence[str], others: Sequence[str], count: int, seed: int) -> list[Example]:
    """Two sentences; the words that both have, how many these are of how many, and five times that share, to the nearest 0.2:
    "love my bird 3 of 10: 1.6".

    The first one is from ``texts``. The second one is from ``others``: of some that have a rare word of it, the one whose share
    is nearest to a share drawn at random. About one pair in twenty is a sentence and itself.
    """
    chance = random.Random(seed)
    words_of = {text: dict.fromkeys(re.findall(r"[\w']+", text.lower())) for text in {*texts, *others}}
    with_word: dict[str, list[str]] = {}
    for text in others:
        for word in words_of[text]:
            with_word.setdefault(word, []).append(text)

    def shared(one: str, other: str) -> tuple[list[str], int]:
        first, second = words_of[one], words_of[other]
        return [word for word in first if word in second], len(first | second)

    def share(one: str, other: str) -> float:
        both, of = shared(one, other)
        return len(both) / of

    made = []
    while len(made) < count:
        one, wanted = chance.choice(texts), chance.random()
        rare = sorted(words_of[one].keys() & with_word.keys(), key=lambda word: (len(with_word[word]), word))[
            :3
        ]
        near = [chance.choice(with_word[word]) for word in rare for _ in range(6)]
        near = [one] if wanted > 0.95 else [text for text in near if text != one]
        if near:
            other = min(near, key=lambda text: abs(share(one, text) - wanted))
            both, of = shared(one, other)
            tenths = 2 * round(25 * len(both) / of)
            reason = f"{' '.join(both)} {len(both)} of {of}"
            made.append(Example(f"{one} / {other}", f"{reason}: {tenths // 10}.{tenths % 10}"))
    return made
