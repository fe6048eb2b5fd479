"""Trains one model on six tasks, on all but one of them, and on each alone, for lab 12; see docs/data-text-to-text.md.

nice -n 5 .venv/bin/python solutions/12_text_to_text/leave_one_out.py

writes course_utils/data/company.json. Every model sees the same batches of a task, and as many; only what else it learns differs. The model is lab
12's at half its width. A run that was stopped goes on where it was.
"""

from __future__ import annotations

import json
import random
import time
from collections.abc import Iterator

import torch
from train_weights import half_width, text_loss, train

from course_utils.data.mixtures import COMPANY, TOGETHER
from course_utils.data.tasks import Example, answer, load_tasks
from course_utils.models.text_to_text import Writer

SEEDS = (0, 1, 2)
STEPS, BATCH = 400, 16
"""Batches of each task, and examples of a batch."""


def batches(examples: dict[str, list[Example]], seed: int) -> Iterator[list[Example]]:
    """Every task's batches in random order. A task's own batches depend on the seed alone, not on the other tasks."""
    chances = {name: random.Random(f"{seed} {name}") for name in examples}
    order = [name for name in examples for _ in range(STEPS)]
    random.Random(seed).shuffle(order)
    for name in order:
        yield chances[name].sample(examples[name], BATCH)


def main() -> None:
    torch.set_num_threads(1)
    data, tokens = load_tasks(), Writer.shipped().tokens
    rows = json.loads(COMPANY.read_text("utf-8")) if COMPANY.is_file() else []
    done = {(tuple(row["learned"]), row["seed"]) for row in rows}
    companies = [
        TOGETHER,
        *(tuple(one for one in TOGETHER if one != out) for out in TOGETHER),
        *((one,) for one in TOGETHER),
    ]
    for seed in SEEDS:
        for learned in companies:
            if (learned, seed) in done:
                continue
            began = time.process_time()
            torch.manual_seed(seed)
            writer = half_width(tokens)
            some = batches({name: data[name].train for name in learned}, seed)
            steps = STEPS * len(learned)
            train(
                writer,
                {"next": [None]},
                {"next": 1.0},
                steps,
                seed,
                batch=1,
                warmup=steps // 10,
                loss_of=lambda writer, _, some=some: text_loss(writer, next(some)),
            )
            row = {"learned": learned, "seed": seed, "right": {}, "loss": {}}
            for name in learned:
                test = data[name].test
                said = writer.write([one.source for one in test])
                row["right"][name] = sum(
                    answer(name, text) == answer(name, one.target)
                    for text, one in zip(said, test, strict=True)
                )
                with torch.inference_mode():
                    row["loss"][name] = round(text_loss(writer, test, smoothing=0).item(), 4)
            rows.append(row)
            COMPANY.write_text("[" + ",\n".join(map(json.dumps, rows)) + "]\n", "utf-8")
            print(row, f"{time.process_time() - began:.0f} s of CPU", flush=True)


if __name__ == "__main__":
    main()
