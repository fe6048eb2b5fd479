"""Pretrains lab 12's model on gap texts, and asks whether that helps with few examples; see docs/data-text-to-text.md.

.venv/bin/python solutions/12_text_to_text/pretrain_gaps.py FOLDER

writes course_utils/data/pretraining.json. Two processes share the work; FOLDER keeps the pretrained weights. It keeps what it has trained, so a run
that was stopped goes on where it was.
"""

from __future__ import annotations

import json
import multiprocessing
import random
import sys
from pathlib import Path

import torch
from torch import nn
from train_weights import train

from course_utils.data.documentation import load_documentation
from course_utils.data.pretraining import FILE
from course_utils.data.tasks import PREFIXES, Example, load_tasks, unseen_pairings
from course_utils.models.text_to_text import Writer
from grader.course import Course
from grader.reference.lab import Lab

SEEDS = (0, 1, 2)
EXAMPLES = 1_000
TASKS = ("headline", "translation")
PRETRAINING, TRAINING = 600, 400
"""Steps on gap texts, and on the task."""

BATCH, WARMUP = 32, 60
CORRUPTED, SPAN = 0.15, 3
"""The share of words that is cut out, and the mean length of a span (Raffel et al. 2020, section 3.1.4)."""

STEPS = {"pretrained": TRAINING, "not pretrained": TRAINING, "task only": PRETRAINING + TRAINING}
"""Ways to train -> steps on the task."""


def gap_text(text: str, span_corruption, chance: random.Random) -> Example:
    """A text with gaps, and what was there. Sentinels are control characters, which no text has: each is a token."""
    words = text.split()
    count = max(1, round(len(words) * CORRUPTED / SPAN))
    spans = []
    part = len(words) // count
    for number in range(count):  # one span in each part, and a word that stays before the next part
        length = min(chance.randint(1, 2 * SPAN - 1), part - 1)
        begin = number * part + chance.randint(0, part - 1 - length)
        spans.append((begin, begin + length))
    names = [*words, *(chr(1 + number) for number in range(count + 1))]
    source, target = span_corruption(list(range(len(words))), spans, len(words))
    return Example(*(" ".join(names[one] for one in part) for part in (source, target)))


def gap_texts() -> dict[str, list[Example]]:
    """The course's English by where it is from, without what the tests ask for."""
    span_corruption = Lab.load(Course(Path(__file__).parents[2]), "12_text_to_text").reference[
        "span_corruption"
    ]
    tasks = load_tasks()
    asked = {one.target for one in (*tasks["translation"].test, *unseen_pairings())}
    texts = {
        "sentences": [one.target for one in tasks["translation"].train if one.target not in asked],
        "articles": [one.source.removeprefix(PREFIXES["headline"]) for one in tasks["headline"].train],
        "documentation": [one.text for one in load_documentation()],
    }
    chance = random.Random(0)
    return {
        name: [gap_text(text, span_corruption, chance) for text in some if len(text.split()) > 1]
        for name, some in texts.items()
    }


def pretrained(job: tuple[int, Path]) -> None:
    """Trains on gap texts, a third of the batches from each source, and keeps the weights."""
    seed, path = job
    texts, writer = gap_texts(), fresh(seed)
    shares = dict.fromkeys(texts, 1 / len(texts))
    train(writer, texts, shares, PRETRAINING, seed, BATCH, WARMUP)
    torch.save(writer.model.state_dict(), path)


def fresh(seed: int) -> Writer:
    """A model without any training, with the tokenizer of the course's weights."""
    torch.set_num_threads(1)
    torch.manual_seed(seed)
    return Writer(Writer.shipped().tokens)


def measured(job: tuple[str, str, int, Path]) -> dict:
    """Trains on a few examples, from the kept weights or from nothing, and counts right answers to the test."""
    task, way, seed, path = job
    data, writer = load_tasks()[task], fresh(seed)
    if way == "pretrained":
        writer.model.load_state_dict(torch.load(path))
    some = random.Random(seed).sample(data.train, EXAMPLES)
    train(writer, {task: some}, {task: 1.0}, STEPS[way], seed, BATCH, WARMUP)
    written = writer.write([one.source for one in data.test])
    right = [said == one.target for said, one in zip(written, data.test, strict=True)]
    return {
        "task": task,
        "way": way,
        "seed": seed,
        "right": sum(right),
        "loss": round(test_loss(writer, data.test), 3),
    }


@torch.inference_mode()
def test_loss(writer: Writer, some: list[Example]) -> float:
    """The loss for each token of the wanted texts and their ends."""
    sources = writer.padded([writer.tokens.encode(one.source) for one in some])
    labels = writer.padded([[*writer.tokens.encode(one.target), writer.end_id] for one in some])
    given = torch.cat([torch.full((len(some), 1), writer.pad_id), labels[:, :-1]], 1)
    logits = writer.model(sources, given).flatten(0, 1)
    return float(nn.functional.cross_entropy(logits, labels.flatten(), ignore_index=writer.pad_id))


def main(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    weights = {seed: folder / f"gaps_{seed}.pt" for seed in SEEDS}
    rows = json.loads(FILE.read_text("utf-8")) if FILE.is_file() else []
    done = {(row["task"], row["way"], row["seed"]) for row in rows}
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        pool.map(pretrained, [(seed, path) for seed, path in weights.items() if not path.is_file()], 1)
        jobs = [
            (task, way, seed, weights[seed])
            for task in TASKS
            for seed in SEEDS
            for way in STEPS
            if (task, way, seed) not in done
        ]
        for row in pool.imap_unordered(measured, jobs):
            rows = sorted([*rows, row], key=lambda row: tuple(map(str, row.values())))
            FILE.write_text(json.dumps(rows, indent=0) + "\n", "utf-8")
            print(row, flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
