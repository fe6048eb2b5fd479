"""Pretrains the three shapes of a Transformer on the same English, each in its own way, and asks what each is good at then; for lab 12.
See docs/data-text-to-text.md.

.venv/bin/python solutions/12_text_to_text/pretrain_objectives.py FOLDER

writes course_utils/data/objectives.json, in about half an hour of one core. FOLDER keeps the pretrained weights. It keeps what it has measured, so
a run that was stopped goes on where it was.
"""

from __future__ import annotations

import copy
import json
import random
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

import torch
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from torch import nn

from course_utils.data.agreement import NOUNS
from course_utils.data.documentation import load_documentation, plain_words
from course_utils.data.pretraining import OBJECTIVES
from course_utils.data.tasks import PREFIXES, answer, load_tasks
from course_utils.models.gaps import CLASSES, SHAPES, SPECIAL, NextWord, Vocabulary, with_gap

SEEDS = (0, 1, 2)
CONTROL, CONTROL_SEEDS = "encoder, 40 % masked", (0, 1)
STEPS, BATCH, RATE, WARMUP = 2_500, 48, 1.5e-3, 100
LABELS, TASK_STEPS, TASK_BATCH, TASK_RATE, TASK_WARMUP = 200, 300, 32, 1e-3, 30
TESTED, CANDIDATES, FIRST_CLASS = 300, 10, len(SPECIAL)

Rows = list[list[int]]
Gap = tuple[list[int], int, list[int]]
"""A text, the place that is missing, and the candidates for it; the first one is right."""

Labelled = list[tuple[str, str]]


class Texts:
    """The course's English: for pretraining, for the gaps of the tests, and two tasks with few labels."""

    def __init__(self) -> None:
        tasks = load_tasks()
        kept, held = self._documentation()
        asked = [one.target.lower() for one in tasks["translation"].test]
        sentences = {one.target.lower() for one in tasks["translation"].train} - set(asked)
        verbs = [
            [f"{one.source.removeprefix(PREFIXES['verb'])} {one.target} here" for one in part]
            for part in tasks["verb"]
        ]
        judged = [
            [
                (one.source.removeprefix(PREFIXES["acceptability"]), answer("acceptability", one.target))
                for one in part
            ]
            for part in tasks["acceptability"]
        ]
        asked_verbs = {text for text, _ in judged[1]} | set(verbs[1])
        self.pretraining = {
            "sentences": sorted(sentences),
            "documentation": [text for text, _ in kept],
            "verb": [text for text in verbs[0] if text not in asked_verbs],
        }
        self.vocabulary = Vocabulary(text for some in self.pretraining.values() for text in some)
        self.tests = {
            "sentences": asked,
            "documentation": [text for text, _ in held[:TESTED]],
            "verb": verbs[1],
        }
        self.tasks: dict[str, tuple[Labelled, Labelled]] = {
            "acceptable": (judged[0], judged[1]),
            "library": (kept, held[:TESTED]),
        }

    @staticmethod
    def _documentation() -> tuple[Labelled, Labelled]:
        """Sentences of at least three words with their library; and those of modules that pretraining does not see."""
        texts = [(plain_words(one.text), one.library, one.module) for one in load_documentation()]
        texts = [one for one in texts if len(one[0].split()) >= 3]
        modules = sorted({module for _, _, module in texts})
        held = set(random.Random(13).sample(modules, len(modules) // 8))
        known = {text for text, _, module in texts if module not in held}
        parts = (
            [(text, library) for text, library, module in texts if module not in held],
            [(text, library) for text, library, module in texts if module in held and text not in known],
        )
        for part in parts:
            random.Random(13).shuffle(part)
        return parts

    def gaps(self) -> dict[str, list[Gap]]:
        """One missing word in each test text, among ten candidates that are drawn by how frequent they are in texts
        of this kind; a verb among two."""
        vocabulary, chance, found = self.vocabulary, random.Random(13), {}
        first = FIRST_CLASS + CLASSES
        for name, texts in self.tests.items():
            counts = self.counts([name])
            words, weights = zip(
                *((one, count) for one, count in counts.items() if one >= first), strict=True
            )
            found[name] = []
            for row in map(vocabulary.ids, texts):
                if name == "verb":
                    place = len(row) - 2
                    candidates = {row[place]: None} | {vocabulary.id_of[one]: None for one in ("is", "are")}
                else:
                    place = chance.choice([at for at, one in enumerate(row) if one >= first])
                    candidates = {row[place]: None}
                    while len(candidates) < CANDIDATES:
                        candidates[chance.choices(words, weights)[0]] = None
                found[name].append((row, place, list(candidates)))
        return found

    def rows(self, name: str) -> Rows:
        return [self.vocabulary.ids(text) for text in self.pretraining[name]]

    def counts(self, names: Sequence[str]) -> Counter:
        return Counter(word for name in names for row in self.rows(name) for word in row)


def optimised(
    model: nn.Module,
    loss_of: Callable[[random.Random], torch.Tensor],
    steps: int,
    rate: float,
    warmup: int,
    seed: int,
) -> None:
    """AdamW; the rate rises for ``warmup`` steps and then falls to 0."""
    chance, optimizer = random.Random(seed), torch.optim.AdamW(model.parameters(), betas=(0.9, 0.98))
    began, losses = time.perf_counter(), []
    for number in range(1, steps + 1):
        for group in optimizer.param_groups:
            group["lr"] = rate * min(number / warmup, (steps - number + 1) / (steps - warmup))
        loss = loss_of(chance)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        losses.append(float(loss.detach()))
        if number % 500 == 0:
            print(
                f"  step {number}: {time.perf_counter() - began:.0f} s, loss {sum(losses[-200:]) / 200:.3f}"
            )


def fresh(shape: str, size: int, seed: int):
    torch.manual_seed(seed)
    return SHAPES[shape](size)


def pretrained(shape: str, texts: Texts, seed: int, path: Path):
    """A third of the batches from each kind of text; the weights are kept."""
    learner = fresh(shape, len(texts.vocabulary), seed)
    if not path.is_file():
        rows = {name: texts.rows(name) for name in texts.pretraining}

        def loss_of(chance: random.Random) -> torch.Tensor:
            return learner.loss(chance.sample(rows[chance.choice(list(rows))], BATCH), chance)

        optimised(learner.model, loss_of, STEPS, RATE, WARMUP, seed)
        torch.save(learner.model.state_dict(), path)
    learner.model.load_state_dict(torch.load(path))
    return learner


@torch.inference_mode()
def chosen(learner, gaps: Sequence[Gap], whole: bool = False) -> int:
    """How many of the gaps get the right word: by the logits of the gap, or by how likely the whole text is with each candidate."""
    right = 0
    for start in range(0, len(gaps), 50):
        rows, places, candidates = zip(*gaps[start : start + 50], strict=True)
        if whole:
            filled = [
                with_gap(*one, word)
                for *one, some in zip(rows, places, candidates, strict=True)
                for word in some
            ]
            scores = learner.log_prob(filled).reshape(len(rows), -1)
        else:
            scores = learner.gap_logits(rows, places).gather(1, torch.tensor(candidates))
        right += int((scores.argmax(1) == 0).sum())
    return right


def by_frequency(texts: Texts, name: str, gaps: Sequence[Gap]) -> int:
    """A control without a network: the candidate that is most frequent in texts of this kind."""
    counts = texts.counts([name])
    return sum(max(some, key=lambda word: counts[word]) == some[0] for _, _, some in gaps)


def by_neighbours(texts: Texts, gaps: Sequence[Gap]) -> int:
    """A control without a network: the candidate that fits the words on its two sides best, by the counts of pairs."""
    counts, pairs = texts.counts(list(texts.pretraining)), Counter()
    for name in texts.pretraining:
        for row in texts.rows(name):
            pairs.update(zip([None, *row], [*row, None], strict=True))
    total = sum(counts.values())

    def follows(left: int | None, right: int | None) -> float:
        alone = counts.get(right, len(texts.vocabulary)) / total
        return (pairs[left, right] + alone) / (counts.get(left, total) + 1)

    def score(row: list[int], place: int, word: int) -> float:
        before, after = [None, *row][place], [*row, None][place + 1]
        return follows(before, word) * follows(word, after)

    found = [max(some, key=lambda word: score(row, place, word)) == some[0] for row, place, some in gaps]
    return sum(found)


def told(learner, texts: Texts, task: tuple[Labelled, Labelled], seed: int) -> int:
    """A copy learns a task from few labels, as a gap behind the text that is filled with a class; right answers to its test."""
    learner, vocabulary = copy.deepcopy(learner), texts.vocabulary
    names = sorted({label for _, label in task[0]})
    some = random.Random(seed).sample(task[0], LABELS)

    def logits(examples: Labelled) -> torch.Tensor:
        rows = [[*vocabulary.ids(text), FIRST_CLASS] for text, _ in examples]
        every = learner.gap_logits(rows, [len(row) - 1 for row in rows])
        return every[:, FIRST_CLASS : FIRST_CLASS + len(names)]

    def labels(examples: Labelled) -> torch.Tensor:
        return torch.tensor([names.index(label) for _, label in examples])

    def loss_of(chance: random.Random) -> torch.Tensor:
        batch = chance.sample(some, TASK_BATCH)
        return nn.functional.cross_entropy(logits(batch), labels(batch))

    optimised(learner.model, loss_of, TASK_STEPS, TASK_RATE, TASK_WARMUP, seed)
    with torch.inference_mode():
        return int((logits(task[1]).argmax(1) == labels(task[1])).sum())


def by_words(task: tuple[Labelled, Labelled], seed: int) -> int:
    """The control without a network: TF-IDF and a linear classifier, from the same labels."""
    some = random.Random(seed).sample(task[0], LABELS)
    model = make_pipeline(TfidfVectorizer(), LogisticRegression(C=10, max_iter=1000)).fit(
        *zip(*some, strict=True)
    )
    texts, labels = zip(*task[1], strict=True)
    return int((model.predict(texts) == labels).sum())


def by_nearest_noun(task: tuple[Labelled, Labelled]) -> int:
    """The control for *acceptable*: the verb has to agree with the noun that stands nearest."""
    right = 0
    for text, label in task[1]:
        *before, verb, _ = text.split()
        near = next(word for word in reversed(before) if word.removesuffix("s") in NOUNS)
        right += ("are" if near.endswith("s") else "is") == verb if label == "yes" else 0
        right += ("are" if near.endswith("s") else "is") != verb if label == "no" else 0
    return right


def main(folder: Path) -> None:
    torch.set_num_threads(1)
    folder.mkdir(parents=True, exist_ok=True)
    texts, rows = Texts(), json.loads(OBJECTIVES.read_text("utf-8")) if OBJECTIVES.is_file() else []
    gaps, size = texts.gaps(), len(texts.vocabulary)
    done = {tuple(row[:3]) for row in rows}
    print({name: len(some) for name, some in texts.pretraining.items()}, f"{size} words")

    def measure(model: str, what: str, seed: int, result: Callable[[], float]) -> None:
        if (model, what, seed) not in done:
            rows.append([model, what, seed, result()])
            OBJECTIVES.write_text("[" + ",\n".join(map(json.dumps, rows)) + "]\n", "utf-8")
            print(rows[-1], flush=True)

    for name, some in gaps.items():
        measure("most frequent", name, 0, lambda name=name, some=some: by_frequency(texts, name, some))
        measure("neighbours", name, 0, lambda some=some: by_neighbours(texts, some))
    measure("nearest noun", "acceptable", 0, lambda: by_nearest_noun(texts.tasks["acceptable"]))
    for seed in SEEDS:
        for name, task in texts.tasks.items():
            measure("TF-IDF", name, seed, lambda task=task, seed=seed: by_words(task, seed))
        for shape in SHAPES:
            if shape == CONTROL and seed not in CONTROL_SEEDS:
                continue
            path = folder / f"{shape.replace(' ', '_')}_{seed}.pt"
            learner, untrained = pretrained(shape, texts, seed, path), fresh(shape, size, seed)
            with torch.inference_mode():
                own = [
                    learner.loss([texts.vocabulary.ids(one) for one in some], random.Random(0)).item()
                    for some in texts.tests.values()
                ]
            measure(shape, "own loss", seed, lambda own=own: round(sum(own) / len(own), 3))
            for name, some in gaps.items():
                measure(shape, name, seed, lambda one=learner, some=some: chosen(one, some))
                measure(f"{shape}, untrained", name, seed, lambda one=untrained, some=some: chosen(one, some))
                if isinstance(learner, NextWord):
                    whole = f"{shape}, whole text"
                    measure(whole, name, seed, lambda one=learner, some=some: chosen(one, some, True))
            for name, task in texts.tasks.items():
                measure(
                    shape, name, seed, lambda one=learner, task=task, seed=seed: told(one, texts, task, seed)
                )
                measure(
                    f"{shape}, untrained",
                    name,
                    seed,
                    lambda one=untrained, task=task, seed=seed: told(one, texts, task, seed),
                )


if __name__ == "__main__":
    main(Path(sys.argv[1]))
