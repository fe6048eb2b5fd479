"""What the readers of labs 10 to 13 share in any framework: windows in batches, scores, and baselines.

A *reader* finds the answer to a question in a text. The labs write its parts themselves; this module has the same ones for
labs that build on them, and the code around a reader.
"""

from __future__ import annotations

import random
import re
import string
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from course_utils.data.questions import QuestionExample, Span

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast

Offsets = list[tuple[int, int]]
Tokenize = Callable[[str], tuple[list[int], Offsets]]

_DELETED = str.maketrans(dict.fromkeys(string.punctuation))
_ARTICLES = re.compile(r"\b(?:an?|the)\b")


def pieces(tokenizer: PreTrainedTokenizerFast) -> Tokenize:
    """``tokenize(text)`` gives the ids of the text's word pieces, and where each one is: ``text[start:end]``."""

    def tokenize(text: str) -> tuple[list[int], Offsets]:
        found = tokenizer(text, add_special_tokens=False, return_offsets_mapping=True, verbose=False)
        return list(found["input_ids"]), [tuple(pair) for pair in found["offset_mapping"]]

    return tokenize


# ---------------------------------------------------------------------------------- windows in batches


def features_of(
    example: QuestionExample,
    tokenize: Tokenize,
    max_length: int = 128,
    overlap: int = 32,
    special: tuple[int, int, int] = (101, 102, 0),
) -> list[dict[str, Any]]:
    """The windows of an example, as in labs 10 and 11: question, part of the context, padding.

    A window's target is the first answer that is completely in it; (0, 0), the place of [CLS], if none is.

    Args:
        special: the ids of [CLS], [SEP] and padding.
    """
    cls, sep, pad = special
    asked = [cls, *tokenize(example.question)[0], sep]
    ids, offsets = tokenize(example.context)
    room = max_length - len(asked) - 1
    if room <= overlap:
        raise ValueError(f"{example.id}: besides the question, {room} tokens are left for a window.")
    made, begin = [], 0
    while True:
        end = min(begin + room, len(ids))
        row = [*asked, *ids[begin:end], sep]
        fill = max_length - len(row)
        places = [None] * len(asked) + offsets[begin:end] + [None] * (fill + 1)
        first, last = _target(example.answers, places)
        made.append(
            {
                "input_ids": row + fill * [pad],
                "token_type_ids": len(asked) * [0] + (end - begin + 1) * [1] + fill * [0],
                "attention_mask": len(row) * [1] + fill * [0],
                "offsets": places,
                "start_position": first,
                "end_position": last,
            }
        )
        if end == len(ids):
            return made
        begin = end - overlap


def _target(answers: Iterable[Span], places: Sequence[tuple[int, int] | None]) -> tuple[int, int]:
    starts = {pair[0]: number for number, pair in enumerate(places) if pair}
    stops = {pair[1]: number for number, pair in enumerate(places) if pair}
    for span in answers:
        if span.start in starts and span.end in stops:
            return starts[span.start], stops[span.end]
        inside = [n for n, pair in enumerate(places) if pair and pair[1] > span.start and pair[0] < span.end]
        if inside and places[inside[0]][0] <= span.start and span.end <= places[inside[-1]][1]:
            return inside[0], inside[-1]
    return 0, 0


def stacked(features: Sequence[Mapping[str, Any]]) -> dict[str, np.ndarray]:
    """Features as arrays, cut to the length of the longest: rows of ids, and one number each for the target.

    ``allowed`` is True where an answer may begin or end, and at [CLS].
    """
    longest = max(sum(feature["attention_mask"]) for feature in features)
    batch = {
        name: np.array([feature[name][:longest] for feature in features], dtype=np.int64)
        for name in ("input_ids", "attention_mask", "token_type_ids")
    }
    batch["allowed"] = np.array(
        [[pair is not None for pair in feature["offsets"][:longest]] for feature in features]
    )
    batch["allowed"][:, 0] = True
    for name in ("start", "end"):
        batch[f"{name}_positions"] = np.array([feature[f"{name}_position"] for feature in features])
    return batch


def batches_by_length(
    features: Sequence[Mapping[str, Any]], batch_size: int, seed: int, chunk: int = 8
) -> Iterator[list[Mapping[str, Any]]]:
    """Batches in random order, each of features of similar length, so that little is padding.

    Args:
        chunk: this many batches' worth of features is sorted at a time.
    """
    drawn = random.Random(seed)
    order = list(features)
    drawn.shuffle(order)
    for begin in range(0, len(order), batch_size * chunk):
        part = sorted(order[begin : begin + batch_size * chunk], key=lambda one: sum(one["attention_mask"]))
        batches = [part[start : start + batch_size] for start in range(0, len(part), batch_size)]
        drawn.shuffle(batches)
        yield from batches


# ---------------------------------------------------------------------------------- scores


def plain_words(text: str) -> list[str]:
    """The words that count when answers are compared, according to SQuAD's evaluation script."""
    return _ARTICLES.sub(" ", text.lower().translate(_DELETED)).split()


def squad_scores(prediction: str, answers: Iterable[str]) -> tuple[int, float]:
    """(exact match, F1) of a prediction, against the best of the right answers; no answers: the empty one is right."""
    said = plain_words(prediction)
    right = [words for words in map(plain_words, answers) if words] or [[]]
    return max(int(said == words) for words in right), max(_overlap(said, words) for words in right)


def _overlap(ours: list[str], theirs: list[str]) -> float:
    if not (ours and theirs):
        return float(ours == theirs)
    return 2 * sum((Counter(ours) & Counter(theirs)).values()) / (len(ours) + len(theirs))


@dataclass(frozen=True)
class Scores:
    """Means over a set of questions, from 0 to 1."""

    count: int
    exact: float
    f1: float

    def __str__(self) -> str:
        return f"exact match {self.exact:6.1%}, F1 {self.f1:6.1%}  ({self.count} questions)"


def score(predictions: Sequence[str], examples: Sequence[QuestionExample]) -> Scores:
    """How well predictions answer the examples.

    Raises:
        ValueError: there are none, or not the same number of both.
    """
    if len(predictions) != len(examples) or not examples:
        raise ValueError(f"There are {len(predictions)} predictions for {len(examples)} questions.")
    pairs = [
        squad_scores(said, example.answer_texts) for said, example in zip(predictions, examples, strict=True)
    ]
    exact, f1 = np.mean(pairs, axis=0).tolist()
    return Scores(len(pairs), exact, f1)


# ---------------------------------------------------------------------------------- baselines, which learn nothing


def last_place(example: QuestionExample) -> str:
    """For a story: the place that was named last, whoever went there."""
    places = re.findall(r" to the ([^.]+)\.", example.context)
    return places[-1] if places else ""


def any_place(example: QuestionExample) -> str:
    """For a story: one of its places, drawn at random. The example's id is the seed, so it is the same one each time."""
    places = sorted(set(re.findall(r" to the ([^.]+)\.", example.context)))
    return random.Random(example.id).choice(places) if places else ""


def place_beside_the_name(example: QuestionExample) -> str:
    """For a story: where the person (or thing) in question went, in the last sentence that names both."""
    asked = set(re.findall(r"\w+", example.question.lower())) - {"where", "is", "was", "the", "before"}
    for sentence in reversed(example.context.split(".")):
        place = re.search(r" to the (.+)", sentence)
        if place and asked & set(re.findall(r"\w+", sentence.lower())):
            return place[1]
    return last_place(example)


def nearest_words(example: QuestionExample) -> str:
    """For any text: in the sentence that shares most with the question, the longest run of words with a capital or a number."""
    asked = set(plain_words(example.question))
    sentences = re.split(r"(?<=[.?!]) +", example.context)
    best = max(sentences, key=lambda sentence: len(asked & set(plain_words(sentence))))
    runs = re.findall(r"(?:[A-Z][\w'-]*|\d[\d,.]*)(?: (?:[A-Z][\w'-]*|\d[\d,.]*))*", best)
    runs = [run for run in runs if not set(plain_words(run)) <= asked]
    return max(runs, key=len) if runs else best
