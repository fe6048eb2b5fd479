"""Makes the weights of lab 12 that come with the course: one model, trained on a mixture of seven tasks. See docs/data-text-to-text.md.

.venv/bin/python solutions/12_text_to_text/train_weights.py            # trains, saves, measures
.venv/bin/python solutions/12_text_to_text/train_weights.py --only verb --steps 500    # a specialist; saves nothing
"""

from __future__ import annotations

import argparse
import random
import time
from collections.abc import Callable, Sequence

import torch
from torch import nn

from course_utils.data.byte_pairs import BytePairs, library_merges
from course_utils.data.tasks import Example, load_tasks, unseen_entities, unseen_pairings
from course_utils.models.text_to_text import CONFIG, SHIPPED, UNFINISHED, TextToText, Writer

SHARES = {
    "translation": 0.14,
    "headline": 0.07,
    "verb": 0.03,
    "acceptability": 0.08,
    "language": 0.08,
    "entities": 0.34,
    "similarity": 0.26,
}
STEPS, BATCH, RATE, WARMUP, SMOOTHING = 9_000, 48, 1.5e-3, 200, 0.05
MERGES = 1_244
UNFINISHED_AFTER = 1_500
"""The steps after which the weights are kept that learners train on."""


def half_width(tokens: BytePairs) -> Writer:
    """A fresh model of half the width of lab 12's, for comparisons of many trainings."""
    config = {**CONFIG, "embedding_dim": CONFIG["embedding_dim"] // 2}
    return Writer(tokens, TextToText(len(tokens) + 2, len(tokens), **config))


def text_loss(writer: Writer, examples: Sequence[Example], smoothing: float = SMOOTHING) -> torch.Tensor:
    """The mean loss of the targets' tokens."""
    sources = writer.padded([writer.tokens.encode(one.source) for one in examples])
    labels = writer.padded([[*writer.tokens.encode(one.target), writer.end_id] for one in examples])
    given = torch.cat([torch.full((len(examples), 1), writer.pad_id), labels[:, :-1]], 1)
    logits = writer.model(sources, given)
    return nn.functional.cross_entropy(
        logits.flatten(0, 1), labels.flatten(), ignore_index=writer.pad_id, label_smoothing=smoothing
    )


def train(
    writer: Writer,
    tasks: dict[str, list[Example]],
    shares: dict[str, float],
    steps: int,
    seed: int,
    batch: int = BATCH,
    warmup: int = WARMUP,
    loss_of: Callable[[Writer, Sequence[Example]], torch.Tensor] = text_loss,
    after_step: Callable[[int], object] = lambda number: None,
) -> None:
    """AdamW; the learning rate rises for ``warmup`` steps and then falls to 0. A batch has examples of one task, so that short ones
    are not padded to the length of articles; which task is drawn by its share."""
    chance = random.Random(seed)
    optimizer = torch.optim.AdamW(writer.model.parameters(), weight_decay=0.01, betas=(0.9, 0.98))
    writer.model.train()
    began, losses = time.perf_counter(), []
    for number in range(1, steps + 1):
        (name,) = chance.choices(list(shares), shares.values())
        chosen = chance.sample(tasks[name], batch)
        rate = RATE * min(number / warmup, (steps - number + 1) / (steps - warmup))
        for group in optimizer.param_groups:
            group["lr"] = rate
        loss = loss_of(writer, chosen)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(writer.model.parameters(), 1.0)
        optimizer.step()
        losses.append(float(loss.detach()))
        after_step(number)
        if number % 100 == 0:
            print(
                f"step {number}: {time.perf_counter() - began:.0f} s, loss {sum(losses[-100:]) / 100:.3f}",
                flush=True,
            )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", choices=SHARES, help="train a specialist for this task; save nothing")
    parser.add_argument("--steps", type=int, default=STEPS)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    data = load_tasks()
    texts = [text for task in data.values() for one in task.train for text in one]
    began = time.perf_counter()
    tokens = BytePairs(library_merges(texts, MERGES))
    print(f"{len(tokens)} tokens in {time.perf_counter() - began:.1f} s")
    torch.manual_seed(arguments.seed)
    writer = Writer(tokens)
    print(f"{sum(each.numel() for each in writer.model.parameters()):,} parameters")
    shares = {arguments.only: 1.0} if arguments.only else SHARES

    def keep_unfinished(number: int) -> None:
        if number == UNFINISHED_AFTER and not arguments.only:
            writer.save(UNFINISHED, eight_bits=True)

    some = {name: data[name].train for name in shares}
    train(writer, some, shares, arguments.steps, arguments.seed, after_step=keep_unfinished)
    if not arguments.only:
        writer.save()
        writer = Writer.shipped()
        print(f"{SHIPPED.name}: {SHIPPED.stat().st_size / 1e6:.1f} MB; as saved:")
    tests = {name: data[name].test for name in shares}
    if "translation" in shares:
        tests["words that never met"] = unseen_pairings()
    if "entities" in shares:
        tests["entities never seen"] = unseen_entities()
    for name, some in tests.items():
        written = writer.write([one.source for one in some])
        print(
            f"{name}: {sum(map(str.__eq__, written, (one.target for one in some)))} of {len(some)}",
            flush=True,
        )


if __name__ == "__main__":
    main()
