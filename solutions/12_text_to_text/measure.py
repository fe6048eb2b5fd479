"""Measures what lab 12 says about its model's training; see docs/data-text-to-text.md. Nothing is saved.

.venv/bin/python solutions/12_text_to_text/measure.py reason         # "yes", "bottles are: yes", and another noun first; three seeds
.venv/bin/python solutions/12_text_to_text/measure.py number         # a similarity without its reason, three seeds
.venv/bin/python solutions/12_text_to_text/measure.py specialists    # each task alone, with its share of the steps, and the shipped model
.venv/bin/python solutions/12_text_to_text/measure.py specialists 1  # the same with this seed; the shared model is trained anew
.venv/bin/python solutions/12_text_to_text/measure.py stories        # one more task, alone, 3,000 steps
.venv/bin/python solutions/12_text_to_text/measure.py summaries      # ROUGE-L of the last section's rivals
.venv/bin/python solutions/12_text_to_text/measure.py adapter        # what the shipped adapter writes, beside what *tuned* wrote
"""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence

import numpy as np
import torch
from train_weights import MERGES, SHARES, STEPS, train
from write_summaries import parts

from course_utils.data.agreement import NOUNS
from course_utils.data.byte_pairs import BytePairs, library_merges
from course_utils.data.stories import SEEN_NAMES, UNSEEN_NAMES, Names, make_stories
from course_utils.data.summaries import (
    Pair,
    load_summaries,
    load_written,
    rouge_l,
    sentences,
    words,
    words_of_name,
)
from course_utils.data.tasks import Example, TaskData, answer, load_tasks, unseen_entities
from course_utils.evaluation import accuracy, interval, paired
from course_utils.models.summariser import adapted_model, load_adapter, summarise
from course_utils.models.text_to_text import Writer


def trained(tokens: BytePairs, examples: Sequence[Example], steps: int, seed: int) -> Writer:
    """A model that has seen one task only."""
    torch.manual_seed(seed)
    writer = Writer(tokens)
    train(writer, {"one": list(examples)}, {"one": 1.0}, steps, seed)
    return writer


def shared_model(tokens: BytePairs, data: dict[str, TaskData], seed: int) -> Writer:
    """The model for all tasks: the shipped one has seed 0."""
    if seed == 0:
        return Writer.shipped()
    torch.manual_seed(seed)
    writer = Writer(tokens)
    train(writer, {name: data[name].train for name in SHARES}, SHARES, STEPS, seed)
    return writer


def marks(writer: Writer, task: str, examples: Sequence[Example]) -> list[bool]:
    """Whether each answer is right. Where a reason stands in front of the answer, it does not count."""
    written = writer.write([one.source for one in examples])
    return [
        answer(task, said) == answer(task, one.target) for said, one in zip(written, examples, strict=True)
    ]


def right(writer: Writer, task: str, examples: Sequence[Example]) -> int:
    return sum(marks(writer, task, examples))


def as_numbers(writer: Writer, examples: Sequence[Example]) -> str:
    """How far numbers that were written are from those that were wanted."""
    said = [answer("similarity", text) for text in writer.write([one.source for one in examples])]
    found = np.array([float(text) if re.fullmatch(r"\d\.\d", text) else np.nan for text in said])
    wanted = np.array([float(answer("similarity", one.target)) for one in examples])
    near, there = (np.abs(found - wanted) < 0.41).mean(), ~np.isnan(found)
    return f"within 0.4: {near:.3f}, correlation {np.corrcoef(found[there], wanted[there])[0, 1]:.3f}, {(~there).sum()} no numbers"


def _bare(task: str, examples: Sequence[Example]) -> list[Example]:
    """The answer without its reason."""
    return [Example(one.source, answer(task, one.target)) for one in examples]


def _other_noun(one: Example) -> Example:
    """The same answer behind a noun that is not its reason: the last one of the sentence."""
    last = next(word for word in reversed(one.source.split()) if word.removesuffix("s") in NOUNS)
    return Example(one.source, f"{last} {one.target.partition(' ')[2]}")


def _stories(count: int, seed: int, names: Names = SEEN_NAMES) -> list[Example]:
    """Where somebody is who moved more than once; lab 10 asks the same."""
    return [
        Example(f"question: {one.question} {one.context}", one.answer_texts[0])
        for one in make_stories(1, count, seed, names=names)
    ]


def _place_named_last(one: Example) -> str:
    return re.split(r" to the ", one.source)[-1].rstrip(".")


def stories(tokens: BytePairs) -> None:
    """Lab 10's questions about stories as text, which no setting that was tried has learned."""
    train_on = _stories(16_000, 13)
    tests = {
        "other stories": _stories(300, 900),
        "names never seen": _stories(300, 901, UNSEEN_NAMES),
    }
    known = {one.source for one in train_on}
    for name, some in tests.items():
        rival = sum(_place_named_last(one) == one.target for one in some)
        print(
            f"{name}: the place named last {rival} of {len(some)}; {len(known & {one.source for one in some})} seen"
        )
    writer = trained(tokens, train_on, 3_000, 0)
    for name, some in tests.items():
        print(f"{name}: {right(writer, 'stories', some)} of {len(some)}", flush=True)


def summaries() -> None:
    """ROUGE-L on the development and test pairs and on those that SmolLM2 was asked about, with 95 % intervals by module, and beside the
    first sentence. Of the words of summaries that their texts do not have: how many they have with another ending."""

    def score(name: str, texts: Sequence[Sequence[str]], some: Sequence[Pair]) -> None:
        ours, lead = (
            accuracy([rouge_l(said, words(one.summary))[2] for said, one in zip(every, some, strict=True)])
            for every in (texts, [words(sentences(one.text)[0]) for one in some])
        )
        modules = [one.module for one in some]
        found, ahead = interval(ours, modules), paired(ours, lead, modules)
        beside = "" if name == "first sentence" else f"{ahead.value:+.3f} ({ahead}), {ahead.verdict}"
        print(f"{len(some):4} {name:24} {found.value:.3f} ({found}) {beside}")

    written = load_written()
    for part in parts(load_summaries())[1:]:
        asked = [pair for pair in part if pair.text in written["zero-shot"]]
        for some in (part, asked):
            score("first sentence", [words(sentences(one.text)[0]) for one in some], some)
            score("first 11 words", [words(one.text)[:11] for one in some], some)
            score("name", [words_of_name(one.name) for one in some], some)
            score(
                "name + first 9 words", [words_of_name(one.name) + words(one.text)[:9] for one in some], some
            )
        for way, answers in written.items():
            score(f"SmolLM2, {way}", [words(answers[one.text]) for one in asked], asked)
        there = [(word, set(words(one.text))) for one in part for word in words(one.summary)]
        absent = [(word, text) for word, text in there if word not in text]
        ended = sum(_without_ending(word) in set(map(_without_ending, text)) for word, text in absent)
        print(f"{ended} of {len(absent)} absent words are there with another ending")


def adapter() -> None:
    """How many answers about the development texts are the same with the adapter that is shipped, in 8 bits, as those that were kept."""
    model, kept = adapted_model(), load_written()["tuned"]
    load_adapter(model)
    some = [one for one in parts(load_summaries())[1] if one.text in kept]
    said = summarise(model, [(one.name, one.text) for one in some])
    same = sum(text == kept[one.text] for text, one in zip(said, some, strict=True))
    print(f"{same} of {len(some)} are the same")
    for name, texts in (("shipped", said), ("kept", [kept[one.text] for one in some])):
        scores = [rouge_l(words(text), words(one.summary))[2] for text, one in zip(texts, some, strict=True)]
        print(f"{name}: ROUGE-L {np.mean(scores):.3f}")


def _without_ending(word: str) -> str:
    return re.sub(r"(?<=...)(ing|ed|es|s|d|e)$", "", word)


def main(what: str, seed: int = 0) -> None:
    torch.set_num_threads(1)
    without_training = {"summaries": summaries, "adapter": adapter}
    if what in without_training:
        without_training[what]()
        return
    data = load_tasks()
    tokens = BytePairs(
        library_merges([text for task in data.values() for one in task.train for text in one], MERGES)
    )
    if what == "stories":
        stories(tokens)
        return
    if what == "reason":
        reasoned = data["acceptability"]
        bare = [_bare("acceptability", part) for part in reasoned]
        other = [[_other_noun(one) for one in part] for part in reasoned]
        targets = {"the answer only": bare, "the nearest noun first": other, "the reason first": reasoned}
        for seed in range(3):
            for name, (learned, asked) in targets.items():
                writer = trained(tokens, learned, round(STEPS * SHARES["acceptability"]), seed)
                print(
                    f"seed {seed}, {name}: {right(writer, 'acceptability', asked)} of {len(asked)}",
                    flush=True,
                )
        return
    if what == "number":
        for seed in range(3):
            learned = _bare("similarity", data["similarity"].train)
            writer = trained(tokens, learned, round(STEPS * SHARES["similarity"]), seed)
            asked = data["similarity"].test
            print(
                f"seed {seed}, the number only: {right(writer, 'similarity', asked)} of {len(asked)}; {as_numbers(writer, asked)}",
                flush=True,
            )
        return
    shared = shared_model(tokens, data, seed)
    for name, share in SHARES.items():
        writer, test = trained(tokens, data[name].train, round(STEPS * share), seed), data[name].test
        ours, theirs = (marks(each, name, test) for each in (writer, shared))
        difference = paired(accuracy(ours), accuracy(theirs))
        print(
            f"{name} alone: {sum(ours)} of {len(test)}; minus the shared model's {sum(theirs)}: {difference.value:+.3f} ({difference}), {difference.verdict}",
            flush=True,
        )
        if name == "similarity":
            print(f"similarity alone: {as_numbers(writer, data[name].test)}", flush=True)
        if name == "entities":
            never = [right(each, name, unseen_entities()) for each in (writer, shared)]
            print(f"entities never seen: alone {never[0]}, shared {never[1]} of 300", flush=True)


if __name__ == "__main__":
    main(sys.argv[1], *map(int, sys.argv[2:]))
